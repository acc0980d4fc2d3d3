/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the built-in http3 module: the directives of mod_http3. What is about connections before a virtual host is known
 * stands outside of virtual hosts. */
#include "h3_private.h"
#include "configuration.h"
#include "tls_quic.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/directive.h"
#include <string.h>

APLOG_USE_MODULE(http3);

#define DEFAULT_STREAMS 100
#define DEFAULT_STREAMS_MOST 10000
#define DEFAULT_AGE 86400
#define DEFAULT_HANDSHAKE apr_time_from_sec(10)
#define DEFAULT_IDLE apr_time_from_sec(30)
#define DEFAULT_WINDOW 65536

void *h3_server_create(apr_pool_t *p, server_rec *s)
{
    h3_server_conf *sc = apr_palloc(p, sizeof *sc);

    *sc = (h3_server_conf){.max_streams = H3_UNSET,
                           .alt_svc = H3_UNSET,
                           .alt_svc_age = H3_UNSET,
                           .validation = H3_UNSET,
                           .port = H3_UNSET,
                           .handshake_timeout = H3_UNSET,
                           .idle_timeout = H3_UNSET,
                           .max_body = H3_UNSET};
    return sc;
}

#define MERGE(field)           \
    if (sc->field == H3_UNSET) \
        sc->field = base->field;

void *h3_server_merge(apr_pool_t *p, void *basev, void *addv)
{
    const h3_server_conf *base = basev;
    h3_server_conf *sc = apr_pmemdup(p, addv, sizeof *sc);

    MERGE(max_streams);
    MERGE(alt_svc);
    MERGE(alt_svc_age);
    MERGE(validation);
    MERGE(port);
    MERGE(handshake_timeout);
    MERGE(idle_timeout);
    MERGE(max_body);
    sc->alt_svc_text = NULL;
    return sc;
}

#define DEFAULT(field, value)   \
    if (out->field == H3_UNSET) \
        out->field = (value);

void h3_conf_of(const server_rec *s, h3_server_conf *out)
{
    const h3_server_conf *sc = ap_get_module_config(s->module_config, &http3_module);

    BRG_ASSERT(sc != NULL);
    *out = *sc;
    DEFAULT(max_streams, DEFAULT_STREAMS);
    DEFAULT(alt_svc, 1);
    DEFAULT(alt_svc_age, DEFAULT_AGE);
    DEFAULT(validation, H3_VALIDATE_BY_LOAD);
    DEFAULT(port, 0);
    DEFAULT(handshake_timeout, DEFAULT_HANDSHAKE);
    DEFAULT(idle_timeout, DEFAULT_IDLE);
    DEFAULT(max_body, 0);
    out->stream_window = DEFAULT_WINDOW;
}

/* ---- directives ---- */

static h3_server_conf *cmd_conf(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &http3_module);
}

static const char *cmd_number(cmd_parms *cmd, const char *arg, apr_int64_t least, apr_int64_t most,
                              apr_int64_t *value)
{
    BRG_ASSERT(least <= most);
    *value = brg_argument_number(cmd, arg);
    if (*value >= least && *value <= most)
        return NULL;
    return apr_psprintf(cmd->pool,
                        "%s takes a number from %" APR_INT64_T_FMT " to %" APR_INT64_T_FMT
                        ", not \"%s\"",
                        cmd->cmd->name, least, most, arg);
}

static const char *set_streams(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n = 0;

    if (err || (err = cmd_number(cmd, arg, 1, DEFAULT_STREAMS_MOST, &n)))
        return err;
    cmd_conf(cmd)->max_streams = (int)n;
    return NULL;
}

static const char *set_age(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    apr_int64_t n = 0;

    if (err || (err = cmd_number(cmd, arg, 0, APR_INT32_MAX, &n)))
        return err;
    cmd_conf(cmd)->alt_svc_age = (int)n;
    return NULL;
}

static const char *set_port(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    apr_int64_t n = 0;

    if (err || (err = cmd_number(cmd, arg, 1, 65535, &n)))
        return err;
    cmd_conf(cmd)->port = (int)n;
    return NULL;
}

static const char *set_body(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n = 0;

    if (err || (err = cmd_number(cmd, arg, 0, APR_INT64_MAX, &n)))
        return err;
    cmd_conf(cmd)->max_body = (apr_off_t)n;
    return NULL;
}

/* cmd->info: where in the settings. A number without a unit are seconds. */
static const char *set_time(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_interval_time_t value;

    if (err)
        return err;
    if (ap_timeout_parameter_parse(arg, &value, "s") != APR_SUCCESS || value <= 0)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " takes a time above 0, not \"", arg, "\"",
                           NULL);
    *(apr_interval_time_t *)(void *)((char *)cmd_conf(cmd) + (size_t)(uintptr_t)cmd->info) = value;
    return NULL;
}

static const char *set_alt_svc(cmd_parms *cmd, void *unused, int on)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (!err)
        cmd_conf(cmd)->alt_svc = on;
    return err;
}

static const char *set_validation(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    if (!ap_cstr_casecmp(arg, "on"))
        cmd_conf(cmd)->validation = H3_VALIDATE_ALWAYS;
    else if (!ap_cstr_casecmp(arg, "off"))
        cmd_conf(cmd)->validation = H3_VALIDATE_NEVER;
    else if (!ap_cstr_casecmp(arg, "auto"))
        cmd_conf(cmd)->validation = H3_VALIDATE_BY_LOAD;
    else
        return apr_pstrcat(cmd->pool, "H3AddressValidation must be On, Off or Auto, not \"", arg,
                           "\"", NULL);
    return NULL;
}

static const char *set_early(cmd_parms *cmd, void *unused, int on)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!err && on)
        err = "H3EarlyData On is not offered: the handshake of this OpenSSL has no early data for "
              "QUIC";
    return err;
}

static const char *set_tickets(cmd_parms *cmd, void *unused, int on)
{
    conf_notice_no_effect(cmd, APLOG_MODULE_INDEX,
                          "SSLSessionTickets holds for HTTP/3 as for TLS over TCP");
    return NULL;
}

#define OFFSET(field) ((void *)offsetof(h3_server_conf, field))

const command_rec h3_commands[] = {
    AP_INIT_TAKE1("H3MaxConcurrentStreams", set_streams, NULL, RSRC_CONF,
                  "requests that a client may have under way on a connection"),
    AP_INIT_FLAG("H3AltSvc", set_alt_svc, NULL, RSRC_CONF,
                 "On: answers over TLS tell that there is HTTP/3"),
    AP_INIT_TAKE1("H3AltSvcMaxAge", set_age, NULL, RSRC_CONF,
                  "seconds for which clients may remember it"),
    AP_INIT_TAKE1("H3HandshakeTimeout", set_time, OFFSET(handshake_timeout), RSRC_CONF,
                  "time that a handshake may take"),
    AP_INIT_TAKE1("H3IdleTimeout", set_time, OFFSET(idle_timeout), RSRC_CONF,
                  "time after which a silent connection is over"),
    AP_INIT_FLAG("H3EarlyData", set_early, NULL, RSRC_CONF, "Off: no early data is taken"),
    AP_INIT_TAKE1("H3AddressValidation", set_validation, NULL, RSRC_CONF,
                  "On, Off, or Auto: clients prove their address first"),
    AP_INIT_TAKE1("H3MaxRequestBodySize", set_body, NULL, RSRC_CONF,
                  "bytes of a request's body; 0: no limit"),
    AP_INIT_FLAG("H3SessionTickets", set_tickets, NULL, RSRC_CONF, "see SSLSessionTickets"),
    AP_INIT_TAKE1("H3Port", set_port, NULL, RSRC_CONF, "the port that Alt-Svc tells"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL}};
