/* SPDX-License-Identifier: BSD-2-Clause */
/* The domains that this shard owns: steps from the grant to RUNNING, and publishing. */
#include "shard/domain.h"

#include <infiniband/mad.h>
#include <string.h>

#include "proto/grant.h"
#include "shard/core_internal.h"
#include "shard/explore.h"
#include "shard/keys.h"
#include "shard/lids.h"
#include "shard/paths.h"
#include "shard/setup.h"
#include "shard/sweep.h"
#include "shard/tables.h"

#define FLUSH_MS 10u        /* changes of records are gathered this long */
#define STEP_CHECK_MS 5u    /* conditions that walk the domain are looked at this often */
#define AUDIT_AFTER_MS 500u /* after a takeover: the Sets go first */
#define LID_REPORT_DEFAULT_MS 10000u
#define DELTA_MAX_RECORDS 64u /* switches in one delta: keeps messages far below the limit */

void owned_domain_free(struct owned_domain *d)
{
    g_bytes_unref(d->grant);
    g_hash_table_unref(d->dirty_switches);
    g_hash_table_unref(d->dirty_end_ports);
    memset(d->key, 0, sizeof d->key);
    g_free(d);
}

Heddle__Delta *delta_new(void)
{
    Heddle__Delta *d = g_new0(Heddle__Delta, 1);
    heddle__delta__init(d);
    return d;
}

static GBytes *pack_grant(const Heddle__SignedGrant *s)
{
    size_t len = heddle__signed_grant__get_packed_size(s);
    uint8_t *bytes = g_malloc(len);
    heddle__signed_grant__pack(s, bytes);
    return g_bytes_new_take(bytes, len);
}

/* -- ownership ------------------------------------------------------------------------------------
 */

void domain_granted(struct shard_core *c, const Heddle__Grant *g, const Heddle__SignedGrant *s)
{
    struct owned_domain *old = core_owned(c, g->domain);
    const struct view_domain *v = view_domain(c->view, g->domain);
    if ((old && old->epoch >= g->epoch) || (v && v->epoch > g->epoch))
        return;
    struct owned_domain *d = g_new0(struct owned_domain, 1);
    d->id = g->domain;
    d->epoch = g->epoch;
    d->grant = pack_grant(s);
    d->dirty_switches = guid_table_new(NULL);
    d->dirty_end_ports = g_hash_table_new_full(port_key_hash, port_key_equal, g_free, NULL);
    d->step = OWNED_SUFFIX;
    d->step_since_ms = c->now_ms;
    if (!grant_open_key(g, c->cfg.public_key, c->cfg.secret_key, d->key)) {
        core_log(c, HL_ERROR, "grant_key_refused", "domain=%u epoch=%" PRIu64, d->id, d->epoch);
        owned_domain_free(d);
        return;
    }
    core_log(c, HL_INFO, "domain_granted", "domain=%u epoch=%" PRIu64, d->id, d->epoch);
    g_hash_table_replace(c->owned, GUINT_TO_POINTER(d->id), d);
    gsize len;
    const uint8_t *grant = g_bytes_get_data(d->grant, &len);
    replication_own(c->repl, d->id, d->epoch, grant, len, c->now_ms);
}

void domain_lost(struct shard_core *c, uint32_t domain)
{
    struct owned_domain *d = core_owned(c, domain);
    if (!d)
        return;
    core_log(c, HL_NOTICE, "domain_lost", "domain=%u epoch=%" PRIu64, domain, d->epoch);
    uint32_t group = core_set_group(d);
    tables_forget_domain(c, domain);
    setup_forget_domain(c, domain);
    replication_disown(c->repl, domain);
    g_hash_table_remove(c->owned, GUINT_TO_POINTER(domain));
    smpq_cancel_sets(c->smpq, group);
}

/* A domain without a record of its state in the view begins at nothing. */
static struct view_domain *state_of(struct shard_core *c, const struct owned_domain *d)
{
    struct view_domain *v = view_domain(c->view, d->id);
    if (!v) {
        view_set_position(c->view, d->id, 0, 0);
        v = view_domain(c->view, d->id);
    }
    return v;
}

void domain_set_phase(struct shard_core *c, struct owned_domain *d, Heddle__DomainPhase phase)
{
    struct view_domain *v = state_of(c, d);
    if (v->phase == phase)
        return;
    v->phase = phase;
    domain_dirty_state(c, d);
}

static void begin_takeover(struct shard_core *c, struct owned_domain *d)
{
    /* A foreign manager that the last owner saw is asked again in the audit. */
    state_of(c, d)->foreign_sm_guid = 0;
    d->step = OWNED_RUNNING;
    d->audit_ms = c->now_ms + AUDIT_AFTER_MS;
    tables_begin_domain(c, d, true);
    setup_begin_domain(c, d);
    sweep_domain(c, d->id);
}

static void begin_bring_up(struct shard_core *c, struct owned_domain *d)
{
    d->step = d->id == 0 ? OWNED_RUNNING : OWNED_EXPLORING;
    struct view_domain *v = state_of(c, d);
    v->phase = HEDDLE__DOMAIN_PHASE__PHASE_EXPLORING; /* of domain 0: until all is seen */
    v->has_intent = false;
    v->has_programmed = false;
    explore_domain_reset(c, d->id);
    tables_begin_domain(c, d, false);
}

void domain_suffix_done(struct shard_core *c, uint32_t domain)
{
    struct owned_domain *d = core_owned(c, domain);
    if (!d || d->step != OWNED_SUFFIX)
        return;
    const struct view_domain *v = state_of(c, d);
    d->takeover = d->id != 0 && v->phase == HEDDLE__DOMAIN_PHASE__PHASE_RUNNING &&
                  g_hash_table_contains(c->seen_live, GUINT_TO_POINTER(d->id));
    d->step_since_ms = c->now_ms;
    core_log(c, HL_INFO, "domain_begins", "domain=%u epoch=%" PRIu64 " how=%s", d->id, d->epoch,
             d->takeover ? "takeover" : "bring-up");
    if (d->takeover)
        begin_takeover(c, d);
    else
        begin_bring_up(c, d);
    /* The first delta of the epoch goes out at once: it carries the grant. */
    Heddle__Delta *delta = delta_new();
    delta->state = view_pack_state(state_of(c, d));
    domain_publish(c, d, delta);
    domain_dirty_state(c, d); /* its counts follow */
    explore_wake(c);
    tables_wake(c);
}

/* -- publishing -- */

void domain_dirty_switch(struct shard_core *c, uint64_t guid)
{
    struct owned_domain *d = core_owned_switch(c, guid);
    if (d)
        g_hash_table_add(d->dirty_switches, guid_key(guid));
}

void domain_dirty_end_port(struct shard_core *c, const struct view_end_port *e)
{
    struct owned_domain *d = core_owned_switch(c, e->switch_guid);
    if (!d)
        return;
    struct port_key *k = g_new0(struct port_key, 1);
    k->guid = e->node_guid;
    k->num = e->num;
    g_hash_table_add(d->dirty_end_ports, k);
}

void domain_dirty_state(struct shard_core *c, struct owned_domain *d)
{
    d->dirty_state = true;
}

static bool is_dirty(const struct owned_domain *d)
{
    return d->dirty_state || g_hash_table_size(d->dirty_switches) ||
           g_hash_table_size(d->dirty_end_ports);
}

/* Counts for status: ports with link, ACTIVE ones, those without a peer. */
static void count_ports(struct shard_core *c, struct owned_domain *d)
{
    struct view_domain *v = state_of(c, d);
    v->ports_with_link = v->ports_active = v->ports_without_peer = 0;
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        for (unsigned n = 1; s->reachable && n <= s->nports; n++) {
            const struct view_port *p = &s->ports[n];
            if (!p->have_info || mad_get_field((void *)p->portinfo, 0, IB_PORT_PHYS_STATE_F) != 5 ||
                mad_get_field((void *)p->portinfo, 0, IB_PORT_STATE_F) < 2)
                continue;
            v->ports_with_link++;
            if (!p->peer_guid)
                v->ports_without_peer++;
            else if (mad_get_field((void *)p->portinfo, 0, IB_PORT_STATE_F) == 4)
                v->ports_active++;
        }
    }
    d->switch_count = switches->len;
    g_ptr_array_unref(switches);
    GPtrArray *ends = view_domain_end_ports(c->view, d->id);
    d->end_port_count = ends->len;
    g_ptr_array_unref(ends);
}

static void flush(struct shard_core *c, struct owned_domain *d)
{
    if (d->step == OWNED_SUFFIX || !is_dirty(d))
        return;
    d->last_flush_ms = c->now_ms;
    GArray *guids = guid_keys_sorted(d->dirty_switches);
    GArray *ends = port_keys_sorted(d->dirty_end_ports);
    g_hash_table_remove_all(d->dirty_switches);
    g_hash_table_remove_all(d->dirty_end_ports);
    d->dirty_state = false;
    count_ports(c, d);
    Heddle__Delta *delta = delta_new();
    for (guint i = 0; i < guids->len; i++) {
        const struct view_switch *s = view_switch(c->view, g_array_index(guids, uint64_t, i));
        if (s)
            view_delta_add_switch(delta, view_pack_switch(s));
        if (delta->n_switches == DELTA_MAX_RECORDS) {
            replication_publish(c->repl, d->id, delta, c->now_ms);
            delta = delta_new();
        }
    }
    for (guint i = 0; i < ends->len; i++) {
        const struct port_key *k = &g_array_index(ends, struct port_key, i);
        const struct view_end_port *e = view_end_port(c->view, k->guid, k->num);
        if (e)
            view_delta_add_end_port(delta, view_pack_end_port(e));
    }
    delta->state = view_pack_state(state_of(c, d));
    replication_publish(c->repl, d->id, delta, c->now_ms);
    g_array_unref(guids);
    g_array_unref(ends);
}

uint64_t domain_publish(struct shard_core *c, struct owned_domain *d, Heddle__Delta *delta)
{
    flush(c, d);
    return replication_publish(c->repl, d->id, delta, c->now_ms);
}

/* -- steps -- */

static GPtrArray *owned_in_order(const struct shard_core *c)
{
    GPtrArray *list = g_ptr_array_new();
    for (size_t i = 0; c->assignment && i < c->assignment->n_domains; i++) {
        struct owned_domain *d = core_owned(c, c->assignment->domains[i]->id);
        if (d)
            g_ptr_array_add(list, d);
    }
    return list;
}

void domain_pools_changed(struct shard_core *c)
{
    GPtrArray *list = owned_in_order(c);
    for (guint i = 0; core_may_set(c) && i < list->len; i++) {
        struct owned_domain *d = g_ptr_array_index(list, i);
        if (d->step >= OWNED_SETUP)
            lids_assign_missing(c, d);
    }
    g_ptr_array_unref(list);
}

void domain_explored_check(struct shard_core *c)
{
    /* Who hears that we have explored goes on to write: a foreign MASTER must be told with it. */
    if (c->foreign_asked)
        return;
    GPtrArray *list = owned_in_order(c);
    for (guint i = 0; i < list->len; i++) {
        struct owned_domain *d = g_ptr_array_index(list, i);
        if (d->step != OWNED_EXPLORING || !explore_domain_done(c, d))
            continue;
        d->step = OWNED_EXPLORED;
        d->step_since_ms = c->now_ms;
        core_log(c, HL_INFO, "domain_explored", "domain=%u epoch=%" PRIu64, d->id, d->epoch);
        domain_set_phase(c, d, HEDDLE__DOMAIN_PHASE__PHASE_EXPLORED);
        flush(c, d);
    }
    g_ptr_array_unref(list);
}

/* All domains have told the LIDs that they found, or were given the time for it. */
static bool lids_reported(struct shard_core *c, const struct owned_domain *d)
{
    uint32_t limit = c->cluster && c->cluster->lid_report_timeout_ms
                         ? c->cluster->lid_report_timeout_ms
                         : LID_REPORT_DEFAULT_MS;
    const Heddle__Assignment *a = c->assignment;
    for (size_t i = 0; i < a->n_domains; i++) {
        uint32_t id = a->domains[i]->id;
        const struct view_domain *v = view_domain(c->view, id);
        if (id == 0 || a->domains[i]->n_switches == 0)
            continue;
        if (v && v->phase >= HEDDLE__DOMAIN_PHASE__PHASE_EXPLORED &&
            g_hash_table_contains(c->seen_live, GUINT_TO_POINTER(id)))
            continue;
        if (c->now_ms < d->step_since_ms + limit)
            return false;
        core_log(c, HL_WARNING, "lids_not_reported",
                 "domain=%u waited_ms=%u hint=\"its LIDs are not known here; going on\"", id,
                 limit);
    }
    return true;
}

static bool bringing_up(const struct shard_core *c)
{
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->owned);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        if (((struct owned_domain *)value)->step != OWNED_RUNNING)
            return true;
    }
    return false;
}

static void step(struct shard_core *c, struct owned_domain *d)
{
    if (d->step == OWNED_RUNNING || d->step < OWNED_EXPLORED || c->now_ms < d->next_check_ms)
        return;
    d->next_check_ms = c->now_ms + STEP_CHECK_MS;
    if (d->step == OWNED_EXPLORED && core_may_set(c) && !c->foreign_asked && lids_reported(c, d)) {
        d->step = OWNED_SETUP;
        d->step_since_ms = c->now_ms;
        lids_assign_domain(c, d);
        setup_begin_domain(c, d);
        tables_wake(c);
    }
    if (d->step == OWNED_SETUP && tables_domain_done(c, d->id) && setup_domain_settled(c, d->id)) {
        d->step = OWNED_RUNNING;
        d->step_since_ms = c->now_ms;
        domain_set_phase(c, d, HEDDLE__DOMAIN_PHASE__PHASE_RUNNING);
        if (!bringing_up(c))
            paths_forget_seen(c);
        core_log(c, HL_INFO, "domain_running", "domain=%u epoch=%" PRIu64, d->id, d->epoch);
    }
}

/* What the last owner had seen and not published yet is found only by looking (it may have cleared
 * PortStateChange already): after a takeover every switch is read again, in the background. */
static void audit_if_due(struct shard_core *c, struct owned_domain *d)
{
    if (!d->audit_ms || c->now_ms < d->audit_ms)
        return;
    d->audit_ms = 0;
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    for (guint i = 0; i < switches->len; i++)
        explore_reread(c, ((struct view_switch *)g_ptr_array_index(switches, i))->guid);
    g_ptr_array_unref(switches);
}

void domain_pump(struct shard_core *c)
{
    if (!c->assignment)
        return;
    GPtrArray *list = owned_in_order(c);
    for (guint i = 0; i < list->len; i++) {
        struct owned_domain *d = g_ptr_array_index(list, i);
        step(c, d);
        audit_if_due(c, d);
        if (is_dirty(d) && c->now_ms >= d->last_flush_ms + FLUSH_MS)
            flush(c, d);
    }
    g_ptr_array_unref(list);
}

uint64_t domain_deadline(const struct shard_core *c)
{
    uint64_t due = UINT64_MAX;
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->owned);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        const struct owned_domain *d = value;
        if (is_dirty(d) && d->step != OWNED_SUFFIX)
            due = MIN(due, d->last_flush_ms + FLUSH_MS);
        if (d->audit_ms)
            due = MIN(due, MAX(d->audit_ms, c->now_ms));
        if (d->step == OWNED_EXPLORED || d->step == OWNED_SETUP)
            due = MIN(due, MAX(d->next_check_ms, c->now_ms + 1));
    }
    return due;
}
