/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that memory did not answer, until it is their turn: a turn of the loop runs so many of a connection's as of one of
 * HTTP/1, and then others have theirs. All frames that have come are taken before, so that what the client reset is not run.
 *
 *   stream_wait()         the head is copied; the stream is on http_streams.waiting, by urgency
 *   stream_run_waiting()  from memory, if that can answer by now; else the driver of HTTP/1 has it, whose handlers are run
 *                     together with those of others (loop_later())
 *
 * No more run at once than the client may have open, those included that it reset meanwhile: they wait as well; as they do
 * while workers have some that take long. */
#include "streams.h"
#include "connection.h"
#include "h1_conn.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

struct stream_asked {
    apr_time_t turn; /* of the loop, in which it came */
    http_head head;  /* its room for fields is not there */
};

#define ASKED_HEAD (offsetof(stream_asked, head) + offsetof(http_head, own))

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

static stream_asked *asked_copy(const http_head *head)
{
    stream_asked *a = malloc(asked_size(head));
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

int stream_wait(http_stream *s, const http_head *head)
{
    http_streams *all = s->session;

    BRG_ASSERT(!s->asked_head && !s->ready_prev && s->bc);
    if (!(s->asked_head = asked_copy(head)))
        return -1;
    s->asked_head->turn = all->bc->loop->turn_began;
    all->waiting_n++;
    stream_ready(s);
    return 0;
}

void stream_wait_end(http_stream *s)
{
    if (!s->asked_head)
        return;
    BRG_ASSERT(s->session->waiting_n > 0);
    stream_unready(s);
    free(s->asked_head);
    s->asked_head = NULL;
    s->session->waiting_n--;
}

/* ---- running ---- */

/* @return 1: it was answered, and s is gone */
static int waiting_from_memory(http_stream *s)
{
    BRG_ASSERT(s->asked_head && !s->answered && !s->local_closed);
    return s->remote_closed && !s->is_tunnel &&
           s->session->protocol->answer_stored(s, &s->asked_head->head);
}

/* With a conn_rec of its own below the connection's. */
static void waiting_run(http_stream *s)
{
    http_streams *all = s->session;
    brg_conn *bc = all->bc;
    stream_asked *a = s->asked_head;

    BRG_ASSERT(a && s->pipe && s->bc->master == bc && !s->bc->c); /* it did not run yet */
    if ((!bc->c && connection_attach(bc) != APR_SUCCESS) ||
        connection_attach_stream(s->bc) != APR_SUCCESS) {
        all->protocol->fail(s);
        return;
    }
    connection_stream_timeout(s->bc, all->terms.timeout);
    if (!all->terms.buffering)
        core_output_at_once(s->bc);
    stream_unready(s);
    s->asked_head = NULL;
    all->waiting_n--;
    h1_stream_run(s->bc, &a->head);
    free(a);
}

/* What takes long has the processors already: more of it would be prepared for nothing if the client leaves. */
static http_stream *waiting_next(const http_streams *all)
{
    BRG_ASSERT(all->running_n >= all->waiting_n);
    if (all->running_n - all->waiting_n >= (unsigned)all->terms.max_streams ||
        all->bc->longs_n >= STREAM_LONGS_MOST)
        return NULL;
    return stream_first(all->waiting);
}

void stream_run_waiting(http_streams *all)
{
    brg_loop *loop = all->bc->loop;
    const int others = loop->more_ready;
    http_stream *s;

    while (!all->bc->failed && !all->bc->pending && !all->ending &&
           (s = waiting_next(all)) != NULL) {
        if (stream_turn_is_over(all) || loop->later_n == LOOP_COHORT) {
            all->more = 1;
            break;
        }
        /* Nothing can have come to memory since it was looked for there. */
        if ((all->answered || s->asked_head->turn != loop->turn_began) && waiting_from_memory(s))
            continue;
        all->answered++;
        loop->more_ready = others || all->waiting_n > 1;
        waiting_run(s);
    }
    loop->more_ready = others;
}
