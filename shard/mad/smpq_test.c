/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of smpq.c: a hand-driven clock and a list of what was sent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "shard/mad/smpq.h"

struct sent {
    uint8_t mad[MAD_BYTES];
    struct mad_address to;
    uint32_t timeout_ms;
};
struct done {
    uint64_t tag;
    int error;
    bool have_mad;
};
struct world {
    struct smpq *q;
    GArray *sent, *done;
    uint64_t resubmit_target; /* done() submits again while > 0 */
    int resubmits;
    bool cancel_in_done;
};

static void on_send(void *user, const uint8_t mad[MAD_BYTES], const struct mad_address *to,
                    uint32_t timeout_ms)
{
    struct world *w = user;
    struct sent s = {.to = *to, .timeout_ms = timeout_ms};
    memcpy(s.mad, mad, MAD_BYTES);
    g_array_append_val(w->sent, s);
}

static void on_done(void *user, uint64_t tag, const struct smp_request *r, int error,
                    const uint8_t *mad);

static struct smp_request request(struct world *w, uint64_t target, uint64_t tag)
{
    return (struct smp_request){.method = MAD_GET,
                                .attribute = SMP_PORT_INFO,
                                .modifier = (uint32_t)tag,
                                .dlid = (uint16_t)(target & 0xffff),
                                .target = target,
                                .retries = -1,
                                .done = on_done,
                                .user = w,
                                .tag = tag};
}

static void on_done(void *user, uint64_t tag, const struct smp_request *r, int error,
                    const uint8_t *mad)
{
    struct world *w = user;
    assert_int_equal(r->tag, tag);
    struct done d = {tag, error, mad != NULL};
    g_array_append_val(w->done, d);
    if (w->resubmits > 0) {
        w->resubmits--;
        struct smp_request again = request(w, w->resubmit_target, tag + 1000);
        assert_int_equal(smpq_submit(w->q, &again, 1000000), 0);
    }
    if (w->cancel_in_done) {
        w->cancel_in_done = false;
        smpq_cancel(w->q, w);
    }
}

static void start(struct world *w, uint32_t per_port, uint32_t per_target, uint32_t retries)
{
    memset(w, 0, sizeof(*w));
    struct smpq_config c = {.max_per_port = per_port,
                            .max_per_target = per_target,
                            .timeout_ms = 200,
                            .retries = retries,
                            .max_queued = 100000,
                            .send = on_send,
                            .user = w,
                            .tid_seed = 77};
    w->q = smpq_create(&c);
    w->sent = g_array_new(FALSE, FALSE, sizeof(struct sent));
    w->done = g_array_new(FALSE, FALSE, sizeof(struct done));
}

static void stop(struct world *w)
{
    smpq_destroy(w->q);
    g_array_free(w->sent, TRUE);
    g_array_free(w->done, TRUE);
}

static void submit(struct world *w, uint64_t target, uint64_t tag, uint64_t now)
{
    struct smp_request r = request(w, target, tag);
    assert_int_equal(smpq_submit(w->q, &r, now), 0);
}

static struct sent *sent_at(struct world *w, unsigned i)
{
    assert_true(i < w->sent->len);
    return &g_array_index(w->sent, struct sent, i);
}
static struct done *done_at(struct world *w, unsigned i)
{
    assert_true(i < w->done->len);
    return &g_array_index(w->done, struct done, i);
}

static bool answer(struct world *w, unsigned i, unsigned status, uint64_t now)
{
    uint8_t m[MAD_BYTES];
    memcpy(m, sent_at(w, i)->mad, MAD_BYTES);
    m[3] = MAD_GET_RESP;
    m[4] = (uint8_t)(status >> 8);
    m[5] = (uint8_t)status;
    return smpq_receive(w->q, m, now);
}

/* Lets these targets answer once, so that they count as known. */
static void introduce(struct world *w, uint64_t first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        submit(w, first + i, 0, 1);
        assert_true(answer(w, w->sent->len - 1, 0, 1));
    }
    g_array_set_size(w->sent, 0);
    g_array_set_size(w->done, 0);
}

static void windows_hold(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 2, 0);
    introduce(&w, 1, 12);
    for (unsigned i = 0; i < 4; i++)
        submit(&w, 1, i, 1);
    for (unsigned i = 0; i < 10; i++)
        submit(&w, 2 + i, 10 + i, 1);
    assert_int_equal(smpq_outstanding(w.q), 8);
    assert_int_equal(smpq_waiting(w.q), 6);
    assert_int_equal(mad_modifier(sent_at(&w, 1)->mad), 1);  /* two of target 1, .. */
    assert_int_equal(mad_modifier(sent_at(&w, 2)->mad), 10); /* .. then the others */
    assert_int_equal(sent_at(&w, 2)->to.lid, 2);
    assert_int_equal(sent_at(&w, 2)->timeout_ms, 200);
    assert_true(answer(&w, 0, 0, 2));
    /* The oldest that may go is target 1's third. */
    assert_int_equal(w.sent->len, 9);
    assert_int_equal(mad_modifier(sent_at(&w, 8)->mad), 2);
    assert_true(answer(&w, 5, 0, 2));
    assert_int_equal(mad_modifier(sent_at(&w, 9)->mad), 16);
    assert_int_equal(smpq_deadline(w.q), 201);
    stop(&w);
}

static void urgent_goes_first(void **state)
{
    (void)state;
    struct world w;
    start(&w, 1, 1, 0);
    submit(&w, 1, 1, 1);
    submit(&w, 1, 2, 1);
    submit(&w, 2, 3, 1);
    struct smp_request r = request(&w, 1, 4);
    r.urgent = true;
    assert_int_equal(smpq_submit(w.q, &r, 1), 0);
    r = request(&w, 3, 5);
    r.urgent = true;
    assert_int_equal(smpq_submit(w.q, &r, 1), 0);
    static const unsigned order[] = {1, 4, 5, 2, 3};
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mad_modifier(sent_at(&w, i)->mad), order[i]);
        assert_true(answer(&w, i, 0, 1));
    }
    assert_int_equal(smpq_deadline(w.q), UINT64_MAX);
    stop(&w);
}

static void retries_then_timeout(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 2);
    submit(&w, 1, 1, 1000);
    uint64_t now = 1000;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(w.sent->len, i + 1);
        assert_int_equal(smpq_deadline(w.q), now + 200);
        smpq_tick(w.q, now + 199, now + 199);
        assert_int_equal(w.done->len, 0);
        now += 200;
        smpq_tick(w.q, now, now);
    }
    assert_int_equal(w.sent->len, 3);
    assert_int_equal(done_at(&w, 0)->error, ETIMEDOUT);
    assert_false(done_at(&w, 0)->have_mad);
    struct smpq_counters c = smpq_counters(w.q);
    assert_int_equal(c.sent, 1);
    assert_int_equal(c.resent, 2);
    assert_int_equal(c.timed_out, 1);
    /* Each transmission had an id of its own. */
    assert_true(mad_tid(sent_at(&w, 0)->mad) != mad_tid(sent_at(&w, 1)->mad));
    stop(&w);
}

static void late_duplicate_forged(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 3);
    submit(&w, 1, 1, 1);
    smpq_tick(w.q, 201, 201); /* sent again */
    uint8_t m[MAD_BYTES];
    memcpy(m, sent_at(&w, 1)->mad, MAD_BYTES);
    assert_false(smpq_receive(w.q, m, 202)); /* a request is no answer */
    m[3] = MAD_GET_RESP;
    m[17] ^= 1;
    assert_false(smpq_receive(w.q, m, 202)); /* another attribute */
    m[17] ^= 1;
    m[23] ^= 1;
    assert_false(smpq_receive(w.q, m, 202)); /* another modifier */
    m[23] ^= 1;
    m[1] = SMP_CLASS_DR;
    assert_false(smpq_receive(w.q, m, 202)); /* another class */
    m[1] = SMP_CLASS_LID;
    m[15] ^= 0x40;
    assert_false(smpq_receive(w.q, m, 202)); /* another id */
    assert_int_equal(smpq_counters(w.q).unmatched, 5);
    assert_true(answer(&w, 0, 0, 203));  /* late, to the first transmission */
    assert_false(answer(&w, 0, 0, 203)); /* twice */
    assert_false(answer(&w, 1, 0, 203));
    assert_int_equal(w.done->len, 1);
    assert_int_equal(done_at(&w, 0)->error, 0);
    assert_int_equal(smpq_outstanding(w.q), 0);
    /* The id's upper half is the kernel's. */
    submit(&w, 1, 2, 300);
    memcpy(m, sent_at(&w, 2)->mad, MAD_BYTES);
    m[3] = MAD_GET_RESP;
    m[8] = 0xee;
    assert_true(smpq_receive(w.q, m, 301));
    stop(&w);
}

static void statuses(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 1);
    submit(&w, 1, 1, 1);
    assert_true(answer(&w, 0, 0x001c, 2));
    assert_int_equal(done_at(&w, 0)->error, EPROTO);
    assert_true(done_at(&w, 0)->have_mad);
    submit(&w, 1, 2, 10);
    assert_true(answer(&w, 1, 0x0001, 11)); /* busy: asked again later */
    assert_int_equal(w.done->len, 1);
    smpq_tick(w.q, 210, 210);
    assert_true(answer(&w, 2, 0, 211));
    assert_int_equal(done_at(&w, 1)->error, 0);
    stop(&w);
}

static void transport_failures(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 1);
    submit(&w, 1, 1, 1);
    uint64_t first = mad_tid(sent_at(&w, 0)->mad);
    smpq_send_failed(w.q, first, 5);
    assert_int_equal(w.sent->len, 2); /* again at once */
    smpq_send_failed(w.q, first, 6);  /* the old transmission says nothing more */
    smpq_send_failed(w.q, 12345, 6);
    assert_int_equal(w.done->len, 0);
    smpq_send_failed(w.q, mad_tid(sent_at(&w, 1)->mad), 7);
    assert_int_equal(done_at(&w, 0)->error, ETIMEDOUT);
    stop(&w);
}

/* 300 mute targets stand before 2,000 requests to one that answers: those must go on at once. */
static void mute_targets_do_not_stop_others(void **state)
{
    (void)state;
    struct world w;
    start(&w, 16, 4, 3);
    for (unsigned t = 0; t < 300; t++)
        for (unsigned i = 0; i < 3; i++)
            submit(&w, 100 + t, t * 10 + i, 1);
    uint64_t now = 1;
    unsigned seen = 0;
    for (; now < 200 * 4; now++) /* the first ones find out that nobody answers */
        smpq_tick(w.q, now, now);
    seen = w.sent->len;
    for (unsigned i = 0; i < 2000; i++) {
        struct smp_request r = request(&w, 7, 100000 + i);
        r.urgent = i == 0;
        assert_int_equal(smpq_submit(w.q, &r, now), 0);
    }
    /* It answers each within a millisecond. */
    uint64_t begin = now;
    unsigned answered = 0;
    for (; answered < 2000 && now < begin + 60000; now++) {
        smpq_tick(w.q, now, now);
        for (unsigned n = w.sent->len; seen < n; seen++)
            if (sent_at(&w, seen)->to.lid == 7)
                answered += answer(&w, seen, 0, now);
    }
    assert_int_equal(answered, 2000);
    print_message("2000 answers beside 300 mute targets took %u ms\n", (unsigned)(now - begin));
    assert_true(now - begin < 4000);
    stop(&w);
}

static void mute_target_gets_one_at_a_time(void **state)
{
    (void)state;
    struct world w;
    start(&w, 64, 4, 5);
    introduce(&w, 1, 1);
    for (unsigned i = 0; i < 8; i++)
        submit(&w, 1, i, 1);
    assert_int_equal(smpq_outstanding(w.q), 4);
    smpq_tick(w.q, 201, 201);
    smpq_tick(w.q, 401, 401);
    assert_int_equal(smpq_outstanding(w.q), 1);
    /* One answer and it is trusted again. */
    assert_true(answer(&w, w.sent->len - 1, 0, 402));
    assert_int_equal(smpq_outstanding(w.q), 4);
    stop(&w);
}

/* Sends n requests to n targets and returns how many were let out at once. */
static unsigned let_out_of(struct world *w, unsigned n, uint64_t now)
{
    unsigned before = w->sent->len;
    for (unsigned i = 0; i < n; i++)
        submit(w, 5000 + i, 5000 + i, now);
    unsigned out = w->sent->len - before;
    return out;
}

static void clustered_timeouts_halve(void **state)
{
    (void)state;
    struct world w;
    start(&w, 64, 4, 0);
    introduce(&w, 5000, 300);
    assert_int_equal(let_out_of(&w, 200, 1), 64);
    smpq_tick(w.q, 201, 201); /* all 64 lost at once: one cluster */
    assert_int_equal(w.done->len, 64);
    assert_int_equal(smpq_outstanding(w.q), 32);
    /* Each answer lets another one out, and the window grows by one for each full of it. */
    for (unsigned i = 64, n = 0; i < w.sent->len && n < 32; i++, n++)
        assert_true(answer(&w, i, 0, 1000));
    assert_int_equal(smpq_outstanding(w.q), 33);
    stop(&w);

    start(&w, 64, 4, 0); /* a lone one halves nothing */
    introduce(&w, 5000, 300);
    submit(&w, 1, 1, 1);
    smpq_tick(w.q, 201, 201);
    assert_int_equal(let_out_of(&w, 200, 202), 64);
    stop(&w);

    start(&w, 64, 4, 0); /* targets that never answered leave a quarter to the others */
    assert_int_equal(let_out_of(&w, 200, 1), 48);
    stop(&w);
}

static void tids_wrap(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 0);
    smpq_destroy(w.q);
    struct smpq_config c = {
        .max_per_port = 8, .send = on_send, .user = &w, .tid_seed = UINT32_MAX - 2};
    w.q = smpq_create(&c);
    for (unsigned i = 0; i < 6; i++)
        submit(&w, i, i, 1);
    for (unsigned i = 0; i < 6; i++) {
        assert_true(mad_tid(sent_at(&w, i)->mad) != 0);
        assert_true(answer(&w, i, 0, 1));
    }
    stop(&w);
}

static void reentrant_callbacks(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 0);
    w.resubmits = 3;
    w.resubmit_target = 9;
    for (unsigned i = 0; i < 3; i++)
        submit(&w, 9, i, 1);
    smpq_tick(w.q, 201, 201); /* each time-out submits another one */
    assert_int_equal(w.done->len, 3);
    assert_int_equal(smpq_outstanding(w.q) + smpq_waiting(w.q), 3);
    w.cancel_in_done = true; /* the first answer cancels the others */
    assert_true(answer(&w, w.sent->len - 1, 0, 1000001));
    assert_int_equal(w.done->len, 6);
    assert_int_equal(done_at(&w, 4)->error, ECANCELED);
    assert_int_equal(smpq_outstanding(w.q) + smpq_waiting(w.q), 0);

    w.cancel_in_done = true; /* cancelling while several expire together */
    for (unsigned i = 0; i < 8; i++)
        submit(&w, 20 + i / 4, i, 1000002);
    smpq_tick(w.q, 1000300, 1000300);
    assert_int_equal(w.done->len, 14);
    assert_int_equal(smpq_outstanding(w.q) + smpq_waiting(w.q), 0);

    w.resubmits = 1; /* cancelling all while a callback submits: that one stays */
    submit(&w, 30, 1, 1000400);
    submit(&w, 30, 2, 1000400);
    smpq_cancel(w.q, NULL);
    assert_int_equal(smpq_outstanding(w.q), 1);
    stop(&w);
}

static void queue_is_bounded(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 0);
    struct smpq_config c = {.max_per_port = 1, .max_queued = 10};
    smpq_configure(w.q, &c);
    for (unsigned i = 0; i < 11; i++)
        submit(&w, 1, i, 1);
    struct smp_request r = request(&w, 1, 99);
    assert_int_equal(smpq_submit(w.q, &r, 1), ENOBUFS);
    stop(&w);
}

static void set_carries_data_and_path(void **state)
{
    (void)state;
    struct world w;
    start(&w, 8, 4, 0);
    struct smp_request r = request(&w, 1, 1);
    r.method = MAD_SET;
    r.directed = true;
    dr_path_extend(&r.path, 3);
    r.mkey = 42;
    memset(r.data, 0x5a, sizeof(r.data));
    assert_int_equal(smpq_submit(w.q, &r, 1), 0);
    struct sent *s = sent_at(&w, 0);
    assert_int_equal(s->to.lid, 0xffff);
    assert_int_equal(smp_mkey(s->mad), 42);
    assert_memory_equal(smp_data(s->mad), r.data, SMP_DATA_BYTES);
    assert_int_equal(s->mad[7], 1);
    assert_true(answer(&w, 0, 0x8000, 2));
    assert_int_equal(done_at(&w, 0)->error, 0);
    stop(&w);
}

/* Random submissions, losses, answers, cancels: everything ends exactly once. */
static void random_run(void **state)
{
    (void)state;
    uint32_t seed = g_random_int();
    const char *given = g_getenv("HEDDLE_SEED");
    if (given != NULL)
        seed = (uint32_t)g_ascii_strtoull(given, NULL, 10);
    print_message("replay: HEDDLE_SEED=%u ./smpq_test\n", seed);
    GRand *rnd = g_rand_new_with_seed(seed);
    struct world w;
    start(&w, 32, 4, 2);
    unsigned submitted = 0;
    uint64_t now = 1;
    for (unsigned step = 0; step < 50000; step++) {
        switch (g_rand_int_range(rnd, 0, 5)) {
        case 0:
        case 1: {
            struct smp_request r = request(&w, (uint64_t)g_rand_int_range(rnd, 1, 40), submitted++);
            r.urgent = g_rand_int_range(rnd, 0, 10) == 0;
            r.retries = g_rand_int_range(rnd, -1, 7);
            assert_int_equal(smpq_submit(w.q, &r, now), 0);
            break;
        }
        case 2:
        case 3:
            if (w.sent->len > 0)
                answer(&w,
                       w.sent->len - 1 -
                           (unsigned)g_rand_int_range(rnd, 0, (int)MIN(w.sent->len, 60u)),
                       0, now);
            break;
        default:
            now += (uint64_t)g_rand_int_range(rnd, 0, 50);
            smpq_tick(w.q, now, now);
            if (g_rand_int_range(rnd, 0, 500) == 0)
                smpq_cancel(w.q, NULL);
        }
        assert_true(smpq_outstanding(w.q) <= 32);
        assert_int_equal(smpq_outstanding(w.q) + smpq_waiting(w.q) + w.done->len, submitted);
    }
    while (smpq_deadline(w.q) != UINT64_MAX) {
        now = smpq_deadline(w.q);
        smpq_tick(w.q, now, now);
    }
    assert_int_equal(w.done->len, submitted);
    g_autofree bool *ended = g_new0(bool, submitted);
    for (unsigned i = 0; i < submitted; i++) {
        assert_false(ended[done_at(&w, i)->tag]);
        ended[done_at(&w, i)->tag] = true;
    }
    g_rand_free(rnd);
    stop(&w);
}

static void is_fast(void **state)
{
    (void)state;
    struct world w;
    start(&w, 128, 4, 3);
    enum { COUNT = 300000 };
    gint64 begin = g_get_monotonic_time();
    for (unsigned i = 0; i < COUNT; i++) {
        submit(&w, i % 4000, i, 1);
        if (smpq_outstanding(w.q) >= 60 || i % 3 == 0) {
            answer(&w, w.sent->len - smpq_outstanding(w.q), 0, 1);
            smpq_tick(w.q, 1, 1);
            (void)smpq_deadline(w.q);
        }
        if (w.sent->len > 100000)
            g_array_remove_range(w.sent, 0, w.sent->len - smpq_outstanding(w.q));
        if (smpq_waiting(w.q) > 50000)
            smpq_cancel(w.q, NULL);
    }
    gint64 us = g_get_monotonic_time() - begin;
    print_message("%.0f SMPs/s\n", COUNT * 1e6 / (double)us);
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_hold),
        cmocka_unit_test(urgent_goes_first),
        cmocka_unit_test(retries_then_timeout),
        cmocka_unit_test(late_duplicate_forged),
        cmocka_unit_test(statuses),
        cmocka_unit_test(transport_failures),
        cmocka_unit_test(mute_targets_do_not_stop_others),
        cmocka_unit_test(mute_target_gets_one_at_a_time),
        cmocka_unit_test(clustered_timeouts_halve),
        cmocka_unit_test(tids_wrap),
        cmocka_unit_test(reentrant_callbacks),
        cmocka_unit_test(queue_is_bounded),
        cmocka_unit_test(set_carries_data_and_path),
        cmocka_unit_test(random_run),
        cmocka_unit_test(is_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
