/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of the local port through libibverbs. */
#include "shard/shell_verbs.h"

#include <fcntl.h>
#include <string.h>

#include <glib.h>
#include <infiniband/verbs.h>

struct shell_verbs {
    struct ibv_context *context;
    unsigned port;
};

static struct ibv_context *open_device(const char *device)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context = NULL;
    for (int i = 0; list != NULL && i < count && context == NULL; i++)
        if (strcmp(ibv_get_device_name(list[i]), device) == 0)
            context = ibv_open_device(list[i]);
    if (list != NULL)
        ibv_free_device_list(list);
    return context;
}

struct shell_verbs *shell_verbs_open(const char *device, unsigned port)
{
    struct ibv_context *context = open_device(device);
    if (context == NULL)
        return NULL;
    int flags = fcntl(context->async_fd, F_GETFL);
    if (flags < 0 || fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        ibv_close_device(context); /* a read would block the loop */
        return NULL;
    }
    struct shell_verbs *v = g_new0(struct shell_verbs, 1);
    v->context = context;
    v->port = port;
    return v;
}

void shell_verbs_close(struct shell_verbs *v)
{
    if (v == NULL)
        return;
    ibv_close_device(v->context);
    g_free(v);
}

int shell_verbs_fd(const struct shell_verbs *v)
{
    return v->context->async_fd;
}

bool shell_verbs_down(struct shell_verbs *v)
{
    bool down = false;
    struct ibv_async_event e;
    while (ibv_get_async_event(v->context, &e) == 0) {
        if (e.event_type == IBV_EVENT_DEVICE_FATAL ||
            (e.event_type == IBV_EVENT_PORT_ERR && (unsigned)e.element.port_num == v->port))
            down = true;
        ibv_ack_async_event(&e);
    }
    return down;
}
