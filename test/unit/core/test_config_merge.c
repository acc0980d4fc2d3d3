/* SPDX-License-Identifier: Apache-2.0 */
/* What settings become: stored, merged into sections and inherited by virtual hosts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "configuration.h"
#include "core_settings.h"
#include "http_log.h"
#include "apr_strings.h"

static core_dir_config *defaults(const server_rec *s)
{
    return ap_get_core_module_config(s->lookup_defaults);
}

/* The first two <Directory> sections merged onto the server's settings. */
static core_dir_config *merged(const char *text)
{
    core_dir_config *d;

    if (!test_config_read(text))
        fail_msg("%s: %s", text, test_messages);
    d = defaults(ap_server_conf);
    for (int i = 0; i < 2; i++) {
        core_dir_config *section = test_config_dir_section(ap_server_conf, i);

        if (section)
            d = core_merge_dir_configs(test_process->pconf, d, section);
    }
    return d;
}

#define SECTIONS(a, b) "<Directory />\n" a "\n</Directory>\n<Directory /x>\n" b "\n</Directory>\n"

static void test_options(void **state)
{
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {"", OPT_SYM_LINKS | OPT_UNSET},
        {"Options None", OPT_NONE},
        {"Options All", OPT_ALL},
        {"Options Indexes MultiViews", OPT_INDEXES | OPT_MULTI},
        {SECTIONS("Options Indexes", ""), OPT_INDEXES},
        {SECTIONS("Options Indexes", "Options Includes"), OPT_INCLUDES | OPT_INC_WITH_EXEC},
        {SECTIONS("Options Indexes", "Options +IncludesNOEXEC"), OPT_INDEXES | OPT_INCLUDES},
        {SECTIONS("Options Indexes FollowSymLinks", "Options -Indexes"), OPT_SYM_LINKS},
        {SECTIONS("Options Indexes FollowSymLinks", "Options +Includes -Indexes"),
         OPT_SYM_LINKS | OPT_INCLUDES | OPT_INC_WITH_EXEC},
        {SECTIONS("Options Includes", "Options +IncludesNOEXEC"), OPT_INCLUDES},
        {SECTIONS("Options +Indexes", "Options -FollowSymLinks"), OPT_UNSET | OPT_INDEXES},
        {SECTIONS("Options +Indexes", "Options -Indexes"), OPT_UNSET | OPT_SYM_LINKS},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int opts = merged(cases[i].text)->opts;

        if (opts != cases[i].want)
            fail_msg("%s: %d, not %d", cases[i].text, opts, cases[i].want);
    }
}

static void test_dir_values(void **state)
{
    core_dir_config *d;

    d = merged(SECTIONS("LimitRequestBody 5\nForceType Text/Plain\nSetHandler X",
                        "EnableMMAP Off\nErrorDocument 404 /x"));
    assert_int_equal(d->limit_req_body, 5);
    assert_string_equal(d->mime_type, "text/plain");
    assert_string_equal(d->handler, "X");
    assert_int_equal(d->enable_mmap, ENABLE_MMAP_OFF);
    assert_int_equal(d->enable_sendfile, ENABLE_SENDFILE_UNSET);
    assert_int_equal(apr_hash_count(d->response_code_exprs), 1);
    assert_string_equal(d->d, "/x/");
    assert_int_equal(d->d_components, 2);
    d = merged(SECTIONS("SetHandler X\nLimitRequestBody 5", "SetHandler None\nLimitRequestBody 0"));
    assert_string_equal(d->handler, "none");
    assert_int_equal(d->limit_req_body, 0);
    d = merged(SECTIONS("ErrorDocument 404 /a\nErrorDocument 403 /b", "ErrorDocument 404 default"));
    assert_int_equal(apr_hash_count(d->response_code_exprs), 2);
    d = merged(SECTIONS("FileETag INode", "FileETag +Size -INode"));
    assert_int_equal((d->etag_bits & ~d->etag_remove) | d->etag_add, ETAG_SIZE);
    d = merged(SECTIONS("AllowOverride All", ""));
    assert_int_equal(d->override, OR_ALL);
    d = merged(SECTIONS("AllowOverride All", "AllowOverride Options=Indexes,MultiViews FileInfo"));
    assert_int_equal(d->override, OR_OPTIONS | OR_FILEINFO);
    assert_int_equal(d->override_opts, OPT_INDEXES | OPT_MULTI);
    d = merged(SECTIONS("AllowOverride None Nonfatal=Unknown", ""));
    assert_int_equal(d->override, NONFATAL_UNKNOWN);
    d = merged(SECTIONS("AllowOverrideList Redirect options", "AllowOverride None"));
    assert_non_null(apr_table_get(d->override_list, "Options"));
    assert_non_null(apr_table_get(d->override_list, "Redirect"));
    assert_null(apr_table_get(d->override_list, "AddType"));
}

static void test_section_lists(void **state)
{
    const server_rec *s;
    core_dir_config *d;

    assert_true(test_config_read("<DirectoryMatch ^/(?<first>[a-z]+)/(?<second>x)>\n"
                                 "</DirectoryMatch>\n"
                                 "<Directory /a/b/c>\n</Directory>\n<Directory /z>\n</Directory>\n"
                                 "<Directory />\n</Directory>\n<Directory /a/*>\n</Directory>\n"
                                 "<Directory /a>\n</Directory>\n"));
    s = ap_server_conf;
    assert_string_equal(test_config_dir_section(s, 0)->d, "/");
    assert_string_equal(test_config_dir_section(s, 1)->d, "/z/");
    assert_string_equal(test_config_dir_section(s, 2)->d, "/a/");
    assert_string_equal(test_config_dir_section(s, 3)->d, "/a/*/");
    assert_true(test_config_dir_section(s, 3)->d_is_fnmatch);
    assert_string_equal(test_config_dir_section(s, 4)->d, "/a/b/c/");
    d = test_config_dir_section(s, 5);
    assert_non_null(d->r);
    assert_string_equal(APR_ARRAY_IDX(d->refs, 1, char *), "MATCH_FIRST");
    assert_string_equal(APR_ARRAY_IDX(d->refs, 2, char *), "MATCH_SECOND");
    assert_true(test_config_read("<Location /b>\n</Location>\n<Location ~ ^/a>\n</Location>"));
    assert_string_equal(test_config_url_section(ap_server_conf, 0)->d, "/b");
    assert_non_null(test_config_url_section(ap_server_conf, 1)->r);
    assert_true(test_config_read("<Files x>\n<If \"true\">\n</If>\n<Else>\n</Else>\n</Files>"));
    d = ap_get_core_module_config(
        APR_ARRAY_IDX(defaults(ap_server_conf)->sec_file, 0, ap_conf_vector_t *));
    assert_int_equal(d->sec_if->nelts, 2);
    d = ap_get_core_module_config(APR_ARRAY_IDX(d->sec_if, 1, ap_conf_vector_t *));
    assert_int_equal(d->condition_ifelse, AP_CONDITION_ELSE);
    assert_null(d->condition);
}

static void test_virtual_hosts(void **state)
{
    const server_rec *s;

    assert_true(test_config_read(
        "ServerAdmin a\nTimeout 7\nDocumentRoot /\nLimitRequestLine 100\nTraceEnable on\n"
        "AllowEncodedSlashes On\nOptions Indexes\nFileCacheValidate stat\n<Directory /m>\n"
        "</Directory>\n<VirtualHost *:81>\nServerName https://One:8443\nServerAlias two *.three\n"
        "Timeout 250ms\nLimitRequestFields 0\nOptions +Includes\nTraceEnable off\n<Directory /v>\n"
        "</Directory>\n</VirtualHost>\n<VirtualHost *:81>\nServerName [::1]:82\n</VirtualHost>"));
    s = test_config_server("One");
    assert_non_null(s);
    assert_int_equal(s->port, 8443);
    assert_string_equal(s->server_scheme, "https");
    assert_string_equal(s->server_admin, "a");
    assert_int_equal(s->timeout, apr_time_from_msec(250));
    assert_int_equal(s->limit_req_line, 100);
    assert_int_equal(s->limit_req_fields, 0);
    assert_int_equal(s->limit_req_fieldsize, DEFAULT_LIMIT_REQUEST_FIELDSIZE);
    assert_int_equal(s->names->nelts, 1);
    assert_int_equal(s->wild_names->nelts, 1);
    assert_int_equal(core_server_conf_of(s)->trace_enable, AP_TRACE_DISABLE);
    assert_string_equal(core_server_conf_of(s)->ap_document_root, "/");
    assert_int_equal(core_server_conf_of(s)->sec_dir->nelts, 2);
    assert_int_equal(core_conf_of(s)->file_cache_validate, BRG_VALIDATE_STAT);
    assert_int_equal(defaults(s)->opts, OPT_INDEXES | OPT_INCLUDES | OPT_INC_WITH_EXEC);
    assert_false(defaults(s)->allow_encoded_slashes); /* not inherited: test/compat/test_ways_around.py */
    s = test_config_server("[::1]");
    assert_non_null(s);
    assert_int_equal(s->port, 82);
    assert_int_equal(s->timeout, apr_time_from_sec(7));
    assert_int_equal(core_server_conf_of(s)->trace_enable, AP_TRACE_ENABLE);
    assert_int_equal(core_server_conf_of(s)->sec_dir->nelts, 1);
}

static void test_our_own(void **state)
{
    assert_true(test_config_read(""));
    assert_int_equal(core_conf_of(ap_server_conf)->file_cache_validate, BRG_VALIDATE_INOTIFY);
    assert_int_equal(core_server_conf_of(ap_server_conf)->trace_enable, AP_TRACE_DISABLE);
    assert_true(test_config_read("FileCacheValidate 3\nFileCacheSize 2M\nFileCacheMaxFile 100k\n"
                                 "FileCacheEntries 12\n"));
    assert_int_equal(core_conf_of(ap_server_conf)->file_cache_validate, BRG_VALIDATE_AGE);
    assert_int_equal(core_conf_of(ap_server_conf)->file_cache_age_us, apr_time_from_sec(3));
    assert_int_equal(core_conf_of(ap_server_conf)->file_cache_bytes, 2 << 20);
    assert_int_equal(core_conf_of(ap_server_conf)->file_cache_max_file_bytes, 100 << 10);
    assert_int_equal(core_conf_of(ap_server_conf)->file_cache_entries_n, 12);
}

static void test_log_levels(void **state)
{
    const module *mime = conf_find_module("mime"), *dir = conf_find_module("dir");
    const struct ap_logconf *l;
    core_dir_config *d;

    assert_true(test_config_read("LogLevel info mime:debug\n<VirtualHost *:81>\nServerName v\n"
                                 "LogLevel dir:trace1\n</VirtualHost>\n"
                                 "<Directory /x>\nLogLevel dir:trace2\n</Directory>"));
    l = &ap_server_conf->log;
    assert_int_equal(l->level, APLOG_INFO);
    assert_int_equal(ap_get_module_loglevel(l, mime->module_index), APLOG_DEBUG);
    assert_int_equal(ap_get_module_loglevel(l, dir->module_index), APLOG_INFO);
    l = &test_config_server("v")->log;
    assert_int_equal(ap_get_module_loglevel(l, mime->module_index), APLOG_DEBUG);
    assert_int_equal(ap_get_module_loglevel(l, dir->module_index), APLOG_TRACE1);
    assert_int_equal(l->level, APLOG_INFO);
    d = test_config_dir_section(ap_server_conf, 0);
    l = core_log_config(test_process->pconf, ap_server_conf, d);
    assert_int_equal(l->level, APLOG_INFO);
    assert_int_equal(ap_get_module_loglevel(l, dir->module_index), APLOG_TRACE2);
    assert_int_equal(ap_get_module_loglevel(l, mime->module_index), APLOG_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),       cmocka_unit_test(test_dir_values),
        cmocka_unit_test(test_section_lists), cmocka_unit_test(test_virtual_hosts),
        cmocka_unit_test(test_our_own),       cmocka_unit_test(test_log_levels)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
