/* SPDX-License-Identifier: BSD-2-Clause */
/* The local port, asked by MAD: GUIDs, LID, state, and the leaf switch that it hangs on. */
#include "shard/own_port.h"

#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/contact.h"
#include "shard/core_internal.h"
#include "shard/explore.h"
#include "shard/paths.h"
#include "shard/portinfo.h"

#define ASK_MS 100u   /* until everything is known */
#define AGAIN_MS 500u /* afterwards: LID and state can be changed by others */

enum { ASK_NODE, ASK_PORT, ASK_LEAF };

/* A shard whose port is Down can do nothing for its domains: it falls silent, so that they get
 * another owner, and joins again when the port is back. */
static void port_state_seen(struct shard_core *c)
{
    bool dead = c->own.state == PORT_STATE_DOWN;
    if (dead == c->port_dead)
        return;
    c->port_dead = dead;
    core_log(c, dead ? HL_ERROR : HL_NOTICE, dead ? "local_port_down" : "local_port_up",
             "port_guid=0x%016" PRIx64, c->own.port_guid);
    contact_unsure(c);
    if (!dead)
        contact_rejoin(c);
}

static void answered(void *user, uint64_t what, const struct smp_request *r, int error,
                     const uint8_t *mad)
{
    struct shard_core *c = user;
    struct own_port *o = &c->own;
    if (error)
        return;
    uint8_t *data = (uint8_t *)smp_data_const(mad);
    if (what == ASK_NODE) {
        o->node_guid = mad_get_field64(data, 0, IB_NODE_GUID_F);
        o->port_guid = mad_get_field64(data, 0, IB_NODE_PORT_GUID_F);
        o->num = (uint8_t)mad_get_field(data, 0, IB_NODE_LOCAL_PORT_F);
        o->known = o->port_guid != 0 && mad_get_field(data, 0, IB_NODE_TYPE_F) != IB_NODE_SWITCH;
        if (!o->known && !o->refused_said)
            core_log(c, HL_ERROR, "local_port_unusable",
                     "node_guid=0x%016" PRIx64 " reason=\"the local node is a switch\" "
                     "hint=\"run the shard on a host's port\"",
                     o->node_guid);
        o->refused_said = !o->known;
    } else if (what == ASK_PORT) {
        o->lid = (uint16_t)mad_get_field(data, 0, IB_PORT_LID_F);
        o->state = (uint8_t)portinfo_state(data);
        o->phys_state = (uint8_t)mad_get_field(data, 0, IB_PORT_PHYS_STATE_F);
        port_state_seen(c);
    } else if (mad_get_field(data, 0, IB_NODE_TYPE_F) == IB_NODE_SWITCH) {
        uint64_t leaf = mad_get_field64(data, 0, IB_NODE_GUID_F);
        if (leaf != o->leaf_guid) {
            o->leaf_guid = leaf;
            paths_changed(c);
            explore_wake(c);
        }
        o->leaf_port = (uint8_t)mad_get_field(data, 0, IB_NODE_LOCAL_PORT_F);
    }
}

static void ask(struct shard_core *c, unsigned what, uint16_t attribute, unsigned out_port)
{
    struct smp_request r = {.method = MAD_GET,
                            .attribute = attribute,
                            .directed = true,
                            .target = 1 + what,
                            .retries = 0,
                            .urgent = true,
                            .done = answered,
                            .user = c,
                            .tag = what};
    if (out_port && !dr_path_extend(&r.path, out_port))
        return;
    smpq_submit(c->smpq, &r, c->now_ms);
}

void own_port_pump(struct shard_core *c)
{
    if (c->now_ms < c->own_next_ms || c->stepped_down)
        return;
    if (!c->own.known)
        ask(c, ASK_NODE, SMP_NODE_INFO, 0);
    ask(c, ASK_PORT, SMP_PORT_INFO, 0);
    if (c->own.known)
        ask(c, ASK_LEAF, SMP_NODE_INFO, c->own.num);
    c->own_next_ms = c->now_ms + (c->own.known && c->own.leaf_guid ? AGAIN_MS : ASK_MS);
}

uint64_t own_port_deadline(const struct shard_core *c)
{
    return c->stepped_down ? UINT64_MAX : c->own_next_ms;
}
