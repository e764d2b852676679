/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that run later: at, every, cancel. What they print goes to the operator's notes. */
#include <string.h>

#include "sim/core/timers.h"
#include "sim/script/private.h"

struct pending {
    char **argv; /* NULL-terminated */
    char *where;
    int64_t at, every; /* every 0 = once */
    unsigned depth, script_id;
    struct sim_timer *timer;
    GList link;
};

static void pending_free(struct pending *p)
{
    g_strfreev(p->argv);
    g_free(p->where);
    g_free(p);
}

void script_later_free(struct sim_script *c)
{
    for (GList *l = g_queue_pop_head_link(&c->pending); l != NULL;
         l = g_queue_pop_head_link(&c->pending))
        pending_free(l->data);
}

static void drop(struct sim *s, struct pending *p)
{
    sim_timer_cancel(s, p->timer);
    g_queue_unlink(&s->script->pending, &p->link);
    pending_free(p);
}

static void note_lines(struct sim *s, GString *out)
{
    char *line, *rest = out->str;
    while ((line = strsep(&rest, "\n")) != NULL)
        if (*line != '\0')
            sim_note(s, "%s", line);
}

static void fire(struct sim *s, void *arg);

static void put_off(struct sim *s, struct pending *p)
{
    p->link = (GList){.data = p};
    g_queue_push_tail_link(&s->script->pending, &p->link);
    p->timer = sim_timer_at(s, p->at, fire, p);
}

/* While it runs it stands in no list, so that a `cancel` among the commands does not free it. */
static void fire(struct sim *s, void *arg)
{
    struct pending *p = arg;
    unsigned cancels = s->script->cancels, lines = 0;
    g_queue_unlink(&s->script->pending, &p->link);
    g_autoptr(GString) out = g_string_new(NULL);
    struct script_call c = {.s = s,
                            .out = out,
                            .where = p->where,
                            .timed = true,
                            .depth = p->depth,
                            .lines = &lines,
                            .script_id = p->script_id,
                            .argc = (int)g_strv_length(p->argv),
                            .argv = p->argv};
    script_dispatch(&c);
    note_lines(s, out);
    if (p->every == 0 || s->script->cancels != cancels) {
        pending_free(p);
        return;
    }
    p->at += p->every;
    put_off(s, p);
}

static bool later(struct script_call *c, bool again)
{
    int64_t time;
    struct sim_script *script = c->s->script;
    if (c->timed)
        return script_fail(c, "neither at nor every can stand within at or every");
    if (!script_time(c, "the time", c->argv[1], &time))
        return false;
    if (again && time < SCRIPT_MIN_EVERY_NS)
        return script_fail(c, "the time must be at least 1ms");
    struct script_call inner = *c;
    inner.argc = c->argc - 2;
    inner.argv = c->argv + 2;
    inner.timed = inner.dry = true;
    if (!script_dispatch(&inner))
        return false;
    if (c->dry)
        return true;
    if (script->pending.length >= SCRIPT_MAX_PENDING)
        return script_fail(c, "%u commands wait already: cancel ends them", SCRIPT_MAX_PENDING);
    struct pending *p = g_new0(struct pending, 1);
    p->argv = g_strdupv(c->argv + 2);
    p->where = g_strdup(c->where);
    p->at = c->s->now + time;
    p->every = again ? time : 0;
    p->depth = c->depth;
    p->script_id = c->script_id;
    put_off(c->s, p);
    return true;
}

bool script_at(struct script_call *c)
{
    return later(c, false);
}

bool script_every(struct script_call *c)
{
    return later(c, true);
}

bool script_cancel(struct script_call *c)
{
    struct sim_script *script = c->s->script;
    if (c->dry)
        return true;
    script->cancels++;
    while (script->pending.head != NULL)
        drop(c->s, script->pending.head->data);
    return true;
}

void script_cancel_id(struct sim *s, unsigned id)
{
    GList *next;
    for (GList *l = s->script->pending.head; l != NULL; l = next) {
        struct pending *p = l->data;
        next = l->next;
        if (p->script_id == id)
            drop(s, p);
    }
}
