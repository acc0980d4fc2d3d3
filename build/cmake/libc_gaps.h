/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server calls of the GNU C library's and musl has not. The build puts this before each file where close_range() is
 * missing (build/cmake/BrigadeOptions.cmake); `build/bases` compiles with it (the scene musl).
 */
#ifndef BRIGADE_LIBC_GAPS_H
#define BRIGADE_LIBC_GAPS_H

#include <semaphore.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel tells the mount behind the numbers of the device; musl's structure has room there, without a name. */
#if defined(STATX_TYPE) && !defined(STATX_MNT_ID)
#define STATX_MNT_ID 0x1000u
#define stx_mnt_id __pad1[0]
#endif

static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

/* musl's semaphores wait by the date alone. A date that is set meanwhile makes this wait shorter or longer. */
static inline int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    struct timespec now, date;

    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &date);
    date.tv_sec += until->tv_sec - now.tv_sec;
    date.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (date.tv_nsec < 0) {
        date.tv_nsec += 1000000000;
        date.tv_sec--;
    } else if (date.tv_nsec >= 1000000000) {
        date.tv_nsec -= 1000000000;
        date.tv_sec++;
    }
    return sem_timedwait(semaphore, &date);
}

#endif
