/* SPDX-License-Identifier: BSD-2-Clause */
/* The slots, and the ways of packets to them. */
#include "sim/server/clients.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
    TID_SLOT = 8, /* of a MAD: the upper 16 bits of the transaction id */
    METHOD_GET_TABLE = 0x12,
    METHOD_GET_TRACE_TABLE = 0x13,
    METHOD_GET_MULTI = 0x14,
    METHOD_DELETE = 0x15,
};

void clients_create(struct clients *c, unsigned count, uint32_t queue_limit)
{
    *c = (struct clients){.slots = g_new0(struct client, count),
                          .count = count,
                          .active = g_ptr_array_new(),
                          .dirty = g_ptr_array_new()};
    for (unsigned i = 0; i < count; i++) {
        c->slots[i].slot = i;
        c->slots[i].watch.fd = -1;
        c->slots[i].outbox.limit = queue_limit;
    }
}

void clients_destroy(struct clients *c)
{
    for (unsigned i = 0; i < c->count; i++)
        outbox_clear(&c->slots[i].outbox);
    g_free(c->slots);
    g_ptr_array_unref(c->active);
    g_ptr_array_unref(c->dirty);
}

struct client *clients_free_slot(struct clients *c, unsigned from)
{
    for (unsigned i = from; i < c->count; i++)
        if (!c->slots[i].attached)
            return &c->slots[i];
    return NULL;
}

void clients_attach(struct clients *c, struct client *client)
{
    guint i = 0;

    while (i < c->active->len && ((struct client *)c->active->pdata[i])->slot < client->slot)
        i++;
    g_ptr_array_insert(c->active, (gint)i, client);
    client->attached = true;
}

void clients_detach(struct clients *c, struct client *client)
{
    g_ptr_array_remove(c->active, client);
    client->attached = client->issm = false;
    outbox_clear(&client->outbox);
}

struct client *clients_holder(const struct clients *c, uint32_t node, unsigned port)
{
    for (guint i = 0; i < c->active->len; i++) {
        struct client *client = c->active->pdata[i];
        if (client->issm && client->node == node && client->port == port)
            return client;
    }
    return NULL;
}

struct client *clients_by_address(const struct clients *c, const struct address *ctl)
{
    for (guint i = 0; i < c->active->len; i++) {
        struct client *client = c->active->pdata[i];
        if (address_equal(&client->ctl, ctl))
            return client;
    }
    return NULL;
}

static bool uses(const struct client *client, uint8_t class)
{
    return client->classes[class / 64] >> class % 64 & 1;
}

bool clients_take(struct client *client, const struct wire_packet *in, struct sim_packet *out)
{
    uint64_t length = be64toh(in->length);
    uint8_t class = mad_class(in->mad);

    client->received++;
    if (length < MAD_HEADER_BYTES || length > MAD_BYTES) {
        client->malformed++;
        return false;
    }
    out->dlid = ntohs((uint16_t)in->dlid);
    out->slid = ntohs((uint16_t)in->slid);
    out->dqp = ntohl(in->dqp);
    out->sqp = ntohl(in->sqp);
    out->sl = 0;
    out->pkey = 0;
    out->qkey = 0;
    out->length = (uint16_t)length;
    /* What lies behind a short MAD are bytes of the client's stack. */
    memcpy(out->mad, in->mad, length);
    memset(out->mad + length, 0, MAD_BYTES - length);
    if (!mad_is_response(out->mad))
        mad_put16(out->mad + TID_SLOT, (uint16_t)client->slot);
    client->classes[class / 64] |= 1ull << class % 64;
    return true;
}

static void give(struct clients *c, struct client *client, const struct sim_packet *p, int status)
{
    struct wire_packet *out = outbox_add(&client->outbox);

    if (!out) {
        client->dropped++;
        return;
    }
    out->dlid = htons(p->dlid);
    out->slid = htons(p->slid);
    out->dqp = htonl(p->dqp);
    out->sqp = htonl(p->sqp);
    out->status = htonl((uint32_t)status);
    out->length = htobe64(p->length ? p->length : MAD_BYTES);
    memcpy(out->mad, p->mad, MAD_BYTES);
    if (!client->is_dirty) {
        client->is_dirty = true;
        g_ptr_array_add(c->dirty, client);
    }
}

/* Does the sender of this MAD wait for the answer of one process? */
static bool asks_one(const uint8_t *mad)
{
    switch (mad_method(mad)) {
    case MAD_METHOD_GET:
    case MAD_METHOD_SET:
    case METHOD_GET_TABLE:
    case METHOD_GET_TRACE_TABLE:
    case METHOD_GET_MULTI:
    case METHOD_DELETE:
        return true;
    default:
        return false;
    }
}

static bool uses_class_of(const struct client *client, const uint8_t *mad)
{
    if (mad_is_smp(mad))
        return uses(client, MAD_CLASS_SM_LID) || uses(client, MAD_CLASS_SM_DIRECT);
    return uses(client, mad_class(mad));
}

static bool give_to_users(struct clients *c, uint32_t node, unsigned port,
                          const struct sim_packet *p)
{
    bool taken = false;

    for (guint i = 0; i < c->active->len; i++) {
        struct client *client = c->active->pdata[i];
        if (client->node != node || client->port != port)
            continue;
        if (p->dqp > 1 ? client->qp != p->dqp : !uses_class_of(client, p->mad))
            continue;
        give(c, client, p, 0);
        taken = true;
    }
    return taken;
}

static bool give_request(struct clients *c, uint32_t node, unsigned port,
                         const struct sim_packet *p)
{
    bool asks = asks_one(p->mad);
    struct client *holder = NULL;

    if (p->dqp <= 1 && (mad_is_smp(p->mad) || (mad_class(p->mad) == MAD_CLASS_SA && asks)))
        holder = clients_holder(c, node, port);
    if (holder) {
        give(c, holder, p, 0);
        return true;
    }
    /* A program such as smpquery must not swallow what a manager would answer. */
    if (mad_is_smp(p->mad) && asks)
        return false;
    return give_to_users(c, node, port, p);
}

static struct client *asker(const struct clients *c, const struct sim_packet *p)
{
    unsigned slot = mad_get16(p->mad + TID_SLOT);

    return slot < c->count && c->slots[slot].attached ? &c->slots[slot] : NULL;
}

bool clients_deliver(void *user, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct clients *c = user;
    struct client *client;
    bool taken = false;

    if (mad_is_response(p->mad)) {
        client = asker(c, p);
        taken = client && client->node == node && client->port == port;
        if (taken)
            give(c, client, p, 0);
    } else {
        taken = give_request(c, node, port, p);
    }
    c->unclaimed += !taken;
    return taken;
}

/* umad2sim has no time-outs of its own: without this packet its callers would wait for ever. */
void clients_lost(void *user, const struct sim_packet *p)
{
    struct clients *c = user;
    struct client *client = asker(c, p);

    if (client)
        give(c, client, p, ETIMEDOUT);
}
