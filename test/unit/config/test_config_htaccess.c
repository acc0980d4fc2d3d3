/* SPDX-License-Identifier: Apache-2.0 */
/* .htaccess: what may stand there, and what its trees become. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "configuration.h"
#include "apr_strings.h"

static request_rec *make_request(void)
{
    apr_pool_t *p;
    request_rec *r;
    conn_rec *c;

    apr_pool_create(&p, test_process->pool);
    r = apr_pcalloc(p, sizeof *r);
    c = apr_pcalloc(p, sizeof *c);
    r->pool = p;
    r->server = c->base_server = ap_server_conf;
    r->connection = c;
    c->pool = p;
    r->notes = apr_table_make(p, 2);
    r->request_config = ap_create_request_config(p);
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->useragent_ip = apr_pstrdup(p, "-");
    c->client_ip = r->useragent_ip;
    return r;
}

static const conf_htaccess_scope everything = {OR_ALL, OPT_ALL | OPT_SYM_OWNER | OPT_MULTI, NULL};

/* Parse and apply a text. @return a message or NULL */
static const char *apply(request_rec *r, const conf_htaccess_scope *scope, const char *text,
                         ap_conf_vector_t **dc)
{
    ap_configfile_t *f = conf_open_memory(r->pool, ".htaccess", text, strlen(text));
    const ap_directive_t *err;
    ap_directive_t *tree;
    const char *error = conf_htaccess_parse(r->pool, r, scope, "/d/", f, &tree, &err);

    *dc = ap_create_per_dir_config(r->pool);
    return error ? error : conf_htaccess_apply(r->pool, r, scope, "/d/", tree, *dc, &err);
}

static void test_allowed(void **state)
{
    static apr_table_t *list;
    const struct {
        const char *text;
        conf_htaccess_scope scope;
        const char *message; /* NULL: fine */
    } cases[] = {
        {"Options Indexes", everything, NULL},
        {"Options Indexes", {OR_FILEINFO, OPT_ALL, NULL}, "Options not allowed here"},
        {"Options Indexes", {OR_OPTIONS, OPT_INCLUDES, NULL}, "Option Indexes not allowed here"},
        {"Options IncludesNOEXEC", {OR_OPTIONS, OPT_INCLUDES, NULL}, NULL},
        {"Options Includes", {OR_OPTIONS, OPT_INCLUDES, NULL}, "Option Includes not allowed here"},
        {"Options Indexes", {OR_NONE | NONFATAL_OVERRIDE, 0, NULL}, NULL},
        {"Nope", {OR_ALL | NONFATAL_UNKNOWN, OPT_ALL, NULL}, NULL},
        {"Nope", everything, "Invalid command 'Nope', perhaps misspelled"},
        {"LuaRoot x", everything, "Invalid command 'LuaRoot'"},
        {"ServerName x", everything, "ServerName not allowed here"},
        {"AllowOverride All", everything, "AllowOverride not allowed here"},
        {"Include x", everything, "Include not allowed here"},
        {"Define x", everything, "Define not allowed here"},
        {"LoadModule a b", everything, "LoadModule not allowed here"},
        {"<Files x>\nServerName y\n</Files>", everything,
         "ServerName not allowed in <Files> context"},
        {"<Directory x>\n</Directory>", everything, "<Directory not allowed here"},
        {"<IfModule core.c>\nOptions None\n</IfModule>", everything, NULL},
        {"<IfModule core.c>\nOptions None", everything, NULL},
        {"<IfModule core.c>\n<Files x>\nOptions None", everything, NULL},
        {"<IfModule nope>\nOptions None", everything, "Expected </IfModule> before end"},
        {"<Limit FOO>\n</Limit>", everything,
         "Could not register method 'FOO' for <Limit> from .htaccess configuration"},
        {"<LimitExcept GET BAR>\n</LimitExcept>", everything, "Could not register method 'BAR'"},
        {"<Limit GET PROPFIND>\n</Limit>", everything, NULL},
        {"Options All -Indexes", everything, NULL},
        {"Options None +Indexes", everything, NULL},
        {"Options Indexes All", everything, "'Options All' must be the first"},
        {"Options +All", everything, "You may not use 'Options +All'"},
        {"<Files x>", everything, "was not closed"},
        {"<If \"true\">\nOptions None\n</If>", everything, NULL},
        {"Options Indexes", {OR_NONE, OPT_ALL, list}, "Options not allowed here"},
    };

    assert_true(test_config_read(""));
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = make_request();
        ap_conf_vector_t *dc;
        const char *error = apply(r, &cases[i].scope, cases[i].text, &dc);

        if (!error != !cases[i].message || (error && !strstr(error, cases[i].message)))
            fail_msg("%s: %s", cases[i].text, error ? error : "is fine");
    }
}

static void test_override_list(void **state)
{
    conf_htaccess_scope scope = {OR_NONE, OPT_ALL, NULL};
    ap_conf_vector_t *dc;
    request_rec *r;

    assert_true(test_config_read(""));
    r = make_request();
    scope.override_list = apr_table_make(r->pool, 1);
    apr_table_set(scope.override_list, "ForceType", "1");
    assert_null(apply(r, &scope, "ForceType a/b", &dc));
    assert_string_equal(((core_dir_config *)ap_get_core_module_config(dc))->mime_type, "a/b");
    assert_non_null(apply(r, &scope, "SetHandler x", &dc));
}

static void test_long_line(void **state)
{
    ap_conf_vector_t *dc;
    request_rec *r;
    char text[CONF_HTACCESS_LINE_MAX + 10];

    assert_true(test_config_read(""));
    r = make_request();
    memset(text, 'x', sizeof text);
    text[0] = '#';
    text[sizeof text - 1] = '\0';
    assert_non_null(strstr(apply(r, &everything, text, &dc), "Line too long"));
    text[CONF_HTACCESS_LINE_MAX - 10] = '\0';
    assert_null(apply(r, &everything, text, &dc));
}

/* A tree may be applied to request after request, each time with the same result. */
static void test_replay(void **state)
{
    static const char text[] = "ForceType A/b\n<Files *.x>\nSetHandler h\n</Files>\n"
                               "<If \"true\">\nOptions None\n</If>\nErrorDocument 404 /x\n";
    apr_pool_t *p;
    const ap_directive_t *err;
    ap_directive_t *tree;
    ap_configfile_t *f;

    assert_true(test_config_read(""));
    apr_pool_create(&p, test_process->pool);
    f = conf_open_memory(p, ".htaccess", text, strlen(text));
    assert_null(conf_htaccess_parse(p, make_request(), &everything, "/d/", f, &tree, &err));
    for (int i = 0; i < 3; i++) {
        request_rec *r = make_request();
        ap_conf_vector_t *dc = ap_create_per_dir_config(r->pool);
        const core_dir_config *d;

        assert_null(conf_htaccess_apply(r->pool, r, &everything, "/d/", tree, dc, &err));
        d = ap_get_core_module_config(dc);
        assert_string_equal(d->mime_type, "a/b");
        assert_int_equal(d->sec_file->nelts, 1);
        assert_int_equal(d->sec_if->nelts, 1);
        apr_pool_destroy(r->pool);
    }
}

/* One request asks twice for a directory: the file is read once. */
static void test_remembered(void **state)
{
    ap_conf_vector_t *first = NULL, *second = NULL;
    request_rec *r;

    assert_true(test_config_read(""));
    test_config_file(".acl", "ForceType a/b\n");
    r = make_request();
    assert_int_equal(ap_parse_htaccess(&first, r, OR_ALL, 0, NULL, test_config_dir(), ".acl"), OK);
    assert_int_equal(ap_parse_htaccess(&second, r, OR_ALL, 0, NULL, test_config_dir(), ".acl"), OK);
    assert_non_null(first);
    assert_ptr_equal(first, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed), cmocka_unit_test(test_override_list),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_replay),
        cmocka_unit_test(test_remembered)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
