/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong in a fabric: cables, power, guids, mute agents, cuts, lossy links. Private to sim/.
 *
 * Each function changes the model and tells agents/link.c; none waits. Errors are one line in
 * `error`; nothing was changed then. */
#ifndef SIM_FAULTS_FAULT_H
#define SIM_FAULTS_FAULT_H

#include "sim/core/model.h"

struct sim_faults *sim_faults_create(void);
void sim_faults_destroy(struct sim_faults *f);

bool sim_fault_cable(struct sim *s, uint32_t node, unsigned port, bool plugged, char *error,
                     size_t size);
/* Takes the cable from where its far end is and plugs that end in at to_node[to_port]. */
bool sim_fault_move(struct sim *s, uint32_t node, unsigned port, uint32_t to_node,
                    unsigned to_port, char *error, size_t size);
/* Off: all of its links go down, its state is lost, clients on it are cut off. On: as after a
 * power-up. */
void sim_fault_power(struct sim *s, uint32_t node, bool on);
void sim_fault_reboot(struct sim *s, uint32_t node, int64_t off_ns);
void sim_fault_mute(struct sim *s, uint32_t node, unsigned port, bool mute);
/* `count` times down for down_ns and up for up_ns */
void sim_fault_flap(struct sim *s, uint32_t node, unsigned port, unsigned count, int64_t down_ns,
                    int64_t up_ns);
/* NodeInfo shows another node GUID (a duplicate, if it is another node's). 0 = its own again. */
void sim_fault_guid(struct sim *s, uint32_t node, uint64_t guid);
/* All cables between nodes of the set and the rest are pulled; heal plugs those in again. */
unsigned sim_fault_cut(struct sim *s, const uint32_t *nodes, unsigned count);
unsigned sim_fault_heal(struct sim *s);
/* `count` CAs picked by the seed lose power / those of them that are off get it back. */
unsigned sim_fault_leave(struct sim *s, unsigned count);
unsigned sim_fault_join(struct sim *s);
/* node SIM_NONE = every port */
void sim_fault_disturb(struct sim *s, uint32_t node, unsigned port,
                       const struct sim_disturbance *d);
/* Service time per SMP and size of the VL15 buffer; node SIM_NONE = all of this type (0 = any). */
void sim_fault_service(struct sim *s, uint32_t node, unsigned type, int64_t service_ns,
                       uint32_t vl15_size);
/* Random faults and repairs, `rate` a second in the mean, until stopped with rate 0: of links,
 * hosts, switches, mute ports and disturbances; what one broke the same one mends after a while. */
void sim_fault_random(struct sim *s, double rate);

#endif
