/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold after each step (invariants 1 to 3 of the design), and in the end. */
#include "tests/world/world.h"

#include <string.h>

/* -- 1: owners and epochs -------------------------------------------------------------------- */

static const Heddle__Domain *domain_of(const Heddle__Assignment *a, uint32_t id)
{
    for (size_t i = 0; a != NULL && i < a->n_domains; i++)
        if (a->domains[i]->id == id)
            return a->domains[i];
    return NULL;
}

static void check_owner(struct world *w, const Heddle__Domain *d)
{
    const Heddle__Domain *old = domain_of(w->ledger.assignment, d->id);
    if (old != NULL && d->epoch < old->epoch)
        world_fail(w, "domain %u goes back from epoch %lu to %lu", d->id, old->epoch, d->epoch);
    if (d->owner[0] == '\0')
        return;
    char *key = g_strdup_printf("%u/%lu", d->id, d->epoch);
    char *owner = g_strdup_printf("%s/%lu", d->owner, d->owner_boot_id);
    const char *known = g_hash_table_lookup(w->ledger.owners, key);
    if (known != NULL && strcmp(known, owner) != 0)
        world_fail(w, "domain/epoch %s has two owners: %s, %s", key, known, owner);
    g_hash_table_replace(w->ledger.owners, key, owner);
}

void check_ledger(struct world *w, const Heddle__Assignment *next)
{
    g_autoptr(GHashTable) switches = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autofree bool *lids = g_new0(bool, 0x10000);
    for (size_t i = 0; i < next->n_domains; i++) {
        const Heddle__Domain *d = next->domains[i];
        check_owner(w, d);
        for (size_t j = 0; j < d->n_switches; j++)
            if (!g_hash_table_add(switches, &d->switches[j]))
                world_fail(w, "switch %016lx is in two domains", d->switches[j]);
        for (size_t j = 0; j < d->n_pools; j++) {
            for (uint32_t k = 0; k < d->pools[j]->count; k++) {
                uint32_t lid = d->pools[j]->first + k;
                if (lid >= 0xC000 || lids[lid])
                    world_fail(w, "lid %u is in two pools or none", lid);
                lids[lid & 0xffff] = true;
            }
        }
    }
    for (size_t i = 0; w->ledger.assignment != NULL && i < w->ledger.assignment->n_domains; i++)
        if (domain_of(next, w->ledger.assignment->domains[i]->id) == NULL)
            world_fail(w, "domain %u is lost", w->ledger.assignment->domains[i]->id);
}

/* -- 2: nobody acts for the past ------------------------------------------------------------- */

/* An owner that is cut off from its coordinator cannot know that it was replaced. Until switches
 * refuse it by M_Key it may write on until three quarters of isolation_grace (2 s) have passed
 * since a heartbeat of its was acknowledged, which is before its successor acts. */
#define UNFENCED_MS 1500u

static uint64_t *number_of(GHashTable *table, uint32_t id)
{
    uint64_t *n = g_hash_table_lookup(table, GUINT_TO_POINTER(id));
    if (n == NULL) {
        n = g_new0(uint64_t, 1);
        g_hash_table_insert(table, GUINT_TO_POINTER(id), n);
    }
    return n;
}

void check_set(struct world *w, struct process *p, const struct shard_action *a)
{
    if (mad_method(a->mad) != MAD_SET || (mad_class(a->mad) & 0x7fu) != SMP_CLASS_LID)
        return;
    uint64_t target = sim_fabric_target_switch(w->sim, p->node, a->mad, &a->address);
    uint64_t epoch = 0;
    w->sets++;
    if (target == 0)
        return;
    uint32_t domain = view_domain_of_switch(shard_core_view(p->shard), target);
    if (domain == VIEW_NO_DOMAIN || !shard_core_owns(p->shard, domain, &epoch)) {
        world_fail(w, "%s sends Set(%s) to %016lx of domain %d, which it does not own", p->name,
                   smp_attribute_name(mad_attribute(a->mad)), target, (int)domain);
        return;
    }
    uint64_t *acted = number_of(w->acted, domain), *since = number_of(w->acted_since, domain);
    if (epoch > *acted)
        *since = w->now_ms;
    if (epoch < *acted && w->now_ms < *since + UNFENCED_MS)
        w->unfenced_sets++;
    else if (epoch < *acted)
        world_fail(w, "%s sends Set(%s) to %016lx for epoch %lu of domain %u, %lu acts already",
                   p->name, smp_attribute_name(mad_attribute(a->mad)), target, epoch, domain,
                   *acted);
    *acted = MAX(*acted, epoch);
}

void check_shard(struct world *w, struct process *p)
{
    if (p->shard == NULL)
        return;
    const struct view *v = shard_core_view(p->shard);
    for (size_t i = 0; w->ledger.assignment != NULL && i < w->ledger.assignment->n_domains; i++) {
        uint32_t id = w->ledger.assignment->domains[i]->id;
        const struct view_domain *d = view_domain(v, id);
        if (d == NULL)
            continue;
        uint64_t *last = number_of(p->epochs, id);
        if (d->epoch < *last)
            world_fail(w, "%s applied epoch %lu of domain %u after %lu", p->name, d->epoch, id,
                       *last);
        *last = d->epoch;
    }
}

/* -- the end --------------------------------------------------------------------------------- */

static bool owner_acts(struct world *w, const Heddle__Domain *d, FILE *report)
{
    for (int i = 1; i <= w->shards; i++) {
        const struct process *p = &w->process[i];
        uint64_t epoch = 0;
        if (strcmp(p->name, d->owner) != 0)
            continue;
        if (p->shard != NULL && shard_core_owns(p->shard, d->id, &epoch) && epoch == d->epoch)
            return true;
    }
    if (report != NULL)
        fprintf(report, "  domain %u epoch %lu: owner \"%s\" does not act\n", d->id, d->epoch,
                d->owner);
    return false;
}

/* Every shard has what the owner has. */
static bool views_agree(struct world *w, const Heddle__Domain *d, FILE *report)
{
    uint64_t epoch = 0, seq = 0;
    bool good = true;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 1; i <= w->shards; i++) {
            const struct process *p = &w->process[i];
            const struct view_domain *v =
                p->shard != NULL ? view_domain(shard_core_view(p->shard), d->id) : NULL;
            if (v == NULL)
                continue;
            if (pass == 0 && strcmp(p->name, d->owner) == 0) {
                epoch = v->epoch;
                seq = v->seq;
            }
            if (pass == 0 || (v->epoch == epoch && v->seq == seq))
                continue;
            good = false;
            if (report != NULL)
                fprintf(report, "  domain %u: %s is at %lu/%lu, the owner at %lu/%lu\n", d->id,
                        p->name, v->epoch, v->seq, epoch, seq);
        }
    }
    return good;
}

static bool all_assigned(struct world *w, FILE *report)
{
    bool good = true;
    for (uint32_t i = 0; i < w->fabric->node_count; i++) {
        const struct fabric_node *n = &w->fabric->nodes[i];
        bool found = n->type != FABRIC_SWITCH;
        for (size_t j = 0; j < w->ledger.assignment->n_domains && !found; j++) {
            const Heddle__Domain *d = w->ledger.assignment->domains[j];
            for (size_t k = 0; k < d->n_switches; k++)
                found |= d->switches[k] == n->guid;
        }
        if (!found && report != NULL)
            fprintf(report, "  %s is in no domain\n", n->desc);
        good &= found;
    }
    return good;
}

/* For the report only: who owns what and whether it writes. */
static void say_owners(struct world *w, const Heddle__Assignment *a, FILE *report)
{
    for (size_t i = 0; report != NULL && i < a->n_domains; i++) {
        const Heddle__Domain *d = a->domains[i];
        for (int j = 1; j <= w->shards; j++) {
            const struct process *p = &w->process[j];
            if (p->shard == NULL || strcmp(p->name, d->owner) != 0)
                continue;
            const struct view_domain *v = view_domain(shard_core_view(p->shard), d->id);
            fprintf(report, "  domain %u: epoch %lu of %s%s, phase %d, intent %d, programmed %d\n",
                    d->id, d->epoch, p->name, shard_core_frozen(p->shard) ? " (frozen)" : "",
                    v != NULL ? (int)v->phase : -1, v != NULL && v->has_intent,
                    v != NULL && v->has_programmed);
        }
    }
}

bool world_converged(struct world *w, FILE *report)
{
    const Heddle__Assignment *a = w->ledger.assignment;
    if (a == NULL || a->n_domains < 2) {
        if (report != NULL)
            fprintf(report, "  there are no domains\n");
        return false;
    }
    say_owners(w, a, report);
    bool good = all_assigned(w, report);
    for (size_t i = 0; i < a->n_domains; i++) {
        good &= owner_acts(w, a->domains[i], report);
        good &= views_agree(w, a->domains[i], report);
    }
    return sim_fabric_whole(w->sim, report) && good;
}
