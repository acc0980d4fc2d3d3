/* SPDX-License-Identifier: Apache-2.0 */
/* Which users could have put the program there that root is about to run? */
#include "supervisor_parts.h"
#include "brigade/assert.h"

#include "http_log.h"
#include "http_main.h"

#include "apr_strings.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

#define TRUST_MOST_LINKS 40 /* as the kernel has it */

static int trust_not(const char *program, const char *path, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                 "%s is not run as root: %s %s; the server goes on as it is", program, path, why);
    return 0;
}

/* In a folder with the sticky bit nobody can put another file in the place of root's. */
static const char *trust_look(const struct stat *st)
{
    if (st->st_uid != 0)
        return "does not belong to root";
    if (!S_ISLNK(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) &&
        !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
        return "can be written to by others than its owner";
    return NULL;
}

/* The path that a link at @a at, whose folder is the first @a folder bytes of it, leads to, with @a rest behind. */
static const char *trust_follow(const char *at, size_t folder, const char *rest, apr_pool_t *p)
{
    char to[PATH_MAX];
    ssize_t n = readlink(at, to, sizeof to - 1);

    if (n <= 0)
        return NULL;
    to[n] = '\0';
    return *to == '/' ? apr_pstrcat(p, to, rest, NULL)
                      : apr_psprintf(p, "%.*s/%s%s", (int)folder, at, to, rest);
}

int upgrade_is_trusted(const char *path, apr_pool_t *p)
{
    const char *program = path;
    size_t end = 0;
    int links = 0;

    BRG_ASSERT(*path == '/');
    if (geteuid())
        return 1;
    for (;;) { /* the root, then one more name in each round */
        const char *at = apr_pstrmemdup(p, path, end ? end : 1), *wrong;
        size_t folder = strrchr(at, '/') - at;
        struct stat st;

        if (lstat(at, &st))
            return trust_not(program, at, apr_psprintf(p, "is not there: %s", strerror(errno)));
        if ((wrong = trust_look(&st)) != NULL)
            return trust_not(program, at, wrong);
        if (S_ISLNK(st.st_mode)) {
            path = ++links > TRUST_MOST_LINKS ? NULL : trust_follow(at, folder, path + end, p);
            if (!path)
                return trust_not(program, at, "leads nowhere");
            end = 0;
            continue;
        }
        while (path[end] == '/')
            end++;
        if (!path[end])
            return 1;
        end += strcspn(path + end, "/");
    }
}
