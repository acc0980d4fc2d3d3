/* SPDX-License-Identifier: Apache-2.0 */
/* Structures that there are many of, or that each request touches: none may grow unseen. Who makes one larger on purpose changes its
 * budget here. Sizes are those of 64-bit machines; lines of a processor's cache have 64 bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cache_private.h"
#include "conn.h"
#include "h2_private.h"
#include "http_head.h"
#include "httpd.h"
#include "pool_private.h"

#include <stdio.h>

#define BUDGET(type, most)        \
    {                             \
#type, sizeof(type), most \
    }

static const struct {
    const char *name;
    size_t is, most;
} budgets[] = {
    BUDGET(brg_conn, 416),          /* a connection that is open, and a stream that runs */
    BUDGET(h2_session, 1088),       /* a connection of HTTP/2 more */
    BUDGET(http_stream, 224),       /* a stream that is open */
    BUDGET(cache_entry, 704),       /* an answer that is kept */
    BUDGET(http_head, 8448),        /* the head that is parsed */
    BUDGET(struct apr_pool_t, 256), /* a pool, cleared by each request */
    BUDGET(request_rec, 736),       /* Apache's: it does not grow at all */
    BUDGET(conn_rec, 208),          BUDGET(apr_bucket, 64),
};

static void structures_keep_to_their_budgets(void **state)
{
    int larger = 0;

    (void)state;
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
        if (budgets[i].is > budgets[i].most) {
            print_error("%s: %zu bytes, its budget are %zu\n", budgets[i].name, budgets[i].is,
                        budgets[i].most);
            larger++;
        }
    assert_int_equal(larger, 0);
}

/* What each event of a connection looks at lies side by side. */
static void what_is_hot_lies_together(void **state)
{
    (void)state;
    assert_true(offsetof(brg_conn, next) + sizeof(void *) - offsetof(brg_conn, driver) <= 128);
    assert_true(offsetof(struct apr_pool_t, head) == 0 && sizeof(brg_pool_head) <= 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_keep_to_their_budgets),
        cmocka_unit_test(what_is_hot_lies_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
