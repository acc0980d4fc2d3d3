/* SPDX-License-Identifier: Apache-2.0 */
/* SCGI and uwsgi: variables, then the body as it is. The answer ends with the connection; of SCGI it begins as that of a CGI
 * program does, of uwsgi with a status line. */
#include "proxy_script.h"
#include "exchange_private.h"
#include "proxy_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(proxy_scgi);

#define UWSGI_MOST 65535 /* bytes of variables: two bytes tell them */

static void plain_body(proxy_exchange *x, apr_bucket_brigade *bb, int last)
{
    apr_off_t n = 0;

    (void)last;
    apr_brigade_length(bb, 1, &n);
    x->out_n += n;
    APR_BRIGADE_CONCAT(x->out, bb);
}

/* A body whose length is told ends there, else with the connection. */
static apr_status_t plain_end(proxy_exchange *x)
{
    if (!x->answer.begun || (x->h1.end == H1_BODY_LENGTH && x->h1.left))
        return APR_EOF;
    x->answer.complete = 1;
    x->keep = 0;
    return APR_SUCCESS;
}

/* Bytes behind a body whose length is told are dropped: a client would take them for another answer. */
static void plain_take(proxy_exchange *x)
{
    uint32_t n = upstream_in_size(x->cc);

    BRG_ASSERT(x->answer.begun && x->cc);
    if (x->h1.end == H1_BODY_LENGTH) {
        n = n > x->h1.left ? (uint32_t)x->h1.left : n;
        x->h1.left -= n;
        x->answer.complete = !x->h1.left;
    }
    if (n && x->answer.complete && x->sink->lends) {
        x->answer.lent = n;
        x->answer.behind = upstream_in_size(x->cc) - n;
    } else if (n) {
        APR_BRIGADE_INSERT_TAIL(x->in, upstream_in_bucket(x->cc, n, x->alloc));
    }
}

/* ---- requests of a plan, which have no request_rec ---- */

/* @return 0: its variables are made here */
static int plain_begin_ahead(proxy_exchange *x)
{
    if (!x->sink->ahead)
        return 0;
    exchange_out(x, x->sink->request(x));
    return 1;
}

/* What came stays for an exchange that has the request. */
static apr_status_t plain_refused(proxy_exchange *x)
{
    exchange_done(x, EXCHANGE_NEEDS_REQUEST);
    return APR_EGENERAL;
}

/* Something of a head is here, which was not taken. */
static int plain_is_awaited(const proxy_exchange *x)
{
    return x->sink->ahead && !x->answer.begun && upstream_in_size(x->cc);
}

static apr_status_t plain_head_ahead(proxy_exchange *x, http_head *head)
{
    BRG_ASSERT(x->sink->ahead && x->loop && !x->answer.begun);
    if (!x->sink->head(x, head))
        return plain_refused(x);
    x->answer.code = head->code;
    upstream_in_take(x->cc, head->head_len);
    exchange_head_done(x);
    return APR_SUCCESS;
}

/* ---- SCGI ---- */

#define SCGI_LENGTH_MOST 6 /* bytes of the length in front, with its colon */
#define SCGI_FIRST     \
    "CONTENT_LENGTH\0" \
    "0\0"              \
    "SCGI\0"           \
    "1"

static int scgi_is_own(const char *name, apr_size_t len)
{
    return (len == 14 && !memcmp(name, "CONTENT_LENGTH", 14)) ||
           (len == 4 && !memcmp(name, "SCGI", 4));
}

static unsigned char *scgi_pair_put(unsigned char *p, const char *name, apr_size_t name_len,
                                    const char *value, apr_size_t value_len)
{
    p = mempcpy(p, name, name_len);
    *p++ = '\0';
    p = mempcpy(p, value, value_len);
    *p++ = '\0';
    return p;
}

static const char *scgi_pair_get(const char *p, script_pair *pair)
{
    pair->name = p;
    pair->name_len = strlen(p);
    pair->value = p + pair->name_len + 1;
    pair->value_len = strlen(pair->value);
    return pair->value + pair->value_len + 1;
}

/* The length stands right in front of the variables. */
static apr_size_t scgi_frame(unsigned char *to, apr_size_t n, int keep, apr_size_t *at)
{
    char digits[24];
    const apr_size_t len =
        (apr_size_t)apr_snprintf(digits, sizeof digits, "%" APR_SIZE_T_FMT ":", n);

    (void)keep;
    BRG_ASSERT(len <= SCGI_LENGTH_MOST);
    *at = SCGI_LENGTH_MOST - len;
    memcpy(to + *at, digits, len);
    to[SCGI_LENGTH_MOST + n] = ',';
    return len + n + 1;
}

static const script_format scgi_format = {.before = SCGI_LENGTH_MOST,
                                          .behind = 1,
                                          .first = SCGI_FIRST,
                                          .first_len = sizeof SCGI_FIRST,
                                          .is_own = scgi_is_own,
                                          .put = scgi_pair_put,
                                          .get = scgi_pair_get,
                                          .frame = scgi_frame};

static char *scgi_put(char *p, const char *s)
{
    const apr_size_t n = strlen(s) + 1;

    memcpy(p, s, n);
    return p + n;
}

static apr_size_t scgi_size(const apr_table_t *env)
{
    const apr_array_header_t *all = apr_table_elts(env);
    const apr_table_entry_t *e = (const void *)all->elts;
    apr_size_t sum = 0;

    for (int i = 0; i < all->nelts; i++)
        if (strcmp(e[i].key, "CONTENT_LENGTH") && strcmp(e[i].key, "SCGI"))
            sum += strlen(e[i].key) + strlen(e[i].val) + 2;
    return sum;
}

/* CONTENT_LENGTH is the first; all is a netstring. */
static void scgi_put_all(proxy_exchange *x)
{
    const apr_array_header_t *all = apr_table_elts(x->variables);
    const apr_table_entry_t *e = (const void *)all->elts;
    const char *length = apr_table_get(x->variables, "CONTENT_LENGTH"), *first;
    apr_size_t n;
    char *buf, *p;

    if (!length)
        length = "0";
    n = scgi_size(x->variables) + sizeof "CONTENT_LENGTH" + strlen(length) + 1 + sizeof "SCGI" + 2;
    first = apr_psprintf(x->pool, "%" APR_SIZE_T_FMT ":", n);
    buf = apr_palloc(x->pool, strlen(first) + n + 2);
    p = scgi_put(buf, first) - 1;
    p = scgi_put(scgi_put(p, "CONTENT_LENGTH"), length);
    p = scgi_put(scgi_put(p, "SCGI"), "1");
    for (int i = 0; i < all->nelts; i++)
        if (strcmp(e[i].key, "CONTENT_LENGTH") && strcmp(e[i].key, "SCGI"))
            p = scgi_put(scgi_put(p, e[i].key), e[i].val);
    BRG_ASSERT((apr_size_t)(p - buf) == strlen(first) + n);
    *p++ = ',';
    exchange_out(x, apr_bucket_pool_create(buf, (apr_size_t)(p - buf), x->pool, x->alloc));
}

static int scgi_begin(proxy_exchange *x)
{
    if (plain_begin_ahead(x))
        return OK;
    x->script = apr_pcalloc(x->pool, sizeof(script_head));
    scgi_put_all(x);
    return OK;
}

/* Its request was sent by a plan. */
static void scgi_resume(proxy_exchange *x)
{
    (void)exchange_variables(x); /* there is no body, of which it may refuse one */
    x->script = apr_pcalloc(x->pool, sizeof(script_head));
}

/* A head is taken as a whole, once it is known whether a body follows, and only if it is ordinary. */
static apr_status_t scgi_take_ahead(proxy_exchange *x, int ended)
{
    const char *data = upstream_in(x->cc);
    const apr_size_t all = upstream_in_size(x->cc), len = script_head_size(data, all);
    char room[SCRIPT_HEAD_ROOM];
    http_head head;

    if (len ? len == all && !ended : all <= SCRIPT_HEAD_MOST)
        return APR_EAGAIN;
    if (!len || !script_head_parse(&head, data, len, x->loop->wall, room))
        return plain_refused(x);
    x->h1.end = len == all ? H1_BODY_LENGTH : H1_BODY_CLOSE;
    head.content_length = 0;
    head.minor = head.major = 1;
    return plain_head_ahead(x, &head);
}

static apr_status_t scgi_end(proxy_exchange *x)
{
    apr_status_t rv = plain_is_awaited(x) ? scgi_take_ahead(x, 1) : APR_SUCCESS;

    if (rv == APR_EAGAIN)
        rv = plain_refused(x);
    return rv == APR_SUCCESS ? plain_end(x) : rv;
}

static apr_status_t scgi_take(proxy_exchange *x)
{
    apr_size_t n;
    int done;

    if (!upstream_in_size(x->cc))
        return APR_EAGAIN;
    if (x->answer.begun) {
        plain_take(x);
        return APR_SUCCESS;
    }
    if (x->sink->ahead)
        return scgi_take_ahead(x, 0);
    n = script_head_take(x, x->script, upstream_in(x->cc), upstream_in_size(x->cc), &done);
    if (x->answer.bad)
        return APR_EGENERAL;
    BRG_ASSERT(n <= upstream_in_size(x->cc));
    upstream_in_take(x->cc, (uint32_t)n);
    if (!done)
        return APR_EAGAIN;
    if (script_head_read(x, x->script) != APR_SUCCESS)
        return APR_EGENERAL;
    exchange_head_done(x);
    return APR_SUCCESS;
}

/* ---- uwsgi ---- */

#define UWSGI_HEADER 4

static unsigned char *uwsgi_put(unsigned char *p, const char *s, apr_size_t n)
{
    BRG_ASSERT(n <= UWSGI_MOST);
    *p++ = (unsigned char)n;
    *p++ = (unsigned char)(n >> 8);
    return mempcpy(p, s, n);
}

static const char *uwsgi_get(const char *p, const char **s, apr_size_t *n)
{
    *n = (apr_size_t)((unsigned char)p[0] | (unsigned char)p[1] << 8);
    *s = p + 2;
    return *s + *n;
}

static unsigned char *uwsgi_pair_put(unsigned char *p, const char *name, apr_size_t name_len,
                                     const char *value, apr_size_t value_len)
{
    return uwsgi_put(uwsgi_put(p, name, name_len), value, value_len);
}

static const char *uwsgi_pair_get(const char *p, script_pair *pair)
{
    p = uwsgi_get(p, &pair->name, &pair->name_len);
    return uwsgi_get(p, &pair->value, &pair->value_len);
}

static apr_size_t uwsgi_frame(unsigned char *to, apr_size_t n, int keep, apr_size_t *at)
{
    (void)keep;
    BRG_ASSERT(n <= UWSGI_MOST);
    *at = 0;
    to[0] = to[3] = 0;
    to[1] = (unsigned char)n;
    to[2] = (unsigned char)(n >> 8);
    return n + UWSGI_HEADER;
}

static const script_format uwsgi_format = {
    .before = UWSGI_HEADER, .put = uwsgi_pair_put, .get = uwsgi_pair_get, .frame = uwsgi_frame};

static int uwsgi_begin(proxy_exchange *x)
{
    const apr_array_header_t *all;
    const apr_table_entry_t *e;
    apr_size_t n = 0, at;
    unsigned char *buf, *p;

    if (plain_begin_ahead(x))
        return OK;
    all = apr_table_elts(x->variables);
    e = (const void *)all->elts;
    for (int i = 0; i < all->nelts; i++)
        n += strlen(e[i].key) + strlen(e[i].val) + 2 * 2;
    if (n > UWSGI_MOST) {
        exchange_log(
            APLOG_MARK, APLOG_ERR, 0, x,
            APLOGNO(10259) "can't send headers to %s:%u: packet size too large (%" APR_SIZE_T_FMT
                           ")",
            x->target->host, (unsigned)x->target->port, n);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    buf = apr_palloc(x->pool, n + UWSGI_HEADER);
    p = buf + UWSGI_HEADER;
    for (int i = 0; i < all->nelts; i++)
        p = uwsgi_pair_put(p, e[i].key, strlen(e[i].key), e[i].val, strlen(e[i].val));
    BRG_ASSERT(p == buf + n + UWSGI_HEADER);
    exchange_out(
        x, apr_bucket_pool_create((char *)buf, uwsgi_frame(buf, n, 0, &at), x->pool, x->alloc));
    return OK;
}

/* Its request was sent by a plan. */
static void uwsgi_resume(proxy_exchange *x)
{
    (void)exchange_variables(x);
}

/* The body's length is the one that the head tells, or it ends with the connection. */
static void uwsgi_framed(proxy_exchange *x, const http_head *head)
{
    const int method = x->is_head ? HTTP_METHOD_HEAD : HTTP_METHOD_GET;

    x->h1.end = H1_BODY_CLOSE;
    if (h1_response_body(head, method, 0) != H1_BODY_LENGTH)
        return;
    x->h1.end = H1_BODY_LENGTH;
    x->h1.left = head->content_length;
}

static int uwsgi_is_plain(const http_head *head)
{
    return head->code >= 200 && head->known[HTTP_F_TRANSFER_ENCODING] < 0;
}

static apr_status_t uwsgi_end(proxy_exchange *x)
{
    return plain_is_awaited(x) ? plain_refused(x) : plain_end(x);
}

/* Whether there is a body is known at its first byte. */
static apr_status_t uwsgi_head_ahead(proxy_exchange *x, http_head *head)
{
    if (!uwsgi_is_plain(head))
        return plain_refused(x);
    if (x->h1.end == H1_BODY_CLOSE && head->head_len == upstream_in_size(x->cc))
        return APR_EAGAIN;
    return plain_head_ahead(x, head);
}

static apr_status_t uwsgi_head(proxy_exchange *x, http_head *head)
{
    if (x->sink->ahead)
        return uwsgi_head_ahead(x, head);
    (void)x->sink->head(x, head);
    upstream_in_take(x->cc, head->head_len);
    if (!script_status_is_final(x))
        return APR_EGENERAL;
    exchange_head_done(x);
    return APR_SUCCESS;
}

static apr_status_t uwsgi_take(proxy_exchange *x)
{
    /* without a request_rec heads that could be read in two ways are refused */
    const h1_limits limits = {.line = 8192,
                              .field_size = SCRIPT_HEAD_MOST,
                              .unsafe = !x->sink->ahead,
                              .any_major = 1}; /* that of SERVER_PROTOCOL */
    http_head head;
    size_t scanned = 0;
    apr_status_t rv;

    if (!upstream_in_size(x->cc))
        return APR_EAGAIN;
    if (x->answer.begun) {
        plain_take(x);
        return APR_SUCCESS;
    }
    switch (
        h1_parse_response(&head, upstream_in(x->cc), upstream_in_size(x->cc), &scanned, &limits)) {
    case H1_MORE:
        return APR_EAGAIN;
    case H1_BAD:
        if (x->sink->ahead)
            return plain_refused(x);
        x->answer.bad = "malformed head";
        return APR_EGENERAL;
    default:
        break;
    }
    BRG_ASSERT(head.head_len <= upstream_in_size(x->cc));
    uwsgi_framed(x, &head);
    if ((rv = uwsgi_head(x, &head)) != APR_SUCCESS)
        return rv;
    x->answer.complete = x->h1.end == H1_BODY_LENGTH && !x->h1.left;
    return APR_SUCCESS;
}

static const char *scgi_path_field(const proxy_exchange *x)
{
    if (!x->conf.scgi_redirect)
        return NULL;
    return x->conf.scgi_redirect_field ? x->conf.scgi_redirect_field : "Location";
}

static const char *scgi_file_field(const proxy_exchange *x)
{
    return x->conf.scgi_sendfile;
}

const proxy_codec proxy_scgi_codec = {.name = "SCGI",
                                      .module = &proxy_scgi_module,
                                      .broken = HTTP_INTERNAL_SERVER_ERROR,
                                      .path_field = scgi_path_field,
                                      .file_field = scgi_file_field,
                                      .script = 1,
                                      .format = &scgi_format,
                                      .whole = 1,
                                      .close = 1,
                                      .begin = scgi_begin,
                                      .resume = scgi_resume,
                                      .body = plain_body,
                                      .take = scgi_take,
                                      .end = scgi_end};

const proxy_codec proxy_uwsgi_codec = {.name = "UWSGI",
                                       .module = &proxy_uwsgi_module,
                                       .broken = HTTP_INTERNAL_SERVER_ERROR,
                                       .script = 1,
                                       .path_info = 1,
                                       .http_head = 1,
                                       .format = &uwsgi_format,
                                       .whole = 1,
                                       .close = 1,
                                       .begin = uwsgi_begin,
                                       .resume = uwsgi_resume,
                                       .body = plain_body,
                                       .take = uwsgi_take,
                                       .end = uwsgi_end};
