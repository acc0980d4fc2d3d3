/* SPDX-License-Identifier: Apache-2.0 */
/* TestLines FILE: carries out the rest of the reading once for each record of FILE (they end with a byte 0x1e), with that record in the
 * place of the directive, in a child process of its own. FILE.out gets for each its exit status, what it wrote to standard error, and a
 * byte 0x1e. So thousands of lines are tried with one start of the server. */
#include "httpd.h"
#include "http_config.h"
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
#define LINES_MS 10000

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

static void lines_report(FILE *out, int status, int said)
{
    char text[4096];
    ssize_t n = pread(said, text, sizeof text, 0);

    fprintf(out, "%d ", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
    if (n > 0)
        fwrite(text, 1, (size_t)n, out);
    fputc(0x1e, out);
}

/* @return whether this is the child */
static int lines_try(FILE *out, const char *record, const char *path)
{
    int said = memfd_create("said", 0), status = 0, fd;
    pid_t child = fork();

    if (child) {
        waitpid(child, &status, 0);
        lines_report(out, status, said);
        close(said);
        return 0;
    }
    alarm(LINES_MS / 1000);
    dup2(said, 2);
    dup2(said, 1);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, record, strlen(record)) < 0)
        _exit(99);
    close(fd);
    setenv(LINES_ENV, path, 1);
    return 1;
}

static const char *lines_set(cmd_parms *cmd, void *tree, const char *file)
{
    const char *path = apr_pstrcat(cmd->pool, file, ".record", NULL), *of;
    char *text, *state = NULL;
    size_t len = 0;
    FILE *out;

    if (!getenv(LINES_ENV)) {
        text = lines_read(cmd->temp_pool, file, &len);
        out = fopen(apr_pstrcat(cmd->temp_pool, file, ".out", NULL), "we");
        if (!text || !out)
            return "TestLines: no file";
        setvbuf(out, NULL, _IONBF, 0);
        for (char *r = apr_strtok(text, "\x1e", &state); r; r = apr_strtok(NULL, "\x1e", &state))
            if (lines_try(out, r, path))
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
