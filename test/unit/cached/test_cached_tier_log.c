/* SPDX-License-Identifier: Apache-2.0 */
/* The list of purges that machines share. */
#include "cached_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HERE 1
#define THERE 2
#define T(seconds) apr_time_from_sec(1000 + (seconds))

static tier_log log_of(void)
{
    tier_log log = {.bytes = malloc(TIER_LOG_ROOM)};

    tier_log_begin(&log, 7);
    return log;
}

static tier_purge purge(tier_kind kind, const char *text, apr_time_t when, int soft)
{
    return (tier_purge){.when = when,
                        .node = HERE,
                        .text = text,
                        .len = (uint32_t)strlen(text),
                        .kind = (uint8_t)kind,
                        .soft = (uint8_t)soft};
}

static void add(tier_log *log, tier_kind kind, const char *text, apr_time_t when, int soft)
{
    const tier_purge one = purge(kind, text, when, soft);

    tier_log_add(log, &one);
}

static tier_record record(apr_time_t asked, uint64_t node)
{
    return (tier_record){.life = 7,
                         .node = node,
                         .asked = asked,
                         .text = "http://a/news/1",
                         .text_len = 15,
                         .tags = "red\0blue",
                         .tags_len = 9};
}

static int ends(tier_kind kind, const char *text, int soft, apr_time_t asked, uint64_t node)
{
    tier_log log = log_of();
    const tier_record r = record(asked, node);
    int end;

    add(&log, kind, text, T(10), soft);
    end = tier_log_ends(&log, &r);
    free(log.bytes);
    return end;
}

static void what_a_purge_ends(void **state)
{
    (void)state;
    assert_int_equal(ends(TIER_TARGET, "http://a/news/1", 0, T(5), HERE), 2);
    assert_int_equal(ends(TIER_TARGET, "http://a/news/1", 1, T(5), HERE), 1);
    assert_int_equal(ends(TIER_TARGET, "http://a/news/", 0, T(5), HERE), 0);
    assert_int_equal(ends(TIER_TARGET, "http://a/news/12", 0, T(5), HERE), 0);
    assert_int_equal(ends(TIER_PREFIX, "http://a/news/", 0, T(5), HERE), 2);
    assert_int_equal(ends(TIER_PREFIX, "http://a/news/12", 0, T(5), HERE), 0);
    assert_int_equal(ends(TIER_TAG, "blue", 0, T(5), HERE), 2);
    assert_int_equal(ends(TIER_TAG, "blu", 0, T(5), HERE), 0);
    assert_int_equal(ends(TIER_TAG, "green", 0, T(5), HERE), 0);
    assert_int_equal(ends(TIER_ALL, "", 0, T(5), HERE), 2);
}

/* Of a QUERY: it ends with its target, and by itself. */
static void what_ends_a_query(void **state)
{
    static const char *const text[] = {"http://a/news/1", "http://a/news/1 QUERY 00", "http://a/",
                                       "http://a/news/1 QUERY", "http://a/news/1 QUERY 01"};
    tier_record r = record(T(5), HERE);

    (void)state;
    r.text = text[1];
    r.text_len = (uint32_t)strlen(text[1]);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        tier_log log = log_of();

        add(&log, TIER_TARGET, text[i], T(10), 0);
        assert_int_equal(tier_log_ends(&log, &r), i < 2 ? 2 : 0);
        free(log.bytes);
    }
}

static void when_a_purge_ends_it(void **state)
{
    (void)state;
    assert_int_equal(ends(TIER_TAG, "red", 0, T(10), HERE), 2);
    assert_int_equal(ends(TIER_TAG, "red", 0, T(10) + 1, HERE), 0);
    assert_int_equal(ends(TIER_TAG, "red", 0, T(10) + TIER_SKEW, THERE), 2);
    assert_int_equal(ends(TIER_TAG, "red", 0, T(10) + TIER_SKEW + 1, THERE), 0);
}

static int count(const tier_log *log)
{
    size_t at = 0;
    tier_purge one;
    int n = 0;

    while (tier_log_next(log, &at, &one))
        n++;
    return n;
}

static void the_latest_of_each_is_kept(void **state)
{
    tier_log log = log_of();
    const tier_purge first = purge(TIER_TAG, "red", T(1), 0),
                     second = purge(TIER_TAG, "red", T(2), 0);

    (void)state;
    tier_log_add(&log, &first);
    add(&log, TIER_TAG, "red", T(1), 1);
    add(&log, TIER_TARGET, "red", T(1), 0);
    tier_log_add(&log, &second);
    assert_int_equal(count(&log), 3);
    assert_true(tier_log_has(&log, &first, 0));
    assert_false(tier_log_has(&log, &first, 1));
    assert_true(tier_log_has(&log, &second, 1));
    free(log.bytes);
}

static void what_is_dropped_raises_the_floor(void **state)
{
    tier_log log = log_of();
    tier_record r = record(T(5), HERE);
    char text[64];

    (void)state;
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "http://a/other/%d", i);
        add(&log, TIER_TARGET, text, T(i), 0);
        assert_true(log.n < TIER_LOG_ROOM);
    }
    assert_true(log.n <= TIER_LOG_MOST + 64);
    assert_true(tier_log_floor(&log) > T(100) && tier_log_floor(&log) < T(5000));
    assert_int_equal(tier_log_ends(&log, &r), 2);
    r.asked = tier_log_floor(&log) + TIER_SKEW + 1;
    assert_int_equal(tier_log_ends(&log, &r), 0);
    for (int n = count(&log); n > 1; n = count(&log)) {
        tier_log_halve(&log);
        assert_true(count(&log) < n);
    }
    free(log.bytes);
}

static void the_longest_text_has_room(void **state)
{
    tier_log log = log_of();
    char *text = malloc(UINT16_MAX + 1);

    (void)state;
    memset(text, 'x', UINT16_MAX);
    text[UINT16_MAX] = '\0';
    for (int i = 0; i < 3; i++) {
        text[0] = (char)('a' + i);
        add(&log, TIER_TARGET, text, T(i), 0);
        tier_log_seal(&log);
        assert_int_equal(tier_log_read(log.bytes, log.n), 0);
    }
    free(text);
    free(log.bytes);
}

static void what_was_cut_or_changed_is_none(void **state)
{
    tier_log log = log_of();

    (void)state;
    add(&log, TIER_TAG, "red", T(1), 0);
    add(&log, TIER_PREFIX, "http://a/", T(2), 1);
    tier_log_seal(&log);
    assert_int_equal(tier_log_read(log.bytes, log.n), 0);
    assert_int_equal(tier_log_life(&log), 7);
    for (size_t i = 0; i < log.n; i++) {
        char *cut = malloc(i + 1);

        memcpy(cut, log.bytes, i);
        assert_int_equal(tier_log_read(cut, i), -1);
        free(cut);
    }
    for (size_t i = 0; i < 8 * log.n; i++) {
        log.bytes[i / 8] ^= (char)(1 << i % 8);
        assert_int_equal(tier_log_read(log.bytes, log.n), -1);
        log.bytes[i / 8] ^= (char)(1 << i % 8);
    }
    free(log.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_purge_ends),
        cmocka_unit_test(what_ends_a_query),
        cmocka_unit_test(when_a_purge_ends_it),
        cmocka_unit_test(the_latest_of_each_is_kept),
        cmocka_unit_test(what_is_dropped_raises_the_floor),
        cmocka_unit_test(the_longest_text_has_room),
        cmocka_unit_test(what_was_cut_or_changed_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
