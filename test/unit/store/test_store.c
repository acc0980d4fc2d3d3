/* SPDX-License-Identifier: Apache-2.0 */
/* The store: what is written is found, by other processes, too; who dies at any step leaves nothing torn behind. */
#include "store_private.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define NOW apr_time_from_sec(1000)

typedef struct fixture {
    store *s;
    store_reader *r, *other;
    void *memory;
    size_t bytes;
} fixture;

static fixture f;
static const char terms[STORE_TERMS] = "terms";

static int open_store(void **state)
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

static int close_store(void **state)
{
    (void)state;
    store_reader_close(&f.r);
    store_reader_close(&f.other);
    store_close(&f.s);
    munmap(f.memory, f.bytes);
    return 0;
}

static store_key key_of(const char *text)
{
    return store_key_of(f.s, text, strlen(text), NULL, 0);
}

static store_head head_of(const char *text, uint64_t length)
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
static char byte_at(unsigned seed, uint64_t off)
{
    return (char)(seed + off * 31 + (off >> 10));
}

static unsigned seed_of(const char *text)
{
    unsigned seed = 0;

    while (*text)
        seed = seed * 33 + (unsigned char)*text++;
    return seed;
}

static void fill(store_writer *w, const char *text, uint64_t from, uint64_t to)
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

static apr_status_t put_with(const store_head *head, uint64_t length, uint32_t flight)
{
    const char *why;
    store_writer *w = store_write_begin(f.r, head, flight, &why);

    if (!w)
        return APR_ENOMEM;
    fill(w, head->text, 0, length);
    return store_write_end(&w);
}

static apr_status_t put(const char *text, uint64_t length)
{
    const store_head head = head_of(text, length);

    return put_with(&head, length, 0);
}

/* 1 if all bytes of a body are right. */
static int body_is(const store_view *view, const char *text, uint64_t length)
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
static int has(store_reader *r, const char *text, uint64_t length)
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

static void test_what_is_written_is_found(void **state)
{
    static const uint64_t lengths[] = {0, 1, 1000, 65536, 700000, 786432, 1048576, 3500000};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char text[32];
        store_head head;

        snprintf(text, sizeof text, "http://a/%zu", i);
        assert_int_equal(put(text, lengths[i]), APR_SUCCESS);
        assert_int_equal(has(f.other, text, lengths[i]), 0);
        snprintf(text, sizeof text, "http://b/%zu", i); /* the same without a length */
        head = head_of(text, STORE_LENGTH_UNKNOWN);
        assert_int_equal(put_with(&head, lengths[i], 0), APR_SUCCESS);
        assert_int_equal(has(f.other, text, lengths[i]), 0);
    }
    assert_int_equal(has(f.r, "http://c/", 0), -1);
}

static void test_the_newer_one_is_found(void **state)
{
    store_figures figures;

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(put("http://a/", 1000 + (uint64_t)i), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://a/", 1099), 0);
    store_figures_get(f.s, &figures);
    assert_int_equal(figures.objects, 1);
}

static void test_a_body_that_came_short_is_not_stored(void **state)
{
    const store_head head = head_of("http://a/", 100);

    (void)state;
    assert_int_equal(put_with(&head, 99, 0), APR_EGENERAL);
    assert_int_equal(has(f.r, "http://a/", 99), -1);
}

static void test_bounds(void **state)
{
    store_head head = head_of("http://a/", 9 * STORE_SEGMENT);
    const char *why;
    char *p;
    store_writer *w;
    uint64_t total = 0;

    (void)state;
    assert_null(store_write_begin(f.r, &head, 0, &why));
    assert_string_equal(why, "its body is too long");
    head.length = STORE_LENGTH_UNKNOWN;
    w = store_write_begin(f.r, &head, 0, &why);
    for (size_t n; (n = store_write_room(w, &p)); total += n)
        store_write_commit(w, n);
    assert_true(total == 8 * STORE_SEGMENT);
    store_write_give_up(&w);
    head.marks_n = 33;
    assert_null(store_write_begin(f.r, &head, 0, &why));
    assert_string_equal(why, "it has too many tags");
}

static void test_variants_are_bounded(void **state)
{
    const store_key primary = key_of("http://a/");
    const char *why;

    (void)state;
    for (int i = 0; i < 6; i++) {
        store_head head = head_of("http://a/", 0);
        store_writer *w;

        head.key = store_key_of(f.s, "http://a/", 9, (const char *)&i, sizeof i);
        head.mark = store_mark_of_key(&primary);
        w = store_write_begin(f.r, &head, 0, &why);
        assert_true((w != NULL) == (i < 5));
        if (w)
            assert_int_equal(store_write_end(&w), APR_SUCCESS);
    }
    store_purge_key(f.s, &primary, 0);
    for (int i = 0; i < 5; i++) {
        const store_key key = store_key_of(f.s, "http://a/", 9, (const char *)&i, sizeof i);
        store_found found;

        assert_false(store_find(f.r, &key, NOW, &found));
    }
    assert_int_equal(store_variants(f.s, store_mark_of_key(&primary)), 0);
}

static void write_empty(const char *text)
{
    const store_head head = head_of(text, 0);
    const char *why;
    store_writer *w = store_write_begin(f.r, &head, 0, &why);

    assert_non_null(w);
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
}

static int is_found(const char *text)
{
    const store_key key = key_of(text);
    store_found found;

    if (!store_find(f.r, &key, NOW, &found) || !found.view.reader)
        return 0;
    store_release(&found.view);
    return 1;
}

/* The newest one is there, and so is the one that is asked for all the time. */
static void test_objects_are_bounded(void **state)
{
    char text[32];
    store_figures figures;

    (void)state;
    for (uint32_t most = 1; most <= 40; most += 13) {
        store_purge_all(f.s, 0);
        store_limits_change(f.s, &(store_limits){.objects_most = most});
        write_empty("http://hot/");
        for (int i = 0; i < 200; i++) {
            assert_true(most == 1 || is_found("http://hot/"));
            snprintf(text, sizeof text, "http://%u/%d", most, i);
            write_empty(text);
            assert_true(is_found(text));
            store_figures_get(f.s, &figures);
            assert_true(figures.objects <= most && figures.objects_most == most);
        }
        assert_int_equal(figures.objects, most);
    }
}

static void test_bounds_are_changed(void **state)
{
    const char *why;
    store_head head = head_of("http://tags/", 0);
    uint64_t marks[4] = {1, 2, 3, 4};
    store_writer *w;

    (void)state;
    store_limits_change(f.s, &(store_limits){.variants = 1, .marks = 3, .flight_bytes = 1});
    head.marks = marks;
    head.marks_n = 4;
    assert_null(store_write_begin(f.r, &head, 0, &why));
    assert_string_equal(why, "it has too many tags");
    head.marks_n = 3;
    w = store_write_begin(f.r, &head, 0, &why);
    assert_non_null(w);
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
    store_limits_change(f.s, &(store_limits){.flight_bytes = UINT64_MAX});
    head.marks_n = 4;
    w = store_write_begin(f.r, &head, 0, &why);
    assert_non_null(w);
    store_write_give_up(&w);
}

static void test_growing_objects_are_read(void **state)
{
    const store_key key = key_of("http://g/");
    store_head head = head_of("http://g/", STORE_LENGTH_UNKNOWN);
    uint32_t lead, follow;
    store_view view;
    store_writer *w;
    const char *why, *p;
    uint64_t rows[STORE_WAIT_WORDS], off = 0;
    int lost;

    (void)state;
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &lead), STORE_LEAD);
    assert_int_equal(store_flight_begin(f.other, &key, 0, NOW, &follow), STORE_FOLLOW);
    assert_int_equal(lead, follow);
    assert_int_equal(store_flight_look(f.other, follow, &key, &view), STORE_FLIGHT_WAITS);
    store_flight_wait(f.other, follow);
    assert_true(store_flight_waiters(f.r, lead, rows, STORE_WAIT_WORDS) &&
                rows[0] == 1ull << store_reader_row(f.other));
    w = store_write_begin(f.r, &head, lead, &why);
    assert_true(store_write_view(w, &view)); /* for the leader's own client */
    assert_int_equal(store_view_state(&view, NULL), STORE_WRITING);
    store_release(&view);
    assert_int_equal(store_flight_look(f.other, follow, &key, &view), STORE_FLIGHT_GROWS);
    assert_int_equal(store_body(&view, 0, &p, &lost), 0);
    for (uint64_t to = 1; to < 2500000; to = to * 3 + 1) {
        fill(w, "http://g/", off, to);
        assert_true(body_is(&view, "http://g/", to));
        assert_int_equal(store_view_state(&view, NULL), STORE_WRITING);
        off = to;
    }
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
    assert_int_equal(store_view_state(&view, NULL), STORE_COMPLETE);
    assert_true(body_is(&view, "http://g/", off));
    store_release(&view);
    assert_int_equal(store_flight_look(f.other, follow, &key, NULL), STORE_FLIGHT_DONE);
    assert_int_equal(has(f.other, "http://g/", off), 0);
}

static void test_a_lead_that_fails(void **state)
{
    const store_key key = key_of("http://g/");
    uint32_t lead, follow;
    store_found found;

    (void)state;
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &lead), STORE_LEAD);
    assert_true(store_find(f.other, &key, NOW, &found) && found.flight == lead);
    store_flight_end(f.r, lead, 0);
    assert_int_equal(store_flight_look(f.other, lead, &key, NULL), STORE_FLIGHT_FAILED);
    assert_int_equal(store_flight_begin(f.other, &key, 0, NOW, &follow), STORE_LEAD);
    assert_int_not_equal(lead, follow);
    store_flight_end(f.other, follow, NOW + apr_time_from_sec(10));
    assert_int_equal(store_flight_look(f.r, follow, &key, NULL), STORE_FLIGHT_PASS);
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &lead), STORE_ALONE);
    assert_true(store_find(f.r, &key, NOW, &found) && found.pass);
    assert_false(store_find(f.r, &key, NOW + apr_time_from_sec(11), &found));
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW + apr_time_from_sec(11), &lead),
                     STORE_LEAD);
    assert_int_equal(put("http://g/", 5), APR_SUCCESS); /* what is stored ends a pass */
    store_flight_end(f.r, lead, 0);
    assert_int_equal(has(f.r, "http://g/", 5), 0);
}

static void test_a_new_head_keeps_the_body(void **state)
{
    static const uint64_t lengths[] = {10, 3000000};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const store_key key = key_of("http://a/");
        store_head head = head_of("http://a/", 0);
        store_found found;

        assert_int_equal(put("http://a/", lengths[i]), APR_SUCCESS);
        for (int times = 0; times < 3; times++) {
            assert_true(store_find(f.r, &key, NOW, &found));
            head.head = "new";
            head.head_len = 3;
            assert_int_equal(store_write_refreshed(f.r, &head, &found.view, 0), APR_SUCCESS);
            store_release(&found.view);
        }
        assert_true(store_find(f.other, &key, NOW, &found));
        assert_memory_equal(found.view.head, "new", 3);
        assert_true(body_is(&found.view, "http://a/", lengths[i]));
        store_release(&found.view);
    }
}

static void test_purges(void **state)
{
    const uint64_t marks[2] = {store_mark_of(f.s, "red", 3), store_mark_of(f.s, "blue", 4)};
    store_head head;
    store_key key = key_of("http://a/1");

    (void)state;
    for (int i = 0; i < 4; i++) {
        static const char *const text[] = {"http://a/1", "http://a/2", "http://b/1", "http://b/2"};

        head = head_of(text[i], 10);
        head.marks = marks + (i & 1);
        head.marks_n = 1;
        assert_int_equal(put_with(&head, 10, 0), APR_SUCCESS);
    }
    store_purge_key(f.s, &key, 0);
    assert_int_equal(has(f.r, "http://a/1", 10), -1);
    assert_int_equal(has(f.r, "http://b/1", 10), 0);
    store_purge_mark(f.s, marks[1], 1);
    assert_int_equal(has(f.r, "http://a/2", 10), 1);
    assert_int_equal(has(f.r, "http://a/2", 10), 1); /* it stays so */
    assert_int_equal(has(f.r, "http://b/1", 10), 0);
    store_purge_mark(f.s, marks[1], 0);
    assert_int_equal(has(f.r, "http://b/2", 10), -1);
    assert_int_equal(store_purge_prefix(f.s, "http://b/", 9, 1), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://b/1", 10), 1);
    assert_int_equal(store_purge_prefix(f.s, "http://b/", 9, 0), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://b/1", 10), -1);
    put("http://b/1", 10); /* what comes later is not purged */
    assert_int_equal(has(f.r, "http://b/1", 10), 0);
    head = head_of("http://b/3", 10);
    store_purge_all(f.s, 0); /* while it is fetched */
    put_with(&head, 10, 0);
    assert_int_equal(has(f.r, "http://b/3", 10), -1);
    assert_int_equal(has(f.r, "http://b/1", 10), -1);
}

typedef struct seen {
    uint64_t mark;
    int n, soft, marked, stop;
    size_t sum;
} seen;

/* All that a view leads to is read. */
static int see(void *data, const store_view *view, uint64_t length)
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

static void test_each_is_seen(void **state)
{
    const uint64_t red = store_mark_of(f.s, "red", 3);
    const store_key key = key_of("http://a/1");
    store_head head = head_of("http://a/1", 10);
    seen t = {.mark = red};

    (void)state;
    head.marks = &red;
    head.marks_n = 1;
    put_with(&head, 10, 0);
    put("http://a/2", 20);
    put("http://b/1", 3500000);
    store_each(f.other, see, &t);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.marked, 1);
    store_purge_prefix(f.s, "http://b/", 9, 1);
    store_purge_key(f.s, &key, 0);
    t = (seen){0};
    store_each(f.other, see, &t);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.soft, 1);
    t = (seen){.stop = 1};
    store_each(f.other, see, &t);
    assert_int_equal(t.n, 1);
}

static void test_another_program_attaches(void **state)
{
    store_limits limits;
    store *mine, *theirs;
    store_reader *r;
    size_t bytes;
    void *memory;

    (void)state;
    store_limits_default(&limits, 9 * STORE_SEGMENT);
    bytes = store_size(&limits);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_null(store_attach(memory, bytes)); /* nobody made a store of it */
    assert_int_equal(*(uint64_t *)memory, 0);
    mine = store_open(memory, &limits);
    assert_null(store_attach(memory, bytes - 4096));
    theirs = store_attach(memory, bytes);
    assert_non_null(theirs);
    r = store_reader_open(theirs);
    assert_non_null(r);
    store_reader_close(&r);
    store_close(&theirs);
    mine->shared->bytes = UINT64_MAX;
    assert_null(store_attach(memory, bytes));
    mine->shared->bytes = limits.bytes;
    mine->shared->layout++;
    assert_null(store_attach(memory, bytes));
    store_close(&mine);
    munmap(memory, bytes);
}

/* Who asks after a purge does not get what was asked for before it. */
static void test_a_purge_while_it_grows(void **state)
{
    const uint64_t red = store_mark_of(f.s, "red", 3);
    const store_key key = key_of("http://a/1");
    store_head head = head_of("http://a/1", 20);
    const uint32_t before = store_epoch(f.s);
    store_view view = {0};
    uint32_t flight, seen_flight;
    const char *why;
    store_writer *w;

    (void)state;
    head.marks = &red;
    head.marks_n = 1;
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &flight), STORE_LEAD);
    w = store_write_begin(f.r, &head, flight, &why);
    assert_non_null(w);
    assert_int_equal(store_flight_begin(f.other, &key, 0, NOW, &seen_flight), STORE_FOLLOW);
    assert_int_equal(store_flight_look(f.other, seen_flight, &key, &view), STORE_FLIGHT_GROWS);
    store_purge_mark(f.s, store_mark_of(f.s, "blue", 4), 0);
    assert_false(store_view_is_purged(&view, store_epoch(f.s)));
    store_purge_mark(f.s, red, 1);
    assert_true(store_view_is_purged(&view, store_epoch(f.s)));
    assert_false(store_view_is_purged(&view, before));
    store_purge_key(f.s, &key, 0);
    assert_true(store_view_is_purged(&view, store_epoch(f.s)));
    store_release(&view);
    store_write_give_up(&w);
}

static void test_purges_that_do_not_fit(void **state)
{
    char text[32];

    (void)state;
    assert_int_equal(put("http://a/", 10), APR_SUCCESS);
    assert_int_equal(put("http://b/", 10), APR_SUCCESS);
    store_purge_mark(
        f.s, store_mark_of_key(&(store_key){key_of("http://a/").a, key_of("http://a/").b}), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "tag %d", i);
        store_purge_mark(f.s, store_mark_of(f.s, text, strlen(text)), 0);
        snprintf(text, sizeof text, "http://c/%d", i);
        store_purge_prefix(f.s, text, strlen(text), 0);
    }
    assert_int_equal(has(f.r, "http://a/", 10), -1);
}

#ifdef BRG_DEBUG_ASSERTIONS
static jmp_buf purger_died;

static void die_once_it_is_seen(const char *where)
{
    if (strcmp(where, "purge written") == 0)
        longjmp(purger_died, 1);
}

/* Between the number of a purge and its place in the table: another purge of that mark, an answer, and one more purge, which
 * everybody sees and whose purger dies. */
static void purge_meanwhile(const char *where)
{
    const store_key key = key_of("http://a/");

    if (strcmp(where, "purge numbered") != 0)
        return;
    store_test_step = NULL;
    store_purge_key(f.s, &key, 0);
    assert_int_equal(put("http://a/", 10), APR_SUCCESS);
    store_test_step = die_once_it_is_seen;
    if (!setjmp(purger_died))
        store_purge_key(f.s, &key, 0);
    store_test_step = NULL;
}

static void test_a_purge_that_is_numbered_late(void **state)
{
    const store_key key = key_of("http://a/"), another = key_of("http://b/");

    (void)state;
    store_test_step = purge_meanwhile;
    store_purge_key(f.s, &key, 0);
    assert_null(store_test_step);
    store_purge_key(f.s, &another, 0); /* what began before is looked at by now */
    assert_int_equal(has(f.r, "http://a/", 10), -1);
    assert_int_equal(put("http://a/", 10), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://a/", 10), 0);
}
#endif

/* Four times what has room: the bound holds, and all that is found is right. */
static void test_eviction(void **state)
{
    char text[40];
    int there = 0, hot = 0;
    store_figures figures;

    (void)state;
    for (int i = 0; i < 6400; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 10000), APR_SUCCESS);
        for (int k = 0; k < 20; k++) {
            snprintf(text, sizeof text, "http://a/%d", k);
            has(f.other, text, 10000);
        }
        assert_true(store_bytes_used(f.s, NULL) <= f.s->limits.bytes + 2 * STORE_SEGMENT);
    }
    for (int i = 0; i < 6400; i++) {
        int found;

        snprintf(text, sizeof text, "http://a/%d", i);
        found = has(f.r, text, 10000);
        assert_true(found == 0 || found == -1);
        there += found == 0;
        hot += i < 20 && found == 0;
    }
    assert_int_equal(hot, 20);
    assert_true(there > 1000);
    store_figures_get(f.s, &figures);
    assert_int_equal(figures.objects, there);
    assert_true(figures.promoted > 0 && figures.evicted > 0);
}

/* What was evicted is remembered for as many evictions as there are objects: else all that comes again would count as asked for often. */
static void test_ghosts_are_forgotten(void **state)
{
    char text[40];
    store_figures figures;
    uint64_t ghosts = 0;

    (void)state;
    for (int i = 0; i < 6400; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 10000), APR_SUCCESS);
    }
    store_figures_get(f.s, &figures);
    for (int i = 0; i < 6400; i++) {
        store_key key;

        snprintf(text, sizeof text, "http://a/%d", i);
        key = key_of(text);
        ghosts += (uint64_t)store_slot_has_ghost(f.s, &key);
    }
    assert_in_range(ghosts, figures.objects / 2, figures.objects);
    assert_true(figures.evicted > 3 * figures.objects);
}

static void put_and_ask(int i, uint8_t worth)
{
    char text[40];
    store_head head;

    snprintf(text, sizeof text, "http://a/%d", i);
    head = head_of(text, 10000);
    head.worth = worth;
    assert_int_equal(put_with(&head, 10000, 0), APR_SUCCESS);
    assert_int_equal(has(f.other, text, 10000), 0);
}

static int are_there(int from, int to)
{
    char text[40];
    int n = 0;

    for (int i = from; i < to; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        n += has(f.r, text, 10000) == 0;
    }
    return n;
}

/* Each is asked for once more, and never again. What cost much is kept for longer; but not for ever, and not what nobody asked for. */
static void test_what_cost_much_stays_longer(void **state)
{
    store_head never = head_of("http://b/", 10000);

    (void)state;
    for (int i = 0; i < 20; i++)
        put_and_ask(i, 0);
    for (int i = 20; i < 40; i++)
        put_and_ask(i, 4);
    for (int i = 40; i < 4000; i++)
        put_and_ask(i, 0);
    assert_int_equal(are_there(0, 20), 0);
    assert_int_equal(are_there(20, 40), 20);
    for (int i = 4000; i < 16000; i++)
        put_and_ask(i, 0);
    assert_int_equal(are_there(20, 40), 0);
    never.worth = STORE_WORTH_MOST;
    assert_int_equal(put_with(&never, 10000, 0), APR_SUCCESS);
    for (int i = 16000; i < 18000; i++)
        put_and_ask(i, 0);
    assert_int_equal(has(f.r, "http://b/", 10000), -1);
}

/* A 304 leaves it what its body cost. */
static void test_worth_lasts(void **state)
{
    store_head head = head_of("http://a/20", 10000);
    store_found found;

    (void)state;
    head.worth = 6;
    assert_int_equal(put_with(&head, 10000, 0), APR_SUCCESS);
    assert_true(store_find(f.r, &head.key, NOW, &found));
    assert_int_equal(store_worth(found.view.record), 6);
    head.worth = 0;
    assert_int_equal(store_write_refreshed(f.r, &head, &found.view, 0), APR_SUCCESS);
    store_release(&found.view);
    assert_true(store_find(f.r, &head.key, NOW, &found));
    assert_int_equal(store_worth(found.view.record), 6);
    assert_true(body_is(&found.view, "http://a/20", 10000));
    store_release(&found.view);
}

static void test_what_is_held_stays(void **state)
{
    const store_key key = key_of("http://held/");
    store_found found, large;
    char text[40];

    (void)state;
    assert_int_equal(put("http://held/", 5000), APR_SUCCESS);
    assert_int_equal(put("http://large/", 2500000), APR_SUCCESS);
    assert_true(store_find(f.r, &key, NOW, &found));
    assert_true(store_find(f.r, &(store_key){key_of("http://large/").a, key_of("http://large/").b},
                           NOW, &large));
    store_purge_all(f.s, 0);
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 20000), APR_SUCCESS);
    }
    assert_true(body_is(&found.view, "http://held/", 5000));
    assert_true(body_is(&large.view, "http://large/", 2500000));
    assert_int_equal(has(f.r, "http://held/", 5000), -1);
    store_release(&found.view);
    store_release(&large.view);
}

/* Its writer gave up, and its segment goes: who holds it reads on. */
static void test_what_was_given_up_is_held(void **state)
{
    const store_key key = key_of("http://held/");
    const store_head head = head_of("http://held/", STORE_LENGTH_UNKNOWN);
    store_view view;
    store_writer *w;
    const char *why;
    uint32_t flight;
    char text[40];

    (void)state;
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &flight), STORE_LEAD);
    w = store_write_begin(f.r, &head, flight, &why);
    fill(w, "http://held/", 0, 1500000);
    assert_int_equal(store_flight_look(f.other, flight, &key, &view), STORE_FLIGHT_GROWS);
    store_write_give_up(&w);
    assert_int_equal(store_view_state(&view, NULL), STORE_BROKEN);
    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 500000), APR_SUCCESS);
    }
    assert_true(body_is(&view, "http://held/", 1500000));
    store_release(&view);
}

static void test_large_ones_come_and_go(void **state)
{
    char text[40];
    int there = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        store_head head;
        const uint64_t length = 300000 + (uint64_t)(i % 7) * 700000;

        snprintf(text, sizeof text, "http://a/%d", i);
        head = head_of(text, i & 1 ? STORE_LENGTH_UNKNOWN : length);
        assert_int_equal(put_with(&head, length, 0), APR_SUCCESS);
        assert_int_equal(has(f.other, text, length), 0);
    }
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        there += has(f.r, text, 300000 + (uint64_t)(i % 7) * 700000) == 0;
    }
    assert_true(there > 2);
}

/* A sealed file, as kept memory is: what is evicted goes back to the system, and pages that lie in a pipe stay as they are. */
static void test_pages_outlive_their_segment(void **state)
{
    const store_limits limits = f.s->limits;
    const int fd = memfd_create("test", MFD_ALLOW_SEALING);
    void *memory = NULL;
    store_key key;
    store_found found;
    const char *p;
    char text[40], bytes[4096];
    struct iovec part;
    struct stat before, after;
    int lost, ends[2];
    size_t n;

    (void)state;
    assert_int_equal(ftruncate(fd, (off_t)f.bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    memory = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    store_reader_close(&f.r);
    store_reader_close(&f.other);
    store_close(&f.s);
    munmap(f.memory, f.bytes);
    f.memory = memory;
    f.s = store_open(memory, &limits);
    f.r = store_reader_open(f.s);
    f.other = store_reader_open(f.s);
    key = key_of("http://pipe/");
    assert_int_equal(put("http://pipe/", 20000), APR_SUCCESS);
    assert_true(store_find(f.r, &key, NOW, &found));
    n = store_body(&found.view, 4096, &p, &lost);
    assert_true(n >= sizeof bytes && !pipe(ends));
    part = (struct iovec){(char *)(uintptr_t)p, sizeof bytes};
    assert_int_equal(vmsplice(ends[1], &part, 1, 0), sizeof bytes);
    store_release(&found.view);
    store_purge_all(f.s, 0);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(put(text, 500000), APR_SUCCESS);
    }
    assert_int_equal(read(ends[0], bytes, sizeof bytes), sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], byte_at(seed_of("http://pipe/"), 4096 + i));
    fstat(fd, &before);
    for (int i = 0; i < 64 && !store_make_room(f.r, f.s->limits.bytes - STORE_SEGMENT); i++)
        break;
    fstat(fd, &after);
    assert_true(after.st_blocks < before.st_blocks / 2);
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

/* ---- processes */

static void child_ends(pid_t pid, int how)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == how);
    store_process_ended(f.s, pid);
}

static void test_two_processes(void **state)
{
    pid_t pid;

    (void)state;
    pid = fork();
    if (!pid) {
        f.r = store_reader_open(f.s);
        _exit(f.r && !put("http://child/", 12345) && !put("http://child/2", 2000000) ? 0 : 1);
    }
    child_ends(pid, 0);
    assert_int_equal(has(f.r, "http://child/", 12345), 0);
    assert_int_equal(has(f.r, "http://child/2", 2000000), 0);
}

#ifdef BRG_DEBUG_ASSERTIONS
static int steps_left;

static void die_at_step(const char *where)
{
    (void)where;
    if (!steps_left--)
        _exit(7);
}

/* A life in which each step is taken: writes of all kinds, purges, eviction. */
static void live(void)
{
    const store_key key = key_of("http://led/");
    uint32_t flight;
    char text[40];
    store_head head;
    store_found found;

    if (store_flight_begin(f.r, &key, 0, NOW, &flight) == STORE_LEAD) {
        head = head_of("http://led/", STORE_LENGTH_UNKNOWN);
        put_with(&head, 100000, flight);
    }
    head = head_of("http://long/", STORE_LENGTH_UNKNOWN);
    put_with(&head, 1500000, 0);
    if (store_find(f.r, &key, NOW, &found)) {
        if (found.view.reader)
            store_write_refreshed(f.r, &head, &found.view, 0);
        store_release(&found.view);
    }
    for (int i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        put(text, 400000);
        has(f.r, text, 400000);
        if (i == 15) {
            store_purge_key(f.s, &key, i & 1);
            store_purge_prefix(f.s, "http://lo", 9, 0);
        }
    }
}

/* Nobody may find anything that is not whole, wait for the dead, or lose memory for good. */
static void check_after_death(int step)
{
    const store_key key = key_of("http://led/");
    uint32_t flight;
    char text[40];
    int found;

    found = has(f.r, "http://led/", 100000);
    if (found < -1)
        fail_msg("torn at step %d", step);
    if (has(f.r, "http://long/", 1500000) < -1)
        fail_msg("torn at step %d", step);
    for (int i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        if (has(f.r, text, 400000) < -1)
            fail_msg("%s is torn at step %d", text, step);
    }
    if (store_flight_begin(f.r, &key, 0, NOW, &flight) != STORE_LEAD)
        fail_msg("no lead behind step %d", step);
    store_flight_end(f.r, flight, 0);
    for (int i = 0; i < 12; i++) {
        snprintf(text, sizeof text, "http://b/%d", i);
        if (put(text, 500000))
            fail_msg("no memory behind step %d", step);
        if (has(f.r, text, 500000) != 0)
            fail_msg("lost behind step %d", step);
    }
}

static void test_killed_at_each_step(void **state)
{
    int steps = 0, ended = 0;

    (void)state;
    for (; !ended && steps < 3000; steps += steps < 100 ? 1 : 29) {
        int status;
        const pid_t pid = fork();

        if (!pid) {
            f.r = store_reader_open(f.s);
            steps_left = steps;
            store_test_step = die_at_step;
            live();
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        ended = WEXITSTATUS(status) == 0;
        store_process_ended(f.s, pid);
        check_after_death(steps);
    }
    assert_true(ended && steps > 100);
}
#endif

/* Writers and readers in four processes, for some thousand rounds: what is found is right. */
static void test_many_at_once(void **state)
{
    pid_t pid[4];

    (void)state;
    for (int p = 0; p < 4; p++) {
        pid[p] = fork();
        if (pid[p])
            continue;
        f.r = store_reader_open(f.s);
        srand((unsigned)p + 1);
        for (int i = 0; i < 2000; i++) {
            const int which = rand() % 150;
            const uint64_t length = (uint64_t)which * (uint64_t)which * 40;
            char text[40];
            store_key key;
            uint32_t flight;

            snprintf(text, sizeof text, "http://a/%d", which);
            key = key_of(text);
            if (has(f.r, text, length) < -1)
                _exit(1);
            if (rand() % 100 == 0)
                store_purge_key(f.s, &key, 0);
            if (rand() % 3 == 0 && store_flight_begin(f.r, &key, 0, NOW, &flight) == STORE_LEAD) {
                const store_head head = head_of(text, rand() & 1 ? length : STORE_LENGTH_UNKNOWN);

                if (put_with(&head, length, flight))
                    store_flight_end(f.r, flight, 0);
            }
        }
        _exit(0);
    }
    for (int p = 0; p < 4; p++)
        child_ends(pid[p], 0);
}

/* Another layout is formatted; the same one is taken over. */
static void test_taken_over(void **state)
{
    store *next;
    store_limits limits = f.s->limits;

    (void)state;
    assert_int_equal(put("http://a/", 100), APR_SUCCESS);
    next = store_open(f.memory, &limits);
    assert_true(next->shared->secret[0] == f.s->shared->secret[0]);
    store_close(&next);
    assert_int_equal(has(f.r, "http://a/", 100), 0);
}

/* A process that was taken over may write what it likes: others read nothing beyond the memory. */
static void test_hostile_memory(void **state)
{
    const size_t tables = (size_t)((char *)f.s->pin - f.s->base);

    (void)state;
    srand(5);
    for (int round = 0; round < 300; round++) {
        char text[40];

        for (int i = 0; i < 50; i++) {
            snprintf(text, sizeof text, "http://a/%d", i);
            put(text, 3000);
        }
        for (int i = 0; i < 200; i++) {
            char *at = rand() & 1 ? f.s->data + (size_t)rand() % (2 * STORE_SEGMENT)
                                  : f.s->base + sizeof(store_shared) +
                                        (size_t)rand() % (tables - sizeof(store_shared));

            *at = (char)rand();
        }
        for (int i = 0; i < 50; i++) {
            const char *p;
            store_found found;
            store_key key;
            int lost;

            snprintf(text, sizeof text, "http://a/%d", i);
            key = key_of(text);
            store_find(f.other, &key, NOW, &found);
            if (found.view.reader) {
                uint64_t off = 0;
                size_t n, sum = 0;

                for (int k = 0; k < 100 && (n = store_body(&found.view, off, &p, &lost));
                     k++, off += n)
                    for (size_t b = 0; b < n; b++)
                        sum += (unsigned char)p[b];
                assert_true(sum < SIZE_MAX);
                store_release(&found.view);
            }
        }
        store_each(f.other, see, &(seen){0});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_what_is_written_is_found),
        T(test_the_newer_one_is_found),
        T(test_a_body_that_came_short_is_not_stored),
        T(test_bounds),
        T(test_variants_are_bounded),
        T(test_objects_are_bounded),
        T(test_bounds_are_changed),
        T(test_growing_objects_are_read),
        T(test_a_lead_that_fails),
        T(test_a_new_head_keeps_the_body),
        T(test_purges),
        T(test_each_is_seen),
        T(test_a_purge_while_it_grows),
        T(test_another_program_attaches),
        T(test_purges_that_do_not_fit),
#ifdef BRG_DEBUG_ASSERTIONS
        T(test_a_purge_that_is_numbered_late),
#endif
        T(test_eviction),
        T(test_ghosts_are_forgotten),
        T(test_what_cost_much_stays_longer),
        T(test_worth_lasts),
        T(test_what_is_held_stays),
        T(test_what_was_given_up_is_held),
        T(test_large_ones_come_and_go),
        T(test_pages_outlive_their_segment),
        T(test_two_processes),
        T(test_many_at_once),
        T(test_taken_over),
        T(test_hostile_memory),
#ifdef BRG_DEBUG_ASSERTIONS
        T(test_killed_at_each_step),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
