/* SPDX-License-Identifier: BSD-2-Clause */
/* What `heddle route check` found. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include <stdbool.h>

#include "routing/check.h"

struct check_report {
    char *subject; /* "tables of FILE", "plan of ftree" */
    bool ok;
    uint32_t switches, destinations; /* with a LID */
    uint32_t links;                  /* between switches */
    unsigned vls;                    /* data VLs that the paths use */
    uint32_t without_table;          /* switches whose table was not in the file */
    uint32_t without_lid;            /* ends that no table can name */
    struct rt_check_result result;
    char *findings; /* lines: the first of each kind */
};

#endif
