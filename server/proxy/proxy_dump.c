/* SPDX-License-Identifier: Apache-2.0 */
/* -t -D DUMP_PROXY: targets of paths. */
#include "proxy_private.h"
#include "apr_strings.h"
#include <stdio.h>
#include <string.h>

static void dump_worker(FILE *out, const proxy_worker *w, const char *indent)
{
    fprintf(out, "%s%s%s%s%s", indent, w->socket ? "unix:" : "", w->socket ? w->socket : "",
            w->socket ? "|" : "", w->name);
    if (w->params.set & PROXY_PARAM_MAX)
        fprintf(out, " max=%d", w->params.max);
    if (w->params.set & PROXY_PARAM_TTL)
        fprintf(out, " ttl=%d", (int)apr_time_sec(w->params.ttl));
    fprintf(out, " timeout=%d retry=%d%s", (int)apr_time_sec(proxy_timeout(w, w->server)),
            (int)apr_time_sec(w->params.retry), w->params.no_reuse ? " no reuse" : "");
    if (w->balancer)
        fprintf(out, " loadfactor=%.2f lbset=%d", w->params.loadfactor / 100.0, w->params.lbset);
    if (*w->params.route)
        fprintf(out, " route=%s", w->params.route);
    fprintf(out, "\n");
}

static void dump_balancer(FILE *out, const proxy_balancer *b)
{
    fprintf(out, "    %s lbmethod=%s%s%s\n", b->name, proxy_method_name((int)b->method),
            *b->sticky ? " stickysession=" : "", b->sticky);
    for (int i = 0; i < b->members->nelts; i++)
        dump_worker(out, APR_ARRAY_IDX(b->members, i, proxy_worker *), "        ");
}

static void dump_alias(FILE *out, const proxy_alias *a)
{
    fprintf(out, "    %s%s -> %s (%s:%d)\n", a->regex ? "~ " : "", a->fake,
            !strcmp(a->real, "!") ? "not forwarded" : a->real, a->file, a->line);
}

static int dump_is_plain(const proxy_server_conf *c)
{
    return !c->aliases->nelts && !c->workers->nelts && !c->balancers->nelts && !c->remotes->nelts &&
           c->requests != 1;
}

static void dump_server(FILE *out, const server_rec *s)
{
    const proxy_server_conf *c = proxy_conf_of(s);

    if (dump_is_plain(c))
        return;
    if (s->is_virtual)
        fprintf(out, "  %s:%u (%s:%u)\n", s->server_hostname ? s->server_hostname : "*",
                (unsigned)(s->addrs ? s->addrs->host_port : s->port),
                s->defn_name ? s->defn_name : "", s->defn_line_number);
    else
        fprintf(out, "  main server\n");
    if (c->requests == 1)
        fprintf(out, "    forward proxy (ProxyRequests On)\n");
    for (int i = 0; i < c->aliases->nelts; i++)
        dump_alias(out, &APR_ARRAY_IDX(c->aliases, i, proxy_alias));
    for (int i = 0; i < c->workers->nelts; i++)
        dump_worker(out, APR_ARRAY_IDX(c->workers, i, proxy_worker *), "    ");
    for (int i = 0; i < c->balancers->nelts; i++)
        dump_balancer(out, APR_ARRAY_IDX(c->balancers, i, proxy_balancer *));
    for (int i = 0; i < c->remotes->nelts; i++) {
        const proxy_remote_rule *rule = &APR_ARRAY_IDX(c->remotes, i, proxy_remote_rule);

        fprintf(out, "    %s by way of %s://%s:%u\n", rule->scheme, rule->to.scheme, rule->to.host,
                (unsigned)rule->to.port);
    }
}

void proxy_dump(apr_pool_t *p, server_rec *main)
{
    (void)p;
    printf("Proxy configuration:\n");
    for (const server_rec *s = main; s; s = s->next)
        dump_server(stdout, s);
}

static int dump_is_of(const char *name, const char *url)
{
    const size_t n = strlen(name);

    return !ap_cstr_casecmpn(name, url, n) &&
           (!url[n] || url[n] == '/' || (n && name[n - 1] == '/'));
}

void proxy_explain(FILE *out, const server_rec *s, const char *url)
{
    const proxy_server_conf *c = proxy_conf_of(s);
    const proxy_worker *best = NULL;

    for (int i = 0; i < c->balancers->nelts; i++) {
        const proxy_balancer *b = APR_ARRAY_IDX(c->balancers, i, proxy_balancer *);

        if (dump_is_of(b->name, url))
            dump_balancer(out, b);
    }
    for (int i = 0; i < c->workers->nelts; i++) {
        const proxy_worker *w = APR_ARRAY_IDX(c->workers, i, proxy_worker *);

        if (dump_is_of(w->name, url) && (!best || strlen(w->name) > strlen(best->name)))
            best = w;
    }
    if (best)
        dump_worker(out, best, "    ");
}
