/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_ssl about clients' certificates. */
#include "tls_request_private.h"
#include "http_core.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* A directory asks of clients what its server does not. */
const char *tls_of_directory(cmd_parms *cmd)
{
    tls_access_of_directories();
    return tls_request_wake(cmd, 0);
}

const char *tls_verify_word(cmd_parms *cmd, const char *arg, int *verify)
{
    static const char *const words[] = {"none", "optional", "require", "optional_no_ca"};

    for (int i = 0; i < 4; i++)
        if (!ap_cstr_casecmp(arg, words[i]) || (!i && !ap_cstr_casecmp(arg, "off"))) {
            *verify = i;
            return NULL;
        }
    return apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Invalid argument '", arg, "'", NULL);
}

const char *tls_set_verify(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error;

    if (!cmd->path)
        return tls_verify_word(cmd, arg, &tls_conf_of(cmd->server)->verify);
    error = tls_verify_word(cmd, arg, &((tls_dir_conf *)dir)->verify);
    return error ? error : tls_of_directory(cmd);
}

const char *tls_set_depth(cmd_parms *cmd, void *dir, const char *arg)
{
    int n = atoi(arg);

    if (n < 0)
        return apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Invalid argument '", arg, "'", NULL);
    if (cmd->path) {
        ((tls_dir_conf *)dir)->depth = n;
        return tls_of_directory(cmd);
    }
    tls_conf_of(cmd->server)->depth = n;
    return NULL;
}

const char *tls_set_crl_check(cmd_parms *cmd, void *dir, const char *args)
{
    static const char *const words[] = {"none", "leaf", "chain"};
    const char *word = ap_getword_conf(cmd->temp_pool, &args), *flag;
    tls_server_conf *sc = tls_conf_of(cmd->server);

    sc->crl_check = TLS_UNSET;
    for (int i = 0; i < 3; i++)
        if (!ap_cstr_casecmp(word, words[i]))
            sc->crl_check = i;
    if (sc->crl_check == TLS_UNSET)
        return apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Invalid argument '", word, "'", NULL);
    sc->crl_may_lack = 0;
    while (*(flag = ap_getword_conf(cmd->temp_pool, &args))) {
        if (ap_cstr_casecmp(flag, "no_crl_for_cert_ok"))
            return apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Invalid argument '", flag, "'",
                               NULL);
        sc->crl_may_lack = 1;
    }
    return NULL;
}
