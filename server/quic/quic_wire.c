/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of packets and varints (RFC 9000, 16 and 17). */
#include "quic_wire.h"
#include "quic.h"
#include "brigade/assert.h"

uint64_t quic_get_varint(quic_reader *r)
{
    const uint8_t *p = r->at;
    uint64_t v;
    size_t n;

    if (p == r->end) {
        r->bad = 1;
        return 0;
    }
    n = (size_t)1 << (*p >> 6);
    if (!quic_get_bytes(r, n))
        return 0;
    v = *p & 0x3f;
    for (size_t i = 1; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

void quic_get_cid(quic_reader *r, size_t len, quic_cid *out)
{
    const uint8_t *p = len <= QUIC_CID_MOST ? quic_get_bytes(r, len) : NULL;

    out->len = 0;
    if (!p) {
        r->bad = 1;
        return;
    }
    out->len = (uint8_t)len;
    memcpy(out->id, p, len);
}

uint8_t *quic_put_varint(uint8_t *p, uint64_t v)
{
    const size_t n = quic_varint_len(v);
    static const uint8_t prefix[9] = {[1] = 0, [2] = 0x40, [4] = 0x80, [8] = 0xc0};

    BRG_ASSERT_DEBUG(v <= QUIC_VARINT_MOST);
    for (size_t i = n; i--; v >>= 8)
        p[i] = (uint8_t)v;
    p[0] |= prefix[n];
    return p + n;
}

/* Types of long heads are numbered otherwise in version 2: RFC 9369, 3.2. */
static quic_packet_type long_type(unsigned bits, uint32_t version)
{
    static const uint8_t v1[4] = {QUIC_INITIAL, QUIC_0RTT, QUIC_HANDSHAKE, QUIC_RETRY};

    return (quic_packet_type)v1[version == QUIC_V2 ? (bits + 3) & 3 : bits];
}

uint8_t quic_long_first(quic_packet_type type, uint32_t version)
{
    const unsigned bits = type == QUIC_INITIAL     ? 0
                          : type == QUIC_0RTT      ? 1
                          : type == QUIC_HANDSHAKE ? 2
                                                   : 3;

    return (uint8_t)(0xc0 | (version == QUIC_V2 ? (bits + 1) & 3 : bits) << 4);
}

static int head_read_short(quic_head *h, quic_reader *r, const uint8_t *data, size_t len)
{
    h->type = QUIC_1RTT;
    quic_get_cid(r, QUIC_CID_LEN, &h->dcid);
    h->pn_off = (size_t)(r->at - data);
    h->len = len;
    return r->bad ? -1 : 0;
}

/* Token and length: behind the connection ids of a long head. */
static int head_read_rest(quic_head *h, quic_reader *r, const uint8_t *data)
{
    uint64_t n;

    if (h->type == QUIC_RETRY)
        return -1; /* a server gets none */
    if (h->type == QUIC_INITIAL) {
        n = quic_get_varint(r);
        h->token = quic_get_bytes(r, n);
        h->token_len = r->bad ? 0 : (size_t)n;
    }
    n = quic_get_varint(r);
    h->pn_off = (size_t)(r->at - data);
    if (r->bad || n > quic_left(r))
        return -1;
    h->len = h->pn_off + (size_t)n;
    return 0;
}

int quic_head_read(quic_head *h, const uint8_t *data, size_t len)
{
    quic_reader r = quic_reader_of(data, len);
    const uint8_t first = quic_get8(&r);

    memset(h, 0, sizeof *h);
    if (!(first & 0x80))
        return head_read_short(h, &r, data, len);
    h->version = quic_get32(&r);
    quic_get_cid(&r, quic_get8(&r), &h->dcid);
    quic_get_cid(&r, quic_get8(&r), &h->scid);
    if (r.bad)
        return -1;
    if (h->version != QUIC_V1 && h->version != QUIC_V2) {
        h->type = QUIC_VERSIONS;
        h->len = len;
        return 0;
    }
    h->type = long_type(first >> 4 & 3, h->version);
    return head_read_rest(h, &r, data);
}

uint64_t quic_pn_of(uint64_t truncated, unsigned bytes, uint64_t largest)
{
    const uint64_t window = 1ull << (8 * bytes), half = window / 2, expected = largest + 1;
    const uint64_t pn = (expected & ~(window - 1)) | truncated;

    if (pn + half <= expected && pn < (1ull << 62) - window)
        return pn + window;
    if (pn > expected + half && pn >= window)
        return pn - window;
    return pn;
}
