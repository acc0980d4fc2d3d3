/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a loop for a slow client: memory becomes a file without a name. So the handler, and the
 * backend that it has the output from, are done long before the client is (core_output_private.h
 * has the states).
 *
 * The data is copied once, into a job that a thread writes (spool_job.c). A bucket of the job's
 * memory stands in its place meanwhile, and is sent if the client takes it; its rest when the job
 * is done becomes a bucket of the file.
 */
#include "core_spool_private.h"
#include "spool_job.h"

#include "brigade/assert.h"

#include "apr_portable.h"

#include <stddef.h>
#include <stdlib.h>

#define PARK_LEAST (16 * 1024)     /* less is not worth a job */
#define PARK_JOB_MOST (128 * 1024) /* of one job */
/* of a loop: from then on no client keeps more than it must */
#define PARK_PRESSURE (8 * 1024 * 1024)

/* A piece of memory on its way to disk. The bucket that holds it is one of its two references, the note the other one. */
struct park_job {
    spool_job to_disk;
    struct core_output *out; /* NULL: nobody waits for it any more; the loop's */
    _Atomic int refs;
    char data[];
};

struct core_park {
    struct park_job *job; /* on its way; one at a time, so that the file is in order */
    spool_file *file;
    apr_file_t *handle; /* of file, for buckets; in out->kept */
    uint8_t active, refused;
};

int core_output_is_pressed(const brg_conn *bc)
{
    return bc->loop->output_memory > PARK_PRESSURE;
}

static int park_may(const struct core_output *out)
{
    const brg_conn *bc = out->bc;

    return bc && conn_on_loop() && !out->error && !out->c->aborted && !bc->loop->prefork &&
           bc->loop->config->spool_most > 0 && !(out->park && out->park->refused);
}

static struct core_park *park_state(struct core_output *out)
{
    if (!out->park)
        out->park = apr_pcalloc(out->c->pool, sizeof *out->park);
    return out->park;
}

/* ---- the memory of a job ---- */

static void park_job_release(struct park_job *job)
{
    if (atomic_fetch_sub(&job->refs, 1) == 1)
        free(job);
}

/* Of its bucket. */
static void park_data_end(void *data)
{
    park_job_release((struct park_job *)(void *)((char *)data - offsetof(struct park_job, data)));
}

static int park_is_of(const apr_bucket *e, const struct park_job *job)
{
    return APR_BUCKET_IS_HEAP(e) && ((const apr_bucket_heap *)e->data)->base == job->data;
}

static int park_is_data(const apr_bucket *e)
{
    return !APR_BUCKET_IS_METADATA(e) && !APR_BUCKET_IS_FILE(e) && !APR_BUCKET_IS_MMAP(e) &&
           e->length != (apr_size_t)-1;
}

static apr_bucket *park_first(const struct core_output *out)
{
    apr_bucket *e = APR_BRIGADE_FIRST(out->bb);

    while (e != APR_BRIGADE_SENTINEL(out->bb) && !core_output_is_memory(e))
        e = APR_BUCKET_NEXT(e);
    return e;
}

/* Bytes of one job from e on. */
static apr_size_t park_count(const struct core_output *out, const apr_bucket *e)
{
    apr_size_t len = 0;

    for (; e != APR_BRIGADE_SENTINEL(out->bb) && len < PARK_JOB_MOST; e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_FLUSH(e))
            continue;
        if (!park_is_data(e))
            break;
        len += e->length;
    }
    return len < PARK_JOB_MOST ? len : PARK_JOB_MOST;
}

/* Move the first bytes from e on into the job. @return the bucket behind them; NULL: they cannot be read, and the rest stays */
static apr_bucket *park_fill(struct core_output *out, struct park_job *job, apr_bucket *e)
{
    apr_size_t done = 0;

    while (done < job->to_disk.len) {
        apr_bucket *next;
        const char *data;
        apr_size_t len;

        if (!APR_BUCKET_IS_FLUSH(e)) {
            if (e->length > job->to_disk.len - done)
                apr_bucket_split(e, job->to_disk.len - done);
            if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS || len != e->length)
                return NULL;
            memcpy(job->data + done, data, len);
            done += len;
            if (!core_output_is_memory(e))
                out->memory += len; /* it is now */
        }
        next = APR_BUCKET_NEXT(e);
        apr_bucket_delete(e);
        e = next;
    }
    return e;
}

/* ---- files ---- */

static void park_file_end(struct core_park *park)
{
    if (park->file)
        spool_file_release(park->file);
    park->file = NULL;
    park->handle = NULL;
}

static int park_file_is_used(const struct core_output *out)
{
    const apr_bucket *e = APR_BRIGADE_FIRST(out->bb);

    for (; e != APR_BRIGADE_SENTINEL(out->bb); e = APR_BUCKET_NEXT(e))
        if (APR_BUCKET_IS_FILE(e) && ((const apr_bucket_file *)e->data)->fd == out->park->handle)
            return 1;
    return 0;
}

/* Room for so much more. @return its begin; -1: no room, now or for this output */
static spool_pos park_reserve(struct core_output *out, apr_size_t len)
{
    const loops_config *config = out->bc->loop->config;
    struct core_park *park = out->park;
    spool_pos at;

    if (park->file && park->file->high + (spool_pos)len > config->spool_most) {
        if (park_file_is_used(out))
            return -1;
        park_file_end(park);
    }
    if ((spool_pos)len > config->spool_most || (!park->file && !(park->file = spool_file_new())))
        return -1;
    at = spool_file_grow(park->file, config, len);
    if (at < 0)
        spool_log(out, 0, "OutputSpoolSize: all responses together have reached their limit");
    return at;
}

/* ---- a job's way ---- */

static void park_written(struct loop_note *note);

static struct park_job *park_job_new(struct core_output *out, apr_size_t len)
{
    struct park_job *job = malloc(sizeof *job + len);

    if (!job)
        return NULL;
    job->to_disk = (spool_job){
        .note = {.run = park_written}, .loop = out->bc->loop, .data = job->data, .len = len};
    job->out = out;
    atomic_init(&job->refs, 2);
    return job;
}

static void park_start(struct core_output *out, struct park_job *job)
{
    struct core_park *park = out->park;

    job->to_disk.file = park->file;
    spool_file_hold(park->file);
    if (spool_job_submit(&job->to_disk)) {
        park->job = job;
        return;
    }
    park->refused = 1;
    spool_file_release(park->file);
    park_job_release(job);
}

/* The next piece. @return 1: it is on its way */
static int park_next(struct core_output *out)
{
    apr_bucket *e = park_first(out), *next;
    apr_size_t len = e == APR_BRIGADE_SENTINEL(out->bb) ? 0 : park_count(out, e);
    struct park_job *job;

    BRG_ASSERT(!out->park->job);
    if (!len || !(job = park_job_new(out, len)))
        return 0;
    if ((job->to_disk.at = park_reserve(out, len)) < 0) {
        free(job);
        return 0;
    }
    next = park_fill(out, job, e);
    BRG_ASSERT(next); /* memory that is set aside can be read */
    e = apr_bucket_heap_create(job->data, len, park_data_end, out->c->bucket_alloc);
    APR_BUCKET_INSERT_BEFORE(next, e);
    park_start(out, job);
    return out->park->job != NULL;
}

static int park_wants(const struct core_output *out)
{
    return out->blocked && out->memory >= PARK_LEAST && !(out->park && out->park->job) &&
           ((out->park && out->park->active) || core_output_is_pressed(out->bc)) && park_may(out);
}

int core_output_park(brg_conn *bc)
{
    struct core_output *out = bc->out;

    if (!out || !park_may(out))
        return 0;
    park_state(out)->active = 1;
    return out->park->job || (out->memory && park_next(out));
}

/* ---- buckets of written output ---- */

static apr_bucket *park_bucket(struct core_output *out, const struct park_job *job, apr_off_t at,
                               apr_size_t len)
{
    apr_os_file_t fd = job->to_disk.file->fd;
    struct core_park *park = out->park;

    if (!park->handle)
        apr_os_file_put(&park->handle, &fd, APR_FOPEN_READ | APR_FOPEN_SENDFILE_ENABLED, out->kept);
    return apr_bucket_file_create(park->handle, at, len, out->kept, out->c->bucket_alloc);
}

/* The rest of e is in the file: it becomes one piece with the bucket before it, if that is of the
 * file, too. */
static void park_replace(struct core_output *out, const struct park_job *job, apr_bucket *e)
{
    const apr_off_t at = job->to_disk.at + e->start;
    apr_bucket *before = APR_BUCKET_PREV(e);

    if (before != APR_BRIGADE_SENTINEL(out->bb) && APR_BUCKET_IS_FILE(before) &&
        ((const apr_bucket_file *)before->data)->fd == out->park->handle &&
        before->start + (apr_off_t)before->length == at)
        before->length += e->length;
    else
        APR_BUCKET_INSERT_BEFORE(e, park_bucket(out, job, at, e->length));
    BRG_ASSERT(out->memory >= e->length);
    out->memory -= e->length;
    apr_bucket_delete(e);
}

static void park_take(struct core_output *out, const struct park_job *job)
{
    apr_bucket *e = APR_BRIGADE_FIRST(out->bb), *next;

    if (job->to_disk.error) {
        spool_log(out, job->to_disk.error, "cannot write output");
        out->park->refused = 1;
        return;
    }
    for (; e != APR_BRIGADE_SENTINEL(out->bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (park_is_of(e, job))
            park_replace(out, job, e);
    }
    core_park_update(out);
    if (out->bc->state == CONN_WAIT) /* its handler may have more */
        loop_ready(out->bc->loop, out->bc);
}

/* loop_note.run. A worker that has the connection meanwhile sends the memory. */
static void park_written(struct loop_note *note)
{
    struct park_job *job = loop_io_of(note, struct park_job, to_disk.note);
    struct core_output *out = job->out;

    if (out) {
        out->park->job = NULL;
        if (out->bc->state != CONN_WORKER)
            park_take(out, job);
    }
    spool_file_release(job->to_disk.file);
    park_job_release(job);
}

/* ---- the connection ---- */

/* Nothing waits any more: files and handle go with it. */
static void park_end(struct core_output *out)
{
    struct core_park *park = out->park;

    if (!park)
        return;
    if (park->job)
        park->job->out = NULL;
    park->job = NULL;
    park_file_end(park);
    park->active = park->refused = 0;
}

void core_park_update(struct core_output *out)
{
    if (!out->bc || !conn_on_loop())
        return;
    out->bc->loop->output_memory += out->memory - out->counted;
    out->counted = out->memory;
    if (APR_BRIGADE_EMPTY(out->bb))
        park_end(out);
    else if (park_wants(out)) {
        (void)park_state(out);
        (void)park_next(out);
    }
}

void core_output_leaves_loop(brg_conn *bc)
{
    if (!bc->out)
        return;
    BRG_ASSERT(bc->loop->output_memory >= bc->out->counted);
    bc->loop->output_memory -= bc->out->counted;
    bc->out->counted = 0;
}

void core_park_drop(struct core_output *out)
{
    if (!out->bc)
        return;
    core_output_leaves_loop(out->bc);
    park_end(out);
}
