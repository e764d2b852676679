/* SPDX-License-Identifier: BSD-2-Clause */
/* The CAs of a process. */
#include "devices.h"
#include "clock.h"
#include "madlog.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ISSM_PREFIX "/dev/infiniband/issm"
/* A simulator that did not answer is not asked again at once: each try would take two seconds. */
#define RETRY_INTERVAL_NS (3000 * CLOCK_NS_A_MS)

enum { PORT_INFO_STATE = 32, PORT_STATE_ACTIVE = 4 };

static struct {
    pthread_mutex_t lock;
    bool configured;
    int count; /* negative: the environment makes no sense */
    struct device all[DEVICES_MAX];
    atomic_int issm_held; /* so that close() is quick where nobody holds one */
} devices = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool devices_parse(const char *item, struct device *d)
{
    const char *equals = strchr(item, '='), *colon = strrchr(item, ':');
    size_t node_length;

    *d = (struct device){.issm_fd = -1};
    if (!equals || equals == item || equals - item >= UMAD_CA_NAME_LEN)
        return false;
    if (colon && (colon < equals || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")]))
        colon = NULL; /* part of a node's description */
    node_length = colon ? (size_t)(colon - equals - 1) : strlen(equals + 1);
    if (node_length >= sizeof d->node || (colon && strlen(colon + 1) > 3))
        return false;
    memcpy(d->name, item, (size_t)(equals - item));
    memcpy(d->node, equals + 1, node_length);
    d->wanted_port = colon ? atoi(colon + 1) : 0;
    return true;
}

static void configure(void)
{
    const char *list = getenv("HEDDLE_UMAD_PORTS"), *host = getenv("SIM_HOST");
    g_auto(GStrv) items = NULL;

    devices.configured = true;
    if (!list || !*list) {
        devices.count = 1;
        devices.all[0] = (struct device){.name = "ibsim0", .issm_fd = -1};
        g_strlcpy(devices.all[0].node, host ? host : "", sizeof devices.all[0].node);
        return;
    }
    items = g_strsplit(list, ",", -1);
    for (int i = 0; items[i]; i++) {
        if (devices.count == DEVICES_MAX || !devices_parse(items[i], &devices.all[devices.count])) {
            fprintf(stderr,
                    "heddle-umad: HEDDLE_UMAD_PORTS: cannot use \"%s\" (name=node[:port])\n",
                    items[i]);
            devices.count = -1;
            return;
        }
        devices.count++;
    }
}

static void lock(void)
{
    pthread_mutex_lock(&devices.lock);
    if (!devices.configured)
        configure();
}

static void unlock(void)
{
    pthread_mutex_unlock(&devices.lock);
}

int devices_count(void)
{
    int n;

    lock();
    n = devices.count;
    unlock();
    return n;
}

const char *devices_name(int index)
{
    return devices.all[index].name;
}

int devices_index(const struct device *d)
{
    return (int)(d - devices.all);
}

static bool is_useless(struct port *p)
{
    bool useless;

    pthread_mutex_lock(&p->lock);
    useless = p->dead && p->files->len == 0;
    pthread_mutex_unlock(&p->lock);
    return useless;
}

/* A simulator attaches a client to a node's first port, unless it knows "node:port" for another. */
static void name_port(const struct device *d, char *text, size_t size)
{
    if (d->wanted_port > 1)
        snprintf(text, size, "%s:%d", d->node, d->wanted_port);
    else
        g_strlcpy(text, d->node, size);
}

static int attach(struct device *d)
{
    char node[sizeof d->node + sizeof ":2147483647"];
    int error;

    if (d->port && is_useless(d->port)) {
        port_close(d->port);
        d->port = NULL;
    }
    if (d->port)
        return 0;
    if (d->failed_at && clock_ns() - d->failed_at < RETRY_INTERVAL_NS)
        return ETIMEDOUT;
    madlog_start();
    name_port(d, node, sizeof node);
    error = port_open(&d->port, d->name, node);
    d->failed_at = error == ETIMEDOUT ? clock_ns() : 0;
    if (!error && d->wanted_port && d->wanted_port != d->port->number) {
        fprintf(stderr, "heddle-umad: %s: the simulator attached it to port %d, not %d\n", d->name,
                d->port->number, d->wanted_port);
        port_close(d->port);
        d->port = NULL;
        return ENODEV;
    }
    return error;
}

static bool is_active(struct device *d)
{
    uint8_t info[WIRE_CTL_DATA_BYTES] = {(uint8_t)d->port->number};

    return link_ctl(&d->port->link, WIRE_GET_PORT_INFO, info, sizeof info) == 0 &&
           (info[PORT_INFO_STATE] & 15) == PORT_STATE_ACTIVE;
}

static struct device *find(const char *ca_name, int *error)
{
    *error = ENODEV;
    for (int i = 0; ca_name && i < devices.count; i++)
        if (!strcmp(devices.all[i].name, ca_name))
            return &devices.all[i];
    if (ca_name || devices.count <= 0)
        return NULL;
    for (int i = 0; devices.count > 1 && i < devices.count; i++) {
        *error = attach(&devices.all[i]);
        if (!*error && is_active(&devices.all[i]))
            return &devices.all[i];
    }
    return &devices.all[0];
}

struct device *devices_attach(const char *ca_name, int port_number)
{
    struct device *d;
    int error;

    lock();
    d = find(ca_name, &error);
    if (d)
        error = attach(d);
    if (!error && port_number > 0 && port_number != d->port->number)
        error = EINVAL;
    unlock();
    errno = error;
    return error ? NULL : d;
}

void devices_detach_unused(void)
{
    lock();
    if (file_count() == 0 && devices.issm_held == 0) {
        for (int i = 0; i < devices.count; i++) {
            if (devices.all[i].port)
                port_close(devices.all[i].port);
            devices.all[i].port = NULL;
        }
    }
    unlock();
    madlog_flush();
}

void devices_issm_path(const struct device *d, char *path, size_t size)
{
    snprintf(path, size, ISSM_PREFIX "%d", devices_index(d));
}

static int issm_open(struct device *d)
{
    int error, fd;

    if (d->issm_fd >= 0) {
        errno = EAGAIN; /* one holder, as the kernel */
        return -1;
    }
    error = attach(d);
    if (!error)
        error = link_set_issm(&d->port->link, true);
    if (error) {
        errno = error;
        return -1;
    }
    fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) {
        link_set_issm(&d->port->link, false);
        return -1;
    }
    d->issm_fd = fd;
    devices.issm_held++;
    return fd;
}

int devices_issm_open(const char *path)
{
    char own[64];
    int fd = -2;

    if (strncmp(path, ISSM_PREFIX, sizeof ISSM_PREFIX - 1))
        return -2;
    lock();
    for (int i = 0; i < devices.count && fd == -2; i++) {
        devices_issm_path(&devices.all[i], own, sizeof own);
        if (!strcmp(path, own))
            fd = issm_open(&devices.all[i]);
    }
    unlock();
    return fd;
}

bool devices_issm_close(int fd)
{
    bool found = false;

    if (devices.issm_held == 0 || fd < 0)
        return false;
    lock();
    for (int i = 0; i < devices.count && !found; i++) {
        struct device *d = &devices.all[i];
        if (d->issm_fd != fd)
            continue;
        found = true;
        d->issm_fd = -1;
        devices.issm_held--;
        link_set_issm(&d->port->link, false);
    }
    unlock();
    return found;
}

/* The threads of the parent do not exist in the child: it begins without any attachment. */
static void after_fork(void)
{
    pthread_mutex_init(&devices.lock, NULL);
    for (int i = 0; i < devices.count; i++) {
        struct device *d = &devices.all[i];
        if (d->port)
            port_abandon(d->port);
        if (d->issm_fd >= 0)
            close(d->issm_fd);
    }
    memset(devices.all, 0, sizeof devices.all);
    devices.configured = false;
    devices.count = 0;
    devices.issm_held = 0;
    file_abandon_all();
    madlog_forget();
}

__attribute__((constructor)) static void start(int argc, char **argv)
{
    guardian_set_arguments(argc, argv);
    pthread_atfork(NULL, NULL, after_fork);
}

/* At exit: give the slots back. Other threads may still be running, so nothing is freed, and
 * nobody is waited for but the simulator. */
__attribute__((destructor)) static void stop(void)
{
    for (int i = 0; i < devices.count; i++)
        if (devices.all[i].port && !devices.all[i].port->dead)
            link_disconnect(&devices.all[i].port->link);
    madlog_flush();
}
