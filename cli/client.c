/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions and answers over links. */
#include "cli/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "proto/link.h"
#include "shard/view.h"

#define SHARD_PATIENCE_S 2.0   /* then the next shard is tried */
#define END_OF_VIEW UINT32_MAX /* domain of the last message of a view */

struct target { /* somebody to ask */
    enum link_channel channel;
    char name[64];
    char *endpoint;
    bool up, asked, refused;
};

struct client {
    const struct operator_config *config;
    struct operator_config *owned; /* by client_open */
    struct link *link;
    uint64_t boot_id;
    double timeout_s;
    GArray *coordinators; /* struct target */
    char *error;
};

/* -- errors ------------------------------------------------------------------------------------ */

static bool fail(struct client *cl, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool fail(struct client *cl, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_free(cl->error);
    cl->error = g_strdup_vprintf(format, ap);
    va_end(ap);
    return false;
}

const char *client_error(const struct client *cl)
{
    return cl->error ? cl->error : "";
}

/* -- asking and waiting ------------------------------------------------------------------------ */

enum verdict { ANSWER_MORE, ANSWER_DONE, ANSWER_FAILED };

struct question {
    uint32_t type;
    const ProtobufCMessage *body;
    /* Takes a message of a type that is no MSG_ERROR. It may take the body (and set it to NULL).
     * Messages that are no answer to this question get ANSWER_MORE. */
    enum verdict (*take)(struct client *cl, struct question *q, struct envelope *e);
    void (*restart)(struct question *q); /* the session broke: what came is void. May be NULL */
    void *answer;
    bool progress; /* set by take: the time-out starts anew */
    double patience_s;
};

static struct target *find_target(GArray *targets, enum link_channel channel, const char *name)
{
    for (guint i = 0; i < targets->len; i++) {
        struct target *t = &g_array_index(targets, struct target, i);
        if (t->channel == channel && strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

static bool send_question(struct client *cl, struct question *q, struct target *t)
{
    struct envelope e = {.boot_id = cl->boot_id, .type = q->type, .body = (void *)q->body};
    g_autofree uint8_t *bytes = NULL;
    size_t len;
    g_strlcpy(e.cluster, cl->config->cluster, sizeof(e.cluster));
    g_strlcpy(e.sender, cl->config->name, sizeof(e.sender));
    if (envelope_encode(&e, &bytes, &len) != 0)
        return fail(cl, "the question is too long to be sent");
    if (link_send(cl->link, t->channel, t->name, bytes, len) == 0)
        t->asked = true;
    return true;
}

static enum verdict refuse(struct client *cl, const struct target *t, const struct envelope *e)
{
    const Heddle__Refused *r = (const void *)e->body;
    fail(cl, "%s at %s refuses: %s", t->name, t->endpoint,
         r != NULL && r->reason != NULL && *r->reason ? r->reason : "(no reason given)");
    return ANSWER_FAILED;
}

static enum verdict on_message(struct client *cl, struct question *q, const struct target *t,
                               const struct link_event *event)
{
    struct envelope e;
    char error[256];
    enum verdict v;
    if (envelope_decode(event->bytes, event->len, &e, error, sizeof(error)) != 0) {
        fail(cl, "%s at %s sent what this program does not understand: %s", t->name, t->endpoint,
             error);
        v = ANSWER_FAILED;
    } else if (strcmp(e.cluster, cl->config->cluster) != 0) {
        fail(cl, "%s at %s belongs to cluster \"%s\", not to \"%s\"", t->name, t->endpoint,
             e.cluster, cl->config->cluster);
        v = ANSWER_FAILED;
    } else if (e.type == HEDDLE__MESSAGE_TYPE__MSG_ERROR) {
        v = refuse(cl, t, &e);
    } else {
        v = q->take(cl, q, &e);
    }
    envelope_clear(&e);
    return v;
}

static enum verdict on_event(struct client *cl, struct question *q, GArray *targets,
                             const struct link_event *event)
{
    struct target *t = find_target(targets, event->channel, event->peer);
    bool asked =
        t != NULL; /* else a coordinator's session may have changed while a shard is asked */
    if (!asked)
        t = find_target(cl->coordinators, event->channel, event->peer);
    if (t == NULL)
        return ANSWER_MORE;
    if (event->kind == LINK_MESSAGE)
        return asked ? on_message(cl, q, t, event) : ANSWER_MORE;
    t->up = event->kind == LINK_UP;
    t->refused = event->kind == LINK_REFUSED;
    t->asked = false;
    if (asked && event->kind == LINK_DOWN && q->restart != NULL)
        q->restart(q);
    return ANSWER_MORE;
}

static bool all_refused(const GArray *targets)
{
    for (guint i = 0; i < targets->len; i++)
        if (!g_array_index(targets, struct target, i).refused)
            return false;
    return true;
}

/* Why nobody of these answered. */
static void explain_silence(struct client *cl, const GArray *targets, double waited_s)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (guint i = 0; i < targets->len; i++) {
        const struct target *t = &g_array_index(targets, struct target, i);
        g_string_append_printf(s, "%s%s at %s ", i > 0 ? "; " : "", t->name, t->endpoint);
        if (t->refused)
            g_string_append_printf(s,
                                   "refuses the key of \"%s\" (is it under \"operators\" in its "
                                   "configuration?) or has "
                                   "another public_key than expected",
                                   cl->config->name);
        else if (t->up)
            g_string_append_printf(s, "is connected but does not answer within %.3g s", waited_s);
        else
            g_string_append_printf(s, "cannot be reached within %.3g s; is it running?", waited_s);
    }
    fail(cl, "%s", s->str);
}

static gint64 deadline_of(double seconds)
{
    return g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

static bool ask_all(struct client *cl, struct question *q, GArray *targets)
{
    for (guint i = 0; i < targets->len; i++) {
        struct target *t = &g_array_index(targets, struct target, i);
        if (t->up && !t->asked && !send_question(cl, q, t))
            return false;
    }
    return true;
}

/* Asks every target, again after each reconnection, until one has answered. */
static bool converse(struct client *cl, struct question *q, GArray *targets)
{
    gint64 deadline = deadline_of(q->patience_s);
    for (guint i = 0; i < targets->len; i++)
        g_array_index(targets, struct target, i).asked = false;
    for (;;) {
        struct link_event event;
        if (!ask_all(cl, q, targets))
            return false;
        if (link_receive(cl->link, &event) == 0) {
            enum verdict v = on_event(cl, q, targets, &event);
            if (v != ANSWER_MORE)
                return v == ANSWER_DONE;
            if (q->progress)
                deadline = deadline_of(cl->timeout_s);
            q->progress = false;
            continue;
        }
        gint64 left = deadline - g_get_monotonic_time();
        if (left <= 0 || all_refused(targets)) {
            explain_silence(cl, targets, q->patience_s);
            return false;
        }
        link_wait(cl->link, NULL, 0, (int)MIN(left / 1000 + 1, 1000));
    }
}

/* -- coordinators ------------------------------------------------------------------------------ */

static bool connect_coordinators(struct client *cl, char **error)
{
    char text[256];
    for (guint i = 0; i < cl->config->coordinators->len; i++) {
        const struct operator_coordinator *k =
            &g_array_index(cl->config->coordinators, struct operator_coordinator, i);
        struct target t = {.channel = LINK_CONTROL, .endpoint = k->endpoint};
        g_strlcpy(t.name, k->name, sizeof(t.name));
        if (link_connect(cl->link, LINK_CONTROL, k->name, k->public_key, k->endpoint, text,
                         sizeof(text)) != 0) {
            *error = g_strdup_printf("coordinator %s: %s", k->name, text);
            return false;
        }
        g_array_append_val(cl->coordinators, t);
    }
    return true;
}

struct client *client_create(const struct operator_config *config, double timeout_s, char **error)
{
    char text[256] = "";
    if (sodium_init() < 0) {
        *error = g_strdup("libsodium does not start");
        return NULL;
    }
    struct client *cl = g_new0(struct client, 1);
    cl->config = config;
    cl->timeout_s = timeout_s;
    cl->coordinators = g_array_new(FALSE, TRUE, sizeof(struct target));
    randombytes_buf(&cl->boot_id, sizeof(cl->boot_id));
    struct link_config link = {.name = config->name,
                               .cluster = config->cluster,
                               .boot_id = cl->boot_id,
                               .keys = config->keys};
    cl->link = link_create(&link, text, sizeof(text));
    if (cl->link == NULL)
        *error = g_strdup(text);
    else if (connect_coordinators(cl, error))
        return cl;
    client_destroy(cl);
    return NULL;
}

void client_destroy(struct client *cl)
{
    if (cl == NULL)
        return;
    link_destroy(cl->link);
    operator_config_free(cl->owned);
    g_array_free(cl->coordinators, TRUE);
    g_free(cl->error);
    g_free(cl);
}

struct client *client_open(const struct cli *c)
{
    char *error = NULL;
    struct client *cl = NULL;
    g_autofree char *path = operator_config_path(c);
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    struct operator_config *config = operator_config_read(path, errors);
    for (guint i = 0; i < errors->len; i++)
        cli_fail("%s", (const char *)g_ptr_array_index(errors, i));
    if (config == NULL)
        return NULL;
    cl = client_create(config, c->timeout_s, &error);
    if (cl != NULL) {
        cl->owned = config;
        return cl;
    }
    operator_config_free(config);
    cli_fail("%s", error);
    g_free(error);
    return NULL;
}

static enum verdict take_status(struct client *cl, struct question *q, struct envelope *e)
{
    if (e->type != HEDDLE__MESSAGE_TYPE__MSG_STATUS || e->body == NULL)
        return ANSWER_MORE;
    q->answer = e->body;
    e->body = NULL;
    return ANSWER_DONE;
}

Heddle__Status *client_status(struct client *cl, double patience_s)
{
    struct question q = {.type = HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK,
                         .take = take_status,
                         .patience_s = patience_s};
    return converse(cl, &q, cl->coordinators) ? q.answer : NULL;
}

/* -- shards ------------------------------------------------------------------------------------ */

/* Whether this member can be asked; if not, why, for the one that the operator named. */
static const char *unfit(const Heddle__Member *m)
{
    if (m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE &&
        m->state != HEDDLE__MEMBER_STATE__MEMBER_ISOLATED)
        return "is not live";
    if (m->bulk_endpoint == NULL || *m->bulk_endpoint == '\0' || m->public_key.len != 32)
        return "has told no endpoint";
    return NULL;
}

/* Asks one shard, over a connection of its own. */
static bool ask_shard(struct client *cl, const Heddle__Member *m, struct question *q)
{
    char text[256] = "";
    bool done = false;
    if (link_connect(cl->link, LINK_BULK, m->name, m->public_key.data, m->bulk_endpoint, text,
                     sizeof(text)) != 0)
        return fail(cl, "shard %s: %s", m->name, text);
    g_autoptr(GArray) targets = g_array_new(FALSE, TRUE, sizeof(struct target));
    struct target t = {.channel = LINK_BULK, .endpoint = m->bulk_endpoint};
    g_strlcpy(t.name, m->name, sizeof(t.name));
    g_array_append_val(targets, t);
    done = converse(cl, q, targets);
    link_disconnect(cl->link, LINK_BULK, m->name);
    return done;
}

static bool ask_named_shard(struct client *cl, const Heddle__Assignment *a, const char *name,
                            struct question *q)
{
    for (size_t i = 0; i < a->n_members; i++) {
        const Heddle__Member *m = a->members[i];
        if (strcmp(m->name, name) != 0)
            continue;
        const char *why = unfit(m);
        return why != NULL ? fail(cl, "shard %s %s", name, why) : ask_shard(cl, m, q);
    }
    return fail(cl, "no shard is called \"%s\"; heddle shard list shows them", name);
}

/* Asks the shard of this name, or all that can be asked, in turn. */
static bool ask_shards(struct client *cl, const Heddle__Status *status, const char *name,
                       struct question *q)
{
    const Heddle__Assignment *a = status->assignment;
    gint64 deadline = deadline_of(cl->timeout_s);
    q->patience_s = cl->timeout_s;
    if (a == NULL)
        return fail(cl, "the coordinator told no assignment");
    if (name != NULL)
        return ask_named_shard(cl, a, name, q);
    fail(cl, "no shard is live");
    for (size_t i = 0; i < a->n_members; i++) {
        double left_s = (double)(deadline - g_get_monotonic_time()) / G_USEC_PER_SEC;
        if (unfit(a->members[i]) != NULL)
            continue;
        if (left_s <= 0)
            break;
        q->patience_s = MIN(left_s, SHARD_PATIENCE_S);
        if (ask_shard(cl, a->members[i], q))
            return true;
        if (q->restart != NULL)
            q->restart(q);
    }
    return false;
}

struct view_answer {
    struct view *view;
    const Heddle__Assignment *assignment;
    uint32_t domain; /* that is being read */
    uint32_t next_chunk;
};

static void restart_view(struct question *q)
{
    struct view_answer *a = q->answer;
    view_destroy(a->view);
    a->view = view_create();
    a->next_chunk = 0;
    view_assign(a->view, a->assignment);
}

static enum verdict take_snapshot(struct client *cl, struct question *q, struct envelope *e)
{
    struct view_answer *a = q->answer;
    const Heddle__Snapshot *s = (const void *)e->body;
    if (e->type != HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT || s == NULL)
        return ANSWER_MORE;
    q->progress = true;
    if (e->domain == END_OF_VIEW)
        return ANSWER_DONE;
    if (s->chunk != a->next_chunk || (s->chunk > 0 && e->domain != a->domain)) {
        fail(cl, "%s sent its view out of order (domain %u, chunk %u)", e->sender, e->domain,
             s->chunk);
        return ANSWER_FAILED;
    }
    if (s->chunk == 0)
        view_clear_domain(a->view, e->domain);
    if (s->content != NULL)
        view_apply(a->view, e->domain, s->content);
    a->domain = e->domain;
    a->next_chunk = s->last ? 0 : s->chunk + 1;
    if (s->last)
        view_set_position(a->view, e->domain, e->epoch, e->seq);
    return ANSWER_MORE;
}

struct view *client_view(struct client *cl, const Heddle__Status *status, const char *shard)
{
    struct view_answer a = {.assignment = status->assignment};
    struct question q = {.type = HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK,
                         .take = take_snapshot,
                         .restart = restart_view,
                         .answer = &a};
    if (status->assignment != NULL)
        restart_view(&q);
    if (ask_shards(cl, status, shard, &q))
        return a.view;
    view_destroy(a.view);
    return NULL;
}

static enum verdict take_route(struct client *cl, struct question *q, struct envelope *e)
{
    if (e->type != HEDDLE__MESSAGE_TYPE__MSG_ROUTE || e->body == NULL)
        return ANSWER_MORE;
    q->answer = e->body;
    e->body = NULL;
    return ANSWER_DONE;
}

Heddle__Route *client_route(struct client *cl, const Heddle__Status *status, const char *shard,
                            const char *source, const char *destination)
{
    Heddle__RouteAsk ask = HEDDLE__ROUTE_ASK__INIT;
    ask.source = (char *)source;
    ask.destination = (char *)destination;
    struct question q = {
        .type = HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK, .body = &ask.base, .take = take_route};
    return ask_shards(cl, status, shard, &q) ? q.answer : NULL;
}
