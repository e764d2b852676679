/* SPDX-License-Identifier: BSD-2-Clause */
/* The view: a shard's replica of the whole fabric. Pure.
 *
 * It holds switches (with all their ports), end ports (CA and router ports), and for each domain
 * its position (epoch, seq), phase and digests. Only the owner of a domain changes that domain's
 * records, by deltas; view_apply takes deltas, from this shard's own domains as well as from
 * others. Raw attributes are kept as the wire has them, so that SA records are answered from them.
 *
 * Which domain a switch belongs to is the assignment's matter (view_assign); an end port belongs
 * to the domain of the switch that it is cabled to.
 *
 * Ownership: pointers to records live until the record is removed; a delta that replaces it writes
 * into the same record. A record's attributes may be written by its owner in place just before the
 * delta that says so: indices and change masks are kept apart and follow with the delta. (Array
 * `ports` moves when the number of ports changes.) Threads: one. */
#ifndef SHARD_VIEW_H
#define SHARD_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "proto/envelope.h"
#include "routing/graph.h"

#define VIEW_NO_DOMAIN UINT32_MAX

struct view_port {      /* of a switch */
    uint64_t peer_guid; /* node GUID, 0 = none known */
    uint8_t peer_port;
    bool have_info;
    uint8_t portinfo[64];
};

struct view_switch {
    uint64_t guid;
    uint32_t domain; /* VIEW_NO_DOMAIN = nobody's */
    uint8_t nports;
    bool reachable;
    uint8_t nodeinfo[40];
    uint8_t switchinfo[20];
    char description[65];
    struct view_port *ports; /* nports + 1 */
};

struct view_end_port {
    uint64_t node_guid;
    uint64_t port_guid;
    uint64_t switch_guid;
    uint16_t lid; /* assigned, 0 = none yet */
    uint8_t num;
    uint8_t switch_port;
    uint8_t lmc;
    bool present;
    uint8_t nodeinfo[40];
    uint8_t portinfo[64];
    char description[65];
};

struct view_domain {
    uint32_t id;
    uint64_t epoch, seq; /* position of its records here; 0 = nothing yet */
    Heddle__DomainPhase phase;
    bool has_intent;
    uint8_t intent_digest[32];
    bool has_programmed;
    uint8_t programmed_digest[32];
    uint32_t ports_with_link, ports_active, ports_without_peer;
    uint64_t foreign_sm_guid; /* port of another manager that is MASTER, 0 = none */
};

struct view;

struct view *view_create(void);
void view_destroy(struct view *v); /* NULL allowed */

/* -- reading. Lookups are O(1); the walks go in a fixed order (by GUID; by node GUID, port) -- */
struct view_switch *view_switch(const struct view *v, uint64_t guid); /* or NULL */
struct view_end_port *view_end_port(const struct view *v, uint64_t node_guid, unsigned num);
struct view_end_port *view_end_port_by_guid(const struct view *v, uint64_t port_guid);
/* The end port cabled to this switch port (absent ones too), or NULL. */
struct view_end_port *view_end_port_at(const struct view *v, uint64_t switch_guid, unsigned port);
struct view_domain *view_domain(const struct view *v, uint32_t id); /* or NULL */
uint32_t view_domain_count(const struct view *v);
GArray *view_domain_ids(const struct view *v); /* uint32_t, ascending; the caller frees it */
/* Owner of a LID (LMC ranges included): exactly one of *sw, *ep is set, or false. */
bool view_by_lid(const struct view *v, uint16_t lid, struct view_switch **sw,
                 struct view_end_port **ep);
uint16_t view_switch_lid(const struct view_switch *s); /* of port 0's PortInfo, 0 = none */
/* Sorted arrays of pointers, owned by the view, valid until the next change. */
const GPtrArray *view_switches(const struct view *v);  /* struct view_switch */
const GPtrArray *view_end_ports(const struct view *v); /* struct view_end_port */
/* Those of one domain, in the same order; the caller frees the array (not the records). */
GPtrArray *view_domain_switches(const struct view *v, uint32_t domain);
GPtrArray *view_domain_end_ports(const struct view *v, uint32_t domain);

/* -- changing -- */
/* Takes the switches of all domains from an assignment; switches in no list become nobody's. */
void view_assign(struct view *v, const Heddle__Assignment *a);
uint32_t view_domain_of_switch(const struct view *v, uint64_t guid); /* also of unseen switches */

/* What an applied delta touched. */
enum view_change {
    VIEW_CHANGED_ROUTING = 1, /* graph, LIDs, presence, numbers: routing may differ */
    VIEW_CHANGED_PORTS = 2,   /* PortInfo of ports */
    VIEW_CHANGED_STATE = 4,   /* DomainState of a domain */
};
/* Applies the content of a delta of `domain` (positions are the caller's matter). Records that are
 * not of this domain by the assignment are taken too (the assignment may be newer or older here).
 * Returns a mask of view_change. Sizes were checked by envelope_decode. */
unsigned view_apply(struct view *v, uint32_t domain, const Heddle__Delta *d);
void view_set_position(struct view *v, uint32_t domain, uint64_t epoch, uint64_t seq);
/* Removes all records of a domain (before a snapshot is loaded). */
void view_clear_domain(struct view *v, uint32_t domain);

/* -- records for deltas; freed with the Delta by heddle__delta__free_unpacked -- */
Heddle__SwitchRecord *view_pack_switch(const struct view_switch *s);
Heddle__EndPortRecord *view_pack_end_port(const struct view_end_port *e);
Heddle__DomainState *view_pack_state(const struct view_domain *d);
/* Appends to the repeated fields of a Delta made with g_new0 + heddle__delta__init. */
void view_delta_add_switch(Heddle__Delta *d, Heddle__SwitchRecord *r);
void view_delta_add_end_port(Heddle__Delta *d, Heddle__EndPortRecord *r);
/* The whole domain as a list (GPtrArray of Heddle__Delta) of chunks of at most max_bytes each. */
GPtrArray *view_snapshot(const struct view *v, uint32_t domain, size_t max_bytes);

/* -- routing -- */
/* The graph of all switches that are reachable, links that are up at both ends and agree, and
 * destinations with a LID (absent ones included). Ports that two records claim differently are
 * left out. Returns 0, or EEXIST with the LID claimed twice. */
int view_graph(const struct view *v, struct rt_graph **graph, uint16_t *duplicate_lid);
/* Topological numbers kept: (leaf GUID, port) -> number. A LeafNumbers record of a delta adds to
 * those of its leaf; RT_NONE takes one away. */
void view_numbers_to_builder(const struct view *v, struct rt_builder *b);
bool view_has_number(const struct view *v, uint64_t leaf_guid, unsigned port);

#endif
