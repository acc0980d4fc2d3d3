/* SPDX-License-Identifier: Apache-2.0 */
/* -t -D DUMP_PROXY: what goes where. */
#include "proxy_private.h"
#include "apr_strings.h"
#include <stdio.h>
#include <string.h>

static void dump_worker(const proxy_worker *w, const char *indent)
{
    printf("%s%s%s%s%s", indent, w->socket ? "unix:" : "", w->socket ? w->socket : "",
           w->socket ? "|" : "", w->name);
    if (w->params.set & PROXY_PARAM_MAX)
        printf(" max=%d", w->params.max);
    if (w->params.set & PROXY_PARAM_TTL)
        printf(" ttl=%d", (int)apr_time_sec(w->params.ttl));
    printf(" timeout=%d retry=%d%s", (int)apr_time_sec(proxy_timeout(w, w->server)),
           (int)apr_time_sec(w->params.retry), w->params.no_reuse ? " no reuse" : "");
    if (w->balancer)
        printf(" loadfactor=%.2f lbset=%d", w->params.loadfactor / 100.0, w->params.lbset);
    if (*w->params.route)
        printf(" route=%s", w->params.route);
    printf("\n");
}

static void dump_balancer(const proxy_balancer *b)
{
    printf("    %s lbmethod=%s%s%s\n", b->name, proxy_method_name((int)b->method),
           *b->sticky ? " stickysession=" : "", b->sticky);
    for (int i = 0; i < b->members->nelts; i++)
        dump_worker(APR_ARRAY_IDX(b->members, i, proxy_worker *), "        ");
}

static void dump_alias(const proxy_alias *a)
{
    printf("    %s%s -> %s (%s:%d)\n", a->regex ? "~ " : "", a->fake,
           !strcmp(a->real, "!") ? "not forwarded" : a->real, a->file, a->line);
}

static int dump_is_plain(const proxy_server_conf *c)
{
    return !c->aliases->nelts && !c->workers->nelts && !c->balancers->nelts && !c->remotes->nelts &&
           c->requests != 1;
}

static void dump_server(const server_rec *s)
{
    const proxy_server_conf *c = proxy_conf_of(s);

    if (dump_is_plain(c))
        return;
    if (s->is_virtual)
        printf("  %s:%u (%s:%u)\n", s->server_hostname ? s->server_hostname : "*",
               (unsigned)(s->addrs ? s->addrs->host_port : s->port),
               s->defn_name ? s->defn_name : "", s->defn_line_number);
    else
        printf("  main server\n");
    if (c->requests == 1)
        printf("    forward proxy (ProxyRequests On)\n");
    for (int i = 0; i < c->aliases->nelts; i++)
        dump_alias(&APR_ARRAY_IDX(c->aliases, i, proxy_alias));
    for (int i = 0; i < c->workers->nelts; i++)
        dump_worker(APR_ARRAY_IDX(c->workers, i, proxy_worker *), "    ");
    for (int i = 0; i < c->balancers->nelts; i++)
        dump_balancer(APR_ARRAY_IDX(c->balancers, i, proxy_balancer *));
    for (int i = 0; i < c->remotes->nelts; i++) {
        const proxy_remote_rule *rule = &APR_ARRAY_IDX(c->remotes, i, proxy_remote_rule);

        printf("    %s by way of %s://%s:%u\n", rule->scheme, rule->to.scheme, rule->to.host,
               (unsigned)rule->to.port);
    }
}

void proxy_dump(apr_pool_t *p, server_rec *main)
{
    (void)p;
    printf("Proxy configuration:\n");
    for (const server_rec *s = main; s; s = s->next)
        dump_server(s);
}
