/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that memcached (protocol.txt, "Retrieval command") and Redis (RESP2, "bulk strings") begin a value with. */
#include "socache_client.h"
#include <string.h>

#define REPLY_MOST ((apr_int64_t)1 << 40)

/* Digits up to their end. @return -1: none, or too large a number */
static apr_int64_t reply_number(const char **p)
{
    apr_int64_t n = 0;
    const char *begin = *p;

    for (; **p >= '0' && **p <= '9'; ++*p)
        if ((n = n * 10 + (**p - '0')) > REPLY_MOST)
            return -1;
    return *p == begin ? -1 : n;
}

apr_int64_t socache_memcache_value(const char *line, const char *key)
{
    const size_t len = strlen(key);
    apr_int64_t n;

    if (strncmp(line, "VALUE ", 6) != 0 || strncmp(line + 6, key, len) != 0 || line[6 + len] != ' ')
        return -1;
    line += 6 + len + 1;
    if (reply_number(&line) < 0 || *line++ != ' ' || (n = reply_number(&line)) < 0)
        return -1;
    return !*line ? n : -1;
}

apr_int64_t socache_redis_value(const char *line)
{
    apr_int64_t n;

    if (*line++ != '$')
        return -2;
    if (!strcmp(line, "-1"))
        return -1;
    n = reply_number(&line);
    return n < 0 || *line ? -2 : n;
}
