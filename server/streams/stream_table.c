/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a connection: the table of open ones, their lists, and their end. */
#include "counted_lock.h"
#include "streams.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct stream_object {
    http_stream stream; /* the first member */
    stream_pipe pipe;
    stream_object *next; /* while it is spare */
};

/* ---- objects ---- */

static stream_object *object_new(void)
{
    stream_object *o = malloc(sizeof *o);
    pthread_condattr_t attr;

    if (!o)
        return NULL;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&o->pipe.changed, &attr);
    pthread_condattr_destroy(&attr);
    return o;
}

static stream_object *object_get(http_streams *all)
{
    stream_object *o = all->spare;

    if (!o)
        return object_new();
    all->spare = o->next;
    all->spare_n--;
    return o;
}

static void object_free_spare(http_streams *all)
{
    stream_object *o = all->spare;

    BRG_ASSERT(o && all->spare_n > 0);
    all->spare = o->next;
    all->spare_n--;
    pthread_cond_destroy(&o->pipe.changed);
    free(o);
}

/* A connection whose streams end keeps one. */
static void object_put(http_streams *all, http_stream *s)
{
    stream_object *o = (stream_object *)(void *)s;

    BRG_ASSERT(!s->tag && !s->pipe);
    o->next = all->spare;
    all->spare = o;
    all->spare_n++;
    while (all->spare_n > all->n + 1)
        object_free_spare(all);
}

stream_pipe *stream_pipe_room(http_stream *s)
{
    stream_pipe *p = &((stream_object *)(void *)s)->pipe;

    BRG_ASSERT_TAG(s, STREAM_TAG);
    memset((char *)p + sizeof p->changed, 0, sizeof *p - sizeof p->changed);
    return p;
}

/* ---- all of them ---- */

/* Streams that workers changed. */
static void streams_note(struct loop_note *note)
{
    http_streams *all = (http_streams *)(void *)((char *)note - offsetof(http_streams, note));

    BRG_ASSERT(all->bc->loop && !all->bc->master); /* of the connection, not of a stream */
    lock_counted(&all->lock, LOCK_STREAMS);
    for (http_stream *s = all->dirty; s; s = s->pipe->dirty_next) {
        s->pipe->dirty = 0;
        stream_rank_told(s);
        stream_ready(s);
    }
    all->dirty = NULL;
    pthread_mutex_unlock(&all->lock);
    all->protocol->wants(all);
}

void streams_begin(http_streams *all)
{
    BRG_ASSERT(all->bc && all->protocol && all->counted && !all->n);
    for (int i = 0; i < STREAM_URGENCIES; i++) {
        all->ready[i].tail = &all->ready[i].first;
        all->waiting[i].tail = &all->waiting[i].first;
    }
    pthread_mutex_init(&all->lock, NULL);
    all->note.run = streams_note;
    stream_limits_begin(all);
    all->progress = all->bc->loop->monotonic;
}

void streams_end(http_streams *all)
{
    BRG_ASSERT(all->n == 0 && all->open_n == 0 && all->running_n == 0 && all->waiting_n == 0 &&
               !all->dirty && !all->out_bytes);
    while (all->spare)
        object_free_spare(all);
    pthread_mutex_destroy(&all->lock);
}

unsigned streams_cancel(http_streams *all)
{
    for (int i = 0; i < STREAM_BUCKETS; i++)
        for (http_stream *s = all->bucket[i], *next; s; s = next) {
            next = s->next;
            stream_cancel(s);
        }
    return all->running_n;
}

void streams_ready(http_streams *all)
{
    for (int i = 0; i < STREAM_BUCKETS; i++)
        for (http_stream *s = all->bucket[i]; s; s = s->next)
            stream_ready(s);
}

/* ---- the table ---- */

static unsigned stream_bucket(uint32_t id)
{
    return id / 2 % STREAM_BUCKETS;
}

http_stream *stream_find(const http_streams *all, uint32_t id)
{
    http_stream *s = all->bucket[stream_bucket(id)];

    BRG_ASSERT(!s || s->session == all);
    while (s && s->id != id)
        s = s->next;
    return s;
}

http_stream *stream_open(http_streams *all, uint32_t id)
{
    stream_object *o = object_get(all);
    http_stream *s = o ? &o->stream : NULL;

    if (!s)
        return NULL;
    BRG_ASSERT(id && !stream_find(all, id));
    *s = (http_stream){0};
    s->tag = STREAM_TAG;
    s->id = id;
    s->session = all;
    s->recv_window = all->terms.window;
    s->urgency = STREAM_URGENCY_DEFAULT;
    s->next = all->bucket[stream_bucket(id)];
    all->bucket[stream_bucket(id)] = s;
    all->n++;
    all->open_n++;
    ++*all->counted;
    return s;
}

/* ---- lists ---- */

static stream_list *stream_list_of(const http_stream *s)
{
    BRG_ASSERT(s->urgency < STREAM_URGENCIES);
    return s->asked_head ? &s->session->waiting[s->urgency] : &s->session->ready[s->urgency];
}

void stream_ready(http_stream *s)
{
    stream_list *list = stream_list_of(s);

    if (s->ready_prev || s->local_closed)
        return;
    s->ready_next = NULL;
    s->ready_prev = list->tail;
    *list->tail = s;
    list->tail = &s->ready_next;
}

void stream_unready(http_stream *s)
{
    if (!s->ready_prev)
        return;
    *s->ready_prev = s->ready_next;
    if (s->ready_next)
        s->ready_next->ready_prev = s->ready_prev;
    else
        stream_list_of(s)->tail = s->ready_prev;
    s->ready_prev = NULL;
}

/* ---- the end ---- */

void stream_closed(http_stream *s)
{
    if (s->local_closed)
        return;
    BRG_ASSERT(s->session->open_n > 0);
    s->session->open_n--;
    s->local_closed = 1;
}

void stream_release(http_stream *s)
{
    http_streams *all = s->session;
    http_stream **at = &all->bucket[stream_bucket(s->id)];

    BRG_ASSERT_TAG(s, STREAM_TAG);
    if (!s->local_closed || s->bc)
        return;
    BRG_ASSERT(!s->asked_head && all->n > all->open_n); /* the client counts it no more */
    stream_unready(s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    all->n--;
    --*all->counted;
    stream_file_end(s);
    if (s->owner)
        shared_release(s->owner);
    stream_pipe_free(s);
    s->tag = 0;
    object_put(all, s);
    if (!all->n)
        all->bc->idle_until = all->bc->loop->monotonic + all->bc->base->keep_alive_timeout;
}

void stream_cancel(http_stream *s)
{
    BRG_ASSERT_TAG(s, STREAM_TAG);
    stream_wait_end(s);
    stream_unready(s);
    stream_closed(s);
    s->remote_closed = 1;
    if (s->pipe)
        stream_pipe_cancel(s);
    else if (s->bc && !loop_self()) /* no worker will return it: their threads have ended */
        s->bc->driver->drop(s->bc);
    stream_release(s);
}
