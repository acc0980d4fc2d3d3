/* SPDX-License-Identifier: Apache-2.0 */
/* Noise in targets and cookies: what is not in the key of a stored answer, and goes to no backend. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "cached_private.h"
#include "script_vars.h"
#include "test_pool.h"
#include "test_request.h"

/* Names, or patterns, with blanks between them. */
static apr_array_header_t *list(const char *words)
{
    apr_array_header_t *all = apr_array_make(test_pool, 4, sizeof(const char *));

    while (*words)
        APR_ARRAY_PUSH(all, const char *) = ap_getword_conf(test_pool, &words);
    return all;
}

static void patterns_match_whole_names(void **state)
{
    const apr_array_header_t *patterns = list("utm_* gclid a?c");

    assert_true(cached_name_is(patterns, "utm_source", 10));
    assert_true(cached_name_is(patterns, "utm_", 4));
    assert_true(cached_name_is(patterns, "gclid=", 5));
    assert_true(cached_name_is(patterns, "abc", 3));
    assert_false(cached_name_is(patterns, "gclid2", 6));
    assert_false(cached_name_is(patterns, "my_utm_source", 13));
    assert_false(cached_name_is(patterns, "UTM_source", 10));
    assert_false(cached_name_is(patterns, "ac", 2));
}

static void without_patterns_no_name_is_meant(void **state)
{
    assert_false(cached_name_is(NULL, "a", 1));
    assert_false(cached_name_is(list(""), "a", 1));
    assert_false(cached_cookie_name_is(NULL, "a", 1));
}

static void long_names_are_no_noise(void **state)
{
    char name[128];

    memset(name, 'a', sizeof name);
    assert_true(cached_name_is(list("a*"), name, 127));
    assert_false(cached_name_is(list("a*"), name, 128));
}

static void parameters_are_sorted_by_name(void **state)
{
    static const struct {
        const char *query, *sorted;
    } cases[] = {{"", ""},
                 {"a=1", "a=1"},
                 {"b=1&a=2", "a=2&b=1"},
                 {"ab=1&a=2", "a=2&ab=1"},
                 {"a=2&a=1", "a=2&a=1"}, /* one name: their order may mean something */
                 {"b=1&a=2&b=0&a=1", "a=2&a=1&b=1&b=0"},
                 {"b&a", "a&b"},
                 {"a=1&&b=2&", "a=1&b=2"},
                 {"&&", ""},
                 {"=x&a", "=x&a"},
                 {"a=z&a=y&A=1", "A=1&a=z&a=y"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cached_query_sorted(test_pool, cases[i].query), cases[i].sorted);
}

static const char *key(const cached_server *s, const char *path, const char *query)
{
    return cached_query_text(test_pool, s, path, query);
}

static void a_target_without_noise_is_its_own_key(void **state)
{
    const cached_server s = {0};

    assert_string_equal(key(&s, "/a", NULL), "/a");
    assert_string_equal(key(&s, "/a", ""), "/a?");
    assert_string_equal(key(&s, "/a;x=1", "b=1&a=2&"), "/a;x=1?b=1&a=2&");
}

static void queries_may_not_count_at_all(void **state)
{
    const cached_server s = {.ignore_query = CACHED_ON};

    assert_string_equal(key(&s, "/a", "b=1"), "/a");
    assert_string_equal(key(&s, "/a", NULL), "/a");
}

static void ignored_parameters_leave_the_key(void **state)
{
    const cached_server s = {.ignore_params = list("utm_* ref")};

    assert_string_equal(key(&s, "/a", "utm_source=x&id=1&ref"), "/a?id=1");
    assert_string_equal(key(&s, "/a", "id=1&utm_source=x&b=2"), "/a?id=1&b=2");
    assert_string_equal(key(&s, "/a", "reference=1"), "/a?reference=1");
    assert_string_equal(key(&s, "/a", "id=utm_x"), "/a?id=utm_x");
}

static void a_query_of_noise_alone_is_none(void **state)
{
    const cached_server params = {.ignore_params = list("utm_*")};
    const cached_server sessions = {.ignore_sessions = list("sid")};

    assert_string_equal(key(&params, "/a", "utm_a=1&utm_b=2"), "/a");
    assert_string_equal(key(&params, "/a", ""), "/a");
    assert_string_equal(key(&sessions, "/a", "sid=1"), "/a?"); /* as Apache has it */
}

static void sessions_leave_path_and_query(void **state)
{
    const cached_server s = {.ignore_sessions = list("jsessionid sid")};

    assert_string_equal(key(&s, "/a;jsessionid=12", "x=1&sid=3"), "/a?x=1");
    assert_string_equal(key(&s, "/a;v=1;sid=12", NULL), "/a;v=1");
    assert_string_equal(key(&s, "/a;sid=1/b", NULL), "/a;sid=1/b");
    assert_string_equal(key(&s, "/a;sid", "sid"), "/a;sid?sid"); /* no value, no session */
    assert_string_equal(key(&s, "/a", "siding=1&SID=2"), "/a?siding=1&SID=2");
}

static void what_is_left_is_sorted(void **state)
{
    const cached_server s = {.ignore_params = list("utm_*"), .sort_query = CACHED_ON};

    assert_string_equal(key(&s, "/a", "b=1&utm_x=0&a=2"), "/a?a=2&b=1");
}

static request_rec *request(const char *args, const char *filename)
{
    request_rec *r = test_request(test_pool);

    r->unparsed_uri = apr_pstrcat(test_pool, "/page?", args, NULL);
    r->parsed_uri.path = (char *)"/page";
    r->parsed_uri.query = apr_pstrdup(test_pool, args);
    r->args = apr_pstrdup(test_pool, args);
    r->filename = apr_pstrdup(test_pool, filename);
    return r;
}

static const char *left_of(request_rec *r)
{
    return apr_table_get(r->notes, SCRIPT_URI_NOTE);
}

static void no_backend_gets_noise(void **state)
{
    const cached_server s = {.ignore_params = list("utm_*")};
    request_rec *r = request("utm_a=1&id=2", "proxy:http://b/page?utm_a=1&id=2");

    cached_noise_leave(r, r, &s);
    assert_string_equal(r->args, "id=2");
    assert_string_equal(r->filename, "proxy:http://b/page?id=2");
    assert_string_equal(left_of(r), "/page?id=2");
}

static void a_question_mark_goes_with_the_last_parameter(void **state)
{
    const cached_server s = {.ignore_params = list("utm_*")};
    request_rec *r = request("utm_a=1", "proxy:http://b/page?utm_a=1");

    cached_noise_leave(r, r, &s);
    assert_null(r->args);
    assert_string_equal(r->filename, "proxy:http://b/page");
    assert_string_equal(left_of(r), "/page");
}

static void files_keep_their_names(void **state)
{
    const cached_server s = {.ignore_params = list("utm_*")};
    request_rec *r = request("utm_a=1", "/srv/page?utm_a=1"),
                *other = request("utm_a=1", "proxy:http://b/x");

    cached_noise_leave(r, r, &s);
    assert_string_equal(r->filename, "/srv/page?utm_a=1");
    cached_noise_leave(other, other, &s);
    assert_string_equal(other->filename, "proxy:http://b/x");
}

static void without_patterns_the_target_stays(void **state)
{
    const cached_server s = {0};
    request_rec *r = request("utm_a=1", "proxy:http://b/page?utm_a=1");

    cached_noise_leave(r, r, &s);
    assert_string_equal(r->args, "utm_a=1");
    assert_string_equal(r->filename, "proxy:http://b/page?utm_a=1");
    assert_null(left_of(r));
}

static void the_host_of_an_absolute_target_leaves(void **state)
{
    const cached_server s = {0};
    request_rec *r = request("b=1", "/srv/page");

    r->unparsed_uri = (char *)"http://www.example.com/page?b=1";
    cached_noise_leave(r, r, &s);
    assert_string_equal(left_of(r), "/page?b=1");
}

static int cookies(const char *patterns, const char *field)
{
    return cached_cookie_is(list(patterns), field, strlen(field));
}

static void cookies_are_found_by_name(void **state)
{
    assert_true(cookies("sid", "sid=1"));
    assert_true(cookies("sid", "a=1; sid=2; b=3"));
    assert_true(cookies("sid", "a=1;\tsid"));
    assert_true(cookies("wp_*", "a=1, wp_user=2")); /* of two fields */
    assert_true(cookies("x sid", "sid"));
    assert_false(cookies("sid", "a=sid; b=1"));
    assert_false(cookies("sid", "xsid=1; sidx=2"));
    assert_false(cookies("sid", ""));
    assert_false(cookies("sid", " ; ;,"));
}

static void cookies_are_named_as_php_reads_them(void **state)
{
    assert_true(cookies("my_sid", "my.sid=1"));
    assert_true(cookies("my_sid", "my sid=1"));
    assert_true(cookies("my_sid", "my[sid=1"));
    assert_true(cookies("my.sid", "my.sid=1"));
    assert_false(cookies("my_sid", "my-sid=1"));
}

static void a_cookie_too_long_to_be_tried_is_meant(void **state)
{
    char field[200];

    memset(field, 'a', sizeof field);
    field[sizeof field - 1] = '\0';
    assert_true(cookies("sid", field));
    assert_false(cookies("", field));
    field[127] = '=';
    assert_false(cookies("sid", field));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(patterns_match_whole_names),
        TEST_WITH_POOL(without_patterns_no_name_is_meant),
        TEST_WITH_POOL(long_names_are_no_noise),
        TEST_WITH_POOL(parameters_are_sorted_by_name),
        TEST_WITH_POOL(a_target_without_noise_is_its_own_key),
        TEST_WITH_POOL(queries_may_not_count_at_all),
        TEST_WITH_POOL(ignored_parameters_leave_the_key),
        TEST_WITH_POOL(a_query_of_noise_alone_is_none),
        TEST_WITH_POOL(sessions_leave_path_and_query),
        TEST_WITH_POOL(what_is_left_is_sorted),
        TEST_WITH_POOL(no_backend_gets_noise),
        TEST_WITH_POOL(a_question_mark_goes_with_the_last_parameter),
        TEST_WITH_POOL(files_keep_their_names),
        TEST_WITH_POOL(without_patterns_the_target_stays),
        TEST_WITH_POOL(the_host_of_an_absolute_target_leaves),
        TEST_WITH_POOL(cookies_are_found_by_name),
        TEST_WITH_POOL(cookies_are_named_as_php_reads_them),
        TEST_WITH_POOL(a_cookie_too_long_to_be_tried_is_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
