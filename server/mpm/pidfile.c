/* SPDX-License-Identifier: Apache-2.0 */
/* The pid file: written, read with suspicion, removed. */
#include "pidfile.h"
#include "brigade/assert.h"
#include "mpm_settings.h"
#include "plain_file.h"

#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define PIDFILE_MAX 64 /* bytes of a sensible file */

static apr_status_t pidfile_parse(const char *path, pid_t *pid, uid_t *owner)
{
    char text[PIDFILE_MAX], *end;
    ssize_t n = plain_file_read(path, text, sizeof text, owner);
    long value;

    if (n < 0)
        return errno;
    value = strtol(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    if (n == sizeof text - 1 || end == text || *end || value <= 0 || value > INT_MAX)
        return APR_EGENERAL;
    *pid = (pid_t)value;
    return APR_SUCCESS;
}

apr_status_t pidfile_read(apr_pool_t *p, const char *path, pid_t *pid)
{
    return pidfile_parse(path, pid, NULL);
}

/* The real and the effective user of a process. 0: it is gone, or there is no /proc. */
static int pidfile_users(pid_t pid, uid_t users[2])
{
    char path[64], text[4096], *line;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    if (plain_file_read(path, text, sizeof text, NULL) < 0 || !(line = strstr(text, "\nUid:")))
        return 0;
    return sscanf(line + 5, "%u %u", &users[0], &users[1]) == 2;
}

int pidfile_is_believed(const char *path, pid_t pid)
{
    uid_t owner, users[2];
    pid_t said;

    if (geteuid() != 0)
        return 1; /* the kernel asks */
    if (pidfile_parse(path, &said, &owner) != APR_SUCCESS || said != pid)
        return 0;
    return owner == 0 || !pidfile_users(pid, users) || (users[0] == owner && users[1] == owner);
}

apr_status_t pidfile_write(apr_pool_t *p, const char *path, pid_t pid)
{
    const char *text = apr_psprintf(p, "%" APR_PID_T_FMT "\n", pid);
    char *temp = apr_pstrcat(p, path, ".XXXXXX", NULL);
    apr_file_t *file;
    apr_os_file_t fd;
    apr_size_t n;
    apr_status_t rv =
        apr_file_mktemp(&file, temp, APR_FOPEN_CREATE | APR_FOPEN_WRITE | APR_FOPEN_EXCL, p);

    BRG_ASSERT(pid > 0);
    if (rv != APR_SUCCESS)
        return rv;
    rv = apr_file_write_full(file, text, strlen(text), &n);
    if (rv == APR_SUCCESS && (apr_os_file_get(&fd, file) != APR_SUCCESS || fchmod(fd, 0644)))
        rv = errno;
    if (apr_file_close(file) != APR_SUCCESS && rv == APR_SUCCESS)
        rv = errno;
    if (rv == APR_SUCCESS)
        rv = apr_file_rename(temp, path, p);
    if (rv != APR_SUCCESS)
        apr_file_remove(temp, p);
    return rv;
}

apr_status_t pidfile_remove(apr_pool_t *p, const char *path, pid_t pid)
{
    pid_t found;
    apr_status_t rv = pidfile_read(p, path, &found);

    if (rv == APR_SUCCESS && found == pid)
        rv = apr_file_remove(path, p);
    return rv;
}

int pidfile_wanted(const char *filename)
{
    return !filename || ap_cstr_casecmp(filename, "none") != 0;
}

static char *logged; /* in the heap: pools may be gone */

void pidfile_logged(const char *path)
{
    free(logged);
    logged = path ? strdup(path) : NULL;
}

const char *pidfile_which(void)
{
    return logged;
}

void pidfile_remove_logged(apr_pool_t *p)
{
    ap_remove_pid(p, logged);
    pidfile_logged(NULL);
}

apr_status_t pidfile_log(apr_pool_t *p, const char *filename)
{
    static pid_t saved = -1;
    const char *path = filename ? ap_server_root_relative(p, filename) : NULL;
    pid_t mine = getpid(), other;
    apr_status_t rv;

    if (!pidfile_wanted(filename))
        return APR_SUCCESS;
    if (!path) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, APR_EBADPATH, NULL,
                     APLOGNO(00097) "Invalid PID file path %s, ignoring.", filename);
        return APR_SUCCESS;
    }
    if (pidfile_read(p, path, &other) != APR_SUCCESS)
        other = -1;
    if (other == mine)
        pidfile_logged(path);
    if (mine == saved && other == mine)
        return APR_SUCCESS; /* a reload needs no room on the disk */
    if (mine != saved && other != -1 && other != mine)
        ap_log_perror(APLOG_MARK, APLOG_WARNING, 0, p,
                      APLOGNO(00098) "pid file %s overwritten -- Unclean shutdown of previous "
                                     "Apache run?",
                      path);
    if ((rv = pidfile_write(p, path, mine)) != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, NULL, APLOGNO(00099) "could not create %s", path);
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL,
                     APLOGNO(00100) "%s: could not log pid to file %s", ap_server_argv0, path);
        return rv;
    }
    saved = mine;
    pidfile_logged(path);
    return APR_SUCCESS;
}

/* ---- Apache's names for it ---- */

AP_DECLARE(void) ap_log_pid(apr_pool_t *p, const char *filename)
{
    if (pidfile_log(p, filename) != APR_SUCCESS)
        exit(1);
}

AP_DECLARE(apr_status_t) ap_read_pid(apr_pool_t *p, const char *filename, pid_t *mypid)
{
    const char *path = filename ? ap_server_root_relative(p, filename) : NULL;

    if (!pidfile_wanted(filename))
        return APR_ENOENT;
    return path ? pidfile_read(p, path, mypid) : APR_EGENERAL;
}

AP_DECLARE(void) ap_remove_pid(apr_pool_t *p, const char *filename)
{
    const char *path = filename ? ap_server_root_relative(p, filename) : NULL;
    apr_status_t rv;

    if (!path || !pidfile_wanted(filename))
        return;
    rv = pidfile_remove(p, path, getpid());
    if (rv == APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, ap_server_conf,
                     APLOGNO(00096) "removed PID file %s (pid=%" APR_PID_T_FMT ")", path, getpid());
    else if (mpm_one_process() && APR_STATUS_IS_EACCES(rv))
        /* -X: this very process gave up its rights. A file that names no process harms no start. */
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, ap_server_conf,
                     "PID file %s stays: the server has no right to remove it any more", path);
    else if (!APR_STATUS_IS_ENOENT(rv))
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, ap_server_conf,
                     APLOGNO(00095) "failed to remove PID file %s", path);
}
