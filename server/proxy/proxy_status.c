/* SPDX-License-Identifier: Apache-2.0 */
/* Balancers on the page of server-status. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_protocol.h"
#include "mod_status.h"
#include <string.h>

static int status_kbytes(uint64_t bytes)
{
    return (int)(bytes / 1024);
}

static void status_short_member(request_rec *r, const proxy_worker *w, int b, int m)
{
    const proxy_state *s = w->state;

    BRG_ASSERT(b >= 0 && m >= 0);
    ap_rprintf(r, "ProxyBalancer[%d]Worker[%d]Name: %s\n", b, m, w->name);
    ap_rprintf(r, "ProxyBalancer[%d]Worker[%d]Status: %s\n", b, m,
               proxy_status_words(r->pool, atomic_load(&s->status)));
    ap_rprintf(r, "ProxyBalancer[%d]Worker[%d]Elected: %lu\n", b, m,
               (unsigned long)atomic_load(&s->elected));
    ap_rprintf(r, "ProxyBalancer[%d]Worker[%d]Busy: %lu\n", b, m,
               (unsigned long)atomic_load(&s->busy));
    ap_rprintf(r, "ProxyBalancer[%d]Worker[%d]Sent: %ldK\n", b, m,
               (long)status_kbytes(atomic_load(&s->written)));
    ap_rprintf(r, "ProxyBalancer[%d]Worker[%d]Rcvd: %ldK\n", b, m,
               (long)status_kbytes(atomic_load(&s->read)));
}

static void status_short(request_rec *r, const proxy_server_conf *c)
{
    for (int i = 0; i < c->balancers->nelts; i++) {
        const proxy_balancer *b = APR_ARRAY_IDX(c->balancers, i, proxy_balancer *);

        ap_rprintf(r, "ProxyBalancer[%d]Name: %s\n", i, b->name);
        for (int m = 0; m < proxy_members(b)->nelts; m++)
            status_short_member(r, APR_ARRAY_IDX(proxy_members(b), m, proxy_worker *), i, m);
    }
}

static void status_bytes(request_rec *r, uint64_t bytes)
{
    char text[5];

    ap_rvputs(r, "<td>", apr_strfsize((apr_off_t)bytes, text), "</td>", NULL);
}

static void status_member(request_rec *r, const proxy_worker *w)
{
    const proxy_state *s = w->state;
    char route[PROXY_ROUTE_SIZE], redirect[PROXY_ROUTE_SIZE];

    ap_rvputs(r, "<tr>\n<td>", w->scheme_name, "</td>", NULL);
    ap_rvputs(r, "<td>", ap_escape_html(r->pool, w->host), "</td><td>",
              proxy_status_words(r->pool, atomic_load(&s->status)), "</td>", NULL);
    ap_rvputs(r, "<td>", ap_escape_html(r->pool, proxy_route(w, route)), NULL);
    proxy_text_read(&w->state->names, s->redirect, redirect, sizeof redirect);
    ap_rvputs(r, "</td><td>", ap_escape_html(r->pool, redirect), NULL);
    ap_rprintf(r, "</td><td>%.2f</td>", atomic_load(&s->lbfactor) / 100.0);
    ap_rprintf(r, "<td>%d</td>", (int)atomic_load(&s->lbset));
    ap_rprintf(r, "<td>%lu</td>", (unsigned long)atomic_load(&s->elected));
    ap_rprintf(r, "<td>%lu</td>", (unsigned long)atomic_load(&s->busy));
    status_bytes(r, atomic_load(&s->written));
    status_bytes(r, atomic_load(&s->read));
    ap_rputs("\n</tr>\n", r);
}

static void status_balancer(request_rec *r, const proxy_balancer *b)
{
    balancer_state *s = b->state;
    char sticky[BALANCER_STICKY_SIZE];

    proxy_text_read(&s->names, s->sticky, sticky, sizeof sticky);
    ap_rputs("<hr />\n<h1>Proxy LoadBalancer Status for ", r);
    ap_rvputs(r, ap_escape_html(r->pool, b->name), "</h1>\n\n", NULL);
    ap_rputs("\n\n<table border=\"0\"><tr><th>SSes</th><th>Timeout</th><th>Method</th></tr>\n<tr>",
             r);
    ap_rvputs(r, "<td>", *sticky ? ap_escape_html(r->pool, sticky) : " - ", NULL);
    ap_rprintf(r, "</td><td>%" APR_TIME_T_FMT "</td>", apr_time_sec(atomic_load(&s->timeout)));
    ap_rprintf(r, "<td>%s</td>\n</table>\n", proxy_method_name(atomic_load(&s->method)));
    ap_rputs("\n\n<table "
             "border=\"0\"><tr><th>Sch</th><th>Host</th><th>Stat</th><th>Route</th><th>Redir</th>"
             "<th>F</th><th>Set</th><th>Acc</th><th>Busy</th><th>Wr</th><th>Rd</th></tr>\n",
             r);
    for (int i = 0; i < proxy_members(b)->nelts; i++)
        status_member(r, APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *));
    ap_rputs("</table>\n", r);
}

int proxy_status_page(request_rec *r, int flags)
{
    const proxy_server_conf *c = proxy_conf_of(r->server);

    if (!c->balancers->nelts || c->status == 0 || c->status == PROXY_UNSET)
        return OK;
    if (flags & AP_STATUS_SHORT) {
        status_short(r, c);
        return OK;
    }
    for (int i = 0; i < c->balancers->nelts; i++)
        status_balancer(r, APR_ARRAY_IDX(c->balancers, i, proxy_balancer *));
    ap_rputs("<hr /><table>\n<tr><th>SSes</th><td>Sticky session name</td></tr>\n"
             "<tr><th>Timeout</th><td>Balancer Timeout</td></tr>\n<tr><th>Sch</th><td>Connection "
             "scheme</td></tr>\n"
             "<tr><th>Host</th><td>Backend Hostname</td></tr>\n<tr><th>Stat</th><td>Worker "
             "status</td></tr>\n"
             "<tr><th>Route</th><td>Session Route</td></tr>\n<tr><th>Redir</th><td>Session Route "
             "Redirection</td></tr>\n"
             "<tr><th>F</th><td>Load Balancer Factor</td></tr>\n<tr><th>Acc</th><td>Number of "
             "uses</td></tr>\n"
             "<tr><th>Wr</th><td>Number of bytes transferred</td></tr>\n"
             "<tr><th>Rd</th><td>Number of bytes read</td></tr>\n</table>",
             r);
    return OK;
}
