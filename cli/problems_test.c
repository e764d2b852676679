/* SPDX-License-Identifier: BSD-2-Clause */
/* Each reason for which a port is not ACTIVE, made by one change to a fabric that is fine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/fixture.h"
#include "cli/nodes.h"
#include "cli/output.h"

enum { DOWN = 1, INIT, ARMED, ACTIVE };
enum { POLLING = 2, DISABLED, TRAINING, PHYS_UP };

struct scene {
    struct view *v;
    Heddle__Status *s;
    struct view_switch *a, *b;
    struct view_end_port *h1;
};

static void set_port(struct view_switch *sw, unsigned port, unsigned state, unsigned physical)
{
    fixture_port(sw->ports[port].portinfo, state, physical);
}

static void nothing(struct scene *x)
{
}
static void unreachable(struct scene *x)
{
    x->b->reachable = false;
}
static void no_domain(struct scene *x)
{
    x->a->domain = VIEW_NO_DOMAIN;
}
static void no_owner(struct scene *x)
{
    x->s->assignment->members[1]->state = HEDDLE__MEMBER_STATE__MEMBER_DEAD;
}
static void duplicate(struct scene *x)
{
    fixture_add_duplicate(x->s, 0, 0xdead);
}
static void behind_it_a_duplicate(struct scene *x)
{
    set_port(x->a, 3, INIT, PHYS_UP);
    x->a->ports[3].peer_guid = FIXTURE_H1;
    fixture_add_duplicate(x->s, 1, FIXTURE_H1);
}
static void not_read(struct scene *x)
{
    x->a->ports[4].have_info = false;
}
static void link_down(struct scene *x)
{
    set_port(x->a, 2, DOWN, POLLING);
    x->a->ports[2].peer_guid = 0;
    x->h1->present = false;
}
static void peer_down(struct scene *x)
{
    set_port(x->a, 1, INIT, PHYS_UP);
    set_port(x->b, 1, DOWN, POLLING);
    x->b->ports[1].peer_guid = 0;
}
static void disabled(struct scene *x)
{
    set_port(x->a, 4, DOWN, DISABLED);
}
static void training(struct scene *x)
{
    set_port(x->a, 4, DOWN, TRAINING);
}
static void mute(struct scene *x)
{
    set_port(x->a, 3, INIT, PHYS_UP);
}
static void peer_without_domain(struct scene *x)
{
    set_port(x->a, 1, INIT, PHYS_UP);
    x->b->domain = VIEW_NO_DOMAIN;
}
static void no_lid(struct scene *x)
{
    set_port(x->a, 2, INIT, PHYS_UP);
    x->h1->lid = 0;
}
static void bringing_up(struct scene *x)
{
    set_port(x->a, 2, INIT, PHYS_UP);
    view_domain(x->v, 1)->phase = HEDDLE__DOMAIN_PHASE__PHASE_EXPLORED;
}
static void waits(struct scene *x)
{
    set_port(x->a, 1, ARMED, PHYS_UP);
    set_port(x->b, 1, INIT, PHYS_UP);
}
static void refused(struct scene *x)
{
    set_port(x->a, 2, INIT, PHYS_UP);
}
static void end_port_refused(struct scene *x)
{
    fixture_port(x->h1->portinfo, ARMED, PHYS_UP);
}

static const struct {
    void (*change)(struct scene *x);
    const char *wanted; /* "guid/port reason" of each row */
} cases[] = {
    {nothing, ""},
    {unreachable, "b0/0 unreachable"},
    {no_domain, "a0/0 no_domain"},
    {no_owner, "b0/0 no_owner"},
    {duplicate, "dead/0 duplicate_guid"},
    {behind_it_a_duplicate, "100/0 duplicate_guid a0/3 duplicate_guid"},
    {not_read, "a0/4 not_read"},
    {link_down, "a0/2 link_down"},
    {peer_down, "a0/1 peer_down"},
    {disabled, "a0/4 disabled"},
    {training, "a0/4 training"},
    {mute, "a0/3 no_peer"},
    {peer_without_domain, "a0/1 peer_no_owner b0/0 no_domain"},
    {no_lid, "a0/2 no_lid"},
    {bringing_up, "a0/2 bringing_up"},
    {waits, "a0/1 waits_for_peer b0/1 not_set"},
    {refused, "a0/2 not_set"},
    {end_port_refused, "100/1 not_set"},
};

static char *summary(const GArray *problems)
{
    GString *s = g_string_new(NULL);
    for (guint i = 0; i < problems->len; i++) {
        const struct port_problem *p = &g_array_index(problems, struct port_problem, i);
        g_string_append_printf(s, "%s%" G_GINT64_MODIFIER "x/%u %s", i > 0 ? " " : "", p->node_guid,
                               p->port, nodes_reason_name(p->reason));
    }
    return g_string_free(s, FALSE);
}

static void test_reasons(void **state)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct scene x = {.v = fixture_view(), .s = fixture_status()};
        x.a = view_switch(x.v, FIXTURE_A);
        x.b = view_switch(x.v, FIXTURE_B);
        x.h1 = view_end_port(x.v, FIXTURE_H1, 1);
        cases[i].change(&x);
        GArray *problems = nodes_problems(x.v, x.s);
        g_autofree char *got = summary(problems);
        assert_string_equal(got, cases[i].wanted);
        g_array_unref(problems);
        heddle__status__free_unpacked(x.s, NULL);
        view_destroy(x.v);
    }
}

static void test_list(void **state)
{
    struct view *v = fixture_view();
    Heddle__Status *s = fixture_status();
    GArray *rows = nodes_list(v, s);
    assert_int_equal(rows->len, 4);
    const struct node_row *a = &g_array_index(rows, struct node_row, 0);
    assert_int_equal(a->node_guid, FIXTURE_A);
    assert_int_equal(a->lid, 1);
    assert_int_equal(a->links, 2);
    assert_int_equal(a->active, 2);
    assert_string_equal(a->owner, "shard-1");
    const struct node_row *h2 = &g_array_index(rows, struct node_row, 3);
    assert_int_equal(h2->lid, 4);
    assert_int_equal(h2->domain, 2);
    assert_int_equal(h2->active, 1);
    g_array_unref(rows);
    heddle__status__free_unpacked(s, NULL);
    view_destroy(v);
}

/* A description of every kind of trouble: neither output may let it through or lose the row. */
static void test_hostile_description(void **state)
{
    struct view *v = fixture_view();
    Heddle__Status *s = fixture_status();
    strcpy(view_switch(v, FIXTURE_A)->description, "\x1b]0;x\x07\n\xff\"");
    GArray *rows = nodes_list(v, s);
    const struct output *outputs[] = {&output_text, &output_json};
    for (size_t i = 0; i < G_N_ELEMENTS(outputs); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        outputs[i]->nodes(out, rows);
        fclose(out);
        assert_true(g_utf8_validate(text, -1, NULL));
        assert_null(strpbrk(text, "\x1b\x07"));
        assert_non_null(strstr(text, "0x00000000000000a0"));
        free(text);
    }
    g_array_unref(rows);
    heddle__status__free_unpacked(s, NULL);
    view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_hostile_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
