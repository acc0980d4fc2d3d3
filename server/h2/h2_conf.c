/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the built-in http2 module: all directives of mod_http2. Missing features are refused
 * by name, or, where LoadModule names Apache's module, left to that one. */
#include "h2_hints.h"
#include "h2_private.h"
#include "configuration.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include <string.h>

APLOG_USE_MODULE(http2);

#define DEFAULT_STREAMS 100
#define DEFAULT_MEMORY 65536
#define DEFAULT_BLOCK 65536
#define DEFAULT_ERRORS 8
#define PADDING_MOST 8

void *h2_server_create(apr_pool_t *p, server_rec *s)
{
    h2_server_conf *sc = apr_palloc(p, sizeof *sc);

    *sc = (h2_server_conf){.max_streams = H2_UNSET,
                           .window = H2_UNSET,
                           .max_errors = H2_UNSET,
                           .max_memory = H2_UNSET,
                           .max_block = H2_UNSET,
                           .direct = H2_UNSET,
                           .early_hints = H2_UNSET,
                           .max_frame = H2_UNSET,
                           .modern = H2_UNSET,
                           .padding = H2_UNSET,
                           .buffering = H2_UNSET,
                           .websockets = H2_UNSET,
                           .stream_timeout = H2_UNSET};
    return sc;
}

#define MERGE(field)           \
    if (sc->field == H2_UNSET) \
        sc->field = base->field;

static apr_array_header_t *merge_hints(apr_pool_t *p, apr_array_header_t *base,
                                       apr_array_header_t *add)
{
    return base && add ? apr_array_append(p, base, add) : add ? add : base;
}

void *h2_server_merge(apr_pool_t *p, void *basev, void *addv)
{
    const h2_server_conf *base = basev;
    h2_server_conf *sc = apr_pmemdup(p, addv, sizeof *sc);

    MERGE(max_streams);
    MERGE(window);
    MERGE(max_errors);
    MERGE(max_memory);
    MERGE(max_block);
    MERGE(direct);
    MERGE(early_hints);
    MERGE(max_frame);
    MERGE(modern);
    MERGE(padding);
    MERGE(buffering);
    MERGE(websockets);
    MERGE(stream_timeout);
    sc->pushes = merge_hints(p, base->pushes, sc->pushes);
    sc->hints = merge_hints(p, base->hints, sc->hints);
    return sc;
}

void *h2_dir_create(apr_pool_t *p, char *path)
{
    h2_dir_conf *dc = apr_pcalloc(p, sizeof *dc);

    dc->upgrade = H2_UNSET;
    return dc;
}

void *h2_dir_merge(apr_pool_t *p, void *basev, void *addv)
{
    const h2_dir_conf *base = basev, *add = addv;
    h2_dir_conf *dc = apr_palloc(p, sizeof *dc);

    BRG_ASSERT(base != NULL && add != NULL);

    dc->pushes = merge_hints(p, base->pushes, add->pushes);
    dc->hints = merge_hints(p, base->hints, add->hints);
    dc->upgrade = add->upgrade == H2_UNSET ? base->upgrade : add->upgrade;
    return dc;
}

static int conf_value(int value, int without)
{
    return value == H2_UNSET ? without : value;
}

void h2_conf_of(const server_rec *s, h2_server_conf *out)
{
    const h2_server_conf *sc = ap_get_module_config(s->module_config, &http2_module);

    BRG_ASSERT(sc != NULL);
    *out = *sc;
    out->max_streams = conf_value(sc->max_streams, DEFAULT_STREAMS);
    out->window = conf_value(sc->window, H2_WINDOW_DEFAULT);
    out->max_errors = conf_value(sc->max_errors, DEFAULT_ERRORS);
    out->max_memory = conf_value(sc->max_memory, DEFAULT_MEMORY);
    out->max_block = conf_value(sc->max_block, DEFAULT_BLOCK);
    out->early_hints = conf_value(sc->early_hints, 0);
    out->max_frame = conf_value(sc->max_frame, 0);
    out->modern = conf_value(sc->modern, 1);
    out->padding = conf_value(sc->padding, 0);
    out->buffering = conf_value(sc->buffering, 1);
    out->websockets = conf_value(sc->websockets, 0);
    if (sc->stream_timeout == H2_UNSET)
        out->stream_timeout = 0;
}

int h2_sends_hints(const server_rec *s)
{
    const h2_server_conf *sc = ap_get_module_config(s->module_config, &http2_module);

    BRG_ASSERT(sc != NULL);
    return sc->early_hints == 1;
}

/* ---- directives ---- */

static h2_server_conf *cmd_conf(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &http2_module);
}

/* On or Off and no words behind, as mod_http2 wants it: its directives are no flags. */
static const char *parse_switch(const cmd_parms *cmd, const char *arg, int *on)
{
    *on = !ap_cstr_casecmp(arg, "on");
    if (!*on && ap_cstr_casecmp(arg, "off"))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be On or Off", NULL);
    return NULL;
}

/* cmd->info: where in the settings. */
static const char *set_switch(cmd_parms *cmd, void *unused, const char *arg)
{
    return parse_switch(cmd, arg, (int *)((char *)cmd_conf(cmd) + (size_t)(uintptr_t)cmd->info));
}

static const char *set_upgrade(cmd_parms *cmd, void *dir, const char *arg)
{
    return parse_switch(cmd, arg, &((h2_dir_conf *)dir)->upgrade);
}

/* Apache takes a number from `from` on; one out of bounds becomes the nearest in bounds. */
typedef struct number_rule {
    size_t at;
    int from, least, most;
} number_rule;

#define AT(field) offsetof(h2_server_conf, field)
static const number_rule rule_streams = {AT(max_streams), 1, 1, 100000},
                         rule_window = {AT(window), 1024, 1024, H2_WINDOW_MAX / 2},
                         rule_memory = {AT(max_memory), 1024, 1024, 1 << 30},
                         rule_block = {AT(max_block), 0, 1024, 1 << 20},
                         rule_errors = {AT(max_errors), 0, 0, 1 << 20},
                         rule_frame = {AT(max_frame), 0, 0, 1 << 24},
                         rule_padding = {AT(padding), 0, 0, PADDING_MOST};

static const char *set_number(cmd_parms *cmd, void *unused, const char *arg)
{
    const number_rule *rule = cmd->info;
    const apr_int64_t n = brg_argument_number(cmd, arg);

    BRG_ASSERT(rule != NULL && rule->at < sizeof(h2_server_conf));
    if (n < rule->from || n > APR_INT32_MAX || (rule == &rule_padding && n > rule->most))
        return apr_psprintf(cmd->pool, "%s must be a number from %d to %d", cmd->cmd->name,
                            rule->least, rule->most);
    *(int *)((char *)cmd_conf(cmd) + rule->at) =
        (int)brg_argument_clamp(cmd, n, rule->least, rule->most);
    return NULL;
}

static const char *set_stream_timeout(cmd_parms *cmd, void *unused, const char *arg)
{
    apr_interval_time_t t;

    if (ap_timeout_parameter_parse(arg, &t, "s") != APR_SUCCESS || t < 0)
        return "H2StreamTimeout must be a time, in seconds where no unit is named";
    cmd_conf(cmd)->stream_timeout = t;
    return NULL;
}

/* ---- early hints ---- */

static void hint_add(const cmd_parms *cmd, apr_array_header_t **list, const char *name,
                     const char *value)
{
    if (!*list)
        *list = apr_array_make(cmd->pool, 4, sizeof(h2_hint));
    APR_ARRAY_PUSH(*list, h2_hint) = (h2_hint){name, value};
}

static const char *set_hint(cmd_parms *cmd, void *dir, const char *name, const char *value)
{
    h2_dir_conf *dc = dir;

    if (!*name || !value[strspn(value, " \t")])
        return "H2EarlyHint needs the name of a field and its value";
    if (*ap_scan_http_token(name) || *ap_scan_http_field_content(value))
        return "H2EarlyHint: this cannot be sent as a field";
    hint_add(cmd, cmd->path ? &dc->hints : &cmd_conf(cmd)->hints, name, value);
    return NULL;
}

/* [add] URI-REFERENCE [critical] */
static const char *set_resource(cmd_parms *cmd, void *dir, const char *first, const char *second,
                                const char *third)
{
    h2_dir_conf *dc = dir;
    const char *critical;

    if (!ap_cstr_casecmp(first, "add") && second) {
        first = second;
        second = third;
        third = NULL;
    }
    if (third || (second && ap_cstr_casecmp(second, "critical")))
        return "H2PushResource takes [add] URI [critical]";
    critical = second ? "; critical" : "";
    if (*ap_scan_http_field_content(first))
        return "H2PushResource: this cannot be sent in a field";
    hint_add(cmd, cmd->path ? &dc->pushes : &cmd_conf(cmd)->pushes, "Link",
             apr_pstrcat(cmd->pool, "<", first, ">; rel=preload", critical, NULL));
    return NULL;
}

/* ---- directives with another form here, or without effect ---- */

/* cmd->info says why. */
static const char *set_notice(cmd_parms *cmd, void *unused, const char *args)
{
    conf_notice_no_effect(cmd, APLOG_MODULE_INDEX, cmd->info);
    return NULL;
}

static const char *set_notice_switch(cmd_parms *cmd, void *unused, const char *arg)
{
    int on;
    const char *error = parse_switch(cmd, arg, &on);

    return error ? error : set_notice(cmd, unused, arg);
}

static const char *set_notice_count(cmd_parms *cmd, void *unused, const char *arg)
{
    const apr_int64_t n = brg_argument_number(cmd, arg);

    if (n < 1 || n > APR_INT32_MAX)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be > 0", NULL);
    return set_notice(cmd, unused, arg);
}

static const char *set_notice_power(cmd_parms *cmd, void *unused, const char *arg)
{
    const apr_int64_t n = brg_argument_number(cmd, arg);

    if (n < 0 || n > APR_INT32_MAX || (n & (n - 1)))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be 0 or a power of 2", NULL);
    return set_notice(cmd, unused, arg);
}

static const char *set_notice_time(cmd_parms *cmd, void *unused, const char *arg)
{
    apr_interval_time_t t;

    if (ap_timeout_parameter_parse(arg, &t, "s") != APR_SUCCESS || t < 0)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": invalid time", NULL);
    return set_notice(cmd, unused, arg);
}

static const char *set_notice_words(cmd_parms *cmd, void *unused, const char *one, const char *two,
                                    const char *three)
{
    return set_notice(cmd, unused, one);
}

static const char *set_off(cmd_parms *cmd, void *unused, int on)
{
    const char *what = apr_pstrcat(cmd->pool, cmd->cmd->name, " on", NULL), *again;

    if (!on)
        return NULL;
    again = conf_builtin_lacks(cmd, &http2_module, what);
    return again ? again
                 : apr_pstrcat(cmd->pool, what, " (", cmd->info,
                               ") is not offered by the built-in http2 module; \"BuiltinModule "
                               "http2_module Off\" takes the module that LoadModule names",
                               NULL);
}

#define SWITCH(name, field, text) \
    AP_INIT_TAKE1(name, set_switch, (void *)AT(field), RSRC_CONF, text)
#define NUMBER(name, rule, text) \
    AP_INIT_TAKE1(name, set_number, (void *)(uintptr_t) & (rule), RSRC_CONF, text)
#define NOTICE(name, fn, where, why) AP_INIT_TAKE1(name, fn, (void *)(uintptr_t)(why), where, why)
#define OFF(name, where, what) \
    AP_INIT_FLAG(name, set_off, (void *)(uintptr_t)(what), where, "off: " what " is not done")

static const char no_push[] = "browsers take no pushed responses, and none are sent";
static const char no_workers[] =
    "streams run on the event loops and their workers (MaxRequestWorkers)";
static const char no_warm_up[] = "TLS records are short after each pause";
static const char no_copies[] = "what is sent of a file is read and copied as the client takes it";
static const char no_text[] = "there is one way in which requests go from a stream to the handlers";
static const char no_files[] = "open files have no limit of their own";

const command_rec h2_commands[] = {
    SWITCH("H2Direct", direct,
           "on: HTTP/2 is taken from clients that begin with its preface; default: on where "
           "Protocols has h2c, else off"),
    SWITCH("H2EarlyHints", early_hints, "on: interim responses 103 are sent; default: off"),
    SWITCH("H2ModernTLSOnly", modern,
           "off: HTTP/2 also over TLS 1.2 with ciphers that RFC 9113 advises against; default: on"),
    SWITCH("H2OutputBuffering", buffering,
           "off: what a handler passes on is sent at once, however little; default: on"),
    NUMBER("H2MaxSessionStreams", rule_streams, "open streams of a connection"),
    NUMBER("H2WindowSize", rule_window, "bytes of a request's body that wait to be read"),
    NUMBER("H2StreamMaxMemSize", rule_memory, "bytes of a response that wait for the client"),
    NUMBER("H2MaxHeaderBlockLen", rule_block, "bytes of a field block"),
    NUMBER("H2MaxStreamErrors", rule_errors,
           "faults of a client that are forgiven; each completed response makes up for one"),
    NUMBER("H2MaxDataFrameLen", rule_frame, "bytes of data in a frame; 0: as many as fit"),
    NUMBER("H2Padding", rule_padding,
           "frames get a random number of bytes of padding, less than 2 to the power of this"),
    AP_INIT_TAKE1("H2StreamTimeout", set_stream_timeout, NULL, RSRC_CONF,
                  "how long a stream waits for its client; default: Timeout"),
    AP_INIT_TAKE2("H2EarlyHint", set_hint, NULL, OR_FILEINFO, "name and value of a field of 103"),
    AP_INIT_TAKE123("H2PushResource", set_resource, NULL, OR_FILEINFO,
                    "[add] URI [critical]: a Link field of 103; nothing is pushed"),
    AP_INIT_TAKE1(
        "H2Upgrade", set_upgrade, NULL, OR_FILEINFO,
        "off: clients in the clear cannot change to HTTP/2 by an Upgrade field; default: on"),
    OFF("H2ProxyRequests", OR_FILEINFO, "a forward proxy over HTTP/2"),
    SWITCH("H2WebSockets", websockets,
           "on: WebSocket over HTTP/2 (RFC 8441), for backends of the proxy; default: off"),
    NOTICE("H2Push", set_notice_switch, OR_FILEINFO, no_push),
    AP_INIT_TAKE23("H2PushPriority", set_notice_words, (void *)(uintptr_t)no_push, RSRC_CONF,
                   no_push),
    NOTICE("H2PushDiarySize", set_notice_power, RSRC_CONF, no_push),
    NOTICE("H2MinWorkers", set_notice_count, RSRC_CONF, no_workers),
    NOTICE("H2MaxWorkers", set_notice_count, RSRC_CONF, no_workers),
    NOTICE("H2MaxWorkerIdleSeconds", set_notice_time, RSRC_CONF, no_workers),
    NOTICE("H2TLSWarmUpSize", set_notice, RSRC_CONF, no_warm_up),
    NOTICE("H2TLSCoolDownSecs", set_notice, RSRC_CONF, no_warm_up),
    NOTICE("H2CopyFiles", set_notice_switch, OR_FILEINFO, no_copies),
    NOTICE("H2SerializeHeaders", set_notice, RSRC_CONF, no_text),
    NOTICE("H2SessionExtraFiles", set_notice, RSRC_CONF, no_files),
    {.name = NULL}};
