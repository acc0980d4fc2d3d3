/* SPDX-License-Identifier: Apache-2.0 */
/* FilterChain: what a chain looks like after edits and merging. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "test_pool.h"
#include "test_directive.h"
#include "filter_private.h"

static modfilter_conf *filter_context(const char *line)
{
    modfilter_conf *conf = filter_module.create_dir_config(test_pool, NULL);

    if (*line) {
        assert_null(test_directive(test_pool, &filter_module, NULL, conf, "/",
                                   apr_pstrcat(test_pool, "FilterChain ", line, NULL)));
    }
    return conf;
}

static const char *filter_chain_text(const modfilter_conf *conf)
{
    const modfilter_link *link;
    const char *text = "";

    for (link = conf->chain; link; link = link->next) {
        text = apr_pstrcat(test_pool, text, link->name, " ", NULL);
    }
    return text;
}

static void words_edit_the_chain(void **state)
{
    static const struct {
        const char *line, *chain;
    } cases[] = {
        {"a b +c", "a b c "},   {"a @b", "b a "},  {"a b c -b", "a c "}, {"a b -a", "b "},
        {"a b -b", "a "},       {"a -x", "a "},    {"-x", ""},           {"a b a -a", "b a "},
        {"a b c b -B", "a c "}, {"a b ! c", "c "}, {"a b =c d", "c d "}, {"a !", ""},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(filter_chain_text(filter_context(cases[i].line)), cases[i].chain);
    }
}

static void narrower_context_continues_the_chain(void **state)
{
    static const struct {
        const char *base, *add, *chain;
    } cases[] = {
        {"a b", "c", "a b c "}, {"a", "", "a "},    {"", "a", "a "},   {"a b", "!", ""},
        {"a b", "=c", "c "},    {"a", "! b", "b "}, {"a", "-a", "a "}, {"a", "@b", "a b "},
        {"a", "@b !x @c d", "d "},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        modfilter_conf *base = filter_context(cases[i].base);
        modfilter_conf *conf =
            filter_module.merge_dir_config(test_pool, base, filter_context(cases[i].add));

        assert_string_equal(filter_chain_text(conf), cases[i].chain);
    }
}

static void a_reset_survives_merging(void **state)
{
    modfilter_conf *inner =
        filter_module.merge_dir_config(test_pool, filter_context("!"), filter_context("b"));
    modfilter_conf *conf = filter_module.merge_dir_config(test_pool, filter_context("a"), inner);

    assert_string_equal(filter_chain_text(conf), "b ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(words_edit_the_chain),
        TEST_WITH_POOL(narrower_context_continues_the_chain),
        TEST_WITH_POOL(a_reset_survives_merging),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
