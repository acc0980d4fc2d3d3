/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch set against an oracle: random operations on a small tree with links, and random owners.
 * Whenever what a path means has changed (each component, each link on the way, the file at the
 * end), its owner must say so. An owner that says so without need costs a little; how often is
 * counted and bounded. WATCH_MODEL_STEPS and WATCH_MODEL_SEED ask for other runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "watch.h"

#define OWNERS 40
#define MEANING 8192

static char root[] = "/tmp/brigade-model-XXXXXX";
static uint64_t seed = 1;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % n;
}

/* Two to four names out of a few: the same paths are met again and again. */
static void random_path(char *out, size_t room, int with_root)
{
    static const char *const names[] = {"a", "b", "c", "l", "m"};
    int n = 1 + (int)pick(4), len = snprintf(out, room, "%s", with_root ? root : "");

    for (int i = 0; i < n; i++)
        len += snprintf(out + len, room - (size_t)len, "/%s", names[pick(5)]);
}

static void operate(void)
{
    char path[512], other[512], text[512];
    int fd;

    random_path(path, sizeof path, 1);
    random_path(other, sizeof other, 1);
    switch (pick(9)) {
    case 0:
        mkdir(path, 0755);
        break;
    case 1:
    case 2:
        if ((fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_NONBLOCK, 0644)) >= 0) {
            assert_int_equal(write(fd, "x", 1), 1);
            close(fd);
        }
        break;
    case 3:
        unlink(path);
        break;
    case 4:
        rename(path, other);
        break;
    case 5:
        chmod(path, pick(2) ? 0755 : 0700);
        break;
    case 6:
        random_path(text, sizeof text, (int)pick(2));
        if (symlink(text[1] ? text + (text[0] == '/' && strncmp(text, root, 5) != 0) : "a", path))
            unlink(path);
        break;
    case 7:
        rmdir(path);
        break;
    default:
        link(path, other);
    }
}

/* ---- what a path means ---- */

typedef struct meaning {
    char text[MEANING];
    size_t len;
} meaning;

/* A directory's times and links change with its entries, which are not meant; of a file in the place
 * of a directory nothing counts but that it is one. */
static void meaning_add(meaning *m, const struct stat *st, const char *name, const char *text,
                        int is_last)
{
    int is_dir = S_ISDIR(st->st_mode), is_whole = is_dir || S_ISLNK(st->st_mode) || is_last;

    m->len +=
        (size_t)snprintf(m->text + m->len, sizeof m->text - m->len, "%s:%lu:%o:%ld:%s;", name,
                         (unsigned long)(is_whole ? st->st_ino : 0), is_whole ? st->st_mode : 0,
                         is_whole && !is_dir ? st->st_size : 0, text);
    if (m->len > sizeof m->text)
        m->len = sizeof m->text;
}

static void meaning_of(meaning *m, const char *path, int links, int is_final)
{
    char sofar[PATH_MAX] = "", text[PATH_MAX];
    const char *rest = path;

    while (*rest && m->len < sizeof m->text - 1) {
        size_t len = strcspn(rest + 1, "/");
        struct stat st;
        ssize_t n;

        snprintf(sofar + strlen(sofar), sizeof sofar - strlen(sofar), "/%.*s", (int)len, rest + 1);
        rest += len + 1;
        while (*rest == '/' && rest[1] == '/')
            rest++;
        if (lstat(sofar, &st)) {
            m->len +=
                (size_t)snprintf(m->text + m->len, sizeof m->text - m->len, "%s:none;", sofar);
            return;
        }
        text[0] = '\0';
        n = S_ISLNK(st.st_mode) ? readlink(sofar, text, sizeof text - 1) : 0;
        text[n > 0 ? n : 0] = '\0';
        meaning_add(m, &st, sofar, text, is_final && !*rest);
        if (n > 0) {
            char far_end[2 * PATH_MAX];

            if (links > 12)
                return;
            if (text[0] == '/')
                snprintf(far_end, sizeof far_end, "%s", text);
            else
                snprintf(far_end, sizeof far_end, "%.*s/%s", (int)(strrchr(sofar, '/') - sofar),
                         sofar, text);
            meaning_of(m, far_end, links + 1, is_final && !*rest);
        }
    }
}

typedef struct model_owner {
    watch_owner owner;
    char path[512];
    meaning before;
    int used;
} model_owner;

static model_owner owners[OWNERS];

static void renew(watch_set *w, model_owner *o)
{
    if (o->used)
        watch_remove(w, &o->owner);
    random_path(o->path, sizeof o->path, 1);
    o->before.len = 0;
    o->used = watch_add(w, &o->owner, o->path, 0) == 0;
    meaning_of(&o->before, o->path, 0, 1);
}

static void test_random_operations(void **state)
{
    const char *steps_text = getenv("WATCH_MODEL_STEPS"), *seed_text = getenv("WATCH_MODEL_SEED");
    long steps = steps_text ? atol(steps_text) : 20000, unwatched = 0, changes = 0, needless = 0;
    watch_set *w = watch_set_create(16); /* long chains, too */

    seed = seed_text ? strtoull(seed_text, NULL, 10) : 1;
    for (long i = 0; i < steps; i++) {
        model_owner *o = &owners[pick(OWNERS)];
        static meaning now;

        for (unsigned n = 1 + pick(3); n > 0; n--)
            operate();
        watch_drain(w);
        if (pick(2)) { /* others are looked at late, after many generations */
            int changed = o->used && watch_changed(w, &o->owner), differs;

            now.len = 0;
            meaning_of(&now, o->path, 0, 1);
            differs = now.len != o->before.len || memcmp(now.text, o->before.text, now.len) != 0;
            if (o->used && differs && !changed)
                fail_msg("seed %s, step %ld: %s: not noticed\nbefore %.*s\nnow    %.*s",
                         seed_text ? seed_text : "1", i, o->path, (int)o->before.len,
                         o->before.text, (int)now.len, now.text);
            changes += differs;
            needless += changed && !differs;
            unwatched += !o->used;
            if (changed || !o->used)
                renew(w, o);
        }
    }
    print_message("%ld steps: %ld changes noticed, %ld needless, %ld not watchable, %lu rechecks\n",
                  steps, changes, needless, unwatched, (unsigned long)watch_counts_of(w)->rechecks);
    assert_true(changes > steps / 20);
    assert_true(needless < changes);
    for (int i = 0; i < OWNERS; i++)
        if (owners[i].used)
            watch_remove(w, &owners[i].owner);
    assert_int_equal(watch_count(w), 0);
    assert_int_equal(watch_bytes(w), 0);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_operations)};

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
