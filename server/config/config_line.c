/* SPDX-License-Identifier: Apache-2.0 */
/* Logical lines: a backslash before the newline joins the next one, blanks at both ends go. */
#include "httpd.h"
#include "http_config.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "util_varbuf.h"
#include "configuration.h"
#include "brigade/assert.h"

#define CONF_LINE_START 256

/* Room for at least one more byte and the NUL, growing by half up to max. */
static apr_status_t conf_line_grow(conf_line *line, apr_size_t max)
{
    apr_size_t cap = line->cap ? line->cap * 2 : CONF_LINE_START;
    char *buf;

    BRG_ASSERT(line->len <= line->cap);
    if (line->len + 2 <= line->cap)
        return APR_SUCCESS;
    if (cap > max)
        cap = max;
    if (line->len + 2 > cap)
        return APR_ENOSPC;
    buf = apr_palloc(line->pool, cap);
    if (line->len)
        memcpy(buf, line->buf, line->len);
    line->buf = buf;
    line->cap = cap;
    return APR_SUCCESS;
}

/* One physical line, appended without its line end. *complete: a newline was there. */
static apr_status_t conf_line_append(conf_line *line, apr_size_t max, ap_configfile_t *f,
                                     int *complete)
{
    apr_size_t start = line->len;

    *complete = 0;
    while (!*complete) {
        apr_status_t rv = conf_line_grow(line, max);

        if (rv == APR_SUCCESS)
            rv = f->getstr(line->buf + line->len, line->cap - line->len, f->param);
        if (rv == APR_EOF && line->len > start)
            break;
        if (rv != APR_SUCCESS)
            return rv;
        line->len += strlen(line->buf + line->len);
        if (line->len == start)
            return APR_EOF;
        *complete = line->buf[line->len - 1] == '\n';
    }
    BRG_ASSERT(line->len < line->cap);
    f->line_number++;
    line->len -= (apr_size_t)*complete;
    if (line->len > start && line->buf[line->len - 1] == '\r')
        line->len--;
    line->buf[line->len] = '\0';
    return APR_SUCCESS;
}

static void conf_line_trim(conf_line *line)
{
    apr_size_t skip = 0;

    while (line->len && apr_isspace(line->buf[line->len - 1]))
        line->len--;
    while (skip < line->len && apr_isspace(line->buf[skip]))
        skip++;
    BRG_ASSERT(skip <= line->len);
    line->len -= skip;
    memmove(line->buf, line->buf + skip, line->len);
    line->buf[line->len] = '\0';
}

apr_status_t conf_read_line(conf_line *line, apr_size_t max, ap_configfile_t *f)
{
    int complete, more = 0;

    line->len = 0;
    do {
        apr_status_t rv = conf_line_append(line, max, f, &complete);

        if (rv == APR_EOF && more)
            break;
        if (rv != APR_SUCCESS)
            return rv;
        more = complete && line->len && line->buf[line->len - 1] == '\\';
        if (more)
            line->buf[--line->len] = '\0';
    } while (more);
    conf_line_trim(line);
    return APR_SUCCESS;
}

/* Into a buffer of the caller's: the same rules, with its size as the limit. */
AP_DECLARE(apr_status_t) ap_cfg_getline(char *buf, apr_size_t bufsize, ap_configfile_t *cfp)
{
    conf_line line = {NULL, buf, 0, bufsize};

    if (bufsize < 2)
        return APR_EINVAL;
    return conf_read_line(&line, bufsize, cfp);
}

AP_DECLARE(apr_status_t)
ap_varbuf_cfg_getline(struct ap_varbuf *vb, ap_configfile_t *cfp, apr_size_t max_len)
{
    char near[HUGE_STRING_LEN];
    conf_line line = {vb->pool, near, 0, sizeof(near)};
    apr_status_t rv = conf_read_line(&line, max_len, cfp);

    if (rv != APR_SUCCESS)
        return rv;
    /* Callers read line after line into the same buffer: the line replaces the one before. */
    vb->strlen = 0;
    if (vb->avail)
        vb->buf[0] = '\0';
    ap_varbuf_strmemcat(vb, line.buf, (int)line.len);
    return rv;
}
