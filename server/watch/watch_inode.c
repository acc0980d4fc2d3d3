/* SPDX-License-Identifier: Apache-2.0 */
/* inotify watches by their number, and the file systems that inotify can be trusted on. */
#include "watch_private.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>

watch_inode *watch_inode_find(watch_set *w, int wd)
{
    watch_inode *x = w->inodes[(uint32_t)wd & w->mask];

    while (x && x->wd != wd)
        x = x->next;
    return x;
}

watch_inode *watch_inode_get(watch_set *w, const char *path, uint32_t mask)
{
    int wd = inotify_add_watch(w->fd, path, mask | IN_MASK_ADD);
    watch_inode *x, **bucket;

    if (wd < 0)
        return NULL;
    if (!(x = watch_inode_find(w, wd))) {
        if (!(x = calloc(1, sizeof *x))) {
            inotify_rm_watch(w->fd, wd);
            return NULL;
        }
        bucket = &w->inodes[(uint32_t)wd & w->mask];
        x->wd = wd;
        x->next = *bucket;
        *bucket = x;
        w->count++;
        w->seen++;
        w->bytes += watch_block(sizeof *x) + WATCH_KERNEL_BYTES;
    }
    x->refs++;
    return x;
}

void watch_inode_put(watch_set *w, watch_inode *x)
{
    watch_inode **p = &w->inodes[(uint32_t)x->wd & w->mask];

    BRG_ASSERT(x->refs > 0);
    if (--x->refs)
        return;
    BRG_ASSERT(!x->dirs && !x->node);
    while (*p != x)
        p = &(*p)->next;
    *p = x->next;
    inotify_rm_watch(w->fd, x->wd); /* fails when the inode is gone: then the watch went with it */
    w->count--;
    w->bytes -= watch_block(sizeof *x) + WATCH_KERNEL_BYTES;
    free(x);
}

static uint64_t place_mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

watch_look watch_look_at(const char *path, int follow)
{
    watch_look look = {.mount = WATCH_NO_MOUNT};
    struct statx st;
    uint64_t h;

    if (statx(AT_FDCWD, path,
              AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (follow ? 0 : AT_SYMLINK_NOFOLLOW),
              STATX_TYPE | STATX_INO | STATX_MNT_ID, &st))
        return look;
    look.is_link = S_ISLNK(st.stx_mode);
    look.is_file = S_ISREG(st.stx_mode);
    look.place = WATCH_NO_PLACE;
    if (!(st.stx_mask & STATX_MNT_ID))
        return look;
    look.mount = st.stx_mnt_id;
    h = place_mix(
        place_mix(place_mix(1, st.stx_mnt_id), (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor),
        st.stx_ino);
    look.place = h > WATCH_NO_PLACE ? h : ~h;
    return look;
}

#define WATCH_OVERLAY 0x794c7630

/* A missing path counts as where it would be. */
int watch_is_layered(const char *path)
{
    char up[PATH_MAX];
    struct statfs fs;
    size_t len = strlen(path);
    int rc = statfs(path, &fs);

    while (rc && (errno == ENOENT || errno == ENOTDIR) && len > 1 && len < sizeof up) {
        memcpy(up, path, len);
        len = watch_parent_len(up, len);
        up[len ? len : 1] = '\0';
        rc = statfs(up, &fs);
    }
    return rc || (uint32_t)fs.f_type == WATCH_OVERLAY;
}

/* Where every change passes through this kernel. Other file systems may be right as well, but
 * unknown ones are asked with stat. */
int watch_is_local(const char *path)
{
    static const uint32_t local[] = {
        0xef53,        /* ext2, ext3, ext4 */
        0x58465342,    /* xfs */
        0x9123683e,    /* btrfs */
        0x01021994,    /* tmpfs */
        0x858458f6,    /* ramfs */
        WATCH_OVERLAY, /* through itself: see watch_is_layered() */
        0x2fc12fc1,    /* zfs */
        0xf2f52010,    /* f2fs */
        0xca451a4e,    /* bcachefs */
        0x3153464a,    /* jfs */
        0x3434,        /* nilfs2 */
        0x73717368,    /* squashfs */
        0xe0f5e1e2,    /* erofs */
        0x9660,        /* iso9660 */
        0x15013346,    /* udf */
        0x4d44,        /* vfat */
        0x2011bab0,    /* exfat */
        0x7366746e,    /* ntfs3 */
    };
    struct statfs fs;

    if (statfs(path, &fs))
        return 0;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if ((uint32_t)fs.f_type == local[i])
            return 1;
    return 0;
}
