/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_PRIVATE_H
#define BRIGADE_HTTP_PRIVATE_H

/**
 * @file http_private.h
 * What the protocol files (h1_*.c, http_*.c) share among themselves and with the core's
 * configuration.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "util_filter.h"
#include "h1_parse.h"
#include "request_private.h"

/** Stands in core_dir_config.response_code_exprs for "ErrorDocument NNN default": the built-in text
 * again. */
extern ap_expr_info_t status_default_document;

/** Value of an Allow field for r, by its allowed_methods, TRACE as TraceEnable says. In r->pool. */
char *http_make_allow(request_rec *r);

/** The built-in sentence(s) of an error page for @a status. @a location may be NULL. In r->pool or
 * constant. */
const char *http_canned_text(int status, request_rec *r, const char *location);

/**
 * Fill r from a head's request line: method, target, protocol. r->the_request is set already.
 * @return OK or the status to refuse with
 */
int h1_request_take_line(request_rec *r, const h1_head *head);

/** 1 if @a r has no body, or all of it was read: what comes next is the next request. */
int h1_body_is_over(request_rec *r);

/**
 * Read the next request of a connection through its input filters.
 * @return the request (r->status as h1_request_create() sets it), or NULL: nothing more comes
 * Threads: a worker. Blocking: yes.
 */
request_rec *h1_read_request(conn_rec *c);

/**
 * Parse a lone field line without its line end.
 * @return NULL, or why it is refused
 */
const char *h1_parse_field(h1_field *field, const char *line, size_t len, const h1_limits *limits);

/** process_connection hook: drive c through its filters until it ends. Threads: a worker. Blocking:
 * yes. */
int http_process_connection(conn_rec *c);

/** Handler hook: changes the protocol when an Upgrade field asks for it, else offers what there is.
 */
int http_upgrade_handler(request_rec *r);

extern AP_MODULE_DECLARE_DATA module http_module;

/** The core's settings that the protocol asks for. */
static inline const core_server_config *http_server_conf(const server_rec *s)
{
    return (const core_server_config *)ap_get_core_module_config(s->module_config);
}

static inline const core_dir_config *http_dir_conf(const request_rec *r)
{
    return (const core_dir_config *)ap_get_core_module_config(r->per_dir_config);
}

static inline core_request_config *http_request_conf(const request_rec *r)
{
    return (core_request_config *)ap_get_core_module_config(r->request_config);
}

#endif
