/* SPDX-License-Identifier: BSD-2-Clause */
/* Between tables.c (routes, domains) and tables_switch.c (what one switch holds and gets). */
#ifndef SHARD_TABLES_PRIVATE_H
#define SHARD_TABLES_PRIVATE_H

#include <glib.h>

#include "shard/tables.h"

enum block_state { BLOCK_UNKNOWN = 0, BLOCK_KNOWN, BLOCK_ASKED };

struct switch_table {
    uint64_t guid;
    uint64_t generation; /* answers to an earlier table of this switch are not its own */
    uint32_t domain;
    bool adopt; /* blocks not known are read back; else they are written */
    bool ready;
    bool have_info; /* SwitchInfo was seen */
    bool top_in_flight;
    bool clean; /* found equal to its row since either changed */
    uint8_t switchinfo[20];
    uint16_t top_held;  /* LinearFDBTop as far as known */
    GByteArray *held;   /* entries by LID, whole blocks */
    GByteArray *blocks; /* enum block_state by block */
    uint8_t *row;       /* wanted, row_size entries; NULL = none computed */
    size_t row_size;
    uint16_t row_top; /* highest LID with a row */
    uint8_t row_digest[32];
    unsigned in_flight;
    unsigned failures;
    uint64_t next_ms;
};

struct switch_table *switch_table_create(uint64_t guid, uint64_t generation, uint32_t domain,
                                         bool adopt);
void switch_table_free(gpointer p);
/* All that the switch holds is unknown (it restarted, or another one wrote it). */
void switch_table_forget(struct switch_table *t, bool adopt);
/* Whether something of the wanted row is missing or not known; false without a row. */
bool switch_table_differs(struct switch_table *t);
bool switch_table_must_read(const struct switch_table *t);
/* Sends what it may now: reads where something is to be read, Sets when `may_write`. Returns false
 * when nothing more is to be done. */
bool switch_table_advance(struct shard_core *c, struct switch_table *t, bool may_write);
struct switch_table *tables_switch(const struct shard_core *c, uint64_t guid);
void tables_switch_moved(struct shard_core *c, const struct switch_table *t); /* look again */
void tables_retry_at(struct shard_core *c, uint64_t at_ms);

#endif
