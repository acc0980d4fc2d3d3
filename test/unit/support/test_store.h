/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_STORE_H
#define BRIGADE_TEST_STORE_H

/**
 * @file test_store.h
 * A store with two readers, and objects whose bytes tell which object they are of and where they lie in it.
 *
 * Include after store_private.h and cmocka.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOW apr_time_from_sec(1000)

typedef struct fixture {
    store *s;
    store_reader *r, *other;
    void *memory;
    size_t bytes;
} fixture;

static fixture f;
static const char terms[STORE_TERMS] = "terms";

static inline int open_store(void **state)
{
    store_limits limits;

    (void)state;
    store_limits_default(&limits, 12 * STORE_SEGMENT);
    limits.readers = 8;
    limits.flights = 64;
    limits.purges = 64;
    limits.variants = 5;
    limits.object_bytes = 8 * STORE_SEGMENT;
    limits.flight_bytes = 64 * STORE_SEGMENT;
    f.bytes = store_size(&limits);
    f.memory = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(f.memory != MAP_FAILED);
    f.s = store_open(f.memory, &limits);
    f.r = store_reader_open(f.s);
    f.other = store_reader_open(f.s);
    assert_true(f.r && f.other);
    return 0;
}

/* Each test lets go of what it looked at. */
static inline int close_store(void **state)
{
    store_figures figures;

    (void)state;
    store_figures_get(f.s, &figures);
    store_reader_close(&f.r);
    store_reader_close(&f.other);
    store_close(&f.s);
    munmap(f.memory, f.bytes);
    if (figures.held)
        print_error("%u views are held\n", (unsigned)figures.held);
    return figures.held ? -1 : 0;
}

static inline store_key key_of(const char *text)
{
    return store_key_of(f.s, text, strlen(text), NULL, 0);
}

static inline store_head head_of(const char *text, uint64_t length)
{
    return (store_head){.key = key_of(text),
                        .text = text,
                        .text_len = (uint32_t)strlen(text),
                        .terms = terms,
                        .head = text,
                        .head_len = (uint32_t)strlen(text),
                        .length = length,
                        .epoch = store_epoch(f.s)};
}

/* Bytes of a body that tell their place and their object. */
static inline char byte_at(unsigned seed, uint64_t off)
{
    return (char)(seed + off * 31 + (off >> 10));
}

static inline unsigned seed_of(const char *text)
{
    unsigned seed = 0;

    while (*text)
        seed = seed * 33 + (unsigned char)*text++;
    return seed;
}

static inline void fill(store_writer *w, const char *text, uint64_t from, uint64_t to)
{
    static char block[32768];
    const unsigned seed = seed_of(text);

    while (from < to) {
        size_t n = to - from < sizeof block ? (size_t)(to - from) : sizeof block;

        for (size_t i = 0; i < n; i++)
            block[i] = byte_at(seed, from + i);
        if (store_write(w, block, n))
            abort();
        from += n;
    }
}

static inline apr_status_t put_with(const store_head *head, uint64_t length, uint32_t flight)
{
    const char *why;
    store_writer *w = store_write_begin(f.r, head, flight, &why);

    if (!w)
        return APR_ENOMEM;
    fill(w, head->text, 0, length);
    return store_write_end(&w);
}

static inline apr_status_t put(const char *text, uint64_t length)
{
    const store_head head = head_of(text, length);

    return put_with(&head, length, 0);
}

/* http://a/0 and so on. */
static inline void put_many(int n, uint64_t length)
{
    char text[32];

    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, length), APR_SUCCESS);
    }
}

/* 1 if all bytes of a body are right. */
static inline int body_is(const store_view *view, const char *text, uint64_t length)
{
    uint64_t off = 0, has;
    const unsigned seed = seed_of(text);
    const char *p;
    size_t n;
    int lost;

    store_view_state(view, &has);
    if (has != length)
        return 0;
    while (off < length) {
        n = store_body(view, off, &p, &lost);
        if (!n || lost)
            return 0;
        for (size_t i = 0; i < n; i++)
            if (p[i] != byte_at(seed, off + i))
                return 0;
        off += n;
    }
    return !store_body(view, off, &p, &lost) && !lost;
}

/* -1: not there; else its softness. What is there is right. */
static inline int has(store_reader *r, const char *text, uint64_t length)
{
    const store_key key = key_of(text);
    store_found found;
    int soft = -1;

    store_find(r, &key, NOW, &found);
    if (!found.view.reader)
        return -1;
    soft = found.view.soft;
    if (found.view.text_len != strlen(text) || memcmp(found.view.text, text, found.view.text_len) ||
        found.view.head_len != strlen(text) || memcmp(found.view.head, text, found.view.head_len) ||
        memcmp(found.view.terms, terms, STORE_TERMS) ||
        store_view_state(&found.view, NULL) != STORE_COMPLETE ||
        !body_is(&found.view, text, length))
        soft = -2;
    store_release(&found.view);
    return soft;
}

typedef struct seen {
    uint64_t mark;
    int n, soft, marked, stop;
    size_t sum;
} seen;

/* All that a view leads to is read. */
static inline int see(void *data, const store_view *view, uint64_t length)
{
    seen *t = data;

    t->n++;
    t->soft += view->soft;
    t->marked += store_view_has_mark(view, t->mark);
    for (uint32_t i = 0; i < view->text_len; i++)
        t->sum += (unsigned char)view->text[i];
    for (uint32_t i = 0; i < view->head_len; i++)
        t->sum += (unsigned char)view->head[i];
    t->sum += (size_t)length + (size_t)store_view_key(view).a;
    return !t->stop;
}

#endif
