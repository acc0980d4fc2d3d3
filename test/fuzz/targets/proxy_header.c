/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of the PROXY protocol: whatever comes, in whatever pieces. A header is complete with one byte only, no piece of
 * a good one is bad, and what follows it does not matter.
 * Covers: server/remoteip/proxy_header.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_copy(const uint8_t *data, size_t size, proxy_source *source)
{
    unsigned char *copy = malloc(size ? size : 1); /* so that a read behind its end is seen */
    const char *why = NULL;
    int rc;

    if (!copy)
        abort();
    memcpy(copy, data, size);
    rc = proxy_header_read(copy, size, source, &why);
    if (rc < 0 && !why)
        abort();
    free(copy);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t most = size < PROXY_HEADER_KEEP ? size : PROXY_HEADER_KEEP;
    proxy_source all, part;
    const int rc = read_copy(data, most, &all);

    if (rc > PROXY_HEADER_MOST || (rc > 0 && all.family && rc < 16))
        abort();
    for (size_t n = 0; n < most; n++) {
        const int one = read_copy(data, n, &part);

        if (rc >= 0 && one < 0)
            abort();
        if (rc == 0 && one != 0)
            abort();
        if (one > 0 && (one != rc || memcmp(&part, &all, sizeof part) != 0))
            abort();
    }
    return 0;
}
