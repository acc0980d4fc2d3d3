/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of extensions: how contexts merge and what Remove* undoes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "test_pool.h"
#include "test_directive.h"
#include "mime_private.h"

static mime_conf *mime_context(const char *const *lines)
{
    mime_conf *conf = mime_create_conf(test_pool, NULL);

    for (; *lines; lines++) {
        assert_null(test_directive(test_pool, &mime_module, NULL, conf, "/", *lines));
    }
    return conf;
}

static const char *mime_value(const mime_conf *conf, const char *extension, mime_field field)
{
    const mime_extension *found =
        conf->extensions ? apr_hash_get(conf->extensions, extension, APR_HASH_KEY_STRING) : NULL;

    return found ? found->value[field] : NULL;
}

static void narrower_context_overlays_fields(void **state)
{
    static const char *const outer[] = {"AddType TEXT/A .A", "AddCharset cs a", "AddLanguage fr .b",
                                        NULL};
    static const char *const inner[] = {"AddType text/b .a", "AddHandler h .c", NULL};
    mime_conf *conf = mime_merge_conf(test_pool, mime_context(outer), mime_context(inner));

    assert_string_equal(mime_value(conf, "a", MIME_TYPE), "text/b");
    assert_string_equal(mime_value(conf, "a", MIME_CHARSET), "cs");
    assert_string_equal(mime_value(conf, "b", MIME_LANGUAGE), "fr");
    assert_string_equal(mime_value(conf, "c", MIME_HANDLER), "h");
}

static void removal_works_on_merging_and_leaves_base_alone(void **state)
{
    static const char *const outer[] = {"AddEncoding gzip .gz", "AddLanguage fr .gz", NULL};
    static const char *const inner[] = {"RemoveEncoding GZ", NULL};
    mime_conf *base = mime_context(outer), *add = mime_context(inner);
    mime_conf *conf = mime_merge_conf(test_pool, base, add);

    assert_null(mime_value(conf, "gz", MIME_ENCODING));
    assert_string_equal(mime_value(conf, "gz", MIME_LANGUAGE), "fr");
    assert_string_equal(mime_value(base, "gz", MIME_ENCODING), "gzip");
}

static void remove_type_hides_types_config(void **state)
{
    static const char *const lines[] = {"RemoveType .html .x", "AddType text/x .x", NULL};
    mime_conf *conf = mime_context(lines);

    assert_string_equal(mime_value(conf, "html", MIME_TYPE), "");
    assert_string_equal(mime_value(conf, "x", MIME_TYPE), "text/x");
}

static void filters_are_packed(void **state)
{
    static const char *const lines[] = {"AddOutputFilter INCLUDES;;Deflate; .x", NULL};
    const char *packed = mime_value(mime_context(lines), "x", MIME_OUTPUT_FILTERS);

    assert_memory_equal(packed, "includes\0deflate\0\0", sizeof("includes\0deflate\0"));
}

static void multiviews_options_exclude_each_other(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"MultiviewsMatch Handlers Filters", NULL},
        {"MultiviewsMatch any", NULL},
        {"MultiviewsMatch Any Filters", "Filters is incompatible with Any and NegotiatedOnly"},
        {"MultiviewsMatch NegotiatedOnly Any",
         "Any is incompatible with NegotiatedOnly, Filters and Handlers"},
        {"MultiviewsMatch Handlers NegotiatedOnly",
         "NegotiatedOnly is incompatible with Any, Filters and Handlers"},
        {"MultiviewsMatch Some", "Unrecognized option 'Some'"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mime_conf *conf = mime_create_conf(test_pool, NULL);
        const char *error =
            test_directive(test_pool, &mime_module, NULL, conf, NULL, cases[i].line);

        if (cases[i].error == NULL) {
            assert_null(error);
        } else {
            assert_string_equal(error, cases[i].error);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(narrower_context_overlays_fields),
        TEST_WITH_POOL(removal_works_on_merging_and_leaves_base_alone),
        TEST_WITH_POOL(remove_type_hides_types_config),
        TEST_WITH_POOL(filters_are_packed),
        TEST_WITH_POOL(multiviews_options_exclude_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
