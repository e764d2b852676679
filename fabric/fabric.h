/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of a subnet: nodes, ports and the cables between them.
 *
 * A `struct fabric` is a plain picture of a subnet, as read from a file (fabric/read.h), made by a
 * generator (fabric/generate.h) or exported from a shard's view. It is pure data: no I/O, no
 * clock. Nodes are numbered 0..node_count-1 in the order in which they were added; a node keeps
 * its number. Ports are numbered as on the wire: 0 is the management port of a switch, 1..nports
 * are external (CAs and routers have no port 0: ports[0] is unused there).
 *
 * Ownership: a fabric owns all of its memory; pointers into it live until the next fabric_add_node
 * or fabric_destroy. Threads: none of its own; a fabric that nobody changes may be read by many. */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FABRIC_NONE UINT32_MAX
#define FABRIC_MAX_PORTS 254 /* IBA 14.2.5.3: NumPorts, 255 is a wildcard */

/* Values of NodeInfo.NodeType (IBA 14.2.5.3). */
enum fabric_node_type {
    FABRIC_CA = 1,
    FABRIC_SWITCH = 2,
    FABRIC_ROUTER = 3,
};

/* Link width and speed as text files name them (4xQDR ...). Codes are PortInfo's:
 * width 1, 2, 4, 8, 16 = 1x 4x 8x 12x 2x; 0 = unknown. */
enum fabric_speed {
    FABRIC_SPEED_UNKNOWN = 0,
    FABRIC_SDR,
    FABRIC_DDR,
    FABRIC_QDR,
    FABRIC_FDR10,
    FABRIC_FDR,
    FABRIC_EDR,
    FABRIC_HDR,
    FABRIC_NDR,
    FABRIC_XDR,
};

struct fabric_port {
    uint64_t guid;      /* port GUID; of a switch all ports share port 0's; 0 = unknown */
    uint32_t peer_node; /* number of the node at the other end, FABRIC_NONE = no cable */
    uint8_t peer_port;
    uint8_t width;
    uint8_t speed; /* enum fabric_speed */
    uint8_t lmc;
    uint16_t lid; /* 0 = none; of a switch only on port 0 */
};

struct fabric_node {
    uint64_t guid;     /* node GUID */
    uint64_t sys_guid; /* system image GUID, 0 = unknown */
    uint32_t vendor_id;
    uint16_t device_id;
    uint8_t type; /* enum fabric_node_type */
    uint8_t nports;
    bool enhanced_port0;       /* switches only */
    char desc[65];             /* NodeDescription: hostile text, may be no UTF-8, terminated here */
    struct fabric_port *ports; /* nports + 1 entries, by port number */
};

struct fabric {
    struct fabric_node *nodes;
    uint32_t node_count;
    struct fabric_index *index; /* GUID -> node number; private */
    uint32_t node_capacity;     /* private */
};

struct fabric *fabric_create(void);
void fabric_destroy(struct fabric *f); /* NULL allowed */

/* Adds a node with nports unconnected ports. Returns its number, or FABRIC_NONE when the GUID is
 * already there, the type is unknown or nports is 0 or above FABRIC_MAX_PORTS. Port GUIDs start as
 * the node GUID (switches) or the node GUID + port number (others), as ibsim has them. desc is cut
 * to 64 bytes; NULL is "". */
uint32_t fabric_add_node(struct fabric *f, uint64_t guid, enum fabric_node_type type,
                         unsigned nports, const char *desc);
/* The number of the node with this node GUID, or FABRIC_NONE. */
uint32_t fabric_find(const struct fabric *f, uint64_t guid);
/* The first node with exactly this description, in the order of numbers, or FABRIC_NONE. */
uint32_t fabric_find_desc(const struct fabric *f, const char *desc);
/* Joins two free external ports (which may be of one node). Returns 0, EINVAL for a port that does
 * not exist or both ends at one port, EEXIST when one of them has a cable already. */
int fabric_connect(struct fabric *f, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b);
/* Takes the cable at this port away, at both ends; nothing where there is none. */
void fabric_disconnect(struct fabric *f, uint32_t node, unsigned port);

struct fabric_counts {
    uint32_t switches, cas, routers;
    uint32_t ports; /* external ports of all nodes */
    uint32_t ports_cabled;
    uint32_t links; /* cables; a self-loop is one */
};
struct fabric_counts fabric_count(const struct fabric *f);

const char *fabric_width_name(unsigned width); /* "4x", "?" when unknown */
const char *fabric_speed_name(unsigned speed); /* "QDR", "?" when unknown */

#endif
