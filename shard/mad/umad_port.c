/* SPDX-License-Identifier: BSD-2-Clause */
/* A local port through libibumad: sending and receiving. */
#include "shard/mad/umad_port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <glib.h>
#include <infiniband/umad.h>

#include "shard/mad/umad_open.h"

#define FIRST_BUFFER_BYTES 4096u
#define MAX_MAD_BYTES (4u << 20) /* a reassembled request; more is read and dropped */
#define MAD_HEADER_BYTES 24u
#define GSI_QKEY 0x80010000u
#define RMPP_RETRIES 3 /* of segments, by the kernel */
#define SEGMENT_TIMEOUT_MS 2000u

struct mad_port {
    struct mad_handle h;
    uint8_t *send_buffer, *receive_buffer; /* with umad's header .. */
    size_t send_size, receive_size;        /* .. which does not count here */
    bool lost;
    struct mad_port_counters counters;
};

/* -- opening ----------------------------------------------------------------------------------- */

int mad_port_open(const struct mad_port_config *config, struct mad_port **port, char *error,
                  size_t error_size)
{
    struct mad_handle h;
    int rc = mad_handle_open(config, &h, error, error_size);
    if (rc != 0)
        return rc;
    struct mad_port *p = g_new0(struct mad_port, 1);
    p->h = h;
    p->receive_size = FIRST_BUFFER_BYTES;
    p->receive_buffer = g_malloc0(umad_size() + p->receive_size);
    *port = p;
    return 0;
}

void mad_port_close(struct mad_port *p)
{
    if (p == NULL)
        return;
    mad_handle_close(&p->h);
    g_free(p->send_buffer);
    g_free(p->receive_buffer);
    g_free(p);
}

const char *mad_port_device(const struct mad_port *p)
{
    return p->h.device;
}

unsigned mad_port_number(const struct mad_port *p)
{
    return p->h.number;
}

uint64_t mad_port_guid(const struct mad_port *p)
{
    return p->h.guid;
}

/* -- sending ----------------------------------------------------------------------------------- */

static int agent_of(const struct mad_port *p, unsigned class)
{
    switch (class) {
    case SMP_CLASS_LID:
        return p->h.smi_lid_agent;
    case SMP_CLASS_DR:
        return p->h.smi_dr_agent;
    case SA_CLASS:
        return p->h.sa_agent;
    default:
        return -1;
    }
}

int mad_port_send(struct mad_port *p, const uint8_t *mad, size_t len, const struct mad_address *to,
                  uint32_t timeout_ms, bool rmpp)
{
    int agent = len >= MAD_BYTES || rmpp ? agent_of(p, mad_class(mad)) : -1;
    if (agent < 0)
        return EINVAL;
    if (p->send_size < len) {
        p->send_size = MAX(len, FIRST_BUFFER_BYTES);
        g_free(p->send_buffer);
        p->send_buffer = g_malloc(umad_size() + p->send_size);
    }
    memset(p->send_buffer, 0, umad_size());
    bool smp = agent != p->h.sa_agent;
    umad_set_addr(p->send_buffer, to->lid, smp ? 0 : (int)to->qpn, to->sl, smp ? 0 : (int)GSI_QKEY);
    umad_set_pkey(p->send_buffer, smp ? 0 : to->pkey_index);
    umad_get_mad_addr(p->send_buffer)->path_bits = to->path_bits;
    memcpy(umad_get_mad(p->send_buffer), mad, len);
    int rc = umad_send(p->h.fd, agent, p->send_buffer, (int)len,
                       rmpp ? (int)SEGMENT_TIMEOUT_MS : (int)timeout_ms, rmpp ? RMPP_RETRIES : 0);
    if (rc == 0)
        return 0;
    int e = errno != 0 ? errno : EIO;
    p->counters.send_errors++;
    if (e == ENODEV)
        p->lost = true;
    return e;
}

/* -- receiving --------------------------------------------------------------------------------- */

int mad_port_fd(const struct mad_port *p)
{
    return umad_get_fd(p->h.fd);
}

static struct mad_address address_of(void *umad)
{
    const ib_mad_addr_t *a = umad_get_mad_addr(umad);
    return (struct mad_address){.lid = ntohs(a->lid),
                                .sl = a->sl,
                                .path_bits = a->path_bits,
                                .qpn = ntohl(a->qpn),
                                .qkey = ntohl(a->qkey),
                                .pkey_index = a->pkey_index};
}

/* Reads one MAD of *length bytes. Returns 0, EAGAIN when none waits, or what ended the device. */
static int read_one(struct mad_port *p, size_t *length)
{
    for (;;) {
        int room = (int)p->receive_size;
        if (umad_recv(p->h.fd, p->receive_buffer, &room, 0) >= 0) {
            *length = room > 0 ? (size_t)room : 0;
            return 0;
        }
        int e = errno;
        if (e == EINTR)
            continue;
        if (e == EWOULDBLOCK || e == ETIMEDOUT)
            return EAGAIN;
        if (e != ENOSPC || room <= (int)p->receive_size)
            return e;
        /* The kernel keeps a long message until the buffer is large enough. */
        p->receive_size = (size_t)room;
        g_free(p->receive_buffer);
        p->receive_buffer = g_malloc0(umad_size() + p->receive_size);
    }
}

/* Makes m of the MAD that was read. Of an unanswered request the kernel gives the header only. */
static bool usable(struct mad_port *p, size_t length, struct mad_received *m)
{
    uint8_t *mad = umad_get_mad(p->receive_buffer);
    m->failed = umad_status(p->receive_buffer) != 0;
    if (length > MAX_MAD_BYTES || length < (m->failed ? MAD_HEADER_BYTES : MAD_BYTES))
        return false;
    if (length < MAD_BYTES)
        memset(mad + length, 0, MAD_BYTES - length);
    m->mad = mad;
    m->len = MAX(length, MAD_BYTES);
    m->from = address_of(p->receive_buffer);
    return true;
}

size_t mad_port_receive(struct mad_port *p, void (*f)(void *user, const struct mad_received *m),
                        void *user)
{
    size_t handled = 0, length;
    for (unsigned i = 0; i < MAD_PORT_BATCH && !p->lost; i++) {
        struct mad_received m;
        int rc = read_one(p, &length);
        if (rc == EAGAIN)
            break;
        if (rc != 0) {
            p->lost = true;
            break;
        }
        if (!usable(p, length, &m)) {
            p->counters.dropped_malformed++;
            continue;
        }
        p->counters.received++;
        p->counters.failed += m.failed;
        f(user, &m);
        handled++;
    }
    return handled;
}

bool mad_port_lost(const struct mad_port *p)
{
    return p->lost;
}

struct mad_port_counters mad_port_counters(const struct mad_port *p)
{
    return p->counters;
}
