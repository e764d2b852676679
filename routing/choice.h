/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of engines, of which the first that can serve a fabric is used.
 *
 * Names are separated by commas ("ftree,updn"); blanks around them do not count. Nothing is added
 * to a list: when the last engine refuses, there is no plan. Deterministic, as the engines are. */
#ifndef ROUTING_CHOICE_H
#define ROUTING_CHOICE_H

#include <glib.h>

#include "routing/plan.h"

/* 0, or EINVAL with one line in error: an unknown name, one that is empty, or one given twice. */
int rt_choice_check(const char *names, char *error, size_t error_size);

/* Checks the list first, then tries the engines in turn. Each that refuses, or that needs more VLs
 * than o->max_vls, appends a line "ENGINE: why" to refusals (char * for g_free; NULL = nobody wants
 * them), also when a later one succeeds: whoever calls announces the fallback.
 * Returns 0 with the plan, and the engine in *used (used may be NULL); EINVAL as rt_choice_check;
 * ENOTSUP with one line of all the reasons in error. o may be NULL. */
int rt_prepare_first(struct rt_graph *g, const char *names, const struct rt_options *o,
                     const struct rt_engine **used, struct rt_plan **plan, GPtrArray *refusals,
                     char *error, size_t error_size);

#endif
