/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables as tools print them: read, and checked against fabrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/tables.h"
#include "routing/plan.h"

/* Two switches a0 and b0, joined at port 1; a host at port 2 of each. */
#define PORT(type, node, guid, port, lid)                                                          \
    "{\"kind\":\"port\",\"type\":\"" type "\",\"node\":\"0x00000000000000" node                    \
    "\",\"guid\":\"0x00000000000000" guid "\",\"port\":" port ",\"lid\":" lid                      \
    ",\"sm_lid\":1,\"state\":4,\"phys\":5}\n"
#define LINK(node, port, peer, peer_port)                                                          \
    "{\"kind\":\"link\",\"node\":\"0x00000000000000" node "\",\"port\":" port                      \
    ",\"state\":4,\"phys\":5,\"peer\":\"0x00000000000000" peer "\",\"peer_port\":" peer_port "}\n"
#define TABLE(node, hex)                                                                           \
    "{\"kind\":\"lft\",\"node\":\"0x00000000000000" node "\",\"top\":4,\"hex\":\"" hex "\"}\n"
#define NODES                                                                                      \
    PORT("switch", "a0", "a0", "0", "1")                                                           \
    PORT("switch", "b0", "b0", "0", "2")                                                           \
    PORT("ca", "c0", "c1", "1", "3")                                                               \
    PORT("ca", "d0", "d1", "1", "4")                                                               \
    LINK("a0", "1", "b0", "1")                                                                     \
    LINK("a0", "2", "c0", "1")                                                                     \
    LINK("b0", "1", "a0", "1")                                                                     \
    LINK("b0", "2", "d0", "1")
#define END "{\"kind\":\"end\",\"nodes\":4,\"ports\":4,\"smps\":9,\"unanswered\":0}\n"

static const char scan[] = NODES TABLE("a0", "ff00010201") TABLE("b0", "ff01000102") END;

static bool check(const struct lfts *l, struct fabric *f, struct rt_check_result *r,
                  uint32_t *missing, uint32_t *without_lid)
{
    struct rt_graph *g = NULL;
    assert_int_equal(tables_graph(f, l, &g, without_lid, NULL), 0);
    const uint8_t **rows = tables_rows(g, l, missing);
    struct rt_tables t = {.rows = rows, .row_size = LFTS_ROW_BYTES};
    bool ok = rt_check(g, &t, NULL, r, NULL, 0);
    g_free(rows);
    rt_graph_unref(g);
    return ok;
}

static struct lfts *read_ok(const char *text)
{
    char *error = NULL;
    struct lfts *l = lfts_read_text("t", text, &error);
    if (error != NULL)
        fail_msg("%s", error);
    assert_non_null(l);
    return l;
}

static void test_scan(void **state)
{
    struct rt_check_result r;
    uint32_t missing, without_lid;
    struct lfts *l = read_ok(scan);
    struct fabric *f = tables_fabric(l);
    assert_true(l->has_links);
    assert_int_equal(fabric_count(f).links, 3);
    assert_true(check(l, f, &r, &missing, &without_lid));
    assert_int_equal(missing + without_lid, 0);
    assert_int_equal(r.pairs, 8);
    fabric_destroy(f);
    lfts_destroy(l);
}

static void test_faults(void **state)
{
    static const struct {
        const char *text;
        unsigned unreachable, loops, dead, missing;
    } cases[] = {
        {NODES TABLE("a0", "ff00010201") TABLE("b0", "ff010001ff"), 2, 0, 0, 0},
        {NODES TABLE("a0", "ff00010101") TABLE("b0", "ff01000102"), 0, 2, 0, 0},
        {NODES TABLE("a0", "ff000102010909") TABLE("b0", "ff01000102"), 0, 0, 2, 0},
        {NODES TABLE("a0", "ff00010201"), 4, 0, 0, 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct rt_check_result r;
        uint32_t missing, without_lid;
        struct lfts *l = read_ok(cases[i].text);
        struct fabric *f = tables_fabric(l);
        check(l, f, &r, &missing, &without_lid);
        assert_int_equal(r.unreachable > 0, cases[i].unreachable > 0);
        assert_int_equal(r.loops > 0, cases[i].loops > 0);
        assert_int_equal(r.dead_ports > 0, cases[i].dead > 0);
        assert_int_equal(missing, cases[i].missing);
        fabric_destroy(f);
        lfts_destroy(l);
    }
}

static const char dump[] =
    "Unicast lids [0x0-0x4] of switch Lid 1 guid 0x00000000000000a0 (a guid 0x1 (x)):\n"
    "  Lid  Out   Destination\n"
    "       Port     Info\n"
    "0x0001 000 : (Switch portguid 0x00000000000000a0: 'a')\n"
    "0x0002 001 : (Switch portguid 0x00000000000000b0: 'b')\n"
    "0x0003 002 : (Channel Adapter portguid 0x00000000000000c1: 'c')\n"
    "0x0004 001 : (Channel Adapter portguid 0x00000000000000d1: 'portguid 0xbad')\n"
    "4 valid lids dumped\n"
    "Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0,1 guid 0x00000000000000b0 (b):\n"
    "0x0001 001 : (Switch portguid 0x00000000000000a0: 'a')\n"
    "0x0002 000 : (Switch portguid 0x00000000000000b0: 'b')\n"
    "0x0003 001 : (path #1 out of 2: portguid 0x00000000000000ee)\n"
    "0x0004 002 : (Channel Adapter portguid 0x00000000000000d1: 'd')\n"
    "Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x00000000000000b0 (b):\n"
    "0xc000       x\n";

static void test_dump(void **state)
{
    struct rt_check_result r;
    uint32_t missing, without_lid;
    struct lfts *l = read_ok(dump), *s = read_ok(scan);
    struct fabric *f = tables_fabric(s);
    assert_false(l->has_links);
    assert_int_equal(g_hash_table_size(l->lids), 4);
    assert_true(check(l, f, &r, &missing, &without_lid));
    assert_int_equal(missing + without_lid, 0);
    assert_int_equal(r.pairs, 8);
    fabric_destroy(f);
    lfts_destroy(l);
    lfts_destroy(s);
}

static void test_bad_input(void **state)
{
    static const char *const cases[][2] = {
        {"", "no forwarding table"},
        {"hello\n", "no forwarding table"},
        {"{\n", "t:1: expected an object"},
        {"{\"a\":1}\n", "t:1: expected an object with a \"kind\""},
        {"{\"kind\":\"lft\",\"node\":\"0x1\"}\n", "has node and hex"},
        {NODES TABLE("a0", "ff0"), "two digits a LID"},
        {NODES TABLE("a0", "fz"), "no hexadecimal digit"},
        {"{\"kind\":\"link\",\"node\":7}\n", "a \"link\" has"},
        {"{\"kind\":\"port\",\"type\":\"ca\",\"node\":\"0x1\",\"guid\":\"0x2\",\"port\":999}\n",
         "a \"port\" has"},
        {"Unicast lids of nothing\n", "t:1: expected \"Unicast lids"},
        {"Unicast lids [0x0-0x1] of switch Lid 1 guid 0x00000000000000a0 (x):\n0xffff 001\n",
         "t:2: 0xffff is no unicast LID"},
        {"Unicast lids [0x0-0x1] of switch Lid 1 guid 0x00000000000000a0 (x):\n0x0001 999\n",
         "999 is no port number"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *error = NULL;
        assert_null(lfts_read_text("t", cases[i][0], &error));
        assert_non_null(error);
        if (strstr(error, cases[i][1]) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", cases[i][1], error);
        g_free(error);
    }
}

/* Nothing that a cut or a changed byte makes of the text may crash the reader. */
static void test_damage(void **state)
{
    const char *texts[] = {scan, dump};
    for (size_t t = 0; t < G_N_ELEMENTS(texts); t++) {
        size_t len = strlen(texts[t]);
        for (size_t i = 0; i < len; i++) {
            g_autofree char *text = g_strdup(texts[t]);
            char *error = NULL;
            text[i] = i % 3 == 0 ? '\0' : i % 3 == 1 ? '9' : '\x80';
            struct lfts *l = lfts_read_text("t", text, &error);
            assert_true((l == NULL) == (error != NULL));
            if (l != NULL)
                fabric_destroy(tables_fabric(l));
            lfts_destroy(l);
            g_free(error);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_dump),   cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
