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

/* A coded form has a tag of its own, and clients know that tag. */
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
static ap_condition_e condition_date_strength(const http_validators *v)
{
    if (v->now >= v->modified + CONDITION_DATE_SETTLES)
        return AP_CONDITION_STRONG;
    return v->ranged ? AP_CONDITION_NOMATCH : AP_CONDITION_WEAK;
}

ap_condition_e http_if_none_match(const http_validators *v, const char *value)
{
    if (value[0] == '*')
        return AP_CONDITION_STRONG;
    if (!v->tag)
        return AP_CONDITION_NOMATCH;
    /* Only a plain GET or HEAD may be told of a match by weak comparison. Most clients send the tag alone, as they got it. */
    if (!v->no_read && !v->ranged)
        return strcmp(value, v->tag) == 0 || ap_find_etag_weak(NULL, value, v->tag)
                   ? AP_CONDITION_WEAK
                   : AP_CONDITION_NOMATCH;
    return ap_find_etag_strong(NULL, value, v->tag) ? AP_CONDITION_STRONG : AP_CONDITION_NOMATCH;
}

ap_condition_e http_if_modified_since(const http_validators *v, const char *value)
{
    const apr_time_t since = apr_date_parse_http(value);

    /* A date of the future is a client's broken clock. */
    if (since == APR_DATE_BAD || since < v->modified || since > v->now)
        return AP_CONDITION_NOMATCH;
    return condition_date_strength(v);
}

ap_condition_e http_if_range(const http_validators *v, const char *value)
{
    apr_time_t date;

    BRG_ASSERT(v->ranged);
    if (value[0] == '"' || (value[0] == 'W' && value[1] == '/')) {
        /* One tag, not a list: equal and strong. */
        return v->tag && value[0] == '"' && strcmp(v->tag, value) == 0 ? AP_CONDITION_STRONG
                                                                       : AP_CONDITION_NOMATCH;
    }
    date = apr_date_parse_http(value);
    if (date == APR_DATE_BAD || date != v->modified)
        return AP_CONDITION_NOMATCH;
    return condition_date_strength(v);
}

static int condition_is_ranged(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Range") != NULL;
}

static http_validators condition_dates(request_rec *r, apr_table_t *headers)
{
    return (http_validators){.modified = condition_mtime(r, headers),
                             .now = condition_now(r, headers),
                             .ranged = condition_is_ranged(r)};
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
    http_validators v;
    apr_time_t since;

    if (!value)
        return AP_CONDITION_NONE;
    since = apr_date_parse_http(value);
    v = condition_dates(r, headers);
    return since == APR_DATE_BAD || v.modified <= since ? AP_CONDITION_NOMATCH
                                                        : condition_date_strength(&v);
}

AP_DECLARE(ap_condition_e) ap_condition_if_none_match(request_rec *r, apr_table_t *headers)
{
    const char *value = apr_table_get(r->headers_in, "If-None-Match");

    if (!value)
        return AP_CONDITION_NONE;
    return http_if_none_match(&(http_validators){.tag = http_condition_tag(r, headers),
                                                 .ranged = condition_is_ranged(r),
                                                 .no_read = r->method_number != M_GET},
                              value);
}

AP_DECLARE(ap_condition_e) ap_condition_if_modified_since(request_rec *r, apr_table_t *headers)
{
    const char *value = apr_table_get(r->headers_in, "If-Modified-Since");
    http_validators v;

    if (!value)
        return AP_CONDITION_NONE;
    v = condition_dates(r, headers);
    return http_if_modified_since(&v, value);
}

AP_DECLARE(ap_condition_e) ap_condition_if_range(request_rec *r, apr_table_t *headers)
{
    const char *value = apr_table_get(r->headers_in, "If-Range");
    http_validators v;

    if (!value || !condition_is_ranged(r))
        return AP_CONDITION_NONE;
    v = condition_dates(r, headers);
    v.tag = apr_table_get(headers, "ETag");
    if (!apr_table_get(headers, "Last-Modified") && r->mtime)
        v.modified = apr_time_from_sec(apr_time_sec(r->mtime));
    return http_if_range(&v, value);
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

    /* A file that is not there, or a form that is not the client's copy, has no condition. */
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
