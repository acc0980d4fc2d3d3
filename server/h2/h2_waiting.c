/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that memory did not answer, until it is their turn: a turn of the loop runs so many of a connection's as of one of
 * HTTP/1, and then others have theirs. All frames that have come are taken before, so that what the client reset is not run.
 *
 *   h2_wait()         the head is copied; the stream is on h2_session.waiting, by urgency
 *   h2_run_waiting()  from memory, if that can answer by now; else the driver of HTTP/1 has it, whose handlers are run
 *                     together with those of others (loop_later())
 *
 * No more run at once than the client may have open, those included that it reset meanwhile: they wait as well; as they do
 * while workers have some that take long. */
#include "h2_private.h"
#include "connection.h"
#include "h1_conn.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

struct h2_asked {
    apr_time_t turn; /* of the loop, in which it came */
    http_head head;  /* its room for fields is not there */
};

#define ASKED_HEAD (offsetof(h2_asked, head) + offsetof(http_head, own))

/* ---- heads ---- */

static size_t asked_size(const http_head *head)
{
    size_t size = ASKED_HEAD + head->n_fields * sizeof *head->field + head->method_len +
                  head->uri_len + head->bad_len;

    for (int i = 0; i < head->n_fields; i++)
        size += head->field[i].name_len + head->field[i].value_len;
    return size;
}

static const char *asked_put(char **to, const char *text, uint32_t len)
{
    char *at = *to;

    if (!text)
        return NULL;
    memcpy(at, text, len);
    *to += len;
    return at;
}

static h2_asked *asked_copy(const http_head *head)
{
    h2_asked *a = malloc(asked_size(head));
    char *to;

    if (!a)
        return NULL;
    memcpy(&a->head, head, offsetof(http_head, own));
    a->head.field = (http_field *)(void *)((char *)a + ASKED_HEAD);
    to = (char *)(a->head.field + head->n_fields);
    a->head.method = asked_put(&to, head->method, head->method_len);
    a->head.uri = asked_put(&to, head->uri, head->uri_len);
    a->head.bad = asked_put(&to, head->bad, head->bad_len);
    for (int i = 0; i < head->n_fields; i++) {
        http_field *f = &a->head.field[i];

        *f = head->field[i];
        f->name = asked_put(&to, f->name, f->name_len);
        f->value = asked_put(&to, f->value, f->value_len);
    }
    BRG_ASSERT((size_t)(to - (char *)a) <= asked_size(head));
    return a;
}

/* ---- waiting ---- */

int h2_wait(h2_stream *s, const http_head *head)
{
    h2_session *h = s->session;

    BRG_ASSERT(!s->asked_head && !s->ready_prev && s->bc);
    if (!(s->asked_head = asked_copy(head)))
        return -1;
    s->asked_head->turn = h->bc->loop->turn_began;
    h->waiting_n++;
    h2_stream_ready(s);
    return 0;
}

void h2_wait_end(h2_stream *s)
{
    if (!s->asked_head)
        return;
    BRG_ASSERT(s->session->waiting_n > 0);
    h2_stream_unready(s);
    free(s->asked_head);
    s->asked_head = NULL;
    s->session->waiting_n--;
}

/* ---- running ---- */

/* @return 1: it was answered, and s is gone */
static int waiting_from_memory(h2_stream *s)
{
    h2_session *h = s->session;
    const h2_stream as = {.urgency = s->urgency,
                          .incremental = s->incremental,
                          .asked = s->asked,
                          .window = s->window};
    const uint32_t id = s->id;
    cache_reply reply;

    BRG_ASSERT(s->asked_head && !s->answered && !s->local_closed);
    if (!s->remote_closed || s->is_tunnel || !h2_memory_answers(h, &s->asked_head->head, &reply))
        return 0;
    h2_stream_cancel(s); /* what is stored needs nothing of it */
    if (h2_output_stored(h, id, &reply, &as))
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
    return 1;
}

/* With a conn_rec of its own below the connection's. */
static void waiting_run(h2_stream *s)
{
    h2_session *h = s->session;
    brg_conn *bc = h->bc;
    h2_asked *a = s->asked_head;

    BRG_ASSERT(a && s->pipe && s->bc->master == bc && !s->bc->c); /* it did not run yet */
    if ((!bc->c && connection_attach(bc) != APR_SUCCESS) ||
        connection_attach_stream(s->bc) != APR_SUCCESS) {
        h2_stream_reset(s, H2_INTERNAL_ERROR);
        return;
    }
    connection_stream_timeout(s->bc, h->conf.stream_timeout);
    if (!h->conf.buffering)
        core_output_at_once(s->bc);
    h2_stream_unready(s);
    s->asked_head = NULL;
    h->waiting_n--;
    h1_stream_run(s->bc, &a->head);
    free(a);
}

/* What takes long has the processors already: more of it would be prepared for nothing if the client leaves. */
static h2_stream *waiting_next(const h2_session *h)
{
    BRG_ASSERT(h->running_n >= h->waiting_n);
    if (h->running_n - h->waiting_n >= (unsigned)h->conf.max_streams ||
        h->bc->longs_n >= H2_LONGS_MOST)
        return NULL;
    return h2_first(h->waiting);
}

void h2_run_waiting(h2_session *h)
{
    brg_loop *loop = h->bc->loop;
    const int others = loop->more_ready;
    h2_stream *s;

    while (!h->bc->failed && !h->bc->pending && !h->ending && (s = waiting_next(h)) != NULL) {
        if (h2_turn_is_over(h) || loop->later_n == LOOP_COHORT) {
            h->more = 1;
            break;
        }
        /* Nothing can have come to memory since it was looked for there. */
        if ((h->answered || s->asked_head->turn != loop->turn_began) && waiting_from_memory(s))
            continue;
        h->answered++;
        loop->more_ready = others || h->waiting_n > 1;
        waiting_run(s);
    }
    loop->more_ready = others;
}
