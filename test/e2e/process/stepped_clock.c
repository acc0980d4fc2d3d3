/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: the date is ahead of the machine's by the seconds that stand in the file $STEP_FILE
 * (eight bytes, of the machine's order), which a test may change at any time. Other clocks go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *step;

__attribute__((constructor)) static void step_open(void)
{
    const char *name = getenv("STEP_FILE");
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *step, PROT_READ, MAP_SHARED, fd, 0);

    if (p != MAP_FAILED)
        step = p;
    if (fd >= 0)
        close(fd);
}

static int64_t step_now(void)
{
    return step ? *step : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    static int (*next)(clockid_t, struct timespec *);
    int rc;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    rc = next(id, t);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += step_now();
    return rc;
}

int gettimeofday(struct timeval *t, void *zone)
{
    static int (*next)(struct timeval *, void *);
    int rc;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "gettimeofday");
    rc = next(t, zone);
    if (rc == 0)
        t->tv_sec += step_now();
    return rc;
}

time_t time(time_t *out)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
