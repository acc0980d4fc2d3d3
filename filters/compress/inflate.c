/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip stream, read in pieces. zlib reads heads and checks trailers; members may follow each other. */
#include "inflate_private.h"
#include "apr_strings.h"
#include <limits.h>
#include <string.h>
#include <zlib.h>

#define INFLATE_FORMAT (15 + 16) /* the largest window; the gzip format alone */
#define GZIP_MAGIC 0x1f          /* first byte of a member */

struct inflate_stream {
    z_stream z;
    int begun; /* input of the first member came */
    int ended; /* behind a member */
    int garbage;
};

static apr_status_t inflate_close(void *data)
{
    inflate_stream *s = data;

    (void)inflateEnd(&s->z);
    return APR_SUCCESS;
}

inflate_stream *inflate_open(apr_pool_t *p)
{
    inflate_stream *s = apr_pcalloc(p, sizeof *s);

    /* First: where this fails for want of memory, the request ends here. The end of a stream that has not begun does
     * nothing. */
    apr_pool_cleanup_register(p, s, inflate_close, apr_pool_cleanup_null);
    return inflateInit2(&s->z, INFLATE_FORMAT) == Z_OK ? s : NULL;
}

int inflate_is_complete(const inflate_stream *s)
{
    return s->ended || !s->begun;
}

/* Behind a member: another one, or other bytes. */
static inflate_result inflate_next(inflate_stream *s, const brg_coder_io *io)
{
    if (s->garbage || *io->in != GZIP_MAGIC || inflateReset(&s->z) != Z_OK) {
        s->garbage = 1;
        return INFLATE_GARBAGE;
    }
    s->ended = 0;
    return INFLATE_MORE;
}

static void zlib_give(z_stream *z, const brg_coder_io *io)
{
    z->next_in = (unsigned char *)io->in; /* zlib does not write there */
    z->avail_in = io->in_len < UINT_MAX ? (uInt)io->in_len : UINT_MAX;
    z->next_out = io->out;
    z->avail_out = (uInt)io->out_room;
}

static void zlib_take(const z_stream *z, brg_coder_io *io)
{
    io->in_len -= (apr_size_t)(z->next_in - io->in);
    io->in = z->next_in;
    io->out = z->next_out;
    io->out_room = z->avail_out;
}

inflate_result inflate_step(inflate_stream *s, brg_coder_io *io)
{
    int rv;

    if (s->ended && !io->in_len)
        return INFLATE_END;
    if (s->ended && inflate_next(s, io) == INFLATE_GARBAGE)
        return INFLATE_GARBAGE;
    BRG_ASSERT(io->out_room > 0);
    s->begun |= io->in_len > 0;
    zlib_give(&s->z, io);
    rv = inflate(&s->z, Z_NO_FLUSH);
    zlib_take(&s->z, io);
    if (rv == Z_STREAM_END) {
        s->ended = 1;
        return io->in_len ? INFLATE_MORE : INFLATE_END;
    }
    if (rv == Z_OK || rv == Z_BUF_ERROR) /* the latter: no input */
        return INFLATE_MORE;
    return rv == Z_MEM_ERROR ? INFLATE_MEMORY : INFLATE_BAD;
}

static int inflate_is_gzip(const char *token, size_t len)
{
    return (len == 4 && !strncasecmp(token, "gzip", 4)) ||
           (len == 6 && !strncasecmp(token, "x-gzip", 6));
}

static int inflate_is_gap(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

const char *inflate_rest_of(apr_pool_t *p, const char *value)
{
    size_t end, start;

    if (!value)
        return NULL;
    end = strlen(value);
    while (end && inflate_is_gap(value[end - 1]))
        end--;
    for (start = end; start && !inflate_is_gap(value[start - 1]);)
        start--;
    if (!inflate_is_gzip(value + start, end - start))
        return NULL;
    while (start && inflate_is_gap(value[start - 1]))
        start--;
    return apr_pstrmemdup(p, value, start);
}
