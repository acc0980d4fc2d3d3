/* SPDX-License-Identifier: Apache-2.0 */
/* The things that owners depend on: entries of directories, all entries, inodes. Each is one object
 * whatever number of owners it has. */
#include "watch_private.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static uint32_t entry_hash(const watch_dir *d, const char *name, size_t len)
{
    return (uint32_t)keyed_hash_of((uint64_t)(uintptr_t)d, name, len);
}

static watch_node *entry_find_hashed(watch_set *w, const watch_dir *d, const char *name, size_t len,
                                     uint32_t hash)
{
    watch_node *node = w->entries[hash & w->mask];

    while (node && (node->hash != hash || node->dir != d || node->len != len ||
                    memcmp(node->name, name, len) != 0))
        node = node->next;
    return node;
}

watch_node *watch_entry_find(watch_set *w, const watch_dir *d, const char *name, size_t len)
{
    return entry_find_hashed(w, d, name, len, entry_hash(d, name, len));
}

/* Nobody finds it any more. */
static void node_detach(watch_set *w, watch_node *node)
{
    watch_node **p = &w->entries[node->hash & w->mask];

    if (node->changed)
        return;
    switch (node->kind) {
    case WATCH_ANY:
        node->dir->any = NULL;
        break;
    case WATCH_INODE:
        node->inode->node = NULL;
        break;
    default:
        while (*p != node)
            p = &(*p)->next;
        *p = node->next;
    }
}

void watch_node_change(watch_set *w, watch_node *node)
{
    if (!node)
        return;
    BRG_ASSERT(!node->changed && node->refs > 0);
    BRG_ASSERT((node->kind == WATCH_INODE) == (node->inode != NULL));
    node_detach(w, node);
    node->changed = 1;
    if (node->refs == 1 && node->last)
        ((watch_owner *)(uintptr_t)node->last)->changed = 1;
    else
        w->generation++;
}

static void node_put(watch_set *w, watch_node *node)
{
    BRG_ASSERT(node->refs > 0);
    if (--node->refs)
        return;
    node_detach(w, node);
    if (node->dir)
        watch_dir_put(w, node->dir);
    if (node->inode)
        watch_inode_put(w, node->inode);
    w->bytes -= watch_block(sizeof *node + node->len + 1);
    free(node);
}

static int owner_grow(watch_set *w, watch_owner *owner)
{
    uint32_t room = owner->room ? owner->room * 2 : 4;
    watch_node **bigger = realloc(owner->nodes, room * sizeof(*bigger));

    if (!bigger)
        return -1;
    w->bytes += watch_block(room * sizeof *bigger) - (owner->room ? watch_owner_bytes(owner) : 0);
    owner->nodes = bigger;
    owner->room = room;
    return 0;
}

/* Owners are filled one at a time, so an owner that depends on a node already was its last. */
static int owner_take(watch_set *w, watch_owner *owner, watch_node *node)
{
    BRG_ASSERT(!node->changed);
    if (node->last == owner)
        return 0;
    if (owner->n == owner->room && owner_grow(w, owner))
        return -1;
    if (!owner->n) {
        owner->generation = w->generation;
        owner->epoch = w->epoch;
    }
    owner->nodes[owner->n++] = node;
    node->last = owner;
    node->refs++;
    return 0;
}

static watch_node *node_create(watch_set *w, int kind, const char *name, size_t len)
{
    watch_node *node = calloc(1, sizeof *node + len + 1);

    if (!node)
        return NULL;
    node->kind = (uint8_t)kind;
    node->len = (uint32_t)len;
    memcpy(node->name, name, len);
    w->bytes += watch_block(sizeof *node + len + 1);
    return node;
}

/* A new node that could not be given to its owner goes again. */
static int node_give(watch_set *w, watch_owner *owner, watch_node *node)
{
    int rc;

    node->refs++;
    rc = owner_take(w, owner, node);
    node_put(w, node);
    return rc;
}

/* A file can be mounted over a file. A name that is too long is that of nothing. */
static watch_look node_look(const watch_dir *d, const char *name, size_t len)
{
    size_t at = d->path_len > 1 ? d->path_len : 0;
    char path[PATH_MAX];

    if (at + len + 2 > sizeof path)
        return (watch_look){.mount = WATCH_NO_MOUNT};
    memcpy(path, d->path, at);
    path[at] = '/';
    memcpy(path + at + 1, name, len);
    path[at + 1 + len] = '\0';
    return watch_look_at(path, 0);
}

static int node_is_in_place(const watch_set *w, watch_node *node)
{
    if (node->kind != WATCH_ENTRY || node->mounted == w->mounted)
        return 1;
    if (node_look(node->dir, node->name, node->len).place != node->place)
        return 0;
    node->mounted = w->mounted;
    return 1;
}

watch_node *watch_on_entry(watch_set *w, watch_owner *owner, watch_dir *d, const char *name,
                           size_t len)
{
    uint32_t hash = entry_hash(d, name, len);
    watch_node *node = entry_find_hashed(w, d, name, len, hash), **bucket;
    watch_look look;

    if (node && !node_is_in_place(w, node)) {
        watch_node_change(w, node);
        node = NULL;
    }
    if (node)
        return owner_take(w, owner, node) ? NULL : node;
    if (!(node = node_create(w, WATCH_ENTRY, name, len)))
        return NULL;
    bucket = &w->entries[hash & w->mask];
    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
    node->dir = d;
    d->refs++;
    look = node_look(d, name, len);
    node->place = look.place;
    node->plain = look.place && !look.is_link;
    node->file = look.is_file != 0;
    node->local = node->plain && look.mount != WATCH_NO_MOUNT && look.mount == d->mount;
    node->mounted = w->mounted;
    w->seen += node->place != 0;
    return node_give(w, owner, node) ? NULL : node;
}

int watch_on_any(watch_set *w, watch_owner *owner, watch_dir *d)
{
    if (!d->any) {
        if (!(d->any = node_create(w, WATCH_ANY, "", 0)))
            return -1;
        d->any->dir = d;
        d->refs++;
    }
    return node_give(w, owner, d->any);
}

int watch_on_inode(watch_set *w, watch_owner *owner, watch_inode *x)
{
    if (x->node) {
        watch_inode_put(w, x);
        return node_give(w, owner, x->node);
    }
    if (!(x->node = node_create(w, WATCH_INODE, "", 0))) {
        watch_inode_put(w, x);
        return -1;
    }
    x->node->inode = x;
    return node_give(w, owner, x->node);
}

size_t watch_owner_bytes(const watch_owner *owner)
{
    return owner->room ? watch_block(owner->room * sizeof(*owner->nodes)) : 0;
}

void watch_remove(watch_set *w, watch_owner *owner)
{
    BRG_ASSERT(owner->n <= owner->room);
    for (uint32_t i = 0; i < owner->n; i++) {
        if (owner->nodes[i]->last == owner)
            owner->nodes[i]->last = NULL;
        node_put(w, owner->nodes[i]);
    }
    w->bytes -= watch_owner_bytes(owner);
    free(owner->nodes);
    *owner = (watch_owner){0};
}

static int owner_is_changed(watch_set *w, const watch_owner *owner)
{
    if (owner->epoch != w->epoch)
        return 1;
    for (uint32_t i = 0; i < owner->n; i++) {
        watch_node *node = owner->nodes[i];

        if (node->changed || (node->dir && !watch_dir_is_alive(w, node->dir)))
            return 1;
        if (!node_is_in_place(w, node)) {
            watch_node_change(w, node);
            return 1;
        }
    }
    return 0;
}

int watch_changed(watch_set *w, watch_owner *owner)
{
    if (owner->changed)
        return 1;
    if (owner->generation == w->generation || !owner->n)
        return 0;
    w->counts.rechecks++;
    if (owner_is_changed(w, owner))
        return owner->changed = 1;
    owner->generation = w->generation;
    return 0;
}
