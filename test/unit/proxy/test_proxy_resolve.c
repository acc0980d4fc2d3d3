/* SPDX-License-Identifier: Apache-2.0 */
/* From a path to what is sent, and back again in answers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "http_config.h"
#include "http_core.h"
#include "proxy_private.h"
#include "test_config.h"
#include "test_request.h"

static apr_pool_t *pool;

static void site_of(const char *text)
{
    assert_true(test_config_read(text));
    apr_pool_create(&pool, test_process->pool);
    assert_int_equal(proxy_share(pool, ap_server_conf), OK);
}

/* A request whose path was decoded, as the core does. */
static request_rec *request_of(const char *target)
{
    request_rec *r = test_request(pool);
    char *uri = apr_pstrdup(pool, target), *query = strchr(uri, '?');

    r->server = ap_server_conf;
    r->request_config = ap_create_request_config(pool);
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->unparsed_uri = apr_pstrdup(pool, target);
    if (query)
        *query++ = '\0';
    r->args = query;
    ap_unescape_url(uri);
    r->uri = uri;
    r->filename = NULL;
    return r;
}

static int run(request_rec *r, proxy_target **t)
{
    int rv = proxy_translate(r);

    if (rv == OK)
        rv = proxy_fixup(r);
    return rv == OK ? proxy_resolve(r, t) : rv;
}

static const char site[] = "ServerName front.example\n"
                           "ProxyPass /no !\n"
                           "ProxyPass /a/ http://one:8080/\n"
                           "ProxyPass /b http://two/base max=5\n"
                           "ProxyPass /raw http://one:8080/nc nocanon\n"
                           "ProxyPass /u unix:/run/x.sock|http://sock.example/uu\n"
                           "ProxyPass /f fcgi://127.0.0.1:9000/srv\n"
                           "ProxyPass /v6/ https://[::1]:8443/\n"
                           "ProxyPass /alone http://one:8080x/\n"
                           "ProxyPassMatch ^/m/(.*)$ http://one:8080/mm/$1\n"
                           "ProxyPassMatch ^/whole/.*gif$ http://one:8080\n"
                           "ProxyPassMatch ^/h/([a-z]+)/(.*)$ http://$1.example/$2\n";

static void paths_become_targets(void **state)
{
    static const struct {
        const char *target;
        int status; /* OK or what the client gets */
        const char *host;
        int port;
        const char *authority, *path, *worker;
    } cases[] = {
        {"/a/x", OK, "one", 8080, "one:8080", "/x", "http://one:8080/"},
        {"/a/x?q=1&b=%20", OK, "one", 8080, "one:8080", "/x?q=1&b=%20", "http://one:8080/"},
        {"/a/%41%20b", OK, "one", 8080, "one:8080", "/A%20b", "http://one:8080/"},
        {"/a/%3fx", OK, "one", 8080, "one:8080", "/%3Fx", "http://one:8080/"},
        {"/a/%23", OK, "one", 8080, "one:8080", "/%23", "http://one:8080/"},
        {"/a/%0d%0aGET", OK, "one", 8080, "one:8080", "/%0D%0AGET", "http://one:8080/"},
        {"/a/%c3%a9", OK, "one", 8080, "one:8080", "/%C3%A9", "http://one:8080/"},
        {"/a", DECLINED, NULL, 0, NULL, NULL, NULL},
        {"/ax", DECLINED, NULL, 0, NULL, NULL, NULL},
        {"/no/a", DECLINED, NULL, 0, NULL, NULL, NULL},
        {"/b", OK, "two", 80, "two", "/base", "http://two/base"},
        {"/b/x;y=1", OK, "two", 80, "two", "/base/x;y=1", "http://two/base"},
        {"/raw/%41%20?y", OK, "one", 8080, "one:8080", "/nc/%41%20?y", "http://one:8080/"},
        {"/raw/x y", HTTP_FORBIDDEN, NULL, 0, NULL, NULL, NULL},
        {"/a/x?a\x01", HTTP_FORBIDDEN, NULL, 0, NULL, NULL, NULL},
        {"/u/x", OK, "sock.example", 80, "sock.example", "/uu/x", "http://sock.example/uu"},
        {"/f/x.php?q", OK, "127.0.0.1", 9000, "127.0.0.1:9000", "/srv/x.php",
         "fcgi://127.0.0.1:9000/srv"},
        {"/v6/x", OK, "::1", 8443, "[::1]:8443", "/x", "https://[::1]:8443/"},
        {"/m/x%20y?q=1", OK, "one", 8080, "one:8080", "/mm/x%20y?q=1", "http://one:8080/"},
        {"/m/%3f@evil", OK, "one", 8080, "one:8080", "/mm/%3F@evil", "http://one:8080/"},
        {"/whole/a.gif", OK, "one", 8080, "one:8080", "/whole/a.gif", "http://one:8080"},
        {"/h/abc/x", OK, "abc.example", 80, "abc.example", "/x", "http://$1.example/$2"},
    };
    char text[sizeof site];

    strcpy(text, site);
    strcpy(strstr(text, "ProxyPass /alone"), strstr(site, "ProxyPassMatch ^/m/"));
    site_of(text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = request_of(cases[i].target);
        proxy_target *t = NULL;

        print_message("%s\n", cases[i].target);
        assert_int_equal(run(r, &t), cases[i].status);
        if (cases[i].status != OK)
            continue;
        assert_string_equal(t->host, cases[i].host);
        assert_int_equal(t->port, cases[i].port);
        assert_string_equal(t->authority, cases[i].authority);
        assert_string_equal(t->path, cases[i].path);
        if (strncmp(cases[i].worker, "http://one:8080", 15) != 0)
            assert_string_equal(t->worker->name, cases[i].worker);
        assert_true(!strcmp(cases[i].target, "/u/x") == (t->socket != NULL));
    }
    assert_false(test_config_read(site)); /* "8080x" */
}

static void a_raw_slash_is_kept_or_not(void **state)
{
    proxy_target *t;
    request_rec *r;

    site_of("ProxyPass /a/ http://one/\nAllowEncodedSlashes NoDecode\n");
    r = request_of("/a/x");
    r->uri = apr_pstrdup(pool, "/a/x%2fy");
    assert_int_equal(run(r, &t), OK);
    assert_string_equal(t->path, "/x%2fy");
    r = request_of("/a/x");
    r->uri = apr_pstrdup(pool, "/a/100%");
    assert_int_equal(run(r, &t), HTTP_BAD_REQUEST);
}

static void handlers_name_sockets(void **state)
{
    static const struct {
        const char *handler;
        int status;
        const char *socket, *host, *path;
    } cases[] = {
        {"proxy:unix:/run/php.sock|fcgi://localhost", OK, "/run/php.sock", "localhost",
         "/srv/x y.php"},
        {"proxy:fcgi://127.0.0.1:9000", OK, NULL, "127.0.0.1", "/srv/x y.php"},
        {"proxy:unix:/run/php.sock|", HTTP_INTERNAL_SERVER_ERROR, NULL, NULL, NULL},
        {"proxy:nothing", HTTP_BAD_REQUEST, NULL, NULL, NULL},
        {"proxy-server", DECLINED, NULL, NULL, NULL},
        {"proxy:http://a\x01", HTTP_BAD_REQUEST, NULL, NULL, NULL},
    };

    site_of("<Proxy fcgi://localhost enablereuse=on max=3>\n</Proxy>\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = request_of("/x");
        proxy_target *t = NULL;

        r->handler = cases[i].handler;
        r->filename = apr_pstrdup(pool, "/srv/x y.php");
        assert_int_equal(proxy_resolve(r, &t), cases[i].status);
        if (cases[i].status != OK)
            continue;
        assert_string_equal(t->host, cases[i].host);
        if (cases[i].socket) {
            assert_string_equal(t->socket, cases[i].socket);
            assert_int_equal(t->worker->params.max, 3);
            assert_false(t->dynamic);
        } else {
            assert_null(t->socket);
            assert_true(t->dynamic);
        }
        assert_string_equal(t->scheme_name, "fcgi");
    }
}

/* A socket's name comes from the configuration, never from a request (CVE-2021-40438). */
static void clients_name_no_sockets(void **state)
{
    proxy_target *t = NULL;
    request_rec *r;

    site_of("ProxyPass / http://one/\n");
    r = request_of("/unix:/run/docker.sock|http://x/");
    assert_int_equal(run(r, &t), OK);
    assert_null(t->socket);
    assert_string_equal(t->host, "one");
    r = request_of("/?unix:/run/docker.sock|http://x/");
    assert_int_equal(run(r, &t), OK);
    assert_null(t->socket);
}

static void answers_are_mapped_back(void **state)
{
    static const struct {
        const char *value, *wanted;
    } cases[] = {
        {"http://one:8080/foo", "http://front.example/a/foo"},
        {"HTTP://one:8080/foo", "http://front.example/a/foo"},
        {"http://one:8080", "http://one:8080"},
        {"/other/x", "http://front.example/o/x"},
        {"/foo", "/foo"},
        {"//one:8080/foo", "//one:8080/foo"},
        {"http://m2/p/x", "http://front.example/bal/x"},
    };

    site_of("ServerName front.example\nUseCanonicalName On\nProxyPassReverse /a/ http://one:8080/\n"
            "ProxyPassReverse /o /other\n<Proxy balancer://b>\nBalancerMember "
            "http://m1\nBalancerMember http://m2\n"
            "</Proxy>\nProxyPassReverse /bal balancer://b/p\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = request_of("/a/x");

        r->proxyreq = PROXYREQ_REVERSE;
        proxy_reversal v = proxy_reversal_of(r);
        assert_string_equal(proxy_reverse_url(&v, r->pool, cases[i].value), cases[i].wanted);
        proxy_reversal_copy(&v, apr_palloc(r->pool, proxy_reversal_bytes(&v)));
        assert_string_equal(proxy_reverse_url(&v, r->pool, cases[i].value), cases[i].wanted);
    }
}

static void cookies_are_mapped_back(void **state)
{
    static const struct {
        const char *value, *wanted;
    } cases[] = {
        {"a=b; path=/app/x; domain=in.example; HttpOnly",
         "a=b; path=/loc; domain=www.example; HttpOnly"},
        {"c=d; Path=/app", "c=d; Path=/loc"},
        {"e=f; domain=.in.example", "e=f; domain=.in.example"},
        {"path=/app", "path=/app"},
        {"g=h;path=/other", "g=h;path=/other"},
        {"", ""},
        {"x; path", "x; path"},
        {"x; path=", "x; path="},
    };

    site_of("ProxyPassReverseCookiePath /app /loc\nProxyPassReverseCookieDomain in.example "
            "www.example\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = request_of("/a/x");

        r->proxyreq = PROXYREQ_REVERSE;
        proxy_reversal v = proxy_reversal_of(r);
        assert_string_equal(proxy_reverse_cookie(&v, r->pool, cases[i].value), cases[i].wanted);
        proxy_reversal_copy(&v, apr_palloc(r->pool, proxy_reversal_bytes(&v)));
        assert_string_equal(proxy_reverse_cookie(&v, r->pool, cases[i].value), cases[i].wanted);
    }
}

static void the_longest_name_wins(void **state)
{
    proxy_server_conf *c;

    site_of("ProxyPass /c http://one/long/er\nProxyPass /b http://one/long\nProxyPass /a "
            "http://one/\n");
    c = proxy_conf_of(ap_server_conf);
    assert_string_equal(proxy_worker_find(c, NULL, "http://one/long/er/x", NULL)->name,
                        "http://one/long/er");
    assert_string_equal(proxy_worker_find(c, NULL, "http://one/lon", NULL)->name, "http://one/");
    assert_null(proxy_worker_find(c, NULL, "http://one.evil/", NULL));
}

static void forward_proxies_ask_first(void **state)
{
    proxy_target *t = NULL;
    request_rec *r;

    site_of("ProxyRequests On\nProxyBlock evil\nAllowCONNECT 443\nProxyRemote * http://next:3128 "
            "u:p\nNoProxy .near\n");
    r = request_of("http://far.example/x");
    r->proxyreq = PROXYREQ_PROXY;
    r->filename = apr_pstrdup(pool, "proxy:http://far.example/x");
    assert_int_equal(proxy_resolve(r, &t), OK);
    assert_int_equal(t->remotes_n, 1);
    assert_string_equal(t->remotes[0].host, "next");
    assert_int_equal(t->remotes[0].port, 3128);
    assert_string_equal(t->remotes[0].credentials, "dTpw");
    r->filename = apr_pstrdup(pool, "proxy:http://a.near/x");
    assert_int_equal(proxy_resolve(r, &t), OK);
    assert_int_equal(t->remotes_n, 0);
    r->filename = apr_pstrdup(pool, "proxy:http://www.evil.example/x");
    assert_int_equal(proxy_resolve(r, &t), HTTP_FORBIDDEN);
    r->method_number = M_CONNECT;
    r->filename = apr_pstrdup(pool, "proxy:far.example:22");
    assert_int_equal(proxy_resolve(r, &t), HTTP_FORBIDDEN);
    r->filename = apr_pstrdup(pool, "proxy:far.example:443");
    assert_int_equal(proxy_resolve(r, &t), OK);
    assert_int_equal(t->scheme, PROXY_SCHEME_CONNECT);
    assert_int_equal(t->port, 443);
}

/* A file name of a proxy without a scheme; one letter is a scheme. */
static void a_scheme_is_needed(void **state)
{
    request_rec *r;

    site_of("ServerName front.example\n");
    r = request_of("/x");
    r->proxyreq = PROXYREQ_REVERSE;
    r->filename = (char *)"proxy:://one/x";
    assert_int_equal(proxy_fixup(r), HTTP_BAD_REQUEST);
    r->filename = (char *)"proxy:x://one/x";
    assert_int_equal(proxy_fixup(r), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_become_targets),      cmocka_unit_test(a_raw_slash_is_kept_or_not),
        cmocka_unit_test(handlers_name_sockets),     cmocka_unit_test(clients_name_no_sockets),
        cmocka_unit_test(answers_are_mapped_back),   cmocka_unit_test(cookies_are_mapped_back),
        cmocka_unit_test(a_scheme_is_needed),        cmocka_unit_test(the_longest_name_wins),
        cmocka_unit_test(forward_proxies_ask_first),
    };

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
