/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that a client has its address: RFC 9000, 8.1. A token is its time, its purpose and, in
 * that of a Retry, the ids that the handshake has to name; encrypted, with the address as
 * additional data. All processes and generations read it. */
#include "quic_private.h"

#define TOKEN_RETRY_LIFE apr_time_from_sec(10)
#define TOKEN_LIFE apr_time_from_sec(24 * 3600)

enum { TOKEN_FOR_RETRY = 1, TOKEN_FOR_NEXT = 2 };

int quic_addr_same_host(const quic_addr *a, const quic_addr *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return 0;
    if (a->any.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return a->any.sa_family != AF_INET6 ||
           !memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr);
}

int quic_addr_equal(const quic_addr *a, const quic_addr *b)
{
    return quic_addr_same_host(a, b) &&
           a->v4.sin_port == b->v4.sin_port; /* both kinds have it at the same place */
}

/* The address that a token is bound to; with that of a Retry, the port, too. @return bytes */
static size_t token_bound(const quic_addr *peer, int with_port, uint8_t out[18])
{
    uint8_t *p = out;

    if (peer->any.sa_family == AF_INET6)
        p = quic_put_bytes(p, &peer->v6.sin6_addr, 16);
    else
        p = quic_put_bytes(p, &peer->v4.sin_addr, 4);
    if (with_port)
        p = quic_put_bytes(p, &peer->v4.sin_port, 2);
    return (size_t)(p - out);
}

size_t quic_token_write(quic_endpoint *ep, const quic_addr *peer, const quic_cid *original,
                        const quic_cid *retry, uint8_t *out)
{
    uint8_t aad[18], *nonce = out + 1, *data = nonce + QUIC_IV, *p = data;
    const uint64_t now = (uint64_t)ep->loop->wall;
    const size_t aad_len = token_bound(peer, original != NULL, aad);

    BRG_ASSERT(!original || retry);
    out[0] = original ? TOKEN_FOR_RETRY : TOKEN_FOR_NEXT;
    quic_random(ep, nonce, QUIC_IV);
    p = quic_put32(quic_put32(p, (uint32_t)(now >> 32)), (uint32_t)now);
    if (original) {
        *p++ = original->len;
        p = quic_put_bytes(p, original->id, original->len);
        *p++ = retry->len;
        p = quic_put_bytes(p, retry->id, retry->len);
    }
    if (quic_token_crypt(ep->setup->token_key, nonce, aad, aad_len, data, (size_t)(p - data), p, 1))
        return 0;
    return (size_t)(p - out) + QUIC_TAG;
}

static int token_is_fresh(const quic_endpoint *ep, uint64_t made, int is_retry)
{
    const apr_time_t age = ep->loop->wall - (apr_time_t)made;

    return age >= -apr_time_from_sec(60) && age < (is_retry ? TOKEN_RETRY_LIFE : TOKEN_LIFE);
}

int quic_token_read(quic_endpoint *ep, const quic_addr *peer, const uint8_t *token, size_t len,
                    quic_cid *original, quic_cid *retry)
{
    uint8_t aad[18], data[QUIC_TOKEN_MOST], tag[QUIC_TAG];
    quic_reader r;
    uint64_t made;
    int is_retry;

    if (len < 1 + QUIC_IV + 8 + QUIC_TAG || len > QUIC_TOKEN_MOST)
        return 0;
    is_retry = token[0] == TOKEN_FOR_RETRY;
    len -= 1 + QUIC_IV + QUIC_TAG;
    memcpy(data, token + 1 + QUIC_IV, len);
    memcpy(tag, token + 1 + QUIC_IV + len, QUIC_TAG);
    if (quic_token_crypt(ep->setup->token_key, token + 1, aad, token_bound(peer, is_retry, aad),
                         data, len, tag, 0))
        return is_retry ? -1 : 0;
    r = quic_reader_of(data, len);
    made = (uint64_t)quic_get32(&r) << 32;
    made |= quic_get32(&r);
    if (!token_is_fresh(ep, made, is_retry))
        return is_retry ? -1 : 0;
    if (!is_retry)
        return 1;
    quic_get_cid(&r, quic_get8(&r), original);
    quic_get_cid(&r, quic_get8(&r), retry);
    return r.bad ? -1 : 2;
}

void quic_reset_token(quic_endpoint *ep, const quic_cid *cid, uint8_t token[QUIC_RESET_TOKEN])
{
    uint8_t digest[32] = {0};

    quic_hmac(ep->setup->reset_key, QUIC_KEY_BYTES, cid->id, cid->len, digest);
    memcpy(token, digest, QUIC_RESET_TOKEN);
}
