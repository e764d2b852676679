/* SPDX-License-Identifier: BSD-2-Clause */
/* Modelled hosts: their events, and the requests that follow from these, each with its time-out. */
#include "sim/hosts/host_private.h"

#include <string.h>

enum {
    JOIN_TIMEOUT_MS = 3000,
    PATH_TIMEOUT_MS = 3000,
    OTHER_TIMEOUT_MS = 1000,
    BACKOFF_FIRST_S = 1,
    BACKOFF_LAST_S = 16,
    TARGET_DRAWS = 8,
    STATUS_BUSY = 0x0001,         /* IBA 13.4.7 */
    STATUS_NO_RESOURCES = 0x0100, /* IBA 15.4.2 */
};

static const int64_t ns_per_ms = 1000000, ns_per_s = 1000000000;

static void fire(struct sim *s, void *arg);

static void disarm(struct sim *s, struct sim_host *h)
{
    sim_timer_cancel(s, h->timer);
    h->timer = NULL;
}

/* The timer may stay earlier than needed: it finds nothing due then. */
static void arm(struct sim *s, struct sim_host *h, int64_t at)
{
    if (h->timer && h->timer_at <= at)
        return;
    disarm(s, h);
    h->timer_at = at;
    h->timer = sim_timer_at(s, at, fire, h);
}

static void arm_for_records(struct sim *s, struct sim_host *h)
{
    int64_t at = SIM_NEVER;

    if (!h->begun) /* what was sent may have caused an event: the timer is that of the start */
        return;
    for (unsigned i = 0; i < h->record_count; i++)
        if (h->records[i].phase != HOST_IDLE)
            at = MIN(at, h->records[i].due);
    disarm(s, h);
    if (at != SIM_NEVER)
        arm(s, h, at);
}

/* -- waves -- */

static void wave_begin(struct sim *s, struct sim_host *h)
{
    struct sim_hosts *all = s->hosts;

    if (h->pending)
        return;
    h->pending = true;
    h->event_at = s->now;
    if (all->registering++ > 0)
        return;
    all->wave_start = all->wave_end = s->now;
    all->wave_first = all->wave_last = -1;
}

static void wave_done(struct sim *s, struct sim_host *h)
{
    struct sim_hosts *all = s->hosts;
    int64_t took = s->now - h->event_at;

    if (!h->pending)
        return;
    h->pending = false;
    all->registering--;
    all->wave_end = s->now;
    if (all->wave_first < 0 || took < all->wave_first)
        all->wave_first = took;
    all->wave_last = MAX(all->wave_last, took);
}

static void wave_leave(struct sim *s, struct sim_host *h)
{
    if (h->pending)
        s->hosts->registering--;
    h->pending = false;
}

/* -- records -- */

/* Processes ask for all but the groups, which the kernel joins. */
static bool is_wanted(const struct sim_host *h, enum host_kind kind)
{
    return kind == HOST_GROUP || !h->killed;
}

static void count_missing(struct sim_host *h)
{
    unsigned place;

    h->missing = 0;
    for (unsigned i = 0; i < h->record_count; i++) {
        enum host_kind kind = host_record_kind(h, i, &place);

        if (kind != HOST_PATH && is_wanted(h, kind) && !h->records[i].confirmed)
            h->missing++;
    }
}

static void clear_record(struct host_record *r)
{
    r->phase = HOST_IDLE;
    r->confirmed = 0;
    r->backoff_s = BACKOFF_FIRST_S;
}

static void clear_records(struct sim_host *h)
{
    for (unsigned i = 0; i < h->record_count; i++)
        clear_record(&h->records[i]);
    count_missing(h);
}

static void ask_at(struct host_record *r, int64_t at)
{
    r->phase = HOST_WAITS;
    r->due = at;
}

/* Lets records begin. IPoIB joins other groups once its interface runs, by the broadcast group. */
static void begin_records(struct sim *s, struct sim_host *h)
{
    bool interface_runs = h->records[0].confirmed;
    unsigned place;

    for (unsigned i = 0; i < h->record_count; i++) {
        struct host_record *r = &h->records[i];
        enum host_kind kind = host_record_kind(h, i, &place);
        bool must_wait = kind == HOST_GROUP && place > 0 && !interface_runs;

        if (r->phase == HOST_IDLE && !r->confirmed && is_wanted(h, kind) && !must_wait)
            ask_at(r, s->now);
    }
    arm(s, h, s->now);
}

static int64_t timeout_ns(const struct sim_host *h, enum host_kind kind)
{
    if (kind == HOST_GROUP)
        return JOIN_TIMEOUT_MS * ns_per_ms;
    if (h->spec->timeout_ms)
        return h->spec->timeout_ms * ns_per_ms;
    return (kind == HOST_PATH ? PATH_TIMEOUT_MS : OTHER_TIMEOUT_MS) * ns_per_ms;
}

static void make_ports(struct sim *s)
{
    g_array_set_size(s->hosts->ports, 0);
    for (uint32_t n = 0; n < s->node_count; n++)
        for (unsigned p = 1; p <= s->nodes[n].nports; p++)
            if (s->nodes[n].ports[p].host) {
                struct host_port port = {n, p};

                g_array_append_val(s->hosts->ports, port);
            }
    s->hosts->ports_changed = false;
}

/* Another host whose port is ACTIVE; false when a few draws found none. */
static bool draw_target(struct sim *s, const struct sim_host *h, struct host_record *r)
{
    struct sim_hosts *all = s->hosts;

    if (all->ports_changed)
        make_ports(s);
    for (unsigned i = 0; i < TARGET_DRAWS; i++) {
        gint32 at = g_rand_int_range(s->random, 0, (gint32)all->ports->len);
        const struct host_port *p = &g_array_index(all->ports, struct host_port, at);

        if ((p->node != h->node || p->port != h->port) &&
            sim_port_state(sim_port(s, p->node, p->port)) == SIM_ACTIVE) {
            r->target = p->node;
            r->value = (uint16_t)p->port;
            return true;
        }
    }
    return false;
}

static void send_request(struct sim *s, struct sim_host *h, unsigned index, enum host_kind kind)
{
    struct sim_packet p = {
        .dlid = h->sm_lid, .dqp = 1, .sqp = 1, .sl = h->sm_sl, .pkey = h->sa_pkey};

    h->records[index].phase = HOST_ASKED;
    h->records[index].due = s->now + timeout_ns(h, kind);
    host_encode(s, h, index, p.mad);
    sim_transit_send(s, h->node, h->port, SIM_KIND_HOST, &p);
}

static void fail(struct sim *s, struct sim_host *h, unsigned index)
{
    struct host_record *r = &h->records[index];
    unsigned place;

    if (r->confirmed && host_record_kind(h, index, &place) != HOST_PATH)
        h->missing++; /* a renewal that went wrong */
    r->confirmed = 0;
    ask_at(r, s->now + r->backoff_s * ns_per_s);
    r->backoff_s = (uint8_t)MIN(r->backoff_s * 2, BACKOFF_LAST_S);
    arm(s, h, r->due);
}

static void ask(struct sim *s, struct sim_host *h, unsigned index, enum host_kind kind)
{
    struct host_record *r = &h->records[index];

    if (kind == HOST_PATH && !draw_target(s, h, r)) {
        fail(s, h, index);
        return;
    }
    r->serial = ++h->serial;
    r->tries_left = (uint8_t)(kind == HOST_GROUP ? 0 : MIN(h->spec->retries, UINT8_MAX));
    s->hosts->counts.requests++;
    send_request(s, h, index, kind);
}

static void run_record(struct sim *s, struct sim_host *h, unsigned index)
{
    struct host_record *r = &h->records[index];
    unsigned place;
    enum host_kind kind = host_record_kind(h, index, &place);

    if (r->phase == HOST_WAITS) {
        ask(s, h, index, kind);
    } else if (r->tries_left > 0) {
        r->tries_left--;
        s->hosts->counts.retries++;
        send_request(s, h, index, kind);
    } else {
        s->hosts->counts.timeouts++;
        fail(s, h, index);
    }
}

static void fire(struct sim *s, void *arg)
{
    struct sim_host *h = arg;

    h->timer = NULL;
    if (!h->begun) {
        h->begun = true;
        h->asked_lid = h->sm_lid;
        begin_records(s, h);
    }
    for (unsigned i = 0; i < h->record_count; i++)
        if (h->records[i].phase != HOST_IDLE && h->records[i].due <= s->now)
            run_record(s, h, i);
    arm_for_records(s, h);
}

static void confirm(struct sim *s, struct sim_host *h, unsigned index)
{
    struct host_record *r = &h->records[index];
    unsigned place;
    enum host_kind kind = host_record_kind(h, index, &place);

    r->phase = HOST_IDLE;
    r->backoff_s = BACKOFF_FIRST_S;
    if (kind == HOST_PATH)
        s->hosts->counts.paths++;
    else if (!r->confirmed)
        h->missing--;
    r->confirmed = 1;
    if (kind == HOST_SERVICE && h->spec->service_lease_s)
        ask_at(r, s->now + h->spec->service_lease_s * ns_per_s / 2);
    if (index == 0)
        begin_records(s, h);
    if (h->missing == 0) {
        wave_done(s, h);
        arm_for_records(s, h);
    }
}

static bool take_answer(struct sim *s, struct sim_host *h, const struct sim_packet *p)
{
    struct host_counts *counts = &s->hosts->counts;
    unsigned index, place;
    uint32_t serial;
    uint16_t status = get16(p->mad + 4);
    const struct host_record *r;

    if (!host_match(h, p->mad, &index, &serial) ||
        !is_wanted(h, host_record_kind(h, index, &place)))
        return false;
    r = &h->records[index];
    if (r->phase != HOST_ASKED || r->serial != serial) {
        counts->late++;
    } else if ((status & STATUS_BUSY) || (status & 0xff00) == STATUS_NO_RESOURCES) {
        counts->busy++;
        fail(s, h, index);
    } else if (status) {
        counts->errors++;
        fail(s, h, index);
    } else if (!host_take_answer(s, h, index, p->mad)) {
        counts->wrong++;
        fail(s, h, index);
    } else {
        confirm(s, h, index);
    }
    return true;
}

bool sim_host_receive(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct sim_host *h = sim_port(s, node, port)->host;
    struct sim_packet answer;

    if (!h)
        return false;
    if (!host_is_report(p->mad))
        return take_answer(s, h, p);
    if (!h->spec->inform || h->killed)
        return false;
    s->hosts->counts.reports++;
    host_answer_report(p, &answer);
    sim_transit_send(s, node, port, SIM_KIND_HOST, &answer);
    return true;
}

/* -- events -- */

static void halt(struct sim *s, struct sim_host *h)
{
    disarm(s, h);
    wave_leave(s, h);
    h->up = h->begun = false;
    clear_records(h);
}

static void restart(struct sim *s, struct sim_host *h)
{
    bool starts_already = h->timer && !h->begun;

    wave_begin(s, h);
    clear_records(h);
    if (starts_already)
        return;
    h->begun = false;
    disarm(s, h);
    arm(s, h,
        s->now + (int64_t)(g_rand_double(s->random) * (double)h->spec->start_spread_ms *
                           (double)ns_per_ms));
}

void sim_host_event(struct sim *s, uint32_t node, unsigned port, enum sim_host_event e)
{
    struct sim_host *h = sim_port(s, node, port)->host;
    bool partition_changed;

    if (!h)
        return;
    if (e == SIM_HOST_PORT_DOWN) {
        halt(s, h);
        return;
    }
    if (sim_port_state(sim_port(s, node, port)) != SIM_ACTIVE)
        return;
    partition_changed = host_learn(s, h);
    if (e == SIM_HOST_PKEY_CHANGE && h->up && !partition_changed)
        return;
    h->up = true;
    restart(s, h);
}

/* -- start and stop -- */

/* The number of records must fit into the transaction id. */
static struct sim_host_spec bounded_spec(const struct sim_host_spec *spec)
{
    struct sim_host_spec b = *spec;
    unsigned left = SIM_HOST_MAX_RECORDS - 1 - (spec->inform ? HOST_TRAPS : 0);

    b.groups = MIN(b.groups, left);
    left -= b.groups;
    b.services = MIN(b.services, left);
    left -= b.services;
    b.paths = MIN(b.paths, left);
    return b;
}

static const struct sim_host_spec *keep_spec(struct sim_hosts *all,
                                             const struct sim_host_spec *spec)
{
    struct sim_host_spec b = bounded_spec(spec);

    for (guint i = 0; i < all->specs->len; i++) {
        const struct sim_host_spec *k = g_ptr_array_index(all->specs, i);

        if (k->groups == b.groups && k->services == b.services && k->paths == b.paths &&
            k->inform == b.inform && k->timeout_ms == b.timeout_ms && k->retries == b.retries &&
            k->start_spread_ms == b.start_spread_ms && k->service_lease_s == b.service_lease_s)
            return k;
    }
    g_ptr_array_add(all->specs, g_memdup2(&b, sizeof b));
    return g_ptr_array_index(all->specs, all->specs->len - 1);
}

static void stop_port(struct sim *s, struct sim_port *p)
{
    if (!p->host)
        return;
    halt(s, p->host);
    sim_host_free(p->host);
    p->host = NULL;
    s->hosts->ports_changed = true;
}

static void start_port(struct sim *s, uint32_t node, unsigned port,
                       const struct sim_host_spec *spec)
{
    unsigned records = 1 + spec->groups + spec->services + spec->paths;
    struct sim_host *h;

    if (spec->inform)
        records += HOST_TRAPS;
    stop_port(s, sim_port(s, node, port));
    h = g_malloc0(sizeof *h + records * sizeof h->records[0]);
    h->spec = spec;
    h->node = node;
    h->port = (uint8_t)port;
    h->record_count = (uint16_t)records;
    clear_records(h);
    sim_port(s, node, port)->host = h;
    s->hosts->ports_changed = true;
    if (s->nodes[node].powered)
        sim_host_event(s, node, port, SIM_HOST_PORT_UP);
}

/* Calls fn for each port of one CA, or of all. */
static void each_port(struct sim *s, uint32_t node,
                      void (*fn)(struct sim *s, uint32_t node, unsigned port, const void *arg),
                      const void *arg)
{
    uint32_t first = node == SIM_NONE ? 0 : node;
    uint32_t end = node == SIM_NONE ? s->node_count : node + 1;

    for (uint32_t n = first; n < end && n < s->node_count; n++)
        for (unsigned p = 1; s->nodes[n].type == FABRIC_CA && p <= s->nodes[n].nports; p++)
            fn(s, n, p, arg);
}

struct start {
    const struct sim_host_spec *spec;
    bool all;
};

static void start_one(struct sim *s, uint32_t node, unsigned port, const void *arg)
{
    const struct start *start = arg;

    if (!start->all || !sim_port(s, node, port)->has_sm)
        start_port(s, node, port, start->spec);
}

void sim_hosts_start(struct sim *s, uint32_t node, const struct sim_host_spec *spec)
{
    struct start start = {keep_spec(s->hosts, spec), node == SIM_NONE};

    each_port(s, node, start_one, &start);
}

static void stop_one(struct sim *s, uint32_t node, unsigned port, const void *arg)
{
    (void)arg;
    stop_port(s, sim_port(s, node, port));
}

void sim_hosts_stop(struct sim *s, uint32_t node)
{
    each_port(s, node, stop_one, NULL);
}

static void end_process(struct sim *s, struct sim_host *h)
{
    unsigned place;

    h->killed = true;
    for (unsigned i = 0; i < h->record_count; i++)
        if (host_record_kind(h, i, &place) != HOST_GROUP)
            clear_record(&h->records[i]);
    count_missing(h);
    if (host_complete(h))
        wave_done(s, h);
}

static void begin_process(struct sim *s, struct sim_host *h)
{
    h->killed = false;
    count_missing(h);
    if (!h->up)
        return;
    if (h->missing)
        wave_begin(s, h);
    if (h->begun)
        begin_records(s, h);
}

static void process_one(struct sim *s, uint32_t node, unsigned port, const void *arg)
{
    const bool *runs = arg;
    struct sim_host *h = sim_port(s, node, port)->host;

    if (!h || h->killed == !*runs)
        return;
    if (*runs)
        begin_process(s, h);
    else
        end_process(s, h);
}

void sim_host_process(struct sim *s, uint32_t node, bool runs)
{
    each_port(s, node, process_one, &runs);
}

static void forget_one(struct sim *s, uint32_t node, unsigned port, const void *arg)
{
    struct sim_host *h = sim_port(s, node, port)->host;

    (void)arg;
    if (!h)
        return;
    halt(s, h);
    h->killed = false;
    h->sm_lid = h->pkey = h->sa_pkey = 0;
    h->sm_sl = 0;
    h->qos = (struct host_qos){0};
    count_missing(h);
}

void sim_hosts_forget(struct sim *s, uint32_t node)
{
    each_port(s, node, forget_one, NULL);
}

struct sim_hosts *sim_hosts_create(void)
{
    struct sim_hosts *all = g_new0(struct sim_hosts, 1);

    all->specs = g_ptr_array_new_with_free_func(g_free);
    all->ports = g_array_new(FALSE, FALSE, sizeof(struct host_port));
    all->wave_first = all->wave_last = -1;
    return all;
}

void sim_hosts_destroy(struct sim_hosts *all)
{
    if (!all)
        return;
    g_ptr_array_free(all->specs, TRUE);
    g_array_free(all->ports, TRUE);
    g_free(all);
}

void sim_host_free(struct sim_host *h)
{
    g_free(h);
}
