/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures with a key for machines and a label for people: what the offline commands of routing say,
 * as lines of text, as columns side by side, or as an object of JSON. */
#ifndef CLI_ROUTE_RECORD_H
#define CLI_ROUTE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

struct route_record;

struct route_record *route_record_create(void);
void route_record_destroy(struct route_record *r); /* NULL allowed */

/* key and label must outlive the record; label NULL = not shown to people. A key is used once. */
void route_record_count(struct route_record *r, const char *key, const char *label, uint64_t value);
void route_record_seconds(struct route_record *r, const char *key, const char *label, double value);
void route_record_bytes(struct route_record *r, const char *key, const char *label, uint64_t value);
void route_record_real(struct route_record *r, const char *key, const char *label, double value);
/* NULL = not known: null in JSON, "-" in text. Text may be foreign. */
void route_record_text(struct route_record *r, const char *key, const char *label,
                       const char *value);
void route_record_flag(struct route_record *r, const char *key, const char *label, bool value);
void route_record_none(struct route_record *r, const char *key, const char *label);
/* Lines, NULL-terminated: a list in JSON; in text a count. */
void route_record_lines(struct route_record *r, const char *key, const char *label,
                        const char *const *lines);

/* For people only: the figures of `more` after those of r. Consumes more; its keys may be in r. */
void route_record_append(struct route_record *r, struct route_record *more);

/* A line a figure, a column a record: headings[i] over records[i] (NULL: no headings). Figures that
 * a record lacks are "-". */
void route_record_print(const struct route_record *const *records, const char *const *headings,
                        unsigned count, FILE *out);
json_t *route_record_json(const struct route_record *r); /* an object */

#endif
