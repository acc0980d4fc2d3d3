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

static apr_status_t plain_end(proxy_exchange *x)
{
    if (!x->answer.begun)
        return APR_EOF;
    x->answer.complete = 1;
    x->keep = 0;
    return APR_SUCCESS;
}

static void plain_take(proxy_exchange *x)
{
    BRG_ASSERT(x->answer.begun && x->cc);
    APR_BRIGADE_INSERT_TAIL(x->in, upstream_in_bucket(x->cc, upstream_in_size(x->cc), x->alloc));
}

/* ---- SCGI ---- */

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
static int scgi_begin(proxy_exchange *x)
{
    const apr_array_header_t *all = apr_table_elts(x->variables);
    const apr_table_entry_t *e = (const void *)all->elts;
    const char *length = apr_table_get(x->variables, "CONTENT_LENGTH"), *first;
    apr_size_t n;
    char *buf, *p;

    x->script = apr_pcalloc(x->pool, sizeof(script_head));
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
    return OK;
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

static char *uwsgi_put(char *p, const char *s)
{
    const apr_size_t n = strlen(s);

    BRG_ASSERT(n <= UWSGI_MOST);
    *p++ = (char)(n & 0xff);
    *p++ = (char)(n >> 8);
    memcpy(p, s, n);
    return p + n;
}

static int uwsgi_begin(proxy_exchange *x)
{
    const apr_array_header_t *all = apr_table_elts(x->variables);
    const apr_table_entry_t *e = (const void *)all->elts;
    apr_size_t n = 0;
    char *buf, *p;

    for (int i = 0; i < all->nelts; i++)
        n += strlen(e[i].key) + strlen(e[i].val) + 4;
    if (n > UWSGI_MOST) {
        exchange_log(
            APLOG_MARK, APLOG_ERR, 0, x,
            APLOGNO(10259) "can't send headers to %s:%u: packet size too large (%" APR_SIZE_T_FMT
                           ")",
            x->target->host, (unsigned)x->target->port, n);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    p = buf = apr_palloc(x->pool, n + 4);
    *p++ = 0;
    *p++ = (char)(n & 0xff);
    *p++ = (char)(n >> 8);
    *p++ = 0;
    for (int i = 0; i < all->nelts; i++)
        p = uwsgi_put(uwsgi_put(p, e[i].key), e[i].val);
    BRG_ASSERT(p == buf + n + 4);
    exchange_out(x, apr_bucket_pool_create(buf, n + 4, x->pool, x->alloc));
    return OK;
}

static apr_status_t uwsgi_take(proxy_exchange *x)
{
    static const h1_limits limits = {.line = 8192, .field_size = SCRIPT_HEAD_MOST, .unsafe = 1};
    http_head head;
    size_t scanned = 0;

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
        x->answer.bad = "malformed head";
        return APR_EGENERAL;
    default:
        break;
    }
    BRG_ASSERT(head.head_len <= upstream_in_size(x->cc));
    (void)x->sink->head(x, &head);
    upstream_in_take(x->cc, head.head_len);
    if (!script_status_is_final(x))
        return APR_EGENERAL;
    exchange_head_done(x);
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
                                      .broken = HTTP_BAD_GATEWAY,
                                      .path_field = scgi_path_field,
                                      .file_field = scgi_file_field,
                                      .script = 1,
                                      .whole = 1,
                                      .close = 1,
                                      .begin = scgi_begin,
                                      .body = plain_body,
                                      .take = scgi_take,
                                      .end = plain_end};

const proxy_codec proxy_uwsgi_codec = {.name = "UWSGI",
                                       .module = &proxy_uwsgi_module,
                                       .broken = HTTP_BAD_GATEWAY,
                                       .script = 1,
                                       .path_info = 1,
                                       .whole = 1,
                                       .close = 1,
                                       .begin = uwsgi_begin,
                                       .body = plain_body,
                                       .take = uwsgi_take,
                                       .end = plain_end};
