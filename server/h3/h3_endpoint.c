/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP sockets of a loop, and the secrets that all processes, generations and programs of a
 * server share: for routes in connection ids, for tokens and for resets. */
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

/* The promise to clients with early data (RFC 9000, 7.4.1; RFC 9114, 7.2.4.2), as a number that is
 * not 0. */
static uint64_t endpoint_promise(const quic_setup *s, const h3_server_conf *conf)
{
    const uint64_t values[] = {s->max_streams, s->max_uni_streams, s->stream_window, s->conn_window,
                               (uint64_t)conf->websockets};
    uint64_t sum = 1;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sum = sum * 0x100000001b3 + values[i];
    return sum ? sum : 1;
}

typedef struct endpoint_set {
    struct endpoint_set *next;
    quic_endpoint *ep;
    quic_setup setup;
    h3_server_conf conf;
} endpoint_set;

static int endpoint_is_of(const apr_array_header_t *subnets, brg_conn *bc)
{
    const uint8_t *client;
    const size_t len = conn_client_address(bc, &client);
    apr_sockaddr_t a;

    if (!len)
        return 0;
    conn_sockaddr_put(&a, len == 4 ? APR_INET : APR_INET6, client);
    for (int i = 0; i < subnets->nelts; i++)
        if (apr_ipsubnet_test(APR_ARRAY_IDX(subnets, i, apr_ipsubnet_t *), &a))
            return 1;
    return 0;
}

/* quic_setup.qlogs */
static int endpoint_qlogs(const quic_conn *qc)
{
    h3_server_conf conf;

    h3_conf_of(quic_conn_bc(qc)->loop->server, &conf);
    return !conf.qlog_of || endpoint_is_of(conf.qlog_of, quic_conn_bc(qc));
}

/* Handshakes of clients of whom nobody knows whether they are there take a part of the loop's places at most. */
static uint32_t endpoint_retry_above(const h3_server_conf *conf, const brg_loop *loop,
                                     uint32_t usual)
{
    const uint32_t part = loop->conns.most / 4;

    return conf->validation == H3_VALIDATE_ALWAYS  ? 0
           : conf->validation == H3_VALIDATE_NEVER ? UINT32_MAX
           : part < usual                          ? part
                                                   : usual;
}

static void endpoint_setup(quic_setup *setup, const endpoint_keys *keys, const brg_loop *loop,
                           const brg_listener *l, const h3_server_conf *conf)
{
    BRG_ASSERT(keys->made && conf->max_streams > 0);
    quic_setup_defaults(setup);
    setup->user = &h3_user;
    setup->of = conf;
    setup->route = l->udp_route;
    setup->route_key = keys->route;
    memcpy(setup->token_key, keys->token, sizeof setup->token_key);
    memcpy(setup->reset_key, keys->reset, sizeof setup->reset_key);
    setup->idle_timeout = conf->idle_timeout;
    setup->handshake_timeout = conf->handshake_timeout;
    setup->max_streams = (uint32_t)conf->max_streams;
    setup->qlog_dir = conf->qlog_dir;
    setup->qlogs = endpoint_qlogs;
    setup->early = conf->early ? endpoint_promise(setup, conf) : 0;
    setup->retry_above = endpoint_retry_above(conf, loop, setup->retry_above);
}

/* loop_datagrams.begin */
static int endpoint_begin(brg_loop *loop, brg_listener *l)
{
    const endpoint_keys *keys = endpoint_secrets();
    endpoint_set *e = keys ? calloc(1, sizeof *e) : NULL;

    if (!e) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, loop->server, "HTTP/3: no memory for a loop");
        return -1;
    }
    BRG_ASSERT(l->udp_fd > 0);
    h3_conf_of(h3_first_server(loop->server, l->addr->port), &e->conf);
    endpoint_setup(&e->setup, keys, loop, l, &e->conf);
    if (!(e->ep = quic_endpoint_begin(loop, l, l->udp_fd, &e->setup))) {
        free(e);
        return -1;
    }
    e->next = loop->accept.datagrams;
    loop->accept.datagrams = e;
    return 0;
}

static void endpoint_drain(brg_loop *loop)
{
    for (endpoint_set *e = loop->accept.datagrams; e; e = e->next)
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
                {BRG_FIGURE_QUIC_MIGRATIONS, offsetof(quic_figures, migrations)},
                {BRG_FIGURE_QUIC_BYTES_IN, offsetof(quic_figures, bytes_in)},
                {BRG_FIGURE_QUIC_BYTES_OUT, offsetof(quic_figures, bytes_out)},
                {BRG_FIGURE_QUIC_SENDS, offsetof(quic_figures, sends)},
                {BRG_FIGURE_QUIC_GSO, offsetof(quic_figures, gso)},
                {BRG_FIGURE_QUIC_CONNS, offsetof(quic_figures, conns)},
                {BRG_FIGURE_QUIC_REFUSED, offsetof(quic_figures, refused)},
                {BRG_FIGURE_QUIC_EARLY, offsetof(quic_figures, early)},
                {BRG_FIGURE_QUIC_KEYS, offsetof(quic_figures, key_updates)},
                {BRG_FIGURE_QUIC_FLOODS, offsetof(quic_figures, floods)},
                {BRG_FIGURE_QUIC_PROBES, offsetof(quic_figures, probes)},
                {BRG_FIGURE_QUIC_CONGESTION, offsetof(quic_figures, congestion)},
                {BRG_FIGURE_QUIC_RTT_SUM, offsetof(quic_figures, rtt_us)},
                {BRG_FIGURE_QUIC_RTTS, offsetof(quic_figures, rtts)}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t sum = 0;

        for (const endpoint_set *e = loop->accept.datagrams; e; e = e->next)
            sum += *(const uint64_t *)(const void *)((const char *)quic_endpoint_figures(e->ep) +
                                                     rows[i].at);
        figures_set(&loop->figures->own.value[rows[i].id], sum);
    }
}

static void endpoint_end(brg_loop *loop)
{
    endpoint_set *e;

    while ((e = loop->accept.datagrams) != NULL) {
        loop->accept.datagrams = e->next;
        quic_endpoint_end(e->ep);
        free(e);
    }
}

/* ---- which listeners ---- */

static int endpoint_hears(const server_rec *s, apr_port_t port)
{
    if (!s->addrs)
        return !s->port || s->port == port;
    for (const server_addr_rec *a = s->addrs; a; a = a->next)
        if (!a->host_port || a->host_port == port)
            return 1;
    return 0;
}

const server_rec *h3_first_server(const server_rec *s, apr_port_t port)
{
    const server_rec *first = s;

    for (; s; s = s->next)
        if (h3_is_spoken(s) && endpoint_hears(s, port))
            return s;
    return first;
}

/* loop_datagrams.wanted */
static int endpoint_wanted(const server_rec *s, const ap_listen_rec *rec)
{
    if (rec->bind_addr->family != APR_INET && rec->bind_addr->family != APR_INET6)
        return 0;
    s = h3_first_server(s, rec->bind_addr->port);
    return h3_is_spoken(s) && endpoint_hears(s, rec->bind_addr->port);
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
