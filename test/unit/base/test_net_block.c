/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that the network is read into: the one that became free last is taken first, and a thread keeps few. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include "net_block.h"

static void the_last_one_comes_first(void **state)
{
    char *a = net_block_get(), *b = net_block_get();

    assert_non_null(a);
    assert_non_null(b);
    memset(a, 'a', NET_BLOCK);
    memset(b, 'b', NET_BLOCK);
    net_block_put(b);
    net_block_put(a);
    assert_ptr_equal(net_block_get(), a);
    assert_ptr_equal(net_block_get(), b);
    net_block_put(a);
    net_block_put(b);
}

/* All are freed in the end: the leak sanitizer counts them. */
static void *thread_takes_and_gives(void *given)
{
    char *block[200];

    net_block_put(given); /* of another thread */
    for (int i = 0; i < 200; i++)
        if ((block[i] = net_block_get()) != NULL)
            memset(block[i], i, NET_BLOCK);
    for (int i = 0; i < 200; i++)
        if (block[i])
            net_block_put(block[i]);
    return NULL;
}

static void threads_end_with_theirs(void **state)
{
    pthread_t thread[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, thread_takes_and_gives, net_block_get()),
                         0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_one_comes_first),
                                       cmocka_unit_test(threads_end_with_theirs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
