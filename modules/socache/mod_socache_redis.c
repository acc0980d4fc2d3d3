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

/* A command of a verb, a key, and, with a value, its seconds and bytes. @param line  [out] the first of the reply */
static apr_status_t rd_ask(socache_conn *c, const char *verb, const char *key,
                           const socache_object *value, char *line)
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
    socache_object *value = baton;
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

static const socache_protocol rd_protocol = {
    .name = "redis",
    .log_name = "redis",
    .status_name = "Redis",
    .bad_name = APLOGNO(03474),
    .not_set = APLOGNO(03478) "scache_rd",
    .not_got = APLOGNO(03479) "scache_rd",
    .port = RD_PORT,
    .timeout = RD_TIMEOUT,
    .module = &socache_redis_module,
    .get = rd_get,
    .set = rd_set,
    .remove = rd_delete,
};

static const char *rd_create(ap_socache_instance_t **instance, const char *arg, apr_pool_t *tmp,
                             apr_pool_t *p)
{
    (void)tmp;
    return socache_provider_make(instance, arg, &rd_protocol, p);
}

/* cmd->info: where in the configuration. */
static const char *rd_span_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    char *conf = ap_get_module_config(cmd->server->module_config, &socache_redis_module);

    (void)dir;
    return socache_span(cmd, arg, (void *)(conf + (apr_size_t)(uintptr_t)cmd->info));
}

static const command_rec rd_commands[] = {
    AP_INIT_TAKE1("RedisConnPoolTTL", rd_span_cmd, (void *)APR_OFFSETOF(socache_times, idle),
                  RSRC_CONF, "TTL used for the connection pool with the Redis server(s)"),
    AP_INIT_TAKE1("RedisTimeout", rd_span_cmd, (void *)APR_OFFSETOF(socache_times, timeout),
                  RSRC_CONF, "R/W timeout used for the connection with the Redis server(s)"),
    {.name = NULL}};

static void rd_hooks(apr_pool_t *p)
{
    socache_provider_register(p, &rd_protocol, rd_create);
    brg_cache_declare(&socache_redis_module, NULL);
}

module AP_MODULE_DECLARE_DATA socache_redis_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, socache_times_create, NULL, rd_commands, rd_hooks, 0};
