/* SPDX-License-Identifier: BSD-2-Clause */
/* Replications joined by a network in memory that loses, repeats, reorders and parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shard/replication.h"

#include <stdio.h>
#include <string.h>

#define MAX_NODES 5
#define MAX_DOMAINS 3
#define SWITCHES_A_DOMAIN 20

struct packet {
    int from, to;
    enum shard_channel channel;
    uint64_t at_ms, boot_id;
    struct envelope m; /* body packed: */
    GBytes *body;
};

struct node {
    struct world *w;
    int index;
    char name[64];
    struct view *view;
    struct replication *r;
    bool alive;
    uint64_t boot_id;
    uint64_t applied_epoch[MAX_DOMAINS]; /* the last epoch seen by the callback */
    bool ready[MAX_DOMAINS];             /* suffix_done for our epoch */
    uint64_t own_epoch[MAX_DOMAINS];
};

struct world {
    GRand *rand;
    int nodes, domains;
    struct node node[MAX_NODES];
    GPtrArray *packets;
    uint64_t now;
    double loss, repeat;
    uint32_t delay_ms;
    bool cut[MAX_NODES][MAX_NODES];
    bool reorder;
    uint64_t last_at[MAX_NODES][MAX_NODES][3]; /* by channel: without reorder it is a stream */
    Heddle__Assignment *a;
    uint64_t sent, deltas_sent;
};

static void packet_free(gpointer p)
{
    struct packet *k = p;
    g_bytes_unref(k->body);
    g_free(k);
}

static void net_send(void *user, enum shard_channel channel, const char *peer,
                     const struct envelope *m)
{
    struct node *n = user;
    struct world *w = n->w;
    int to = peer[1] - '0';
    assert_true(to >= 0 && to < w->nodes && to != n->index);
    w->sent++;
    w->deltas_sent += m->type == HEDDLE__MESSAGE_TYPE__MSG_DELTA;
    if (w->cut[n->index][to] || !w->node[to].alive)
        return;
    int copies = g_rand_double(w->rand) < w->repeat ? 2 : 1;
    for (int i = 0; i < copies; i++) {
        if (g_rand_double(w->rand) < w->loss)
            continue;
        size_t size = m->body != NULL ? protobuf_c_message_get_packed_size(m->body) : 0;
        uint8_t *bytes = g_malloc(size + 1);
        if (m->body != NULL)
            protobuf_c_message_pack(m->body, bytes);
        struct packet *k = g_new0(struct packet, 1);
        *k = (struct packet){.from = n->index, .to = to, .channel = channel, .m = *m};
        k->at_ms = w->now + 1 + (uint64_t)g_rand_int_range(w->rand, 0, (gint)w->delay_ms + 1);
        if (!w->reorder)
            k->at_ms = MAX(k->at_ms, w->last_at[n->index][to][channel]);
        w->last_at[n->index][to][channel] = k->at_ms;
        k->boot_id = n->boot_id;
        k->body = g_bytes_new_take(bytes, size);
        g_ptr_array_add(w->packets, k);
    }
}

static void on_applied(void *user, uint32_t domain, const Heddle__Delta *d, unsigned changed,
                       bool own)
{
    struct node *n = user;
    uint64_t epoch = view_domain(n->view, domain)->epoch;
    assert_true(epoch >= n->applied_epoch[domain]); /* an older epoch is never applied */
    n->applied_epoch[domain] = epoch;
}

static bool grant_ok(void *user, const uint8_t *grant, size_t len, uint32_t domain, uint64_t epoch,
                     char owner[64])
{
    char text[128] = "";
    unsigned long e;
    unsigned d;
    memcpy(text, grant, MIN(len, sizeof text - 1));
    return sscanf(text, "%u %lu %63s", &d, &e, owner) == 3 && d == domain && e == epoch;
}

static void on_acked(void *user, uint32_t domain)
{
}

static void on_suffix_done(void *user, uint32_t domain)
{
    struct node *n = user;
    n->ready[domain] = true;
}

static void on_log(void *user, int level, const char *event, const char *format, ...)
{
}

static void node_start(struct world *w, int i)
{
    struct node *n = &w->node[i];
    uint64_t boot_id = n->boot_id + 1;
    *n = (struct node){.w = w, .index = i, .alive = true, .boot_id = boot_id};
    snprintf(n->name, sizeof n->name, "n%d", i);
    struct replication_callbacks cb = {.user = n,
                                       .send = net_send,
                                       .applied = on_applied,
                                       .grant_ok = grant_ok,
                                       .acked = on_acked,
                                       .suffix_done = on_suffix_done,
                                       .log = on_log};
    n->view = view_create();
    n->r = replication_create(n->view, &cb, n->name);
    view_assign(n->view, w->a);
    replication_set_assignment(n->r, w->a);
}

static void node_stop(struct world *w, int i)
{
    struct node *n = &w->node[i];
    replication_destroy(n->r);
    view_destroy(n->view);
    n->r = NULL;
    n->view = NULL;
    n->alive = false;
}

static Heddle__Assignment *make_assignment(int nodes, int domains)
{
    Heddle__Assignment *a = g_new0(Heddle__Assignment, 1);
    heddle__assignment__init(a);
    a->members = g_new0(Heddle__Member *, nodes);
    for (int i = 0; i < nodes; i++) {
        Heddle__Member *m = a->members[a->n_members++] = g_new0(Heddle__Member, 1);
        heddle__member__init(m);
        m->name = g_strdup_printf("n%d", i);
        m->state = HEDDLE__MEMBER_STATE__MEMBER_LIVE;
    }
    a->domains = g_new0(Heddle__Domain *, domains);
    for (int i = 0; i < domains; i++) {
        Heddle__Domain *d = a->domains[a->n_domains++] = g_new0(Heddle__Domain, 1);
        heddle__domain__init(d);
        d->id = (uint32_t)i;
        d->owner = g_strdup("");
        d->n_switches = SWITCHES_A_DOMAIN;
        d->switches = g_new0(uint64_t, SWITCHES_A_DOMAIN);
        for (uint64_t j = 0; j < SWITCHES_A_DOMAIN; j++)
            d->switches[j] = 0x1000u * ((uint64_t)i + 1) + j;
    }
    return a;
}

static void world_start(struct world *w, uint32_t seed, int nodes, int domains)
{
    *w = (struct world){.rand = g_rand_new_with_seed(seed), .nodes = nodes, .domains = domains};
    w->packets = g_ptr_array_new_with_free_func(packet_free);
    w->now = 1000;
    w->delay_ms = 3;
    w->a = make_assignment(nodes, domains);
    for (int i = 0; i < nodes; i++)
        node_start(w, i);
}

static void world_stop(struct world *w)
{
    for (int i = 0; i < w->nodes; i++)
        if (w->node[i].alive)
            node_stop(w, i);
    g_ptr_array_free(w->packets, TRUE);
    heddle__assignment__free_unpacked(w->a, NULL);
    g_rand_free(w->rand);
}

static void deliver(struct world *w, struct packet *k)
{
    const ProtobufCMessageDescriptor *t = envelope_body_descriptor(k->m.type);
    gsize size;
    const uint8_t *bytes = g_bytes_get_data(k->body, &size);
    struct node *to = &w->node[k->to];
    if (!to->alive || w->cut[k->from][k->to])
        return;
    struct envelope m = k->m;
    m.boot_id = k->boot_id;
    m.body = t != NULL ? protobuf_c_message_unpack(t, NULL, size, bytes) : NULL;
    replication_message(to->r, k->channel, w->node[k->from].name, &m, w->now);
    if (m.body != NULL)
        protobuf_c_message_free_unpacked(m.body, NULL);
}

static void run(struct world *w, uint64_t ms)
{
    for (uint64_t end = w->now + ms; w->now < end; w->now++) {
        for (guint i = 0; i < w->packets->len;) {
            struct packet *k = g_ptr_array_index(w->packets, i);
            if (k->at_ms > w->now) {
                i++;
                continue;
            }
            k = g_ptr_array_steal_index(w->packets, i);
            deliver(w, k);
            packet_free(k);
        }
        for (int i = 0; i < w->nodes; i++)
            if (w->node[i].alive && replication_deadline(w->node[i].r) <= w->now)
                replication_tick(w->node[i].r, w->now);
    }
}

static void join(struct world *w, int a, int b)
{
    w->cut[a][b] = w->cut[b][a] = false;
    if (!w->node[a].alive || !w->node[b].alive)
        return;
    replication_link_up(w->node[a].r, w->node[b].name, w->now);
    replication_link_up(w->node[b].r, w->node[a].name, w->now);
}

static void part(struct world *w, int a, int b)
{
    w->cut[a][b] = w->cut[b][a] = true;
    if (w->node[a].alive)
        replication_link_down(w->node[a].r, w->node[b].name, w->now);
    if (w->node[b].alive)
        replication_link_down(w->node[b].r, w->node[a].name, w->now);
}

static void join_all(struct world *w)
{
    for (int a = 0; a < w->nodes; a++)
        for (int b = a + 1; b < w->nodes; b++)
            join(w, a, b);
}

static void spread_assignment(struct world *w)
{
    for (int i = 0; i < w->nodes; i++) {
        if (!w->node[i].alive)
            continue;
        view_assign(w->node[i].view, w->a);
        replication_set_assignment(w->node[i].r, w->a);
    }
}

/* The coordinator's part: a new epoch with this owner. tell = others hear of it at once. */
static void grant(struct world *w, int domain, int owner, bool tell)
{
    Heddle__Domain *d = w->a->domains[domain];
    struct node *n = &w->node[owner];
    char text[128];
    d->epoch++;
    g_free(d->owner);
    d->owner = g_strdup(n->name);
    if (tell)
        spread_assignment(w);
    snprintf(text, sizeof text, "%d %lu %s", domain, d->epoch, n->name);
    n->ready[domain] = false;
    n->own_epoch[domain] = d->epoch;
    replication_own(n->r, (uint32_t)domain, d->epoch, (const uint8_t *)text, strlen(text), w->now);
    if (!tell)
        spread_assignment(w);
}

static struct node *owner_of(struct world *w, int domain)
{
    return w->a->domains[domain]->owner[0] != '\0' ? &w->node[w->a->domains[domain]->owner[1] - '0']
                                                   : NULL;
}

static uint64_t publish(struct world *w, int domain)
{
    struct node *n = owner_of(w, domain);
    if (n == NULL || !n->alive || !n->ready[domain])
        return 0;
    Heddle__Delta *d = g_new0(Heddle__Delta, 1);
    heddle__delta__init(d);
    struct view_port ports[3] = {0};
    struct view_switch s = {.nports = 2, .ports = ports, .reachable = true};
    s.guid = 0x1000u * ((uint64_t)domain + 1) + g_rand_int(w->rand) % SWITCHES_A_DOMAIN;
    if (g_rand_int(w->rand) % 4 == 0) {
        d->removed_switches = g_memdup2(&s.guid, sizeof s.guid);
        d->n_removed_switches = 1;
    } else {
        ports[1].peer_guid = g_rand_int(w->rand);
        view_delta_add_switch(d, view_pack_switch(&s));
        struct view_end_port e = {.node_guid = s.guid + 0x100000, .num = 1, .present = true};
        e.switch_guid = s.guid;
        e.switch_port = 1;
        e.lid = (uint16_t)(1 + g_rand_int(w->rand) % 1000);
        view_delta_add_end_port(d, view_pack_end_port(&e));
    }
    return replication_publish(n->r, (uint32_t)domain, d, w->now);
}

/* All records and the position of a domain as bytes. */
static GByteArray *fingerprint(struct view *v, uint32_t domain)
{
    GByteArray *out = g_byte_array_new();
    GPtrArray *chunks = view_snapshot(v, domain, 1u << 30);
    const struct view_domain *d = view_domain(v, domain);
    g_byte_array_append(out, (const guint8 *)&d->epoch, sizeof d->epoch);
    g_byte_array_append(out, (const guint8 *)&d->seq, sizeof d->seq);
    for (guint i = 0; i < chunks->len; i++) {
        const Heddle__Delta *c = g_ptr_array_index(chunks, i);
        g_autofree uint8_t *bytes = g_malloc(heddle__delta__get_packed_size(c) + 1);
        g_byte_array_append(out, bytes, (guint)heddle__delta__pack(c, bytes));
    }
    g_ptr_array_free(chunks, TRUE);
    return out;
}

static bool same_as_owner(struct world *w, int domain, int i)
{
    struct node *o = owner_of(w, domain);
    GByteArray *want = fingerprint(o->view, (uint32_t)domain);
    GByteArray *have = fingerprint(w->node[i].view, (uint32_t)domain);
    bool same = want->len == have->len && memcmp(want->data, have->data, want->len) == 0;
    g_byte_array_free(want, TRUE);
    g_byte_array_free(have, TRUE);
    return same;
}

static bool converged(struct world *w)
{
    for (int d = 0; d < w->domains; d++)
        for (int i = 0; i < w->nodes; i++)
            if (w->node[i].alive && !same_as_owner(w, d, i))
                return false;
    return true;
}

static bool run_until_converged(struct world *w, uint64_t limit_ms)
{
    for (uint64_t end = w->now + limit_ms; w->now < end; run(w, 20))
        if (converged(w))
            return true;
    return converged(w);
}

/* -- tests -- */

static void stream_reaches_all(void **state)
{
    struct world w;
    world_start(&w, 1, 3, 1);
    join_all(&w);
    grant(&w, 0, 0, true);
    run(&w, 50);
    assert_true(w.node[0].ready[0]);
    uint64_t seq = 0;
    for (int i = 0; i < 200; i++)
        seq = publish(&w, 0);
    assert_int_equal(seq, 200);
    assert_false(replication_acked(w.node[0].r, 0, seq));
    run(&w, 50);
    assert_true(replication_acked(w.node[0].r, 0, seq));
    assert_true(converged(&w));
    world_stop(&w);
}

static void window_bounds_a_silent_peer(void **state)
{
    struct world w;
    world_start(&w, 2, 2, 1);
    join_all(&w);
    grant(&w, 0, 0, true);
    run(&w, 50);
    publish(&w, 0);
    run(&w, 50);
    w.cut[0][1] = w.cut[1][0] = true; /* in silence: no link_down */
    uint64_t before = w.deltas_sent;
    for (int i = 0; i < 5000; i++)
        publish(&w, 0);
    run(&w, 20000);
    assert_true(w.deltas_sent - before <= 256 + 20);
    w.cut[0][1] = w.cut[1][0] = false;
    assert_true(run_until_converged(&w, 15000)); /* by snapshot: the log has 1,024 */
    world_stop(&w);
}

static void late_joiner_takes_a_snapshot(void **state)
{
    struct world w;
    world_start(&w, 3, 3, 2);
    join(&w, 0, 1);
    grant(&w, 0, 0, true);
    grant(&w, 1, 1, true);
    run(&w, 50);
    for (int i = 0; i < 1500; i++) {
        publish(&w, 0);
        publish(&w, 1);
        run(&w, 1);
    }
    join(&w, 0, 2);
    join(&w, 1, 2);
    assert_true(run_until_converged(&w, 1000));
    world_stop(&w);
}

static void takeover_collects_the_longest_suffix(void **state)
{
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct world w;
        world_start(&w, seed, 4, 1);
        join_all(&w);
        grant(&w, 0, 0, true);
        run(&w, 50);
        publish(&w, 0);
        run(&w, 20);
        part(&w, 0, 2); /* 2 misses what comes now; 1 and 3 have it */
        for (int i = 0; i < 30; i++)
            publish(&w, 0);
        run(&w, 10);
        part(&w, 0, 3);
        uint64_t seq = publish(&w, 0); /* only 1 has the last one */
        run(&w, 10);
        node_stop(&w, 0);
        for (int i = 1; i < 4; i++)
            replication_link_down(w.node[i].r, "n0", w.now);
        w.a->members[0]->state = HEDDLE__MEMBER_STATE__MEMBER_DEAD;
        grant(&w, 0, 2, seed % 2 == 0);
        uint64_t began = w.now;
        while (!w.node[2].ready[0] && w.now < began + 1000)
            run(&w, 1);
        assert_true(w.now - began <= 40);
        assert_int_equal(view_domain(w.node[2].view, 0)->seq, seq);
        assert_int_equal(publish(&w, 0), 1);
        assert_true(run_until_converged(&w, 200));
        world_stop(&w);
    }
}

static void stale_owner_is_not_heard(void **state)
{
    struct world w;
    world_start(&w, 5, 3, 1);
    join_all(&w);
    grant(&w, 0, 0, true);
    run(&w, 50);
    publish(&w, 0);
    run(&w, 20);
    struct node *old = &w.node[0];
    part(&w, 0, 1);
    grant(&w, 0, 1, false); /* 0 hears of it last; 2 promised 1 to take nothing older */
    run(&w, 5);
    Heddle__Delta *d = g_new0(Heddle__Delta, 1);
    heddle__delta__init(d);
    uint64_t seq = replication_publish(old->r, 0, d, w.now);
    run(&w, 40);
    assert_false(replication_acked(old->r, 0, seq));
    publish(&w, 0);
    join(&w, 0, 1);
    assert_true(run_until_converged(&w, 3000));
    assert_int_equal(view_domain(old->view, 0)->epoch, 2);
    world_stop(&w);
}

static void random_fault(struct world *w)
{
    int a = (int)(g_rand_int(w->rand) % (unsigned)w->nodes);
    int b = (int)(g_rand_int(w->rand) % (unsigned)w->nodes);
    int domain = (int)(g_rand_int(w->rand) % (unsigned)w->domains);
    switch (g_rand_int(w->rand) % 6) {
    case 0:
        if (a != b)
            part(w, a, b);
        break;
    case 1:
    case 2:
        if (a != b)
            join(w, a, b);
        break;
    case 3:
        if (w->node[a].alive)
            grant(w, domain, a, g_rand_boolean(w->rand));
        break;
    case 4: /* restart, empty; its domains go to another */
        if (!w->node[a].alive || !w->node[b].alive || a == b)
            break;
        node_stop(w, a);
        for (int i = 0; i < w->nodes; i++)
            if (w->node[i].alive)
                replication_link_down(w->node[i].r, w->node[a].name, w->now);
        node_start(w, a);
        for (int i = 0; i < w->nodes; i++)
            if (i != a && !w->cut[a][i])
                join(w, a, i);
        for (int d = 0; d < w->domains; d++)
            if (owner_of(w, d) == &w->node[a])
                grant(w, d, b, g_rand_boolean(w->rand));
        break;
    default:
        w->loss = g_rand_double_range(w->rand, 0, 0.2);
        w->repeat = g_rand_double_range(w->rand, 0, 0.2);
        w->delay_ms = (uint32_t)g_rand_int_range(w->rand, 0, 30);
        w->reorder = g_rand_boolean(w->rand);
    }
}

static void random_faults_end_in_agreement(void **state)
{
    const char *one = g_getenv("SEED");
    uint32_t first = one != NULL ? (uint32_t)strtoul(one, NULL, 10) : 1;
    for (uint32_t seed = first; seed < first + (one != NULL ? 1u : 16u); seed++) {
        struct world w;
        world_start(&w, seed, 2 + (int)(seed % 4), 1 + (int)(seed % MAX_DOMAINS));
        join_all(&w);
        for (int d = 0; d < w.domains; d++)
            grant(&w, d, d % w.nodes, true);
        for (int step = 0; step < 400; step++) {
            for (int i = 0; i < 3; i++)
                publish(&w, (int)(g_rand_int(w.rand) % (unsigned)w.domains));
            if (g_rand_int(w.rand) % 8 == 0)
                random_fault(&w);
            run(&w, 1 + g_rand_int(w.rand) % 20);
        }
        w.loss = w.repeat = 0;
        w.delay_ms = 3;
        w.reorder = false;
        join_all(&w);
        run(&w, 500);
        for (int d = 0; d < w.domains; d++)
            publish(&w, d);
        if (!run_until_converged(&w, 20000)) {
            for (int d = 0; d < w.domains; d++)
                for (int i = 0; i < w.nodes; i++) {
                    const struct view_domain *v = view_domain(w.node[i].view, (uint32_t)d);
                    print_error("domain %d owner %s node %d alive %d ready %d at %lu/%lu %s\n", d,
                                w.a->domains[d]->owner, i, w.node[i].alive, w.node[i].ready[d],
                                v->epoch, v->seq, same_as_owner(&w, d, i) ? "same" : "differs");
                }
            print_error("replay: SEED=%u %s\n", seed, "replication_test");
            fail();
        }
        world_stop(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_reaches_all),
        cmocka_unit_test(window_bounds_a_silent_peer),
        cmocka_unit_test(late_joiner_takes_a_snapshot),
        cmocka_unit_test(takeover_collects_the_longest_suffix),
        cmocka_unit_test(stale_owner_is_not_heard),
        cmocka_unit_test(random_faults_end_in_agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
