/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong in a fabric: cables, power, guids, mute agents, cuts, lossy links. Private to
 * sim/.
 *
 * Each function changes the model and tells agents/link.c; none waits. Errors are one line in
 * `error`; nothing was changed then.
 *
 * A cable may be pulled for several reasons at once: by hand, by a cut, a flap, the random process.
 * It is plugged in again when the last of them ends; so what one broke the same one mends, and
 * nothing else. By hand (sim_fault_cable, sim_fault_move) ends all of them. The same holds for
 * power (by hand, reboot, leave, random) and mute agents (by hand, random). */
#ifndef SIM_FAULTS_FAULT_H
#define SIM_FAULTS_FAULT_H

#include "sim/core/model.h"

struct sim_faults *sim_faults_create(void);
void sim_faults_destroy(struct sim_faults *f);

bool sim_fault_cable(struct sim *s, uint32_t node, unsigned port, bool plugged, char *error,
                     size_t size);
/* Takes the cable from where its far end is and plugs that end in at to_node[to_port], which must
 * be free. A cable that was pulled is plugged in at both ends then. */
bool sim_fault_move(struct sim *s, uint32_t node, unsigned port, uint32_t to_node, unsigned to_port,
                    char *error, size_t size);
/* Off: all of its links go down, its state is lost, clients on it are cut off. On: as after a
 * power-up. */
void sim_fault_power(struct sim *s, uint32_t node, bool on);
void sim_fault_reboot(struct sim *s, uint32_t node, int64_t off_ns);
/* Of a switch, any port: it has one agent. */
void sim_fault_mute(struct sim *s, uint32_t node, unsigned port, bool mute);
/* `count` times down for down_ns and up for up_ns; ends a flap of that port that goes on. */
void sim_fault_flap(struct sim *s, uint32_t node, unsigned port, unsigned count, int64_t down_ns,
                    int64_t up_ns);
/* NodeInfo shows another node GUID. If it is another node's, this one becomes its duplicate: its
 * ports show the GUIDs of the other one's ports, too. 0 = its own again. */
void sim_fault_guid(struct sim *s, uint32_t node, uint64_t guid);
/* All cables between nodes of the set and the rest are pulled; heal plugs those in again. Returns
 * how many were plugged in until now. A second cut adds to the first. */
unsigned sim_fault_cut(struct sim *s, const uint32_t *nodes, unsigned count);
unsigned sim_fault_heal(struct sim *s);
/* `count` CAs picked by the seed lose power / those of them that are off get it back. Hosts whose
 * IsSM bit a process holds are not picked: it is the others whom a manager must cope with. Return
 * how many went or came. */
unsigned sim_fault_leave(struct sim *s, unsigned count);
unsigned sim_fault_join(struct sim *s);
/* node SIM_NONE = every port; port 0 = every port of the node. All zero = no longer. */
void sim_fault_disturb(struct sim *s, uint32_t node, unsigned port,
                       const struct sim_disturbance *d);
/* Service time per SMP and size of the VL15 buffer; node SIM_NONE = all of this type (0 = any). */
void sim_fault_service(struct sim *s, uint32_t node, unsigned type, int64_t service_ns,
                       uint32_t vl15_size);
/* Random faults, `rate` a second in the mean, until stopped with rate 0: of links, hosts, switches,
 * mute agents and disturbances. Each is mended after a while (SIM_RANDOM_MEAN_NS in the mean), all
 * that are left when it is stopped. At most a quarter of the nodes have one at a time. Hosts with
 * an SM process lose their links, but neither power nor voice. */
#define SIM_RANDOM_MEAN_NS 3000000000LL
void sim_fault_random(struct sim *s, double rate);
/* How many there were so far, and how many of them are not mended yet. */
void sim_fault_random_counts(const struct sim *s, uint64_t *broken, unsigned *pending);

#endif
