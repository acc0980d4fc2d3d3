/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_ssl about clients' certificates. */
#include "tls_renegotiate.h"
#include "tls_directives_private.h"
#include "tls_request_private.h"
#include "http_core.h"
#include "apr_strings.h"
#include "apr_uri.h"
#include <stdlib.h>
#include <string.h>

/* A directory's demand on clients that its server does not make. */
const char *tls_of_directory(cmd_parms *cmd)
{
    tls_renegotiate_expect();
    return tls_request_wake(cmd, 0);
}

const char *tls_verify_word(cmd_parms *cmd, const char *arg, int *verify)
{
    static const struct {
        const char *word;
        int verify;
    } known[] = {{"none", TLS_VERIFY_NONE},         {"off", TLS_VERIFY_NONE},
                 {"optional", TLS_VERIFY_OPTIONAL}, {"require", TLS_VERIFY_REQUIRE},
                 {"on", TLS_VERIFY_REQUIRE},        {"optional_no_ca", TLS_VERIFY_OPTIONAL_NO_CA}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!ap_cstr_casecmp(arg, known[i].word)) {
            *verify = known[i].verify;
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

const char *tls_number(cmd_parms *cmd, const char *arg, int *n)
{
    *n = atoi(arg); /* words are 0, as they are to Apache */
    return *n >= 0 ? NULL
                   : apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Invalid argument '", arg, "'",
                                 NULL);
}

const char *tls_set_depth(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error;

    if (!cmd->path)
        return tls_number(cmd, arg, &tls_conf_of(cmd->server)->depth);
    error = tls_number(cmd, arg, &((tls_dir_conf *)dir)->depth);
    return error ? error : tls_of_directory(cmd);
}

/* The check, as the place of its word among @a words, and possibly @a flag. */
static const char *check_words(cmd_parms *cmd, const char *args, const char *const words[3],
                               const char *flag, int *check, int *may_lack)
{
    const char *word = ap_getword_conf(cmd->temp_pool, &args);
    int found = TLS_UNSET;

    for (int i = 0; i < 3; i++)
        if (!ap_cstr_casecmp(word, words[i]))
            found = i;
    *check = found;
    *may_lack = 0;
    while (found != TLS_UNSET && *(word = ap_getword_conf(cmd->temp_pool, &args)))
        if (ap_cstr_casecmp(word, flag))
            found = TLS_UNSET;
        else
            *may_lack = 1;
    return found != TLS_UNSET ? NULL
                              : apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Invalid argument '",
                                            word, "'", NULL);
}

const char *tls_crl_words(cmd_parms *cmd, const char *args, int *check, int *may_lack)
{
    static const char *const words[] = {"none", "leaf", "chain"};

    return check_words(cmd, args, words, "no_crl_for_cert_ok", check, may_lack);
}

const char *tls_set_crl_check(cmd_parms *cmd, void *dir, const char *args)
{
    tls_server_conf *sc = tls_conf_of(cmd->server);

    return tls_crl_words(cmd, args, &sc->crl_check, &sc->crl_may_lack);
}

const char *tls_set_ocsp(cmd_parms *cmd, void *dir, const char *args)
{
    static const char *const words[] = {"off", "leaf", "on"};
    tls_ocsp_conf *ocsp = &tls_conf_of(cmd->server)->ocsp;

    return check_words(cmd, args, words, "no_ocsp_for_cert_ok", &ocsp->check, &ocsp->may_lack);
}

const char *tls_set_ocsp_number(cmd_parms *cmd, void *dir, const char *arg)
{
    return tls_number(cmd, arg, tls_setting_of(cmd));
}

const char *tls_set_ocsp_proxy(cmd_parms *cmd, void *dir, const char *arg)
{
    apr_uri_t url;

    if (apr_uri_parse(cmd->temp_pool, arg, &url) != APR_SUCCESS || !url.hostname)
        return apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Cannot parse URL ", arg, NULL);
    tls_conf_of(cmd->server)->ocsp.proxy = arg;
    return NULL;
}
