/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are read by lines: ap_configfile_t over a file, over memory, or over a module's own
 * functions.
 *
 * A NUL would cut a line short without anyone noticing, so it is an error wherever this file does
 * the reading.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include "configuration.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

#define CONF_READ_SIZE 8192

/* A window of bytes; refilled from file unless that is NULL. */
typedef struct conf_source {
    apr_file_t *file;
    const char *at, *end;
    char *space;
} conf_source;

static apr_status_t conf_source_fill(conf_source *src)
{
    apr_size_t n = CONF_READ_SIZE;
    apr_status_t rv;

    BRG_ASSERT(src->at == src->end);
    if (!src->file)
        return APR_EOF;
    rv = apr_file_read(src->file, src->space, &n);
    if (rv != APR_SUCCESS)
        return rv;
    BRG_ASSERT(n <= CONF_READ_SIZE);
    src->at = src->space;
    src->end = src->space + n;
    return n ? APR_SUCCESS : APR_EOF;
}

static apr_status_t conf_source_getch(char *ch, void *param)
{
    conf_source *src = param;

    if (src->at == src->end) {
        apr_status_t rv = conf_source_fill(src);

        if (rv != APR_SUCCESS)
            return rv;
    }
    BRG_ASSERT(src->at < src->end);
    *ch = *src->at++;
    return APR_SUCCESS;
}

/* Like fgets: up to and with the newline, or as much as fits. */
static apr_status_t conf_source_getstr(void *buf, apr_size_t bufsiz, void *param)
{
    conf_source *src = param;
    char *out = buf;
    apr_size_t room = bufsiz - 1;

    BRG_ASSERT(bufsiz > 0);
    while (room) {
        apr_size_t n;
        const char *nl;

        if (src->at == src->end) {
            apr_status_t rv = conf_source_fill(src);

            if (rv == APR_EOF && out != (char *)buf)
                break;
            if (rv != APR_SUCCESS)
                return rv;
        }
        n = (apr_size_t)(src->end - src->at);
        if (n > room)
            n = room;
        nl = memchr(src->at, '\n', n);
        if (nl)
            n = (apr_size_t)(nl - src->at) + 1;
        if (memchr(src->at, '\0', n))
            return APR_BADCH;
        BRG_ASSERT(n > 0 && n <= room);
        memcpy(out, src->at, n);
        out += n;
        room -= n;
        src->at += n;
        if (nl)
            break;
    }
    *out = '\0';
    return APR_SUCCESS;
}

static apr_status_t conf_source_close(void *param)
{
    conf_source *src = param;

    return src->file ? apr_file_close(src->file) : APR_SUCCESS;
}

static ap_configfile_t *conf_source_open(apr_pool_t *p, const char *name, conf_source *src)
{
    return ap_pcfg_open_custom(p, name, src, conf_source_getch, conf_source_getstr,
                               conf_source_close);
}

AP_DECLARE(ap_configfile_t *)
ap_pcfg_open_custom(apr_pool_t *p, const char *descr, void *param,
                    apr_status_t (*getc_func)(char *ch, void *param),
                    apr_status_t (*gets_func)(void *buf, apr_size_t bufsiz, void *param),
                    apr_status_t (*close_func)(void *param))
{
    ap_configfile_t *f = apr_pcalloc(p, sizeof *f);

    f->getch = getc_func;
    f->getstr = gets_func;
    f->close = close_func;
    f->param = param;
    f->name = apr_pstrdup(p, descr);
    return f;
}

ap_configfile_t *conf_open_memory(apr_pool_t *p, const char *name, const char *text, apr_size_t len)
{
    conf_source *src = apr_pcalloc(p, sizeof *src);

    src->at = text;
    src->end = text + len;
    return conf_source_open(p, name, src);
}

/* A directory or socket is refused; /dev/null and pipes are fine. */
static apr_status_t conf_file_is_readable(apr_file_t *file, const char *name, int may_wait)
{
    apr_finfo_t info;
    apr_status_t rv = apr_file_info_get(&info, APR_FINFO_TYPE, file);

    if (rv == APR_SUCCESS && info.filetype != APR_REG && info.filetype != APR_CHR &&
        (info.filetype != APR_PIPE || !may_wait)) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL,
                     APLOGNO(00554) "Access to file %s denied by server: not a regular file", name);
        return APR_EBADF;
    }
    return rv;
}

static apr_status_t conf_file_open(ap_configfile_t **ret_cfg, apr_pool_t *p, const char *name,
                                   apr_int32_t flags)
{
    conf_source *src;
    apr_file_t *file;
    apr_status_t rv;

    if (!name)
        return APR_EBADF;
    rv = apr_file_open(&file, name, APR_FOPEN_READ | APR_FOPEN_BINARY | flags, APR_FPROT_OS_DEFAULT,
                       p);
    if (rv != APR_SUCCESS)
        return rv;
    rv = conf_file_is_readable(file, name, !(flags & APR_FOPEN_NONBLOCK));
    if (rv != APR_SUCCESS) {
        apr_file_close(file);
        return rv;
    }
    src = apr_pcalloc(p, sizeof *src);
    src->file = file;
    src->space = apr_palloc(p, CONF_READ_SIZE);
    *ret_cfg = conf_source_open(p, name, src);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t)
ap_pcfg_openfile(ap_configfile_t **ret_cfg, apr_pool_t *p, const char *name)
{
    return conf_file_open(ret_cfg, p, name, 0);
}

apr_status_t conf_open_access_file(ap_configfile_t **ret_cfg, apr_pool_t *p, const char *name)
{
    return conf_file_open(ret_cfg, p, name, APR_FOPEN_NONBLOCK);
}

AP_DECLARE(int) ap_cfg_closefile(ap_configfile_t *cfp)
{
    return cfp->close ? cfp->close(cfp->param) == APR_SUCCESS : 1;
}

AP_DECLARE(apr_status_t) ap_cfg_getc(char *ch, ap_configfile_t *cfp)
{
    apr_status_t rv = cfp->getch(ch, cfp->param);

    if (rv == APR_SUCCESS && *ch == '\n')
        cfp->line_number++;
    return rv;
}

AP_DECLARE(const char *) ap_pcfg_strerror(apr_pool_t *p, ap_configfile_t *cfp, apr_status_t rc)
{
    char buf[MAX_STRING_LEN];

    if (rc == APR_SUCCESS)
        return NULL;
    if (APR_STATUS_IS_ENOSPC(rc))
        return apr_psprintf(p, "Error reading %s at line %d: Line too long", cfp->name,
                            cfp->line_number);
    if (rc == APR_BADCH)
        return apr_psprintf(p, "Error reading %s at line %d: the line holds a NUL character",
                            cfp->name, cfp->line_number + 1);
    return apr_psprintf(p, "Error reading %s at line %d: %s", cfp->name, cfp->line_number,
                        apr_strerror(rc, buf, sizeof buf));
}
