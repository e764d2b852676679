/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding, opening and registering a local port. */
#include "shard/mad/umad_open.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <infiniband/umad.h>

#define SMI_CLASS_VERSION 1
#define SA_CLASS_VERSION 2
#define RMPP_VERSION 1
#define PHYS_LINK_UP 5 /* PortPhysicalState, IBA 14.2.5.6 */
#define STATE_DOWN 1

enum sa_request_method { /* IBA 15.2.2 */
                         SA_SEND_REPORT = 0x06,
                         SA_GET_TABLE = 0x12,
                         SA_GET_TRACE_TABLE = 0x13,
                         SA_GET_MULTI = 0x14,
                         SA_DELETE = 0x15,
};

static void set_method(long mask[16 / sizeof(long)], unsigned method)
{
    unsigned bits = 8 * sizeof(long);
    mask[method / bits] |= (long)(1UL << (method % bits));
}

/* -- finding ----------------------------------------------------------------------------------- */

static bool is_infiniband(const umad_port_t *port)
{
    return strcmp(port->link_layer, "Ethernet") != 0;
}

static bool has_link(const umad_port_t *port)
{
    return port->phys_state == PHYS_LINK_UP || port->state > STATE_DOWN;
}

static bool wanted(const struct mad_port_config *c, const umad_port_t *port)
{
    if (!is_infiniband(port))
        return false;
    if (c->guid != 0)
        return be64toh(port->port_guid) == c->guid;
    if (c->port != 0)
        return (unsigned)port->portnum == c->port;
    return true;
}

/* Takes the first port of this device that is wanted, preferring one with a link. False when there
 * is no such device. */
static bool search_device(const struct mad_port_config *c, const char *device, struct mad_handle *h,
                          bool *with_link)
{
    umad_ca_t ca;
    if (umad_get_ca(device, &ca) < 0)
        return false;
    for (int i = 0; i <= ca.numports && i < UMAD_CA_MAX_PORTS; i++) {
        const umad_port_t *port = ca.ports[i];
        if (port == NULL || !wanted(c, port) || *with_link ||
            (h->device[0] != '\0' && !has_link(port)))
            continue;
        g_strlcpy(h->device, device, sizeof(h->device));
        h->number = (unsigned)port->portnum;
        h->guid = be64toh(port->port_guid);
        *with_link = has_link(port);
    }
    umad_release_ca(&ca);
    return true;
}

static int find_port(const struct mad_port_config *c, struct mad_handle *h, char *error,
                     size_t error_size)
{
    char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
    int count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
    bool with_link = false, device_seen = false, any = false;
    for (int i = 0; i < count; i++) {
        bool named = c->device == NULL || strcmp(names[i], c->device) == 0;
        umad_ca_t ca;
        if (named)
            device_seen |= search_device(c, names[i], h, &with_link);
        else if (!any && umad_get_ca(names[i], &ca) >= 0) {
            any = true;
            umad_release_ca(&ca);
        }
    }
    if (!device_seen && !any) {
        snprintf(error, error_size,
                 "no InfiniBand device: libibumad finds none (are the ib_umad module and the "
                 "device's driver loaded; in a simulation, is the simulator running?)");
        return ENODEV;
    }
    if (h->device[0] != '\0')
        return 0;
    if (c->guid != 0)
        snprintf(error, error_size,
                 "no local InfiniBand port has the GUID 0x%016" PRIx64 " (see ibstat -p)", c->guid);
    else if (c->device != NULL && !device_seen)
        snprintf(error, error_size, "no InfiniBand device is named %s (see ibstat -l)", c->device);
    else if (c->device != NULL)
        snprintf(error, error_size, "device %s has no InfiniBand port %u (see ibstat)", c->device,
                 c->port);
    else
        snprintf(error, error_size, "no device has an InfiniBand port (see ibstat)");
    return ENOENT;
}

/* -- registering ------------------------------------------------------------------------------- */

static int register_smi(struct mad_handle *h, unsigned class, int *agent)
{
    /* What other managers, hosts and switches send on their own; answers to our requests arrive
     * by their transaction ids. */
    long mask[16 / sizeof(long)] = {0};
    set_method(mask, MAD_GET);
    set_method(mask, MAD_SET);
    set_method(mask, MAD_TRAP);
    set_method(mask, MAD_TRAP_REPRESS);
    errno = 0;
    *agent = umad_register(h->fd, (int)class, SMI_CLASS_VERSION, 0, mask);
    return *agent >= 0 ? 0 : errno != 0 ? errno : EINVAL;
}

static int register_sa(struct mad_handle *h)
{
    long mask[16 / sizeof(long)] = {0};
    static const unsigned methods[] = {MAD_GET,        MAD_SET,      MAD_TRAP,
                                       SA_SEND_REPORT, SA_GET_TABLE, SA_GET_TRACE_TABLE,
                                       SA_GET_MULTI,   SA_DELETE};
    for (size_t i = 0; i < G_N_ELEMENTS(methods); i++)
        set_method(mask, methods[i]);
    errno = 0;
    h->sa_agent = umad_register(h->fd, SA_CLASS, SA_CLASS_VERSION, RMPP_VERSION, mask);
    return h->sa_agent >= 0 ? 0 : errno != 0 ? errno : EINVAL;
}

static int register_agents(struct mad_handle *h, char *error, size_t error_size)
{
    int rc = register_smi(h, SMP_CLASS_LID, &h->smi_lid_agent);
    if (rc == 0)
        rc = register_smi(h, SMP_CLASS_DR, &h->smi_dr_agent);
    if (rc == 0)
        rc = register_sa(h);
    if (rc != 0)
        snprintf(error, error_size,
                 "cannot register as a subnet manager on %s port %u: %s (does another subnet "
                 "manager, such as opensm, run on this port?)",
                 h->device, h->number, strerror(rc));
    return rc;
}

static int mark_is_sm(struct mad_handle *h, char *error, size_t error_size)
{
    char path[256];
    int rc = umad_get_issm_path(h->device, (int)h->number, path, sizeof(path));
    if (rc != 0) {
        snprintf(error, error_size, "%s port %u has no issm device: %s", h->device, h->number,
                 strerror(rc < 0 ? -rc : rc));
        return ENODEV;
    }
    h->issm_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (h->issm_fd >= 0)
        return 0;
    rc = errno;
    if (rc == EAGAIN || rc == EBUSY)
        snprintf(error, error_size,
                 "%s port %u: another subnet manager holds %s; stop it (opensm?) or choose "
                 "another port",
                 h->device, h->number, path);
    else
        snprintf(error, error_size, "%s port %u: cannot open %s: %s", h->device, h->number, path,
                 strerror(rc));
    return rc;
}

static int open_port(struct mad_handle *h, char *error, size_t error_size)
{
    errno = 0;
    h->fd = umad_open_port(h->device, (int)h->number);
    if (h->fd >= 0)
        return 0;
    int rc = errno != 0 ? errno : -h->fd;
    snprintf(error, error_size, "cannot open %s port %u: %s%s", h->device, h->number, strerror(rc),
             rc == EACCES || rc == EPERM
                 ? " (run as root, or give this user /dev/infiniband/umad* and issm*)"
                 : "");
    return rc;
}

int mad_handle_open(const struct mad_port_config *config, struct mad_handle *h, char *error,
                    size_t error_size)
{
    *h = (struct mad_handle){
        .fd = -1, .issm_fd = -1, .smi_lid_agent = -1, .smi_dr_agent = -1, .sa_agent = -1};
    if (umad_init() < 0) {
        snprintf(error, error_size,
                 "libibumad cannot start: is the ib_umad module loaded (modprobe ib_umad)?");
        return ENODEV;
    }
    int rc = find_port(config, h, error, error_size);
    if (rc == 0)
        rc = open_port(h, error, error_size);
    if (rc == 0)
        rc = register_agents(h, error, error_size);
    if (rc == 0)
        rc = mark_is_sm(h, error, error_size);
    if (rc != 0)
        mad_handle_close(h);
    return rc;
}

void mad_handle_close(struct mad_handle *h)
{
    if (h->issm_fd >= 0)
        close(h->issm_fd);
    if (h->fd >= 0) {
        const int agents[] = {h->smi_lid_agent, h->smi_dr_agent, h->sa_agent};
        for (size_t i = 0; i < G_N_ELEMENTS(agents); i++)
            if (agents[i] >= 0)
                umad_unregister(h->fd, agents[i]);
        umad_close_port(h->fd);
    }
    h->fd = h->issm_fd = -1;
    umad_done();
}
