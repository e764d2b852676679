/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what a port's PortInfo should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include <infiniband/mad.h>

#include "shard/portinfo.h"

#define CAN_REREGISTER (1u << 25)
#define EXTENDED_SPEEDS (1u << 14)
#define PREFIX 0xfe80000000000000ull

static uint8_t current[64], peer[64], wanted[64];
static Heddle__SubnetOptions options;

static unsigned get(const uint8_t *pi, enum MAD_FIELDS f)
{
    return mad_get_field((void *)pi, 0, f);
}

static void put(uint8_t *pi, enum MAD_FIELDS f, unsigned v)
{
    mad_set_field(pi, 0, f, v);
}

/* A port as it comes up, and OpenSM's defaults. */
static int fresh(void **state)
{
    (void)state;
    memset(current, 0, sizeof current);
    memset(peer, 0, sizeof peer);
    heddle__subnet_options__init(&options);
    options.subnet_prefix = PREFIX;
    options.vl_stall_count = options.leaf_vl_stall_count = 7;
    options.head_of_queue_lifetime = 0x12;
    options.leaf_head_of_queue_lifetime = 0x10;
    options.max_op_vls = 5;
    options.force_link_speed = 15;
    options.force_link_speed_ext = 31;
    options.force_link_width = 255;
    options.subnet_timeout = 18;
    options.local_phy_errors_threshold = options.overrun_errors_threshold = 8;
    uint8_t *ends[] = {current, peer};
    for (unsigned i = 0; i < 2; i++) {
        put(ends[i], IB_PORT_STATE_F, PORT_STATE_INIT);
        put(ends[i], IB_PORT_PHYS_STATE_F, 5);
        put(ends[i], IB_PORT_MTU_CAP_F, 5);
        put(ends[i], IB_PORT_VL_CAP_F, 4);
        put(ends[i], IB_PORT_LINK_WIDTH_SUPPORTED_F, 3);
        put(ends[i], IB_PORT_LINK_WIDTH_ENABLED_F, 3);
        put(ends[i], IB_PORT_LINK_SPEED_SUPPORTED_F, 7);
        put(ends[i], IB_PORT_LINK_SPEED_ENABLED_F, 7);
        put(ends[i], IB_PORT_CAPMASK_F, CAN_REREGISTER);
    }
    return 0;
}

static struct portinfo_wish wish(enum port_role role)
{
    return (struct portinfo_wish){.role = role, .lid = 20, .sm_lid = 3, .peer = peer};
}

static void want(const struct portinfo_wish *w)
{
    portinfo_wanted(current, w, &options, wanted);
}

static void end_port_gets_its_address(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_END);
    w.lmc = 2;
    w.state = PORT_STATE_ARMED;
    options.sm_sl = 4;
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_LID_F), 20);
    assert_int_equal(get(wanted, IB_PORT_SMLID_F), 3);
    assert_int_equal(get(wanted, IB_PORT_SMSL_F), 4);
    assert_int_equal(get(wanted, IB_PORT_LMC_F), 2);
    assert_int_equal(get(wanted, IB_PORT_SUBN_TIMEOUT_F), 18);
    assert_true(mad_get_field64(wanted, 0, IB_PORT_GID_PREFIX_F) == PREFIX);
    assert_int_equal(get(wanted, IB_PORT_STATE_F), PORT_STATE_ARMED);
    assert_int_equal(get(wanted, IB_PORT_LOCAL_PHYS_ERR_F), 8);
    assert_int_equal(get(wanted, IB_PORT_OVERRUN_ERR_F), 8);
    assert_true(portinfo_set_needed(current, wanted, &w, NULL));
}

static void switch_ports_get_life_times(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_EXTERNAL);
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_VL_STALL_COUNT_F), 7);
    assert_int_equal(get(wanted, IB_PORT_HOQ_LIFE_F), 0x12);
    assert_int_equal(get(wanted, IB_PORT_LID_F), 0); /* of no meaning there */
    assert_int_equal(get(wanted, IB_PORT_SMLID_F), 0);
    w.leaf = true;
    options.leaf_vl_stall_count = 6;
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_VL_STALL_COUNT_F), 6);
    assert_int_equal(get(wanted, IB_PORT_HOQ_LIFE_F), 0x10);
}

static void management_port_has_no_lmc(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_MANAGEMENT);
    w.lmc = 3;
    put(current, IB_PORT_LMC_F, 1);
    put(current, IB_PORT_STATE_F, PORT_STATE_ACTIVE);
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_LMC_F), 0);
    assert_int_equal(get(wanted, IB_PORT_STATE_F), PORT_STATE_NO_CHANGE);
    assert_int_equal(get(wanted, IB_PORT_LID_F), 20);
}

/* The lesser of both ends counts, whichever end it is; peers that say 0 do not. */
static void mtu_and_vls_suit_both_ends(void **state)
{
    (void)state;
    static const struct {
        unsigned own, peer, wanted;
    } mtus[] = {{5, 5, 5}, {5, 4, 4}, {4, 5, 4}, {5, 0, 5}, {1, 5, 1}};
    struct portinfo_wish w = wish(PORT_EXTERNAL);
    for (size_t i = 0; i < sizeof mtus / sizeof mtus[0]; i++) {
        put(current, IB_PORT_MTU_CAP_F, mtus[i].own);
        put(peer, IB_PORT_MTU_CAP_F, mtus[i].peer);
        want(&w);
        assert_int_equal(get(wanted, IB_PORT_NEIGHBOR_MTU_F), mtus[i].wanted);
        assert_int_equal(get(wanted, IB_PORT_MTU_CAP_F), mtus[i].own);
    }
    static const struct {
        unsigned own, peer, most, wanted;
    } vls[] = {{4, 4, 5, 4}, {4, 3, 5, 3}, {3, 4, 5, 3}, {5, 5, 2, 2}, {4, 0, 5, 4}, {5, 5, 0, 5}};
    for (size_t i = 0; i < sizeof vls / sizeof vls[0]; i++) {
        put(current, IB_PORT_VL_CAP_F, vls[i].own);
        put(peer, IB_PORT_VL_CAP_F, vls[i].peer);
        options.max_op_vls = vls[i].most;
        want(&w);
        assert_int_equal(get(wanted, IB_PORT_OPER_VLS_F), vls[i].wanted);
    }
}

static void nothing_is_made_of_an_unknown_peer(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_EXTERNAL);
    w.peer = NULL;
    put(current, IB_PORT_NEIGHBOR_MTU_F, 2);
    put(current, IB_PORT_OPER_VLS_F, 1);
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_NEIGHBOR_MTU_F), 2);
    assert_int_equal(get(wanted, IB_PORT_OPER_VLS_F), 1);
}

/* What a change would retrain stays as it is while the link carries traffic. */
static void active_links_are_left_alone(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_END);
    put(current, IB_PORT_STATE_F, PORT_STATE_ACTIVE);
    put(current, IB_PORT_NEIGHBOR_MTU_F, 2);
    put(current, IB_PORT_OPER_VLS_F, 1);
    put(current, IB_PORT_LINK_WIDTH_ENABLED_F, 1);
    put(current, IB_PORT_LINK_SPEED_ENABLED_F, 1);
    options.force_link_width = 2;
    options.force_link_speed = 3;
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_NEIGHBOR_MTU_F), 2);
    assert_int_equal(get(wanted, IB_PORT_OPER_VLS_F), 1);
    assert_int_equal(get(wanted, IB_PORT_LINK_WIDTH_ENABLED_F), 1);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_ENABLED_F), 1);
    assert_int_equal(get(wanted, IB_PORT_STATE_F), PORT_STATE_NO_CHANGE);
    assert_int_equal(get(wanted, IB_PORT_LID_F), 20); /* but the address is set */
}

static void widths_and_speeds(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_EXTERNAL);
    want(&w); /* all that is supported is enabled already */
    assert_int_equal(get(wanted, IB_PORT_LINK_WIDTH_ENABLED_F), 3);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_ENABLED_F), 7);
    put(current, IB_PORT_LINK_WIDTH_ENABLED_F, 1);
    put(current, IB_PORT_LINK_SPEED_ENABLED_F, 1);
    put(current, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, 7);
    put(current, IB_PORT_LINK_SPEED_EXT_ENABLED_F, 1);
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_LINK_WIDTH_ENABLED_F), 255);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_ENABLED_F), 15);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_EXT_ENABLED_F), 1); /* not capable of it */
    put(current, IB_PORT_CAPMASK_F, EXTENDED_SPEEDS);
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_EXT_ENABLED_F), 31);
    options.force_link_width = 2;
    options.force_link_speed = 3;
    options.force_link_speed_ext = 30;
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_LINK_WIDTH_ENABLED_F), 2);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_ENABLED_F), 3);
    assert_int_equal(get(wanted, IB_PORT_LINK_SPEED_EXT_ENABLED_F), 30);
}

static void reregister_with_a_new_manager_only(void **state)
{
    (void)state;
    static const struct {
        unsigned capabilities, sm_lid, wanted;
    } cases[] = {{CAN_REREGISTER, 0, 1}, {CAN_REREGISTER, 9, 1}, {CAN_REREGISTER, 3, 0}, {0, 9, 0}};
    static const enum port_role roles[] = {PORT_END, PORT_MANAGEMENT};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct portinfo_wish w = wish(roles[k]);
            put(current, IB_PORT_CAPMASK_F, cases[i].capabilities);
            put(current, IB_PORT_SMLID_F, cases[i].sm_lid);
            want(&w);
            assert_int_equal(get(wanted, IB_PORT_CLIENT_REREG_F), cases[i].wanted);
        }
    }
    struct portinfo_wish w = wish(PORT_EXTERNAL);
    put(current, IB_PORT_CAPMASK_F, CAN_REREGISTER);
    want(&w);
    assert_int_equal(get(wanted, IB_PORT_CLIENT_REREG_F), 0);
}

/* What reads as a state is a command when it is written: nothing of it is written back. */
static void commands_are_cleared(void **state)
{
    (void)state;
    static const enum MAD_FIELDS commands[] = {
        IB_PORT_STATE_F,     IB_PORT_PHYS_STATE_F, IB_PORT_LINK_DOWN_DEF_F, IB_PORT_CLIENT_REREG_F,
        IB_PORT_MKEY_VIOL_F, IB_PORT_PKEY_VIOL_F,  IB_PORT_QKEY_VIOL_F};
    static const enum port_role roles[] = {PORT_END, PORT_MANAGEMENT, PORT_EXTERNAL};
    for (size_t k = 0; k < 3; k++) {
        struct portinfo_wish w = wish(roles[k]);
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
            put(current, commands[i], 1);
        put(current, IB_PORT_SMLID_F, 3);
        want(&w);
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
            assert_int_equal(get(wanted, commands[i]), 0);
    }
}

static void no_set_without_a_need(void **state)
{
    (void)state;
    static const enum port_role roles[] = {PORT_END, PORT_MANAGEMENT, PORT_EXTERNAL};
    for (size_t k = 0; k < 3; k++) {
        fresh(NULL);
        struct portinfo_wish w = wish(roles[k]);
        want(&w);
        memcpy(current, wanted, sizeof current);
        put(current, IB_PORT_STATE_F, PORT_STATE_ACTIVE);
        put(current, IB_PORT_PHYS_STATE_F, 5);
        put(current, IB_PORT_CLIENT_REREG_F, 0);
        put(current, IB_PORT_PKEY_VIOL_F, 77); /* counts by itself */
        want(&w);
        assert_false(portinfo_set_needed(current, wanted, &w, NULL));
        w.state = PORT_STATE_ACTIVE;
        want(&w);
        assert_true(portinfo_set_needed(current, wanted, &w, NULL) || roles[k] == PORT_MANAGEMENT);
    }
    fresh(NULL);
    struct portinfo_wish w = wish(PORT_END);
    want(&w);
    memcpy(current, wanted, sizeof current);
    w.sm_lid = 4;
    want(&w);
    assert_true(portinfo_set_needed(current, wanted, &w, NULL));
}

/* A port that was told and reads back other values is not told again and again; but what somebody
 * changed since is. */
static void what_is_not_kept_is_not_set_again(void **state)
{
    (void)state;
    struct portinfo_wish w = wish(PORT_EXTERNAL);
    uint8_t accepted[64];
    want(&w);
    memcpy(accepted, wanted, sizeof accepted);
    memcpy(current, wanted, sizeof current);
    put(current, IB_PORT_HOQ_LIFE_F, 1);
    want(&w);
    assert_true(portinfo_set_needed(current, wanted, &w, NULL));
    assert_false(portinfo_set_needed(current, wanted, &w, accepted));
    options.head_of_queue_lifetime = 9;
    want(&w);
    assert_true(portinfo_set_needed(current, wanted, &w, accepted));
}

static void link_up(void **state)
{
    (void)state;
    assert_true(portinfo_link_up(current));
    put(current, IB_PORT_STATE_F, PORT_STATE_DOWN);
    assert_false(portinfo_link_up(current));
    put(current, IB_PORT_STATE_F, PORT_STATE_ACTIVE);
    put(current, IB_PORT_PHYS_STATE_F, 2);
    assert_false(portinfo_link_up(current));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(end_port_gets_its_address, fresh),
        cmocka_unit_test_setup(switch_ports_get_life_times, fresh),
        cmocka_unit_test_setup(management_port_has_no_lmc, fresh),
        cmocka_unit_test_setup(mtu_and_vls_suit_both_ends, fresh),
        cmocka_unit_test_setup(nothing_is_made_of_an_unknown_peer, fresh),
        cmocka_unit_test_setup(active_links_are_left_alone, fresh),
        cmocka_unit_test_setup(widths_and_speeds, fresh),
        cmocka_unit_test_setup(reregister_with_a_new_manager_only, fresh),
        cmocka_unit_test_setup(commands_are_cleared, fresh),
        cmocka_unit_test_setup(no_set_without_a_need, fresh),
        cmocka_unit_test_setup(what_is_not_kept_is_not_set_again, fresh),
        cmocka_unit_test_setup(link_up, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
