/* SPDX-License-Identifier: Apache-2.0 */
/* ScriptLog, and programs' output on their stream of errors. */
#include "cgi_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_file_io.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

APLOG_USE_MODULE(cgid);

#define LOG_LINE 4096                /* bytes of a line of errors; longer ones are cut in pieces */
#define LOG_ERRORS_MOST (256 * 1024) /* bytes of errors of one request that are logged */
#define LOG_STEP 65536               /* bytes that are read at a time */

/* ---- the stream of errors ---- */

static void log_line(cgi_run *run)
{
    apr_size_t len = run->line_bytes;

    while (len && apr_isspace(run->line[len - 1]))
        len--;
    run->line[len] = '\0';
    run->line_bytes = 0;
    if (len)
        ap_log_rerror(__FILE__, __LINE__, cgi_log_index(), APLOG_ERR, 0, run->r,
                      APLOGNO(01215) "stderr from %s: %s", run->r->filename, run->line);
}

/* A program that floods the log is cut off; it goes on, and its output is read. */
static int log_is_full(cgi_run *run, apr_size_t n)
{
    const apr_size_t before = run->errors_bytes;

    run->errors_bytes += n;
    if (run->errors_bytes <= LOG_ERRORS_MOST)
        return 0;
    if (before <= LOG_ERRORS_MOST)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, run->r,
                      "stderr from %s: more than %d bytes; the rest is not logged",
                      run->r->filename, LOG_ERRORS_MOST);
    return 1;
}

static void log_bytes(cgi_run *run, const char *text, apr_size_t n)
{
    if (!run->line)
        run->line = apr_palloc(run->r->pool, LOG_LINE + 1);
    for (apr_size_t i = 0; i < n; i++) {
        if (text[i] != '\n')
            run->line[run->line_bytes++] = text[i];
        if (text[i] == '\n' || run->line_bytes == LOG_LINE)
            log_line(run);
    }
}

void cgi_log_errors(cgi_run *run)
{
    char text[4096];
    ssize_t n = 0;

    for (apr_size_t all = 0; run->errors >= 0 && all < LOG_STEP; all += (apr_size_t)n) {
        n = recv(run->errors, text, sizeof text, MSG_DONTWAIT);
        if (n <= 0)
            break;
        if (!log_is_full(run, (apr_size_t)n))
            log_bytes(run, text, (apr_size_t)n);
    }
}

void cgi_log_errors_end(cgi_run *run)
{
    if (run->line_bytes)
        log_line(run);
}

/* ---- ScriptLog ---- */

static void log_fields(apr_file_t *f, const apr_table_t *fields)
{
    const apr_array_header_t *list = apr_table_elts(fields);
    const apr_table_entry_t *e = (const apr_table_entry_t *)list->elts;

    for (int i = 0; i < list->nelts; i++)
        if (e[i].key)
            apr_file_printf(f, "%s: %s\n", e[i].key, e[i].val);
}

static void log_output(apr_file_t *f, const apr_bucket_brigade *out)
{
    int first = 1;

    for (apr_bucket *b = APR_BRIGADE_FIRST(out); b != APR_BRIGADE_SENTINEL(out);
         b = APR_BUCKET_NEXT(b)) {
        const char *text;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(b) || apr_bucket_read(b, &text, &len, APR_NONBLOCK_READ) || !len)
            continue;
        if (first)
            apr_file_puts("%stdout\n", f);
        first = 0;
        apr_file_write_full(f, text, len, NULL);
    }
    if (!first)
        apr_file_puts("\n", f);
}

static void log_program(cgi_run *run, apr_file_t *f, const char *bad)
{
    apr_file_puts("%request\n", f);
    log_fields(f, run->r->headers_in);
    if ((run->r->method_number == M_POST || run->r->method_number == M_PUT) && run->kept_len) {
        apr_file_puts("\n", f);
        apr_file_write_full(f, run->kept, run->kept_len, NULL);
        apr_file_puts("\n", f);
    }
    apr_file_puts("%response\n", f);
    log_fields(f, run->r->headers_out);
    if (bad && *bad)
        apr_file_printf(f, "%s\n", bad);
    log_output(f, run->out);
}

static apr_file_t *log_open(const cgi_run *run)
{
    apr_finfo_t finfo;
    apr_file_t *f;

    if (!run->conf->log ||
        (apr_stat(&finfo, run->conf->log, APR_FINFO_SIZE, run->r->pool) == APR_SUCCESS &&
         finfo.size > run->conf->log_bytes) ||
        apr_file_open(&f, run->conf->log, APR_APPEND | APR_WRITE | APR_CREATE | APR_BUFFERED,
                      APR_OS_DEFAULT, run->r->pool) != APR_SUCCESS)
        return NULL;
    return f;
}

void cgi_log_script(cgi_run *run, int status, const char *error, const char *bad)
{
    const request_rec *r = run->r;
    apr_file_t *f = log_open(run);
    char date[APR_CTIME_LEN];

    if (!f)
        return;
    apr_ctime(date, apr_time_now());
    apr_file_printf(f, "%%%% [%s] %s %s%s%s %s\n", date, r->method, r->uri, r->args ? "?" : "",
                    r->args ? r->args : "", r->protocol);
    apr_file_printf(f, "%%%% %d %s%s\n", status, r->filename,
                    r->path_info && !error ? r->path_info : "");
    if (error)
        apr_file_printf(f, "%%error\n%s\n", error);
    else
        log_program(run, f, bad);
    apr_file_close(f);
}
