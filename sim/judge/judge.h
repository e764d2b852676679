/* SPDX-License-Identifier: BSD-2-Clause */
/* The judge: what was written to whom by whom, and how tables differ between two moments.
 *
 * The log has one line for each Set that reached an agent (TrapRepress too):
 *   <time ns> <set|repress> <accepted|refused> <reason> from=<"node"[port]> slid=<lid>
 *     to=<node guid> port=<number> attr=<4 hex> mod=<8 hex> key=<16 hex> status=<4 hex> [...]
 * on one line. `reason` is ok, mkey, status (an error answer) or mute. For PortInfo the wanted
 * lid=, smlid=, state= follow, for LFT and MFT changed=<bytes that differ>. Times are those of
 * sim_send's clock. Lines are buffered and written by judge_flush at the latest.
 *
 * A snapshot keeps a digest and the content of what managers write: LIDs, M_Keys, MasterSMLID,
 * states, P_Keys, SL2VL, VLArb, LFT, MFT. Blocks that are the same in two snapshots are kept once. */
#ifndef SIM_JUDGE_JUDGE_H
#define SIM_JUDGE_JUDGE_H

#include "sim/core/model.h"

struct sim_judge *sim_judge_create(void);
void sim_judge_destroy(struct sim_judge *j);
/* Appends the log to this file from now on; NULL = stop. Returns 0 or errno. */
int sim_judge_log(struct sim *s, const char *path);
void sim_judge_flush(struct sim *s);

struct sim_judged {
    uint32_t node;
    unsigned port;
    const struct sim_packet *packet; /* as it arrived */
    const char *reason;              /* "ok", "mkey", "status", "mute" */
    uint16_t status;
    bool accepted;
    unsigned changed; /* bytes of a table that differ */
};
/* Called by the agents for each Set and TrapRepress. The sender's port is found by the directed
 * route's return path, or the SLID. Counts are kept without a log too. */
void sim_judge_set(struct sim *s, const struct sim_judged *j);
bool sim_judge_wanted(const struct sim *s); /* a log is open */

/* Snapshots by name. Returns 0, EEXIST is no error (replaced); false when there is none. */
void sim_judge_snapshot(struct sim *s, const char *name);
bool sim_judge_forget(struct sim *s, const char *name);
/* Differences of two snapshots (`now` = the present), one line each, then a line of totals:
 *   lids=<n> keys=<n> smlids=<n> states=<n> pkeys=<n> lft_blocks=<n> lft_entries=<n> mft_blocks=<n>
 *   sl2vl=<n> vlarb=<n>
 * At most `limit` lines of differences. */
bool sim_judge_compare(struct sim *s, const char *a, const char *b, unsigned limit, GString *out);
/* One switch's LFT as dump_lfts writes it (node SIM_NONE: all), MFTs likewise. */
void sim_judge_dump(struct sim *s, uint32_t node, FILE *out);
/* "sets=<n> refused=<n> ..." in one line */
void sim_judge_totals(const struct sim *s, GString *out);

#endif
