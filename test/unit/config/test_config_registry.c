/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: indices, names, built-in ones taken out; retained data; slots; where directives may
 * stand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "configuration.h"
#include "module_rows.h"
#include "apr_strings.h"

static int hooks_run;

static void probe_hooks(apr_pool_t *p)
{
    hooks_run++;
}

#define PROBE(n)                                                                              \
    {                                                                                         \
        .version = MODULE_MAGIC_NUMBER_MAJOR, .module_index = -1, .name = "/src/mod_" n ".c", \
        .magic = MODULE_MAGIC_COOKIE, .register_hooks = probe_hooks                           \
    }

static module probe_a = PROBE("probe_a"), probe_b = PROBE("probe_b"), probe_c = PROBE("probe_c");

static void test_names(void **state)
{
    assert_int_equal(core_module.module_index, 0);
    assert_null(ap_add_loaded_module(&probe_a, test_process->pool, "probe_a_module"));
    assert_int_equal(hooks_run, 1);
    assert_string_equal(probe_a.name, "mod_probe_a.c");
    assert_ptr_equal(ap_find_linked_module("mod_probe_a.c"), &probe_a);
    assert_ptr_equal(conf_find_module("probe_a_module"), &probe_a);
    assert_ptr_equal(conf_find_module("probe_a"), &probe_a);
    assert_string_equal(ap_find_module_short_name(probe_a.module_index), "probe_a");
    assert_string_equal(ap_find_module_name(&probe_a), "mod_probe_a.c");
    assert_string_equal(conf_module_symbol(&probe_a), "probe_a_module");
    assert_null(ap_find_module_short_name(-1));
    assert_null(ap_find_module_short_name(100000));
    ap_remove_loaded_module(&probe_a);
    assert_null(ap_find_linked_module("mod_probe_a.c"));
    assert_int_equal(probe_a.module_index, -1);
}

/* However modules come and go, no two have the same index. */
static void test_indices(void **state)
{
    int b;

    ap_add_loaded_module(&probe_a, test_process->pool, "probe_a_module");
    ap_add_loaded_module(&probe_b, test_process->pool, "probe_b_module");
    b = probe_b.module_index;
    ap_remove_loaded_module(&probe_a);
    ap_add_loaded_module(&probe_c, test_process->pool, "probe_c_module");
    assert_int_not_equal(probe_c.module_index, b);
    ap_add_loaded_module(&probe_a, test_process->pool, "probe_a_module");
    assert_int_not_equal(probe_a.module_index, probe_c.module_index);
    assert_int_not_equal(probe_a.module_index, b);
    ap_remove_loaded_module(&probe_a);
    ap_remove_loaded_module(&probe_b);
    ap_remove_loaded_module(&probe_c);
}

static void test_compatibility(void **state)
{
    module old = PROBE("old");

    old.version = 20051115;
    assert_non_null(strstr(ap_add_module(&old, test_process->pool, "old_module"), "20051115"));
    old.version = MODULE_MAGIC_NUMBER_MAJOR;
    old.minor_version = AP_MODULE_FLAGS_MMN_MINOR - 1;
    old.flags = 1;
    assert_int_equal(ap_get_module_flags(&old), 0);
    old.minor_version = AP_MODULE_FLAGS_MMN_MINOR;
    assert_int_equal(ap_get_module_flags(&old), 1);
}

static void test_builtin_off(void **state)
{
    assert_true(test_config_read("AddType a/b .x"));
    assert_false(test_config_read("BuiltinModule mime Off\nAddType a/b .x"));
    assert_non_null(strstr(test_messages, "unsupported: AddType, offered by mod_mime"));
    assert_null(conf_find_module("mime"));
    assert_true(test_config_read("BuiltinModule mime_module Off\n<IfModule mod_mime.c>\nError x\n"
                                 "</IfModule>\nBuiltinModule mod_dir.c On"));
    /* The next generation has it again. */
    assert_true(test_config_read("AddType a/b .x"));
    assert_non_null(conf_find_module("mime"));
    assert_false(test_config_read("BuiltinModule core Off"));
    assert_false(test_config_read("BuiltinModule nope Off"));
    assert_false(test_config_read("BuiltinModule nope On"));
    assert_false(test_config_read("BuiltinModule mime Maybe"));
}

/* What a LoadModule line says of built-in modules counts from the first line on. */
static void test_builtin_modules(void **state)
{
    static const char load[] = "LoadModule authz_core_module x.so\nLoadModule dir_module x.so\n";

    assert_true(
        test_config_read("BuiltinModules all\nAddType a/b .x\nLoadModule authz_core_module x.so"));
    assert_non_null(conf_find_module("mime"));
    assert_true(
        test_config_read("LoadModule authz_core_module x.so\nBuiltinModules all\nAddType a/b .x"));
    assert_true(test_config_read(load));
    assert_null(conf_find_module("mime"));
    assert_non_null(conf_find_module("mod_dir.c"));
    assert_non_null(conf_find_module("mod_log_config.c"));
    assert_true(test_config_read("<IfModule mod_mime.c>\nError x\n</IfModule>\n"
                                 "LoadModule authz_core_module x.so"));
    assert_false(test_config_read("LoadModule authz_core_module x.so\nAddType a/b .x"));
    assert_non_null(strstr(test_messages, "unsupported: AddType, offered by mod_mime"));
    /* One of ours, which adds a module of Apache's. */
    assert_true(test_config_read("LoadModule dir_module x.so\nAddType a/b .x"));
    assert_false(test_config_read(
        "LoadModule dir_module x.so\nLoadModule mpm_event_module x.so\nAddType a/b .x"));
    assert_true(
        test_config_read("BuiltinModules loaded\nLoadModule mime_module x.so\nAddType a/b .x"));
    /* What is said of a module further down does not count yet when reading starts over. */
    assert_true(test_config_read("LoadModule mime_module x.so\nBuiltinModule mime Off\n"
                                 "LoadModule authz_core_module x.so"));
    assert_null(conf_find_module("mime"));
    assert_false(test_config_read("BuiltinModules loaded\nBuiltinModules all"));
    assert_non_null(strstr(test_messages, "both loaded and all"));
    assert_false(test_config_read("BuiltinModules maybe"));
    assert_true(test_config_read("AddType a/b .x"));
}

static void test_load_module(void **state)
{
    static const struct {
        const char *text, *message;
        int good;
    } cases[] = {
        {"LoadModule mime_module nowhere.so", "", 1},
        {"LoadModule mpm_worker_module nowhere.so", "a process model of its own", 1},
        {"LoadModule mpm_prefork_module nowhere.so\n<IfModule "
         "mpm_event_module>\nNonsense\n</IfModule>",
         "", 1},
        {"LoadModule x_module /nonexistent.so",
         "Cannot load /nonexistent.so into server: /nonexistent.so: cannot open", 0},
        {"LoadFile /nonexistent.so", "Cannot load /nonexistent.so into server", 0},
        {"BuiltinModule mime Off\nLoadModule mime_module /nonexistent.so", "Cannot load", 0},
        {"LoadModule x_module", "LoadModule takes two arguments", 0},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int good = test_config_read(cases[i].text);

        if (good != cases[i].good || !strstr(test_messages, cases[i].message))
            fail_msg("%s: %s", cases[i].text, test_messages);
    }
}

static void test_limit_of_processes(void **state)
{
    static const char lowered[] = "exceeds ServerLimit of 10: it is lowered to that";

#define PREFORK "LoadModule mpm_prefork_module x.so\n"
    assert_true(test_config_read(PREFORK "ServerLimit 10\nMaxRequestWorkers 10"));
    assert_null(strstr(test_messages, lowered));
    assert_true(test_config_read(PREFORK "ServerLimit 10\nMaxRequestWorkers 11"));
    assert_non_null(strstr(test_messages, lowered));
    assert_true(test_config_read(""));
}

static void test_known(void **state)
{
    assert_string_equal(module_rows_directive("rewriteengine"), "mod_rewrite");
    assert_string_equal(module_rows_directive("Macro"), "mod_macro");
    assert_string_equal(module_rows_directive("xml2EncDefault"), "mod_xml2enc");
    assert_string_equal(module_rows_directive("Anonymous_LogEmail"), "mod_authn_anon");
    assert_null(module_rows_directive("Rewrite"));
    assert_null(module_rows_directive("RewriteEngine "));
    assert_null(module_rows_directive("RewriteEngine RewriteLock"));
    assert_null(module_rows_directive(""));
}

static void test_retained(void **state)
{
    int *data;

    assert_null(ap_retained_data_get("test"));
    data = ap_retained_data_create("test", sizeof *data);
    assert_int_equal(*data, 0);
    *data = 5;
    assert_true(test_config_read(""));
    assert_ptr_equal(ap_retained_data_get("test"), data);
    assert_int_equal(*data, 5);
}

static void test_slots(void **state)
{
    struct {
        int number, flag;
        const char *text;
        char small;
    } s = {0, 0, NULL, 7};
    command_rec rec = {.name = "Name", .errmsg = "use another"};
    cmd_parms cmd;

    conf_parms_init(&cmd, test_process->pool, test_process->pconf, NULL);
    cmd.cmd = &rec;
    cmd.info = (void *)offsetof(__typeof__(s), number);
    assert_null(ap_set_int_slot(&cmd, &s, "-12"));
    assert_int_equal(s.number, -12);
    assert_non_null(ap_set_int_slot(&cmd, &s, "12x"));
    assert_non_null(ap_set_int_slot(&cmd, &s, ""));
    assert_non_null(ap_set_int_slot(&cmd, &s, "99999999999999999999"));
    assert_non_null(ap_set_int_slot(&cmd, &s, "4294967297"));
    assert_int_equal(s.number, -12);
    cmd.info = (void *)offsetof(__typeof__(s), flag);
    assert_null(ap_set_flag_slot(&cmd, &s, 1));
    assert_int_equal(s.flag, 1);
    cmd.info = (void *)offsetof(__typeof__(s), small);
    assert_null(ap_set_flag_slot_char(&cmd, &s, 0));
    assert_int_equal(s.small, 0);
    cmd.info = (void *)offsetof(__typeof__(s), text);
    assert_null(ap_set_string_slot_lower(&cmd, &s, "ABC"));
    assert_string_equal(s.text, "abc");
    assert_null(ap_set_string_slot(&cmd, &s, "ABC"));
    assert_string_equal(s.text, "ABC");
    ap_server_root = "/root";
    assert_null(ap_set_file_slot(&cmd, &s, "a/../b"));
    assert_string_equal(s.text, "/root/b");
    assert_string_equal(ap_set_deprecated(&cmd, &s, ""), "use another");
    assert_string_equal(ap_server_root_relative(test_process->pool, "/x"), "/x");
    ap_runtime_dir = NULL;
    assert_string_equal(ap_runtime_dir_relative(test_process->pool, "f"), "/root/logs/f");
    ap_runtime_dir = "/run";
    assert_string_equal(ap_runtime_dir_relative(test_process->pool, "f"), "/run/f");
    ap_runtime_dir = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_indices),
                                       cmocka_unit_test(test_compatibility),
                                       cmocka_unit_test(test_builtin_off),
                                       cmocka_unit_test(test_builtin_modules),
                                       cmocka_unit_test(test_load_module),
                                       cmocka_unit_test(test_limit_of_processes),
                                       cmocka_unit_test(test_known),
                                       cmocka_unit_test(test_retained),
                                       cmocka_unit_test(test_slots)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
