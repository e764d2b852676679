/* SPDX-License-Identifier: BSD-2-Clause */
/* What an operator is told: the assignment in force, each shard's last words, what is wrong. */
#include <string.h>

#include "coordinator/internal.h"

static void problem(Heddle__Status *s, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void problem(Heddle__Status *s, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    record_append(&s->n_problems, &s->problems, g_strdup_vprintf(format, ap));
    va_end(ap);
}

static const Heddle__DomainReport *report_of(const Heddle__Heartbeat *h, const Heddle__Domain *d)
{
    for (size_t i = 0; h && i < h->n_domains; i++)
        if (h->domains[i]->domain == d->id && h->domains[i]->epoch == d->epoch)
            return h->domains[i];
    return NULL;
}

static bool same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && a->len && memcmp(a->data, b->data, a->len) == 0;
}

/* -- converged ------------------------------------------------------------------------------- */

/* A domain counts when its live owner says RUNNING, has no intent open and programmed `digest`;
 * *digest is set by the first. */
static bool domain_settled(const struct coord_core *c, const Heddle__Domain *d,
                           const ProtobufCBinaryData **digest)
{
    const Heddle__Member *owner = domain_live_owner(c->durable, d);
    const struct coord_peer *p = owner ? coord_peer_find(c, owner->name) : NULL;
    if (p == NULL || p->suspect_since_ms || p->last == NULL)
        return false;
    const Heddle__DomainReport *r = report_of(p->last, d);
    if (r == NULL || r->state == NULL || r->state->phase != HEDDLE__DOMAIN_PHASE__PHASE_RUNNING ||
        r->state->intent_digest.len)
        return false;
    if (d->id == 0)
        return true; /* the lead has seen all; no table belongs to it */
    if (r->switches < d->n_switches)
        return false; /* its owner never saw some of them */
    if (*digest == NULL)
        *digest = &r->state->programmed_digest;
    return same_bytes(*digest, &r->state->programmed_digest);
}

static bool converged(const struct coord_core *c)
{
    const ProtobufCBinaryData *digest = NULL;
    for (size_t i = 0; i < c->durable->n_domains; i++)
        if (!domain_settled(c, c->durable->domains[i], &digest))
            return false;
    if (digest == NULL)
        return false;
    for (guint i = 0; i < c->peers->len; i++) {
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        const Heddle__Member *m = assignment_member(c->durable, p->name);
        if (m == NULL || m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE)
            continue;
        if (p->last == NULL || p->suspect_since_ms || !same_bytes(digest, &p->last->routing_digest))
            return false;
    }
    return true;
}

/* -- problems, one line each ------------------------------------------------------------------- */

static void member_problems(const struct coord_core *c, Heddle__Status *s,
                            const struct coord_peer *p, const Heddle__Member *m)
{
    uint64_t age = coord_detector_age(c, p);
    if (m->state == HEDDLE__MEMBER_STATE__MEMBER_ENROLLED)
        problem(s, "shard %s has not joined", m->name);
    else if (m->state == HEDDLE__MEMBER_STATE__MEMBER_DEAD)
        problem(s, "shard %s is dead", m->name);
    else if (m->state == HEDDLE__MEMBER_STATE__MEMBER_ISOLATED)
        problem(s, "shard %s lives but cannot be reached; check the management network", m->name);
    else if (p->suspect_since_ms)
        problem(s, "shard %s has not been heard for %" PRIu64 " ms", m->name, age);
    if (p->foreign_ms && c->now_ms < p->foreign_ms + COORD_CLASH_MS)
        problem(s, "a process that calls itself %s uses the key of shard %s: check its key_file",
                p->foreign_name, p->name);
    if (coord_members_clash(c, p))
        problem(s, "two processes use the name %s: give each shard a name and a key of its own",
                m->name);
    if (m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE && m->lid == 0 && m->port_guid)
        problem(s, "shard %s has no LID: the pool for the shards' own ports is used up", m->name);
    if (ABS(p->clock_offset_ms) > 50)
        problem(s, "the clock of shard %s is %d ms off", m->name, p->clock_offset_ms);
    const Heddle__Heartbeat *h = p->last;
    if (h == NULL || m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE)
        return;
    if (h->frozen)
        problem(s,
                "shard %s sends no Sets: it has stood still, has lost contact, or sees a foreign "
                "manager",
                m->name);
    if (h->foreign_sm)
        problem(s,
                "shard %s sees a foreign master SM, port 0x%016" PRIx64
                "; heddle writes nothing until it is gone",
                m->name, h->foreign_sm_guid);
    for (size_t i = 0; i < h->n_duplicate_guids; i++)
        problem(s, "shard %s quarantined the duplicate GUID 0x%016" PRIx64, m->name,
                h->duplicate_guids[i]);
}

static void software_problems(const struct coord_core *c, Heddle__Status *s)
{
    const Heddle__Member *first = NULL;
    for (size_t i = 0; i < c->durable->n_members; i++) {
        const Heddle__Member *m = c->durable->members[i];
        if (m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE)
            continue;
        if (first == NULL)
            first = m;
        char a[80], b[80]; /* what a shard calls its version is its own text: quoted */
        if (strcmp(first->software, m->software) != 0)
            problem(s, "shards %s and %s run different software: %s, %s", first->name, m->name,
                    log_quote(a, sizeof a, first->software), log_quote(b, sizeof b, m->software));
    }
}

static void domain_problems(const struct coord_core *c, Heddle__Status *s, const Heddle__Domain *d)
{
    uint32_t nodes = coord_domain_nodes(c, d);
    if (domain_live_owner(c->durable, d) == NULL)
        problem(s, "domain %u (%s) has no live owner", d->id, d->name);
    if (nodes > c->config.domain_max_nodes)
        problem(s, "domain %u (%s) has %u nodes, more than domain_max_nodes = %u", d->id, d->name,
                nodes, c->config.domain_max_nodes);
    if (nodes > domain_pool_lids(d))
        problem(s, "domain %u (%s) has %u nodes but %u LIDs: the subnet is out of LIDs", d->id,
                d->name, nodes, domain_pool_lids(d));
    const struct coord_peer *p = coord_peer_find(c, d->owner);
    const Heddle__DomainReport *r = p ? report_of(p->last, d) : NULL;
    if (r && d->id && r->state && r->switches < d->n_switches &&
        r->state->phase >= HEDDLE__DOMAIN_PHASE__PHASE_EXPLORED)
        problem(s, "domain %u (%s): %s has never seen %zu of its %zu switches", d->id, d->name,
                d->owner, d->n_switches - r->switches, d->n_switches);
    if (r && r->state && r->state->ports_without_peer)
        problem(s, "domain %u (%s): %u of %u ports with a link have no peer", d->id, d->name,
                r->state->ports_without_peer, r->state->ports_with_link);
}

static void load_problems(const struct coord_core *c, Heddle__Status *s)
{
    for (size_t i = 0; i < c->durable->n_members; i++) {
        uint64_t load = 0;
        for (size_t j = 0; j < c->durable->n_domains; j++)
            if (strcmp(c->durable->domains[j]->owner, c->durable->members[i]->name) == 0)
                load += coord_domain_nodes(c, c->durable->domains[j]);
        if (load > c->config.shard_max_nodes)
            problem(s,
                    "shard %s has %" PRIu64 " nodes, more than shard_max_nodes = %u; "
                    "add a shard",
                    c->durable->members[i]->name, load, c->config.shard_max_nodes);
    }
}

static void all_problems(const struct coord_core *c, Heddle__Status *s)
{
    if (c->stale || c->now_ms < c->retry_ms)
        problem(s, "the ledger cannot be written: no decision takes effect");
    for (guint i = 0; i < c->peers->len; i++) {
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        const Heddle__Member *m = assignment_member(c->durable, p->name);
        if (m)
            member_problems(c, s, p, m);
    }
    software_problems(c, s);
    if (c->durable->auto_partition)
        problem(s, c->graph_complete
                       ? "no domains yet: waiting for the expected shards"
                       : "no domains yet: waiting for the lead to explore the fabric");
    for (size_t i = 0; i < c->durable->n_domains; i++)
        domain_problems(c, s, c->durable->domains[i]);
    load_problems(c, s);
    if (c->unassigned)
        problem(s, "%u switches belong to no domain: nothing is written to them", c->unassigned);
}

/* -- the message ------------------------------------------------------------------------------- */

static void add_shards(const struct coord_core *c, Heddle__Status *s)
{
    for (guint i = 0; i < c->peers->len; i++) {
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        Heddle__ShardStatus *one = g_new(Heddle__ShardStatus, 1);
        heddle__shard_status__init(one);
        record_set_string(&one->name, p->name);
        one->last = p->last ? record_copy(p->last) : NULL;
        one->last_seen_ms =
            p->contacted ? (uint32_t)MIN(coord_detector_age(c, p), UINT32_MAX) : UINT32_MAX;
        one->clock_offset_ms = p->clock_offset_ms;
        record_append(&s->n_shards, &s->shards, one);
        Heddle__Member *m = assignment_member(s->assignment, p->name);
        if (m && p->suspect_since_ms && m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE)
            m->state = HEDDLE__MEMBER_STATE__MEMBER_SUSPECT; /* in memory only, never durable */
    }
}

Heddle__Status *coord_status(const struct coord_core *c)
{
    Heddle__Status *s = g_new(Heddle__Status, 1);
    heddle__status__init(s);
    record_set_string(&s->cluster, c->config.cluster);
    s->assignment = record_copy(c->durable);
    s->config = record_copy(c->config.cluster_config);
    if (s->config->subnet)
        s->config->subnet->sm_key = 0; /* it is a key: not for every reader of a status */
    add_shards(c, s);
    for (guint i = 0; i < c->takeovers->len; i++)
        record_append(&s->n_takeovers, &s->takeovers,
                      record_copy(g_ptr_array_index(c->takeovers, i)));
    s->converged = converged(c);
    all_problems(c, s);
    return s;
}
