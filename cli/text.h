/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for people: foreign strings made harmless, aligned tables. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include <glib.h>

/* Printable UTF-8 as it is; control and formatting characters, and bytes that are no UTF-8, as
 * \xNN: nothing that a node calls itself can move a cursor or turn a line around. g_free. */
char *text_shown(const char *text);
/* The same between double quotes, with quotes and backslashes escaped. g_free. */
char *text_quoted(const char *text);
/* "0x0002c90300000001". g_free. */
char *text_guid(uint64_t guid);
/* "12 ms", "3.4 s", "5 min", "2 h". g_free. */
char *text_duration_ms(uint64_t ms);

/* A table: columns are "HEADING" (left) or ">HEADING" (right aligned), NULL-terminated. */
struct table;
struct table *table_create(const char *const *columns);
/* Takes one string (g_malloc) a column. */
void table_add(struct table *t, ...);
/* Prints with `indent` blanks before each line, and frees. Nothing for a table without rows. */
void table_end(struct table *t, unsigned indent, FILE *out);

#endif
