/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that are stored themselves (CacheEnable), and whose parts (mod_include) the store answers, too: such a page is fresh until the
 * first of its parts ends, and has the marks of all of them, so a purge of a part ends it. It is never validated: what says that the
 * page's own file is the same says nothing of its parts.
 */
#include "cached_composed_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <string.h>

/* The request of the page, if that may be stored; NULL, too, where another thread has it. */
static cached_request *composed_page(const request_rec *r)
{
    const request_rec *up;

    while ((up = request_led_to(r)) != NULL)
        r = up;
    return r->main ? NULL : cached_of(r);
}

static void composed_mark(cached_composed *c, uint64_t mark)
{
    for (uint32_t i = 0; i < c->marks_n; i++)
        if (c->marks[i] == mark)
            return;
    if (c->marks_n <= STORE_MARKS_MOST)
        c->marks[c->marks_n++] = mark;
}

static void composed_until(cached_composed *c, apr_time_t until)
{
    if (until < c->until)
        c->until = until;
}

void cached_composed_ask(const request_rec *r)
{
    cached_request *page = composed_page(r);

    if (!page)
        return;
    if (!page->composed) {
        page->composed = apr_pcalloc(page->r->pool, sizeof *page->composed);
        page->composed->until = INT64_MAX;
    }
    page->composed->asked++;
}

static cached_composed *composed_of(const cached_request *q)
{
    const cached_request *page = q->r->main ? composed_page(q->r) : NULL;

    return page ? page->composed : NULL;
}

void cached_composed_serve(const cached_request *q)
{
    cached_composed *c = composed_of(q);
    uint64_t marks[STORE_MARKS_MOST];
    uint32_t n;

    if (!c)
        return;
    BRG_ASSERT(q->view.reader);
    n = store_view_marks(&q->view, marks);
    for (uint32_t i = 0; i < n; i++)
        composed_mark(c, marks[i]);
    composed_mark(c, store_mark_of_key(&q->key));
    composed_until(c, fresh_until(&q->terms));
    c->kept++;
}

void cached_composed_save(const cached_request *q, const store_head *head)
{
    cached_composed *c = composed_of(q);

    if (!c)
        return;
    BRG_ASSERT(head->marks_n <= STORE_MARKS_MOST);
    for (uint32_t i = 0; i < head->marks_n; i++)
        composed_mark(c, head->marks[i]);
    composed_mark(c, store_mark_of_key(&q->key));
    composed_until(c, fresh_until(&q->terms));
}

void cached_composed_saved(const cached_request *q)
{
    cached_composed *c = composed_of(q);

    if (c)
        c->kept++;
}

const char *cached_composed_refused(const cached_request *q)
{
    const cached_composed *c = q->composed;

    if (!c || q->r->main)
        return NULL;
    if (c->kept < c->asked)
        return "a part of it is not stored";
    return c->until < brg_now() + apr_time_from_sec(1) ? "a part of it ends now" : NULL;
}

void cached_composed_apply(cached_request *q, fresh_terms *terms, store_head *head)
{
    const cached_composed *c = q->composed;
    uint64_t *marks;
    int64_t left;

    if (!c)
        return;
    marks = apr_palloc(q->r->pool, (head->marks_n + c->marks_n + 1) * sizeof *marks);
    memcpy(marks, head->marks, head->marks_n * sizeof *marks);
    memcpy(marks + head->marks_n, c->marks, c->marks_n * sizeof *marks);
    head->marks = marks;
    head->marks_n += c->marks_n;
    left = apr_time_sec(c->until - brg_now());
    if (left < fresh_left(terms, brg_now()))
        terms->lifetime = left > 0 ? terms->age + (uint32_t)left : 0;
    terms->swr = terms->sie = 0;
    terms->flags |= FRESH_T_COMPOSED;
    q->composed_of = c->asked;
}

int cached_composed_grew(const cached_request *q)
{
    return q->composed && q->composed->asked != q->composed_of;
}
