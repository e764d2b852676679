/* SPDX-License-Identifier: BSD-2-Clause */
/* Key files: reading, making. */
#include "proto/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>
#include <sodium.h>

#define KEY_BYTES 32u
#define KEY_HEX (2 * KEY_BYTES)
#define LINE_BYTES 128u /* longest prefix, a space, the digits, a newline, and room */

struct kind_words {
    const char *secret, *public_word; /* public_word NULL: the kind has none */
};

static const struct kind_words words[] = {
    [KEY_CURVE] = {"heddle-curve-secret", "heddle-curve-public"},
    [KEY_SIGN] = {"heddle-sign-secret", "heddle-sign-public"},
    [KEY_CLUSTER] = {"heddle-cluster-secret", NULL},
};

static int fail(int code, char *error, size_t error_size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int fail(int code, char *error, size_t error_size, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(error, error_size, format, ap);
    va_end(ap);
    return code;
}

/* systemd hands a credential to a service with an access list, whose mask shows as group bits,
 * under root's ownership, in a directory that only the service can enter. */
static bool is_credential(const char *path)
{
    const char *dir = getenv("CREDENTIALS_DIRECTORY");
    return dir && *dir == '/' && g_str_has_prefix(path, dir) && path[strlen(dir)] == '/' &&
           !strstr(path, "/../");
}

static int check_access(int fd, const char *path, char *error, size_t error_size)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(errno, error, error_size, "key file %s: %s", path, g_strerror(errno));
    if (!S_ISREG(st.st_mode))
        return fail(EBADMSG, error, error_size, "key file %s: not a regular file", path);
    mode_t open_to = st.st_mode & (is_credential(path) ? 0037 : 0077);
    if (open_to)
        return fail(EACCES, error, error_size,
                    "key file %s: mode %04o opens a secret to others; run chmod 0400 on it", path,
                    st.st_mode & 07777);
    if (st.st_uid != geteuid() && !is_credential(path))
        return fail(EACCES, error, error_size,
                    "key file %s: owned by uid %u, but it must belong to uid %u, which reads it",
                    path, (unsigned)st.st_uid, (unsigned)geteuid());
    return 0;
}

/* Reads the whole file, which must be shorter than LINE_BYTES, as text into line. */
static int read_line(int fd, const char *path, char *line, char *error, size_t error_size)
{
    size_t have = 0;
    while (have < LINE_BYTES) {
        ssize_t n = read(fd, line + have, LINE_BYTES - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(errno, error, error_size, "key file %s: %s", path, g_strerror(errno));
        if (n == 0)
            break;
        have += (size_t)n;
    }
    if (have == LINE_BYTES)
        return fail(EBADMSG, error, error_size, "key file %s: too long, one line is expected",
                    path);
    if (have && line[have - 1] == '\n')
        have--;
    line[have] = 0;
    return 0;
}

/* "word <64 hex digits>" and nothing else. */
static bool parse_line(const char *line, const char *word, uint8_t out[KEY_BYTES])
{
    size_t n = strlen(word), got = 0;
    const char *end = NULL;
    if (strncmp(line, word, n) != 0 || line[n] != ' ' || strlen(line + n + 1) != KEY_HEX)
        return false;
    return sodium_hex2bin(out, KEY_BYTES, line + n + 1, KEY_HEX, NULL, &got, &end) == 0 &&
           got == KEY_BYTES && *end == 0;
}

/* From the 32 bytes of the file, at the start of pair->secret, to the whole pair. */
static int derive(struct key_pair *pair, enum key_kind kind)
{
    if (kind == KEY_CURVE)
        return crypto_scalarmult_base(pair->public_key, pair->secret);
    if (kind == KEY_SIGN) {
        uint8_t seed[KEY_BYTES];
        memcpy(seed, pair->secret, sizeof seed);
        int rc = crypto_sign_seed_keypair(pair->public_key, pair->secret, seed);
        sodium_memzero(seed, sizeof seed);
        return rc;
    }
    return 0;
}

static int load(int fd, const char *path, enum key_kind kind, struct key_pair *pair, char *line,
                char *error, size_t error_size)
{
    int rc = check_access(fd, path, error, error_size);
    if (!rc)
        rc = read_line(fd, path, line, error, error_size);
    if (rc)
        return rc;
    if (!parse_line(line, words[kind].secret, pair->secret))
        return fail(EBADMSG, error, error_size,
                    "key file %s: expected one line \"%s <64 hex digits>\"", path,
                    words[kind].secret);
    if (derive(pair, kind) != 0)
        return fail(EBADMSG, error, error_size, "key file %s: not a usable key", path);
    return 0;
}

int key_load(const char *path, enum key_kind kind, struct key_pair **pair, char *error,
             size_t error_size)
{
    *pair = NULL;
    if (sodium_init() < 0)
        return fail(EIO, error, error_size, "libsodium does not start");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail(errno, error, error_size, "key file %s: %s", path, g_strerror(errno));
    struct key_pair *p = sodium_malloc(sizeof *p);
    char *line = sodium_malloc(LINE_BYTES);
    int rc = ENOMEM;
    if (!p || !line) {
        fail(rc, error, error_size, "key file %s: no lockable memory left", path);
    } else {
        sodium_memzero(p, sizeof *p);
        rc = load(fd, path, kind, p, line, error, error_size);
    }
    close(fd);
    sodium_free(line);
    if (rc)
        sodium_free(p);
    else
        *pair = p;
    return rc;
}

void key_free(struct key_pair *pair)
{
    sodium_free(pair);
}

static int parse_public_file(const char *path, uint8_t public_key[32], char *error,
                             size_t error_size)
{
    char line[LINE_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail(errno, error, error_size, "public key %s: neither 64 hex digits nor a file: %s",
                    path, g_strerror(errno));
    int rc = read_line(fd, path, line, error, error_size);
    close(fd);
    if (!rc && !parse_line(line, words[KEY_CURVE].public_word, public_key) &&
        !parse_line(line, words[KEY_SIGN].public_word, public_key))
        rc = fail(EBADMSG, error, error_size,
                  "public key %s: expected one line \"%s <64 hex digits>\" or \"%s <..>\"", path,
                  words[KEY_CURVE].public_word, words[KEY_SIGN].public_word);
    sodium_memzero(line, sizeof line); /* somebody may have named a secret by mistake */
    return rc;
}

int key_public_parse(const char *text, uint8_t public_key[32], char *error, size_t error_size)
{
    size_t got = 0;
    if (strlen(text) == KEY_HEX && strspn(text, "0123456789abcdefABCDEF") == KEY_HEX)
        return sodium_hex2bin(public_key, KEY_BYTES, text, KEY_HEX, NULL, &got, NULL) == 0
                   ? 0
                   : fail(EBADMSG, error, error_size, "public key: not 64 hex digits");
    return parse_public_file(text, public_key, error, error_size);
}

/* Makes a new file, durable before it returns; removes it again when that fails. */
static int write_new(const char *path, mode_t mode, const char *text, char *error,
                     size_t error_size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return fail(errno, error, error_size, "%s: %s", path, g_strerror(errno));
    size_t len = strlen(text), done = 0;
    int rc = 0;
    while (!rc && done < len) {
        ssize_t n = write(fd, text + done, len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            rc = errno;
    }
    /* the umask may have taken bits away, never added any */
    if (!rc && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
        rc = errno;
    close(fd);
    if (!rc)
        return 0;
    unlink(path);
    return fail(rc, error, error_size, "%s: %s", path, g_strerror(rc));
}

static void format_line(char line[LINE_BYTES], const char *word, const uint8_t bytes[KEY_BYTES])
{
    size_t n = (size_t)snprintf(line, LINE_BYTES, "%s ", word);
    sodium_bin2hex(line + n, KEY_HEX + 1, bytes, KEY_BYTES);
    g_strlcat(line, "\n", LINE_BYTES);
}

static int generate(const char *secret_path, const char *public_path, enum key_kind kind,
                    struct key_pair *pair, char *line, char *error, size_t error_size)
{
    randombytes_buf(pair->secret, KEY_BYTES);
    format_line(line, words[kind].secret, pair->secret);
    if (derive(pair, kind) != 0)
        return fail(EIO, error, error_size, "no usable random key");
    int rc = write_new(secret_path, 0400, line, error, error_size);
    if (rc || !words[kind].public_word)
        return rc;
    format_line(line, words[kind].public_word, pair->public_key);
    rc = write_new(public_path, 0444, line, error, error_size);
    if (rc)
        unlink(secret_path); /* half a pair is of no use, and this secret is known to nobody */
    return rc;
}

int key_generate(const char *dir, const char *name, enum key_kind kind, char *error,
                 size_t error_size)
{
    if (!*name || *name == '.' || strchr(name, '/'))
        return fail(EINVAL, error, error_size, "\"%s\" cannot be the name of a key file", name);
    if (sodium_init() < 0)
        return fail(EIO, error, error_size, "libsodium does not start");
    g_autofree char *secret_path = g_strdup_printf("%s/%s.secret", dir, name);
    g_autofree char *public_path = g_strdup_printf("%s/%s.public", dir, name);
    struct key_pair *pair = sodium_malloc(sizeof *pair);
    char *line = sodium_malloc(LINE_BYTES);
    int rc = pair && line ? generate(secret_path, public_path, kind, pair, line, error, error_size)
                          : fail(ENOMEM, error, error_size, "no lockable memory left");
    sodium_free(line);
    sodium_free(pair);
    return rc;
}
