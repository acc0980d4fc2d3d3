/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a response about its body: type with AddDefaultCharset, length, date of last change,
 * ranges.
 */
#include "core_settings.h"
#include "http_text.h"
#include "request_context.h"
#include "http_protocol.h"
#include "http_response.h"
#include "http_request.h"
#include "apr_date.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

#define LENGTH_ROOM 24 /* of digits and a NUL */

/* 1 if AddDefaultCharset completes the type: text/plain and text/html. */
static int content_type_takes_charset(const char *type, size_t len)
{
    BRG_ASSERT(type != NULL);
    return (len == 10 && strncasecmp(type, "text/plain", 10) == 0) ||
           (len == 9 && strncasecmp(type, "text/html", 9) == 0);
}

int http_type_wants_charset(const char *type)
{
    const size_t len = strcspn(type, "; \t");

    return content_type_takes_charset(type, len) && !ap_strcasestr(type + len, "charset=");
}

const char *http_default_charset(const request_rec *r)
{
    const core_dir_config *conf = core_dir_conf_of(r);

    return conf->add_default_charset == ADD_DEFAULT_CHARSET_ON ? conf->add_default_charset_name
                                                               : NULL;
}

AP_DECLARE(const char *) ap_make_content_type(request_rec *r, const char *type)
{
    const char *charset;

    if (!type || !*type)
        return NULL;
    charset = http_default_charset(r);
    if (!charset || core_request_conf_of(r)->suppress_charset || !http_type_wants_charset(type))
        return type;
    return apr_pstrcat(r->pool, type, "; charset=", charset, NULL);
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

/* 1 if the response has the field once, with this text. */
static int content_length_stands(const request_rec *r, const char *text)
{
    const apr_array_header_t *all = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)all->elts;
    int found = 0;

    for (int i = 0; i < all->nelts; i++)
        if (e[i].val == text)
            found = 1;
        else if ((e[i].key[0] | 0x20) == 'c' && !strcasecmp(e[i].key, "Content-Length"))
            return 0;
    return found;
}

/* Handler and filter, as a rule, say the same. */
AP_DECLARE(void) ap_set_content_length(request_rec *r, apr_off_t length)
{
    const char **kept = request_length_text(r);
    char *text;

    if (r->clength == length && kept && *kept && content_length_stands(r, *kept))
        return;
    text = apr_palloc(r->pool, LENGTH_ROOM);
    text[http_put_number(text, (apr_uint64_t)length)] = '\0';
    r->clength = length;
    apr_table_setn(r->headers_out, "Content-Length", text);
    if (kept)
        *kept = text;
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
