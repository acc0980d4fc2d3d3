/* SPDX-License-Identifier: Apache-2.0 */
/* Eviction: the bound holds, and nothing goes that is held or asked for all the time. */
#include "store_private.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_store.h"

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

static uint64_t held_by_all(void)
{
    store_figures figures;

    store_figures_get(f.s, &figures);
    return figures.held;
}

/* An object that a 304 renewed has the body of the record before, often in the same segment: who looked at it holds nothing, and its memory becomes free. */
static void test_what_was_renewed_is_let_go(void **state)
{
    store_head head = head_of("http://renewed/", 5000);
    store_found found;

    (void)state;
    assert_int_equal(put_with(&head, 5000, 0), APR_SUCCESS);
    assert_true(store_find(f.r, &head.key, NOW, &found));
    assert_int_equal(store_write_refreshed(f.r, &head, &found.view, 0), APR_SUCCESS);
    store_release(&found.view);
    for (int i = 0; i < 10; i++) {
        store_view more;

        assert_true(store_find(f.r, &head.key, NOW, &found));
        store_hold(&more, &found.view);
        store_release(&found.view);
        assert_true(body_is(&more, "http://renewed/", 5000));
        store_release(&more);
    }
    store_each(f.other, see, &(seen){0});
    assert_int_equal(held_by_all(), 0);
    for (int i = 0; i < 200; i++) { /* each segment has a renewed object */
        char text[40];

        snprintf(text, sizeof text, "http://renewed/%d", i);
        head = head_of(text, 300000);
        assert_int_equal(put_with(&head, 300000, 0), APR_SUCCESS);
        assert_true(store_find(f.r, &head.key, NOW, &found));
        assert_int_equal(store_write_refreshed(f.r, &head, &found.view, 0), APR_SUCCESS);
        store_release(&found.view);
        assert_int_equal(has(f.other, text, 300000), 0);
    }
    assert_int_equal(held_by_all(), 0);
}

static void test_what_is_held_stays(void **state)
{
    const store_key key = key_of("http://held/");
    store_found found, large;

    (void)state;
    assert_int_equal(put("http://held/", 5000), APR_SUCCESS);
    assert_int_equal(put("http://large/", 2500000), APR_SUCCESS);
    assert_true(store_find(f.r, &key, NOW, &found));
    assert_true(store_find(f.r, &(store_key){key_of("http://large/").a, key_of("http://large/").b},
                           NOW, &large));
    store_purge_all(f.s, 0);
    put_many(3000, 20000);
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

    (void)state;
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &flight), STORE_LEAD);
    w = store_write_begin(f.r, &head, flight, &why);
    fill(w, "http://held/", 0, 1500000);
    assert_int_equal(store_flight_look(f.other, flight, &key, &view), STORE_FLIGHT_GROWS);
    store_write_give_up(&w);
    assert_int_equal(store_view_state(&view, NULL), STORE_BROKEN);
    put_many(60, 500000);
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
    char bytes[4096];
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
    put_many(100, 500000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_eviction),
        T(test_ghosts_are_forgotten),
        T(test_what_cost_much_stays_longer),
        T(test_worth_lasts),
        T(test_what_was_renewed_is_let_go),
        T(test_what_is_held_stays),
        T(test_what_was_given_up_is_held),
        T(test_large_ones_come_and_go),
        T(test_pages_outlive_their_segment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
