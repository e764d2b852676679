/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the contact with a coordinator that has a session with us and does not answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "shard/test_rig.h"

static void session(struct rig *r, enum shard_event_kind kind)
{
    rig_step(r, &(struct shard_event){.kind = kind, .peer = RIG_COORDINATOR});
}

/* Messages of this type to the coordinator since rig_clear, and the last one's number. */
static unsigned sent(struct rig *r, uint32_t type, uint64_t *seq)
{
    const struct shard_action *a;
    unsigned n = 0;
    for (unsigned k = 0; (a = rig_action(r, SHARD_ACT_SEND, 0, k)); k++) {
        if (a->message.type != type || strcmp(a->peer, RIG_COORDINATOR) != 0)
            continue;
        n++;
        if (seq)
            *seq = a->message.seq;
    }
    return n;
}

static unsigned hellos(struct rig *r, uint32_t ms)
{
    rig_clear(r);
    rig_run(r, ms);
    return sent(r, HEDDLE__MESSAGE_TYPE__MSG_HELLO, NULL);
}

static void run_acknowledged(struct rig *r, unsigned ms)
{
    for (unsigned at = 0; at < ms; at += 200) {
        uint64_t seq = 0;
        rig_clear(r);
        rig_run(r, 200);
        assert_int_equal(sent(r, HEDDLE__MESSAGE_TYPE__MSG_HELLO, NULL), 0);
        assert_true(sent(r, HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT, &seq) > 0);
        struct envelope m = {.type = HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT_ACK, .epoch = seq};
        g_strlcpy(m.cluster, RIG_CLUSTER, sizeof m.cluster);
        g_strlcpy(m.sender, RIG_COORDINATOR, sizeof m.sender);
        m.seq = r->core->assignment->revision;
        m.incarnation = 1;
        rig_step(r, &(struct shard_event){.kind = SHARD_EV_MESSAGE,
                                          .channel = SHARD_CONTROL,
                                          .peer = RIG_COORDINATOR,
                                          .message = &m});
    }
}

static void a_member_that_is_not_answered_says_hello_again(void **state)
{
    struct rig *r = rig_create();
    session(r, SHARD_EV_LINK_UP);
    run_acknowledged(r, 8000);
    assert_int_equal(hellos(r, 4500), 0);
    assert_int_equal(rig_events(r, "not_welcomed"), 0);
    assert_in_range(hellos(r, 30000), 29, 30); /* one a second */
    assert_int_equal(rig_events(r, "not_welcomed"), 1);
    assert_true(sent(r, HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT, NULL) > 0);
    hellos(r, 2000);
    assert_int_equal(rig_events(r, "not_welcomed"), 1); /* each 30 s */
    rig_destroy(r);
}

static void without_a_session_it_only_waits(void **state)
{
    struct rig *r = rig_create();
    session(r, SHARD_EV_LINK_UP);
    session(r, SHARD_EV_LINK_DOWN);
    assert_int_equal(hellos(r, 20000), 0);
    assert_int_equal(rig_events(r, "not_welcomed"), 0);
    session(r, SHARD_EV_LINK_UP); /* the time counts from here */
    assert_int_equal(hellos(r, 4500), 0);
    assert_true(hellos(r, 1500) > 0);
    rig_destroy(r);
}

static void a_newcomer_that_is_not_welcomed_says_so(void **state)
{
    struct rig *r = rig_create();
    heddle__assignment__free_unpacked(r->core->assignment, NULL);
    r->core->assignment = NULL;
    session(r, SHARD_EV_LINK_UP);
    assert_in_range(hellos(r, 4900), 4, 5);
    assert_int_equal(rig_events(r, "not_welcomed"), 0);
    hellos(r, 1500);
    assert_int_equal(rig_events(r, "not_welcomed"), 1);
    rig_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_is_not_answered_says_hello_again),
        cmocka_unit_test(without_a_session_it_only_waits),
        cmocka_unit_test(a_newcomer_that_is_not_welcomed_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
