/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of key files: what is made can be read, what is unsafe or wrong is refused by name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sodium.h>

#include "proto/keys.h"

static char *dir;
static char error[256];

static char *path_of(const char *name)
{
    return g_build_filename(dir, name, NULL);
}

static int load(const char *name, enum key_kind kind, struct key_pair **pair)
{
    g_autofree char *path = path_of(name);
    return key_load(path, kind, pair, error, sizeof error);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    g_autofree char *path = path_of(name);
    unlink(path);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    assert_int_equal(chmod(path, mode), 0);
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    g_autofree char *path = path_of(name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void what_is_made_can_be_read(void **state)
{
    static const char *const names[] = {"k-curve", "k-sign", "k-cluster"};
    static const char *const public_files[] = {"k-curve.public", "k-sign.public", NULL};
    for (int kind = KEY_CURVE; kind <= KEY_CLUSTER; kind++) {
        struct key_pair *pair;
        uint8_t public_key[32];
        g_autofree char *secret = g_strconcat(names[kind], ".secret", NULL);
        assert_int_equal(key_generate(dir, names[kind], kind, error, sizeof error), 0);
        assert_int_equal(mode_of(secret), 0400);
        assert_int_equal(load(secret, kind, &pair), 0);
        if (public_files[kind]) {
            g_autofree char *path = path_of(public_files[kind]);
            assert_int_equal(key_public_parse(path, public_key, error, sizeof error), 0);
            assert_memory_equal(public_key, pair->public_key, 32);
        }
        key_free(pair);
    }
    g_autofree char *none = path_of("k-cluster.public");
    assert_int_not_equal(access(none, F_OK), 0);
    key_free(NULL);
}

static void the_pairs_belong_together(void **state)
{
    struct key_pair *curve, *sign;
    uint8_t sealed[4 + crypto_box_SEALBYTES], opened[4], signature[crypto_sign_BYTES];
    assert_int_equal(load("k-curve.secret", KEY_CURVE, &curve), 0);
    assert_int_equal(load("k-sign.secret", KEY_SIGN, &sign), 0);
    crypto_box_seal(sealed, (const uint8_t *)"text", 4, curve->public_key);
    assert_int_equal(
        crypto_box_seal_open(opened, sealed, sizeof sealed, curve->public_key, curve->secret), 0);
    crypto_sign_detached(signature, NULL, (const uint8_t *)"text", 4, sign->secret);
    assert_int_equal(
        crypto_sign_verify_detached(signature, (const uint8_t *)"text", 4, sign->public_key), 0);
    key_free(curve);
    key_free(sign);
}

static void nothing_is_overwritten(void **state)
{
    g_autofree char *path = path_of("k-curve.secret"), *before = NULL, *after = NULL;
    assert_true(g_file_get_contents(path, &before, NULL, NULL));
    assert_int_equal(key_generate(dir, "k-curve", KEY_CURVE, error, sizeof error), EEXIST);
    assert_non_null(strstr(error, "k-curve.secret"));
    assert_true(g_file_get_contents(path, &after, NULL, NULL));
    assert_string_equal(before, after);
    write_file("half.public", "x", 0444); /* then no secret stays behind */
    assert_int_equal(key_generate(dir, "half", KEY_SIGN, error, sizeof error), EEXIST);
    g_autofree char *half = path_of("half.secret");
    assert_int_not_equal(access(half, F_OK), 0);
}

static void odd_names_are_refused(void **state)
{
    static const char *const bad[] = {"", ".hidden", "a/b", "../up"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_int_equal(key_generate(dir, bad[i], KEY_CURVE, error, sizeof error), EINVAL);
    assert_int_equal(key_generate("/nonexistent", "a", KEY_CURVE, error, sizeof error), ENOENT);
}

#define HEX64 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static void a_secret_that_others_can_read_is_refused(void **state)
{
    static const mode_t bad[] = {0644, 0440, 0404, 0600 | 0020, 0700 | 0001};
    struct key_pair *pair;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        write_file("open.secret", "heddle-curve-secret " HEX64 "\n", bad[i]);
        assert_int_equal(load("open.secret", KEY_CURVE, &pair), EACCES);
        assert_null(pair);
        assert_non_null(strstr(error, "chmod 0400"));
        assert_null(strstr(error, "00010203")); /* never the secret itself */
    }
    write_file("open.secret", "heddle-curve-secret " HEX64 "\n", 0600);
    assert_int_equal(load("open.secret", KEY_CURVE, &pair), 0);
    key_free(pair);
}

static void a_secret_of_another_user_is_refused(void **state)
{
    struct key_pair *pair;
    if (geteuid() != 0) {
        print_message("skipped: needs root to give a file away\n");
        return;
    }
    write_file("alien.secret", "heddle-curve-secret " HEX64 "\n", 0400);
    g_autofree char *path = path_of("alien.secret");
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(load("alien.secret", KEY_CURVE, &pair), EACCES);
    assert_non_null(strstr(error, "uid 12345"));
    g_setenv("CREDENTIALS_DIRECTORY", dir, TRUE); /* systemd guards the directory */
    assert_int_equal(chmod(path, 0440), 0);
    assert_int_equal(load("alien.secret", KEY_CURVE, &pair), 0);
    key_free(pair);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(load("alien.secret", KEY_CURVE, &pair), EACCES);
    g_unsetenv("CREDENTIALS_DIRECTORY");
}

static void wrong_content_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "heddle-curve-secret",
        "heddle-curve-secret ",
        "heddle-sign-secret " HEX64 "\n",
        "heddle-curve-public " HEX64 "\n",
        "heddle-curve-secret 0001\n",
        "heddle-curve-secret " HEX64 "00\n",
        "heddle-curve-secret  " HEX64 "\n",
        "heddle-curve-secret " HEX64 "\n\n",
        "heddle-curve-secret " HEX64 "\nmore\n",
        "heddle-curve-secret gg0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n",
        HEX64 "\n",
    };
    struct key_pair *pair;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        write_file("bad.secret", bad[i], 0400);
        assert_int_equal(load("bad.secret", KEY_CURVE, &pair), EBADMSG);
        assert_null(pair);
        assert_non_null(strstr(error, "bad.secret"));
        assert_non_null(strstr(error, "heddle-curve-secret <64 hex digits>"));
    }
    g_autofree char *long_text = g_strnfill(100000, 'a');
    write_file("bad.secret", long_text, 0400);
    assert_int_equal(load("bad.secret", KEY_CURVE, &pair), EBADMSG);
    assert_int_equal(load("absent.secret", KEY_CURVE, &pair), ENOENT);
    assert_int_equal(key_load(dir, KEY_CURVE, &pair, error, sizeof error), EBADMSG);
}

static void public_keys_are_text_or_files(void **state)
{
    uint8_t key[32];
    assert_int_equal(key_public_parse(HEX64, key, error, sizeof error), 0);
    assert_int_equal(key[31], 0x1f);
    assert_int_equal(key_public_parse("0001", key, error, sizeof error), ENOENT);
    assert_non_null(strstr(error, "neither 64 hex digits nor a file"));
    g_autofree char *secret = path_of("k-curve.secret"), *sign = path_of("k-sign.public");
    assert_int_equal(key_public_parse(secret, key, error, sizeof error), EBADMSG);
    assert_int_equal(key_public_parse(sign, key, error, sizeof error), 0);
}

static int remove_entry(const char *name)
{
    g_autofree char *path = path_of(name);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_can_be_read),
        cmocka_unit_test(the_pairs_belong_together),
        cmocka_unit_test(nothing_is_overwritten),
        cmocka_unit_test(odd_names_are_refused),
        cmocka_unit_test(a_secret_that_others_can_read_is_refused),
        cmocka_unit_test(a_secret_of_another_user_is_refused),
        cmocka_unit_test(wrong_content_is_refused),
        cmocka_unit_test(public_keys_are_text_or_files),
    };
    dir = g_dir_make_tmp("heddle-keys-XXXXXX", NULL);
    if (!dir || sodium_init() < 0)
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
    for (const char *name; (name = g_dir_read_name(d));)
        remove_entry(name);
    g_rmdir(dir);
    g_free(dir);
    return rc;
}
