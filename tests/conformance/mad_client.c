/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle-mad-client: sends the MADs that it reads from its standard input, a line each, and tells
 * of each in the same order what became of it. For tests: it does what it is told, right or wrong.
 *
 *   get|set|trap CLASS TARGET ATTRIBUTE MODIFIER M_KEY [DATA]
 *
 * Numbers may be hexadecimal with 0x. TARGET: a directed route (0,1,5), a LID (7), or a LID and the
 * directed route from there (7+0,3). DATA: the attribute in hexadecimal from its first byte on; the
 * rest is zero. M_KEY is ignored for classes other than subnet management. Answers:
 *
 *   answered STATUS METHOD M_KEY DATA     all hexadecimal, the attribute's bytes in full
 *   silent                                no answer within the time
 *
 * Options: -w N requests under way at once (1), -t MS time-out (200), -r N retries (0). It uses
 * libibumad and libibmad alone. Exit status: 0, 2 when it could not run or a line is wrong. */
#include <getopt.h>
#include <glib.h>
#include <infiniband/mad.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HOPS 63
#define MAX_WINDOW 256
#define DATA_OFFSET 64 /* of SMPs and of MADs of the performance class alike */

struct request {
    unsigned class, method, attribute;
    uint32_t modifier;
    uint64_t m_key;
    uint16_t lid; /* 0 = a directed route from here */
    bool directed;
    uint8_t hops, path[MAX_HOPS + 1];
    uint8_t data[IB_MAD_SIZE];
    char *answer; /* NULL while there is none */
};

static struct {
    int port_id, agents[256]; /* by class, + 1 */
    uint16_t own_lid;
    int timeout_ms, retries, window;
    GPtrArray *requests;
} client = {.timeout_ms = 200, .window = 1};

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "heddle-mad-client: %s%s\n", what, detail);
    exit(2);
}

static bool is_smp(const struct request *r)
{
    return r->class == IB_SMI_CLASS || r->class == IB_SMI_DIRECT_CLASS;
}

static size_t data_size(const struct request *r)
{
    return is_smp(r) ? IB_SMP_DATA_SIZE : IB_MAD_SIZE - DATA_OFFSET;
}

/* -- the requests ------------------------------------------------------------------------- */

static uint64_t number(const char *text, uint64_t limit)
{
    char *end;
    uint64_t n = g_ascii_strtoull(text, &end, 0);
    if (end == text || *end != '\0' || n > limit) {
        die("no such number: ", text);
    }
    return n;
}

static void read_route(struct request *r, const char *text)
{
    g_auto(GStrv) hops = g_strsplit(text, ",", -1);
    unsigned count = g_strv_length(hops);
    if (count == 0 || count > MAX_HOPS + 1) {
        die("no directed route: ", text);
    }
    for (unsigned i = 0; i < count; i++) {
        r->path[i] = number(hops[i], UINT8_MAX);
    }
    r->hops = count - 1;
    r->directed = true;
}

static void read_target(struct request *r, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "+", 2);
    if (parts[0] == NULL) {
        die("no target", "");
    }
    if (strchr(parts[0], ',') != NULL || g_str_equal(parts[0], "0")) {
        read_route(r, parts[0]);
        return;
    }
    r->lid = number(parts[0], UINT16_MAX);
    if (parts[1] != NULL) {
        read_route(r, parts[1]);
    }
}

static void read_data(struct request *r, const char *hex)
{
    size_t length = strlen(hex) / 2;
    if (length > data_size(r)) {
        die("too much data: ", hex);
    }
    for (size_t i = 0; i < length; i++) {
        int high = g_ascii_xdigit_value(hex[2 * i]), low = g_ascii_xdigit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            die("no hexadecimal data: ", hex);
        }
        r->data[i] = high << 4 | low;
    }
}

static unsigned method_of(const char *name)
{
    return g_str_equal(name, "get")    ? IB_MAD_METHOD_GET
           : g_str_equal(name, "set")  ? IB_MAD_METHOD_SET
           : g_str_equal(name, "trap") ? IB_MAD_METHOD_TRAP
                                       : (die("no such method: ", name), 0);
}

static void read_request(const char *line)
{
    g_auto(GStrv) words = g_strsplit_set(line, " ", -1);
    unsigned count = g_strv_length(words);
    struct request *r = g_new0(struct request, 1);
    if (count < 6 || count > 7) {
        die("want METHOD CLASS TARGET ATTRIBUTE MODIFIER M_KEY [DATA], not: ", line);
    }
    r->method = method_of(words[0]);
    r->class = number(words[1], UINT8_MAX);
    read_target(r, words[2]);
    r->attribute = number(words[3], UINT16_MAX);
    r->modifier = number(words[4], UINT32_MAX);
    r->m_key = number(words[5], UINT64_MAX);
    if (count == 7) {
        read_data(r, words[6]);
    }
    g_ptr_array_add(client.requests, r);
}

static void read_requests(void)
{
    char *line = NULL;
    size_t size = 0;
    client.requests = g_ptr_array_new();
    while (getline(&line, &size, stdin) > 0) {
        g_strchomp(line);
        if (line[0] != '\0') {
            read_request(line);
        }
    }
    free(line);
}

/* -- on the wire -------------------------------------------------------------------------- */

static int agent_for(unsigned class)
{
    if (client.agents[class] == 0) {
        unsigned version = class == IB_SA_CLASS ? 2 : 1;
        int agent = umad_register(client.port_id, class, version, 0, NULL);
        if (agent < 0) {
            die("cannot register a management class", "");
        }
        client.agents[class] = agent + 1;
    }
    return client.agents[class] - 1;
}

static void send_request(struct request *r, uint32_t id)
{
    uint8_t data[IB_MAD_SIZE];
    ib_portid_t target = {.lid = r->lid};
    ib_rpc_t rpc = {
        .mgtclass = r->class,
        .method = r->method,
        .attr = {.id = r->attribute, .mod = r->modifier},
        .datasz = data_size(r),
        .dataoffs = DATA_OFFSET,
        .trid = id,
    };
    g_autofree void *umad = umad_alloc(1, umad_size() + IB_MAD_SIZE);
    memcpy(data, r->data, sizeof(data));
    if (r->directed) {
        target.drpath.cnt = r->hops;
        target.drpath.drslid = r->lid != 0 ? client.own_lid : 0xffff;
        target.drpath.drdlid = 0xffff;
        memcpy(target.drpath.p, r->path, sizeof(r->path));
    }
    if (!is_smp(r)) {
        target.qp = 1;
        target.qkey = IB_DEFAULT_QP1_QKEY;
    }
    if (mad_build_pkt(umad, &rpc, &target, NULL, data) < 0) {
        die("cannot build a MAD", "");
    }
    if (is_smp(r)) {
        mad_set_field64(umad_get_mad(umad), 0, IB_MAD_MKEY_F, r->m_key);
    }
    if (umad_send(client.port_id, agent_for(r->class), umad, IB_MAD_SIZE, client.timeout_ms,
                  client.retries) < 0) {
        die("cannot send a MAD; does the local port still exist?", "");
    }
}

static void note_answer(void *umad, uint32_t id)
{
    uint8_t *mad = umad_get_mad(umad);
    struct request *r = g_ptr_array_index(client.requests, id - 1);
    GString *text = g_string_new(NULL);
    bool is_directed = mad_get_field(mad, 0, IB_MAD_MGMTCLASS_F) == IB_SMI_DIRECT_CLASS;
    unsigned status = mad_get_field(mad, 0, is_directed ? IB_DRSMP_STATUS_F : IB_MAD_STATUS_F);
    unsigned method =
        mad_get_field(mad, 0, IB_MAD_METHOD_F) | mad_get_field(mad, 0, IB_MAD_RESPONSE_F) << 7;
    g_string_printf(text, "answered %04x %02x %016" PRIx64 " ", status, method,
                    is_smp(r) ? mad_get_field64(mad, 0, IB_MAD_MKEY_F) : 0);
    for (size_t i = 0; i < data_size(r); i++) {
        g_string_append_printf(text, "%02x", mad[DATA_OFFSET + i]);
    }
    r->answer = g_string_free(text, FALSE);
}

/* Waits for one answer or time-out. The transaction id is the number of the request, from 1. */
static void receive(void *umad)
{
    int length = IB_MAD_SIZE;
    if (umad_recv(client.port_id, umad, &length, -1) < 0) {
        die("cannot receive; did the simulator end?", "");
    }
    uint32_t id = (uint32_t)mad_get_field64(umad_get_mad(umad), 0, IB_MAD_TRID_F);
    if (id == 0 || id > client.requests->len) {
        die("an answer to nothing that was asked", "");
    }
    if (umad_status(umad) == 0) {
        note_answer(umad, id);
    }
}

static void run(void)
{
    g_autofree void *umad = umad_alloc(1, umad_size() + IB_MAD_SIZE);
    guint sent = 0;
    for (guint done = 0; done < client.requests->len; done++) {
        for (; sent < client.requests->len && sent < done + client.window; sent++) {
            send_request(g_ptr_array_index(client.requests, sent), sent + 1);
        }
        receive(umad);
    }
    for (guint i = 0; i < client.requests->len; i++) {
        const struct request *r = g_ptr_array_index(client.requests, i);
        puts(r->answer != NULL ? r->answer : "silent");
    }
}

static void open_port(void)
{
    umad_port_t port;
    if (umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0) {
        die("no port", "");
    }
    client.own_lid = port.base_lid;
    umad_release_port(&port);
    client.port_id = umad_open_port(NULL, 0);
    if (client.port_id < 0) {
        die("cannot open the port", "");
    }
}

int main(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "w:t:r:")) != -1;) {
        switch (o) {
        case 'w':
            client.window = number(optarg, MAX_WINDOW);
            break;
        case 't':
            client.timeout_ms = number(optarg, 60000);
            break;
        case 'r':
            client.retries = number(optarg, 10);
            break;
        default:
            die("options: -w WINDOW -t MS -r RETRIES", "");
        }
    }
    if (client.window == 0) {
        die("-w 0: at least 1", "");
    }
    read_requests();
    open_port();
    run();
    umad_close_port(client.port_id);
    return 0;
}
