/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding, opening and registering a local port; for umad_port.c only. */
#ifndef SHARD_MAD_UMAD_OPEN_H
#define SHARD_MAD_UMAD_OPEN_H

#include "shard/mad/umad_port.h"

struct mad_handle {
    char device[32];
    unsigned number;
    uint64_t guid;
    int fd;      /* libibumad's port id */
    int issm_fd; /* open = the port is marked IsSM */
    int smi_lid_agent, smi_dr_agent, sa_agent;
};

int mad_handle_open(const struct mad_port_config *config, struct mad_handle *h, char *error,
                    size_t error_size);
void mad_handle_close(struct mad_handle *h);

#endif
