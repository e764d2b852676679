/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration file of heddle-shard. */
#include "shard/config.h"

#include <libconfig.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "proto/check.h"

#define DEFAULT_PRIORITY 8
#define MAX_PRIORITY 15
#define MAX_PORT 254

struct reader {
    const char *path;
    GPtrArray *errors;
};

static void complain(const struct reader *r, const config_setting_t *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void complain(const struct reader *r, const config_setting_t *where, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *text = g_strdup_vprintf(format, ap);
    va_end(ap);
    const char *file = where != NULL ? config_setting_source_file(where) : NULL;
    unsigned line = where != NULL ? config_setting_source_line(where) : 0;
    if (file == NULL)
        file = r->path;
    g_ptr_array_add(r->errors, line > 0 ? g_strdup_printf("%s:%u: %s", file, line, text)
                                        : g_strdup_printf("%s: %s", file, text));
}

/* -- typed reading -- */

/* Every member of the group must be one of names (NULL-terminated). */
static void refuse_unknown(const struct reader *r, const config_setting_t *group,
                           const char *const *names)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(s);
        if (name != NULL && !g_strv_contains(names, name)) {
            g_autofree char *known = g_strjoinv(", ", (char **)names);
            complain(r, s, "unknown setting \"%s\" (known here: %s)", name, known);
        }
    }
}

/* The member, checked to be of this type; NULL (with an error if required) when there is none. */
static config_setting_t *member(const struct reader *r, const config_setting_t *group,
                                const char *name, int type, const char *type_name, bool required)
{
    config_setting_t *s = config_setting_get_member(group, name);
    if (s == NULL) {
        if (required)
            complain(r, group, "setting \"%s\" is missing", name);
        return NULL;
    }
    if (config_setting_type(s) == type)
        return s;
    complain(r, s, "\"%s\" must be %s", name, type_name);
    return NULL;
}

static const char *text_of(const struct reader *r, const config_setting_t *group, const char *name,
                           bool required)
{
    config_setting_t *s =
        member(r, group, name, CONFIG_TYPE_STRING, "a text in double quotes", required);
    if (s == NULL)
        return NULL;
    const char *text = config_setting_get_string(s);
    if (text == NULL || text[0] == '\0') {
        complain(r, s, "\"%s\" is empty", name);
        return NULL;
    }
    return text;
}

static void read_name(const struct reader *r, const config_setting_t *group, const char *name,
                      char out[64])
{
    const char *text = text_of(r, group, name, true);
    if (text == NULL)
        return;
    if (!check_name(text))
        complain(r, config_setting_get_member(group, name),
                 "\"%s\" must be at most 63 bytes of UTF-8 without control characters", name);
    else
        g_strlcpy(out, text, 64);
}

static unsigned number_of(const struct reader *r, const config_setting_t *group, const char *name,
                          unsigned min, unsigned max, unsigned otherwise)
{
    config_setting_t *s = member(r, group, name, CONFIG_TYPE_INT, "a whole number", false);
    if (s == NULL)
        return otherwise;
    int value = config_setting_get_int(s);
    if (value >= (int)min && value <= (int)max)
        return (unsigned)value;
    complain(r, s, "\"%s\" is %d; it must be from %u to %u", name, value, min, max);
    return otherwise;
}

static char *read_endpoint(const struct reader *r, const config_setting_t *group, const char *name)
{
    const char *text = text_of(r, group, name, true);
    if (text == NULL)
        return NULL;
    const config_setting_t *s = config_setting_get_member(group, name);
    const char *why;
    if (!parse_endpoint(text, &why))
        complain(r, s, "\"%s\" is \"%s\": %s", name, text, why);
    if (parse_endpoint_is_any(text))
        complain(r, s, "\"%s\" must name the address that others reach, not all addresses", name);
    if (strlen(text) > 127)
        complain(r, s, "\"%s\" is longer than 127 bytes", name);
    return g_strdup(text);
}

static void read_key(const struct reader *r, const config_setting_t *group, const char *name,
                     uint8_t key[32])
{
    const char *text = text_of(r, group, name, true);
    char error[256];
    if (text != NULL && key_public_parse(text, key, error, sizeof(error)) != 0)
        complain(r, config_setting_get_member(group, name), "\"%s\": %s", name, error);
}

/* -- the parts of the file -- */

static bool name_taken(const GArray *peers, const char *name)
{
    for (guint i = 0; i < peers->len; i++)
        if (strcmp(g_array_index(peers, struct config_peer, i).name, name) == 0)
            return true;
    return false;
}

static void read_peers(const struct reader *r, const config_setting_t *root, const char *name,
                       bool coordinators, GArray *peers)
{
    static const char *const of_coordinators[] = {"name", "endpoint", "public_key",
                                                  "sign_public_key", NULL};
    static const char *const of_operators[] = {"name", "public_key", NULL};
    config_setting_t *list =
        member(r, root, name, CONFIG_TYPE_LIST, "a list: ( { ... }, { ... } )", coordinators);
    if (list == NULL)
        return;
    for (int i = 0; i < config_setting_length(list); i++) {
        const config_setting_t *s = config_setting_get_elem(list, (unsigned)i);
        if (!config_setting_is_group(s)) {
            complain(r, s, "an element of \"%s\" must be a group: { ... }", name);
            continue;
        }
        refuse_unknown(r, s, coordinators ? of_coordinators : of_operators);
        struct config_peer p = {0};
        read_name(r, s, "name", p.name);
        read_key(r, s, "public_key", p.public_key);
        if (coordinators) {
            p.endpoint = read_endpoint(r, s, "endpoint");
            read_key(r, s, "sign_public_key", p.sign_public_key);
        }
        if (name_taken(peers, p.name))
            complain(r, s, "\"%s\" has the name \"%s\" twice", name, p.name);
        g_array_append_val(peers, p);
    }
    if (!coordinators)
        return;
    if (peers->len == 0)
        complain(r, list, "\"%s\" is empty: one coordinator at least is needed", name);
    for (guint i = 1; i < peers->len; i++)
        if (memcmp(g_array_index(peers, struct config_peer, i).sign_public_key,
                   g_array_index(peers, struct config_peer, 0).sign_public_key, 32) != 0)
            complain(r, list, "all coordinators must have the same sign_public_key");
}

static void read_port(const struct reader *r, const config_setting_t *root, struct shard_config *c)
{
    static const char *const names[] = {"guid", "device", "port", NULL};
    config_setting_t *s =
        member(r, root, "port", CONFIG_TYPE_GROUP,
               "a group: { guid = \"0x...\"; } or { device = \"...\"; port = 1; }", false);
    if (s == NULL)
        return;
    refuse_unknown(r, s, names);
    const char *guid = text_of(r, s, "guid", false), *device = text_of(r, s, "device", false);
    c->port = number_of(r, s, "port", 1, MAX_PORT, 0);
    c->device = g_strdup(device);
    if (guid != NULL && (!parse_guid(guid, &c->port_guid) || c->port_guid == 0))
        complain(r, s, "\"guid\": \"%s\" is no GUID (such as 0x0002c90300a1b2c3)", guid);
    if (guid != NULL && (device != NULL || c->port != 0))
        complain(r, s, "give either \"guid\", or \"device\" and \"port\"");
    if (device == NULL && c->port != 0)
        complain(r, s, "\"port\" needs \"device\"");
}

static void read_log_level(const struct reader *r, const config_setting_t *root,
                           struct shard_config *c)
{
    const char *level = text_of(r, root, "log_level", false);
    if (level != NULL && !log_level_parse(level, &c->log_level))
        complain(r, config_setting_get_member(root, "log_level"),
                 "\"log_level\" is \"%s\"; it must be error, warning, notice, info or debug",
                 level);
}

static void read_key_file(const struct reader *r, const config_setting_t *root,
                          struct shard_config *c)
{
    c->key_file = g_strdup(text_of(r, root, "key_file", true));
    char error[512];
    if (c->key_file != NULL &&
        key_load(c->key_file, KEY_CURVE, &c->keys, error, sizeof(error)) != 0)
        complain(r, config_setting_get_member(root, "key_file"), "\"key_file\": %s", error);
}

static void read_root(const struct reader *r, const config_setting_t *root, struct shard_config *c)
{
    static const char *const names[] = {
        "cluster",        "name",          "key_file", "store_dir", "coordinators",
        "delta_endpoint", "bulk_endpoint", "port",     "operators", "priority",
        "standby",        "log_level",     NULL};
    refuse_unknown(r, root, names);
    read_name(r, root, "cluster", c->cluster);
    read_name(r, root, "name", c->name);
    read_key_file(r, root, c);
    c->store_dir = g_strdup(text_of(r, root, "store_dir", true));
    c->delta_endpoint = read_endpoint(r, root, "delta_endpoint");
    c->bulk_endpoint = read_endpoint(r, root, "bulk_endpoint");
    if (g_strcmp0(c->delta_endpoint, c->bulk_endpoint) == 0 && c->delta_endpoint != NULL)
        complain(r, config_setting_get_member(root, "bulk_endpoint"),
                 "\"delta_endpoint\" and \"bulk_endpoint\" are the same");
    read_peers(r, root, "coordinators", true, c->coordinators);
    read_peers(r, root, "operators", false, c->operators);
    read_port(r, root, c);
    c->priority = number_of(r, root, "priority", 0, MAX_PRIORITY, DEFAULT_PRIORITY);
    config_setting_t *standby =
        member(r, root, "standby", CONFIG_TYPE_BOOL, "true or false", false);
    c->standby = standby != NULL && config_setting_get_bool(standby);
    read_log_level(r, root, c);
}

struct shard_config *shard_config_read(const char *path, GPtrArray *errors)
{
    struct shard_config *c = g_new0(struct shard_config, 1);
    c->coordinators = g_array_new(FALSE, FALSE, sizeof(struct config_peer));
    c->operators = g_array_new(FALSE, FALSE, sizeof(struct config_peer));
    c->log_level = HL_NOTICE;
    const struct reader r = {path, errors};

    char why_not[128];
    if (!file_is_regular(path, why_not, sizeof(why_not))) {
        complain(&r, NULL, "cannot be read: %s", why_not);
        return c;
    }
    config_t cfg;
    config_init(&cfg);
    if (config_read_file(&cfg, path) == CONFIG_TRUE)
        read_root(&r, config_root_setting(&cfg), c);
    else if (config_error_type(&cfg) == CONFIG_ERR_PARSE)
        g_ptr_array_add(errors,
                        g_strdup_printf("%s:%d: %s",
                                        config_error_file(&cfg) ? config_error_file(&cfg) : path,
                                        config_error_line(&cfg), config_error_text(&cfg)));
    else
        complain(&r, NULL, "cannot be read: %s",
                 config_error_text(&cfg) ? config_error_text(&cfg) : "input error");
    config_destroy(&cfg);
    return c;
}

static void free_peers(GArray *peers)
{
    for (guint i = 0; i < peers->len; i++)
        g_free(g_array_index(peers, struct config_peer, i).endpoint);
    g_array_free(peers, TRUE);
}

void shard_config_free(struct shard_config *c)
{
    if (c == NULL)
        return;
    free_peers(c->coordinators);
    free_peers(c->operators);
    g_free(c->key_file);
    g_free(c->store_dir);
    g_free(c->delta_endpoint);
    g_free(c->bulk_endpoint);
    g_free(c->device);
    key_free(c->keys);
    g_free(c);
}
