/* SPDX-License-Identifier: BSD-2-Clause */
/* Exploration: which switches are read, by whom and when; what nobody owns is reported. */
#include "shard/explore.h"

#include <errno.h>
#include <infiniband/mad.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/keys.h"
#include "shard/paths.h"
#include "shard/portinfo.h"
#include "shard/reader.h"

#define MAX_READINGS 48u /* at once; the SMP windows bound what is on the wire */
#define RETRY_MS 200u    /* first pause after a failed reading; doubles up to .. */
#define RETRY_MAX_MS 10000u
#define HOPELESS_ATTEMPTS 3u
#define NO_ROUTE_GIVE_UP_MS 2000u
#define PUMP_INTERVAL_MS 2u /* many readings end at once: look again once for all */
#define REPORT_INTERVAL_MS 1000u
#define REPORTS_UNHEARD 1u /* then no rule takes those switches */
#define REREAD_INTERVAL_MS 50u /* a flapping link is read at most this often, then .. */
#define LOST_MS 200u
#define REREAD_MAX_MS 5000u /* .. ever more slowly */

struct progress { /* of one switch */
    bool read;    /* in full, since its domain is ours */
    bool again;   /* asked for while a reading ran or was too early */
    unsigned attempts;
    uint64_t next_ms;
    uint64_t last_read_ms;
    uint64_t lost_since_ms; /* no route to it since then; 0 = there is one */
    uint32_t interval_ms;   /* least time between readings, for those that flap */
};

struct explore {
    GHashTable *progress; /* guid -> struct progress * */
    GHashTable *scanned;  /* guid -> Heddle__TopologySwitch *: what this shard scanned */
    GHashTable *rereads;  /* guids of switches with `again` */
    bool wanted;
    uint64_t last_pump_ms;
    uint64_t last_busy_ms; /* when a reading was last under way */
    uint64_t last_report_ms, scanning_since_ms;
    unsigned reports; /* in a row that named switches nobody owns, all else being seen */
    uint64_t next_retry_ms;
    bool reported_complete;
};

static void scanned_free(gpointer p)
{
    heddle__topology_switch__free_unpacked(p, NULL);
}

struct explore *explore_create(void)
{
    struct explore *e = g_new0(struct explore, 1);
    e->progress = guid_table_new(g_free);
    e->scanned = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, scanned_free);
    e->rereads = guid_table_new(NULL);
    e->next_retry_ms = UINT64_MAX;
    return e;
}

void explore_destroy(struct explore *e)
{
    if (!e)
        return;
    g_hash_table_unref(e->progress);
    g_hash_table_unref(e->scanned);
    g_hash_table_unref(e->rereads);
    g_free(e);
}

static struct progress *progress_of(struct shard_core *c, uint64_t guid)
{
    struct progress *p = g_hash_table_lookup(c->explore->progress, &guid);
    if (!p) {
        p = g_new0(struct progress, 1);
        p->interval_ms = REREAD_INTERVAL_MS;
        g_hash_table_insert(c->explore->progress, guid_key(guid), p);
    }
    return p;
}

void explore_wake(struct shard_core *c)
{
    c->explore->wanted = true;
}

void explore_assignment(struct shard_core *c)
{
    c->explore->reported_complete = false;
    explore_wake(c);
}

void explore_domain_reset(struct shard_core *c, uint32_t domain)
{
    GHashTableIter it;
    gpointer key, value;
    g_hash_table_iter_init(&it, c->explore->progress);
    while (g_hash_table_iter_next(&it, &key, &value)) {
        if (view_domain_of_switch(c->view, *(uint64_t *)key) == domain) {
            struct progress *p = value;
            p->read = false;
            p->attempts = 0;
            p->next_ms = 0;
        }
    }
    explore_wake(c);
}

void explore_reread(struct shard_core *c, uint64_t guid)
{
    struct progress *p = progress_of(c, guid);
    p->again = true;
    g_hash_table_add(c->explore->rereads, guid_key(guid));
    explore_wake(c);
}

static bool denies_link(const struct view_switch *s, const struct view_switch *ours, unsigned num)
{
    const struct view_port *p = &ours->ports[num];
    if (!p->have_info || p->peer_guid != s->guid || !portinfo_link_up(p->portinfo) ||
        p->peer_port > s->nports || !s->ports[p->peer_port].have_info)
        return false;
    return !portinfo_link_up(s->ports[p->peer_port].portinfo);
}

void explore_check_neighbours(struct shard_core *c, uint64_t guid)
{
    const struct view_switch *s = view_switch(c->view, guid);
    const GPtrArray *all = view_switches(c->view);
    for (guint i = 0; s && s->reachable && i < all->len; i++) {
        const struct view_switch *ours = g_ptr_array_index(all, i);
        const struct owned_domain *d = core_owned_switch(c, ours->guid);
        bool denied = false;
        for (unsigned n = 1; d && d->step == OWNED_RUNNING && !denied && n <= ours->nports; n++)
            denied = denies_link(s, ours, n);
        if (denied)
            explore_reread(c, ours->guid);
    }
}

/* -- what came of a reading -----------------------------------------------------------------------
 */

static Heddle__TopologySwitch *topology_of(const struct reading *r)
{
    Heddle__TopologySwitch *t = g_new0(Heddle__TopologySwitch, 1);
    heddle__topology_switch__init(t);
    t->guid = r->guid;
    t->nports = r->sw.nports;
    t->neighbours = g_new0(uint64_t, r->sw.nports);
    t->ports = g_new0(uint32_t, r->sw.nports);
    t->peer_ports = g_new0(uint32_t, r->sw.nports);
    for (unsigned n = 1; n <= r->sw.nports; n++) {
        const struct reading_port *p = &r->ports[n];
        if (p->peer_type == IB_NODE_SWITCH) {
            t->neighbours[t->n_neighbours++] = p->port.peer_guid;
            t->ports[t->n_ports++] = n;
            t->peer_ports[t->n_peer_ports++] = p->port.peer_port;
        } else if (p->peer_type) {
            t->hosts++;
        }
    }
    return t;
}

static void learn_scan(struct shard_core *c, const struct reading *r)
{
    GArray *links = g_array_new(FALSE, FALSE, sizeof(struct path_link));
    for (unsigned n = 1; n <= r->sw.nports; n++) {
        const struct reading_port *p = &r->ports[n];
        if (p->peer_type == IB_NODE_SWITCH) {
            struct path_link l = {p->port.peer_guid, (uint8_t)n, p->port.peer_port};
            g_array_append_val(links, l);
        }
    }
    paths_learn_scan(c, r->guid, links);
    Heddle__TopologySwitch *t = topology_of(r);
    g_hash_table_replace(c->explore->scanned, &t->guid, t);
}

/* The switch may live and the way to it be dead: the next attempt takes another one, and those of
 * our switches that the way passes are looked at. */
static void look_on_the_way(struct shard_core *c, const struct reading *r, const struct progress *p)
{
    GArray *passed = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    paths_way_failed(c, &r->path, passed);
    for (guint i = 0; i < passed->len && p->attempts <= HOPELESS_ATTEMPTS; i++) {
        uint64_t guid = g_array_index(passed, uint64_t, i);
        if (guid != r->guid && core_owned_switch(c, guid))
            explore_reread(c, guid);
    }
    g_array_unref(passed);
}

static void reading_failed(struct shard_core *c, const struct reading *r, struct progress *p)
{
    uint32_t pause = RETRY_MS << MIN(p->attempts, 6u);
    p->attempts++;
    p->next_ms = c->now_ms + MIN(pause, RETRY_MAX_MS);
    c->explore->next_retry_ms = MIN(c->explore->next_retry_ms, p->next_ms);
    if (r->error == EXDEV)
        paths_forget(c, r->guid);
    else if (r->error == ETIMEDOUT)
        look_on_the_way(c, r, p);
    if (p->attempts == HOPELESS_ATTEMPTS) {
        core_log(c, HL_WARNING, "switch_unreadable",
                 "guid=0x%016" PRIx64 " attempts=%u reason=\"%s\"", r->guid, p->attempts,
                 r->error == EXDEV ? "another node answered there" : "no answer");
        domain_switch_unreachable(c, r->guid);
    }
}

static void note_links(struct shard_core *c, const struct reading *r)
{
    for (unsigned n = 1; n <= r->sw.nports; n++) {
        const struct reading_port *p = &r->ports[n];
        if (p->peer_type == IB_NODE_SWITCH)
            paths_saw_link(c, r->guid, n, p->port.peer_guid, p->port.peer_port);
    }
}

static void reading_done(struct shard_core *c, struct reading *r)
{
    struct progress *p = progress_of(c, r->guid);
    c->explore->last_busy_ms = c->now_ms;
    explore_wake(c);
    p->last_read_ms = c->now_ms;
    if (r->error) {
        reading_failed(c, r, p);
        return;
    }
    p->attempts = 0;
    paths_way_worked(c, &r->path);
    if (r->trust_links)
        note_links(c, r);
    struct owned_domain *d = core_owned_switch(c, r->guid);
    if (d && r->full) {
        p->read = true;
        domain_take_reading(c, d, r);
    } else {
        learn_scan(c, r);
    }
}

/* -- what to read next -- */

static bool own_missing(struct shard_core *c)
{
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->owned);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        struct owned_domain *d = value;
        if (d->id != 0 && d->step == OWNED_EXPLORING)
            return true;
    }
    return false;
}

enum need { NEED_NOTHING, NEED_SCAN, NEED_FULL };

static enum need need_of(struct shard_core *c, uint64_t guid, bool scan_wanted)
{
    struct owned_domain *d = core_owned_switch(c, guid);
    if (d) {
        if (d->step == OWNED_SUFFIX)
            return NEED_NOTHING;
        struct progress *p = progress_of(c, guid);
        if (p->again)
            return NEED_FULL;
        if (d->step == OWNED_EXPLORING)
            return p->read ? NEED_NOTHING : NEED_FULL;
        return view_switch(c->view, guid) || p->read ? NEED_NOTHING : NEED_FULL;
    }
    /* Before the fabric is cut, what a stored view knows must be seen again to be reported. */
    bool in_view = !c->assignment->auto_partition && view_switch(c->view, guid);
    if (!scan_wanted || in_view || g_hash_table_contains(c->explore->scanned, &guid))
        return NEED_NOTHING;
    /* A hint serves as a map to pass by; but what nobody owns must be seen to be reported. */
    if (paths_knows_links(c, guid) && view_domain_of_switch(c->view, guid) != VIEW_NO_DOMAIN)
        return NEED_NOTHING;
    return NEED_SCAN;
}

static bool may_start(struct shard_core *c, uint64_t guid)
{
    struct progress *p = progress_of(c, guid);
    uint64_t due = p->next_ms;
    if (p->again && p->last_read_ms)
        due = MAX(due, p->last_read_ms + p->interval_ms);
    if (due <= c->now_ms)
        return true;
    c->explore->next_retry_ms = MIN(c->explore->next_retry_ms, due);
    return false;
}

/* Returns true when the switch needs a reading now or later. */
static bool consider(struct shard_core *c, uint64_t guid, bool scan_wanted)
{
    if (reader_busy(c, guid))
        return true;
    enum need need = need_of(c, guid, scan_wanted);
    if (need == NEED_NOTHING)
        return false;
    struct dr_path path;
    if (reader_running(c) >= MAX_READINGS || !may_start(c, guid) ||
        !paths_to_switch(c, guid, &path))
        return true;
    struct progress *p = progress_of(c, guid);
    if (p->again) {
        /* Flapping: each reading soon after the last one doubles the pause, quiet resets it. */
        bool soon = c->now_ms - p->last_read_ms < 4u * p->interval_ms;
        p->interval_ms = soon ? MIN(p->interval_ms * 2, REREAD_MAX_MS) : REREAD_INTERVAL_MS;
    }
    if (reader_start(c, guid, &path, need == NEED_FULL, !p->again, reading_done)) {
        p->again = false;
        g_hash_table_remove(c->explore->rereads, &guid);
        c->explore->last_busy_ms = c->now_ms;
    }
    return true;
}

/* Switches of ours that no route leads to any more are unreachable after a moment, in which news
 * of other ways may come; when one returns it is read again. */
static void look_for_lost(struct shard_core *c)
{
    const GPtrArray *all = view_switches(c->view);
    GArray *lost = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (guint i = 0; i < all->len; i++) {
        const struct view_switch *s = g_ptr_array_index(all, i);
        struct owned_domain *d = core_owned_switch(c, s->guid);
        if (!d || d->step < OWNED_SETUP)
            continue;
        struct progress *p = progress_of(c, s->guid);
        struct dr_path path;
        if (paths_to_switch(c, s->guid, &path)) {
            p->lost_since_ms = 0;
            if (!s->reachable && !p->again)
                explore_reread(c, s->guid);
        } else if (s->reachable) {
            if (!p->lost_since_ms)
                p->lost_since_ms = c->now_ms;
            if (c->now_ms >= p->lost_since_ms + LOST_MS)
                g_array_append_val(lost, s->guid);
            else
                c->explore->next_retry_ms =
                    MIN(c->explore->next_retry_ms, p->lost_since_ms + LOST_MS);
        }
    }
    for (guint i = 0; i < lost->len; i++) {
        uint64_t guid = g_array_index(lost, uint64_t, i);
        core_log(c, HL_WARNING, "switch_lost", "guid=0x%016" PRIx64 " reason=\"no route to it\"",
                 guid);
        domain_switch_unreachable(c, guid);
    }
    g_array_unref(lost);
}

static void consider_rereads(struct shard_core *c)
{
    GArray *guids = guid_keys_sorted(c->explore->rereads);
    for (guint i = 0; i < guids->len; i++) {
        uint64_t guid = g_array_index(guids, uint64_t, i);
        if (core_owned_switch(c, guid))
            consider(c, guid, false);
        else
            g_hash_table_remove(c->explore->rereads, &guid);
    }
    g_array_unref(guids);
}

/* -- reports to the coordinators -- */

static void topology_add(Heddle__Topology *t, GHashTable *scanned, uint64_t guid)
{
    const Heddle__TopologySwitch *s = g_hash_table_lookup(scanned, &guid);
    /* A copy by packing: the message owns what it holds. */
    size_t len = heddle__topology_switch__get_packed_size(s);
    uint8_t *bytes = g_malloc(len);
    heddle__topology_switch__pack(s, bytes);
    t->switches = g_renew(Heddle__TopologySwitch *, t->switches, t->n_switches + 1);
    t->switches[t->n_switches++] = heddle__topology_switch__unpack(NULL, len, bytes);
    g_free(bytes);
}

/* Returns how many switches it told of. */
static unsigned report(struct shard_core *c, bool complete)
{
    struct explore *e = c->explore;
    GArray *guids = guid_keys_sorted(e->scanned);
    for (guint i = guids->len; !complete && i-- > 0;) {
        if (view_domain_of_switch(c->view, g_array_index(guids, uint64_t, i)) != VIEW_NO_DOMAIN)
            g_array_remove_index(guids, i);
    }
    if (guids->len) {
        for (guint k = 0; k < c->cfg.coordinators->len; k++) {
            Heddle__Topology *t = g_new0(Heddle__Topology, 1);
            heddle__topology__init(t);
            t->complete = complete;
            for (guint i = 0; i < guids->len; i++)
                topology_add(t, e->scanned, g_array_index(guids, uint64_t, i));
            core_send(c, SHARD_CONTROL, g_ptr_array_index(c->cfg.coordinators, k),
                      HEDDLE__MESSAGE_TYPE__MSG_TOPOLOGY, 0, 0, 0, (ProtobufCMessage *)t);
        }
    }
    unsigned count = guids->len;
    g_array_unref(guids);
    return count;
}

static void report_if_due(struct shard_core *c, bool quiet)
{
    struct explore *e = c->explore;
    if (!core_is_lead(c) || !c->assignment)
        return;
    bool complete = c->assignment->auto_partition;
    bool seen_all = quiet && !reader_running(c);
    /* One report of all of them, when the scan is over; a switch that answers never does not hold
     * the others up for longer than a moment. */
    uint64_t due = e->last_report_ms + REPORT_INTERVAL_MS;
    bool first = !e->last_report_ms || e->reported_complete != complete;
    if (!seen_all && (complete || first) && !e->scanning_since_ms)
        e->scanning_since_ms = c->now_ms;
    if (!complete && first && !seen_all)
        due = e->scanning_since_ms + REPORT_INTERVAL_MS;
    if ((complete && !seen_all) || (c->now_ms < due && !(first && seen_all))) {
        e->next_retry_ms = MIN(e->next_retry_ms, MAX(due, c->now_ms + 1));
        return;
    }
    e->last_report_ms = c->now_ms;
    e->scanning_since_ms = 0;
    e->next_retry_ms = MIN(e->next_retry_ms, c->now_ms + REPORT_INTERVAL_MS);
    e->reported_complete = complete;
    unsigned unowned = report(c, complete);
    /* The lead has seen the fabric, and what nobody owns has had the time to be assigned. */
    e->reports = unowned && seen_all ? e->reports + 1 : 0;
    if (!complete && seen_all && (!unowned || e->reports > REPORTS_UNHEARD))
        domain_set_phase(c, core_owned(c, 0), HEDDLE__DOMAIN_PHASE__PHASE_RUNNING);
}

void explore_pump(struct shard_core *c)
{
    struct explore *e = c->explore;
    bool retry = c->now_ms >= e->next_retry_ms;
    if ((!e->wanted && !retry) || !c->assignment || !c->own.leaf_guid)
        return;
    if (reader_running(c) && c->now_ms < e->last_pump_ms + PUMP_INTERVAL_MS)
        return;
    e->wanted = false;
    e->last_pump_ms = c->now_ms;
    e->next_retry_ms = UINT64_MAX;
    consider_rereads(c);
    bool missing = own_missing(c);
    bool lead = core_is_lead(c);
    bool quiet = true;
    const GArray *reached = paths_reached(c);
    guint count = reached->len;
    for (guint i = 0; i < count && i < paths_reached(c)->len; i++) {
        uint64_t guid = g_array_index(paths_reached(c), uint64_t, i);
        if (consider(c, guid, lead || missing))
            quiet = false;
    }
    look_for_lost(c);
    report_if_due(c, quiet);
    domain_explored_check(c);
    if (missing)
        e->next_retry_ms = MIN(e->next_retry_ms, c->now_ms + RETRY_MS);
}

uint64_t explore_deadline(const struct shard_core *c)
{
    const struct explore *e = c->explore;
    if (!c->assignment || !c->own.leaf_guid)
        return UINT64_MAX;
    if (e->wanted)
        return MAX(c->now_ms, e->last_pump_ms + PUMP_INTERVAL_MS);
    return e->next_retry_ms;
}

bool explore_domain_done(struct shard_core *c, const struct owned_domain *d)
{
    const Heddle__Assignment *a = c->assignment;
    for (size_t i = 0; a && i < a->n_domains; i++) {
        if (a->domains[i]->id != d->id)
            continue;
        for (size_t k = 0; k < a->domains[i]->n_switches; k++) {
            uint64_t guid = a->domains[i]->switches[k];
            const struct progress *p = progress_of(c, guid);
            if (p->read || p->attempts >= HOPELESS_ATTEMPTS)
                continue;
            struct dr_path path;
            bool lost = !paths_to_switch(c, guid, &path) && reader_running(c) == 0 &&
                        c->now_ms >= c->explore->last_busy_ms + NO_ROUTE_GIVE_UP_MS &&
                        c->now_ms >= d->step_since_ms + NO_ROUTE_GIVE_UP_MS;
            if (!lost)
                return false;
        }
    }
    return true;
}
