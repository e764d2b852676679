/* SPDX-License-Identifier: BSD-2-Clause */
/* How many SMPs a simulator of ibsim's protocol answers, and what one costs it.
 *
 * A client of the local protocol without any library between: it keeps a window of requests in
 * flight, sends and receives in batches, and reads the simulator's processor time from /proc. Paths
 * are random walks of 0 to 5 hops; the requests are equal parts of Get(NodeInfo), Get(PortInfo)
 * and, at switches, Set(LinearForwardingTable). Prints one JSON object. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <endian.h>

#include <glib.h>

#include "sim/umad/wire.h"

enum {
    MAX_HOPS = 5,
    WALKS = 256,
    LFT_BLOCKS = 64,
    BATCH = 64,
    MAX_WINDOW = 4096,
    WALK_ANSWER_MS = 2000,
    LOST_AFTER_MS = 1000,
    ATTR_NODE_INFO = 0x11,
    ATTR_PORT_INFO = 0x15,
    ATTR_LFT = 0x19,
    TYPE_SWITCH = 2,
    SOCKET_BUFFER_BYTES = 4 << 20,
};

struct path {
    uint8_t hops, ports[MAX_HOPS + 1], type, nports;
};

struct bench {
    const char *base, *node;
    int ctl, data, pid;
    uint32_t slot, window;
    uint64_t count;
    GRand *random;
    struct path walks[WALKS];
    unsigned walk_count, switches[WALKS], switch_count;
    uint64_t sent, answered, lost, wrong;
};

static void die(const char *what)
{
    fprintf(stderr, "sim_rate: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* -- attaching -- */

static socklen_t name(const struct bench *b, struct sockaddr_un *un, const char *word, int number)
{
    int n;

    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    n = snprintf(un->sun_path + 1, sizeof un->sun_path - 2, number < 0 ? "%s:%s" : "%s:%s%d",
                 b->base, word, number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n + 1);
}

static int bound_socket(const struct bench *b, const char *word)
{
    struct sockaddr_un un;
    socklen_t length = name(b, &un, word, getpid());
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), bytes = SOCKET_BUFFER_BYTES;

    if (fd < 0 || bind(fd, (struct sockaddr *)&un, length))
        die("cannot open a socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return fd;
}

static void attach(struct bench *b)
{
    struct wire_connect c = {.id = (uint32_t)getpid()};
    struct wire_ctl ctl = {.magic = WIRE_MAGIC, .type = WIRE_CONNECT, .length = sizeof c};
    struct sockaddr_un un;
    socklen_t length;

    b->ctl = bound_socket(b, "ctl");
    b->data = bound_socket(b, "in");
    length = name(b, &un, "ctl", -1);
    if (connect(b->ctl, (struct sockaddr *)&un, length))
        die("no simulator there");
    g_strlcpy(c.node, b->node, sizeof c.node);
    memcpy(ctl.data, &c, sizeof c);
    if (send(b->ctl, &ctl, sizeof ctl, 0) != sizeof ctl ||
        recv(b->ctl, &ctl, sizeof ctl, 0) != sizeof ctl)
        die("cannot attach");
    errno = EPERM;
    if (ctl.type != WIRE_CONNECT)
        die("refused to attach");
    memcpy(&c, ctl.data, sizeof c);
    b->slot = c.id;
    length = name(b, &un, "out", (int)b->slot);
    if (connect(b->data, (struct sockaddr *)&un, length))
        die("cannot connect the data socket");
}

static void detach(struct bench *b)
{
    struct wire_ctl ctl = {.magic = WIRE_MAGIC, .client = b->slot, .type = WIRE_DISCONNECT};

    if (send(b->ctl, &ctl, sizeof ctl, 0) != sizeof ctl ||
        recv(b->ctl, &ctl, sizeof ctl, 0) != sizeof ctl)
        die("cannot detach");
}

/* -- requests -- */

static void make(struct bench *b, struct wire_packet *p, const struct path *path, uint8_t method,
                 uint16_t attribute, uint32_t modifier)
{
    uint8_t *mad = p->mad;

    memset(p, 0, sizeof *p);
    p->dlid = p->slid = htons(WIRE_LID_DIRECTED);
    p->length = htobe64(MAD_BYTES);
    mad[0] = mad[2] = 1;
    mad[1] = MAD_CLASS_SM_DIRECT;
    mad[3] = method;
    mad[SMP_HOP_COUNT] = path->hops;
    mad_set_tid(mad, ++b->sent);
    mad_put16(mad + 16, attribute);
    mad_put32(mad + 20, modifier);
    mad_put16(mad + SMP_DR_SLID, WIRE_LID_DIRECTED);
    mad_put16(mad + SMP_DR_DLID, WIRE_LID_DIRECTED);
    memcpy(mad + SMP_INITIAL_PATH, path->ports, sizeof path->ports);
}

static void make_any(struct bench *b, struct wire_packet *p)
{
    const struct path *path = &b->walks[g_rand_int_range(b->random, 0, (int)b->walk_count)];

    switch (b->switch_count ? b->sent % 3 : b->sent % 2) {
    case 0:
        make(b, p, path, MAD_METHOD_GET, ATTR_NODE_INFO, 0);
        break;
    case 1:
        make(b, p, path, MAD_METHOD_GET, ATTR_PORT_INFO,
             (uint32_t)g_rand_int_range(b->random, 1, path->nports + 1));
        break;
    default:
        path = &b->walks[b->switches[g_rand_int_range(b->random, 0, (int)b->switch_count)]];
        make(b, p, path, MAD_METHOD_SET, ATTR_LFT,
             (uint32_t)g_rand_int_range(b->random, 0, LFT_BLOCKS));
        memset(p->mad + SMP_DATA, g_rand_int_range(b->random, 1, path->nports + 1), 64);
    }
}

/* Whose end is at the path? false: there is none. */
static bool ask(struct bench *b, struct path *path)
{
    struct pollfd fd = {.fd = b->data, .events = POLLIN};
    struct wire_packet p;

    make(b, &p, path, MAD_METHOD_GET, ATTR_NODE_INFO, 0);
    if (send(b->data, &p, sizeof p, 0) != sizeof p)
        die("cannot send");
    if (poll(&fd, 1, WALK_ANSWER_MS) != 1 || recv(b->data, &p, sizeof p, 0) != sizeof p)
        return false;
    if (p.status || mad_method(p.mad) != (MAD_METHOD_GET | MAD_METHOD_RESPONSE))
        return false;
    path->type = p.mad[SMP_DATA + 2];
    path->nports = p.mad[SMP_DATA + 3];
    return path->nports > 0;
}

static void walk(struct bench *b)
{
    for (int i = 0; i < WALKS; i++) {
        struct path path = {0}, next;
        unsigned hops = (unsigned)g_rand_int_range(b->random, 0, MAX_HOPS + 1);
        if (!ask(b, &path)) {
            errno = ENODATA;
            die("the client's own node does not answer");
        }
        while (path.hops < hops && (path.hops == 0 || path.type == TYPE_SWITCH)) {
            next = path;
            next.ports[++next.hops] = (uint8_t)g_rand_int_range(b->random, 1, path.nports + 1);
            if (ask(b, &next))
                path = next;
            else
                hops--; /* a port without a link: a shorter walk */
        }
        if (path.type == TYPE_SWITCH)
            b->switches[b->switch_count++] = b->walk_count;
        b->walks[b->walk_count++] = path;
    }
}

/* -- the run -- */

/* Processor time of the simulator's first thread in ns: both simulators have one. */
static uint64_t cpu_ns(const struct bench *b)
{
    char path[64];
    uint64_t ns = 0;
    FILE *f;

    if (!b->pid)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", b->pid);
    f = fopen(path, "r");
    if (!f || fscanf(f, "%" SCNu64, &ns) != 1)
        die(path);
    fclose(f);
    return ns;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void set_up(struct mmsghdr *messages, struct iovec *vectors, struct wire_packet *packets)
{
    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){&packets[i], sizeof packets[i]};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
    }
}

static void send_batch(struct bench *b, struct mmsghdr *messages, struct wire_packet *packets,
                       unsigned n)
{
    unsigned done = 0;

    for (unsigned i = 0; i < n; i++)
        make_any(b, &packets[i]);
    while (done < n) {
        int sent = sendmmsg(b->data, messages + done, n - done, 0);
        if (sent < 0 && errno != EINTR)
            die("cannot send");
        done += sent > 0 ? (unsigned)sent : 0;
    }
}

static void receive_batch(struct bench *b, struct mmsghdr *messages, struct wire_packet *packets)
{
    struct pollfd fd = {.fd = b->data, .events = POLLIN};
    int n;

    if (poll(&fd, 1, LOST_AFTER_MS) == 0) {
        b->lost = b->sent - b->answered;
        return;
    }
    n = recvmmsg(b->data, messages, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++) {
        b->answered++;
        b->wrong += packets[i].status != 0 || !mad_is_response(packets[i].mad) ||
                    (mad_status(packets[i].mad) & 0x7fff) != 0;
    }
}

static void run(struct bench *b)
{
    static struct wire_packet out[BATCH], in[BATCH];
    struct mmsghdr out_messages[BATCH], in_messages[BATCH];
    struct iovec out_vectors[BATCH], in_vectors[BATCH];
    uint64_t cpu, in_flight;
    double begin;

    set_up(out_messages, out_vectors, out);
    set_up(in_messages, in_vectors, in);
    b->sent = 0;
    cpu = cpu_ns(b);
    begin = now_s();
    while (b->answered + b->lost < b->count) {
        in_flight = b->sent - b->answered - b->lost;
        /* In halves of the window, so that neither side sends one by one. */
        if (b->sent < b->count && in_flight <= b->window / 2)
            send_batch(b, out_messages, out,
                       (unsigned)MIN(MIN(BATCH, b->window - in_flight), b->count - b->sent));
        else
            receive_batch(b, in_messages, in);
    }
    begin = now_s() - begin;
    cpu = cpu_ns(b) - cpu;
    printf(
        "{\"smps\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"wrong\": %" PRIu64
        ", \"seconds\": %.3f, \"smps_per_s\": %.0f, \"cpu_s\": %.4f, \"cpu_us_per_smp\": %.3f}\n",
        b->answered, b->lost, b->wrong, begin, (double)b->answered / begin, (double)cpu / 1e9,
        b->answered ? (double)cpu / 1e3 / (double)b->answered : 0);
}

static int usage(FILE *out, int status)
{
    fputs("Usage: sim_rate [--name BASE] [--node NODE] [--pid SIMULATOR] [--count N] [--window N] "
          "[--seed N]\n",
          out);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"name", required_argument, NULL, 'n'},   {"node", required_argument, NULL, 'o'},
        {"pid", required_argument, NULL, 'p'},    {"count", required_argument, NULL, 'c'},
        {"window", required_argument, NULL, 'w'}, {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},         {0}};
    const char *base = getenv("IBSIM_SOCKNAME");
    struct bench b = {.base = base ? base : "sim", .node = "", .window = 64, .count = 200000};
    uint32_t seed = 1;

    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'n':
            b.base = optarg;
            break;
        case 'o':
            b.node = optarg;
            break;
        case 'p':
            b.pid = atoi(optarg);
            break;
        case 'c':
            b.count = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            b.window = (uint32_t)CLAMP(atoi(optarg), 1, MAX_WINDOW);
            break;
        case 's':
            seed = (uint32_t)atoi(optarg);
            break;
        case 'h':
            return usage(stdout, EXIT_SUCCESS);
        default:
            return usage(stderr, 2);
        }
    }
    if (optind < argc)
        return usage(stderr, 2);
    b.random = g_rand_new_with_seed(seed);
    attach(&b);
    walk(&b);
    run(&b);
    detach(&b);
    g_rand_free(b.random);
    return EXIT_SUCCESS;
}
