/* SPDX-License-Identifier: Apache-2.0 */
/* Limits before answers from memory. No request_rec is there; what is not let pass takes the full way, uncounted. */
#include "limit_private.h"
#include "brigade/assert.h"
#include "brigade/auth.h"
#include "loop.h"
#include "request_parts.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include <string.h>

#define STORED_INLINE static inline __attribute__((always_inline))

int limit_clients_change;
static _Thread_local unsigned stored_n; /* requests that were counted here */

/* What the limit's key has of the client. @return 1; 0: it cannot be told here; -1: the request has none */
STORED_INLINE int stored_who(const limit *l, limit_parts *parts, const cache_visit *v)
{
    const uint8_t *address = v->bc->client;
    size_t len = v->bc->client_len;

    if (limit_clients_change && (l->who != LIMIT_ANYONE || l->what == LIMIT_FIELD) &&
        cache_visit_is_changed(v))
        return 0;
    if (l->who != LIMIT_ANYONE && !len && !(len = conn_client_address(v->bc, &address)))
        return 0;
    parts->what = "";
    parts->what_len = 0;
    return limit_parts_who(l, parts, address, len) ? 1 : -1;
}

static __attribute__((noinline)) void stored_note(const limit *l, uint64_t key,
                                                  const limit_parts *parts, uint64_t now)
{
    char text[LIMIT_TEXT_ROOM];
    const size_t len = limit_text(l, parts, text, sizeof text);

    limit_busy_note(&limit_shared, key, l->row, text, len, LIMIT_SAMPLE, 0, now);
}

static inline uint64_t stored_now(const cache_visit *v)
{
    return (uint64_t)v->bc->loop->monotonic * 1000;
}

/* Take @a cost, or only look whether it could be taken. */
STORED_INLINE int stored_take(const cache_visit *v, uint64_t key, uint64_t cost, uint64_t burst,
                              uint64_t now)
{
    if (v->only_looks)
        return limit_rate_ahead(&limit_shared, key, now) <= burst;
    return limit_rate_takes(&limit_shared, key, cost, burst, now);
}

STORED_INLINE int stored_takes(const limit *l, uint64_t key, const cache_visit *v, uint64_t now)
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

STORED_INLINE int stored_asked(const limit *l, uint64_t fixed, const limit_parts *parts,
                               const cache_visit *v)
{
    const uint64_t now = stored_now(v);
    const uint64_t key = limit_key_of(l, fixed, parts);

    BRG_ASSERT_DEBUG(limit_shared.header != NULL);
    if (!v->only_looks && ++stored_n % LIMIT_SAMPLE == 0)
        stored_note(l, key, parts, now);
    return stored_takes(l, key, v, now);
}

static __attribute__((noinline)) int stored_by_user(const limit *l, uint64_t fixed,
                                                    limit_parts *parts, const cache_visit *v)
{
    char user[BRG_CACHE_USER_ROOM];

    if (!(parts->what = cache_visit_user(v, user)))
        return 0;
    parts->what_len = strlen(parts->what);
    return stored_asked(l, fixed, parts, v);
}

/* ---- expressions ---- */

static apr_pool_t *head_pool(const brg_loop *loop)
{
    static _Thread_local apr_pool_t *scratch;

    if (scratch)
        apr_pool_clear(scratch);
    else
        apr_pool_create(&scratch, loop->pool);
    return scratch;
}

/* As much of a request as expressions of its head look at (expr_is_of_head()); its pool lasts until the next one. */
static request_rec *head_request(const cache_visit *v)
{
    static const struct ap_logconf silent = {.module_levels = NULL, .level = APLOG_EMERG};
    apr_pool_t *p = head_pool(v->bc->loop);
    request_rec *r = apr_pcalloc(p, sizeof *r);

    r->pool = p;
    r->log = &silent;
    r->method = apr_pstrmemdup(p, v->head->method, v->head->method_len);
    r->headers_in = apr_table_make(p, v->head->n_fields + 1);
    request_fields_of(r, v->head);
    return r;
}

/* @return 1: go on, with the key in *fixed; 0: the request is not meant, or has no key */
static __attribute__((noinline)) int stored_by_head(const limit *l, uint64_t *fixed,
                                                    const cache_visit *visit)
{
    request_rec *r = head_request(visit);

    return (!l->when_of_head || limit_is_meant(r, l)) &&
           (!l->key_of_head || limit_key_text(r, l, fixed));
}

static int stored_admits(const void *data, uint64_t fixed, const cache_visit *visit)
{
    const limit *l = data;
    limit_parts parts;
    int told;

    if (l->key_of_head || l->when_of_head) {
        if (limit_clients_change && cache_visit_is_changed(visit))
            return 0;
        if (!stored_by_head(l, &fixed, visit))
            return 1;
    }
    told = stored_who(l, &parts, visit);

    if (told <= 0)
        return told < 0;
    if (l->what == LIMIT_USER)
        return stored_by_user(l, fixed, &parts, visit);
    if (l->what == LIMIT_FIELD) {
        if (cache_visit_is_repeated(visit, l->field_id, l->field, l->field_len))
            return 0;
        parts.what = cache_visit_field(visit, l->field_id, l->field, l->field_len, &parts.what_len);
        if (!parts.what_len)
            return 1;
    }
    return stored_asked(l, fixed, &parts, visit);
}

/* ---- a rate by one part, an address or a field: most limits, and they are asked with every request ---- */

STORED_INLINE int stored_takes_one(const limit *l, uint64_t fixed, const cache_visit *v,
                                   const char *at, size_t len)
{
    BRG_ASSERT_DEBUG(l->measure == LIMIT_RATE && l->excess != LIMIT_DELAYS);
    if (len < LIMIT_KEY_LEAST || len > LIMIT_KEY_SHORT || v->only_looks ||
        (stored_n + 1) % LIMIT_SAMPLE == 0)
        return stored_admits(l, fixed, v);
    stored_n++;
    return limit_rate_takes(&limit_shared, limit_key_of_one(l, fixed, at, len), l->each, l->burst,
                            stored_now(v));
}

static int stored_admits_client(const void *data, uint64_t fixed, const cache_visit *v)
{
    const size_t len = v->bc->client_len; /* 0: it has to be asked for */

    if (limit_clients_change)
        return stored_admits(data, fixed, v);
    return stored_takes_one(data, fixed, v, (const char *)v->bc->client, len);
}

static int stored_admits_field(const void *data, uint64_t fixed, const cache_visit *v)
{
    const limit *l = data;
    size_t len;
    const char *value = cache_visit_field(v, l->field_id, l->field, l->field_len, &len);

    if (limit_clients_change)
        return stored_admits(data, fixed, v);
    BRG_ASSERT(l->what == LIMIT_FIELD && l->field);
    if (value && cache_visit_is_repeated(v, l->field_id, l->field, l->field_len))
        return 0;
    return !len || stored_takes_one(l, fixed, v, value, len);
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
