/* SPDX-License-Identifier: BSD-2-Clause */
/* The forwarding table of one switch: what it holds, what it is to hold, and the SMPs between. */
#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/tables_private.h"

#define MAX_IN_FLIGHT 8u /* blocks of one switch handed to the queue at a time */
#define RETRY_MS 200u
#define RETRY_MAX_MS 10000u
#define FAILURES_SAID 3u

struct switch_table *switch_table_create(uint64_t guid, uint64_t generation, uint32_t domain,
                                         bool adopt)
{
    struct switch_table *t = g_new0(struct switch_table, 1);
    t->guid = guid;
    t->generation = generation;
    t->domain = domain;
    t->adopt = adopt;
    t->held = g_byte_array_new();
    t->blocks = g_byte_array_new();
    return t;
}

void switch_table_free(gpointer p)
{
    struct switch_table *t = p;
    g_byte_array_unref(t->held);
    g_byte_array_unref(t->blocks);
    g_free(t->row);
    g_free(t);
}

void switch_table_forget(struct switch_table *t, bool adopt)
{
    t->adopt = adopt;
    t->clean = false;
    if (t->blocks->len)
        memset(t->blocks->data, BLOCK_UNKNOWN, t->blocks->len);
}

static void grow(struct switch_table *t, size_t entries)
{
    guint old = t->held->len;
    if (entries <= old)
        return;
    g_byte_array_set_size(t->held, (guint)entries);
    memset(t->held->data + old, RT_NO_PATH, entries - old);
    guint blocks = t->blocks->len;
    g_byte_array_set_size(t->blocks, (guint)(entries / RT_LFT_BLOCK));
    memset(t->blocks->data + blocks, BLOCK_UNKNOWN, t->blocks->len - blocks);
}

static unsigned block_count(const struct switch_table *t)
{
    return t->row ? t->row_top / RT_LFT_BLOCK + 1 : 0;
}

static bool block_differs(const struct switch_table *t, unsigned block)
{
    if (block >= t->blocks->len || t->blocks->data[block] != BLOCK_KNOWN)
        return true;
    return memcmp(t->held->data + block * RT_LFT_BLOCK, t->row + block * RT_LFT_BLOCK,
                  RT_LFT_BLOCK) != 0;
}

bool switch_table_differs(struct switch_table *t)
{
    if (!t->row || t->clean)
        return false;
    if (t->top_held != t->row_top)
        return true;
    for (unsigned b = 0; b < block_count(t); b++) {
        if (block_differs(t, b))
            return true;
    }
    t->clean = true;
    return false;
}

bool switch_table_must_read(const struct switch_table *t)
{
    for (unsigned b = 0; t->adopt && !t->clean && b < block_count(t); b++) {
        if (b >= t->blocks->len || t->blocks->data[b] != BLOCK_KNOWN)
            return true;
    }
    return false;
}

static void failed(struct shard_core *c, struct switch_table *t, const struct smp_request *r,
                   int error)
{
    uint32_t pause = RETRY_MS << MIN(t->failures, 6u);
    if (error == ETIMEDOUT)
        core_unanswered(c, r);
    t->failures++;
    t->next_ms = c->now_ms + MIN(pause, RETRY_MAX_MS);
    tables_retry_at(c, t->next_ms);
    if (t->failures == FAILURES_SAID)
        core_log(c, HL_WARNING, "table_not_programmed",
                 "guid=0x%016" PRIx64 " attribute=%s block=%u reason=\"%s\"", t->guid,
                 smp_attribute_name(r->attribute), r->modifier,
                 error == EPROTO ? "refused" : "no answer");
}

/* A tag names the table's generation and a block or top. */
#define TAG_BITS 16u

static struct switch_table *table_of_tag(struct shard_core *c, const struct smp_request *r,
                                         uint64_t tag)
{
    struct switch_table *t = tables_switch(c, r->target);
    return t && t->generation == tag >> TAG_BITS ? t : NULL;
}

static void block_answered(void *user, uint64_t tag, const struct smp_request *r, int error,
                           const uint8_t *mad)
{
    struct shard_core *c = user;
    struct switch_table *t = table_of_tag(c, r, tag);
    if (!t)
        return;
    t->in_flight--;
    unsigned block = tag & ((1u << TAG_BITS) - 1);
    if (block < t->blocks->len) {
        if (error == ECANCELED) {
            /* It was never sent: what the switch holds has not changed. */
            t->blocks->data[block] = BLOCK_UNKNOWN;
            t->clean = false;
        } else if (error) {
            /* Whether a Set without an answer took effect is not known: read before writing. */
            t->blocks->data[block] = BLOCK_UNKNOWN;
            t->adopt = true;
            t->clean = false;
            failed(c, t, r, error);
        } else {
            t->failures = 0;
            t->blocks->data[block] = BLOCK_KNOWN;
            memcpy(t->held->data + block * RT_LFT_BLOCK, smp_data_const(mad), RT_LFT_BLOCK);
        }
    }
    tables_switch_moved(c, t);
}

static void top_answered(void *user, uint64_t tag, const struct smp_request *r, int error,
                         const uint8_t *mad)
{
    struct shard_core *c = user;
    struct switch_table *t = table_of_tag(c, r, tag);
    if (!t)
        return;
    t->in_flight--;
    t->top_in_flight = false;
    if (error && error != ECANCELED) {
        failed(c, t, r, error);
    } else if (!error) {
        t->failures = 0;
        memcpy(t->switchinfo, smp_data_const(mad), sizeof t->switchinfo);
        unsigned top = mad_get_field(t->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
        if (top != (tag & ((1u << TAG_BITS) - 1)))
            failed(c, t, r, EPROTO);
        t->top_held = (uint16_t)top;
    }
    tables_switch_moved(c, t);
}

static bool submit(struct shard_core *c, struct switch_table *t, struct smp_request *r)
{
    r->target = t->guid;
    r->tag |= t->generation << TAG_BITS;
    r->user = c;
    r->group = t->domain + 1;
    r->retries = r->method == MAD_GET ? -1 : 0;
    if (!core_address_switch(c, t->guid, r) || smpq_submit(c->smpq, r, c->now_ms) != 0) {
        tables_retry_at(c, c->now_ms + RETRY_MS);
        return false;
    }
    t->in_flight++;
    return true;
}

static bool send_top(struct shard_core *c, struct switch_table *t)
{
    struct smp_request r = {
        .method = MAD_SET, .attribute = SMP_SWITCH_INFO, .done = top_answered, .tag = t->row_top};
    memcpy(r.data, t->switchinfo, sizeof t->switchinfo);
    mad_set_field(r.data, 0, IB_SW_LINEAR_FDB_TOP_F, t->row_top);
    mad_set_field(r.data, 0, IB_SW_LIFE_TIME_F, core_options(c)->packet_life_time);
    /* Writing 1 would clear it: a change that was not read yet would be lost. */
    mad_set_field(r.data, 0, IB_SW_STATE_CHANGE_F, 0);
    t->top_in_flight = submit(c, t, &r);
    return t->top_in_flight;
}

static bool send_block(struct shard_core *c, struct switch_table *t, unsigned block, bool write)
{
    struct smp_request r = {.method = write ? MAD_SET : MAD_GET,
                            .attribute = SMP_LFT,
                            .modifier = block,
                            .done = block_answered,
                            .tag = block};
    if (write)
        memcpy(r.data, t->row + block * RT_LFT_BLOCK, RT_LFT_BLOCK);
    if (!submit(c, t, &r))
        return false;
    t->blocks->data[block] = BLOCK_ASKED;
    return true;
}

/* One block, if it needs something. False = the queue takes no more. */
static bool advance_block(struct shard_core *c, struct switch_table *t, unsigned block,
                          bool may_write)
{
    enum block_state state = t->blocks->data[block];
    if (state == BLOCK_ASKED)
        return true;
    if (state == BLOCK_UNKNOWN && t->adopt)
        return send_block(c, t, block, false);
    if (may_write && block_differs(t, block))
        return send_block(c, t, block, true);
    return true;
}

bool switch_table_advance(struct shard_core *c, struct switch_table *t, bool may_write)
{
    if (!t->row || !t->have_info)
        return false;
    if (c->now_ms < t->next_ms) {
        tables_retry_at(c, t->next_ms);
        return true;
    }
    grow(t, MAX(t->row_size, (size_t)t->top_held / RT_LFT_BLOCK * RT_LFT_BLOCK + RT_LFT_BLOCK));
    if (may_write && t->top_held != t->row_top && !t->top_in_flight && !send_top(c, t))
        return true;
    /* The block with our own LID last: it may change the way of our own SMPs. */
    unsigned own = core_own_lid(c) / RT_LFT_BLOCK, count = block_count(t);
    for (unsigned i = 0; i < count && t->in_flight < MAX_IN_FLIGHT; i++) {
        unsigned block = i < own || own >= count ? i : i + 1 < count ? i + 1 : own;
        if (block == own && own < count && t->in_flight && block_differs(t, block))
            break;
        if (!advance_block(c, t, block, may_write))
            return true;
    }
    return t->in_flight > 0 || switch_table_differs(t);
}
