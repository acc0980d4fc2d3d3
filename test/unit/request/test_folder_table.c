/* SPDX-License-Identifier: Apache-2.0 */
/* The folders that a loop knows: when one becomes known, until when it is, and which go when there is no room. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "folder_private.h"
#include "http_request.h"
#include "request_context.h"

#define BYTES (64 * 1024)

static char root[] = "/tmp/brigade-folders-XXXXXX";
static apr_pool_t *pool;
static watch_set *set;
static loops_config config = {.n_loops = 1};
static brg_loop loop = {.config = &config};

static apr_status_t no_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    return AP_DECLINED;
}

static void run(const char *command)
{
    assert_int_equal(system(apr_psprintf(pool, "cd %s && %s", root, command)), 0);
}

static int group_setup(void **state)
{
    assert_non_null(mkdtemp(root));
    apr_initialize();
    apr_pool_create(&pool, NULL);
    apr_hook_global_pool = pool;
    apr_hook_deregister_all();
    ap_hook_dirwalk_stat(no_stat, NULL, NULL, APR_HOOK_MIDDLE);
    apr_hook_sort_all();
    return 0;
}

static int group_teardown(void **state)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf %s", root);
    return system(line);
}

static int setup(void **state)
{
    apr_pool_create(&pool, NULL);
    run("mkdir -p a/b/c && touch a/b/file");
    set = watch_set_create(100);
    assert_non_null(set);
    loop.monotonic = apr_time_from_sec(1);
    folders_open(&loop, set, BYTES);
    assert_non_null(loop.folders);
    return 0;
}

static int teardown(void **state)
{
    folders_close(&loop); /* asserts that nothing is left, as the next does */
    watch_set_destroy(set);
    run("rm -rf *");
    apr_pool_destroy(pool);
    return 0;
}

/* One folder after the other, from / on. NULL: one of them is not known */
static folder *known(const char *below)
{
    const char *path = apr_pstrcat(pool, root, below, NULL), *at = path + 1;
    folder *f = folder_step(loop.folders, NULL, path, 1, 0, 1);

    while (f && *at) {
        const size_t len = strcspn(at, "/");

        f = folder_step(loop.folders, f, path, (size_t)(at - path) + len, len, 1);
        at += len + (at[len] == '/');
    }
    return f;
}

/* Each round makes one folder more of the way known. */
static folder *made_known(const char *below)
{
    folder *f = NULL;

    for (int i = 0; i < 20 && !f; i++)
        f = known(below);
    return f;
}

static folder_figures figures(void)
{
    folder_figures now;

    folders_figures(&loop, &now);
    return now;
}

static void the_second_question_makes_it_known(void **state)
{
    folder *f = made_known("/a/b");

    assert_non_null(f);
    assert_ptr_equal(known("/a/b"), f);
    assert_null(known("/a/b/c")); /* that is asked for for the first time */
    assert_non_null(known("/a/b/c"));
    assert_null(known("/a/b/none"));
    assert_null(known("/a/b/none")); /* what is not there never is */
    assert_null(known("/a/b/file"));
    assert_null(known("/a/b/file"));
    assert_true(folders_are_known(&loop));
}

static void one_that_changes_is_forgotten(void **state)
{
    const char *const changes[] = {"mv a/b a/d && mkdir a/b", "chmod 700 a/b",
                                   "rm -rf a/b && mkdir a/b", "mv a other && mkdir -p a/b"};

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint64_t made, stamp;

        assert_non_null(made_known("/a/b"));
        stamp = folders_stamp(loop.folders);
        assert_true(stamp && stamp == folders_stamp(loop.folders));
        made = figures().made;
        run(changes[i]);
        watch_drain(set);
        assert_int_not_equal(folders_stamp(loop.folders), stamp);
        assert_non_null(made_known("/a/b"));
        assert_true(figures().made > made);
        run("rm -rf a other && mkdir -p a/b/c && touch a/b/file");
        watch_drain(set);
    }
}

static void what_it_is(void **state)
{
    request_rec r = {.pool = pool, .filename = (char *)"/x"};
    apr_finfo_t info;
    folder *f;

    run("ln -s a/b link");
    assert_int_equal(made_known("/a/b")->link, FOLDER_PLAIN);
    f = made_known("/link");
    assert_int_equal(f->link, FOLDER_LINK_SAME_OWNER);
    assert_true(folder_info(loop.folders, f, &r, &info));
    assert_int_equal(info.filetype, APR_DIR);
    assert_string_equal(info.fname, "/x");
    if (geteuid() == 0) {
        assert_int_equal(lchown(apr_pstrcat(pool, root, "/link", NULL), 1, 1), 0);
        watch_drain(set);
        assert_int_equal(made_known("/link")->link, FOLDER_LINK);
    }
}

/* A name that is looked for in vain a few times makes its folder's names worth reading; less often where they came to nothing. */
static void names(void **state)
{
    folder *f = made_known("/a/b");

    assert_false(folder_lacks(loop.folders, f, "none", 4));
    assert_false(folder_missed(f) || folder_missed(f));
    assert_true(folder_missed(f));
    watch_folder_set_names(set, f->dir, watch_names_read(watch_folder_path(f->dir)));
    assert_true(folder_lacks(loop.folders, f, "none", 4));
    assert_false(folder_lacks(loop.folders, f, "file", 4));
    assert_false(folder_missed(f)); /* they are known */
    run("touch a/b/none");
    watch_drain(set);
    assert_false(folder_lacks(loop.folders, f, "none", 4));
}

/* A request that missed a name leaves the reading of all of them to a worker. */
static void names_that_a_worker_reads(void **state)
{
    folder *f = made_known("/a/b");
    request_rec *r = apr_pcalloc(pool, sizeof *r);

    r->pool = pool;
    r->connection = apr_pcalloc(pool, sizeof *r->connection);
    r->request_config = ap_create_request_config(pool);
    request_conf_create(r);
    request_files_of(r)->may_hold = 1;
    while (!folder_missed(f))
        ;
    folder_want_names(f, r);
    assert_string_equal(request_files_of(r)->wanted->path, watch_folder_path(f->dir));
    folder_read_names(r);
    assert_null(request_files_of(r)->wanted);
    assert_true(folder_lacks(loop.folders, f, "none", 4));
    assert_false(folder_lacks(loop.folders, f, "file", 4));
}

static void those_used_last_stay(void **state)
{
    folder *kept;
    uint64_t made;

    run("for i in $(seq 100); do mkdir n$i; done");
    kept = made_known("/a/b");
    for (int i = 1; i <= 100; i++) {
        assert_non_null(made_known(apr_psprintf(pool, "/n%d", i)));
        folder_used(loop.folders, kept);
        assert_true(figures().bytes <= BYTES + 4096);
    }
    assert_true(figures().dropped > 50 && figures().folders < 60);
    made = figures().made;
    assert_ptr_equal(known("/a/b"), kept);
    assert_non_null(known("/n100"));
    assert_int_equal(figures().made, made);
    assert_non_null(made_known("/n1"));
    assert_true(figures().made > made);
}

/* A folder that cannot be known is not tried again at once. */
static void refused(void **state)
{
    uint64_t made;

    if (geteuid() == 0)
        return;
    assert_non_null(made_known("/a"));
    run("chmod 0 a/b");
    watch_drain(set);
    assert_null(made_known("/a/b"));
    run("chmod 755 a/b");
    watch_drain(set);
    made = figures().made;
    assert_null(made_known("/a/b"));
    assert_int_equal(figures().made, made);
    loop.monotonic += apr_time_from_sec(11);
    assert_non_null(made_known("/a/b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_second_question_makes_it_known, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_changes_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(names, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_a_worker_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(those_used_last_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
