/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the shard's core share. Included by shard/'s pure parts only.
 *
 * Each part keeps its own state behind an opaque pointer and is reached by the functions of its
 * header; here stand the pieces that all of them need: configuration, view, queues, time. */
#ifndef SHARD_CORE_INTERNAL_H
#define SHARD_CORE_INTERNAL_H

#include <stdarg.h>

#include "base/log.h"
#include "shard/core.h"
#include "shard/mad/smpq.h"
#include "shard/replication.h"

struct explore;
struct paths;
struct reader;
struct setup;
struct tables;
struct sweep;
struct probes;
struct contact;

struct own_port { /* the local HCA port, by MAD */
    bool known;
    bool refused_said; /* it cannot be used, and that was said */
    uint64_t node_guid, port_guid;
    uint8_t num;
    uint16_t lid;
    uint8_t state, phys_state;
    uint64_t leaf_guid; /* 0 = not seen */
    uint8_t leaf_port;
};

enum owned_step {                  /* of a domain that this shard owns */
                  OWNED_SUFFIX,    /* collecting what the last owner published */
                  OWNED_EXPLORING, /* reading its nodes */
                  OWNED_EXPLORED,  /* waiting until all domains have said which LIDs they found */
                  OWNED_SETUP,     /* LIDs are in the view: ports, tables, links go on */
                  OWNED_RUNNING,   /* all of it was done once */
};

struct owned_domain {
    uint32_t id;
    uint64_t epoch;
    GBytes *grant; /* SignedGrant */
    uint8_t key[32];
    enum owned_step step;
    bool takeover; /* it was running under another owner: no rediscovery */
    uint64_t step_since_ms;
    GHashTable *dirty_switches;  /* guid -> NULL: changed since the last delta */
    GHashTable *dirty_end_ports; /* struct view_end_port * keys by (guid, num) packed */
    bool dirty_state;
    uint64_t last_flush_ms;
    uint64_t next_check_ms; /* of the conditions for the next step */
    uint64_t audit_ms;      /* when all its switches are read again after a takeover; 0 = done */
    uint32_t switch_count, end_port_count; /* as of the last flush */
    uint64_t intent_seq;                   /* seq of the delta with the open intent, 0 = none */
};

struct shard_core {
    struct shard_core_config cfg;
    uint64_t now_ms;
    uint64_t realtime_ms;
    GArray *actions; /* of the step in progress */
    struct view *view;
    struct replication *repl;
    struct smpq *smpq;
    Heddle__ClusterConfig *cluster; /* NULL until welcomed */
    Heddle__Assignment *assignment; /* NULL until welcomed */
    uint64_t incarnation;
    struct own_port own;
    uint64_t own_next_ms;  /* when it is asked again */
    GHashTable *owned;     /* domain id -> struct owned_domain * */
    GHashTable *seen_live; /* domain ids whose records came from their owner or from us */
    bool from_owner;       /* the message in hand is an owner's of now, not a stored copy */
    uint64_t read_ms;      /* MADs that came before have all been handed in */
    uint32_t act_count;
    uint32_t max_stall_ms;
    bool unsure;    /* Sets wait until a coordinator has confirmed the grants: after a stall, a loss
                       of contact, a dead port */
    bool was_fresh; /* contact, as of the last pump */
    bool could_set; /* as of the last pump: Sets may be waiting in the queue */
    uint64_t foreign_sm_guid;   /* of any domain of the view: no Set while there is one */
    GHashTable *backed_lids;    /* port GUID -> LID, as the ledger was told */
    GPtrArray *lid_backup;      /* Heddle__FoundLid, to be told at the end of the step */
    unsigned foreign_asked;     /* SMs that were asked who they are and have not answered yet */
    bool stepped_down;          /* the local port died for good */
    bool port_dead;             /* the local port is Down now: others see it, and take over */
    uint64_t directed_until_ms; /* LID routing is not trusted until then */
    GHashTable *known_lids;     /* port GUID -> LID, from store and ledger */
    GHashTable *quarantined;    /* struct port_key of our switches -> GUID of a node there that is
                                   elsewhere, too */
    uint64_t store_ticket;
    GPtrArray *store_items; /* struct shard_store_item, of this step */
    struct contact *contact;
    struct paths *paths;
    struct reader *reader;
    struct explore *explore;
    struct setup *setup;
    struct tables *tables;
    struct sweep *sweep;
    struct probes *probes;
};

/* -- actions (actions are appended to the step in progress) --------------------------------------
 */
void core_vlog(struct shard_core *c, int level, const char *event, const char *format, va_list ap)
    __attribute__((format(printf, 4, 0)));
void core_log(struct shard_core *c, int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Sends a message; fills cluster, sender, boot id and incarnation; takes body over. */
void core_send(struct shard_core *c, enum shard_channel channel, const char *peer, uint32_t type,
               uint32_t domain, uint64_t epoch, uint64_t seq, ProtobufCMessage *body);
void core_send_mad(struct shard_core *c, const uint8_t *mad, size_t len,
                   const struct mad_address *to, uint32_t timeout_ms, bool rmpp);
void core_smpq_limits(struct shard_core *c, uint32_t per_port, uint32_t per_target,
                      uint32_t timeout_ms, uint32_t retries);
void core_store(struct shard_core *c, const char *table, GBytes *key, GBytes *value);

/* -- domains --------------------------------------------------------------------------------------
 */
struct owned_domain *core_owned(const struct shard_core *c, uint32_t domain); /* or NULL */
/* The owned domain of a switch, or NULL when it is not ours. */
struct owned_domain *core_owned_switch(const struct shard_core *c, uint64_t switch_guid);
/* Whether Sets may be sent now: welcomed, contact, no foreign master, not stepped down. */
bool core_may_set(const struct shard_core *c);
static inline uint32_t core_set_group(const struct owned_domain *d)
{
    return d->id + 1; /* of smpq: the Sets of one domain */
}
/* A domain's foreign_sm_guid may be another one now. */
void core_foreign_sm_changed(struct shard_core *c);
bool core_is_lead(const struct shard_core *c);
/* The LID of this shard's own port, as assigned; 0 = not known. */
uint16_t core_own_lid(const struct shard_core *c);
const Heddle__SubnetOptions *core_options(const struct shard_core *c);
/* Fills how to reach a switch (its port 0) in r: LID routed where its tables are up, else the
 * directed route. False when no way is known. */
bool core_address_switch(struct shard_core *c, uint64_t guid, struct smp_request *r);
/* An SMP of ours was not answered: if it was LID routed, directed routes are used for a while. */
void core_unanswered(struct shard_core *c, const struct smp_request *r);
bool core_address_end_port(struct shard_core *c, const struct view_end_port *e,
                           struct smp_request *r);

#endif
