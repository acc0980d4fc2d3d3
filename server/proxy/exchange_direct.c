/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of exchanges without a request_rec (proxy_plan.h). Their heads leave by the rules of the
 * sink that has one (exchange_answer.c). Whether an answer needs more is known when its head came:
 * direct_takes() decides for which the request has to be made. */
#include "exchange_direct_private.h"
#include "connection.h"
#include "proxy_fields.h"
#include "gather.h"
#include "http_response.h"
#include "http_scan.h"
#include "http_text.h"
#include "loop.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* ---- heads ---- */

int proxy_connection_is_plain(const http_head *head)
{
    const int at = head->known[HTTP_F_CONNECTION];
    const uint32_t len = at < 0 ? 0 : head->field[at].value_len;

    return at < 0 || (head->keep_alive && len == 10) || (head->close && len == 5);
}

/* Statuses whose answers are sent as they came: not those behind which the connection ends, or whose bodies are another matter. */
static int direct_status_is_plain(int code)
{
    return (code >= 200 && code <= 203) || code == HTTP_MOVED_PERMANENTLY ||
           code == HTTP_MOVED_TEMPORARILY || code == HTTP_SEE_OTHER || code == HTTP_FORBIDDEN ||
           code == HTTP_NOT_FOUND || code == HTTP_GONE;
}

/* As it would be written anew. */
static int direct_length_is_plain(const http_head *head)
{
    const http_field *f = &head->field[head->known[HTTP_F_CONTENT_LENGTH]];
    char digits[24];

    BRG_ASSERT(head->known[HTTP_F_CONTENT_LENGTH] >= 0);
    return http_put_number(digits, head->content_length) == f->value_len &&
           !memcmp(digits, f->value, f->value_len);
}

http_field direct_field(const char *name, uint32_t name_len, const char *value, size_t value_len)
{
    return (http_field){
        .name = name, .value = value, .name_len = name_len, .value_len = (uint32_t)value_len};
}

http_field *direct_make(direct_head *d)
{
    BRG_ASSERT(d->made_n < DIRECT_MADE);
    return d->field[d->n++] = &d->made[d->made_n++];
}

/* Fields that this server adds. */
static void direct_add(direct_head *d, const char *name, const char *value)
{
    *direct_make(d) = direct_field(name, (uint32_t)strlen(name), value, strlen(value));
    d->more += strlen(value);
}

static void direct_add_last(direct_head *d, const char *name, const char *value, size_t len)
{
    BRG_ASSERT(d->last_n < (int)(sizeof d->last / sizeof *d->last));
    d->last[d->last_n++] = direct_field(name, (uint32_t)strlen(name), value, len);
    d->more += strlen(name) + len + 4;
}

static void direct_add_status(direct_head *d, proxy_ahead *a)
{
    proxy_exchange *x = &a->x;

    proxy_tell_peer(&x->told, x->cc->peer, upstream_origin_settings(x->origin)->port);
    x->told.received = (uint16_t)d->head->code;
    x->told.protocol = x->codec->protocol;
    direct_add(d, "Proxy-Status", proxy_tell_status(exchange_pool(x), x->server, &x->told));
}

/* @return 0: there is another of its name */
static int direct_take_top(const char **at, size_t *len, const http_field *f)
{
    if (*at)
        return 0;
    *at = f->value;
    *len = f->value_len;
    return 1;
}

/* @return 0: it has no value, or is another one */
static int direct_take_type(direct_head *d, const proxy_plan *plan, http_field *f)
{
    const size_t room = sizeof d->type - 1, len = f->value_len;
    char *end = d->type + len;

    if (d->typed++ || !len)
        return 0;
    if (!plan->charset)
        return 1;
    if (len + strlen("; charset=") + strlen(plan->charset) > room)
        return 0;
    memcpy(d->type, f->value, len);
    *end = '\0';
    if (http_type_wants_charset(d->type))
        end = stpcpy(stpcpy(end, "; charset="), plan->charset);
    f->value = d->type;
    f->value_len = (uint32_t)(end - d->type);
    d->more += f->value_len;
    return 1;
}

/* Fields that are looked at. @return 1: it goes on; 0: its effect is not known; -1: it stands above
 * the others */
static int direct_take_known(direct_head *d, const proxy_plan *plan, http_field *f)
{
    switch (f->name_len) {
    case 3:
        return !plan->looks_at_via || !http_same(f->name, "via", 3);
    case 4:
        if (http_same(f->name, "date", 4))
            return -direct_take_top(&d->top.date, &d->top.date_len, f);
        return !http_same(f->name, "vary", 4) ||
               (!d->varies++ && f->value_len && strcspn(f->value, ", \t\r\n") == f->value_len);
    case 6:
        return http_same(f->name, "server", 6)
                   ? -direct_take_top(&d->top.server, &d->top.server_len, f)
                   : 1;
    case 12:
        return http_same_wide(f->name, "content-type", 12)
                   ? direct_take_type(d, plan, f)
                   : !plan->tells_status || !http_same(f->name, "proxy-status", 12);
    default:
        return 1;
    }
}

/* ProxyPassReverse and its like. */
static void direct_reverse(direct_head *d, proxy_ahead *a, http_field *f,
                           const char *(*how)(const proxy_reversal *, apr_pool_t *, const char *))
{
    apr_pool_t *p = exchange_pool(&a->x);
    const char *value = apr_pstrmemdup(p, f->value, f->value_len);
    const char *reversed = how(&a->plan->reversal, p, value);

    if (reversed == value)
        return;
    f->value = reversed;
    f->value_len = (uint32_t)strlen(reversed);
    d->more += f->value_len;
}

/* @return 0: its effect is not known */
static int direct_take_field(direct_head *d, proxy_ahead *a, int i)
{
    http_field *f = &d->head->field[i];
    int known;

    switch (proxy_answer_rule_of(f->name, f->name_len)) {
    case PROXY_ANSWER_STAYS:
        return f->id != HTTP_F_CONNECTION || proxy_connection_is_plain(d->head);
    case PROXY_ANSWER_URL:
        if (a->plan->reverses_urls)
            direct_reverse(d, a, f, proxy_reverse_url);
        break;
    case PROXY_ANSWER_COOKIE:
        if (a->plan->reverses_cookies)
            direct_reverse(d, a, f, proxy_reverse_cookie);
        break;
    default:
        break;
    }
    known = direct_take_known(d, a->plan, f);
    if (known <= 0)
        return known;
    if (a->plan->script_head && f->name_len == 12 && http_same_wide(f->name, "content-type", 12)) {
        direct_add_last(d, "Content-Type", f->value, f->value_len);
        return 1;
    }
    d->field[d->n++] = f;
    return 1;
}

/* Bytes of the head, with added fields. A line may be written with a space and a CR that it did not
 * have. */
static size_t direct_room(const direct_head *d)
{
    return d->head->head_len + d->more + 2u * d->head->n_fields + H1_CONNECTION_MAX + 512;
}

/* The line of a script's head is all status. @return 0: there is none */
static int direct_take_status(direct_head *d, const http_head *head, uint32_t code_at)
{
    if (head->line_len < code_at + sizeof "200")
        return 0;
    d->top = (h1_top){.status = head->line + code_at, .status_len = head->line_len - code_at};
    return 1;
}

/* How long the body is, is told as it would be written anew, or not at all. */
static int direct_take_frame(direct_head *d, const proxy_ahead *a, const http_head *head)
{
    if (a->plan->script_head)
        return direct_take_status(d, head, 0);
    return (a->x.h1.end == H1_BODY_LENGTH ? direct_length_is_plain(head) : a->base.minor != 0) &&
           direct_take_status(d, head, sizeof "HTTP/1.1");
}

/* A script's fields lie in err_headers_out, but for those with which conditions have to do, which stand behind them. */
static int direct_always_n(const proxy_ahead *a, const direct_head *d)
{
    int n = 0;

    while (a->plan->script_head && n < d->n && !HTTP_FIELD_IS(d->field[n], "Last-Modified") &&
           !HTTP_FIELD_IS(d->field[n], "Location") && !HTTP_FIELD_IS(d->field[n], "ETag") &&
           !HTTP_FIELD_IS(d->field[n], "Content-Range"))
        n++;
    return n;
}

int direct_takes(proxy_ahead *a, http_head *head, direct_head *d)
{
    if (!direct_status_is_plain(head->code) || head->repeated ||
        (a->plan->overrides && head->code >= 400) ||
        (a->plan->balancer && proxy_status_fails(a->plan->balancer, head->code)) ||
        head->n_fields > HTTP_HEAD_OWN_FIELDS || !direct_take_frame(d, a, head))
        return 0;
    d->head = head;
    d->n = d->made_n = d->last_n = d->typed = d->varies = 0;
    d->more = 0;
    if (a->plan->script_head && a->x.h1.end == H1_BODY_LENGTH)
        direct_add_last(d, "Content-Length", d->length,
                        http_put_number(d->length, head->content_length));
    for (int i = 0; i < head->n_fields; i++)
        if (!direct_take_field(d, a, i))
            return 0;
    if (a->plan->via)
        direct_add(d, "Via", a->plan->via);
    if (a->plan->tells_status)
        direct_add_status(d, a);
    d->always_n = a->plan->coding_n || a->plan->edits_n ? direct_always_n(a, d) : 0;
    if ((a->plan->coding_n && !direct_code(a, d)) || (a->plan->edits_n && !direct_edit(a, d)))
        return 0;
    if (!d->typed || direct_room(d) > GATHER_HEAD_MAX)
        return 0;
    d->dated = d->top.date != NULL;
    if (!d->dated)
        direct_take_top(
            &d->top.date, &d->top.date_len,
            &(http_field){.value = http_date_now(a->began), .value_len = HTTP_DATE_LEN});
    return 1;
}

/* ---- logs ---- */

static const char *log_text(char **to, const char *text, size_t len)
{
    char *made = *to;

    memcpy(made, text, len);
    made[len] = '\0';
    *to = made + len + 1;
    return made;
}

static void log_field(http_answer *a, char **to, const http_field *f)
{
    const char *name = log_text(to, f->name, f->name_len);

    a->field[a->n_fields++] =
        (http_answer_field){name, log_text(to, f->value, f->value_len), f->name_len, f->value_len};
}

/* As of an answer that is stored; strings end with NULs. */
static http_answer *log_make(const direct_head *d)
{
    const size_t fields_n = (size_t)d->n + (size_t)d->last_n;
    http_answer *a = malloc(sizeof *a + fields_n * sizeof(http_answer_field) + direct_room(d));
    char *to;

    if (!a)
        return NULL;
    memset(a, 0, sizeof *a);
    to = (char *)(a->field + fields_n + 1);
    a->status = d->head->code;
    a->reason = log_text(&to, d->top.status, d->top.status_len);
    a->server = "";
    if (d->dated)
        a->date = log_text(&to, d->top.date, d->top.date_len);
    if (d->top.server) {
        a->server = log_text(&to, d->top.server, d->top.server_len);
        a->own_server = 1;
    }
    a->conn_at = a->own_at = a->length_at = a->range_at = HTTP_NO_FIELD;
    for (int i = 0; i < d->n; i++)
        log_field(a, &to, d->field[i]);
    for (int i = 0; i < d->last_n; i++)
        log_field(a, &to, &d->last[i]);
    return a;
}

int direct_log_is_ready(proxy_ahead *a, const direct_head *d)
{
    if (!(a->told.answer = a->log = log_make(d)))
        return 0;
    a->told.head = h1_ahead_head(a->bc);
    return cache_plan_log_is_ready(a->base.entry, h1_ahead_client(a->bc), &a->told);
}

void proxy_direct_told(proxy_ahead *a)
{
    brg_conn *bc = h1_ahead_client(a->bc);
    char route[PROXY_ROUTE_SIZE];
    const proxy_worker *w = a->target.worker;
    const proxy_session *s = &a->session;
    const char *sticky = s->route ? s->sticky : NULL;
    const cache_planned_env member[] = {
        {"BALANCER_WORKER_NAME", w->name},
        {"BALANCER_WORKER_ROUTE", a->log && w->balancer ? proxy_route(w, route) : ""},
        {"BALANCER_ROUTE_CHANGED", s->changed ? "1" : NULL},
        {"BALANCER_SESSION_STICKY", sticky},
        {"BALANCER_SESSION_ROUTE", s->route},
        {"session-sticky", sticky},
        {"session-route", s->route},
        {NULL, NULL}};

    BRG_ASSERT(a->x.answer.begun && !a->logged);
    a->logged = 1;
    if (a->log && !a->told.head)
        a->told.head = h1_ahead_head(a->bc);
    if (a->plan->balancer)
        a->told.env = member;
    if (a->plan->script)
        a->told.variables = proxy_ahead_variables(a);
    cache_plan_answered(a->base.entry, bc, &a->told);
}

/* ---- both ---- */

void direct_answered(proxy_exchange *x)
{
    proxy_worker_answered(x->target->worker, direct_of(x)->told.status, x->told.waited);
}

int direct_works(const proxy_exchange *x)
{
    return direct_of(x)->coded != NULL;
}

/* The request that was kept, since no connection was idle. */
apr_bucket *direct_request(proxy_exchange *x)
{
    const proxy_ahead *a = direct_of(x);

    return apr_bucket_immortal_create(a->asked + a->asked_at, a->asked_len, x->alloc);
}

int proxy_direct_keep(proxy_ahead *a)
{
    char *kept;

    if (!a->head || a->kept)
        return 1;
    if (!(kept = malloc(GATHER_HEAD_MAX)))
        return 0;
    a->head = a->kept = memcpy(kept, a->head, a->head_len);
    return 1;
}

void proxy_direct_end(proxy_ahead *a)
{
    if (a->coded)
        direct_coded_end(a);
    if (a->part)
        shared_release(a->part);
    if (a->log)
        free(a->log);
    if (a->kept)
        free(a->kept);
    if (a->asked)
        free(a->asked);
}
