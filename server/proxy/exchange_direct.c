/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of exchanges without a request_rec (proxy_plan.h). Their heads leave by the rules of the sink that has one
 * (exchange_answer.c). What an answer may ask for beyond that is known when its head came: direct_takes() says of which the request has
 * to be made. */
#include "exchange_direct_private.h"
#include "connection.h"
#include "proxy_fields.h"
#include "gather.h"
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

/* What this server adds. */
http_field direct_via(const proxy_plan *plan)
{
    return direct_field("Via", 3, plan->text + plan->via_at, plan->via_len);
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

/* Fields that are looked at. @param via  that is one @return 1: it goes on as it is; 0: it is not known what would become of it; -1: it stands above the others */
static int direct_take_known(direct_head *d, const http_field *f, int via)
{
    switch (f->name_len) {
    case 3:
        return !via || !http_same(f->name, "via", 3);
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
        return !http_same_wide(f->name, "content-type", 12) || (!d->typed++ && f->value_len);
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

/* @return 0: it is not known what would become of it */
static int direct_take_field(direct_head *d, proxy_ahead *a, int i)
{
    http_field *f = &d->head->field[i];
    int known;

    d->goes[i] = 0;
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
    known = direct_take_known(d, f, a->plan->looks_at_via);
    if (known <= 0)
        return known;
    d->goes[i] = 1;
    d->n++;
    return 1;
}

/* Bytes that it takes, with what is added. A line may be written with a space and a CR that it did not have. */
static size_t direct_room(const direct_head *d)
{
    return d->head->head_len + d->more + 2u * d->head->n_fields + H1_CONNECTION_MAX + 512;
}

int direct_takes(proxy_ahead *a, http_head *head, direct_head *d)
{
    const uint32_t code_at = sizeof "HTTP/1.1";

    if (!direct_status_is_plain(head->code) || head->repeated ||
        (a->plan->overrides && head->code >= 400) || head->n_fields > HTTP_HEAD_OWN_FIELDS ||
        head->line_len < code_at + sizeof "200" ||
        (a->x.body_end == H1_BODY_LENGTH ? !direct_length_is_plain(head) : !a->base.minor))
        return 0;
    d->top = (h1_top){.status = head->line + code_at, .status_len = head->line_len - code_at};
    d->head = head;
    d->n = d->typed = d->varies = 0;
    d->more = a->plan->via_len;
    for (int i = 0; i < head->n_fields; i++)
        if (!direct_take_field(d, a, i))
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

/* ---- what logs see ---- */

static const char *log_text(char **to, const char *text, size_t len)
{
    char *made = *to;

    memcpy(made, text, len);
    made[len] = '\0';
    *to = made + len + 1;
    return made;
}

/* As of an answer that is stored; strings end with NULs. */
static http_answer *log_make(const direct_head *d, const proxy_plan *plan)
{
    http_answer *a =
        malloc(sizeof *a + (size_t)(d->n + 1) * sizeof(http_answer_field) + direct_room(d));
    char *to;

    if (!a)
        return NULL;
    memset(a, 0, sizeof *a);
    to = (char *)(a->field + d->n + 1);
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
    for (int i = 0; i < d->head->n_fields; i++) {
        const http_field *f = &d->head->field[i];

        if (!d->goes[i])
            continue;
        a->field[a->n_fields].name = log_text(&to, f->name, f->name_len);
        a->field[a->n_fields++].value = log_text(&to, f->value, f->value_len);
    }
    if (plan->via_len) {
        a->field[a->n_fields].name = "Via";
        a->field[a->n_fields++].value = log_text(&to, plan->text + plan->via_at, plan->via_len);
    }
    return a;
}

int direct_log_is_ready(proxy_ahead *a, const direct_head *d)
{
    if (!(a->told.answer = a->log = log_make(d, a->plan)))
        return 0;
    a->told.head = h1_ahead_head(a->bc);
    return cache_plan_log_is_ready(a->base.entry, h1_ahead_client(a->bc), &a->told);
}

void proxy_direct_told(proxy_ahead *a)
{
    brg_conn *bc = h1_ahead_client(a->bc);
    char route[PROXY_ROUTE_SIZE];
    const proxy_worker *w = a->target.worker;
    const cache_planned_env member[] = {
        {"BALANCER_WORKER_NAME", w->name},
        {"BALANCER_WORKER_ROUTE", a->log && w->balancer ? proxy_route(w, route) : ""},
        {NULL, NULL}};

    BRG_ASSERT(a->x.answered && !a->logged);
    a->logged = 1;
    if (a->log && !a->told.head)
        a->told.head = h1_ahead_head(a->bc);
    if (a->plan->balancer)
        a->told.env = member;
    cache_plan_answered(a->base.entry, bc, &a->told);
}

/* ---- both ---- */

void direct_answered(proxy_exchange *x)
{
    proxy_worker_answered(x->target->worker, direct_of(x)->told.status, x->told.waited);
}

/* Clients of HTTP/1 get none, and streams none where a length was told. */
void direct_trailer(proxy_exchange *x, const http_field *f)
{
    (void)f;
    direct_of(x)->trailers = 1;
}

/* What was kept, since there was no connection that was idle. */
apr_bucket *direct_request(proxy_exchange *x)
{
    const proxy_ahead *a = direct_of(x);

    return apr_bucket_heap_create(a->asked, a->asked_len, NULL, x->alloc);
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
    if (a->part)
        shared_release(a->part);
    if (a->log)
        free(a->log);
    if (a->kept)
        free(a->kept);
    if (a->asked)
        free(a->asked);
}
