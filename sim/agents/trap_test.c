/* SPDX-License-Identifier: BSD-2-Clause */
/* Traps: what they say, when they are repeated, what stops them. */
#include "sim/agents/agents_test.h"
#include "sim/agents/trap.h"

#define SM_LID 7
#define SWITCH_LID 9
#define HOST2_LID 11
#define INTERVAL (4096LL << 18) /* SubnetTimeOut 18 */
#define CAP_NOTICE (1u << 2)
#define CAP_TRAP (1u << 3)

struct inbox {
    struct sim *s;
    struct sim_packet last;
    unsigned count, by_number[300];
    int64_t times[64];
};

static bool deliver(void *user, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct inbox *box = user;
    assert_int_equal(node, HOST);
    assert_int_equal(port, 1);
    assert_int_equal(p->mad[1], 1);
    assert_int_equal(p->mad[3], 5); /* Trap */
    assert_int_equal(get16(p->mad + 16), 2);
    box->last = *p;
    box->times[box->count % 64] = box->s->now;
    box->count++;
    unsigned number = get16(p->mad + 68);
    assert_true(number < 300);
    box->by_number[number]++;
    return true;
}

static int setup(void **state)
{
    struct inbox *box = g_new0(struct inbox, 1);
    struct sim_hooks hooks = {.user = box, .deliver = deliver};
    struct sim *s = test_fabric(0, &hooks);
    box->s = s;
    s->nodes[SWITCH].sw->info[7] = 64; /* LinearFDBTop */
    uint8_t *lft = sim_lft_block(s, SWITCH, 0);
    lft[SM_LID] = 1;
    lft[SWITCH_LID] = 0;
    lft[HOST2_LID] = 2;
    test_set_lids(s, HOST, 1, SM_LID, SM_LID);
    test_set_lids(s, SWITCH, 0, SWITCH_LID, SM_LID);
    test_set_lids(s, HOST2, 1, HOST2_LID, SM_LID);
    sim_run(s, s->now);
    assert_int_equal(box->count, 0); /* what came before had nowhere to go */
    *state = box;
    return 0;
}

static int teardown(void **state)
{
    struct inbox *box = *state;
    sim_destroy(box->s);
    g_free(box);
    return 0;
}

/* The manager at HOST represses what came last. */
static void repress(struct inbox *box, uint32_t node, uint64_t tid_mark, const uint8_t *details)
{
    struct sim_packet p = {.dlid = box->last.slid, .slid = SM_LID};
    memcpy(p.mad, box->last.mad, SIM_MAD_BYTES);
    p.mad[3] = 7;
    put64(p.mad + 8, get64(p.mad + 8) ^ tid_mark);
    if (details)
        memcpy(p.mad + 64, details, 64);
    sim_trap_repressed(box->s, node, 1, &p);
}

static void run_to(struct inbox *box, int64_t at)
{
    sim_run(box->s, at);
}

static void test_link_state(void **state)
{
    struct inbox *box = *state;
    const uint8_t *n = box->last.mad + 64;
    sim_link_bounce(box->s, HOST2, 1);
    run_to(box, 0);
    assert_int_equal(box->count, 1); /* Down and Init are one trap */
    assert_int_equal(box->last.slid, SWITCH_LID);
    assert_int_equal(box->last.dlid, SM_LID);
    assert_int_equal(n[0], 0x81);             /* generic, urgent */
    assert_int_equal(get32(n) & 0xffffff, 2); /* a switch */
    assert_int_equal(get16(n + 4), 128);
    assert_int_equal(get16(n + 6), SWITCH_LID);
    assert_int_equal(get16(n + 8), 0);
    assert_int_equal(get16(n + 10), SWITCH_LID);
    assert_int_not_equal(get64(box->last.mad + 8), 0);
}

static void test_repeats_until_repressed(void **state)
{
    struct inbox *box = *state;
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, 3 * INTERVAL);
    assert_int_equal(box->count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_true(box->times[i] == i * INTERVAL);
    uint64_t tid = get64(box->last.mad + 8);
    run_to(box, 4 * INTERVAL);
    assert_true(get64(box->last.mad + 8) == tid); /* a repetition keeps its id */
    repress(box, SWITCH, 0, NULL);
    assert_int_equal(sim_traps_pending(sim_port(box->s, SWITCH, 0)), 0);
    run_to(box, 100 * INTERVAL);
    assert_int_equal(box->count, 5);
    assert_null(sim_port(box->s, SWITCH, 0)->traps); /* nothing is kept */
    assert_true(sim_next(box->s) == SIM_NEVER);
}

static void test_switched_off(void **state)
{
    struct inbox *box = *state;
    box->s->traps_off = true;
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, 2 * INTERVAL);
    box->s->traps_off = false; /* what would have been a trap is forgotten */
    run_to(box, 4 * INTERVAL);
    assert_int_equal(box->count, 0);
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, 4 * INTERVAL);
    assert_int_equal(box->count, 1);
}

static void test_wrong_represses(void **state)
{
    struct inbox *box = *state;
    struct sim_port *p = sim_port(box->s, SWITCH, 0);
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, 0);
    repress(box, SWITCH, 1, NULL); /* another transaction */
    assert_int_equal(sim_traps_pending(p), 1);
    uint8_t other[64];
    memcpy(other, box->last.mad + 64, 64);
    put16(other + 4, 144);
    repress(box, SWITCH, 0, other); /* another trap */
    assert_int_equal(sim_traps_pending(p), 1);
    repress(box, SWITCH2, 0, NULL); /* at another node */
    assert_int_equal(sim_traps_pending(p), 1);
    repress(box, SWITCH, 0xabcd00000000u << 16, NULL); /* marked by a kernel on its way */
    assert_int_equal(sim_traps_pending(p), 0);
}

/* As a packet with the M_Key, right and wrong. */
static void test_represses_need_the_key(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    struct sim_port *p = sim_port(s, SWITCH, 0);
    put64(p->info, 0x77);
    p->info[34] |= 1 << 6;
    sim_trap_link_state(s, SWITCH);
    run_to(box, 0);
    struct sim_packet answer = {.dlid = SWITCH_LID};
    memcpy(answer.mad, box->last.mad, SIM_MAD_BYTES);
    answer.mad[3] = 7;
    put64(answer.mad + 24, 0x78);
    sim_send(s, HOST, 1, &answer, 0);
    assert_true(get16(p->info + 44) > 0); /* a violation, and trap 256 */
    assert_int_equal(sim_traps_pending(p), 2);
    put64(answer.mad + 24, 0x77);
    sim_send(s, HOST, 1, &answer, 0);
    assert_int_equal(sim_traps_pending(p), 1);
    run_to(box, INTERVAL);
    const uint8_t *n = box->last.mad + 64;
    assert_int_equal(get16(n + 4), 256);
    assert_int_equal(n[0], 0x82);
    assert_int_equal(get16(n + 12), SM_LID);
    assert_int_equal(n[16], 7); /* TrapRepress */
    assert_int_equal(get16(n + 18), 2);
    assert_int_equal(get64(n + 24), 0x78);
}

/* What happens after the trap was sent is not lost by its TrapRepress. */
static void test_again(void **state)
{
    struct inbox *box = *state;
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, 0);
    uint64_t tid = get64(box->last.mad + 8);
    for (unsigned i = 0; i < 2000; i++)
        sim_link_bounce(box->s, HOST2, 1);
    assert_int_equal(sim_traps_pending(sim_port(box->s, SWITCH, 0)), 1);
    repress(box, SWITCH, 0, NULL);
    run_to(box, INTERVAL - 1);
    assert_int_equal(box->count, 1);
    run_to(box, INTERVAL);
    assert_int_equal(box->count, 2);
    assert_true(get64(box->last.mad + 8) != tid);
    repress(box, SWITCH, 0, NULL);
    run_to(box, 10 * INTERVAL);
    assert_int_equal(box->count, 2);
}

static void test_never_gives_up(void **state)
{
    struct inbox *box = *state;
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, 1000 * INTERVAL);
    assert_int_equal(box->count, 1001);
    repress(box, SWITCH, 0, NULL);
    run_to(box, 2000 * INTERVAL);
    assert_int_equal(box->count, 1001);
    assert_true(sim_next(box->s) == SIM_NEVER);
}

static void test_nowhere(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    test_set_lids(s, SWITCH, 0, SWITCH_LID, 0);
    sim_trap_link_state(s, SWITCH);
    test_set_lids(s, SWITCH, 0, 0, SM_LID);
    sim_trap_link_state(s, SWITCH);
    run_to(box, INTERVAL);
    test_set_lids(s, SWITCH, 0, SWITCH_LID, SM_LID);
    put32(sim_port(s, SWITCH, 0)->info + 20, 0); /* no IsTrapSupported */
    sim_trap_link_state(s, SWITCH);
    s->nodes[HOST2].powered = false;
    sim_trap_capability(s, HOST2, 1);
    run_to(box, 2 * INTERVAL);
    assert_int_equal(box->count, 0);
    assert_null(sim_port(s, SWITCH, 0)->traps);
}

static void test_forget(void **state)
{
    struct inbox *box = *state;
    sim_trap_link_state(box->s, SWITCH);
    sim_traps_forget(box->s, SWITCH);
    run_to(box, INTERVAL);
    assert_int_equal(box->count, 0);
    assert_null(sim_port(box->s, SWITCH, 0)->traps);
    sim_trap_link_state(box->s, SWITCH); /* teardown frees it */
}

static void test_mute(void **state)
{
    struct inbox *box = *state;
    sim_port(box->s, SWITCH, 0)->mute = true;
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, INTERVAL);
    assert_int_equal(box->count, 0);
    sim_port(box->s, SWITCH, 0)->mute = false;
    run_to(box, 2 * INTERVAL);
    assert_int_equal(box->count, 1);
}

static void test_queue_is_bounded(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    for (unsigned i = 0; i < 20; i++)
        sim_trap_threshold(s, SWITCH, i % 5, 129 + i / 5 % 3); /* 15 different ones */
    assert_int_equal(sim_traps_pending(sim_port(s, SWITCH, 0)), 15);
    sim_trap_link_state(s, SWITCH);
    sim_trap_system_guid(s, SWITCH, 0);
    sim_trap_capability(s, SWITCH, 0);
    assert_int_equal(sim_traps_pending(sim_port(s, SWITCH, 0)), SIM_TRAP_QUEUE);
    assert_int_equal(sim_traps_overflowed(sim_port(s, SWITCH, 0)), 2);
    run_to(box, 15 * INTERVAL); /* one each interval, in their order */
    assert_int_equal(box->count, 16);
    assert_int_equal(get16(box->last.mad + 68), 128);
    assert_int_equal(box->by_number[129] + box->by_number[130] + box->by_number[131], 15);
    for (unsigned i = 1; i < 16; i++)
        assert_true(box->times[i] - box->times[i - 1] == INTERVAL);
    /* a new one goes before the repetitions */
    repress(box, SWITCH, 0, NULL);
    sim_trap_system_guid(s, SWITCH, 0);
    run_to(box, 16 * INTERVAL);
    assert_int_equal(get16(box->last.mad + 68), 145);
}

static void test_interval_bounds(void **state)
{
    struct inbox *box = *state;
    sim_port(box->s, SWITCH, 0)->info[51] = 0; /* 4 us: too fast for a simulation */
    sim_trap_link_state(box->s, SWITCH);
    run_to(box, SIM_TRAP_MIN_NS - 1);
    assert_int_equal(box->count, 1);
    run_to(box, SIM_TRAP_MIN_NS);
    assert_int_equal(box->count, 2);
    sim_port(box->s, SWITCH, 0)->info[51] = 31; /* hours */
    run_to(box, 2 * SIM_TRAP_MIN_NS);
    assert_int_equal(box->count, 3);
    run_to(box, 2 * SIM_TRAP_MIN_NS + SIM_TRAP_MAX_NS);
    assert_int_equal(box->count, 4);
}

static void test_details(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    const uint8_t *d = box->last.mad + 74;
    int64_t at = 0;
    sim_trap_threshold(s, SWITCH, 2, 130);
    run_to(box, at);
    assert_int_equal(get16(d + 2), SWITCH_LID);
    assert_int_equal(d[4], 2);
    repress(box, SWITCH, 0, NULL);
    sim_trap_capability(s, HOST2, 1);
    run_to(box, at);
    assert_int_equal(get32(box->last.mad + 64), 0x84000001); /* informational, of a CA */
    assert_int_equal(get16(d + 2), HOST2_LID);
    assert_int_equal(d[5], 0);
    assert_int_equal(get32(d + 6), get32(sim_port(s, HOST2, 1)->info + 20));
    repress(box, HOST2, 0, NULL);
    sim_trap_description(s, HOST2, 1);
    run_to(box, at += INTERVAL);
    assert_int_equal(d[5], 1);
    assert_int_equal(get16(d + 10), 1);
    repress(box, HOST2, 0, NULL);
    sim_trap_system_guid(s, HOST2, 1);
    run_to(box, at += INTERVAL);
    assert_int_equal(get64(d + 6), 0x300);
    repress(box, HOST2, 0, NULL);
    struct sim_packet p = {.slid = 3,
                           .dlid = HOST2_LID,
                           .pkey = 0x7001,
                           .qkey = 0x11223344,
                           .sl = 5,
                           .sqp = 0x123456,
                           .dqp = 1};
    sim_trap_key(s, HOST2, 1, 258, &p);
    run_to(box, at += INTERVAL);
    assert_int_equal(get16(d + 2), 3);
    assert_int_equal(get16(d + 4), HOST2_LID);
    assert_int_equal(get32(d + 6), 0x11223344);
    assert_int_equal(get32(d + 10), 0x50123456);
    assert_int_equal(get32(d + 14), 1);
    repress(box, HOST2, 0, NULL);
    sim_trap_key(s, HOST2, 1, 257, &p);
    run_to(box, at += INTERVAL);
    assert_int_equal(get32(d + 6), 0x7001);
    sim_trap_key(s, SWITCH, 2, 259, &p);
    run_to(box, at);
    assert_int_equal(get16(d + 6), 0x7001);
    assert_int_equal(get16(d + 48), SWITCH_LID);
    assert_int_equal(d[50], 2);
}

static void test_suppressed_multicast_keys(void **state)
{
    struct inbox *box = *state;
    struct sim_port *p = sim_port(box->s, HOST2, 1);
    struct sim_packet packet = {.slid = 3, .dlid = 0xc001, .pkey = 1, .dqp = 0xffffff};
    p->info[51] |= 1 << 5;
    sim_trap_key(box->s, HOST2, 1, 257, &packet);
    assert_int_equal(sim_traps_pending(p), 0);
    packet.dlid = HOST2_LID;
    sim_trap_key(box->s, HOST2, 1, 257, &packet);
    assert_int_equal(sim_traps_pending(p), 1);
}

static void test_directed_mkey_details(void **state)
{
    struct inbox *box = *state;
    const uint8_t *d = box->last.mad + 74;
    struct sim_packet p = {.dlid = 0xffff, .slid = 0xffff};
    p.mad[1] = 0x81;
    p.mad[3] = 2;
    p.mad[7] = 40;
    put16(p.mad + 16, 0x15);
    put32(p.mad + 20, 3);
    put64(p.mad + 24, 0x99);
    put16(p.mad + 32, 0xffff);
    for (unsigned i = 0; i < 64; i++)
        p.mad[192 + i] = (uint8_t)i;
    sim_trap_mkey(box->s, HOST2, 1, &p);
    run_to(box, 0);
    assert_int_equal(get16(d + 2), 0xffff);
    assert_int_equal(get16(d + 4), 0xffff);
    assert_int_equal(d[6], 2);
    assert_int_equal(get16(d + 8), 0x15);
    assert_int_equal(get32(d + 10), 3);
    assert_int_equal(get64(d + 14), 0x99);
    assert_int_equal(d[23], 0x80 | 0x40 | 40); /* directed, cut off, 40 hops */
    assert_int_equal(d[24 + 29], 29);
}

static void test_notice_attribute(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    struct sim_port *p = sim_port(s, HOST2, 1);
    uint8_t d[64] = {0};
    assert_int_equal(sim_sma_notice(s, HOST2, 1, false, 0, d), 0x0c);
    put32(p->info + 20, get32(p->info + 20) | CAP_NOTICE);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, false, 1, d), 0x1c);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, false, 0, d), 0);
    assert_int_equal(d[0], 0xff); /* empty */
    sim_trap_capability(s, HOST2, 1);
    sim_trap_system_guid(s, HOST2, 1);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, false, 0, d), 0);
    assert_int_equal(get16(d + 4), 144);
    assert_int_equal(get16(d + 8), 2);
    put16(d + 8, 0x8002); /* not the toggle of the head */
    assert_int_equal(sim_sma_notice(s, HOST2, 1, true, 0, d), 0);
    assert_int_equal(get16(d + 8), 2);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, true, 0, d), 0);
    assert_int_equal(get16(d + 4), 145);
    assert_int_equal(get16(d + 8), 0x8001);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, true, 0, d), 0);
    assert_int_equal(d[0], 0xff);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, true, 0, d), 0); /* of an empty one: nothing */
    assert_int_equal(sim_traps_pending(p), 0);
}

/* The oldest notice is the one that a manager sees, whichever Trap has its turn. */
static void test_notices_while_traps_turn(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    struct sim_port *p = sim_port(s, HOST2, 1);
    uint8_t d[64];
    put32(p->info + 20, get32(p->info + 20) | CAP_NOTICE);
    sim_trap_capability(s, HOST2, 1);
    sim_trap_system_guid(s, HOST2, 1);
    for (int turns = 1; turns <= 5; turns++) {
        run_to(box, turns * INTERVAL);
        assert_int_equal(sim_sma_notice(s, HOST2, 1, false, 0, d), 0);
        assert_int_equal(get16(d + 4), 144);
    }
    assert_int_equal(sim_sma_notice(s, HOST2, 1, true, 0, d), 0);
    assert_int_equal(get16(d + 4), 145);
}

static void test_notices_without_traps(void **state)
{
    struct inbox *box = *state;
    struct sim *s = box->s;
    struct sim_port *p = sim_port(s, HOST2, 1);
    uint8_t d[64];
    put32(p->info + 20, (get32(p->info + 20) | CAP_NOTICE) & ~CAP_TRAP);
    sim_trap_system_guid(s, HOST2, 1);
    run_to(box, 10 * INTERVAL);
    assert_int_equal(box->count, 0);
    assert_int_equal(sim_sma_notice(s, HOST2, 1, false, 0, d), 0);
    assert_int_equal(get16(d + 4), 145);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_link_state, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repeats_until_repressed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_switched_off, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_represses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_represses_need_the_key, setup, teardown),
        cmocka_unit_test_setup_teardown(test_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_gives_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mute, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interval_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_details, setup, teardown),
        cmocka_unit_test_setup_teardown(test_suppressed_multicast_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_directed_mkey_details, setup, teardown),
        cmocka_unit_test_setup_teardown(test_notice_attribute, setup, teardown),
        cmocka_unit_test_setup_teardown(test_notices_while_traps_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_notices_without_traps, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
