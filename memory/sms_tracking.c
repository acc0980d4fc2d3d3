/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records every live block with its size and the place in the code that asked for it, and reports
 * the blocks that are left when the system ends. The record lies in front of the block; all are in one ring,
 * under a lock: this is a kind for looking, not for speed.
 */
#include "sms_private.h"
#include "brigade/memory_tree.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRACKING_LIVE ((uint32_t)0x7ac4b10c)
#define TRACKING_FREED ((uint32_t)0x7ac4dead)
#define TRACKING_MARK ((uint32_t)0x7ac43a4c) /* no block: how far a look has come */
#define TRACKING_SLICE 4096                  /* blocks that a look reads while it holds the lock */
#define TRACKING_SITES 20                    /* in a report, those with most bytes */

typedef struct tracking_record {
    struct tracking_record *next, *prev;
    const void *site;
    uint32_t state;
    uint32_t second; /* when, of a clock that only goes forward */
    size_t bytes;
    uint64_t number; /* 1 for the first allocation */
} tracking_record;

_Static_assert(sizeof(tracking_record) % BRG_SMS_ALIGNMENT == 0,
               "blocks are aligned behind records");

typedef struct tracking_sms {
    brg_sms base;
    int quiet;            /* no report at the end */
    uint64_t number;      /* allocations so far */
    uint64_t live;        /* records in the ring */
    uint64_t looked;      /* number when the last report was made */
    tracking_record ring; /* its head */
} tracking_sms;

typedef struct tracking_site {
    const void *site;
    uint64_t blocks, bytes, first;
    uint64_t largest, more; /* more: bytes of blocks since the last report */
    uint32_t oldest;        /* tracking_record.second */
} tracking_site;

static uint32_t tracking_second(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint32_t)now.tv_sec;
}

/* With the lock held: put a record behind another one, or take it out. */
static void tracking_insert(tracking_record *before, tracking_record *r)
{
    r->prev = before;
    r->next = before->next;
    r->next->prev = before->next = r;
}

static void tracking_take_out(const tracking_record *r)
{
    r->next->prev = r->prev;
    r->prev->next = r->next;
}

static void tracking_link(tracking_sms *t, tracking_record *r)
{
    pthread_mutex_lock(&t->base.counts->lock);
    r->number = ++t->number;
    tracking_insert(t->ring.prev, r);
    t->live++;
    pthread_mutex_unlock(&t->base.counts->lock);
}

static void tracking_unlink(tracking_sms *t, tracking_record *r)
{
    pthread_mutex_lock(&t->base.counts->lock);
    tracking_take_out(r);
    t->live--;
    pthread_mutex_unlock(&t->base.counts->lock);
}

static void tracking_check(const brg_sms *s, const tracking_record *r, size_t bytes)
{
    if (r->state == TRACKING_FREED)
        sms_panic(s, "a block was freed twice", r + 1);
    if (r->state != TRACKING_LIVE)
        sms_panic(
            s,
            "the address freed is not a block's, or bytes in front of the block were overwritten",
            r + 1);
    if (r->bytes != bytes)
        sms_panic(s, "a block was freed with another size than it has", r + 1);
}

static void *tracking_allocate(brg_sms *s, size_t bytes)
{
    const void *site = sms_call_site;
    tracking_record *r = brg_sms_take(s, bytes + sizeof(*r));

    if (r == NULL)
        return NULL;
    r->site = site;
    r->bytes = bytes;
    r->state = TRACKING_LIVE;
    r->second = tracking_second();
    tracking_link((tracking_sms *)s, r);
    return r + 1;
}

static void tracking_free(brg_sms *s, void *block, size_t bytes)
{
    tracking_record *r = (tracking_record *)block - 1;

    tracking_check(s, r, bytes);
    tracking_unlink((tracking_sms *)s, r);
    r->state = TRACKING_FREED;
    brg_sms_give(s, r, bytes + sizeof(*r));
}

static void tracking_reset(brg_sms *s)
{
    tracking_sms *t = (tracking_sms *)s;

    while (t->ring.next != &t->ring)
        tracking_free(s, t->ring.next + 1, t->ring.next->bytes);
}

/* Reports. */

static int tracking_by_bytes(const void *a, const void *b)
{
    const tracking_site *x = a, *y = b;

    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static int tracking_by_site(const void *a, const void *b)
{
    const tracking_site *x = a, *y = b;

    return x->site < y->site ? -1 : x->site > y->site;
}

/* With the lock held: sites of the blocks behind the mark, which moves behind them. @return 0: there are no more */
static int tracking_slice(tracking_sms *t, tracking_record *mark, tracking_site *sites, size_t room,
                          size_t *n)
{
    const tracking_record *r = mark->next, *last = mark;
    size_t left = TRACKING_SLICE;

    for (; r != &t->ring && *n < room && left > 0; last = r, r = r->next) {
        if (r->state != TRACKING_LIVE)
            continue; /* the mark of another look */
        sites[(*n)++] = (tracking_site){r->site,   1,        r->bytes,
                                        r->number, r->bytes, r->number > t->looked ? r->bytes : 0,
                                        r->second};
        left--;
    }
    tracking_take_out(mark);
    if (r != &t->ring && *n < room)
        tracking_insert((tracking_record *)(uintptr_t)(last == mark ? mark->prev : last), mark);
    return r != &t->ring && *n < room;
}

/* Each live block as a site, in the order of allocation; blocks since a look at t->live are left
 * out. The lock is given back after each slice, so that nobody waits long for it. *sites is from
 * malloc. */
static size_t tracking_copy(tracking_sms *t, tracking_site **sites)
{
    const size_t room = (size_t)__atomic_load_n(&t->live, __ATOMIC_RELAXED);
    tracking_record mark = {.state = TRACKING_MARK};
    uint64_t number;
    size_t n = 0;
    int more = 0;

    if (room == 0 || (*sites = malloc(room * sizeof(**sites))) == NULL)
        return 0;
    pthread_mutex_lock(&t->base.counts->lock);
    number = t->number;
    tracking_insert(&t->ring, &mark);
    while ((more = tracking_slice(t, &mark, *sites, room, &n)) != 0) {
        pthread_mutex_unlock(&t->base.counts->lock);
        sched_yield(); /* for threads that wait for it */
        pthread_mutex_lock(&t->base.counts->lock);
    }
    t->looked = number;
    pthread_mutex_unlock(&t->base.counts->lock);
    return n;
}

static void tracking_merge(tracking_site *into, const tracking_site *from)
{
    into->blocks += from->blocks;
    into->bytes += from->bytes;
    into->more += from->more;
    into->first = from->first < into->first ? from->first : into->first;
    into->largest = from->largest > into->largest ? from->largest : into->largest;
    into->oldest = from->oldest < into->oldest ? from->oldest : into->oldest;
}

/* Live blocks, one entry for each call site, most bytes first. */
static size_t tracking_sites(tracking_sms *t, tracking_site **sites)
{
    size_t n, i, merged = 0;

    *sites = NULL;
    n = tracking_copy(t, sites);
    if (n == 0)
        return 0;
    qsort(*sites, n, sizeof(**sites), tracking_by_site);
    for (i = 1; i < n; i++)
        if ((*sites)[merged].site == (*sites)[i].site)
            tracking_merge(&(*sites)[merged], &(*sites)[i]);
        else
            (*sites)[++merged] = (*sites)[i];
    qsort(*sites, merged + 1, sizeof(**sites), tracking_by_bytes);
    return merged + 1;
}

static void tracking_name(const void *site, char *out, size_t n)
{
    Dl_info info;
    const char *file;

    if (dladdr(site, &info) == 0 || info.dli_fname == NULL) {
        snprintf(out, n, "%p", site);
        return;
    }
    file = strrchr(info.dli_fname, '/');
    file = file != NULL ? file + 1 : info.dli_fname;
    if (info.dli_sname != NULL)
        snprintf(out, n, "%s+0x%zx (%s)", info.dli_sname,
                 (size_t)((const char *)site - (const char *)info.dli_saddr), file);
    else
        snprintf(out, n, "%s+0x%zx", file,
                 (size_t)((const char *)site - (const char *)info.dli_fbase));
}

static void tracking_report(const brg_sms *s, void (*line)(void *baton, const char *text),
                            void *baton)
{
    const uint32_t now = tracking_second();
    char text[640], name[384];
    tracking_site *sites;
    size_t n, i;

    n = tracking_sites((tracking_sms *)(uintptr_t)s, &sites);
    snprintf(text, sizeof(text), "tracking: %zu places have live blocks", n);
    line(baton, text);
    for (i = 0; i < n && i < TRACKING_SITES; i++) {
        tracking_name(sites[i].site, name, sizeof(name));
        snprintf(
            text, sizeof(text),
            "tracking: %llu bytes in %llu blocks, the first is number %llu, from %s; largest %llu, "
            "oldest %u s, %llu since the last report",
            (unsigned long long)sites[i].bytes, (unsigned long long)sites[i].blocks,
            (unsigned long long)sites[i].first, name, (unsigned long long)sites[i].largest,
            (unsigned)(now - sites[i].oldest), (unsigned long long)sites[i].more);
        line(baton, text);
    }
    free(sites);
}

static void tracking_module(const void *site, char *out, size_t n)
{
    Dl_info info;
    const char *file = dladdr(site, &info) != 0 ? info.dli_fname : NULL;

    if (file != NULL && strrchr(file, '/') != NULL)
        file = strrchr(file, '/') + 1;
    snprintf(out, n, "%s", file != NULL ? file : "");
}

static void tracking_to_stderr(void *baton, const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static void tracking_destroy(brg_sms *s)
{
    tracking_sms *t = (tracking_sms *)s;

    if (!t->quiet && t->ring.next != &t->ring) {
        fputs("tracking: blocks were not freed\n", stderr);
        tracking_report(s, tracking_to_stderr, NULL);
    }
    tracking_reset(s);
}

static void tracking_describe(const brg_sms *s, char *out, size_t n)
{
    if (((const tracking_sms *)s)->quiet)
        snprintf(out, n, "quiet");
}

static int tracking_owns(const brg_sms *s, const void *block)
{
    const tracking_sms *t = (const tracking_sms *)s;
    const tracking_record *r;

    pthread_mutex_lock(&s->counts->lock);
    for (r = t->ring.next; r != &t->ring && r + 1 != block; r = r->next)
        continue;
    pthread_mutex_unlock(&s->counts->lock);
    return r != &t->ring;
}

static const char *tracking_verify(const brg_sms *s)
{
    const tracking_sms *t = (const tracking_sms *)s;
    const tracking_record *r;

    for (r = t->ring.next; r != &t->ring; r = r->next)
        if ((r->state != TRACKING_LIVE && r->state != TRACKING_MARK) || r->next->prev != r)
            return "tracking: the ring of records is broken";
    return NULL;
}

static const brg_sms_ops tracking_ops = {
    .kind = "tracking",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = tracking_allocate,
    .free = tracking_free,
    .reset = tracking_reset,
    .destroy = tracking_destroy,
    .owns = tracking_owns,
    .describe = tracking_describe,
    .report = tracking_report,
    .verify = tracking_verify,
};

BRG_DECLARE(int) brg_sms_sites(const brg_sms *s, brg_sms_site *out, int most)
{
    const uint32_t now = tracking_second();
    tracking_site *sites;
    int n, i;

    while (s != NULL && s->ops != &tracking_ops)
        s = s->parent;
    if (s == NULL)
        return -1;
    n = (int)tracking_sites((tracking_sms *)(uintptr_t)s, &sites);
    for (i = 0; i < n && i < most; i++) {
        out[i] = (brg_sms_site){.blocks = sites[i].blocks,
                                .bytes = sites[i].bytes,
                                .largest = sites[i].largest,
                                .more = sites[i].more,
                                .oldest = now - sites[i].oldest};
        tracking_name(sites[i].site, out[i].place, sizeof(out[i].place));
        tracking_module(sites[i].site, out[i].module, sizeof(out[i].module));
    }
    free(sites);
    return i;
}

const char *sms_tracking_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                                int params_n, apr_pool_t *p)
{
    tracking_sms *t;
    int i;

    for (i = 0; i < params_n; i++)
        if (params[i].name != NULL || strcmp(params[i].value, "quiet") != 0)
            return sms_param_unknown(&params[i], p);
    *out = brg_sms_make(sizeof(tracking_sms), &tracking_ops, parent);
    if (*out == NULL)
        return "out of memory";
    t = (tracking_sms *)*out;
    t->quiet = params_n > 0;
    t->ring.next = t->ring.prev = &t->ring;
    return NULL;
}
