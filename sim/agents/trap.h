/* SPDX-License-Identifier: BSD-2-Clause */
/* What waits at a port: notices that are repeated until repressed, and the timers of its link.
 *
 * Notices (IBA 13.4.8, 13.4.9): each is sent as a Trap to the port's MasterSMLID and repeated until
 * a TrapRepress with its transaction id comes. One port sends one Trap in each interval, that of
 * PortInfo.SubnetTimeOut (IBA 14.2.5.6: it bounds the rate of Traps), within SIM_TRAP_MIN_NS and
 * SIM_TRAP_MAX_NS; notices take turns, new ones first. A port without IsTrapSupported sends none;
 * its notices wait for a manager that polls. A notice that is pending already is not queued again; what happened since it was last sent is
 * told by one more Trap after its TrapRepress. With SIM_TRAP_QUEUE notices pending, more are
 * counted and lost. While the port has no LID or no MasterSMLID, nothing is queued: SwitchInfo's
 * PortStateChange tells the manager that comes. */
#ifndef SIM_AGENTS_TRAP_H
#define SIM_AGENTS_TRAP_H

#include "sim/core/model.h"
#include "sim/core/timers.h"

#define SIM_TRAP_QUEUE 16u
#define SIM_TRAP_MIN_NS 100000000LL
#define SIM_TRAP_MAX_NS 60000000000LL

struct sim_port_traps {
    GQueue pending;             /* struct notice of trap.c; the next to be sent first */
    struct sim_timer *timer;    /* the next turn; NULL = none needed */
    struct sim_timer *training; /* link.c: when the link comes up; at one of its ends */
    struct sim_timer *command;  /* link.c: a Set that takes the link down, once it is answered */
    enum sim_phys_state commanded;
    uint64_t overflowed;
    uint64_t raised; /* notices so far: the age of the next one */
    bool toggle;     /* NoticeToggle of the oldest notice */
};

/* The port's, made when there are none. */
struct sim_port_traps *sim_port_traps(struct sim_port *p);
/* Gives the memory back when nothing is left that waits or was counted. */
void sim_port_traps_tidy(struct sim_port *p);
unsigned sim_traps_pending(const struct sim_port *p);
uint64_t sim_traps_overflowed(const struct sim_port *p);

#endif
