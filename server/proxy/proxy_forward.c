/* SPDX-License-Identifier: Apache-2.0 */
/* ProxyBlock, NoProxy, ProxyRemote: where the proxy may connect to, and by which way. */
#include "proxy_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

#define REMOTES_MOST 8

/* ---- ProxyBlock ---- */

int proxy_check_name(request_rec *r, const char *host)
{
    const apr_array_header_t *blocks = proxy_conf_of(r->server)->blocks;

    for (int i = 0; i < blocks->nelts; i++) {
        const proxy_block *b = &APR_ARRAY_IDX(blocks, i, proxy_block);

        if (*b->name != '*' && !ap_strcasestr(host, b->name))
            continue;
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      APLOGNO(00916) "connect to remote machine %s blocked: name %s matched", host,
                      b->name);
        return proxy_error(r, HTTP_FORBIDDEN, "Connect to remote machine blocked");
    }
    return OK;
}

/* IPv4 in IPv6 is the same address. */
int proxy_blocks_address(const server_rec *s, const struct sockaddr *address)
{
    const apr_array_header_t *blocks = proxy_conf_of(s)->blocks;
    const int v6 = address->sa_family == AF_INET6;
    apr_sockaddr_t asked = {.family = address->sa_family};

    if (!v6 && address->sa_family != AF_INET)
        return 0;
    memcpy(&asked.sa, address, v6 ? sizeof asked.sa.sin6 : sizeof asked.sa.sin);
    asked.ipaddr_len = v6 ? sizeof asked.sa.sin6.sin6_addr : sizeof asked.sa.sin.sin_addr;
    asked.ipaddr_ptr = v6 ? (void *)&asked.sa.sin6.sin6_addr : (void *)&asked.sa.sin.sin_addr;
    for (int i = 0; i < blocks->nelts; i++)
        for (const apr_sockaddr_t *a = APR_ARRAY_IDX(blocks, i, proxy_block).addresses; a;
             a = a->next) {
            if (!apr_sockaddr_equal(a, &asked))
                continue;
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         APLOGNO(00917) "connect to remote machine blocked: IP %pI matched", a);
            return 1;
        }
    return 0;
}

/* ---- NoProxy ---- */

static int direct_matches(const proxy_direct *d, const char *host, apr_pool_t *p)
{
    const size_t len = strlen(host), n = strlen(d->name);
    apr_sockaddr_t *address;

    if (d->net) /* only a host that is an address: a name is not looked up for this */
        return !host[strspn(host, "0123456789abcdefABCDEF.:")] &&
               apr_sockaddr_info_get(&address, host, APR_UNSPEC, 0, 0, p) == APR_SUCCESS &&
               apr_ipsubnet_test(d->net, address);
    if (*d->name == '.')
        return len > n && !strcasecmp(host + len - n, d->name);
    return !strcasecmp(host, d->name);
}

/* ---- ProxyRemote ---- */

static int remote_matches(const proxy_remote_rule *rule, const proxy_target *t)
{
    BRG_ASSERT(rule->regex || rule->scheme);
    if (rule->regex)
        return !ap_regexec(rule->regex, t->url, 0, NULL, 0);
    if (!strcmp(rule->scheme, "*") || !strcasecmp(rule->scheme, t->scheme_name))
        return 1;
    return strchr(rule->scheme, ':') && !strncasecmp(rule->scheme, t->url, strlen(rule->scheme));
}

void proxy_find_remotes(request_rec *r, proxy_target *t)
{
    const proxy_server_conf *conf = proxy_conf_of(r->server);
    proxy_remote *to;

    BRG_ASSERT(!t->socket && t->remotes_n == 0);
    if (!conf->remotes->nelts)
        return;
    /* The host that a client named, as with Apache: ProxyPass is not asked about. */
    for (int i = 0; t->forward && t->host && i < conf->directs->nelts; i++)
        if (direct_matches(&APR_ARRAY_IDX(conf->directs, i, proxy_direct), t->host, r->pool))
            return;
    t->remotes = to = apr_palloc(r->pool, REMOTES_MOST * sizeof *to);
    for (int i = 0; i < conf->remotes->nelts && t->remotes_n < REMOTES_MOST; i++) {
        const proxy_remote_rule *rule = &APR_ARRAY_IDX(conf->remotes, i, proxy_remote_rule);

        if (remote_matches(rule, t))
            to[t->remotes_n++] = rule->to;
    }
}
