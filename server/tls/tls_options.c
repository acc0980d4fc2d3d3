/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of directories: SSLOptions, SSLRequireSSL, SSLUserName. */
#include "tls_private.h"
#include "http_config.h"
#include "apr_strings.h"
#include <string.h>

const char *tls_set_require_ssl(cmd_parms *cmd, void *dir)
{
    ((tls_dir_conf *)dir)->require_ssl = 1;
    return tls_request_wake(cmd);
}

const char *tls_set_user_name(cmd_parms *cmd, void *dir, const char *name)
{
    ((tls_dir_conf *)dir)->user_name = name;
    return tls_request_wake(cmd);
}

static unsigned option_bit(const char *word)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {{"StdEnvVars", TLS_OPT_STD_ENV},
                 {"ExportCertData", TLS_OPT_EXPORT_CERTS},
                 {"LegacyDNStringFormat", TLS_OPT_LEGACY_DN}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!ap_cstr_casecmp(word, known[i].name))
            return known[i].bit;
    return 0;
}

static void option_apply(tls_dir_conf *dc, char sign, unsigned bit)
{
    if (sign == '-') {
        dc->options_add &= ~bit;
        dc->options_del |= bit;
        dc->options &= ~bit;
        return;
    }
    dc->options |= bit;
    if (sign == '+') {
        dc->options_add |= bit;
        dc->options_del &= ~bit;
    }
}

static int option_is_moot(const char *word, char sign)
{
    static const char *const others[] = {"FakeBasicAuth", "StrictRequire", "OptRenegotiate", NULL};

    for (int i = 0; others[i]; i++)
        if (!ap_cstr_casecmp(word, others[i]))
            return sign == '-' || i == 2 ? 1 : -1; /* nothing renegotiates here */
    return 0;
}

const char *tls_set_options(cmd_parms *cmd, void *dir, const char *args)
{
    tls_dir_conf *dc = dir;
    int first = 1;

    while (*args) {
        const char *word = ap_getword_conf(cmd->temp_pool, &args);
        char sign = *word == '+' || *word == '-' ? *word++ : '\0';
        unsigned bit = option_bit(word);
        int moot = option_is_moot(word, sign);

        if (!bit && !moot)
            return apr_pstrcat(cmd->pool, "SSLOptions: Illegal option '", word, "'", NULL);
        if (moot < 0)
            return apr_pstrcat(cmd->pool, "SSLOptions ", word, NOT_OFFERED, NULL);
        if (!sign && first) {
            dc->options = 0;
            dc->options_set = 1;
        }
        first = 0;
        option_apply(dc, sign, bit);
    }
    return NULL;
}
