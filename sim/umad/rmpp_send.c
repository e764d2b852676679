/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending half of RMPP, and what both halves share. */
#include "rmpp.h"
#include <glib.h>

/* A repeated ACK asks for what is missing; more often than this it is an echo of our own repeats.
 */
#define REWIND_INTERVAL_NS (20 * 1000000ll)

struct rmpp_send {
    uint8_t *mad;
    size_t length;
    size_t offset;     /* of the data in each segment */
    size_t data_bytes; /* a segment */
    uint32_t segments;
    uint32_t next; /* to be sent */
    uint32_t acked;
    uint32_t window_end;
    uint32_t highest; /* ever sent */
    int64_t timeout_ns;
    int64_t deadline;
    int64_t rewound_at;
    unsigned retries;
    unsigned retries_left;
};

bool rmpp_class_has_rmpp(uint8_t class)
{
    return class == MAD_CLASS_SA || class == MAD_CLASS_DEVICE_MGMT ||
           class == MAD_CLASS_DEVICE_ADM || class == MAD_CLASS_BIS ||
           (class >= MAD_CLASS_VENDOR2_FIRST && class <= MAD_CLASS_VENDOR2_LAST);
}

size_t rmpp_class_data_offset(uint8_t class)
{
    if (class == MAD_CLASS_SA)
        return 56;
    if (class == MAD_CLASS_DEVICE_MGMT || class == MAD_CLASS_DEVICE_ADM || class == MAD_CLASS_BIS)
        return 64;
    if (class >= MAD_CLASS_VENDOR2_FIRST && class <= MAD_CLASS_VENDOR2_LAST)
        return 40;
    return MAD_HEADER_BYTES;
}

bool rmpp_is_active(const uint8_t *mad)
{
    return rmpp_class_has_rmpp(mad_class(mad)) && (mad[RMPP_OFF_FLAGS] & RMPP_ACTIVE);
}

void rmpp_format_answer(uint8_t out[MAD_BYTES], const uint8_t *mad, enum rmpp_type type,
                        uint8_t status, uint32_t segment, uint32_t window)
{
    size_t header = rmpp_class_data_offset(mad_class(mad));

    memset(out, 0, MAD_BYTES);
    memcpy(out, mad, header);
    out[3] ^= MAD_METHOD_RESPONSE;
    out[RMPP_OFF_VERSION] = RMPP_VERSION;
    out[RMPP_OFF_TYPE] = (uint8_t)type;
    out[RMPP_OFF_FLAGS] = RMPP_ACTIVE;
    out[RMPP_OFF_STATUS] = status;
    mad_put32(out + RMPP_OFF_SEGMENT, segment);
    mad_put32(out + RMPP_OFF_LENGTH, window);
}

struct rmpp_send *rmpp_send_new(const uint8_t *mad, size_t length, int64_t timeout_ns,
                                unsigned retries)
{
    struct rmpp_send *s = g_new0(struct rmpp_send, 1);

    s->offset = rmpp_class_data_offset(mad_class(mad));
    s->data_bytes = MAD_BYTES - s->offset;
    s->length = MAX(length, s->offset);
    s->mad = g_malloc0(s->length);
    memcpy(s->mad, mad, length);
    s->segments = (uint32_t)((s->length - s->offset + s->data_bytes - 1) / s->data_bytes);
    s->segments = MAX(s->segments, 1);
    s->next = 1;
    s->window_end = 1; /* the receiver opens it with its first ACK */
    s->timeout_ns = timeout_ns;
    s->deadline = INT64_MAX;
    s->retries = s->retries_left = retries;
    return s;
}

void rmpp_send_free(struct rmpp_send *s)
{
    if (!s)
        return;
    g_free(s->mad);
    g_free(s);
}

/* PayloadLength (IBA 13.6.2.2.1) counts the class's header in every segment: of the whole transfer
 * in the first segment, of this one in the last, 0 between. */
static uint32_t payload_length(const struct rmpp_send *s, uint32_t segment)
{
    size_t padding = s->segments * s->data_bytes - (s->length - s->offset);

    if (segment == s->segments)
        return (uint32_t)(RMPP_DATA_BYTES - padding);
    if (segment == 1)
        return (uint32_t)((size_t)s->segments * RMPP_DATA_BYTES - padding);
    return 0;
}

bool rmpp_send_next(struct rmpp_send *s, int64_t now, uint8_t out[MAD_BYTES])
{
    uint32_t segment = s->next;
    size_t from = s->offset + (size_t)(segment - 1) * s->data_bytes;
    uint8_t flags = RMPP_ACTIVE;

    if (segment > s->segments || segment > s->window_end)
        return false;
    memset(out, 0, MAD_BYTES);
    memcpy(out, s->mad, s->offset);
    if (from < s->length)
        memcpy(out + s->offset, s->mad + from, MIN(s->data_bytes, s->length - from));
    if (segment == 1)
        flags |= RMPP_FIRST;
    if (segment == s->segments)
        flags |= RMPP_LAST;
    out[RMPP_OFF_VERSION] = RMPP_VERSION;
    out[RMPP_OFF_TYPE] = RMPP_DATA;
    out[RMPP_OFF_FLAGS] = (uint8_t)((out[RMPP_OFF_FLAGS] & ~RMPP_FLAG_MASK) | flags);
    out[RMPP_OFF_STATUS] = RMPP_OK;
    mad_put32(out + RMPP_OFF_SEGMENT, segment);
    mad_put32(out + RMPP_OFF_LENGTH, payload_length(s, segment));
    s->next++;
    s->highest = MAX(s->highest, segment);
    s->deadline = now + s->timeout_ns;
    return true;
}

static void rewind_to_unacked(struct rmpp_send *s, int64_t now)
{
    s->next = s->acked + 1;
    s->rewound_at = now;
}

static enum rmpp_result on_ack(struct rmpp_send *s, int64_t now, const uint8_t *mad, uint8_t *abort)
{
    uint32_t segment = mad_get32(mad + RMPP_OFF_SEGMENT);
    uint32_t window = mad_get32(mad + RMPP_OFF_LENGTH);

    if (segment > s->highest)
        *abort = RMPP_SEGMENT_TOO_BIG;
    else if (window < segment)
        *abort = RMPP_WINDOW_TOO_SMALL;
    if (*abort)
        return RMPP_FAILED;
    if (segment < s->acked)
        return RMPP_RUNNING; /* overtaken on the way */
    if (segment == s->segments)
        return RMPP_DONE;
    s->window_end = MAX(s->window_end, window);
    if (segment > s->acked) {
        s->acked = segment;
        s->next = MAX(s->next, segment + 1);
        s->retries_left = s->retries;
        s->deadline = now + s->timeout_ns;
    } else if (segment > 0 && s->next > segment + 1 && now - s->rewound_at > REWIND_INTERVAL_NS) {
        rewind_to_unacked(s, now);
    }
    return RMPP_RUNNING;
}

enum rmpp_result rmpp_send_input(struct rmpp_send *s, int64_t now, const uint8_t *mad,
                                 uint8_t *abort)
{
    *abort = 0;
    if (mad[RMPP_OFF_VERSION] != RMPP_VERSION) {
        *abort = RMPP_BAD_VERSION;
        return RMPP_FAILED;
    }
    switch (mad[RMPP_OFF_TYPE]) {
    case RMPP_ACK:
        return on_ack(s, now, mad, abort);
    case RMPP_STOP:
    case RMPP_ABORT:
        return RMPP_FAILED;
    default:
        *abort = RMPP_BAD_TYPE;
        return RMPP_FAILED;
    }
}

int64_t rmpp_send_deadline(const struct rmpp_send *s)
{
    return s->deadline;
}

enum rmpp_result rmpp_send_expire(struct rmpp_send *s, int64_t now)
{
    if (now < s->deadline)
        return RMPP_RUNNING;
    if (s->retries_left == 0)
        return RMPP_FAILED;
    s->retries_left--;
    rewind_to_unacked(s, now);
    s->deadline = now + s->timeout_ns;
    return RMPP_RUNNING;
}
