/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of pages, and their replacement in values. Variables are the environment of the outermost
 * request, where some values are computed when they are first asked for, and the groups of the last match.
 */
#include "ssi_depends_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_user.h"

const char ssi_lazy[] = "";

static const char *var_user_name(const request_rec *r, apr_pool_t *p)
{
    char *name;

    return apr_uid_name_get(&name, r->finfo.user, p) == APR_SUCCESS ? name : "<unknown>";
}

static const char *var_date(include_ctx_t *ctx, const char *name, apr_pool_t *p)
{
    request_rec *r = ctx->r;

    if (!strcasecmp(name, "DATE_LOCAL"))
        return ap_ht_time(p, r->request_time, ctx->time_str, 0);
    if (!strcasecmp(name, "DATE_GMT"))
        return ap_ht_time(p, r->request_time, ctx->time_str, 1);
    return ap_ht_time(p, r->finfo.mtime, ctx->time_str, 0);
}

const char *ssi_date(include_ctx_t *ctx, const char *name)
{
    return var_date(ctx, name, ctx->intern->top->r->pool);
}

static const char *var_resolve(include_ctx_t *ctx, const char *name)
{
    apr_pool_t *p = ctx->intern->top->r->pool;
    const char *value =
        strcasecmp(name, "USER_NAME") ? var_date(ctx, name, p) : var_user_name(ctx->r, p);

    apr_table_setn(ctx->r->subprocess_env, name, value);
    return value;
}

const char *const ssi_date_names[3] = {"DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED"};

void ssi_vars_add(request_rec *r)
{
    apr_table_t *env = r->subprocess_env;
    const char *slash = r->filename ? strrchr(r->filename, '/') : NULL;

    for (size_t i = 0; i < sizeof ssi_date_names / sizeof *ssi_date_names; i++)
        apr_table_setn(env, ssi_date_names[i], ssi_lazy);
    apr_table_setn(env, "DOCUMENT_URI", r->uri);
    apr_table_setn(env, "DOCUMENT_ARGS", r->args ? r->args : "");
    if (r->path_info && *r->path_info)
        apr_table_setn(env, "DOCUMENT_PATH_INFO", r->path_info);
    apr_table_setn(env, "USER_NAME", r->finfo.valid & APR_FINFO_USER ? ssi_lazy : "<unknown>");
    apr_table_setn(env, "DOCUMENT_NAME", slash ? slash + 1 : r->uri);
}

void ssi_vars_dates(include_ctx_t *ctx)
{
    if (ssi_env_dates_early(ctx))
        return;
    ssi_env_ready(ctx);
    for (size_t i = 0; i < sizeof ssi_date_names / sizeof *ssi_date_names; i++)
        var_resolve(ctx, ssi_date_names[i]);
}

void ssi_vars_resolve(include_ctx_t *ctx)
{
    const apr_array_header_t *env;
    const apr_table_entry_t *e;

    ssi_env_ready(ctx);
    env = apr_table_elts(ctx->r->subprocess_env);
    e = (const apr_table_entry_t *)(const void *)env->elts;
    for (int i = 0; i < env->nelts; i++)
        if (e[i].val == ssi_lazy)
            var_resolve(ctx, e[i].key);
}

/* ---- groups ---- */

static const char *var_group(include_ctx_t *ctx, apr_size_t i)
{
    const ssi_match *m = &ctx->intern->match;

    BRG_ASSERT(i < SSI_MATCHES);
    BRG_ASSERT(!m->matched || (m->any && m->source));
    if (!m->matched) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ctx->r,
                      APLOGNO(01329) "regex capture $%" APR_SIZE_T_FMT " refers to no regex in %s",
                      i, ctx->r->filename);
        return NULL;
    }
    if (i > m->groups) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ctx->r,
                      APLOGNO(01330) "regex capture $%" APR_SIZE_T_FMT
                                     " is out of range (last regex was: '%s') in %s",
                      i, m->pattern ? m->pattern : "(null)", ctx->r->filename);
        return NULL;
    }
    if (m->at[i].rm_so < 0 || m->at[i].rm_eo < m->at[i].rm_so)
        return NULL;
    return apr_pstrmemdup(ssi_dpool(ctx), m->source + m->at[i].rm_so,
                          (apr_size_t)(m->at[i].rm_eo - m->at[i].rm_so));
}

/* ---- reading and writing ---- */

/* Values that come from the page's own file need not be compared: the page is. */
static void var_note(ssi_top *top, const char *name, const char *value)
{
    int of_file = !strcasecmp(name, "LAST_MODIFIED") || !strcasecmp(name, "USER_NAME");

    ssi_rendering_read(top, name, value, of_file ? SSI_READ_PAGE : SSI_READ_VARIABLE);
}

const char *ssi_var_get(include_ctx_t *ctx, const char *name)
{
    const char *value;

    BRG_ASSERT_TAG(ctx->intern, SSI_STATE_TAG);
    if (apr_isdigit(name[0]) && !name[1])
        return var_group(ctx, (apr_size_t)(name[0] - '0'));
    ssi_depends_variable(ctx, name);
    if (!ssi_env_early(ctx, name, &value)) {
        ssi_env_ready(ctx);
        value = apr_table_get(ctx->r->subprocess_env, name);
    }
    var_note(ctx->intern->top, name, value);
    return value == ssi_lazy ? var_resolve(ctx, name) : value;
}

void ssi_var_set(include_ctx_t *ctx, const char *name, const char *value)
{
    apr_pool_t *p = ctx->intern->top->r->pool;

    BRG_ASSERT_TAG(ctx->intern->top, SSI_TOP_TAG);
    ssi_rendering_read(ctx->intern->top, name, NULL, SSI_READ_PAGE);
    name = apr_pstrdup(p, name);
    value = apr_pstrdup(p, value);
    if (ssi_env_set_early(ctx, name, value))
        return;
    ssi_env_ready(ctx);
    apr_table_setn(ctx->r->subprocess_env, name, value);
}

/* ---- replacement ---- */

typedef struct var_piece {
    const char *text;
    apr_size_t len;
} var_piece;

typedef struct var_pieces {
    apr_array_header_t *list;
    apr_size_t len;
} var_pieces;

static void piece_add(var_pieces *out, const char *text, apr_size_t len)
{
    var_piece *piece;

    if (!len)
        return;
    piece = apr_array_push(out->list);
    piece->text = text;
    piece->len = len;
    out->len += len;
}

/* @a in: after the '$'. @return the text behind the variable; NULL: a brace is not closed, stop */
static const char *piece_var(include_ctx_t *ctx, var_pieces *out, const char *in, int leave_name)
{
    int brace = *in == '{';
    const char *name = in + brace, *end = name, *value;

    BRG_ASSERT(in[-1] == '$');
    if (brace) {
        if (!(end = strchr(name, '}'))) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                          APLOGNO(01331) "Missing '}' on variable \"%s\" in %s", name,
                          ctx->r->filename);
            return NULL;
        }
    } else {
        while (apr_isalnum(*end) || *end == '_')
            end++;
    }
    if (end == name) {
        piece_add(out, in - 1, (apr_size_t)(end - in) + 1);
        return end;
    }
    value = ssi_var_get(ctx, apr_pstrmemdup(ssi_dpool(ctx), name, (apr_size_t)(end - name)));
    end += brace;
    if (value)
        piece_add(out, value, strlen(value));
    else if (leave_name)
        piece_add(out, in - 1, (apr_size_t)(end - in) + 1);
    return end;
}

static void pieces_make(include_ctx_t *ctx, var_pieces *out, const char *in, int leave_name)
{
    out->list = apr_array_make(ssi_dpool(ctx), 8, sizeof(var_piece));
    out->len = 0;
    while (in && *in) {
        apr_size_t n = strcspn(in, "$\\");

        piece_add(out, in, n);
        in += n;
        if (*in == '\\') {
            int escape = in[1] == '$';

            piece_add(out, in + escape, 1);
            in += 1 + escape;
        } else if (*in == '$') {
            in = piece_var(ctx, out, in + 1, leave_name);
        }
    }
}

/* At most @a room bytes with the NUL. */
static char *pieces_copy(const var_pieces *pieces, char *out, apr_size_t room)
{
    char *at = out;

    BRG_ASSERT(room > 0);
    room--;
    for (int i = 0; i < pieces->list->nelts; i++) {
        const var_piece *piece = &APR_ARRAY_IDX(pieces->list, i, var_piece);
        apr_size_t n = piece->len < room ? piece->len : room;

        memcpy(at, piece->text, n);
        at += n;
        room -= n;
    }
    *at = '\0';
    return out;
}

static int pieces_too_long(include_ctx_t *ctx, const var_pieces *pieces)
{
    apr_off_t most = ctx->intern->conf->value_bytes_most;

    if (!most || (apr_off_t)pieces->len <= most)
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                  "value of %" APR_SIZE_T_FMT " bytes is over SSIMaxValue in %s", pieces->len,
                  ctx->r->filename);
    ssi_error(ctx);
    return 1;
}

const char *ssi_expand(include_ctx_t *ctx, const char *in, int leave_name)
{
    var_pieces pieces;

    if (!strchr(in, '$'))
        return in;
    pieces_make(ctx, &pieces, in, leave_name);
    if (pieces_too_long(ctx, &pieces))
        return "";
    return pieces_copy(&pieces, apr_palloc(ssi_dpool(ctx), pieces.len + 1), pieces.len + 1);
}

char *ssi_expand_into(include_ctx_t *ctx, const char *in, char *out, apr_size_t len, int leave_name)
{
    var_pieces pieces;

    pieces_make(ctx, &pieces, in, leave_name);
    if (!out)
        return pieces_copy(&pieces, apr_palloc(ctx->dpool, pieces.len + 1), pieces.len + 1);
    return len ? pieces_copy(&pieces, out, len) : out;
}
