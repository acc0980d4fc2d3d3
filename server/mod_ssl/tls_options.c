/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of directories: SSLOptions, SSLRequireSSL, SSLRequire, SSLUserName, SSLRenegBufferSize. */
#include "tls_directives_private.h"
#include "tls_request_private.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

const char *tls_set_require_ssl(cmd_parms *cmd, void *dir)
{
    ((tls_dir_conf *)dir)->require_ssl = 1;
    return tls_request_wake(cmd, 1);
}

const char *tls_set_user_name(cmd_parms *cmd, void *dir, const char *name)
{
    ((tls_dir_conf *)dir)->user_name = name;
    return tls_request_wake(cmd, 0);
}

static unsigned option_bit(const char *word)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {{"StdEnvVars", TLS_OPT_STD_ENV},
                 {"ExportCertData", TLS_OPT_EXPORT_CERTS},
                 {"LegacyDNStringFormat", TLS_OPT_LEGACY_DN},
                 {"FakeBasicAuth", TLS_OPT_FAKE_BASIC},
                 {"StrictRequire", TLS_OPT_STRICT_REQUIRE},
                 {"OptRenegotiate", TLS_OPT_RENEGOTIATE}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!ap_cstr_casecmp(word, known[i].name))
            return known[i].bit;
    return 0;
}

static void option_apply(tls_dir_conf *dc, char sign, unsigned bit)
{
    BRG_ASSERT(bit && !(bit & (bit - 1)) && (!sign || sign == '+' || sign == '-'));
    BRG_ASSERT(!(dc->options_add & dc->options_del)); /* the last one counts */
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

const char *tls_set_options(cmd_parms *cmd, void *dir, const char *args)
{
    tls_dir_conf *dc = dir;
    int first = 1;

    while (*args) {
        const char *word = ap_getword_conf(cmd->temp_pool, &args);
        char sign = *word == '+' || *word == '-' ? *word++ : '\0';
        unsigned bit = option_bit(word);

        if (!bit)
            return apr_pstrcat(cmd->pool, "SSLOptions: Illegal option '", word, "'", NULL);
        if (!sign && first) {
            dc->options = 0;
            dc->options_set = 1;
        }
        first = 0;
        option_apply(dc, sign, bit);
    }
    /* A client can send FakeBasicAuth's credentials in the clear. */
    return tls_request_wake(cmd, (dc->options & TLS_OPT_FAKE_BASIC) != 0);
}

const char *tls_set_requirement(cmd_parms *cmd, void *dir, const char *text)
{
    tls_dir_conf *dc = dir;
    const char *error = NULL;
    tls_requirement *q;
    ap_expr_info_t *expr = ap_expr_parse_cmd(cmd, text, AP_EXPR_FLAG_SSL_EXPR_COMPAT, &error, NULL);

    if (error)
        return apr_pstrcat(cmd->pool, "SSLRequire: ", error, NULL);
    if (!dc->requirements)
        dc->requirements = apr_array_make(cmd->pool, 1, sizeof *q);
    q = apr_array_push(dc->requirements);
    *q = (tls_requirement){.text = apr_pstrdup(cmd->pool, text), .expr = expr};
    return tls_request_wake(cmd, 0);
}

const char *tls_set_buffer(cmd_parms *cmd, void *dir, const char *arg)
{
    int bytes = atoi(arg);

    if (bytes < 0)
        return apr_pstrcat(cmd->pool, "Invalid size for SSLRenegBufferSize: ", arg, NULL);
    ((tls_dir_conf *)dir)->buffer = bytes;
    return NULL;
}
