/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of grants: who can make one, whom it is for, which key it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>
#include <sodium.h>

#include "proto/grant.h"

struct pair {
    uint8_t public_key[32], secret_key[64];
};

static struct pair signer, other_signer, owner, other;
static const uint8_t cluster_secret[32] = {1, 2, 3};

static Heddle__SignedGrant *make(uint8_t key[GRANT_KEY_BYTES])
{
    grant_domain_key(cluster_secret, 5, 6, 7, key);
    Heddle__SignedGrant *s =
        grant_create(signer.secret_key, "c1", 5, 6, 7, "shard-1", 99, owner.public_key, key);
    assert_non_null(s);
    return s;
}

static void the_owner_opens_what_was_granted(void **state)
{
    uint8_t key[GRANT_KEY_BYTES], opened[GRANT_KEY_BYTES];
    Heddle__SignedGrant *s = make(key);
    Heddle__Grant *g = grant_verify(s, signer.public_key, "c1");
    assert_non_null(g);
    assert_string_equal(g->owner, "shard-1");
    assert_string_equal(g->cluster, "c1");
    assert_true(g->incarnation == 5 && g->domain == 6 && g->epoch == 7 && g->owner_boot_id == 99);
    assert_true(grant_open_key(g, owner.public_key, owner.secret_key, opened));
    assert_memory_equal(opened, key, sizeof key);
    heddle__grant__free_unpacked(g, NULL);
    heddle__signed_grant__free_unpacked(s, NULL);
}

static void another_key_opens_nothing(void **state)
{
    uint8_t key[GRANT_KEY_BYTES], opened[GRANT_KEY_BYTES];
    Heddle__SignedGrant *s = make(key);
    Heddle__Grant *g = grant_verify(s, signer.public_key, "c1");
    assert_non_null(g);
    assert_false(grant_open_key(g, other.public_key, other.secret_key, opened));
    g->sealed_key.data[0] ^= 1;
    assert_false(grant_open_key(g, owner.public_key, owner.secret_key, opened));
    g->sealed_key.data[0] ^= 1;
    g->sealed_key.len--;
    assert_false(grant_open_key(g, owner.public_key, owner.secret_key, opened));
    heddle__grant__free_unpacked(g, NULL);
    heddle__signed_grant__free_unpacked(s, NULL);
}

static void the_sealed_key_travels_in_no_clear_form(void **state)
{
    uint8_t key[GRANT_KEY_BYTES];
    Heddle__SignedGrant *s = make(key);
    assert_null(memmem(s->grant.data, s->grant.len, key, 8));
    heddle__signed_grant__free_unpacked(s, NULL);
}

static void forged_and_foreign_grants_are_refused(void **state)
{
    uint8_t key[GRANT_KEY_BYTES];
    Heddle__SignedGrant *s = make(key);
    assert_null(grant_verify(s, other_signer.public_key, "c1"));
    assert_null(grant_verify(s, signer.public_key, "c2"));
    assert_null(grant_verify(s, signer.public_key, ""));
    for (size_t i = 0; i < s->grant.len; i++) {
        s->grant.data[i] ^= 1;
        assert_null(grant_verify(s, signer.public_key, "c1"));
        s->grant.data[i] ^= 1;
    }
    for (size_t i = 0; i < s->signature.len; i++) {
        s->signature.data[i] ^= 1;
        assert_null(grant_verify(s, signer.public_key, "c1"));
        s->signature.data[i] ^= 1;
    }
    size_t whole = s->signature.len;
    s->signature.len = 0;
    assert_null(grant_verify(s, signer.public_key, "c1"));
    s->signature.len = whole;
    Heddle__Grant *g = grant_verify(s, signer.public_key, "c1");
    assert_non_null(g);
    heddle__grant__free_unpacked(g, NULL);
    heddle__signed_grant__free_unpacked(s, NULL);
}

/* A signature over the same bytes that was not made for a grant does not serve as one. */
static void a_signature_for_another_purpose_is_refused(void **state)
{
    uint8_t key[GRANT_KEY_BYTES];
    Heddle__SignedGrant *s = make(key);
    crypto_sign_detached(s->signature.data, NULL, s->grant.data, s->grant.len, signer.secret_key);
    assert_null(grant_verify(s, signer.public_key, "c1"));
    heddle__signed_grant__free_unpacked(s, NULL);
}

static void a_weak_owner_key_gets_no_grant(void **state)
{
    static const uint8_t zero[32];
    uint8_t key[GRANT_KEY_BYTES] = {0};
    assert_null(grant_create(signer.secret_key, "c1", 1, 1, 1, "s", 1, zero, key));
}

static void the_domain_key_depends_on_each_input(void **state)
{
    static const struct {
        uint8_t secret[32];
        uint64_t incarnation;
        uint32_t domain;
        uint64_t epoch;
    } inputs[] = {
        {{1}, 1, 2, 3}, {{2}, 1, 2, 3},          {{1}, 2, 2, 3},       {{1}, 1, 3, 3},
        {{1}, 1, 2, 4}, {{1}, 2, 1, 3},          {{1}, 1, 3, 2},       {{1}, 1ull << 32, 2, 3},
        {{1}, 1, 0, 3}, {{1}, 1, 2, 3ull << 32}, {{1}, 0, 1 << 24, 3}, {{1}, 1, 2, 0},
    };
    uint8_t keys[G_N_ELEMENTS(inputs)][GRANT_KEY_BYTES], again[GRANT_KEY_BYTES];
    for (size_t i = 0; i < G_N_ELEMENTS(inputs); i++) {
        grant_domain_key(inputs[i].secret, inputs[i].incarnation, inputs[i].domain, inputs[i].epoch,
                         keys[i]);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(keys[i], keys[k], GRANT_KEY_BYTES);
    }
    grant_domain_key(inputs[0].secret, 1, 2, 3, again);
    assert_memory_equal(again, keys[0], GRANT_KEY_BYTES);
}

/* The construction of DESIGN.md, put together by hand. */
static void the_domain_key_is_keyed_blake2b_of_the_numbers(void **state)
{
    static const char context[] = "heddle domain key 1";
    uint8_t key[GRANT_KEY_BYTES], want[32], input[sizeof context + 20] = {0};
    memcpy(input, context, sizeof context);
    input[sizeof context + 7] = 5;
    input[sizeof context + 11] = 6;
    input[sizeof context + 19] = 7;
    crypto_generichash(want, sizeof want, input, sizeof input, cluster_secret, 32);
    grant_domain_key(cluster_secret, 5, 6, 7, key);
    assert_memory_equal(key, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_opens_what_was_granted),
        cmocka_unit_test(another_key_opens_nothing),
        cmocka_unit_test(the_sealed_key_travels_in_no_clear_form),
        cmocka_unit_test(forged_and_foreign_grants_are_refused),
        cmocka_unit_test(a_signature_for_another_purpose_is_refused),
        cmocka_unit_test(a_weak_owner_key_gets_no_grant),
        cmocka_unit_test(the_domain_key_depends_on_each_input),
        cmocka_unit_test(the_domain_key_is_keyed_blake2b_of_the_numbers),
    };
    if (sodium_init() < 0)
        return 1;
    crypto_sign_keypair(signer.public_key, signer.secret_key);
    crypto_sign_keypair(other_signer.public_key, other_signer.secret_key);
    crypto_box_keypair(owner.public_key, owner.secret_key);
    crypto_box_keypair(other.public_key, other.secret_key);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
