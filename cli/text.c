/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for people. */
#include "cli/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define COLUMN_GAP 2

static bool harmless(gunichar c)
{
    return g_unichar_isprint(c) && g_unichar_type(c) != G_UNICODE_FORMAT;
}

static void append_shown(GString *s, const char *text, bool quotes)
{
    for (const char *p = text; *p != '\0';) {
        gunichar c = g_utf8_get_char_validated(p, -1);
        bool valid = c != (gunichar)-1 && c != (gunichar)-2;
        const char *end = valid ? g_utf8_next_char(p) : p + 1;
        if (valid && harmless(c)) {
            if (quotes && (c == '"' || c == '\\'))
                g_string_append_c(s, '\\');
            g_string_append_len(s, p, end - p);
        } else {
            for (const char *b = p; b < end; b++)
                g_string_append_printf(s, "\\x%02x", (unsigned char)*b);
        }
        p = end;
    }
}

char *text_shown(const char *text)
{
    GString *s = g_string_new(NULL);
    append_shown(s, text, false);
    return g_string_free(s, FALSE);
}

char *text_quoted(const char *text)
{
    GString *s = g_string_new("\"");
    append_shown(s, text, true);
    g_string_append_c(s, '"');
    return g_string_free(s, FALSE);
}

char *text_guid(uint64_t guid)
{
    return g_strdup_printf("0x%016" PRIx64, guid);
}

char *text_duration_ms(uint64_t ms)
{
    if (ms < 1000)
        return g_strdup_printf("%" PRIu64 " ms", ms);
    if (ms < 120 * 1000)
        return g_strdup_printf("%.1f s", (double)ms / 1000);
    if (ms < 120 * 60 * 1000)
        return g_strdup_printf("%" PRIu64 " min", ms / 60000);
    return g_strdup_printf("%" PRIu64 " h", ms / 3600000);
}

struct table {
    const char *const *columns;
    guint count;
    GPtrArray *cells; /* row after row */
};

struct table *table_create(const char *const *columns)
{
    struct table *t = g_new0(struct table, 1);
    t->columns = columns;
    while (columns[t->count] != NULL)
        t->count++;
    t->cells = g_ptr_array_new_with_free_func(g_free);
    return t;
}

void table_add(struct table *t, ...)
{
    va_list ap;
    va_start(ap, t);
    for (guint i = 0; i < t->count; i++)
        g_ptr_array_add(t->cells, va_arg(ap, char *));
    va_end(ap);
}

static bool is_right(const char *column)
{
    return column[0] == '>';
}

static void print_row(const struct table *t, const char *const *cells, const glong *widths,
                      unsigned indent, FILE *out)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < t->count; i++) {
        glong pad = widths[i] - g_utf8_strlen(cells[i], -1);
        bool right = is_right(t->columns[i]);
        g_string_append_printf(line, "%*s%s%*s%*s", right ? (int)pad : 0, "", cells[i],
                               right ? 0 : (int)pad, "", COLUMN_GAP, "");
    }
    fprintf(out, "%*s%s\n", (int)indent, "", g_strchomp(line->str));
}

static void print_table(const struct table *t, unsigned indent, FILE *out)
{
    g_autofree glong *widths = g_new0(glong, t->count);
    g_autofree const char **heading = g_new0(const char *, t->count);
    for (guint i = 0; i < t->count; i++) {
        heading[i] = t->columns[i] + is_right(t->columns[i]);
        widths[i] = g_utf8_strlen(heading[i], -1);
    }
    for (guint i = 0; i < t->cells->len; i++)
        widths[i % t->count] =
            MAX(widths[i % t->count], g_utf8_strlen(g_ptr_array_index(t->cells, i), -1));
    print_row(t, heading, widths, indent, out);
    for (guint i = 0; i < t->cells->len; i += t->count)
        print_row(t, (const char *const *)&t->cells->pdata[i], widths, indent, out);
}

void table_end(struct table *t, unsigned indent, FILE *out)
{
    if (t->cells->len > 0)
        print_table(t, indent, out);
    g_ptr_array_free(t->cells, TRUE);
    g_free(t);
}
