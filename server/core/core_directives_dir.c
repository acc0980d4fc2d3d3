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

const char *core_set_default_charset(cmd_parms *cmd, void *dir, const char *arg)
{
    static const conf_word words[] = {
        {"off", ADD_DEFAULT_CHARSET_OFF}, {"on", ADD_DEFAULT_CHARSET_ON}, {NULL, 0}};
    core_dir_config *d = dir;
    int state = ADD_DEFAULT_CHARSET_ON;

    d->add_default_charset_name = DEFAULT_ADD_DEFAULT_CHARSET_NAME;
    if (!conf_word_find(words, arg, &state))
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
    static const conf_word words[] = {{"on", HOSTNAME_LOOKUP_ON},
                                      {"off", HOSTNAME_LOOKUP_OFF},
                                      {"double", HOSTNAME_LOOKUP_DOUBLE},
                                      {NULL, 0}};
    int state;

    if (!conf_word_find(words, arg, &state))
        return "parameter must be 'on', 'off', or 'double'";
    ((core_dir_config *)dir)->hostname_lookups = (unsigned)state & 15;
    if (state != HOSTNAME_LOOKUP_OFF)
        brg_phases_need_worker();
    return NULL;
}

const char *core_set_builtin_pages(cmd_parms *cmd, void *dir, const char *arg)
{
    static const conf_word words[] = {{"apache", BRG_PAGES_APACHE},
                                      {"modern", BRG_PAGES_MODERN},
                                      {"negotiated", BRG_PAGES_NEGOTIATED},
                                      {NULL, 0}};
    int pages;

    if (!conf_word_find(words, arg, &pages))
        return "BuiltinPages must be followed by apache, modern or negotiated";
    core_set_pages(dir, (brg_pages)pages);
    return NULL;
}

const char *core_set_canonical_name(cmd_parms *cmd, void *dir, const char *arg)
{
    static const conf_word words[] = {{"on", USE_CANONICAL_NAME_ON},
                                      {"off", USE_CANONICAL_NAME_OFF},
                                      {"dns", USE_CANONICAL_NAME_DNS},
                                      {NULL, 0}};
    int state;

    if (!conf_word_find(words, arg, &state))
        return "parameter must be 'on', 'off', or 'dns'";
    ((core_dir_config *)dir)->use_canonical_name = (unsigned)state & 3;
    return NULL;
}

const char *core_set_flag(cmd_parms *cmd, void *dir, int on)
{
    core_dir_config *d = dir;

    _Static_assert(ENABLE_MMAP_ON == 1 && ENABLE_SENDFILE_ON == 1 && AP_CORE_CONFIG_ON == 1 &&
                       USE_CANONICAL_PHYS_PORT_ON == 1 && AP_CGI_PASS_AUTH_ON == 1,
                   "all say On by the same number");
    BRG_ASSERT(on == 0 || on == 1);
    switch ((core_bit)(apr_uintptr_t)cmd->info) {
    case CORE_ENABLE_MMAP:
        d->enable_mmap = (unsigned)on & 1;
        break;
    case CORE_ENABLE_SENDFILE:
        d->enable_sendfile = (unsigned)on & 1;
        break;
    case CORE_CONTENT_MD5:
        d->content_md5 = (unsigned)on & 1;
        break;
    case CORE_CANONICAL_PHYS_PORT:
        d->use_canonical_phys_port = (unsigned)on & 1;
        break;
    case CORE_CGI_PASS_AUTH:
        d->cgi_pass_auth = (unsigned)on & 1;
        break;
    case CORE_QUALIFY_REDIRECT:
        d->qualify_redirect_url = (unsigned)on & 1;
        break;
    }
    return NULL;
}

/* Apache reads these as words, not as flags. */
const char *core_set_on_off(cmd_parms *cmd, void *dir, const char *arg)
{
    static const conf_word words[] = {{"on", 1}, {"off", 0}, {NULL, 0}};
    int on;

    return conf_word_find(words, arg, &on) ? core_set_flag(cmd, dir, on)
                                           : "parameter must be 'on' or 'off'";
}

const char *core_set_encoded_slashes_arg(cmd_parms *cmd, void *dir, const char *arg)
{
    static const conf_word words[] = {{"off", 0}, {"on", 1}, {"nodecode", 2}, {NULL, 0}};
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    int mode;

    if (error)
        return error;
    if (!conf_word_find(words, arg, &mode))
        return "AllowEncodedSlashes must be On, Off, or NoDecode";
    core_set_encoded_slashes(dir, mode > 0, mode == 1);
    return NULL;
}

/* ---- FileETag ---- */

static const conf_word core_etag_words[] = {{"MTime", ETAG_MTIME},
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

        if (!conf_word_find(core_etag_words, word, &bit))
            return apr_psprintf(cmd->pool, "Unknown keyword '%s' for %s directive%s", word,
                                cmd->cmd->name,
                                conf_word_question(cmd->temp_pool, core_etag_words, word));
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
