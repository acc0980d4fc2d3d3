/* SPDX-License-Identifier: Apache-2.0 */
/*
 * include: the output of a sub-request in place of the element.
 *
 * Behind all filters of the sub-request there is ssi_capture(). It copies small pieces into the page's
 * output and passes large ones on at once. So a sub-request can be destroyed as soon as it is finished,
 * and memory does not grow with the number of includes.
 */
#include "brigade/loop.h"
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/files.h"
#include "brigade/subrequest.h"

#define CAPTURE_GRACE_US 5000    /* a timeout fires so much after the deadline */
#define CAPTURE_KEEP (16 * 1024) /* longer buckets of unknown kinds are not copied */

/* ---- output of sub-requests ---- */

/*
 * Handlers wait with the timeout of r->server. A sub-request with a deadline has a server of its own
 * (ssi_timeout.c), whose timeout becomes the time that is left. So do the timeouts of pipes and sockets
 * that its output is read from.
 */
void ssi_sub_set_timeout(ssi_link *link, apr_bucket *e)
{
    apr_interval_time_t left;

    if (!link || !link->deadline)
        return;
    left = link->deadline - brg_monotonic_now();
    /* A timeout of 0 would mean not to wait, a negative one to wait for ever; and when it fires, the
     * deadline must be over. */
    left = (left > 0 ? left : 0) + CAPTURE_GRACE_US;
    if (link->server)
        link->server->timeout = left;
    if (!e)
        return;
    if (APR_BUCKET_IS_SOCKET(e))
        apr_socket_timeout_set(e->data, left);
    else if (APR_BUCKET_IS_PIPE(e))
        apr_file_pipe_timeout_set(e->data, left);
}

int ssi_link_is_late(ssi_link *link)
{
    if (link && link->deadline && brg_monotonic_now() > link->deadline)
        link->late = 1;
    return link && link->late;
}

/* The bucket is long, and its data does not depend on the sub-request's pool. */
static int capture_takes_over(const apr_bucket *e)
{
    return e->length > SSI_OUT_COPY &&
           (SSI_BUCKET_IS_SPAN(e) || APR_BUCKET_IS_HEAP(e) || SSI_BUCKET_IS_BESIDE(e));
}

/* Pass the bucket on at once: filters below set aside buckets that they keep. */
static apr_status_t capture_pass(ssi_out *out, apr_bucket *e)
{
    BRG_ASSERT(!out->memory);
    APR_BUCKET_REMOVE(e);
    ssi_out_end_block(out);
    APR_BRIGADE_INSERT_TAIL(out->bb, e);
    return ssi_out_pass(out);
}

static apr_status_t capture_wait(include_ctx_t *ctx, apr_bucket *e, const char **data,
                                 apr_size_t *len)
{
    ssi_link *link = ctx->intern->capture_link;
    apr_status_t rv;

    if (ssi_about_to_wait(ctx))
        return APR_EGENERAL;
    ssi_out_flush(&ctx->intern->out);
    ssi_sub_set_timeout(link, e);
    rv = apr_bucket_read(e, data, len, APR_BLOCK_READ);
    return ssi_link_is_late(link) ? APR_TIMEUP : rv;
}

static apr_status_t capture_read(ssi_out *out, apr_bucket *e)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv))
        rv = capture_wait(out->f->ctx, e, &data, &len);
    if (rv == APR_SUCCESS)
        ssi_out_bytes(out, data, len);
    return rv;
}

static apr_status_t capture_bucket(ssi_out *out, apr_bucket *e)
{
    apr_status_t rv;

    if (APR_BUCKET_IS_METADATA(e)) {
        int flush = APR_BUCKET_IS_FLUSH(e);

        if (out->memory || flush || APR_BUCKET_IS_EOS(e)) {
            apr_bucket_delete(e);
            return flush ? ssi_out_flush(out) : APR_SUCCESS;
        }
        APR_BUCKET_REMOVE(e);
        ssi_out_bucket(out, e);
        return out->status;
    }
    if (!out->memory && capture_takes_over(e)) {
        APR_BUCKET_REMOVE(e);
        ssi_out_bucket(out, e);
        return out->status;
    }
    if (!out->memory && e->length != (apr_size_t)-1 && e->length > CAPTURE_KEEP)
        return capture_pass(out, e);
    rv = capture_read(out, e);
    apr_bucket_delete(e);
    return rv == APR_SUCCESS ? out->status : rv;
}

apr_status_t ssi_capture(ap_filter_t *f, apr_bucket_brigade *bb)
{
    include_ctx_t *ctx = ssi_ctx_of(f);
    ssi_out *out = &ctx->intern->out;
    ssi_link *link = ctx->intern->capture_link;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(f == &ctx->intern->capture);
    if (ssi_link_is_late(link))
        rv = APR_TIMEUP;
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb))
        rv = capture_bucket(out, APR_BRIGADE_FIRST(bb));
    apr_brigade_cleanup(bb);
    return rv;
}

/* ---- sub-requests ---- */

apr_time_t ssi_include_deadline(const ssi_state *s)
{
    apr_time_t own = s->conf->include_us ? brg_monotonic_now() + s->conf->include_us : 0;
    apr_time_t page = s->link->deadline; /* if the page is an include itself */

    return page && (!own || page < own) ? page : own;
}

ssi_link *ssi_sub_begin(include_ctx_t *ctx, request_rec *sub, apr_time_t deadline)
{
    ssi_state *s = ctx->intern;
    ssi_link *link = apr_pcalloc(sub->pool, sizeof *link);

    BRG_ASSERT(sub->main == ctx->r);
    BRG_ASSERT_TAG(s->top, SSI_TOP_TAG);
    link->top = s->top;
    link->parent = ctx->r;
    link->depth = s->link->depth + 1;
    link->deadline = deadline;
    ap_set_module_config(sub->request_config, &include_module, link);
    if (deadline && deadline - brg_monotonic_now() < sub->server->timeout) {
        link->server = sub->server = ssi_timeout_server(sub);
        ssi_sub_set_timeout(link, NULL);
    }
    return link;
}

void ssi_sub_end(request_rec *sub)
{
    const ssi_link *link = ap_get_module_config(sub->request_config, &include_module);

    if (!link || !link->besides)
        ap_destroy_sub_req(sub);
}

int ssi_sub_is_late(request_rec *sub, int status)
{
    ssi_link *link = ap_get_module_config(sub->request_config, &include_module);

    BRG_ASSERT(link && link->parent);
    return link->late || (status && ssi_link_is_late(link));
}

typedef struct include_state {
    int failed;   /* the last attempt */
    int given_up; /* the last two attempts failed: there is no further one */
    /* nginx's attributes: the block to show instead; a variable for the output */
    const char *stub, *set;
    int wait, attempts; /* the page waits for it; virtual, file, onerror */
} include_state;

static int include_limited(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;
    const ssi_dir_conf *conf = s->conf;

    if (conf->depth_most && s->link->depth >= conf->depth_most) {
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, ctx->r,
            "includes are nested more than SSIMaxDepth (%d) levels deep in parsed file %s",
            conf->depth_most, ctx->r->filename);
        return 1;
    }
    if (conf->includes_most && s->top->includes >= (unsigned)conf->includes_most) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      "page has more than SSIMaxIncludes (%d) includes, in parsed file %s",
                      conf->includes_most, ctx->r->filename);
        return 1;
    }
    s->top->includes++;
    return 0;
}

static request_rec *include_look_up(include_ctx_t *ctx, const ssi_arg *arg, const char *target)
{
    request_rec *r = ctx->r;
    ap_filter_t *next = &ctx->intern->capture;
    char *path;
    apr_status_t rv;

    ssi_env_ready(ctx);
    if (*arg->name != 'f')
        return r->kept_body ? ap_sub_req_method_uri(r->method, target, r, next)
                            : ap_sub_req_lookup_uri(target, r, next);
    rv = apr_filepath_merge(&path, NULL, target,
                            APR_FILEPATH_SECUREROOTTEST | APR_FILEPATH_NOTABSOLUTE, ssi_dpool(ctx));
    if (rv == APR_SUCCESS)
        return ap_sub_req_lookup_file(path, r, next);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "unable to include file \"%s\" in parsed file %s",
                  arg->decoded, r->filename);
    return NULL;
}

/* 1 if the sub-request may be run. Without exec, only text may be included, as in Apache. */
static int include_allowed(include_ctx_t *ctx, const ssi_arg *arg, const request_rec *sub)
{
    request_rec *r = ctx->r;

    if (sub->status != HTTP_OK) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "unable to include \"%s\" in parsed file %s, subrequest setup returned %d",
                      arg->decoded, r->filename, sub->status);
        return 0;
    }
    if ((ctx->flags & SSI_FLAG_NO_EXEC) && sub->content_type &&
        strncmp(sub->content_type, "text/", 5)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "unable to include potential exec \"%s\" in parsed file %s, content type not "
                      "text/*",
                      arg->decoded, r->filename);
        return 0;
    }
    return 1;
}

void ssi_log_late(const request_rec *r, const char *target)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "include of \"%s\" in parsed file %s took longer than SSIIncludeTimeout", target,
                  r->filename);
}

void ssi_log_failed(const request_rec *r, const char *target, int status)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "unable to include \"%s\" in parsed file %s, subrequest returned %d", target,
                  r->filename, status);
}

static int include_run(include_ctx_t *ctx, const ssi_arg *arg, const char *target, request_rec *sub,
                       int stored)
{
    ssi_state *s = ctx->intern;
    ssi_link *outer = s->capture_link, *link;
    int plain = ssi_is_plain_sub(sub), status;

    BRG_ASSERT(sub->status == HTTP_OK);
    s->capture_link = link = ssi_sub_begin(ctx, sub, ssi_include_deadline(s));
    status = ap_run_sub_req(sub);
    s->capture_link = outer;
    if (stored && !status)
        ssi_depends_stored(ctx, sub);
    else if (!plain && (sub->finfo.filetype != APR_NOFILE || status != HTTP_NOT_FOUND))
        ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    if (ssi_sub_is_late(sub, status)) {
        ssi_log_late(ctx->r, arg->decoded);
        return 0;
    }
    if (!status && s->lookups && link->is_as_file)
        ssi_lookup_keep(ctx, arg, target, sub, 1);
    if (!status)
        return 1;
    ssi_log_failed(ctx->r, arg->decoded, status);
    return 0;
}

/* On this thread. */
static int include_one(include_ctx_t *ctx, const ssi_arg *arg, const char *target)
{
    request_rec *sub = include_look_up(ctx, arg, target);
    int ok, stored;

    if (!sub)
        return 0;
    if (sub->status == BRG_WOULD_WAIT) {
        ssi_about_to_wait(ctx); /* the page runs again on a worker */
        ap_destroy_sub_req(sub);
        return 1;
    }
    stored = ssi_is_stored(sub);
    if (!stored)
        ssi_depends_lookup(ctx, sub);
    ok = include_allowed(ctx, arg, sub) && include_run(ctx, arg, target, sub, stored);
    ssi_sub_end(sub);
    return ok;
}

/*
 * On another worker, if it may have to be waited for.
 * @return 1 or 0: it is run, or was; or failed. INCLUDE_HERE: it is to be run on this thread, after another look-up
 */
#define INCLUDE_HERE (-1)

static int include_beside(include_ctx_t *ctx, const ssi_arg *arg, const char *target,
                          const char *stub)
{
    request_rec *sub;
    int ok, stored;

    ssi_env_ready(ctx);
    sub = brg_sub_req_apart(target, ctx->r, &ctx->intern->capture);
    stored = ssi_is_stored(sub);
    if (stored && !stub) {
        ok = include_allowed(ctx, arg, sub) && include_run(ctx, arg, target, sub, stored);
    } else if (!stored && sub->status == HTTP_OK && ssi_beside_is_for(sub) &&
               include_allowed(ctx, arg, sub)) {
        if (ssi_beside_start(ctx, arg, sub, stub))
            return 1;
        ok = INCLUDE_HERE;
    } else if (stub) {
        ok = INCLUDE_HERE;
    } else {
        ssi_depends_lookup(ctx, sub);
        ok = include_allowed(ctx, arg, sub) && include_run(ctx, arg, target, sub, 0);
    }
    ssi_sub_end(sub);
    return ok;
}

/* With set= the output becomes a variable; with stub= a block is shown instead if it is empty. */
static int include_kept(include_ctx_t *ctx, const ssi_arg *arg, const char *target,
                        const include_state *inc)
{
    ssi_state *s = ctx->intern;
    ssi_memory memory;
    const char *text, *stub = NULL;
    int ok;

    ssi_out_divert(&s->out, &memory, (apr_size_t)s->conf->value_bytes_most);
    ok = target && include_one(ctx, arg, target);
    text = ssi_out_restore(&s->out, &memory, ctx->pool);
    if (memory.overflow) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      "output of \"%s\" is over SSIMaxValue in parsed file %s", arg->decoded,
                      ctx->r->filename);
        ok = 0;
    }
    if ((!ok || !*text) && inc->stub && (stub = ssi_block_text(ctx, inc->stub)) != NULL)
        text = stub;
    else if (!ok)
        return 0;
    if (inc->set)
        ssi_var_set(ctx, inc->set, text);
    else
        ssi_out_text(&s->out, text);
    return 1;
}

/* The rest of the page does not need its outcome. */
static int include_may_be_beside(include_ctx_t *ctx, const ssi_arg *arg, const include_state *inc,
                                 const char *stub)
{
    return *arg->name == 'v' && inc->attempts == 1 && !inc->wait && !inc->set &&
           (!inc->stub || stub) && ssi_beside_may(ctx);
}

static int include_attempt(include_ctx_t *ctx, const ssi_arg *arg, const include_state *inc)
{
    const char *target = ssi_expand(ctx, arg->decoded, SSI_EXPAND_DROP_NAME);
    const char *stub = inc->stub ? ssi_block_text(ctx, inc->stub) : NULL;

    if (include_limited(ctx))
        target = NULL;
    else if (!inc->set && !inc->stub && ssi_lookup_show(ctx, arg, target))
        return 1;
    else if (include_may_be_beside(ctx, arg, inc, stub)) {
        int ok = include_beside(ctx, arg, target, stub);

        if (ok != INCLUDE_HERE)
            return ok;
    }
    return inc->set || inc->stub ? include_kept(ctx, arg, target, inc)
                                 : target && include_one(ctx, arg, target);
}

/* After two failures in a row the attributes that follow are not tried any more. */
static void include_next(include_ctx_t *ctx, const ssi_arg *arg, include_state *inc)
{
    int ok = include_attempt(ctx, arg, inc);

    inc->given_up = !ok && inc->failed;
    inc->failed = !ok;
}

/* @return 0: there is no such attribute */
static int include_attribute(include_ctx_t *ctx, void *state, const ssi_arg *arg)
{
    include_state *inc = state;

    if (inc->given_up)
        return 1;
    if (!strcmp(arg->name, "virtual")) {
        if (!inc->failed)
            include_next(ctx, arg, inc);
    } else if (!strcmp(arg->name, "file")) {
        include_next(ctx, arg, inc);
    } else if (!strcmp(arg->name, "onerror")) {
        if (inc->failed)
            include_next(ctx, arg, inc);
    } else if (strcmp(arg->name, "stub") && strcmp(arg->name, "set") && strcmp(arg->name, "wait")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01342) "unknown parameter \"%s\" to tag include in %s", arg->name,
                      ctx->r->filename);
        return 0;
    }
    return 1;
}

static void include_prepare(include_ctx_t *ctx, const ssi_arg *arg, include_state *inc)
{
    if (!strcmp(arg->name, "stub"))
        inc->stub = ssi_expand(ctx, arg->decoded, SSI_EXPAND_DROP_NAME);
    else if (!strcmp(arg->name, "set"))
        inc->set = ssi_expand(ctx, arg->decoded, SSI_EXPAND_DROP_NAME);
    else if (!strcmp(arg->name, "wait"))
        inc->wait = !strcmp(arg->decoded, "yes");
    else
        inc->attempts++;
}

apr_status_t ssi_do_include(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    const ssi_directive *d = ctx->intern->directive;
    include_state inc = {0};

    for (unsigned i = 0; i < d->args_n; i++)
        if (d->args[i].decoded)
            include_prepare(ctx, &d->args[i], &inc);
    ssi_attributes(ctx, APLOGNO(01341), 1, include_attribute, &inc);
    if (inc.failed)
        ssi_error(ctx);
    return APR_SUCCESS;
}
