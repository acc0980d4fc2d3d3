/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags by which a stored answer is purged: those of Cache-Tag, Surrogate-Key and xkey, with the ServerName of their site in front, so
 * that no other site ends them; and groups of Cache-Groups (RFC 9875), which are tags with their origin in front.
 */
#include "cached_named_private.h"
#include "cached_litespeed_private.h"
#include "cached_save_private.h"
#include "fresh_vary.h"
#include "brigade/assert.h"
#include <string.h>

typedef void tags_fn(void *to, const char *tag, size_t len);

/* "https://example.org members". Tags of the other fields have a line end in them. */
static const char *tags_of_group(const cached_request *q, const char *group, size_t len, size_t *n)
{
    const char *end = q->key.text + q->key.text_len,
               *path = memchr(q->key.text, ':', q->key.text_len);
    char *text;
    size_t origin;

    path = path && end - path > 3 ? memchr(path + 3, '/', (size_t)(end - path - 3)) : NULL;
    origin = path ? (size_t)(path - q->key.text) : q->key.text_len;
    text = apr_palloc(q->r->pool, origin + 1 + len);
    memcpy(text, q->key.text, origin);
    text[origin] = ' ';
    memcpy(text + origin + 1, group, len);
    *n = origin + 1 + len;
    return text;
}

static void tags_of_groups(const cached_request *q, const http_field *f, tags_fn *fn, void *to)
{
    const char *p = f->value, *group;
    size_t len;

    if (!fresh_groups_valid(f->value, f->value_len))
        return;
    for (int i = 0;
         i < FRESH_GROUPS_MOST && fresh_group_next(&p, f->value + f->value_len, &group, &len);
         i++) {
        const char *text = tags_of_group(q, group, len, &len);

        fn(to, text, len);
    }
}

static void tags_each(const cached_request *q, const fresh_head *fields, tags_fn *fn, void *to)
{
    for (uint32_t i = 0; i < fields->n; i++) {
        const http_field *f = fields->field + i;
        const fresh_tags kind = fresh_tags_of(f);
        const char *p = f->value, *tag;
        size_t len;

        while (kind && fresh_tags_next(kind, &p, f->value + f->value_len, &tag, &len)) {
            uint32_t n;
            const char *text = cached_tag_text(q->r->pool, q->r->server, tag, len, &n);

            fn(to, text, n);
        }
        if (FRESH_FIND(&((fresh_head){.field = f, .n = 1}), "cache-groups"))
            tags_of_groups(q, f, fn, to);
    }
}

typedef struct tags_marks {
    uint64_t *mark;
    uint32_t n;
} tags_marks;

static void tags_mark(void *to, const char *tag, size_t len)
{
    tags_marks *marks = to;
    const uint64_t mark = store_mark_of(cached_store(), tag, len);

    for (uint32_t i = 0; i < marks->n; i++)
        if (marks->mark[i] == mark)
            return;
    if (marks->n < CACHED_MARKS)
        marks->mark[marks->n++] = mark;
}

uint32_t cached_marks(const cached_request *q, const fresh_head *fields, uint64_t *mark)
{
    tags_marks marks = {mark, 0};

    if (q->key.text_len > q->key.target_len) /* it ends with its target */
        marks.mark[marks.n++] = store_mark_of_key(&q->key.target);
    if (q->ls)
        cached_ls_tags(q, tags_mark, &marks);
    tags_each(q, fields, tags_mark, &marks);
    BRG_ASSERT(marks.n <= CACHED_MARKS);
    return marks.n;
}

static void tags_measure(void *to, const char *tag, size_t len)
{
    *(size_t *)to += len + 1;
    (void)tag;
}

static void tags_add(void *to, const char *tag, size_t len)
{
    cached_request *q = to;
    char *at = (char *)q->save.tags + q->save.tags_len;

    memcpy(at, tag, len);
    at[len] = '\0';
    q->save.tags_len += (uint32_t)len + 1;
}

void cached_tags(cached_request *q, const fresh_head *fields)
{
    size_t room = 0;

    if (q->ls)
        cached_ls_tags(q, tags_measure, &room);
    tags_each(q, fields, tags_measure, &room);
    q->save.tags_len = 0;
    q->save.tags = room ? apr_palloc(q->r->pool, room) : NULL;
    if (q->ls)
        cached_ls_tags(q, tags_add, q);
    tags_each(q, fields, tags_add, q);
    BRG_ASSERT(q->save.tags_len == room);
}

static void tags_purge(void *to, const char *tag, size_t len)
{
    (void)to;
    (void)cached_purge_named(&(cached_named){.what = CACHED_TAG, .text = tag, .len = (uint32_t)len},
                             0);
}

void cached_groups_end(cached_request *q, const char *value)
{
    const http_field f = {.value = value, .value_len = value ? (uint32_t)strlen(value) : 0};

    BRG_ASSERT(q->key.text_len);
    if (value)
        tags_of_groups(q, &f, tags_purge, NULL);
}
