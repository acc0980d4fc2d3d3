/* SPDX-License-Identifier: Apache-2.0 */
/* One leads, others read while it writes; a lead that ends without an object. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "test_store.h"

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

/* A process died as it fetched, and nobody asks for that target again: the next process counts its fetch no more. */
static void test_flights_of_the_dead_end(void **state)
{
    const store_key key = key_of("http://g/");
    store_figures figures;
    uint32_t lead;

    (void)state;
    assert_int_equal(store_flight_begin(f.other, &key, 0, NOW, &lead), STORE_LEAD);
    atomic_fetch_add(&store_flight_of(f.s, lead)->bytes, 1000);
    atomic_fetch_add(&f.s->shared->flight_bytes, 1000);
    atomic_store(&f.s->row[store_reader_row(f.other)].state, STORE_ROW_DEAD);
    free(f.other);
    f.other = store_reader_open(f.s);
    store_figures_get(f.s, &figures);
    assert_int_equal(figures.flights, 0);
    assert_int_equal(figures.flight_bytes, 0);
    assert_int_equal(figures.orphans, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_growing_objects_are_read),
        T(test_a_lead_that_fails),
        T(test_flights_of_the_dead_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
