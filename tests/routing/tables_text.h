/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables, service levels and SL2VL tables in the forms that witness.py reads: writing those of a
 * plan, reading them back for heddle's checker, and what that says, as JSON.
 *
 * Files are those of this program or of the tests: they are checked, but not against an enemy. */
#ifndef TESTS_TABLES_TEXT_H
#define TESTS_TABLES_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/fabric.h"
#include "routing/check.h"

#define TABLES_SLS 16u

struct tables {
    struct rt_graph *graph; /* a reference */
    size_t size;            /* of a row */
    uint8_t *bytes;         /* rows by switch */
    const uint8_t **rows;
    unsigned vls;
    uint8_t *sl;    /* by source switch and LID, size a switch; NULL = all packets in one VL */
    unsigned ports; /* one more than the highest */
    uint8_t *vl;    /* by switch, port in, port out, SL; NULL = VL is SL */
    int only_vl;    /* for a check of this one, -1 = all */
};

/* Rows of RT_NO_PATH, one VL. */
struct tables *tables_create(struct rt_graph *g);
struct tables *tables_of_plan(const struct rt_plan *p);
void tables_destroy(struct tables *t); /* NULL allowed */
/* Room for SLs and, if asked for, SL2VL tables; all 0. */
void tables_add_lanes(struct tables *t, unsigned vls, bool vl);
uint8_t *tables_vl(const struct tables *t, uint32_t sw, unsigned in_port, unsigned out_port);

/* As dump_lfts -a prints them, without those that say 255; "SLID DLID SL"; as smpquery sl2vl. Each
 * returns 0 or errno. */
int tables_write_lfts(const struct tables *t, const struct fabric *f, const char *path);
int tables_write_sls(const struct tables *t, const char *path);
int tables_write_sl2vl(const struct tables *t, const char *path);

/* Returns NULL with a line on stderr. sls and sl2vl may be NULL. */
struct tables *tables_read(struct rt_graph *g, const char *lfts, const char *sls, const char *sl2vl,
                           unsigned vls);

/* Members of an object of JSON, without the braces; report_limit 0: no report. */
void tables_check(struct tables *t, FILE *out, unsigned report_limit);

#endif
