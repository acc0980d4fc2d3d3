/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entity tags of files, in the form that Apache 2.4 gives them (so that caches filled by one server
 * are believed by the other): hexadecimal inode, size and modification time in microseconds as
 * FileETag names them, or the SHA-1 of the contents in base64.
 */
#include "core_settings.h"
#include "http_digest.h"
#include "http_etag.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_base64.h"
#include "apr_file_io.h"
#include "apr_sha1.h"
#include "apr_strings.h"
#include "brigade/files.h"
#include <errno.h>
#include <string.h>

APLOG_USE_MODULE(core);

static etag_components_t etag_components(const request_rec *r)
{
    return (etag_components_t)http_etag_bits(core_dir_conf_of(r));
}

static char *etag_hex(char *p, apr_uint64_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (int shift = (63 - __builtin_clzll(n | 1)) & ~3; shift >= 0; shift -= 4)
        *p++ = digits[n >> shift & 0xf];
    return p;
}

/* 1 and base64 in out (29 bytes); 0 if the file cannot be read. */
static int etag_digest_of(request_rec *r, apr_file_t *file, apr_time_t now, char *out)
{
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    apr_os_file_t fd;

    if (apr_os_file_get(&fd, file) != APR_SUCCESS)
        return 0;
    if (!http_digest_of(fd, now, digest)) {
        int error = errno;

        ap_log_rerror(APLOG_MARK, error ? APLOG_ERR : APLOG_INFO, error, r, "no ETag: %s: %s",
                      error ? "cannot read the file" : "the file changes while it is read",
                      r->filename);
        return 0;
    }
    apr_base64_encode_binary(out, digest, sizeof(digest));
    return 1;
}

static int etag_digest(request_rec *r, etag_rec *er, char *out)
{
    apr_file_t *fd = er->fd;
    int ok;

    if (fd)
        return etag_digest_of(r, fd, er->request_time, out);
    if (!er->pathname ||
        apr_file_open(&fd, er->pathname, APR_READ | APR_BINARY, 0, r->pool) != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, APLOGNO(10251) "Make etag: could not open %s",
                      er->pathname ? er->pathname : "(no file)");
        return 0;
    }
    ok = etag_digest_of(r, fd, er->request_time, out);
    apr_file_close(fd);
    return ok;
}

int brg_etag_waits(const request_rec *r, apr_file_t *file)
{
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    file_identity id;
    apr_os_file_t fd;

    if (!(etag_components(r) & ETAG_DIGEST) || apr_table_get(r->notes, "no-etag"))
        return 0;
    return !file || apr_os_file_get(&fd, file) != APR_SUCCESS ||
           file_identity_take(&id, fd, NULL) || !http_digest_find(&id, digest);
}

static char *etag_with(request_rec *r, int weak, const char *opaque, size_t len,
                       const char *variants)
{
    size_t more = 0;
    char *tag, *to;

    /* The validator of the list of variants comes as an entity tag itself; its mark and quotes are
     * dropped. */
    if (variants && variants[0] == 'W') {
        variants += 2;
        weak = 1;
    }
    if (variants && *variants == '"')
        variants++;
    if (variants && (more = strlen(variants)) != 0 && variants[more - 1] == '"')
        more--;
    tag = to = apr_palloc(r->pool, len + more + sizeof "W/\";\"");
    if (weak)
        to = mempcpy(to, "W/", 2);
    *to++ = '"';
    to = mempcpy(to, opaque, len);
    if (variants) {
        *to++ = ';';
        to = mempcpy(to, variants, more);
    }
    memcpy(to, "\"", 2);
    return tag;
}

int http_etag_bits(const core_dir_config *conf)
{
    const etag_components_t bits = (conf->etag_bits & ~conf->etag_remove) | conf->etag_add;

    return (int)(bits == ETAG_UNSET
                     ? ETAG_BACKWARD
                     : bits); /* as in Apache: +INode alone is INode, -Size nothing */
}

size_t http_etag_put(char *out, int bits, apr_uint64_t inode, apr_uint64_t size, apr_uint64_t mtime)
{
    char *p = out;

    if (bits & ETAG_INODE)
        p = etag_hex(p, inode);
    if (bits & ETAG_SIZE) {
        if (p > out)
            *p++ = '-';
        p = etag_hex(p, size);
    }
    if (bits & ETAG_MTIME) {
        if (p > out)
            *p++ = '-';
        p = etag_hex(p, mtime);
    }
    *p = '\0';
    return (size_t)(p - out);
}

AP_DECLARE(char *) ap_make_etag_ex(request_rec *r, etag_rec *er)
{
    const etag_components_t bits = etag_components(r);
    char opaque[HTTP_ETAG_ROOM];
    int weak = er->force_weak;
    size_t len;

    if (((bits & ETAG_NONE) && !(bits & (ETAG_ALL | ETAG_DIGEST))) ||
        apr_table_get(r->notes, "no-etag"))
        return apr_pstrdup(r->pool, ""); /* the note is a filter's, which will change the body */
    if ((bits & ETAG_DIGEST) && er->finfo->filetype == APR_REG && etag_digest(r, er, opaque))
        return etag_with(r, 0, opaque, strlen(opaque), er->vlist_validator);
    if ((bits & ETAG_DIGEST) && !(bits & ETAG_ALL) && er->finfo->filetype == APR_REG)
        return apr_pstrdup(r->pool, ""); /* nothing is known of the file's content */
    /* A file that changed within the last second may change again without its time showing it. */
    if (er->request_time - er->finfo->mtime <= APR_USEC_PER_SEC)
        weak = 1;
    if (er->finfo->filetype == APR_NOFILE)
        len = http_etag_put(opaque, ETAG_MTIME, 0, 0, (apr_uint64_t)er->finfo->mtime);
    else
        len = http_etag_put(opaque, (int)bits, (apr_uint64_t)er->finfo->inode,
                            (apr_uint64_t)er->finfo->size, (apr_uint64_t)er->finfo->mtime);
    return etag_with(r, weak, opaque, len, er->vlist_validator);
}

static char *etag_make(request_rec *r, int force_weak, apr_file_t *fd)
{
    apr_finfo_t changed;
    etag_rec er = {.vlist_validator = r->vlist_validator,
                   .request_time = r->request_time,
                   .finfo = &r->finfo,
                   .pathname = r->filename,
                   .fd = fd,
                   .force_weak = force_weak};

    if (r->mtime && r->mtime != r->finfo.mtime) {
        changed = r->finfo;
        changed.mtime = r->mtime;
        er.finfo = &changed;
    }
    return ap_make_etag_ex(r, &er);
}

AP_DECLARE(char *) ap_make_etag(request_rec *r, int force_weak)
{
    return etag_make(r, force_weak, NULL);
}

AP_DECLARE(void) ap_set_etag_fd(request_rec *r, apr_file_t *fd)
{
    const char *etag = etag_make(r, 0, fd);

    if (etag && *etag)
        apr_table_setn(r->headers_out, "ETag", etag);
}

AP_DECLARE(void) ap_set_etag(request_rec *r)
{
    ap_set_etag_fd(r, NULL);
}
