/* SPDX-License-Identifier: Apache-2.0 */
/* Log levels per module, as configuration: struct ap_logconf. Level APLOG_NO_MODULE stands for "as
 * the whole". */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"

#undef ap_get_server_module_loglevel
#undef ap_get_conn_module_loglevel
#undef ap_get_conn_server_module_loglevel
#undef ap_get_request_module_loglevel

static int conf_level_of(const struct ap_logconf *l, int index)
{
    if (index < 0 || !l->module_levels || l->module_levels[index] < 0)
        return l->level;
    return l->module_levels[index];
}

AP_DECLARE(int) ap_get_server_module_loglevel(const server_rec *s, int index)
{
    return conf_level_of(&s->log, index);
}

AP_DECLARE(int) ap_get_conn_module_loglevel(const conn_rec *c, int index)
{
    return conf_level_of(ap_get_conn_logconf(c), index);
}

AP_DECLARE(int)
ap_get_conn_server_module_loglevel(const conn_rec *c, const server_rec *s, int index)
{
    return conf_level_of(ap_get_conn_server_logconf(c, s), index);
}

AP_DECLARE(int) ap_get_request_module_loglevel(const request_rec *r, int index)
{
    return conf_level_of(ap_get_request_logconf(r), index);
}

static signed char *conf_levels_alloc(apr_pool_t *p)
{
    apr_size_t n = (apr_size_t)conf_vector_slots();

    return memset(apr_palloc(p, n), APLOG_NO_MODULE, n);
}

AP_DECLARE(void) ap_set_module_loglevel(apr_pool_t *p, struct ap_logconf *l, int index, int level)
{
    if (!l->module_levels)
        l->module_levels = conf_levels_alloc(p);
    l->module_levels[index] = (signed char)level;
}

AP_DECLARE(void) ap_reset_module_loglevels(struct ap_logconf *l, int val)
{
    if (l->module_levels)
        memset(l->module_levels, val, (apr_size_t)conf_vector_slots());
}

AP_DECLARE(struct ap_logconf *) ap_new_log_config(apr_pool_t *p, const struct ap_logconf *old)
{
    struct ap_logconf *l = apr_pcalloc(p, sizeof *l);

    l->level = CONF_LEVEL_UNSET;
    if (old) {
        l->level = old->level;
        if (old->module_levels)
            l->module_levels = apr_pmemdup(p, old->module_levels, (apr_size_t)conf_vector_slots());
    }
    return l;
}

AP_DECLARE(void)
ap_merge_log_config(const struct ap_logconf *old_conf, struct ap_logconf *new_conf)
{
    int inherit = new_conf->level == CONF_LEVEL_UNSET;

    if (inherit)
        new_conf->level = old_conf->level;
    if (!new_conf->module_levels) {
        if (inherit)
            new_conf->module_levels = old_conf->module_levels;
        return;
    }
    if (!inherit || !old_conf->module_levels)
        return;
    for (int i = 0; i < conf_vector_slots(); i++)
        if (new_conf->module_levels[i] < 0)
            new_conf->module_levels[i] = old_conf->module_levels[i];
}

static const struct {
    const char *name;
    int level;
} conf_levels[] = {
    {"emerg", APLOG_EMERG},   {"alert", APLOG_ALERT},   {"crit", APLOG_CRIT},
    {"error", APLOG_ERR},     {"warn", APLOG_WARNING},  {"notice", APLOG_NOTICE},
    {"info", APLOG_INFO},     {"debug", APLOG_DEBUG},   {"trace1", APLOG_TRACE1},
    {"trace2", APLOG_TRACE2}, {"trace3", APLOG_TRACE3}, {"trace4", APLOG_TRACE4},
    {"trace5", APLOG_TRACE5}, {"trace6", APLOG_TRACE6}, {"trace7", APLOG_TRACE7},
    {"trace8", APLOG_TRACE8},
};

AP_DECLARE(const char *) ap_parse_log_level(const char *str, int *val)
{
    for (unsigned i = 0; i < sizeof conf_levels / sizeof *conf_levels; i++) {
        if (!ap_cstr_casecmp(str, conf_levels[i].name)) {
            *val = conf_levels[i].level;
            return NULL;
        }
    }
    return "Log level keyword must be one of emerg/alert/crit/error/warn/"
           "notice/info/debug/trace1/.../trace8";
}
