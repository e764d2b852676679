/* SPDX-License-Identifier: BSD-2-Clause */
/* A view, exported and read again, is the fabric that it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/fixture.h"
#include "cli/topology.h"
#include "fabric/read.h"
#include "fabric/write.h"

#define EXTENDED_SPEEDS 0x40u /* bit 14 of CapabilityMask, in its third byte */

/* What is written and read again. */
static struct fabric *round_trip(const struct view *v)
{
    char *text = NULL;
    size_t size = 0;
    struct fabric *f = topology_of_view(v);
    struct fabric_messages *messages = fabric_messages_create();
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(fabric_write(f, out), 0);
    fclose(out);
    fabric_destroy(f);
    f = fabric_read_text("export", text, size, messages);
    assert_int_equal(fabric_messages_total(messages), 0);
    fabric_messages_destroy(messages);
    free(text);
    assert_non_null(f);
    return f;
}

static const struct fabric_node *node(const struct fabric *f, uint64_t guid)
{
    uint32_t i = fabric_find(f, guid);
    assert_int_not_equal(i, FABRIC_NONE);
    return &f->nodes[i];
}

static void test_whole(void **state)
{
    struct view *v = fixture_view();
    struct fabric *f = round_trip(v);
    struct fabric_counts c = fabric_count(f);
    assert_int_equal(c.switches, 2);
    assert_int_equal(c.cas, 2);
    assert_int_equal(c.links, 3);
    assert_string_equal(node(f, FIXTURE_A)->desc, "switch a");
    assert_int_equal(node(f, FIXTURE_A)->ports[0].lid, 1);
    assert_int_equal(node(f, FIXTURE_A)->ports[1].speed, FABRIC_QDR);
    assert_int_equal(node(f, FIXTURE_A)->ports[1].width, 2);
    assert_int_equal(node(f, FIXTURE_H2)->ports[1].lid, 4);
    assert_int_equal(node(f, FIXTURE_H2)->ports[1].guid, FIXTURE_H2 + 1);
    fabric_destroy(f);
    view_destroy(v);
}

/* The capability stands at port 0 of a switch, the speed at each port. */
static void test_extended_speed(void **state)
{
    struct view *v = fixture_view();
    struct view_switch *a = view_switch(v, FIXTURE_A);
    a->ports[1].portinfo[62] = a->ports[2].portinfo[62] = 4 << 4;
    view_end_port(v, FIXTURE_H1, 1)->portinfo[62] = 4 << 4; /* not capable: reserved bits */
    a->ports[0].portinfo[22] = EXTENDED_SPEEDS;
    struct fabric *f = topology_of_view(v);
    assert_int_equal(node(f, FIXTURE_A)->ports[1].speed, FABRIC_HDR);
    assert_int_equal(node(f, FIXTURE_A)->ports[2].speed, FABRIC_HDR);
    assert_int_equal(node(f, FIXTURE_H1)->ports[1].speed, FABRIC_QDR);
    fabric_destroy(f);
    view_destroy(v);
}

/* Views in motion and lies: nothing that is gone or contradicts itself is exported. */
static void test_odd_views(void **state)
{
    struct view *v = fixture_view();
    struct view_switch *a = view_switch(v, FIXTURE_A), *b = view_switch(v, FIXTURE_B);
    a->ports[3] = a->ports[1]; /* a second claim on B1, which is the first to be looked at */
    a->ports[1] = a->ports[4];
    b->ports[1].peer_port = 3;
    a->ports[1].peer_guid = FIXTURE_B;
    a->ports[1].peer_port = 1;
    fixture_port(a->ports[1].portinfo, 4, 5);
    a->ports[4].peer_guid = 0xbad; /* nobody has read that node */
    a->ports[4].peer_port = 1;
    fixture_port(a->ports[4].portinfo, 2, 5);
    view_end_port(v, FIXTURE_H1, 1)->present = false;
    strcpy(b->description, "x\"\n[1] \xff");
    struct fabric *f = round_trip(v);
    assert_int_equal(fabric_count(f).links, 2);
    assert_int_equal(fabric_count(f).cas, 1);
    assert_int_equal(node(f, FIXTURE_B)->ports[1].peer_port, 3);
    fabric_destroy(f);
    b->reachable = false;
    f = topology_of_view(v);
    assert_int_equal(fabric_count(f).switches, 1);
    assert_int_equal(fabric_count(f).links, 0);
    fabric_destroy(f);
    view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_extended_speed),
        cmocka_unit_test(test_odd_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
