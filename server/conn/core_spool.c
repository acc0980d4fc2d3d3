/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output on disk: a worker is done with its response although the client is not.
 *
 * The file is a ring of bytes with one writer, the worker, and one reader: the loop while the
 * worker has the connection, core_spool_next() afterwards. Positions only grow; wr is the end of
 * the written bytes, rd of the sent ones. The file's fields change only while the ring is empty,
 * when the reader looks at nothing but these two. It is read and written, and never sent by
 * sendfile: pages that a socket still refers to would change when the ring comes round.
 *
 * Where the disk is full, or the second limit of OutputSpoolSize is reached, the ring ends at its
 * present size.
 */
#include "core_spool_private.h"
#include "loop.h"
#include "thread_self.h"
#include "loop_drain.h"
#include "clock.h"
#include "file_output.h"
#include "transport.h"

#include "brigade/assert.h"
#include "http_log.h"

#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define SPOOL_BLOCK THREAD_BUFFER_BYTES    /* read, and waited for, at once */
#define SPOOL_TURN_BYTES (4 * 1024 * 1024) /* then the loop looks at its other connections */
#define SPOOL_AHEAD (1024 * 1024)          /* asked of a disk at once */
#define SPOOL_STEP_SECONDS 1               /* how often a worker that waits looks up */

int core_spool_is_active(const struct core_output *out)
{
    return __builtin_expect(out->spool != NULL, 0) && out->spool->active;
}

int core_spool_takes(const struct core_output *out)
{
    return core_spool_is_active(out) && !out->spool->failed && !conn_on_loop();
}

int core_spool_may_begin(const struct core_output *out)
{
    return out->bc && !out->error && !conn_on_loop() && !out->bc->loop->prefork &&
           out->bc->state == CONN_WORKER && transport_takes_spool(out->bc) &&
           out->bc->loop->config->spool_most > 0 && (!out->spool || !out->spool->active);
}

static spool_pos spool_room(const struct core_spool *sp)
{
    return atomic_load(&sp->size) - (atomic_load(&sp->wr) - atomic_load(&sp->rd));
}

/* ---- sending ---- */

/* On a loop from the page cache; else EAGAIN, and the disk is asked for it. */
static ssize_t spool_read(const struct core_spool *sp, char *buf, size_t len, off_t off)
{
    ssize_t n =
        file_output_read(sp->fd, buf, len, off, conn_on_loop() ? FILE_OWN_CACHED : FILE_WAITS);

    if (n < 0 && errno == EAGAIN)
        posix_fadvise(sp->fd, off, SPOOL_AHEAD, POSIX_FADV_WILLNEED);
    return n;
}

/* A layer's output goes to the socket as it is. */
static ssize_t spool_sendv(const struct core_spool *sp, const struct iovec *iov)
{
    brg_conn *bc = sp->out->bc;

    return transport_diverts(bc) ? send(bc->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL)
                                 : transport_sendv(bc, iov, 1, 0);
}

static void spool_sent(struct core_spool *sp, spool_pos rd)
{
    spool_pos wanted;

    atomic_store(&sp->rd, rd);
    sp->drain.progress = sp->out->bc->loop->monotonic;
    atomic_store_explicit(&sp->took, sp->drain.progress, memory_order_relaxed);
    wanted = atomic_load(&sp->wanted);
    if (!wanted || spool_room(sp) < wanted)
        return;
    pthread_mutex_lock(&sp->lock);
    pthread_cond_signal(&sp->room);
    pthread_mutex_unlock(&sp->lock);
}

static void spool_lost(struct core_spool *sp, apr_status_t rv)
{
    atomic_store(&sp->error, rv);
    pthread_mutex_lock(&sp->lock);
    pthread_cond_signal(&sp->room);
    pthread_mutex_unlock(&sp->lock);
}

/* One block. APR_SUCCESS: go on. */
static apr_status_t spool_send_block(struct core_spool *sp, spool_pos rd, spool_pos wr)
{
    char *buffer = thread_buffer();
    spool_pos size = atomic_load(&sp->size), off = (rd - sp->base) % size;
    size_t len = THREAD_BUFFER_BYTES;
    struct iovec iov = {.iov_base = buffer};
    ssize_t n;

    if (!buffer)
        return APR_ENOMEM;
    BRG_ASSERT(rd < wr && sp->fd >= 0);
    if ((spool_pos)len > wr - rd)
        len = (size_t)(wr - rd);
    if ((spool_pos)len > size - off)
        len = (size_t)(size - off);
    n = spool_read(sp, buffer, len, off);
    if (n < 0 && errno == EAGAIN) {
        sp->cold = 1;
        return APR_INCOMPLETE;
    }
    if (n > 0) {
        iov.iov_len = (size_t)n;
        n = spool_sendv(sp, &iov);
    } else
        errno = n < 0 ? errno : EIO;
    if (n <= 0)
        return errno == EINTR ? APR_SUCCESS : errno == EWOULDBLOCK ? APR_EAGAIN : errno;
    spool_sent(sp, rd + n);
    return APR_SUCCESS;
}

/* conn_drain.run, and the owner's sending on the loop after that. */
static apr_status_t spool_send(struct conn_drain *d)
{
    struct core_spool *sp = (struct core_spool *)(void *)d;
    spool_pos rd = atomic_load(&sp->rd), begin = rd;
    apr_status_t rv = atomic_load(&sp->error);
    spool_pos wr;

    sp->cold = 0;
    while (rv == APR_SUCCESS && rd != (wr = atomic_load(&sp->wr))) {
        if (rd - begin >= SPOOL_TURN_BYTES)
            return APR_INCOMPLETE;
        rv = spool_send_block(sp, rd, wr);
        rd = atomic_load(&sp->rd);
    }
    if (rv != APR_SUCCESS && rv != APR_EAGAIN && rv != APR_INCOMPLETE)
        spool_lost(sp, rv);
    return rv;
}

static void spool_expired(struct conn_drain *d)
{
    spool_lost((struct core_spool *)(void *)d, APR_TIMEUP);
}

/* ---- writing ---- */

static apr_status_t spool_activate(struct core_output *out)
{
    const loops_config *conf = out->bc->loop->config;
    struct core_spool *sp = out->spool;

    if (!sp)
        sp = out->spool = spool_create(out);
    sp->drain.run = spool_send;
    sp->drain.expired = spool_expired;
    BRG_ASSERT(!sp->active && atomic_load(&sp->rd) == atomic_load(&sp->wr) && sp->fd < 0);
    if (spool_open_file(sp, conf->spool_dir)) {
        spool_log(out, errno, "cannot make a file for output");
        return CORE_SPOOL_NONE;
    }
    sp->base = atomic_load(&sp->wr);
    atomic_store(&sp->size, conf->spool_most);
    sp->drain.timeout_us = connection_timeout(out->c);
    atomic_store(&sp->took, clock_monotonic());
    sp->active = 1;
    sp->failed = 0;
    if (transport_diverts(out->bc))
        spool_layer_begin(sp);
    return APR_SUCCESS;
}

/* Others need the worker, and the client took nothing for long. */
static int spool_keeps_others(const struct core_output *out)
{
    const brg_loop *loop = out->bc->loop;
    apr_interval_time_t stall = loop->config->stall_us;
    apr_time_t took = atomic_load_explicit(&out->spool->took, memory_order_relaxed);

    return stall && worker_pool_is_short(loop->workers) && clock_monotonic() - took >= stall;
}

static int spool_waits_too_long(const struct core_output *out, apr_interval_time_t waited)
{
    apr_interval_time_t timeout = connection_timeout(out->c);
    apr_interval_time_t stall = out->bc->loop->config->stall_us;

    if (timeout >= 0 && waited >= timeout)
        return 1;
    return spool_keeps_others(out) ||
           (stall && waited >= stall && worker_pool_is_short(out->bc->loop->workers));
}

/* With the lock held. */
static void spool_wait_step(struct core_spool *sp)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SPOOL_STEP_SECONDS;
    pthread_cond_timedwait(&sp->room, &sp->lock, &until);
}

/* Wait until there is room for `want` bytes. A client makes progress if it takes a block. The
 * timeout for other waits counts from its last block on: a client that took nothing while the file
 * was filled is not given that time once more. */
static apr_status_t spool_wait_room(struct core_output *out, spool_pos want)
{
    struct core_spool *sp = out->spool;
    spool_pos seen = atomic_load(&sp->rd);
    apr_time_t since = clock_monotonic(), now;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(!conn_on_loop() && out->bc->state == CONN_WORKER);
    pthread_mutex_lock(&sp->lock);
    atomic_store(&sp->wanted, want);
    while (rv == APR_SUCCESS && spool_room(sp) < want) {
        spool_wait_step(sp);
        now = clock_monotonic();
        if (atomic_load(&sp->rd) - seen >= SPOOL_BLOCK) {
            seen = atomic_load(&sp->rd);
            since = now;
        }
        rv = atomic_load(&sp->error);
        if (rv == APR_SUCCESS && spool_waits_too_long(out, now - since))
            rv = APR_TIMEUP;
        if (rv == APR_SUCCESS && atomic_load(&loops_phase) == LOOPS_DROP)
            rv = APR_ECONNABORTED;
    }
    atomic_store(&sp->wanted, 0);
    pthread_mutex_unlock(&sp->lock);
    return rv;
}

/* The file grows no more: its present size is the ring. 0: it is empty. 0: it has nothing. */
static int spool_ends_here(struct core_spool *sp)
{
    if (!sp->high)
        return 0;
    BRG_ASSERT(sp->high <= atomic_load(&sp->size));
    atomic_store(&sp->size, sp->high);
    return 1;
}

/* How many of len bytes may be written now at off; 0: wait for room. */
static apr_size_t spool_fits(struct core_spool *sp, spool_pos off, apr_size_t len)
{
    spool_pos most = spool_room(sp), size = atomic_load(&sp->size);

    if (most > size - off)
        most = size - off;
    return (spool_pos)len > most ? (apr_size_t)most : len;
}

/* Write at most len bytes; *n: how many. CORE_SPOOL_NONE: it takes no more for good. */
static apr_status_t spool_write(struct core_output *out, const char *data, apr_size_t len,
                                apr_size_t *n)
{
    struct core_spool *sp = out->spool;
    spool_pos wr = atomic_load(&sp->wr), off = (wr - sp->base) % atomic_load(&sp->size);
    spool_pos before = sp->high;
    ssize_t done;

    *n = 0;
    if (!(len = spool_fits(sp, off, len)))
        return spool_wait_room(out, SPOOL_BLOCK < atomic_load(&sp->size) ? SPOOL_BLOCK
                                                                         : atomic_load(&sp->size));
    if (!spool_charge(sp, off + (spool_pos)len)) {
        spool_log(out, 0, "OutputSpoolSize: all responses together have reached their limit");
        return spool_ends_here(sp) ? APR_SUCCESS : CORE_SPOOL_NONE;
    }
    do
        done = pwrite(sp->fd, data, len, off);
    while (done < 0 && errno == EINTR);
    if (done <= 0) {
        spool_log(out, errno, "cannot write output");
        if (sp->high == before) /* in place: the old bytes are of no use any more */
            return CORE_SPOOL_NONE;
        spool_uncharge(sp, before);
        return spool_ends_here(sp) ? APR_SUCCESS : CORE_SPOOL_NONE;
    }
    *n = (apr_size_t)done;
    if (sp->high > before && sp->high > off + done)
        spool_uncharge(sp, off + done > before ? off + done : before);
    atomic_store(&sp->wr, wr + done);
    return APR_SUCCESS;
}

apr_status_t spool_append_bytes(struct core_output *out, const char *data, apr_size_t len,
                                apr_size_t *taken)
{
    struct core_spool *sp = out->spool;
    apr_status_t rv = atomic_load(&sp->error);
    apr_size_t n;

    BRG_ASSERT(sp->active && !sp->failed && !conn_on_loop());
    *taken = 0;
    if (rv == APR_SUCCESS && spool_keeps_others(out))
        rv = APR_TIMEUP;
    while (rv == APR_SUCCESS && *taken < len) {
        rv = spool_write(out, data + *taken, len - *taken, &n);
        *taken += n;
        if (n)
            loop_drain_post(&sp->drain);
    }
    if (rv == CORE_SPOOL_NONE)
        sp->failed = 1;
    return rv;
}

apr_status_t core_spool_append(struct core_output *out, const char *data, apr_size_t len,
                               apr_size_t *taken)
{
    return transport_diverts(out->bc) ? spool_layer_append(out->spool, data, len, taken)
                                      : spool_append_bytes(out, data, len, taken);
}

/* 1: all of bb but its metadata may go, and belongs to one response. */
static int spool_fits_brigade(const struct core_output *out)
{
    apr_bucket *e;

    for (e = APR_BRIGADE_FIRST(out->bb); e != APR_BRIGADE_SENTINEL(out->bb); e = APR_BUCKET_NEXT(e))
        if (APR_BUCKET_IS_FILE(e) ||
            (APR_BUCKET_IS_METADATA(e) && !APR_BUCKET_IS_FLUSH(e) && !APR_BUCKET_IS_EOS(e)))
            return 0;
    return 1;
}

apr_status_t core_spool_begin(struct core_output *out)
{
    apr_status_t rv = spool_fits_brigade(out) ? spool_activate(out) : CORE_SPOOL_NONE;
    apr_size_t len, taken;
    const char *data;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(out->bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(out->bb);

        if (!APR_BUCKET_IS_METADATA(e)) {
            if ((rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ)) == APR_SUCCESS)
                rv = core_spool_append(out, data, len, &taken);
            else
                taken = 0;
            if (core_output_is_memory(e))
                out->memory -= taken < out->memory ? taken : out->memory;
            if (rv != APR_SUCCESS && !taken)
                break;
            if (rv != APR_SUCCESS)
                apr_bucket_split(e, taken);
        }
        apr_bucket_delete(e);
    }
    if (rv == CORE_SPOOL_NONE && core_spool_is_active(out) &&
        atomic_load(&out->spool->wr) != out->spool->base)
        return APR_SUCCESS; /* it has a part */
    if (rv == CORE_SPOOL_NONE && core_spool_is_active(out))
        spool_close(out->spool);
    return rv;
}

/* ---- the end ---- */

apr_status_t core_spool_wait(struct core_output *out)
{
    struct core_spool *sp = out->spool;
    apr_status_t rv = atomic_load(&sp->error);

    return rv == APR_SUCCESS ? spool_wait_room(out, atomic_load(&sp->size)) : rv;
}

/* In CONN_WORKER the loop sends, unless a worker has the connection for writing alone; an empty ring is the worker's to end all the same, since the loop then
 * looks at nothing of it. */
apr_status_t core_spool_next(struct core_output *out)
{
    struct core_spool *sp = out->spool;
    apr_status_t rv = atomic_load(&sp->error);

    BRG_ASSERT(sp->active);
    if (rv == APR_SUCCESS && (out->bc->state != CONN_WORKER || out->flushing)) {
        rv = spool_send(&sp->drain);
        if (conn_on_loop())
            out->bc->cold = sp->cold;
        if (rv == APR_INCOMPLETE && conn_on_loop() && !sp->cold)
            loop_again(out->bc->loop, out->bc);
        if (rv == APR_INCOMPLETE)
            rv = APR_EAGAIN;
    }
    if (rv != APR_SUCCESS)
        return rv;
    if (atomic_load(&sp->rd) != atomic_load(&sp->wr))
        return APR_EAGAIN;
    core_spool_count(out);
    spool_close(sp);
    return APR_SUCCESS;
}

void core_spool_count(struct core_output *out)
{
    struct core_spool *sp = out->spool;
    spool_pos n;

    if (!sp)
        return;
    n = (sp->sink.take ? spool_layer_sent(sp) : atomic_load(&sp->rd)) - sp->counted;
    if (n <= 0)
        return;
    sp->counted += n;
    out->bc->ways |= loop_way_bit(BRG_FIGURE_SENT_READ);
    loop_sent(out->bc->loop, BRG_FIGURE_SENT_READ, (uint64_t)n);
    out->bytes += n;
    out->reported += n;
}

void core_spool_fail(struct core_output *out, apr_status_t error)
{
    if (!out->spool)
        return;
    core_spool_count(out);
    if (!atomic_load(&out->spool->error))
        atomic_store(&out->spool->error, error);
    out->spool->active =
        0; /* the loop may still look at the file: it is closed with the connection */
}

void core_spool_drop(struct core_output *out)
{
    struct core_spool *sp = out->spool;

    if (!sp)
        return;
    BRG_ASSERT(sp->out == out);
    loop_drain_end(&sp->drain);
    spool_close(sp);
    pthread_cond_destroy(&sp->room);
    pthread_mutex_destroy(&sp->lock);
    out->spool = NULL;
}
