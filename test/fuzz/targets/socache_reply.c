/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of memcached and Redis.
 * Covers: modules/socache/socache_reply.c */
#include "socache_client.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    apr_int64_t n;

    if (!line)
        abort();
    if (size)
        memcpy(line, data, size);
    line[size] = '\0';
    n = socache_memcache_value(line, "a:1");
    if (n < -1 || n > (apr_int64_t)1 << 40)
        abort();
    n = socache_redis_value(line);
    if (n < -2 || n > (apr_int64_t)1 << 40)
        abort();
    free(line);
    return 0;
}
