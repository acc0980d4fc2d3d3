/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of ProxyPass (P), ProxyPassMatch (M), BalancerMember (B) and ProxySet (S): the letter, a blank, and what stands behind the
 * directive. What is taken is within its limits.
 * Covers: server/proxy/proxy_params.c server/proxy/proxy_params_balancer.c server/proxy/proxy_commands.c
 *     server/proxy/proxy_define.c server/proxy/proxy_scheme.c
 */
#include "proxy_private.h"
#include "test_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_worker(const proxy_worker *w)
{
    const proxy_params *p = &w->params;

    check(w->name && w->scheme_name && w->host && w->prefix);
    check(w->scheme != PROXY_SCHEME_BALANCER || w->balancer || !w->state);
    check(p->loadfactor >= 100 && p->loadfactor <= 10000);
    check(p->lbset >= 0 && p->lbset <= 99);
    check(p->min >= 0 && p->max >= 0 && p->smax >= 0 && p->eject >= 0);
    check(p->retry >= 0 && p->ttl >= 0 && p->acquire >= 0 && p->timeout >= 0);
    check(p->flush_wait >= 0 && p->flush_wait <= 1000000 && p->address_ttl >= -1);
    check(strlen(p->route) < PROXY_ROUTE_SIZE && strlen(p->redirect) < PROXY_ROUTE_SIZE);
    check(p->check_passes >= 0 && p->check_fails >= 0);
}

static void check_balancer(const proxy_balancer *b)
{
    check(strstr(b->name, "://") && b->attempts >= 0 && b->timeout >= 0);
    check(strlen(b->sticky) < BALANCER_STICKY_SIZE &&
          strlen(b->sticky_path) < BALANCER_STICKY_SIZE);
    check(!b->nonce || strlen(b->nonce) < BALANCER_NONCE_SIZE);
    for (int i = 0; i < b->members->nelts; i++)
        check_worker(APR_ARRAY_IDX(b->members, i, proxy_worker *));
}

/* @return 1: it was taken */
static int run_line(cmd_parms *cmd, proxy_dir_conf *dir, const char *line)
{
    const char *args = line + 1 + (line[1] == ' ');

    cmd->info = *line == 'M' ? &proxy_module : NULL;
    switch (*line) {
    case 'B':
        return !proxy_member_cmd(cmd, dir, args);
    case 'S':
        return !proxy_set_cmd(cmd, dir, args);
    default:
        return !proxy_pass_cmd(cmd, dir, args);
    }
}

static void run_lines(apr_pool_t *p, char *text)
{
    server_rec *s = ap_server_conf;
    proxy_server_conf *conf = proxy_server_create(p, s);
    proxy_dir_conf *dir = proxy_dir_create(p, NULL);
    const command_rec command = {.name = "ProxyPass", .req_override = RSRC_CONF | ACCESS_CONF};
    ap_directive_t directive = {.directive = "ProxyPass", .args = "", .filename = "conf"};
    cmd_parms cmd = {.pool = p,
                     .temp_pool = p,
                     .server = s,
                     .cmd = &command,
                     .directive = &directive,
                     .limited = -1};
    char *last;
    int taken = 1;

    ap_set_module_config(s->module_config, &proxy_module, conf);
    for (char *line = apr_strtok(text, "\n", &last); line && taken;
         line = apr_strtok(NULL, "\n", &last))
        taken = run_line(&cmd, dir, line);
    if (!taken) /* the server does not start */
        return;
    for (int i = 0; i < conf->workers->nelts; i++)
        check_worker(APR_ARRAY_IDX(conf->workers, i, proxy_worker *));
    for (int i = 0; i < conf->balancers->nelts; i++)
        check_balancer(APR_ARRAY_IDX(conf->balancers, i, proxy_balancer *));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    proxy_server_conf *kept;
    apr_pool_t *p;

    if (!size || size > 4000)
        return 0;
    if (!test_process)
        check(test_config_setup(NULL) == 0 && test_config_read("ServerName a\nLogLevel emerg\n"));
    kept = proxy_conf_of(ap_server_conf);
    apr_pool_create(&p, test_process->pool);
    run_lines(p, apr_pstrmemdup(p, (const char *)data, size));
    ap_set_module_config(ap_server_conf->module_config, &proxy_module, kept);
    apr_pool_destroy(p);
    return 0;
}
