/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle-coordinator: a thin shell round the core. One loop; what the core wants done is done here.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "coordinator/config.h"
#include "coordinator/ledger_backend.h"
#include "proto/link.h"

#define MAX_WAIT_MS 1000u
#define MAX_EVENTS_A_TURN 4096u /* a flood of messages must not keep the timers waiting */
#define COMPLAINT_PACE_MS 1000u /* at most one line a second about bad messages */

enum { EXIT_USAGE = 2 };

struct daemon {
    struct coordinator_settings *settings;
    struct coord_core *core;
    struct ledger_backend *ledger;
    struct link *link;
    GArray *actions;   /* struct coord_action */
    GPtrArray *broken; /* names whose session broke in this turn */
    int signal_fd;
    bool stop;
    uint64_t last_complaint_ms, watchdog_ms, watchdog_due_ms;
};

static uint64_t clock_ms(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC) + 1; /* never 0 */
}

/* -- actions ------------------------------------------------------------------------------- */

static bool may_complain(struct daemon *d)
{
    uint64_t now = now_ms();
    if (now < d->last_complaint_ms + COMPLAINT_PACE_MS)
        return false;
    d->last_complaint_ms = now;
    return true;
}

static void send_message(struct daemon *d, const char *peer, const struct envelope *e)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    int error = envelope_encode(e, &bytes, &len);
    if (error == 0)
        error = link_send(d->link, LINK_CONTROL, peer, bytes, len);
    /* EHOSTUNREACH: it is not connected; what matters is sent again when it is */
    if (error && error != EHOSTUNREACH && may_complain(d))
        log_emit(HL_WARNING, "send_failed", "peer=%s type=%u error=\"%s\"", peer, e->type,
                 g_strerror(error));
    g_free(bytes);
}

static void run_actions(struct daemon *d)
{
    for (guint i = 0; i < d->actions->len; i++) {
        struct coord_action *a = &g_array_index(d->actions, struct coord_action, i);
        if (a->kind == COORD_ACT_SEND)
            send_message(d, a->peer, &a->message);
        else if (a->kind == COORD_ACT_SWAP)
            d->ledger->class->submit(d->ledger, a->assignment, a->lids, a->expected, a->ticket);
        else if (log_wanted((enum log_level)a->level))
            log_emit((enum log_level)a->level, a->event, "%s", a->text);
        coord_action_clear(a);
    }
    g_array_set_size(d->actions, 0);
}

static void step(struct daemon *d, struct coord_event *e)
{
    e->realtime_ms = clock_ms(CLOCK_REALTIME);
    coord_core_step(d->core, e, now_ms(), d->actions);
    run_actions(d);
}

/* -- events -------------------------------------------------------------------------------- */

/* Gives the core what the ledger holds: at the start, and after another writer was there. */
static int load_ledger(struct daemon *d)
{
    struct coord_event e = {.kind = COORD_EV_START};
    Heddle__Assignment *assignment = NULL;
    Heddle__LidBackup *lids = NULL;
    char error[256];
    int result =
        d->ledger->class->read(d->ledger, &assignment, &lids, &e.revision, error, sizeof error);
    if (result) {
        log_emit(HL_ERROR, "ledger_unreadable", "store_dir=%s msg=\"%s\"", d->settings->store_dir,
                 error);
        return result;
    }
    e.assignment = assignment;
    e.lids = lids;
    step(d, &e);
    heddle__assignment__free_unpacked(assignment, NULL);
    heddle__lid_backup__free_unpacked(lids, NULL);
    return 0;
}

static void refuse_version(struct daemon *d, const char *peer)
{
    Heddle__Refused body = HEDDLE__REFUSED__INIT;
    struct envelope e = {.type = HEDDLE__MESSAGE_TYPE__MSG_REFUSED,
                         .body = &body.base,
                         .boot_id = d->settings->core.boot_id};
    char reason[128];
    snprintf(reason, sizeof reason,
             "the coordinator (heddle %s) speaks protocol %u; install the same version",
             HEDDLE_VERSION, PROTO_MAJOR);
    body.reason = reason;
    g_strlcpy(e.cluster, d->settings->core.cluster, sizeof e.cluster);
    g_strlcpy(e.sender, d->settings->core.name, sizeof e.sender);
    e.incarnation = d->settings->core.incarnation;
    send_message(d, peer, &e);
}

static void take_message(struct daemon *d, const struct link_event *event)
{
    struct envelope e;
    char error[256];
    int result = envelope_decode(event->bytes, event->len, &e, error, sizeof error);
    if (result == 0) {
        struct coord_event step_event = {
            .kind = COORD_EV_MESSAGE, .peer = event->peer, .message = &e};
        step(d, &step_event);
        envelope_clear(&e);
        return;
    }
    if (result == EPROTONOSUPPORT)
        return; /* a newer shard says more than we know */
    if (may_complain(d)) {
        char quoted[300];
        log_emit(HL_WARNING, "bad_message", "peer=%s msg=%s", event->peer,
                 log_quote(quoted, sizeof quoted, error));
        if (result == EPROTO)
            refuse_version(d, event->peer);
    }
}

/* Messages first: what a peer said before its connection broke is not news from after it. */
static void drain_link(struct daemon *d)
{
    struct link_event event;
    for (unsigned i = 0; i < MAX_EVENTS_A_TURN && link_receive(d->link, &event) == 0; i++) {
        if (event.kind == LINK_MESSAGE)
            take_message(d, &event);
        else if (event.kind == LINK_DOWN)
            g_ptr_array_add(d->broken, g_strdup(event.peer));
    }
    for (guint i = 0; i < d->broken->len; i++) {
        struct coord_event down = {.kind = COORD_EV_LINK_DOWN,
                                   .peer = g_ptr_array_index(d->broken, i)};
        step(d, &down);
    }
    g_ptr_array_set_size(d->broken, 0);
}

static void drain_ledger(struct daemon *d)
{
    struct coord_event e = {.kind = COORD_EV_SWAPPED};
    while (d->ledger->class->done(d->ledger, &e.ticket, &e.error, &e.revision)) {
        step(d, &e);
        if (e.error == EAGAIN && load_ledger(d))
            d->stop = true;
    }
}

static void drain_signals(struct daemon *d)
{
    struct signalfd_siginfo info;
    while (read(d->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        log_emit(HL_INFO, "stopping", "signal=%u", info.ssi_signo);
        d->stop = true;
    }
}

static void feed_watchdog(struct daemon *d)
{
    if (d->watchdog_ms == 0 || now_ms() < d->watchdog_due_ms)
        return;
    sd_notify(0, "WATCHDOG=1");
    d->watchdog_due_ms = now_ms() + d->watchdog_ms / 3;
}

static int wait_ms(const struct daemon *d)
{
    uint64_t deadline = coord_core_deadline(d->core), now = now_ms();
    uint64_t limit = d->watchdog_ms ? MIN(MAX_WAIT_MS, d->watchdog_ms / 3 + 1) : MAX_WAIT_MS;
    return deadline <= now ? 0 : (int)MIN(deadline - now, limit);
}

static void run_loop(struct daemon *d)
{
    while (!d->stop) {
        struct pollfd extra[] = {
            {.fd = d->signal_fd, .events = POLLIN},
            {.fd = d->ledger->class->fd(d->ledger), .events = POLLIN},
        };
        link_wait(d->link, extra, G_N_ELEMENTS(extra), wait_ms(d));
        drain_signals(d);
        drain_ledger(d);
        drain_link(d);
        if (now_ms() >= coord_core_deadline(d->core)) {
            struct coord_event tick = {.kind = COORD_EV_TICK};
            step(d, &tick);
        }
        feed_watchdog(d);
    }
}

/* -- start --------------------------------------------------------------------------------- */

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static bool open_link(struct daemon *d)
{
    struct coordinator_settings *s = d->settings;
    struct link_config config = {.name = s->core.name,
                                 .cluster = s->core.cluster,
                                 .boot_id = s->core.boot_id,
                                 .keys = s->key};
    char error[256];
    d->link = link_create(&config, error, sizeof error);
    if (d->link == NULL) {
        log_emit(HL_ERROR, "link_failed", "msg=\"%s\"", error);
        return false;
    }
    for (guint i = 0; i < s->core.enrolled->len; i++) {
        const struct coord_enrolled *e = &g_array_index(s->core.enrolled, struct coord_enrolled, i);
        link_allow(d->link, e->name, e->public_key);
    }
    if (link_bind(d->link, LINK_CONTROL, s->control_endpoint, error, sizeof error) == 0)
        return true;
    log_emit(HL_ERROR, "bind_failed",
             "control_endpoint=%s msg=\"%s; choose a free address and "
             "port\"",
             s->control_endpoint, error);
    return false;
}

static bool open_core(struct daemon *d)
{
    struct coordinator_settings *s = d->settings;
    char error[512];
    if (ledger_backend_lmdb(s->store_dir, s->core.cluster, &d->ledger, error, sizeof error)) {
        log_emit(HL_ERROR, "ledger_failed", "store_dir=%s msg=\"%s\"", s->store_dir, error);
        return false;
    }
    s->core.incarnation = d->ledger->class->incarnation(d->ledger);
    memcpy(s->core.sign_secret_key, s->sign_key->secret, sizeof s->core.sign_secret_key);
    memcpy(s->core.sign_public_key, s->sign_key->public_key, sizeof s->core.sign_public_key);
    memcpy(s->core.cluster_secret, s->cluster_secret->secret, sizeof s->core.cluster_secret);
    d->core = coord_core_create(&s->core);
    explicit_bzero(s->core.sign_secret_key, sizeof s->core.sign_secret_key);
    explicit_bzero(s->core.cluster_secret, sizeof s->core.cluster_secret);
    return true;
}

static int serve(struct coordinator_settings *settings)
{
    struct daemon d = {.settings = settings, .signal_fd = open_signals()};
    uint64_t watchdog_us = 0;
    do
        randombytes_buf(&settings->core.boot_id, sizeof settings->core.boot_id);
    while (settings->core.boot_id == 0);
    d.actions = g_array_new(FALSE, TRUE, sizeof(struct coord_action));
    d.broken = g_ptr_array_new_with_free_func(g_free);
    if (sd_watchdog_enabled(0, &watchdog_us) > 0)
        d.watchdog_ms = watchdog_us / 1000;
    /* The port first: a second coordinator on one configuration fails before it sees the store. */
    bool ok = d.signal_fd >= 0 && open_link(&d) && open_core(&d) && load_ledger(&d) == 0;
    if (ok) {
        sd_notifyf(0, "READY=1\nSTATUS=cluster %s", settings->core.cluster);
        log_emit(HL_INFO, "started", "cluster=%s endpoint=%s version=%s", settings->core.cluster,
                 link_bound_endpoint(d.link, LINK_CONTROL), HEDDLE_VERSION);
        run_loop(&d);
        sd_notify(0, "STOPPING=1");
    }
    link_destroy(d.link);
    if (d.ledger)
        d.ledger->class->close(d.ledger);
    coord_core_destroy(d.core);
    g_array_unref(d.actions);
    g_ptr_array_unref(d.broken);
    if (d.signal_fd >= 0)
        close(d.signal_fd);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* -- command line ---------------------------------------------------------------------------- */

static void usage(FILE *to)
{
    fputs("Usage: heddle-coordinator -c FILE [--check] [--log-level LEVEL]\n"
          "  -c, --config FILE     configuration, see packaging/examples/coordinator.conf\n"
          "      --check           report every error of the configuration and start nothing\n"
          "      --log-level L     error, warning, notice, info or debug; overrides the file\n"
          "      --version         print the version\n"
          "  -h, --help            print this text\n",
          to);
}

static int usage_error(const char *message, const char *what)
{
    fprintf(stderr, "heddle-coordinator: %s%s; see heddle-coordinator --help\n", message, what);
    return EXIT_USAGE;
}

static int run(const char *path, bool check, const enum log_level *level)
{
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    struct coordinator_settings *s = coordinator_settings_load(path, errors);
    for (guint i = 0; i < errors->len; i++)
        fprintf(stderr, "heddle-coordinator: %s\n", (const char *)g_ptr_array_index(errors, i));
    if (s == NULL)
        return EXIT_FAILURE;
    int result = EXIT_SUCCESS;
    if (check) {
        printf("%s: no errors\n", path);
    } else {
        log_open(s->core.name, level ? *level : (enum log_level)s->log_level);
        result = serve(s);
    }
    coordinator_settings_free(s);
    return result;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"check", no_argument, NULL, 'k'},
        {"log-level", required_argument, NULL, 'l'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *path = NULL;
    enum log_level level;
    bool check = false, level_given = false;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:c:h", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            path = optarg;
            break;
        case 'k':
            check = true;
            break;
        case 'l':
            if (!log_level_parse(optarg, &level))
                return usage_error("unknown log level ", optarg);
            level_given = true;
            break;
        case 'v':
            puts("heddle-coordinator " HEDDLE_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            usage(stdout);
            return EXIT_SUCCESS;
        case ':':
            return usage_error("a value is missing after ", argv[optind - 1]);
        default:
            return usage_error("unknown option ", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return usage_error("unexpected argument ", argv[optind]);
    if (path == NULL)
        return usage_error("no configuration; give one with -c FILE", "");
    if (sodium_init() < 0)
        return usage_error("libsodium does not work on this machine", "");
    return run(path, check, level_given ? &level : NULL);
}
