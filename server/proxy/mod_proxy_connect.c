/* SPDX-License-Identifier: Apache-2.0 */
/* AllowCONNECT. */
#include "proxy_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <limits.h>
#include <stdlib.h>

typedef struct connect_range {
    int first, last;
} connect_range;

static void *connect_create(apr_pool_t *p, server_rec *s)
{
    return apr_array_make(p, 2, sizeof(connect_range));
}

static void *connect_merge(apr_pool_t *p, void *base, void *add)
{
    const apr_array_header_t *mine = add;

    return mine->nelts ? add : base;
}

int proxy_connect_allows(const server_rec *s, apr_port_t port)
{
    const apr_array_header_t *ranges = proxy_connect_module.module_index == -1
                                           ? NULL
                                           : ap_get_module_config(s->module_config, &proxy_connect_module);

    if (!ranges)
        return 0;
    for (int i = 0; i < ranges->nelts; i++) {
        const connect_range *c = &APR_ARRAY_IDX(ranges, i, connect_range);

        if (port >= c->first && port <= c->last)
            return 1;
    }
    return !ranges->nelts && (port == 443 || port == 563); /* https, snews */
}

static const char *connect_port(const char *text, const char **end, int *to)
{
    char *stop;
    const long n = strtol(text, &stop, 10);

    *end = stop;
    *to = n > INT_MAX ? INT_MAX : (int)n;
    return stop == text || (*stop && *stop != '-') ? text : NULL;
}

static const char *connect_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    apr_array_header_t *ranges = ap_get_module_config(cmd->server->module_config, &proxy_connect_module);
    const char *end, *wrong;
    connect_range c;

    if (!apr_isdigit(*arg))
        return "AllowCONNECT: port numbers must be numeric";
    wrong = connect_port(arg, &end, &c.first);
    if (!wrong && *end == '-')
        wrong = connect_port(end + 1, &end, &c.last);
    else
        c.last = c.first;
    if (!wrong && *end)
        wrong = end;
    if (wrong)
        return apr_pstrcat(cmd->temp_pool, "Cannot parse '", wrong, "' as port number", NULL);
    APR_ARRAY_PUSH(ranges, connect_range) = c;
    return NULL;
}

static const command_rec connect_commands[] = {
    AP_INIT_ITERATE("AllowCONNECT", connect_cmd, NULL, RSRC_CONF,
                    "A list of ports or port ranges which CONNECT may connect to"),
    {NULL}};

static void connect_hooks(apr_pool_t *p)
{
    (void)p;
}

module AP_MODULE_DECLARE_DATA proxy_connect_module = {STANDARD20_MODULE_STUFF,
                                                      NULL,
                                                      NULL,
                                                      connect_create,
                                                      connect_merge,
                                                      connect_commands,
                                                      connect_hooks,
                                                      0};
