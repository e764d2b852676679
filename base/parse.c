/* SPDX-License-Identifier: BSD-2-Clause */
/* Strict reading of small values that people type. */
#include "base/parse.h"

#include <glib.h>
#include <string.h>

static bool hex_digits(const char *text, unsigned max_digits, uint64_t *value)
{
    uint64_t v = 0;
    unsigned digits = 0;
    for (; *text; text++) {
        if (*text == ':')
            continue;
        if (!g_ascii_isxdigit(*text) || ++digits > max_digits)
            return false;
        v = v << 4 | (unsigned)g_ascii_xdigit_value(*text);
    }
    *value = v;
    return digits > 0;
}

bool parse_guid(const char *text, uint64_t *guid)
{
    if (g_ascii_strncasecmp(text, "0x", 2) == 0)
        return strchr(text, ':') == NULL && hex_digits(text + 2, 16, guid);
    size_t len = strlen(text);
    if (strchr(text, ':'))
        return len == 19 && text[4] == ':' && text[9] == ':' && text[14] == ':' &&
               hex_digits(text, 16, guid);
    return len == 16 && hex_digits(text, 16, guid);
}

bool parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    guint64 v;
    if (g_ascii_strncasecmp(text, "0x", 2) == 0) {
        uint64_t hex;
        if (strchr(text, ':') || !hex_digits(text + 2, 16, &hex) || hex < min || hex > max)
            return false;
        *value = hex;
        return true;
    }
    if (!g_ascii_string_to_unsigned(text, 10, min, max, &v, NULL))
        return false;
    *value = v;
    return true;
}
