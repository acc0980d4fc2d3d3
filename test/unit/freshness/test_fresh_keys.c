/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, variants, invalidation, ranges, Cache-Status, groups and structured fields, section by section. */
#include "fresh_range.h"
#include "fresh_tell.h"
#include "structured_field.h"
#include "test_heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char room[1024];

static fresh_text text_of(void)
{
    return (fresh_text){room, 0, sizeof room - 1, 0};
}

static const char *end_of(const fresh_text *text)
{
    room[text->len] = 0;
    return room;
}

static void test_keys(void **state)
{
    static const struct {
        const char *scheme, *authority, *path, *base, *key;
        int ignore;
    } cases[] = {
        {"http", "Example.ORG", "/A?b", NULL, "http://example.org/A?b", 0},
        {"http", "a:80", "/", NULL, "http://a/", 0},
        {"https", "a:443", "/", NULL, "https://a/", 0},
        {"http", "a:443", "/", NULL, "http://a:443/", 0},
        {"http", "a:", "/", NULL, "http://a/", 0},
        {"http", "a", "/x?y=1", NULL, "http://a/x", 1},
        {"http", "b", "/x", "http://cache/", "http://cache/x", 0},
    };
    fresh_policy policy;

    (void)state;
    fresh_policy_default(&policy);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fresh_target target = {.scheme = cases[i].scheme,
                                     .authority = cases[i].authority,
                                     .authority_len = strlen(cases[i].authority),
                                     .path = cases[i].path,
                                     .path_len = strlen(cases[i].path),
                                     .base = cases[i].base};
        fresh_text key = text_of();

        policy.ignore_query = (uint8_t)cases[i].ignore;
        fresh_key(&key, &target, &policy);
        assert_string_equal(end_of(&key), cases[i].key);
    }
}

static void test_the_body_of_a_query_counts(void **state)
{
    unsigned char hash[32] = {0xab};
    fresh_target target = {.scheme = "http",
                           .authority = "a",
                           .authority_len = 1,
                           .path = "/",
                           .path_len = 1,
                           .body_hash = hash};
    fresh_policy policy;
    fresh_text key = text_of();

    (void)state; /* RFC 10008 */
    fresh_policy_default(&policy);
    fresh_key(&key, &target, &policy);
    assert_string_equal(
        end_of(&key),
        "http://a/ QUERY ab00000000000000000000000000000000000000000000000000000000000000");
    assert_int_equal(fresh_key_target(key.at, key.len), strlen("http://a/"));
    assert_int_equal(fresh_key_target("http://a/?b", 11), 11);
}

static void test_vary_names(void **state)
{
    static const struct {
        const char *response, *names; /* NULL: "*" */
    } cases[] = {
        {"", ""},
        {"Vary: Foo", "foo"},
        {"Vary: Foo, Bar", "bar,foo"},
        {"Vary: Foo|X: y|Vary: bar, FOO", "bar,foo"},
        {"Vary: *", NULL},
        {"Vary: , *", NULL},
        {"Vary: |Vary: *", NULL},
        {"Vary: Foo, *", NULL},
        {"Vary: a b", NULL},
        {"Vary: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", NULL},
    };

    (void)state; /* 4.1 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_head h;
        fresh_text names = text_of();
        const int rv = fresh_vary_names(&names, test_head_of(&h, 200, NULL, cases[i].response));

        assert_int_equal(rv, cases[i].names ? 0 : -1);
        if (cases[i].names)
            assert_string_equal(end_of(&names), cases[i].names);
    }
}

static void variant(char *to, const char *names, const char *request)
{
    test_head h;
    fresh_text key = text_of();

    fresh_variant(&key, names, strlen(names), test_head_of(&h, 0, "GET", request));
    strcpy(to, end_of(&key));
}

static void test_variants(void **state)
{
    static const struct {
        const char *names, *a, *b;
        int same;
    } cases[] = {
        {"foo", "Foo: 1", "foo: 1", 1},
        {"foo", "Foo: 1", "Foo: 2", 0},
        {"foo", "Foo: 1", "", 0},
        {"foo", "Foo: ", "", 0},
        {"foo", "Foo: 1|Other: 2", "Foo: 1|Other: 3", 1},
        {"bar,foo", "Foo: 1|Bar: a", "Bar: a|Foo: 1", 1},
        {"bar,foo", "Foo: 1|Bar: a", "Foo: 1", 0},
        {"bar,foo", "Foo: 1", "Foo: 1", 1},
        {"foo", "Foo: 1,2", "Foo:  1, 2 ", 1},
        {"foo", "Foo: 1, 2", "Foo: 1|Foo: 2", 1},
        {"foo", "Foo: 1, 2", "Foo: 2, 1", 0},
        {"foo", "Foo: \"a, b\"", "Foo: \"a,b\"", 0},
        {"accept-language", "Accept-Language: en, de", "Accept-Language: de, en", 1},
        {"accept-language", "Accept-Language: en;q=0.5, de", "Accept-Language: de,EN;q=0.50", 1},
        {"accept-language", "Accept-Language: en;q=0.5, de", "Accept-Language: de;q=0.5, en", 0},
        {"accept-encoding", "Accept-Encoding: gzip, br;q=1", "Accept-Encoding: br,gzip;q=1.000", 1},
        {"accept-encoding", "Accept-Encoding: gzip;q=0", "Accept-Encoding: gzip", 0},
        {"accept-encoding", "Accept-Encoding: gzip;x=1", "Accept-Encoding: gzip;x=2", 0},
        {"user-agent", "User-Agent: a, b", "User-Agent: a,b", 0},
        {"cookie", "Cookie: a", "Cookie: a", 1},
    };

    (void)state; /* 4.1 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char a[1024], b[1024];

        variant(a, cases[i].names, cases[i].a);
        variant(b, cases[i].names, cases[i].b);
        if ((strcmp(a, b) == 0) != cases[i].same)
            fail_msg("%s, %s", a, b);
    }
}

static void test_invalidation(void **state)
{
    static const struct {
        const char *method;
        int code, ends;
    } methods[] = {{"POST", 200, 1},    {"PUT", 204, 1},  {"DELETE", 302, 1}, {"M-SEARCH", 200, 1},
                   {"POST", 500, 0},    {"POST", 404, 0}, {"GET", 200, 0},    {"HEAD", 200, 0},
                   {"OPTIONS", 200, 0}, {"QUERY", 200, 0}};
    static const struct {
        const char *value, *path;
    } cases[] = {
        {"/a", "/a"},
        {"http://EXAMPLE.org/a", "/a"},
        {"http://example.org:80/a", "/a"},
        {"//example.org/a", "/a"},
        {"https://example.org/a", ""},
        {"http://example.com/a", ""},
        {"//example.com/a", ""},
        {"http://example.org", "/"},
        {"http://example.org?x", "/?x"},
        {"b", "/dir/b"},
        {"?x", "/dir/file?x"},
        {"", "/dir/file?q"},
        {"../c", "/c"},
        {"./d#e", "/dir/d"},
        {"/a/b/../c/./d", "/a/c/d"},
        {"/../../x", "/x"},
        {"x/..", "/dir/"},
        {"mailto:a@b", ""},
        {"http:/x", ""},
        {"http://example.org@evil/", ""},
    };
    const fresh_target target = {.scheme = "http",
                                 .authority = "example.org",
                                 .authority_len = 11,
                                 .path = "/dir/file?q",
                                 .path_len = 11};

    (void)state; /* 4.4 */
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        assert_int_equal(
            fresh_invalidates(fresh_method_of(methods[i].method, strlen(methods[i].method)),
                              methods[i].code),
            methods[i].ends);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = fresh_invalidated_path(room, sizeof room - 1, &target, cases[i].value,
                                                strlen(cases[i].value));

        room[n] = 0;
        if (strcmp(room, cases[i].path))
            fail_msg("%s: %s", cases[i].value, room);
    }
}

static void test_content_range(void **state)
{
    fresh_range range;
    uint64_t total;

    (void)state; /* RFC 9110, 14.4 */
    assert_int_equal(fresh_content_range("bytes 4-9/10", 12, &range, &total), 0);
    assert_true(range.first == 4 && range.last == 9 && total == 10);
    assert_int_equal(fresh_content_range("bytes 4-9/*", 11, &range, &total), 0);
    assert_true(total == FRESH_LENGTH_UNKNOWN);
    assert_int_equal(fresh_content_range("bytes 4-10/10", 13, &range, &total), -1);
    assert_int_equal(fresh_content_range("bytes */10", 10, &range, &total), -1);
}

static void test_parts(void **state)
{
    test_head a, b;

    (void)state; /* 3.4 */
    assert_true(fresh_parts_combine(test_head_of(&a, 206, NULL, "ETag: \"a\""),
                                    test_head_of(&b, 206, NULL, "ETag: \"a\"")));
    assert_false(fresh_parts_combine(&a.head, test_head_of(&b, 206, NULL, "ETag: W/\"a\"")));
    assert_false(fresh_parts_combine(&a.head, test_head_of(&b, 206, NULL, "")));
}

static void test_cache_status(void **state)
{
    fresh_text out = text_of();

    (void)state; /* RFC 9211, 2 */
    fresh_status_text(&out, &(fresh_status){.name = "brigade", .has_ttl = 1, .ttl = -412});
    assert_string_equal(end_of(&out), "brigade; hit; ttl=-412");
    out = text_of();
    fresh_status_text(&out, &(fresh_status){.name = "a cache",
                                            .fwd = FRESH_FWD_STALE,
                                            .fwd_status = 304,
                                            .stored = 1,
                                            .collapsed = 1,
                                            .key = "a\"b",
                                            .key_len = 3,
                                            .detail = "x"});
    assert_string_equal(
        end_of(&out),
        "\"a cache\"; fwd=stale; fwd-status=304; stored; collapsed; key=\"a\\\"b\"; detail=x");
}

static void test_groups_and_tags(void **state)
{
    static const char value[] = "\"eurovision\";x=1, \"b, c\" , \"d\\\"e\"";
    const char *p = value, *item;
    http_field f = {.name = "Surrogate-Key", .name_len = 13};
    size_t n;

    (void)state; /* RFC 9875, 2 */
    assert_true(fresh_groups_valid(value, sizeof value - 1));
    assert_false(fresh_groups_valid("a, \"b\"", 6));
    assert_false(fresh_groups_valid("\"a\" \"b\"", 7));
    assert_false(fresh_groups_valid("\"a\",", 4));
    assert_true(fresh_group_next(&p, value + sizeof value - 1, &item, &n) && n == 10 &&
                !memcmp(item, "eurovision", 10));
    assert_true(fresh_group_next(&p, value + sizeof value - 1, &item, &n) && n == 4 &&
                !memcmp(item, "b, c", 4));
    assert_true(fresh_group_next(&p, value + sizeof value - 1, &item, &n) && n == 4);
    assert_false(fresh_group_next(&p, value + sizeof value - 1, &item, &n));
    assert_int_equal(fresh_tags_of(&f), FRESH_TAGS_SPACE);
    p = " one two,three ";
    for (int i = 0; i < 3; i++)
        assert_true(fresh_tags_next(FRESH_TAGS_SPACE, &p, p + strlen(p), &item, &n) &&
                    n == (i < 2 ? 3 : 5));
    assert_false(fresh_tags_next(FRESH_TAGS_SPACE, &p, p + strlen(p), &item, &n));
    p = "one two , three";
    assert_true(fresh_tags_next(FRESH_TAGS_COMMA, &p, p + strlen(p), &item, &n) && n == 7);
}

static void test_structured_fields(void **state)
{
    static const struct {
        const char *value;
        int members; /* -1: not valid */
    } dictionaries[] = {
        {"", 0},
        {"a", 1},
        {"a=1, b=\"x\";p=?0, c=(1 2);q", 3},
        {"a=1.5", 1},
        {"a=:aGk=:", 1},
        {"a=@1659578233", 1},
        {"a=%\"f%c3%bc\"", 1},
        {"a=tok/en:x*", 1},
        {"a=-15", 1},
        {"a,", -1},
        {"A=1", -1},
        {"a=1 b", -1},
        {"a=&", -1},
        {"a=1.", -1},
        {"a=1.2345", -1},
        {"a=1234567890123456", -1},
        {"a=\"x", -1},
        {"a=(1", -1},
        {"a=?2", -1},
        {"a=%\"%C3\"", -1},
        {"a=(1,2)", -1},
        {"a=\"\x7f\"", -1},
        {"a =1", -1},
        {"a= 1", -1},
    };

    (void)state; /* RFC 9651, 4.2 */
    for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) {
        sf_cursor at;
        sf_item item;
        const char *key;
        size_t len;
        int n = 0, more;

        sf_begin(&at, dictionaries[i].value, strlen(dictionaries[i].value));
        while ((more = sf_dictionary_next(&at, &key, &len, &item)) > 0)
            n++;
        if ((more < 0 ? -1 : n) != dictionaries[i].members)
            fail_msg("%s", dictionaries[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_the_body_of_a_query_counts),
        cmocka_unit_test(test_vary_names),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_invalidation),
        cmocka_unit_test(test_content_range),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_cache_status),
        cmocka_unit_test(test_groups_and_tags),
        cmocka_unit_test(test_structured_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
