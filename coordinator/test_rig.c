/* SPDX-License-Identifier: BSD-2-Clause */
/* A coordinator with made-up shards under a virtual clock. */
#include "coordinator/test_rig.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "coordinator/records.h"

#define BEAT_MS 40u
#define HELLO_MS 1000u
#define PROBE_ANSWER_MS 100u

struct pending_probe {
    uint64_t at, id, boot_id;
    char suspect[64];
};

struct rig_shard *rig_shard(struct rig *r, unsigned i)
{
    assert_in_range(i, 1, r->shard_count);
    return &r->shards[i - 1];
}

static struct rig_shard *find_shard(struct rig *r, const char *name)
{
    for (unsigned i = 0; i < r->shard_count; i++)
        if (strcmp(r->shards[i].name, name) == 0)
            return &r->shards[i];
    return NULL;
}

/* -- what is checked after each swap -------------------------------------------------------- */

static void check_epochs(struct rig *r, const Heddle__Assignment *a)
{
    for (size_t i = 0; i < a->n_domains; i++) {
        const Heddle__Domain *d = a->domains[i];
        const Heddle__Domain *old = r->ledger ? assignment_domain(r->ledger, d->id) : NULL;
        assert_true(old == NULL || d->epoch >= old->epoch);
        if (*d->owner == 0)
            continue;
        char *key = g_strdup_printf("%u/%" G_GUINT64_FORMAT, d->id, d->epoch);
        char *owner = g_strdup_printf("%s/%" G_GUINT64_FORMAT, d->owner, d->owner_boot_id);
        const char *known = g_hash_table_lookup(r->owners, key);
        if (known)
            assert_string_equal(known, owner);
        g_hash_table_replace(r->owners, key, owner);
    }
}

static void check_disjoint(const Heddle__Assignment *a)
{
    g_autoptr(GHashTable) switches = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autofree bool *lids = g_new0(bool, 0x10000);
    for (size_t i = 0; i < a->n_domains; i++) {
        const Heddle__Domain *d = a->domains[i];
        for (size_t j = 0; j < d->n_switches; j++) {
            assert_true(j == 0 || d->switches[j - 1] < d->switches[j]);
            assert_true(g_hash_table_add(switches, &d->switches[j]));
        }
        for (size_t j = 0; j < d->n_pools; j++) {
            assert_int_equal(d->pools[j]->first % 64, 0);
            assert_true(d->pools[j]->first + d->pools[j]->count <= 0xC000);
            for (uint32_t k = 0; k < d->pools[j]->count; k++) {
                assert_false(lids[d->pools[j]->first + k]);
                lids[d->pools[j]->first + k] = true;
            }
        }
    }
}

/* -- stepping ------------------------------------------------------------------------------ */

static void step(struct rig *r, struct coord_event *e);

static void take_swap(struct rig *r, struct coord_action *a)
{
    assert_false(r->swap_waits); /* one at a time */
    assert_true(a->expected == r->revision);
    r->swap_ticket = a->ticket;
    r->swap_waits = true;
    r->swap_result = r->swap_error;
    if (r->swap_error)
        return;
    check_epochs(r, a->assignment);
    check_disjoint(a->assignment);
    heddle__assignment__free_unpacked(r->ledger, NULL);
    r->ledger = a->assignment;
    a->assignment = NULL;
    r->revision += 7; /* others use the ledger too */
    r->swaps++;
    if (a->lids) {
        heddle__lid_backup__free_unpacked(r->lids, NULL);
        r->lids = a->lids;
        a->lids = NULL;
        r->lids_swaps++;
    }
}

static void take_grant(struct rig *r, struct rig_shard *s, const struct envelope *e)
{
    Heddle__Grant *g = grant_verify((const Heddle__SignedGrant *)e->body, r->config.sign_public_key,
                                    r->config.cluster);
    assert_non_null(g);
    s->grant_messages++;
    assert_string_equal(g->owner, s->name);
    uint8_t key[GRANT_KEY_BYTES], wanted[GRANT_KEY_BYTES];
    if (g->owner_boot_id == s->boot_id) {
        assert_true(grant_open_key(g, s->public_key, s->secret_key, key));
        grant_domain_key(r->config.cluster_secret, r->config.incarnation, g->domain, g->epoch,
                         wanted);
        assert_memory_equal(key, wanted, sizeof key);
        /* only what is durable is granted */
        const Heddle__Domain *d = assignment_domain(r->ledger, g->domain);
        assert_non_null(d);
        assert_true(d->epoch >= g->epoch);
        g_hash_table_insert(s->grants, GUINT_TO_POINTER(g->domain),
                            GUINT_TO_POINTER((guint)g->epoch));
    }
    heddle__grant__free_unpacked(g, NULL);
}

static void take_assignment(struct rig_shard *s, const Heddle__Assignment *a)
{
    heddle__assignment__free_unpacked(s->told, NULL);
    s->told = record_copy(a);
}

static void take_message(struct rig *r, struct coord_action *a)
{
    struct rig_shard *s = find_shard(r, a->peer);
    const ProtobufCMessage *body = a->message.body;
    uint8_t *bytes;
    size_t len;
    assert_int_equal(envelope_encode(&a->message, &bytes, &len), 0); /* it fits and is legal */
    struct envelope decoded;
    char error[256];
    assert_int_equal(envelope_decode(bytes, len, &decoded, error, sizeof error), 0);
    envelope_clear(&decoded);
    g_free(bytes);
    if (a->message.type == HEDDLE__MESSAGE_TYPE__MSG_STATUS) {
        heddle__status__free_unpacked(r->status, NULL);
        r->status = record_copy(body);
        return;
    }
    assert_non_null(s);
    if (!s->running || s->cut)
        return;
    switch (a->message.type) {
    case HEDDLE__MESSAGE_TYPE__MSG_WELCOME:
        s->welcomes++;
        take_assignment(s, ((const Heddle__Welcome *)body)->assignment);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_ASSIGNMENT:
        s->assignments++;
        take_assignment(s, (const Heddle__Assignment *)body);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_REFUSED:
        g_strlcpy(s->refused, ((const Heddle__Refused *)body)->reason, sizeof s->refused);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_GRANT:
        take_grant(r, s, &a->message);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT_ACK:
        s->acks++;
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_PROBE: {
        const Heddle__Probe *p = (const Heddle__Probe *)body;
        struct pending_probe q = {r->now + PROBE_ANSWER_MS, p->id, p->boot_id, ""};
        g_strlcpy(q.suspect, p->suspect, sizeof q.suspect);
        g_array_append_val(s->pending_probes, q);
        s->probes++;
        break;
    }
    default:
        fail_msg("unexpected message %u", a->message.type);
    }
}

static void take_log(struct rig *r, const struct coord_action *a)
{
    if (g_getenv("RIG_LOG"))
        printf("%" G_GUINT64_FORMAT " level=%d event=%s %s\n", r->now, a->level, a->event, a->text);
    if (a->level > HL_WARNING)
        return;
    r->warnings++;
    snprintf(r->last_warning, sizeof r->last_warning, "%s %s", a->event, a->text);
}

static void answer_swap(struct rig *r)
{
    if (!r->swap_waits || r->hold_swaps)
        return;
    struct coord_event e = {.kind = COORD_EV_SWAPPED,
                            .ticket = r->swap_ticket,
                            .error = r->swap_result,
                            .revision = r->revision};
    r->swap_waits = false;
    step(r, &e);
}

static void step(struct rig *r, struct coord_event *e)
{
    g_autoptr(GArray) actions = g_array_new(FALSE, TRUE, sizeof(struct coord_action));
    e->realtime_ms = r->realtime + r->now;
    coord_core_step(r->core, e, r->now, actions);
    for (guint i = 0; i < actions->len; i++) {
        struct coord_action *a = &g_array_index(actions, struct coord_action, i);
        if (a->kind == COORD_ACT_SWAP)
            take_swap(r, a);
        else if (a->kind == COORD_ACT_SEND)
            take_message(r, a);
        else
            take_log(r, a);
        coord_action_clear(a);
    }
    answer_swap(r);
}

/* -- shards -------------------------------------------------------------------------------- */

static void send_as(struct rig *r, struct rig_shard *s, uint32_t type, ProtobufCMessage *body)
{
    struct envelope m = {.type = type, .boot_id = s->boot_id, .body = body};
    g_strlcpy(m.cluster, r->config.cluster, sizeof m.cluster);
    g_strlcpy(m.sender, s->name, sizeof m.sender);
    struct coord_event e = {.kind = COORD_EV_MESSAGE, .peer = s->name, .message = &m};
    step(r, &e);
}

void rig_send(struct rig *r, unsigned from, uint32_t type, ProtobufCMessage *body)
{
    send_as(r, rig_shard(r, from), type, body);
}

void rig_hello(struct rig *r, unsigned i)
{
    struct rig_shard *s = rig_shard(r, i);
    Heddle__Hello h = HEDDLE__HELLO__INIT;
    h.software = (char *)"0.1.0";
    h.port_guid = s->port_guid;
    h.node_guid = s->port_guid & ~0xfull;
    h.port_num = 1;
    h.leaf_guid = s->leaf_guid;
    h.leaf_port = s->leaf_port;
    h.lid = s->lid;
    h.priority = s->priority;
    h.standby = s->standby;
    h.realtime_ms = r->realtime + r->now;
    h.delta_endpoint = (char *)"tcp://127.0.0.1:1";
    h.bulk_endpoint = (char *)"tcp://127.0.0.1:2";
    s->running = true;
    s->hello_due = false;
    s->next_hello = r->now + HELLO_MS;
    if (s->cut)
        return;
    send_as(r, s, HEDDLE__MESSAGE_TYPE__MSG_HELLO, &h.base);
}

void rig_join_all(struct rig *r)
{
    for (unsigned i = 1; i <= r->shard_count; i++)
        rig_hello(r, i);
}

void rig_reboot(struct rig *r, unsigned i)
{
    struct rig_shard *s = rig_shard(r, i);
    rig_link_down(r, i);
    s->boot_id += 1000;
    g_hash_table_remove_all(s->grants);
    heddle__assignment__free_unpacked(s->told, NULL);
    s->told = NULL;
    rig_hello(r, i);
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    ProtobufCBinaryData b = {text ? strlen(text) : 0, (uint8_t *)text};
    return b;
}

static void heartbeat(struct rig *r, struct rig_shard *s)
{
    Heddle__Heartbeat h = HEDDLE__HEARTBEAT__INIT;
    guint n = g_hash_table_size(s->grants), used = 0;
    g_autofree Heddle__DomainReport *reports = g_new0(Heddle__DomainReport, n + 1);
    g_autofree Heddle__DomainState *states = g_new0(Heddle__DomainState, n + 1);
    g_autofree Heddle__DomainReport **list = g_new0(Heddle__DomainReport *, n + 1);
    for (size_t i = 0; s->told && i < s->told->n_domains; i++) {
        const Heddle__Domain *d = s->told->domains[i];
        guint epoch = GPOINTER_TO_UINT(g_hash_table_lookup(s->grants, GUINT_TO_POINTER(d->id)));
        if (epoch == 0 || strcmp(d->owner, s->name) != 0)
            continue;
        heddle__domain_report__init(&reports[used]);
        heddle__domain_state__init(&states[used]);
        states[used].phase = s->phase;
        states[used].programmed_digest = bytes_of(s->programmed);
        states[used].intent_digest = bytes_of(s->intent);
        reports[used].domain = d->id;
        reports[used].epoch = epoch;
        reports[used].switches =
            s->switches ? s->switches : (uint32_t)d->n_switches - MIN(s->unseen, d->n_switches);
        reports[used].end_ports = s->end_ports;
        reports[used].state = &states[used];
        list[used] = &reports[used];
        used++;
    }
    h.domains = list;
    h.n_domains = used;
    h.routing_digest = bytes_of(s->digest);
    h.assignment_revision = s->told ? s->told->revision : 0;
    h.leaf_guid = s->leaf_guid;
    h.leaf_port = s->leaf_port;
    send_as(r, s, HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT, &h.base);
}

static void speak(struct rig *r, unsigned i)
{
    struct rig_shard *s = rig_shard(r, i);
    if (s->hello_due || (s->told == NULL && *s->refused == 0 && r->now >= s->next_hello))
        rig_hello(r, i);
    if (s->told)
        heartbeat(r, s);
}

static void answer_probes(struct rig *r, struct rig_shard *s)
{
    while (s->pending_probes->len) {
        struct pending_probe q = g_array_index(s->pending_probes, struct pending_probe, 0);
        if (q.at > r->now)
            return;
        g_array_remove_index(s->pending_probes, 0);
        Heddle__ProbeResult p = HEDDLE__PROBE_RESULT__INIT;
        p.id = q.id;
        p.suspect = q.suspect;
        p.boot_id = q.boot_id;
        p.verdict = find_shard(r, q.suspect)->verdict;
        if (s->running && !s->cut && !s->mute && p.verdict != HEDDLE__PROBE_VERDICT__VERDICT_NONE)
            send_as(r, s, HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT, &p.base);
    }
}

/* -- time ---------------------------------------------------------------------------------- */

static uint64_t next_event(const struct rig *r)
{
    uint64_t at = MIN(r->next_beat, MAX(coord_core_deadline(r->core), r->now + 1));
    for (unsigned i = 0; i < r->shard_count; i++)
        if (r->shards[i].pending_probes->len)
            at = MIN(at, g_array_index(r->shards[i].pending_probes, struct pending_probe, 0).at);
    return MAX(at, r->now + 1);
}

void rig_run(struct rig *r, uint64_t ms)
{
    uint64_t end = r->now + ms;
    while (next_event(r) <= end) {
        r->now = next_event(r);
        bool beat = r->now >= r->next_beat;
        if (beat)
            r->next_beat = r->now + BEAT_MS;
        for (unsigned i = 0; i < r->shard_count; i++) {
            struct rig_shard *s = &r->shards[i];
            answer_probes(r, s);
            if (beat && s->running && !s->cut && !s->mute)
                speak(r, i + 1);
        }
        if (r->now >= coord_core_deadline(r->core)) {
            struct coord_event e = {.kind = COORD_EV_TICK};
            step(r, &e);
        }
    }
    r->now = end;
}

void rig_jump(struct rig *r, int64_t ms)
{
    r->now = (uint64_t)((int64_t)r->now + ms);
    r->next_beat = r->now + BEAT_MS; /* shards are late too */
    struct coord_event e = {.kind = COORD_EV_TICK};
    step(r, &e);
}

void rig_link_down(struct rig *r, unsigned i)
{
    struct coord_event e = {.kind = COORD_EV_LINK_DOWN, .peer = rig_shard(r, i)->name};
    step(r, &e);
}

/* -- topology ------------------------------------------------------------------------------ */

void rig_topology(struct rig *r, unsigned from, const Heddle__Topology *t)
{
    rig_send(r, from, HEDDLE__MESSAGE_TYPE__MSG_TOPOLOGY, (ProtobufCMessage *)&t->base);
}

Heddle__TopologySwitch *rig_switch(uint64_t guid, uint32_t hosts, const uint64_t *neighbours)
{
    Heddle__TopologySwitch *s = g_new(Heddle__TopologySwitch, 1);
    heddle__topology_switch__init(s);
    s->guid = guid;
    s->nports = 64;
    s->hosts = hosts;
    while (neighbours && neighbours[s->n_neighbours])
        s->n_neighbours++;
    s->n_ports = s->n_peer_ports = s->n_neighbours;
    s->neighbours = g_memdup2(neighbours, s->n_neighbours * sizeof(uint64_t));
    s->ports = g_new0(uint32_t, s->n_ports + 1);
    s->peer_ports = g_new0(uint32_t, s->n_ports + 1);
    for (size_t i = 0; i < s->n_ports; i++)
        s->ports[i] = s->peer_ports[i] = (uint32_t)i + 1;
    return s;
}

void rig_topology_add(Heddle__Topology *t, Heddle__TopologySwitch *s)
{
    record_append(&t->n_switches, &t->switches, s);
}

void rig_topology_clear(Heddle__Topology *t)
{
    for (size_t i = 0; i < t->n_switches; i++)
        heddle__topology_switch__free_unpacked(t->switches[i], NULL);
    g_free(t->switches);
    heddle__topology__init(t);
}

void rig_leaf_spine(Heddle__Topology *t, unsigned leaves, unsigned spines, uint32_t hosts)
{
    uint64_t all[257] = {0};
    for (unsigned i = 0; i < spines; i++)
        all[i] = 0x200 + i;
    all[spines] = 0;
    for (unsigned i = 0; i < leaves; i++)
        rig_topology_add(t, rig_switch(0x100 + i, hosts, all));
    for (unsigned i = 0; i < leaves; i++)
        all[i] = 0x100 + i;
    all[leaves] = 0;
    for (unsigned i = 0; i < spines; i++)
        rig_topology_add(t, rig_switch(0x200 + i, 0, all));
}

/* -- what a test asks ---------------------------------------------------------------------- */

const Heddle__Status *rig_status(struct rig *r)
{
    struct envelope m = {.type = HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK};
    g_strlcpy(m.cluster, r->config.cluster, sizeof m.cluster);
    g_strlcpy(m.sender, "admin", sizeof m.sender);
    struct coord_event e = {.kind = COORD_EV_MESSAGE, .peer = "admin", .message = &m};
    step(r, &e);
    assert_non_null(r->status);
    return r->status;
}

bool rig_has_problem(struct rig *r, const char *part)
{
    const Heddle__Status *s = rig_status(r);
    for (size_t i = 0; i < s->n_problems; i++)
        if (strstr(s->problems[i], part))
            return true;
    return false;
}

const Heddle__Domain *rig_domain(struct rig *r, uint32_t id)
{
    const Heddle__Domain *d = assignment_domain(coord_core_assignment(r->core), id);
    assert_non_null(d);
    return d;
}

Heddle__MemberState rig_state(struct rig *r, unsigned i)
{
    return assignment_member(coord_core_assignment(r->core), rig_shard(r, i)->name)->state;
}

uint32_t rig_owned(struct rig *r, unsigned i)
{
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    uint32_t n = 0;
    for (size_t j = 0; j < a->n_domains; j++)
        n += a->domains[j]->id && strcmp(a->domains[j]->owner, rig_shard(r, i)->name) == 0;
    return n;
}

bool rig_granted(struct rig *r, unsigned i, uint32_t domain)
{
    guint epoch =
        GPOINTER_TO_UINT(g_hash_table_lookup(rig_shard(r, i)->grants, GUINT_TO_POINTER(domain)));
    return epoch && epoch == rig_domain(r, domain)->epoch;
}

/* -- making one ---------------------------------------------------------------------------- */

static void enrol(struct rig *r, const char *name, const uint8_t key[32], bool is_operator)
{
    struct coord_enrolled e = {.is_operator = is_operator};
    g_strlcpy(e.name, name, sizeof e.name);
    memcpy(e.public_key, key, sizeof e.public_key);
    g_array_append_val(r->config.enrolled, e);
}

struct rig *rig_new(unsigned shards)
{
    struct rig *r = g_new0(struct rig, 1);
    struct coord_config *k = &r->config;
    assert_true(sodium_init() >= 0);
    r->now = 1000;
    r->realtime = 1700000000000;
    g_strlcpy(k->cluster, "test", sizeof k->cluster);
    g_strlcpy(k->name, "coordinator-1", sizeof k->name);
    k->boot_id = 77;
    k->incarnation = 0xabcdef;
    k->auto_domains = true;
    k->rules = g_array_new(FALSE, TRUE, sizeof(struct coord_domain_rule));
    k->enrolled = g_array_new(FALSE, TRUE, sizeof(struct coord_enrolled));
    k->domain_max_nodes = 5000;
    k->shard_max_nodes = 12000;
    k->domains_per_shard = 4;
    k->expected_shards = shards;
    k->expected_timeout_ms = 5000;
    k->cluster_config = g_new(Heddle__ClusterConfig, 1);
    heddle__cluster_config__init(k->cluster_config);
    k->cluster_config->heartbeat_ms = BEAT_MS;
    k->cluster_config->heartbeat_misses = 3;
    k->cluster_config->isolation_grace_ms = 2000;
    k->cluster_config->subnet = g_new(Heddle__SubnetOptions, 1);
    heddle__subnet_options__init(k->cluster_config->subnet);
    crypto_sign_keypair(k->sign_public_key, k->sign_secret_key);
    memset(k->cluster_secret, 5, sizeof k->cluster_secret);
    r->shard_count = shards;
    r->owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (unsigned i = 1; i <= shards; i++) {
        struct rig_shard *s = rig_shard(r, i);
        snprintf(s->name, sizeof s->name, "shard-%u", i);
        crypto_box_keypair(s->public_key, s->secret_key);
        s->boot_id = 100 + i;
        s->port_guid = 0x1000 + i;
        s->grants = g_hash_table_new(NULL, NULL);
        s->pending_probes = g_array_new(FALSE, TRUE, sizeof(struct pending_probe));
        s->verdict = HEDDLE__PROBE_VERDICT__VERDICT_ALIVE;
        enrol(r, s->name, s->public_key, false);
    }
    enrol(r, "admin", (const uint8_t *)"an operator's key, of no use here", true);
    return r;
}

void rig_reload(struct rig *r)
{
    struct coord_event e = {
        .kind = COORD_EV_START, .assignment = r->ledger, .lids = r->lids, .revision = r->revision};
    r->swap_waits = false;
    step(r, &e);
}

void rig_start(struct rig *r)
{
    r->core = coord_core_create(&r->config);
    r->next_beat = r->now + BEAT_MS;
    rig_reload(r);
}

void rig_restart(struct rig *r)
{
    coord_core_destroy(r->core);
    r->config.boot_id++;
    for (unsigned i = 1; i <= r->shard_count; i++)
        rig_shard(r, i)->hello_due = rig_shard(r, i)->told != NULL;
    rig_start(r);
}

void rig_free(struct rig *r)
{
    coord_core_destroy(r->core);
    for (unsigned i = 0; i < r->shard_count; i++) {
        heddle__assignment__free_unpacked(r->shards[i].told, NULL);
        g_hash_table_unref(r->shards[i].grants);
        g_array_unref(r->shards[i].pending_probes);
    }
    for (guint i = 0; i < r->config.rules->len; i++) {
        struct coord_domain_rule *rule =
            &g_array_index(r->config.rules, struct coord_domain_rule, i);
        g_array_unref(rule->switches);
        g_array_unref(rule->ranges);
    }
    g_array_unref(r->config.rules);
    g_array_unref(r->config.enrolled);
    heddle__cluster_config__free_unpacked(r->config.cluster_config, NULL);
    heddle__assignment__free_unpacked(r->ledger, NULL);
    heddle__lid_backup__free_unpacked(r->lids, NULL);
    heddle__status__free_unpacked(r->status, NULL);
    g_hash_table_unref(r->owners);
    g_free(r);
}
