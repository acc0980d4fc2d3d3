/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the built-in http3 module: the directives of mod_http3. Settings about connections
 * before a virtual host is known stand outside of virtual hosts. */
#include "h3_private.h"
#include "configuration.h"
#include "setting.h"
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
#define DEFAULT_ERRORS 8

void *h3_server_create(apr_pool_t *p, server_rec *s)
{
    h3_server_conf *sc = apr_palloc(p, sizeof *sc);

    *sc = (h3_server_conf){.max_streams = H3_UNSET,
                           .alt_svc = H3_UNSET,
                           .alt_svc_age = H3_UNSET,
                           .validation = H3_UNSET,
                           .port = H3_UNSET,
                           .early = H3_UNSET,
                           .websockets = H3_UNSET,
                           .max_errors = H3_UNSET,
                           .stream_timeout = H3_UNSET,
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
    MERGE(early);
    MERGE(websockets);
    MERGE(max_errors);
    MERGE(stream_timeout);
    MERGE(handshake_timeout);
    MERGE(idle_timeout);
    MERGE(max_body);
    sc->alt_svc_text = NULL;
    if (!sc->qlog_dir) {
        sc->qlog_dir = base->qlog_dir;
        sc->qlog_of = base->qlog_of;
    }
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
    DEFAULT(early, 0);
    DEFAULT(websockets, 0);
    DEFAULT(max_errors, DEFAULT_ERRORS);
    DEFAULT(stream_timeout, 0);
    DEFAULT(handshake_timeout, DEFAULT_HANDSHAKE);
    DEFAULT(idle_timeout, DEFAULT_IDLE);
    DEFAULT(max_body, 0);
    out->stream_window = DEFAULT_WINDOW;
}

int h3_conf_is_alike(const h3_server_conf *a, const h3_server_conf *b)
{
    return a->max_streams == b->max_streams && a->validation == b->validation &&
           a->early == b->early && a->max_errors == b->max_errors &&
           a->stream_timeout == b->stream_timeout && a->handshake_timeout == b->handshake_timeout &&
           a->idle_timeout == b->idle_timeout && a->max_body == b->max_body;
}

/* ---- directives ---- */

static void *of_server(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &http3_module);
}

static const char *set_early(cmd_parms *cmd, void *unused, int on)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (!err && on && !tls_quic_has_early())
        err = "H3EarlyData On needs OpenSSL 3.5.1 or later: the one with which this program was "
              "built has no early data for QUIC";
    if (!err)
        ((h3_server_conf *)of_server(cmd))->early = on;
    return err;
}

/* H3QLog FOLDER [CLIENT ...] */
static const char *set_qlog(cmd_parms *cmd, void *unused, int argc, char *const argv[])
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    h3_server_conf *sc = of_server(cmd);

    if (err || argc < 1)
        return err ? err : "H3QLog takes a folder, and addresses or networks of clients";
    sc->qlog_dir = ap_server_root_relative(cmd->pool, argv[0]);
    if (!sc->qlog_dir || !ap_is_directory(cmd->temp_pool, sc->qlog_dir))
        return apr_pstrcat(cmd->pool, "H3QLog: ", argv[0], " is no folder", NULL);
    sc->qlog_of = argc > 1 ? apr_array_make(cmd->pool, argc - 1, sizeof(apr_ipsubnet_t *)) : NULL;
    for (int i = 1; i < argc; i++) {
        char *bits = apr_pstrdup(cmd->temp_pool, argv[i]), *slash = strchr(bits, '/');

        if (slash)
            *slash++ = '\0';
        if (apr_ipsubnet_create((apr_ipsubnet_t **)apr_array_push(sc->qlog_of), bits, slash,
                                cmd->pool) != APR_SUCCESS)
            return apr_pstrcat(cmd->pool, "H3QLog: ", argv[i], " is no address or network", NULL);
    }
    return NULL;
}

static const char *set_tickets(cmd_parms *cmd, void *unused, int on)
{
    conf_notice_no_effect(cmd, APLOG_MODULE_INDEX,
                          "SSLSessionTickets holds for HTTP/3 as for TLS over TCP");
    return NULL;
}

/* Directives of mod_http3 that this server replaces. cmd->info: by what */
static const char *set_nothing(cmd_parms *cmd, void *unused, const char *arg)
{
    BRG_ASSERT(cmd->info != NULL);
    conf_notice_no_effect(cmd, APLOG_MODULE_INDEX, cmd->info);
    return NULL;
}

static const conf_word validation_words[] = {{"on", H3_VALIDATE_ALWAYS},
                                             {"off", H3_VALIDATE_NEVER},
                                             {"auto", H3_VALIDATE_BY_LOAD},
                                             {NULL, 0}};

#define SERVER(where_not, field, ...)                                                      \
    CONF_SETTING(.of = of_server, .where = (where_not), CONF_FIELD(h3_server_conf, field), \
                 __VA_ARGS__)

#define NOTHING(name, how) \
    AP_INIT_TAKE1(name, set_nothing, (void *)(uintptr_t)(how), RSRC_CONF, how)

const command_rec h3_commands[] = {
    AP_INIT_TAKE1("H3MaxConcurrentStreams", conf_set_number,
                  SERVER(NOT_IN_DIR_CONTEXT, max_streams, .least = 1, .most = DEFAULT_STREAMS_MOST),
                  RSRC_CONF, "requests that a client may have under way on a connection"),
    AP_INIT_FLAG("H3AltSvc", conf_set_flag, SERVER(NOT_IN_DIR_CONTEXT, alt_svc, .most = 1),
                 RSRC_CONF, "On: answers over TLS tell that there is HTTP/3"),
    AP_INIT_TAKE1("H3AltSvcMaxAge", conf_set_number,
                  SERVER(NOT_IN_DIR_CONTEXT, alt_svc_age, .most = APR_INT32_MAX), RSRC_CONF,
                  "seconds for which clients may remember it"),
    AP_INIT_TAKE1("H3HandshakeTimeout", conf_set_time,
                  SERVER(NOT_IN_DIR_CONTEXT, handshake_timeout, .least = 1), RSRC_CONF,
                  "time that a handshake may take"),
    AP_INIT_TAKE1("H3IdleTimeout", conf_set_time,
                  SERVER(NOT_IN_DIR_CONTEXT, idle_timeout, .least = 1), RSRC_CONF,
                  "time after which a silent connection is over"),
    AP_INIT_FLAG("H3EarlyData", set_early, NULL, RSRC_CONF,
                 "On: requests may come with the first packet of a connection (0-RTT)"),
    AP_INIT_TAKE1("H3AddressValidation", conf_set_word,
                  SERVER(NOT_IN_DIR_CONTEXT, validation, .words = validation_words,
                         .refusal = "H3AddressValidation must be On, Off or Auto"),
                  RSRC_CONF, "On, Off, or Auto: clients prove their address first"),
    AP_INIT_TAKE1("H3MaxRequestBodySize", conf_set_number,
                  SERVER(NOT_IN_DIR_CONTEXT, max_body, .most = APR_INT64_MAX), RSRC_CONF,
                  "bytes of a request's body; 0: no limit"),
    AP_INIT_TAKE1("H3MaxStreamErrors", conf_set_number,
                  SERVER(NOT_IN_DIR_CONTEXT, max_errors, .most = APR_INT32_MAX), RSRC_CONF,
                  "requests of a connection that may be faulty, beyond those that are completed"),
    AP_INIT_TAKE1("H3StreamTimeout", conf_set_time,
                  SERVER(NOT_IN_DIR_CONTEXT, stream_timeout, .least = 1), RSRC_CONF,
                  "time that a response may make no progress; Timeout without it"),
    NOTHING("H3MaxConnections", "the limits of connections hold for all protocols"),
    NOTHING("H3MaxWindow",
            "a client may send 64 KB of a body, and 1 MB in all, that nobody has read"),
    NOTHING("H3MaxResponseBodySize", "responses are sent as they are made"),
    NOTHING("H3MaxWorkerIdleSeconds", "HTTP/3 has the worker threads of all protocols"),
    NOTHING("H3MaxWorkers", "HTTP/3 has the worker threads of all protocols"),
    NOTHING("H3MinWorkers", "HTTP/3 has the worker threads of all protocols"),
    NOTHING("H3QpackBlockedStreams", "requests do not wait for a table"),
    NOTHING("H3QpackTableCapacity", "requests are read without a table of the client's"),
    NOTHING("H3QuicEngine", "there is one"),
    NOTHING("H3SocketBufferSize", "sockets ask for 4 MB"),
    NOTHING("H3StreamBufferSize", "responses have the buffers of HTTP/2"),
    AP_INIT_TAKE_ARGV("H3QLog", set_qlog, NULL, RSRC_CONF,
                      "a folder where connections write what they do, and the clients that do so"),
    AP_INIT_FLAG("H3SessionTickets", set_tickets, NULL, RSRC_CONF, "see SSLSessionTickets"),
    AP_INIT_TAKE1("H3Port", conf_set_number,
                  SERVER(NOT_IN_DIR_CONTEXT, port, .least = 1, .most = 65535), RSRC_CONF,
                  "the port that Alt-Svc tells"),
    AP_INIT_FLAG("H3WebSockets", conf_set_flag, SERVER(GLOBAL_ONLY, websockets, .most = 1),
                 RSRC_CONF, "On: streams may become WebSocket connections to backends"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL}};
