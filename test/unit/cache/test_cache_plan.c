/* SPDX-License-Identifier: Apache-2.0 */
/* Entries with a plan: for which requests there may be one, and how one is found and ends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "cache_plan.h"
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "request_context.h"
#include "universal_hash.h"
#include "test_pool.h"
#include "test_request.h"

typedef struct site {
    response_cache cache;
    brg_loop loop;
    request_rec *request;
    cache_entry *e;
    int made;
    int fails; /* making a plan does */
} site;

static const cache_plan_kind kind;

static cache_plan *make(request_rec *r, void *baton)
{
    site *t = baton;
    cache_plan *plan = t->fails ? NULL : calloc(1, 1000);

    assert_ptr_equal(r, t->request);
    t->made++;
    if (plan)
        *plan = (cache_plan){&kind, 1000};
    return plan;
}

static int set_up(void **state)
{
    site *t = calloc(1, sizeof *t);

    test_pool_setup(NULL);
    universal_hash_seed();
    t->cache.loop = &t->loop;
    t->cache.buckets_n = 16;
    t->cache.bucket = calloc(16, sizeof(*t->cache.bucket));
    t->request = test_request(test_pool);
    t->request->request_config = ap_create_request_config(test_pool);
    request_conf_create(t->request);
    *state = t;
    return admission_create(&t->cache.admission, 100);
}

static int tear_down(void **state)
{
    site *t = *state;

    while (t->cache.queue[CACHE_ANSWERS].oldest)
        cache_forget(&t->cache, t->cache.queue[CACHE_ANSWERS].oldest);
    assert_int_equal(t->cache.bytes, 0);
    admission_destroy(&t->cache.admission);
    free(t->cache.bucket);
    free(t);
    test_pool_teardown(NULL);
    return 0;
}

/* An entry as cache_arm() leaves it, for what the request offers. */
static int fill(site *t)
{
    static const cache_place at;
    cache_plan_offer *offer = apr_palloc(test_pool, sizeof *offer);
    const uint64_t hash = cache_hash(&at, "h", 1, "/p", 2);

    *offer = (cache_plan_offer){.make = make, .baton = t};
    request_offer_begin(t->request)->plan = offer;
    assert_true(cache_plan_is_offered(t->request));
    t->e = cache_add(&t->cache, &at, "h", 1, "/p", 2, hash, CACHE_ANSWERS);
    t->e->source = CACHE_SOURCE_PLAN;
    t->e->plans = 1;
    return cache_plan_fill(&t->cache, t->e, t->request);
}

static void a_plan_is_taken_and_ends_with_its_entry(void **state)
{
    site *t = *state;
    size_t before;

    assert_int_equal(fill(t), 0);
    before = t->cache.bytes;
    assert_int_equal(t->made, 1);
    assert_ptr_equal(t->e->plan->kind, &kind);
    assert_ptr_equal(t->e->server, t->request->server);
    assert_int_equal(cache_plan_bytes(t->e), cache_block(1000));
    assert_true(before > 1000);
    assert_false(
        t->e->filled); /* no answer: whoever looks for one finds that it cannot be stored */
    assert_true(t->e->uncacheable);
    assert_true(cache_sources[t->e->source].is_current(&t->cache, t->e));
    assert_string_equal(t->e->log->uri, "/dir/page.html");
}

static void there_is_none_without_memory(void **state)
{
    site *t = *state;

    t->fails = 1;
    assert_int_equal(fill(t), -1);
    assert_null(t->e->plan);
    assert_int_equal(cache_plan_bytes(t->e), 0);
}

static int gate(const void *data, uint64_t fixed, const transaction *t)
{
    return 1;
}

static apr_int64_t any_client(const void *data, apr_sockaddr_t *client)
{
    return 1;
}

static void fields_and_clients_tell_requests_apart(void **state)
{
    site *t = *state;

    assert_true(cache_plan_is_open(t->request));
    brg_cache_vary(t->request, "User-Agent", NULL, NULL);
    brg_cache_vary_client(t->request, any_client, NULL);
    assert_true(cache_plan_is_open(t->request));
}

static void gates_that_need_the_answer_do_not(void **state)
{
    site *t = *state;
    static const brg_cache_users users;
    static const apr_uint64_t realm[2];

    cache_gate(t->request, gate, CACHE_GATE_REQUEST, t, 0);
    assert_true(cache_plan_is_open(t->request));
    cache_gate(t->request, gate, CACHE_GATE_ANSWER, t, 1);
    assert_false(cache_plan_is_open(t->request));
    t->request->request_config = ap_create_request_config(test_pool);
    request_conf_create(t->request);
    assert_true(cache_plan_is_open(t->request));
    brg_cache_vary_user(t->request, "Authorization", &users, realm);
    assert_true(cache_plan_is_open(t->request));
}

static void fields_may_be_changed_by_what_was_sent(void **state)
{
    site *t = *state;

    assert_null(cache_plan_changes(t->request, 0));
    brg_cache_field_changed(t->request, "X-New", BRG_FIELD_SET);
    brg_cache_field_changed(t->request, "Referer", BRG_FIELD_REMOVED);
    assert_true(cache_plan_is_open(t->request));
    assert_string_equal(cache_plan_changes(t->request, 0), "X-New");
    assert_string_equal(cache_plan_changes(t->request, 1), "Referer");
    assert_null(cache_plan_changes(t->request, 2));
    apr_table_setn(t->request->headers_in, "Cookie", "a=b");
    brg_cache_field_changed(t->request, "Cookie", BRG_FIELD_EDITED);
    brg_cache_field_changed(t->request, "x-new", BRG_FIELD_EDITED);
    assert_true(cache_plan_is_open(t->request));
    assert_false(cache_plan_moves(t->request, 0)); /* the client did not send it */
    assert_true(cache_plan_moves(t->request, 2));
    brg_cache_field_changed(t->request, "Referer", BRG_FIELD_UNKNOWN);
    assert_false(cache_plan_is_open(t->request));
}

/* What keeps it current: nothing, or watches, without which there is none. */
static void files_have_to_be_watched(void **state)
{
    static const cache_place at;
    site *t = *state;
    cache_plan_offer offer = {.make = make, .baton = t};
    policy_reason reason = {.module = NULL};

    request_offer_begin(t->request)->plan = &offer;
    t->e =
        cache_add(&t->cache, &at, "h", 1, "/p", 2, cache_hash(&at, "h", 1, "/p", 2), CACHE_ANSWERS);
    assert_int_equal(cache_arm(&t->cache, t->e, t->request, &reason), 0);
    assert_int_equal(t->e->source, CACHE_SOURCE_PLAN);
    assert_true(t->e->plans);
    t->e->source = CACHE_SOURCE_NONE;
    brg_cache_depends_on(t->request, "/some/file");
    assert_int_equal(cache_arm(&t->cache, t->e, t->request, &reason), -1);
    assert_int_equal(t->e->source, CACHE_SOURCE_NONE);
}

static void a_module_asks_for_each_request(void **state)
{
    site *t = *state;

    assert_false(request_runs_each_time(t->request));
    brg_cache_each_time(t->request);
    assert_true(request_runs_each_time(t->request));
    t->request->request_config = ap_create_request_config(test_pool);
    assert_true(request_runs_each_time(t->request)); /* nobody knows */
}

static void a_cache_without_room_has_none(void **state)
{
    site *t = *state;

    assert_true(cache_plans_are_kept(&t->cache));
    t->cache.buckets_n = 0;
    assert_false(cache_plans_are_kept(&t->cache));
    t->cache.buckets_n = 16;
}

static void where_a_server_lets_connections_stay(void **state)
{
    server_rec s = {.keep_alive = 1, .keep_alive_timeout = 5, .keep_alive_max = 3};
    brg_conn bc = {.requests = 2};

    assert_true(transaction_keeps(&bc, &s));
    bc.requests = 3;
    assert_false(transaction_keeps(&bc, &s));
    s.keep_alive_max = 0;
    assert_true(transaction_keeps(&bc, &s));
    s.keep_alive_timeout = 0;
    assert_false(transaction_keeps(&bc, &s));
    s = (server_rec){.keep_alive_timeout = 5};
    assert_false(transaction_keeps(&bc, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plan_is_taken_and_ends_with_its_entry, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_none_without_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_and_clients_tell_requests_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gates_that_need_the_answer_do_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_may_be_changed_by_what_was_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_have_to_be_watched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_module_asks_for_each_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_without_room_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_a_server_lets_connections_stay, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
