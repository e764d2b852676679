/* SPDX-License-Identifier: BSD-2-Clause */
/* The shard's core: events to parts, and what the parts share. */
#include "shard/core.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "proto/grant.h"
#include "shard/admin.h"
#include "shard/contact.h"
#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/explore.h"
#include "shard/keys.h"
#include "shard/own_port.h"
#include "shard/paths.h"
#include "shard/persist.h"
#include "shard/portinfo.h"
#include "shard/probe.h"
#include "shard/reader.h"
#include "shard/sa/sa.h"
#include "shard/setup.h"
#include "shard/sminfo.h"
#include "shard/sweep.h"
#include "shard/tables.h"
#include "shard/traps.h"

#define MAX_QUEUED_SMPS 65536u

static void replication_log(void *user, int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void replication_log(void *user, int level, const char *event, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    core_vlog(user, level, event, format, ap);
    va_end(ap);
}

static void smpq_send(void *user, const uint8_t mad[MAD_BYTES], const struct mad_address *to,
                      uint32_t timeout_ms)
{
    core_send_mad(user, mad, MAD_BYTES, to, timeout_ms, false);
}

static void emit_store(struct shard_core *c)
{
    if (c->store_items->len == 0)
        return;
    struct shard_action a = {
        .kind = SHARD_ACT_STORE, .ticket = ++c->store_ticket, .items = c->store_items};
    g_array_append_val(c->actions, a);
    c->store_items = g_ptr_array_new();
}

/* -- what the parts ask -- */

struct owned_domain *core_owned(const struct shard_core *c, uint32_t domain)
{
    return g_hash_table_lookup(c->owned, GUINT_TO_POINTER(domain));
}

struct owned_domain *core_owned_switch(const struct shard_core *c, uint64_t switch_guid)
{
    uint32_t domain = view_domain_of_switch(c->view, switch_guid);
    return domain == VIEW_NO_DOMAIN ? NULL : core_owned(c, domain);
}

bool core_may_set(const struct shard_core *c)
{
    return c->assignment && !c->unsure && !c->foreign_sm_guid && !c->stepped_down &&
           !c->port_dead && contact_fresh(c);
}

void core_foreign_sm_changed(struct shard_core *c)
{
    uint64_t guid = 0;
    for (size_t i = 0; c->assignment && !guid && i < c->assignment->n_domains; i++) {
        const struct view_domain *v = view_domain(c->view, c->assignment->domains[i]->id);
        guid = v ? v->foreign_sm_guid : 0;
    }
    if (guid && !c->foreign_sm_guid)
        core_log(c, HL_ERROR, "foreign_sm",
                 "port_guid=0x%016" PRIx64
                 " hint=\"another subnet manager is MASTER; nothing is written until it is gone\"",
                 guid);
    else if (!guid && c->foreign_sm_guid)
        core_log(c, HL_NOTICE, "foreign_sm_gone", "port_guid=0x%016" PRIx64, c->foreign_sm_guid);
    c->foreign_sm_guid = guid;
}

bool core_is_lead(const struct shard_core *c)
{
    return core_owned(c, 0) != NULL;
}

uint16_t core_own_lid(const struct shard_core *c)
{
    for (size_t i = 0; c->assignment && i < c->assignment->n_members; i++) {
        if (strcmp(c->assignment->members[i]->name, c->cfg.name) == 0)
            return (uint16_t)c->assignment->members[i]->lid;
    }
    return 0;
}

const Heddle__SubnetOptions *core_options(const struct shard_core *c)
{
    return c->cluster->subnet;
}

void core_smpq_limits(struct shard_core *c, uint32_t per_port, uint32_t per_target,
                      uint32_t timeout_ms, uint32_t retries)
{
    struct smpq_config q = {.max_per_port = per_port ? MIN(per_port, 256u) : 128u,
                            .max_per_target = per_target ? per_target : 4u,
                            .timeout_ms = timeout_ms ? timeout_ms : 200u,
                            .retries = retries,
                            .max_queued = MAX_QUEUED_SMPS,
                            .send = smpq_send,
                            .user = c,
                            .tid_seed = c->cfg.tid_seed};
    if (c->smpq)
        smpq_configure(c->smpq, &q);
    else
        c->smpq = smpq_create(&q);
}

/* -- replication's callbacks -- */

static void on_send(void *user, enum shard_channel channel, const char *peer,
                    const struct envelope *m)
{
    struct shard_core *c = user;
    core_send(c, channel, peer, m->type, m->domain, m->epoch, m->seq, NULL);
    struct shard_action *a = &g_array_index(c->actions, struct shard_action, c->actions->len - 1);
    if (!m->body)
        return;
    size_t len = protobuf_c_message_get_packed_size(m->body);
    g_autofree uint8_t *bytes = g_malloc(len + 1);
    protobuf_c_message_pack(m->body, bytes);
    a->message.body = protobuf_c_message_unpack(m->body->descriptor, NULL, len, bytes);
}

static void on_applied(void *user, uint32_t domain, const Heddle__Delta *d, unsigned changed,
                       bool own)
{
    struct shard_core *c = user;
    if (own || c->from_owner)
        g_hash_table_add(c->seen_live, GUINT_TO_POINTER(domain));
    persist_delta(c, domain, d);
    if (changed & VIEW_CHANGED_ROUTING) {
        tables_wake(c);
        paths_changed(c);
        explore_wake(c);
    }
    if (changed & VIEW_CHANGED_STATE) {
        const struct view_domain *v = view_domain(c->view, domain);
        if (v && !v->has_intent)
            tables_state_changed(c);
        core_foreign_sm_changed(c);
    }
    for (size_t i = 0; changed & VIEW_CHANGED_ROUTING && i < d->n_switches; i++)
        explore_check_neighbours(c, d->switches[i]->guid);
    if (own) {
        persist_back_up_lids(c, domain, d);
        return;
    }
    for (size_t i = 0; i < d->n_switches; i++)
        setup_wake_neighbours(c, d->switches[i]->guid);
}

static bool on_grant(void *user, const uint8_t *grant, size_t len, uint32_t domain, uint64_t epoch,
                     char owner[64])
{
    struct shard_core *c = user;
    Heddle__SignedGrant *s = heddle__signed_grant__unpack(NULL, len, grant);
    if (!s)
        return false;
    Heddle__Grant *g = grant_verify(s, c->cfg.sign_public_key, c->cfg.cluster);
    bool ok = g && g->domain == domain && g->epoch == epoch &&
              (!c->assignment || g->incarnation == c->assignment->incarnation);
    if (ok)
        g_strlcpy(owner, g->owner, 64);
    if (g)
        heddle__grant__free_unpacked(g, NULL);
    heddle__signed_grant__free_unpacked(s, NULL);
    return ok;
}

static void on_acked(void *user, uint32_t domain)
{
    tables_state_changed(user);
}

static void on_superseded(void *user, uint32_t domain, uint64_t epoch)
{
    domain_lost(user, domain);
}

static void on_suffix_done(void *user, uint32_t domain)
{
    domain_suffix_done(user, domain);
}

/* -- life
 * ------------------------------------------------------------------------------------------------
 */

static GPtrArray *copy_names(const GPtrArray *names)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; names && i < names->len; i++)
        g_ptr_array_add(copy, g_strdup(g_ptr_array_index(names, i)));
    return copy;
}

struct shard_core *shard_core_create(const struct shard_core_config *config)
{
    struct shard_core *c = g_new0(struct shard_core, 1);
    c->cfg = *config;
    c->cfg.coordinators = copy_names(config->coordinators);
    c->cfg.operators = copy_names(config->operators);
    c->actions = g_array_new(FALSE, FALSE, sizeof(struct shard_action));
    c->store_items = g_ptr_array_new();
    c->incarnation = config->stored_incarnation;
    c->view = view_create();
    c->owned = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)owned_domain_free);
    c->seen_live = g_hash_table_new(NULL, NULL);
    c->known_lids = guid_table_new(NULL);
    c->backed_lids = guid_table_new(NULL);
    c->lid_backup = g_ptr_array_new();
    c->quarantined = g_hash_table_new_full(port_key_hash, port_key_equal, g_free, g_free);
    struct replication_callbacks cb = {.user = c,
                                       .send = on_send,
                                       .applied = on_applied,
                                       .grant_ok = on_grant,
                                       .acked = on_acked,
                                       .suffix_done = on_suffix_done,
                                       .superseded = on_superseded,
                                       .log = replication_log};
    c->repl = replication_create(c->view, &cb, c->cfg.name);
    core_smpq_limits(c, 0, 0, 0, 3);
    c->contact = contact_create();
    c->paths = paths_create();
    c->reader = reader_create();
    c->explore = explore_create();
    c->setup = setup_create();
    c->tables = tables_create();
    c->sweep = sweep_create();
    c->probes = probes_create();
    persist_load(c);
    c->cfg.stored = NULL; /* the caller's, and in the view by now */
    return c;
}

void shard_core_destroy(struct shard_core *c)
{
    if (!c)
        return;
    smpq_destroy(c->smpq);
    contact_destroy(c->contact);
    paths_destroy(c->paths);
    reader_destroy(c->reader);
    explore_destroy(c->explore);
    setup_destroy(c->setup);
    tables_destroy(c->tables);
    sweep_destroy(c->sweep);
    probes_destroy(c->probes);
    replication_destroy(c->repl);
    view_destroy(c->view);
    g_hash_table_unref(c->owned);
    g_hash_table_unref(c->seen_live);
    g_hash_table_unref(c->known_lids);
    g_hash_table_unref(c->quarantined);
    g_hash_table_unref(c->backed_lids);
    for (guint i = 0; i < c->lid_backup->len; i++)
        heddle__found_lid__free_unpacked(g_ptr_array_index(c->lid_backup, i), NULL);
    g_ptr_array_unref(c->lid_backup);
    for (guint i = 0; i < c->actions->len; i++)
        shard_action_clear(&g_array_index(c->actions, struct shard_action, i));
    g_array_unref(c->actions);
    for (guint i = 0; i < c->store_items->len; i++) {
        struct shard_store_item *item = g_ptr_array_index(c->store_items, i);
        g_bytes_unref(item->key);
        if (item->value)
            g_bytes_unref(item->value);
        g_free(item);
    }
    g_ptr_array_unref(c->store_items);
    g_ptr_array_unref(c->cfg.coordinators);
    g_ptr_array_unref(c->cfg.operators);
    if (c->cluster)
        heddle__cluster_config__free_unpacked(c->cluster, NULL);
    if (c->assignment)
        heddle__assignment__free_unpacked(c->assignment, NULL);
    g_free(c);
}

/* -- events -- */

static void sa_request(struct shard_core *c, const struct shard_event *e)
{
    struct sa_context context = {.view = c->view,
                                 .plan = tables_plan(c),
                                 .own_lid = c->own.lid,
                                 .subnet_prefix = 0xfe80000000000000ull,
                                 .sm_key = 1,
                                 .packet_life_time = 0x12,
                                 .response_time = 0x12,
                                 .busy = !c->assignment || view_switches(c->view)->len == 0};
    if (c->cluster) {
        context.subnet_prefix = core_options(c)->subnet_prefix;
        context.sm_key = core_options(c)->sm_key;
        context.packet_life_time = (uint8_t)core_options(c)->packet_life_time;
        context.response_time = (uint8_t)core_options(c)->subnet_timeout;
    }
    g_autoptr(GArray) managers = sminfo_managers(c);
    context.managers = (const struct sa_manager *)managers->data;
    context.manager_count = managers->len;
    uint8_t *response = NULL;
    size_t len = 0;
    bool rmpp = false;
    if (sa_handle(&context, e->mad, e->mad_len, &e->address, &response, &len, &rmpp))
        core_send_mad(c, response, len, &e->address, 0, rmpp);
    g_free(response);
}

static void mad_received(struct shard_core *c, const struct shard_event *e)
{
    if (e->mad_len < MAD_BYTES)
        return;
    unsigned class = mad_class(e->mad), method = mad_method(e->mad);
    if (class == SA_CLASS) {
        sa_request(c, e);
        return;
    }
    if (class != SMP_CLASS_LID && class != SMP_CLASS_DR)
        return;
    if (method == MAD_GET_RESP)
        smpq_receive(c->smpq, e->mad, c->now_ms);
    else if (method == MAD_TRAP && mad_attribute(e->mad) == SMP_NOTICE)
        traps_received(c, e->mad, &e->address);
    else if ((method == MAD_GET || method == MAD_SET) && mad_attribute(e->mad) == SMP_SM_INFO)
        sminfo_request(c, e->mad, &e->address);
}

static bool from_live_member(const struct shard_core *c, const char *peer)
{
    for (size_t i = 0; c->assignment && i < c->assignment->n_members; i++) {
        if (strcmp(c->assignment->members[i]->name, peer) == 0)
            return true;
    }
    return false;
}

static const Heddle__Domain *assigned(const struct shard_core *c, uint32_t domain)
{
    for (size_t k = 0; c->assignment && k < c->assignment->n_domains; k++)
        if (c->assignment->domains[k]->id == domain)
            return c->assignment->domains[k];
    return NULL;
}

/* Whether the sender acts for this epoch of the domain. A process that has restarted has the name
 * of the owner, and a view of its store, which says nothing of the fabric as it is. */
static bool is_owner_now(const struct shard_core *c, const char *peer, const struct envelope *m,
                         uint32_t domain, uint64_t epoch)
{
    const Heddle__Domain *d = assigned(c, domain);
    if (!d || epoch != d->epoch)
        return d && epoch > d->epoch; /* our assignment is not the latest */
    return strcmp(d->owner, peer) == 0 && d->owner_boot_id == m->boot_id;
}

/* The records of a stored view are as good as replicated ones once a domain's owner says that it
 * stands where they do. */
static void confirm_stored(struct shard_core *c, const char *peer, const struct envelope *m)
{
    const Heddle__PeerHello *h = (const Heddle__PeerHello *)m->body;
    for (size_t i = 0; h && i < h->n_positions; i++) {
        const Heddle__Position *p = h->positions[i];
        const struct view_domain *v = view_domain(c->view, p->domain);
        if (v && v->epoch && v->epoch == p->epoch && v->seq == p->seq &&
            is_owner_now(c, peer, m, p->domain, p->epoch))
            g_hash_table_add(c->seen_live, GUINT_TO_POINTER(p->domain));
    }
}

static void message_received(struct shard_core *c, const struct shard_event *e)
{
    const struct envelope *m = e->message;
    /* The cluster must be ours, and a name inside must be the connection's. */
    if (strcmp(m->cluster, c->cfg.cluster) != 0 || strcmp(m->sender, e->peer) != 0)
        return;
    if (admin_message(c, e->channel, e->peer, m))
        return;
    if (e->channel == SHARD_CONTROL) {
        if (contact_is_coordinator(c, e->peer))
            contact_message(c, e->peer, m);
    } else if (from_live_member(c, e->peer) && m->incarnation == c->incarnation) {
        if (m->type == HEDDLE__MESSAGE_TYPE__MSG_PEER_HELLO)
            confirm_stored(c, e->peer, m);
        c->from_owner = is_owner_now(c, e->peer, m, m->domain, m->epoch);
        replication_message(c->repl, e->channel, e->peer, m, c->now_ms);
        c->from_owner = false;
    }
}

static void link_changed(struct shard_core *c, const struct shard_event *e, bool up)
{
    if (e->channel == SHARD_CONTROL && contact_is_coordinator(c, e->peer))
        contact_link(c, e->peer, up);
    else if (e->channel == SHARD_DELTA && up)
        replication_link_up(c->repl, e->peer, c->now_ms);
    else if (e->channel == SHARD_DELTA)
        replication_link_down(c->repl, e->peer, c->now_ms);
}

static void step_down(struct shard_core *c)
{
    if (c->stepped_down)
        return;
    c->stepped_down = true;
    core_log(c, HL_ERROR, "stepped_down",
             "reason=\"the local port died\" hint=\"others take the domains over; restart this "
             "shard when the port is back\"");
    smpq_cancel(c->smpq, NULL);
}

static void dispatch(struct shard_core *c, const struct shard_event *e)
{
    switch (e->kind) {
    case SHARD_EV_MAD:
        mad_received(c, e);
        break;
    case SHARD_EV_MAD_FAILED:
        if (e->mad_len >= MAD_BYTES)
            smpq_send_failed(c->smpq, mad_tid(e->mad), c->now_ms);
        break;
    case SHARD_EV_MESSAGE:
        message_received(c, e);
        break;
    case SHARD_EV_LINK_UP:
    case SHARD_EV_LINK_DOWN:
        link_changed(c, e, e->kind == SHARD_EV_LINK_UP);
        break;
    case SHARD_EV_ROUTED:
        tables_routed(c, e->routed);
        break;
    case SHARD_EV_STORED:
        if (e->error)
            core_log(c, HL_ERROR, "store_failed",
                     "reason=\"%s\" hint=\"the view goes on in memory; free space or repair the "
                     "disk\"",
                     g_strerror(e->error));
        break;
    case SHARD_EV_PORT_DOWN:
        step_down(c);
        break;
    case SHARD_EV_STALLED:
        /* No Set until a coordinator has spoken after the stall: domains may have moved. */
        contact_unsure(c);
        c->max_stall_ms = MAX(c->max_stall_ms, e->stall_ms);
        break;
    case SHARD_EV_START:
    case SHARD_EV_TICK:
        break;
    }
}

/* Sets that wait in the queue when they may no longer be sent are given up: who wanted them looks
 * again when they are allowed. */
static void freeze_or_thaw(struct shard_core *c)
{
    bool fresh = contact_fresh(c);
    if (c->was_fresh && !fresh)
        contact_unsure(c);
    c->was_fresh = fresh;
    bool may = core_may_set(c);
    if (c->could_set && !may)
        smpq_cancel_sets(c->smpq, 0);
    c->could_set = may;
}

static void pump(struct shard_core *c)
{
    freeze_or_thaw(c);
    own_port_pump(c);
    contact_pump(c);
    probes_pump(c);
    smpq_tick(c->smpq, c->now_ms, c->read_ms);
    explore_pump(c);
    if (c->assignment) {
        domain_pump(c);
        setup_pump(c);
        tables_pump(c);
        sweep_pump(c);
    }
    replication_tick(c->repl, c->now_ms);
}

void shard_core_step(struct shard_core *c, const struct shard_event *event, uint64_t now_ms,
                     GArray *actions)
{
    c->now_ms = now_ms;
    if (event->realtime_ms)
        c->realtime_ms = event->realtime_ms;
    c->act_count++;
    dispatch(c, event);
    if (!event->more) {
        if (!event->unread)
            c->read_ms = now_ms;
        pump(c);
        emit_store(c);
        persist_send_backup(c);
    }
    if (c->actions->len)
        g_array_append_vals(actions, c->actions->data, c->actions->len);
    g_array_set_size(c->actions, 0);
}

uint64_t shard_core_deadline(const struct shard_core *c)
{
    const uint64_t due[] = {own_port_deadline(c),
                            contact_deadline(c),
                            probes_deadline(c),
                            smpq_deadline(c->smpq),
                            explore_deadline(c),
                            domain_deadline(c),
                            c->assignment ? setup_deadline(c) : UINT64_MAX,
                            c->assignment ? tables_deadline(c) : UINT64_MAX,
                            sweep_deadline(c),
                            replication_deadline(c->repl)};
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < G_N_ELEMENTS(due); i++)
        first = MIN(first, due[i]);
    return first;
}

const struct view *shard_core_view(const struct shard_core *c)
{
    return c->view;
}

bool shard_core_owns(const struct shard_core *c, uint32_t domain, uint64_t *epoch)
{
    const struct owned_domain *d = core_owned(c, domain);
    if (d && epoch)
        *epoch = d->epoch;
    return d != NULL;
}

uint32_t shard_core_outstanding(const struct shard_core *c)
{
    return smpq_outstanding(c->smpq);
}

bool shard_core_frozen(const struct shard_core *c)
{
    return !core_may_set(c);
}
