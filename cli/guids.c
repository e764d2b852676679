/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of GUIDs: roots, compute nodes, I/O nodes. */
#include "cli/guids.h"

#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "cli/text.h"
#include "fabric/load.h"

#define SHOWN_BYTES 40u /* of a word that is no GUID */
#define NAMED_GUIDS 5u  /* in a warning */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct listed {
    uint64_t guid;
    uint8_t hops;
};

struct reader {
    const char *name;
    unsigned line;
    GArray *listed; /* struct listed */
    GPtrArray *errors;
    guint bad; /* lines */
};

/* "FILE:LINE: WORD is WHAT; ADVICE". */
static void complain(struct reader *r, const char *what, const char *word, const char *advice)
{
    g_autofree char *cut = g_strndup(word, SHOWN_BYTES), *shown = text_quoted(cut);
    if (++r->bad <= GUIDS_MAX_ERRORS)
        g_ptr_array_add(r->errors, g_strdup_printf("%s:%u: %s is %s; %s", r->name, r->line, shown,
                                                   what, advice));
}

/* -- lines ------------------------------------------------------------------------------------- */

/* What stands behind a GUID: nothing, reverse hops, or a name between quotes. */
static bool read_rest(struct reader *r, const char *rest, uint8_t *hops)
{
    uint64_t number;
    size_t len = strlen(rest);
    *hops = 0;
    if (len == 0 || (len > 1 && (*rest == '"' || *rest == '\'') && rest[len - 1] == *rest))
        return true;
    if (!parse_uint(rest, 0, UINT8_MAX, &number)) {
        complain(r, "neither a number of reverse hops nor a name between quotes", rest,
                 "put one GUID on a line, and remarks behind a #");
        return false;
    }
    *hops = (uint8_t)number;
    return true;
}

/* The # of a comment; one between quotes belongs to the name there. */
static char *find_comment(char *line)
{
    char quote = '\0';
    for (; *line != '\0'; line++) {
        if (quote == '\0' && *line == '#')
            return line;
        if (quote == '\0' && (*line == '"' || *line == '\''))
            quote = *line;
        else if (*line == quote)
            quote = '\0';
    }
    return NULL;
}

static void read_line(struct reader *r, char *line)
{
    struct listed l;
    char *comment = find_comment(line);
    if (comment != NULL)
        *comment = '\0';
    g_strstrip(line);
    if (*line == '\0')
        return;
    char *rest = line + strcspn(line, " \t,");
    if (*rest != '\0')
        *rest++ = '\0';
    if (!parse_guid(line, &l.guid))
        complain(r, "no GUID", line, "write it as 0x0002c90300000001, or as all 16 digits");
    else if (l.guid == 0 || l.guid == UINT64_MAX)
        complain(r, "nobody's GUID", line, "remove the line, or write the GUID of a node");
    else if (read_rest(r, g_strstrip(rest), &l.hops))
        g_array_append_val(r->listed, l);
}

static void read_lines(struct reader *r, const char *text, gsize len)
{
    const char *end = text + len;
    if (g_str_has_prefix(text, BYTE_ORDER_MARK))
        text += strlen(BYTE_ORDER_MARK);
    while (text < end) {
        const char *stop = memchr(text, '\n', (gsize)(end - text));
        gsize size = (gsize)((stop != NULL ? stop : end) - text);
        g_autofree char *line = g_strndup(text, size);
        r->line++;
        if (strlen(line) < size)
            complain(r, "before a byte of value 0: this is no text", line,
                     "give a file with one GUID a line");
        else
            read_line(r, line);
        text += size + (stop != NULL);
    }
}

/* ---------------------------------------------------------------------------------------------- */

/* The most hops first, so that the first of equal GUIDs is the one to keep. */
static gint compare(gconstpointer a, gconstpointer b)
{
    const struct listed *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return (y->hops > x->hops) - (y->hops < x->hops);
}

static GArray *finish(const struct reader *r, GArray *reverse_hops)
{
    GArray *guids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_sort(r->listed, compare);
    if (reverse_hops != NULL)
        g_array_set_size(reverse_hops, 0);
    for (guint i = 0; i < r->listed->len; i++) {
        const struct listed *l = &g_array_index(r->listed, struct listed, i);
        if (guids->len > 0 && g_array_index(guids, uint64_t, guids->len - 1) == l->guid)
            continue;
        g_array_append_val(guids, l->guid);
        if (reverse_hops != NULL)
            g_array_append_val(reverse_hops, l->hops);
    }
    return guids;
}

GArray *guids_read_text(const char *name, const char *text, gsize len, GArray *reverse_hops,
                        GPtrArray *errors)
{
    g_autoptr(GArray) listed = g_array_new(FALSE, FALSE, sizeof(struct listed));
    struct reader r = {.name = name, .listed = listed, .errors = errors};
    read_lines(&r, text, len);
    if (r.bad == 0 && listed->len > 0)
        return finish(&r, reverse_hops);
    if (r.bad == 0)
        g_ptr_array_add(errors, g_strdup_printf("%s: no GUID is in it; write one a line, such as "
                                                "0x0002c90300000001",
                                                name));
    if (r.bad > GUIDS_MAX_ERRORS)
        g_ptr_array_add(errors, g_strdup_printf("%s: %u further bad lines; is it a file of GUIDs?",
                                                name, r.bad - GUIDS_MAX_ERRORS));
    return NULL;
}

GArray *guids_load(const char *path, GArray *reverse_hops, GPtrArray *errors)
{
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(path, &text, &len);
    if (rc == 0)
        return guids_read_text(path, text, len, reverse_hops, errors);
    g_ptr_array_add(errors, g_strdup_printf("%s: cannot be read: %s; give a file with one GUID a "
                                            "line",
                                            path, fabric_file_error(rc)));
    return NULL;
}

/* -- against a fabric -------------------------------------------------------------------------- */

/* NULL when it is what it should be. */
static const char *find_fault(const struct rt_graph *g, uint64_t guid, bool switches)
{
    bool is_switch = rt_find_switch(g, guid) != RT_NONE;
    uint32_t d = rt_find_dest_by_guid(g, guid);
    bool is_host = d != RT_NONE && g->dests[d].kind != RT_DEST_SWITCH;
    if (switches ? is_switch : is_host)
        return NULL;
    return is_switch ? " (a switch)" : is_host ? " (a host's port)" : "";
}

char *guids_check(const struct rt_graph *g, const GArray *guids, bool switches, const char *name)
{
    g_autoptr(GString) named = g_string_new(NULL);
    guint count = 0;
    for (guint i = 0; i < guids->len; i++) {
        uint64_t guid = g_array_index(guids, uint64_t, i);
        const char *fault = find_fault(g, guid, switches);
        if (fault == NULL || ++count > NAMED_GUIDS)
            continue;
        g_string_append_printf(named, "%s0x%016" PRIx64 "%s", count > 1 ? ", " : "", guid, fault);
    }
    if (count == 0)
        return NULL;
    if (count > NAMED_GUIDS)
        g_string_append_printf(named, " and %u more", count - NAMED_GUIDS);
    return g_strdup_printf("%s: the fabric has no %s %s: %u of %u GUIDs are passed over", name,
                           switches ? "switch" : "host port", named->str, count, guids->len);
}
