/* SPDX-License-Identifier: Apache-2.0 */
/* Connection ids: RFC 9000, 5.1. Ours lead to this loop's socket (quic_cid_route()). */
#include "quic_private.h"

/* ---- ours ---- */

static int cids_make(quic_conn *qc, quic_id *own)
{
    quic_endpoint *ep = qc->ep;

    BRG_ASSERT(!own->qc);
    own->cid.len = QUIC_CID_LEN;
    for (int i = 0; i < 4; i++) {
        quic_random(ep, own->cid.id, QUIC_CID_LEN);
        quic_cid_lead(own->cid.id, ep->setup->route, ep->setup->route_key);
        if (!quic_id_add(qc, own)) {
            own->seq = qc->own_seq++;
            return 0;
        }
    }
    return -1;
}

int quic_cids_begin(quic_conn *qc)
{
    return cids_make(qc, &qc->own[0]);
}

void quic_cids_issue(quic_conn *qc)
{
    uint64_t most = qc->peer.cid_limit < QUIC_CIDS ? qc->peer.cid_limit : QUIC_CIDS;

    BRG_ASSERT(qc->params_came);
    if (!qc->theirs[0].cid.len && qc->peer.no_migration)
        most = 1;
    for (uint64_t i = 0; i < most; i++)
        if (!qc->own[i].qc && !cids_make(qc, &qc->own[i])) {
            qc->own[i].due = 1;
            qc->due |= QUIC_DUE_CIDS;
        }
}

int quic_retire_came(quic_conn *qc, quic_reader *r, const quic_came *came)
{
    const uint64_t seq = quic_get_varint(r);

    if (seq >= qc->own_seq)
        return -QUIC_PROTOCOL_VIOLATION;
    for (int i = 0; i < QUIC_CIDS; i++) {
        quic_id *own = &qc->own[i];

        if (!own->qc || own->seq != seq)
            continue;
        if (quic_cid_equal(&own->cid, came->dcid))
            return -QUIC_PROTOCOL_VIOLATION; /* the packet itself came by it */
        quic_id_remove(own);
        own->due = 0;
    }
    if (quic_conn_flood(qc, 16))
        return -QUIC_INTERNAL_ERROR;
    quic_cids_issue(qc);
    return 0;
}

void quic_cids_end(quic_conn *qc)
{
    for (int i = 0; i < QUIC_CIDS; i++)
        quic_id_remove(&qc->own[i]);
}

/* ---- theirs ---- */

/* 1: it was retired. NEW_CONNECTION_ID may come twice, and does not bring it back (RFC 9000, 19.15). */
static int cids_is_gone(const quic_conn *qc, uint64_t seq)
{
    const uint64_t behind = qc->their_gone_top - 1 - seq;

    if (seq >= qc->their_gone_top)
        return 0;
    return behind >= 64 || qc->their_gone >> behind & 1;
}

static void cids_note_gone(quic_conn *qc, uint64_t seq)
{
    if (seq >= qc->their_gone_top) {
        const uint64_t by = seq + 1 - qc->their_gone_top;

        qc->their_gone = by < 64 ? qc->their_gone << by : 0;
        qc->their_gone_top = seq + 1;
    }
    if (qc->their_gone_top - 1 - seq < 64)
        qc->their_gone |= UINT64_C(1) << (qc->their_gone_top - 1 - seq);
}

static int cids_retire(quic_conn *qc, uint64_t seq)
{
    cids_note_gone(qc, seq);
    BRG_ASSERT(qc->retire_n <= sizeof qc->retire / sizeof *qc->retire);
    if (qc->retire_n == sizeof qc->retire / sizeof *qc->retire)
        return -QUIC_CONNECTION_ID_LIMIT_ERROR;
    qc->retire[qc->retire_n++] = seq;
    return 0;
}

/* Those before @a to are not to be used any more. */
static int cids_retire_before(quic_conn *qc, uint64_t to)
{
    for (int i = 0; i < QUIC_CIDS; i++) {
        quic_peer_cid *id = &qc->theirs[i];
        int rc;

        if (!id->used || id->seq >= to)
            continue;
        id->used = 0;
        if ((rc = cids_retire(qc, id->seq)) != 0)
            return rc;
    }
    if (to > qc->their_retired)
        qc->their_retired = to;
    return 0;
}

static int cids_add(quic_conn *qc, const quic_peer_cid *new)
{
    quic_peer_cid *room = NULL;

    for (int i = 0; i < QUIC_CIDS; i++) {
        quic_peer_cid *id = &qc->theirs[i];

        if (id->used && id->seq == new->seq)
            return quic_cid_equal(&id->cid, &new->cid) ? 0 : -QUIC_PROTOCOL_VIOLATION;
        if (id->used && quic_cid_equal(&id->cid, &new->cid))
            return -QUIC_PROTOCOL_VIOLATION;
        if (!id->used && !room)
            room = id;
    }
    if (!room)
        return -QUIC_CONNECTION_ID_LIMIT_ERROR;
    *room = *new;
    return 0;
}

/* The one in use was retired: the next one. */
static int cids_choose(quic_conn *qc)
{
    BRG_ASSERT(qc->their_at < QUIC_CIDS);
    if (qc->theirs[qc->their_at].used)
        return 0;
    for (int i = 0; i < QUIC_CIDS; i++)
        if (qc->theirs[i].used) {
            qc->their_at = (uint8_t)i;
            return 0;
        }
    return -QUIC_PROTOCOL_VIOLATION;
}

int quic_new_cid_came(quic_conn *qc, quic_reader *r)
{
    quic_peer_cid new = {.seq = quic_get_varint(r), .used = 1, .has_token = 1};
    const uint64_t retire = quic_get_varint(r);
    const uint8_t *token;
    int rc;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    quic_get_cid(r, quic_get8(r), &new.cid);
    token = quic_get_bytes(r, QUIC_RESET_TOKEN);
    if (r->bad || !new.cid.len || retire > new.seq)
        return -QUIC_FRAME_ENCODING_ERROR;
    memcpy(new.token, token, QUIC_RESET_TOKEN);
    if (!qc->theirs[qc->their_at].cid.len)
        return -QUIC_PROTOCOL_VIOLATION;
    if (quic_conn_flood(qc, 8))
        return -QUIC_INTERNAL_ERROR;
    if (cids_is_gone(qc, new.seq))
        return 0;
    if (new.seq < qc->their_retired)
        return cids_retire(qc, new.seq);
    if ((retire > qc->their_retired && (rc = cids_retire_before(qc, retire)) != 0) ||
        (rc = cids_add(qc, &new)) != 0)
        return rc;
    return cids_choose(qc);
}

int quic_cids_other(const quic_conn *qc)
{
    if (!qc->theirs[qc->their_at].cid.len)
        return qc->their_at;
    for (int i = 0; i < QUIC_CIDS; i++)
        if (qc->theirs[i].used && i != qc->their_at)
            return i;
    return -1;
}

int quic_cids_switch(quic_conn *qc)
{
    quic_peer_cid *old = &qc->theirs[qc->their_at];
    int next;

    BRG_ASSERT(old->used);
    if (!old->cid.len)
        return 0; /* it has none, and needs none */
    if ((next = quic_cids_other(qc)) < 0 || cids_retire(qc, old->seq))
        return -1;
    old->used = 0;
    qc->their_at = (uint8_t)next;
    return 0;
}

/* Compared in full: how long it takes tells nothing. */
int quic_cids_is_reset(const quic_conn *qc, const uint8_t *data, size_t len)
{
    int found = 0;

    if (len < 5 + QUIC_RESET_TOKEN)
        return 0;
    data += len - QUIC_RESET_TOKEN;
    for (int i = 0; i < QUIC_CIDS; i++) {
        uint8_t differs = 0;

        for (int b = 0; b < QUIC_RESET_TOKEN; b++)
            differs |= qc->theirs[i].token[b] ^ data[b];
        found |= qc->theirs[i].used && qc->theirs[i].has_token && !differs;
    }
    return found;
}
