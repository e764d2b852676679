/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving half of RMPP. */
#include "rmpp.h"
#include <glib.h>

/* An ACK each half window keeps the sender busy while the ACK is on its way. */
enum { ACK_EVERY = RMPP_WINDOW / 2 };

struct rmpp_recv {
    GByteArray *data; /* header of the first segment, then the data */
    bool done;
    bool gap_told;     /* an ACK has told the sender of the gap that is open */
    uint32_t in_order; /* segments 1..in_order have come */
    uint64_t beyond;   /* bit i: segment in_order + 1 + i has come */
    uint32_t last;     /* number of the last segment, 0 while unknown */
    size_t last_data_bytes;
    uint32_t acked;
    int64_t deadline;
};

struct rmpp_recv *rmpp_recv_new(int64_t now)
{
    struct rmpp_recv *r = g_new0(struct rmpp_recv, 1);

    r->data = g_byte_array_new();
    r->deadline = now + RMPP_RECEIVE_IDLE_NS;
    return r;
}

void rmpp_recv_free(struct rmpp_recv *r)
{
    if (!r)
        return;
    if (r->data)
        g_byte_array_unref(r->data);
    g_free(r);
}

bool rmpp_recv_is_done(const struct rmpp_recv *r)
{
    return r->done;
}

int64_t rmpp_recv_deadline(const struct rmpp_recv *r)
{
    return r->deadline;
}

uint8_t *rmpp_recv_steal(struct rmpp_recv *r, size_t *length)
{
    *length = r->data->len;
    return g_byte_array_free(g_steal_pointer(&r->data), FALSE);
}

static void acknowledge(struct rmpp_recv *r, const uint8_t *mad, uint8_t reply[MAD_BYTES],
                        bool *has_reply)
{
    uint32_t window = r->in_order + RMPP_WINDOW;

    if (r->last && window > r->last)
        window = r->last;
    rmpp_format_answer(reply, mad, RMPP_ACK, RMPP_OK, r->in_order, window);
    r->acked = r->in_order;
    *has_reply = true;
}

static enum rmpp_result refuse(const uint8_t *mad, enum rmpp_type type, uint8_t status,
                               uint8_t reply[MAD_BYTES], bool *has_reply)
{
    rmpp_format_answer(reply, mad, type, status, 0, 0);
    *has_reply = true;
    return RMPP_FAILED;
}

/* What is wrong with a segment, as an RMPP status. */
static uint8_t segment_fault(const struct rmpp_recv *r, const uint8_t *mad, uint32_t segment)
{
    bool first = mad[RMPP_OFF_FLAGS] & RMPP_FIRST, last = mad[RMPP_OFF_FLAGS] & RMPP_LAST;

    if (mad[RMPP_OFF_VERSION] != RMPP_VERSION)
        return RMPP_BAD_VERSION;
    if (mad[RMPP_OFF_TYPE] != RMPP_DATA)
        return RMPP_BAD_TYPE;
    if (segment == 0 || first != (segment == 1))
        return RMPP_INCONSISTENT_FIRST;
    if (r->last && (segment > r->last || last != (segment == r->last)))
        return RMPP_INCONSISTENT_LAST;
    if (last && segment > r->in_order && segment <= r->in_order + RMPP_WINDOW &&
        r->beyond >> (segment - r->in_order - 1) > 1)
        return RMPP_INCONSISTENT_LAST; /* later ones came before */
    return RMPP_OK;
}

/* Bytes of data in the last segment. A PayloadLength that cannot be means a full one: that is how
 * the kernel reads it. */
static size_t last_data_bytes(const uint8_t *mad, size_t offset)
{
    uint32_t payload = mad_get32(mad + RMPP_OFF_LENGTH);
    size_t class_header = offset - MAD_RMPP_HEADER_BYTES;

    if (payload > RMPP_DATA_BYTES || payload < class_header)
        return MAD_BYTES - offset;
    return payload - class_header;
}

static void store(struct rmpp_recv *r, const uint8_t *mad, uint32_t segment)
{
    size_t offset = rmpp_class_data_offset(mad_class(mad));
    size_t data_bytes = MAD_BYTES - offset;
    size_t at = offset + (size_t)(segment - 1) * data_bytes;

    if (r->data->len < at + data_bytes)
        g_byte_array_set_size(r->data, (guint)(at + data_bytes));
    memcpy(r->data->data + at, mad + offset, data_bytes);
    if (segment == 1)
        memcpy(r->data->data, mad, offset);
    if (mad[RMPP_OFF_FLAGS] & RMPP_LAST) {
        r->last = segment;
        r->last_data_bytes = last_data_bytes(mad, offset);
    }
    r->beyond |= 1ull << (segment - r->in_order - 1);
    while (r->beyond & 1) {
        r->beyond >>= 1;
        r->in_order++;
    }
}

static enum rmpp_result complete(struct rmpp_recv *r, int64_t now, const uint8_t *mad)
{
    size_t offset = rmpp_class_data_offset(mad_class(mad));
    size_t full = (size_t)(r->last - 1) * (MAD_BYTES - offset);

    g_byte_array_set_size(r->data, (guint)(offset + full + r->last_data_bytes));
    r->done = true;
    r->deadline = now + RMPP_DONE_LINGER_NS;
    return RMPP_DONE;
}

enum rmpp_result rmpp_recv_input(struct rmpp_recv *r, int64_t now, const uint8_t *mad,
                                 uint8_t reply[MAD_BYTES], bool *has_reply)
{
    uint32_t segment = mad_get32(mad + RMPP_OFF_SEGMENT);
    uint8_t fault = segment_fault(r, mad, segment);
    uint32_t before = r->in_order;

    *has_reply = false;
    if (r->done) {
        acknowledge(r, mad, reply, has_reply);
        return RMPP_RUNNING;
    }
    if (fault)
        return refuse(mad, RMPP_ABORT, fault, reply, has_reply);
    if ((uint64_t)segment * RMPP_DATA_BYTES > RMPP_MAX_PAYLOAD_BYTES)
        return refuse(mad, RMPP_STOP, RMPP_RESOURCES_EXHAUSTED, reply, has_reply);
    if (segment <= r->in_order) {
        acknowledge(r, mad, reply, has_reply); /* our ACK was lost */
        return RMPP_RUNNING;
    }
    if (segment > r->in_order + RMPP_WINDOW)
        return RMPP_RUNNING; /* outside what we granted */
    store(r, mad, segment);
    r->deadline = now + RMPP_RECEIVE_IDLE_NS;
    if (r->in_order > before)
        r->gap_told = false;
    if (r->last && r->in_order == r->last) {
        acknowledge(r, mad, reply, has_reply);
        return complete(r, now, mad);
    }
    if (r->in_order == 1 || r->in_order - r->acked >= ACK_EVERY) {
        if (r->in_order > before)
            acknowledge(r, mad, reply, has_reply);
    } else if (r->beyond && !r->gap_told && r->in_order > 0) {
        r->gap_told = true;
        acknowledge(r, mad, reply, has_reply);
    }
    return RMPP_RUNNING;
}
