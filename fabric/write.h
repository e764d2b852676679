/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing fabrics as ibnetdiscover prints them, which ibsim reads as a net file. */
#ifndef FABRIC_WRITE_H
#define FABRIC_WRITE_H

#include <stdio.h>

#include "fabric/fabric.h"

/* Writes switches first, then routers and CAs, each in node order. What fabric_read_text makes of
 * the text equals f in all fields that the format carries. Returns 0 or errno of the stream. */
int fabric_write(const struct fabric *f, FILE *out);

#endif
