/* SPDX-License-Identifier: BSD-2-Clause */
/* A local port through libibumad: registration, sending, receiving.
 *
 * An open port is registered for the subnet management classes (LID routed and directed) and for
 * SA, with the methods that a subnet manager is asked by, and marked IsSM as long as it is open.
 * The loop reads by itself, many MADs at a wake-up: the kernel takes them off the port's queue pair
 * at once and keeps them, so that a thread in between would only cost its switches.
 * umad's own retries are 0 for SMPs: a stopped process leaves nothing behind that resends.
 *
 * Threads: all functions belong to the loop's thread. */
#ifndef SHARD_MAD_UMAD_PORT_H
#define SHARD_MAD_UMAD_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shard/mad/smp.h"

struct mad_port;

struct mad_port_config {
    uint64_t guid;      /* of the port, or 0 */
    const char *device; /* name, or NULL */
    unsigned port;      /* of the device, 0 = its first usable */
};

/* Opens the port with this GUID, or of this device, or the first one that has a link. Returns 0, or
 * errno with one clear line in error. */
int mad_port_open(const struct mad_port_config *config, struct mad_port **port, char *error,
                  size_t error_size);
void mad_port_close(struct mad_port *p); /* NULL allowed */

const char *mad_port_device(const struct mad_port *p);
unsigned mad_port_number(const struct mad_port *p);
uint64_t mad_port_guid(const struct mad_port *p);

/* Never blocks. A request (timeout_ms > 0) that is not answered comes back through
 * mad_port_receive as failed. rmpp: the kernel segments. Returns 0 or errno. */
int mad_port_send(struct mad_port *p, const uint8_t *mad, size_t len, const struct mad_address *to,
                  uint32_t timeout_ms, bool rmpp);

#define MAD_PORT_BATCH 512u /* then the loop has other things to do, too */

struct mad_received {
    const uint8_t *mad; /* valid during the call */
    size_t len;         /* at least MAD_BYTES; only the header counts of a failed one */
    struct mad_address from;
    bool failed; /* a request of ours, unanswered */
};
int mad_port_fd(const struct mad_port *p); /* readable when MADs wait, or the device is lost */
/* Hands what waits to f, in order, at most MAD_PORT_BATCH; returns how many. */
size_t mad_port_receive(struct mad_port *p, void (*f)(void *user, const struct mad_received *m),
                        void *user);
bool mad_port_lost(const struct mad_port *p); /* the device went away: nothing arrives any more */

struct mad_port_counters {
    uint64_t received, failed, dropped_malformed, send_errors;
};
struct mad_port_counters mad_port_counters(const struct mad_port *p);

#endif
