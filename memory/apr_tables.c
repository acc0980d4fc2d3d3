/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's tables: lists of names and values in the order in which they came. A name is found by a checksum of its first
 * four bytes, which one comparison tells from nearly all others; requests have few entries, so there is no index.
 *
 * Half of the tables of a request stay empty: the room for entries is taken when the first one comes.
 */
#include "apr_declared.h"
#include "pool_inline.h"
#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>

#ifndef table_alloc /* test/model/table_diff.c has pools that are not ours */
#define table_alloc pool_alloc
#endif

static inline apr_table_entry_t *table_entries(const apr_table_t *t)
{
    return (apr_table_entry_t *)(void *)t->a.elts;
}

static inline int table_is(const apr_table_entry_t *e, const char *key, uint32_t checksum)
{
    return e->key_checksum == checksum && (e->key == key || strcasecmp(e->key, key) == 0);
}

/* ---- making ---- */

APR_DECLARE(apr_table_t *) apr_table_make(apr_pool_t *p, int nelts)
{
    apr_table_t *t = table_alloc(p, sizeof *t);

    t->a.pool = p;
    t->a.elt_size = sizeof(apr_table_entry_t);
    t->a.nelts = t->a.nalloc = 0;
    t->a.elts = NULL;
    t->letters = 0;
    t->room = nelts > 0 ? nelts : 1;
    return t;
}

/* Room for @a n entries. */
static void table_reserve(apr_table_t *t, int n)
{
    const int room = t->a.nalloc ? t->a.nalloc * 2 : t->room;
    void *elts;

    if (n <= t->a.nalloc)
        return;
    t->a.nalloc = room > n ? room : n;
    elts = table_alloc(t->a.pool, (apr_size_t)t->a.nalloc * sizeof(apr_table_entry_t));
    if (t->a.nelts)
        memcpy(elts, t->a.elts, (apr_size_t)t->a.nelts * sizeof(apr_table_entry_t));
    t->a.elts = elts;
}

/* The entries of @a from behind those of @a t, and whatever they point to. */
static void table_append(apr_table_t *t, const apr_table_t *from)
{
    const int n = from->a.nelts;

    if (!n)
        return;
    table_reserve(t, t->a.nelts + n);
    memcpy(table_entries(t) + t->a.nelts, from->a.elts, (apr_size_t)n * sizeof(apr_table_entry_t));
    t->a.nelts += n;
    t->letters |= from->letters;
}

static apr_table_t *table_like(apr_pool_t *p, const apr_table_t *t)
{
    return apr_table_make(p, t->a.nalloc > t->room ? t->a.nalloc : t->room);
}

APR_DECLARE(apr_table_t *) apr_table_copy(apr_pool_t *p, const apr_table_t *t)
{
    apr_table_t *copy = table_like(p, t);

    table_append(copy, t);
    return copy;
}

APR_DECLARE(apr_table_t *) apr_table_clone(apr_pool_t *p, const apr_table_t *t)
{
    apr_table_t *copy = apr_table_copy(p, t);
    apr_table_entry_t *e = table_entries(copy);

    for (int i = 0; i < copy->a.nelts; i++) {
        e[i].key = apr_pstrdup(p, e[i].key);
        e[i].val = apr_pstrdup(p, e[i].val);
    }
    return copy;
}

APR_DECLARE(apr_table_t *)
apr_table_overlay(apr_pool_t *p, const apr_table_t *overlay, const apr_table_t *base)
{
    apr_table_t *both = apr_table_make(p, overlay->a.nelts + base->a.nelts);

    table_append(both, overlay);
    table_append(both, base);
    return both;
}

APR_DECLARE(void) apr_table_clear(apr_table_t *t)
{
    t->a.nelts = 0;
    t->letters = 0;
}

APR_DECLARE(const apr_array_header_t *) apr_table_elts(const apr_table_t *t)
{
    return &t->a;
}

APR_DECLARE(int) apr_is_empty_table(const apr_table_t *t)
{
    return !t || t->a.nelts == 0;
}

/* ---- looking up ---- */

/* The place of the first entry of that name from place @a i on; nelts: there is none. */
static inline int table_place(const apr_table_t *t, const char *key, uint32_t checksum, int i)
{
    const apr_table_entry_t *e = table_entries(t);

    if (!(t->letters & pool_table_letter(checksum)))
        return t->a.nelts;
    while (i < t->a.nelts && !table_is(&e[i], key, checksum))
        i++;
    return i;
}

const char *pool_table_find(const apr_table_t *t, const char *key, uint32_t checksum)
{
    const apr_table_entry_t *e = table_entries(t), *end = e + t->a.nelts;

    for (; e < end; e++)
        if (table_is(e, key, checksum))
            return e->val;
    return NULL;
}

APR_DECLARE(const char *) apr_table_get(const apr_table_t *t, const char *key)
{
    return key && t->a.nelts ? pool_table_find(t, key, pool_table_checksum(key)) : NULL;
}

/* Values of one name: there is seldom more than one. */
typedef struct table_values {
    apr_pool_t *p;
    const char *first;
    apr_array_header_t *all; /* NULL: there is one */
} table_values;

static int table_value(void *baton, const char *key, const char *val)
{
    table_values *v = baton;

    if (!v->first) {
        v->first = val;
        return 1;
    }
    if (!v->all) {
        v->all = apr_array_make(v->p, 10, sizeof(const char *));
        APR_ARRAY_PUSH(v->all, const char *) = v->first;
    }
    APR_ARRAY_PUSH(v->all, const char *) = val;
    return 1;
}

APR_DECLARE(const char *) apr_table_getm(apr_pool_t *p, const apr_table_t *t, const char *key)
{
    table_values v = {.p = p};

    apr_table_do(table_value, &v, t, key, NULL);
    return v.all ? apr_array_pstrcat(p, v.all, ',') : v.first;
}

/* ---- walking ---- */

/* @param key  NULL: all. @return 0: the callback ended it */
static int table_visit(apr_table_do_callback_fn_t *fn, void *baton, const apr_table_t *t,
                       const char *key)
{
    const uint32_t checksum = key ? pool_table_checksum(key) : 0;

    /* The callback may change the table. */
    for (int i = key ? table_place(t, key, checksum, 0) : 0; i < t->a.nelts;
         i = key ? table_place(t, key, checksum, i + 1) : i + 1) {
        const apr_table_entry_t *e = &table_entries(t)[i];

        if (!fn(baton, e->key, e->val))
            return 0;
    }
    return 1;
}

APR_DECLARE(int)
apr_table_vdo(apr_table_do_callback_fn_t *comp, void *rec, const apr_table_t *t, va_list vp)
{
    const char *key = va_arg(vp, const char *);
    int all = 1;

    if (!key)
        return table_visit(comp, rec, t, NULL);
    for (; key; key = va_arg(vp, const char *))
        all &= table_visit(comp, rec, t, key);
    return all;
}

APR_DECLARE_NONSTD(int)
apr_table_do(apr_table_do_callback_fn_t *comp, void *rec, const apr_table_t *t, ...)
{
    va_list vp;
    int all;

    va_start(vp, t);
    all = apr_table_vdo(comp, rec, t, vp);
    va_end(vp);
    return all;
}

/* ---- putting ---- */

static inline void table_put(apr_table_t *t, const char *key, const char *val, uint32_t checksum)
{
    apr_table_entry_t *e;

    if (__builtin_expect(t->a.nelts == t->a.nalloc, 0))
        table_reserve(t, t->a.nelts + 1);
    e = &table_entries(t)[t->a.nelts++];
    e->key = (char *)(uintptr_t)key;
    e->val = (char *)(uintptr_t)val;
    e->key_checksum = checksum;
    t->letters |= pool_table_letter(checksum);
}

/* Take all entries of that name away, the first of which is at place @a i. */
static void table_drop(apr_table_t *t, const char *key, uint32_t checksum, int i)
{
    apr_table_entry_t *e = table_entries(t);
    int to = i;

    for (i++; i < t->a.nelts; i++)
        if (!table_is(&e[i], key, checksum))
            e[to++] = e[i];
    if (to < t->a.nelts)
        t->a.nelts = to;
}

/* The first entry of that name gets the value, and its others go. @return 0: there is none */
static inline int table_replace(apr_table_t *t, const char *key, const char *val, uint32_t checksum)
{
    const int i = table_place(t, key, checksum, 0);

    if (i == t->a.nelts)
        return 0;
    table_entries(t)[i].val = (char *)(uintptr_t)val;
    table_drop(t, key, checksum, table_place(t, key, checksum, i + 1));
    return 1;
}

APR_DECLARE(void) apr_table_set(apr_table_t *t, const char *key, const char *val)
{
    const uint32_t checksum = pool_table_checksum(key);
    const char *copy = apr_pstrdup(t->a.pool, val);

    if (!table_replace(t, key, copy, checksum))
        table_put(t, apr_pstrdup(t->a.pool, key), copy, checksum);
}

APR_DECLARE(void) apr_table_setn(apr_table_t *t, const char *key, const char *val)
{
    const uint32_t checksum = pool_table_checksum(key);

    if (!table_replace(t, key, val, checksum))
        table_put(t, key, val, checksum);
}

APR_DECLARE(void) apr_table_unset(apr_table_t *t, const char *key)
{
    const uint32_t checksum = pool_table_checksum(key);

    table_drop(t, key, checksum, table_place(t, key, checksum, 0));
}

APR_DECLARE(void) apr_table_add(apr_table_t *t, const char *key, const char *val)
{
    table_put(t, apr_pstrdup(t->a.pool, key), apr_pstrdup(t->a.pool, val),
              pool_table_checksum(key));
}

APR_DECLARE(void) apr_table_addn(apr_table_t *t, const char *key, const char *val)
{
    table_put(t, key, val, pool_table_checksum(key));
}

/* The value behind that of the first entry of this name. @return 0: there is none */
static int table_join(apr_table_t *t, const char *key, const char *val, uint32_t checksum)
{
    const int i = table_place(t, key, checksum, 0);
    apr_table_entry_t *e;

    if (i == t->a.nelts)
        return 0;
    e = table_entries(t) + i;
    e->val = apr_pstrcat(t->a.pool, e->val, ", ", val, NULL);
    return 1;
}

APR_DECLARE(void) apr_table_merge(apr_table_t *t, const char *key, const char *val)
{
    const uint32_t checksum = pool_table_checksum(key);

    if (!table_join(t, key, val, checksum))
        table_put(t, apr_pstrdup(t->a.pool, key), apr_pstrdup(t->a.pool, val), checksum);
}

APR_DECLARE(void) apr_table_mergen(apr_table_t *t, const char *key, const char *val)
{
    const uint32_t checksum = pool_table_checksum(key);

    if (!table_join(t, key, val, checksum))
        table_put(t, key, val, checksum);
}

/* ---- one entry for each name ---- */

static int table_by_name(const void *one, const void *other)
{
    const apr_table_entry_t *a = *(apr_table_entry_t *const *)one,
                            *b = *(apr_table_entry_t *const *)other;
    const int order = strcasecmp(a->key, b->key);

    return order ? order : a < b ? -1 : a > b;
}

/* The values of n entries, in turn. */
static char *table_joined(apr_pool_t *p, apr_table_entry_t **e, int n)
{
    apr_size_t size = 1;
    char *text, *at;

    for (int i = 0; i < n; i++)
        size += strlen(e[i]->val) + 2;
    at = text = table_alloc(p, size);
    for (int i = 0; i < n; i++) {
        if (i)
            at = mempcpy(at, ", ", 2);
        at = mempcpy(at, e[i]->val, strlen(e[i]->val));
    }
    *at = '\0';
    return text;
}

/* n entries of one name become the first of them; the others lose their names. */
static void table_unite(apr_table_t *t, apr_table_entry_t **e, int n, unsigned flags)
{
    e[0]->val = flags == APR_OVERLAP_TABLES_MERGE ? table_joined(t->a.pool, e, n) : e[n - 1]->val;
    for (int i = 1; i < n; i++)
        e[i]->key = NULL;
}

static void table_drop_unnamed(apr_table_t *t)
{
    apr_table_entry_t *e = table_entries(t);
    int to = 0;

    for (int i = 0; i < t->a.nelts; i++)
        if (e[i].key)
            e[to++] = e[i];
    t->a.nelts = to;
}

APR_DECLARE(void) apr_table_compress(apr_table_t *t, unsigned flags)
{
    const int n = t->a.nelts;
    apr_table_entry_t **sorted;
    int same;

    if (flags == APR_OVERLAP_TABLES_ADD || n < 2)
        return;
    sorted = table_alloc(t->a.pool, (apr_size_t)n * sizeof(*sorted));
    for (int i = 0; i < n; i++)
        sorted[i] = &table_entries(t)[i];
    qsort(sorted, (size_t)n, sizeof(*sorted), table_by_name);
    for (int i = 0; i < n; i += same) {
        for (same = 1; i + same < n; same++)
            if (strcasecmp(sorted[i]->key, sorted[i + same]->key) != 0)
                break;
        if (same > 1)
            table_unite(t, sorted + i, same, flags);
    }
    table_drop_unnamed(t);
}

APR_DECLARE(void) apr_table_overlap(apr_table_t *a, const apr_table_t *b, unsigned flags)
{
    table_append(a, b);
    apr_table_compress(a, flags);
}
