/* SPDX-License-Identifier: Apache-2.0 */
/* Which coding a response will have: by filters of ours and of others, whose reading of Accept-Encoding is simpler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "coding.h"
#include "declarations.h"
#include "test_pool.h"
#include "apr_hooks.h"

static module compress = {.name = "mod_compress.c"};

static int begin(void **state)
{
    if (test_pool_setup(state))
        return -1;
    apr_hook_global_pool = test_pool;
    declarations_forget();
    return 0;
}

static int end(void **state)
{
    int rc = test_pool_teardown(state);

    apr_hook_global_pool = NULL;
    return rc;
}

static apr_status_t passes(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return APR_SUCCESS;
}

static int added(int *codings, const char *name)
{
    ap_filter_rec_t frec = {.name = name};
    const ap_filter_t f = {.frec = &frec};

    return coding_add(codings, &f);
}

static int accepted(int codings, const char *value)
{
    return coding_accepted((const void *)(intptr_t)codings, value, value ? strlen(value) : 0);
}

static void test_filters_by_name(void **state)
{
    static const struct {
        const char *name;
        enum brg_coding coding;
    } filters[] = {
        {"deflate", BRG_CODING_GZIP},           {"DEFLATE", BRG_CODING_GZIP},
        {"bytype:DEFLATE", BRG_CODING_GZIP},    {"BYTYPE:brotli_compress", BRG_CODING_BROTLI},
        {"Brotli_Compress", BRG_CODING_BROTLI}, {"zstd_compress", BRG_CODING_ZSTD},
        {"inflate", BRG_CODING_NONE},           {"bytyp:deflate", BRG_CODING_NONE},
        {"bytype:", BRG_CODING_NONE},           {"", BRG_CODING_NONE}};

    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const ap_filter_rec_t frec = {.name = filters[i].name};

        assert_int_equal(coding_of_filter(&frec), filters[i].coding);
    }
}

static void test_others_add_nothing(void **state)
{
    int codings = 0;

    assert_int_equal(added(&codings, "includes"), 0);
    assert_int_equal(codings, 0);
}

/* A filter that nobody registered is of a module of which nothing is known: bare words alone can be told. */
static void test_words_of_foreign_filters(void **state)
{
    int codings = 0, gzip, both;

    assert_int_equal(added(&codings, "deflate"), 1);
    gzip = accepted(codings, "gzip");
    assert_true(gzip > 0);
    assert_int_equal(accepted(codings, "GZIP"), gzip);
    assert_int_equal(accepted(codings, " \t, br,gzip\t "), gzip);
    assert_int_equal(accepted(codings, "br, zstd"), 0);
    assert_int_equal(accepted(codings, "gzi"), 0);
    assert_int_equal(accepted(codings, "gzipp"), 0);
    assert_int_equal(accepted(codings, ""), 0);
    assert_int_equal(accepted(codings, NULL), 0);
    assert_int_equal(accepted(codings, "gzip;q=0"), -1);
    assert_int_equal(accepted(codings, "br;q=1, gzip"), -1);
    assert_int_equal(accepted(codings, "gzip br"), -1);
    assert_int_equal(accepted(codings, "*"), -1);
    assert_int_equal(coding_accepted((const void *)(intptr_t)codings, "gzipx", 4), gzip);
    assert_int_equal(coding_accepted((const void *)(intptr_t)codings, "gzip;q=0", 4), gzip);

    assert_int_equal(added(&codings, "brotli_compress"), 1);
    both = accepted(codings, "br, gzip");
    assert_int_not_equal(both, gzip);
    assert_int_equal(both & gzip, gzip);
    assert_int_equal(accepted(codings, "gzip,br"), both);
    assert_int_equal(accepted(codings, "gzip"), gzip);
    assert_int_equal(accepted(codings, "br") | gzip, both);
    assert_int_equal(accepted(codings, "zstd"), 0);
}

/* Weights count for filters whose module declared itself; the filter that stands first is preferred among equals. */
static void test_weights_of_own_filters(void **state)
{
    ap_filter_t deflate = {0}, brotli = {0};
    int codings = 0, list;

    brg_nonblocking_declare(&compress);
    apr_hook_debug_current = compress.name;
    deflate.frec = ap_register_output_filter("deflate", passes, NULL, AP_FTYPE_CONTENT_SET);
    brotli.frec = ap_register_output_filter("brotli_compress", passes, NULL, AP_FTYPE_CONTENT_SET);
    apr_hook_debug_current = NULL;
    assert_int_equal(coding_add(&codings, &deflate), 1);
    assert_int_equal(coding_add(&codings, &brotli), 1);
    list = BRG_CODING_GZIP | BRG_CODING_BROTLI << BRG_CODING_BITS;
    assert_int_equal(accepted(codings, "br, gzip"), list);
    assert_int_equal(accepted(codings, "br, gzip;q=0"), BRG_CODING_BROTLI);
    assert_int_equal(accepted(codings, "br, gzip;q=0.5"),
                     BRG_CODING_BROTLI | BRG_CODING_GZIP << BRG_CODING_BITS);
    assert_int_equal(accepted(codings, NULL), 0);
    assert_int_equal(coding_add(&codings, &deflate), 1); /* twice is once */
    assert_int_equal(accepted(codings, "br, gzip"), list);
}

/* Of Apache's files: what they leave alone is told by a head, and what a client's words may mean is left to them. */
static void test_filters_of_files(void **state)
{
    static const brg_coding_step plain = {
        .coding = BRG_CODING_GZIP, .least = 128, .types = "text/html\0text/css\0"};
    brg_coding_step step = plain;
    brg_coding_asked page = {.status = 200, .type = "text/html; charset=utf-8", .least = 1000};

    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_ASKS);
    page.knows_request = 1;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_NAMES);
    page.accept = "br, identity;q=0.5";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_NAMES);
    page.accept = "br, deflate,GZIP";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    step.is_told = 1;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_COMPRESSES);
    page.accept = "gzip, br;q=0.5";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.accept = "br, x-GZIP;q=0";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    step.only_html = 1;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.type = "text/css";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_LEAVES);
    page.type = "image/png";
    step = plain;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_LEAVES);
    page.type = "text/htm";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_LEAVES);
    page.type = "text/HTML";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.type = NULL;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.type = "text/html";
    page.coding = "br";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_LEAVES);
    page.coding = "Identity";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.coding = "identity, br";
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.coding = page.accept = NULL;
    page.least = 100;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.least = 1000;
    step.forced = 1;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_UNKNOWN);
    page.status = 404;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_LEAVES);
    page.status = 200;
    step.coding = BRG_CODING_NONE;
    assert_int_equal(coding_file_fate(&step, &page), BRG_CODING_LEAVES);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_filters_by_name),          TEST(test_others_add_nothing),
        TEST(test_words_of_foreign_filters), TEST(test_weights_of_own_filters),
        TEST(test_filters_of_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
