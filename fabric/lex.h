/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of hostile text and the pieces of a line: private to fabric/.
 *
 * A cursor is a `const char **`: each function moves it behind what it has read, or leaves it where
 * it was and returns false. */
#ifndef FABRIC_LEX_H
#define FABRIC_LEX_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEX_MAX_LINE_BYTES 65536

struct lex_lines {
    const char *next, *end;
    GString *line;   /* the line without its end and trailing blanks, terminated */
    bool has_nul;    /* a NUL byte is in it: the text ends there */
    bool too_long;   /* longer than LEX_MAX_LINE_BYTES: cut */
    bool no_newline; /* it is the last one and has no end of line */
};

/* Steps over a UTF-8 byte order mark. */
void lex_open(struct lex_lines *l, const char *text, size_t len);
bool lex_next(struct lex_lines *l);
void lex_close(struct lex_lines *l);

const char *lex_blanks(const char *p);
/* A word that is not the beginning of a longer one. */
bool lex_word(const char **p, const char *word);
/* Decimal or 0x.. digits, up to max. */
bool lex_number(const char **p, uint64_t max, uint64_t *value);
/* 1 to 16 hexadecimal digits, with or without 0x. */
bool lex_hex(const char **p, uint64_t *value);
/* "[n]" */
bool lex_bracketed(const char **p, uint64_t max, uint64_t *value);
/* "text" between quotes; *text is a view of *len bytes. */
bool lex_quoted(const char **p, const char **text, size_t *len);
/* What is at the cursor, fit for a message: quoted, cut, or "the end of the line". */
const char *lex_shown(char *out, size_t out_size, const char *p);

#endif
