/* SPDX-License-Identifier: BSD-2-Clause */
/* Agents of a port, and which of them a MAD belongs to (the rules of the kernel's ib_mad).
 *
 * An agent is one registration: a class with its version, for vendor classes of range 2 an OUI,
 * and the methods whose unsolicited MADs it wants. A response goes to the agent that asked: its
 * `uid`, unique on the port, travels in bits 32..47 of the transaction id. Everything else goes to
 * the agent that registered its class, version and method, or to nobody.
 *
 * The set refers to agents that others own. Not locked: the port's lock covers it.
 */
#ifndef SIM_UMAD_MATCH_H
#define SIM_UMAD_MATCH_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct match_agent {
    uint32_t id;  /* what the caller knows it by, unique within its open port */
    uint16_t uid; /* what the transaction ids carry, unique on the port; set by match_add */
    uint8_t class;
    uint8_t version;
    uint8_t oui[3];
    bool rmpp; /* segmentation is done for it */
    uint64_t methods[2];
    void *owner;
};

struct match_set {
    GPtrArray *agents; /* struct match_agent * */
    uint16_t last_uid;
};

void match_init(struct match_set *set);
void match_clear(struct match_set *set);

/* Add an agent and give it its uid. EINVAL for a registration that no kernel would take, EBUSY
 * where another agent has one of the methods already. */
int match_add(struct match_set *set, struct match_agent *agent);
void match_remove(struct match_set *set, const struct match_agent *agent);

/* The agent for a MAD of MAD_BYTES bytes, or NULL. */
struct match_agent *match_find(const struct match_set *set, const uint8_t *mad);

#endif
