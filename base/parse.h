/* SPDX-License-Identifier: BSD-2-Clause */
/* Strict reading of small values that people type: GUIDs, LIDs, numbers. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* "0x0002c90300000001", "0002c90300000001" or "0002:c903:0000:0001"; whole string, 64 bits. */
bool parse_guid(const char *text, uint64_t *guid);
/* Decimal, or hexadecimal with 0x; the whole string; min <= value <= max. */
bool parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *value);

#endif
