/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of the core's per-directory settings. */
#include "httpd.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "ap_expr.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "core_private.h"
#include "http_error.h"

APLOG_USE_MODULE(core);

/* One word out of a list. */
typedef struct core_word {
    const char *name;
    int value;
} core_word;

static int core_pick(const core_word *words, const char *arg, int *value)
{
    BRG_ASSERT(words != NULL && arg != NULL);
    for (; words->name; words++) {
        if (!ap_cstr_casecmp(arg, words->name)) {
            *value = words->value;
            return 1;
        }
    }
    return 0;
}

static const char *core_word_meant(apr_pool_t *p, const core_word *words, const char *arg)
{
    brg_nearest nearest = {arg, NULL, 0};

    for (; words->name; words++)
        brg_nearest_offer(&nearest, words->name);
    return brg_nearest_question(p, &nearest);
}

const char *core_set_accept_path_info(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {{"on", AP_REQ_ACCEPT_PATH_INFO},
                                      {"off", AP_REQ_REJECT_PATH_INFO},
                                      {"default", AP_REQ_DEFAULT_PATH_INFO},
                                      {NULL, 0}};

    return core_pick(words, arg, &((core_dir_config *)dir)->accept_path_info)
               ? NULL
               : "AcceptPathInfo must be set to on, off or default";
}

const char *core_set_default_charset(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {
        {"off", ADD_DEFAULT_CHARSET_OFF}, {"on", ADD_DEFAULT_CHARSET_ON}, {NULL, 0}};
    core_dir_config *d = dir;
    int state = ADD_DEFAULT_CHARSET_ON;

    d->add_default_charset_name = DEFAULT_ADD_DEFAULT_CHARSET_NAME;
    if (!core_pick(words, arg, &state))
        d->add_default_charset_name = arg;
    d->add_default_charset = (unsigned)state & 3;
    return NULL;
}

const char *core_set_default_type(cmd_parms *cmd, void *dir, const char *arg)
{
    if (ap_cstr_casecmp(arg, "off") && ap_cstr_casecmp(arg, "none"))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     APLOGNO(00117) "Ignoring deprecated use of DefaultType in line %d of %s.",
                     cmd->directive->line_num, cmd->directive->filename);
    return NULL;
}

const char *core_set_hostname_lookups(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {{"on", HOSTNAME_LOOKUP_ON},
                                      {"off", HOSTNAME_LOOKUP_OFF},
                                      {"double", HOSTNAME_LOOKUP_DOUBLE},
                                      {NULL, 0}};
    int state;

    if (!core_pick(words, arg, &state))
        return "parameter must be 'on', 'off', or 'double'";
    ((core_dir_config *)dir)->hostname_lookups = (unsigned)state & 15;
    if (state != HOSTNAME_LOOKUP_OFF)
        brg_phases_need_worker();
    return NULL;
}

const char *core_set_server_signature(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {
        {"on", srv_sig_on}, {"off", srv_sig_off}, {"email", srv_sig_withmail}, {NULL, 0}};
    int state;

    if (!core_pick(words, arg, &state))
        return "ServerSignature: use one of: off | on | email";
    ((core_dir_config *)dir)->server_signature = (server_signature_e)state;
    return NULL;
}

const char *core_set_builtin_pages(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {{"apache", BRG_PAGES_APACHE},
                                      {"modern", BRG_PAGES_MODERN},
                                      {"negotiated", BRG_PAGES_NEGOTIATED},
                                      {NULL, 0}};
    int pages;

    if (!core_pick(words, arg, &pages))
        return "BuiltinPages must be followed by apache, modern or negotiated";
    core_set_pages(dir, (brg_pages)pages);
    return NULL;
}

const char *core_set_canonical_name(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {{"on", USE_CANONICAL_NAME_ON},
                                      {"off", USE_CANONICAL_NAME_OFF},
                                      {"dns", USE_CANONICAL_NAME_DNS},
                                      {NULL, 0}};
    int state;

    if (!core_pick(words, arg, &state))
        return "parameter must be 'on', 'off', or 'dns'";
    ((core_dir_config *)dir)->use_canonical_name = (unsigned)state & 3;
    return NULL;
}

static const core_word core_on_off[] = {{"on", 1}, {"off", 0}, {NULL, 0}};

const char *core_set_enable_mmap(cmd_parms *cmd, void *dir, const char *arg)
{
    int on;

    if (!core_pick(core_on_off, arg, &on))
        return "parameter must be 'on' or 'off'";
    ((core_dir_config *)dir)->enable_mmap = on ? ENABLE_MMAP_ON : ENABLE_MMAP_OFF;
    return NULL;
}

const char *core_set_enable_sendfile(cmd_parms *cmd, void *dir, const char *arg)
{
    int on;

    if (!core_pick(core_on_off, arg, &on))
        return "parameter must be 'on' or 'off'";
    ((core_dir_config *)dir)->enable_sendfile = on ? ENABLE_SENDFILE_ON : ENABLE_SENDFILE_OFF;
    return NULL;
}

const char *core_set_content_md5(cmd_parms *cmd, void *dir, int on)
{
    ((core_dir_config *)dir)->content_md5 = on ? AP_CORE_CONFIG_ON : AP_CORE_CONFIG_OFF;
    return NULL;
}

const char *core_set_canonical_phys_port(cmd_parms *cmd, void *dir, const char *arg)
{
    int on;

    if (!core_pick(core_on_off, arg, &on))
        return "parameter must be 'on' or 'off'";
    ((core_dir_config *)dir)->use_canonical_phys_port =
        on ? USE_CANONICAL_PHYS_PORT_ON : USE_CANONICAL_PHYS_PORT_OFF;
    return NULL;
}

const char *core_set_cgi_pass_auth(cmd_parms *cmd, void *dir, int on)
{
    ((core_dir_config *)dir)->cgi_pass_auth = on ? AP_CGI_PASS_AUTH_ON : AP_CGI_PASS_AUTH_OFF;
    return NULL;
}

const char *core_set_qualify_redirect_url(cmd_parms *cmd, void *dir, int on)
{
    ((core_dir_config *)dir)->qualify_redirect_url = on ? AP_CORE_CONFIG_ON : AP_CORE_CONFIG_OFF;
    return NULL;
}

const char *core_set_encoded_slashes_arg(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_word words[] = {{"off", 0}, {"on", 1}, {"nodecode", 2}, {NULL, 0}};
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    int mode;

    if (error)
        return error;
    if (!core_pick(words, arg, &mode))
        return "AllowEncodedSlashes must be On, Off, or NoDecode";
    core_set_encoded_slashes(dir, mode > 0, mode == 1);
    return NULL;
}

/* ---- FileETag ---- */

static const core_word core_etag_words[] = {{"MTime", ETAG_MTIME},
                                            {"Size", ETAG_SIZE},
                                            {"INode", ETAG_INODE},
                                            {"Digest", ETAG_DIGEST},
                                            {"All", ETAG_ALL},
                                            {"None", ETAG_NONE},
                                            {NULL, 0}};

static void core_etag_apply(core_dir_config *d, char sign, etag_components_t bit)
{
    BRG_ASSERT(!sign || (bit != ETAG_ALL && bit != ETAG_NONE));
    if (sign == '+') {
        d->etag_add |= bit;
        d->etag_remove &= ~bit;
    } else if (sign == '-') {
        d->etag_remove |= bit;
        d->etag_add &= ~bit;
    } else {
        d->etag_bits =
            bit == ETAG_NONE ? ETAG_NONE : (d->etag_bits & ~(unsigned long)ETAG_NONE) | bit;
    }
}

const char *core_set_file_etag(cmd_parms *cmd, void *dir, const char *args)
{
    core_dir_config *d = dir;

    d->etag_bits = ETAG_UNSET;
    d->etag_add = d->etag_remove = ETAG_UNSET;
    while (*args) {
        char *word = ap_getword_conf(cmd->pool, &args);
        char sign = *word == '+' || *word == '-' ? *word++ : '\0';
        int bit;

        if (!core_pick(core_etag_words, word, &bit))
            return apr_psprintf(cmd->pool, "Unknown keyword '%s' for %s directive%s", word,
                                cmd->cmd->name,
                                core_word_meant(cmd->temp_pool, core_etag_words, word));
        if (sign && (bit == ETAG_ALL || bit == ETAG_NONE))
            return apr_psprintf(cmd->pool, "FileETag keyword '%s' cannot be used with '+' or '-'",
                                word);
        core_etag_apply(d, sign, (etag_components_t)bit);
    }
    return NULL;
}

/* ---- SetHandler ---- */

const char *core_set_handler(cmd_parms *cmd, void *dir, const char *arg)
{
    core_dir_config *d = dir;
    const char *error = NULL;

    d->handler = NULL;
    d->expr_handler = NULL;
    if (!strncmp(arg, "expr=", 5) || strstr(arg, "%{")) {
        arg += *arg == 'e' && !strncmp(arg, "expr=", 5) ? 5 : 0;
        d->expr_handler = ap_expr_parse_cmd(cmd, arg, AP_EXPR_FLAG_STRING_RESULT, &error, NULL);
        if (error)
            return apr_pstrcat(cmd->pool, "Can't parse expression : ", error, NULL);
        BRG_ASSERT(d->expr_handler != NULL);
        return NULL;
    }
    d->handler = ap_cstr_casecmp(arg, "none") ? arg : "none";
    return NULL;
}

/* ---- ErrorDocument ---- */

/* Text, unless it is a path or a URL. The setter sees it without its quotes. */
static int core_document_is_text(const char *arg)
{
    return strchr(arg, ' ') || (*arg != '/' && !ap_is_url(arg));
}

static void core_store_document(cmd_parms *cmd, core_dir_config *d, int status,
                                const ap_expr_info_t *document)
{
    int *key = apr_palloc(cmd->pool, sizeof *key);

    BRG_ASSERT(d != NULL && document != NULL);
    *key = ap_index_of_response(status);
    if (!d->response_code_exprs)
        d->response_code_exprs = apr_hash_make(cmd->pool);
    apr_hash_set(d->response_code_exprs, key, sizeof *key, document);
}

const char *core_set_error_document(cmd_parms *cmd, void *dir, const char *code, const char *arg)
{
    int status = atoi(code), text = core_document_is_text(arg);
    const ap_expr_info_t *document;
    const char *error = NULL;

    if (ap_index_of_response(status) == ap_index_of_response(HTTP_INTERNAL_SERVER_ERROR) &&
        status != HTTP_INTERNAL_SERVER_ERROR)
        return apr_pstrcat(cmd->pool, "Unsupported HTTP response code ", code, NULL);
    if (status == HTTP_UNAUTHORIZED && !text && *arg != '/') {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, cmd->server,
                     APLOGNO(00113) "%s:%d cannot use a full URL in a 401 ErrorDocument directive "
                                    "--- ignoring!",
                     cmd->directive->filename, cmd->directive->line_num);
        return NULL;
    }
    if (!ap_cstr_casecmp(arg, "default")) {
        core_store_document(cmd, dir, status, &status_default_document);
        return NULL;
    }
    if (text && *arg != '"')
        arg = apr_pstrcat(cmd->pool, "\"", arg, NULL);
    document = ap_expr_parse_cmd(cmd, arg, AP_EXPR_FLAG_STRING_RESULT, &error, NULL);
    if (error)
        return apr_psprintf(cmd->pool, "Cannot parse expression in ErrorDocument: %s", error);
    core_store_document(cmd, dir, status, document);
    return NULL;
}

/* ---- CGIVar ---- */

const char *core_set_cgi_var(cmd_parms *cmd, void *dir, const char *var, const char *rule)
{
    core_dir_config *d = dir;

    if (strcmp(var, "REQUEST_URI"))
        return apr_pstrcat(cmd->pool, "Unrecognized CGI variable: \"", var, "\"", NULL);
    if (ap_cstr_casecmp(rule, "current-uri") && ap_cstr_casecmp(rule, "original-uri"))
        return "Valid rules for REQUEST_URI are 'current-uri' and 'original-uri'";
    if (!d->cgi_var_rules)
        d->cgi_var_rules = apr_hash_make(cmd->pool);
    apr_hash_set(d->cgi_var_rules, "REQUEST_URI", APR_HASH_KEY_STRING,
                 ap_cstr_casecmp(rule, "current-uri") ? "original-uri" : "current-uri");
    return NULL;
}
