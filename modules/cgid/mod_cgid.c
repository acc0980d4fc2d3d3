/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_cgid: programs answer requests (CGI, RFC 3875). A daemon starts them (cgi_daemon.h); their output comes without a thread
 * that waits for it (cgi_run.c).
 */
#include "cgi_module.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_strings.h"

/* The daemon is reached by an inherited socket, which no other process can open: the name is checked and not used. */
static const char *cgid_set_socket(cmd_parms *cmd, void *dummy, const char *path)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error)
        return error;
    if (!ap_runtime_dir_relative(cmd->pool, path))
        return apr_pstrcat(cmd->pool, "Invalid ScriptSock path ", path, NULL);
    return NULL;
}

static int cgid_handler(request_rec *r)
{
    return cgi_handle(r, &cgid_module);
}

static const command_rec cgid_commands[] = {
    CGI_DIRECTIVES(&cgid_module),
    AP_INIT_TAKE1("ScriptSock", cgid_set_socket, NULL, RSRC_CONF,
                  "the name of the socket to use for communication with the cgi daemon."),
    AP_INIT_TAKE1("CGIDScriptTimeout", cgi_set_timeout, NULL, RSRC_CONF | ACCESS_CONF,
                  "The amount of time to wait between successful reads from the CGI script, in "
                  "seconds."),
    {0},
};

static void cgid_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(cgid_handler, NULL, NULL, APR_HOOK_MIDDLE);
    cgi_register(p, &cgid_module);
}

module AP_MODULE_DECLARE_DATA cgid_module = {
    STANDARD20_MODULE_STUFF, cgi_create_dir, cgi_merge_dir,       cgi_create_server,
    cgi_merge_server,        cgid_commands,  cgid_register_hooks, 0,
};
