/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's table of server processes.
 *
 * A generation wants a process for each index from 0. Usually one lives per index; for a while
 * there are two, when a new generation takes over or a worn process is replaced. They serve the
 * same sockets then, and the older one goes only when the newer one is up, so nothing that waits in
 * a queue is lost. A process that dies is replaced at once, unless it died soon after its start
 * without having accepted a connection: then each further attempt waits longer. A process that a
 * request killed is no reason to wait, however young it was: others want to be served.
 */
#include "cached.h"
#include "supervisor_parts.h"
#include "listen_sockets.h"
#include "brigade/loop.h"
#include "scores.h"

#include "brigade/assert.h"
#include "http_log.h"
#include "http_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

#define CHILD_SOON_US APR_USEC_PER_SEC /* died soon: within this time of its start */
#define CHILD_DELAY_MIN_US (100 * 1000)
#define CHILD_RETRY_US (5 * APR_USEC_PER_SEC) /* when no process could be made */
#define CHILD_SAYS_MOST 32                    /* bytes in its life; it has two to say */
#define CHILD_EARLY_DEATHS 5                  /* of a first generation that never served */
#define CHILD_DELAY_MAX_US (30 * APR_USEC_PER_SEC)

sup_process *sup_processes;

static int sup_in_child; /* this process was forked to serve */

/* By index. */
static struct {
    sup_process *process;      /* serves it in the current generation, or is about to; or NULL */
    apr_time_t due;            /* when the next may be started; 0 = at once */
    apr_interval_time_t delay; /* how long the one after has to wait */
} sup_index[MPM_MAX_PREFORK];

static int sup_wanted;
static int sup_slotless; /* a process waits for a slot */

static struct {
    unsigned char *used; /* [n] slots of the scoreboard that a process has */
    int n;
    int lowest; /* all below are in use */
} sup_slots;

int sup_is_supervisor(void)
{
    return !sup_in_child && brg_thread_index() < 0;
}

static int child_serves_index(const sup_process *c)
{
    return c->generation == mpm_generation && !c->stopping && !c->worn;
}

void sup_children_want(int n)
{
    BRG_ASSERT(n >= 0 && n <= MPM_MAX_PREFORK);
    BRG_ASSERT(sup_is_supervisor());
    memset(sup_index, 0, sizeof sup_index);
    for (sup_process *c = sup_processes; c; c = c->next)
        if (child_serves_index(c)) {
            BRG_ASSERT(c->index >= 0 && c->index < MPM_MAX_PREFORK);
            BRG_ASSERT(!sup_index[c->index].process);
            sup_index[c->index].process = c;
        }
    sup_wanted = n;
}

int sup_children_wanted(void)
{
    return sup_wanted;
}

void sup_children_scale(int n)
{
    BRG_ASSERT(n >= 0 && n <= MPM_MAX_PREFORK);
    BRG_ASSERT(sup_is_supervisor());
    sup_wanted = n;
    for (sup_process *c = sup_processes; c; c = c->next)
        if (c->generation == mpm_generation && c->index >= n)
            sup_children_stop(c, 1);
}

/* ---- looking ---- */

/* The process that serves an index in the current generation, or is about to. */
static sup_process *child_of_index(int index)
{
    sup_process *c;

    BRG_ASSERT(index >= 0 && index < MPM_MAX_PREFORK);
    c = sup_index[index].process;
    BRG_ASSERT(!c || (c->index == index && child_serves_index(c)));
    return c;
}

/* c ends, or is to be replaced: its index has no process until the next is started. */
static void child_leaves_index(sup_process *c)
{
    BRG_ASSERT(c->index >= 0 && c->index < MPM_MAX_PREFORK);
    if (sup_index[c->index].process == c)
        sup_index[c->index].process = NULL;
}

int sup_children_complete(void)
{
    for (int i = 0; i < sup_wanted; i++) {
        sup_process *c = child_of_index(i);

        if (!c || !c->up)
            return 0;
    }
    return 1;
}

apr_time_t sup_children_due(void)
{
    apr_time_t first = 0;

    for (int i = 0; i < sup_wanted; i++)
        if (!child_of_index(i) && (!first || sup_index[i].due < first))
            first = sup_index[i].due ? sup_index[i].due : 1;
    return first;
}

/* The lowest slot of the scoreboard that is free, or -1. */
static int child_free_slot(void)
{
    int most = scoreboard_processes(), slot = sup_slots.lowest;

    BRG_ASSERT(slot >= 0 && slot <= sup_slots.n);
    while (slot < sup_slots.n && sup_slots.used[slot])
        slot++;
    sup_slots.lowest = slot;
    return slot < most ? slot : -1;
}

static void child_take_slot(int slot)
{
    BRG_ASSERT(slot >= 0);
    if (slot >= sup_slots.n) {
        int n = 2 * slot + 64;

        sup_slots.used = ap_realloc(sup_slots.used, (size_t)n);
        memset(sup_slots.used + sup_slots.n, 0, (size_t)(n - sup_slots.n));
        sup_slots.n = n;
    }
    BRG_ASSERT(!sup_slots.used[slot]);
    sup_slots.used[slot] = 1;
}

static void child_give_slot(int slot)
{
    if (slot < 0)
        return;
    BRG_ASSERT(slot < sup_slots.n && sup_slots.used[slot]);
    sup_slots.used[slot] = 0;
    if (slot < sup_slots.lowest)
        sup_slots.lowest = slot;
}

/* ---- starting ---- */

/* In the new process: it needs no knowledge of its siblings. */
static void child_forget_siblings(void)
{
    sup_in_child = 1;
    while (sup_processes) {
        sup_process *c = sup_processes;

        sup_processes = c->next;
        if (c->fd >= 0)
            close(c->fd);
        free(c->stalls);
        free(c);
    }
}

static void child_enter(pid_t pid, int index, int slot, int fd)
{
    sup_process *c = ap_calloc(1, sizeof *c);

    BRG_ASSERT(pid > 0 && fd >= 0);
    BRG_ASSERT(index < sup_wanted && !sup_index[index].process);
    c->pid = pid;
    c->index = index;
    c->slot = slot;
    c->generation = mpm_generation;
    c->fd = fd;
    c->started = clock_monotonic();
    c->next = sup_processes;
    sup_processes = c;
    child_take_slot(slot);
    sup_index[index].process = c;
}

void sup_children_take(const sup_process *from)
{
    sup_process *c = ap_malloc(sizeof *c);

    BRG_ASSERT(from->generation != mpm_generation);
    *c = *from;
    c->stalls = NULL;
    c->next = sup_processes;
    sup_processes = c;
}

void sup_children_take_slots(void)
{
    for (sup_process *c = sup_processes; c; c = c->next) {
        const process_score *ps = ap_get_scoreboard_process(c->slot);

        if (ps && ps->pid == c->pid && (c->slot >= sup_slots.n || !sup_slots.used[c->slot]))
            child_take_slot(c->slot);
        else
            c->slot = -1;
    }
    for (int slot = 0; ap_get_scoreboard_process(slot); slot++)
        if (slot >= sup_slots.n || !sup_slots.used[slot])
            scoreboard_slot_end(slot);
}

static int child_start(int index, apr_pool_t *pconf, server_rec *s)
{
    int ends[2], slot = child_free_slot();
    pid_t pid;

    BRG_ASSERT(index >= 0 && index < sup_wanted);
    listen_restore();
    sup_slotless = slot < 0;
    if (sup_slotless) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "no slot for another server process: those of earlier "
                     "generations still serve");
        return 1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    scoreboard_slot_start(slot, 0, mpm_generation);
    if ((pid = fork()) < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    if (pid == 0) {
        close(ends[0]);
        daemon_child();
        child_forget_siblings();
        ap_scoreboard_image->parent[slot].pid = getpid();
        server_process_run(pconf, s, index, slot, ends[1]);
        _exit(APEXIT_CHILDFATAL); /* it does not return */
    }
    close(ends[1]);
    ap_scoreboard_image->parent[slot].pid = pid;
    child_enter(pid, index, slot, ends[0]);
    ap_run_child_status(s, pid, mpm_generation, slot, MPM_CHILD_STARTED);
    return 0;
}

int sup_children_start(apr_pool_t *pconf, server_rec *s)
{
    apr_time_t now = clock_monotonic();

    BRG_ASSERT(sup_is_supervisor());
    for (int i = 0; i < sup_wanted; i++) {
        int rc;

        if (child_of_index(i) || sup_index[i].due > now)
            continue;
        if ((rc = child_start(i, pconf, s)) < 0)
            ap_log_error(APLOG_MARK, APLOG_ERR, errno, s,
                         mpm_settings.prefork ? APLOGNO(00159) "fork: Unable to fork new process"
                                              : APLOGNO(00481) "fork: Unable to fork new process");
        sup_index[i].due = now + (rc ? CHILD_RETRY_US : 0);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- talking ---- */

void sup_children_replace(sup_process *child)
{
    child->worn = 1;
    child_leaves_index(child);
}

static void child_says(sup_process *child, char said)
{
    if (said == SERVER_UP)
        child->up = 1;
    else if (said == SERVER_WORN)
        sup_children_replace(child);
    else if (said == SERVER_STUCK) {
        child->stuck = 1;
        scoreboard_add_replaced(1);
        sup_children_replace(child);
    }
}

static void child_hang_up(sup_process *child)
{
    close(child->fd);
    child->fd = -1;
}

/* A process that was taken over may say anything, as fast as it can: never more than a piece of it is read at a time. */
void sup_children_hear(sup_process *child)
{
    char said[CHILD_SAYS_MOST];
    ssize_t n;

    BRG_ASSERT(child->fd >= 0 && child->said <= CHILD_SAYS_MOST);
    n = recv(child->fd, said, sizeof said, MSG_DONTWAIT);
    for (ssize_t i = 0; i < n; i++)
        child_says(child, said[i]);
    if (n == 0) /* it is ending; waitpid tells how */
        child_hang_up(child);
    if (n <= 0 || (child->said += (unsigned)n) <= CHILD_SAYS_MOST)
        return;
    ap_log_error(APLOG_MARK, APLOG_ALERT, 0, ap_server_conf,
                 "child pid %ld says more than a server process has to say: it is killed",
                 (long)child->pid);
    child_hang_up(child);
    kill(child->pid, SIGKILL);
}

void sup_children_stop(sup_process *child, int graceful)
{
    process_score *ps = ap_get_scoreboard_process(child->slot);
    char order = graceful ? SUP_GRACEFUL : SUP_TERMINATE;

    BRG_ASSERT(child->pid > 0); /* kill() takes the others for groups of processes */
    if (graceful && child->stopping)
        return;
    child->stopping = 1;
    child_leaves_index(child);
    if (ps && ps->pid == child->pid)
        ps->quiescing = 1;
    if (child->fd < 0 || send(child->fd, &order, 1, MSG_NOSIGNAL) != 1)
        kill(child->pid, graceful ? AP_SIG_GRACEFUL_STOP : SIGTERM);
}

void sup_children_stop_all(ap_generation_t except, int graceful)
{
    for (sup_process *c = sup_processes; c; c = c->next)
        if (c->generation != except)
            sup_children_stop(c, graceful);
}

void sup_children_retire(void)
{
    for (sup_process *c = sup_processes; c; c = c->next) {
        sup_process *successor = c->worn && !c->stopping ? child_of_index(c->index) : NULL;

        if (successor && successor->up)
            sup_children_stop(c, 1);
    }
}

void sup_children_signal_all(int sig)
{
    for (sup_process *c = sup_processes; c; c = c->next)
        kill(c->pid, sig);
}

void sup_children_kill(void)
{
    sup_children_signal_all(SIGKILL);
}

/* ---- ending ---- */

static int generation_lives(ap_generation_t generation)
{
    for (sup_process *c = sup_processes; c; c = c->next)
        if (c->generation == generation)
            return 1;
    return 0;
}

/* It lived for a while, or had connections: its end was no mistake of the start. */
static int child_had_work(const sup_process *c)
{
    uint64_t accepted = 0;

    if (clock_monotonic() - c->started >= CHILD_SOON_US)
        return 1;
    for (int i = 0; i < scoreboard_loops(); i++) {
        const loop_score *score = scoreboard_loop_if(c->slot, i);

        accepted += score ? loop_score_get(&score->accepted) : 0;
    }
    return c->up && accepted > 0;
}

/* A process that was not told to end has ended: see to the next for its index. */
static void child_died(const sup_process *c, server_rec *s, apr_exit_why_e why, int code)
{
    apr_time_t now = clock_monotonic();
    int i = c->index;

    BRG_ASSERT(!c->stopping);
    if (APR_PROC_CHECK_EXIT(why))
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "child pid %ld ended unexpectedly with status %d",
                     (long)c->pid, code);
    if (c->generation != mpm_generation || i >= sup_wanted)
        return;
    if (child_had_work(c))
        sup_index[i].delay = 0;
    else if (!sup_index[i].delay)
        sup_index[i].delay = CHILD_DELAY_MIN_US;
    else if ((sup_index[i].delay *= 2) > CHILD_DELAY_MAX_US)
        sup_index[i].delay = CHILD_DELAY_MAX_US;
    sup_index[i].due = sup_index[i].delay ? now + sup_index[i].delay : 0;
    BRG_ASSERT(sup_index[i].delay >= 0 && sup_index[i].delay <= CHILD_DELAY_MAX_US);
    if (sup_index[i].delay > APR_USEC_PER_SEC)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "server process %d keeps dying: the next is started in %d seconds", i,
                     (int)apr_time_sec(sup_index[i].delay));
}

static void child_remove(sup_process *gone, server_rec *s)
{
    sup_process **at = &sup_processes;
    ap_generation_t generation = gone->generation;

    while (*at != gone) {
        BRG_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = gone->next;
    child_leaves_index(gone);
    child_give_slot(gone->slot);
    if (gone->fd >= 0)
        close(gone->fd);
    ap_run_child_status(s, gone->pid, generation, gone->slot, MPM_CHILD_EXITED);
    scoreboard_slot_end(gone->slot);
    for (int i = 0; sup_slotless && i < sup_wanted; i++)
        sup_index[i].due = 0;
    sup_slotless = 0;
    free(gone->stalls);
    free(gone);
    if (generation != mpm_generation && !generation_lives(generation))
        ap_run_end_generation(s, generation);
}

/* Not one of ours: a piped log, or a program of a module. */
static void child_is_other(pid_t pid, int status)
{
    apr_proc_t proc = {.pid = pid};
    ap_generation_t generation;

    if (apr_proc_other_child_alert(&proc, APR_OC_REASON_DEATH, status) != APR_SUCCESS)
        ap_unregister_extra_mpm_process(pid, &generation);
}

/* Children of the supervisor in whose place this process is (upgrade_watch.c): nobody here can wait for them. */
static void child_remove_strangers(server_rec *s)
{
    for (sup_process *c = sup_processes, *next; c; c = next) {
        next = c->next;
        if (c->fd < 0 && kill(c->pid, 0) && errno == ESRCH)
            child_remove(c, s);
    }
}

int sup_children_reap(apr_pool_t *pconf, server_rec *s)
{
    static int early_deaths;
    int status, verdict = 0;
    pid_t pid;

    BRG_ASSERT(sup_is_supervisor());
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
        apr_exit_why_e why = WIFEXITED(status) ? APR_PROC_EXIT : APR_PROC_SIGNAL;
        apr_proc_t proc = {.pid = pid};
        sup_process *c = sup_processes;

        cached_process_ended(pid);
        ap_update_global_status(); /* its processor time is one of an ended child now */
        while (c && c->pid != pid)
            c = c->next;
        if (!c) {
            child_is_other(pid, code); /* as APR tells it, not as the system does */
            continue;
        }
        if (WIFSIGNALED(status) && WCOREDUMP(status))
            why |= APR_PROC_SIGNAL_CORE;
        if (ap_process_child_status(&proc, why, code) == APEXIT_CHILDFATAL && !c->up)
            verdict = APEXIT_CHILDFATAL;
        if (!c->up && !c->stopping && ++early_deaths >= CHILD_EARLY_DEATHS)
            verdict = APEXIT_CHILDFATAL;
        if (!c->stopping)
            child_died(c, s, why, code);
        child_remove(c, s);
    }
    child_remove_strangers(s);
    return verdict;
}
