/* SPDX-License-Identifier: Apache-2.0 */
/* Of which requests a plan is made (proxy_plan.h). The effects of the phases on the request must
 * follow from its target alone, and from the dependencies that modules named: only its destination
 * remains. */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "proxy_fields.h"
#include "connection.h"
#include "http_fields.h"
#include "http_response.h"
#include "placement.h"
#include "request_context.h"
#include "stock_policy.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "mod_core.h"
#include <stdlib.h>
#include <string.h>

static const cache_plan_kind plan_kind = {.begin = proxy_ahead_begin};

/* ---- requests with a plan ---- */

/* The filters of the protocol itself, behind those that may compress and that of mod_headers, and nothing else. */
static int plan_filters_are_plain(proxy_exchange *x)
{
    const request_rec *r = x->r;
    const ap_filter_rec_t *const plain[] = {
        ap_byterange_filter_handle, ap_content_length_filter_handle, ap_http_header_filter_handle,
        ap_http_outerror_filter_handle, ap_core_output_filter_handle};
    const ap_filter_t *f = r->output_filters;

    for (; f && f->frec->ftype < AP_FTYPE_PROTOCOL && !proxy_edits_filter(f->frec); f = f->next)
        if (!proxy_coding_take(x, f)) {
            request_set_unplanned_filter(r, f->frec->name);
            return 0;
        }
    x->plan.is_edited = f && proxy_edits_filter(f->frec);
    f = x->plan.is_edited ? f->next : f;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++, f = f->next)
        if (!f || f->frec != plain[i])
            return 0;
    return !f && r->input_filters == r->proto_input_filters;
}

int proxy_plans_for(const proxy_worker *w)
{
    const proxy_codec *codec = proxy_codec_of(w->scheme);

    return codec && codec->plans && !w->generic && w->origin;
}

static int plan_has_codec(const proxy_exchange *x)
{
    return x->codec != NULL;
}

static int plan_connection_is_plain(const proxy_exchange *x)
{
    const brg_conn *bc = connection_of(x->r->connection);

    return bc && (bc->protocol == CONN_HTTP1) == !bc->master && !bc->module_driven;
}

static int plan_request_is_plain(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    return r->method_number == M_GET && !r->header_only && !x->body.exists && !r->main &&
           r->proto_num >= HTTP_VERSION(1, 0);
}

static int plan_way_is_plain(const proxy_exchange *x)
{
    return (!x->r->prev || x->codec->script) && x->r->proxyreq == PROXYREQ_REVERSE;
}

static int plan_worker_is_plain(const proxy_exchange *x)
{
    const proxy_target *t = x->target;

    return x->codec->script || (t->worker && !t->dynamic && !t->remotes_n &&
                                x->origin == t->worker->origin && proxy_plans_for(t->worker));
}

static int plan_script_is_plain(const proxy_exchange *x)
{
    return !x->codec->script || proxy_plan_script_is_plain(x);
}

static int plan_fields_are_plain(const proxy_exchange *x)
{
    return x->codec->script || apr_is_empty_table(x->r->err_headers_out);
}

static int plan_clients_are_plain(const proxy_exchange *x)
{
    (void)x;
    return !changed_fields_are_there();
}

/* Variables by which a module, or the configuration, has requests and answers made otherwise. */
static int plan_environment_is_plain(const proxy_exchange *x)
{
    const request_rec *r = x->r;
    static const char *const special[] = {
        "proxy-nokeepalive", "force-proxy-request-1.0", "proxy-initial-not-pooled",
        "Proxy-Chain-Auth",  "force-no-vary",           "nokeepalive",
        "downgrade-1.0",     "force-response-1.0",      "no-proxy"};

    if (x->codec->script || apr_is_empty_table(r->subprocess_env))
        return 1;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (apr_table_get(r->subprocess_env, special[i]))
            return 0;
    return 1;
}

int proxy_plan_holds(const proxy_exchange *x, const proxy_plan_ask *asks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!asks[i].holds(x)) {
            request_set_unplanned(x->r, asks[i].why);
            return 0;
        }
    return 1;
}

void proxy_plan_look(proxy_exchange *x)
{
    static const proxy_plan_ask asks[] = {
        {plan_has_codec, "it waited for a member of its balancer"},
        {plan_connection_is_plain, "a module drives the client's connection"},
        {plan_request_is_plain, "it is no GET, has a body, or is a part of a page"},
        {plan_way_is_plain,
         "it is a forward proxy's, or a rule led to another path of this server first"},
        {plan_worker_is_plain, "the backend's URL goes with the request (a variable, ProxyRemote), "
                               "or its protocol has no plans"},
        {plan_script_is_plain, "the script's backend has no plans"},
        {plan_fields_are_plain, "a module sets fields of the answer beside those of Header"},
        {plan_clients_are_plain, "addresses of clients come in fields (RemoteIPHeader)"}};

    BRG_ASSERT(!x->plan.may && !x->answer.complete);
    if (!connection_of(x->client) || !cache_plans_are_kept(exchange_loop(x)->cache))
        return;
    x->plan.may =
        proxy_plan_holds(x, asks, sizeof asks / sizeof *asks) && plan_filters_are_plain(x);
    if (!x->plan.may)
        request_set_unplanned(x->r, "filters of the protocol were changed");
}

/* What was set beside the answer of the backend. */
static int plan_answer_is_plain(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    if (x->codec->script) /* the rest was looked at before it came */
        return !r->no_cache && !r->no_local_copy;
    return (x->plan.is_edited || apr_is_empty_table(r->err_headers_out)) && !r->content_encoding &&
           apr_is_empty_array(r->content_languages) && !r->no_cache && !r->no_local_copy;
}

/* The query is sent as it came. */
static int plan_target_is_plain(const proxy_exchange *x)
{
    const char *sent = strchr(x->target->path, '?'), *came = strchr(x->r->unparsed_uri, '?');

    return x->codec->script || (sent && came ? !strcmp(sent, came) : sent == came);
}

/* ---- for all below a prefix ---- */

/* The path that is sent, without that of a member, and the query. */
static const char *plan_path(const proxy_target *t)
{
    return t->path + (t->balancer ? strlen(t->worker->prefix) : 0);
}

/* No worker is for some only of the URLs that begin with the first @a len bytes of that of @a x. */
static int plan_worker_is_alone(const proxy_exchange *x, size_t len)
{
    const apr_array_header_t *workers = proxy_conf_of(x->r->server)->workers;

    for (int i = 0; i < workers->nelts; i++) {
        const proxy_worker *w = APR_ARRAY_IDX(workers, i, proxy_worker *);
        const size_t fixed = w->prefix_match ? strcspn(w->name, "$") : strlen(w->name);

        if ((fixed > len || w->prefix_match) &&
            !strncmp(w->name, x->target->url, fixed < len ? fixed : len))
            return 0;
    }
    return 1;
}

/* How much of the URL of @a t stands before @a rest bytes of its path. 0: its path is not part of it */
static size_t plan_url_len(const proxy_target *t, size_t rest)
{
    const size_t all = strlen(t->url);

    return t->path >= t->url && t->path < t->url + all
               ? (size_t)(t->path - t->url) + strcspn(t->path, "?") - rest
               : 0;
}

/* So much of its path is a prefix below which all go the way of @a x, as far as modules say the same of them; 0: nothing is */
static size_t plan_prefix(const proxy_exchange *x)
{
    const request_rec *r = x->r;
    const size_t below = r->prev ? 0 : proxy_place_prefix(r, plan_path(x->target));
    size_t url_len;

    if (!below || proxy_conf_of(r->server)->remotes->nelts ||
        /* proxy_name() knows the URLs of a server's ProxyPass alone */
        (proxy_dir_of(r)->alias && proxy_conf_of(r->server)->sections->nelts) ||
        !policy_names_see_alike(r->per_dir_config, r->server->lookup_defaults, &proxy_module))
        return 0;
    if (x->target->balancer)
        return below;
    url_len = plan_url_len(x->target, strlen(r->uri + below));
    return url_len && plan_worker_is_alone(x, url_len) &&
                   (!x->codec->script || proxy_plan_script_is_apart(x, below))
               ? below
               : 0;
}

/* ---- making one ---- */

/* @param text  may be NULL, of no length */
static char *plan_put(char *to, const char *text, size_t len)
{
    if (len)
        memcpy(to, text, len);
    return to + len;
}

/* Text of a plan, in its order. */
typedef struct plan_text {
    brg_text target;
    proxy_frame frame;
    const char *via, *charset; /* NULL: none is added */
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
    if (t->via) {
        p->via = to;
        to = plan_put(to, t->via, strlen(t->via) + 1);
    }
    if (t->charset)
        p->charset = strcpy(to, t->charset);
}

/* Of fields that modules changed: @a to has room for all. */
static void plan_write_changes(proxy_plan *p, request_rec *r, char *to)
{
    const char *name;

    p->changed = (http_field *)(void *)to;
    for (int i = 0; (name = cache_plan_changes(r, i)) != NULL; i++)
        p->changed_n++;
    to = (char *)(p->changed + p->changed_n);
    for (uint32_t i = 0; i < p->changed_n; i++) {
        http_field *f = &p->changed[i];
        const char *value;

        name = cache_plan_changes(r, (int)i);
        p->moved |= (uint32_t)cache_plan_moves(r, (int)i) << i;
        value = apr_table_get(r->headers_in, name);
        f->name = to;
        f->name_len = (uint32_t)strlen(name);
        to = plan_put(to, name, f->name_len);
        if (!value)
            continue;
        f->value = to;
        f->value_len = (uint32_t)strlen(value);
        to = plan_put(to, value, f->value_len);
    }
}

static size_t plan_changes_bytes(request_rec *r)
{
    const char *name, *value;
    size_t bytes = 0;

    for (int i = 0; (name = cache_plan_changes(r, i)) != NULL; i++) {
        value = apr_table_get(r->headers_in, name);
        bytes += sizeof(http_field) + strlen(name) + (value ? strlen(value) : 0);
    }
    return APR_ALIGN_DEFAULT(bytes);
}

static int plan_place(const apr_table_t *fields, const char *name)
{
    const apr_array_header_t *all = apr_table_elts(fields);

    for (int i = 0; i < all->nelts; i++)
        if (!strcasecmp(APR_ARRAY_IDX(all, i, apr_table_entry_t).key, name))
            return i;
    return -1;
}

/* Fields that are moved are the last ones, in the order of changes. */
static int plan_moves_are_plain(const request_rec *r)
{
    int last = apr_table_elts(r->headers_in)->nelts, i = 0;

    while (cache_plan_changes(r, i))
        i++;
    for (; i-- > 0;)
        if (cache_plan_moves(r, i) && plan_place(r->headers_in, cache_plan_changes(r, i)) != --last)
            return 0;
    return 1;
}

/* A field that was changed means nothing to this server. One that proxies add to goes to a script as others do; clients that send it have
 * no plan, so that taking it away changes nothing for those that have. */
static int plan_change_is_plain(const proxy_exchange *x, const char *name)
{
    const size_t len = strlen(name);
    const proxy_field_rule rule = proxy_field_rule_of(http_field_id_of(name, len), name, len);

    return rule == PROXY_FIELD_GOES ||
           (rule == PROXY_FIELD_ADDED_TO &&
            (x->codec->script || !apr_table_get(x->r->headers_in, name)));
}

static int plan_changes_are_plain(const proxy_exchange *x)
{
    const request_rec *r = x->r;
    const char *name;

    if (!plan_moves_are_plain(r))
        return 0;
    for (int i = 0; (name = cache_plan_changes(r, i)) != NULL; i++)
        if (i >= 32 || !plan_change_is_plain(x, name))
            return 0;
    return 1;
}

static size_t plan_text_bytes(const plan_text *t)
{
    return strlen("GET ") + t->target.len + t->frame.before.len + t->frame.ours.len +
           t->frame.behind.len + (t->via ? strlen(t->via) + 1 : 0) +
           (t->charset ? strlen(t->charset) + 1 : 0);
}

static void plan_of_answers(proxy_plan *p, request_rec *r)
{
    p->overrides = proxy_dir_of(r)->override == 1;
    p->minor =
        (int8_t)((p->via || p->script) && !r->connection->master ? HTTP_VERSION_MINOR(r->proto_num)
                                                                 : -1);
    if (p->script_head) /* its fields are not looked at */
        return;
    p->reverses_urls = p->reversal.list[PROXY_REVERSES_URLS]->nelts > 0;
    p->reverses_cookies = p->reversal.list[PROXY_REVERSES_PATHS]->nelts +
                              p->reversal.list[PROXY_REVERSES_DOMAINS]->nelts >
                          0;
    p->looks_at_via = proxy_settings_of(r->server)->via != PROXY_VIA_OFF;
}

/* Texts around the fields of a request over HTTP. */
static void plan_text_of_http(plan_text *text, const proxy_exchange *x)
{
    proxy_request_frame((proxy_exchange *)(uintptr_t)x, &text->frame);
    if (x->target->balancer && !x->conf.preserve_host)
        text->frame.before.len = strlen(" HTTP/1.1\r\n");
}

static void plan_text_of_answers(plan_text *text, const proxy_exchange *x)
{
    const proxy_via via = proxy_settings_of(x->server)->via;

    if (via == PROXY_VIA_ON || via == PROXY_VIA_FULL)
        text->via = proxy_via_value(x->r, via);
}

static cache_plan *plan_make(request_rec *first, void *baton)
{
    proxy_exchange *x = baton;
    request_rec *r = x->r; /* what rules led to */
    const proxy_balancer *b = x->target->balancer;
    const int any_query = !policy_query_counts(r);
    const size_t differs = cache_plan_is_for_all(first);
    const size_t below = differs ? x->plan.offer.below : 0;
    const char *path = plan_path(x->target);
    plan_text text = {.target = {path, any_query || below ? strcspn(path, "?") : strlen(path)}};
    proxy_reversal reversal = proxy_reversal_of(r);
    const int script_head = x->codec->script && !x->codec->http_head;
    proxy_plan_script *script =
        x->codec->script ? proxy_plan_script_of(x, any_query, differs ? first->uri : NULL, differs)
                         : NULL;
    size_t bytes, changes_at, edits_at, coding_at, script_at;
    proxy_plan *p;

    BRG_ASSERT(x->target->worker && x->origin && first->pool == r->pool);
    if (below)
        text.target.len -= strlen(r->uri + below);
    if (!script && x->codec->script) {
        request_set_unplanned(r, "the script is told of its request in a way that no plan knows");
        return NULL;
    }
    if (!script)
        plan_text_of_http(&text, x);
    if (!script_head)
        plan_text_of_answers(&text, x);
    text.charset = http_default_charset(r);
    changes_at = APR_ALIGN_DEFAULT(sizeof *p + plan_text_bytes(&text));
    edits_at =
        APR_ALIGN_DEFAULT(changes_at + plan_changes_bytes(r) + proxy_reversal_bytes(&reversal));
    coding_at = edits_at + proxy_edits_bytes(x->plan.edits);
    script_at = coding_at + proxy_coding_bytes(x->plan.coding);
    bytes = script_at + (script ? script->bytes : 0);
    if (!(p = calloc(1, bytes)))
        return NULL;
    p->plan = (cache_plan){&plan_kind, bytes};
    p->worker = b ? NULL : x->target->worker;
    p->balancer = x->target->balancer;
    p->names_member = b && !x->conf.preserve_host;
    p->server = r->server;
    p->any_query = (uint8_t)any_query;
    p->below = (uint32_t)below;
    p->adds_for = (uint8_t)text.frame.adds_for;
    p->tells_status = x->conf.status_field;
    p->reuses = upstream_origin_settings(x->origin)->reuse != 0;
    p->reversal = reversal;
    plan_write_changes(p, r, (char *)p + changes_at);
    proxy_reversal_copy(&p->reversal, (char *)p + changes_at + plan_changes_bytes(r));
    proxy_edits_copy(p, x->plan.edits, (char *)p + edits_at);
    proxy_coding_copy(p, x->plan.coding, x->plan.coding_files, (char *)p + coding_at);
    plan_write(p, &text);
    if (script)
        p->script = memcpy((char *)p + script_at, script, script->bytes);
    p->script_head = (uint8_t)script_head;
    plan_of_answers(p, r);
    return &p->plan;
}

static const char *plan_shape(const request_rec *first, void *baton)
{
    proxy_exchange *x = baton;

    return x->codec->script && !x->plan.offer.below
               ? proxy_plan_script_shape(proxy_plan_script_of(x, !policy_query_counts(x->r),
                                                              first->uri,
                                                              cache_plan_is_for_all(first)),
                                         first->pool)
               : "";
}

static int plan_url_is_plain(const proxy_exchange *x)
{
    return proxy_dir_of(x->r)->interpolate != 1;
}

void proxy_plan_offer(proxy_exchange *x)
{
    static const proxy_plan_ask asks[] = {
        {plan_environment_is_plain, "a variable has requests or answers made otherwise "
                                    "(proxy-nokeepalive, force-no-vary ...)"},
        {plan_target_is_plain, "the backend is asked with another query than the client's"},
        {plan_url_is_plain, "ProxyPassInterpolateEnv is on"},
        {plan_answer_is_plain,
         "a module says that the answer is not to be kept, or sets its fields"},
        {plan_changes_are_plain, "a module changes a field that means something to this server"}};
    request_rec *r = x->r;

    BRG_ASSERT(x->plan.may && x->answer.complete);
    if (!proxy_plan_holds(x, asks, sizeof asks / sizeof *asks))
        return;
    x->plan.edits =
        x->plan.is_edited ? proxy_edits_of(r, x->codec->script && !x->codec->http_head) : NULL;
    if (x->plan.is_edited && !x->plan.edits) {
        request_set_unplanned(r, "a rule of Header goes by the answer, the time or an access file");
        return;
    }
    x->plan.offer = (cache_plan_offer){.make = plan_make,
                                       .shape = plan_shape,
                                       .baton = x,
                                       .below = plan_prefix(x),
                                       .sends_env = x->codec->script};
    if (x->codec->script && !proxy_plan_script_any_query(x)) {
        x->plan.offer.query_led = proxy_plan_script_query_led(x);
        if (!x->plan.offer.query_led)
            brg_cache_depends_on_query(r);
    }
    cache_offer_plan(r, &x->plan.offer);
}
