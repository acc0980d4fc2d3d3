/* SPDX-License-Identifier: Apache-2.0 */
/* What pools promise beyond APR's own behaviour, which test/model/pool_diff.c compares. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "pool_private.h"
#include "apr_general.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int aborts;

static int count_abort(int code)
{
    aborts += code == APR_ENOMEM;
    return 0;
}

static void use(int scope, const char *spec)
{
    memory_stack *stack;
    const char *error = memory_stack_create(&stack, spec, NULL);

    if (error != NULL)
        fail_msg("%s", error);
    memory_scope_set(scope, stack);
}

static apr_pool_t *scoped(int scope, const char *spec)
{
    apr_pool_t *p;

    use(scope, spec);
    assert_int_equal(brg_pool_create_scoped(&p, NULL, (brg_scope)scope), APR_SUCCESS);
    return p;
}

static const char *const kinds[] = {"arena",
                                    "trivial",
                                    "os",
                                    "limit(64M) arena",
                                    "system",
                                    "tracking arena",
                                    "guard",
                                    "limit(64M) guard",
                                    "blocks(size=8K) arena"};

#define MOVES 3

/* Blocks of many sizes. */
static void fill(apr_pool_t *p, char *blocks[100], char with)
{
    for (size_t n = 0; n < 100; n++)
        memset(blocks[n] = apr_palloc(p, n * 20 + 1), with, n * 20 + 1);
}

static int filled(char *const blocks[100], char with)
{
    for (size_t n = 0; n < 100; n++)
        if (blocks[n][0] != with || blocks[n][n * 20] != with)
            return 0;
    return 1;
}

static uint64_t live_in(int n)
{
    brg_host_system host;
    brg_sms_figures figures;

    assert_true(brg_host_system_get(n, &host) && host.system);
    brg_sms_statistics(host.system, &figures);
    return figures.live_bytes;
}

static void move_through(apr_pool_t *p, memory_stack *const stack[MOVES])
{
    char *blocks[MOVES + 1][100];

    fill(p, blocks[0], 'a');
    for (int i = 0; i < MOVES; i++) {
        assert_int_equal(pool_continue_on(p, stack[i]), 0);
        fill(p, blocks[i + 1], (char)('b' + i));
    }
    for (int i = 0; i <= MOVES; i++)
        assert_true(filled(blocks[i], (char)('a' + i)));
    for (int i = 0; i < MOVES; i++)
        assert_true(live_in(i) >= 99000);
}

/* From one system to the next, and back when it is cleared or ends. */
static void test_moves(void **state)
{
    static const char *const ways[][MOVES] = {
        {"tracking(quiet) system", "tracking(quiet) arena", "system"},
        {"tracking(quiet) arena", "system", "tracking(quiet) system"},
        {"system", "tracking(quiet) arena", "tracking(quiet) arena"}};

    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        memory_stack *stack[MOVES];
        apr_pool_t *names, *p = scoped(BRG_SCOPE_REQUEST, "limit(64M) arena");

        assert_int_equal(apr_pool_create(&names, NULL), APR_SUCCESS);
        memory_hosts_begin();
        for (int i = 0; i < MOVES; i++) {
            assert_null(memory_stack_create(&stack[i], ways[way][i], NULL));
            memory_host_add("a host", stack[i], names);
        }
        for (int round = 0; round < 3; round++) {
            move_through(p, stack);
            apr_pool_clear(p);
        }
        move_through(p, stack);
        apr_pool_destroy(p);
        for (int i = 0; i < MOVES; i++) {
            assert_int_equal(live_in(i), 0);
            memory_stack_drop(stack[i]);
        }
        memory_hosts_begin();
        apr_pool_destroy(names);
    }
}

static void test_alignment(void **state)
{
    size_t i, n;
    apr_pool_t *p;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(kinds[i], "blocks", 6) == 0)
            continue; /* cells of one size: for buckets */
        p = scoped(BRG_SCOPE_REQUEST, kinds[i]);
        for (n = 0; n < 20000; n = n * 5 / 4 + 1) {
            char *block = apr_palloc(p, n);

            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 16, 0);
            memset(block, 0xff, n);
        }
        apr_pool_destroy(p);
    }
}

/* Blocks of every size stay as they were written, in every kind, over clears. */
static void test_contents(void **state)
{
    enum { BLOCKS = 400 };
    static unsigned char *at[BLOCKS];
    static size_t size[BLOCKS];
    size_t i, k, round;
    apr_pool_t *p;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) - 1; i++) {
        p = scoped(BRG_SCOPE_REQUEST, kinds[i]);
        for (round = 0; round < 3; round++) {
            srand((unsigned)round);
            for (k = 0; k < BLOCKS; k++) {
                size[k] = (size_t)(rand() % (k % 50 == 0 ? 30000 : 300));
                at[k] = k % 2 ? apr_palloc(p, size[k]) : apr_pcalloc(p, size[k]);
                if (k % 2 == 0 && size[k] > 0)
                    assert_true(at[k][0] == 0 && memcmp(at[k], at[k] + 1, size[k] - 1) == 0);
                memset(at[k], (int)k, size[k]);
            }
            for (k = 0; k < BLOCKS; k++)
                if (size[k] > 0)
                    assert_true(at[k][0] == (unsigned char)k &&
                                memcmp(at[k], at[k] + 1, size[k] - 1) == 0);
            apr_pool_clear(p);
        }
        apr_pool_destroy(p);
    }
}

/* Text of every length around the end of the chunk. */
static void test_psprintf(void **state)
{
    static char expected[40001];
    size_t i, n;
    apr_pool_t *p;
    char *text;

    memset(expected, 'x', sizeof(expected) - 1);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) - 1; i++) {
        p = scoped(BRG_SCOPE_REQUEST, kinds[i]);
        for (n = 1; n <= 40000; n = n < 600 ? n + 1 : n * 3 / 2) {
            text = apr_psprintf(p, "%.*s", (int)n, expected);
            assert_int_equal(strlen(text), n);
            assert_memory_equal(text, expected, n);
        }
        apr_pool_destroy(p);
    }
    p = scoped(BRG_SCOPE_REQUEST, "arena");
    text = p->head.bump;
    assert_ptr_equal(apr_psprintf(p, "%d", 5), text); /* where it was formatted */
    while (p->head.end - p->head.bump > 0)
        apr_palloc(p, 16);
    assert_string_equal(apr_psprintf(p, "%s", "no room"), "no room");
    apr_palloc(p, (apr_size_t)(p->head.end - p->head.bump) - 16);
    assert_string_equal(apr_psprintf(p, "%s", "fifteen letters"), "fifteen letters");
    apr_pool_destroy(p);
}

static void test_too_large(void **state)
{
    size_t i;
    apr_pool_t *p;
    volatile apr_size_t most = SIZE_MAX;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) - 1; i++) {
        p = scoped(BRG_SCOPE_PROCESS, kinds[i]);
        apr_pool_abort_set(count_abort, p);
        aborts = 0;
        assert_null(apr_palloc(p, most));
        assert_null(apr_palloc(p, most - 15));
        assert_null(apr_palloc(p, most / 2));
        assert_null(apr_palloc(p, most / 2 + 4096));
        assert_null(apr_pcalloc(p, most - 100));
        assert_int_equal(aborts, 5);
        assert_non_null(apr_palloc(p, 10));
        apr_pool_destroy(p);
    }
    use(BRG_SCOPE_PROCESS, "arena");
}

/* Past its limit, a request goes on for a while, and is known to be at its end; others are not. */
static void test_limit(void **state)
{
    apr_pool_t *p, *other, *child;
    int i;

    p = scoped(BRG_SCOPE_REQUEST, "limit(256K) arena");
    apr_pool_abort_set(count_abort, p);
    assert_int_equal(brg_pool_create_scoped(&other, NULL, BRG_SCOPE_REQUEST), APR_SUCCESS);
    assert_int_equal(apr_pool_create(&child, p), APR_SUCCESS);
    aborts = 0;
    for (i = 0; i < 10; i++)
        assert_non_null(apr_palloc(p, 10000));
    assert_false(brg_pool_refused(p));
    for (i = 0; i < 25; i++)
        memset(apr_palloc(child, 10000), 1, 10000);
    assert_true(brg_pool_refused(p));
    assert_true(brg_pool_refused(child));
    assert_false(brg_pool_refused(other));
    assert_int_equal(aborts, 0);
    for (i = 0; i < 20000 && apr_palloc(child, 10000) != NULL; i++)
        ;
    assert_in_range(i, 3000, 7000); /* ALLOCATOR_RESERVE more */
    assert_int_equal(aborts, 1);
    apr_pool_clear(p);
    assert_false(brg_pool_refused(p));
    assert_non_null(apr_palloc(p, 100000));
    assert_int_equal(p->allocator->reserve_used, 0);
    apr_pool_destroy(p);
    apr_pool_destroy(other);
}

/* The first refusal of each allocation of a small request: nothing is lost, and the pool says so.
 */
static void test_fault(void **state)
{
    static const char *const specs[] = {"fault(nth=%d) arena", "fault(nth=%d) system"};
    char spec[64];
    apr_pool_t *p, *child;
    int n, k, said = 0;

    for (k = 0; k < 2; k++)
        for (n = 1; n < 40; n++) {
            snprintf(spec, sizeof(spec), specs[k], n);
            p = scoped(BRG_SCOPE_REQUEST, spec);
            assert_int_equal(apr_pool_create(&child, p), APR_SUCCESS);
            memset(apr_palloc(p, 9000), 1, 9000);
            memset(apr_palloc(child, 100), 1, 100);
            assert_string_equal(apr_psprintf(child, "%0*d", 9000, 0) + 8999, "0");
            apr_pool_userdata_set(p, "key", apr_pool_cleanup_null, child);
            said += brg_pool_refused(p);
            apr_pool_destroy(p);
        }
    assert_in_range(said, 6, 30);
}

static void test_figures(void **state)
{
    brg_memory_figures before, after;
    brg_pool_figures f;
    apr_pool_t *p, *child;
    int i;

    use(BRG_SCOPE_REQUEST, "arena");
    brg_memory_figures_reset();
    brg_memory_figures_get(BRG_SCOPE_REQUEST, &before);
    assert_int_equal(before.allocations, 0);
    assert_int_equal(before.high_water_bytes, 0);
    assert_int_equal(brg_pool_create_scoped(&p, NULL, BRG_SCOPE_REQUEST), APR_SUCCESS);
    assert_int_equal(apr_pool_create(&child, p), APR_SUCCESS);
    for (i = 0; i < 10; i++)
        apr_palloc(p, 100);
    apr_pcalloc(child, 1000);
    brg_pool_figures_get(p, &f);
    assert_int_equal(f.allocations, 11);
    assert_int_equal(f.bytes, 10 * 112 + 1008);
    apr_pool_destroy(child);
    brg_pool_figures_get(p, &f);
    assert_int_equal(f.allocations, 11);
    apr_pool_cleanup_register(p, p, apr_pool_cleanup_null, apr_pool_cleanup_null);
    for (i = 0; i < 1000; i++)
        apr_palloc(p, 100);
    brg_pool_figures_get(p, &f);
    assert_int_equal(f.allocations, 1012);
    apr_pool_destroy(p);
    brg_memory_figures_get(BRG_SCOPE_REQUEST, &after);
    assert_int_equal(after.pools, 2);
    assert_int_equal(after.clears, 2);
    assert_int_equal(after.allocations, 1012);
    assert_int_equal(after.bytes, 1010 * 112 + 1008 + BRG_POOL_ROUND(sizeof(pool_cleanup)));
    assert_int_equal(after.zeroed_bytes, 1000);
    assert_int_equal(after.cleanups, 1);
    assert_in_range(after.refills, 2, 12);
    assert_int_equal(after.high_water_bytes, after.bytes);
}

/* A pool that begins a scope has the size that its predecessors came to need. */
static void test_first_size(void **state)
{
    brg_memory_figures f;
    apr_pool_t *p;
    int i, k;

    use(BRG_SCOPE_REQUEST, "arena");
    for (k = 0; k < 5; k++) {
        if (k == 1)
            brg_memory_figures_reset();
        assert_int_equal(brg_pool_create_scoped(&p, NULL, BRG_SCOPE_REQUEST), APR_SUCCESS);
        for (i = 0; i < 300; i++)
            apr_palloc(p, 100);
        apr_pool_destroy(p);
    }
    brg_memory_figures_get(BRG_SCOPE_REQUEST, &f);
    assert_int_equal(f.allocations, 1200);
    assert_int_equal(f.refills, 0);
}

static void test_debug_functions(void **state)
{
    apr_pool_t *p, *child;
    char *block;

    assert_int_equal(apr_pool_create_ex_debug(&p, NULL, NULL, NULL, "here"), APR_SUCCESS);
    assert_int_equal(apr_pool_create(&child, p), APR_SUCCESS);
    block = apr_palloc_debug(child, 100, "here");
    assert_ptr_equal(apr_pool_find(block + 50), child);
    assert_null(apr_pool_find(&block));
    assert_int_equal(apr_pool_num_bytes(p, 0), 0);
    assert_int_equal(apr_pool_num_bytes(p, 1), 112);
    apr_pool_join(p, child);
    apr_pool_clear_debug(p, "here");
    apr_pool_destroy_debug(p, "here");
}

/* Nodes beyond what an allocator may keep go back at once. */
static void test_max_free(void **state)
{
    apr_allocator_t *a;
    apr_memnode_t *first, *second;

    memory_scope_set(BRG_SCOPE_PROCESS, NULL); /* malloc: the lists of the allocator are used */
    assert_int_equal(apr_allocator_create(&a), APR_SUCCESS);
    apr_allocator_max_free_set(a, 12000);
    first = apr_allocator_alloc(a, 8000);
    second = apr_allocator_alloc(a, 8000);
    first->next = second;
    apr_allocator_free(a, first);
    assert_int_equal(a->kept_units, 2);
    assert_ptr_equal(apr_allocator_alloc(a, 5000), first);
    assert_int_equal(a->kept_units, 0);
    apr_allocator_free(a, first);
    apr_allocator_destroy(a);
    use(BRG_SCOPE_PROCESS, "arena");
}

/* Nodes of every size come back for requests of at most their size. */
static void test_node_lists(void **state)
{
    apr_memnode_t *node, *again;
    apr_allocator_t *a;
    size_t n;

    memory_scope_set(BRG_SCOPE_PROCESS, NULL);
    assert_int_equal(apr_allocator_create(&a), APR_SUCCESS);
    for (n = 1; n < 600000; n = n * 3 / 2 + 1) {
        node = apr_allocator_alloc(a, n);
        assert_true((size_t)(node->endp - node->first_avail) >= n);
        memset(node->first_avail, 1, n);
        apr_allocator_free(a, node);
        again = apr_allocator_alloc(a, n);
        assert_ptr_equal(again, node);
        apr_allocator_free(a, again);
    }
    apr_allocator_destroy(a);
    use(BRG_SCOPE_PROCESS, "arena");
}

static int started(void **state)
{
    return apr_initialize();
}

static int ended(void **state)
{
    apr_terminate();
    return 0;
}

static int cleaned;

static apr_status_t count_cleanup(void *data)
{
    cleaned++;
    return APR_SUCCESS;
}

/* A pool that ended is kept for the next one, which must see nothing of it. */
static void test_begin_anew(void **state)
{
    apr_pool_t *above = scoped(BRG_SCOPE_REQUEST, "arena"), *p, *again;
    brg_pool_figures figures;
    void *data = &data;
    int i;

    assert_int_equal(apr_pool_create(&p, above), APR_SUCCESS);
    apr_pool_tag(p, "first");
    apr_pool_userdata_setn("value", "key", NULL, p);
    apr_pool_abort_set(count_abort, p);
    for (i = 0; i < 100; i++)
        apr_pool_cleanup_register(p, above, count_cleanup, count_cleanup);
    apr_pool_cleanup_kill(p, above, count_cleanup);
    for (i = 0; i < 1000; i++)
        memset(apr_palloc(p, 100), 0xff, 100);
    apr_pool_destroy(p);
    assert_int_equal(cleaned, 99);

    assert_int_equal(apr_pool_create(&again, above), APR_SUCCESS);
    assert_ptr_equal(again, p);
    assert_null(again->tag);
    assert_ptr_equal(apr_pool_abort_get(again), apr_pool_abort_get(above));
    apr_pool_userdata_get(&data, "key", again);
    assert_null(data);
    brg_pool_figures_get(again, &figures);
    assert_int_equal(figures.allocations, 0);
    assert_int_equal(figures.bytes, 0);
    memset(apr_palloc(again, 7000), 0xff, 7000);
    apr_pool_destroy(again);
    assert_int_equal(cleaned, 99);
    apr_pool_destroy(above);
}

/* What is kept as a pool is memory that the allocator has. */
static void test_kept_as_node(void **state)
{
    apr_pool_t *above = scoped(BRG_SCOPE_REQUEST, "arena"), *p;
    apr_allocator_t *a = apr_pool_allocator_get(above);
    apr_memnode_t *chunk, *node;

    assert_int_equal(apr_pool_create(&p, above), APR_SUCCESS);
    chunk = p->first;
    apr_pool_destroy(p);
    assert_int_equal(a->kept_units, 2);
    node = apr_allocator_alloc(a, 100);
    assert_ptr_equal(node, chunk);
    assert_int_equal(a->kept_units, 0);
    assert_int_equal(apr_pool_create(&p, above), APR_SUCCESS);
    assert_ptr_not_equal(p->first, chunk);
    apr_allocator_free(a, node);
    apr_allocator_max_free_set(a, 1);
    apr_pool_destroy(p);
    assert_null(a->ended);
    apr_pool_destroy(above);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),       cmocka_unit_test(test_contents),
        cmocka_unit_test(test_psprintf),        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_limit),           cmocka_unit_test(test_fault),
        cmocka_unit_test(test_figures),         cmocka_unit_test(test_first_size),
        cmocka_unit_test(test_debug_functions), cmocka_unit_test(test_max_free),
        cmocka_unit_test(test_node_lists),      cmocka_unit_test(test_begin_anew),
        cmocka_unit_test(test_kept_as_node),    cmocka_unit_test(test_moves),
    };

    return cmocka_run_group_tests(tests, started, ended);
}
