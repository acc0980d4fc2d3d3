/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BYTERANGE filter (RFC 9110 section 14): cuts the ranges that a GET asked for out of a
 * response that is there as a whole, in one brigade. Buckets are split and copied by reference;
 * file buckets are never read.
 */
#include "http_part.h"
#include "request_context.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

AP_DECLARE_DATA const char *ap_multipart_boundary;

typedef struct range_set {
    http_part *part;
    int n;
    apr_off_t length; /* of the representation */
} range_set;

/* The Range field, if it applies to this response. */
static const char *range_field(request_rec *r)
{
    const char *range;

    /* Defined for GET alone. */
    if (r->assbackwards || r->status != HTTP_OK || r->method_number != M_GET || r->header_only)
        return NULL;
    range = apr_table_get(r->headers_in, "Range");
    /* A handler that cut out ranges itself. */
    if (!range || apr_table_get(r->headers_out, "Content-Range") ||
        (r->content_type && !strncasecmp(r->content_type, "multipart/byteranges", 20)))
        return NULL;
    return ap_condition_if_range(r, r->headers_out) == AP_CONDITION_NOMATCH ? NULL : range;
}

static http_parts_verdict range_judge(request_rec *r, const char *field, range_set *set)
{
    http_part_limits limits;
    int room = 1;

    BRG_ASSERT(field && !set->part);
    http_part_limits_of(&limits, r);
    for (const char *p = field; *p && room < limits.parts; p++)
        room += *p == ',';
    /* No room for one more: beyond MaxRanges, so the whole is sent. */
    set->part = apr_palloc(r->pool, (apr_size_t)room * sizeof *set->part);
    return http_parts_read(field, strlen(field), set->length, &limits, set->part, room, &set->n);
}

/* ---- cutting ---- */

static apr_status_t range_copy_bucket(apr_bucket *e, apr_bucket_brigade *out)
{
    const char *data;
    apr_size_t len;
    apr_bucket *copy;
    apr_status_t rv = apr_bucket_copy(e, &copy);

    if (rv == APR_ENOTIMPL) {
        /* Not a kind that can be shared: its data becomes a bucket of such a kind. */
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS)
            rv = apr_bucket_copy(e, &copy);
    }
    if (rv == APR_SUCCESS)
        APR_BRIGADE_INSERT_TAIL(out, copy);
    return rv;
}

static apr_status_t range_copy(apr_bucket_brigade *bb, apr_bucket_brigade *out,
                               const http_part *part)
{
    apr_bucket *first, *after;
    apr_status_t rv = apr_brigade_partition(bb, part->first, &first);

    BRG_ASSERT(part->first >= 0 && part->first <= part->last);
    if (rv == APR_SUCCESS)
        rv = apr_brigade_partition(bb, part->last + 1, &after);
    for (apr_bucket *e = first; rv == APR_SUCCESS && e != after && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e))
        if (!APR_BUCKET_IS_METADATA(e))
            rv = range_copy_bucket(e, out);
    return rv;
}

static void range_put_text(apr_bucket_brigade *out, request_rec *r, const char *text,
                           apr_size_t len)
{
    APR_BRIGADE_INSERT_TAIL(
        out, apr_bucket_pool_create(text, len, r->pool, r->connection->bucket_alloc));
}

static apr_status_t range_multipart(request_rec *r, const range_set *set, apr_bucket_brigade *bb,
                                    apr_bucket_brigade *out)
{
    const char *type = ap_make_content_type(r, r->content_type);
    request_offer *offer = request_offer_of(r);
    const size_t room = http_part_head_room(type);
    char *end = apr_palloc(r->pool, http_parts_end_room());
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(set->n > 1 && ap_multipart_boundary);
    if (offer)
        offer->part_type = type;
    for (int i = 0; i < set->n && rv == APR_SUCCESS; i++) {
        char *head = apr_palloc(r->pool, room);

        range_put_text(out, r, head, http_part_head(head, type, &set->part[i]));
        rv = range_copy(bb, out, &set->part[i]);
    }
    range_put_text(out, r, end, http_parts_end(end));
    r->content_type =
        apr_pstrcat(r->pool, "multipart/byteranges; boundary=", ap_multipart_boundary, NULL);
    return rv;
}

static apr_status_t range_single(request_rec *r, const range_set *set, apr_bucket_brigade *bb,
                                 apr_bucket_brigade *out)
{
    char *text = apr_palloc(r->pool, HTTP_PART_ROOM);

    BRG_ASSERT(set->n == 1);
    http_part_text(text, set->part);
    apr_table_setn(r->headers_out, "Content-Range", text);
    return range_copy(bb, out, set->part);
}

static apr_status_t range_send(ap_filter_t *f, const range_set *set, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    apr_bucket_brigade *out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    apr_status_t rv;

    BRG_ASSERT(f->next && set->length > 0);
    r->status = HTTP_PARTIAL_CONTENT;
    r->status_line = NULL;
    rv = set->n > 1 ? range_multipart(r, set, bb, out) : range_single(r, set, bb, out);
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
    http_parts_verdict verdict = HTTP_PARTS_WHOLE;

    if (field) {
        set.length = range_whole_length(bb);
        verdict = range_judge(r, field, &set);
    }
    ap_remove_output_filter(f);
    switch (verdict) {
    case HTTP_PARTS_SOME:
        return range_send(f, &set, bb);
    case HTTP_PARTS_OUTSIDE:
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
