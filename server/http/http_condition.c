/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditional requests. The single tests answer as Apache's do; their order is that of RFC 9110
 * section 13.2.2, which differs from Apache 2.4 in that an entity tag outweighs a date:
 * If-Unmodified-Since is not looked at beside If-Match, nor If-Modified-Since beside If-None-Match.
 *
 * Strong and weak: an entity tag is weak by its W/ mark; a date is weak while it is less than a
 * minute older than the response, since the resource may have changed twice within its second.
 */
#include "http_condition.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_date.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include <string.h>

APLOG_USE_MODULE(http);

/* Of filters that compress; NULL: there are none. Main thread; read only afterwards. */
static APR_OPTIONAL_FN_TYPE(brg_coded_tag) * condition_coded_tag;
static APR_OPTIONAL_FN_TYPE(brg_coded_not_modified) * condition_not_modified;

void http_condition_retrieve(void)
{
    condition_coded_tag = APR_RETRIEVE_OPTIONAL_FN(brg_coded_tag);
    condition_not_modified = APR_RETRIEVE_OPTIONAL_FN(brg_coded_not_modified);
}

/* A coded form has a tag of its own, and that is the one that clients know. */
const char *http_condition_tag(request_rec *r, const apr_table_t *headers)
{
    const char *etag = apr_table_get(headers, "ETag");

    return etag && condition_coded_tag && headers == r->headers_out ? condition_coded_tag(r, etag)
                                                                    : etag;
}

#define CONDITION_DATE_SETTLES apr_time_from_sec(60)

static apr_time_t condition_date(apr_table_t *headers, const char *name)
{
    const char *value = apr_table_get(headers, name);

    return value ? apr_date_parse_http(value) : APR_DATE_BAD;
}

/* When the representation changed, to the second as clients see it; unknown counts as just now. */
static apr_time_t condition_mtime(request_rec *r, apr_table_t *headers)
{
    const apr_time_t mtime = condition_date(headers, "Last-Modified");

    return apr_time_from_sec(apr_time_sec(mtime != APR_DATE_BAD ? mtime : r->request_time));
}

static apr_time_t condition_now(request_rec *r, apr_table_t *headers)
{
    const apr_time_t date = condition_date(headers, "Date");

    BRG_ASSERT(r->request_time >= 0);
    return apr_time_from_sec(apr_time_sec(date != APR_DATE_BAD ? date : r->request_time));
}

/* How firmly a date of last change can be relied on now. */
static ap_condition_e condition_date_strength(request_rec *r, apr_time_t mtime, apr_time_t now)
{
    if (now >= mtime + CONDITION_DATE_SETTLES)
        return AP_CONDITION_STRONG;
    return apr_table_get(r->headers_in, "Range") ? AP_CONDITION_NOMATCH : AP_CONDITION_WEAK;
}

AP_DECLARE(ap_condition_e) ap_condition_if_match(request_rec *r, apr_table_t *headers)
{
    const char *wanted = apr_table_get(r->headers_in, "If-Match"), *etag;

    if (!wanted)
        return AP_CONDITION_NONE;
    etag = http_condition_tag(r, headers);
    if (wanted[0] == '*' || (etag && ap_find_etag_strong(r->pool, wanted, etag)))
        return AP_CONDITION_STRONG;
    return AP_CONDITION_NOMATCH;
}

AP_DECLARE(ap_condition_e) ap_condition_if_unmodified_since(request_rec *r, apr_table_t *headers)
{
    const char *value = apr_table_get(r->headers_in, "If-Unmodified-Since");
    apr_time_t since, mtime;

    if (!value)
        return AP_CONDITION_NONE;
    since = apr_date_parse_http(value);
    mtime = condition_mtime(r, headers);
    if (since == APR_DATE_BAD || mtime <= since)
        return AP_CONDITION_NOMATCH;
    return condition_date_strength(r, mtime, condition_now(r, headers));
}

AP_DECLARE(ap_condition_e) ap_condition_if_none_match(request_rec *r, apr_table_t *headers)
{
    const char *wanted = apr_table_get(r->headers_in, "If-None-Match"), *etag;

    if (!wanted)
        return AP_CONDITION_NONE;
    if (wanted[0] == '*')
        return AP_CONDITION_STRONG;
    etag = http_condition_tag(r, headers);
    if (!etag)
        return AP_CONDITION_NOMATCH;
    /* Only a plain GET or HEAD may be told of a match by weak comparison. */
    if (r->method_number == M_GET && !apr_table_get(r->headers_in, "Range"))
        return ap_find_etag_weak(r->pool, wanted, etag) ? AP_CONDITION_WEAK : AP_CONDITION_NOMATCH;
    return ap_find_etag_strong(r->pool, wanted, etag) ? AP_CONDITION_STRONG : AP_CONDITION_NOMATCH;
}

AP_DECLARE(ap_condition_e) ap_condition_if_modified_since(request_rec *r, apr_table_t *headers)
{
    const char *value = apr_table_get(r->headers_in, "If-Modified-Since");
    apr_time_t since, mtime, now;

    if (!value)
        return AP_CONDITION_NONE;
    since = apr_date_parse_http(value);
    mtime = condition_mtime(r, headers);
    now = condition_now(r, headers);
    /* A date of the future is a client's broken clock. */
    if (since == APR_DATE_BAD || since < mtime || since > now)
        return AP_CONDITION_NOMATCH;
    return condition_date_strength(r, mtime, now);
}

AP_DECLARE(ap_condition_e) ap_condition_if_range(request_rec *r, apr_table_t *headers)
{
    const char *wanted = apr_table_get(r->headers_in, "If-Range"), *etag;
    apr_time_t date, mtime;

    if (!wanted || !apr_table_get(r->headers_in, "Range"))
        return AP_CONDITION_NONE;
    if (wanted[0] == '"' || (wanted[0] == 'W' && wanted[1] == '/')) {
        etag = apr_table_get(headers, "ETag");
        /* One tag, not a list: equal and strong. */
        return etag && wanted[0] == '"' && strcmp(etag, wanted) == 0 ? AP_CONDITION_STRONG
                                                                     : AP_CONDITION_NOMATCH;
    }
    date = apr_date_parse_http(wanted);
    mtime = condition_mtime(r, headers);
    if (!apr_table_get(headers, "Last-Modified") && r->mtime)
        mtime = apr_time_from_sec(apr_time_sec(r->mtime));
    if (date == APR_DATE_BAD || date != mtime)
        return AP_CONDITION_NOMATCH;
    return condition_date_strength(r, date, condition_now(r, headers));
}

/* Most requests have no such field, which is asked for once, not five times. */
static int condition_is_there(const apr_table_t *fields)
{
    const apr_array_header_t *all = apr_table_elts(fields);
    const apr_table_entry_t *field = (const apr_table_entry_t *)all->elts;

    for (int i = 0; i < all->nelts; i++)
        if ((field[i].key[0] | 0x20) == 'i' && (field[i].key[1] | 0x20) == 'f' &&
            field[i].key[2] == '-')
            return 1;
    return 0;
}

static int condition_refuses(const char *name, request_rec *r)
{
    BRG_ASSERT(name && *name);
    ap_log_rerror(APLOG_MARK, APLOG_TRACE1, 0, r, "%s does not hold", name);
    return HTTP_PRECONDITION_FAILED;
}

static int condition_not_modified_head(request_rec *r)
{
    if (condition_not_modified)
        condition_not_modified(r);
    return HTTP_NOT_MODIFIED;
}

AP_DECLARE(int) ap_meets_conditions(request_rec *r)
{
    ap_condition_e cond;

    /* What is not there, or is not the client's copy, has no condition. */
    if (!ap_is_HTTP_SUCCESS(r->status) || r->no_local_copy || !condition_is_there(r->headers_in))
        return OK;
    cond = ap_condition_if_match(r, r->headers_out);
    if (cond == AP_CONDITION_NOMATCH)
        return condition_refuses("If-Match", r);
    if (cond == AP_CONDITION_NONE) {
        cond = ap_condition_if_unmodified_since(r, r->headers_out);
        if (cond == AP_CONDITION_WEAK || cond == AP_CONDITION_STRONG)
            return condition_refuses("If-Unmodified-Since", r);
    }
    cond = ap_condition_if_none_match(r, r->headers_out);
    if (cond == AP_CONDITION_WEAK || cond == AP_CONDITION_STRONG) {
        return r->method_number == M_GET ? condition_not_modified_head(r)
                                         : condition_refuses("If-None-Match", r);
    }
    if (cond == AP_CONDITION_NONE && r->method_number == M_GET) {
        cond = ap_condition_if_modified_since(r, r->headers_out);
        if (cond == AP_CONDITION_WEAK || cond == AP_CONDITION_STRONG)
            return condition_not_modified_head(r);
    }
    return OK;
}
