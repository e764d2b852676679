/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of jobs: which servers run together, in which order, and what their rails are (jobs.h).
 *
 *    # two jobs on rail-optimised servers
 *    training:  h00001 h00002 h00003,
 *               h00004
 *    inference: "node 17 HCA-1"                              # a name with blanks
 *               0x0002c90300000010                           # a node GUID: all ports of this CA
 *               0x0002c90300000021+0x0002c90300000031        # rails one by one: port GUIDs
 *
 * A word that ends in a colon, first on its line, begins a job; all words up to the next one are
 * its servers, apart from each other by blanks, commas or ends of lines. A server is
 *  - a host's name: all ports of the CAs whose NodeDescription is that, or whose first word is that
 *    ("h00001 mlx5_0", "h00001 mlx5_1"), or is that with "-r" and a number behind it (h00001-r1,
 *    h00001-r2, as generated fabrics have them). Rails are numbered in the order of the fabric's
 *    file: CAs as they stand there, ports by number;
 *  - a GUID, of a CA or of one of its ports;
 *  - several of those joined by +: its rails in this order. Between quotes a + is nothing special.
 * A port may be in a job once, and in as many jobs as one likes. Ports without a cable to a switch
 * are passed over. Text is hostile. */
#ifndef CLI_JOBS_FILE_H
#define CLI_JOBS_FILE_H

#include <glib.h>

#include "fabric/fabric.h"
#include "routing/jobs.h"

#define JOBS_MAX_RAILS 64u /* of a server; a name that stands for more is no host's */
#define JOBS_MAX_JOBS 10000u

struct jobs_file {
    uint32_t count;
    char **names; /* of the jobs, hostile */
    struct rt_job *jobs;
};

/* g is a graph of f. Return NULL with one line "FILE:LINE: what; what to do" in *error (g_free). */
struct jobs_file *jobs_read_text(const char *name, const char *text, gsize len,
                                 const struct fabric *f, const struct rt_graph *g, char **error);
struct jobs_file *jobs_load(const char *path, const struct fabric *f, const struct rt_graph *g,
                            char **error);
void jobs_free(struct jobs_file *j); /* NULL allowed */

#endif
