/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of server-side includes. */
#include "ssi_esi.h"
#include "ssi_config.h"
#include "http_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#define SSI_ERROR_MESSAGE "[an error occurred while processing this directive]"
#define SSI_TIME_FORMAT "%A, %d-%b-%Y %H:%M:%S %Z"
#define SSI_UNDEFINED_ECHO "(none)"
#define SSI_START_TAG "<!--#"
#define SSI_END_TAG "-->"

#define SSI_INCLUDES_MOST 100000
#define SSI_BESIDE_MOST 8
#define SSI_DEPTH_MOST 100
#define SSI_BYTES_MOST (1024 * 1024 * 1024)
#define SSI_VALUE_BYTES_MOST (1024 * 1024)
#define SSI_INCLUDE_US apr_time_from_sec(300)
#define SSI_EXEC_US apr_time_from_sec(60)
#define SSI_CACHE_BYTES (16 * 1024 * 1024)

static apr_int64_t ssi_cache_bytes = SSI_CACHE_BYTES;
static apr_array_header_t *ssi_all_tags;

/* ---- values ---- */

const ssi_dir_conf *ssi_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &include_module);
}

static void conf_default(int *value, int otherwise)
{
    if (*value == SSI_UNSET)
        *value = otherwise;
}

static void conf_default64(apr_int64_t *value, apr_int64_t otherwise)
{
    if (*value == SSI_UNSET)
        *value = otherwise;
}

const ssi_dir_conf *ssi_conf_resolved(const request_rec *r)
{
    ssi_dir_conf *conf = apr_pmemdup(r->pool, ssi_conf_of(r), sizeof *conf);

    conf_default(&conf->xbithack, SSI_XBIT_OFF);
    conf_default(&conf->legacy_expr, 0);
    conf_default(&conf->last_modified, SSI_OFF);
    conf_default(&conf->etag, SSI_OFF);
    conf_default(&conf->pass_unknown, 0);
    conf_default(&conf->trace, 0);
    conf_default(&conf->esi, SSI_ESI_OFF);
    conf_default(&conf->includes_most, SSI_INCLUDES_MOST);
    conf_default(&conf->beside_most, SSI_BESIDE_MOST);
    conf_default(&conf->depth_most, SSI_DEPTH_MOST);
    conf_default64(&conf->bytes_most, SSI_BYTES_MOST);
    conf_default64(&conf->value_bytes_most, SSI_VALUE_BYTES_MOST);
    conf_default64(&conf->include_us, SSI_INCLUDE_US);
    conf_default64(&conf->exec_us, SSI_EXEC_US);
    BRG_ASSERT(conf->includes_most >= 0 && conf->depth_most >= 0);
    BRG_ASSERT(conf->bytes_most >= 0 && conf->value_bytes_most >= 0);
    BRG_ASSERT(conf->include_us >= 0 && conf->exec_us >= 0);
    return conf;
}

const char *ssi_error_message(const ssi_dir_conf *conf)
{
    return conf->error_message ? conf->error_message : SSI_ERROR_MESSAGE;
}

const char *ssi_time_format(const ssi_dir_conf *conf)
{
    return conf->time_format ? conf->time_format : SSI_TIME_FORMAT;
}

const char *ssi_undefined_echo(const ssi_dir_conf *conf)
{
    return conf->undefined_echo ? conf->undefined_echo : SSI_UNDEFINED_ECHO;
}

const ssi_tags *ssi_tags_of(const request_rec *r)
{
    const ssi_server_conf *conf = ap_get_module_config(r->server->module_config, &include_module);
    const ssi_tags *tags = conf->tags[ssi_conf_of(r)->pass_unknown == 1];

    BRG_ASSERT(tags != NULL); /* ssi_tags_prepare() made them for every server */
    return tags;
}

apr_size_t ssi_cache_budget(void)
{
    return (apr_size_t)ssi_cache_bytes;
}

void ssi_conf_reset(void)
{
    ssi_cache_bytes = SSI_CACHE_BYTES;
    ssi_all_tags = NULL;
}

/* ---- create and merge ---- */

void *ssi_create_dir_conf(apr_pool_t *p, char *dir)
{
    ssi_dir_conf *conf = apr_palloc(p, sizeof *conf);

    memset(conf, 0xff, sizeof *conf); /* SSI_UNSET */
    conf->error_message = conf->time_format = conf->undefined_echo = NULL;
    return conf;
}

#define SSI_MERGE(field) conf->field = over->field == SSI_UNSET ? base->field : over->field

void *ssi_merge_dir_conf(apr_pool_t *p, void *basev, void *overv)
{
    const ssi_dir_conf *base = basev, *over = overv;
    ssi_dir_conf *conf = apr_palloc(p, sizeof *conf);

    conf->error_message = over->error_message ? over->error_message : base->error_message;
    conf->time_format = over->time_format ? over->time_format : base->time_format;
    conf->undefined_echo = over->undefined_echo ? over->undefined_echo : base->undefined_echo;
    SSI_MERGE(xbithack);
    SSI_MERGE(legacy_expr);
    SSI_MERGE(last_modified);
    SSI_MERGE(etag);
    SSI_MERGE(pass_unknown);
    SSI_MERGE(trace);
    SSI_MERGE(esi);
    SSI_MERGE(includes_most);
    SSI_MERGE(beside_most);
    SSI_MERGE(depth_most);
    SSI_MERGE(bytes_most);
    SSI_MERGE(value_bytes_most);
    SSI_MERGE(include_us);
    SSI_MERGE(exec_us);
    return conf;
}

void *ssi_create_server_conf(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(ssi_server_conf));
}

void *ssi_merge_server_conf(apr_pool_t *p, void *basev, void *overv)
{
    const ssi_server_conf *base = basev, *over = overv;
    ssi_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->start = over->start ? over->start : base->start;
    conf->end = over->end ? over->end : base->end;
    return conf;
}

/* ---- tags ---- */

ssi_tags *ssi_tags_make(apr_pool_t *p, const char *start, const char *end)
{
    ssi_tags *tags = apr_palloc(p, sizeof *tags);

    tags->start = start ? start : SSI_START_TAG;
    tags->end = end ? end : SSI_END_TAG;
    tags->end_len = strlen(tags->end);
    BRG_ASSERT(*tags->start && tags->end_len > 0); /* the setters refuse empty ones */
    tags->pattern = ssi_pattern_make(p, tags->start, strlen(tags->start));
    tags->pass_unknown = 0;
    return tags;
}

/* One object for each pair, so that the pages of all servers with that pair are shared. */
static ssi_tags *ssi_tags_shared(apr_pool_t *p, const char *start, const char *end, int pass)
{
    ssi_tags *tags;

    if (!ssi_all_tags)
        ssi_all_tags = apr_array_make(p, 2, sizeof(ssi_tags *));
    for (int i = 0; i < ssi_all_tags->nelts; i++) {
        tags = APR_ARRAY_IDX(ssi_all_tags, i, ssi_tags *);
        if (tags->pass_unknown == pass && !strcmp(tags->start, start ? start : SSI_START_TAG) &&
            !strcmp(tags->end, end ? end : SSI_END_TAG))
            return tags;
    }
    tags = ssi_tags_make(p, start, end);
    tags->pass_unknown = pass;
    APR_ARRAY_PUSH(ssi_all_tags, ssi_tags *) = tags;
    return tags;
}

void ssi_tags_prepare(apr_pool_t *p, server_rec *s)
{
    for (; s; s = s->next) {
        ssi_server_conf *conf = ap_get_module_config(s->module_config, &include_module);

        for (int pass = 0; pass < 2; pass++)
            conf->tags[pass] = ssi_tags_shared(p, conf->start, conf->end, pass);
    }
}

/* ---- setters ---- */

static const char *set_xbithack(cmd_parms *cmd, void *confv, const char *arg)
{
    ssi_dir_conf *conf = confv;

    if (!strcasecmp(arg, "off"))
        conf->xbithack = SSI_XBIT_OFF;
    else if (!strcasecmp(arg, "on"))
        conf->xbithack = SSI_XBIT_ON;
    else if (!strcasecmp(arg, "full"))
        conf->xbithack = SSI_XBIT_FULL;
    else
        return "XBitHack must be set to Off, On, or Full";
    return NULL;
}

/* on, off, and parts; the offset of the int is in cmd->info. */
static const char *set_validator(cmd_parms *cmd, void *confv, const char *arg)
{
    int *to = (int *)(void *)((char *)confv + (apr_size_t)(apr_uintptr_t)cmd->info);

    if (!strcasecmp(arg, "off"))
        *to = SSI_OFF;
    else if (!strcasecmp(arg, "on"))
        *to = SSI_ON;
    else if (!strcasecmp(arg, "parts"))
        *to = SSI_PARTS;
    else
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be On, Off, or Parts", NULL);
    return NULL;
}

static const char *set_esi(cmd_parms *cmd, void *confv, const char *arg)
{
    ssi_dir_conf *conf = confv;

    if (!strcasecmp(arg, "off"))
        conf->esi = SSI_ESI_OFF;
    else if (!strcasecmp(arg, "on"))
        conf->esi = SSI_ESI_ON;
    else if (!strcasecmp(arg, "always"))
        conf->esi = SSI_ESI_ALWAYS;
    else
        return "SSIEsi must be On, Off, or Always";
    return NULL;
}

static const char *set_unknown(cmd_parms *cmd, void *confv, const char *arg)
{
    ssi_dir_conf *conf = confv;

    if (strcasecmp(arg, "error") && strcasecmp(arg, "pass"))
        return "SSIUnknownDirectives must be Error or Pass";
    conf->pass_unknown = !strcasecmp(arg, "pass");
    return NULL;
}

static int set_has_space(const char *arg)
{
    for (; *arg; arg++)
        if (apr_isspace(*arg))
            return 1;
    return 0;
}

static const char *set_start_tag(cmd_parms *cmd, void *unused, const char *arg)
{
    ssi_server_conf *conf = ap_get_module_config(cmd->server->module_config, &include_module);

    if (set_has_space(arg))
        return "SSIStartTag may not contain any whitespaces";
    if (!*arg)
        return "SSIStartTag may not be empty";
    conf->start = arg;
    return NULL;
}

static const char *set_end_tag(cmd_parms *cmd, void *unused, const char *arg)
{
    ssi_server_conf *conf = ap_get_module_config(cmd->server->module_config, &include_module);

    if (set_has_space(arg))
        return "SSIEndTag may not contain any whitespaces";
    if (!*arg)
        return "SSIEndTag may not be empty";
    conf->end = arg;
    return NULL;
}

static const char *set_count(cmd_parms *cmd, void *confv, const char *arg)
{
    int *to = (int *)(void *)((char *)confv + (apr_size_t)(apr_uintptr_t)cmd->info);
    char *end;
    long n = strtol(arg, &end, 10);

    if (end == arg || *end || n < 0 || n > 1000000000)
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " takes a number from 0 (no limit) to 1000000000", NULL);
    *to = (int)n;
    return NULL;
}

static const char *set_bytes_of(cmd_parms *cmd, apr_int64_t *to, const char *arg)
{
    char *end;
    apr_off_t n = -1;
    apr_status_t rv = apr_strtoff(&n, arg, &end, 10);
    int shift = 0;

    if (rv == APR_SUCCESS && end != arg && (*end == 'K' || *end == 'k'))
        shift = 10, end++;
    else if (rv == APR_SUCCESS && end != arg && (*end == 'M' || *end == 'm'))
        shift = 20, end++;
    if (rv != APR_SUCCESS || end == arg || *end || n < 0 || n > (APR_INT64_C(1) << 40) >> shift)
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " takes a number of bytes, with K or M if wanted; 0 means none", NULL);
    *to = (apr_int64_t)n << shift;
    return NULL;
}

static const char *set_bytes(cmd_parms *cmd, void *confv, const char *arg)
{
    return set_bytes_of(
        cmd, (apr_int64_t *)(void *)((char *)confv + (apr_size_t)(apr_uintptr_t)cmd->info), arg);
}

static const char *set_cache_bytes(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    return error ? error : set_bytes_of(cmd, &ssi_cache_bytes, arg);
}

static const char *set_time(cmd_parms *cmd, void *confv, const char *arg)
{
    apr_int64_t *to = (apr_int64_t *)(void *)((char *)confv + (apr_size_t)(apr_uintptr_t)cmd->info);

    if (ap_timeout_parameter_parse(arg, to, "s") != APR_SUCCESS || *to < 0)
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " takes a time in seconds, or with a unit; 0 means no limit", NULL);
    return NULL;
}

#define SSI_AT(field) (void *)offsetof(ssi_dir_conf, field)

const command_rec ssi_commands[] = {
    AP_INIT_TAKE1("XBitHack", set_xbithack, NULL, OR_OPTIONS, "Off, On, or Full"),
    AP_INIT_TAKE1("SSIErrorMsg", ap_set_string_slot, SSI_AT(error_message), OR_ALL, "a string"),
    AP_INIT_TAKE1("SSITimeFormat", ap_set_string_slot, SSI_AT(time_format), OR_ALL,
                  "a strftime(3) formatted string"),
    AP_INIT_TAKE1("SSIStartTag", set_start_tag, NULL, RSRC_CONF, "text that begins a directive"),
    AP_INIT_TAKE1("SSIEndTag", set_end_tag, NULL, RSRC_CONF, "text that ends a directive"),
    AP_INIT_TAKE1("SSIUndefinedEcho", ap_set_string_slot, SSI_AT(undefined_echo), OR_ALL,
                  "what echo shows of a variable that is not set"),
    AP_INIT_FLAG("SSILegacyExprParser", ap_set_flag_slot, SSI_AT(legacy_expr), OR_LIMIT,
                 "On: conditions in the language of 2.2"),
    AP_INIT_TAKE1("SSILastModified", set_validator, SSI_AT(last_modified), OR_LIMIT,
                  "On: of the page's own file; Parts: of the newest file in it; Off"),
    AP_INIT_TAKE1("SSIETag", set_validator, SSI_AT(etag), OR_LIMIT,
                  "On: of the page's own file; Parts: of all that shows in it; Off"),
    AP_INIT_TAKE1("SSIEsi", set_esi, NULL, OR_LIMIT | RSRC_CONF,
                  "On: documents that Surrogate-Control calls ESI/1.0 are put together; Always: "
                  "others, too; Off"),
    AP_INIT_TAKE1("SSIUnknownDirectives", set_unknown, NULL, OR_ALL,
                  "Error, or Pass: they are left in the page"),
    AP_INIT_FLAG("SSITrace", ap_set_flag_slot, SSI_AT(trace), OR_ALL,
                 "On: comments tell which file and line made what"),
    AP_INIT_TAKE1("SSIMaxIncludes", set_count, SSI_AT(includes_most), RSRC_CONF | ACCESS_CONF,
                  "includes in a page with all that it includes (default 100000; 0: no limit)"),
    AP_INIT_TAKE1("SSIMaxDepth", set_count, SSI_AT(depth_most), RSRC_CONF | ACCESS_CONF,
                  "levels of includes (default 100, but see LimitInternalRecursion; 0: no limit)"),
    AP_INIT_TAKE1("SSIParallelIncludes", set_count, SSI_AT(beside_most), RSRC_CONF | ACCESS_CONF,
                  "includes of a page that wait at the same time (default 8; 1: one after the "
                  "other; 0: no limit)"),
    AP_INIT_TAKE1("SSIMaxBytes", set_bytes, SSI_AT(bytes_most), RSRC_CONF | ACCESS_CONF,
                  "size of a finished page (default 1024M; 0: no limit)"),
    AP_INIT_TAKE1("SSIMaxValue", set_bytes, SSI_AT(value_bytes_most), RSRC_CONF | ACCESS_CONF,
                  "size of a value with its variables replaced (default 1M; 0: no limit)"),
    AP_INIT_TAKE1("SSIIncludeTimeout", set_time, SSI_AT(include_us), RSRC_CONF | ACCESS_CONF,
                  "time for one include (default 300s; 0: no limit)"),
    AP_INIT_TAKE1("SSIExecTimeout", set_time, SSI_AT(exec_us), RSRC_CONF | ACCESS_CONF,
                  "time for one command (default 60s; 0: no limit)"),
    AP_INIT_TAKE1("SSICacheSize", set_cache_bytes, NULL, RSRC_CONF,
                  "memory for parsed pages, per thread that runs them (default 16M; 0: none)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};
