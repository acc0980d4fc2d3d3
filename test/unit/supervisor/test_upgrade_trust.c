/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that root runs: owners and modes of each folder on the way, and links. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apr_strings.h"
#include "supervisor_parts.h"
#include "test_pool.h"

#define NOBODY 65534

static char root[] = "/tmp/trust-XXXXXX"; /* in a folder with the sticky bit */

static const char *path(const char *name)
{
    return apr_pstrcat(test_pool, root, "/", name, NULL);
}

static int setup(void **state)
{
    int fd;

    test_pool_setup(state);
    if (geteuid())
        return 0;
    strcpy(root + sizeof root - 7, "XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_int_equal(mkdir(path("bin"), 0755), 0);
    fd = open(path("bin/brigade"), O_CREAT | O_WRONLY, 0755);
    assert_true(fd >= 0);
    return close(fd);
}

static int teardown(void **state)
{
    static const char *const names[] = {"bin/brigade", "bin/link", "link", "one", "two"};

    for (size_t i = 0; !geteuid() && i < sizeof names / sizeof *names; i++)
        unlink(path(names[i]));
    if (!geteuid()) {
        rmdir(path("bin"));
        rmdir(root);
    }
    return test_pool_teardown(state);
}

static int trusted(const char *name)
{
    return upgrade_is_trusted(path(name), test_pool);
}

/* Where /tmp itself is not root's alone, nothing below it is. */
#define ONLY_AS_ROOT                                         \
    if (geteuid() || !upgrade_is_trusted("/tmp", test_pool)) \
        skip();

static void what_is_root_s_alone_is_trusted(void **state)
{
    ONLY_AS_ROOT
    assert_true(trusted("bin/brigade"));
    assert_true(trusted("bin//brigade"));
    assert_true(trusted("bin/"));
}

static void files_of_others_are_not(void **state)
{
    ONLY_AS_ROOT
    assert_int_equal(chown(path("bin/brigade"), NOBODY, NOBODY), 0);
    assert_false(trusted("bin/brigade"));
}

static void files_that_others_may_write_are_not(void **state)
{
    static const mode_t modes[] = {0775, 0757, 0757};

    ONLY_AS_ROOT
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path("bin/brigade"), modes[i]), 0);
        assert_false(trusted("bin/brigade"));
    }
    assert_int_equal(chmod(path("bin/brigade"), 01757), 0); /* the sticky bit is of folders */
    assert_false(trusted("bin/brigade"));
}

static void folders_on_the_way_count(void **state)
{
    ONLY_AS_ROOT
    assert_int_equal(chmod(path("bin"), 0777), 0);
    assert_false(trusted("bin/brigade"));
    assert_int_equal(chmod(path("bin"), 0755), 0);
    assert_int_equal(chown(path("bin"), NOBODY, 0), 0);
    assert_false(trusted("bin/brigade"));
}

static void the_sticky_bit_keeps_files_of_root(void **state)
{
    ONLY_AS_ROOT
    assert_int_equal(chmod(path("bin"), 01777), 0);
    assert_true(trusted("bin/brigade"));
}

static void what_is_not_there_is_not_run(void **state)
{
    ONLY_AS_ROOT
    assert_false(trusted("bin/other"));
    assert_false(trusted("bin/brigade/x"));
}

static void links_are_followed(void **state)
{
    ONLY_AS_ROOT
    assert_int_equal(symlink("brigade", path("bin/link")), 0);
    assert_true(trusted("bin/link"));
    assert_int_equal(symlink(path("bin"), path("link")), 0);
    assert_true(trusted("link/brigade"));
    assert_true(trusted("link/link"));
    assert_int_equal(chmod(path("bin/brigade"), 0757), 0);
    assert_false(trusted("bin/link"));
    assert_false(trusted("link/brigade"));
}

static void links_of_others_are_not_followed(void **state)
{
    ONLY_AS_ROOT
    assert_int_equal(symlink(path("bin"), path("link")), 0);
    assert_int_equal(lchown(path("link"), NOBODY, NOBODY), 0);
    assert_false(trusted("link/brigade"));
}

static void links_in_a_circle_lead_nowhere(void **state)
{
    ONLY_AS_ROOT
    assert_int_equal(symlink("two", path("one")), 0);
    assert_int_equal(symlink("one", path("two")), 0);
    assert_false(trusted("one"));
    assert_false(trusted("one/brigade"));
}

#define TRUST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRUST(what_is_root_s_alone_is_trusted),
        TRUST(files_of_others_are_not),
        TRUST(files_that_others_may_write_are_not),
        TRUST(folders_on_the_way_count),
        TRUST(the_sticky_bit_keeps_files_of_root),
        TRUST(what_is_not_there_is_not_run),
        TRUST(links_are_followed),
        TRUST(links_of_others_are_not_followed),
        TRUST(links_in_a_circle_lead_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
