/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of engines, of which the first that can serve a fabric is used. */
#include "routing/choice.h"

#include <errno.h>
#include <stdio.h>

#define REASON_BYTES 512u

static char **split(const char *names)
{
    char **list = g_strsplit(names, ",", -1);
    for (char **name = list; *name; name++)
        g_strstrip(*name);
    return list;
}

static int check_name(const char *names, char *const *list, unsigned i, char *error,
                      size_t error_size)
{
    if (*list[i] == '\0') {
        snprintf(error, error_size,
                 "\"%s\" has an empty name: expected engines separated by commas, such as "
                 "ftree,updn",
                 names);
        return EINVAL;
    }
    if (!rt_engine_find(list[i])) {
        g_autofree char *known = g_strjoinv(", ", (char **)rt_engine_names());
        snprintf(error, error_size, "there is no engine \"%s\": expected %s", list[i], known);
        return EINVAL;
    }
    for (unsigned k = 0; k < i; k++) {
        if (g_strcmp0(list[k], list[i]))
            continue;
        snprintf(error, error_size, "\"%s\" names %s twice", names, list[i]);
        return EINVAL;
    }
    return 0;
}

int rt_choice_check(const char *names, char *error, size_t error_size)
{
    g_auto(GStrv) list = split(names);
    int rc = 0;
    if (!list[0]) { /* what g_strsplit makes of "" */
        snprintf(error, error_size, "no engine is named: expected a list such as ftree,updn");
        return EINVAL;
    }
    for (unsigned i = 0; list[i] && rc == 0; i++)
        rc = check_name(names, list, i, error, error_size);
    return rc;
}

static int try_engine(const struct rt_engine *engine, struct rt_graph *g,
                      const struct rt_options *o, struct rt_plan **plan, char *why, size_t why_size)
{
    unsigned allowed = o && o->max_vls > 1 ? o->max_vls : 1;
    struct rt_plan *p = NULL;
    *why = '\0';
    int rc = engine->prepare(g, o, &p, why, why_size);
    if (rc) {
        if (*why == '\0')
            snprintf(why, why_size, "%s", g_strerror(rc));
        return rc;
    }
    unsigned needed = rt_plan_properties(p).vls;
    if (needed > allowed) {
        snprintf(why, why_size, "needs %u data VLs, of which only %u may be used", needed, allowed);
        rt_plan_destroy(p);
        return ENOTSUP;
    }
    *plan = p;
    return 0;
}

int rt_prepare_first(struct rt_graph *g, const char *names, const struct rt_options *o,
                     const struct rt_engine **used, struct rt_plan **plan, GPtrArray *refusals,
                     char *error, size_t error_size)
{
    const struct rt_options none = {.max_vls = 1};
    int rc = rt_choice_check(names, error, error_size);
    if (rc)
        return rc;
    g_auto(GStrv) list = split(names);
    g_autoptr(GString) reasons = g_string_new(NULL);
    for (char **name = list; *name; name++) {
        const struct rt_engine *engine = rt_engine_find(*name);
        char why[REASON_BYTES];
        if (try_engine(engine, g, o ? o : &none, plan, why, sizeof why) == 0) {
            if (used)
                *used = engine;
            return 0;
        }
        g_string_append_printf(reasons, "%s%s: %s", reasons->len ? "; " : "", *name, why);
        if (refusals)
            g_ptr_array_add(refusals, g_strdup_printf("%s: %s", *name, why));
    }
    snprintf(error, error_size, "%s", reasons->str);
    return ENOTSUP;
}
