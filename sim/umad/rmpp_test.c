/* SPDX-License-Identifier: BSD-2-Clause */
/* RMPP: both halves against each other over a line that loses, repeats and reorders. */
#include "rmpp.h"
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LINE_CAPACITY = 512, STEP_NS = 1000000, MAX_STEPS = 400000 };

/* What is on its way in one direction. */
struct line {
    uint8_t mads[LINE_CAPACITY][MAD_BYTES];
    unsigned count;
    unsigned sent;
};

struct world {
    GRand *rand;
    double loss, repeat, reorder;
    struct line to_receiver, to_sender;
    struct rmpp_send *send;
    struct rmpp_recv *recv;
    int64_t now;
};

static void put(struct world *w, struct line *l, const uint8_t *mad)
{
    int copies = g_rand_double(w->rand) < w->loss ? 0 : g_rand_double(w->rand) < w->repeat ? 2 : 1;

    for (int i = 0; i < copies; i++) {
        unsigned at = l->count;
        assert_true(l->count < LINE_CAPACITY);
        memcpy(l->mads[at], mad, MAD_BYTES);
        if (at > 0 && g_rand_double(w->rand) < w->reorder) {
            unsigned other = (unsigned)g_rand_int_range(w->rand, 0, (gint32)at);
            memcpy(l->mads[at], l->mads[other], MAD_BYTES);
            memcpy(l->mads[other], mad, MAD_BYTES);
        }
        l->count++;
    }
    l->sent++;
}

static bool take(struct line *l, uint8_t *mad)
{
    if (l->count == 0)
        return false;
    memcpy(mad, l->mads[0], MAD_BYTES);
    memmove(l->mads[0], l->mads[1], (size_t)(l->count - 1) * MAD_BYTES);
    l->count--;
    return true;
}

static void step(struct world *w, enum rmpp_result *sent, enum rmpp_result *received)
{
    uint8_t mad[MAD_BYTES], reply[MAD_BYTES], abort;
    bool has_reply;

    while (w->to_receiver.count + 8 < LINE_CAPACITY && rmpp_send_next(w->send, w->now, mad))
        put(w, &w->to_receiver, mad);
    for (int i = 0; i < 8 && take(&w->to_receiver, mad); i++) {
        enum rmpp_result r = rmpp_recv_input(w->recv, w->now, mad, reply, &has_reply);
        assert_int_not_equal(r, RMPP_FAILED);
        if (r == RMPP_DONE)
            *received = r;
        if (has_reply)
            put(w, &w->to_sender, reply);
    }
    while (*sent == RMPP_RUNNING && take(&w->to_sender, mad))
        *sent = rmpp_send_input(w->send, w->now, mad, &abort);
    if (*sent == RMPP_RUNNING)
        *sent = rmpp_send_expire(w->send, w->now);
    w->now += STEP_NS;
}

static uint8_t *make_mad(uint8_t class, size_t length, GRand *rand)
{
    uint8_t *mad = g_malloc(MAX(length, (size_t)MAD_BYTES));

    for (size_t i = 0; i < length; i++)
        mad[i] = (uint8_t)g_rand_int(rand);
    mad[0] = 1;
    mad[1] = class;
    mad[2] = 2;
    mad[3] = 0x92;
    memset(mad + RMPP_OFF_VERSION, 0, 12);
    mad[RMPP_OFF_FLAGS] = RMPP_ACTIVE;
    return mad;
}

static void run(uint32_t seed, uint8_t class, size_t length, double loss, double repeat,
                double reorder)
{
    struct world *w = g_new0(struct world, 1);
    enum rmpp_result sent = RMPP_RUNNING, received = RMPP_RUNNING;
    size_t offset = rmpp_class_data_offset(class), got_length;
    g_autofree uint8_t *mad = NULL, *got = NULL;

    w->rand = g_rand_new_with_seed(seed);
    w->loss = loss;
    w->repeat = repeat;
    w->reorder = reorder;
    mad = make_mad(class, length, w->rand);
    w->send = rmpp_send_new(mad, length, 50 * STEP_NS, 50);
    w->recv = rmpp_recv_new(0);
    for (int i = 0; i < MAX_STEPS && sent == RMPP_RUNNING; i++)
        step(w, &sent, &received);
    if (sent != RMPP_DONE || received != RMPP_DONE)
        print_error("seed %u class %02x length %zu\n", seed, class, length);
    assert_int_equal(sent, RMPP_DONE);
    assert_int_equal(received, RMPP_DONE);
    got = rmpp_recv_steal(w->recv, &got_length);
    assert_int_equal(got_length, length);
    assert_memory_equal(got + offset, mad + offset, length - offset);
    assert_memory_equal(got, mad, MAD_HEADER_BYTES);
    rmpp_send_free(w->send);
    rmpp_recv_free(w->recv);
    g_rand_free(w->rand);
    g_free(w);
}

static void test_all_lengths(void **state)
{
    static const uint8_t classes[] = {0x03, 0x06, 0x30, 0x4f};

    for (size_t c = 0; c < sizeof classes; c++)
        for (size_t n = 0; n < 900; n++)
            run((uint32_t)n, classes[c], rmpp_class_data_offset(classes[c]) + n, 0, 0, 0);
}

static void test_bad_line(void **state)
{
    uint32_t first = getenv("RMPP_SEED") ? (uint32_t)atoi(getenv("RMPP_SEED")) : 1;

    print_message("seeds from RMPP_SEED=%u\n", first);
    for (uint32_t seed = first; seed < first + 60; seed++)
        run(seed, seed % 2 ? 0x03 : 0x32, 56 + seed * 977, 0.05, 0.05, 0.2);
}

static void test_long_and_clean(void **state)
{
    run(7, 0x03, 56 + 1000000, 0, 0, 0);
}

/* PayloadLength as the kernel writes it: whole transfer in the first, own in the last. */
static void test_payload_lengths(void **state)
{
    uint8_t mad[56 + 450] = {1, 3, 2, 0x92}, out[MAD_BYTES], ack[MAD_BYTES], abort;
    struct rmpp_send *s = rmpp_send_new(mad, sizeof mad, 10, 1);

    assert_true(rmpp_send_next(s, 0, out));
    assert_int_equal(out[RMPP_OFF_FLAGS] & RMPP_FLAG_MASK, RMPP_ACTIVE | RMPP_FIRST);
    assert_int_equal(mad_get32(out + RMPP_OFF_LENGTH), 450 + 3 * 20);
    assert_false(rmpp_send_next(s, 0, out)); /* until the first ACK */
    rmpp_format_answer(ack, out, RMPP_ACK, 0, 1, 64);
    assert_int_equal(mad_method(ack), 0x12);
    assert_int_equal(rmpp_send_input(s, 0, ack, &abort), RMPP_RUNNING);
    assert_true(rmpp_send_next(s, 0, out));
    assert_int_equal(mad_get32(out + RMPP_OFF_LENGTH), 0);
    assert_true(rmpp_send_next(s, 0, out));
    assert_int_equal(out[RMPP_OFF_FLAGS] & RMPP_FLAG_MASK, RMPP_ACTIVE | RMPP_LAST);
    assert_int_equal(mad_get32(out + RMPP_OFF_LENGTH), 50 + 20);
    assert_false(rmpp_send_next(s, 0, out));
    rmpp_send_free(s);
}

static void test_sender_refuses_nonsense(void **state)
{
    uint8_t mad[2000] = {1, 3, 2, 0x92}, out[MAD_BYTES], in[MAD_BYTES], abort;
    struct rmpp_send *s = rmpp_send_new(mad, sizeof mad, 10, 1);

    rmpp_send_next(s, 0, out);
    rmpp_format_answer(in, out, RMPP_ACK, 0, 2, 64);
    assert_int_equal(rmpp_send_input(s, 0, in, &abort), RMPP_FAILED);
    assert_int_equal(abort, RMPP_SEGMENT_TOO_BIG);
    rmpp_format_answer(in, out, RMPP_ACK, 0, 1, 0);
    assert_int_equal(rmpp_send_input(s, 0, in, &abort), RMPP_FAILED);
    assert_int_equal(abort, RMPP_WINDOW_TOO_SMALL);
    rmpp_format_answer(in, out, RMPP_STOP, RMPP_RESOURCES_EXHAUSTED, 0, 0);
    assert_int_equal(rmpp_send_input(s, 0, in, &abort), RMPP_FAILED);
    assert_int_equal(abort, 0);
    rmpp_send_free(s);
}

static void test_sender_gives_up(void **state)
{
    uint8_t mad[2000] = {1, 3, 2, 0x92}, out[MAD_BYTES];
    struct rmpp_send *s = rmpp_send_new(mad, sizeof mad, 10, 2);

    assert_true(rmpp_send_next(s, 0, out));
    assert_int_equal(rmpp_send_expire(s, 9), RMPP_RUNNING);
    assert_false(rmpp_send_next(s, 9, out));
    assert_int_equal(rmpp_send_expire(s, 10), RMPP_RUNNING);
    assert_true(rmpp_send_next(s, 10, out));
    assert_int_equal(rmpp_send_expire(s, 20), RMPP_RUNNING);
    assert_true(rmpp_send_next(s, 20, out));
    assert_int_equal(rmpp_send_expire(s, 30), RMPP_FAILED);
    rmpp_send_free(s);
}

static enum rmpp_result feed(struct rmpp_recv *r, uint8_t type, uint8_t flags, uint32_t segment,
                             uint32_t payload, uint8_t *reply, bool *has_reply)
{
    uint8_t mad[MAD_BYTES] = {1, 3, 2, 0x92};

    mad[RMPP_OFF_VERSION] = 1;
    mad[RMPP_OFF_TYPE] = type;
    mad[RMPP_OFF_FLAGS] = flags | RMPP_ACTIVE;
    mad_put32(mad + RMPP_OFF_SEGMENT, segment);
    mad_put32(mad + RMPP_OFF_LENGTH, payload);
    return rmpp_recv_input(r, 0, mad, reply, has_reply);
}

static void test_receiver_refuses_nonsense(void **state)
{
    static const struct {
        uint8_t flags;
        uint32_t segment;
        uint8_t status;
    } cases[] = {
        {0, 0, RMPP_INCONSISTENT_FIRST},
        {0, 1, RMPP_INCONSISTENT_FIRST},
        {RMPP_FIRST, 2, RMPP_INCONSISTENT_FIRST},
        {0, 0xffffffff, RMPP_RESOURCES_EXHAUSTED},
    };
    uint8_t reply[MAD_BYTES];
    bool has_reply;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rmpp_recv *r = rmpp_recv_new(0);
        assert_int_equal(feed(r, RMPP_DATA, cases[i].flags, cases[i].segment, 0, reply, &has_reply),
                         RMPP_FAILED);
        assert_true(has_reply);
        assert_int_equal(reply[RMPP_OFF_STATUS], cases[i].status);
        rmpp_recv_free(r);
    }
}

static void test_receiver_odd_payload_lengths(void **state)
{
    static const struct {
        uint32_t payload;
        size_t length;
    } cases[] = {{20, 56}, {21, 57}, {220, 256}, {221, 256}, {0, 256}, {19, 256}, {~0u, 256}};
    uint8_t reply[MAD_BYTES];
    bool has_reply;
    size_t length;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rmpp_recv *r = rmpp_recv_new(0);
        assert_int_equal(
            feed(r, RMPP_DATA, RMPP_FIRST | RMPP_LAST, 1, cases[i].payload, reply, &has_reply),
            RMPP_DONE);
        g_free(rmpp_recv_steal(r, &length));
        assert_int_equal(length, cases[i].length);
        /* our ACK was lost: the segment again */
        assert_int_equal(feed(r, RMPP_DATA, RMPP_FIRST | RMPP_LAST, 1, 0, reply, &has_reply),
                         RMPP_RUNNING);
        assert_true(has_reply);
        assert_int_equal(reply[RMPP_OFF_TYPE], RMPP_ACK);
        rmpp_recv_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_bad_line),
        cmocka_unit_test(test_long_and_clean),
        cmocka_unit_test(test_payload_lengths),
        cmocka_unit_test(test_sender_refuses_nonsense),
        cmocka_unit_test(test_sender_gives_up),
        cmocka_unit_test(test_receiver_refuses_nonsense),
        cmocka_unit_test(test_receiver_odd_payload_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
