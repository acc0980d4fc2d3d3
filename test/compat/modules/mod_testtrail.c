/* SPDX-License-Identifier: Apache-2.0 */
/* A handler whose responses have trailers and interim responses, as the query says: words among "early", "late" (set before the
 * body, or behind it), "length", "flush", "204", "none" (no body), "bad" (cannot be sent), "frame" (belongs to framing),
 * "hint" (103). */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include <string.h>

static int wants(const request_rec *r, const char *word)
{
    return r->args && strstr(r->args, word) != NULL;
}

static void send_hint(request_rec *r)
{
    int status = r->status;

    apr_table_setn(r->headers_out, "Link", "</a.css>; rel=preload");
    r->status = HTTP_EARLY_HINTS;
    ap_send_interim_response(r, 1);
    r->status = status;
}

static int trail_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "testtrail"))
        return DECLINED;
    if (wants(r, "hint"))
        send_hint(r);
    ap_set_content_type(r, "text/plain");
    if (wants(r, "early"))
        apr_table_setn(r->trailers_out, "X-Early", "one");
    if (wants(r, "bad"))
        apr_table_setn(r->trailers_out, "X-Bad", "a\nb: c");
    if (wants(r, "frame"))
        apr_table_setn(r->trailers_out, "Content-Length", "9");
    if (wants(r, "length"))
        ap_set_content_length(r, 5);
    if (wants(r, "204"))
        r->status = HTTP_NO_CONTENT;
    if (!wants(r, "none"))
        ap_rputs("hello", r);
    if (wants(r, "flush"))
        ap_rflush(r);
    if (wants(r, "late"))
        apr_table_setn(r->trailers_out, "X-Late", "two");
    return OK;
}

static void trail_hooks(apr_pool_t *p)
{
    ap_hook_handler(trail_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(testtrail) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, trail_hooks, 0};
