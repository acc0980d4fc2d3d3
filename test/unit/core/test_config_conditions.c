/* SPDX-License-Identifier: Apache-2.0 */
/* What is read and what is passed over: conditional sections, Define, ${NAME}, Include. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "apr_strings.h"

/* Whether the text inside the section was read. */
static void check_section(const char *open, const char *close, int read)
{
    char text[512];
    int good;

    apr_snprintf(text, sizeof text, "<%s>\nError \"was read\"\n</%s>", open, close);
    good = test_config_read(text);
    if (good == read || (read && !strstr(test_messages, "was read")))
        fail_msg("<%s> should%s be read: %s", open, read ? "" : " not", test_messages);
}

static void test_sections(void **state)
{
    static const struct {
        const char *open, *close;
        int read;
    } cases[] = {
        {"IfModule core.c", "IfModule", 1},
        {"IfModule core_module", "IfModule", 1},
        {"IfModule mod_mime.c", "IfModule", 1},
        {"ifmodule mod_mime.c", "IFMODULE", 1},
        {"IfModule mime", "IfModule", 0},
        {"IfModule mod_nope.c", "IfModule", 0},
        {"IfModule !mod_nope.c", "IfModule", 1},
        {"IfModule !mod_mime.c", "IfModule", 0},
        {"IfModule \"mod_mime.c\"", "IfModule", 1},
        {"IfDefine NOPE", "IfDefine", 0},
        {"IfDefine !NOPE", "IfDefine", 1},
        {"IfFile /dev/null", "IfFile", 1},
        {"IfFile /nonexistent", "IfFile", 0},
        {"IfDirective ServerName", "IfDirective", 1},
        {"IfDirective servername", "IfDirective", 1},
        {"IfDirective DavLockDB", "IfDirective", 0},
        {"IfSection IfFile", "IfSection", 1},
        {"IfSection Nope", "IfSection", 0},
        {"IfVersion 2.4.71", "IfVersion", 1},
        {"IfVersion >= 2.4", "IfVersion", 1},
        {"IfVersion >= 2.5", "IfVersion", 0},
        {"IfVersion < 2.4.72", "IfVersion", 1},
        {"IfVersion <= 2.4.71", "IfVersion", 1},
        {"IfVersion > 2.4.71", "IfVersion", 0},
        {"IfVersion !< 2", "IfVersion", 1},
        {"IfVersion ~ ^2\\.4\\.7", "IfVersion", 1},
        {"IfVersion = /^2\\.5/", "IfVersion", 0},
        {"IfVersion 2.4", "IfVersion", 0},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        check_section(cases[i].open, cases[i].close, cases[i].read);
}

static void check_refused(const char *text, const char *message)
{
    if (test_config_read(text) || !strstr(test_messages, message))
        fail_msg("%s: %s", text, test_messages);
}

static void test_nesting(void **state)
{
    assert_true(test_config_read("<IfModule nope>\n<VirtualHost mod_cache>\n<Foo \"\nbar ${X}\n"
                                 "</Foo>\n</VirtualHost>\n</IfModule>\n"));
    assert_true(test_config_read("<Directory /x>\n<IfModule core.c>\n<IfDefine !X>\nOptions None\n"
                                 "</IfDefine>\n<Files y>\nOptions None\n</Files>\n</IfModule>\n"
                                 "AllowOverride None\n</Directory>"));
    assert_int_equal(test_config_dir_section(ap_server_conf, 0)->opts, OPT_NONE);
    assert_int_equal(test_config_dir_section(ap_server_conf, 0)->sec_file->nelts, 1);
    check_refused("<IfModule nope>\n<Directory x>\n</IfModule>",
                  "Expected </Directory> but saw </IfModule>");
    check_refused("<IfModule nope>\n</Foo>\n</IfModule>", "Expected </IfModule> but saw </Foo>");
    check_refused("<IfModule core.c>\n<Directory x>\n</IfModule>",
                  "Expected </Directory> but saw </IfModule>");
    /* The end of the file closes a section that is read, and what is open in it. */
    assert_true(test_config_read("<IfModule core.c>\n"));
    assert_true(test_config_read("<IfModule core.c>\n<Files y>\nOptions None\n"));
    check_refused("<IfModule core.c>\n</IfModule> # x", "</IfModule> without matching <IfModule> section");
    check_refused("<Files y>\n</Files >", "</Files> directive missing closing '>'");
    check_refused("<IfModule nope>\n</IfModule >", "Expected </IfModule> but saw </IfModul>");
    check_refused("<IfModule nope>\n", "Expected </IfModule> before end of configuration");
    check_refused("<IfModule>\n</IfModule>", "<IfModule> directive requires additional arguments");
    check_refused("<IfVersion %% 2>\n</IfVersion>", "unrecognized operator '%%'");
    check_refused("<IfVersion >= 2.x>\n</IfVersion>", "Version appears to be invalid");
}

static void test_variables(void **state)
{
    static const struct {
        const char *text, *admin;
    } cases[] = {
        {"Define A x\nServerAdmin ${A}@y", "x@y"},
        {"Define A x\nDefine A y\nServerAdmin ${A}", "y"},
        {"Define A x\nDefine B ${A}${A}\nServerAdmin ${B}", "xx"},
        {"Define a 1\nDefine A 2\nServerAdmin ${a}${A}", "22"},
        {"ServerAdmin ${TEST_CONFIG_ENV}", "from environment"},
        {"Define TEST_CONFIG_ENV d\nServerAdmin ${TEST_CONFIG_ENV}", "d"},
        {"ServerAdmin ${UNDEFINED_X}", "${UNDEFINED_X}"},
        {"ServerAdmin ${map:key}", "${map:key}"},
        {"ServerAdmin ${open", "${open"},
        {"Define A x\nUnDefine A\nServerAdmin ${A}", "${A}"},
        {"Define A\n<IfDefine A>\nServerAdmin yes\n</IfDefine>", "yes"},
        {"Define A x\nUnDefine A\n<IfDefine A>\nError bad\n</IfDefine>\nServerAdmin no", "no"},
        {"<VirtualHost *>\nDefine A x\n</VirtualHost>\nServerAdmin ${A}", "x"},
    };

    setenv("TEST_CONFIG_ENV", "\"from environment\"", 1);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!test_config_read(cases[i].text) ||
            strcmp(ap_server_conf->server_admin, cases[i].admin))
            fail_msg("%s: %s", cases[i].text, test_messages);
    }
    test_config_read("ServerAdmin ${UNDEFINED_X}${map:key}");
    assert_non_null(
        strstr(test_messages, "AH00111: Config variable ${UNDEFINED_X} is not defined"));
    assert_null(strstr(test_messages, "map:key"));
    /* Nothing of it is left for the next reading. */
    assert_true(test_config_read("<IfDefine A>\nError left\n</IfDefine>"));
    assert_false(test_config_read("Define a:b c"));
}

static void test_include_order(void **state)
{
    apr_pool_t *p = test_process->pool;
    const char *dir = test_config_dir();

    test_config_file("20-b.conf", "ServerAdmin b\n");
    test_config_file("10-a.conf", "ServerAdmin a\nDefine SEEN_A\n");
    test_config_file("30-c.other", "ServerAdmin other\n");
    assert_true(test_config_read(apr_pstrcat(p, "Include ", dir, "*.conf", NULL)));
    assert_string_equal(ap_server_conf->server_admin, "b");
    assert_true(ap_exists_config_define("SEEN_A"));
    assert_true(test_config_read(apr_pstrcat(p, "Include ", dir, NULL)));
    assert_string_equal(ap_server_conf->server_admin, "other");
    assert_true(test_config_read(
        apr_pstrcat(p, "ServerRoot ", dir, "\nInclude [1]*.conf\nServerName x", NULL)));
    assert_string_equal(ap_server_conf->server_admin, "a");
    assert_true(test_config_read(apr_pstrcat(p, "<Directory /x>\nInclude ",
                                             test_config_file("in", "Options None\n"),
                                             "\n</Directory>", NULL)));
    assert_int_equal(test_config_dir_section(ap_server_conf, 0)->opts, OPT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections), cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_variables), cmocka_unit_test(test_include_order)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
