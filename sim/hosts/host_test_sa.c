/* SPDX-License-Identifier: BSD-2-Clause */
/* A configured fabric and a small subnet administrator, for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "fabric/generate.h"
#include "sim/hosts/host_test_sa.h"

enum { SA_DATA = 56, NO_PORT = 255, FIRST_MLID = 0xc000 };

/* -- the fabric -- */

static void set_port(struct sim_port *p, uint16_t lid, uint16_t sm_lid)
{
    put16(p->info + 16, lid);
    put16(p->info + 18, sm_lid);
    p->info[32] = (p->info[32] & 0xf0) | SIM_ACTIVE;
    p->info[33] = SIM_PHYS_LINKUP << 4 | (p->info[33] & 0x0f);
    p->training = false;
}

static uint16_t set_ports(struct sim *s, uint32_t sa_node)
{
    uint16_t lid = 0, sm_lid = 0;

    for (int pass = 0; pass < 2; pass++) {
        lid = 0;
        for (uint32_t n = 0; n < s->node_count; n++)
            for (unsigned p = 0; p <= s->nodes[n].nports; p++) {
                bool has_lid = s->nodes[n].sw ? p == 0 : p > 0;

                if (has_lid)
                    lid++;
                if (n == sa_node && p == 1)
                    sm_lid = lid;
                if (has_lid || p > 0)
                    set_port(sim_port(s, n, p), has_lid ? lid : 0, sm_lid);
            }
    }
    return lid;
}

static void set_entry(struct sim *s, uint32_t node, uint16_t lid, uint8_t port)
{
    sim_lft_block(s, node, lid / SIM_LFT_BLOCK)[lid % SIM_LFT_BLOCK] = port;
}

/* toward[n] = the port of switch n that leads to switch `root` */
static void find_ways(struct sim *s, uint32_t root, uint8_t *toward)
{
    GQueue queue = G_QUEUE_INIT;

    memset(toward, NO_PORT, s->node_count);
    toward[root] = 0;
    g_queue_push_tail(&queue, GUINT_TO_POINTER(root));
    while (!g_queue_is_empty(&queue)) {
        uint32_t n = GPOINTER_TO_UINT(g_queue_pop_head(&queue));

        for (unsigned p = 1; p <= s->nodes[n].nports; p++) {
            const struct sim_port *port = sim_port(s, n, p);

            if (port->peer_node == SIM_NONE || !s->nodes[port->peer_node].sw ||
                toward[port->peer_node] != NO_PORT)
                continue;
            toward[port->peer_node] = port->peer_port;
            g_queue_push_tail(&queue, GUINT_TO_POINTER(port->peer_node));
        }
    }
}

static void set_routes_to(struct sim *s, uint32_t root)
{
    g_autofree uint8_t *toward = g_malloc(s->node_count);

    find_ways(s, root, toward);
    for (unsigned p = 0; p <= s->nodes[root].nports; p++) {
        const struct sim_port *port = sim_port(s, root, p);
        uint16_t lid;

        if (p > 0 && (port->peer_node == SIM_NONE || s->nodes[port->peer_node].sw))
            continue;
        lid = sim_lid(p == 0 ? port : sim_port(s, port->peer_node, port->peer_port));
        for (uint32_t n = 0; n < s->node_count; n++)
            if (s->nodes[n].sw && toward[n] != NO_PORT)
                set_entry(s, n, lid, n == root ? (uint8_t)p : toward[n]);
    }
}

static uint32_t first_host(const struct sim *s)
{
    uint32_t n = 0;

    while (s->nodes[n].type != FABRIC_CA)
        n++;
    return n;
}

/* -- the administrator -- */

static bool deliver(void *user, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct test_sa *sa = user;
    struct test_request r = {sa->s->now, *p};

    if (node != sa->node || port != 1 || p->mad[1] != 3)
        return false;
    if (p->mad[3] == 0x86)
        sa->report_answers++;
    else
        g_array_append_val(sa->log, r);
    return true;
}

enum test_attribute test_attribute_of(const uint8_t *mad)
{
    switch (get16(mad + 16)) {
    case 0x38:
        return TEST_GROUP;
    case 0x31:
        return TEST_SERVICE;
    case 0x03:
        return TEST_INFORM;
    case 0x35:
        return TEST_PATH;
    default:
        fail_msg("attribute %04x", get16(mad + 16));
        return TEST_ATTRIBUTES;
    }
}

static uint16_t mlid_of(struct test_sa *sa, const uint8_t *mgid)
{
    g_autoptr(GString) key = g_string_new(NULL);
    gpointer mlid;

    for (unsigned i = 0; i < 16; i++)
        g_string_append_printf(key, "%02x", mgid[i]);
    mlid = g_hash_table_lookup(sa->mlids, key->str);
    if (!mlid) {
        mlid = GUINT_TO_POINTER(FIRST_MLID + g_hash_table_size(sa->mlids));
        g_hash_table_insert(sa->mlids, g_strdup(key->str), mlid);
    }
    return (uint16_t)GPOINTER_TO_UINT(mlid);
}

static void answer_group(struct test_sa *sa, uint8_t *d)
{
    put16(d + 36, mlid_of(sa, d));
    put32(d + 32, 0x0b1b);
    d[38] = 0x84; /* MTU exactly 2,048 */
    d[39] = 7;
    d[42] = 0x83;
    put32(d + 44, 0x10000000); /* SL 1 */
}

/* A port by the GUID in its GID: all are asked in one of the model's. */
static uint16_t lid_of(const struct sim *s, const uint8_t *gid)
{
    for (uint32_t n = 0; n < s->node_count; n++)
        for (unsigned p = 1; p <= s->nodes[n].nports; p++)
            if (!s->nodes[n].sw && s->nodes[n].ports[p].guid == get64(gid + 8))
                return sim_lid(&s->nodes[n].ports[p]);
    return 0;
}

static void answer(struct test_sa *sa, const struct sim_packet *request)
{
    struct sim_packet p = *request;
    uint8_t *d = p.mad + SA_DATA;
    enum test_attribute a = test_attribute_of(p.mad);

    sa->of[a]++;
    if (sa->silent || sa->ignore > 0) {
        sa->ignore -= sa->ignore > 0;
        return;
    }
    p.dlid = request->slid;
    p.slid = 0;
    p.pkey = 0;
    p.mad[3] = 0x81;
    put16(p.mad + 4, sa->status);
    if (a == TEST_GROUP)
        answer_group(sa, d);
    if (a == TEST_PATH) {
        put16(d + 40, lid_of(sa->s, d + 8));
        put16(d + 42, lid_of(sa->s, d + 24));
    }
    if (sa->wrong)
        d[a == TEST_PATH ? 41 : a == TEST_INFORM ? 27 : 7] ^= 0x10;
    sim_send(sa->s, sa->node, 1, &p, sa->s->now);
}

static void answer_all(struct test_sa *sa, unsigned limit)
{
    for (unsigned n = 0; sa->answered < sa->log->len && n < limit; n++) {
        struct test_request r = g_array_index(sa->log, struct test_request, sa->answered++);

        answer(sa, &r.packet);
    }
}

void test_sa_run(struct test_sa *sa, int64_t until)
{
    while (sa->s->now < until) {
        int64_t next = MIN(sim_next(sa->s), until);

        if (sa->per_ms && sa->answered < sa->log->len)
            next = MIN(next, sa->answer_at);
        sim_run(sa->s, next);
        if (!sa->per_ms) {
            answer_all(sa, UINT_MAX);
        } else if (sa->s->now >= sa->answer_at) {
            answer_all(sa, sa->per_ms);
            sa->answer_at = sa->s->now + MS;
        }
    }
    while (!sa->per_ms && sim_next(sa->s) <= until) { /* what answers at `until` led to */
        sim_run(sa->s, until);
        answer_all(sa, UINT_MAX);
    }
}

void test_sa_send_report(struct test_sa *sa, uint32_t to_node, uint64_t tid)
{
    struct sim_packet p = {.dlid = sim_lid(sim_port(sa->s, to_node, 1)), .dqp = 1, .sqp = 1};

    p.mad[0] = 1;
    p.mad[1] = 3;
    p.mad[2] = 2;
    p.mad[3] = 6;
    put64(p.mad + 8, tid);
    put16(p.mad + 16, 2);
    sim_send(sa->s, sa->node, 1, &p, sa->s->now);
}

struct test_sa *test_sa_create(const char *generator, uint64_t seed)
{
    struct test_sa *sa = g_new0(struct test_sa, 1);
    struct sim_config config = {.seed = seed};
    struct sim_hooks hooks = {.user = sa, .deliver = deliver};
    char error[200] = "";
    struct fabric *f = fabric_generate(generator, error, sizeof error);
    uint16_t top;

    assert_non_null(f);
    sa->s = sim_create(f, &config, &hooks, SECOND);
    fabric_destroy(f);
    assert_non_null(sa->s);
    sa->log = g_array_new(FALSE, FALSE, sizeof(struct test_request));
    sa->mlids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    sa->node = first_host(sa->s);
    top = set_ports(sa->s, sa->node);
    for (uint32_t n = 0; n < sa->s->node_count; n++)
        if (sa->s->nodes[n].sw) {
            put16(sa->s->nodes[n].sw->info + 6, top); /* SwitchInfo.LinearFDBTop */
            set_routes_to(sa->s, n);
        }
    return sa;
}

void test_sa_destroy(struct test_sa *sa)
{
    sim_destroy(sa->s);
    g_array_free(sa->log, TRUE);
    g_hash_table_destroy(sa->mlids);
    g_free(sa);
}

double test_status(struct sim *s, const char *field)
{
    g_autoptr(GString) line = g_string_new(" ");
    g_autofree char *name = g_strdup_printf(" %s=", field);
    const char *at;

    sim_hosts_status(s, SIM_NONE, line);
    at = strstr(line->str, name);
    assert_non_null(at);
    return g_ascii_strtod(at + strlen(name), NULL);
}
