/* SPDX-License-Identifier: Apache-2.0 */
/* Declares that its fixups need a directive, and for which handlers its handler is; each of the two says in a field
 * of the response that it was called. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

module needs_module;

static int needs_fixup(request_rec *r)
{
    apr_table_setn(r->headers_out, "X-Fixup", "called");
    return DECLINED;
}

static int needs_handler(request_rec *r)
{
    apr_table_mergen(r->headers_out, "X-Handler", r->handler);
    return DECLINED;
}

static const char *needs_set(cmd_parms *cmd, void *dir, int on)
{
    return NULL;
}

static const command_rec needs_commands[] = {
    AP_INIT_FLAG("NeedsFixup", needs_set, NULL, OR_ALL | RSRC_CONF,
                 "whatever it is, fixups are called"),
    {NULL},
};

static void needs_hooks(apr_pool_t *p)
{
    ap_hook_fixups(needs_fixup, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(needs_handler, NULL, NULL, APR_HOOK_FIRST);
    brg_nonblocking_declare(&needs_module);
    brg_hooks_need_directive(&needs_module, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    brg_handlers_are_for(&needs_module, "needed text/needed gate:*");
}

module AP_MODULE_DECLARE_DATA needs_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, needs_commands, needs_hooks, 0,
};
