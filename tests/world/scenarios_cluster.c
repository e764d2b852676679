/* SPDX-License-Identifier: BSD-2-Clause */
/* Stories of the cluster itself: restarts, takeovers in the middle of something, strangers. */
#include "tests/world/scenarios.h"

const struct scenario scenarios_cluster[] = {
    {NULL, NULL, 0, 0, NULL},
};
