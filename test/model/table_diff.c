/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stock APR's tables against ours: random calls of both, after each of which both have the same names, values and
 * checksums in the same order, and have told the same.
 *
 *     table_diff FIRST_SEED SEEDS STEPS
 */
#include <apr_general.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <apr_thread_proc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../memory/apr_declared.h"
#include "../../memory/pool_inline.h"

/* Ours by other names, on stock pools. */
#define apr_table_make own_make
#define apr_table_copy own_copy
#define apr_table_clone own_clone
#define apr_table_overlay own_overlay
#define apr_table_clear own_clear
#define apr_table_elts own_elts
#define apr_is_empty_table own_is_empty
#define apr_table_get own_get
#define apr_table_getm own_getm
#define apr_table_vdo own_vdo
#define apr_table_do own_do
#define apr_table_set own_set
#define apr_table_setn own_setn
#define apr_table_unset own_unset
#define apr_table_add own_add
#define apr_table_addn own_addn
#define apr_table_merge own_merge
#define apr_table_mergen own_mergen
#define apr_table_compress own_compress
#define apr_table_overlap own_overlap
#undef APR_DECLARE
#undef APR_DECLARE_NONSTD
#define APR_DECLARE(type) static type
#define APR_DECLARE_NONSTD(type) static type
#define table_alloc apr_palloc
static int own_do(apr_table_do_callback_fn_t *comp, void *rec, const apr_table_t *t, ...);
#include "../../memory/apr_tables.c"
#undef apr_table_make
#undef apr_table_copy
#undef apr_table_clone
#undef apr_table_overlay
#undef apr_table_clear
#undef apr_table_elts
#undef apr_is_empty_table
#undef apr_table_get
#undef apr_table_getm
#undef apr_table_do
#undef apr_table_set
#undef apr_table_setn
#undef apr_table_unset
#undef apr_table_add
#undef apr_table_addn
#undef apr_table_merge
#undef apr_table_mergen
#undef apr_table_compress
#undef apr_table_overlap

enum { DIFF_TABLES = 4, DIFF_TOLD = 4096 };

static apr_table_t *stock[DIFF_TABLES], *own[DIFF_TABLES];
static apr_pool_t *diff_pool;
static unsigned seed, step;

/* Names that differ in their case, behind the fourth byte, or are shorter than that. */
static const char *const names[] = {"Host",        "host",       "HOST",       "Hos",
                                    "Hosts",       "Vary",       "VARY",       "",
                                    "a",           "A",          "@",          "`",
                                    "Ab",          "aB",         "abc",        "ABC",
                                    "abcd1",       "abcd",       "abcdE",      "ABCDe",
                                    "abcd2",       "X-A",        "x-a",        "X-B",
                                    "\xe4x",       "Set-Cookie", "set-cookie", "Content-Length",
                                    "Content-Type"};
static const char *const values[] = {"", "1", "two", "a value, with a comma", "gzip"};

static unsigned diff_any(unsigned n)
{
    static unsigned long state;

    if (step == 0)
        state = seed * 2654435761u + 1;
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % n;
}

static void diff_fail(const char *what)
{
    fprintf(stderr, "table_diff: seed %u, step %u: %s\n", seed, step, what);
    exit(1);
}

static void diff_same_text(const char *a, const char *b, const char *what)
{
    if (!a != !b || (a && strcmp(a, b) != 0))
        diff_fail(what);
}

static void diff_same_table(int n)
{
    const apr_array_header_t *a = apr_table_elts(stock[n]), *b = own_elts(own[n]);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(void *)a->elts,
                            *f = (const apr_table_entry_t *)(void *)b->elts;

    if (a->nelts != b->nelts || a->elt_size != b->elt_size || b->nelts > b->nalloc ||
        apr_is_empty_table(stock[n]) != own_is_empty(own[n]))
        diff_fail("number of entries");
    for (int i = 0; i < a->nelts; i++) {
        diff_same_text(e[i].key, f[i].key, "name");
        diff_same_text(e[i].val, f[i].val, "value");
        if (e[i].key_checksum != f[i].key_checksum)
            diff_fail("checksum");
    }
}

/* ---- what a walk tells ---- */

typedef struct diff_told {
    char text[DIFF_TOLD];
    size_t len;
    unsigned left; /* entries until it is enough */
} diff_told;

static int diff_tell(void *baton, const char *key, const char *val)
{
    diff_told *told = baton;

    told->len += (size_t)snprintf(told->text + told->len, sizeof told->text - told->len,
                                  "%.20s=%.20s;", key, val);
    if (told->len >= sizeof told->text)
        told->len = sizeof told->text - 1;
    return told->left-- != 0;
}

static void diff_walk(int n, const char *key)
{
    diff_told a = {.left = diff_any(20)}, b = {.left = a.left};
    const char *other = names[diff_any(sizeof names / sizeof *names)];
    int all, own_all;

    if (diff_any(2)) {
        all = apr_table_do(diff_tell, &a, stock[n], key, other, NULL);
        own_all = own_do(diff_tell, &b, own[n], key, other, NULL);
    } else {
        all = apr_table_do(diff_tell, &a, stock[n], NULL);
        own_all = own_do(diff_tell, &b, own[n], NULL);
    }
    if (all != own_all || a.left != b.left)
        diff_fail("result of a walk");
    diff_same_text(a.text, b.text, "walk");
}

/* ---- calls ---- */

static void diff_ask(int n, const char *key)
{
    diff_same_text(apr_table_get(stock[n], key), own_get(own[n], key), "get");
    diff_same_text(apr_table_getm(diff_pool, stock[n], key), own_getm(diff_pool, own[n], key),
                   "getm");
    diff_walk(n, key);
}

static void diff_put(int n, const char *key, const char *val)
{
    static void (*const calls[][2])(apr_table_t *, const char *, const char *) = {
        {apr_table_set, own_set},   {apr_table_setn, own_setn},   {apr_table_add, own_add},
        {apr_table_addn, own_addn}, {apr_table_merge, own_merge}, {apr_table_mergen, own_mergen},
    };
    const unsigned which = diff_any(sizeof calls / sizeof *calls);

    calls[which][0](stock[n], key, val);
    calls[which][1](own[n], key, val);
}

static void diff_unset(int n, const char *key)
{
    apr_table_unset(stock[n], key);
    own_unset(own[n], key);
}

/* Of two tables together. */
static void diff_both(int n, int other)
{
    const unsigned flags = diff_any(3);

    switch (diff_any(6)) {
    case 0:
        stock[n] = apr_table_copy(diff_pool, stock[other]);
        own[n] = own_copy(diff_pool, own[other]);
        break;
    case 1:
        stock[n] = apr_table_clone(diff_pool, stock[other]);
        own[n] = own_clone(diff_pool, own[other]);
        break;
    case 2:
        stock[n] = apr_table_overlay(diff_pool, stock[n], stock[other]);
        own[n] = own_overlay(diff_pool, own[n], own[other]);
        break;
    case 3:
        apr_table_compress(stock[n], flags);
        own_compress(own[n], flags);
        break;
    case 4:
        if (n != other) {
            apr_table_overlap(stock[n], stock[other], flags);
            own_overlap(own[n], own[other], flags);
        }
        break;
    default:
        apr_table_clear(stock[n]);
        own_clear(own[n]);
    }
}

/* Tables that double again and again begin anew. */
static void diff_make(int n)
{
    const int room = (int)diff_any(6) - 1;

    stock[n] = apr_table_make(diff_pool, room);
    own[n] = own_make(diff_pool, room);
}

static void diff_step(void)
{
    const int n = (int)diff_any(DIFF_TABLES);
    const char *key = names[diff_any(sizeof names / sizeof *names)];
    const unsigned what = diff_any(20);

    if (what < 12)
        diff_put(n, key, values[diff_any(sizeof values / sizeof *values)]);
    else if (what < 15)
        diff_unset(n, key);
    else if (what < 18)
        diff_ask(n, key);
    else
        diff_both(n, (int)diff_any(DIFF_TABLES));
    if (apr_table_elts(stock[n])->nelts > 200)
        diff_make(n);
    for (int i = 0; i < DIFF_TABLES; i++)
        diff_same_table(i);
}

static void diff_run(unsigned steps)
{
    step = 0;
    apr_pool_create(&diff_pool, NULL);
    diff_any(1);
    for (step = 1; step <= DIFF_TABLES; step++)
        diff_make((int)step - 1);
    for (; step < steps; step++)
        diff_step();
    apr_pool_destroy(diff_pool);
}

int main(int argc, char **argv)
{
    unsigned first, seeds;

    if (argc != 4)
        return 2;
    apr_initialize();
    first = (unsigned)atoi(argv[1]);
    seeds = (unsigned)atoi(argv[2]);
    for (seed = first; seed < first + seeds; seed++)
        diff_run((unsigned)atoi(argv[3]));
    apr_terminate();
    return 0;
}
