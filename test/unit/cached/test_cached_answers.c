/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are stored: which come without the backend, what they say, and what ends them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_site.h"
#include "test_backend.h"

#define FRESH "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: max-age=100\r\n"

/* A path that no test asked for before. */
static const char *new_path(const char *folder)
{
    static int n;

    return apr_psprintf(site_pool, "/%s/%d", folder, ++n);
}

/* Ask twice: the backend is asked so often. @return the second answer */
static const char *twice(const char *answer, const char *path, const char *fields, int asked)
{
    const int before = atomic_load(&backend.connections);
    const char *first = apr_pstrdup(site_pool, get(answer, path, fields)), *second;
    int n;

    second = get(answer, path, fields);
    n = atomic_load(&backend.connections) - before;
    if (n != asked)
        fail_msg("%s: %d requests, not %d: %s", answer, n, asked, second);
    if (strcmp(strstr(first, "\r\n\r\n"), strstr(second, "\r\n\r\n")) != 0)
        fail_msg("\"%s\", not \"%s\"", second, first);
    return second;
}

static void test_stored(void **state)
{
    const char *got = twice(FRESH "Content-Length: 2\r\nX-Mine: 1\r\n\r\nok", new_path("s"), "", 1);

    has(got, "HTTP/1.1 200 OK\r\n");
    has(got, "\r\nX-Mine: 1\r\n");
    has(got, "\r\nAge: ");
    has(got, "\r\nX-Cache: HIT from localhost\r\n");
    has(got, "\r\n\r\nok");
    twice("HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
          new_path("s"), "", 1);
    twice("HTTP/1.1 404 No\r\nCache-Control: max-age=100\r\nContent-Length: 1\r\n\r\nx",
          new_path("s"), "", 1);
}

static void test_not_stored(void **state)
{
    static const char *const answers[] = {"Cache-Control: no-store\r\n",
                                          "Cache-Control: private\r\n",
                                          "Cache-Control: max-age=0\r\n",
                                          "Cache-Control: no-cache\r\n",
                                          "Vary: *\r\n",
                                          "Expires: Thu, 01 Jan 1970 00:00:00 GMT\r\n"};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        twice(apr_pstrcat(site_pool, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n", answers[i],
                          "\r\nx", NULL),
              new_path("s"), "", 2);
    twice(FRESH "Content-Length: 1\r\n\r\nx", new_path("s"), "Authorization: Basic eDp5\r\n", 2);
    twice(FRESH "Content-Length: 1\r\n\r\nx", new_path("s"), "Cache-Control: no-store\r\n", 2);
    twice(FRESH "Content-Length: 1\r\n\r\nx", new_path("off"), "", 2);
}

/* One answer for each value of the fields that it names. */
static void test_variants(void **state)
{
    const char *path = new_path("s"),
               *answer = FRESH "Vary: X-Kind, accept\r\nContent-Length: 1\r\n\r\n";

    has(twice(apr_pstrcat(site_pool, answer, "a", NULL), path, "X-Kind: a\r\n", 1), "\r\n\r\na");
    has(twice(apr_pstrcat(site_pool, answer, "b", NULL), path, "X-Kind: b\r\n", 1), "\r\n\r\nb");
    has(twice(apr_pstrcat(site_pool, answer, "c", NULL), path, "", 1), "\r\n\r\nc");
    has(twice("", path, "X-Kind: a\r\n", 0), "\r\n\r\na");
    has(twice("", path, "X-Kind: b\r\n", 0), "\r\n\r\nb");
    has(twice("", path, "", 0), "\r\n\r\nc");
}

/* A client's conditions and ranges are answered from what is stored. */
static void test_parts(void **state)
{
    const char *path = new_path("s");

    twice(FRESH "ETag: \"1\"\r\nContent-Length: 26\r\n\r\nabcdefghijklmnopqrstuvwxyz", path, "", 1);
    has(twice("", path, "If-None-Match: \"1\"\r\n", 0), "HTTP/1.1 304 ");
    has(twice("", path, "If-None-Match: \"2\"\r\n", 0), "HTTP/1.1 200 ");
    has(twice("", path, "Range: bytes=2-4\r\n", 0), "\r\n\r\ncde");
    has(site_seen, "\r\nContent-Range: bytes 2-4/26\r\n");
    has(twice("", path, "Range: bytes=30-\r\n", 0), "HTTP/1.1 416 ");
}

/* What grew stale is asked for again by its tag; a backend that says that it did not change gives new fields. */
static void test_revalidated(void **state)
{
    const char *path = new_path("s");

    get("HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nAge: 200\r\nETag: \"1\"\r\n"
        "Content-Length: 3\r\nX-Mine: 1\r\n\r\nold",
        path, "");
    has(get("HTTP/1.1 304 Same\r\nETag: \"1\"\r\nCache-Control: max-age=100\r\nX-Mine: 2\r\n\r\n",
            path, ""),
        "\r\n\r\nold");
    has(backend.asked, "\r\nIf-None-Match: \"1\"\r\n");
    has(site_seen, "\r\nX-Mine: 2\r\n");
    has(twice("", path, "", 0), "\r\n\r\nold");
}

/* PURGE ends it; only clients that may. */
static void test_purged(void **state)
{
    const char *path = new_path("s"),
               *purge = apr_psprintf(
                   site_pool, "PURGE %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                   path);

    twice(FRESH "Content-Length: 3\r\n\r\nold", path, "", 1);
    has(site_ask(purge), "HTTP/1.1 200 ");
    has(twice(FRESH "Content-Length: 3\r\n\r\nnew", path, "", 1), "\r\n\r\nnew");
    site_ask("PURGE /off/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    has(backend.asked, "PURGE /off/x HTTP/1.1\r\n"); /* nobody here is asked */
    /* A request that may change it ends it, too. */
    has(ask("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            apr_psprintf(site_pool,
                         "DELETE %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                         path)),
        "HTTP/1.1 200 ");
    has(twice(FRESH "Content-Length: 5\r\n\r\nnewer", path, "", 1), "\r\n\r\nnewer");
}

#define PART "HTTP/1.1 206 Part\r\nETag: \"1\"\r\nCache-Control: max-age=100\r\n"

/* Parts that backends send are kept, and put together. */
static void test_parts_of_backends(void **state)
{
    const char *path = new_path("s");

    has(twice(PART "Content-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\nabcde", path,
              "Range: bytes=0-4\r\n", 1),
        "\r\nContent-Range: bytes 0-4/10\r\n");
    has(twice("", path, "Range: bytes=1-3\r\n", 0), "\r\n\r\nbcd");
    has(twice(PART "Content-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\nfghij", path,
              "Range: bytes=5-9\r\n", 1),
        "\r\n\r\nfghij");
    has(twice("", path, "", 0), "\r\n\r\nabcdefghij");
    has(site_seen, "HTTP/1.1 200 OK\r\n");
    has(site_seen, "\r\nContent-Length: 10\r\n");
    lacks(site_seen, "Content-Range");
}

static int up(void **state)
{
    char text[1024];

    backend_up();
    snprintf(text, sizeof text,
             "Define AT 127.0.0.1:%d\nProxyPass /s/ http://${AT}/s/ disablereuse=On\n"
             "ProxyPass /off/ http://${AT}/off/ disablereuse=On\nCacheEnable memory /s/\n"
             "CacheHeader On\n<Location /s/>\nCachePurge 9.0.0.1 127.0.0.0/8\n</Location>\n",
             backend.port);
    site_up(text);
    backend_begin();
    return site_begin(state); /* one loop: it has the store of the process */
}

static int down(void **state)
{
    backend_end();
    site_end(state);
    return test_server_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored),           cmocka_unit_test(test_not_stored),
        cmocka_unit_test(test_variants),         cmocka_unit_test(test_parts),
        cmocka_unit_test(test_revalidated),      cmocka_unit_test(test_purged),
        cmocka_unit_test(test_parts_of_backends)};

    return cmocka_run_group_tests(tests, up, down);
}
