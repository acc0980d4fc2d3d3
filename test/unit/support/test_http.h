/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_HTTP_H
#define BRIGADE_TEST_HTTP_H

/**
 * @file test_http.h
 * Requests made from text on a loopback connection, and what the client gets to see of the answer.
 * Include after test_server.h.
 */
#include "core_settings.h"
#include "h1_request.h"
#include "http_error.h"
#include "request_parts.h"
#include "http_protocol.h"
#include "request_parts.h"
#include <poll.h>

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define TEST_HTTP_NOW apr_time_from_sec(784111777)
#define TEST_HTTP_DATE \
    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: Brigade/" BRIGADE_VERSION "\r\n"

/* A request as the connection driver makes it, at a fixed time. */
static inline request_rec *test_http_request(brg_conn *bc, const char *text)
{
    static http_head head;
    h1_limits limits;
    size_t scanned = 0;
    request_rec *r;

    h1_limits_of(bc->c->base_server, &limits);
    assert_int_not_equal(h1_parse(&head, text, strlen(text), &scanned, &limits), H1_MORE);
    bc->c->keepalive = AP_CONN_UNKNOWN;
    r = request_create(bc->c, &head);
    r->request_time = TEST_HTTP_NOW;
    return r;
}

/* All that the client can read now. */
static inline const char *test_http_seen(brg_conn *bc, int client)
{
    static char seen[65536];
    apr_bucket_brigade *bb = apr_brigade_create(bc->c->pool, bc->c->bucket_alloc);
    struct pollfd p = {.fd = client, .events = POLLIN};
    size_t n = 0;
    ssize_t got;

    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(bc->c->bucket_alloc));
    assert_int_equal(ap_pass_brigade(bc->c->output_filters, bb), APR_SUCCESS);
    apr_brigade_destroy(bb);
    /* What was sent over loopback can be read at once. */
    while (poll(&p, 1, 0) == 1 && (got = recv(client, seen + n, sizeof seen - 1 - n, 0)) > 0)
        n += (size_t)got;
    seen[n] = '\0';
    return seen;
}

/* Send text as the body, with or without the EOS. */
static inline void test_http_write(request_rec *r, const char *text, int eos)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    if (*text)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(text, strlen(text), alloc));
    if (eos)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(r->output_filters, bb);
    apr_brigade_destroy(bb);
}

#endif
