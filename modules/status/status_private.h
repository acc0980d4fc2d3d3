/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_PRIVATE_H
#define STATUS_PRIVATE_H

/**
 * @file status_private.h
 * Parts of mod_status: what is read from the scoreboard (status_data.c), and its three formats: HTML
 * (status_html.c), "?auto" (status_auto.c) and "?json" (status_json.c). status_memory.c and
 * status_filters.c add figures of their own.
 */
#include "httpd.h"
#include "scoreboard.h"
#include "brigade/status.h"

/** One server process, its threads counted by what they do. */
typedef struct status_process {
    brg_status_process base;
    int busy_n, graceful_n, idle_n;
} status_process;

/** The state of the server as one report shows it, taken at its beginning. */
typedef struct status_snapshot {
    apr_time_t now;
    apr_int64_t uptime_s;
    brg_status_totals totals;
    apr_array_header_t *processes; /**< of status_process */
    int busy_n, graceful_n, idle_n;
    uint64_t waited_n;   /**< requests that had to wait since all worker threads were at work */
    const char *letters; /**< one per thread, all processes */
    ap_loadavg_t load;
    double cpu_user, cpu_system, cpu_children_user, cpu_children_system; /**< seconds */
    int extended;                                                        /**< ExtendedStatus */
} status_snapshot;

/** @return 0, or -1 when there is no scoreboard */
int status_snapshot_take(request_rec *r, status_snapshot *snap);

/** Copy the score of thread @a thread of a process. @return 1 if the thread is in use */
int status_worker_get(const status_process *process, int thread, worker_score *out);

/** Percentage of one processor that the server used since it started. */
double status_cpu_load(const status_snapshot *snap);

/** " 1 day 2 hours ...", as Apache words an uptime; allocated in @a p. */
const char *status_duration(apr_pool_t *p, apr_int64_t seconds);

/** A time as the reports show it. */
const char *status_time(apr_pool_t *p, apr_time_t t);

/** The report in each format. */
void status_write_html(request_rec *r, const status_snapshot *snap, int flags);
void status_write_auto(request_rec *r, const status_snapshot *snap, int flags);
void status_write_json(request_rec *r, const status_snapshot *snap);

/** Write "key":"value", escaped; NULL as "". */
void status_json_string(request_rec *r, const char *key, const char *value);

/** Figures of a part of the server, which an administrator reads and resets by "?NAME=...". */
typedef struct status_figures {
    const char *was_reset; /**< text of the response to "reset" */
    int (*counted)(void);  /**< 0: the figures are not kept, by the configuration */
    void (*reset)(
        void); /**< count from 0 again, in this server process; NULL: nothing is counted */
    void (*write_json)(request_rec *r);
    void (*write_prometheus)(request_rec *r);
} status_figures;

/**
 * Answer "?NAME=what": "json" and "prometheus" to GET, "reset" to POST. (status_figures.c)
 * @return as handlers do; HTTP_NOT_FOUND if the figures are not kept or @a what is none of these
 */
int status_figures_handle(request_rec *r, const status_figures *figures, const char *what);

/** Let other modules add their part. @param flags AP_STATUS_... */
void status_run_hooks(request_rec *r, int flags);

#endif
