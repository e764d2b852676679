/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target: generates from any bytes; what fails says why in one printable line, what works
 * has each cable at both ends.
 *
 * generate_fuzz -max_total_time=60 -max_len=80 DIR, into which it writes new inputs. */
#include <glib.h>
#include <stdlib.h>

#include "fabric/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cables(const struct fabric *f)
{
    struct fabric_counts c = fabric_count(f);
    if (c.ports_cabled != 2 * c.links || c.switches == 0 || c.cas == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *spec = g_strndup((const char *)data, size);
    char error[512] = "";
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    if (f)
        check_cables(f);
    else if (error[0] == '\0')
        abort();
    for (const char *p = error; *p; p++)
        if (!g_ascii_isprint(*p))
            abort();
    fabric_destroy(f);
    return 0;
}
