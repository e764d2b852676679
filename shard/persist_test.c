/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the view in the store: a round trip, and bytes of anybody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "shard/domain.h"
#include "shard/persist.h"
#include "shard/test_rig.h"

#define ROUNDS 3000u

static void stored_free(gpointer p)
{
    struct shard_stored *s = p;
    g_bytes_unref(s->key);
    g_bytes_unref(s->value);
    g_free(s);
}

static GPtrArray *store_new(void)
{
    return g_ptr_array_new_with_free_func(stored_free);
}

static void store_put(GPtrArray *store, const char *table, GBytes *key, GBytes *value)
{
    for (guint i = 0; i < store->len; i++) {
        const struct shard_stored *s = store->pdata[i];
        if (strcmp(s->table, table) == 0 && g_bytes_equal(s->key, key)) {
            g_ptr_array_remove_index(store, i);
            break;
        }
    }
    if (!value)
        return;
    struct shard_stored *s = g_new0(struct shard_stored, 1);
    g_strlcpy(s->table, table, sizeof s->table);
    s->key = g_bytes_ref(key);
    s->value = g_bytes_ref(value);
    g_ptr_array_add(store, s);
}

/* Carries out the STORE actions since rig_clear. */
static void commit(struct rig *r, GPtrArray *store)
{
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
    const struct shard_action *a;
    for (unsigned k = 0; (a = rig_action(r, SHARD_ACT_STORE, 0, k)); k++)
        for (guint i = 0; i < a->items->len; i++) {
            const struct shard_store_item *item = a->items->pdata[i];
            store_put(store, item->table, item->key, item->value);
        }
}

/* What a shard stores of the rig's fabric. */
static GPtrArray *stored_fabric(struct rig *r)
{
    GPtrArray *store = store_new();
    view_set_position(r->core->view, 1, 3, 17);
    view_set_position(r->core->view, 2, 4, 18);
    view_domain(r->core->view, 1)->phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
    for (uint32_t domain = 1; domain <= 2; domain++) {
        GPtrArray *chunks = view_snapshot(r->core->view, domain, 1u << 20);
        for (guint i = 0; i < chunks->len; i++)
            persist_delta(r->core, domain, chunks->pdata[i]);
        g_ptr_array_set_free_func(chunks, NULL);
        for (guint i = 0; i < chunks->len; i++)
            heddle__delta__free_unpacked(chunks->pdata[i], NULL);
        g_ptr_array_unref(chunks);
    }
    commit(r, store);
    return store;
}

static void assert_same_records(const struct view *a, const struct view *b)
{
    static const uint64_t switches[] = {RIG_LEAF, RIG_LEAF2, RIG_SPINE};
    static const uint64_t hosts[] = {RIG_HOST_A, RIG_HOST_B, RIG_HOST_C, RIG_HOST_D};
    for (unsigned i = 0; i < 3; i++) {
        const struct view_switch *x = view_switch(a, switches[i]), *y = view_switch(b, switches[i]);
        assert_non_null(y);
        assert_int_equal(x->nports, y->nports);
        assert_string_equal(x->description, y->description);
        assert_memory_equal(x->nodeinfo, y->nodeinfo, sizeof x->nodeinfo);
        for (unsigned n = 0; n <= x->nports; n++) {
            assert_memory_equal(x->ports[n].portinfo, y->ports[n].portinfo, 64);
            assert_true(x->ports[n].peer_guid == y->ports[n].peer_guid);
            assert_int_equal(x->ports[n].peer_port, y->ports[n].peer_port);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        const struct view_end_port *x = view_end_port(a, hosts[i], 1);
        const struct view_end_port *y = view_end_port(b, hosts[i], 1);
        assert_non_null(y);
        assert_int_equal(x->lid, y->lid);
        assert_true(x->switch_guid == y->switch_guid && x->port_guid == y->port_guid);
        assert_int_equal(x->switch_port, y->switch_port);
        assert_string_equal(x->description, y->description);
        assert_memory_equal(x->portinfo, y->portinfo, 64);
    }
}

static void round_trip(void **state)
{
    (void)state;
    struct rig *r = rig_create();
    GPtrArray *store = stored_fabric(r);
    struct rig *again = rig_create_empty(store);
    assert_same_records(r->core->view, again->core->view);
    const struct view_domain *d = view_domain(again->core->view, 1);
    assert_non_null(d);
    assert_true(d->epoch == 3 && d->seq == 17);
    assert_int_equal(d->phase, HEDDLE__DOMAIN_PHASE__PHASE_RUNNING);
    /* LIDs of hosts and switches are known, whatever becomes of the view. */
    static const struct {
        uint64_t port_guid;
        unsigned lid;
    } lids[] = {{RIG_HOST_A + 1, 10}, {RIG_HOST_D + 1, 13}, {RIG_LEAF, 2}, {RIG_SPINE, 4}};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(
            GPOINTER_TO_UINT(g_hash_table_lookup(again->core->known_lids, &lids[i].port_guid)),
            lids[i].lid);
    rig_step(again, &(struct shard_event){.kind = SHARD_EV_START});
    assert_int_equal(rig_events(again, "store_values_unreadable"), 0);
    rig_destroy(again);
    g_ptr_array_unref(store);
    rig_destroy(r);
}

static void what_is_removed_stays_removed(void **state)
{
    (void)state;
    struct rig *r = rig_create();
    GPtrArray *store = stored_fabric(r);
    guint before = store->len;
    Heddle__Delta *d = delta_new();
    d->removed_switches = g_new0(uint64_t, 1);
    d->removed_switches[d->n_removed_switches++] = RIG_SPINE;
    d->removed_end_ports = g_new0(Heddle__EndPortRecord *, 1);
    d->removed_end_ports[0] = view_pack_end_port(view_end_port(r->core->view, RIG_HOST_B, 1));
    d->n_removed_end_ports = 1;
    rig_clear(r);
    view_apply(r->core->view, 1, d);
    persist_delta(r->core, 1, d);
    heddle__delta__free_unpacked(d, NULL);
    commit(r, store);
    assert_int_equal(store->len, before - 2);
    struct rig *again = rig_create_empty(store);
    assert_null(view_switch(again->core->view, RIG_SPINE));
    assert_null(view_end_port(again->core->view, RIG_HOST_B, 1));
    assert_non_null(view_switch(again->core->view, RIG_LEAF));
    rig_destroy(again);
    g_ptr_array_unref(store);
    rig_destroy(r);
}

static void lids_are_backed_up_once(void **state)
{
    (void)state;
    struct rig *r = rig_create();
    rig_own(r, 1);
    rig_owned(r, 1)->step = OWNED_SETUP;
    for (unsigned round = 0; round < 2; round++) {
        Heddle__Delta *d = delta_new();
        view_delta_add_switch(d, view_pack_switch(view_switch(r->core->view, RIG_LEAF)));
        view_delta_add_end_port(d, view_pack_end_port(view_end_port(r->core->view, RIG_HOST_B, 1)));
        persist_back_up_lids(r->core, 1, d);
        heddle__delta__free_unpacked(d, NULL);
    }
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
    const struct shard_action *a;
    unsigned lids = 0;
    for (unsigned k = 0; (a = rig_action(r, SHARD_ACT_SEND, 0, k)); k++)
        if (a->message.type == HEDDLE__MESSAGE_TYPE__MSG_LID_BACKUP) {
            assert_string_equal(a->peer, RIG_COORDINATOR);
            lids += ((const Heddle__LidBackup *)a->message.body)->n_lids;
        }
    assert_int_equal(lids, 2);
    rig_destroy(r);
}

/* -- bytes of anybody ----------------------------------------------------------------------------
 */

static GBytes *damaged(GRand *rand, GBytes *good)
{
    gsize len;
    const uint8_t *bytes = g_bytes_get_data(good, &len);
    gsize keep = g_rand_int(rand) % 4 == 0 ? g_rand_int(rand) % (len + 1) : len;
    gsize extra = g_rand_int(rand) % 4 == 0 ? g_rand_int(rand) % 64 : 0;
    uint8_t *copy = g_malloc0(keep + extra + 1);
    memcpy(copy, bytes, keep);
    for (gsize i = keep; i < keep + extra; i++)
        copy[i] = (uint8_t)g_rand_int(rand);
    for (unsigned k = g_rand_int(rand) % 6; k > 0 && keep + extra > 0; k--)
        copy[g_rand_int(rand) % (keep + extra)] = (uint8_t)g_rand_int(rand);
    return g_bytes_new_take(copy, keep + extra);
}

/* All that reads the view works on what came of it. */
static void use(struct rig *r)
{
    struct rt_graph *g = NULL;
    uint16_t duplicate = 0;
    if (view_graph(r->core->view, &g, &duplicate) == 0)
        rt_graph_unref(g);
    for (unsigned lid = 1; lid < 20; lid++) {
        struct view_switch *s;
        struct view_end_port *e;
        view_by_lid(r->core->view, (uint16_t)lid, &s, &e);
    }
    rig_run(r, 2);
}

static void hostile_bytes(void **state)
{
    (void)state;
    const char *given = g_getenv("HEDDLE_SEED");
    guint32 seed = given ? (guint32)g_ascii_strtoull(given, NULL, 10) : 4711;
    printf("replay: HEDDLE_SEED=%u ./persist_test\n", seed);
    GRand *rand = g_rand_new_with_seed(seed);
    struct rig *r = rig_create();
    GPtrArray *good = stored_fabric(r);
    static const char *const tables[] = {"switch", "endport", "numbers", "domain", "lid", "?"};
    for (unsigned round = 0; round < ROUNDS; round++) {
        GPtrArray *store = store_new();
        for (guint i = 0; i < good->len; i++) {
            const struct shard_stored *s = good->pdata[i];
            struct shard_stored *t = g_new0(struct shard_stored, 1);
            const char *table = g_rand_int(rand) % 16 == 0
                                    ? tables[g_rand_int(rand) % G_N_ELEMENTS(tables)]
                                    : s->table;
            g_strlcpy(t->table, table, sizeof t->table);
            t->key = damaged(rand, s->key);
            t->value = g_rand_int(rand) % 3 == 0 ? damaged(rand, s->value) : g_bytes_ref(s->value);
            g_ptr_array_add(store, t);
        }
        struct rig *again = rig_create_empty(store);
        use(again);
        rig_destroy(again);
        g_ptr_array_unref(store);
    }
    g_ptr_array_unref(good);
    g_rand_free(rand);
    rig_destroy(r);
}

static void put_bad(GPtrArray *store, const char *table, const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = g_malloc(len + 1);
    protobuf_c_message_pack(m, bytes);
    g_autoptr(GBytes) key = g_bytes_new(&store->len, sizeof store->len);
    g_autoptr(GBytes) value = g_bytes_new_take(bytes, len);
    store_put(store, table, key, value);
}

/* Well-formed records with fields out of their bounds: each is left out and counted. */
static void fields_out_of_bounds(void **state)
{
    (void)state;
    uint8_t long_bytes[100] = {0};
    GPtrArray *store = store_new();
    Heddle__SwitchRecord s = HEDDLE__SWITCH_RECORD__INIT;
    s.guid = 5;
    s.nodeinfo = (ProtobufCBinaryData){39, long_bytes};
    put_bad(store, "switch", &s.base);
    s.nodeinfo.len = 40;
    s.description = (ProtobufCBinaryData){65, long_bytes};
    put_bad(store, "switch", &s.base);
    Heddle__PortRecord p = HEDDLE__PORT_RECORD__INIT, *ports[] = {&p};
    s.description.len = 0;
    s.n_ports = 1;
    s.ports = ports;
    p.num = 1u << 30;
    put_bad(store, "switch", &s.base);
    Heddle__EndPortRecord e = HEDDLE__END_PORT_RECORD__INIT;
    e.num = 256;
    put_bad(store, "endport", &e.base);
    e.num = 1;
    e.lid = 0x10005;
    e.portinfo = (ProtobufCBinaryData){64, long_bytes};
    put_bad(store, "endport", &e.base);
    e.lid = 5;
    e.lmc = 200;
    put_bad(store, "endport", &e.base);
    Heddle__LeafNumbers l = HEDDLE__LEAF_NUMBERS__INIT;
    uint32_t values[] = {1, 1u << 31};
    l.n_ports = 2;
    l.ports = values;
    put_bad(store, "numbers", &l.base);
    Heddle__DomainState d = HEDDLE__DOMAIN_STATE__INIT;
    Heddle__DomainReport report = HEDDLE__DOMAIN_REPORT__INIT;
    report.domain = 1;
    report.state = &d;
    d.programmed_digest = (ProtobufCBinaryData){7, long_bytes};
    put_bad(store, "domain", &report.base);
    d.programmed_digest.len = 0;
    d.phase = (Heddle__DomainPhase)77;
    put_bad(store, "domain", &report.base);
    struct rig *r = rig_create_empty(store);
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_START});
    const struct shard_action *a = NULL;
    for (guint i = 0; i < r->actions->len; i++) {
        const struct shard_action *x = &g_array_index(r->actions, struct shard_action, i);
        if (x->kind == SHARD_ACT_LOG && strcmp(x->event, "store_values_unreadable") == 0)
            a = x;
    }
    assert_non_null(a);
    assert_int_equal(strncmp(a->text, "count=9 ", 8), 0);
    assert_int_equal(view_switches(r->core->view)->len, 0);
    assert_int_equal(view_end_ports(r->core->view)->len, 0);
    use(r);
    rig_destroy(r);
    g_ptr_array_unref(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(what_is_removed_stays_removed),
        cmocka_unit_test(lids_are_backed_up_once),
        cmocka_unit_test(fields_out_of_bounds),
        cmocka_unit_test(hostile_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
