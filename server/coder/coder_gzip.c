/* SPDX-License-Identifier: Apache-2.0 */
/* gzip, by zlib. */
#include "coder_private.h"
#include "brigade/assert.h"
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW_LEAST 9 /* of zlib's, as its deflate() works */
#define GZIP_WINDOW_MOST 15 /* 32 KiB */
#define GZIP_AHEAD 262      /* bytes of the window that matches do not reach */
#define GZIP_WINDOW_OVER_MEMORY \
    6                  /* with it, zlib's table has two places for each byte of the window */
#define GZIP_FORMAT 16 /* added to the window: the gzip format */
#define GZIP_XFL 8     /* place in the head */

typedef struct gzip_coder {
    brg_coder base; /* first */
    z_stream z;
    int hides_level;
} gzip_coder;

static gzip_coder *gzip_of(brg_coder *c)
{
    return (gzip_coder *)(void *)c;
}

/* The window in which all of a body is in sight. */
static int gzip_window_for(apr_off_t length)
{
    int window = GZIP_WINDOW_LEAST;

    if (length < 0)
        return GZIP_WINDOW_MOST;
    while (window < GZIP_WINDOW_MOST && (1 << window) - GZIP_AHEAD < length)
        window++;
    return window;
}

static int gzip_least_of(int one, int other)
{
    return one < other ? one : other;
}

/* Larger tables are cleared in vain, which costs a short body as much as its compression; the result is the same. The format says nothing of
 * the window. */
static brg_coder *gzip_begin(const brg_coder_settings *s)
{
    const int fits = gzip_window_for(s->length);
    const int window = gzip_least_of(s->window, fits);
    const int memory = gzip_least_of(s->memory, fits - GZIP_WINDOW_OVER_MEMORY);
    gzip_coder *c = calloc(1, sizeof *c);

    if (c)
        c->hides_level = s->hides_level;
    if (c && deflateInit2(&c->z, s->level, Z_DEFLATED,
                          (window < GZIP_WINDOW_LEAST ? GZIP_WINDOW_LEAST : window) + GZIP_FORMAT,
                          memory, Z_DEFAULT_STRATEGY) == Z_OK)
        return &c->base;
    free(c);
    return NULL;
}

static void gzip_give(z_stream *z, const brg_coder_io *io)
{
    z->next_in = (unsigned char *)io->in; /* zlib does not write there */
    z->avail_in = io->in_len < UINT_MAX ? (uInt)io->in_len : UINT_MAX;
    z->next_out = io->out;
    z->avail_out = (uInt)io->out_room;
}

static void gzip_take(const z_stream *z, brg_coder_io *io)
{
    io->in_len -= (apr_size_t)(z->next_in - io->in);
    io->in = z->next_in;
    io->out = z->next_out;
    io->out_room = z->avail_out;
}

static brg_coder_result gzip_step(brg_coder *c, brg_coder_io *io, brg_coder_op op)
{
    static const int flush[] = {[BRG_CODER_RUN] = Z_NO_FLUSH,
                                [BRG_CODER_FLUSH] = Z_SYNC_FLUSH,
                                [BRG_CODER_FINISH] = Z_FINISH};
    gzip_coder *gzip = gzip_of(c);
    z_stream *z = &gzip->z;
    unsigned char *out = io->out;
    const uLong before = z->total_out;
    int rv;

    BRG_ASSERT(io->out_room <= UINT_MAX);
    gzip_give(z, io);
    rv = deflate(z, flush[op]);
    gzip_take(z, io);
    if (gzip->hides_level && before <= GZIP_XFL && z->total_out > GZIP_XFL)
        out[GZIP_XFL - before] = 0;
    if (rv == Z_STREAM_END || rv == Z_BUF_ERROR) /* the latter: there was nothing to do */
        return BRG_CODER_DONE;
    if (rv != Z_OK)
        return BRG_CODER_FAILED;
    return !io->out_room || io->in_len || op == BRG_CODER_FINISH ? BRG_CODER_MORE : BRG_CODER_DONE;
}

static void gzip_end(brg_coder *c)
{
    (void)deflateEnd(&gzip_of(c)->z);
    free(c);
}

const coder_kind coder_gzip = {gzip_begin, gzip_step, gzip_end};
