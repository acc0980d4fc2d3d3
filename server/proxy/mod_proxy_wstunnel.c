/* SPDX-License-Identifier: Apache-2.0 */
/* ProxyWebsocketFallbackToProxyHttp. */
#include "proxy_private.h"

typedef struct wstunnel_dir {
    int fallback; /* PROXY_UNSET: on */
} wstunnel_dir;

static void *wstunnel_create(apr_pool_t *p, char *path)
{
    wstunnel_dir *d = apr_palloc(p, sizeof *d);

    (void)path;
    d->fallback = PROXY_UNSET;
    return d;
}

static void *wstunnel_merge(apr_pool_t *p, void *basev, void *addv)
{
    const wstunnel_dir *base = basev, *mine = addv;
    wstunnel_dir *d = apr_palloc(p, sizeof *d);

    d->fallback = mine->fallback == PROXY_UNSET ? base->fallback : mine->fallback;
    return d;
}

int proxy_websocket_is_http(const request_rec *r)
{
    const wstunnel_dir *d = proxy_wstunnel_module.module_index == -1
                                ? NULL
                                : ap_get_module_config(r->per_dir_config, &proxy_wstunnel_module);

    return !d || d->fallback != 0;
}

static const char *wstunnel_cmd(cmd_parms *cmd, void *dconf, int on)
{
    ((wstunnel_dir *)dconf)->fallback = on != 0;
    return NULL;
}

static const command_rec wstunnel_commands[] = {
    AP_INIT_FLAG("ProxyWebsocketFallbackToProxyHttp", wstunnel_cmd, NULL, RSRC_CONF | ACCESS_CONF,
                 "whether to let mod_proxy_http handle the upgrade and tunneling, On by default"),
    {.name = NULL}};

static void wstunnel_hooks(apr_pool_t *p)
{
    (void)p;
}

module AP_MODULE_DECLARE_DATA proxy_wstunnel_module = {STANDARD20_MODULE_STUFF,
                                                       wstunnel_create,
                                                       wstunnel_merge,
                                                       NULL,
                                                       NULL,
                                                       wstunnel_commands,
                                                       wstunnel_hooks,
                                                       0};
