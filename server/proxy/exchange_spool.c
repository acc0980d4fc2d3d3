/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that a backend gets only when they are complete: bytes beyond those in memory go to a file as they come (spool_job.h), and
 * from there to the backend. So a script is not held up by a client that sends slowly. The body is the content of the file, and
 * x->body.kept behind it. A worker does the same and waits for the disk. */
#include "exchange_private.h"
#include "loop.h"
#include "spool_job.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(proxy);

#define SPOOL_PIECE (64 * 1024) /* read at once */

/* A piece on its way to disk or back. */
typedef struct spool_piece {
    spool_job job;
    proxy_exchange *x; /* NULL: nobody waits for it any more */
    char data[];
} spool_piece;

struct exchange_spool {
    spool_file *file;
    spool_piece *piece; /* on its way; one at a time */
    apr_off_t n;        /* of the body, in the file */
    apr_off_t at;       /* of these, read for this try */
    uint8_t refused;    /* it takes no more */
    uint8_t sends;      /* its bytes are wanted */
};

/* The data of a piece is a bucket's, and ends with it. */
static void piece_end(void *data)
{
    free((char *)data - offsetof(spool_piece, data));
}

static apr_bucket *piece_bucket(spool_piece *piece)
{
    return apr_bucket_heap_create(piece->data, piece->job.len, piece_end,
                                  piece->x->r->connection->bucket_alloc);
}

apr_off_t exchange_spooled(const proxy_exchange *x)
{
    const struct exchange_spool *sp = x->body.spool;

    return !sp ? 0
               : sp->n + (sp->piece && !sp->piece->job.reads ? (apr_off_t)sp->piece->job.len : 0);
}

int exchange_spool_is_busy(const proxy_exchange *x)
{
    return x->body.spool && x->body.spool->piece;
}

int exchange_spool_left(const proxy_exchange *x)
{
    return x->body.spool && x->body.spool->sends && x->body.spool->at < x->body.spool->n;
}

/* ---- end of a piece ---- */

/* @return 1: its memory is a bucket's */
static int piece_was_written(spool_piece *piece)
{
    proxy_exchange *x = piece->x;

    BRG_ASSERT(!piece->job.reads && !x->body.spool->piece);
    if (!piece->job.error) {
        x->body.spool->n += (apr_off_t)piece->job.len;
        return 0;
    }
    ap_log_rerror(APLOG_MARK, APLOG_ERR, piece->job.error, x->r,
                  "cannot write the body of a request in %s: it stays in memory",
                  piece->job.loop->config->spool_dir);
    x->body.spool->refused = 1;
    APR_BRIGADE_INSERT_HEAD(x->body.kept, piece_bucket(piece));
    return 1;
}

static int piece_was_read(spool_piece *piece)
{
    proxy_exchange *x = piece->x;
    struct exchange_spool *sp = x->body.spool;
    apr_bucket_brigade own, *bb = exchange_brigade(x, &own);

    if (piece->job.error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, piece->job.error, x->r,
                      "cannot read the body of a request in %s",
                      piece->job.loop->config->spool_dir);
        x->body.spool_error = 1;
        return 0;
    }
    sp->at += (apr_off_t)piece->job.len;
    BRG_ASSERT(sp->at <= sp->n); /* else a rewind has not let go of the piece */
    APR_BRIGADE_INSERT_TAIL(bb, piece_bucket(piece));
    x->codec->body(x, bb, 0);
    apr_brigade_cleanup(bb);
    if (!exchange_spool_left(x))
        exchange_body_memory(x);
    return 1;
}

static void piece_is_done(spool_piece *piece)
{
    proxy_exchange *x = piece->x;
    int kept = 0;

    if (x) {
        BRG_ASSERT(x->body.spool->piece == piece);
        x->body.spool->piece = NULL;
        kept = piece->job.reads ? piece_was_read(piece) : piece_was_written(piece);
    }
    spool_file_release(piece->job.file);
    if (!kept)
        free(piece);
}

/* loop_note.run */
static void piece_came(struct loop_note *note)
{
    spool_piece *piece = loop_io_of(note, spool_piece, job.note);
    proxy_exchange *x = piece->x;

    piece_is_done(piece);
    if (x)
        x->ticket.notify(x->ticket.baton);
}

/* @return 0: it could not begin; the piece is the caller's */
static int piece_start(spool_piece *piece)
{
    proxy_exchange *x = piece->x;

    BRG_ASSERT(!x->body.spool->piece && piece->job.at >= 0); /* one at a time */
    spool_file_hold(piece->job.file);
    x->body.spool->piece = piece;
    if (!x->loop) {
        spool_job_run(&piece->job);
        piece_is_done(piece);
        return 1;
    }
    if (spool_job_submit(&piece->job))
        return 1;
    x->body.spool->piece = NULL;
    spool_file_release(piece->job.file);
    return 0;
}

static spool_piece *piece_new(proxy_exchange *x, apr_size_t len, int reads)
{
    spool_piece *piece = malloc(sizeof *piece + len);

    BRG_ASSERT(len > 0 && x->body.spool->file && !x->body.spool->piece);
    if (!piece)
        return NULL;
    piece->job = (spool_job){.note = {.run = piece_came},
                             .loop = exchange_loop(x),
                             .file = x->body.spool->file,
                             .data = piece->data,
                             .len = len,
                             .reads = (uint8_t)reads};
    piece->x = x;
    return piece;
}

/* ---- to disk ---- */

static int spool_begin(proxy_exchange *x)
{
    if (x->body.spool)
        return !x->body.spool->refused;
    x->body.spool = apr_pcalloc(x->r->pool, sizeof *x->body.spool);
    x->body.spool->file = spool_file_new();
    x->body.spool->refused = !x->body.spool->file;
    return !x->body.spool->refused;
}

/* Memory of the body goes into the piece. */
static void spool_fill(proxy_exchange *x, spool_piece *piece)
{
    apr_size_t done = 0;

    while (!APR_BRIGADE_EMPTY(x->body.kept)) {
        apr_bucket *e = APR_BRIGADE_FIRST(x->body.kept);
        const char *data;
        apr_size_t len;

        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS && len) {
            BRG_ASSERT(done + len <= piece->job.len);
            memcpy(piece->data + done, data, len);
            done += len;
        }
        apr_bucket_delete(e);
    }
    BRG_ASSERT(done == piece->job.len);
    x->body.room = 0;
}

int exchange_spool_put(proxy_exchange *x)
{
    const apr_size_t len = (apr_size_t)(x->body.read - exchange_spooled(x));
    spool_piece *piece;

    BRG_ASSERT(len && !exchange_spool_is_busy(x));
    if (!spool_begin(x) || !(piece = piece_new(x, len, 0)))
        return 0;
    piece->job.at = spool_file_grow(x->body.spool->file, piece->job.loop->config, len);
    if (piece->job.at < 0) {
        x->body.spool->refused = 1;
        free(piece);
        return 0;
    }
    spool_fill(x, piece);
    if (piece_start(piece))
        return 1;
    x->body.spool->refused = 1;
    APR_BRIGADE_INSERT_HEAD(x->body.kept, piece_bucket(piece));
    return 0;
}

/* ---- and back ---- */

void exchange_spool_forget(proxy_exchange *x)
{
    if (!x->body.spool)
        return;
    if (x->body.spool->piece)
        x->body.spool->piece->x = NULL;
    x->body.spool->piece = NULL;
    x->body.spool->sends = 0;
}

void exchange_spool_rewind(proxy_exchange *x)
{
    exchange_spool_forget(x);
    if (!x->body.spool)
        return;
    x->body.spool->at = 0;
    x->body.spool->sends = 1;
}

void exchange_spool_get(proxy_exchange *x)
{
    struct exchange_spool *sp = x->body.spool;
    apr_off_t len = sp->n - sp->at;
    spool_piece *piece;

    BRG_ASSERT(exchange_spool_left(x));
    if (sp->piece)
        return;
    piece = piece_new(x, (apr_size_t)(len < SPOOL_PIECE ? len : SPOOL_PIECE), 1);
    if (piece)
        piece->job.at = sp->at;
    if (piece && piece_start(piece))
        return;
    free(piece);
    x->body.spool_error = 1;
}

void exchange_spool_end(proxy_exchange *x)
{
    exchange_spool_forget(x);
    if (x->body.spool && x->body.spool->file)
        spool_file_release(x->body.spool->file);
    x->body.spool = NULL;
}
