/* SPDX-License-Identifier: BSD-2-Clause */
/* open() and close() as the program calls them: the issm file exists only here. */
#include "devices.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool has_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* True where the path is ours; *result is then what open() returns. */
static bool is_ours(const char *path, int *result)
{
    int fd;

    if (!path || path[0] != '/')
        return false;
    fd = devices_issm_open(path);
    if (fd == -2)
        return false;
    *result = fd;
    return true;
}

/* Every wrapper ends in openat(2), as the C library's own does. */
static int open_really(int dir, const char *path, int flags, mode_t mode)
{
    typedef int (*openat_fn)(int, const char *, int, ...);
    static openat_fn real;
    openat_fn fn = __atomic_load_n(&real, __ATOMIC_ACQUIRE);

    if (!fn) {
        fn = (openat_fn)dlsym(RTLD_NEXT, "openat64");
        __atomic_store_n(&real, fn, __ATOMIC_RELEASE);
    }
    return fn ? fn(dir, path, flags, mode) : (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define MODE_ARGUMENT(flags, mode)                                                                 \
    mode_t mode = 0;                                                                               \
    if (has_mode(flags)) {                                                                         \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = (mode_t)va_arg(args, int);                                                          \
        va_end(args);                                                                              \
    }

static int open_any(int dir, const char *path, int flags, mode_t mode)
{
    int fd;

    return is_ours(path, &fd) ? fd : open_really(dir, path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...)
{
    MODE_ARGUMENT(flags, mode)
    return open_any(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    MODE_ARGUMENT(flags, mode)
    return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
    MODE_ARGUMENT(flags, mode)
    return open_any(dir, path, flags, mode);
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
    MODE_ARGUMENT(flags, mode)
    return open_any(dir, path, flags | O_LARGEFILE, mode);
}

/* What open() of two arguments becomes under _FORTIFY_SOURCE. */
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);

EXPORT int __open_2(const char *path, int flags)
{
    return open_any(AT_FDCWD, path, flags, 0);
}

EXPORT int __open64_2(const char *path, int flags)
{
    return open_any(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

static int close_really(int fd)
{
    typedef int (*close_fn)(int);
    static close_fn real;
    close_fn fn = __atomic_load_n(&real, __ATOMIC_ACQUIRE);

    if (!fn) {
        fn = (close_fn)dlsym(RTLD_NEXT, "close");
        __atomic_store_n(&real, fn, __ATOMIC_RELEASE);
    }
    return fn ? fn(fd) : (int)syscall(SYS_close, fd);
}

EXPORT int close(int fd)
{
    struct file *f;

    devices_issm_close(fd);
    f = file_count() ? file_get(fd) : NULL;
    if (!f)
        return close_really(fd);
    file_close(f);
    file_put(f);
    return 0;
}
