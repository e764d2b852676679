/* SPDX-License-Identifier: BSD-2-Clause */
/* The SA: checking of requests, dispatch, responses. */
#include "shard/sa/sa.h"

#include <string.h>

#include "shard/sa/sa_private.h"

#define BASE_VERSION 1
#define CLASS_VERSION 2
#define RMPP_VERSION 1
#define RMPP_TYPE_DATA 1
#define RMPP_FLAG_ACTIVE 1
#define RESPONSE_BIT 0x80u

enum offset { /* of fields in an SA MAD */
              OFF_BASE_VERSION = 0,
              OFF_CLASS_VERSION = 2,
              OFF_METHOD = 3,
              OFF_STATUS = 4,
              OFF_RMPP_VERSION = 24,
              OFF_RMPP_TYPE = 25,
              OFF_RMPP_FLAGS = 26,
              OFF_SM_KEY = 36,
              OFF_ATTRIBUTE_OFFSET = 44,
              OFF_COMPONENT_MASK = 48,
};

struct attribute {
    uint16_t id;
    bool table; /* GetTable too */
    enum sa_status (*answer)(struct sa_query *q);
};

static const struct attribute attributes[] = {
    {0x0001, false, sa_class_port_info}, {0x0011, true, sa_node_records},
    {0x0012, true, sa_portinfo_records}, {0x0014, true, sa_switchinfo_records},
    {0x0018, true, sa_sminfo_records},   {0x0020, true, sa_link_records},
    {0x0035, true, sa_path_records},
};

uint64_t sa_get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return GUINT64_FROM_BE(v);
}

void sa_put64(uint8_t *p, uint64_t v)
{
    v = GUINT64_TO_BE(v);
    memcpy(p, &v, sizeof(v));
}

void sa_add(struct sa_query *q, const uint8_t *record)
{
    if (SA_HEADER_BYTES + (q->count + 1) * q->record_bytes > SA_MAX_ANSWER_BYTES) {
        q->overflow = true;
        return;
    }
    g_byte_array_append(q->records, record, (guint)q->record_bytes);
    q->count++;
}

/* -- responses --------------------------------------------------------------------------------- */

static uint8_t response_method(unsigned method)
{
    switch (method) {
    case SA_GET:
    case SA_SET:
        return MAD_GET_RESP;
    case SA_GET_TRACE_TABLE:
        return SA_GET_TABLE | RESPONSE_BIT;
    default:
        return (uint8_t)(method | RESPONSE_BIT);
    }
}

/* Headers of the response: those of the request without SM_Key and RMPP. */
static uint8_t *response(const uint8_t *request, size_t len, enum sa_status status)
{
    uint8_t *r = g_malloc0(len);
    memcpy(r, request, SA_HEADER_BYTES);
    memset(r + OFF_RMPP_VERSION, 0, OFF_SM_KEY - OFF_RMPP_VERSION);
    memset(r + OFF_SM_KEY, 0, sizeof(uint64_t));
    sa_put16(r + OFF_ATTRIBUTE_OFFSET, 0);
    r[OFF_BASE_VERSION] = BASE_VERSION;
    r[OFF_CLASS_VERSION] = CLASS_VERSION;
    r[OFF_METHOD] = response_method(mad_method(request));
    sa_put16(r + OFF_STATUS, (uint16_t)status);
    return r;
}

static uint8_t *answer(const uint8_t *request, const struct sa_query *q, size_t *len, bool *rmpp)
{
    size_t bytes = SA_HEADER_BYTES + q->records->len;
    *rmpp = !q->get;
    *len = q->get ? MAD_BYTES : bytes;
    uint8_t *r = response(request, MAX(bytes, MAD_BYTES), SA_OK);
    if (q->count > 0)
        memcpy(r + SA_HEADER_BYTES, q->records->data, q->records->len);
    if (q->count > 0)
        sa_put16(r + OFF_ATTRIBUTE_OFFSET, (uint16_t)(q->record_bytes / 8));
    if (*rmpp) {
        r[OFF_RMPP_VERSION] = RMPP_VERSION;
        r[OFF_RMPP_TYPE] = RMPP_TYPE_DATA;
        r[OFF_RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
    }
    return r;
}

/* -- requests ---------------------------------------------------------------------------------- */

static const struct attribute *find_attribute(unsigned id)
{
    for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++)
        if (attributes[i].id == id)
            return &attributes[i];
    return NULL;
}

static bool is_request(unsigned method)
{
    return (method & RESPONSE_BIT) == 0 && method != SA_SEND && method != SA_TRAP &&
           method != SA_REPORT && method != SA_TRAP_REPRESS;
}

static enum sa_status check_request(const struct sa_context *c, const uint8_t *request,
                                    const struct attribute **a)
{
    if (request[OFF_BASE_VERSION] != BASE_VERSION || request[OFF_CLASS_VERSION] != CLASS_VERSION)
        return SA_UNSUP_VERSION;
    switch (mad_method(request)) {
    case SA_GET:
    case SA_GET_TABLE:
        break;
    case SA_SET:
    case SA_DELETE:
    case SA_GET_TRACE_TABLE:
    case SA_GET_MULTI:
        return SA_UNSUP_ATTRIBUTE;
    default:
        return SA_UNSUP_METHOD;
    }
    *a = find_attribute(mad_attribute(request));
    if (*a == NULL || (mad_method(request) == SA_GET_TABLE && !(*a)->table))
        return SA_UNSUP_ATTRIBUTE;
    uint64_t key = sa_get64(request + OFF_SM_KEY);
    if (key != 0 && key != c->sm_key)
        return SA_REQ_INVALID;
    return c->busy && (*a)->answer != sa_class_port_info ? SA_BUSY : SA_OK;
}

static enum sa_status run_query(const struct attribute *a, struct sa_query *q)
{
    enum sa_status status = a->answer(q);
    if (status != SA_OK)
        return status;
    if (q->overflow)
        return SA_NO_RESOURCES;
    if (q->get && q->count == 0)
        return SA_NO_RECORDS;
    return q->get && q->count > 1 ? SA_TOO_MANY_RECORDS : SA_OK;
}

bool sa_handle(const struct sa_context *context, const uint8_t *request, size_t len,
               const struct mad_address *requester, uint8_t **out, size_t *out_len, bool *rmpp)
{
    (void)requester; /* answers do not depend on who asks, as long as partitions do not */
    if (len < MAD_BYTES || mad_class(request) != SA_CLASS || !is_request(mad_method(request)))
        return false;
    *rmpp = false;
    *out_len = MAD_BYTES;
    const struct attribute *a = NULL;
    enum sa_status status = check_request(context, request, &a);
    if (status != SA_OK) {
        *out = response(request, MAD_BYTES, status);
        return true;
    }
    struct sa_query q = {.context = context,
                         .get = mad_method(request) == SA_GET,
                         .trusted = sa_get64(request + OFF_SM_KEY) != 0,
                         .mask = sa_get64(request + OFF_COMPONENT_MASK),
                         .modifier = mad_modifier(request),
                         .wanted = request + SA_HEADER_BYTES,
                         .records = g_byte_array_new()};
    status = run_query(a, &q);
    if (status == SA_OK)
        *out = answer(request, &q, out_len, rmpp);
    else
        *out = response(request, MAD_BYTES, status);
    g_byte_array_free(q.records, TRUE);
    return true;
}
