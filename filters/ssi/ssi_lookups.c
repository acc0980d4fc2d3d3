/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups of include, fsize and flastmod, kept with the compiled page. A sub-request goes through all phases to find the same
 * file again. Where modules say that nothing but target, configuration and that file had a say (brg_sub_req_is_settled()), a
 * look at the file tells whether it would; if it is sent as it is, its content is taken from the page cache.
 *
 * They hold for requests that name the page in the same way, of the outermost page alone: its request came from the network.
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "apr_strings.h"
#include "brigade/subrequest.h"
#include "http_core.h"
#include <stdlib.h>

/* For which requests the look-ups of a page hold. One block with the strings behind it. */
struct ssi_lookups {
    const server_rec *server;
    int flags; /* SSI_FLAG_NO_EXEC, or 0 */
    const char *host;
    char uri[];
};

struct ssi_lookup {
    unsigned hash;      /* ssi_page_hash() */
    const ssi_arg *arg; /* the attribute of the directive that it is of */
    int as_file;        /* its content is shown as it is */
    apr_size_t bytes;
    apr_finfo_t finfo;
    char path[];
};

static void lookup_free(ssi_page *page, ssi_directive *d)
{
    if (!d || !d->lookup)
        return;
    ssi_page_charge(page, -(apr_ssize_t)d->lookup->bytes);
    free(d->lookup);
    d->lookup = NULL;
}

void ssi_lookups_free(ssi_page *page)
{
    for (unsigned i = 0; page->lookups && i < page->nodes_n; i++)
        lookup_free(page, page->nodes[i].directive);
    free(page->lookups);
    page->lookups = NULL;
}

static const char *lookups_host(const request_rec *r)
{
    return r->hostname ? r->hostname : "";
}

static int lookups_hold(const struct ssi_lookups *of, const request_rec *r, int flags)
{
    return of && of->server == r->server && of->flags == flags && !strcmp(of->uri, r->uri) &&
           !strcmp(of->host, lookups_host(r));
}

static void lookups_start(ssi_page *page, const request_rec *r, int flags)
{
    const char *host = lookups_host(r);
    apr_size_t uri_len = strlen(r->uri) + 1, host_len = strlen(host) + 1;
    struct ssi_lookups *of = malloc(sizeof *of + uri_len + host_len);

    ssi_lookups_free(page);
    if (!of)
        return;
    of->server = r->server;
    of->flags = flags;
    memcpy(of->uri, r->uri, uri_len);
    of->host = memcpy(of->uri + uri_len, host, host_len);
    page->lookups = of;
}

void ssi_lookups_begin(include_ctx_t *ctx, ssi_page *page)
{
    const request_rec *r = ctx->r;
    int flags = ctx->flags & SSI_FLAG_NO_EXEC;

    if (!page->cache || r->main || r->prev || r->method_number != M_GET || r->kept_body)
        return;
    if (!lookups_hold(page->lookups, r, flags))
        lookups_start(page, r, flags);
    ctx->intern->lookups = page->lookups != NULL;
}

/* The look-up that the running directive has of @a arg, whose value names no variable. */
static ssi_lookup *lookup_of(const include_ctx_t *ctx, const ssi_arg *arg, const char *target)
{
    const ssi_state *s = ctx->intern;
    ssi_lookup *l = s->lookups && target == arg->decoded ? s->directive->lookup : NULL;

    return l && l->arg == arg && !ap_is_recursion_limit_exceeded(ctx->r) ? l : NULL;
}

static ssi_directive *lookup_owner(const include_ctx_t *ctx)
{
    return (ssi_directive *)(apr_uintptr_t)ctx->intern->directive;
}

const apr_finfo_t *ssi_lookup_find(include_ctx_t *ctx, const ssi_arg *arg, const char *target)
{
    ssi_lookup *l = lookup_of(ctx, arg, target);

    if (!l)
        return NULL;
    if (!brg_file_is_same(ctx->r, l->path, &l->finfo)) {
        lookup_free(ctx->intern->page, lookup_owner(ctx));
        return NULL;
    }
    ssi_depends_file(ctx, l->path, &l->finfo);
    return &l->finfo;
}

int ssi_lookup_show(include_ctx_t *ctx, const ssi_arg *arg, const char *target)
{
    const ssi_lookup *l = lookup_of(ctx, arg, target);
    ssi_page *file;

    if (!l || !l->as_file || !ssi_lookup_find(ctx, arg, target) ||
        !(file = ssi_page_find(l->path, l->hash, &l->finfo)))
        return 0;
    ssi_out_span(&ctx->intern->out, file, 0, file->len);
    ssi_page_release(file);
    return 1;
}

/* A file that was changed shortly before may change again with the same time stamp. */
static int lookup_is_kept(const include_ctx_t *ctx, request_rec *sub)
{
    const ssi_identity id = ssi_identity_of(&sub->finfo);

    return sub->filename[0] == '/' && sub->finfo.filetype == APR_REG &&
           ssi_identity_is_stable(&id, ctx->r->request_time) && brg_sub_req_is_settled(sub);
}

void ssi_lookup_keep(include_ctx_t *ctx, const ssi_arg *arg, const char *target, request_rec *sub,
                     int as_file)
{
    ssi_state *s = ctx->intern;
    ssi_directive *d = lookup_owner(ctx);
    apr_size_t len;
    ssi_lookup *l;

    if (!s->lookups || target != arg->decoded || (d->lookup && d->lookup->arg != arg) ||
        !sub->filename || !lookup_is_kept(ctx, sub))
        return;
    BRG_ASSERT(s->page && s->page->lookups);
    lookup_free(s->page, d);
    len = strlen(sub->filename) + 1;
    if (!(l = malloc(sizeof *l + len)))
        return;
    *l =
        (ssi_lookup){.arg = arg, .as_file = as_file, .bytes = sizeof *l + len, .finfo = sub->finfo};
    l->finfo.pool = NULL;
    l->finfo.fname = l->finfo.name = NULL;
    l->finfo.filehand = NULL;
    memcpy(l->path, sub->filename, len);
    l->hash = ssi_page_hash(l->path);
    d->lookup = l;
    ssi_page_charge(s->page, (apr_ssize_t)l->bytes);
}
