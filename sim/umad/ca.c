/* SPDX-License-Identifier: BSD-2-Clause */
/* What libibumad tells about CAs and ports: here always asked of the simulator, never kept. */
#include "devices.h"
#include <errno.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

/* NodeInfo (IBA 14.2.5.3). */
enum {
    NI_TYPE = 2,
    NI_SYSTEM_GUID = 4,
    NI_NODE_GUID = 12,
    NI_PORT_GUID = 20,
    NI_PARTITION_CAP = 28,
};

/* PortInfo (IBA 14.2.5.6). */
enum {
    PI_GID_PREFIX = 8,
    PI_LID = 16,
    PI_SM_LID = 18,
    PI_CAPABILITY_MASK = 20,
    PI_WIDTH_ACTIVE = 31,
    PI_STATE = 32,
    PI_PHYSICAL_STATE = 33,
    PI_LMC = 34,
    PI_SPEED_ACTIVE = 35,
    PI_SM_SL = 36,
    PI_SPEED_EXT_ACTIVE = 62,
};

enum { PKEY_DEFAULT = 0xffff };

/* The rate in Gb/s as sysfs gives it, an integer, from width and speed of the link. */
static unsigned rate_of(const uint8_t *info)
{
    static const unsigned widths[] = {[1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2};
    static const unsigned tenths[] = {[1] = 25, [2] = 50, [4] = 100};
    static const unsigned tenths_ext[] = {[1] = 140, [2] = 250, [4] = 500, [8] = 1000};
    unsigned width = info[PI_WIDTH_ACTIVE], speed = info[PI_SPEED_ACTIVE] >> 4;
    unsigned ext = info[PI_SPEED_EXT_ACTIVE] >> 4;
    unsigned lanes = width < sizeof widths / sizeof *widths ? widths[width] : 0;
    unsigned tenth = speed < sizeof tenths / sizeof *tenths ? tenths[speed] : 0;

    if (ext && ext < sizeof tenths_ext / sizeof *tenths_ext && tenths_ext[ext])
        tenth = tenths_ext[ext];
    return lanes * tenth / 10;
}

/* The simulator tells the first 32 P_Keys; the table's size is the node's. */
static int fill_pkeys(struct device *d, umad_port_t *port)
{
    uint8_t first[WIRE_CTL_DATA_BYTES] = {0};
    unsigned size = mad_get16(d->port->node_info + NI_PARTITION_CAP);
    int error = link_ctl(&d->port->link, WIRE_GET_PKEYS, first, sizeof first);

    if (error)
        return error;
    size = size ? size : 1;
    port->pkeys = calloc(size, sizeof *port->pkeys);
    if (!port->pkeys)
        return ENOMEM;
    port->pkeys_size = size;
    for (unsigned i = 0; i < size && i < sizeof first / 2; i++)
        port->pkeys[i] = mad_get16(first + 2 * i);
    if (!port->pkeys[0])
        port->pkeys[0] = PKEY_DEFAULT;
    return 0;
}

static int fill_port(struct device *d, umad_port_t *port)
{
    uint8_t info[WIRE_CTL_DATA_BYTES] = {(uint8_t)d->port->number};
    int error = link_ctl(&d->port->link, WIRE_GET_PORT_INFO, info, sizeof info);

    memset(port, 0, sizeof *port);
    if (error)
        return error;
    snprintf(port->ca_name, sizeof port->ca_name, "%s", d->name);
    snprintf(port->link_layer, sizeof port->link_layer, "InfiniBand");
    port->portnum = d->port->number;
    port->base_lid = mad_get16(info + PI_LID);
    port->lmc = info[PI_LMC] & 7;
    port->sm_lid = mad_get16(info + PI_SM_LID);
    port->sm_sl = info[PI_SM_SL] & 15;
    port->state = info[PI_STATE] & 15;
    port->phys_state = info[PI_PHYSICAL_STATE] >> 4;
    port->rate = rate_of(info);
    port->capmask = htobe32(mad_get32(info + PI_CAPABILITY_MASK));
    port->gid_prefix = htobe64(mad_get64(info + PI_GID_PREFIX));
    port->port_guid = htobe64(mad_get64(d->port->node_info + NI_PORT_GUID));
    return fill_pkeys(d, port);
}

static int fill_ca(struct device *d, umad_ca_t *ca)
{
    const uint8_t *node = d->port->node_info;
    struct wire_vendor vendor = {0};
    int number = d->port->number, error;

    memset(ca, 0, sizeof *ca);
    error = link_ctl(&d->port->link, WIRE_GET_VENDOR, &vendor, sizeof vendor);
    if (error)
        return error;
    if (number >= UMAD_CA_MAX_PORTS)
        return ENODEV;
    snprintf(ca->ca_name, sizeof ca->ca_name, "%s", d->name);
    snprintf(ca->ca_type, sizeof ca->ca_type, "MT%u", vendor.device & 0xffff);
    snprintf(ca->fw_ver, sizeof ca->fw_ver, "%u.%u.%u",
             (unsigned)(vendor.fw_version >> 32 & 0xffff),
             (unsigned)(vendor.fw_version >> 16 & 0xffff), (unsigned)(vendor.fw_version & 0xffff));
    snprintf(ca->hw_ver, sizeof ca->hw_ver, "%x", vendor.hw_version);
    ca->node_type = node[NI_TYPE];
    ca->numports = number;
    ca->node_guid = htobe64(mad_get64(node + NI_NODE_GUID));
    ca->system_guid = htobe64(mad_get64(node + NI_SYSTEM_GUID));
    ca->ports[number] = calloc(1, sizeof *ca->ports[number]);
    return ca->ports[number] ? fill_port(d, ca->ports[number]) : ENOMEM;
}

EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
    int n = devices_count();

    if (n < 0 || !devices_attach(devices_name(0), 0))
        return -ENODEV;
    n = n < max ? n : max;
    for (int i = 0; i < n; i++)
        snprintf(cas[i], UMAD_CA_NAME_LEN, "%s", devices_name(i));
    return n;
}

EXPORT int umad_release_port(umad_port_t *port)
{
    if (!port)
        return -ENODEV;
    free(port->pkeys);
    port->pkeys = NULL;
    port->pkeys_size = 0;
    return 0;
}

EXPORT int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
    struct device *d = devices_attach(ca_name, portnum);
    int error;

    if (!d)
        return errno == EINVAL ? -EINVAL : -ENODEV;
    error = fill_port(d, port);
    if (error)
        umad_release_port(port);
    return error ? -EIO : 0;
}

EXPORT int umad_release_ca(umad_ca_t *ca)
{
    if (!ca)
        return -ENODEV;
    for (int i = 0; i < UMAD_CA_MAX_PORTS; i++) {
        if (!ca->ports[i])
            continue;
        umad_release_port(ca->ports[i]);
        free(ca->ports[i]);
        ca->ports[i] = NULL;
    }
    return 0;
}

EXPORT int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
    struct device *d = devices_attach(ca_name, 0);
    int error;

    if (!d)
        return -ENODEV;
    error = fill_ca(d, ca);
    if (error)
        umad_release_ca(ca);
    return error ? -EIO : 0;
}

EXPORT int umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max)
{
    struct device *d = devices_attach(ca_name, 0);
    int number;

    if (!d)
        return -ENODEV;
    if (!portguids)
        return 0;
    number = d->port->number;
    if (number + 1 > max)
        return -ENOMEM;
    memset(portguids, 0, (size_t)(number + 1) * sizeof *portguids);
    portguids[number] = htobe64(mad_get64(d->port->node_info + NI_PORT_GUID));
    return number + 1;
}

EXPORT int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
    struct device *d = devices_attach(ca_name, portnum);

    if (!d)
        return errno == EINVAL ? -EINVAL : -ENODEV;
    devices_issm_path(d, path, (size_t)max);
    return 0;
}

EXPORT void umad_free_ca_device_list(struct umad_device_node *head)
{
    while (head) {
        struct umad_device_node *next = head->next;
        free(head);
        head = next;
    }
}

EXPORT struct umad_device_node *umad_get_ca_device_list(void)
{
    struct umad_device_node *head = NULL;
    int n = devices_count();

    if (n < 0 || !devices_attach(devices_name(0), 0)) {
        errno = ENODEV;
        return NULL;
    }
    while (n-- > 0) {
        struct umad_device_node *node = calloc(1, sizeof *node);
        if (!node) {
            umad_free_ca_device_list(head);
            errno = ENOMEM;
            return NULL;
        }
        node->ca_name = devices_name(n);
        node->next = head;
        head = node;
    }
    return head;
}
