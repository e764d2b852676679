/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the SA on a view made by hand: two leaves, a spine, four hosts, and on a larger one. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/mad.h>

#include "shard/sa/sa.h"
#include "shard/sa/sa_walk.h"

#define PREFIX UINT64_C(0xfe80000000000000)
#define SM_KEY 7u
#define HEADER 56u

enum { GET = 1, SET = 2, GET_TABLE = 0x12, DELETE = 0x15 };
enum {
    NODE_RECORD = 0x11,
    PORTINFO_RECORD,
    SWITCHINFO_RECORD = 0x14,
    SMINFO_RECORD = 0x18,
    LINK_RECORD = 0x20,
    PATH_RECORD = 0x35,
    CPI_RECORD = 1
};

/* -- a view by hand ---------------------------------------------------------------------------- */

struct fixture {
    struct view *view;
    struct rt_plan *plan;
    struct sa_context context;
    Heddle__Delta *delta;
};

static void put64(uint8_t *p, uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        p[i] = (uint8_t)v;
}
static uint64_t get64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}
static unsigned get16(const uint8_t *p)
{
    return (unsigned)(p[0] << 8 | p[1]);
}

static void make_nodeinfo(uint8_t n[40], unsigned type, unsigned nports, uint64_t guid,
                          uint64_t port_guid)
{
    memset(n, 0, 40);
    n[0] = n[1] = 1;
    n[2] = (uint8_t)type;
    n[3] = (uint8_t)nports;
    put64(n + 4, guid);
    put64(n + 12, guid);
    put64(n + 20, port_guid);
    n[36] = 9; /* where the question came in: not for the record */
}

static void make_portinfo(uint8_t p[64], unsigned lid, unsigned lmc, unsigned mtu, unsigned ext)
{
    memset(p, 0, 64);
    put64(p, 0x5ec5e7); /* an M_Key */
    mad_set_field(p, 0, IB_PORT_LID_F, lid);
    mad_set_field(p, 0, IB_PORT_LMC_F, lmc);
    mad_set_field(p, 0, IB_PORT_STATE_F, 4);
    mad_set_field(p, 0, IB_PORT_PHYS_STATE_F, 5);
    mad_set_field(p, 0, IB_PORT_MTU_CAP_F, 5);
    mad_set_field(p, 0, IB_PORT_NEIGHBOR_MTU_F, mtu);
    mad_set_field(p, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, 2); /* 4x */
    mad_set_field(p, 0, IB_PORT_LINK_SPEED_ACTIVE_F, 4); /* QDR */
    mad_set_field(p, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F, ext);
}

struct cable {
    unsigned port;
    uint64_t peer;
    unsigned peer_port, mtu, ext;
};

static void add_switch(struct fixture *f, uint64_t guid, unsigned nports, unsigned lid,
                       const struct cable *cables, size_t count)
{
    struct view_switch s = {.guid = guid, .nports = (uint8_t)nports, .reachable = true};
    s.ports = g_new0(struct view_port, nports + 1);
    make_nodeinfo(s.nodeinfo, 2, nports, guid, guid);
    snprintf(s.description, sizeof(s.description), "switch %" PRIx64, guid);
    s.ports[0].have_info = true;
    make_portinfo(s.ports[0].portinfo, lid, 0, 0, 0);
    mad_set_field(s.ports[0].portinfo, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, 0);
    for (size_t i = 0; i < count; i++) {
        struct view_port *p = &s.ports[cables[i].port];
        p->peer_guid = cables[i].peer;
        p->peer_port = (uint8_t)cables[i].peer_port;
        p->have_info = true;
        make_portinfo(p->portinfo, 0, 0, cables[i].mtu, cables[i].ext);
    }
    view_delta_add_switch(f->delta, view_pack_switch(&s));
    g_free(s.ports);
}

static void add_host(struct fixture *f, uint64_t guid, unsigned lid, unsigned lmc,
                     uint64_t switch_guid, unsigned switch_port, bool present, unsigned mtu,
                     unsigned ext)
{
    struct view_end_port e = {.node_guid = guid,
                              .port_guid = guid + 1,
                              .num = 1,
                              .lid = (uint16_t)lid,
                              .lmc = (uint8_t)lmc,
                              .switch_guid = switch_guid,
                              .switch_port = (uint8_t)switch_port,
                              .present = present};
    make_nodeinfo(e.nodeinfo, 1, 1, guid, guid + 1);
    make_portinfo(e.portinfo, lid, lmc, mtu, ext);
    mad_set_field(e.portinfo, 0, IB_PORT_CAPMASK_F, lid == 11 ? 0x6u : 0x4u);
    snprintf(e.description, sizeof(e.description), "host %" PRIx64, guid);
    view_delta_add_end_port(f->delta, view_pack_end_port(&e));
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->view = view_create();
    f->delta = g_new0(Heddle__Delta, 1);
    heddle__delta__init(f->delta);
}

static void finish(struct fixture *f)
{
    view_apply(f->view, 1, f->delta);
    heddle__delta__free_unpacked(f->delta, NULL);
    struct rt_graph *g = NULL;
    assert_int_equal(view_graph(f->view, &g, NULL), 0);
    char error[256] = "";
    struct rt_options o = {.max_vls = 1};
    if (rt_engine_find("updn")->prepare(g, &o, &f->plan, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    rt_graph_unref(g);
    f->context = (struct sa_context){.view = f->view,
                                     .plan = f->plan,
                                     .own_lid = 10,
                                     .subnet_prefix = PREFIX,
                                     .sm_key = SM_KEY,
                                     .packet_life_time = 0x12,
                                     .response_time = 0x12};
}

enum { A = 0xa0, B = 0xb0, S = 0xc0, H1 = 0x100, H2 = 0x200, H3 = 0x300, H4 = 0x400 };

static int small(void **state)
{
    struct fixture *f = g_new0(struct fixture, 1);
    begin(f);
    const struct cable a[] = {{1, H1, 1, 5, 2}, {2, H2, 1, 4, 2}, {9, S, 1, 5, 2}};
    const struct cable b[] = {{1, H3, 1, 5, 4}, {9, S, 2, 5, 1}};
    const struct cable s[] = {{1, A, 9, 5, 2}, {2, B, 9, 5, 1}};
    add_switch(f, A, 10, 1, a, 3);
    add_switch(f, B, 10, 2, b, 2);
    add_switch(f, S, 4, 3, s, 2);
    add_host(f, H1, 10, 0, A, 1, true, 5, 2);
    add_host(f, H2, 11, 0, A, 2, true, 4, 2);
    add_host(f, H3, 12, 1, B, 1, true, 5, 4);
    add_host(f, H4, 20, 0, B, 2, false, 5, 2); /* gone */
    finish(f);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    rt_plan_destroy(f->plan);
    view_destroy(f->view);
    g_free(f);
    return 0;
}

/* -- asking ------------------------------------------------------------------------------------ */

struct question {
    uint8_t mad[MAD_BYTES];
};
struct reply {
    uint8_t *mad;
    size_t len;
    bool rmpp;
    unsigned status, count, size; /* of records, from AttributeOffset */
};

static struct question ask(unsigned method, unsigned attribute, uint64_t mask)
{
    struct question q = {{0}};
    q.mad[0] = 1;
    q.mad[1] = SA_CLASS;
    q.mad[2] = 2;
    q.mad[3] = (uint8_t)method;
    put64(q.mad + 8, 0x1234);
    q.mad[16] = (uint8_t)(attribute >> 8);
    q.mad[17] = (uint8_t)attribute;
    put64(q.mad + 48, mask);
    return q;
}

static struct reply reply_to(struct fixture *f, const struct question *q)
{
    struct reply r = {0};
    struct mad_address from = {.lid = 10, .qpn = 1};
    assert_true(sa_handle(&f->context, q->mad, MAD_BYTES, &from, &r.mad, &r.len, &r.rmpp));
    assert_int_equal(r.mad[0], 1);
    assert_int_equal(r.mad[1], SA_CLASS);
    assert_int_equal(r.mad[2], 2);
    assert_true((r.mad[3] & 0x80) != 0);
    assert_int_equal(get64(r.mad + 8), 0x1234);
    assert_int_equal(get64(r.mad + 36), 0); /* no SM_Key */
    r.status = get16(r.mad + 4);
    r.size = get16(r.mad + 44) * 8;
    if (r.rmpp) {
        assert_int_equal(r.mad[24], 1);
        assert_int_equal(r.mad[25], 1);
        assert_int_equal(r.mad[26], 1);
        r.count = r.size > 0 ? (unsigned)((r.len - HEADER) / r.size) : 0;
        assert_int_equal(r.len, HEADER + r.count * r.size);
    } else {
        assert_int_equal(r.len, MAD_BYTES);
        assert_int_equal(get64(r.mad + 24), 0);
        r.count = r.size > 0;
    }
    return r;
}

static const uint8_t *record(const struct reply *r, unsigned i)
{
    assert_true(i < r->count);
    return r->mad + HEADER + i * r->size;
}

static unsigned status_of(struct fixture *f, const struct question *q)
{
    struct reply r = reply_to(f, q);
    g_free(r.mad);
    return r.status;
}

static unsigned count_of(struct fixture *f, const struct question *q)
{
    struct reply r = reply_to(f, q);
    assert_int_equal(r.status, 0);
    g_free(r.mad);
    return r.count;
}

/* -- tests ------------------------------------------------------------------------------------- */

static void class_port_info(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET, CPI_RECORD, 0);
    struct reply r = reply_to(f, &q);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.mad[3], 0x81);
    assert_int_equal(r.mad[HEADER], 1);
    assert_int_equal(r.mad[HEADER + 1], 2);
    assert_int_equal(r.mad[HEADER + 7], 0x12);
    g_free(r.mad);
    q.mad[3] = GET_TABLE;
    assert_int_equal(status_of(f, &q), 0x0c);
}

static void errors_are_answered(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET, 0x38, 0); /* MCMemberRecord */
    assert_int_equal(status_of(f, &q), 0x0c);
    q = ask(SET, NODE_RECORD, 0);
    struct reply r = reply_to(f, &q);
    assert_int_equal(r.status, 0x0c);
    assert_int_equal(r.mad[3], 0x81);
    g_free(r.mad);
    q = ask(DELETE, NODE_RECORD, 0);
    r = reply_to(f, &q);
    assert_int_equal(r.status, 0x0c);
    assert_int_equal(r.mad[3], 0x95);
    g_free(r.mad);
    q = ask(0x44, NODE_RECORD, 0);
    assert_int_equal(status_of(f, &q), 0x08);
    q = ask(GET_TABLE, NODE_RECORD, 0);
    q.mad[2] = 1;
    assert_int_equal(status_of(f, &q), 0x04);
    q = ask(GET_TABLE, NODE_RECORD, 0);
    put64(q.mad + 36, 8);
    assert_int_equal(status_of(f, &q), 0x0200);
    put64(q.mad + 36, SM_KEY);
    assert_int_equal(count_of(f, &q), 6);
    f->context.busy = true;
    assert_int_equal(status_of(f, &q), 1);
    f->context.busy = false;
    f->context.plan = NULL;
    q = ask(GET_TABLE, PATH_RECORD, 1 << 5);
    assert_int_equal(status_of(f, &q), 1);
    f->context.plan = f->plan;
}

static void unsolicited_are_not_answered(void **state)
{
    struct fixture *f = *state;
    static const unsigned methods[] = {0x81, 0x92, 0x03, 0x05, 0x06, 0x07};
    struct reply r = {0};
    struct mad_address from = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
        struct question q = ask(methods[i], NODE_RECORD, 0);
        assert_false(sa_handle(&f->context, q.mad, MAD_BYTES, &from, &r.mad, &r.len, &r.rmpp));
    }
    struct question q = ask(GET, NODE_RECORD, 0);
    assert_false(sa_handle(&f->context, q.mad, MAD_BYTES - 1, &from, &r.mad, &r.len, &r.rmpp));
    q.mad[1] = 4;
    assert_false(sa_handle(&f->context, q.mad, MAD_BYTES, &from, &r.mad, &r.len, &r.rmpp));
}

static void node_records(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET_TABLE, NODE_RECORD, 0);
    struct reply r = reply_to(f, &q);
    assert_int_equal(r.mad[3], 0x92);
    assert_int_equal(r.count, 6); /* the host that is gone has none */
    assert_int_equal(r.size, 112);
    const uint8_t *n = record(&r, 3); /* switches first, then hosts */
    assert_int_equal(get16(n), 10);
    assert_int_equal(n[4 + 2], 1);
    assert_int_equal(get64(n + 24), H1 + 1);
    assert_int_equal(n[40], 1);
    assert_string_equal((const char *)n + 44, "host 100");
    assert_int_equal(record(&r, 0)[40], 0); /* a switch's record is of port 0 */
    g_free(r.mad);

    q = ask(GET, NODE_RECORD, 1);
    q.mad[HEADER + 1] = 11;
    r = reply_to(f, &q);
    assert_int_equal(get64(record(&r, 0) + 16), H2);
    g_free(r.mad);
    q.mad[HEADER + 1] = 13; /* the second LID of H3 */
    r = reply_to(f, &q);
    assert_int_equal(get16(record(&r, 0)), 12);
    g_free(r.mad);
    q.mad[HEADER + 1] = 20;
    assert_int_equal(status_of(f, &q), 0x0300);
    q.mad[HEADER + 1] = 99;
    assert_int_equal(status_of(f, &q), 0x0300);

    q = ask(GET_TABLE, NODE_RECORD, 1 << 4); /* by type */
    q.mad[HEADER + 6] = 2;
    assert_int_equal(count_of(f, &q), 3);
    q.mad[HEADER + 6] = 3;
    assert_int_equal(count_of(f, &q), 0);
    q.mad[3] = GET;
    assert_int_equal(status_of(f, &q), 0x0300);
    q.mad[HEADER + 6] = 1;
    assert_int_equal(status_of(f, &q), 0x0400);
    q = ask(GET, NODE_RECORD, 1 << 14); /* by description */
    strcpy((char *)q.mad + HEADER + 44, "switch c0");
    r = reply_to(f, &q);
    assert_int_equal(get16(record(&r, 0)), 3);
    g_free(r.mad);
}

static void other_records(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET_TABLE, PORTINFO_RECORD, 0);
    struct reply r = reply_to(f, &q);
    assert_int_equal(r.size, 72);
    assert_int_equal(r.count, 4 + 3 + 3 + 3);
    for (unsigned i = 0; i < r.count; i++)
        assert_int_equal(get64(record(&r, i) + 4), 0); /* no M_Key is shown */
    g_free(r.mad);
    q = ask(GET, PORTINFO_RECORD, 3);
    q.mad[HEADER + 1] = 1;
    q.mad[HEADER + 2] = 9;
    r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[2], 9);
    g_free(r.mad);
    q = ask(GET_TABLE, PORTINFO_RECORD, 1 << 7); /* which ports have IsSM? */
    q.mad[20] = 0x80;
    q.mad[HEADER + 4 + 23] = 2;
    assert_int_equal(count_of(f, &q), 1);
    q.mad[20] = 0;
    assert_int_equal(count_of(f, &q), 0);
    q = ask(GET_TABLE, PORTINFO_RECORD, 1 << 23); /* NeighborMTU, half a byte */
    q.mad[HEADER + 4 + 36] = 0x4f;
    assert_int_equal(count_of(f, &q), 2);

    q = ask(GET_TABLE, SWITCHINFO_RECORD, 0);
    assert_int_equal(count_of(f, &q), 3);
    q = ask(GET_TABLE, LINK_RECORD, 0);
    assert_int_equal(count_of(f, &q), 10);
    q = ask(GET, LINK_RECORD, 3);
    q.mad[HEADER + 1] = 1;
    q.mad[HEADER + 2] = 9;
    r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[3], 1);
    assert_int_equal(get16(record(&r, 0) + 4), 3);
    g_free(r.mad);

    struct sa_manager m = {.lid = 10, .sminfo = {[7] = 1, [15] = 7, [20] = 0x83}};
    f->context.managers = &m;
    f->context.manager_count = 1;
    q = ask(GET_TABLE, SMINFO_RECORD, 0);
    r = reply_to(f, &q);
    assert_int_equal(r.count, 1);
    assert_int_equal(get64(record(&r, 0) + 12), 0);
    assert_int_equal(record(&r, 0)[24], 0x83);
    g_free(r.mad);
}

static void put_gid(struct question *q, unsigned offset, uint64_t guid)
{
    put64(q->mad + HEADER + offset, PREFIX);
    put64(q->mad + HEADER + offset + 8, guid);
}
static void put_lid(struct question *q, unsigned offset, unsigned lid)
{
    q->mad[HEADER + offset] = (uint8_t)(lid >> 8);
    q->mad[HEADER + offset + 1] = (uint8_t)lid;
}

static void path_of_a_pair(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET, PATH_RECORD, 1 << 2 | 1 << 3 | 1 << 12);
    put_gid(&q, 8, H3 + 1);
    put_gid(&q, 24, H1 + 1);
    q.mad[HEADER + 49] = 1;
    struct reply r = reply_to(f, &q);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.size, 64);
    const uint8_t *p = record(&r, 0);
    assert_int_equal(get64(p + 8), PREFIX);
    assert_int_equal(get64(p + 16), H3 + 1);
    assert_int_equal(get64(p + 32), H1 + 1);
    assert_int_equal(get16(p + 40), 12);
    assert_int_equal(get16(p + 42), 10);
    assert_int_equal(p[49], 0x81);
    assert_int_equal(get16(p + 50), 0xffff);
    assert_int_equal(p[54], 0x85);
    assert_int_equal(p[55], 0x80 | 12); /* one hop is FDR 4x */
    assert_int_equal(p[56], 0x92);
    g_free(r.mad);

    q = ask(GET, PATH_RECORD, 1 << 4 | 1 << 5); /* by LIDs, through one switch */
    put_lid(&q, 40, 11);
    put_lid(&q, 42, 10);
    r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[54], 0x84); /* 2048 at one end */
    assert_int_equal(record(&r, 0)[55], 0x80 | 16);
    g_free(r.mad);
    put_lid(&q, 40, 13); /* the second LID of LMC 1 */
    r = reply_to(f, &q);
    assert_int_equal(get16(record(&r, 0) + 40), 13);
    g_free(r.mad);
    put_lid(&q, 40, 3); /* to a switch */
    r = reply_to(f, &q);
    assert_int_equal(get64(record(&r, 0) + 16), S);
    g_free(r.mad);
    put_lid(&q, 40, 10); /* to itself */
    r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[56], 0x80);
    g_free(r.mad);
    put_lid(&q, 40, 20); /* to one that is gone */
    assert_int_equal(status_of(f, &q), 0x0300);
    put_lid(&q, 40, 77);
    assert_int_equal(status_of(f, &q), 0x0300);

    q = ask(GET, PATH_RECORD, 1 << 2 | 1 << 5 | 1 << 4); /* GID and LID that disagree */
    put_gid(&q, 8, H3 + 1);
    put_lid(&q, 40, 11);
    put_lid(&q, 42, 10);
    assert_int_equal(status_of(f, &q), 0x0300);
    q = ask(GET, PATH_RECORD, 1 << 5);
    put_lid(&q, 42, 10);
    assert_int_equal(status_of(f, &q), 0x0600);
    q = ask(GET, PATH_RECORD, 1 << 2 | 1 << 5); /* a multicast group */
    put64(q.mad + HEADER + 8, UINT64_C(0xff12401bffff0000));
    put_lid(&q, 42, 10);
    assert_int_equal(status_of(f, &q), 0x0300);
}

static void paths_of_many(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET_TABLE, PATH_RECORD, 1 << 5);
    put_lid(&q, 42, 10);
    assert_int_equal(count_of(f, &q), 7); /* 6 ports, one with two LIDs */
    q = ask(GET_TABLE, PATH_RECORD, 1 << 5 | 1 << 12);
    put_lid(&q, 42, 10);
    q.mad[HEADER + 49] = 1;
    assert_int_equal(count_of(f, &q), 6);
    q.mad[HEADER + 49] = 0;
    assert_int_equal(status_of(f, &q), 0x0200);
    q = ask(GET_TABLE, PATH_RECORD, 1 << 2); /* all to one */
    put_gid(&q, 8, H2 + 1);
    assert_int_equal(count_of(f, &q), 7);
    q = ask(GET_TABLE, PATH_RECORD, 0); /* all pairs of a small fabric: 5*5 + 5*2*2 + 2 */
    assert_int_equal(count_of(f, &q), 47);
}

static void selectors(void **state)
{
    struct fixture *f = *state;
    struct question q = ask(GET, PATH_RECORD, 1 << 4 | 1 << 5 | 1 << 16 | 1 << 17);
    put_lid(&q, 40, 12);
    put_lid(&q, 42, 10);
    q.mad[HEADER + 54] = 0x80 | 4; /* exactly 2048 of a path of 4096 */
    struct reply r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[54], 0x84);
    g_free(r.mad);
    q.mad[HEADER + 54] = 5; /* more than 4096 */
    assert_int_equal(status_of(f, &q), 0x0300);
    q.mad[HEADER + 54] = 0x40 | 3; /* less than 1024 */
    r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[54], 0x82);
    g_free(r.mad);
    q = ask(GET, PATH_RECORD, 1 << 4 | 1 << 5 | 1 << 18 | 1 << 19);
    put_lid(&q, 40, 12);
    put_lid(&q, 42, 10);
    q.mad[HEADER + 55] = 0x80 | 16; /* exactly 100 Gb/s of a path of 56 */
    assert_int_equal(status_of(f, &q), 0x0300);
    q.mad[HEADER + 55] = 0x40 | 12; /* less than 56 */
    r = reply_to(f, &q);
    assert_int_equal(record(&r, 0)[55], 0x80 | 20); /* 50 */
    g_free(r.mad);
    q = ask(GET, PATH_RECORD, 1 << 4 | 1 << 5 | 1 << 13);
    put_lid(&q, 40, 12);
    put_lid(&q, 42, 10);
    q.mad[HEADER + 50] = 0x7f;
    q.mad[HEADER + 51] = 0xff;
    assert_int_equal(status_of(f, &q), 0);
    q.mad[HEADER + 51] = 0xf0;
    assert_int_equal(status_of(f, &q), 0x0300);
    assert_int_equal(sa_rate_value(23), 8000);
    assert_int_equal(sa_rate_value(63), 0);
    assert_int_equal(sa_rate_below(2), 0);
}

/* Every byte of a request may be anything. */
static void random_requests(void **state)
{
    struct fixture *f = *state;
    uint32_t seed = g_random_int();
    print_message("seed %u\n", seed);
    GRand *rnd = g_rand_new_with_seed(seed);
    static const unsigned known[] = {1, 0x11, 0x12, 0x14, 0x18, 0x20, 0x35};
    for (unsigned i = 0; i < 20000; i++) {
        struct question q = ask(i % 2 ? GET : GET_TABLE, known[i % 7], 0);
        for (unsigned b = 20; b < MAD_BYTES; b++)
            if (b < 36 || b >= 44)
                q.mad[b] = (uint8_t)g_rand_int_range(rnd, 0, i % 3 ? 3 : 256);
        put64(q.mad + 48, (uint64_t)1 << g_rand_int_range(rnd, 0, 64) |
                              (uint64_t)1 << g_rand_int_range(rnd, 0, 6));
        struct reply r = reply_to(f, &q);
        g_free(r.mad);
    }
    g_rand_free(rnd);
}

/* 2,048 hosts on 64 leaves under 32 spines: from one to all, and all records. */
static void large(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    enum { LEAVES = 64, SPINES = 32, HOSTS = 32 };
    for (unsigned l = 0; l < LEAVES; l++) {
        struct cable c[HOSTS + SPINES];
        for (unsigned h = 0; h < HOSTS; h++) {
            uint64_t guid = 0x100000 + (l * HOSTS + h) * 16;
            c[h] = (struct cable){h + 1, guid, 1, 5, 4};
            add_host(&f, guid, 1000 + l * HOSTS + h, 0, 0x1000 + l, h + 1, true, 5, 4);
        }
        for (unsigned s = 0; s < SPINES; s++)
            c[HOSTS + s] = (struct cable){HOSTS + 1 + s, 0x2000 + s, l + 1, 5, 4};
        add_switch(&f, 0x1000 + l, HOSTS + SPINES, 1 + l, c, HOSTS + SPINES);
    }
    for (unsigned s = 0; s < SPINES; s++) {
        struct cable c[LEAVES];
        for (unsigned l = 0; l < LEAVES; l++)
            c[l] = (struct cable){l + 1, 0x1000 + l, HOSTS + 1 + s, 5, 4};
        add_switch(&f, 0x2000 + s, LEAVES, 500 + s, c, LEAVES);
    }
    finish(&f);
    struct question q = ask(GET_TABLE, PATH_RECORD, 1 << 5);
    put_lid(&q, 42, 1000);
    gint64 t = 0, best = G_MAXINT64;
    for (unsigned i = 0; i < 10; i++) {
        t = g_get_monotonic_time();
        assert_int_equal(count_of(&f, &q), LEAVES * HOSTS + LEAVES + SPINES);
        best = MIN(best, g_get_monotonic_time() - t);
    }
    print_message("paths from one to all: %d us\n", (int)best);
    q = ask(GET_TABLE, NODE_RECORD, 0);
    t = g_get_monotonic_time();
    assert_int_equal(count_of(&f, &q), LEAVES * HOSTS + LEAVES + SPINES);
    print_message("all nodes: %d us\n", (int)(g_get_monotonic_time() - t));
    q = ask(GET, PATH_RECORD, 1 << 4 | 1 << 5);
    put_lid(&q, 42, 1000);
    put_lid(&q, 40, 3000);
    t = g_get_monotonic_time();
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(status_of(&f, &q), 0);
    print_message("1000 single paths: %d us\n", (int)(g_get_monotonic_time() - t));
    q = ask(GET_TABLE, PATH_RECORD, 0);
    assert_int_equal(status_of(&f, &q), 0x0600); /* too many pairs: name an end */
    rt_plan_destroy(f.plan);
    view_destroy(f.view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(class_port_info, small, end),
        cmocka_unit_test_setup_teardown(errors_are_answered, small, end),
        cmocka_unit_test_setup_teardown(unsolicited_are_not_answered, small, end),
        cmocka_unit_test_setup_teardown(node_records, small, end),
        cmocka_unit_test_setup_teardown(other_records, small, end),
        cmocka_unit_test_setup_teardown(path_of_a_pair, small, end),
        cmocka_unit_test_setup_teardown(paths_of_many, small, end),
        cmocka_unit_test_setup_teardown(selectors, small, end),
        cmocka_unit_test_setup_teardown(random_requests, small, end),
        cmocka_unit_test(large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
