/* SPDX-License-Identifier: Apache-2.0 */
#include "auth_hashes.h"
#include "auth_memory.h"
#include "brigade/loop.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define PIECE(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }

static auth_mark mark_of(char kind, int number)
{
    char text[24];
    const auth_piece piece = {text, (apr_size_t)snprintf(text, sizeof text, "%d", number)};
    auth_mark mark;

    assert_int_equal(auth_mark_make(&mark, kind, &piece, 1), 1);
    return mark;
}

static int setup(void **state)
{
    const auth_piece piece = PIECE("a");
    auth_mark mark;

    if (auth_mark_make(&mark, 'a', &piece, 1) || auth_memory_knows(&(auth_mark){{0, 0}}))
        return -1; /* there is no memory yet */
    auth_memory_open(NULL);
    auth_hashes_open();
    return 0;
}

static void marks_tell_pieces_apart(void **state)
{
    const auth_piece one[] = {PIECE("ab"), PIECE("c")}, other[] = {PIECE("a"), PIECE("bc")};
    auth_mark a, b, c, d;

    assert_true(auth_mark_make(&a, 'x', one, 2) && auth_mark_make(&b, 'x', other, 2) &&
                auth_mark_make(&c, 'y', one, 2) && auth_mark_make(&d, 'x', one, 2));
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
    assert_memory_equal(&a, &d, sizeof a);
}

static void long_texts_have_no_mark(void **state)
{
    static char text[AUTH_MARK_MOST];
    auth_piece piece = {text, AUTH_MARK_MOST - 5};
    auth_mark mark;

    assert_true(auth_mark_make(&mark, 'x', &piece, 1));
    piece.len++;
    assert_false(auth_mark_make(&mark, 'x', &piece, 1));
    piece.len = (apr_size_t)-1;
    assert_false(auth_mark_make(&mark, 'x', &piece, 1));
}

static void what_is_learned_is_known_until_its_end(void **state)
{
    const apr_time_t now = brg_monotonic_now();
    const auth_mark right = mark_of('t', 1), over = mark_of('t', 2), never = mark_of('t', 3);

    auth_memory_learn(&right, now + apr_time_from_sec(60));
    auth_memory_learn(&over, now - apr_time_from_sec(1));
    assert_true(auth_memory_knows(&right) > now + apr_time_from_sec(59));
    assert_true(auth_memory_knows(&right) <= now + apr_time_from_sec(61));
    assert_int_equal(auth_memory_knows(&over), 0);
    assert_int_equal(auth_memory_knows(&never), 0);
}

/* The number of marks is fixed: those that end first go. */
static void memory_is_bounded(void **state)
{
    const apr_time_t now = brg_monotonic_now();
    const auth_mark lasting = mark_of('l', 1);
    int known = 0;

    auth_memory_learn(&lasting, now + apr_time_from_sec(3600));
    for (int i = 0; i < 100000; i++) {
        const auth_mark mark = mark_of('m', i);

        auth_memory_learn(&mark, now + apr_time_from_sec(10) + i);
    }
    for (int i = 0; i < 100000; i++) {
        const auth_mark mark = mark_of('m', i);

        known += auth_memory_knows(&mark) != 0;
    }
    assert_in_range(known, 8192, 16384);
    assert_true(auth_memory_knows(&lasting));
}

static void hashes_are_kept(void **state)
{
    const apr_time_t now = brg_monotonic_now();
    const auth_mark key = mark_of('k', 1);
    char hash[AUTH_HASH_MOST], longest[AUTH_HASH_MOST + 1];

    assert_int_equal(auth_hashes_get(&key, hash), 0);
    assert_true(auth_hashes_put(&key, "$apr1$x", now + apr_time_from_sec(9)));
    assert_true(auth_hashes_get(&key, hash));
    assert_string_equal(hash, "$apr1$x");
    assert_true(auth_hashes_put(&key, "other", now + apr_time_from_sec(9)));
    assert_true(auth_hashes_get(&key, hash));
    assert_string_equal(hash, "other");
    assert_true(auth_hashes_put(&key, "over", now - 1));
    assert_int_equal(auth_hashes_get(&key, hash), 0);
    memset(longest, 'x', sizeof longest);
    longest[AUTH_HASH_MOST - 1] = '\0';
    assert_true(auth_hashes_put(&key, longest, now + apr_time_from_sec(9)));
    assert_true(auth_hashes_get(&key, hash));
    assert_string_equal(hash, longest);
    longest[AUTH_HASH_MOST - 1] = 'x';
    longest[AUTH_HASH_MOST] = '\0';
    assert_false(auth_hashes_put(&key, longest, now + apr_time_from_sec(9)));
}

static void guesses_fill_a_bucket(void **state)
{
    for (int i = 0; i < 20; i++) {
        assert_false(auth_guess_is_refused("192.0.2.1", "joe"));
        auth_guess_was_wrong("192.0.2.1", "joe");
    }
    assert_true(auth_guess_is_refused("192.0.2.1", "joe"));
    assert_false(auth_guess_is_refused("192.0.2.1", "ann"));
    assert_false(auth_guess_is_refused("192.0.2.2", "joe"));
    for (int i = 0; i < 100; i++)
        auth_guess_was_wrong("192.0.2.3", i & 1 ? "a" : "b");
    assert_true(auth_guess_is_refused("192.0.2.3", "nobody yet"));
}

/* As threads do that looked before others added: more than it has places for ends no later. */
static void a_bucket_has_a_bound(void **state)
{
    const apr_time_t until = brg_monotonic_now() + apr_time_from_sec(5);

    for (int i = 0; i < 10000; i++)
        auth_guess_was_wrong("192.0.2.4", "joe");
    assert_true(auth_guess_is_refused("192.0.2.4", "joe"));
    while (auth_guess_is_refused("192.0.2.4", "joe"))
        assert_true(brg_monotonic_now() < until);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_tell_pieces_apart),
        cmocka_unit_test(long_texts_have_no_mark),
        cmocka_unit_test(what_is_learned_is_known_until_its_end),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(hashes_are_kept),
        cmocka_unit_test(guesses_fill_a_bucket),
        cmocka_unit_test(a_bucket_has_a_bound),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
