/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is there already: the same layout is taken over, another program attaches. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_store.h"

static void test_another_program_attaches(void **state)
{
    store_limits limits;
    store *mine, *theirs;
    store_reader *r;
    size_t bytes;
    void *memory;

    (void)state;
    store_limits_default(&limits, 9 * STORE_SEGMENT);
    bytes = store_size(&limits);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_null(store_attach(memory, bytes)); /* nobody made a store of it */
    assert_int_equal(*(uint64_t *)memory, 0);
    mine = store_open(memory, &limits);
    assert_null(store_attach(memory, bytes - 4096));
    theirs = store_attach(memory, bytes);
    assert_non_null(theirs);
    r = store_reader_open(theirs);
    assert_non_null(r);
    store_reader_close(&r);
    store_close(&theirs);
    mine->shared->bytes = UINT64_MAX;
    assert_null(store_attach(memory, bytes));
    mine->shared->bytes = limits.bytes;
    mine->shared->layout++;
    assert_null(store_attach(memory, bytes));
    store_close(&mine);
    munmap(memory, bytes);
}

/* Another layout is formatted; the same one is taken over. */
static void test_taken_over(void **state)
{
    store *next;
    store_limits limits = f.s->limits;

    (void)state;
    assert_int_equal(put("http://a/", 100), APR_SUCCESS);
    next = store_open(f.memory, &limits);
    assert_true(next->shared->secret[0] == f.s->shared->secret[0]);
    store_close(&next);
    assert_int_equal(has(f.r, "http://a/", 100), 0);
}

/* Keys of another secret are of another text: what was kept by them is gone at once, not kept as stale. */
static void test_another_secret(void **state)
{
    const uint64_t secret[2] = {7, 9};
    seen t = {0};

    (void)state;
    assert_int_equal(put("http://a/", 100), APR_SUCCESS);
    store_secret_use(f.s, secret);
    store_each(f.r, see, &t);
    assert_int_equal(t.n, 0);
}

/* Each place of a process that ended is free again. */
static void test_a_process_ended(void **state)
{
    const unsigned most = f.s->limits.readers;
    store_reader *r[16];

    (void)state;
    assert_true(most <= 16);
    store_reader_close(&f.r);
    store_reader_close(&f.other);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < most; i++)
            assert_non_null(r[i] = store_reader_open(f.s));
        assert_null(store_reader_open(f.s));
        store_process_ended(f.s, getpid());
        for (unsigned i = 0; i < most; i++)
            free(r[i]); /* it was the process' memory */
    }
    f.r = store_reader_open(f.s);
    f.other = store_reader_open(f.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_another_program_attaches),
        T(test_taken_over),
        T(test_another_secret),
        T(test_a_process_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
