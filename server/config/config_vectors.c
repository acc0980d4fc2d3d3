/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration vectors: one pointer per module, indexed by module_index. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_strings.h"
#include "configuration.h"
#include "brigade/assert.h"

/* Macros of the same names serve compiled code; modules built with AP_DEBUG call these. */
#undef ap_get_module_config
#undef ap_set_module_config

AP_DECLARE(void *) ap_get_module_config(const ap_conf_vector_t *cv, const module *m)
{
    return ((void *const *)cv)[m->module_index];
}

AP_DECLARE(void) ap_set_module_config(ap_conf_vector_t *cv, const module *m, void *val)
{
    ((void **)cv)[m->module_index] = val;
}

static ap_conf_vector_t *conf_vector_create(apr_pool_t *p)
{
    return apr_pcalloc(p, sizeof(void *) * (apr_size_t)conf_vector_slots());
}

ap_conf_vector_t *conf_vector_copy(apr_pool_t *p, const ap_conf_vector_t *of)
{
    return apr_pmemdup(p, of, sizeof(void *) * (apr_size_t)conf_vector_slots());
}

AP_DECLARE(ap_conf_vector_t *) ap_create_request_config(apr_pool_t *p)
{
    return conf_vector_create(p);
}

AP_CORE_DECLARE(ap_conf_vector_t *) ap_create_conn_config(apr_pool_t *p)
{
    return conf_vector_create(p);
}

AP_CORE_DECLARE(ap_conf_vector_t *) ap_create_per_dir_config(apr_pool_t *p)
{
    return conf_vector_create(p);
}

/* Both sides merged by the module; a side that is missing gives way to the other. */
static void *conf_merge_dir(const module *m, apr_pool_t *p, void *base, void *over)
{
    BRG_ASSERT_DEBUG(m->module_index >= 0 && m->module_index < conf_vector_slots());
    if (!over)
        return base;
    /* Merge functions expect both sides, whatever the flags of the module are. */
    return base && m->merge_dir_config ? m->merge_dir_config(p, base, over) : over;
}

AP_CORE_DECLARE(ap_conf_vector_t *)
ap_merge_per_dir_configs(apr_pool_t *p, ap_conf_vector_t *base, ap_conf_vector_t *new_conf)
{
    void **to = apr_palloc(p, sizeof(void *) * (apr_size_t)conf_vector_slots());
    void *const *from = (void *const *)base, *const *over = (void *const *)new_conf;

    memset(to, 0, sizeof(void *) * (apr_size_t)conf_vector_slots());
    for (const module *m = ap_top_module; m; m = m->next) {
        int i = m->module_index;

        to[i] = conf_merge_dir(m, p, from[i], over[i]);
    }
    return (ap_conf_vector_t *)to;
}

/* A virtual host's missing settings come from the main server. A module with ALWAYS_MERGE gets a
 * configuration of its own for each virtual host, also where the host has none of its directives.
 */
static void conf_merge_server(apr_pool_t *p, const server_rec *main_server, server_rec *s)
{
    void *const *base = (void *const *)main_server->module_config;
    void **virt = (void **)s->module_config;

    BRG_ASSERT(base != NULL && virt != NULL);
    for (const module *m = ap_top_module; m; m = m->next) {
        int i = m->module_index;

        BRG_ASSERT(i >= 0 && i < conf_vector_slots());
        if (!virt[i] && m->merge_server_config && m->create_server_config &&
            (ap_get_module_flags(m) & AP_MODULE_FLAG_ALWAYS_MERGE))
            virt[i] = m->create_server_config(p, s);
        if (!virt[i])
            virt[i] = base[i];
        else if (m->merge_server_config && base[i])
            virt[i] = m->merge_server_config(p, base[i], virt[i]);
    }
}

static void conf_inherit(const server_rec *main_server, server_rec *s)
{
    BRG_ASSERT(s->is_virtual && !main_server->is_virtual);
    if (!s->server_admin)
        s->server_admin = main_server->server_admin;
    if (s->timeout < 0)
        s->timeout = main_server->timeout;
    if (s->keep_alive_timeout < 0)
        s->keep_alive_timeout = main_server->keep_alive_timeout;
    if (s->keep_alive < 0)
        s->keep_alive = main_server->keep_alive;
    if (s->keep_alive_max < 0)
        s->keep_alive_max = main_server->keep_alive_max;
    ap_merge_log_config(&main_server->log, &s->log);
}

AP_DECLARE(void) ap_fixup_virtual_hosts(apr_pool_t *p, server_rec *main_server)
{
    for (server_rec *s = main_server->next; s; s = s->next) {
        conf_merge_server(p, main_server, s);
        s->lookup_defaults =
            ap_merge_per_dir_configs(p, main_server->lookup_defaults, s->lookup_defaults);
        conf_inherit(main_server, s);
        ap_core_reorder_directories(p, s);
    }
    ap_core_reorder_directories(p, main_server);
}

AP_CORE_DECLARE(void *)
ap_set_config_vectors(server_rec *server, ap_conf_vector_t *section_vector, const char *section,
                      module *mod, apr_pool_t *pconf)
{
    void **dir = &((void **)section_vector)[mod->module_index];
    void **srv = &((void **)server->module_config)[mod->module_index];

    BRG_ASSERT(mod->module_index >= 0 && mod->module_index < conf_vector_slots());
    if (!*dir && mod->create_dir_config)
        *dir = mod->create_dir_config(pconf, apr_pstrdup(pconf, section));
    if (!*srv && mod->create_server_config)
        *srv = mod->create_server_config(pconf, server);
    return *dir;
}

AP_DECLARE(void) ap_single_module_configure(apr_pool_t *p, server_rec *s, module *m)
{
    BRG_ASSERT(m->module_index >= 0 && m->module_index < conf_vector_slots());
    if (m->create_server_config)
        ((void **)s->module_config)[m->module_index] = m->create_server_config(p, s);
    if (m->create_dir_config)
        ((void **)s->lookup_defaults)[m->module_index] = m->create_dir_config(p, NULL);
}
