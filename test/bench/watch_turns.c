/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a loop stands still for changes to a large tree: OWNERS files in DIRS folders are under
 * watch with access files, then the folder above is changed in several ways. Each line: microseconds
 * of the turn that reads the events, and of the dearest question after it.
 *
 *   watch_turns [FOLDER [OWNERS [DIRS]]]
 */
#include "watch.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char root[256];
static watch_owner *owners;
static long owners_n = 100000, dirs_n = 10000;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static const char *file_of(long i)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/site/d%ld/f%ld", root, i % dirs_n, i);
    return path;
}

static void make_tree(void)
{
    char path[512];

    snprintf(path, sizeof path, "%s/site", root);
    mkdir(root, 0755);
    mkdir(path, 0755);
    for (long i = 0; i < dirs_n; i++) {
        snprintf(path, sizeof path, "%s/site/d%ld", root, i);
        mkdir(path, 0755);
    }
    for (long i = 0; i < owners_n; i++)
        close(open(file_of(i), O_CREAT | O_WRONLY, 0644));
}

static void watch_all(watch_set *w)
{
    static const char *const names[] = {".htaccess", NULL};
    double begin = now_us();

    for (long i = 0; i < owners_n; i++) {
        watch_remove(w, &owners[i]);
        if (watch_add(w, &owners[i], file_of(i), 0) ||
            watch_add_names(w, &owners[i], file_of(i), names)) {
            fprintf(stderr, "%s cannot be watched: raise fs.inotify.max_user_watches\n",
                    file_of(i));
            exit(1);
        }
    }
    watch_drain(w);
    printf("%ld files in %ld folders: %u watches, %zu bytes each (kernel included), %.2f us to add "
           "one\n",
           owners_n, dirs_n, watch_count(w), watch_bytes(w) / (size_t)owners_n,
           (now_us() - begin) / (double)owners_n);
}

static void measure(watch_set *w, const char *what)
{
    double begin = now_us(), turn, dearest = 0, all;
    long changed = 0;

    watch_drain(w);
    turn = now_us() - begin;
    begin = now_us();
    for (long i = 0; i < owners_n; i++) {
        double one = now_us();

        changed += watch_changed(w, &owners[i]);
        one = now_us() - one;
        dearest = one > dearest ? one : dearest;
    }
    all = now_us() - begin;
    printf("%-28s turn %9.1f us, dearest question %7.1f us, all questions %9.1f us, %ld changed\n",
           what, turn, dearest, all, changed);
}

static void flood(void)
{
    char path[512];

    for (int i = 0; i < 20000; i++) {
        snprintf(path, sizeof path, "%s/site/d%ld/x", root, i % dirs_n);
        close(open(path, O_CREAT | O_WRONLY, 0644));
        unlink(path);
    }
}

int main(int argc, char **argv)
{
    char path[512], other[512];
    watch_set *w;

    snprintf(root, sizeof root, "%s/brigade-watch-turns", argc > 1 ? argv[1] : "/tmp");
    owners_n = argc > 2 ? atol(argv[2]) : owners_n;
    dirs_n = argc > 3 ? atol(argv[3]) : dirs_n;
    owners = calloc((size_t)owners_n, sizeof *owners);
    w = watch_set_create((size_t)owners_n);
    if (!owners || !w)
        return 1;
    make_tree();
    snprintf(path, sizeof path, "%s/site", root);
    watch_all(w);
    measure(w, "nothing happened");
    close(open(file_of(7), O_WRONLY | O_TRUNC));
    utimensat(AT_FDCWD, file_of(7), NULL, 0);
    measure(w, "one file written");
    watch_all(w);
    chmod(path, 0700);
    measure(w, "chmod of the folder above");
    chmod(path, 0755);
    watch_all(w);
    snprintf(other, sizeof other, "%s/.htaccess", path);
    close(open(other, O_CREAT | O_WRONLY, 0644));
    measure(w, "access file in that folder");
    unlink(other);
    watch_all(w);
    flood();
    measure(w, "events lost");
    for (long i = 0; i < owners_n; i++)
        watch_remove(w, &owners[i]);
    watch_set_destroy(w);
    snprintf(path, sizeof path, "rm -rf '%s'", root);
    return system(path) != 0;
}
