/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests of streams by a plan (proxy_plan.h): a head, a body of one block at most, and the end, as parts of the stream's
 * answer. What its client takes of it, and when, is the stream's. */
#include "proxy_plan.h"
#include "brigade/assert.h"

/* @return 0: all of it was taken */
static int stream_put_body(brg_conn *bc, client_conn *cc)
{
    const uint32_t len = client_in_size(cc);
    void (*end)(void *);
    uint32_t at, cap;
    char *block = client_in_give(cc, &at, &cap, &end);
    const struct iovec iov = {block ? NULL : cc->block + cc->from, len};

    if (!block)
        return bc->transport->sendv(bc, &iov, 1, 1) != (ssize_t)len;
    if (bc->transport->give(bc, block, end, block + at, len) == (ssize_t)len)
        return 0;
    end(block);
    return -1;
}

size_t proxy_ahead_send_stream(proxy_ahead *a, const stream_fields *fields, uint32_t head_len)
{
    brg_conn *bc = a->bc;
    shared_ref *head = bc->transport->encode(bc, fields);
    ssize_t n;

    BRG_ASSERT(bc->master && !bc->failed && head_len <= client_in_size(a->cc));
    if (!head)
        return 0;
    n = bc->transport->put(bc, head);
    client_in_take(a->cc, head_len);
    if (n < 0 || (!fields->is_whole && stream_put_body(bc, a->cc)) ||
        bc->transport->put(bc, NULL) < 0)
        bc->failed = 1; /* its client sees that it breaks off */
    return n > 0 ? (size_t)n : 1;
}
