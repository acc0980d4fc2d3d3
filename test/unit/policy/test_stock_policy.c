/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for Apache's own modules: which directives end or mark one, and what an answer depends on by each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "stock_policy.h"
#include "brigade/response_cache.h"
#include "http_config.h"
#include "util_cfgtree.h"
#include "test_config.h"
#include "test_request.h"

static apr_pool_t *pool;

/* The module of that name as if it were loaded from Apache's file. */
static module *loaded(const char *name)
{
    module *m = apr_pcalloc(pool, sizeof *m);

    m->version = MODULE_MAGIC_NUMBER_MAJOR;
    m->name = name;
    m->dynamic_load_handle = m;
    return m;
}

static const stock_rule *rule(const char *name)
{
    const stock_rule *found = stock_rule_of(loaded(name));

    assert_non_null(found);
    assert_string_equal(found->name, name);
    return found;
}

static void in_htaccess(const char *name, const char *directive, const char *args)
{
    const cmd_parms cmd = {.pool = pool, .temp_pool = pool};
    const ap_directive_t d = {.directive = directive, .args = args};

    stock_policy_directive(loaded(name), &cmd, ap_create_per_dir_config(pool), &d);
}

static request_rec *request(void)
{
    request_rec *r = test_request_kept(pool, NULL, NULL);

    r->server = ap_server_conf;
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->uri = apr_pstrdup(pool, "/dir/page.html");
    r->unparsed_uri = apr_pstrdup(pool, "/dir/page.html?x=1");
    r->filename = apr_pstrdup(pool, "/site/dir/page.html");
    r->path_info = NULL;
    r->finfo.filetype = APR_REG;
    r->finfo.size = 1000;
    return r;
}

static void test_which_modules_have_one(void **state)
{
    module *m = loaded("mod_asis.c");

    assert_non_null(stock_rule_of(m));
    m->dynamic_load_handle = NULL;
    assert_null(stock_rule_of(m)); /* a module of our own declares by itself */
    m = loaded("mod_asis.c");
    m->version++;
    assert_null(stock_rule_of(m));
    assert_null(stock_rule_of(loaded("mod_nobody_knows.c")));
}

static void test_negotiation(void **state)
{
    const stock_rule *negotiation = rule("mod_negotiation.c");
    request_rec *r = request(), *first = request();

    assert_int_equal(negotiation->depends(r), BRG_CACHE_STATIC);
    r->content_encoding = "gzip";
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
    r->content_encoding = NULL;
    r->vlist_validator = apr_pstrdup(pool, "\"x\"");
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
    r->vlist_validator = NULL;
    r->prev = first;
    assert_int_equal(negotiation->depends(r), BRG_CACHE_STATIC);
    first->handler = "type-map";
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
    first->handler = NULL;
    first->content_type = "application/x-type-map";
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
    assert_true(stock_rule_waits(negotiation, first));
    assert_false(stock_rule_waits(negotiation, r));
}

static void test_multiviews(void **state)
{
    const stock_rule *negotiation = rule("mod_negotiation.c");
    request_rec *r = request();

    r->per_dir_config = ap_create_per_dir_config(pool);
    {
        core_dir_config *conf = apr_pmemdup(
            pool, ap_get_core_module_config(ap_server_conf->lookup_defaults), sizeof *conf);

        conf->opts = OPT_MULTI;
        ap_set_core_module_config(r->per_dir_config, conf);
    }
    assert_int_equal(negotiation->depends(r), BRG_CACHE_STATIC); /* the name that was asked for */
    r->filename = apr_pstrdup(pool, "/site/dir/page.html.en");
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
    r->filename = apr_pstrdup(pool, "/site/dir/page.html");
    r->unparsed_uri = apr_pstrdup(pool, "/dir/page?x=/page.html");
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
    r->unparsed_uri = apr_pstrdup(pool, "/dir/page.html");
    assert_int_equal(negotiation->depends(r), BRG_CACHE_STATIC);
    r->finfo.filetype = APR_NOFILE;
    assert_int_equal(negotiation->depends(r), BRG_CACHE_VOLATILE);
}

/* Files above a size are left to workers, and those whose size nobody knows. */
static void test_compression(void **state)
{
    const stock_rule *deflate = rule("mod_deflate.c");
    request_rec *r = request();
    ap_filter_rec_t frec = {.name = "deflate"}, inflate = {.name = "INFLATE"},
                    other = {.name = "includes"};
    ap_filter_t next = {.frec = &frec}, f = {.frec = &other, .next = &next};

    r->output_filters = &f;
    r->finfo.size = 1 << 20;
    assert_false(stock_rule_waits(deflate, r)); /* nobody asked for it */
    apr_table_setn(r->headers_in, "Accept-Encoding", "gzip");
    assert_true(stock_rule_waits(deflate, r));
    r->finfo.size = 128 * 1024;
    assert_false(stock_rule_waits(deflate, r));
    r->finfo.size++;
    assert_true(stock_rule_waits(deflate, r));
    apr_table_unset(r->headers_in, "Accept-Encoding");
    apr_table_setn(r->subprocess_env, "force-gzip", "1");
    assert_true(stock_rule_waits(deflate, r));
    apr_table_unset(r->subprocess_env, "force-gzip");
    next.frec = &inflate;
    assert_true(stock_rule_waits(deflate, r));
    r->finfo.size = 1;
    assert_false(stock_rule_waits(deflate, r));
    r->finfo.filetype = APR_NOFILE;
    assert_true(stock_rule_waits(deflate, r));
    next.frec = &other;
    assert_false(stock_rule_waits(deflate, r));
}

static void test_proxied(void **state)
{
    const stock_rule *proxy = rule("mod_proxy.c");
    request_rec *r = request();

    assert_int_equal(proxy->depends(r), BRG_CACHE_STATIC);
    assert_false(stock_rule_waits(proxy, r));
    r->filename = apr_pstrdup(pool, "proxy:http://b/");
    assert_int_equal(proxy->depends(r), BRG_CACHE_VOLATILE);
    assert_true(stock_rule_waits(proxy, r));
    r->filename = apr_pstrdup(pool, "/proxy:");
    r->handler = "proxy-server";
    assert_int_equal(proxy->depends(r), BRG_CACHE_VOLATILE);
    r->handler = "proxy:unix:/x";
    assert_int_equal(proxy->depends(r), BRG_CACHE_VOLATILE);
    r->handler = "proxyserver";
    assert_int_equal(proxy->depends(r), BRG_CACHE_STATIC);
    r->proxyreq = PROXYREQ_REVERSE;
    assert_int_equal(proxy->depends(r), BRG_CACHE_VOLATILE);
}

static void test_users(void **state)
{
    const stock_rule *userdir = rule("mod_userdir.c");
    request_rec *r = request(), *first = request();

    assert_int_equal(userdir->depends(r), BRG_CACHE_STATIC);
    r->prev = first;
    first->uri = apr_pstrdup(pool, "/~u/");
    assert_int_equal(userdir->depends(r), BRG_CACHE_VOLATILE);
    first->uri = apr_pstrdup(pool, "/%7Eu/");
    assert_int_equal(userdir->depends(r), BRG_CACHE_VOLATILE);
    first->uri = NULL;
    assert_int_equal(userdir->depends(r), BRG_CACHE_STATIC);
}

static void test_authentication(void **state)
{
    request_rec *r = request();
    const stock_rule *basic = rule("mod_auth_basic.c");

    assert_true(stock_rule_authenticates(basic));
    assert_false(stock_rule_authenticates(rule("mod_asis.c")));
    assert_false(stock_rule_authenticates(NULL));
    assert_int_equal(basic->depends(r), BRG_CACHE_STATIC);
    r->user = apr_pstrdup(pool, "u");
    assert_int_equal(basic->depends(r), BRG_CACHE_VOLATILE);
    r->user = NULL;
    r->ap_auth_type = apr_pstrdup(pool, "Basic");
    assert_int_equal(basic->depends(r), BRG_CACHE_VOLATILE);
}

/* An access file marks the module, for all requests from then on; "off" does not. */
static void test_marks(void **state)
{
    const stock_rule *actions = rule("mod_actions.c"), *speling = rule("mod_speling.c");
    request_rec *r = request();

    assert_false(stock_is_marked("mod_actions.c"));
    assert_false(stock_rule_waits(actions, r));
    in_htaccess("mod_actions.c", "Action", "image/gif /x");
    assert_true(stock_is_marked("mod_actions.c"));
    assert_true(stock_rule_waits(actions, r));

    in_htaccess("mod_speling.c", "CheckSpelling", "Off");
    assert_false(stock_is_marked("mod_speling.c"));
    in_htaccess("mod_speling.c", "checkspelling", "on");
    assert_true(stock_is_marked("mod_speling.c"));
    assert_int_equal(speling->depends(r), BRG_CACHE_STATIC);
    r->path_info = apr_pstrdup(pool, "");
    assert_int_equal(speling->depends(r), BRG_CACHE_STATIC);
    r->path_info = apr_pstrdup(pool, "/x");
    assert_int_equal(speling->depends(r), BRG_CACHE_VOLATILE);
    r->path_info = NULL;
    r->finfo.filetype = APR_NOFILE;
    assert_int_equal(speling->depends(r), BRG_CACHE_VOLATILE);
}

static int begin(void **state)
{
    test_config_setup(state);
    if (!test_config_read("DocumentRoot /tmp\n"))
        fail_msg("%s", test_messages);
    pool = test_process->pconf;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_modules_have_one),
        cmocka_unit_test(test_negotiation),
        cmocka_unit_test(test_multiviews),
        cmocka_unit_test(test_compression),
        cmocka_unit_test(test_proxied),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_authentication),
        cmocka_unit_test(test_marks),
    };

    return cmocka_run_group_tests(tests, begin, test_config_teardown);
}
