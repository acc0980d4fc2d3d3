/* SPDX-License-Identifier: Apache-2.0 */
/* The server_rec's of a configuration, and its text from the command line and the main file. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_vhost.h"
#include "apr_strings.h"
#include "configuration.h"

APLOG_USE_MODULE(core);

/* ---- server_rec ---- */

static void conf_server_defaults(server_rec *s)
{
    BRG_ASSERT(!s->is_virtual && s->process != NULL);
    s->server_admin = apr_pstrdup(s->process->pconf, DEFAULT_ADMIN);
    s->error_fname = apr_pstrdup(s->process->pconf, DEFAULT_ERRORLOG);
    s->log.level = ap_default_loglevel;
    s->limit_req_line = DEFAULT_LIMIT_REQUEST_LINE;
    s->limit_req_fieldsize = DEFAULT_LIMIT_REQUEST_FIELDSIZE;
    s->limit_req_fields = DEFAULT_LIMIT_REQUEST_FIELDS;
    s->timeout = apr_time_from_sec(DEFAULT_TIMEOUT);
    s->keep_alive_timeout = apr_time_from_sec(DEFAULT_KEEPALIVE_TIMEOUT);
    s->keep_alive_max = DEFAULT_KEEPALIVE;
    s->keep_alive = 1;
}

static void conf_server_unset(server_rec *s)
{
    BRG_ASSERT(s->is_virtual);
    s->log.level = CONF_LEVEL_UNSET;
    s->timeout = s->keep_alive_timeout = -1;
    s->keep_alive = s->keep_alive_max = -1;
}

/* The main server matches no address: it gets requests for none of the virtual hosts. */
static apr_status_t conf_main_address(apr_pool_t *p, server_rec *s)
{
    s->addrs = apr_pcalloc(p, sizeof *s->addrs);
    s->addrs->virthost = apr_pstrdup(p, "");
    return apr_sockaddr_info_get(&s->addrs->host_addr, NULL, APR_UNSPEC, 0, 0, p);
}

static server_rec *conf_main_server(process_rec *process, apr_pool_t *p)
{
    server_rec *s = apr_pcalloc(p, sizeof *s);
    apr_status_t rv;

    s->process = process;
    conf_server_defaults(s);
    rv = conf_main_address(p, s);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, rv, NULL,
                     APLOGNO(00530) "initialisation: bug or getaddrinfo fail");
        return NULL;
    }
    s->module_config = ap_create_conn_config(p);
    s->lookup_defaults = ap_create_per_dir_config(p);
    for (module **m = ap_loaded_modules; *m; m++)
        ap_single_module_configure(p, s, *m);
    return s;
}

AP_CORE_DECLARE(const char *)
ap_init_virtual_host(apr_pool_t *p, const char *hostname, server_rec *main_server, server_rec **ps)
{
    server_rec *s = apr_pcalloc(p, sizeof *s);

    s->process = main_server->process;
    s->is_virtual = 1;
    /* As Apache: a line of the main server behind the section does not count for the virtual host.
     */
    s->limit_req_line = main_server->limit_req_line;
    s->limit_req_fieldsize = main_server->limit_req_fieldsize;
    s->limit_req_fields = main_server->limit_req_fields;
    s->names = apr_array_make(p, 4, sizeof(char *));
    s->wild_names = apr_array_make(p, 4, sizeof(char *));
    s->module_config = ap_create_conn_config(p);
    s->lookup_defaults = ap_create_per_dir_config(p);
    conf_server_unset(s);
    *ps = s;
    return ap_parse_vhost_addrs(p, hostname, s);
}

/* ---- -C and -c ---- */

static const char *conf_read_words(server_rec *s, const apr_array_header_t *lines,
                                   ap_directive_t **tree, apr_pool_t *p, apr_pool_t *ptemp)
{
    const char *text = apr_array_pstrcat(p, lines, '\n'), *error;
    cmd_parms parms;

    conf_parms_init(&parms, p, ptemp, s);
    parms.config_file = conf_open_memory(p, "-c/-C directives", text, strlen(text));
    error = ap_build_config(&parms, p, ptemp, tree);
    return error ? apr_pstrcat(p, "Syntax error in -C/-c directive: ", error, NULL) : NULL;
}

static const char *conf_read_all(server_rec *s, const char *confname, ap_directive_t **tree,
                                 apr_pool_t *p, apr_pool_t *ptemp)
{
    const char *error = conf_read_words(s, ap_server_pre_read_config, tree, p, ptemp);
    const char *path = confname;

    if (error)
        return error;
    /* ServerRoot of a -C line counts for -f. */
    path = ap_server_root_relative(p, confname);
    if (!path)
        return apr_pstrcat(p, "Invalid config file path ", confname, NULL);
    error = ap_process_resource_config(s, path, tree, p, ptemp);
    if (error)
        return error;
    return conf_read_words(s, ap_server_post_read_config, tree, p, ptemp);
}

AP_DECLARE(server_rec *)
ap_read_config(process_rec *process, apr_pool_t *temp_pool, const char *config_name,
               ap_directive_t **conftree)
{
    apr_pool_t *p = process->pconf;
    const char *error;
    server_rec *s;

    conf_registry_open();
    s = conf_main_server(process, p);
    if (!s)
        return NULL;
    *conftree = NULL;
    error = conf_read_all(s, config_name, conftree, p, temp_pool);
    if (error && conf_builtin_rereads())
        return NULL;
    if (error) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, NULL, "%s: %s", process->short_name,
                     error);
        return NULL;
    }
    conf_registry_seal();
    conf_builtin_reregister(p);
    return s;
}
