/* SPDX-License-Identifier: BSD-2-Clause */
/* Node name maps: GUID and name, a line each. */
#include "fabric/names.h"

#include <string.h>

#include "fabric/lex.h"
#include "fabric/load.h"
#include "fabric/messages.h"

#define MAX_NAME_BYTES 64

struct name {
    uint64_t guid; /* the key of the table points here */
    uint32_t line;
    char text[MAX_NAME_BYTES + 1];
};

struct fabric_names {
    GHashTable *by_guid; /* &name.guid -> struct name */
};

struct names_reader {
    struct fabric_names *names;
    struct fabric_reporter report;
    struct fabric_place at;
};

static void expected(struct names_reader *r, const char *what, const char *found)
{
    char shown[256];
    fabric_report_error(&r->report, &r->at, "expected %s, found %s", what,
                        lex_shown(shown, sizeof shown, found));
}

static void keep(struct names_reader *r, uint64_t guid, const char *text, size_t len)
{
    const struct name *first = g_hash_table_lookup(r->names->by_guid, &guid);
    if (first) {
        fabric_report_warning(&r->report, &r->at,
                              "the GUID has a name in line %u already: that one counts",
                              first->line);
        return;
    }
    if (len > MAX_NAME_BYTES)
        fabric_report_warning(&r->report, &r->at, "the name was cut to %d bytes", MAX_NAME_BYTES);
    struct name *n = g_new0(struct name, 1);
    n->guid = guid;
    n->line = r->at.line;
    memcpy(n->text, text, MIN(len, MAX_NAME_BYTES));
    g_hash_table_insert(r->names->by_guid, &n->guid, n);
}

static void read_line(struct names_reader *r, const char *p)
{
    uint64_t guid;
    const char *text;
    size_t len;
    p = lex_blanks(p);
    if (!*p || *p == '#')
        return;
    const char *start = p;
    if (!lex_hex(&p, &guid) || !g_ascii_isspace(*p) || guid == 0) {
        expected(r, "a GUID such as 0x0002c90300000001 and a name", start);
        return;
    }
    p = lex_blanks(p);
    if (*p == '"') {
        if (!lex_quoted(&p, &text, &len)) {
            expected(r, "a closing quote of the name", p);
            return;
        }
    } else {
        text = p;
        len = *p == '#' ? 0 : strcspn(p, " \t");
        p += len;
    }
    p = lex_blanks(p);
    if (len == 0)
        expected(r, "a name that is not empty", p);
    else if (*p && *p != '#')
        expected(r, "the end of the line behind the name", p);
    else
        keep(r, guid, text, len);
}

struct fabric_names *fabric_names_read_text(const char *name, const char *text, size_t len,
                                            struct fabric_messages *messages)
{
    struct names_reader r = {.names = g_new0(struct fabric_names, 1), .at.file = name};
    r.names->by_guid = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    fabric_report_begin(&r.report, messages);
    struct lex_lines lines;
    lex_open(&lines, text, len);
    while (!fabric_report_full(&r.report) && lex_next(&lines)) {
        r.at.line++;
        r.at.order++;
        if (lines.has_nul || lines.too_long)
            fabric_report_error(&r.report, &r.at, "expected a line of text, found %s",
                                lines.has_nul ? "a NUL byte" : "one that is too long");
        else
            read_line(&r, lines.line->str);
    }
    lex_close(&lines);
    fabric_report_end(&r.report, name);
    if (r.report.errors == 0)
        return r.names;
    fabric_names_destroy(r.names);
    return NULL;
}

struct fabric_names *fabric_names_load(const char *path, struct fabric_messages *messages)
{
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(path, &text, &len);
    if (rc == 0)
        return fabric_names_read_text(path, text, len, messages);
    struct fabric_reporter report;
    fabric_report_begin(&report, messages);
    fabric_report_error(&report, &(struct fabric_place){.file = path},
                        "cannot be read: %s; expected a node name map", fabric_file_error(rc));
    return NULL;
}

void fabric_names_destroy(struct fabric_names *names)
{
    if (!names)
        return;
    g_hash_table_destroy(names->by_guid);
    g_free(names);
}

const char *fabric_names_find(const struct fabric_names *names, uint64_t guid)
{
    const struct name *n = names ? g_hash_table_lookup(names->by_guid, &guid) : NULL;
    return n ? n->text : NULL;
}

size_t fabric_names_count(const struct fabric_names *names)
{
    return names ? g_hash_table_size(names->by_guid) : 0;
}
