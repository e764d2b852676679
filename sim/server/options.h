/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of heddle-sim. */
#ifndef SIM_SERVER_OPTIONS_H
#define SIM_SERVER_OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

enum { OPTIONS_MAX_CLIENTS = 1024, OPTIONS_USAGE = 2 };

struct options {
    const char *fabric; /* a file or a generator */
    const char *name;   /* base of the local socket names */
    uint16_t udp_port;  /* 0 = no UDP */
    struct in_addr udp_address;
    unsigned clients; /* slots */
    uint32_t queue;   /* packets kept for each client */
    uint64_t seed;
    unsigned train_ms;
    const char *console; /* path of its socket, or NULL */
    bool interactive;
    const char *script, *log, *service, *hosts; /* NULL = none */
    int64_t vl15;                               /* buffer of each node in packets, -1 = not given */
    enum log_level log_level;
};

/* Returns -1 to go on, else the exit status; what is wrong is said in one line on stderr. Strings
 * point into argv and the environment. */
int options_parse(int argc, char **argv, struct options *o);

#endif
