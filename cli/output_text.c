/* SPDX-License-Identifier: BSD-2-Clause */
/* Results as text for people. */
#include "cli/output.h"

#include <inttypes.h>
#include <string.h>

#include "cli/text.h"

static char *number(uint64_t n)
{
    return g_strdup_printf("%" PRIu64, n);
}

static char *or_dash(const char *text)
{
    return *text != '\0' ? text_shown(text) : g_strdup("-");
}

/* -- shards ------------------------------------------------------------------------------------ */

/* "0,2-5,9" of the domains that a shard owns. */
static char *owned_text(const Heddle__Status *s, const char *name)
{
    GString *text = g_string_new(NULL);
    const Heddle__Assignment *a = s->assignment;
    for (size_t i = 0; i < a->n_domains; i++) {
        size_t last = i;
        if (strcmp(a->domains[i]->owner, name) != 0)
            continue;
        while (last + 1 < a->n_domains && strcmp(a->domains[last + 1]->owner, name) == 0 &&
               a->domains[last + 1]->id == a->domains[last]->id + 1)
            last++;
        g_string_append_printf(text, "%s%u", text->len > 0 ? "," : "", a->domains[i]->id);
        if (last > i)
            g_string_append_printf(text, "-%u", a->domains[last]->id);
        i = last;
    }
    if (text->len == 0)
        g_string_append_c(text, '-');
    return g_string_free(text, FALSE);
}

static void note(GString *notes, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void note(GString *notes, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (notes->len > 0)
        g_string_append(notes, ", ");
    g_string_append_vprintf(notes, format, ap);
    va_end(ap);
}

static const char *lead_software(const Heddle__Status *s)
{
    const Heddle__Member *lead = report_lead(s);
    return lead != NULL ? lead->software : "";
}

static char *shard_notes(const Heddle__Status *s, const Heddle__Member *m,
                         const Heddle__Heartbeat *h)
{
    GString *notes = g_string_new(NULL);
    if (report_lead(s) == m)
        note(notes, "lead");
    if (m->standby)
        note(notes, "standby");
    if (*m->software && *lead_software(s) && strcmp(m->software, lead_software(s)) != 0)
        note(notes, "version differs from the lead's");
    if (h != NULL && h->frozen)
        note(notes, "FROZEN: sends no Sets");
    if (h != NULL && h->foreign_sm)
        note(notes, "FOREIGN SM 0x%016" PRIx64, h->foreign_sm_guid);
    if (h != NULL && h->n_duplicate_guids > 0)
        note(notes, "%zu duplicate GUID%s", h->n_duplicate_guids,
             h->n_duplicate_guids > 1 ? "s" : "");
    return g_string_free(notes, FALSE);
}

static void add_shard(struct table *t, const Heddle__Status *s, const Heddle__Member *m)
{
    const Heddle__ShardStatus *shard = report_shard(s, m->name);
    const Heddle__Heartbeat *h = shard != NULL ? shard->last : NULL;
    g_autofree char *age = h != NULL ? text_duration_ms(shard->last_seen_ms) : NULL;
    table_add(t, text_shown(m->name), g_strdup(report_state_name(m->state)), owned_text(s, m->name),
              number(report_nodes(s, m->name)), m->lid != 0 ? number(m->lid) : g_strdup("-"),
              age != NULL ? g_strdup_printf("%s ago", age) : g_strdup("never"),
              h != NULL ? g_strdup_printf("%+d ms", shard->clock_offset_ms) : g_strdup("-"),
              or_dash(m->software), shard_notes(s, m, h));
}

static void print_shards(FILE *out, const Heddle__Status *s, unsigned indent)
{
    static const char *const columns[] = {"SHARD",      "STATE",  "DOMAINS", ">NODES", ">LID",
                                          ">HEARTBEAT", ">CLOCK", "VERSION", "",       NULL};
    struct table *t = table_create(columns);
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_members; i++)
        add_shard(t, s, s->assignment->members[i]);
    table_end(t, indent, out);
}

static void text_shards(FILE *out, const Heddle__Status *s)
{
    print_shards(out, s, 0);
}

/* -- domains ----------------------------------------------------------------------------------- */

static char *phase_text(const Heddle__Status *s, const Heddle__Domain *d,
                        const Heddle__DomainReport *r)
{
    if (!report_owned(s, d))
        return g_strdup("NO LIVE OWNER");
    if (r == NULL || r->state == NULL)
        return g_strdup("not reported");
    if (r->state->intent_digest.len > 0)
        return g_strdup_printf("%s, programming", report_phase_name(r->state->phase));
    return g_strdup(report_phase_name(r->state->phase));
}

static void print_domains(FILE *out, const Heddle__Status *s, unsigned indent)
{
    static const char *const columns[] = {">DOMAIN", "NAME",      "OWNER",      ">EPOCH",
                                          "PHASE",   ">SWITCHES", ">END PORTS", ">LINKED",
                                          ">ACTIVE", ">NO PEER",  NULL};
    struct table *t = table_create(columns);
    for (size_t i = 0; s->assignment != NULL && i < s->assignment->n_domains; i++) {
        const Heddle__Domain *d = s->assignment->domains[i];
        const Heddle__DomainReport *r = report_of_domain(s, d);
        struct report_ports p = report_ports_of(r);
        table_add(t, number(d->id), or_dash(d->name), or_dash(d->owner), number(d->epoch),
                  phase_text(s, d, r), number(d->n_switches), number(r != NULL ? r->end_ports : 0),
                  number(p.with_link), number(p.active), number(p.without_peer));
    }
    table_end(t, indent, out);
}

static void text_domains(FILE *out, const Heddle__Status *s)
{
    print_domains(out, s, 0);
}

/* -- status ------------------------------------------------------------------------------------ */

static void print_converged(FILE *out, const Heddle__Status *s)
{
    g_autoptr(GPtrArray) why_not = report_why_not(s);
    fprintf(out, "Converged  %s\n", s->converged ? "yes" : "no");
    for (guint i = 0; i < why_not->len; i++) {
        g_autofree char *line = text_shown(g_ptr_array_index(why_not, i));
        fprintf(out, "           %s\n", line);
    }
}

static void print_head(FILE *out, const Heddle__Status *s)
{
    const Heddle__Member *lead = report_lead(s);
    struct report_ports p = report_ports(s);
    g_autofree char *cluster = text_shown(s->cluster);
    fprintf(out, "Cluster    %s", cluster);
    if (s->assignment != NULL)
        fprintf(out, ", incarnation %016" PRIx64 ", revision %" PRIu64, s->assignment->incarnation,
                s->assignment->revision);
    fprintf(out, "\n");
    print_converged(out, s);
    if (lead != NULL)
        fprintf(out, "Lead       %s, LID %u, port 0x%016" PRIx64 "\n", lead->name, lead->lid,
                lead->port_guid);
    else
        fprintf(out, "Lead       none\n");
    fprintf(out,
            "Ports      %" PRIu64 " with a link, %" PRIu64 " ACTIVE; %" PRIu64 " of %" PRIu64
            " ports have no peer\n",
            p.with_link, p.active, p.without_peer, p.with_link);
}

static char *utc_time(uint64_t realtime_ms)
{
    g_autoptr(GDateTime) t = g_date_time_new_from_unix_utc((gint64)(realtime_ms / 1000));
    g_autofree char *seconds = t != NULL ? g_date_time_format(t, "%F %T") : g_strdup("?");
    return g_strdup_printf("%s.%03u", seconds, (unsigned)(realtime_ms % 1000));
}

static void print_takeovers(FILE *out, const Heddle__Status *s)
{
    static const char *const columns[] = {"TIME (UTC)", ">DOMAIN",      "FROM",   "TO",
                                          ">EPOCH",     ">DETECTED IN", "REASON", NULL};
    struct table *t = table_create(columns);
    for (size_t i = 0; i < s->n_takeovers; i++) {
        const Heddle__TakeoverRecord *r = s->takeovers[i];
        table_add(t, utc_time(r->at_realtime_ms), number(r->domain), or_dash(r->from),
                  or_dash(r->to), number(r->epoch), text_duration_ms(r->detect_ms),
                  text_shown(r->reason));
    }
    fprintf(out, "\nTakeovers\n");
    table_end(t, 2, out);
}

static void text_status(FILE *out, const Heddle__Status *s)
{
    print_head(out, s);
    fprintf(out, "\n");
    print_shards(out, s, 0);
    if (s->assignment != NULL && s->assignment->n_domains > 0)
        fprintf(out, "\n");
    print_domains(out, s, 0);
    if (s->n_takeovers > 0)
        print_takeovers(out, s);
    if (s->n_problems > 0)
        fprintf(out, "\nProblems\n");
    for (size_t i = 0; i < s->n_problems; i++) {
        g_autofree char *line = text_shown(s->problems[i]);
        fprintf(out, "  %s\n", line);
    }
}

/* -- nodes ------------------------------------------------------------------------------------- */

static void text_nodes(FILE *out, const GArray *rows)
{
    static const char *const columns[] = {"TYPE",    "NODE GUID",   ">PORT",  ">LID",
                                          ">DOMAIN", "OWNER",       ">LINKS", ">ACTIVE",
                                          "",        "DESCRIPTION", NULL};
    struct table *t = table_create(columns);
    for (guint i = 0; i < rows->len; i++) {
        const struct node_row *r = &g_array_index(rows, struct node_row, i);
        table_add(t, g_strdup(nodes_type_name(r->type)), text_guid(r->node_guid), number(r->port),
                  r->lid != 0 ? number(r->lid) : g_strdup("-"),
                  r->domain != VIEW_NO_DOMAIN ? number(r->domain) : g_strdup("-"),
                  or_dash(r->owner), number(r->links), number(r->active),
                  g_strdup(r->present ? "" : "gone"), text_quoted(r->description));
    }
    table_end(t, 0, out);
}

static char *peer_text(const struct port_problem *p)
{
    g_autofree char *name = text_quoted(p->peer_description);
    if (p->peer_guid == 0)
        return g_strdup("-");
    return g_strdup_printf("0x%016" PRIx64 " port %u %s", p->peer_guid, p->peer_port,
                           *p->peer_description ? name : "");
}

static void text_problems(FILE *out, const GArray *problems)
{
    static const char *const columns[] = {"NODE GUID", "DESCRIPTION", ">PORT", "STATE",
                                          "LINK",      "WHY",         "PEER",  NULL};
    struct table *t = table_create(columns);
    for (guint i = 0; i < problems->len; i++) {
        const struct port_problem *p = &g_array_index(problems, struct port_problem, i);
        table_add(t, text_guid(p->node_guid), text_quoted(p->description),
                  p->port != 0 ? number(p->port) : g_strdup("all"),
                  g_strdup(p->state != 0 ? nodes_state_name(p->state) : "-"),
                  g_strdup(p->physical != 0 ? nodes_physical_name(p->physical) : "-"),
                  text_shown(p->text), peer_text(p));
    }
    table_end(t, 0, out);
    if (problems->len == 0)
        fprintf(out, "Every port with a link is ACTIVE.\n");
}

/* -- routes ------------------------------------------------------------------------------------ */

static char *port_text(uint32_t port)
{
    return port != 0 ? number(port) : g_strdup("-");
}

static void text_route(FILE *out, const Heddle__Route *r)
{
    static const char *const columns[] = {">HOP", ">IN", "NODE GUID", ">OUT", "DESCRIPTION", NULL};
    struct table *t = table_create(columns);
    fprintf(out, "From LID %u to LID %u, SL %u\n", r->slid, r->dlid, r->sl);
    for (size_t i = 0; i < r->n_hops; i++) {
        const Heddle__RouteHop *h = r->hops[i];
        g_autofree char *name = g_strndup((const char *)h->description.data, h->description.len);
        table_add(t, number(i), port_text(h->in_port), text_guid(h->guid), port_text(h->out_port),
                  text_quoted(name));
    }
    table_end(t, 0, out);
}

static void print_finding(FILE *out, uint64_t count, const char *what)
{
    fprintf(out, "  %12" PRIu64 "  %s\n", count, what);
}

static void text_check(FILE *out, const struct check_report *r)
{
    fprintf(out, "Checked the %s: %u switches, %u links between them, %u destinations\n",
            r->subject, r->switches, r->links, r->destinations);
    print_finding(out, r->result.pairs, "pairs of switch and destination");
    print_finding(out, r->result.unreachable, "pairs without a path although the graph joins them");
    print_finding(out, r->result.disconnected, "pairs that the graph does not join");
    print_finding(out, r->result.loops, "pairs whose path is a loop");
    print_finding(out, r->result.dead_ports, "entries at ports that lead nowhere");
    print_finding(out, r->result.credit_loop_channels, "channels on a credit loop");
    if (r->result.bad_lanes > 0)
        print_finding(out, r->result.bad_lanes, "paths on a virtual lane that is not there");
    print_finding(out, r->vls, "virtual lanes in use");
    print_finding(out, r->result.max_hops, "hops on the longest path");
    if (r->without_table > 0)
        print_finding(out, r->without_table, "switches without a table in the file");
    if (r->without_lid > 0)
        print_finding(out, r->without_lid, "ports whose LID the file does not tell");
    fputs(r->findings, out);
    fprintf(out, r->ok ? "Nothing found.\n" : "Something is wrong.\n");
}

const struct output output_text = {
    .status = text_status,
    .shards = text_shards,
    .domains = text_domains,
    .nodes = text_nodes,
    .problems = text_problems,
    .route = text_route,
    .check = text_check,
};
