/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_REQUEST_H
#define BRIGADE_TEST_REQUEST_H

/**
 * @file test_request.h
 * A request without a server around it, with fixed contents, for functions that only look at its
 * fields.
 */
#include <apr_network_io.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_config.h>

#include "request_context.h"

static request_rec *test_request(apr_pool_t *p)
{
    request_rec *r = apr_pcalloc(p, sizeof(*r));
    conn_rec *c = apr_pcalloc(p, sizeof(*c));

    r->pool = c->pool = p;
    r->connection = c;
    r->server = c->base_server = apr_pcalloc(p, sizeof(*r->server));
    r->server->server_admin = (char *)"admin@example.com";
    r->headers_in = apr_table_make(p, 4);
    r->headers_out = apr_table_make(p, 4);
    r->err_headers_out = apr_table_make(p, 4);
    r->subprocess_env = apr_table_make(p, 4);
    r->notes = apr_table_make(p, 4);
    c->notes = apr_table_make(p, 4);
    c->bucket_alloc = apr_bucket_alloc_create(p);
    c->log_id = "conn-id";
    c->client_ip = (char *)"10.1.2.3";
    apr_sockaddr_info_get(&c->client_addr, "10.1.2.3", APR_INET, 4711, 0, p);
    r->useragent_ip = c->client_ip;
    r->useragent_addr = c->client_addr;
    r->log_id = "request-id";
    r->method = "GET";
    r->protocol = (char *)"HTTP/1.1";
    r->the_request = (char *)"GET /dir/page.html?x=1 HTTP/1.1";
    r->uri = (char *)"/dir/page.html";
    r->args = (char *)"x=1";
    r->filename = (char *)"/no/such/dir/page.html";
    r->path_info = (char *)"/info";
    r->status = HTTP_OK;
    r->request_time = apr_time_from_sec(1715000000); /* Mon May 6 12:53:20 2024 UTC */
    apr_table_setn(r->headers_in, "Host", "www.example.com");
    apr_table_setn(r->headers_in, "User-Agent", "test/1.0");
    return r;
}

/* The same with the core's part of its configuration, as modules and caches find it. */
static inline request_rec *test_request_kept(apr_pool_t *p, request_rec *prev, request_rec *main)
{
    request_rec *r = test_request(p);

    r->prev = prev;
    r->main = main;
    r->request_config = ap_create_request_config(p);
    request_conf_create(r);
    return r;
}

#endif
