/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader's state, shared by its parts: private to fabric/.
 *
 * read.c takes lines apart into nodes and keywords, read_port.c into cables, read_cables.c joins
 * the two ends of each cable when all lines are read, load.c finds files. */
#ifndef FABRIC_READER_H
#define FABRIC_READER_H

#include <glib.h>

#include "fabric/lex.h"
#include "fabric/messages.h"

#define READER_MAX_LID 0xbfff  /* last unicast LID */
#define READER_MAX_NODES 49151 /* each needs a LID */
#define READER_MAX_INCLUDES 8  /* files inside each other */

/* One port line: what it says of its own port and of the other end. */
struct reader_cable {
    struct fabric_place at;
    const char *peer_id;      /* with its module's prefix; holds '@' when it is an alias */
    uint64_t guid, peer_guid; /* port GUIDs, 0 = not given */
    uint32_t node, peer_node; /* peer_node is found at the end, FABRIC_NONE = not (yet) */
    uint8_t port, peer_port;
    uint8_t width, speed, lmc;
    uint16_t lid, peer_lid;
};

/* `@[port] "alias"` */
struct reader_alias {
    uint32_t node;
    uint8_t port;
};

/* Lines that stand before the header of the node that they describe. */
struct reader_pending {
    bool any;
    bool has_guid[FABRIC_ROUTER + 1];
    struct fabric_place at;
    uint64_t port_guid, sys_guid;
    uint32_t vendor_id;
    uint16_t device_id;
};

struct reader {
    struct fabric *fabric;
    struct fabric_reporter report;
    struct fabric_place at; /* the line being read */
    GStringChunk *strings;
    GHashTable *ids;     /* node id -> number + 1 */
    GHashTable *aliases; /* "module@name" -> struct reader_alias */
    GHashTable *listed;  /* node << 8 | port -> number of the cable + 1 */
    GArray *cables;      /* struct reader_cable */
    GArray *places;      /* struct fabric_place of each node's header */
    struct reader_pending pending;
    uint64_t base_guid[FABRIC_ROUTER + 1], next_guid[FABRIC_ROUTER + 1];
    const char *module;   /* prefix of ids, "" = none */
    uint8_t width, speed; /* of ports that name none */
    uint32_t node;        /* the node whose ports are being read, FABRIC_NONE = none */
    bool skip_ports;      /* of a node whose header was wrong */
    bool bad_header;      /* there was one: references are not checked */
    bool cut_line;        /* this line has no end */
    unsigned depth;       /* of included files */
    /* Reads an included file with reader_feed; NULL = included files are not allowed. */
    void (*include)(struct reader *r, const char *path);
};

struct reader *reader_create(struct fabric_messages *messages);
void reader_feed(struct reader *r, const char *name, const char *text, size_t len);
/* Joins the cables and destroys the reader. NULL when there was an error. */
struct fabric *reader_finish(struct reader *r, const char *name);

/* Reports "expected WHAT, found ..." and returns false. */
bool reader_expected(struct reader *r, const char *what, const char *found);
/* The id as kept: with the prefix of the module. */
const char *reader_full_id(struct reader *r, const char *id, size_t len, char separator);
/* The GUID in an id such as S-0002c90300000001. */
bool reader_guid_in_id(const char *id, uint64_t *guid);
/* "lid N lmc M" anywhere in the first len bytes of text; what is not there stays. */
void reader_lid_and_lmc(struct reader *r, const char *text, size_t len, uint16_t *lid,
                        uint8_t *lmc);
/* w=, s=, e= as ibsim has them; unknown = 0. */
uint8_t reader_width_of_mask(uint64_t mask);
uint8_t reader_speed_of_mask(uint64_t mask, bool extended);

void reader_port_line(struct reader *r, const char *line);
void reader_alias_line(struct reader *r, const char *line);
void reader_join_cables(struct reader *r);

#endif
