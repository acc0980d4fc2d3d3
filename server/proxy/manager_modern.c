/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of balancer-manager as BuiltinPages modern has it: members with their states, actions on
 * each, and recent changes. There is no script in it: an action has a summary to open, and a button
 * in it that confirms. The forms send the fields of Apache's page.
 */
#include "manager_private.h"
#include "proxy_growth.h"
#include "scores.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/pages.h"
#include "http_core.h"
#include "http_protocol.h"
#include <inttypes.h>
#include <string.h>

static const char modern_style[] = {
#include "manager_style.inc"
};

static const char *text(request_rec *r, const char *s)
{
    return brg_html_text(r->pool, s);
}

static const char *short_name(const proxy_balancer *b)
{
    const char *slashes = strstr(b->name, "://");

    return slashes ? slashes + 3 : b->name;
}

/* ---- states ---- */

/* Class and words of a state; the worst that holds. */
static const struct modern_state {
    char letters[3];
    const char *css, *words;
} modern_states[] = {
    {"S", "off", "stopped: no requests"},
    {"D", "off", "disabled: no requests"},
    {"C", "bad", "its health check fails"},
    {"E", "bad", "takes no connections"},
    {"N", "wait", "draining: only its own sessions"},
    {"H", "spare", "standby: asked when no other can be"},
    {"R", "spare", "spare: takes the place of one that is out"},
};

static int has(uint32_t status, char letter)
{
    return (status & proxy_status_bit(letter)) != 0;
}

static const struct modern_state *state_of(uint32_t status)
{
    static const struct modern_state ok = {"", "ok", "takes requests"};

    for (size_t i = 0; i < sizeof modern_states / sizeof *modern_states; i++)
        if (has(status, modern_states[i].letters[0]))
            return &modern_states[i];
    return &ok;
}

static const char *since(request_rec *r, apr_time_t at)
{
    apr_time_exp_t t;

    apr_time_exp_gmt(&t, at);
    return apr_psprintf(r->pool,
                        "<time datetime=\"%04d-%02d-%02dT%02d:%02d:%02dZ\">%04d-%02d-%02d "
                        "%02d:%02d:%02d UTC</time>",
                        t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                        t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

/* ---- forms ---- */

static void form_begin(const manager_call *m, const proxy_balancer *b, const proxy_worker *w)
{
    request_rec *r = m->r;

    ap_rvputs(r, "<form method=\"post\" action=\"", text(r, r->uri),
              "\"><input type=\"hidden\" name=\"b\" value=\"", text(r, short_name(b)),
              "\"><input type=\"hidden\" name=\"nonce\" value=\"", text(r, proxy_nonce(r->pool, b)),
              "\">", NULL);
    if (w)
        ap_rvputs(r, "<input type=\"hidden\" name=\"w\" value=\"", text(r, w->name), "\">", NULL);
}

static void form_field(request_rec *r, const char *label, const char *name, const char *value)
{
    ap_rvputs(r, "<label>", label, " <input type=\"text\" name=\"", name, "\" value=\"",
              text(r, value), "\"></label>", NULL);
}

static void form_choice(request_rec *r, const char *label, const char *name, int on)
{
    ap_rvputs(r, "<label>", label, " <select name=\"", name, "\"><option value=\"1\"",
              on ? " selected" : "", ">on</option><option value=\"0\"", on ? "" : " selected",
              ">off</option></select></label>", NULL);
}

/* One thing to do with a member: opened by one click, and confirmed by the next. */
static void form_act(const manager_call *m, const proxy_worker *w, const char *what,
                     const char *why, const char *fields)
{
    request_rec *r = m->r;

    BRG_ASSERT(w->balancer);
    ap_rvputs(r, "<details><summary>", what, "</summary>", NULL);
    form_begin(m, w->balancer, w);
    ap_rvputs(r, "<p>", why, "</p>", fields, "<button>", what, ": ", text(r, w->name),
              "</button></form></details>\n", NULL);
}

#define SET(letter, value) \
    "<input type=\"hidden\" name=\"w_status_" letter "\" value=\"" value "\">"

static void member_acts(const manager_call *m, const proxy_worker *w, uint32_t status)
{
    if (has(status, 'D') || has(status, 'S'))
        form_act(m, w, "Enable", "It gets requests again.", SET("D", "0") SET("S", "0"));
    else
        form_act(m, w, "Disable", "It gets no requests any more. Those under way are finished.",
                 SET("D", "1"));
    if (has(status, 'N'))
        form_act(m, w, "End draining", "It gets new sessions again.", SET("N", "0"));
    else
        form_act(m, w, "Drain",
                 "It gets requests of its own sessions only, until these have ended.",
                 SET("N", "1"));
}

static void member_settings(const manager_call *m, const proxy_worker *w, uint32_t status)
{
    request_rec *r = m->r;

    ap_rputs("<details><summary>Settings</summary>", r);
    form_begin(m, w->balancer, w);
    form_field(r, "Share (1 to 100)", "w_lf",
               apr_psprintf(r->pool, "%.2f", atomic_load(&w->state->lbfactor) / 100.0));
    form_field(r, "Set", "w_ls", apr_itoa(r->pool, (int)atomic_load(&w->state->lbset)));
    form_field(r, "Route", "w_wr", manager_route(r->pool, w));
    form_field(r, "Redirect to route", "w_rr", manager_redirect(r->pool, w));
    form_choice(r, "Ignore errors", "w_status_I", has(status, 'I'));
    form_choice(r, "Standby", "w_status_H", has(status, 'H'));
    form_choice(r, "Spare", "w_status_R", has(status, 'R'));
    ap_rputs("<button>Change</button></form></details>\n", r);
}

static void balancer_methods(request_rec *r, int chosen)
{
    ap_rputs("<label>Method <select name=\"b_lbm\">", r);
    for (int i = 0; *proxy_method_name(i); i++)
        ap_rvputs(r, "<option", chosen == i ? " selected" : "", ">", proxy_method_name(i),
                  "</option>", NULL);
    ap_rputs("</select></label>", r);
}

static void balancer_settings(const manager_call *m, const proxy_balancer *b)
{
    request_rec *r = m->r;
    balancer_state *s = b->state;

    ap_rputs("<details class=\"card\"><summary>Settings of the balancer</summary>", r);
    form_begin(m, b, NULL);
    balancer_methods(r, atomic_load(&s->method));
    form_field(r, "Seconds that a request waits for a member", "b_tmo",
               apr_psprintf(r->pool, "%" APR_TIME_T_FMT, apr_time_sec(atomic_load(&s->timeout))));
    form_field(r, "Further tries", "b_max", apr_itoa(r->pool, manager_attempts(s)));
    form_choice(r, "A session stays with its member, even if that fails", "b_sforce",
                atomic_load(&s->force) != 0);
    form_field(r, "Cookie of sessions (- for none)", "b_ss", manager_sticky(r->pool, s, 1));
    if (proxy_growth_room(b))
        ap_rputs("<label>New member <input type=\"text\" name=\"b_nwrkr\" "
                 "placeholder=\"http://127.0.0.1:3004\"></label><label><input type=\"checkbox\" "
                 "name=\"b_wyes\" value=\"1\">Add it</label>",
                 r);
    ap_rputs("<button>Change</button></form></details>\n", r);
}

/* ---- members ---- */

static void member_figures(request_rec *r, const proxy_state *s)
{
    const uint64_t n = atomic_load(&s->waited_n), us = atomic_load(&s->waited_us);
    char to[5], from[5];

    ap_rprintf(r,
               "<dl><dt>Now</dt><dd>%" PRId64 " requests</dd><dt>In all</dt><dd>%" PRIu64
               " requests, %s to it, %s from it</dd><dt>Answers</dt><dd>%" PRIu64 " fine, %" PRIu64
               " client errors, %" PRIu64 " server errors</dd>",
               (int64_t)atomic_load(&s->busy), (uint64_t)atomic_load(&s->elected),
               apr_strfsize((apr_off_t)atomic_load(&s->written), to),
               apr_strfsize((apr_off_t)atomic_load(&s->read), from),
               (uint64_t)(atomic_load(&s->answers[0]) + atomic_load(&s->answers[1]) +
                          atomic_load(&s->answers[2])),
               (uint64_t)atomic_load(&s->answers[3]), (uint64_t)atomic_load(&s->answers[4]));
    ap_rprintf(r,
               "<dt>Failed</dt><dd>%" PRIu64 " refused, %" PRIu64 " timed out, %" PRIu64
               " broken off</dd><dt>Time</dt><dd>%s</dd><dt>Share</dt><dd>%.2f, set %d</dd>",
               (uint64_t)atomic_load(&s->refused), (uint64_t)atomic_load(&s->timeouts),
               (uint64_t)atomic_load(&s->broken),
               n ? apr_psprintf(r->pool, "%.1f ms until the head", (double)us / 1000 / (double)n)
                 : "nothing yet",
               atomic_load(&s->lbfactor) / 100.0, (int)atomic_load(&s->lbset));
}

/* ---- health checks ---- */

static const char *check_words(request_rec *r, uint32_t end)
{
    const int code = (int)(end & 0xffff);
    char error[120];

    switch (end >> 16) {
    case PROXY_CHECK_WELL:
        return code ? apr_psprintf(r->pool, "well, status %d", code) : "well";
    case PROXY_CHECK_CONNECT:
        return code ? apr_pstrcat(r->pool, "no connection: ",
                                  text(r, apr_strerror(code, error, sizeof error)), NULL)
                    : "no connection";
    case PROXY_CHECK_TIME:
        return "no answer in time";
    case PROXY_CHECK_CLOSED:
        return "closed before it answered";
    case PROXY_CHECK_HEAD_BAD:
        return "the answer is not HTTP";
    case PROXY_CHECK_STATUS:
        return apr_psprintf(r->pool, "status %d", code);
    case PROXY_CHECK_CONDITION:
        return apr_psprintf(r->pool, "status %d, and hcexpr= is not met", code);
    default: /* the memory is written by all server processes */
        return "unknown";
    }
}

static void member_check(request_rec *r, const proxy_check_made *made)
{
    const int64_t at = score_held(atomic_load(&made->at));
    const uint32_t end = atomic_load(&made->end);

    if (at)
        ap_rvputs(r, "<li class=\"", end >> 16 == PROXY_CHECK_WELL ? "ok" : "bad", "\">",
                  since(r, at), " ", check_words(r, end), ", ",
                  apr_psprintf(r->pool, "%.1f ms", (double)atomic_load(&made->took_us) / 1000),
                  "</li>\n", NULL);
}

static void member_checks(request_rec *r, const proxy_worker *w)
{
    const proxy_state *s = w->state;
    const uint32_t n = atomic_load(&s->checks_n);

    if (w->params.check == PROXY_CHECK_NONE || proxy_hcheck_module.module_index == -1)
        return;
    ap_rputs("<details><summary>Health checks</summary>", r);
    ap_rprintf(r, "<p>Every %.1f s; %u were made.</p><ul class=\"checks\">\n",
               (double)w->params.check_interval / 1000000, (unsigned)n);
    for (uint32_t i = 0; i < n && i < PROXY_CHECKS_KEPT; i++)
        member_check(r, &s->check[(n - 1 - i) % PROXY_CHECKS_KEPT]);
    ap_rputs("</ul></details>\n", r);
}

static void member(const manager_call *m, const proxy_worker *w)
{
    request_rec *r = m->r;
    const uint32_t status = atomic_load(&w->state->status);
    const struct modern_state *state = state_of(status);
    const int64_t error_at = atomic_load(&w->state->error_at);
    const char *route = manager_route(r->pool, w);

    ap_rvputs(r, "<li><h3>", text(r, w->name), "</h3><p class=\"state ", state->css, "\">",
              state->words, "</p>", NULL);
    member_figures(r, w->state);
    if (*route)
        ap_rvputs(r, "<dt>Route</dt><dd>", text(r, route), "</dd>", NULL);
    if (error_at)
        ap_rvputs(r, "<dt>Last failure</dt><dd>", since(r, error_at), "</dd>", NULL);
    ap_rputs("</dl>\n", r);
    member_checks(r, w);
    member_acts(m, w, status);
    member_settings(m, w, status);
    ap_rputs("</li>\n", r);
}

/* ---- recent changes ---- */

static const char *changed_words(request_rec *r, const balancer_change *c)
{
    const uint32_t before = atomic_load(&c->before), after = atomic_load(&c->after);

    if (before == after)
        return "settings changed";
    return apr_pstrcat(r->pool, state_of(before)->words, " &#x2192; ", state_of(after)->words,
                       NULL);
}

static void history(request_rec *r, const proxy_balancer *b)
{
    const uint32_t n = atomic_load(&b->state->changes);
    const apr_array_header_t *members = proxy_members(b);

    if (!n)
        return;
    ap_rputs("<div class=\"card\"><h3>Changed here</h3><ul>", r);
    for (uint32_t i = 0; i < n && i < BALANCER_CHANGES; i++) {
        const balancer_change *c = &b->state->change[(n - 1 - i) % BALANCER_CHANGES];
        const uint32_t which = atomic_load(&c->member);

        ap_rvputs(r, "<li>", since(r, atomic_load(&c->at)), " ",
                  which < (uint32_t)members->nelts
                      ? text(r, APR_ARRAY_IDX(members, which, proxy_worker *)->name)
                      : "the balancer",
                  ": ", changed_words(r, c), "</li>", NULL);
    }
    ap_rputs("</ul></div>\n", r);
}

static void balancer(const manager_call *m, const proxy_balancer *b)
{
    request_rec *r = m->r;
    balancer_state *s = b->state;
    const char *sticky = manager_sticky(r->pool, s, 1);
    const apr_array_header_t *members = proxy_members(b);

    ap_rvputs(r, "<section><h2>", text(r, b->name), "</h2><p class=\"soft\">Method ",
              proxy_method_name(atomic_load(&s->method)),
              *sticky ? ", sessions by " : ", no sessions", text(r, sticky),
              b->manager_path ? ", for " : "", b->manager_path ? text(r, b->manager_path) : "",
              "</p>\n", NULL);
    if (!members->nelts)
        ap_rputs("<p class=\"state bad\">It has no member: each request gets 503.</p>\n", r);
    ap_rputs("<ul class=\"members\">\n", r);
    for (int i = 0; i < members->nelts; i++)
        member(m, APR_ARRAY_IDX(members, i, proxy_worker *));
    ap_rputs("</ul>\n", r);
    balancer_settings(m, b);
    history(r, b);
    ap_rputs("</section>\n", r);
}

/* ---- the page ---- */

static const char *style_query(apr_pool_t *p)
{
    apr_ssize_t len = sizeof(modern_style) - 1;

    return apr_psprintf(p, "?style=%08x", apr_hashfunc_default(modern_style, &len));
}

int manager_style(request_rec *r)
{
    if (!r->args || strncmp(r->args, "style=", 6) != 0)
        return DECLINED;
    ap_set_content_type(r, "text/css; charset=utf-8");
    ap_set_content_length(r, sizeof(modern_style) - 1);
    apr_table_setn(r->headers_out, "Cache-Control", "max-age=31536000, immutable");
    ap_rwrite(modern_style, sizeof(modern_style) - 1, r);
    return OK;
}

void manager_modern(const manager_call *m)
{
    request_rec *r = m->r;

    ap_set_content_type(r, "text/html; charset=utf-8");
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_setn(r->headers_out, "Content-Security-Policy",
                   "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors "
                   "'none'; base-uri 'none'");
    ap_rvputs(r,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
              "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
              "name=\"color-scheme\" content=\"light dark\">\n<title>Balancers of ",
              text(r, ap_get_server_name(r)),
              "</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"",
              style_query(r->pool), "\">\n</head>\n<body>\n<main>\n<h1>Balancers of ",
              text(r, ap_get_server_name(r)), "</h1>\n<p class=\"soft\">What is changed here ",
              m->conf->persist == 1 ? "outlasts a restart." : "lasts until a restart.",
              " <a href=\"", text(r, r->uri), "\">Look again</a></p>\n", NULL);
    if (!m->conf->balancers->nelts)
        ap_rputs("<p>There is no balancer in this virtual host.</p>\n", r);
    for (int i = 0; i < m->conf->balancers->nelts; i++)
        balancer(m, APR_ARRAY_IDX(m->conf->balancers, i, proxy_balancer *));
    ap_rputs("</main>\n</body>\n</html>\n", r);
}
