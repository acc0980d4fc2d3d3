/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ceiling on live bytes. Each user has an instance of its own: a request's pools share one and
 * are refused the bytes beyond it. The parent gets exactly the user's requests, so the instance
 * itself holds nothing.
 */
#include "sms_private.h"
#include "brigade/assert.h"
#include <stdio.h>
#include <string.h>

typedef struct limit_sms {
    brg_sms base;
    size_t most, live;
    int status;  /* for a request that is refused */
    int refused; /* it was this system that refused last, not its parent */
} limit_sms;

#define LIMIT_STATUS 503

static int limit_allows(limit_sms *limit, size_t bytes)
{
    BRG_ASSERT(limit->live <= limit->most);
    if (bytes <= limit->most - limit->live)
        return 1;
    limit->refused = 1;
    return 0;
}

static void *limit_allocate(brg_sms *s, size_t bytes)
{
    limit_sms *limit = (limit_sms *)s;
    void *block;

    if (!limit_allows(limit, bytes))
        return NULL;
    block = brg_sms_allocate_from(s->parent, bytes, sms_call_site);
    if (block != NULL)
        limit->live += bytes;
    else
        limit->refused = 0;
    return block;
}

static void *limit_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    limit_sms *limit = (limit_sms *)s;
    void *moved;

    if (bytes > old_bytes && !limit_allows(limit, bytes - old_bytes))
        return NULL;
    moved = brg_sms_resize(s->parent, block, old_bytes, bytes);
    if (moved != NULL)
        limit->live += bytes - old_bytes; /* wraps where it shrinks, rightly */
    else
        limit->refused = 0;
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
    const limit_sms *limit = (const limit_sms *)s;
    char size[24];

    sms_format_size(limit->most, size);
    if (limit->status == LIMIT_STATUS)
        snprintf(out, n, "%s", size);
    else
        snprintf(out, n, "%s,status=%d", size, limit->status);
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

static int limit_refusal_status(const brg_sms *s)
{
    const limit_sms *limit = (const limit_sms *)s;

    return limit->refused ? limit->status : 0;
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
    .refusal_status = limit_refusal_status,
};

/* status=413: the client sent too much; 503: the server has too little memory. */
static const char *limit_param(limit_sms *limit, const brg_sms_param *param, apr_pool_t *p)
{
    if (param->name == NULL && limit->most == 0)
        return sms_param_size(param, 1, SMS_LARGEST, &limit->most, p);
    if (param->name == NULL || strcmp(param->name, "status") != 0)
        return sms_param_unknown(param, p);
    if (strcmp(param->value, "503") != 0 && strcmp(param->value, "413") != 0)
        return brg_sms_message(p, "status= is 503 or 413, not \"%s\"", param->value);
    limit->status = param->value[0] == '4' ? 413 : LIMIT_STATUS;
    return NULL;
}

const char *sms_limit_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                             int params_n, apr_pool_t *p)
{
    limit_sms wanted = {.status = LIMIT_STATUS};
    const char *message = NULL;
    limit_sms *limit;
    int i;

    for (i = 0; i < params_n && message == NULL; i++)
        message = limit_param(&wanted, &params[i], p);
    if (message == NULL && wanted.most == 0)
        message = "it needs a size: limit(16M)";
    if (message != NULL)
        return message;
    *out = brg_sms_make(sizeof(*limit), &limit_ops, parent);
    if (*out == NULL)
        return "out of memory";
    limit = (limit_sms *)*out;
    limit->most = wanted.most;
    limit->status = wanted.status;
    return NULL;
}
