/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_ssl that hold for the whole server. */
#include "tls_conf_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES_LEAST 8192
#define CACHE_BYTES_MOST (1 << 30)

APLOG_USE_MODULE(ssl);

/* shmcb:FILE(BYTES). The file is not used: the memory has no name. */
const char *tls_set_session_cache(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *size = strrchr(arg, '(');
    apr_int64_t bytes = 512 * 1024;
    char *end;

    if (error)
        return error;
    tls_settings.cache_bytes = 0;
    if (!ap_cstr_casecmp(arg, "none") || !ap_cstr_casecmp(arg, "nonenotnull"))
        return NULL;
    if (ap_cstr_casecmpn(arg, "shmcb:", 6) && ap_cstr_casecmp(arg, "shmcb"))
        return tls_not_offered(cmd, arg, "sessions are kept in shared memory: shmcb");
    if (size) {
        bytes = apr_strtoi64(size + 1, &end, 10);
        if (strcmp(end, ")") || bytes < CACHE_BYTES_LEAST || bytes > CACHE_BYTES_MOST)
            return apr_psprintf(cmd->pool,
                                "SSLSessionCache: Invalid argument: size has to be between %d and "
                                "%d bytes",
                                CACHE_BYTES_LEAST, CACHE_BYTES_MOST);
    }
    tls_settings.cache_bytes = (apr_size_t)bytes;
    return NULL;
}

const char *tls_set_pass_phrase(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *program = NULL, *rest;
    apr_finfo_t info;

    if (error)
        return error;
    if (!strncmp(arg, "exec:", 5))
        program = arg + 5;
    else if (*arg == '|')
        program = arg + 1;
    else if (strcmp(arg, "builtin"))
        return apr_pstrcat(cmd->pool, "SSLPassPhraseDialog: Invalid argument '", arg, "'", NULL);
    tls_settings.pass_pipe = *arg == '|';
    if (program) {
        rest = tls_settings.pass_pipe ? program + strcspn(program, " \t") : "";
        program = apr_pstrmemdup(cmd->pool, program, strlen(program) - strlen(rest));
        program = ap_server_root_relative(cmd->pool, program);
        if (!program || apr_stat(&info, program, APR_FINFO_TYPE, cmd->temp_pool) != APR_SUCCESS)
            return apr_pstrcat(cmd->pool, "SSLPassPhraseDialog: file '",
                               arg + (tls_settings.pass_pipe ? 1 : 5), "' does not exist", NULL);
        program = apr_pstrcat(cmd->pool, program, rest, NULL);
    }
    tls_settings.pass_program = program;
    return NULL;
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
    return NULL;
}
