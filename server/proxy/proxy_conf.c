/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of a server and of a directory: made, merged. */
#include "proxy_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#define PROXY_IO_BUFFER 8192

proxy_server_conf *proxy_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &proxy_module);
}

proxy_dir_conf *proxy_dir_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &proxy_module);
}

const proxy_server_settings *proxy_settings_of(const server_rec *s)
{
    return &proxy_conf_of(s)->settings;
}

/* Of all targets that have no worker: addresses come from the target. */
static proxy_worker *proxy_generic(apr_pool_t *p, server_rec *s, const char *name)
{
    proxy_worker *w = apr_pcalloc(p, sizeof *w);

    w->name = name;
    w->scheme_name = "";
    w->host = w->prefix = "";
    w->params.route = w->params.redirect = "";
    w->params.check_uri = w->params.check_expr = "";
    w->params.status = PROXY_STATUS_INITIALIZED | PROXY_STATUS_GENERIC | PROXY_STATUS_IGNORE_ERRORS;
    w->params.loadfactor = 100;
    w->params.no_reuse = 1;
    w->generic = 1;
    w->server = s;
    return w;
}

void *proxy_server_create(apr_pool_t *p, server_rec *s)
{
    proxy_server_conf *c = apr_pcalloc(p, sizeof *c);

    c->server = s;
    c->aliases = apr_array_make(p, 4, sizeof(proxy_alias));
    c->sections = apr_array_make(p, 2, sizeof(ap_conf_vector_t *));
    c->workers = apr_array_make(p, 4, sizeof(proxy_worker *));
    c->balancers = apr_array_make(p, 2, sizeof(proxy_balancer *));
    c->remotes = apr_array_make(p, 1, sizeof(proxy_remote_rule));
    c->directs = apr_array_make(p, 1, sizeof(proxy_direct));
    c->blocks = apr_array_make(p, 1, sizeof(proxy_block));
    c->forward = proxy_generic(p, s, "proxy:forward");
    c->reverse = proxy_generic(p, s, "proxy:reverse");
    c->requests = c->status = c->growth = c->persist = PROXY_UNSET;
    c->inherit = c->pass_inherit = PROXY_UNSET;
    c->settings.max_forwards = -1;
    c->settings.io_buffer = PROXY_IO_BUFFER;
    return c;
}

static int number(int mine, int base)
{
    return mine == PROXY_UNSET ? base : mine;
}

static void proxy_merge_settings(proxy_server_conf *c, const proxy_server_conf *base,
                                 const proxy_server_conf *mine)
{
    const proxy_server_settings *b = &base->settings;

    if (!mine->via_set)
        c->settings.via = b->via;
    if (!mine->bad_set)
        c->settings.bad_field = b->bad_field;
    if (!mine->forwards_set)
        c->settings.max_forwards = b->max_forwards;
    if (!mine->io_set)
        c->settings.io_buffer = b->io_buffer;
    if (!mine->receive_set)
        c->settings.receive_buffer = b->receive_buffer;
    if (!mine->settings.timeout)
        c->settings.timeout = b->timeout;
    if (!mine->settings.source)
        c->settings.source = b->source;
    c->via_set |= base->via_set;
    c->bad_set |= base->bad_set;
    c->forwards_set |= base->forwards_set;
    c->io_set |= base->io_set;
    c->receive_set |= base->receive_set;
}

void *proxy_server_merge(apr_pool_t *p, void *basev, void *addv)
{
    const proxy_server_conf *base = basev, *mine = addv;
    proxy_server_conf *c = apr_pmemdup(p, mine, sizeof *c);

    BRG_ASSERT(base->reverse->generic && mine->reverse->generic);
    c->inherit = number(mine->inherit, base->inherit);
    c->pass_inherit = number(mine->pass_inherit, base->pass_inherit);
    if (c->pass_inherit != 0) {
        c->aliases = apr_array_append(p, mine->aliases, base->aliases);
        c->encoded_some = mine->encoded_some || base->encoded_some;
    }
    if (c->inherit != 0) {
        c->workers = apr_array_append(p, mine->workers, base->workers);
        c->balancers = apr_array_append(p, mine->balancers, base->balancers);
        c->forward = base->forward;
        c->reverse = base->reverse;
    }
    c->sections = apr_array_append(p, base->sections, mine->sections);
    c->remotes = apr_array_append(p, base->remotes, mine->remotes);
    c->directs = apr_array_append(p, base->directs, mine->directs);
    c->blocks = apr_array_append(p, base->blocks, mine->blocks);
    c->domain = mine->domain ? mine->domain : base->domain;
    c->requests = number(mine->requests, base->requests);
    c->status = number(mine->status, base->status);
    c->growth = number(mine->growth, base->growth);
    c->persist = number(mine->persist, base->persist);
    proxy_merge_settings(c, base, mine);
    return c;
}

void *proxy_dir_create(apr_pool_t *p, char *path)
{
    proxy_dir_conf *d = apr_pcalloc(p, sizeof *d);

    d->reverses = apr_array_make(p, 0, sizeof(proxy_reverse));
    d->cookie_paths = apr_array_make(p, 0, sizeof(proxy_reverse));
    d->cookie_domains = apr_array_make(p, 0, sizeof(proxy_reverse));
    d->interpolate = d->override = d->preserve_host = d->status_field = PROXY_UNSET;
    d->add_fields = d->pass_continue = PROXY_UNSET;
    return d;
}

void *proxy_dir_merge(apr_pool_t *p, void *basev, void *addv)
{
    const proxy_dir_conf *base = basev, *mine = addv;
    proxy_dir_conf *d = apr_pmemdup(p, mine, sizeof *d);

    BRG_ASSERT(base->reverses && mine->reverses);
    d->alias = mine->alias ? mine->alias : base->alias;
    d->reverses = apr_array_append(p, base->reverses, mine->reverses);
    d->cookie_paths = apr_array_append(p, base->cookie_paths, mine->cookie_paths);
    d->cookie_domains = apr_array_append(p, base->cookie_domains, mine->cookie_domains);
    d->interpolate = number(mine->interpolate, base->interpolate);
    d->preserve_host = number(mine->preserve_host, base->preserve_host);
    d->status_field = number(mine->status_field, base->status_field);
    d->add_fields = number(mine->add_fields, base->add_fields);
    d->pass_continue = number(mine->pass_continue, base->pass_continue);
    if (mine->override == PROXY_UNSET) {
        d->override = base->override;
        d->override_statuses = base->override_statuses;
    }
    return d;
}
