/* SPDX-License-Identifier: Apache-2.0 */
/* Redirects whose Location ends with a name (cache_moved_private.h). */
#include "cache_moved_private.h"
#include "cache_loan_private.h"
#include "cache_names_private.h"
#include "cache_route.h"
#include "http_text.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cache_moved_is(const request_rec *r)
{
    switch (r->status) {
    case HTTP_MOVED_PERMANENTLY:
    case HTTP_MOVED_TEMPORARILY:
    case HTTP_SEE_OTHER:
    case HTTP_TEMPORARY_REDIRECT:
    case HTTP_PERMANENT_REDIRECT:
        return 1;
    default:
        return 0;
    }
}

/* ---- where the name is ---- */

/* -1: there is none, or several. */
static int moved_location(const http_answer *a)
{
    int at = -1;

    for (int i = 0; i < a->n_fields; i++)
        if (!strcasecmp(a->field[i].name, "Location")) {
            if (at >= 0)
                return -1;
            at = i;
        }
    return at;
}

/* At the end of a value that pages show as it is, behind a slash, and nowhere else in it. */
static int moved_ends_with(const http_answer_field *f, const char *name, size_t len)
{
    return f->value_len > len && !memcmp(f->value + f->value_len - len, name, len) &&
           f->value[f->value_len - len - 1] == '/' && !strpbrk(f->value, "&<>\"'") &&
           !cache_name_shows(f->value, f->value_len - len, name, len);
}

static int moved_others_show(http_answer *a, int location, const char *name, size_t len)
{
    const http_answer_field f = a->field[location];
    int shown;

    a->field[location].value = "";
    shown = cache_name_head_shows(a, name, len);
    a->field[location] = f;
    return shown;
}

/* @return where the one value ends in the page; NULL: it is not there, or several times, or the name is shown elsewhere */
static const char *moved_in_page(const char *body, size_t len, const http_answer_field *f,
                                 const char *name, size_t name_len)
{
    const char *at = memmem(body, len, f->value, f->value_len), *end;

    if (!at)
        return NULL;
    end = at + f->value_len;
    return cache_name_shows(body, (size_t)(at - body), name, name_len) ||
                   cache_name_shows(end, len - (size_t)(end - body), name, name_len)
               ? NULL
               : end;
}

int cache_moved_take(cache_entry *e, const char *body, size_t len, const char *name,
                     size_t name_len)
{
    http_answer *a = e->head.answer;
    const int at = moved_location(a);
    const char *end;

    BRG_ASSERT(e->absent && e->absent->location_at < 0);
    if (at < 0 || a->length_at == HTTP_NO_FIELD || a->connection || a->added || a->date ||
        !e->body || !e->body->data || e->frame_before || (size_t)e->body->len != len ||
        !moved_ends_with(&a->field[at], name, name_len) ||
        moved_others_show(a, at, name, name_len) ||
        !(end = moved_in_page(body, len, &a->field[at], name, name_len)))
        return -1;
    e->absent->location_at = at;
    e->absent->body_at = (size_t)(end - body) - name_len;
    return 0;
}

/* ---- an answer ---- */

#define MOVED_LENGTH 24 /* bytes of a length as text */

static char *moved_put(char *to, const char *text, size_t len)
{
    return (char *)mempcpy(to, text, len);
}

/* @param to  room for the length, and for Location @return what is behind them */
static char *moved_head(cache_loan *loan, char *to, const char *name, size_t len)
{
    const cache_entry *like = loan->like;
    http_answer *a = loan->entry.head.answer;
    const http_answer *from = like->head.answer;
    http_answer_field *f = &a->field[like->absent->location_at];
    const size_t before = f->value_len - like->absent->name_len;

    f->value = to;
    f->value_len = (uint32_t)(before + len);
    to = moved_put(to, from->field[like->absent->location_at].value, before);
    to = moved_put(to, name, len);
    *to++ = '\0';
    f = &a->field[a->length_at];
    f->value = to;
    f->value_len = (uint32_t)http_put_number(to, (apr_uint64_t)loan->body.len);
    to[f->value_len] = '\0';
    return to + MOVED_LENGTH;
}

static void moved_page(cache_loan *loan, char *to, const char *name, size_t len)
{
    const cache_body *page = loan->like->body;
    const cache_names *names = loan->like->absent;
    const size_t behind = names->body_at + names->name_len;

    loan->body.data = to;
    to = moved_put(to, page->data, names->body_at);
    to = moved_put(to, name, len);
    moved_put(to, page->data + behind, (size_t)page->len - behind);
}

/* Behind the head: Location, the length, and the page. */
static cache_loan *moved_make(cache_entry *like, const char *name, size_t len)
{
    const http_answer *from = like->head.answer;
    const cache_names *names = like->absent;
    const size_t location = from->field[names->location_at].value_len - names->name_len + len + 1;
    const size_t page = (size_t)like->body->len - names->name_len + len;
    char *to;
    cache_loan *loan = cache_loan_new(like, location + MOVED_LENGTH + page, &to);

    if (!loan)
        return NULL;
    loan->body.len = (apr_off_t)page;
    moved_page(loan, moved_head(loan, to, name, len), name, len);
    return loan;
}

cache_entry *cache_moved_entry(response_cache *c, cache_entry *like, const http_head *h,
                               const http_codec *codec)
{
    size_t name_len;
    const char *name = cache_name_of(h->uri, h->uri_len, &name_len);
    cache_loan *loan = cache_head_is_plain(h) ? moved_make(like, name, name_len) : NULL;

    BRG_ASSERT(name && like->absent->location_at >= 0);
    return loan ? cache_loan_lend(c, loan, codec) : NULL;
}
