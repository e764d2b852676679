/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target: reads any bytes as a fabric and as a node name map; what is read as a fabric
 * must be written and read back without an error.
 *
 * fabric_fuzz -max_total_time=60 DIR, a copy of testdata/, into which it writes new inputs. */
#include <stdlib.h>

#include "fabric/names.h"
#include "fabric/read.h"
#include "fabric/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read_back(const struct fabric *f, struct fabric_messages *messages)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out || fabric_write(f, out) != 0)
        abort();
    fclose(out);
    struct fabric *back = fabric_read_text("written", text, len, messages);
    if (!back || fabric_count(back).links != fabric_count(f).links)
        abort();
    fabric_destroy(back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_read_text("fuzz", (const char *)data, size, messages);
    if (!f && fabric_messages_count(messages, true) == 0)
        abort();
    if (f)
        write_and_read_back(f, messages);
    fabric_destroy(f);
    fabric_names_destroy(fabric_names_read_text("map", (const char *)data, size, messages));
    fabric_messages_destroy(messages);
    return 0;
}
