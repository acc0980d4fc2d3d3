/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of client addresses, as HostnameLookups allows.
 *
 * A connection has its peer; a request has the client that it is from, which is another one where
 * mod_remoteip says so. For both the result is kept. Host: NULL = not looked up yet, "" = there is no
 * name. Double reverse: 0 = not looked up, 1 = the name leads back to the address, -1 = it does not.
 */
#include "httpd.h"
#include "http_core.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

typedef struct remote_peer {
    apr_pool_t *pool;
    apr_sockaddr_t *addr;
    const char *ip;
    char *host;
    int double_reverse;
} remote_peer;

/* Whether the name leads back to the address. Whoever owns an address can give it any name. */
static void remote_confirm(remote_peer *peer)
{
    apr_sockaddr_t *sa = NULL;

    BRG_ASSERT(peer->host && *peer->host);
    peer->double_reverse = -1;
    if (apr_sockaddr_info_get(&sa, peer->host, APR_UNSPEC, 0, 0, peer->pool) != APR_SUCCESS)
        return;
    for (; sa; sa = sa->next) {
        if (apr_sockaddr_equal(sa, peer->addr)) {
            peer->double_reverse = 1;
            return;
        }
    }
}

static void remote_look_up(remote_peer *peer, int type, int configured)
{
    int must_confirm = type == REMOTE_DOUBLE_REV || configured == HOSTNAME_LOOKUP_DOUBLE;

    BRG_ASSERT(peer->pool != NULL);
    if (type == REMOTE_NOLOOKUP)
        return;
    if (!peer->host && (type == REMOTE_DOUBLE_REV || configured == HOSTNAME_LOOKUP_ON ||
                        configured == HOSTNAME_LOOKUP_DOUBLE)) {
        if (apr_getnameinfo(&peer->host, peer->addr, 0) == APR_SUCCESS && peer->host)
            ap_str_tolower(peer->host);
        else
            peer->host = apr_pstrdup(peer->pool, "");
    }
    if (must_confirm && peer->host && *peer->host && !peer->double_reverse)
        remote_confirm(peer);
    if (must_confirm && peer->double_reverse < 0)
        peer->host = apr_pstrdup(peer->pool, "");
}

static const char *remote_answer(const remote_peer *peer, int type, int *str_is_ip)
{
    if (type == REMOTE_DOUBLE_REV && peer->double_reverse != 1)
        return NULL;
    if (peer->host && *peer->host)
        return peer->host;
    if (type == REMOTE_HOST || type == REMOTE_DOUBLE_REV)
        return NULL;
    if (str_is_ip)
        *str_is_ip = 1;
    return peer->ip;
}

static int remote_configured(const ap_conf_vector_t *dir_config)
{
    const core_dir_config *conf = dir_config ? ap_get_core_module_config(dir_config) : NULL;

    return conf ? (int)conf->hostname_lookups : HOSTNAME_LOOKUP_UNSET;
}

AP_DECLARE(const char *)
ap_get_remote_host(conn_rec *conn, void *dir_config, int type, int *str_is_ip)
{
    remote_peer peer = {conn->pool, conn->client_addr, conn->client_ip, conn->remote_host,
                        conn->double_reverse};

    if (str_is_ip)
        *str_is_ip = 0;
    remote_look_up(&peer, type, remote_configured(dir_config));
    conn->remote_host = peer.host;
    conn->double_reverse = peer.double_reverse;
    return remote_answer(&peer, type, str_is_ip);
}

AP_DECLARE(const char *) ap_get_useragent_host(request_rec *r, int type, int *str_is_ip)
{
    conn_rec *c = r->connection;
    remote_peer peer = {r->pool, r->useragent_addr, r->useragent_ip, r->useragent_host,
                        r->double_reverse};

    if (!r->useragent_addr || r->useragent_addr == c->client_addr)
        return ap_get_remote_host(c, r->per_dir_config, type, str_is_ip);
    if (str_is_ip)
        *str_is_ip = 0;
    remote_look_up(&peer, type, remote_configured(r->per_dir_config));
    r->useragent_host = peer.host;
    r->double_reverse = peer.double_reverse;
    return remote_answer(&peer, type, str_is_ip);
}

/* Offered by mod_ident. Looked up when asked: requests that want it are rare. */
AP_DECLARE(const char *) ap_get_remote_logname(request_rec *r)
{
    static _Thread_local APR_OPTIONAL_FN_TYPE(ap_ident_lookup) * lookup;
    /* once the configuration was read nobody registers it any more */
    static _Thread_local int asked;

    if (r->connection->remote_logname)
        return r->connection->remote_logname;
    if (!asked) {
        lookup = APR_RETRIEVE_OPTIONAL_FN(ap_ident_lookup);
        asked = 1;
    }
    return lookup ? lookup(r) : NULL;
}
