/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port's PortInfo should be: OpenSM's options and defaults, IBA 14.2.5.6. Pure functions of
 * the PortInfo read, the peer's and the options. */
#ifndef SHARD_PORTINFO_H
#define SHARD_PORTINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/envelope.h"

enum port_role {
    PORT_MANAGEMENT, /* port 0 of a switch */
    PORT_EXTERNAL,   /* of a switch */
    PORT_END,        /* of a CA or router */
};

enum port_state { /* IBA 14.2.5.6, PortState */
                  PORT_STATE_NO_CHANGE = 0,
                  PORT_STATE_DOWN = 1,
                  PORT_STATE_INIT = 2,
                  PORT_STATE_ARMED = 3,
                  PORT_STATE_ACTIVE = 4,
};

struct portinfo_wish {
    enum port_role role;
    bool leaf;             /* EXTERNAL: a CA or router is cabled to it */
    uint16_t lid, sm_lid;  /* MANAGEMENT, END */
    uint8_t lmc;           /* END */
    const uint8_t *peer;   /* PortInfo at the other end; NULL = not known */
    enum port_state state; /* to be set, or NO_CHANGE */
};

unsigned portinfo_state(const uint8_t *portinfo);
bool portinfo_link_up(const uint8_t *portinfo); /* physical LinkUp and not Down */

/* Writes the PortInfo to be set: what the port has, with what the wish and the options want. */
void portinfo_wanted(const uint8_t *current, const struct portinfo_wish *wish,
                     const Heddle__SubnetOptions *options, uint8_t wanted[64]);
/* Whether a Set is needed: a field that heddle manages differs, or a state is asked for. accepted is
 * the PortInfo that was set last with success, or NULL: what the port was told and does not keep is
 * not set again. */
bool portinfo_set_needed(const uint8_t *current, const uint8_t *wanted,
                         const struct portinfo_wish *wish, const uint8_t *accepted);

#endif
