/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle-sim: a simulated InfiniBand fabric for the clients of ibsim's protocol. */
#include "sim/server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fabric/read.h"
#include "sim/agents/attributes.h"
#include "sim/judge/judge.h"
#include "sim/script/script.h"

#define LOOK_INTERVAL_NS (200 * 1000 * 1000ll)
#define TIMER_SLACK_NS 1000ul
/* The most of the fabric's time that a turn catches up with. Without a bound, a fabric in which
 * more is due than the processor can do makes each turn longer than the one before, and signals,
 * console and clients wait for ever. */
#define SLICE_NS (2 * 1000 * 1000ll)

static void on_note(void *user, const char *line)
{
    char quoted[1024];

    log_emit(HL_NOTICE, "fabric", "text=%s", log_quote(quoted, sizeof quoted, line));
}

static bool asks_for_manager(const struct sim_packet *p)
{
    return mad_is_smp(p->mad) && !mad_is_response(p->mad) &&
           get16(p->mad + SIM_MAD_ATTRIBUTE) == SIM_ATTR_SM_INFO;
}

/* A manager that has ended since the last look must not swallow the question whether it is there.
 * It is detached by the next look: the fabric is busy with this packet. */
static bool manager_is_gone(struct server *s, uint32_t node, unsigned port)
{
    const struct client *holder = clients_holder(&s->clients, node, port);

    if (!holder || data_is_alive(holder))
        return false;
    s->next_look = 0;
    return true;
}

static bool on_deliver(void *user, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct server *s = user;

    if (asks_for_manager(p) && manager_is_gone(s, node, port))
        return false;
    return clients_deliver(&s->clients, node, port, p);
}

static void on_lost(void *user, const struct sim_packet *p)
{
    clients_lost(&((struct server *)user)->clients, p);
}

/* -- start -- */

static struct fabric *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);

    for (size_t i = 0; i < fabric_messages_total(messages); i++)
        fprintf(stderr, "heddle-sim: %s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    if (f && f->node_count == 0) {
        fprintf(stderr, "heddle-sim: %s: there is no node in it\n", spec);
        fabric_destroy(f);
        return NULL;
    }
    return f;
}

/* Says on stderr what the answer to an option's command was, "ok" aside. Returns good. */
static bool show_answer(const char *option, bool good, const GString *answer)
{
    g_auto(GStrv) lines = g_strsplit(answer->str, "\n", -1);

    for (int i = 0; lines[i]; i++) {
        const char *line = lines[i];
        if (!*line || (good && !strcmp(line, "ok")))
            continue;
        if (g_str_has_prefix(line, "error: "))
            line += strlen("error: ");
        fprintf(stderr, "heddle-sim: %s: %s\n", option, line);
    }
    return good;
}

static bool run_command(struct server *s, const char *option, const char *line)
{
    g_autoptr(GString) out = g_string_new(NULL);
    bool good = sim_script_line(s->sim, line, loop_now(), out);

    return show_answer(option, good, out);
}

static bool run_service(struct server *s)
{
    const struct options *o = s->options;
    g_autoptr(GString) line = g_string_new("service all ");

    if (!o->service && o->vl15 < 0)
        return true;
    g_string_append(line, o->service ? o->service : "0us");
    if (o->vl15 >= 0)
        g_string_append_printf(line, " buffer=%lld", (long long)o->vl15);
    return run_command(s, "--service or --vl15", line->str);
}

/* What the options ask of the fabric. Returns -1 to go on, else the exit status. */
static int prepare(struct server *s)
{
    const struct options *o = s->options;
    int failed = o->log ? sim_judge_log(s->sim, o->log) : 0;

    if (failed) {
        fprintf(stderr, "heddle-sim: --log %s: %s\n", o->log, strerror(failed));
        return EXIT_FAILURE;
    }
    if (!run_service(s))
        return OPTIONS_USAGE;
    if (o->hosts) {
        g_autofree char *line = g_strconcat("hosts start ", o->hosts, NULL);
        if (!run_command(s, "--hosts", line))
            return OPTIONS_USAGE;
    }
    if (o->script) {
        g_autoptr(GString) out = g_string_new(NULL);
        bool good = sim_script_start(s->sim, o->script, loop_now(), out);
        if (!show_answer("--script", good, out))
            return EXIT_FAILURE;
    }
    return -1;
}

static int open_signals(struct server *s)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &set, NULL))
        return errno;
    s->signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return s->signals.fd < 0 ? errno : loop_add(&s->loop, &s->signals);
}

static void on_signal(struct watch *w, uint32_t events)
{
    ((struct server *)w->user)->stop = true;
}

static bool open_all(struct server *s)
{
    char error[512] = "";
    int failed = loop_open(&s->loop);

    s->signals = (struct watch){.fd = -1, .events = EPOLLIN, .ready = on_signal, .user = s};
    if (!failed)
        failed = open_signals(s);
    if (failed) {
        snprintf(error, sizeof error, "cannot start: %s", strerror(failed));
    } else {
        failed = ctl_open(s, error, sizeof error);
        if (!failed)
            failed = console_open(s, error, sizeof error);
    }
    if (failed)
        fprintf(stderr, "heddle-sim: %s\n", error);
    return !failed;
}

/* -- running -- */

static void tell_ready(const struct server *s, struct fabric_counts counts)
{
    printf("heddle-sim: ready: %u hosts, %u switches, %u links; clients at @%s:ctl",
           counts.cas + counts.routers, counts.switches, counts.links, s->options->name);
    if (s->options->udp_port)
        printf(" and udp port %u", s->options->udp_port);
    printf("\n");
    fflush(stdout);
}

int64_t server_now(const struct server *s)
{
    int64_t now = loop_now(), due = sim_next(s->sim);

    return now - SLICE_NS > due ? due - 1 : now;
}

static void run(struct server *s)
{
    while (!s->stop) {
        int64_t until = sim_next(s->sim), now;
        if (s->clients.active->len)
            until = MIN(until, s->next_look);
        loop_turn(&s->loop, until);
        now = loop_now();
        if (sim_next(s->sim) <= now)
            sim_run(s->sim, MIN(now, sim_next(s->sim) + SLICE_NS));
        if (s->clients.active->len && now >= s->next_look) {
            s->next_look = now + LOOK_INTERVAL_NS;
            data_look(s);
        }
        data_flush(s);
        console_tidy(s);
    }
}

static int serve(struct server *s, struct fabric *f)
{
    const struct sim_hooks hooks = {
        .user = s, .deliver = on_deliver, .lost = on_lost, .note = on_note};
    const struct sim_config config = {.seed = s->options->seed, .train_ms = s->options->train_ms};
    struct fabric_counts counts = fabric_count(f);
    int status = EXIT_FAILURE;

    for (int kind = 0; kind < ADDRESS_KINDS; kind++)
        s->listeners[kind].watch.fd = -1;
    clients_create(&s->clients, s->options->clients, s->options->queue);
    data_start(s);
    s->sim = sim_create(f, &config, &hooks, loop_now());
    fabric_destroy(f);
    commands_start(s);
    if (open_all(s)) {
        status = prepare(s);
        if (status < 0) {
            tell_ready(s, counts);
            run(s);
            status = EXIT_SUCCESS;
        }
    }
    sim_judge_flush(s->sim);
    ctl_close(s);
    console_close(s);
    if (s->signals.fd >= 0)
        close(s->signals.fd);
    loop_close(&s->loop);
    sim_destroy(s->sim);
    clients_destroy(&s->clients);
    return status;
}

/* Each client takes a descriptor; the usual limit of 1024 is that of programs that use select. */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    struct options options;
    struct server server = {.options = &options, .loop.epoll = -1};
    int status = options_parse(argc, argv, &options);
    struct fabric *f;

    if (status >= 0)
        return status;
    log_open("heddle-sim", options.log_level);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    allow_descriptors();
    f = load(options.fabric);
    return f ? serve(&server, f) : EXIT_FAILURE;
}
