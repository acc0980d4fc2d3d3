/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers and filters offer to be remembered: a file, a page, or what filters that compress
 * make of them. resolution_store.c decides when the request is over. */
#include "resolution_private.h"
#include "request_private.h"
#include "brigade/resolution.h"
#include "http_core.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <string.h>

resolution_cache *resolution_store_cache(void)
{
    brg_loop *loop = loop_self();

    if (!loop)
        return resolution_lent_cache();
    return loop->cache->buckets_n ? loop->cache : NULL;
}

static int filter_leaves_body(const ap_filter_t *f)
{
    static const char *const core[] = {"byterange",
                                       "content_length",
                                       "http_header",
                                       "http_outerror",
                                       "http_limits",
                                       "old_write",
                                       "core",
                                       "reqtimeout",
                                       "chunk",
                                       "protocol_ok",
                                       "not_sent",
                                       "fixup_headers_out",
                                       "fixup_headers_err",
                                       "mod_expires"};

    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        if (!strcmp(f->frec->name, core[i]))
            return 1;
    return 0;
}

/* mod_deflate and mod_brotli, alone or by content type: they do nothing, but for Vary, where
 * nothing is asked of them. */
int resolution_filter_coding(const ap_filter_rec_t *frec)
{
    const char *name = frec->name;

    if (!strncasecmp(name, "bytype:", 7))
        name += 7;
    if (!ap_cstr_casecmp(name, "deflate"))
        return RESOLUTION_GZIP;
    return !ap_cstr_casecmp(name, "brotli_compress") ? RESOLUTION_BROTLI : 0;
}

/* As filters_leave_body(), but for filters that make the *codings. */
static int filters_leave_or_code(const ap_filter_t *f, int *codings)
{
    *codings = 0;
    for (; f; f = f->next) {
        int coding = resolution_filter_coding(f->frec);

        if (!coding && !filter_leaves_body(f))
            return 0;
        *codings |= coding;
    }
    return 1;
}

/* The coding that filters will be asked for: 0 none, -1 nobody can tell. */
static int offer_coding(const request_rec *r, int codings)
{
    const char *accepted = codings ? apr_table_get(r->headers_in, "Accept-Encoding") : NULL;

    if (codings && apr_table_get(r->subprocess_env, "force-gzip"))
        return codings;
    return accepted ? resolution_coding_kind((void *)(intptr_t)codings, accepted, strlen(accepted))
                    : 0;
}

static int filters_leave_body(const ap_filter_t *f)
{
    for (; f; f = f->next)
        if (!filter_leaves_body(f))
            return 0;
    return 1;
}

BRG_DECLARE(int) brg_output_is_plain(request_rec *r)
{
    return filters_leave_body(r->output_filters);
}

/* What changes how the answer's head says things, for this one request. */
static int offer_head_is_special(const request_rec *r)
{
    const apr_table_t *env = r->subprocess_env;

    return apr_table_get(env, "nokeepalive") || apr_table_get(env, "force-response-1.0") ||
           apr_table_get(env, "downgrade-1.0");
}

int resolution_request_is_plain(const request_rec *r)
{
    return r->method_number == M_GET && !r->header_only && r->unparsed_uri &&
           r->unparsed_uri[0] == '/' && r->proto_num >= HTTP_VERSION(1, 0) &&
           connection_of(r->connection) && apr_table_get(r->headers_in, "Host") &&
           !offer_head_is_special(r);
}

resolution_entry *resolution_find_for(resolution_cache *c, const request_rec *r, uint64_t *hash)
{
    const brg_conn *bc = connection_of(r->connection);
    const char *host = apr_table_get(r->headers_in, "Host");
    const resolution_asked asked = {.r = r};

    return resolution_find(c, bc->listener, bc->chain, host, strlen(host), r->unparsed_uri,
                           strlen(r->unparsed_uri), &asked, hash);
}

/* An answer that fills an entry has to be seen after all filters. */
static void offer_capture(resolution_cache *c, request_rec *r)
{
    const resolution_entry *e;
    uint64_t hash;

    if (!c->watch || !resolution_request_is_plain(r) || !(e = resolution_find_for(c, r, &hash)) ||
        e->filled || e->hopeless || e->lent)
        return;
    c->capture =
        resolution_capture_begin(r, (apr_size_t)core_conf_of(r->server)->file_cache_max_file_bytes);
}

int resolution_offer_early(resolution_cache *c, request_rec *r)
{
    const brg_core_conf *conf = core_conf_of(r->server);

    c->offered_r = NULL;
    if (r->status != HTTP_OK || r->main || r->prev || r->no_cache || r->no_local_copy ||
        r->finfo.filetype != APR_REG || r->finfo.size > conf->file_cache_max_file_bytes ||
        !resolution_request_is_plain(r) ||
        !filters_leave_or_code(r->output_filters, &c->offered_codings) ||
        offer_coding(r, c->offered_codings) <= 0)
        return 0;
    c->offered_r = r;
    c->offered_path = r->filename;
    c->offered_body = NULL;
    c->offered_from = NULL;
    c->offered_coded = 1;
    c->capture = NULL;
    return 1;
}

/* Every offer takes the place of the one before: a filter's comes after that of the handler whose
 * data it changed. */
static resolution_cache *offer_take(request_rec *r, const ap_filter_t *next)
{
    resolution_cache *c = resolution_store_cache();
    int coding;

    if (!c)
        return NULL;
    c->offered_r = NULL;
    c->offered_path = c->offered_body = NULL;
    c->offered_from = NULL;
    c->capture = NULL;
    if (r->main || r->prev || r->no_cache || !filters_leave_or_code(next, &c->offered_codings) ||
        (coding = offer_coding(r, c->offered_codings)) < 0)
        return NULL;
    c->offered_r = r;
    c->offered_coded = coding > 0;
    c->offered_etag = apr_table_get(r->headers_out, "ETag");
    if (coding > 0)
        offer_capture(c, r);
    return c;
}

BRG_DECLARE(void) brg_resolution_offer_file(request_rec *r, const char *path)
{
    resolution_cache *c = r->no_local_copy ? NULL : offer_take(r, r->output_filters);

    if (c)
        c->offered_path = path;
}

BRG_DECLARE(void)
brg_resolution_offer_body(request_rec *r, ap_filter_t *next, const char *body, apr_size_t len,
                          const char *const *paths)
{
    resolution_cache *c = offer_take(r, next);

    if (!c)
        return;
    c->offered_body = body;
    c->offered_len = len;
    c->offered_from = paths;
}

void resolution_offer_page(request_rec *r, const char *page)
{
    resolution_cache *c = offer_take(r, r->output_filters);

    if (!c)
        return;
    c->offered_body = page;
    c->offered_len = strlen(page);
}
