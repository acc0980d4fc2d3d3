/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BYTERANGE filter (RFC 9110 section 14): cuts the ranges that a GET asked for out of a
 * response that is there as a whole, in one brigade. Buckets are split and copied by reference;
 * file buckets are never read.
 *
 * Odd sets of ranges are treated as Apache does: a range that touches the one before it is
 * merged with that one, and a set that would cost more than the whole representation, or goes
 * beyond MaxRanges, MaxRangeOverlaps or MaxRangeReversals, is ignored.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <limits.h>
#include <string.h>

APLOG_USE_MODULE(http);

#define RANGES_DEFAULT 200
#define OVERLAPS_DEFAULT 20
#define REVERSALS_DEFAULT 20

AP_DECLARE_DATA const char *ap_multipart_boundary;

/* Both ends count. */
typedef struct range_pair {
    apr_off_t start, end;
} range_pair;

typedef enum range_verdict {
    RANGE_NONE,         /* send the whole */
    RANGE_SOME,         /* send the set */
    RANGE_UNSATISFIABLE /* 416 */
} range_verdict;

typedef struct range_set {
    apr_array_header_t *pairs; /* of range_pair */
    apr_off_t length;          /* of the representation */
    int overlaps, reversals, out_of_reach;
} range_set;

/* ---- the field ---- */

static const char *range_number(const char *p, const char *end, apr_off_t *out)
{
    apr_off_t n = 0;
    const char *start = p;

    BRG_ASSERT(p <= end && out);
    for (; p < end && apr_isdigit(*p); p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
            return NULL;
    *out = n;
    return p > start ? p : NULL;
}

/* "first-last", "first-" or "-suffix". 0 = malformed; the pair may lie beyond the end. */
static int range_parse_one(const char *p, const char *end, apr_off_t length, range_pair *out)
{
    BRG_ASSERT(p < end && length > 0);
    if (p < end && *p == '-') {
        p = range_number(p + 1, end, &out->start);
        if (!p || p != end || out->start == 0)
            return 0;
        out->start = out->start < length ? length - out->start : 0;
        out->end = length - 1;
        return 1;
    }
    p = range_number(p, end, &out->start);
    if (!p || p == end || *p++ != '-')
        return 0;
    if (p == end) {
        out->end = length - 1;
        return 1;
    }
    p = range_number(p, end, &out->end);
    if (!p || p != end || out->end < out->start)
        return 0;
    if (out->end >= length)
        out->end = length - 1;
    return 1;
}

/* Merge with the range before it if they touch, else append. */
static void range_add(range_set *set, const range_pair *pair)
{
    range_pair *last =
        set->pairs->nelts ? &((range_pair *)set->pairs->elts)[set->pairs->nelts - 1] : NULL;

    BRG_ASSERT(pair->start <= pair->end && pair->end < set->length);
    if (last && pair->start <= last->end + 1 && pair->end + 1 >= last->start) {
        set->overlaps++;
        if (pair->start < last->start) {
            last->start = pair->start;
            set->reversals++;
        }
        if (pair->end > last->end)
            last->end = pair->end;
        return;
    }
    *(range_pair *)apr_array_push(set->pairs) = *pair;
}

/* 0 = malformed. */
static int range_parse(const char *field, range_set *set)
{
    const char *p = field;

    BRG_ASSERT(set->pairs && set->length > 0);
    while (*p) {
        const char *end = p + strcspn(p, ","), *stop = end;
        range_pair pair;

        while (p < stop && (*p == ' ' || *p == '\t'))
            p++;
        while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        if (stop == p) { /* an empty element of the list */
            p = *end ? end + 1 : end;
            continue;
        }
        if (!range_parse_one(p, stop, set->length, &pair))
            return 0;
        if (pair.start >= set->length)
            set->out_of_reach++;
        else
            range_add(set, &pair);
        p = *end ? end + 1 : end;
    }
    return set->pairs->nelts || set->out_of_reach;
}

/* ---- limits ---- */

static int range_limit(int configured, int unset)
{
    if (configured == AP_MAXRANGES_UNLIMITED)
        return INT_MAX;
    return configured == AP_MAXRANGES_UNSET || configured == AP_MAXRANGES_DEFAULT ? unset
                                                                                  : configured;
}

static int range_set_is_too_much(request_rec *r, const range_set *set)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);
    const range_pair *pairs = (const range_pair *)set->pairs->elts;
    apr_off_t sum = 0;

    BRG_ASSERT(set->pairs->nelts > 0);
    for (int i = 0; i < set->pairs->nelts; i++) {
        sum += pairs[i].end - pairs[i].start + 1;
        if (sum > set->length)
            return 1;
    }
    return set->pairs->nelts > range_limit(conf->max_ranges, RANGES_DEFAULT) ||
           set->overlaps > range_limit(conf->max_overlaps, OVERLAPS_DEFAULT) ||
           set->reversals > range_limit(conf->max_reversals, REVERSALS_DEFAULT);
}

/* The Range value behind "bytes=", if it applies to this response. */
static const char *range_field(request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);
    const char *range;

    /* Defined for GET alone. */
    if (r->assbackwards || r->status != HTTP_OK || r->method_number != M_GET || r->header_only)
        return NULL;
    range = apr_table_get(r->headers_in, "Range");
    if (!range || strncasecmp(range, "bytes=", 6) || conf->max_ranges == AP_MAXRANGES_NORANGES)
        return NULL;
    /* A handler that cut out ranges itself. */
    if (apr_table_get(r->headers_out, "Content-Range") ||
        (r->content_type && !strncasecmp(r->content_type, "multipart/byteranges", 20)))
        return NULL;
    return ap_condition_if_range(r, r->headers_out) == AP_CONDITION_NOMATCH ? NULL : range + 6;
}

static range_verdict range_judge(request_rec *r, const char *field, range_set *set)
{
    int n = 1;

    BRG_ASSERT(field && !set->pairs);
    for (const char *p = field; *p; p++)
        n += *p == ',';
    set->pairs = apr_array_make(r->pool, n < 16 ? n : 16, sizeof(range_pair));
    if (set->length <= 0 || !range_parse(field, set))
        return RANGE_NONE;
    if (set->pairs->nelts == 0)
        return RANGE_UNSATISFIABLE;
    return range_set_is_too_much(r, set) ? RANGE_NONE : RANGE_SOME;
}

/* ---- cutting ---- */

static apr_status_t range_copy_bucket(apr_bucket *e, apr_bucket_brigade *out)
{
    const char *data;
    apr_size_t len;
    apr_bucket *copy;
    apr_status_t rv = apr_bucket_copy(e, &copy);

    if (rv == APR_ENOTIMPL) {
        /* Not a kind that can be shared: its data becomes one that can. */
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS)
            rv = apr_bucket_copy(e, &copy);
    }
    if (rv == APR_SUCCESS)
        APR_BRIGADE_INSERT_TAIL(out, copy);
    return rv;
}

static apr_status_t range_copy(apr_bucket_brigade *bb, apr_bucket_brigade *out,
                               const range_pair *pair)
{
    apr_bucket *first, *after;
    apr_status_t rv = apr_brigade_partition(bb, pair->start, &first);

    BRG_ASSERT(pair->start >= 0 && pair->start <= pair->end);
    if (rv == APR_SUCCESS)
        rv = apr_brigade_partition(bb, pair->end + 1, &after);
    for (apr_bucket *e = first; rv == APR_SUCCESS && e != after && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e))
        if (!APR_BUCKET_IS_METADATA(e))
            rv = range_copy_bucket(e, out);
    return rv;
}

/* What follows "bytes " in Content-Range. */
static const char *range_text(apr_pool_t *p, const range_pair *pair, apr_off_t length)
{
    return apr_psprintf(p, "%" APR_OFF_T_FMT "-%" APR_OFF_T_FMT "/%" APR_OFF_T_FMT, pair->start,
                        pair->end, length);
}

static void range_put_text(apr_bucket_brigade *out, request_rec *r, const char *text)
{
    APR_BRIGADE_INSERT_TAIL(
        out, apr_bucket_pool_create(text, strlen(text), r->pool, r->connection->bucket_alloc));
}

static apr_status_t range_multipart(request_rec *r, const range_set *set, apr_bucket_brigade *bb,
                                    apr_bucket_brigade *out)
{
    const range_pair *pairs = (const range_pair *)set->pairs->elts;
    const char *type = ap_make_content_type(r, r->content_type);
    const char *begin =
        type ? apr_pstrcat(r->pool, CRLF "--", ap_multipart_boundary, CRLF "Content-type: ", type,
                           CRLF "Content-range: bytes ", NULL)
             : apr_pstrcat(r->pool, CRLF "--", ap_multipart_boundary, CRLF "Content-range: bytes ",
                           NULL);
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(set->pairs->nelts > 1 && ap_multipart_boundary);
    for (int i = 0; i < set->pairs->nelts && rv == APR_SUCCESS; i++) {
        range_put_text(out, r,
                       apr_pstrcat(r->pool, begin, range_text(r->pool, &pairs[i], set->length),
                                   CRLF CRLF, NULL));
        rv = range_copy(bb, out, &pairs[i]);
    }
    range_put_text(out, r, apr_pstrcat(r->pool, CRLF "--", ap_multipart_boundary, "--" CRLF, NULL));
    r->content_type =
        apr_pstrcat(r->pool, "multipart/byteranges; boundary=", ap_multipart_boundary, NULL);
    return rv;
}

static apr_status_t range_single(request_rec *r, const range_set *set, apr_bucket_brigade *bb,
                                 apr_bucket_brigade *out)
{
    const range_pair *pair = (const range_pair *)set->pairs->elts;

    BRG_ASSERT(set->pairs->nelts == 1);
    apr_table_setn(r->headers_out, "Content-Range",
                   apr_pstrcat(r->pool, "bytes ", range_text(r->pool, pair, set->length), NULL));
    return range_copy(bb, out, pair);
}

static apr_status_t range_send(ap_filter_t *f, const range_set *set, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    apr_bucket_brigade *out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    apr_status_t rv;

    BRG_ASSERT(f->next && set->length > 0);
    r->status = HTTP_PARTIAL_CONTENT;
    r->status_line = NULL;
    rv = set->pairs->nelts > 1 ? range_multipart(r, set, bb, out) : range_single(r, set, bb, out);
    apr_brigade_cleanup(bb);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      "cannot cut the requested ranges out of the response");
        apr_brigade_destroy(out);
        return rv;
    }
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_eos_create(f->c->bucket_alloc));
    rv = ap_pass_brigade(f->next, out);
    apr_brigade_destroy(out);
    return rv;
}

static apr_status_t range_refuse(ap_filter_t *f, apr_off_t length, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;

    BRG_ASSERT(length > 0);
    apr_brigade_cleanup(bb);
    apr_table_setn(r->err_headers_out, "Content-Range",
                   apr_psprintf(r->pool, "bytes */%" APR_OFF_T_FMT, length));
    APR_BRIGADE_INSERT_TAIL(
        bb, ap_bucket_error_create(HTTP_RANGE_NOT_SATISFIABLE, NULL, r->pool, f->c->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
    return ap_pass_brigade(f->next, bb);
}

/* The length of a response that is in bb as a whole; -1 if it is not, or has parts of unknown
 * length. */
static apr_off_t range_whole_length(apr_bucket_brigade *bb)
{
    apr_off_t length = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e))
            return length;
        if (AP_BUCKET_IS_ERROR(e) || e->length == (apr_size_t)-1)
            return -1;
        length += (apr_off_t)e->length;
    }
    return -1;
}

AP_DECLARE_NONSTD(apr_status_t) ap_byterange_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    const char *field = range_field(r);
    range_set set = {.length = -1};
    range_verdict verdict = RANGE_NONE;

    if (field) {
        set.length = range_whole_length(bb);
        verdict = range_judge(r, field, &set);
    }
    ap_remove_output_filter(f);
    switch (verdict) {
    case RANGE_SOME:
        return range_send(f, &set, bb);
    case RANGE_UNSATISFIABLE:
        return range_refuse(f, set.length, bb);
    default:
        return ap_pass_brigade(f->next, bb);
    }
}

AP_DECLARE(void) ap_set_accept_ranges(request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);

    apr_table_setn(r->headers_out, "Accept-Ranges",
                   conf->max_ranges == AP_MAXRANGES_NORANGES ? "none" : "bytes");
}
