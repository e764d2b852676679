/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions between processes: messages in order while one is up, none otherwise. Like ZeroMQ over
 * TCP: a killed process resets its sessions at once, a cut or a power-off is noticed late. */
#include "tests/world/world.h"

struct wire { /* a message under way */
    uint8_t *bytes;
    size_t len;
};

static void wire_free(void *p)
{
    g_free(((struct wire *)p)->bytes);
    g_free(p);
}

static struct session *session_of(struct world *w, int a, int b)
{
    return &w->session[MIN(a, b)][MAX(a, b)];
}

static bool wanted(const struct world *w, int a, int b)
{
    if (a == WORLD_COORDINATOR || b == WORLD_COORDINATOR)
        return true;
    return w->process[a].wants[b] || w->process[b].wants[a];
}

static bool possible(const struct world *w, int a, int b)
{
    return wanted(w, a, b) && w->process[a].alive && w->process[b].alive && !w->cut[a][b] &&
           !w->cut[b][a];
}

/* -- telling the processes ------------------------------------------------------------------- */

static void run_link_event(struct world *w, struct task *t)
{
    struct process *p = &w->process[t->process];
    const char *peer = w->process[t->other].name;
    bool up = t->number != 0;
    if (world_deferred(w, t))
        return;
    if (p->coord != NULL) {
        if (!up)
            coord_step(w, &(struct coord_event){.kind = COORD_EV_LINK_DOWN, .peer = peer});
        return;
    }
    struct shard_event e = {.kind = up ? SHARD_EV_LINK_UP : SHARD_EV_LINK_DOWN, .peer = peer};
    if (t->other == WORLD_COORDINATOR) {
        e.channel = SHARD_CONTROL;
        shard_step(w, p, &e);
        return;
    }
    e.channel = SHARD_DELTA;
    shard_step(w, p, &e);
    e.channel = SHARD_BULK;
    if (!w->failed && p->shard != NULL)
        shard_step(w, p, &e);
}

static void tell(struct world *w, int process, int other, bool up, uint64_t delay_ms)
{
    struct task *t = world_task(w, delay_ms, run_link_event);
    t->process = process;
    t->other = other;
    t->life = w->process[process].life;
    t->number = up;
}

static void session_down(struct world *w, int a, int b, uint64_t delay_ms)
{
    struct session *s = session_of(w, a, b);
    if (!s->up)
        return;
    s->up = false;
    s->generation++;
    tell(w, a, b, false, delay_ms);
    tell(w, b, a, false, delay_ms);
}

/* -- coming and going ------------------------------------------------------------------------ */

static void run_settle(struct world *w, struct task *t)
{
    int a = t->process, b = t->other;
    struct session *s = session_of(w, a, b);
    s->changing = false;
    if (possible(w, a, b) == s->up)
        return;
    if (s->up) {
        session_down(w, a, b, 0);
        return;
    }
    s->up = true;
    s->generation++;
    if (a == WORLD_COORDINATOR) {
        tell(w, b, a, true, 0);
        return;
    }
    if (w->process[a].wants[b])
        tell(w, a, b, true, 0);
    if (w->process[b].wants[a])
        tell(w, b, a, true, 0);
}

void net_update(struct world *w)
{
    for (int a = 0; a <= w->shards; a++) {
        for (int b = a + 1; b <= w->shards; b++) {
            struct session *s = session_of(w, a, b);
            if (s->changing || possible(w, a, b) == s->up)
                continue;
            s->changing = true;
            uint32_t delay = s->up ? world_random(w, 300, 1500) : world_random(w, 2, 60);
            struct task *t = world_task(w, delay, run_settle);
            t->process = a;
            t->other = b;
        }
    }
}

/* The peer's connection may be there already; ours comes up by itself. */
void net_connect(struct world *w, int process, int other)
{
    if (session_of(w, process, other)->up)
        tell(w, process, other, true, world_random(w, 1, 20));
}

void net_process_died(struct world *w, int process, bool silently)
{
    for (int i = 0; i <= w->shards; i++)
        if (i != process)
            session_down(w, process, i,
                         silently ? world_random(w, 300, 1500) : world_random(w, 1, 3));
}

void net_cut(struct world *w, int from, int to, bool cut)
{
    w->cut[from][to] = cut;
    net_update(w);
}

/* -- messages -------------------------------------------------------------------------------- */

static void run_message(struct world *w, struct task *t)
{
    struct process *p = &w->process[t->process];
    const struct wire *wire = t->data;
    struct envelope m;
    char error[256];
    /* What waits in a stopped process's buffers is read whatever became of the session. */
    if (t->number == 0 && session_of(w, t->process, t->other)->generation != t->session)
        return;
    t->number = 1;
    if (world_deferred(w, t))
        return;
    int rc = envelope_decode(wire->bytes, wire->len, &m, error, sizeof error);
    if (rc != 0) {
        world_fail(w, "message of %s to %s is refused: %s", w->process[t->other].name, p->name,
                   error);
        return;
    }
    const char *peer = w->process[t->other].name;
    if (p->coord != NULL)
        coord_step(w, &(struct coord_event){.kind = COORD_EV_MESSAGE, .peer = peer, .message = &m});
    else
        shard_step(w, p,
                   &(struct shard_event){.kind = SHARD_EV_MESSAGE,
                                         .channel = (enum shard_channel)t->channel,
                                         .peer = peer,
                                         .message = &m});
    envelope_clear(&m);
}

void net_send(struct world *w, int from, int to, int channel, const struct envelope *m)
{
    struct session *s = session_of(w, from, to);
    struct wire *wire = g_new0(struct wire, 1);
    w->messages++;
    if (envelope_encode(m, &wire->bytes, &wire->len) != 0) {
        world_fail(w, "message type %u of %s is too large", m->type, w->process[from].name);
        g_free(wire);
        return;
    }
    if (!s->up || w->cut[from][to]) {
        wire_free(wire);
        return;
    }
    uint64_t *last = &s->last_ms[from > to][channel];
    uint64_t at = w->now_ms + world_random(w, 0, w->net_delay_ms);
    *last = MAX(*last, at);
    struct task *t = world_task(w, *last - w->now_ms, run_message);
    t->process = to;
    t->other = from;
    t->life = w->process[to].life;
    t->session = s->generation;
    t->channel = channel;
    t->data = wire;
    t->free_data = wire_free;
}
