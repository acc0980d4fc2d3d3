/* SPDX-License-Identifier: Apache-2.0 */
/* Field blocks: a request head (stream_head.c), or the trailers of one.
 *
 * A request that memory answers is over here. Any other gets a stream, and waits for its turn (stream_waiting.c). */
#include "h2_private.h"
#include "cache_plan.h"
#include "http_fields.h"
#include "http_log.h"
#include "http_scan.h"
#include "program_thread.h"
#include "response_cache.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(http2);

#define REQUEST_FIELDS HTTP_HEAD_OWN_FIELDS

/* What a thread needs within a call. */
typedef struct request_scratch {
    http_head head;
    http_field field[REQUEST_FIELDS];
    size_t room;
    char text[]; /* strings of a block, then what is made of them */
} request_scratch;

/* Of the loop's memory: one for all its connections. */
static request_scratch *request_scratch_of(const h2_session *h)
{
    static PROGRAM_THREAD_LOCAL request_scratch *scratch;
    static PROGRAM_THREAD_LOCAL const brg_loop *of;
    const size_t room = 3 * (size_t)h->conf.max_block + 16384;

    if (of == h->streams.bc->loop && scratch->room >= room)
        return scratch;
    scratch = apr_palloc(h->streams.bc->loop->pool, sizeof *scratch + room);
    scratch->room = room;
    of = h->streams.bc->loop;
    return scratch;
}

/* ---- running it ---- */

static void request_malformed(h2_session *h, uint32_t id, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, h->streams.bc->base,
                 "HTTP/2 stream %u: malformed request: %s", (unsigned)id, why);
    h2_reset_id(h, id, H2_PROTOCOL_ERROR);
    h2_limit_fault(h, "malformed requests, again and again");
}

/* The stream waits for its turn: its request is over here. */
static void request_wait(http_stream *s, http_head *head, cache_entry *planned)
{
    const int chunked = !s->remote_closed && !s->has_length && !s->is_tunnel;

    BRG_ASSERT(!s->bc && !s->pipe && !s->asked_head);
    if (chunked) { /* as modules know bodies without a length */
        stream_head_add(head, "Transfer-Encoding", 17, "chunked", 7);
        head->chunked = 1;
    }
    head->has_body = !s->remote_closed && !s->is_tunnel;
    head->content_length = s->has_length ? s->expects : 0;
    if (stream_pipe_begin(s) || stream_wait(s, head, planned)) {
        h2_stream_reset(s, H2_INTERNAL_ERROR);
        return;
    }
    if (s->remote_closed)
        stream_pipe_body_over(s, NULL, 0);
}

/* 1: memory answers the request, into h2_output_room(). */
static int request_from_memory(h2_session *h, const http_head *head, cache_reply *reply)
{
    brg_conn *bc = h->streams.bc;

    if (head->status ||
        !cache_reply_to(bc->loop->cache, bc, head, &h2_codec, h2_output_room(h), reply))
        return 0;
    bc->loop->ended_n++;
    bc->idle_until = bc->loop->monotonic + bc->base->keep_alive_timeout;
    h->streams.answered++;
    return 1;
}

int h2_answer_stored(http_stream *s, const http_head *head)
{
    h2_session *h = h2_session_of(s);
    const http_stream as = {.urgency = s->urgency,
                            .incremental = s->incremental,
                            .asked = s->asked,
                            .window = s->window};
    const uint32_t id = s->id;
    cache_reply reply;

    if (!request_from_memory(h, head, &reply))
        return 0;
    stream_cancel(s); /* what is stored needs nothing of it */
    if (h2_output_stored(h, id, &reply, &as))
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
    return 1;
}

static void request_take(h2_session *h, uint32_t id, unsigned flags, request_scratch *t,
                         const http_field_block *list, const stream_request *p)
{
    http_stream as = {.urgency = STREAM_URGENCY_DEFAULT,
                      .asked = p->priority != NULL,
                      .window = h->peer_window},
                *s;
    http_head *head = &t->head;
    cache_entry *planned = NULL;
    cache_reply reply;
    int length;

    if (p->priority)
        stream_priority_parse(p->priority->value, p->priority->value_len, &as.urgency,
                              &as.incremental);
    stream_head_begin(head, &h2_protocol);
    head->head_len = (uint32_t)list->size;
    head->stream = id;
    if (!list->cut)
        stream_head_fill(head, p, list, list->text);
    stream_head_judge(head, list, h->streams.bc->base);
    length = head->known[HTTP_F_CONTENT_LENGTH];
    if (length >= 0) {
        const http_field *f = &head->field[length];

        if (http_parse_length(f->value, f->value_len, &as.expects) ||
            (flags & H2_END_STREAM && as.expects)) {
            request_malformed(h, id, "Content-Length");
            return;
        }
    }
    h->requests++;
    h->streams.bc->requests++;
    if (flags & H2_END_STREAM && !p->protocol) {
        if (request_from_memory(h, head, &reply)) {
            if (h2_output_stored(h, id, &reply, &as))
                h2_reset_id(h, id, H2_INTERNAL_ERROR);
            return;
        }
        planned = cache_planned(h->streams.bc->loop->cache);
    }
    if (!(s = h2_stream_open(h, id))) {
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
        return;
    }
    BRG_ASSERT(id & 1 && id == h->last_id); /* a stream of the client's, and the newest */
    s->urgency = as.urgency;
    s->incremental = as.incremental;
    s->asked = as.asked;
    s->is_head = head->method_id == HTTP_METHOD_HEAD;
    s->has_length = length >= 0;
    s->is_tunnel = p->protocol != NULL;
    s->expects = as.expects;
    s->remote_closed = (flags & H2_END_STREAM) != 0;
    stream_head_spell(head, t->text, t->room);
    request_wait(s, head, planned);
}

/* ---- trailers ---- */

/* With their text behind them. NULL: no memory, or none of them */
static http_field *trailers_copy(const http_field_block *list)
{
    size_t size = list->n * sizeof(http_field);
    http_field *field;
    char *to;

    for (uint32_t i = 0; i < list->n; i++)
        size += (size_t)list->field[i].name_len + list->field[i].value_len;
    if (!list->n || !(field = malloc(size)))
        return NULL;
    to = (char *)(field + list->n);
    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];

        field[i] = (http_field){.name = to,
                                .value = to + f->name_len,
                                .name_len = f->name_len,
                                .value_len = f->value_len};
        memcpy(to, f->name, f->name_len);
        memcpy(to + f->name_len, f->value, f->value_len);
        to += f->name_len + f->value_len;
    }
    BRG_ASSERT((size_t)(to - (char *)field) == size);
    return field;
}

static void trailers_take(http_stream *s, const http_field_block *list)
{
    http_field *field = s->pipe ? trailers_copy(list) : NULL;

    BRG_ASSERT(s->remote_closed && !s->local_closed);
    if (!s->pipe)
        return;
    if (list->n && !field) {
        h2_stream_reset(s, H2_INTERNAL_ERROR);
        return;
    }
    stream_pipe_body_over(s, field, (int)list->n);
    stream_pipe_go_on(s);
}

static void block_of_trailers(h2_session *h, http_stream *s, unsigned flags,
                              const http_field_block *list)
{
    const char *why = flags & H2_END_STREAM ? NULL : "a second head";

    for (uint32_t i = 0; i < list->n && !why; i++)
        why = stream_field_why(&list->field[i]);
    if (!why && s->has_length && s->came != s->expects)
        why = "body shorter than Content-Length";
    if (why || list->cut) {
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, h->streams.bc->base,
                     "HTTP/2 stream %u: bad trailers: %s", (unsigned)s->id, why ? why : "too long");
        h2_stream_reset(s, H2_PROTOCOL_ERROR);
        h2_limit_fault(h, "malformed requests, again and again");
        return;
    }
    s->remote_closed = 1;
    trailers_take(s, list);
}

/* ---- blocks ---- */

/* A block on a stream that there was. */
static void block_late(h2_session *h, uint32_t id, unsigned flags, const http_field_block *list)
{
    http_stream *s = stream_find(&h->streams, id);

    if (s && !s->local_closed && !s->remote_closed) {
        block_of_trailers(h, s, flags, list);
    } else if (s && !s->local_closed) {
        h2_stream_reset(s, H2_STREAM_CLOSED);
        h2_limit_fault(h, "HEADERS on streams that ended, again and again");
    } else if (!s && !h2_was_reset(h, id)) {
        h2_fail(h, H2_STREAM_CLOSED, "HEADERS on a stream that ended");
    }
}

static void block_of_request(h2_session *h, uint32_t id, unsigned flags, request_scratch *t,
                             http_field_block *list)
{
    stream_request parts;

    h->last_id = id;
    if (h2_limit_streams(h)) {
        h2_reset_id(h, id, H2_REFUSED_STREAM);
        h2_limit_waste(h, "more streams than H2MaxSessionStreams, again and again");
        return;
    }
    stream_parts_of(&parts, list, h->conf.websockets);
    if (parts.why)
        request_malformed(h, id, parts.why);
    else
        request_take(h, id, flags, t, list, &parts);
}

void h2_take_block(h2_session *h, uint32_t id, unsigned flags, const uint8_t *block, size_t len)
{
    request_scratch *t = request_scratch_of(h);
    http_field_block list;

    BRG_ASSERT_DEBUG(!h->block.stream); /* the block is complete */
    list = (http_field_block){.text = t->text,
                              .room = (size_t)h->conf.max_block + 4096,
                              .field = t->field,
                              .most = REQUEST_FIELDS};
    switch (hpack_decode(&h->decoder, block, len, &list)) {
    case HPACK_OK:
        break;
    case HPACK_NO_MEMORY:
        h2_fail(h, H2_INTERNAL_ERROR, "no memory");
        return;
    default:
        h2_fail(h, H2_COMPRESSION_ERROR, "field block that cannot be decoded");
        return;
    }
    if (id <= h->last_id)
        block_late(h, id, flags, &list);
    else if (!h->goaway_sent)
        block_of_request(h, id, flags, t, &list);
}
