/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of open descriptors: raised for the server, restored for programs. */
#include "descriptor_limit.h"

#include "brigade/assert.h"

#include <pthread.h>

#define LIMIT_UNKNOWN 1024 /* where getrlimit() fails: the limit of most systems */

static struct rlimit limit_at_start;

/* In the child, between fork and exec: setrlimit() is one system call, and safe there. */
static void limit_restore(void)
{
    struct rlimit now;

    BRG_ASSERT(limit_at_start.rlim_cur <= limit_at_start.rlim_max);
    if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_max >= limit_at_start.rlim_cur) {
        now.rlim_cur = limit_at_start.rlim_cur;
        setrlimit(RLIMIT_NOFILE, &now);
    }
}

rlim_t descriptor_limit_raise(void)
{
    static int handler_added;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return LIMIT_UNKNOWN;
    if (limit.rlim_cur == limit.rlim_max)
        return limit.rlim_cur;
    BRG_ASSERT(limit.rlim_cur < limit.rlim_max);
    limit_at_start = limit;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return limit_at_start.rlim_cur;
    if (!handler_added)
        handler_added = pthread_atfork(NULL, NULL, limit_restore) == 0;
    return limit.rlim_cur;
}
