/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_CALL_FAULTS_H
#define BRIGADE_TEST_CALL_FAULTS_H
/*
 * Faults in the functions of a library, for tests: the body of a library to be preloaded under a server. It makes the
 * chosen calls of a function fail. The file that includes this has defined CALL_FAULTS(X):
 * X(result, what it returns when it fails, name, parameters, arguments) for each function, and may add allocations by
 * call_fault_now(CF_malloc).
 *
 * BRIGADE_CALL_FAULTS names a file of sizeof(struct call_control) bytes which the test and the processes of the server map
 * (call_faults.py has the other side). BRIGADE_CALL_FAULT=NAME:FIRST arms it from the start. With
 * BRIGADE_CALL_FAULTS_SHOW the error log gets the place of each.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALL_FAULT_NAME 40
#define CALL_FAULT_MAGIC 0x43464c54u

#define CALL_FAULT_ID(result, failed, name, params, args) CF_##name,
enum { CF_malloc, CALL_FAULTS(CALL_FAULT_ID) CF_N };

struct call_control {
    uint32_t magic, calls_n;
    _Atomic uint32_t armed;
    uint32_t call;
    uint64_t first, last; /* of its calls since it was armed, from 1 */
    _Atomic uint64_t seen, hits;
    _Atomic uint64_t counts[64];
    char names[64][CALL_FAULT_NAME];
};

static struct call_control *call_faults;
static int call_faults_shown; /* $BRIGADE_CALL_FAULTS_SHOW: where it was, in the error log */

static int call_fault_now(uint32_t call)
{
    uint64_t n;

    if (!call_faults)
        return 0;
    atomic_fetch_add(&call_faults->counts[call], 1);
    if (!atomic_load(&call_faults->armed) || call_faults->call != call)
        return 0;
    n = atomic_fetch_add(&call_faults->seen, 1) + 1;
    if (n < call_faults->first || n > call_faults->last)
        return 0;
    if (atomic_fetch_add(&call_faults->hits, 1) == 0 && call_faults_shown) {
        void *frames[30];

        backtrace_symbols_fd(frames, backtrace(frames, 30), 2);
    }
    errno = ENOMEM;
    return 1;
}

#define CALL_FAULT_WRAP(result, failed, name, params, args)              \
    result name params                                                   \
    {                                                                    \
        static result(*next) params;                                     \
        if (!next)                                                       \
            next = (result(*) params)(uintptr_t)dlsym(RTLD_NEXT, #name); \
        return call_fault_now(CF_##name) ? failed : next args;           \
    }
CALL_FAULTS(CALL_FAULT_WRAP)

static void call_fault_arm(const char *what)
{
    const char *colon = what ? strchr(what, ':') : NULL;

    for (uint32_t i = 0; colon && i < CF_N; i++)
        if (strlen(call_faults->names[i]) == (size_t)(colon - what) &&
            !strncmp(call_faults->names[i], what, (size_t)(colon - what))) {
            call_faults->call = i;
            call_faults->first = call_faults->last = strtoull(colon + 1, NULL, 10);
            call_faults->armed = 1;
        }
}

/* To be called by a constructor of the library. */
static void call_faults_begin(void)
{
    static const char *const names[] = {"malloc",
#define CALL_FAULT_TEXT(result, failed, name, params, args) #name,
                                        CALL_FAULTS(CALL_FAULT_TEXT)};
    const char *path = getenv("BRIGADE_CALL_FAULTS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct call_control *block;

    call_faults_shown = getenv("BRIGADE_CALL_FAULTS_SHOW") != NULL;
    unsetenv("LD_PRELOAD");
    if (fd < 0)
        return;
    block = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (block == MAP_FAILED)
        return;
    for (int i = 0; i < CF_N; i++)
        snprintf(block->names[i], CALL_FAULT_NAME, "%s", names[i]);
    block->calls_n = CF_N;
    call_faults = block;
    call_fault_arm(getenv("BRIGADE_CALL_FAULT"));
    block->magic = CALL_FAULT_MAGIC;
}

#endif
