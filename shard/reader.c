/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a switch and what hangs on it, as one job of many SMPs. */
#include "shard/reader.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/paths.h"

#define CAPMASK_EXTENDED_SPEEDS (1u << 14) /* IBA 14.2.5.6, CapabilityMask */
#define MODIFIER_EXTENDED_SPEEDS (1u << 31)
#define PHYS_LINK_UP 5u

struct reader {
    GHashTable *running; /* guid -> struct reading * */
    uint64_t next_id;
    GHashTable *by_id; /* id -> struct reading *: an answer may come after its reading is gone */
};

/* What an SMP of a reading asks, packed into its tag: id of the reading, kind, port. */
enum ask { ASK_NODE, ASK_DESC, ASK_SWITCH, ASK_PORT, ASK_PEER, ASK_PEER_DESC, ASK_PEER_PORT };

static void reading_free(gpointer p)
{
    struct reading *r = p;
    for (unsigned n = 0; r->ports && n <= r->sw.nports; n++)
        g_free(r->ports[n].end);
    g_free(r->ports);
    g_free(r);
}

struct reader *reader_create(void)
{
    struct reader *r = g_new0(struct reader, 1);
    r->running = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, reading_free);
    r->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    return r;
}

void reader_destroy(struct reader *r)
{
    if (!r)
        return;
    g_hash_table_unref(r->by_id);
    g_hash_table_unref(r->running);
    g_free(r);
}

bool reader_busy(const struct shard_core *c, uint64_t guid)
{
    return g_hash_table_contains(c->reader->running, &guid);
}

unsigned reader_running(const struct shard_core *c)
{
    return g_hash_table_size(c->reader->running);
}

uint32_t reader_portinfo_modifier(const uint8_t *portinfo, unsigned num)
{
    uint32_t capmask = mad_get_field((void *)portinfo, 0, IB_PORT_CAPMASK_F);
    return num | (capmask & CAPMASK_EXTENDED_SPEEDS ? MODIFIER_EXTENDED_SPEEDS : 0);
}

static uint64_t tag_of(uint64_t id, enum ask ask, unsigned port)
{
    return id << 16 | (uint64_t)ask << 8 | port;
}

static void reading_finish(struct shard_core *c, struct reading *r, uint64_t id)
{
    g_hash_table_remove(c->reader->by_id, &id);
    g_hash_table_steal(c->reader->running, &r->guid);
    r->done(c, r);
    reading_free(r);
}

static void answered(void *user, uint64_t tag, const struct smp_request *request, int error,
                     const uint8_t *mad);

static void ask(struct shard_core *c, struct reading *r, uint64_t id, enum ask what, unsigned port,
                uint16_t attribute, uint32_t modifier)
{
    struct smp_request q = {.method = MAD_GET,
                            .attribute = attribute,
                            .modifier = modifier,
                            .directed = true,
                            .path = r->path,
                            .target = r->guid,
                            .retries = -1,
                            .done = answered,
                            .user = c,
                            .tag = tag_of(id, what, port)};
    if (what >= ASK_PEER) {
        if (!dr_path_extend(&q.path, port))
            return;
        /* What is behind a port is another node, which may be mute: a window of its own. */
        q.target = r->guid ^ ((uint64_t)port << 56 | 1ull << 63);
    }
    if (smpq_submit(c->smpq, &q, c->now_ms) == 0)
        r->pending++;
    else
        r->error = r->error ? r->error : ENOBUFS;
}

static void got_node(struct shard_core *c, struct reading *r, uint64_t id, const uint8_t *data)
{
    memcpy(r->sw.nodeinfo, data, sizeof r->sw.nodeinfo);
    r->found_guid = mad_get_field64((void *)data, 0, IB_NODE_GUID_F);
    unsigned nports = mad_get_field((void *)data, 0, IB_NODE_NPORTS_F);
    if (r->found_guid != r->guid ||
        mad_get_field((void *)data, 0, IB_NODE_TYPE_F) != IB_NODE_SWITCH || nports == 0 ||
        nports > 254) {
        r->error = EXDEV;
        return;
    }
    r->sw.nports = (uint8_t)nports;
    r->ports = g_new0(struct reading_port, nports + 1);
    if (r->full)
        ask(c, r, id, ASK_DESC, 0, SMP_NODE_DESCRIPTION, 0);
    ask(c, r, id, ASK_SWITCH, 0, SMP_SWITCH_INFO, 0);
    ask(c, r, id, ASK_PORT, 0, SMP_PORT_INFO, 0);
}

static void got_port(struct shard_core *c, struct reading *r, uint64_t id, unsigned port,
                     const uint8_t *data)
{
    struct reading_port *p = &r->ports[port];
    bool first = !p->port.have_info;
    memcpy(p->port.portinfo, data, SMP_DATA_BYTES);
    p->port.have_info = true;
    if (port == 0) {
        /* Port 0's capabilities say whether the others are asked with extended speeds. */
        if (!first)
            return;
        for (unsigned n = 1; n <= r->sw.nports; n++)
            ask(c, r, id, ASK_PORT, n, SMP_PORT_INFO, reader_portinfo_modifier(data, n));
        return;
    }
    if (mad_get_field((void *)data, 0, IB_PORT_PHYS_STATE_F) != PHYS_LINK_UP ||
        mad_get_field((void *)data, 0, IB_PORT_STATE_F) < 2)
        return;
    struct path_link known;
    if (r->trust_links && paths_seen_link(c, r->guid, port, &known)) {
        p->port.peer_guid = known.peer;
        p->port.peer_port = known.peer_port;
        p->peer_type = IB_NODE_SWITCH;
    } else {
        ask(c, r, id, ASK_PEER, port, SMP_NODE_INFO, 0);
    }
}

static void got_peer(struct shard_core *c, struct reading *r, uint64_t id, unsigned port,
                     const uint8_t *data)
{
    struct reading_port *p = &r->ports[port];
    uint64_t peer = mad_get_field64((void *)data, 0, IB_NODE_GUID_F);
    unsigned type = mad_get_field((void *)data, 0, IB_NODE_TYPE_F);
    unsigned num = mad_get_field((void *)data, 0, IB_NODE_LOCAL_PORT_F);
    unsigned nports = mad_get_field((void *)data, 0, IB_NODE_NPORTS_F);
    if (type < IB_NODE_CA || type > IB_NODE_ROUTER || num == 0 || num > nports || nports > 254 ||
        peer == 0) {
        p->mute = true;
        return;
    }
    p->port.peer_guid = peer;
    p->port.peer_port = (uint8_t)num;
    p->peer_type = (uint8_t)type;
    if (type == IB_NODE_SWITCH || !r->full)
        return;
    g_free(p->end);
    p->end = g_new0(struct view_end_port, 1);
    p->end->node_guid = peer;
    p->end->num = (uint8_t)num;
    p->end->port_guid = mad_get_field64((void *)data, 0, IB_NODE_PORT_GUID_F);
    p->end->switch_guid = r->guid;
    p->end->switch_port = (uint8_t)port;
    p->end->present = true;
    memcpy(p->end->nodeinfo, data, sizeof p->end->nodeinfo);
    ask(c, r, id, ASK_PEER_DESC, port, SMP_NODE_DESCRIPTION, 0);
    /* Where the switch knows extended speeds its hosts mostly do: one question less. */
    ask(c, r, id, ASK_PEER_PORT, port, SMP_PORT_INFO,
        reader_portinfo_modifier(r->ports[0].port.portinfo, num));
}

static void got_peer_port(struct shard_core *c, struct reading *r, uint64_t id, unsigned port,
                          const struct smp_request *request, const uint8_t *data)
{
    struct view_end_port *e = r->ports[port].end;
    memcpy(e->portinfo, data, SMP_DATA_BYTES);
    uint32_t wanted = reader_portinfo_modifier(data, e->num);
    if (request->modifier != wanted)
        ask(c, r, id, ASK_PEER_PORT, port, SMP_PORT_INFO, wanted);
}

static void got_nothing(struct shard_core *c, struct reading *r, uint64_t id, enum ask what,
                        unsigned port, const struct smp_request *request, int error)
{
    switch (what) {
    case ASK_NODE:
    case ASK_SWITCH:
        r->error = r->error ? r->error : error;
        break;
    case ASK_PORT:
        if (!r->ports[port].port.have_info)
            r->error = r->error ? r->error : error;
        break;
    case ASK_PEER:
        r->ports[port].mute = true;
        break;
    case ASK_PEER_PORT:
        if (request->modifier & MODIFIER_EXTENDED_SPEEDS && error == EPROTO) {
            ask(c, r, id, ASK_PEER_PORT, port, SMP_PORT_INFO, r->ports[port].end->num);
            break;
        }
        /* The node answered NodeInfo and then fell silent: not known well enough to be used. */
        if (mad_get_field(r->ports[port].end->portinfo, 0, IB_PORT_STATE_F) == 0) {
            g_clear_pointer(&r->ports[port].end, g_free);
            r->ports[port].mute = true;
        }
        break;
    case ASK_DESC:
    case ASK_PEER_DESC:
        break;
    }
}

static void got_answer(struct shard_core *c, struct reading *r, uint64_t id, enum ask what,
                       unsigned port, const struct smp_request *request, const uint8_t *data)
{
    switch (what) {
    case ASK_NODE:
        got_node(c, r, id, data);
        break;
    case ASK_DESC:
        memcpy(r->sw.description, data, 64);
        break;
    case ASK_SWITCH:
        memcpy(r->sw.switchinfo, data, sizeof r->sw.switchinfo);
        break;
    case ASK_PORT:
        got_port(c, r, id, port, data);
        break;
    case ASK_PEER:
        got_peer(c, r, id, port, data);
        break;
    case ASK_PEER_DESC:
        if (r->ports[port].end)
            memcpy(r->ports[port].end->description, data, 64);
        break;
    case ASK_PEER_PORT:
        got_peer_port(c, r, id, port, request, data);
        break;
    }
}

static void answered(void *user, uint64_t tag, const struct smp_request *request, int error,
                     const uint8_t *mad)
{
    struct shard_core *c = user;
    uint64_t id = tag >> 16;
    enum ask what = (enum ask)(tag >> 8 & 0xff);
    unsigned port = tag & 0xff;
    struct reading *r = g_hash_table_lookup(c->reader->by_id, &id);
    if (!r)
        return;
    r->pending--;
    if (error == 0)
        got_answer(c, r, id, what, port, request, smp_data_const(mad));
    else
        got_nothing(c, r, id, what, port, request, error);
    if (r->pending == 0)
        reading_finish(c, r, id);
}

bool reader_start(struct shard_core *c, uint64_t guid, const struct dr_path *path, bool full,
                  bool trust_links, void (*done)(struct shard_core *c, struct reading *r))
{
    if (reader_busy(c, guid))
        return false;
    struct reading *r = g_new0(struct reading, 1);
    r->guid = guid;
    r->full = full;
    r->trust_links = trust_links;
    r->path = *path;
    r->done = done;
    r->sw.guid = guid;
    r->sw.reachable = true;
    uint64_t id = ++c->reader->next_id;
    g_hash_table_insert(c->reader->running, &r->guid, r);
    g_hash_table_insert(c->reader->by_id, g_memdup2(&id, sizeof id), r);
    ask(c, r, id, ASK_NODE, 0, SMP_NODE_INFO, 0);
    if (r->pending == 0) {
        g_hash_table_remove(c->reader->by_id, &id);
        g_hash_table_remove(c->reader->running, &guid);
        return false;
    }
    return true;
}
