/* SPDX-License-Identifier: Apache-2.0 */
/* Transport parameters: RFC 9000, 18; RFC 9287; RFC 9368, 3. */
#include "quic_private.h"

enum {
    PARAM_ORIGINAL_DCID,
    PARAM_IDLE_TIMEOUT,
    PARAM_RESET_TOKEN,
    PARAM_MAX_UDP,
    PARAM_MAX_DATA,
    PARAM_BIDI_LOCAL,
    PARAM_BIDI_REMOTE,
    PARAM_UNI,
    PARAM_STREAMS_BIDI,
    PARAM_STREAMS_UNI,
    PARAM_ACK_EXPONENT,
    PARAM_ACK_DELAY,
    PARAM_NO_MIGRATION,
    PARAM_PREFERRED,
    PARAM_CID_LIMIT,
    PARAM_INITIAL_SCID,
    PARAM_RETRY_SCID,
    PARAM_VERSIONS = 0x11,
    PARAM_GREASE_BIT = 0x2ab2
};

static const quic_params params_default = {
    .max_udp = 65527, .ack_exponent = 3, .ack_delay = 25, .cid_limit = 2};

static int params_versions(quic_params *p, quic_reader *r)
{
    if (quic_left(r) < 4 || quic_left(r) % 4)
        return QUIC_TRANSPORT_PARAMETER_ERROR;
    p->has_versions = 1;
    p->version = quic_get32(r);
    while (quic_left(r)) {
        const uint32_t v = quic_get32(r);

        if (!v)
            return QUIC_TRANSPORT_PARAMETER_ERROR;
        if (v == QUIC_V2)
            p->knows_v2 = 1;
    }
    return p->version ? 0 : QUIC_TRANSPORT_PARAMETER_ERROR;
}

static uint64_t *params_number(quic_params *p, uint64_t id)
{
    switch (id) {
    case PARAM_IDLE_TIMEOUT:
        return &p->idle_timeout;
    case PARAM_MAX_UDP:
        return &p->max_udp;
    case PARAM_MAX_DATA:
        return &p->max_data;
    case PARAM_BIDI_LOCAL:
        return &p->max_data_bidi_local;
    case PARAM_BIDI_REMOTE:
        return &p->max_data_bidi_remote;
    case PARAM_UNI:
        return &p->max_data_uni;
    case PARAM_STREAMS_BIDI:
        return &p->max_bidi;
    case PARAM_STREAMS_UNI:
        return &p->max_uni;
    case PARAM_ACK_EXPONENT:
        return &p->ack_exponent;
    case PARAM_ACK_DELAY:
        return &p->ack_delay;
    case PARAM_CID_LIMIT:
        return &p->cid_limit;
    default:
        return NULL;
    }
}

/* One parameter of a client's. @return 0; else a quic_error */
static int params_one(quic_params *p, uint64_t id, quic_reader *r)
{
    uint64_t *number = params_number(p, id);

    if (number) {
        *number = quic_get_varint(r);
        return r->bad || quic_left(r) ? QUIC_TRANSPORT_PARAMETER_ERROR : 0;
    }
    switch (id) {
    case PARAM_ORIGINAL_DCID: /* these are a server's */
    case PARAM_RESET_TOKEN:
    case PARAM_PREFERRED:
    case PARAM_RETRY_SCID:
        return QUIC_TRANSPORT_PARAMETER_ERROR;
    case PARAM_INITIAL_SCID:
        p->has_initial_source = 1;
        quic_get_cid(r, quic_left(r), &p->initial_source);
        return r->bad ? QUIC_TRANSPORT_PARAMETER_ERROR : 0;
    case PARAM_NO_MIGRATION:
        p->no_migration = 1;
        return quic_left(r) ? QUIC_TRANSPORT_PARAMETER_ERROR : 0;
    case PARAM_GREASE_BIT:
        return quic_left(r) ? QUIC_TRANSPORT_PARAMETER_ERROR : 0;
    case PARAM_VERSIONS:
        return params_versions(p, r);
    default:
        return 0;
    }
}

static int params_are_valid(const quic_params *p)
{
    return p->max_udp >= QUIC_DATAGRAM_MIN && p->ack_exponent <= 20 && p->ack_delay < 1 << 14 &&
           p->cid_limit >= 2 && p->max_bidi <= 1ull << 60 && p->max_uni <= 1ull << 60;
}

int quic_params_read(quic_params *p, const uint8_t *data, size_t len)
{
    quic_reader r = quic_reader_of(data, len);
    uint64_t seen = 0;

    *p = params_default;
    while (quic_left(&r)) {
        const uint64_t id = quic_get_varint(&r), n = quic_get_varint(&r);
        const uint8_t *value = quic_get_bytes(&r, n);
        quic_reader one;
        int error;

        if (r.bad || (id < 64 && seen & 1ull << id))
            return QUIC_TRANSPORT_PARAMETER_ERROR;
        if (id < 64)
            seen |= 1ull << id;
        one = quic_reader_of(value, (size_t)n);
        if ((error = params_one(p, id, &one)) != 0)
            return error;
    }
    return params_are_valid(p) && p->has_initial_source ? 0 : QUIC_TRANSPORT_PARAMETER_ERROR;
}

static uint8_t *params_put(uint8_t *p, uint64_t id, const void *value, size_t len)
{
    return quic_put_bytes(quic_put_varint(quic_put_varint(p, id), len), value, len);
}

static uint8_t *params_put_number(uint8_t *p, uint64_t id, uint64_t v)
{
    return quic_put_varint(quic_put_varint(quic_put_varint(p, id), quic_varint_len(v)), v);
}

#define PARAMS_VERSIONS 12 /* bytes of the list of versions, which is the end of all */

static uint8_t *params_put_versions(uint8_t *p, uint32_t chosen)
{
    uint8_t list[PARAMS_VERSIONS];

    quic_put32(quic_put32(quic_put32(list, chosen), QUIC_V2), QUIC_V1);
    return params_put(p, PARAM_VERSIONS, list, sizeof list);
}

void quic_params_answer(const uint8_t *peer, size_t len, uint8_t *ours, size_t ours_len)
{
    quic_params p;

    BRG_ASSERT(ours_len > PARAMS_VERSIONS);
    if (!quic_params_read(&p, peer, len) && p.has_versions)
        quic_put32(ours + ours_len - PARAMS_VERSIONS, quic_params_version(&p));
}

size_t quic_params_write(const quic_params *from, uint8_t *out)
{
    uint8_t *p = out;

    p = params_put(p, PARAM_ORIGINAL_DCID, from->original.id, from->original.len);
    p = params_put(p, PARAM_INITIAL_SCID, from->initial_source.id, from->initial_source.len);
    if (from->has_retry_source)
        p = params_put(p, PARAM_RETRY_SCID, from->retry_source.id, from->retry_source.len);
    if (from->reset_token)
        p = params_put(p, PARAM_RESET_TOKEN, from->reset_token, QUIC_RESET_TOKEN);
    if (from->idle_timeout)
        p = params_put_number(p, PARAM_IDLE_TIMEOUT, from->idle_timeout);
    p = params_put_number(p, PARAM_MAX_UDP, from->max_udp);
    p = params_put_number(p, PARAM_MAX_DATA, from->max_data);
    p = params_put_number(p, PARAM_BIDI_REMOTE, from->max_data_bidi_remote);
    p = params_put_number(p, PARAM_UNI, from->max_data_uni);
    p = params_put_number(p, PARAM_STREAMS_BIDI, from->max_bidi);
    p = params_put_number(p, PARAM_STREAMS_UNI, from->max_uni);
    p = params_put_number(p, PARAM_ACK_DELAY, from->ack_delay);
    p = params_put_number(p, PARAM_CID_LIMIT, from->cid_limit);
    p = params_put(p, PARAM_GREASE_BIT, NULL, 0);
    return (size_t)(params_put_versions(p, from->version) - out);
}
