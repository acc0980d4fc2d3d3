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
        uint32_t len, again_len;
        const char *sorted = cached_head_write(p, head.line, head.head.field, head.head.n, &len);
        const char *again;

        for (uint32_t i = 0; i < head.head.n; i++)
            if (strlen(head.head.field[i].value) != head.head.field[i].value_len)
                abort();
        /* What is written is read, and in order already. */
        if (len > size || cached_head_read(p, sorted, len, &head))
            abort();
        again = cached_head_write(p, head.line, head.head.field, head.head.n, &again_len);
        if (len != again_len || memcmp(again, sorted, len))
            abort();
    }
    free(bytes);
    apr_pool_destroy(p);
    return 0;
}
