/* SPDX-License-Identifier: Apache-2.0 */
/* A stored head in memory that other processes write to.
 * Covers: server/cached/cached_head.c */
#include "cached_private.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *parent;
    apr_pool_t *p;
    cached_head head;
    char *bytes = malloc(size + 1);

    if (!parent && (apr_initialize() || apr_pool_create(&parent, NULL)))
        abort();
    if (apr_pool_create(&p, parent) || !bytes)
        abort();
    if (size)
        memcpy(bytes, data, size);
    if (!cached_head_read(p, bytes, (uint32_t)size, &head)) {
        uint32_t len;
        const char *again = cached_head_write(p, head.line, head.head.field, head.head.n, &len);

        /* What is read is written the same, but for bytes behind the last field, and lines that are too long. */
        for (uint32_t i = 0; i < head.head.n; i++)
            if (strlen(head.head.field[i].value) != head.head.field[i].value_len)
                abort();
        if (len > size || (memcmp(again, bytes, len) && !(head.line && strlen(head.line) >= 1024)))
            abort();
    }
    free(bytes);
    apr_pool_destroy(p);
    return 0;
}
