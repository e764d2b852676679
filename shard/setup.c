/* SPDX-License-Identifier: BSD-2-Clause */
/* Port set-up: PortInfo of the ports of our domains, and links from INIT to ACTIVE. */
#include "shard/setup.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/explore.h"
#include "shard/keys.h"
#include "shard/portinfo.h"
#include "shard/reader.h"
#include "shard/tables.h"

#define RETRY_MS 100u
#define RETRY_MAX_MS 10000u
#define BLOCKED_RETRY_MS 50u /* Sets are not allowed now, or the queue is full */
#define EXTERNAL_A_TURN 16u
#define GIVE_UP_FAILURES 3u /* a port that refuses does not hold its domain up */

struct port_job {
    bool confirmed; /* set under this epoch (management and end ports) */
    bool in_flight;
    uint8_t failures;
    bool have_accepted;
    uint64_t next_ms;
    uint8_t accepted[64]; /* the last PortInfo that was set with success, without its state */
};

struct setup {
    GHashTable *jobs;     /* struct port_key -> struct port_job */
    GHashTable *pending;  /* switch GUIDs to look at */
    GHashTable *external; /* those of which the external ports are still to be looked at */
    uint64_t retry_ms;
};

struct setup *setup_create(void)
{
    struct setup *s = g_new0(struct setup, 1);
    s->jobs = g_hash_table_new_full(port_key_hash, port_key_equal, g_free, g_free);
    s->pending = guid_table_new(NULL);
    s->external = guid_table_new(NULL);
    s->retry_ms = UINT64_MAX;
    return s;
}

void setup_destroy(struct setup *s)
{
    if (!s)
        return;
    g_hash_table_unref(s->jobs);
    g_hash_table_unref(s->pending);
    g_hash_table_unref(s->external);
    g_free(s);
}

static struct port_job *job_of(struct setup *s, uint64_t guid, unsigned num)
{
    struct port_key key = {guid, (uint8_t)num};
    struct port_job *j = g_hash_table_lookup(s->jobs, &key);
    if (!j) {
        j = g_new0(struct port_job, 1);
        g_hash_table_insert(s->jobs, g_memdup2(&key, sizeof key), j);
    }
    return j;
}

void setup_wake_switch(struct shard_core *c, uint64_t guid)
{
    g_hash_table_add(c->setup->pending, guid_key(guid));
}

void setup_wake_neighbours(struct shard_core *c, uint64_t guid)
{
    const struct view_switch *s = view_switch(c->view, guid);
    for (unsigned n = 1; s && n <= s->nports; n++) {
        if (s->ports[n].peer_guid && core_owned_switch(c, s->ports[n].peer_guid))
            setup_wake_switch(c, s->ports[n].peer_guid);
    }
}

void setup_unconfirm(struct shard_core *c, uint64_t node_guid, unsigned num)
{
    struct port_job *j = job_of(c->setup, node_guid, num);
    j->confirmed = false;
    j->have_accepted = false;
}

static void each_port_of_domain(struct shard_core *c, uint32_t domain,
                                void (*f)(struct shard_core *c, uint64_t guid, unsigned num))
{
    GPtrArray *switches = view_domain_switches(c->view, domain);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        for (unsigned n = 0; n <= s->nports; n++)
            f(c, s->guid, n);
    }
    g_ptr_array_unref(switches);
    GPtrArray *ends = view_domain_end_ports(c->view, domain);
    for (guint i = 0; i < ends->len; i++) {
        const struct view_end_port *e = g_ptr_array_index(ends, i);
        f(c, e->node_guid, e->num);
    }
    g_ptr_array_unref(ends);
}

static void forget_port(struct shard_core *c, uint64_t guid, unsigned num)
{
    struct port_key key = {guid, (uint8_t)num};
    g_hash_table_remove(c->setup->jobs, &key);
}

void setup_forget_domain(struct shard_core *c, uint32_t domain)
{
    each_port_of_domain(c, domain, forget_port);
}

void setup_begin_domain(struct shard_core *c, const struct owned_domain *d)
{
    setup_forget_domain(c, d->id);
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    for (guint i = 0; i < switches->len; i++)
        setup_wake_switch(c, ((struct view_switch *)g_ptr_array_index(switches, i))->guid);
    g_ptr_array_unref(switches);
}

/* -- sending -- */

static void job_failed(struct shard_core *c, struct port_job *j)
{
    uint32_t pause = RETRY_MS << MIN(j->failures, 7u);
    if (j->failures < UINT8_MAX)
        j->failures++;
    j->next_ms = c->now_ms + MIN(pause, RETRY_MAX_MS);
    c->setup->retry_ms = MIN(c->setup->retry_ms, j->next_ms);
}

/* Where the PortInfo of this port is kept in the view; NULL when it is no longer ours. */
static uint8_t *record_of(struct shard_core *c, uint64_t guid, unsigned num, uint64_t *switch_guid,
                          struct view_end_port **end)
{
    struct view_switch *s = view_switch(c->view, guid);
    *end = NULL;
    if (s) {
        *switch_guid = guid;
        return num <= s->nports && core_owned_switch(c, guid) ? s->ports[num].portinfo : NULL;
    }
    *end = view_end_port(c->view, guid, num);
    if (!*end || !core_owned_switch(c, (*end)->switch_guid))
        return NULL;
    *switch_guid = (*end)->switch_guid;
    return (*end)->portinfo;
}

/* The port as it is after a Set that was refused or not answered. */
static void port_read(void *user, uint64_t num, const struct smp_request *r, int error,
                      const uint8_t *mad)
{
    struct shard_core *c = user;
    struct port_job *j = job_of(c->setup, r->target, (unsigned)num);
    j->in_flight = false;
    uint64_t switch_guid;
    struct view_end_port *end;
    uint8_t *record = record_of(c, r->target, (unsigned)num, &switch_guid, &end);
    if (!record || error == ECANCELED)
        return;
    setup_wake_switch(c, switch_guid);
    if (error) {
        explore_reread(c, switch_guid);
        return;
    }
    uint16_t lid = end ? end->lid : (uint16_t)mad_get_field(record, 0, IB_PORT_LID_F);
    bool management = end || num == 0;
    memcpy(record, smp_data_const(mad), SMP_DATA_BYTES);
    j->confirmed = management && mad_get_field(record, 0, IB_PORT_LID_F) == lid &&
                   mad_get_field(record, 0, IB_PORT_SMLID_F) == core_own_lid(c);
    if (num == 0)
        mad_set_field(record, 0, IB_PORT_LID_F, lid); /* as assigned, whatever it has now */
    if (end)
        domain_dirty_end_port(c, end);
    else
        domain_dirty_switch(c, switch_guid);
}

static void read_port(struct shard_core *c, const struct smp_request *set, unsigned num)
{
    struct smp_request r = {.method = MAD_GET,
                            .attribute = SMP_PORT_INFO,
                            .modifier = set->modifier,
                            .target = set->target,
                            .retries = -1,
                            .done = port_read,
                            .user = c,
                            .tag = num};
    const struct view_end_port *end = view_end_port(c->view, set->target, num);
    bool way = end && !view_switch(c->view, set->target) ? core_address_end_port(c, end, &r)
                                                         : core_address_switch(c, set->target, &r);
    if (way && smpq_submit(c->smpq, &r, c->now_ms) == 0)
        job_of(c->setup, set->target, num)->in_flight = true;
}

static void set_answered(void *user, uint64_t num, const struct smp_request *r, int error,
                         const uint8_t *mad)
{
    struct shard_core *c = user;
    struct port_job *j = job_of(c->setup, r->target, (unsigned)num);
    j->in_flight = false;
    uint64_t switch_guid;
    struct view_end_port *end;
    uint8_t *record = record_of(c, r->target, (unsigned)num, &switch_guid, &end);
    if (!record)
        return;
    setup_wake_switch(c, switch_guid);
    if (error == ECANCELED)
        return;
    if (error) {
        job_failed(c, j);
        if (error == ETIMEDOUT)
            core_unanswered(c, r);
        core_log(c, j->failures == GIVE_UP_FAILURES ? HL_WARNING : HL_DEBUG, "port_set_failed",
                 "node_guid=0x%016" PRIx64 " port=%u reason=\"%s\"", r->target, (unsigned)num,
                 error == EPROTO ? "refused" : "no answer");
        /* What is there now is not known: read it, never repeat blindly. */
        read_port(c, r, (unsigned)num);
        return;
    }
    const uint8_t *answer = smp_data_const(mad);
    memcpy(j->accepted, r->data, sizeof j->accepted);
    mad_set_field(j->accepted, 0, IB_PORT_STATE_F, PORT_STATE_NO_CHANGE);
    j->have_accepted = true;
    j->failures = 0;
    j->confirmed = mad_get_field((void *)answer, 0, IB_PORT_LID_F) ==
                       mad_get_field((void *)r->data, 0, IB_PORT_LID_F) &&
                   mad_get_field((void *)answer, 0, IB_PORT_SMLID_F) ==
                       mad_get_field((void *)r->data, 0, IB_PORT_SMLID_F);
    memcpy(record, answer, SMP_DATA_BYTES);
    /* ClientReregister reads back as written on some ports: it is a command, not a state. */
    mad_set_field(record, 0, IB_PORT_CLIENT_REREG_F, 0);
    if (end)
        domain_dirty_end_port(c, end);
    else
        domain_dirty_switch(c, switch_guid);
    struct view_switch *s = view_switch(c->view, r->target);
    if (s && num > 0)
        setup_wake_switch(c, s->ports[num].peer_guid);
    tables_state_changed(c);
}

static bool is_member_port(const struct shard_core *c, uint64_t node_guid, unsigned num)
{
    const Heddle__Assignment *a = c->assignment;
    for (size_t i = 0; i < a->n_members; i++) {
        if (a->members[i]->node_guid == node_guid && a->members[i]->port_num == num)
            return true;
    }
    return false;
}

/* Sends what the port lacks. */
static void set_port(struct shard_core *c, const struct owned_domain *d, uint64_t guid,
                     unsigned num, const uint8_t *current, const struct portinfo_wish *wish,
                     const struct view_end_port *end)
{
    struct port_job *j = job_of(c->setup, guid, num);
    if (j->in_flight)
        return;
    uint8_t wanted[64];
    portinfo_wanted(current, wish, core_options(c), wanted);
    bool confirm = wish->role != PORT_EXTERNAL && !j->confirmed;
    const uint8_t *accepted = j->have_accepted ? j->accepted : NULL;
    if (!confirm && !portinfo_set_needed(current, wanted, wish, accepted))
        return;
    if (c->now_ms < j->next_ms) {
        c->setup->retry_ms = MIN(c->setup->retry_ms, j->next_ms);
        return;
    }
    struct smp_request r = {.method = MAD_SET,
                            .attribute = SMP_PORT_INFO,
                            .modifier = reader_portinfo_modifier(current, num),
                            .target = guid,
                            .retries = 0,
                            .group = core_set_group(d),
                            .urgent = d->takeover || is_member_port(c, guid, num),
                            .done = set_answered,
                            .user = c,
                            .tag = num};
    bool way = end ? core_address_end_port(c, end, &r) : core_address_switch(c, guid, &r);
    if (!way || !core_may_set(c) ||
        (memcpy(r.data, wanted, sizeof r.data), smpq_submit(c->smpq, &r, c->now_ms)) != 0) {
        setup_wake_switch(c, end ? end->switch_guid : guid);
        c->setup->retry_ms = MIN(c->setup->retry_ms, c->now_ms + BLOCKED_RETRY_MS);
        return;
    }
    j->in_flight = true;
}

/* -- what each kind of port wants -- */

static void management_port(struct shard_core *c, const struct owned_domain *d,
                            const struct view_switch *s)
{
    if (!s->ports[0].have_info || !view_switch_lid(s))
        return;
    struct portinfo_wish w = {
        .role = PORT_MANAGEMENT, .lid = view_switch_lid(s), .sm_lid = core_own_lid(c)};
    set_port(c, d, s->guid, 0, s->ports[0].portinfo, &w, NULL);
}

/* The next state of our end of a link, from both ends as they are. */
static enum port_state next_state(struct shard_core *c, uint64_t switch_guid,
                                  const uint8_t *current, const uint8_t *peer)
{
    unsigned state = portinfo_state(current), peer_state = portinfo_state(peer);
    if (state == PORT_STATE_INIT && peer_state >= PORT_STATE_INIT)
        return PORT_STATE_ARMED;
    if (state == PORT_STATE_ARMED && peer_state >= PORT_STATE_ARMED &&
        tables_switch_ready(c, switch_guid))
        return PORT_STATE_ACTIVE;
    return PORT_STATE_NO_CHANGE;
}

static void end_port(struct shard_core *c, const struct owned_domain *d,
                     const struct view_switch *s, const struct view_end_port *e)
{
    const struct view_port *p = &s->ports[e->switch_port];
    if (!e->present || !e->lid || !p->have_info || !portinfo_link_up(p->portinfo))
        return;
    struct portinfo_wish w = {.role = PORT_END,
                              .lid = e->lid,
                              .lmc = e->lmc,
                              .sm_lid = core_own_lid(c),
                              .peer = p->portinfo,
                              .state = next_state(c, s->guid, e->portinfo, p->portinfo)};
    set_port(c, d, e->node_guid, e->num, e->portinfo, &w, e);
}

/* PortInfo of what is cabled to this port, or NULL while the view does not have it. */
static const uint8_t *peer_portinfo(const struct shard_core *c, const struct view_port *p,
                                    bool *leaf)
{
    const struct view_switch *sw = view_switch(c->view, p->peer_guid);
    *leaf = false;
    if (sw)
        return p->peer_port <= sw->nports && sw->ports[p->peer_port].have_info
                   ? sw->ports[p->peer_port].portinfo
                   : NULL;
    const struct view_end_port *e = view_end_port(c->view, p->peer_guid, p->peer_port);
    *leaf = e != NULL;
    return e && e->present ? e->portinfo : NULL;
}

static void external_port(struct shard_core *c, const struct owned_domain *d,
                          const struct view_switch *s, unsigned num)
{
    const struct view_port *p = &s->ports[num];
    if (!p->have_info || !p->peer_guid || !portinfo_link_up(p->portinfo))
        return;
    struct portinfo_wish w = {.role = PORT_EXTERNAL};
    w.peer = peer_portinfo(c, p, &w.leaf);
    if (!w.peer)
        return;
    /* The other end trains anew, so this one does, too, and nobody has told. */
    if (portinfo_state(p->portinfo) == PORT_STATE_ACTIVE &&
        portinfo_state(w.peer) == PORT_STATE_INIT)
        explore_reread(c, s->guid);
    w.state = next_state(c, s->guid, p->portinfo, w.peer);
    set_port(c, d, s->guid, num, p->portinfo, &w, NULL);
}

enum setup_pass { PASS_MANAGEMENT, PASS_ENDS, PASS_EXTERNAL };

static void look_at(struct shard_core *c, uint64_t guid, enum setup_pass pass)
{
    const struct owned_domain *d = core_owned_switch(c, guid);
    const struct view_switch *s = view_switch(c->view, guid);
    if (!d || !s || !s->reachable || d->step < OWNED_SETUP)
        return;
    if (pass == PASS_MANAGEMENT)
        management_port(c, d, s);
    for (unsigned n = 1; pass != PASS_MANAGEMENT && n <= s->nports; n++) {
        const struct view_end_port *e =
            pass == PASS_ENDS ? view_end_port_at(c->view, guid, n) : NULL;
        if (e)
            end_port(c, d, s, e);
        else if (pass == PASS_EXTERNAL)
            external_port(c, d, s, n);
    }
}

/* External ports are many: a few switches a turn, so that the loop goes on turning. */
static void look_at_external(struct shard_core *c)
{
    GArray *guids = guid_keys_sorted(c->setup->external);
    for (guint i = 0; i < guids->len && i < EXTERNAL_A_TURN; i++) {
        uint64_t guid = g_array_index(guids, uint64_t, i);
        g_hash_table_remove(c->setup->external, &guid);
        look_at(c, guid, PASS_EXTERNAL);
    }
    g_array_unref(guids);
}

static bool nothing_pending(const struct setup *s)
{
    return g_hash_table_size(s->pending) == 0 && g_hash_table_size(s->external) == 0;
}

void setup_pump(struct shard_core *c)
{
    struct setup *s = c->setup;
    if (c->now_ms >= s->retry_ms) {
        /* Who waits for a retry is found by looking at our jobs that failed. */
        GHashTableIter it;
        gpointer key, value;
        s->retry_ms = UINT64_MAX;
        g_hash_table_iter_init(&it, s->jobs);
        while (g_hash_table_iter_next(&it, &key, &value)) {
            const struct port_job *j = value;
            const struct port_key *k = key;
            uint64_t sw;
            struct view_end_port *end;
            if (j->failures && record_of(c, k->guid, k->num, &sw, &end))
                setup_wake_switch(c, sw);
        }
    }
    if (nothing_pending(s))
        return;
    if (!core_may_set(c) || !core_own_lid(c)) {
        s->retry_ms = MIN(s->retry_ms, c->now_ms + BLOCKED_RETRY_MS);
        return;
    }
    GArray *guids = guid_keys_sorted(s->pending);
    g_hash_table_remove_all(s->pending);
    for (enum setup_pass pass = PASS_MANAGEMENT; pass < PASS_EXTERNAL; pass++) {
        for (guint i = 0; i < guids->len; i++)
            look_at(c, g_array_index(guids, uint64_t, i), pass);
    }
    for (guint i = 0; i < guids->len; i++)
        g_hash_table_add(s->external, guid_key(g_array_index(guids, uint64_t, i)));
    g_array_unref(guids);
    look_at_external(c);
}

uint64_t setup_deadline(const struct shard_core *c)
{
    return !nothing_pending(c->setup) && core_may_set(c) && core_own_lid(c) ? c->now_ms
                                                                            : c->setup->retry_ms;
}

/* -- settled? -- */

static bool port_settled(struct shard_core *c, uint64_t guid, unsigned num, bool must_confirm,
                         const uint8_t *portinfo, const uint8_t *peer)
{
    const struct port_job *j = job_of(c->setup, guid, num);
    if (j->failures >= GIVE_UP_FAILURES)
        return true;
    if (j->in_flight || (must_confirm && !j->confirmed))
        return false;
    return !portinfo || !peer || !portinfo_link_up(portinfo) || !portinfo_link_up(peer) ||
           portinfo_state(portinfo) == PORT_STATE_ACTIVE;
}

bool setup_domain_settled(struct shard_core *c, uint32_t domain)
{
    bool settled = true;
    GPtrArray *switches = view_domain_switches(c->view, domain);
    for (guint i = 0; settled && i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        if (!s->reachable)
            continue;
        settled = port_settled(c, s->guid, 0, true, NULL, NULL);
        for (unsigned n = 1; settled && n <= s->nports; n++) {
            bool leaf;
            const struct view_port *p = &s->ports[n];
            const uint8_t *peer = p->peer_guid ? peer_portinfo(c, p, &leaf) : NULL;
            if (p->have_info)
                settled = port_settled(c, s->guid, n, false, p->portinfo, peer);
            const struct view_end_port *e = view_end_port_at(c->view, s->guid, n);
            if (settled && e && e->present && e->lid && peer)
                settled = port_settled(c, e->node_guid, e->num, true, e->portinfo, p->portinfo);
        }
    }
    g_ptr_array_unref(switches);
    return settled;
}
