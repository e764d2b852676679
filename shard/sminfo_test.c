/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of SMInfo: what is answered to whom, and who is found to be MASTER. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include <infiniband/mad.h>

#include "shard/sminfo.h"
#include "shard/test_rig.h"

#define NOT_SUPPORTED 0x0008u
#define DIRECTION 0x8000u
#define TID 0x1122334455667788ull

enum { STANDBY = 2, MASTER = 3 };

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

/* Sends Get or Set(SMInfo) to the core; the answer is the only MAD of this attribute. */
static const uint8_t *ask(struct rig *r, unsigned method, bool directed, uint16_t from_lid)
{
    static const struct dr_path path = {2, {0, 1, 3}};
    uint8_t mad[MAD_BYTES];
    smp_build(mad, method, SMP_SM_INFO, 0, directed ? &path : NULL, 0, TID);
    memset(smp_data(mad), 0xee, 64);
    rig_clear(r);
    rig_step(r, &(struct shard_event){
                    .kind = SHARD_EV_MAD,
                    .mad = mad,
                    .mad_len = sizeof mad,
                    .address = {.lid = directed ? 0xffff : from_lid, .qpn = 0, .sl = 2}});
    const struct shard_action *a = rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0);
    assert_non_null(a);
    assert_null(rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 1));
    assert_int_equal(a->mad_len, MAD_BYTES);
    assert_int_equal(a->timeout_ms, 0); /* an answer expects none */
    assert_int_equal(a->address.lid, directed ? 0xffff : from_lid);
    assert_int_equal(a->address.sl, 2);
    return a->mad;
}

static unsigned state_in(const uint8_t *mad)
{
    return mad_get_field((void *)smp_data_const(mad), 0, IB_SMINFO_STATE_F);
}

static void an_answer_is_an_answer(void **state)
{
    struct rig *r = *state;
    const uint8_t *mad = ask(r, MAD_GET, false, 11);
    assert_int_equal(mad_method(mad), MAD_GET_RESP);
    assert_int_equal(mad_class(mad), SMP_CLASS_LID);
    assert_int_equal(mad_status(mad), 0);
    assert_true(mad_tid(mad) == TID);
    uint8_t *info = smp_data((uint8_t *)mad);
    assert_true(mad_get_field64(info, 0, IB_SMINFO_GUID_F) == RIG_HOST_A + 1);
    assert_true(mad_get_field64(info, 0, IB_SMINFO_KEY_F) == 0x1234);
    assert_int_equal(mad_get_field(info, 0, IB_SMINFO_PRIO_F), 5);
    for (unsigned i = 21; i < 64; i++) /* nothing of the request, nothing of us */
        assert_int_equal(info[i], 0);
    mad = ask(r, MAD_GET, true, 0);
    assert_int_equal(mad_method(mad), MAD_GET_RESP);
    assert_int_equal(mad_class(mad), SMP_CLASS_DR);
    assert_int_equal(mad_get_field((void *)mad, 0, IB_MAD_STATUS_F), DIRECTION);
}

static void the_count_moves_with_the_loop(void **state)
{
    struct rig *r = *state;
    uint32_t first =
        mad_get_field((void *)smp_data_const(ask(r, MAD_GET, true, 0)), 0, IB_SMINFO_ACT_F);
    rig_run(r, 5);
    uint32_t then =
        mad_get_field((void *)smp_data_const(ask(r, MAD_GET, true, 0)), 0, IB_SMINFO_ACT_F);
    assert_int_equal(then - first, 6);
}

static void nobody_orders_anything_by_set(void **state)
{
    struct rig *r = *state;
    for (unsigned directed = 0; directed < 2; directed++) {
        const uint8_t *mad = ask(r, MAD_SET, directed != 0, 11);
        assert_int_equal(mad_method(mad), MAD_GET_RESP);
        assert_int_equal(mad_status(mad), NOT_SUPPORTED);
    }
}

/* Managers ask by directed routes: only the lead is MASTER. Hosts ask by LID: their owner is. */
static void master_for_whom(void **state)
{
    struct rig *r = *state;
    assert_int_equal(state_in(ask(r, MAD_GET, true, 0)), STANDBY);
    assert_int_equal(state_in(ask(r, MAD_GET, false, 11)), STANDBY);
    rig_own(r, 1);
    assert_int_equal(state_in(ask(r, MAD_GET, true, 0)), STANDBY);
    assert_int_equal(state_in(ask(r, MAD_GET, false, 11)), MASTER);     /* host b, on our leaf */
    assert_int_equal(state_in(ask(r, MAD_GET, false, 4)), MASTER);      /* the spine */
    assert_int_equal(state_in(ask(r, MAD_GET, false, 13)), STANDBY);    /* on shard2's leaf */
    assert_int_equal(state_in(ask(r, MAD_GET, false, 3)), STANDBY);     /* that leaf itself */
    assert_int_equal(state_in(ask(r, MAD_GET, false, 40000)), STANDBY); /* nobody's LID */
    rig_own(r, 0);
    assert_int_equal(state_in(ask(r, MAD_GET, true, 0)), MASTER);
    assert_int_equal(state_in(ask(r, MAD_GET, false, 13)), MASTER);
}

static void standby_before_it_has_joined(void **state)
{
    (void)state;
    struct rig *r = rig_create_empty(NULL);
    const uint8_t *mad = ask(r, MAD_GET, true, 0);
    assert_int_equal(state_in(mad), STANDBY);
    assert_true(mad_get_field64((void *)smp_data_const(mad), 0, IB_SMINFO_KEY_F) == 1);
    rig_destroy(r);
}

static void short_and_odd_mads_are_left_alone(void **state)
{
    struct rig *r = *state;
    uint8_t mad[MAD_BYTES];
    static const unsigned methods[] = {MAD_TRAP, MAD_TRAP_REPRESS, 0x03, 0x7f, MAD_GET_RESP};
    for (unsigned i = 0; i < G_N_ELEMENTS(methods); i++) {
        smp_build(mad, methods[i], SMP_SM_INFO, 0, NULL, 0, TID);
        rig_clear(r);
        rig_step(r, &(struct shard_event){.kind = SHARD_EV_MAD,
                                          .mad = mad,
                                          .mad_len = sizeof mad,
                                          .address = {.lid = 11}});
        assert_null(rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0));
    }
    smp_build(mad, MAD_GET, SMP_SM_INFO, 0, NULL, 0, TID);
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_MAD, .mad = mad, .mad_len = 255});
    assert_null(rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0));
}

/* -- who else is MASTER --------------------------------------------------------------------------
 */

static struct view_end_port *with_manager(struct rig *r, uint64_t host)
{
    struct view_end_port *e = view_end_port(r->core->view, host, 1);
    mad_set_field(e->portinfo, 0, IB_PORT_CAPMASK_F, 1u << 1); /* IsSM */
    return e;
}

/* Asks the manager on this host and answers as it would. */
static void check(struct rig *r, uint64_t host, unsigned status, unsigned sm_state)
{
    uint8_t info[64] = {0};
    rig_clear(r);
    sminfo_check_end_port(r->core, view_end_port(r->core->view, host, 1));
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
    const struct shard_action *a = rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0);
    assert_non_null(a);
    mad_set_field(info, 0, IB_SMINFO_STATE_F, sm_state);
    rig_answer(r, a, status, info);
}

static void a_foreign_master_stops_all_sets(void **state)
{
    struct rig *r = *state;
    rig_own(r, 1);
    with_manager(r, RIG_HOST_B);
    check(r, RIG_HOST_B, 0, STANDBY);
    assert_true(view_domain(r->core->view, 1)->foreign_sm_guid == 0);
    check(r, RIG_HOST_B, 0, MASTER);
    assert_true(view_domain(r->core->view, 1)->foreign_sm_guid == RIG_HOST_B + 1);
    assert_true(r->core->foreign_sm_guid == RIG_HOST_B + 1);
    assert_false(core_may_set(r->core));
    /* It is asked again, though its port does not say IsSM any more. */
    mad_set_field(view_end_port(r->core->view, RIG_HOST_B, 1)->portinfo, 0, IB_PORT_CAPMASK_F, 0);
    check(r, RIG_HOST_B, 0x000c, 0);
    assert_true(view_domain(r->core->view, 1)->foreign_sm_guid == 0);
    assert_true(r->core->foreign_sm_guid == 0);
}

static void ours_are_not_foreign(void **state)
{
    struct rig *r = *state;
    static const uint64_t hosts[] = {RIG_HOST_A, RIG_HOST_C};
    for (unsigned i = 0; i < 2; i++) {
        sminfo_check_end_port(r->core, with_manager(r, hosts[i]));
        rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
        assert_null(rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0));
    }
    /* Nor is one asked that does not say that there is a manager. */
    sminfo_check_end_port(r->core, view_end_port(r->core->view, RIG_HOST_D, 1));
    rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
    assert_null(rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_an_answer),          TEST(the_count_moves_with_the_loop),
        TEST(nobody_orders_anything_by_set),   TEST(master_for_whom),
        TEST(standby_before_it_has_joined),    TEST(short_and_odd_mads_are_left_alone),
        TEST(a_foreign_master_stops_all_sets), TEST(ours_are_not_foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
