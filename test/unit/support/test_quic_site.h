/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_QUIC_SITE_H
#define BRIGADE_TEST_QUIC_SITE_H

/**
 * @file test_quic_site.h
 * A server for the client of test_quic_peer.h, which answers each stream with as many bytes as it was asked for, and a network
 * between them, in a time of the test's own.
 */
#include "test_quic_peer.h"

/* ---- the server of the test ---- */

typedef struct made {
    shared_ref ref;
    uint8_t bytes[];
} made;

typedef struct asked {
    struct asked *next, *every_next, **every_prev;
    quic_stream *qs;
    uint8_t head[4];
    unsigned head_n;
    uint64_t bytes, at;
} asked;

static struct {
    quic_conn *qc;
    asked *all, *every;
    unsigned begun, up, closed, ended, owners, reset, stopped;
    quic_end end;
    uint64_t taken;
    int keeps_credit;
} site;

static void made_end(shared_ref *ref)
{
    site.owners--;
    free(ref);
}

static void site_begun(quic_conn *qc)
{
    site.qc = qc;
    site.begun++;
}

static void site_up(quic_conn *qc)
{
    site.up++;
}

static void site_stream_came(quic_stream *qs)
{
    asked *a = calloc(1, sizeof *a);

    a->qs = qs;
    a->every_next = site.every;
    a->every_prev = &site.every;
    if (site.every)
        site.every->every_prev = &a->every_next;
    site.every = a;
    quic_stream_set_user(qs, a);
}

static void site_data(quic_stream *qs, const uint8_t *data, size_t len, int fin)
{
    asked *a = quic_stream_user(qs);

    site.taken += len;
    if (!site.keeps_credit)
        quic_stream_credit(qs, len);
    for (size_t i = 0; i < len && a->head_n < 4; i++)
        a->head[a->head_n++] = data[i];
    if (!fin || quic_id_is_uni(quic_stream_id(qs)))
        return;
    a->bytes = (uint32_t)a->head[0] << 24 | (uint32_t)a->head[1] << 16 | (uint32_t)a->head[2] << 8 |
               a->head[3];
    a->next = site.all;
    site.all = a;
    quic_conn_wants(quic_stream_conn(qs));
}

static void site_forget(asked *a)
{
    asked **at = &site.all;

    while (*at && *at != a)
        at = &(*at)->next;
    if (*at)
        *at = a->next;
}

static void site_reset(quic_stream *qs, uint64_t code)
{
    site.reset++;
}

static void site_stopped(quic_stream *qs, uint64_t code)
{
    site.stopped++;
    site_forget(quic_stream_user(qs));
}

static void site_ended(quic_stream *qs)
{
    asked *a = quic_stream_user(qs);

    site.ended++;
    site_forget(a);
    *a->every_prev = a->every_next;
    if (a->every_next)
        a->every_next->every_prev = a->every_prev;
    free(a);
}

static int site_fill(quic_conn *qc, size_t room)
{
    for (asked *a = site.all, *next; a && room; a = next) {
        uint64_t n = a->bytes - a->at;
        made *m;

        next = a->next;
        if (n > room)
            n = room;
        if (n > 5000)
            n = 5000;
        m = malloc(sizeof *m + n);
        m->ref = (shared_ref){1, made_end};
        site.owners++;
        for (uint64_t i = 0; i < n; i++)
            m->bytes[i] = peer_byte(quic_stream_id(a->qs), a->at + i);
        a->at += n;
        room -= n;
        assert_int_equal(quic_stream_write(a->qs, m->bytes, n, &m->ref, a->at == a->bytes), 0);
        shared_release(&m->ref);
        if (a->at == a->bytes)
            site_forget(a);
    }
    return site.all != NULL;
}

static void site_closed(quic_conn *qc, const quic_end *why)
{
    site.closed++;
    site.end = *why;
    play_close(NULL, quic_conn_bc(qc));
    site.qc = NULL;
}

static const quic_user site_user = {.begun = site_begun,
                                    .up = site_up,
                                    .stream_came = site_stream_came,
                                    .data = site_data,
                                    .reset = site_reset,
                                    .stopped = site_stopped,
                                    .ended = site_ended,
                                    .fill = site_fill,
                                    .closed = site_closed};

/* ---- the network ---- */

#define NET_MOST 4096

typedef struct net_datagram {
    apr_time_t at;
    int to_server;
    size_t len;
    uint8_t *data;
} net_datagram;

static struct {
    net_datagram d[NET_MOST];
    unsigned n;
    apr_interval_time_t delay, jitter;
    unsigned loss; /* of a thousand */
    unsigned twice;
    size_t mtu;    /* longer ones are lost; 0: none */
    uint64_t rate; /* bytes by the second to the client; 0: no limit */
    apr_time_t busy_until;
    unsigned queue; /* datagrams that wait at most */
    uint64_t to_client, to_server, lost;
    in_port_t other_port; /* datagrams to it, in network order ... */
    unsigned to_other;    /* ... are counted */
    size_t other_len;     /* of the last */
    in_port_t gone_port;  /* datagrams to it are lost */
    unsigned queued;
} net;

static brg_loop the_loop;
static server_rec the_server;
static quic_endpoint *the_ep;
static quic_peer *the_peer;
static quic_setup the_setup;

static void net_put(const uint8_t *data, size_t len, int to_server)
{
    apr_time_t at = the_loop.monotonic + net.delay + (net.jitter ? random() % net.jitter : 0);

    if (to_server)
        net.to_server += len;
    else
        net.to_client += len;
    if ((unsigned)random() % 1000 < net.loss || (net.mtu && len > net.mtu)) {
        net.lost++;
        return;
    }
    if (net.rate && !to_server) {
        if (net.busy_until < the_loop.monotonic)
            net.busy_until = the_loop.monotonic;
        if (net.queued >= net.queue) {
            net.lost++;
            return;
        }
        net.busy_until += (apr_time_t)(len * 1000000 / net.rate);
        at = net.busy_until + net.delay;
        net.queued++;
    }
    for (unsigned copies = 1 + ((unsigned)random() % 1000 < net.twice); copies--;) {
        assert_true(net.n < NET_MOST);
        net.d[net.n] = (net_datagram){at, to_server, len, malloc(len)};
        memcpy(net.d[net.n++].data, data, len);
    }
}

static void net_from_server(void *of, const uint8_t *data, size_t len, const quic_addr *to, int ecn)
{
    if (net.other_port && to->v4.sin_port == net.other_port) {
        net.to_other++;
        net.other_len = len;
    }
    if (net.gone_port && to->v4.sin_port == net.gone_port) {
        net.lost++;
        return;
    }
    net_put(data, len, 0);
}

static void net_from_client(quic_peer *p, const uint8_t *data, size_t len)
{
    net_put(data, len, 1);
}

static net_datagram *net_next(void)
{
    net_datagram *first = NULL;

    for (unsigned i = 0; i < net.n; i++)
        if (!first || net.d[i].at < first->at)
            first = &net.d[i];
    return first;
}

static void net_deliver(net_datagram *d)
{
    net_datagram one = *d;

    *d = net.d[--net.n];
    if (one.to_server) {
        peer_datagram(the_peer, one.data, one.len);
    } else {
        if (net.queued)
            net.queued--;
        peer_came(the_peer, one.data, one.len);
    }
    free(one.data);
}

/* ---- time ---- */

static apr_time_t peer_last;

/* One step: what is due next. @return 0: nothing will happen */
static int step(void)
{
    net_datagram *d;
    apr_time_t next = peer_last + 300000, due = the_ep->alarm.due;

    if (play_certificate && the_peer->crypto_n[QUIC_S_HANDSHAKE] >= play_certificate &&
        !the_peer->crypto_n[0])
        fail();
    d = net_next();
    if (d && d->at < next)
        next = d->at;
    if (due < next)
        next = due;
    if (next > the_loop.monotonic)
        the_loop.monotonic = the_loop.wall = next;
    if (d && d->at <= the_loop.monotonic)
        net_deliver(d);
    if (the_ep->alarm.due <= the_loop.monotonic)
        the_ep->alarm.run(&the_ep->alarm);
    peer_flush(the_peer, 0, net_from_client);
    if (the_loop.monotonic - peer_last >= 300000) {
        peer_flush(the_peer, 1, net_from_client);
        peer_last = the_loop.monotonic;
    }
    return 1;
}

static void run_for(apr_interval_time_t t)
{
    const apr_time_t until = the_loop.monotonic + t;

    while (the_loop.monotonic < until)
        step();
}

static int finished;

/* The handshake, up to its end. */
static void shake_hands(void)
{
    const apr_time_t until = the_loop.monotonic + apr_time_from_sec(20);

    finished = 0;
    while (!the_peer->done && the_loop.monotonic < until) {
        step();
        if (!finished && the_peer->crypto_n[QUIC_S_HANDSHAKE] >= play_certificate) {
            peer_finish(the_peer);
            finished = 1;
        }
    }
}

static void begin(void)
{
    memset(&site, 0, sizeof site);
    memset(&net, 0, sizeof net);
    net.delay = 10000;
    the_loop = (brg_loop){.monotonic = apr_time_from_sec(1000),
                          .wall = apr_time_from_sec(1000),
                          .conns.most = UINT_MAX,
                          .server = &the_server};
    quic_setup_defaults(&the_setup);
    the_setup.user = &site_user;
    the_setup.route = 3;
    the_setup.route_key = 0x9e3779b1;
    the_ep = quic_endpoint_begin(&the_loop, NULL, -1, &the_setup);
    assert_non_null(the_ep);
    the_ep->below = &play_below;
    the_ep->take = net_from_server;
    the_peer = calloc(1, sizeof *the_peer);
    peer_last = the_loop.monotonic;
    srandom(5);
}

/* All is given back. */
static void end(void)
{
    if (site.qc) {
        brg_conn *bc = quic_conn_bc(site.qc);

        quic_conn_drop(site.qc);
        play_close(NULL, bc);
    }
    for (asked *a = site.every, *next; a; a = next) {
        next = a->every_next;
        free(a);
    }
    quic_endpoint_end(the_ep);
    while (net.n)
        free(net.d[--net.n].data);
    assert_int_equal(site.owners, 0);
    assert_int_equal(play_open_n, 0);
    peer_end(the_peer);
}

static inline void connect_v(uint32_t version)
{
    peer_begin(the_peer, the_ep, version);
    peer_flush(the_peer, 0, net_from_client);
    shake_hands();
    assert_true(the_peer->done);
    assert_int_equal(site.begun, 1);
}

static inline void wait_for(uint64_t id, uint64_t bytes, apr_interval_time_t most)
{
    const apr_time_t until = the_loop.monotonic + most;
    const peer_stream *s = &the_peer->stream[(id >> 2) % 32];

    while (s->in.next < bytes && the_loop.monotonic < until && !the_peer->closed)
        step();
    assert_int_equal(the_peer->closed, 0);
    assert_int_equal(s->in.next, bytes);
    assert_int_equal(s->final, bytes);
    assert_int_equal(s->wrong, 0);
}

#endif
