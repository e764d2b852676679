/* SPDX-License-Identifier: BSD-2-Clause */
/* What modelled hosts have done, as text. */
#include "sim/hosts/host_private.h"

struct totals {
    uint64_t hosts, registered, groups, services, subscribed, stale;
};

static void add_host(const struct sim_host *h, const struct sim_port *p, struct totals *t)
{
    unsigned place;

    t->hosts++;
    t->registered += host_registered(h);
    t->stale += h->up && h->sm_lid != get16(p->info + 18);
    for (unsigned i = 0; i < h->record_count; i++) {
        if (!h->records[i].confirmed)
            continue;
        switch (host_record_kind(h, i, &place)) {
        case HOST_GROUP:
            t->groups++;
            break;
        case HOST_SERVICE:
            t->services++;
            break;
        case HOST_INFORM:
            t->subscribed++;
            break;
        case HOST_PATH:
            break;
        }
    }
}

static double to_ms(int64_t ns)
{
    return ns < 0 ? 0 : (double)ns / 1e6;
}

static void append_totals(const struct sim *s, const struct totals *t, GString *out)
{
    const struct sim_hosts *all = s->hosts;
    const struct host_counts *c = &all->counts;

    g_string_append_printf(out,
                           "hosts=%" G_GUINT64_FORMAT " registered=%" G_GUINT64_FORMAT
                           " groups=%" G_GUINT64_FORMAT " services=%" G_GUINT64_FORMAT
                           " subscribed=%" G_GUINT64_FORMAT,
                           t->hosts, t->registered, t->groups, t->services, t->subscribed);
    g_string_append_printf(out,
                           " requests=%" G_GUINT64_FORMAT " retries=%" G_GUINT64_FORMAT
                           " timeouts=%" G_GUINT64_FORMAT " busy=%" G_GUINT64_FORMAT
                           " errors=%" G_GUINT64_FORMAT " reports=%" G_GUINT64_FORMAT
                           " paths=%" G_GUINT64_FORMAT " wrong=%" G_GUINT64_FORMAT
                           " late=%" G_GUINT64_FORMAT " stale=%" G_GUINT64_FORMAT,
                           c->requests, c->retries, c->timeouts, c->busy, c->errors, c->reports,
                           c->paths, c->wrong, c->late, t->stale);
    g_string_append_printf(out, " first_ms=%.3f last_ms=%.3f wave_ms=%.3f\n",
                           to_ms(all->wave_first), to_ms(all->wave_last),
                           to_ms(all->wave_end - all->wave_start));
}

static const char *record_state(const struct host_record *r)
{
    if (r->confirmed)
        return r->phase == HOST_ASKED ? "renewing" : "confirmed";
    switch (r->phase) {
    case HOST_ASKED:
        return "asked";
    case HOST_WAITS:
        return "waiting";
    default:
        return "none";
    }
}

static void append_record(const struct sim *s, const struct sim_host *h, unsigned index,
                          GString *out)
{
    const struct host_record *r = &h->records[index];
    unsigned place;
    uint8_t mgid[16];

    switch (host_record_kind(h, index, &place)) {
    case HOST_GROUP:
        host_mgid(h, s->nodes[h->node].ports[h->port].guid, place, mgid);
        g_string_append_printf(out, "  group %016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x",
                               get64(mgid), get64(mgid + 8));
        if (r->confirmed)
            g_string_append_printf(out, " mlid=0x%04x", r->value);
        break;
    case HOST_SERVICE:
        g_string_append_printf(out, "  service 0x%016" G_GINT64_MODIFIER "x",
                               host_service_id(h, place));
        break;
    case HOST_INFORM:
        g_string_append_printf(out, "  trap %u", HOST_FIRST_TRAP + place);
        break;
    case HOST_PATH:
        g_string_append_printf(out, "  path");
        if (r->serial)
            g_string_append_printf(out, " to=%s", sim_port_name(s, r->target, r->value));
        break;
    }
    g_string_append_printf(out, " %s\n", record_state(r));
}

static void append_host(const struct sim *s, const struct sim_host *h, GString *out)
{
    g_string_append_printf(
        out, "%s sm_lid=%u sm_sl=%u pkey=0x%04x %s%s%s\n", sim_port_name(s, h->node, h->port),
        h->sm_lid, h->sm_sl, h->pkey,
        !h->up               ? "down"
        : !h->begun          ? "delayed"
        : host_registered(h) ? "registered"
                             : "registering",
        h->killed ? " killed" : "",
        h->up && h->sm_lid != get16(s->nodes[h->node].ports[h->port].info + 18) ? " stale" : "");
    for (unsigned i = 0; i < h->record_count; i++)
        append_record(s, h, i, out);
}

void sim_hosts_status(struct sim *s, uint32_t node, GString *out)
{
    struct totals t = {0};

    for (uint32_t n = 0; n < s->node_count; n++)
        for (unsigned p = 1; p <= s->nodes[n].nports; p++)
            if (s->nodes[n].ports[p].host)
                add_host(s->nodes[n].ports[p].host, &s->nodes[n].ports[p], &t);
    append_totals(s, &t, out);
    for (unsigned p = 1; node < s->node_count && p <= s->nodes[node].nports; p++)
        if (s->nodes[node].ports[p].host)
            append_host(s, s->nodes[node].ports[p].host, out);
}
