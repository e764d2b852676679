/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle-portscan: reads a subnet from outside and prints what it finds, one JSON object a line.
 *
 * An independent witness: it walks the fabric by directed routes from the local port, over
 * libibumad and libibmad alone, with many SMPs outstanding, and uses nothing of heddle. Lines:
 *   {"kind":"port","type":"ca|switch|router","node":G,"guid":G,"port":N,"lid":L,"sm_lid":L,
 *    "state":S,"phys":S}                 each end port and each switch's port 0
 *   {"kind":"link","node":G,"port":N,"state":S,"phys":S,"peer":G,"peer_port":N}
 *                                        each external switch port that is not Down (or --all)
 *   {"kind":"lft","node":G,"top":T,"hex":"..."}   with --lft
 *   {"kind":"end","nodes":N,"ports":N,"smps":N,"unanswered":N}
 * Exit status: 0, 1 when a request stayed unanswered, 2 when it could not run. */
#include <errno.h>
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
#define WINDOW 64
#define TIMEOUT_MS 400
#define RETRIES 3
#define LFT_BLOCK 64
#define STATE_DOWN 1
#define PHYS_LINK_UP 5

enum ask { ASK_NODE, ASK_PORT, ASK_SWITCH, ASK_LFT };

struct path {
    uint8_t count;
    uint8_t ports[MAX_HOPS + 1];
};

struct link_end {
    uint8_t state, phys;
    uint64_t peer;
    uint8_t peer_port;
};

struct node {
    uint64_t guid;
    unsigned type, num_ports, top;
    struct path path;
    struct link_end *links; /* of a switch, by port number */
    uint8_t *lft;
};

struct request {
    enum ask ask;
    uint32_t modifier;
    struct path path;
    struct node *node;      /* ASK_PORT, ASK_SWITCH, ASK_LFT: whose; ASK_NODE: where it came from */
    uint8_t port;           /* ASK_PORT: which; ASK_NODE: the port of node that leads there */
    uint64_t end_port_guid; /* ASK_PORT of an end port */
};

static struct {
    int port_id, agent;
    bool lft, all;
    GHashTable *nodes; /* guid -> struct node */
    GPtrArray *order;  /* the same, as found */
    GHashTable *ends;  /* "guid/port" of end ports seen */
    GQueue todo;
    GHashTable *sent; /* transaction -> struct request */
    uint32_t next_tid;
    uint64_t smps, unanswered, ports;
} scan;

static void die(const char *what)
{
    fprintf(stderr, "heddle-portscan: %s\n", what);
    exit(2);
}

static void ask(enum ask what, uint32_t modifier, const struct path *path, struct node *node,
                uint8_t port, uint64_t end_port_guid)
{
    struct request *r = g_new0(struct request, 1);
    *r = (struct request){what, modifier, *path, node, port, end_port_guid};
    g_queue_push_tail(&scan.todo, r);
}

static void send_request(struct request *r)
{
    static const unsigned attributes[] = {IB_ATTR_NODE_INFO, IB_ATTR_PORT_INFO, IB_ATTR_SWITCH_INFO,
                                          IB_ATTR_LINEARFORWTBL};
    uint8_t data[IB_SMP_DATA_SIZE] = {0};
    ib_portid_t target = {.lid = 0};
    ib_rpc_t rpc = {
        .mgtclass = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attr = {.id = attributes[r->ask], .mod = r->modifier},
        .datasz = IB_SMP_DATA_SIZE,
        .dataoffs = IB_SMP_DATA_OFFS,
        .trid = ++scan.next_tid,
    };
    g_autofree void *umad = umad_alloc(1, umad_size() + IB_MAD_SIZE);
    target.drpath.cnt = r->path.count;
    target.drpath.drslid = target.drpath.drdlid = 0xffff;
    memcpy(target.drpath.p, r->path.ports, sizeof(r->path.ports));
    if (mad_build_pkt(umad, &rpc, &target, NULL, data) < 0 ||
        umad_send(scan.port_id, scan.agent, umad, IB_MAD_SIZE, TIMEOUT_MS, RETRIES) < 0) {
        die("cannot send a MAD; does the local port still exist?");
    }
    scan.smps++;
    g_hash_table_insert(scan.sent, GUINT_TO_POINTER(scan.next_tid), r);
}

/* -- answers ------------------------------------------------------------------------------ */

static void print_end_port(const struct request *r, uint8_t *data)
{
    static const char *const types[] = {"?", "ca", "switch", "router"};
    const struct node *n = r->node;
    scan.ports++;
    printf("{\"kind\":\"port\",\"type\":\"%s\",\"node\":\"0x%016" PRIx64
           "\",\"guid\":\"0x%016" PRIx64
           "\",\"port\":%u,\"lid\":%u,\"sm_lid\":%u,\"state\":%u,\"phys\":%u}\n",
           types[n->type & 3], n->guid, r->end_port_guid, r->port,
           mad_get_field(data, 0, IB_PORT_LID_F), mad_get_field(data, 0, IB_PORT_SMLID_F),
           mad_get_field(data, 0, IB_PORT_STATE_F), mad_get_field(data, 0, IB_PORT_PHYS_STATE_F));
}

static void on_port(struct request *r, uint8_t *data)
{
    struct node *n = r->node;
    if (n->type != IB_NODE_SWITCH || r->port == 0) {
        print_end_port(r, data);
        return;
    }
    struct link_end *l = &n->links[r->port];
    l->state = mad_get_field(data, 0, IB_PORT_STATE_F);
    l->phys = mad_get_field(data, 0, IB_PORT_PHYS_STATE_F);
    if (l->state != STATE_DOWN && l->phys == PHYS_LINK_UP && n->path.count < MAX_HOPS) {
        struct path next = n->path;
        next.ports[++next.count] = r->port;
        ask(ASK_NODE, 0, &next, n, r->port, 0);
    }
}

static void on_switch(struct request *r, uint8_t *data)
{
    struct node *n = r->node;
    n->top = mad_get_field(data, 0, IB_SW_LINEAR_FDB_TOP_F);
    if (!scan.lft) {
        return;
    }
    unsigned blocks = n->top / LFT_BLOCK + 1;
    n->lft = g_malloc0(blocks * LFT_BLOCK);
    for (unsigned i = 0; i < blocks; i++) {
        ask(ASK_LFT, i, &n->path, n, 0, 0);
    }
}

static void on_new_switch(struct node *n, uint64_t port_guid)
{
    n->links = g_new0(struct link_end, n->num_ports + 1);
    ask(ASK_PORT, 0, &n->path, n, 0, port_guid);
    ask(ASK_SWITCH, 0, &n->path, n, 0, 0);
    for (unsigned i = 1; i <= n->num_ports; i++) {
        ask(ASK_PORT, i, &n->path, n, (uint8_t)i, 0);
    }
}

static struct node *node_of(uint64_t guid, uint8_t *data, const struct path *path, bool *fresh)
{
    struct node *n = g_hash_table_lookup(scan.nodes, &guid);
    *fresh = n == NULL;
    if (n == NULL) {
        n = g_new0(struct node, 1);
        n->guid = guid;
        n->type = mad_get_field(data, 0, IB_NODE_TYPE_F);
        n->num_ports = mad_get_field(data, 0, IB_NODE_NPORTS_F);
        n->path = *path;
        g_hash_table_insert(scan.nodes, &n->guid, n);
        g_ptr_array_add(scan.order, n);
    }
    return n;
}

static void on_node(struct request *r, uint8_t *data)
{
    uint64_t guid, port_guid;
    bool fresh;
    mad_decode_field(data, IB_NODE_GUID_F, &guid);
    mad_decode_field(data, IB_NODE_PORT_GUID_F, &port_guid);
    uint8_t port = (uint8_t)mad_get_field(data, 0, IB_NODE_LOCAL_PORT_F);
    struct node *n = node_of(guid, data, &r->path, &fresh);
    if (r->node != NULL) {
        r->node->links[r->port].peer = guid;
        r->node->links[r->port].peer_port = port;
    }
    if (n->type == IB_NODE_SWITCH) {
        if (fresh) {
            on_new_switch(n, port_guid);
        }
        return;
    }
    char *key = g_strdup_printf("%016" PRIx64 "/%u", guid, port);
    if (g_hash_table_add(scan.ends, key)) {
        ask(ASK_PORT, port, &r->path, n, port, port_guid);
        if (r->node == NULL) { /* our own port: the fabric begins behind it */
            struct path next = r->path;
            next.ports[++next.count] = port;
            struct request *first = g_new0(struct request, 1);
            *first = (struct request){.ask = ASK_NODE, .path = next};
            g_queue_push_tail(&scan.todo, first);
        }
    }
}

static void on_answer(struct request *r, uint8_t *data)
{
    switch (r->ask) {
    case ASK_NODE:
        on_node(r, data);
        break;
    case ASK_PORT:
        on_port(r, data);
        break;
    case ASK_SWITCH:
        on_switch(r, data);
        break;
    case ASK_LFT:
        memcpy(r->node->lft + r->modifier * LFT_BLOCK, data, LFT_BLOCK);
        break;
    }
}

static void report_unanswered(const struct request *r, int status)
{
    static const char *const names[] = {"NodeInfo", "PortInfo", "SwitchInfo", "LFT"};
    scan.unanswered++;
    fprintf(stderr, "heddle-portscan: Get(%s, %u) of node 0x%016" PRIx64 " port %u %s (%d)\n",
            names[r->ask], r->modifier, r->node != NULL ? r->node->guid : 0, r->port,
            status == ETIMEDOUT ? "was not answered" : "was refused", status);
}

static void receive_one(void *umad)
{
    int length = IB_MAD_SIZE;
    if (umad_recv(scan.port_id, umad, &length, 2 * TIMEOUT_MS * (RETRIES + 1)) < 0) {
        die("no answer and no time-out came: the local port is gone");
    }
    uint8_t *mad = umad_get_mad(umad);
    uint32_t tid = (uint32_t)mad_get_field64(mad, 0, IB_MAD_TRID_F);
    struct request *r = g_hash_table_lookup(scan.sent, GUINT_TO_POINTER(tid));
    if (r == NULL) {
        return; /* a second answer */
    }
    g_hash_table_remove(scan.sent, GUINT_TO_POINTER(tid));
    int status = umad_status(umad);
    if (status == 0) {
        status = (int)mad_get_field(mad, 0, IB_DRSMP_STATUS_F);
    }
    if (status == 0) {
        on_answer(r, mad + IB_SMP_DATA_OFFS);
    } else {
        report_unanswered(r, status);
    }
    g_free(r);
}

/* -- the walk ----------------------------------------------------------------------------- */

static void walk(void)
{
    struct path here = {0};
    g_autofree void *umad = umad_alloc(1, umad_size() + IB_MAD_SIZE);
    ask(ASK_NODE, 0, &here, NULL, 0, 0);
    while (!g_queue_is_empty(&scan.todo) || g_hash_table_size(scan.sent) > 0) {
        while (!g_queue_is_empty(&scan.todo) && g_hash_table_size(scan.sent) < WINDOW) {
            send_request(g_queue_pop_head(&scan.todo));
        }
        receive_one(umad);
    }
}

static void print_switch(const struct node *n)
{
    for (unsigned i = 1; i <= n->num_ports; i++) {
        const struct link_end *l = &n->links[i];
        if (l->state == STATE_DOWN && !scan.all) {
            continue;
        }
        printf("{\"kind\":\"link\",\"node\":\"0x%016" PRIx64
               "\",\"port\":%u,\"state\":%u,\"phys\":%u,\"peer\":\"0x%016" PRIx64
               "\",\"peer_port\":%u}\n",
               n->guid, i, l->state, l->phys, l->peer, l->peer_port);
    }
    if (n->lft == NULL) {
        return;
    }
    printf("{\"kind\":\"lft\",\"node\":\"0x%016" PRIx64 "\",\"top\":%u,\"hex\":\"", n->guid,
           n->top);
    for (unsigned i = 0; i <= n->top; i++) {
        printf("%02x", n->lft[i]);
    }
    printf("\"}\n");
}

static void open_port(const char *device, int port)
{
    if (umad_init() < 0) {
        die("libibumad does not start");
    }
    scan.port_id = umad_open_port((char *)device, port);
    if (scan.port_id < 0) {
        die("cannot open the port; is there an InfiniBand device, or a simulator under `heddle lab "
            "run`?");
    }
    scan.agent = umad_register(scan.port_id, IB_SMI_DIRECT_CLASS, 1, 0, NULL);
    if (scan.agent < 0) {
        die("cannot register the directed-route class; run as root");
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"lft", no_argument, NULL, 'l'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"device", required_argument, NULL, 'C'},
                                            {"port", required_argument, NULL, 'P'},
                                            {0}};
    const char *device = NULL;
    int port = 0, c;
    while ((c = getopt_long(argc, argv, "laC:P:", options, NULL)) != -1) {
        switch (c) {
        case 'l':
            scan.lft = true;
            break;
        case 'a':
            scan.all = true;
            break;
        case 'C':
            device = optarg;
            break;
        case 'P':
            port = atoi(optarg);
            break;
        default:
            die("usage: heddle-portscan [--lft] [--all] [--device NAME] [--port N]");
        }
    }
    scan.nodes = g_hash_table_new(g_int64_hash, g_int64_equal);
    scan.order = g_ptr_array_new();
    scan.ends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    scan.sent = g_hash_table_new(NULL, NULL);
    open_port(device, port);
    walk();
    for (guint i = 0; i < scan.order->len; i++) {
        const struct node *n = scan.order->pdata[i];
        if (n->type == IB_NODE_SWITCH) {
            print_switch(n);
        }
    }
    printf("{\"kind\":\"end\",\"nodes\":%u,\"ports\":%" PRIu64 ",\"smps\":%" PRIu64
           ",\"unanswered\":%" PRIu64 "}\n",
           scan.order->len, scan.ports, scan.smps, scan.unanswered);
    umad_unregister(scan.port_id, scan.agent);
    umad_close_port(scan.port_id);
    return scan.unanswered == 0 ? 0 : 1;
}
