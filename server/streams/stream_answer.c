/* SPDX-License-Identifier: Apache-2.0 */
/* The response of a running request: data, and, where a program or a module writes its head by itself, the text of HTTP/1 that
 * becomes field blocks and data.
 *
 *   PARTS    the head came as a part (stream_parts.c), as will the end: data
 *   HEAD     lines up to the empty one: a field block; after 1xx the next head
 *   LENGTH   so many bytes
 *   CHUNKED  chunks, of the length that the head tells if it does, and trailers
 *   TO_END   until the request is over
 *   OVER     what still comes is dropped
 *
 * Text that breaks off, or more or less of it than it said, makes RST_STREAM: a client must not take half a response
 * for a whole one. */
#include "streams.h"
#include "http_field_traits.h"
#include "http_fields.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER_HEAD_MOST (256 * 1024)

/* What a head said. */
typedef struct answer_said {
    int status;
    int chunked, length_known;
    uint64_t length;
    uint8_t urgency;
} answer_said;

static void block_end(shared_ref *ref)
{
    free(ref);
}

/* ---- heads ---- */

static int answer_is(const char *name, size_t len, const char *lit)
{
    return strlen(lit) == len && !strncasecmp(name, lit, len);
}

static void answer_note(answer_said *said, const char *name, size_t name_len, const char *value,
                        size_t len)
{
    if (answer_is(name, name_len, "transfer-encoding"))
        said->chunked = len >= 7 && !strncasecmp(value + len - 7, "chunked", 7);
    else if (answer_is(name, name_len, "content-length"))
        said->length_known = !http_parse_length(value, len, &said->length);
    else if (answer_is(name, name_len, "content-type"))
        said->urgency = stream_urgency_of_type(value, len);
}

static uint8_t *answer_put_line(const stream_protocol *protocol, uint8_t *out, char *name,
                                size_t name_len, const char *value, size_t value_len)
{
    for (size_t i = 0; i < name_len; i++)
        if (name[i] >= 'A' && name[i] <= 'Z')
            name[i] = (char)(name[i] + ('a' - 'A'));
    return protocol->put_line(out, name, name_len, value, value_len);
}

/* Lines of fields from at on, up to an empty one. @return behind the block */
static uint8_t *answer_put_fields(const stream_protocol *protocol, uint8_t *out, char *at,
                                  const char *end, answer_said *said)
{
    while (at < end && *at != '\r' && *at != '\n') {
        char *lf = memchr(at, '\n', (size_t)(end - at)), *colon, *value, *stop;
        size_t len;

        if (!lf)
            break;
        stop = lf > at && lf[-1] == '\r' ? lf - 1 : lf;
        colon = memchr(at, ':', (size_t)(stop - at));
        if (colon && colon > at) {
            for (value = colon + 1; value < stop && (*value == ' ' || *value == '\t');)
                value++;
            while (stop > value && (stop[-1] == ' ' || stop[-1] == '\t'))
                stop--;
            len = (size_t)(colon - at);
            answer_note(said, at, len, value, (size_t)(stop - value));
            if (!(http_field_traits_of(at, len) & HTTP_FIELD_OF_CONNECTION))
                out = answer_put_line(protocol, out, at, len, value, (size_t)(stop - value));
        }
        at = lf + 1;
    }
    return out;
}

/* A line has three bytes or more that its block has not, which has the lengths in their place: five bytes for the
 * longest. */
static stream_block *answer_block(size_t text)
{
    stream_block *b = malloc(sizeof *b + 2 * text + 64);

    if (b)
        *b = (stream_block){.ref = {1, block_end}};
    return b;
}

static void answer_queue(stream_pipe *p, stream_block *b)
{
    BRG_ASSERT(!*p->blocks_tail && !b->next);
    *p->blocks_tail = b;
    p->blocks_tail = &b->next;
}

static void answer_begin_body(http_stream *s, const answer_said *said, stream_block *b)
{
    stream_answer *a = &s->pipe->answer;
    const int none = s->is_head || said->status == 204 || said->status == 304;

    BRG_ASSERT(a->state == STREAM_ANSWER_HEAD && said->status >= 200 && !s->pipe->over);
    a->left = said->length_known ? said->length : UINT64_MAX;
    s->pipe->ranked = 1;
    s->pipe->urgency = said->urgency;
    s->pipe->length = said->length_known ? said->length : UINT64_MAX;
    stream_rank_told(s);
    if (none || (!said->chunked && said->length_known && !said->length)) {
        a->state = STREAM_ANSWER_OVER;
        s->pipe->over = 1;
        b->last = 1;
    } else if (said->chunked) {
        a->state = STREAM_ANSWER_CHUNKED;
    } else {
        a->state = said->length_known ? STREAM_ANSWER_LENGTH : STREAM_ANSWER_TO_END;
    }
}

/* Of a status line that ends at lf. The text has no null byte behind it. @return 0: it has none */
static int answer_status(const char *line, const char *lf)
{
    const char *at = memchr(line, ' ', (size_t)(lf - line));
    int status = 0;

    if (lf - line < 5 || memcmp(line, "HTTP/", 5) || !at || lf - at < 4)
        return 0;
    for (int i = 1; i <= 3; i++) {
        if (at[i] < '0' || at[i] > '9')
            return 0;
        status = status * 10 + (at[i] - '0');
    }
    return status;
}

/* a->head is complete. */
static void answer_take_head(http_stream *s)
{
    const stream_protocol *protocol = s->session->protocol;
    stream_answer *a = &s->pipe->answer;
    char *end = a->head + a->head_len, *lf = memchr(a->head, '\n', a->head_len);
    stream_block *b = answer_block(a->head_len);
    answer_said said = {.status = answer_status(a->head, lf), .urgency = STREAM_URGENCY_DEFAULT};

    BRG_ASSERT(a->state == STREAM_ANSWER_HEAD && a->head_len <= a->head_cap);
    if (!b || said.status < 100 || (s->is_tunnel && said.status >= 200 && said.status < 300)) {
        free(b);
        a->bad = 1;
        return;
    }
    b->len = (uint32_t)(answer_put_fields(protocol, protocol->put_status(b->data, said.status),
                                          lf + 1, end, &said) -
                        b->data);
    BRG_ASSERT(b->len <= 2 * a->head_len + 64); /* the room of answer_block() */
    if (b->len > (uint32_t)s->session->terms.max_block) {
        free(b);
        a->bad = 1;
        return;
    }
    if (said.status >= 200)
        answer_begin_body(s, &said, b);
    if (said.status == 103 && !s->session->terms.early_hints)
        free(b);
    else
        answer_queue(s->pipe, b);
    a->head_len = 0;
    if (a->state != STREAM_ANSWER_HEAD) {
        free(a->head);
        a->head = NULL;
        a->head_cap = 0;
    }
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

/* One line of a head, or a part of it. */
static size_t answer_head_line(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;
    const char *lf = memchr(data, '\n', len);
    size_t n = lf ? (size_t)(lf - data) + 1 : len;

    if (answer_head_room(a, n)) {
        a->bad = 1;
        return n;
    }
    memcpy(a->head + a->head_len, data, n);
    a->head_len += n;
    if (lf && a->head_len >= 3 &&
        (!memcmp(a->head + a->head_len - 2, "\n\n", 2) ||
         !memcmp(a->head + a->head_len - 3, "\n\r\n", 3)))
        answer_take_head(s);
    return n;
}

/* ---- data ---- */

/* A new one has room for what the response may still have. */
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

/* In chunks, where a length is known too: what is beyond it is dropped, as without chunks. */
static size_t answer_chunk_data(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;
    size_t n = len < a->chunked.left ? len : (size_t)a->chunked.left;

    if (a->left)
        n = answer_data(s, data, n < a->left ? n : (size_t)a->left);
    h1_chunked_took(&a->chunked, n);
    if (a->left != UINT64_MAX)
        a->left -= n < a->left ? n : a->left;
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

/* The section is complete: an empty one is none. */
static void answer_take_trailers(http_stream *s)
{
    stream_answer *a = &s->pipe->answer;
    answer_said said = {0};
    stream_block *b = a->head_len > 2 ? answer_block(a->head_len) : NULL;

    BRG_ASSERT(a->state == STREAM_ANSWER_CHUNKED && !s->pipe->trailers);
    if ((!b && a->head_len > 2) || (a->left && a->left != UINT64_MAX)) {
        free(b); /* a response without what it announced is none */
        a->bad = 1;
        return;
    }
    if (b) {
        b->last = 1;
        b->len = (uint32_t)(answer_put_fields(s->session->protocol, b->data, a->head,
                                              a->head + a->head_len, &said) -
                            b->data);
        if (b->len)
            s->pipe->trailers = b;
        else
            free(b);
    }
    a->state = STREAM_ANSWER_OVER;
    s->pipe->over = 1;
    a->head_len = 0;
}

static size_t answer_trailer_line(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;
    const char *lf = memchr(data, '\n', len);
    size_t n = lf ? (size_t)(lf - data) + 1 : len;
    size_t begin = a->head_len;

    if (answer_head_room(a, n)) {
        a->bad = 1;
        return n;
    }
    memcpy(a->head + a->head_len, data, n);
    a->head_len += n;
    while (begin && a->head[begin - 1] != '\n')
        begin--;
    if (lf && (a->head_len - begin == 1 || (a->head_len - begin == 2 && a->head[begin] == '\r')))
        answer_take_trailers(s);
    return n;
}

static size_t answer_chunked(http_stream *s, const char *data, size_t len)
{
    stream_answer *a = &s->pipe->answer;

    switch (a->chunked.state) {
    case H1_CHUNK_DATA:
        return answer_chunk_data(s, data, len);
    case H1_CHUNK_TRAILER:
        return answer_trailer_line(s, data, len);
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
        return answer_head_line(s, data, len);
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
    free(a->head);
    a->head = NULL;
    a->head_len = a->head_cap = 0;
}

void stream_answer_free(stream_answer *a)
{
    free(a->head);
    a->head = NULL;
}
