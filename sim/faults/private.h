/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of faults/ share: who broke what. */
#ifndef SIM_FAULTS_PRIVATE_H
#define SIM_FAULTS_PRIVATE_H

#include "sim/agents/agent.h"
#include "sim/core/timers.h"
#include "sim/faults/fault.h"

enum fault_cause { /* bits: a thing is whole when none is left */
                   FAULT_HAND = 1,
                   FAULT_CUT = 2,
                   FAULT_FLAP = 4,
                   FAULT_RANDOM = 8,
                   FAULT_REBOOT = 16,
                   FAULT_LEAVE = 32,
};

struct sim_faults {
    GHashTable *cables;    /* the lower end -> bits */
    GHashTable *power;     /* node -> bits */
    GHashTable *mute;      /* end port -> bits */
    GHashTable *disturbed; /* port -> FAULT_RANDOM: not those disturbed by hand */
    GHashTable *reboots;   /* node -> struct reboot */
    GHashTable *guids;     /* port that shows another's GUID -> its own one */
    GHashTable *flaps;     /* port -> struct flap */
    double rate;
    struct sim_timer *next_random;
    GPtrArray *broken; /* struct breakage, in the order of their making */
    uint64_t broken_total;
};

static inline gint64 fault_key(uint32_t node, unsigned port)
{
    return (gint64)node << 8 | (uint8_t)port;
}

/* Adds a cause. Returns whether the thing was whole until now. */
bool fault_hold(GHashTable *table, gint64 key, enum fault_cause cause);
/* Ends a cause. Returns whether it was there and was the last one. */
bool fault_release(GHashTable *table, gint64 key, enum fault_cause cause);
bool fault_held(GHashTable *table, gint64 key);

void fault_pull(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause);
void fault_plug(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause);
void fault_power_off(struct sim *s, uint32_t node, enum fault_cause cause);
void fault_power_on(struct sim *s, uint32_t node, enum fault_cause cause);
void fault_set_mute(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause);
void fault_end_mute(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause);
/* One port; all zero = no longer. */
void fault_disturb_port(struct sim *s, uint32_t node, unsigned port,
                        const struct sim_disturbance *d);
/* A process on this host holds an IsSM bit. */
bool fault_has_manager(const struct sim *s, uint32_t node);
void fault_random_free(struct sim_faults *f);

#endif
