/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the output of content filters (mod_deflate) as it passes on its way to the head and the
 * chunks, so that the next request gets it from memory. */
#include "cache_fill_private.h"
#include "http_request.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

struct cache_capture {
    char *data; /* room for a chunk's size before it */
    apr_size_t len, room, most;
    int complete, failed, too_long;
};

/* Before HTTP's own filters, behind all that change the body. */
static ap_filter_rec_t *capture_handle;

static int capture_append(cache_capture *cap, const char *data, apr_size_t len)
{
    BRG_ASSERT(cap->len <= cap->most && cap->len <= cap->room);
    if (len > cap->most - cap->len) {
        cap->too_long = 1;
        return -1;
    }
    if (cap->len + len > cap->room) {
        apr_size_t room = cap->room * 2 > cap->len + len ? cap->room * 2 : cap->len + len;
        char *bigger = realloc(cap->data, CACHE_FRAME_BEFORE + room + CACHE_FRAME_AFTER);

        if (!bigger)
            return -1;
        cap->data = bigger;
        cap->room = room;
    }
    memcpy(cap->data + CACHE_FRAME_BEFORE + cap->len, data, len);
    cap->len += len;
    return 0;
}

static int capture_bucket(cache_capture *cap, apr_bucket *b)
{
    const char *data;
    apr_size_t len;

    if (APR_BUCKET_IS_EOS(b)) {
        cap->complete = 1;
        return 0;
    }
    if (APR_BUCKET_IS_METADATA(b))
        return APR_BUCKET_IS_FLUSH(b) ? 0 : -1; /* an error, or an unknown bucket */
    if (cap->complete || apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
        return -1;
    return capture_append(cap, data, len);
}

static apr_status_t capture_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    cache_capture *cap = f->ctx;

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb) && !cap->failed;
         b = APR_BUCKET_NEXT(b))
        cap->failed = capture_bucket(cap, b) != 0;
    if (cap->failed || cap->complete)
        ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t capture_end(void *data)
{
    const cache_capture *cap = data;

    free(cap->data);
    return APR_SUCCESS;
}

cache_capture *cache_capture_begin(request_rec *r, apr_size_t most)
{
    cache_capture *cap = apr_pcalloc(r->pool, sizeof *cap);

    BRG_ASSERT(capture_handle && !r->main);
    cap->most = most;
    apr_pool_cleanup_register(r->pool, cap, capture_end, apr_pool_cleanup_null);
    ap_add_output_filter_handle(capture_handle, cap, r, r->connection);
    return cap;
}

size_t cache_frame(char *data, size_t len)
{
    char size[CACHE_FRAME_BEFORE + 1];
    int n = snprintf(size, sizeof size, "%" APR_UINT64_T_HEX_FMT "\r\n", (apr_uint64_t)len);

    BRG_ASSERT(n > 0 && n <= CACHE_FRAME_BEFORE);
    memmove(data + n, data + CACHE_FRAME_BEFORE, len);
    memcpy(data, size, (size_t)n);
    memcpy(data + n + len, "\r\n0\r\n\r\n", CACHE_FRAME_AFTER);
    return (size_t)n;
}

char *cache_capture_take(cache_capture *cap, request_rec *r, cache_entry *e, size_t *len,
                         int *too_long)
{
    char *body = cap->data;

    BRG_ASSERT(!e->filled && !e->body);
    *too_long = cap->too_long;
    if (cap->failed || !cap->complete || !cap->len ||
        (!r->chunked && !apr_table_get(r->headers_out, "Content-Length")))
        return NULL;
    if (r->chunked) {
        e->frame_before = (uint8_t)cache_frame(body, cap->len);
        e->frame_after = CACHE_FRAME_AFTER;
    } else
        memmove(body, body + CACHE_FRAME_BEFORE, cap->len);
    *len = cap->len + e->frame_before + e->frame_after;
    cap->data = NULL;
    return body;
}

void cache_capture_register(void)
{
    capture_handle =
        ap_register_output_filter("BRIGADE_CAPTURE", capture_filter, NULL, AP_FTYPE_PROTOCOL - 1);
}
