/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_PRIVATE_H
#define STATUS_PRIVATE_H

/**
 * @file status_private.h
 * Parts of mod_status: data from the scoreboard (status_data.c), and its
 * three formats: HTML (status_html.c), "?auto" (status_auto.c) and "?json" (status_json.c).
 * status_memory.c adds figures of its own.
 */
#include "httpd.h"
#include "scoreboard.h"
#include "brigade/status.h"

/** One server process, its threads counted by state. */
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
    const struct brg_figures *figures; /**< of the whole server; zeros where there are none */
    uint64_t waited_n;   /**< requests that had to wait since all worker threads were at work */
    const char *ways;    /**< bytes by the way they went: "memory 12, sendfile 0, ..." */
    const char *locks;   /**< how often threads waited for locks, in the same form; NULL: never */
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
void status_write_page(request_rec *r, const status_snapshot *snap, int flags);
void status_write_auto(request_rec *r, const status_snapshot *snap, int flags);
void status_write_json(request_rec *r, const status_snapshot *snap);

/** Write "key":"value", escaped; NULL as "". */
void status_json_string(request_rec *r, const char *key, const char *value);

/** The same behind another member: with a comma in front. */
void status_json_next(request_rec *r, const char *key, const char *value);

/** Write [1,2,...]. */
void status_json_numbers(request_rec *r, const uint64_t *n, size_t count);

/** One figure of a part of the server: a row of the table that all its shapes are written from. */
typedef struct status_figure {
    const char *name;  /**< JSON and Prometheus */
    const char *title; /**< HTML and "?auto" */
    const char *help;  /**< Prometheus, and shown where HTML is pointed at */
    int counts_up;     /**< a counter, not a gauge */
    size_t offset;     /**< of a uint64_t in the part's structure */
} status_figure;

/** A table of them for structures of one type. */
typedef struct status_figures {
    const status_figure *figure;
    int n;
    const char *family; /**< of Prometheus: the text before "_" and the name */
} status_figures;

/** The figures of @a from, a structure of the table's type, in each shape. (status_figures.c) */
void status_figures_json(request_rec *r, const status_figures *table, const void *from);
/** Lines "PREFIX TITLE: value"; the prefix ends with its separator. */
void status_figures_auto(request_rec *r, const status_figures *table, const char *prefix,
                         const void *from);
/** Bytes with a unit, for people. In @a p */
const char *status_size_text(apr_pool_t *p, double bytes);

/** The tag that begins a table: of the pages of ours their style draws the lines. */
const char *status_table(request_rec *r);
void status_figures_html(request_rec *r, const status_figures *table, const void *from);
void status_figures_html_head(request_rec *r, const status_figures *table);

/** Two lines in front of the samples of figure @a i, as /metrics has them; and a sample of this process.
 * @param labels  further ones, each with a comma before it, or "" */
void status_figures_family(request_rec *r, const status_figures *table, int i);
void status_figures_sample(request_rec *r, const status_figures *table, int i, const char *labels,
                           const void *from);

/** Figures of the server's own, behind those of all parts in the page and in "?auto". */
typedef struct status_section {
    int (*is_there)(request_rec *r);
    void (*write_auto)(request_rec *r), (*write_html)(request_rec *r);
} status_section;

/** Figures that an administrator reads and resets by "?NAME=...". */
typedef struct status_part {
    const char *was_reset; /**< text of the response to "reset" */
    int (*counted)(void);  /**< 0: the figures are not kept, by the configuration */
    /** count from 0 again, in this server process; NULL: nothing is counted */
    void (*reset)(void);
    void (*write_json)(request_rec *r);
    void (*write_prometheus)(request_rec *r);
} status_part;

/**
 * Answer "?NAME=WORD": "json" and "prometheus" to GET, "reset" to POST. (status_figures.c)
 * @return as handlers do; HTTP_NOT_FOUND if the figures are not kept or @a what is another word
 */
int status_part_handle(request_rec *r, const status_part *part, const char *what);

/** Let other modules add their part. @param flags AP_STATUS_... */
void status_run_hooks(request_rec *r, int flags);

#endif
