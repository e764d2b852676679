/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port's PortInfo should be, by OpenSM's options and defaults. */
#include "shard/portinfo.h"

#include <infiniband/mad.h>
#include <string.h>

#define CAPMASK_CLIENT_REREGISTER (1u << 25)
#define CAPMASK_EXTENDED_SPEEDS (1u << 14)
#define WIDTH_SUPPORTED 255u /* "set to LinkWidthSupported" */
#define SPEED_SUPPORTED 15u
#define SPEED_EXT_SUPPORTED 31u

static unsigned get(const uint8_t *pi, enum MAD_FIELDS field)
{
    return mad_get_field((void *)pi, 0, field);
}

static void put(uint8_t *pi, enum MAD_FIELDS field, unsigned value)
{
    mad_set_field(pi, 0, field, value);
}

unsigned portinfo_state(const uint8_t *portinfo)
{
    return get(portinfo, IB_PORT_STATE_F);
}

bool portinfo_link_up(const uint8_t *portinfo)
{
    return get(portinfo, IB_PORT_PHYS_STATE_F) == 5 && portinfo_state(portinfo) >= PORT_STATE_INIT;
}

/* Fields that mean "change" when written back as read. */
static void clear_commands(uint8_t *pi)
{
    put(pi, IB_PORT_STATE_F, PORT_STATE_NO_CHANGE);
    put(pi, IB_PORT_PHYS_STATE_F, 0);
    put(pi, IB_PORT_LINK_DOWN_DEF_F, 0);
    put(pi, IB_PORT_CLIENT_REREG_F, 0);
    put(pi, IB_PORT_MKEY_VIOL_F, 0);
    put(pi, IB_PORT_PKEY_VIOL_F, 0);
    put(pi, IB_PORT_QKEY_VIOL_F, 0);
}

/* Enabled widths and speeds: the option's value, where the default means "all supported" and is
 * written only when the port has something else; never on a link that carries traffic, since
 * writing may retrain it. */
static void want_enabled(uint8_t *pi, const uint8_t *current, const Heddle__SubnetOptions *o)
{
    if (portinfo_state(current) == PORT_STATE_ACTIVE)
        return;
    unsigned width = o->force_link_width ? o->force_link_width : WIDTH_SUPPORTED;
    unsigned supported = get(current, IB_PORT_LINK_WIDTH_SUPPORTED_F);
    if (width != WIDTH_SUPPORTED || get(current, IB_PORT_LINK_WIDTH_ENABLED_F) != supported)
        put(pi, IB_PORT_LINK_WIDTH_ENABLED_F, width);
    unsigned speed = o->force_link_speed ? o->force_link_speed : SPEED_SUPPORTED;
    supported = get(current, IB_PORT_LINK_SPEED_SUPPORTED_F);
    if (speed != SPEED_SUPPORTED || get(current, IB_PORT_LINK_SPEED_ENABLED_F) != supported)
        put(pi, IB_PORT_LINK_SPEED_ENABLED_F, speed);
    if (!(get(current, IB_PORT_CAPMASK_F) & CAPMASK_EXTENDED_SPEEDS))
        return;
    unsigned ext = o->force_link_speed_ext ? o->force_link_speed_ext : SPEED_EXT_SUPPORTED;
    supported = get(current, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F);
    if (ext != SPEED_EXT_SUPPORTED || get(current, IB_PORT_LINK_SPEED_EXT_ENABLED_F) != supported)
        put(pi, IB_PORT_LINK_SPEED_EXT_ENABLED_F, ext);
}

/* NeighborMTU is the lesser MTUCap of both ends, OperationalVLs the lesser VLCap and the option.
 * They are left alone on a link that carries traffic: a change needs a retrained link. */
static void want_link(uint8_t *pi, const uint8_t *current, const struct portinfo_wish *w,
                      const Heddle__SubnetOptions *o)
{
    if (!w->peer || portinfo_state(current) == PORT_STATE_ACTIVE)
        return;
    unsigned mtu = get(current, IB_PORT_MTU_CAP_F), peer_mtu = get(w->peer, IB_PORT_MTU_CAP_F);
    put(pi, IB_PORT_NEIGHBOR_MTU_F, peer_mtu && peer_mtu < mtu ? peer_mtu : mtu);
    unsigned vls = get(current, IB_PORT_VL_CAP_F), peer_vls = get(w->peer, IB_PORT_VL_CAP_F);
    if (peer_vls && peer_vls < vls)
        vls = peer_vls;
    if (o->max_op_vls && o->max_op_vls < vls)
        vls = o->max_op_vls;
    put(pi, IB_PORT_OPER_VLS_F, vls);
}

static void want_address(uint8_t *pi, const uint8_t *current, const struct portinfo_wish *w,
                         const Heddle__SubnetOptions *o)
{
    put(pi, IB_PORT_LID_F, w->lid);
    put(pi, IB_PORT_SMLID_F, w->sm_lid);
    put(pi, IB_PORT_SMSL_F, o->sm_sl);
    mad_set_field64(pi, 0, IB_PORT_GID_PREFIX_F, o->subnet_prefix);
    put(pi, IB_PORT_SUBN_TIMEOUT_F, o->subnet_timeout);
    put(pi, IB_PORT_LMC_F, w->role == PORT_END ? w->lmc : 0);
    /* Hosts learn of a new manager by this event only (DESIGN, Hosts). */
    if (get(current, IB_PORT_SMLID_F) != w->sm_lid &&
        get(current, IB_PORT_CAPMASK_F) & CAPMASK_CLIENT_REREGISTER)
        put(pi, IB_PORT_CLIENT_REREG_F, 1);
}

void portinfo_wanted(const uint8_t *current, const struct portinfo_wish *w,
                     const Heddle__SubnetOptions *o, uint8_t wanted[64])
{
    memcpy(wanted, current, 64);
    clear_commands(wanted);
    if (w->role != PORT_EXTERNAL)
        want_address(wanted, current, w, o);
    if (w->role == PORT_MANAGEMENT) {
        put(wanted, IB_PORT_NEIGHBOR_MTU_F, get(current, IB_PORT_MTU_CAP_F));
    } else {
        want_enabled(wanted, current, o);
        want_link(wanted, current, w, o);
        put(wanted, IB_PORT_STATE_F, w->state);
    }
    if (w->role == PORT_EXTERNAL) {
        put(wanted, IB_PORT_VL_STALL_COUNT_F, w->leaf ? o->leaf_vl_stall_count : o->vl_stall_count);
        put(wanted, IB_PORT_HOQ_LIFE_F,
            w->leaf ? o->leaf_head_of_queue_lifetime : o->head_of_queue_lifetime);
    }
    put(wanted, IB_PORT_LOCAL_PHYS_ERR_F, o->local_phy_errors_threshold);
    put(wanted, IB_PORT_OVERRUN_ERR_F, o->overrun_errors_threshold);
}

/* A field that the port took a value for and shows otherwise is one that it does not keep. */
static bool field_missing(const uint8_t *current, const uint8_t *wanted, const uint8_t *accepted,
                          enum MAD_FIELDS field)
{
    unsigned value = get(wanted, field);
    return get(current, field) != value && (!accepted || get(accepted, field) != value);
}

bool portinfo_set_needed(const uint8_t *current, const uint8_t *wanted,
                         const struct portinfo_wish *w, const uint8_t *accepted)
{
    static const enum MAD_FIELDS address[] = {IB_PORT_LID_F, IB_PORT_SMLID_F, IB_PORT_SMSL_F,
                                              IB_PORT_SUBN_TIMEOUT_F, IB_PORT_LMC_F};
    static const enum MAD_FIELDS link[] = {
        IB_PORT_LINK_WIDTH_ENABLED_F,     IB_PORT_LINK_SPEED_ENABLED_F, IB_PORT_NEIGHBOR_MTU_F,
        IB_PORT_OPER_VLS_F,               IB_PORT_VL_STALL_COUNT_F,     IB_PORT_HOQ_LIFE_F,
        IB_PORT_LINK_SPEED_EXT_ENABLED_F, IB_PORT_LOCAL_PHYS_ERR_F,     IB_PORT_OVERRUN_ERR_F};
    if (w->state != PORT_STATE_NO_CHANGE)
        return true;
    for (size_t i = 0; w->role != PORT_EXTERNAL && i < sizeof address / sizeof address[0]; i++) {
        if (field_missing(current, wanted, accepted, address[i]))
            return true;
    }
    uint64_t prefix = mad_get_field64((void *)wanted, 0, IB_PORT_GID_PREFIX_F);
    if (w->role != PORT_EXTERNAL &&
        mad_get_field64((void *)current, 0, IB_PORT_GID_PREFIX_F) != prefix &&
        (!accepted || mad_get_field64((void *)accepted, 0, IB_PORT_GID_PREFIX_F) != prefix))
        return true;
    for (size_t i = 0; w->role != PORT_MANAGEMENT && i < sizeof link / sizeof link[0]; i++) {
        if (field_missing(current, wanted, accepted, link[i]))
            return true;
    }
    return false;
}
