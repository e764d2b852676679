/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and checking coordinator.conf. */
#include "coordinator/config.h"

#include <inttypes.h>
#include <libconfig.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/parse.h"
#include "coordinator/records.h"

struct reader {
    const char *path;
    GPtrArray *errors;
    struct coordinator_settings *out;
    const char *cluster, *name, *key_file, *sign_key_file, *cluster_secret_file, *log_level;
};

/* -- errors -------------------------------------------------------------------------------- */

static void fail(struct reader *r, const config_setting_t *at, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
static void fail(struct reader *r, const config_setting_t *at, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *text = g_strdup_vprintf(format, ap);
    va_end(ap);
    unsigned line = at ? config_setting_source_line(at) : 0;
    if (line == 0)
        g_ptr_array_add(r->errors, g_strdup_printf("%s: %s", r->path, text));
    else
        g_ptr_array_add(r->errors, g_strdup_printf("%s:%u: %s", r->path, line, text));
}

static void fail_unknown(struct reader *r, const config_setting_t *s, const char *where)
{
    fail(r, s, "unknown setting '%s'%s%s", config_setting_name(s), *where ? " in " : "", where);
}

/* -- values -------------------------------------------------------------------------------- */

struct number { /* a numeric setting, kept at offset in some struct */
    const char *name;
    size_t offset;
    uint64_t min, max, preset;
    enum { WIDE_32, WIDE_64, WIDE_BOOL } width;
};

static const struct number *find_number(const struct number *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void store_number(void *base, const struct number *n, uint64_t value)
{
    char *at = (char *)base + n->offset;
    if (n->width == WIDE_64)
        *(uint64_t *)(void *)at = value;
    else if (n->width == WIDE_BOOL)
        *(protobuf_c_boolean *)(void *)at = value != 0;
    else
        *(uint32_t *)(void *)at = (uint32_t)value;
}

static void preset_numbers(void *base, const struct number *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store_number(base, &table[i], table[i].preset);
}

static void read_number(struct reader *r, const config_setting_t *s, void *base,
                        const struct number *n)
{
    uint64_t value = 0;
    int type = config_setting_type(s);
    if (n->width == WIDE_BOOL) {
        if (type != CONFIG_TYPE_BOOL)
            fail(r, s, "%s must be true or false", n->name);
        else
            store_number(base, n, (uint64_t)config_setting_get_bool(s));
        return;
    }
    bool ok = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
    if (ok)
        value = (uint64_t)config_setting_get_int64(s);
    else if (type == CONFIG_TYPE_STRING)
        ok = parse_uint(config_setting_get_string(s), 0, UINT64_MAX, &value);
    /* 64 bit values are written as 0x...L, which libconfig keeps as a signed number */
    if (ok && type == CONFIG_TYPE_INT && config_setting_get_int(s) < 0)
        ok = n->width == WIDE_64 && config_setting_get_format(s) == CONFIG_FORMAT_HEX;
    if (ok && value >= n->min && value <= n->max)
        store_number(base, n, value);
    else if (n->width == WIDE_64)
        fail(r, s,
             "%s must be a 64 bit number from 0x%" PRIx64 " on, written as 0x...L or "
             "\"0x...\"",
             n->name, n->min);
    else
        fail(r, s, "%s must be a number from %" PRIu64 " to %" PRIu64, n->name, n->min, n->max);
}

static const char *read_text(struct reader *r, const config_setting_t *s)
{
    const char *text = config_setting_get_string(s);
    if (text && *text)
        return text;
    fail(r, s, "%s must be a text in double quotes", config_setting_name(s));
    return NULL;
}

static bool valid_name(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= PROTO_MAX_NAME &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static const char *read_name(struct reader *r, const config_setting_t *s)
{
    const char *text = read_text(r, s);
    if (text == NULL || valid_name(text))
        return text;
    fail(r, s, "%s must have 1 to %u letters, digits, '.', '_' or '-'", config_setting_name(s),
         PROTO_MAX_NAME);
    return NULL;
}

static bool is_list(const config_setting_t *s)
{
    return config_setting_is_list(s) || config_setting_is_array(s);
}

/* -- subnet = { ... } ------------------------------------------------------------------------ */

#define SUBNET(field) offsetof(Heddle__SubnetOptions, field)
static const struct number subnet_numbers[] = {
    {"packet_life_time", SUBNET(packet_life_time), 0, 31, 0x12, WIDE_32},
    {"vl_stall_count", SUBNET(vl_stall_count), 1, 7, 7, WIDE_32},
    {"leaf_vl_stall_count", SUBNET(leaf_vl_stall_count), 1, 7, 7, WIDE_32},
    {"head_of_queue_lifetime", SUBNET(head_of_queue_lifetime), 0, 31, 0x12, WIDE_32},
    {"leaf_head_of_queue_lifetime", SUBNET(leaf_head_of_queue_lifetime), 0, 31, 0x10, WIDE_32},
    {"max_op_vls", SUBNET(max_op_vls), 0, 5, 5, WIDE_32},
    {"force_link_speed", SUBNET(force_link_speed), 0, 15, 15, WIDE_32},
    {"force_link_speed_ext", SUBNET(force_link_speed_ext), 0, 31, 31, WIDE_32},
    {"force_link_width", SUBNET(force_link_width), 0, 255, 255, WIDE_32},
    {"subnet_timeout", SUBNET(subnet_timeout), 0, 31, 18, WIDE_32},
    {"local_phy_errors_threshold", SUBNET(local_phy_errors_threshold), 0, 15, 8, WIDE_32},
    {"overrun_errors_threshold", SUBNET(overrun_errors_threshold), 0, 15, 8, WIDE_32},
    {"sm_sl", SUBNET(sm_sl), 0, 15, 0, WIDE_32},
    {"sm_key", SUBNET(sm_key), 0, UINT64_MAX, 1, WIDE_64},
    {"subnet_prefix", SUBNET(subnet_prefix), 1, UINT64_MAX, 0xfe80000000000000u, WIDE_64},
    {"lmc", SUBNET(lmc), 0, 7, 0, WIDE_32},
    {"sweep_interval", SUBNET(sweep_interval_s), 0, 86400, 10, WIDE_32},
    {"transaction_timeout", SUBNET(transaction_timeout_ms), 1, 60000, 200, WIDE_32},
    {"transaction_retries", SUBNET(transaction_retries), 0, 100, 3, WIDE_32},
    {"max_smps_per_port", SUBNET(max_smps_per_port), 1, 256, 128, WIDE_32},
    {"max_smps_per_target", SUBNET(max_smps_per_target), 1, 64, 4, WIDE_32},
    {"reassign_lids", SUBNET(reassign_lids), 0, 1, 0, WIDE_BOOL},
};

static void read_roots(struct reader *r, const config_setting_t *s, Heddle__SubnetOptions *o)
{
    if (!is_list(s)) {
        fail(r, s, "root_guids must be a list of GUIDs in double quotes: [ \"0x...\", ... ]");
        return;
    }
    int n = config_setting_length(s);
    o->root_guids = g_new0(uint64_t, (gsize)n + 1);
    for (int i = 0; i < n; i++) {
        const char *text = config_setting_get_string_elem(s, i);
        if (text && parse_guid(text, &o->root_guids[o->n_root_guids]))
            o->n_root_guids++;
        else
            fail(r, s, "root_guids: entry %d is not a GUID in double quotes", i + 1);
    }
}

static void read_subnet(struct reader *r, const config_setting_t *s)
{
    Heddle__SubnetOptions *o = r->out->core.cluster_config->subnet;
    if (!config_setting_is_group(s)) {
        fail(r, s, "subnet must be a group: subnet = { ... }");
        return;
    }
    for (int i = 0; i < config_setting_length(s); i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
        const char *name = config_setting_name(e), *text;
        const struct number *n = find_number(subnet_numbers, G_N_ELEMENTS(subnet_numbers), name);
        if (n) {
            read_number(r, e, o, n);
        } else if (strcmp(name, "root_guids") == 0) {
            read_roots(r, e, o);
        } else if (strcmp(name, "routing_engine") == 0) {
            text = read_text(r, e);
            if (text && strcmp(text, "ftree") != 0 && strcmp(text, "updn") != 0)
                fail(r, e, "routing_engine must be \"ftree\" or \"updn\"");
            else if (text)
                record_set_string(&o->routing_engine, text);
        } else {
            fail_unknown(r, e, "subnet");
        }
    }
}

/* -- domains ------------------------------------------------------------------------------- */

static void rule_clear(void *data)
{
    struct coord_domain_rule *rule = data;
    g_array_unref(rule->switches);
    g_array_unref(rule->ranges);
}

static void read_switches(struct reader *r, const config_setting_t *s, GArray *guids)
{
    if (!is_list(s))
        fail(r, s, "switches must be a list of GUIDs in double quotes: [ \"0x...\", ... ]");
    for (int i = 0; is_list(s) && i < config_setting_length(s); i++) {
        const char *text = config_setting_get_string_elem(s, i);
        uint64_t guid;
        if (text && parse_guid(text, &guid) && guid)
            g_array_append_val(guids, guid);
        else
            fail(r, s, "switches: entry %d is not a GUID in double quotes", i + 1);
    }
}

static void read_ranges(struct reader *r, const config_setting_t *s, GArray *ranges)
{
    if (!is_list(s))
        fail(r, s, "ranges must be a list: [ \"0x...-0x...\", ... ]");
    for (int i = 0; is_list(s) && i < config_setting_length(s); i++) {
        const char *text = config_setting_get_string_elem(s, i);
        g_auto(GStrv) ends = text ? g_strsplit(text, "-", 2) : NULL;
        uint64_t pair[2];
        if (ends && ends[0] && ends[1] && parse_guid(ends[0], &pair[0]) &&
            parse_guid(ends[1], &pair[1]) && pair[0] <= pair[1])
            g_array_append_vals(ranges, pair, 2);
        else
            fail(r, s, "ranges: entry %d must be \"FIRST-LAST\", two GUIDs with FIRST <= LAST",
                 i + 1);
    }
}

static void read_rule(struct reader *r, const config_setting_t *s)
{
    struct coord_domain_rule rule = {.switches = g_array_new(FALSE, TRUE, sizeof(uint64_t)),
                                     .ranges = g_array_new(FALSE, TRUE, sizeof(uint64_t))};
    const char *name = NULL;
    for (int i = 0; config_setting_is_group(s) && i < config_setting_length(s); i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
        if (strcmp(config_setting_name(e), "name") == 0)
            name = read_name(r, e);
        else if (strcmp(config_setting_name(e), "switches") == 0)
            read_switches(r, e, rule.switches);
        else if (strcmp(config_setting_name(e), "ranges") == 0)
            read_ranges(r, e, rule.ranges);
        else
            fail_unknown(r, e, "domains");
    }
    if (name == NULL || strcmp(name, "fabric") == 0)
        fail(r, s,
             "each domain needs a name other than \"fabric\": { name = \"pod-1\"; "
             "switches = [ ... ]; ranges = [ ... ]; }");
    else if (rule.switches->len + rule.ranges->len == 0)
        fail(r, s, "domain \"%s\" needs switches or ranges", name);
    for (guint i = 0; name && i < r->out->core.rules->len; i++)
        if (strcmp(g_array_index(r->out->core.rules, struct coord_domain_rule, i).name, name) == 0)
            fail(r, s, "two domains are named \"%s\"", name);
    g_strlcpy(rule.name, name ? name : "", sizeof rule.name);
    g_array_append_val(r->out->core.rules, rule);
}

struct span {
    uint64_t first, last;
    guint rule;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return record_compare_u64(&x->first, &y->first);
}

/* A switch may be in one domain only. */
static void check_overlaps(struct reader *r, const config_setting_t *s)
{
    g_autoptr(GArray) spans = g_array_new(FALSE, TRUE, sizeof(struct span));
    for (guint i = 0; i < r->out->core.rules->len; i++) {
        const struct coord_domain_rule *rule =
            &g_array_index(r->out->core.rules, struct coord_domain_rule, i);
        for (guint j = 0; j < rule->switches->len; j++) {
            uint64_t guid = g_array_index(rule->switches, uint64_t, j);
            struct span one = {guid, guid, i};
            g_array_append_val(spans, one);
        }
        for (guint j = 0; j + 1 < rule->ranges->len; j += 2) {
            struct span one = {g_array_index(rule->ranges, uint64_t, j),
                               g_array_index(rule->ranges, uint64_t, j + 1), i};
            g_array_append_val(spans, one);
        }
    }
    g_array_sort(spans, compare_spans);
    const struct span *reach = NULL; /* the one that extends furthest so far */
    for (guint i = 0; i < spans->len; i++) {
        const struct span *x = &g_array_index(spans, struct span, i);
        if (reach && x->first <= reach->last && x->rule != reach->rule)
            fail(r, s, "switch 0x%016" PRIx64 " is in two domains, \"%s\" and \"%s\"", x->first,
                 g_array_index(r->out->core.rules, struct coord_domain_rule, reach->rule).name,
                 g_array_index(r->out->core.rules, struct coord_domain_rule, x->rule).name);
        if (reach == NULL || x->last > reach->last)
            reach = x;
    }
}

static void read_domains(struct reader *r, const config_setting_t *s)
{
    const char *text = config_setting_get_string(s);
    if (text && strcmp(text, "auto") == 0)
        return;
    if (!config_setting_is_list(s) || config_setting_length(s) == 0) {
        fail(r, s, "domains must be \"auto\" or a list: ( { name = \"pod-1\"; ... }, ... )");
        return;
    }
    r->out->core.auto_domains = false;
    for (int i = 0; i < config_setting_length(s); i++)
        read_rule(r, config_setting_get_elem(s, (unsigned)i));
    check_overlaps(r, s);
}

/* -- shards and operators ------------------------------------------------------------------- */

static void check_enrolled(struct reader *r, const config_setting_t *s,
                           const struct coord_enrolled *e)
{
    for (guint i = 0; i < r->out->core.enrolled->len; i++) {
        const struct coord_enrolled *o =
            &g_array_index(r->out->core.enrolled, struct coord_enrolled, i);
        if (strcmp(o->name, e->name) == 0)
            fail(r, s, "the name \"%s\" is enrolled twice", e->name);
        else if (memcmp(o->public_key, e->public_key, sizeof e->public_key) == 0)
            fail(r, s, "\"%s\" and \"%s\" have the same public key; each needs its own", o->name,
                 e->name);
    }
}

static void read_one(struct reader *r, const config_setting_t *s, const char *where, bool operators)
{
    struct coord_enrolled one = {.is_operator = operators};
    const char *name = NULL, *key = NULL;
    char error[256];
    bool ok = true;
    for (int i = 0; config_setting_is_group(s) && i < config_setting_length(s); i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
        if (strcmp(config_setting_name(e), "name") == 0) {
            name = read_name(r, e);
        } else if (strcmp(config_setting_name(e), "public_key") == 0) {
            key = read_text(r, e);
            ok = key && key_public_parse(key, one.public_key, error, sizeof error) == 0;
            if (key && !ok)
                fail(r, e, "public_key: %s", error);
        } else {
            fail_unknown(r, e, where);
        }
    }
    if (name == NULL || key == NULL) {
        fail(r, s,
             "each of %s needs a name and a key: { name = \"shard-1\"; public_key = \"64 "
             "hexadecimal digits or a path\"; }",
             where);
        return;
    }
    g_strlcpy(one.name, name, sizeof one.name);
    if (ok)
        check_enrolled(r, s, &one);
    g_array_append_val(r->out->core.enrolled, one);
}

static void read_enrolled(struct reader *r, const config_setting_t *s, bool operators)
{
    const char *name = config_setting_name(s);
    if (!config_setting_is_list(s)) {
        fail(r, s, "%s must be a list: ( { name = \"...\"; public_key = \"...\"; }, ... )", name);
        return;
    }
    for (int i = 0; i < config_setting_length(s); i++)
        read_one(r, config_setting_get_elem(s, (unsigned)i), name, operators);
}

/* -- the top level --------------------------------------------------------------------------- */

#define CORE(field) offsetof(struct coord_config, field)
static const struct number core_numbers[] = {
    {"domain_max_nodes", CORE(domain_max_nodes), 1, 49151, 5000, WIDE_32},
    {"shard_max_nodes", CORE(shard_max_nodes), 1, 49151, 12000, WIDE_32},
    {"domains_per_shard", CORE(domains_per_shard), 1, 64, 4, WIDE_32},
    {"expected_timeout_ms", CORE(expected_timeout_ms), 0, 600000, 5000, WIDE_32},
};
#define CLUSTER(field) offsetof(Heddle__ClusterConfig, field)
static const struct number cluster_numbers[] = {
    {"heartbeat_ms", CLUSTER(heartbeat_ms), 10, 10000, 40, WIDE_32},
    {"heartbeat_misses", CLUSTER(heartbeat_misses), 2, 100, 3, WIDE_32},
    {"isolation_grace_ms", CLUSTER(isolation_grace_ms), 100, 600000, 2000, WIDE_32},
    {"lid_report_timeout_ms", CLUSTER(lid_report_timeout_ms), 100, 3600000, 10000, WIDE_32},
};

static bool read_top_text(struct reader *r, const config_setting_t *s, const char *name)
{
    const struct {
        const char *name, **value;
    } texts[] = {
        {"cluster", &r->cluster},
        {"name", &r->name},
        {"key_file", &r->key_file},
        {"sign_key_file", &r->sign_key_file},
        {"cluster_secret_file", &r->cluster_secret_file},
        {"store_dir", (const char **)&r->out->store_dir},
        {"control_endpoint", (const char **)&r->out->control_endpoint},
        {"log_level", &r->log_level},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (strcmp(texts[i].name, name) != 0)
            continue;
        *texts[i].value = i < 2 ? read_name(r, s) : read_text(r, s);
        return true;
    }
    return false;
}

static void read_setting(struct reader *r, const config_setting_t *s)
{
    const char *name = config_setting_name(s);
    const struct number *n;
    if (read_top_text(r, s, name))
        return;
    if ((n = find_number(core_numbers, G_N_ELEMENTS(core_numbers), name)))
        read_number(r, s, &r->out->core, n);
    else if ((n = find_number(cluster_numbers, G_N_ELEMENTS(cluster_numbers), name)))
        read_number(r, s, r->out->core.cluster_config, n);
    else if (strcmp(name, "domains") == 0)
        read_domains(r, s);
    else if (strcmp(name, "shards") == 0)
        read_enrolled(r, s, false);
    else if (strcmp(name, "operators") == 0)
        read_enrolled(r, s, true);
    else if (strcmp(name, "subnet") == 0)
        read_subnet(r, s);
    else
        fail_unknown(r, s, "");
}

static void need(struct reader *r, const config_setting_t *root, const char *name)
{
    if (config_setting_get_member(root, name) == NULL)
        fail(r, NULL, "'%s' is missing", name);
}

static void load_key(struct reader *r, const config_setting_t *root, const char *setting,
                     const char *file, enum key_kind kind, struct key_pair **pair)
{
    char error[256];
    if (file && key_load(file, kind, pair, error, sizeof error))
        fail(r, config_setting_get_member(root, setting), "%s: %s", setting, error);
}

static void check_together(struct reader *r, const config_setting_t *root)
{
    struct coord_config *k = &r->out->core;
    const Heddle__ClusterConfig *c = k->cluster_config;
    const config_setting_t *endpoint = config_setting_get_member(root, "control_endpoint");
    enum log_level level;
    const char *why;
    if (r->out->control_endpoint && !parse_endpoint(r->out->control_endpoint, &why))
        fail(r, endpoint, "control_endpoint is \"%s\": %s", r->out->control_endpoint, why);
    if (r->log_level && log_level_parse(r->log_level, &level))
        r->out->log_level = level;
    else if (r->log_level)
        fail(r, config_setting_get_member(root, "log_level"),
             "log_level must be \"error\", \"warning\", \"notice\", \"info\" or \"debug\"");
    if (c->isolation_grace_ms <= c->heartbeat_ms * c->heartbeat_misses)
        fail(r, config_setting_get_member(root, "isolation_grace_ms"),
             "isolation_grace_ms must be above heartbeat_ms x heartbeat_misses = %u",
             c->heartbeat_ms * c->heartbeat_misses);
    if (k->shard_max_nodes < k->domain_max_nodes)
        fail(r, config_setting_get_member(root, "shard_max_nodes"),
             "shard_max_nodes must be at least domain_max_nodes = %u", k->domain_max_nodes);
    k->expected_shards = 0;
    for (guint i = 0; i < k->enrolled->len; i++) {
        const struct coord_enrolled *e = &g_array_index(k->enrolled, struct coord_enrolled, i);
        k->expected_shards += !e->is_operator;
        if (r->name && strcmp(e->name, r->name) == 0)
            fail(r, config_setting_get_member(root, "name"),
                 "\"%s\" is the coordinator's own name and cannot be enrolled", r->name);
    }
    if (k->expected_shards == 0 && config_setting_get_member(root, "shards"))
        fail(r, config_setting_get_member(root, "shards"), "enrol one shard at least");
}

static void read_root(struct reader *r, const config_setting_t *root)
{
    static const char *const needed[] = {"cluster",
                                         "name",
                                         "key_file",
                                         "sign_key_file",
                                         "cluster_secret_file",
                                         "store_dir",
                                         "control_endpoint",
                                         "shards"};
    struct coordinator_settings *s = r->out;
    for (int i = 0; i < config_setting_length(root); i++)
        read_setting(r, config_setting_get_elem(root, (unsigned)i));
    for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
        need(r, root, needed[i]);
    check_together(r, root);
    load_key(r, root, "key_file", r->key_file, KEY_CURVE, &s->key);
    load_key(r, root, "sign_key_file", r->sign_key_file, KEY_SIGN, &s->sign_key);
    load_key(r, root, "cluster_secret_file", r->cluster_secret_file, KEY_CLUSTER,
             &s->cluster_secret);
    g_strlcpy(s->core.cluster, r->cluster ? r->cluster : "", sizeof s->core.cluster);
    g_strlcpy(s->core.name, r->name ? r->name : "", sizeof s->core.name);
    s->store_dir = g_strdup(s->store_dir); /* the texts so far are libconfig's */
    s->control_endpoint = g_strdup(s->control_endpoint);
}

static struct coordinator_settings *settings_new(void)
{
    struct coordinator_settings *s = g_new0(struct coordinator_settings, 1);
    s->log_level = HL_NOTICE;
    s->core.auto_domains = true;
    s->core.rules = g_array_new(FALSE, TRUE, sizeof(struct coord_domain_rule));
    g_array_set_clear_func(s->core.rules, rule_clear);
    s->core.enrolled = g_array_new(FALSE, TRUE, sizeof(struct coord_enrolled));
    s->core.cluster_config = g_new(Heddle__ClusterConfig, 1);
    heddle__cluster_config__init(s->core.cluster_config);
    s->core.cluster_config->subnet = g_new(Heddle__SubnetOptions, 1);
    heddle__subnet_options__init(s->core.cluster_config->subnet);
    record_set_string(&s->core.cluster_config->subnet->routing_engine, "ftree");
    preset_numbers(&s->core, core_numbers, G_N_ELEMENTS(core_numbers));
    preset_numbers(s->core.cluster_config, cluster_numbers, G_N_ELEMENTS(cluster_numbers));
    preset_numbers(s->core.cluster_config->subnet, subnet_numbers, G_N_ELEMENTS(subnet_numbers));
    return s;
}

struct coordinator_settings *coordinator_settings_load(const char *path, GPtrArray *errors)
{
    guint before = errors->len;
    struct reader r = {.path = path, .errors = errors, .out = settings_new()};
    config_t config;
    config_init(&config);
    char why_not[128];
    if (!file_is_regular(path, why_not, sizeof why_not)) {
        g_ptr_array_add(errors, g_strdup_printf("%s: cannot be read: %s; name a configuration "
                                                "with -c FILE",
                                                path, why_not));
    } else if (config_read_file(&config, path) == CONFIG_TRUE) {
        read_root(&r, config_root_setting(&config));
    } else if (config_error_type(&config) == CONFIG_ERR_PARSE) {
        g_ptr_array_add(errors,
                        g_strdup_printf("%s:%d: %s; see libconfig's syntax: name = value;", path,
                                        config_error_line(&config), config_error_text(&config)));
    } else {
        g_ptr_array_add(
            errors, g_strdup_printf("%s: cannot be read: %s", path, config_error_text(&config)));
    }
    config_destroy(&config);
    if (errors->len == before)
        return r.out;
    coordinator_settings_free(r.out);
    return NULL;
}

void coordinator_settings_free(struct coordinator_settings *s)
{
    if (s == NULL)
        return;
    key_free(s->key);
    key_free(s->sign_key);
    key_free(s->cluster_secret);
    explicit_bzero(s->core.sign_secret_key, sizeof s->core.sign_secret_key);
    explicit_bzero(s->core.cluster_secret, sizeof s->core.cluster_secret);
    g_array_unref(s->core.rules);
    g_array_unref(s->core.enrolled);
    heddle__cluster_config__free_unpacked(s->core.cluster_config, NULL);
    g_free(s->store_dir);
    g_free(s->control_endpoint);
    g_free(s);
}
