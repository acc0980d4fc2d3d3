/* SPDX-License-Identifier: Apache-2.0 */
/* Words of directives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <apr_general.h>
#include "tls_directives_private.h"

static void words_of_protocols(void **state)
{
    static const struct {
        const char *words;
        int bits; /* -1: refused */
    } cases[] = {{"all", TLS_V_ALL},
                 {"all -TLSv1 -TLSv1.1", TLS_V1_2 | TLS_V1_3},
                 {"TLSv1.2", TLS_V1_2},
                 {"-all +TLSv1.3", TLS_V1_3},
                 {"all -SSLv3", TLS_V_ALL},
                 {"all -SSLv2", TLS_V_ALL},
                 {"tlsv1.2 +TLSV1.3", TLS_V1_2 | TLS_V1_3},
                 {"-all", 0},
                 {"SSLv3", -1},
                 {"SSLv2", -1},
                 {"TLSv1.4", -1}};
    static command_rec rec = {.name = "SSLProtocol"};
    cmd_parms cmd = {.cmd = &rec};

    apr_pool_create(&cmd.pool, NULL);
    cmd.temp_pool = cmd.pool;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int bits = -1;

        assert_int_equal(tls_protocols(&cmd, cases[i].words, &bits) == NULL, cases[i].bits >= 0);
        assert_int_equal(bits, cases[i].bits);
    }
    apr_pool_destroy(cmd.pool);
}

/* What an inner section says of the depth counts, and else what the outer one says. */
static void depth_of_sections(void **state)
{
    apr_pool_t *p;
    tls_dir_conf *outer, *inner, *merged;

    apr_pool_create(&p, NULL);
    outer = ssl_module.create_dir_config(p, NULL);
    inner = ssl_module.create_dir_config(p, NULL);
    outer->depth = 3;
    merged = ssl_module.merge_dir_config(p, outer, inner);
    assert_int_equal(merged->depth, 3);
    inner->depth = 1;
    merged = ssl_module.merge_dir_config(p, outer, inner);
    assert_int_equal(merged->depth, 1);
    apr_pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_of_protocols),
                                       cmocka_unit_test(depth_of_sections)};

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
