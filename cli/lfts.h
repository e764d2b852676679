/* SPDX-License-Identifier: BSD-2-Clause */
/* Forwarding tables as they were read back from switches, and as they are written for others to
 * read. Pure but for lfts_load.
 *
 * Two forms are read, told apart by the first character:
 *  - lines of JSON, as `heddle-portscan --lft` prints them: tables, LIDs and links
 *  - what ibroute, dump_lfts, dump_fts and OpenSM (opensm-lfts.dump) print: tables and LIDs
 *    Unicast lids [0x0-0x9] of switch Lid 3 guid 0x0002c90300000001 (name):
 *    0x0001 007 : (Channel Adapter portguid 0x0002c90300000003: 'name')
 *    0x0002 007 : (path #2 out of 2: portguid 0x0002c90300000003)
 *    OpenSM has "# Channel Adapter portguid 0x0002c90300000003: 'name'" from the colon on, and the
 *    same for each LID of a port with an LMC.
 * Text is hostile; a bad line is an error with file:line, and so is one that contradicts another:
 * two ports for one LID of a switch, two owners of a LID. */
#ifndef CLI_LFTS_H
#define CLI_LFTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <glib.h>

struct fabric;
struct rt_plan;

#define LFTS_ROW_BYTES 49152u /* one entry for each unicast LID, IBA 4.1.3 */

struct lfts_switch {
    uint64_t guid;
    uint8_t *row;    /* LFTS_ROW_BYTES entries, RT_NO_PATH = none; NULL = no table */
    unsigned nports; /* highest port that a link names */
};

struct lfts_port {      /* the owner of a LID */
    uint64_t node_guid; /* 0 = not told */
    uint64_t guid;
    uint16_t lid, top_lid; /* the lowest and the highest that is told of it: see lfts_lmc */
    uint8_t num, type;     /* type: "switch" 2, "ca" 1, "router" 3 */
};

struct lfts_link { /* as one end tells it */
    uint64_t guid, peer_guid;
    uint8_t port, peer_port;
};

struct lfts {
    bool has_links;       /* the first form: the fabric is in it too */
    GHashTable *switches; /* &guid -> struct lfts_switch */
    GHashTable *lids;     /* &port guid -> struct lfts_port */
    GArray *links;        /* struct lfts_link */
};

/* Return NULL with one line in *error (g_free). */
struct lfts *lfts_read_text(const char *name, const char *text, char **error);
struct lfts *lfts_load(const char *path, char **error);
void lfts_destroy(struct lfts *l); /* NULL allowed */
/* The least LMC that has room for all LIDs that are told of a port. */
unsigned lfts_lmc(const struct lfts_port *p);

/* Writes the rows of a plan as dump_lfts prints them, in the order of switches and LIDs; what has
 * no path is left out. This file's readers and OpenSM's engine "file" (lfts_file) take it. Names
 * are those of the fabric, where it knows the node; NULL = none. Returns 0, or errno of writing. */
int lfts_write(const struct rt_plan *p, const struct fabric *names, FILE *out);

#endif
