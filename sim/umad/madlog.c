/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of MADs. */
#include "madlog.h"
#include "mad.h"
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    FLUSH_INTERVAL_NS = 10 * 1000000, /* half of the promise, the rest is for the scheduler */
    BUFFER_START_BYTES = 64 << 10,
    BUFFER_MAX_BYTES = 16 << 20,
    FILE_MODE = 0644,
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    GString *buffer;
    uint64_t lost; /* lines, while the disk did not keep up */
    int fd;
    atomic_bool on;
} madlog = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .fd = -1};

static char *put_decimal(char *p, uint64_t v)
{
    char digits[20];
    int n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n)
        *p++ = digits[--n];
    return p;
}

static char *put_hex(char *p, uint64_t v, int digits)
{
    for (int i = digits - 1; i >= 0; i--)
        *p++ = "0123456789abcdef"[v >> (4 * i) & 15];
    return p;
}

static char *put_target(char *p, const uint8_t *mad, uint16_t lid)
{
    unsigned hops = mad[SMP_HOP_COUNT];

    if (mad_class(mad) != MAD_CLASS_SM_DIRECT)
        return put_decimal(p, lid);
    for (unsigned i = 0; i <= hops && i <= SMP_MAX_HOPS; i++) {
        if (i)
            *p++ = ',';
        p = put_decimal(p, i ? mad[SMP_INITIAL_PATH + i] : 0);
    }
    return p;
}

static char *put_port_info(char *p, const uint8_t *mad)
{
    memcpy(p, " lid=", 5);
    p = put_decimal(p + 5, mad_get16(mad + SMP_DATA + 16));
    memcpy(p, " smlid=", 7);
    p = put_decimal(p + 7, mad_get16(mad + SMP_DATA + 18));
    memcpy(p, " state=", 7);
    return put_decimal(p + 7, mad[SMP_DATA + 32] & 15);
}

size_t madlog_format(char line[MADLOG_LINE_BYTES], enum madlog_kind kind, int64_t now_ns,
                     const uint8_t *mad, uint16_t lid)
{
    static const char *const names[] = {"tx", "rx", "to"};
    char *p = put_decimal(line, (uint64_t)now_ns);

    *p++ = ' ';
    memcpy(p, names[kind], 2);
    p += 2;
    *p++ = ' ';
    p = put_hex(p, mad_class(mad), 2);
    *p++ = ' ';
    p = put_hex(p, mad_method(mad), 2);
    *p++ = ' ';
    p = put_hex(p, mad_attribute(mad), 4);
    *p++ = ' ';
    p = put_hex(p, mad_modifier(mad), 8);
    *p++ = ' ';
    p = put_hex(p, mad_tid(mad), 16);
    *p++ = ' ';
    p = put_target(p, mad, lid);
    *p++ = ' ';
    p = put_hex(p, kind == MADLOG_TIMEOUT ? ETIMEDOUT : mad_status(mad), 4);
    if (mad_is_smp(mad) && mad_method(mad) == MAD_METHOD_SET &&
        mad_attribute(mad) == MAD_ATTR_PORT_INFO)
        p = put_port_info(p, mad);
    *p++ = '\n';
    return (size_t)(p - line);
}

static void write_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        data += n;
        length -= (size_t)n;
    }
}

/* Take what is gathered and write it with the lock released, so that nobody waits for the disk. */
static void flush_locked(void)
{
    g_autoptr(GString) full = madlog.buffer;

    if (full->len == 0) {
        full = NULL;
        return;
    }
    if (madlog.lost) {
        g_string_append_printf(full, "# %" G_GUINT64_FORMAT " lines lost\n", madlog.lost);
        madlog.lost = 0;
    }
    madlog.buffer = g_string_sized_new(BUFFER_START_BYTES);
    pthread_mutex_unlock(&madlog.lock);
    write_all(madlog.fd, full->str, full->len);
    pthread_mutex_lock(&madlog.lock);
}

static void *flusher(void *unused)
{
    const struct timespec pause = {.tv_nsec = FLUSH_INTERVAL_NS};

    pthread_mutex_lock(&madlog.lock);
    for (;;) {
        while (madlog.buffer->len == 0)
            pthread_cond_wait(&madlog.filled, &madlog.lock);
        pthread_mutex_unlock(&madlog.lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&madlog.lock);
        flush_locked();
    }
    return unused;
}

static int open_file(const char *pattern)
{
    g_auto(GStrv) parts = g_strsplit(pattern, "%p", -1);
    g_autofree char *pid = g_strdup_printf("%ld", (long)getpid());
    g_autofree char *path = g_strjoinv(pid, parts);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, FILE_MODE);

    if (fd < 0)
        fprintf(stderr, "heddle-umad: cannot open HEDDLE_MAD_LOG %s: %s\n", path, strerror(errno));
    return fd;
}

void madlog_start(void)
{
    const char *pattern = getenv("HEDDLE_MAD_LOG");
    sigset_t all, old;
    pthread_t thread;

    if (!pattern || !*pattern)
        return;
    pthread_mutex_lock(&madlog.lock);
    if (!madlog.on && (madlog.fd = open_file(pattern)) >= 0) {
        madlog.buffer = g_string_sized_new(BUFFER_START_BYTES);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        if (pthread_create(&thread, NULL, flusher, NULL) == 0) {
            pthread_detach(thread);
            madlog.on = true;
        }
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_mutex_unlock(&madlog.lock);
}

void madlog_add(enum madlog_kind kind, int64_t now_ns, const uint8_t *mad, uint16_t lid)
{
    char line[MADLOG_LINE_BYTES];
    size_t length;

    if (!atomic_load_explicit(&madlog.on, memory_order_relaxed))
        return;
    length = madlog_format(line, kind, now_ns, mad, lid);
    pthread_mutex_lock(&madlog.lock);
    if (madlog.buffer->len == 0)
        pthread_cond_signal(&madlog.filled);
    if (madlog.buffer->len + length <= BUFFER_MAX_BYTES)
        g_string_append_len(madlog.buffer, line, (gssize)length);
    else
        madlog.lost++;
    pthread_mutex_unlock(&madlog.lock);
}

void madlog_flush(void)
{
    if (!madlog.on)
        return;
    pthread_mutex_lock(&madlog.lock);
    flush_locked();
    pthread_mutex_unlock(&madlog.lock);
}

void madlog_forget(void)
{
    pthread_mutex_init(&madlog.lock, NULL);
    pthread_cond_init(&madlog.filled, NULL);
    madlog.on = false;
    if (madlog.fd >= 0)
        close(madlog.fd);
    madlog.fd = -1;
}
