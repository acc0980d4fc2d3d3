/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of a connection: found by number, taken by urgency and in the order in which they came, and freed when nothing
 * needs them; priorities.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_stream.h"

typedef struct table {
    http_streams all;
    brg_loop loop;
    brg_conn bc;
    server_rec server;
    unsigned counted;
} table;

static table *table_new(void)
{
    static table t;

    memset(&t, 0, sizeof t);
    t.bc.loop = &t.loop;
    t.bc.base = &t.server;
    t.loop.monotonic = 1000;
    t.server.keep_alive_timeout = 5;
    t.all.bc = &t.bc;
    t.all.protocol = &text_protocol;
    t.all.counted = &t.counted;
    t.all.terms.window = 77;
    streams_begin(&t.all);
    return &t;
}

static void found(void **state)
{
    table *t = table_new();

    for (uint32_t id = 1; id < 400; id += 2)
        assert_int_equal(stream_open(&t->all, id)->recv_window, 77);
    assert_int_equal(t->counted, 200);
    for (uint32_t id = 1; id < 400; id += 2)
        assert_int_equal(stream_find(&t->all, id)->id, id);
    assert_null(stream_find(&t->all, 401));
    stream_cancel(stream_find(&t->all, 199));
    assert_null(stream_find(&t->all, 199));
    assert_int_equal(t->all.open_n, 199);
    assert_int_equal(t->bc.idle_until, 0);
    assert_int_equal(streams_cancel(&t->all), 0);
    assert_int_equal(t->counted, 0);
    assert_int_equal(t->bc.idle_until, 1005); /* nothing is open any more */
    streams_end(&t->all);
}

static uint32_t next_id(const table *t)
{
    const http_stream *s = stream_first(t->all.ready);

    return s ? s->id : 0;
}

static void order(void **state)
{
    table *t = table_new();
    http_stream *s[4];

    for (uint32_t i = 0; i < 4; i++) {
        s[i] = stream_open(&t->all, 2 * i + 1);
        stream_ready(s[i]);
    }
    stream_ready(s[0]); /* it keeps its place */
    assert_int_equal(next_id(t), 1);
    stream_set_priority(s[2], "u=1", 3);
    assert_int_equal(next_id(t), 5);
    stream_rank(s[2], 7, 10); /* the client said it */
    assert_int_equal(next_id(t), 5);
    stream_rank(s[0], 6, STREAM_LARGE + 1);
    assert_true(s[0]->incremental);
    stream_unready(s[2]);
    assert_int_equal(next_id(t), 3);
    stream_cancel(s[1]);
    assert_int_equal(next_id(t), 7);
    stream_cancel(s[3]);
    assert_int_equal(next_id(t), 1);
    streams_cancel(&t->all);
    assert_int_equal(next_id(t), 0);
    streams_end(&t->all);
}

static void priorities(void **state)
{
    static const struct {
        const char *text;
        uint8_t urgency, incremental;
    } cases[] = {{"u=0", 0, 0},      {"u=7, i", 7, 1},   {"i=?1", 3, 1}, {"i=?0", 3, 0},
                 {"u=8", 3, 0},      {"u=-1", 3, 0},     {"", 3, 0},     {"u=2;x=1", 2, 0},
                 {"i;q, u=1", 1, 1}, {"u=1, u=4", 4, 0}, {"U=1", 3, 0},  {"x, i, y", 3, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t urgency = STREAM_URGENCY_DEFAULT, incremental = 0;

        stream_priority_parse(cases[i].text, strlen(cases[i].text), &urgency, &incremental);
        assert_int_equal(urgency, cases[i].urgency);
        assert_int_equal(incremental, cases[i].incremental);
    }
    assert_int_equal(stream_urgency_of_type("text/css; charset=x", 19), 2);
    assert_int_equal(stream_urgency_of_type("IMAGE/png", 9), 4);
    assert_int_equal(stream_urgency_of_type("text/html", 9), STREAM_URGENCY_DEFAULT);
}

/* A client may give credit to each stream that ended, however many there are in a second; without responses there are a thousand. */
static void limits(void **state)
{
    table *t = table_new();

    t->all.limits.cheap_second = apr_time_sec(t->loop.monotonic);
    for (int i = 0; i < 5000; i++) {
        stream_limit_earn(&t->all);
        assert_int_equal(stream_limit_cheap(&t->all) + stream_limit_cheap(&t->all), 0);
    }
    for (int i = 0; i < 3; i++)
        stream_limit_earn(&t->all);
    for (int i = 0; i < 998; i++)
        assert_int_equal(stream_limit_cheap(&t->all), 0);
    while (!stream_limit_cheap(&t->all))
        assert_true(t->all.limits.cheap <= 1000);
    t->loop.monotonic += apr_time_from_sec(1);
    assert_int_equal(stream_limit_cheap(&t->all), 0);
    streams_end(&t->all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(order),
                                       cmocka_unit_test(priorities), cmocka_unit_test(limits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
