/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths server processes get by a configuration, and what of it is said not to work. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>
#include "sandbox.h"
#include "apr_strings.h"
#include "test_config.h"

static sandbox_conf conf;

static void find(int exec, const char *text)
{
    apr_pool_t *p;

    if (!test_config_read(text))
        fail_msg("%s", test_messages);
    p = test_process->pconf;
    conf = (sandbox_conf){
        .mode = SANDBOX_ON, .exec = exec, .allowed = apr_array_make(p, 1, sizeof(sandbox_path))};
    sandbox_find_paths(&conf, p, ap_server_conf);
}

/* What may be done with the path: "r", "w", "x", or several; "" if it is not there. */
static const char *access_of(const char *path)
{
    static char found[8];
    int n = 0;

    for (int i = 0; i < conf.paths->nelts; i++) {
        const sandbox_path *p = &APR_ARRAY_IDX(conf.paths, i, sandbox_path);

        if (!strcmp(p->path, path) && n < 7)
            found[n++] = "rwx"[p->access];
    }
    found[n] = '\0';
    return found;
}

static int notes_with(const char *text)
{
    int n = 0;

    for (int i = 0; i < conf.notes->nelts; i++)
        n += strstr(APR_ARRAY_IDX(conf.notes, i, const char *), text) != NULL;
    return n;
}

static void test_always(void **state)
{
    find(0, "DocumentRoot /tmp\n");
    assert_string_equal(access_of("/usr/lib"), "r");
    assert_string_equal(access_of("/dev/null"), "w");
    assert_string_equal(access_of("/dev/urandom"), "r");
    assert_string_equal(access_of("/tmp"), "wr");
    assert_string_equal(access_of("/lib64/ld-linux-x86-64.so.2"), "");
    assert_string_equal(access_of("/"), "");
    find(1, "DocumentRoot /tmp\n");
    assert_string_equal(access_of("/lib64/ld-linux-x86-64.so.2"), "x");
}

static void test_arguments_of_directives(void **state)
{
    find(0, "DocumentRoot /tmp\n"
            "Alias /a \"/srv/al ias\"\n"
            "AliasMatch ^/m/(.*) /srv/match/x$1/y\n"
            "ScriptAliasMatch ^/n/(.*) /$1\n"
            "<Directory /srv/dir>\n AuthUserFile /srv/auth/users\n</Directory>\n"
            "<Directory \"/srv/quo ted/*/x\">\n AuthGroupFile /srv/groups/g\n</Directory>\n"
            "<Directory ~ ^/srv/regex>\n Require all granted\n</Directory>\n"
            "CacheRoot /srv/cache\n"
            "VirtualDocumentRoot /srv/hosts/%0/htdocs\n"
            "RewriteMap b txt:/etc/passwd\n"
            "RewriteMap c int:tolower\n"
            "Redirect /r /srv/url\n"
            "CustomLog /tmp/brigade-test-access common\n"
            "DocumentRoot /tmp\n");
    assert_string_equal(access_of("/srv/al ias"), "r");
    assert_string_equal(access_of("/srv/match"), "r");
    assert_string_equal(access_of("/srv/dir"), "r");
    assert_string_equal(access_of("/srv/quo ted"), "r");
    assert_string_equal(access_of("/srv/auth/"), "r");
    assert_string_equal(access_of("/srv/groups/"), "r");
    assert_string_equal(access_of("/srv/hosts"), "r");
    assert_string_equal(access_of("/srv/cache"), "w");
    assert_string_equal(access_of("/etc/passwd"), "r");
    assert_string_equal(access_of("/tmp"), "wr"); /* once */
    assert_string_equal(access_of("/srv/url"), "");
    assert_string_equal(access_of("/tmp/brigade-test-access"), "");
    assert_string_equal(access_of("tolower"), "");
    assert_string_equal(access_of("/"), "");
    for (int i = 0; i < conf.paths->nelts; i++)
        assert_null(strstr(APR_ARRAY_IDX(conf.paths, i, sandbox_path).path, "regex"));
}

static void test_hosts_and_sections(void **state)
{
    find(0, "<VirtualHost *:1>\n ServerName a\n DocumentRoot /var\n <Location /l>\n  <If "
            "\"true\">\n   "
            "AuthUserFile /srv/deep/u\n  </If>\n </Location>\n</VirtualHost>\n");
    assert_string_equal(access_of("/var"), "r");
    assert_string_equal(access_of("/srv/deep/"), "r");
}

static void test_allowed(void **state)
{
    find(0, "DocumentRoot /tmp\n");
    APR_ARRAY_PUSH(conf.allowed, sandbox_path) =
        (sandbox_path){"/tmp", SANDBOX_EXEC, "SandboxAllow"};
    sandbox_find_paths(&conf, test_process->pconf, ap_server_conf);
    assert_string_equal(access_of("/tmp"), "wrx");
}

/* "exec cmd" starts programs, unless they are allowed. */
static void test_programs_are_noted(void **state)
{
    static const char text[] = "<Directory /srv/a>\n Options +Includes\n</Directory>\n<Directory "
                               "/srv/b>\n Options IncludesNoExec\n</Directory>\n";

    find(0, text);
    assert_int_equal(notes_with("exec cmd"), 1);
    assert_int_equal(notes_with("Options (line "), 1);
    find(1, text);
    assert_int_equal(notes_with("exec cmd"), 0);
}

/* Those of a module that is built in are started by a process of their own, outside of the sandbox. */
static void test_scripts_of_the_daemon(void **state)
{
    find(0, "ScriptAliasMatch ^/n/(.*) /srv/cgi/$1\n");
    assert_int_equal(notes_with("CGI scripts"), 0);
}

static void test_folders_of_users_are_noted(void **state)
{
    find(0, "UserDir public_html\n");
    assert_int_equal(notes_with("folders of users"), 1);
    find(0, "UserDir disabled\n");
    assert_int_equal(notes_with("folders of users"), 0);
    find(0, "UserDir /srv/users\n");
    assert_int_equal(notes_with("folders of users"), 0);
}

static void test_logs_in_writable_folders(void **state)
{
    const char *folder = apr_pstrcat(test_process->pool, test_config_dir(), "in", NULL), *file;

    assert_int_equal(mkdir(folder, 0700), 0);
    file = test_config_file("in/access", "");
    find(0, apr_psprintf(test_process->pool, "CacheRoot %s\nCustomLog %s common\n", folder, file));
    assert_int_equal(notes_with("CacheRoot /"), 1);
    find(0, apr_psprintf(test_process->pool, "CacheRoot %s-other\nCustomLog %s common\n", folder,
                         file));
    assert_int_equal(notes_with("CacheRoot /"), 0);
    find(0, apr_psprintf(test_process->pool, "CacheRoot %s\nCustomLog \"|/bin/cat %s\" common\n",
                         folder, file));
    assert_int_equal(notes_with("CacheRoot /"), 0);
    find(0, apr_psprintf(
                test_process->pool,
                "DefaultRuntimeDir %s\n<VirtualHost *:1>\n CustomLog %s common\n</VirtualHost>\n",
                folder, file));
    assert_int_equal(notes_with("modules cannot write files there"), 1);
    assert_string_equal(access_of(folder), "");
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_always),
        TEST(test_arguments_of_directives),
        TEST(test_hosts_and_sections),
        TEST(test_allowed),
        TEST(test_programs_are_noted),
        TEST(test_scripts_of_the_daemon),
        TEST(test_folders_of_users_are_noted),
        TEST(test_logs_in_writable_folders),
    };

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
