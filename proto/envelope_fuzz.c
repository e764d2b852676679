/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target of envelope_decode: whatever decodes can be packed and read again. */
#include <stdlib.h>

#include <glib.h>

#include "proto/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct envelope e, again;
    char error[128];
    uint8_t *bytes;
    size_t len;
    if (envelope_decode(data, size, &e, error, sizeof error) != 0)
        return 0;
    if (envelope_encode(&e, &bytes, &len) == 0) {
        if (envelope_decode(bytes, len, &again, error, sizeof error) != 0)
            abort();
        envelope_clear(&again);
        g_free(bytes);
    }
    envelope_clear(&e);
    return 0;
}
