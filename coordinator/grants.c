/* SPDX-License-Identifier: BSD-2-Clause */
/* Grants: signed for what the ledger holds, repeated until the owner says that it has them. */
#include <string.h>

#include "coordinator/internal.h"
#include "proto/grant.h"

struct coord_domain_run *coord_domain_run(const struct coord_core *c, uint32_t id)
{
    struct coord_domain_run *r = g_hash_table_lookup(c->domain_runs, GUINT_TO_POINTER(id));
    if (r == NULL) {
        r = g_new0(struct coord_domain_run, 1);
        g_hash_table_insert(c->domain_runs, GUINT_TO_POINTER(id), r);
    }
    return r;
}

void coord_grants_send(struct coord_core *c, const Heddle__Domain *d)
{
    struct coord_domain_run *r = coord_domain_run(c, d->id);
    const Heddle__Member *owner = domain_live_owner(c->durable, d);
    if (d->epoch == 0 || owner == NULL || owner->public_key.len != 32)
        return;
    uint8_t key[GRANT_KEY_BYTES];
    grant_domain_key(c->secrets->cluster_secret, c->config.incarnation, d->id, d->epoch, key);
    Heddle__SignedGrant *g =
        grant_create(c->secrets->sign_secret_key, c->config.cluster, c->config.incarnation, d->id,
                     d->epoch, d->owner, d->owner_boot_id, owner->public_key.data, key);
    explicit_bzero(key, sizeof key);
    r->next_grant_ms = c->now_ms + COORD_RESEND_MS;
    if (g == NULL) {
        coord_log(c, HL_ERROR, "grant_failed",
                  "domain=%u owner=%s msg=\"check the public key of this shard\"", d->id, d->owner);
        return;
    }
    coord_send(c, d->owner, HEDDLE__MESSAGE_TYPE__MSG_GRANT, &g->base, d->id, d->epoch,
               c->revision);
}

/* Whether this grant waits for a word of its owner, who can be reached as far as we know. */
static bool waits(const struct coord_core *c, const Heddle__Domain *d)
{
    if (d->epoch == 0 || coord_domain_run(c, d->id)->confirmed_epoch == d->epoch ||
        domain_live_owner(c->durable, d) == NULL)
        return false;
    const struct coord_peer *p = coord_peer_find(c, d->owner);
    /* p->last: its first heartbeat tells which grants it has, also after our own restart */
    return p != NULL && p->last != NULL && p->suspect_since_ms == 0 && !p->want_welcome;
}

void coord_grants_tick(struct coord_core *c)
{
    for (size_t i = 0; i < c->durable->n_domains; i++) {
        const Heddle__Domain *d = c->durable->domains[i];
        if (waits(c, d) && c->now_ms >= coord_domain_run(c, d->id)->next_grant_ms)
            coord_grants_send(c, d);
    }
}

uint64_t coord_grants_deadline(const struct coord_core *c)
{
    uint64_t at = UINT64_MAX;
    for (size_t i = 0; i < c->durable->n_domains; i++)
        if (waits(c, c->durable->domains[i]))
            at = MIN(at, coord_domain_run(c, c->durable->domains[i]->id)->next_grant_ms);
    return at;
}

bool coord_grants_confirmed(const struct coord_core *c)
{
    for (size_t i = 0; i < c->durable->n_domains; i++) {
        const Heddle__Domain *d = c->durable->domains[i];
        if (d->epoch && coord_domain_run(c, d->id)->confirmed_epoch != d->epoch)
            return false;
    }
    return true;
}
