/* SPDX-License-Identifier: Apache-2.0 */
/* Links on the way to files, by Options: on the full way, by what loops know of folders, and from memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "test_site.h"

static void check(const char *path, const char *status)
{
    for (int i = 0; i < 6; i++) {
        const char *answer = site_get(path, "");

        if (strncmp(answer + 9, status, 3) != 0)
            fail_msg("%d: %s should get %s: %s", i, path, status, answer);
    }
}

static void test_no_links(void **state)
{
    check("/none/plain.txt", "200");
    check("/none/below/plain.txt", "200");
    check("/none/link.txt", "403");
    check("/none/folder/plain.txt", "403");
}

static void test_all_links(void **state)
{
    check("/all/plain.txt", "200");
    check("/all/link.txt", "200");
    check("/all/folder/plain.txt", "200");
    check("/all/lost.txt", "403");
}

static void test_links_of_the_owner(void **state)
{
    char path[128];

    check("/owner/plain.txt", "200");
    check("/owner/link.txt", "200");
    check("/owner/folder/plain.txt", "200");
    snprintf(path, sizeof path, "%s/owner/another.txt", test_dir);
    assert_return_code(symlink("plain.txt", path), 0);
    if (!geteuid()) {
        assert_return_code(lchown(path, 12345, 12345), 0);
        check("/owner/another.txt", "403");
    }
}

static void make(const char *name)
{
    char path[128], text[128];

    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_return_code(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/%s/below", test_dir, name);
    assert_return_code(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/plain.txt", name);
    site_file(path, "plain");
    snprintf(path, sizeof path, "%s/below/plain.txt", name);
    site_file(path, "plain");
    snprintf(path, sizeof path, "%s/%s/link.txt", test_dir, name);
    assert_return_code(symlink("plain.txt", path), 0);
    snprintf(path, sizeof path, "%s/%s/lost.txt", test_dir, name);
    assert_return_code(symlink("nothing", path), 0);
    snprintf(path, sizeof path, "%s/%s/folder", test_dir, name);
    snprintf(text, sizeof text, "%s/%s/below", test_dir, name);
    assert_return_code(symlink(text, path), 0);
}

static int up(void **state)
{
    site_up("<Directory /tmp/*/none>\nOptions None\n</Directory>\n"
            "<Directory /tmp/*/all>\nOptions FollowSymLinks\n</Directory>\n"
            "<Directory /tmp/*/owner>\nOptions SymLinksIfOwnerMatch\n</Directory>\n");
    make("none");
    make("all");
    make("owner");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SITE_TEST(test_no_links), SITE_TEST(test_all_links),
                                       SITE_TEST(test_links_of_the_owner)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
