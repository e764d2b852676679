/* SPDX-License-Identifier: BSD-2-Clause */
/* Key files. A secret is a file of mode 0400 (or 0600) owned by the reader: one line of text.
 *
 *   curve:   "heddle-curve-secret <64 hex digits>"     public: "heddle-curve-public <64 hex>"
 *   sign:    "heddle-sign-secret <64 hex digits>" (Ed25519 seed)  public: "heddle-sign-public <..>"
 *   cluster: "heddle-cluster-secret <64 hex digits>"
 *
 * Secrets are held in sodium_malloc memory (locked, guarded), wiped when freed, and never appear
 * in arguments, the environment or a log. */
#ifndef PROTO_KEYS_H
#define PROTO_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum key_kind { KEY_CURVE, KEY_SIGN, KEY_CLUSTER };

struct key_pair { /* lives in sodium_malloc memory */
    uint8_t secret[64]; /* curve and cluster use 32 bytes; sign 64 (libsodium's form) */
    uint8_t public_key[32];
};

/* Reads a secret. Returns 0 and *pair, or errno (EACCES when others may read the file, EBADMSG for
 * content of another kind) with one clear line in error. */
int key_load(const char *path, enum key_kind kind, struct key_pair **pair, char *error,
             size_t error_size);
void key_free(struct key_pair *pair); /* NULL allowed */
/* Text of a public key: 64 hex digits, or a path to a file with a public line. */
int key_public_parse(const char *text, uint8_t public_key[32], char *error, size_t error_size);
/* Makes DIR/NAME.secret (mode 0400) and, unless cluster, DIR/NAME.public. Never overwrites. */
int key_generate(const char *dir, const char *name, enum key_kind kind, char *error,
                 size_t error_size);

#endif
