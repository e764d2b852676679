/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket addresses of simulator and clients.
 *
 * Local names are abstract. Such a name is as long as its address says: "sim:ctl" with a zero byte
 * at its end is another name than without. ibsim 0.10 and its clients use the zero byte, earlier
 * ones and what the protocol's text says do not; both are served. */
#ifndef SIM_SERVER_ADDRESS_H
#define SIM_SERVER_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { ADDRESS_BASE_MAX = 80 }; /* bytes of BASE, so that BASE:out1023 fits */

enum address_kind {
    ADDRESS_LOCAL_ZERO, /* abstract, with the zero byte */
    ADDRESS_LOCAL,      /* abstract, without */
    ADDRESS_UDP,
    ADDRESS_KINDS,
};

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_in in;
    };
    socklen_t length;
};

/* BASE:word, with the number behind it where number >= 0. */
void address_local(struct address *a, enum address_kind kind, const char *base, const char *word,
                   int64_t number);
void address_udp(struct address *a, struct in_addr host, uint16_t port);
bool address_equal(const struct address *a, const struct address *b);
/* "@sim:ctl" or "udp 127.0.0.1 port 7070", hostile bytes replaced; in a static buffer. */
const char *address_text(const struct address *a);

#endif
