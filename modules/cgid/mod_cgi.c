/* SPDX-License-Identifier: Apache-2.0 */
/* mod_cgi: the name of mod_cgid under which configurations for prefork load it. */
#include "cgi_module.h"
#include "http_core.h"
#include "http_request.h"

static int cgi_handler_of_cgi(request_rec *r)
{
    return cgi_handle(r, &cgi_module);
}

static const command_rec cgi_commands[] = {
    CGI_DIRECTIVES(&cgi_module),
    AP_INIT_TAKE1("CGIScriptTimeout", cgi_set_timeout, NULL, RSRC_CONF | ACCESS_CONF,
                  "The amount of time to wait between successful reads from the CGI script, in "
                  "seconds."),
    {0},
};

static void cgi_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(cgi_handler_of_cgi, NULL, NULL, APR_HOOK_MIDDLE);
    cgi_register(p, &cgi_module);
}

module AP_MODULE_DECLARE_DATA cgi_module = {
    STANDARD20_MODULE_STUFF, cgi_create_dir, cgi_merge_dir,      cgi_create_server,
    cgi_merge_server,        cgi_commands,   cgi_register_hooks, 0,
};
