/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines to words: blanks separate, double quotes hold together, # at the start of a word ends. */
#include <string.h>

#include "sim/script/private.h"

#define RING 4u
#define SHOWN_BYTES 160u

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* \\ \" \n \t and \xHH. Returns how many characters follow the backslash, 0 = none of these. */
static size_t escape(const char *at, char *c)
{
    switch (at[0]) {
    case '\\':
    case '"':
        *c = at[0];
        return 1;
    case 'n':
        *c = '\n';
        return 1;
    case 't':
        *c = '\t';
        return 1;
    case 'x':
        if (!g_ascii_isxdigit(at[1]) || !g_ascii_isxdigit(at[2]))
            return 0;
        *c = (char)(g_ascii_xdigit_value(at[1]) << 4 | g_ascii_xdigit_value(at[2]));
        return *c != '\0' ? 3 : 0;
    default:
        return 0;
    }
}

static const char *take_quoted(const char *at, GString *word, const char **error)
{
    for (; *at != '\0' && *at != '"'; at++) {
        char c = *at;
        if (c == '\\') {
            size_t n = escape(at + 1, &c);
            if (n == 0) {
                *error = "after a backslash in quotes comes \\, \", n, t or xHH (not x00)";
                return NULL;
            }
            at += n;
        }
        g_string_append_c(word, c);
    }
    if (*at == '\0') {
        *error = "a double quote is not closed: end the text with another one";
        return NULL;
    }
    return at + 1;
}

static const char *take_word(const char *at, GString *word, const char **error)
{
    while (at != NULL && *at != '\0' && !is_blank(*at)) {
        if (*at == '"')
            at = take_quoted(at + 1, word, error);
        else
            g_string_append_c(word, *at++);
    }
    return at;
}

GPtrArray *script_split(const char *line, const char **error)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    if (strnlen(line, SIM_COMMAND_BYTES) >= SIM_COMMAND_BYTES) {
        *error = "the line is too long: 4095 bytes at most";
        return NULL;
    }
    for (const char *at = line;;) {
        while (is_blank(*at))
            at++;
        if (*at == '\0' || *at == '#')
            break;
        if (words->len == SCRIPT_MAX_WORDS) {
            *error = "the line has too many words: 1024 at most";
            return NULL;
        }
        GString *word = g_string_new(NULL);
        at = take_word(at, word, error);
        g_ptr_array_add(words, g_string_free(word, FALSE));
        if (at == NULL)
            return NULL;
    }
    g_ptr_array_add(words, NULL);
    return g_steal_pointer(&words);
}

/* -- nearest ----------------------------------------------------------------------------------- */

/* How many letters must be changed, added, left out or swapped with the next one. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][33];
    size_t m = strnlen(a, 32), n = strnlen(b, 32);
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned best = MIN(last[j], now[j - 1]) + 1;
            best = MIN(best, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, before[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[m % 3][n];
}

const char *script_nearest(const char *text, const void *names, size_t count, size_t stride)
{
    const char *nearest = NULL;
    unsigned least = strlen(text) > 3 ? 3 : 2; /* so many are too many */
    for (size_t i = 0; i < count; i++) {
        const char *name = *(const char *const *)((const char *)names + i * stride);
        unsigned d = distance(text, name);
        if (d < least) {
            least = d;
            nearest = name;
        }
    }
    return nearest;
}

const char *script_shown(const char *text)
{
    static char ring[RING][SHOWN_BYTES];
    static unsigned next;
    char *shown = ring[next++ % RING], *to = shown;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (to - shown > (ptrdiff_t)SHOWN_BYTES - 8) {
            memcpy(to, "...", 3);
            to += 3;
            break;
        }
        if (*c < 0x20 || *c >= 0x7f)
            to += g_snprintf(to, 5, "\\x%02x", *c);
        else
            *to++ = (char)*c;
    }
    *to = '\0';
    return shown;
}
