/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are handed on, as clients and backends see them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_site.h"
#include "test_backend.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

static void test_request(void **state)
{
    get(OK_HEAD "Content-Length: 2\r\n\r\nok", "/p/a%20b?c=d",
        "X-Mine: 1\r\nKeep-Alive: 3\r\nTE: trailers\r\nProxy-Authorization: Basic eDp5\r\n"
        "X-Hop: 1\r\nX-Forwarded-For: 192.0.2.1\r\n");
    has(backend.asked, "GET /b/a%20b?c=d HTTP/1.1\r\n");
    has(backend.asked, "\r\nX-Mine: 1\r\n");
    has(backend.asked, "\r\nX-Forwarded-For: 192.0.2.1, 127.0.0.1\r\n");
    has(backend.asked, "\r\nX-Forwarded-Host: localhost\r\n");
    has(backend.asked, apr_psprintf(site_pool, "\r\nHost: 127.0.0.1:%d\r\n", backend.port));
    lacks(backend.asked, "Keep-Alive: 3");
    has(backend.asked, "\r\nConnection: TE\r\n");
    get(OK_HEAD "Content-Length: 2\r\n\r\nok", "/kept/x", "");
    has(backend.asked, "\r\nHost: localhost\r\n");
}

static void test_answers(void **state)
{
    const char *got = get(OK_HEAD "Content-Length: 2\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\n"
                                  "Connection: X-Hop\r\nX-Hop: 1\r\n\r\nok",
                          "/p/a", "");

    has(got, "HTTP/1.1 200 OK\r\n");
    has(got, "\r\nX-Mine: 1\r\n");
    has(got, "\r\nContent-Length: 2\r\n");
    has(got, "\r\n\r\nok");
    lacks(got, "X-Hop");
    lacks(got, "timeout=5");
    got = get("HTTP/1.1 404 Nope\r\nContent-Length: 4\r\n\r\nnone", "/p/a", "");
    has(got, "HTTP/1.1 404 Nope\r\n");
    has(got, "\r\n\r\nnone");
    got = get("HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\n", "/p/a", "");
    has(got, "HTTP/1.1 204 None\r\n");
    lacks(got, "Content-Length");
    got = get("HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n" OK_HEAD "Content-Length: 1\r\n\r\nx",
              "/p/a", "");
    has(got, "HTTP/1.1 200 OK\r\n");
    has(got, "\r\n\r\nx");
}

/* Bodies by length, in chunks, with trailers, and up to the end of the connection. */
static void test_bodies(void **state)
{
    char path[] = "GET /p/a HTTP/1.0\r\nHost: localhost\r\n\r\n";
    static char large[300000];
    size_t n;

    has(ask(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX: "
                    "y\r\n\r\n",
            path),
        "\r\n\r\nabc0123456789");
    has(ask(OK_HEAD "Connection: close\r\n\r\nto the end", path), "\r\n\r\nto the end");
    has(ask("HTTP/1.0 200 OK\r\n\r\nof old", path), "\r\n\r\nof old");
    has(ask("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", path), "\r\n\r\nabc");
    assert_null(strstr(site_seen, "abcd"));
    n = (size_t)sprintf(large, OK_HEAD "Content-Length: 299000\r\n\r\n");
    memset(large + n, 'x', 299000);
    assert_int_equal(strlen(strstr(ask(large, path), "\r\n\r\n") + 4), 299000);
}

/* An answer that is none, or ends early. */
static void test_faults(void **state)
{
    static const char *const bad[] = {"nonsense\r\n\r\n",
                                      "HTTP/1.1 2000 OK\r\n\r\n",
                                      "",
                                      "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nBad name: x\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: "
                                      "2\r\n\r\na"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        has(get(bad[i], "/p/a", ""), "HTTP/1.1 502 ");
    has(get(NULL, "/p/a", ""), "HTTP/1.1 502 ");
    has(site_get("/nobody/a", ""), "HTTP/1.1 503 ");
    lacks(get(OK_HEAD "Content-Length: 9\r\n\r\nabc", "/p/a", ""), "HTTP/1.1 5");
}

/* A body that a client sends, by length and in chunks. */
static void test_requests_with_bodies(void **state)
{
    static const char answer[] = OK_HEAD "Content-Length: 2\r\n\r\nok";

    backend.answer = answer;
    backend.until = "12345";
    has(site_ask("POST /p/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
                 "5\r\n\r\n12345"),
        "\r\n\r\nok");
    has(backend.asked, "\r\nContent-Length: 5\r\n");
    has(backend.asked, "\r\n\r\n12345");
    has(site_ask("POST /p/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"),
        "\r\n\r\nok");
    has(backend.asked, "12345");
    lacks(backend.asked, "Expect");
    lacks(site_seen, "HTTP/1.1 100");
}

/* Fields of answers that name the backend name the proxy. */
static void test_reverse(void **state)
{
    const char *moved = apr_psprintf(site_pool,
                                     "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/b/x?y\r\n"
                                     "Set-Cookie: a=b; domain=inner; path=/b/\r\n"
                                     "Content-Length: 0\r\n\r\n",
                                     backend.port),
               *got = get(moved, "/p/a", "");

    has(got, "\r\nLocation: http://localhost/p/x?y\r\n");
    has(got, "a=b; domain=outer; path=/p/\r\n");
    got = get("HTTP/1.1 302 Found\r\nLocation: http://other/x\r\nContent-Length: 0\r\n\r\n", "/p/a",
              "");
    has(got, "\r\nLocation: http://other/x\r\n");
}

static void test_matched(void **state)
{
    get(OK_HEAD "Content-Length: 0\r\n\r\n", "/m/one/two", "");
    has(backend.asked, "GET /two/one HTTP/1.1\r\n");
    assert_non_null(strstr(get(OK_HEAD "Content-Length: 0\r\n\r\n", "/p/own/x", ""), " 404 "));
    has(get(OK_HEAD "Content-Length: 1\r\n\r\nb", "/balanced/x", ""), "\r\n\r\nb");
    has(backend.asked, "GET /x HTTP/1.1\r\n");
}

static int up(void **state)
{
    char text[2048];

    backend_up();
    snprintf(text, sizeof text,
             "Define AT 127.0.0.1:%d\nProxyPass /p/own/ !\n"
             "ProxyPass /p/ http://${AT}/b/ disablereuse=On\n"
             "ProxyPassReverse /p/ http://${AT}/b/\nProxyPassReverseCookieDomain inner outer\n"
             "ProxyPassReverseCookiePath /b/ /p/\n"
             "ProxyPassMatch ^/m/(.*)/(.*)$ http://${AT}/$2/$1\n"
             "ProxyPass /nobody/ http://127.0.0.1:1/\n"
             "<Location /kept/>\nProxyPass http://${AT}/\nProxyPreserveHost On\n</Location>\n"
             "<Proxy balancer://b>\nBalancerMember http://${AT}\n</Proxy>\n"
             "ProxyPass /balanced/ balancer://b/\n",
             backend.port);
    site_up(text);
    backend_begin();
    return site_begin(state); /* one loop: backends keep idle connections for it */
}

static int down(void **state)
{
    site_end(state);
    backend_end();
    return test_server_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_bodies),  cmocka_unit_test(test_faults),
        cmocka_unit_test(test_reverse), cmocka_unit_test(test_requests_with_bodies),
        cmocka_unit_test(test_matched)};

    return cmocka_run_group_tests(tests, up, down);
}
