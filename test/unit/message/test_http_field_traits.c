/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of fields, against the lists of the RFCs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <ctype.h>
#include "http_field_traits.h"

static unsigned has(const char *name, unsigned wanted)
{
    return http_field_traits_of(name, strlen(name), wanted);
}

static unsigned traits(const char *name)
{
    return has(name, ~0u);
}

/* Exactly these names of all that the table has have the trait, in any case of letters. */
static void assert_have(unsigned trait, const char *const *name, size_t n)
{
    static const char *const all[] = {"te",
                                      "uri",
                                      "age",
                                      "trailer",
                                      "upgrade",
                                      "expires",
                                      "location",
                                      "connection",
                                      "keep-alive",
                                      "set-cookie",
                                      "set-cookie2",
                                      "destination",
                                      "content-md5",
                                      "content-type",
                                      "content-range",
                                      "last-modified",
                                      "content-length",
                                      "proxy-connection",
                                      "content-encoding",
                                      "content-language",
                                      "content-location",
                                      "transfer-encoding",
                                      "proxy-authenticate",
                                      "proxy-authorization",
                                      "proxy-authentication-info"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char upper[32] = "";
        int listed = 0;

        for (size_t k = 0; k < n; k++)
            listed |= !strcmp(name[k], all[i]);
        for (size_t k = 0; all[i][k]; k++)
            upper[k] = (char)toupper((unsigned char)all[i][k]);
        assert_int_equal(has(all[i], trait) != 0, listed);
        assert_int_equal(traits(all[i]) & trait, has(all[i], trait));
        assert_int_equal(traits(upper), traits(all[i]));
    }
}

#define HAVE(trait, ...)                                   \
    assert_have(trait, (const char *const[]){__VA_ARGS__}, \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void test_fields_of_a_connection(void **state)
{
    HAVE(HTTP_FIELD_OF_CONNECTION, "connection", "keep-alive", "proxy-connection",
         "transfer-encoding", "upgrade");
    HAVE(HTTP_FIELD_HOP_BY_HOP, "connection", "keep-alive", "proxy-connection", "transfer-encoding",
         "upgrade", "te", "trailer");
}

static void test_fields_of_caches(void **state)
{
    HAVE(HTTP_FIELD_NOT_STORED, "connection", "keep-alive", "proxy-connection", "te",
         "transfer-encoding", "upgrade", "trailer", "proxy-authenticate", "proxy-authorization",
         "proxy-authentication-info", "age");
    HAVE(HTTP_FIELD_KEPT_BY_304, "content-length", "content-encoding", "content-range",
         "content-md5", "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding",
         "trailer", "upgrade", "proxy-authenticate", "proxy-authentication-info", "set-cookie",
         "set-cookie2", "age");
}

static void test_fields_of_bodies_and_proxies(void **state)
{
    HAVE(HTTP_FIELD_OF_BODY, "content-encoding", "content-language", "content-length",
         "content-location", "content-md5", "content-range", "content-type", "expires",
         "last-modified", "transfer-encoding");
    HAVE(HTTP_FIELD_URL, "uri", "location", "destination", "content-location");
    HAVE(HTTP_FIELD_COOKIE, "set-cookie");
}

/* Names that begin or end alike, that are longer than all, and that have a length of their own. */
static void test_other_names(void **state)
{
    static const char *const none[] = {"t",
                                       "ta",
                                       "tea",
                                       "x",
                                       "agx",
                                       "ages",
                                       "connectiox",
                                       "content-mdx",
                                       "keep-alivf",
                                       "server",
                                       "date",
                                       "etag",
                                       "cache-control",
                                       "transfer-encodinh",
                                       "set-cookie3",
                                       "proxy-authentication-info2",
                                       "a-name-that-is-longer-than-all-of-them"};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(traits(none[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_of_a_connection),
        cmocka_unit_test(test_fields_of_caches),
        cmocka_unit_test(test_fields_of_bodies_and_proxies),
        cmocka_unit_test(test_other_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
