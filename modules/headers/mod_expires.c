/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_expires: Expires and Cache-Control: max-age by media type.
 *
 * Both notations ("A3600" and "access plus 1 hour") are compiled to a base and a number of seconds
 * when the configuration is read; a request costs one search by type. The header is set by an
 * output filter, the last moment at which a handler may still have chosen its own Expires or
 * another type.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(expires);

enum { EXPIRES_UNSET = -1, EXPIRES_OFF = 0, EXPIRES_ON = 1 };

typedef struct expires_rule {
    const char *type; /**< "text/html", or "text" for a wildcard of the major type */
    apr_size_t type_len;
    const char *code; /**< as written by the administrator or as compiled: for messages */
    apr_int64_t seconds;
    char base; /**< 'A' access, 'M' modification */
} expires_rule;

typedef struct expires_conf {
    int active;
    int wildcards; /**< a rule for a major type exists */
    /** expires_rule, in the order in which they are tried; NULL = none */
    apr_array_header_t *by_type;
    const expires_rule *fallback;
} expires_conf;

typedef struct expires_unit {
    const char *name;
    int significant; /**< characters that suffice */
    apr_int64_t seconds;
} expires_unit;

static const expires_unit expires_units[] = {
    {"years", 1, 60 * 60 * 24 * 365},
    {"months", 2, 60 * 60 * 24 * 30},
    {"weeks", 1, 60 * 60 * 24 * 7},
    {"days", 1, 60 * 60 * 24},
    {"hours", 1, 60 * 60},
    {"minutes", 2, 60},
    {"seconds", 1, 1},
};

static ap_filter_rec_t *expires_filter_handle;

static void *expires_create_conf(apr_pool_t *p, char *dir)
{
    expires_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->active = EXPIRES_UNSET;
    return conf;
}

static void *expires_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const expires_conf *base = base_conf, *add = add_conf;
    expires_conf *conf = apr_palloc(p, sizeof(*conf));

    conf->active = add->active == EXPIRES_UNSET ? base->active : add->active;
    conf->fallback = add->fallback ? add->fallback : base->fallback;
    conf->wildcards = add->wildcards; /* as Apache: a narrower context starts without wildcards */
    if (add->by_type && base->by_type)
        conf->by_type = apr_array_append(p, add->by_type, base->by_type);
    else
        conf->by_type = add->by_type ? add->by_type : base->by_type;
    return conf;
}

static const expires_unit *expires_unit_of(const char *word)
{
    apr_size_t i;

    for (i = 0; i < sizeof(expires_units) / sizeof(expires_units[0]); i++)
        if (strncasecmp(word, expires_units[i].name, expires_units[i].significant) == 0)
            return &expires_units[i];
    return NULL;
}

/* The "[plus] <num> <type>..." part. */
static const char *expires_parse_terms(apr_pool_t *p, const char *text, apr_int64_t *seconds)
{
    const char *word = ap_getword_conf(p, &text);

    *seconds = 0;
    if (strncasecmp(word, "plus", 1) == 0)
        word = ap_getword_conf(p, &text);
    while (*word) {
        const expires_unit *unit;
        apr_int64_t n;

        if (!apr_isdigit(*word)) {
            return apr_pstrcat(p, "bad expires code, numeric value expected <num> '", word, "'",
                               NULL);
        }
        n = apr_strtoi64(word, NULL, 10);
        word = ap_getword_conf(p, &text);
        if (*word == '\0')
            return "bad expires code, missing <type>";
        unit = expires_unit_of(word);
        if (unit == NULL)
            return apr_pstrcat(p, "bad expires code, unrecognised <type>", "'", word, "'", NULL);
        if (n > INT_MAX)
            n = INT_MAX; /* keeps any sum of terms on one line within 64 bits */
        *seconds += n * unit->seconds;
        word = ap_getword_conf(p, &text);
    }
    return NULL;
}

/*
 * A code that starts with a capital A or M is the short notation, whatever follows: as with atoi(),
 * other text counts as 0.
 */
static const char *expires_compile(apr_pool_t *p, const char *code, expires_rule *rule)
{
    const char *word, *text = code;

    rule->code = code;
    if (*code == 'A' || *code == 'M') {
        rule->base = *code;
        rule->seconds = atoi(code + 1);
        return NULL;
    }
    word = ap_getword_conf(p, &text);
    if (strncasecmp(word, "now", 1) == 0 || strncasecmp(word, "access", 1) == 0)
        rule->base = 'A';
    else if (strncasecmp(word, "modification", 1) == 0)
        rule->base = 'M';
    else
        return apr_pstrcat(p, "bad expires code, unrecognised <base> '", word, "'", NULL);
    return expires_parse_terms(p, text, &rule->seconds);
}

static const char *expires_set_active(cmd_parms *cmd, void *mconfig, int on)
{
    expires_conf *conf = mconfig;

    conf->active = on ? EXPIRES_ON : EXPIRES_OFF;
    return NULL;
}

/* Several types may have rules: the latest for a type wins. */
static void expires_add_rule(apr_pool_t *p, expires_conf *conf, const expires_rule *rule)
{
    expires_rule *held;
    int i;

    if (conf->by_type == NULL)
        conf->by_type = apr_array_make(p, 4, sizeof(expires_rule));
    held = (expires_rule *)conf->by_type->elts;
    for (i = 0; i < conf->by_type->nelts; i++) {
        if (strcasecmp(held[i].type, rule->type) == 0) {
            held[i] = *rule;
            return;
        }
    }
    APR_ARRAY_PUSH(conf->by_type, expires_rule) = *rule;
}

static const char *expires_set_by_type(cmd_parms *cmd, void *mconfig, const char *type,
                                       const char *code)
{
    expires_conf *conf = mconfig;
    expires_rule rule;
    const char *slash = strrchr(type, '/'), *error;

    if (slash == NULL)
        return "Invalid mimetype: should contain a slash";
    rule.type = type;
    rule.type_len = strlen(type);
    if (strcmp(slash, "/*") == 0) {
        rule.type_len = slash - type;
        rule.type = apr_pstrmemdup(cmd->pool, type, rule.type_len);
        conf->wildcards = 1;
    }
    error = expires_compile(cmd->pool, code, &rule);
    if (error)
        return apr_pstrcat(cmd->pool, "'ExpiresByType ", type, " ", code, "': ", error, NULL);
    expires_add_rule(cmd->pool, conf, &rule);
    return NULL;
}

static const char *expires_set_default(cmd_parms *cmd, void *mconfig, const char *code)
{
    expires_conf *conf = mconfig;
    expires_rule *rule = apr_pcalloc(cmd->pool, sizeof(*rule));
    const char *error = expires_compile(cmd->pool, code, rule);

    if (error)
        return apr_pstrcat(cmd->pool, "'ExpiresDefault ", code, "': ", error, NULL);
    conf->fallback = rule;
    return NULL;
}

static const expires_rule *expires_find(const expires_conf *conf, const char *type, apr_size_t len)
{
    const expires_rule *rule = (const expires_rule *)conf->by_type->elts;
    const expires_rule *end = rule + conf->by_type->nelts;

    for (; rule < end; rule++)
        if (rule->type_len == len && strncasecmp(rule->type, type, len) == 0)
            return rule;
    return NULL;
}

static const expires_rule *expires_rule_of(const expires_conf *conf, const request_rec *r)
{
    const expires_rule *rule = NULL;
    const char *type = r->content_type, *slash;
    apr_size_t len;

    if (type && conf->by_type) {
        len = strcspn(type, ";");
        while (len > 0 && apr_isspace(type[len - 1]))
            len--;
        rule = expires_find(conf, type, len);
        if (rule == NULL && conf->wildcards) {
            slash = memchr(type, '/', len);
            rule = expires_find(conf, type, slash ? (apr_size_t)(slash - type) : len);
        }
    }
    return rule ? rule : conf->fallback;
}

static void expires_set_headers(request_rec *r, const expires_rule *rule, apr_table_t *headers)
{
    apr_time_t base = r->request_time, expires;
    char *date;

    if (rule->base == 'M') {
        if (r->finfo.filetype == APR_NOFILE)
            return;
        base = r->finfo.mtime;
        brg_cache_depends_on_name(r);
    }
    expires = base + apr_time_from_sec(rule->seconds);
    if (expires < r->request_time)
        expires = r->request_time;
    apr_table_mergen(headers, "Cache-Control",
                     apr_pstrcat(r->pool, "max-age=",
                                 apr_off_t_toa(r->pool, apr_time_sec(expires - r->request_time)),
                                 NULL));
    date = apr_palloc(r->pool, APR_RFC822_DATE_LEN);
    apr_rfc822_date(date, expires);
    apr_table_setn(headers, "Expires", date);
}

static apr_status_t expires_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    const expires_conf *conf = ap_get_module_config(r->per_dir_config, &expires_module);
    const expires_rule *rule;

    BRG_ASSERT(f->r && f->next);
    /* The handler may have changed the status since the filter was inserted. */
    if (!ap_is_HTTP_ERROR(r->status) && apr_table_get(r->err_headers_out, "Expires") == NULL &&
        apr_table_get(r->headers_out, "Expires") == NULL) {
        rule = expires_rule_of(conf, r);
        if (rule)
            expires_set_headers(r, rule, r->headers_out);
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static int expires_applies(const request_rec *r)
{
    const expires_conf *conf = ap_get_module_config(r->per_dir_config, &expires_module);

    return conf->active == EXPIRES_ON && (conf->by_type || conf->fallback);
}

static void expires_insert_filter(request_rec *r)
{
    if (!ap_is_HTTP_ERROR(r->status) && r->main == NULL && expires_applies(r))
        ap_add_output_filter_handle(expires_filter_handle, NULL, r, r->connection);
}

/* Not set by another module or directive, before or after this one. */
static int expires_is_ours(const request_rec *r, const expires_rule *rule)
{
    const char *value = apr_table_get(r->headers_out, "Expires");
    char date[APR_RFC822_DATE_LEN];

    apr_rfc822_date(date,
                    r->request_time + apr_time_from_sec(rule->seconds < 0 ? 0 : rule->seconds));
    return value && strcmp(value, date) == 0;
}

static int expires_depends(request_rec *r)
{
    const expires_conf *conf = ap_get_module_config(r->per_dir_config, &expires_module);
    const expires_rule *rule = expires_applies(r) ? expires_rule_of(conf, r) : NULL;

    if (rule == NULL || ap_is_HTTP_ERROR(r->status))
        return BRG_CACHE_STATIC;
    if (rule->base == 'M')
        return BRG_CACHE_VOLATILE; /* max-age becomes less each second */
    if (expires_is_ours(r, rule)) {
        brg_cache_dated_field(r, "Expires",
                              apr_time_from_sec(rule->seconds < 0 ? 0 : rule->seconds));
    }
    return BRG_CACHE_STATIC;
}

static const command_rec expires_commands[] = {
    AP_INIT_FLAG("ExpiresActive", expires_set_active, NULL, OR_INDEXES, "Limited to 'on' or 'off'"),
    AP_INIT_TAKE2("ExpiresByType", expires_set_by_type, NULL, OR_INDEXES,
                  "a MIME type followed by an expiry date code"),
    AP_INIT_TAKE1("ExpiresDefault", expires_set_default, NULL, OR_INDEXES, "an expiry date code"),
    {0},
};

static void expires_register_hooks(apr_pool_t *p)
{
    expires_filter_handle =
        ap_register_output_filter("MOD_EXPIRES", expires_filter, NULL, AP_FTYPE_CONTENT_SET - 2);
    ap_hook_insert_error_filter(expires_insert_filter, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_filter(expires_insert_filter, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&expires_module, expires_depends);
    brg_hooks_need_directive(&expires_module, "insert_filter", NULL, BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA expires_module = {
    STANDARD20_MODULE_STUFF,
    expires_create_conf,
    expires_merge_conf,
    NULL,
    NULL,
    expires_commands,
    expires_register_hooks,
    0,
};
