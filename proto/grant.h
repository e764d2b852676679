/* SPDX-License-Identifier: BSD-2-Clause */
/* Grants: signed statements of who owns a domain, with the domain's key sealed to the owner. Pure
 * (libsodium's arithmetic only; the caller has called sodium_init).
 *
 * K(incarnation, domain, epoch) = BLAKE2b-256 keyed with the cluster secret over the three numbers
 * in network order (4, 8 bytes ...), with a context string. Only coordinators hold the secret. */
#ifndef PROTO_GRANT_H
#define PROTO_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/envelope.h"

#define GRANT_KEY_BYTES 32u

void grant_domain_key(const uint8_t cluster_secret[32], uint64_t incarnation, uint32_t domain,
                      uint64_t epoch, uint8_t key[GRANT_KEY_BYTES]);
/* Signs; owner_public_key is the owner's CURVE (X25519) key. Returns a message for
 * heddle__signed_grant__free_unpacked. */
Heddle__SignedGrant *grant_create(const uint8_t sign_secret_key[64], const char *cluster,
                                  uint64_t incarnation, uint32_t domain, uint64_t epoch,
                                  const char *owner, uint64_t owner_boot_id,
                                  const uint8_t owner_public_key[32],
                                  const uint8_t domain_key[GRANT_KEY_BYTES]);
/* Verifies signature and cluster; returns the statement (heddle__grant__free_unpacked) or NULL. */
Heddle__Grant *grant_verify(const Heddle__SignedGrant *s, const uint8_t sign_public_key[32],
                            const char *cluster);
/* Opens the sealed key with the owner's CURVE key pair. */
bool grant_open_key(const Heddle__Grant *g, const uint8_t public_key[32],
                    const uint8_t secret_key[32], uint8_t key[GRANT_KEY_BYTES]);

#endif
