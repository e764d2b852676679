/* SPDX-License-Identifier: BSD-2-Clause */
/* Traps: repressed, and answered by looking at the one switch that they are about. */
#include "shard/traps.h"

#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/explore.h"
#include "shard/sweep.h"

enum { TRAP_PORT_STATE = 128, TRAP_CAPABILITIES = 144 }; /* IBA 14.2.5.1 */

static void repress(struct shard_core *c, const uint8_t *mad, const struct mad_address *from)
{
    uint8_t answer[MAD_BYTES];
    memcpy(answer, mad, sizeof answer);
    mad_set_field(answer, 0, IB_MAD_METHOD_F, MAD_TRAP_REPRESS);
    core_send_mad(c, answer, sizeof answer, from, 0, false);
}

/* The switch that the port with this LID is, or hangs on. */
static uint64_t switch_of_lid(const struct shard_core *c, uint16_t lid)
{
    struct view_switch *s;
    struct view_end_port *e;
    if (!view_by_lid(c->view, lid, &s, &e))
        return 0;
    return s ? s->guid : e->switch_guid;
}

void traps_received(struct shard_core *c, const uint8_t *mad, const struct mad_address *from)
{
    uint8_t *notice = (uint8_t *)smp_data_const(mad);
    repress(c, mad, from);
    if (!mad_get_field(notice, 0, IB_NOTICE_IS_GENERIC_F))
        return;
    unsigned number = mad_get_field(notice, 0, IB_NOTICE_TRAP_NUMBER_F);
    uint16_t lid = (uint16_t)mad_get_field(notice, 0, IB_NOTICE_ISSUER_LID_F);
    if (number == TRAP_PORT_STATE)
        lid = (uint16_t)mad_get_field(notice, 0, IB_NOTICE_DATA_LID_F);
    else if (number == TRAP_CAPABILITIES)
        lid = (uint16_t)mad_get_field(notice, 0, IB_NOTICE_DATA_144_LID_F);
    uint64_t guid = switch_of_lid(c, lid);
    core_log(c, HL_INFO, "trap", "number=%u lid=%u switch=0x%016" PRIx64, number, lid, guid);
    /* A trap of a port that nobody knows yet: the reading that finds the port sees it as it is. */
    if (!guid || !core_owned_switch(c, guid))
        return;
    if (number == TRAP_PORT_STATE)
        sweep_switch(c, guid, true);
    else if (number == TRAP_CAPABILITIES)
        explore_reread(c, guid);
}
