/* SPDX-License-Identifier: Apache-2.0 */
/* What may be stored, for how long it is fresh, and how it may be used: RFC 9111, section by section. */
#include "freshness.h"
#include "test_heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define NOW apr_time_from_sec(1000000000) /* the date of DATE */
#define DATE "Date: Sun, 09 Sep 2001 01:46:40 GMT"
#define AT(hms) "Sun, 09 Sep 2001 " hms " GMT"

typedef struct case_store {
    const char *section, *method, *request;
    int code;
    const char *response;
    fresh_why why;
} case_store;

static const case_store stored[] = {
    {"3 fresh", "GET", "", 200, "Cache-Control: max-age=3600", FRESH_STORE},
    {"3 explicit, any status", "GET", "", 299, "Cache-Control: max-age=3600", FRESH_STORE},
    {"3 explicit 204", "GET", "", 204, "Cache-Control: max-age=3600", FRESH_STORE},
    {"3 explicit 499", "GET", "", 499, "Cache-Control: max-age=3600", FRESH_STORE},
    {"3 explicit 599", "GET", "", 599, "Cache-Control: max-age=3600", FRESH_STORE},
    {"3 explicit 503", "GET", "", 503, "Cache-Control: s-maxage=5", FRESH_STORE},
    {"3 no word about time", "GET", "", 200, DATE, FRESH_WHY_NO_FRESHNESS},
    {"1.2.2 blank before =", "GET", "", 200, "Cache-Control: max-age =3600",
     FRESH_WHY_NO_FRESHNESS},
    {"3 validator alone", "GET", "", 200, "ETag: \"a\"", FRESH_STORE},
    {"3 302 by a guess", "GET", "", 302, "ETag: \"a\"", FRESH_WHY_NO_FRESHNESS},
    {"3 302 explicit", "GET", "", 302, "Cache-Control: max-age=5", FRESH_STORE},
    {"3 500 by a guess", "GET", "", 500, "ETag: \"a\"", FRESH_WHY_NO_FRESHNESS},
    {"3 method", "POST", "", 200, "Cache-Control: max-age=3600", FRESH_WHY_METHOD},
    {"3 HEAD alone", "HEAD", "", 200, "Cache-Control: max-age=3600", FRESH_WHY_METHOD},
    {"RFC 10008", "QUERY", "", 200, "Cache-Control: max-age=3600", FRESH_STORE},
    {"3 method is in upper case", "get", "", 200, "Cache-Control: max-age=3600", FRESH_WHY_METHOD},
    {"3 final", "GET", "", 103, "Cache-Control: max-age=3600", FRESH_WHY_STATUS},
    {"4.3.4 304 by itself", "GET", "", 304, "Cache-Control: max-age=3600", FRESH_WHY_STATUS},
    {"5.2.2.5", "GET", "", 200, "Cache-Control: no-store, max-age=9", FRESH_WHY_NO_STORE},
    {"5.2.2.5 any case", "GET", "", 200, "Cache-Control: No-StOrE, max-age=9", FRESH_WHY_NO_STORE},
    {"5.2.2.3 understood", "GET", "", 200, "Cache-Control: no-store, must-understand, max-age=9",
     FRESH_STORE},
    {"5.2.2.3 not understood", "GET", "", 299, "Cache-Control: must-understand, max-age=9",
     FRESH_WHY_UNKNOWN_STATUS},
    {"5.2.2.7", "GET", "", 200, "Cache-Control: private, max-age=9", FRESH_WHY_PRIVATE},
    {"5.2.2.7 of a field", "GET", "", 200, "Cache-Control: private=\"a\", max-age=9", FRESH_STORE},
    {"5.2.1.5", "GET", "Cache-Control: no-store", 200, "Cache-Control: max-age=9",
     FRESH_WHY_REQUEST_NO_STORE},
    {"3.5", "GET", "Authorization: x", 200, "Cache-Control: max-age=9", FRESH_WHY_AUTHORIZATION},
    {"3.5 public", "GET", "Authorization: x", 200, "Cache-Control: max-age=9, public", FRESH_STORE},
    {"3.5 s-maxage", "GET", "Authorization: x", 200, "Cache-Control: s-maxage=9", FRESH_STORE},
    {"3.5 must-revalidate", "GET", "Authorization: x", 200,
     "Cache-Control: max-age=9, must-revalidate", FRESH_STORE},
    {"7.3 cookies", "GET", "", 200, "Cache-Control: max-age=9|Set-Cookie: a=b", FRESH_WHY_COOKIE},
    {"7.3 public", "GET", "", 200, "Cache-Control: max-age=9, public|Set-Cookie: a=b", FRESH_STORE},
    {"4.1 *", "GET", "", 200, "Cache-Control: max-age=9|Vary: *", FRESH_WHY_VARY_STAR},
    {"4.1 , *", "GET", "", 200, "Cache-Control: max-age=9|Vary: , *", FRESH_WHY_VARY_STAR},
    {"4.1 two lines", "GET", "", 200, "Cache-Control: max-age=9|Vary: |Vary: *",
     FRESH_WHY_VARY_STAR},
    {"4.1 foo, *", "GET", "", 200, "Cache-Control: max-age=9|Vary: Foo, *", FRESH_WHY_VARY_STAR},
    {"4.2.1 stale at once", "GET", "", 200, "Cache-Control: max-age=0", FRESH_WHY_EXPIRED},
    {"4.2.1 with a validator", "GET", "", 200, "Cache-Control: max-age=0|ETag: \"a\"", FRESH_STORE},
    {"5.3 no date", "GET", "", 200, "Expires: 0", FRESH_WHY_EXPIRED},
    {"3.3 206", "GET", "Range: bytes=0-1", 206,
     "Cache-Control: max-age=9|Content-Range: bytes 0-1/5", FRESH_STORE},
    {"3.3 206 without", "GET", "Range: bytes=0-1", 206, "Cache-Control: max-age=9",
     FRESH_WHY_RANGE},
    {"3.3 206 unasked", "GET", "", 206, "Cache-Control: max-age=9|Content-Range: bytes 0-1/5",
     FRESH_WHY_RANGE},
    {"9213 private", "GET", "", 200, "CDN-Cache-Control: private|Cache-Control: max-age=9",
     FRESH_WHY_PRIVATE},
    {"9213 no-store", "GET", "", 200, "CDN-Cache-Control: no-store|Cache-Control: max-age=9",
     FRESH_WHY_NO_STORE},
    {"9213 before no-store", "GET", "", 200, "CDN-Cache-Control: max-age=9|Cache-Control: no-store",
     FRESH_STORE},
    {"9213 no dictionary", "GET", "", 200,
     "CDN-Cache-Control: max-age=9, &&|Cache-Control: no-store", FRESH_WHY_NO_STORE},
    {"9213 another type", "GET", "", 200,
     "CDN-Cache-Control: max-age=\"9\"|Cache-Control: no-store", FRESH_WHY_NO_STORE},
};

static fresh_terms terms_of(const char *method, const char *request, int code, const char *response,
                            fresh_why *why)
{
    test_head q, a;
    fresh_request asked;
    fresh_response answer;
    fresh_policy policy;
    fresh_terms terms;

    fresh_policy_default(&policy);
    fresh_request_read(&asked, test_head_of(&q, 0, method, request));
    fresh_response_read(&answer, test_head_of(&a, code, NULL, response), &policy);
    if (why)
        *why = fresh_may_store(&asked, &answer, &policy);
    fresh_terms_make(&terms, &answer, &policy, NOW, NOW);
    return terms;
}

static void test_what_is_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        fresh_why why;

        terms_of(stored[i].method, stored[i].request, stored[i].code, stored[i].response, &why);
        if (why != stored[i].why)
            fail_msg("%s: %s, not %s", stored[i].section, fresh_why_text(why),
                     fresh_why_text(stored[i].why));
    }
}

static const struct {
    const char *section, *response;
    uint32_t lifetime, age;
} lifetimes[] = {
    {"5.2.2.1", "Cache-Control: max-age=3600", 3600, 0},
    {"5.2.2.1 any case", "Cache-Control: MaX-aGe=3600", 3600, 0},
    {"5.2 quoted", "Cache-Control: max-age=\"3600\"", 3600, 0},
    {"5.2 in another's quotes", "Cache-Control: extension=\"max-age=3600\", max-age=1", 1, 0},
    {"5.2 behind", "Cache-Control: max-age=1, extension=\"max-age=3600\"", 1, 0},
    {"5.2 escapes in quotes", "Cache-Control: x=\"\\\", max-age=3600\", max-age=1", 1, 0},
    {"5.2 single quotes", "Cache-Control: max-age='3600'|ETag: \"a\"", 0, 0},
    {"1.2.2 a100", "Cache-Control: max-age=a100|ETag: \"a\"", 0, 0},
    {"1.2.2 100a", "Cache-Control: max-age=100a", 0, 0},
    {"1.2.2 -1", "Cache-Control: max-age=-100", 0, 0},
    {"1.2.2 0.5", "Cache-Control: max-age=3600.5", 0, 0},
    {"1.2.2 blank before", "Cache-Control: max-age =1", 3600, 0},
    {"1.2.2 blank behind", "Cache-Control: max-age= 3600", 0, 0},
    {"1.2.2 zeros", "Cache-Control: max-age=003600", 3600, 0},
    {"1.2.2 2^31", "Cache-Control: max-age=2147483648", 2147483648u, 0},
    {"1.2.2 more", "Cache-Control: max-age=99999999999999999999999", 2147483648u, 0},
    {"4.2.1 twice", "Cache-Control: max-age=1800, max-age=1", 1, 0},
    {"4.2.1 twice, lines", "Cache-Control: max-age=1|Cache-Control: max-age=1800", 1, 0},
    {"5.2.2.10", "Cache-Control: max-age=1, s-maxage=3600", 3600, 0},
    {"5.2.2.10 lines", "Cache-Control: max-age=3600|Cache-Control: s-maxage=1", 1, 0},
    {"5.3", DATE "|Expires: " AT("02:46:40"), 3600, 0},
    {"5.3 no Date", "Expires: " AT("02:46:40"), 3600, 0},
    {"5.3 wrong Date", "Date: foo|Expires: " AT("02:46:40"), 3600, 0},
    {"5.3 past", DATE "|Expires: " AT("00:46:40"), 0, 0},
    {"5.3 present", DATE "|Expires: " AT("01:46:40"), 0, 0},
    {"5.3 fast clock", "Date: " AT("03:46:40") "|Expires: " AT("02:46:40"), 0, 0},
    {"5.3 below max-age", "Cache-Control: max-age=60|" DATE "|Expires: 0", 60, 0},
    {"5.3 below max-age=0", "Cache-Control: max-age=0|" DATE "|Expires: " AT("02:46:40"), 0, 0},
    {"4.2.2 a tenth", DATE "|Last-Modified: " AT("00:06:40"), 600, 0},
    {"4.2.2 later than Date", DATE "|Last-Modified: " AT("03:06:40"), 0, 0},
    {"4.2.2 a day at most", DATE "|Last-Modified: Sun, 09 Sep 1990 01:46:40 GMT", 86400, 0},
    {"4.2.3 Age", "Cache-Control: max-age=60|Age: 30", 60, 30},
    {"5.1 list", "Cache-Control: max-age=60|Age: 7200,0", 60, 7200},
    {"5.1 lines", "Cache-Control: max-age=60|Age: 0|Age: 7200", 60, 0},
    {"5.1 negative", "Cache-Control: max-age=60|Age: -7200", 60, 0},
    {"5.1 no number", "Cache-Control: max-age=60|Age: abc", 60, 0},
    {"5.1 fraction", "Cache-Control: max-age=60|Age: 7200.0", 60, 0},
    {"4.2.3 slow Date", "Cache-Control: max-age=60|Date: " AT("01:46:30"), 60, 10},
    {"4.2.3 the larger one", "Cache-Control: max-age=60|Age: 25|Date: " AT("01:46:30"), 60, 25},
    {"9213 longer", "Cache-Control: max-age=1|CDN-Cache-Control: max-age=3600", 3600, 0},
    {"9213 shorter", "Cache-Control: max-age=3600|CDN-Cache-Control: max-age=1", 1, 0},
    {"9213 2^31", "CDN-Cache-Control: max-age=99999999999", 2147483648u, 0},
    {"9213 above Expires", "CDN-Cache-Control: max-age=60|Expires: 0", 60, 0},
    {"9213 wrong blank", "Cache-Control: max-age=1|CDN-Cache-Control: max-age =100", 1, 0},
    {"9213 extension", "CDN-Cache-Control: foobar, max-age=60", 60, 0},
    {"9213 lines", "CDN-Cache-Control: foobar|CDN-Cache-Control: max-age=60", 60, 0},
    {"9213 the last counts", "CDN-Cache-Control: max-age=5, max-age=60", 60, 0},
};

static void test_lifetimes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lifetimes / sizeof *lifetimes; i++) {
        const fresh_terms terms = terms_of("GET", "", 200, lifetimes[i].response, NULL);

        if (terms.lifetime != lifetimes[i].lifetime || terms.age != lifetimes[i].age)
            fail_msg("%s: fresh for %u, %u old", lifetimes[i].section, terms.lifetime, terms.age);
    }
}

static void test_delay_counts_as_age(void **state)
{
    test_head a;
    fresh_response answer;
    fresh_policy policy;
    fresh_terms terms;

    (void)state;
    fresh_policy_default(&policy);
    fresh_response_read(&answer, test_head_of(&a, 200, NULL, "Cache-Control: max-age=60|Age: 5"),
                        &policy);
    fresh_terms_make(&terms, &answer, &policy, NOW, NOW + apr_time_from_sec(4)); /* 4.2.3 */
    assert_int_equal(terms.age, 9);
    assert_int_equal(fresh_age(&terms, NOW + apr_time_from_sec(6)), 11);
    assert_int_equal(fresh_left(&terms, NOW + apr_time_from_sec(6)), 49);
    assert_int_equal(fresh_left(&terms, NOW + apr_time_from_sec(60)), -5);
}

static const struct {
    const char *section, *response, *request;
    int after; /* milliseconds */
    fresh_use use;
} uses[] = {
    {"4.2", "Cache-Control: max-age=2", "", 1900, FRESH_SERVE},
    {"4.2 over", "Cache-Control: max-age=2", "", 2000, FRESH_VALIDATE},
    {"4.2 Age", "Cache-Control: max-age=3600|Age: 7200", "", 0, FRESH_VALIDATE},
    {"5.2.1.1", "Cache-Control: max-age=3600", "Cache-Control: max-age=0", 0, FRESH_VALIDATE},
    {"5.2.1.1 1", "Cache-Control: max-age=3600", "Cache-Control: max-age=1", 3000, FRESH_VALIDATE},
    {"5.2.1.1 enough", "Cache-Control: max-age=3600", "Cache-Control: max-age=10", 3000,
     FRESH_SERVE},
    {"5.2.1.1 Age", "Cache-Control: max-age=3600|Age: 1800", "Cache-Control: max-age=600", 0,
     FRESH_VALIDATE},
    {"5.2.1.2", "Cache-Control: max-age=1", "Cache-Control: max-stale=1000", 3000,
     FRESH_SERVE_STALE},
    {"5.2.1.2 any", "Cache-Control: max-age=1", "Cache-Control: max-stale", 3000000,
     FRESH_SERVE_STALE},
    {"5.2.1.2 too old", "Cache-Control: max-age=1", "Cache-Control: max-stale=1", 3000,
     FRESH_VALIDATE},
    {"5.2.1.2 forbidden", "Cache-Control: max-age=1, must-revalidate", "Cache-Control: max-stale",
     3000, FRESH_VALIDATE},
    {"5.2.1.3", "Cache-Control: max-age=1500", "Cache-Control: min-fresh=2000", 0, FRESH_VALIDATE},
    {"5.2.1.3 Age", "Cache-Control: max-age=1500|Age: 1000", "Cache-Control: min-fresh=1000", 0,
     FRESH_VALIDATE},
    {"5.2.1.4", "Cache-Control: max-age=3600", "Cache-Control: no-cache", 0, FRESH_VALIDATE},
    {"5.2.1.5", "Cache-Control: max-age=3600", "Cache-Control: no-store", 0, FRESH_FETCH},
    {"5.2.1.7", "Cache-Control: max-age=1", "Cache-Control: only-if-cached", 3000, FRESH_REFUSE},
    {"5.2.1.7 fresh", "Cache-Control: max-age=1", "Cache-Control: only-if-cached", 0, FRESH_SERVE},
    {"5.4", "Cache-Control: max-age=3600", "Pragma: no-cache", 0, FRESH_VALIDATE},
    {"5.4 below Cache-Control", "Cache-Control: max-age=3600", "Pragma: no-cache|Cache-Control: x",
     0, FRESH_SERVE},
    {"5.4 of a response", "Cache-Control: max-age=3600|Pragma: no-cache", "", 0, FRESH_SERVE},
    {"5.2.2.4", "Cache-Control: max-age=3600, no-cache|ETag: \"a\"", "", 0, FRESH_VALIDATE},
    {"5.2.2.4 of a field", "Cache-Control: max-age=3600, no-cache=\"a\"", "", 0, FRESH_SERVE},
    {"5861, 3", "Cache-Control: max-age=1, stale-while-revalidate=5", "", 3000,
     FRESH_SERVE_REFRESH},
    {"5861, 3 over", "Cache-Control: max-age=1, stale-while-revalidate=5", "", 6000,
     FRESH_VALIDATE},
    {"5861, 3 forbidden", "Cache-Control: max-age=1, stale-while-revalidate=5, must-revalidate", "",
     3000, FRESH_VALIDATE},
    {"8246, 2", "Cache-Control: max-age=100, immutable", "Cache-Control: max-age=0", 3000,
     FRESH_SERVE},
    {"8246, 2 stale", "Cache-Control: max-age=1, immutable", "Cache-Control: max-age=0", 3000,
     FRESH_VALIDATE},
    {"3.5", "Cache-Control: max-age=100", "Authorization: a", 0, FRESH_FETCH},
    {"3.5 public", "Cache-Control: max-age=100, public", "Authorization: a", 0, FRESH_SERVE},
    {"9213 no-cache", "CDN-Cache-Control: no-cache|Cache-Control: max-age=9", "", 0,
     FRESH_VALIDATE},
};

static void test_uses(void **state)
{
    fresh_policy policy;

    (void)state;
    fresh_policy_default(&policy);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const fresh_terms terms = terms_of("GET", "", 200, uses[i].response, NULL);
        test_head q;
        fresh_request asked;
        fresh_use use;

        fresh_request_read(&asked, test_head_of(&q, 0, "GET", uses[i].request));
        use = fresh_use_now(&terms, &asked, &policy, NOW + uses[i].after * APR_TIME_C(1000));
        if (use != uses[i].use)
            fail_msg("%s: %d, not %d", uses[i].section, use, uses[i].use);
    }
}

static void test_requests_are_ignored_by_switch(void **state)
{
    const fresh_terms terms = terms_of("GET", "", 200, "Cache-Control: max-age=9", NULL);
    fresh_request asked;
    fresh_policy policy;
    test_head q;

    (void)state;
    fresh_policy_default(&policy);
    policy.ignore_request = 1;
    fresh_request_read(&asked,
                       test_head_of(&q, 0, "GET", "Cache-Control: no-cache|Pragma: no-cache"));
    assert_int_equal(fresh_use_now(&terms, &asked, &policy, NOW), FRESH_SERVE);
    fresh_request_read(&asked, test_head_of(&q, 0, "GET", "Cache-Control: only-if-cached"));
    assert_int_equal(fresh_use_now(NULL, &asked, &policy, NOW), FRESH_REFUSE);
    fresh_request_read(&asked, test_head_of(&q, 0, "GET", ""));
    assert_int_equal(fresh_use_now(NULL, &asked, &policy, NOW), FRESH_FETCH);
}

static const struct {
    const char *section, *response;
    int code, after, served;
} errors[] = {
    {"5861, 4", "Cache-Control: max-age=2, stale-if-error=60", 503, 30, 1},
    {"5861, 4 no answer", "Cache-Control: max-age=2, stale-if-error=60", 0, 30, 1},
    {"5861, 4 over", "Cache-Control: max-age=2, stale-if-error=60", 503, 70, 0},
    {"5861, 4 no error", "Cache-Control: max-age=2, stale-if-error=60", 404, 30, 0},
    {"4.2.4 not said", "Cache-Control: max-age=2", 503, 30, 0},
    {"4.2.4 must-revalidate", "Cache-Control: max-age=2, stale-if-error=60, must-revalidate", 0, 30,
     0},
    {"4.2.4 proxy-revalidate", "Cache-Control: max-age=2, stale-if-error=60, proxy-revalidate", 0,
     30, 0},
    {"4.2.4 no-cache", "Cache-Control: max-age=2, stale-if-error=60, no-cache", 0, 30, 0},
    {"4.2.4 s-maxage", "Cache-Control: stale-if-error=60, s-maxage=2", 0, 30, 0},
};

static void test_errors(void **state)
{
    fresh_policy policy;
    fresh_request asked;
    test_head q;

    (void)state;
    fresh_policy_default(&policy);
    fresh_request_read(&asked, test_head_of(&q, 0, "GET", ""));
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const fresh_terms terms = terms_of("GET", "", 200, errors[i].response, NULL);

        if (fresh_use_on_error(&terms, &asked, &policy, errors[i].code,
                               NOW + apr_time_from_sec(errors[i].after)) != errors[i].served)
            fail_msg("%s", errors[i].section);
    }
}

static void fields_are(const http_field *f, uint32_t n, const char *lines)
{
    char text[1024] = "";

    for (uint32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s: %.*s", i ? "|" : "",
                 (int)f[i].name_len, f[i].name, (int)f[i].value_len, f[i].value);
    assert_string_equal(text, lines);
}

static void test_fields_that_are_stored(void **state)
{
    test_head a;
    fresh_response answer;
    fresh_policy policy;
    http_field out[TEST_FIELDS];
    const char *const ignored[] = {"X-Secret"};

    (void)state;
    fresh_policy_default(&policy);
    policy.ignored_fields = (fresh_names){ignored, 1};
    fresh_response_read(
        &answer,
        test_head_of(
            &a, 200, NULL,
            "Cache-Control: max-age=9, no-cache=\"d, e\"|Connection: a, b|A: 1|B: 2|C: 3|D: 4|"
            "E: 5|Transfer-Encoding: chunked|Age: 4|x-secret: 1|Set-Cookie: a"),
        &policy);
    fields_are(out, fresh_stored_fields(out, &answer, &policy),
               "Cache-Control: max-age=9, no-cache=\"d, e\"|C: 3");
    /* Section 7.3: public says that the rest is for all, not that the cookie is. */
    for (int keep = 0; keep < 2; keep++) {
        policy.keep_cookies = (uint8_t)keep;
        fresh_response_read(
            &answer,
            test_head_of(&a, 200, NULL,
                         "Cache-Control: public, max-age=9|Set-Cookie: a|Set-Cookie2: b"),
            &policy);
        fields_are(out, fresh_stored_fields(out, &answer, &policy),
                   keep ? "Cache-Control: public, max-age=9|Set-Cookie: a|Set-Cookie2: b"
                        : "Cache-Control: public, max-age=9");
    }
}

static void test_a_304_is_merged(void **state)
{
    test_head s, a;
    fresh_policy policy;
    fresh_validators v;
    http_field out[2 * TEST_FIELDS];
    const fresh_head *stored_head, *answer;

    (void)state;
    fresh_policy_default(&policy);
    stored_head =
        test_head_of(&s, 200, NULL, "ETag: \"a\"|Content-Length: 5|X: 1|Y: 2|Content-Type: a|X: 3");
    assert_true(fresh_condition(&v, stored_head)); /* 4.3.1 */
    assert_memory_equal(v.tag, "\"a\"", v.tag_len);
    assert_int_equal(v.modified_len, 0);
    answer = test_head_of(
        &a, 304, NULL,
        "ETag: \"a\"|Content-Length: 0|x: 9|Cache-Control: max-age=5|Connection: Y|Y: 7");
    assert_true(fresh_304_selects(stored_head, answer));
    fields_are(out, fresh_merge(out, stored_head, answer, &policy),
               "Content-Length: 5|Y: 2|Content-Type: a|ETag: \"a\"|x: 9|Cache-Control: max-age=5");
    answer = test_head_of(&a, 304, NULL, "ETag: \"a\"|Content-Type: b|Content-Encoding: gzip");
    fields_are(out, fresh_merge(out, stored_head, answer, &policy),
               "Content-Length: 5|X: 1|Y: 2|X: 3|ETag: \"a\"|Content-Type: b");
    assert_false(
        fresh_304_selects(stored_head, test_head_of(&a, 304, NULL, "ETag: \"b\""))); /* 4.3.4 */
    assert_false(fresh_304_selects(stored_head, test_head_of(&a, 200, NULL, "ETag: \"a\"")));
    assert_true(fresh_304_selects(stored_head, test_head_of(&a, 304, NULL, "")));
    assert_false(fresh_condition(&v, test_head_of(&a, 200, NULL, "Last-Modified: yesterday")));
}

static void test_dates(void **state)
{
    static const char *const same[] = {
        "Sun, 09 Sep 2001 01:46:40 GMT", "SUN, 09 SEP 2001 01:46:40 gmt",
        "Sunday, 09-Sep-01 01:46:40 GMT", "Sun Sep  9 01:46:40 2001"};
    static const char *const wrong[] = {"0",
                                        "",
                                        "-1",
                                        "Sun, 09 Sep 2001 01:46:40 UTC",
                                        "Sun, 09 Sep 2001 01:46:40 +0100",
                                        "Sun 09 Sep 2001 01:46:40 GMT",
                                        "Sun, 09 Sep 01 01:46:40 GMT",
                                        "Sun, 09  Sep  2001 01:46:40 GMT",
                                        "Sun, 09-Sep-2001 01:46:40 GMT",
                                        "Sun, 09 Sep 2001 01.46.40 GMT",
                                        "Sun, 09 Sep 2001 1:46:40 GMT",
                                        "Sun, 31 Feb 2001 01:46:40 GMT",
                                        "Sun, 29 Feb 2001 01:46:40 GMT",
                                        "Sun, 09 Sep 2001 24:46:40 GMT",
                                        "Sun, 09 Sep 1901 01:46:40 GMT"};

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_true(fresh_date(same[i], strlen(same[i]), NOW) == NOW);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (fresh_date(wrong[i], strlen(wrong[i]), NOW))
            fail_msg("%s", wrong[i]);
    assert_true(fresh_date("Thu, 29 Feb 2024 23:59:60 GMT", 29, NOW) ==
                apr_time_from_sec(1709251199));
    assert_true(fresh_date("Thu, 18 Aug 2050 02:01:18 GMT", 29, NOW) ==
                apr_time_from_sec(2544400878));
    for (int i = 0; i < 2; i++) /* with a clock, and without */
        assert_true(fresh_date("Thursday, 18-Aug-50 02:01:18 GMT", 32, i ? NOW : 0) ==
                    apr_time_from_sec(2544400878));
    assert_true(fresh_date("Sunday, 06-Nov-94 08:49:37 GMT", 30, 0) ==
                apr_time_from_sec(784111777));
    /* RFC 9110, 5.6.7: two digits that look more than 50 years ahead */
    assert_true(fresh_date("Sunday, 06-Nov-94 08:49:37 GMT", 30, NOW) ==
                apr_time_from_sec(784111777));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_stored),
        cmocka_unit_test(test_lifetimes),
        cmocka_unit_test(test_delay_counts_as_age),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_requests_are_ignored_by_switch),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_fields_that_are_stored),
        cmocka_unit_test(test_a_304_is_merged),
        cmocka_unit_test(test_dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
