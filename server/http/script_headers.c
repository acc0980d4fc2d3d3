/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header section that a script puts before its output: read line by line from wherever it
 * comes, checked as far as the rest of the server depends on it, and put into the response.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_date.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>

APLOG_USE_MODULE(core);

typedef struct script_scan {
    request_rec *r;
    int module_index;
    int (*gets)(char *, int, void *);
    void *gets_data;
    char *line;     /* MAX_STRING_LEN bytes */
    int keeps_line; /* the caller wants to see the faulty line */
    int status;     /* given by the script, 0 = none */
    int began;      /* a field was read */
    apr_table_t *fields, *cookies;
} script_scan;

#define SCRIPT_MARK(scan) __FILE__, __LINE__, (scan)->module_index

/* ---- fields ---- */

static int script_keep_cookie(void *table, const char *key, const char *value)
{
    apr_table_addn(table, key, value);
    return 1;
}

/* Numbers beyond 599 are sent as they are; a number without three digits becomes 500, with the
 * script's body. Only the server sends an interim status: a client reads the rest as another
 * response. */
static int script_take_status(script_scan *scan, const char *value)
{
    request_rec *r = scan->r;
    int status = atoi(value);

    if (!ap_is_HTTP_VALID_RESPONSE(status) || ap_is_HTTP_INFO(status))
        ap_log_rerror(SCRIPT_MARK(scan), APLOG_ERR, 0, r,
                      "Invalid status line from script '%s': %.30s",
                      apr_filepath_name_get(r->filename), value);
    if (ap_is_HTTP_INFO(status))
        return HTTP_INTERNAL_SERVER_ERROR;
    if (status < 100 || status > 999)
        status = HTTP_INTERNAL_SERVER_ERROR;
    scan->status = r->status = status;
    r->status_line = apr_pstrdup(r->pool, value);
    return OK;
}

static void script_take_type(request_rec *r, const char *value)
{
    char *type = apr_pstrdup(r->pool, value);
    apr_size_t len = strlen(type);

    while (len && apr_isspace(type[len - 1]))
        type[--len] = '\0';
    ap_content_type_tolower(type);
    ap_set_content_type(r, type);
}

static void script_take_modified(script_scan *scan, const char *value)
{
    apr_time_t when = apr_date_parse_http(value);

    if (when == APR_DATE_BAD) {
        ap_log_rerror(SCRIPT_MARK(scan), APLOG_DEBUG, 0, scan->r,
                      "Ignored invalid header value: Last-Modified: '%s'", value);
        return;
    }
    ap_update_mtime(scan->r, when);
    ap_set_last_modified(scan->r);
}

static int script_take_field(script_scan *scan, const char *name, const char *value)
{
    request_rec *r = scan->r;

    BRG_ASSERT(scan->fields && scan->cookies);
    if (!ap_cstr_casecmp(name, "Status"))
        return script_take_status(scan, value);
    if (!ap_cstr_casecmp(name, "Content-Type")) {
        script_take_type(r, value);
    } else if (!ap_cstr_casecmp(name, "Last-Modified")) {
        script_take_modified(scan, value);
    } else if (!ap_cstr_casecmp(name, "Set-Cookie")) {
        apr_table_add(scan->cookies, name, value);
    } else if (!ap_cstr_casecmp(name, "Content-Length")) {
        /* The server counts for itself, unless told to trust the script. */
        if (apr_table_get(r->subprocess_env, AP_TRUST_CGILIKE_CL_ENVVAR))
            apr_table_set(r->headers_out, name, value);
    } else if (!ap_cstr_casecmp(name, "Transfer-Encoding")) {
        return OK; /* how the body is framed is not for the script to say */
    } else if (!ap_cstr_casecmp(name, "Location") || !ap_cstr_casecmp(name, "Content-Range") ||
               !ap_cstr_casecmp(name, "ETag")) {
        apr_table_set(r->headers_out, name, value);
    } else {
        apr_table_add(scan->fields, name, value);
    }
    return OK;
}

/* ---- lines ---- */

static void script_soak(script_scan *scan)
{
    BRG_ASSERT(scan->gets && scan->line);
    if (!scan->keeps_line) {
        while (scan->gets(scan->line, MAX_STRING_LEN - 1, scan->gets_data) > 0) {
        }
    }
}

static int script_no_line(script_scan *scan, int rv)
{
    const char *name = apr_filepath_name_get(scan->r->filename);

    BRG_ASSERT(rv <= 0);
    if (rv < 0) {
        ap_log_rerror(SCRIPT_MARK(scan), APLOG_ERR, 0, scan->r,
                      "Script timed out before returning headers: %s", name);
        return HTTP_GATEWAY_TIME_OUT;
    }
    ap_log_rerror(SCRIPT_MARK(scan), APLOG_ERR, 0, scan->r,
                  scan->began ? "Premature end of script headers: %s"
                              : "End of script output before headers: %s",
                  name);
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int script_bad_line(script_scan *scan)
{
    ap_log_rerror(SCRIPT_MARK(scan), APLOG_ERR, 0, scan->r,
                  "malformed header from script '%s': Bad header: %.30s",
                  apr_filepath_name_get(scan->r->filename), scan->line);
    script_soak(scan);
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* After the blank line. A script that gave a status is never answered with "not modified".
 */
static int script_end(script_scan *scan)
{
    request_rec *r = scan->r;
    int status = !scan->status && r->method_number == M_GET ? ap_meets_conditions(r) : OK;

    BRG_ASSERT(scan->r->headers_out);
    apr_table_overlap(r->err_headers_out, scan->fields, APR_OVERLAP_TABLES_MERGE);
    if (!apr_is_empty_table(scan->cookies)) {
        /* Each in a field of its own: cookies do not survive a merge. */
        apr_table_unset(r->err_headers_out, "Set-Cookie");
        r->err_headers_out = apr_table_overlay(r->pool, r->err_headers_out, scan->cookies);
    }
    return status;
}

static int script_scan_lines(script_scan *scan)
{
    for (;;) {
        int rv = scan->gets(scan->line, MAX_STRING_LEN - 1, scan->gets_data);
        apr_size_t len;
        char *value;

        if (rv <= 0)
            return script_no_line(scan, rv);
        len = strlen(scan->line);
        if (len && scan->line[len - 1] == LF)
            scan->line[--len] = '\0';
        if (len && scan->line[len - 1] == CR)
            scan->line[--len] = '\0';
        if (!len)
            return script_end(scan);
        value = strchr(scan->line, ':');
        if (!value)
            return script_bad_line(scan);
        scan->began = 1;
        *value++ = '\0';
        while (apr_isspace(*value))
            value++;
        if ((rv = script_take_field(scan, scan->line, value)) != OK) {
            script_soak(scan);
            return rv;
        }
    }
}

AP_DECLARE(int)
ap_scan_script_header_err_core_ex(request_rec *r, char *buffer,
                                  int (*getsfunc)(char *, int, void *), void *getsfunc_data,
                                  int module_index)
{
    char own[MAX_STRING_LEN];
    script_scan scan = {.r = r,
                        .module_index = module_index,
                        .gets = getsfunc,
                        .gets_data = getsfunc_data,
                        .line = buffer ? buffer : own,
                        .keeps_line = buffer != NULL};

    *scan.line = '\0';
    scan.fields = apr_table_make(r->pool, 10);
    scan.cookies = apr_table_make(r->pool, 2);
    apr_table_do(script_keep_cookie, scan.cookies, r->err_headers_out, "Set-Cookie", NULL);
    return script_scan_lines(&scan);
}

AP_DECLARE(int)
ap_scan_script_header_err_core(request_rec *r, char *buffer, int (*getsfunc)(char *, int, void *),
                               void *getsfunc_data)
{
    return ap_scan_script_header_err_core_ex(r, buffer, getsfunc, getsfunc_data,
                                             APLOG_MODULE_INDEX);
}

/* ---- from a file ---- */

static int script_gets_file(char *buf, int len, void *file)
{
    apr_status_t rv = apr_file_gets(buf, len, file);

    BRG_ASSERT(file && len > 0);
    return rv == APR_SUCCESS ? 1 : APR_STATUS_IS_TIMEUP(rv) ? -1 : 0;
}

AP_DECLARE(int)
ap_scan_script_header_err_ex(request_rec *r, apr_file_t *f, char *buffer, int module_index)
{
    return ap_scan_script_header_err_core_ex(r, buffer, script_gets_file, f, module_index);
}

AP_DECLARE(int) ap_scan_script_header_err(request_rec *r, apr_file_t *f, char *buffer)
{
    return ap_scan_script_header_err_ex(r, f, buffer, APLOG_MODULE_INDEX);
}

/* ---- from a brigade ---- */

/* Takes a line off the front of the brigade. A line without an end, or a long one, does not count. */
static int script_gets_brigade(char *buf, int size, void *data)
{
    apr_bucket_brigade *bb = data;
    apr_size_t room = (apr_size_t)size - 1;
    const char *lf = NULL;
    char *at = buf;

    BRG_ASSERT(data && size > 0);
    while (room && !lf && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);
        const char *text;
        apr_size_t len, take;
        apr_status_t rv;

        if (APR_BUCKET_IS_EOS(e))
            break;
        rv = apr_bucket_read(e, &text, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS)
            return APR_STATUS_IS_TIMEUP(rv) ? -1 : 0;
        take = len < room ? len : room;
        lf = memchr(text, LF, take);
        if (lf)
            take = (apr_size_t)(lf - text) + 1;
        memcpy(at, text, take);
        at += take;
        room -= take;
        if (take < len)
            apr_bucket_split(e, take);
        apr_bucket_delete(e);
    }
    *at = '\0';
    return lf != NULL;
}

AP_DECLARE(int)
ap_scan_script_header_err_brigade_ex(request_rec *r, apr_bucket_brigade *bb, char *buffer,
                                     int module_index)
{
    return ap_scan_script_header_err_core_ex(r, buffer, script_gets_brigade, bb, module_index);
}

AP_DECLARE(int)
ap_scan_script_header_err_brigade(request_rec *r, apr_bucket_brigade *bb, char *buffer)
{
    return ap_scan_script_header_err_brigade_ex(r, bb, buffer, APLOG_MODULE_INDEX);
}

/* ---- from strings ---- */

typedef struct script_strings {
    va_list args;
    const char *at; /* NULL after the last */
    int n;          /* of the string that at is in */
} script_strings;

static int script_gets_strings(char *buf, int size, void *data)
{
    script_strings *s = data;
    int n = 0;

    BRG_ASSERT(data && size > 0);
    while (s->at && n < size - 1) {
        if (!*s->at) {
            s->at = va_arg(s->args, const char *);
            s->n++;
            continue;
        }
        buf[n++] = *s->at++;
        if (buf[n - 1] == LF)
            break;
    }
    buf[n] = '\0';
    return n > 0;
}

static int script_scan_strings(request_rec *r, char *buffer, int module_index, const char **termch,
                               int *termarg, script_strings *s)
{
    int status = ap_scan_script_header_err_core_ex(r, buffer, script_gets_strings, s, module_index);

    if (termch)
        *termch = s->at;
    if (termarg)
        *termarg = s->n;
    return status;
}

AP_DECLARE_NONSTD(int)
ap_scan_script_header_err_strs_ex(request_rec *r, char *buffer, int module_index,
                                  const char **termch, int *termarg, ...)
{
    script_strings s = {.n = 0};
    int status;

    va_start(s.args, termarg);
    s.at = va_arg(s.args, const char *);
    status = script_scan_strings(r, buffer, module_index, termch, termarg, &s);
    va_end(s.args);
    return status;
}

AP_DECLARE_NONSTD(int)
ap_scan_script_header_err_strs(request_rec *r, char *buffer, const char **termch, int *termarg, ...)
{
    script_strings s = {.n = 0};
    int status;

    va_start(s.args, termarg);
    s.at = va_arg(s.args, const char *);
    status = script_scan_strings(r, buffer, APLOG_MODULE_INDEX, termch, termarg, &s);
    va_end(s.args);
    return status;
}
