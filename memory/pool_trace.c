/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: see pool_trace.h.
 *
 * A cleared block is recognized afterwards, by the number of bytes that its pool cleared in the
 * meantime. A cleanup whose record was used before leaves no trace: as many k steps are written as
 * cleanups were registered at once.
 */
#include "pool_trace.h"
#include "brigade/assert.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE_POOLS 64 /* numbers of pools; 0 is the connection's */
#define TRACE_FIRST 256
#define TRACE_LINE 40 /* bytes at most */

typedef struct trace_step {
    apr_size_t n; /* bytes, or the pool above */
    char what;
    unsigned char pool;
} trace_step;

typedef struct pool_trace {
    trace_step *steps;
    apr_size_t steps_n, room;
    apr_uint64_t used;                /* bit i: there is a pool i */
    apr_uint64_t zeroed[TRACE_POOLS]; /* bytes that each pool had cleared at the last look */
    apr_size_t last[TRACE_POOLS];     /* step of its newest block, plus 1; 0: none */
    int broken;                       /* cannot be recorded: it is left out */
} pool_trace;

static const pool_trace_file *trace_file;

void pool_trace_to(const pool_trace_file *file)
{
    trace_file = file;
}

int pool_trace_runs(void)
{
    return trace_file != NULL &&
           !atomic_load_explicit(&trace_file->sums->over, memory_order_relaxed);
}

static void trace_over(int error)
{
    if (!atomic_exchange(&trace_file->sums->over, 1))
        trace_file->ended(error);
}

/* ---- steps ---- */

static int trace_grow(pool_trace *t)
{
    apr_size_t room = t->room != 0 ? 2 * t->room : TRACE_FIRST;
    trace_step *steps = NULL;

    BRG_ASSERT(t->steps_n == t->room);
    if (t->room <= trace_file->bytes_most) /* each step has some bytes */
        steps = realloc(t->steps, room * sizeof(*steps));
    if (steps == NULL) {
        t->broken = 1;
        return -1;
    }
    t->steps = steps;
    t->room = room;
    return 0;
}

static void trace_add(pool_trace *t, char what, unsigned pool, apr_size_t n)
{
    BRG_ASSERT(pool < TRACE_POOLS);
    if (t->broken || (t->steps_n == t->room && trace_grow(t) != 0))
        return;
    t->steps[t->steps_n++] = (trace_step){n, what, (unsigned char)pool};
}

/* Whether the newest block of the pool was cleared. */
static void trace_mark_cleared(pool_trace *t, const apr_pool_t *p)
{
    apr_uint64_t cleared = p->head.zeroed - t->zeroed[p->traced];
    apr_size_t last = t->last[p->traced];

    t->zeroed[p->traced] = p->head.zeroed;
    if (cleared != 0 && last != 0 && t->steps[last - 1].n == cleared)
        t->steps[last - 1].what = 'z';
}

/* The trace, or NULL. */
static pool_trace *trace_of(const apr_pool_t *p)
{
    pool_trace *t = p->allocator->trace;

    if (p->traced == 0 || t == NULL)
        return NULL;
    trace_mark_cleared(t, p);
    return t;
}

void pool_trace_block(apr_pool_t *p, apr_size_t n, const void *site)
{
    pool_trace *t = trace_of(p);

    if (t == NULL)
        return;
    if (site == POOL_CLEANUP_SITE) {
        trace_add(t, 'k', p->traced, 0);
        return;
    }
    trace_add(t, 'a', p->traced, n);
    t->last[p->traced] = t->broken ? 0 : t->steps_n;
}

void pool_trace_resized(apr_pool_t *p, apr_size_t n)
{
    pool_trace *t = trace_of(p);

    if (t != NULL && t->last[p->traced] != 0)
        t->steps[t->last[p->traced] - 1].n = n;
}

void pool_trace_told(const apr_pool_t *p)
{
    pool_trace *t = trace_of(p);

    if (t != NULL)
        t->zeroed[p->traced] = 0;
}

/* ---- pools ---- */

static pool_trace *trace_begin(void)
{
    pool_trace *t = pool_trace_runs() ? calloc(1, sizeof(*t)) : NULL;

    if (t == NULL)
        return NULL;
    t->used = 1;
    trace_add(t, 'r', 0, 0);
    return t;
}

void pool_trace_created(apr_pool_t *p, const apr_pool_t *parent)
{
    apr_allocator_t *a = p->allocator;
    pool_trace *t;
    unsigned number;

    if (parent == NULL)
        a->trace = trace_begin();
    t = a->trace;
    if (t == NULL || (parent != NULL && parent->traced == 0))
        return;
    if (t->used == UINT64_MAX) {
        t->broken = 1;
        return;
    }
    number = (unsigned)__builtin_ctzll(~t->used);
    t->used |= (apr_uint64_t)1 << number;
    t->zeroed[number] = t->last[number] = 0;
    p->traced = (unsigned char)number;
    trace_add(t, 'p', number, parent != NULL ? parent->traced : 0);
}

/* Memory that a pool cleared is counted in the pool above, and not by itself, when it is cleared or
 * ends. */
static void trace_hand_up(pool_trace *t, const apr_pool_t *p)
{
    if (p->parent != NULL && p->parent->traced != 0 && p->parent->allocator == p->allocator)
        t->zeroed[p->parent->traced] += p->head.zeroed;
    t->zeroed[p->traced] = 0;
    t->last[p->traced] = 0;
}

void pool_trace_cleared(apr_pool_t *p)
{
    pool_trace *t = trace_of(p);

    if (t == NULL)
        return;
    trace_add(t, 'x', p->traced, 0);
    trace_hand_up(t, p);
}

void pool_trace_moved(apr_allocator_t *from, apr_allocator_t *to)
{
    if (!to->traced) { /* recording was over in the meantime */
        from->trace->broken = 1;
        return;
    }
    to->trace = from->trace;
    from->trace = NULL;
}

/* ---- the file ---- */

static int trace_same(const trace_step *a, const trace_step *b)
{
    return a->what == b->what && a->pool == b->pool && a->n == b->n &&
           (a->what == 'a' || a->what == 'z' || a->what == 'k');
}

static int trace_print(char *out, const trace_step *s, apr_size_t times)
{
    int n;

    if (s->what == 'r' || s->what == 'e')
        return sprintf(out, "%c\n", s->what);
    n = sprintf(out, "%c %u", s->what, s->pool);
    if (s->what == 'p' || s->what == 'a' || s->what == 'z')
        n += sprintf(out + n, " %zu", s->n);
    if (times > 1)
        n += sprintf(out + n, " x%zu", times);
    out[n++] = '\n';
    return n;
}

static apr_size_t trace_format(const pool_trace *t, char *out)
{
    apr_size_t i, same, n = 0;

    for (i = 0; i < t->steps_n; i += same) {
        for (same = 1; i + same < t->steps_n && trace_same(&t->steps[i], &t->steps[i + same]);)
            same++;
        n += (apr_size_t)trace_print(out + n, &t->steps[i], same);
    }
    return n;
}

static void trace_write(const char *text, apr_size_t n)
{
    pool_trace_sums *sums = trace_file->sums;
    uint64_t before = atomic_fetch_add(&sums->requests, 1);
    ssize_t written;

    if (before >= trace_file->requests_most ||
        atomic_fetch_add(&sums->bytes, n) + n > trace_file->bytes_most) {
        trace_over(0);
        return;
    }
    do
        written = write(trace_file->fd, text, n);
    while (written < 0 && errno == EINTR);
    if (written != (ssize_t)n)
        trace_over(written < 0 ? errno : ENOSPC);
    else if (before + 1 == trace_file->requests_most)
        trace_over(0);
}

static void trace_end(pool_trace *t)
{
    char *text;

    trace_add(t, 'e', 0, 0);
    text = t->broken || !pool_trace_runs() ? NULL : malloc(t->steps_n * TRACE_LINE);
    if (text != NULL)
        trace_write(text, trace_format(t, text));
    free(text);
    free(t->steps);
    free(t);
}

/* Once no more is recorded, the allocator's next pools are of the usual kind. */
static void trace_leave(apr_allocator_t *a)
{
    if (a->trace != NULL)
        trace_end(a->trace);
    a->trace = NULL;
    if (!pool_trace_runs())
        memory_stack_untrace(a);
}

void pool_trace_destroyed(apr_pool_t *p)
{
    pool_trace *t = trace_of(p);

    if (t != NULL) {
        trace_add(t, 'd', p->traced, 0);
        trace_hand_up(t, p);
        t->used &= ~((apr_uint64_t)1 << p->traced);
    }
    if (p->allocator->owner == p)
        trace_leave(p->allocator);
}
