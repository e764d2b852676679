/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what all generators promise (counts, GUIDs, cables, limits, errors), and of fat trees in
 * detail. The other shapes: generate_shapes_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>
#include <string.h>

#include "fabric/generate.h"
#include "fabric/read.h"
#include "fabric/write.h"

static struct fabric *generate(const char *spec)
{
    char error[256] = "";
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    assert_string_equal(error, "");
    assert_non_null(f);
    return f;
}

static const struct fabric_port *port(const struct fabric *f, const char *name, unsigned number)
{
    uint32_t n = fabric_find_desc(f, name);
    assert_int_not_equal(n, FABRIC_NONE);
    assert_in_range(number, 1, f->nodes[n].nports);
    return &f->nodes[n].ports[number];
}

static void assert_cable(const struct fabric *f, const char *a, unsigned pa, const char *b,
                         unsigned pb)
{
    assert_int_equal(port(f, a, pa)->peer_node, fabric_find_desc(f, b));
    assert_int_equal(port(f, a, pa)->peer_port, pb);
    assert_int_equal(port(f, b, pb)->peer_node, fabric_find_desc(f, a));
    assert_int_equal(port(f, b, pb)->peer_port, pa);
}

static void the_documented_tree(void **state)
{
    struct fabric *f = generate("pgft:3:16,16,8:1,16,4:1,1,1");
    struct fabric_counts c = fabric_count(f);
    assert_int_equal(c.cas, 2048);
    assert_int_equal(c.switches, 320);
    assert_int_equal(c.ports, c.ports_cabled);
    assert_int_equal(c.links, 2048 + 128 * 16 + 128 * 4);
    assert_string_equal(f->nodes[0].desc, "s1-00001");
    assert_string_equal(f->nodes[128].desc, "s2-00001");
    assert_string_equal(f->nodes[256].desc, "s3-00001");
    assert_string_equal(f->nodes[320].desc, "h00001");
    for (uint32_t i = 0; i < 2048; i++) /* leaf k has hosts 16k.., in the order of its ports */
        assert_true(f->nodes[320 + i].ports[1].peer_node == i / 16 &&
                    f->nodes[320 + i].ports[1].peer_port == i % 16 + 1);
    assert_cable(f, "s1-00001", 17, "s2-00001", 1); /* leaves of a pod to its 16 middle switches */
    assert_cable(f, "s1-00001", 32, "s2-00016", 1);
    assert_cable(f, "s1-00016", 17, "s2-00001", 16);
    assert_cable(f, "s1-00017", 17, "s2-00017", 1); /* second pod */
    assert_cable(f, "s2-00001", 17, "s3-00001", 1); /* tops b, b + 16, b + 32, b + 48 */
    assert_cable(f, "s2-00001", 18, "s3-00017", 1);
    assert_cable(f, "s2-00128", 20, "s3-00064", 8);
    assert_int_equal(port(f, "h00001", 1)->width, 2);
    assert_int_equal(port(f, "s3-00064", 8)->speed, FABRIC_HDR);
    fabric_destroy(f);
}

static void parallel_links_and_several_ports_a_host(void **state)
{
    struct fabric *f = generate("pgft:2:4,2:2,2:1,3");
    struct fabric_counts c = fabric_count(f);
    assert_int_equal(c.cas, 8);
    assert_int_equal(c.switches, 2 * 2 + 4);
    assert_int_equal(f->nodes[fabric_find_desc(f, "h00001")].nports, 2);
    assert_cable(f, "h00001", 1, "s1-00001", 1); /* the two leaves over hosts 1 to 4 */
    assert_cable(f, "h00001", 2, "s1-00002", 1);
    assert_cable(f, "h00005", 1, "s1-00003", 1);
    assert_cable(f, "s1-00001", 5, "s2-00001", 1); /* three links: b + k w up, a + k m down */
    assert_cable(f, "s1-00001", 7, "s2-00001", 3);
    assert_cable(f, "s1-00001", 9, "s2-00001", 5);
    assert_cable(f, "s1-00001", 6, "s2-00003", 1);
    assert_cable(f, "s1-00003", 5, "s2-00001", 2);
    fabric_destroy(f);
}

static void guids_follow_type_level_and_index(void **state)
{
    struct fabric *f = generate("pgft:2:2,2:1,1:1,1");
    assert_true(f->nodes[fabric_find_desc(f, "s2-00001")].guid == 0x0248020200000100ull);
    assert_true(f->nodes[fabric_find_desc(f, "h00003")].guid == 0x0248010000000300ull);
    assert_true(port(f, "h00003", 1)->guid == 0x0248010000000301ull);
    assert_int_equal(fabric_find(f, 0x0248020100000200ull), 1);
    fabric_destroy(f);
}

static void the_largest_subnet(void **state)
{
    gint64 start_us = g_get_monotonic_time();
    struct fabric *f = generate("pgft:3:32,32,40:1,32,32:1,1,1");
    print_message("40,960 hosts generated in %d ms\n",
                  (int)((g_get_monotonic_time() - start_us) / 1000));
    assert_int_equal(fabric_count(f).cas, 40960);
    assert_int_equal(fabric_count(f).switches, 1280 + 1280 + 1024);
    assert_int_equal(fabric_count(f).ports, fabric_count(f).ports_cabled);
    assert_string_equal(f->nodes[f->node_count - 1].desc, "h40960");
    fabric_destroy(f);
}

/* -- all generators -------------------------------------------------------------------------- */

/* Cables at both ends, rates, and one subnet; 0 is a node from which all are reached. */
static void assert_sound(const char *spec, const struct fabric *f)
{
    g_autofree uint32_t *queue = g_new(uint32_t, f->node_count);
    g_autofree bool *seen = g_new0(bool, f->node_count);
    uint32_t tail = 0;
    queue[tail++] = 0;
    seen[0] = true;
    for (uint32_t head = 0; head < tail; head++) {
        const struct fabric_node *n = &f->nodes[queue[head]];
        for (unsigned p = 1; p <= n->nports; p++) {
            uint32_t peer = n->ports[p].peer_node;
            if (peer == FABRIC_NONE)
                continue;
            const struct fabric_port *back = &f->nodes[peer].ports[n->ports[p].peer_port];
            if (back->peer_node != queue[head] || back->peer_port != p || peer == queue[head] ||
                n->ports[p].width != 2 || n->ports[p].speed != FABRIC_HDR)
                fail_msg("%s: cable at %s port %u", spec, n->desc, p);
            if (!seen[peer])
                queue[tail++] = peer;
            seen[peer] = true;
        }
    }
    if (tail != f->node_count)
        fail_msg("%s: %u nodes of %u are joined", spec, tail, f->node_count);
}

/* fabric_add_node refuses a node GUID twice; port GUIDs and names besides. */
static void assert_unique(const char *spec, const struct fabric *f)
{
    g_autoptr(GHashTable) guids = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[i];
        bool unique = g_hash_table_add(guids, (gpointer)&n->guid);
        for (unsigned p = 1; n->type == FABRIC_CA && p <= n->nports; p++)
            unique = g_hash_table_add(guids, &n->ports[p].guid) && unique;
        if (strcmp(n->desc, "Aggregation Node") != 0)
            unique = g_hash_table_add(names, (gpointer)n->desc) && unique;
        if (!unique || n->sys_guid != n->guid)
            fail_msg("%s: %s is not unique", spec, n->desc);
    }
}

static char *written(const struct fabric *f, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    assert_non_null(out);
    assert_int_equal(fabric_write(f, out), 0);
    fclose(out);
    return text;
}

static struct fabric *read_back(const char *text, size_t length)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_read_text("written", text, length, messages);
    assert_int_equal(fabric_messages_total(messages), 0);
    fabric_messages_destroy(messages);
    assert_non_null(f);
    return f;
}

/* The same text from a second run, and from what is read of the first. */
static void assert_same_again(const char *spec, const struct fabric *f)
{
    size_t lengths[3];
    char *texts[3];
    texts[0] = written(f, &lengths[0]);
    struct fabric *again = generate(spec), *back = read_back(texts[0], lengths[0]);
    texts[1] = written(again, &lengths[1]);
    texts[2] = written(back, &lengths[2]);
    for (unsigned i = 1; i < 3; i++) {
        if (lengths[i] != lengths[0] || memcmp(texts[i], texts[0], lengths[0]) != 0)
            fail_msg("%s: %s differs", spec, i == 1 ? "a second run" : "what is read back");
        free(texts[i]);
    }
    free(texts[0]);
    fabric_destroy(again);
    fabric_destroy(back);
}

static uint32_t ca_ports(const struct fabric *f)
{
    uint32_t ports = 0;
    for (uint32_t i = 0; i < f->node_count; i++)
        ports += f->nodes[i].type == FABRIC_CA ? f->nodes[i].nports : 0;
    return ports;
}

static void counts_follow_the_formulas(void **state)
{
    static const struct {
        const char *spec;
        uint32_t cas, switches, cables; /* cables between switches */
        bool all_ports;                 /* have a cable */
    } specs[] = {
        {"pgft:1:4:1:1", 4, 1, 0, true},
        {"pgft:2:4,2:2,2:1,3", 8, 8, 4 * 2 * 3, true},
        {"pgft:3:16,16,8:1,16,4:1,1,1", 2048, 320, 128 * 16 + 128 * 4, true},
        {"rail:32:8:16:8:4", 256, 16 + 8, 16 * 8 * 4, true},
        {"rail:32:8:16:8", 256, 16 + 8, 16 * 8, true},
        {"rail:1:1:1:1", 1, 2, 1, true},
        {"rail:33:8:16:8:4", 264, 24 + 8, 24 * 8 * 4, false},
        {"rail:32:8:16:8:4:an", 256 + 24, 24, 16 * 8 * 4, true},
        {"rail:60:4:20:5:2:3", 240, 12 + 20 + 15, 12 * 5 * 2 + 20 * 3, true},
        {"rail:140:8:20:10:2:7:2:an", 1120 + 206, 206, 56 * 10 * 2 + 80 * 7 * 2, true},
        {"torus:5x5x8:4", 800, 200, 600, true},
        {"torus:2x3:1:2", 6, 6, 2 * 6 * 2, true},
        {"torus:7:1", 7, 7, 7, true},
        {"torus:2:1", 2, 2, 2, true},
        {"torus:3x3x3x3x3x3:1", 729, 729, 6 * 729, true},
        {"mesh:5x5x8:4", 800, 200, 495, false},
        {"mesh:4:2:3", 8, 4, 3 * 3, false},
        {"mesh:2x2x2x2:1", 16, 16, 32, false},
        {"dragonfly:9:4:2:1", 72, 36, 9 * 6 + 36, true},
        {"dragonfly:5:3:2:2:2", 30, 15, 5 * 3 * 2 + 10 * 2, false},
        {"dragonfly:2:1:1:3", 2, 2, 3, true},
        {"dragonfly+:9:8:8:8:8", 576, 144, 9 * 64 + 36 * 8, true},
        {"dragonfly+:4:3:2:5:1:2", 60, 20, 4 * 6 * 2 + 6, false},
        {"dragonfly+:2:1:1:1:1", 2, 4, 3, true},
        {"random:100:1000:6:1", 1000, 100, 300, true},
        {"random:2:504:2:4294967295", 504, 2, 2, true},
        {"random:2:1:127:9", 1, 2, 127, true},
        {"random:33:50:3:0", 50, 33, 49, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        struct fabric *f = generate(specs[i].spec);
        struct fabric_counts c = fabric_count(f);
        if (c.cas != specs[i].cas || c.switches != specs[i].switches ||
            c.links != specs[i].cables + ca_ports(f) ||
            (c.ports == c.ports_cabled) != specs[i].all_ports)
            fail_msg("%s: %u CAs, %u switches, %u links, %u of %u ports", specs[i].spec, c.cas,
                     c.switches, c.links, c.ports_cabled, c.ports);
        assert_sound(specs[i].spec, f);
        assert_unique(specs[i].spec, f);
        assert_same_again(specs[i].spec, f);
        fabric_destroy(f);
    }
}

/* What a list of generators shows is true. */
static void the_registry_lists_what_works(void **state)
{
    unsigned count = 0;
    for (const struct fabric_generator *g; (g = fabric_generator_at(count)); count++) {
        g_autofree char *start = g_strconcat(g->name, ":", NULL);
        assert_true(g_str_has_prefix(g->example, start));
        assert_true(g_str_has_prefix(g->grammar, start));
        assert_true(strlen(g->counts) > 0);
        assert_true(fabric_is_generator(g->example));
        fabric_destroy(generate(g->example));
        char error[256];
        assert_null(fabric_generate(start, error, sizeof error));
        assert_non_null(strstr(error, g->grammar)); /* too few fields: the grammar is shown */
        assert_non_null(strstr(error, g->example));
    }
    assert_int_equal(count, 7);
}

/* Specs that differ from good ones at random: one line says why not, or the fabric is sound. */
static void mutated_specs_fail_clearly_or_work(void **state)
{
    static const char *const starts[] = {
        "pgft:2:4,2:2,2:1,3", "rail:33:8:16:8:4:2:1:an", "torus:2x3x4:1:2", "mesh:5x5:3",
        "dragonfly:5:3:2:2",  "dragonfly+:4:3:2:5:1:2",  "random:33:50:3:7"};
    static const char alphabet[] = "0123456789:x,an \n\x80-";
    const uint32_t seed = 20261201;
    unsigned made = 0, refused = 0;
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    for (unsigned i = 0; i < 4000; i++) {
        g_autoptr(GString) spec = g_string_new(starts[i % G_N_ELEMENTS(starts)]);
        for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--) {
            gsize first = strcspn(spec->str, ":"), at = first;
            if (first < spec->len) /* behind the name, if there is a colon left */
                at = g_rand_int_range(rand, (int)first, (int)spec->len);
            if (at < spec->len && g_rand_boolean(rand))
                g_string_erase(spec, (gssize)at, 1);
            if (g_rand_boolean(rand))
                g_string_insert_c(spec, (gssize)at,
                                  alphabet[g_rand_int_range(rand, 0, sizeof alphabet - 1)]);
        }
        char error[512] = "";
        struct fabric *f = fabric_generate(spec->str, error, sizeof error);
        if (f)
            assert_sound(spec->str, f);
        else if (error[0] == '\0' || strpbrk(error, "\n\x80"))
            fail_msg("seed %u, %u: \"%s\": \"%s\"", seed, i, spec->str, error);
        made += f != NULL;
        refused += f == NULL;
        fabric_destroy(f);
    }
    print_message("%u made, %u refused\n", made, refused);
    assert_true(made > 500 && refused > 500);
}

static void wrong_specs_say_what_is_wrong(void **state)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"", "expected the name of a generator"},
        {"rings:3", "expected the name of a generator (pgft, rail, torus, mesh, dragonfly, "},
        {"torus", "expected the name of a generator"},
        {"toru:3x3:1", "expected the name of a generator"},
        {"\n", "\\n: expected the name of a generator"},
        {"pgft:", "expected pgft:LEVELS:"},
        {"pgft:1:4:1:1:1", "expected pgft:LEVELS:"},
        {"pgft:0:4:1:1", "levels is \"0\": expected 1 to 8"},
        {"pgft:9:4:1:1", "levels is \"9\""},
        {"pgft:x:4:1:1", "levels is \"x\""},
        {"pgft:2:4:1,1:1,1", "children (m) has 1 values where 2 levels need 2"},
        {"pgft:2:4,4:1,1,1:1,1", "parents (w) has 3 values"},
        {"pgft:2:4,4:1,1:1,", "links (p) of level 2 is \"\": expected 1 to 254"},
        {"pgft:2:4,0:1,1:1,1", "children (m) of level 2 is \"0\""},
        {"pgft:1:255:1:1", "children (m) of level 1 is \"255\""},
        {"pgft:1:18446744073709551617:1:1", "children (m) of level 1"},
        {"pgft:2:128,4:1,127:1,1", "a node of level 1 would need 255 ports"},
        {"pgft:2:4,4:16,4:16,1", "a node of level 0 (a host) would need 256 ports"},
        {"pgft:3:40,40,31:1,1,1:1,1,1", "49151 LIDs"},
        {"pgft:8:254,254,254,254,254,254,254,254:1,1,1,1,1,1,1,1:1,1,1,1,1,1,1,1", "LIDs"},
        {"pgft:8:200,200,200,200,200,200,200,200:1,1,1,1,1,1,1,1:1,1,1,1,1,1,1,1", "LIDs"},
        {"rail:140:8:20", "expected rail:HOSTS:RAILS:"},
        {"rail:140:8:20:an", "expected rail:HOSTS:RAILS:"},
        {"rail:1:1:1:1:1:1:1:1", "expected rail:HOSTS:RAILS:"},
        {"rail:1:1:1:1:1:1:1:1:an", "expected rail:HOSTS:RAILS:"},
        {"rail:0:8:20:10", "hosts is \"0\": expected 1 to 49151, as in rail:"},
        {"rail:140:0:20:10", "rails is \"0\""},
        {"rail:140:8::10", "hosts per leaf is \"\""},
        {"rail:140:8:20:-1", "spines is \"-1\""},
        {"rail:140:8:20:10:x", "links is \"x\""},
        {"rail:140:8:20:10:1:0", "cores is \"0\""},
        {"rail:140:8:20:10:1:1:0:an", "core links is \"0\""},
        {"rail:140:8:254:1", "a leaf would need 255 ports"},
        {"rail:140:8:253:1:an", "a leaf would need 255 ports"},
        {"rail:255:8:8:1", "a spine would need 256 ports"},
        {"rail:127:254:127:1:1:1:1:an", "a core would need 255 ports"},
        {"rail:6144:8:100:50:1:50", "LIDs"},
        {"rail:49151:254:1:254:254:254:254:an", "LIDs"},
        {"torus:5x5", "expected torus:SIZExSIZEx..:HOSTS_PER_SWITCH[:LINKS], as in torus:5x5x8:4"},
        {"torus::1", "sizes has 0 values: expected 1 to 15"},
        {"mesh:2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2:1", "sizes has 16 values"},
        {"torus:5xx8:1", "size of dimension 2 is \"\": expected 2 to 49151"},
        {"torus:5x1:1", "size of dimension 2 is \"1\""},
        {"mesh:5,5:1", "size of dimension 1 is \"5,5\""},
        {"torus:5x5:0", "hosts per switch is \"0\""},
        {"torus:5x5:1:0", "links is \"0\""},
        {"torus:5x5:3:63", "a switch would need 255 ports"},
        {"torus:49151:1", "LIDs"},
        {"torus:49151x49151x49151x49151x49151:1", "LIDs"},
        {"dragonfly:1:4:2:1", "groups is \"1\": expected 2 to 49151"},
        {"dragonfly:9:4:2", "expected dragonfly:GROUPS:"},
        {"dragonfly:9:4:2:0", "global links is \"0\""},
        {"dragonfly:9:0:2:1", "switches is \"0\""},
        {"dragonfly:3:100:2:1:3", "a switch would need 300 ports"},
        {"dragonfly:9999:4:2:1", "LIDs"},
        {"dragonfly+:9:8:0:8:8", "spines is \"0\""},
        {"dragonfly+:9:0:8:8:8", "leaves is \"0\""},
        {"dragonfly+:9:8:8:8:8:0", "links is \"0\""},
        {"dragonfly+:3:1:127:1:1:2", "a leaf would need 255 ports"},
        {"dragonfly+:129:1:1:1:2", "a spine would need 257 ports"},
        {"random:1:10:2:1", "switches is \"1\": expected 2"},
        {"random:10:0:2:1", "hosts is \"0\""},
        {"random:10:10:1:1", "degree is \"1\": expected 2 to 127"},
        {"random:10:10:128:1", "degree is \"128\""},
        {"random:10:10:3:4294967296", "seed is \"4294967296\""},
        {"random:2:505:2:1", "hosts and cables need 509 ports of switches, which have 254 each"},
        {"random:40000:10000:2:1", "LIDs"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        char error[256] = "";
        assert_null(fabric_generate(bad[i].spec, error, sizeof error));
        if (!strstr(error, bad[i].says))
            fail_msg("%s: got \"%s\"", bad[i].spec, error);
    }
    assert_true(fabric_is_generator("pgft:x"));
    assert_true(fabric_is_generator("dragonfly+:x"));
    assert_false(fabric_is_generator("dragon:x"));
    assert_false(fabric_is_generator(""));
    assert_false(fabric_is_generator("pgft"));
    assert_false(fabric_is_generator("fabric.net"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_tree),
        cmocka_unit_test(parallel_links_and_several_ports_a_host),
        cmocka_unit_test(guids_follow_type_level_and_index),
        cmocka_unit_test(the_largest_subnet),
        cmocka_unit_test(counts_follow_the_formulas),
        cmocka_unit_test(the_registry_lists_what_works),
        cmocka_unit_test(mutated_specs_fail_clearly_or_work),
        cmocka_unit_test(wrong_specs_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
