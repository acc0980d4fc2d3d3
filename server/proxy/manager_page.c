/* SPDX-License-Identifier: Apache-2.0 */
/* The page of balancer-manager, and its forms. */
#include "manager_private.h"
#include "proxy_growth.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_protocol.h"
#include <string.h>

static const char page_style[] = "<style type='text/css'>\n"
                                 "table { border: 1px solid gray; border-collapse: collapse; "
                                 "background-color: white; text-align: center; }\n"
                                 "th, td { border: 1px dotted gray; padding: 2px; }\nth { "
                                 "background-color: lightgray; }\n</style>\n";

static const char *html(request_rec *r, const char *text)
{
    return ap_escape_html(r->pool, text);
}

/* "name" of "balancer://name". */
static const char *page_short(const proxy_balancer *b)
{
    const char *slashes = strstr(b->name, "://");

    return slashes ? slashes + 3 : b->name;
}

/* ---- tables ---- */

static void page_balancer_row(request_rec *r, const proxy_balancer *b)
{
    balancer_state *s = b->state;
    const char *sticky = manager_sticky(r->pool, s, 1);
    const int used = proxy_members(b)->nelts;

    ap_rputs("\n\n<table><tr><th>MaxMembers</th><th>StickySession</th><th>DisableFailover</"
             "th><th>Timeout</th>"
             "<th>FailoverAttempts</th><th>Method</th><th>Path</th><th>Active</th></tr>\n",
             r);
    ap_rprintf(r, "<tr><td>%d [%d Used]</td>\n", used + proxy_growth_room(b), used);
    if (*sticky)
        ap_rvputs(r, "<td>", html(r, sticky), "</td>", NULL);
    else
        ap_rputs("<td> (None) </td>", r);
    ap_rprintf(r, "<td>%s</td>\n<td>%" APR_TIME_T_FMT "</td><td>%d</td>\n<td>%s</td>\n",
               atomic_load(&s->force) ? "On" : "Off", apr_time_sec(atomic_load(&s->timeout)),
               manager_attempts(s), proxy_method_name(atomic_load(&s->method)));
    ap_rvputs(r, "<td>", html(r, b->manager_path ? b->manager_path : "/"),
              "</td>\n<td>Yes</td>\n</tr>\n</table>\n<br />", NULL);
}

static const char *page_check_name(proxy_check check)
{
    static const char *const names[] = {"NONE", "TCP",       "OPTIONS", "HEAD",
                                        "GET",  "OPTIONS11", "HEAD11",  "GET11"};

    BRG_ASSERT(check >= PROXY_CHECK_NONE && check <= PROXY_CHECK_GET11);
    return names[check];
}

static void page_worker_check(request_rec *r, const proxy_worker *w)
{
    const proxy_params *p = &w->params;

    if (proxy_hcheck_module.module_index == -1)
        return;
    ap_rprintf(r, "<td>%s</td><td>%" APR_TIME_T_FMT "ms</td><td>%d (%d)</td><td>%d (%d)</td>",
               page_check_name(p->check), p->check_interval / 1000, p->check_passes,
               (int)atomic_load(&w->state->passed), p->check_fails,
               (int)atomic_load(&w->state->failed));
    ap_rvputs(r, "<td>", html(r, p->check_uri), "</td><td>", html(r, p->check_expr), "</td>", NULL);
}

static void page_worker_row(request_rec *r, const proxy_balancer *b, const proxy_worker *w)
{
    const proxy_state *s = w->state;
    char size[5];

    ap_rvputs(r, "<tr>\n<td><a href=\"", html(r, r->uri), "?b=", page_short(b),
              "&amp;w=", html(r, ap_escape_uri(r->pool, w->name)),
              "&amp;nonce=", html(r, proxy_nonce(r->pool, b)), "\">", html(r, w->name),
              "</a></td><td>", html(r, manager_route(r->pool, w)), "</td><td>",
              html(r, manager_redirect(r->pool, w)), NULL);
    ap_rprintf(r, "</td><td>%.2f</td><td>%d</td><td>%s</td><td>%lu</td><td>%lu</td><td>%d</td>",
               atomic_load(&s->lbfactor) / 100.0, (int)atomic_load(&s->lbset),
               proxy_status_words(r->pool, atomic_load(&s->status)),
               (unsigned long)atomic_load(&s->elected), (unsigned long)atomic_load(&s->busy),
               (int)atomic_load(&s->lbstatus));
    ap_rvputs(r, "<td>", apr_strfsize((apr_off_t)atomic_load(&s->written), size), "</td>", NULL);
    ap_rvputs(r, "<td>", apr_strfsize((apr_off_t)atomic_load(&s->read), size), "</td>", NULL);
    page_worker_check(r, w);
    ap_rputs("</tr>\n", r);
}

static void page_balancer(request_rec *r, const proxy_balancer *b)
{
    ap_rvputs(r, "<hr />\n<h3>LoadBalancer Status for <a href=\"", html(r, r->uri),
              "?b=", page_short(b), "&amp;nonce=", html(r, proxy_nonce(r->pool, b)), "\">",
              html(r, b->name), "</a> [",
              apr_psprintf(r->pool, "p%08x_%s",
                           (unsigned)(atomic_load(&b->state->key) & 0xffffffff), page_short(b)),
              "]</h3>\n", NULL);
    page_balancer_row(r, b);
    ap_rputs("\n\n<table><tr><th>Worker "
             "URL</th><th>Route</th><th>RouteRedir</th><th>Factor</th><th>Set</th>"
             "<th>Status</th><th>Elected</th><th>Busy</th><th>Load</th><th>To</th><th>From</th>",
             r);
    if (proxy_hcheck_module.module_index != -1)
        ap_rputs("<th>HC Method</th><th>HC Interval</th><th>Passes</th><th>Fails</th><th>HC "
                 "uri</th><th>HC Expr</th>",
                 r);
    ap_rputs("</tr>\n", r);
    for (int i = 0; i < proxy_members(b)->nelts; i++)
        page_worker_row(r, b, APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *));
    ap_rputs("</table>\n", r);
}

/* ---- forms ---- */

static void form_begin(const manager_call *m, const char *what, const char *name)
{
    request_rec *r = m->r;

    ap_rvputs(r, "<h3>Edit ", what, " settings for ", html(r, name),
              "</h3>\n<form method='POST' enctype='application/x-www-form-urlencoded' action=\"",
              html(r, ap_construct_url(r->pool, r->uri, r)), "\">\n<table>", NULL);
}

static void form_end(const manager_call *m)
{
    request_rec *r = m->r;

    BRG_ASSERT(m->balancer && (!m->worker || m->worker->balancer == m->balancer));
    if (m->worker)
        ap_rvputs(r, "<input type=hidden name='w' id='w' value=\"", html(r, m->worker->name),
                  "\">\n", NULL);
    ap_rvputs(r, "<input type=hidden name='b' id='b' value=\"", html(r, page_short(m->balancer)),
              "\">\n", "<input type=hidden name='nonce' id='nonce' value='",
              html(r, proxy_nonce(r->pool, m->balancer)), "'>\n</form>\n<hr />\n", NULL);
}

static void form_text(request_rec *r, const char *label, const char *name, const char *value)
{
    ap_rvputs(r, "<tr><td>", label, ":</td><td><input name='", name, "' id='", name,
              "' type=text value=\"", html(r, value), "\"></td></tr>\n", NULL);
}

static void form_switch(request_rec *r, const char *name, int on)
{
    ap_rvputs(r, "<td><label for='", name, "1'>On</label> <input name='", name, "' id='", name,
              "1' value='1' type=radio", on ? " checked" : "", "> <br/> <label for='", name,
              "0'>Off</label> <input name='", name, "' id='", name, "0' value='0' type=radio",
              on ? "" : " checked", "></td>\n", NULL);
}

static void form_worker(const manager_call *m)
{
    request_rec *r = m->r;
    const proxy_worker *w = m->worker;
    const uint32_t status = atomic_load(&w->state->status);

    BRG_ASSERT(m->worker->balancer == m->balancer);
    form_begin(m, "worker", w->name);
    ap_rprintf(r,
               "<tr><td>Load factor:</td><td><input name='w_lf' id='w_lf' type=text "
               "value='%.2f'></td></tr>\n",
               atomic_load(&w->state->lbfactor) / 100.0);
    ap_rprintf(
        r, "<tr><td>LB Set:</td><td><input name='w_ls' id='w_ls' type=text value='%d'></td></tr>\n",
        (int)atomic_load(&w->state->lbset));
    form_text(r, "Route", "w_wr", manager_route(r->pool, w));
    form_text(r, "Route Redirect", "w_rr", manager_redirect(r->pool, w));
    ap_rputs("<tr><td>Status:</td><td><table><tr><th>Ignore Errors</th><th>Draining "
             "Mode</th><th>Disabled</th>"
             "<th>Hot Standby</th><th>Hot Spare</th><th>HC Fail</th><th>Stopped</th></tr>\n<tr>",
             r);
    for (const char *letter = "INDHRCS"; *letter; letter++)
        form_switch(r, apr_psprintf(r->pool, "w_status_%c", *letter),
                    (status & proxy_status_bit(*letter)) != 0);
    ap_rputs("</tr></table></td></tr>\n<tr><td colspan='2'><input type=submit "
             "value='Submit'></td></tr>\n</table>\n",
             r);
    form_end(m);
}

static const char form_new_worker[] =
    "<tr><td>Add New Worker:</td><td><input name='b_nwrkr' id='b_nwrkr' size=32 type=text>"
    "&nbsp;&nbsp;&nbsp;&nbsp;Are you sure? <input name='b_wyes' id='b_wyes' type=checkbox "
    "value='1'></td></tr>";

static void form_balancer(const manager_call *m)
{
    request_rec *r = m->r;
    balancer_state *s = m->balancer->state;

    BRG_ASSERT(m->balancer && !m->worker);
    form_begin(m, "balancer", m->balancer->name);
    ap_rputs("\n<tr><td>LBmethod:</td><td>\n<select name='b_lbm' id='b_lbm'>", r);
    for (int i = 0; *proxy_method_name(i); i++)
        ap_rvputs(r, "<option value='", proxy_method_name(i), "'",
                  atomic_load(&s->method) == i ? " selected " : "", ">", proxy_method_name(i), "\n",
                  NULL);
    ap_rprintf(
        r,
        "</select>\n</td></tr>\n<tr><td>Timeout:</td><td><input name='b_tmo' id='b_tmo' type=text "
        "value='%" APR_TIME_T_FMT "'></td></tr>\n",
        apr_time_sec(atomic_load(&s->timeout)));
    ap_rprintf(r,
               "<tr><td>Failover Attempts:</td><td><input name='b_max' id='b_max' type=text "
               "value='%d'></td></tr>\n",
               manager_attempts(s));
    ap_rputs("<tr><td>Disable Failover:</td>", r);
    form_switch(r, "b_sforce", atomic_load(&s->force) != 0);
    ap_rvputs(r,
              "</tr>\n<tr><td>Sticky Session:</td><td><input name='b_ss' id='b_ss' size=64 "
              "type=text value =\"",
              html(r, manager_sticky(r->pool, s, 1)),
              "\">&nbsp;&nbsp;&nbsp;&nbsp;(Use '-' to delete)</td></tr>\n",
              proxy_growth_room(m->balancer) ? form_new_worker : "",
              "<tr><td colspan=2><input type=submit value='Submit'></td></tr>\n</table>\n", NULL);
    form_end(m);
}

/* ---- the page ---- */

static void page_head(const manager_call *m)
{
    request_rec *r = m->r;

    ap_set_content_type(r, "text/html; charset=ISO-8859-1");
    ap_rvputs(r, DOCTYPE_HTML_4_01, "<html><head><title>Balancer Manager</title>\n", page_style,
              "</head>\n", NULL);
    ap_rvputs(r, "<body><h1>Load Balancer Manager for ", html(r, ap_get_server_name(r)),
              "</h1>\n\n", NULL);
    ap_rvputs(r, "<dl><dt>Server Version: ", ap_get_server_description(),
              "</dt>\n<dt>Server Built: ", ap_get_server_built(), "</dt>\n", NULL);
    ap_rvputs(r, "<dt>Balancer changes will ", m->conf->persist == 1 ? "" : "NOT ",
              "be persisted on restart.</dt>", "<dt>Balancers are ",
              m->conf->inherit != 0 ? "" : "NOT ", "inherited from main server.</dt>",
              "<dt>ProxyPass settings are ", m->conf->pass_inherit != 0 ? "" : "NOT ",
              "inherited from main server.</dt></dl>\n", NULL);
}

static void page_exprs(const manager_call *m)
{
    const char *text, *name = proxy_check_text(m->r->server, 0, &text);

    if (!name)
        return;
    ap_rputs("\n\n<table><tr><th colspan='2'>Health check cond. expressions:</th></tr>\n"
             "<tr><th>Expr name</th><th>Expression</th></tr>\n",
             m->r);
    for (int i = 0; (name = proxy_check_text(m->r->server, i, &text)); i++)
        ap_rvputs(m->r, "<tr><td>", html(m->r, name), "</td><td>", html(m->r, text), "</td></tr>\n",
                  NULL);
    ap_rputs("</table><hr/>\n", m->r);
}

void manager_page(const manager_call *m)
{
    page_head(m);
    for (int i = 0; i < m->conf->balancers->nelts; i++)
        page_balancer(m->r, APR_ARRAY_IDX(m->conf->balancers, i, proxy_balancer *));
    ap_rputs("<hr />\n", m->r);
    page_exprs(m);
    if (m->worker)
        form_worker(m);
    else if (m->balancer)
        form_balancer(m);
    ap_rputs("</body></html>\n", m->r);
}
