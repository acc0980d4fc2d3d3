/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by a plan (proxy_plan.h): sent over a connection that is there, answered where the whole answer came at once. */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "proxy_fields.h"
#include "connection.h"
#include "gather.h"
#include "h1_ahead.h"
#include "h1_response.h"
#include "h1_response_head.h"
#include "http_fields.h"
#include "http_text.h"
#include "loop.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AHEAD_HEAD_MOST 4096 /* bytes of a request's head that is sent so */

typedef struct proxy_ahead {
    struct conn_ahead base; /* first */
    const proxy_plan *plan; /* of base.entry */
    brg_conn *bc;
    client_conn *cc;      /* NULL: given back */
    apr_time_t began;     /* wall */
    apr_time_t chosen_at; /* monotonic */
    uint32_t sent;
} proxy_ahead;

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
    const uint32_t got = a->cc ? client_in_size(a->cc) : 0;

    if (a->cc)
        client_close(a->cc);
    ahead_release(a, got);
}

static h1_ahead_step ahead_go_on(brg_conn *bc);

static const conn_ahead_kind ahead_kind = {.go_on = ahead_go_on, .drop = ahead_drop};

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

/* Connection names nothing but what becomes of itself. */
static int ahead_connection_is_plain(const http_head *head)
{
    const int at = head->known[HTTP_F_CONNECTION];
    const uint32_t len = at < 0 ? 0 : head->field[at].value_len;

    return at < 0 || (head->keep_alive && len == 10) || (head->close && len == 5);
}

/* A line as HTTP writes it: the bytes of the client's head may be sent on. */
static size_t ahead_line_len(const http_head *head, int i)
{
    const http_field *f = &head->field[i];
    const char *end = f->value + f->value_len;

    return f->value == f->name + f->name_len + 2 && f->name[f->name_len + 1] == ' ' &&
                   end[0] == '\r' && end[1] == '\n'
               ? (size_t)(end + 2 - f->name)
               : 0;
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
        size_t len;

        if (rule == PROXY_FIELD_HOST || rule == PROXY_FIELD_STAYS)
            continue;
        if (seen & bit && ahead_is_repeated(head, i)) /* lines of one name become one */
            return 0;
        seen |= bit;
        len = ahead_line_len(head, i);
        if ((rule != PROXY_FIELD_GOES && rule != PROXY_FIELD_CONDITION) || !len ||
            !text_put(t, f->name, len))
            return 0;
    }
    return 1;
}

/* Kinds of requests that the response cache has no answers for come not so far (head_is_simple()). */
static int ahead_is_plain(const http_head *head)
{
    const int16_t *k = head->known;

    return head->method_id == HTTP_METHOD_GET && head->major == 1 && !head->authority &&
           (k[HTTP_F_RANGE] & k[HTTP_F_IF_RANGE] & k[HTTP_F_UPGRADE] & k[HTTP_F_TE] &
            k[HTTP_F_TRAILER]) == -1 &&
           ahead_connection_is_plain(head);
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
    const char *ip = bc->peer && bc->peer->family ? bc->peer->ip : bc->c->client_ip;
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
    proxy_ahead *a;

    BRG_ASSERT(!bc->ahead && bc->c && loop_self() == bc->loop);
    if (!cc || !ahead_send(cc, text, len))
        return 0;
    if (!(a = ahead_get())) {
        client_close(cc);
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

/* ---- to the client ---- */

/* Statuses whose answers are sent as they came: not those behind which the connection ends, or whose bodies are another matter. */
static int answer_status_is_plain(int code)
{
    return (code >= 200 && code <= 203) || code == HTTP_MOVED_PERMANENTLY ||
           code == HTTP_MOVED_TEMPORARILY || code == HTTP_SEE_OTHER || code == HTTP_FORBIDDEN ||
           code == HTTP_NOT_FOUND || code == HTTP_GONE;
}

/* As it would be written anew. */
static int answer_length_is_plain(const http_head *head)
{
    const http_field *f = &head->field[head->known[HTTP_F_CONTENT_LENGTH]];
    char digits[24];

    return http_put_number(digits, head->content_length) == f->value_len &&
           !memcmp(digits, f->value, f->value_len);
}

/* Of the answer, as far as it is known to be simple. */
typedef struct ahead_answer {
    http_head head; /* the backend's */
    h1_top top;
    uint8_t goes[HTTP_HEAD_OWN_FIELDS]; /* by index of a field: it is sent */
    size_t size;                        /* of those, with ": " and line ends */
    int typed, varies;
} ahead_answer;

/* @return 0: it is not known what would become of it */
static int answer_take_field(ahead_answer *an, const proxy_plan *plan, int i)
{
    const http_field *f = &an->head.field[i];

    switch (proxy_answer_rule_of(f->name, f->name_len)) {
    case PROXY_ANSWER_STAYS:
        return f->id != HTTP_F_CONNECTION || ahead_connection_is_plain(&an->head);
    case PROXY_ANSWER_URL:
        if (plan->reverses_urls)
            return 0;
        break;
    case PROXY_ANSWER_COOKIE:
        if (plan->reverses_cookies)
            return 0;
        break;
    default:
        break;
    }
    if (f->name_len == 4 && !strncasecmp(f->name, "Date", 4)) {
        if (an->top.date)
            return 0;
        an->top.date = f->value;
        an->top.date_len = f->value_len;
        return 1;
    }
    if (f->name_len == 6 && !strncasecmp(f->name, "Server", 6)) {
        if (an->top.server)
            return 0;
        an->top.server = f->value;
        an->top.server_len = f->value_len;
        return 1;
    }
    if (f->name_len == 4 && !strncasecmp(f->name, "Vary", 4) &&
        (an->varies++ || !f->value_len || memchr(f->value, ',', f->value_len) ||
         memchr(f->value, ' ', f->value_len) || memchr(f->value, '\t', f->value_len)))
        return 0;
    if (f->name_len == 12 && !strncasecmp(f->name, "Content-Type", 12) &&
        (an->typed++ || !f->value_len))
        return 0;
    an->goes[i] = 1;
    an->size += (size_t)f->name_len + f->value_len + 4;
    return 1;
}

static int answer_take(ahead_answer *an, const proxy_plan *plan)
{
    http_head *head = &an->head;
    const uint32_t code_at = sizeof "HTTP/1.1";

    if (!answer_status_is_plain(head->code) || head->repeated ||
        head->n_fields > HTTP_HEAD_OWN_FIELDS || head->line_len < code_at + sizeof "200" ||
        !answer_length_is_plain(head))
        return 0;
    an->top = (h1_top){.status = head->line + code_at, .status_len = head->line_len - code_at};
    an->size = an->typed = an->varies = 0;
    memset(an->goes, 0, head->n_fields);
    for (int i = 0; i < head->n_fields; i++)
        if (!answer_take_field(an, plan, i))
            return 0;
    return an->typed;
}

static size_t answer_room(const ahead_answer *an)
{
    return an->size + an->top.status_len + an->top.date_len + an->top.server_len +
           H1_CONNECTION_MAX + 512;
}

/* The head, where the loop gathers its output. @return its length */
static size_t answer_write(const ahead_answer *an, const proxy_ahead *a, int keep, int asked)
{
    const brg_conn *bc = a->bc;
    const server_rec *s = a->plan->server;
    char *head = gather_head(bc->loop->out), *p;
    h1_top top = an->top;

    if (!top.date) {
        top.date = http_date_now(a->began);
        top.date_len = HTTP_DATE_LEN;
    }
    p = h1_format_top(head, AP_SERVER_PROTOCOL, &top);
    for (int i = 0; i < an->head.n_fields; i++) {
        const http_field *f = &an->head.field[i];

        if (!an->goes[i])
            continue;
        p = mempcpy(p, f->name, f->name_len);
        *p++ = ':';
        *p++ = ' ';
        p = mempcpy(p, f->value, f->value_len);
        *p++ = '\r';
        *p++ = '\n';
    }
    p += h1_format_connection(p, !keep, asked, s->keep_alive_timeout,
                              s->keep_alive_max ? s->keep_alive_max - (int)bc->requests : -1);
    *p++ = '\r';
    *p++ = '\n';
    return (size_t)(p - head);
}

/* The answer is the client's: the backend's connection goes to the next request. */
static void answer_over(proxy_ahead *a, const http_head *head)
{
    client_conn *cc = a->cc;
    const uint32_t got = client_in_size(cc);

    proxy_worker_answered(a->plan->worker, head->code, a->bc->loop->monotonic - a->chosen_at);
    client_in_take(cc, got);
    a->cc = NULL;
    if (h1_response_keeps(head))
        client_keep(cc);
    else
        client_close(cc);
    proxy_worker_release(a->plan->worker, a->sent, got);
    proxy_worker_take(a->plan->worker); /* ahead_drop() gives it back, with nothing more */
    a->sent = 0;
}

/* ---- what logs see ---- */

typedef struct ahead_log {
    http_answer *answer;
    char text[GATHER_HEAD_MAX];
    union {
        http_answer answer;
        char room[sizeof(http_answer) + HTTP_HEAD_OWN_FIELDS * sizeof(http_answer_field)];
    } made;
} ahead_log;

static const char *log_text(char **to, const char *text, size_t len)
{
    char *made = *to;

    memcpy(made, text, len);
    made[len] = '\0';
    *to = made + len + 1;
    return made;
}

/* As of an answer that is stored; strings end with NULs. */
static void log_make(ahead_log *log, const ahead_answer *an)
{
    char *to = log->text;
    http_answer *a = log->answer = &log->made.answer;

    memset(a, 0, sizeof *a);
    a->status = an->head.code;
    a->reason = log_text(&to, an->top.status, an->top.status_len);
    a->server = "";
    if (an->top.date)
        a->date = log_text(&to, an->top.date, an->top.date_len);
    if (an->top.server) {
        a->server = log_text(&to, an->top.server, an->top.server_len);
        a->own_server = 1;
    }
    a->conn_at = a->own_at = a->length_at = a->range_at = HTTP_NO_FIELD;
    for (int i = 0; i < an->head.n_fields; i++) {
        const http_field *f = &an->head.field[i];

        if (!an->goes[i])
            continue;
        a->field[a->n_fields].name = log_text(&to, f->name, f->name_len);
        a->field[a->n_fields++].value = log_text(&to, f->value, f->value_len);
    }
    BRG_ASSERT(to <= log->text + sizeof log->text);
}

/* ---- both ---- */

static void answer_send(proxy_ahead *a, const ahead_answer *an, cache_planned_answer *told)
{
    brg_conn *bc = a->bc;
    struct gather *g = bc->loop->out;
    int asked;
    const int keep = h1_ahead_keeps(bc, a->plan->server, &asked);

    BRG_ASSERT(!g->iov_n && !bc->pending);
    told->head_sent = answer_write(an, a, keep, asked);
    BRG_ASSERT(told->head_sent <= answer_room(an));
    gather_add_head(g, told->head_sent);
    gather_add_lent(g, client_in(a->cc) + an->head.head_len, (size_t)an->head.content_length);
    gather_flush(g, bc, 0);
    if (!keep)
        bc->close_after = bc->ahead->close || !bc->ahead->minor ? CONN_SHUT : CONN_DRAIN;
}

static h1_ahead_step ahead_answer_with(proxy_ahead *a, ahead_answer *an)
{
    brg_conn *bc = a->bc;
    cache_entry *e = a->base.entry;
    ahead_log log;
    cache_planned_answer told = {.began = a->began,
                                 .status = an->head.code,
                                 .body_sent = (apr_off_t)an->head.content_length};

    if (!answer_take(an, a->plan) || answer_room(an) > GATHER_HEAD_MAX)
        return H1_AHEAD_FULL;
    if (cache_plan_is_logged(e)) {
        log_make(&log, an);
        told.head = h1_ahead_head(bc);
        told.answer = log.answer;
        if (!cache_plan_log_is_ready(e, bc, &told))
            return H1_AHEAD_FULL;
    }
    answer_send(a, an, &told);
    answer_over(a, &an->head);
    cache_plan_answered(e, bc, &told);
    return H1_AHEAD_ANSWERED;
}

/* @return H1_AHEAD_WAITS: it is not whole */
static h1_ahead_step ahead_look(proxy_ahead *a)
{
    const apr_size_t size = a->plan->worker->params.field_size;
    const h1_limits limits = {.line = (uint32_t)(size ? size : PROXY_FIELD_SIZE),
                              .field_size = (uint32_t)(size ? size : PROXY_FIELD_SIZE)};
    const uint32_t here = client_in_size(a->cc);
    ahead_answer an;
    size_t scanned = 0;

    switch (h1_parse_response(&an.head, client_in(a->cc), here, &scanned, &limits)) {
    case H1_MORE:
        return H1_AHEAD_WAITS;
    case H1_BAD:
        return H1_AHEAD_FULL;
    default:
        break;
    }
    if (h1_response_body(&an.head, HTTP_METHOD_GET, 0) != H1_BODY_LENGTH ||
        here > an.head.head_len + an.head.content_length ||
        an.head.head_len + an.head.content_length > NET_BLOCK)
        return H1_AHEAD_FULL;
    if (here < an.head.head_len + an.head.content_length)
        return H1_AHEAD_WAITS;
    return ahead_answer_with(a, &an);
}

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
        step = ahead_look(a);
    }
    return step;
}

/* ---- the full way goes on ---- */

static int ahead_fits(const proxy_ahead *a, const proxy_exchange *x)
{
    return x->state == EXCHANGE_CONNECT && x->loop == a->bc->loop && !x->has_body &&
           x->origin == a->plan->origin && x->target->worker == a->plan->worker;
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
