/* SPDX-License-Identifier: BSD-2-Clause */
/* The digest of tables stays the same under other LIDs and other orders of a file, and changes with
 * anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "fabric/read.h"
#include "routing/digest.h"
#include "routing/engine.h"

static const char *const fabrics[] = {"pgft:2:4,4:1,2:1,2", "torus:4x3:2", "random:12:30:4:5"};
static const char *const engines[] = {"ftree", "updn",   "dnup", "minhop", "dor",
                                      "sssp",  "dfsssp", "lash", "nue"};

static struct fabric *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    fabric_messages_destroy(messages);
    assert_non_null(f);
    return f;
}

static uint32_t *permutation(GRand *rand, uint32_t count)
{
    uint32_t *p = g_new(uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        p[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)g_rand_int_range(rand, 0, (gint32)i), other = p[j];
        p[j] = p[i - 1];
        p[i - 1] = other;
    }
    return p;
}

static struct fabric_port *owner(struct fabric_node *n)
{
    return &n->ports[n->type == FABRIC_SWITCH ? 0 : 1];
}

/* The same fabric with its nodes in another order and with LIDs drawn from all that there are. */
static struct fabric *disguise(const struct fabric *f, GRand *rand)
{
    struct fabric *g = fabric_create();
    g_autofree uint32_t *order = permutation(rand, f->node_count);
    g_autofree uint32_t *lids = permutation(rand, 2 * f->node_count);
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[order[i]];
        uint32_t k = fabric_add_node(g, n->guid, n->type, n->nports, n->desc);
        assert_int_equal(k, i);
        owner(&g->nodes[k])->lid = (uint16_t)(lids[i] + 1);
    }
    for (uint32_t i = 0; i < f->node_count; i++)
        for (unsigned p = 1; p <= f->nodes[i].nports; p++) {
            const struct fabric_port *port = &f->nodes[i].ports[p];
            if (port->peer_node > i && port->peer_node != FABRIC_NONE)
                assert_int_equal(fabric_connect(g, fabric_find(g, f->nodes[i].guid), p,
                                                fabric_find(g, f->nodes[port->peer_node].guid),
                                                port->peer_port),
                                 0);
        }
    return g;
}

/* -- digests ----------------------------------------------------------------------------------- */

struct made {
    struct rt_plan *plan;
    uint8_t *bytes;
    const uint8_t **rows;
    struct rt_tables tables;
    struct rt_lanes lanes;
};

static bool make(struct made *m, const char *engine, const struct fabric *f)
{
    struct rt_options options = {.max_vls = 8};
    struct rt_graph *g;
    char error[512];
    *m = (struct made){0};
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    int rc = rt_engine_find(engine)->prepare(g, &options, &m->plan, error, sizeof error);
    size_t size = g->max_lid + 1u;
    if (rc == 0) {
        m->bytes = g_malloc(size * g->switch_count);
        m->rows = g_new(const uint8_t *, g->switch_count);
        for (uint32_t s = 0; s < g->switch_count; s++) {
            m->rows[s] = m->bytes + s * size;
            rt_plan_row(m->plan, s, m->bytes + s * size, size);
        }
        m->tables = (struct rt_tables){.rows = m->rows, .row_size = size};
        rt_plan_lanes(m->plan, &m->lanes);
    }
    rt_graph_unref(g);
    return rc == 0;
}

static void digest(const struct made *m, char text[RT_DIGEST_TEXT_BYTES])
{
    uint8_t bytes[RT_DIGEST_BYTES];
    rt_tables_digest(rt_plan_graph(m->plan), &m->tables, &m->lanes, NULL, bytes);
    rt_digest_text(bytes, text);
}

static void clear(struct made *m)
{
    rt_plan_destroy(m->plan);
    g_free(m->bytes);
    g_free(m->rows);
}

static void compare(const char *engine, const struct fabric *f, const struct fabric *other)
{
    struct made a, b;
    char x[RT_DIGEST_TEXT_BYTES], y[RT_DIGEST_TEXT_BYTES];
    bool made_a = make(&a, engine, f), made_b = make(&b, engine, other);
    assert_int_equal(made_a, made_b);
    if (made_a) {
        digest(&a, x);
        digest(&b, y);
        if (strcmp(x, y) != 0)
            fail_msg("%s: %s and %s", engine, x, y);
    }
    clear(&a);
    clear(&b);
}

static void test_other_lids_and_orders(void **state)
{
    GRand *rand = g_rand_new_with_seed(31);
    for (unsigned i = 0; i < G_N_ELEMENTS(fabrics); i++)
        for (unsigned k = 0; k < 3; k++) {
            struct fabric *f = load(fabrics[i]), *other = disguise(f, rand);
            for (unsigned e = 0; e < G_N_ELEMENTS(engines); e++)
                compare(engines[e], f, other);
            fabric_destroy(f);
            fabric_destroy(other);
        }
    g_rand_free(rand);
}

/* Each entry counts, whichever it is. */
static void test_each_entry(void **state)
{
    struct fabric *f = load(fabrics[0]);
    struct made m;
    char before[RT_DIGEST_TEXT_BYTES], after[RT_DIGEST_TEXT_BYTES];
    assert_true(make(&m, "ftree", f));
    digest(&m, before);
    const struct rt_graph *g = rt_plan_graph(m.plan);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t lid = 1; lid <= g->max_lid; lid++) {
            uint8_t *entry = m.bytes + s * m.tables.row_size + lid;
            *entry ^= 1;
            digest(&m, after);
            assert_string_not_equal(before, after);
            *entry ^= 1;
        }
    digest(&m, after);
    assert_string_equal(before, after);
    clear(&m);
    fabric_destroy(f);
}

static unsigned one_sl(const void *user, uint32_t sw, uint32_t dest, unsigned path)
{
    return sw == 1 && dest == 2;
}

static void test_sl(void **state)
{
    struct fabric *f = load(fabrics[0]);
    struct made m;
    char before[RT_DIGEST_TEXT_BYTES], after[RT_DIGEST_TEXT_BYTES];
    assert_true(make(&m, "ftree", f));
    digest(&m, before);
    m.lanes = (struct rt_lanes){.vls = 2, .sl = one_sl};
    digest(&m, after);
    assert_string_not_equal(before, after);
    clear(&m);
    fabric_destroy(f);
}

/* A value that no change of the program may move: people keep digests. */
static void test_known_value(void **state)
{
    struct fabric *f = load("pgft:1:2:1:1");
    struct made m;
    char text[RT_DIGEST_TEXT_BYTES];
    assert_true(make(&m, "minhop", f));
    digest(&m, text);
    assert_string_equal(text, "a76a8e2ed4cae00dc5fef8ba9bfaddc01b3788838581f44198f3678e2f78a056");
    clear(&m);
    fabric_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_lids_and_orders),
        cmocka_unit_test(test_each_entry),
        cmocka_unit_test(test_sl),
        cmocka_unit_test(test_known_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
