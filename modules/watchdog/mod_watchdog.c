/* SPDX-License-Identifier: Apache-2.0 */
/* mod_watchdog: threads beside the server's own that call modules at intervals (mod_watchdog.h).
 * Those of the parent run in the supervisor, the others in each server process, or, as singletons,
 * in one of them at a time. */
#include "watchdog_private.h"

#include "http_core.h"
#include "http_main.h"
#include "mpm_common.h"
#include "util_mutex.h"

#include "apr_lib.h"
#include <string.h>

#define WATCHDOG_GROUP "watchdog"

AP_DECLARE_MODULE(watchdog);

APR_HOOK_STRUCT(APR_HOOK_LINK(watchdog_need) APR_HOOK_LINK(watchdog_init)
                    APR_HOOK_LINK(watchdog_exit) APR_HOOK_LINK(watchdog_step))
APR_IMPLEMENT_EXTERNAL_HOOK_RUN_FIRST(ap, AP_WD, int, watchdog_need,
                                      (server_rec * s, const char *name, int parent, int singleton),
                                      (s, name, parent, singleton), DECLINED)
APR_IMPLEMENT_EXTERNAL_HOOK_RUN_ALL(ap, AP_WD, int, watchdog_init,
                                    (server_rec * s, const char *name, apr_pool_t *pool),
                                    (s, name, pool), OK, DECLINED)
APR_IMPLEMENT_EXTERNAL_HOOK_RUN_ALL(ap, AP_WD, int, watchdog_exit,
                                    (server_rec * s, const char *name, apr_pool_t *pool),
                                    (s, name, pool), OK, DECLINED)
APR_IMPLEMENT_EXTERNAL_HOOK_RUN_ALL(ap, AP_WD, int, watchdog_step,
                                    (server_rec * s, const char *name, apr_pool_t *pool),
                                    (s, name, pool), OK, DECLINED)

static apr_interval_time_t watchdog_interval;

/* ---- for modules ---- */

static const char *watchdog_version(int parent)
{
    return parent ? "parent" : "child";
}

static apr_status_t ap_watchdog_get_instance(ap_watchdog_t **watchdog, const char *name, int parent,
                                             int singleton, apr_pool_t *p)
{
    ap_watchdog_t *w = ap_lookup_provider(WATCHDOG_GROUP, name, watchdog_version(parent));
    apr_status_t rv;

    if (!w) {
        w = apr_pcalloc(p, sizeof *w);
        w->name = apr_pstrdup(p, name);
        w->parent = parent;
        w->singleton = parent ? 0 : singleton;
        rv = ap_register_provider(p, WATCHDOG_GROUP, w->name, watchdog_version(parent), w);
        if (rv != APR_SUCCESS)
            return rv;
    }
    *watchdog = w;
    return APR_SUCCESS;
}

static watchdog_call *watchdog_find(const ap_watchdog_t *w, const void *data,
                                    ap_watchdog_callback_fn_t *fn)
{
    for (watchdog_call *call = w->calls; call; call = call->next)
        if (call->fn == fn && call->data == data)
            return call;
    return NULL;
}

static apr_status_t ap_watchdog_set_callback_interval(ap_watchdog_t *w,
                                                      apr_interval_time_t interval,
                                                      const void *data,
                                                      ap_watchdog_callback_fn_t *callback)
{
    watchdog_call *call = watchdog_find(w, data, callback);

    if (!call)
        return APR_EOF;
    call->interval = interval;
    return APR_SUCCESS;
}

static apr_status_t ap_watchdog_register_callback(ap_watchdog_t *w, apr_interval_time_t interval,
                                                  const void *data,
                                                  ap_watchdog_callback_fn_t *callback)
{
    watchdog_call *call, **end = &w->calls;

    if (watchdog_find(w, data, callback))
        return APR_EEXIST;
    call = apr_pcalloc(ap_server_conf ? ap_server_conf->process->pconf : apr_hook_global_pool,
                       sizeof *call);
    call->fn = callback;
    call->data = data;
    call->interval = interval;
    while (*end)
        end = &(*end)->next;
    *end = call;
    return APR_SUCCESS;
}

/* ---- the two that are there for the hooks ---- */

static void watchdog_offer(server_rec *s, const char *name, int parent, int singleton,
                           apr_pool_t *p)
{
    ap_watchdog_t *w;

    if (ap_run_watchdog_need(s, name, parent, singleton) == OK &&
        ap_watchdog_get_instance(&w, name, parent, singleton, p) == APR_SUCCESS)
        w->hooked = 1;
}

static void watchdog_offer_all(server_rec *s, apr_pool_t *p)
{
    for (int parent = 1; parent >= 0; parent--) {
        watchdog_offer(s, AP_WATCHDOG_SINGLETON, parent, 1, p);
        watchdog_offer(s, AP_WATCHDOG_DEFAULT, parent, 0, p);
    }
}

/* ---- life ---- */

typedef apr_status_t watchdog_each_fn(ap_watchdog_t *w, apr_pool_t *p);

static apr_status_t watchdog_each(int parent, watchdog_each_fn *fn, apr_pool_t *p)
{
    const apr_array_header_t *names =
        ap_list_provider_names(p, WATCHDOG_GROUP, watchdog_version(parent));

    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, ap_list_provider_names_t).provider_name;
        ap_watchdog_t *w = ap_lookup_provider(WATCHDOG_GROUP, name, watchdog_version(parent));
        apr_status_t rv = w && (w->calls || w->hooked) ? fn(w, p) : APR_SUCCESS;

        if (rv != APR_SUCCESS)
            return rv;
    }
    return APR_SUCCESS;
}

static apr_status_t watchdog_prepare(ap_watchdog_t *w, apr_pool_t *p)
{
    w->s = ap_server_conf;
    w->step = watchdog_interval;
    if (!w->singleton)
        return APR_SUCCESS;
    return ap_proc_mutex_create(&w->only, &w->only_file, WATCHDOG_MUTEX, w->name, w->s, p, 0);
}

static apr_status_t watchdog_stop(ap_watchdog_t *w, apr_pool_t *p)
{
    watchdog_tell_stop(w);
    return APR_SUCCESS;
}

static int watchdog_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    watchdog_interval = AP_WD_TM_INTERVAL;
    return ap_mutex_register(pconf, WATCHDOG_MUTEX, NULL, APR_LOCK_DEFAULT, 0) == APR_SUCCESS ? OK
                                                                                              : !OK;
}

static int watchdog_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                                server_rec *s)
{
    if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_CONFIG)
        return OK; /* a configuration that is only looked at */
    watchdog_offer_all(s, pconf);
    if (watchdog_each(1, watchdog_prepare, pconf) != APR_SUCCESS ||
        watchdog_each(0, watchdog_prepare, pconf) != APR_SUCCESS)
        return HTTP_INTERNAL_SERVER_ERROR;
    return watchdog_each(1, watchdog_start, pconf) == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static void watchdog_child_init(apr_pool_t *p, server_rec *s)
{
    watchdog_each(0, watchdog_start, p);
}

static void watchdog_child_stopping(apr_pool_t *p, int graceful)
{
    watchdog_each(0, watchdog_stop, p);
}

/* ---- configuration ---- */

static const char *watchdog_set_interval(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error)
        return error;
    if (ap_timeout_parameter_parse(arg, &watchdog_interval, "s") != APR_SUCCESS ||
        watchdog_interval < AP_WD_TM_SLICE)
        return "Invalid WatchdogInterval: a tenth of a second or more is needed";
    return NULL;
}

static const command_rec watchdog_commands[] = {
    AP_INIT_TAKE1("WatchdogInterval", watchdog_set_interval, NULL, RSRC_CONF,
                  "time between runs of the watchdog_step hook, by default in seconds"),
    {.name = NULL},
};

static void watchdog_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(watchdog_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Last: registrations of other modules in theirs are to be known. */
    ap_hook_post_config(watchdog_post_config, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_child_init(watchdog_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_stopping(watchdog_child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
    APR_REGISTER_OPTIONAL_FN(ap_watchdog_get_instance);
    APR_REGISTER_OPTIONAL_FN(ap_watchdog_register_callback);
    APR_REGISTER_OPTIONAL_FN(ap_watchdog_set_callback_interval);
}

module AP_MODULE_DECLARE_DATA watchdog_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, watchdog_commands, watchdog_register_hooks,
    AP_MODULE_FLAG_NONE,
};
