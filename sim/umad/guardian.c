/* SPDX-License-Identifier: BSD-2-Clause */
/* The guardian of a slot. After the fork of a process with threads only system calls are safe, so
 * its own code calls nothing else and is not instrumented by sanitizers. */
#include "guardian.h"
#include "wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BARE                                                                                       \
    __attribute__((no_sanitize("thread"), no_sanitize("address"), no_sanitize("undefined")))

enum { ANSWER_WAIT_MS = 1000, KERNEL_SIGSET_BYTES = 8 };

static const char guardian_name[] = "umad-guardian";
static char *arguments;
static size_t arguments_bytes;

void guardian_set_arguments(int argc, char **argv)
{
    if (argc < 1 || !argv || !argv[0])
        return;
    arguments = argv[0];
    arguments_bytes = strlen(argv[0]) + 1;
    for (int i = 1; i < argc && argv[i] == arguments + arguments_bytes; i++)
        arguments_bytes += strlen(argv[i]) + 1;
}

/* The pages are the guardian's own copies by now. */
BARE static void take_own_name(void)
{
    syscall(SYS_prctl, PR_SET_NAME, guardian_name, 0, 0, 0);
    for (size_t i = 0; i < arguments_bytes; i++)
        ((volatile char *)arguments)[i] =
            i < sizeof guardian_name && i + 1 < arguments_bytes ? guardian_name[i] : 0;
}

BARE static void close_all_but(int a, int b, int c)
{
    unsigned keep[3] = {(unsigned)a, (unsigned)b, (unsigned)c}, from = 0;

    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            if (keep[j] < keep[i]) {
                unsigned swap = keep[i];
                keep[i] = keep[j];
                keep[j] = swap;
            }
    for (int i = 0; i < 3; i++) {
        if (keep[i] > from)
            syscall(SYS_close_range, from, keep[i] - 1, 0);
        from = keep[i] + 1;
    }
    syscall(SYS_close_range, from, ~0u, 0);
}

/* Wait for an answer on the control socket, emptying the data socket meanwhile. */
BARE static bool await_answer(int ctl, int data, enum wire_ctl_type type, struct wire_ctl *answer)
{
    struct pollfd fds[2] = {{.fd = ctl, .events = POLLIN}, {.fd = data, .events = POLLIN}};
    struct timespec wait = {.tv_sec = ANSWER_WAIT_MS / 1000};
    char drop[sizeof(struct wire_packet)];

    for (;;) {
        /* ppoll leaves the time that remains in `wait` */
        long n = syscall(SYS_ppoll, fds, 2, &wait, 0, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (fds[1].revents)
            syscall(SYS_recvfrom, data, drop, sizeof drop, MSG_DONTWAIT, 0, 0);
        if (!fds[0].revents)
            continue;
        if (syscall(SYS_recvfrom, ctl, answer, sizeof *answer, MSG_DONTWAIT, 0, 0) < 0 &&
            errno == ECONNREFUSED)
            return false;
        if (answer->type == (uint32_t)type)
            return true;
    }
}

BARE static bool request(int ctl, int data, uint32_t slot, enum wire_ctl_type type)
{
    struct wire_ctl c, answer;

    for (size_t i = 0; i < sizeof c; i++)
        ((volatile char *)&c)[i] = 0;
    c.magic = WIRE_MAGIC;
    c.client = slot;
    c.type = type;
    if (syscall(SYS_sendto, ctl, &c, sizeof c, 0, 0, 0) != sizeof c)
        return false;
    return await_answer(ctl, data, type, &answer);
}

BARE static void give_slot_back(const struct guardian_page *page, int ctl, int data)
{
    int state = page->state;
    uint32_t slot = page->slot;
    struct wire_ctl answer;

    if (state == GUARDIAN_IDLE)
        return;
    if (state == GUARDIAN_CONNECTING) {
        if (!await_answer(ctl, data, WIRE_CONNECT, &answer))
            return;
        slot = *(const uint32_t *)(const void *)answer.data;
    }
    /* The simulator may be busy for a while: block rather than poll. */
    syscall(SYS_fcntl, ctl, F_SETFL, 0);
    if (page->issm)
        request(ctl, data, slot, WIRE_SET_ISSM);
    request(ctl, data, slot, WIRE_DISCONNECT);
}

BARE static _Noreturn void guard(const struct guardian_page *page, int pipe, int ctl, int data)
{
    uint64_t all = ~0ull;
    char byte;
    long n;

    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, KERNEL_SIGSET_BYTES);
    syscall(SYS_setsid);
    syscall(SYS_chdir, "/");
    close_all_but(pipe, ctl, data);
    take_own_name();
    do
        n = syscall(SYS_read, pipe, &byte, 1);
    while (n > 0 || (n < 0 && errno == EINTR));
    give_slot_back(page, ctl, data);
    for (;;)
        syscall(SYS_exit_group, 0);
}

/* Clone without an exit signal: a child of which wait() and SIGCHLD know nothing. */
BARE static long clone_silently(void)
{
    return syscall(SYS_clone, 0, 0, 0, 0, 0);
}

BARE static int start_grandchild(const struct guardian_page *page, const int ends[2], int ctl,
                                 int data)
{
    long child = clone_silently();

    if (child < 0)
        return errno;
    if (child == 0) {
        long grandchild = clone_silently();
        if (grandchild == 0)
            guard(page, ends[0], ctl, data);
        for (;;)
            syscall(SYS_exit_group, grandchild < 0);
    }
    while (syscall(SYS_wait4, child, 0, __WCLONE, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

int guardian_start(struct guardian *g, int ctl, int data)
{
    struct guardian_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2], error;

    *g = GUARDIAN_NONE;
    if (page == MAP_FAILED)
        return errno;
    if (pipe2(ends, O_CLOEXEC)) {
        error = errno;
        munmap(page, sizeof *page);
        return error;
    }
    error = start_grandchild(page, ends, ctl, data);
    close(ends[0]);
    if (error) {
        close(ends[1]);
        munmap(page, sizeof *page);
        return error;
    }
    g->page = page;
    g->pipe = ends[1];
    return 0;
}

void guardian_stop(struct guardian *g)
{
    if (g->pipe >= 0)
        close(g->pipe);
    if (g->page)
        munmap(g->page, sizeof *g->page);
    *g = GUARDIAN_NONE;
}
