/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that concern clients and the process: clients, drop, quit. */
#include "sim/server/server.h"

#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "sim/script/script.h"

static const char *const kind_names[ADDRESS_KINDS] = {"local", "local", "udp"};

static void show_clients(const struct server *s, GString *out)
{
    for (guint i = 0; i < s->clients.active->len; i++) {
        const struct client *c = s->clients.active->pdata[i];
        g_string_append_printf(out,
                               "slot=%u pid=%d by=%s at=%s sm=%s received=%" PRIu64 " sent=%" PRIu64
                               " queued=%u dropped=%" PRIu64 " malformed=%" PRIu64 "\n",
                               c->slot, (int)c->pid, kind_names[c->kind],
                               sim_port_name(s->sim, c->node, c->port), c->issm ? "yes" : "no",
                               c->received, c->sent, c->outbox.used, c->dropped, c->malformed);
    }
    g_string_append_printf(out,
                           "clients=%u slots=%u unclaimed=%" PRIu64 " requests_refused=%" PRIu64
                           " requests_ignored=%" PRIu64 " answers_lost=%" PRIu64 "\n",
                           s->clients.active->len, s->clients.count, s->clients.unclaimed,
                           s->refused, s->ignored, s->unanswered);
}

static bool drop(struct server *s, const char *text, GString *out)
{
    uint64_t slot;

    if (!parse_uint(text, 0, s->clients.count - 1, &slot) || !s->clients.slots[slot].attached) {
        g_string_append(out, "error: drop: no client has that slot; see clients\n");
        return false;
    }
    ctl_detach(s, &s->clients.slots[slot], "by command");
    return true;
}

/* Adds the last line of an answer itself only where it is an error. */
static bool run(void *user, int argc, char **argv, GString *out, bool *ok)
{
    struct server *s = user;
    bool takes_slot = argc > 0 && !strcmp(argv[0], "drop");

    if (argc < 1 || (!takes_slot && strcmp(argv[0], "clients") && strcmp(argv[0], "quit")))
        return false;
    *ok = argc == 1 + takes_slot;
    if (!*ok)
        g_string_append_printf(out, "error: %s: %s\n", argv[0],
                               takes_slot ? "needs a slot; see clients" : "takes no argument");
    else if (takes_slot)
        *ok = drop(s, argv[1], out);
    else if (!strcmp(argv[0], "quit"))
        s->stop = true;
    else
        show_clients(s, out);
    return true;
}

void commands_start(struct server *s)
{
    sim_script_extend(s->sim, run, s);
}
