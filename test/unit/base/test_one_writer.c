/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one writer: who sees what is written, and who can write. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "brigade/one_writer.h"
#include "test_pool.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 10000

static brg_one_writer *make(void)
{
    brg_one_writer *m = NULL;

    assert_int_equal(brg_one_writer_create(&m, "test", BYTES, test_pool), APR_SUCCESS);
    assert_int_equal(brg_one_writer_bytes(m), BYTES);
    return m;
}

/* @return what the function made of it in another process; -1: the process died */
static int in_child(int (*run)(const brg_one_writer *m), const brg_one_writer *m)
{
    pid_t child = fork();
    int status;

    if (!child) {
        signal(SIGSEGV, SIG_DFL); /* it is expected, and not CMocka's to tell of */
        _exit(run(m));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int last_byte(const brg_one_writer *m)
{
    return ((const unsigned char *)brg_one_writer_read(m))[BYTES - 1];
}

static int ways_to_write(const brg_one_writer *m)
{
    void *at = (void *)(uintptr_t)brg_one_writer_read(m);

    return !mprotect(at, BYTES, PROT_READ | PROT_WRITE) + !madvise(at, BYTES, MADV_REMOVE) +
           !mprotect(brg_one_writer_write(m), BYTES, PROT_READ | PROT_WRITE);
}

static int writes(const brg_one_writer *m)
{
    if (brg_one_writer_is_own(m))
        return 1;
    ((unsigned char *)brg_one_writer_write(m))[BYTES - 1] = 9;
    return 0;
}

static void others_see_what_is_written(void **state)
{
    brg_one_writer *m = make();

    (void)state;
    assert_int_equal(in_child(last_byte, m), 0);
    memset(brg_one_writer_write(m), 7, BYTES);
    assert_int_equal(in_child(last_byte, m), 7);
    assert_true(brg_one_writer_is_own(m));
}

static void others_cannot_write(void **state)
{
    brg_one_writer *m = make();

    (void)state;
    assert_int_equal(in_child(ways_to_write, m), 0);
    assert_int_not_equal(in_child(writes, m), 0);
    assert_int_equal(last_byte(m), 0);
}

static void one_to_which_it_is_handed_can(void **state)
{
    brg_one_writer *m = make();

    (void)state;
    brg_one_writer_hand(m, 1);
    assert_int_equal(in_child(writes, m), 0);
    assert_int_equal(last_byte(m), 9);
    brg_one_writer_hand(m, 0);
    assert_int_not_equal(in_child(writes, m), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(others_see_what_is_written),
        TEST_WITH_POOL(others_cannot_write),
        TEST_WITH_POOL(one_to_which_it_is_handed_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
