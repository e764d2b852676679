/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading fabrics: port lines.
 *
 *   [1](0002c90300000002)  "S-0002c90300000010"[7]   # lid 3 lmc 0 "peer" lid 1 4xEDR
 *   [7]  "H-0002c90300000001"[1](0002c90300000002)   # "peer" lid 3 4xEDR
 *   [1](1)  "S-0002c90300000010"[7](1/1/7)           labels of the ports
 *   [1][ext 3]  "S-0002c90300000010"[7][ext 1]       ibnetdiscover -g
 *   [1]  "Hca1"[2]  w=2 s=4                          ibsim; [1] is meant where no port is named */
#include <string.h>

#include "fabric/reader.h"

/* Port GUIDs are larger: what is not is a label, "(1)". */
#define MAX_LABEL FABRIC_MAX_PORTS

static gpointer port_key(uint32_t node, unsigned port)
{
    return GSIZE_TO_POINTER((gsize)node << 8 | port);
}

/* "(...)" and "[ext n]" behind a port number. What reads as a GUID is one, except on switches,
 * whose ports have none of their own. */
static bool labels(struct reader *r, const char **p, uint64_t *guid)
{
    for (*p = lex_blanks(*p); **p == '(' || **p == '['; *p = lex_blanks(*p)) {
        const char *inside = *p + 1;
        const char *close = strchr(inside, **p == '(' ? ')' : ']');
        if (!close)
            return reader_expected(r, **p == '(' ? "a closing )" : "a closing ]", *p);
        uint64_t v;
        if (**p == '(' && lex_hex(&inside, &v) && inside == close && v > MAX_LABEL)
            *guid = v;
        *p = close + 1;
    }
    return true;
}

/* "id"[port] or "id" */
static bool peer(struct reader *r, const char **p, struct reader_cable *c)
{
    const char *id;
    size_t len;
    uint64_t port = 1;
    const char *quoted = *p;
    if (!lex_quoted(p, &id, &len) || len == 0)
        return reader_expected(r, "the id of the node at the other end in quotes", quoted);
    bool alias = memchr(id, '@', len) != NULL;
    if (memchr(id, '#', len) || (alias && *id != '@')) {
        g_autofree char *full = g_strndup(id, len);
        c->peer_id = g_string_chunk_insert_const(r->strings, full);
    } else if (alias) {
        c->peer_id = reader_full_id(r, id + 1, len - 1, '@');
    } else {
        c->peer_id = reader_full_id(r, id, len, '#');
    }
    *p = lex_blanks(*p);
    const char *number = *p;
    if (*number == '[' && (!lex_bracketed(p, FABRIC_MAX_PORTS, &port) || port == 0))
        return reader_expected(r, "the port at the other end, [1] to [254]", number);
    c->peer_port = (uint8_t)port;
    return labels(r, p, &c->peer_guid);
}

/* "4xFDR10": both, or nothing where a tool printed ??? */
static bool rate(const char *word, struct reader_cable *c)
{
    size_t x = strspn(word, "0123456789?");
    if (x == 0 || word[x] != 'x')
        return false;
    for (unsigned bit = 1; bit <= 16; bit <<= 1)
        if (strncmp(fabric_width_name(bit), word, x + 1) == 0)
            c->width = (uint8_t)bit;
    for (unsigned speed = FABRIC_SDR; speed <= FABRIC_XDR; speed++)
        if (strcmp(fabric_speed_name(speed), word + x + 1) == 0) {
            c->speed = (uint8_t)speed;
            return true;
        }
    return word[x + 1] == '?' || g_str_has_prefix(word + x + 1, "undefined");
}

/* "w=2": a word of one letter, = and a number. Rates that were printed weigh more. */
static bool option(struct reader *r, const char *word, bool rated, struct reader_cable *c)
{
    uint64_t v;
    const char *p = word + 2;
    if (!g_ascii_isalpha(word[0]) || word[1] != '=')
        return false;
    if (!lex_number(&p, 31, &v) || *p)
        return reader_expected(r, "a number up to 31", word + 2), true;
    if (rated)
        return true;
    if (word[0] == 'w')
        c->width = reader_width_of_mask(v);
    else if (word[0] == 's')
        c->speed = v ? reader_speed_of_mask(v, false) : FABRIC_QDR;
    else if (word[0] == 'e' && v)
        c->speed = reader_speed_of_mask(v, true);
    return true;
}

/* What stands behind the names in the comment: "lid 3 4xEDR s=4 w=2 v=8". */
static void tail(struct reader *r, const char *p, struct reader_cable *c)
{
    g_auto(GStrv) words = g_strsplit_set(p, " \t", -1);
    uint8_t lmc = 0;
    bool rated = false;
    reader_lid_and_lmc(r, p, strlen(p), &c->peer_lid, &lmc);
    for (char **w = words; *w; w++) {
        size_t digits = strspn(*w, "0123456789?");
        if (digits && (*w)[digits] == 'x') {
            rated = rate(*w, c);
            if (!rated && r->cut_line)
                reader_expected(r, "a width and speed such as 4xEDR", *w);
            else if (!rated)
                fabric_report_warning(&r->report, &r->at,
                                      "a link width or speed that is not known: left open");
        } else {
            option(r, *w, rated, c);
        }
    }
}

static void comment(struct reader *r, const char *p, struct reader_cable *c)
{
    const char *open = strchr(p, '"'), *close = strrchr(p, '"');
    bool is_switch = r->fabric->nodes[r->node].type == FABRIC_SWITCH;
    if (open && open == close) { /* a name without its end */
        reader_expected(r, "a closing quote of the name", open);
        return;
    }
    if (!is_switch)
        reader_lid_and_lmc(r, p, open ? (size_t)(open - p) : 0, &c->lid, &c->lmc);
    tail(r, close ? close + 1 : p, c);
}

/* `w=2 s=4` between the other end and the comment. */
static bool options(struct reader *r, const char *p, struct reader_cable *c)
{
    for (p = lex_blanks(p); *p && *p != '#'; p = lex_blanks(p)) {
        size_t len = strcspn(p, " \t#");
        g_autofree char *word = g_strndup(p, len);
        if (!option(r, word, false, c))
            return reader_expected(r, "an option such as w=2, or # and the peer's name", p);
        p += len;
    }
    if (*p == '#')
        comment(r, p + 1, c);
    return true;
}

static void keep(struct reader *r, struct reader_cable *c)
{
    gpointer key = port_key(c->node, c->port);
    unsigned other = GPOINTER_TO_UINT(g_hash_table_lookup(r->listed, key));
    if (other) {
        const struct fabric_place *first =
            &g_array_index(r->cables, struct reader_cable, other - 1).at;
        fabric_report_error(&r->report, &r->at,
                            "expected each port once, found port %u again after %s:%u", c->port,
                            first->file, first->line);
        return;
    }
    g_array_append_val(r->cables, *c);
    g_hash_table_insert(r->listed, key, GUINT_TO_POINTER(r->cables->len));
}

/* "[n]" of the node being read. */
static bool own_port(struct reader *r, const char **p, uint8_t *port)
{
    uint64_t v;
    const char *start = *p;
    if (r->node == FABRIC_NONE)
        return reader_expected(r, "a node (Switch, Ca, Hca or Rt) before its ports", start);
    unsigned nports = r->fabric->nodes[r->node].nports;
    if (!lex_bracketed(p, nports, &v) || v == 0) {
        g_autofree char *what =
            g_strdup_printf("a port from [1] to [%u], the ports of this node", nports);
        return reader_expected(r, what, start);
    }
    *port = (uint8_t)v;
    return true;
}

void reader_port_line(struct reader *r, const char *p)
{
    if (r->skip_ports)
        return;
    struct reader_cable c = {.at = r->at, .node = r->node, .peer_node = FABRIC_NONE};
    c.width = r->width;
    c.speed = r->speed;
    if (own_port(r, &p, &c.port) && labels(r, &p, &c.guid) && peer(r, &p, &c) && options(r, p, &c))
        keep(r, &c);
}

/* `@[2] "uplink"`: port 2 of this node may be called "@uplink" in this module and
 * "module@uplink" in others. */
void reader_alias_line(struct reader *r, const char *p)
{
    const char *name;
    size_t len;
    uint8_t port = 0;
    if (r->skip_ports || !own_port(r, &p, &port))
        return;
    p = lex_blanks(p);
    if (!lex_quoted(&p, &name, &len) || memchr(name, '@', len) || memchr(name, '#', len)) {
        reader_expected(r, "the alias in quotes, without # and @", p);
        return;
    }
    const char *full = reader_full_id(r, name, len, '@');
    if (g_hash_table_contains(r->aliases, full)) {
        reader_expected(r, "an alias that is not taken", name);
        return;
    }
    struct reader_alias *a = g_new0(struct reader_alias, 1);
    *a = (struct reader_alias){.node = r->node, .port = port};
    g_hash_table_insert(r->aliases, (gpointer)full, a);
}
