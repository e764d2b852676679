/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of errors and warnings with file and line. */
#include "fabric/messages.h"

struct message {
    char *text;
    uint32_t order; /* fabric_place.order */
    bool error;
};

struct fabric_messages {
    GArray *list; /* struct message */
};

static void clear_message(gpointer message)
{
    g_free(((struct message *)message)->text);
}

struct fabric_messages *fabric_messages_create(void)
{
    struct fabric_messages *m = g_new0(struct fabric_messages, 1);
    m->list = g_array_new(FALSE, FALSE, sizeof(struct message));
    g_array_set_clear_func(m->list, clear_message);
    return m;
}

void fabric_messages_destroy(struct fabric_messages *m)
{
    if (!m)
        return;
    g_array_free(m->list, TRUE);
    g_free(m);
}

static const struct message *message_at(const struct fabric_messages *m, size_t i)
{
    return &g_array_index(m->list, struct message, i);
}

size_t fabric_messages_total(const struct fabric_messages *m)
{
    return m->list->len;
}

size_t fabric_messages_count(const struct fabric_messages *m, bool errors)
{
    size_t n = 0;
    for (size_t i = 0; i < m->list->len; i++)
        n += message_at(m, i)->error == errors;
    return n;
}

const char *fabric_messages_text(const struct fabric_messages *m, size_t i)
{
    return i < m->list->len ? message_at(m, i)->text : NULL;
}

static void add(struct fabric_reporter *r, const struct fabric_place *at, bool error,
                const char *form, va_list arguments)
{
    g_autofree char *what = g_strdup_vprintf(form, arguments);
    g_autofree char *line = at->line ? g_strdup_printf(":%u", at->line) : g_strdup("");
    bool last = error && r->errors == FABRIC_MAX_ERRORS;
    struct message m = {
        .text = g_strdup_printf("%s%s: %s: %s%s", at->file, line, error ? "error" : "warning", what,
                                last ? " (too many errors, reading no further)" : ""),
        .order = at->order,
        .error = error,
    };
    g_array_append_val(r->messages->list, m);
}

void fabric_report_begin(struct fabric_reporter *r, struct fabric_messages *messages)
{
    *r = (struct fabric_reporter){.messages = messages, .first = messages->list->len};
}

void fabric_report_error(struct fabric_reporter *r, const struct fabric_place *at, const char *form,
                         ...)
{
    if (r->errors >= FABRIC_MAX_ERRORS)
        return;
    r->errors++;
    va_list arguments;
    va_start(arguments, form);
    add(r, at, true, form, arguments);
    va_end(arguments);
}

void fabric_report_warning(struct fabric_reporter *r, const struct fabric_place *at,
                           const char *form, ...)
{
    if (++r->warnings > FABRIC_MAX_WARNINGS)
        return;
    va_list arguments;
    va_start(arguments, form);
    add(r, at, false, form, arguments);
    va_end(arguments);
}

bool fabric_report_full(const struct fabric_reporter *r)
{
    return r->errors >= FABRIC_MAX_ERRORS;
}

static int by_order(gconstpointer a, gconstpointer b, gpointer unused)
{
    uint32_t x = ((const struct message *)a)->order, y = ((const struct message *)b)->order;
    return (x > y) - (x < y);
}

void fabric_report_end(struct fabric_reporter *r, const char *file)
{
    GArray *list = r->messages->list;
    if (list->len > r->first) /* g_qsort_with_data is stable */
        g_qsort_with_data(&g_array_index(list, struct message, r->first), list->len - r->first,
                          sizeof(struct message), by_order, NULL);
    if (r->warnings > FABRIC_MAX_WARNINGS) {
        struct message m = {.text = g_strdup_printf("%s: warning: %u more warnings are not shown",
                                                    file, r->warnings - FABRIC_MAX_WARNINGS),
                            .order = UINT32_MAX};
        g_array_append_val(list, m);
    }
}
