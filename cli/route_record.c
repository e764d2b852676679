/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures as text and as JSON. */
#include "cli/route_record.h"

#include <inttypes.h>
#include <string.h>

#include <glib.h>

#include "cli/text.h"

#define MIB (1024.0 * 1024.0)

struct figure {
    const char *key, *label;
    char *text; /* for people; owned */
    json_t *json;
};

struct route_record {
    GArray *figures; /* struct figure */
    struct route_record *more;
};

static void clear_figure(gpointer data)
{
    struct figure *f = data;
    g_free(f->text);
    json_decref(f->json);
}

struct route_record *route_record_create(void)
{
    struct route_record *r = g_new0(struct route_record, 1);
    r->figures = g_array_new(FALSE, FALSE, sizeof(struct figure));
    g_array_set_clear_func(r->figures, clear_figure);
    return r;
}

void route_record_destroy(struct route_record *r)
{
    if (r == NULL)
        return;
    route_record_destroy(r->more);
    g_array_free(r->figures, TRUE);
    g_free(r);
}

static void add(struct route_record *r, const char *key, const char *label, char *text,
                json_t *json)
{
    struct figure f = {.key = key, .label = label, .text = text, .json = json};
    g_array_append_val(r->figures, f);
}

void route_record_count(struct route_record *r, const char *key, const char *label, uint64_t value)
{
    add(r, key, label, g_strdup_printf("%" PRIu64, value), json_integer((json_int_t)value));
}

void route_record_seconds(struct route_record *r, const char *key, const char *label, double value)
{
    add(r, key, label, g_strdup_printf("%.3f s", value), json_real(value));
}

void route_record_bytes(struct route_record *r, const char *key, const char *label, uint64_t value)
{
    add(r, key, label, g_strdup_printf("%.1f MiB", (double)value / MIB),
        json_integer((json_int_t)value));
}

void route_record_real(struct route_record *r, const char *key, const char *label, double value)
{
    add(r, key, label, g_strdup_printf("%.3f", value), json_real(value));
}

void route_record_flag(struct route_record *r, const char *key, const char *label, bool value)
{
    add(r, key, label, g_strdup(value ? "yes" : "no"), json_boolean(value));
}

void route_record_append(struct route_record *r, struct route_record *more)
{
    while (r->more != NULL)
        r = r->more;
    r->more = more;
}

static json_t *string_json(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

void route_record_text(struct route_record *r, const char *key, const char *label,
                       const char *value)
{
    if (value == NULL)
        route_record_none(r, key, label);
    else
        add(r, key, label, text_shown(value), string_json(value));
}

void route_record_none(struct route_record *r, const char *key, const char *label)
{
    add(r, key, label, g_strdup("-"), json_null());
}

void route_record_lines(struct route_record *r, const char *key, const char *label,
                        const char *const *lines)
{
    json_t *list = json_array();
    guint count = 0;
    for (; lines != NULL && lines[count] != NULL; count++)
        json_array_append_new(list, string_json(lines[count]));
    add(r, key, label, g_strdup_printf("%u", count), list);
}

/* -- text -------------------------------------------------------------------------------------- */

static const struct figure *find(const struct route_record *r, const char *key)
{
    for (guint i = 0; i < r->figures->len; i++) {
        const struct figure *f = &g_array_index(r->figures, struct figure, i);
        if (strcmp(f->key, key) == 0)
            return f;
    }
    return NULL;
}

/* The labelled figures of all records, each key once, in the order in which they come. */
static GPtrArray *list_keys(const struct route_record *const *records, unsigned count)
{
    GPtrArray *listed = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (unsigned i = 0; i < count; i++)
        for (guint k = 0; k < records[i]->figures->len; k++) {
            struct figure *f = &g_array_index(records[i]->figures, struct figure, k);
            if (f->label != NULL && g_hash_table_add(seen, (gpointer)f->key))
                g_ptr_array_add(listed, f);
        }
    return listed;
}

static const char *text_of(const struct route_record *r, const char *key)
{
    const struct figure *f = find(r, key);
    return f != NULL ? f->text : "-";
}

static int width_of(const struct route_record *r, const char *heading, const GPtrArray *keys)
{
    glong width = heading != NULL ? g_utf8_strlen(heading, -1) : 0;
    for (guint i = 0; i < keys->len; i++) {
        const struct figure *f = keys->pdata[i];
        width = MAX(width, g_utf8_strlen(text_of(r, f->key), -1));
    }
    return (int)width;
}

static void print_cell(FILE *out, const char *text, int width)
{
    int blanks = width - (int)g_utf8_strlen(text, -1);
    fprintf(out, "  %*s%s", MAX(blanks, 0), "", text);
}

static void print_columns(const struct route_record *const *records, const char *const *headings,
                          unsigned count, FILE *out)
{
    g_autoptr(GPtrArray) keys = list_keys(records, count);
    g_autofree int *widths = g_new(int, count + 1);
    int labels = 0;
    for (unsigned i = 0; i < count; i++)
        widths[i] = width_of(records[i], headings != NULL ? headings[i] : NULL, keys);
    for (guint i = 0; i < keys->len; i++)
        labels = MAX(labels, (int)strlen(((struct figure *)keys->pdata[i])->label));
    for (unsigned i = 0; headings != NULL && i < count; i++) {
        fprintf(out, "%*s", i == 0 ? 2 + labels : 0, "");
        print_cell(out, headings[i], widths[i]);
    }
    if (headings != NULL)
        fputc('\n', out);
    for (guint k = 0; k < keys->len; k++) {
        const struct figure *f = keys->pdata[k];
        fprintf(out, "  %-*s", labels, f->label);
        for (unsigned i = 0; i < count; i++)
            print_cell(out, text_of(records[i], f->key), count > 1 ? widths[i] : 0);
        fputc('\n', out);
    }
}

void route_record_print(const struct route_record *const *records, const char *const *headings,
                        unsigned count, FILE *out)
{
    print_columns(records, headings, count, out);
    for (unsigned i = 0; i < count; i++)
        for (const struct route_record *r = records[i]->more; r != NULL; r = r->more) {
            fputc('\n', out);
            print_columns(&r, NULL, 1, out);
        }
}

json_t *route_record_json(const struct route_record *r)
{
    json_t *o = json_object();
    for (guint i = 0; i < r->figures->len; i++) {
        const struct figure *f = &g_array_index(r->figures, struct figure, i);
        json_object_set(o, f->key, f->json);
    }
    return o;
}
