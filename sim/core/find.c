/* SPDX-License-Identifier: BSD-2-Clause */
/* Which node and port a text names: of clients that attach, commands and scripts. */
#include <string.h>

#include "sim/core/model.h"

static uint32_t lookup(GHashTable *table, const void *key)
{
    unsigned number = GPOINTER_TO_UINT(g_hash_table_lookup(table, key));
    return number ? number - 1 : SIM_NONE;
}

/* 0x<hex>, S-<hex>, H-<hex> or R-<hex>, and nothing behind it. */
static bool parse_guid(const char *text, uint64_t *guid)
{
    bool id = strchr("SHRshr", text[0]) && text[0] && text[1] == '-';
    if (!id && (text[0] != '0' || (text[1] != 'x' && text[1] != 'X')))
        return false;
    if (!g_ascii_isxdigit(text[2]) || strlen(text + 2) > 16)
        return false;
    char *end;
    *guid = g_ascii_strtoull(text + 2, &end, 16);
    return *end == '\0';
}

static bool type_fits(const struct sim_node *n, char letter)
{
    letter = g_ascii_toupper(letter);
    return letter == '0' || letter == (n->sw ? 'S' : n->type == FABRIC_CA ? 'H' : 'R');
}

static uint32_t find_node(const struct sim *s, const char *text)
{
    uint32_t node = lookup(s->by_description, text);
    uint64_t guid;
    if (node != SIM_NONE || !parse_guid(text, &guid))
        return node;
    gint64 key = (gint64)guid;
    node = lookup(s->by_guid, &key);
    return node != SIM_NONE && type_fits(&s->nodes[node], text[0]) ? node : SIM_NONE;
}

static uint32_t first_node(const struct sim *s)
{
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].type == FABRIC_CA)
            return i;
    return s->node_count ? 0 : SIM_NONE;
}

/* Splits "NODE[n]" or "NODE:n"; the length of NODE, or 0 when the text has no such end. */
static size_t split_port(const char *text, unsigned *port)
{
    size_t len = strlen(text);
    bool bracket = len > 0 && text[len - 1] == ']';
    const char *mark = strrchr(text, bracket ? '[' : ':');
    if (!mark || mark == text || !g_ascii_isdigit(mark[1]))
        return 0;
    char *end;
    guint64 v = g_ascii_strtoull(mark + 1, &end, 10);
    if (end != text + len - (bracket ? 1 : 0) || v > FABRIC_MAX_PORTS)
        return 0;
    *port = (unsigned)v;
    return (size_t)(mark - text);
}

static void say(char *error, size_t size, const char *what, const char *text)
{
    g_autofree char *shown = g_strescape(text, NULL);
    g_snprintf(error, (gulong)size, "%s \"%.300s\"", what, shown);
}

bool sim_find_port(const struct sim *s, const char *text, uint32_t *node, unsigned *port,
                   char *error, size_t error_size)
{
    unsigned number = 0;
    bool named = false;
    uint32_t found = *text ? find_node(s, text) : first_node(s);
    if (found == SIM_NONE && *text) {
        size_t len = split_port(text, &number);
        g_autofree char *name = g_strndup(text, len);
        named = len > 0;
        found = named ? find_node(s, name) : SIM_NONE;
    }
    if (found == SIM_NONE) {
        say(error, error_size,
            *text ? "no node has this description, id (S-<guid>, H-<guid>) or GUID (0x<guid>):"
                  : "the fabric has no nodes",
            text);
        return false;
    }
    const struct sim_node *n = &s->nodes[found];
    if (!named)
        number = n->sw ? 0 : 1;
    if (number > n->nports || (number == 0 && !n->sw)) {
        g_autofree char *what =
            g_strdup_printf("%s has ports %d to %u, not the one of",
                            sim_port_name(s, found, number), n->sw ? 0 : 1, n->nports);
        say(error, error_size, what, text);
        return false;
    }
    *node = found;
    *port = number;
    return true;
}
