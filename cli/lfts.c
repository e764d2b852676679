/* SPDX-License-Identifier: BSD-2-Clause */
/* Forwarding tables: those of switches read back, those of plans written. */
#include "cli/lfts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/parse.h"
#include "cli/text.h"
#include "fabric/fabric.h"
#include "fabric/load.h"
#include "routing/plan.h"

#define MAX_PORT 254u
#define MAX_LMC 7u /* IBA 4.1.3 */
#define SHOWN_BYTES 16u
#define MAX_LINE_BYTES (1u << 20) /* a table of all LIDs in JSON has 98,304 digits */

struct reader {
    struct lfts *l;
    const char *name;
    unsigned line;
    bool begun;              /* a line that is not empty was seen */
    struct lfts_switch *now; /* whose table the lines are of (second form); NULL = none */
    uint64_t *owners;        /* second form: port GUID of each LID, 0 = not told yet */
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
    p.lid = p.top_lid = lid < LFTS_ROW_BYTES ? (uint16_t)lid : 0;
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

struct span {
    const char *at, *end;
};

static struct span skip_blanks(struct span s)
{
    while (s.at < s.end && g_ascii_isspace(*s.at))
        s.at++;
    return s;
}

static bool begins(struct span s, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(s.end - s.at) >= len && memcmp(s.at, word, len) == 0;
}

/* What follows the first `word`; at = NULL when it is not there. */
static struct span after(struct span s, const char *word)
{
    size_t len = strlen(word);
    const char *found = memmem(s.at, (size_t)(s.end - s.at), word, len);
    return (struct span){found != NULL ? found + len : NULL, s.end};
}

/* Digits of this base from the front of *s. False when there are none or more than max_digits. */
static bool take_number(struct span *s, unsigned base, unsigned max_digits, uint64_t *value)
{
    unsigned digits = 0;
    for (*value = 0; s->at < s->end; s->at++) {
        int digit = g_ascii_xdigit_value(*s->at);
        if (digit < 0 || digit >= (int)base)
            break;
        if (++digits > max_digits)
            return false;
        *value = *value * base + (unsigned)digit;
    }
    return digits > 0;
}

static bool ends_word(struct span s)
{
    return s.at == s.end || strchr(" \t\r:)", *s.at) != NULL;
}

static bool read_dump_header(struct reader *r, struct span s)
{
    uint64_t guid;
    r->now = NULL;
    if (begins(s, "Multicast"))
        return true; /* its lines are skipped */
    s = after(s, " guid 0x");
    if (s.at == NULL || !take_number(&s, 16, 16, &guid) || !ends_word(s) || guid == 0)
        return fail(r, "expected \"Unicast lids [..] of switch .. guid 0x..\"");
    r->now = need_switch(r->l, guid);
    need_row(r->now);
    return true;
}

static bool note_owner(struct reader *r, struct lfts_port told)
{
    uint64_t *owner = &r->owners[told.lid];
    if (*owner == told.guid)
        return true;
    if (*owner != 0)
        return fail(r,
                    "LID 0x%04x belongs to port 0x%016" PRIx64 " here, and to 0x%016" PRIx64
                    " further up: dump all tables again, at one time",
                    told.lid, told.guid, *owner);
    *owner = told.guid;
    struct lfts_port *p = g_hash_table_lookup(r->l->lids, &told.guid);
    if (p == NULL) {
        note_lid(r->l, told);
        return true;
    }
    p->lid = MIN(p->lid, told.lid);
    p->top_lid = MAX(p->top_lid, told.lid);
    if (lfts_lmc(p) <= MAX_LMC)
        return true;
    return fail(r,
                "port 0x%016" PRIx64 " has LID 0x%04x as well as 0x%04x, more than an LMC "
                "covers: dump all tables again, at one time",
                told.guid, p->lid, p->top_lid);
}

/* "path #2 out of 4: portguid 0x..": the tools count from the last port with an LMC that they saw,
 * whether the LID is its or not (#-3). So only a number that fits what is known of it counts. */
static bool note_path(struct reader *r, struct span s, struct lfts_port told)
{
    uint64_t number;
    const struct lfts_port *p = g_hash_table_lookup(r->l->lids, &told.guid);
    if (p == NULL || !take_number(&s, 10, 3, &number) || number < 1 ||
        p->lid + number - 1 != told.lid)
        return true;
    return note_owner(r, told);
}

static bool note_dump_lid(struct reader *r, struct span s, uint16_t lid)
{
    struct lfts_port told = {.lid = lid, .top_lid = lid, .type = 1};
    struct span guid = after(s, "portguid 0x");
    if (guid.at == NULL)
        return true; /* not known to whoever wrote this */
    struct span front = {s.at, guid.at}, path = after(front, "(path #");
    if (!take_number(&guid, 16, 16, &told.guid) || !ends_word(guid) || told.guid == 0)
        return fail(r, "expected \"portguid 0x\" and up to 16 hexadecimal digits");
    if (path.at != NULL)
        return note_path(r, path, told);
    if (after(front, "Switch ").at != NULL)
        told.type = 2;
    else if (after(front, "Router ").at != NULL)
        told.type = 3;
    return note_owner(r, told);
}

static bool fail_port(struct reader *r, struct span s)
{
    g_autofree char *rest = g_strndup(s.at, MIN((gsize)(s.end - s.at), SHOWN_BYTES));
    rest[strcspn(rest, " \t:")] = '\0';
    g_autofree char *word = text_shown(rest);
    return fail(r, "%s is no port number", word);
}

/* "0x0001 007 : (..". Lines of other forms (headings, counts, comments) have no LID in front. */
static bool read_dump_line(struct reader *r, struct span s)
{
    uint64_t lid, port;
    if (begins(s, "Unicast lids") || begins(s, "Multicast mlids"))
        return read_dump_header(r, s);
    if (r->now == NULL || !begins(s, "0x"))
        return true;
    s.at += 2;
    if (!take_number(&s, 16, 4, &lid) || !ends_word(s))
        return fail(r, "expected a LID such as 0x0001 and a port such as 007");
    if (lid >= LFTS_ROW_BYTES)
        return fail(r, "0x%04x is no unicast LID", (unsigned)lid);
    s = skip_blanks(s);
    if (s.at == s.end || !g_ascii_isdigit(*s.at) || lid == 0) /* 0 is reserved, IBA 4.1.3 */
        return true;                                          /* OpenSM: "UNREACHABLE" */
    struct span word = s;
    if (!take_number(&s, 10, 3, &port) || port > UINT8_MAX || !ends_word(s))
        return fail_port(r, word);
    uint8_t *entry = &r->now->row[lid];
    if (*entry != RT_NO_PATH && *entry != port)
        return fail(r,
                    "LID 0x%04x of switch 0x%016" PRIx64 " has port %u here, and port %u "
                    "further up",
                    (unsigned)lid, r->now->guid, (unsigned)port, *entry);
    *entry = (uint8_t)port;
    return note_dump_lid(r, s, (uint16_t)lid);
}

/* -- texts and files --------------------------------------------------------------------------- */

static void reader_init(struct reader *r, const char *name)
{
    *r = (struct reader){.name = name, .l = g_new0(struct lfts, 1)};
    r->l->switches = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_switch);
    r->l->lids = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    r->l->links = g_array_new(FALSE, FALSE, sizeof(struct lfts_link));
    r->owners = g_new0(uint64_t, LFTS_ROW_BYTES);
}

static struct lfts *reader_finish(struct reader *r, bool ok, char **error)
{
    r->line = 0; /* what follows is about the file as a whole */
    if (ok && g_hash_table_size(r->l->switches) == 0)
        ok = fail(r, "no forwarding table is in it; expected the output of dump_lfts, dump_fts, "
                     "ibroute or heddle-portscan --lft");
    g_free(r->owners);
    if (ok)
        return r->l;
    *error = r->error;
    lfts_destroy(r->l);
    return NULL;
}

static bool read_line(struct reader *r, struct span s)
{
    r->line++;
    s = skip_blanks(s);
    while (s.end > s.at && g_ascii_isspace(s.end[-1]))
        s.end--;
    if (s.at == s.end)
        return true;
    if (memchr(s.at, '\0', (size_t)(s.end - s.at)) != NULL)
        return fail(r, "a byte of value 0: this is no text");
    if (!r->begun)
        r->l->has_links = *s.at == '{';
    r->begun = true;
    if (!r->l->has_links)
        return read_dump_line(r, s);
    g_autofree char *line = g_strndup(s.at, (gsize)(s.end - s.at));
    return read_json_line(r, line);
}

static struct lfts *read_text(const char *name, struct span text, char **error)
{
    struct reader r;
    bool ok = true;
    reader_init(&r, name);
    while (ok && text.at < text.end) {
        const char *stop = memchr(text.at, '\n', (size_t)(text.end - text.at));
        ok = read_line(&r, (struct span){text.at, stop != NULL ? stop : text.end});
        text.at = stop != NULL ? stop + 1 : text.end;
    }
    return reader_finish(&r, ok, error);
}

struct lfts *lfts_read_text(const char *name, const char *text, char **error)
{
    return read_text(name, (struct span){text, text + strlen(text)}, error);
}

/* All whole lines of the buffer; the rest stays in it. */
static bool read_lines(struct reader *r, GString *buffer)
{
    const char *at = buffer->str, *end = at + buffer->len, *stop;
    bool ok = true;
    while (ok && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        ok = read_line(r, (struct span){at, stop});
        at = stop + 1;
    }
    g_string_erase(buffer, 0, at - buffer->str);
    if (ok && buffer->len > MAX_LINE_BYTES) {
        r->line++;
        return fail(r, "a line of more than %u bytes", MAX_LINE_BYTES);
    }
    return ok;
}

/* Piece by piece: the dump of a large fabric is larger than what fits into memory. */
static struct lfts *read_file(const char *path, FILE *in, char **error)
{
    struct reader r;
    bool ok = true;
    g_autoptr(GString) buffer = g_string_sized_new(2 * MAX_LINE_BYTES);
    g_autofree char *piece = g_malloc(MAX_LINE_BYTES);
    size_t got;
    reader_init(&r, path);
    while (ok && (got = fread(piece, 1, MAX_LINE_BYTES, in)) > 0) {
        g_string_append_len(buffer, piece, (gssize)got);
        ok = read_lines(&r, buffer);
    }
    int rc = errno;
    if (ok && ferror(in)) {
        r.line = 0;
        ok = fail(&r, "cannot be read: %s", fabric_file_error(rc));
    }
    if (ok)
        ok = read_line(&r, (struct span){buffer->str, buffer->str + buffer->len});
    return reader_finish(&r, ok, error);
}

struct lfts *lfts_load(const char *path, char **error)
{
    struct stat about;
    FILE *in = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
    if (in != NULL) {
        struct lfts *l = read_file(path, in, error);
        fclose(in);
        return l;
    }
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(path, &text, &len);
    if (rc == 0)
        return read_text(path, (struct span){text, text + len}, error);
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

unsigned lfts_lmc(const struct lfts_port *p)
{
    return g_bit_storage(p->top_lid - p->lid) - (p->top_lid == p->lid);
}

/* -- writing ----------------------------------------------------------------------------------- */

struct writer {
    const struct rt_plan *plan;
    const struct fabric *names;
    GHashTable *by_port; /* &port GUID -> node number + 1, of all ports that names has */
    char **ends;         /* of each LID: what its lines end with, NULL = nobody's */
    FILE *out;
};

static GHashTable *nodes_by_port(const struct fabric *f)
{
    GHashTable *t = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (uint32_t n = 0; f != NULL && n < f->node_count; n++)
        for (unsigned p = 0; p <= f->nodes[n].nports; p++)
            if (f->nodes[n].ports[p].guid != 0)
                g_hash_table_insert(t, &f->nodes[n].ports[p].guid, GUINT_TO_POINTER(n + 1));
    return t;
}

static char *name_of(const struct writer *w, uint64_t port_guid)
{
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(w->by_port, &port_guid));
    return text_shown(n > 0 ? w->names->nodes[n - 1].desc : "");
}

/* Further LIDs of a port name it as well, in the way in which OpenSM looks for it, so that it finds
 * the port again when its LIDs have changed. */
static void make_ends(struct writer *w)
{
    static const char *const types[] = {[RT_DEST_SWITCH] = "Switch",
                                        [RT_DEST_HOST] = "Channel Adapter",
                                        [RT_DEST_AGGREGATION] = "Channel Adapter",
                                        [RT_DEST_ROUTER] = "Router"};
    const struct rt_graph *g = rt_plan_graph(w->plan);
    for (uint32_t i = 0; i < g->dest_count; i++) {
        const struct rt_dest *d = &g->dests[i];
        g_autofree char *name = name_of(w, d->port_guid);
        for (unsigned k = 0; d->lid != 0 && k < 1u << d->lmc; k++) {
            g_autofree char *kind =
                k == 0 ? g_strdup(types[d->kind])
                       : g_strdup_printf("path #%u out of %u:", k + 1, 1u << d->lmc);
            w->ends[d->lid + k] = g_strdup_printf(" : (%s portguid 0x%016" PRIx64 ": '%s')\n", kind,
                                                  d->port_guid, name);
        }
    }
}

static void write_table(struct writer *w, uint32_t sw, uint8_t *row)
{
    const struct rt_graph *g = rt_plan_graph(w->plan);
    const struct rt_dest *self = &g->dests[g->switches[sw].first_dest];
    g_autofree char *name = name_of(w, self->port_guid);
    unsigned count = 0;
    rt_plan_row(w->plan, sw, row, g->max_lid + 1u);
    fprintf(w->out, "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016" PRIx64 " (%s):\n",
            g->max_lid, self->lid, g->switches[sw].guid, name);
    fputs("  Lid  Out   Destination\n       Port     Info \n", w->out);
    for (uint32_t lid = 1; lid <= g->max_lid; lid++) {
        if (row[lid] == RT_NO_PATH || w->ends[lid] == NULL)
            continue;
        fprintf(w->out, "0x%04x %03u", lid, row[lid]);
        fputs(w->ends[lid], w->out);
        count++;
    }
    fprintf(w->out, "%u valid lids dumped \n", count);
}

int lfts_write(const struct rt_plan *p, const struct fabric *names, FILE *out)
{
    const struct rt_graph *g = rt_plan_graph(p);
    struct writer w = {.plan = p, .names = names, .by_port = nodes_by_port(names), .out = out};
    g_autofree uint8_t *row = g_malloc(g->max_lid + 1u);
    w.ends = g_new0(char *, g->max_lid + 1u);
    make_ends(&w);
    errno = 0;
    for (uint32_t s = 0; s < g->switch_count && !ferror(out); s++)
        write_table(&w, s, row);
    int rc = fflush(out) != 0 || ferror(out) ? (errno != 0 ? errno : EIO) : 0;
    for (uint32_t lid = 0; lid <= g->max_lid; lid++)
        g_free(w.ends[lid]);
    g_free(w.ends);
    g_hash_table_destroy(w.by_port);
    return rc;
}
