/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails on purpose: the Nth allocation, every one from the Nth on, or a random fraction. The
 * numbers follow from the seed and the order of the requests, so that a failure can be repeated.
 */
#include "sms_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fault_sms {
    brg_sms base;
    uint64_t nth, from; /* 0: not asked for */
    uint64_t chance;    /* of 2^32 */
    char fraction[16];  /* chance as written */
    uint64_t seed;
    _Atomic uint64_t calls;
} fault_sms;

/* A number that looks random, from any number (the finaliser of splitmix64). */
static uint64_t fault_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int fault_due(fault_sms *f)
{
    uint64_t call = atomic_fetch_add_explicit(&f->calls, 1, memory_order_relaxed) + 1;

    if (call == f->nth || (f->from != 0 && call >= f->from))
        return 1;
    return f->chance != 0 && (fault_mix(f->seed + call) >> 32) < f->chance;
}

static void *fault_allocate(brg_sms *s, size_t bytes)
{
    return fault_due((fault_sms *)s) ? NULL
                                     : brg_sms_allocate_from(s->parent, bytes, sms_call_site);
}

static void *fault_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    return fault_due((fault_sms *)s) ? NULL : brg_sms_resize(s->parent, block, old_bytes, bytes);
}

static void fault_free(brg_sms *s, void *block, size_t bytes)
{
    brg_sms_free(s->parent, block, bytes);
}

static void fault_destroy(brg_sms *s)
{
}

static void fault_statistics(const brg_sms *s, brg_sms_figures *out)
{
    out->held_bytes = out->live_bytes;
}

static int fault_owns(const brg_sms *s, const void *block)
{
    return brg_sms_owns(s->parent, block);
}

static void fault_describe(const brg_sms *s, char *out, size_t n)
{
    const fault_sms *f = (const fault_sms *)s;
    int used = 0;

    if (f->nth != 0)
        used += snprintf(out, n, "nth=%llu", (unsigned long long)f->nth);
    if (f->from != 0)
        used += snprintf(out + used, n - (size_t)used, "%sfrom=%llu", used > 0 ? "," : "",
                         (unsigned long long)f->from);
    if (f->chance != 0)
        snprintf(out + used, n - (size_t)used, "%srandom=%s,seed=%llu", used > 0 ? "," : "",
                 f->fraction, (unsigned long long)f->seed);
}

static const brg_sms_ops fault_ops = {
    .kind = "fault",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = fault_allocate,
    .resize = fault_resize,
    .free = fault_free,
    .destroy = fault_destroy,
    .statistics = fault_statistics,
    .owns = fault_owns,
    .describe = fault_describe,
};

static const char *fault_fraction(fault_sms *f, const char *value, apr_pool_t *p)
{
    char *end;
    double fraction = strtod(value, &end);

    if (*end != '\0' || end == value || !(fraction > 0 && fraction <= 1) ||
        strlen(value) >= sizeof(f->fraction))
        return brg_sms_message(p, "random=%.32s is not between 0 and 1", value);
    f->chance = (uint64_t)(fraction * 4294967296.0);
    memcpy(f->fraction, value, strlen(value) + 1);
    return NULL;
}

static const char *fault_param(fault_sms *f, const brg_sms_param *param, apr_pool_t *p)
{
    size_t n;
    const char *message;

    if (sms_param_is(param, "random"))
        return fault_fraction(f, param->value, p);
    if (!sms_param_is(param, "nth") && !sms_param_is(param, "from") && !sms_param_is(param, "seed"))
        return sms_param_unknown(param, p);
    message = sms_param_size(param, param->name[0] == 's' ? 0 : 1, SMS_LARGEST, &n, p);
    if (message == NULL)
        *(param->name[0] == 'n' ? &f->nth : param->name[0] == 'f' ? &f->from : &f->seed) = n;
    return message;
}

const char *sms_fault_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                             int params_n, apr_pool_t *p)
{
    fault_sms wanted;
    const char *message = NULL;
    fault_sms *f;
    int i;

    memset(&wanted, 0, sizeof(wanted));
    for (i = 0; i < params_n && message == NULL; i++)
        message = fault_param(&wanted, &params[i], p);
    if (message != NULL)
        return message;
    if (wanted.nth == 0 && wanted.from == 0 && wanted.chance == 0)
        return "it needs nth=, from= or random=";
    *out = brg_sms_make(sizeof(fault_sms), &fault_ops, parent);
    if (*out == NULL)
        return "out of memory";
    f = (fault_sms *)*out;
    f->nth = wanted.nth;
    f->from = wanted.from;
    f->chance = wanted.chance;
    f->seed = wanted.seed;
    memcpy(f->fraction, wanted.fraction, sizeof(f->fraction));
    return NULL;
}
