/* SPDX-License-Identifier: Apache-2.0 */
/* RequestLimit as clients meet it: rates that refuse, by client, field and path, and what is not counted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "ap_mpm.h"
#include "scoreboard.h"
#include "test_site.h"

/* So many of @a n requests are answered with 200; the others with @a refused. */
static void check(const char *path, const char *fields, int n, int most, const char *refused)
{
    int good = 0;

    for (int i = 0; i < n; i++) {
        const char *answer = site_get(path, fields);

        if (!strncmp(answer, "HTTP/1.1 200 ", 13))
            good++;
        else if (strncmp(answer + 9, refused, 3) != 0)
            fail_msg("%s: %s", path, answer);
    }
    if (good != most)
        fail_msg("%s: %d of %d", path, good, n);
}

static void test_rate(void **state)
{
    const char *answer;

    check("/few/a.txt", "", 6, 3, "429");
    answer = site_get("/few/a.txt", "");
    assert_non_null(strstr(answer, "\r\nRetry-After: "));
    assert_non_null(strstr(answer, "\r\nRateLimit: "));
    check("/free/a.txt", "", 6, 6, "429");
}

/* Each value has its own count, and requests without one are not counted. */
static void test_keys(void **state)
{
    check("/field/a.txt", "X-Key: a\r\n", 4, 2, "503");
    check("/field/a.txt", "X-Key: b\r\n", 4, 2, "503");
    check("/field/a.txt", "", 4, 4, "503");
    check("/when/a.txt", "", 4, 4, "429");
    check("/when/a.txt", "X-Bot: 1\r\n", 4, 1, "429");
}

/* Both limits of nested sections count; one that says off in the same kind of place does not. */
static void test_nested(void **state)
{
    check("/outer/a.txt", "", 6, 4, "429");
    check("/outer/inner/a.txt", "", 3, 0, "429");
    check("/off/a.txt", "", 6, 6, "429");
    check("/dry/a.txt", "", 6, 6, "429");
}

static int up(void **state)
{
    site_up("AliasMatch ^/ a.txt\n"
            "<Location /few>\nRequestLimit few rate=1/h burst=2\n</Location>\n"
            "<Location /field>\nRequestLimit field by=field:X-Key rate=1/h burst=1 status=503\n"
            "</Location>\n"
            "<Location /when>\nRequestLimit when rate=1/h \"when=%{HTTP:X-Bot} == '1'\"\n"
            "</Location>\n"
            "<Location /outer>\nRequestLimit outer rate=1/h burst=3\n</Location>\n"
            "<Location /off>\nRequestLimit off rate=1/h\n</Location>\n"
            "<Location /off/>\nRequestLimit off off\n</Location>\n"
            "<Location /dry>\nRequestLimit dry rate=1/h dry-run\n</Location>\n");
    site_file("a.txt", "a");
    ap_run_pre_mpm(test_process->pconf, SB_NOT_SHARED); /* the memory in which is counted */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SITE_TEST(test_rate), SITE_TEST(test_keys),
                                       SITE_TEST(test_nested)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
