/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reading of one of our switches changes in the view: a delta of the difference. */
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/explore.h"
#include "shard/keys.h"
#include "shard/lids.h"
#include "shard/paths.h"
#include "shard/portinfo.h"
#include "shard/reader.h"
#include "shard/setup.h"
#include "shard/sminfo.h"
#include "shard/tables.h"

struct merge { /* one reading being merged */
    struct shard_core *c;
    struct owned_domain *d;
    struct reading *r;
    Heddle__Delta *delta;
    struct lid_book *book; /* made when a LID is needed */
    bool changed;
};

static struct lid_book *book(struct merge *m)
{
    if (!m->book)
        m->book = lid_book_create(m->c);
    return m->book;
}

/* A node that answers in two places at once: the first place keeps it. */
static bool is_duplicate(struct merge *m, const struct view_end_port *e)
{
    const struct view_end_port *known = view_end_port(m->c->view, e->node_guid, e->num);
    if (view_switch(m->c->view, e->node_guid))
        return true;
    if (!known || !known->present ||
        (known->switch_guid == e->switch_guid && known->switch_port == e->switch_port))
        return false;
    const struct view_switch *s = view_switch(m->c->view, known->switch_guid);
    if (!s || !s->reachable || known->switch_port > s->nports)
        return false;
    const struct view_port *p = &s->ports[known->switch_port];
    if (known->switch_guid == m->r->guid)
        p = &m->r->ports[known->switch_port].port; /* as it is now */
    return p->have_info && portinfo_link_up(p->portinfo) && p->peer_guid == e->node_guid &&
           p->peer_port == e->num;
}

static bool quarantine(struct merge *m, const struct view_end_port *e)
{
    struct shard_core *c = m->c;
    struct port_key place = {e->switch_guid, e->switch_port};
    if (!is_duplicate(m, e)) {
        g_hash_table_remove(c->quarantined, &place);
        return false;
    }
    const struct view_end_port *known = view_end_port(c->view, e->node_guid, e->num);
    const uint64_t *said = g_hash_table_lookup(c->quarantined, &place);
    if (!said || *said != e->node_guid) {
        core_log(c, HL_WARNING, "duplicate_guid",
                 "node_guid=0x%016" PRIx64 " here=\"switch 0x%016" PRIx64
                 " port %u\" first=\"switch 0x%016" PRIx64
                 " port %u\" hint=\"the second one is left out of the fabric\"",
                 e->node_guid, e->switch_guid, e->switch_port, known ? known->switch_guid : 0,
                 known ? known->switch_port : 0);
        g_hash_table_replace(c->quarantined, g_memdup2(&place, sizeof place),
                             guid_key(e->node_guid));
        /* It may have moved and the news of its old place be under way. */
        if (known && core_owned_switch(c, known->switch_guid))
            explore_reread(c, known->switch_guid);
    }
    return true;
}

static void end_port_gone(struct merge *m, struct view_end_port *e)
{
    Heddle__EndPortRecord *rec = view_pack_end_port(e);
    rec->present = false;
    view_delta_add_end_port(m->delta, rec);
    setup_unconfirm(m->c, e->node_guid, e->num);
    sminfo_port_gone(m->c, m->d, e->port_guid);
    m->changed = true;
}

static bool same_end_port(const struct view_end_port *a, const struct view_end_port *b)
{
    return a->port_guid == b->port_guid && a->switch_guid == b->switch_guid &&
           a->switch_port == b->switch_port && a->lid == b->lid && a->lmc == b->lmc &&
           a->present == b->present && memcmp(a->nodeinfo, b->nodeinfo, sizeof a->nodeinfo) == 0 &&
           memcmp(a->portinfo, b->portinfo, sizeof a->portinfo) == 0 &&
           strcmp(a->description, b->description) == 0;
}

static void end_port_seen(struct merge *m, struct view_end_port *e)
{
    struct shard_core *c = m->c;
    const struct view_end_port *known = view_end_port(c->view, e->node_guid, e->num);
    uint16_t found = (uint16_t)mad_get_field(e->portinfo, 0, IB_PORT_LID_F);
    e->lid = known ? known->lid : 0;
    e->lmc = known ? known->lmc : 0;
    if (!e->lid && m->d->step >= OWNED_SETUP) {
        e->lmc = (uint8_t)core_options(c)->lmc;
        e->lid = lid_book_assign(book(m), c, m->d, e->port_guid, 0, found, e->lmc);
    }
    if (e->lid &&
        (found != e->lid || mad_get_field(e->portinfo, 0, IB_PORT_SMLID_F) != core_own_lid(c)))
        setup_unconfirm(c, e->node_guid, e->num);
    sminfo_check_end_port(c, e);
    if (known && same_end_port(known, e))
        return;
    view_delta_add_end_port(m->delta, view_pack_end_port(e));
    m->changed = true;
}

static void merge_ends(struct merge *m)
{
    for (unsigned n = 1; n <= m->r->sw.nports; n++) {
        struct reading_port *p = &m->r->ports[n];
        struct view_end_port *known = view_end_port_at(m->c->view, m->r->guid, n);
        struct port_key place = {m->r->guid, (uint8_t)n};
        if (!p->end)
            g_hash_table_remove(m->c->quarantined, &place);
        bool ours = p->end && !quarantine(m, p->end);
        if (known && known->present &&
            (!ours || known->node_guid != p->end->node_guid || known->num != p->end->num))
            end_port_gone(m, known);
        if (ours)
            end_port_seen(m, p->end);
        else if (p->peer_type != IB_NODE_SWITCH)
            p->port.peer_guid = p->port.peer_port = 0; /* mute, or left out */
    }
}

static bool same_switch(const struct view_switch *a, const struct view_switch *b)
{
    if (a->nports != b->nports || a->reachable != b->reachable ||
        memcmp(a->nodeinfo, b->nodeinfo, sizeof a->nodeinfo) ||
        memcmp(a->switchinfo, b->switchinfo, sizeof a->switchinfo) ||
        strcmp(a->description, b->description))
        return false;
    for (unsigned n = 0; n <= a->nports; n++) {
        const struct view_port *x = &a->ports[n], *y = &b->ports[n];
        if (x->peer_guid != y->peer_guid || x->peer_port != y->peer_port ||
            x->have_info != y->have_info || memcmp(x->portinfo, y->portinfo, sizeof x->portinfo))
            return false;
    }
    return true;
}

static void merge_switch(struct merge *m)
{
    struct shard_core *c = m->c;
    struct view_switch *s = &m->r->sw;
    const struct view_switch *known = view_switch(c->view, s->guid);
    s->ports = g_new0(struct view_port, s->nports + 1u);
    for (unsigned n = 0; n <= s->nports; n++)
        s->ports[n] = m->r->ports[n].port;
    uint16_t found = view_switch_lid(s);
    uint16_t lid = known && m->d->step >= OWNED_SETUP ? view_switch_lid(known) : found;
    if (m->d->step >= OWNED_SETUP) {
        uint64_t port_guid = mad_get_field64(s->nodeinfo, 0, IB_NODE_PORT_GUID_F);
        if (!known || !lid)
            lid = lid_book_assign(book(m), c, m->d, port_guid, lid, found, 0);
        if (found != lid ||
            mad_get_field(s->ports[0].portinfo, 0, IB_PORT_SMLID_F) != core_own_lid(c))
            setup_unconfirm(c, s->guid, 0);
    }
    mad_set_field(s->ports[0].portinfo, 0, IB_PORT_LID_F, lid);
    tables_switch_seen(c, s->guid, s->switchinfo, !known || !known->reachable);
    if (!known || !same_switch(known, s)) {
        view_delta_add_switch(m->delta, view_pack_switch(s));
        m->changed = true;
    }
    g_clear_pointer(&s->ports, g_free);
}

void domain_take_reading(struct shard_core *c, struct owned_domain *d, struct reading *r)
{
    struct merge m = {c, d, r, delta_new(), NULL, false};
    merge_ends(&m);
    merge_switch(&m);
    lid_book_destroy(m.book);
    if (m.changed) {
        domain_dirty_state(c, d);
        domain_publish(c, d, m.delta);
        paths_changed(c);
    } else {
        heddle__delta__free_unpacked(m.delta, NULL);
    }
    setup_wake_switch(c, r->guid);
    setup_wake_neighbours(c, r->guid);
}

void domain_switch_unreachable(struct shard_core *c, uint64_t guid)
{
    struct owned_domain *d = core_owned_switch(c, guid);
    struct view_switch *s = view_switch(c->view, guid);
    if (!d || !s || !s->reachable)
        return;
    Heddle__Delta *delta = delta_new();
    Heddle__SwitchRecord *rec = view_pack_switch(s);
    rec->reachable = false;
    view_delta_add_switch(delta, rec);
    /* What hangs on it is out of reach with it; the reading that finds it again finds both. */
    for (unsigned n = 1; n <= s->nports; n++) {
        const struct view_end_port *e = view_end_port_at(c->view, guid, n);
        if (!e || !e->present)
            continue;
        Heddle__EndPortRecord *gone = view_pack_end_port(e);
        gone->present = false;
        view_delta_add_end_port(delta, gone);
        setup_unconfirm(c, e->node_guid, e->num);
        sminfo_port_gone(c, d, e->port_guid);
    }
    domain_dirty_state(c, d);
    domain_publish(c, d, delta);
    paths_changed(c);
}
