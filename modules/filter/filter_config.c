/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directives of mod_filter.
 */
#include "filter_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/directive.h"

#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(filter);

static ap_filter_rec_t *modfilter_declare(cmd_parms *cmd, modfilter_conf *conf, const char *name,
                                          ap_filter_type type)
{
    ap_filter_rec_t *filter = apr_pcalloc(cmd->pool, sizeof(*filter));

    filter->name = name;
    filter->filter_func.out_func = modfilter_harness;
    filter->filter_init_func = modfilter_init;
    filter->ftype = type;
    apr_hash_set(conf->filters, name, APR_HASH_KEY_STRING, filter);
    return filter;
}

static ap_filter_rec_t *modfilter_get(const modfilter_conf *conf, const char *name)
{
    return apr_hash_get(conf->filters, name, APR_HASH_KEY_STRING);
}

/*
 * FilterDeclare NAME [TYPE]. A filter below the request has no request to look at (Apache's crashes
 * when it runs); TRANSCODE acts as RESOURCE, as with Apache.
 */
static const char *modfilter_set_declare(cmd_parms *cmd, void *mconfig, const char *name,
                                         const char *word)
{
    ap_filter_type type = AP_FTYPE_RESOURCE;

    if (word == NULL || strcasecmp(word, "RESOURCE") == 0 || strcasecmp(word, "TRANSCODE") == 0) {
        type = AP_FTYPE_RESOURCE;
    } else if (strcasecmp(word, "CONTENT_SET") == 0) {
        type = AP_FTYPE_CONTENT_SET;
    } else if (strcasecmp(word, "PROTOCOL") == 0) {
        type = AP_FTYPE_PROTOCOL;
    } else if (strcasecmp(word, "CONNECTION") == 0 || strcasecmp(word, "NETWORK") == 0) {
        return apr_pstrcat(cmd->pool, "a smart filter cannot be of type ", word,
                           ": its providers are chosen by request", NULL);
    } else {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     "FilterDeclare: unknown filter type '%s' taken as RESOURCE", word);
    }
    modfilter_declare(cmd, mconfig, name, type);
    return NULL;
}

static const char *modfilter_add_provider(cmd_parms *cmd, modfilter_conf *conf, const char *name,
                                          const char *provider_name, ap_expr_info_t *expr,
                                          const char **types)
{
    ap_filter_rec_t *filter = modfilter_get(conf, name);
    ap_filter_rec_t *frec = ap_get_output_filter_handle(provider_name);
    ap_filter_provider_t *provider;

    if (frec == NULL) {
        brg_nearest nearest = {provider_name, NULL, 0};

        brg_nearest_offer_filters(&nearest, 0);
        return apr_pstrcat(cmd->pool, "Unknown filter provider ", provider_name,
                           brg_nearest_question(cmd->temp_pool, &nearest), NULL);
    }
    if (frec->ftype >= AP_FTYPE_CONNECTION)
        return apr_pstrcat(cmd->pool, "a smart filter cannot have the provider ", provider_name,
                           ": it is one of connections, and providers are chosen by request", NULL);
    if (filter == NULL) /* not declared: it stands where its first provider would */
        filter = modfilter_declare(cmd, conf, name, frec->ftype);
    provider = apr_pcalloc(cmd->pool, sizeof(*provider));
    provider->frec = frec;
    provider->expr = expr;
    provider->types = types;
    provider->next = filter->providers;
    filter->providers = provider;
    return NULL;
}

static const char *modfilter_set_provider(cmd_parms *cmd, void *mconfig, const char *name,
                                          const char *provider, const char *condition)
{
    const char *error = NULL;
    ap_expr_info_t *expr = ap_expr_parse_cmd(cmd, condition, 0, &error, NULL);

    if (error)
        return apr_pstrcat(cmd->pool, "Error parsing FilterProvider expression:", error, NULL);
    return modfilter_add_provider(cmd, mconfig, name, provider, expr, NULL);
}

static void modfilter_append(apr_pool_t *p, modfilter_conf *conf, const char *name)
{
    modfilter_link **end = &conf->chain;

    while (*end)
        end = &(*end)->next;
    *end = apr_pcalloc(p, sizeof(modfilter_link));
    (*end)->name = name;
}

/* As with Apache: the first link alone if it is of that name, else all links of that name. */
static void modfilter_remove(modfilter_conf *conf, const char *name)
{
    modfilter_link **at = &conf->chain;

    if (*at && strcasecmp((*at)->name, name) == 0) {
        *at = (*at)->next;
        return;
    }
    while (*at)
        if (strcasecmp((*at)->name, name) == 0)
            *at = (*at)->next;
        else
            at = &(*at)->next;
}

static void modfilter_clear(modfilter_conf *conf)
{
    conf->chain = NULL;
    conf->resets = 1;
}

static const char *modfilter_set_chain(cmd_parms *cmd, void *mconfig, const char *word)
{
    modfilter_conf *conf = mconfig;
    modfilter_link *link;

    switch (*word) {
    case '+':
        modfilter_append(cmd->pool, conf, word + 1);
        break;
    case '@':
        if (conf->resets) /* as with Apache: filters before a reset are dropped with the rest */
            break;
        link = apr_pcalloc(cmd->pool, sizeof(*link));
        link->name = word + 1;
        link->next = conf->chain;
        conf->chain = link;
        break;
    case '-':
        modfilter_remove(conf, word + 1);
        break;
    case '!':
        modfilter_clear(conf);
        break;
    case '=':
        modfilter_clear(conf);
        modfilter_append(cmd->pool, conf, word + 1);
        break;
    default:
        modfilter_append(cmd->pool, conf, word);
        break;
    }
    return NULL;
}

static const char *modfilter_set_trace(cmd_parms *cmd, void *mconfig, const char *name,
                                       const char *level)
{
    ap_filter_rec_t *filter = modfilter_get(mconfig, name);

    if (filter == NULL)
        return apr_psprintf(cmd->pool, "Undeclared smart filter %s", name);
    filter->debug = atoi(level);
    return NULL;
}

/* One filter of AddOutputFilterByType: a smart filter named after it, in the chain once per
 * context. */
static const char *modfilter_add_by_type(cmd_parms *cmd, modfilter_conf *conf, const char *filter,
                                         const char **types)
{
    const char *name = apr_pstrcat(cmd->pool, "BYTYPE:", filter, NULL);
    int is_new = modfilter_get(conf, name) == NULL;
    const char *error = modfilter_add_provider(cmd, conf, name, filter, NULL, types);

    if (error == NULL && is_new)
        modfilter_append(cmd->pool, conf, name);
    return error;
}

static const char *modfilter_set_by_type(cmd_parms *cmd, void *mconfig, int argc,
                                         char *const argv[])
{
    const char **types, *list;
    int i;

    if (argc < 2)
        return "AddOutputFilterByType requires at least two arguments";
    types = apr_pcalloc(cmd->pool, sizeof(*types) * (apr_size_t)argc);
    for (i = 1; i < argc; i++)
        types[i - 1] = argv[i];
    for (list = argv[0]; *list; list += *list == ';') {
        apr_size_t len = strcspn(list, ";");
        const char *error = NULL;

        if (len > 0) {
            error =
                modfilter_add_by_type(cmd, mconfig, apr_pstrmemdup(cmd->pool, list, len), types);
        }
        if (error)
            return error;
        list += len;
    }
    return NULL;
}

typedef struct modfilter_flag {
    const char *word;
    unsigned int set, cleared;
} modfilter_flag;

static const modfilter_flag modfilter_flags[] = {
    {"change=yes", AP_FILTER_PROTO_CHANGE | AP_FILTER_PROTO_CHANGE_LENGTH, 0},
    {"change=no", 0, AP_FILTER_PROTO_CHANGE | AP_FILTER_PROTO_CHANGE_LENGTH},
    {"change=1:1", AP_FILTER_PROTO_CHANGE, AP_FILTER_PROTO_CHANGE_LENGTH},
    {"byteranges=no", AP_FILTER_PROTO_NO_BYTERANGE, 0},
    {"proxy=no", AP_FILTER_PROTO_NO_PROXY, 0},
    {"proxy=transform", AP_FILTER_PROTO_TRANSFORM, 0},
    {"cache=no", AP_FILTER_PROTO_NO_CACHE, 0},
};

static unsigned int modfilter_parse_flags(cmd_parms *cmd, const char *text)
{
    char *last, *copy = apr_pstrdup(cmd->temp_pool, text);
    unsigned int flags = 0;
    const char *word;
    apr_size_t i;

    for (word = apr_strtok(copy, ";, \t", &last); word; word = apr_strtok(NULL, ";, \t", &last)) {
        for (i = 0; i < sizeof(modfilter_flags) / sizeof(modfilter_flags[0]); i++)
            if (strcasecmp(word, modfilter_flags[i].word) == 0)
                flags = (flags & ~modfilter_flags[i].cleared) | modfilter_flags[i].set;
    }
    return flags;
}

/* FilterProtocol NAME [PROVIDER] FLAGS */
static const char *modfilter_set_protocol(cmd_parms *cmd, void *mconfig, const char *name,
                                          const char *second, const char *third)
{
    ap_filter_rec_t *filter = modfilter_get(mconfig, name);
    ap_filter_provider_t *provider;

    if (filter == NULL)
        return "FilterProtocol: No such filter";
    if (third == NULL) {
        filter->proto_flags = modfilter_parse_flags(cmd, second);
        return NULL;
    }
    for (provider = filter->providers; provider; provider = provider->next) {
        if (strcasecmp(provider->frec->name, second) == 0) {
            provider->flags = modfilter_parse_flags(cmd, third);
            provider->has_flags = 1;
            return NULL;
        }
    }
    return "FilterProtocol: No such provider for this filter";
}

const command_rec modfilter_commands[] = {
    AP_INIT_TAKE12("FilterDeclare", modfilter_set_declare, NULL, OR_OPTIONS,
                   "filter-name [filter-type]"),
    AP_INIT_TAKE3("FilterProvider", modfilter_set_provider, NULL, OR_OPTIONS,
                  "filter-name provider-name match-expression"),
    AP_INIT_ITERATE("FilterChain", modfilter_set_chain, NULL, OR_OPTIONS,
                    "list of filter names with optional [+-=!@]"),
    AP_INIT_TAKE2("FilterTrace", modfilter_set_trace, NULL, RSRC_CONF | ACCESS_CONF,
                  "filter-name debug-level"),
    AP_INIT_TAKE_ARGV("AddOutputFilterByType", modfilter_set_by_type, NULL, OR_FILEINFO,
                      "output filter name followed by one or more content-types"),
    AP_INIT_TAKE23("FilterProtocol", modfilter_set_protocol, NULL, OR_OPTIONS,
                   "filter-name [provider-name] protocol-args"),
    {0},
};
