/* SPDX-License-Identifier: Apache-2.0 */
/* <Proxy> and <ProxyMatch>: settings of targets, and parameters of a worker. */
#include "proxy_private.h"
#include "configuration.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_core.h"
#include <string.h>
#include <strings.h>

static const char *section_params(cmd_parms *cmd, const char *words, proxy_balancer *b,
                                  proxy_worker *w, const char *url)
{
    while (*words) {
        char *word = ap_getword_conf(cmd->pool, &words), *value = strchr(word, '=');
        const char *error;

        if (!value)
            return "Invalid Proxy parameter. Parameter must be in the form 'key=value'";
        *value++ = '\0';
        error = w ? proxy_param_set(cmd->pool, cmd->server, w, word, value)
                  : proxy_param_balancer(cmd->pool, b, word, value);
        if (error)
            return apr_pstrcat(cmd->temp_pool, "<Proxy ", error, " ", word, "=", value, "; ", url,
                               NULL);
    }
    return NULL;
}

/* A section with words after its URL makes a worker; each section with a URL gives its workers their settings. */
static const char *section_subject(cmd_parms *cmd, const char *url, const char *words,
                                   ap_conf_vector_t *vector)
{
    proxy_server_conf *conf = proxy_conf_of(cmd->server);
    const char *socket, *bare = proxy_split_socket(cmd->pool, url, &socket), *error = NULL;
    proxy_balancer *b = NULL;
    proxy_worker *w = NULL;

    BRG_ASSERT(strstr(url, "://") != NULL);
    if (!bare)
        return "<Proxy/ProxyMatch > uses an invalid \"unix:\" URL";
    if (proxy_is_balancer(bare)) {
        b = proxy_balancer_find(conf, bare);
        if (!b && *words)
            error = proxy_balancer_define(cmd->pool, &b, conf, bare);
    } else {
        w = proxy_worker_shared(conf->workers, bare, socket, cmd->pool);
        if (!w && *words)
            error = proxy_worker_define(cmd->pool, &w, conf, NULL, url, 0);
    }
    if (error)
        return apr_pstrcat(cmd->temp_pool, "<Proxy ", error, NULL);
    if (b && !b->section)
        b->section = vector;
    if (w && !w->section)
        w->section = vector;
    return !*words ? NULL : section_params(cmd, words, b, w, url);
}

static int section_is_url(const char *path)
{
    return strstr(path, "://") != NULL;
}

/* A section may stand before the line that makes its worker. */
void proxy_section_find(proxy_worker *w)
{
    const apr_array_header_t *sections = proxy_conf_of(w->server)->sections;

    for (int i = sections->nelts; i-- > 0 && !w->section;) {
        ap_conf_vector_t *vector = APR_ARRAY_IDX(sections, i, ap_conf_vector_t *);
        const proxy_dir_conf *dir = ap_get_module_config(vector, &proxy_module);

        if (!dir->regex && !dir->is_fnmatch && section_is_url(dir->path) &&
            !strncmp(w->name, dir->path, strlen(dir->path)))
            w->section = vector;
    }
}

static void section_enter(cmd_parms *cmd, proxy_server_conf *conf, const char *path,
                          ap_regex_t *regex, ap_conf_vector_t *vector)
{
    proxy_dir_conf *dir =
        ap_set_config_vectors(cmd->server, vector, cmd->path, &proxy_module, cmd->pool);

    dir->path = !strncasecmp(path, "unix:", 5) && strchr(path, '|') ? strchr(path, '|') + 1 : path;
    dir->regex = regex;
    dir->is_fnmatch = apr_fnmatch_test(dir->path) != 0;
    if (regex) {
        dir->refs = apr_array_make(cmd->pool, 8, sizeof(char *));
        ap_regname(regex, dir->refs, AP_REG_MATCH, 1);
    }
    APR_ARRAY_PUSH(conf->sections, ap_conf_vector_t *) = vector;
}

static const char *section_walk(cmd_parms *cmd, const char *args, int match)
{
    proxy_server_conf *conf = proxy_conf_of(cmd->server);
    ap_conf_vector_t *vector = ap_create_per_dir_config(cmd->pool);
    ap_regex_t *regex = NULL;
    const char *error, *socket;

    BRG_ASSERT(match == 0 || match == 1);
    if (match && !(regex = ap_pregcomp(cmd->pool, cmd->path, AP_REG_EXTENDED)))
        return "Regex could not be compiled";
    if (!strncasecmp(cmd->path, "proxy:", 6))
        cmd->path += 6;
    error = ap_walk_config(cmd->directive->first_child, cmd, vector);
    if (error)
        return error;
    section_enter(cmd, conf, cmd->path, regex, vector);
    conf_explain_section(vector, cmd->directive);
    if (match)
        return *args ? "Multiple <ProxyMatch> arguments not (yet) supported." : NULL;
    if (*args && !proxy_split_socket(cmd->pool, cmd->path, &socket))
        return "<Proxy/ProxyMatch > uses an invalid \"unix:\" URL";
    if (*args && !section_is_url(cmd->path))
        return "<Proxy> arguments are not supported for non url.";
    if (*args && strpbrk(cmd->path, "*?"))
        return "<Proxy> arguments are not supported for wildchar url.";
    if (!section_is_url(cmd->path) || regex || strpbrk(cmd->path, "*?"))
        return NULL;
    return section_subject(cmd, cmd->path, args, vector);
}

const char *proxy_section(cmd_parms *cmd, void *dconf, const char *arg)
{
    const int match = cmd->cmd->cmd_data != NULL, override = cmd->override;
    const command_rec *command = cmd->cmd;
    char *path = cmd->path;
    const char *end = strrchr(arg, '>'), *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT),
               *args;

    if (error)
        return error;
    if (!end)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive missing closing '>'", NULL);
    args = apr_pstrmemdup(cmd->pool, arg, (apr_size_t)(end - arg));
    cmd->override = OR_ALL | ACCESS_CONF | PROXY_CONF;
    cmd->path = ap_getword_conf(cmd->pool, &args);
    error = section_walk(cmd, args, match);
    cmd->path = path;
    cmd->override = override;
    cmd->cmd = command;
    return error;
}
