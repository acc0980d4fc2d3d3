/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by a plan (proxy_plan.h): sent over a connection that is there, and what becomes of those that have to go the full way. */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "proxy_fields.h"
#include "connection.h"
#include "h1_ahead.h"
#include "http_fields.h"
#include "loop.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AHEAD_HEAD_MOST 4096 /* bytes of a request's head that is sent so */

static proxy_ahead *ahead_of(struct conn_ahead *base)
{
    return (proxy_ahead *)(void *)base;
}

/* ---- objects ---- */

#define AHEAD_SPARE 64 /* that a thread keeps */

static _Thread_local struct {
    struct loop_guest guest;
    brg_loop *loop;
    proxy_ahead *first; /* linked by bc */
    int n;
} ahead_spare;

/* The C library takes wider steps than what a compiler writes for a size that it knows. */
static void *(*const volatile ahead_zero)(void *, int, size_t) = memset;

static void ahead_loop_ends(struct loop_guest *guest)
{
    (void)guest;
    while (ahead_spare.first) {
        proxy_ahead *a = ahead_spare.first;

        ahead_spare.first = (proxy_ahead *)(void *)a->bc;
        free(a);
    }
    ahead_spare.n = 0;
    ahead_spare.loop = NULL;
}

static proxy_ahead *ahead_get(void)
{
    proxy_ahead *a = ahead_spare.first;

    if (!a)
        return calloc(1, sizeof *a);
    ahead_spare.first = (proxy_ahead *)(void *)a->bc;
    ahead_spare.n--;
    return ahead_zero(a, 0, sizeof *a);
}

static void ahead_put(proxy_ahead *a)
{
    brg_loop *loop = loop_self();

    if (loop && ahead_spare.loop != loop) {
        ahead_spare.loop = loop;
        ahead_spare.guest.end = ahead_loop_ends;
        loop_guest_add(loop, &ahead_spare.guest);
    }
    if (!loop || ahead_spare.n >= AHEAD_SPARE) {
        free(a);
        return;
    }
    a->bc = (brg_conn *)(void *)ahead_spare.first;
    ahead_spare.first = a;
    ahead_spare.n++;
}

static void ahead_drop(struct conn_ahead *base)
{
    proxy_ahead *a = ahead_of(base);

    if (a->x.answered && !a->logged && a->x.status != EXCHANGE_NEEDS_REQUEST)
        proxy_direct_told(a);
    if (a->x.state != EXCHANGE_DONE || a->x.cc || a->target.chosen)
        exchange_end(&a->x);
    apr_brigade_cleanup(a->x.in);
    if (a->x.pool)
        apr_pool_destroy(a->x.pool);
    if (a->part || a->log || a->kept)
        proxy_direct_end(a);
    cache_release(a->base.entry);
    ahead_put(a);
}

static h1_ahead_step ahead_go_on(brg_conn *bc);

static void ahead_told_later(void *baton)
{
    (void)baton;
}

static void ahead_full(struct conn_ahead *base)
{
    if (ahead_of(base)->x.cc)
        ahead_of(base)->x.cc->notify = ahead_told_later;
}

static const conn_ahead_kind ahead_kind = {
    .go_on = ahead_go_on, .full = ahead_full, .drop = ahead_drop};

/* ---- to the backend ---- */

typedef struct ahead_text {
    char *p, *end;
} ahead_text;

/* @return 0: there is no room */
static int text_put(ahead_text *t, const char *text, size_t len)
{
    if ((size_t)(t->end - t->p) < len)
        return 0;
    memcpy(t->p, text, len);
    t->p += len;
    return 1;
}

/* @return 0: there is no room */
static int ahead_put_field(ahead_text *t, const http_field *f)
{
    return f->value_len && text_put(t, f->name, f->name_len) && text_put(t, ": ", 2) &&
           text_put(t, f->value, f->value_len) && text_put(t, "\r\n", 2);
}

/* An earlier line of the same name, of those that the core does not know. */
static int ahead_is_repeated(const http_head *head, int i)
{
    const http_field *f = &head->field[i];

    for (const http_field *o = head->field; o < f; o++)
        if (o->name_len == f->name_len && !strncasecmp(o->name, f->name, f->name_len))
            return 1;
    return 0;
}

/* Whether a field of the client goes on; those of one name would become one. @return 0: it asks for more than that; -1: it stays */
static int ahead_field_goes(const http_head *head, int i, uint64_t *seen)
{
    const http_field *f = &head->field[i];
    const proxy_field_rule rule = proxy_field_rule_of((http_field_id)f->id, f->name, f->name_len);

    if (rule == PROXY_FIELD_HOST || rule == PROXY_FIELD_STAYS)
        return -1;
    if (f->id == HTTP_F_OTHER) {
        const uint64_t bit = (uint64_t)1 << http_name_bit(f->name, f->name_len);

        if (*seen & bit && ahead_is_repeated(head, i))
            return 0;
        *seen |= bit;
    }
    return rule == PROXY_FIELD_GOES || rule == PROXY_FIELD_CONDITION;
}

/* Fields of the client that go on, in their order; lines of HTTP/1 as they came, those behind each other at once. @return 0: one of them
 * asks for more than that, or there is no room */
static int ahead_put_fields(ahead_text *t, const http_head *head)
{
    const char *lines = NULL;
    uint64_t seen = 0;
    size_t n = 0, len;

    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        const int goes = ahead_field_goes(head, i, &seen);

        if (goes < 0)
            continue;
        if (!goes)
            return 0;
        if (!head->line) {
            if (!ahead_put_field(t, f))
                return 0;
            continue;
        }
        if (!(len = proxy_field_line(f)))
            return 0;
        if (lines && f->name == lines + n) {
            n += len;
            continue;
        }
        if (lines && !text_put(t, lines, n))
            return 0;
        lines = f->name;
        n = len;
    }
    return !lines || text_put(t, lines, n);
}

/* Kinds of requests that the response cache has no answers for come not so far (head_is_simple()). */
static int ahead_is_plain(const http_head *head)
{
    const int16_t *k = head->known;

    return head->method_id == HTTP_METHOD_GET && head->major == (head->line ? 1 : 2) &&
           !head->authority &&
           (k[HTTP_F_RANGE] & k[HTTP_F_IF_RANGE] & k[HTTP_F_UPGRADE] & k[HTTP_F_TE] &
            k[HTTP_F_TRAILER]) == -1 &&
           proxy_connection_is_plain(head);
}

static int ahead_put_target(ahead_text *t, const proxy_plan *plan, const http_head *head)
{
    const char *query = plan->any_query ? memchr(head->uri, '?', head->uri_len) : NULL;

    return text_put(t, plan->text, plan->target_len) &&
           (!query || text_put(t, query, (size_t)(head->uri + head->uri_len - query)));
}

/* @return its length; 0: it cannot be sent so */
static size_t ahead_write(const proxy_plan *plan, const brg_conn *bc, const http_head *head,
                          char *buf)
{
    const char *ip =
        bc->peer && bc->peer->family ? bc->peer->ip : (bc->master ? bc->master : bc)->c->client_ip;
    const char *before = plan->text + plan->target_len, *behind = before + plan->before_len;
    ahead_text t = {buf, buf + AHEAD_HEAD_MOST};

    if (!ahead_is_plain(head) || !ahead_put_target(&t, plan, head) ||
        !text_put(&t, before, plan->before_len) || !ahead_put_fields(&t, head))
        return 0;
    if (plan->adds_for && !(text_put(&t, "X-Forwarded-For: ", strlen("X-Forwarded-For: ")) &&
                            text_put(&t, ip, strlen(ip)) && text_put(&t, "\r\n", 2)))
        return 0;
    return text_put(&t, behind, plan->behind_len) ? (size_t)(t.p - buf) : 0;
}

static void ahead_told(void *baton)
{
    proxy_ahead *a = baton;

    if (a->bc->state == CONN_WAIT) /* a worker may have it, to read output from disk */
        loop_ready(a->bc->loop, a->bc);
}

/* @return 0: nothing of it counts */
static int ahead_send(client_conn *cc, char *text, size_t len)
{
    const struct iovec iov = {text, len};
    apr_size_t sent;

    BRG_ASSERT(len && len <= AHEAD_HEAD_MOST);
    if (client_send(cc, &iov, 1, 0, &sent) == APR_SUCCESS && sent == len)
        return 1;
    client_close(cc); /* the backend has a part of a head at most */
    return 0;
}

static client_conn *ahead_connection(const proxy_plan *plan, brg_loop *loop)
{
    if (atomic_load(&plan->worker->state->status) & PROXY_STATUS_UNUSABLE)
        return NULL;
    return client_take(plan->origin, loop);
}

static void ahead_set_up(proxy_ahead *a, const proxy_plan *plan, client_conn *cc, size_t len)
{
    brg_conn *bc = a->bc;
    proxy_exchange *x = &a->x;

    exchange_set_up(x, bc->master ? &proxy_sink_stream : &proxy_sink_h1, h1_ahead_client(bc)->c,
                    plan->server);
    a->target = plan->target;
    x->target = &a->target;
    x->codec = &proxy_http_codec;
    x->origin = plan->origin;
    x->loop = bc->loop;
    x->cc = cc;
    x->ticket = (client_ticket){.notify = ahead_told, .baton = a};
    x->body_over = x->body_ended = 1;
    x->reused = 1;
    x->sent = (apr_off_t)len;
    x->chosen_at = x->connect_at = bc->loop->monotonic;
    x->state = EXCHANGE_TALK;
    cc->notify = exchange_told;
    cc->baton = x;
}

int proxy_ahead_begin(const cache_plan *base, cache_entry *entry, brg_conn *bc,
                      const http_head *head)
{
    const proxy_plan *plan = (const proxy_plan *)(const void *)base;
    char text[AHEAD_HEAD_MOST];
    const size_t len = ahead_write(plan, bc, head, text);
    client_conn *cc = len ? ahead_connection(plan, bc->loop) : NULL;
    proxy_ahead *a = cc ? ahead_get() : NULL;

    BRG_ASSERT(!bc->ahead && h1_ahead_client(bc)->c && loop_self() == bc->loop);
    if (!cc)
        return 0;
    if (!a) {
        client_keep(cc);
        return 0;
    }
    if (!ahead_send(cc, text, len)) {
        ahead_put(a);
        return 0;
    }
    a->base.kind = &ahead_kind;
    a->base.entry = entry;
    a->plan = plan;
    a->bc = bc;
    a->began = a->told.began = bc->loop->wall;
    ahead_set_up(a, plan, cc, len);
    a->base.due = bc->loop->monotonic + plan->timeout;
    cache_hold(entry);
    proxy_worker_take(plan->worker);
    bc->ahead = &a->base;
    return 1;
}

/* ---- what comes ---- */

static h1_ahead_step ahead_is_over(proxy_ahead *a)
{
    if (a->x.status == EXCHANGE_NEEDS_REQUEST)
        return H1_AHEAD_FULL;
    BRG_ASSERT(a->x.passed);
    if (a->closes)
        a->bc->close_after = a->base.close || !a->base.minor ? CONN_SHUT : CONN_DRAIN;
    proxy_direct_told(a);
    return H1_AHEAD_ANSWERED;
}

static h1_ahead_step ahead_go_on(brg_conn *bc)
{
    proxy_ahead *a = ahead_of(bc->ahead);

    BRG_ASSERT(a->bc == bc && a->x.state == EXCHANGE_TALK);
    if (a->base.expired) {
        a->base.expired = 0;
        exchange_expired(&a->x);
    }
    if (exchange_go(&a->x) == APR_SUCCESS)
        return ahead_is_over(a);
    a->base.due = bc->loop->monotonic + exchange_patience(&a->x);
    a->base.answers = a->x.answered;
    a->told.head = NULL; /* parsed once more when it is asked for */
    if (proxy_direct_keep(a))
        return H1_AHEAD_WAITS;
    bc->failed = 1;
    return H1_AHEAD_ANSWERED;
}

/* ---- the full way goes on ---- */

/* The path that was sent, less its query where that is the request's own. */
static int ahead_sent_path(const proxy_plan *plan, const char *path)
{
    const size_t method_len = strlen("GET "), len = plan->target_len - method_len;

    return !strncmp(path, plan->text + method_len, len) &&
           (!path[len] || (plan->any_query && path[len] == '?'));
}

/* An error page, or what a rule of the phases leads to, is another request. */
static int ahead_fits(const proxy_ahead *a, const proxy_exchange *x)
{
    return x->state == EXCHANGE_CONNECT && x->loop == a->bc->loop && !x->has_body && !x->r->prev &&
           !x->r->main && x->origin == a->plan->origin && x->target->worker == a->plan->worker &&
           ahead_sent_path(a->plan, x->target->path);
}

static void ahead_hand_over(proxy_ahead *a, proxy_exchange *x)
{
    client_conn *cc = a->x.cc;

    BRG_ASSERT(cc && !x->cc && x->target->chosen);
    x->cc = cc;
    cc->notify = exchange_told;
    cc->baton = x;
    x->reused = 1;
    x->here = client_in_size(cc) > 0;
    x->got = x->here ? 0 : a->x.got;
    x->sent = a->x.sent;
    x->chosen_at = x->connect_at = a->x.chosen_at;
    x->body_over = x->body_ended = 1;
    x->r->request_time = a->began;
    proxy_tell_peer(&x->told, cc->peer, client_origin_settings(x->origin)->port);
    x->state = EXCHANGE_TALK;
    a->x.cc = NULL;
    a->x.sent = a->x.got = 0;
    if (a->x.failed.known) {
        x->bad = a->x.bad ? apr_pstrdup(x->pool, a->x.bad) : NULL;
        exchange_fail(x, a->x.failed.why, a->x.failed.error,
                      a->x.failed.text ? apr_pstrdup(x->pool, a->x.failed.text) : NULL);
    }
}

void proxy_ahead_take(proxy_exchange *x)
{
    brg_conn *bc = connection_of(x->r->connection);
    struct conn_ahead *base = bc && bc->ahead ? h1_ahead_take(bc) : NULL;
    proxy_ahead *a;

    if (!base)
        return;
    a = ahead_of(base);
    if (a->x.cc && ahead_fits(a, x))
        ahead_hand_over(a, x);
    ahead_drop(base);
}
