/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of a server's protocol rules, and the few that hold for the whole process. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "ap_regex.h"
#include "apr_strings.h"
#include "core_private.h"

AP_DECLARE(const char *) ap_get_server_protocol(server_rec *s)
{
    return core_server_conf_of(s)->protocol;
}

AP_DECLARE(void) ap_set_server_protocol(server_rec *s, const char *proto)
{
    core_server_config *c = ap_get_core_module_config(s->module_config);

    c->protocol = proto;
}

const char *core_set_protocol(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    char *protocol;

    if (error)
        return error;
    protocol = apr_pstrdup(cmd->pool, arg);
    ap_str_tolower(protocol);
    core_conf(cmd)->protocol = protocol;
    return NULL;
}

const char *core_set_protocols(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    char *protocol = apr_pstrdup(cmd->pool, arg);
    apr_array_header_t *list = core_conf(cmd)->protocols;

    if (error)
        return error;
    ap_str_tolower(protocol);
#if !BRIGADE_HTTP3
    if (!strcmp(protocol, "h3"))
        return "Protocols: h3 is not offered: this program was built without HTTP/3 "
               "(BRIGADE_HTTP3)";
#endif
    if (!ap_array_str_contains(list, protocol))
        APR_ARRAY_PUSH(list, const char *) = protocol;
    return NULL;
}

const char *core_set_protocol_options(cmd_parms *cmd, void *dir, const char *arg)
{
    core_server_config *c = core_conf(cmd);
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (error)
        return error;
    if (!ap_cstr_casecmp(arg, "allow0.9"))
        c->http09_enable = AP_HTTP09_ENABLE;
    else if (!ap_cstr_casecmp(arg, "require1.0"))
        c->http09_enable = AP_HTTP09_DISABLE;
    else if (!ap_cstr_casecmp(arg, "strict"))
        c->http_conformance = AP_HTTP_CONFORMANCE_STRICT;
    else if (!ap_cstr_casecmp(arg, "unsafe"))
        c->http_conformance = AP_HTTP_CONFORMANCE_UNSAFE;
    else if (!ap_cstr_casecmp(arg, "registeredmethods"))
        c->http_methods = AP_HTTP_METHODS_REGISTERED;
    else if (!ap_cstr_casecmp(arg, "lenientmethods"))
        c->http_methods = AP_HTTP_METHODS_LENIENT;
    else
        return "HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), 'RegisteredMethods' or "
               "'LenientMethods' (default), and 'Require1.0' or 'Allow0.9' (default)";
    return NULL;
}

/* ---- the whole process ---- */

const char *core_register_method(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!error && *ap_scan_http_token(arg))
        error = apr_pstrcat(cmd->pool, "\"", arg, "\" is not the name of a method", NULL);
    if (!error)
        ap_method_register(cmd->pool, arg);
    return error;
}

/* "None", or a flag with + or - (or none: only this one). */
static const char *core_regex_option(cmd_parms *cmd, const char *arg)
{
    int flags = ap_regcomp_get_default_cflags(), flag;
    char sign = *arg == '+' || *arg == '-' ? *arg++ : '\0';

    if (!sign && !ap_cstr_casecmp(arg, "none")) {
        ap_regcomp_set_default_cflags(0);
        return NULL;
    }
    flag = ap_regcomp_default_cflag_by_name(arg);
    if (!flag)
        return apr_psprintf(cmd->pool, "RegexDefaultOptions: option '%s' unknown", arg);
    if (sign == '-')
        flags &= ~flag;
    else
        flags = sign ? flags | flag : flag;
    ap_regcomp_set_default_cflags(flags);
    return NULL;
}

const char *core_set_regex_options(cmd_parms *cmd, void *dir, const char *args)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    while (!error && *args)
        error = core_regex_option(cmd, ap_getword_conf(cmd->temp_pool, &args));
    return error;
}
