/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing fabrics as ibnetdiscover prints them. */
#include "fabric/write.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

struct kind {
    const char *word, *guid_word;
    char letter;
};

static const struct kind *kind_of(const struct fabric_node *n)
{
    static const struct kind kinds[] = {[FABRIC_CA] = {"Ca", "caguid", 'H'},
                                        [FABRIC_SWITCH] = {"Switch", "switchguid", 'S'},
                                        [FABRIC_ROUTER] = {"Rt", "rtguid", 'R'}};
    return &kinds[n->type];
}

/* A description is hostile text: it must not end its line or its quotes. Where it only repeats the
 * peer's name, = is replaced too, because ibsim looks for options there. */
static void put_desc(const char *desc, bool repeated, FILE *out)
{
    putc('"', out);
    for (const char *p = desc; *p; p++) {
        if (g_ascii_iscntrl(*p))
            putc(' ', out);
        else if (*p == '"')
            putc('\'', out);
        else
            putc(repeated && *p == '=' ? '-' : *p, out);
    }
    putc('"', out);
}

static void put_ids(const struct fabric_node *n, FILE *out)
{
    fprintf(out, "\nvendid=0x%x\ndevid=0x%x\n", n->vendor_id, n->device_id);
    if (n->sys_guid)
        fprintf(out, "sysimgguid=0x%016" PRIx64 "\n", n->sys_guid);
    fprintf(out, "%s=0x%016" PRIx64, kind_of(n)->guid_word, n->guid);
    if (n->type == FABRIC_SWITCH)
        fprintf(out, "(%016" PRIx64 ")", n->ports[0].guid);
    putc('\n', out);
}

static void put_header(const struct fabric_node *n, FILE *out)
{
    const struct kind *k = kind_of(n);
    fprintf(out, "%s\t%u \"%c-%016" PRIx64 "\"\t\t# ", k->word, n->nports, k->letter, n->guid);
    put_desc(n->desc, false, out);
    if (n->type == FABRIC_SWITCH)
        fprintf(out, " %s port 0 lid %u lmc %u", n->enhanced_port0 ? "enhanced" : "base",
                n->ports[0].lid, n->ports[0].lmc);
    putc('\n', out);
}

/* "4xEDR"; "???" stands for what is not known. */
static void put_rate(const struct fabric_port *p, FILE *out)
{
    const char *width = fabric_width_name(p->width), *speed = fabric_speed_name(p->speed);
    fprintf(out, "%s%s", *width == '?' ? "?x" : width, *speed == '?' ? "???" : speed);
}

static void put_port(const struct fabric *f, const struct fabric_node *n, unsigned number,
                     FILE *out)
{
    const struct fabric_port *p = &n->ports[number];
    const struct fabric_node *peer = &f->nodes[p->peer_node];
    const struct fabric_port *far = &peer->ports[p->peer_port];
    bool is_switch = n->type == FABRIC_SWITCH, to_switch = peer->type == FABRIC_SWITCH;
    fprintf(out, "[%u]", number);
    if (!is_switch)
        fprintf(out, "(%016" PRIx64 ") ", p->guid);
    fprintf(out, "\t\"%c-%016" PRIx64 "\"[%u]", kind_of(peer)->letter, peer->guid, p->peer_port);
    if (!to_switch)
        fprintf(out, "(%016" PRIx64 ")", far->guid);
    fputs("\t\t# ", out);
    if (!is_switch)
        fprintf(out, "lid %u lmc %u ", p->lid, p->lmc);
    put_desc(peer->desc, true, out);
    fprintf(out, " lid %u ", to_switch ? peer->ports[0].lid : far->lid);
    put_rate(p, out);
    putc('\n', out);
}

static void put_nodes(const struct fabric *f, enum fabric_node_type type, FILE *out)
{
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[i];
        if ((n->type == FABRIC_SWITCH) != (type == FABRIC_SWITCH))
            continue;
        put_ids(n, out);
        put_header(n, out);
        for (unsigned p = 1; p <= n->nports; p++)
            if (n->ports[p].peer_node != FABRIC_NONE)
                put_port(f, n, p, out);
    }
}

int fabric_write(const struct fabric *f, FILE *out)
{
    errno = 0;
    put_nodes(f, FABRIC_SWITCH, out);
    put_nodes(f, FABRIC_CA, out); /* and routers, in node order */
    if (fflush(out) != 0 || ferror(out))
        return errno ? errno : EIO;
    return 0;
}
