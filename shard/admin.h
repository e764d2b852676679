/* SPDX-License-Identifier: BSD-2-Clause */
/* What operators may ask a shard: the whole view, the route between two ports. */
#ifndef SHARD_ADMIN_H
#define SHARD_ADMIN_H

#include "shard/core.h"

/* True when the message was an operator's question (answered, or refused with a reason). */
bool admin_message(struct shard_core *c, enum shard_channel channel, const char *peer,
                   const struct envelope *m);

#endif
