/* SPDX-License-Identifier: BSD-2-Clause */
/* Forwarding tables in the form of infiniband-diags' dump_lfts and dump_mfts, which OpenSM's file
 * engine and `heddle route check --lfts` read. */
#include <string.h>

#include "sim/judge/private.h"

#define FIRST_MLID 0xc000u
#define LAST_MLID 0xfffeu

struct owner { /* of a LID */
    uint32_t node;
    uint32_t port;
};

struct dump {
    struct sim *s;
    FILE *out;
    struct owner *owners; /* by LID, JUDGE_LIDS */
};

static void find_owners(struct dump *d)
{
    d->owners = g_new(struct owner, JUDGE_LIDS);
    for (unsigned i = 0; i < JUDGE_LIDS; i++)
        d->owners[i].node = SIM_NONE;
    for (uint32_t node = 0; node < d->s->node_count; node++) {
        const struct sim_node *n = &d->s->nodes[node];
        unsigned first = n->sw ? 0 : 1, last = n->sw ? 0 : n->nports;
        for (unsigned port = first; port <= last; port++) {
            const struct sim_port *p = &n->ports[port];
            unsigned lid = sim_lid(p), end = lid + (1u << (p->info[34] & 0x07));
            for (; lid != 0 && lid < end && lid < JUDGE_LIDS; lid++)
                if (d->owners[lid].node == SIM_NONE)
                    d->owners[lid] = (struct owner){.node = node, .port = port};
        }
    }
}

/* A description on one line: control characters would end it or move the terminal's cursor. */
static void put_description(FILE *out, const struct sim_node *n)
{
    for (const char *c = n->description; *c != '\0'; c++)
        fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '.' : *c, out);
}

static void put_destination(const struct dump *d, unsigned lid)
{
    static const char *const types[] = {"?", "Channel Adapter", "Switch", "Router"};
    const struct owner *o = &d->owners[lid];
    if (o->node == SIM_NONE) {
        fputs(": (unknown node and type)\n", d->out);
        return;
    }
    const struct sim_node *n = &d->s->nodes[o->node];
    fprintf(d->out, ": (%s portguid 0x%016" G_GINT64_MODIFIER "x: '",
            types[n->type < G_N_ELEMENTS(types) ? n->type : 0], n->ports[o->port].guid);
    put_description(d->out, n);
    fputs("')\n", d->out);
}

static void put_heading(const struct dump *d, const char *what, unsigned first, unsigned last,
                        const struct sim_node *n)
{
    fprintf(d->out, "%s [0x%x-0x%x] of switch Lid %u guid 0x%016" G_GINT64_MODIFIER "x (", what,
            first, last, sim_lid(&n->ports[0]), n->guid);
    put_description(d->out, n);
    fputs("):\n", d->out);
}

static void dump_lft(const struct dump *d, uint32_t node)
{
    const struct sim_node *n = &d->s->nodes[node];
    unsigned top = get16(n->sw->info + 6), shown = 0; /* LinearFDBTop, IBA 14.2.5.4 */
    put_heading(d, "Unicast lids", 0, top, n);
    fputs("  Lid  Out   Destination\n       Port     Info \n", d->out);
    for (unsigned lid = 0; lid <= top && lid < SIM_LFT_BLOCKS * SIM_LFT_BLOCK; lid++) {
        unsigned port = sim_lft(d->s, node, lid);
        if (port > n->nports)
            continue;
        fprintf(d->out, "0x%04x %03u ", lid, port);
        put_destination(d, lid);
        shown++;
    }
    fprintf(d->out, "%u valid lids dumped \n", shown);
}

static bool has_bit(const uint64_t mask[4], unsigned port)
{
    return mask[port / 64] >> (port % 64) & 1;
}

static void put_ports_ruler(FILE *out, unsigned nports)
{
    if (nports > 9) {
        fputs("            ", out);
        for (unsigned i = 0; i <= nports; i++)
            fprintf(out, "%c ", i % 10 != 0 ? ' ' : (char)('0' + i / 10 % 10));
        fputc('\n', out);
    }
    fputs("     Ports: ", out);
    for (unsigned i = 0; i <= nports; i++)
        fprintf(out, "%u ", i % 10);
    fputs("\n MLid\n", out);
}

static void dump_mft(const struct dump *d, uint32_t node)
{
    const struct sim_node *n = &d->s->nodes[node];
    unsigned capacity = get16(n->sw->info + 4), top = get16(n->sw->info + 18), shown = 0;
    unsigned last = capacity > 0 ? FIRST_MLID + capacity - 1 : FIRST_MLID;
    if (top >= FIRST_MLID - 1 && top < last)
        last = top; /* MulticastFDBTop 0xbfff: the table is empty */
    last = MIN(last, LAST_MLID);
    put_heading(d, "Multicast mlids", FIRST_MLID, last, n);
    put_ports_ruler(d->out, n->nports);
    for (unsigned mlid = FIRST_MLID; mlid <= last; mlid++) {
        uint64_t mask[4];
        sim_mft(d->s, node, mlid, mask);
        if ((mask[0] | mask[1] | mask[2] | mask[3]) == 0)
            continue;
        fprintf(d->out, "0x%04x      ", mlid);
        for (unsigned port = 0; port <= n->nports; port++)
            fputs(has_bit(mask, port) ? "x " : "  ", d->out);
        fputc('\n', d->out);
        shown++;
    }
    fprintf(d->out, "%u valid mlids dumped \n", shown);
}

typedef void dump_fn(const struct dump *d, uint32_t node);

static void dump_each(struct sim *s, uint32_t node, FILE *out, dump_fn *fn)
{
    struct dump d = {.s = s, .out = out};
    find_owners(&d);
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].sw != NULL && s->nodes[i].powered && (node == SIM_NONE || node == i))
            fn(&d, i);
    g_free(d.owners);
}

void sim_judge_dump_lft(struct sim *s, uint32_t node, FILE *out)
{
    dump_each(s, node, out, dump_lft);
}

void sim_judge_dump_mft(struct sim *s, uint32_t node, FILE *out)
{
    dump_each(s, node, out, dump_mft);
}

void sim_judge_dump(struct sim *s, uint32_t node, FILE *out)
{
    sim_judge_dump_lft(s, node, out);
    sim_judge_dump_mft(s, node, out);
}
