/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_reqtimeout: RequestReadTimeout. The event loops keep the limits; this module reads the
 * directive and hands its values over (brigade/read_timeout.h).
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_optional.h"
#include "apr_strings.h"
#include "brigade/read_timeout.h"
#include "brigade/response_cache.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(reqtimeout);

extern module AP_MODULE_DECLARE_DATA reqtimeout_module;

typedef enum reqtimeout_stage_id {
    REQTIMEOUT_HANDSHAKE,
    REQTIMEOUT_HEADER,
    REQTIMEOUT_BODY,
    REQTIMEOUT_STAGES
} reqtimeout_stage_id;

typedef struct reqtimeout_stage {
    int is_set;
    int first, max; /**< seconds; max 0 = none */
    int min_rate;   /**< bytes per second; 0 = none */
} reqtimeout_stage;

typedef struct reqtimeout_conf {
    reqtimeout_stage stage[REQTIMEOUT_STAGES];
} reqtimeout_conf;

static const struct {
    const char *name;
    reqtimeout_stage fallback;
} reqtimeout_stages[REQTIMEOUT_STAGES] = {
    {"handshake", {1, 0, 0, 0}},
    {"header", {1, 20, 40, 500}},
    {"body", {1, 20, 0, 500}},
};

static void *reqtimeout_create_conf(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(reqtimeout_conf));
}

static void *reqtimeout_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const reqtimeout_conf *base = base_conf, *add = add_conf;
    reqtimeout_conf *conf = apr_palloc(p, sizeof(*conf));
    int i;

    for (i = 0; i < REQTIMEOUT_STAGES; i++)
        conf->stage[i] = add->stage[i].is_set ? add->stage[i] : base->stage[i];
    return conf;
}

static const char *reqtimeout_parse_int(apr_pool_t *p, const char *text, int *out)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text)
        return apr_psprintf(p, "Value '%s' not numerical", text);
    if (*end != '\0')
        return apr_psprintf(p, "Cannot parse '%s'", end);
    if (value < 0)
        return "Value must be non-negative";
    *out = value > INT_MAX ? INT_MAX : (int)value;
    return NULL;
}

/* "FIRST-MAX", which only makes sense with a rate, or "FIRST". */
static const char *reqtimeout_parse_times(apr_pool_t *p, const char *text, int has_rate,
                                          reqtimeout_stage *stage)
{
    const char *dash = ap_strchr_c(text, '-'), *error;

    if (dash == NULL)
        return reqtimeout_parse_int(p, text, &stage->first);
    if (!has_rate)
        return "Must set MinRate option if using timeout range";
    error = reqtimeout_parse_int(p, dash + 1, &stage->max);
    if (error == NULL)
        error = reqtimeout_parse_int(p, apr_pstrmemdup(p, text, dash - text), &stage->first);
    return error;
}

static const char *reqtimeout_parse_stage(apr_pool_t *p, const char *text, reqtimeout_stage *stage)
{
    const char *rate = ap_strcasestr(text, ",minrate="), *error;

    if (rate) {
        error = reqtimeout_parse_int(p, rate + strlen(",minrate="), &stage->min_rate);
        if (error)
            return error;
        if (stage->min_rate == 0)
            return "Minimum data rate must be larger than 0";
        text = apr_pstrmemdup(p, text, rate - text);
    }
    error = reqtimeout_parse_times(p, text, rate != NULL, stage);
    if (error)
        return error;
    if (stage->max && stage->first >= stage->max)
        return "Maximum timeout must be larger than initial timeout";
    return NULL;
}

static const char *reqtimeout_set_stage(apr_pool_t *p, reqtimeout_conf *conf, const char *name,
                                        const char *value)
{
    int i;

    for (i = 0; i < REQTIMEOUT_STAGES; i++) {
        if (strcasecmp(name, reqtimeout_stages[i].name) == 0) {
            reqtimeout_stage stage = {1, 0, 0, 0};
            const char *error = reqtimeout_parse_stage(p, value, &stage);

            if (error == NULL)
                conf->stage[i] = stage;
            return error;
        }
    }
    return "Unknown RequestReadTimeout parameter";
}

static const char *reqtimeout_command(cmd_parms *cmd, void *mconfig, const char *args)
{
    reqtimeout_conf *conf = ap_get_module_config(cmd->server->module_config, &reqtimeout_module);

    while (*args) {
        const char *word = ap_getword_conf(cmd->pool, &args);
        const char *equals = ap_strchr_c(word, '='), *name, *error;

        if (equals == NULL) {
            return "Invalid RequestReadTimeout parameter. Parameter must be in the form "
                   "'key=value'";
        }
        name = apr_pstrmemdup(cmd->pool, word, equals - word);
        error = reqtimeout_set_stage(cmd->pool, conf, name, equals + 1);
        if (error) {
            return apr_psprintf(cmd->pool, "RequestReadTimeout: %s=%s: %s", name, equals + 1,
                                error);
        }
    }
    return NULL;
}

static void reqtimeout_export(const reqtimeout_conf *conf, reqtimeout_stage_id id,
                              brg_read_timeout *out)
{
    const reqtimeout_stage *stage =
        conf->stage[id].is_set ? &conf->stage[id] : &reqtimeout_stages[id].fallback;

    out->first_us = apr_time_from_sec(stage->first);
    out->max_us = apr_time_from_sec(stage->max);
    out->min_rate = stage->min_rate;
}

static void brg_read_timeouts_of(const server_rec *s, brg_read_timeouts *out)
{
    const reqtimeout_conf *conf = ap_get_module_config(s->module_config, &reqtimeout_module);

    reqtimeout_export(conf, REQTIMEOUT_HANDSHAKE, &out->handshake);
    reqtimeout_export(conf, REQTIMEOUT_HEADER, &out->header);
    reqtimeout_export(conf, REQTIMEOUT_BODY, &out->body);
}

static const command_rec reqtimeout_commands[] = {
    AP_INIT_RAW_ARGS("RequestReadTimeout", reqtimeout_command, NULL, RSRC_CONF,
                     "Set various timeout parameters for TLS handshake and/or reading request "
                     "headers and body"),
    {0},
};

static void reqtimeout_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(brg_read_timeouts_of);
    brg_cache_declare(&reqtimeout_module, NULL);
}

module AP_MODULE_DECLARE_DATA reqtimeout_module = {
    STANDARD20_MODULE_STUFF,
    NULL,
    NULL,
    reqtimeout_create_conf,
    reqtimeout_merge_conf,
    reqtimeout_commands,
    reqtimeout_register_hooks,
    0,
};
