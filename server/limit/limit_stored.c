/* SPDX-License-Identifier: Apache-2.0 */
/* Limits before answers from memory, and before plans. No request_rec exists; a request that does not pass takes the
 * full way, uncounted. */
#include "limit_private.h"
#include "brigade/assert.h"
#include "loop.h"
#include <string.h>

#define STORED_INLINE static inline __attribute__((always_inline))

int limit_clients_change;
static _Thread_local unsigned stored_n; /* requests that were counted here */

static __attribute__((noinline)) void stored_note(const limit *l, uint64_t key,
                                                  const limit_subject *subject, uint64_t now)
{
    char text[LIMIT_TEXT_ROOM];
    const size_t len = limit_text(l, subject, text, sizeof text);

    limit_busy_note(&limit_shared, key, l->row, text, len, LIMIT_SAMPLE, 0, now);
}

static inline uint64_t stored_now(const transaction *t)
{
    return (uint64_t)t->bc->loop->monotonic * 1000;
}

/* Take @a cost, or only look whether it could be taken. */
STORED_INLINE int stored_take(const transaction *t, uint64_t key, uint64_t cost, uint64_t burst,
                              uint64_t now)
{
    if (t->only_looks)
        return limit_rate_ahead(&limit_shared, key, now) <= burst;
    return limit_rate_takes(&limit_shared, key, cost, burst, now);
}

STORED_INLINE int stored_takes(const limit *l, uint64_t key, const transaction *t, uint64_t now)
{
    switch (l->measure) {
    case LIMIT_RATE:
        return stored_take(t, key, l->each, l->excess == LIMIT_DELAYS ? l->undelayed : l->burst,
                           now);
    case LIMIT_IN_FLIGHT:
        return t->len < LIMIT_LONG_BODY && limit_count_of(&limit_shared, key) < l->most;
    case LIMIT_BANDWIDTH:
        return t->len <= (apr_off_t)l->most &&
               stored_take(t, key, limit_cost(l, t->len), l->burst, now);
    default:
        return 1;
    }
}

static int stored_admits(const void *data, uint64_t fixed, const transaction *t)
{
    const limit *l = data;
    const uint64_t now = stored_now(t);
    limit_subject subject;
    uint64_t key;

    BRG_ASSERT_DEBUG(limit_shared.header != NULL);
    switch (limit_reads(l, t, fixed, &subject, &key)) {
    case LIMIT_HAS_NO_KEY:
        return 1;
    case LIMIT_READS_NOT:
        return 0;
    default:
        if (!t->only_looks && ++stored_n % LIMIT_SAMPLE == 0)
            stored_note(l, key, &subject, now);
        return stored_takes(l, key, t, now);
    }
}

/* ---- a rate by one part, an address or a field: most limits, and they are asked with every request ---- */

STORED_INLINE int stored_takes_one(const limit *l, uint64_t fixed, const transaction *t,
                                   const char *at, size_t len)
{
    BRG_ASSERT_DEBUG(l->measure == LIMIT_RATE && l->excess != LIMIT_DELAYS);
    if (len < LIMIT_KEY_LEAST || len > LIMIT_KEY_SHORT || t->only_looks ||
        (stored_n + 1) % LIMIT_SAMPLE == 0)
        return stored_admits(l, fixed, t);
    stored_n++;
    return limit_rate_takes(&limit_shared, limit_key_of_one(l, fixed, at, len), l->each, l->burst,
                            stored_now(t));
}

static int stored_admits_client(const void *data, uint64_t fixed, const transaction *t)
{
    const size_t len = t->bc->client.len; /* 0: it has to be asked for */

    if (limit_clients_change)
        return stored_admits(data, fixed, t);
    return stored_takes_one(data, fixed, t, (const char *)t->bc->client.at, len);
}

static int stored_admits_field(const void *data, uint64_t fixed, const transaction *t)
{
    const limit *l = data;
    const char *value;
    apr_ssize_t len;

    if (limit_clients_change)
        return stored_admits(data, fixed, t);
    BRG_ASSERT(l->what == LIMIT_FIELD && l->field);
    len = transaction_field(t, l->field_id, l->field, l->field_len, &value);
    if (len < 0)
        return 0;
    return !len || stored_takes_one(l, fixed, t, value, (size_t)len);
}

cache_gate_fn *limit_gate(const limit *l)
{
    if (l->measure != LIMIT_RATE || l->excess == LIMIT_DELAYS || l->key_of_head || l->when_of_head)
        return stored_admits;
    if (l->who == LIMIT_CLIENT && l->what == LIMIT_NOTHING)
        return stored_admits_client;
    if (l->who == LIMIT_ANYONE && l->what == LIMIT_FIELD)
        return stored_admits_field;
    return stored_admits;
}
