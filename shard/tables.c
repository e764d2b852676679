/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes and forwarding tables: view -> plan -> rows -> programmed switches, domain by domain. */
#include "shard/tables.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/keys.h"
#include "shard/lids.h"
#include "shard/paths.h"
#include "shard/setup.h"
#include "shard/tables_private.h"

#define COALESCE_MS 5u
#define PUMP_INTERVAL_MS 2u /* answers come by the thousand: look at the domains once for many */
#define INTENT_RETRY_MS 5u
#define WAIT_REPORT_MS 5000u /* a domain that says nothing holds routing up no longer */

struct tables {
    GHashTable *switches; /* guid -> struct switch_table */
    struct rt_plan *plan;
    uint8_t digest[32]; /* of the plan's graph */
    bool current;       /* the plan is of the view as it is */
    bool dirty;
    bool rows_wanted; /* switches of ours without a row of this digest */
    uint64_t dirty_since_ms;
    uint64_t generations; /* of switch tables made so far */
    uint64_t ticket;      /* of the job under way */
    bool running;
    bool blocked; /* routing must wait for others: their deltas wake it */
    bool moved; /* switches made progress: pump the domains */
    uint64_t last_pump_ms;
    uint64_t retry_ms;
    uint64_t waiting_since_ms; /* for domains that have no LIDs yet */
};

struct tables *tables_create(void)
{
    struct tables *t = g_new0(struct tables, 1);
    t->switches = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, switch_table_free);
    t->retry_ms = UINT64_MAX;
    return t;
}

void tables_destroy(struct tables *t)
{
    if (!t)
        return;
    g_hash_table_unref(t->switches);
    rt_plan_destroy(t->plan);
    g_free(t);
}

struct switch_table *tables_switch(const struct shard_core *c, uint64_t guid)
{
    return g_hash_table_lookup(c->tables->switches, &guid);
}

void tables_switch_moved(struct shard_core *c, const struct switch_table *t)
{
    c->tables->moved = true;
}

void tables_retry_at(struct shard_core *c, uint64_t at_ms)
{
    c->tables->retry_ms = MIN(c->tables->retry_ms, at_ms);
}

void tables_wake(struct shard_core *c)
{
    struct tables *t = c->tables;
    t->current = false;
    if (!t->dirty)
        t->dirty_since_ms = c->now_ms;
    t->dirty = true;
}

static struct switch_table *table_of(struct shard_core *c, uint64_t guid, uint32_t domain,
                                     bool adopt)
{
    struct switch_table *t = tables_switch(c, guid);
    if (!t) {
        t = switch_table_create(guid, ++c->tables->generations, domain, adopt);
        g_hash_table_insert(c->tables->switches, &t->guid, t);
    }
    return t;
}

static void set_info(struct switch_table *t, const uint8_t *switchinfo)
{
    memcpy(t->switchinfo, switchinfo, sizeof t->switchinfo);
    t->top_held = (uint16_t)mad_get_field(t->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
    t->have_info = true;
}

void tables_begin_domain(struct shard_core *c, const struct owned_domain *d, bool takeover)
{
    tables_forget_domain(c, d->id);
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    for (guint i = 0; takeover && i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        struct switch_table *t = table_of(c, s->guid, d->id, true);
        set_info(t, s->switchinfo);
        t->ready = true;
    }
    g_ptr_array_unref(switches);
    c->tables->rows_wanted = true;
}

static gboolean is_of_domain(gpointer key, gpointer value, gpointer domain)
{
    return ((struct switch_table *)value)->domain == GPOINTER_TO_UINT(domain);
}

void tables_forget_domain(struct shard_core *c, uint32_t domain)
{
    g_hash_table_foreach_remove(c->tables->switches, is_of_domain, GUINT_TO_POINTER(domain));
}

void tables_switch_seen(struct shard_core *c, uint64_t guid, const uint8_t *switchinfo, bool fresh)
{
    struct owned_domain *d = core_owned_switch(c, guid);
    if (!d)
        return;
    unsigned top = mad_get_field((void *)switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
    struct switch_table *t = tables_switch(c, guid);
    bool is_new = !t;
    t = table_of(c, guid, d->id, top > 0);
    if (is_new)
        c->tables->rows_wanted = true;
    /* Another top than the one that we set: it restarted, or somebody else wrote it. */
    if (!is_new && (fresh || (t->ready && top != t->top_held && !t->top_in_flight))) {
        switch_table_forget(t, top > 0);
        t->ready = t->ready && top > 0;
    }
    set_info(t, switchinfo);
    t->clean = false;
    t->failures = 0;
    t->next_ms = 0;
    c->tables->moved = true;
}

void tables_audit_switch(struct shard_core *c, uint64_t guid)
{
    struct switch_table *t = tables_switch(c, guid);
    if (!t || t->in_flight)
        return;
    switch_table_forget(t, true);
    c->tables->moved = true;
}

void tables_state_changed(struct shard_core *c)
{
    c->tables->moved = true;
}

bool tables_switch_busy(const struct shard_core *c, uint64_t guid)
{
    const struct switch_table *t = tables_switch(c, guid);
    return t && t->top_in_flight;
}

bool tables_switch_ready(const struct shard_core *c, uint64_t guid)
{
    const struct switch_table *t = tables_switch(c, guid);
    return t && t->ready;
}

const struct rt_plan *tables_plan(const struct shard_core *c)
{
    return c->tables->plan;
}

const uint8_t *tables_digest(const struct shard_core *c)
{
    return c->tables->current ? c->tables->digest : NULL;
}

/* -- routing jobs -- */

/* Routing waits until every domain has its LIDs in the view; one that stays silent is left out. */
static bool may_route(struct shard_core *c)
{
    struct tables *t = c->tables;
    const Heddle__Assignment *a = c->assignment;
    if (!a || a->auto_partition || a->n_domains < 2)
        return false;
    for (size_t i = 0; i < a->n_domains; i++) {
        const struct view_domain *v = view_domain(c->view, a->domains[i]->id);
        if (a->domains[i]->id == 0 || a->domains[i]->n_switches == 0 ||
            (v && v->phase >= HEDDLE__DOMAIN_PHASE__PHASE_LIDS))
            continue;
        if (!t->waiting_since_ms)
            t->waiting_since_ms = c->now_ms;
        if (c->now_ms >= t->waiting_since_ms + WAIT_REPORT_MS)
            continue;
        tables_retry_at(c, t->waiting_since_ms + WAIT_REPORT_MS);
        return false;
    }
    t->waiting_since_ms = 0;
    return true;
}

/* Two ports have one LID in the view: the owner of the one with the higher port GUID gives it
 * another (both were adopted at the same moment). */
static void resolve_conflict(struct shard_core *c, uint16_t lid)
{
    const GPtrArray *ends = view_end_ports(c->view);
    struct view_end_port *loser = NULL;
    for (guint i = 0; i < ends->len; i++) {
        struct view_end_port *e = g_ptr_array_index(ends, i);
        if (e->lid && lid >= e->lid && lid < e->lid + (1u << e->lmc) &&
            (!loser || e->port_guid > loser->port_guid))
            loser = e;
    }
    struct owned_domain *d = loser ? core_owned_switch(c, loser->switch_guid) : NULL;
    core_log(c, HL_WARNING, "lid_conflict",
             "lid=%u port_guid=0x%016" PRIx64 " hint=\"the higher port GUID gets another LID\"",
             lid, loser ? loser->port_guid : 0);
    if (!d || !core_may_set(c))
        return;
    struct lid_book *book = lid_book_create(c);
    Heddle__EndPortRecord *rec = view_pack_end_port(loser);
    Heddle__Delta *delta = delta_new();
    rec->lid = lid_book_assign(book, c, d, loser->port_guid, 0, 0, loser->lmc);
    view_delta_add_end_port(delta, rec);
    lid_book_destroy(book);
    setup_unconfirm(c, loser->node_guid, loser->num);
    setup_wake_switch(c, loser->switch_guid);
    domain_publish(c, d, delta);
}

static void start_job(struct shard_core *c)
{
    struct tables *t = c->tables;
    struct rt_graph *graph = NULL;
    uint16_t duplicate = 0;
    t->dirty = false;
    if (view_graph(c->view, &graph, &duplicate) != 0) {
        resolve_conflict(c, duplicate);
        return;
    }
    uint8_t digest[32];
    rt_graph_digest(graph, digest);
    if (t->plan && !t->rows_wanted && memcmp(digest, t->digest, sizeof digest) == 0) {
        rt_graph_unref(graph);
        t->current = true;
        t->moved = true;
        return;
    }
    struct route_job *j = g_new0(struct route_job, 1);
    const Heddle__SubnetOptions *o = core_options(c);
    j->ticket = ++t->ticket;
    j->graph = graph;
    memcpy(j->digest, digest, sizeof digest);
    g_strlcpy(j->engine, o->routing_engine && *o->routing_engine ? o->routing_engine : "ftree",
              sizeof j->engine);
    j->root_guids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    if (o->n_root_guids)
        g_array_append_vals(j->root_guids, o->root_guids, (guint)o->n_root_guids);
    j->switches = guid_keys_sorted(t->switches);
    t->running = true;
    t->rows_wanted = false;
    struct shard_action a = {.kind = SHARD_ACT_ROUTE, .job = j};
    g_array_append_val(c->actions, a);
}

/* The lead publishes the numbers that the engine gave to destinations that had none; the others
 * wait for them. True when the result is of no use until then. */
static bool numbers_missing(struct shard_core *c, const struct rt_plan *plan)
{
    const uint32_t *numbers = rt_plan_numbers(plan);
    const struct rt_graph *g = rt_plan_graph(plan);
    Heddle__Delta *delta = NULL;
    for (uint32_t s = 0; numbers && s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        bool lacks = false;
        for (uint32_t i = sw->first_dest; i < sw->first_dest + sw->dest_count; i++)
            lacks |= numbers[i] != RT_NONE && g->dests[i].number == RT_NONE;
        if (!lacks)
            continue;
        if (!delta)
            delta = delta_new();
        Heddle__LeafNumbers *l = g_new0(Heddle__LeafNumbers, 1);
        heddle__leaf_numbers__init(l);
        l->leaf_guid = sw->guid;
        l->ports = g_new0(uint32_t, sw->dest_count);
        l->numbers = g_new0(uint32_t, sw->dest_count);
        for (uint32_t i = sw->first_dest; i < sw->first_dest + sw->dest_count; i++) {
            if (numbers[i] == RT_NONE)
                continue;
            l->ports[l->n_ports++] = g->dests[i].port;
            l->numbers[l->n_numbers++] = numbers[i];
        }
        delta->numbers = g_renew(Heddle__LeafNumbers *, delta->numbers, delta->n_numbers + 1);
        delta->numbers[delta->n_numbers++] = l;
    }
    if (!delta)
        return false;
    struct owned_domain *fabric_wide = core_owned(c, 0);
    if (fabric_wide && fabric_wide->step == OWNED_RUNNING)
        domain_publish(c, fabric_wide, delta);
    else
        heddle__delta__free_unpacked(delta, NULL);
    tables_wake(c);
    return true;
}

static void take_rows(struct shard_core *c, struct route_result *r)
{
    for (guint i = 0; i < r->switches->len; i++) {
        uint64_t guid = g_array_index(r->switches, uint64_t, i);
        struct switch_table *t = tables_switch(c, guid);
        if (!t || !g_ptr_array_index(r->rows, i))
            continue;
        g_free(t->row);
        t->clean = false;
        t->row = g_ptr_array_index(r->rows, i);
        g_ptr_array_index(r->rows, i) = NULL;
        t->row_size = r->row_size;
        t->row_top = rt_plan_graph(r->plan)->max_lid;
        memcpy(t->row_digest, r->digest, sizeof t->row_digest);
    }
}

void tables_routed(struct shard_core *c, struct route_result *r)
{
    struct tables *t = c->tables;
    if (r->ticket != t->ticket) {
        route_result_free(r);
        return;
    }
    t->running = false;
    if (!r->plan) {
        core_log(c, HL_ERROR, "routing_failed",
                 "reason=\"%s\" hint=\"tables stay as they are until the fabric changes\"",
                 r->error);
        t->retry_ms = MIN(t->retry_ms, c->now_ms + 1000);
        route_result_free(r);
        return;
    }
    if (numbers_missing(c, r->plan)) {
        route_result_free(r);
        return;
    }
    take_rows(c, r);
    rt_plan_destroy(t->plan);
    t->plan = r->plan;
    r->plan = NULL;
    memcpy(t->digest, r->digest, sizeof t->digest);
    t->current = !t->dirty;
    t->moved = true;
    route_result_free(r);
}

/* -- programming -- */

static bool digest_is(const uint8_t *a, bool have, const uint8_t *b)
{
    return have && memcmp(a, b, 32) == 0;
}

/* True when the intent for the present digest may be followed. */
static bool intent_open(struct shard_core *c, struct owned_domain *d, struct view_domain *v)
{
    if (!digest_is(v->intent_digest, v->has_intent, c->tables->digest)) {
        v->has_intent = true;
        memcpy(v->intent_digest, c->tables->digest, 32);
        Heddle__Delta *delta = delta_new();
        delta->state = view_pack_state(v);
        d->intent_seq = domain_publish(c, d, delta);
    }
    if (replication_acked(c->repl, d->id, d->intent_seq))
        return true;
    tables_retry_at(c, c->now_ms + INTENT_RETRY_MS);
    return false;
}

static void domain_programmed(struct shard_core *c, struct owned_domain *d, struct view_domain *v)
{
    if (digest_is(v->programmed_digest, v->has_programmed, c->tables->digest) && !v->has_intent)
        return;
    v->has_programmed = true;
    v->has_intent = false;
    memcpy(v->programmed_digest, c->tables->digest, 32);
    domain_dirty_state(c, d);
}

static void domain_advance(struct shard_core *c, struct owned_domain *d)
{
    struct view_domain *v = view_domain(c->view, d->id);
    if (d->step < OWNED_SETUP || !v)
        return;
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    bool pending = false, differs = false;
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        struct switch_table *t = tables_switch(c, s->guid);
        if (!s->reachable || !t)
            continue;
        if (!t->row || memcmp(t->row_digest, c->tables->digest, 32)) {
            pending = true; /* its row is being computed */
            c->tables->rows_wanted = true;
            continue;
        }
        if (switch_table_must_read(t))
            pending |= switch_table_advance(c, t, false);
        else if (switch_table_differs(t))
            differs = true;
    }
    bool may_write = differs && core_may_set(c) && intent_open(c, d, v);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        struct switch_table *t = tables_switch(c, s->guid);
        if (!s->reachable || !t || !t->row || memcmp(t->row_digest, c->tables->digest, 32) ||
            switch_table_must_read(t))
            continue;
        if (switch_table_differs(t)) {
            pending = true;
            if (may_write)
                switch_table_advance(c, t, true);
            else
                tables_retry_at(c, c->now_ms + INTENT_RETRY_MS);
        } else if (!t->ready) {
            t->ready = true;
            setup_wake_switch(c, s->guid);
        }
        pending |= t->in_flight > 0;
    }
    g_ptr_array_unref(switches);
    if (!pending && !c->tables->rows_wanted)
        domain_programmed(c, d, v);
}

bool tables_domain_done(const struct shard_core *c, uint32_t domain)
{
    const struct view_domain *v = view_domain(c->view, domain);
    return v && c->tables->current && !v->has_intent &&
           digest_is(v->programmed_digest, v->has_programmed, c->tables->digest);
}

void tables_pump(struct shard_core *c)
{
    struct tables *t = c->tables;
    if (c->now_ms >= t->retry_ms) {
        t->retry_ms = UINT64_MAX;
        t->moved = true;
    }
    if (t->moved && t->current && c->now_ms >= t->last_pump_ms + PUMP_INTERVAL_MS) {
        t->moved = false;
        t->last_pump_ms = c->now_ms;
        for (size_t i = 0; i < c->assignment->n_domains; i++) {
            struct owned_domain *d = core_owned(c, c->assignment->domains[i]->id);
            if (d)
                domain_advance(c, d);
        }
    }
    bool due = t->dirty ? c->now_ms >= t->dirty_since_ms + COALESCE_MS : t->rows_wanted;
    t->blocked = due && !t->running && !may_route(c);
    if (due && !t->running && !t->blocked)
        start_job(c);
}

uint64_t tables_deadline(const struct shard_core *c)
{
    const struct tables *t = c->tables;
    if (t->moved && t->current)
        return MAX(c->now_ms, t->last_pump_ms + PUMP_INTERVAL_MS);
    if (t->dirty && !t->running && !t->blocked)
        return MIN(t->retry_ms, MAX(c->now_ms, t->dirty_since_ms + COALESCE_MS));
    return t->retry_ms;
}
