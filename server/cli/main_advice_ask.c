/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of --advice go to a process of this program, which has the same arguments and serves the
 * site to itself alone (main_trial.h). Rules that refuse a path may stand anywhere, and no reading
 * of lines is sure to find them. */
#include "main_advice_private.h"
#include "main_parts.h"
#include "main_trial.h"
#include "brigade/assert.h"
#include "core_settings.h"

#include "ap_listen.h"
#include "http_core.h"
#include "http_main.h"

#include "apr_strings.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_HOSTS 8          /* virtual hosts of one document root, at most */
#define ASK_ROOM (32 * 1024) /* bytes that a start prints, at most */

extern char **environ;

static const char *const *ask_argv; /* -t in place of --advice */
static int ask_argc;

void main_advice_arguments(int argc, const char *const *argv)
{
    ask_argc = argc;
    ask_argv = argv;
}

static char *ask_read(apr_pool_t *p, int fd)
{
    char *text = apr_palloc(p, ASK_ROOM);
    size_t len = 0;
    ssize_t n;

    while (len < ASK_ROOM - 1 && (n = read(fd, text + len, ASK_ROOM - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    return text;
}

char *main_advice_start(apr_pool_t *p, const char *const *argv)
{
    posix_spawn_file_actions_t actions;
    char *text = NULL;
    int out[2], ended;
    pid_t pid;

    if (pipe2(out, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ended = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)argv,
                        environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    if (!ended) {
        text = ask_read(p, out[0]);
        (void)main_wait(pid);
    }
    close(out[0]);
    return text;
}

/* @param how  one more -D, or NULL */
static char *ask_url(apr_pool_t *p, const char *url, const char *how)
{
    apr_array_header_t *argv = apr_array_make(p, ask_argc + 6, sizeof(const char *));

    BRG_ASSERT(ask_argv != NULL);
    for (int i = 0; i < ask_argc; i++)
        APR_ARRAY_PUSH(argv, const char *) = ask_argv[i];
    APR_ARRAY_PUSH(argv, const char *) = "-D";
    APR_ARRAY_PUSH(argv, const char *) = "DUMP_CACHE";
    if (how) {
        APR_ARRAY_PUSH(argv, const char *) = "-D";
        APR_ARRAY_PUSH(argv, const char *) = how;
    }
    APR_ARRAY_PUSH(argv, const char *) = url;
    APR_ARRAY_PUSH(argv, const char *) = NULL;
    return main_advice_start(p, (const char *const *)(const void *)argv->elts);
}

static int ask_status(apr_pool_t *p, const char *url)
{
    const char *text = ask_url(p, url, MAIN_TRIAL_STATUS);

    return text ? atoi(text) : 0;
}

/* "://HOST:PORT/PATH" */
static const char *ask_rest(apr_pool_t *p, const server_rec *s, const char *path)
{
    const int port = s->addrs && s->addrs->host_port ? s->addrs->host_port
                     : ap_listeners                  ? ap_listeners->bind_addr->port
                                                     : 80;
    const char *name = s->server_hostname ? s->server_hostname : "localhost";

    return apr_psprintf(p, "://%s:%d%s", name, port, ap_escape_uri(p, path));
}

/* A port of TLS answers 400 to requests in the clear. */
static int ask_host(apr_pool_t *p, const server_rec *s, const char *path)
{
    const char *rest = ask_rest(p, s, path);
    int status = ask_status(p, apr_pstrcat(p, "http", rest, NULL));

    if (status == HTTP_BAD_REQUEST)
        status = ask_status(p, apr_pstrcat(p, "https", rest, NULL));
    return status;
}

char *main_advice_dump(apr_pool_t *p, const server_rec *s, const char *path)
{
    return ask_url(p, apr_pstrcat(p, "http", ask_rest(p, s, path), NULL), NULL);
}

/* The first file of a folder, or the path itself. */
static const char *ask_file_of(apr_pool_t *p, const char *root, const char *path)
{
    const char *full = apr_pstrcat(p, root, path, NULL), *found = NULL;
    DIR *dir = opendir(full);
    const struct dirent *e;
    struct stat st;

    while (dir && !found && (e = readdir(dir)) != NULL)
        if (!stat(apr_pstrcat(p, full, "/", e->d_name, NULL), &st) && S_ISREG(st.st_mode))
            found = apr_pstrcat(p, path, "/", e->d_name, NULL);
    if (dir)
        closedir(dir);
    else if (!stat(full, &st))
        found = path;
    return found;
}

static const char *ask_root_of(const server_rec *s)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config);

    return conf->ap_document_root;
}

/* Whether s has its document root from this line: its own, or that of the main server. */
static int ask_is_from(const server_rec *s, const server_rec *main_server, const ap_directive_t *d)
{
    while (d && ap_cstr_casecmp(d->directive, "<VirtualHost"))
        d = d->parent;
    if (!d)
        return ask_root_of(s) == ask_root_of(main_server);
    return s->is_virtual && (int)s->defn_line_number == d->line_num &&
           !strcmp(s->defn_name, d->filename);
}

const char *main_advice_served(apr_pool_t *p, const server_rec *main_server,
                               const ap_directive_t *line, const char *root, const char *path)
{
    const char *file = ask_file_of(p, root, path);
    int hosts = 0;

    for (const server_rec *s = main_server; file && s && hosts < ASK_HOSTS; s = s->next) {
        if (!ask_is_from(s, main_server, line))
            continue;
        hosts++;
        if (ap_is_HTTP_SUCCESS(ask_host(p, s, file)))
            return file;
    }
    return NULL;
}
