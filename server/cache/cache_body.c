/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of stored answers. Plain files are shared by their identity: whatever number of targets
 * (query strings, hosts, links) lead to one file, its content is in memory once.
 */
#include "cache_parts_private.h"
#include "keyed_hash.h"
#include "transport.h"
#include "brigade/memory.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cache_body **body_bucket(response_cache *c, const file_identity *id)
{
    uint64_t hash = keyed_hash_of(id->ino, (const char *)id, sizeof *id);

    return &c->bodies[hash & (c->bodies_n - 1)];
}

cache_body *cache_body_create(char *data, size_t len)
{
    cache_body *b = cache_new(sizeof *b);

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
    file_kept_close(&b->kept);
    if (b->fd >= 0)
        close(b->fd);
    if (b->piece.file)
        memory_piece_give(&b->piece);
    else
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
            BRG_ASSERT(b->users > 0); /* else it is in no bucket */
            b->refs++;
            return b;
        }
    return NULL;
}

/* A body that the kernel can send without a copy. Those of workers may end on another thread. */
static cache_body *body_create_piece(response_cache *c, size_t len)
{
    cache_body *b;
    memory_piece piece;

    if (c->is_workers || len < CACHE_PIECE_LEAST)
        return NULL;
    if (!c->memory && !(c->memory = memory_file_create()))
        return NULL;
    if (memory_piece_take(c->memory, len, &piece))
        return NULL;
    b = cache_body_create(NULL, len);
    if (!b) {
        memory_piece_give(&piece);
        return NULL;
    }
    b->data = piece.data;
    b->piece = piece;
    b->bytes += piece.len;
    return b;
}

#define BODY_GROWTH (96 * 1024) /* less than the C library gives back to the kernel */

/* The C library's heap of a loop grows by the requested bytes, a system call for each body: let it
 * grow by more at a time. */
static char *body_allocate(response_cache *c, size_t len)
{
    c->allocated += len;
    if (c->allocated >= BODY_GROWTH) {
        void *volatile room = malloc(BODY_GROWTH);

        free(room);
        c->allocated = 0;
    }
    return malloc(len + 1);
}

cache_body *cache_body_create_empty(response_cache *c, size_t len)
{
    cache_body *b = body_create_piece(c, len);
    char *data = b ? NULL : body_allocate(c, len);

    if (!b && data)
        b = cache_body_create(data, len);
    if (!b)
        free(data);
    return b;
}

cache_body *cache_body_take(response_cache *c, char *data, size_t len)
{
    cache_body *b = body_create_piece(c, len);

    if (!b)
        return cache_body_create(data, len);
    memcpy(b->data, data, len);
    brg_buffer_copied(len);
    free(data);
    return b;
}

cache_body *cache_body_read(response_cache *c, int fd, const file_identity *id)
{
    const size_t len = (size_t)id->size;
    cache_body *b = cache_body_of_file(c, id);

    if (b)
        return b;
    if (!(b = cache_body_create_empty(c, len)))
        return NULL;
    b->identity = *id;
    if (file_read_exactly(fd, b->data, len)) {
        cache_body_put(b);
        return NULL;
    }
    brg_buffer_created();
    return b;
}

cache_body *cache_body_open(response_cache *c, int fd, const file_identity *id)
{
    cache_body *b = cache_body_of_file(c, id);

    if (b || !(b = cache_body_create(NULL, (size_t)id->size))) {
        close(fd);
        return b;
    }
    b->identity = *id;
    b->fd = fd;
    if (!c->is_workers) /* bodies stored by workers may be sent by several loops */
        b->kept.len = (apr_off_t)id->size;
    return b;
}

static int leaves_without_copy(const cache_body *b, const brg_conn *bc, size_t len)
{
    return b->piece.file && transport_is_plain(bc) && len >= CACHE_PIECE_LEAST &&
           (len <= CACHE_PIECE_SHORT || len >= CACHE_PIECE_LONG);
}

void cache_put_bytes(response_cache *c, cache_entry *e, brg_conn *bc, apr_off_t off, size_t len)
{
    const cache_body *b = e->body;

    BRG_ASSERT_DEBUG(b->data && off >= 0 && off + (apr_off_t)len <= b->len);
    if (leaves_without_copy(b, bc, len))
        gather_send_piece(bc->loop->out, bc, &b->piece, off, len, &e->ref);
    else
        gather_add_body(bc->loop->out, b->data + off, len, &e->ref);
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
