/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of routing jobs and of what an action owns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shard/core.h"

/* Two leaves with a host each under one spine; LIDs beyond one block. */
static struct rt_graph *small_graph(void)
{
    struct rt_builder *b = rt_builder_create();
    assert_int_equal(rt_add_switch(b, 0xa, 4, 1, 0), 0);
    assert_int_equal(rt_add_switch(b, 0xb, 4, 2, 0), 0);
    assert_int_equal(rt_add_switch(b, 0xc, 4, 3, 0), 0);
    assert_int_equal(rt_add_link(b, 0xa, 4, 0xc, 1), 0);
    assert_int_equal(rt_add_link(b, 0xb, 4, 0xc, 2), 0);
    assert_int_equal(rt_add_dest(b, 0xa, 1, 0x100, 10, 0, RT_DEST_HOST, true), 0);
    assert_int_equal(rt_add_dest(b, 0xb, 1, 0x200, 70, 0, RT_DEST_HOST, true), 0);
    struct rt_graph *g = NULL;
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    return g;
}

static struct route_job *job(const char *engine)
{
    struct route_job *j = g_new0(struct route_job, 1);
    j->ticket = 42;
    j->graph = small_graph();
    rt_graph_digest(j->graph, j->digest);
    g_strlcpy(j->engine, engine, sizeof(j->engine));
    j->switches = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    const uint64_t wanted[] = {0xc, 0xa, 0xdead};
    g_array_append_vals(j->switches, wanted, 3);
    return j;
}

static void rows_are_the_plans(void **state)
{
    (void)state;
    struct route_job *j = job("updn");
    struct route_result *r = route_job_run(j);
    assert_string_equal(r->error, "");
    assert_int_equal(r->ticket, 42);
    assert_memory_equal(r->digest, j->digest, sizeof(j->digest));
    assert_int_equal(r->row_size, 128);
    assert_int_equal(r->rows->len, 3);
    const uint8_t *spine = r->rows->pdata[0], *leaf = r->rows->pdata[1], *none = r->rows->pdata[2];
    assert_int_equal(spine[10], 1);
    assert_int_equal(spine[70], 2);
    assert_int_equal(leaf[10], 1);
    assert_int_equal(leaf[70], 4);
    assert_int_equal(leaf[1], 0);
    assert_int_equal(leaf[127], RT_NO_PATH);
    for (size_t i = 0; i < r->row_size; i++) /* a switch that the graph does not have */
        assert_int_equal(none[i], RT_NO_PATH);
    route_job_free(j); /* the result stays */
    assert_int_equal(rt_plan_next_hop(r->plan, rt_find_switch(rt_plan_graph(r->plan), 0xc), 70), 2);
    route_result_free(r);
}

static void unknown_engine_and_roots(void **state)
{
    (void)state;
    struct route_job *j = job("magic");
    struct route_result *r = route_job_run(j);
    assert_null(r->plan);
    assert_non_null(strstr(r->error, "magic"));
    assert_int_equal(r->rows->len, 0);
    route_result_free(r);
    route_job_free(j);

    j = job("updn");
    j->root_guids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    const uint64_t root = 0xc;
    g_array_append_val(j->root_guids, root);
    r = route_job_run(j);
    assert_non_null(r->plan);
    route_result_free(r);
    route_job_free(j);
    route_result_free(NULL);
    route_job_free(NULL);
}

static void actions_free_what_they_own(void **state)
{
    (void)state;
    struct shard_action a = {.kind = SHARD_ACT_STORE, .items = g_ptr_array_new()};
    struct shard_store_item *item = g_new0(struct shard_store_item, 1);
    item->key = g_bytes_new("k", 1);
    g_ptr_array_add(a.items, item);
    shard_action_clear(&a);
    a = (struct shard_action){.kind = SHARD_ACT_ROUTE, .job = job("updn")};
    shard_action_clear(&a);
    a = (struct shard_action){.kind = SHARD_ACT_SEND_MAD, .mad = g_malloc(MAD_BYTES)};
    shard_action_clear(&a);
    Heddle__Heartbeat *h = g_new0(Heddle__Heartbeat, 1);
    heddle__heartbeat__init(h);
    a = (struct shard_action){.kind = SHARD_ACT_SEND, .message.body = &h->base};
    shard_action_clear(&a);
    Heddle__Assignment *peers = g_new0(Heddle__Assignment, 1);
    heddle__assignment__init(peers);
    a = (struct shard_action){.kind = SHARD_ACT_PEERS, .peers = peers};
    shard_action_clear(&a);
    shard_action_clear(&a); /* twice is harmless */
    assert_null(a.peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_plans),
        cmocka_unit_test(unknown_engine_and_roots),
        cmocka_unit_test(actions_free_what_they_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
