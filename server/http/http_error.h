/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_ERROR_H
#define BRIGADE_HTTP_HTTP_ERROR_H

/**
 * @file http_error.h
 * Error pages and other parts of a response with a status, and the http module.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "util_filter.h"
#include "brigade/pages.h"

/** Stands in core_dir_config.response_code_exprs for "ErrorDocument NNN default": the built-in text
 * again. */
extern ap_expr_info_t status_default_document;

/** Value of an Allow field for r, by its allowed_methods, TRACE as TraceEnable says. In r->pool. */
char *http_make_allow(request_rec *r);

/** The built-in sentence(s) of an error page for @a status. @a location may be NULL. In r->pool or
 * constant. */
const char *http_canned_text(int status, request_rec *r, const char *location);

/** @name Error pages of BuiltinPages modern and negotiated: http_page.c
 * Threads: r's.
 * @{ */
/** 1 if the answer to r is JSON. Says in the response, and to the response cache, that it depends on Accept where it does. */
int http_page_negotiate(request_rec *r, int status, brg_pages pages);
/**
 * The page as a whole, in r->pool. @param title "404 Not Found"
 * @param recursive_error  an ErrorDocument failed
 * @param location  where a redirection leads; NULL: nowhere
 * @param json      by http_page_negotiate()
 */
const char *http_page(request_rec *r, int status, const char *title, int recursive_error,
                      const char *location, int json);
/** 1 if nothing of this one request is in the page. */
int http_page_is_for_all(const request_rec *r, int status);
/** @} */

/** Handler hook: changes the protocol when an Upgrade field asks for it, else offers the available
 * ones. */
int http_upgrade_handler(request_rec *r);

/**
 * Put Upgrade into the response to @a r if Protocols has others that its client may ask for: on the first request of a
 * connection, in any version of HTTP and also behind an internal redirect, as Apache does.
 */
void http_upgrade_announce(request_rec *r);

/** Find out for all servers the announced protocols: brg_core_conf.upgrade. Threads: main, while the configuration is read. */
void http_upgrade_compose(apr_pool_t *p, server_rec *s);

/** The protocols announced in the first response of the connection that @a r came on; NULL: none. Threads: r's. */
const char *http_upgrade_of(const request_rec *r);

extern AP_MODULE_DECLARE_DATA module http_module;

#endif
