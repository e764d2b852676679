/* SPDX-License-Identifier: BSD-2-Clause */
/* The judge: lines of its log, who sent what, snapshots against a plain comparison, dumps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/generate.h"
#include "sim/judge/private.h"

/* Two leaves with three hosts each and two spines, in this order of numbers. */
#define SPEC "pgft:2:3,2:1,2:1,1"
enum { LEAF1, LEAF2, SPINE1, SPINE2, HOST1, HOST2, HOST3, HOST4, NODES = 10 };

static GString *notes;

static void note(void *user, const char *line)
{
    g_string_append_printf(notes, "%s\n", line);
}

static int setup(void **state)
{
    char error[256];
    struct fabric *f = fabric_generate(SPEC, error, sizeof(error));
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {.note = note};
    assert_non_null(f);
    notes = g_string_new(NULL);
    *state = sim_create(f, &config, &hooks, 1000);
    fabric_destroy(f);
    return 0;
}

static int teardown(void **state)
{
    sim_destroy(*state);
    g_string_free(notes, TRUE);
    return 0;
}

static struct sim_packet smp(unsigned class, unsigned method, unsigned attribute, uint32_t modifier)
{
    struct sim_packet p = {.dlid = class == CLASS_SUBN_DIRECTED ? SIM_LID_PERMISSIVE : 9};
    p.slid = class == CLASS_SUBN_DIRECTED ? SIM_LID_PERMISSIVE : 7;
    p.mad[0] = 1;
    p.mad[MAD_CLASS] = (uint8_t) class;
    p.mad[2] = 1;
    p.mad[MAD_METHOD] = (uint8_t)method;
    put16(p.mad + MAD_ATTRIBUTE, (uint16_t)attribute);
    put32(p.mad + MAD_MODIFIER, modifier);
    put32(p.mad + SMP_DRSLID, 0xffffffff);
    return p;
}

static char *temporary(void)
{
    char *path = NULL;
    int fd = g_file_open_tmp("heddle-judge-XXXXXX", &path, NULL);
    assert_true(fd >= 0);
    close(fd);
    return path;
}

static void set_lid(struct sim *s, uint32_t node, unsigned port, unsigned lid)
{
    put16(sim_port(s, node, port)->info + 16, (uint16_t)lid);
}

/* From HOST1 by way of LEAF1 to SPINE1. */
static void send_port_info(struct sim *s)
{
    struct sim_packet p = smp(CLASS_SUBN_DIRECTED, 2, ATTR_PORT_INFO, 1);
    p.mad[MAD_HOP_COUNT] = 2;
    p.mad[SMP_RETURN_PATH + 1] = 1;
    p.mad[SMP_RETURN_PATH + 2] = 1;
    put64(p.mad + SMP_MKEY, 0x1122334455667788);
    put16(p.mad + SMP_DATA + 16, 17);
    put16(p.mad + SMP_DATA + 18, 5);
    p.mad[SMP_DATA + 32] = 0x33;
    struct sim_judged d = {
        .node = SPINE1, .port = 1, .packet = &p, .reason = "ok", .accepted = true};
    sim_judge_set(s, &d);
}

static void send_lft(struct sim *s, unsigned slid, unsigned changed)
{
    struct sim_packet p = smp(CLASS_SUBN_LID, 2, ATTR_LFT, 3);
    p.slid = (uint16_t)slid;
    struct sim_judged d = {
        .node = LEAF2, .packet = &p, .reason = "ok", .accepted = true, .changed = changed};
    sim_judge_set(s, &d);
}

static void send_refused(struct sim *s)
{
    struct sim_packet p = smp(CLASS_SUBN_LID, 2, 0x16, 0x10002);
    struct sim_judged d = {.node = HOST2, .port = 1, .packet = &p, .reason = "mkey"};
    sim_judge_set(s, &d);
    p = smp(CLASS_SUBN_LID, METHOD_TRAP_REPRESS, 2, 0);
    put16(p.mad + SMP_DATA + 4, 128);
    d = (struct sim_judged){.node = LEAF1, .packet = &p, .reason = "ok", .accepted = true};
    sim_judge_set(s, &d);
    p = smp(0x04, 2, 0x12, 0);
    d = (struct sim_judged){
        .node = HOST3, .port = 1, .packet = &p, .reason = "status", .status = 0x1c};
    sim_judge_set(s, &d);
}

static void test_lines(void **state)
{
    struct sim *s = *state;
    g_autofree char *path = temporary(), *text = NULL;
    set_lid(s, HOST4, 1, 7);
    assert_false(sim_judge_wanted(s));
    assert_int_equal(sim_judge_log(s, path), 0);
    assert_true(sim_judge_wanted(s));
    send_port_info(s);
    s->now = 2000;
    send_lft(s, 7, 12);
    send_lft(s, 8, 0);
    send_refused(s);
    sim_judge_flush(s);
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    assert_string_equal(
        text,
        "1000 set accepted ok from=\"h00001\"[1] slid=65535 to=0x0248020200000100 port=1 attr=0015 "
        "mod=00000001 key=1122334455667788 status=0000 lid=17 smlid=5 state=3\n"
        "2000 set accepted ok from=\"h00004\"[1] slid=7 to=0x0248020100000200 port=0 attr=0019 "
        "mod=00000003 key=0000000000000000 status=0000 changed=12\n"
        "2000 set accepted ok from=? slid=8 to=0x0248020100000200 port=0 attr=0019 "
        "mod=00000003 key=0000000000000000 status=0000 changed=0\n"
        "2000 set refused mkey from=\"h00004\"[1] slid=7 to=0x0248010000000200 port=1 attr=0016 "
        "mod=00010002 key=0000000000000000 status=0000\n"
        "2000 repress accepted ok from=\"h00004\"[1] slid=7 to=0x0248020100000100 port=0 attr=0002 "
        "mod=00000000 key=0000000000000000 status=0000 trap=128\n"
        "2000 set refused status from=\"h00004\"[1] slid=7 to=0x0248010000000300 port=1 attr=0012 "
        "mod=00000000 key=0000000000000000 status=001c class=04\n");
    send_lft(s, 7, 2); /* written by the timer */
    sim_run(s, s->now + JUDGE_FLUSH_NS);
    g_free(text);
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    assert_true(g_str_has_suffix(text, " changed=2\n"));
    assert_int_equal(sim_judge_log(s, NULL), 0);
    send_lft(s, 7, 1);
    g_free(text);
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    assert_int_equal(strlen(text) > 0 ? text[strlen(text) - 1] : 0, '\n');
    assert_null(strstr(text, "changed=1\n"));
    unlink(path);
}

static void test_counts(void **state)
{
    struct sim *s = *state;
    g_autoptr(GString) out = g_string_new(NULL);
    set_lid(s, HOST4, 1, 7);
    send_port_info(s);
    send_lft(s, 7, 12);
    send_lft(s, 7, 0);
    send_lft(s, 8, 1);
    send_refused(s);
    sim_judge_totals(s, out);
    assert_string_equal(out->str, "sets=6 accepted=5 mkey=1 status=1 mute=0 represses=1 "
                                  "port_infos=1 lft_sets=3 lft_changed=2 mft_sets=0 mft_changed=0");
    g_string_truncate(out, 0);
    sim_judge_senders(s, out);
    assert_string_equal(out->str,
                        "from=\"h00001\"[1] sets=1 accepted=1 mkey=0 status=0 mute=0 represses=0 "
                        "port_infos=1 lft_sets=0 lft_changed=0 mft_sets=0 mft_changed=0\n"
                        "from=\"h00004\"[1] sets=4 accepted=3 mkey=1 status=1 mute=0 represses=1 "
                        "port_infos=0 lft_sets=2 lft_changed=1 mft_sets=0 mft_changed=0\n"
                        "from=? sets=1 accepted=1 mkey=0 status=0 mute=0 represses=0 "
                        "port_infos=0 lft_sets=1 lft_changed=1 mft_sets=0 mft_changed=0\n");
    struct sim_judge_counts c;
    assert_true(sim_judge_counts(s, HOST4, 1, &c));
    assert_int_equal(c.lft_sets, 2);
    assert_false(sim_judge_counts(s, HOST2, 1, &c));
}

/* A port that gets its LID by a Set is found at once; one that lost it is not. */
static void test_lids_move(void **state)
{
    struct sim *s = *state;
    struct sim_judge_counts c;
    send_lft(s, 30, 0); /* the LIDs are read: nobody has 30 */
    struct sim_packet p = smp(CLASS_SUBN_LID, 2, ATTR_PORT_INFO, 1);
    put16(p.mad + SMP_DATA + 16, 30);
    p.mad[SMP_DATA + 34] = 1; /* LMC 1: 30 and 31 */
    set_lid(s, HOST2, 1, 30);
    sim_port(s, HOST2, 1)->info[34] = 1;
    struct sim_judged d = {
        .node = HOST2, .port = 1, .packet = &p, .reason = "ok", .accepted = true};
    sim_judge_set(s, &d);
    send_lft(s, 31, 0);
    assert_true(sim_judge_counts(s, HOST2, 1, &c));
    assert_int_equal(c.lft_sets, 1);
    set_lid(s, HOST2, 1, 0);
    send_lft(s, 31, 0);
    assert_true(sim_judge_counts(s, HOST2, 1, &c));
    assert_int_equal(c.lft_sets, 1);
    set_lid(s, HOST3, 1, 30); /* by no Set: found after as many Sets as there are nodes */
    for (unsigned i = 0; i < 2 * NODES; i++)
        send_lft(s, 30, 0);
    assert_true(sim_judge_counts(s, HOST3, 1, &c));
    assert_true(c.lft_sets >= NODES);
}

static void test_hostile_packets(void **state)
{
    struct sim *s = *state;
    struct sim_packet p = smp(CLASS_SUBN_DIRECTED, 2, ATTR_PORT_INFO, 0xffffffff);
    struct sim_judged d = {
        .node = LEAF1, .port = 1, .packet = &p, .reason = "ok", .accepted = true};
    send_lft(s, 1, 0);
    for (unsigned i = 0; i < 256; i++) {
        p.mad[MAD_HOP_COUNT] = (uint8_t)i;
        memset(p.mad + SMP_RETURN_PATH, (int)(i * 7 & 255), 64);
        memset(p.mad + SMP_DATA, (int)(255 - i), 64);
        p.slid = (uint16_t)(i << 8);
        sim_judge_set(s, &d);
    }
    struct sim_judge_counts c;
    assert_true(sim_judge_counts(s, SIM_NONE, 0, &c));
    assert_int_equal(c.port_infos, 256);
}

/* As a client sends it: from HOST1 by LEAF1 to SPINE1, and on to LEAF2 and HOST4. */
static void test_sent_packets(void **state)
{
    struct sim *s = *state;
    struct sim_judge_counts c;
    for (unsigned hops = 0; hops <= 4; hops++) {
        static const uint8_t out[] = {0, 1, 4, 2, 1};
        struct sim_packet p = smp(CLASS_SUBN_DIRECTED, 2, ATTR_PORT_INFO, hops == 1 ? 0 : 1);
        p.mad[MAD_HOP_COUNT] = (uint8_t)hops;
        memcpy(p.mad + 128, out, hops + 1); /* the initial path */
        memset(p.mad + SMP_DATA, 0, 64);
        sim_send(s, HOST1, 1, &p, s->now);
        assert_true(sim_judge_counts(s, HOST1, 1, &c));
        assert_int_equal(c.sets, hops + 1);
    }
    assert_true(sim_judge_counts(s, SIM_NONE, 0, &c));
    assert_int_equal(c.sets, 5);
}

/* Names of hostile nodes take the most room that a line may have. */
static void test_long_log(void **state)
{
    struct sim *s = *state;
    g_autofree char *path = temporary(), *text = NULL;
    memset(s->nodes[HOST1].description, 0xff, 64);
    assert_int_equal(sim_judge_log(s, path), 0);
    for (unsigned i = 0; i < 20000; i++)
        send_port_info(s);
    assert_int_equal(sim_judge_log(s, NULL), 0);
    gsize len;
    assert_true(g_file_get_contents(path, &text, &len, NULL));
    unsigned lines = 0;
    for (gsize i = 0; i < len; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 20000);
    assert_non_null(strstr(text, "from=\"\\xff\\xff"));
    unlink(path);
}

static void test_unwritable_log(void **state)
{
    struct sim *s = *state;
    assert_int_not_equal(sim_judge_log(s, "/nowhere/at/all"), 0);
    assert_int_not_equal(sim_judge_log(s, "/"), 0);
    assert_false(sim_judge_wanted(s));
    g_autofree char *path = temporary();
    assert_int_equal(sim_judge_log(s, path), 0);
    close(s->judge->log_fd);
    s->judge->log_fd = dup(STDIN_FILENO); /* replaced by what takes no writes */
    int read_only = g_open("/dev/null", O_RDONLY, 0);
    assert_int_equal(dup2(read_only, s->judge->log_fd), s->judge->log_fd);
    close(read_only);
    for (unsigned i = 0; i < 20000; i++)
        send_port_info(s);
    sim_judge_flush(s);
    assert_false(sim_judge_wanted(s));
    assert_non_null(strstr(notes->str, "log has ended"));
    assert_ptr_equal(strchr(notes->str, '\n'), notes->str + notes->len - 1);
    unlink(path);
}

/* -- dumps ------------------------------------------------------------------------------------- */

static void test_dump(void **state)
{
    struct sim *s = *state;
    char *text = NULL;
    size_t len;
    set_lid(s, LEAF1, 0, 3);
    set_lid(s, HOST1, 1, 1);
    sim_port(s, HOST1, 1)->info[34] = 1; /* LMC 1: 1 and 2 */
    uint8_t *lft = sim_lft_block(s, LEAF1, 0);
    lft[1] = lft[2] = 1;
    lft[3] = 0;
    lft[5] = 5;
    lft[6] = 77; /* beyond the switch's ports */
    lft[9] = 2;  /* beyond the top */
    put16(s->nodes[LEAF1].sw->info + 6, 8);
    sim_mft_block(s, LEAF1, 0, 0)[1] = 1u << 0 | 1u << 5;
    put16(s->nodes[LEAF1].sw->info + 18, 0xc001);
    FILE *out = open_memstream(&text, &len);
    sim_judge_dump(s, LEAF1, out);
    fclose(out);
    assert_string_equal(
        text, "Unicast lids [0x0-0x8] of switch Lid 3 guid 0x0248020100000100 (s1-00001):\n"
              "  Lid  Out   Destination\n"
              "       Port     Info \n"
              "0x0001 001 : (Channel Adapter portguid 0x0248010000000101: 'h00001')\n"
              "0x0002 001 : (Channel Adapter portguid 0x0248010000000101: 'h00001')\n"
              "0x0003 000 : (Switch portguid 0x0248020100000100: 's1-00001')\n"
              "0x0005 005 : (unknown node and type)\n"
              "4 valid lids dumped \n"
              "Multicast mlids [0xc000-0xc001] of switch Lid 3 guid 0x0248020100000100 "
              "(s1-00001):\n"
              "     Ports: 0 1 2 3 4 5 \n"
              " MLid\n"
              "0xc001      x         x \n"
              "1 valid mlids dumped \n");
    free(text);
    text = NULL;
    out = open_memstream(&text, &len);
    s->nodes[SPINE1].powered = false;
    sim_judge_dump_lft(s, SIM_NONE, out);
    fclose(out);
    unsigned tables = 0;
    for (const char *at = text; (at = strstr(at, "Unicast lids")) != NULL; at++)
        tables++;
    assert_int_equal(tables, 3);
    s->nodes[SPINE1].powered = true;
    free(text);
}

/* -- snapshots --------------------------------------------------------------------------------- */

/* Everything that a snapshot keeps, entry by entry: what it stands for -> its value as text. */
static void put(GHashTable *all, const char *value, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void put(GHashTable *all, const char *value, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_hash_table_insert(all, g_strdup_vprintf(format, ap), g_strdup(value));
    va_end(ap);
}

static const char *text_of(const char *format, uint64_t value)
{
    static char text[32];
    g_snprintf(text, sizeof(text), format, value);
    return text;
}

static void list_tables(struct sim *s, uint32_t node, GHashTable *all)
{
    struct sim_switch *sw = s->nodes[node].sw;
    const char *name = sim_port_name(s, node, 0);
    for (unsigned lid = 0; lid < SIM_LFT_BLOCKS * SIM_LFT_BLOCK; lid++) {
        const uint8_t *block = sw->lft[lid / SIM_LFT_BLOCK];
        if (block != NULL && block[lid % SIM_LFT_BLOCK] != SIM_NO_PORT)
            put(all, text_of("%" G_GUINT64_FORMAT, block[lid % SIM_LFT_BLOCK]), "lft %s lid=%u",
                name, lid);
    }
    for (unsigned p = 0; p < SIM_MFT_POSITIONS; p++)
        for (unsigned i = 0; sw->mft[p] != NULL && i < SIM_MFT_BLOCKS * SIM_MFT_BLOCK; i++) {
            const uint16_t *block = sw->mft[p][i / SIM_MFT_BLOCK];
            if (block != NULL && block[i % SIM_MFT_BLOCK] != 0)
                put(all, text_of("0x%04" G_GINT64_MODIFIER "x", block[i % SIM_MFT_BLOCK]),
                    "mft %s mlid=0x%04x position=%u", name, 0xc000 + i, p);
        }
}

static void list_port(struct sim *s, uint32_t node, unsigned port, GHashTable *all)
{
    static const char *const states[] = {"NONE", "DOWN", "INIT", "ARMED", "ACTIVE"};
    struct sim_port *p = sim_port(s, node, port);
    bool is_switch = s->nodes[node].sw != NULL;
    const char *name = sim_port_name(s, node, port);
    put(all, states[sim_port_state(p)], "state %s", name);
    if (!is_switch || port == 0) {
        put(all, text_of("%" G_GUINT64_FORMAT, sim_lid(p)), "lid %s", name);
        put(all, text_of("%" G_GUINT64_FORMAT, p->info[34] & 7), "lmc %s", name);
        put(all, text_of("%" G_GUINT64_FORMAT, p->info[34] >> 6), "protect %s", name);
        put(all, text_of("%" G_GUINT64_FORMAT, get16(p->info + 18)), "smlid %s", name);
        put(all, text_of("0x%016" G_GINT64_MODIFIER "x", sim_mkey(p)), "key %s", name);
    }
    for (unsigned i = 0; i < sim_pkey_capacity(s, node, port); i++)
        put(all, text_of("0x%04" G_GINT64_MODIFIER "x", sim_pkey(s, node, port, i)),
            "pkey %s index=%u", name, i);
    for (unsigned in = 0; in <= (is_switch ? s->nodes[node].nports : 0u); in++) {
        const uint8_t *table = p->sl2vl != NULL ? p->sl2vl + 8 * in : sim_sl2vl_default;
        put(all, text_of("%016" G_GINT64_MODIFIER "x", get64(table)), "sl2vl %s input=%u", name,
            in);
    }
    for (unsigned b = 0; b < 4; b++) {
        const uint8_t *table = p->vlarb != NULL ? p->vlarb + 64 * b : sim_vlarb_default[b];
        g_autoptr(GString) hex = g_string_new(NULL);
        for (unsigned i = 0; i < 64; i++)
            g_string_append_printf(hex, "%02x", table[i]);
        put(all, hex->str, "vlarb %s block=%u", name, b + 1);
    }
}

static GHashTable *list_all(struct sim *s)
{
    GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (uint32_t node = 0; node < s->node_count; node++) {
        for (unsigned port = s->nodes[node].sw ? 0 : 1; port <= s->nodes[node].nports; port++)
            list_port(s, node, port, all);
        if (s->nodes[node].sw)
            list_tables(s, node, all);
    }
    return all;
}

static int by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_differences(GHashTable *a, GHashTable *b, bool both, GPtrArray *lines)
{
    GHashTableIter it;
    gpointer key, value;
    g_hash_table_iter_init(&it, a);
    while (g_hash_table_iter_next(&it, &key, &value)) {
        bool is_lft = g_str_has_prefix(key, "lft");
        const char *other = g_hash_table_lookup(b, key), *none = is_lft ? "255" : "0x0000";
        if (other == NULL)
            g_ptr_array_add(
                lines, both
                           ? g_strdup_printf("%s was=%s now=%s", (char *)key, (char *)value, none)
                           : g_strdup_printf("%s was=%s now=%s", (char *)key, none, (char *)value));
        else if (both && strcmp(other, value) != 0)
            g_ptr_array_add(lines,
                            g_strdup_printf("%s was=%s now=%s", (char *)key, (char *)value, other));
    }
}

/* Sorted lines that a comparison must print. */
static GPtrArray *plain_compare(GHashTable *a, GHashTable *b)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    add_differences(a, b, true, lines);
    add_differences(b, a, false, lines);
    g_ptr_array_sort(lines, by_text);
    return lines;
}

static void assert_same_lines(GString *got, GPtrArray *wanted)
{
    g_auto(GStrv) lines = g_strsplit(got->str, "\n", -1);
    guint count = g_strv_length(lines);
    assert_int_equal(count, wanted->len + 2); /* totals, and "" behind the last end of line */
    assert_true(g_str_has_prefix(lines[count - 2], "lids="));
    qsort(lines, count - 2, sizeof(char *), by_text);
    for (guint i = 0; i < wanted->len; i++)
        assert_string_equal(lines[i], g_ptr_array_index(wanted, i));
}

static void write_something(struct sim *s, GRand *r)
{
    uint32_t node = (uint32_t)g_rand_int_range(r, 0, (gint32)s->node_count);
    struct sim_node *n = &s->nodes[node];
    unsigned port = (unsigned)g_rand_int_range(r, 1, n->nports + 1), value = g_rand_int(r);
    struct sim_port *end = sim_end_port(s, node, port);
    switch (g_rand_int_range(r, 0, n->sw ? 9 : 7)) {
    case 0:
        put16(end->info + 16, value % 4);
        break;
    case 1:
        put64(end->info, value % 3);
        break;
    case 2:
        put16(end->info + 18, value % 4);
        break;
    case 3:
        sim_port(s, node, port)->info[32] = (uint8_t)(1 + value % 4);
        end->info[34] = (uint8_t)((value % 2) << 6 | value % 3);
        break;
    case 4:
        sim_pkeys(s, node, port)[value % sim_pkey_capacity(s, node, port)] =
            (uint16_t)(value >> 8 & 0x7001);
        break;
    case 5:
        sim_sl2vl(s, node, port, n->sw ? value % (n->nports + 1u) : 0)[value % 8] = value >> 8 & 3;
        break;
    case 6:
        sim_vlarb(s, node, port, value % 4)[value % 64] = value >> 8 & 3;
        break;
    case 7:
        sim_lft_block(s, node, value % SIM_LFT_BLOCKS)[value % 5] = value % 7 ? value % 5 : 255;
        break;
    default:
        sim_mft_block(s, node, value % 2, value % SIM_MFT_BLOCKS)[value % 3] = value >> 8 & 1;
    }
}

static void test_snapshots(void **state)
{
    struct sim *s = *state;
    guint32 seed = 20261201;
    g_autoptr(GRand) r = g_rand_new_with_seed(seed);
    print_message("seed %u\n", seed);
    GHashTable *seen[4];
    char name[4] = "s0";
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; i > 0 && j < 3u << (3 * i); j++)
            write_something(s, r);
        name[1] = (char)('0' + i);
        sim_judge_snapshot(s, name);
        seen[i] = list_all(s);
    }
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++) {
            g_autoptr(GString) out = g_string_new(NULL);
            g_autoptr(GPtrArray) wanted = plain_compare(seen[i], seen[j]);
            char a[] = {'s', (char)('0' + i), 0}, b[] = {'s', (char)('0' + j), 0};
            assert_true(sim_judge_compare(s, a, j == 3 ? "now" : b, UINT_MAX, out));
            assert_same_lines(out, wanted);
            assert_int_equal(wanted->len == 0, i == j);
        }
    sim_node_reset(s, LEAF1); /* tables of a power-up equal those that were never written */
    g_autoptr(GString) out = g_string_new(NULL);
    GHashTable *present = list_all(s);
    g_autoptr(GPtrArray) wanted = plain_compare(seen[0], present);
    assert_true(sim_judge_compare(s, "s0", "now", UINT_MAX, out));
    assert_same_lines(out, wanted);
    g_hash_table_destroy(present);
    for (unsigned i = 0; i < 4; i++) {
        name[1] = (char)('0' + i);
        assert_true(sim_judge_forget(s, name));
        assert_false(sim_judge_forget(s, name));
        g_hash_table_destroy(seen[i]);
    }
    assert_int_equal(judge_store_blocks(s->judge->store), 0);
}

static void test_totals_and_limit(void **state)
{
    struct sim *s = *state;
    g_autoptr(GString) out = g_string_new(NULL);
    sim_judge_snapshot(s, "a");
    uint8_t *lft = sim_lft_block(s, LEAF1, 0);
    lft[1] = 1;
    lft[2] = 2;
    sim_lft_block(s, LEAF2, 5)[7] = 3;
    set_lid(s, HOST1, 1, 4);
    put64(sim_port(s, HOST1, 1)->info, 0xabc);
    assert_false(sim_judge_compare(s, "a", "b", 2, out));
    assert_string_equal(out->str, "");
    assert_true(sim_judge_compare(s, "a", "now", 2, out));
    assert_string_equal(out->str, "lft \"s1-00001\"[0] lid=1 was=255 now=1\n"
                                  "lft \"s1-00001\"[0] lid=2 was=255 now=2\n"
                                  "lids=1 keys=1 smlids=0 states=0 pkeys=0 lft_blocks=2 "
                                  "lft_entries=3 mft_blocks=0 sl2vl=0 vlarb=0\n");
}

/* What did not change is kept once, however many snapshots there are. */
static void test_snapshots_share(void **state)
{
    struct sim *s = *state;
    char name[16];
    for (unsigned i = 0; i < 2000; i++)
        sim_lft_block(s, i % 4, i % SIM_LFT_BLOCKS)[i % 64] = (uint8_t)(i % 5);
    sim_judge_snapshot(s, "first");
    size_t blocks = judge_store_blocks(s->judge->store);
    for (unsigned i = 0; i < 50; i++) {
        g_snprintf(name, sizeof(name), "n%u", i);
        sim_judge_snapshot(s, name);
    }
    assert_int_equal(judge_store_blocks(s->judge->store), blocks);
    sim_lft_block(s, LEAF1, 700)[3] ^= 1;
    sim_judge_snapshot(s, "more");
    assert_true(judge_store_blocks(s->judge->store) <= blocks + 4);
    sim_judge_snapshot(s, "first"); /* replaces */
    assert_true(judge_store_blocks(s->judge->store) <= blocks + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lids_move, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_packets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sent_packets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_log, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unwritable_log, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dump, setup, teardown),
        cmocka_unit_test_setup_teardown(test_snapshots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_totals_and_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_snapshots_share, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
