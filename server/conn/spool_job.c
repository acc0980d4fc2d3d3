/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes and reads files for loops (spool_job.h). There is one in a process, while there is something to be done and
 * for a moment after that. A disk that hangs holds it alone.
 */
#include "spool_job.h"
#include "core_spool_private.h"
#include "thread_self.h"

#include "brigade/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SPOOL_IDLE_SECONDS 2 /* then the thread ends */

static struct {
    pthread_mutex_t lock; /* guards the rest; held for no longer than it takes to change the list */
    pthread_cond_t more;
    spool_job *first, **last;
    int runs, waits;
} spool_queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

/* ---- files ---- */

spool_file *spool_file_new(void)
{
    spool_file *file = calloc(1, sizeof *file);

    if (file) {
        file->fd = -1;
        atomic_init(&file->refs, 1);
    }
    return file;
}

void spool_file_release(spool_file *file)
{
    if (atomic_fetch_sub(&file->refs, 1) != 1)
        return;
    if (file->fd >= 0)
        spool_close_file(file->fd, file->high);
    else
        spool_freed(file->high);
    free(file);
}

int64_t spool_file_grow(spool_file *file, const loops_config *config, apr_size_t len)
{
    const int64_t at = file->high;

    if (at + (int64_t)len > config->spool_most || !spool_reserve(config, (spool_pos)len))
        return -1;
    file->high += (int64_t)len;
    return at;
}

/* ---- a job ---- */

/* All of it. @return 0 or errno */
static int job_move(const spool_job *job)
{
    apr_size_t done = 0;

    while (done < job->len) {
        char *at = job->data + done;
        const apr_size_t left = job->len - done;
        const off_t place = job->at + (off_t)done;
        const ssize_t n = job->reads ? pread(job->file->fd, at, left, place)
                                     : pwrite(job->file->fd, at, left, place);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : EIO;
        done += (apr_size_t)n;
    }
    return 0;
}

static void job_do(spool_job *job)
{
    spool_file *file = job->file;

    BRG_ASSERT(job->len && !(job->reads && file->fd < 0));
    if (file->fd < 0)
        file->fd = spool_open(job->dir);
    job->error = file->fd < 0 ? errno : job_move(job);
}

void spool_job_run(spool_job *job)
{
    job->dir = job->loop->config->spool_dir;
    job_do(job);
}

/* ---- the thread ---- */

/* With the lock held. @return 0: nothing came for long */
static int queue_wait(void)
{
    struct timespec until;
    int rv = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SPOOL_IDLE_SECONDS;
    spool_queue.waits = 1;
    while (!spool_queue.first && rv == 0)
        rv = pthread_cond_timedwait(&spool_queue.more, &spool_queue.lock, &until);
    spool_queue.waits = 0;
    return spool_queue.first != NULL;
}

static void *queue_main(void *unused)
{
    spool_job *job;

    pthread_mutex_lock(&spool_queue.lock);
    while (spool_queue.first || queue_wait()) {
        job = spool_queue.first;
        spool_queue.first = job->next;
        if (!job->next)
            spool_queue.last = NULL;
        pthread_mutex_unlock(&spool_queue.lock);
        job_do(job);
        if (loops_outside_begin()) {
            loop_note_post(job->loop, &job->note);
            loops_outside_end();
        }
        pthread_mutex_lock(&spool_queue.lock);
    }
    spool_queue.runs = 0;
    pthread_mutex_unlock(&spool_queue.lock);
    return NULL;
}

int spool_job_submit(spool_job *job)
{
    int taken = 1, wake;

    job->dir = job->loop->config->spool_dir; /* the thread may outlive the loop */
    pthread_mutex_lock(&spool_queue.lock);
    if (!spool_queue.runs)
        spool_queue.runs = taken = thread_start(queue_main, NULL, 0, NULL) == 0;
    if (taken) {
        job->next = NULL;
        *(spool_queue.last ? spool_queue.last : &spool_queue.first) = job;
        spool_queue.last = &job->next;
    }
    wake = taken && spool_queue.waits;
    pthread_mutex_unlock(&spool_queue.lock);
    if (wake)
        pthread_cond_signal(&spool_queue.more);
    return taken;
}
