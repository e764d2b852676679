/* SPDX-License-Identifier: BSD-2-Clause */
/* The view in the store: what an applied delta changes there, and reading it back at start. */
#include "shard/persist.h"

#include <infiniband/mad.h>
#include <string.h>

#include "proto/check.h"
#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/keys.h"

static GBytes *key_u64(uint64_t guid)
{
    uint64_t be = GUINT64_TO_BE(guid);
    return g_bytes_new(&be, sizeof be);
}

static GBytes *key_port(uint64_t guid, uint32_t num)
{
    uint8_t key[9];
    uint64_t be = GUINT64_TO_BE(guid);
    memcpy(key, &be, 8);
    key[8] = (uint8_t)num;
    return g_bytes_new(key, sizeof key);
}

static GBytes *value_of(const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = g_malloc(len + 1);
    protobuf_c_message_pack(m, bytes);
    return g_bytes_new_take(bytes, len);
}

static void persist_domain(struct shard_core *c, uint32_t domain)
{
    const struct view_domain *v = view_domain(c->view, domain);
    if (!v)
        return;
    Heddle__DomainReport r = HEDDLE__DOMAIN_REPORT__INIT;
    r.domain = domain;
    r.epoch = v->epoch;
    r.seq = v->seq;
    r.state = view_pack_state(v);
    uint32_t be = GUINT32_TO_BE(domain);
    core_store(c, "domain", g_bytes_new(&be, sizeof be), value_of(&r.base));
    heddle__domain_state__free_unpacked(r.state, NULL);
}

void persist_delta(struct shard_core *c, uint32_t domain, const Heddle__Delta *d)
{
    for (size_t i = 0; i < d->n_switches; i++)
        core_store(c, "switch", key_u64(d->switches[i]->guid), value_of(&d->switches[i]->base));
    for (size_t i = 0; i < d->n_end_ports; i++)
        core_store(c, "endport", key_port(d->end_ports[i]->node_guid, d->end_ports[i]->num),
                   value_of(&d->end_ports[i]->base));
    for (size_t i = 0; i < d->n_removed_switches; i++)
        core_store(c, "switch", key_u64(d->removed_switches[i]), NULL);
    for (size_t i = 0; i < d->n_removed_end_ports; i++)
        core_store(c, "endport",
                   key_port(d->removed_end_ports[i]->node_guid, d->removed_end_ports[i]->num),
                   NULL);
    for (size_t i = 0; i < d->n_numbers; i++)
        core_store(c, "numbers", key_u64(d->numbers[i]->leaf_guid), value_of(&d->numbers[i]->base));
    persist_domain(c, domain);
}

static void back_up(struct shard_core *c, uint64_t port_guid, uint32_t lid, uint32_t lmc)
{
    if (!lid || GPOINTER_TO_UINT(g_hash_table_lookup(c->backed_lids, &port_guid)) == lid)
        return;
    g_hash_table_replace(c->backed_lids, g_memdup2(&port_guid, sizeof port_guid),
                         GUINT_TO_POINTER(lid));
    Heddle__FoundLid *l = g_new0(Heddle__FoundLid, 1);
    heddle__found_lid__init(l);
    l->port_guid = port_guid;
    l->lid = lid;
    l->lmc = lmc;
    g_ptr_array_add(c->lid_backup, l);
}

void persist_back_up_lids(struct shard_core *c, uint32_t domain, const Heddle__Delta *d)
{
    const struct owned_domain *own = core_owned(c, domain);
    if (!own || own->step < OWNED_SETUP)
        return;
    for (size_t i = 0; i < d->n_switches; i++) {
        const struct view_switch *s = view_switch(c->view, d->switches[i]->guid);
        if (s)
            back_up(c, mad_get_field64((void *)s->nodeinfo, 0, IB_NODE_PORT_GUID_F),
                    view_switch_lid(s), 0);
    }
    for (size_t i = 0; i < d->n_end_ports; i++)
        back_up(c, d->end_ports[i]->port_guid, d->end_ports[i]->lid, d->end_ports[i]->lmc);
}

void persist_send_backup(struct shard_core *c)
{
    guint n = c->lid_backup->len;
    for (guint k = 0; n && k < c->cfg.coordinators->len; k++) {
        Heddle__LidBackup *b = g_new0(Heddle__LidBackup, 1);
        heddle__lid_backup__init(b);
        b->lids = g_new0(Heddle__FoundLid *, n);
        for (guint i = 0; i < n; i++) {
            const Heddle__FoundLid *from = g_ptr_array_index(c->lid_backup, i);
            Heddle__FoundLid *l = g_new0(Heddle__FoundLid, 1);
            heddle__found_lid__init(l);
            l->port_guid = from->port_guid;
            l->lid = from->lid;
            l->lmc = from->lmc;
            b->lids[b->n_lids++] = l;
        }
        core_send(c, SHARD_CONTROL, g_ptr_array_index(c->cfg.coordinators, k),
                  HEDDLE__MESSAGE_TYPE__MSG_LID_BACKUP, 0, 0, 0, (ProtobufCMessage *)b);
    }
    for (guint i = 0; i < n; i++)
        heddle__found_lid__free_unpacked(g_ptr_array_index(c->lid_backup, i), NULL);
    g_ptr_array_set_size(c->lid_backup, 0);
}

void persist_incarnation(struct shard_core *c)
{
    uint64_t be = GUINT64_TO_BE(c->incarnation);
    core_store(c, "meta", g_bytes_new_static("incarnation", 11), g_bytes_new(&be, sizeof be));
}

/* A value of the store is checked as a message from a peer is; NULL when it is not sound. */
static void *load(const ProtobufCMessageDescriptor *descriptor, GBytes *value)
{
    gsize len;
    const uint8_t *bytes = g_bytes_get_data(value, &len);
    ProtobufCMessage *m = NULL;
    char error[128];
    return check_unpack(descriptor, bytes, len, &m, error, sizeof error) == 0 ? m : NULL;
}

static bool load_switch(Heddle__Delta *d, GBytes *value)
{
    Heddle__SwitchRecord *r = load(&heddle__switch_record__descriptor, value);
    if (r)
        view_delta_add_switch(d, r);
    return r != NULL;
}

static bool load_end_port(struct shard_core *c, Heddle__Delta *d, GBytes *value)
{
    Heddle__EndPortRecord *r = load(&heddle__end_port_record__descriptor, value);
    if (!r)
        return false;
    if (r->lid && r->lid <= RT_MAX_LID)
        g_hash_table_insert(c->known_lids, guid_key(r->port_guid), GUINT_TO_POINTER(r->lid));
    view_delta_add_end_port(d, r);
    return true;
}

static bool load_numbers(Heddle__Delta *d, GBytes *value)
{
    Heddle__LeafNumbers *l = load(&heddle__leaf_numbers__descriptor, value);
    if (!l)
        return false;
    d->numbers = g_renew(Heddle__LeafNumbers *, d->numbers, d->n_numbers + 1);
    d->numbers[d->n_numbers++] = l;
    return true;
}

static bool load_domain(struct shard_core *c, GBytes *value)
{
    Heddle__DomainReport *r = load(&heddle__domain_report__descriptor, value);
    if (!r)
        return false;
    Heddle__Delta *d = delta_new();
    d->state = r->state;
    r->state = NULL;
    view_apply(c->view, r->domain, d);
    view_set_position(c->view, r->domain, r->epoch, r->seq);
    heddle__delta__free_unpacked(d, NULL);
    heddle__domain_report__free_unpacked(r, NULL);
    return true;
}

void persist_load(struct shard_core *c)
{
    Heddle__Delta *d = delta_new();
    unsigned bad = 0;
    for (guint i = 0; c->cfg.stored && i < c->cfg.stored->len; i++) {
        const struct shard_stored *s = g_ptr_array_index(c->cfg.stored, i);
        bool ok = true;
        if (strcmp(s->table, "switch") == 0)
            ok = load_switch(d, s->value);
        else if (strcmp(s->table, "endport") == 0)
            ok = load_end_port(c, d, s->value);
        else if (strcmp(s->table, "numbers") == 0)
            ok = load_numbers(d, s->value);
        else if (strcmp(s->table, "domain") == 0)
            ok = load_domain(c, s->value);
        bad += !ok;
    }
    view_apply(c->view, 0, d);
    /* LIDs of switches, as the ones of end ports, are kept over a restart. */
    const GPtrArray *switches = view_switches(c->view);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        uint64_t port_guid = mad_get_field64((void *)s->nodeinfo, 0, IB_NODE_PORT_GUID_F);
        if (view_switch_lid(s))
            g_hash_table_insert(c->known_lids, g_memdup2(&port_guid, sizeof port_guid),
                                GUINT_TO_POINTER(view_switch_lid(s)));
    }
    heddle__delta__free_unpacked(d, NULL);
    if (bad)
        core_log(c, HL_WARNING, "store_values_unreadable",
                 "count=%u hint=\"they are read again from peers and fabric\"", bad);
}
