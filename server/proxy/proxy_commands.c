/* SPDX-License-Identifier: Apache-2.0 */
/* ProxyPass, BalancerMember, ProxySet: directives that name workers and their parameters. */
#include "proxy_private.h"
#include "http_log.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

typedef struct pass_words {
    const char *path, *url;
    unsigned flags;
    apr_table_t *params;
    int regex;
} pass_words;

static const char pass_form[] =
    "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the form 'key=value'.";

static const char *pass_mapping(pass_words *w, const char *value)
{
    if (!strcasecmp(value, "encoded"))
        w->flags |= ALIAS_ENCODED;
    else if (!strcasecmp(value, "servlet"))
        w->flags |= ALIAS_ENCODED | ALIAS_SERVLET;
    else
        return "unknown mapping";
    return NULL;
}

static const char *pass_word(cmd_parms *cmd, pass_words *w, char *word)
{
    char *value;

    if (!strcasecmp(word, "nocanon"))
        w->flags |= ALIAS_NOCANON;
    else if (!strcasecmp(word, "interpolate"))
        w->flags |= ALIAS_INTERPOLATE;
    else if (!strcasecmp(word, "noquery"))
        w->flags |= ALIAS_NOQUERY;
    else if (!(value = strchr(word, '=')))
        return cmd->path && *w->url == '/'
                   ? "ProxyPass|ProxyPassMatch can not have a path when defined in a location."
                   : pass_form;
    else {
        *value++ = '\0';
        if (!strcasecmp(word, "mapping"))
            return pass_mapping(w, value);
        apr_table_setn(w->params, word, value);
    }
    return NULL;
}

static const char *pass_read(cmd_parms *cmd, const char *args, pass_words *w)
{
    w->path = cmd->path;
    /* A path with wildcards, in <Location> or <LocationMatch>, is taken for a pattern. */
    w->regex = cmd->info != NULL || (cmd->path && apr_fnmatch_test(cmd->path));
    while (*args) {
        char *word = ap_getword_conf(cmd->pool, &args);
        const char *error = NULL;

        if (!w->path && !strcmp(word, "~")) {
            if (w->regex)
                return "ProxyPassMatch invalid syntax ('~' usage).";
            w->regex = 1;
        } else if (!w->path)
            w->path = word;
        else if (!w->url)
            w->url = word;
        else
            error = pass_word(cmd, w, word);
        if (error)
            return error;
    }
    return w->url ? NULL : "ProxyPass|ProxyPassMatch needs a path when not defined in a location";
}

static const char *pass_alias(cmd_parms *cmd, proxy_dir_conf *dir, proxy_server_conf *conf,
                              const pass_words *w)
{
    proxy_alias *alias;
    ap_regex_t *regex = NULL;

    BRG_ASSERT(w->path && w->url);
    if (w->regex && !(regex = ap_pregcomp(cmd->pool, w->path, AP_REG_EXTENDED)))
        return "Regular expression could not be compiled.";
    if (cmd->path)
        dir->alias = alias = apr_pcalloc(cmd->pool, sizeof *alias);
    else
        alias = apr_array_push(conf->aliases);
    alias->fake = apr_pstrdup(cmd->pool, w->path);
    alias->real = apr_pstrdup(cmd->pool, w->url);
    alias->flags = w->flags;
    alias->regex = regex;
    alias->place = proxy_place_make(cmd->pool, alias);
    alias->file = cmd->directive ? cmd->directive->filename : "";
    alias->line = cmd->directive ? cmd->directive->line_num : 0;
    alias->directive = cmd->directive;
    conf->encoded_some |= (w->flags & ALIAS_ENCODED) != 0;
    return NULL;
}

static const char *pass_balancer(cmd_parms *cmd, proxy_server_conf *conf, const pass_words *w)
{
    const apr_array_header_t *list = apr_table_elts(w->params);
    proxy_balancer *b = proxy_balancer_find(conf, w->url);
    const char *error = b ? NULL : proxy_balancer_define(cmd->pool, &b, conf, w->url);

    BRG_ASSERT(proxy_is_balancer(w->url));
    for (int i = 0; !error && i < list->nelts; i++) {
        const apr_table_entry_t *e = &APR_ARRAY_IDX(list, i, apr_table_entry_t);

        error = proxy_param_balancer(cmd->pool, b, e->key, e->val);
    }
    if (!error && !b->manager_path)
        b->manager_path = w->path;
    return error;
}

/* Parameters of a worker that is there already are left out of account, and the log says so. */
static const char *params_apply(cmd_parms *cmd, proxy_worker *worker, const apr_table_t *params,
                                int shared, int number)
{
    const apr_array_header_t *list = apr_table_elts(params);
    const char *error = NULL;

    BRG_ASSERT(number > 0 && (shared == 0 || shared == 1));
    for (int i = 0; !error && i < list->nelts; i++) {
        const apr_table_entry_t *e = &APR_ARRAY_IDX(list, i, apr_table_entry_t);

        if (shared)
            ap_log_error(
                APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                "AH%05d: Ignoring parameter '%s=%s' for worker '%s' because of worker sharing",
                number, e->key, e->val, worker->name);
        else
            error = proxy_param_set(cmd->pool, cmd->server, worker, e->key, e->val);
    }
    return error;
}

static const char *pass_worker(cmd_parms *cmd, proxy_server_conf *conf, const pass_words *w)
{
    const char *socket, *url = proxy_split_socket(cmd->pool, w->url, &socket);
    proxy_worker *worker = proxy_worker_shared(conf->workers, url, socket, cmd->pool);
    const int shared = worker != NULL;
    const char *error = NULL;

    BRG_ASSERT(strcmp(w->url, "!") != 0);
    if (shared)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, cmd->server,
                     APLOGNO(01145) "Sharing worker '%s' instead of creating new worker '%s'",
                     worker->name, w->url);
    else
        error = proxy_worker_define(cmd->pool, &worker, conf, NULL, w->url,
                                    w->regex ? WORKER_MATCH : 0);
    return error ? error : params_apply(cmd, worker, w->params, shared, 1146);
}

const char *proxy_pass_cmd(cmd_parms *cmd, void *dconf, const char *args)
{
    proxy_server_conf *conf = proxy_conf_of(cmd->server);
    pass_words w = {.params = apr_table_make(cmd->pool, 4)};
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIRECTORY | NOT_IN_FILES), *socket;

    if (error || (error = pass_read(cmd, args, &w)))
        return error;
    if (!proxy_split_socket(cmd->pool, w.url, &socket))
        return "ProxyPass|ProxyPassMatch uses an invalid \"unix:\" URL";
    error = pass_alias(cmd, dconf, conf, &w);
    if (error || !strcmp(w.url, "!"))
        return error;
    error = proxy_is_balancer(w.url) ? pass_balancer(cmd, conf, &w) : pass_worker(cmd, conf, &w);
    return error ? apr_pstrcat(cmd->temp_pool, "ProxyPass ", error, NULL) : NULL;
}

/* ---- BalancerMember ---- */

static const char *member_read(cmd_parms *cmd, const char *args, const char **path,
                               const char **url, apr_table_t *params)
{
    *path = cmd->path;
    while (*args) {
        char *word = ap_getword_conf(cmd->pool, &args), *value;

        if (!*path)
            *path = word;
        else if (!*url)
            *url = word;
        else if (!(value = strchr(word, '=')))
            return cmd->path
                       ? "BalancerMember can not have a balancer name when defined in a location"
                       : "Invalid BalancerMember parameter. Parameter must be in the form "
                         "'key=value'";
        else {
            *value++ = '\0';
            apr_table_setn(params, word, value);
        }
    }
    if (!*path)
        return "BalancerMember must define balancer name when outside <Proxy > section";
    return *url ? NULL : "BalancerMember must define remote proxy server";
}

const char *proxy_member_cmd(cmd_parms *cmd, void *dconf, const char *args)
{
    proxy_server_conf *conf = proxy_conf_of(cmd->server);
    apr_table_t *params = apr_table_make(cmd->pool, 4);
    const char *path = NULL, *given = NULL, *socket, *url,
               *error = member_read(cmd, args, &path, &given, params);
    proxy_balancer *b;
    proxy_worker *w;
    int shared;

    if (error)
        return error;
    url = proxy_split_socket(cmd->pool, given, &socket);
    if (!url)
        return "BalancerMember uses an invalid \"unix:\" URL";
    b = proxy_balancer_find(conf, path);
    if (!b && (error = proxy_balancer_define(cmd->pool, &b, conf, path)))
        return apr_pstrcat(cmd->temp_pool, "BalancerMember ", error, NULL);
    w = proxy_worker_shared(b->members, url, socket, cmd->pool);
    shared = w != NULL;
    if (shared)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, cmd->server,
                     APLOGNO(01149) "Sharing worker '%s' instead of creating new worker '%s'",
                     w->name, given);
    else
        error = proxy_worker_define(cmd->pool, &w, conf, b, given, 0);
    if (!error)
        error = params_apply(cmd, w, params, shared, 1150);
    return error ? apr_pstrcat(cmd->temp_pool, "BalancerMember ", error, NULL) : NULL;
}

/* ---- ProxySet ---- */

static const char *set_subject(cmd_parms *cmd, const char *name, int in_section, proxy_balancer **b,
                               proxy_worker **w)
{
    proxy_server_conf *conf = proxy_conf_of(cmd->server);
    const char *socket, *url = proxy_split_socket(cmd->pool, name, &socket), *error;

    if (!url)
        return "ProxySet uses an invalid \"unix:\" URL";
    if (proxy_is_balancer(url)) {
        *b = proxy_balancer_find(conf, url);
        if (!*b && !in_section)
            return apr_pstrcat(cmd->temp_pool, "ProxySet can not find '", name, "' Balancer.",
                               NULL);
        error = *b ? NULL : proxy_balancer_define(cmd->pool, b, conf, url);
    } else {
        *w = proxy_worker_find(conf, NULL, url, socket);
        if (!*w && !in_section)
            return apr_pstrcat(cmd->temp_pool, "ProxySet can not find '", name, "' Worker.", NULL);
        error = *w ? NULL : proxy_worker_define(cmd->pool, w, conf, NULL, name, 0);
    }
    return error ? apr_pstrcat(cmd->temp_pool, "ProxySet ", error, NULL) : NULL;
}

const char *proxy_set_cmd(cmd_parms *cmd, void *dconf, const char *args)
{
    const int in_section =
        cmd->directive->parent && !strncasecmp(cmd->directive->parent->directive, "<Proxy", 6);
    const char *name = in_section ? apr_pstrdup(cmd->pool, cmd->directive->parent->args)
                                  : ap_getword_conf(cmd->pool, &args);
    proxy_balancer *b = NULL;
    proxy_worker *w = NULL;
    const char *error;

    if (in_section) { /* its first word */
        const char *all = name;

        name = ap_getword_conf(cmd->pool, &all);
        if (*name && name[strlen(name) - 1] == '>')
            name = apr_pstrmemdup(cmd->pool, name, strlen(name) - 1);
    }
    error = set_subject(cmd, name, in_section, &b, &w);
    while (!error && *args) {
        char *word = ap_getword_conf(cmd->pool, &args), *value = strchr(word, '=');

        if (!value)
            return "Invalid ProxySet parameter. Parameter must be in the form 'key=value'";
        *value++ = '\0';
        error = w ? proxy_param_set(cmd->pool, cmd->server, w, word, value)
                  : proxy_param_balancer(cmd->pool, b, word, value);
        if (error)
            return apr_pstrcat(cmd->temp_pool, "ProxySet: ", error, " ", word, "=", value, "; ",
                               name, NULL);
    }
    return error;
}
