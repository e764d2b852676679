/* SPDX-License-Identifier: BSD-2-Clause */
/* Reliable multi-packet transactions (IBA 13.6): segmentation and reassembly as pure state
 * machines.
 *
 * A payload longer than one MAD travels as DATA segments, each with the class's header repeated,
 * answered by ACKs that name the last segment received in order and the end of the window. Either
 * side ends a transfer early with ABORT or STOP and a status.
 *
 * Neither machine reads a clock or sends: the caller passes the time (monotonic, ns), takes
 * segments and answers out, and calls `expire` when the deadline has passed.
 * Lengths are those of a MAD as a libibumad user sees it: the first segment's header followed by
 * all data, without the headers of later segments and without padding.
 */
#ifndef SIM_UMAD_RMPP_H
#define SIM_UMAD_RMPP_H

#include "mad.h"
#include <stddef.h>

enum rmpp_type { RMPP_DATA = 1, RMPP_ACK = 2, RMPP_STOP = 3, RMPP_ABORT = 4 };

enum rmpp_flag { RMPP_ACTIVE = 1, RMPP_FIRST = 2, RMPP_LAST = 4, RMPP_FLAG_MASK = 7 };

enum rmpp_status {
    RMPP_OK = 0,
    RMPP_RESOURCES_EXHAUSTED = 1,
    RMPP_INCONSISTENT_LAST = 119,
    RMPP_INCONSISTENT_FIRST = 120,
    RMPP_BAD_TYPE = 121,
    RMPP_WINDOW_TOO_SMALL = 122,
    RMPP_SEGMENT_TOO_BIG = 123,
    RMPP_BAD_VERSION = 125,
    RMPP_TOO_MANY_RETRIES = 126,
};

enum {
    RMPP_OFF_VERSION = 24,
    RMPP_OFF_TYPE = 25,
    RMPP_OFF_FLAGS = 26,
    RMPP_OFF_STATUS = 27,
    RMPP_OFF_SEGMENT = 28,
    RMPP_OFF_LENGTH = 32, /* PayloadLength of DATA, NewWindowLast of an ACK */
    RMPP_VERSION = 1,
    RMPP_DATA_BYTES = MAD_BYTES - MAD_RMPP_HEADER_BYTES,
    RMPP_WINDOW = 64,
    RMPP_MAX_PAYLOAD_BYTES = 64 << 20,
};

#define RMPP_ACK_TIMEOUT_NS (2000 * 1000000ll)
#define RMPP_RECEIVE_IDLE_NS (10000 * 1000000ll)
#define RMPP_DONE_LINGER_NS (5000 * 1000000ll)

/* Does this class use RMPP at all, and where does its data begin? */
bool rmpp_class_has_rmpp(uint8_t class);
size_t rmpp_class_data_offset(uint8_t class);

/* Is RMPP in use in this MAD? */
bool rmpp_is_active(const uint8_t *mad);

/* What became of a transfer. */
enum rmpp_result { RMPP_RUNNING, RMPP_DONE, RMPP_FAILED };

/* Sending. The machine copies the MAD; `timeout_ns` is how long to wait for each ACK. */
struct rmpp_send;

struct rmpp_send *rmpp_send_new(const uint8_t *mad, size_t length, int64_t timeout_ns,
                                unsigned retries);
void rmpp_send_free(struct rmpp_send *s);

/* The next segment that may go out now; false where the window is exhausted. */
bool rmpp_send_next(struct rmpp_send *s, int64_t now, uint8_t out[MAD_BYTES]);

/* An ACK, STOP or ABORT has come. Where the result is RMPP_FAILED because of what the other side
 * sent, *abort is the status to send back in an ABORT, else 0. */
enum rmpp_result rmpp_send_input(struct rmpp_send *s, int64_t now, const uint8_t *mad,
                                 uint8_t *abort);

/* When to call expire. It winds back to the first segment not acknowledged, or gives up. */
int64_t rmpp_send_deadline(const struct rmpp_send *s);
enum rmpp_result rmpp_send_expire(struct rmpp_send *s, int64_t now);

/* Receiving. */
struct rmpp_recv;

struct rmpp_recv *rmpp_recv_new(int64_t now);
void rmpp_recv_free(struct rmpp_recv *r);

/* A segment has come. *reply is filled where *has_reply is set: an ACK, or the ABORT or STOP of a
 * transfer that fails. RMPP_DONE once, when the last missing segment comes; afterwards the machine
 * only acknowledges what is sent again. */
enum rmpp_result rmpp_recv_input(struct rmpp_recv *r, int64_t now, const uint8_t *mad,
                                 uint8_t reply[MAD_BYTES], bool *has_reply);

bool rmpp_recv_is_done(const struct rmpp_recv *r);
/* Take the MAD out of a transfer that is done: g_free() it. */
uint8_t *rmpp_recv_steal(struct rmpp_recv *r, size_t *length);

/* When a transfer that makes no progress, or one that is done, is to be forgotten. */
int64_t rmpp_recv_deadline(const struct rmpp_recv *r);

/* An ACK, STOP or ABORT that answers the segment `mad`. */
void rmpp_format_answer(uint8_t out[MAD_BYTES], const uint8_t *mad, enum rmpp_type type,
                        uint8_t status, uint32_t segment, uint32_t window);

#endif
