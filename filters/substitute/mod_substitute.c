/* SPDX-License-Identifier: Apache-2.0 */
/* mod_substitute: SUBSTITUTE, a filter that replaces strings and patterns in each line of a response. */
#include "substitute_private.h"
#include "http_log.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <limits.h>
#include <string.h>

#define SUBST_LINE (1024 * 1024)    /* SubstituteMaxLineLength, where it is not set */
#define SUBST_LOOP_MOST (64 * 1024) /* bytes of a file that an event loop works on */
#define SUBST_PASS (64 * 1024)      /* bytes that are passed on at a time */

extern module substitute_module;
APLOG_USE_MODULE(substitute);

typedef struct subst_conf {
    apr_array_header_t *rules; /* subst_rule */
    apr_size_t most;
    int most_set, inherit_before; /* -1: not set */
} subst_conf;

typedef struct subst_ctx {
    struct ap_varbuf held; /* a line that has no end yet */
    apr_bucket_brigade *out;
    apr_size_t out_len;
    apr_pool_t *scratch; /* for a line */
    apr_status_t failed;
} subst_ctx;

static void *subst_create(apr_pool_t *p, char *dir)
{
    subst_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->rules = apr_array_make(p, 4, sizeof(subst_rule));
    conf->most = SUBST_LINE;
    conf->inherit_before = -1;
    return conf;
}

static void *subst_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const subst_conf *base = base_conf, *add = add_conf;
    subst_conf *conf = apr_palloc(p, sizeof *conf);

    conf->inherit_before = add->inherit_before >= 0 ? add->inherit_before : base->inherit_before;
    conf->rules = conf->inherit_before == 1 ? apr_array_append(p, base->rules, add->rules)
                                            : apr_array_append(p, add->rules, base->rules);
    conf->most = add->most_set ? add->most : base->most;
    conf->most_set = add->most_set || base->most_set;
    return conf;
}

/* ---- the filter ---- */

static subst_ctx *subst_begin(ap_filter_t *f)
{
    subst_ctx *ctx = apr_pcalloc(f->r->pool, sizeof *ctx);

    ap_varbuf_init(f->r->pool, &ctx->held, 0);
    ctx->out = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    apr_pool_create(&ctx->scratch, f->r->pool);
    apr_pool_tag(ctx->scratch, "substitute");
    apr_table_unset(f->r->headers_out, "Content-Length");
    return ctx;
}

static apr_status_t subst_pass(ap_filter_t *f, subst_ctx *ctx)
{
    apr_status_t rv =
        APR_BRIGADE_EMPTY(ctx->out) ? APR_SUCCESS : ap_pass_brigade(f->next, ctx->out);

    apr_brigade_cleanup(ctx->out);
    ctx->out_len = 0;
    return rv;
}

static apr_status_t subst_one_line(ap_filter_t *f, subst_ctx *ctx, const subst_conf *conf,
                                   const char *data, apr_size_t len)
{
    apr_array_header_t *pieces;
    apr_status_t rv;

    apr_pool_clear(ctx->scratch);
    pieces = apr_array_make(ctx->scratch, 1, sizeof(subst_piece));
    APR_ARRAY_PUSH(pieces, subst_piece) = (subst_piece){data, len};
    rv = subst_line(f->r, ctx->scratch, conf->rules, conf->most, &pieces);
    for (int i = 0; i < pieces->nelts && rv == APR_SUCCESS; i++) {
        const subst_piece *piece = &APR_ARRAY_IDX(pieces, i, subst_piece);

        rv = apr_brigade_write(ctx->out, NULL, NULL, piece->data, piece->len);
        ctx->out_len += piece->len;
    }
    if (rv == APR_SUCCESS && ctx->out_len >= SUBST_PASS)
        return subst_pass(f, ctx);
    return rv;
}

/* A line that began in another bucket. */
static apr_status_t subst_held_line(ap_filter_t *f, subst_ctx *ctx, const subst_conf *conf)
{
    const apr_size_t len = ctx->held.strlen;

    ctx->held.strlen = 0;
    return len ? subst_one_line(f, ctx, conf, ctx->held.buf, len) : APR_SUCCESS;
}

/* Lines that are in one bucket as a whole may be longer. */
static int subst_may_hold(const subst_ctx *ctx, const subst_conf *conf, apr_size_t len)
{
    return len <= conf->most && ctx->held.strlen <= conf->most - len;
}

static apr_status_t subst_data(ap_filter_t *f, subst_ctx *ctx, const subst_conf *conf,
                               const char *data, apr_size_t len)
{
    apr_status_t rv = APR_SUCCESS;

    for (const char *end; rv == APR_SUCCESS && len && (end = memchr(data, '\n', len));) {
        const apr_size_t n = (apr_size_t)(end + 1 - data);

        if (ctx->held.strlen) {
            if (!subst_may_hold(ctx, conf, n))
                return APR_ENOMEM;
            ap_varbuf_strmemcat(&ctx->held, data, (int)n);
            rv = subst_held_line(f, ctx, conf);
        } else {
            rv = subst_one_line(f, ctx, conf, data, n);
        }
        data += n;
        len -= n;
    }
    if (rv != APR_SUCCESS || !len)
        return rv;
    if (!subst_may_hold(ctx, conf, len))
        return APR_ENOMEM;
    ap_varbuf_strmemcat(&ctx->held, data, (int)len);
    return APR_SUCCESS;
}

static apr_status_t subst_bucket(ap_filter_t *f, subst_ctx *ctx, const subst_conf *conf,
                                 apr_bucket *b)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = APR_SUCCESS;

    if (APR_BUCKET_IS_METADATA(b)) {
        if (APR_BUCKET_IS_EOS(b))
            rv = subst_held_line(f, ctx, conf);
        if (rv != APR_SUCCESS)
            return rv;
        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(ctx->out, b);
        return rv;
    }
    rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
    if (rv == APR_SUCCESS)
        rv = subst_data(f, ctx, conf, data, len);
    apr_bucket_delete(b);
    return rv;
}

/* The response ends where it is: later data is not passed on, so that its client sees that it is
 * not complete. */
static apr_status_t subst_fail(ap_filter_t *f, subst_ctx *ctx, apr_status_t rv)
{
    if (rv == APR_ENOMEM) {
        subst_pass(f, ctx);
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r, APLOGNO(01328) "Line too long, URI %s",
                      f->r->uri);
        f->c->keepalive = AP_CONN_CLOSE;
        ctx->failed = rv;
    }
    apr_brigade_cleanup(ctx->out);
    return rv;
}

static apr_status_t subst_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const subst_conf *conf = ap_get_module_config(f->r->per_dir_config, &substitute_module);
    subst_ctx *ctx = f->ctx;
    apr_status_t rv;

    /* Without a rule, too, the length is not known and the end comes apart, as in Apache. */
    if (!ctx)
        ctx = f->ctx = subst_begin(f);
    rv = ctx->failed;
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);
        const int goes = !APR_BUCKET_IS_METADATA(b) || APR_BUCKET_IS_FLUSH(b);

        rv = subst_bucket(f, ctx, conf, b);
        if (rv != APR_SUCCESS)
            rv = subst_fail(f, ctx, rv);
        else if (goes)
            rv = subst_pass(f, ctx);
    }
    apr_brigade_cleanup(bb);
    return rv == APR_SUCCESS ? subst_pass(f, ctx) : rv;
}

/* ---- directives ---- */

static const char *subst_set_rule(cmd_parms *cmd, void *mconfig, const char *line)
{
    subst_conf *conf = mconfig;
    subst_rule rule;
    const char *error = subst_parse(cmd->pool, line, &rule);

    if (!error)
        APR_ARRAY_PUSH(conf->rules, subst_rule) = rule;
    return error;
}

static apr_off_t subst_unit(char c)
{
    switch (c) {
    case 'K':
    case 'k':
        return 1024;
    case 'M':
    case 'm':
        return 1024 * 1024;
    case 'G':
    case 'g':
        return 1024 * 1024 * 1024;
    default:
        return c == '\0' || c == 'B' || c == 'b';
    }
}

static const char *subst_set_most(cmd_parms *cmd, void *mconfig, const char *arg)
{
    subst_conf *conf = mconfig;
    apr_off_t n, unit;
    char *end;
    apr_status_t rv = apr_strtoff(&n, arg, &end, 10);

    unit = subst_unit(*end);
    if (rv != APR_SUCCESS || !unit || n < 0 || (*end && end[1]))
        return "SubstituteMaxLineLength must be a non-negative integer optionally suffixed with "
               "'b', 'k', 'm' or 'g'.";
    if (n > APR_INT64_MAX / unit)
        return "SubstituteMaxLineLength value too large";
    conf->most = (apr_size_t)(n * unit);
    conf->most_set = 1;
    return NULL;
}

static const char *subst_set_inherit(cmd_parms *cmd, void *mconfig, int on)
{
    ((subst_conf *)mconfig)->inherit_before = on;
    return NULL;
}

static const command_rec subst_commands[] = {
    AP_INIT_TAKE1("Substitute", subst_set_rule, NULL, OR_FILEINFO,
                  "Pattern to filter the response content (s/foo/bar/[inf])"),
    AP_INIT_TAKE1("SubstituteMaxLineLength", subst_set_most, NULL, OR_FILEINFO,
                  "Maximum line length"),
    AP_INIT_FLAG("SubstituteInheritBefore", subst_set_inherit, NULL, OR_FILEINFO,
                 "whether inherited patterns come first"),
    {0},
};

/* ---- registration ---- */

static ap_filter_rec_t *subst_rec;

/* Much text takes long. */
static void subst_choose_thread(request_rec *r)
{
    if (r->output_filters == r->proto_output_filters || /* none that handles content */
        (r->finfo.filetype == APR_REG && r->finfo.size <= SUBST_LOOP_MOST))
        return;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec == subst_rec && f->r == r) {
            brg_request_needs_worker(r);
            return;
        }
}

static void subst_register_hooks(apr_pool_t *p)
{
    subst_rec = ap_register_output_filter("SUBSTITUTE", subst_filter, NULL, AP_FTYPE_RESOURCE);
    ap_hook_insert_filter(subst_choose_thread, NULL, NULL, APR_HOOK_LAST);
    brg_cache_declare(&substitute_module, NULL);
    brg_hooks_need_directive(&substitute_module, "insert_filter", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&substitute_module);
}

module AP_MODULE_DECLARE_DATA substitute_module = {
    STANDARD20_MODULE_STUFF, subst_create,         subst_merge, NULL, NULL,
    subst_commands,          subst_register_hooks, 0,
};
