/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults at random times, each mended after a random time: a Poisson process, from the seed alone.
 */
#include <math.h>

#include "sim/faults/private.h"

#define NS_PER_S 1e9
#define SHORTEST_NS 50000000LL
#define LONGEST_NS 60000000000LL
#define TRIES 32u /* for a target that is whole */

enum kind { LINK, HOST, SWITCH, MUTE, DISTURB, KINDS };

struct breakage {
    enum kind kind;
    uint32_t node;
    unsigned port;
    struct sim_timer *timer;
};

void fault_random_free(struct sim_faults *f)
{
    for (guint i = 0; i < f->broken->len; i++)
        g_free(g_ptr_array_index(f->broken, i));
    g_ptr_array_free(f->broken, TRUE);
}

static int64_t exponential(struct sim *s, double mean_ns, int64_t least, int64_t most)
{
    double ns = -log(1.0 - g_rand_double(s->random)) * mean_ns;
    return ns >= (double)most ? most : MAX((int64_t)ns, least);
}

static enum kind pick_kind(struct sim *s)
{
    static const struct {
        unsigned upto; /* percent */
        enum kind kind;
    } shares[] = {{45, LINK}, {65, HOST}, {70, SWITCH}, {85, MUTE}, {100, DISTURB}};
    unsigned roll = (unsigned)g_rand_int_range(s->random, 0, 100), i = 0;
    while (roll >= shares[i].upto)
        i++;
    return shares[i].kind;
}

static bool is_whole(struct sim *s, enum kind kind, uint32_t node, unsigned port)
{
    const struct sim_node *n = &s->nodes[node];
    const struct sim_port *p = &n->ports[port];
    if (!n->powered)
        return false;
    switch (kind) {
    case LINK:
        return p->peer_node != SIM_NONE && !p->unplugged;
    case HOST:
        return n->type == FABRIC_CA && !fault_has_manager(s, node);
    case SWITCH:
        return n->sw != NULL;
    case MUTE:
        return !sim_end_port(s, node, port)->mute && !fault_has_manager(s, node);
    default:
        return p->peer_node != SIM_NONE && p->disturbance == NULL;
    }
}

/* Links and disturbances are at switches as often as at hosts, whichever are more. */
static bool pick_target(struct sim *s, enum kind kind, uint32_t *node, unsigned *port)
{
    bool want_switch = g_rand_boolean(s->random);
    for (unsigned i = 0; i < TRIES; i++) {
        *node = (uint32_t)g_rand_int_range(s->random, 0, (gint32)s->node_count);
        const struct sim_node *n = &s->nodes[*node];
        *port = (unsigned)g_rand_int_range(s->random, 1, n->nports + 1);
        bool either = kind == HOST || kind == SWITCH || i > TRIES / 2;
        if ((either || want_switch == (n->sw != NULL)) && is_whole(s, kind, *node, *port))
            return true;
    }
    return false;
}

static struct sim_disturbance random_disturbance(struct sim *s)
{
    return (struct sim_disturbance){
        .loss_ppm = (uint32_t)g_rand_int_range(s->random, 1, 50000),
        .duplicate_ppm = (uint32_t)g_rand_int_range(s->random, 0, 10000),
        .reorder_ppm = (uint32_t)g_rand_int_range(s->random, 0, 10000),
        .delay_ns = g_rand_int_range(s->random, 0, 1000000),
        .jitter_ns = g_rand_int_range(s->random, 0, 1000000),
    };
}

static void damage(struct sim *s, const struct breakage *b)
{
    struct sim_disturbance d;
    switch (b->kind) {
    case LINK:
        fault_pull(s, b->node, b->port, FAULT_RANDOM);
        break;
    case HOST:
    case SWITCH:
        fault_power_off(s, b->node, FAULT_RANDOM);
        break;
    case MUTE:
        fault_set_mute(s, b->node, b->port, FAULT_RANDOM);
        break;
    default:
        d = random_disturbance(s);
        fault_hold(s->faults->disturbed, fault_key(b->node, b->port), FAULT_RANDOM);
        fault_disturb_port(s, b->node, b->port, &d);
    }
}

static void repair(struct sim *s, const struct breakage *b)
{
    static const struct sim_disturbance none;
    switch (b->kind) {
    case LINK:
        fault_plug(s, b->node, b->port, FAULT_RANDOM);
        break;
    case HOST:
    case SWITCH:
        fault_power_on(s, b->node, FAULT_RANDOM);
        break;
    case MUTE:
        fault_end_mute(s, b->node, b->port, FAULT_RANDOM);
        break;
    default:
        if (fault_release(s->faults->disturbed, fault_key(b->node, b->port), FAULT_RANDOM))
            fault_disturb_port(s, b->node, b->port, &none);
    }
}

static void mend(struct sim *s, void *arg)
{
    struct breakage *b = arg;
    g_ptr_array_remove(s->faults->broken, b);
    repair(s, b);
    g_free(b);
}

static void break_one(struct sim *s)
{
    struct sim_faults *f = s->faults;
    struct breakage b = {.kind = pick_kind(s)};
    if (f->broken->len > s->node_count / 4 || !pick_target(s, b.kind, &b.node, &b.port))
        return;
    struct breakage *kept = g_memdup2(&b, sizeof(b));
    g_ptr_array_add(f->broken, kept);
    f->broken_total++;
    kept->timer = sim_timer_at(
        s, s->now + exponential(s, SIM_RANDOM_MEAN_NS, SHORTEST_NS, LONGEST_NS), mend, kept);
    damage(s, kept);
}

static void next_one(struct sim *s, void *arg);

static void plan_next(struct sim *s)
{
    struct sim_faults *f = s->faults;
    int64_t in = exponential(s, NS_PER_S / f->rate, 1, INT64_MAX / 4);
    f->next_random = sim_timer_at(s, s->now + in, next_one, NULL);
}

static void next_one(struct sim *s, void *arg)
{
    s->faults->next_random = NULL;
    break_one(s);
    plan_next(s);
}

void sim_fault_random(struct sim *s, double rate)
{
    struct sim_faults *f = s->faults;
    sim_timer_cancel(s, f->next_random);
    f->next_random = NULL;
    f->rate = rate;
    if (rate > 0 && s->node_count > 0) {
        plan_next(s);
        return;
    }
    while (f->broken->len > 0) {
        struct breakage *b = g_ptr_array_index(f->broken, 0);
        sim_timer_cancel(s, b->timer);
        mend(s, b);
    }
}

void sim_fault_random_counts(const struct sim *s, uint64_t *broken, unsigned *pending)
{
    *broken = s->faults->broken_total;
    *pending = s->faults->broken->len;
}
