/* SPDX-License-Identifier: Apache-2.0 */
/* A request as the backend of a script gets it, and the head that comes back: variables and fields of the request_rec. */
#include "exchange_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy_fcgi);

/* ---- variables ---- */

/* The body that a script gets has a length, however the client framed it. */
static void script_tell_length(request_rec *r, apr_off_t len)
{
    apr_table_setn(r->subprocess_env, "CONTENT_LENGTH",
                   apr_psprintf(r->pool, "%" APR_OFF_T_FMT, len));
    apr_table_unset(r->subprocess_env, "HTTP_TRANSFER_ENCODING");
}

static void script_decode(request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->subprocess_env, name);
    char *decoded = value ? apr_pstrdup(r->pool, value) : NULL;

    if (decoded && ap_unescape_url(decoded) == OK)
        apr_table_setn(r->subprocess_env, name, decoded);
}

/* The text behind the worker's path is PATH_INFO, as with mod_proxy_uwsgi. */
static void script_path_info(request_rec *r, const proxy_target *t)
{
    const char *path = t->path, *prefix = t->worker->prefix;
    const apr_size_t skip =
        strlen(prefix) && prefix[strlen(prefix) - 1] == '/' ? strlen(prefix) - 1 : strlen(prefix);
    char *info = apr_pstrmemdup(r->pool, path, strcspn(path, "?"));
    apr_size_t n, all = strlen(r->uri);

    if (strlen(info) >= skip && !strncmp(info, prefix, skip))
        info += skip;
    ap_unescape_url(info);
    n = strlen(info);
    if (!n || *info != '/' || n > all || strcmp(r->uri + all - n, info) != 0)
        return;
    apr_table_setn(r->subprocess_env, "SCRIPT_NAME", apr_pstrmemdup(r->pool, r->uri, all - n));
    apr_table_setn(r->subprocess_env, "PATH_INFO", info);
    script_decode(r, "SCRIPT_FILENAME");
}

int exchange_variable_is_named(const char *name)
{
    return !strncasecmp(name, "HTTP_", 5) || !strncasecmp(name, "CONTENT_", 8);
}

/* What an internal redirect merged may have a variable twice (DirectoryIndex), of which one is left. */
static void script_count_named(proxy_exchange *x)
{
    const apr_table_t *env = x->r->subprocess_env;
    const apr_array_header_t *all = apr_table_elts(env);
    const apr_table_entry_t *e = (const void *)all->elts;

    for (const apr_table_entry_t *end = e + all->nelts; e < end; e++)
        x->plan.named += exchange_variable_is_named(e->key) && apr_table_get(env, e->key) == e->val;
}

int exchange_variables(proxy_exchange *x)
{
    request_rec *r = x->r;
    int status;

    if (!x->codec->any_length && x->body.exists && !apr_table_get(r->headers_in, "Content-Length"))
        return HTTP_LENGTH_REQUIRED; /* as Apache's modules */
    if (x->plan.may)
        script_count_named(x);
    status = proxy_script_environment(r, x->target);

    if (status != OK)
        return status;
    if (x->body.over && x->body.exists)
        script_tell_length(r, x->body.read);
    if (x->codec->path_info)
        script_path_info(r, x->target);
    x->variables = r->subprocess_env;
    return OK;
}

/* ---- heads ---- */

/* ap_scan_script_header_err_core() reads by lines. */
typedef struct head_reader {
    const char *at, *end;
} head_reader;

static int head_gets(char *buf, int len, void *baton)
{
    head_reader *in = baton;
    const char *lf = memchr(in->at, '\n', (size_t)(in->end - in->at));
    size_t n = (size_t)((lf ? lf + 1 : in->end) - in->at);

    if (!n)
        return 0;
    if (n > (size_t)len - 1)
        n = (size_t)len - 1;
    memcpy(buf, in->at, n);
    buf[n] = '\0';
    in->at += n;
    return 1;
}

apr_status_t exchange_script_head(proxy_exchange *x, char *text, apr_size_t len)
{
    request_rec *r = x->r;
    head_reader in = {text, text + len};
    char buf[8192];
    int status;

    BRG_ASSERT(text && !text[len]);
    /* The server's own fields stay beside the script's, as with Apache; and so does the status of an error whose document
     * the script is, unless it says another. */
    if (!r->prev || !ap_is_HTTP_ERROR(r->prev->status))
        r->status = HTTP_OK;
    r->status_line = NULL;
    buf[0] = '\0';
    status = ap_scan_script_header_err_core_ex(r, buf, head_gets, &in, APLOG_MODULE_INDEX);
    if (status == HTTP_NOT_MODIFIED || status == HTTP_PRECONDITION_FAILED) {
        r->status = status;
        status = OK;
    }
    if (status != OK) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01070) "Error parsing script headers");
        x->answer.bad = buf[0] ? apr_pstrdup(r->pool, buf) : "malformed head of a script";
        return APR_EGENERAL;
    }
    x->answer.code = r->status;
    return APR_SUCCESS;
}
