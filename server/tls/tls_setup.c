/* SPDX-License-Identifier: Apache-2.0 */
/* After the configuration was read: the servers with TLS, their contexts, and the objects of each
 * loop. */
#include "tls_certificate.h"
#include "tls_context_private.h"
#include "tls_proxy_private.h"
#include "tls_setup.h"
#include "clock.h"
#include "transport.h"
#include "vhosts.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/process.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define SETUP_AGAIN_US APR_USEC_PER_SEC

/* Servers with TLS, in the order of the configuration. */
static tls_server_conf **setup_servers;
static int setup_servers_n;

/* Records are our own. */
static int setup_records;

/* Handshakes reach different sets of hosts: the response cache has to know. */
static int setup_differs;

/* ---- checks ---- */

/* Read all of a server, and see that it would work. @return its certificates, in ptemp; NULL: logged */
static apr_array_header_t *setup_try(tls_server_conf *sc, int complete, apr_pool_t *p,
                                     apr_pool_t *ptemp)
{
    apr_array_header_t *pairs;
    SSL_CTX *ctx;

    BRG_ASSERT(sc->enabled == 1);
    if (tls_trust_read(sc, p))
        return NULL;
    tls_compat_session_id(sc, ptemp);
    pairs = tls_credentials_first(sc, complete, p, ptemp, ptemp);
    ctx = pairs ? tls_context_make(sc, pairs, NULL, NULL) : NULL;
    SSL_CTX_free(ctx);
    return ctx ? pairs : NULL;
}

static int setup_works(const tls_server_conf *sc, const apr_array_header_t *pairs)
{
    SSL_CTX *ctx = tls_context_make(sc, pairs, NULL, NULL);

    SSL_CTX_free(ctx);
    return ctx != NULL;
}

static apr_status_t setup_server(tls_server_conf *sc, apr_pool_t *p, apr_pool_t *ptemp)
{
    apr_array_header_t *pairs = setup_try(sc, 1, p, ptemp);

    BRG_ASSERT(sc->index < 0);
    if (!pairs)
        return tls_pass_is_unasked() ? APR_SUCCESS : APR_EGENERAL;
    tls_staple_begin(sc, pairs, p, ptemp);
    if (tls_store_put(setup_servers_n, pairs)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, sc->server,
                     "TLS: no room for certificates and keys");
        return APR_EGENERAL;
    }
    sc->index = setup_servers_n;
    setup_servers[setup_servers_n++] = sc;
    return APR_SUCCESS;
}

/* Listen ADDRESS https, and Protocol https, mean it too. A server that says nothing of TLS shares its
 * configuration with others, which this does not concern. */
static void setup_settle(server_rec *s, apr_pool_t *p)
{
    tls_server_conf *sc = tls_conf_of(s);
    const char *protocol = ap_get_server_protocol(s);

    if (sc->enabled == TLS_UNSET && protocol && !strcmp(protocol, "https")) {
        if (sc->server != s) {
            sc = apr_pmemdup(p, sc, sizeof *sc);
            ap_set_module_config(s->module_config, &ssl_module, sc);
            sc->server = s;
        }
        sc->enabled = 1;
    }
    sc->index = TLS_UNSET;
}

int tls_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server)
{
    for (server_rec *s = main_server; s; s = s->next) {
        tls_server_conf *sc = tls_conf_of(s);

        setup_settle(s, p);
        if (sc->enabled == 1 && tls_credentials_are_at_hand(sc, ptemp) &&
            !setup_try(sc, 0, ptemp, ptemp))
            return HTTP_INTERNAL_SERVER_ERROR;
        sc->pairs = NULL;
    }
    return OK;
}

/* ---- objects of a loop ---- */

struct tls_view {
    struct tls_view *next;
    const void *chain;
    int compat;
};

/* The response cache's key in place of @a chain, for connections whose handshake was with servers
 * of @a compat. */
static const void *tls_view_of(tls_loop *loop, const void *chain, int compat)
{
    struct tls_view *v;

    for (v = loop->views; v; v = v->next)
        if (v->chain == chain && v->compat == compat)
            return v;
    if (!(v = malloc(sizeof *v)))
        return NULL;
    *v = (struct tls_view){.next = loop->views, .chain = chain, .compat = compat};
    loop->views = v;
    return v;
}

int tls_view_set(const tls_conn *t)
{
    const void *view;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(t->established);
    if (!setup_differs)
        return 0;
    view = tls_view_of(t->loop, t->bc->chain, t->sni ? tls_conf_of(t->server)->reach : -1);
    if (view)
        t->bc->chain = view;
    return view ? 0 : -1;
}

/* The SSL_CTX of a server from the certificates in the store. Connections that began keep theirs.
 */
static void context_take(tls_loop *loop, int index)
{
    SSL_CTX *ctx, *old = loop->ctx[index];
    tls_stored stored;
    apr_pool_t *p;

    BRG_ASSERT(index >= 0 && index < setup_servers_n && setup_servers[index]->index == index);
    apr_pool_create(&p, NULL);
    if (!tls_store_get(index, p, &stored)) {
        ctx = tls_context_make(setup_servers[index], stored.pairs, loop->lib, old);
        if (ctx) {
            SSL_CTX_free(old);
            loop->ctx[index] = ctx;
            loop->versions[index] = stored.version;
            tls_share_forget(loop);
        } else {
            loop->again = clock_monotonic() + SETUP_AGAIN_US; /* and not at each handshake */
        }
    }
    apr_pool_destroy(p);
}

SSL_CTX *tls_context_of(tls_loop *loop, const server_rec *s)
{
    const tls_server_conf *sc = tls_conf_of(s);

    BRG_ASSERT(sc->index < setup_servers_n);
    if (sc->index < 0)
        return NULL;
    if (tls_store_version(sc->index) != loop->versions[sc->index] &&
        clock_monotonic() >= loop->again)
        context_take(loop, sc->index);
    return loop->ctx[sc->index];
}

int tls_records_are_ours(void)
{
    return setup_records;
}

static tls_loop *loop_tls(const brg_loop *loop)
{
    return loop->layer;
}

static void setup_begin(brg_loop *loop)
{
    tls_loop *l = calloc(1, sizeof *l);

    BRG_ASSERT(loop->layer == NULL);
    tls_store_open();
    if (!l || !(l->ctx = calloc((size_t)setup_servers_n + 1, sizeof(*l->ctx))) ||
        !(l->versions = calloc((size_t)setup_servers_n + 1, sizeof(*l->versions))) ||
        !(l->lib = OSSL_LIB_CTX_new()) || tls_keys_begin(l)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, ENOMEM, loop->server, "TLS: no memory for a loop");
        ap_abort_on_oom(); /* another process may find some */
    }
    for (int i = 0; i < setup_servers_n; i++)
        context_take(l, i);
    tls_client_loop_begin(l);
    loop->layer = l;
}

static void setup_end(brg_loop *loop)
{
    tls_loop *l = loop_tls(loop);
    struct tls_view *v;

    if (!l)
        return;
    while ((v = l->views) != NULL) {
        l->views = v->next;
        free(v);
    }
    for (int i = 0; l->ctx && i < setup_servers_n; i++)
        SSL_CTX_free(l->ctx[i]);
    tls_client_loop_end(l);
    tls_share_forget(l);
    tls_named_end(l);
    tls_keys_end(l);
    OSSL_LIB_CTX_free(l->lib);
    free(l->ctx);
    free(l->versions);
    tls_staple_end(l);
    free(l);
    loop->layer = NULL;
}

/* ---- a connection begins ---- */

static void setup_accepted(brg_conn *bc)
{
    BRG_ASSERT(bc->below == NULL && bc->transport == NULL && bc->fd >= 0);
    vhost_of_connection(bc);
    if (tls_conf_of(bc->base)->index < 0 || bc->borrows) /* that one's handshake is QUIC's */
        return;
    BRG_ASSERT(loop_tls(bc->loop) != NULL);
    bc->driver = &tls_handshake_driver;
    bc->below = tls_conn_new(bc);
    if (bc->below) {
        bc->transport = &tls_transport;
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, bc->base, "TLS: no memory for a connection");
    bc->failed = 1; /* nothing is sent in the clear: it is closed at once */
}

static const loop_layer setup_layer = {.accepted = setup_accepted,
                                       .begin = setup_begin,
                                       .end = setup_end,
                                       .thread_end = OPENSSL_thread_stop};

int tls_setup_clients(const server_rec *s)
{
    if (tls_bio_begin()) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s, "TLS: no memory for connections");
        return -1;
    }
    loop_layer_set(&setup_layer);
    return 0;
}

static apr_status_t setup_forget(void *unused)
{
    loop_layer_set(NULL);
    setup_servers_n = 0;
    setup_servers = NULL;
    tls_servers_set(NULL, 0);
    return APR_SUCCESS;
}

int tls_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server)
{
    int n = 0;

    for (server_rec *s = main_server; s; s = s->next, n++)
        setup_settle(s, p);
    setup_servers = apr_pcalloc(p, sizeof(*setup_servers) * (apr_size_t)n);
    setup_servers_n = 0;
    apr_pool_cleanup_register(p, NULL, setup_forget, apr_pool_cleanup_null);
    if (tls_bio_begin()) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, main_server, "TLS: no memory for connections");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    setup_differs = tls_compat_begin(main_server, ptemp);
    if (tls_tickets_begin() || tls_sessions_begin(tls_settings.cache_bytes)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main_server,
                     "TLS: no shared memory for tickets and sessions");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (tls_store_begin(p, n)) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main_server,
                     "TLS: no memory for certificates and keys");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    for (server_rec *s = main_server; s; s = s->next) {
        tls_server_conf *sc = tls_conf_of(s);

        /* A server that says nothing of TLS shares the main server's settings. */
        if (sc->enabled == 1 && sc->index < 0 && setup_server(sc, p, ptemp) != APR_SUCCESS)
            return HTTP_INTERNAL_SERVER_ERROR;
    }
    tls_share_begin();
    tls_servers_set(setup_servers, setup_servers_n);
    setup_records = setup_servers_n && tls_selftest(main_server);
    if (setup_servers_n) {
        loop_layer_set(&setup_layer);
        tls_exchange_begin(p, setup_servers, setup_servers_n, setup_works);
    }
    return OK;
}
