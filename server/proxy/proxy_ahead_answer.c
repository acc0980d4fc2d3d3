/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests by a plan (proxy_plan.h), where they are whole and simple: fields by the rules of an exchange, head and body in one
 * write, figures and logs. What would become of any other answer is left to the full way. */
#include "proxy_plan.h"
#include "connection.h"
#include "proxy_fields.h"
#include "gather.h"
#include "h1_response.h"
#include "h1_response_head.h"
#include "http_text.h"
#include "loop.h"
#include "net_block.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

#define AHEAD_ANSWER_MOST (4 * NET_BLOCK) /* bytes of one, with its head, that leaves so */

/* Connection names nothing but what becomes of itself. */
int proxy_ahead_connection_is_plain(const http_head *head)
{
    const int at = head->known[HTTP_F_CONNECTION];
    const uint32_t len = at < 0 ? 0 : head->field[at].value_len;

    return at < 0 || (head->keep_alive && len == 10) || (head->close && len == 5);
}

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

    BRG_ASSERT(head->known[HTTP_F_CONTENT_LENGTH] >= 0);
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
        return f->id != HTTP_F_CONNECTION || proxy_ahead_connection_is_plain(&an->head);
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
static void answer_over(proxy_ahead *a, const http_head *head, apr_off_t got)
{
    client_conn *cc = a->cc;

    proxy_worker_answered(a->plan->worker, head->code, a->bc->loop->monotonic - a->chosen_at);
    BRG_ASSERT(cc && cc->baton == a);
    client_in_take(cc, client_in_size(cc));
    client_blocks_end(&a->early);
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

/* The body is whole: behind the head in the connection's block, and in blocks of its own. */
static void answer_add_body(const proxy_ahead *a, struct gather *g, uint32_t head_len)
{
    apr_size_t left = a->early.len;

    gather_add_lent(g, client_in(a->cc) + head_len, client_in_size(a->cc) - head_len);
    for (int i = 0; left; i++) {
        const apr_size_t n = left < NET_BLOCK ? left : NET_BLOCK;

        gather_add_lent(g, a->early.at[i].iov_base, n);
        left -= n;
    }
}

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
    answer_add_body(a, g, an->head.head_len);
    BRG_ASSERT(g->bytes == told->head_sent + an->head.content_length);
    gather_flush(g, bc, 0);
    if (!keep)
        bc->close_after = bc->ahead->close || !bc->ahead->minor ? CONN_SHUT : CONN_DRAIN;
}

static http_field field_of(const char *name, uint32_t name_len, const char *value, size_t value_len)
{
    return (http_field){
        .name = name, .value = value, .name_len = name_len, .value_len = (uint32_t)value_len};
}

/* The same for a stream. @return 0: no memory */
static int answer_send_stream(proxy_ahead *a, const ahead_answer *an, cache_planned_answer *told)
{
    http_field field[HTTP_HEAD_OWN_FIELDS + 2];
    const char *server = an->top.server ? an->top.server : ap_get_server_banner();
    const size_t server_len = an->top.server ? an->top.server_len : strlen(server);
    stream_fields fields = {
        .status = an->head.code, .is_whole = !an->head.content_length, .n = 1, .field = field};

    field[0] = field_of("Date", 4, an->top.date ? an->top.date : http_date_now(a->began),
                        an->top.date ? an->top.date_len : HTTP_DATE_LEN);
    if (server_len)
        field[fields.n++] = field_of("Server", 6, server, server_len);
    for (int i = 0; i < an->head.n_fields; i++)
        if (an->goes[i])
            field[fields.n++] = an->head.field[i];
    BRG_ASSERT(fields.n <= HTTP_HEAD_OWN_FIELDS + 2);
    told->head_sent = proxy_ahead_send_stream(a, &fields, an->head.head_len);
    return told->head_sent != 0;
}

static h1_ahead_step ahead_answer_with(proxy_ahead *a, ahead_answer *an)
{
    brg_conn *bc = h1_ahead_client(a->bc);
    const apr_off_t got = proxy_ahead_got(a);
    cache_entry *e = a->base.entry;
    ahead_log log;
    cache_planned_answer told = {.began = a->began,
                                 .status = an->head.code,
                                 .body_sent = (apr_off_t)an->head.content_length};

    if (cache_plan_is_logged(e)) {
        log_make(&log, an);
        told.head = h1_ahead_head(a->bc);
        told.answer = log.answer;
        if (!cache_plan_log_is_ready(e, bc, &told))
            return H1_AHEAD_FULL;
    }
    if (a->bc == bc)
        answer_send(a, an, &told);
    else if (!answer_send_stream(a, an, &told))
        return H1_AHEAD_FULL;
    answer_over(a, &an->head, got);
    cache_plan_answered(e, bc, &told);
    return H1_AHEAD_ANSWERED;
}

/* Behind a block that is full: the rest, if all of it is here, comes with one read. @return as proxy_ahead_look() */
static h1_ahead_step ahead_look_behind(proxy_ahead *a, apr_size_t left)
{
    client_conn *cc = a->cc;

    if (cc->to < cc->cap)
        return H1_AHEAD_WAITS;
    if (!client_can_recv_blocks(cc) || core_output_is_pressed(a->bc) ||
        client_recv_blocks(cc, &a->early, left) != APR_SUCCESS || a->early.len != left)
        return H1_AHEAD_FULL;
    return H1_AHEAD_ANSWERED;
}

/* @return H1_AHEAD_ANSWERED: it is here, and simple */
static h1_ahead_step ahead_look_at(proxy_ahead *a, ahead_answer *an)
{
    const uint32_t here = client_in_size(a->cc);
    const uint64_t whole = an->head.head_len + an->head.content_length;

    BRG_ASSERT(an->head.head_len <= here);
    if (here > whole || whole > AHEAD_ANSWER_MOST)
        return H1_AHEAD_FULL;
    if (a->base.carrier && (whole > NET_BLOCK || !a->base.carrier->has_room(a->bc, whole)))
        return H1_AHEAD_FULL;
    if (here < whole && whole <= NET_BLOCK)
        return H1_AHEAD_WAITS;
    if (!answer_take(an, a->plan) || answer_room(an) > GATHER_HEAD_MAX)
        return H1_AHEAD_FULL;
    return here == whole ? H1_AHEAD_ANSWERED : ahead_look_behind(a, (apr_size_t)(whole - here));
}

h1_ahead_step proxy_ahead_look(proxy_ahead *a)
{
    const apr_size_t size = a->plan->worker->params.field_size;
    const h1_limits limits = {.line = (uint32_t)(size ? size : PROXY_FIELD_SIZE),
                              .field_size = (uint32_t)(size ? size : PROXY_FIELD_SIZE)};
    h1_ahead_step step;
    ahead_answer an;
    size_t scanned = 0;

    switch (
        h1_parse_response(&an.head, client_in(a->cc), client_in_size(a->cc), &scanned, &limits)) {
    case H1_MORE:
        return H1_AHEAD_WAITS;
    case H1_BAD:
        return H1_AHEAD_FULL;
    default:
        break;
    }
    if (h1_response_body(&an.head, HTTP_METHOD_GET, 0) != H1_BODY_LENGTH)
        return H1_AHEAD_FULL;
    step = ahead_look_at(a, &an);
    return step == H1_AHEAD_ANSWERED ? ahead_answer_with(a, &an) : step;
}
