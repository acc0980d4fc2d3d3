/* SPDX-License-Identifier: Apache-2.0 */
/* CacheLookup, CacheKeyModify, and the meaning of CacheEnable and CacheDisable for LiteSpeedCache.
 * Without that they are not there. */
#include "cached_litespeed_private.h"
#include "cached.h"
#include "configuration.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

int cached_ls_is_provider(const char *name)
{
    return !strcasecmp(name, "public") || !strcasecmp(name, "private");
}

int cached_ls_is_module(const cmd_parms *cmd, const char *name)
{
    return cache_module.module_index >= 0 && conf_is_htaccess(cmd) &&
           !strcasecmp(name, "LiteSpeed") && cached_ls_is_on(cmd->server);
}

const char *cached_ls_lookup_cmd(cmd_parms *cmd, void *dir, int argc, char *const argv[])
{
    cached_section *section = dir;

    if (conf_is_htaccess(cmd) && !cached_ls_is_on(cmd->server))
        return conf_not_here;
    if (argc < 1 || argc > 2 || (argc == 2 && !cached_ls_is_provider(argv[0])))
        return "CacheLookup takes on or off, behind public or private if need be";
    if (strcasecmp(argv[argc - 1], "on") != 0 && strcasecmp(argv[argc - 1], "off") != 0)
        return "CacheLookup must be on or off";
    section->ls_lookup = strcasecmp(argv[argc - 1], "on") ? CACHED_OFF : CACHED_ON;
    return NULL;
}

const char *cached_ls_key_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_section *section = dir;

    if (conf_is_htaccess(cmd) && !cached_ls_is_on(cmd->server))
        return conf_not_here;
    if (strncasecmp(arg, "-qs:", 4) != 0 || !arg[4])
        return "CacheKeyModify must be -qs:NAME, with * for any characters";
    if (!section->ls_params)
        section->ls_params = apr_array_make(cmd->pool, 4, sizeof(const char *));
    APR_ARRAY_PUSH(section->ls_params, const char *) = arg + 4;
    return NULL;
}

const char *cached_ls_enable_cmd(cmd_parms *cmd, cached_section *section, const char *url, int on)
{
    apr_array_header_t **to = on == CACHED_ON ? &section->ls_on : &section->ls_off;

    if (conf_is_htaccess(cmd) && !cached_ls_is_on(cmd->server))
        return conf_not_here;
    if (url && *url != '/')
        return apr_psprintf(cmd->pool, "%s: the path must begin with '/'", cmd->cmd->name);
    if (!*to)
        *to = apr_array_make(cmd->pool, 2, sizeof(const char *));
    APR_ARRAY_PUSH(*to, const char *) = url ? url : "/";
    return NULL;
}

static apr_array_header_t *ls_both(apr_pool_t *p, apr_array_header_t *base, apr_array_header_t *add)
{
    return base && add ? apr_array_append(p, base, add) : add ? add : base;
}

void cached_ls_section_merge(apr_pool_t *p, cached_section *to, const cached_section *base,
                             const cached_section *add)
{
    to->ls_lookup = add->ls_lookup ? add->ls_lookup : base->ls_lookup;
    to->ls_params = ls_both(p, base->ls_params, add->ls_params);
    to->ls_on = ls_both(p, base->ls_on, add->ls_on);
    to->ls_off = ls_both(p, base->ls_off, add->ls_off);
}

static int ls_has_path(const apr_array_header_t *paths, const char *uri)
{
    for (int i = 0; paths && i < paths->nelts; i++) {
        const char *path = APR_ARRAY_IDX(paths, i, const char *);

        if (!strncmp(uri, path, strlen(path)))
            return 1;
    }
    return 0;
}

int cached_ls_looks_up(const request_rec *r)
{
    const cached_section *c = cached_section_of(r);
    const char *uri = cached_first((request_rec *)r)->uri;

    return c->ls_lookup != CACHED_OFF && !ls_has_path(c->ls_off, uri) &&
           (c->ls_lookup == CACHED_ON || ls_has_path(c->ls_on, uri));
}
