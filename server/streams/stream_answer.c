/* SPDX-License-Identifier: Apache-2.0 */
/* The response of a running request: data, and, where a program or a module writes its head by
 * itself, the text of HTTP/1 that becomes parts and data.
 *
 *   PARTS    the head came as a part (stream_parts.c), as will the end: data
 *   HEAD     lines up to the empty one: a part; after 1xx the next head
 *   LENGTH   so many bytes
 *   CHUNKED  chunks, and trailers
 *   TO_END   until the request is over
 *   OVER     the rest is dropped
 *
 * Text that breaks off, or more or less of it than it said, makes RST_STREAM: a client must not take half a response
 * for a whole one. */
#include "streams.h"
#include "h1_response_head.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <stdlib.h>
#include <string.h>

#define ANSWER_HEAD_MOST (256 * 1024)

/* ---- heads ---- */

/* The fields of a head or of trailers as a part. @return 0; -1: no memory, or they cannot be sent */
static int answer_part(http_stream *s, const http_head *head)
{
    const stream_fields fields = {.status = head->code,
                                  .n = head->n_fields,
                                  .field = head->field,
                                  .is_whole = head->code >= 200 &&
                                              head->known[HTTP_F_CONTENT_LENGTH] >= 0 &&
                                              !head->content_length};
    stream_block *b = stream_parts_block(s, &fields);

    BRG_ASSERT(!s->pipe->answer.head_len);
    if (!b)
        return -1;
    if (!(head->code ? stream_parts_head(s, b) : stream_parts_end(s, b)))
        return 0;
    shared_release(&b->ref);
    return -1;
}

/* How the body of a head ends that has one. */
static void answer_begin_body(http_stream *s, const http_head *head)
{
    stream_answer *a = &s->pipe->answer;

    if (a->state != STREAM_ANSWER_PARTS)
        return;
    a->state = head->chunked           ? STREAM_ANSWER_CHUNKED
               : a->left != UINT64_MAX ? STREAM_ANSWER_LENGTH
                                       : STREAM_ANSWER_TO_END;
}

static int answer_head_room(stream_answer *a, size_t len)
{
    size_t cap = a->head_cap ? a->head_cap : 1024;
    char *head;

    while (cap < a->head_len + len)
        cap *= 2;
    if (cap == a->head_cap)
        return 0;
    if (cap > ANSWER_HEAD_MOST || !(head = realloc(a->head, cap)))
        return -1;
    a->head = head;
    a->head_cap = cap;
    return 0;
}

/* One line of a head or of trailers, or a part of it. */
static size_t answer_line(http_stream *s, const char *data, size_t len)
{
    static const h1_limits limits = {
        .line = ANSWER_HEAD_MOST, .field_size = ANSWER_HEAD_MOST, .unsafe = 1};
    stream_answer *a = &s->pipe->answer;
    const char *lf = memchr(data, '\n', len);
    const size_t n = lf ? (size_t)(lf - data) + 1 : len;
    http_head head;
    h1_result res;

    if (answer_head_room(a, n)) {
        a->bad = 1;
        return n;
    }
    memcpy(a->head + a->head_len, data, n);
    a->head_len += n;
    res = (a->state == STREAM_ANSWER_HEAD ? h1_parse_response : h1_parse_trailers)(
        &head, a->head, a->head_len, &a->scanned, &limits);
    if (res == H1_MORE)
        return n;
    a->head_len = 0;
    a->bad = res == H1_BAD || answer_part(s, &head);
    if (!a->bad)
        answer_begin_body(s, &head);
    if (a->state != STREAM_ANSWER_HEAD) /* a body may take long, and has no need of the room */
        stream_answer_free(a);
    return n;
}

/* ---- data ---- */

/* A new chunk has room for the rest of the response. */
static stream_chunk *answer_chunk(stream_pipe *p)
{
    stream_chunk *c = p->out_last;
    const uint64_t left = p->answer.state == STREAM_ANSWER_TO_END ? 0 : p->answer.left;

    BRG_ASSERT(!c == !p->out);
    if (c && c->len < c->cap)
        return c;
    if (!(c = stream_chunk_new(left && left < STREAM_CHUNK ? (size_t)left : STREAM_CHUNK)))
        return NULL;
    if (p->out_last)
        p->out_last->next = c;
    else
        p->out = c;
    p->out_last = c;
    return c;
}

/* Queue data. @return bytes taken */
static size_t answer_data(http_stream *s, const char *data, size_t len)
{
    stream_pipe *p = s->pipe;
    size_t done = 0;

    while (done < len && stream_pipe_has_room(s)) {
        stream_chunk *c = answer_chunk(p);
        size_t n;

        if (!c) {
            p->answer.bad = 1;
            return done;
        }
        n = c->cap - c->len < len - done ? c->cap - c->len : len - done;
        memcpy(c->data + c->len, data + done, n);
        c->len += (uint32_t)n;
        p->out_bytes += n;
        s->session->out_bytes += n;
        done += n;
    }
    brg_buffer_copied(done);
    return done;
}

static size_t answer_chunk_data(http_stream *s, const char *data, size_t len)
{
    h1_chunked *frame = &s->pipe->answer.chunked;
    const size_t n = answer_data(s, data, len < frame->left ? len : (size_t)frame->left);

    h1_chunked_took(frame, n);
    return n;
}

/* Beyond a length that is known it is dropped. */
static size_t answer_parts(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;
    size_t n;

    if (a->left == UINT64_MAX)
        return answer_data(s, data, len);
    if (!a->left)
        return len;
    n = answer_data(s, data, len < a->left ? len : (size_t)a->left);
    a->left -= n;
    return n;
}

static size_t answer_length(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;
    size_t n = answer_data(s, data, len < a->left ? len : (size_t)a->left);

    BRG_ASSERT(a->left > 0 && n <= a->left); /* at 0 the state is another one */
    a->left -= n;
    if (!a->left) {
        a->state = STREAM_ANSWER_OVER;
        s->pipe->over = 1;
    }
    return n;
}

static size_t answer_chunked(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;

    switch (a->chunked.state) {
    case H1_CHUNK_DATA:
        return answer_chunk_data(s, data, len);
    case H1_CHUNK_TRAILER:
        return answer_line(s, data, len);
    case H1_CHUNK_BAD:
        a->bad = 1;
        return len;
    default:
        return h1_chunked_feed(&a->chunked, data, len);
    }
}

static size_t answer_some(http_stream *s, const char *data, size_t len)
{
    switch (s->pipe->answer.state) {
    case STREAM_ANSWER_PARTS:
        return answer_parts(s, data, len);
    case STREAM_ANSWER_HEAD:
        return answer_line(s, data, len);
    case STREAM_ANSWER_LENGTH:
        return answer_length(s, data, len);
    case STREAM_ANSWER_CHUNKED:
        return answer_chunked(s, data, len);
    case STREAM_ANSWER_TO_END:
        return answer_data(s, data, len);
    default:
        return len;
    }
}

size_t stream_answer_take(http_stream *s, const char *data, size_t len)
{
    size_t done = 0;

    while (done < len && !s->pipe->answer.bad) {
        size_t n = answer_some(s, data + done, len - done);

        if (!n && !stream_pipe_has_room(s))
            break;
        done += n;
    }
    return done;
}

void stream_answer_end(http_stream *s)
{
    stream_answer *a = &s->pipe->answer;

    BRG_ASSERT(a->state == STREAM_ANSWER_OVER || !s->pipe->over);
    if (a->state != STREAM_ANSWER_OVER && a->state != STREAM_ANSWER_TO_END)
        a->bad = 1;
    stream_answer_free(a);
}

void stream_answer_free(stream_answer *a)
{
    free(a->head);
    a->head = NULL;
    a->head_len = a->head_cap = 0;
}
