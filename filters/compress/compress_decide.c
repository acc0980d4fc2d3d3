/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a response is compressed, in which coding, and its head then.
 *
 * Each filter decides with the first data. Where several stand in one chain, the first filter that
 * may compress compares all of them by Accept-Encoding, and steps aside for a later one that the
 * client prefers.
 */
#include "compress_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include <string.h>

/* A file beyond this size is compressed as a stream: the cache does not keep the result. */
#define DECIDE_FILE_MOST (1024 * 1024)

/* By coding; those of the modules that are active. Main thread, read only afterwards. */
static const compress_coder *decide_coders[BRG_CODINGS];
static const ap_filter_rec_t *decide_filters[BRG_CODINGS];
static ap_out_filter_func decide_functions[BRG_CODINGS];

static APR_OPTIONAL_FN_TYPE(brg_filter_chosen) * decide_chosen;

static apr_status_t decide_forget(void *unused)
{
    memset(decide_coders, 0, sizeof decide_coders);
    memset(decide_filters, 0, sizeof decide_filters);
    decide_chosen = NULL;
    return APR_SUCCESS;
}

const compress_conf *compress_conf_of(const request_rec *r, const compress_coder *coder)
{
    return ap_get_module_config(r->server->module_config, coder->module);
}

/* ---- which filters there are ---- */

static int decide_is_coder(const ap_filter_rec_t *frec)
{
    for (int i = 1; i < BRG_CODINGS; i++)
        if (decide_filters[i] == frec)
            return 1;
    return 0;
}

/* Of Apache's file under the same name, if that was loaded, there is none. */
const compress_coder *compress_coder_of(const ap_filter_rec_t *frec)
{
    for (int i = 1; i < BRG_CODINGS; i++)
        if (decide_filters[i] == frec)
            return frec->filter_func.out_func == decide_functions[i] ? decide_coders[i] : NULL;
    return NULL;
}

static const compress_coder *decide_find_coder(const ap_filter_t *f)
{
    const ap_filter_rec_t *frec = f->frec;

    if (frec->providers)
        frec = decide_chosen ? decide_chosen(f, decide_is_coder) : NULL;
    return frec ? compress_coder_of(frec) : NULL;
}

/* Most filters of a chain are none that compress. */
static inline const compress_coder *decide_coder_of(const ap_filter_t *f)
{
    return f->frec->providers || f->frec->ftype == AP_FTYPE_CONTENT_SET ? decide_find_coder(f)
                                                                        : NULL;
}

static int decide_is_html(const request_rec *r)
{
    return r->content_type && !strncmp(r->content_type, "text/html", 9);
}

/* Variables of the request that forbid it. */
static int decide_is_allowed(const request_rec *r, const compress_coder *coder)
{
    const char *only = coder->only_html ? apr_table_get(r->subprocess_env, coder->only_html) : NULL;

    if (apr_table_get(r->subprocess_env, coder->off))
        return 0;
    return !only || strcmp(only, "1") != 0 || decide_is_html(r);
}

static int decide_is_forced(const request_rec *r, const compress_coder *coder)
{
    return coder->force && apr_table_get(r->subprocess_env, coder->force);
}

static int decide_is_short(const request_rec *r, const compress_coder *coder, apr_off_t length)
{
    return length >= 0 && (length < (apr_off_t)coder->least || (!length && r->header_only));
}

/* 1 if the client prefers this coding to those of the filters from @a f on. */
static int decide_is_accepted(const request_rec *r, const ap_filter_t *f,
                              const compress_coder *coder, apr_off_t length)
{
    const char *accept = apr_table_get(r->headers_in, "Accept-Encoding");
    brg_codings list = brg_codings_append(0, coder->coding);

    if (decide_is_forced(r, coder))
        return 1;
    for (; f; f = f->next) {
        const compress_coder *other = decide_coder_of(f);

        if (other && decide_is_allowed(r, other) && !decide_is_short(r, other, length))
            list = brg_codings_append(list, other->coding);
    }
    return brg_coding_accepted((const void *)(intptr_t)list, accept, accept ? strlen(accept) : 0) ==
           (int)coder->coding;
}

/* ---- properties of the response ---- */

int compress_is_coded(const char *value)
{
    static const char *const plain[] = {"identity", "7bit", "8bit", "binary"};

    if (!value || !*value)
        return 0;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!ap_cstr_casecmp(value, plain[i]))
            return 0;
    return 1;
}

static int decide_has_coding(const request_rec *r)
{
    return compress_is_coded(r->content_encoding) ||
           compress_is_coded(apr_table_get(r->headers_out, "Content-Encoding")) ||
           compress_is_coded(apr_table_get(r->err_headers_out, "Content-Encoding"));
}

static const char *decide_field(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

/* A client whose secrets stand in the body beside text of an attacker's choice can be made to
 * reveal them by the length of the compressed body (BREACH). */
const char *compress_is_for_one(const char *control, const char *vary)
{
    if (ap_find_token(NULL, control, "private") || ap_find_token(NULL, control, "no-store"))
        return "Cache-Control says that it is for one client alone";
    if (ap_find_token(NULL, vary, "Cookie") || ap_find_token(NULL, vary, "Authorization"))
        return "it varies with credentials";
    return NULL;
}

static const char *decide_credentials(const request_rec *r)
{
    if (r->user || apr_table_get(r->headers_in, "Authorization"))
        return "the request has credentials";
    return compress_is_for_one(decide_field(r, "Cache-Control"), decide_field(r, "Vary"));
}

static int decide_is_private(const request_rec *r, const compress_coder *coder)
{
    const compress_dir_conf *conf = ap_get_module_config(r->per_dir_config, coder->module);
    const char *why = conf->private == 1 ? NULL : decide_credentials(r);

    if (why)
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "not compressed by %s, since %s: see %s",
                      coder->filter, why, coder->private_name);
    return why != NULL;
}

/* All of the body is in @a bb: how long it is. -1: not all, or nobody knows. */
static apr_off_t decide_length(apr_bucket_brigade *bb)
{
    apr_off_t length;

    if (!APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb)) ||
        apr_brigade_length(bb, 0, &length) != APR_SUCCESS)
        return -1;
    return length;
}

/* How long the body will be, before it is seen. -1: nobody knows. */
static apr_off_t decide_future_length(const request_rec *r)
{
    const char *text = apr_table_get(r->headers_out, "Content-Length");
    apr_off_t length;
    char *end;

    if (text && apr_strtoff(&length, text, &end, 10) == APR_SUCCESS && !*end)
        return length;
    return -1;
}

static compress_source decide_source(const request_rec *r, apr_off_t length)
{
    return (compress_source){.file = r->finfo.filetype == APR_REG && length == r->finfo.size &&
                                     length <= DECIDE_FILE_MOST,
                             .length = length < 0 ? decide_future_length(r) : length};
}

/* ---- its head ---- */

const char *compress_tag_with(apr_pool_t *p, const char *tag, const char *suffix)
{
    size_t len = strlen(tag);

    return len > 1 && tag[len - 1] == '"' ? apr_psprintf(p, "%.*s%s\"", (int)len - 1, tag, suffix)
                                          : tag;
}

static const char *decide_tag(const request_rec *r, const compress_coder *coder, const char *tag)
{
    const compress_etag mode = compress_conf_of(r, coder)->etag;

    if (mode == COMPRESS_ETAG_REMOVE)
        return NULL;
    return tag && mode != COMPRESS_ETAG_KEEP ? compress_tag_with(r->pool, tag, coder->suffix) : tag;
}

static void decide_set_tag(request_rec *r, const compress_coder *coder)
{
    const char *tag = decide_tag(r, coder, apr_table_get(r->headers_out, "ETag"));

    if (tag)
        apr_table_setn(r->headers_out, "ETag", tag);
    else
        apr_table_unset(r->headers_out, "ETag");
}

void compress_head(request_rec *r, const compress_coder *coder)
{
    apr_table_setn(r->headers_out, "Content-Encoding", brg_coding_name(coder->coding));
    if (r->content_encoding)
        r->content_encoding = brg_coding_name(coder->coding);
    apr_table_unset(r->err_headers_out, "Content-Encoding");
    apr_table_unset(r->headers_out, "Content-Length");
    apr_table_unset(r->headers_out, "Content-MD5");
    decide_set_tag(r, coder);
}

/* But for the client's wishes, and for a body that is too short. */
static int decide_suits(const request_rec *r, const compress_coder *coder)
{
    return !r->main && r->status != HTTP_NO_CONTENT &&
           !apr_table_get(r->headers_out, "Content-Range") && decide_is_allowed(r, coder) &&
           !decide_has_coding(r);
}

int compress_decide(ap_filter_t *f, apr_bucket_brigade *bb, const compress_coder *coder,
                    compress_source *source)
{
    request_rec *r = f->r;
    const apr_off_t length = decide_length(bb);

    /* The head of 304 is ready: see brg_coded_not_modified(). */
    if (r->status == HTTP_NOT_MODIFIED || !decide_suits(r, coder) ||
        decide_is_short(r, coder, length) || decide_is_private(r, coder))
        return 0;
    apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding");
    if (!decide_is_accepted(r, f->next, coder, length))
        return 0;
    *source = decide_source(r, length);
    return 1;
}

/* Which filter will compress, before it has seen anything; *varies: it depends on Accept-Encoding. Most requests have none. */
static const compress_coder *decide_future(request_rec *r, int *varies)
{
    *varies = 0;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        const compress_coder *coder = decide_coder_of(f);
        apr_off_t length;

        if (!coder || !decide_suits(r, coder))
            continue;
        length = decide_future_length(r);
        if (decide_is_short(r, coder, length) || decide_is_private(r, coder))
            continue;
        *varies = 1;
        if (decide_is_accepted(r, f->next, coder, length))
            return coder;
    }
    return NULL;
}

/* These two: brigade/content_coding.h */
static const char *brg_coded_tag(request_rec *r, const char *etag)
{
    int varies;
    const compress_coder *coder = decide_future(r, &varies);

    return coder ? decide_tag(r, coder, etag) : etag;
}

static void brg_coded_not_modified(request_rec *r)
{
    int varies;
    const compress_coder *coder = decide_future(r, &varies);

    if (varies)
        apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding");
    if (coder)
        decide_set_tag(r, coder);
}

/* ---- hooks ---- */

/* The answer of a backend is compressed as it comes, and between pieces others have their turn. */
static int decide_takes_long(const request_rec *r, const compress_coder *coder)
{
    const compress_source source = {.length = -1};
    brg_coder_settings settings = {.coding = coder->coding};

    if (r->handler && !strncmp(r->handler, "proxy", 5)) {
        coder->settings(compress_conf_of(r, coder), &source, &settings);
        return !brg_coder_is_quick(&settings);
    }
    return r->finfo.filetype != APR_REG || r->finfo.size > (apr_off_t)coder->loop_most;
}

static void decide_choose_thread(request_rec *r)
{
    if (r->main || r->output_filters == r->proto_output_filters) /* none that handles content */
        return;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        const compress_coder *coder = decide_coder_of(f);

        if (coder && decide_takes_long(r, coder) && decide_is_allowed(r, coder) &&
            decide_is_accepted(r, f->next, coder, -1)) {
            brg_request_needs_worker(r);
            return;
        }
    }
}

static void decide_retrieve(void)
{
    decide_chosen = APR_RETRIEVE_OPTIONAL_FN(brg_filter_chosen);
}

void compress_register(apr_pool_t *p, const compress_coder *coder, ap_out_filter_func fn)
{
    BRG_ASSERT(coder->coding > BRG_CODING_NONE && coder->coding < BRG_CODINGS);
    decide_coders[coder->coding] = coder;
    decide_filters[coder->coding] =
        ap_register_output_filter(coder->filter, fn, NULL, AP_FTYPE_CONTENT_SET);
    decide_functions[coder->coding] = fn;
    brg_cache_declare(coder->module, NULL);
    apr_pool_cleanup_register(p, NULL, decide_forget, apr_pool_cleanup_null);
    APR_REGISTER_OPTIONAL_FN(brg_coded_tag);
    APR_REGISTER_OPTIONAL_FN(brg_coded_not_modified);
    compress_told_register();
    /* Of each coder: those of a module that is switched off are not there. */
    ap_hook_insert_filter(decide_choose_thread, NULL, NULL, APR_HOOK_LAST);
    ap_hook_optional_fn_retrieve(decide_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
}
