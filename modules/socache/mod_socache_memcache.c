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
#define MC_IDLE apr_time_from_sec(15)

struct ap_socache_instance_t {
    socache_client *client;
};

typedef struct mc_conf {
    apr_interval_time_t idle;
} mc_conf;

typedef struct mc_value {
    unsigned char *data;
    apr_size_t most, n;
    unsigned seconds;
} mc_value;

static const char *mc_create(ap_socache_instance_t **instance, const char *arg, apr_pool_t *tmp,
                             apr_pool_t *p)
{
    socache_client *client = socache_client_make(p, arg, MC_PORT);

    (void)tmp;
    if (!client)
        return "List of server names required to create memcache socache.";
    *instance = apr_pcalloc(p, sizeof **instance);
    (*instance)->client = client;
    return NULL;
}

static apr_status_t mc_init(ap_socache_instance_t *instance, const char *cname,
                            const struct ap_socache_hints *hints, server_rec *s, apr_pool_t *pool)
{
    const mc_conf *conf = ap_get_module_config(s->module_config, &socache_memcache_module);
    const char *bad = NULL;
    apr_status_t rv;

    (void)hints;
    instance->client->timeout = MC_TIMEOUT;
    instance->client->idle = conf->idle;
    rv = socache_client_init(instance->client, pool, cname, &bad);
    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s,
                     APLOGNO(00786) "Failed to Parse memcache Server: '%s'", bad);
    return rv;
}

static void mc_destroy(ap_socache_instance_t *instance, server_rec *s)
{
    (void)instance;
    (void)s;
}

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
    mc_value *value = baton;
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
    const mc_value *value = baton;
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

static apr_status_t mc_store(ap_socache_instance_t *instance, server_rec *s,
                             const unsigned char *id, unsigned int idlen, apr_time_t expiry,
                             unsigned char *data, unsigned int datalen, apr_pool_t *pool)
{
    mc_value value = {.data = data, .n = datalen, .seconds = socache_seconds(expiry)};
    const apr_status_t rv =
        value.seconds ? socache_client_do(instance->client, id, idlen, mc_set, &value) : APR_EINVAL;

    (void)pool;
    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, rv, s,
                     APLOGNO(00790) "scache_mc: error setting an object with %u bytes of data",
                     datalen);
    return rv;
}

static apr_status_t mc_retrieve(ap_socache_instance_t *instance, server_rec *s,
                                const unsigned char *id, unsigned int idlen, unsigned char *data,
                                unsigned int *datalen, apr_pool_t *pool)
{
    mc_value value = {.data = data, .most = *datalen};
    const apr_status_t rv = socache_client_do(instance->client, id, idlen, mc_get, &value);

    (void)pool;
    if (rv == APR_SUCCESS)
        *datalen = (unsigned int)value.n;
    else if (rv != APR_NOTFOUND)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, rv, s, APLOGNO(00791) "scache_mc: 'retrieve' FAIL");
    return rv;
}

static apr_status_t mc_remove(ap_socache_instance_t *instance, server_rec *s,
                              const unsigned char *id, unsigned int idlen, apr_pool_t *pool)
{
    (void)s;
    (void)pool;
    return socache_client_do(instance->client, id, idlen, mc_delete, NULL);
}

static void mc_status(ap_socache_instance_t *instance, request_rec *r, int flags)
{
    socache_client_status(instance->client, r, "Memcached", flags);
}

static apr_status_t mc_iterate(ap_socache_instance_t *instance, server_rec *s, void *userctx,
                               ap_socache_iterator_t *iterator, apr_pool_t *pool)
{
    (void)instance;
    (void)s;
    (void)userctx;
    (void)iterator;
    (void)pool;
    return APR_ENOTIMPL;
}

static const ap_socache_provider_t mc_provider = {"memcache", 0,         mc_create,   mc_init,
                                                  mc_destroy, mc_store,  mc_retrieve, mc_remove,
                                                  mc_status,  mc_iterate};

static void *mc_server_create(apr_pool_t *p, server_rec *s)
{
    mc_conf *conf = apr_palloc(p, sizeof *conf);

    (void)s;
    conf->idle = MC_IDLE;
    return conf;
}

static const char *mc_idle_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    mc_conf *conf = ap_get_module_config(cmd->server->module_config, &socache_memcache_module);

    (void)dir;
    return socache_span(cmd, arg, &conf->idle);
}

static const command_rec mc_commands[] = {
    AP_INIT_TAKE1("MemcacheConnTTL", mc_idle_cmd, NULL, RSRC_CONF,
                  "TTL used for the connection with the memcache server(s)"),
    {.name = NULL}};

static void mc_hooks(apr_pool_t *p)
{
    ap_register_provider(p, AP_SOCACHE_PROVIDER_GROUP, "memcache", AP_SOCACHE_PROVIDER_VERSION,
                         &mc_provider);
    brg_cache_declare(&socache_memcache_module, NULL);
}

module AP_MODULE_DECLARE_DATA socache_memcache_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, mc_server_create, NULL, mc_commands, mc_hooks, 0};
