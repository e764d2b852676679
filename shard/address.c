/* SPDX-License-Identifier: BSD-2-Clause */
/* How an SMP reaches a switch or an end port: LID routed where that works, else directed. */
#include <infiniband/mad.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/paths.h"
#include "shard/portinfo.h"
#include "shard/tables.h"

#define DIRECTED_AFTER_LOSS_MS 2000u

/* Every switch holds the tables of the present view: LID-routed packets arrive. */
static bool fabric_programmed(const struct shard_core *c)
{
    const uint8_t *digest = tables_digest(c);
    for (size_t i = 0; digest && i < c->assignment->n_domains; i++) {
        const Heddle__Domain *d = c->assignment->domains[i];
        const struct view_domain *v = view_domain(c->view, d->id);
        if (d->id == 0 || d->n_switches == 0)
            continue;
        if (!v || v->phase != HEDDLE__DOMAIN_PHASE__PHASE_RUNNING || !v->has_programmed ||
            memcmp(v->programmed_digest, digest, 32) != 0)
            return false;
    }
    return digest != NULL;
}

/* Besides, the own port must be ACTIVE with the LID we think, and no LID-routed SMP of ours have
 * been lost of late: then directed routes find their way round what is broken. */
static bool lid_routing_works(const struct shard_core *c)
{
    return c->own.state == PORT_STATE_ACTIVE && c->own.lid && c->own.lid == core_own_lid(c) &&
           c->now_ms >= c->directed_until_ms && fabric_programmed(c);
}

void core_unanswered(struct shard_core *c, const struct smp_request *r)
{
    if (!r->directed)
        c->directed_until_ms = c->now_ms + DIRECTED_AFTER_LOSS_MS;
}

bool core_address_switch(struct shard_core *c, uint64_t guid, struct smp_request *r)
{
    const struct view_switch *s = view_switch(c->view, guid);
    if (s && s->reachable && lid_routing_works(c) && view_switch_lid(s)) {
        r->directed = false;
        r->dlid = view_switch_lid(s);
        return true;
    }
    r->directed = true;
    return paths_to_switch(c, guid, &r->path);
}

bool core_address_end_port(struct shard_core *c, const struct view_end_port *e,
                           struct smp_request *r)
{
    const struct view_switch *s = view_switch(c->view, e->switch_guid);
    if (s && lid_routing_works(c) && e->lid && e->present &&
        mad_get_field((void *)e->portinfo, 0, IB_PORT_STATE_F) == PORT_STATE_ACTIVE &&
        mad_get_field((void *)e->portinfo, 0, IB_PORT_LID_F) == e->lid) {
        r->directed = false;
        r->dlid = e->lid;
        return true;
    }
    r->directed = true;
    return paths_to_switch(c, e->switch_guid, &r->path) && dr_path_extend(&r->path, e->switch_port);
}
