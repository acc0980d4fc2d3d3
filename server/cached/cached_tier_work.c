/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of the threads of the tier: an answer comes into memory, or goes from there into the tier. */
#include "cached_below_private.h"
#include "cached_tier_private.h"
#include "fresh_vary.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A call of the provider is over. @param what  the counter */
static void tier_called(const tier_thread *thread, cached_outcome what, apr_time_t begun)
{
    BRG_ASSERT(what == CACHED_TIER_LOOKUPS || what == CACHED_TIER_STORED ||
               what == CACHED_TIER_FAILED);
    cached_count_tier(thread->place, what, 1);
    cached_count_tier(thread->place, CACHED_TIER_WAITED, (uint64_t)(brg_monotonic_now() - begun));
}

#define TIER_FUTURE apr_time_from_sec(60) /* clocks that are wrong by more are not believed */

/* ---- reading ---- */

static uint32_t tier_marks(const tier_record *r, uint64_t *marks)
{
    const size_t target = fresh_key_target(r->text, r->text_len);
    uint32_t n = 0;

    if (target < r->text_len) { /* of a QUERY: it ends with its target */
        const store_key key = store_key_of(cached_store(), r->text, target, NULL, 0);

        marks[n++] = store_mark_of_key(&key);
    }
    for (const char *tag = r->tags, *end = tag + r->tags_len; tag < end && n < STORE_MARKS_MOST;
         tag += strlen(tag) + 1)
        marks[n++] = store_mark_of(cached_store(), tag, strlen(tag));
    return n;
}

/* Into memory. @param soft  it is stale, whatever it says */
static void tier_copy(tier_thread *thread, const tier_job *job, const tier_record *r, int soft,
                      uint32_t flight, uint32_t epoch)
{
    uint64_t marks[STORE_MARKS_MOST];
    fresh_terms terms;
    const store_key whole = store_key_of(cached_store(), r->text, r->text_len, NULL, 0);
    const store_head head = {.key = job->name.key,
                             .mark = r->variant_len ? store_mark_of_key(&whole) : 0,
                             .text = r->text,
                             .text_len = r->text_len,
                             .terms = &terms,
                             .head = r->head,
                             .head_len = r->head_len,
                             .marks = marks,
                             .marks_n = tier_marks(r, marks),
                             .vary = (uint8_t)r->vary,
                             .length = r->body_len,
                             .epoch = epoch};
    const char *why;
    store_writer *w;

    BRG_ASSERT(head.marks_n <= STORE_MARKS_MOST && r->text_len == job->name.text_len);
    memcpy(&terms, r->terms, sizeof terms);
    if (soft) {
        terms.lifetime = 0;
        terms.swr = 0;
    }
    w = store_write_begin(cached_reader(thread->place), &head, flight, &why);
    if (!w)
        return;
    cached_wake(thread->place, flight);
    if (r->body_len && store_write(w, r->body, (size_t)r->body_len))
        store_write_give_up(&w);
    else
        (void)store_write_end(&w);
}

/* It would be sent as it is, and any program that may write into the tier may have made it. */
static int tier_is_sound(const tier_record *r, apr_pool_t *p)
{
    cached_head head;
    fresh_terms terms;

    if (r->vary)
        return !r->body_len && r->head_len && r->head_len <= FRESH_VARY_TEXT &&
               http_is_value(r->head, r->head_len);
    memcpy(&terms, r->terms, sizeof terms);
    return fresh_terms_are_sound(&terms) && !cached_head_read(p, r->head, r->head_len, &head) &&
           cached_head_is_sound(&head, terms.code, r->body_len);
}

static int tier_is_wanted(const tier_job *job, const tier_record *r)
{
    const cached_tier_name *name = &job->name;
    fresh_terms terms;

    if (r->text_len != name->text_len || memcmp(r->text, name->text, r->text_len) != 0 ||
        r->variant_len != name->variant_len ||
        memcmp(r->variant, name->variant, r->variant_len) != 0 || r->asked < 0 ||
        r->asked > apr_time_now() + TIER_FUTURE)
        return 0;
    memcpy(&terms, r->terms, sizeof terms);
    return !job->fresh ||
           (!r->vary && fresh_terms_are_sound(&terms) && fresh_left(&terms, apr_time_now()) > 0);
}

void tier_do_read(tier_thread *thread, tier_job *job)
{
    const uint32_t epoch = store_epoch(cached_store()), flight = (uint32_t)(job->claim >> 32);
    unsigned char id[TIER_ID];
    unsigned n = thread->room_bytes;
    apr_status_t rv = !cached_tier_answers() ? APR_NOTFOUND
                      : tier_purges_known()  ? APR_SUCCESS
                                             : tier_purges_look(thread->pool);
    const apr_time_t begun = brg_monotonic_now();
    const int asked = rv == APR_SUCCESS;
    tier_record r;
    int ends = 2;

    BRG_ASSERT(job->what == TIER_READS_IT && flight);
    if (rv == APR_SUCCESS) {
        tier_record_id(id, job->name.text, job->name.text_len, job->name.variant,
                       job->name.variant_len);
        rv = tier_get(id, thread->room, &n, thread->pool);
    }
    if (tier_is_failure(rv))
        tier_failed(rv);
    if (asked)
        tier_called(thread, CACHED_TIER_LOOKUPS, begun);
    if (rv == APR_SUCCESS && !tier_record_read(thread->room, n, &r) && tier_is_wanted(job, &r) &&
        tier_is_sound(&r, thread->pool))
        ends = tier_purges_end(&r);
    if (ends == 1 && job->fresh)
        ends = 2;
    if (!tier_unclaim(job->place, job->claim))
        return; /* nobody waits any more: cached_tier_watch() counted it */
    if (tier_is_failure(rv))
        cached_count_tier(thread->place, CACHED_TIER_FAILED, 1);
    if (ends < 2) {
        cached_count_tier(thread->place, CACHED_TIER_HITS, 1);
        tier_copy(thread, job, &r, ends, flight, epoch);
    }
    tier_end_flight(thread->place, flight); /* if it is not over: its followers look the key up */
    if (n > 1u << 20 && n <= thread->room_bytes)
        madvise(thread->room, thread->room_bytes, MADV_DONTNEED);
}

/* ---- writing ---- */

/* Until when it may lie there: as long as it is fresh, and longer so that it can be validated. */
static apr_time_t tier_expiry(const tier_job *job, const store_view *view)
{
    const apr_time_t now = apr_time_now(), most = now + apr_time_from_sec(job->most);
    fresh_terms terms;
    apr_time_t until;

    memcpy(&terms, view->terms, sizeof terms);
    if (view->vary)
        return most;
    until = fresh_until(&terms);
    until = (until > now ? until : now) + apr_time_from_sec(job->least);
    return until < most ? until : most;
}

static int tier_body(const store_view *view, char *to, uint64_t n)
{
    for (uint64_t done = 0; done < n;) {
        const char *p;
        int lost = 0;
        size_t part = store_body(view, done, &p, &lost);

        if (!part || lost)
            return -1;
        part = part < n - done ? part : (size_t)(n - done);
        memcpy(to + done, p, part);
        done += part;
    }
    return 0;
}

static void tier_put_view(tier_thread *thread, const tier_job *job, const store_view *view,
                          uint64_t length)
{
    const tier_record r = {.life = tier_purges_life(),
                           .node = tier_node(),
                           .asked = job->asked,
                           .terms = view->terms,
                           .text = view->text,
                           .text_len = view->text_len,
                           .variant = job->name.variant,
                           .variant_len = job->name.variant_len,
                           .tags = job->tags,
                           .tags_len = job->tags_len,
                           .head = view->head,
                           .head_len = view->head_len,
                           .body_len = length,
                           .vary = view->vary};
    const size_t size = tier_record_size(&r);
    unsigned char id[TIER_ID];
    char *bytes = r.life && size <= job->bytes && size <= TIER_OBJECT_MOST ? malloc(size) : NULL;
    apr_status_t rv;
    apr_time_t begun;

    BRG_ASSERT(view->reader && job->what == TIER_WRITES_IT);
    if (!bytes)
        return;
    if (!tier_body(view, bytes + tier_record_begin(bytes, &r), length)) {
        tier_record_seal(bytes, size);
        tier_record_id(id, r.text, r.text_len, r.variant, r.variant_len);
        begun = brg_monotonic_now();
        rv = tier_put(id, tier_expiry(job, view), bytes, (unsigned)size, thread->pool);
        if (tier_is_failure(rv))
            tier_failed(rv);
        tier_called(thread, rv == APR_SUCCESS ? CACHED_TIER_STORED : CACHED_TIER_FAILED, begun);
    }
    free(bytes);
}

void tier_do_write(tier_thread *thread, const tier_job *job)
{
    uint64_t length;
    store_found found;

    if (!cached_tier_answers() ||
        !store_find(cached_reader(thread->place), &job->name.key, apr_time_now(), &found))
        return;
    if (!found.view.reader)
        return;
    if (!found.view.soft && store_view_state(&found.view, &length) == STORE_COMPLETE)
        tier_put_view(thread, job, &found.view, length);
    store_release(&found.view);
}
