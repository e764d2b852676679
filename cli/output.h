/* SPDX-License-Identifier: BSD-2-Clause */
/* Results, as text for people or as JSON for machines: one table of functions each.
 *
 * The keys of the JSON are in README.md and are kept: a key may be added, none changes its meaning.
 * GUIDs, boot ids and incarnations are strings ("0x" and 16 hexadecimal digits): JSON's numbers
 * have 53 bits. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/nodes.h"
#include "cli/report.h"

struct output {
    void (*status)(FILE *out, const Heddle__Status *s);
    void (*shards)(FILE *out, const Heddle__Status *s);
    void (*domains)(FILE *out, const Heddle__Status *s);
    void (*nodes)(FILE *out, const GArray *rows);        /* struct node_row */
    void (*problems)(FILE *out, const GArray *problems); /* struct port_problem */
    void (*route)(FILE *out, const Heddle__Route *r);
    void (*check)(FILE *out, const struct check_report *r);
};

extern const struct output output_text, output_json;

static inline const struct output *output_of(const struct cli *c)
{
    return c->json ? &output_json : &output_text;
}

#endif
