/* SPDX-License-Identifier: BSD-2-Clause */
/* operator.conf. */
#include "cli/config.h"

#include <libconfig.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "proto/check.h"

#define DEFAULT_PATH "/etc/heddle/operator.conf"

struct reader {
    const char *path;
    GPtrArray *errors;
};

static void complain(struct reader *r, const config_setting_t *where, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void complain(struct reader *r, const config_setting_t *where, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *text = g_strdup_vprintf(format, ap);
    va_end(ap);
    unsigned line = where != NULL ? config_setting_source_line(where) : 0;
    g_ptr_array_add(r->errors, line > 0 ? g_strdup_printf("%s:%u: %s", r->path, line, text)
                                        : g_strdup_printf("%s: %s", r->path, text));
}

static void refuse_unknown(struct reader *r, const config_setting_t *group,
                           const char *const *names)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(s);
        if (name == NULL || g_strv_contains(names, name))
            continue;
        g_autofree char *known = g_strjoinv(", ", (char **)names);
        complain(r, s, "unknown setting \"%s\" (known here: %s)", name, known);
    }
}

/* The text of a setting, or NULL after an error. */
static const char *text_of(struct reader *r, const config_setting_t *group, const char *name)
{
    config_setting_t *s = config_setting_get_member(group, name);
    const char *text = s != NULL ? config_setting_get_string(s) : NULL;
    if (s == NULL)
        complain(r, group, "setting \"%s\" is missing", name);
    else if (text == NULL || *text == '\0')
        complain(r, s, "\"%s\" must be a text in double quotes, and not empty", name);
    return text != NULL && *text != '\0' ? text : NULL;
}

static void read_name(struct reader *r, const config_setting_t *group, const char *name,
                      char out[64])
{
    const char *text = text_of(r, group, name);
    if (text == NULL)
        return;
    if (!check_name(text))
        complain(r, config_setting_get_member(group, name),
                 "\"%s\" must be at most 63 bytes of UTF-8 without control characters", name);
    g_strlcpy(out, text, 64);
}

static char *beside(const struct reader *r, const char *path)
{
    g_autofree char *dir = g_path_get_dirname(r->path);
    return g_path_is_absolute(path) ? g_strdup(path) : g_build_filename(dir, path, NULL);
}

static void read_public_key(struct reader *r, const config_setting_t *group, uint8_t key[32])
{
    char error[512];
    const char *text = text_of(r, group, "public_key");
    if (text == NULL || key_public_parse(text, key, error, sizeof(error)) == 0)
        return;
    g_autofree char *path = beside(r, text);
    if (key_public_parse(path, key, error, sizeof(error)) != 0)
        complain(r, config_setting_get_member(group, "public_key"), "%s", error);
}

static char *read_endpoint(struct reader *r, const config_setting_t *group)
{
    const char *text = text_of(r, group, "endpoint");
    if (text == NULL)
        return NULL;
    const config_setting_t *s = config_setting_get_member(group, "endpoint");
    const char *why;
    if (!parse_endpoint(text, &why))
        complain(r, s, "\"endpoint\" is \"%s\": %s", text, why);
    else if (parse_endpoint_is_any(text))
        complain(r, s, "\"endpoint\" must name the coordinator's address, not all addresses");
    return g_strdup(text);
}

static void read_coordinators(struct reader *r, const config_setting_t *root,
                              struct operator_config *config)
{
    static const char *const names[] = {"name", "endpoint", "public_key", "sign_public_key", NULL};
    config_setting_t *list = config_setting_get_member(root, "coordinators");
    if (list == NULL || !config_setting_is_list(list) || config_setting_length(list) == 0) {
        complain(r, list ? list : root,
                 "\"coordinators\" must be a list with one at least: ( { name = ..; endpoint = ..; "
                 "public_key = ..; } )");
        return;
    }
    for (int i = 0; i < config_setting_length(list); i++) {
        config_setting_t *s = config_setting_get_elem(list, (unsigned)i);
        if (!config_setting_is_group(s)) {
            complain(r, s, "an element of \"coordinators\" must be a group: { ... }");
            continue;
        }
        struct operator_coordinator one = {0};
        refuse_unknown(r, s, names);
        read_name(r, s, "name", one.name);
        read_public_key(r, s, one.public_key);
        one.endpoint = read_endpoint(r, s);
        for (guint j = 0; j < config->coordinators->len; j++)
            if (*one.name != '\0' &&
                strcmp(g_array_index(config->coordinators, struct operator_coordinator, j).name,
                       one.name) == 0)
                complain(r, s, "two coordinators are called \"%s\"", one.name);
        g_array_append_val(config->coordinators, one);
    }
}

static void read_all(struct reader *r, const config_setting_t *root, struct operator_config *config)
{
    static const char *const names[] = {"cluster", "name", "key_file", "coordinators", NULL};
    refuse_unknown(r, root, names);
    read_name(r, root, "cluster", config->cluster);
    read_name(r, root, "name", config->name);
    read_coordinators(r, root, config);
    const char *key_file = text_of(r, root, "key_file");
    if (key_file == NULL)
        return;
    char error[512];
    g_autofree char *path = beside(r, key_file);
    if (key_load(path, KEY_CURVE, &config->keys, error, sizeof(error)) != 0)
        complain(r, config_setting_get_member(root, "key_file"), "\"key_file\": %s", error);
}

static void read_file(struct reader *r, struct operator_config *config)
{
    char why_not[128];
    if (!file_is_regular(r->path, why_not, sizeof(why_not))) {
        complain(r, NULL,
                 "%s; name the operator's configuration with --config FILE, --dir D or "
                 "$HEDDLE_CONFIG",
                 why_not);
        return;
    }
    config_t file;
    config_init(&file);
    if (config_read_file(&file, r->path) == CONFIG_TRUE)
        read_all(r, config_root_setting(&file), config);
    else if (config_error_type(&file) == CONFIG_ERR_PARSE)
        g_ptr_array_add(r->errors, g_strdup_printf("%s:%d: %s", r->path, config_error_line(&file),
                                                   config_error_text(&file)));
    else
        complain(r, NULL, "cannot be read: %s", config_error_text(&file));
    config_destroy(&file);
}

static void clear_coordinator(gpointer p)
{
    g_free(((struct operator_coordinator *)p)->endpoint);
}

struct operator_config *operator_config_read(const char *path, GPtrArray *errors)
{
    guint before = errors->len;
    struct reader r = {.path = path, .errors = errors};
    struct operator_config *config = g_new0(struct operator_config, 1);
    config->coordinators = g_array_new(FALSE, TRUE, sizeof(struct operator_coordinator));
    g_array_set_clear_func(config->coordinators, clear_coordinator);
    read_file(&r, config);
    if (errors->len == before)
        return config;
    operator_config_free(config);
    return NULL;
}

void operator_config_free(struct operator_config *config)
{
    if (config == NULL)
        return;
    key_free(config->keys);
    g_array_free(config->coordinators, TRUE);
    g_free(config);
}

char *operator_config_path(const struct cli *c)
{
    const char *environment = g_getenv("HEDDLE_CONFIG");
    if (c->config != NULL)
        return g_strdup(c->config);
    if (c->dir != NULL)
        return g_build_filename(c->dir, "operator.conf", NULL);
    return g_strdup(environment != NULL && *environment ? environment : DEFAULT_PATH);
}
