/* SPDX-License-Identifier: Apache-2.0 */
/* Limits before answers from memory. No request_rec is there; what is not let pass takes the full way, uncounted. */
#include "limit_private.h"
#include "brigade/assert.h"
#include "brigade/auth.h"
#include "loop.h"
#include <string.h>

/* What the limit's key is made of. @return 1; 0: it cannot be told here; -1: the request has none */
static inline __attribute__((always_inline)) int stored_parts(const limit *l, limit_parts *parts,
                                                              const cache_visit *v, char *user)
{
    const uint8_t *address = NULL;
    size_t len = 0;

    if ((l->who != LIMIT_ANYONE || l->what == LIMIT_FIELD) && cache_visit_is_changed(v))
        return 0;
    if (l->who != LIMIT_ANYONE && !(len = conn_client_address(v->bc, &address)))
        return 0;
    if (!limit_parts_who(l, parts, address, len))
        return -1;
    parts->what = "";
    parts->what_len = 0;
    if (l->what == LIMIT_NOTHING)
        return 1;
    if (l->what == LIMIT_USER) {
        if (!(parts->what = cache_visit_user(v, user)))
            return 0;
        parts->what_len = strlen(parts->what);
        return 1;
    }
    parts->what = cache_visit_field(v, l->field_id, l->field, l->field_len, &parts->what_len);
    return parts->what_len ? 1 : -1;
}

static __attribute__((noinline)) void stored_note(const limit *l, uint64_t key,
                                                  const limit_parts *parts, uint64_t now)
{
    char text[LIMIT_TEXT_ROOM];
    const size_t len = limit_text(l, parts, text, sizeof text);

    limit_busy_note(&limit_shared, key, l->row, text, len, LIMIT_SAMPLE, 0, now);
}

/* Take @a cost, or only look whether it could be taken. */
static int stored_take(const cache_visit *v, uint64_t key, uint64_t cost, uint64_t burst,
                       uint64_t now)
{
    uint64_t ahead;

    if (v->only_looks)
        return limit_rate_ahead(&limit_shared, key, now) <= burst;
    return limit_rate_take(&limit_shared, key, cost, burst, now, &ahead);
}

static int stored_takes(const limit *l, uint64_t key, const cache_visit *v, uint64_t now)
{
    switch (l->measure) {
    case LIMIT_RATE:
        return stored_take(v, key, l->each, l->excess == LIMIT_DELAYS ? l->undelayed : l->burst,
                           now);
    case LIMIT_IN_FLIGHT:
        return v->len < LIMIT_LONG_BODY && limit_count_of(&limit_shared, key) < l->most;
    case LIMIT_BANDWIDTH:
        return v->len <= (apr_off_t)l->most &&
               stored_take(v, key, limit_cost(l, v->len), l->burst, now);
    default:
        return 1;
    }
}

int limit_admits(const void *data, uint64_t fixed, const cache_visit *visit)
{
    static _Thread_local unsigned asked;
    const limit *l = data;
    char user[BRG_CACHE_USER_ROOM];
    const uint64_t now = (uint64_t)visit->bc->loop->monotonic * 1000;
    limit_parts parts;
    uint64_t key;
    int told;

    BRG_ASSERT_DEBUG(limit_shared.header != NULL);
    told = stored_parts(l, &parts, visit, user);
    if (told <= 0)
        return told < 0;
    key = limit_key_of(l, fixed, &parts);
    if (!visit->only_looks && ++asked % LIMIT_SAMPLE == 0)
        stored_note(l, key, &parts, now);
    return stored_takes(l, key, visit, now);
}
