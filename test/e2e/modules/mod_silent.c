/* SPDX-License-Identifier: Apache-2.0 */
/* Fails without a word, where -DSILENT_AT=... says so: in a hook, when it is called for the -DSILENT_TIME=...th time of a
 * reading. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "ap_mpm.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static int silent(const char *where, int *times)
{
    return !strcmp(where, TEXT(SILENT_AT)) && ++*times >= SILENT_TIME ? HTTP_INTERNAL_SERVER_ERROR : OK;
}

/* Of the whole process: a module that is loaded afresh forgets what it counted. */
static int times_of(const char *where)
{
    const char *name = "SILENT_TIMES";
    const int n = getenv(name) ? atoi(getenv(name)) + 1 : 1;

    if (strcmp(where, TEXT(SILENT_AT)) != 0)
        return 0;
    setenv(name, n == 1 ? "1" : n == 2 ? "2" : "3", 1);
    return n - 1;
}

#define SILENT(name, ...)                         \
    {                                             \
        int times = times_of(#name);              \
        return silent(#name, &times);             \
    }

static int silent_pre_config(apr_pool_t *a, apr_pool_t *b, apr_pool_t *c) SILENT(pre_config)
static int silent_check_config(apr_pool_t *a, apr_pool_t *b, apr_pool_t *c, server_rec *s) SILENT(check_config)
static int silent_open_logs(apr_pool_t *a, apr_pool_t *b, apr_pool_t *c, server_rec *s) SILENT(open_logs)
static int silent_post_config(apr_pool_t *a, apr_pool_t *b, apr_pool_t *c, server_rec *s) SILENT(post_config)
static int silent_pre_mpm(apr_pool_t *p, ap_scoreboard_e type) SILENT(pre_mpm)
static int silent_privileges(apr_pool_t *p, server_rec *s) SILENT(drop_privileges)

static void silent_child_init(apr_pool_t *p, server_rec *s)
{
    if (!strcmp("child_init", TEXT(SILENT_AT)))
        exit(APEXIT_CHILDFATAL);
    if (!strcmp("child_init_at_once", TEXT(SILENT_AT)))
        _exit(APEXIT_CHILDFATAL);
}

static const char *silent_set(cmd_parms *cmd, void *unused, const char *arg)
{
    return !strcmp("directive", TEXT(SILENT_AT)) ? "" : NULL;
}

static const command_rec silent_commands[] = {AP_INIT_TAKE1("Silent", silent_set, NULL, RSRC_CONF, "anything"), {NULL}};

static void silent_hooks(apr_pool_t *p)
{
    if (!strcmp("register_hooks", TEXT(SILENT_AT)))
        exit(1);
    ap_hook_pre_config(silent_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(silent_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_open_logs(silent_open_logs, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(silent_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(silent_pre_mpm, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_drop_privileges(silent_privileges, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(silent_child_init, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(silent) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, silent_commands, silent_hooks};
