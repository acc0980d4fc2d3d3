/* SPDX-License-Identifier: Apache-2.0 */
/* The changes by the forms of balancer-manager. A value that is not valid changes nothing. */
#include "manager_private.h"
#include "proxy_growth.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(proxy_balancer);

const char *manager_sticky(apr_pool_t *p, balancer_state *s, int with_path)
{
    char cookie[BALANCER_STICKY_SIZE], path[BALANCER_STICKY_SIZE];

    BRG_ASSERT(with_path == 0 || with_path == 1);
    proxy_text_read(&s->names, s->sticky, cookie, sizeof cookie);
    proxy_text_read(&s->names, s->sticky_path, path, sizeof path);
    return with_path && strcmp(cookie, path) != 0 ? apr_pstrcat(p, cookie, "|", path, NULL)
                                                  : apr_pstrdup(p, cookie);
}

const char *manager_redirect(apr_pool_t *p, const proxy_worker *w)
{
    char text[PROXY_ROUTE_SIZE];

    return apr_pstrdup(p, proxy_text_read(&w->state->names, w->state->redirect, text, sizeof text));
}

const char *manager_route(apr_pool_t *p, const proxy_worker *w)
{
    char text[PROXY_ROUTE_SIZE];

    return apr_pstrdup(p, proxy_route(w, text));
}

int manager_attempts(const balancer_state *s)
{
    const int n = atomic_load(&s->attempts);

    return n == PROXY_UNSET ? 0 : n;
}

/* ---- of a worker ---- */

static void change_number(const manager_call *m, const char *name, int least, int most,
                          _Atomic int32_t *to)
{
    const char *value = apr_table_get(m->params, name);
    char *end;
    const long n = value ? strtol(value, &end, 10) : -1;

    BRG_ASSERT(least <= most);
    if (value && n >= least && n <= most)
        atomic_store(to, (int32_t)n);
}

static void change_factor(const manager_call *m, proxy_state *s)
{
    const char *value = apr_table_get(m->params, "w_lf");
    const double n = value ? atof(value) * 100 : 0;

    if (n >= 100 && n <= 10000)
        atomic_store(&s->lbfactor, (int32_t)n);
}

/* A route that is too long is refused. */
static void change_route(const manager_call *m, const char *name, proxy_state *s, char *to)
{
    const char *value = apr_table_get(m->params, name);

    if (value)
        proxy_text_write(&s->names, to, strlen(value) < PROXY_ROUTE_SIZE ? value : "",
                         PROXY_ROUTE_SIZE);
}

static void change_status(const manager_call *m, proxy_state *s)
{
    for (const char *letter = "INDHRCS"; *letter; letter++) {
        const char name[] = {'w', '_', 's', 't', 'a', 't', 'u', 's', '_', *letter, '\0'};
        const char *value = apr_table_get(m->params, name);

        if (!value)
            continue;
        if (atoi(value))
            atomic_fetch_or(&s->status, proxy_status_bit(*letter));
        else
            atomic_fetch_and(&s->status, ~proxy_status_bit(*letter));
    }
}

/* A share or a set that is new: all begin anew, at once with their own share (@a share) or with nothing. */
static void change_reset(const proxy_balancer *b, int share)
{
    BRG_ASSERT(share == 0 || share == 1);
    for (int i = 0; i < proxy_members(b)->nelts; i++) {
        proxy_state *s = APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *)->state;

        atomic_store(&s->lbstatus, share ? atomic_load(&s->lbfactor) : 0);
    }
}

/* For the page. Two changes at a time may share a row: it is for people. */
static void change_note(const proxy_balancer *b, const proxy_worker *w, uint32_t before)
{
    balancer_change *c =
        &b->state->change[atomic_fetch_add(&b->state->changes, 1) % BALANCER_CHANGES];
    uint32_t which = BALANCER_ITSELF;

    for (int i = 0; w && i < proxy_members(b)->nelts; i++)
        if (APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *) == w)
            which = (uint32_t)i;
    atomic_store(&c->at, apr_time_now());
    atomic_store(&c->member, which);
    atomic_store(&c->before, before);
    atomic_store(&c->after, w ? atomic_load(&w->state->status) : before);
}

static void change_worker(const manager_call *m)
{
    proxy_state *s = m->worker->state;
    const uint32_t before = atomic_load(&s->status);

    BRG_ASSERT(m->worker->balancer == m->balancer);
    change_factor(m, s);
    change_number(m, "w_ls", 0, 99, &s->lbset);
    change_route(m, "w_wr", s, s->route);
    change_route(m, "w_rr", s, s->redirect);
    change_status(m, s);
    change_reset(m->balancer, 1);
    change_note(m->balancer, m->worker, before);
    ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, m->r, "balancer-manager changed worker %s of %s",
                  m->worker->name, m->balancer->name);
}

/* ---- of a balancer ---- */

static void change_method(const manager_call *m, balancer_state *s)
{
    const char *value = apr_table_get(m->params, "b_lbm");
    const int method = value ? proxy_method_of(value) : -1;

    if (method < 0)
        return;
    atomic_store(&s->method, method);
    change_reset(m->balancer, 0);
}

static void change_sticky(const manager_call *m, balancer_state *s)
{
    const char *value = apr_table_get(m->params, "b_ss"), *bar;

    if (!value || !*value)
        return;
    if (!strcmp(value, "-"))
        value = "";
    if (strlen(value) >= sizeof s->sticky)
        return;
    bar = strchr(value, '|');
    proxy_text_write(&s->names, s->sticky,
                     bar ? apr_pstrmemdup(m->r->pool, value, (apr_size_t)(bar - value)) : value,
                     sizeof s->sticky);
    proxy_text_write(&s->names, s->sticky_path, bar ? bar + 1 : value, sizeof s->sticky_path);
}

/* @return OK or a status */
static int change_add(const manager_call *m)
{
    const char *url = apr_table_get(m->params, "b_nwrkr"),
               *sure = apr_table_get(m->params, "b_wyes");

    return url && sure && atoi(sure) ? proxy_member_add(m->r, m->balancer, url) : OK;
}

static int change_balancer(const manager_call *m)
{
    balancer_state *s = m->balancer->state;
    const char *timeout = apr_table_get(m->params, "b_tmo");
    const long seconds = timeout ? strtol(timeout, NULL, 10) : -1;

    BRG_ASSERT(m->balancer && !m->worker);
    change_method(m, s);
    if (seconds >= 0 && seconds <= 7200)
        atomic_store(&s->timeout, apr_time_from_sec(seconds));
    change_number(m, "b_max", 0, 99, &s->attempts);
    change_number(m, "b_sforce", 0, 1, &s->force);
    change_sticky(m, s);
    atomic_store(&s->updated_at, apr_time_now());
    change_note(m->balancer, NULL, 0);
    ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, m->r, "balancer-manager changed %s",
                  m->balancer->name);
    return change_add(m);
}

int manager_change(const manager_call *m)
{
    if (!m->worker)
        return change_balancer(m);
    change_worker(m);
    return OK;
}
