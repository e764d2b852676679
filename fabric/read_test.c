/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the reader: each oddity has a fixture in testdata/, and what must come of it stands in
 * a table: the counts of the fabric (all 0 = refused) and every message, in the order of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>
#include <string.h>

#include "fabric/read.h"

#define MAX_MESSAGES 16

static const struct {
    const char *file;
    struct {
        uint32_t switches, cas, routers, links;
    } counts;
    const char *messages[MAX_MESSAGES]; /* behind "testdata/FILE:" */
} cases[] = {
    {"aggregation.net", {1, 2, 0, 2}, {}},
    {"alias.net",
     {1, 2, 0, 2},
     {"7: warning: port 2 of \"S\" does not name this cable: completed from this line"}},
    {"bom.net", {1, 2, 0, 2}, {}},
    {"chassis.net", {1, 2, 0, 2}, {}},
    {"commands.net", {1, 1, 0, 1}, {"7: warning: a command for ibsim's console: not carried out"}},
    {"comments.net", {1, 2, 0, 2}, {}},
    {"contradiction.net",
     {0, 0, 0, 0},
     {"7: error: expected both ends of the cable at port 2 to agree, found that "
      "testdata/contradiction.net:21 joins port 1 there to port 1 of \"leaf\"",
      "21: error: expected both ends of the cable at port 1 to agree, found that "
      "testdata/contradiction.net:6 joins port 1 there to port 1 of \"host one\""}},
    {"crlf.net", {1, 2, 0, 2}, {}},
    {"cut_before_hosts.net",
     {0, 0, 0, 0},
     {"11: error: expected a node of this file, found \"H-0002c90000000100\", which is not in it "
      "(is the file cut off?)",
      "12: error: expected a node of this file, found \"H-0002c90000000200\", which is not in it "
      "(is the file cut off?)"}},
    {"cut_in_header.net",
     {0, 0, 0, 0},
     {"25: error: expected a closing quote of the description, found \"\\\"host t\" (the file ends "
      "inside this line)"}},
    {"cut_in_line.net",
     {0, 0, 0, 0},
     {"12: warning: port 1 of \"host two\" does not name this cable: completed from this line",
      "26: error: expected the id of the node at the other end in quotes, found \"\\\"S-0002c9\" "
      "(the file ends inside this line)"}},
    {"cut_in_node.net",
     {0, 0, 0, 0},
     {"7: error: expected a node of this file, found \"H-0002c90000000200\", which is not in it "
      "(is the file cut off?)",
      "16: error: expected Switch, Ca, Hca or Rt after this line, found the end of the file, which "
      "seems cut off"}},
    {"cut_in_rate.net",
     {0, 0, 0, 0},
     {"26: error: expected a width and speed such as 4xEDR, found \"4xED\" (the file ends inside "
      "this line)"}},
    {"duplicate_names.net", {1, 2, 0, 2}, {}},
    {"empty.net",
     {0, 0, 0, 0},
     {"error: expected at least one node (Switch, Ca, Hca or Rt), found none"}},
    {"full_info.net", {1, 2, 0, 2}, {}},
    {"guid_twice.net",
     {0, 0, 0, 0},
     {"29: error: expected one node with each GUID, found the same as in "
      "testdata/guid_twice.net:25"}},
    {"header_errors.net",
     {0, 0, 0, 0},
     {"1: error: expected a number of ports from 1 to 254, found \"\\\"S\\\"\"",
      "3: error: expected a number of ports from 1 to 254, found \"0 \\\"S\\\"\"",
      "4: error: expected a number of ports from 1 to 254, found \"255 \\\"S\\\"\"",
      "5: error: expected the node's id in quotes, such as \"S-0002c90300000001\", found \"S\"",
      "6: error: expected # and the node's description, found \"x\"",
      "7: error: expected an id without # and @, which mark modules and aliases, found \"a#b\\\"\"",
      "8: error: expected a closing quote of the description, found \"\\\"open\""}},
    {"host_on_spine.net", {2, 3, 0, 4}, {}},
    {"ibsim.net", {2, 2, 0, 4}, {}},
    {"ibsim_guids.net", {3, 2, 1, 2}, {}},
    {"id_and_guid_differ.net",
     {1, 2, 0, 2},
     {"25: warning: the id \"H-0002c90000000200\" and the GUID 0x0002c90000000999 before it "
      "differ: the latter is taken"}},
    {"id_twice.net",
     {0, 0, 0, 0},
     {"32: error: expected one node with each id, found the same as in testdata/id_twice.net:25"}},
    {"include_absent.net",
     {0, 0, 0, 0},
     {"2: error: expected a file to include, found testdata/no/such/file.net: No such file or "
      "directory",
      "3: error: expected a file name in quotes, found the end of the line"}},
    {"include_inner.net",
     {0, 0, 0, 0},
     {"3: error: expected a node of this file, found \"S\", which is not in it (is the file cut "
      "off?)"}},
    {"include_itself.net",
     {0, 0, 0, 0},
     {"2: error: expected at most 8 files inside each other, found "
      "\"\\\"include_itself.net\\\"\""}},
    {"include_outer.net",
     {1, 2, 0, 2},
     {"7: warning: port 2 of \"S\" does not name this cable: completed from this line"}},
    {"keyword_errors.net",
     {0, 0, 0, 0},
     {"1: error: expected =, found \"5\"",
      "2: error: expected a number up to 0xffff, found \"0x10000\"",
      "3: error: expected a GUID such as 0x0002c90300000001(0002c90300000001), found \"0x2c9(\"",
      "4: error: expected a number up to 0xffffffffffffffff, found \"zz\"",
      "5: error: expected = or +, found the end of the line",
      "6: error: expected the module's name in quotes, found \"x\"",
      "7: error: expected a number up to 0x1f, found \"99\"",
      "8: error: expected a LID from 0 to 49151, found \"x lmc 8\"",
      "8: error: expected an LMC from 0 to 7, found \"8\""}},
    {"kinds.net", {1, 2, 1, 3}, {}},
    {"labels.net", {2, 2, 0, 3}, {}},
    {"lid_not_unicast.net", {1, 2, 0, 2}, {"26: warning: 65535 is no unicast LID: taken as 0"}},
    {"lid_too_large.net",
     {0, 0, 0, 0},
     {"26: error: expected a LID from 0 to 49151, found \"65536 lmc 0 \""}},
    {"lid_zero.net", {1, 2, 0, 2}, {}},
    {"line_too_long.net",
     {0, 0, 0, 0},
     {"27: error: expected a line of at most 65536 bytes, found more"}},
    {"long_line.net", {1, 2, 0, 2}, {"26: warning: the description was cut to 64 bytes"}},
    {"loopback_plug.net",
     {1, 2, 0, 2},
     {"8: warning: port 3 is cabled to itself: left without cable"}},
    {"modules.net",
     {3, 2, 0, 5},
     {"12: warning: port 2 of \"left#S\" does not name this cable: completed from this line",
      "13: warning: port 4 of \"left#S\" does not name this cable: completed from this line",
      "20: warning: port 4 of \"right#S\" does not name this cable: completed from this line"}},
    {"no_newline.net",
     {1, 2, 0, 2},
     {"26: warning: no end of line at the end of the file: it may be cut off"}},
    {"nul.net", {0, 0, 0, 0}, {"18: error: expected text, found a NUL byte"}},
    {"one_sided.net",
     {1, 2, 0, 2},
     {"7: warning: port 1 of \"host two\" does not name this cable: completed from this line"}},
    {"only_comments.net",
     {0, 0, 0, 0},
     {"error: expected at least one node (Switch, Ca, Hca or Rt), found none"}},
    {"peer_port_beyond.net",
     {0, 0, 0, 0},
     {"21: error: expected a port from [1] to [4] of the node in testdata/peer_port_beyond.net:5, "
      "found [5]"}},
    {"plain.net", {1, 2, 0, 2}, {}},
    {"port_beyond.net",
     {0, 0, 0, 0},
     {"6: error: expected a port from [1] to [4], the ports of this node, found "
      "\"[5]\\x09\\\"H-0002c90000000100\\\"[1](2c90000000101)\\x09\\x09# \\\"h\"",
      "7: error: expected a port from [1] to [4], the ports of this node, found \"[0] "
      "\\\"X\\\"[1]\"",
      "14: warning: port 1 of \"leaf\" does not name this cable: completed from this line"}},
    {"port_errors.net",
     {0, 0, 0, 0},
     {"1: error: expected a node (Switch, Ca, Hca or Rt) before its ports, found \"[1] "
      "\\\"S\\\"[1]\"",
      "3: error: expected a port from [1] to [4], the ports of this node, found \"[x] \\\"H\\\"\"",
      "4: error: expected a port from [1] to [4], the ports of this node, found \"[1 \\\"H\\\"\"",
      "5: error: expected the id of the node at the other end in quotes, found \"H\"",
      "6: error: expected the port at the other end, [1] to [254], found \"[0]\"",
      "7: error: expected a closing ), found \"(2c9\"",
      "8: error: expected an option such as w=2, or # and the peer's name, found \"junk\"",
      "9: error: expected a number up to 31, found \"99\"",
      "9: error: expected a node of this file, found \"H\", which is not in it (is the file cut "
      "off?)",
      "10: error: expected a closing quote of the name, found \"\\\"open\"",
      "10: error: expected each port once, found port 1 again after testdata/port_errors.net:9",
      "11: error: expected the id of the node at the other end in quotes, found \"\\\"\\\"\"",
      "12: error: expected a port from [1] to [4], the ports of this node, found \"[9] \\\"a\\\"\"",
      "13: error: expected the alias in quotes, without # and @, found \"a\""}},
    {"port_twice.net",
     {0, 0, 0, 0},
     {"8: error: expected each port once, found port 2 again after testdata/port_twice.net:7"}},
    {"prompt.net",
     {1, 2, 0, 2},
     {"1: warning: a shell prompt: skipped", "28: warning: a shell prompt: skipped",
      "29: warning: a shell prompt: skipped"}},
    {"prompt_other.net",
     {1, 2, 0, 2},
     {"1: warning: a shell prompt: skipped", "28: warning: a shell prompt: skipped",
      "29: warning: a shell prompt: skipped", "30: warning: a shell prompt: skipped",
      "31: warning: a shell prompt: skipped"}},
    {"quotes_in_names.net", {1, 2, 0, 2}, {}},
    {"self_loop.net", {1, 2, 0, 3}, {}},
    {"tool_messages.net",
     {1, 2, 0, 2},
     {"12: warning: a message of a tool: skipped", "13: warning: a message of a tool: skipped"}},
    {"two_claim_one.net",
     {0, 0, 0, 0},
     {"13: warning: port 1 of \"leaf\" does not name this cable: completed from this line",
      "20: error: expected a free port at the other end, found that testdata/two_claim_one.net:13 "
      "joins port 1 there as well"}},
    {"unknown_rate.net",
     {1, 2, 0, 2},
     {"12: warning: a link width or speed that is not known: left open"}},
    {"unknown_word.net",
     {0, 0, 0, 0},
     {"28: error: expected Switch, Ca, Hca, Rt, a port line such as [1], or a keyword such as "
      "switchguid=, found \"Bridge\\x091 \\\"B-0002c90000000300\\\"\\x09\\x09# \\\"gateway\\\"\""}},
    {"utf16.net", {0, 0, 0, 0}, {"1: error: expected ASCII or UTF-8 text, found UTF-16"}},
};

static void check_messages(const char *path, const char *const *expected,
                           const struct fabric_messages *m)
{
    size_t prefix = strlen(path) + 1, i;
    for (i = 0; expected[i]; i++) {
        const char *text = fabric_messages_text(m, i);
        if (!text || strncmp(text, path, prefix - 1) != 0)
            fail_msg("%s: expected \"%s\", got \"%s\"", path, expected[i], text ? text : "none");
        assert_string_equal(text + prefix + (text[prefix] == ' '), expected[i]);
    }
    if (fabric_messages_total(m) != i)
        fail_msg("%s: one more message: %s", path, fabric_messages_text(m, i));
}

static void each_fixture_gives_what_the_table_says(void **state)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_build_filename("testdata", cases[i].file, NULL);
        struct fabric_messages *m = fabric_messages_create();
        struct fabric *f = fabric_load(path, m);
        struct fabric_counts c = f ? fabric_count(f) : (struct fabric_counts){0};
        check_messages(path, cases[i].messages, m);
        assert_int_equal(f == NULL, fabric_messages_count(m, true) > 0);
        assert_int_equal(c.switches, cases[i].counts.switches);
        assert_int_equal(c.cas, cases[i].counts.cas);
        assert_int_equal(c.routers, cases[i].counts.routers);
        assert_int_equal(c.links, cases[i].counts.links);
        fabric_destroy(f);
        fabric_messages_destroy(m);
    }
}

static void every_fixture_is_in_the_table(void **state)
{
    GDir *dir = g_dir_open("testdata", 0, NULL);
    assert_non_null(dir);
    for (const char *name; (name = g_dir_read_name(dir));) {
        bool found = strcmp(name, "many_errors.net") == 0; /* has a test of its own */
        for (size_t i = 0; i < G_N_ELEMENTS(cases) && !found; i++)
            found = strcmp(name, cases[i].file) == 0;
        if (!found)
            fail_msg("%s has no line in the table", name);
    }
    g_dir_close(dir);
}

static struct fabric *load(const char *path)
{
    struct fabric_messages *m = fabric_messages_create();
    struct fabric *f = fabric_load(path, m);
    assert_non_null(f);
    fabric_messages_destroy(m);
    return f;
}

static const struct fabric_node *node(const struct fabric *f, uint64_t guid)
{
    uint32_t n = fabric_find(f, guid);
    assert_int_not_equal(n, FABRIC_NONE);
    return &f->nodes[n];
}

static void the_plain_dump_has_every_field(void **state)
{
    struct fabric *f = load("testdata/plain.net");
    const struct fabric_node *leaf = node(f, 0x0002c90000000010), *two = node(f, 0x2c90000000200);
    assert_int_equal(leaf->type, FABRIC_SWITCH);
    assert_int_equal(leaf->nports, 4);
    assert_true(leaf->enhanced_port0);
    assert_string_equal(leaf->desc, "leaf");
    assert_true(leaf->sys_guid == 0x2c90000000010 && leaf->ports[3].guid == 0x2c90000000010);
    assert_int_equal(leaf->vendor_id, 0x2c9);
    assert_int_equal(leaf->device_id, 0xcf08);
    assert_int_equal(leaf->ports[0].lid, 1);
    assert_int_equal(leaf->ports[2].peer_node, 2);
    assert_int_equal(leaf->ports[2].peer_port, 1);
    assert_int_equal(leaf->ports[2].width, 2);
    assert_int_equal(leaf->ports[2].speed, FABRIC_EDR);
    assert_int_equal(leaf->ports[3].peer_node, FABRIC_NONE);
    assert_true(two->type == FABRIC_CA && two->nports == 1 && two->device_id == 0x101b);
    assert_true(two->ports[1].guid == 0x2c90000000201);
    assert_int_equal(two->ports[1].lid, 3);
    assert_int_equal(two->ports[1].peer_port, 2);
    fabric_destroy(f);
}

/* These differ from plain.net in how they are written only. */
static void variants_of_writing_mean_the_same(void **state)
{
    static const char *const same[] = {"bom.net",          "crlf.net",          "prompt.net",
                                       "chassis.net",      "comments.net",      "full_info.net",
                                       "prompt_other.net", "tool_messages.net", "no_newline.net"};
    struct fabric *plain = load("testdata/plain.net");
    for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
        g_autofree char *path = g_build_filename("testdata", same[i], NULL);
        struct fabric *f = load(path);
        assert_int_equal(f->node_count, plain->node_count);
        for (uint32_t n = 0; n < f->node_count; n++) {
            const struct fabric_node *x = &f->nodes[n], *y = &plain->nodes[n];
            assert_true(x->guid == y->guid && x->sys_guid == y->sys_guid);
            assert_string_equal(x->desc, y->desc);
            assert_memory_equal(x->ports, y->ports, (y->nports + 1) * sizeof *y->ports);
        }
        fabric_destroy(f);
    }
    fabric_destroy(plain);
}

static void labels_are_no_guids(void **state)
{
    struct fabric *f = load("testdata/labels.net");
    const struct fabric_node *leaf = node(f, 0x2c90000000010);
    assert_true(leaf->ports[1].guid == leaf->guid && leaf->ports[2].guid == leaf->guid);
    assert_true(node(f, 0x2c90000000100)->ports[1].guid == 0x2c90000000101); /* (2c9..101) */
    assert_true(node(f, 0x2c90000000200)->ports[1].guid == 0x2c90000000201); /* (1) */
    assert_int_equal(leaf->ports[3].peer_port, 1);
    fabric_destroy(f);
}

static void ibsim_files_get_ibsims_guids(void **state)
{
    struct fabric *f = load("testdata/ibsim.net");
    const struct fabric_node *s1 = node(f, 0x200000), *s2 = node(f, 0x200001);
    const struct fabric_node *h1 = node(f, 0x100000), *h2 = node(f, 0x100003);
    assert_string_equal(s1->desc, "S1"); /* its id */
    assert_string_equal(h1->desc, "first host");
    assert_string_equal(h2->desc, "second host");
    assert_true(h2->ports[2].guid == 0x100005);
    assert_int_equal(s1->ports[1].peer_port, 1); /* where no port is named */
    assert_int_equal(s1->ports[1].width, 4);     /* width=4 is a mask: 8x */
    assert_int_equal(s1->ports[2].width, 2);
    assert_int_equal(s1->ports[2].speed, FABRIC_QDR);
    assert_int_equal(s2->ports[3].speed, FABRIC_DDR);
    assert_int_equal(s2->ports[4].width, 8);
    assert_int_equal(s2->ports[4].speed, FABRIC_HDR);
    fabric_destroy(f);
    f = load("testdata/ibsim_guids.net");
    assert_string_equal(node(f, 0x1000)->desc, "A");
    assert_string_equal(node(f, 0x1010)->desc, "B"); /* + counts from the last = */
    assert_string_equal(node(f, 0x1011)->desc, "C");
    assert_string_equal(node(f, 0x2000)->desc, "X");
    assert_string_equal(node(f, 0x2002)->desc, "Y");
    assert_int_equal(node(f, 0x300000)->type, FABRIC_ROUTER);
    fabric_destroy(f);
}

static void modules_and_aliases_name_ports(void **state)
{
    struct fabric *f = load("testdata/modules.net");
    uint32_t left = fabric_find_desc(f, "left#S"), right = fabric_find_desc(f, "right#S");
    assert_int_equal(f->nodes[right].ports[3].peer_node, left);
    assert_int_equal(f->nodes[right].ports[3].peer_port, 4);
    assert_int_equal(f->nodes[left].ports[1].peer_node, fabric_find_desc(f, "left#H"));
    fabric_destroy(f);
}

static void one_sided_cables_are_completed(void **state)
{
    struct fabric *f = load("testdata/one_sided.net");
    const struct fabric_port *p = &node(f, 0x2c90000000200)->ports[1];
    assert_int_equal(p->peer_port, 2);
    assert_int_equal(p->lid, 3);
    assert_int_equal(p->speed, FABRIC_EDR);
    assert_true(p->guid == 0x2c90000000201);
    fabric_destroy(f);
}

static void details_of_other_fixtures(void **state)
{
    struct fabric *f = load("testdata/kinds.net");
    assert_false(f->nodes[0].enhanced_port0);
    assert_int_equal(f->nodes[0].ports[0].lmc, 2);
    assert_int_equal(node(f, 0x2c90000000100)->ports[1].lmc, 3);
    assert_int_equal(node(f, 0x2c90000000300)->type, FABRIC_ROUTER);
    fabric_destroy(f);
    f = load("testdata/self_loop.net");
    assert_int_equal(f->nodes[0].ports[3].peer_node, 0);
    assert_int_equal(f->nodes[0].ports[3].peer_port, 4);
    fabric_destroy(f);
    f = load("testdata/quotes_in_names.net");
    assert_string_equal(f->nodes[1].desc, "the \"first\" # host lid 9 [2]");
    assert_int_equal(f->nodes[1].ports[1].lid, 2);
    fabric_destroy(f);
    f = load("testdata/unknown_rate.net");
    assert_int_equal(f->nodes[0].ports[1].width, 2);
    assert_int_equal(f->nodes[0].ports[1].speed, FABRIC_SPEED_UNKNOWN);
    fabric_destroy(f);
    f = load("testdata/long_line.net");
    assert_int_equal(strlen(f->nodes[2].desc), 64);
    fabric_destroy(f);
    f = load("testdata/lid_not_unicast.net");
    assert_int_equal(f->nodes[2].ports[1].lid, 0);
    fabric_destroy(f);
}

static void reading_stops_after_20_errors(void **state)
{
    struct fabric_messages *m = fabric_messages_create();
    assert_null(fabric_load("testdata/many_errors.net", m));
    assert_int_equal(fabric_messages_total(m), 20);
    assert_non_null(strstr(fabric_messages_text(m, 19), "many_errors.net:21: error:"));
    assert_non_null(strstr(fabric_messages_text(m, 19), "too many errors"));
    assert_null(fabric_messages_text(m, 20));
    fabric_messages_destroy(m);
}

static void warnings_are_counted_when_they_are_many(void **state)
{
    GString *text = g_string_new("Switch 254 \"S\"\n");
    for (unsigned p = 1; p <= 250; p++)
        g_string_append_printf(text, "[%u] \"H%u\"\n", p, p);
    for (unsigned p = 1; p <= 250; p++)
        g_string_append_printf(text, "Ca 1 \"H%u\"\n", p);
    struct fabric_messages *m = fabric_messages_create();
    struct fabric *f = fabric_read_text("many", text->str, text->len, m);
    assert_int_equal(fabric_count(f).links, 250);
    assert_int_equal(fabric_messages_total(m), 201);
    assert_string_equal(fabric_messages_text(m, 200),
                        "many: warning: 50 more warnings are not shown");
    fabric_destroy(f);
    fabric_messages_destroy(m);
    g_string_free(text, TRUE);
}

/* A file cut off at any byte gives a fabric or an error, and never more cables than there are. */
static void cut_off_anywhere(void **state)
{
    g_autofree char *text = NULL;
    gsize len;
    assert_true(g_file_get_contents("testdata/labels.net", &text, &len, NULL));
    for (gsize cut = 0; cut < len; cut++) {
        g_autofree char *exact = g_memdup2(text, cut); /* so that a read behind the end shows */
        struct fabric_messages *m = fabric_messages_create();
        struct fabric *f = fabric_read_text("cut", exact, cut, m);
        assert_int_equal(f == NULL, fabric_messages_count(m, true) > 0);
        if (f)
            assert_in_range(fabric_count(f).links, 0, 3);
        fabric_destroy(f);
        fabric_messages_destroy(m);
    }
}

static void names_of_files_and_generators(void **state)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"testdata/absent.net", "testdata/absent.net: error: cannot be read: No such file"},
        {"testdata", "testdata: error: cannot be read: Is a directory"},
        {"pgft:2:4:1:1", "pgft:2:4:1:1: error: children (m) has 1 values where 2 levels need 2"},
        {"rings:3", "rings:3: error: cannot be read: No such file or directory; expected a file"},
    };
    struct fabric *f = load("pgft:1:4:1:1");
    assert_int_equal(f->node_count, 5);
    fabric_destroy(f);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        struct fabric_messages *m = fabric_messages_create();
        assert_null(fabric_load(bad[i].spec, m));
        assert_int_equal(fabric_messages_total(m), 1);
        if (!g_str_has_prefix(fabric_messages_text(m, 0), bad[i].says))
            fail_msg("got \"%s\"", fabric_messages_text(m, 0));
        fabric_messages_destroy(m);
    }
}

static void text_in_memory_includes_nothing(void **state)
{
    static const char text[] = "include \"testdata/plain.net\"\n";
    struct fabric_messages *m = fabric_messages_create();
    assert_null(fabric_read_text("memory", text, strlen(text), m));
    assert_non_null(strstr(fabric_messages_text(m, 0), "memory:1: error: expected no include"));
    fabric_messages_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fixture_gives_what_the_table_says),
        cmocka_unit_test(every_fixture_is_in_the_table),
        cmocka_unit_test(the_plain_dump_has_every_field),
        cmocka_unit_test(variants_of_writing_mean_the_same),
        cmocka_unit_test(labels_are_no_guids),
        cmocka_unit_test(ibsim_files_get_ibsims_guids),
        cmocka_unit_test(modules_and_aliases_name_ports),
        cmocka_unit_test(one_sided_cables_are_completed),
        cmocka_unit_test(details_of_other_fixtures),
        cmocka_unit_test(reading_stops_after_20_errors),
        cmocka_unit_test(warnings_are_counted_when_they_are_many),
        cmocka_unit_test(cut_off_anywhere),
        cmocka_unit_test(names_of_files_and_generators),
        cmocka_unit_test(text_in_memory_includes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
