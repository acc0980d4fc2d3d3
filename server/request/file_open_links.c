/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file whose path holds symbolic links, some of which may not be followed.
 *
 * The walk looked at each component by name. Before the file is opened by name, a directory may
 * have been replaced by a link. So here every component is opened relative to the one before, and
 * the result is checked. A link's target is followed as by stat(): only its owner counts.
 */
#include "file_open_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_DIR_FLAGS (O_PATH | O_CLOEXEC)
#define LINKS_FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* @return -1 with errno @a error */
static int links_close(int fd, int error)
{
    BRG_ASSERT(fd >= 0 && error != 0);
    close(fd);
    errno = error;
    return -1;
}

/* link is open with O_PATH. @return a descriptor of its target if that has the same owner */
static int links_follow_owned(int dir, int link, const struct stat *is, int flags)
{
    char text[PATH_MAX];
    ssize_t len = readlinkat(link, "", text, sizeof text - 1);
    struct stat target;
    int fd;

    if (len < 0)
        return -1;
    text[len] = '\0';
    if ((fd = openat(dir, text, flags)) < 0)
        return -1;
    if (fstat(fd, &target) || target.st_uid != is->st_uid)
        return links_close(fd, ELOOP);
    return fd;
}

static int links_component(int dir, const char *name, char allowed, int flags)
{
    struct stat is;
    int fd, found;

    BRG_ASSERT(dir >= 0);
    BRG_ASSERT(allowed == LINKS_FOLLOW || allowed == LINKS_OWNER || allowed == LINKS_NONE);
    if (allowed == LINKS_FOLLOW)
        return openat(dir, name, flags);
    if ((found = openat(dir, name, LINKS_DIR_FLAGS | O_NOFOLLOW)) < 0)
        return -1;
    if (fstat(found, &is))
        return links_close(found, errno);
    if (!S_ISLNK(is.st_mode)) {
        if (flags == LINKS_DIR_FLAGS)
            return found;
        fd = openat(dir, name, flags | O_NOFOLLOW);
    } else if (allowed == LINKS_OWNER) {
        fd = links_follow_owned(dir, found, &is, flags);
    } else {
        return links_close(found, ELOOP);
    }
    if (fd < 0)
        return links_close(found, errno);
    close(found);
    return fd;
}

int file_open_by_links(const char *path, const char *links)
{
    char name[NAME_MAX + 1];
    int dir;

    BRG_ASSERT(path[0] == '/');
    BRG_ASSERT(links != NULL);
    dir = open("/", LINKS_DIR_FLAGS);
    while (dir >= 0 && *path) {
        size_t len = strcspn(++path, "/");
        int fd, last = !path[len];

        if (len > NAME_MAX)
            return links_close(dir, ENAMETOOLONG);
        memcpy(name, path, len);
        name[len] = '\0';
        fd = links_component(dir, name, *links ? *links++ : LINKS_FOLLOW,
                             last ? LINKS_FILE_FLAGS : LINKS_DIR_FLAGS);
        if (fd < 0)
            return links_close(dir, errno);
        close(dir);
        dir = fd;
        path += len;
    }
    return dir;
}
