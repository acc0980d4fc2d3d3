/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the chapter on developing modules of Apache's manual is about, in one module: a handler that
 * gives the digest of a file, its kind from the arguments or from a form, and directives with a
 * configuration per directory and per server, merged.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_md5.h"
#include "apr_sha1.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

module AP_MODULE_DECLARE_DATA manual_digest_module;

typedef struct digest_dir_conf {
    const char *context;
    int enabled, rounds; /* -1: not set */
    apr_array_header_t *kinds;
    const char *made_of; /* how merges were done */
} digest_dir_conf;

typedef struct digest_server_conf {
    const char *name;
    apr_table_t *notes;
} digest_server_conf;

static void *digest_create_dir(apr_pool_t *p, char *context)
{
    digest_dir_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->context = context ? context : "(server)";
    conf->enabled = conf->rounds = -1;
    conf->kinds = apr_array_make(p, 2, sizeof(const char *));
    conf->made_of = conf->context;
    return conf;
}

static void *digest_merge_dir(apr_pool_t *p, void *base, void *add)
{
    const digest_dir_conf *b = base, *a = add;
    digest_dir_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->context = a->context;
    conf->enabled = a->enabled < 0 ? b->enabled : a->enabled;
    conf->rounds = a->rounds < 0 ? b->rounds : a->rounds;
    conf->kinds = apr_array_append(p, b->kinds, a->kinds);
    conf->made_of = apr_pstrcat(p, b->made_of, "+", a->made_of, NULL);
    return conf;
}

static void *digest_create_server(apr_pool_t *p, server_rec *s)
{
    digest_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->notes = apr_table_make(p, 2);
    return conf;
}

static void *digest_merge_server(apr_pool_t *p, void *base, void *add)
{
    const digest_server_conf *b = base, *a = add;
    digest_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->name = a->name ? a->name : b->name;
    conf->notes = apr_table_overlay(p, a->notes, b->notes);
    return conf;
}

static const char *digest_set_enabled(cmd_parms *cmd, void *dir, int on)
{
    ((digest_dir_conf *)dir)->enabled = on;
    return NULL;
}

static const char *digest_set_rounds(cmd_parms *cmd, void *dir, const char *arg)
{
    digest_dir_conf *conf = dir;

    conf->rounds = atoi(arg);
    return conf->rounds > 0 && conf->rounds < 10
               ? NULL
               : apr_psprintf(cmd->pool, "%s takes 1 to 9, not %s", cmd->cmd->name, arg);
}

static const char *digest_add_kind(cmd_parms *cmd, void *dir, const char *arg)
{
    if (strcmp(arg, "md5") && strcmp(arg, "sha1"))
        return apr_pstrcat(cmd->pool, "unknown kind ", arg, NULL);
    APR_ARRAY_PUSH(((digest_dir_conf *)dir)->kinds, const char *) = arg;
    return NULL;
}

static const char *digest_set_name(cmd_parms *cmd, void *dir, const char *arg)
{
    digest_server_conf *conf =
        ap_get_module_config(cmd->server->module_config, &manual_digest_module);
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_LOC_FILE);

    conf->name = arg;
    return error;
}

static const char *digest_set_note(cmd_parms *cmd, void *dir, const char *name, const char *value)
{
    digest_server_conf *conf =
        ap_get_module_config(cmd->server->module_config, &manual_digest_module);

    apr_table_set(conf->notes, name, value ? value : "(none)");
    return NULL;
}

static const command_rec digest_commands[] = {
    AP_INIT_FLAG("ManualEnabled", digest_set_enabled, NULL, OR_ALL, "On or Off"),
    AP_INIT_TAKE1("ManualRounds", digest_set_rounds, NULL, ACCESS_CONF | OR_LIMIT, "a number"),
    AP_INIT_ITERATE("ManualKinds", digest_add_kind, NULL, OR_FILEINFO, "md5 and sha1"),
    AP_INIT_TAKE1("ManualName", digest_set_name, NULL, RSRC_CONF, "a name"),
    AP_INIT_TAKE12("ManualNote", digest_set_note, NULL, RSRC_CONF, "a name and a value"),
    {NULL}};

/* ---- the handler ---- */

static apr_status_t digest_file(request_rec *r, const char *kind, char *hex)
{
    unsigned char sum[APR_SHA1_DIGESTSIZE], buf[512];
    apr_size_t n = sizeof buf;
    apr_md5_ctx_t md5;
    apr_sha1_ctx_t sha1;
    apr_file_t *file;
    apr_status_t rv = apr_file_open(&file, r->filename, APR_READ, APR_OS_DEFAULT, r->pool);

    if (rv != APR_SUCCESS)
        return rv;
    apr_md5_init(&md5);
    apr_sha1_init(&sha1);
    while (apr_file_read(file, buf, &n) == APR_SUCCESS) {
        apr_md5_update(&md5, buf, n);
        apr_sha1_update(&sha1, (const char *)buf, (unsigned)n);
        n = sizeof buf;
    }
    apr_file_close(file);
    if (!strcmp(kind, "md5"))
        apr_md5_final(sum, &md5);
    else
        apr_sha1_final(sum, &sha1);
    ap_bin2hex(sum, !strcmp(kind, "md5") ? APR_MD5_DIGESTSIZE : APR_SHA1_DIGESTSIZE, hex);
    return APR_SUCCESS;
}

static const char *digest_value(request_rec *r, apr_bucket_brigade *bb)
{
    apr_off_t len;
    apr_size_t n;
    char *value;

    apr_brigade_length(bb, 1, &len);
    n = (apr_size_t)len;
    value = apr_palloc(r->pool, n + 1);
    apr_brigade_flatten(bb, value, &n);
    value[n] = '\0';
    return value;
}

/* Arguments, and over them what a form says. */
static apr_table_t *digest_words(request_rec *r)
{
    apr_array_header_t *pairs = NULL;
    apr_table_t *words;

    ap_args_to_table(r, &words);
    if (r->method_number == M_POST &&
        ap_parse_form_data(r, NULL, &pairs, -1, HUGE_STRING_LEN) == OK) {
        while (pairs && !apr_is_empty_array(pairs)) {
            ap_form_pair_t *pair = apr_array_pop(pairs);

            apr_table_set(words, pair->name, digest_value(r, pair->value));
        }
    }
    return words;
}

static int digest_say_word(void *r, const char *name, const char *value)
{
    ap_rprintf(r, "word %s = %s\n", ap_escape_html(((request_rec *)r)->pool, name),
               ap_escape_html(((request_rec *)r)->pool, value));
    return 1;
}

static int digest_say_note(void *r, const char *name, const char *value)
{
    ap_rprintf(r, "note %s = %s\n", name, value);
    return 1;
}

static void digest_say_conf(request_rec *r, const digest_dir_conf *conf)
{
    const digest_server_conf *server =
        ap_get_module_config(r->server->module_config, &manual_digest_module);

    ap_rprintf(r, "enabled %d, rounds %d, merges %s\n", conf->enabled, conf->rounds,
               strstr(conf->made_of, "+") ? "several" : "one");
    for (int i = 0; i < conf->kinds->nelts; i++)
        ap_rprintf(r, "kind %s\n", APR_ARRAY_IDX(conf->kinds, i, const char *));
    ap_rprintf(r, "server %s\n", server->name ? server->name : "(none)");
    apr_table_do(digest_say_note, r, server->notes, NULL);
}

static int digest_handler(request_rec *r)
{
    const digest_dir_conf *conf = ap_get_module_config(r->per_dir_config, &manual_digest_module);
    const char *kind;
    apr_table_t *words;
    char hex[2 * APR_SHA1_DIGESTSIZE + 1];

    if (!r->handler || strcmp(r->handler, "manual-digest"))
        return DECLINED;
    if (r->finfo.filetype == APR_NOFILE)
        return HTTP_NOT_FOUND;
    if (r->finfo.filetype == APR_DIR || conf->enabled != 1)
        return HTTP_FORBIDDEN;
    words = digest_words(r);
    kind = apr_table_get(words, "digest");
    ap_set_content_type(r, "text/plain");
    apr_table_setn(r->headers_out, "X-Content", r->content_type);
    apr_table_do(digest_say_word, r, words, NULL);
    digest_say_conf(r, conf);
    if (kind && digest_file(r, !strcmp(kind, "sha1") ? "sha1" : "md5", hex) == APR_SUCCESS)
        ap_rprintf(r, "%s %s\n", kind, hex);
    ap_rprintf(r, "%s %s %s %s\n", r->method, r->uri, r->args ? r->args : "(none)", r->path_info);
    return OK;
}

static void digest_hooks(apr_pool_t *p)
{
    ap_hook_handler(digest_handler, NULL, NULL, APR_HOOK_LAST);
}

module AP_MODULE_DECLARE_DATA manual_digest_module = {
    STANDARD20_MODULE_STUFF, digest_create_dir, digest_merge_dir, digest_create_server,
    digest_merge_server,     digest_commands,   digest_hooks,     0};
