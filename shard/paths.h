/* SPDX-License-Identifier: BSD-2-Clause */
/* Directed routes from this shard's port to switches.
 *
 * What is known of the links comes from three sources, the first that knows a switch wins: the
 * view, what this shard scanned itself (switches that it does not own but had to pass), and hints
 * (the graph that the coordinator was told). Routes are shortest, ties by port number, found by one
 * breadth-first search that is repeated only after a change.
 *
 * A link may be dead without anybody's having seen it, and whoever should see it may have no other
 * route than over that link. So the links of a route that was not answered are suspect for a while:
 * they are taken only where nothing else leads. */
#ifndef SHARD_PATHS_H
#define SHARD_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "shard/mad/smp.h"

struct shard_core;
struct paths;

struct path_link { /* a live link of a switch to another switch */
    uint64_t peer;
    uint8_t port;
    uint8_t peer_port;
};

struct paths *paths_create(void);
void paths_destroy(struct paths *p);

void paths_changed(struct shard_core *c); /* links of the view may be others now */
/* Links (struct path_link) of a switch as scanned or as hinted; takes the array over. */
void paths_learn_scan(struct shard_core *c, uint64_t guid, GArray *links);
void paths_learn_hint(struct shard_core *c, uint64_t guid, GArray *links);
/* Notes a link between two switches, seen from its first end, for paths_seen_link. */
void paths_saw_link(struct shard_core *c, uint64_t guid, unsigned port, uint64_t peer,
                    unsigned peer_port);
/* What is behind this port, as seen from either end since the cold start began. */
bool paths_seen_link(const struct shard_core *c, uint64_t guid, unsigned port,
                     struct path_link *link);
/* The cold start is over: from now on each end is asked. */
void paths_forget_seen(struct shard_core *c);
/* What was found behind a path is not what a hint said: forget hints and scans of this switch. */
void paths_forget(struct shard_core *c, uint64_t guid);
bool paths_knows_links(const struct shard_core *c, uint64_t guid);

/* The route to port 0 of a switch; false when none is known. */
bool paths_to_switch(struct shard_core *c, uint64_t guid, struct dr_path *path);
/* A request over this route was not answered. Appends the GUIDs (uint64_t) of the switches that it
 * passes to passed, the nearest first. */
void paths_way_failed(struct shard_core *c, const struct dr_path *path, GArray *passed);
/* It was answered: its links are good. */
void paths_way_worked(struct shard_core *c, const struct dr_path *path);
/* GUIDs of all switches that a route is known to, nearest first. Valid until the next change. */
const GArray *paths_reached(struct shard_core *c);

#endif
