/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a switch and what hangs on it, as one job.
 *
 * A full reading: NodeInfo (it must show the expected GUID), NodeDescription, SwitchInfo, PortInfo
 * of all ports, NodeInfo behind each port whose link is up, and of CAs and routers there
 * NodeDescription and PortInfo. A passing one leaves descriptions and the PortInfo of CAs out.
 * A port with link behind which nobody answers is mute: that does not fail the reading. */
#ifndef SHARD_READER_H
#define SHARD_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "shard/mad/smp.h"
#include "shard/view.h"

struct shard_core;
struct reader;

struct reading_port {
    struct view_port port;
    bool mute;                 /* link up, nobody answered */
    uint8_t peer_type;         /* NodeInfo.NodeType at the other end, 0 = none */
    struct view_end_port *end; /* a CA or router port there, else NULL */
};

struct reading {
    uint64_t guid;
    bool full;
    bool trust_links; /* who is behind a port may be taken from the other side of the link */
    struct dr_path path;
    int error;                  /* 0; ETIMEDOUT; EXDEV: another node answered there */
    uint64_t found_guid;        /* for EXDEV */
    struct view_switch sw;      /* ports is NULL; see below */
    struct reading_port *ports; /* nports + 1 */
    unsigned pending;
    void (*done)(struct shard_core *c, struct reading *r);
};

struct reader *reader_create(void);
void reader_destroy(struct reader *r);
/* Starts a reading over this route; one at a time a switch: false when one is under way or the
 * queue is full. done may keep nothing of the reading. */
bool reader_start(struct shard_core *c, uint64_t guid, const struct dr_path *path, bool full,
                  bool trust_links, void (*done)(struct shard_core *c, struct reading *r));
bool reader_busy(const struct shard_core *c, uint64_t guid);
unsigned reader_running(const struct shard_core *c);

/* Port numbers of PortInfo's modifier: bit 31 tells that the manager knows extended speeds. */
uint32_t reader_portinfo_modifier(const uint8_t *portinfo, unsigned num);

#endif
