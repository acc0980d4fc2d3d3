/* SPDX-License-Identifier: Apache-2.0 */
/* The provider "memcache": small objects in memcached, by its text protocol (protocol.txt of memcached). */
#include "socache_client.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include <string.h>
#include <sys/uio.h>

extern module AP_MODULE_DECLARE_DATA socache_memcache_module;
APLOG_USE_MODULE(socache_memcache);

#define MC_PORT 11211
#define MC_TIMEOUT apr_time_from_sec(2)

static apr_status_t mc_ask(socache_conn *c, const char *verb, const char *key, char *line)
{
    const struct iovec pieces[] = {{(void *)(uintptr_t)verb, strlen(verb)},
                                   {(void *)(uintptr_t)key, strlen(key)},
                                   {(void *)(uintptr_t) "\r\n", 2}};
    const apr_status_t rv = socache_send(c, pieces, 3);

    return rv == APR_SUCCESS ? socache_line(c, line) : rv;
}

static apr_status_t mc_get(socache_conn *c, const char *key, void *baton)
{
    socache_object *value = baton;
    char line[SOCACHE_LINE_MOST];
    apr_status_t rv = mc_ask(c, "get ", key, line), found;
    apr_int64_t n;

    if (rv != APR_SUCCESS)
        return rv;
    if (!strcmp(line, "END"))
        return APR_NOTFOUND;
    n = socache_memcache_value(line, key);
    if (n < 0)
        return APR_EGENERAL;
    found = socache_value(c, value->data, value->most, (apr_size_t)n);
    value->n = (apr_size_t)n;
    if (found != APR_SUCCESS && found != APR_ENOSPC)
        return found;
    rv = socache_line(c, line);
    return rv != APR_SUCCESS ? rv : strcmp(line, "END") != 0 ? APR_EGENERAL : found;
}

static apr_status_t mc_set(socache_conn *c, const char *key, void *baton)
{
    const socache_object *value = baton;
    char head[SOCACHE_KEY_MOST + 64], line[SOCACHE_LINE_MOST];
    const int len = apr_snprintf(head, sizeof head, "set %s 0 %u %" APR_SIZE_T_FMT "\r\n", key,
                                 value->seconds, value->n);
    const struct iovec pieces[] = {
        {head, (size_t)len}, {value->data, value->n}, {(void *)(uintptr_t) "\r\n", 2}};
    apr_status_t rv = socache_send(c, pieces, 3);

    if (rv == APR_SUCCESS)
        rv = socache_line(c, line);
    if (rv != APR_SUCCESS)
        return rv;
    /* "SERVER_ERROR object too large for cache": it has read the object */
    return !strcmp(line, "STORED")                                             ? APR_SUCCESS
           : !strncmp(line, "SERVER_ERROR", 12) || !strcmp(line, "NOT_STORED") ? APR_ENOSPC
                                                                               : APR_EGENERAL;
}

static apr_status_t mc_delete(socache_conn *c, const char *key, void *baton)
{
    char line[SOCACHE_LINE_MOST];
    const apr_status_t rv = mc_ask(c, "delete ", key, line);

    (void)baton;
    if (rv != APR_SUCCESS)
        return rv;
    return !strcmp(line, "DELETED")     ? APR_SUCCESS
           : !strcmp(line, "NOT_FOUND") ? APR_NOTFOUND
                                        : APR_EGENERAL;
}

static const socache_protocol mc_protocol = {
    .name = "memcache",
    .log_name = "memcache",
    .status_name = "Memcached",
    .bad_name = APLOGNO(00786),
    .not_set = APLOGNO(00790) "scache_mc",
    .not_got = APLOGNO(00791) "scache_mc",
    .port = MC_PORT,
    .timeout = MC_TIMEOUT,
    .module = &socache_memcache_module,
    .get = mc_get,
    .set = mc_set,
    .remove = mc_delete,
};

static const char *mc_create(ap_socache_instance_t **instance, const char *arg, apr_pool_t *tmp,
                             apr_pool_t *p)
{
    (void)tmp;
    return socache_provider_make(instance, arg, &mc_protocol, p);
}

static const char *mc_idle_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    socache_times *conf =
        ap_get_module_config(cmd->server->module_config, &socache_memcache_module);

    (void)dir;
    return socache_span(cmd, arg, &conf->idle);
}

static const command_rec mc_commands[] = {
    AP_INIT_TAKE1("MemcacheConnTTL", mc_idle_cmd, NULL, RSRC_CONF,
                  "TTL used for the connection with the memcache server(s)"),
    {.name = NULL}};

static void mc_hooks(apr_pool_t *p)
{
    socache_provider_register(p, &mc_protocol, mc_create);
    brg_cache_declare(&socache_memcache_module, NULL);
}

module AP_MODULE_DECLARE_DATA socache_memcache_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, socache_times_create, NULL, mc_commands, mc_hooks, 0};
