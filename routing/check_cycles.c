/* SPDX-License-Identifier: BSD-2-Clause */
/* Cycles of the channel dependency graph: strongly connected components (Tarjan 1972) without
 * recursion, and a shortest witness cycle in each. */
#include "routing/check_cycles.h"

#include <glib.h>
#include <inttypes.h>

struct search {
    const struct rt_dependencies *d;
    uint32_t *link_at;       /* link by (switch, port): 256 a switch */
    uint32_t *visited, *low; /* order of the visit from 1, 0 = not yet */
    uint32_t *component;     /* RT_NONE = not known yet */
    uint32_t *stack, stack_size;
    struct frame {
        uint32_t channel, next_place;
    } * frames;
    uint32_t frame_count, time, components;
};

void rt_dependencies_init(struct rt_dependencies *d, const struct rt_graph *g, unsigned lanes,
                          bool lanes_change)
{
    size_t sets = (size_t)g->link_count * lanes * (lanes_change ? lanes : 1);
    *d = (struct rt_dependencies){.g = g, .lanes = lanes, .lanes_change = lanes_change};
    d->waits = g_malloc0_n(sets + 1, sizeof *d->waits);
}

void rt_dependencies_clear(struct rt_dependencies *d)
{
    g_free(d->waits);
}

static uint32_t channel_count(const struct rt_dependencies *d)
{
    return d->g->link_count * d->lanes;
}

/* The next channel, from *place on (lane * 256 + port), that this one waits for; RT_NONE = no
 * more. */
static uint32_t next_wait(const struct search *s, uint32_t channel, uint32_t *place)
{
    const struct rt_dependencies *d = s->d;
    unsigned lane = channel % d->lanes, sets = d->lanes_change ? d->lanes : 1;
    const uint32_t *at = s->link_at + d->g->links[channel / d->lanes].peer * 256u;
    while (*place < sets * 256u) {
        unsigned next_lane = d->lanes_change ? *place / 256 : lane, port = *place % 256;
        uint64_t word = rt_dependencies_waits(d, channel, next_lane)[port / 64] >> (port % 64);
        if (word == 0) {
            *place = (*place / 64 + 1) * 64;
            continue;
        }
        port += __builtin_ctzll(word);
        *place = (*place & ~255u) + port + 1;
        return at[port] * d->lanes + next_lane;
    }
    return RT_NONE;
}

static void enter(struct search *s, uint32_t channel)
{
    s->visited[channel] = s->low[channel] = ++s->time;
    s->stack[s->stack_size++] = channel;
    s->frames[s->frame_count++] = (struct frame){.channel = channel};
}

static void leave(struct search *s, uint32_t channel)
{
    s->frame_count--;
    if (s->frame_count > 0) {
        uint32_t parent = s->frames[s->frame_count - 1].channel;
        s->low[parent] = MIN(s->low[parent], s->low[channel]);
    }
    if (s->low[channel] != s->visited[channel])
        return;
    uint32_t top;
    do {
        top = s->stack[--s->stack_size];
        s->component[top] = s->components;
    } while (top != channel);
    s->components++;
}

static void find_components(struct search *s)
{
    for (uint32_t root = 0; root < channel_count(s->d); root++) {
        if (s->visited[root])
            continue;
        enter(s, root);
        while (s->frame_count > 0) {
            struct frame *f = &s->frames[s->frame_count - 1];
            uint32_t channel = f->channel, next = next_wait(s, channel, &f->next_place);
            if (next == RT_NONE)
                leave(s, channel);
            else if (!s->visited[next])
                enter(s, next);
            else if (s->component[next] == RT_NONE)
                s->low[channel] = MIN(s->low[channel], s->visited[next]);
        }
    }
}

static void print_channel(const struct rt_dependencies *d, uint32_t channel, FILE *out)
{
    const struct rt_graph *g = d->g;
    const struct rt_link *l = &g->links[channel / d->lanes];
    uint32_t from = RT_NONE; /* the owner is told by the link that leads back */
    const struct rt_switch *peer = &g->switches[l->peer];
    for (uint32_t i = 0; i < peer->group_count; i++) {
        const struct rt_group *group = &g->groups[peer->first_group + i];
        for (uint32_t k = group->first_link; k < group->first_link + group->link_count; k++)
            if (g->links[k].port == l->peer_port)
                from = group->peer;
    }
    fprintf(out, " 0x%016" PRIx64 "[%u]", from == RT_NONE ? 0 : g->switches[from].guid, l->port);
    if (d->lanes > 1)
        fprintf(out, " VL %u", channel % d->lanes);
}

/* A shortest cycle through `start`, breadth first inside its component. */
static void print_cycle(const struct search *s, uint32_t start, FILE *out)
{
    uint32_t n = channel_count(s->d), head = 0, tail = 0, last = RT_NONE;
    g_autofree uint32_t *before = g_new(uint32_t, n);
    g_autofree uint32_t *queue = g_new(uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        before[i] = RT_NONE;
    queue[tail++] = start;
    while (head < tail && last == RT_NONE) {
        uint32_t at = queue[head++], place = 0, next;
        while (last == RT_NONE && (next = next_wait(s, at, &place)) != RT_NONE) {
            if (next == start) {
                last = at;
            } else if (s->component[next] == s->component[start] && before[next] == RT_NONE) {
                before[next] = at;
                queue[tail++] = next;
            }
        }
    }
    uint32_t length = 0; /* the way was found backwards; the queue is free to turn it round */
    for (uint32_t at = last; at != RT_NONE; at = at == start ? RT_NONE : before[at])
        queue[length++] = at;
    fprintf(out, "credit loop:");
    while (length > 0)
        print_channel(s->d, queue[--length], out);
    fprintf(out, " and again\n");
}

static bool waits_for_itself(const struct search *s, uint32_t channel)
{
    uint32_t place = 0, next;
    while ((next = next_wait(s, channel, &place)) != RT_NONE)
        if (next == channel)
            return true;
    return false;
}

static uint64_t count_channels(const struct search *s, FILE *report, unsigned limit)
{
    uint32_t n = channel_count(s->d);
    g_autofree uint32_t *size = g_new0(uint32_t, s->components + 1);
    uint64_t count = 0;
    unsigned said = 0;
    for (uint32_t i = 0; i < n; i++)
        size[s->component[i]]++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *members = &size[s->component[i]];
        if (*members == 0 || (*members == 1 && !waits_for_itself(s, i)))
            continue;
        count += *members;
        *members = 0;
        if (report && said++ < limit)
            print_cycle(s, i, report);
    }
    return count;
}

uint64_t rt_dependencies_cycles(const struct rt_dependencies *d, FILE *report, unsigned limit)
{
    uint32_t n = channel_count(d) + 1;
    struct search s = {.d = d};
    s.link_at = g_new(uint32_t, d->g->switch_count * 256u + 1);
    s.visited = g_new0(uint32_t, n);
    s.low = g_new0(uint32_t, n);
    s.component = g_new(uint32_t, n);
    s.stack = g_new(uint32_t, n);
    s.frames = g_new(struct frame, n);
    for (uint32_t i = 0; i < n; i++)
        s.component[i] = RT_NONE;
    for (uint32_t sw = 0; sw < d->g->switch_count; sw++)
        for (uint32_t i = 0; i < d->g->switches[sw].group_count; i++) {
            const struct rt_group *group = &d->g->groups[d->g->switches[sw].first_group + i];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                s.link_at[sw * 256u + d->g->links[l].port] = l;
        }
    find_components(&s);
    uint64_t count = count_channels(&s, report, limit);
    void *all[] = {s.link_at, s.visited, s.low, s.component, s.stack, s.frames};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    return count;
}
