/* SPDX-License-Identifier: Apache-2.0 */
/* SSLProxy*: settings of servers, virtual hosts and <Proxy> sections. A setter's cmd->info is the
 * number of its setting. */
#include "tls_directives_private.h"
#include "tls_proxy.h"
#include "apr_strings.h"
#include <stdint.h>

static int px_which(const cmd_parms *cmd)
{
    return (int)(intptr_t)cmd->info;
}

static tls_proxy_conf *px_conf(const cmd_parms *cmd, void *dir)
{
    tls_dir_conf *dc = dir;

    if (!dc->proxy) {
        dc->proxy = apr_pcalloc(cmd->pool, sizeof *dc->proxy);
        for (int i = 0; i < TLS_PX_NUMBERS; i++)
            dc->proxy->number[i] = TLS_UNSET;
    }
    return dc->proxy;
}

const char *tls_px_flag(cmd_parms *cmd, void *dir, int on)
{
    px_conf(cmd, dir)->number[px_which(cmd)] = on;
    return NULL;
}

const char *tls_px_file(cmd_parms *cmd, void *dir, const char *file)
{
    const char *error = tls_check_file(cmd, &file);

    px_conf(cmd, dir)->text[px_which(cmd)] = file;
    return error;
}

const char *tls_px_folder(cmd_parms *cmd, void *dir, const char *path)
{
    const char *error = tls_check_folder(cmd, &path);

    px_conf(cmd, dir)->text[px_which(cmd)] = path;
    return error;
}

const char *tls_px_protocols(cmd_parms *cmd, void *dir, const char *args)
{
    return tls_protocols(cmd, args, &px_conf(cmd, dir)->number[TLS_PX_PROTOCOLS]);
}

const char *tls_px_ciphers(cmd_parms *cmd, void *dir, const char *first, const char *second)
{
    tls_proxy_conf *conf = px_conf(cmd, dir);

    return tls_ciphers(cmd, first, second, &conf->text[TLS_PX_CIPHERS],
                       &conf->text[TLS_PX_CIPHERS13]);
}

const char *tls_px_verify(cmd_parms *cmd, void *dir, const char *arg)
{
    return tls_verify_word(cmd, arg, &px_conf(cmd, dir)->number[TLS_PX_VERIFY]);
}

const char *tls_px_depth(cmd_parms *cmd, void *dir, const char *arg)
{
    return tls_number(cmd, arg, &px_conf(cmd, dir)->number[TLS_PX_DEPTH]);
}

const char *tls_px_crl(cmd_parms *cmd, void *dir, const char *args)
{
    int check, may_lack;
    const char *error = tls_crl_words(cmd, args, &check, &may_lack);

    if (!error)
        px_conf(cmd, dir)->number[TLS_PX_CRL] = check | (may_lack ? TLS_PX_CRL_MAY_MISS : 0);
    return error;
}
