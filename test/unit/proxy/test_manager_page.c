/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of balancer-manager, in both forms. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_site.h"

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* The value of a hidden field. */
static const char *nonce_of(const char *page)
{
    const char *at = strstr(page, "name=\"nonce\" value=\"");

    if (!at && !(at = strstr(page, "nonce=")))
        return NULL;
    at += *at == 'n' && at[5] == '=' ? 6 : 20;
    return apr_pstrmemdup(site_pool, at, strcspn(at, "\"&'"));
}

static void test_apaches(void **state)
{
    const char *page = site_body("/apache/manager", "");

    has(page, "Load Balancer Manager for localhost</h1>");
    has(page, "<dt>Balancer changes will NOT be persisted on restart.</dt>");
    has(page, "<dt>Balancers are inherited from main server.</dt>");
    has(page, "<dt>ProxyPass settings are inherited from main server.</dt>");
    has(page, "balancer://one</a>");
    has(page, "balancer://two</a>");
    has(page, "http://127.0.0.1:1</a>");
    has(page, "http://127.0.0.1:2/x</a>");
    has(page, "</body></html>\n");
}

static void test_modern(void **state)
{
    const char *page = site_body("/modern/manager", "");

    has(page, "<h2>balancer://one</h2>");
    has(page, "Method byrequests, no sessions");
    has(page, "<h2>balancer://two</h2>");
    has(page, "sessions by SID");
    has(page, "http://127.0.0.1:2/x");
    assert_null(strstr(page, "Changed here"));
}

/* The style is a resource of its own, as long as it says. */
static void test_style(void **state)
{
    const char *page = site_body("/modern/manager", ""), *at = strstr(page, "?style=");
    char path[64];

    assert_non_null(at);
    snprintf(path, sizeof path, "/modern/manager%.*s", 15, at);
    page = site_get(path, "");
    has(page, "HTTP/1.1 200 OK\r\n");
    has(page, "Content-Type: text/css; charset=utf-8\r\n");
    at = strstr(page, "Content-Length: ");
    assert_non_null(at);
    assert_int_equal(atoi(at + 16), strlen(strstr(page, "\r\n\r\n") + 4));
}

static void change(const char *what, const char *nonce)
{
    const char *body =
        apr_psprintf(site_pool, "b=one&w=http://127.0.0.1:1&%s&nonce=%s", what, nonce);

    site_ask(apr_psprintf(
        site_pool,
        "POST /modern/manager HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "Referer: http://localhost/modern/manager\r\nOrigin: http://localhost\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
        (int)strlen(body), body));
}

/* Changes are made by a POST with the page's nonce, and told on the page, each on a line. */
static void test_changes(void **state)
{
    const char *nonce = nonce_of(site_body("/modern/manager", "")), *at;
    int n = 0;

    assert_non_null(nonce);
    change("w_status_D=1", "wrong");
    assert_null(strstr(site_body("/modern/manager", ""), "Changed here"));
    change("w_status_D=1", nonce);
    change("w_status_D=0", nonce);
    change("w_status_D=1", nonce);
    assert_non_null(at = strstr(site_body("/modern/manager", ""), "Changed here"));
    for (const char *end = strstr(at, "</ul>");
         (at = strstr(at, "http://127.0.0.1:1: ")) != NULL && at < end; at++)
        n++;
    assert_int_equal(n, 3);
}

static int up(void **state)
{
    site_up("<Proxy balancer://one>\nBalancerMember http://127.0.0.1:1\n</Proxy>\n"
            "<Proxy balancer://two>\nBalancerMember http://127.0.0.1:2/x route=a\n"
            "ProxySet stickysession=SID\n</Proxy>\nProxyPass /one balancer://one\n"
            "<Location /apache/manager>\nSetHandler balancer-manager\nBuiltinPages Apache\n"
            "</Location>\n"
            "<Location /modern/manager>\nSetHandler balancer-manager\nBuiltinPages Modern\n"
            "</Location>\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SITE_TEST(test_apaches), SITE_TEST(test_modern),
                                       SITE_TEST(test_style), SITE_TEST(test_changes)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
