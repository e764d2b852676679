/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is alive: heartbeats, suspicion, probes by peers, verdicts, isolation, TILT.
 *
 * A suspect is dead when a peer has proof, or when two peers (all, if fewer) each found it silent
 * or standing still. It is isolated when it has said nothing for isolation_grace_ms although no
 * peer could say that it is dead: by then it has stopped all Sets by itself. */
#include <string.h>

#include "coordinator/internal.h"

enum judgement { JUDGED_NOTHING, JUDGED_ALIVE, JUDGED_DEAD };

uint64_t coord_detector_period(const struct coord_core *c)
{
    const Heddle__ClusterConfig *k = c->config.cluster_config;
    return (uint64_t)k->heartbeat_ms * k->heartbeat_misses;
}

uint64_t coord_detector_age(const struct coord_core *c, const struct coord_peer *p)
{
    return c->now_ms > p->last_seen_ms ? c->now_ms - p->last_seen_ms : 0;
}

static bool is_live(const struct coord_core *c, const struct coord_peer *p)
{
    const Heddle__Member *m = assignment_member(c->work, p->name);
    return m && m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE;
}

bool coord_peer_usable(const struct coord_core *c, const struct coord_peer *p)
{
    return p->contacted && p->suspect_since_ms == 0 && is_live(c, p);
}

void coord_detector_reset(struct coord_peer *p)
{
    p->suspect_since_ms = 0;
    memset(&p->round, 0, sizeof p->round);
    p->rounds = 0;
    g_array_set_size(p->evidence, 0);
}

/* -- heartbeats ---------------------------------------------------------------------------- */

static void take_reports(struct coord_core *c, const struct coord_peer *p,
                         const Heddle__Heartbeat *h)
{
    for (size_t i = 0; i < h->n_domains; i++) {
        const Heddle__DomainReport *r = h->domains[i];
        Heddle__Domain *d = assignment_domain(c->work, r->domain);
        const Heddle__Domain *durable = assignment_domain(c->durable, r->domain);
        if (d == NULL || durable == NULL || strcmp(durable->owner, p->name) != 0 ||
            durable->epoch != r->epoch)
            continue;
        struct coord_domain_run *run = coord_domain_run(c, d->id);
        run->confirmed_epoch = r->epoch;
        if (d->id == 0 || r->switches >= COORD_END_LID || r->end_ports >= COORD_END_LID)
            continue;
        run->reported_nodes = r->switches + r->end_ports;
        uint32_t lids = r->switches + (r->end_ports << coord_lmc(c));
        if (lids > domain_pool_lids(d))
            coord_pools_fit(c, d, lids, true);
    }
}

static void take_leaf(struct coord_core *c, Heddle__Member *m, const Heddle__Heartbeat *h)
{
    if (h->leaf_guid == 0 || (h->leaf_guid == m->leaf_guid && h->leaf_port == m->leaf_port))
        return;
    m->leaf_guid = h->leaf_guid;
    m->leaf_port = h->leaf_port;
    coord_dirty(c);
}

/* False when this heartbeat is a leftover of the time before the death. */
static bool revive(struct coord_core *c, struct coord_peer *p, Heddle__Member *m)
{
    if (m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE)
        return true;
    if (m->state == HEDDLE__MEMBER_STATE__MEMBER_ENROLLED ||
        (m->state == HEDDLE__MEMBER_STATE__MEMBER_DEAD && p->died_ms &&
         c->now_ms < p->died_ms + COORD_REVIVE_MS))
        return false;
    coord_log(c, HL_NOTICE, "shard_returned", "name=%s was=%s", p->name,
              m->state == HEDDLE__MEMBER_STATE__MEMBER_DEAD ? "dead" : "isolated");
    m->state = HEDDLE__MEMBER_STATE__MEMBER_LIVE;
    coord_dirty(c);
    return true;
}

void coord_detector_heartbeat(struct coord_core *c, struct coord_peer *p, const struct envelope *e)
{
    const Heddle__Heartbeat *h = (const Heddle__Heartbeat *)e->body;
    Heddle__Member *m = assignment_member(c->work, p->name);
    if (m->boot_id == 0 || e->boot_id != m->boot_id || !revive(c, p, m))
        return;
    if (p->suspect_since_ms)
        coord_log(c, HL_NOTICE, "shard_recovered", "name=%s silent_ms=%" PRIu64, p->name,
                  coord_detector_age(c, p));
    coord_detector_reset(p);
    p->last_seen_ms = c->now_ms;
    p->contacted = true;
    if (c->first_join_ms == 0)
        c->first_join_ms = c->now_ms; /* a shard that outlived the coordinator's restart */
    if (p->last)
        heddle__heartbeat__free_unpacked(p->last, NULL);
    p->last = record_copy(h);
    take_leaf(c, m, h);
    take_reports(c, p, h);
    /* It names the heartbeat: one read after a stall of the shard says how old it is. */
    coord_send(c, p->name, HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT_ACK, NULL, 0, e->seq, c->revision);
    const Heddle__Member *durable = assignment_member(c->durable, p->name);
    if (h->assignment_revision < c->revision && !p->want_welcome && durable &&
        durable->boot_id == e->boot_id && c->now_ms >= p->next_catch_up_ms)
        coord_members_send_assignment(c, p, h->assignment_revision < c->hints_revision);
}

/* -- suspicion ----------------------------------------------------------------------------- */

static void suspect(struct coord_core *c, struct coord_peer *p, const char *why)
{
    coord_detector_reset(p);
    p->suspect_since_ms = c->now_ms;
    coord_log(c, HL_INFO, "shard_suspect", "name=%s why=%s silent_ms=%" PRIu64, p->name, why,
              coord_detector_age(c, p));
}

void coord_detector_link_down(struct coord_core *c, struct coord_peer *p)
{
    if (is_live(c, p) && p->suspect_since_ms == 0 && p->contacted && c->now_ms >= c->tilt_until_ms)
        suspect(c, p, "connection_broke");
}

static GPtrArray *peers_to_ask(const struct coord_core *c, const struct coord_peer *suspect)
{
    GPtrArray *list = g_ptr_array_new();
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (p != suspect && coord_peer_usable(c, p))
            g_ptr_array_add(list, p);
    }
    return list;
}

static void send_probe(struct coord_core *c, const struct coord_peer *p, const char *to)
{
    const Heddle__Member *m = assignment_member(c->work, p->name);
    Heddle__Probe *body = g_new(Heddle__Probe, 1);
    heddle__probe__init(body);
    body->id = p->round.id;
    record_set_string(&body->suspect, p->name);
    body->boot_id = m->boot_id;
    body->port_guid = m->port_guid;
    body->lid = m->lid;
    body->leaf_guid = m->leaf_guid;
    body->leaf_port = m->leaf_port;
    coord_send(c, to, HEDDLE__MESSAGE_TYPE__MSG_PROBE, &body->base, 0, 0, p->round.id);
}

static bool round_over(const struct coord_core *c, const struct coord_peer *p)
{
    const struct coord_round *r = &p->round;
    bool all = true;
    for (unsigned i = 0; i < r->count; i++)
        all = all && r->answered[i];
    return r->id == 0 || c->now_ms >= r->started_ms + COORD_PROBE_TIMEOUT_MS ||
           (all && c->now_ms >= r->started_ms + COORD_PROBE_PACE_MS);
}

static void next_round(struct coord_core *c, struct coord_peer *p, const GPtrArray *peers)
{
    if (!round_over(c, p))
        return;
    struct coord_round *r = &p->round;
    memset(r, 0, sizeof *r);
    r->id = ++c->next_probe_id;
    r->started_ms = c->now_ms;
    for (guint i = 0; i < MIN(peers->len, 2u); i++) {
        const struct coord_peer *to = g_ptr_array_index(peers, (p->rounds * 2 + i) % peers->len);
        g_strlcpy(r->asked[r->count++], to->name, sizeof r->asked[0]);
        send_probe(c, p, to->name);
    }
    p->rounds++;
}

/* -- verdicts ------------------------------------------------------------------------------ */

void coord_detector_result(struct coord_core *c, struct coord_peer *from, const struct envelope *e)
{
    const Heddle__ProbeResult *r = (const Heddle__ProbeResult *)e->body;
    struct coord_peer *p = coord_peer_find(c, r->suspect);
    const Heddle__Member *m = p ? assignment_member(c->work, p->name) : NULL;
    if (m == NULL || p == from || p->suspect_since_ms == 0 || r->boot_id != m->boot_id ||
        r->id != p->round.id || !is_live(c, from))
        return;
    for (unsigned i = 0; i < p->round.count; i++) {
        if (strcmp(p->round.asked[i], from->name) != 0 || p->round.answered[i])
            continue;
        p->round.answered[i] = true;
        for (guint j = p->evidence->len; j-- > 0;)
            if (strcmp(g_array_index(p->evidence, struct coord_evidence, j).peer, from->name) == 0)
                g_array_remove_index(p->evidence, j);
        struct coord_evidence v = {.verdict = r->verdict, .at_ms = c->now_ms};
        g_strlcpy(v.peer, from->name, sizeof v.peer);
        g_array_append_val(p->evidence, v);
    }
}

static enum judgement judge(const struct coord_core *c, const struct coord_peer *p, guint peers,
                            const char **reason)
{
    guint against = 0;
    bool alive = false;
    *reason = "silent";
    for (guint i = 0; i < p->evidence->len; i++) {
        const struct coord_evidence *v = &g_array_index(p->evidence, struct coord_evidence, i);
        if (c->now_ms > v->at_ms + COORD_EVIDENCE_MS)
            continue;
        if (v->verdict == HEDDLE__PROBE_VERDICT__VERDICT_DEAD) {
            *reason = "proof";
            return JUDGED_DEAD;
        }
        alive = alive || v->verdict == HEDDLE__PROBE_VERDICT__VERDICT_ALIVE;
        if (v->verdict == HEDDLE__PROBE_VERDICT__VERDICT_HUNG)
            *reason = "hung";
        against += v->verdict == HEDDLE__PROBE_VERDICT__VERDICT_SILENT ||
                   v->verdict == HEDDLE__PROBE_VERDICT__VERDICT_HUNG;
    }
    if (alive)
        return JUDGED_ALIVE;
    return against >= CLAMP(peers, 1u, 2u) ? JUDGED_DEAD : JUDGED_NOTHING;
}

static void declare_dead(struct coord_core *c, struct coord_peer *p, const char *reason)
{
    Heddle__Member *m = assignment_member(c->work, p->name);
    m->state = HEDDLE__MEMBER_STATE__MEMBER_DEAD;
    p->died_ms = c->now_ms;
    coord_log(c, HL_NOTICE, "shard_dead", "name=%s why=%s silent_ms=%" PRIu64, p->name, reason,
              coord_detector_age(c, p));
    coord_detector_reset(p);
    coord_dirty(c);
    coord_assignment_settle(c, reason);
}

/* -- isolation ----------------------------------------------------------------------------- */

/* More than a third without contact: rather the management network's trouble than theirs. */
static bool too_many_isolated(const struct coord_core *c)
{
    unsigned shards = 0, isolated = 0;
    for (guint i = 0; i < c->peers->len; i++) {
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        const Heddle__Member *m = assignment_member(c->work, p->name);
        bool marked = m->state == HEDDLE__MEMBER_STATE__MEMBER_ISOLATED;
        shards += marked || is_live(c, p);
        isolated +=
            marked || (is_live(c, p) && p->suspect_since_ms &&
                       coord_detector_age(c, p) >= c->config.cluster_config->isolation_grace_ms);
    }
    return isolated * 3 > shards;
}

/* Moves its domains, unless a receiver would have to go beyond its limit: then nothing changes. */
static void isolate(struct coord_core *c, struct coord_peer *p)
{
    bool one_under_way = c->dirty || c->writing || !coord_grants_confirmed(c);
    if (too_many_isolated(c) || (one_under_way && c->last_isolation_ms &&
                                 c->now_ms < c->last_isolation_ms + COORD_RESEND_MS))
        return;
    Heddle__Assignment *before = record_copy(c->work);
    guint takeovers = c->takeovers_open->len, actions = c->actions->len;
    bool dirty = c->dirty;
    assignment_member(c->work, p->name)->state = HEDDLE__MEMBER_STATE__MEMBER_ISOLATED;
    if (!coord_assignment_settle(c, "isolated")) {
        heddle__assignment__free_unpacked(c->work, NULL);
        c->work = before;
        c->dirty = dirty;
        g_ptr_array_set_size(c->takeovers_open, (gint)takeovers);
        g_array_set_size(c->actions, actions); /* only log lines, which own nothing */
        return;
    }
    heddle__assignment__free_unpacked(before, NULL);
    coord_log(c, HL_WARNING, "shard_isolated",
              "name=%s silent_ms=%" PRIu64 " msg=\"it lives but cannot be reached; check "
              "the management network\"",
              p->name, coord_detector_age(c, p));
    c->last_isolation_ms = c->now_ms;
    coord_detector_reset(p);
    coord_dirty(c);
}

/* -- time ---------------------------------------------------------------------------------- */

static bool only_shard(const struct coord_core *c, const struct coord_peer *p)
{
    for (guint i = 0; i < c->peers->len; i++)
        if (g_ptr_array_index(c->peers, i) != p && is_live(c, g_ptr_array_index(c->peers, i)))
            return false;
    return true;
}

static void decide(struct coord_core *c, struct coord_peer *p)
{
    g_autoptr(GPtrArray) peers = peers_to_ask(c, p);
    const Heddle__ClusterConfig *k = c->config.cluster_config;
    const char *reason;
    if (peers->len == 0) {
        /* Nobody could take over from the only shard, and it may write until its grace ends. */
        uint64_t lonely_ms = MAX((uint64_t)COORD_LONELY_BEATS * k->heartbeat_ms,
                                 (uint64_t)k->isolation_grace_ms);
        if (only_shard(c, p) && coord_detector_age(c, p) > lonely_ms)
            declare_dead(c, p, "silent");
        return; /* all at once fell silent: that is more likely our own network */
    }
    enum judgement j = judge(c, p, peers->len, &reason);
    if (j == JUDGED_DEAD) {
        declare_dead(c, p, reason);
        return;
    }
    /* not before its peers had the time to find it dead: that decision is the better founded one */
    if (coord_detector_age(c, p) >= k->isolation_grace_ms && p->rounds > 0 && round_over(c, p))
        isolate(c, p);
    if (p->suspect_since_ms)
        next_round(c, p, peers);
}

void coord_detector_tick(struct coord_core *c)
{
    if (c->now_ms < c->tilt_until_ms)
        return;
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        /* a shard that waits for its WELCOME does not heartbeat yet: the ledger is slow, not it */
        if (is_live(c, p) && p->suspect_since_ms == 0 && !p->want_welcome &&
            coord_detector_age(c, p) > coord_detector_period(c))
            suspect(c, p, "silence");
    }
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (p->suspect_since_ms && is_live(c, p))
            decide(c, p);
    }
}

static bool any_live(const struct coord_core *c)
{
    for (guint i = 0; i < c->peers->len; i++)
        if (is_live(c, g_ptr_array_index(c->peers, i)))
            return true;
    return false;
}

bool coord_detector_tilt(struct coord_core *c)
{
    uint64_t heartbeat = c->config.cluster_config->heartbeat_ms;
    bool back = c->now_ms < c->last_step_ms;
    bool late = c->now_ms > c->last_step_ms + heartbeat + COORD_LATE_TICK_MS;
    if (c->last_step_ms == 0 || !(back || late) || !any_live(c))
        return false;
    coord_log(c, HL_WARNING, "tilt",
              "step_ms=%" PRId64 " msg=\"this process stood still; it decides nothing for "
              "%" PRIu64 " ms\"",
              (int64_t)(c->now_ms - c->last_step_ms), coord_detector_period(c));
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        coord_detector_reset(p);
        if (back || p->last_seen_ms < c->now_ms) /* else: the grace after START */
            p->last_seen_ms = c->now_ms;
    }
    c->tilt_until_ms = c->now_ms + coord_detector_period(c);
    return true;
}

uint64_t coord_detector_deadline(const struct coord_core *c)
{
    if (!any_live(c))
        return UINT64_MAX;
    uint64_t at = c->last_timers_ms + c->config.cluster_config->heartbeat_ms;
    for (guint i = 0; i < c->peers->len; i++) {
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (is_live(c, p) && p->suspect_since_ms == 0 && !p->want_welcome)
            at = MIN(at, p->last_seen_ms + coord_detector_period(c) + 1);
        else if (p->suspect_since_ms && p->round.id)
            at = MIN(at, p->round.started_ms + COORD_PROBE_PACE_MS);
    }
    return MAX(at, c->last_timers_ms + 1);
}
