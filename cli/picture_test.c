/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures: XML that a parser takes (Python's), what is in them, and how large they get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "cli/picture.h"
#include "fabric/generate.h"

#define MAX_BYTES 1000000u

static struct rt_graph *generate(const char *spec)
{
    char error[256] = "";
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    struct rt_graph *g = NULL;
    if (f == NULL)
        fail_msg("%s", error);
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    fabric_destroy(f);
    return g;
}

/* The picture as text, g_free. HEDDLE_PICTURES names a folder where they are kept. */
static char *draw(const struct rt_graph *g, const uint32_t *loads, const char *title,
                  const char *name)
{
    const char *keep = g_getenv("HEDDLE_PICTURES");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(picture_write(out, g, loads, title), 0);
    fclose(out);
    assert_true(size < MAX_BYTES);
    assert_int_equal(strlen(text), size);
    g_autofree char *path =
        keep ? g_strdup_printf("%s/%s.svg", keep, name)
             : g_strdup_printf("%s/heddle-picture-%d.svg", g_get_tmp_dir(), getpid());
    g_autofree char *command = g_strdup_printf(
        "/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1])."
        "getroot(); s = \"{http://www.w3.org/2000/svg}\"; assert r.tag == s + \"svg\"; "
        "assert r.find(s + \"title\").text and r.find(s + \"desc\").text; "
        "assert not [k for n in r.iter() for k in n.attrib if \"href\" in k]' '%s'",
        path);
    assert_true(g_file_set_contents(path, text, (gssize)size, NULL));
    int status = 0;
    assert_true(g_spawn_command_line_sync(command, NULL, NULL, &status, NULL));
    assert_int_equal(status, 0);
    if (!keep)
        g_unlink(path);
    char *copy = g_strdup(text);
    free(text);
    return copy;
}

static char *draw_ramp(const char *spec, uint32_t factor, const char *title, const char *name)
{
    struct rt_graph *g = generate(spec);
    g_autofree uint32_t *loads = g_new0(uint32_t, g->link_count + 1);
    for (uint32_t l = 0; l < g->link_count; l++) /* uneven, the same each time */
        loads[l] = factor * (l * 7919u % 37u + l * 104729u % 41u + l / 4096u);
    char *text = draw(g, loads, title, name);
    g_autofree char *again = draw(g, loads, title, name);
    assert_string_equal(text, again);
    rt_graph_unref(g);
    return text;
}

static void test_sizes(void **state)
{
    g_autofree char *small = draw_ramp("pgft:2:4,4:1,2:1,1", 1, "small", "small");
    g_autofree char *middle = draw_ramp("pgft:3:16,16,8:1,16,4:1,1,1", 100, "middle", "middle");
    g_autofree char *large = draw_ramp("pgft:3:32,32,40:1,32,32:1,1,1", 50000, "large", "large");
    g_autofree char *torus = draw_ramp("torus:5x5x8:4", 10, "torus", "torus");
    assert_non_null(strstr(small, "Tier 1-2, up"));
    assert_non_null(strstr(small, "Tier 1-2, down"));
    assert_null(strstr(small, "Tier 2-3"));
    assert_non_null(strstr(middle, "Tier 2-3, down"));
    assert_non_null(strstr(large, "links a cell"));
    assert_non_null(strstr(torus, "Tier 1, within the tier: 1200 links"));
    assert_null(strstr(torus, "Tier 1-2"));
}

/* Two leaves and a spine: four links. */
static void test_figures(void **state)
{
    struct rt_graph *g = generate("pgft:2:2,2:1,1:1,1");
    uint32_t loads[4];
    assert_int_equal(g->link_count, 4);
    for (uint32_t l = 0; l < 4; l++) /* up 3, down 10 */
        loads[l] = g->switches[g->links[l].peer].group_count == 2 ? 3 : 10;
    g_autofree char *text = draw(g, loads, "four", "four");
    assert_non_null(strstr(text, "Tier 1-2, up: 2 links, max 3, median 3"));
    assert_non_null(strstr(text, "Tier 1-2, down: 2 links, max 10, median 10"));
    memset(loads, 0, sizeof loads);
    g_autofree char *idle = draw(g, loads, "idle", "idle");
    assert_non_null(strstr(idle, "2 unused"));
    memset(loads, 0xFF, sizeof loads);
    g_autofree char *full = draw(g, loads, "full", "full");
    assert_non_null(strstr(full, "max 4294967295"));
    rt_graph_unref(g);
}

static void test_hostile_titles(void **state)
{
    static const char *const titles[] = {
        "<script>&\"'</script>",   "\x01\x1b[31m\x7f", "\xff\xfe\x80", "]]>", "",
        "\xef\xbf\xbf\xef\xb7\x90"};
    struct rt_graph *g = generate("pgft:2:2,2:1,1:1,1");
    const uint32_t loads[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < G_N_ELEMENTS(titles); i++) {
        g_autofree char *text = draw(g, loads, titles[i], "hostile");
        assert_null(strstr(text, "<script"));
    }
    g_autofree char *endless = g_strnfill(2000000, 'x');
    g_autofree char *cut = draw(g, loads, endless, "hostile");
    assert_non_null(strstr(cut, "xxx..."));
    rt_graph_unref(g);
}

static void test_no_links(void **state)
{
    struct rt_graph *g = generate("pgft:1:4:1:1");
    const uint32_t none = 0;
    g_autofree char *text = draw(g, &none, "one switch", "none");
    assert_int_equal(g->link_count, 0);
    assert_non_null(strstr(text, "No links between switches"));
    rt_graph_unref(g);
}

static void test_full_disk(void **state)
{
    struct rt_graph *g = generate("pgft:2:2,2:1,1:1,1");
    const uint32_t loads[4] = {1, 2, 3, 4};
    FILE *out = fopen("/dev/full", "w");
    assert_non_null(out);
    assert_int_not_equal(picture_write(out, g, loads, "full"), 0);
    fclose(out);
    rt_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_figures),
        cmocka_unit_test(test_hostile_titles), cmocka_unit_test(test_no_links),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
