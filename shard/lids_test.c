/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of LIDs: kept, known, adopted, new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shard/keys.h"
#include "shard/lids.h"
#include "shard/test_rig.h"

#define STRANGER 0x777ull /* a port GUID that nobody has */

static int setup(void **state)
{
    *state = rig_create();
    return 0;
}

static int teardown(void **state)
{
    rig_destroy(*state);
    return 0;
}

static void know(struct rig *r, uint64_t port_guid, unsigned lid)
{
    g_hash_table_replace(r->core->known_lids, guid_key(port_guid), GUINT_TO_POINTER(lid));
}

static uint16_t assign(struct rig *r, uint64_t port_guid, unsigned kept, unsigned found,
                       unsigned lmc)
{
    struct owned_domain d = {.id = 1};
    struct lid_book *b = lid_book_create(r->core);
    uint16_t lid = lid_book_assign(b, r->core, &d, port_guid, (uint16_t)kept, (uint16_t)found, lmc);
    lid_book_destroy(b);
    return lid;
}

static void kept_before_known_before_found(void **state)
{
    struct rig *r = *state;
    know(r, STRANGER, 70);
    assert_int_equal(assign(r, STRANGER, 90, 80, 0), 90);
    assert_int_equal(assign(r, STRANGER, 0, 80, 0), 70);
    g_hash_table_remove_all(r->core->known_lids);
    assert_int_equal(assign(r, STRANGER, 0, 80, 0), 80); /* adopted, in the pool or not */
    assert_int_equal(assign(r, STRANGER, 0, 5000, 0), 5000);
    assert_int_equal(assign(r, STRANGER, 0, 0, 0), 64); /* the pool's first */
}

static void a_members_port_gets_the_coordinators(void **state)
{
    struct rig *r = *state;
    r->core->assignment->members[0]->lid = 99;
    assert_int_equal(assign(r, RIG_HOST_A + 1, 10, 10, 0), 99);
}

static void what_another_holds_is_not_taken(void **state)
{
    struct rig *r = *state;
    /* 11 is host b's, by the view. */
    assert_int_equal(assign(r, STRANGER, 0, 11, 0), 64);
    /* 65 is known to be another port's, which is away. */
    know(r, STRANGER + 1, 65);
    assert_int_equal(assign(r, STRANGER, 0, 65, 0), 64);
    know(r, STRANGER + 2, 64);
    assert_int_equal(assign(r, STRANGER, 0, 64, 0), 66);
    /* Domain 2 has told its LIDs: a switch's counts, too. */
    view_domain(r->core->view, 2)->phase = HEDDLE__DOMAIN_PHASE__PHASE_LIDS;
    assert_int_equal(assign(r, STRANGER, 0, 3, 0), 66);
}

static void conflicts_are_seen(void **state)
{
    struct rig *r = *state;
    struct lid_book *b = lid_book_create(r->core);
    assert_true(lid_book_conflict(b, 11, STRANGER));
    assert_false(lid_book_conflict(b, 11, RIG_HOST_B + 1));
    assert_false(lid_book_conflict(b, 100, STRANGER));
    lid_book_destroy(b);
}

/* Two ports were found with one LID: it stays with the lower port GUID, whatever the order. */
static void the_lower_guid_keeps_a_found_lid(void **state)
{
    struct rig *r = *state;
    static const uint64_t hosts[] = {RIG_HOST_B, RIG_HOST_D};
    for (unsigned i = 0; i < 2; i++) {
        view_end_port(r->core->view, hosts[i], 1)->lid = 0;
        rig_found_lid(r, hosts[i], 1, 100);
        struct view_end_port e = *view_end_port(r->core->view, hosts[i], 1);
        rig_put_end_port(r, &e);
    }
    assert_int_equal(assign(r, RIG_HOST_D + 1, 0, 100, 0), 64);
    assert_int_equal(assign(r, RIG_HOST_B + 1, 0, 100, 0), 100);
    /* One that is assigned beats both. */
    struct view_end_port e = *view_end_port(r->core->view, RIG_HOST_C, 1);
    e.lid = 100;
    rig_put_end_port(r, &e);
    assert_int_equal(assign(r, RIG_HOST_B + 1, 0, 100, 0), 64);
}

static void ranges_are_aligned(void **state)
{
    struct rig *r = *state;
    assert_int_equal(assign(r, STRANGER, 0, 0, 3), 64);
    assert_int_equal(assign(r, STRANGER, 70, 0, 1), 70);
    assert_int_equal(assign(r, STRANGER, 70, 0, 3), 64); /* 70 is no multiple of 8 */
    know(r, STRANGER + 1, 66);                           /* in the midst of 64 to 71 */
    assert_int_equal(assign(r, STRANGER, 0, 0, 3), 72);
    assert_int_equal(assign(r, STRANGER, 0, 64, 3), 72);
    assert_int_equal(assign(r, STRANGER, RT_MAX_LID, 0, 1),
                     64); /* its second one would be no LID */
}

static void all_of_a_range_are_taken(void **state)
{
    struct rig *r = *state;
    struct owned_domain d = {.id = 1};
    struct lid_book *b = lid_book_create(r->core);
    assert_int_equal(lid_book_assign(b, r->core, &d, STRANGER, 0, 0, 2), 64);
    for (unsigned lid = 64; lid < 68; lid++)
        assert_true(lid_book_conflict(b, (uint16_t)lid, STRANGER + 1));
    assert_int_equal(lid_book_assign(b, r->core, &d, STRANGER + 1, 0, 0, 0), 68);
    lid_book_destroy(b);
}

static void a_used_up_pool_gives_nothing_and_says_so_once(void **state)
{
    struct rig *r = *state;
    struct owned_domain d = {.id = 1};
    struct lid_book *b = lid_book_create(r->core);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(lid_book_assign(b, r->core, &d, STRANGER + i, 0, 0, 0), 64 + i);
    for (unsigned i = 64; i < 80; i++)
        assert_int_equal(lid_book_assign(b, r->core, &d, STRANGER + i, 0, 0, 0), 0);
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
    assert_int_equal(rig_events(r, "lid_pool_empty"), 1);
    /* Those that have a LID keep it, and those that bring one are served. */
    assert_int_equal(lid_book_assign(b, r->core, &d, STRANGER, 64, 0, 0), 64);
    assert_int_equal(lid_book_assign(b, r->core, &d, STRANGER + 90, 0, 1000, 0), 1000);
    lid_book_destroy(b);
    /* Another pool comes. */
    rig_domain(r, 1)->pools[0]->count = 128;
    know(r, STRANGER + 200, 64);
    assert_int_equal(assign(r, STRANGER + 91, 0, 0, 0), 65);
}

static void reassign_does_not_adopt(void **state)
{
    struct rig *r = *state;
    r->core->cluster->subnet->reassign_lids = true;
    assert_int_equal(assign(r, STRANGER, 0, 5000, 0), 64);
    know(r, STRANGER, 70);
    assert_int_equal(assign(r, STRANGER, 0, 5000, 0), 70); /* but keeps what it gave itself */
    assert_int_equal(assign(r, STRANGER, 71, 5000, 0), 71);
}

static void no_lid_of_a_store_is_trusted_blindly(void **state)
{
    struct rig *r = *state;
    assert_int_equal(assign(r, STRANGER, RT_MAX_LID + 1, RT_MAX_LID + 1, 0), 64);
    assert_int_equal(assign(r, STRANGER, 0xffff, 0xffff, 0), 64);
}

static void a_domain_gets_its_lids_at_once(void **state)
{
    struct rig *r = *state;
    rig_own(r, 1);
    /* Host b has none yet, the spine's is another's. */
    struct view_end_port e = *view_end_port(r->core->view, RIG_HOST_B, 1);
    e.lid = 0;
    rig_portinfo(e.portinfo, 0);
    rig_put_end_port(r, &e);
    know(r, STRANGER, 4);
    lids_assign_domain(r->core, rig_owned(r, 1));
    const struct view *v = r->core->view;
    assert_int_equal(view_switch_lid(view_switch(v, RIG_LEAF)), 2);
    assert_int_equal(view_switch_lid(view_switch(v, RIG_SPINE)), 64);
    assert_int_equal(view_end_port(v, RIG_HOST_A, 1)->lid, 10);
    assert_int_equal(view_end_port(v, RIG_HOST_B, 1)->lid, 65);
    assert_int_equal(view_end_port(v, RIG_HOST_D, 1)->lid, 13); /* not ours to change */
    assert_int_equal(view_domain(v, 1)->phase, HEDDLE__DOMAIN_PHASE__PHASE_LIDS);
    struct view_switch *s = NULL;
    struct view_end_port *found = NULL;
    assert_true(view_by_lid(v, 65, &s, &found));
    assert_true(found == view_end_port(v, RIG_HOST_B, 1));
    /* Again: nothing changes. */
    lids_assign_domain(r->core, rig_owned(r, 1));
    assert_int_equal(view_switch_lid(view_switch(v, RIG_SPINE)), 64);
    assert_int_equal(view_end_port(v, RIG_HOST_B, 1)->lid, 65);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kept_before_known_before_found),   TEST(a_members_port_gets_the_coordinators),
        TEST(what_another_holds_is_not_taken),  TEST(conflicts_are_seen),
        TEST(the_lower_guid_keeps_a_found_lid), TEST(ranges_are_aligned),
        TEST(all_of_a_range_are_taken),         TEST(a_used_up_pool_gives_nothing_and_says_so_once),
        TEST(reassign_does_not_adopt),          TEST(no_lid_of_a_store_is_trusted_blindly),
        TEST(a_domain_gets_its_lids_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
