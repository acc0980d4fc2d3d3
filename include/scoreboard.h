/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_SCOREBOARD_H
#define APACHE_SCOREBOARD_H

/**
 * @file scoreboard.h The state of each worker of each server process, in memory shared by all of
 * them. A slot is written by its own worker and read by any process without a lock: readers may see
 * a half-updated one.
 */
#include <sys/time.h>
#include <sys/times.h>

#include "ap_config.h"
#include "http_config.h"
#include "apr_thread_proc.h"
#include "apr_portable.h"
#include "apr_shm.h"
#include "apr_optional.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DEFAULT_SCOREBOARD
/** ScoreBoardFile where the configuration has none. */
#define DEFAULT_SCOREBOARD "logs/apache_runtime_status"
#endif

/* worker_score.status */
#define SERVER_DEAD 0
#define SERVER_STARTING 1
#define SERVER_READY 2 /**< waits for work */
#define SERVER_BUSY_READ 3
#define SERVER_BUSY_WRITE 4
#define SERVER_BUSY_KEEPALIVE 5
#define SERVER_BUSY_LOG 6
#define SERVER_BUSY_DNS 7
#define SERVER_CLOSING 8
#define SERVER_GRACEFUL 9 /**< finishing its last request */
#define SERVER_IDLE_KILL 10
#define SERVER_NUM_STATUS 11

/** Counts restarts. */
typedef int ap_generation_t;

/** Whether server processes share the scoreboard. */
typedef enum {
    SB_NOT_SHARED = 1,
    SB_SHARED = 2
} ap_scoreboard_e;

/** The state of one thread, see below. */
typedef struct worker_score worker_score;
/** One worker. Strings end with NUL, cut if need be. */
struct worker_score {
#if APR_HAS_THREADS
    apr_os_thread_t tid;
#endif
    int thread_num;
    pid_t pid;
    ap_generation_t generation;
    unsigned char status; /**< SERVER_* */
    unsigned short conn_count; /**< requests on this connection */
    apr_off_t conn_bytes;
    unsigned long access_count; /**< by this slot, as the next */
    apr_off_t bytes_served;
    unsigned long my_access_count; /**< by this worker, as the next */
    apr_off_t my_bytes_served;
    apr_time_t start_time;
    apr_time_t stop_time;
    apr_time_t last_used;
#ifdef HAVE_TIMES
    struct tms times;
#endif
    char client[32]; /**< cut; see client64 */
    char request[64];
    char vhost[32];
    char protocol[16];
    apr_time_t duration;
    char client64[64];
};

/** The server as a whole. */
typedef struct {
    int server_limit; /**< processes */
    int thread_limit; /**< workers in each */
    ap_generation_t running_generation;
    apr_time_t restart_time;
#ifdef HAVE_TIMES
    struct tms times;
#endif
} global_score;

/** The state of one server process, see below. */
typedef struct process_score process_score;
/** One server process. */
struct process_score {
    pid_t pid;
    ap_generation_t generation;
    char quiescing;
    char not_accepting;
    apr_uint32_t connections; /**< in all; then by state */
    apr_uint32_t write_completion;
    apr_uint32_t lingering_close;
    apr_uint32_t keep_alive;
    apr_uint32_t suspended;
    int bucket; /**< which set of listening sockets */
    apr_uint32_t wait_io;
};

/** The whole, in shared memory. */
typedef struct {
    global_score *global;
    process_score *parent;  /**< by process */
    worker_score **servers; /**< by process, then worker */
} scoreboard;

/** The place of one thread; its inside is the server's. */
typedef struct ap_sb_handle_t ap_sb_handle_t;

/** The scoreboard, NULL before it is made. */
AP_DECLARE_DATA extern scoreboard *ap_scoreboard_image;
/** ScoreBoardFile. */
AP_DECLARE_DATA extern const char *ap_scoreboard_fname;
/** ExtendedStatus. */
AP_DECLARE_DATA extern int ap_extended_status;
/** SeeRequestTail. */
AP_DECLARE_DATA extern int ap_mod_status_reqtail;

/* Making it: by the supervisor, at each start. */
AP_DECLARE(int) ap_create_scoreboard(apr_pool_t *p, ap_scoreboard_e t);
/** A cleanup that frees it. */
AP_DECLARE(apr_status_t) ap_cleanup_scoreboard(void *d);
/** 1 if it was made. */
AP_DECLARE(int) ap_exists_scoreboard_image(void);
/** Attach to another process's scoreboard. */
AP_DECLARE(apr_status_t) ap_reopen_scoreboard(apr_pool_t *p, apr_shm_t **shm, int detached);
/** Lay it out in memory of ap_calc_scoreboard_size() bytes. */
AP_DECLARE(void) ap_init_scoreboard(void *shared_score);
/** Bytes that it needs, by the MPM's limits. */
AP_DECLARE(int) ap_calc_scoreboard_size(void);

/* A worker's own slot. */
AP_DECLARE(void)
ap_create_sb_handle(ap_sb_handle_t **new_sbh, apr_pool_t *p, int child_num, int thread_num);
/** Let a handle stand for another place. */
AP_DECLARE(void) ap_update_sb_handle(ap_sb_handle_t *sbh, int child_num, int thread_num);
/** Count a request that was answered. */
AP_DECLARE(void) ap_increment_counts(ap_sb_handle_t *sbh, request_rec *r);
/** Note how many requests the connection has had. */
AP_DECLARE(void) ap_set_conn_count(ap_sb_handle_t *sb, request_rec *r, unsigned short conn_count);
/* Set its status and return the old one. */
AP_DECLARE(int) ap_update_child_status(ap_sb_handle_t *sbh, int status, request_rec *r);
/** The same for a place by its numbers. */
AP_DECLARE(int)
ap_update_child_status_from_indexes(int child_num, int thread_num, int status, request_rec *r);
/** The same with the client of a connection. */
AP_DECLARE(int) ap_update_child_status_from_conn(ap_sb_handle_t *sbh, int status, conn_rec *c);
/** The same with a server, before there is a request. */
AP_DECLARE(int)
ap_update_child_status_from_server(ap_sb_handle_t *sbh, int status, conn_rec *c, server_rec *s);
/** The same with a text in the place of the request. */
AP_DECLARE(int) ap_update_child_status_descr(ap_sb_handle_t *sbh, int status, const char *descr);
/* START_PREQUEST or STOP_PREQUEST: now, or at given times. */
AP_DECLARE(void) ap_time_process_request(ap_sb_handle_t *sbh, int status);
/** Note when a request of another place began or ended. */
AP_DECLARE(void)
ap_set_time_process_request(ap_sb_handle_t *const sbh, const apr_time_t timebeg,
                            const apr_time_t timeend);
/** @a status of the functions above. */
#define START_PREQUEST 1
#define STOP_PREQUEST 2

/* Reading. NULL where there is no such slot. */
AP_DECLARE(int) ap_update_global_status(void);
AP_DECLARE(int) ap_find_child_by_pid(apr_proc_t *pid); /**< -1: not one of ours */
/** The entry that a handle stands for. */
AP_DECLARE(worker_score *) ap_get_scoreboard_worker(ap_sb_handle_t *sbh);
/** The entry of a place, NULL if out of range. */
AP_DECLARE(worker_score *) ap_get_scoreboard_worker_from_indexes(int child_num, int thread_num);
/** A consistent enough copy. */
AP_DECLARE(void) ap_copy_scoreboard_worker(worker_score *dest, int child_num, int thread_num);
/** The entry of a process, NULL if out of range. */
AP_DECLARE(process_score *) ap_get_scoreboard_process(int x);
/** The entry of the whole server. */
AP_DECLARE(global_score *) ap_get_scoreboard_global(void);

/* Directives ScoreBoardFile, ExtendedStatus, SeeRequestTail. */
AP_DECLARE(const char *) ap_set_scoreboard(cmd_parms *cmd, void *dummy, const char *arg);
/** ExtendedStatus. */
AP_DECLARE(const char *) ap_set_extended_status(cmd_parms *cmd, void *dummy, int arg);
/** SeeRequestTail. */
AP_DECLARE(const char *) ap_set_reqtail(cmd_parms *cmd, void *dummy, int arg);

/** The scoreboard is about to be made. Run all. */
AP_DECLARE_HOOK(int, pre_mpm, (apr_pool_t *p, ap_scoreboard_e sb_type))

#ifdef __cplusplus
}
#endif
#endif
