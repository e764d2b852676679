/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may be a shard and who is one: enrolment, HELLO, WELCOME, REFUSED, ASSIGNMENT. */
#include <string.h>

#include "coordinator/internal.h"

/* Left out of a message where the graph would not fit: shards then explore without hints. */
#define HINTS_MAX_BYTES (PROTO_MAX_MESSAGE - 65536u)
#define CLOCK_WARN_MS 50

/* Members of the ledger follow the enrolled keys of the configuration. */
void coord_members_sync(struct coord_core *c)
{
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        const struct coord_enrolled *e = coord_enrolled_find(c, p->name);
        Heddle__Member *m = assignment_member(c->work, p->name);
        if (m && m->public_key.len == sizeof e->public_key &&
            memcmp(m->public_key.data, e->public_key, sizeof e->public_key) == 0)
            continue;
        if (m == NULL)
            m = assignment_add_member(c->work, p->name);
        record_set_bytes(&m->public_key, e->public_key, sizeof e->public_key);
        coord_dirty(c);
    }
    for (size_t i = c->work->n_members; i-- > 0;) {
        const char *name = c->work->members[i]->name;
        if (coord_peer_find(c, name))
            continue;
        coord_log(c, HL_NOTICE, "shard_not_enrolled",
                  "name=%s msg=\"it is not in 'shards' any more; its domains move\"", name);
        assignment_remove_member(c->work, name);
        coord_dirty(c);
    }
}

/* -- HELLO --------------------------------------------------------------------------------- */

static void refuse(struct coord_core *c, const struct coord_peer *p, uint64_t seq,
                   const char *reason)
{
    Heddle__Refused *body = g_new(Heddle__Refused, 1);
    heddle__refused__init(body);
    record_set_string(&body->reason, reason);
    coord_send(c, p->name, HEDDLE__MESSAGE_TYPE__MSG_REFUSED, &body->base, 0, 0, seq);
    coord_log(c, HL_WARNING, "refused", "peer=%s msg=\"%s\"", p->name, reason);
}

static bool is_old_boot(const struct coord_peer *p, uint64_t boot_id)
{
    for (unsigned i = 0; i < COORD_OLD_BOOTS; i++)
        if (p->old_boots[i] == boot_id)
            return true;
    return false;
}

/* Why this HELLO cannot be taken, or NULL. */
static char *objection(const struct coord_core *c, const struct coord_peer *p,
                       const struct envelope *e, const Heddle__Hello *h)
{
    if (e->boot_id == 0 || h->port_guid == 0)
        return g_strdup("HELLO without a boot id or a port GUID; update heddle-shard");
    for (size_t i = 0; i < c->work->n_members; i++) {
        const Heddle__Member *m = c->work->members[i];
        if (strcmp(m->name, p->name) != 0 && m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE &&
            m->port_guid == h->port_guid)
            return g_strdup_printf("port 0x%016" PRIx64 " is used by shard %s already;"
                                   " give each shard a port of its own",
                                   h->port_guid, m->name);
    }
    return NULL;
}

/* -- two processes of one name -------------------------------------------------------------- */

/* A process that ended broke its connection or fell silent, which makes it suspect before the next
 * HELLO of the one that replaces it: until then this is another process with the same key. One
 * that was replaced comes back only the same way. */
static bool name_in_use(const struct coord_peer *p, const Heddle__Member *m, uint64_t boot_id)
{
    return m->boot_id && m->boot_id != boot_id && p->suspect_since_ms == 0 &&
           m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE && (p->last || is_old_boot(p, boot_id));
}

/* No REFUSED: it would go to the one that is in its right. The first HELLO may be of a restart
 * whose end is not known yet. */
static void note_clash(struct coord_core *c, struct coord_peer *p, uint64_t boot_id)
{
    if (p->clash_boot != boot_id) {
        p->clash_boot = boot_id;
        p->clash_first_ms = c->now_ms;
    }
    if (c->now_ms <= p->clash_first_ms + coord_detector_period(c))
        return;
    p->clash_seen_ms = c->now_ms;
    if (p->clash_warned_ms && c->now_ms < p->clash_warned_ms + COORD_CLASH_MS)
        return;
    p->clash_warned_ms = c->now_ms;
    coord_log(c, HL_WARNING, "name_in_use",
              "name=%s msg=\"another process says HELLO with this shard's name and key, and is "
              "not let in; give each shard a name and a key of its own\"",
              p->name);
}

bool coord_members_clash(const struct coord_core *c, const struct coord_peer *p)
{
    return p->clash_seen_ms && c->now_ms < p->clash_seen_ms + COORD_CLASH_MS;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Takes the facts of HELLO into the member; true when one differs. */
static bool take_facts(struct coord_core *c, Heddle__Member *m, const Heddle__Hello *h)
{
    uint32_t priority = MIN(h->priority, 15u);
    uint64_t leaf = h->leaf_guid ? h->leaf_guid : m->leaf_guid;
    uint32_t leaf_port = h->leaf_guid ? h->leaf_port : m->leaf_port;
    if (m->port_guid != h->port_guid && h->leaf_guid == 0)
        leaf = leaf_port = 0; /* it moved to another port: the old leaf says nothing */
    bool changed = m->port_guid != h->port_guid || m->node_guid != h->node_guid ||
                   m->port_num != h->port_num || m->leaf_guid != leaf ||
                   m->leaf_port != leaf_port || m->priority != priority ||
                   !!m->standby != !!h->standby || !same_text(m->software, h->software) ||
                   !same_text(m->delta_endpoint, h->delta_endpoint) ||
                   !same_text(m->bulk_endpoint, h->bulk_endpoint);
    if (m->port_guid != h->port_guid)
        m->lid = 0;
    m->port_guid = h->port_guid;
    m->node_guid = h->node_guid;
    m->port_num = h->port_num;
    m->leaf_guid = leaf;
    m->leaf_port = leaf_port;
    m->priority = priority;
    m->standby = h->standby;
    record_set_string(&m->software, h->software);
    record_set_string(&m->delta_endpoint, h->delta_endpoint);
    record_set_string(&m->bulk_endpoint, h->bulk_endpoint);
    uint32_t lid = coord_pools_member_lid(c, m, h->lid);
    changed = changed || lid != m->lid;
    m->lid = lid;
    return changed;
}

/* Epochs only rise: what a shard saw of this ledger counts, should the ledger have lost it. */
static void raise_epochs(struct coord_core *c, const struct coord_peer *p, const Heddle__Hello *h)
{
    if (h->incarnation != c->config.incarnation)
        return;
    for (size_t i = 0; i < h->n_positions; i++) {
        Heddle__Domain *d = assignment_domain(c->work, h->positions[i]->domain);
        if (d == NULL || h->positions[i]->epoch <= d->epoch ||
            h->positions[i]->epoch >= UINT64_MAX / 2)
            continue;
        coord_log(c, HL_WARNING, "epoch_behind",
                  "domain=%u epoch=%" PRIu64 " peer=%s seen=%" PRIu64, d->id, d->epoch, p->name,
                  h->positions[i]->epoch);
        d->epoch = h->positions[i]->epoch + 1;
        coord_dirty(c);
    }
}

static void new_process(struct coord_core *c, struct coord_peer *p, Heddle__Member *m,
                        uint64_t boot_id)
{
    if (m->boot_id) {
        p->old_boots[p->old_boot_next++ % COORD_OLD_BOOTS] = m->boot_id;
        coord_log(c, HL_NOTICE, "shard_restarted", "name=%s", m->name);
    }
    m->boot_id = boot_id;
    if (p->last)
        heddle__heartbeat__free_unpacked(p->last, NULL);
    p->last = NULL;
    p->died_ms = 0;
    p->clash_boot = p->clash_seen_ms = 0;
}

void coord_members_hello(struct coord_core *c, struct coord_peer *p, const struct envelope *e)
{
    const Heddle__Hello *h = (const Heddle__Hello *)e->body;
    Heddle__Member *m = assignment_member(c->work, p->name);
    if (name_in_use(p, m, e->boot_id)) {
        note_clash(c, p, e->boot_id);
        return;
    }
    g_autofree char *reason = objection(c, p, e, h);
    if (reason) {
        refuse(c, p, e->seq, reason);
        return;
    }
    bool restarted = m->boot_id != e->boot_id;
    if (restarted)
        new_process(c, p, m, e->boot_id);
    bool joins = restarted || m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE;
    m->state = HEDDLE__MEMBER_STATE__MEMBER_LIVE;
    if (take_facts(c, m, h) || joins)
        coord_dirty(c);
    raise_epochs(c, p, h);
    /* The age at the restart is what the takeover's record tells: settle before it is forgotten. */
    coord_detector_reset(p);
    p->contacted = true;
    if (restarted)
        coord_assignment_settle(c, "restarted");
    if (h->realtime_ms && c->realtime_ms) {
        int64_t offset = (int64_t)(h->realtime_ms - c->realtime_ms);
        p->clock_offset_ms = (int32_t)CLAMP(offset, INT32_MIN + 1, INT32_MAX);
        if (joins && ABS(p->clock_offset_ms) > CLOCK_WARN_MS)
            coord_log(c, HL_WARNING, "clock_differs",
                      "name=%s offset_ms=%d msg=\"check its time service\"", p->name,
                      p->clock_offset_ms);
    }
    p->last_seen_ms = c->now_ms;
    if (c->first_join_ms == 0)
        c->first_join_ms = c->now_ms;
    p->want_welcome = true;
    if (joins)
        coord_log(c, HL_INFO, "shard_joined", "name=%s lid=%u", p->name, m->lid);
    if (!c->dirty && !c->writing && c->durable->incarnation)
        coord_members_publish(c, c->durable, false); /* nothing to wait for */
}

/* -- what shards are told ------------------------------------------------------------------ */

static int compare_guid_keys(const void *a, const void *b)
{
    return record_compare_u64(*(const void *const *)a, *(const void *const *)b);
}

static void add_hints(const struct coord_core *c, Heddle__Assignment *a)
{
    guint n = 0;
    g_autofree gpointer *keys = g_hash_table_get_keys_as_array(c->graph, &n);
    qsort(keys, n, sizeof keys[0], compare_guid_keys);
    a->hints = g_new(Heddle__TopologySwitch *, n + 1);
    for (guint i = 0; i < n; i++)
        a->hints[a->n_hints++] = record_copy(g_hash_table_lookup(c->graph, keys[i]));
    if (heddle__assignment__get_packed_size(a) <= HINTS_MAX_BYTES)
        return;
    for (size_t i = 0; i < a->n_hints; i++)
        heddle__topology_switch__free_unpacked(a->hints[i], NULL);
    a->n_hints = 0;
}

void coord_members_send_assignment(struct coord_core *c, struct coord_peer *p, bool with_hints)
{
    Heddle__Assignment *a = record_copy(c->durable);
    if (with_hints)
        add_hints(c, a);
    p->next_catch_up_ms = c->now_ms + COORD_RESEND_MS;
    coord_send(c, p->name, HEDDLE__MESSAGE_TYPE__MSG_ASSIGNMENT, &a->base, 0, 0, a->revision);
}

static void send_welcome(struct coord_core *c, struct coord_peer *p)
{
    Heddle__Welcome *w = g_new(Heddle__Welcome, 1);
    heddle__welcome__init(w);
    w->config = record_copy(c->config.cluster_config);
    w->assignment = record_copy(c->durable);
    Heddle__LidBackup *lids = coord_pools_backup(c);
    w->assignment->known_lids = lids->lids;
    w->assignment->n_known_lids = lids->n_lids;
    lids->lids = NULL;
    lids->n_lids = 0;
    heddle__lid_backup__free_unpacked(lids, NULL);
    add_hints(c, w->assignment);
    record_set_bytes(&w->sign_public_key, c->config.sign_public_key,
                     sizeof c->config.sign_public_key);
    p->want_welcome = false;
    if (p->last == NULL) /* a new process reads all of this before it heartbeats */
        p->last_seen_ms = MAX(p->last_seen_ms, c->now_ms + COORD_JOIN_GRACE_MS);
    p->next_catch_up_ms = c->now_ms + COORD_RESEND_MS;
    coord_send(c, p->name, HEDDLE__MESSAGE_TYPE__MSG_WELCOME, &w->base, 0, 0, c->revision);
}

static bool grant_is_new(const Heddle__Assignment *previous, const Heddle__Domain *d)
{
    const Heddle__Domain *old = previous ? assignment_domain(previous, d->id) : NULL;
    return old == NULL || old->epoch != d->epoch || old->owner_boot_id != d->owner_boot_id ||
           strcmp(old->owner, d->owner) != 0;
}

static bool live_in(const Heddle__Assignment *a, const char *name)
{
    const Heddle__Member *m = a ? assignment_member(a, name) : NULL;
    return m && m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE;
}

/* Live members, and who has just lost that state: should it run after all, it learns that its
 * domains are gone. A suspect is told when it is heard again: a message from us would let it think
 * that it has contact, while it counts for isolated once the grace is over. */
static bool must_be_told(const struct coord_core *c, const Heddle__Assignment *previous,
                         const struct coord_peer *p)
{
    if (live_in(c->durable, p->name))
        return !p->want_welcome && p->suspect_since_ms == 0;
    return live_in(previous, p->name);
}

/* A WELCOME comes before the first grant, since it brings the key that grants are checked with;
 * grants come before the assignment that names their owners. */
void coord_members_publish(struct coord_core *c, const Heddle__Assignment *previous,
                           bool with_hints)
{
    bool welcomed[c->peers->len + 1];
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        const Heddle__Member *m = assignment_member(c->durable, p->name);
        const Heddle__Member *now = assignment_member(c->work, p->name);
        /* a process that joined during the swap is welcomed by the next */
        welcomed[i] = p->want_welcome && m && now && m->boot_id == now->boot_id &&
                      m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE;
        if (welcomed[i])
            send_welcome(c, p);
    }
    for (size_t i = 0; i < c->durable->n_domains; i++)
        if (grant_is_new(previous, c->durable->domains[i]))
            coord_grants_send(c, c->durable->domains[i]);
    if (previous == c->durable)
        return;
    for (guint i = 0; i < c->peers->len; i++) {
        struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (!welcomed[i] && must_be_told(c, previous, p))
            coord_members_send_assignment(c, p, with_hints);
    }
}
