/* SPDX-License-Identifier: Apache-2.0 */
/* The directives of mod_cache, with the arguments and messages of Apache's. */
#include "cached_named_private.h"
#include "cached_litespeed_private.h"
#include "configuration.h"
#include "setting.h"
#include "brigade/directive.h"
#include "http_log.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <strings.h>

static cached_server *cached_conf_of(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &cache_module);
}

static void *cached_of_server(const cmd_parms *cmd)
{
    return cached_conf_of(cmd);
}

static const char *cached_url_cmd(cmd_parms *cmd, const char *arg, cached_scope *scope)
{
    if (*arg == '/')
        scope->url.path = apr_pstrdup(cmd->pool, arg);
    else if (apr_uri_parse(cmd->pool, arg, &scope->url) != APR_SUCCESS)
        return apr_psprintf(cmd->pool, "Could not parse '%s' as an URL.", arg);
    /* "*": every request of a proxy for all */
    if (scope->url.path && !strcmp(scope->url.path, "*") && !scope->url.hostname)
        scope->url.path = NULL;
    scope->path_len = scope->url.path ? strlen(scope->url.path) : 0;
    return NULL;
}

static int cached_in_sections; /* of the configuration that is read */

int cached_sections_enable(void)
{
    return cached_in_sections;
}

void cached_sections_forget(void)
{
    cached_in_sections = 0;
}

static const char *cached_enable_cmd(cmd_parms *cmd, void *dir, const char *provider,
                                     const char *url)
{
    cached_section *section = dir;
    cached_scope scope = {.provider = provider};
    const char *error;

    if (cached_ls_is_provider(provider))
        return cached_ls_enable_cmd(cmd, section, url, CACHED_ON);
    if (conf_is_htaccess(cmd))
        return apr_psprintf(cmd->pool, "%s not allowed here", cmd->cmd->name);
    if (*provider == '/')
        return apr_psprintf(cmd->pool,
                            "provider (%s) starts with a '/'.  Are url and provider switched?",
                            provider);
    if (cmd->path && url && strncmp(url, cmd->path, strlen(cmd->path)))
        return "When in a Location, CacheEnable must specify a path or an URL below that location.";
    if (cmd->path && !url) {
        if (!section->enable)
            section->enable = apr_array_make(cmd->pool, 1, sizeof(const char *));
        APR_ARRAY_PUSH(section->enable, const char *) = provider;
        cached_in_sections = 1;
        return NULL;
    }
    if (!url)
        return apr_psprintf(cmd->pool, "CacheEnable provider (%s) is missing an URL.", provider);
    if ((error = cached_url_cmd(cmd, url, &scope)))
        return error;
    APR_ARRAY_PUSH(cached_conf_of(cmd)->enable, cached_scope) = scope;
    return NULL;
}

static const char *cached_disable_cmd(cmd_parms *cmd, void *dir, const char *url, const char *path)
{
    cached_section *section = dir;
    cached_scope scope = {0};
    const char *error;

    if (cached_ls_is_provider(url))
        return cached_ls_enable_cmd(cmd, section, path, CACHED_OFF);
    if (conf_is_htaccess(cmd))
        return apr_psprintf(cmd->pool, "%s not allowed here", cmd->cmd->name);
    if (path)
        return apr_psprintf(cmd->pool, "%s takes one argument, %s", cmd->cmd->name,
                            cmd->cmd->errmsg);
    if (cmd->path) {
        if (strcasecmp(url, "on"))
            return "CacheDisable must be followed by the word 'on' when in a Location.";
        section->disable = CACHED_ON;
        return NULL;
    }
    if (*url != '/' && !strchr(url, ':'))
        return "CacheDisable must specify a path or an URL.";
    if ((error = cached_url_cmd(cmd, url, &scope)))
        return error;
    APR_ARRAY_PUSH(cached_conf_of(cmd)->disable, cached_scope) = scope;
    return NULL;
}

/* Seconds; cmd->info: where in the section. */
static const char *cached_seconds_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    int64_t *to = (void *)((char *)dir + (apr_size_t)(uintptr_t)cmd->info);
    const int64_t n = brg_argument_number(cmd, arg);

    *to = n < 0 ? 0 : n;
    return NULL;
}

static const char *cached_factor_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_section *section = dir;

    (void)cmd;
    if (sscanf(arg, "%lg", &section->factor) != 1)
        return "CacheLastModifiedFactor value must be a float";
    return NULL;
}

/* Names of a list, until "None" takes all of it back. */
static const char *cached_names_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    apr_array_header_t **names =
        (void *)((char *)cached_conf_of(cmd) + (apr_size_t)(uintptr_t)cmd->info);

    (void)dir;
    if (!*names)
        *names = apr_array_make(cmd->pool, 4, sizeof(const char *));
    if (!strcasecmp(arg, "None"))
        (*names)->nelts = 0;
    else
        APR_ARRAY_PUSH(*names, const char *) = arg;
    return NULL;
}

static const char *cached_key_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = NULL;

    (void)dir;
    cached_conf_of(cmd)->key =
        ap_expr_parse_cmd(cmd, arg, AP_EXPR_FLAG_STRING_RESULT, &error, NULL);
    return error ? apr_psprintf(cmd->pool, "CacheKey: cannot parse '%s': %s", arg, error) : NULL;
}

static const char *cached_base_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_server *s = cached_conf_of(cmd);
    apr_uri_t url;

    (void)dir;
    if (apr_uri_parse(cmd->pool, arg, &url) != APR_SUCCESS)
        return apr_psprintf(cmd->pool, "Could not parse '%s' as an URL.", arg);
    if (!url.scheme && !url.hostname && !url.port_str)
        return apr_psprintf(cmd->pool,
                            "URL '%s' must contain at least one of a scheme, a hostname or a port.",
                            arg);
    s->base = apr_pstrcat(cmd->pool, url.scheme ? url.scheme : "http", "://",
                          url.hostname ? url.hostname : "", url.port_str ? ":" : "",
                          url.port_str ? url.port_str : "", NULL);
    return NULL;
}

static const char cached_locks[] =
    "who fetches a response, and who waits for it, is agreed on in memory";

static const char *cached_lock_path_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    (void)dir;
    if (!ap_server_root_relative(cmd->pool, arg))
        return apr_psprintf(cmd->pool, "Invalid CacheLockPath path %s", arg);
    conf_notice_no_effect(cmd, cache_module.module_index, cached_locks);
    return NULL;
}

static const char *cached_lock_age_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    (void)dir;
    if (brg_argument_number(cmd, arg) <= 0)
        return "CacheLockMaxAge value must be a non-zero positive integer";
    conf_notice_no_effect(cmd, cache_module.module_index, cached_locks);
    return NULL;
}

static const char *cached_methods_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_section *section = dir;

    if (!strcmp(arg, "GET"))
        section->methods |= CACHED_M_GET;
    else if (!strcmp(arg, "QUERY"))
        section->methods |= CACHED_M_QUERY;
    else
        return apr_psprintf(cmd->pool, "CacheMethods: %s is neither GET nor QUERY", arg);
    return NULL;
}

#define CACHED_VARIANTS_MOST 1000000
#define CACHED_OBJECTS_MOST 1000000000

#define SECTION(member) (void *)APR_OFFSETOF(cached_section, member)
#define SERVER(member) (void *)APR_OFFSETOF(cached_server, member)
#define SECTION_FLAG(member) \
    CONF_SETTING(CONF_FIELD(cached_section, member), .least = CACHED_OFF, .most = CACHED_ON)
#define SERVER_FLAG(member)                                                                      \
    CONF_SETTING(.of = cached_of_server, CONF_FIELD(cached_server, member), .least = CACHED_OFF, \
                 .most = CACHED_ON)
#define GLOBAL(member, from, to, ...)                                                             \
    CONF_SETTING(.of = cached_of_server, CONF_FIELD(cached_server, member), .where = GLOBAL_ONLY, \
                 .least = from, .most = to, __VA_ARGS__)
#define CACHED_ANY (RSRC_CONF | ACCESS_CONF)

const command_rec cached_commands[] = {
    AP_INIT_TAKE12("CacheEnable", cached_enable_cmd, NULL, CACHED_ANY | OR_FILEINFO,
                   "A cache type and partial URL prefix below which caching is enabled"),
    AP_INIT_FLAG("CacheNoVarySearch", conf_set_flag, SERVER_FLAG(search), RSRC_CONF,
                 "Whether No-Vary-Search of answers is looked at. Default is off."),
    AP_INIT_FLAG("LiteSpeedCache", conf_set_flag, SERVER_FLAG(litespeed), RSRC_CONF,
                 "Whether PHP fills and purges the cache by LiteSpeed's fields. Default is off."),
    AP_INIT_ITERATE("LiteSpeedSessions", cached_names_cmd, SERVER(private_cookies), RSRC_CONF,
                    "Patterns of names of cookies that tell clients with private answers apart"),
    AP_INIT_TAKE_ARGV("CacheLookup", cached_ls_lookup_cmd, NULL, CACHED_ANY | OR_FILEINFO,
                      "on or off: answers come from the cache of LiteSpeedCache"),
    AP_INIT_ITERATE("CacheKeyModify", cached_ls_key_cmd, NULL, CACHED_ANY | OR_FILEINFO,
                    "-qs:NAME: parameters of a query that have no say in an answer"),
    AP_INIT_TAKE12("CacheDisable", cached_disable_cmd, NULL, CACHED_ANY | OR_FILEINFO,
                   "A partial URL prefix below which caching is disabled"),
    AP_INIT_TAKE1("CacheMaxExpire", cached_seconds_cmd, SECTION(most), CACHED_ANY,
                  "The maximum time in seconds to cache a document"),
    AP_INIT_TAKE1("CacheMinExpire", cached_seconds_cmd, SECTION(least), CACHED_ANY,
                  "The minimum time in seconds to cache a document"),
    AP_INIT_TAKE1("CacheDefaultExpire", cached_seconds_cmd, SECTION(usual), CACHED_ANY,
                  "The default time in seconds to cache a document"),
    AP_INIT_FLAG("CacheQuickHandler", conf_set_flag, SERVER_FLAG(quick), RSRC_CONF,
                 "Run the cache in the quick handler, default on"),
    AP_INIT_FLAG("CacheIgnoreNoLastMod", conf_set_flag, SECTION_FLAG(no_last_mod), CACHED_ANY,
                 "Ignore Responses where there is no Last Modified Header"),
    AP_INIT_FLAG("CacheIgnoreCacheControl", conf_set_flag, SERVER_FLAG(ignore_control), RSRC_CONF,
                 "Ignore requests from the client for uncached content"),
    AP_INIT_FLAG("CacheStoreExpired", conf_set_flag, SECTION_FLAG(expired), CACHED_ANY,
                 "Ignore expiration dates when populating cache, resulting in an If-Modified-Since "
                 "request to the backend on retrieval"),
    AP_INIT_FLAG("CacheStorePrivate", conf_set_flag, SECTION_FLAG(is_private), CACHED_ANY,
                 "Ignore 'Cache-Control: private' and store private content"),
    AP_INIT_FLAG("CacheStoreNoStore", conf_set_flag, SECTION_FLAG(no_store), CACHED_ANY,
                 "Ignore 'Cache-Control: no-store' and store sensitive content"),
    AP_INIT_FLAG("CacheStoreCookies", conf_set_flag, SECTION_FLAG(cookies), CACHED_ANY,
                 "Store Set-Cookie with responses that say how long they are fresh, for all "
                 "clients"),
    AP_INIT_ITERATE("CacheIgnoreHeaders", cached_names_cmd, SERVER(ignore_fields), RSRC_CONF,
                    "A space separated list of headers that should not be stored by the cache"),
    AP_INIT_FLAG("CacheIgnoreQueryString", conf_set_flag, SERVER_FLAG(ignore_query), RSRC_CONF,
                 "Ignore query-string when caching"),
    AP_INIT_ITERATE("CacheIgnoreQuery", cached_names_cmd, SERVER(ignore_params), RSRC_CONF,
                    "Patterns of names of parameters in a query that have no say in an answer, or "
                    "None"),
    AP_INIT_FLAG("CacheSortQuery", conf_set_flag, SERVER_FLAG(sort_query), RSRC_CONF,
                 "The order of parameters in a query has no say in an answer. Default is off."),
    AP_INIT_TAKE1("CacheKey", cached_key_cmd, NULL, RSRC_CONF,
                  "An expression whose value tells answers to one URL apart"),
    AP_INIT_ITERATE("CacheBypassCookies", cached_names_cmd, SERVER(bypass_cookies), RSRC_CONF,
                    "Patterns of names of cookies whose clients are not answered from the cache, "
                    "or None"),
    AP_INIT_ITERATE("CacheIgnoreURLSessionIdentifiers", cached_names_cmd, SERVER(ignore_sessions),
                    RSRC_CONF,
                    "A space separated list of session identifiers that should be ignored for "
                    "creating the key of the cached entity."),
    AP_INIT_TAKE1("CacheLastModifiedFactor", cached_factor_cmd, NULL, CACHED_ANY,
                  "The factor used to estimate Expires date from LastModified date"),
    AP_INIT_FLAG("CacheLock", conf_set_flag, SERVER_FLAG(lock), RSRC_CONF,
                 "Enable or disable the thundering herd lock."),
    AP_INIT_TAKE1("CacheLockPath", cached_lock_path_cmd, NULL, RSRC_CONF,
                  "The thundering herd lock path. Defaults to the '/mod_cache-lock' directory in "
                  "the system temp directory."),
    AP_INIT_TAKE1("CacheLockMaxAge", cached_lock_age_cmd, NULL, RSRC_CONF,
                  "Maximum age of any thundering herd lock."),
    AP_INIT_FLAG("CacheHeader", conf_set_flag, SECTION_FLAG(tell), CACHED_ANY,
                 "Add a X-Cache header to responses. Default is off."),
    AP_INIT_FLAG("CacheDetailHeader", conf_set_flag, SECTION_FLAG(detail), CACHED_ANY,
                 "Add a X-Cache-Detail header to responses. Default is off."),
    AP_INIT_FLAG("CacheStatusHeader", conf_set_flag, SECTION_FLAG(standard), CACHED_ANY,
                 "Add this cache to the Cache-Status header of responses. Default is off."),
    AP_INIT_TAKE1("CacheKeyBaseURL", cached_base_cmd, NULL, RSRC_CONF,
                  "Override the base URL of reverse proxied cache keys."),
    AP_INIT_FLAG("CacheStaleOnError", conf_set_flag, SECTION_FLAG(stale), CACHED_ANY,
                 "Serve stale content on 5xx errors if present. Defaults to on."),
    AP_INIT_TAKE12("CacheRefreshAhead", cached_refresh_cmd, NULL, CACHED_ANY,
                   "Seconds, or a part of the lifetime, before its end in which a response is "
                   "fetched anew, and how many requests a backend gets for that at a time"),
    AP_INIT_ITERATE("CacheMethods", cached_methods_cmd, NULL, CACHED_ANY,
                    "Methods whose responses are stored: GET, QUERY. Default is GET."),
    AP_INIT_ITERATE("CachePurge", cached_purge_cmd, NULL, CACHED_ANY,
                    "Addresses or networks of clients that may purge, or None"),
    AP_INIT_TAKE1("CacheMemory", conf_set_bytes,
                  GLOBAL(memory, 8 << 20, 96ll << 30,
                         .refusal = "CacheMemory must be a number of bytes, or with K, M or G "
                                    "behind it, from 8M to 96G"),
                  RSRC_CONF, "Bytes of memory for stored responses, of all processes together"),
    AP_INIT_TAKE1("CacheMaxFetching", conf_set_bytes,
                  GLOBAL(fetching, 64 << 10, 96ll << 30,
                         .refusal = "CacheMaxFetching must be a number of bytes, or with K, M or G "
                                    "behind it, from 64K to 96G"),
                  RSRC_CONF, "Bytes of responses that are being fetched and stored at a time"),
    AP_INIT_TAKE1("CacheMaxObjects", conf_set_number, GLOBAL(objects, 1, CACHED_OBJECTS_MOST),
                  RSRC_CONF,
                  "The number of responses that are stored in memory, variants counted one by one"),
    AP_INIT_TAKE1("CacheMaxVariants", conf_set_number, GLOBAL(variants, 1, CACHED_VARIANTS_MOST),
                  RSRC_CONF,
                  "The number of responses that are stored of one URL, by the fields in Vary"),
    AP_INIT_TAKE1("CacheMaxTags", conf_set_number, GLOBAL(tags, 1, STORE_MARKS_MOST), RSRC_CONF,
                  "The number of tags that a stored response may have"),
    {.name = NULL}};
