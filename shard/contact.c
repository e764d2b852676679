/* SPDX-License-Identifier: BSD-2-Clause */
/* Contact with the coordinators: joining, heartbeats, assignments, grants. */
#include "shard/contact.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "proto/grant.h"
#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/explore.h"
#include "shard/keys.h"
#include "shard/own_port.h"
#include "shard/paths.h"
#include "shard/persist.h"
#include "shard/probe.h"
#include "shard/setup.h"
#include "shard/tables.h"

#define HELLO_INTERVAL_MS 1000u
#define UNANSWERED_MS 5000u    /* a coordinator that has a session with us and does not answer */
#define NOT_WELCOMED_MS 30000u /* between warnings of that */
#define DEFAULT_HEARTBEAT_MS 40u
#define DEFAULT_GRACE_MS 2000u
#define HEARTBEATS_KEPT 128u

struct contact {
    uint64_t next_hello_ms, next_heartbeat_ms;
    uint64_t confirmed_ms; /* when the latest acknowledged heartbeat was sent; 0 = none */
    uint64_t sent_ms[HEARTBEATS_KEPT]; /* by number, of the latest ones */
    uint64_t heartbeat_seq;            /* of the last one sent; an acknowledgement names it */
    uint64_t confirm_seq;              /* Sets wait for the acknowledgement of this one */
    GHashTable *up;                    /* names of coordinators with a session */
    uint64_t unanswered_ms;            /* since then one has a session with us; 0 = none has */
    uint64_t next_warning_ms;
    bool refused_said;
};

struct contact *contact_create(void)
{
    struct contact *k = g_new0(struct contact, 1);
    k->up = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return k;
}

void contact_destroy(struct contact *k)
{
    if (!k)
        return;
    g_hash_table_unref(k->up);
    g_free(k);
}

bool contact_is_coordinator(const struct shard_core *c, const char *peer)
{
    for (guint i = 0; i < c->cfg.coordinators->len; i++) {
        if (strcmp(g_ptr_array_index(c->cfg.coordinators, i), peer) == 0)
            return true;
    }
    return false;
}

void contact_unsure(struct shard_core *c)
{
    c->unsure = true;
    c->contact->confirm_seq = c->contact->heartbeat_seq + 1;
}

/* Acknowledgements that were sent before a stall may be read after it: the number tells. */
static void acknowledged(struct shard_core *c, const struct envelope *m)
{
    struct contact *k = c->contact;
    uint64_t number = m->epoch;
    if (number > k->heartbeat_seq || number + HEARTBEATS_KEPT <= k->heartbeat_seq)
        return;
    k->confirmed_ms = MAX(k->confirmed_ms, k->sent_ms[number % HEARTBEATS_KEPT]);
    if (number >= k->confirm_seq && m->seq <= c->assignment->revision)
        c->unsure = false;
}

bool contact_fresh(const struct shard_core *c)
{
    uint32_t grace = c->cluster && c->cluster->isolation_grace_ms ? c->cluster->isolation_grace_ms
                                                                  : DEFAULT_GRACE_MS;
    /* Three quarters: what is on the wire by then is answered before the grace ends. */
    return c->contact->confirmed_ms && c->now_ms < c->contact->confirmed_ms + grace / 4 * 3;
}

/* -- what we say -- */

/* Epochs of a new ledger must be above any that a shard has seen. */
static void add_positions(const struct shard_core *c, Heddle__Hello *h)
{
    g_autoptr(GArray) ids = view_domain_ids(c->view);
    h->positions = g_new0(Heddle__Position *, ids->len);
    for (guint i = 0; i < ids->len; i++) {
        const struct view_domain *v = view_domain(c->view, g_array_index(ids, uint32_t, i));
        Heddle__Position *p = g_new0(Heddle__Position, 1);
        heddle__position__init(p);
        p->domain = v->id;
        p->epoch = v->epoch;
        p->seq = v->seq;
        h->positions[h->n_positions++] = p;
    }
}

static void send_hello(struct shard_core *c, const char *coordinator)
{
    Heddle__Hello *h = g_new0(Heddle__Hello, 1);
    heddle__hello__init(h);
    h->software = g_strdup(HEDDLE_VERSION);
    h->config_digest = g_strdup("");
    h->node_guid = c->own.node_guid;
    h->port_guid = c->own.port_guid;
    h->port_num = c->own.num;
    h->leaf_guid = c->own.leaf_guid;
    h->leaf_port = c->own.leaf_port;
    h->lid = c->own.lid;
    h->delta_endpoint = g_strdup(c->cfg.delta_endpoint);
    h->bulk_endpoint = g_strdup(c->cfg.bulk_endpoint);
    h->priority = c->cfg.priority;
    h->standby = c->cfg.standby;
    h->realtime_ms = c->realtime_ms;
    h->incarnation = c->incarnation;
    add_positions(c, h);
    core_send(c, SHARD_CONTROL, coordinator, HEDDLE__MESSAGE_TYPE__MSG_HELLO, 0, 0, 0,
              (ProtobufCMessage *)h);
}

static Heddle__DomainReport *domain_report(const struct shard_core *c, const struct owned_domain *d)
{
    const struct view_domain *v = view_domain(c->view, d->id);
    Heddle__DomainReport *r = g_new0(Heddle__DomainReport, 1);
    heddle__domain_report__init(r);
    r->domain = d->id;
    r->epoch = d->epoch;
    r->seq = v ? v->seq : 0;
    if (v)
        r->state = view_pack_state(v);
    r->switches = d->switch_count;
    r->end_ports = d->end_port_count;
    return r;
}

static Heddle__Heartbeat *heartbeat(struct shard_core *c)
{
    Heddle__Heartbeat *h = g_new0(Heddle__Heartbeat, 1);
    heddle__heartbeat__init(h);
    h->act_count = c->act_count;
    h->max_stall_ms = c->max_stall_ms;
    h->assignment_revision = c->assignment ? c->assignment->revision : 0;
    h->domains = g_new0(Heddle__DomainReport *, g_hash_table_size(c->owned));
    for (size_t i = 0; c->assignment && i < c->assignment->n_domains; i++) {
        const struct owned_domain *d = core_owned(c, c->assignment->domains[i]->id);
        if (d)
            h->domains[h->n_domains++] = domain_report(c, d);
    }
    const uint8_t *digest = tables_digest(c);
    if (digest) {
        h->routing_digest.data = g_memdup2(digest, 32);
        h->routing_digest.len = 32;
    }
    h->nodes_seen = view_switches(c->view)->len + view_end_ports(c->view)->len;
    h->foreign_sm = c->foreign_sm_guid != 0;
    h->foreign_sm_guid = c->foreign_sm_guid;
    h->lid = c->own.lid;
    h->leaf_guid = c->own.leaf_guid;
    h->leaf_port = c->own.leaf_port;
    h->frozen = !core_may_set(c);
    h->duplicate_guids = g_new0(uint64_t, g_hash_table_size(c->quarantined));
    GArray *places = port_keys_sorted(c->quarantined);
    for (guint i = 0; i < places->len; i++) {
        const struct port_key *place = &g_array_index(places, struct port_key, i);
        const uint64_t *guid = g_hash_table_lookup(c->quarantined, place);
        if (core_owned_switch(c, place->guid))
            h->duplicate_guids[h->n_duplicate_guids++] = *guid;
    }
    g_array_unref(places);
    return h;
}

static void send_heartbeats(struct shard_core *c)
{
    uint64_t seq = ++c->contact->heartbeat_seq;
    c->contact->sent_ms[seq % HEARTBEATS_KEPT] = c->now_ms;
    for (guint i = 0; i < c->cfg.coordinators->len; i++)
        core_send(c, SHARD_CONTROL, g_ptr_array_index(c->cfg.coordinators, i),
                  HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT, 0, 0, seq, (ProtobufCMessage *)heartbeat(c));
    c->max_stall_ms = 0;
}

/* The first one with a session with us, or NULL. */
static const char *reachable_coordinator(const struct shard_core *c)
{
    for (guint i = 0; i < c->cfg.coordinators->len; i++)
        if (g_hash_table_contains(c->contact->up, g_ptr_array_index(c->cfg.coordinators, i)))
            return g_ptr_array_index(c->cfg.coordinators, i);
    return NULL;
}

/* There is a session, but no welcome, or no heartbeat is acknowledged any more: another process may
 * have our name. */
static bool unanswered(struct shard_core *c)
{
    struct contact *k = c->contact;
    const char *coordinator = reachable_coordinator(c);
    if (!coordinator)
        k->unanswered_ms = 0;
    else if (!k->unanswered_ms)
        k->unanswered_ms = c->now_ms;
    if (!coordinator || c->now_ms < MAX(k->unanswered_ms, k->confirmed_ms) + UNANSWERED_MS)
        return false;
    if (c->now_ms >= k->next_warning_ms && !k->refused_said) {
        k->next_warning_ms = c->now_ms + NOT_WELCOMED_MS;
        core_log(c, HL_WARNING, "not_welcomed",
                 "coordinator=%s hint=\"is the name enrolled with this key? does another process "
                 "use it?\"",
                 coordinator);
    }
    return true;
}

/* Until we are welcomed; and again when we have become strangers, so that we are let in once the
 * other process of our name is gone. */
static void pump_hello(struct shard_core *c)
{
    struct contact *k = c->contact;
    bool strangers = unanswered(c);
    if ((c->assignment && !strangers) || c->now_ms < k->next_hello_ms)
        return;
    k->next_hello_ms = c->now_ms + HELLO_INTERVAL_MS;
    for (guint i = 0; i < c->cfg.coordinators->len; i++)
        send_hello(c, g_ptr_array_index(c->cfg.coordinators, i));
}

void contact_pump(struct shard_core *c)
{
    struct contact *k = c->contact;
    if (!c->own.known || c->stepped_down || c->port_dead)
        return;
    pump_hello(c);
    if (!c->assignment)
        return;
    if (c->now_ms < k->next_heartbeat_ms)
        return;
    uint32_t interval = c->cluster->heartbeat_ms ? c->cluster->heartbeat_ms : DEFAULT_HEARTBEAT_MS;
    k->next_heartbeat_ms = c->now_ms + interval;
    send_heartbeats(c);
}

uint64_t contact_deadline(const struct shard_core *c)
{
    if (!c->own.known || c->stepped_down || c->port_dead)
        return UINT64_MAX;
    return c->assignment ? c->contact->next_heartbeat_ms : c->contact->next_hello_ms;
}

void contact_link(struct shard_core *c, const char *peer, bool up)
{
    if (!up) {
        g_hash_table_remove(c->contact->up, peer);
        return;
    }
    g_hash_table_add(c->contact->up, g_strdup(peer));
    /* The coordinator may be another process now: say who we are. */
    if (c->own.known && !c->stepped_down)
        send_hello(c, peer);
}

void contact_rejoin(struct shard_core *c)
{
    for (guint i = 0; i < c->cfg.coordinators->len; i++)
        send_hello(c, g_ptr_array_index(c->cfg.coordinators, i));
}

/* -- what we are told -- */

static ProtobufCMessage *copy(const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    g_autofree uint8_t *bytes = g_malloc(len + 1);
    protobuf_c_message_pack(m, bytes);
    return protobuf_c_message_unpack(m->descriptor, NULL, len, bytes);
}

static void learn_hints(struct shard_core *c, const Heddle__Assignment *a)
{
    for (size_t i = 0; i < a->n_hints; i++) {
        const Heddle__TopologySwitch *t = a->hints[i];
        size_t n = MIN(MIN(t->n_neighbours, t->n_ports), t->n_peer_ports);
        GArray *links = g_array_new(FALSE, FALSE, sizeof(struct path_link));
        for (size_t k = 0; k < n; k++) {
            struct path_link l = {t->neighbours[k], (uint8_t)t->ports[k],
                                  (uint8_t)t->peer_ports[k]};
            g_array_append_val(links, l);
        }
        paths_learn_hint(c, t->guid, links);
    }
}

static void learn_lids(struct shard_core *c, const Heddle__Assignment *a)
{
    for (size_t i = 0; i < a->n_known_lids; i++) {
        const Heddle__FoundLid *l = a->known_lids[i];
        if (l->lid && l->lid <= RT_MAX_LID)
            g_hash_table_insert(c->known_lids, g_memdup2(&l->port_guid, sizeof(uint64_t)),
                                GUINT_TO_POINTER(l->lid));
    }
}

/* Domains that the assignment gives to others are no longer ours. */
static void drop_lost(struct shard_core *c, const Heddle__Assignment *a)
{
    for (size_t i = 0; i < a->n_domains; i++) {
        const Heddle__Domain *dom = a->domains[i];
        const struct owned_domain *d = core_owned(c, dom->id);
        bool ours = strcmp(dom->owner, c->cfg.name) == 0 && dom->owner_boot_id == c->cfg.boot_id;
        if (d && !ours && dom->epoch > d->epoch)
            domain_lost(c, dom->id);
    }
}

/* Another ledger counts from elsewhere: positions of the old one mean nothing in it. */
static void new_incarnation(struct shard_core *c, const Heddle__Assignment *a)
{
    c->incarnation = a->incarnation;
    g_autoptr(GArray) ids = view_domain_ids(c->view);
    for (guint i = 0; i < ids->len; i++) {
        uint32_t id = g_array_index(ids, uint32_t, i);
        domain_lost(c, id);
        view_set_position(c->view, id, 0, 0);
        view_domain(c->view, id)->phase = HEDDLE__DOMAIN_PHASE__PHASE_NONE;
    }
    g_hash_table_remove_all(c->seen_live);
    g_hash_table_remove_all(c->backed_lids);
    persist_incarnation(c);
}

static void take_assignment(struct shard_core *c, const Heddle__Assignment *a)
{
    if (c->assignment && a->incarnation == c->assignment->incarnation &&
        a->revision < c->assignment->revision)
        return;
    learn_hints(c, a);
    learn_lids(c, a);
    if (c->assignment)
        heddle__assignment__free_unpacked(c->assignment, NULL);
    c->assignment = (Heddle__Assignment *)copy(&a->base);
    if (c->incarnation != a->incarnation)
        new_incarnation(c, a);
    view_assign(c->view, c->assignment);
    drop_lost(c, c->assignment);
    replication_set_assignment(c->repl, c->assignment);
    struct shard_action act = {.kind = SHARD_ACT_PEERS,
                               .peers = (Heddle__Assignment *)copy(&c->assignment->base)};
    g_array_append_val(c->actions, act);
    explore_assignment(c);
    paths_changed(c);
    tables_wake(c);
    setup_wake_switch(c, c->own.leaf_guid);
    domain_pools_changed(c);
}

static void configure_smpq(struct shard_core *c)
{
    const Heddle__SubnetOptions *o = core_options(c);
    core_smpq_limits(c, o->max_smps_per_port, o->max_smps_per_target, o->transaction_timeout_ms,
                     o->transaction_retries);
}

static void welcome(struct shard_core *c, const Heddle__Welcome *w)
{
    if (!w->config || !w->config->subnet || !w->assignment)
        return;
    if (w->sign_public_key.len != 32 ||
        memcmp(w->sign_public_key.data, c->cfg.sign_public_key, 32) != 0) {
        core_log(c, HL_ERROR, "sign_key_differs",
                 "hint=\"sign_public_key of this shard is not the coordinator's\"");
        return;
    }
    if (c->cluster)
        heddle__cluster_config__free_unpacked(c->cluster, NULL);
    c->cluster = (Heddle__ClusterConfig *)copy(&w->config->base);
    configure_smpq(c);
    take_assignment(c, w->assignment);
    c->contact->unanswered_ms = c->now_ms;
    core_log(c, HL_INFO, "joined", "incarnation=%016" PRIx64 " revision=%" PRIu64, c->incarnation,
             c->assignment->revision);
}

static void granted(struct shard_core *c, const Heddle__SignedGrant *s)
{
    Heddle__Grant *g = grant_verify(s, c->cfg.sign_public_key, c->cfg.cluster);
    if (!g) {
        core_log(c, HL_ERROR, "grant_refused", "reason=\"bad signature\"");
        return;
    }
    if (strcmp(g->owner, c->cfg.name) == 0 && g->owner_boot_id == c->cfg.boot_id && c->assignment &&
        g->incarnation == c->assignment->incarnation && !c->stepped_down)
        domain_granted(c, g, s);
    heddle__grant__free_unpacked(g, NULL);
}

void contact_message(struct shard_core *c, const char *peer, const struct envelope *m)
{
    if (m->type == HEDDLE__MESSAGE_TYPE__MSG_REFUSED) {
        const Heddle__Refused *r = (const Heddle__Refused *)m->body;
        char reason[256];
        if (!c->contact->refused_said)
            core_log(c, HL_ERROR, "refused", "coordinator=%s reason=%s", peer,
                     log_quote(reason, sizeof reason, r ? r->reason : ""));
        c->contact->refused_said = true;
        return;
    }
    c->contact->refused_said = false;
    switch (m->type) {
    case HEDDLE__MESSAGE_TYPE__MSG_WELCOME:
        welcome(c, (const Heddle__Welcome *)m->body);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_ASSIGNMENT:
        if (c->assignment)
            take_assignment(c, (const Heddle__Assignment *)m->body);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_GRANT:
        granted(c, (const Heddle__SignedGrant *)m->body);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT_ACK:
        if (c->assignment)
            acknowledged(c, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_PROBE:
        if (c->assignment)
            probes_start(c, peer, (const Heddle__Probe *)m->body);
        break;
    default:
        break;
    }
}
