/* SPDX-License-Identifier: BSD-2-Clause */
/* PathRecord, IBA 15.2.5.16. */
#include <string.h>

#include "shard/sa/sa_private.h"
#include "shard/sa/sa_walk.h"

#define DEFAULT_PKEY 0xffffu
#define PKEY_BASE_MASK 0x7fffu
#define DEFAULT_GID_PREFIX 0xfe80000000000000u
#define MULTICAST_GID 0xffu
#define MAX_PATHS 127u
#define MAX_ALL_PAIRS 40000u /* beyond it a query must name an end: the loop has no time */
#define SELECT_EXACTLY 0x80u /* in a record: the value is exactly this */
#define LOW_BITS 0x3fu

enum {
    PR_BYTES = 64,
    PR_DGID = 8,
    PR_SGID = 24,
    PR_DLID = 40,
    PR_SLID = 42,
    PR_RAW = 44,
    PR_REVERSIBLE_NUMBPATH = 49,
    PR_PKEY = 50,
    PR_SL = 53,
    PR_MTU = 54,
    PR_RATE = 55,
    PR_LIFE = 56,
    GUID_IN_GID = 8,
};

enum component {
    C_DGID = 2,
    C_SGID = 3,
    C_DLID = 4,
    C_SLID = 5,
    C_RAW = 6,
    C_NUMBPATH = 12,
    C_PKEY = 13,
    C_SL = 15,
    C_MTU_SELECTOR = 16,
    C_MTU = 17,
    C_RATE_SELECTOR = 18,
    C_RATE = 19,
    C_LIFE_SELECTOR = 20,
    C_LIFE = 21,
};

enum selector { GREATER, LESS, EXACTLY, LARGEST };

/* -- ends of the wanted paths ------------------------------------------------------------------ */

enum side_kind { SIDE_ANY, SIDE_NONE, SIDE_ONE };
struct side { /* source or destination as the request has it */
    enum side_kind kind;
    struct sa_end end;
    uint16_t lid; /* the one LID that was asked for, 0 = all of the port */
};

static bool end_usable(const struct sa_end *x)
{
    if (x->s == NULL && x->e == NULL)
        return false;
    return sa_end_lid(x) != 0 && (x->s != NULL ? x->s->reachable : x->e->present);
}

static struct sa_end end_by_guid(const struct view *v, uint64_t guid)
{
    struct sa_end x = {.e = view_end_port_by_guid(v, guid)};
    if (x.e != NULL)
        return x;
    x.s = view_switch(v, guid);
    if (x.s != NULL && sa_end_guid(&x) == guid)
        return x;
    const GPtrArray *switches = view_switches(v); /* port 0 with a GUID of its own */
    for (guint i = 0; i < switches->len; i++) {
        x.s = switches->pdata[i];
        if (sa_end_guid(&x) == guid)
            return x;
    }
    return (struct sa_end){0};
}

static struct sa_end end_by_lid(const struct view *v, uint16_t lid)
{
    struct view_switch *s = NULL;
    struct view_end_port *e = NULL;
    if (!view_by_lid(v, lid, &s, &e))
        return (struct sa_end){0};
    return (struct sa_end){s, e};
}

static bool same_end(const struct sa_end *a, const struct sa_end *b)
{
    return a->s == b->s && a->e == b->e;
}

static struct side read_side(const struct sa_query *q, unsigned gid_bit, unsigned gid_offset,
                             unsigned lid_bit, unsigned lid_offset)
{
    const struct view *v = q->context->view;
    struct side side = {.kind = SIDE_ANY};
    if (sa_has(q, gid_bit)) {
        const uint8_t *gid = q->wanted + gid_offset;
        uint64_t prefix = sa_get64(gid);
        side.kind = SIDE_NONE;
        if (gid[0] != MULTICAST_GID &&
            (prefix == q->context->subnet_prefix || prefix == DEFAULT_GID_PREFIX)) {
            side.end = end_by_guid(v, sa_get64(gid + GUID_IN_GID));
            side.kind = end_usable(&side.end) ? SIDE_ONE : SIDE_NONE;
        }
    }
    if (sa_has(q, lid_bit) && side.kind != SIDE_NONE) {
        side.lid = sa_get16(q->wanted + lid_offset);
        struct sa_end x = end_by_lid(v, side.lid);
        bool agrees = side.kind == SIDE_ANY || same_end(&x, &side.end);
        side.kind = agrees && end_usable(&x) ? SIDE_ONE : SIDE_NONE;
        side.end = x;
    }
    return side;
}

/* -- what the request asks of a path ----------------------------------------------------------- */

/* Each returns the value that the record shows, 0 = the path does not serve the request. */
static unsigned select_mtu(const struct sa_query *q, unsigned mtu)
{
    if (!sa_has(q, C_MTU) && !sa_has(q, C_MTU_SELECTOR))
        return mtu;
    unsigned wanted = q->wanted[PR_MTU] & LOW_BITS;
    switch (q->wanted[PR_MTU] >> 6) {
    case GREATER:
        return mtu > wanted ? mtu : 0;
    case LESS:
        return wanted > 1 ? MIN(mtu, wanted - 1) : 0;
    case EXACTLY:
        return mtu >= wanted ? wanted : 0;
    default:
        return mtu;
    }
}

static unsigned select_rate(const struct sa_query *q, unsigned rate)
{
    if (!sa_has(q, C_RATE) && !sa_has(q, C_RATE_SELECTOR))
        return rate;
    unsigned wanted = q->wanted[PR_RATE] & LOW_BITS;
    unsigned has = sa_rate_value(rate), wants = sa_rate_value(wanted);
    switch (q->wanted[PR_RATE] >> 6) {
    case GREATER:
        return has > wants ? rate : 0;
    case LESS:
        return has < wants ? rate : sa_rate_below(wanted);
    case EXACTLY:
        return has >= wants ? wanted : 0;
    default:
        return rate;
    }
}

/* The life time cannot be chosen: the path has the one that it has. */
static bool life_serves(const struct sa_query *q, unsigned life)
{
    if (!sa_has(q, C_LIFE) || !sa_has(q, C_LIFE_SELECTOR))
        return true;
    unsigned wanted = q->wanted[PR_LIFE] & LOW_BITS;
    switch (q->wanted[PR_LIFE] >> 6) {
    case GREATER:
        return life > wanted;
    case LESS:
        return life < wanted;
    case EXACTLY:
        return life <= wanted; /* an upper bound */
    default:
        return true;
    }
}

static bool can_be_served(const struct sa_query *q)
{
    if (sa_has(q, C_PKEY) &&
        (sa_get16(q->wanted + PR_PKEY) & PKEY_BASE_MASK) != (DEFAULT_PKEY & PKEY_BASE_MASK))
        return false;
    return !sa_has(q, C_RAW) || (q->wanted[PR_RAW] & 0x80) == 0;
}

static unsigned wanted_paths(const struct sa_query *q)
{
    if (q->get)
        return 1;
    return sa_has(q, C_NUMBPATH) ? q->wanted[PR_REVERSIBLE_NUMBPATH] & MAX_PATHS : MAX_PATHS;
}

/* -- records ----------------------------------------------------------------------------------- */

static void put_gid(const struct sa_query *q, uint8_t *gid, const struct sa_end *x)
{
    sa_put64(gid, q->context->subnet_prefix);
    sa_put64(gid + GUID_IN_GID, sa_end_guid(x));
}

static void add_path(struct sa_query *q, struct sa_walker *w, const struct sa_end *from,
                     uint16_t slid, const struct sa_end *to, uint16_t dlid)
{
    struct sa_capacity c;
    if (!sa_walk(w, from, to, dlid, &c))
        return;
    unsigned mtu = select_mtu(q, c.mtu), rate = select_rate(q, c.rate);
    unsigned sl = rt_plan_sl(q->context->plan, slid, dlid);
    unsigned life = same_end(from, to) ? 0 : q->context->packet_life_time & LOW_BITS;
    if (mtu == 0 || rate == 0 || !life_serves(q, life) ||
        (sa_has(q, C_SL) && (q->wanted[PR_SL] & 0x0f) != sl))
        return;
    uint8_t r[PR_BYTES] = {0};
    put_gid(q, r + PR_DGID, to);
    put_gid(q, r + PR_SGID, from);
    sa_put16(r + PR_DLID, dlid);
    sa_put16(r + PR_SLID, slid);
    r[PR_REVERSIBLE_NUMBPATH] = 0x80 | (q->get ? 1 : 0);
    sa_put16(r + PR_PKEY, DEFAULT_PKEY);
    r[PR_SL] = (uint8_t)(sl & 0x0f);
    r[PR_MTU] = (uint8_t)(SELECT_EXACTLY | mtu);
    r[PR_RATE] = (uint8_t)(SELECT_EXACTLY | rate);
    r[PR_LIFE] = (uint8_t)(SELECT_EXACTLY | life);
    sa_add(q, r);
}

/* The paths of one pair: LIDs of both ports side by side, as many as the larger LMC gives. */
static void add_pair(struct sa_query *q, struct sa_walker *w, const struct side *from,
                     const struct side *to)
{
    uint16_t slid = from->lid ? from->lid : sa_end_lid(&from->end);
    uint16_t dlid = to->lid ? to->lid : sa_end_lid(&to->end);
    unsigned sources = from->lid ? 1 : 1u << sa_end_lmc(&from->end);
    unsigned destinations = to->lid ? 1 : 1u << sa_end_lmc(&to->end);
    unsigned count = MIN(MAX(sources, destinations), wanted_paths(q));
    for (unsigned i = 0; i < count; i++)
        add_path(q, w, &from->end, (uint16_t)(slid + i % sources), &to->end,
                 (uint16_t)(dlid + i % destinations));
}

/* All usable ends, or the one that was asked for. */
static GArray *sides_of(const struct sa_query *q, const struct side *side)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct side));
    if (side->kind == SIDE_ONE)
        g_array_append_val(all, *side);
    if (side->kind != SIDE_ANY)
        return all;
    const GPtrArray *switches = view_switches(q->context->view);
    const GPtrArray *ends = view_end_ports(q->context->view);
    for (guint i = 0; i < switches->len + ends->len; i++) {
        struct side x = {.kind = SIDE_ONE};
        if (i < switches->len)
            x.end.s = switches->pdata[i];
        else
            x.end.e = ends->pdata[i - switches->len];
        if (end_usable(&x.end))
            g_array_append_val(all, x);
    }
    return all;
}

static enum sa_status add_all(struct sa_query *q, const GArray *from, const GArray *to)
{
    if (from->len > 1 && to->len > 1 && (uint64_t)from->len * to->len > MAX_ALL_PAIRS)
        return SA_REQ_INSUFFICIENT_COMPONENTS;
    struct sa_walker *w = sa_walker_create(q->context->view, q->context->plan);
    for (guint i = 0; i < from->len && !q->overflow; i++)
        for (guint j = 0; j < to->len && !q->overflow; j++)
            add_pair(q, w, &g_array_index(from, struct side, i),
                     &g_array_index(to, struct side, j));
    sa_walker_destroy(w);
    return SA_OK;
}

enum sa_status sa_path_records(struct sa_query *q)
{
    q->record_bytes = PR_BYTES;
    if (q->context->plan == NULL)
        return SA_BUSY;
    struct side from = read_side(q, C_SGID, PR_SGID, C_SLID, PR_SLID);
    struct side to = read_side(q, C_DGID, PR_DGID, C_DLID, PR_DLID);
    if (q->get && (from.kind == SIDE_ANY || to.kind == SIDE_ANY))
        return SA_REQ_INSUFFICIENT_COMPONENTS;
    if (!q->get && wanted_paths(q) == 0)
        return SA_REQ_INVALID;
    if (from.kind == SIDE_NONE || to.kind == SIDE_NONE || !can_be_served(q))
        return SA_OK;
    GArray *sources = sides_of(q, &from), *destinations = sides_of(q, &to);
    enum sa_status status = add_all(q, sources, destinations);
    g_array_free(sources, TRUE);
    g_array_free(destinations, TRUE);
    return status;
}
