/* SPDX-License-Identifier: BSD-2-Clause */
/* libibumad's functions on open ports. Return values are those of libibumad.
 *
 * A thread may be cancelled while it waits in umad_recv or umad_poll, and nowhere else in here:
 * elsewhere locks are held.
 */
#include "clock.h"
#include "devices.h"
#include <endian.h>
#include <errno.h>
#include <poll.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OPENIB_OUI = 0x001405,
    VENDOR2_VERSION = 1,
    /* A caller that treats an error as nothing special must not spin on it. */
    DEAD_PAUSE_MS = 100,
};

EXPORT int umad_init(void)
{
    return 0;
}

EXPORT int umad_done(void)
{
    devices_detach_unused();
    return 0;
}

EXPORT int umad_open_port(const char *ca_name, int portnum)
{
    struct device *d = devices_attach(ca_name, portnum);
    struct file *f;

    if (!d)
        return errno == EINVAL ? -EINVAL : errno == ENODEV ? -ENODEV : -EIO;
    if (file_open(d->port, &f))
        return -EIO;
    return f->fd;
}

EXPORT int umad_close_port(int fd)
{
    struct file *f = file_get(fd);

    if (!f)
        return 0;
    file_close(f);
    file_put(f);
    return 0;
}

EXPORT int umad_get_fd(int fd)
{
    return fd;
}

EXPORT void *umad_get_mad(void *umad)
{
    return ((struct ib_user_mad *)umad)->data;
}

EXPORT size_t umad_size(void)
{
    return sizeof(struct ib_user_mad);
}

EXPORT int umad_status(void *umad)
{
    return (int)((struct ib_user_mad *)umad)->status;
}

EXPORT ib_mad_addr_t *umad_get_mad_addr(void *umad)
{
    return &((struct ib_user_mad *)umad)->addr;
}

EXPORT int umad_set_grh(void *umad, void *mad_addr)
{
    ib_mad_addr_t *to = umad_get_mad_addr(umad), *from = mad_addr;

    to->grh_present = from != NULL;
    if (!from)
        return 0;
    to->ib_gid = from->ib_gid;
    to->flow_label = htobe32(from->flow_label);
    to->hop_limit = from->hop_limit;
    to->traffic_class = from->traffic_class;
    return 0;
}

EXPORT int umad_set_pkey(void *umad, int pkey_index)
{
    umad_get_mad_addr(umad)->pkey_index = (uint16_t)pkey_index;
    return 0;
}

EXPORT int umad_get_pkey(void *umad)
{
    return umad_get_mad_addr(umad)->pkey_index;
}

EXPORT int umad_set_addr_net(void *umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey)
{
    ib_mad_addr_t *to = umad_get_mad_addr(umad);

    to->qpn = dqp;
    to->lid = dlid;
    to->qkey = qkey;
    to->sl = (uint8_t)sl;
    return 0;
}

EXPORT int umad_set_addr(void *umad, int dlid, int dqp, int sl, int qkey)
{
    return umad_set_addr_net(umad, htobe16((uint16_t)dlid), htobe32((uint32_t)dqp), sl,
                             htobe32((uint32_t)qkey));
}

EXPORT int umad_send(int fd, int agentid, void *umad, int length, int timeout_ms, int retries)
{
    struct ib_user_mad *mad = umad;
    struct file *f = file_get(fd);
    int error, cancel;

    if (!f || agentid < 0 || length < 0) {
        if (f)
            file_put(f);
        errno = f ? EINVAL : EBADF;
        return -EIO;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    mad->timeout_ms = (uint32_t)timeout_ms;
    mad->retries = (uint32_t)retries;
    mad->agent_id = (uint32_t)agentid;
    error = port_send(f, (uint32_t)agentid, mad, (size_t)length, timeout_ms, retries);
    file_put(f);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return error ? -EIO : 0;
}

static void put_file(void *file)
{
    file_put(file);
}

/* Wait until there is something to read (fd -1: just wait). The only place where a thread may be
 * cancelled. */
static int wait_readable(struct file *f, int descriptor, int timeout_ms, int cancel)
{
    struct pollfd fd = {.fd = descriptor, .events = POLLIN};
    int n, error;

    pthread_cleanup_push(put_file, f);
    pthread_setcancelstate(cancel, NULL);
    n = poll(&fd, 1, timeout_ms);
    error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_pop(0);
    errno = error;
    return n == 1 ? 0 : n == 0 ? ETIMEDOUT : EIO;
}

static int receive(struct file *f, struct ib_user_mad *umad, int *length, int timeout_ms,
                   int cancel)
{
    size_t room = *length > 0 ? (size_t)*length : 0, have = 0;
    int error = file_read(f, umad, room, &have);

    if (error == EAGAIN && timeout_ms) {
        error = wait_readable(f, f->fd, timeout_ms, cancel);
        /* A request's time-out may be due now, too: callers wait as long as their request does. */
        if (error == ETIMEDOUT)
            port_expire(f->port);
        if (error == 0 || error == ETIMEDOUT) {
            int again = file_read(f, umad, room, &have);
            error = again == EAGAIN ? (error ? error : EWOULDBLOCK) : again;
        }
    }
    if (error == EIO && timeout_ms)
        wait_readable(f, -1, timeout_ms > 0 ? MIN(timeout_ms, DEAD_PAUSE_MS) : DEAD_PAUSE_MS,
                      cancel);
    if (error == 0 || error == ENOSPC)
        *length = (int)have;
    return error;
}

EXPORT int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
    struct ib_user_mad *mad = umad;
    struct file *f;
    int error, cancel;

    errno = 0;
    if (!umad || !length) {
        errno = EINVAL;
        return -EINVAL;
    }
    f = file_get(fd);
    if (!f) {
        errno = EBADF;
        return -EBADF;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    error = receive(f, mad, length, timeout_ms, cancel);
    file_put(f);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return error ? -error : (int)mad->agent_id;
}

EXPORT int umad_poll(int fd, int timeout_ms)
{
    struct file *f = file_get(fd);
    int error, cancel;

    if (!f) {
        errno = EBADF;
        return -EIO;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    error = wait_readable(f, f->fd, timeout_ms, cancel);
    pthread_mutex_lock(&f->port->lock);
    if (!error && f->received.length == 0 && (f->port->dead || f->closed))
        error = EIO;
    pthread_mutex_unlock(&f->port->lock);
    file_put(f);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return -error;
}

static int register_agent(int fd, struct match_agent *agent, uint32_t *id)
{
    struct file *f = file_get(fd);
    int error;

    if (!f)
        return EBADF;
    pthread_mutex_lock(&f->port->lock);
    error = file_register(f, agent);
    pthread_mutex_unlock(&f->port->lock);
    file_put(f);
    *id = agent->id;
    return error;
}

static void set_oui(struct match_agent *agent, uint32_t oui)
{
    agent->oui[0] = (uint8_t)(oui >> 16);
    agent->oui[1] = (uint8_t)(oui >> 8);
    agent->oui[2] = (uint8_t)oui;
}

static int register_old(int fd, int class, int version, uint8_t rmpp_version, uint32_t oui,
                        const long *method_mask)
{
    struct match_agent agent = {
        .class = (uint8_t) class, .version = (uint8_t)version, .rmpp = rmpp_version != 0};
    uint32_t id;
    int error;

    if (method_mask)
        memcpy(agent.methods, method_mask, sizeof agent.methods);
    set_oui(&agent, oui);
    error = register_agent(fd, &agent, &id);
    errno = error;
    return error ? -EPERM : (int)id;
}

EXPORT int umad_register(int fd, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                         long method_mask[16 / sizeof(long)])
{
    return register_old(fd, mgmt_class, mgmt_version, rmpp_version, OPENIB_OUI, method_mask);
}

EXPORT int umad_register_oui(int fd, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                             long method_mask[16 / sizeof(long)])
{
    if (mgmt_class < MAD_CLASS_VENDOR2_FIRST || mgmt_class > MAD_CLASS_VENDOR2_LAST)
        return -EINVAL;
    return register_old(fd, mgmt_class, VENDOR2_VERSION, rmpp_version,
                        (uint32_t)oui[0] << 16 | (uint32_t)oui[1] << 8 | oui[2], method_mask);
}

EXPORT int umad_register2(int fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
    struct match_agent agent = {0};

    if (!attr || !agent_id)
        return EINVAL;
    if (attr->flags & ~(uint32_t)UMAD_USER_RMPP) {
        attr->flags = UMAD_USER_RMPP; /* what is known here */
        return EINVAL;
    }
    agent.class = attr->mgmt_class;
    agent.version = attr->mgmt_class_version;
    agent.rmpp = attr->rmpp_version && !(attr->flags & UMAD_USER_RMPP);
    memcpy(agent.methods, attr->method_mask, sizeof agent.methods);
    set_oui(&agent, attr->oui);
    return register_agent(fd, &agent, agent_id);
}

EXPORT int umad_unregister(int fd, int agentid)
{
    struct file *f = file_get(fd);
    int error;

    if (!f)
        return -EBADF;
    pthread_mutex_lock(&f->port->lock);
    error = agentid < 0 ? EINVAL : file_unregister(f, (uint32_t)agentid);
    pthread_mutex_unlock(&f->port->lock);
    file_put(f);
    errno = error;
    return -error;
}
