/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of purges that machines share: the latest of each target, beginning and tag, as long as
 * there is room. A dropped entry raises the floor: records that were asked for before it count as
 * purged.
 */
#include "cached_tier.h"
#include "disk.h"
#include "fresh_vary.h"
#include "brigade/assert.h"
#include <string.h>

#define LOG_MAGIC 0x32676f6c63655242ull

typedef struct log_head {
    uint64_t magic, sum; /* sum: of all behind it */
    uint64_t life;
    int64_t floor;
} log_head;

typedef struct log_entry {
    int64_t when;
    uint64_t node;
    uint32_t len;
    uint8_t kind, soft;
    uint16_t reserved;
} log_entry;

_Static_assert(sizeof(log_head) == 32 && sizeof(log_entry) == 24, "no holes");

static uint64_t log_sum(const char *bytes, size_t n)
{
    disk_sum sum;

    disk_sum_begin(&sum);
    disk_sum_add(&sum, bytes + offsetof(log_head, life), n - offsetof(log_head, life));
    return disk_sum_end(&sum);
}

static log_head log_head_of(const tier_log *log)
{
    log_head head;

    BRG_ASSERT(log->n >= sizeof head && log->n <= TIER_LOG_ROOM);
    memcpy(&head, log->bytes, sizeof head);
    return head;
}

void tier_log_begin(tier_log *log, uint64_t life)
{
    const log_head head = {.magic = LOG_MAGIC, .life = life};

    memcpy(log->bytes, &head, sizeof head);
    log->n = sizeof head;
}

uint64_t tier_log_life(const tier_log *log)
{
    return log_head_of(log).life;
}

apr_time_t tier_log_floor(const tier_log *log)
{
    return log_head_of(log).floor;
}

int tier_log_next(const tier_log *log, size_t *at, tier_purge *purge)
{
    log_entry e;

    if (!*at)
        *at = sizeof(log_head);
    if (*at == log->n)
        return 0;
    BRG_ASSERT(log->n - *at >= sizeof e); /* tier_log_read() */
    memcpy(&e, log->bytes + *at, sizeof e);
    *purge = (tier_purge){.when = e.when,
                          .node = e.node,
                          .text = log->bytes + *at + sizeof e,
                          .len = e.len,
                          .kind = e.kind,
                          .soft = e.soft};
    *at += sizeof e + e.len;
    return 1;
}

int tier_log_read(const char *bytes, size_t n)
{
    log_head head;

    if (n < sizeof head || n > TIER_LOG_ROOM)
        return -1;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != LOG_MAGIC || !head.life || log_sum(bytes, n) != head.sum)
        return -1;
    for (size_t at = sizeof head; at < n;) {
        log_entry e;

        if (n - at < sizeof e)
            return -1;
        memcpy(&e, bytes + at, sizeof e);
        at += sizeof e;
        if (e.kind >= TIER_KINDS || e.soft > 1 || e.len > n - at)
            return -1;
        at += e.len;
    }
    return 0;
}

void tier_log_seal(tier_log *log)
{
    const uint64_t sum = log_sum(log->bytes, log->n);

    memcpy(log->bytes + offsetof(log_head, sum), &sum, sizeof sum);
}

static int log_same(const tier_purge *a, const tier_purge *b)
{
    return a->kind == b->kind && a->soft == b->soft && a->len == b->len &&
           !memcmp(a->text, b->text, a->len);
}

static void log_cut(tier_log *log, size_t from, size_t to)
{
    BRG_ASSERT(from <= to && to <= log->n);
    memmove(log->bytes + from, log->bytes + to, log->n - to);
    log->n -= to - from;
}

/* Drop the oldest until no more than so many bytes are there. */
static void log_shrink(tier_log *log, size_t most)
{
    log_head head = log_head_of(log);
    size_t at = 0, end = sizeof head;
    tier_purge one;

    while (log->n - (end - sizeof head) > most && tier_log_next(log, &at, &one)) {
        head.floor = one.when > head.floor ? one.when : head.floor;
        end = at;
    }
    memcpy(log->bytes, &head, sizeof head);
    log_cut(log, sizeof head, end);
}

void tier_log_add(tier_log *log, const tier_purge *purge)
{
    const log_entry e = {.when = purge->when,
                         .node = purge->node,
                         .len = purge->len,
                         .kind = purge->kind,
                         .soft = purge->soft};
    size_t at = 0, begin = sizeof(log_head);
    tier_purge one;

    BRG_ASSERT(purge->len <= UINT16_MAX && purge->kind < TIER_KINDS);
    while (tier_log_next(log, &at, &one)) {
        if (log_same(&one, purge)) {
            log_cut(log, begin, at);
            break;
        }
        begin = at;
    }
    log_shrink(log, TIER_LOG_MOST);
    BRG_ASSERT(log->n + sizeof e + purge->len <= TIER_LOG_ROOM);
    memcpy(log->bytes + log->n, &e, sizeof e);
    if (purge->len)
        memcpy(log->bytes + log->n + sizeof e, purge->text, purge->len);
    log->n += sizeof e + purge->len;
}

void tier_log_halve(tier_log *log)
{
    log_shrink(log, sizeof(log_head) + (log->n - sizeof(log_head)) / 2);
}

int tier_log_has(const tier_log *log, const tier_purge *purge, int exactly)
{
    size_t at = 0;
    tier_purge one;

    while (tier_log_next(log, &at, &one))
        if (log_same(&one, purge) &&
            (!exactly || (one.when == purge->when && one.node == purge->node)))
            return 1;
    return 0;
}

static int log_has_tag(const tier_record *r, const tier_purge *purge)
{
    const char *tag = r->tags, *end = tag + r->tags_len;

    while (tag < end) {
        const size_t len = strlen(tag); /* tier_record_read(): the last one ends, too */

        if (len == purge->len && !memcmp(tag, purge->text, len))
            return 1;
        tag += len + 1;
    }
    return 0;
}

static int log_is_of(const tier_record *r, const tier_purge *purge)
{
    switch (purge->kind) {
    case TIER_TARGET:
        return (r->text_len == purge->len ||
                fresh_key_target(r->text, r->text_len) == purge->len) &&
               !memcmp(r->text, purge->text, purge->len);
    case TIER_PREFIX:
        return r->text_len >= purge->len && !memcmp(r->text, purge->text, purge->len);
    case TIER_TAG:
        return log_has_tag(r, purge);
    default:
        return 1;
    }
}

int tier_log_ends(const tier_log *log, const tier_record *r)
{
    size_t at = 0;
    int ends = r->asked <= tier_log_floor(log) + TIER_SKEW && tier_log_floor(log) ? 2 : 0;
    tier_purge one;

    while (ends < 2 && tier_log_next(log, &at, &one)) {
        /* Times of one clock are compared as they are. */
        const apr_time_t until = one.when + (one.node == r->node ? 0 : TIER_SKEW);

        if (r->asked <= until && log_is_of(r, &one))
            ends = one.soft ? 1 : 2;
    }
    return ends;
}
