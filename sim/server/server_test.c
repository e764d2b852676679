/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, addresses, outboxes, and the ways of packets to clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* after those that it needs */
#include <cmocka.h>

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <getopt.h>

#include "sim/server/clients.h"
#include "sim/server/options.h"
#include "sim/server/unread.h"

enum { SLOTS = 8, LIMIT = 20, NODE = 5, PORT = 1, CLASS_CM = 0x07 };

/* -- outbox -- */

static void test_outbox_keeps_order(void **state)
{
    struct outbox o = {.limit = 1000};
    uint32_t in = 0, out = 0;

    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < round % 17; i++)
            outbox_add(&o)->status = in++;
        for (unsigned i = 0; i < o.used; i++)
            assert_int_equal(outbox_at(&o, i)->status, out + i);
        unsigned taken = o.used / 2;
        outbox_take(&o, taken);
        out += taken;
    }
    assert_int_equal(o.used, in - out);
    outbox_clear(&o);
    assert_null(o.ring);
}

static void test_outbox_is_bounded(void **state)
{
    struct outbox o = {.limit = 300};

    for (unsigned i = 0; i < 300; i++)
        outbox_add(&o)->status = i;
    assert_null(outbox_add(&o));
    assert_int_equal(outbox_at(&o, 0)->status, 0);
    assert_int_equal(outbox_at(&o, 299)->status, 299);
    outbox_take(&o, 300);
    assert_null(o.ring); /* a large ring is given back */
    assert_non_null(outbox_add(&o));
    outbox_clear(&o);
}

/* -- addresses -- */

static void test_addresses(void **state)
{
    struct address a, b;

    address_local(&a, ADDRESS_LOCAL, "sim", "in", 12);
    assert_int_equal(a.length, offsetof(struct sockaddr_un, sun_path) + strlen("-sim:in12"));
    assert_memory_equal(a.un.sun_path, "\0sim:in12", 9);
    address_local(&b, ADDRESS_LOCAL_ZERO, "sim", "in", 12);
    assert_int_equal(b.length, a.length + 1);
    assert_false(address_equal(&a, &b));
    assert_string_equal(address_text(&b), "@sim:in12");
    address_local(&a, ADDRESS_LOCAL_ZERO, "sim", "in", 12);
    assert_true(address_equal(&a, &b));
    memcpy(a.un.sun_path, "\0s\n\":", 5);
    a.length = offsetof(struct sockaddr_un, sun_path) + 5;
    assert_string_equal(address_text(&a), "@s??:");
    a.length = offsetof(struct sockaddr_un, sun_path);
    assert_string_equal(address_text(&a), "a socket without a name");
    address_udp(&a, (struct in_addr){htonl(INADDR_LOOPBACK)}, 7070);
    assert_string_equal(address_text(&a), "udp 127.0.0.1 port 7070");
    assert_false(address_equal(&a, &b));
}

/* -- answers that nobody reads -- */

static void test_unread(void **state)
{
    struct unread u;
    struct address flood, other, stopped;
    int bytes = 1000;

    address_local(&flood, ADDRESS_LOCAL, "s", "ctl", 1);
    address_local(&other, ADDRESS_LOCAL, "s", "ctl", 2);
    address_local(&stopped, ADDRESS_LOCAL, "s", "ctl", 3);
    unread_create(&u);
    assert_true(unread_allows(&u, &stopped, 0)); /* it does not read this one */
    for (unsigned i = 0; i < 100000; i++) {
        if (unread_allows(&u, &flood, bytes))
            bytes += 768;
        if (i % 16 == 0 && !unread_allows(&u, &other, bytes))
            fail_msg("who reads is not answered any more, i = %u", i);
    }
    assert_in_range(bytes, UNREAD_STEP, 2 * UNREAD_STEP);
    assert_true(unread_allows(&u, &stopped, bytes));
    assert_false(unread_allows(&u, &flood, bytes));
    assert_true(unread_allows(&u, &flood, 0)); /* it has read all */
    unread_destroy(&u);
}

/* -- options -- */

static int parse(struct options *o, const char *words)
{
    static char *argv[32];
    int argc = 1;

    g_auto(GStrv) split = g_strsplit(words, " ", -1);
    argv[0] = "heddle-sim";
    for (int i = 0; split[i]; i++)
        argv[argc++] = (char *)g_intern_string(split[i]);
    argv[argc] = NULL;
    optind = 0; /* getopt starts anew */
    return options_parse(argc, argv, o);
}

static void test_options(void **state)
{
    static const char *const wrong[] = {
        "--clients 0 f",
        "--clients 1025 f",
        "--clients x f",
        "--udp 0 f",
        "--udp 65000 --clients 1000 f",
        "--udp-address h f",
        "--queue 3 f",
        "--name  f",
        "--seed -1 f",
        "--train-ms 1s f",
        "--vl15 -1 f",
        "--log-level loud f",
        "--bogus f",
        "--clients",
        "f g",
        "--interactive",
        "--service a\tb f",
    };
    struct options o;

    setenv("IBSIM_SOCKNAME", "other", 1);
    assert_int_equal(parse(&o, "f"), -1);
    assert_string_equal(o.name, "other");
    assert_int_equal(o.clients, 128);
    assert_int_equal(o.udp_address.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_equal(parse(&o, "--name n --udp 7070 --clients 1024 --queue 16 --seed 0x10 --vl15 0 "
                               "--service 5us --hosts groups=2 f"),
                     -1);
    assert_string_equal(o.name, "n");
    assert_int_equal(o.udp_port, 7070);
    assert_int_equal(o.clients, 1024);
    assert_int_equal(o.seed, 16);
    assert_int_equal(o.vl15, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (parse(&o, wrong[i]) != OPTIONS_USAGE)
            fail_msg("accepted: %s", wrong[i]);
}

/* -- clients -- */

static int start(void **state)
{
    struct clients *c = g_new0(struct clients, 1);

    clients_create(c, SLOTS, LIMIT);
    *state = c;
    return 0;
}

static int end(void **state)
{
    clients_destroy(*state);
    g_free(*state);
    return 0;
}

static struct client *sit(struct clients *c, uint32_t node)
{
    struct client *client = clients_free_slot(c, 0);

    client->node = node;
    client->port = PORT;
    clients_attach(c, client);
    return client;
}

static struct wire_packet wire(uint8_t class, uint8_t method, uint64_t tid)
{
    struct wire_packet p = {.dlid = htons(7), .sqp = htonl(1), .length = htobe64(MAD_BYTES)};

    p.mad[0] = 1;
    p.mad[1] = class;
    p.mad[3] = method;
    mad_set_tid(p.mad, tid);
    return p;
}

static void use(struct client *client, uint8_t class)
{
    struct wire_packet in = wire(class, MAD_METHOD_GET, 1);
    struct sim_packet out;

    assert_true(clients_take(client, &in, &out));
}

static struct sim_packet packet(uint8_t class, uint8_t method, uint32_t qp)
{
    struct sim_packet p = {.dlid = 3, .slid = 9, .dqp = qp, .sqp = qp};

    p.mad[0] = 1;
    p.mad[1] = class;
    p.mad[3] = method;
    return p;
}

static bool arrive(struct clients *c, uint8_t class, uint8_t method)
{
    struct sim_packet p = packet(class, method, class == MAD_CLASS_SM_LID ? 0 : 1);

    return clients_deliver(c, NODE, PORT, &p);
}

static void test_transaction_ids(void **state)
{
    struct client *client;
    struct wire_packet in;
    struct sim_packet out;

    sit(*state, NODE);
    client = sit(*state, NODE);
    in = wire(MAD_CLASS_SA, MAD_METHOD_GET, 0x1234567890abcdef);
    assert_true(clients_take(client, &in, &out));
    assert_int_equal(mad_tid(out.mad), 0x0001567890abcdef);
    assert_int_equal(out.dlid, 7);
    assert_int_equal(out.sqp, 1);
    in = wire(MAD_CLASS_SA, MAD_METHOD_GET | MAD_METHOD_RESPONSE, 0x1234567890abcdef);
    assert_true(clients_take(client, &in, &out));
    assert_int_equal(mad_tid(out.mad), 0x1234567890abcdef);
    in = wire(MAD_CLASS_SM_LID, MAD_METHOD_TRAP_REPRESS, 0xffff000000000001);
    assert_true(clients_take(client, &in, &out));
    assert_int_equal(mad_tid(out.mad), 0xffff000000000001);
}

static void test_lengths(void **state)
{
    struct client *client = sit(*state, NODE);
    struct wire_packet in = wire(MAD_CLASS_SA, MAD_METHOD_GET, 1);
    struct sim_packet out;

    memset(in.mad + 24, 0xaa, sizeof in.mad - 24);
    in.length = htobe64(30);
    memset(&out, 0x55, sizeof out);
    assert_true(clients_take(client, &in, &out));
    assert_int_equal(out.mad[29], 0xaa);
    for (unsigned i = 30; i < MAD_BYTES; i++)
        assert_int_equal(out.mad[i], 0);
    assert_int_equal(out.length, 30);
    in.length = htobe64(23);
    assert_false(clients_take(client, &in, &out));
    in.length = htobe64(257);
    assert_false(clients_take(client, &in, &out));
    in.length = UINT64_MAX;
    assert_false(clients_take(client, &in, &out));
    assert_int_equal(client->malformed, 3);
}

static void test_answers_find_the_asker(void **state)
{
    struct clients *c = *state;
    struct client *first = sit(c, NODE), *second = sit(c, NODE), *elsewhere = sit(c, NODE + 1);
    struct sim_packet p = packet(MAD_CLASS_SA, MAD_METHOD_GET | MAD_METHOD_RESPONSE, 1);

    mad_put16(p.mad + 8, 1);
    assert_true(clients_deliver(c, NODE, PORT, &p));
    assert_int_equal(first->outbox.used, 0);
    assert_int_equal(second->outbox.used, 1);
    assert_int_equal(ntohs((uint16_t)outbox_at(&second->outbox, 0)->slid), 9);
    assert_int_equal(outbox_at(&second->outbox, 0)->status, 0);
    /* an answer is as long as its sender says; those of agents are whole */
    assert_true(outbox_at(&second->outbox, 0)->length == htobe64(MAD_BYTES));
    p.length = 120;
    assert_true(clients_deliver(c, NODE, PORT, &p));
    assert_true(outbox_at(&second->outbox, 1)->length == htobe64(120));
    mad_put16(p.mad + 8, 2); /* who sits elsewhere */
    assert_false(clients_deliver(c, NODE, PORT, &p));
    mad_put16(p.mad + 8, 5); /* a free slot */
    assert_false(clients_deliver(c, NODE, PORT, &p));
    mad_put16(p.mad + 8, 0xffff);
    assert_false(clients_deliver(c, NODE, PORT, &p));
    assert_int_equal(elsewhere->outbox.used, 0);
    assert_int_equal(c->unclaimed, 3);
}

static void test_requests_to_managers(void **state)
{
    struct clients *c = *state;
    struct client *tool = sit(c, NODE), *sm = sit(c, NODE);

    use(tool, MAD_CLASS_SM_LID);
    use(tool, MAD_CLASS_SA);
    assert_false(arrive(c, MAD_CLASS_SM_LID, MAD_METHOD_GET)); /* SMInfo: no manager here */
    assert_int_equal(tool->outbox.used, 0);
    assert_true(arrive(c, MAD_CLASS_SM_LID, 5)); /* a trap, for want of a manager */
    assert_int_equal(tool->outbox.used, 1);
    sm->issm = true;
    assert_true(arrive(c, MAD_CLASS_SM_LID, MAD_METHOD_GET));
    assert_true(arrive(c, MAD_CLASS_SM_LID, 5));
    assert_true(arrive(c, MAD_CLASS_SA, MAD_METHOD_GET));
    assert_int_equal(tool->outbox.used, 1);
    assert_int_equal(sm->outbox.used, 3);
    clients_detach(c, sm);
    assert_false(arrive(c, MAD_CLASS_SM_LID, MAD_METHOD_GET));
}

static void test_reports_to_users_of_the_class(void **state)
{
    struct clients *c = *state;
    struct client *a = sit(c, NODE), *b = sit(c, NODE), *other = sit(c, NODE),
                  *elsewhere = sit(c, NODE + 1);
    struct sim_packet p = packet(CLASS_CM, 3, 77);

    use(a, MAD_CLASS_SA);
    use(b, MAD_CLASS_SA);
    use(other, CLASS_CM);
    use(elsewhere, MAD_CLASS_SA);
    assert_true(arrive(c, MAD_CLASS_SA, 6));
    assert_int_equal(a->outbox.used, 1);
    assert_int_equal(b->outbox.used, 1);
    assert_int_equal(other->outbox.used + elsewhere->outbox.used, 0);
    assert_false(arrive(c, MAD_CLASS_PERF, 6));
    assert_false(clients_deliver(c, NODE, PORT, &p)); /* nobody has QP 77 */
    b->qp = 77;
    assert_true(clients_deliver(c, NODE, PORT, &p));
    assert_int_equal(b->outbox.used, 2);
}

static void test_lost_goes_back(void **state)
{
    struct clients *c = *state;
    struct client *client = sit(c, NODE);
    struct sim_packet p = packet(MAD_CLASS_SA, MAD_METHOD_GET, 1);

    clients_lost(c, &p);
    assert_int_equal(client->outbox.used, 1);
    assert_int_equal(ntohl(outbox_at(&client->outbox, 0)->status), ETIMEDOUT);
    mad_put16(p.mad + 8, 3);
    clients_lost(c, &p);
    assert_int_equal(client->outbox.used, 1);
}

static void test_full_queue_drops_the_newest(void **state)
{
    struct clients *c = *state;
    struct client *client = sit(c, NODE);
    struct sim_packet p = packet(MAD_CLASS_SA, MAD_METHOD_GET | MAD_METHOD_RESPONSE, 1);

    for (unsigned i = 0; i < LIMIT + 5; i++) {
        p.slid = (uint16_t)i;
        assert_true(clients_deliver(c, NODE, PORT, &p));
    }
    assert_int_equal(client->outbox.used, LIMIT);
    assert_int_equal(client->dropped, 5);
    assert_int_equal(ntohs((uint16_t)outbox_at(&client->outbox, LIMIT - 1)->slid), LIMIT - 1);
    assert_int_equal(c->dirty->len, 1);
}

static void test_slots(void **state)
{
    struct clients *c = *state;
    struct client *all[SLOTS];

    for (unsigned i = 0; i < SLOTS; i++) {
        all[i] = sit(c, NODE);
        assert_int_equal(all[i]->slot, i);
        address_local(&all[i]->ctl, ADDRESS_LOCAL, "s", "ctl", i);
    }
    assert_null(clients_free_slot(c, 0));
    clients_detach(c, all[2]);
    clients_detach(c, all[6]);
    assert_null(clients_by_address(c, &all[2]->ctl));
    assert_ptr_equal(clients_by_address(c, &all[3]->ctl), all[3]);
    assert_ptr_equal(clients_free_slot(c, 3), all[6]);
    assert_ptr_equal(sit(c, NODE), all[2]);
    assert_ptr_equal(c->active->pdata[2], all[2]); /* in the order of slots */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outbox_keeps_order),
        cmocka_unit_test(test_outbox_is_bounded),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_options),
        cmocka_unit_test_setup_teardown(test_transaction_ids, start, end),
        cmocka_unit_test_setup_teardown(test_lengths, start, end),
        cmocka_unit_test_setup_teardown(test_answers_find_the_asker, start, end),
        cmocka_unit_test_setup_teardown(test_requests_to_managers, start, end),
        cmocka_unit_test_setup_teardown(test_reports_to_users_of_the_class, start, end),
        cmocka_unit_test_setup_teardown(test_lost_goes_back, start, end),
        cmocka_unit_test_setup_teardown(test_full_queue_drops_the_newest, start, end),
        cmocka_unit_test_setup_teardown(test_slots, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
