/* SPDX-License-Identifier: BSD-2-Clause */
/* Strict reading of small values that people type: GUIDs, LIDs, numbers, endpoints. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* "0x0002c90300000001", "0002c90300000001" or "0002:c903:0000:0001"; whole string, 64 bits. */
bool parse_guid(const char *text, uint64_t *guid);
/* Decimal, or hexadecimal with 0x; the whole string; min <= value <= max. */
bool parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* "tcp://ADDRESS:PORT": ADDRESS is an IPv4 address, an IPv6 address in brackets, a host's name or
 * "*" (all addresses), PORT has digits only, 1 to 65535. What ZeroMQ would take besides (a port of
 * 70000 or "12x" becomes another one there) is refused; *why then says what was expected. */
bool parse_endpoint(const char *text, const char **why);
/* Whether the address of such an endpoint stands for all addresses: to bind to, not to reach. */
bool parse_endpoint_is_any(const char *text);

#endif
