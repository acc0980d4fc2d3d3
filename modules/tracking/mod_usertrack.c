/* SPDX-License-Identifier: Apache-2.0 */
/* mod_usertrack: a cookie for each visitor, and the note "cookie" for logs. */
#include "usertrack_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/directive.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include <stdlib.h>
#include <string.h>

#define TRACK_UNSET (-1)
#define TRACK_NAME_NOTE "usertrack-name" /* of the cookie that a request was looked through for */

extern module usertrack_module;
APLOG_USE_MODULE(usertrack);

typedef enum track_style {
    TRACK_STYLE_UNSET,
    TRACK_NETSCAPE,
    TRACK_COOKIE,
    TRACK_COOKIE2
} track_style;

typedef struct track_conf {
    int on, secure, http_only; /* TRACK_UNSET */
    int expires;               /* seconds; 0: not set here */
    track_style style;
    const char *name;   /* NULL: not set */
    int name_lasts;     /* as long as the configuration: it was not read from an access file */
    const char *domain; /* NULL: not set */
    const char *same_site;
} track_conf;

/* Apache keeps the time of expiry for the server, wherever CookieExpires stands. */
typedef struct track_server {
    int expires;
} track_server;

static void *track_create_server(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(track_server));
}

static void *track_create(apr_pool_t *p, char *dir)
{
    track_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->on = conf->secure = conf->http_only = TRACK_UNSET;
    return conf;
}

static int track_flag(int base, int add)
{
    return add == TRACK_UNSET ? base : add;
}

static void *track_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const track_conf *base = base_conf, *add = add_conf;
    track_conf *conf = apr_palloc(p, sizeof *conf);

    conf->on = track_flag(base->on, add->on);
    conf->secure = track_flag(base->secure, add->secure);
    conf->http_only = track_flag(base->http_only, add->http_only);
    conf->expires = add->expires ? add->expires : base->expires;
    conf->style = add->style ? add->style : base->style;
    conf->name = add->name ? add->name : base->name;
    conf->name_lasts = add->name ? add->name_lasts : base->name_lasts;
    conf->domain = add->domain ? add->domain : base->domain;
    conf->same_site = add->same_site ? add->same_site : base->same_site;
    return conf;
}

/* ---- requests ---- */

static const char *track_name(const track_conf *conf)
{
    return conf->name ? conf->name : "Apache";
}

static const char *track_lifetime(request_rec *r, const track_conf *conf, int expires)
{
    apr_time_exp_t t;

    if (!expires)
        return "";
    if (conf->style == TRACK_COOKIE || conf->style == TRACK_COOKIE2)
        return apr_psprintf(r->pool, "; max-age=%d", expires);
    apr_time_exp_gmt(&t, r->request_time + apr_time_from_sec(expires));
    return apr_psprintf(r->pool, "; expires=%s, %.2d-%s-%.2d %.2d:%.2d:%.2d GMT",
                        apr_day_snames[t.tm_wday], t.tm_mday, apr_month_snames[t.tm_mon],
                        t.tm_year % 100, t.tm_hour, t.tm_min, t.tm_sec);
}

static void track_send(request_rec *r, const track_conf *conf)
{
    const track_server *server = ap_get_module_config(r->server->module_config, &usertrack_module);
    apr_uint32_t chance;
    const char *value;

    ap_random_insecure_bytes(&chance, sizeof chance);
    value =
        apr_psprintf(r->pool, "%x.%" APR_UINT64_T_HEX_FMT, chance, (apr_uint64_t)r->request_time);
    apr_table_addn(
        r->err_headers_out, conf->style == TRACK_COOKIE2 ? "Set-Cookie2" : "Set-Cookie",
        apr_pstrcat(r->pool, track_name(conf), "=", value, "; path=/",
                    track_lifetime(r, conf, conf->expires ? conf->expires : server->expires),
                    conf->domain ? "; domain=" : "", conf->domain ? conf->domain : "",
                    conf->domain && conf->style == TRACK_COOKIE2 ? "; version=1" : "",
                    conf->same_site ? "; " : "", conf->same_site ? conf->same_site : "",
                    conf->secure == 1 ? "; Secure" : "", conf->http_only == 1 ? "; HttpOnly" : "",
                    NULL));
    apr_table_setn(r->notes, "cookie", value);
}

static int track_fixup(request_rec *r)
{
    const track_conf *conf = ap_get_module_config(r->per_dir_config, &usertrack_module);
    const char *known;

    if (conf->on != 1 || r->main)
        return DECLINED;
    apr_table_setn(r->notes, TRACK_NAME_NOTE, track_name(conf));
    known = track_find(r->pool, apr_table_get(r->headers_in, "Cookie"), track_name(conf));
    if (known)
        apr_table_setn(r->notes, "cookie", known);
    else
        track_send(r, conf);
    return OK;
}

/* ---- answers from memory ---- */

/* A client with a cookie is not sent one; each of the others gets one of its own. */
static int track_kind(const void *name, const char *value, apr_size_t len)
{
    return value && track_has(value, len, name) ? 0 : -1;
}

static int track_depends(request_rec *r)
{
    const track_conf *conf = ap_get_module_config(r->per_dir_config, &usertrack_module);

    if (conf->on != 1)
        return BRG_CACHE_STATIC;
    if (conf->name && !conf->name_lasts)
        return BRG_CACHE_VOLATILE;
    brg_cache_vary(r, "Cookie", track_kind, track_name(conf));
    return BRG_CACHE_OBSERVED;
}

/* The note of an answer from memory is that of the request that it was made for: this one has its own. */
static int track_log(request_rec *r)
{
    const char *name = brg_request_is_stored(r) ? apr_table_get(r->notes, TRACK_NAME_NOTE) : NULL;
    const char *known =
        name ? track_find(r->pool, apr_table_get(r->headers_in, "Cookie"), name) : NULL;

    if (known)
        apr_table_setn(r->notes, "cookie", known);
    return DECLINED;
}

static int track_log_is_ready(const brg_transaction *t)
{
    return !brg_transaction_note(t, TRACK_NAME_NOTE);
}

static void track_log_nothing(const brg_transaction *t)
{
}

/* ---- directives ---- */

static const char *track_set_flag(cmd_parms *cmd, void *mconfig, int on)
{
    *(int *)((char *)mconfig + (apr_size_t)cmd->info) = on;
    return NULL;
}

static const char *track_set_expires(cmd_parms *cmd, void *mconfig, const char *arg)
{
    track_server *server = ap_get_module_config(cmd->server->module_config, &usertrack_module);
    track_conf *conf = mconfig;
    apr_int64_t seconds = 0;
    const char *error = NULL;

    if (apr_isdigit(arg[0]) && apr_isdigit(arg[strlen(arg) - 1]))
        seconds = atol(arg);
    else
        error = track_period(cmd->temp_pool, arg, &seconds);
    if (error)
        return error;
    conf->expires = (int)brg_argument_clamp(cmd, seconds, 0, APR_INT32_MAX);
    if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_RUN_MPM)
        server->expires = conf->expires;
    return NULL;
}

static const char *track_set_name(cmd_parms *cmd, void *mconfig, const char *name)
{
    track_conf *conf = mconfig;

    conf->name = name;
    conf->name_lasts = ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_RUN_MPM;
    return NULL;
}

static const char *track_set_domain(cmd_parms *cmd, void *mconfig, const char *domain)
{
    if (!*domain)
        return "CookieDomain values may not be null";
    if (*domain != '.')
        return "CookieDomain values must begin with a dot";
    if (!strchr(domain + 1, '.'))
        return "CookieDomain values must contain at least one embedded dot";
    ((track_conf *)mconfig)->domain = domain;
    return NULL;
}

static const char *track_set_style(cmd_parms *cmd, void *mconfig, const char *word)
{
    track_conf *conf = mconfig;

    if (!strcasecmp(word, "Netscape"))
        conf->style = TRACK_NETSCAPE;
    else if (!strcasecmp(word, "Cookie") || !strcasecmp(word, "RFC2109"))
        conf->style = TRACK_COOKIE;
    else if (!strcasecmp(word, "Cookie2") || !strcasecmp(word, "RFC2965"))
        conf->style = TRACK_COOKIE2;
    else
        return apr_psprintf(cmd->pool, "Invalid %s keyword: '%s'", cmd->cmd->name, word);
    return NULL;
}

static const char *track_set_same_site(cmd_parms *cmd, void *mconfig, const char *word)
{
    track_conf *conf = mconfig;

    if (!strcasecmp(word, "strict"))
        conf->same_site = "SameSite=Strict";
    else if (!strcasecmp(word, "lax"))
        conf->same_site = "SameSite=Lax";
    else if (!strcasecmp(word, "none"))
        conf->same_site = "SameSite=None";
    else
        return "CookieSameSite accepts 'Strict', 'Lax', or 'None'";
    return NULL;
}

#define TRACK_MEMBER(name) ((void *)APR_OFFSETOF(track_conf, name))

static const command_rec track_commands[] = {
    AP_INIT_TAKE1("CookieExpires", track_set_expires, NULL, OR_FILEINFO, "an expiry date code"),
    AP_INIT_TAKE1("CookieDomain", track_set_domain, NULL, OR_FILEINFO,
                  "domain to which this cookie applies"),
    AP_INIT_TAKE1("CookieStyle", track_set_style, NULL, OR_FILEINFO,
                  "'Netscape', 'Cookie' (RFC2109), or 'Cookie2' (RFC2965)"),
    AP_INIT_FLAG("CookieTracking", track_set_flag, TRACK_MEMBER(on), OR_FILEINFO,
                 "whether or not to enable cookies"),
    AP_INIT_TAKE1("CookieName", track_set_name, NULL, OR_FILEINFO, "name of the tracking cookie"),
    AP_INIT_TAKE1("CookieSameSite", track_set_same_site, NULL, OR_FILEINFO, "SameSite setting"),
    AP_INIT_FLAG("CookieSecure", track_set_flag, TRACK_MEMBER(secure), OR_FILEINFO,
                 "is cookie secure"),
    AP_INIT_FLAG("CookieHttpOnly", track_set_flag, TRACK_MEMBER(http_only), OR_FILEINFO,
                 "is cookie http only"),
    {0},
};

static void track_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(track_fixup, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_log_transaction(track_log, NULL, NULL, APR_HOOK_REALLY_FIRST);
    brg_cache_declare(&usertrack_module, track_depends);
    brg_transaction_log_declare(&usertrack_module, track_log_is_ready, track_log_nothing);
    brg_hooks_need_directive(&usertrack_module, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    brg_hooks_need_directive(&usertrack_module, "log_transaction", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&usertrack_module);
}

module AP_MODULE_DECLARE_DATA usertrack_module = {
    STANDARD20_MODULE_STUFF, track_create,         track_merge, track_create_server, NULL,
    track_commands,          track_register_hooks, 0,
};
