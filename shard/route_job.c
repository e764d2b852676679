/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing jobs: a graph in, a plan and the rows of some switches out. Pure. */
#include <stdio.h>
#include <string.h>

#include "shard/core.h"

void route_job_free(struct route_job *j)
{
    if (j == NULL)
        return;
    rt_graph_unref(j->graph);
    if (j->root_guids != NULL)
        g_array_unref(j->root_guids);
    if (j->switches != NULL)
        g_array_unref(j->switches);
    g_free(j);
}

void route_result_free(struct route_result *r)
{
    if (r == NULL)
        return;
    rt_plan_destroy(r->plan);
    if (r->switches != NULL)
        g_array_unref(r->switches);
    if (r->rows != NULL) {
        for (guint i = 0; i < r->rows->len; i++)
            g_free(r->rows->pdata[i]);
        g_ptr_array_free(r->rows, TRUE);
    }
    g_free(r);
}

static size_t row_size_for(uint16_t max_lid)
{
    return ((size_t)max_lid / RT_LFT_BLOCK + 1) * RT_LFT_BLOCK;
}

/* A switch that the graph does not have gets a row without paths. */
static uint8_t *row_of(const struct rt_plan *plan, uint64_t guid, size_t size)
{
    uint8_t *row = g_malloc(size);
    uint32_t sw = rt_find_switch(rt_plan_graph(plan), guid);
    if (sw == RT_NONE)
        memset(row, RT_NO_PATH, size);
    else
        rt_plan_row(plan, sw, row, size);
    return row;
}

struct route_result *route_job_run(const struct route_job *j)
{
    struct route_result *r = g_new0(struct route_result, 1);
    r->ticket = j->ticket;
    memcpy(r->digest, j->digest, sizeof(r->digest));
    r->switches = j->switches != NULL ? g_array_ref(j->switches)
                                      : g_array_new(FALSE, FALSE, sizeof(uint64_t));
    r->rows = g_ptr_array_new();
    r->row_size = row_size_for(j->graph->max_lid);

    const struct rt_engine *engine = rt_engine_find(j->engine);
    if (engine == NULL) {
        snprintf(r->error, sizeof(r->error), "no routing engine is named %s", j->engine);
        return r;
    }
    struct rt_options options = {.max_vls = 1};
    if (j->root_guids != NULL && j->root_guids->len > 0) {
        options.root_guids = (const uint64_t *)(const void *)j->root_guids->data;
        options.root_count = j->root_guids->len;
    }
    int rc = engine->prepare(j->graph, &options, &r->plan, r->error, sizeof(r->error));
    if (rc != 0) {
        r->plan = NULL;
        if (r->error[0] == '\0')
            snprintf(r->error, sizeof(r->error), "%s cannot serve this fabric: %s", j->engine,
                     strerror(rc));
        return r;
    }
    if (rt_plan_properties(r->plan).vls != 1) { /* shards program neither SLs nor SL2VL tables */
        snprintf(r->error, sizeof(r->error),
                 "%s needs virtual lanes or may have credit loops; use ftree, updn or nue",
                 j->engine);
        rt_plan_destroy(r->plan);
        r->plan = NULL;
        return r;
    }
    for (guint i = 0; i < r->switches->len; i++)
        g_ptr_array_add(r->rows,
                        row_of(r->plan, g_array_index(r->switches, uint64_t, i), r->row_size));
    return r;
}
