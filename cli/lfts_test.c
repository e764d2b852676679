/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables as tools print them: read, checked against fabrics, and written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cli/tables.h"
#include "routing/plan.h"
#include "routing/testing.h"

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

/* The same in the form of OpenSM; the host c1 has an LMC of 1, and its first LID only on b0. */
static const char opensm_dump[] =
    "Unicast lids [0-5] of switch Lid 1 guid 0x00000000000000a0 ('a guid 0x1'):\n"
    "0x0001 000 # Switch portguid 0x00000000000000a0: 'a'\n"
    "0x0002 001 # Switch portguid 0x00000000000000b0: 'b'\n"
    "0x0005 002 # Channel Adapter portguid 0x00000000000000c1: 'portguid 0xbad (Switch (path #2'\n"
    "0x0006 001 # Router portguid 0x00000000000000d1: 'd'\n"
    "5 lids dumped\n"
    "Unicast lids [0-5] of switch Lid 2 guid 0x00000000000000b0 ('b'):\r\n"
    "0x0001 001 # Switch portguid 0x00000000000000a0: 'a'\r\n"
    "0x0002 000 # Switch portguid 0x00000000000000b0: 'b'\r\n"
    "0x0003 001 # unknown node and type\r\n"
    "0x0004 001 # Channel Adapter portguid 0x00000000000000c1: 'c'\r\n"
    "0x0005 001 # Channel Adapter portguid 0x00000000000000c1: 'c'\r\n"
    "0x0006 002 # Router portguid 0x00000000000000d1: 'd'\r\n"
    "5 lids dumped";

static void check_port(const struct lfts *l, uint64_t guid, unsigned lid, unsigned lmc,
                       unsigned type)
{
    const struct lfts_port *p = g_hash_table_lookup(l->lids, &guid);
    assert_non_null(p);
    assert_int_equal(p->lid, lid);
    assert_int_equal(lfts_lmc(p), lmc);
    assert_int_equal(p->type, type);
}

static const uint8_t *row_of(const struct lfts *l, uint64_t guid)
{
    const struct lfts_switch *s = g_hash_table_lookup(l->switches, &guid);
    assert_non_null(s);
    assert_non_null(s->row);
    return s->row;
}

static void test_opensm_dump(void **state)
{
    struct lfts *l = read_ok(opensm_dump);
    static const uint8_t a[] = {255, 0, 1, 255, 255, 2, 1, 255}, b[] = {255, 1, 0, 1, 1, 1, 2, 255};
    assert_false(l->has_links);
    assert_int_equal(g_hash_table_size(l->switches), 2);
    assert_int_equal(g_hash_table_size(l->lids), 4);
    check_port(l, 0xa0, 1, 0, 2);
    check_port(l, 0xb0, 2, 0, 2);
    check_port(l, 0xc1, 4, 1, 1);
    check_port(l, 0xd1, 6, 0, 3);
    assert_memory_equal(row_of(l, 0xa0), a, sizeof a);
    assert_memory_equal(row_of(l, 0xb0), b, sizeof b);
    lfts_destroy(l);
}

/* Paths as ibroute and dump_fts number them, and numbers that fit no port. */
static void test_paths(void **state)
{
    struct lfts *l = read_ok("Unicast lids [0x0-0x8] of switch Lid 8 guid 0x00000000000000a0 (a):\n"
                             "0x0000 000 : (unknown node and type)\n"
                             "0x0004 002 : (Channel Adapter portguid 0x00000000000000c1: 'c')\n"
                             "0x0005 002 : (path #2 out of 4: portguid 0x00000000000000c1)\n"
                             "0x0006 002 : (path #3 out of 4)\n"
                             "0x0007 002 : (path #4 out of 4: portguid 0x00000000000000c1: 'c')\n"
                             "0x0008 000 : (Switch portguid 0x00000000000000a0: 'a')\n"
                             "Unicast lids [0x0-0x8] of switch Lid 9 guid 0x00000000000000b0 (b):\n"
                             "0x0002 001 : (path #-1 out of 4: portguid 0x00000000000000c1)\n"
                             "0x0003 255 : (path #-2 - illegal port)\n"
                             "0x0004 001 : (path #1 out of 4: portguid 0x00000000000000c1)\n"
                             "0x0008 UNREACHABLE\n");
    assert_int_equal(g_hash_table_size(l->lids), 2);
    check_port(l, 0xc1, 4, 2, 1);
    check_port(l, 0xa0, 8, 0, 2);
    assert_int_equal(row_of(l, 0xa0)[0], RT_NO_PATH);
    assert_int_equal(row_of(l, 0xa0)[7], 2);
    assert_int_equal(row_of(l, 0xb0)[2], 1);
    assert_int_equal(row_of(l, 0xb0)[3], RT_NO_PATH);
    assert_int_equal(row_of(l, 0xb0)[8], RT_NO_PATH);
    lfts_destroy(l);
}

#define LMC_ROWS(second)                                                                           \
    "Unicast lids [0x0-0x6] of switch Lid 1 guid 0x00000000000000a0 (a):\n"                        \
    "0x0001 000 : (Switch portguid 0x00000000000000a0: 'a')\n"                                     \
    "0x0002 001 : (Switch portguid 0x00000000000000b0: 'b')\n"                                     \
    "0x0004 002 : (Channel Adapter portguid 0x00000000000000c1: 'c')\n" second                     \
    "0x0006 001 : (Channel Adapter portguid 0x00000000000000d1: 'd')\n"                            \
    "Unicast lids [0x0-0x6] of switch Lid 2 guid 0x00000000000000b0 (b):\n"                        \
    "0x0001 001 : (Switch portguid 0x00000000000000a0: 'a')\n"                                     \
    "0x0002 000 : (Switch portguid 0x00000000000000b0: 'b')\n"                                     \
    "0x0004 001 : (Channel Adapter portguid 0x00000000000000c1: 'c')\n"                            \
    "0x0005 001 : (Channel Adapter portguid 0x00000000000000c1: 'c')\n"                            \
    "0x0006 002 : (Channel Adapter portguid 0x00000000000000d1: 'd')\n"

/* All LIDs of a port are checked, not its first alone. */
static void test_all_lids(void **state)
{
    static const char whole[] =
        LMC_ROWS("0x0005 002 : (Channel Adapter portguid 0x00000000000000c1: 'c')\n");
    static const char *const texts[] = {whole, LMC_ROWS("")};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct rt_check_result r;
        uint32_t missing, without_lid;
        struct lfts *l = read_ok(texts[i]), *s = read_ok(scan);
        struct fabric *f = tables_fabric(s);
        assert_int_equal(check(l, f, &r, &missing, &without_lid), i == 0);
        assert_int_equal(r.unreachable > 0, i);
        fabric_destroy(f);
        lfts_destroy(l);
        lfts_destroy(s);
    }
}

/* -- writing ----------------------------------------------------------------------------------- */

static char *write_text(const struct rt_plan *p, const struct fabric *names)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(lfts_write(p, names, out), 0);
    fclose(out);
    char *copy = g_strdup(text);
    free(text);
    return copy;
}

static void check_owners(const struct lfts *l, const struct rt_graph *g)
{
    static const unsigned types[] = {
        [RT_DEST_SWITCH] = 2, [RT_DEST_HOST] = 1, [RT_DEST_AGGREGATION] = 1, [RT_DEST_ROUTER] = 3};
    assert_int_equal(g_hash_table_size(l->lids), g->dest_count);
    for (uint32_t d = 0; d < g->dest_count; d++)
        check_port(l, g->dests[d].port_guid, g->dests[d].lid, g->dests[d].lmc,
                   types[g->dests[d].kind]);
}

/* Written, read and given to the engine "file", tables are what they were. */
static void check_round_trip(const struct rt_plan *p, const char *engine)
{
    struct rt_graph *g = rt_graph_ref((struct rt_graph *)rt_plan_graph(p));
    g_autofree char *text = write_text(p, NULL);
    struct lfts *l = read_ok(text);
    uint32_t missing;
    g_autofree const uint8_t **rows = tables_rows(g, l, &missing);
    struct rt_tables tables = {.rows = rows, .row_size = LFTS_ROW_BYTES};
    struct rt_options options = {.tables = &tables, .max_vls = 1};
    struct rt_plan *q = NULL;
    char error[512] = "";
    assert_int_equal(missing, 0);
    if (rt_engine_find("file")->prepare(g, &options, &q, error, sizeof error) != 0)
        fail_msg("tables of %s: %s", engine, error);
    g_autofree uint8_t *before = plan_tables(p), *again = plan_tables(q);
    assert_memory_equal(again, before, (g->max_lid + 1u) * g->switch_count);
    check_owners(l, g);
    g_autofree char *twice = write_text(q, NULL);
    assert_string_equal(twice, text);
    rt_plan_destroy(q);
    lfts_destroy(l);
    rt_graph_unref(g);
}

static void test_round_trip(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261203));
    unsigned plans = 0;
    for (unsigned i = 0; i < 40; i++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        for (const char *const *name = rt_engine_names(); *name != NULL; name++) {
            struct rt_options options = {.max_vls = 8};
            struct rt_plan *p = NULL;
            char error[512];
            if (rt_engine_find(*name)->prepare(g, &options, &p, error, sizeof error) != 0)
                continue; /* file without tables; shapes that an engine does not serve */
            check_round_trip(p, *name);
            plans++;
            rt_plan_destroy(p);
        }
        rt_graph_unref(g);
        model_destroy(m);
    }
    printf("%u plans\n", plans);
    assert_true(plans >= 200);
    g_rand_free(rand);
}

/* A switch with two hosts, one of which has an LMC of 1 and a name that is no name. */
static void test_form(void **state)
{
    static const char expected[] =
        "Unicast lids [0x0-0x4] of switch Lid 1 guid 0x00000000000000a0 (leaf):\n"
        "  Lid  Out   Destination\n"
        "       Port     Info \n"
        "0x0001 000 : (Switch portguid 0x00000000000000a0: 'leaf')\n"
        "0x0002 001 : (Channel Adapter portguid 0x00000000000000c1: '\\x0a0x0001 9')\n"
        "0x0003 001 : (path #2 out of 2: portguid 0x00000000000000c1: '\\x0a0x0001 9')\n"
        "0x0004 002 : (Router portguid 0x00000000000000d1: '')\n"
        "4 valid lids dumped \n";
    struct fabric *f = fabric_create();
    fabric_add_node(f, 0xa0, FABRIC_SWITCH, 2, "leaf");
    fabric_add_node(f, 0xc0, FABRIC_CA, 1, "\n0x0001 9");
    struct rt_builder *b = rt_builder_create();
    struct rt_graph *g = NULL;
    rt_add_switch(b, 0xa0, 2, 1, 0);
    rt_add_dest(b, 0xa0, 1, 0xc1, 2, 1, RT_DEST_HOST, true);
    rt_add_dest(b, 0xa0, 2, 0xd1, 4, 0, RT_DEST_ROUTER, true);
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    struct rt_plan *p = plan_for("updn", g);
    g_autofree char *text = write_text(p, f);
    assert_string_equal(text, expected);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(lfts_write(p, f, full), ENOSPC);
    fclose(full);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    fabric_destroy(f);
}

/* -- files and wrong input --------------------------------------------------------------------- */

static char *load_error(const char *path, const char *text, size_t len)
{
    char *error = NULL;
    assert_true(g_file_set_contents(path, text, (gssize)len, NULL));
    struct lfts *l = lfts_load(path, &error);
    assert_true((l == NULL) == (error != NULL));
    lfts_destroy(l);
    return error != NULL ? error : g_strdup("");
}

static void test_files(void **state)
{
    g_autofree char *path = g_strdup_printf("%s/heddle-lfts-%d", g_get_tmp_dir(), getpid());
    g_autoptr(GString) text = g_string_new(NULL);
    while (text->len < 3 << 20) /* larger than what is read at once */
        g_string_append(text, "0 lids dumped\n");
    g_string_append(text, opensm_dump);
    g_autofree char *none = load_error(path, text->str, text->len);
    assert_string_equal(none, "");
    g_string_append(text, "\n0xffff 001\n");
    g_autofree char *late = load_error(path, text->str, text->len);
    guint lines = 0;
    for (const char *c = text->str; *c != '\0'; c++)
        lines += *c == '\n';
    g_autofree char *place = g_strdup_printf(":%u: 0xffff is no unicast LID", lines);
    assert_non_null(strstr(late, place));
    g_autofree char *zero = load_error(path, "a\0b\n", 4);
    assert_non_null(strstr(zero, ":1: a byte of value 0"));
    g_string_set_size(text, 3 << 20);
    memset(text->str, 'x', text->len);
    g_autofree char *longer = load_error(path, text->str, text->len);
    assert_non_null(strstr(longer, ":1: a line of more than"));
    g_unlink(path);
    char *error = NULL;
    assert_null(lfts_load(path, &error));
    assert_non_null(strstr(error, "cannot be read"));
    g_free(error);
}

#define SWITCH_A "Unicast lids [0x0-0x1] of switch Lid 1 guid 0x00000000000000a0 (x):\n"
#define SWITCH_B "Unicast lids [0x0-0x1] of switch Lid 2 guid 0x00000000000000b0 (x):\n"

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
        {"Unicast lids [0-1] of switch Lid 1 guid 0x0 (x):\n", "t:1: expected \"Unicast lids"},
        {"Unicast lids [0-1] of switch guid 0x11112222333344445 (x):\n", "t:1: expected \"Uni"},
        {SWITCH_A "0xffff 001\n", "t:2: 0xffff is no unicast LID"},
        {SWITCH_A "0x00001 001\n", "t:2: expected a LID such as 0x0001"},
        {SWITCH_A "0x 001\n", "t:2: expected a LID such as 0x0001"},
        {SWITCH_A "0x0001 999\n", "999 is no port number"},
        {SWITCH_A "0x0001 1x\n", "1x is no port number"},
        {SWITCH_A "0x0001 1\033 # x\n", "1\\x1b is no port number"},
        {SWITCH_A "0x0001 001 # Switch portguid 0xzz: 'x'\n", "t:2: expected \"portguid 0x\""},
        {SWITCH_A "0x0001 001\n" SWITCH_A "0x0001 002\n",
         "t:4: LID 0x0001 of switch 0x00000000000000a0 has port 2 here, and port 1"},
        {SWITCH_A "0x0001 001 # Switch portguid 0xa0: 'x'\n" SWITCH_B
                  "0x0001 002 # Switch portguid 0xb0: 'x'\n",
         "t:4: LID 0x0001 belongs to port 0x00000000000000b0 here, and to 0x00000000000000a0"},
        {SWITCH_A "0x0001 001 # Switch portguid 0xa0: 'x'\n"
                  "0x0101 001 # Switch portguid 0xa0: 'x'\n",
         "t:3: port 0x00000000000000a0 has LID 0x0001 as well as 0x0101"},
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
    const char *texts[] = {scan, dump, opensm_dump};
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
        cmocka_unit_test(test_scan),     cmocka_unit_test(test_faults),
        cmocka_unit_test(test_dump),     cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_damage),   cmocka_unit_test(test_opensm_dump),
        cmocka_unit_test(test_paths),    cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_form),     cmocka_unit_test(test_files),
        cmocka_unit_test(test_all_lids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
