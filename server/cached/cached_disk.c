/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tier below CacheRoot: one thread of each server process reads and writes its files, so that neither a loop nor a hit from
 * memory waits for a disk. A record that is read comes into memory as a fetch does: requests for it follow its flight.
 */
#include "cached_below_private.h"
#include "cached_jobs_private.h"
#include "disk.h"
#include "trial.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"
#include "unixd.h"
#include "apr_strings.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

APLOG_USE_MODULE(cache_disk);

#define DISK_BYTES (256ull << 20)
#define DISK_AT_A_TIME 4
#define DISK_JOBS 4096 /* that wait: objects beyond are not written, or fetched from their origin */
#define DISK_PIECE (256u * 1024)

typedef enum disk_what { DISK_READS, DISK_WRITES, DISK_PURGED } disk_what;

typedef struct disk_job {
    cached_job job; /* first */
    disk_what what;
    store_key key;
    uint32_t flight;
    apr_time_t asked;
    sem_t *over; /* of the thread that waits; NULL: none does */
} disk_job;

static disk *disk_tier; /* for the processes that are forked from here on */
static const char *disk_root;
static int disk_is_direct; /* this program is no server: it has no thread for it */
static int disk_wanted;    /* by the configuration that is in force */
static cached_jobs disk_jobs;
static atomic_uint disk_jobs_n;
static pthread_once_t disk_once = PTHREAD_ONCE_INIT;
static cached_place *disk_place_mine; /* of the thread; NULL: none */

/* ---- in the supervisor ---- */

/* Files belong to the user of server processes, and are opened with his rights: the folder is his. */
static apr_status_t disk_open_as_user(const disk_limits *limits, int *scanned)
{
    const int root = geteuid() == 0;
    apr_status_t rv;

    if (root) {
        setfsgid(ap_unixd_config.group_id);
        setfsuid(ap_unixd_config.user_id);
    }
    rv = disk_open(&disk_tier, limits, scanned);
    if (root) {
        setfsuid(0);
        setfsgid(getegid());
    }
    return rv;
}

static const char *disk_configured(const server_rec *main, uint64_t *bytes)
{
    const char *root = NULL;

    *bytes = DISK_BYTES;
    for (const server_rec *s = main; s && cache_disk_module.module_index >= 0; s = s->next) {
        const cached_disk_server *c = ap_get_module_config(s->module_config, &cache_disk_module);

        if (c->bytes)
            *bytes = c->bytes;
        if (c->root && root && strcmp(c->root, root) != 0)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "CacheRoot %s is not used: all servers store below %s", c->root, root);
        if (!root)
            root = c->root;
    }
    return root;
}

void cached_disk_open(server_rec *main)
{
    uint64_t secret[2];
    disk_limits limits = {.files = DISK_AT_A_TIME};
    const char *root = disk_configured(main, &limits.bytes);
    int scanned;
    apr_status_t rv;

    disk_wanted = root != NULL;
    if (!root && cached_names(main, "disk"))
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, main,
                     APLOGNO(00703) "Cannot cache files to disk without a CacheRoot specified.");
    if (disk_tier && root && strcmp(root, disk_root) != 0)
        ap_log_error(
            APLOG_MARK, APLOG_NOTICE, 0, main,
            "another CacheRoot takes effect when the server is restarted, not by a reload");
    if (disk_tier || !root || trial_runs())
        return;
    limits.root = root;
    limits.object_bytes = limits.bytes / DISK_AT_A_TIME / 4;
    rv = disk_open_as_user(&limits, &scanned);
    if (rv) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, main,
                     "%s: responses are stored in memory alone (CacheRoot, CacheMaxSize)", root);
        return;
    }
    disk_root = strdup(root);
    disk_secret(disk_tier, secret);
    store_secret_use(cached_store(), secret);
    if (scanned)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, main,
                     "%s: there was no index that could be used; it was made from what is stored",
                     root);
}

/* The command line: purges are on disk when it ends. */
void cached_disk_attach(const server_rec *main)
{
    disk_limits limits = {.files = DISK_AT_A_TIME};

    limits.root = disk_configured(main, &limits.bytes);
    limits.object_bytes = limits.bytes / DISK_AT_A_TIME / 4;
    disk_is_direct = limits.root && disk_attach(&disk_tier, &limits) == APR_SUCCESS;
    disk_wanted = disk_is_direct;
}

int cached_disk_is_open(void)
{
    return disk_wanted;
}

/* ---- the thread ---- */

/* A disk that fails is logged once, until it works again. Other errors are of records that were evicted meanwhile. */
static void disk_tell(disk_what what, apr_status_t rv)
{
    static uint8_t fails[DISK_PURGED + 1];

    BRG_ASSERT(what <= DISK_PURGED && disk_place_mine); /* the thread of the tier */
    if (rv == APR_EGENERAL)
        return;
    if (rv && !fails[what])
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, ap_server_conf, "%s: cannot %s stored responses",
                     disk_root, what == DISK_READS ? "read" : "write");
    fails[what] = rv != APR_SUCCESS;
}

/* Read the head of a record: first as many bytes as most heads have. @return its bytes, to be freed; NULL */
static char *disk_head_get(const store_key *key, const disk_place *place, disk_head *head)
{
    size_t n = place->bytes < DISK_HEAD_GUESS ? (size_t)place->bytes : DISK_HEAD_GUESS;

    for (int tries = 0; tries < 4; tries++) {
        char *bytes = malloc(n);
        apr_status_t rv = bytes ? disk_read(disk_tier, place, 0, bytes, n, 1) : APR_ENOMEM;

        disk_tell(DISK_READS, rv);
        if (rv == APR_SUCCESS)
            rv = disk_head_read(disk_tier, key, place, bytes, &n, head);
        if (rv == APR_SUCCESS)
            return bytes;
        free(bytes);
        if (rv != APR_INCOMPLETE || n > STORE_HEAD_MOST)
            break;
    }
    return NULL;
}

static int disk_body_get(store_writer *w, const disk_job *job, const disk_place *place,
                         const disk_head *head, int tells)
{
    disk_sum sum;

    disk_sum_begin(&sum);
    for (uint64_t done = 0; done < head->body_bytes;) {
        const uint64_t left = head->body_bytes - done;
        apr_status_t rv;
        char *p;
        size_t n = store_write_room(w, &p);

        if (!n)
            return 0;
        n = n < DISK_PIECE ? n : DISK_PIECE;
        n = n < left ? n : (size_t)left;
        BRG_ASSERT(n > 0 && n <= left);
        rv = disk_read(disk_tier, place, head->body + done, p, n, 1);
        disk_tell(DISK_READS, rv);
        if (rv != APR_SUCCESS)
            return 0;
        disk_sum_add(&sum, p, n);
        store_write_commit(w, n);
        done += n;
        if (tells)
            cached_wake(disk_place_mine, job->flight);
    }
    return disk_body_check(disk_tier, &job->key, place, head, &sum) == APR_SUCCESS;
}

/* Its sum says that it was written so, not by whom. */
static int disk_is_sound(const disk_head *head)
{
    fresh_terms terms;

    memcpy(&terms, head->terms, sizeof terms);
    return head->marks_n <= STORE_MARKS_MOST && head->text_len && fresh_terms_are_sound(&terms);
}

/* A record from before the last start of the machine is not shown before its sum was compared. */
static void disk_copy(const disk_job *job, const disk_place *place, const disk_head *from,
                      uint32_t epoch)
{
    uint64_t marks[STORE_MARKS_MOST];
    const store_head head = {.key = job->key,
                             .mark = from->mark,
                             .text = from->text,
                             .text_len = from->text_len,
                             .terms = from->terms,
                             .head = from->head,
                             .head_len = from->head_len,
                             .marks = marks,
                             .marks_n = from->marks_n,
                             .vary = from->vary,
                             .length = from->body_bytes,
                             .epoch = epoch};
    store_writer *w;
    const char *why;

    BRG_ASSERT(from->marks_n <= STORE_MARKS_MOST && from->text_len);
    memcpy(marks, from->marks, 8 * (size_t)from->marks_n);
    w = store_write_begin(cached_reader(disk_place_mine), &head, place->verified ? job->flight : 0,
                          &why);
    if (!w)
        return;
    if (place->verified)
        cached_wake(disk_place_mine, job->flight);
    if (disk_body_get(w, job, place, from, place->verified))
        (void)store_write_end(&w);
    else
        store_write_give_up(&w);
}

static void disk_do_read(const disk_job *job)
{
    const uint32_t epoch = store_epoch(cached_store());
    disk_place place;
    disk_head head;
    char *bytes =
        disk_find(disk_tier, &job->key, &place) ? disk_head_get(&job->key, &place, &head) : NULL;

    BRG_ASSERT(job->what == DISK_READS && job->flight);
    if (bytes && disk_is_sound(&head))
        disk_copy(job, &place, &head, epoch);
    else
        disk_forget(disk_tier, &job->key);
    free(bytes);
    /* If the flight is not over: its followers look the key up. */
    cached_wake(disk_place_mine, job->flight);
    store_flight_end(cached_reader(disk_place_mine), job->flight, 0);
}

static void disk_do_write(const disk_job *job)
{
    store_found found;

    BRG_ASSERT(job->what == DISK_WRITES && !job->over);
    if (!store_find(cached_reader(disk_place_mine), &job->key, apr_time_now(), &found) ||
        !found.view.reader)
        return;
    if (!found.view.soft)
        disk_tell(DISK_WRITES, disk_write(disk_tier, &job->key, &found.view, job->asked));
    store_release(&found.view);
}

static void disk_do(disk_job *job)
{
    switch (job->what) {
    case DISK_READS:
        disk_do_read(job);
        break;
    case DISK_WRITES:
        disk_do_write(job);
        break;
    default:
        (void)disk_purge_wait(disk_tier);
    }
    if (job->over)
        sem_post(job->over);
    BRG_ASSERT(atomic_load(&disk_jobs_n) > 0); /* disk_post() counted it */
    free(job);
    atomic_fetch_sub(&disk_jobs_n, 1);
}

static void *disk_thread(void *unused)
{
    (void)unused;
    for (;;) {
        cached_wait(&disk_jobs.called);
        for (cached_job *job = cached_jobs_take(&disk_jobs), *next; job; job = next) {
            next = job->next;
            disk_do((disk_job *)job);
        }
    }
    return NULL;
}

static void disk_thread_start(void)
{
    cached_place *place = disk_tier ? cached_place_new() : NULL;

    if (!place || sem_init(&disk_jobs.called, 0, 0))
        return;
    disk_place_mine = place;
    if (brg_thread_start(disk_thread, NULL, 0, NULL))
        disk_place_mine = NULL;
}

/* ---- for loops and workers ---- */

static int disk_post(disk_what what, const store_key *key, uint32_t flight, apr_time_t asked,
                     sem_t *over)
{
    disk_job *job;

    pthread_once(&disk_once, disk_thread_start);
    if (!disk_place_mine || atomic_load(&disk_jobs_n) >= DISK_JOBS || !(job = malloc(sizeof *job)))
        return 0;
    *job = (disk_job){.what = what, .key = *key, .flight = flight, .asked = asked, .over = over};
    atomic_fetch_add(&disk_jobs_n, 1);
    cached_jobs_post(&disk_jobs, &job->job);
    return 1;
}

int cached_disk_figures(disk_figures *figures)
{
    if (disk_tier && disk_wanted)
        disk_figures_get(disk_tier, figures);
    return disk_tier && disk_wanted;
}

int cached_disk_has(const store_key *key)
{
    disk_place place;

    return disk_tier && disk_wanted && disk_find(disk_tier, key, &place);
}

int cached_disk_fetch(const store_key *key, uint32_t flight)
{
    return disk_post(DISK_READS, key, flight, 0, NULL);
}

int cached_disk_fetch_wait(const store_key *key, uint32_t flight)
{
    sem_t over;
    int posted;

    BRG_ASSERT(!brg_thread_is_loop());
    if (sem_init(&over, 0, 0))
        return 0;
    posted = disk_post(DISK_READS, key, flight, 0, &over);
    if (posted)
        cached_wait(&over);
    sem_destroy(&over);
    return posted;
}

void cached_disk_write(const store_key *key, apr_time_t asked)
{
    if (disk_tier && disk_wanted)
        (void)disk_post(DISK_WRITES, key, 0, asked, NULL);
}

void cached_disk_purge(uint64_t mark)
{
    static const store_key none;

    if (!disk_tier)
        return;
    if (disk_is_direct) {
        (void)disk_purge(disk_tier, mark, apr_time_now());
        return;
    }
    disk_purge_begin(disk_tier, mark, apr_time_now());
    (void)disk_post(DISK_PURGED, &none, 0, 0, NULL);
}
