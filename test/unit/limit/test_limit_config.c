/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of RequestLimit and RequestLimitKeys: what a limit gets from them, what is refused, which limits of an outer place count. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "limit_private.h"
#include "test_pool.h"
#include "test_directive.h"

#define SECOND UINT64_C(1000000000)

static server_rec server;
static limit_conf *of_server, *of_section;

static int setup(void **state)
{
    test_pool_setup(state);
    limit_all = NULL;
    of_server = limit_conf_create(test_pool, &server);
    of_section = limit_dir_create(test_pool, NULL);
    server.module_config = test_config_vector(test_pool, &limit_module, of_server);
    return 0;
}

static const char *line_of(const char *path, const char *line)
{
    return test_directive(test_pool, &limit_module, &server, of_section, path,
                          apr_pstrcat(test_pool, "RequestLimit ", line, NULL));
}

/* The limit of a line in a server. */
static const limit *made(const char *line)
{
    const char *error = line_of(NULL, line);

    if (error)
        fail_msg("%s: %s", line, error);
    return APR_ARRAY_IDX(of_server->list, of_server->list->nelts - 1, const limit *);
}

static void refused(const char *line, const char *why)
{
    const char *error = line_of(NULL, line);

    if (!error || !strstr(error, why))
        fail_msg("%s: %s", line, error ? error : "taken");
}

static void rates_are_of_a_second_a_minute_or_an_hour(void **state)
{
    static const struct {
        const char *line;
        uint64_t each, quota, window;
    } cases[] = {{"a rate=10/s", SECOND / 10, 10, 1},
                 {"b rate=10r/s", SECOND / 10, 10, 1},
                 {"c rate=4", SECOND / 4, 4, 1},
                 {"d rate=30/m", 2 * SECOND, 30, 60},
                 {"e rate=30r/m", 2 * SECOND, 30, 60},
                 {"f rate=1800/h", 2 * SECOND, 1800, 3600},
                 {"g RATE=1800r/h", 2 * SECOND, 1800, 3600},
                 {"h rate=1000000000/s", 1, 1000000000, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const limit *l = made(cases[i].line);

        assert_int_equal(l->measure, LIMIT_RATE);
        assert_int_equal(l->each, cases[i].each);
        assert_int_equal(l->quota, cases[i].quota);
        assert_int_equal(l->window, cases[i].window);
    }
}

static void a_rate_is_a_number_of_a_known_time(void **state)
{
    static const char *const bad[] = {"rate=",     "rate=0/s",   "rate=-1/s", "rate=x",
                                      "rate=10/d", "rate=10/ss", "rate=/s",   "rate=1000000001/s"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(apr_pstrcat(test_pool, "a ", bad[i], NULL), "wants requests of a time");
}

static void a_line_says_a_limit_s_standard_values(void **state)
{
    const limit *l = made("a rate=10/s");

    assert_string_equal(l->name, "a");
    assert_ptr_equal(l->server, &server);
    assert_null(l->path);
    assert_int_equal(l->who, LIMIT_CLIENT);
    assert_int_equal(l->what, LIMIT_NOTHING);
    assert_int_equal(l->excess, LIMIT_REFUSES);
    assert_int_equal(l->status, 429);
    assert_int_equal(l->burst, 0);
    assert_false(l->is_dry);
    assert_false(l->is_off);
}

static void a_burst_is_counted_in_requests_of_a_rate(void **state)
{
    const limit *l = made("a rate=10/s burst=20");

    assert_int_equal(l->burst, 2 * SECOND);
    assert_int_equal(l->undelayed, 0);
    assert_int_equal(l->excess, LIMIT_REFUSES);
    assert_int_equal(made("b rate=10/s burst=0")->burst, 0);
}

static void a_delay_is_a_part_of_the_burst(void **state)
{
    const limit *l = made("a rate=10/s burst=20 delay=5");

    assert_int_equal(l->excess, LIMIT_DELAYS);
    assert_int_equal(l->undelayed, SECOND / 2);
    assert_int_equal(made("b rate=10/s burst=20 delay=50")->undelayed, 2 * SECOND);
    assert_int_equal(made("c rate=10/s burst=20 delay=0")->undelayed, 0);
    refused("d rate=10/s delay=x", "not delayed");
    refused("d rate=10/s delay=5K", "not delayed");
}

static void a_burst_of_centuries_is_refused(void **state)
{
    refused("a rate=1/h burst=1000000000", "73 years");
    made("b rate=1/h burst=600000");
}

static void bandwidth_is_bytes_of_a_second(void **state)
{
    const limit *l = made("a bandwidth=1M");

    assert_int_equal(l->measure, LIMIT_BANDWIDTH);
    assert_int_equal(l->each, SECOND);
    assert_int_equal(l->most, 1 << 20); /* of a second, if nothing is said */
    assert_int_equal(l->burst, SECOND);
    assert_int_equal(made("b bandwidth=512k")->each, 2 * SECOND);
    assert_int_equal(made("c bandwidth=1G")->each, SECOND / 1024);
    assert_int_equal(made("d bandwidth=1024")->each, 1024 * SECOND);
}

static void the_burst_of_a_small_bandwidth_has_a_bound(void **state)
{
    assert_int_equal(made("a bandwidth=1024")->most, 65536);
    assert_int_equal(made("b bandwidth=65537")->most, 65537);
    assert_int_equal(made("c bandwidth=1M burst=4M")->most, 4 << 20);
    assert_int_equal(made("d bandwidth=1M burst=4M")->burst, 4 * SECOND);
}

static void bandwidth_has_one_unit(void **state)
{
    static const char *const bad[] = {"0", "10x", "10KB", "K", "", "-5"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(apr_pstrcat(test_pool, "a bandwidth=", bad[i], NULL), "wants bytes a second");
}

static void counts_are_of_requests_or_connections(void **state)
{
    assert_int_equal(made("a inflight=5")->measure, LIMIT_IN_FLIGHT);
    assert_int_equal(made("b inflight=5")->most, 5);
    assert_int_equal(made("c connections=7")->measure, LIMIT_CONNECTIONS);
    refused("d inflight=0", "wants a number from 1 on");
    refused("d inflight=5x", "wants a number from 1 on");
    refused("d connections=", "wants a number from 1 on");
}

static void a_limit_has_one_measure(void **state)
{
    refused("a rate=1/s inflight=5", "a limit has one of");
    refused("a inflight=5 bandwidth=1M", "a limit has one of");
    refused("a by=client", "wants one of rate=");
    refused("a", "wants one of rate=");
}

static void a_key_has_parts(void **state)
{
    const limit *l = made("a rate=1/s by=prefix/20/48,field:X-Api-Key,host,path");

    assert_int_equal(l->who, LIMIT_PREFIX);
    assert_int_equal(l->bits[0], 20);
    assert_int_equal(l->bits[1], 48);
    assert_int_equal(l->what, LIMIT_FIELD);
    assert_string_equal(l->field, "X-Api-Key");
    assert_int_equal(l->field_len, 9);
    assert_true(l->by_host);
    assert_true(l->by_path);
    l = made("b rate=1/s by=user");
    assert_int_equal(l->what, LIMIT_USER);
    assert_int_equal(l->who, LIMIT_ANYONE);
    assert_false(l->by_host);
    assert_false(l->by_path);
}

static void a_key_of_all_has_no_client(void **state)
{
    assert_int_equal(made("a rate=1/s by=all")->who, LIMIT_ANYONE);
    assert_int_equal(made("b rate=1/s by=path")->who, LIMIT_ANYONE);
    assert_int_equal(made("c rate=1/s by=client,path")->who, LIMIT_CLIENT);
}

static void prefixes_have_bits_of_each_family(void **state)
{
    assert_int_equal(made("a rate=1/s by=prefix")->bits[0], 24);
    assert_int_equal(made("b rate=1/s by=prefix")->bits[1], 56);
    assert_int_equal(made("c rate=1/s by=prefix/32")->bits[0], 32);
    assert_int_equal(made("d rate=1/s by=prefix/32")->bits[1], 56);
    assert_int_equal(made("e rate=1/s by=prefix/32/128")->bits[1], 128);
    refused("f rate=1/s by=prefix/33", "numbers of bits");
    refused("f rate=1/s by=prefix/32/129", "numbers of bits");
    refused("f rate=1/s by=prefix/0", "numbers of bits");
    refused("f rate=1/s by=prefix/24/56/1", "wants prefix/IPV4/IPV6");
    refused("f rate=1/s by=prefixes", "wants client");
}

static void a_key_has_one_client_and_one_more(void **state)
{
    refused("a rate=1/s by=client,prefix", "a key has one of client");
    refused("a rate=1/s by=user,field:X", "a key has one of user");
    refused("a rate=1/s by=", "wants keys, once");
    refused("a rate=1/s by=client by=host", "wants keys, once");
    refused("a rate=1/s by=Client", "wants client, prefix");
    refused("a rate=1/s by=field:", "name of a request field");
    refused("a rate=1/s by=field:a:b", "name of a request field");
}

static void networks_need_their_table(void **state)
{
    refused("a rate=1/s by=as", "needs a table of networks");
    refused("a rate=1/s by=route", "needs a table of networks");
}

static void excess_and_status(void **state)
{
    const limit *l = made("a rate=1/s excess=close status=503 dry-run");

    assert_int_equal(l->excess, LIMIT_CLOSES);
    assert_int_equal(l->status, 503);
    assert_true(l->is_dry);
    assert_int_equal(made("b rate=1/s excess=delay")->excess, LIMIT_DELAYS);
    assert_int_equal(made("c rate=1/s excess=delay excess=refuse")->excess, LIMIT_REFUSES);
    assert_int_equal(made("d rate=1/s status=400 Dry-Run")->status, 400);
    assert_int_equal(made("e rate=1/s status=599")->status, 599);
    refused("f rate=1/s excess=drop", "wants refuse, delay or close");
    refused("f rate=1/s status=399", "from 400 to 599");
    refused("f rate=1/s status=600", "from 400 to 599");
    refused("f rate=1/s status=429x", "from 400 to 599");
}

static void words_that_nothing_is_called_are_named(void **state)
{
    refused("a rate=1/s bursts=5", "bursts=5: is not known");
    refused("a rate=1/s burst", "burst: is not known");
    refused("a rate=1/s dry-run=on", "is not known");
    refused("a rate=1/s burst=x", "wants a number");
}

static void what_does_not_go_together(void **state)
{
    refused("a inflight=5 excess=delay", "only requests of a rate are delayed");
    refused("a bandwidth=1M delay=5", "only requests of a rate are delayed");
    refused("a rate=1/s by=user excess=delay", "cannot have excess=delay");
    refused("a inflight=5 burst=5", "burst= belongs to");
    refused("a connections=5 burst=0", "burst= belongs to");
    refused("a connections=5 by=user", "counted before a request");
    refused("a connections=5 by=host", "counted before a request");
    refused("a connections=5 by=path", "counted before a request");
    made("a connections=5 by=prefix");
}

static void connections_are_of_servers(void **state)
{
    assert_non_null(strstr(line_of("/folder", "a connections=5"), "for servers, not for sections"));
    assert_null(line_of("/folder", "a inflight=5"));
    assert_null(of_server->list);
    assert_int_equal(of_section->list->nelts, 1);
    assert_string_equal(APR_ARRAY_IDX(of_section->list, 0, const limit *)->path, "/folder");
}

static void names_are_short_and_plain(void **state)
{
    char name[LIMIT_NAME_ROOM + 32];

    made("A-z_0.9 rate=1/s");
    refused("a/b rate=1/s", "is no name");
    refused("a=b rate=1/s", "is no name");
    refused("\"\" rate=1/s", "is no name");
    memset(name, 'a', sizeof name);
    memcpy(name + LIMIT_NAME_ROOM - 1, " rate=1/s", 10);
    made(name);
    memcpy(name + LIMIT_NAME_ROOM - 1, "a rate=1/s", 11);
    refused(name, "is no name");
}

static void a_name_is_taken_once_in_a_place(void **state)
{
    made("a rate=1/s");
    refused("a rate=2/s", "the name is taken here");
    refused("a off", "the name is taken here");
    assert_null(line_of("/folder", "a rate=2/s"));
    assert_int_equal(limit_all->nelts, 2);
}

static void off_is_no_limit(void **state)
{
    assert_true(made("a off")->is_off);
    assert_null(limit_all);
    refused("b off rate=1/s", "off: is not known");
}

static void there_are_rows_for_so_many(void **state)
{
    for (int i = 0; i < LIMIT_ROWS; i++)
        made(apr_psprintf(test_pool, "n%d rate=1/s", i));
    refused("one rate=1/s", "there may be 64 of them");
    made("another off");
}

static const limit_conf *with(const char *line)
{
    of_section = limit_dir_create(test_pool, NULL);
    assert_null(line_of("/folder", line));
    return of_section;
}

static void inner_places_keep_what_they_do_not_say(void **state)
{
    limit_conf *outer = (limit_conf *)with("a rate=1/s"), *merged;
    const limit_conf *inner;

    assert_null(line_of("/folder", "b rate=1/s"));
    inner = with("b off");
    merged = limit_conf_merge(test_pool, outer, (void *)inner);
    assert_int_equal(merged->list->nelts, 2);
    assert_true(APR_ARRAY_IDX(merged->list, 0, const limit *)->is_off);
    assert_string_equal(APR_ARRAY_IDX(merged->list, 1, const limit *)->name, "a");
    assert_int_equal(inner->list->nelts, 1); /* it may be merged with others, too */
}

static void a_place_without_limits_has_the_others(void **state)
{
    limit_conf *none = limit_dir_create(test_pool, NULL), *one = (limit_conf *)with("a rate=1/s");

    assert_ptr_equal(((limit_conf *)limit_conf_merge(test_pool, none, one))->list, one->list);
    assert_ptr_equal(((limit_conf *)limit_conf_merge(test_pool, one, none))->list, one->list);
    assert_null(((limit_conf *)limit_conf_merge(test_pool, none, none))->list);
}

static const char *keys(const char *number)
{
    return test_directive(test_pool, &limit_module, &server, of_section, NULL,
                          apr_pstrcat(test_pool, "RequestLimitKeys ", number, NULL));
}

static void keys_are_a_number_within_bounds(void **state)
{
    const int before = limit_keys;

    assert_null(keys("1024"));
    assert_int_equal(limit_keys, 1024);
    assert_null(keys("67108864"));
    assert_int_equal(limit_keys, 67108864);
    assert_non_null(keys("1023"));
    assert_non_null(keys("67108865"));
    assert_non_null(keys("2048x"));
    assert_int_equal(limit_keys, 67108864);
    limit_keys = before;
}

#define LINES(test) cmocka_unit_test_setup_teardown(test, setup, test_pool_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINES(rates_are_of_a_second_a_minute_or_an_hour),
        LINES(a_rate_is_a_number_of_a_known_time),
        LINES(a_line_says_a_limit_s_standard_values),
        LINES(a_burst_is_counted_in_requests_of_a_rate),
        LINES(a_delay_is_a_part_of_the_burst),
        LINES(a_burst_of_centuries_is_refused),
        LINES(bandwidth_is_bytes_of_a_second),
        LINES(the_burst_of_a_small_bandwidth_has_a_bound),
        LINES(bandwidth_has_one_unit),
        LINES(counts_are_of_requests_or_connections),
        LINES(a_limit_has_one_measure),
        LINES(a_key_has_parts),
        LINES(a_key_of_all_has_no_client),
        LINES(prefixes_have_bits_of_each_family),
        LINES(a_key_has_one_client_and_one_more),
        LINES(networks_need_their_table),
        LINES(excess_and_status),
        LINES(words_that_nothing_is_called_are_named),
        LINES(what_does_not_go_together),
        LINES(connections_are_of_servers),
        LINES(names_are_short_and_plain),
        LINES(a_name_is_taken_once_in_a_place),
        LINES(off_is_no_limit),
        LINES(there_are_rows_for_so_many),
        LINES(inner_places_keep_what_they_do_not_say),
        LINES(a_place_without_limits_has_the_others),
        LINES(keys_are_a_number_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
