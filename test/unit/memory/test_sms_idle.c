/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that threads keep which do nothing: another thread gives it back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "memory_scope.h"
#include "sms_private.h"
#include <stdlib.h>
#include <string.h>

#define BLOCKS 400
#define BLOCK 8192
#define THREADS 6
#define ROUNDS 4000

/* A thread that carries out orders and sleeps in between. */
typedef struct sleeper {
    brg_sms *s;
    void *blocks[BLOCKS];
    pthread_t thread;
    pthread_barrier_t order, done;
    int take, give, end;
} sleeper;

static void *sleeper_main(void *baton)
{
    sleeper *it = baton;
    int i, end;

    for (;;) {
        pthread_barrier_wait(&it->order);
        for (i = 0; i < it->take; i++)
            memset(it->blocks[i] = brg_sms_allocate(it->s, BLOCK), i, BLOCK);
        for (i = 0; i < it->give; i++)
            brg_sms_free(it->s, it->blocks[i], BLOCK);
        end = it->end;
        pthread_barrier_wait(&it->done);
        if (end)
            return NULL;
    }
}

static void sleeper_order(sleeper *it, int take, int give, int end)
{
    it->take = take;
    it->give = give;
    it->end = end;
    pthread_barrier_wait(&it->order);
    pthread_barrier_wait(&it->done);
}

static void sleeper_begin(sleeper *it, const char *spec)
{
    assert_null(brg_sms_create(&it->s, spec, NULL, NULL));
    pthread_barrier_init(&it->order, NULL, 2);
    pthread_barrier_init(&it->done, NULL, 2);
    assert_int_equal(pthread_create(&it->thread, NULL, sleeper_main, it), 0);
}

static void sleeper_end(sleeper *it)
{
    sleeper_order(it, 0, 0, 1);
    pthread_join(it->thread, NULL);
    pthread_barrier_destroy(&it->order);
    pthread_barrier_destroy(&it->done);
    brg_sms_destroy(&it->s, NULL);
}

static uint64_t held(const brg_sms *s)
{
    brg_sms_figures f;

    brg_sms_statistics(s, &f);
    return f.held_bytes;
}

static void look_twice(void)
{
    memory_idle();
    memory_idle();
}

static void what_a_sleeping_thread_keeps_is_given_back(void **state)
{
    static sleeper it;

    sleeper_begin(&it, "arena(keep=2M)");
    sleeper_order(&it, BLOCKS, BLOCKS, 0);
    assert_true(held(it.s) >= (size_t)1 << 20);
    memory_idle(); /* it made calls since the last look */
    assert_true(held(it.s) >= (size_t)1 << 20);
    memory_idle();
    assert_true(held(it.s) <= (size_t)2 << 20);
    sleeper_end(&it);
}

static void what_others_freed_is_given_back(void **state)
{
    static sleeper it;
    int i;

    sleeper_begin(&it, "arena(keep=16K,chunk=64K)");
    sleeper_order(&it, BLOCKS, 0, 0);
    for (i = 0; i < BLOCKS; i++)
        brg_sms_free(it.s, it.blocks[i], BLOCK);
    assert_true(held(it.s) >= BLOCKS * BLOCK);
    look_twice();
    assert_int_equal(held(it.s), 0);
    assert_null(brg_sms_verify(it.s));
    sleeper_order(&it, BLOCKS, BLOCKS, 0); /* and it goes on */
    assert_null(brg_sms_verify(it.s));
    sleeper_end(&it);
}

static void what_is_in_use_stays(void **state)
{
    static sleeper it;
    int i;

    sleeper_begin(&it, "arena(keep=16K,chunk=64K)");
    sleeper_order(&it, BLOCKS, 0, 0);
    look_twice();
    for (i = 0; i < BLOCKS; i++) {
        assert_int_equal(((unsigned char *)it.blocks[i])[0], i & 0xff);
        assert_int_equal(((unsigned char *)it.blocks[i])[BLOCK - 1], i & 0xff);
    }
    sleeper_order(&it, 0, BLOCKS, 0);
    look_twice();
    assert_int_equal(held(it.s), 0);
    sleeper_end(&it);
}

/* Idle threads share what one may keep. */
static void many_sleeping_threads_keep_no_more_than_one(void **state)
{
    static sleeper all[THREADS];
    int i;

    sleeper_begin(&all[0], "arena(keep=1M,chunk=64K)");
    for (i = 1; i < THREADS; i++) {
        sleeper_begin(&all[i], "arena");
        brg_sms_destroy(&all[i].s, NULL);
        all[i].s = all[0].s;
    }
    for (i = 0; i < THREADS; i++)
        sleeper_order(&all[i], BLOCKS, BLOCKS, 0);
    assert_true(held(all[0].s) > (size_t)3 << 20);
    look_twice();
    assert_true(held(all[0].s) <= (size_t)1 << 20);
    assert_null(brg_sms_verify(all[0].s));
    for (i = THREADS - 1; i > 0; i--) {
        all[i].s = NULL;
        sleeper_order(&all[i], 0, 0, 1);
        pthread_join(all[i].thread, NULL);
    }
    sleeper_end(&all[0]);
}

/* Serial numbers of systems collide in a thread's table after some reloads. */
static void a_thread_ends_when_its_table_is_crowded(void **state)
{
    static sleeper it;
    brg_sms *others[SMS_THREAD_ENTRIES + 1];
    int i;

    for (i = 0; i <= SMS_THREAD_ENTRIES; i++)
        assert_null(brg_sms_create(&others[i], "arena", NULL, NULL));
    for (i = 0; i <= SMS_THREAD_ENTRIES; i++) {
        sleeper_begin(&it, "arena(keep=2M,chunk=64K)");
        sleeper_order(&it, BLOCKS, BLOCKS, 0);
        sleeper_end(&it);
    }
    for (i = 0; i <= SMS_THREAD_ENTRIES; i++)
        brg_sms_destroy(&others[i], NULL);
}

/* ---- all at once ---- */

typedef struct busy {
    brg_sms *s;
    unsigned seed;
    void *_Atomic *mailbox; /* blocks that another thread frees */
    pthread_t thread;
} busy;

static _Atomic int running;

static void *busy_main(void *baton)
{
    busy *it = baton;
    void *mine[16] = {NULL};
    int i, n;

    for (i = 0; i < ROUNDS * 100; i++) {
        n = (int)(rand_r(&it->seed) % 16);
        if (mine[n] == NULL) {
            mine[n] = brg_sms_allocate(it->s, 512u << (n % 6));
            memset(mine[n], n, 512u << (n % 6));
        } else {
            void *other = atomic_exchange(&it->mailbox[n], mine[n]);

            mine[n] = NULL;
            if (other != NULL) {
                assert_int_equal(*(unsigned char *)other, n);
                brg_sms_free(it->s, other, 512u << (n % 6));
            }
        }
    }
    for (n = 0; n < 16; n++)
        if (mine[n] != NULL)
            brg_sms_free(it->s, mine[n], 512u << (n % 6));
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Calls without a pause between two looks are the rule for none of these: each is taken now and then. */
static void looking_disturbs_nobody(void **state)
{
    static void *_Atomic mailbox[16];
    busy all[THREADS];
    brg_sms *s;
    int i;

    assert_null(brg_sms_create(&s, "arena(keep=64K,chunk=16K)", NULL, NULL));
    atomic_store(&running, THREADS);
    for (i = 0; i < THREADS; i++) {
        all[i] = (busy){.s = s, .seed = (unsigned)i + 1, .mailbox = mailbox};
        assert_int_equal(pthread_create(&all[i].thread, NULL, busy_main, &all[i]), 0);
    }
    while (atomic_load(&running) > 0)
        memory_idle();
    for (i = 0; i < THREADS; i++)
        pthread_join(all[i].thread, NULL);
    for (i = 0; i < 16; i++)
        if (mailbox[i] != NULL)
            brg_sms_free(s, mailbox[i], 512u << (i % 6));
    assert_null(brg_sms_verify(s));
    look_twice();
    brg_sms_trim(s);
    assert_int_equal(held(s), 0);
    brg_sms_destroy(&s, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sleeping_thread_keeps_is_given_back),
        cmocka_unit_test(what_others_freed_is_given_back),
        cmocka_unit_test(what_is_in_use_stays),
        cmocka_unit_test(many_sleeping_threads_keep_no_more_than_one),
        cmocka_unit_test(a_thread_ends_when_its_table_is_crowded),
        cmocka_unit_test(looking_disturbs_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
