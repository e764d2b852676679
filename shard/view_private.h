/* SPDX-License-Identifier: BSD-2-Clause */
/* The view's inside, for view.c, view_records.c and view_graph.c only.
 *
 * Indices: (GUID, number) -> sorted list of entries, so that two records that claim the same port
 * GUID or the same cable end leave the other one in place when one goes. The LID index holds the
 * claimant with the lowest GUID; it is rebuilt lazily when a LID claimed twice is let go. */
#ifndef SHARD_VIEW_PRIVATE_H
#define SHARD_VIEW_PRIVATE_H

#include "shard/view.h"

#define VIEW_PORT_STATE_DOWN 1u    /* PortInfo.PortState, IBA 14.2.5.6 */
#define VIEW_PHYSICAL_LINK_UP 5u   /* PortInfo.PortPhysicalState */
#define VIEW_MAX_SWITCH_PORTS 254u /* IBA 14.2.5.3: 255 is a wildcard */

struct view_key {
    uint64_t guid;
    uint32_t num;
};

/* An owner may write into the records of its domains before it publishes them. So what indices and
 * earlier deltas were told is kept beside the public part, never read back from it. */
struct switch_entry {
    struct view_switch s; /* first: the public part */
    uint32_t source;      /* domain whose delta wrote it last */
    uint16_t claimed_lid; /* as the LID index has it */
    uint8_t claimed_lmc;
    uint64_t routing_hash, ports_hash; /* of what the last delta left */
};

struct end_port_entry {
    struct view_end_port e; /* first */
    uint32_t source;
    uint16_t claimed_lid;
    uint8_t claimed_lmc;
    uint64_t indexed_port_guid, indexed_switch; /* as the indices have them */
    uint8_t indexed_switch_port;
    uint64_t routing_hash, ports_hash;
};

struct leaf_entry {
    uint64_t guid;
    uint32_t number[256]; /* by port, RT_NONE = none */
};

struct lid_slot {
    struct view_switch *sw;
    struct view_end_port *ep;
    uint16_t claims;
};

struct view {
    GHashTable *switches;     /* &guid -> switch_entry, owned */
    GHashTable *end_ports;    /* view_key (node, num) -> end_port_entry, owned */
    GHashTable *by_port_guid; /* view_key (port GUID, 0) -> GSList of end_port_entry */
    GHashTable *by_cable;     /* view_key (switch, port) -> GSList of end_port_entry */
    GHashTable *domains;      /* id -> view_domain, owned */
    GHashTable *assigned;     /* &guid -> domain */
    GHashTable *leaves;       /* &guid -> leaf_entry, owned */
    struct lid_slot *lids;    /* RT_MAX_LID + 1 */
    bool lids_stale;
    GPtrArray *sorted_switches, *sorted_end_ports;
    bool switches_stale, end_ports_stale;
};

/* Adding and removing of entries; the caller filled the key fields. */
struct switch_entry *view_put_switch(struct view *v, uint64_t guid, unsigned nports);
bool view_remove_switch(struct view *v, uint64_t guid);
struct end_port_entry *view_put_end_port(struct view *v, uint64_t node_guid, unsigned num);
bool view_remove_end_port(struct view *v, uint64_t node_guid, unsigned num);
/* Around a change of the fields that indices are made of: port GUID, switch, switch port. */
void view_unindex_end_port(struct view *v, struct end_port_entry *e);
void view_index_end_port(struct view *v, struct end_port_entry *e);
/* After a change of LID or LMC. */
void view_claim_switch_lid(struct view *v, struct switch_entry *s);
void view_claim_end_port_lid(struct view *v, struct end_port_entry *e);
struct view_domain *view_need_domain(struct view *v, uint32_t id);
/* The domain that a record is kept under: the assigned one, else the one it came with. */
uint32_t view_switch_home(const struct view *v, const struct switch_entry *s);
uint32_t view_end_port_home(const struct view *v, const struct end_port_entry *e);

/* Adds to d the removal of all that the view has in this domain and the chunks of a snapshot
 * (Heddle__Delta) have not. d may be one of the chunks. */
void view_snapshot_removals(const struct view *v, uint32_t domain, const GPtrArray *chunks,
                            Heddle__Delta *d);

/* Fields of raw attributes, IBA 14.2.5.6 and 14.2.5.3. */
static inline unsigned view_portinfo_lid(const uint8_t portinfo[64])
{
    return (unsigned)portinfo[16] << 8 | portinfo[17];
}
static inline unsigned view_portinfo_lmc(const uint8_t portinfo[64])
{
    return portinfo[34] & 7u;
}
static inline unsigned view_portinfo_state(const uint8_t portinfo[64])
{
    return portinfo[32] & 15u;
}
static inline unsigned view_portinfo_physical(const uint8_t portinfo[64])
{
    return portinfo[33] >> 4;
}
static inline bool view_port_up(const struct view_port *p)
{
    return p->have_info && view_portinfo_physical(p->portinfo) == VIEW_PHYSICAL_LINK_UP &&
           view_portinfo_state(p->portinfo) != VIEW_PORT_STATE_DOWN;
}
/* enum rt_dest_kind of an end port. */
enum rt_dest_kind view_end_port_kind(const struct view_end_port *e);

#endif
