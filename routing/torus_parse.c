/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads torus-2QoS.conf(5). */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "routing/torus.h"

#define MAX_SEEDS 256u
#define MAX_SHOWN 40 /* characters of a token in an error */
#define MAX_PORT 254

struct parser {
    struct rt_torus_shape *shape;
    GArray *seeds; /* struct rt_torus_seed */
    unsigned line;
    char **tokens; /* of this line */
    char *error;
    size_t error_size;
};

static bool G_GNUC_PRINTF(2, 3) fail(struct parser *p, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list args;
    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    snprintf(p->error, p->error_size, "line %u: %s", p->line, what);
    return false;
}

/* A token as it may be shown: hostile text. */
static char *show(const char *token)
{
    char *shown = g_strndup(token, MAX_SHOWN);
    for (char *c = shown; *c; c++)
        if (!g_ascii_isgraph(*c))
            *c = '?';
    return shown;
}

static bool fail_token(struct parser *p, const char *token, const char *wanted)
{
    g_autofree char *shown = show(token ? token : "");
    if (!token)
        return fail(p, "%s is missing after %s", wanted, p->tokens[0]);
    return fail(p, "\"%s\" after %s is not %s", shown, p->tokens[0], wanted);
}

static bool parse_integer(struct parser *p, const char *token, const char *wanted, int64_t low,
                          int64_t high, int64_t *value, const char **suffix)
{
    char *end = NULL;
    errno = 0;
    bool starts =
        token && (g_ascii_isdigit(token[0]) || (token[0] == '-' && g_ascii_isdigit(token[1])));
    *value = starts ? g_ascii_strtoll(token, &end, 0) : 0;
    if (!starts || errno || *value < low || *value > high || (!suffix && *end))
        return fail_token(p, token, wanted);
    if (suffix)
        *suffix = end;
    return true;
}

static bool parse_sizes(struct parser *p, bool wraps)
{
    uint64_t cells = 1;
    if (p->shape->size[0])
        return fail(p, "a second torus or mesh");
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        const char *wanted = "a radix, 1 or more, perhaps with m or t", *suffix;
        const char *token = p->tokens[d + 1];
        int64_t size;
        if (!parse_integer(p, token, wanted, 1, RT_MAX_LID, &size, &suffix))
            return false;
        if (*suffix && (!strchr("mMtT", *suffix) || suffix[1]))
            return fail_token(p, token, wanted);
        p->shape->size[d] = (uint32_t)size;
        p->shape->wraps[d] = *suffix ? g_ascii_tolower(*suffix) == 't' : wraps;
        cells *= (uint64_t)size;
        if (cells > RT_MAX_LID)
            return fail(p, "more switches than there are LIDs (%u)", RT_MAX_LID);
    }
    return true;
}

static bool parse_guid(struct parser *p, const char *token, uint64_t *guid)
{
    char *end = NULL;
    errno = 0;
    bool starts = token && g_ascii_isdigit(token[0]);
    *guid = starts ? g_ascii_strtoull(token, &end, 0) : 0;
    if (!starts || errno || *end || *guid == 0)
        return fail_token(p, token, "the GUID of a switch");
    return true;
}

static struct rt_torus_seed *last_seed(struct parser *p)
{
    return &g_array_index(p->seeds, struct rt_torus_seed, p->seeds->len - 1);
}

static bool parse_link(struct parser *p, unsigned direction)
{
    struct rt_torus_seed *seed = last_seed(p);
    uint64_t from, to;
    if (!parse_guid(p, p->tokens[1], &from) || !parse_guid(p, p->tokens[2], &to))
        return false;
    if (from == to)
        return fail(p, "a link from 0x%016" PRIx64 " to itself", from);
    if (seed->from && seed->from != from)
        return fail(p,
                    "all links of a seed come from one switch, here from 0x%016" PRIx64
                    " and from 0x%016" PRIx64,
                    seed->from, from);
    if (seed->neighbours[direction])
        return fail(p, "a second %s in one seed", p->tokens[0]);
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++)
        if (seed->neighbours[k] == to)
            return fail(p, "0x%016" PRIx64 " is named in two directions", to);
    seed->from = from;
    seed->neighbours[direction] = to;
    return true;
}

static bool parse_dateline(struct parser *p, unsigned d)
{
    int64_t value;
    if (!parse_integer(p, p->tokens[1], "a position", -(int64_t)RT_MAX_LID, RT_MAX_LID, &value,
                       NULL))
        return false;
    last_seed(p)->dateline[d] = (int32_t)value;
    return true;
}

static bool parse_number(struct parser *p)
{
    int64_t value;
    return parse_integer(p, p->tokens[1], "a number", 0, INT32_MAX, &value, NULL);
}

static bool parse_ports(struct parser *p)
{
    int64_t value;
    for (unsigned i = 1; i == 1 || p->tokens[i]; i++)
        if (!parse_integer(p, p->tokens[i], "a port number", 0, MAX_PORT, &value, NULL))
            return false;
    return true;
}

static bool parse_seed_or_option(struct parser *p)
{
    const char *word = p->tokens[0];
    static const char *const links[RT_TORUS_DIRECTIONS] = {"xp_link", "xm_link", "yp_link",
                                                           "ym_link", "zp_link", "zm_link"};
    static const char *const datelines[RT_TORUS_DIMENSIONS] = {"x_dateline", "y_dateline",
                                                               "z_dateline"};
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++)
        if (strcmp(word, links[k]) == 0)
            return parse_link(p, k);
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++)
        if (strcmp(word, datelines[d]) == 0)
            return parse_dateline(p, d);
    if (strcmp(word, "portgroup_max_ports") == 0 || strcmp(word, "max_changes") == 0)
        return parse_number(p);
    if (strcmp(word, "port_order") == 0)
        return parse_ports(p);
    if (strcmp(word, "next_seed") != 0) {
        g_autofree char *shown = show(word);
        return fail(p, "\"%s\" is no keyword of a torus configuration", shown);
    }
    if (p->seeds->len >= MAX_SEEDS)
        return fail(p, "more than %u seeds", MAX_SEEDS);
    g_array_set_size(p->seeds, p->seeds->len + 1);
    return true;
}

static bool parse_tokens(struct parser *p)
{
    bool torus = strcmp(p->tokens[0], "torus") == 0;
    if (torus || strcmp(p->tokens[0], "mesh") == 0)
        return parse_sizes(p, torus);
    if (p->shape->size[0] == 0)
        return fail(p, "a torus configuration starts with torus or mesh and three radices");
    return parse_seed_or_option(p);
}

static bool parse_line(struct parser *p, const char *line)
{
    g_auto(GStrv) pieces = g_strsplit_set(line, " \t\r\v\f", -1);
    unsigned count = 0;
    for (unsigned i = 0; pieces[i]; i++) { /* empty pieces lie between blanks */
        char *piece = pieces[i];
        pieces[i] = NULL;
        if (*piece)
            pieces[count++] = piece;
        else
            g_free(piece);
    }
    p->tokens = pieces;
    return count == 0 || pieces[0][0] == '#' || parse_tokens(p);
}

/* Links in dimensions that have none, and seeds without a link. */
static bool check_seeds(struct parser *p)
{
    const struct rt_torus_shape *shape = p->shape;
    if (shape->size[0] == 0)
        return fail(p, "a torus configuration starts with torus or mesh and three radices");
    for (guint i = 0; i < p->seeds->len; i++) {
        const struct rt_torus_seed *seed = &g_array_index(p->seeds, struct rt_torus_seed, i);
        bool moved = seed->dateline[0] || seed->dateline[1] || seed->dateline[2];
        if (seed->from == 0 && (p->seeds->len > 1 || moved))
            return fail(p, "seed %u has no link", i + 1);
        for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++)
            if (seed->neighbours[k] && shape->size[k / 2] == 1)
                return fail(p, "seed %u has a link in dimension %c, which has radix 1", i + 1,
                            'x' + (int)(k / 2));
    }
    return true;
}

int rt_torus_parse(const char *text, struct rt_torus_shape **shape, char *error, size_t error_size)
{
    struct parser p = {.shape = g_new0(struct rt_torus_shape, 1),
                       .seeds = g_array_new(FALSE, TRUE, sizeof(struct rt_torus_seed)),
                       .line = 1,
                       .error = error,
                       .error_size = error_size};
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool good = true;
    g_array_set_size(p.seeds, 1);
    for (unsigned i = 0; good && lines[i]; i++) {
        p.line = i + 1;
        good = parse_line(&p, lines[i]);
    }
    good = good && check_seeds(&p);
    if (good && last_seed(&p)->from) {
        p.shape->seed_count = p.seeds->len;
        p.shape->seeds = (struct rt_torus_seed *)(void *)g_array_free(p.seeds, FALSE);
    } else {
        g_array_free(p.seeds, TRUE);
    }
    if (!good) {
        rt_torus_shape_free(p.shape);
        p.shape = NULL;
    }
    *shape = p.shape;
    return good ? 0 : EINVAL;
}

void rt_torus_shape_free(struct rt_torus_shape *shape)
{
    if (!shape)
        return;
    g_free(shape->seeds);
    g_free(shape);
}
