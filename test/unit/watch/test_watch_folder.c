/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a directory: whether it is the same, how often its entries changed, which names it lacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "watch.h"

static char root[] = "/tmp/brigade-folder-XXXXXX";
static char dir[64];
static watch_set *set;

static void run(const char *command)
{
    char line[512];

    snprintf(line, sizeof line, "cd %s && %s", dir, command);
    assert_int_equal(system(line), 0);
}

static int setup(void **state)
{
    snprintf(dir, sizeof dir, "%s/d", root);
    assert_int_equal(mkdir(dir, 0755), 0);
    set = watch_set_create(10);
    assert_non_null(set);
    return 0;
}

static int teardown(void **state)
{
    char line[256];

    watch_set_destroy(set); /* asserts that nothing is left */
    snprintf(line, sizeof line, "rm -rf %s/*", root);
    return system(line);
}

static watch_folder *opened(void)
{
    watch_folder *d = watch_folder_open(set, dir, strlen(dir));

    assert_non_null(d);
    return d;
}

static int lacks(const watch_folder *d, const char *name)
{
    watch_drain(set);
    return watch_folder_lacks(d, name, strlen(name));
}

static void knows_names(watch_folder *d)
{
    watch_names *names = watch_names_read(dir);

    assert_non_null(names);
    watch_folder_set_names(set, d, names);
    assert_true(watch_folder_has_names(d));
}

static void names_that_come_are_seen(void **state)
{
    watch_folder *d = opened();

    run("touch here");
    assert_false(lacks(d, "none")); /* not known yet */
    watch_drain(set);
    knows_names(d);
    assert_true(lacks(d, "none"));
    assert_false(lacks(d, "here"));
    run("touch none");
    assert_false(lacks(d, "none"));
    run("mkdir folder && ln -s nowhere link && mv here there");
    assert_false(lacks(d, "folder"));
    assert_false(lacks(d, "link"));
    assert_false(lacks(d, "there"));
    assert_true(lacks(d, "THERE"));
    watch_folder_close(set, d);
}

static void a_name_never_counts_as_missing(void **state)
{
    watch_folder *d = opened();
    char name[32];

    run("for i in $(seq 3000); do echo > n$i; done");
    watch_drain(set);
    knows_names(d);
    for (int i = 1; i <= 3000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_false(watch_folder_lacks(d, name, strlen(name)));
    }
    assert_true(lacks(d, "n3001"));
    run("for i in $(seq 3001 9000); do echo > n$i; done"); /* more than there is room for */
    for (int i = 1; i <= 9000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_false(lacks(d, name));
    }
    watch_folder_close(set, d);
}

static void changes_are_counted(void **state)
{
    watch_folder *d = opened();
    uint32_t before = watch_folder_changes(d);

    run("touch a");
    watch_drain(set);
    assert_true(watch_folder_changes(d) != before);
    before = watch_folder_changes(d);
    run("chmod 600 a");
    watch_drain(set);
    assert_true(watch_folder_changes(d) != before);
    before = watch_folder_changes(d);
    watch_drain(set);
    assert_int_equal(watch_folder_changes(d), before);
    watch_folder_close(set, d);
}

static void another_folder_is_not_current(void **state)
{
    static const char *const changes[] = {"mv ../d ../e && mkdir ../d", "chmod 700 .",
                                          "mv ../d ../e && ln -s e ../d",
                                          "rmdir ../d && mkdir ../d"};

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        watch_folder *d = opened();

        assert_true(watch_folder_is_current(set, d));
        run(changes[i]);
        watch_drain(set);
        assert_false(watch_folder_is_current(set, d));
        watch_folder_close(set, d);
        run("cd .. && rm -rf d e && mkdir d");
        watch_drain(set);
    }
}

static void links_are_told(void **state)
{
    char path[80];
    watch_folder *d;

    snprintf(path, sizeof path, "%s/../link", dir);
    run("ln -s d ../link");
    snprintf(path, sizeof path, "%s/link", root);
    d = watch_folder_open(set, path, strlen(path));
    assert_non_null(d);
    assert_true(watch_folder_is_link(d));
    watch_names *names = watch_names_read(path);
    assert_non_null(names);
    watch_folder_set_names(set, d, names);
    assert_true(lacks(d, "new"));
    run("touch new"); /* by its other path */
    assert_false(lacks(d, "new"));
    watch_folder_close(set, d);
}

static void what_is_no_folder_is_told(void **state)
{
    char path[80];

    snprintf(path, sizeof path, "%s/none", dir);
    assert_null(watch_folder_open(set, path, strlen(path)));
    assert_int_equal(errno, ENOENT);
    run("touch none");
    assert_null(watch_folder_open(set, path, strlen(path)));
    assert_int_equal(errno, ENOTDIR);
    assert_null(watch_names_read("/proc/self")); /* changes there make no events */
}

static int group_setup(void **state)
{
    return mkdtemp(root) ? 0 : -1;
}

static int group_teardown(void **state)
{
    return rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_that_come_are_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_never_counts_as_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(changes_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(another_folder_is_not_current, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_folder_is_told, setup, teardown),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
