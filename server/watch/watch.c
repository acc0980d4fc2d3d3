/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of inotify watches, what owners depend on, and what events mean to them. */
#include "watch_private.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCH_FILE_MASK (IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

static uint32_t watch_name_hash(const watch_dir *dir, const char *name, size_t len)
{
    return watch_hash(name, len, dir->hash * 31u);
}

watch_set *watch_set_create(void)
{
    watch_set *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0) {
        free(w);
        return NULL;
    }
    return w;
}

void watch_set_destroy(watch_set *w)
{
    close(w->fd);
    free(w);
}

unsigned watch_count(const watch_set *w)
{
    return w->count;
}

/* ---- inotify watches ---- */

static watch_wd *watch_wd_find(watch_set *w, int wd)
{
    watch_wd *x = w->wds[(unsigned)wd % WATCH_BUCKETS];

    while (x && x->wd != wd)
        x = x->next;
    return x;
}

watch_wd *watch_wd_get(watch_set *w, const char *path, uint32_t mask)
{
    int wd = inotify_add_watch(w->fd, path, mask | IN_MASK_ADD);
    watch_wd *x;

    if (wd < 0)
        return NULL;
    if (!(x = watch_wd_find(w, wd))) {
        if (!(x = calloc(1, sizeof *x)))
            return NULL;
        x->wd = wd;
        x->next = w->wds[(unsigned)wd % WATCH_BUCKETS];
        w->wds[(unsigned)wd % WATCH_BUCKETS] = x;
        w->count++;
    }
    x->refs++;
    return x;
}

void watch_wd_put(watch_set *w, watch_wd *x)
{
    watch_wd **p = &w->wds[(unsigned)x->wd % WATCH_BUCKETS];

    if (--x->refs)
        return;
    while (*p != x)
        p = &(*p)->next;
    *p = x->next;
    inotify_rm_watch(w->fd, x->wd); /* fails when the inode is gone: then the watch went with it */
    w->count--;
    free(x);
}

/* ---- owners ---- */

static void watch_dep_link(struct watch_dep *dep, struct watch_dep **head)
{
    dep->next_of_target = *head;
    dep->prev_of_target = head;
    if (*head)
        (*head)->prev_of_target = &dep->next_of_target;
    *head = dep;
}

static struct watch_dep *watch_dep_create(watch_owner *owner, const char *name, size_t len)
{
    struct watch_dep *dep = calloc(1, sizeof *dep + len + 1);

    if (!dep)
        return NULL;
    memcpy(dep->name, name, len);
    dep->owner = owner;
    dep->next_of_owner = owner->deps;
    owner->deps = dep;
    return dep;
}

/* ---- adding and removing ---- */

static int watch_add_entry(watch_set *w, watch_owner *owner, watch_dir *d, const char *name,
                           size_t len)
{
    struct watch_dep *dep = watch_dep_create(owner, name, len);

    if (!dep)
        return -1;
    d->refs++;
    dep->dir = d;
    dep->hash = watch_name_hash(d, name, len);
    watch_dep_link(dep, len ? &w->names[dep->hash % WATCH_BUCKETS] : &d->any);
    return 0;
}

static int watch_add_inode(watch_set *w, watch_owner *owner, const char *path)
{
    watch_wd *wd = watch_wd_get(w, path, WATCH_FILE_MASK);
    struct watch_dep *dep;

    if (!wd)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    if (!(dep = watch_dep_create(owner, "", 0))) {
        watch_wd_put(w, wd);
        return -1;
    }
    dep->wd = wd;
    watch_dep_link(dep, &wd->deps);
    return 0;
}

/* Where a path's last component is a symbolic link, the owner depends on the target's entry as
 * well. */
static int watch_add_links(watch_set *w, watch_owner *owner, const char *path, size_t up, int links)
{
    char text[PATH_MAX], far_end[PATH_MAX];
    ssize_t len = readlink(path, text, sizeof text - 1);
    size_t n, far_up;
    watch_dir *d;
    int rc;

    if (len <= 0)
        return 0;
    n = watch_link_path(far_end, path, up > 1 ? up : 0, text, (size_t)len);
    if (!n || links > WATCH_LINKS_MOST)
        return -1;
    far_up = watch_parent_len(far_end, n);
    if (!(d = watch_dir_get(w, far_end, far_up, links)))
        return -1;
    rc = watch_add_entry(w, owner, d, far_end + far_up + (far_up > 1), n - far_up - (far_up > 1));
    watch_dir_put(w, d);
    return rc ? rc : watch_add_links(w, owner, far_end, far_up, links + 1);
}

static int watch_add_names(watch_set *w, watch_owner *owner, watch_dir *d, const char *tree_root,
                           const char *const *names)
{
    size_t root_len = strlen(tree_root);

    while (root_len > 1 && tree_root[root_len - 1] == '/')
        root_len--;
    for (; d && d->path_len >= root_len; d = d->parent) {
        if (strncmp(d->path, tree_root, root_len))
            return 0;
        for (const char *const *name = names; *name; name++) {
            char path[PATH_MAX];
            size_t len = strlen(*name);

            if (d->path_len + len + 2 > sizeof path || watch_add_entry(w, owner, d, *name, len))
                return -1;
            memcpy(path, d->path, d->path_len);
            path[d->path_len] = '/';
            memcpy(path + d->path_len + 1, *name, len + 1);
            if (watch_add_inode(w, owner, path))
                return -1;
        }
    }
    return 0;
}

int watch_add(watch_set *w, watch_owner *owner, const char *path, const char *tree_root,
              const char *const *also_names, int any_entry)
{
    size_t len = strlen(path), up;
    watch_dir *d;
    int rc;

    while (len > 1 && path[len - 1] == '/')
        len--;
    up = watch_parent_len(path, len);
    if (!(d = watch_dir_get(w, path, up, 0)))
        return -1;
    rc = watch_add_entry(w, owner, d, path + up + (up > 1), len - up - (up > 1));
    if (!rc && any_entry)
        rc = watch_add_entry(w, owner, d, "", 0);
    if (!rc)
        rc = watch_add_links(w, owner, path, up, 0);
    if (!rc)
        rc = watch_add_inode(w, owner, path);
    if (!rc && also_names && tree_root)
        rc = watch_add_names(w, owner, d, tree_root, also_names);
    watch_dir_put(w, d);
    if (rc)
        watch_remove(w, owner);
    return rc;
}

void watch_remove(watch_set *w, watch_owner *owner)
{
    struct watch_dep *dep;

    while ((dep = owner->deps) != NULL) {
        owner->deps = dep->next_of_owner;
        *dep->prev_of_target = dep->next_of_target;
        if (dep->next_of_target)
            dep->next_of_target->prev_of_target = dep->prev_of_target;
        if (dep->dir)
            watch_dir_put(w, dep->dir);
        else
            watch_wd_put(w, dep->wd);
        free(dep);
    }
}

/* ---- events ---- */

static void watch_entry_changed(watch_set *w, watch_dir *d, const char *name)
{
    size_t len = strlen(name);
    uint32_t hash = watch_name_hash(d, name, len);
    struct watch_dir_list *l, *next;

    watch_tell(d->any);
    for (struct watch_dep *dep = w->names[hash % WATCH_BUCKETS]; dep; dep = dep->next_of_target)
        if (dep->dir == d && dep->hash == hash && !strcmp(dep->name, name))
            dep->owner->changed = 1;
    for (l = d->children; l; l = next) {
        watch_dir *child = l->dir;

        next = l->next;
        if (child->parent == d && child->path_len == d->path_len + (d->path_len > 1) + len &&
            !memcmp(child->path + child->path_len - len, name, len))
            watch_dir_kill(w, child);
    }
}

static void watch_overflow(watch_set *w)
{
    for (unsigned i = 0; i < WATCH_BUCKETS; i++)
        while (w->dirs[i])
            watch_dir_kill(w, w->dirs[i]);
    for (unsigned i = 0; i < WATCH_BUCKETS; i++)
        for (watch_wd *x = w->wds[i]; x; x = x->next)
            watch_tell(x->deps);
}

static void watch_event(watch_set *w, const struct inotify_event *e)
{
    watch_wd *x;

    if (e->mask & IN_Q_OVERFLOW) {
        watch_overflow(w);
        return;
    }
    if (!(x = watch_wd_find(w, e->wd)))
        return; /* of a watch that was removed */
    if (e->len) {
        for (watch_dir *d = x->dirs; d; d = d->next_of_wd)
            if (!d->dead)
                watch_entry_changed(w, d, e->name);
        return;
    }
    watch_tell(x->deps);
    for (watch_dir *d = x->dirs; d; d = d->next_of_wd)
        watch_dir_kill(w, d);
}

void watch_drain(watch_set *w)
{
    char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;

    while ((n = read(w->fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)p;

            watch_event(w, e);
            p += sizeof *e + e->len;
        }
        if ((size_t)n < sizeof buf / 2)
            return; /* all that there was */
    }
    if (n < 0 && errno != EAGAIN)
        watch_overflow(w);
}
