/* SPDX-License-Identifier: BSD-2-Clause */
/* A tiny process that gives a client's slot back to the simulator when the client is killed.
 *
 * ibsim frees the slot of a dead client only when it next has something to send to it, and it has
 * ten of them. The guardian is a grandchild in a session of its own that ignores every signal it
 * can, holds no descriptor but the client's two sockets and a pipe, and sleeps on the pipe. When
 * the pipe closes it clears IsSM (as the kernel does when the last holder of the issm file dies),
 * sends DISCONNECT and ends. It holds the sockets so that the slot cannot fall to somebody else
 * before that, and empties the data socket so that the simulator can get on.
 *
 * It is not the caller's child: waitpid(-1) never shows it, and no SIGCHLD is sent.
 */
#ifndef SIM_UMAD_GUARDIAN_H
#define SIM_UMAD_GUARDIAN_H

#include <stdatomic.h>
#include <stdint.h>

enum guardian_state { GUARDIAN_IDLE, GUARDIAN_CONNECTING, GUARDIAN_ATTACHED };

/* Shared with the guardian. */
struct guardian_page {
    _Atomic int state; /* enum guardian_state */
    _Atomic uint32_t slot;
    _Atomic int issm;
};

struct guardian {
    struct guardian_page *page;
    int pipe;
};

#define GUARDIAN_NONE ((struct guardian){.page = NULL, .pipe = -1})

/* Both sockets are connected to the simulator, or (data) will be. 0 or an errno. */
int guardian_start(struct guardian *g, int ctl, int data);

/* Send it away; it disconnects nothing if the state is GUARDIAN_IDLE. */
void guardian_stop(struct guardian *g);

/* Tell it the process's arguments, so that it can take its own name. */
void guardian_set_arguments(int argc, char **argv);

#endif
