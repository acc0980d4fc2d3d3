/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scoreboard: the state of processes and threads, in memory that all processes share.
 *
 *   global_score, totals of ended processes
 *   process_score  [processes]
 *   worker_score   [processes][threads]
 *   loop_score     [processes][loops]
 *   http2_score    [processes][loops][HTTP2_SCORES]
 *   figures.c's
 *
 * It is made at the first start and kept over graceful restarts, because processes of the former
 * generation still write to it. When a new configuration needs more room, a new one is made; the old
 * processes stay with the old one, which only they see. Pages that are never written cost nothing.
 * A program that takes this one's place (`-k upgrade`) goes on with it, if its own has the same layout.
 */
#include "figures.h"
#include "kept_memory.h"
#include "scores.h"
#include "brigade/loop.h"

#include "brigade/assert.h"
#include "brigade/status.h"

#include "ap_mpm.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_strings.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/times.h>

APLOG_USE_MODULE(core);

APR_HOOK_STRUCT(APR_HOOK_LINK(pre_mpm))
AP_IMPLEMENT_HOOK_RUN_ALL(int, pre_mpm, (apr_pool_t * p, ap_scoreboard_e sb_type), (p, sb_type), OK,
                          DECLINED)

AP_DECLARE_DATA scoreboard *ap_scoreboard_image;
AP_DECLARE_DATA const char *ap_scoreboard_fname;

/* Behind global_score, so that modules that know only Apache's layout find theirs first. */
typedef struct score_global {
    global_score g;
    _Atomic uint64_t ended_accesses, ended_bytes;
    _Atomic uint64_t log_lines_lost;    /* by any process: added to atomically, for it is rare */
    _Atomic uint64_t stalled, replaced; /* loops, processes: the supervisor's */
    apr_time_t started;
    int counted_from; /* the oldest generation whose counts are part of the totals */
    _Atomic int full, draining;
    scoreboard_limits limits; /* that it was made for */
} score_global;

static scoreboard_limits score_limits = {.processes = 16, .threads = 64, .loops = 1};
static scoreboard_limits score_made; /* of the image */
static worker_score *score_lines;    /* as ap_scoreboard_image->servers has them */
static loop_score *score_loops;
static http2_score *score_http2;
static void *score_memory;
static size_t score_memory_bytes;
static loop_score score_nowhere;

void scoreboard_set_limits(const scoreboard_limits *limits)
{
    BRG_ASSERT(limits->processes > 0 && limits->loops > 0 && limits->threads >= limits->loops);
    score_limits = *limits;
}

int scoreboard_loops(void)
{
    return score_made.loops;
}

int scoreboard_processes(void)
{
    return ap_scoreboard_image ? score_made.processes : 0;
}

int scoreboard_threads(void)
{
    return ap_scoreboard_image ? score_made.threads : 0;
}

/* ---- layout ---- */

static apr_size_t score_round(apr_size_t n)
{
    return (n + LOOP_SCORE_LINE - 1) / LOOP_SCORE_LINE * LOOP_SCORE_LINE;
}

static apr_size_t score_loops_bytes(const scoreboard_limits *l)
{
    return (apr_size_t)l->processes * (apr_size_t)l->loops * sizeof(loop_score);
}

static apr_size_t score_http2_bytes(const scoreboard_limits *l)
{
    return score_round((apr_size_t)l->processes * (apr_size_t)l->loops * HTTP2_SCORES *
                       sizeof(http2_score));
}

static apr_size_t score_bytes(const scoreboard_limits *l)
{
    apr_size_t processes = (apr_size_t)l->processes;

    /* One line more, since the memory of others need not begin with one. */
    return LOOP_SCORE_LINE + score_round(sizeof(score_global)) +
           score_round(processes * sizeof(process_score)) +
           score_round(processes * (apr_size_t)l->threads * sizeof(worker_score)) +
           score_loops_bytes(l) + score_http2_bytes(l) + figures_bytes(l);
}

AP_DECLARE(int) ap_calc_scoreboard_size(void)
{
    return (int)score_bytes(&score_limits);
}

static char *score_begin(void *memory)
{
    return (char *)score_round((apr_size_t)memory);
}

AP_DECLARE(void) ap_init_scoreboard(void *shared)
{
    const scoreboard_limits *l = &score_limits;
    apr_size_t processes = (apr_size_t)l->processes, threads = (apr_size_t)l->threads;
    char *at = score_begin(shared);

    BRG_ASSERT(shared != NULL);
    free(ap_scoreboard_image);
    ap_scoreboard_image = ap_calloc(1, sizeof(scoreboard) + processes * sizeof(worker_score *));
    ap_scoreboard_image->servers = (worker_score **)(ap_scoreboard_image + 1);
    ap_scoreboard_image->global = &((score_global *)(void *)at)->g;
    at += score_round(sizeof(score_global));
    ap_scoreboard_image->parent = (process_score *)(void *)at;
    at += score_round(processes * sizeof(process_score));
    score_lines = (worker_score *)(void *)at;
    for (apr_size_t i = 0; i < processes; i++)
        ap_scoreboard_image->servers[i] = score_lines + i * threads;
    at += score_round(processes * threads * sizeof(worker_score));
    score_loops = (loop_score *)(void *)at;
    BRG_ASSERT((apr_size_t)at % LOOP_SCORE_LINE == 0);
    ap_scoreboard_image->global->server_limit = l->processes;
    ap_scoreboard_image->global->thread_limit = l->threads;
    at += score_loops_bytes(l);
    score_http2 = (http2_score *)(void *)at;
    at += score_http2_bytes(l);
    BRG_ASSERT(at + figures_bytes(l) <= (char *)shared + score_bytes(l));
    figures_place(at, l);
    score_made = *l;
}

/* ---- life ---- */

static score_global *score_of_server(void)
{
    BRG_ASSERT(ap_scoreboard_image != NULL);
    return (score_global *)(void *)ap_scoreboard_image->global;
}

static score_global *score_if_there(void)
{
    return ap_scoreboard_image ? score_of_server() : NULL;
}

static int score_has_room(void)
{
    return ap_scoreboard_image && score_made.processes >= score_limits.processes &&
           score_made.threads >= score_limits.threads && score_made.loops >= score_limits.loops;
}

#define SCORE_MEANING 2 /* goes up when counters of the same names and sizes mean something else */

/* Of the layout, but for the limits: these are in the memory itself. */
static void score_name(char out[KEPT_MEMORY_NAME])
{
    const size_t sizes[] = {sizeof(score_global), sizeof(process_score), sizeof(worker_score),
                            sizeof(loop_score), HTTP2_SCORES * sizeof(http2_score)};
    unsigned layout = figures_layout() * 31 + SCORE_MEANING;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        layout = layout * 31 + (unsigned)sizes[i];
    snprintf(out, KEPT_MEMORY_NAME, "scoreboard-%08x", layout);
}

/* Processes that have the former memory keep it. */
static void score_use(void *memory, size_t bytes)
{
    void *before = score_memory;

    BRG_ASSERT(memory && bytes == score_bytes(&score_limits));
    ap_init_scoreboard(memory);
    score_of_server()->limits = score_limits;
    if (before)
        munmap(before, score_memory_bytes);
    score_memory = memory;
    score_memory_bytes = bytes;
}

static int score_make(void)
{
    size_t bytes = score_bytes(&score_limits);
    char name[KEPT_MEMORY_NAME];
    void *memory;

    score_name(name);
    kept_memory_forget(name);
    if (!(memory = kept_memory_map(name, bytes))) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, errno, ap_server_conf,
                     APLOGNO(00004) "Unable to create or access scoreboard (anonymous shared "
                                    "memory failure)");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    score_use(memory, bytes);
    return OK;
}

static int score_limits_are_sane(const scoreboard_limits *l)
{
    return l->processes > 0 && l->loops > 0 && l->threads >= l->loops && l->processes < 1 << 20 &&
           l->threads < 1 << 20;
}

void scoreboard_take_left(void)
{
    char name[KEPT_MEMORY_NAME];
    const scoreboard_limits mine = score_limits;
    size_t bytes = 0;
    void *memory;

    BRG_ASSERT(!ap_scoreboard_image);
    score_name(name);
    if (!(memory = kept_memory_map_left(name, &bytes)))
        return;
    if (bytes >= 2 * LOOP_SCORE_LINE + sizeof(score_global))
        score_limits = ((score_global *)(void *)score_begin(memory))->limits;
    if (score_limits_are_sane(&score_limits) && bytes == score_bytes(&score_limits))
        score_use(memory, bytes);
    else
        munmap(memory, bytes);
    score_limits = mine;
}

/* A new image, with the old one's data about the server. */
static int score_grow(void)
{
    score_global old = {.started = apr_time_now()}, *g;
    int rc;

    if (ap_scoreboard_image)
        old = *score_of_server();
    if ((rc = score_make()) != OK)
        return rc;
    g = score_of_server();
    g->g.running_generation = old.g.running_generation;
    g->g.restart_time = old.g.restart_time;
    g->started = old.started;
    g->counted_from = old.counted_from;
    loop_score_set(&g->ended_accesses, loop_score_get(&old.ended_accesses));
    loop_score_set(&g->ended_bytes, loop_score_get(&old.ended_bytes));
    loop_score_set(&g->log_lines_lost, loop_score_get(&old.log_lines_lost));
    loop_score_set(&g->replaced, loop_score_get(&old.replaced));
    return OK;
}

static void score_begin_totals(void)
{
    score_global *g = score_of_server();

    g->g.restart_time = apr_time_now();
    g->counted_from = score_limits.generation;
    loop_score_set(&g->ended_accesses, 0);
    loop_score_set(&g->ended_bytes, 0);
    figures_begin_totals();
}

int ap_create_scoreboard(apr_pool_t *p, ap_scoreboard_e type)
{
    int rc;

    if (!score_has_room() && (rc = score_grow()) != OK)
        return rc;
    if (!score_limits.totals_stay)
        score_begin_totals();
#ifdef HAVE_TIMES
    times(&ap_scoreboard_image->global->times);
#endif
    return OK;
}

apr_status_t ap_cleanup_scoreboard(void *d)
{
    if (!ap_scoreboard_image)
        return APR_SUCCESS;
    free(ap_scoreboard_image);
    ap_scoreboard_image = NULL;
    score_lines = NULL;
    score_loops = NULL;
    score_http2 = NULL;
    figures_forget();
    if (score_memory)
        munmap(score_memory, score_memory_bytes);
    score_memory = NULL;
    return APR_SUCCESS;
}

AP_DECLARE(int) ap_exists_scoreboard_image(void)
{
    return ap_scoreboard_image != NULL;
}

/* The memory has no name in a file system and is inherited over fork: an ordinary child has it
 * already, and a stranger cannot get it. It is not from APR. */
AP_DECLARE(apr_status_t) ap_reopen_scoreboard(apr_pool_t *p, apr_shm_t **shm, int detached)
{
    return score_memory && !shm ? APR_SUCCESS : APR_ENOTIMPL;
}

/* ---- slots ---- */

static int score_is_slot(int slot)
{
    return ap_scoreboard_image && slot >= 0 && slot < score_made.processes;
}

static worker_score *score_line(int slot, int thread)
{
    if (!score_lines || (unsigned)slot >= (unsigned)score_made.processes ||
        (unsigned)thread >= (unsigned)score_made.threads)
        return NULL;
    return score_lines + (size_t)slot * (size_t)score_made.threads + (size_t)thread;
}

struct loop_score *scoreboard_loop(int slot, int loop)
{
    if (!score_is_slot(slot) || loop < 0 || loop >= score_made.loops)
        return &score_nowhere;
    return &score_loops[(size_t)slot * (size_t)score_made.loops + (size_t)loop];
}

http2_score *scoreboard_http2(int slot, int loop)
{
    if (!score_is_slot(slot) || loop < 0 || loop >= score_made.loops)
        return NULL;
    return &score_http2[((size_t)slot * (size_t)score_made.loops + (size_t)loop) * HTTP2_SCORES];
}

const struct loop_score *scoreboard_loop_if(int slot, int loop)
{
    struct loop_score *score = scoreboard_loop(slot, loop);
    return score == &score_nowhere ? NULL : score;
}

void scoreboard_ended_totals(uint64_t *accesses, uint64_t *bytes)
{
    score_global *g = score_if_there();

    *accesses = g ? loop_score_get(&g->ended_accesses) : 0;
    *bytes = g ? loop_score_get(&g->ended_bytes) : 0;
}

uint64_t scoreboard_log_lines_lost(uint64_t more)
{
    score_global *g = score_if_there();

    return g ? atomic_fetch_add_explicit(&g->log_lines_lost, more, memory_order_relaxed) + more : 0;
}

void scoreboard_set_stalled(uint64_t loops)
{
    if (ap_scoreboard_image)
        loop_score_set(&score_of_server()->stalled, loops);
}

void scoreboard_add_replaced(uint64_t processes)
{
    if (ap_scoreboard_image)
        loop_score_add(&score_of_server()->replaced, processes);
}

void scoreboard_stalled(uint64_t *loops, uint64_t *replaced)
{
    score_global *g = score_if_there();

    *loops = g ? loop_score_get(&g->stalled) : 0;
    *replaced = g ? loop_score_get(&g->replaced) : 0;
}

void scoreboard_set_full(int full)
{
    if (ap_scoreboard_image)
        atomic_store_explicit(&score_of_server()->full, full, memory_order_relaxed);
}

int scoreboard_is_full(void)
{
    return ap_scoreboard_image &&
           atomic_load_explicit(&score_of_server()->full, memory_order_relaxed);
}

void scoreboard_set_draining(void)
{
    if (ap_scoreboard_image)
        atomic_store_explicit(&score_of_server()->draining, 1, memory_order_relaxed);
}

BRG_DECLARE(int) brg_status_is_draining(void)
{
    return ap_scoreboard_image &&
           atomic_load_explicit(&score_of_server()->draining, memory_order_relaxed);
}

apr_time_t scoreboard_started(void)
{
    return ap_scoreboard_image ? score_of_server()->started : 0;
}

int scoreboard_counts(int generation)
{
    return ap_scoreboard_image && generation >= score_of_server()->counted_from;
}

/* Totals outlive the process that made them. */
static void score_add_to_ended(int slot)
{
    score_global *g = score_of_server();
    int counts;

    BRG_ASSERT(score_is_slot(slot));
    counts = scoreboard_counts(ap_scoreboard_image->parent[slot].generation);
    figures_slot_end(slot, counts);
    for (int i = 0; i < score_made.loops; i++) {
        loop_score *score = scoreboard_loop(slot, i);

        if (counts) {
            loop_score_add(&g->ended_accesses, loop_score_get(&score->accesses));
            loop_score_add(&g->ended_bytes, loop_score_get(&score->bytes));
        }
        memset(score, 0, sizeof *score);
        memset(scoreboard_http2(slot, i), 0, HTTP2_SCORES * sizeof(http2_score));
    }
}

void scoreboard_slot_start(int slot, pid_t pid, int generation)
{
    BRG_ASSERT(pid >= 0); /* 0: about to be forked */
    BRG_ASSERT(brg_thread_index() < 0);
    if (!score_is_slot(slot))
        return;
    score_add_to_ended(slot);
    memset(ap_scoreboard_image->servers[slot], 0,
           (size_t)score_made.threads * sizeof(worker_score));
    memset(&ap_scoreboard_image->parent[slot], 0, sizeof(process_score));
    ap_scoreboard_image->parent[slot].pid = pid;
    ap_scoreboard_image->parent[slot].generation = generation;
}

void scoreboard_slot_end(int slot)
{
    BRG_ASSERT(brg_thread_index() < 0);
    if (!score_is_slot(slot))
        return;
    score_add_to_ended(slot);
    for (int i = 0; i < score_made.threads; i++)
        ap_scoreboard_image->servers[slot][i].status = SERVER_DEAD;
    memset(&ap_scoreboard_image->parent[slot], 0, sizeof(process_score));
}

AP_DECLARE(int) ap_find_child_by_pid(apr_proc_t *pid)
{
    for (int i = 0; ap_scoreboard_image && i < score_made.processes; i++)
        if (ap_scoreboard_image->parent[i].pid == pid->pid)
            return i;
    return -1;
}

AP_DECLARE(worker_score *) ap_get_scoreboard_worker_from_indexes(int child, int thread)
{
    return score_line(child, thread);
}

AP_DECLARE(process_score *) ap_get_scoreboard_process(int x)
{
    return score_is_slot(x) ? &ap_scoreboard_image->parent[x] : NULL;
}

AP_DECLARE(global_score *) ap_get_scoreboard_global(void)
{
    return ap_scoreboard_image ? ap_scoreboard_image->global : NULL;
}

AP_DECLARE(int) ap_update_global_status(void)
{
#ifdef HAVE_TIMES
    if (ap_scoreboard_image)
        times(&ap_scoreboard_image->global->times);
#endif
    return APR_SUCCESS;
}

const char *ap_set_scoreboard(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    ap_scoreboard_fname = ap_runtime_dir_relative(cmd->pool, arg);
    ap_log_error(APLOG_MARK, APLOG_NOTICE | APLOG_STARTUP, 0, cmd->server,
                 "ScoreBoardFile: no file is made, the scoreboard is anonymous memory");
    return NULL;
}
