/* SPDX-License-Identifier: BSD-2-Clause */
/* The language of console, scripts and `heddle lab`: one command a line.
 *
 * Blanks separate words; double quotes, anywhere in a word, hold together: "a b"[3]. In quotes, a
 * backslash is followed by another one, a double quote, n, t or xHH, as in C. # at the start of a
 * word starts a comment.
 *
 * NODE is a description (in double quotes when it holds blanks, quotes or starts with #), an id
 * (S-<guid>, H-<guid>) or 0x<node guid>. PORT is NODE[n]; for a CA with one port, NODE alone; for
 * the management port of a switch, NODE or NODE[0]. A text that is a whole description names that
 * node, even if it ends as a port does. Times: a number, with decimals or not, with ns, us, ms, s,
 * min or h; at most 8760h. Shares: 0% to 100%, as 0.5%.
 *
 *   help [COMMAND]
 *   status                          nodes, links, states, packets, drops, hosts, Sets: key=value
 *   show NODE|PORT                  what it is, its states, LIDs, keys
 *   link PORT down|up               pull the cable, plug it in again
 *   move PORT PORT                  the far end of the first port's cable goes to the second port
 *   power NODE off|on               tables, LIDs and keys are gone
 *   reboot NODE [TIME]              off and on again after TIME (100 ms)
 *   leave COUNT | join              COUNT hosts picked by the seed lose power; all those come back
 *   cut NODE ... | heal             the named nodes on one side, the rest on the other
 *   mute PORT on|off                the link is up, the agent is silent; of a switch, all of it
 *   traps on|off                    off: what would raise a trap is forgotten, as if it were lost
 *   flap PORT COUNT [DOWN [UP]]     so often down and up (100 ms); 0 ends it
 *   guid NODE 0x<guid>|own          what NodeInfo shows
 *   describe NODE "TEXT"            a new NodeDescription (trap 144)
 *   disturb PORT|NODE|all [loss=P%] [delay=TIME] [jitter=TIME] [duplicate=P%] [reorder=P%]
 *                                   what happens to packets that leave there; none = end
 *   service NODE|all|switches|cas TIME [buffer=N]   per SMP; buffer 0 = without a limit
 *   counter PORT NAME VALUE         a PMA counter, by its field name (SymbolErrorCounter, ...)
 *   trap PORT NUMBER                128-131, 144, 145, 256-259, as if it had happened; tells
 *                                   result=raised, or nowhere (no LID, no MasterSMLID, mute)
 *   key PORT [0x<key> [protect=N] [lease=N]]     shows or sets the M_Key, as by hand
 *   capability PORT [0x<mask>]      shows or sets the CapabilityMask, but for IsSM, until the node
 *                                   loses power (trap 144): such as 0x4, notices to be polled
 *   send PORT dlid=N [pkey=0x..] [qkey=0x..] [sl=N]    one data packet; tells
 *                                   result=arrived, under-way or why it was dropped
 *   ping start FROM TO|mlid=0x.. [rate=N] [count=N] [sl=N] [pkey=0x..]   prints the stream's number
 *   ping stop [N] | ping status [N] | ping losses [N]
 *   hosts start [NODE] [groups=0] [services=0] [paths=1] [inform=no|yes] [timeout=TIME] [retries=3]
 *         [spread=0ms] [lease=TIME]         see struct sim_host_spec
 *   hosts stop [NODE] | hosts status [NODE] | hosts kill NODE | hosts revive NODE
 *   log FILE|off                    the judge's log
 *   snapshot NAME | forget NAME | compare A B|now [limit=100]
 *   dump lft|mft|all FILE [NODE]    as dump_lfts writes it
 *   random RATE|off                 random faults a second
 *   clients                         who is attached (the server's)
 *   drop SLOT                       frees a client's slot (the server's)
 *   at TIME COMMAND                 from now; `at` in a script counts from the script's start
 *   every TIME COMMAND | cancel     repeats (1 ms at least); ends all of at and every
 *   run FILE                        a script: these lines; a wrong line is named before any runs. A
 *                                   line that fails only when it runs ends the script, and what it
 *                                   has put off
 *   quit                            ends the simulator
 *
 * An answer is text of any number of lines (may be none), then one line `ok` or
 * `error: [FILE:LINE: ]<command>: <what, where, what to do>`. What commands of at and every print,
 * and their errors, are notes. */
#ifndef SIM_SCRIPT_SCRIPT_H
#define SIM_SCRIPT_SCRIPT_H

#include "sim/core/model.h"

#define SIM_COMMAND_BYTES 4096u /* of a line, without its end */

/* Commands that only the server knows (clients, drop, quit): true = known; fills ok/out. */
typedef bool sim_script_more(void *user, int argc, char **argv, GString *out, bool *ok);

struct sim_script *sim_script_create(void);
void sim_script_destroy(struct sim_script *c);
void sim_script_extend(struct sim *s, sim_script_more *more, void *user);
/* Runs one line at time `now`; the answer, with its last line, is appended to out. Returns whether
 * it was ok. */
bool sim_script_line(struct sim *s, const char *line, int64_t now, GString *out);
/* Reads and checks a whole script, then starts it; nothing is started when a line is wrong. */
bool sim_script_start(struct sim *s, const char *path, int64_t now, GString *out);
/* For a fuzz target: takes a line apart without running it. */
bool sim_script_check(struct sim *s, const char *line, GString *out);

#endif
