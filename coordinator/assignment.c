/* SPDX-License-Identifier: BSD-2-Clause */
/* Who owns what: first distribution, receivers of a takeover, limits, the lead.
 *
 * A domain of epoch 0 was never owned: such domains are dealt out evenly once the expected shards
 * are there. Every other domain without a live owner moves to a receiver at once. */
#include <string.h>

#include "coordinator/internal.h"

struct candidate {
    Heddle__Member *member;
    uint64_t load; /* nodes */
    uint32_t domains;
};

uint32_t coord_domain_nodes(const struct coord_core *c, const Heddle__Domain *d)
{
    if (d->id == 0)
        return 0;
    const struct coord_domain_run *r = coord_domain_run(c, d->id);
    return MAX((uint32_t)d->n_switches, MAX(r->reported_nodes, r->graph_nodes));
}

static GArray *candidates(const struct coord_core *c)
{
    GArray *list = g_array_new(FALSE, TRUE, sizeof(struct candidate));
    for (guint i = 0; i < c->peers->len; i++) { /* by name */
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (!coord_peer_usable(c, p))
            continue;
        struct candidate k = {.member = assignment_member(c->work, p->name)};
        for (size_t j = 0; j < c->work->n_domains; j++) {
            const Heddle__Domain *d = c->work->domains[j];
            if (domain_live_owner(c->work, d) != k.member)
                continue;
            k.load += coord_domain_nodes(c, d);
            k.domains += d->id != 0;
        }
        g_array_append_val(list, k);
    }
    return list;
}

static bool owns_leaf(const Heddle__Member *m, const Heddle__Domain *d)
{
    return m->leaf_guid && domain_has_switch(d, m->leaf_guid);
}

static void record_takeover(struct coord_core *c, const Heddle__Domain *d, const Heddle__Member *to,
                            const char *reason)
{
    Heddle__TakeoverRecord *t = g_new(Heddle__TakeoverRecord, 1);
    heddle__takeover_record__init(t);
    t->domain = d->id;
    t->epoch = d->epoch + 1;
    record_set_string(&t->from, d->owner);
    record_set_string(&t->to, to->name);
    record_set_string(&t->reason, reason);
    const struct coord_peer *old = coord_peer_find(c, d->owner);
    t->detect_ms = old ? (uint32_t)MIN(coord_detector_age(c, old), UINT32_MAX) : 0;
    t->at_realtime_ms = c->realtime_ms;
    g_ptr_array_add(c->takeovers_open, t);
}

static void give(struct coord_core *c, Heddle__Domain *d, struct candidate *to, const char *reason)
{
    if (d->epoch > 0 && *d->owner)
        record_takeover(c, d, to->member, reason);
    record_set_string(&d->owner, to->member->name);
    d->owner_boot_id = to->member->boot_id;
    d->epoch++;
    to->load += coord_domain_nodes(c, d);
    to->domains += d->id != 0;
    coord_dirty(c);
}

/* -- the lead ------------------------------------------------------------------------------ */

static bool leads_before(const Heddle__Member *a, const Heddle__Member *b)
{
    if (!a->standby != !b->standby)
        return !a->standby;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->port_guid < b->port_guid;
}

/* A former owner is the last choice: its new process knows nothing yet. */
static bool is_former(const Heddle__Domain *d, const GArray *list, const struct candidate *k)
{
    return list->len > 1 && strcmp(d->owner, k->member->name) == 0;
}

static struct candidate *choose_lead(const Heddle__Domain *d, GArray *list)
{
    struct candidate *best = NULL;
    for (guint i = 0; i < list->len; i++) {
        struct candidate *k = &g_array_index(list, struct candidate, i);
        if (!is_former(d, list, k) && (best == NULL || leads_before(k->member, best->member)))
            best = k;
    }
    return best;
}

/* -- receivers ----------------------------------------------------------------------------- */

static bool receives_before(const struct candidate *a, const struct candidate *b,
                            const Heddle__Domain *d, bool standby_first)
{
    if (standby_first && !a->member->standby != !b->member->standby)
        return a->member->standby;
    if (a->load != b->load)
        return a->load < b->load;
    if (owns_leaf(a->member, d) != owns_leaf(b->member, d))
        return !owns_leaf(a->member, d);
    return a->domains < b->domains; /* else the order of names */
}

/* The receiver within the limit or, where none fits, the least loaded with *over set. */
static struct candidate *choose_receiver(const struct coord_core *c, const Heddle__Domain *d,
                                         GArray *list, bool *over)
{
    struct candidate *best = NULL, *least = NULL;
    for (guint i = 0; i < list->len; i++) {
        struct candidate *k = &g_array_index(list, struct candidate, i);
        if (is_former(d, list, k))
            continue;
        if (least == NULL || receives_before(k, least, d, false))
            least = k;
        if (k->load + coord_domain_nodes(c, d) <= c->config.shard_max_nodes &&
            (best == NULL || receives_before(k, best, d, true)))
            best = k;
    }
    *over = best == NULL;
    return best ? best : least;
}

static void warn_over(struct coord_core *c, const struct candidate *k)
{
    coord_log(c, HL_WARNING, "shard_over_limit",
              "name=%s nodes=%" PRIu64 " shard_max_nodes=%u msg=\"no shard has room; "
              "add a shard\"",
              k->member->name, k->load, c->config.shard_max_nodes);
}

/* -- the first distribution ------------------------------------------------------------------ */

static GArray *without_standbys(const GArray *list)
{
    GArray *some = g_array_new(FALSE, TRUE, sizeof(struct candidate));
    for (guint i = 0; i < list->len; i++) {
        const struct candidate *k = &g_array_index(list, struct candidate, i);
        if (!k->member->standby)
            g_array_append_vals(some, k, 1);
    }
    if (some->len == 0)
        g_array_append_vals(some, list->data, list->len);
    return some;
}

static struct candidate *owner_of(GArray *list, const guint *owner, guint i)
{
    return &g_array_index(list, struct candidate, owner[i]);
}

/* Another domain to change owners with, so that neither gets its own leaf: the nearest in size.
 * fresh->len when there is none. */
static guint find_exchange(const struct coord_core *c, const GPtrArray *fresh, GArray *list,
                           const guint *owner, guint i)
{
    const Heddle__Domain *d = g_ptr_array_index(fresh, i);
    guint best = fresh->len;
    int64_t best_difference = INT64_MAX;
    for (guint j = 0; j < fresh->len; j++) {
        const Heddle__Domain *e = g_ptr_array_index(fresh, j);
        if (owner[j] == owner[i] || owns_leaf(owner_of(list, owner, j)->member, d) ||
            owns_leaf(owner_of(list, owner, i)->member, e))
            continue;
        int64_t difference = (int64_t)coord_domain_nodes(c, d) - (int64_t)coord_domain_nodes(c, e);
        if (ABS(difference) < best_difference) {
            best = j;
            best_difference = ABS(difference);
        }
    }
    return best;
}

static void move_load(const struct coord_core *c, GArray *list, guint *owner, guint i, guint to,
                      const Heddle__Domain *d)
{
    owner_of(list, owner, i)->load -= coord_domain_nodes(c, d);
    owner[i] = to;
    owner_of(list, owner, i)->load += coord_domain_nodes(c, d);
}

/* A shard should not own the leaf that its own port hangs on, where that can be avoided. */
static void avoid_own_leaves(const struct coord_core *c, const GPtrArray *fresh, GArray *list,
                             guint *owner)
{
    for (guint i = 0; i < fresh->len; i++) {
        const Heddle__Domain *d = g_ptr_array_index(fresh, i);
        if (!owns_leaf(owner_of(list, owner, i)->member, d))
            continue;
        guint j = find_exchange(c, fresh, list, owner, i);
        if (j < fresh->len) {
            guint other = owner[j];
            move_load(c, list, owner, j, owner[i], g_ptr_array_index(fresh, j));
            move_load(c, list, owner, i, other, d);
            continue;
        }
        uint64_t nodes = coord_domain_nodes(c, d);
        guint best = owner[i];
        for (guint k = 0; k < list->len; k++) {
            const struct candidate *to = &g_array_index(list, struct candidate, k);
            if (k != owner[i] && !owns_leaf(to->member, d) &&
                to->load + nodes <= owner_of(list, owner, i)->load &&
                (best == owner[i] || to->load < g_array_index(list, struct candidate, best).load))
                best = k;
        }
        move_load(c, list, owner, i, best, d);
    }
}

static bool deal_out(struct coord_core *c, const GPtrArray *fresh, const GArray *all)
{
    g_autoptr(GArray) list = without_standbys(all);
    g_autofree guint *owner = g_new0(guint, fresh->len + 1);
    for (guint i = 0; i < fresh->len; i++) { /* the largest first */
        const Heddle__Domain *d = g_ptr_array_index(fresh, i);
        for (guint k = 1; k < list->len; k++)
            if (receives_before(&g_array_index(list, struct candidate, k), owner_of(list, owner, i),
                                d, false))
                owner[i] = k;
        owner_of(list, owner, i)->load += coord_domain_nodes(c, d);
        owner_of(list, owner, i)->domains++;
    }
    avoid_own_leaves(c, fresh, list, owner);
    for (guint i = 0; i < fresh->len; i++) {
        struct candidate to = *owner_of(list, owner, i);
        give(c, g_ptr_array_index(fresh, i), &to, "first");
    }
    bool over = false;
    for (guint k = 0; k < list->len; k++) {
        const struct candidate *to = &g_array_index(list, struct candidate, k);
        if (to->load > c->config.shard_max_nodes) {
            warn_over(c, to);
            over = true;
        }
    }
    return !over;
}

/* -- all of it ----------------------------------------------------------------------------- */

static int compare_size(const void *a, const void *b, void *core)
{
    const struct coord_core *c = core;
    const Heddle__Domain *const *x = a, *const *y = b;
    uint32_t nx = coord_domain_nodes(c, *x), ny = coord_domain_nodes(c, *y);
    if (nx != ny)
        return nx > ny ? -1 : 1;
    return (*x)->id < (*y)->id ? -1 : 1;
}

bool coord_assignment_settle(struct coord_core *c, const char *reason)
{
    bool within = true;
    g_autoptr(GPtrArray) fresh = g_ptr_array_new();
    g_autoptr(GPtrArray) lost = g_ptr_array_new();
    for (size_t i = 0; i < c->work->n_domains; i++) {
        Heddle__Domain *d = c->work->domains[i];
        if (domain_live_owner(c->work, d) == NULL)
            g_ptr_array_add(d->epoch == 0 && d->id != 0 ? fresh : lost, d);
    }
    if (fresh->len && !c->config.auto_domains && !coord_topology_ready(c, c->first_join_ms))
        g_ptr_array_set_size(fresh, 0);
    if (fresh->len + lost->len == 0)
        return true;
    g_autoptr(GArray) list = candidates(c);
    if (list->len == 0)
        return true; /* the first shard that comes gets them */
    g_ptr_array_sort_with_data(lost, compare_size, c);
    g_ptr_array_sort_with_data(fresh, compare_size, c);
    for (guint i = 0; i < lost->len; i++) {
        Heddle__Domain *d = g_ptr_array_index(lost, i);
        bool over = false;
        struct candidate *to =
            d->id == 0 ? choose_lead(d, list) : choose_receiver(c, d, list, &over);
        give(c, d, to, reason);
        if (over) {
            warn_over(c, to);
            within = false;
        }
    }
    if (fresh->len && !deal_out(c, fresh, list))
        within = false;
    return within;
}
