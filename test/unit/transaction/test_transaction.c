/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction: its states, its end, what is asked of it without a request_rec. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "transaction.h"

/* ---- states ---- */

static int may(transaction_state from, transaction_state to)
{
    return (transaction_next[from] >> to & 1u) != 0;
}

static void test_each_state_is_reached_and_ends(void **state)
{
    for (int from = 0; from < TRANSACTION_STATES; from++) {
        int before = 0;

        for (int s = 0; s < TRANSACTION_STATES; s++)
            before += may(s, from);
        assert_true(before > 0);
        assert_true(transaction_next[from] != 0 &&
                    transaction_next[from] < 1u << TRANSACTION_STATES);
    }
    assert_int_equal(transaction_next[TRANSACTION_END], 1u << TRANSACTION_HEAD);
    assert_int_equal(transaction_next[TRANSACTION_SEND], 1u << TRANSACTION_LOG);
    assert_int_equal(transaction_next[TRANSACTION_LOG], 1u << TRANSACTION_END);
    assert_false(may(TRANSACTION_ROUTE,
                     TRANSACTION_END)); /* a request_rec has a source, if it is an error's */
    assert_false(may(TRANSACTION_SEND, TRANSACTION_END)); /* what is sent is logged */
    assert_false(may(TRANSACTION_SOURCE, TRANSACTION_SEND));
}

static void test_the_end_counts(void **state)
{
    brg_loop loop = {.monotonic = 1000};
    brg_conn bc = {.loop = &loop, .requests = 3};
    server_rec s = {.keep_alive_timeout = 500};

    transaction_enter(&bc, TRANSACTION_HEAD);
    transaction_enter(&bc, TRANSACTION_SEND);
    transaction_enter(&bc, TRANSACTION_LOG);
    transaction_end(&bc, &s, TRANSACTION_STORED);
    assert_int_equal(bc.transaction, TRANSACTION_END);
    assert_int_equal(bc.requests, 4);
    assert_int_equal(bc.idle_until, 1500);
    assert_int_equal(bc.input.began, 1000);
    assert_int_equal(loop.turn.ended_n, 1);
    assert_int_equal(loop.turn.full_n, 0);
    transaction_enter(&bc, TRANSACTION_HEAD);
    transaction_enter(&bc, TRANSACTION_ROUTE);
    transaction_enter(&bc, TRANSACTION_SOURCE);
    transaction_end(&bc, &s, TRANSACTION_FULL);
    transaction_count(&loop, 2, TRANSACTION_FULL);
    assert_int_equal(loop.turn.ended_n, 4);
    assert_int_equal(loop.turn.full_n, 3);
}

/* ---- fields ---- */

static void field_add(http_head *h, const char *name, const char *value)
{
    const http_field_id id = http_field_id_of(name, strlen(name));

    if (id != HTTP_F_OTHER && h->known[id] >= 0)
        h->repeated = 1;
    else if (id != HTTP_F_OTHER)
        h->known[id] = (int16_t)h->n_fields;
    h->own[h->n_fields++] = (http_field){.name = name,
                                         .value = value,
                                         .name_len = (uint32_t)strlen(name),
                                         .value_len = (uint32_t)strlen(value)};
}

static apr_ssize_t field(const http_head *h, const char *name, const char **value)
{
    const transaction t = {.head = h};

    return transaction_field(&t, http_field_id_of(name, strlen(name)), name, strlen(name), value);
}

static void test_fields_of_a_head(void **state)
{
    http_head *h = calloc(1, sizeof *h);
    const char *value;

    h->field = h->own;
    memset(h->known, -1, sizeof h->known);
    field_add(h, "User-Agent", "one");
    field_add(h, "x-api-key", "two");
    field_add(h, "X-A", "");
    assert_int_equal(field(h, "user-agent", &value), 3);
    assert_memory_equal(value, "one", 3);
    assert_int_equal(field(h, "X-Api-Key", &value), 3);
    assert_memory_equal(value, "two", 3);
    assert_int_equal(field(h, "X-A", &value), 0);
    assert_non_null(value);
    assert_int_equal(field(h, "X-B", &value), 0);
    assert_null(value);
    assert_int_equal(field(h, "Cookie", &value), 0);
    assert_null(value);
    field_add(h, "X-API-KEY", "three"); /* the full way makes one value of them */
    assert_int_equal(field(h, "X-Api-Key", &value), -1);
    assert_int_equal(field(h, "User-Agent", &value), 3);
    field_add(h, "user-agent", "four");
    assert_int_equal(field(h, "User-Agent", &value), -1);
    free(h);
}

static void test_names_in_any_case(void **state)
{
    static const char *const names[] = {"X", "X-Abc", "X-Abcdef", "X-Abcdefghijk",
                                        "X-Abcdefghijklmnopqrstuvwxyz"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t len = strlen(names[i]);
        char other[64];

        for (size_t k = 0; k <= len; k++)
            other[k] =
                (char)(names[i][k] >= 'a' && names[i][k] <= 'z' ? names[i][k] - 32 : names[i][k]);
        assert_true(transaction_names(names[i], names[i], len));
        assert_true(transaction_names(other, names[i], len));
        other[len - 1] = '_';
        assert_false(transaction_names(other, names[i], len));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_state_is_reached_and_ends),
        cmocka_unit_test(test_the_end_counts),
        cmocka_unit_test(test_fields_of_a_head),
        cmocka_unit_test(test_names_in_any_case),
    };

    return cmocka_run_group_tests_name("transaction", tests, NULL, NULL);
}
