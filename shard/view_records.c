/* SPDX-License-Identifier: BSD-2-Clause */
/* The view: records in and out, as deltas and snapshots. */
#include "shard/view_private.h"

#include <string.h>

#define NODEINFO_BYTES 40u
#define SWITCHINFO_BYTES 20u
#define PORTINFO_BYTES 64u
#define DIGEST_BYTES 32u
#define NODEINFO_NUM_PORTS 3u /* offset, IBA 14.2.5.3 */

/* -- applying -- */

/* Copies an attribute where the record has it; true when that changed the bytes. */
static bool take_bytes(uint8_t *to, const ProtobufCBinaryData *from, size_t size)
{
    if (from->len != size || memcmp(to, from->data, size) == 0)
        return false;
    memcpy(to, from->data, size);
    return true;
}

static void take_description(char to[65], const ProtobufCBinaryData *from)
{
    memset(to, 0, 65);
    if (from->len > 0)
        memcpy(to, from->data, MIN(from->len, 64));
}

static unsigned record_nports(const Heddle__SwitchRecord *r)
{
    unsigned nports = 0;
    if (r->nodeinfo.len == NODEINFO_BYTES)
        return MIN(r->nodeinfo.data[NODEINFO_NUM_PORTS], VIEW_MAX_SWITCH_PORTS);
    for (size_t i = 0; i < r->n_ports; i++)
        nports = MAX(nports, r->ports[i]->num);
    return MIN(nports, VIEW_MAX_SWITCH_PORTS);
}

/* A hash of what came so far and one more value. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0xBF58476D1CE4E5B9);
    return hash ^ (hash >> 29);
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, &bytes[i], MIN(sizeof word, size - i));
        hash = mix(hash, word);
    }
    return hash;
}

/* Keeps the hashes of a record; what differs from those of the last delta. */
static unsigned note(uint64_t *routing, uint64_t *ports, uint64_t new_routing, uint64_t new_ports)
{
    unsigned changed = 0;
    if (*routing != new_routing)
        changed |= VIEW_CHANGED_ROUTING;
    if (*ports != new_ports)
        changed |= VIEW_CHANGED_PORTS;
    *routing = new_routing;
    *ports = new_ports;
    return changed;
}

static unsigned note_switch(struct switch_entry *s)
{
    uint64_t routing = mix(mix(1, s->s.nports), s->s.reachable), ports = 1;
    routing = mix(mix(routing, s->claimed_lid), s->claimed_lmc);
    for (unsigned num = 0; num <= s->s.nports; num++) {
        const struct view_port *p = &s->s.ports[num];
        routing = mix(mix(mix(routing, p->peer_guid), p->peer_port), view_port_up(p));
        ports = mix_bytes(mix(ports, p->have_info), p->portinfo, PORTINFO_BYTES);
    }
    return note(&s->routing_hash, &s->ports_hash, routing, ports);
}

static unsigned note_end_port(struct end_port_entry *entry)
{
    const struct view_end_port *e = &entry->e;
    uint64_t routing = mix(mix(mix(2, e->port_guid), e->switch_guid), e->switch_port);
    routing = mix(mix(mix(routing, e->lid), e->lmc), e->present);
    routing = mix(routing, view_end_port_kind(e));
    return note(&entry->routing_hash, &entry->ports_hash, routing,
                mix_bytes(2, e->portinfo, PORTINFO_BYTES));
}

static void apply_port(struct view_port *p, const Heddle__PortRecord *r)
{
    p->peer_guid = r != NULL ? r->peer_guid : 0;
    p->peer_port = r != NULL ? (uint8_t)r->peer_port : 0;
    p->have_info = r != NULL && r->portinfo.len == PORTINFO_BYTES;
    if (p->have_info)
        memcpy(p->portinfo, r->portinfo.data, PORTINFO_BYTES);
    else
        memset(p->portinfo, 0, PORTINFO_BYTES);
}

static void apply_ports(struct view_switch *s, const Heddle__SwitchRecord *r)
{
    const Heddle__PortRecord *by_num[VIEW_MAX_SWITCH_PORTS + 1] = {NULL};
    for (size_t i = 0; i < r->n_ports; i++)
        if (r->ports[i]->num <= s->nports)
            by_num[r->ports[i]->num] = r->ports[i];
    for (unsigned num = 0; num <= s->nports; num++)
        apply_port(&s->ports[num], by_num[num]);
}

static unsigned apply_switch(struct view *v, uint32_t domain, const Heddle__SwitchRecord *r)
{
    if (r->guid == 0)
        return 0;
    struct switch_entry *s = view_put_switch(v, r->guid, record_nports(r));
    s->source = domain;
    s->s.reachable = r->reachable;
    take_bytes(s->s.nodeinfo, &r->nodeinfo, NODEINFO_BYTES);
    take_bytes(s->s.switchinfo, &r->switchinfo, SWITCHINFO_BYTES);
    take_description(s->s.description, &r->description);
    apply_ports(&s->s, r);
    view_claim_switch_lid(v, s);
    return note_switch(s);
}

static unsigned apply_end_port(struct view *v, uint32_t domain, const Heddle__EndPortRecord *r)
{
    if (r->node_guid == 0)
        return 0;
    struct end_port_entry *e = view_put_end_port(v, r->node_guid, r->num);
    view_unindex_end_port(v, e);
    e->source = domain;
    e->e.port_guid = r->port_guid;
    e->e.switch_guid = r->switch_guid;
    e->e.switch_port = (uint8_t)r->switch_port;
    e->e.lid = r->lid <= RT_MAX_LID ? (uint16_t)r->lid : 0;
    e->e.lmc = (uint8_t)(r->lmc & 7u);
    e->e.present = r->present;
    view_index_end_port(v, e);
    take_bytes(e->e.nodeinfo, &r->nodeinfo, NODEINFO_BYTES);
    take_bytes(e->e.portinfo, &r->portinfo, PORTINFO_BYTES);
    take_description(e->e.description, &r->description);
    view_claim_end_port_lid(v, e);
    return note_end_port(e);
}

static bool take_digest(uint8_t digest[DIGEST_BYTES], bool *has, const ProtobufCBinaryData *from)
{
    bool had = *has;
    *has = from->len == DIGEST_BYTES;
    if (!*has) {
        memset(digest, 0, DIGEST_BYTES);
        return had;
    }
    return take_bytes(digest, from, DIGEST_BYTES) || !had;
}

static unsigned apply_state(struct view *v, uint32_t domain, const Heddle__DomainState *r)
{
    struct view_domain *d = view_need_domain(v, domain);
    bool changed = d->phase != r->phase || d->ports_with_link != r->ports_with_link ||
                   d->ports_active != r->ports_active ||
                   d->ports_without_peer != r->ports_without_peer ||
                   d->foreign_sm_guid != r->foreign_sm_guid;
    d->phase = r->phase;
    d->ports_with_link = r->ports_with_link;
    d->ports_active = r->ports_active;
    d->ports_without_peer = r->ports_without_peer;
    d->foreign_sm_guid = r->foreign_sm_guid;
    changed |= take_digest(d->intent_digest, &d->has_intent, &r->intent_digest);
    changed |= take_digest(d->programmed_digest, &d->has_programmed, &r->programmed_digest);
    return changed ? VIEW_CHANGED_STATE : 0;
}

static unsigned apply_numbers(struct view *v, const Heddle__LeafNumbers *r)
{
    unsigned changed = 0;
    struct leaf_entry *leaf = g_hash_table_lookup(v->leaves, &r->leaf_guid);
    if (leaf == NULL) {
        leaf = g_new(struct leaf_entry, 1);
        leaf->guid = r->leaf_guid;
        memset(leaf->number, 0xff, sizeof leaf->number);
        g_hash_table_insert(v->leaves, &leaf->guid, leaf);
    }
    for (size_t i = 0; i < r->n_ports && i < r->n_numbers; i++) {
        if (r->ports[i] > 255 || leaf->number[r->ports[i]] == r->numbers[i])
            continue;
        leaf->number[r->ports[i]] = r->numbers[i];
        changed = VIEW_CHANGED_ROUTING;
    }
    return changed;
}

unsigned view_apply(struct view *v, uint32_t domain, const Heddle__Delta *d)
{
    unsigned changed = 0;
    for (size_t i = 0; i < d->n_removed_switches; i++)
        if (view_remove_switch(v, d->removed_switches[i]))
            changed |= VIEW_CHANGED_ROUTING | VIEW_CHANGED_PORTS;
    for (size_t i = 0; i < d->n_removed_end_ports; i++)
        if (view_remove_end_port(v, d->removed_end_ports[i]->node_guid,
                                 d->removed_end_ports[i]->num))
            changed |= VIEW_CHANGED_ROUTING | VIEW_CHANGED_PORTS;
    for (size_t i = 0; i < d->n_switches; i++)
        changed |= apply_switch(v, domain, d->switches[i]);
    for (size_t i = 0; i < d->n_end_ports; i++)
        changed |= apply_end_port(v, domain, d->end_ports[i]);
    for (size_t i = 0; i < d->n_numbers; i++)
        changed |= apply_numbers(v, d->numbers[i]);
    if (d->state != NULL)
        changed |= apply_state(v, domain, d->state);
    return changed;
}

void view_clear_domain(struct view *v, uint32_t domain)
{
    GArray *switches = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    GPtrArray *end_ports = g_ptr_array_new();
    const GPtrArray *all = view_switches(v);
    for (guint i = 0; i < all->len; i++) {
        struct switch_entry *s = g_ptr_array_index(all, i);
        if (view_switch_home(v, s) == domain)
            g_array_append_val(switches, s->s.guid);
    }
    all = view_end_ports(v);
    for (guint i = 0; i < all->len; i++) {
        struct end_port_entry *e = g_ptr_array_index(all, i);
        if (view_end_port_home(v, e) == domain)
            g_ptr_array_add(end_ports, e);
    }
    for (guint i = 0; i < end_ports->len; i++) {
        struct view_end_port *e = g_ptr_array_index(end_ports, i);
        view_remove_end_port(v, e->node_guid, e->num);
    }
    for (guint i = 0; i < switches->len; i++)
        view_remove_switch(v, g_array_index(switches, uint64_t, i));
    g_array_free(switches, TRUE);
    g_ptr_array_free(end_ports, TRUE);
    if (domain == 0)
        g_hash_table_remove_all(v->leaves);
    g_hash_table_remove(v->domains, GUINT_TO_POINTER(domain));
    view_need_domain(v, domain);
}

/* -- packing -- */

static ProtobufCBinaryData pack_bytes(const void *data, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = size > 0 ? g_memdup2(data, size) : NULL};
}

static Heddle__PortRecord *pack_port(const struct view_port *p, unsigned num)
{
    Heddle__PortRecord *r = g_new0(Heddle__PortRecord, 1);
    heddle__port_record__init(r);
    r->num = num;
    r->peer_guid = p->peer_guid;
    r->peer_port = p->peer_port;
    if (p->have_info)
        r->portinfo = pack_bytes(p->portinfo, PORTINFO_BYTES);
    return r;
}

Heddle__SwitchRecord *view_pack_switch(const struct view_switch *s)
{
    Heddle__SwitchRecord *r = g_new0(Heddle__SwitchRecord, 1);
    heddle__switch_record__init(r);
    r->guid = s->guid;
    r->reachable = s->reachable;
    r->nodeinfo = pack_bytes(s->nodeinfo, NODEINFO_BYTES);
    /* A record that came without NodeInfo must keep its number of ports. */
    r->nodeinfo.data[NODEINFO_NUM_PORTS] = s->nports;
    r->switchinfo = pack_bytes(s->switchinfo, SWITCHINFO_BYTES);
    r->description = pack_bytes(s->description, strnlen(s->description, 64));
    r->n_ports = s->nports + 1u;
    r->ports = g_new0(Heddle__PortRecord *, r->n_ports);
    for (unsigned num = 0; num <= s->nports; num++)
        r->ports[num] = pack_port(&s->ports[num], num);
    return r;
}

Heddle__EndPortRecord *view_pack_end_port(const struct view_end_port *e)
{
    Heddle__EndPortRecord *r = g_new0(Heddle__EndPortRecord, 1);
    heddle__end_port_record__init(r);
    r->node_guid = e->node_guid;
    r->num = e->num;
    r->port_guid = e->port_guid;
    r->nodeinfo = pack_bytes(e->nodeinfo, NODEINFO_BYTES);
    r->portinfo = pack_bytes(e->portinfo, PORTINFO_BYTES);
    r->description = pack_bytes(e->description, strnlen(e->description, 64));
    r->switch_guid = e->switch_guid;
    r->switch_port = e->switch_port;
    r->present = e->present;
    r->lid = e->lid;
    r->lmc = e->lmc;
    return r;
}

Heddle__DomainState *view_pack_state(const struct view_domain *d)
{
    Heddle__DomainState *r = g_new0(Heddle__DomainState, 1);
    heddle__domain_state__init(r);
    r->phase = d->phase;
    if (d->has_intent)
        r->intent_digest = pack_bytes(d->intent_digest, DIGEST_BYTES);
    if (d->has_programmed)
        r->programmed_digest = pack_bytes(d->programmed_digest, DIGEST_BYTES);
    r->ports_with_link = d->ports_with_link;
    r->ports_active = d->ports_active;
    r->ports_without_peer = d->ports_without_peer;
    r->foreign_sm_guid = d->foreign_sm_guid;
    return r;
}

void view_delta_add_switch(Heddle__Delta *d, Heddle__SwitchRecord *r)
{
    d->switches = g_renew(Heddle__SwitchRecord *, d->switches, d->n_switches + 1);
    d->switches[d->n_switches++] = r;
}

void view_delta_add_end_port(Heddle__Delta *d, Heddle__EndPortRecord *r)
{
    d->end_ports = g_renew(Heddle__EndPortRecord *, d->end_ports, d->n_end_ports + 1);
    d->end_ports[d->n_end_ports++] = r;
}
