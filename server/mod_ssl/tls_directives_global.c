/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_ssl that hold for the whole server. */
#include "tls_directives_private.h"
#include "configuration.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((apr_size_t)512 * 1024)
#define CACHE_BYTES_LEAST 8192
#define CACHE_BYTES_MOST (1 << 30)

APLOG_USE_MODULE(ssl);

const char *tls_cache_size(cmd_parms *cmd, const char *arg, apr_size_t *bytes)
{
    const char *size = strrchr(arg, '(');
    apr_int64_t n;
    char *end;

    if (!size)
        return NULL;
    n = apr_strtoi64(size + 1, &end, 10);
    if (strcmp(end, ")") || n < CACHE_BYTES_LEAST || n > CACHE_BYTES_MOST)
        return apr_psprintf(cmd->pool,
                            "%s: Invalid argument: size has to be between %d and %d bytes",
                            cmd->cmd->name, CACHE_BYTES_LEAST, CACHE_BYTES_MOST);
    *bytes = (apr_size_t)n;
    return NULL;
}

/* shmcb:FILE(BYTES). The file is not used: the memory has no name. */
const char *tls_set_session_cache(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *name;

    if (error)
        return error;
    tls_settings.cache_bytes = 0;
    if (!ap_cstr_casecmp(arg, "none") || !ap_cstr_casecmp(arg, "nonenotnull"))
        return NULL;
    name = apr_pstrmemdup(cmd->temp_pool, arg, strcspn(arg, ":"));
    if (strcmp(name, "shmcb") && strcmp(name, "default"))
        return tls_not_offered(cmd, arg, "sessions are kept in shared memory: shmcb");
    tls_settings.cache_bytes = CACHE_BYTES;
    return tls_cache_size(cmd, arg, &tls_settings.cache_bytes);
}

const char *tls_set_pass_phrase(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *program = NULL, *rest;
    apr_finfo_t info;

    if (error)
        return error;
    if (!strncmp(arg, "exec:", 5) && arg[5])
        program = arg + 5;
    else if (*arg == '|' && arg[1])
        program = arg + 1;
    else if (ap_cstr_casecmp(arg, "builtin"))
        return apr_pstrcat(cmd->pool, "SSLPassPhraseDialog: Invalid argument '", arg, "'", NULL);
    tls_settings.pass_pipe = *arg == '|';
    if (program) {
        rest = tls_settings.pass_pipe ? program + strcspn(program, " \t") : "";
        program = apr_pstrmemdup(cmd->pool, program, strlen(program) - strlen(rest));
        program = ap_server_root_relative(cmd->pool, program);
        if (!program || (!tls_settings.pass_pipe &&
                         apr_stat(&info, program, APR_FINFO_TYPE, cmd->temp_pool) != APR_SUCCESS))
            return apr_pstrcat(cmd->pool, "SSLPassPhraseDialog: file '",
                               arg + (tls_settings.pass_pipe ? 1 : 5), "' does not exist", NULL);
        program = apr_pstrcat(cmd->pool, program, rest, NULL);
    }
    tls_settings.pass_program = program;
    return NULL;
}

/* A missing source is a mistake, whether it is used or not. */
static const char *seed_source(cmd_parms *cmd, const char *source)
{
    const char *path = source;
    apr_finfo_t info;

    if (!strncmp(source, "egd:", 4))
        return "SSLRandomSeed: there is no entropy gathering daemon (egd:)";
    if ((!strncmp(source, "file:", 5) || !strncmp(source, "exec:", 5)) && source[5])
        path = source + 5;
    path = ap_server_root_relative(cmd->temp_pool, path);
    if (path && apr_stat(&info, path, APR_FINFO_TYPE, cmd->temp_pool) == APR_SUCCESS)
        return NULL;
    return apr_pstrcat(cmd->temp_pool, "SSLRandomSeed: source path '", path ? path : source,
                       "' does not exist", NULL);
}

/* OpenSSL seeds itself from the kernel. */
const char *tls_set_seed(cmd_parms *cmd, void *dir, const char *when, const char *source,
                         const char *bytes)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error)
        return error;
    if (ap_cstr_casecmp(when, "startup") && ap_cstr_casecmp(when, "connect"))
        return apr_pstrcat(cmd->temp_pool, "SSLRandomSeed: invalid context: `", when, "'", NULL);
    if (ap_cstr_casecmp(source, "builtin"))
        error = seed_source(cmd, source);
    else if (bytes)
        error = "SSLRandomSeed: byte specification not allowed for builtin seed source";
    if (!error && bytes && atoi(bytes) < 0)
        error = "SSLRandomSeed: invalid number of bytes specified";
    if (!error)
        conf_notice_no_effect(cmd, APLOG_MODULE_INDEX, "the system's random numbers are used");
    return error;
}
