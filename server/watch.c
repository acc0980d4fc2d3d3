/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define WATCH_BUCKETS 4096
#define WATCH_LINKS_MOST \
    16 /* symbolic links followed for one path; more is treated as not watchable */

#define WATCH_DIR_MASK                                                                  \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | \
     IN_MOVE_SELF | IN_ONLYDIR)
#define WATCH_FILE_MASK (IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

/* An inotify watch: one per inode, whatever number of paths lead to it. */
typedef struct watch_wd {
    struct watch_wd *next; /* in the bucket of wd */
    int wd;
    unsigned refs;          /* directories and file dependencies below */
    watch_dir *dirs;        /* by next_of_wd */
    struct watch_dep *deps; /* on the inode itself, by next_of_target */
} watch_wd;

struct watch_dir {
    watch_dir *next; /* in the bucket of path; only while alive */
    watch_dir *next_of_wd;
    watch_wd *wd;
    watch_dir *parent;               /* NULL for / and for a link's far end */
    watch_dir *target;               /* what a symbolic link leads to, else NULL */
    struct watch_dep *any;           /* on every entry */
    struct watch_dir_list *children; /* directories that die with this one */
    unsigned refs;
    int dead;
    uint32_t hash;
    size_t path_len;
    char path[];
};

struct watch_dir_list {
    struct watch_dir_list *next;
    watch_dir *dir;
};

/* One thing that an owner depends on: an entry of a directory, all entries, or an inode. */
struct watch_dep {
    struct watch_dep *next_of_owner;
    struct watch_dep *next_of_target,
        **prev_of_target; /* bucket of (dir, name), dir->any or wd->deps */
    watch_owner *owner;
    watch_dir *dir; /* referenced; NULL for an inode */
    watch_wd *wd;   /* of an inode */
    uint32_t hash;
    char name[]; /* "" for all entries and for an inode */
};

struct watch_set {
    int fd;
    unsigned count;
    watch_wd *wds[WATCH_BUCKETS];
    watch_dir *dirs[WATCH_BUCKETS];
    struct watch_dep *names[WATCH_BUCKETS];
};

static uint32_t watch_hash(const char *s, size_t len, uint32_t h)
{
    h ^= 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ (h >> 15);
}

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

static watch_wd *watch_wd_get(watch_set *w, const char *path, uint32_t mask)
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

static void watch_wd_put(watch_set *w, watch_wd *x)
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

static void watch_tell(struct watch_dep *dep)
{
    for (; dep; dep = dep->next_of_target)
        dep->owner->changed = 1;
}

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

/* ---- directories ---- */

static void watch_dir_put(watch_set *w, watch_dir *d);

static void watch_dir_unmap(watch_set *w, watch_dir *d)
{
    watch_dir **p = &w->dirs[d->hash % WATCH_BUCKETS];

    while (*p && *p != d)
        p = &(*p)->next;
    if (*p)
        *p = d->next;
}

static void watch_child_forget(watch_dir *above, const watch_dir *d)
{
    struct watch_dir_list **p = &above->children, *l;

    while ((l = *p) != NULL)
        if (l->dir == d) {
            *p = l->next;
            free(l);
        } else {
            p = &l->next;
        }
}

static void watch_dir_free(watch_set *w, watch_dir *d)
{
    watch_dir **p;

    if (!d->dead)
        watch_dir_unmap(w, d);
    if (d->wd) {
        for (p = &d->wd->dirs; *p != d; p = &(*p)->next_of_wd)
            ;
        *p = d->next_of_wd;
        watch_wd_put(w, d->wd);
    }
    if (d->parent) {
        watch_child_forget(d->parent, d);
        watch_dir_put(w, d->parent);
    }
    if (d->target) {
        watch_child_forget(d->target, d);
        watch_dir_put(w, d->target);
    }
    free(d);
}

static void watch_dir_put(watch_set *w, watch_dir *d)
{
    if (--d->refs == 0)
        watch_dir_free(w, d);
}

/* The path no longer means what it meant: everything that was reached through it is to be looked up
 * again. Owners learn of it through the dependencies that they have on entries of d. */
static void watch_dir_kill(watch_set *w, watch_dir *d)
{
    if (d->dead)
        return;
    d->dead = 1;
    watch_dir_unmap(w, d);
    watch_tell(d->any);
    for (unsigned i = 0; i < WATCH_BUCKETS; i++)
        for (struct watch_dep *dep = w->names[i]; dep; dep = dep->next_of_target)
            if (dep->dir == d)
                dep->owner->changed = 1;
    for (struct watch_dir_list *l = d->children; l; l = l->next)
        watch_dir_kill(w, l->dir);
}

static int watch_is_remote(const char *path)
{
    static const unsigned long remote[] = {
        0x6969,     /* NFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x517b,     /* SMB */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0x0bd00bd0, /* Lustre */
        0x9fa0,     /* proc: its files change without events */
        0x62656572, /* sysfs */
    };
    struct statfs fs;

    if (statfs(path, &fs))
        return 1;
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if ((unsigned long)fs.f_type == remote[i])
            return 1;
    return 0;
}

static int watch_dir_below(watch_dir *above, watch_dir *d)
{
    struct watch_dir_list *l = malloc(sizeof *l);

    if (!l)
        return -1;
    l->dir = d;
    l->next = above->children;
    above->children = l;
    return 0;
}

static watch_dir *watch_dir_get(watch_set *w, const char *path, size_t len, int links);

/* The far end of a symbolic link whose text is @a text, met at path[0..dir_len) + "/" + name. */
static size_t watch_link_path(char out[PATH_MAX], const char *path, size_t dir_len,
                              const char *text, size_t len)
{
    if (text[0] == '/')
        dir_len = 0;
    if (dir_len + 1 + len >= PATH_MAX)
        return 0;
    memcpy(out, path, dir_len);
    if (dir_len)
        out[dir_len++] = '/';
    memcpy(out + dir_len, text, len);
    out[dir_len + len] = '\0';
    return dir_len + len;
}

static size_t watch_parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 1 ? len - 1 : len;
}

static int watch_dir_attach(watch_set *w, watch_dir *d, int links)
{
    char text[PATH_MAX], far_end[PATH_MAX];
    size_t up = watch_parent_len(d->path, d->path_len), n;
    ssize_t len;

    if (d->path_len > 1) {
        if (!(d->parent = watch_dir_get(w, d->path, up, links)) || watch_dir_below(d->parent, d))
            return -1;
        len = readlink(d->path, text, sizeof text - 1);
        if (len > 0) {
            n = watch_link_path(far_end, d->path, up > 1 ? up : 0, text, (size_t)len);
            if (!n || !(d->target = watch_dir_get(w, far_end, n, links + 1)) ||
                watch_dir_below(d->target, d))
                return -1;
        }
    }
    if (!(d->wd = watch_wd_get(w, d->path, WATCH_DIR_MASK)))
        return -1;
    d->next_of_wd = d->wd->dirs;
    d->wd->dirs = d;
    return watch_is_remote(d->path) ? -1 : 0;
}

/* A referenced node for a directory's path, or NULL. */
static watch_dir *watch_dir_get(watch_set *w, const char *path, size_t len, int links)
{
    uint32_t hash;
    watch_dir *d;

    while (len > 1 && path[len - 1] == '/')
        len--;
    hash = watch_hash(path, len, 0);
    if (len == 0 || path[0] != '/' || links > WATCH_LINKS_MOST)
        return NULL;
    for (d = w->dirs[hash % WATCH_BUCKETS]; d; d = d->next)
        if (d->hash == hash && d->path_len == len && !memcmp(d->path, path, len)) {
            d->refs++;
            return d;
        }
    if (!(d = calloc(1, sizeof *d + len + 1)))
        return NULL;
    memcpy(d->path, path, len);
    d->path_len = len;
    d->hash = hash;
    d->refs = 1;
    if (watch_dir_attach(w, d, links)) {
        d->dead = 1; /* was never mapped */
        watch_dir_free(w, d);
        return NULL;
    }
    d->next = w->dirs[hash % WATCH_BUCKETS];
    w->dirs[hash % WATCH_BUCKETS] = d;
    return d;
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

    while ((n = read(w->fd, buf, sizeof buf)) > 0) {
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)p;

            watch_event(w, e);
            p += sizeof *e + e->len;
        }
        if ((size_t)n < sizeof buf / 2)
            return; /* all that there was */
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        watch_overflow(w);
}
