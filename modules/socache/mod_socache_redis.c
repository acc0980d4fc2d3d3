/* SPDX-License-Identifier: Apache-2.0 */
/* The provider "redis": small objects in Redis, by RESP2. */
#include "socache_client.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include <string.h>
#include <sys/uio.h>

extern module AP_MODULE_DECLARE_DATA socache_redis_module;
APLOG_USE_MODULE(socache_redis);

#define RD_PORT 6379
#define RD_TIMEOUT apr_time_from_sec(5)
#define RD_IDLE apr_time_from_sec(15)

struct ap_socache_instance_t {
    socache_client *client;
};

typedef struct rd_conf {
    apr_interval_time_t idle, timeout;
} rd_conf;

typedef struct rd_value {
    unsigned char *data;
    apr_size_t most, n;
    unsigned seconds;
} rd_value;

static const char *rd_create(ap_socache_instance_t **instance, const char *arg, apr_pool_t *tmp,
                             apr_pool_t *p)
{
    socache_client *client = socache_client_make(p, arg, RD_PORT);

    (void)tmp;
    if (!client)
        return "List of server names required to create redis socache.";
    *instance = apr_pcalloc(p, sizeof **instance);
    (*instance)->client = client;
    return NULL;
}

static apr_status_t rd_init(ap_socache_instance_t *instance, const char *cname,
                            const struct ap_socache_hints *hints, server_rec *s, apr_pool_t *pool)
{
    const rd_conf *conf = ap_get_module_config(s->module_config, &socache_redis_module);
    const char *bad = NULL;
    apr_status_t rv;

    (void)hints;
    instance->client->timeout = conf->timeout ? conf->timeout : RD_TIMEOUT;
    instance->client->idle = conf->idle;
    rv = socache_client_init(instance->client, pool, cname, &bad);
    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s,
                     APLOGNO(03474) "Failed to Parse redis Server: '%s'", bad);
    return rv;
}

static void rd_destroy(ap_socache_instance_t *instance, server_rec *s)
{
    (void)instance;
    (void)s;
}

/* A command of a verb, a key, and, with a value, its seconds and bytes. @param line  [out] the first of the reply */
static apr_status_t rd_ask(socache_conn *c, const char *verb, const char *key,
                           const rd_value *value, char *line)
{
    char head[SOCACHE_KEY_MOST + 128], seconds[16];
    int len = apr_snprintf(head, sizeof head, "*%d\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", value ? 4 : 2,
                           (int)strlen(verb), verb, (int)strlen(key), key);
    struct iovec pieces[3] = {{head, 0}};
    apr_status_t rv;

    if (value) {
        apr_snprintf(seconds, sizeof seconds, "%u", value->seconds);
        len += apr_snprintf(head + len, sizeof head - (size_t)len,
                            "$%d\r\n%s\r\n$%" APR_SIZE_T_FMT "\r\n", (int)strlen(seconds), seconds,
                            value->n);
        pieces[1] = (struct iovec){value->data, value->n};
        pieces[2] = (struct iovec){(void *)(uintptr_t) "\r\n", 2};
    }
    pieces[0].iov_len = (size_t)len;
    rv = socache_send(c, pieces, value ? 3 : 1);
    return rv == APR_SUCCESS ? socache_line(c, line) : rv;
}

static apr_status_t rd_get(socache_conn *c, const char *key, void *baton)
{
    rd_value *value = baton;
    char line[SOCACHE_LINE_MOST];
    const apr_status_t rv = rd_ask(c, "GET", key, NULL, line);
    const apr_int64_t n = rv == APR_SUCCESS ? socache_redis_value(line) : 0;

    if (rv != APR_SUCCESS)
        return rv;
    if (n < 0)
        return n == -1 ? APR_NOTFOUND : APR_EGENERAL;
    value->n = (apr_size_t)n;
    return socache_value(c, value->data, value->most, (apr_size_t)n);
}

static apr_status_t rd_set(socache_conn *c, const char *key, void *baton)
{
    char line[SOCACHE_LINE_MOST];
    const apr_status_t rv = rd_ask(c, "SETEX", key, baton, line);

    if (rv != APR_SUCCESS)
        return rv;
    /* "-OOM command not allowed when used memory > 'maxmemory'." */
    return !strcmp(line, "+OK")         ? APR_SUCCESS
           : !strncmp(line, "-OOM ", 5) ? APR_ENOSPC
                                        : APR_EGENERAL;
}

static apr_status_t rd_delete(socache_conn *c, const char *key, void *baton)
{
    char line[SOCACHE_LINE_MOST];
    const apr_status_t rv = rd_ask(c, "DEL", key, NULL, line);

    (void)baton;
    if (rv != APR_SUCCESS)
        return rv;
    return *line != ':' ? APR_EGENERAL : line[1] == '0' ? APR_NOTFOUND : APR_SUCCESS;
}

static apr_status_t rd_store(ap_socache_instance_t *instance, server_rec *s,
                             const unsigned char *id, unsigned int idlen, apr_time_t expiry,
                             unsigned char *data, unsigned int datalen, apr_pool_t *pool)
{
    rd_value value = {.data = data, .n = datalen, .seconds = socache_seconds(expiry)};
    const apr_status_t rv =
        value.seconds ? socache_client_do(instance->client, id, idlen, rd_set, &value) : APR_EINVAL;

    (void)pool;
    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, rv, s,
                     APLOGNO(03478) "scache_rd: error setting an object with %u bytes of data",
                     datalen);
    return rv;
}

static apr_status_t rd_retrieve(ap_socache_instance_t *instance, server_rec *s,
                                const unsigned char *id, unsigned int idlen, unsigned char *data,
                                unsigned int *datalen, apr_pool_t *pool)
{
    rd_value value = {.data = data, .most = *datalen};
    const apr_status_t rv = socache_client_do(instance->client, id, idlen, rd_get, &value);

    (void)pool;
    if (rv == APR_SUCCESS)
        *datalen = (unsigned int)value.n;
    else if (rv != APR_NOTFOUND)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, rv, s, APLOGNO(03479) "scache_rd: 'retrieve' FAIL");
    return rv;
}

static apr_status_t rd_remove(ap_socache_instance_t *instance, server_rec *s,
                              const unsigned char *id, unsigned int idlen, apr_pool_t *pool)
{
    (void)s;
    (void)pool;
    return socache_client_do(instance->client, id, idlen, rd_delete, NULL);
}

static void rd_status(ap_socache_instance_t *instance, request_rec *r, int flags)
{
    socache_client_status(instance->client, r, "Redis", flags);
}

static apr_status_t rd_iterate(ap_socache_instance_t *instance, server_rec *s, void *userctx,
                               ap_socache_iterator_t *iterator, apr_pool_t *pool)
{
    (void)instance;
    (void)s;
    (void)userctx;
    (void)iterator;
    (void)pool;
    return APR_ENOTIMPL;
}

static const ap_socache_provider_t rd_provider = {"redis",    0,         rd_create,   rd_init,
                                                  rd_destroy, rd_store,  rd_retrieve, rd_remove,
                                                  rd_status,  rd_iterate};

static void *rd_server_create(apr_pool_t *p, server_rec *s)
{
    rd_conf *conf = apr_palloc(p, sizeof *conf);

    (void)s;
    conf->idle = RD_IDLE;
    conf->timeout = RD_TIMEOUT;
    return conf;
}

/* cmd->info: where in the configuration. */
static const char *rd_span_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    char *conf = ap_get_module_config(cmd->server->module_config, &socache_redis_module);

    (void)dir;
    return socache_span(cmd, arg, (void *)(conf + (apr_size_t)(uintptr_t)cmd->info));
}

static const command_rec rd_commands[] = {
    AP_INIT_TAKE1("RedisConnPoolTTL", rd_span_cmd, (void *)APR_OFFSETOF(rd_conf, idle), RSRC_CONF,
                  "TTL used for the connection pool with the Redis server(s)"),
    AP_INIT_TAKE1("RedisTimeout", rd_span_cmd, (void *)APR_OFFSETOF(rd_conf, timeout), RSRC_CONF,
                  "R/W timeout used for the connection with the Redis server(s)"),
    {.name = NULL}};

static void rd_hooks(apr_pool_t *p)
{
    ap_register_provider(p, AP_SOCACHE_PROVIDER_GROUP, "redis", AP_SOCACHE_PROVIDER_VERSION,
                         &rd_provider);
    brg_cache_declare(&socache_redis_module, NULL);
}

module AP_MODULE_DECLARE_DATA socache_redis_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, rd_server_create, NULL, rd_commands, rd_hooks, 0};
