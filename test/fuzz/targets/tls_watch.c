/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of certificate files as they are watched: any path below a folder with links, folders and files, for a change
 * of one of these. A file whose stamp is another one after it is told as changed.
 * Covers: server/watch/watch.c
 */
#include "tls_certificate.h"
#include "test_config.h"
#include "watch.h"
#include "apr_strings.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/brigade-fuzz-XXXXXX";
static const char *const folders[] = {"live", "archive", "archive/a", "live/a"};
static const char *const files[] = {"archive/a/cert1", "archive/a/cert2", "archive/a/key1",
                                    "plain"};
static const char *const links[][2] = {{"live/a/cert", "../../archive/a/cert1"},
                                       {"live/a/key", "../../archive/a/key1"},
                                       {"loop", "loop"},
                                       {"up", ".."},
                                       {"current", "archive/a"},
                                       {"gone", "archive/b/x"}};

#define N(array) (sizeof(array) / sizeof *(array))

static const char *at(apr_pool_t *p, const char *name)
{
    return apr_pstrcat(p, root, "/", name, NULL);
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        abort();
    close(fd);
}

static void clean(void)
{
    char command[64];

    apr_snprintf(command, sizeof command, "rm -rf %s", root);
    (void)!system(command);
}

static void tree_make(apr_pool_t *p)
{
    for (size_t i = 0; i < N(folders); i++)
        (void)mkdir(at(p, folders[i]), 0700);
    for (size_t i = 0; i < N(files); i++)
        put(at(p, files[i]), "1");
    for (size_t i = 0; i < N(links); i++) {
        (void)unlink(at(p, links[i][0]));
        if (symlink(links[i][1], at(p, links[i][0])))
            abort();
    }
}

static void relink(apr_pool_t *p, const char *target, const char *name)
{
    const char *next = at(p, "next");

    (void)unlink(next);
    if (symlink(target, next) || rename(next, at(p, name)))
        abort();
}

static void change(apr_pool_t *p, unsigned what)
{
    switch (what % 5) {
    case 0:
        put(at(p, files[what / 5 % N(files)]), "22");
        break;
    case 1: /* as certbot does */
        relink(p, "../../archive/a/cert2", "live/a/cert");
        break;
    case 2:
        put(at(p, "new"), "333");
        (void)rename(at(p, "new"), at(p, files[what / 5 % N(files)]));
        break;
    case 3:
        relink(p, "live/a", "current");
        break;
    default:
        (void)mkdir(at(p, "archive/b"), 0700);
        put(at(p, "archive/b/x"), "4");
        break;
    }
}

static void change_back(apr_pool_t *p)
{
    (void)unlink(at(p, "archive/b/x"));
    (void)rmdir(at(p, "archive/b"));
    tree_make(p);
}

static uint64_t stamp_of(const char *path, apr_pool_t *p)
{
    tls_server_conf sc = {.pairs = apr_array_make(p, 1, sizeof(tls_pair))};

    APR_ARRAY_PUSH(sc.pairs, tls_pair) = (tls_pair){.cert_file = path, .key_file = path};
    return tls_exchange_stamp(&sc);
}

/* Folders have other stamps with each change in them, which is not told. What is not there yet may become a file. */
static int is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) || S_ISREG(st.st_mode);
}

static void watch(const char *path, unsigned what, apr_pool_t *p)
{
    watch_set *set = watch_set_create(1);
    watch_owner owner = {0};
    uint64_t before;
    int watched;

    if (!set)
        return;
    watched = is_file(path) && !watch_add(set, &owner, path, 0);
    before = stamp_of(path, p);
    change(p, what);
    watch_drain(set);
    if (watched && stamp_of(path, p) != before && !watch_changed(set, &owner))
        abort();
    watch_remove(set, &owner);
    watch_set_destroy(set);
    change_back(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int made;
    apr_pool_t *p;

    if (!test_process && test_config_setup(NULL))
        abort();
    apr_pool_create(&p, test_process->pool);
    if (!made++) {
        if (!mkdtemp(root))
            abort();
        atexit(clean);
        tree_make(p);
    }
    if (size > 1 && !memchr(data + 1, 0, size - 1))
        watch(at(p, apr_pstrmemdup(p, (const char *)data + 1, size - 1)), data[0], p);
    apr_pool_destroy(p);
    return 0;
}
