/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the writer: what it writes is read back the same, and ibsim loads it. Real fabrics are
 * read from $HEDDLE_FABRICS, else from ../shared/fabrics beside the source, if they are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/generate.h"
#include "fabric/read.h"
#include "fabric/write.h"

static void print_messages(const struct fabric_messages *m)
{
    for (size_t i = 0; i < fabric_messages_total(m); i++)
        print_message("%s\n", fabric_messages_text(m, i));
}

static char *written(const struct fabric *f, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    assert_non_null(out);
    assert_int_equal(fabric_write(f, out), 0);
    fclose(out);
    return text;
}

static struct fabric *read_back(const char *text, size_t len, size_t warnings)
{
    struct fabric_messages *m = fabric_messages_create();
    struct fabric *f = fabric_read_text("written", text, len, m);
    if (!f || fabric_messages_count(m, false) != warnings)
        print_messages(m);
    assert_non_null(f);
    assert_int_equal(fabric_messages_count(m, false), warnings);
    fabric_messages_destroy(m);
    return f;
}

static void assert_same_port(const struct fabric *a, const struct fabric_port *x,
                             const struct fabric *b, const struct fabric_port *y)
{
    assert_int_equal(x->peer_node == FABRIC_NONE, y->peer_node == FABRIC_NONE);
    if (x->peer_node == FABRIC_NONE)
        return;
    assert_true(a->nodes[x->peer_node].guid == b->nodes[y->peer_node].guid);
    assert_int_equal(x->peer_port, y->peer_port);
    assert_true(x->guid == y->guid);
    assert_int_equal(x->width, y->width);
    assert_int_equal(x->speed, y->speed);
    assert_int_equal(x->lid, y->lid);
    assert_int_equal(x->lmc, y->lmc);
}

/* Equal but for the numbers of nodes. */
static void assert_same(const struct fabric *a, const struct fabric *b)
{
    assert_int_equal(a->node_count, b->node_count);
    for (uint32_t i = 0; i < a->node_count; i++) {
        const struct fabric_node *x = &a->nodes[i];
        uint32_t j = fabric_find(b, x->guid);
        assert_int_not_equal(j, FABRIC_NONE);
        const struct fabric_node *y = &b->nodes[j];
        assert_true(x->sys_guid == y->sys_guid);
        assert_int_equal(x->vendor_id, y->vendor_id);
        assert_int_equal(x->device_id, y->device_id);
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->nports, y->nports);
        assert_int_equal(x->enhanced_port0, y->enhanced_port0);
        assert_string_equal(x->desc, y->desc);
        assert_int_equal(x->ports[0].lid, y->ports[0].lid);
        assert_int_equal(x->ports[0].lmc, y->ports[0].lmc);
        for (unsigned p = 1; p <= x->nports; p++)
            assert_same_port(a, &x->ports[p], b, &y->ports[p]);
    }
}

static void assert_round_trip(const struct fabric *f)
{
    size_t len, len2;
    char *text = written(f, &len);
    struct fabric *back = read_back(text, len, 0);
    assert_same(f, back);
    char *again = written(back, &len2);
    assert_int_equal(len, len2);
    assert_memory_equal(text, again, len);
    fabric_destroy(back);
    free(text);
    free(again);
}

static void generated_trees_come_back_with_their_numbers(void **state)
{
    static const char *const specs[] = {"pgft:2:4,2:2,2:1,3", "pgft:1:4:1:1",
                                        "pgft:3:16,16,8:1,16,4:1,1,1"};
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        struct fabric *f = fabric_generate(specs[i], NULL, 0);
        assert_non_null(f);
        size_t len;
        char *text = written(f, &len);
        struct fabric *back = read_back(text, len, 0);
        for (uint32_t n = 0; n < f->node_count; n++)
            assert_true(f->nodes[n].guid == back->nodes[n].guid);
        fabric_destroy(back);
        free(text);
        assert_round_trip(f);
        fabric_destroy(f);
    }
}

static void every_field_of_the_format_comes_back(void **state)
{
    struct fabric *f = fabric_create();
    fabric_add_node(f, 0xfedcba9876543210, FABRIC_CA, 2, "host # 1 [2](3) lid 7 lmc 1 base port 0");
    fabric_add_node(f, 0x10, FABRIC_SWITCH, 254, "");
    fabric_add_node(f, 0x20, FABRIC_ROUTER, 2, "\xc3\xa9t\xc3\xa9 ");
    fabric_add_node(f, 0x30, FABRIC_SWITCH, 1, "alone");
    f->nodes[0].sys_guid = UINT64_MAX;
    f->nodes[0].vendor_id = 0xffffff;
    f->nodes[0].device_id = 0xffff;
    f->nodes[1].enhanced_port0 = true;
    f->nodes[1].ports[0].lid = 49151;
    f->nodes[1].ports[0].lmc = 7;
    fabric_connect(f, 0, 2, 1, 254);
    fabric_connect(f, 2, 1, 1, 1);
    fabric_connect(f, 1, 2, 1, 3);
    f->nodes[0].ports[2].guid = 0x1122334455667788;
    f->nodes[0].ports[2].lid = 12;
    f->nodes[0].ports[2].lmc = 3;
    f->nodes[0].ports[2].width = 16;
    f->nodes[0].ports[2].speed = FABRIC_XDR;
    f->nodes[1].ports[254].width = 8;
    f->nodes[1].ports[254].speed = FABRIC_FDR10;
    f->nodes[1].ports[1].speed = FABRIC_SDR; /* and no width */
    f->nodes[2].ports[1].width = 1;          /* and no speed */
    assert_round_trip(f);
    fabric_destroy(f);
}

/* A description that tries to end its line or quotes stays text. */
static void hostile_descriptions_stay_inside_their_quotes(void **state)
{
    struct fabric *f = fabric_create();
    fabric_add_node(f, 0x10, FABRIC_SWITCH, 2, "a\" lid 9 lmc 1\n[2] \"S-10\"[1]");
    fabric_add_node(f, 0x20, FABRIC_CA, 1, "w=99 e=99\r\x7f");
    fabric_connect(f, 0, 1, 1, 1);
    size_t len;
    char *text = written(f, &len);
    struct fabric *back = read_back(text, len, 0);
    assert_string_equal(back->nodes[0].desc, "a' lid 9 lmc 1 [2] 'S-10'[1]");
    assert_string_equal(back->nodes[1].desc, "w=99 e=99  ");
    assert_int_equal(back->nodes[0].ports[0].lid, 0);
    assert_int_equal(fabric_count(back).links, 1);
    assert_null(strstr(strstr(text, "Switch\t"), "# \"w=99 e=99  \" lid")); /* ibsim's options */
    fabric_destroy(back);
    free(text);
    fabric_destroy(f);
}

static void a_full_disk_is_reported(void **state)
{
    FILE *full = fopen("/dev/full", "we");
    if (!full)
        skip();
    struct fabric *f = fabric_generate("pgft:1:4:1:1", NULL, 0);
    assert_int_equal(fabric_write(f, full), ENOSPC);
    fclose(full);
    fabric_destroy(f);
}

static char *fabrics_dir(void)
{
    const char *dir = g_getenv("HEDDLE_FABRICS"), *source = g_getenv("HEDDLE_SOURCE");
    return dir ? g_strdup(dir)
               : g_build_filename(source ? source : "..", "..", "shared", "fabrics", NULL);
}

static struct fabric *real_fabric(const char *name)
{
    g_autofree char *dir = fabrics_dir();
    g_autofree char *path = g_build_filename(dir, name, NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        print_message("skipped: %s is not there (HEDDLE_FABRICS names the folder)\n", path);
        return NULL;
    }
    struct fabric_messages *m = fabric_messages_create();
    struct fabric *f = fabric_load(path, m);
    print_messages(m);
    assert_non_null(f);
    assert_int_equal(fabric_messages_count(m, true), 0);
    fabric_messages_destroy(m);
    return f;
}

static void real_fabrics_are_read_and_come_back(void **state)
{
    static const struct {
        const char *name;
        uint32_t switches, cas, cabled;
    } real[] = {{"director-edr-1470.net", 174, 1644, 6886},
                {"rail-dgx-140.net", 206, 1336, 7144},
                {"rail-ndr-542.net", 40, 582, 2228},
                {"small-qdr-144.net", 8, 144, 384}};
    for (size_t i = 0; i < G_N_ELEMENTS(real); i++) {
        struct fabric *f = real_fabric(real[i].name);
        if (!f)
            skip();
        struct fabric_counts c = fabric_count(f);
        print_message("%s: %u switches, %u CAs, %u links\n", real[i].name, c.switches, c.cas,
                      c.links);
        assert_int_equal(c.switches, real[i].switches);
        assert_int_equal(c.cas, real[i].cas);
        assert_int_equal(c.routers, 0);
        assert_int_equal(c.ports_cabled, real[i].cabled);
        assert_round_trip(f);
        fabric_destroy(f);
    }
}

/* Runs ibsim on a fabric's text; it must parse it, say nothing of it and leave on "quit". */
static void assert_ibsim_loads(const struct fabric *f)
{
    size_t len;
    char *text = written(f, &len), output[4096] = "";
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("heddle-XXXXXX.net", &path, NULL);
    assert_int_not_equal(fd, -1);
    close(fd);
    assert_true(g_file_set_contents(path, text, (gssize)len, NULL));
    free(text);
    struct fabric_counts c = fabric_count(f);
    g_autofree char *command = g_strdup_printf(
        "echo quit | IBSIM_SOCKNAME=heddle-write-test-%d timeout 30 ibsim -s -N %u -S %u -P %u %s "
        "2>&1",
        (int)getpid(), f->node_count, c.switches, c.ports + c.switches, path);
    FILE *in = popen(command, "re");
    assert_non_null(in);
    output[fread(output, 1, sizeof output - 1, in)] = '\0';
    int status = pclose(in);
    remove(path);
    if (status != 0 || !strstr(output, "Network simulator ready") || strstr(output, "ibwarn") ||
        strstr(output, "ibpanic"))
        fail_msg("ibsim ended with status %d: %s", status, output);
}

static void ibsim_loads_what_is_written(void **state)
{
    g_autofree char *ibsim = g_find_program_in_path("ibsim");
    if (!ibsim) {
        print_message("skipped: ibsim (Debian package ibsim-utils) is not installed\n");
        skip();
    }
    struct fabric *f = fabric_generate("pgft:3:16,16,8:1,16,4:1,1,1", NULL, 0);
    assert_ibsim_loads(f);
    fabric_destroy(f);
    f = fabric_generate("pgft:1:2:1:1", NULL, 0); /* what ibsim would take for options, or more */
    g_strlcpy(f->nodes[0].desc, "a=1 w=99 \" lid 7 lmc 3\n[1] \"x\"", sizeof f->nodes[0].desc);
    g_strlcpy(f->nodes[1].desc, "size=100 s=9 e=99 # @ [", sizeof f->nodes[1].desc);
    memset(f->nodes[2].desc, '"', sizeof f->nodes[2].desc - 1);
    assert_ibsim_loads(f);
    fabric_destroy(f);
    f = real_fabric("rail-dgx-140.net");
    if (f)
        assert_ibsim_loads(f);
    fabric_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_trees_come_back_with_their_numbers),
        cmocka_unit_test(every_field_of_the_format_comes_back),
        cmocka_unit_test(hostile_descriptions_stay_inside_their_quotes),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(real_fabrics_are_read_and_come_back),
        cmocka_unit_test(ibsim_loads_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
