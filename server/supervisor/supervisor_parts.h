/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUPERVISOR_SUPERVISOR_PARTS_H
#define BRIGADE_SUPERVISOR_SUPERVISOR_PARTS_H

/**
 * @file supervisor_parts.h
 * The supervisor and its server processes.
 *
 * supervisor.c          the loop: signals, reloads, the end
 * supervisor_children.c the table of processes: start, reap, tell
 * supervisor_stall.c    loops that stand in one turn
 * supervisor_spare.c    how many processes mpm_prefork has
 * supervisor_waits.c    its work without a configuration
 * upgrade.c             another program takes this one's place
 * supervisor_signals.c  from signal handlers to flags and a descriptor to poll
 * server_process.c      the other side: the main thread of a server process
 *
 * Life of a server process, as the supervisor's table has it (sup_process):
 *
 *   state      moved on by                              serves its index  legal
 *   ---------  ---------------------------------------  ----------------  -----------------------------
 *   forked     child_enter()                            yes, is about to  its end counts as an early death
 *   up         SERVER_UP: it accepts connections        yes               processes before it may be stopped
 *   worn       SERVER_WORN: old enough                  no: the next for  it serves until that one is up
 *                                                       the index starts
 *   stopping   SUP_GRACEFUL, SUP_TERMINATE or a signal  no                a graceful end can be cut short
 *   (reaped)   waitpid(): child_remove()                no                its slot and its index are free
 *
 * Each process has a socket to the supervisor. Down it go single characters (SUP_*); up come
 * SERVER_*. Its end tells each side that the other is gone.
 */
#include "mpm_settings.h"
#include "clock.h"

#define SUP_GRACEFUL 'G'  /**< stop accepting, finish requests under way, end */
#define SUP_TERMINATE 'T' /**< end now */
#define SERVER_UP 'R'     /**< serving */
#define SERVER_WORN 'L'   /**< MaxConnectionsPerChild reached: start another, then stop me */
/** a worker passed WorkerTimeout: start another, then stop me, and kill me if I do not */
#define SERVER_STUCK 'S'

/** How long a process may take from SUP_TERMINATE to its end; it is killed then. Microseconds. */
#define SUP_TERMINATE_US (800 * 1000)

/* ---- supervisor_signals.c ---- */

/** Orders by signals since the last look. */
typedef struct sup_requests {
    int terminate, graceful_stop, restart, graceful, upgrade, child;
} sup_requests;

/** While the configuration is read for the first time: a reload that is asked for meanwhile is done once
 * the server runs, instead of ending it. @return as below */
int sup_signals_early(void);

/** With -X: orders to end that come before the process reads signals are kept. @return as below */
int sup_signals_one_process(void);

/** Install the handlers. @return 0, or -1 with errno */
int sup_signals_init(void);

/** Signals that come while one program takes another's place wait (@a wait = 1) until the new one can read them (0). */
void sup_signals_wait(int wait);

/** Descriptor that is readable after a signal. */
int sup_signals_fd(void);

/** Make the descriptor wait for the next signal. Before looking at processes and requests, so that
 * none slips by. */
void sup_signals_drain(void);

/** Take these orders. */
sup_requests sup_signals_take(void);

/**
 * From on = 1 to on = 0 the configuration is read in place: an order to end that is not carried out
 * within SUP_READING_SECONDS, since the reading waits for something, ends the server at once.
 */
void sup_signals_reading(int on);
#define SUP_READING_SECONDS 3

/** SIGTERM or SIGINT came and was not taken yet. */
int sup_signals_end_is_asked(void);

/** Make the descriptor readable, so that the supervisor's loop looks at everything. */
void sup_signals_wake(void);

/**
 * A program that takes another's place has so many seconds to serve; 0: it serves. After that the function is called from
 * the signal handler if the configuration is being read, which may wait without end; else the loop finds it by
 * sup_signals_is_late(), and the function is called if it does not come to that either.
 */
void sup_signals_time_limit(int seconds, void (*late)(void));

/** The time is over. */
int sup_signals_is_late(void);

/** In a new child: default actions again; the descriptor is closed. */
void sup_signals_child(void);

/* ---- supervisor_children.c ---- */

/** An entry of the table, in the heap: it outlives the configuration. */
typedef struct sup_process {
    struct sup_process *next;
    pid_t pid;
    int index; /**< which of the generation's processes, from 0; it decides which sockets the process serves */
    int slot; /**< in the scoreboard; -1: in that of the program before this one */
    ap_generation_t generation;              /**< the configuration that it serves */
    int fd;                                  /**< control socket; -1 once its end was seen */
    apr_time_t started;                      /**< clock_monotonic() */
    unsigned said;                           /**< bytes that it said so far */
    unsigned up : 1, stopping : 1, worn : 1; /**< see the table above */
    /** it did not come to an end: it is killed where it does not obey an order to end either */
    unsigned stuck : 1;
    struct sup_stalls *stalls; /**< supervisor_stall.c's, in the heap; NULL: not looked at yet */
} sup_process;

/** All processes that were started and not yet reaped. Owner: the supervisor's main thread. */
extern sup_process *sup_processes;

/** 1 on the thread that owns the table: the supervisor's, and the program's before it has one. 0 in server processes. */
int sup_is_supervisor(void);

/** Forget delays of an earlier configuration; @a n processes are wanted from now on. */
void sup_children_want(int n);

/** How many are wanted. */
int sup_children_wanted(void);

/** Another number is wanted; delays stay, and processes above it are told to end. */
void sup_children_scale(int n);

/** Start processes that are missing and due. @return 0, or -1 when a process cannot be made at all (logged) */
int sup_children_start(apr_pool_t *pconf, server_rec *s);

/** When sup_children_start() next has something to do; 0 = not as long as nothing happens. */
apr_time_t sup_children_due(void);

/** All processes that are wanted are up. */
int sup_children_complete(void);

/** Read the messages of a process on its socket; a process that says too much is killed. */
void sup_children_hear(sup_process *child);

/** Take note of ended processes. @return APEXIT_CHILDFATAL when one said that it is no use to start
 * another */
int sup_children_reap(apr_pool_t *pconf, server_rec *s);

/** Tell @a child to end; does nothing twice, but a graceful end can be cut short. */
void sup_children_stop(sup_process *child, int graceful);

/** Tell all whose generation is not @a except (or all: -1). */
void sup_children_stop_all(ap_generation_t except, int graceful);

/** @a child, which serves, is to be replaced: its successor is started, then sup_children_retire() ends it. */
void sup_children_replace(sup_process *child);

/** Replaced processes end as soon as their replacement is up. */
void sup_children_retire(void);

/** Send a signal to all. Async-signal-safe while nothing changes the table. */
void sup_children_signal_all(int sig);

/** Kill the remaining processes. */
void sup_children_kill(void);

/** Enter a process that the program before this one started. @a from is copied. */
void sup_children_take(const sup_process *from);

/** All of them are entered: they keep their slots, if the scoreboard of the program before this one is this one's.
 * Slots of processes that are gone are free. */
void sup_children_take_slots(void);

/* ---- supervisor.c ---- */

/** This program takes the place of one whose processes of generation @a serving serve; the next is mpm_generation. */
void sup_take_over(ap_generation_t serving);

/** The newest generation that was complete. */
ap_generation_t sup_serving(void);

/** Wait for a signal, a process, or until @a deadline (0: none; otherwise work of the configuration
 * is left alone), and hear messages of processes. */
void sup_wait_for_news(apr_time_t deadline);

/** All processes end, now or once they have finished requests under way, and the server lets go of its sockets and its pid file.
 * @param s  NULL: there is no configuration */
void sup_terminate(apr_pool_t *pconf, server_rec *s);
void sup_end_gracefully(apr_pool_t *pconf, server_rec *s);

/* ---- supervisor_stall.c ---- */

/** Look for event loops that stand in one turn, where it is time for it. Call it as often as you like. */
void sup_stalls_look(void);

/** When it is, by clock_monotonic(); 0: there is no process. */
apr_time_t sup_stalls_due(void);

/* ---- supervisor_waits.c ---- */

/** Without a configuration: look after the processes that there are until one is to be read.
 * @return 0: read it, its trial was good; 1: the server was told to end, and has */
int sup_await_order(process_rec *process);

/** So many attempts in a row to read a configuration, or to begin to serve it, have failed. */
void sup_reading_failed(int times);
int sup_has_failed(void);

/* ---- upgrade.c ---- */

/** Would the program that is at this one's path now start with the same command line, and take over from this one? Else
 * it is logged why not. Blocking: waits for a child process. */
int upgrade_check(process_rec *process);

/** Where the supervisor is root: nobody else can put another program at @a path, which root is going to run: the file, the
 * folders above it and targets of links are root's, and others may not write to them. Else the faulty one is logged.
 * (upgrade_trust.c) Blocking: looks at files. */
int upgrade_is_trusted(const char *path, apr_pool_t *p);

/**
 * Before another program is started in this process: this one stays as a process that watches. (upgrade_watch.c)
 * @return 0 in the caller; 1 in the watcher, later, if the caller's process ended: it is the supervisor from then on
 */
int upgrade_watch(void);

/** The handover to the new program; -1: none. */
int upgrade_watch_fd(void);

/** That was given to this program, which says when nobody has to watch any more. */
void upgrade_watch_take(int fd);
void upgrade_watch_done(void);

/** The program that upgrade_check() asks about. */
const char *upgrade_program(void);

/** upgrade_if_asked() is to do it once the generation is over. */
void upgrade_ask(void);

/** The server serves, or is to end: there is no way back to the program before any more. */
void upgrade_complete(void);

/** This program took over and does not serve yet. */
int upgrade_is_under_way(void);

/* ---- supervisor_spare.c ---- */

/** A new configuration: how many processes it starts with. */
void sup_spare_begin(void);

/** mpm_prefork: start or end processes as load asks for. All are up. Call it as often as you like.
 */
void sup_spare_look(server_rec *s);

/** When sup_spare_look() next has something to do; 0 = never. */
apr_time_t sup_spare_due(void);

/* ---- server_process.c ---- */

/** Connections and memory of the loops of a server process. */
struct brg_loop;

/** Once a second: figures of a loop, and on the first one those of its process (process_figures.c). */
void process_figures(struct brg_loop *loop);

extern const struct loop_services server_process_services;

/**
 * A server process, after the fork: sets itself up, runs the event loops, waits for its orders, and
 * ends.
 * @param fd  control socket; -1 with -X, where there is no supervisor: then it returns when all
 * ended
 */
int server_process_run(apr_pool_t *pconf, server_rec *s, int index, int slot, int fd);

/** supervisor.c: the hook of ap_run_mpm; and the open_logs hook that opens the listening sockets. */
int supervisor_run(apr_pool_t *pconf, apr_pool_t *plog, server_rec *s);
int supervisor_open(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s);

#endif
