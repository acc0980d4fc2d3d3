/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks of exchanges without a request_rec (proxy_plan.h): a connection of HTTP/1, and a stream. The head leaves by the rules of the other
 * sink. What an answer may ask for beyond that is known when its head came: direct_takes() says of which the request has to be made.
 *
 * An answer that is whole when it is looked at leaves in one write, from the memory that it was read into. Of any other, HTTP/1 has the
 * pieces by the connection's filter, which keeps what its client does not take yet; a stream has room for all of it before it begins. */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "connection.h"
#include "proxy_fields.h"
#include "gather.h"
#include "h1_response.h"
#include "http_scan.h"
#include "http_text.h"
#include "loop.h"
#include "net_block.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define DIRECT_IOV 24 /* pieces of an answer that leaves in one write */

static proxy_ahead *direct_of(const proxy_exchange *x)
{
    return (proxy_ahead *)(void *)((char *)(uintptr_t)x - offsetof(proxy_ahead, x));
}

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

static http_field field_of(const char *name, uint32_t name_len, const char *value, size_t value_len)
{
    return (http_field){
        .name = name, .value = value, .name_len = name_len, .value_len = (uint32_t)value_len};
}

/* What this server adds. */
static http_field direct_via(const proxy_plan *plan)
{
    return field_of("Via", 3, plan->text + plan->via_at, plan->via_len);
}

/* What goes on of a head, as far as it is known to be simple. */
typedef struct direct_head {
    http_head *head; /* the backend's */
    h1_top top;
    uint8_t goes[HTTP_HEAD_OWN_FIELDS]; /* by index of a field */
    int n;                              /* of those */
    size_t more;                        /* bytes of values that were changed */
    int typed, varies, dated;
} direct_head;

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

/* @return 0: its request has to be made */
static int direct_takes(proxy_ahead *a, http_head *head, direct_head *d)
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

/* @return 0: a module needs the request to log it */
static int direct_log_is_ready(proxy_ahead *a, const direct_head *d)
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

/* ---- HTTP/1 ---- */

static char *h1_put_line(char *p, const http_field *f)
{
    p = mempcpy(p, f->name, f->name_len);
    p = mempcpy(p, ": ", 2);
    p = mempcpy(p, f->value, f->value_len);
    return mempcpy(p, "\r\n", 2);
}

/* The head, without what tells of body and connection, where the loop gathers its output. */
static void h1_put_head(proxy_ahead *a, const direct_head *d)
{
    char *head = gather_head(a->bc->loop->out),
         *p = h1_format_top(head, AP_SERVER_PROTOCOL, &d->top);
    const char *lines = NULL; /* that stand so, one behind the other */
    size_t n = 0, len;

    BRG_ASSERT(!a->bc->loop->out->iov_n && !a->bc->pending);
    for (int i = 0; i < d->head->n_fields; i++, n += len) {
        const http_field *f = &d->head->field[i];

        len = 0;
        if (!d->goes[i])
            continue;
        len = proxy_field_line(f);
        if (len && lines && f->name == lines + n)
            continue;
        p = lines ? mempcpy(p, lines, n) : p;
        lines = len ? f->name : NULL;
        n = 0;
        if (!len)
            p = h1_put_line(p, f);
    }
    p = lines ? mempcpy(p, lines, n) : p;
    if (a->plan->via_len) {
        const http_field via = direct_via(a->plan);

        p = h1_put_line(p, &via);
    }
    a->head = head;
    a->head_len = (uint32_t)(p - head);
}

static int h1_takes(proxy_exchange *x, http_head *head)
{
    proxy_ahead *a = direct_of(x);
    direct_head d;

    if (!direct_takes(a, head, &d) ||
        (cache_plan_is_logged(a->base.entry) && !direct_log_is_ready(a, &d)))
        return 0;
    a->told.status = head->code;
    h1_put_head(a, &d);
    return 1;
}

/* The rest of the head. @param n  of the body, if that is known and not told; -1 */
static void h1_end_head(proxy_ahead *a, apr_off_t n)
{
    const server_rec *s = a->plan->server;
    char *p = (char *)(uintptr_t)a->head + a->head_len;
    int asked;
    const int keep = h1_ahead_keeps(a->bc, s, &asked);

    if (a->x.body_end != H1_BODY_LENGTH && n >= 0) {
        p = stpcpy(p, "Content-Length: ");
        p += http_put_number(p, (apr_uint64_t)n);
        p = stpcpy(p, "\r\n");
    }
    p += h1_format_connection(p, !keep, asked, s->keep_alive_timeout,
                              s->keep_alive_max ? s->keep_alive_max - (int)a->bc->requests : -1);
    if (a->x.body_end != H1_BODY_LENGTH && n < 0) {
        p = stpcpy(p, "Transfer-Encoding: chunked\r\n");
        a->chunks = 1;
    }
    p = stpcpy(p, "\r\n");
    a->closes = !keep;
    a->head_len = (uint32_t)(p - a->head);
    a->told.head_sent = a->head_len;
    BRG_ASSERT(a->head_len <= GATHER_HEAD_MAX);
}

/* @return how many pieces; -1: more than fit */
static int h1_pieces(const proxy_exchange *x, struct iovec *iov, apr_off_t *bytes)
{
    int n = 0;

    *bytes = x->lent;
    for (apr_bucket *e = APR_BRIGADE_FIRST(x->in); e != APR_BRIGADE_SENTINEL(x->in);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (n == DIRECT_IOV || apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return -1;
        iov[n++] = (struct iovec){(void *)(uintptr_t)data, len};
        *bytes += (apr_off_t)len;
    }
    if (x->lent)
        iov[n++] = (struct iovec){(void *)(uintptr_t)client_in(x->cc), x->lent};
    return n;
}

/* Head and body in one write. @return 0: it is in too many pieces */
static int h1_pass_whole(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    struct gather *g = a->bc->loop->out;
    struct iovec iov[DIRECT_IOV + 1];
    apr_off_t bytes;
    const int n = h1_pieces(x, iov, &bytes);

    if (n < 0 || a->kept || (bytes && a->trailers))
        return 0;
    h1_end_head(a, bytes);
    gather_add_head(g, a->head_len);
    for (int i = 0; i < n; i++)
        gather_add_lent(g, iov[i].iov_base, iov[i].iov_len);
    gather_flush(g, a->bc, 0);
    a->told.body_sent = bytes;
    return 1;
}

static apr_bucket *h1_text(const proxy_exchange *x, const char *text, apr_size_t len)
{
    return apr_bucket_heap_create(text, len, NULL, x->alloc);
}

/* A piece as a chunk. */
static void h1_frame(proxy_exchange *x, apr_off_t n)
{
    proxy_ahead *a = direct_of(x);
    char line[24];
    int len;

    if (n) {
        len = apr_snprintf(line, sizeof line, "%" APR_UINT64_T_HEX_FMT "\r\n", (apr_uint64_t)n);
        APR_BRIGADE_INSERT_HEAD(x->in, h1_text(x, line, (apr_size_t)len));
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_immortal_create("\r\n", 2, x->alloc));
        a->told.head_sent += (apr_size_t)len + 2;
    }
    if (!x->complete)
        return;
    APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_immortal_create("0\r\n\r\n", 5, x->alloc));
    a->told.head_sent += 5;
}

static void h1_pass_piece(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    apr_off_t n = 0;

    if (x->lent)
        APR_BRIGADE_INSERT_TAIL(x->in, h1_text(x, client_in(x->cc), x->lent));
    (void)apr_brigade_length(x->in, 1, &n);
    if (!x->passed)
        h1_end_head(a, x->complete && !(n && a->trailers) ? n : -1);
    if (a->chunks)
        h1_frame(x, n);
    if (!x->passed)
        APR_BRIGADE_INSERT_HEAD(x->in, h1_text(x, a->head, a->head_len));
    a->told.body_sent += n;
    if (x->complete || !exchange_has_more(x))
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_flush_create(x->alloc));
    if (ap_pass_brigade(a->bc->c->output_filters, x->in) != APR_SUCCESS || a->bc->c->aborted)
        a->bc->failed = 1;
}

static void h1_pass(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);

    if (x->passed || !x->complete || !h1_pass_whole(x))
        h1_pass_piece(x);
    x->passed = 1;
    apr_brigade_cleanup(x->in);
    if (a->bc->failed)
        exchange_client_left(x);
}

static void h1_cut(proxy_exchange *x)
{
    direct_of(x)->closes = 1;
}

static int h1_is_behind(proxy_exchange *x)
{
    return exchange_is_behind(x, direct_of(x)->bc);
}

/* ---- streams ---- */

/* @return 0: no memory */
static int stream_put_head(proxy_ahead *a, const direct_head *d)
{
    http_field field[HTTP_HEAD_OWN_FIELDS + H1_TOP_FIELDS + 1];
    const char *server = d->top.server ? d->top.server : ap_get_server_banner();
    const size_t server_len = d->top.server ? d->top.server_len : strlen(server);
    stream_fields fields = {
        .status = d->head->code, .is_whole = !a->x.left, .n = 1, .field = field};

    field[0] = field_of("Date", 4, d->top.date, d->top.date_len);
    if (server_len)
        field[fields.n++] = field_of("Server", 6, server, server_len);
    for (int i = 0; i < d->head->n_fields; i++)
        if (d->goes[i])
            field[fields.n++] = d->head->field[i];
    if (a->plan->via_len)
        field[fields.n++] = direct_via(a->plan);
    return (a->part = a->bc->transport->encode(a->bc, &fields)) != NULL;
}

static int stream_takes(proxy_exchange *x, http_head *head)
{
    proxy_ahead *a = direct_of(x);
    direct_head d;

    x->left = head->content_length;
    if (x->body_end != H1_BODY_LENGTH || !direct_takes(a, head, &d) ||
        (cache_plan_is_logged(a->base.entry) && !direct_log_is_ready(a, &d)) ||
        !a->base.carrier->reserve(a->bc, head->head_len + head->content_length))
        return 0;
    a->told.status = head->code;
    return stream_put_head(a, &d);
}

static int stream_put(brg_conn *bc, const char *data, apr_size_t len)
{
    const struct iovec iov = {(void *)(uintptr_t)data, len};

    return !len || bc->transport->sendv(bc, &iov, 1, 1) == (ssize_t)len;
}

static void block_was_given(void *block)
{
    (void)block;
}

/* The memory that it was read into may go with it. @return 0: it was not taken */
static int stream_put_bucket(brg_conn *bc, apr_bucket *e)
{
    apr_bucket_heap *h = e->data;
    void (*end)(void *);
    const char *data;
    apr_size_t len;

    if (!APR_BUCKET_IS_HEAP(e) || h->refcount.refcount != 1 || e->length <= CLIENT_COPIED)
        return apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS &&
               stream_put(bc, data, len);
    end = h->free_func;
    h->free_func = block_was_given;
    if (bc->transport->give(bc, h->base, end, h->base + e->start, e->length) == (ssize_t)e->length)
        return 1;
    h->free_func = end;
    return 0;
}

/* The same of what the connection has. */
static int stream_put_lent(brg_conn *bc, const proxy_exchange *x)
{
    void (*end)(void *);
    uint32_t at, cap;
    char *block = client_in_size(x->cc) == x->lent ? client_in_give(x->cc, &at, &cap, &end) : NULL;

    if (!block)
        return stream_put(bc, client_in(x->cc), x->lent);
    if (bc->transport->give(bc, block, end, block + at, x->lent) == (ssize_t)x->lent)
        return 1;
    end(block);
    return 0;
}

static int stream_pass_all(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    brg_conn *bc = a->bc;

    if (!x->passed) {
        const ssize_t n = bc->transport->put(bc, a->part);

        a->part = NULL;
        a->told.head_sent = n > 0 ? (size_t)n : 1;
        if (n < 0)
            return 0;
    }
    for (apr_bucket *e = APR_BRIGADE_FIRST(x->in); e != APR_BRIGADE_SENTINEL(x->in);
         e = APR_BUCKET_NEXT(e)) {
        a->told.body_sent += (apr_off_t)e->length;
        if (!stream_put_bucket(bc, e))
            return 0;
    }
    a->told.body_sent += x->lent;
    if (x->lent && !stream_put_lent(bc, x))
        return 0;
    if (x->complete)
        return bc->transport->put(bc, NULL) >= 0;
    bc->transport->sent(bc);
    return 1;
}

static void stream_pass(proxy_exchange *x)
{
    brg_conn *bc = direct_of(x)->bc;

    BRG_ASSERT(bc->master && !bc->failed);
    if (!stream_pass_all(x))
        bc->failed = 1; /* its client sees that it breaks off */
    x->passed = 1;
    apr_brigade_cleanup(x->in);
    if (bc->failed)
        exchange_client_left(x);
}

static void stream_cut(proxy_exchange *x)
{
    direct_of(x)->bc->failed = 1;
}

/* There is room for all of it. */
static int stream_is_behind(proxy_exchange *x)
{
    (void)x;
    return 0;
}

/* ---- both ---- */

static void direct_answered(proxy_exchange *x)
{
    proxy_worker_answered(x->target->worker, direct_of(x)->told.status, x->told.waited);
}

/* Clients of HTTP/1 get none, and streams none where a length was told. */
static void direct_trailer(proxy_exchange *x, const http_field *f)
{
    (void)f;
    direct_of(x)->trailers = 1;
}

/* What was kept, since there was no connection that was idle. */
static apr_bucket *direct_request(proxy_exchange *x)
{
    const proxy_ahead *a = direct_of(x);

    return apr_bucket_heap_create(a->asked, a->asked_len, NULL, x->alloc);
}

const proxy_sink proxy_sink_h1 = {.lends = 1,
                                  .request = direct_request,
                                  .head = h1_takes,
                                  .answered = direct_answered,
                                  .trailer = direct_trailer,
                                  .pass = h1_pass,
                                  .cut = h1_cut,
                                  .is_behind = h1_is_behind};

const proxy_sink proxy_sink_stream = {.lends = 1,
                                      .request = direct_request,
                                      .head = stream_takes,
                                      .answered = direct_answered,
                                      .trailer = direct_trailer,
                                      .pass = stream_pass,
                                      .cut = stream_cut,
                                      .is_behind = stream_is_behind};

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
