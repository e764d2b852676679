/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what operators may ask a shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "shard/tables.h"
#include "shard/test_rig.h"

static int setup(void **state)
{
    *state = rig_create();
    return 0;
}

static int teardown(void **state)
{
    rig_destroy(*state);
    return 0;
}

static void ask_as(struct rig *r, const char *peer, uint32_t type, ProtobufCMessage *body)
{
    struct envelope m = {.type = type, .body = body, .incarnation = 1};
    g_strlcpy(m.cluster, RIG_CLUSTER, sizeof m.cluster);
    g_strlcpy(m.sender, peer, sizeof m.sender);
    rig_clear(r);
    rig_step(r,
             &(struct shard_event){
                 .kind = SHARD_EV_MESSAGE, .channel = SHARD_CONTROL, .peer = peer, .message = &m});
}

/* The k-th message to this peer. */
static const struct envelope *sent(struct rig *r, const char *peer, unsigned k)
{
    const struct shard_action *a;
    for (unsigned i = 0; (a = rig_action(r, SHARD_ACT_SEND, 0, i)); i++)
        if (strcmp(a->peer, peer) == 0 && k-- == 0)
            return &a->message;
    return NULL;
}

static const char *refusal(struct rig *r, const char *peer)
{
    const struct envelope *m = sent(r, peer, 0);
    assert_non_null(m);
    assert_int_equal(m->type, HEDDLE__MESSAGE_TYPE__MSG_ERROR);
    return ((const Heddle__Refused *)m->body)->reason;
}

static const Heddle__Route *route(struct rig *r, const char *source, const char *destination)
{
    Heddle__RouteAsk ask = HEDDLE__ROUTE_ASK__INIT;
    ask.source = (char *)source;
    ask.destination = (char *)destination;
    ask_as(r, RIG_OPERATOR, HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK, &ask.base);
    const struct envelope *m = sent(r, RIG_OPERATOR, 0);
    assert_non_null(m);
    return m->type == HEDDLE__MESSAGE_TYPE__MSG_ROUTE ? (const Heddle__Route *)m->body : NULL;
}

/* Lets the core compute routes of what it sees. */
static void compute(struct rig *r)
{
    for (uint32_t domain = 1; domain <= 2; domain++)
        view_domain(r->core->view, domain)->phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
    tables_wake(r->core);
    rig_clear(r);
    rig_run(r, 100);
    const struct shard_action *a = rig_action(r, SHARD_ACT_ROUTE, 0, 0);
    assert_non_null(a);
    struct route_result *result = route_job_run(a->job);
    assert_string_equal(result->error, "");
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_ROUTED, .routed = result});
    assert_non_null(tables_plan(r->core));
}

static void only_operators_may_ask(void **state)
{
    struct rig *r = *state;
    static const uint32_t types[] = {HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK,
                                     HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK,
                                     HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK};
    Heddle__RouteAsk ask = HEDDLE__ROUTE_ASK__INIT;
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        ask_as(r, "shard2", types[i], i == 1 ? &ask.base : NULL);
        assert_string_equal(refusal(r, "shard2"), "only operators may ask this");
        assert_null(sent(r, "shard2", 1));
    }
}

/* The sender inside a message is nothing, the connection's name is all. */
static void a_name_inside_is_not_believed(void **state)
{
    struct rig *r = *state;
    struct envelope m = {.type = HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK};
    g_strlcpy(m.cluster, RIG_CLUSTER, sizeof m.cluster);
    g_strlcpy(m.sender, RIG_OPERATOR, sizeof m.sender);
    struct shard_event e = {.kind = SHARD_EV_MESSAGE, .peer = "shard2", .message = &m};
    rig_step(r, &e);
    assert_null(sent(r, "shard2", 0));
    assert_null(sent(r, RIG_OPERATOR, 0));
    /* Nor is another cluster's operator. */
    g_strlcpy(m.cluster, "other", sizeof m.cluster);
    e.peer = RIG_OPERATOR;
    rig_step(r, &e);
    assert_null(sent(r, RIG_OPERATOR, 0));
}

static void the_whole_view(void **state)
{
    struct rig *r = *state;
    view_set_position(r->core->view, 1, 5, 6);
    ask_as(r, RIG_OPERATOR, HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK, NULL);
    size_t switches = 0, ends = 0;
    unsigned k = 0;
    const struct envelope *m;
    bool over = false;
    for (; (m = sent(r, RIG_OPERATOR, k)); k++) {
        assert_int_equal(m->type, HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT);
        assert_false(over); /* nothing after the end */
        const Heddle__Snapshot *s = (const Heddle__Snapshot *)m->body;
        switches += s->content->n_switches;
        ends += s->content->n_end_ports;
        over = m->domain == UINT32_MAX;
        if (m->domain == 1)
            assert_true(m->epoch == 5 && m->seq == 6);
        uint8_t *bytes;
        size_t len;
        assert_int_equal(envelope_encode(m, &bytes, &len), 0); /* it fits on the wire */
        g_free(bytes);
    }
    assert_true(over);
    assert_int_equal(switches, 3);
    assert_int_equal(ends, 4);
}

static void the_status_is_elsewhere(void **state)
{
    struct rig *r = *state;
    ask_as(r, RIG_OPERATOR, HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK, NULL);
    assert_string_equal(refusal(r, RIG_OPERATOR), "ask a coordinator for the status");
}

static void no_route_before_there_are_routes(void **state)
{
    struct rig *r = *state;
    assert_null(route(r, "10", "13"));
    assert_non_null(strstr(refusal(r, RIG_OPERATOR), "no routes are computed yet"));
}

static void assert_hop(const Heddle__Route *route, unsigned k, uint64_t guid, unsigned in,
                       unsigned out)
{
    assert_true(k < route->n_hops);
    assert_true(route->hops[k]->guid == guid);
    assert_int_equal(route->hops[k]->in_port, in);
    assert_int_equal(route->hops[k]->out_port, out);
}

static void routes_by_any_name(void **state)
{
    struct rig *r = *state;
    compute(r);
    static const char *const sources[] = {"10", "0x0000000000a00001", "0x0000000000a00000",
                                          "host a", "0xa"};
    static const char *const destinations[] = {"13", "0000000000d00001", "0x0000000000d00000",
                                               "host d", "0xd"};
    for (unsigned i = 0; i < G_N_ELEMENTS(sources); i++) {
        const Heddle__Route *x = route(r, sources[i], destinations[i]);
        assert_non_null(x);
        assert_string_equal(x->error, "");
        assert_int_equal(x->slid, 10);
        assert_int_equal(x->dlid, 13);
        assert_int_equal(x->n_hops, 5);
        assert_hop(x, 0, RIG_HOST_A, 0, 1);
        assert_hop(x, 1, RIG_LEAF, 1, 3);
        assert_hop(x, 2, RIG_SPINE, 1, 2);
        assert_hop(x, 3, RIG_LEAF2, 3, 2);
        assert_hop(x, 4, RIG_HOST_D, 1, 0);
        assert_int_equal(x->hops[2]->description.len, 5);
        assert_memory_equal(x->hops[2]->description.data, "spine", 5);
    }
}

static void routes_of_switches(void **state)
{
    struct rig *r = *state;
    compute(r);
    const Heddle__Route *x = route(r, "leaf1", "leaf2");
    assert_non_null(x);
    assert_string_equal(x->error, "");
    assert_int_equal(x->n_hops, 3);
    assert_hop(x, 2, RIG_LEAF2, 3, 0);
    x = route(r, "host b", "host b");
    assert_non_null(x);
    assert_string_equal(x->error, "");
}

static void ends_that_do_not_exist(void **state)
{
    struct rig *r = *state;
    compute(r);
    static const char *const nobody[] = {"",
                                         "0",
                                         "49",
                                         "65535",
                                         "0x0000000000000999",
                                         "nobody",
                                         "host",
                                         "\x01\xff",
                                         "99999999999999999999"};
    for (unsigned i = 0; i < G_N_ELEMENTS(nobody); i++) {
        assert_null(route(r, "host a", nobody[i]));
        assert_non_null(strstr(refusal(r, RIG_OPERATOR), "no port with a LID is called"));
        assert_null(route(r, nobody[i], "host a"));
    }
}

static void a_host_that_is_away(void **state)
{
    struct rig *r = *state;
    compute(r);
    struct view_end_port e = *view_end_port(r->core->view, RIG_HOST_D, 1);
    e.present = false;
    rig_put_end_port(r, &e);
    const Heddle__Route *x = route(r, "host a", "host d");
    assert_non_null(x);
    assert_string_not_equal(x->error, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_operators_may_ask),
        TEST(a_name_inside_is_not_believed),
        TEST(the_whole_view),
        TEST(the_status_is_elsewhere),
        TEST(no_route_before_there_are_routes),
        TEST(routes_by_any_name),
        TEST(routes_of_switches),
        TEST(ends_that_do_not_exist),
        TEST(a_host_that_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
