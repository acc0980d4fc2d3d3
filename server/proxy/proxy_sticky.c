/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that stay with a member: its route stands in a parameter of the URL or in a cookie. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

/* ---- of whom is looked at ---- */

apr_pool_t *proxy_asker_pool(proxy_asker *a)
{
    if (!a->pool)
        apr_pool_create(&a->pool, a->of_pool);
    return a->pool;
}

/* Each name stands once in the head of a request without a request_rec (proxy_ahead_head.c). */
const char *proxy_asker_field(proxy_asker *a, const char *name)
{
    const size_t len = strlen(name);

    if (a->r)
        return apr_table_get(a->r->headers_in, name);
    for (int i = 0; i < a->head->n_fields; i++) {
        const http_field *f = &a->head->field[i];

        if (http_field_is(f, name, len))
            return apr_pstrmemdup(proxy_asker_pool(a), f->value, f->value_len);
    }
    return NULL;
}

void proxy_session_tell(request_rec *r, const proxy_session *session)
{
    if (session->changed)
        apr_table_setn(r->subprocess_env, "BALANCER_ROUTE_CHANGED", "1");
    if (!session->route)
        return;
    BRG_ASSERT(*session->sticky);
    apr_table_set(r->notes, "session-sticky", session->sticky);
    apr_table_set(r->notes, "session-route", session->route);
    apr_table_set(r->subprocess_env, "BALANCER_SESSION_STICKY", session->sticky);
    apr_table_set(r->subprocess_env, "BALANCER_SESSION_ROUTE", session->route);
}

/* ---- members ---- */

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

static const char *sticky_of_cookie(proxy_asker *a, const char *name)
{
    const char *field = proxy_asker_field(a, "Cookie");

    return field ? sticky_of_field(proxy_asker_pool(a), field, name) : NULL;
}

static proxy_worker *sticky_member(request_rec *r, const proxy_target *t, const char *route,
                                   apr_time_t now, int redirects)
{
    const apr_array_header_t *members = proxy_members(t->balancer);

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
                        ? sticky_member(r, t, redirect, now, redirects + 1)
                        : NULL;
            if (other)
                return other;
        }
    return NULL;
}

/* The value in the URL comes first. */
static const char *sticky_value(proxy_asker *a, const balancer_state *s, const char *cookie,
                                const char *param)
{
    const int separator = atomic_load(&s->separator);
    apr_pool_t *pool = proxy_asker_pool(a);
    const char *value = *param ? sticky_of_url(pool, a->url, param, atomic_load(&s->scolon)) : NULL;

    a->session.sticky = apr_pstrdup(pool, value ? param : cookie);
    if (!value)
        value = sticky_of_cookie(a, cookie);
    if (value && separator) {
        value = strchr(value, separator);
        value = value ? value + 1 : NULL;
    }
    return value;
}

proxy_worker *proxy_sticky(proxy_asker *a, const proxy_target *t, apr_time_t now)
{
    balancer_state *s = t->balancer->state;
    char cookie[BALANCER_STICKY_SIZE], param[BALANCER_STICKY_SIZE], own[PROXY_ROUTE_SIZE];
    const char *value;
    proxy_worker *w;

    BRG_ASSERT(t->balancer && !a->session.route && !a->session.sticky);
    proxy_text_read(&s->names, s->sticky, cookie, sizeof cookie);
    if (!*cookie)
        return NULL;
    proxy_text_read(&s->names, s->sticky_path, param, sizeof param);
    a->session.route = value = sticky_value(a, s, cookie, param);
    if (!value || !*value)
        return NULL;
    if (a->r)
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, a->r, APLOGNO(01161) "Found route %s", value);
    w = sticky_member(a->r, t, value, now, 0);
    if (w && strcmp(proxy_route(w, own), value) != 0)
        a->session.changed = 1;
    return w && proxy_was_tried(t, w) ? NULL : w;
}
