/* SPDX-License-Identifier: Apache-2.0 */
/* Known folders, for requests for names in them that are answered without a walk. */
#include "folder_private.h"
#include "file_open_private.h"
#include "brigade/assert.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct folder_held {
    watch_set *watch;
    watch_folder *dir;
    folder_view *view;
};

/* The name of @a path behind the folder of v; NULL: it leads elsewhere. */
static const char *held_name(const request_rec *r, const folder_view *v, const char *path)
{
    const size_t len = strlen(v->dir);

    if (v->server != r->server || v->conf != r->per_dir_config || !path ||
        strncmp(path, v->dir, len) != 0 || strchr(path + len, '/'))
        return NULL;
    return path + len;
}

static folder_held *held_make(const request_rec *r, const request_files *files, const char *path_of)
{
    const folder_table *t = folders_of(r);
    folder_view *v = t && files->folders ? files->folders->view : NULL;
    const char *name = v ? held_name(r, v, path_of) : NULL;
    const size_t len = v ? strlen(v->dir) : 0;
    char path[PATH_MAX];
    folder_held *a;

    if (!name || !*name || len >= sizeof path || !(a = malloc(sizeof *a)))
        return NULL;
    memcpy(path, v->dir, len);
    path[len > 1 ? len - 1 : len] = '\0';
    *a = (folder_held){.watch = folders_watch(t), .view = v};
    a->dir = watch_folder_open(a->watch, path, strlen(path));
    if (!a->dir) {
        free(a);
        return NULL;
    }
    folder_view_take(v);
    return a;
}

/* A redirect may have given r another filename after the walk. */
folder_held *folder_held_of(const request_rec *r)
{
    const request_files *files = request_files_of(r);

    if (!files || (r->path_info && *r->path_info))
        return NULL;
    return held_make(r, files,
                     request_is_refused(r) && files->walked ? files->walked : r->filename);
}

folder_held *folder_held_above(const request_rec *r)
{
    const request_files *files = request_files_of(r);

    return files && files->walked ? held_make(r, files, files->walked) : NULL;
}

void folder_held_end(folder_held *a)
{
    if (!a)
        return;
    watch_folder_close(a->watch, a->dir);
    folder_view_release(a->view);
    free(a);
}

const char *folder_held_path(const folder_held *a)
{
    return a->view->dir;
}

ap_conf_vector_t *folder_held_conf(const folder_held *a)
{
    return a->view->conf;
}

int folder_held_is_there(const folder_held *a)
{
    BRG_ASSERT_DEBUG(loop_self() && a->view->conf);
    return watch_folder_is_current(a->watch, a->dir);
}

int folder_held_lacks(const folder_held *a, const char *name, size_t len)
{
    return folder_held_is_there(a) && watch_folder_lacks(a->dir, name, len);
}

int folder_held_open(const folder_held *a, const char *name, size_t len, file_identity *is)
{
    const size_t before = strlen(a->view->dir);
    char path[PATH_MAX];
    int fd;

    if (before + len >= sizeof path)
        return -1;
    memcpy(path, a->view->dir, before);
    memcpy(path + before, name, len);
    path[before + len] = '\0';
    if ((fd = file_open_at_hand(path)) < 0)
        return -1;
    if (!file_identity_take(is, fd, path)) {
        file_mounts_seen((apr_dev_t)is->dev);
        return fd;
    }
    close(fd);
    return -1;
}

int folder_held_read(int fd, char *data, size_t len)
{
    return file_read_at_hand(fd, data, len);
}
