/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry of the resolution cache holds, taken from a request that was answered: the
 * formatted head, and the body or the open file. resolution_store.c decides when. */
#include "resolution_private.h"
#include "request_conf.h"
#include "core_private.h"
#include "h1_response.h"
#include "brigade/memory.h"
#include "brigade/resolution.h"
#include "http_core.h"
#include "http_private.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int resolution_stat_take(struct resolution_stat *out, int fd, const char *path)
{
    struct stat st;

    if (fd >= 0 ? fstat(fd, &st) : stat(path, &st))
        return -1;
    if (!S_ISREG(st.st_mode))
        return -1;
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    out->size = (uint64_t)st.st_size;
    out->mtime_ns = (apr_time_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    out->ctime_ns = (apr_time_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    return 0;
}

int resolution_stat_same(resolution_entry *e)
{
    struct resolution_stat now;

    memset(&now, 0, sizeof now);
    return !resolution_stat_take(&now, -1, e->path) && !memcmp(&now, &e->stat, sizeof now);
}

/* Where the value of a field that goes with the date stands. -1: not as it was said to. */
static int fill_find_dated(const request_rec *r, resolution_head *head)
{
    const request_dated *dated = request_dated_field(r);
    char date[APR_RFC822_DATE_LEN], *line;

    head->dated_off = 0;
    if (!dated || !dated->name)
        return 0;
    apr_rfc822_date(date, r->request_time + dated->after);
    line =
        memmem(head->text, head->len, apr_pstrcat(r->pool, "\r\n", dated->name, ": ", date, NULL),
               strlen(dated->name) + 4 + strlen(date));
    if (!line)
        return -1;
    head->dated_off = (uint32_t)(line - head->text + 4) + (uint32_t)strlen(dated->name);
    head->dated_name = dated->name;
    head->dated_after = dated->after;
    head->dated_second = apr_time_sec(r->request_time);
    return 0;
}

int resolution_fill_head(request_rec *r, resolution_head *out)
{
    char buf[GATHER_HEAD_MAX];
    h1_head_marks marks = {0, 0};
    size_t len = h1_format_head(r, buf, sizeof buf - H1_CONNECTION_MAX, &marks);

    if (!len || !marks.date_off)
        return -1;
    free(out->text);
    if (!(out->text = malloc(len)))
        return -1;
    memcpy(out->text, buf, len);
    out->len = (uint32_t)len;
    out->date_off = (uint32_t)marks.date_off;
    out->conn_off = (uint32_t)marks.conn_off;
    return fill_find_dated(r, out);
}

static void fill_text(char *out, size_t room, const char *value)
{
    size_t len = value ? strlen(value) : 0;

    if (len >= room)
        len = 0;
    memcpy(out, value ? value : "", len);
    out[len] = '\0';
}

/* A date that a directive put in the file's place is not what conditions are about. */
static void fill_last_modified(resolution_entry *e, const request_rec *r)
{
    const char *sent = apr_table_get(r->headers_out, "Last-Modified");
    char date[APR_RFC822_DATE_LEN];

    apr_rfc822_date(date, r->mtime);
    fill_text(e->last_modified, sizeof e->last_modified, sent && !strcmp(sent, date) ? sent : NULL);
}

static int fill_read(resolution_entry *e)
{
    size_t have = 0;

    if (!(e->body = malloc((size_t)e->body_len + 1)))
        return -1;
    while (have < (size_t)e->body_len) {
        ssize_t n = pread(e->fd, e->body + have, (size_t)e->body_len - have, (off_t)have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        have += (size_t)n;
    }
    brg_buffer_created();
    return 0;
}

/* The file as it is now must be the one that the request was answered from. */
static int fill_open(resolution_cache *c, resolution_entry *e, const request_rec *r,
                     const char *path)
{
    e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    c->files_n += e->fd >= 0;
    if (e->fd < 0 || resolution_stat_take(&e->stat, e->fd, path) || !(e->path = strdup(path)))
        return -1;
    if (e->stat.ino != (uint64_t)r->finfo.inode || (apr_off_t)e->stat.size != r->finfo.size ||
        e->stat.mtime_ns / 1000 != r->finfo.mtime)
        return -1;
    e->checked = r->request_time;
    return 0;
}

static void fill_close(resolution_cache *c, resolution_entry *e)
{
    close(e->fd);
    e->fd = -1;
    c->files_n--;
}

static void fill_charge(resolution_cache *c, resolution_entry *e)
{
    e->bytes += (size_t)e->body_len;
    c->bytes += (size_t)e->body_len;
}

static int fill_file(resolution_cache *c, resolution_entry *e, request_rec *r, const char *path)
{
    const brg_core_conf *conf = core_conf_of(r->server);
    const core_dir_config *dir = ap_get_core_module_config(r->per_dir_config);

    if (fill_open(c, e, r, path))
        return -1;
    e->body_len = (apr_off_t)e->stat.size;
    if (e->body_len <= conf->file_cache_max_file_bytes) {
        if (fill_read(e))
            return -1;
        fill_close(c, e);
        fill_charge(c, e);
        return 0;
    }
    return dir->enable_sendfile == ENABLE_SENDFILE_ON ? 0 : -1;
}

static int fill_body(resolution_cache *c, resolution_entry *e)
{
    if (!(e->body = malloc(c->offered_len + 1)))
        return -1;
    memcpy(e->body, c->offered_body, c->offered_len);
    brg_buffer_created();
    brg_buffer_copied(c->offered_len);
    e->body_len = (apr_off_t)c->offered_len;
    fill_charge(c, e);
    return 0;
}

/* What filters made of the file or of the page. */
static int fill_captured(resolution_cache *c, resolution_entry *e, request_rec *r)
{
    int too_long;

    if (c->offered_path) {
        if (fill_open(c, e, r, c->offered_path))
            return -1;
        fill_close(c, e);
    }
    e->body = resolution_capture_take(c->capture, r, e, &too_long);
    e->hopeless = too_long != 0;
    e->coded = 1;
    if (e->body)
        fill_charge(c, e);
    return e->body ? 0 : -1;
}

static int fill_any_body(resolution_cache *c, resolution_entry *e, request_rec *r)
{
    if (c->offered_coded)
        return c->capture ? fill_captured(c, e, r) : -1;
    return c->offered_path ? fill_file(c, e, r, c->offered_path) : fill_body(c, e);
}

int resolution_fill(resolution_cache *c, resolution_entry *e, request_rec *r)
{
    if (resolution_fill_head(r, &e->head) || (e->observed && resolution_observe_keep(e, r)))
        return -1;
    if (fill_any_body(c, e, r))
        return e->hopeless ? 0 : -1;
    e->status = r->status;
    e->not_first = http_server_conf(r->server)->protocols->nelts > 0;
    e->server = r->server;
    e->mtime = r->mtime;
    fill_last_modified(e, r);
    fill_text(e->etag, sizeof e->etag, c->offered_etag);
    e->filled = 1;
    free(e->basis);
    e->basis = NULL;
    c->fills++;
    return 0;
}
