/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of hostile text and the pieces of a line. */
#include "fabric/lex.h"

#include <string.h>

#include "base/log.h"

#define SHOWN_BYTES 48

void lex_open(struct lex_lines *l, const char *text, size_t len)
{
    static const char bom[] = "\xef\xbb\xbf";
    *l = (struct lex_lines){.next = text, .end = text + len, .line = g_string_new(NULL)};
    if (len >= 3 && memcmp(text, bom, 3) == 0)
        l->next += 3;
}

bool lex_next(struct lex_lines *l)
{
    size_t left = (size_t)(l->end - l->next);
    if (left == 0)
        return false;
    const char *newline = memchr(l->next, '\n', left);
    size_t len = newline ? (size_t)(newline - l->next) : left;
    size_t kept = MIN(len, LEX_MAX_LINE_BYTES);
    l->no_newline = newline == NULL;
    l->too_long = kept < len;
    l->has_nul = memchr(l->next, '\0', len) != NULL;
    g_string_truncate(l->line, 0);
    g_string_append_len(l->line, l->next, (gssize)kept);
    while (l->line->len && g_ascii_isspace(l->line->str[l->line->len - 1]))
        g_string_truncate(l->line, l->line->len - 1);
    l->next += newline ? len + 1 : len;
    return true;
}

void lex_close(struct lex_lines *l)
{
    g_string_free(l->line, TRUE);
    l->line = NULL;
}

const char *lex_blanks(const char *p)
{
    while (g_ascii_isspace(*p))
        p++;
    return p;
}

bool lex_word(const char **p, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*p, word, len) != 0 || g_ascii_isalnum((*p)[len]) || (*p)[len] == '_')
        return false;
    *p += len;
    return true;
}

bool lex_number(const char **p, uint64_t max, uint64_t *value)
{
    bool hex = (*p)[0] == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X');
    const char *s = hex ? *p + 2 : *p;
    uint64_t v = 0, base = hex ? 16 : 10;
    if (hex ? !g_ascii_isxdigit(*s) : !g_ascii_isdigit(*s))
        return false;
    for (; hex ? g_ascii_isxdigit(*s) : g_ascii_isdigit(*s); s++) {
        uint64_t digit = (uint64_t)g_ascii_xdigit_value(*s);
        if (digit > max || v > (max - digit) / base)
            return false;
        v = v * base + digit;
    }
    *value = v;
    *p = s;
    return true;
}

bool lex_hex(const char **p, uint64_t *value)
{
    const char *s = *p;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        s += 2;
    uint64_t v = 0;
    unsigned digits = 0;
    for (; g_ascii_isxdigit(*s); s++, digits++) {
        if (digits == 16)
            return false;
        v = v << 4 | (unsigned)g_ascii_xdigit_value(*s);
    }
    if (digits == 0)
        return false;
    *value = v;
    *p = s;
    return true;
}

bool lex_bracketed(const char **p, uint64_t max, uint64_t *value)
{
    if (**p != '[')
        return false;
    const char *s = lex_blanks(*p + 1);
    if (!lex_number(&s, max, value))
        return false;
    s = lex_blanks(s);
    if (*s != ']')
        return false;
    *p = s + 1;
    return true;
}

bool lex_quoted(const char **p, const char **text, size_t *len)
{
    if (**p != '"')
        return false;
    const char *close = strchr(*p + 1, '"');
    if (!close)
        return false;
    *text = *p + 1;
    *len = (size_t)(close - *text);
    *p = close + 1;
    return true;
}

const char *lex_shown(char *out, size_t out_size, const char *p)
{
    p = lex_blanks(p);
    if (!*p) {
        g_strlcpy(out, "the end of the line", out_size);
        return out;
    }
    g_autofree char *cut = g_strndup(p, SHOWN_BYTES);
    return log_quote(out, out_size, cut);
}
