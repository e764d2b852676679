/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the generators: counts, order, ports, GUIDs, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>
#include <string.h>

#include "fabric/generate.h"

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

static void wrong_specs_say_what_is_wrong(void **state)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"", "expected the name of a generator"},
        {"torus:3", "expected the name of a generator"},
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
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        char error[256] = "";
        assert_null(fabric_generate(bad[i].spec, error, sizeof error));
        if (!strstr(error, bad[i].says))
            fail_msg("%s: got \"%s\"", bad[i].spec, error);
    }
    assert_true(fabric_is_generator("pgft:x"));
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
        cmocka_unit_test(wrong_specs_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
