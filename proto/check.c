/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds of message fields, by descriptor. */
#include "proto/check.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "proto/envelope.h"

/* Decoded size against size on the wire. The honest worst case is a PortRecord that holds only a
 * number: 4 bytes become 72, and 32 more for each field while protobuf-c scans. */
#define UNPACK_FACTOR 48u
#define UNPACK_BASE_BYTES (64u << 10)

struct size_rule {
    const char *field;
    size_t min, max; /* bytes; empty is always allowed and means absent */
};

static const struct size_rule bytes_rules[] = {
    {"body", 0, PROTO_MAX_MESSAGE}, /* Envelope */
    {"description", 0, 64},         /* NodeDescription, IBA 14.2.5.2 */
    {"grant", 0, 1024},             /* a packed Grant or SignedGrant */
    {"intent_digest", 32, 32},
    {"nodeinfo", 40, 40},
    {"portinfo", 64, 64},
    {"programmed_digest", 32, 32},
    {"public_key", 32, 32},
    {"routing_digest", 32, 32},
    {"sealed_key", 80, 80}, /* 32 + crypto_box_SEALBYTES */
    {"sign_public_key", 32, 32},
    {"signature", 64, 64},
    {"switchinfo", 20, 20},
};

static const char *const name_fields[] = {"cluster", "sender", "suspect", "owner",
                                          "name",    "from",   "to"};

struct range_rule {
    const char *field;
    uint32_t max;
};

static const struct range_rule range_rules[] = {
    {"dlid", 0xffff},     {"in_port", 255},    {"leaf_port", 255}, {"lid", 0xffff},
    {"lmc", 7},           {"nports", 255},     {"num", 255},       {"out_port", 255},
    {"peer_port", 255},   {"peer_ports", 255}, {"port_num", 255},  {"ports", 255},
    {"priority", 15},     {"sl", 15},          {"slid", 0xffff},   {"sm_sl", 15},
    {"switch_port", 255},
};

static int refuse(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, const char *why,
                  char *error, size_t error_size)
{
    snprintf(error, error_size, "field %s.%s: %s", m->descriptor->short_name, f->name, why);
    return EINVAL;
}

static bool valid_text(const char *text, size_t max, bool control_allowed)
{
    size_t len = strlen(text);
    if (len > max || !g_utf8_validate(text, (gssize)len, NULL))
        return false;
    if (control_allowed)
        return true;
    for (const char *p = text; *p; p = g_utf8_next_char(p))
        if (g_unichar_iscntrl(g_utf8_get_char(p)))
            return false;
    return true;
}

bool check_name(const char *name)
{
    return valid_text(name, PROTO_MAX_NAME, false);
}

static bool is_name(const char *field)
{
    for (size_t i = 0; i < G_N_ELEMENTS(name_fields); i++)
        if (strcmp(field, name_fields[i]) == 0)
            return true;
    return false;
}

static int check_bytes(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                       const ProtobufCBinaryData *value, char *error, size_t error_size)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bytes_rules); i++) {
        const struct size_rule *r = &bytes_rules[i];
        if (strcmp(f->name, r->field) != 0)
            continue;
        if (value->len == 0 || (value->len >= r->min && value->len <= r->max))
            return 0;
        char why[64];
        snprintf(why, sizeof why, "%zu bytes, allowed are %zu to %zu", value->len, r->min, r->max);
        return refuse(m, f, why, error, error_size);
    }
    return refuse(m, f, "no rule for its size", error, error_size);
}

static int check_uint32(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                        uint32_t value, char *error, size_t error_size)
{
    for (size_t i = 0; i < G_N_ELEMENTS(range_rules); i++) {
        if (strcmp(f->name, range_rules[i].field) != 0 || value <= range_rules[i].max)
            continue;
        char why[64];
        snprintf(why, sizeof why, "%u is above %u", value, range_rules[i].max);
        return refuse(m, f, why, error, error_size);
    }
    return 0;
}

/* One value of a field; `value` points at it as protobuf-c stores it. */
static int check_value(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                       const void *value, char *error, size_t error_size)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *sub = *(ProtobufCMessage *const *)value;
        return sub ? check_message(sub, error, error_size) : 0;
    }
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = *(char *const *)value;
        bool name = is_name(f->name);
        if (!text || valid_text(text, name ? PROTO_MAX_NAME : PROTO_MAX_TEXT, !name))
            return 0;
        return refuse(m, f, name ? "not a valid name" : "too long or not UTF-8", error, error_size);
    }
    case PROTOBUF_C_TYPE_BYTES:
        return check_bytes(m, f, value, error, error_size);
    case PROTOBUF_C_TYPE_ENUM:
        if (protobuf_c_enum_descriptor_get_value(f->descriptor, *(const int *)value))
            return 0;
        return refuse(m, f, "unknown value", error, error_size);
    case PROTOBUF_C_TYPE_UINT32:
        return check_uint32(m, f, *(const uint32_t *)value, error, error_size);
    default:
        return 0;
    }
}

static size_t value_size(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(uint64_t);
    default: /* protobuf_c_boolean is an int */
        return sizeof(uint32_t);
    }
}

static int check_pairs(const ProtobufCMessage *m, char *error, size_t error_size)
{
    if (m->descriptor == &heddle__topology_switch__descriptor) {
        const Heddle__TopologySwitch *t = (const Heddle__TopologySwitch *)m;
        if (t->n_ports != t->n_neighbours || t->n_peer_ports != t->n_neighbours) {
            snprintf(error, error_size, "TopologySwitch: arrays of unequal length");
            return EINVAL;
        }
    } else if (m->descriptor == &heddle__leaf_numbers__descriptor) {
        const Heddle__LeafNumbers *n = (const Heddle__LeafNumbers *)m;
        if (n->n_ports != n->n_numbers) {
            snprintf(error, error_size, "LeafNumbers: arrays of unequal length");
            return EINVAL;
        }
    }
    return 0;
}

int check_message(const ProtobufCMessage *m, char *error, size_t error_size)
{
    const char *base = (const char *)m;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        const char *value = base + f->offset;
        size_t count = 1;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            count = *(const size_t *)(base + f->quantifier_offset);
            value = *(const char *const *)value;
        }
        for (size_t k = 0; k < count; k++) {
            int rc = check_value(m, f, value + k * value_size(f), error, error_size);
            if (rc)
                return rc;
        }
    }
    /* protobuf-c reads a number 0 that is written in two bytes, and packs what it cannot read. */
    for (unsigned i = 0; i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == 0) {
            snprintf(error, error_size, "%s: a field of number 0", m->descriptor->short_name);
            return EINVAL;
        }
    return check_pairs(m, error, error_size);
}

struct budget {
    size_t left; /* bytes */
};

static void *budget_alloc(void *data, size_t size)
{
    struct budget *b = data;
    if (size > b->left)
        return NULL;
    void *p = malloc(size);
    if (p) {
        size_t used = malloc_usable_size(p);
        b->left -= used < b->left ? used : b->left;
    }
    return p;
}

static void budget_free(void *data, void *p)
{
    struct budget *b = data;
    b->left += p ? malloc_usable_size(p) : 0;
    free(p);
}

int check_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t len,
                 ProtobufCMessage **m, char *error, size_t error_size)
{
    struct budget b = {.left = len * UNPACK_FACTOR + UNPACK_BASE_BYTES};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &b};
    *m = NULL;
    if (len > PROTO_MAX_MESSAGE) {
        snprintf(error, error_size, "%zu bytes are more than a message may have", len);
        return EBADMSG;
    }
    ProtobufCMessage *unpacked = protobuf_c_message_unpack(descriptor, &allocator, len, bytes);
    if (!unpacked) {
        snprintf(error, error_size, "not a message of type %s", descriptor->short_name);
        return EBADMSG;
    }
    int rc = check_message(unpacked, error, error_size);
    if (rc)
        protobuf_c_message_free_unpacked(unpacked, NULL);
    else
        *m = unpacked;
    return rc;
}
