/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts from a request's head: whether a body follows, its query arguments, the name of its server
 * as a URL writes it.
 */
#include <string.h>
#include "httpd.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "util_script.h"
#include "brigade/assert.h"

AP_DECLARE(int) ap_request_has_body(request_rec *r)
{
    const char *length;
    apr_off_t bytes;

    BRG_ASSERT(r->headers_in);
    if (r->header_only)
        return 0;
    if (r->kept_body || apr_table_get(r->headers_in, "Transfer-Encoding"))
        return 1;
    length = apr_table_get(r->headers_in, "Content-Length");
    return length && ap_parse_strict_length(&bytes, length) && bytes > 0;
}

AP_DECLARE(char *)
ap_construct_server(apr_pool_t *p, const char *hostname, apr_port_t port, const request_rec *r)
{
    if (ap_is_default_port(port, r))
        return apr_pstrdup(p, hostname);
    return apr_psprintf(p, "%s:%u", hostname, port);
}

/* A name without "=" has the value 1; a name that comes again replaces the value before. */
AP_DECLARE(void) ap_args_to_table(request_rec *r, apr_table_t **table)
{
    apr_table_t *args = apr_table_make(r->pool, 10);
    char *at, *next, *value;

    *table = args;
    if (!r->args)
        return;
    for (at = apr_pstrdup(r->pool, r->args); at; at = next) {
        next = strchr(at, '&');
        if (next)
            *next++ = '\0';
        if (!*at)
            continue;
        value = strchr(at, '=');
        if (value) {
            *value++ = '\0';
            ap_unescape_url(value);
        }
        ap_unescape_url(at);
        apr_table_set(args, at, value ? value : "1");
    }
}
