/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROCESS_H
#define BRIGADE_PROCESS_H

/**
 * @file brigade/process.h
 * Utility functions of the core for the process: assertions, memory, chance, load, threads. Part of httpd.h.
 */
#include "apr_version.h"
#include "brigade/records.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Process, memory, chance --------------------------------------------------------------------------- */

/** Log and abort: for ap_assert. */
AP_DECLARE(void)
ap_log_assert(const char *szExp, const char *szFile, int nLine) __attribute__((noreturn));
#define ap_assert(exp) ((exp) ? (void)0 : ap_log_assert(#exp, __FILE__, __LINE__))
#ifdef AP_DEBUG
#define AP_DEBUG_ASSERT(exp) ap_assert(exp)
#else
#define AP_DEBUG_ASSERT(exp) ((void)0)
#endif

/* Points at which a debugging build may stop itself. */
#define SIGSTOP_DETACH 1
#define SIGSTOP_MAKE_CHILD 2
#define SIGSTOP_SPAWN_CHILD 4
#define SIGSTOP_PIPED_LOG_SPAWN 8
#define SIGSTOP_CGI_CHILD 16
#define RAISE_SIGSTOP(x)

/** Say so on stderr and end the process: exit status 1, no core file. */
AP_DECLARE(void) ap_abort_on_oom(void) __attribute__((noreturn));
/* As libc's, but they do not return NULL. Free with free(). */
AP_DECLARE(void *) ap_malloc(size_t size) __attribute__((malloc)) AP_FN_ATTR_ALLOC_SIZE(1);
AP_DECLARE(void *)
ap_calloc(size_t nelem, size_t size) __attribute__((malloc)) AP_FN_ATTR_ALLOC_SIZE2(1, 2);
AP_DECLARE(void *)
ap_realloc(void *ptr, size_t size) AP_FN_ATTR_WARN_UNUSED_RESULT AP_FN_ATTR_ALLOC_SIZE(2);

/* Not for secrets. */
AP_DECLARE(void) ap_random_insecure_bytes(void *buf, apr_size_t size);
AP_DECLARE(apr_uint32_t) ap_random_pick(apr_uint32_t min, apr_uint32_t max);

AP_DECLARE(void) ap_get_sload(ap_sload_t *ld);
AP_DECLARE(void) ap_get_loadavg(ap_loadavg_t *ld);
/** First line that a command writes, or NULL. Starts a process and waits. */
AP_DECLARE(char *) ap_get_exec_line(apr_pool_t *p, const char *cmd, const char *const *argv);
/** This machine's full name. May ask the resolver. */
AP_DECLARE(char *) ap_get_local_host(apr_pool_t *p);

/** Status with which a process says that it need not be started again. */
#define AP_NORESTART APR_OS_START_USEERR + 1

/* ---- Threads ------------------------------------------------------------------------------------------- */

#if APR_HAS_THREADS
#if APR_VERSION_AT_LEAST(1, 8, 0) && !defined(AP_NO_THREAD_LOCAL)
/* APR knows the current thread itself. */
#if APR_HAS_THREAD_LOCAL
#define AP_HAS_THREAD_LOCAL 1
#define AP_THREAD_LOCAL APR_THREAD_LOCAL
#else
#define AP_HAS_THREAD_LOCAL 0
#endif
#define ap_thread_create apr_thread_create
#define ap_thread_current apr_thread_current
#define ap_thread_current_create apr_thread_current_create
#define ap_thread_current_after_fork apr_thread_current_after_fork
#else
#ifndef AP_NO_THREAD_LOCAL
#ifdef __cplusplus
#define AP_THREAD_LOCAL thread_local
#else
#define AP_THREAD_LOCAL _Thread_local
#endif
#endif
#ifdef AP_THREAD_LOCAL
#define AP_HAS_THREAD_LOCAL 1
/** apr_thread_create, and the thread can find itself with ap_thread_current(). */
AP_DECLARE(apr_status_t)
ap_thread_create(apr_thread_t **thread, apr_threadattr_t *attr, apr_thread_start_t func, void *data,
                 apr_pool_t *pool);
#else
#define AP_HAS_THREAD_LOCAL 0
#define ap_thread_create apr_thread_create
#endif
/** An apr_thread_t for the calling thread, which APR did not start. */
AP_DECLARE(apr_status_t)
ap_thread_current_create(apr_thread_t **current, apr_threadattr_t *attr, apr_pool_t *pool);
AP_DECLARE(void) ap_thread_current_after_fork(void);
/** The calling thread, or NULL. */
AP_DECLARE(apr_thread_t *) ap_thread_current(void);
#endif
/** An apr_thread_t for the main thread. */
AP_DECLARE(apr_status_t) ap_thread_main_create(apr_thread_t **thread, apr_pool_t *pool);
#else
#define AP_HAS_THREAD_LOCAL 0
#endif

#ifdef __cplusplus
}
#endif
#endif
