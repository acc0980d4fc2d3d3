/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of a configuration says about lines that are valid and hardly meant. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "test_config.h"
#include "apr_strings.h"
#include <sys/mman.h>
#include <sys/stat.h>

/* What -t says of a configuration that is good. */
static const char *doubts(const char *text)
{
    static char said[8192];
    const int fd = memfd_create("doubts", 0), saved = dup(STDERR_FILENO);
    ssize_t n;

    if (!test_config_read(text))
        fail_msg("%s: %s", text, test_messages);
    dup2(fd, STDERR_FILENO);
    ap_run_test_config(test_process->pconf, ap_server_conf);
    dup2(saved, STDERR_FILENO);
    close(saved);
    n = pread(fd, said, sizeof said - 1, 0);
    close(fd);
    assert_true(n >= 0);
    said[n] = '\0';
    return said;
}

typedef struct doubt_case {
    const char *lines, *said; /* NULL: nothing */
} doubt_case;

static void check(const doubt_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = apr_pstrcat(test_process->pool, "ServerName a.example\nListen 80\n",
                                       cases[i].lines, NULL);
        const char *said = doubts(text);

        if (cases[i].said ? !strstr(said, cases[i].said) : *said)
            fail_msg("%s: \"%s\", not \"%s\"", cases[i].lines, said,
                     cases[i].said ? cases[i].said : "");
    }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof *(cases))

/* Redirects that lead to where they begin. */
static void test_redirects(void **state)
{
    static const doubt_case cases[] = {
        {"Redirect / /new/", "Redirect: a loop: /new/ begins with what / matches"},
        {"Redirect permanent / /new/", "a loop: /new/"},
        {"Redirect /a /a/b", "a loop: /a/b"},
        {"Redirect /a /a?b", "a loop: /a?b"},
        {"Redirect /a /a", "a loop: /a "},
        {"Redirect /a /ab", NULL},
        {"Redirect /a /b", NULL},
        {"Redirect /a //a", NULL},
        {"RedirectPermanent / /new/", "RedirectPermanent: a loop"},
        {"RedirectTemp / /new/", "RedirectTemp: a loop"},
        {"Redirect / http://a.example/new", "a loop: /new"},
        {"Redirect / http://a.example", "a loop: / "},
        {"Redirect / http://b.example/new", NULL},
        {"Redirect / http://a.example.org/new", NULL},
        {"Redirect / https://a.example/new", NULL},
        {"Redirect gone /a", NULL},
        {"<Location /x>\nRedirect /y/\n</Location>", NULL},
        {"RedirectMatch ^/ /new/", "RedirectMatch: a loop: /new/"},
        {"RedirectMatch 301 ^/(.*) /new/$1", "RedirectMatch: a loop: /new/$1"},
        {"RedirectMatch permanent ^/(.*) /new/$1", "a loop"},
        {"RedirectMatch ^/$ /new/", NULL},
        {"RedirectMatch ^/(.*) http://b.example/$1", NULL},
    };

    CHECK(cases);
}

/* A pattern in a directory has no slash in front, and rules need an engine. */
static void test_rewriting(void **state)
{
    static const doubt_case cases[] = {
        {"RewriteRule ^/a /b", "no RewriteEngine On is in force here; write that line above it"},
        {"RewriteEngine On\nRewriteRule ^/a /b", NULL},
        {"RewriteEngine Off\nRewriteRule ^/a /b", "no RewriteEngine On"},
        {"<Directory /x>\nRewriteRule ^a b\n</Directory>", "into the same section"},
        {"<Directory /x>\nRewriteEngine On\nRewriteRule ^a b\n</Directory>", NULL},
        {"<Directory /x>\nRewriteEngine On\nRewriteRule ^/a b\n</Directory>",
         "RewriteRule: ^/a matches nothing in a directory"},
        {"<Directory /x>\nRewriteEngine On\nRewriteRule !^/a b\n</Directory>", "write ^a"},
        {"<Directory /x>\nRewriteEngine On\nRewriteRule ^/?a b\n</Directory>", NULL},
        {"<Directory /x>\nRewriteEngine On\nRewriteRule ^/*a b\n</Directory>", NULL},
        {"<Directory /x>\nRewriteEngine On\nRewriteRule ^/ b\n</Directory>", NULL},
        {"<Location /x>\nRewriteEngine On\nRewriteRule ^/a b\n</Location>", NULL},
        {"RewriteEngine On\n<VirtualHost *:80>\nServerName b.example\nRewriteRule ^/a /b\n"
         "</VirtualHost>",
         NULL},
    };

    CHECK(cases);
}

/* Slashes that end one side of ProxyPass alone. */
static void test_proxying(void **state)
{
    static const doubt_case cases[] = {
        {"ProxyPass /a/ http://127.0.0.1:1/b", "/a/ ends with a slash and"},
        {"ProxyPass /a http://127.0.0.1:1/b/", "b/ ends with a slash and /a does not"},
        {"ProxyPass /a http://127.0.0.1:1/b", NULL},
        {"ProxyPass /a/ http://127.0.0.1:1/b/", NULL},
        {"ProxyPass /a !", NULL},
        {"<Location /a/>\nProxyPass http://127.0.0.1:1/b\n</Location>",
         "/a/ ends with a slash and http://127.0.0.1:1/b does not"},
        {"<Location /a/>\nProxyPass http://127.0.0.1:1/b/\n</Location>", NULL},
    };

    CHECK(cases);
}

/* Virtual hosts that no request finds. */
static void test_hosts(void **state)
{
    static const doubt_case cases[] = {
        {"<VirtualHost *:81>\nServerName b.example\n</VirtualHost>",
         "no Listen has port 81; write Listen 81"},
        {"<VirtualHost *:80>\nServerName b.example\n</VirtualHost>", NULL},
        {"<VirtualHost *:80>\nServerName b.example\n</VirtualHost>\n"
         "<VirtualHost *:80>\nServerName B.example\n</VirtualHost>",
         "the name B.example is already that of the virtual host at"},
        {"<VirtualHost *:80>\nServerName b.example\n</VirtualHost>\n"
         "<VirtualHost *:80>\nServerName c.example\nServerAlias b.example\n</VirtualHost>",
         "the name b.example is already"},
        {"Listen 81\n<VirtualHost *:80>\nServerName b.example\n</VirtualHost>\n"
         "<VirtualHost *:81>\nServerName b.example\n</VirtualHost>",
         NULL},
        {"Listen 443\n<VirtualHost *:443>\nServerName b.example\n</VirtualHost>",
         "port 443 is one of https, and SSLEngine is not on"},
        {"Listen 443 http\n<VirtualHost *:443>\nServerName b.example\n</VirtualHost>", NULL},
    };

    CHECK(cases);
}

/* Error pages that are not there, where nothing else can answer for their paths. */
static void test_documents(void **state)
{
    const char *root = test_config_dir(), *p;
    apr_pool_t *pool = test_process->pool;
    const char *missing = "ErrorDocument 404: there is no /none.html below DocumentRoot";

    test_config_file("there.html", "x");
    assert_return_code(chmod(root, 0755), 0); /* else another doubt */
    p = apr_pstrcat(pool, "DocumentRoot ", root, "\n", NULL);
    const doubt_case cases[] = {
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html", NULL), missing},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /there.html", NULL), NULL},
        {apr_pstrcat(pool, p, "ErrorDocument 404 \"no such page\"", NULL), NULL},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html?a", NULL), NULL},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html\nAlias /none /elsewhere", NULL), NULL},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html\nAlias /other /elsewhere", NULL),
         missing},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html\nRedirect /a /b", NULL), NULL},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html\n<Directory /x>\nSetHandler a\n",
                     "</Directory>", NULL),
         NULL},
        {apr_pstrcat(pool, p, "ErrorDocument 404 /none.html\n<Directory /x>\nOptions MultiViews\n",
                     "</Directory>", NULL),
         NULL},
    };

    CHECK(cases);
    test_config_file(".htaccess", "");
    check(&(doubt_case){cases[0].lines, NULL}, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redirects), cmocka_unit_test(test_rewriting),
        cmocka_unit_test(test_proxying), cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_documents)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
