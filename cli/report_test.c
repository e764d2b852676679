/* SPDX-License-Identifier: BSD-2-Clause */
/* What a status says, and why it says that the cluster has not converged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/fixture.h"
#include "cli/output.h"
#include "cli/report.h"

static char *why_not(Heddle__Status *s)
{
    s->converged = false;
    g_autoptr(GPtrArray) lines = report_why_not(s);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("|", (char **)lines->pdata);
}

static void expect_why(Heddle__Status *s, const char *wanted)
{
    g_autofree char *got = why_not(s);
    assert_string_equal(got, wanted);
    heddle__status__free_unpacked(s, NULL);
}

static void test_why_not(void **state)
{
    Heddle__Status *s = fixture_status();
    GPtrArray *none = report_why_not(s);
    assert_int_equal(none->len, 0);
    g_ptr_array_unref(none);
    expect_why(s, "the coordinator gives no reason; ask again");

    s = fixture_status();
    fixture_add_problem(s, "2 switches belong to no domain");
    expect_why(s, "2 switches belong to no domain");

    s = fixture_status();
    fixture_set_text(&s->assignment->domains[1]->owner, "");
    expect_why(s, "domain 1 (pod-1) has no owner");

    s = fixture_status();
    s->assignment->members[1]->state = HEDDLE__MEMBER_STATE__MEMBER_DEAD;
    expect_why(s, "domain 2 (pod-2): its owner shard-2 is dead");

    s = fixture_status();
    s->shards[0]->last->domains[0]->epoch = 7; /* an old or a future one: not believed */
    expect_why(s, "domain 1 (pod-1): shard-1 has not reported it yet");

    s = fixture_status();
    s->shards[0]->last->domains[0]->state->phase = HEDDLE__DOMAIN_PHASE__PHASE_EXPLORING;
    expect_why(s, "domain 1 (pod-1): phase is \"exploring\"");

    s = fixture_status();
    s->shards[1]->last->domains[0]->state->programmed_digest.data[0] ^= 1;
    expect_why(s, "domain 2 (pod-2): its tables are of another view than those of other domains");

    s = fixture_status();
    s->shards[1]->last->routing_digest.data[0] ^= 1;
    expect_why(s, "shard shard-2 has another view than the tables were made from");
}

static void test_sums(void **state)
{
    Heddle__Status *s = fixture_status();
    struct report_ports p = report_ports(s);
    assert_int_equal(p.with_link, 4);
    assert_int_equal(p.active, 4);
    assert_int_equal(report_nodes(s, "shard-1"), 2);
    assert_string_equal(report_lead(s)->name, "shard-1");
    assert_true(report_owned(s, s->assignment->domains[1]));
    s->shards[0]->last->domains[0]->epoch = 2;
    assert_int_equal(report_ports(s).with_link, 2);
    heddle__status__free_unpacked(s, NULL);
}

static char *printed(const struct output *o, const Heddle__Status *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    o->status(out, s);
    fclose(out);
    return text;
}

static void test_text(void **state)
{
    static const char *const wanted[] = {
        "Converged  no",
        "FROZEN",
        "FOREIGN SM 0x00000000000000ee",
        "1 duplicate GUID",
        "version differs from the lead's",
        "1 of 5 ports have no peer",
        "2023-11-14 22:13:20.123",
        "141 ms",
        "the clock of shard-2 is \\x1b[31m off",
        "-3 ms",
        "12 ms ago",
    };
    Heddle__Status *s = fixture_status();
    Heddle__Heartbeat *h = s->shards[1]->last;
    s->converged = false;
    h->frozen = h->foreign_sm = true;
    h->foreign_sm_guid = 0xee;
    fixture_add_duplicate(s, 1, 0xdd);
    h->domains[0]->state->ports_with_link = 3;
    h->domains[0]->state->ports_without_peer = 1;
    fixture_set_text(&s->assignment->members[1]->software, "0.2.0");
    fixture_add_problem(s, "the clock of shard-2 is \x1b[31m off");
    char *text = printed(&output_text, s);
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
        if (strstr(text, wanted[i]) == NULL)
            fail_msg("\"%s\" is not in:\n%s", wanted[i], text);
    free(text);
    heddle__status__free_unpacked(s, NULL);
}

/* The keys that README.md promises. */
static void test_json(void **state)
{
    static const char *const keys[] = {"cluster",  "converged", "why_not", "incarnation",
                                       "revision", "lead",      "shards",  "domains",
                                       "problems", "takeovers", "ports"};
    Heddle__Status *s = fixture_status();
    char *text = printed(&output_json, s);
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        assert_non_null(json_object_get(o, keys[i]));
    assert_int_equal(json_object_size(o), G_N_ELEMENTS(keys));
    int detect, active;
    const char *owner;
    assert_int_equal(json_unpack(o, "{s:[{s:i}], s:{s:i}, s:[o, {s:s}, o]}", "takeovers",
                                 "detect_ms", &detect, "ports", "active", &active, "domains",
                                 &(json_t *){NULL}, "owner", &owner, &(json_t *){NULL}),
                     0);
    assert_int_equal(detect, 141);
    assert_int_equal(active, 4);
    assert_string_equal(owner, "shard-1");
    json_decref(o);
    free(text);
    heddle__status__free_unpacked(s, NULL);
}

/* A coordinator that has just begun knows nothing. */
static void test_empty(void **state)
{
    Heddle__Status s = HEDDLE__STATUS__INIT;
    const struct output *outputs[] = {&output_text, &output_json};
    for (size_t i = 0; i < G_N_ELEMENTS(outputs); i++) {
        char *text = printed(outputs[i], &s);
        assert_non_null(strstr(text, "there are no domains yet"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_not), cmocka_unit_test(test_sums),  cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),    cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
