/* SPDX-License-Identifier: Apache-2.0 */
/* TestLines FILE: what the server makes of each record of FILE, so that thousands of lines are tried with one start. Records end with a byte
 * 0x1e, groups of records with a byte 0x1d; a child process is made for each group. In it the reading goes on with a record that is alone
 * in its group in the place of the directive; the records of others are each read and walked, one after another, and the child ends.
 * FILE.out gets for each record its status (0: accepted), a space, what was said, and a byte 0x1e. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_strings.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES_ENV "TEST_LINES_RECORD" /* outlives the module, which a second reading loads anew */
#define LINES_S 20 /* of a record */

static char *lines_read(apr_pool_t *p, const char *path, size_t *len)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    char *text = NULL;

    if (fd >= 0 && !fstat(fd, &st)) {
        text = apr_palloc(p, (size_t)st.st_size + 1);
        *len = read(fd, text, (size_t)st.st_size) == st.st_size ? (size_t)st.st_size : 0;
        text[*len] = '\0';
    }
    close(fd);
    return text;
}

static int lines_in_group; /* a record may include the file with the directive */

static void lines_report(int out, int status, const char *said)
{
    char text[2048];
    size_t n = strlen(said);

    n = n < sizeof text ? n : sizeof text - 1;
    for (size_t i = 0; i < n; i++)
        text[i] = said[i] == 0x1e ? ' ' : said[i]; /* of a file that a record included */
    dprintf(out, "%d %.*s\x1e", status, (int)n, text);
}

/* Read and walk one record as a part of the main server. */
static const char *lines_walk(cmd_parms *cmd, const char *file)
{
    cmd_parms parms;
    ap_directive_t *tree = NULL;
    const char *error;

    error = ap_process_resource_config(cmd->server, file, &tree, cmd->pool, cmd->temp_pool);
    if (error)
        return error;
    memset(&parms, 0, sizeof parms);
    parms.pool = cmd->pool;
    parms.temp_pool = cmd->temp_pool;
    parms.server = cmd->server;
    parms.limited = -1;
    parms.override = (RSRC_CONF | OR_ALL) & ~(OR_AUTHCFG | OR_LIMIT);
    parms.override_opts = OPT_ALL | OPT_SYM_OWNER | OPT_MULTI;
    return ap_walk_config(tree, &parms, cmd->server->lookup_defaults);
}

static void lines_put(const char *path, const char *record)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write(fd, record, strlen(record)) < 0)
        _exit(99);
    close(fd);
}

static int lines_count(const char *group)
{
    int n = 0;

    for (; (group = strchr(group, 0x1e)); group++)
        n++;
    return n;
}

/* In the child: the records of a group; how many were done is in *done. */
static void lines_group(cmd_parms *cmd, int out, char *group, const char *path, int *done)
{
    char *state = NULL;

    lines_in_group = 1;
    for (char *r = apr_strtok(group, "\x1e", &state); r; r = apr_strtok(NULL, "\x1e", &state)) {
        const char *error;

        alarm(LINES_S);
        lines_put(path, r);
        error = lines_walk(cmd, path);
        lines_report(out, error != NULL, error ? error : "");
        ++*done;
    }
    _exit(0);
}

/* @return whether this is the child that goes on with the reading */
static int lines_try(cmd_parms *cmd, int out, char *group, const char *path)
{
    int said = memfd_create("said", 0), status = 0, n = lines_count(group);
    int *done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char text[4096];
    pid_t child = fork();
    ssize_t got;

    if (!child) {
        alarm(LINES_S);
        dup2(said, 2);
        dup2(said, 1);
        if (n > 1)
            lines_group(cmd, out, group, path, done);
        group[strcspn(group, "\x1e")] = '\0';
        lines_put(path, group);
        setenv(LINES_ENV, path, 1);
        return 1;
    }
    waitpid(child, &status, 0);
    got = pread(said, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    for (int i = *done; i < n; i++)
        lines_report(out, WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), text);
    munmap(done, sizeof *done);
    close(said);
    return 0;
}

static const char *lines_set(cmd_parms *cmd, void *tree, const char *file)
{
    const char *path = apr_pstrcat(cmd->pool, file, ".record", NULL), *of;
    char *text, *state = NULL;
    size_t len = 0;
    int out;

    if (lines_in_group)
        return NULL;
    if (!getenv(LINES_ENV)) {
        text = lines_read(cmd->temp_pool, file, &len);
        out = open(apr_pstrcat(cmd->temp_pool, file, ".out", NULL), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (!text || out < 0)
            return "TestLines: no file";
        for (char *g = apr_strtok(text, "\x1d", &state); g; g = apr_strtok(NULL, "\x1d", &state))
            if (lines_try(cmd, out, g, path))
                break;
        if (!getenv(LINES_ENV))
            _exit(0);
    }
    of = getenv(LINES_ENV);
    return ap_process_resource_config(cmd->server, of, (ap_directive_t **)tree, cmd->pool, cmd->temp_pool);
}

static const command_rec lines_commands[] = {
    AP_INIT_TAKE1("TestLines", lines_set, NULL, RSRC_CONF | EXEC_ON_READ, "a file of records"),
    {NULL},
};

module AP_MODULE_DECLARE_DATA testlines_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, lines_commands, NULL,
};
