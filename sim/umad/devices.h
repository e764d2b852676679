/* SPDX-License-Identifier: BSD-2-Clause */
/* The CAs that a process sees, and their attachment to the simulator on first use.
 *
 * One CA "ibsim0" at the node SIM_HOST, or those of HEDDLE_UMAD_PORTS ("name=node[:port],..."),
 * each with one port and one client slot. A device stays attached until umad_done() finds no port
 * open, or the process ends. Thread-safe; devices live as long as the process.
 */
#ifndef SIM_UMAD_DEVICES_H
#define SIM_UMAD_DEVICES_H

#include "port.h"

enum { DEVICES_MAX = 16 };

struct device {
    char name[UMAD_CA_NAME_LEN];
    char node[WIRE_NODE_ID_BYTES];
    int wanted_port; /* 0: whichever the simulator gives */
    struct port *port;
    int issm_fd;       /* of the program that holds the issm file, or -1 */
    int64_t failed_at; /* the last time that the simulator did not answer */
};

/* Number of devices; negative where HEDDLE_UMAD_PORTS makes no sense. */
int devices_count(void);
const char *devices_name(int index);

/* The device of a CA name (NULL: the first whose port is active, else the first), attached, with
 * the port number checked (0: any). NULL with errno set where that fails; stderr says why. */
struct device *devices_attach(const char *ca_name, int port_number);
int devices_index(const struct device *d);

/* Detach all, if no file is open and no issm file. */
void devices_detach_unused(void);

/* The file behind /dev/infiniband/issmN: opening sets IsSM at the port, closing clears it.
 * devices_issm_open returns a descriptor or -1 with errno; -2 for any other path.
 * devices_issm_close: is `fd` such a descriptor? Then IsSM has been cleared. */
void devices_issm_path(const struct device *d, char *path, size_t size);
int devices_issm_open(const char *path);
bool devices_issm_close(int fd);

/* Parse one item of HEDDLE_UMAD_PORTS; false where it makes no sense. */
bool devices_parse(const char *item, struct device *d);

#endif
