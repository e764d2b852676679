/* SPDX-License-Identifier: BSD-2-Clause */
/* The coordinator's core: the step, the way of a decision through the ledger, dispatch. */
#include "coordinator/core.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/internal.h"

void coord_action_clear(struct coord_action *a)
{
    if (a->kind == COORD_ACT_SEND)
        envelope_clear(&a->message);
    if (a->assignment)
        heddle__assignment__free_unpacked(a->assignment, NULL);
    if (a->lids)
        heddle__lid_backup__free_unpacked(a->lids, NULL);
    memset(a, 0, sizeof *a);
}

void coord_log(struct coord_core *c, int level, const char *event, const char *pairs, ...)
{
    struct coord_action a = {.kind = COORD_ACT_LOG, .level = level};
    g_strlcpy(a.event, event, sizeof a.event);
    va_list ap;
    va_start(ap, pairs);
    vsnprintf(a.text, sizeof a.text, pairs, ap);
    va_end(ap);
    g_array_append_val(c->actions, a);
}

void coord_send(struct coord_core *c, const char *peer, uint32_t type, ProtobufCMessage *body,
                uint32_t domain, uint64_t epoch, uint64_t seq)
{
    struct coord_action a = {.kind = COORD_ACT_SEND};
    g_strlcpy(a.peer, peer, sizeof a.peer);
    g_strlcpy(a.message.cluster, c->config.cluster, sizeof a.message.cluster);
    g_strlcpy(a.message.sender, c->config.name, sizeof a.message.sender);
    a.message.incarnation = c->config.incarnation;
    a.message.boot_id = c->config.boot_id;
    a.message.type = type;
    a.message.domain = domain;
    a.message.epoch = epoch;
    a.message.seq = seq;
    a.message.body = body;
    g_array_append_val(c->actions, a);
}

void coord_dirty(struct coord_core *c)
{
    c->dirty = true;
}

uint32_t coord_lmc(const struct coord_core *c)
{
    const Heddle__ClusterConfig *k = c->config.cluster_config;
    return k->subnet ? MIN(k->subnet->lmc, 7u) : 0;
}

struct coord_peer *coord_peer_find(const struct coord_core *c, const char *name)
{
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

const struct coord_enrolled *coord_enrolled_find(const struct coord_core *c, const char *name)
{
    for (guint i = 0; i < c->config.enrolled->len; i++) {
        const struct coord_enrolled *e =
            &g_array_index(c->config.enrolled, struct coord_enrolled, i);
        if (strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

/* -- creation ------------------------------------------------------------------------------ */

static void peer_free(void *data)
{
    struct coord_peer *p = data;
    if (p->last)
        heddle__heartbeat__free_unpacked(p->last, NULL);
    g_array_unref(p->evidence);
    g_free(p);
}

static int compare_peers(const void *a, const void *b)
{
    const struct coord_peer *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void free_switch(void *s)
{
    heddle__topology_switch__free_unpacked(s, NULL);
}

static void free_takeover(void *t)
{
    heddle__takeover_record__free_unpacked(t, NULL);
}

static GArray *copy_array(const GArray *a, guint size)
{
    GArray *copy = g_array_new(FALSE, TRUE, size);
    if (a && a->len)
        g_array_append_vals(copy, a->data, a->len);
    return copy;
}

static void copy_config(struct coord_config *to, const struct coord_config *from)
{
    *to = *from;
    to->enrolled = copy_array(from->enrolled, sizeof(struct coord_enrolled));
    to->rules = copy_array(from->rules, sizeof(struct coord_domain_rule));
    for (guint i = 0; i < to->rules->len; i++) {
        struct coord_domain_rule *r = &g_array_index(to->rules, struct coord_domain_rule, i);
        r->switches = copy_array(r->switches, sizeof(uint64_t));
        r->ranges = copy_array(r->ranges, sizeof(uint64_t));
    }
    to->cluster_config = record_copy(from->cluster_config);
    explicit_bzero(to->sign_secret_key, sizeof to->sign_secret_key);
    explicit_bzero(to->cluster_secret, sizeof to->cluster_secret);
}

struct coord_core *coord_core_create(const struct coord_config *config)
{
    struct coord_core *c = g_new0(struct coord_core, 1);
    copy_config(&c->config, config);
    c->secrets = sodium_malloc(sizeof *c->secrets);
    g_assert(c->secrets != NULL); /* out of memory, as with all others */
    memcpy(c->secrets->sign_secret_key, config->sign_secret_key,
           sizeof c->secrets->sign_secret_key);
    memcpy(c->secrets->cluster_secret, config->cluster_secret, sizeof c->secrets->cluster_secret);
    c->peers = g_ptr_array_new_with_free_func(peer_free);
    for (guint i = 0; i < c->config.enrolled->len; i++) {
        const struct coord_enrolled *e =
            &g_array_index(c->config.enrolled, struct coord_enrolled, i);
        if (e->is_operator)
            continue;
        struct coord_peer *p = g_new0(struct coord_peer, 1);
        g_strlcpy(p->name, e->name, sizeof p->name);
        p->evidence = g_array_new(FALSE, TRUE, sizeof(struct coord_evidence));
        g_ptr_array_add(c->peers, p);
    }
    g_ptr_array_sort(c->peers, compare_peers);
    c->lids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    c->graph = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_switch);
    c->switch_domain = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    c->domain_runs = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    c->takeovers = g_ptr_array_new_with_free_func(free_takeover);
    c->takeovers_open = g_ptr_array_new_with_free_func(free_takeover);
    return c;
}

void coord_core_destroy(struct coord_core *c)
{
    if (c == NULL)
        return;
    heddle__assignment__free_unpacked(c->durable, NULL);
    heddle__assignment__free_unpacked(c->work, NULL);
    heddle__assignment__free_unpacked(c->writing, NULL);
    g_ptr_array_unref(c->takeovers_open);
    g_ptr_array_unref(c->takeovers);
    g_hash_table_unref(c->domain_runs);
    g_hash_table_unref(c->switch_domain);
    g_hash_table_unref(c->graph);
    g_hash_table_unref(c->lids);
    g_ptr_array_unref(c->peers);
    for (guint i = 0; i < c->config.rules->len; i++) {
        struct coord_domain_rule *r = &g_array_index(c->config.rules, struct coord_domain_rule, i);
        g_array_unref(r->switches);
        g_array_unref(r->ranges);
    }
    g_array_unref(c->config.rules);
    g_array_unref(c->config.enrolled);
    heddle__cluster_config__free_unpacked(c->config.cluster_config, NULL);
    sodium_free(c->secrets);
    g_free(c);
}

/* -- the ledger ---------------------------------------------------------------------------- */

static Heddle__Assignment *new_assignment(void)
{
    Heddle__Assignment *a = g_new(Heddle__Assignment, 1);
    heddle__assignment__init(a);
    return a;
}

static void start_new(struct coord_core *c)
{
    Heddle__Assignment *a = new_assignment();
    a->incarnation = c->config.incarnation;
    a->auto_partition = c->config.auto_domains;
    c->work = a;
    c->durable = new_assignment();
    coord_pools_fit(c, assignment_add_domain(a, 0, "fabric"), 64u << coord_lmc(c), false);
    coord_dirty(c);
}

/* A restored or copied ledger has a new incarnation: nothing that was granted before counts. */
static void start_renewed(struct coord_core *c)
{
    if (c->work->incarnation == c->config.incarnation)
        return;
    c->work->incarnation = c->config.incarnation;
    for (size_t i = 0; i < c->work->n_domains; i++)
        c->work->domains[i]->epoch++;
    coord_log(c, HL_WARNING, "ledger_renewed", "incarnation=%016" PRIx64, c->config.incarnation);
    coord_dirty(c);
}

static void on_start(struct coord_core *c, const struct coord_event *e)
{
    bool first = !c->started;
    heddle__assignment__free_unpacked(c->durable, NULL);
    heddle__assignment__free_unpacked(c->work, NULL);
    heddle__assignment__free_unpacked(c->writing, NULL);
    c->durable = c->work = c->writing = NULL;
    c->started = true;
    c->stale = c->dirty = false;
    c->lids_dirty = c->lids_dirty || c->lids_writing;
    c->lids_writing = false;
    c->revision = e->revision;
    if (e->lids)
        coord_pools_found(c, e->lids->lids, e->lids->n_lids);
    if (first)
        c->lids_dirty = false;
    g_ptr_array_set_size(c->takeovers_open, 0);
    if (e->assignment == NULL) {
        start_new(c);
    } else {
        c->work = record_copy(e->assignment);
        c->work->revision = c->revision;
        c->durable = record_copy(c->work);
        start_renewed(c);
    }
    coord_topology_index(c);
    coord_members_sync(c);
    coord_topology_rules(c);
    /* Owners had this long to find the coordinator again before they have frozen anyway. */
    for (guint i = 0; first && i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        p->last_seen_ms = c->now_ms + c->config.cluster_config->isolation_grace_ms;
    }
}

static void write_ledger(struct coord_core *c)
{
    bool lids_due = c->lids_dirty && (c->dirty || c->now_ms >= c->lids_due_ms);
    if (!c->started || c->stale || c->writing || c->now_ms < c->retry_ms || !(c->dirty || lids_due))
        return;
    c->writing = record_copy(c->work);
    struct coord_action a = {
        .kind = COORD_ACT_SWAP, .ticket = ++c->ticket, .expected = c->revision};
    a.assignment = record_copy(c->work);
    if (lids_due) {
        a.lids = coord_pools_backup(c);
        c->lids_dirty = false;
        c->lids_due_ms = c->now_ms + COORD_LID_FLUSH_MS;
    }
    c->lids_writing = lids_due;
    c->hints_writing = c->hints_due;
    c->hints_due = false;
    c->takeovers_writing = c->takeovers_open->len;
    c->dirty = false;
    g_array_append_val(c->actions, a);
}

static void swap_failed(struct coord_core *c, int error)
{
    heddle__assignment__free_unpacked(c->writing, NULL);
    c->writing = NULL;
    c->dirty = true; /* `work` holds every decision still */
    c->lids_dirty = c->lids_dirty || c->lids_writing;
    c->hints_due = c->hints_due || c->hints_writing;
    c->lids_writing = c->hints_writing = false;
    c->takeovers_writing = 0;
    c->retry_ms = c->now_ms + COORD_RETRY_MS;
    if (error == EAGAIN)
        c->stale = true; /* until the shell has read the ledger again: START */
    coord_log(c, HL_ERROR, "ledger_write_failed",
              "error=%d msg=\"%s; no decision takes effect until a write succeeds\"", error,
              error == EAGAIN ? "another writer changed the ledger" : g_strerror(error));
}

static void publish_takeovers(struct coord_core *c)
{
    for (uint32_t i = 0; i < c->takeovers_writing; i++) {
        Heddle__TakeoverRecord *t = record_copy(g_ptr_array_index(c->takeovers_open, i));
        coord_log(c, HL_NOTICE, "takeover",
                  "domain=%u epoch=%" PRIu64 " from=%s to=%s detect_ms=%u reason=%s", t->domain,
                  t->epoch, *t->from ? t->from : "-", t->to, t->detect_ms, t->reason);
        g_ptr_array_add(c->takeovers, t);
        if (c->takeovers->len > COORD_MAX_TAKEOVERS)
            g_ptr_array_remove_index(c->takeovers, 0);
    }
    if (c->takeovers_writing)
        g_ptr_array_remove_range(c->takeovers_open, 0, c->takeovers_writing);
    c->takeovers_writing = 0;
}

static void on_swapped(struct coord_core *c, const struct coord_event *e)
{
    if (c->writing == NULL || e->ticket != c->ticket)
        return;
    if (e->error) {
        swap_failed(c, e->error);
        return;
    }
    Heddle__Assignment *previous = c->durable;
    c->durable = c->writing;
    c->writing = NULL;
    c->lids_writing = false;
    c->revision = c->durable->revision = c->work->revision = e->revision;
    if (c->hints_writing)
        c->hints_revision = c->revision;
    publish_takeovers(c);
    coord_members_publish(c, previous, c->hints_writing);
    c->hints_writing = false;
    heddle__assignment__free_unpacked(previous, NULL);
}

/* -- dispatch ------------------------------------------------------------------------------ */

/* One process in front of another's name is a mistake of somebody's configuration: said, not often.
 */
static void note_mismatch(struct coord_core *c, struct coord_peer *p, const struct coord_event *e)
{
    if (p) {
        p->foreign_ms = c->now_ms;
        g_strlcpy(p->foreign_name, e->message->sender, sizeof p->foreign_name);
        if (p->foreign_warned_ms && c->now_ms < p->foreign_warned_ms + COORD_CLASH_MS)
            return;
        p->foreign_warned_ms = c->now_ms;
    }
    coord_log(c, HL_WARNING, "sender_mismatch",
              "peer=%s sender=%s msg=\"a process with the key of this peer calls itself otherwise; "
              "check key_file and name there\"",
              e->peer, e->message->sender);
}

static bool message_acceptable(struct coord_core *c, const struct coord_event *e)
{
    const struct envelope *m = e->message;
    if (strcmp(m->sender, e->peer) != 0) {
        note_mismatch(c, coord_peer_find(c, e->peer), e);
        return false;
    }
    if (strcmp(m->cluster, c->config.cluster) == 0)
        return true;
    g_autofree char *reason =
        g_strdup_printf("this is cluster %s; check 'cluster' in the configuration of %s",
                        c->config.cluster, e->peer);
    Heddle__Refused *body = g_new(Heddle__Refused, 1);
    heddle__refused__init(body);
    record_set_string(&body->reason, reason);
    coord_send(c, e->peer, HEDDLE__MESSAGE_TYPE__MSG_REFUSED, &body->base, 0, 0, m->seq);
    coord_log(c, HL_WARNING, "refused", "peer=%s msg=\"it belongs to another cluster\"", e->peer);
    return false;
}

static void on_message(struct coord_core *c, const struct coord_event *e)
{
    const struct envelope *m = e->message;
    if (coord_enrolled_find(c, e->peer) == NULL || !message_acceptable(c, e))
        return;
    struct coord_peer *p = coord_peer_find(c, e->peer); /* NULL for an operator */
    if (m->type == HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK) {
        coord_send(c, e->peer, HEDDLE__MESSAGE_TYPE__MSG_STATUS, &coord_status(c)->base, 0, 0,
                   m->seq);
        return;
    }
    if (p == NULL || (m->body == NULL && envelope_body_descriptor(m->type)))
        return;
    switch (m->type) {
    case HEDDLE__MESSAGE_TYPE__MSG_HELLO:
        coord_members_hello(c, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT:
        coord_detector_heartbeat(c, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_TOPOLOGY:
        coord_topology_message(c, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT:
        coord_detector_result(c, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_LID_BACKUP: {
        const Heddle__LidBackup *b = (const Heddle__LidBackup *)m->body;
        coord_pools_found(c, b->lids, b->n_lids);
        break;
    }
    default:
        break; /* a newer shard may know more types */
    }
}

static void run_timers(struct coord_core *c)
{
    c->last_timers_ms = c->now_ms;
    coord_detector_tick(c);
    coord_topology_tick(c);
    coord_assignment_settle(c, "no_owner");
    coord_grants_tick(c);
}

void coord_core_step(struct coord_core *c, const struct coord_event *e, uint64_t now_ms,
                     GArray *actions)
{
    c->actions = actions;
    c->now_ms = now_ms;
    if (e->realtime_ms)
        c->realtime_ms = e->realtime_ms;
    if (e->kind == COORD_EV_START)
        on_start(c, e);
    if (c->started) {
        coord_detector_tilt(c);
        if (e->kind == COORD_EV_SWAPPED)
            on_swapped(c, e);
        else if (e->kind == COORD_EV_MESSAGE)
            on_message(c, e);
        else if (e->kind == COORD_EV_LINK_DOWN && coord_peer_find(c, e->peer))
            coord_detector_link_down(c, coord_peer_find(c, e->peer));
        /* Heartbeats are most of the traffic, and each 40 ms there is a TICK. */
        if (e->kind != COORD_EV_MESSAGE || c->dirty ||
            e->message->type != HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT)
            run_timers(c);
        write_ledger(c);
    }
    c->last_step_ms = now_ms;
    c->actions = NULL;
}

uint64_t coord_core_deadline(const struct coord_core *c)
{
    uint64_t at = UINT64_MAX;
    if (!c->started)
        return at;
    at = MIN(at, coord_detector_deadline(c));
    at = MIN(at, coord_topology_deadline(c));
    at = MIN(at, coord_grants_deadline(c));
    if (!c->writing && !c->stale) {
        if (c->dirty)
            at = MIN(at, c->retry_ms);
        if (c->lids_dirty)
            at = MIN(at, MAX(c->retry_ms, c->lids_due_ms));
    }
    return at;
}

const Heddle__Assignment *coord_core_assignment(const struct coord_core *c)
{
    return c->durable;
}
