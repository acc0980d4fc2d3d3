/* SPDX-License-Identifier: Apache-2.0 */
/* Each way in which a path can come to mean something else, in a real folder. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static int with_ring;

static watch_set *new_set(void)
{
    watch_set *w = watch_set_create(100);

    if (w && with_ring)
        watch_ring_open(w);
    return w;
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
    {"name in a missing directory", "", "a/x/y/f", "mkdir -p a/x/y", 1},
    {"name in a missing directory, other made", "", "a/x/y/f", "mkdir -p a/z/y", 0},
    {"dangling link's target made", "ln -s ../out/f a/l", "a/l", "mkdir out && echo x > out/f", 1},
    {"far end of a chain of dangling links made",
     "mkdir out && ln -s out/two one && ln -s f out/two", "one", "echo x > out/f", 1},
    {"directory link that dangles", "ln -s away a/l", "a/l/f", "mkdir a/away", 1},
    {"file below a file", "", "a/b/c/f/g", "rm a/b/c/f && mkdir a/b/c/f", 1},
    {"path with empty and dot components", "", "a//b/./c/f", "mv a/b a/old", 1},
    {"link text with empty components", "ln -s .//a/./b cur", "cur/c/f", "mv a/b a/old", 1},
    {"link up and down", "ln -s ../../a/b/c a/b/l", "a/b/l/f", "mv a/b/c a/b/d", 1},
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
        watch_set *w = new_set();
        watch_owner owner = {0};

        if (!w)
            skip();
        fresh_tree();
        if (*c->setup)
            run(c->setup);
        assert_int_equal(watch_add(w, &owner, at(c->path), 0), 0);
        watch_drain(w);
        assert_int_equal(watch_changed(w, &owner), 0);
        run(c->command);
        watch_drain(w);
        if (watch_changed(w, &owner) != c->expected)
            fail_msg("%s: changed = %d", c->name, !c->expected);
        watch_remove(w, &owner);
        assert_int_equal(watch_count(w), 0);
        watch_set_destroy(w);
    }
}

static int add_both(watch_set *w, watch_owner *owner, const char *path, const char *const *names)
{
    return watch_add(w, owner, path, 0) || watch_add_names(w, owner, path, names);
}

static void test_also_names_and_any(void **state)
{
    static const char *const names[] = {".htaccess", NULL};
    watch_set *w = new_set();
    watch_owner owner = {0}, any = {0};

    if (!w)
        skip();
    fresh_tree();
    assert_int_equal(add_both(w, &owner, at("a/b/c/f"), names), 0);
    assert_int_equal(watch_add(w, &any, at("a/b/c/f"), WATCH_ENTRIES), 0);
    put("a/b/c/new", "x");
    watch_drain(w);
    assert_int_equal(watch_changed(w, &owner), 0);
    assert_int_equal(watch_changed(w, &any), 1);
    put("a/.htaccess", "x");
    watch_drain(w);
    assert_int_equal(watch_changed(w, &owner), 1);
    watch_remove(w, &owner);
    assert_int_equal(add_both(w, &owner, at("a/b/c/f"), names), 0);
    put("a/.htaccess", "y"); /* content of one that exists */
    watch_drain(w);
    assert_int_equal(watch_changed(w, &owner), 1);
    watch_remove(w, &owner);
    watch_remove(w, &any);
    assert_int_equal(watch_count(w), 0);
    watch_set_destroy(w);
}

/* An access file is a path like any other: links, missing folders on its way, slashes in its name. */
static const change access_changes[] = {
    {"made", "", "a/b/c/f", "echo x > a/.htaccess", 1},
    {"made beside", "", "a/b/c/f", "mkdir a/d && echo x > a/d/.htaccess", 0},
    {"made in the folder that is asked for", "", "a/b/c", "echo x > a/b/c/.htaccess", 1},
    {"a link whose folder link is swapped",
     "mkdir one two && echo 1 > one/r && echo 2 > two/r && ln -s one cur && ln -s ../cur/r "
     "a/.htaccess",
     "a/b/c/f", "ln -s two n && mv -T n cur", 1},
    {"a link whose target's folder is replaced",
     "mkdir one && echo 1 > one/r && ln -s ../one/r a/.htaccess", "a/b/c/f",
     "mv one old && mkdir one && echo 2 > one/r", 1},
    {"a dangling link whose target appears", "ln -s ../one/r a/.htaccess", "a/b/c/f",
     "mkdir one && echo 2 > one/r", 1},
    {"a name with a folder that appears", "", "a/b/c/f", "mkdir a/.conf && echo x > a/.conf/acl",
     1},
    {"a name with a folder, file made", "mkdir a/b/.conf", "a/b/c/f", "echo x > a/b/.conf/acl", 1},
    {"a name with a folder, other made", "mkdir a/b/.conf", "a/b/c/f", "echo x > a/b/.conf/b", 0},
};

static void test_access_files(void **state)
{
    static const char *const names[] = {".htaccess", ".conf/acl", NULL};

    for (size_t i = 0; i < sizeof access_changes / sizeof *access_changes; i++) {
        const change *c = &access_changes[i];
        watch_set *w = new_set();
        watch_owner owner = {0}, second = {0};

        fresh_tree();
        if (*c->setup)
            run(c->setup);
        assert_int_equal(add_both(w, &owner, at(c->path), names), 0);
        assert_int_equal(add_both(w, &second, at(c->path), names), 0);
        watch_drain(w);
        assert_int_equal(watch_changed(w, &owner), 0);
        run(c->command);
        watch_drain(w);
        if (watch_changed(w, &owner) != c->expected || watch_changed(w, &second) != c->expected)
            fail_msg("%s: changed = %d, %d", c->name, watch_changed(w, &owner),
                     watch_changed(w, &second));
        watch_remove(w, &owner);
        watch_remove(w, &second);
        watch_set_destroy(w);
    }
}

static void test_many_owners_of_one_directory(void **state)
{
    static watch_owner owner[50];
    watch_set *w = new_set();

    if (!w)
        skip();
    fresh_tree();
    run("for i in $(seq 0 49); do echo x > a/b/c/n$i; done");
    for (int i = 0; i < 50; i++) {
        char rel[32];

        snprintf(rel, sizeof rel, "a/b/c/n%d", i);
        assert_int_equal(watch_add(w, &owner[i], at(rel), 0), 0);
    }
    run("echo y > a/b/c/n7 && rm a/b/c/n9");
    watch_drain(w);
    for (int i = 0; i < 50; i++)
        assert_int_equal(watch_changed(w, &owner[i]), i == 7 || i == 9);
    run("mv a/b a/c2");
    watch_drain(w);
    for (int i = 0; i < 50; i++)
        assert_int_equal(watch_changed(w, &owner[i]), 1);
    for (int i = 0; i < 50; i++)
        watch_remove(w, &owner[i]);
    assert_int_equal(watch_count(w), 0);
    watch_set_destroy(w);
}

/* Owners beyond the first make no call for a file; what happened to it before they came they are told all the same. */
static void test_a_file_is_put_under_watch_once(void **state)
{
    watch_set *w = new_set();
    watch_owner first = {0}, second = {0}, third = {0};
    unsigned watches;

    if (!w)
        skip();
    fresh_tree();
    assert_int_equal(watch_add(w, &first, at("a/b/c/f"), 0), 0);
    watch_drain(w);
    watches = watch_count(w);
    run("echo y > a/b/c/g && mv a/b/c/g a/b/c/f");
    assert_int_equal(watch_add(w, &second, at("a/b/c/f"), 0), 0);
    assert_int_equal(watch_count(w), watches); /* else the file that is there now is one more */
    watch_drain(w);
    assert_int_equal(watch_changed(w, &first), 1);
    assert_int_equal(watch_changed(w, &second), 1);
    watch_remove(w, &first);
    watch_remove(w, &second);
    assert_int_equal(watch_add(w, &third, at("a/b/c/f"), 0), 0);
    watch_drain(w);
    assert_int_equal(watch_changed(w, &third), 0);
    run("echo z >> a/b/c/f");
    watch_drain(w);
    assert_int_equal(watch_changed(w, &third), 1);
    watch_remove(w, &third);
    assert_int_equal(watch_count(w), 0);
    watch_set_destroy(w);
}

/* In a mount namespace of its own, where that may be made. */
static void test_mounts(void **state)
{
    watch_owner owner = {0}, by_link = {0}, elsewhere = {0};
    watch_set *w;

    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        skip();
    fresh_tree();
    put("a/other", "o");
    put("a/over", "x");
    assert_int_equal(symlink("a/b", at("link")), 0);
    w = new_set();
    assert_int_equal(watch_add(w, &elsewhere, at("a/other"), 0), 0);
    for (int round = 0; round < 3; round++) { /* a mount over the folder, a bind, an unmount */
        assert_int_equal(watch_add(w, &owner, at("a/b/c/f"), 0), 0);
        assert_int_equal(watch_add(w, &by_link, at("link/c/f"), 0), 0);
        watch_drain(w);
        assert_int_equal(watch_changed(w, &owner), 0);
        assert_int_equal(watch_changed(w, &by_link), 0);
        if (round == 0)
            assert_int_equal(mount("none", at("a/b"), "tmpfs", 0, NULL), 0);
        else if (round == 1)
            assert_int_equal(mount(at("a"), at("a/b"), NULL, MS_BIND, NULL), 0);
        else
            assert_int_equal(umount2(at("a/b"), MNT_DETACH), 0);
        watch_drain(w);
        assert_int_equal(watch_changed(w, &owner), 1);
        assert_int_equal(watch_changed(w, &by_link), 1);
        assert_int_equal(watch_changed(w, &elsewhere), 0);
        watch_remove(w, &owner);
        watch_remove(w, &by_link);
    }
    assert_int_equal(umount2(at("a/b"), MNT_DETACH), 0);
    assert_int_equal(watch_counts_of(w)->flushes, 0);
    assert_int_equal(mount(at("a/over"), at("a/other"), NULL, MS_BIND, NULL),
                     0); /* a file over a file */
    assert_int_equal(watch_add(w, &owner, at("a/other"), 0), 0);
    watch_drain(w);
    assert_int_equal(watch_changed(w, &elsewhere), 1);
    watch_remove(w, &elsewhere);
    watch_remove(w, &owner);
    assert_int_equal(watch_add(w, &owner, at("a/other"), 0), 0);
    assert_int_equal(umount2(at("a/other"), MNT_DETACH), 0);
    watch_drain(w);
    assert_int_equal(watch_changed(w, &owner), 1);
    watch_remove(w, &owner);
    assert_int_equal(watch_count(w), 0);
    watch_set_destroy(w);
}

/* What a caller may conclude from watch_seen(): nothing but a file was new, and no event was read. */
static void test_seen(void **state)
{
    static const char *const names[] = {".htaccess", NULL};
    watch_owner owner[5] = {0};
    watch_set *w = new_set();
    uint64_t before;

    if (!w)
        skip();
    fresh_tree();
    put("a/b/c/g", "x");
    before = watch_seen(w);
    assert_true(before > 0);
    assert_int_equal(watch_add(w, &owner[0], at("a/b/c/f"), 0), 0);
    assert_true(watch_seen(w) > before + WATCH_SEEN_FILE); /* folders, too */
    before = watch_seen(w);
    assert_int_equal(add_both(w, &owner[1], at("a/b/c/f"), names), 0);
    assert_int_equal(watch_seen(w),
                     before); /* names that do not exist, in folders that are known */
    assert_int_equal(watch_add(w, &owner[2], at("a/b/c/g"), 0), 0);
    assert_int_equal(watch_seen(w), before + WATCH_SEEN_FILE);
    put("a/.htaccess", "x");
    before = watch_seen(w);
    assert_int_equal(watch_add_names(w, &owner[3], at("a/b/c/g"), names), 0);
    assert_int_equal(watch_seen(w), before); /* found out before: what tells of it is on its way */
    watch_drain(w);
    assert_true(watch_seen(w) > before);
    assert_int_equal(watch_changed(w, &owner[3]), 1);
    before = watch_seen(w);
    assert_int_equal(watch_add_names(w, &owner[4], at("a/b/c/g"), names), 0);
    assert_int_equal(watch_seen(w), before + WATCH_SEEN_FILE); /* a file that was not under watch */
    watch_drain(w);
    assert_int_equal(watch_seen(w), before + WATCH_SEEN_FILE);
    for (int i = 0; i < 5; i++)
        watch_remove(w, &owner[i]);
    watch_set_destroy(w);
}

static void test_not_local(void **state)
{
    watch_set *w = new_set();
    watch_owner owner = {0};

    assert_int_equal(watch_add(w, &owner, "/proc/self/status", 0), -1);
    assert_int_equal(watch_count(w), 0);
    assert_int_equal(watch_bytes(w), 0);
    watch_set_destroy(w);
}

/* More events than the kernel keeps: everything counts as changed. */
static void test_events_lost(void **state)
{
    watch_set *w = new_set();
    watch_owner owner = {0}, later = {0};
    char most[32] = "";
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    long n;

    assert_non_null(f);
    assert_non_null(fgets(most, sizeof most, f));
    fclose(f);
    if ((n = atol(most)) > 200000)
        skip();
    fresh_tree();
    assert_int_equal(watch_add(w, &owner, at("a/b/c/f"), 0), 0);
    for (long i = 0; i <= n / 2; i++) { /* two events each, that are not the same */
        put("a/b/x", "");
        assert_int_equal(unlink(at("a/b/x")), 0);
    }
    watch_drain(w);
    assert_int_equal(watch_counts_of(w)->flushes, 1);
    assert_int_equal(watch_changed(w, &owner), 1);
    assert_int_equal(watch_add(w, &later, at("a/b/c/f"), 0), 0);
    watch_drain(w);
    assert_int_equal(watch_changed(w, &later), 0);
    put("a/b/c/f", "new");
    watch_drain(w);
    assert_int_equal(watch_changed(w, &later), 1);
    watch_remove(w, &owner);
    watch_remove(w, &later);
    assert_int_equal(watch_bytes(w), 0);
    watch_set_destroy(w);
}

#define ROUNDS 2000

/* Changes the file, then says so; waits for a word before the next one. */
static void change_and_tell(int told)
{
    char word = 0;

    for (int i = 0; i < ROUNDS; i++) {
        int fd = open(at("a/b/c/f"), O_WRONLY | O_APPEND);

        if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) || send(told, &word, 1, 0) != 1 ||
            recv(told, &word, 1, 0) != 1)
            _exit(1);
    }
    _exit(0);
}

/* What was changed before a message was sent is known when the message is there. */
static void test_changes_come_before_what_tells_of_them(void **state)
{
    watch_set *w = new_set();
    watch_owner owner = {0}, folders = {0};
    int told[2], status;
    char word;
    pid_t child;

    if (!w)
        skip();
    fresh_tree();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, told), 0);
    assert_int_equal(watch_add(w, &owner, at("a/b/c/f"), 0), 0);
    /* Once watched: the kernel goes through all names that it remembers of a folder when the first watch is set. */
    assert_int_equal(watch_add(w, &folders, at("a/b/c/other"), 0), 0);
    watch_drain(w);
    child = fork();
    if (!child)
        change_and_tell(told[1]);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(recv(told[0], &word, 1, 0), 1);
        watch_drain(w);
        assert_int_equal(watch_changed(w, &owner), 1);
        watch_remove(w, &owner);
        assert_int_equal(watch_add(w, &owner, at("a/b/c/f"), 0), 0);
        watch_drain(w);
        assert_int_equal(watch_changed(w, &owner), 0);
        assert_int_equal(send(told[0], &word, 1, 0), 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(told[0]);
    close(told[1]);
    watch_remove(w, &owner);
    watch_remove(w, &folders);
    watch_set_destroy(w);
}

static void test_silence_costs_no_call(void **state)
{
    watch_set *w = new_set();
    uint64_t looks;

    if (!w)
        skip();
    watch_drain(w);
    looks = watch_counts_of(w)->looks;
    for (int i = 0; i < 100; i++)
        watch_drain(w);
    if (with_ring && watch_counts_of(w)->looks == looks + 100)
        print_message("this kernel has no io_uring for us\n");
    else
        assert_int_equal(watch_counts_of(w)->looks - looks, with_ring ? 0 : 100);
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
        cmocka_unit_test(test_access_files),
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_events_lost),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_not_local),
        cmocka_unit_test(test_many_owners_of_one_directory),
        cmocka_unit_test(test_a_file_is_put_under_watch_once),
        cmocka_unit_test(test_changes_come_before_what_tells_of_them),
        cmocka_unit_test(test_silence_costs_no_call),
    };
    int failed = cmocka_run_group_tests_name("watch", tests, group_setup, group_teardown);

    with_ring = 1;
    strcpy(strrchr(root, '-'), "-XXXXXX");
    return failed + cmocka_run_group_tests_name("watch_ring", tests, group_setup, group_teardown);
}
