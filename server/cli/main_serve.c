/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --serve DIR [[ADDRESS:]PORT]: a directory as a site, without a configuration file.
 *
 * The lines come before an empty configuration, as those of -C do. DIR is the server root, so that its name is quoted
 * in no line. The server writes a pid file alone, in a directory of its own below TMPDIR, which goes when the program ends.
 */
#include "main_parts.h"
#include "brigade/assert.h"
#include "http_main.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SERVE_OPTION "--serve"
#define SERVE_LOOPBACK "127.0.0.1"
#define SERVE_PORT 8080 /* a free one, if it is taken */
/* All that is mapped lies below the root. Links lead to files of their owner alone. */
static const char serve_section[] =
    "<Directory \"/\">\nAllowOverride None\nOptions Indexes SymLinksIfOwnerMatch\n"
    "Require all granted\n</Directory>";

static struct {
    const char *dir; /* real; NULL: not asked for */
    const char *address;
    int port;
    const char *user; /* started as root: name or "#ID" */
    char *place;      /* of the pid file */
    pid_t owner;      /* the process that takes the place away */
} serve;

static void serve_refuse(process_rec *process, const char *what) __attribute__((noreturn));
static void serve_refuse(process_rec *process, const char *what)
{
    fprintf(stderr, "%s: " SERVE_OPTION ": %s\n", process->short_name, what);
    mpm_process_exit(process, 2);
}

/* ---- the directory ---- */

/* Whoever owns the directory; files of root are served by an account without rights. */
static const char *serve_user(apr_pool_t *p, uid_t owner, uid_t *uid, gid_t *gid)
{
    const struct passwd *pw = owner ? getpwuid(owner) : getpwnam("www-data");

    if (!pw && !owner)
        pw = getpwnam("nobody");
    *uid = pw ? pw->pw_uid : owner;
    *gid = pw ? pw->pw_gid : (gid_t)owner;
    if (!*uid)
        return NULL;
    return pw ? apr_pstrdup(p, pw->pw_name) : apr_psprintf(p, "#%lu", (unsigned long)*uid);
}

/* A process of its own asks, since rights that are given up do not come back. */
static int serve_may_read(const char *dir, uid_t uid, gid_t gid)
{
    pid_t child = fork();

    if (child == 0) {
        if (setgroups(0, NULL) || setgid(gid) || setuid(uid))
            _exit(1);
        _exit(access(dir, R_OK | X_OK) != 0);
    }
    return main_wait(child) == 0;
}

static void serve_rights(process_rec *process, const char *arg, const struct stat *st)
{
    uid_t uid;
    gid_t gid;

    if (geteuid()) {
        if (access(serve.dir, R_OK | X_OK))
            serve_refuse(process, apr_psprintf(process->pool, "%s: %s", arg, strerror(errno)));
        return;
    }
    serve.user = serve_user(process->pool, st->st_uid, &uid, &gid);
    if (!serve.user)
        serve_refuse(process, "started as root, and there is no user www-data or nobody to serve");
    if (!serve_may_read(serve.dir, uid, gid))
        serve_refuse(
            process,
            apr_psprintf(process->pool,
                         "%s: user %s, that would serve in place of root, may not read it: "
                         "start it as a user that may, or give the directory to one",
                         arg, serve.user));
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) =
        apr_psprintf(process->pool, "User \"#%lu\"", (unsigned long)uid);
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) =
        apr_psprintf(process->pool, "Group \"#%lu\"", (unsigned long)gid);
}

static void serve_dir(process_rec *process, const char *arg)
{
    struct stat st;
    char *real = realpath(arg, NULL);

    if (!real || stat(real, &st))
        serve_refuse(process, apr_psprintf(process->pool, "%s: %s", arg, strerror(errno)));
    if (!S_ISDIR(st.st_mode))
        serve_refuse(process, apr_psprintf(process->pool, "%s is no directory", arg));
    serve.dir = apr_pstrdup(process->pool, real);
    free(real);
    serve_rights(process, arg, &st);
}

/* ---- address and port ---- */

static int serve_is_address(const char *text)
{
    struct in6_addr any;

    return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

static void serve_where(process_rec *process, const char *arg)
{
    char *text = apr_pstrdup(process->pool, arg), *colon = strrchr(text, ':'), *end;
    const char *port = colon ? colon + 1 : text;
    long n = strtol(port, &end, 10);

    if (!apr_isdigit(*port) || *end || n < 1 || n > 65535)
        serve_refuse(process, apr_psprintf(process->pool,
                                           "%s: a port (1 to 65535) is wanted, with an "
                                           "address before it if need be, as 0.0.0.0:8080",
                                           arg));
    serve.port = (int)n;
    if (!colon)
        return;
    *colon = '\0';
    if (*text == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        text++;
    }
    if (!strcmp(text, "*"))
        text = apr_pstrdup(process->pool, "0.0.0.0");
    if (!strcmp(text, "localhost"))
        text = apr_pstrdup(process->pool, SERVE_LOOPBACK);
    if (!serve_is_address(text))
        serve_refuse(process, apr_psprintf(process->pool,
                                           "%s: this is no address of the machine: "
                                           "wanted is 192.0.2.1:8080, [::1]:8080 or *:8080",
                                           arg));
    serve.address = text;
}

/* @return the port that was bound on the loopback address, 0: none */
static int serve_try_port(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int got = 0;

    if (fd < 0)
        return 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!bind(fd, (struct sockaddr *)&at, sizeof at) &&
        !getsockname(fd, (struct sockaddr *)&at, &len))
        got = ntohs(at.sin_port);
    close(fd);
    return got;
}

/* ---- a place for the pid file ---- */

/* For signal handlers, too: readdir() allocates. */
static void serve_take_away(void)
{
    _Alignas(struct dirent) char names[1024];
    const int place =
        serve.owner == getpid() ? open(serve.place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    long n;

    if (place < 0)
        return;
    while ((n = syscall(SYS_getdents64, place, names, sizeof names)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent *e = (const struct dirent *)(const void *)(names + at);

            unlinkat(place, e->d_name, 0); /* "." and ".." stay */
            at += e->d_reclen;
        }
    close(place);
    rmdir(serve.place);
}

static apr_status_t serve_clean(void *unused)
{
    (void)unused;
    serve_take_away();
    return APR_SUCCESS;
}

/* Before the supervisor hears signals. */
static void serve_interrupted(int sig)
{
    serve_take_away();
    raise(sig); /* which is as it was, once this returns */
}

static void serve_hear(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction ends = {.sa_handler = serve_interrupted, .sa_flags = SA_RESETHAND};
    struct sigaction was;

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
            sigaction(signals[i], &ends, NULL);
}

static void serve_make_place(process_rec *process)
{
    const char *tmp = getenv("TMPDIR");

    if (!tmp || !*tmp)
        tmp = "/tmp";
    serve.place = apr_pstrcat(process->pool, tmp, "/brigade-serve-XXXXXX", NULL);
    serve.owner = getpid();
    serve_hear();
    if (!mkdtemp(serve.place))
        serve_refuse(process, apr_psprintf(process->pool, "%s: %s", tmp, strerror(errno)));
    apr_pool_cleanup_register(process->pool, NULL, serve_clean, apr_pool_cleanup_null);
}

/* ---- the configuration ---- */

static const char *serve_filters(apr_pool_t *p)
{
    return apr_pstrcat(p, ap_find_linked_module("mod_brotli.c") ? "BROTLI_COMPRESS;" : "",
                       ap_find_linked_module("mod_zstd.c") ? "ZSTD_COMPRESS;" : "", "DEFLATE",
                       NULL);
}

static void serve_lines(process_rec *process)
{
    const char *const lines[] = {
        apr_psprintf(process->pool, strchr(serve.address, ':') ? "Listen [%s]:%d" : "Listen %s:%d",
                     serve.address, serve.port),
        apr_psprintf(process->pool, "PidFile \"%s/pid\"", serve.place), "ServerName localhost",
        /* Another user's terminal or pipe cannot be opened again: a program inherits it. */
        access("/dev/stderr", W_OK) ? "ErrorLog \"|/bin/cat\"" : "ErrorLog /dev/stderr",
        "ErrorLogFormat \"%M\"", "ServerProcesses 1", "DocumentRoot .", serve_section,
        "DirectoryIndex index.html", "RedirectMatch 404 \"/\\.(?!well-known/)\"",
        apr_pstrcat(process->pool, "AddOutputFilterByType ", serve_filters(process->pool),
                    " text/html text/css text/plain text/javascript application/javascript "
                    "application/json application/xml image/svg+xml",
                    NULL)};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = lines[i];
    APR_ARRAY_PUSH(ap_server_config_defines, const char *) = "FOREGROUND";
}

void main_serve_take(process_rec *process)
{
    if (process->argc < 2 || strcmp(process->argv[1], SERVE_OPTION))
        return;
    if (process->argc < 3 || process->argc > 4) {
        fprintf(stderr, "Usage: %s " SERVE_OPTION " DIR [[ADDRESS:]PORT]\n", process->argv[0]);
        mpm_process_exit(process, 2);
    }
    serve.address = SERVE_LOOPBACK;
    serve_dir(process, process->argv[2]);
    if (process->argc == 4)
        serve_where(process, process->argv[3]);
    else if (!(serve.port = serve_try_port(SERVE_PORT)) && !(serve.port = serve_try_port(0)))
        serve_refuse(process, "there is no free port");
    serve_make_place(process);
    serve_lines(process);
    process->argc = 1;
}

void main_serve_options(main_options *options)
{
    if (!serve.dir)
        return;
    options->root = serve.dir;
    options->confname = "/dev/null";
}

void main_serve_tell(void)
{
    if (!serve.dir)
        return;
    printf(strchr(serve.address, ':') ? "%s: http://[%s]:%d/ (Ctrl-C ends it)\n"
                                      : "%s: http://%s:%d/ (Ctrl-C ends it)\n",
           serve.dir, serve.address, serve.port);
    if (serve.user)
        printf("Started as root: user %s serves\n", serve.user);
    fflush(stdout);
}
