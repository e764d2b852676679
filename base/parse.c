/* SPDX-License-Identifier: BSD-2-Clause */
/* Strict reading of small values that people type. */
#include "base/parse.h"

#include <arpa/inet.h>
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

/* -- endpoints ------------------------------------------------------------------------------- */

#define SCHEME "tcp://"
#define MAX_HOST_BYTES 253

static bool is_ipv6(const char *address)
{
    struct in6_addr parsed;
    size_t len = strlen(address);
    if (len < 4 || address[len - 1] != ']')
        return false;
    g_autofree char *inner = g_strndup(address + 1, len - 2);
    return inet_pton(AF_INET6, inner, &parsed) == 1;
}

/* Labels of letters, digits, '-' and '_' between dots. */
static bool is_host_name(const char *name)
{
    size_t len = strlen(name);
    if (len > MAX_HOST_BYTES || name[0] == '-' || name[0] == '.' || name[len - 1] == '-')
        return false;
    for (; *name; name++)
        if (!g_ascii_isalnum(*name) && strchr("-_.", *name) == NULL)
            return false;
        else if (name[0] == '.' && name[1] == '.')
            return false;
    return true;
}

static const char *check_address(const char *address)
{
    struct in_addr parsed;
    if (*address == '\0')
        return "the address is missing";
    if (strcmp(address, "*") == 0)
        return NULL;
    if (*address == '[')
        return is_ipv6(address) ? NULL : "what is in the brackets is no IPv6 address";
    if (strspn(address, "0123456789.") == strlen(address))
        return inet_pton(AF_INET, address, &parsed) == 1 ? NULL : "the address is no IPv4 address";
    if (strchr(address, ':') != NULL)
        return "an IPv6 address must be in brackets";
    return is_host_name(address) ? NULL : "the address is neither an IP address nor a host's name";
}

static bool is_port(const char *text)
{
    uint64_t port;
    return strspn(text, "0123456789") == strlen(text) && parse_uint(text, 1, 65535, &port);
}

static const char *check_endpoint(const char *text)
{
    if (!g_str_has_prefix(text, SCHEME))
        return "it must look like tcp://ADDRESS:PORT";
    const char *host = text + strlen(SCHEME), *colon = strrchr(host, ':');
    if (colon == NULL || g_str_has_suffix(host, "]"))
        return "the port is missing: it must look like tcp://ADDRESS:PORT";
    if (!is_port(colon + 1))
        return "the port must be a number from 1 to 65535";
    g_autofree char *address = g_strndup(host, (gsize)(colon - host));
    return check_address(address);
}

bool parse_endpoint(const char *text, const char **why)
{
    *why = check_endpoint(text);
    return *why == NULL;
}

bool parse_endpoint_is_any(const char *text)
{
    static const char *const any[] = {SCHEME "*:", SCHEME "0.0.0.0:", SCHEME "[::]:"};
    for (size_t i = 0; i < G_N_ELEMENTS(any); i++)
        if (g_str_has_prefix(text, any[i]))
            return true;
    return false;
}
