/* SPDX-License-Identifier: BSD-2-Clause */
/* What words mean: nodes, ports, numbers, times, options. */
#include <string.h>

#include "base/parse.h"
#include "sim/script/private.h"

#define NANO 1000000000ULL
#define MAX_WHOLE 1000000000000ULL /* before the decimal point */

/* -- nodes and ports --------------------------------------------------------------------------- */

static bool find(struct script_call *c, const char *text, uint32_t *node, unsigned *port)
{
    char error[512];
    if (*text == '\0')
        return script_fail(c, "\"\" names no node");
    if (sim_find_port(c->s, text, node, port, error, sizeof(error)))
        return true;
    return script_fail(c, "%s", error);
}

bool script_names_port(const char *text, unsigned port)
{
    char bracket[8], colon[8];
    g_snprintf(bracket, sizeof(bracket), "[%u]", port);
    g_snprintf(colon, sizeof(colon), ":%u", port);
    return g_str_has_suffix(text, bracket) || g_str_has_suffix(text, colon);
}

bool script_node(struct script_call *c, const char *text, uint32_t *node)
{
    unsigned port;
    return find(c, text, node, &port);
}

bool script_any_port(struct script_call *c, const char *text, uint32_t *node, unsigned *port)
{
    if (!find(c, text, node, port))
        return false;
    const struct sim_node *n = &c->s->nodes[*node];
    if (n->sw == NULL && n->nports > 1 && !script_names_port(text, *port))
        return script_fail(c, "%s has %u ports: name one, as NODE[1]", script_shown(text),
                           n->nports);
    return true;
}

bool script_port(struct script_call *c, const char *text, uint32_t *node, unsigned *port)
{
    if (!script_any_port(c, text, node, port))
        return false;
    if (*port > 0)
        return true;
    return script_fail(c, "%s is a switch: name one of its ports 1 to %u, as NODE[1]",
                       script_shown(text), c->s->nodes[*node].nports);
}

/* -- numbers ----------------------------------------------------------------------------------- */

bool script_number(struct script_call *c, const char *what, const char *text, uint64_t min,
                   uint64_t max, uint64_t *value)
{
    if (parse_uint(text, min, max, value))
        return true;
    return script_fail(
        c, "%s is \"%s\": it must be a number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
        what, script_shown(text), min, max);
}

bool script_decimal(const char *text, const char **end, uint64_t *nano)
{
    uint64_t whole = 0, part = 0, unit = NANO;
    if (!g_ascii_isdigit(*text))
        return false;
    for (; g_ascii_isdigit(*text); text++) {
        whole = whole * 10 + (uint64_t)(*text - '0');
        if (whole > MAX_WHOLE)
            return false;
    }
    if (*text == '.') {
        if (!g_ascii_isdigit(*++text))
            return false;
        for (; g_ascii_isdigit(*text); text++) {
            if (unit == 1)
                return false; /* more decimals than there are */
            unit /= 10;
            part += (uint64_t)(*text - '0') * unit;
        }
    }
    *end = text;
    if (whole > (UINT64_MAX - part) / NANO)
        return false;
    *nano = whole * NANO + part;
    return true;
}

static bool read_time(const char *text, int64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},         {"us", 1000},         {"ms", 1000000},
                 {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}};
    const char *end;
    uint64_t nano;
    if (!script_decimal(text, &end, &nano))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        unsigned __int128 value = (unsigned __int128)nano * units[i].ns / NANO;
        if (value > (unsigned __int128)SCRIPT_MAX_TIME_NS)
            return false;
        *ns = (int64_t)value;
        return true;
    }
    return false;
}

bool script_time(struct script_call *c, const char *what, const char *text, int64_t *ns)
{
    if (read_time(text, ns))
        return true;
    return script_fail(c,
                       "%s is \"%s\": it must be a time such as 250ms, with ns, us, ms, s, min or "
                       "h, of at most 8760h",
                       what, script_shown(text));
}

bool script_on_off(struct script_call *c, const char *text, const char *on, const char *off,
                   bool *value)
{
    *value = strcmp(text, on) == 0;
    if (*value || strcmp(text, off) == 0)
        return true;
    return script_fail(c, "\"%s\" must be %s or %s", script_shown(text), on, off);
}

/* -- options ----------------------------------------------------------------------------------- */

static bool read_percent(struct script_call *c, const char *what, const char *text,
                         uint64_t *millionths)
{
    const char *end;
    uint64_t nano;
    if (!script_decimal(text, &end, &nano) || strcmp(end, "%") != 0 || nano > 100 * NANO)
        return script_fail(c, "%s is \"%s\": it must be a share from 0%% to 100%%, as 0.5%%", what,
                           script_shown(text));
    *millionths = nano / 100000; /* 1% = 10,000 millionths */
    return true;
}

static bool read_option(struct script_call *c, const struct script_option *o, const char *text)
{
    int64_t ns;
    bool yes;
    switch (o->kind) {
    case SCRIPT_NUMBER:
        return script_number(c, o->name, text, o->min, o->max, o->value);
    case SCRIPT_PERCENT:
        return read_percent(c, o->name, text, o->value);
    case SCRIPT_YES_NO:
        if (!script_on_off(c, text, "yes", "no", &yes))
            return false;
        *o->value = yes;
        return true;
    default:
        if (!script_time(c, o->name, text, &ns))
            return false;
        *o->value = (uint64_t)ns;
        return true;
    }
}

static bool unknown_option(struct script_call *c, const char *name,
                           const struct script_option *options, size_t count)
{
    const char *near = script_nearest(name, options, count, sizeof(*options));
    if (near != NULL)
        return script_fail(c, "unknown option \"%s\": did you mean %s=?", script_shown(name), near);
    return script_fail(c, "unknown option \"%s\": see help %s", script_shown(name), c->argv[0]);
}

bool script_options(struct script_call *c, int first, struct script_option *options, size_t count)
{
    for (int i = first; i < c->argc; i++) {
        const char *sign = strchr(c->argv[i], '=');
        size_t o = 0;
        g_autofree char *name =
            g_strndup(c->argv[i], sign != NULL ? (size_t)(sign - c->argv[i]) : strlen(c->argv[i]));
        while (o < count && strcmp(options[o].name, name) != 0)
            o++;
        if (o == count)
            return unknown_option(c, name, options, count);
        if (sign == NULL)
            return script_fail(c, "%s needs a value: %s=...", name, name);
        if (options[o].given)
            return script_fail(c, "%s= is there twice: leave one out", name);
        if (!read_option(c, &options[o], sign + 1))
            return false;
        options[o].given = true;
    }
    return true;
}
