/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ceiling on live bytes. Each user has an instance of its own: a request's pools share one and
 * are refused what goes beyond it. The parent is asked for exactly what the user asks for, so the
 * instance itself holds nothing.
 */
#include "sms_private.h"

typedef struct limit_sms {
    brg_sms base;
    size_t most, live;
} limit_sms;

static void *limit_allocate(brg_sms *s, size_t bytes)
{
    limit_sms *limit = (limit_sms *)s;
    void *block;

    if (bytes > limit->most - limit->live)
        return NULL;
    block = brg_sms_allocate_from(s->parent, bytes, sms_call_site);
    if (block != NULL)
        limit->live += bytes;
    return block;
}

static void *limit_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    limit_sms *limit = (limit_sms *)s;
    void *moved;

    if (bytes > old_bytes && bytes - old_bytes > limit->most - limit->live)
        return NULL;
    moved = brg_sms_resize(s->parent, block, old_bytes, bytes);
    if (moved != NULL)
        limit->live += bytes - old_bytes; /* wraps where it shrinks, rightly */
    return moved;
}

static void limit_free(brg_sms *s, void *block, size_t bytes)
{
    limit_sms *limit = (limit_sms *)s;

    if (bytes > limit->live)
        sms_panic(s, "more was freed than handed out", block);
    limit->live -= bytes;
    brg_sms_free(s->parent, block, bytes);
}

static void limit_destroy(brg_sms *s)
{
}

static void limit_statistics(const brg_sms *s, brg_sms_figures *out)
{
    out->held_bytes = out->live_bytes;
}

static void limit_describe(const brg_sms *s, char *out, size_t n)
{
    sms_format_size(((const limit_sms *)s)->most, out);
}

static size_t limit_good_size(const brg_sms *s, size_t bytes)
{
    const limit_sms *limit = (const limit_sms *)s;
    size_t good = brg_sms_good_size(s->parent, bytes);

    return good <= limit->most - limit->live ? good : bytes;
}

static int limit_owns(const brg_sms *s, const void *block)
{
    return brg_sms_owns(s->parent, block);
}

static const char *limit_verify(const brg_sms *s)
{
    const limit_sms *limit = (const limit_sms *)s;

    return limit->live <= limit->most ? NULL : "limit: more is live than allowed";
}

static const brg_sms_ops limit_ops = {
    .kind = "limit",
    .threads = BRG_SMS_ONE_THREAD,
    .per_block = BRG_SMS_AS_PARENT,
    .allocate = limit_allocate,
    .resize = limit_resize,
    .free = limit_free,
    .destroy = limit_destroy,
    .statistics = limit_statistics,
    .owns = limit_owns,
    .describe = limit_describe,
    .good_size = limit_good_size,
    .verify = limit_verify,
};

const char *sms_limit_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                             int params_n, apr_pool_t *p)
{
    const char *message;
    size_t most;

    if (params_n == 0)
        return "it needs a size: limit(16M)";
    if (params_n > 1 || params[0].name != NULL)
        return sms_param_unknown(&params[params_n - 1], "limit", "one SIZE, shared", p);
    message = sms_param_size(&params[0], 1, SMS_LARGEST, &most, p);
    if (message != NULL)
        return message;
    *out = brg_sms_make(sizeof(limit_sms), &limit_ops, parent);
    if (*out == NULL)
        return "out of memory";
    ((limit_sms *)*out)->most = most;
    return NULL;
}
