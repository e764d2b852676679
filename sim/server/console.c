/* SPDX-License-Identifier: BSD-2-Clause */
/* The console: commands by a unix stream socket, several connections at once, and by stdin.
 *
 * Lines are run in the order of their coming; each answer ends in a line `ok` or `error: ...`. Of a
 * connection whose reader does not take its answers no further line is run until it does. */
#include "sim/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/script/script.h"

enum {
    CONNECTIONS_MAX = 64,
    READ_BYTES = 4096,
    OUTPUT_HIGH_BYTES = 64 << 10, /* with more than that unread, no further line is run */
};

struct connection {
    struct watch in;
    struct watch out; /* of stdout; a socket uses `in` for both ways */
    struct console *console;
    GString *input, *output;
    size_t written;       /* of output */
    bool is_stdin, skips; /* skips: the rest of a line that is too long */
    bool ended;           /* nothing more comes */
    bool gone;            /* to be freed */
};

struct console {
    struct server *server;
    struct watch listener;
    bool is_bound;
    GPtrArray *connections;
};

static void on_ready(struct watch *w, uint32_t events);
static void on_output(struct watch *w, uint32_t events);

static size_t unread(const struct connection *c)
{
    return c->output->len - c->written;
}

static void write_some(struct connection *c)
{
    while (unread(c)) {
        const char *at = c->output->str + c->written;
        ssize_t n = c->is_stdin ? write(c->out.fd, at, unread(c))
                                : send(c->in.fd, at, unread(c), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            c->gone = true;
        if (n < 0)
            return;
        c->written += (size_t)n;
    }
    g_string_truncate(c->output, 0);
    c->written = 0;
}

static void watch_again(struct connection *c)
{
    struct loop *l = &c->console->server->loop;
    bool wants_input = !c->ended && unread(c) < OUTPUT_HIGH_BYTES;

    if (c->is_stdin) {
        if (c->in.ready && c->ended)
            loop_remove(l, &c->in); /* the end is told again and again */
        if (c->in.ready)
            loop_change(l, &c->in, wants_input ? EPOLLIN : 0);
        if (c->out.ready)
            loop_change(l, &c->out, unread(c) ? EPOLLOUT : 0);
    } else {
        loop_change(l, &c->in, (wants_input ? EPOLLIN : 0) | (unread(c) ? EPOLLOUT : 0));
    }
}

static void run_line(struct connection *c, char *line)
{
    struct server *s = c->console->server;
    size_t length = strlen(line);

    if (length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    sim_script_line(s->sim, line, server_now(s), c->output);
}

/* Whole lines of the input, as long as the answers are read. */
static void run_lines(struct connection *c)
{
    size_t from = 0;

    while (unread(c) < OUTPUT_HIGH_BYTES && !c->console->server->stop) {
        char *line = c->input->str + from;
        char *end = memchr(line, '\n', c->input->len - from);
        if (!end)
            break;
        *end = '\0';
        from += (size_t)(end - line) + 1;
        if (c->skips)
            c->skips = false;
        else if (strlen(line) != (size_t)(end - line))
            g_string_append(c->output, "error: the line holds a zero byte\n");
        else
            run_line(c, line);
    }
    g_string_erase(c->input, 0, (gssize)from);
    if (c->input->len > SIM_COMMAND_BYTES && !memchr(c->input->str, '\n', c->input->len)) {
        if (!c->skips)
            g_string_append_printf(c->output, "error: the line is longer than %u bytes\n",
                                   SIM_COMMAND_BYTES);
        c->skips = true;
        g_string_truncate(c->input, 0);
    }
}

static void read_some(struct connection *c)
{
    char bytes[READ_BYTES];
    ssize_t n = read(c->in.fd, bytes, sizeof bytes);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        g_string_append_len(c->input, bytes, n);
        return;
    }
    c->ended = true;
    if (c->input->len) /* a last line without its end */
        g_string_append_c(c->input, '\n');
}

static void work(struct connection *c)
{
    write_some(c);
    if (!c->gone) {
        run_lines(c);
        write_some(c);
    }
    if (c->ended && !unread(c) && !c->input->len)
        c->gone = true;
    if (!c->gone)
        watch_again(c);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct connection *c = w->user;

    if (c->gone)
        return;
    if ((events & EPOLLERR) || ((events & EPOLLHUP) && c->ended && !c->is_stdin))
        c->gone = true;
    else if ((events & (EPOLLIN | EPOLLHUP)) && !c->ended && unread(c) < OUTPUT_HIGH_BYTES)
        read_some(c);
    work(c);
}

static void on_output(struct watch *w, uint32_t events)
{
    work(w->user);
}

static struct connection *add_connection(struct console *console, int fd)
{
    struct connection *c = g_new0(struct connection, 1);

    c->console = console;
    c->in = (struct watch){.fd = fd, .events = EPOLLIN, .ready = on_ready, .user = c};
    c->out = (struct watch){.fd = -1};
    c->input = g_string_new(NULL);
    c->output = g_string_new(NULL);
    g_ptr_array_add(console->connections, c);
    return c;
}

static void on_connection(struct watch *w, uint32_t events)
{
    struct console *console = w->user;
    int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (console->connections->len >= CONNECTIONS_MAX) {
        static const char text[] = "error: too many connections to the console\n";
        if (send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            log_emit(HL_INFO, "console_refused", "connections=%u", console->connections->len);
        close(fd);
        return;
    }
    if (loop_add(&console->server->loop, &add_connection(console, fd)->in))
        ((struct connection *)console->connections->pdata[console->connections->len - 1])->gone =
            true;
}

static void free_connection(struct connection *c)
{
    struct loop *l = &c->console->server->loop;

    if (c->in.ready)
        loop_remove(l, &c->in);
    if (c->out.ready)
        loop_remove(l, &c->out);
    if (!c->is_stdin)
        close(c->in.fd);
    else if (c->out.fd > STDERR_FILENO)
        close(c->out.fd);
    g_string_free(c->input, TRUE);
    g_string_free(c->output, TRUE);
    g_free(c);
}

void console_tidy(struct server *s)
{
    GPtrArray *all = s->console->connections;

    for (guint i = all->len; i-- > 0;) {
        struct connection *c = all->pdata[i];
        if (!c->gone)
            continue;
        g_ptr_array_remove_index(all, i);
        free_connection(c);
    }
}

/* A descriptor of stdout that does not block, without changing that of the shell which started us;
 * a plain file never blocks and is used as it is. */
static int open_stdout(void)
{
    struct stat st;
    int fd = -1;

    if (fstat(STDOUT_FILENO, &st) == 0 && !S_ISREG(st.st_mode))
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return fd >= 0 ? fd : STDOUT_FILENO;
}

static void open_stdin(struct console *console)
{
    struct connection *c = add_connection(console, STDIN_FILENO);
    struct loop *l = &console->server->loop;

    c->is_stdin = true;
    c->out = (struct watch){.fd = open_stdout(), .events = 0, .ready = on_output, .user = c};
    if (loop_add(l, &c->out))
        c->out.ready = NULL; /* a file: is always ready */
    if (loop_add(l, &c->in) == 0)
        return;
    c->in.ready = NULL;
    while (!c->ended)
        read_some(c);
    while (!c->gone && c->input->len && !unread(c) && !console->server->stop)
        work(c);
}

static int bind_console(struct console *console, const char *path, char *error, size_t error_size)
{
    struct watch *w = &console->listener;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct stat st;
    int failed = 0;

    g_strlcpy(name.sun_path, path, sizeof name.sun_path);
    *w = (struct watch){.events = EPOLLIN, .ready = on_connection, .user = console};
    w->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->fd < 0)
        failed = errno;
    /* The socket of a simulator that was killed is in the way; one that answers is not. */
    else if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
             connect(w->fd, (struct sockaddr *)&name, sizeof name) && errno == ECONNREFUSED)
        unlink(path);
    if (!failed && bind(w->fd, (struct sockaddr *)&name, sizeof name))
        failed = errno;
    console->is_bound = !failed;
    if (!failed && listen(w->fd, CONNECTIONS_MAX))
        failed = errno;
    if (!failed)
        failed = loop_add(&console->server->loop, w);
    if (failed)
        snprintf(error, error_size, "--console %s: %s", path, strerror(failed));
    return failed;
}

int console_open(struct server *s, char *error, size_t error_size)
{
    struct console *console = g_new0(struct console, 1);
    int failed = 0;

    s->console = console;
    console->server = s;
    console->connections = g_ptr_array_new();
    console->listener.fd = -1;
    if (s->options->console)
        failed = bind_console(console, s->options->console, error, error_size);
    if (!failed && s->options->interactive)
        open_stdin(console);
    return failed;
}

void console_close(struct server *s)
{
    struct console *console = s->console;

    if (!console)
        return;
    for (guint i = 0; i < console->connections->len; i++) {
        write_some(console->connections->pdata[i]); /* the answer to quit */
        free_connection(console->connections->pdata[i]);
    }
    g_ptr_array_unref(console->connections);
    if (console->listener.fd >= 0)
        close(console->listener.fd);
    if (console->is_bound)
        unlink(s->options->console);
    g_free(console);
    s->console = NULL;
}
