/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes: whether another shard, seen in band from here, is alive. */
#include "shard/probe.h"

#include <errno.h>
#include <infiniband/mad.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/paths.h"
#include "shard/portinfo.h"

#define ASKS 3u
#define ASK_INTERVAL_MS 12u
#define ANSWER_MS 30u /* an SMP that is not answered by then counts as unanswered */
#define LIMIT_MS 150u /* a probe ends by then whatever came */
#define MAX_PROBES 16u
#define STATUS_NO_SM 0x000Cu /* what a Linux host without an SM process answers */

struct probe {
    uint64_t id;
    char coordinator[64];
    Heddle__Probe *asked;
    uint64_t since_ms;
    unsigned sent, answered, unanswered;
    bool leaf_asked, leaf_answered, leaf_done, leaf_down;
    bool no_sm, have_count, moved;
    uint32_t count;
    uint64_t next_ms;
};

struct probes {
    GHashTable *running; /* id -> struct probe */
};

static void probe_free(gpointer p)
{
    struct probe *x = p;
    heddle__probe__free_unpacked(x->asked, NULL);
    g_free(x);
}

struct probes *probes_create(void)
{
    struct probes *p = g_new0(struct probes, 1);
    p->running = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, probe_free);
    return p;
}

void probes_destroy(struct probes *p)
{
    if (!p)
        return;
    g_hash_table_unref(p->running);
    g_free(p);
}

static Heddle__Probe *copy(const Heddle__Probe *p)
{
    size_t len = heddle__probe__get_packed_size(p);
    g_autofree uint8_t *bytes = g_malloc(len);
    heddle__probe__pack(p, bytes);
    return heddle__probe__unpack(NULL, len, bytes);
}

void probes_start(struct shard_core *c, const char *coordinator, const Heddle__Probe *p)
{
    if (g_hash_table_size(c->probes->running) >= MAX_PROBES ||
        g_hash_table_contains(c->probes->running, &p->id))
        return;
    struct probe *x = g_new0(struct probe, 1);
    x->id = p->id;
    x->asked = copy(p);
    x->since_ms = x->next_ms = c->now_ms;
    g_strlcpy(x->coordinator, coordinator, sizeof x->coordinator);
    g_hash_table_insert(c->probes->running, &x->id, x);
}

static void sm_answered(void *user, uint64_t id, const struct smp_request *r, int error,
                        const uint8_t *mad)
{
    struct shard_core *c = user;
    struct probe *x = g_hash_table_lookup(c->probes->running, &id);
    if (!x)
        return;
    if (error == EPROTO && mad_status(mad) == STATUS_NO_SM) {
        x->no_sm = true;
        return;
    }
    if (error) {
        x->unanswered++;
        return;
    }
    uint32_t count = mad_get_field((void *)smp_data_const(mad), 0, IB_SMINFO_ACT_F);
    x->moved |= x->have_count && count != x->count;
    x->have_count = true;
    x->count = count;
    x->answered++;
}

static void leaf_answered(void *user, uint64_t id, const struct smp_request *r, int error,
                          const uint8_t *mad)
{
    struct shard_core *c = user;
    struct probe *x = g_hash_table_lookup(c->probes->running, &id);
    if (!x)
        return;
    x->leaf_done = true;
    x->leaf_answered = error == 0;
    x->leaf_down = error == 0 && portinfo_state(smp_data_const(mad)) == PORT_STATE_DOWN;
}

static void request_init(struct smp_request *r, struct shard_core *c, const struct probe *x,
                         uint16_t attribute, uint32_t modifier)
{
    *r = (struct smp_request){.method = MAD_GET,
                              .attribute = attribute,
                              .modifier = modifier,
                              .timeout_ms = ANSWER_MS,
                              .retries = 0,
                              .urgent = true,
                              .user = c,
                              .tag = x->id};
}

static void ask(struct shard_core *c, struct probe *x)
{
    struct smp_request r;
    uint64_t leaf = x->asked->leaf_guid;
    unsigned port = x->asked->leaf_port;
    if (!x->leaf_asked) {
        request_init(&r, c, x, SMP_PORT_INFO, port);
        r.target = leaf ^ (1ull << 62); /* a window of its own */
        r.done = leaf_answered;
        x->leaf_asked = true;
        x->leaf_done =
            !leaf || !core_address_switch(c, leaf, &r) || smpq_submit(c->smpq, &r, c->now_ms) != 0;
    }
    request_init(&r, c, x, SMP_SM_INFO, 0);
    r.target = x->asked->port_guid ^ (1ull << 62);
    r.done = sm_answered;
    r.directed = true;
    /* Over its leaf by the directed route: it works whatever the tables say. */
    bool way = leaf && paths_to_switch(c, leaf, &r.path) && dr_path_extend(&r.path, port);
    if (!way && x->asked->lid) {
        r.directed = false;
        r.dlid = (uint16_t)x->asked->lid;
        way = true;
    }
    x->sent++;
    x->next_ms = c->now_ms + ASK_INTERVAL_MS;
    if (!way || smpq_submit(c->smpq, &r, c->now_ms) != 0)
        x->unanswered++;
}

static Heddle__ProbeVerdict verdict(const struct probe *x, bool late)
{
    if (x->no_sm || x->leaf_down)
        return HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    if (x->moved)
        return HEDDLE__PROBE_VERDICT__VERDICT_ALIVE;
    if (x->answered >= 2 && x->sent >= ASKS && x->answered + x->unanswered >= ASKS)
        return HEDDLE__PROBE_VERDICT__VERDICT_HUNG;
    if (x->unanswered >= ASKS && x->leaf_done)
        return x->leaf_answered ? HEDDLE__PROBE_VERDICT__VERDICT_SILENT
                                : HEDDLE__PROBE_VERDICT__VERDICT_UNREACHED;
    if (!late)
        return HEDDLE__PROBE_VERDICT__VERDICT_NONE;
    return x->answered ? HEDDLE__PROBE_VERDICT__VERDICT_ALIVE
                       : HEDDLE__PROBE_VERDICT__VERDICT_UNREACHED;
}

static void finish(struct shard_core *c, struct probe *x, Heddle__ProbeVerdict v)
{
    Heddle__ProbeResult *result = g_new0(Heddle__ProbeResult, 1);
    heddle__probe_result__init(result);
    result->id = x->id;
    result->suspect = g_strdup(x->asked->suspect);
    result->boot_id = x->asked->boot_id;
    result->verdict = v;
    core_send(c, SHARD_CONTROL, x->coordinator, HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT, 0, 0, 0,
              (ProtobufCMessage *)result);
}

void probes_pump(struct shard_core *c)
{
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->probes->running);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        struct probe *x = value;
        if (x->sent < ASKS && c->now_ms >= x->next_ms)
            ask(c, x);
        Heddle__ProbeVerdict v = verdict(x, c->now_ms >= x->since_ms + LIMIT_MS);
        if (v == HEDDLE__PROBE_VERDICT__VERDICT_NONE)
            continue;
        finish(c, x, v);
        g_hash_table_iter_remove(&it);
    }
}

uint64_t probes_deadline(const struct shard_core *c)
{
    uint64_t due = UINT64_MAX;
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->probes->running);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        const struct probe *x = value;
        due = MIN(due, x->sent < ASKS ? x->next_ms : x->since_ms + LIMIT_MS);
    }
    return due;
}
