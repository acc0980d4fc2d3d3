/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_WATCHDOG_H
#define MOD_WATCHDOG_H

/** @file mod_watchdog.h  Threads that call back at intervals, in each process or in one of them. */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "ap_provider.h"

#include "apr.h"
#include "apr_strings.h"
#include "apr_pools.h"
#include "apr_shm.h"
#include "apr_hash.h"
#include "apr_hooks.h"
#include "apr_optional.h"
#include "apr_file_io.h"
#include "apr_time.h"
#include "apr_thread_proc.h"
#include "apr_global_mutex.h"
#include "apr_thread_mutex.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names of the two that always are there. */
#define AP_WATCHDOG_SINGLETON "_singleton_"
#define AP_WATCHDOG_DEFAULT "_default_"

/* Default interval and step, microseconds. */
#define AP_WD_TM_INTERVAL APR_TIME_C(1000000)
#define AP_WD_TM_SLICE APR_TIME_C(100000)

/* Why a callback is called. */
#define AP_WATCHDOG_STATE_STARTING 1
#define AP_WATCHDOG_STATE_RUNNING 2
#define AP_WATCHDOG_STATE_STOPPING 3

typedef struct ap_watchdog_t ap_watchdog_t;

#ifndef AP_WD_DECLARE
/** How functions and data of mod_watchdog are declared. */
#define AP_WD_DECLARE(type) AP_DECLARE(type)
#define AP_WD_DECLARE_NONSTD(type) AP_DECLARE(type)
#define AP_WD_DECLARE_DATA AP_DECLARE_DATA
#endif

/** On the watchdog's thread. Other than APR_SUCCESS: do not call again. */
typedef apr_status_t ap_watchdog_callback_fn_t(int state, void *data, apr_pool_t *pool);

/** Find or make one. @a parent: in the supervisor; @a singleton: in one process only. */
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_watchdog_get_instance,
                        (ap_watchdog_t * *watchdog, const char *name, int parent, int singleton,
                         apr_pool_t *p));
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_watchdog_register_callback,
                        (ap_watchdog_t * watchdog, apr_interval_time_t interval, const void *data,
                         ap_watchdog_callback_fn_t *callback));
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_watchdog_set_callback_interval,
                        (ap_watchdog_t * w, apr_interval_time_t interval, const void *data,
                         ap_watchdog_callback_fn_t *callback));

/** Start that one? First that does not decline. */
APR_DECLARE_EXTERNAL_HOOK(ap, AP_WD, int, watchdog_need,
                          (server_rec * s, const char *name, int parent, int singleton))
/* On its thread: begins, ends, makes a step. Run all. */
APR_DECLARE_EXTERNAL_HOOK(ap, AP_WD, int, watchdog_init,
                          (server_rec * s, const char *name, apr_pool_t *pool))
APR_DECLARE_EXTERNAL_HOOK(ap, AP_WD, int, watchdog_exit,
                          (server_rec * s, const char *name, apr_pool_t *pool))
APR_DECLARE_EXTERNAL_HOOK(ap, AP_WD, int, watchdog_step,
                          (server_rec * s, const char *name, apr_pool_t *pool))

#ifdef __cplusplus
}
#endif
#endif
