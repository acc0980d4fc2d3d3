/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of stored answers. Plain files are shared by their identity: whatever number of targets
 * (query strings, hosts, links) lead to one file, its content is in memory once.
 */
#include "cache_private.h"
#include "keyed_hash.h"
#include "brigade/memory.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static cache_body **body_bucket(response_cache *c, const file_identity *id)
{
    uint64_t hash = keyed_hash_of(id->ino, (const char *)id, sizeof *id);

    return &c->bodies[hash & (CACHE_BODY_BUCKETS - 1)];
}

cache_body *cache_body_create(char *data, size_t len)
{
    cache_body *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->refs = 1;
    b->fd = -1;
    b->data = data;
    b->len = (apr_off_t)len;
    b->bytes = cache_block(sizeof *b) + (data ? cache_block(len + 1) : 0);
    return b;
}

void cache_body_put(cache_body *b)
{
    if (!b)
        return;
    BRG_ASSERT(b->refs > 0);
    if (--b->refs)
        return;
    BRG_ASSERT(b->users == 0);
    if (b->fd >= 0)
        close(b->fd);
    free(b->data);
    free(b);
}

cache_body *cache_body_of_file(response_cache *c, const file_identity *id)
{
    cache_body *b;

    if (c->is_workers)
        return NULL;
    for (b = *body_bucket(c, id); b; b = b->next)
        if (file_identity_same(&b->identity, id)) {
            b->refs++;
            return b;
        }
    return NULL;
}

/* The descriptor is taken over. */
static cache_body *body_open(int fd, const file_identity *id, apr_off_t most)
{
    int in_memory = (apr_off_t)id->size <= most;
    char *data = in_memory ? malloc((size_t)id->size + 1) : NULL;
    cache_body *b = in_memory && !data ? NULL : cache_body_create(data, (size_t)id->size);

    if (!b) {
        free(data);
        close(fd);
        return NULL;
    }
    b->identity = *id;
    b->fd = fd;
    if (!in_memory)
        return b;
    if (file_read_exactly(fd, data, (size_t)id->size)) {
        cache_body_put(b);
        return NULL;
    }
    brg_buffer_created();
    close(fd);
    b->fd = -1;
    return b;
}

cache_body *cache_body_read(response_cache *c, int fd, const file_identity *id, apr_off_t most)
{
    cache_body *b = cache_body_of_file(c, id);

    if (!b)
        return body_open(fd, id, most);
    close(fd);
    return b;
}

void cache_body_use(response_cache *c, cache_body *b)
{
    BRG_ASSERT(b->refs > b->users);
    if (b->users++)
        return;
    c->bytes += b->bytes;
    c->files_n += b->fd >= 0;
    if (b->identity.ino && !c->is_workers) {
        cache_body **bucket = body_bucket(c, &b->identity);

        b->next = *bucket;
        *bucket = b;
    }
}

void cache_body_unuse(response_cache *c, cache_body *b)
{
    BRG_ASSERT(b->users > 0 && c->bytes >= b->bytes);
    if (--b->users)
        return;
    c->bytes -= b->bytes;
    c->files_n -= b->fd >= 0;
    if (b->identity.ino && !c->is_workers) {
        cache_body **p = body_bucket(c, &b->identity);

        while (*p != b)
            p = &(*p)->next;
        *p = b->next;
    }
}
