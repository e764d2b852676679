/* SPDX-License-Identifier: BSD-2-Clause */
/* Forwarding tables read back from switches. */
#include "cli/lfts.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "fabric/load.h"
#include "routing/plan.h"

#define MAX_PORT 254u

struct reader {
    struct lfts *l;
    const char *name;
    unsigned line;
    struct lfts_switch *now; /* whose table the lines are of (second form); NULL = none */
    char *error;
};

static bool fail(struct reader *r, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool fail(struct reader *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *text = g_strdup_vprintf(format, ap);
    va_end(ap);
    r->error = r->line > 0 ? g_strdup_printf("%s:%u: %s", r->name, r->line, text)
                           : g_strdup_printf("%s: %s", r->name, text);
    return false;
}

static void free_switch(gpointer p)
{
    g_free(((struct lfts_switch *)p)->row);
    g_free(p);
}

static struct lfts_switch *need_switch(struct lfts *l, uint64_t guid)
{
    struct lfts_switch *s = g_hash_table_lookup(l->switches, &guid);
    if (s != NULL)
        return s;
    s = g_new0(struct lfts_switch, 1);
    s->guid = guid;
    g_hash_table_insert(l->switches, &s->guid, s);
    return s;
}

static uint8_t *need_row(struct lfts_switch *s)
{
    if (s->row == NULL) {
        s->row = g_malloc(LFTS_ROW_BYTES);
        memset(s->row, RT_NO_PATH, LFTS_ROW_BYTES);
    }
    return s->row;
}

static void note_lid(struct lfts *l, struct lfts_port port)
{
    struct lfts_port *kept = g_memdup2(&port, sizeof(port));
    g_hash_table_replace(l->lids, &kept->guid, kept);
}

/* -- lines of JSON ----------------------------------------------------------------------------- */

static bool json_guid(const json_t *o, const char *key, uint64_t *guid)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text != NULL && parse_guid(text, guid);
}

static bool json_number(const json_t *o, const char *key, unsigned max, unsigned *value)
{
    const json_t *n = json_object_get(o, key);
    if (!json_is_integer(n) || json_integer_value(n) < 0 || json_integer_value(n) > max)
        return false;
    *value = (unsigned)json_integer_value(n);
    return true;
}

static bool read_json_port(struct reader *r, const json_t *o)
{
    const char *type = json_string_value(json_object_get(o, "type"));
    struct lfts_port p = {0};
    unsigned num, lid;
    if (type == NULL || !json_guid(o, "node", &p.node_guid) || !json_guid(o, "guid", &p.guid) ||
        !json_number(o, "port", MAX_PORT, &num) || !json_number(o, "lid", UINT16_MAX, &lid))
        return fail(r, "a \"port\" has type, node, guid, port and lid");
    p.num = (uint8_t)num;
    p.lid = lid < LFTS_ROW_BYTES ? (uint16_t)lid : 0;
    p.type = strcmp(type, "switch") == 0 ? 2 : strcmp(type, "router") == 0 ? 3 : 1;
    if (p.type == 2)
        need_switch(r->l, p.node_guid);
    note_lid(r->l, p);
    return true;
}

static bool read_json_link(struct reader *r, const json_t *o)
{
    struct lfts_link k;
    unsigned port, peer_port, physical;
    if (!json_guid(o, "node", &k.guid) || !json_guid(o, "peer", &k.peer_guid) ||
        !json_number(o, "port", MAX_PORT, &port) ||
        !json_number(o, "peer_port", MAX_PORT, &peer_port) ||
        !json_number(o, "phys", UINT8_MAX, &physical))
        return fail(r, "a \"link\" has node, port, peer, peer_port and phys");
    k.port = (uint8_t)port;
    k.peer_port = (uint8_t)peer_port;
    struct lfts_switch *s = need_switch(r->l, k.guid);
    s->nports = MAX(s->nports, port);
    if (k.peer_guid != 0)
        g_array_append_val(r->l->links, k);
    return true;
}

static bool read_json_table(struct reader *r, const json_t *o)
{
    uint64_t guid;
    const char *hex = json_string_value(json_object_get(o, "hex"));
    if (hex == NULL || !json_guid(o, "node", &guid))
        return fail(r, "an \"lft\" has node and hex");
    size_t len = strlen(hex);
    uint8_t *row = need_row(need_switch(r->l, guid));
    if (len % 2 != 0 || len / 2 > LFTS_ROW_BYTES)
        return fail(r, "\"hex\" has two digits a LID, for at most %u LIDs", LFTS_ROW_BYTES);
    for (size_t i = 0; i < len / 2; i++) {
        int high = g_ascii_xdigit_value(hex[2 * i]), low = g_ascii_xdigit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return fail(r, "\"hex\" has a character that is no hexadecimal digit");
        row[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_json_line(struct reader *r, const char *line)
{
    json_error_t e;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);
    if (o == NULL)
        return fail(r, "expected an object of JSON: %s", e.text);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    bool ok = true;
    if (kind == NULL)
        ok = fail(r, "expected an object with a \"kind\", as heddle-portscan --lft prints it");
    else if (strcmp(kind, "port") == 0)
        ok = read_json_port(r, o);
    else if (strcmp(kind, "link") == 0)
        ok = read_json_link(r, o);
    else if (strcmp(kind, "lft") == 0)
        ok = read_json_table(r, o);
    json_decref(o);
    return ok;
}

/* -- dumps ------------------------------------------------------------------------------------- */

/* The first word that looks like 0x.. after `key`. */
static bool guid_after(const char *line, const char *key, uint64_t *guid)
{
    const char *at = strstr(line, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    g_autofree char *word = g_strndup(at, strspn(at, "0123456789abcdefxABCDEFX"));
    return parse_guid(word, guid);
}

static bool read_dump_header(struct reader *r, const char *line)
{
    uint64_t guid;
    r->now = NULL;
    if (g_str_has_prefix(line, "Multicast"))
        return true; /* its lines are skipped */
    if (!guid_after(line, " guid 0x", &guid))
        return fail(r, "expected \"Unicast lids [..] of switch .. guid 0x..\"");
    r->now = need_switch(r->l, guid);
    need_row(r->now);
    return true;
}

static void note_dump_lid(struct reader *r, const char *line, uint16_t lid)
{
    struct lfts_port p = {.lid = lid, .type = 1};
    if (strstr(line, "(path #") != NULL || !guid_after(line, "portguid 0x", &p.guid))
        return; /* a further LID of a port with an LMC, or not known to whoever wrote this */
    if (strstr(line, "(Switch") != NULL)
        p.type = 2;
    else if (strstr(line, "(Router") != NULL)
        p.type = 3;
    note_lid(r->l, p);
}

/* "0x0001 007 : (..". Lines of other forms (headings, counts, comments) have no LID in front. */
static bool read_dump_line(struct reader *r, const char *line)
{
    unsigned lid, port;
    int used = 0;
    if (g_str_has_prefix(line, "Unicast lids") || g_str_has_prefix(line, "Multicast mlids"))
        return read_dump_header(r, line);
    if (r->now == NULL || sscanf(line, " 0x%4x %n", &lid, &used) < 1 || used == 0)
        return true;
    const char *rest = line + used;
    if (lid == 0 || lid >= LFTS_ROW_BYTES)
        return fail(r, "0x%04x is no unicast LID", lid);
    if (sscanf(rest, "%3u", &port) != 1) /* OpenSM: "UNREACHABLE" */
        return true;
    if (port > UINT8_MAX)
        return fail(r, "%u is no port number", port);
    r->now->row[lid] = (uint8_t)port;
    note_dump_lid(r, rest, (uint16_t)lid);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */

struct lfts *lfts_read_text(const char *name, const char *text, char **error)
{
    struct reader r = {.name = name, .l = g_new0(struct lfts, 1)};
    r.l->switches = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_switch);
    r.l->lids = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    r.l->links = g_array_new(FALSE, FALSE, sizeof(struct lfts_link));
    r.l->has_links = text[strspn(text, " \t\r\n")] == '{';
    bool ok = true;
    while (ok && *text != '\0') {
        size_t len = strcspn(text, "\n");
        g_autofree char *line = g_strndup(text, len);
        r.line++;
        text += len + (text[len] == '\n');
        if (*g_strstrip(line) != '\0')
            ok = r.l->has_links ? read_json_line(&r, line) : read_dump_line(&r, line);
    }
    r.line = 0; /* what follows is about the file as a whole */
    if (ok && g_hash_table_size(r.l->switches) == 0)
        ok = fail(&r, "no forwarding table is in it; expected the output of dump_lfts, dump_fts, "
                      "ibroute or heddle-portscan --lft");
    if (ok)
        return r.l;
    *error = r.error;
    lfts_destroy(r.l);
    return NULL;
}

struct lfts *lfts_load(const char *path, char **error)
{
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(path, &text, &len);
    if (rc == 0)
        return lfts_read_text(path, text, error);
    *error = g_strdup_printf("%s: cannot be read: %s", path, fabric_file_error(rc));
    return NULL;
}

void lfts_destroy(struct lfts *l)
{
    if (l == NULL)
        return;
    g_hash_table_destroy(l->switches);
    g_hash_table_destroy(l->lids);
    g_array_free(l->links, TRUE);
    g_free(l);
}
