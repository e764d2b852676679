/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables, byte by byte, are what they were: digests of the tables of the engines whose code is
 * written for speed, on generated, random and real fabrics, intact and damaged. Who means to change
 * tables replaces the digests by those that the test prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/read.h"
#include "routing/testing.h"

#define RANDOM_FABRICS 400u

static const char *const engines[] = {"ftree", "updn", "dnup", "minhop"};

struct expected {
    const char *fabric; /* a generator or the name of a real fabric */
    uint64_t digest[G_N_ELEMENTS(engines)];
};

static const struct expected generated[] = {
    {"pgft:2:4,4:1,2:1,2",
     {0x164aeeecaec4bb4e, 0x35cc2d823944d56a, 0x35cc2d823944d56a, 0xc3000ff97e68cbaa}},
    {"pgft:3:4,4,4:1,4,2:1,1,2",
     {0x81523ca6fbc7e95c, 0x3bbdb8d9f350a063, 0x3bbdb8d9f350a063, 0x1a63269f6387c831}},
    {"pgft:3:8,6,4:1,4,4:1,2,1",
     {0x3bd06f71a9ee2d9c, 0xb930a00c62c9347e, 0xb930a00c62c9347e, 0xb7bc39999a197094}},
    {"pgft:3:8,8,8:1,8,4:1,1,1",
     {0x121a99a2677cb687, 0xbf361311b238ddd9, 0xbf361311b238ddd9, 0xa8ab9cb82f274eb6}},
    {"pgft:3:10,10,3:2,5,4:1,1,1",
     {0x5280b1f1d5cb04e4, 0xac604bee25ee817e, 0xac604bee25ee817e, 0x94ae7880de4b76b3}},
    {"pgft:4:3,3,3,3:1,3,3,2:1,1,1,1",
     {0x3aebf8d04acaf6c9, 0x0f11098a945ad89f, 0x09d4f070f7af8614, 0xf0d912731272a13b}},
    {"rail:64:8:16:8:4",
     {0xede502ef8656678e, 0xd59d040f06d5f27c, 0xd59d040f06d5f27c, 0x6d46797ade25d5fe}},
    {"rail:40:4:10:5:2:4:2:an",
     {0x34a8af39ea7d180b, 0xc7a748a871df7728, 0xc7a748a871df7728, 0x9f89adf2954b2777}},
    {"torus:4x4x3:2",
     {0xbd0c9b16368dc927, 0xcf38adf162b03824, 0xcf38adf162b03824, 0x92bdbfde949d9968}},
    {"mesh:5x5x2:2",
     {0x403b87de66a8e346, 0x3cb0ef1d585e2c9a, 0x3cb0ef1d585e2c9a, 0xb0c092ba0a3d0543}},
    {"dragonfly:9:4:2:1",
     {0xbe4a725a5096022f, 0xea1e254ca5aea893, 0xea1e254ca5aea893, 0xb6df188f1f5415fa}},
    {"dragonfly+:9:4:4:4:2",
     {0x515740e7f53cd8cd, 0x0ee999a98e6daf01, 0xdc82f177e7ff0232, 0xbdf72385e50bc20d}},
    {"random:60:300:6:1",
     {0x8116a993b86f5c4e, 0xdb1b4440e4977bbd, 0x14da00784cd65831, 0xe62b384c852d0fb6}},
    {"random:100:400:4:2",
     {0x341bcc22919ba955, 0x788d1e95b6612684, 0xda0052df33ea0540, 0xf70cdbce9eb27ea8}},
};

static const struct expected real[] = {
    {"director-edr-1470",
     {0x23e21b04b2f3283b, 0xcec0ef863c101a59, 0xcec0ef863c101a59, 0x8eb2c1e76354d793}},
    {"rail-dgx-140",
     {0x821434dd679bba78, 0x86c72561a2cafe2e, 0x86c72561a2cafe2e, 0x3a6bdd341e3172d4}},
    {"rail-ndr-542",
     {0x8f1646a19d00295c, 0x10c604cf863dc10a, 0x10c604cf863dc10a, 0x848c22c4fd020e1a}},
    {"small-qdr-144",
     {0x9eca818c5b95b19d, 0x61451cfc447e19b8, 0x61451cfc447e19b8, 0x272dea033904b1b4}},
};

static const struct expected random_models = {
    "random models",
    {0x3e9de1fbf93c4f08, 0x61178b508b42d8d0, 0xd575009ea816259c, 0xe7ea9a3b0b818e27}};

static void add_tables(crypto_generichash_state *state, const char *engine, struct rt_graph *g)
{
    struct rt_plan *p = plan_for(engine, g);
    g_autofree uint8_t *tables = plan_tables(p);
    crypto_generichash_update(state, tables, (g->max_lid + 1u) * (size_t)g->switch_count);
    rt_plan_destroy(p);
}

static uint64_t finish(crypto_generichash_state *state)
{
    uint8_t digest[crypto_generichash_BYTES];
    uint64_t value = 0;
    crypto_generichash_final(state, digest, sizeof digest);
    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | digest[i];
    return value;
}

static unsigned count_wrong(const struct expected *e, const uint64_t *found)
{
    if (memcmp(e->digest, found, sizeof e->digest) == 0)
        return 0;
    print_message("    {\"%s\",\n     {", e->fabric);
    for (unsigned i = 0; i < G_N_ELEMENTS(engines); i++)
        print_message("%s0x%016" PRIx64, i ? ", " : "", found[i]);
    print_message("}},\n");
    return 1;
}

static void remove_links(struct fabric *f, unsigned percent, uint32_t seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    for (uint32_t n = 0; n < f->node_count; n++)
        for (unsigned p = 1; p <= f->nodes[n].nports; p++) {
            uint32_t peer = f->nodes[n].ports[p].peer_node;
            if (peer == FABRIC_NONE || peer <= n || f->nodes[n].type != FABRIC_SWITCH ||
                f->nodes[peer].type != FABRIC_SWITCH)
                continue;
            if (g_rand_double(rand) * 100 < percent)
                fabric_disconnect(f, n, p);
        }
    g_rand_free(rand);
}

static struct fabric *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    for (size_t i = 0; !f && i < fabric_messages_total(messages); i++)
        print_message("%s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    assert_non_null(f);
    return f;
}

/* Intact, and with 1, 5 and 20 % of its links gone. */
static unsigned check_fabric(const char *spec, const struct expected *expected)
{
    static const unsigned percents[] = {0, 1, 5, 20};
    uint64_t found[G_N_ELEMENTS(engines)];
    for (unsigned e = 0; e < G_N_ELEMENTS(engines); e++) {
        crypto_generichash_state state;
        crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES);
        for (unsigned i = 0; i < G_N_ELEMENTS(percents); i++) {
            struct rt_graph *g;
            struct fabric *f = load(spec);
            remove_links(f, percents[i], 7 + i);
            assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
            add_tables(&state, engines[e], g);
            rt_graph_unref(g);
            fabric_destroy(f);
        }
        found[e] = finish(&state);
    }
    return count_wrong(expected, found);
}

static void test_generated(void **state)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(generated); i++)
        wrong += check_fabric(generated[i].fabric, &generated[i]);
    assert_int_equal(wrong, 0);
}

static void test_real(void **state)
{
    const char *dir = getenv("HEDDLE_FABRICS"), *source = getenv("HEDDLE_SOURCE");
    g_autofree char *beside =
        g_build_filename(source ? source : "..", "..", "shared", "fabrics", NULL);
    unsigned wrong = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(real); i++) {
        g_autofree char *path = g_strdup_printf("%s/%s.net", dir ? dir : beside, real[i].fabric);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            wrong += check_fabric(path, &real[i]);
        else
            print_message("skipped: %s is absent (set HEDDLE_FABRICS)\n", path);
    }
    assert_int_equal(wrong, 0);
}

/* Odd shapes, with LMCs, absent hosts and aggregation nodes. */
static void test_random(void **state)
{
    crypto_generichash_state sums[G_N_ELEMENTS(engines)];
    uint64_t found[G_N_ELEMENTS(engines)];
    GRand *rand = g_rand_new_with_seed(20);
    for (unsigned e = 0; e < G_N_ELEMENTS(engines); e++)
        crypto_generichash_init(&sums[e], NULL, 0, crypto_generichash_BYTES);
    for (unsigned i = 0; i < RANDOM_FABRICS; i++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        for (unsigned e = 0; e < G_N_ELEMENTS(engines); e++)
            add_tables(&sums[e], engines[e], g);
        rt_graph_unref(g);
        model_destroy(m);
    }
    for (unsigned e = 0; e < G_N_ELEMENTS(engines); e++)
        found[e] = finish(&sums[e]);
    g_rand_free(rand);
    assert_int_equal(count_wrong(&random_models, found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
