/* SPDX-License-Identifier: Apache-2.0 */
/* Filter registry and chains: names, order, the three entry points, removal, what passes along. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "httpd.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "filter_registry.h"
#include "brigade/response_cache.h"
#include "apr_hooks.h"
#include "apr_strings.h"

typedef struct world {
    apr_pool_t *pool;
    conn_rec c;
    request_rec r, sub;
} world;

static char trace[256];

/* Leaves its name in the trace and passes on. */
static apr_status_t tracing_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    strcat(trace, f->frec->name);
    strcat(trace, " ");
    return f->next ? ap_pass_brigade(f->next, bb) : APR_SUCCESS;
}

static apr_status_t leaving_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_remove_output_filter(f);
    return tracing_filter(f, bb);
}

static void enter(request_rec *r, conn_rec *c)
{
    r->output_filters = r->proto_output_filters = c->output_filters;
    r->input_filters = r->proto_input_filters = c->input_filters;
}

static int setup(void **state)
{
    apr_pool_t *pool;
    world *w;

    apr_pool_create(&pool, NULL);
    apr_hook_global_pool = pool;
    w = apr_pcalloc(pool, sizeof *w);
    w->pool = pool;
    w->c.pool = w->r.pool = w->sub.pool = pool;
    w->c.bucket_alloc = apr_bucket_alloc_create(pool);
    w->r.connection = w->sub.connection = &w->c;
    w->sub.main = &w->r;
    ap_register_output_filter("Res1", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    ap_register_output_filter("res2", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    ap_register_output_filter("set", tracing_filter, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_output_filter("leave", leaving_filter, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_output_filter("proto", tracing_filter, NULL, AP_FTYPE_PROTOCOL);
    ap_register_output_filter("code", tracing_filter, NULL, AP_FTYPE_TRANSCODE);
    ap_register_output_filter("conn", tracing_filter, NULL, AP_FTYPE_CONNECTION);
    ap_register_output_filter("net", tracing_filter, NULL, AP_FTYPE_NETWORK);
    ap_add_output_filter("net", NULL, NULL, &w->c);
    enter(&w->r, &w->c);
    *state = w;
    return 0;
}

static void bodies_left_alone(void **state)
{
    static module m = {.name = "mod_test.c"}, headers = {.name = "mod_headers.c"};
    ap_filter_rec_t *one, *two, *row, foreign = {.name = "one"};

    apr_hook_debug_current = m.name;
    one = ap_register_output_filter("ONE", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    two = ap_register_output_filter("TWO", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    brg_filter_leaves_body(one);
    brg_filter_leaves_body(&foreign);
    assert_false(filter_leaves_body(one)); /* nothing is declared of its module */
    brg_cache_declare(&m, NULL);
    filter_declarations_changed();
    assert_true(filter_leaves_body(one));
    assert_false(filter_leaves_body(two));
    assert_false(filter_leaves_body(&foreign));
    apr_hook_debug_current = headers.name;
    brg_cache_declare(&headers, NULL);
    row = ap_register_output_filter("FIXUP_HEADERS_OUT", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    assert_true(filter_leaves_body(row));
    one = ap_register_output_filter("ONE", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    assert_false(filter_leaves_body(one)); /* another one now */
    apr_hook_debug_current = NULL;
}

static int teardown(void **state)
{
    world *w = *state;

    apr_hook_global_pool = NULL;
    apr_pool_destroy(w->pool);
    return 0;
}

static const char *names_from(world *w, const ap_filter_t *f)
{
    const char *names = "";

    for (; f; f = f->next)
        names = apr_pstrcat(w->pool, names, *names ? " " : "", f->frec->name, NULL);
    return names;
}

static void add(request_rec *r, const char *name)
{
    assert_non_null(ap_add_output_filter(name, NULL, r, r->connection));
}

static void pass(world *w, ap_filter_t *f, int with_eos)
{
    apr_bucket_brigade *bb = apr_brigade_create(w->pool, w->c.bucket_alloc);

    if (with_eos)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(w->c.bucket_alloc));
    trace[0] = '\0';
    assert_int_equal(ap_pass_brigade(f, bb), APR_SUCCESS);
    apr_brigade_destroy(bb);
}

static void names_are_folded(void **state)
{
    ap_filter_rec_t *frec = ap_get_output_filter_handle("rEs1");

    assert_non_null(frec);
    assert_string_equal(frec->name, "res1");
    assert_null(ap_get_output_filter_handle("res"));
    assert_null(ap_get_input_filter_handle("res1"));
    assert_ptr_equal(
        ap_register_output_filter_protocol("RES1", tracing_filter, NULL, AP_FTYPE_PROTOCOL, 5),
        frec);
    assert_int_equal(frec->ftype, AP_FTYPE_PROTOCOL);
    assert_int_equal(frec->proto_flags, 5);
}

static void many_names_are_found(void **state)
{
    world *w = *state;
    ap_filter_rec_t *frecs[500];

    for (int i = 0; i < 500; i++) {
        frecs[i] = ap_register_output_filter(apr_psprintf(w->pool, "filter%d", i), tracing_filter,
                                             NULL, AP_FTYPE_RESOURCE);
    }
    for (int i = 0; i < 500; i++) {
        assert_ptr_equal(ap_get_output_filter_handle(apr_psprintf(w->pool, "FILTER%d", i)),
                         frecs[i]);
    }
}

static void registry_ends_with_its_pool(void **state)
{
    apr_pool_t *sub, *outer = apr_hook_global_pool;

    (void)state;
    assert_non_null(ap_get_output_filter_handle("set"));
    apr_pool_clear(outer);
    assert_null(ap_get_output_filter_handle("set"));
    apr_pool_create(&sub, outer);
    apr_hook_global_pool = sub;
    ap_register_output_filter("set", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    assert_non_null(ap_get_output_filter_handle("set"));
    apr_pool_destroy(sub);
    assert_null(ap_get_output_filter_handle("set"));
    apr_hook_global_pool = outer;
}

/* Each line: filters in the order of their addition, then the chain from each entry point. */
static const struct order_case {
    const char *add[8], *content, *proto, *conn;
} order_cases[] = {
    {{NULL}, "net", "net", "net"},
    {{"res1", "res2", "set"}, "res1 res2 set net", "net", "net"},
    {{"set", "res2", "res1"}, "res2 res1 set net", "net", "net"},
    {{"proto"}, "proto net", "proto net", "net"},
    {{"proto", "res1"}, "res1 proto net", "proto net", "net"},
    {{"res1", "proto"}, "res1 proto net", "proto net", "net"},
    {{"res1", "code", "proto"}, "res1 proto code net", "proto code net", "net"},
    {{"conn"}, "conn net", "conn net", "conn net"},
    {{"res1", "conn"}, "res1 conn net", "conn net", "conn net"},
    {{"proto", "conn"}, "proto conn net", "proto conn net", "conn net"},
    {{"res1", "proto", "conn", "res2", "code"},
     "res1 res2 proto code conn net",
     "proto code conn net",
     "conn net"},
    {{"conn", "proto", "set", "res1"}, "res1 set proto conn net", "proto conn net", "conn net"},
};

static void order_is_by_type_then_time(void **state)
{
    world *w = *state;

    for (size_t i = 0; i < sizeof order_cases / sizeof *order_cases; i++) {
        const struct order_case *t = &order_cases[i];

        w->c.output_filters = NULL;
        ap_add_output_filter("net", NULL, NULL, &w->c);
        enter(&w->r, &w->c);
        for (int n = 0; t->add[n]; n++)
            add(&w->r, t->add[n]);
        assert_string_equal(names_from(w, w->r.output_filters), t->content);
        assert_string_equal(names_from(w, w->r.proto_output_filters), t->proto);
        assert_string_equal(names_from(w, w->c.output_filters), t->conn);
    }
}

static void removal_keeps_the_entry_points(void **state)
{
    static const char *const all[] = {"res1", "set", "proto", "code", "conn"};
    static const char *const left[][3] = {
        {"set proto code conn net", "proto code conn net", "conn net"},
        {"res1 proto code conn net", "proto code conn net", "conn net"},
        {"res1 set code conn net", "code conn net", "conn net"},
        {"res1 set proto conn net", "proto conn net", "conn net"},
    };
    world *w = *state;

    for (int i = 0; i < 4; i++) {
        ap_filter_t *f;

        w->c.output_filters = NULL;
        ap_add_output_filter("net", NULL, NULL, &w->c);
        enter(&w->r, &w->c);
        for (int n = 0; n < 5; n++)
            add(&w->r, all[n]);
        for (f = w->r.output_filters; strcmp(f->frec->name, all[i]); f = f->next) {
        }
        ap_remove_output_filter(f);
        assert_string_equal(names_from(w, w->r.output_filters), left[i][0]);
        assert_string_equal(names_from(w, w->r.proto_output_filters), left[i][1]);
        assert_string_equal(names_from(w, w->c.output_filters), left[i][2]);
    }
    assert_int_equal(ap_remove_output_filter_byhandle(w->r.output_filters, "PROTO"), APR_SUCCESS);
    assert_int_equal(ap_remove_output_filter_byhandle(w->r.output_filters, "proto"), APR_NOTFOUND);
    assert_int_equal(ap_remove_output_filter_byhandle(w->r.output_filters, "none"), APR_NOTFOUND);
    assert_string_equal(names_from(w, w->r.output_filters), "res1 set conn net");
}

static void the_only_protocol_filter_goes(void **state)
{
    world *w = *state;

    add(&w->r, "proto");
    ap_remove_output_filter(w->r.output_filters);
    assert_string_equal(names_from(w, w->r.output_filters), "net");
    assert_string_equal(names_from(w, w->r.proto_output_filters), "net");
}

static void a_running_filter_may_leave(void **state)
{
    world *w = *state;

    add(&w->r, "res1");
    add(&w->r, "leave");
    pass(w, w->r.output_filters, 0);
    assert_string_equal(trace, "res1 leave net ");
    pass(w, w->r.output_filters, 0);
    assert_string_equal(trace, "res1 net ");
}

static void a_subrequest_goes_before(void **state)
{
    world *w = *state;

    add(&w->r, "res1");
    add(&w->r, "proto");
    w->sub.output_filters = w->r.output_filters;
    w->sub.proto_output_filters = w->r.proto_output_filters;
    add(&w->sub, "set");
    add(&w->sub, "res2");
    assert_string_equal(names_from(w, w->sub.output_filters), "res2 set res1 proto net");
    assert_string_equal(names_from(w, w->r.output_filters), "res1 proto net");
    ap_remove_output_filter(w->sub.output_filters);
    assert_string_equal(names_from(w, w->sub.output_filters), "set res1 proto net");
}

static void content_needs_a_request(void **state)
{
    world *w = *state;

    assert_non_null(ap_add_output_filter("conn", NULL, NULL, &w->c));
    assert_null(w->c.output_filters->r);
    assert_string_equal(names_from(w, w->c.output_filters), "conn net");
}

static void the_end_is_seen_by_all_that_wait_for_it(void **state)
{
    world *w = *state;
    request_rec *redirected = apr_pmemdup(w->pool, &w->r, sizeof w->r);

    redirected->prev = &w->r;
    add(redirected, "res1");
    pass(w, redirected->output_filters, 0);
    assert_int_equal(redirected->eos_sent, 0);
    pass(w, redirected->output_filters, 1);
    assert_int_equal(redirected->eos_sent, 1);
    assert_int_equal(w->r.eos_sent, 1);
}

static void saved_brigades_are_joined(void **state)
{
    world *w = *state;
    ap_filter_t *f = ap_add_output_filter("res1", NULL, &w->r, &w->c);
    apr_bucket_brigade *saved = NULL, *bb = apr_brigade_create(w->pool, w->c.bucket_alloc);
    char text[] = "passing", out[32];
    apr_size_t len = sizeof out;

    for (int i = 0; i < 2; i++) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create(text, 7, w->c.bucket_alloc));
        assert_int_equal(ap_save_brigade(f, &saved, &bb, w->pool), APR_SUCCESS);
        assert_true(APR_BRIGADE_EMPTY(bb));
    }
    memset(text, 'x', 7); /* what was set aside does not depend on it any more */
    assert_int_equal(apr_brigade_flatten(saved, out, &len), APR_SUCCESS);
    assert_int_equal(len, 14);
    assert_memory_equal(out, "passingpassing", 14);
}

static void chains_are_of_declared_filters(void **state)
{
    static module m = {.name = "mod_declared.c"};
    world *w = *state;
    ap_filter_rec_t *known, *unknown;
    ap_filter_t *f;

    apr_hook_debug_current = m.name;
    known = ap_register_output_filter("known", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    apr_hook_debug_current = "mod_undeclared.c";
    unknown = ap_register_output_filter("unknown", tracing_filter, NULL, AP_FTYPE_RESOURCE);
    w->c.output_filters = NULL;
    enter(&w->r, &w->c);
    assert_true(filter_chain_is_declared(w->r.output_filters));
    ap_add_output_filter_handle(known, NULL, &w->r, &w->c);
    assert_false(filter_chain_is_declared(w->r.output_filters));
    brg_cache_declare(&m, NULL);
    filter_declarations_changed();
    for (int again = 0; again < 2; again++) {
        assert_true(filter_chain_is_declared(w->r.output_filters));
        f = ap_add_output_filter_handle(unknown, NULL, &w->r, &w->c);
        assert_false(filter_chain_is_declared(w->r.output_filters));
        assert_false(filter_chain_is_declared(f));
        ap_remove_output_filter(f);
    }
    for (int i = 0; i < 20; i++) { /* more than are kept */
        ap_add_output_filter_handle(known, NULL, &w->r, &w->c);
        assert_true(filter_chain_is_declared(w->r.output_filters));
        assert_true(filter_chain_is_declared(w->r.output_filters));
    }
    ap_add_output_filter_handle(unknown, NULL, &w->r, &w->c);
    assert_false(filter_chain_is_declared(w->r.output_filters));
}

static void the_end_of_a_chain_answers(void **state)
{
    world *w = *state;
    apr_bucket_brigade *bb = apr_brigade_create(w->pool, w->c.bucket_alloc);

    assert_int_equal(ap_pass_brigade(NULL, bb), AP_NOBODY_WROTE);
    assert_int_equal(ap_get_brigade(NULL, bb, AP_MODE_READBYTES, APR_BLOCK_READ, 1),
                     AP_NOBODY_READ);
}

#define CHAIN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAIN_TEST(bodies_left_alone),
        CHAIN_TEST(names_are_folded),
        CHAIN_TEST(many_names_are_found),
        CHAIN_TEST(order_is_by_type_then_time),
        CHAIN_TEST(removal_keeps_the_entry_points),
        CHAIN_TEST(the_only_protocol_filter_goes),
        CHAIN_TEST(a_running_filter_may_leave),
        CHAIN_TEST(a_subrequest_goes_before),
        CHAIN_TEST(content_needs_a_request),
        CHAIN_TEST(the_end_is_seen_by_all_that_wait_for_it),
        CHAIN_TEST(saved_brigades_are_joined),
        CHAIN_TEST(chains_are_of_declared_filters),
        CHAIN_TEST(the_end_of_a_chain_answers),
        CHAIN_TEST(registry_ends_with_its_pool),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
