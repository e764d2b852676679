/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the simulated fabric: private to sim/, shared by its folders.
 *
 * What an agent shows is kept as the bytes that go on the wire, so that a Get is a copy. Tables
 * that most ports never have (P_Keys beyond the default, SL2VL, VL arbitration, alias GUIDs, MFTs,
 * LFT blocks) are allocated at the first write: NULL means the value after a power-up.
 *
 * Who changes what: core/model.c builds and resets nodes; agents/ change what MADs set; agents/link.c
 * alone changes port states and what follows from them; faults/ calls those. */
#ifndef SIM_CORE_MODEL_H
#define SIM_CORE_MODEL_H

#include <glib.h>

#include "sim/core/bytes.h"
#include "sim/core/sim.h"

#define SIM_LFT_BLOCK 64u
#define SIM_LFT_BLOCKS 768u /* unicast LIDs up to 0xBFFF */
#define SIM_MFT_BLOCK 32u
#define SIM_MFT_BLOCKS 32u    /* MulticastFDBCap: MLIDs 0xC000 to 0xC3FF, 32 a block */
#define SIM_MFT_POSITIONS 16u /* of 16 ports each */
#define SIM_PKEY_BLOCK 32u
#define SIM_NO_PORT 255u

/* PortInfo.PortState and PortPhysicalState (IBA 14.2.5.6) */
enum sim_port_state { SIM_DOWN = 1, SIM_INIT, SIM_ARMED, SIM_ACTIVE };
enum sim_phys_state { SIM_PHYS_SLEEP = 1, SIM_PHYS_POLLING, SIM_PHYS_DISABLED, SIM_PHYS_TRAINING,
                      SIM_PHYS_LINKUP };

enum sim_counter { /* IBA 16.1.3.5, 16.1.4 */
    SIM_CNT_SYMBOL_ERRORS,
    SIM_CNT_LINK_RECOVERS,
    SIM_CNT_LINK_DOWNED,
    SIM_CNT_RCV_ERRORS,
    SIM_CNT_RCV_REMOTE_PHYSICAL_ERRORS,
    SIM_CNT_RCV_SWITCH_RELAY_ERRORS,
    SIM_CNT_XMIT_DISCARDS,
    SIM_CNT_XMIT_CONSTRAINT_ERRORS,
    SIM_CNT_RCV_CONSTRAINT_ERRORS,
    SIM_CNT_LOCAL_LINK_INTEGRITY_ERRORS,
    SIM_CNT_EXCESSIVE_BUFFER_OVERRUNS,
    SIM_CNT_QP1_DROPS,
    SIM_CNT_VL15_DROPPED,
    SIM_CNT_XMIT_WAIT,
    SIM_CNT_XMIT_DATA, /* in words of 4 bytes */
    SIM_CNT_RCV_DATA,
    SIM_CNT_XMIT_PKTS,
    SIM_CNT_RCV_PKTS,
    SIM_CNT_UNICAST_XMIT_PKTS,
    SIM_CNT_UNICAST_RCV_PKTS,
    SIM_CNT_MULTICAST_XMIT_PKTS,
    SIM_CNT_MULTICAST_RCV_PKTS,
    SIM_CNT_COUNT
};

/* What happens to packets that leave by a port: set by faults/, used by core/transit. */
struct sim_disturbance {
    uint32_t loss_ppm, duplicate_ppm, reorder_ppm;
    int64_t delay_ns, jitter_ns; /* delay + a random part of jitter */
};

struct sim_host;       /* hosts/ */
struct sim_port_traps; /* agents/trap.c */
struct sim_sampler;    /* agents/pma_samples.c */
struct sim_timer;      /* core/timers.h */

struct sim_port {
    uint8_t info[64];         /* PortInfo, with the M_Key in force */
    uint64_t guid;            /* port GUID */
    uint32_t peer_node;       /* the cable's other end; SIM_NONE = no cable */
    uint8_t peer_port;
    uint8_t number;
    bool unplugged;           /* the cable is there but pulled (set at both ends) */
    bool mute;                /* its agent answers nothing and sends nothing; the link stays */
    bool training;            /* a timer will bring the link up */
    bool has_sm;              /* a client holds IsSM */
    bool fdr10_supported;     /* the speed that only Mellanox's ExtendedPortInfo shows */
    bool fdr10_enabled;
    uint64_t *counters;       /* SIM_CNT_COUNT, NULL = all zero */
    uint16_t *pkeys;          /* host order; the node's or switch's capacity; NULL = {0xFFFF}.
                               * This, sl2vl and vlarb may be shared: written to by way of
                               * sim_pkeys() and so on only */
    uint64_t *guids;          /* GUIDCap entries, host order; NULL = {guid} */
    uint8_t *sl2vl;           /* switch: (nports + 1) inputs x 8 bytes; others 8 bytes */
    uint8_t *vlarb;           /* 4 blocks of 64 bytes */
    struct sim_disturbance *disturbance; /* NULL = none */
    struct sim_host *host;    /* NULL = no modelled host */
    struct sim_port_traps *traps; /* NULL = nothing to repeat */
    struct sim_sampler *sampler;  /* NULL = nothing was sampled */
    int64_t lease_ends;       /* M_Key lease, SIM_NEVER = not running */
    struct sim_timer *lease_timer; /* NULL = not running */
};

struct sim_switch {
    uint8_t info[64];                    /* SwitchInfo */
    uint8_t *lft[SIM_LFT_BLOCKS];        /* 64 ports a block; NULL = all 255. Written by way of
                                          * sim_lft_block() only */
    uint16_t **mft[SIM_MFT_POSITIONS];   /* position -> blocks -> 32 masks, host order; lazily */
};

struct sim_node {
    uint8_t info[40];      /* NodeInfo; PortGUID and LocalPortNum are filled in at a Get */
    char description[65];  /* 64 bytes on the wire */
    uint64_t guid;
    uint8_t type;          /* enum fabric_node_type */
    uint8_t nports;
    bool powered;
    bool cut;              /* on the far side of a cut fabric: see faults/ */
    struct sim_port *ports; /* nports + 1 */
    struct sim_switch *sw; /* NULL for others */
    int64_t service_ns;    /* per SMP handled or forwarded by directed route */
    int64_t busy_until;    /* its processor */
    uint32_t vl15_used;    /* SMPs in its VL15 buffer */
    uint32_t vl15_size;    /* 0 = no limit */
};

/* Why a packet ended: counted, and shown by `status`. */
enum sim_drop {
    SIM_DROP_MALFORMED,
    SIM_DROP_LINK_DOWN,      /* the port it must leave by is not up (or not ACTIVE, other than VL15) */
    SIM_DROP_NO_ENTRY,       /* LFT entry 255, DLID above LinearFDBTop, no MFT bit */
    SIM_DROP_BAD_PORT,       /* the entry names a port that does not exist, or the one it came by */
    SIM_DROP_LOOP,           /* more hops than SIM_MAX_HOPS, or a switch twice */
    SIM_DROP_NOT_FOR_US,     /* a CA port got a DLID that is not its own */
    SIM_DROP_VL,             /* its SL maps to VL 15 at the port that it must leave by */
    SIM_DROP_PKEY,
    SIM_DROP_QKEY,
    SIM_DROP_MKEY,
    SIM_DROP_BUFFER,         /* VL15 buffer full */
    SIM_DROP_DISTURBED,      /* lost by a loss rate */
    SIM_DROP_MUTE,
    SIM_DROP_POWER,          /* the node has no power */
    SIM_DROP_UNCLAIMED,      /* arrived, but nobody takes it (answers, reports) */
    SIM_DROP_COUNT
};
#define SIM_MAX_HOPS 64u

struct sim_timers;  /* core/timers.h */
struct sim_shared;  /* core/shared.h */
struct sim_flights; /* core/transit.c */
struct sim_pings;   /* core/ping.c */
struct sim_judge;   /* judge/ */
struct sim_hosts;   /* hosts/ */
struct sim_script;  /* script/ */
struct sim_faults;  /* faults/ */

struct sim {
    struct sim_config config;
    struct sim_hooks hooks;
    int64_t now;
    GRand *random;
    uint32_t node_count;
    struct sim_node *nodes;
    struct sim_port *all_ports;     /* the ports of all nodes, one behind the other */
    GHashTable *by_guid;        /* node GUID (int64 key) -> number + 1, of the fabric's file */
    GHashTable *by_description; /* first of equal ones */
    uint64_t drops[SIM_DROP_COUNT];
    bool traps_off; /* what would be a trap is forgotten */
    uint64_t smps, gmps, doubled; /* handled by agents; multicast packets that arrived twice */
    struct sim_timers *timers;
    struct sim_shared *shared; /* P_Key, SL2VL and VL arbitration tables that are the same */
    struct sim_flights *flights;
    struct sim_pings *pings;
    struct sim_judge *judge;
    struct sim_hosts *hosts;
    struct sim_script *script;
    struct sim_faults *faults;
};

static inline struct sim_port *sim_port(struct sim *s, uint32_t node, unsigned port)
{
    return &s->nodes[node].ports[port];
}

static inline unsigned sim_port_state(const struct sim_port *p)
{
    return p->info[32] & 0x0f; /* byte 32: LinkSpeedSupported 4, PortState 4 */
}

static inline unsigned sim_phys_state(const struct sim_port *p)
{
    return p->info[33] >> 4;
}

static inline uint64_t sim_mkey(const struct sim_port *p)
{
    return get64(p->info);
}

static inline uint16_t sim_lid(const struct sim_port *p)
{
    return get16(p->info + 16);
}

/* The port whose PortInfo holds the LID, M_Key and SM address for this port: port 0 of a switch,
 * else itself. */
static inline struct sim_port *sim_end_port(struct sim *s, uint32_t node, unsigned port)
{
    return sim_port(s, node, s->nodes[node].sw ? 0 : port);
}

/* -- core/model.c -- */
/* Nodes of the fabric, switched off; and their memory. */
void sim_model_build(struct sim *s, const struct fabric *f);
void sim_model_free(struct sim *s);
/* -- core/model_tables.c: tables, allocated when first asked for, with the values of a power-up -- */
uint8_t *sim_lft_block(struct sim *s, uint32_t node, unsigned block);
uint16_t *sim_mft_block(struct sim *s, uint32_t node, unsigned position, unsigned block);
uint16_t *sim_pkeys(struct sim *s, uint32_t node, unsigned port);
uint8_t *sim_sl2vl(struct sim *s, uint32_t node, unsigned port, unsigned in); /* 8 bytes */
uint8_t *sim_vlarb(struct sim *s, uint32_t node, unsigned port, unsigned block); /* 0..3: 64 bytes */
uint64_t *sim_guids(struct sim *s, uint32_t node, unsigned port);
/* After writes to the port's P_Keys, SL2VL or VL arbitration: those that are as another port's share
 * its memory. Pointers got before are no longer good. */
void sim_tables_share(struct sim *s, uint32_t node, unsigned port);
/* What a Get shows where nothing was written. */
extern const uint8_t sim_sl2vl_default[8];
extern const uint8_t sim_vlarb_default[4][64];
void sim_tables_free(struct sim *s, uint32_t node);
/* Puts a node into the state of a power-up: keys, LIDs, tables, states gone (DOWN/Polling). Does not
 * touch links, timers or counters; guids and cables stay. */
void sim_node_reset(struct sim *s, uint32_t node);
/* P_Key table and its size; SwitchInfo's PartitionEnforcementCap for external switch ports. */
unsigned sim_pkey_capacity(const struct sim *s, uint32_t node, unsigned port);
uint16_t sim_pkey(const struct sim *s, uint32_t node, unsigned port, unsigned index);
/* The LFT entry, 255 = none (above LinearFDBTop, too). */
uint8_t sim_lft(const struct sim *s, uint32_t node, unsigned lid);
/* Bit p of out: port p gets packets of this MLID. */
void sim_mft(const struct sim *s, uint32_t node, unsigned mlid, uint64_t out[4]);
void sim_count(struct sim *s, uint32_t node, unsigned port, enum sim_counter counter, uint64_t n);
/* `"description"[port]` for messages, with hostile bytes escaped; in a ring of static buffers. */
const char *sim_port_name(const struct sim *s, uint32_t node, unsigned port);
void sim_note(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
