/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and comparing socket addresses. */
#include "sim/server/address.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void address_local(struct address *a, enum address_kind kind, const char *base, const char *word,
                   int64_t number)
{
    char digits[24] = "";
    int n;

    memset(a, 0, sizeof *a);
    a->un.sun_family = AF_UNIX;
    if (number >= 0)
        snprintf(digits, sizeof digits, "%" PRId64, number);
    n = snprintf(a->un.sun_path + 1, sizeof a->un.sun_path - 2, "%.*s:%s%s", ADDRESS_BASE_MAX, base,
                 word, digits);
    a->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n +
                            (kind == ADDRESS_LOCAL_ZERO));
}

void address_udp(struct address *a, struct in_addr host, uint16_t port)
{
    memset(a, 0, sizeof *a);
    a->in.sin_family = AF_INET;
    a->in.sin_addr = host;
    a->in.sin_port = htons(port);
    a->length = sizeof a->in;
}

bool address_equal(const struct address *a, const struct address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET)
        return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr && a->in.sin_port == b->in.sin_port;
    return a->length == b->length && memcmp(&a->any, &b->any, a->length) == 0;
}

const char *address_text(const struct address *a)
{
    static char text[sizeof a->un.sun_path + 1];
    size_t n = 0;

    if (a->any.sa_family == AF_INET) {
        char host[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof host);
        snprintf(text, sizeof text, "udp %s port %u", host, ntohs(a->in.sin_port));
        return text;
    }
    if (a->length > offsetof(struct sockaddr_un, sun_path))
        n = a->length - offsetof(struct sockaddr_un, sun_path);
    if (n > 1 && a->un.sun_path[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = a->un.sun_path[i];
        text[i] = i == 0 && c == '\0' ? '@' : c > ' ' && c < 0x7f && c != '"' ? c : '?';
    }
    text[n] = '\0';
    return n ? text : "a socket without a name";
}
