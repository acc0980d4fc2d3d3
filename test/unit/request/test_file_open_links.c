/* SPDX-License-Identifier: Apache-2.0 */
/* Opening by components: which links are followed, and that what was opened is what was checked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_open_private.h"

static char root[] = "/tmp/brigade-links-XXXXXX";
static char path[256], links[64];

static const char *under(const char *name)
{
    snprintf(path, sizeof path, "%s%s", root, name);
    return path;
}

/* All components up to the root of the test may be links, those below it are as told. */
static int open_under(const char *name, const char *below)
{
    int fd;

    snprintf(links, sizeof links, "ff%s", below);
    fd = file_open_by_links(under(name), links);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

static int setup(void **state)
{
    FILE *f;

    assert_non_null(mkdtemp(root));
    assert_int_equal(mkdir(under("/d"), 0755), 0);
    assert_non_null(f = fopen(under("/d/f"), "w"));
    fclose(f);
    assert_int_equal(symlink("d", under("/ln")), 0);
    assert_int_equal(symlink("../d/f", under("/d/to")), 0);
    assert_int_equal(symlink("nowhere", under("/d/dangling")), 0);
    if (geteuid() == 0) {
        assert_int_equal(symlink("d", under("/other")), 0);
        assert_int_equal(lchown(under("/other"), 65534, 65534), 0);
    }
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"/other", "/d/dangling", "/d/to", "/ln", "/d/f"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(under(names[i]));
    rmdir(under("/d"));
    return rmdir(root);
}

static void links_are_followed_where_they_may_be(void **state)
{
    assert_int_equal(open_under("/d/f", "nn"), 0);
    assert_int_equal(open_under("/ln/f", "ff"), 0);
    assert_int_equal(open_under("/ln/f", ""), 0);
    assert_int_equal(open_under("/ln/f", "fn"), 0);
    assert_int_equal(open_under("/ln/f", "nf"), ELOOP);
    assert_int_equal(open_under("/ln/f", "on"), 0);
    assert_int_equal(open_under("/d/to", "no"), 0);
    assert_int_equal(open_under("/d/to", "nn"), ELOOP);
    assert_int_equal(open_under("/ln/to", "oo"), 0);
}

static void another_owner_ends_it(void **state)
{
    if (geteuid())
        skip();
    assert_int_equal(open_under("/other/f", "fo"), 0);
    assert_int_equal(open_under("/other/f", "oo"), ELOOP);
}

static void what_is_not_there_is_told(void **state)
{
    assert_int_equal(open_under("/d/none", "nn"), ENOENT);
    assert_int_equal(open_under("/d/dangling", "no"), ENOENT);
    assert_int_equal(open_under("/d/f/x", "nnn"), ENOTDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_followed_where_they_may_be),
        cmocka_unit_test(another_owner_ends_it),
        cmocka_unit_test(what_is_not_there_is_told),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
