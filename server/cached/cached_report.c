/* SPDX-License-Identifier: Apache-2.0 */
/* Stored answers of a target, in words: for the command line and the page. Bytes of the memory are held to their bounds, and shown escaped. */
#include "cached_below_private.h"
#include "cached_named_private.h"
#include "fresh_vary.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "apr_strings.h"
#include <string.h>

#define REPORT_MOST 1000 /* objects that are told one by one */

typedef struct report {
    apr_pool_t *p; /* of one object */
    const cached_named *named;
    apr_array_header_t *marks; /* of a tag, of each site */
    cached_put_fn *put;
    void *to;
    int n;
    apr_time_t now;
} report;

static void report_line(const report *t, const char *what, const char *text)
{
    t->put(t->to, apr_psprintf(t->p, "  %-9s%s", what, ap_escape_logitem(t->p, text)));
}

static const char *report_field(const report *t, const fresh_head *head, const char *name)
{
    const http_field *f = fresh_find(head, name, strlen(name));

    return f ? apr_pstrmemdup(t->p, f->value, f->value_len) : NULL;
}

static const char *report_time(apr_pool_t *p, apr_time_t when)
{
    char *date = apr_palloc(p, APR_RFC822_DATE_LEN);

    return apr_rfc822_date(date, when) == APR_SUCCESS ? date : "?";
}

/* ", NAME value" of fields that make variants. */
static const char *report_kind(const report *t, const fresh_head *head)
{
    static const char *const names[] = {"content-type", "content-encoding", "content-language",
                                        "content-range"};
    const char *kind = "";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = report_field(t, head, names[i]);

        if (value)
            kind = apr_pstrcat(t->p, kind, ", ", value, NULL);
    }
    return kind;
}

static void report_answer(const report *t, const cached_head *head, const fresh_terms *terms,
                          uint64_t length)
{
    report_line(t, "answer",
                apr_psprintf(t->p, "%s%s, %" APR_UINT64_T_FMT " bytes",
                             head->line ? head->line : apr_itoa(t->p, terms->code),
                             report_kind(t, &head->head), length));
}

static void report_freshness(const report *t, const fresh_terms *terms, int soft)
{
    const int64_t left = fresh_left(terms, t->now);
    const char *lifetime = apr_psprintf(t->p, "its lifetime is %u s%s", terms->lifetime,
                                        terms->flags & FRESH_T_HEURISTIC ? " by a guess" : "");

    report_line(t, "stored", report_time(t->p, terms->stored));
    report_line(t, "age", apr_psprintf(t->p, "%u s", fresh_age(terms, t->now)));
    if (soft)
        report_line(t, "fresh", "no: it was purged softly, and is validated when it is wanted");
    else if (terms->flags & FRESH_T_NO_CACHE)
        report_line(t, "fresh", "no: it is validated each time (no-cache)");
    else if (left > 0)
        report_line(t, "fresh",
                    apr_psprintf(t->p, "for %" APR_INT64_T_FMT " s, %s", left, lifetime));
    else
        report_line(
            t, "fresh",
            apr_psprintf(t->p, "no: stale for %" APR_INT64_T_FMT " s, %s", -left, lifetime));
}

/* The names of its tags, as its fields have them. */
static void report_tags(const report *t, const fresh_head *head)
{
    const char *tags = NULL;

    for (uint32_t i = 0; i < head->n; i++) {
        const http_field *f = head->field + i;
        const fresh_tags kind = fresh_tags_of(f);
        const char *p = f->value, *tag;
        size_t len;

        while (kind && fresh_tags_next(kind, &p, f->value + f->value_len, &tag, &len)) {
            const char *one = apr_pstrmemdup(t->p, tag, len);

            tags = tags ? apr_pstrcat(t->p, tags, ", ", one, NULL) : one;
        }
    }
    if (tags)
        report_line(t, "tags", tags);
}

static void report_places(const report *t, const store_view *view, const store_key *key)
{
    report_line(t, "hits", view->hits < 7 ? apr_itoa(t->p, (int)view->hits) : "7 or more");
    report_line(t, "lies", cached_disk_has(key) ? "in memory and on disk" : "in memory");
}

static void report_object(const report *t, const store_view *view, uint64_t length)
{
    const char *head = apr_pmemdup(t->p, view->head, view->head_len);
    const store_key key = store_view_key(view);
    fresh_terms terms;
    cached_head read;

    memcpy(&terms, view->terms, sizeof terms);
    t->put(t->to, ap_escape_logitem(t->p, apr_pstrmemdup(t->p, view->text, view->text_len)));
    if (view->vary) {
        report_line(t, "varies",
                    apr_pstrcat(t->p, "by ", apr_pstrmemdup(t->p, head, view->head_len), NULL));
        return;
    }
    if (cached_head_read(t->p, head, view->head_len, &read)) {
        report_line(t, "answer", "cannot be read");
        return;
    }
    report_answer(t, &read, &terms, length);
    report_freshness(t, &terms, view->soft);
    report_places(t, view, &key);
    report_tags(t, &read.head);
}

static int report_is_named(const report *t, const store_view *view)
{
    const cached_named *named = t->named;

    for (int i = 0; named->what == CACHED_TAG && i < t->marks->nelts; i++)
        if (store_view_has_mark(view, APR_ARRAY_IDX(t->marks, i, uint64_t)))
            return 1;
    if (named->what == CACHED_TAG)
        return 0;
    return view->text_len >= named->len && !memcmp(view->text, named->text, named->len) &&
           (named->what == CACHED_PREFIX ||
            fresh_key_target(view->text, view->text_len) == named->len);
}

static int report_each(void *data, const store_view *view, uint64_t length)
{
    report *t = data;

    if (!report_is_named(t, view))
        return 1;
    if (++t->n <= REPORT_MOST)
        report_object(t, view, length);
    apr_pool_clear(t->p);
    return 1;
}

/* Nothing of this very target is in memory: is it on disk, and what did its last answer say? */
static void report_target(const report *t)
{
    const store_key key = store_key_of(cached_store(), t->named->text, t->named->len, NULL, 0);
    cached_reason reason;

    if (!t->n && cached_disk_has(&key))
        t->put(t->to, "on disk, and not in memory: it is read when it is wanted");
    if (cached_why_get(&key, &reason))
        t->put(t->to, apr_psprintf(t->p,
                                   "an answer was not stored (status %d, %" APR_INT64_T_FMT
                                   " s ago, %u in a row): %s",
                                   reason.code, apr_time_sec(t->now - reason.when), reason.times,
                                   ap_escape_logitem(t->p, reason.text)));
}

int cached_report(apr_pool_t *p, const cached_named *named, cached_put_fn *put, void *to)
{
    report t = {.named = named,
                .marks = apr_array_make(p, 1, sizeof(uint64_t)),
                .put = put,
                .to = to,
                .now = brg_now()};
    cached_place *place = cached_place_here();

    BRG_ASSERT(named->text);
    if (!place)
        return 0;
    apr_pool_create(&t.p, p);
    for (const cached_named *one = named; one && one->what == CACHED_TAG; one = one->next)
        APR_ARRAY_PUSH(t.marks, uint64_t) = store_mark_of(cached_store(), one->text, one->len);
    BRG_ASSERT((t.marks->nelts > 0) == (named->what == CACHED_TAG));
    store_each(cached_reader(place), report_each, &t);
    if (t.n > REPORT_MOST)
        put(to, apr_psprintf(t.p, "and %d more", t.n - REPORT_MOST));
    if (!t.n)
        put(to, "nothing is in memory");
    if (named->what == CACHED_TARGET)
        report_target(&t);
    apr_pool_destroy(t.p);
    return t.n;
}

void cached_report_all(apr_pool_t *p, cached_put_fn *put, void *to)
{
    store_figures f;

    BRG_ASSERT(cached_store());
    store_figures_get(cached_store(), &f);
    put(to, apr_psprintf(p, "objects  %" APR_UINT64_T_FMT " of %" APR_UINT64_T_FMT, f.objects,
                         f.objects_most));
    put(to, apr_psprintf(p, "bytes    %" APR_UINT64_T_FMT, f.bytes));
    put(to, apr_psprintf(p, "fetches  %" APR_UINT64_T_FMT ", %" APR_UINT64_T_FMT " bytes",
                         f.flights, f.flight_bytes));
    put(to, apr_psprintf(p, "waiting  %" APR_UINT64_T_FMT, f.waiting));
    put(to, apr_psprintf(p, "held     %" APR_UINT64_T_FMT, f.held));
}
