/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that this process may use, by its control groups. */
#include "memory_limit.h"
#include "brigade/assert.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

static void limit_lower(uint64_t *limit, const char *path)
{
    char text[32], *end;
    FILE *f = fopen(path, "re");
    unsigned long long n;

    if (!f)
        return;
    if (fgets(text, sizeof text, f)) {
        errno = 0;
        n = strtoull(text, &end, 10); /* "max": no number, no limit */
        if (end != text && !errno && n < *limit)
            *limit = n;
    }
    fclose(f);
}

static void limit_of_file(uint64_t *limit, const char *root, const char *mount, const char *group,
                          const char *file)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, file) < (int)sizeof path)
        limit_lower(limit, path);
}

/* The limit of a group holds for those below it. Where a container shows the path of another view of the tree, only
 * the top is there, which is the container's own group. */
static void limit_of_group(uint64_t *limit, const char *root, const char *mount, char *group)
{
    char *slash;

    for (;; *slash = '\0') {
        if (!strcmp(mount, V2)) {
            limit_of_file(limit, root, mount, group, "memory.max");
            limit_of_file(limit, root, mount, group, "memory.high");
        } else {
            limit_of_file(limit, root, mount, group, "memory.limit_in_bytes");
        }
        slash = strrchr(group, '/');
        if (!slash)
            return;
    }
}

/* "0::/path" of version 2, "7:memory:/path" of version 1: there the second field lists controllers. */
static void limit_of_line(uint64_t *limit, const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group;

    if (!controllers || !(group = strchr(++controllers, ':')))
        return;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!strcmp(group, "/"))
        *group = '\0';
    if (!*controllers)
        limit_of_group(limit, root, V2, group);
    for (char *last, *name = strtok_r(controllers, ",", &last); name;
         name = strtok_r(NULL, ",", &last))
        if (!strcmp(name, "memory"))
            limit_of_group(limit, root, V1, group);
}

uint64_t memory_limit(const char *root)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    char line[PATH_MAX];
    FILE *f;

    BRG_ASSERT(root != NULL);
    if (snprintf(line, sizeof line, "%s/proc/self/cgroup", root) < (int)sizeof line &&
        (f = fopen(line, "re")) != NULL) {
        while (fgets(line, sizeof line, f))
            limit_of_line(&limit, root, line);
        fclose(f);
    }
    return limit == UINT64_MAX ? 0 : limit;
}
