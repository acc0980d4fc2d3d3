/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes what slow clients leave (core_park.c). There is one in a process, while there is something to be written
 * and for a moment after that. A disk that hangs holds it alone: what it was given is sent from memory, and nobody gives it more.
 */
#include "core_park_private.h"
#include "thread_self.h"

#include "brigade/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PARK_IDLE_SECONDS 2 /* then the thread ends */

static struct {
    pthread_mutex_t lock; /* guards the rest; held for no longer than it takes to change the list */
    pthread_cond_t more;
    struct park_job *first, **last;
    int runs, waits;
} park_queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

void park_file_release(struct park_file *file)
{
    if (atomic_fetch_sub(&file->refs, 1) != 1)
        return;
    if (file->fd >= 0)
        spool_close_file(file->fd, file->high);
    else
        spool_freed(file->high);
    free(file);
}

static int park_write_all(int fd, const char *data, apr_size_t len, spool_pos at)
{
    while (len) {
        ssize_t n = pwrite(fd, data, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : EIO;
        data += n;
        len -= (apr_size_t)n;
        at += n;
    }
    return 0;
}

static void park_write(struct park_job *job)
{
    struct park_file *file = job->file;

    BRG_ASSERT(job->len && !job->error);
    if (file->fd < 0)
        file->fd = spool_open(job->dir);
    job->error = file->fd < 0 ? errno : park_write_all(file->fd, job->data, job->len, job->at);
    loop_note_post(job->loop, &job->note);
}

/* With the lock held. @return 0: nothing came for long */
static int park_wait(void)
{
    struct timespec until;
    int rv = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PARK_IDLE_SECONDS;
    park_queue.waits = 1;
    while (!park_queue.first && rv == 0)
        rv = pthread_cond_timedwait(&park_queue.more, &park_queue.lock, &until);
    park_queue.waits = 0;
    return park_queue.first != NULL;
}

static void *park_main(void *unused)
{
    struct park_job *job;

    pthread_mutex_lock(&park_queue.lock);
    while (park_queue.first || park_wait()) {
        job = park_queue.first;
        park_queue.first = job->next;
        if (!job->next)
            park_queue.last = NULL;
        pthread_mutex_unlock(&park_queue.lock);
        park_write(job);
        pthread_mutex_lock(&park_queue.lock);
    }
    park_queue.runs = 0;
    pthread_mutex_unlock(&park_queue.lock);
    return NULL;
}

int park_submit(struct park_job *job)
{
    int taken = 1, wake;

    pthread_mutex_lock(&park_queue.lock);
    if (!park_queue.runs)
        park_queue.runs = taken = thread_start(park_main, NULL, 0, NULL) == 0;
    if (taken) {
        job->next = NULL;
        *(park_queue.last ? park_queue.last : &park_queue.first) = job;
        park_queue.last = &job->next;
    }
    wake = taken && park_queue.waits;
    pthread_mutex_unlock(&park_queue.lock);
    if (wake)
        pthread_cond_signal(&park_queue.more);
    return taken;
}
