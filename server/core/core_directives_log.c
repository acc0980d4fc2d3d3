/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of directives about the error log. Opening and writing it is log.c's. */
#include "brigade/assert.h"
#include "brigade/client_mask.h"
#include "brigade/directive.h"
#include "brigade/log_service.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_private.h"

static struct ap_logconf *core_log_target(cmd_parms *cmd, core_dir_config *d)
{
    if (!cmd->path)
        return &cmd->server->log;
    if (!d->log)
        d->log = ap_new_log_config(cmd->pool, NULL);
    return d->log;
}

static const char *core_module_unknown(cmd_parms *cmd, const char *name)
{
    brg_nearest nearest = {name, NULL, 0};
    apr_size_t len = strlen(name);
    int file = len > 2 && !strcmp(name + len - 2, ".c");

    for (const module *m = ap_top_module; m; m = m->next)
        brg_nearest_offer(&nearest, file ? m->name : ap_find_module_short_name(m->module_index));
    return apr_pstrcat(cmd->temp_pool, "Cannot find module ", name,
                       brg_nearest_question(cmd->temp_pool, &nearest), NULL);
}

const char *core_set_log_level(cmd_parms *cmd, void *dir, const char *arg)
{
    struct ap_logconf *log = core_log_target(cmd, dir);
    const char *colon = strchr(arg, ':'), *error, *name;
    const module *m;
    int level;

    BRG_ASSERT(log != NULL);
    if (!colon) {
        error = ap_parse_log_level(arg, &level);
        if (error)
            return error;
        log->level = level;
        ap_reset_module_loglevels(log, APLOG_NO_MODULE);
        return NULL;
    }
    name = apr_pstrmemdup(cmd->temp_pool, arg, (apr_size_t)(colon - arg));
    error = ap_parse_log_level(colon + 1, &level);
    if (error)
        return apr_psprintf(cmd->temp_pool, "%s: %s", name, error);
    m = conf_find_module(name);
    if (!m)
        return core_module_unknown(cmd, name);
    BRG_ASSERT(m->module_index >= 0);
    ap_set_module_loglevel(cmd->pool, log, m->module_index, level);
    return NULL;
}

const char *core_set_error_log(cmd_parms *cmd, void *dir, const char *target, const char *more)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    brg_log_service *unused;

    if (error)
        return error;
    target =
        more ? apr_pstrcat(cmd->pool, target, ":", more, NULL) : apr_pstrdup(cmd->pool, target);
    cmd->server->error_fname = (char *)(uintptr_t)target;
    if (brg_log_service_is_named(target) &&
        (error = brg_log_service_parse(cmd->temp_pool, target, &unused)) != NULL)
        return apr_pstrcat(cmd->pool, "ErrorLog ", target, ": ", error, NULL);
    return NULL;
}

const char *core_set_log_mask(cmd_parms *cmd, void *dir, const char *v4, const char *v6)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    brg_client_mask mask;

    if (error)
        return error;
    if (!v6 && !strcasecmp(v4, "Off")) {
        brg_client_mask_set(NULL);
        return NULL;
    }
    if (!v6 || !brg_client_mask_parse(v4, v6, &mask))
        return "LogMaskClient takes the bits to show of IPv4 (0 to 32) and of IPv6 (0 to 128), or "
               "Off";
    brg_client_mask_set(&mask);
    return NULL;
}
