/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: counts the calls by which a program takes locks, in the first 8 bytes of the file
 * that LOCKS_FILE names, for all its processes. Locks inside of libc (malloc's) are not seen; those
 * show as system calls where they make anybody wait.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic unsigned long *locks;
static _Atomic unsigned long nowhere;

__attribute__((constructor)) static void locks_begin(void)
{
    const char *path = getenv("LOCKS_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *locks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    locks = at != MAP_FAILED ? at : &nowhere;
    if (fd >= 0)
        close(fd);
}

#define COUNTED(name, type)                                             \
    int name(type *lock)                                                \
    {                                                                   \
        static int (*real)(type *);                                     \
                                                                        \
        if (!real)                                                      \
            *(void **)(&real) = dlsym(RTLD_NEXT, #name);                \
        atomic_fetch_add_explicit(locks ? locks : &nowhere, 1, memory_order_relaxed); \
        return real(lock);                                              \
    }

COUNTED(pthread_mutex_lock, pthread_mutex_t)
COUNTED(pthread_mutex_trylock, pthread_mutex_t)
COUNTED(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTED(pthread_rwlock_wrlock, pthread_rwlock_t)

int pthread_spin_lock(pthread_spinlock_t *lock)
{
    static int (*real)(pthread_spinlock_t *);

    if (!real)
        *(void **)(&real) = dlsym(RTLD_NEXT, "pthread_spin_lock");
    atomic_fetch_add_explicit(locks ? locks : &nowhere, 1, memory_order_relaxed);
    return real(lock);
}
