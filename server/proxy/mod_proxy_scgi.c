/* SPDX-License-Identifier: Apache-2.0 */
/* ProxySCGISendfile, ProxySCGIInternalRedirect. */
#include "proxy_private.h"
#include "proxy_gateway_private.h"
#include "apr_strings.h"
#include <strings.h>

/* "": off. NULL: not named. */
typedef struct scgi_dir {
    const char *sendfile, *redirect;
} scgi_dir;

static void *scgi_create(apr_pool_t *p, char *path)
{
    (void)path;
    return apr_pcalloc(p, sizeof(scgi_dir));
}

static void *scgi_merge(apr_pool_t *p, void *basev, void *addv)
{
    const scgi_dir *base = basev, *mine = addv;
    scgi_dir *d = apr_palloc(p, sizeof *d);

    d->sendfile = mine->sendfile ? mine->sendfile : base->sendfile;
    d->redirect = mine->redirect ? mine->redirect : base->redirect;
    return d;
}

void proxy_scgi_settings(const request_rec *r, proxy_request_settings *to)
{
    const scgi_dir *d = proxy_scgi_module.module_index == -1
                            ? NULL
                            : ap_get_module_config(r->per_dir_config, &proxy_scgi_module);

    to->scgi_redirect = d && (!d->redirect || *d->redirect);
    to->scgi_redirect_field = d ? d->redirect : NULL;
    to->scgi_sendfile = d && d->sendfile && *d->sendfile ? d->sendfile : NULL;
}

static const char *scgi_sendfile_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    ((scgi_dir *)dconf)->sendfile = !strcasecmp(arg, "on")    ? "X-Sendfile"
                                    : !strcasecmp(arg, "off") ? ""
                                                              : arg;
    return NULL;
}

static const char *scgi_redirect_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    ((scgi_dir *)dconf)->redirect = !strcasecmp(arg, "on")    ? "Location"
                                    : !strcasecmp(arg, "off") ? ""
                                                              : arg;
    return NULL;
}

static const command_rec scgi_commands[] = {
    AP_INIT_TAKE1("ProxySCGISendfile", scgi_sendfile_cmd, NULL, RSRC_CONF | ACCESS_CONF,
                  "The name of the X-Sendfile pseudo response header or On or Off"),
    AP_INIT_TAKE1("ProxySCGIInternalRedirect", scgi_redirect_cmd, NULL, RSRC_CONF | ACCESS_CONF,
                  "The name of the pseudo response header or On or Off"),
    {.name = NULL}};

static void scgi_hooks(apr_pool_t *p)
{
    (void)p;
}

module AP_MODULE_DECLARE_DATA proxy_scgi_module = {
    STANDARD20_MODULE_STUFF, scgi_create, scgi_merge, NULL, NULL, scgi_commands, scgi_hooks, 0};
