/* SPDX-License-Identifier: Apache-2.0 */
/* State of a page, and of the outermost request that it and its includes belong to. */
#include "ssi_depends_private.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_strings.h"

ssi_link *ssi_link_of(request_rec *r)
{
    ssi_link *link = ap_get_module_config(r->request_config, &include_module);

    if (link) {
        BRG_ASSERT_TAG(link->top, SSI_TOP_TAG);
        return link;
    }
    link = apr_pcalloc(r->pool, sizeof *link);
    link->top = apr_pcalloc(r->pool, sizeof *link->top);
    link->top->tag = SSI_TOP_TAG;
    link->top->r = r;
    link->top->cache_paths_n = brg_cache_dependencies(r, 0, NULL, 0);
    ap_set_module_config(r->request_config, &include_module, link);
    return link;
}

/* An included page uses the environment of the page that includes it, and has its date. */
static void context_join(request_rec *r, const ssi_link *link)
{
    BRG_ASSERT(link->parent && link->parent != r);
    r->subprocess_env = link->parent->subprocess_env;
    r->finfo.mtime = link->parent->finfo.mtime;
}

include_ctx_t *ssi_context_create(ap_filter_t *f)
{
    request_rec *r = f->r;
    include_ctx_t *ctx = apr_pcalloc(r->pool, sizeof *ctx);
    ssi_state *s = apr_pcalloc(r->pool, sizeof *s);

    BRG_ASSERT(!f->ctx);
    f->ctx = ctx;
    ctx->pool = r->pool;
    apr_pool_create(&ctx->dpool, r->pool);
    apr_pool_tag(ctx->dpool, "includes_dpool");
    ctx->r = r;
    ctx->intern = s;
    ctx->flags = SSI_FLAG_PRINTING | SSI_FLAG_COND_TRUE;
    if (!(ap_allow_options(r) & OPT_INC_WITH_EXEC))
        ctx->flags |= SSI_FLAG_NO_EXEC;
    s->tag = SSI_STATE_TAG;
    s->ctx = ctx;
    s->f = f;
    s->conf = ssi_conf_resolved(r);
    s->tags = ssi_tags_of(r);
    s->link = ssi_link_of(r);
    s->top = s->link->top;
    BRG_ASSERT((s->link->depth == 0) == (s->link->parent == NULL));
    ctx->error_str = ssi_error_message(s->conf);
    ctx->time_str = ssi_time_format(s->conf);
    s->undefined_echo = ssi_undefined_echo(s->conf);
    ssi_out_init(&s->out, f);
    if (s->conf->last_modified == SSI_PARTS || s->conf->etag == SSI_PARTS)
        s->out.gather = SSI_OUT_GATHER_PARTS;
    s->capture.frec = ssi_capture_handle;
    s->capture.ctx = ctx;
    s->capture.next = f->next;
    s->capture.r = r;
    s->capture.c = f->c;
    if (s->link->parent) {
        context_join(r, s->link);
        ssi_rendering_read(s->top, "QUERY_STRING", NULL, SSI_READ_PAGE);
        ssi_rendering_read(s->top, "QUERY_STRING_UNESCAPED", NULL, SSI_READ_PAGE);
        ssi_env_add_query(r, s->top);
    }
    if (r->finfo.filetype == APR_REG)
        ssi_depends_path(s->top, r->filename, &r->finfo);
    else
        ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    return ctx;
}

static int context_group_may_execute(const ssi_dir_conf *conf, const request_rec *r)
{
    return conf->xbithack == SSI_XBIT_FULL && (r->finfo.valid & APR_FINFO_GPROT) &&
           (r->finfo.protection & APR_GEXECUTE);
}

/* Last-Modified is the file's modification time. */
static void context_take_mtime(request_rec *r)
{
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
}

void ssi_headers_prepare(request_rec *r, const ssi_dir_conf *conf)
{
    apr_table_unset(r->headers_out, "Content-Length");
    if (conf->etag != SSI_ON) /* a backend's is not that of the page */
        apr_table_unset(r->headers_out, "ETag");
    if (conf->last_modified == SSI_ON) {
        if (r->finfo.mtime && !apr_table_get(r->headers_out, "Last-Modified"))
            context_take_mtime(r);
    } else if (conf->last_modified != SSI_PARTS && context_group_may_execute(conf, r)) {
        context_take_mtime(r);
    } else {
        apr_table_unset(r->headers_out, "Last-Modified");
    }
}

/* The handler must not send 304 by the file's date, nor the file's ETag. */
int ssi_filter_init(ap_filter_t *f)
{
    const ssi_dir_conf *conf = ssi_conf_of(f->r);

    if (!context_group_may_execute(conf, f->r))
        f->r->no_local_copy = 1;
    if (conf->etag != SSI_ON)
        apr_table_setn(f->r->notes, "no-etag", "");
    return OK;
}

void ssi_error(include_ctx_t *ctx)
{
    ssi_out_text(&ctx->intern->out, ctx->error_str);
}
