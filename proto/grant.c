/* SPDX-License-Identifier: BSD-2-Clause */
/* Grants: domain keys, signing, verification, opening. */
#include "proto/grant.h"

#include <string.h>

#include <glib.h>
#include <sodium.h>

#include "proto/check.h"

/* Each use of a key has a context of its own, so that no value serves in another's place. */
static const char key_context[] = "heddle domain key 1";
static const char sign_context[] = "heddle grant 1";

#define SEALED_BYTES (GRANT_KEY_BYTES + crypto_box_SEALBYTES)

static void hash_number(crypto_generichash_state *s, uint64_t value, size_t bytes)
{
    uint8_t b[8];
    for (size_t i = 0; i < bytes; i++)
        b[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    crypto_generichash_update(s, b, bytes);
}

void grant_domain_key(const uint8_t cluster_secret[32], uint64_t incarnation, uint32_t domain,
                      uint64_t epoch, uint8_t key[GRANT_KEY_BYTES])
{
    crypto_generichash_state s;
    crypto_generichash_init(&s, cluster_secret, 32, GRANT_KEY_BYTES);
    crypto_generichash_update(&s, (const uint8_t *)key_context, sizeof key_context);
    hash_number(&s, incarnation, 8);
    hash_number(&s, domain, 4);
    hash_number(&s, epoch, 8);
    crypto_generichash_final(&s, key, GRANT_KEY_BYTES);
    sodium_memzero(&s, sizeof s);
}

static void sign_state(crypto_sign_state *s, const ProtobufCBinaryData *grant)
{
    crypto_sign_init(s);
    crypto_sign_update(s, (const uint8_t *)sign_context, sizeof sign_context);
    crypto_sign_update(s, grant->data, grant->len);
}

/* protobuf-c frees with free(), which is what g_malloc pairs with (GLib 2.46 and newer). */
static void pack(const Heddle__Grant *g, ProtobufCBinaryData *out)
{
    out->len = heddle__grant__get_packed_size(g);
    out->data = g_malloc(out->len);
    heddle__grant__pack(g, out->data);
}

Heddle__SignedGrant *grant_create(const uint8_t sign_secret_key[64], const char *cluster,
                                  uint64_t incarnation, uint32_t domain, uint64_t epoch,
                                  const char *owner, uint64_t owner_boot_id,
                                  const uint8_t owner_public_key[32],
                                  const uint8_t domain_key[GRANT_KEY_BYTES])
{
    uint8_t sealed[SEALED_BYTES];
    if (crypto_box_seal(sealed, domain_key, GRANT_KEY_BYTES, owner_public_key) != 0)
        return NULL; /* owner_public_key is a point of small order */

    Heddle__Grant g = HEDDLE__GRANT__INIT;
    g.cluster = (char *)cluster;
    g.incarnation = incarnation;
    g.domain = domain;
    g.epoch = epoch;
    g.owner = (char *)owner;
    g.owner_boot_id = owner_boot_id;
    g.sealed_key.data = sealed;
    g.sealed_key.len = sizeof sealed;

    Heddle__SignedGrant *s = g_malloc(sizeof *s);
    heddle__signed_grant__init(s);
    pack(&g, &s->grant);
    s->signature.len = crypto_sign_BYTES;
    s->signature.data = g_malloc(crypto_sign_BYTES);
    crypto_sign_state state;
    sign_state(&state, &s->grant);
    crypto_sign_final_create(&state, s->signature.data, NULL, sign_secret_key);
    return s;
}

static bool signature_holds(const Heddle__SignedGrant *s, const uint8_t sign_public_key[32])
{
    if (s->signature.len != crypto_sign_BYTES || s->grant.len == 0)
        return false;
    crypto_sign_state state;
    sign_state(&state, &s->grant);
    return crypto_sign_final_verify(&state, s->signature.data, sign_public_key) == 0;
}

Heddle__Grant *grant_verify(const Heddle__SignedGrant *s, const uint8_t sign_public_key[32],
                            const char *cluster)
{
    ProtobufCMessage *m;
    char error[128];
    if (!signature_holds(s, sign_public_key))
        return NULL;
    if (check_unpack(&heddle__grant__descriptor, s->grant.data, s->grant.len, &m, error,
                     sizeof error) != 0)
        return NULL;
    Heddle__Grant *g = (Heddle__Grant *)m;
    if (strcmp(g->cluster, cluster) == 0)
        return g;
    heddle__grant__free_unpacked(g, NULL);
    return NULL;
}

bool grant_open_key(const Heddle__Grant *g, const uint8_t public_key[32],
                    const uint8_t secret_key[32], uint8_t key[GRANT_KEY_BYTES])
{
    return g->sealed_key.len == SEALED_BYTES &&
           crypto_box_seal_open(key, g->sealed_key.data, g->sealed_key.len, public_key,
                                secret_key) == 0;
}
