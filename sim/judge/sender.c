/* SPDX-License-Identifier: BSD-2-Clause */
/* Who sent a packet: by the directed route's return path, or by the SLID. */
#include <string.h>

#include "sim/judge/private.h"

/* -- LIDs -------------------------------------------------------------------------------------- */

static void remember(struct sim_judge *j, unsigned lid, unsigned lmc, uint32_t node, unsigned port)
{
    for (unsigned i = lid; i < lid + (1u << lmc) && i < JUDGE_LIDS; i++)
        j->lids[i] = (struct judge_lid){.node = node, .port = port};
}

static unsigned lmc_of(const struct sim_port *p)
{
    return p->info[34] & 0x07; /* M_KeyProtectBits 2, reserved 3, LMC 3 */
}

static void read_lids(struct sim *s)
{
    struct sim_judge *j = s->judge;
    if (j->lids == NULL)
        j->lids = g_new(struct judge_lid, JUDGE_LIDS);
    for (unsigned i = 0; i < JUDGE_LIDS; i++)
        j->lids[i].node = SIM_NONE;
    for (uint32_t node = 0; node < s->node_count; node++) {
        const struct sim_node *n = &s->nodes[node];
        unsigned first = n->sw ? 0 : 1, last = n->sw ? 0 : n->nports;
        for (unsigned port = first; port <= last; port++)
            if (sim_lid(&n->ports[port]) != 0)
                remember(j, sim_lid(&n->ports[port]), lmc_of(&n->ports[port]), node, port);
    }
    j->lids_read_at = j->judged;
}

static bool has_lid(struct sim *s, const struct judge_lid *who, unsigned lid)
{
    if (who->node == SIM_NONE)
        return false;
    const struct sim_port *p = sim_port(s, who->node, who->port);
    unsigned base = sim_lid(p);
    return base != 0 && lid >= base && lid < base + (1u << lmc_of(p));
}

/* LIDs come by Set(PortInfo), which all pass here, so the table is as good as a search but where
 * two ports had the same LID. Then all are read again, once in so many Sets as there are nodes: the
 * mean price of a Set does not depend on the fabric's size. */
static const struct judge_lid *who_has(struct sim *s, unsigned lid)
{
    struct sim_judge *j = s->judge;
    if (lid == 0 || lid >= JUDGE_LIDS)
        return NULL;
    if (j->lids == NULL)
        read_lids(s);
    if (!has_lid(s, &j->lids[lid], lid) && j->judged - j->lids_read_at >= s->node_count)
        read_lids(s);
    return has_lid(s, &j->lids[lid], lid) ? &j->lids[lid] : NULL;
}

void judge_note_lid(struct sim *s, const struct sim_judged *d)
{
    if (s->judge->lids == NULL)
        return; /* read wholly when first needed */
    const uint8_t *mad = d->packet->mad, *info = mad + SMP_DATA;
    const struct sim_node *n = &s->nodes[d->node];
    unsigned port = n->sw ? 0 : mad[MAD_MODIFIER + 3];
    if (!n->sw && port == 0)
        port = d->port; /* IBA 14.2.5.6: of a CA, 0 is the port that received it */
    if (port > n->nports || get16(info + 16) == 0)
        return;
    remember(s->judge, get16(info + 16), info[34] & 0x07, d->node, port);
}

/* -- directed routes --------------------------------------------------------------------------- */

/* Each hop wrote the port by which the SMP came in into the return path (IBA 14.2.2): from the
 * target back along the cables stands the sender. */
static bool walk_back(struct sim *s, const struct sim_judged *d, uint32_t *node, unsigned *port)
{
    const uint8_t *mad = d->packet->mad;
    unsigned hops = mad[MAD_HOP_COUNT];
    if (hops >= SIM_MAX_HOPS)
        return false;
    *node = d->node;
    *port = s->nodes[d->node].sw ? 0 : d->port;
    for (unsigned hop = hops; hop > 0; hop--) {
        unsigned in = mad[SMP_RETURN_PATH + hop];
        if (in == 0 || in > s->nodes[*node].nports)
            return false;
        const struct sim_port *p = sim_port(s, *node, in);
        if (p->peer_node == SIM_NONE)
            return false;
        *node = p->peer_node;
        *port = p->peer_port;
    }
    if (s->nodes[*node].sw)
        *port = 0;
    return true;
}

static struct judge_sender *need_sender(struct sim_judge *j, uint32_t node, unsigned port)
{
    gint64 key = (gint64)node << 8 | (uint8_t)port;
    struct judge_sender *sender = g_hash_table_lookup(j->senders, &key);
    if (sender != NULL)
        return sender;
    if (g_hash_table_size(j->senders) >= SIM_JUDGE_SENDERS)
        return &j->others;
    sender = g_new0(struct judge_sender, 1);
    sender->node = node;
    sender->port = port;
    g_hash_table_insert(j->senders, g_memdup2(&key, sizeof(key)), sender);
    return sender;
}

struct judge_sender *judge_find_sender(struct sim *s, const struct sim_judged *d)
{
    const uint8_t *mad = d->packet->mad;
    uint32_t node;
    unsigned port;
    unsigned slid = d->packet->slid;
    if (mad[MAD_CLASS] == CLASS_SUBN_DIRECTED) {
        slid = get16(mad + SMP_DRSLID); /* a LID-routed part came first */
        if (slid == SIM_LID_PERMISSIVE || slid == 0)
            return walk_back(s, d, &node, &port) ? need_sender(s->judge, node, port)
                                                 : &s->judge->unknown;
    }
    const struct judge_lid *who = who_has(s, slid);
    return who != NULL ? need_sender(s->judge, who->node, who->port) : &s->judge->unknown;
}

void judge_name_sender(struct sim *s, struct judge_sender *sender)
{
    if (sender->node == SIM_NONE)
        return;
    const char *description = s->nodes[sender->node].description;
    if (sender->name_len > 0 && strcmp(sender->description, description) == 0)
        return;
    g_strlcpy(sender->description, description, sizeof(sender->description));
    g_strlcpy(sender->name, sim_port_name(s, sender->node, sender->port), sizeof(sender->name));
    sender->name_len = strlen(sender->name);
}
