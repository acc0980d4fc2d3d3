/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by a plan (proxy_plan.h): sent over a connection that is there, and what becomes of those that have to go the full way. */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "proxy_fields.h"
#include "connection.h"
#include "h1_ahead.h"
#include "http_fields.h"
#include "loop.h"
#include "net_block.h"
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
        return malloc(sizeof *a);
    ahead_spare.first = (proxy_ahead *)(void *)a->bc;
    ahead_spare.n--;
    return a;
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

apr_off_t proxy_ahead_got(const proxy_ahead *a)
{
    return a->cc ? (apr_off_t)client_in_size(a->cc) + (apr_off_t)a->early.len : 0;
}

/* What is left of it is its own memory. */
static void ahead_release(proxy_ahead *a, apr_off_t got)
{
    proxy_worker_release(a->plan->worker, a->sent, got);
    cache_release(a->base.entry);
    ahead_put(a);
}

static void ahead_drop(struct conn_ahead *base)
{
    proxy_ahead *a = ahead_of(base);
    const apr_off_t got = proxy_ahead_got(a);

    if (a->cc)
        client_close(a->cc);
    client_blocks_end(&a->early);
    ahead_release(a, got);
}

static h1_ahead_step ahead_go_on(brg_conn *bc);

static void ahead_told_later(void *baton)
{
    (void)baton;
}

static void ahead_full(struct conn_ahead *base)
{
    ahead_of(base)->cc->notify = ahead_told_later;
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

/* A line as HTTP writes it: the bytes of the client's head may be sent on. */
static size_t ahead_line_len(const http_head *head, int i)
{
    const http_field *f = &head->field[i];
    const char *end = f->value + f->value_len;

    BRG_ASSERT(i >= 0 && i < head->n_fields);
    return f->value == f->name + f->name_len + 2 && f->name[f->name_len + 1] == ' ' &&
                   end[0] == '\r' && end[1] == '\n'
               ? (size_t)(end + 2 - f->name)
               : 0;
}

/* @return 0: it does not go on as it came, or there is no room */
static int ahead_put_field(ahead_text *t, const http_head *head, int i)
{
    const http_field *f = &head->field[i];
    size_t len;

    if (head->line)
        return (len = ahead_line_len(head, i)) != 0 && text_put(t, f->name, len);
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

/* Fields of the client that go on, in their order. @return 0: one of them asks for more than that */
static int ahead_put_fields(ahead_text *t, const http_head *head)
{
    uint64_t seen = 0;

    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        const proxy_field_rule rule =
            proxy_field_rule_of((http_field_id)f->id, f->name, f->name_len);
        const uint64_t bit =
            f->id == HTTP_F_OTHER ? (uint64_t)1 << http_name_bit(f->name, f->name_len) : 0;

        if (rule == PROXY_FIELD_HOST || rule == PROXY_FIELD_STAYS)
            continue;
        if (seen & bit && ahead_is_repeated(head, i)) /* lines of one name become one */
            return 0;
        seen |= bit;
        if ((rule != PROXY_FIELD_GOES && rule != PROXY_FIELD_CONDITION) ||
            !ahead_put_field(t, head, i))
            return 0;
    }
    return 1;
}

/* Kinds of requests that the response cache has no answers for come not so far (head_is_simple()). */
static int ahead_is_plain(const http_head *head)
{
    const int16_t *k = head->known;

    return head->method_id == HTTP_METHOD_GET && head->major == (head->line ? 1 : 2) &&
           !head->authority &&
           (k[HTTP_F_RANGE] & k[HTTP_F_IF_RANGE] & k[HTTP_F_UPGRADE] & k[HTTP_F_TE] &
            k[HTTP_F_TRAILER]) == -1 &&
           proxy_ahead_connection_is_plain(head);
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
    *a = (proxy_ahead){
        .base = {.kind = &ahead_kind, .entry = entry, .due = bc->loop->monotonic + plan->timeout},
        .plan = plan,
        .bc = bc,
        .cc = cc,
        .began = bc->loop->wall,
        .chosen_at = bc->loop->monotonic,
        .sent = (uint32_t)len};
    cache_hold(entry);
    proxy_worker_take(plan->worker);
    cc->notify = ahead_told;
    cc->baton = a;
    bc->ahead = &a->base;
    return 1;
}

/* ---- what comes ---- */

/* A part of an answer goes on at once, in an exchange: its client may wait for it. */
static h1_ahead_step ahead_go_on(brg_conn *bc)
{
    proxy_ahead *a = ahead_of(bc->ahead);
    h1_ahead_step step = H1_AHEAD_WAITS;

    BRG_ASSERT(a->bc == bc && a->cc && a->cc->baton == a);
    while (step == H1_AHEAD_WAITS) {
        const apr_status_t rv = client_recv(a->cc, NET_BLOCK);

        if (rv == APR_EAGAIN)
            return client_in_size(a->cc) ? H1_AHEAD_FULL : H1_AHEAD_WAITS;
        if (rv != APR_SUCCESS)
            return H1_AHEAD_FULL;
        step = proxy_ahead_look(a);
    }
    return step;
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
    client_conn *cc = a->cc;

    BRG_ASSERT(cc && !x->cc && x->target->chosen);
    x->cc = cc;
    cc->notify = exchange_told;
    cc->baton = x;
    x->reused = 1;
    x->here = client_in_size(cc) > 0;
    x->early = a->early;
    a->early = (client_blocks){.n = 0};
    x->sent = a->sent;
    x->chosen_at = x->connect_at = a->chosen_at;
    x->body_over = x->body_ended = 1;
    x->r->request_time = a->began;
    proxy_tell_peer(&x->told, cc->peer, client_origin_settings(x->origin)->port);
    x->state = EXCHANGE_TALK;
    if (a->base.expired)
        exchange_expired(x);
    a->cc = NULL;
    a->sent = 0;
}

void proxy_ahead_take(proxy_exchange *x)
{
    brg_conn *bc = connection_of(x->r->connection);
    struct conn_ahead *base = bc && bc->ahead ? h1_ahead_take(bc) : NULL;
    proxy_ahead *a;

    if (!base)
        return;
    a = ahead_of(base);
    if (ahead_fits(a, x))
        ahead_hand_over(a, x);
    ahead_drop(base);
}
