/* SPDX-License-Identifier: BSD-2-Clause */
/* The shell: start, loop and end of heddle-shard. */
#include "shard/shell.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "shard/shell_private.h"

#define SLOW_STEP_MS 20u /* no event should take longer */
#define BATCH_TICK_MS 10u
#define STALL_MS 40u /* a heartbeat interval: the core must know */
#define MAX_WAIT_MS 1000u
#define MESSAGES_A_TURN 512u /* then time and MADs get their turn */
#define REFUSED_MS 10000u
#define MANY_SMPS 32u
#define GATHER_US 250u
#define STORE_QUEUE 1024u
#define STORE_CHECK_MS 60000u
#define STORE_KIND "shard view"

enum { FD_SIGNAL, FD_PORT, FD_ROUTES, FD_STORE, FD_VERBS, FD_COUNT };

uint64_t shell_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u + 1u;
}

static uint64_t realtime_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static void step_once(struct shell *s, struct shard_event *event)
{
    event->realtime_ms = realtime_ms();
    s->stepped |= event->more;
    shard_core_step(s->core, event, shell_now_ms(), s->actions);
    for (guint i = 0; i < s->actions->len; i++) {
        struct shard_action *a = &g_array_index(s->actions, struct shard_action, i);
        shell_act(s, a);
        shard_action_clear(a);
    }
    g_array_set_size(s->actions, 0);
}

/* The loop could do nothing else for this long: an event was slow, the process was stopped, or the
 * machine is overloaded. The core must know before anything else. */
static void report_stall(struct shell *s, uint64_t ms, const char *where)
{
    if (ms > SLOW_STEP_MS)
        log_emit(HL_DEBUG, "loop_slow", "ms=%" PRIu64 " where=%s", ms, where);
    if (ms <= STALL_MS)
        return;
    struct shard_event e = {.kind = SHARD_EV_STALLED,
                            .unread = true,
                            .stall_ms = (uint32_t)MIN(ms, (uint64_t)UINT32_MAX)};
    step_once(s, &e);
}

static void tick(struct shell *s, uint64_t now)
{
    s->stepped = false;
    s->last_tick_ms = now;
    struct shard_event e = {.kind = SHARD_EV_TICK, .unread = s->unread};
    step_once(s, &e);
    report_stall(s, shell_now_ms() - now, "tick");
}

void shell_step(struct shell *s, struct shard_event *event)
{
    static const char *const kinds[] = {
        [SHARD_EV_START] = "start",
        [SHARD_EV_TICK] = "tick",
        [SHARD_EV_MAD] = "mad",
        [SHARD_EV_MAD_FAILED] = "mad_failed",
        [SHARD_EV_MESSAGE] = "message",
        [SHARD_EV_LINK_UP] = "link_up",
        [SHARD_EV_LINK_DOWN] = "link_down",
        [SHARD_EV_ROUTED] = "routed",
        [SHARD_EV_STORED] = "stored",
        [SHARD_EV_PORT_DOWN] = "port_down",
        [SHARD_EV_STALLED] = "stalled",
    };
    uint64_t before = shell_now_ms();
    step_once(s, event);
    uint64_t now = shell_now_ms();
    report_stall(s, now - before, kinds[event->kind]);
    /* Heartbeats do not wait for the end of a long batch. */
    if (now >= s->last_tick_ms + BATCH_TICK_MS && now >= shard_core_deadline(s->core))
        tick(s, now);
}

/* -- start -- */

static void warn_set_aside(const char *where)
{
    if (where != NULL)
        log_emit(HL_WARNING, "store_set_aside",
                 "kept_in=%s msg=\"the store was damaged; it is rebuilt from peers and fabric\"",
                 where);
}

static int open_store(struct shell *s, char *error, size_t error_size)
{
    const struct store_config c = {
        .dir = s->config->store_dir, .kind = STORE_KIND, .cluster = s->config->cluster};
    g_autofree char *set_aside = NULL;
    int rc = store_open_or_set_aside(&c, &s->store, &set_aside, error, error_size);
    warn_set_aside(set_aside);
    if (rc != 0)
        return rc;
    s->writer = store_writer_create(s->store, STORE_QUEUE);
    return 0;
}

/* What was damaged after the file was opened is found here. No part of it is believed then. */
static int load_store(struct shell *s, struct shard_core_config *cc, char *error, size_t error_size)
{
    const struct store_config c = {
        .dir = s->config->store_dir, .kind = STORE_KIND, .cluster = s->config->cluster};
    int rc = shell_load_store(s->store, &cc->stored, &cc->stored_incarnation);
    if (rc == EILSEQ) {
        g_autofree char *set_aside = NULL;
        store_writer_destroy(s->writer);
        s->writer = NULL;
        rc = store_set_aside(&c, &s->store, &set_aside, error, error_size);
        warn_set_aside(set_aside);
        if (rc != 0)
            return rc;
        s->writer = store_writer_create(s->store, STORE_QUEUE);
        rc = shell_load_store(s->store, &cc->stored, &cc->stored_incarnation);
    }
    if (rc != 0)
        snprintf(error, error_size, "cannot read the store in %s: %s", c.dir, strerror(rc));
    return rc;
}

static int open_port(struct shell *s, char *error, size_t error_size)
{
    const struct mad_port_config c = {
        .guid = s->config->port_guid, .device = s->config->device, .port = s->config->port};
    int rc = mad_port_open(&c, &s->port, error, error_size);
    if (rc != 0)
        return rc;
    s->verbs = shell_verbs_open(mad_port_device(s->port), mad_port_number(s->port));
    log_emit(HL_INFO, "port_open", "device=%s port=%u guid=0x%016" PRIx64 " async_events=%s",
             mad_port_device(s->port), mad_port_number(s->port), mad_port_guid(s->port),
             s->verbs != NULL ? "yes" : "no");
    return 0;
}

static int open_link(struct shell *s, char *error, size_t error_size)
{
    const struct shard_config *c = s->config;
    const struct link_config lc = {
        .name = c->name, .cluster = c->cluster, .boot_id = s->boot_id, .keys = c->keys};
    s->link = link_create(&lc, error, error_size);
    if (s->link == NULL)
        return EIO;
    for (guint i = 0; i < c->operators->len; i++) {
        const struct config_peer *p = &g_array_index(c->operators, struct config_peer, i);
        link_allow(s->link, p->name, p->public_key);
    }
    int rc = link_bind(s->link, LINK_DELTA, c->delta_endpoint, error, error_size);
    if (rc == 0)
        rc = link_bind(s->link, LINK_BULK, c->bulk_endpoint, error, error_size);
    for (guint i = 0; rc == 0 && i < c->coordinators->len; i++) {
        const struct config_peer *p = &g_array_index(c->coordinators, struct config_peer, i);
        rc = link_connect(s->link, LINK_CONTROL, p->name, p->public_key, p->endpoint, error,
                          error_size);
    }
    return rc;
}

static GPtrArray *names_of(const GArray *peers)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; i < peers->len; i++)
        g_ptr_array_add(names, g_array_index(peers, struct config_peer, i).name);
    return names;
}

static const char *bound(const struct shell *s, enum link_channel channel, const char *configured)
{
    const char *endpoint = link_bound_endpoint(s->link, channel);
    return endpoint != NULL ? endpoint : configured;
}

static int create_core(struct shell *s, char *error, size_t error_size)
{
    const struct shard_config *c = s->config;
    struct shard_core_config cc = {.boot_id = s->boot_id,
                                   .priority = c->priority,
                                   .standby = c->standby,
                                   .public_key = c->keys->public_key,
                                   .secret_key = c->keys->secret};
    g_strlcpy(cc.cluster, c->cluster, sizeof(cc.cluster));
    g_strlcpy(cc.name, c->name, sizeof(cc.name));
    g_strlcpy(cc.delta_endpoint, bound(s, LINK_DELTA, c->delta_endpoint),
              sizeof(cc.delta_endpoint));
    g_strlcpy(cc.bulk_endpoint, bound(s, LINK_BULK, c->bulk_endpoint), sizeof(cc.bulk_endpoint));
    memcpy(cc.sign_public_key,
           g_array_index(c->coordinators, struct config_peer, 0).sign_public_key,
           sizeof(cc.sign_public_key));
    if (getrandom(&cc.tid_seed, sizeof(cc.tid_seed), 0) != sizeof(cc.tid_seed))
        cc.tid_seed = (uint32_t)s->boot_id;
    int rc = load_store(s, &cc, error, error_size);
    if (rc != 0)
        return rc;
    cc.coordinators = names_of(c->coordinators);
    cc.operators = names_of(c->operators);
    s->core = shard_core_create(&cc);
    g_ptr_array_free(cc.coordinators, TRUE);
    g_ptr_array_free(cc.operators, TRUE);
    shell_free_stored(cc.stored);
    return 0;
}

static int open_signals(struct shell *s, char *error, size_t error_size)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    int rc = pthread_sigmask(SIG_BLOCK, &set, NULL);
    s->signal_fd = rc == 0 ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
    if (s->signal_fd >= 0)
        return 0;
    rc = rc != 0 ? rc : errno;
    snprintf(error, error_size, "cannot receive signals: %s", strerror(rc));
    return rc;
}

static int open_all(struct shell *s, char *error, size_t error_size)
{
    int rc = open_signals(s, error, error_size);
    if (rc == 0)
        rc = open_store(s, error, error_size);
    if (rc == 0)
        rc = open_port(s, error, error_size);
    if (rc == 0)
        rc = open_link(s, error, error_size);
    if (rc == 0 && (s->routes = shell_routes_create()) == NULL) {
        rc = errno;
        snprintf(error, error_size, "cannot start routing threads: %s", strerror(rc));
    }
    return rc == 0 ? create_core(s, error, error_size) : rc;
}

int shell_create(const struct shard_config *config, struct shell **shell, char *error,
                 size_t error_size)
{
    struct shell *s = g_new0(struct shell, 1);
    s->config = config;
    s->signal_fd = -1;
    s->actions = g_array_new(FALSE, FALSE, sizeof(struct shard_action));
    s->failed_stores = g_array_new(FALSE, FALSE, sizeof(struct pending_stored));
    s->peers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->refused = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    while (s->boot_id == 0)
        if (getrandom(&s->boot_id, sizeof(s->boot_id), 0) != sizeof(s->boot_id))
            s->boot_id = 0;
    uint64_t watchdog_us = 0;
    if (sd_watchdog_enabled(0, &watchdog_us) > 0)
        s->watchdog_ms = MAX(watchdog_us / 2000u, 1u);
    int rc = open_all(s, error, error_size);
    if (rc != 0) {
        shell_destroy(s);
        return rc;
    }
    *shell = s;
    return 0;
}

void shell_destroy(struct shell *s)
{
    if (s == NULL)
        return;
    shell_routes_destroy(s->routes);
    shell_verbs_close(s->verbs);
    mad_port_close(s->port); /* IsSM goes first: others see at once that this manager is gone */
    shard_core_destroy(s->core);
    store_writer_destroy(s->writer);
    store_close(s->store);
    link_destroy(s->link);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
    g_hash_table_destroy(s->peers);
    g_hash_table_destroy(s->refused);
    g_array_free(s->actions, TRUE);
    g_array_free(s->failed_stores, TRUE);
    g_free(s);
}

/* -- events -- */

static void on_mad(void *user, const struct mad_received *m)
{
    struct shard_event e = {.kind = m->failed ? SHARD_EV_MAD_FAILED : SHARD_EV_MAD,
                            .mad = m->mad,
                            .mad_len = m->len,
                            .address = m->from,
                            .more = true};
    shell_step(user, &e);
}

static void port_down(struct shell *s, const char *why)
{
    log_emit(HL_ERROR, "port_down", "device=%s port=%u why=\"%s\"", mad_port_device(s->port),
             mad_port_number(s->port), why);
    struct shard_event e = {.kind = SHARD_EV_PORT_DOWN};
    shell_step(s, &e);
}

static void take_mads(struct shell *s)
{
    s->unread = true;
    s->unread = mad_port_receive(s->port, on_mad, s) >= MAD_PORT_BATCH;
    if (!s->port_lost && mad_port_lost(s->port)) {
        s->port_lost = true;
        port_down(s, "the device or the simulator went away");
    }
}

static void on_message(struct shell *s, const struct link_event *le)
{
    struct envelope m = {0};
    char error[256] = "", quoted[512];
    int rc = envelope_decode(le->bytes, le->len, &m, error, sizeof(error));
    bool usable = rc == 0;
    if (rc == 0 && strcmp(m.sender, le->peer) != 0) {
        snprintf(error, sizeof(error), "the sender that it names is not who sent it");
        usable = false;
    } else if (rc == 0 && strcmp(m.cluster, s->config->cluster) != 0) {
        snprintf(error, sizeof(error), "it is of another cluster");
        usable = false;
    }
    if (!usable) {
        log_emit(rc == EPROTONOSUPPORT ? HL_DEBUG : HL_WARNING, "message_refused",
                 "peer=%s type=%u reason=%s", le->peer, m.type,
                 log_quote(quoted, sizeof(quoted), error));
    } else {
        struct shard_event e = {.kind = SHARD_EV_MESSAGE,
                                .channel = (enum shard_channel)le->channel,
                                .peer = le->peer,
                                .message = &m,
                                .more = true};
        shell_step(s, &e);
    }
    envelope_clear(&m);
}

/* A peer that has just started does not know yet whom to let in: that is no fault for a while. */
static bool refused_for_long(struct shell *s, const char *peer)
{
    uint64_t now = shell_now_ms();
    uint64_t *since = g_hash_table_lookup(s->refused, peer);
    if (since == NULL)
        g_hash_table_insert(s->refused, g_strdup(peer), since = g_memdup2(&now, sizeof now));
    return now >= *since + REFUSED_MS;
}

static bool take_messages(struct shell *s)
{
    struct link_event le;
    for (unsigned i = 0; i < MESSAGES_A_TURN; i++) {
        if (link_receive(s->link, &le) != 0)
            return false;
        struct shard_event e = {
            .channel = (enum shard_channel)le.channel, .peer = le.peer, .more = true};
        switch (le.kind) {
        case LINK_MESSAGE:
            on_message(s, &le);
            continue;
        case LINK_UP:
            g_hash_table_remove(s->refused, le.peer);
            e.kind = SHARD_EV_LINK_UP;
            break;
        case LINK_DOWN:
            e.kind = SHARD_EV_LINK_DOWN;
            break;
        case LINK_REFUSED:
            log_emit(refused_for_long(s, le.peer) ? HL_WARNING : HL_INFO, "link_refused",
                     "peer=%s channel=%d msg=\"it refused our key, or its key is not the one "
                     "configured\"",
                     le.peer, (int)le.channel);
            continue;
        }
        shell_step(s, &e);
    }
    return true; /* there may be more */
}

static void take_routes(struct shell *s)
{
    for (struct route_result *r; (r = shell_routes_done(s->routes)) != NULL;) {
        struct shard_event e = {.kind = SHARD_EV_ROUTED, .routed = r, .more = true};
        shell_step(s, &e);
    }
}

static void take_stored(struct shell *s)
{
    uint64_t ticket;
    int error;
    while (store_writer_done(s->writer, &ticket, &error)) {
        if (error != 0)
            log_emit(HL_ERROR, "store_failed", "dir=%s error=\"%s\"", s->config->store_dir,
                     strerror(error));
        struct shard_event e = {
            .kind = SHARD_EV_STORED, .ticket = ticket, .error = error, .more = true};
        shell_step(s, &e);
    }
}

static void take_unstored(struct shell *s)
{
    for (guint i = 0; i < s->failed_stores->len; i++) { /* may grow while it runs */
        struct pending_stored f = g_array_index(s->failed_stores, struct pending_stored, i);
        struct shard_event e = {.kind = SHARD_EV_STORED, .ticket = f.ticket, .error = f.error};
        shell_step(s, &e);
        if (i >= STORE_QUEUE)
            break;
    }
    g_array_set_size(s->failed_stores, 0);
}

static bool stop_wanted(struct shell *s)
{
    struct signalfd_siginfo info;
    if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
        return false;
    log_emit(HL_INFO, "stopping", "signal=%u", info.ssi_signo);
    return true;
}

/* -- the loop -- */

static void housekeeping(struct shell *s, uint64_t now)
{
    if (s->watchdog_ms != 0 && now >= s->next_watchdog_ms) {
        sd_notify(0, "WATCHDOG=1");
        s->next_watchdog_ms = now + s->watchdog_ms;
    }
    if (now >= s->next_store_check_ms) {
        store_check_readers(s->store);
        s->next_store_check_ms = now + STORE_CHECK_MS;
    }
}

/* How long to wait, at most, from now on. */
static uint64_t wait_ms(const struct shell *s, uint64_t now, bool more)
{
    uint64_t deadline = MIN(shard_core_deadline(s->core), now + MAX_WAIT_MS);
    /* Its time goes in milliseconds: what the last tick left undone is not for this one either. */
    deadline = MAX(deadline, s->last_tick_ms + 1);
    if (s->watchdog_ms != 0)
        deadline = MIN(deadline, s->next_watchdog_ms);
    if (more || s->failed_stores->len > 0 || deadline <= now)
        return 0;
    return deadline - now;
}

static bool turn(struct shell *s, struct pollfd *fds, bool *more)
{
    if (fds[FD_SIGNAL].revents != 0 && stop_wanted(s))
        return false;
    /* Before time-outs are looked at, what has arrived since the poll must have been read. */
    bool due = shell_now_ms() >= shard_core_deadline(s->core);
    if (fds[FD_PORT].revents != 0 || (due && !s->port_lost))
        take_mads(s);
    if (s->port_lost)
        fds[FD_PORT].fd = -1; /* it would stay readable */
    if (fds[FD_VERBS].revents != 0 && shell_verbs_down(s->verbs))
        port_down(s, "asynchronous event");
    *more = take_messages(s);
    if (fds[FD_ROUTES].revents != 0)
        take_routes(s);
    if (fds[FD_STORE].revents != 0)
        take_stored(s);
    take_unstored(s);
    uint64_t now = shell_now_ms();
    if (s->stepped || now >= shard_core_deadline(s->core))
        tick(s, now);
    housekeeping(s, now);
    return true;
}

int shell_run(struct shell *s)
{
    struct pollfd fds[FD_COUNT] = {
        [FD_SIGNAL] = {.fd = s->signal_fd, .events = POLLIN},
        [FD_PORT] = {.fd = mad_port_fd(s->port), .events = POLLIN},
        [FD_ROUTES] = {.fd = shell_routes_fd(s->routes), .events = POLLIN},
        [FD_STORE] = {.fd = store_writer_fd(s->writer), .events = POLLIN},
        [FD_VERBS] = {.fd = s->verbs != NULL ? shell_verbs_fd(s->verbs) : -1, .events = POLLIN},
    };
    struct shard_event start = {.kind = SHARD_EV_START};
    shell_step(s, &start);
    sd_notify(0, "READY=1");

    bool more = false;
    for (;;) {
        uint64_t before = shell_now_ms(), wait = wait_ms(s, before, more);
        int rc = link_wait(s->link, fds, FD_COUNT, (int)wait);
        uint64_t woken = shell_now_ms();
        if (rc != 0 && rc != EINTR) {
            log_emit(HL_ERROR, "loop_failed", "error=\"%s\"", strerror(rc));
            return rc;
        }
        if (woken > before + wait)
            report_stall(s, woken - before - wait, "wait");
        if (!turn(s, fds, &more))
            break;
        /* Answers come by the thousand: a short pause takes many with one wake-up. */
        if (shard_core_outstanding(s->core) >= MANY_SMPS)
            usleep(GATHER_US);
    }
    sd_notify(0, "STOPPING=1");
    return 0;
}
