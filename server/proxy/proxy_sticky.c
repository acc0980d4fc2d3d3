/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that stay with a member: its route stands in a parameter of the URL or in a cookie. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <string.h>

APLOG_USE_MODULE(proxy);

#define STICKY_REDIRECTS 16 /* members that name another for their sessions, in a row */

/* Of ";name=value", "?name=value": value. */
static const char *sticky_of_url(apr_pool_t *p, const char *url, const char *name, int semicolon)
{
    const size_t len = strlen(name);

    for (const char *at = strstr(url, name); at; at = strstr(at, name)) {
        at += len;
        if (*at == '=' && at[1])
            return apr_pstrmemdup(p, at + 1, strcspn(at + 1, semicolon ? ";?&" : "?&"));
    }
    return NULL;
}

static const char *sticky_of_field(apr_pool_t *p, const char *field, const char *name)
{
    const size_t len = strlen(name);

    BRG_ASSERT(*name);
    for (const char *at = strstr(field, name); at; at = strstr(at + 1, name)) {
        const char *value = at + len;

        if (at != field && at[-1] != ';' && at[-1] != ',' && !apr_isspace(at[-1]))
            continue;
        while (apr_isspace(*value))
            value++;
        if (*value++ != '=' || !*value)
            continue;
        return apr_pstrmemdup(p, value, strcspn(value, ";,"));
    }
    return NULL;
}

static const char *sticky_of_cookie(request_rec *r, const char *name)
{
    const char *field = apr_table_get(r->headers_in, "Cookie");

    return field ? sticky_of_field(r->pool, field, name) : NULL;
}

static proxy_worker *sticky_member(request_rec *r, const proxy_target *t, const char *route,
                                   int redirects)
{
    const apr_array_header_t *members = proxy_members(t->balancer);
    const apr_time_t now = apr_time_now();

    BRG_ASSERT(redirects >= 0 && redirects <= STICKY_REDIRECTS);
    for (int standby = 0; standby < 2; standby++)
        for (int i = 0; i < members->nelts; i++) {
            proxy_worker *w = APR_ARRAY_IDX(members, i, proxy_worker *), *other;
            char own[PROXY_ROUTE_SIZE], redirect[PROXY_ROUTE_SIZE];

            if (((atomic_load(&w->state->status) & PROXY_STATUS_HOT_STANDBY) != 0) != standby ||
                strcmp(proxy_route(w, own), route) != 0)
                continue;
            if (proxy_worker_usable(r, w, now))
                return w;
            proxy_text_read(&w->state->names, w->state->redirect, redirect, sizeof redirect);
            other = *redirect && redirects < STICKY_REDIRECTS
                        ? sticky_member(r, t, redirect, redirects + 1)
                        : NULL;
            if (other)
                return other;
        }
    return NULL;
}

static int sticky_was_tried(const proxy_target *t, const proxy_worker *w)
{
    BRG_ASSERT(t->tried_n >= 0);
    for (int i = 0; i < t->tried_n; i++)
        if (t->tried[i] == w)
            return 1;
    return 0;
}

/* @param route   [out] of the session; NULL: it has none
 * @param sticky  [out] name of the cookie or parameter; NULL: the balancer keeps no sessions
 * @return the member for it; NULL: none, any may take it */
proxy_worker *proxy_sticky(request_rec *r, proxy_target *t, const char **route, const char **sticky)
{
    balancer_state *s = t->balancer->state;
    char cookie[BALANCER_STICKY_SIZE], param[BALANCER_STICKY_SIZE], own[PROXY_ROUTE_SIZE];
    const int separator = atomic_load(&s->separator);
    const char *value;
    proxy_worker *w;

    BRG_ASSERT(t->balancer && !*route && !*sticky);
    proxy_text_read(&s->names, s->sticky, cookie, sizeof cookie);
    if (!*cookie)
        return NULL;
    proxy_text_read(&s->names, s->sticky_path, param, sizeof param);
    value = *param ? sticky_of_url(r->pool, r->filename + 6, param, atomic_load(&s->scolon)) : NULL;
    *sticky = apr_pstrdup(r->pool, value ? param : cookie);
    if (!value)
        value = sticky_of_cookie(r, cookie);
    if (value && separator) {
        value = strchr(value, separator);
        value = value ? value + 1 : NULL;
    }
    *route = value;
    if (!value || !*value)
        return NULL;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, APLOGNO(01161) "Found route %s", value);
    w = sticky_member(r, t, value, 0);
    if (w && strcmp(proxy_route(w, own), value) != 0)
        apr_table_setn(r->subprocess_env, "BALANCER_ROUTE_CHANGED", "1");
    return w && sticky_was_tried(t, w) ? NULL : w;
}
