/* SPDX-License-Identifier: BSD-2-Clause */
/* What a view says of nodes and ports, put into rows; and why a port is not ACTIVE. Pure.
 *
 * Descriptions in rows are as the nodes gave them, hostile; outputs escape them. Texts belong to
 * the view and the status that the rows were made from. */
#ifndef CLI_NODES_H
#define CLI_NODES_H

#include "cli/report.h"
#include "shard/view.h"

struct node_row { /* a switch, or an end port: ownership is per port */
    uint64_t node_guid, port_guid;
    const char *description;
    const char *owner; /* shard, "" = none */
    uint32_t domain;   /* VIEW_NO_DOMAIN = none */
    unsigned type;     /* NodeInfo.NodeType: 1 CA, 2 switch, 3 router */
    unsigned port;     /* 0 of a switch */
    unsigned lid, lmc;
    unsigned ports; /* external ports of the node */
    unsigned links,
        active;   /* of a switch: physical links up, ports ACTIVE; of an end port 0 or 1 */
    bool present; /* reached now */
};

enum port_reason {
    PORT_UNREACHABLE,   /* the switch is not reached by its owner */
    PORT_NO_DOMAIN,     /* the switch belongs to no domain */
    PORT_NO_OWNER,      /* nobody lives who owns its domain */
    PORT_DUPLICATE,     /* a node with a GUID that another one has, quarantined */
    PORT_NOT_READ,      /* its PortInfo has not been read */
    PORT_LINK_DOWN,     /* no physical link where a node is known to be */
    PORT_PEER_DOWN,     /* link up here, physically down at the other end */
    PORT_DISABLED,      /* disabled by somebody */
    PORT_TRAINING,      /* the link is training or recovers from errors */
    PORT_NO_PEER,       /* link up, nobody answers behind it */
    PORT_PEER_NO_OWNER, /* the other end's switch has no domain, or its domain no owner */
    PORT_NO_LID,        /* the end port has no LID */
    PORT_BRINGING_UP,   /* its domain is not running yet */
    PORT_WAITS,         /* this end is ARMED, the other is not yet */
    PORT_NOT_SET,       /* nothing stands in its way: PortInfo was refused, or is on its way */
};

struct port_problem {
    uint64_t node_guid, peer_guid;              /* peer 0 = none known */
    const char *description, *peer_description; /* "" = none */
    const char *owner;
    uint32_t domain;
    unsigned port, peer_port; /* port 0: the node as a whole */
    unsigned state, physical; /* of PortInfo, 0 = not read */
    enum port_reason reason;
    char *text; /* the reason in words */
};

/* struct node_row, switches first, each by GUID. g_array_unref. */
GArray *nodes_list(const struct view *v, const Heddle__Status *s);
/* struct port_problem, by GUID and port. g_array_unref. */
GArray *nodes_problems(const struct view *v, const Heddle__Status *s);

const char *nodes_reason_name(enum port_reason reason); /* "waits_for_peer": for machines */
const char *nodes_type_name(unsigned type);
const char *nodes_state_name(unsigned state);       /* PortState: "Armed", "?" */
const char *nodes_physical_name(unsigned physical); /* PortPhysicalState: "LinkUp", "?" */

/* Fields of raw attributes, IBA 14.2.5.3 and 14.2.5.6. */
unsigned nodes_portinfo_state(const uint8_t portinfo[64]);
unsigned nodes_portinfo_physical(const uint8_t portinfo[64]);

#endif
