/* SPDX-License-Identifier: BSD-2-Clause */
/* The SA: answers to subnet administration queries from the view. Pure.
 *
 * Each shard answers for the whole fabric. A request is the reassembled MAD (a Get or a GetTable of
 * up to 256 bytes is the usual one); the response is a whole MAD or RMPP message: the 56 bytes of
 * MAD, RMPP and SA headers, followed by the records. A response that is RMPP has the RMPP header
 * set as libibumad wants it (active, type DATA) and is segmented by the kernel.
 *
 * Whatever arrives is hostile. Every request is answered, if only with an error status; responses,
 * traps and other unsolicited methods are not. Attributes: ClassPortInfo, NodeRecord,
 * PortInfoRecord, SwitchInfoRecord, LinkRecord, SMInfoRecord, PathRecord (IBA 15.2.5).
 *
 * Ownership: the caller frees *response with g_free. Threads: none of its own; reads the view and
 * the plan only. */
#ifndef SHARD_SA_SA_H
#define SHARD_SA_SA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "routing/plan.h"
#include "shard/mad/smp.h"
#include "shard/view.h"

struct sa_manager { /* a subnet manager to be shown in SMInfoRecords */
    uint16_t lid;
    uint8_t sminfo[21]; /* as on the wire: GUID, SM_Key (shown as 0), ActCount, priority, state */
};

struct sa_context {
    const struct view *view;
    const struct rt_plan *plan; /* NULL = none yet: PathRecords are answered BUSY */
    uint16_t own_lid;
    uint64_t subnet_prefix;
    uint64_t sm_key;          /* a request with another key than this or 0 is refused */
    uint8_t packet_life_time; /* IBA 15.2.5.16 code, opensm's default 0x12 */
    uint8_t response_time;    /* of ClassPortInfo; opensm's default 0x12, its subnet_timeout */
    const struct sa_manager *managers;
    size_t manager_count;
    bool busy; /* answer BUSY to everything but ClassPortInfo (no usable view) */
};

/* Handles one MAD of class SA. Returns true and a response, or false when there is none to give
 * (not a request, or too short to be answered). *rmpp: let the kernel segment it. requester is
 * where the request came from: the response goes back there. */
bool sa_handle(const struct sa_context *context, const uint8_t *request, size_t len,
               const struct mad_address *requester, uint8_t **response, size_t *response_len,
               bool *rmpp);

#endif
