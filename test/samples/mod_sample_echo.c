/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A protocol of its own in place of HTTP: what the client sends comes back line by line, with a
 * number.
 *
 *     brigade-apxs -c -i -a mod_sample_echo.c
 *
 *     Listen 7777
 *     <VirtualHost *:7777>
 *         SampleEcho On
 *     </VirtualHost>
 *
 *     nc localhost 7777
 *
 * It shows how a module takes a connection before HTTP does, reads lines from it and writes to it.
 * It has the thread that runs it for as long as the connection lasts, and may wait.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_strings.h"

module AP_MODULE_DECLARE_DATA sample_echo_module;

typedef struct echo_conf {
    int on;
} echo_conf;

static void *echo_create_conf(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(echo_conf));
}

static const char *echo_set(cmd_parms *cmd, void *dir_conf, int on)
{
    ((echo_conf *)ap_get_module_config(cmd->server->module_config, &sample_echo_module))->on = on;
    return NULL;
}

static const command_rec echo_commands[] = {
    AP_INIT_FLAG("SampleEcho", echo_set, NULL, RSRC_CONF, "On or Off"), {.name = NULL}};

/* The brigade holds a line; the number goes before it, a flush behind: the client waits for it. */
static apr_status_t echo_line(conn_rec *c, apr_bucket_brigade *bb, int number)
{
    char *text = apr_psprintf(c->pool, "%d: ", number);

    APR_BRIGADE_INSERT_HEAD(bb,
                            apr_bucket_pool_create(text, strlen(text), c->pool, c->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    return ap_pass_brigade(c->output_filters, bb);
}

static int echo_process_connection(conn_rec *c)
{
    const echo_conf *conf =
        ap_get_module_config(c->base_server->module_config, &sample_echo_module);
    apr_bucket_brigade *bb;
    apr_status_t rv = APR_SUCCESS;

    if (!conf->on)
        return DECLINED; /* it is HTTP's, or another's */
    bb = apr_brigade_create(c->pool, c->bucket_alloc);
    for (int number = 1; rv == APR_SUCCESS && !c->aborted; number++) {
        rv = ap_get_brigade(c->input_filters, bb, AP_MODE_GETLINE, APR_BLOCK_READ, 0);
        if (rv == APR_SUCCESS &&
            (APR_BRIGADE_EMPTY(bb) || APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(bb))))
            break;
        if (rv == APR_SUCCESS)
            rv = echo_line(c, bb, number);
        apr_brigade_cleanup(bb);
    }
    return OK; /* done with it: it is closed */
}

static void echo_register_hooks(apr_pool_t *p)
{
    ap_hook_process_connection(echo_process_connection, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(sample_echo) = {STANDARD20_MODULE_STUFF, NULL, NULL,
                                  echo_create_conf,        NULL, echo_commands,
                                  echo_register_hooks,     0};
