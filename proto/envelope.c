/* SPDX-License-Identifier: BSD-2-Clause */
/* Coding and checking of the messages between heddle's processes. */
#include "proto/envelope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "proto/check.h"

struct type_entry {
    uint32_t type;
    const ProtobufCMessageDescriptor *body;
};

static const struct type_entry types[] = {
    {HEDDLE__MESSAGE_TYPE__MSG_HELLO, &heddle__hello__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT, &heddle__heartbeat__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_TOPOLOGY, &heddle__topology__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT, &heddle__probe_result__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_LID_BACKUP, &heddle__lid_backup__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_WELCOME, &heddle__welcome__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_REFUSED, &heddle__refused__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_ASSIGNMENT, &heddle__assignment__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_GRANT, &heddle__signed_grant__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_PROBE, &heddle__probe__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT_ACK, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_PEER_HELLO, &heddle__peer_hello__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_DELTA, &heddle__delta__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_DELTA_ACK, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_PULL, &heddle__pull__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_SUFFIX_ASK, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_SUFFIX, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT_ASK, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT, &heddle__snapshot__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_STATUS, &heddle__status__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK, NULL},
    {HEDDLE__MESSAGE_TYPE__MSG_ERROR, &heddle__refused__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK, &heddle__route_ask__descriptor},
    {HEDDLE__MESSAGE_TYPE__MSG_ROUTE, &heddle__route__descriptor},
};

static const struct type_entry *find_type(uint32_t type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

const ProtobufCMessageDescriptor *envelope_body_descriptor(uint32_t type)
{
    const struct type_entry *t = find_type(type);
    return t ? t->body : NULL;
}

bool envelope_type_known(uint32_t type)
{
    return find_type(type) != NULL;
}

int envelope_encode(const struct envelope *e, uint8_t **bytes, size_t *len)
{
    *bytes = NULL;
    *len = 0;
    size_t body_len = e->body ? protobuf_c_message_get_packed_size(e->body) : 0;
    if (body_len > PROTO_MAX_MESSAGE)
        return EMSGSIZE;
    g_autofree uint8_t *body = body_len ? g_malloc(body_len) : NULL;
    if (body)
        protobuf_c_message_pack(e->body, body);

    Heddle__Envelope w = HEDDLE__ENVELOPE__INIT;
    w.version = PROTO_MAJOR;
    w.cluster = (char *)e->cluster;
    w.incarnation = e->incarnation;
    w.type = e->type;
    w.sender = (char *)e->sender;
    w.boot_id = e->boot_id;
    w.domain = e->domain;
    w.epoch = e->epoch;
    w.seq = e->seq;
    w.body.data = body;
    w.body.len = body_len;
    size_t size = heddle__envelope__get_packed_size(&w);
    if (size > PROTO_MAX_MESSAGE)
        return EMSGSIZE;
    *bytes = g_malloc(size);
    *len = heddle__envelope__pack(&w, *bytes);
    return 0;
}

/* Another major may lay out its fields otherwise, so nothing but the version is read of it. */
static int check_version(const Heddle__Envelope *w, char *error, size_t error_size)
{
    if (w->version == PROTO_MAJOR)
        return 0;
    if (w->version == 0) {
        snprintf(error, error_size, "not a heddle message: it has no protocol version");
        return EBADMSG;
    }
    snprintf(error, error_size,
             "the peer speaks protocol version %u, this process speaks %u: "
             "run the same major version of heddle everywhere",
             w->version, PROTO_MAJOR);
    return EPROTO;
}

static void copy_header(const Heddle__Envelope *w, struct envelope *e)
{
    g_strlcpy(e->cluster, w->cluster, sizeof e->cluster);
    g_strlcpy(e->sender, w->sender, sizeof e->sender);
    e->incarnation = w->incarnation;
    e->boot_id = w->boot_id;
    e->type = w->type;
    e->domain = w->domain;
    e->epoch = w->epoch;
    e->seq = w->seq;
}

static int decode(const Heddle__Envelope *w, struct envelope *e, char *error, size_t error_size)
{
    int rc = check_version(w, error, error_size);
    if (!rc)
        rc = check_message(&w->base, error, error_size);
    if (rc)
        return rc;
    copy_header(w, e);
    const struct type_entry *t = find_type(w->type);
    if (!t) {
        snprintf(error, error_size, "unknown message type %u", w->type);
        return EPROTONOSUPPORT;
    }
    if (!t->body)
        return 0;
    return check_unpack(t->body, w->body.data, w->body.len, &e->body, error, error_size);
}

int envelope_decode(const uint8_t *bytes, size_t len, struct envelope *e, char *error,
                    size_t error_size)
{
    memset(e, 0, sizeof *e);
    if (error_size)
        error[0] = 0;
    if (len > PROTO_MAX_MESSAGE) {
        snprintf(error, error_size, "%zu bytes are more than a message may have", len);
        return EBADMSG;
    }
    Heddle__Envelope *w = heddle__envelope__unpack(NULL, len, bytes);
    if (!w) {
        snprintf(error, error_size, "not a heddle message: its envelope cannot be read");
        return EBADMSG;
    }
    int rc = decode(w, e, error, error_size);
    heddle__envelope__free_unpacked(w, NULL);
    return rc;
}

void envelope_clear(struct envelope *e)
{
    if (e->body)
        protobuf_c_message_free_unpacked(e->body, NULL);
    e->body = NULL;
}
