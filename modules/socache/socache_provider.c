/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of both providers for mod_cache and others: operations of a client, in its
 * protocol. */
#include "socache_client.h"
#include "ap_provider.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#define SOCACHE_IDLE apr_time_from_sec(15)

struct ap_socache_instance_t {
    socache_client *client;
    const socache_protocol *protocol;
};

const char *socache_provider_make(ap_socache_instance_t **instance, const char *names,
                                  const socache_protocol *protocol, apr_pool_t *p)
{
    socache_client *client = socache_client_make(p, names, protocol->port);

    if (!client)
        return apr_psprintf(p, "List of server names required to create %s socache.",
                            protocol->name);
    *instance = apr_pcalloc(p, sizeof **instance);
    (*instance)->client = client;
    (*instance)->protocol = protocol;
    return NULL;
}

static apr_status_t provider_init(ap_socache_instance_t *instance, const char *cname,
                                  const struct ap_socache_hints *hints, server_rec *s,
                                  apr_pool_t *p)
{
    const socache_protocol *protocol = instance->protocol;
    const socache_times *times = ap_get_module_config(s->module_config, protocol->module);
    const char *bad = NULL;
    apr_status_t rv;

    BRG_ASSERT(protocol->timeout > 0);
    instance->client->timeout = times->timeout ? times->timeout : protocol->timeout;
    instance->client->idle = times->idle;
    rv = socache_client_init(instance->client, p, cname, &bad);
    if (rv != APR_SUCCESS)
        ap_log_error(__FILE__, __LINE__, protocol->module->module_index, APLOG_CRIT, rv, s,
                     "%sFailed to Parse %s Server: '%s'", protocol->bad_name, protocol->log_name,
                     bad);
    return rv;
}

void *socache_times_create(apr_pool_t *p, server_rec *s)
{
    socache_times *times = apr_palloc(p, sizeof *times);

    *times = (socache_times){.idle = SOCACHE_IDLE};
    return times;
}

static void provider_destroy(ap_socache_instance_t *instance, server_rec *s)
{
    (void)instance;
    (void)s;
}

static apr_status_t provider_store(ap_socache_instance_t *instance, server_rec *s,
                                   const unsigned char *id, unsigned int idlen, apr_time_t expiry,
                                   unsigned char *data, unsigned int datalen, apr_pool_t *pool)
{
    const socache_protocol *protocol = instance->protocol;
    socache_object object = {.data = data, .n = datalen, .seconds = socache_seconds(expiry)};
    const apr_status_t rv =
        object.seconds ? socache_client_do(instance->client, id, idlen, protocol->set, &object)
                       : APR_EINVAL;

    (void)pool;
    if (rv != APR_SUCCESS)
        ap_log_error(__FILE__, __LINE__, protocol->module->module_index, APLOG_DEBUG, rv, s,
                     "%s: error setting an object with %u bytes of data", protocol->not_set,
                     datalen);
    return rv;
}

static apr_status_t provider_retrieve(ap_socache_instance_t *instance, server_rec *s,
                                      const unsigned char *id, unsigned int idlen,
                                      unsigned char *data, unsigned int *datalen, apr_pool_t *pool)
{
    const socache_protocol *protocol = instance->protocol;
    socache_object object = {.data = data, .most = *datalen};
    const apr_status_t rv = socache_client_do(instance->client, id, idlen, protocol->get, &object);

    (void)pool;
    if (rv == APR_SUCCESS)
        *datalen = (unsigned int)object.n;
    else if (rv != APR_NOTFOUND)
        ap_log_error(__FILE__, __LINE__, protocol->module->module_index, APLOG_DEBUG, rv, s,
                     "%s: 'retrieve' FAIL", protocol->not_got);
    return rv;
}

static apr_status_t provider_remove(ap_socache_instance_t *instance, server_rec *s,
                                    const unsigned char *id, unsigned int idlen, apr_pool_t *pool)
{
    (void)s;
    (void)pool;
    return socache_client_do(instance->client, id, idlen, instance->protocol->remove, NULL);
}

static void provider_status(ap_socache_instance_t *instance, request_rec *r, int flags)
{
    socache_client_status(instance->client, r, instance->protocol->status_name, flags);
}

static apr_status_t provider_iterate(ap_socache_instance_t *instance, server_rec *s, void *userctx,
                                     ap_socache_iterator_t *iterator, apr_pool_t *pool)
{
    (void)instance;
    (void)s;
    (void)userctx;
    (void)iterator;
    (void)pool;
    return APR_ENOTIMPL;
}

void socache_provider_register(apr_pool_t *p, const socache_protocol *protocol,
                               const char *(*create)(ap_socache_instance_t **instance,
                                                     const char *arg, apr_pool_t *tmp,
                                                     apr_pool_t *p))
{
    ap_socache_provider_t *provider = apr_palloc(p, sizeof *provider);

    *provider = (ap_socache_provider_t){.name = protocol->name,
                                        .create = create,
                                        .init = provider_init,
                                        .destroy = provider_destroy,
                                        .store = provider_store,
                                        .retrieve = provider_retrieve,
                                        .remove = provider_remove,
                                        .status = provider_status,
                                        .iterate = provider_iterate};
    ap_register_provider(p, AP_SOCACHE_PROVIDER_GROUP, protocol->name, AP_SOCACHE_PROVIDER_VERSION,
                         provider);
}
