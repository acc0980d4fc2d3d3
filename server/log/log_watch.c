/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log files under inotify: events of the file itself (moved, unlinked), not of writes to it.
 *
 * A file that was moved before it was watched tells nobody: the owner of the descriptor compares
 * all of them once after each start and reload (log_watch_moved()). So files that could not be
 * watched are in the list, too.
 *
 * An inotify descriptor is one thing for all processes that inherited it, so only its owner takes watches out: a child that
 * tries a configuration clears the pools of the one before.
 */
#include "log_watch.h"
#include "brigade/log_files.h"

#include "httpd.h"
#include "http_log.h"

#include "apr_strings.h"
#include "brigade/assert.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define WATCH_READS 16

typedef struct watched_log {
    struct watched_log *next;
    const char *path;
    dev_t dev;
    ino_t ino;
    int wd;
} watched_log;

static watched_log *watch_files;
static int watch_fd = -1;
static pid_t watch_owner;

static apr_status_t watch_end(void *data)
{
    watched_log *file = data, **at = &watch_files;

    while (*at && *at != file)
        at = &(*at)->next;
    if (*at)
        *at = file->next;
    if (watch_owner == getpid() && watch_fd >= 0 && file->wd >= 0)
        inotify_rm_watch(watch_fd, file->wd); /* of a file that is gone it is out already */
    return APR_SUCCESS;
}

/* The descriptor of this process. */
static int watch_open(void)
{
    if (watch_fd >= 0 && watch_owner == getpid())
        return watch_fd;
    if (watch_fd >= 0)
        close(watch_fd);
    watch_owner = getpid();
    return watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

BRG_DECLARE(void) brg_log_file_watch(apr_pool_t *p, const char *path, int fd)
{
    watched_log *file;
    struct stat st;
    int wd;

    BRG_ASSERT(*path == '/' && fd >= 0);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || watch_open() < 0)
        return;
    if ((wd = inotify_add_watch(watch_fd, path, IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB)) < 0)
        ap_log_error(APLOG_MARK, APLOG_INFO, errno, NULL,
                     "log file %s is not watched: it is opened again by a reload alone", path);
    file = apr_palloc(p, sizeof *file);
    *file = (watched_log){watch_files, apr_pstrdup(p, path), st.st_dev, st.st_ino, wd};
    watch_files = file;
    apr_pool_cleanup_register(p, file, watch_end, apr_pool_cleanup_null);
}

void log_watch_adopt(void)
{
    watch_owner = getpid();
}

void log_watch_leave(void)
{
    if (watch_owner == getpid() || watch_fd < 0)
        return;
    close(watch_fd);
    watch_fd = -1;
}

int log_watch_fd(void)
{
    return watch_owner == getpid() && watch_files ? watch_fd : -1;
}

void log_watch_drain(void)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

    BRG_ASSERT(watch_fd >= 0);
    /* A user who may write a log can make events of it without end. */
    for (int i = 0; i < WATCH_READS && read(watch_fd, events, sizeof events) > 0; i++)
        continue;
}

int log_watch_moved(void)
{
    struct stat st;

    BRG_ASSERT(watch_owner == getpid());
    for (const watched_log *file = watch_files; file; file = file->next)
        if (stat(file->path, &st) ? errno == ENOENT
                                  : st.st_dev != file->dev || st.st_ino != file->ino)
            return 1;
    return 0;
}
