/* SPDX-License-Identifier: Apache-2.0 */
/* Of which requests a plan is made (proxy_plan.h). What the phases did to the request must be told by its target alone, and by what
 * modules named: what is left of it is where it goes, and how. */
#include "proxy_plan.h"
#include "proxy_fields.h"
#include "configuration.h"
#include "connection.h"
#include "placement.h"
#include "request_context.h"
#include "stock_policy.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "mod_core.h"
#include <stdlib.h>
#include <string.h>

static const cache_plan_kind plan_kind = {.begin = proxy_ahead_begin};

/* ---- who may have one ---- */

/* What the protocol itself puts there, and nothing else. */
static int plan_filters_are_plain(const request_rec *r)
{
    const ap_filter_rec_t *const plain[] = {
        ap_byterange_filter_handle, ap_content_length_filter_handle, ap_http_header_filter_handle,
        ap_http_outerror_filter_handle, ap_core_output_filter_handle};
    const ap_filter_t *f = r->output_filters;

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++, f = f->next)
        if (!f || f->frec != plain[i])
            return 0;
    return !f && r->input_filters == r->proto_input_filters;
}

static int plan_worker_is_plain(const proxy_exchange *x)
{
    const proxy_target *t = x->target;

    return t->worker && !t->dynamic &&
           (t->balancer ? proxy_balances_plainly(t->balancer) : t->path_at != 0) && !t->remotes_n &&
           !t->worker->generic && x->origin == t->worker->origin && x->codec->plans &&
           upstream_origin_settings(x->origin)->reuse;
}

static int plan_request_is_plain(const proxy_exchange *x)
{
    const request_rec *r = x->r;
    const brg_conn *bc = connection_of(r->connection);

    return bc && (bc->protocol == CONN_HTTP1) == !bc->master && !bc->module_driven &&
           r->method_number == M_GET && !r->header_only && !x->has_body && !r->main && !r->prev &&
           r->proxyreq == PROXYREQ_REVERSE && !r->user && r->proto_num >= HTTP_VERSION(1, 0);
}

/* Variables by which a module, or the configuration, has requests and answers made otherwise. */
static int plan_environment_is_plain(const request_rec *r)
{
    static const char *const special[] = {
        "proxy-nokeepalive", "force-proxy-request-1.0", "proxy-initial-not-pooled",
        "Proxy-Chain-Auth",  "force-no-vary",           "nokeepalive",
        "downgrade-1.0",     "force-response-1.0",      "no-proxy"};

    if (apr_is_empty_table(r->subprocess_env))
        return 1;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (apr_table_get(r->subprocess_env, special[i]))
            return 0;
    return 1;
}

static int plan_settings_are_plain(const proxy_exchange *x)
{
    const request_rec *r = x->r;
    const core_dir_config *d = ap_get_core_module_config(r->per_dir_config);

    return !x->conf.status_field && proxy_dir_of(r)->interpolate != 1 &&
           d->add_default_charset != ADD_DEFAULT_CHARSET_ON;
}

void proxy_plan_look(proxy_exchange *x)
{
    if (!x->loop || !cache_plans_are_kept(x->loop->cache))
        return;
    x->may_plan = plan_request_is_plain(x) && plan_worker_is_plain(x) &&
                  plan_filters_are_plain(x->r) && !conf_has_module_files() &&
                  !changed_fields_are_there();
}

/* What was set beside the answer of the backend. */
static int plan_answer_is_plain(const request_rec *r)
{
    return apr_is_empty_table(r->err_headers_out) && !r->content_encoding &&
           apr_is_empty_array(r->content_languages) && !r->no_cache && !r->no_local_copy;
}

/* The query that is sent is the one that came. */
static int plan_target_is_plain(const proxy_exchange *x)
{
    const char *sent = strchr(x->target->path, '?'), *came = strchr(x->r->unparsed_uri, '?');

    return sent && came ? !strcmp(sent, came) : sent == came;
}

/* ---- making one ---- */

static char *plan_put(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}

/* Text of a plan, in its order. */
typedef struct plan_text {
    brg_text target;
    proxy_frame frame;
    const char *via; /* NULL: none is added */
} plan_text;

static void plan_write(proxy_plan *p, const plan_text *t)
{
    char *to = plan_put(p->text, "GET ", strlen("GET "));

    to = plan_put(to, t->target.at, t->target.len);
    p->target_len = (uint32_t)(to - p->text);
    to = plan_put(to, t->frame.before.at, t->frame.before.len);
    p->before_len = (uint32_t)t->frame.before.len;
    to = plan_put(to, t->frame.ours.at, t->frame.ours.len);
    p->ours_len = (uint32_t)t->frame.ours.len;
    to = plan_put(to, t->frame.behind.at, t->frame.behind.len);
    p->behind_len = (uint32_t)t->frame.behind.len;
    if (!t->via)
        return;
    p->via_at = (uint32_t)(to - p->text);
    p->via_len = (uint32_t)strlen(t->via);
    (void)plan_put(to, t->via, p->via_len);
}

static void plan_of_answers(proxy_plan *p, request_rec *r)
{
    const proxy_via via = proxy_settings_of(r->server)->via;

    p->reverses_urls = p->reversal.list[PROXY_REVERSES_URLS]->nelts > 0;
    p->reverses_cookies = p->reversal.list[PROXY_REVERSES_PATHS]->nelts +
                              p->reversal.list[PROXY_REVERSES_DOMAINS]->nelts >
                          0;
    p->overrides = proxy_dir_of(r)->override == 1;
    p->looks_at_via = via != PROXY_VIA_OFF;
    p->minor =
        (int8_t)(p->via_len && !r->connection->master ? HTTP_VERSION_MINOR(r->proto_num) : -1);
}

static cache_plan *plan_make(request_rec *r, void *baton)
{
    proxy_exchange *x = baton;
    const proxy_via via = proxy_settings_of(r->server)->via;
    const proxy_balancer *b = x->target->balancer;
    const char *path = x->target->path + (b ? strlen(x->target->worker->prefix) : 0);
    plan_text text = {.target = {path, policy_query_counts(r) ? strlen(path) : strcspn(path, "?")}};
    proxy_reversal reversal = proxy_reversal_of(r);
    size_t bytes, at;
    proxy_plan *p;

    BRG_ASSERT(x->target->worker && x->origin);
    proxy_request_frame(x, &text.frame);
    if (b && !x->conf.preserve_host)
        text.frame.before.len = strlen(" HTTP/1.1\r\n");
    if (via == PROXY_VIA_ON || via == PROXY_VIA_FULL)
        text.via = proxy_via_value(r, via);
    bytes = sizeof *p + strlen("GET ") + text.target.len + text.frame.before.len +
            text.frame.ours.len + text.frame.behind.len + (text.via ? strlen(text.via) : 0);
    at = APR_ALIGN_DEFAULT(bytes);
    bytes = at + proxy_reversal_bytes(&reversal);
    if (!(p = calloc(1, bytes)))
        return NULL;
    p->plan = (cache_plan){&plan_kind, bytes};
    p->worker = b ? NULL : x->target->worker;
    p->balancer = x->target->balancer;
    p->names_member = b && !x->conf.preserve_host;
    p->server = r->server;
    p->any_query = !policy_query_counts(r);
    p->adds_for = (uint8_t)text.frame.adds_for;
    p->reversal = reversal;
    proxy_reversal_copy(&p->reversal, (char *)p + at);
    plan_write(p, &text);
    plan_of_answers(p, r);
    return &p->plan;
}

void proxy_plan_offer(proxy_exchange *x)
{
    request_rec *r = x->r;

    BRG_ASSERT(x->may_plan && x->complete);
    if (!plan_environment_is_plain(r) || !plan_settings_are_plain(x) || !plan_answer_is_plain(r) ||
        !plan_target_is_plain(x))
        return;
    x->plan = (cache_plan_offer){plan_make, x};
    cache_offer_plan(r, &x->plan);
}
