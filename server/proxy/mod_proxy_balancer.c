/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in mod_proxy_balancer: the handler balancer-manager. */
#include "manager_private.h"
#include "proxy_growth.h"
#include "apr_crypto.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "apr_uri.h"
#include "brigade/pages.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy_balancer);

#define MANAGER_FORM_MOST 16384
#define MANAGER_FIELDS_MOST 64

/* ---- parameters ---- */

/* A page of another site must not make a browser change something here: parameters of a link from there do not count. */
static int manager_is_own_link(request_rec *r)
{
    const char *referer = apr_table_get(r->headers_in, "Referer");
    apr_uri_t uri;

    return referer && apr_uri_parse(r->pool, referer, &uri) == APR_SUCCESS && uri.hostname &&
           r->hostname && !strcasecmp(uri.hostname, r->hostname);
}

static void manager_query(request_rec *r, apr_table_t *params)
{
    const char *args = r->args ? r->args : "";

    while (*args) {
        char *pair = ap_getword(r->pool, &args, '&'), *value = strchr(pair, '=');

        if (value)
            *value++ = '\0';
        if (!ap_unescape_urlencoded(pair) && (!value || !ap_unescape_urlencoded(value)))
            apr_table_set(params, pair, value ? value : "");
    }
}

static int manager_form(request_rec *r, apr_table_t *params)
{
    apr_array_header_t *pairs = NULL;

    if (ap_parse_form_data(r, NULL, &pairs, MANAGER_FIELDS_MOST, MANAGER_FORM_MOST) != OK)
        return HTTP_BAD_REQUEST;
    while (pairs && !apr_is_empty_array(pairs)) {
        ap_form_pair_t *pair = apr_array_pop(pairs);
        apr_off_t len;
        apr_size_t size;
        char *value;

        apr_brigade_length(pair->value, 1, &len);
        size = (apr_size_t)len;
        value = apr_palloc(r->pool, size + 1);
        apr_brigade_flatten(pair->value, value, &size);
        value[size] = '\0';
        apr_table_set(params, pair->name, value);
    }
    return OK;
}

static int manager_params(request_rec *r, apr_table_t *params)
{
    if (!manager_is_own_link(r)) {
        if (r->method_number == M_POST)
            return ap_discard_request_body(r);
        return OK;
    }
    manager_query(r, params);
    return r->method_number == M_POST ? manager_form(r, params) : OK;
}

static void manager_find(manager_call *m)
{
    const char *name = apr_table_get(m->params, "b"), *worker = apr_table_get(m->params, "w");

    BRG_ASSERT(!m->balancer && !m->worker);
    if (!name)
        return;
    m->balancer = proxy_balancer_find(m->conf, apr_pstrcat(m->r->pool, "balancer://", name, NULL));
    if (m->balancer && worker)
        for (int i = 0; i < proxy_members(m->balancer)->nelts; i++) {
            proxy_worker *w = APR_ARRAY_IDX(proxy_members(m->balancer), i, proxy_worker *);

            if (!strcmp(w->name, worker))
                m->worker = w;
        }
}

/* Only pages of this server have the nonce: a client that sends it has read such a page. */
static int manager_may_change(const manager_call *m)
{
    const char *nonce = apr_table_get(m->params, "nonce"), *own;

    BRG_ASSERT(!m->worker || m->worker->balancer == m->balancer);
    if (m->r->method_number != M_POST || !m->balancer)
        return 0;
    own = proxy_nonce(m->r->pool, m->balancer);
    return nonce && strlen(nonce) == strlen(own) && apr_crypto_equals(nonce, own, strlen(own));
}

int balancer_manager(request_rec *r)
{
    manager_call m = {.r = r};
    const int modern = brg_pages_of(r) != BRG_PAGES_APACHE;
    int rv;

    if (!r->handler || strcmp(r->handler, "balancer-manager") != 0)
        return DECLINED;
    r->allowed = (AP_METHOD_BIT << M_GET) | (AP_METHOD_BIT << M_POST);
    if (r->method_number != M_GET && r->method_number != M_POST)
        return DECLINED;
    m.conf = proxy_conf_of(r->server);
    m.params = apr_table_make(r->pool, 8);
    rv = manager_params(r, m.params);
    if (rv != OK)
        return rv;
    manager_find(&m);
    if (modern && (rv = manager_style(r)) != DECLINED)
        return rv;
    if (manager_may_change(&m)) {
        if ((rv = manager_change(&m)) != OK)
            return rv;
        if (modern) { /* a page that can be loaded again */
            apr_table_setn(r->headers_out, "Location", ap_escape_uri(r->pool, r->uri));
            return HTTP_SEE_OTHER;
        }
    }
    if (apr_table_get(m.params, "xml"))
        manager_xml(&m);
    else if (modern)
        manager_modern(&m);
    else
        manager_page(&m);
    return OK;
}

/* The form of a request may have to be waited for. */
static int manager_fixups(request_rec *r)
{
    if (brg_handler_is(r, "balancer-manager"))
        brg_request_needs_worker(r);
    return DECLINED;
}

static void balancer_hooks(apr_pool_t *p)
{
    (void)p;
    brg_cache_declare(&proxy_balancer_module, NULL);
    brg_handlers_are_for(&proxy_balancer_module, "balancer-manager");
    ap_hook_fixups(manager_fixups, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(balancer_manager, NULL, NULL, APR_HOOK_FIRST);
}

module AP_MODULE_DECLARE_DATA proxy_balancer_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, balancer_hooks, 0};
