/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks alone: a server that is closed at certain hours.
 *
 *     brigade-apxs -c -i -a mod_sample_hook.c
 *
 *     SampleClosed On                  # or Off, in a VirtualHost
 *
 * With SampleClosed On every request but those for /robots.txt is answered with 503 and
 * Retry-After. Each response has a field Sample-Phases with the phases that this module saw, and
 * "%{sample-phases}n" is a note for the access log.
 *
 * It shows a configuration per server with its merge, the phases of a request in their order, a
 * note that is handed from one to the next, and headers that errors have too.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

module AP_MODULE_DECLARE_DATA sample_hook_module;

typedef struct hook_conf {
    int closed; /* -1: not set here */
} hook_conf;

static void *hook_create_conf(apr_pool_t *p, server_rec *s)
{
    hook_conf *conf = apr_palloc(p, sizeof *conf);

    conf->closed = -1;
    return conf;
}

static void *hook_merge_conf(apr_pool_t *p, void *main_server, void *virtual_host)
{
    return ((hook_conf *)virtual_host)->closed < 0 ? main_server : virtual_host;
}

static const char *hook_set_closed(cmd_parms *cmd, void *dir_conf, int on)
{
    hook_conf *conf = ap_get_module_config(cmd->server->module_config, &sample_hook_module);

    conf->closed = on;
    return NULL;
}

static const command_rec hook_commands[] = {
    AP_INIT_FLAG("SampleClosed", hook_set_closed, NULL, RSRC_CONF, "On or Off"), {.name = NULL}};

static void hook_note(request_rec *r, const char *phase)
{
    const char *before = apr_table_get(r->notes, "sample-phases");

    apr_table_setn(r->notes, "sample-phases",
                   before ? apr_pstrcat(r->pool, before, " ", phase, NULL) : phase);
    /* err_headers_out are sent with every response, headers_out with successful ones. */
    apr_table_setn(r->err_headers_out, "Sample-Phases", apr_table_get(r->notes, "sample-phases"));
}

static int hook_post_read_request(request_rec *r)
{
    hook_note(r, "read");
    return DECLINED; /* let the others have it too */
}

static int hook_access(request_rec *r)
{
    const hook_conf *conf = ap_get_module_config(r->server->module_config, &sample_hook_module);

    hook_note(r, "access");
    if (conf->closed != 1 || !strcmp(r->uri, "/robots.txt"))
        return DECLINED;
    apr_table_setn(r->err_headers_out, "Retry-After", "3600");
    return HTTP_SERVICE_UNAVAILABLE;
}

static int hook_fixups(request_rec *r)
{
    hook_note(r, "fixups");
    return DECLINED;
}

static void hook_register(apr_pool_t *p)
{
    static const char *const before_all[] = {"mod_alias.c", NULL};

    ap_hook_post_read_request(hook_post_read_request, NULL, before_all, APR_HOOK_MIDDLE);
    ap_hook_access_checker(hook_access, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(hook_fixups, NULL, NULL, APR_HOOK_LAST);
}

AP_DECLARE_MODULE(sample_hook) = {
    STANDARD20_MODULE_STUFF, NULL,          NULL,          hook_create_conf,
    hook_merge_conf,         hook_commands, hook_register, 0};
