/* SPDX-License-Identifier: Apache-2.0 */
/* balancer-manager?xml=1 */
#include "manager_private.h"
#include "proxy_growth.h"
#include "apr_strings.h"
#include "http_protocol.h"

static void xml_text(request_rec *r, const char *indent, const char *name, const char *value)
{
    ap_rvputs(r, indent, "<httpd:", name, ">", ap_escape_html(r->pool, value), "</httpd:", name,
              ">\n", NULL);
}

static void xml_number(request_rec *r, const char *name, int64_t n)
{
    ap_rprintf(r, "          <httpd:%s>%" APR_INT64_T_FMT "</httpd:%s>\n", name, (apr_int64_t)n,
               name);
}

static void xml_factor(request_rec *r, const proxy_state *s)
{
    ap_rprintf(r, "          <httpd:loadfactor>%.2f</httpd:loadfactor>\n",
               atomic_load(&s->lbfactor) / 100.0);
}

static const char xml_in[] = "          ";

static void xml_worker_counts(request_rec *r, const proxy_worker *w)
{
    const proxy_state *s = w->state;

    xml_text(r, xml_in, "status", proxy_status_words(r->pool, atomic_load(&s->status)));
    if (atomic_load(&s->error_at) > 0) {
        char date[APR_RFC822_DATE_LEN];

        apr_rfc822_date(date, atomic_load(&s->error_at));
        xml_text(r, xml_in, "error_time", date);
    }
    xml_number(r, "retries", atomic_load(&s->retries));
    xml_number(r, "lbstatus", atomic_load(&s->lbstatus));
    xml_factor(r, s);
    xml_number(r, "transferred", (int64_t)atomic_load(&s->written));
    xml_number(r, "read", (int64_t)atomic_load(&s->read));
    xml_number(r, "elected", (int64_t)atomic_load(&s->elected));
    xml_text(r, xml_in, "route", manager_route(r->pool, w));
    xml_text(r, xml_in, "redirect", manager_redirect(r->pool, w));
    xml_number(r, "busy", atomic_load(&s->busy));
    xml_number(r, "lbset", atomic_load(&s->lbset));
}

static void xml_worker(request_rec *r, const proxy_worker *w)
{
    const proxy_params *p = &w->params;

    ap_rputs("        <httpd:worker>\n", r);
    xml_text(r, xml_in, "name", w->name);
    xml_text(r, xml_in, "scheme", w->scheme_name);
    xml_text(r, xml_in, "hostname", w->host);
    xml_factor(r, w->state);
    xml_number(r, "port", w->port);
    xml_number(r, "min", p->min);
    xml_number(r, "smax", p->smax);
    xml_number(r, "max", p->max);
    xml_number(r, "ttl", apr_time_sec(p->ttl));
    if (p->set & PROXY_PARAM_KEEPALIVE)
        xml_text(r, xml_in, "keepalive", p->keepalive ? "On" : "Off");
    xml_worker_counts(r, w);
    if (p->flush != PROXY_FLUSH_OFF)
        xml_text(r, xml_in, "flushpackets", p->flush == PROXY_FLUSH_ON ? "On" : "Auto");
    ap_rputs("        </httpd:worker>\n", r);
}

static void xml_balancer(request_rec *r, const proxy_balancer *b)
{
    balancer_state *s = b->state;
    const char *sticky = manager_sticky(r->pool, s, 0), *in = "      ";

    ap_rputs("    <httpd:balancer>\n", r);
    xml_text(r, in, "name", b->name);
    xml_text(r, in, "nonce", s->nonce);
    if (*sticky) {
        xml_text(r, in, "stickysession", sticky);
        xml_text(r, in, "nofailover", atomic_load(&s->force) ? "On" : "Off");
    }
    ap_rprintf(r, "      <httpd:timeout>%" APR_TIME_T_FMT "</httpd:timeout>",
               apr_time_sec(atomic_load(&s->timeout)));
    if (atomic_load(&s->attempts) != PROXY_UNSET)
        ap_rprintf(r, "      <httpd:maxattempts>%d</httpd:maxattempts>\n", manager_attempts(s));
    xml_text(r, in, "lbmethod", proxy_method_name(atomic_load(&s->method)));
    if (*sticky)
        xml_text(r, in, "scolonpathdelim", atomic_load(&s->scolon) ? "On" : "Off");
    ap_rputs("      <httpd:workers>\n", r);
    for (int i = 0; i < proxy_members(b)->nelts; i++)
        xml_worker(r, APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *));
    ap_rputs("      </httpd:workers>\n    </httpd:balancer>\n", r);
}

void manager_xml(const manager_call *m)
{
    request_rec *r = m->r;

    ap_set_content_type(r, "text/xml");
    ap_rputs("<?xml version='1.0' encoding='UTF-8' ?>\n"
             "<httpd:manager xmlns:httpd='http://httpd.apache.org'>\n  <httpd:balancers>\n",
             r);
    for (int i = 0; i < m->conf->balancers->nelts; i++)
        xml_balancer(r, APR_ARRAY_IDX(m->conf->balancers, i, proxy_balancer *));
    ap_rputs("  </httpd:balancers>\n</httpd:manager>", r);
}
