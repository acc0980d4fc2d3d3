/* SPDX-License-Identifier: Apache-2.0 */
/* Each way in which a path can come to mean something else, in a real folder. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "watch.h"

static char root[] = "/tmp/brigade-watch-XXXXXX";
static char path_buf[8][512];

static const char *at(const char *rel)
{
    static int n;
    char *out = path_buf[n++ % 8];

    snprintf(out, sizeof path_buf[0], "%s/%s", root, rel);
    return out;
}

static void put(const char *rel, const char *text)
{
    FILE *f = fopen(at(rel), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void run(const char *command)
{
    char line[1024];

    snprintf(line, sizeof line, "cd %s && %s", root, command);
    assert_int_equal(system(line), 0);
}

typedef struct change {
    const char *name, *setup, *path, *command;
    int expected;
} change;

static const change changes[] = {
    {"nothing", "", "a/b/c/f", "true", 0},
    {"content", "", "a/b/c/f", "echo x >> a/b/c/f", 1},
    {"content through a hard link", "ln a/b/c/f other", "a/b/c/f", "echo x >> other", 1},
    {"replaced by rename", "", "a/b/c/f", "echo y > new && mv new a/b/c/f", 1},
    {"deleted", "", "a/b/c/f", "rm a/b/c/f", 1},
    {"permissions", "", "a/b/c/f", "chmod 600 a/b/c/f", 1},
    {"time stamp", "", "a/b/c/f", "touch -d 2001-01-01 a/b/c/f", 1},
    {"sibling", "", "a/b/c/f", "echo z > a/b/c/g", 0},
    {"directory replaced", "", "a/b/c/f", "mv a/b a/old && mkdir -p a/b/c && echo n > a/b/c/f", 1},
    {"directory renamed", "", "a/b/c/f", "mv a/b a/old", 1},
    {"ancestor renamed", "", "a/b/c/f", "mv a old", 1},
    {"ancestor's permissions", "", "a/b/c/f", "chmod 700 a/b", 1},
    {"sibling of an ancestor", "", "a/b/c/f", "mkdir a/x && touch a/x/y", 0},
    {"link retargeted", "ln -s a/b/c/f link", "link", "ln -sfn a/b/c/g link", 1},
    {"link's target changed", "ln -s a/b/c/f link", "link", "echo x >> a/b/c/f", 1},
    {"link's target replaced", "ln -s a/b/c/f link", "link", "echo y > new && mv new a/b/c/f", 1},
    {"directory link retargeted", "ln -s a/b cur && mkdir -p z/c && echo o > z/c/f", "cur/c/f",
     "ln -s z cur2 && mv -T cur2 cur", 1},
    {"chain of links retargeted",
     "ln -s a/b one && ln -s one two && mkdir -p z/c && echo o > z/c/f", "two/c/f",
     "ln -s z n && mv -T n one", 1},
    {"linked directory's target renamed", "ln -s a/b cur", "cur/c/f", "mv a/b a/gone", 1},
    {"missing file made", "", "a/b/c/missing", "echo m > a/b/c/missing", 1},
    {"missing file, other made", "", "a/b/c/missing", "echo m > a/b/c/other", 0},
};

static void fresh_tree(void)
{
    run("rm -rf ./* && mkdir -p a/b/c && echo f > a/b/c/f && echo g > a/b/c/g");
}

static void test_changes(void **state)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const change *c = &changes[i];
        watch_set *w = watch_set_create();
        watch_owner owner = {NULL, 0};

        if (!w)
            skip();
        fresh_tree();
        if (*c->setup)
            run(c->setup);
        assert_int_equal(watch_add(w, &owner, at(c->path), NULL, NULL, 0), 0);
        watch_drain(w);
        assert_int_equal(owner.changed, 0);
        run(c->command);
        watch_drain(w);
        if (owner.changed != c->expected)
            fail_msg("%s: changed = %d", c->name, owner.changed);
        watch_remove(w, &owner);
        assert_int_equal(watch_count(w), 0);
        watch_set_destroy(w);
    }
}

static void test_also_names_and_any(void **state)
{
    static const char *const names[] = {".htaccess", NULL};
    watch_set *w = watch_set_create();
    watch_owner owner = {NULL, 0}, any = {NULL, 0};

    if (!w)
        skip();
    fresh_tree();
    assert_int_equal(watch_add(w, &owner, at("a/b/c/f"), root, names, 0), 0);
    assert_int_equal(watch_add(w, &any, at("a/b/c/f"), NULL, NULL, 1), 0);
    put("a/b/c/new", "x");
    watch_drain(w);
    assert_int_equal(owner.changed, 0);
    assert_int_equal(any.changed, 1);
    put("a/.htaccess", "x");
    watch_drain(w);
    assert_int_equal(owner.changed, 1);
    watch_remove(w, &owner);
    owner.changed = 0;
    assert_int_equal(watch_add(w, &owner, at("a/b/c/f"), root, names, 0), 0);
    put("a/.htaccess", "y"); /* content of one that exists */
    watch_drain(w);
    assert_int_equal(owner.changed, 1);
    watch_remove(w, &owner);
    watch_remove(w, &any);
    assert_int_equal(watch_count(w), 0);
    watch_set_destroy(w);
}

static void test_many_owners_of_one_directory(void **state)
{
    static watch_owner owner[50];
    watch_set *w = watch_set_create();

    if (!w)
        skip();
    fresh_tree();
    run("for i in $(seq 0 49); do echo x > a/b/c/n$i; done");
    for (int i = 0; i < 50; i++) {
        char rel[32];

        snprintf(rel, sizeof rel, "a/b/c/n%d", i);
        assert_int_equal(watch_add(w, &owner[i], at(rel), NULL, NULL, 0), 0);
    }
    run("echo y > a/b/c/n7 && rm a/b/c/n9");
    watch_drain(w);
    for (int i = 0; i < 50; i++)
        assert_int_equal(owner[i].changed, i == 7 || i == 9);
    run("mv a/b a/c2");
    watch_drain(w);
    for (int i = 0; i < 50; i++)
        assert_int_equal(owner[i].changed, 1);
    for (int i = 0; i < 50; i++)
        watch_remove(w, &owner[i]);
    assert_int_equal(watch_count(w), 0);
    watch_set_destroy(w);
}

static int group_setup(void **state)
{
    return mkdtemp(root) ? 0 : -1;
}

static int group_teardown(void **state)
{
    char line[256];

    snprintf(line, sizeof line, "rm -rf %s", root);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_also_names_and_any),
        cmocka_unit_test(test_many_owners_of_one_directory),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
