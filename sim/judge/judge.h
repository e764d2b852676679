/* SPDX-License-Identifier: BSD-2-Clause */
/* The judge: what was written to whom by whom, and how tables differ between two moments.
 *
 * The log has one line for each Set that reached an agent (TrapRepress too):
 *   <time ns> <set|repress> <accepted|refused> <reason> from=<"node"[port]> slid=<lid>
 *     to=<node guid> port=<number> attr=<4 hex> mod=<8 hex> key=<16 hex> status=<4 hex> [...]
 * on one line. `reason` is ok, mkey, status (an error answer) or mute. Node GUIDs are 0x and 16
 * digits, those of the fabric's file. `from` is ? where the sender cannot be told: nobody has the
 * SLID, or the cables of the directed route have changed meanwhile. For PortInfo the wanted lid=,
 * smlid=, state= follow, for LFT and MFT changed=<bytes that differ>, for TrapRepress
 * trap=<number>, for classes other than the SMA's class=<2 hex>. Times are those of sim_send's
 * clock. Lines are buffered and written by judge_flush at the latest; where the file cannot be
 * written, the log ends with one note.
 *
 * A snapshot keeps the content of what managers write: LIDs, M_Keys, MasterSMLID, states, P_Keys,
 * SL2VL, VLArb, LFT, MFT. Blocks of 64 bytes that are the same, within a snapshot or in two, are
 * kept once, and so is all that is put together of them. */
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
 *   lid|lmc|key|protect|smlid|state "<node>"[<port>] was=<x> now=<y>
 *   pkey "<node>"[<port>] index=<n> was=0x<4 hex> now=0x<4 hex>
 *   lft "<node>"[0] lid=<n> was=<port> now=<port>
 *   mft "<node>"[0] mlid=0x<4 hex> position=<n> was=0x<4 hex> now=0x<4 hex>
 *   sl2vl "<node>"[<output port>] input=<port> was=<16 hex> now=<16 hex>
 *   vlarb "<node>"[<port>] block=<1..4> was=<128 hex> now=<128 hex>
 *   lids=<n> keys=<n> smlids=<n> states=<n> pkeys=<n> lft_blocks=<n> lft_entries=<n> mft_blocks=<n>
 *   sl2vl=<n> vlarb=<n>
 * At most `limit` lines of differences; lids counts LMCs, keys protect bits, too. false: one of
 * them does not exist. */
bool sim_judge_compare(struct sim *s, const char *a, const char *b, unsigned limit, GString *out);
/* One switch's tables as dump_lfts and dump_mfts write them (node SIM_NONE: all that have power, by
 * number): LFT, MFT, or LFTs and then MFTs. */
void sim_judge_dump_lft(struct sim *s, uint32_t node, FILE *out);
void sim_judge_dump_mft(struct sim *s, uint32_t node, FILE *out);
void sim_judge_dump(struct sim *s, uint32_t node, FILE *out);

struct sim_judge_counts {
    uint64_t sets, accepted, refused_mkey, refused_status, refused_mute, represses;
    uint64_t port_infos, lft_sets, lft_changed, mft_sets, mft_changed; /* changed: blocks */
};
/* "sets=<n> accepted=<n> mkey=<n> status=<n> mute=<n> represses=<n> port_infos=<n> lft_sets=<n>
 * lft_changed=<n> mft_sets=<n> mft_changed=<n>" in one line, without its end. */
void sim_judge_totals(const struct sim *s, GString *out);
/* The same for each sender, after `from=<...> `, one line each in the order of nodes. At most
 * SIM_JUDGE_SENDERS are told apart; the rest counts as from=others. */
#define SIM_JUDGE_SENDERS 1024u
void sim_judge_senders(const struct sim *s, GString *out);
/* All, or those of one sender (SIM_NONE = all). false: it has sent nothing. */
bool sim_judge_counts(const struct sim *s, uint32_t node, unsigned port,
                      struct sim_judge_counts *counts);

#endif
