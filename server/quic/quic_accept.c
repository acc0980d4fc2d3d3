/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that lead to no connection. A reply to a peer that proved nothing is never longer than
 * its datagram, is made without state, and the replies of a second are limited. */
#include "quic_private.h"

#define ACCEPT_ANSWERS 1000 /* a second: of an endpoint, to nobody */
/* a datagram that is answered with a reset: shorter ones would be answered for ever */
#define ACCEPT_RESET_MIN 43

/* 1: nobody gets too many answers in this second. */
static int accept_may_answer(quic_endpoint *ep)
{
    const apr_time_t now = ep->loop->monotonic;

    if (now - ep->resets_at >= apr_time_from_sec(1)) {
        ep->resets_at = now;
        ep->resets_left = ACCEPT_ANSWERS;
    }
    if (!ep->resets_left)
        return 0;
    ep->resets_left--;
    return 1;
}

/* RFC 9000, 17.2.1 */
static void accept_versions(quic_endpoint *ep, const quic_head *h, size_t len,
                            const quic_addr *peer, const quic_addr *local)
{
    uint8_t *out, *p;

    if (len < QUIC_DATAGRAM_MIN || !h->version || !accept_may_answer(ep))
        return;
    p = out = quic_out_room(ep, QUIC_DATAGRAM_MOST);
    quic_random(ep, p, 1);
    *p++ |= 0xc0;
    p = quic_put32(p, 0);
    *p++ = h->scid.len;
    p = quic_put_bytes(p, h->scid.id, h->scid.len);
    *p++ = h->dcid.len;
    p = quic_put_bytes(p, h->dcid.id, h->dcid.len);
    p = quic_put32(quic_put32(p, QUIC_V1), QUIC_V2);
    p = quic_put32(p, 0x0a0a0a0a | (uint32_t)(out[0] & 15) << 28); /* GREASE: RFC 9000, 15 */
    quic_out_add(ep, (size_t)(p - out), peer, local, 0);
}

/* RFC 9000, 10.3. One byte shorter than the datagram, so that two that do not know each other come
 * to an end. */
static void accept_reset(quic_endpoint *ep, const quic_head *h, size_t len, const quic_addr *peer,
                         const quic_addr *local)
{
    const size_t size = len - 1 > 64 ? 64 - (len & 7) : len - 1;
    uint8_t *out;

    BRG_ASSERT(h->type == QUIC_1RTT && h->dcid.len == QUIC_CID_LEN);
    if (len < ACCEPT_RESET_MIN ||
        quic_cid_route(h->dcid.id, ep->setup->route_key) != ep->setup->route ||
        !accept_may_answer(ep))
        return;
    out = quic_out_room(ep, QUIC_DATAGRAM_MOST);
    quic_random(ep, out, size);
    out[0] = (uint8_t)(0x40 | (out[0] & 0x3f));
    quic_reset_token(ep, &h->dcid, out + size - QUIC_RESET_TOKEN);
    ep->figures.resets_sent++;
    quic_out_add(ep, size, peer, local, 0);
}

/* A new id, which leads here. */
static void accept_cid(quic_endpoint *ep, quic_cid *cid)
{
    cid->len = QUIC_CID_LEN;
    quic_random(ep, cid->id, cid->len);
    quic_cid_lead(cid->id, ep->setup->route, ep->setup->route_key);
}

static uint8_t *accept_long(uint8_t *p, quic_packet_type type, const quic_head *h,
                            const quic_cid *source)
{
    BRG_ASSERT(h->scid.len <= QUIC_CID_MOST && source->len <= QUIC_CID_MOST);
    *p++ = quic_long_first(type, h->version);
    p = quic_put32(p, h->version);
    *p++ = h->scid.len;
    p = quic_put_bytes(p, h->scid.id, h->scid.len);
    *p++ = source->len;
    return quic_put_bytes(p, source->id, source->len);
}

/* RFC 9000, 17.2.5 */
static void accept_retry(quic_endpoint *ep, const quic_head *h, const quic_addr *peer,
                         const quic_addr *local)
{
    uint8_t *out = quic_out_room(ep, QUIC_DATAGRAM_MOST), *p;
    quic_cid source;
    size_t n;

    BRG_ASSERT(h->type == QUIC_INITIAL);
    accept_cid(ep, &source);
    p = accept_long(out, QUIC_RETRY, h, &source);
    n = quic_token_write(ep, peer, &h->dcid, &source, p);
    if (!n || quic_retry_tag(h->version, &h->dcid, out, (size_t)(p - out) + n, p + n))
        return;
    ep->figures.retries++;
    quic_out_add(ep, (size_t)(p - out) + n + QUIC_TAG, peer, local, 0);
}

/* Say why there is no connection, in an Initial packet of no state. */
static void accept_refuse(quic_endpoint *ep, const quic_head *h, quic_error code,
                          const quic_addr *peer, const quic_addr *local)
{
    uint8_t *out, *p, *length, *pn, mask[QUIC_SAMPLE];
    quic_key read, write;

    ep->figures.refused++;
    if (!accept_may_answer(ep) || quic_key_initial(&read, &write, h->version, &h->dcid, 1))
        return;
    out = quic_out_room(ep, QUIC_DATAGRAM_MOST);
    p = accept_long(out, QUIC_INITIAL, h, &h->dcid);
    *p++ = 0;
    length = p;
    pn = p += 2;
    *p++ = 0;
    p = quic_put_varint(quic_put_varint(p, QUIC_F_CLOSE), code);
    *p++ = 0;
    *p++ = 0;
    *p++ = 0; /* padding */
    quic_put_varint2(length, (size_t)(p - pn) + QUIC_TAG);
    if (!quic_key_seal(&write, 0, out, (size_t)(pn + 1 - out), (size_t)(p - pn - 1)) &&
        !quic_key_masks(&write, pn + 4, 1, mask)) {
        out[0] ^= mask[0] & 0x0f;
        *pn ^= mask[1];
        quic_out_add(ep, (size_t)(p - out) + QUIC_TAG, peer, local, 0);
    }
    quic_key_end(&read);
    quic_key_end(&write);
}

/* The proof in an Initial packet's token: 1: the address; 0: nothing; -1: the client is not to be
 * heard. */
static int accept_token(quic_endpoint *ep, const quic_head *h, const quic_addr *peer,
                        const quic_addr *local, quic_cid *original, int *is_retry)
{
    quic_cid retry;
    const int proof =
        h->token_len ? quic_token_read(ep, peer, h->token, h->token_len, original, &retry) : 0;

    *is_retry = proof == 2;
    if (proof < 0 || (proof == 2 && !quic_cid_equal(&retry, &h->dcid))) {
        accept_refuse(ep, h, QUIC_INVALID_TOKEN, peer, local);
        return -1;
    }
    return proof > 0;
}

/* A place of a full loop is for clients of whom it is known that they are there. */
static int accept_asks_proof(const quic_endpoint *ep)
{
    const uint32_t above = ep->setup->retry_above;

    return ep->handshakes >= above || (above != UINT32_MAX && loop_is_full(ep->loop));
}

static void accept_initial(quic_endpoint *ep, const quic_head *h, uint8_t *data, size_t len,
                           const quic_addr *peer, const quic_addr *local, int ecn)
{
    quic_cid original = h->dcid;
    int is_retry, proved;
    quic_conn *qc;

    BRG_ASSERT(h->type == QUIC_INITIAL && h->len <= len);
    if (len < QUIC_DATAGRAM_MIN || h->dcid.len < 8 || ep->draining)
        return;
    if ((proved = accept_token(ep, h, peer, local, &original, &is_retry)) < 0)
        return;
    if (!proved && accept_asks_proof(ep)) {
        accept_retry(ep, h, peer, local);
        return;
    }
    if (!loop_make_room(ep->loop))
        return; /* it comes again */
    if (ep->handshakes >= ep->setup->handshakes_most || !(qc = quic_conn_new(ep, h, peer, local))) {
        accept_refuse(ep, h, QUIC_CONNECTION_REFUSED, peer, local);
        return;
    }
    qc->original = original;
    qc->has_retry = (uint8_t)is_retry;
    qc->path.validated = (uint8_t)proved;
    quic_qlog_begin(qc);
    quic_conn_enter(qc);
    if (quic_tls_start(qc))
        quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "");
    else
        quic_packets(qc, h, data, len, peer, local, ecn);
    quic_conn_leave(qc);
}

/* The packet leads to no connection. */
static void accept_packet(quic_endpoint *ep, const quic_head *h, uint8_t *data, size_t len,
                          const quic_addr *peer, const quic_addr *local, int ecn)
{
    if (h->type == QUIC_VERSIONS)
        accept_versions(ep, h, len, peer, local);
    else if (h->type == QUIC_INITIAL)
        accept_initial(ep, h, data, len, peer, local, ecn);
    else if (h->type == QUIC_1RTT)
        accept_reset(ep, h, len, peer, local);
}

void quic_datagram(quic_endpoint *ep, uint8_t *data, size_t len, const quic_addr *peer,
                   const quic_addr *local, int ecn)
{
    quic_head h;
    quic_conn *qc;

    BRG_ASSERT_DEBUG(ep->loop && len);
    ep->figures.datagrams_in++;
    ep->figures.bytes_in += len;
    if (quic_head_read(&h, data, len)) {
        ep->figures.packets_bad++;
        return;
    }
    if (!(qc = quic_id_find(ep, &h.dcid))) {
        accept_packet(ep, &h, data, len, peer, local, ecn);
        return;
    }
    quic_conn_enter(qc);
    quic_packets(qc, &h, data, len, peer, local, ecn);
    quic_conn_leave(qc);
}
