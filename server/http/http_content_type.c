/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a response says of its body: type with AddDefaultCharset, length, date of last change,
 * ranges.
 */
#include "core_settings.h"
#include "http_text.h"
#include "http_protocol.h"
#include "http_response.h"
#include "http_request.h"
#include "apr_date.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

/* 1 if the type belongs to those that AddDefaultCharset completes: text/plain and text/html. */
static int content_type_takes_charset(const char *type, size_t len)
{
    BRG_ASSERT(type != NULL);
    return (len == 10 && strncasecmp(type, "text/plain", 10) == 0) ||
           (len == 9 && strncasecmp(type, "text/html", 9) == 0);
}

AP_DECLARE(const char *) ap_make_content_type(request_rec *r, const char *type)
{
    const core_dir_config *conf;
    size_t len;

    if (!type || !*type)
        return NULL;
    conf = core_dir_conf_of(r);
    if (conf->add_default_charset != ADD_DEFAULT_CHARSET_ON ||
        core_request_conf_of(r)->suppress_charset)
        return type;
    len = strcspn(type, "; \t");
    if (!content_type_takes_charset(type, len) || ap_strcasestr(type + len, "charset="))
        return type;
    return apr_pstrcat(r->pool, type, "; charset=", conf->add_default_charset_name, NULL);
}

AP_DECLARE(void) ap_setup_make_content_type(apr_pool_t *pool)
{
    /* The two types are compared directly; there is nothing to compile. */
}

AP_DECLARE(void) ap_set_content_type_ex(request_rec *r, const char *ct, int trusted)
{
    if (!ct) {
        r->content_type = NULL;
        AP_REQUEST_SET_BNOTE(r, AP_REQUEST_TRUSTED_CT, 0);
        return;
    }
    AP_REQUEST_SET_BNOTE(r, AP_REQUEST_TRUSTED_CT, trusted ? AP_REQUEST_TRUSTED_CT : 0);
    if (r->content_type && strcmp(r->content_type, ct) == 0)
        return;
    r->content_type = ct;
}

AP_DECLARE(void) ap_set_content_type(request_rec *r, const char *ct)
{
    ap_set_content_type_ex(r, ct, 0);
}

AP_DECLARE(void) ap_set_content_length(request_rec *r, apr_off_t length)
{
    char text[24];
    const apr_size_t n = http_put_number(text, (apr_uint64_t)length);

    text[n] = '\0';
    r->clength = length;
    if (!http_field_says(r->headers_out, "Content-Length",
                         text)) /* handler and filter, as a rule, say the same */
        apr_table_setn(r->headers_out, "Content-Length", apr_pstrmemdup(r->pool, text, n));
}

AP_DECLARE(apr_time_t) ap_rationalize_mtime(request_rec *r, apr_time_t mtime)
{
    apr_time_t now = r->request_time;

    if (mtime == APR_DATE_BAD)
        return now;
    return mtime > now ? now : mtime;
}

AP_DECLARE(void) ap_update_mtime(request_rec *r, apr_time_t dependency_mtime)
{
    if (r->mtime < dependency_mtime)
        r->mtime = dependency_mtime;
}

AP_DECLARE(void) ap_set_last_modified(request_rec *r)
{
    char *text;

    if (r->assbackwards)
        return;
    text = apr_palloc(r->pool, APR_RFC822_DATE_LEN);
    http_put_date(text, ap_rationalize_mtime(r, r->mtime));
    apr_table_setn(r->headers_out, "Last-Modified", text);
}
