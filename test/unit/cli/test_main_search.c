/* SPDX-License-Identifier: Apache-2.0 */
/* -L WORDS: which directives, modules and guides answer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "main_parts.h"
#include "test_pool.h"

static char printed[1 << 20];

/* What is printed, and what the call gives back. */
static int call(int (*what)(apr_pool_t *p, const char *text), const char *text)
{
    const int fd = memfd_create("printed", 0), saved = dup(STDOUT_FILENO);
    ssize_t n;
    int rc;

    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    rc = what(test_pool, text);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    n = pread(fd, printed, sizeof printed - 1, 0);
    close(fd);
    assert_in_range(n, 0, sizeof printed - 2);
    printed[n] = '\0';
    return rc;
}

static int lines_before(const char *text, const char *end)
{
    int n = 0;

    for (const char *at = text; at < end; at++)
        n += *at == '\n';
    return n;
}

/* The first line below a heading. */
static void check_first(const char *question, const char *heading, const char *name)
{
    const char *at;

    assert_true(call(main_search_manual, question) > 0);
    at = strstr(printed, heading);
    if (!at || strncmp(at + strlen(heading), name, strlen(name)) != 0)
        fail_msg("%s: %s should be the first of %s%s", question, name, heading, printed);
}

#define DIRECTIVES "Directives and modules:\n  "
#define GUIDES "Guides:\n  "

static void test_names(void **state)
{
    check_first("keepalivetimeout", DIRECTIVES, "KeepAliveTimeout ");
    check_first("How is AddHandler used?", DIRECTIVES, "AddHandler ");
    check_first("mod_alias", DIRECTIVES, "mod_alias ");
    check_first("request-limits", GUIDES, "request-limits ");
}

/* A beginning of a name counts more than the middle of one, or than texts. */
static void test_beginnings(void **state)
{
    check_first("proxypassrev", DIRECTIVES, "ProxyPassReverse ");
    check_first("keepalivetime", DIRECTIVES, "KeepAliveTimeout ");
}

static void test_words_of_people(void **state)
{
    check_first("gzip", GUIDES, "compression ");
    check_first("hsts", DIRECTIVES, "Header ");
    check_first("rate limiting", GUIDES, "request-limits ");
}

/* At most five of a kind, each on a line of its own, directives before guides. */
static void test_bounds(void **state)
{
    const int shown = call(main_search_manual, "log requests to a file");
    const char *guides = strstr(printed, "Guides:\n");

    assert_non_null(guides);
    assert_int_equal(shown, 10);
    assert_int_equal(lines_before(printed, guides), 1 + 5);
    assert_int_equal(lines_before(guides, printed + strlen(printed)), 1 + 5 + 1);
    for (const char *at = printed, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        assert_true(end - at <= 2 + 40 + 1 + 78 + 4);
}

static void test_nothing(void **state)
{
    assert_int_equal(call(main_search_manual, "qqxzzy"), 0);
    assert_string_equal(printed, "");
}

/* One guide, from its title to that of the next one. */
static void test_guides(void **state)
{
    assert_int_equal(call(main_print_guide, "Request-Limits"), 1);
    assert_memory_equal(printed, "# Limit requests", 16);
    for (const char *at = printed; (at = strstr(at, "\n# ")) != NULL; at++)
        if (!strncmp(at + 3, "Logs and logrotate\n", 19) || !strncmp(at + 3, "HTTP/3\n", 7))
            fail_msg("another guide follows");
    assert_int_equal(call(main_print_guide, "KeepAliveTimeout"), 0);
    assert_int_equal(call(main_print_guide, "request"), 0);
    assert_string_equal(printed, "");
}

/* An entry alone, or those of a module behind its purpose. */
static void test_entries(void **state)
{
    assert_int_equal(call(main_print_manual, "keepalivetimeout"), 1);
    assert_memory_equal(printed, "KeepAliveTimeout", 16);
    assert_null(strstr(printed, "MaxKeepAliveRequests\n"));
    assert_int_equal(call(main_print_manual, "mod_alias.c"), 1);
    assert_memory_equal(printed, "# mod_alias.c\n", 14);
    assert_true(strcspn(printed + 14, "\n") > 20); /* its purpose */
    assert_non_null(strstr(printed, "\nAlias"));
    assert_non_null(strstr(printed, "\nScriptAlias"));
    assert_null(strstr(printed, "\n# mod_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_names),           TEST_WITH_POOL(test_beginnings),
        TEST_WITH_POOL(test_words_of_people), TEST_WITH_POOL(test_bounds),
        TEST_WITH_POOL(test_nothing),         TEST_WITH_POOL(test_guides),
        TEST_WITH_POOL(test_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
