/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be read out of a Status. */
#include "cli/report.h"

#include <string.h>

const char *report_state_name(Heddle__MemberState state)
{
    switch (state) {
    case HEDDLE__MEMBER_STATE__MEMBER_ENROLLED:
        return "not joined";
    case HEDDLE__MEMBER_STATE__MEMBER_LIVE:
        return "live";
    case HEDDLE__MEMBER_STATE__MEMBER_SUSPECT:
        return "suspect";
    case HEDDLE__MEMBER_STATE__MEMBER_DEAD:
        return "dead";
    case HEDDLE__MEMBER_STATE__MEMBER_ISOLATED:
        return "isolated";
    default:
        return "unknown";
    }
}

const char *report_phase_name(Heddle__DomainPhase phase)
{
    switch (phase) {
    case HEDDLE__DOMAIN_PHASE__PHASE_NONE:
        return "not started";
    case HEDDLE__DOMAIN_PHASE__PHASE_EXPLORING:
        return "exploring";
    case HEDDLE__DOMAIN_PHASE__PHASE_EXPLORED:
        return "explored";
    case HEDDLE__DOMAIN_PHASE__PHASE_LIDS:
        return "LIDs set";
    case HEDDLE__DOMAIN_PHASE__PHASE_RUNNING:
        return "running";
    default:
        return "unknown";
    }
}

const Heddle__Member *report_member(const Heddle__Status *s, const char *name)
{
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_members; i++)
        if (strcmp(s->assignment->members[i]->name, name) == 0)
            return s->assignment->members[i];
    return NULL;
}

const Heddle__ShardStatus *report_shard(const Heddle__Status *s, const char *name)
{
    for (size_t i = 0; i < s->n_shards; i++)
        if (strcmp(s->shards[i]->name, name) == 0)
            return s->shards[i];
    return NULL;
}

const Heddle__Domain *report_domain(const Heddle__Status *s, uint32_t id)
{
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_domains; i++)
        if (s->assignment->domains[i]->id == id)
            return s->assignment->domains[i];
    return NULL;
}

const Heddle__Member *report_lead(const Heddle__Status *s)
{
    const Heddle__Domain *d = report_domain(s, 0);
    return d != NULL && *d->owner != '\0' ? report_member(s, d->owner) : NULL;
}

bool report_owned(const Heddle__Status *s, const Heddle__Domain *d)
{
    const Heddle__Member *m = report_member(s, d->owner);
    return m != NULL && (m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE ||
                         m->state == HEDDLE__MEMBER_STATE__MEMBER_SUSPECT ||
                         m->state == HEDDLE__MEMBER_STATE__MEMBER_ISOLATED);
}

const Heddle__DomainReport *report_of_domain(const Heddle__Status *s, const Heddle__Domain *d)
{
    const Heddle__ShardStatus *shard = report_shard(s, d->owner);
    const Heddle__Heartbeat *last = shard != NULL ? shard->last : NULL;
    for (size_t i = 0; last != NULL && i < last->n_domains; i++)
        if (last->domains[i]->domain == d->id && last->domains[i]->epoch == d->epoch)
            return last->domains[i];
    return NULL;
}

struct report_ports report_ports_of(const Heddle__DomainReport *r)
{
    if (r == NULL || r->state == NULL)
        return (struct report_ports){0};
    return (struct report_ports){r->state->ports_with_link, r->state->ports_active,
                                 r->state->ports_without_peer};
}

struct report_ports report_ports(const Heddle__Status *s)
{
    struct report_ports sum = {0};
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_domains; i++) {
        struct report_ports one = report_ports_of(report_of_domain(s, s->assignment->domains[i]));
        sum.with_link += one.with_link;
        sum.active += one.active;
        sum.without_peer += one.without_peer;
    }
    return sum;
}

uint64_t report_nodes(const Heddle__Status *s, const char *shard)
{
    uint64_t nodes = 0;
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_domains; i++) {
        const Heddle__Domain *d = s->assignment->domains[i];
        const Heddle__DomainReport *r = report_of_domain(s, d);
        if (strcmp(d->owner, shard) == 0 && r != NULL)
            nodes += (uint64_t)r->switches + r->end_ports;
    }
    return nodes;
}

/* -- why not ----------------------------------------------------------------------------------- */

static void add(GPtrArray *lines, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add(GPtrArray *lines, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_ptr_array_add(lines, g_strdup_vprintf(format, ap));
    va_end(ap);
}

static bool same(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Tables of a domain that is otherwise ready; *digest is set by the first of them. */
static void check_tables(const Heddle__Domain *d, const Heddle__DomainState *state,
                         const ProtobufCBinaryData **digest, GPtrArray *lines)
{
    if (state->intent_digest.len > 0)
        add(lines, "domain %u (%s): %s is programming tables", d->id, d->name, d->owner);
    else if (state->programmed_digest.len == 0)
        add(lines, "domain %u (%s): %s has not programmed tables yet", d->id, d->name, d->owner);
    else if (*digest == NULL)
        *digest = &state->programmed_digest;
    else if (!same(*digest, &state->programmed_digest))
        add(lines, "domain %u (%s): its tables are of another view than those of other domains",
            d->id, d->name);
}

static void check_domain(const Heddle__Status *s, const Heddle__Domain *d,
                         const ProtobufCBinaryData **digest, GPtrArray *lines)
{
    if (*d->owner == '\0') {
        add(lines, "domain %u (%s) has no owner", d->id, d->name);
        return;
    }
    const Heddle__Member *m = report_member(s, d->owner);
    if (m == NULL || m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE) {
        add(lines, "domain %u (%s): its owner %s is %s", d->id, d->name, d->owner,
            m == NULL ? "unknown" : report_state_name(m->state));
        return;
    }
    if (d->id == 0)
        return; /* records only: nothing is programmed for it */
    const Heddle__DomainReport *r = report_of_domain(s, d);
    if (r == NULL || r->state == NULL)
        add(lines, "domain %u (%s): %s has not reported it yet", d->id, d->name, d->owner);
    else if (r->state->phase != HEDDLE__DOMAIN_PHASE__PHASE_RUNNING)
        add(lines, "domain %u (%s): phase is \"%s\"", d->id, d->name,
            report_phase_name(r->state->phase));
    else
        check_tables(d, r->state, digest, lines);
}

static void check_shards(const Heddle__Status *s, const ProtobufCBinaryData *digest,
                         GPtrArray *lines)
{
    for (size_t i = 0; i < s->assignment->n_members; i++) {
        const Heddle__Member *m = s->assignment->members[i];
        const Heddle__ShardStatus *shard = report_shard(s, m->name);
        if (m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE || digest == NULL)
            continue;
        if (shard == NULL || shard->last == NULL)
            add(lines, "shard %s has sent no heartbeat yet", m->name);
        else if (!same(digest, &shard->last->routing_digest))
            add(lines, "shard %s has another view than the tables were made from", m->name);
    }
}

GPtrArray *report_why_not(const Heddle__Status *s)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    const ProtobufCBinaryData *digest = NULL;
    if (s->converged)
        return lines;
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_domains; i++)
        check_domain(s, s->assignment->domains[i], &digest, lines);
    if (s->assignment != NULL)
        check_shards(s, digest, lines);
    for (size_t i = 0; lines->len == 0 && i < s->n_problems; i++)
        add(lines, "%s", s->problems[i]);
    if (lines->len == 0)
        add(lines, "%s",
            s->assignment == NULL || s->assignment->n_domains < 2
                ? "there are no domains yet"
                : "the coordinator gives no reason; ask again");
    return lines;
}
