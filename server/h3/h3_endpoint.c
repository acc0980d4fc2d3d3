/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP sockets of a loop, and the secrets that all processes, generations and programs of a server have in common: what
 * connection ids are led to their sockets by, and what tokens and resets are made of. */
#include "h3_private.h"
#include "driver.h"
#include "kept_memory.h"
#include "loop.h"
#include "tls_quic.h"
#include "ap_listen.h"
#include "http_log.h"
#include "apr_general.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(http3);

/* ---- secrets ---- */

typedef struct endpoint_keys {
    uint32_t made, route;
    uint8_t token[QUIC_KEY_BYTES], reset[QUIC_KEY_BYTES];
} endpoint_keys;

static const endpoint_keys *endpoint_secrets(void)
{
    static endpoint_keys *keys;

    if (!keys && !(keys = kept_memory_map("http3-keys-1", sizeof *keys)))
        return NULL;
    if (!keys->made) { /* else of the program that this one replaced */
        if (apr_generate_random_bytes((unsigned char *)keys, sizeof *keys) != APR_SUCCESS)
            return NULL;
        keys->route |= 1;
        keys->made = 1;
    }
    return keys;
}

/* ---- of a loop ---- */

typedef struct endpoint_set {
    struct endpoint_set *next;
    quic_endpoint *ep;
    quic_setup setup;
} endpoint_set;

static void endpoint_setup(quic_setup *setup, const endpoint_keys *keys, const brg_listener *l,
                           const h3_server_conf *conf)
{
    BRG_ASSERT(keys->made && conf->max_streams > 0);
    quic_setup_defaults(setup);
    setup->user = &h3_user;
    setup->route = l->udp_route;
    setup->route_key = keys->route;
    memcpy(setup->token_key, keys->token, sizeof setup->token_key);
    memcpy(setup->reset_key, keys->reset, sizeof setup->reset_key);
    setup->idle_timeout = conf->idle_timeout;
    setup->handshake_timeout = conf->handshake_timeout;
    setup->max_streams = (uint32_t)conf->max_streams;
    setup->retry_above = conf->validation == H3_VALIDATE_ALWAYS  ? 0
                         : conf->validation == H3_VALIDATE_NEVER ? UINT32_MAX
                                                                 : setup->retry_above;
}

/* loop_datagrams.begin */
static int endpoint_begin(brg_loop *loop, brg_listener *l)
{
    const endpoint_keys *keys = endpoint_secrets();
    endpoint_set *e = keys ? calloc(1, sizeof *e) : NULL;
    h3_server_conf conf;

    if (!e) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, loop->server, "HTTP/3: no memory for a loop");
        return -1;
    }
    BRG_ASSERT(l->udp_fd > 0);
    h3_conf_of(loop->server, &conf);
    endpoint_setup(&e->setup, keys, l, &conf);
    if (!(e->ep = quic_endpoint_begin(loop, l, l->udp_fd, &e->setup))) {
        free(e);
        return -1;
    }
    e->next = loop->datagrams;
    loop->datagrams = e;
    return 0;
}

static void endpoint_drain(brg_loop *loop)
{
    for (endpoint_set *e = loop->datagrams; e; e = e->next)
        quic_endpoint_drain(e->ep);
}

/* loop_datagrams.figures */
static void endpoint_figures(brg_loop *loop)
{
    static const struct {
        brg_figure_id id;
        size_t at;
    } rows[] = {{BRG_FIGURE_QUIC_IN, offsetof(quic_figures, datagrams_in)},
                {BRG_FIGURE_QUIC_OUT, offsetof(quic_figures, datagrams_out)},
                {BRG_FIGURE_QUIC_PACKETS, offsetof(quic_figures, packets_sent)},
                {BRG_FIGURE_QUIC_LOST, offsetof(quic_figures, packets_lost)},
                {BRG_FIGURE_QUIC_BAD, offsetof(quic_figures, packets_bad)},
                {BRG_FIGURE_QUIC_FAILED, offsetof(quic_figures, handshakes_failed)},
                {BRG_FIGURE_QUIC_RETRIES, offsetof(quic_figures, retries)},
                {BRG_FIGURE_QUIC_RESETS, offsetof(quic_figures, resets_sent)},
                {BRG_FIGURE_QUIC_MIGRATIONS, offsetof(quic_figures, migrations)}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t sum = 0;

        for (const endpoint_set *e = loop->datagrams; e; e = e->next)
            sum += *(const uint64_t *)(const void *)((const char *)quic_endpoint_figures(e->ep) +
                                                     rows[i].at);
        figures_set(&loop->figures->own.value[rows[i].id], sum);
    }
}

static void endpoint_end(brg_loop *loop)
{
    endpoint_set *e;

    while ((e = loop->datagrams) != NULL) {
        loop->datagrams = e->next;
        quic_endpoint_end(e->ep);
        free(e);
    }
}

/* ---- which listeners ---- */

static int endpoint_is_of(const server_rec *s, const ap_listen_rec *rec)
{
    if (!s->addrs)
        return !s->port || s->port == rec->bind_addr->port;
    for (const server_addr_rec *a = s->addrs; a; a = a->next)
        if (!a->host_port || a->host_port == rec->bind_addr->port)
            return 1;
    return 0;
}

/* loop_datagrams.wanted */
static int endpoint_wanted(const server_rec *s, const ap_listen_rec *rec)
{
    if (rec->bind_addr->family != APR_INET && rec->bind_addr->family != APR_INET6)
        return 0;
    for (; s; s = s->next)
        if (h3_is_spoken(s) && endpoint_is_of(s, rec))
            return 1;
    return 0;
}

static uint32_t endpoint_route_key(void)
{
    const endpoint_keys *keys = endpoint_secrets();

    return keys ? keys->route : 1;
}

static const loop_datagrams endpoint_datagrams = {.wanted = endpoint_wanted,
                                                  .route_key = endpoint_route_key,
                                                  .begin = endpoint_begin,
                                                  .drain = endpoint_drain,
                                                  .figures = endpoint_figures,
                                                  .end = endpoint_end};

void h3_endpoints_set(int on)
{
    loop_datagrams_set(on ? &endpoint_datagrams : NULL);
    tls_quic_want(on);
}
