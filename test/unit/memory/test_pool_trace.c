/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded of a request's pools, step by step. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "pool_trace.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pool_trace_sums sums;
static pool_trace_file file = {.sums = &sums};
static int ended_n, ended_error;
static char text[65536];

static void ended(int error)
{
    ended_n++;
    ended_error = error;
}

/* Requests on this system are recorded from now on. */
static void record(const char *spec, uint64_t requests, uint64_t bytes)
{
    memory_stack *stack;

    file.fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(file.fd >= 0);
    file.requests_most = requests;
    file.bytes_most = bytes;
    file.ended = ended;
    memset(&sums, 0, sizeof(sums));
    ended_n = ended_error = 0;
    pool_trace_to(&file);
    assert_null(memory_stack_create(&stack, spec, NULL));
    memory_stack_trace(stack);
    memory_scope_set(BRG_SCOPE_REQUEST, stack);
}

static const char *recorded(void)
{
    ssize_t n = pread(file.fd, text, sizeof(text) - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static void stop(void)
{
    memory_scope_set_default(BRG_SCOPE_REQUEST);
    pool_trace_to(NULL);
    close(file.fd);
}

static apr_pool_t *request(void)
{
    apr_pool_t *p;

    assert_int_equal(brg_pool_create_scoped(&p, NULL, BRG_SCOPE_REQUEST), APR_SUCCESS);
    return p;
}

static apr_status_t nothing(void *data)
{
    return APR_SUCCESS;
}

static void every_step(void **state)
{
    apr_pool_t *p, *sub, *below;

    record("arena", 10, 10000);
    p = request();
    apr_palloc(p, 100);
    apr_pcalloc(p, 24);
    apr_palloc(p, 24);
    apr_pool_cleanup_register(p, p, nothing, apr_pool_cleanup_null);
    apr_psprintf(p, "%300d", 7);
    apr_pool_create(&sub, p);
    apr_palloc(sub, 8);
    apr_palloc(sub, 8);
    apr_pool_create(&below, sub);
    apr_pool_clear(sub);
    apr_palloc(sub, 9);
    apr_pool_destroy(sub);
    apr_pool_destroy(p);
    assert_string_equal(recorded(), "r\np 1 0\na 1 100\nz 1 24\na 1 24\nk 1\na 1 301\n"
                                    "p 2 1\na 2 8 x2\np 3 2\nd 3\nx 2\na 2 9\nd 2\nd 1\ne\n");
    stop();
}

/* What a pool cleared is counted in the pool above when it ends. */
static void cleared_blocks_below(void **state)
{
    apr_pool_t *p, *sub;

    record("arena", 10, 10000);
    p = request();
    apr_palloc(p, 40);
    apr_pool_create(&sub, p);
    apr_pcalloc(sub, 40);
    apr_pool_destroy(sub);
    apr_pcalloc(p, 40);
    apr_pool_create(&sub, p);
    apr_pcalloc(sub, 16);
    apr_pool_clear(sub);
    apr_palloc(sub, 16);
    apr_pool_destroy(p);
    assert_string_equal(recorded(), "r\np 1 0\na 1 40\np 2 1\nz 2 40\nd 2\nz 1 40\np 2 1\nz 2 16\n"
                                    "x 2\na 2 16\nd 2\nd 1\ne\n");
    stop();
}

static void pools_go_on_with_another_system(void **state)
{
    memory_stack *other;
    apr_pool_t *p;

    record("arena", 10, 10000);
    assert_null(memory_stack_create(&other, "limit(1M) system", NULL));
    memory_stack_for(other, BRG_SCOPE_REQUEST);
    memory_stack_trace(other);
    p = request();
    apr_palloc(p, 1);
    assert_int_equal(pool_continue_on(p, other), 0);
    apr_palloc(p, 2);
    apr_pool_destroy(p);
    assert_string_equal(recorded(), "r\np 1 0\na 1 1\na 1 40\na 1 2\nd 1\ne\n");
    stop();
    memory_stack_drop(other);
}

static void limits(void **state)
{
    apr_pool_t *p, *q;

    record("arena", 2, 10000);
    p = request();
    q = request();
    apr_pool_destroy(p);
    assert_int_equal(ended_n, 0);
    apr_pool_destroy(q);
    assert_int_equal(ended_n, 1);
    assert_int_equal(ended_error, 0);
    p = request();
    assert_int_equal(p->traced, 0);
    apr_palloc(p, 100);
    apr_pool_destroy(p);
    p = request();
    assert_int_equal(p->per_block, 0); /* as fast as ever again */
    apr_pool_destroy(p);
    assert_string_equal(recorded(), "r\np 1 0\nd 1\ne\nr\np 1 0\nd 1\ne\n");
    assert_int_equal(ended_n, 1);
    stop();

    record("arena", 100, 20);
    apr_pool_destroy(request());
    apr_pool_destroy(request());
    assert_string_equal(recorded(), "r\np 1 0\nd 1\ne\n");
    assert_int_equal(ended_n, 1);
    stop();
}

static void too_many_pools_leave_the_request_out(void **state)
{
    apr_pool_t *p, *sub[63];
    int i;

    record("arena", 10, 100000);
    p = request();
    for (i = 0; i < 63; i++)
        apr_pool_create(&sub[i], p);
    apr_palloc(sub[62], 10);
    apr_pool_destroy(p);
    apr_pool_destroy(request());
    assert_string_equal(recorded(), "r\np 1 0\nd 1\ne\n");
    stop();
}

static void a_file_that_cannot_be_written(void **state)
{
    int writable;

    record("arena", 10, 10000);
    writable = file.fd;
    file.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(file.fd >= 0);
    apr_pool_destroy(request());
    apr_pool_destroy(request());
    assert_int_equal(ended_n, 1);
    assert_int_equal(ended_error, ENOSPC);
    close(writable);
    stop();
}

static int started(void **state)
{
    return apr_initialize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step),
        cmocka_unit_test(cleared_blocks_below),
        cmocka_unit_test(pools_go_on_with_another_system),
        cmocka_unit_test(limits),
        cmocka_unit_test(too_many_pools_leave_the_request_out),
        cmocka_unit_test(a_file_that_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, started, NULL);
}
