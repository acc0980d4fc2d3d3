/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_EXCHANGE_H
#define BRIGADE_TEST_EXCHANGE_H

/**
 * @file test_exchange.h
 * A codec without a socket: bytes of a backend are given in pieces, each in memory of just its size, and what becomes of them is a
 * text. For targets of fuzzing: what must hold and does not ends the process.
 */
#include "exchange_private.h"
#include "proxy_private.h"
#include "http_core.h"
#include "http_log.h"
#include "test_config.h"
#include "test_request.h"
#include "apr_escape.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

static void exchange_check(int right)
{
    if (!right)
        abort();
}

/** The server that requests are of: once. */
static void exchange_server(void)
{
    static const char conf[] = "ServerName www.example.com\nLogLevel emerg\n";

    if (test_process)
        return;
    exchange_check(test_config_setup(NULL) == 0 && test_config_read(conf));
}

static request_rec *exchange_request(apr_pool_t *p)
{
    request_rec *r = test_request(p);

    r->server = r->connection->base_server = ap_server_conf;
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->connection->local_addr = r->connection->client_addr;
    r->connection->local_ip = r->connection->client_ip;
    r->connection->conn_config = ap_create_conn_config(p);
    r->request_config = ap_create_request_config(p);
    ap_set_core_module_config(r->request_config, apr_pcalloc(p, sizeof(core_request_config)));
    r->trailers_in = apr_table_make(p, 1);
    r->trailers_out = apr_table_make(p, 1);
    r->proto_num = HTTP_VERSION(1, 0); /* no interim answers */
    r->method_number = M_POST;         /* no "not modified", which would look at files */
    r->method = "POST";
    r->path_info = NULL; /* no sub-request */
    r->unparsed_uri = r->uri;
    r->filename = (char *)"proxy:x://backend:80/dir/page.html";
    r->proxyreq = PROXYREQ_REVERSE;
    return r;
}

static proxy_target *exchange_target(apr_pool_t *p, proxy_scheme scheme, const char *name)
{
    proxy_target *t = apr_pcalloc(p, sizeof *t);
    proxy_worker *w = apr_pcalloc(p, sizeof *w);

    w->name = "x://backend:80";
    w->prefix = "";
    w->params.route = w->params.redirect = "";
    w->server = ap_server_conf;
    w->state = apr_pcalloc(p, sizeof *w->state);
    t->worker = w;
    t->scheme = w->scheme = scheme;
    t->scheme_name = w->scheme_name = name;
    t->host = w->host = t->authority = "backend";
    t->port = w->port = 80;
    t->path = "/dir/page.html?x=1";
    t->url = "x://backend:80/dir/page.html?x=1";
    t->chosen = 1;
    return t;
}

/**
 * A request that was sent over @a cc, whose answer begins.
 * @param body  bytes of the request's body that follow; 0: it has none
 */
static proxy_exchange *exchange_make_on(apr_pool_t *p, const proxy_codec *codec,
                                        proxy_scheme scheme, const char *name, apr_off_t body,
                                        upstream_conn *cc)
{
    proxy_exchange *x = apr_pcalloc(p, sizeof *x);
    request_rec *r = exchange_request(p);
    const upstream_settings settings = {
        .server = ap_server_conf, .host = "127.0.0.1", .port = 80, .reuse = 1};

    exchange_of_request(x, r);
    x->codec = codec;
    x->target = exchange_target(p, scheme, name);
    x->origin = upstream_origin_once(p, &settings);
    x->cc = cc;
    x->body.exists = body != 0;
    x->body.over = 1; /* it is not read from a client */
    x->body.read = body;
    x->state = EXCHANGE_TALK;
    exchange_check(!codec->script || exchange_variables(x) == OK);
    exchange_check(codec->begin(x) == OK);
    return x;
}

static inline proxy_exchange *exchange_make(apr_pool_t *p, const proxy_codec *codec,
                                            proxy_scheme scheme, const char *name, apr_off_t body)
{
    return exchange_make_on(p, codec, scheme, name, body, apr_pcalloc(p, sizeof(upstream_conn)));
}

static inline void exchange_free(proxy_exchange *x)
{
    if (x->cc->session)
        x->cc->session_end(x->cc->session);
    free(x->cc->block);
    x->cc->block = NULL;
    apr_brigade_destroy(x->in);
    apr_brigade_destroy(x->out);
}

/* Behind what was not taken. */
static void exchange_append(upstream_conn *cc, const uint8_t *data, size_t len)
{
    const size_t held = upstream_in_size(cc);
    char *exact = malloc(held + len);

    exchange_check(exact != NULL);
    if (held)
        memcpy(exact, upstream_in(cc), held);
    memcpy(exact + held, data, len);
    free(cc->block);
    cc->block = exact;
    cc->from = 0;
    cc->to = cc->cap = (uint32_t)(held + len);
}

/** Body of the answer so far. */
typedef struct exchange_body_text {
    char *text;
    size_t len;
} exchange_body_text;

static inline void exchange_collect(proxy_exchange *x, exchange_body_text *to)
{
    apr_off_t n = 0;
    apr_size_t len;

    exchange_check(apr_brigade_length(x->in, 1, &n) == APR_SUCCESS);
    exchange_check(!n || x->answer.begun);
    to->text = realloc(to->text, to->len + (size_t)n + 1);
    exchange_check(to->text != NULL);
    len = (apr_size_t)n;
    exchange_check(apr_brigade_flatten(x->in, to->text + to->len, &len) == APR_SUCCESS &&
                   len == (apr_size_t)n);
    to->len += len;
    apr_brigade_cleanup(x->in);
}

/** Take these bytes. @return 1: more may be given */
static inline int exchange_feed(proxy_exchange *x, const uint8_t *data, size_t len,
                                exchange_body_text *to)
{
    apr_status_t rv;

    exchange_append(x->cc, data, len);
    do {
        const uint32_t before = upstream_in_size(x->cc);
        const apr_off_t out = x->out_n;

        rv = x->codec->take(x);
        exchange_check(rv == APR_SUCCESS || rv == APR_EAGAIN || x->answer.bad);
        exchange_check(rv != APR_SUCCESS || upstream_in_size(x->cc) < before || x->out_n > out);
    } while (rv == APR_SUCCESS && !x->answer.complete && !x->answer.bad && upstream_in_size(x->cc));
    if (x->answer.bad)
        return 0;
    exchange_collect(x, to);
    return !x->answer.complete;
}

/* What the answer has become, as a text. */
typedef struct exchange_outcome {
    apr_pool_t *pool;
    const char *text;
} exchange_outcome;

static inline int exchange_line(void *data, const char *name, const char *value)
{
    exchange_outcome *out = data;

    exchange_check(!strchr(name, '\n') && !strchr(value, '\n'));
    out->text = apr_pstrcat(out->pool, out->text, name, ": ", value, "\n", NULL);
    return 1;
}

/** Status, fields and body, and if it ended; or why it is none. Frees @a body. */
static inline const char *exchange_text(proxy_exchange *x, exchange_body_text *body)
{
    request_rec *r = x->r;
    exchange_outcome out = {r->pool, ""};

    if (!x->answer.bad && x->answer.begun) {
        out.text =
            apr_psprintf(r->pool, "%d %s\n", r->status, r->status_line ? r->status_line : "");
        apr_table_do(exchange_line, &out, r->headers_out, NULL);
        apr_table_do(exchange_line, &out, r->trailers_out, NULL);
        out.text = apr_pstrcat(r->pool, out.text, x->answer.complete ? "whole\n" : "cut\n",
                               apr_pescape_hex(r->pool, body->text, body->len, 0), NULL);
    } else if (x->answer.bad) {
        out.text = x->answer.bad;
    }
    free(body->text);
    return out.text;
}

/** Of an answer in pieces of @a step bytes: exchange_text(). */
static inline const char *exchange_run(proxy_exchange *x, const uint8_t *data, size_t size,
                                       size_t step)
{
    exchange_body_text body = {0};
    int more = 1;

    for (size_t at = 0; more && at < size; at += step)
        more = exchange_feed(x, data + at, size - at < step ? size - at : step, &body);
    return exchange_text(x, &body);
}

#endif
