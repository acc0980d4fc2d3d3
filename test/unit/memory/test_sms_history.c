/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ten defects of the memory systems that APR had in 2001, each as a test that the same cannot
 * happen here. Where one was about cleanups of pools, the part that a memory system has in it is
 * here, and the pools' part is in test_apr_pools.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "sms_private.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *const all_kinds[] = {
    "system",
    "os",
    "trivial",
    "trivial(shared)",
    "blocks",
    "blocks(size=64)",
    "arena",
    "arena(chunk=16k,keep=0)",
    "guard",
    "guard arena",
    "tracking system",
    "tracking arena",
    "limit(64M)",
    "limit(64M) arena",
    "limit(64M,shared) trivial(shared)",
};
#define KINDS_N (sizeof(all_kinds) / sizeof(all_kinds[0]))

static brg_sms *made_on(const char *spec, brg_sms *parent)
{
    brg_sms *s;
    const char *message = brg_sms_create(&s, spec, parent, NULL);

    if (message != NULL)
        fail_msg("%s: %s", spec, message);
    return s;
}

static brg_sms *made(const char *spec)
{
    return made_on(spec, NULL);
}

static brg_sms_figures figures_of(const brg_sms *s)
{
    brg_sms_figures f;

    brg_sms_statistics(s, &f);
    return f;
}

/* Locks that the systems take are counted: this definition comes before the library's. */
static _Thread_local unsigned locks;

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);

    if (real == NULL)
        real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locks++;
    return real(mutex);
}

static void use_a_little(brg_sms *s)
{
    void *a = brg_sms_allocate(s, 8192), *b = brg_sms_allocate(s, 100);

    b = brg_sms_resize(s, b, 100, 300);
    brg_sms_free(s, b, 300);
    brg_sms_free(s, a, 8192);
}

/* 1. Every allocation locked, with one thread, too. */
static void defect_01_no_lock_for_who_is_alone(void **state)
{
    static const char *const free_of_locks[] = {"arena", "trivial arena", "limit(16M) arena",
                                                "blocks arena"};
    size_t i, n;

    for (i = 0; i < sizeof(free_of_locks) / sizeof(free_of_locks[0]); i++) {
        brg_sms *s = made(free_of_locks[i]);

        use_a_little(s); /* the thread gets its slots, under a lock */
        locks = 0;
        for (n = 0; n < 100; n++)
            use_a_little(s);
        if (locks != 0)
            fail_msg("%s: %u locks", free_of_locks[i], locks);
        brg_sms_destroy(&s, NULL);
    }
}

/* A kind that counts what its child gives back. */
typedef struct counting_sms {
    brg_sms base;
    int live, freed;
} counting_sms;

static void *counting_allocate(brg_sms *s, size_t bytes)
{
    ((counting_sms *)s)->live++;
    return malloc(bytes);
}

static void counting_free(brg_sms *s, void *block, size_t bytes)
{
    ((counting_sms *)s)->live--;
    ((counting_sms *)s)->freed++;
    free(block);
}

static void counting_destroy(brg_sms *s)
{
}

static const brg_sms_ops counting_ops = {
    .kind = "counting",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = counting_allocate,
    .free = counting_free,
    .destroy = counting_destroy,
};

static counting_sms *counting(void)
{
    return (counting_sms *)brg_sms_make(sizeof(counting_sms), &counting_ops, brg_sms_os());
}

/* 2. Destroying reset once more what was over: each thing twice, under a lock that was gone. */
static void defect_02_destroy_gives_back_once(void **state)
{
    counting_sms *below = counting();
    brg_sms *parent = &below->base, *s = made_on("tracking(quiet)", parent);
    int i;

    for (i = 0; i < 10; i++)
        assert_non_null(brg_sms_allocate(s, 100));
    assert_int_equal(brg_sms_reset(s), 0);
    assert_int_equal(below->freed, 10);
    for (i = 0; i < 5; i++)
        assert_non_null(brg_sms_allocate(s, 100));
    brg_sms_destroy(&s, parent);
    assert_int_equal(below->freed, 15);
    assert_int_equal(below->live, 0);
    brg_sms_destroy(&parent, NULL);
}

/* 3. What took one lock released another. */
static void defect_03_every_lock_is_released(void **state)
{
    size_t i;

    for (i = 0; i < KINDS_N; i++) {
        brg_sms *s = made(all_kinds[i]), *at;

        use_a_little(s);
        brg_sms_free(s, brg_sms_resize(s, NULL, 0, 10), 10);
        assert_null(brg_sms_allocate(s, SIZE_MAX / 2 + 1));
        brg_sms_trim(s);
        (void)brg_sms_owns(s, &i);
        for (at = s; at != NULL; at = at->parent) {
            if (pthread_mutex_trylock(&at->counts->lock) != 0)
                fail_msg("%s: %s is locked", all_kinds[i], at->ops->kind);
            pthread_mutex_unlock(&at->counts->lock);
        }
        brg_sms_destroy(&s, NULL);
    }
}

static void *use_in_thread(void *data)
{
    void *block = brg_sms_allocate(data, 8192);

    brg_sms_free(data, block, 8192);
    return NULL;
}

static unsigned slots_of(const brg_sms *s)
{
    const sms_slot *slot = atomic_load(&s->counts->slots);
    unsigned n = 0;

    for (; slot != NULL; slot = slot->next)
        n++;
    return n;
}

/* 4. What an ended thread had was lost until the end. */
static void defect_04_ended_threads_leave_nothing(void **state)
{
    brg_sms *s = made("arena");
    pthread_t thread;
    int i;

    for (i = 0; i < 50; i++) {
        assert_int_equal(pthread_create(&thread, NULL, use_in_thread, s), 0);
        pthread_join(thread, NULL);
        assert_int_equal(figures_of(s).held_bytes, 0);
    }
    assert_int_equal(slots_of(s), 1);
    brg_sms_destroy(&s, NULL);
}

/* 5. An object was larger than the block that it was cut from. */
static void defect_05_objects_have_their_whole_size(void **state)
{
    static const size_t sizes[] = {sizeof(brg_sms), 100, 1000, 8192, 100000};
    size_t i, n;

    assert_null(brg_sms_make(sizeof(brg_sms) - 1, &counting_ops, brg_sms_os()));
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        brg_sms *s = brg_sms_make(sizes[i], &counting_ops, brg_sms_os());
        unsigned char *bytes = (unsigned char *)s;

        assert_non_null(s);
        for (n = sizeof(brg_sms); n < sizes[i]; n++)
            assert_int_equal(bytes[n], 0);
        memset(bytes + sizeof(brg_sms), 0xff, sizes[i] - sizeof(brg_sms));
        use_a_little(s);
        assert_int_equal(figures_of(s).allocations, 3);
        brg_sms_destroy(&s, NULL);
    }
}

static pthread_barrier_t together;

static void *use_together(void *data)
{
    void *block = brg_sms_allocate(data, 8192);

    pthread_barrier_wait(&together);
    brg_sms_free(data, block, 8192);
    return NULL;
}

/* 6. A thread's number, whatever it was, became the index of a table. */
static void defect_06_any_number_of_threads(void **state)
{
    brg_sms *s = made("arena");
    pthread_t threads[32];
    int i, round;

    pthread_barrier_init(&together, NULL, 32);
    for (round = 0; round < 4; round++) {
        for (i = 0; i < 32; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_together, s), 0);
        for (i = 0; i < 32; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(slots_of(s), 32);
    }
    assert_int_equal(figures_of(s).held_bytes, 0);
    assert_null(brg_sms_verify(s));
    pthread_barrier_destroy(&together);
    brg_sms_destroy(&s, NULL);
}

typedef struct handover {
    brg_sms *s;
    void *_Atomic *blocks;
    int n;
} handover;

static void *free_as_they_come(void *data)
{
    handover *h = data;
    int i;

    for (i = 0; i < h->n; i++) {
        void *block = NULL;

        while (block == NULL)
            block = atomic_exchange(&h->blocks[i], NULL);
        brg_sms_free(h->s, block, 256);
    }
    return NULL;
}

/* 7. A block freed by another thread changed the owner's lists under its hands. */
static void defect_07_others_free_while_the_owner_works(void **state)
{
    static void *_Atomic blocks[20000];
    handover h = {made("arena"), blocks, 20000};
    pthread_t thread;
    int i;

    assert_int_equal(pthread_create(&thread, NULL, free_as_they_come, &h), 0);
    for (i = 0; i < h.n; i++) {
        void *own = brg_sms_allocate(h.s, 256);

        atomic_store(&blocks[i], brg_sms_allocate(h.s, 256));
        brg_sms_free(h.s, own, 256);
    }
    pthread_join(thread, NULL);
    assert_null(brg_sms_verify(h.s));
    assert_int_equal(figures_of(h.s).live_bytes, 0);
    assert_int_equal(figures_of(h.s).remote_frees, 20000);
    brg_sms_trim(h.s);
    assert_int_equal(figures_of(h.s).held_bytes, 0);
    brg_sms_destroy(&h.s, NULL);
}

static void resize_through_sizes(brg_sms *s, const char *spec)
{
    static const size_t sizes[] = {10, 100, 64, 5000, 4999, 100000, 1, 300000, 8192, 20};
    char *block = brg_sms_allocate(s, 5), *moved;
    size_t i, had = 5, same;

    memcpy(block, "begin", 5);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        moved = brg_sms_resize(s, block, had, sizes[i]);
        same = sizes[i] < had ? sizes[i] : had;
        if (moved == NULL || memcmp(moved, "begin", same < 5 ? same : 5) != 0)
            fail_msg("%s: %zu to %zu", spec, had, sizes[i]);
        block = moved;
        had = sizes[i];
        memcpy(block, "begin", had < 5 ? had : 5);
    }
    brg_sms_free(s, block, had);
}

/* 8. Some kinds could not resize; another freed the old block when there was no new one. */
static void defect_08_every_kind_resizes(void **state)
{
    size_t i;

    for (i = 0; i < KINDS_N; i++) {
        brg_sms *below = made("fault(nth=3) system"), *s = made(all_kinds[i]);
        char *block;

        resize_through_sizes(s, all_kinds[i]);
        brg_sms_destroy(&s, NULL);
        s = made_on("limit(64M)", below);
        block = brg_sms_allocate(s, 10);
        brg_sms_free(s, brg_sms_allocate(s, 10), 10);
        memcpy(block, "kept", 5);
        assert_null(brg_sms_resize(s, block, 10, 100000));
        assert_string_equal(block, "kept");
        block = brg_sms_resize(s, block, 10, 100000);
        assert_string_equal(block, "kept");
        brg_sms_free(s, block, 100000);
        brg_sms_destroy(&s, NULL);
    }
}

/* 9. One way to the end forgot a part of what had to be done. */
static void defect_09_destroy_is_complete(void **state)
{
    static const char *const resetting[] = {"trivial", "blocks",          "blocks(size=64)",
                                            "arena",   "tracking(quiet)", "trivial(shared)"};
    size_t i;
    int n, after_reset;

    for (i = 0; i < sizeof(resetting) / sizeof(resetting[0]); i++)
        for (after_reset = 0; after_reset < 2; after_reset++) {
            counting_sms *below = counting();
            brg_sms *parent = &below->base, *s = made_on(resetting[i], parent);

            for (n = 0; n < 200; n++)
                assert_non_null(brg_sms_allocate(s, (size_t)n * 97));
            if (after_reset)
                assert_int_equal(brg_sms_reset(s), 0);
            brg_sms_destroy(&s, parent);
            if (below->live != 0)
                fail_msg("%s: %d blocks of the parent are left", resetting[i], below->live);
            brg_sms_destroy(&parent, NULL);
        }
}

/* 10. A header and two indirect calls with each allocation, and again for each kind in a stack. */
static void defect_10_layers_cost_no_memory(void **state)
{
    brg_sms *plain = made("arena"), *layered = made("limit(64M) arena");
    void *block;
    int i;

    for (i = 0; i < 1000; i++) {
        block = brg_sms_allocate(plain, 8192);
        assert_int_equal((uintptr_t)block % BRG_SMS_ALIGNMENT, 0);
        assert_int_equal((uintptr_t)brg_sms_allocate(layered, 8192) % BRG_SMS_ALIGNMENT, 0);
    }
    assert_int_equal(figures_of(layered->parent).held_bytes, figures_of(plain).held_bytes);
    assert_true(figures_of(plain).held_bytes < 1000 * 8192 * 106 / 100);
    assert_int_equal(brg_sms_per_block(layered), 0); /* pools bump: no call for each allocation */
    assert_int_equal(brg_sms_reset(plain), 0);
    brg_sms_destroy(&plain, NULL);
    brg_sms_destroy(&layered, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defect_01_no_lock_for_who_is_alone),
        cmocka_unit_test(defect_02_destroy_gives_back_once),
        cmocka_unit_test(defect_03_every_lock_is_released),
        cmocka_unit_test(defect_04_ended_threads_leave_nothing),
        cmocka_unit_test(defect_05_objects_have_their_whole_size),
        cmocka_unit_test(defect_06_any_number_of_threads),
        cmocka_unit_test(defect_07_others_free_while_the_owner_works),
        cmocka_unit_test(defect_08_every_kind_resizes),
        cmocka_unit_test(defect_09_destroy_is_complete),
        cmocka_unit_test(defect_10_layers_cost_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
