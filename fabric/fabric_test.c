/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the model: nodes, lookups, cables, counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "fabric/fabric.h"

static void nodes_keep_their_number(void **state)
{
    struct fabric *f = fabric_create();
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(fabric_add_node(f, (uint64_t)(i + 1) << 32, FABRIC_SWITCH, 36, "sw"), i);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(fabric_find(f, (uint64_t)(i + 1) << 32), i);
    assert_int_equal(fabric_find(f, 7), FABRIC_NONE);
    assert_int_equal(fabric_find_desc(f, "sw"), 0);
    assert_int_equal(fabric_find_desc(f, "s"), FABRIC_NONE);
    assert_int_equal(fabric_count(f).switches, 1000);
    fabric_destroy(f);
    fabric_destroy(NULL);
}

static void bad_nodes_are_refused(void **state)
{
    struct fabric *f = fabric_create();
    assert_int_equal(fabric_add_node(f, 1, FABRIC_CA, 2, "a"), 0);
    assert_int_equal(fabric_add_node(f, 1, FABRIC_CA, 2, "twice"), FABRIC_NONE);
    assert_int_equal(fabric_add_node(f, 2, FABRIC_CA, 0, "no ports"), FABRIC_NONE);
    assert_int_equal(fabric_add_node(f, 2, FABRIC_SWITCH, 255, "too many"), FABRIC_NONE);
    assert_int_equal(fabric_add_node(f, 2, 0, 1, "no type"), FABRIC_NONE);
    assert_int_equal(fabric_add_node(f, 2, 4, 1, "unknown type"), FABRIC_NONE);
    assert_int_equal(fabric_add_node(f, 2, FABRIC_SWITCH, 254, NULL), 1);
    assert_string_equal(f->nodes[1].desc, "");
    fabric_destroy(f);
}

static void port_guids_have_defaults_and_text_is_cut(void **state)
{
    struct fabric *f = fabric_create();
    char text[100];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fabric_add_node(f, 0x100, FABRIC_SWITCH, 3, text);
    fabric_add_node(f, 0x200, FABRIC_CA, 2, "");
    assert_int_equal(strlen(f->nodes[0].desc), 64);
    assert_true(f->nodes[0].ports[0].guid == 0x100 && f->nodes[0].ports[3].guid == 0x100);
    assert_true(f->nodes[1].ports[0].guid == 0 && f->nodes[1].ports[2].guid == 0x202);
    fabric_destroy(f);
}

static void cables_join_two_free_ports(void **state)
{
    struct fabric *f = fabric_create();
    fabric_add_node(f, 1, FABRIC_SWITCH, 4, "a");
    fabric_add_node(f, 2, FABRIC_ROUTER, 1, "b");
    assert_int_equal(fabric_connect(f, 0, 1, 1, 1), 0);
    assert_int_equal(fabric_connect(f, 0, 1, 0, 2), EEXIST);
    assert_int_equal(fabric_connect(f, 0, 2, 0, 3), 0); /* to itself */
    assert_int_equal(fabric_connect(f, 0, 4, 0, 4), EINVAL);
    assert_int_equal(fabric_connect(f, 0, 0, 0, 4), EINVAL);
    assert_int_equal(fabric_connect(f, 0, 5, 0, 4), EINVAL);
    assert_int_equal(fabric_connect(f, 2, 1, 0, 4), EINVAL);
    struct fabric_counts c = fabric_count(f);
    assert_int_equal(c.links, 2);
    assert_int_equal(c.ports, 5);
    assert_int_equal(c.ports_cabled, 4);
    assert_int_equal(c.routers, 1);
    fabric_disconnect(f, 1, 1);
    fabric_disconnect(f, 1, 1);
    fabric_disconnect(f, 9, 1);
    assert_int_equal(f->nodes[0].ports[1].peer_node, FABRIC_NONE);
    assert_int_equal(fabric_count(f).links, 1);
    assert_int_equal(fabric_connect(f, 1, 1, 0, 4), 0);
    fabric_destroy(f);
}

static void names_of_widths_and_speeds(void **state)
{
    assert_string_equal(fabric_width_name(2), "4x");
    assert_string_equal(fabric_width_name(16), "2x");
    assert_string_equal(fabric_width_name(3), "?");
    assert_string_equal(fabric_speed_name(FABRIC_FDR10), "FDR10");
    assert_string_equal(fabric_speed_name(FABRIC_XDR), "XDR");
    assert_string_equal(fabric_speed_name(99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_keep_their_number),
        cmocka_unit_test(bad_nodes_are_refused),
        cmocka_unit_test(port_guids_have_defaults_and_text_is_cut),
        cmocka_unit_test(cables_join_two_free_ports),
        cmocka_unit_test(names_of_widths_and_speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
