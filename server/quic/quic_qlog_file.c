/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of its own writes the events of connections: the disk may take its time. It starts with
 * the first piece. */
#include "quic_qlog.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "thread_self.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

struct qlog_file {
    int fd; /* -1: not open yet; -2: it cannot be. The thread's */
    uint64_t bytes;
    char name[];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t come, settled;
    qlog_chunk *first, **tail;
    /* pieces that there are; those of them that wait for the disk, or are written */
    unsigned given, queued;
    unsigned files;
    uint8_t runs, told;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .come = PTHREAD_COND_INITIALIZER,
         .settled = PTHREAD_COND_INITIALIZER,
         .tail = &all.first};

/* ---- of the thread ---- */

/* An existing file is left as it is. */
static void file_open(qlog_file *f)
{
    f->fd = open(f->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (f->fd >= 0)
        return;
    f->fd = -2;
    if (!all.told++)
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, ap_server_conf,
                     "H3QLog: cannot write %s; further ones are not told of", f->name);
}

static void file_write(qlog_file *f, const char *data, size_t len)
{
    if (f->fd == -1)
        file_open(f);
    while (len && f->fd >= 0) {
        const ssize_t n = write(f->fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* a full disk: the rest is left out */
        data += n;
        len -= (size_t)n;
    }
}

static void file_end(qlog_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f);
}

static qlog_chunk *chunk_take(void)
{
    qlog_chunk *c;

    pthread_mutex_lock(&all.lock);
    while (!all.first)
        pthread_cond_wait(&all.come, &all.lock);
    c = all.first;
    if ((all.first = c->next) == NULL)
        all.tail = &all.first;
    pthread_mutex_unlock(&all.lock);
    return c;
}

static void chunk_over(qlog_chunk *c)
{
    free(c);
    pthread_mutex_lock(&all.lock);
    BRG_ASSERT(all.queued > 0 && all.given >= all.queued);
    all.given--;
    if (!--all.queued)
        pthread_cond_broadcast(&all.settled);
    pthread_mutex_unlock(&all.lock);
}

static void *file_main(void *unused)
{
    for (;;) {
        qlog_chunk *c = chunk_take();

        file_write(c->file, c->data, c->len);
        if (c->is_last)
            file_end(c->file);
        chunk_over(c);
    }
    return NULL;
}

/* ---- of loops ---- */

qlog_file *qlog_file_new(const char *dir, const char *name)
{
    const size_t dir_len = strlen(dir), name_len = strlen(name);
    qlog_file *f = NULL;
    int enough;

    pthread_mutex_lock(&all.lock);
    if (!all.runs)
        all.runs = thread_start(file_main, NULL, 0, NULL) == 0;
    enough = !all.runs || all.files >= QLOG_FILES_MOST;
    all.files += !enough;
    pthread_mutex_unlock(&all.lock);
    if (enough || !(f = malloc(sizeof *f + dir_len + name_len + 2)))
        return NULL;
    f->fd = -1;
    memcpy(f->name, dir, dir_len);
    f->name[dir_len] = '/';
    memcpy(f->name + dir_len + 1, name, name_len + 1);
    return f;
}

qlog_chunk *qlog_chunk_new(qlog_file *file, int is_last)
{
    qlog_chunk *c = NULL;

    pthread_mutex_lock(&all.lock);
    if ((is_last || all.given < QLOG_WAITING_MOST) && (c = malloc(sizeof *c)) != NULL)
        all.given++;
    pthread_mutex_unlock(&all.lock);
    if (!c)
        return NULL;
    c->next = NULL;
    c->file = file;
    c->len = 0;
    c->is_last = (uint8_t)is_last;
    return c;
}

void qlog_chunk_write(qlog_chunk *c)
{
    BRG_ASSERT(!c->next && c->len <= QLOG_CHUNK);
    pthread_mutex_lock(&all.lock);
    *all.tail = c;
    all.tail = &c->next;
    all.queued++;
    pthread_cond_signal(&all.come);
    pthread_mutex_unlock(&all.lock);
}

void qlog_files_settle(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&all.lock);
    while (all.queued && !pthread_cond_timedwait(&all.settled, &all.lock, &until))
        ;
    pthread_mutex_unlock(&all.lock);
}
