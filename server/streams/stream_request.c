/* SPDX-License-Identifier: Apache-2.0 */
/* From a decoded field block to a request that memory answers, or that gets a stream and waits for
 * its turn (stream_waiting.c); trailers of a stream. Bodies. */
#include "streams.h"
#include "http_fields.h"
#include "http_scan.h"
#include "program_thread.h"
#include "transaction.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

stream_scratch *stream_scratch_of(const http_streams *all, http_field_block *list)
{
    static PROGRAM_THREAD_LOCAL stream_scratch *scratch;
    static PROGRAM_THREAD_LOCAL const brg_loop *of;
    const size_t room = 3 * (size_t)all->terms.max_block + 16384;

    if (of != all->bc->loop || scratch->room < room) {
        scratch = apr_palloc(all->bc->loop->pool, sizeof *scratch + room);
        scratch->room = room;
        of = all->bc->loop;
    }
    *list = (http_field_block){.text = scratch->text,
                               .room = (size_t)all->terms.max_block + 4096,
                               .field = scratch->field,
                               .most = HTTP_HEAD_OWN_FIELDS};
    return scratch;
}

/* ---- requests ---- */

const char *stream_request_read(http_streams *all, stream_scratch *t, const http_field_block *list,
                                const stream_request *p, uint32_t id, int fin, http_stream *as)
{
    http_head *head = &t->head;
    int length;

    BRG_ASSERT(id && all->protocol);
    as->urgency = STREAM_URGENCY_DEFAULT;
    as->asked = p->priority != NULL;
    if (p->priority)
        stream_priority_parse(p->priority->value, p->priority->value_len, &as->urgency,
                              &as->incremental);
    stream_head_begin(head, all->protocol);
    head->head_len = (uint32_t)list->size;
    head->stream = id;
    if (!list->cut)
        stream_head_fill(head, p, list, list->text);
    stream_head_judge(head, list, all->bc->base);
    length = head->known[HTTP_F_CONTENT_LENGTH];
    if (length >= 0) {
        const http_field *f = &head->field[length];

        if (http_parse_length(f->value, f->value_len, &as->expects) || (fin && as->expects))
            return "Content-Length";
    }
    as->is_head = head->method_id == HTTP_METHOD_HEAD;
    as->has_length = length >= 0;
    as->is_tunnel = p->protocol != NULL;
    as->remote_closed = fin != 0;
    return NULL;
}

int stream_request_stored(http_streams *all, const http_head *head, const http_codec *codec,
                          char *out, cache_reply *reply, cache_entry **planned)
{
    brg_conn *bc = all->bc;

    BRG_ASSERT_DEBUG(codec->protocol == bc->protocol);
    *planned = NULL;
    if (head->status)
        return 0;
    transaction_enter(bc, TRANSACTION_HEAD);
    if (!cache_reply_to(bc->loop->cache, bc, head, codec, out, reply, planned)) {
        transaction_enter(bc, TRANSACTION_END); /* its stream goes on */
        return 0;
    }
    all->answered++;
    return 1;
}

int stream_request_wait(http_stream *s, stream_scratch *t, const http_stream *as,
                        cache_entry *planned)
{
    http_head *head = &t->head;

    BRG_ASSERT(!s->bc && !s->pipe && !s->asked_head);
    s->session->bc->requests++;
    s->urgency = as->urgency;
    s->incremental = as->incremental;
    s->asked = as->asked;
    s->is_head = as->is_head;
    s->has_length = as->has_length;
    s->is_tunnel = as->is_tunnel;
    s->expects = as->expects;
    s->remote_closed = as->remote_closed;
    stream_head_spell(head, t->text, t->room);
    if (!s->remote_closed && !s->has_length &&
        !s->is_tunnel) { /* as modules know bodies without a length */
        stream_head_add(head, "Transfer-Encoding", 17, "chunked", 7);
        head->chunked = 1;
    }
    head->has_body = !s->remote_closed && !s->is_tunnel;
    head->content_length = s->has_length ? s->expects : 0;
    if (stream_pipe_begin(s) || stream_wait(s, head, planned))
        return -1;
    if (s->remote_closed)
        stream_pipe_body_over(s, NULL, 0);
    return 0;
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

const char *stream_trailers_why(const http_stream *s, const http_field_block *list)
{
    const char *why = list->cut ? "too long" : NULL;

    for (uint32_t i = 0; i < list->n && !why; i++)
        why = stream_field_why(&list->field[i]);
    if (!why && s->has_length && s->came != s->expects)
        why = "body shorter than Content-Length";
    return why;
}

int stream_trailers_take(http_stream *s, const http_field_block *list)
{
    http_field *field = s->pipe ? trailers_copy(list) : NULL;

    BRG_ASSERT(!s->remote_closed && !s->local_closed);
    s->remote_closed = 1;
    if (!s->pipe)
        return 0;
    if (list->n && !field)
        return -1;
    stream_pipe_body_over(s, field, (int)list->n);
    stream_pipe_go_on(s);
    return 0;
}

/* ---- bodies ---- */

stream_body_said stream_body_take(http_stream *s, const uint8_t *data, size_t len)
{
    BRG_ASSERT(!s->remote_closed && !s->local_closed);
    s->came += len;
    if (s->has_length && s->came > s->expects)
        return STREAM_BODY_WRONG;
    if (!s->bc)
        return STREAM_BODY_UNWANTED;
    return len && stream_pipe_body(s, data, len) ? STREAM_BODY_NO_MEMORY : STREAM_BODY_TAKEN;
}

int stream_body_end(http_stream *s)
{
    BRG_ASSERT(!s->remote_closed && !s->local_closed);
    if (s->has_length && s->came != s->expects)
        return -1;
    s->remote_closed = 1;
    if (s->pipe)
        stream_pipe_body_over(s, NULL, 0);
    return 0;
}
