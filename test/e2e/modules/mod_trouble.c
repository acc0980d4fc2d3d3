/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that does what the query asks for: crash, wait, tell where it runs. It declares nothing, so that its
 * requests run on workers. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_log.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int trouble_crash(request_rec *r)
{
    *(volatile char *)1 = 'x';
    return OK;
}

/* Runs a program as CGI modules do and shows what it says of its signals. */
static int trouble_mask(request_rec *r)
{
    const char *args[] = {"grep", "SigBlk", "/proc/self/status", NULL};
    apr_procattr_t *attr;
    apr_proc_t proc;
    char line[100];

    if (apr_procattr_create(&attr, r->pool) || apr_procattr_io_set(attr, APR_NO_PIPE, APR_FULL_BLOCK, APR_NO_PIPE)
        || apr_procattr_cmdtype_set(attr, APR_PROGRAM_PATH) || apr_proc_create(&proc, "grep", args, NULL, attr, r->pool))
        return HTTP_INTERNAL_SERVER_ERROR;
    while (apr_file_gets(line, sizeof line, proc.out) == APR_SUCCESS)
        ap_rputs(line, r);
    apr_proc_wait(&proc, NULL, NULL, APR_WAIT);
    return OK;
}

/* A child process that has all descriptors, and keeps them: as between fork and exec, but for as long as it lives. */
static int trouble_fork(request_rec *r)
{
    pid_t pid = fork();

    while (pid == 0)
        pause();
    ap_rprintf(r, "%ld\n", (long)pid);
    return OK;
}

/* Lines, flushed one by one. */
static int trouble_lines(request_rec *r, int n)
{
    for (int i = 0; i < n; i++) {
        ap_rprintf(r, "line %d of %d\n", i, n);
        if (ap_rflush(r) < 0)
            return OK;
    }
    return OK;
}

/* Reads the body and tells its length and the sum of its bytes. */
static int trouble_read(request_rec *r)
{
    char buf[8192];
    long n, len = 0, sum = 0;
    int status = ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK);

    if (status != OK)
        return status;
    if (ap_should_client_block(r)) {
        while ((n = ap_get_client_block(r, buf, sizeof buf)) > 0) {
            len += n;
            while (n)
                sum += (unsigned char)buf[--n];
        }
        if (n < 0)
            return HTTP_BAD_REQUEST;
    }
    ap_rprintf(r, "%ld bytes, sum %ld\n", len, sum);
    return OK;
}

static int trouble_handler(request_rec *r)
{
    const char *what = r->args ? r->args : "", *value = strchr(what, '=');
    int n = value ? atoi(value + 1) : 0;

    if (!r->handler || strcmp(r->handler, "trouble"))
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    if (!strncmp(what, "crash", 5))
        return trouble_crash(r);
    if (!strncmp(what, "fork", 4))
        return trouble_fork(r);
    if (!strncmp(what, "mask", 4))
        return trouble_mask(r);
    if (!strncmp(what, "read", 4))
        return trouble_read(r);
    if (!strncmp(what, "lines", 5))
        return trouble_lines(r, n);
    if (!strncmp(what, "wait", 4))
        apr_sleep(n * 1000);
    ap_rprintf(r, "%ld\n", (long)getpid());
    return OK;
}

static void trouble_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(trouble_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(trouble) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, trouble_register_hooks,
};
