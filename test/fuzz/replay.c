/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target, which the first argument names, over files and folders: the way in without
 * libFuzzer. Each input is also given with every prefix cut off at a few places, so that truncated
 * inputs are part of every replay. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEST(name) int name(const uint8_t *data, size_t size);
#include TEST_LIST
#undef TEST

typedef int replay_target(const uint8_t *data, size_t size);

static const struct {
    const char *name;
    replay_target *run;
} targets[] = {
#define TEST(name) {#name, name},
#include TEST_LIST
};

static replay_target *target;
static unsigned long runs;

static void replay_bytes(const uint8_t *data, size_t size)
{
    /* A copy of the exact size, so that a sanitizer sees the first byte read beyond it. */
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    target(copy, size);
    free(copy);
    runs++;
}

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    static uint8_t buf[1 << 20];
    size_t n, cut;

    if (!f) {
        perror(path);
        exit(1);
    }
    n = fread(buf, 1, sizeof buf, f);
    fclose(f);
    replay_bytes(buf, n);
    for (cut = 1; cut < n; cut += 1 + n / 64)
        replay_bytes(buf, cut);
}

static void replay_path(const char *path)
{
    struct stat st;
    struct dirent *e;
    DIR *d;

    if (stat(path, &st))
        return; /* a target without kept regressions */
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    d = opendir(path);
    if (!d)
        return;
    while ((e = readdir(d)) != NULL) {
        char name[4096];

        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        replay_path(name);
    }
    closedir(d);
}

int main(int argc, char **argv)
{
    static const uint8_t none[1];

    for (size_t i = 0; argc > 1 && i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, argv[1]))
            target = targets[i].run;
    if (!target) {
        fprintf(stderr, "The first argument names a target.\n");
        return 1;
    }
    replay_bytes(none, 0);
    for (int i = 2; i < argc; i++)
        replay_path(argv[i]);
    printf("%lu inputs\n", runs);
    return runs > 1 ? 0 : 1;
}
