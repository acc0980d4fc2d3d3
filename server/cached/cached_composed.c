/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that are stored themselves (CacheEnable), and whose parts (mod_include) the store answers,
 * too: such a page is fresh until the first of its parts ends, and has the marks of all of them, so
 * a purge of a part ends it. It varies by the fields of its parts, and is not stored where an
 * access rule told clients of a part apart. It is never validated: the age of the page's own file
 * says nothing of its parts.
 */
#include "cached_composed_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

/* The next page that @a r is a part of, and that may be stored; *up is its request. NULL: no such
 * page, or another thread has it */
static cached_request *composed_page(const request_rec *r, const request_rec **up)
{
    while ((r = request_led_to(r)) != NULL) {
        cached_request *page = cached_of(r);

        *up = r;
        if (page && (!r->next || cached_of(r->next) != page)) /* once, behind internal redirects */
            return page;
    }
    return NULL;
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

static void composed_names(const cached_request *page, const char *names)
{
    cached_composed *c = page->save.composed;

    for (const char *at = names; at && *at;) {
        const size_t n = strcspn(at, ",");

        if (n && !cached_names_have(c->names, at, n))
            c->names = apr_pstrcat(page->r->pool, c->names, *c->names ? "," : "",
                                   apr_pstrmemdup(page->r->pool, at, n), NULL);
        at += n + (at[n] == ',');
    }
}

void cached_composed_ask(const request_rec *r)
{
    cached_request *page;

    while ((page = composed_page(r, &r)) != NULL) {
        if (!page->save.composed) {
            page->save.composed = apr_pcalloc(page->r->pool, sizeof *page->save.composed);
            page->save.composed->until = INT64_MAX;
            page->save.composed->names = "";
        }
        page->save.composed->asked++;
    }
}

/* A part of these marks, which ends then and varies by these names. */
static void composed_add(const cached_request *q, const uint64_t *marks, uint32_t n)
{
    const request_rec *r = q->r;
    const cached_request *page;

    BRG_ASSERT(n <= STORE_MARKS_MOST);
    while ((page = composed_page(r, &r)) != NULL) {
        if (!page->save.composed)
            continue;
        for (uint32_t i = 0; i < n; i++)
            composed_mark(page->save.composed, marks[i]);
        composed_mark(page->save.composed, store_mark_of_key(&q->key.hash));
        composed_until(page->save.composed, fresh_until(&q->found.terms));
        composed_names(page, q->key.names);
    }
}

static void composed_keep(const cached_request *q)
{
    const request_rec *r = q->r;
    const cached_request *page;

    while ((page = composed_page(r, &r)) != NULL)
        if (page->save.composed)
            page->save.composed->kept++;
}

void cached_composed_serve(const cached_request *q)
{
    uint64_t marks[STORE_MARKS_MOST];

    if (!q->r->main)
        return;
    BRG_ASSERT(q->found.view.reader);
    composed_add(q, marks, store_view_marks(&q->found.view, marks));
    composed_keep(q);
}

void cached_composed_save(const cached_request *q, const store_head *head)
{
    if (q->r->main)
        composed_add(q, head->marks,
                     head->marks_n < STORE_MARKS_MOST ? head->marks_n : STORE_MARKS_MOST);
}

void cached_composed_saved(const cached_request *q)
{
    if (q->r->main)
        composed_keep(q);
}

static void composed_vary_by(request_rec *r, const char *names)
{
    const char *has = apr_table_get(r->headers_out, "Vary"), *name;

    while (*(name = ap_get_token(r->pool, &names, 0)) != '\0') {
        if (!has || !ap_find_token(r->pool, has, name)) {
            apr_table_mergen(r->headers_out, "Vary", name);
            has = apr_table_get(r->headers_out, "Vary");
        }
        names += *names == ',';
    }
}

void cached_composed_vary(const cached_request *q)
{
    request_rec *r = q->r;

    if (q->save.composed)
        composed_vary_by(r, q->save.composed->names);
    if (q->vary)
        composed_vary_by(r, q->vary);
}

const char *cached_composed_refused(const cached_request *q)
{
    const cached_composed *c = q->save.composed;

    if (request_has_guarded_part(q->r))
        return "access to a part of it depends on who asks";
    if (!c)
        return NULL;
    if (c->kept < c->asked)
        return "a part of it is not stored";
    return c->until < brg_now() + apr_time_from_sec(1) ? "a part of it ends now" : NULL;
}

void cached_composed_apply(cached_request *q, fresh_terms *terms, store_head *head)
{
    const cached_composed *c = q->save.composed;
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
    q->save.composed_of = c->asked;
}

int cached_composed_grew(const cached_request *q)
{
    return (q->save.composed && q->save.composed->asked != q->save.composed_of) ||
           request_has_guarded_part(q->r);
}
