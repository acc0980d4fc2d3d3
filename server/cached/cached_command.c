/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -k purge, -k soft-purge and -k cache: the store of a server that runs, as its processes have it. Its memory is found by the descriptors of its
 * supervisor, so whoever may look at these may do it, as with signals. Before anything is read of it the rights of root are given up for those of
 * User: server processes can write that memory.
 */
#include "cached.h"
#include "cached_below_private.h"
#include "cached_named_private.h"
#include "brigade/assert.h"
#include "http_main.h"
#include "unixd.h"
#include "apr_strings.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const command_verbs[] = {
    [CACHED_VERB_PURGE] = "purge", [CACHED_VERB_SOFT] = "soft-purge", [CACHED_VERB_SHOW] = "cache"};

int cached_verb_of(const char *name)
{
    for (int i = CACHED_VERB_PURGE; name && i <= CACHED_VERB_SHOW; i++)
        if (!strcmp(name, command_verbs[i]))
            return i;
    return CACHED_VERB_NONE;
}

static int command_failed(const char *why)
{
    fprintf(stderr, "%s: %s\n", ap_server_argv0, why);
    return CACHED_COMMAND_FAILED;
}

/* ---- the memory of the running server ---- */

/* Is this descriptor the file in memory of that name? */
static int command_is(const char *path, const char *name)
{
    char target[128], wanted[128];
    const ssize_t len = readlink(path, target, sizeof target - 1);

    if (len < 0)
        return 0;
    target[len] = '\0';
    snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    return !strcmp(target, wanted);
}

static void *command_map_file(const char *path, size_t *bytes)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    void *memory = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && st.st_size > 0) {
        *bytes = (size_t)st.st_size;
        memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* @return NULL: errno of 0 says that it has no such memory */
static void *command_map(pid_t pid, const char *name, size_t *bytes)
{
    char folder[64], path[400];
    const struct dirent *entry;
    void *memory = NULL;
    DIR *dir;

    snprintf(folder, sizeof folder, "/proc/%ld/fd", (long)pid);
    if (!(dir = opendir(folder)))
        return NULL;
    errno = 0;
    while (!memory && !errno && (entry = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (command_is(path, name))
            memory = command_map_file(path, bytes);
        else
            errno = 0;
    }
    closedir(dir);
    return memory;
}

static int command_give_up_rights(void)
{
    const gid_t group = ap_unixd_config.group_id;

    return geteuid() ? 0 : setgroups(1, &group) || setgid(group) || setuid(ap_unixd_config.user_id);
}

/* @return NULL, or why it cannot be used */
static const char *command_attach(apr_pool_t *p, server_rec *main, pid_t pid)
{
    size_t store_bytes = 0, count_bytes = 0;
    void *stored = command_map(pid, CACHED_STORE, &store_bytes),
         *counted = stored ? command_map(pid, CACHED_COUNTS, &count_bytes) : NULL;

    if (!counted)
        return errno ? apr_psprintf(p, "the memory of the running server (pid %ld): %s", (long)pid,
                                    strerror(errno))
                     : apr_psprintf(p,
                                    "the running server (pid %ld) stores no answers in a form "
                                    "that this program knows",
                                    (long)pid);
    if (command_give_up_rights())
        return apr_psprintf(p, "giving up the rights of root: %s", strerror(errno));
    if (cached_place_attach(stored, store_bytes) || cached_count_attach(counted, count_bytes))
        return "the running server is another program: it keeps answers in another form";
    cached_disk_attach(main);
    cached_tier_attach(p, main);
    return NULL;
}

/* ---- the words of the command line ---- */

static void command_put(void *to, const char *line)
{
    fprintf(to, "%s\n", line);
}

static int command_one(apr_pool_t *p, cached_verb verb, const cached_named *named, const char *arg)
{
    if (verb == CACHED_VERB_SHOW)
        return cached_report(p, named, command_put, stdout) ? 0 : 1;
    if (cached_purge_named(named, verb == CACHED_VERB_SOFT))
        return command_failed(apr_psprintf(p, "%s: a longer beginning than 512 bytes", arg));
    printf("%s: %s\n", verb == CACHED_VERB_SOFT ? "stale" : "purged", arg);
    return 0;
}

int cached_command(apr_pool_t *p, server_rec *main, pid_t pid, cached_verb verb,
                   const char *const *args, int n)
{
    cached_named *named = apr_pcalloc(p, (size_t)(n + 1) * sizeof *named);
    const char *error;
    int status = 0;

    BRG_ASSERT(verb != CACHED_VERB_NONE && pid > 0);
    if (cache_module.module_index < 0)
        return command_failed("the built-in mod_cache is not in use");
    if (!n && verb != CACHED_VERB_SHOW)
        return command_failed("which URL, URL* or tag:NAME?");
    for (int i = 0; i < n; i++)
        if ((error = cached_named_read(p, main, args[i], named + i)))
            return command_failed(apr_psprintf(p, "%s: %s", args[i], error));
    if ((error = command_attach(p, main, pid)))
        return command_failed(error);
    if (!n)
        cached_report_all(p, command_put, stdout);
    for (int i = 0; i < n; i++) {
        const int one = command_one(p, verb, named + i, args[i]);

        status = one > status ? one : status;
    }
    if (verb != CACHED_VERB_SHOW && cached_tier_finish(p))
        status = command_failed("CacheSocache does not answer: what others have is not purged");
    cached_place_detach();
    return status;
}
