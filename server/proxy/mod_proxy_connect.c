/* SPDX-License-Identifier: Apache-2.0 */
/* AllowCONNECT. */
#include "proxy_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
    const apr_array_header_t *ranges =
        proxy_connect_module.module_index == -1
            ? NULL
            : ap_get_module_config(s->module_config, &proxy_connect_module);

    BRG_ASSERT(port > 0);
    if (!ranges)
        return 0;
    for (int i = 0; i < ranges->nelts; i++) {
        const connect_range *c = &APR_ARRAY_IDX(ranges, i, connect_range);

        if (port >= c->first && port <= c->last)
            return 1;
    }
    return !ranges->nelts && (port == 443 || port == 563); /* https, snews */
}

/* A number that is all of a word. */
static int connect_port(const char *word, int *to)
{
    char *end;
    const long n = strtol(word, &end, 10);

    *to = n > INT_MAX ? INT_MAX : (int)n;
    return *end || end == word;
}

static const char *connect_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    apr_array_header_t *ranges =
        ap_get_module_config(cmd->server->module_config, &proxy_connect_module);
    const char *dash = strchr(arg, '-'),
               *first = dash ? apr_pstrmemdup(cmd->pool, arg, (apr_size_t)(dash - arg)) : arg;
    const char *wrong = NULL;
    connect_range c;

    if (!apr_isdigit(*arg))
        return "AllowCONNECT: port numbers must be numeric";
    if (connect_port(first, &c.first))
        wrong = first;
    else if (dash && connect_port(dash + 1, &c.last))
        wrong = dash + 1;
    if (wrong)
        return apr_pstrcat(cmd->temp_pool, "Cannot parse '", wrong, "' as port number", NULL);
    if (!dash)
        c.last = c.first;
    APR_ARRAY_PUSH(ranges, connect_range) = c;
    return NULL;
}

static const command_rec connect_commands[] = {
    AP_INIT_ITERATE("AllowCONNECT", connect_cmd, NULL, RSRC_CONF,
                    "A list of ports or port ranges which CONNECT may connect to"),
    {.name = NULL}};

static void connect_hooks(apr_pool_t *p)
{
    (void)p;
}

module AP_MODULE_DECLARE_DATA proxy_connect_module = {
    STANDARD20_MODULE_STUFF, NULL,          NULL, connect_create, connect_merge,
    connect_commands,        connect_hooks, 0};
