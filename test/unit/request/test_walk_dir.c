/* SPDX-License-Identifier: Apache-2.0 */
/* The walks, over real files: what a name is, what is left of it, which sections count, at which
 * cost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "request_parts.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_request.h"
#include "core_settings.h"
#include "request_context.h"
#include "walk_private.h"
#include "apr_hooks.h"
#include "apr_strings.h"

static apr_pool_t *pool;
static char root[] = "/tmp/brigade-walk-XXXXXX";
static server_rec *server;
static conn_rec *conn;
static int stats; /* calls of the dirwalk_stat hook */

static const char *under(const char *path)
{
    return apr_pstrcat(pool, root, path, NULL);
}

static void make_file(const char *path)
{
    FILE *f = fopen(under(path), "w");

    assert_non_null(f);
    fclose(f);
}

static apr_status_t counting_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    stats++;
    return AP_DECLINED;
}

static apr_status_t plain_htaccess(request_rec *r, const char *dir, const char *name,
                                   ap_configfile_t **file, const char **full_name)
{
    *full_name = apr_pstrcat(r->pool, dir, name, NULL);
    return ap_pcfg_openfile(file, r->pool, *full_name);
}

static int group_setup(void **state)
{
    assert_non_null(mkdtemp(root));
    apr_pool_create(&pool, NULL);
    assert_int_equal(mkdir(under("/a"), 0755), 0);
    assert_int_equal(mkdir(under("/a/b"), 0755), 0);
    make_file("/a/b/file");
    make_file("/a/other");
    assert_int_equal(symlink(under("/a/b"), under("/a/link")), 0);
    assert_int_equal(symlink(under("/a/other"), under("/a/b/flink")), 0);
    assert_int_equal(symlink("nowhere", under("/a/dangling")), 0);
    assert_int_equal(symlink("loop", under("/a/loop")), 0);
    assert_int_equal(mkfifo(under("/a/fifo"), 0600), 0);
    return 0;
}

static int group_teardown(void **state)
{
    static const char *const files[] = {"/a/fifo",        "/a/loop", "/a/dangling", "/a/b/flink",
                                        "/a/b/.htaccess", "/a/link", "/a/other",    "/a/b/file"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(under(files[i]));
    rmdir(under("/a/b"));
    rmdir(under("/a"));
    rmdir(root);
    apr_pool_destroy(pool);
    return 0;
}

static ap_conf_vector_t *vector(core_dir_config **core)
{
    ap_conf_vector_t *v = ap_create_per_dir_config(pool);

    *core = core_create_dir_config(pool, NULL);
    ap_set_core_module_config(v, *core);
    return v;
}

static int setup(void **state)
{
    core_dir_config *core;

    ap_top_module = &core_module;
    core_module.module_index = 0;
    core_module.next = NULL;
    apr_hook_global_pool = pool;
    apr_hook_deregister_all();
    request_register_hooks(pool);
    ap_hook_dirwalk_stat(counting_stat, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_open_htaccess(plain_htaccess, NULL, NULL, APR_HOOK_MIDDLE);
    apr_hook_sort_all();

    server = apr_pcalloc(pool, sizeof *server);
    server->module_config = ap_create_request_config(pool);
    ap_set_core_module_config(server->module_config, core_create_server_config(pool, server));
    server->lookup_defaults = vector(&core);
    core->opts = OPT_SYM_LINKS;
    core->override = OR_NONE;
    conn = apr_pcalloc(pool, sizeof *conn);
    conn->pool = pool;
    conn->base_server = server;
    walk_merge_open(pool);
    return 0;
}

static request_rec *request(const char *filename)
{
    request_rec *r = apr_pcalloc(pool, sizeof *r);

    r->pool = pool;
    r->connection = conn;
    r->server = server;
    r->uri = apr_pstrdup(pool, "/uri");
    r->filename = apr_pstrdup(pool, filename);
    r->per_dir_config = server->lookup_defaults;
    r->request_config = ap_create_request_config(pool);
    r->subprocess_env = apr_table_make(pool, 2);
    r->headers_in = apr_table_make(pool, 2);
    r->notes = apr_table_make(pool, 2);
    request_conf_create(r);
    return r;
}

static const core_dir_config *core_of(const request_rec *r)
{
    return ap_get_core_module_config(r->per_dir_config);
}

/* A section; its ForceType tells in a merged configuration who came last. */
static core_dir_config *section(const char *dir, const char *mark)
{
    core_dir_config *core;
    ap_conf_vector_t *v = vector(&core);

    core->d = apr_pstrdup(pool, dir);
    core->d_components = (unsigned)ap_count_dirs(dir);
    core->d_is_fnmatch = strpbrk(dir, "*?[") != NULL;
    core->mime_type = mark;
    ap_add_per_dir_conf(server, v);
    ap_core_reorder_directories(pool, server);
    return core;
}

static void only_options(int opts)
{
    core_dir_config *core = ap_get_core_module_config(server->lookup_defaults);

    core->opts = (allow_options_t)opts;
}

/* ---- what a name is ---- */

static const struct name_case {
    const char *path, *filename, *path_info; /* below the root; filename NULL = as path */
    int type, status, stats;                 /* stats: the most that it may cost, links followed */
} name_cases[] = {
    {"/a/b/file", NULL, "", APR_REG, OK, 1},
    {"/a/b", NULL, "", APR_DIR, OK, 1},
    {"/a/b/", NULL, "", APR_DIR, OK, 1},
    {"/a/b/none", NULL, "", APR_NOFILE, OK, 3},
    {"/a/b/none/", "/a/b/none", "/", APR_NOFILE, OK, 3},
    {"/a/none/x/y", "/a/none", "/x/y", APR_NOFILE, OK, 9},
    {"/a/b/file/", "/a/b/file", "/", APR_REG, OK, 9},
    {"/a/b/file/in/fo", "/a/b/file", "/in/fo", APR_REG, OK, 9},
    {"/a/link/file", NULL, "", APR_REG, OK, 1},
    {"/a/link/", NULL, "", APR_DIR, OK, 1},
    {"/a/b/flink", NULL, "", APR_REG, OK, 1},
    {"/a/dangling", NULL, "", APR_NOFILE, HTTP_FORBIDDEN, 7},
    {"/a/./b//file", "/a/b/file", "", APR_REG, OK, 1},
    {"/a/b/../other", "/a/other", "", APR_REG, OK, 1},
    {"/a/dangling/", NULL, "", APR_NOFILE, HTTP_FORBIDDEN, 7},
    {"/a/fifo/", NULL, "", 0, HTTP_FORBIDDEN, 9},
    {"/a/loop", NULL, "", 0, HTTP_FORBIDDEN, 9},
};

static void check_names(int count)
{
    for (size_t i = 0; i < sizeof name_cases / sizeof *name_cases; i++) {
        const struct name_case *t = &name_cases[i];
        request_rec *r = request(under(t->path));
        int status;

        stats = 0;
        status = ap_directory_walk(r);
        if (status != t->status || (count && stats > t->stats))
            fail_msg("%s: status %d, %d stats", t->path, status, stats);
        if (status == OK) {
            assert_string_equal(r->filename, under(t->filename ? t->filename : t->path));
            assert_string_equal(r->path_info, t->path_info);
            assert_int_equal(r->finfo.filetype, t->type);
        }
    }
}

static void names(void **state)
{
    check_names(1);
}

static void names_where_owners_match(void **state)
{
    only_options(OPT_SYM_OWNER);
    check_names(0);
}

/* What one stat tells is left to those who would open it; what is looked at one by one is refused, as in Apache. */
static void special_files(void **state)
{
    request_rec *r = request(under("/a/fifo"));

    assert_int_equal(ap_directory_walk(r), OK);
    assert_int_equal(r->finfo.filetype, APR_PIPE);
    only_options(OPT_SYM_OWNER);
    assert_int_equal(ap_directory_walk(request(under("/a/fifo"))), HTTP_FORBIDDEN);
}

static void links_need_permission(void **state)
{
    only_options(OPT_NONE);
    assert_int_equal(ap_directory_walk(request(under("/a/b/file"))), OK);
    assert_int_equal(ap_directory_walk(request(under("/a/link/file"))), HTTP_FORBIDDEN);
    assert_int_equal(ap_directory_walk(request(under("/a/b/flink"))), HTTP_FORBIDDEN);
}

/* Permission is a matter of the directory that holds the link. */
static void links_are_judged_by_their_directory(void **state)
{
    only_options(OPT_NONE);
    section(under("/a/"), "x")->opts = OPT_SYM_LINKS;
    assert_int_equal(ap_directory_walk(request(under("/a/link/file"))), OK);
    section(under("/a/b/"), "x")->opts = OPT_NONE;
    assert_int_equal(ap_directory_walk(request(under("/a/b/flink"))), HTTP_FORBIDDEN);
}

static void not_a_path(void **state)
{
    request_rec *r = request("proxy:http://x/");

    assert_int_equal(ap_directory_walk(r), OK);
    assert_int_equal(r->finfo.filetype, APR_NOFILE);
    assert_string_equal(r->filename, "proxy:http://x/");
}

static void what_is_known_is_not_asked_again(void **state)
{
    request_rec *r = request(under("/a/b/file"));

    r->finfo.filetype = APR_REG;
    r->finfo.valid = APR_FINFO_MIN;
    stats = 0;
    assert_int_equal(ap_directory_walk(r), OK);
    assert_int_equal(stats, 0);
}

/* ---- sections ---- */

static const char *mark_at(const char *path)
{
    request_rec *r = request(under(path));

    assert_int_equal(ap_directory_walk(r), OK);
    return core_of(r)->mime_type ? core_of(r)->mime_type : "none";
}

static void sections_go_from_short_to_long(void **state)
{
    section(under("/a/b/"), "b");
    section("/", "root");
    section(under("/a/"), "a");
    assert_string_equal(mark_at("/a/b/file"), "b");
    assert_string_equal(mark_at("/a/b"), "b"); /* without its slash it is that directory as well */
    assert_string_equal(mark_at("/a/b/"), "b");
    assert_string_equal(mark_at("/a/other"), "a");
    assert_string_equal(mark_at("/a/bb"), "a");
    assert_string_equal(mark_at("/none"), "root");
}

static void patterns_match_whole_directories(void **state)
{
    section(under("/?/b/"), "pattern");
    assert_string_equal(mark_at("/a/b/file"), "pattern");
    assert_string_equal(mark_at("/a/other"), "none");
}

static void expressions_come_last(void **state)
{
    core_dir_config *core = section("/[ab]/(?<last>[^/]+)$", "regex");
    request_rec *r;

    core->r = ap_pregcomp(pool, core->d, AP_REG_EXTENDED);
    core->refs = apr_array_make(pool, 2, sizeof(char *));
    ap_regname(core->r, core->refs, AP_REG_MATCH, 1);
    core->d_is_fnmatch = 0;
    section(under("/a/b/"), "b");
    assert_string_equal(mark_at("/a/b/file"), "regex");
    assert_string_equal(mark_at("/a/b/"), "b");
    r = request(under("/a/b/file"));
    ap_directory_walk(r);
    assert_string_equal(apr_table_get(r->subprocess_env, "MATCH_LAST"), "file");
}

static void htaccess_is_read_where_it_is_allowed(void **state)
{
    FILE *f = fopen(under("/a/b/.htaccess"), "w");

    fputs("NoSuchDirective on\n", f);
    fclose(f);
    /* Unless something is said, nothing is allowed. */
    ((core_dir_config *)ap_get_core_module_config(server->lookup_defaults))->override =
        OR_UNSET | OR_NONE;
    assert_int_equal(ap_directory_walk(request(under("/a/b/file"))), OK);
    section(under("/a/"), "a")->override = OR_ALL;
    assert_int_equal(ap_directory_walk(request(under("/a/other"))), OK);
    assert_int_equal(ap_directory_walk(request(under("/a/b/file"))), HTTP_INTERNAL_SERVER_ERROR);
    section(under("/a/b/"), "b")->override = OR_NONE;
    assert_int_equal(ap_directory_walk(request(under("/a/b/file"))), OK);
    unlink(under("/a/b/.htaccess"));
}

/* ---- merges ---- */

static void a_merge_is_made_once(void **state)
{
    request_rec *one = request(under("/a/b/file")), *two = request(under("/a/b/other"));

    section("/", "root");
    section(under("/a/"), "a");
    ap_directory_walk(one);
    ap_directory_walk(two);
    assert_ptr_equal(one->per_dir_config, two->per_dir_config);
    assert_ptr_not_equal(one->per_dir_config, server->lookup_defaults);
}

static void other_operands_give_other_results(void **state)
{
    core_dir_config *core;
    ap_conf_vector_t *x = vector(&core), *y = vector(&core);
    request_rec *r = request("/");
    ap_conf_vector_t *xy = walk_merge(r, walk_merge(r, r->per_dir_config, x, 1, NULL), y, 1, NULL);
    ap_conf_vector_t *yx = walk_merge(r, walk_merge(r, r->per_dir_config, y, 1, NULL), x, 1, NULL);

    assert_ptr_not_equal(xy, yx);
    assert_ptr_equal(xy, walk_merge(r, walk_merge(r, r->per_dir_config, x, 1, NULL), y, 1, NULL));
}

/* What a request has of its own is shared with those that it leads to, and with no others. */
static void merges_of_htaccess_stay_in_the_family(void **state)
{
    core_dir_config *core;
    ap_conf_vector_t *htaccess = vector(&core), *sec = vector(&core), *mine;
    request_rec *r = request("/"), *sub = request("/"), *next = request("/"), *other = request("/");

    sub->main = r;
    next->prev = sub;
    mine = walk_merge(r, r->per_dir_config, htaccess, 0, NULL);
    assert_ptr_equal(walk_merge(sub, sub->per_dir_config, htaccess, 0, NULL), mine);
    assert_ptr_equal(walk_merge(next, next->per_dir_config, htaccess, 0, NULL), mine);
    assert_ptr_not_equal(walk_merge(other, other->per_dir_config, htaccess, 0, NULL), mine);
    /* A section on top of it is no part of the configuration either. */
    assert_ptr_equal(walk_merge(next, mine, sec, 0, NULL), walk_merge(next, mine, sec, 0, NULL));
    assert_ptr_not_equal(walk_merge(next, mine, sec, 0, NULL),
                         walk_merge(other, mine, sec, 0, NULL));
}

static void the_store_of_merges_is_bounded(void **state)
{
    request_rec *r = request("/");
    core_dir_config *core;
    ap_conf_vector_t *first = vector(&core),
                     *merged = walk_merge(r, r->per_dir_config, first, 1, NULL);

    for (int i = 0; i < 6000; i++) {
        assert_non_null(walk_merge(r, r->per_dir_config, ap_create_per_dir_config(pool), 1, NULL));
        *ap_get_request_note(r, AP_NOTE_DIRECTORY_WALK) = NULL;
    }
    assert_ptr_equal(walk_merge(request("/"), server->lookup_defaults, first, 1, NULL), merged);
}

/* ---- the same from several threads ---- */

#define MERGERS 4
#define MERGES 200

typedef struct merger {
    pthread_t thread;
    request_rec *r;
    ap_conf_vector_t **secs, *results[MERGES];
} merger;

static void *merger_run(void *data)
{
    merger *m = data;

    for (int i = 0; i < MERGES; i++) {
        m->results[i] =
            walk_merge(m->r, walk_merge(m->r, server->lookup_defaults, m->secs[i], 1, NULL),
                       m->secs[(i * 7) % MERGES], 1, NULL);
    }
    return NULL;
}

static void threads_get_the_same_results(void **state)
{
    static merger mergers[MERGERS];
    static ap_conf_vector_t *secs[MERGES];
    core_dir_config *core;

    for (int i = 0; i < MERGES; i++)
        secs[i] = vector(&core);
    for (int t = 0; t < MERGERS; t++) {
        mergers[t].r = request("/");
        mergers[t].secs = secs;
    }
    for (int t = 0; t < MERGERS; t++)
        assert_int_equal(pthread_create(&mergers[t].thread, NULL, merger_run, &mergers[t]), 0);
    for (int t = 0; t < MERGERS; t++) {
        pthread_join(mergers[t].thread, NULL);
        assert_memory_equal(mergers[t].results, mergers[0].results, sizeof mergers[0].results);
    }
}

/* ---- <Location> and <Files> ---- */

static void locate(const char *path, const char *mark, int regex)
{
    core_dir_config *core;
    ap_conf_vector_t *v = vector(&core);

    core->d = apr_pstrdup(pool, path);
    core->mime_type = mark;
    core->d_is_fnmatch = !regex && strpbrk(path, "*?[") != NULL;
    core->r = regex ? ap_pregcomp(pool, path, AP_REG_EXTENDED) : NULL;
    ap_add_per_url_conf(server, v);
}

static const struct location_case {
    const char *uri, *mark;
} location_cases[] = {
    {"/", "none"},         {"/dir", "dir"},       {"/dir/", "dir"},     {"/dir/x", "dir"},
    {"/dirx", "none"},     {"//dir//x", "dir"},   {"/slash", "none"},   {"/slash/", "slash"},
    {"/slash/x", "slash"}, {"/p/1/q", "pattern"}, {"/p/1/2/q", "none"}, {"/r//r", "regex"},
    {"/r/r", "none"},      {"/dir/last", "last"},
};

static void locations(void **state)
{
    locate("/dir", "dir", 0);
    locate("/slash/", "slash", 0);
    locate("/p/*/q", "pattern", 0);
    locate("^/r//r", "regex", 1);
    locate("/dir/last", "last", 0);
    for (size_t i = 0; i < sizeof location_cases / sizeof *location_cases; i++) {
        request_rec *r = request("/");
        const char *mark;

        /* The second walk must see what the URI is by then. */
        r->uri = apr_pstrdup(pool, "/%64ir");
        ap_location_walk(r);
        r->per_dir_config = server->lookup_defaults;
        r->uri = apr_pstrdup(pool, location_cases[i].uri);
        ap_location_walk(r);
        mark = core_of(r)->mime_type ? core_of(r)->mime_type : "none";
        if (strcmp(mark, location_cases[i].mark))
            fail_msg("%s: %s", location_cases[i].uri, mark);
    }
}

static void files_by_last_segment(void **state)
{
    core_dir_config *core, *defaults = ap_get_core_module_config(server->lookup_defaults);
    static const struct {
        const char *path, *mark;
    } cases[] = {{"/a/b/file", "exact"}, {"/a/file/b", "none"}, {"/x/some.txt", "pattern"}};

    ap_add_file_conf(pool, defaults, vector(&core));
    core->d = apr_pstrdup(pool, "file");
    core->mime_type = "exact";
    ap_add_file_conf(pool, defaults, vector(&core));
    core->d = apr_pstrdup(pool, "*.txt");
    core->d_is_fnmatch = 1;
    core->mime_type = "pattern";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = request(cases[i].path);

        ap_file_walk(r);
        assert_string_equal(core_of(r)->mime_type ? core_of(r)->mime_type : "none", cases[i].mark);
    }
}

#define WALK_TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WALK_TEST(names),
        WALK_TEST(names_where_owners_match),
        WALK_TEST(special_files),
        WALK_TEST(links_need_permission),
        WALK_TEST(links_are_judged_by_their_directory),
        WALK_TEST(not_a_path),
        WALK_TEST(what_is_known_is_not_asked_again),
        WALK_TEST(sections_go_from_short_to_long),
        WALK_TEST(patterns_match_whole_directories),
        WALK_TEST(expressions_come_last),
        WALK_TEST(htaccess_is_read_where_it_is_allowed),
        WALK_TEST(a_merge_is_made_once),
        WALK_TEST(other_operands_give_other_results),
        WALK_TEST(merges_of_htaccess_stay_in_the_family),
        WALK_TEST(the_store_of_merges_is_bounded),
        WALK_TEST(threads_get_the_same_results),
        WALK_TEST(locations),
        WALK_TEST(files_by_last_segment),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
