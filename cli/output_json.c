/* SPDX-License-Identifier: BSD-2-Clause */
/* Results as JSON. */
#include "cli/output.h"

#include <jansson.h>
#include <string.h>

#include "cli/text.h"

/* Text that may be no UTF-8 (descriptions): what is invalid becomes U+FFFD. */
static json_t *text_json(const char *text, size_t len)
{
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)len);
    return json_string(valid);
}

static json_t *string_json(const char *text)
{
    return text_json(text, strlen(text));
}

static json_t *guid_json(uint64_t guid)
{
    g_autofree char *text = text_guid(guid);
    return json_string(text);
}

/* null for 0, which no GUID is. */
static json_t *known_guid_json(uint64_t guid)
{
    return guid != 0 ? guid_json(guid) : json_null();
}

static json_t *number_json(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *digest_json(const ProtobufCBinaryData *d)
{
    g_autoptr(GString) hex = g_string_new(NULL);
    for (size_t i = 0; i < d->len; i++)
        g_string_append_printf(hex, "%02x", d->data[i]);
    return d->len > 0 ? json_string(hex->str) : json_null();
}

static json_t *domain_id_json(uint32_t id)
{
    return id != VIEW_NO_DOMAIN ? number_json(id) : json_null();
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void print(json_t *value, FILE *out)
{
    json_dumpf(value, out, JSON_INDENT(2));
    putc('\n', out);
    json_decref(value);
}

static json_t *ports_json(struct report_ports p)
{
    json_t *o = json_object();
    set(o, "with_link", number_json(p.with_link));
    set(o, "active", number_json(p.active));
    set(o, "without_peer", number_json(p.without_peer));
    return o;
}

/* -- shards ------------------------------------------------------------------------------------ */

static json_t *owned_json(const Heddle__Status *s, const char *name)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->assignment->n_domains; i++)
        if (strcmp(s->assignment->domains[i]->owner, name) == 0)
            json_array_append_new(list, number_json(s->assignment->domains[i]->id));
    return list;
}

static void set_heartbeat(json_t *o, const Heddle__Heartbeat *h)
{
    json_t *duplicates = json_array();
    for (size_t i = 0; h != NULL && i < h->n_duplicate_guids; i++)
        json_array_append_new(duplicates, guid_json(h->duplicate_guids[i]));
    set(o, "duplicate_guids", duplicates);
    set(o, "frozen", json_boolean(h != NULL && h->frozen));
    set(o, "foreign_sm", h != NULL && h->foreign_sm ? guid_json(h->foreign_sm_guid) : json_null());
    set(o, "nodes_seen", number_json(h != NULL ? h->nodes_seen : 0));
    set(o, "max_stall_ms", number_json(h != NULL ? h->max_stall_ms : 0));
    set(o, "assignment_revision", number_json(h != NULL ? h->assignment_revision : 0));
    set(o, "routing_digest", h != NULL ? digest_json(&h->routing_digest) : json_null());
}

static json_t *shard_json(const Heddle__Status *s, const Heddle__Member *m)
{
    const Heddle__ShardStatus *shard = report_shard(s, m->name);
    const Heddle__Heartbeat *h = shard != NULL ? shard->last : NULL;
    json_t *o = json_object();
    set(o, "name", string_json(m->name));
    set(o, "state", json_string(report_state_name(m->state)));
    set(o, "lead", json_boolean(report_lead(s) == m));
    set(o, "standby", json_boolean(m->standby));
    set(o, "priority", number_json(m->priority));
    set(o, "domains", owned_json(s, m->name));
    set(o, "nodes", number_json(report_nodes(s, m->name)));
    set(o, "last_seen_ms", h != NULL ? number_json(shard->last_seen_ms) : json_null());
    set(o, "clock_offset_ms", h != NULL ? json_integer(shard->clock_offset_ms) : json_null());
    set(o, "software", string_json(m->software));
    set(o, "boot_id", known_guid_json(m->boot_id));
    set(o, "node_guid", known_guid_json(m->node_guid));
    set(o, "port_guid", known_guid_json(m->port_guid));
    set(o, "port", number_json(m->port_num));
    set(o, "lid", number_json(m->lid));
    set(o, "leaf_guid", known_guid_json(m->leaf_guid));
    set(o, "leaf_port", number_json(m->leaf_port));
    set(o, "delta_endpoint", string_json(m->delta_endpoint));
    set(o, "bulk_endpoint", string_json(m->bulk_endpoint));
    set_heartbeat(o, h);
    return o;
}

static json_t *shards_json(const Heddle__Status *s)
{
    json_t *list = json_array();
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_members; i++)
        json_array_append_new(list, shard_json(s, s->assignment->members[i]));
    return list;
}

/* -- domains ----------------------------------------------------------------------------------- */

static json_t *pools_json(const Heddle__Domain *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_pools; i++) {
        json_t *pool = json_object();
        set(pool, "first", number_json(d->pools[i]->first));
        set(pool, "count", number_json(d->pools[i]->count));
        json_array_append_new(list, pool);
    }
    return list;
}

static json_t *domain_json(const Heddle__Status *s, const Heddle__Domain *d)
{
    const Heddle__DomainReport *r = report_of_domain(s, d);
    const Heddle__DomainState *state = r != NULL ? r->state : NULL;
    json_t *o = json_object();
    set(o, "id", number_json(d->id));
    set(o, "name", string_json(d->name));
    set(o, "owner", *d->owner ? string_json(d->owner) : json_null());
    set(o, "owned", json_boolean(report_owned(s, d)));
    set(o, "epoch", number_json(d->epoch));
    set(o, "seq", r != NULL ? number_json(r->seq) : json_null());
    set(o, "phase", state != NULL ? json_string(report_phase_name(state->phase)) : json_null());
    set(o, "switches", number_json(d->n_switches));
    set(o, "switches_seen", number_json(r != NULL ? r->switches : 0));
    set(o, "end_ports", number_json(r != NULL ? r->end_ports : 0));
    set(o, "ports", ports_json(report_ports_of(r)));
    set(o, "programming", json_boolean(state != NULL && state->intent_digest.len > 0));
    set(o, "programmed_digest",
        state != NULL ? digest_json(&state->programmed_digest) : json_null());
    set(o, "pools", pools_json(d));
    return o;
}

static json_t *domains_json(const Heddle__Status *s)
{
    json_t *list = json_array();
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_domains; i++)
        json_array_append_new(list, domain_json(s, s->assignment->domains[i]));
    return list;
}

/* -- status ------------------------------------------------------------------------------------ */

static json_t *takeovers_json(const Heddle__Status *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_takeovers; i++) {
        const Heddle__TakeoverRecord *t = s->takeovers[i];
        json_t *o = json_object();
        set(o, "domain", number_json(t->domain));
        set(o, "epoch", number_json(t->epoch));
        set(o, "from", string_json(t->from));
        set(o, "to", string_json(t->to));
        set(o, "detect_ms", number_json(t->detect_ms));
        set(o, "at_realtime_ms", number_json(t->at_realtime_ms));
        set(o, "reason", string_json(t->reason));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *lines_json(char *const *lines, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, string_json(lines[i]));
    return list;
}

static void json_status(FILE *out, const Heddle__Status *s)
{
    const Heddle__Member *lead = report_lead(s);
    g_autoptr(GPtrArray) why_not = report_why_not(s);
    json_t *o = json_object();
    set(o, "cluster", string_json(s->cluster));
    set(o, "converged", json_boolean(s->converged));
    set(o, "why_not", lines_json((char *const *)why_not->pdata, why_not->len));
    set(o, "incarnation", guid_json(s->assignment != NULL ? s->assignment->incarnation : 0));
    set(o, "revision", number_json(s->assignment != NULL ? s->assignment->revision : 0));
    set(o, "lead", lead != NULL ? string_json(lead->name) : json_null());
    set(o, "ports", ports_json(report_ports(s)));
    set(o, "shards", shards_json(s));
    set(o, "domains", domains_json(s));
    set(o, "takeovers", takeovers_json(s));
    set(o, "problems", lines_json(s->problems, s->n_problems));
    print(o, out);
}

static void json_shards(FILE *out, const Heddle__Status *s)
{
    print(shards_json(s), out);
}

static void json_domains(FILE *out, const Heddle__Status *s)
{
    print(domains_json(s), out);
}

/* -- nodes ------------------------------------------------------------------------------------- */

static void json_nodes(FILE *out, const GArray *rows)
{
    json_t *list = json_array();
    for (guint i = 0; i < rows->len; i++) {
        const struct node_row *r = &g_array_index(rows, struct node_row, i);
        json_t *o = json_object();
        set(o, "type", json_string(nodes_type_name(r->type)));
        set(o, "node_guid", guid_json(r->node_guid));
        set(o, "port", number_json(r->port));
        set(o, "port_guid", known_guid_json(r->port_guid));
        set(o, "description", string_json(r->description));
        set(o, "lid", number_json(r->lid));
        set(o, "lmc", number_json(r->lmc));
        set(o, "domain", domain_id_json(r->domain));
        set(o, "owner", *r->owner ? string_json(r->owner) : json_null());
        set(o, "ports", number_json(r->ports));
        set(o, "links", number_json(r->links));
        set(o, "active", number_json(r->active));
        set(o, "present", json_boolean(r->present));
        json_array_append_new(list, o);
    }
    print(list, out);
}

static void json_problems(FILE *out, const GArray *problems)
{
    json_t *list = json_array();
    for (guint i = 0; i < problems->len; i++) {
        const struct port_problem *p = &g_array_index(problems, struct port_problem, i);
        json_t *o = json_object();
        set(o, "node_guid", guid_json(p->node_guid));
        set(o, "description", string_json(p->description));
        set(o, "port", number_json(p->port));
        set(o, "state", json_string(nodes_state_name(p->state)));
        set(o, "physical_state", json_string(nodes_physical_name(p->physical)));
        set(o, "peer_guid", known_guid_json(p->peer_guid));
        set(o, "peer_port", number_json(p->peer_port));
        set(o, "peer_description", string_json(p->peer_description));
        set(o, "domain", domain_id_json(p->domain));
        set(o, "owner", *p->owner ? string_json(p->owner) : json_null());
        set(o, "reason", json_string(nodes_reason_name(p->reason)));
        set(o, "text", string_json(p->text));
        json_array_append_new(list, o);
    }
    print(list, out);
}

/* -- routes ------------------------------------------------------------------------------------ */

static void json_route(FILE *out, const Heddle__Route *r)
{
    json_t *hops = json_array();
    for (size_t i = 0; i < r->n_hops; i++) {
        const Heddle__RouteHop *h = r->hops[i];
        json_t *o = json_object();
        set(o, "guid", guid_json(h->guid));
        set(o, "description", text_json((const char *)h->description.data, h->description.len));
        set(o, "in_port", number_json(h->in_port));
        set(o, "out_port", number_json(h->out_port));
        json_array_append_new(hops, o);
    }
    json_t *o = json_object();
    set(o, "slid", number_json(r->slid));
    set(o, "dlid", number_json(r->dlid));
    set(o, "sl", number_json(r->sl));
    set(o, "hops", hops);
    set(o, "error", *r->error ? string_json(r->error) : json_null());
    print(o, out);
}

static json_t *findings_json(const char *text)
{
    json_t *list = json_array();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **l = lines; *l != NULL; l++)
        if (**l != '\0')
            json_array_append_new(list, string_json(*l));
    return list;
}

static void json_check(FILE *out, const struct check_report *r)
{
    json_t *o = json_object();
    set(o, "subject", string_json(r->subject));
    set(o, "ok", json_boolean(r->ok));
    set(o, "switches", number_json(r->switches));
    set(o, "destinations", number_json(r->destinations));
    set(o, "links", number_json(r->links));
    set(o, "without_table", number_json(r->without_table));
    set(o, "without_lid", number_json(r->without_lid));
    set(o, "pairs", number_json(r->result.pairs));
    set(o, "unreachable", number_json(r->result.unreachable));
    set(o, "disconnected", number_json(r->result.disconnected));
    set(o, "loops", number_json(r->result.loops));
    set(o, "dead_ports", number_json(r->result.dead_ports));
    set(o, "credit_loop_channels", number_json(r->result.credit_loop_channels));
    set(o, "bad_lanes", number_json(r->result.bad_lanes));
    set(o, "vls", number_json(r->vls));
    set(o, "max_hops", number_json(r->result.max_hops));
    set(o, "findings", findings_json(r->findings));
    print(o, out);
}

const struct output output_json = {
    .status = json_status,
    .shards = json_shards,
    .domains = json_domains,
    .nodes = json_nodes,
    .problems = json_problems,
    .route = json_route,
    .check = json_check,
};
