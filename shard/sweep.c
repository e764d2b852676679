/* SPDX-License-Identifier: BSD-2-Clause */
/* The light sweep over the owned switches. */
#include "shard/sweep.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/explore.h"
#include "shard/keys.h"
#include "shard/paths.h"
#include "shard/portinfo.h"
#include "shard/sminfo.h"
#include "shard/tables.h"

#define DEFAULT_INTERVAL_S 10u
#define AUDIT_INTERVAL_MS 1000u   /* one switch's table is read back each second */
#define FOREIGN_INTERVAL_MS 2000u /* a foreign MASTER is asked whether it still is one */
#define LOOK_INTERVAL_MS 20u      /* news of a switch that come faster lead to one reading of it */
#define TAG_CHANGED (1ull << 63)

struct sweep {
    uint64_t next_ms;
    uint64_t next_audit_ms;
    uint64_t next_foreign_ms;
    uint64_t last_audited; /* GUID */
    GHashTable *looks;     /* GUID -> when it was last looked at because of news, uint64_t */
};

struct sweep *sweep_create(void)
{
    struct sweep *s = g_new0(struct sweep, 1);
    s->looks = guid_table_new(g_free);
    return s;
}

void sweep_destroy(struct sweep *s)
{
    if (!s)
        return;
    g_hash_table_unref(s->looks);
    g_free(s);
}

static bool submit(struct shard_core *c, struct smp_request *r)
{
    const struct owned_domain *d = core_owned_switch(c, r->target);
    r->group = d ? core_set_group(d) : 0;
    r->user = c;
    return smpq_submit(c->smpq, r, c->now_ms) == 0;
}

static void change_cleared(void *user, uint64_t tag, const struct smp_request *r, int error,
                           const uint8_t *mad)
{
    struct shard_core *c = user;
    /* Cleared or not (Sets were stopped meanwhile): that something changed is known. */
    explore_reread(c, r->target);
}

/* PortStateChange is cleared before the ports are read: what changes meanwhile sets it again. */
static void clear_change(struct shard_core *c, uint64_t guid, const uint8_t *switchinfo)
{
    struct smp_request r = {.method = MAD_SET,
                            .attribute = SMP_SWITCH_INFO,
                            .target = guid,
                            .retries = 0,
                            .done = change_cleared};
    memcpy(r.data, switchinfo, 20);
    mad_set_field(r.data, 0, IB_SW_STATE_CHANGE_F, 1);
    if (tables_switch_busy(c, guid) || !core_may_set(c) || !core_address_switch(c, guid, &r) ||
        !submit(c, &r))
        explore_reread(c, guid);
}

static void switchinfo_answered(void *user, uint64_t tag, const struct smp_request *r, int error,
                                const uint8_t *mad)
{
    struct shard_core *c = user;
    if (!core_owned_switch(c, r->target) || error == ECANCELED)
        return;
    if (error) {
        core_unanswered(c, r);
        /* It may only be the way that is broken: the reading looks for another one. */
        paths_changed(c);
        explore_reread(c, r->target);
        return;
    }
    const uint8_t *info = smp_data_const(mad);
    tables_switch_seen(c, r->target, info, false);
    if (mad_get_field((void *)info, 0, IB_SW_STATE_CHANGE_F))
        clear_change(c, r->target, info);
    else if (tag & TAG_CHANGED)
        explore_reread(c, r->target);
}

static void ask_switchinfo(struct shard_core *c, uint64_t guid, bool changed, bool urgent)
{
    struct smp_request r = {.method = MAD_GET,
                            .attribute = SMP_SWITCH_INFO,
                            .target = guid,
                            .retries = -1,
                            .urgent = urgent,
                            .done = switchinfo_answered,
                            .tag = changed ? TAG_CHANGED : 0};
    if (!core_address_switch(c, guid, &r) || !submit(c, &r))
        explore_reread(c, guid);
}

/* A flood of traps from one switch costs no more than its readings, which explore paces. */
static bool looked_of_late(struct shard_core *c, uint64_t guid)
{
    uint64_t *last = g_hash_table_lookup(c->sweep->looks, &guid);
    if (last && c->now_ms < *last + LOOK_INTERVAL_MS)
        return true;
    g_hash_table_replace(c->sweep->looks, guid_key(guid), g_memdup2(&c->now_ms, sizeof *last));
    return false;
}

void sweep_switch(struct shard_core *c, uint64_t guid, bool changed)
{
    if (changed && looked_of_late(c, guid)) {
        explore_reread(c, guid);
        return;
    }
    ask_switchinfo(c, guid, changed, changed);
}

void sweep_domain(struct shard_core *c, uint32_t domain)
{
    GPtrArray *switches = view_domain_switches(c->view, domain);
    for (guint i = 0; i < switches->len; i++)
        ask_switchinfo(c, ((struct view_switch *)g_ptr_array_index(switches, i))->guid, false,
                       false);
    g_ptr_array_unref(switches);
}

static void peer_answered(void *user, uint64_t tag, const struct smp_request *r, int error,
                          const uint8_t *mad)
{
    if (error == 0)
        explore_reread(user, tag);
}

/* Ports that have a link but nobody known behind it. */
static void ask_missing_peers(struct shard_core *c, const struct view_switch *s)
{
    struct dr_path path;
    if (!paths_to_switch(c, s->guid, &path))
        return;
    for (unsigned n = 1; n <= s->nports; n++) {
        const struct view_port *p = &s->ports[n];
        if (!p->have_info || p->peer_guid || !portinfo_link_up(p->portinfo))
            continue;
        struct smp_request r = {.method = MAD_GET,
                                .attribute = SMP_NODE_INFO,
                                .directed = true,
                                .path = path,
                                .target = s->guid ^ ((uint64_t)n << 56 | 1ull << 63),
                                .retries = 0,
                                .done = peer_answered,
                                .tag = s->guid};
        if (dr_path_extend(&r.path, n))
            submit(c, &r);
    }
}

static void description_answered(void *user, uint64_t tag, const struct smp_request *r, int error,
                                 const uint8_t *mad)
{
    struct shard_core *c = user;
    struct view_switch *s = view_switch(c->view, r->target);
    struct view_end_port *e = s ? NULL : view_end_port(c->view, r->target, (unsigned)tag);
    if (error || (!s && !e))
        return;
    char *kept = s ? s->description : e->description;
    if (strncmp(kept, (const char *)smp_data_const(mad), 64) == 0)
        return;
    memcpy(kept, smp_data_const(mad), 64);
    if (s)
        domain_dirty_switch(c, s->guid);
    else
        domain_dirty_end_port(c, e);
}

static void ask_descriptions(struct shard_core *c, const struct view_switch *s)
{
    struct smp_request r = {.method = MAD_GET,
                            .attribute = SMP_NODE_DESCRIPTION,
                            .target = s->guid,
                            .retries = 0,
                            .done = description_answered};
    if (core_address_switch(c, s->guid, &r))
        submit(c, &r);
    for (unsigned n = 1; n <= s->nports; n++) {
        const struct view_end_port *e = view_end_port_at(c->view, s->guid, n);
        r.target = e ? e->node_guid : 0;
        r.tag = e ? e->num : 0;
        if (e && e->present && core_address_end_port(c, e, &r))
            submit(c, &r);
    }
}

static void sweep_one(struct shard_core *c, const struct view_switch *s)
{
    if (!s->reachable) {
        explore_reread(c, s->guid);
        return;
    }
    ask_switchinfo(c, s->guid, false, false);
    ask_missing_peers(c, s);
    ask_descriptions(c, s);
    for (unsigned n = 1; n <= s->nports; n++) {
        const struct view_end_port *e = view_end_port_at(c->view, s->guid, n);
        if (e && e->present)
            sminfo_check_end_port(c, e);
    }
}

/* The switch of ours that follows the last audited one by GUID, round and round. */
static void audit_next(struct shard_core *c)
{
    const GPtrArray *all = view_switches(c->view);
    uint64_t first = 0, next = 0;
    for (guint i = 0; i < all->len && !next; i++) {
        const struct view_switch *s = g_ptr_array_index(all, i);
        if (!s->reachable || !core_owned_switch(c, s->guid) || !tables_switch_ready(c, s->guid))
            continue;
        if (!first)
            first = s->guid;
        if (s->guid > c->sweep->last_audited)
            next = s->guid;
    }
    c->sweep->last_audited = next ? next : first;
    if (!c->sweep->last_audited)
        return;
    tables_audit_switch(c, c->sweep->last_audited);
    /* News that was lost for good (its PortStateChange is cleared) shows only in the ports. */
    explore_reread(c, c->sweep->last_audited);
}

/* While another manager is MASTER nothing is written; that it has gone must be noticed. */
static void ask_foreign(struct shard_core *c)
{
    if (!c->foreign_sm_guid || c->now_ms < c->sweep->next_foreign_ms)
        return;
    c->sweep->next_foreign_ms = c->now_ms + FOREIGN_INTERVAL_MS;
    const struct view_end_port *e = view_end_port_by_guid(c->view, c->foreign_sm_guid);
    if (e && core_owned_switch(c, e->switch_guid))
        sminfo_check_end_port(c, e);
}

void sweep_pump(struct shard_core *c)
{
    struct sweep *w = c->sweep;
    ask_foreign(c);
    if (!c->cluster || !g_hash_table_size(c->owned))
        return;
    uint32_t interval_s = core_options(c)->sweep_interval_s;
    if (!w->next_ms)
        w->next_ms = c->now_ms + 1000ull * (interval_s ? interval_s : DEFAULT_INTERVAL_S);
    if (interval_s && c->now_ms >= w->next_ms) {
        w->next_ms = c->now_ms + 1000ull * interval_s;
        domain_pools_changed(c);
        const GPtrArray *all = view_switches(c->view);
        for (guint i = 0; i < all->len; i++) {
            const struct view_switch *s = g_ptr_array_index(all, i);
            const struct owned_domain *d = core_owned_switch(c, s->guid);
            if (d && d->step >= OWNED_SETUP)
                sweep_one(c, s);
        }
    }
    if (interval_s && c->now_ms >= w->next_audit_ms) {
        w->next_audit_ms = c->now_ms + AUDIT_INTERVAL_MS;
        audit_next(c);
    }
}

uint64_t sweep_deadline(const struct shard_core *c)
{
    if (!c->cluster || !g_hash_table_size(c->owned) || !core_options(c)->sweep_interval_s)
        return UINT64_MAX;
    uint64_t due = c->sweep->next_ms ? c->sweep->next_ms : c->now_ms;
    if (c->foreign_sm_guid)
        due = MIN(due, c->sweep->next_foreign_ms);
    return MAX(MIN(due, c->sweep->next_audit_ms), c->now_ms);
}
