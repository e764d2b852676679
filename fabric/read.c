/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading fabrics: lines, keywords and the headers of nodes. */
#include "fabric/read.h"

#include <string.h>

#include "fabric/reader.h"

#define WHAT_LINE "Switch, Ca, Hca, Rt, a port line such as [1], or a keyword such as switchguid="

struct reader *reader_create(struct fabric_messages *messages)
{
    struct reader *r = g_new0(struct reader, 1);
    r->fabric = fabric_create();
    fabric_report_begin(&r->report, messages);
    r->strings = g_string_chunk_new(4096);
    r->ids = g_hash_table_new(g_str_hash, g_str_equal);
    r->aliases = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    r->listed = g_hash_table_new(g_direct_hash, g_direct_equal);
    r->cables = g_array_new(FALSE, FALSE, sizeof(struct reader_cable));
    r->places = g_array_new(FALSE, FALSE, sizeof(struct fabric_place));
    r->module = "";
    r->node = FABRIC_NONE;
    static const uint64_t first[] = {
        [FABRIC_CA] = 0x100000, [FABRIC_SWITCH] = 0x200000, [FABRIC_ROUTER] = 0x300000};
    memcpy(r->base_guid, first, sizeof first);
    memcpy(r->next_guid, first, sizeof first);
    return r;
}

bool reader_expected(struct reader *r, const char *what, const char *found)
{
    char shown[256];
    fabric_report_error(&r->report, &r->at, "expected %s, found %s%s", what,
                        lex_shown(shown, sizeof shown, found),
                        r->cut_line ? " (the file ends inside this line)" : "");
    return false;
}

const char *reader_full_id(struct reader *r, const char *id, size_t len, char separator)
{
    g_autofree char *own = g_strndup(id, len);
    if (!*r->module && separator == '#')
        return g_string_chunk_insert_const(r->strings, own);
    g_autofree char *full = g_strdup_printf("%s%c%s", r->module, separator, own);
    return g_string_chunk_insert_const(r->strings, full);
}

bool reader_guid_in_id(const char *id, uint64_t *guid)
{
    const char *module_end = strrchr(id, '#');
    const char *p = module_end ? module_end + 1 : id;
    if (!*p || !strchr("SHR", *p) || p[1] != '-' || strlen(p) != 18)
        return false;
    p += 2;
    return p[1] != 'x' && lex_hex(&p, guid) && !*p && *guid != 0;
}

static void read_lid(struct reader *r, const char **p, uint16_t *lid)
{
    uint64_t v;
    *p = lex_blanks(*p);
    if (!lex_number(p, UINT16_MAX, &v)) {
        reader_expected(r, "a LID from 0 to 49151", *p);
    } else if (v > READER_MAX_LID) {
        fabric_report_warning(&r->report, &r->at, "%u is no unicast LID: taken as 0", (unsigned)v);
        *lid = 0;
    } else {
        *lid = (uint16_t)v;
    }
}

void reader_lid_and_lmc(struct reader *r, const char *text, size_t len, uint16_t *lid, uint8_t *lmc)
{
    g_autofree char *own = g_strndup(text, len);
    for (const char *p = lex_blanks(own); *p; p = lex_blanks(p)) {
        uint64_t v;
        if (lex_word(&p, "lid")) {
            read_lid(r, &p, lid);
        } else if (lex_word(&p, "lmc")) {
            p = lex_blanks(p);
            if (lex_number(&p, 7, &v))
                *lmc = (uint8_t)v;
            else
                reader_expected(r, "an LMC from 0 to 7", p);
        }
        while (*p && !g_ascii_isspace(*p))
            p++;
    }
}

uint8_t reader_width_of_mask(uint64_t mask)
{
    static const uint8_t widest_first[] = {8, 4, 2, 16, 1}; /* 12x 8x 4x 2x 1x */
    for (size_t i = 0; i < G_N_ELEMENTS(widest_first); i++)
        if (mask & widest_first[i])
            return widest_first[i];
    return 0;
}

uint8_t reader_speed_of_mask(uint64_t mask, bool extended)
{
    static const uint8_t plain[] = {FABRIC_SDR, FABRIC_DDR, FABRIC_QDR};
    static const uint8_t ext[] = {FABRIC_FDR, FABRIC_EDR, FABRIC_HDR, FABRIC_NDR, FABRIC_XDR};
    const uint8_t *speeds = extended ? ext : plain;
    unsigned count = extended ? G_N_ELEMENTS(ext) : G_N_ELEMENTS(plain);
    while (count--)
        if (mask >> count & 1)
            return speeds[count];
    return FABRIC_SPEED_UNKNOWN;
}

/* ---- headers ---- */

struct header {
    enum fabric_node_type type;
    unsigned nports;
    const char *id;   /* with its prefix */
    char *desc;       /* owned */
    const char *tail; /* what follows the description */
};

static const struct {
    const char *word;
    enum fabric_node_type type;
} node_words[] = {
    {"Switch", FABRIC_SWITCH}, {"Ca", FABRIC_CA}, {"Hca", FABRIC_CA}, {"Rt", FABRIC_ROUTER}};

static bool header_type(const char **p, enum fabric_node_type *type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(node_words); i++)
        if (lex_word(p, node_words[i].word)) {
            *type = node_words[i].type;
            return true;
        }
    return false;
}

/* The description stands in the last pair of quotes that opens first and closes last: it may hold
 * quotes itself. Older tools print none; then it ends where the LID begins. */
static bool header_desc(struct reader *r, struct header *h, const char *comment)
{
    static const char *const ends[] = {" enhanced port ", " base port ", " lid ", " lmc "};
    const char *close = strrchr(comment, '"');
    if (*comment == '"') {
        if (close == comment)
            return reader_expected(r, "a closing quote of the description", comment);
        h->desc = g_strndup(comment + 1, (size_t)(close - comment - 1));
        h->tail = close + 1;
        return true;
    }
    h->tail = comment + strlen(comment);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        const char *end = strstr(comment, ends[i]);
        if (end && end < h->tail)
            h->tail = end;
    }
    h->desc = g_strndup(comment, (size_t)(h->tail - comment));
    return true;
}

/* `Switch 36 "S-0002c90300000001"   # "name" enhanced port 0 lid 1 lmc 0` */
static bool parse_header(struct reader *r, const char *p, struct header *h)
{
    const char *id;
    uint64_t nports;
    size_t len;
    p = lex_blanks(p);
    const char *number = p;
    if (!lex_number(&p, FABRIC_MAX_PORTS, &nports) || nports == 0)
        return reader_expected(r, "a number of ports from 1 to 254", number);
    p = lex_blanks(p);
    const char *quoted = p;
    if (!lex_quoted(&p, &id, &len) || len == 0)
        return reader_expected(r, "the node's id in quotes, such as \"S-0002c90300000001\"",
                               quoted);
    h->nports = (unsigned)nports;
    h->id = reader_full_id(r, id, len, '#');
    if (memchr(id, '@', len) || memchr(id, '#', len))
        return reader_expected(r, "an id without # and @, which mark modules and aliases", id);
    p = lex_blanks(p);
    if (*p == '#')
        return header_desc(r, h, lex_blanks(p + 1));
    if (*p)
        return reader_expected(r, "# and the node's description", p);
    h->desc = g_strdup(h->id);
    h->tail = p;
    return true;
}

/* From its guid line, else its id, else by counting as ibsim does. */
static uint64_t header_guid(struct reader *r, const struct header *h)
{
    uint64_t in_id = 0, guid = r->next_guid[h->type];
    bool has_id = reader_guid_in_id(h->id, &in_id);
    if (r->pending.has_guid[h->type] && has_id && in_id != guid)
        fabric_report_warning(&r->report, &r->at,
                              "the id \"%s\" and the GUID 0x%016" G_GINT64_MODIFIER
                              "x before it differ: the latter is taken",
                              h->id, guid);
    if (has_id && !r->pending.has_guid[h->type])
        return in_id;
    r->next_guid[h->type] = guid + (h->type == FABRIC_SWITCH ? 1 : h->nports + 1);
    return guid;
}

static bool found_twice(struct reader *r, uint32_t other, const char *what)
{
    const struct fabric_place *first = &g_array_index(r->places, struct fabric_place, other);
    fabric_report_error(&r->report, &r->at,
                        "expected one node with each %s, found the same as in %s:%u", what,
                        first->file, first->line);
    return false;
}

static bool add_node(struct reader *r, const struct header *h)
{
    uint64_t guid = header_guid(r, h);
    struct fabric *f = r->fabric;
    uint32_t other = GPOINTER_TO_UINT(g_hash_table_lookup(r->ids, h->id));
    if (other)
        return found_twice(r, other - 1, "id");
    other = fabric_find(f, guid);
    if (other != FABRIC_NONE)
        return found_twice(r, other, "GUID");
    if (guid == 0)
        return reader_expected(r, "a GUID other than 0 before this node", "0");
    if (f->node_count == READER_MAX_NODES)
        return reader_expected(r, "at most 49151 nodes (as many as there are LIDs)", h->id);
    if (strlen(h->desc) > sizeof f->nodes->desc - 1)
        fabric_report_warning(&r->report, &r->at, "the description was cut to %zu bytes",
                              sizeof f->nodes->desc - 1);
    r->node = fabric_add_node(f, guid, h->type, h->nports, h->desc);
    g_hash_table_insert(r->ids, (gpointer)h->id, GUINT_TO_POINTER(r->node + 1));
    g_array_append_val(r->places, r->at);
    struct fabric_node *n = &f->nodes[r->node];
    n->sys_guid = r->pending.sys_guid;
    n->vendor_id = r->pending.vendor_id;
    n->device_id = r->pending.device_id;
    for (unsigned p = 1; p <= n->nports; p++) {
        n->ports[p].width = r->width;
        n->ports[p].speed = r->speed;
    }
    return true;
}

static void finish_switch(struct reader *r, const struct header *h)
{
    struct fabric_node *n = &r->fabric->nodes[r->node];
    n->enhanced_port0 = strstr(h->tail, "enhanced port 0") != NULL;
    reader_lid_and_lmc(r, h->tail, strlen(h->tail), &n->ports[0].lid, &n->ports[0].lmc);
    for (unsigned p = 0; r->pending.port_guid && p <= n->nports; p++)
        n->ports[p].guid = r->pending.port_guid;
}

static void header_line(struct reader *r, enum fabric_node_type type, const char *p)
{
    struct header h = {.type = type};
    r->node = FABRIC_NONE;
    r->skip_ports = !parse_header(r, p, &h) || !add_node(r, &h);
    r->bad_header |= r->skip_ports;
    if (!r->skip_ports && type == FABRIC_SWITCH)
        finish_switch(r, &h);
    r->pending = (struct reader_pending){0};
    g_free(h.desc);
}

/* ---- keywords ---- */

static void end_node(struct reader *r)
{
    r->node = FABRIC_NONE;
    r->skip_ports = false;
}

/* Steps over `=` and reads the number behind it, behind which may stand a comment. */
static bool assigned(struct reader *r, const char *p, uint64_t max, uint64_t *value)
{
    p = lex_blanks(p);
    if (*p != '=')
        return reader_expected(r, "=", p);
    p = lex_blanks(p + 1);
    const char *number = p;
    if (lex_number(&p, max, value) && (!*p || g_ascii_isspace(*p) || *p == '#'))
        return true;
    g_autofree char *what = g_strdup_printf("a number up to 0x%" G_GINT64_MODIFIER "x", max);
    return reader_expected(r, what, number);
}

/* `switchguid=0x..(..)`: absolute; `switchguid+0x..`: counted from the last absolute one. */
static void guid_line(struct reader *r, enum fabric_node_type type, const char *p)
{
    uint64_t guid, port_guid = 0;
    p = lex_blanks(p);
    bool relative = *p == '+';
    if (*p != '=' && *p != '+') {
        reader_expected(r, "= or +", p);
        return;
    }
    p = lex_blanks(p + 1);
    const char *number = p;
    bool good = lex_number(&p, UINT64_MAX, &guid);
    if (good && *p == '(') {
        p++;
        good = lex_hex(&p, &port_guid) && *p == ')';
        p += good;
    }
    p = lex_blanks(p);
    if (!good || (*p && *p != '#')) {
        reader_expected(r, "a GUID such as 0x0002c90300000001(0002c90300000001)", number);
        return;
    }
    if (!relative)
        r->base_guid[type] = guid;
    r->next_guid[type] = relative ? r->base_guid[type] + guid : guid;
    r->pending.has_guid[type] = true;
    r->pending.port_guid = type == FABRIC_SWITCH ? port_guid : r->pending.port_guid;
}

static void module_line(struct reader *r, const char *p)
{
    const char *name;
    size_t len;
    p = lex_blanks(p);
    p = lex_blanks(*p == '=' ? p + 1 : p);
    if (!lex_quoted(&p, &name, &len) || memchr(name, '#', len) || memchr(name, '@', len)) {
        reader_expected(r, "the module's name in quotes", p);
        return;
    }
    g_autofree char *own = g_strndup(name, len);
    r->module = g_string_chunk_insert_const(r->strings, own);
}

static void include_line(struct reader *r, const char *p)
{
    const char *path;
    size_t len;
    p = lex_blanks(p);
    const char *quoted = p;
    if (!lex_quoted(&p, &path, &len) || len == 0) {
        reader_expected(r, "a file name in quotes", quoted);
    } else if (!r->include) {
        reader_expected(r, "no include line (this text was not read from a file)", quoted);
    } else if (r->depth >= READER_MAX_INCLUDES) {
        reader_expected(r, "at most 8 files inside each other", quoted);
    } else {
        g_autofree char *name = g_strndup(path, len);
        r->depth++;
        r->include(r, name);
        r->depth--;
        end_node(r);
    }
}

static bool id_line(struct reader *r, const char *p)
{
    static const struct {
        const char *word;
        enum fabric_node_type type;
    } words[] = {{"switchguid", FABRIC_SWITCH}, {"switchguids", FABRIC_SWITCH},
                 {"caguid", FABRIC_CA},         {"caguids", FABRIC_CA},
                 {"hcaguid", FABRIC_CA},        {"hcaguids", FABRIC_CA},
                 {"rtguid", FABRIC_ROUTER},     {"rtguids", FABRIC_ROUTER}};
    uint64_t v;
    bool known = true;
    size_t i = 0;
    while (i < G_N_ELEMENTS(words) && !lex_word(&p, words[i].word))
        i++;
    if (i < G_N_ELEMENTS(words))
        guid_line(r, words[i].type, p);
    else if (lex_word(&p, "vendid"))
        r->pending.vendor_id = assigned(r, p, 0xffffff, &v) ? (uint32_t)v : 0;
    else if (lex_word(&p, "devid"))
        r->pending.device_id = assigned(r, p, UINT16_MAX, &v) ? (uint16_t)v : 0;
    else if (lex_word(&p, "sysimgguid"))
        r->pending.sys_guid = assigned(r, p, UINT64_MAX, &v) ? v : 0;
    else
        known = false;
    if (known && !r->pending.any) {
        r->pending.any = true;
        r->pending.at = r->at;
    }
    return known;
}

static bool option_line(struct reader *r, const char *p)
{
    uint64_t v;
    if (lex_word(&p, "width"))
        r->width = assigned(r, p, 31, &v) ? reader_width_of_mask(v) : 0;
    else if (lex_word(&p, "speed"))
        r->speed = assigned(r, p, 7, &v) ? reader_speed_of_mask(v, false) : 0;
    else if (lex_word(&p, "extspeed"))
        r->speed = assigned(r, p, 31, &v) && v ? reader_speed_of_mask(v, true) : r->speed;
    else if (lex_word(&p, "module"))
        module_line(r, p);
    else if (lex_word(&p, "include"))
        include_line(r, p);
    else if (lex_word(&p, "do"))
        fabric_report_warning(&r->report, &r->at, "a command for ibsim's console: not carried out");
    else if (!lex_word(&p, "pdebug") && !lex_word(&p, "Chassis") && !lex_word(&p, "Hostname"))
        return false;
    return true;
}

/* ---- lines that are no part of a fabric but get into saved terminal output ---- */

/* `user@host:~$ ibnetdiscover`, `[root@host ~]# `, `host:~ # ..`, `$ ibnetdiscover`, `sh-5.1# `:
 * a first word that holds @ or ends in a prompt sign, with the sign followed by a blank or the
 * end. */
static bool is_prompt(const char *p)
{
    const char *end_of_word = strpbrk(p, " \t");
    size_t word = end_of_word ? (size_t)(end_of_word - p) : strlen(p);
    bool person = memchr(p, '@', word) != NULL;
    for (const char *s = strpbrk(p, "$#%>"); s; s = strpbrk(s + 1, "$#%>")) {
        bool alone = s[1] == '\0' || g_ascii_isspace(s[1]);
        bool near = s < p + word || (s <= p + word + 1 && memchr(p, ':', word));
        if (alone && (person || near) && !memchr(p, '"', (size_t)(s - p)))
            return true;
    }
    return false;
}

/* What the diagnostic tools write to stderr between the lines of a dump. */
static bool is_tool_message(const char *p)
{
    static const char *const starts[] = {
        "ibwarn:", "ibpanic:", "iberror:", "ibnetdiscover:", "src/", "libibnetdisc/", "ibdebug:"};
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
        if (g_str_has_prefix(p, starts[i]))
            return true;
    return false;
}

/* It may have been a header or a keyword. */
static void lost_line(struct reader *r)
{
    r->node = FABRIC_NONE;
    r->skip_ports = r->bad_header = true;
}

static void other_line(struct reader *r, const char *p)
{
    if (id_line(r, p) || option_line(r, p)) {
        end_node(r);
    } else if (is_prompt(p)) {
        fabric_report_warning(&r->report, &r->at, "a shell prompt: skipped");
    } else if (is_tool_message(p)) {
        fabric_report_warning(&r->report, &r->at, "a message of a tool: skipped");
    } else {
        reader_expected(r, WHAT_LINE, p);
        lost_line(r);
    }
}

/* ---- lines ---- */

static void read_line(struct reader *r, const char *p)
{
    enum fabric_node_type type;
    p = lex_blanks(p);
    if (*p == '[' && (g_ascii_isdigit(p[1]) || !is_prompt(p)))
        reader_port_line(r, p);
    else if (p[0] == '@' && p[1] == '[')
        reader_alias_line(r, p + 1);
    else if (*p && *p != '#' && header_type(&p, &type))
        header_line(r, type, p);
    else if (*p && *p != '#')
        other_line(r, p);
}

static void unreadable_line(struct reader *r, const struct lex_lines *lines)
{
    if (lines->has_nul)
        fabric_report_error(&r->report, &r->at, "expected text, found a NUL byte");
    else
        fabric_report_error(&r->report, &r->at, "expected a line of at most %d bytes, found more",
                            LEX_MAX_LINE_BYTES);
    lost_line(r);
}

static bool starts_as_utf16(const char *text, size_t len)
{
    return len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

void reader_feed(struct reader *r, const char *name, const char *text, size_t len)
{
    struct fabric_place outer = r->at;
    struct lex_lines lines;
    r->at.file = g_string_chunk_insert_const(r->strings, name);
    r->at.line = 0;
    lex_open(&lines, text, len);
    if (starts_as_utf16(text, len)) {
        r->at.line = 1;
        fabric_report_error(&r->report, &r->at, "expected ASCII or UTF-8 text, found UTF-16");
        lines.next = lines.end;
    }
    while (!fabric_report_full(&r->report) && lex_next(&lines)) {
        r->at.line++;
        r->at.order++;
        r->cut_line = lines.no_newline;
        unsigned errors = r->report.errors;
        if (lines.has_nul || lines.too_long)
            unreadable_line(r, &lines);
        else
            read_line(r, lines.line->str);
        if (lines.no_newline && errors == r->report.errors && lines.line->len)
            fabric_report_warning(&r->report, &r->at,
                                  "no end of line at the end of the file: it may be cut off");
    }
    lex_close(&lines);
    r->cut_line = false;
    uint32_t order = r->at.order;
    r->at = outer;
    r->at.order = order;
}

static void check_end(struct reader *r, const char *name)
{
    struct fabric_place end = {.file = name, .order = r->at.order + 1};
    if (r->pending.any)
        fabric_report_error(&r->report, &r->pending.at,
                            "expected Switch, Ca, Hca or Rt after this line, found the end of the "
                            "file, which seems cut off");
    else if (r->fabric->node_count == 0 && r->report.errors == 0)
        fabric_report_error(&r->report, &end,
                            "expected at least one node (Switch, Ca, Hca or Rt), "
                            "found none");
}

struct fabric *reader_finish(struct reader *r, const char *name)
{
    check_end(r, name);
    if (!r->bad_header)
        reader_join_cables(r);
    fabric_report_end(&r->report, name);
    struct fabric *f = r->fabric;
    if (r->report.errors) {
        fabric_destroy(f);
        f = NULL;
    }
    g_array_free(r->places, TRUE);
    g_array_free(r->cables, TRUE);
    g_hash_table_destroy(r->listed);
    g_hash_table_destroy(r->aliases);
    g_hash_table_destroy(r->ids);
    g_string_chunk_free(r->strings);
    g_free(r);
    return f;
}

struct fabric *fabric_read_text(const char *name, const char *text, size_t len,
                                struct fabric_messages *messages)
{
    struct reader *r = reader_create(messages);
    reader_feed(r, name, text, len);
    return reader_finish(r, name);
}
