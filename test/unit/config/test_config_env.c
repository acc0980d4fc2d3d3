/* SPDX-License-Identifier: Apache-2.0 */
/* Which arguments of directives name a variable of requests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "configuration.h"
#include "brigade/environment.h"

static int named(const char *directive, const char *args)
{
    conf_env_forget();
    conf_env_note(directive, args);
    return brg_env_may_be_read();
}

static void forms_that_name_one(void **state)
{
    assert_true(named("LogFormat", "\"%h %{DOCUMENT_NAME}e\" n"));
    assert_true(named("CustomLog", "logs/a common env=!quiet"));
    assert_true(named("Header", "set A b \"ENV=c\""));
    assert_true(named("RewriteCond", "%{ENV:a} =b"));
    assert_true(named("If", "\"%{reqenv:A} == 'b'\""));
    assert_true(named("Require", "expr env('A') == 'b'"));
    assert_true(named("Require", "expr v('A') == 'b'"));
    assert_true(named("Require", "env a"));
    assert_true(named("AuthzProviderAlias", "env"));
    assert_true(named("ProxyPassInterpolateEnv", "On"));
}

static void forms_that_do_not(void **state)
{
    assert_false(
        named("LogFormat", "\"%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\"\" combined"));
    assert_false(named("SSLOptions", "+StdEnvVars"));
    assert_false(named("DocumentRoot", "/srv/environment"));
    assert_false(named("SetEnv", "a b"));
    assert_false(named("Options", "+Includes"));
    assert_false(named("Header", "set Vary %{Vary}o"));
    assert_false(named("RewriteEngine", NULL));
}

static void one_is_enough(void **state)
{
    conf_env_forget();
    conf_env_note("Require", "env a");
    conf_env_note("Options", "None");
    assert_true(brg_env_may_be_read());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_that_name_one),
        cmocka_unit_test(forms_that_do_not),
        cmocka_unit_test(one_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
