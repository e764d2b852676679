/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of the core's parts: one core and a fabric in its view. */
#include "shard/test_rig.h"

#include <string.h>

#include <infiniband/mad.h>
#include <sodium.h>

#include "shard/domain.h"
#include "shard/keys.h"
#include "shard/paths.h"

#define START_MS 1000u

static const uint8_t no_grant[1];

/* -- life ----------------------------------------------------------------------------------------
 */

struct rig *rig_create_empty(GPtrArray *stored)
{
    struct rig *r = g_new0(struct rig, 1);
    struct shard_core_config c = {.boot_id = 11, .priority = 5, .tid_seed = 1};
    uint8_t seed[crypto_box_SEEDBYTES] = {1};
    r->now_ms = START_MS;
    r->actions = g_array_new(FALSE, TRUE, sizeof(struct shard_action));
    r->coordinators = g_ptr_array_new();
    r->operators = g_ptr_array_new();
    g_ptr_array_add(r->coordinators, (gpointer)RIG_COORDINATOR);
    g_ptr_array_add(r->operators, (gpointer)RIG_OPERATOR);
    crypto_box_seed_keypair(r->public_key, r->secret_key, seed);
    g_strlcpy(c.cluster, RIG_CLUSTER, sizeof c.cluster);
    g_strlcpy(c.name, "shard1", sizeof c.name);
    c.public_key = r->public_key;
    c.secret_key = r->secret_key;
    c.coordinators = r->coordinators;
    c.operators = r->operators;
    c.stored = stored;
    r->core = shard_core_create(&c);
    r->core->now_ms = r->now_ms;
    return r;
}

void rig_clear(struct rig *r)
{
    for (guint i = 0; i < r->actions->len; i++)
        shard_action_clear(&g_array_index(r->actions, struct shard_action, i));
    g_array_set_size(r->actions, 0);
}

void rig_destroy(struct rig *r)
{
    rig_clear(r);
    shard_core_destroy(r->core);
    g_array_free(r->actions, TRUE);
    g_ptr_array_free(r->coordinators, TRUE);
    g_ptr_array_free(r->operators, TRUE);
    g_free(r);
}

static void join(struct rig *r)
{
    Heddle__ClusterConfig *k = g_new0(Heddle__ClusterConfig, 1);
    heddle__cluster_config__init(k);
    Heddle__SubnetOptions *o = k->subnet = g_new0(Heddle__SubnetOptions, 1);
    heddle__subnet_options__init(o);
    o->sm_key = 0x1234;
    o->routing_engine = g_strdup("updn");
    r->core->cluster = k;
    r->core->own = (struct own_port){.known = true,
                                     .node_guid = RIG_HOST_A,
                                     .port_guid = RIG_HOST_A + 1,
                                     .num = 1,
                                     .lid = 10,
                                     .state = 4,
                                     .leaf_guid = RIG_LEAF,
                                     .leaf_port = 1};
}

static Heddle__Member *member(const char *name, uint64_t node_guid, uint64_t leaf, uint32_t lid)
{
    Heddle__Member *m = g_new0(Heddle__Member, 1);
    heddle__member__init(m);
    m->name = g_strdup(name);
    m->node_guid = node_guid;
    m->port_guid = node_guid + 1;
    m->port_num = 1;
    m->leaf_guid = leaf;
    m->leaf_port = 1;
    m->lid = lid;
    m->delta_endpoint = g_strdup("");
    m->bulk_endpoint = g_strdup("");
    m->software = g_strdup("");
    m->state = HEDDLE__MEMBER_STATE__MEMBER_LIVE;
    return m;
}

static Heddle__Domain *domain(uint32_t id, const uint64_t *switches, size_t n)
{
    Heddle__Domain *d = g_new0(Heddle__Domain, 1);
    heddle__domain__init(d);
    d->id = id;
    d->name = g_strdup("");
    d->epoch = 1;
    d->owner = g_strdup(id == 2 ? "shard2" : "shard1");
    d->owner_boot_id = 11;
    d->switches = g_memdup2(switches, n * sizeof *switches);
    d->n_switches = n;
    if (id == 0)
        return d;
    d->pools = g_new0(Heddle__LidPool *, 1);
    d->n_pools = 1;
    d->pools[0] = g_new0(Heddle__LidPool, 1);
    heddle__lid_pool__init(d->pools[0]);
    d->pools[0]->first = 64 * id;
    d->pools[0]->count = 64;
    return d;
}

static void assign(struct rig *r)
{
    static const uint64_t first[] = {RIG_LEAF, RIG_SPINE}, second[] = {RIG_LEAF2};
    Heddle__Assignment *a = g_new0(Heddle__Assignment, 1);
    heddle__assignment__init(a);
    a->incarnation = 1;
    a->revision = 1;
    a->members = g_new0(Heddle__Member *, 2);
    a->members[a->n_members++] = member("shard1", RIG_HOST_A, RIG_LEAF, 10);
    a->members[a->n_members++] = member("shard2", RIG_HOST_C, RIG_LEAF2, 12);
    a->domains = g_new0(Heddle__Domain *, 3);
    a->domains[a->n_domains++] = domain(0, NULL, 0);
    a->domains[a->n_domains++] = domain(1, first, 2);
    a->domains[a->n_domains++] = domain(2, second, 1);
    r->core->assignment = a;
    r->core->incarnation = 1;
    view_assign(r->core->view, a);
    replication_set_assignment(r->core->repl, a);
}

Heddle__Domain *rig_domain(struct rig *r, uint32_t id)
{
    return r->core->assignment->domains[id];
}

struct owned_domain *rig_owned(struct rig *r, uint32_t id)
{
    return core_owned(r->core, id);
}

void rig_own(struct rig *r, uint32_t id)
{
    struct owned_domain *d = g_new0(struct owned_domain, 1);
    d->id = id;
    d->epoch = 1;
    d->grant = g_bytes_new_static(no_grant, sizeof no_grant);
    d->dirty_switches = guid_table_new(NULL);
    d->dirty_end_ports = g_hash_table_new_full(port_key_hash, port_key_equal, g_free, NULL);
    d->step = OWNED_EXPLORED;
    g_hash_table_replace(r->core->owned, GUINT_TO_POINTER(id), d);
    if (!view_domain(r->core->view, id))
        view_set_position(r->core->view, id, 0, 0);
    replication_own(r->core->repl, id, 1, no_grant, sizeof no_grant, r->now_ms);
    replication_tick(r->core->repl, r->now_ms + 100); /* nobody has anything that is newer */
}

/* -- the fabric ----------------------------------------------------------------------------------
 */

void rig_portinfo(uint8_t portinfo[64], unsigned lid)
{
    memset(portinfo, 0, 64);
    mad_set_field(portinfo, 0, IB_PORT_LID_F, lid);
    mad_set_field(portinfo, 0, IB_PORT_STATE_F, 4);
    mad_set_field(portinfo, 0, IB_PORT_PHYS_STATE_F, 5);
}

static void nodeinfo(uint8_t info[40], unsigned type, unsigned nports, uint64_t node, uint64_t port)
{
    memset(info, 0, 40);
    mad_set_field(info, 0, IB_NODE_TYPE_F, type);
    mad_set_field(info, 0, IB_NODE_NPORTS_F, nports);
    mad_set_field64(info, 0, IB_NODE_GUID_F, node);
    mad_set_field64(info, 0, IB_NODE_PORT_GUID_F, port);
}

static void apply(struct rig *r, uint64_t switch_guid, Heddle__Delta *d)
{
    view_apply(r->core->view, view_domain_of_switch(r->core->view, switch_guid), d);
    heddle__delta__free_unpacked(d, NULL);
    paths_changed(r->core);
}

void rig_put_switch(struct rig *r, const struct view_switch *s)
{
    Heddle__Delta *d = delta_new();
    view_delta_add_switch(d, view_pack_switch(s));
    apply(r, s->guid, d);
}

void rig_put_end_port(struct rig *r, const struct view_end_port *e)
{
    Heddle__Delta *d = delta_new();
    view_delta_add_end_port(d, view_pack_end_port(e));
    apply(r, e->switch_guid, d);
}

static void put_switch(struct rig *r, uint64_t guid, unsigned lid, const char *name,
                       const uint64_t peers[3], const uint8_t peer_ports[3])
{
    struct view_port ports[4] = {0};
    struct view_switch s = {.guid = guid, .nports = 3, .reachable = true, .ports = ports};
    nodeinfo(s.nodeinfo, IB_NODE_SWITCH, 3, guid, guid);
    g_strlcpy(s.description, name, sizeof s.description);
    for (unsigned n = 0; n <= 3; n++) {
        ports[n].have_info = true;
        rig_portinfo(ports[n].portinfo, n == 0 ? lid : 0);
        ports[n].peer_guid = n > 0 ? peers[n - 1] : 0;
        ports[n].peer_port = n > 0 ? peer_ports[n - 1] : 0;
        if (n > 0 && peers[n - 1] == 0)
            memset(ports[n].portinfo, 0, 64);
    }
    rig_put_switch(r, &s);
}

static void put_host(struct rig *r, uint64_t guid, uint64_t leaf, unsigned leaf_port, unsigned lid,
                     const char *name)
{
    struct view_end_port e = {.node_guid = guid,
                              .port_guid = guid + 1,
                              .switch_guid = leaf,
                              .switch_port = (uint8_t)leaf_port,
                              .num = 1,
                              .lid = (uint16_t)lid,
                              .present = true};
    nodeinfo(e.nodeinfo, IB_NODE_CA, 1, guid, guid + 1);
    rig_portinfo(e.portinfo, lid);
    g_strlcpy(e.description, name, sizeof e.description);
    rig_put_end_port(r, &e);
}

struct rig *rig_create(void)
{
    struct rig *r = rig_create_empty(NULL);
    join(r);
    assign(r);
    view_set_position(r->core->view, 1, 1, 1);
    view_set_position(r->core->view, 2, 1, 1);
    put_switch(r, RIG_LEAF, 2, "leaf1", (const uint64_t[]){RIG_HOST_A, RIG_HOST_B, RIG_SPINE},
               (const uint8_t[]){1, 1, 1});
    put_switch(r, RIG_LEAF2, 3, "leaf2", (const uint64_t[]){RIG_HOST_C, RIG_HOST_D, RIG_SPINE},
               (const uint8_t[]){1, 1, 2});
    put_switch(r, RIG_SPINE, 4, "spine", (const uint64_t[]){RIG_LEAF, RIG_LEAF2, 0},
               (const uint8_t[]){3, 3, 0});
    put_host(r, RIG_HOST_A, RIG_LEAF, 1, 10, "host a");
    put_host(r, RIG_HOST_B, RIG_LEAF, 2, 11, "host b");
    put_host(r, RIG_HOST_C, RIG_LEAF2, 1, 12, "host c");
    put_host(r, RIG_HOST_D, RIG_LEAF2, 2, 13, "host d");
    return r;
}

void rig_found_lid(struct rig *r, uint64_t node_guid, unsigned num, unsigned lid)
{
    struct view_switch *s = view_switch(r->core->view, node_guid);
    uint8_t *portinfo =
        s ? s->ports[num].portinfo : view_end_port(r->core->view, node_guid, num)->portinfo;
    mad_set_field(portinfo, 0, IB_PORT_LID_F, lid);
}

/* -- steps ---------------------------------------------------------------------------------------
 */

void rig_step(struct rig *r, const struct shard_event *e)
{
    shard_core_step(r->core, e, r->now_ms, r->actions);
}

void rig_run(struct rig *r, uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        r->now_ms++;
        rig_step(r, &(struct shard_event){.kind = SHARD_EV_TICK});
    }
}

struct shard_action *rig_action(struct rig *r, enum shard_action_kind kind, unsigned attribute,
                                unsigned k)
{
    for (guint i = 0; i < r->actions->len; i++) {
        struct shard_action *a = &g_array_index(r->actions, struct shard_action, i);
        if (a->kind != kind || (attribute && mad_attribute(a->mad) != attribute))
            continue;
        if (k-- == 0)
            return a;
    }
    return NULL;
}

unsigned rig_events(struct rig *r, const char *event)
{
    unsigned n = 0;
    for (guint i = 0; i < r->actions->len; i++) {
        const struct shard_action *a = &g_array_index(r->actions, struct shard_action, i);
        n += a->kind == SHARD_ACT_LOG && strcmp(a->event, event) == 0;
    }
    return n;
}

void rig_answer(struct rig *r, const struct shard_action *a, unsigned status, const uint8_t *data)
{
    uint8_t mad[MAD_BYTES];
    struct mad_address from = a->address;
    memcpy(mad, a->mad, sizeof mad);
    mad_set_field(mad, 0, IB_MAD_METHOD_F, MAD_GET);
    mad_set_field(mad, 0, IB_MAD_RESPONSE_F, 1);
    mad_set_field(mad, 0, IB_MAD_STATUS_F, status);
    if (data)
        memcpy(smp_data(mad), data, SMP_DATA_BYTES);
    rig_step(r, &(struct shard_event){
                    .kind = SHARD_EV_MAD, .mad = mad, .mad_len = sizeof mad, .address = from});
}
