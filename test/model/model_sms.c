/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of memory system against a plain list: random requests, from one thread and from
 * several, while each block carries a pattern of its own that must be there when it is looked at.
 * The invariants of the kind are walked in between, and in the end the system must have given back
 * everything.
 *
 * model_sms [seed [rounds]]: to have a failure again, or to look longer.
 */
#include "brigade/sms.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 400
#define THREADS 3
#define EXCHANGE 64

typedef struct model_block {
    unsigned char *at;
    size_t bytes;
    unsigned char fill;
} model_block;

/* Where threads leave blocks for each other. */
typedef struct model_exchange {
    pthread_mutex_t lock;
    model_block blocks[EXCHANGE];
} model_exchange;

typedef struct model_run {
    brg_sms *s;
    const char *spec;
    uint64_t seed;
    int rounds;
    int alone;    /* one thread: blocks may be looked up, systems verified and reset */
    int may_fail; /* NULL is an answer */
    model_exchange *exchange;
    model_block list[BLOCKS];
} model_run;

static void model_fail(const model_run *run, const char *what)
{
    fprintf(stderr, "%s: %s (seed %llu)\n", run->spec, what, (unsigned long long)run->seed);
    abort();
}

static uint32_t model_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Mostly small, some of a pool chunk's size, a few large ones. */
static size_t model_size(uint64_t *state)
{
    uint32_t kind = model_random(state) % 100;

    if (kind < 60)
        return model_random(state) % 300;
    if (kind < 80)
        return model_random(state) % 5000;
    if (kind < 97)
        return 4096 * (size_t)(1 + model_random(state) % 6);
    return model_random(state) % 600000;
}

static void model_fill(model_block *b, uint64_t *state)
{
    b->fill = (unsigned char)model_random(state);
    memset(b->at, b->fill, b->bytes);
}

static void model_look(const model_run *run, const model_block *b, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        if (b->at[i] != b->fill)
            model_fail(run, "a block has changed");
}

static void model_allocate(model_run *run, model_block *b, uint64_t *state)
{
    b->bytes = model_size(state);
    b->at = brg_sms_allocate(run->s, b->bytes);
    if (b->at == NULL) {
        if (!run->may_fail)
            model_fail(run, "no memory");
        return;
    }
    if ((uintptr_t)b->at % BRG_SMS_ALIGNMENT != 0)
        model_fail(run, "a block is not aligned");
    if (run->alone && brg_sms_owns(run->s, b->at) == 0)
        model_fail(run, "a block that was handed out is not known");
    model_fill(b, state);
}

static void model_resize(model_run *run, model_block *b, uint64_t *state)
{
    size_t bytes = model_size(state), least = bytes < b->bytes ? bytes : b->bytes;
    unsigned char *moved = brg_sms_resize(run->s, b->at, b->bytes, bytes);

    if (moved == NULL) {
        if (!run->may_fail)
            model_fail(run, "no memory to resize");
        model_look(run, b, b->bytes);
        return;
    }
    b->at = moved;
    model_look(run, b, least);
    b->bytes = bytes;
    model_fill(b, state);
}

static void model_free(model_run *run, model_block *b)
{
    model_look(run, b, b->bytes);
    brg_sms_free(run->s, b->at, b->bytes);
    b->at = NULL;
}

/* Swap a block with the one that another thread left. */
static void model_swap(model_run *run, model_block *b, uint64_t *state)
{
    model_exchange *x = run->exchange;
    model_block *there = &x->blocks[model_random(state) % EXCHANGE], kept;

    pthread_mutex_lock(&x->lock);
    kept = *there;
    *there = *b;
    *b = kept;
    pthread_mutex_unlock(&x->lock);
}

static void model_forget(model_run *run)
{
    memset(run->list, 0, sizeof(run->list));
}

static void model_free_all(model_run *run)
{
    int i;

    for (i = 0; i < BLOCKS; i++)
        if (run->list[i].at != NULL)
            model_free(run, &run->list[i]);
}

static void model_verify(const model_run *run)
{
    const char *broken = brg_sms_verify(run->s);

    if (broken != NULL)
        model_fail(run, broken);
}

/* What the model holds is what the system says is handed out. */
static void model_compare(const model_run *run)
{
    brg_sms_figures figures;
    uint64_t live = 0;
    int i;

    for (i = 0; i < BLOCKS; i++)
        if (run->list[i].at != NULL)
            live += run->list[i].bytes != 0 ? run->list[i].bytes : 1;
    brg_sms_statistics(run->s, &figures);
    if (figures.live_bytes != live)
        model_fail(run, "the counter of live bytes is wrong");
    if (figures.high_water_bytes < live)
        model_fail(run, "the high-water mark is lower than what is live");
}

static void model_reset(model_run *run)
{
    if (brg_sms_reset(run->s) != 0)
        model_free_all(run);
    model_forget(run);
    model_verify(run);
    model_compare(run);
}

static void model_step(model_run *run, uint64_t *state)
{
    model_block *b = &run->list[model_random(state) % BLOCKS];
    uint32_t what = model_random(state) % 1000;

    if (run->exchange != NULL && what < 300)
        model_swap(run, b, state);
    else if (b->at == NULL)
        model_allocate(run, b, state);
    else if (what < 500)
        model_resize(run, b, state);
    else
        model_free(run, b);
    if (what == 999)
        brg_sms_trim(run->s);
    if (!run->alone)
        return;
    if (what == 998)
        model_reset(run);
    if (what % 100 == 97) {
        model_verify(run);
        model_compare(run);
    }
}

static void *model_thread(void *data)
{
    model_run *run = data;
    uint64_t state = run->seed;
    int i;

    for (i = 0; i < run->rounds; i++)
        model_step(run, &state);
    model_free_all(run);
    return NULL;
}

static void model_end(model_run *run)
{
    brg_sms_figures figures;

    model_forget(run);
    model_verify(run);
    model_compare(run);
    brg_sms_destroy(&run->s, NULL);
    brg_sms_statistics(brg_sms_os(), &figures);
    if (figures.live_bytes != 0 || figures.held_bytes != 0)
        model_fail(run, "memory was not given back to the operating system");
}

static void model_begin(model_run *run, const char *spec, uint64_t seed, int rounds)
{
    const char *message;

    memset(run, 0, sizeof(*run));
    run->spec = spec;
    run->seed = seed;
    run->rounds = rounds;
    run->alone = 1;
    run->may_fail = strstr(spec, "fault") != NULL || strstr(spec, "limit") != NULL;
    message = brg_sms_create(&run->s, spec, NULL, NULL);
    if (message != NULL)
        model_fail(run, message);
}

static void model_one(const char *spec, uint64_t seed, int rounds)
{
    static model_run run;

    model_begin(&run, spec, seed, rounds);
    model_thread(&run);
    model_end(&run);
}

/* Blocks wander between threads; in the second half the threads are new ones, which adopt what the
 * first left. */
static void model_many(const char *spec, uint64_t seed, int rounds)
{
    static model_run all, runs[THREADS];
    static model_exchange exchange = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[THREADS];
    int i, half;

    model_begin(&all, spec, seed, rounds);
    all.alone = 0;
    all.exchange = &exchange;
    for (half = 0; half < 2; half++) {
        for (i = 0; i < THREADS; i++) {
            runs[i] = all;
            runs[i].seed = seed * 31 + (uint64_t)(half * THREADS + i);
            if (pthread_create(&threads[i], NULL, model_thread, &runs[i]) != 0)
                model_fail(&all, "no thread");
        }
        for (i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        model_verify(&all);
    }
    for (i = 0; i < EXCHANGE; i++)
        if (exchange.blocks[i].at != NULL)
            model_free(&all, &exchange.blocks[i]);
    memset(exchange.blocks, 0, sizeof(exchange.blocks));
    model_end(&all);
}

static const char *const model_specs[] = {
    "system",
    "os",
    "trivial",
    "trivial(chunk=4k,keep=64k)",
    "blocks",
    "blocks(size=64)",
    "blocks(size=4k,chunk=16k) arena",
    "arena",
    "arena(chunk=16k,keep=32k)",
    "arena(chunk=64k,keep=0)",
    "arena(chunk=2M) os(huge)",
    "guard",
    "guard(redzone=64,quarantine=100k)",
    "guard arena",
    "tracking system",
    "tracking arena",
    "limit(1M) system",
    "limit(300k) arena(chunk=64k)",
    "fault(random=0.05,seed=7) system",
    "fault(nth=100) trivial",
    "trivial fault(random=0.02,seed=9) os",
    "arena fault(random=0.2,seed=11) os",
    "blocks(size=1k) fault(random=0.2,seed=12) system",
    "trivial(shared)",
    "blocks(shared) arena",
    "limit(1M,shared) arena",
    "tracking limit(600k,shared) guard",
};
#define MODEL_SPECS_N (sizeof(model_specs) / sizeof(model_specs[0]))

static int model_for_many(const char *spec)
{
    brg_sms *s;
    int many;

    if (brg_sms_create(&s, spec, NULL, NULL) != NULL)
        return 0;
    many = brg_sms_thread_rule(s) == BRG_SMS_ANY_THREAD;
    brg_sms_destroy(&s, NULL);
    return many;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20010709;
    int rounds = argc > 2 ? atoi(argv[2]) : 1500;
    size_t i;
    int many = 0;

    for (i = 0; i < MODEL_SPECS_N; i++) {
        model_one(model_specs[i], seed, rounds);
        if (model_for_many(model_specs[i])) {
            model_many(model_specs[i], seed, rounds);
            many++;
        }
    }
    printf("%zu specifications with one thread, %d with %d threads: as the model\n", i, many,
           THREADS);
    return many > 0 ? 0 : 1;
}
