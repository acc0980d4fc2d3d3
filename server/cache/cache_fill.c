/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry of the resolution cache holds, taken from a request that was answered: the
 * formatted head, and the body or the open file. cache_store.c decides when. */
#include "cache_private.h"
#include "brigade/loop.h"
#include "brigade/memory.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_error.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cache_stat_take(struct cache_stat *out, int fd, const char *path)
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

int cache_stat_same(cache_entry *e)
{
    struct cache_stat now;

    memset(&now, 0, sizeof now);
    return !cache_stat_take(&now, -1, e->path) && !memcmp(&now, &e->stat, sizeof now);
}

void cache_head_drop(cache_head *head)
{
    for (int i = 0; i < HTTP_CODECS; i++)
        free(head->form[i].text);
    free(head->answer);
    memset(head, 0, sizeof *head);
}

/* The field that goes with the date must have the value that it was said to have. */
static int fill_dated_is_right(request_rec *r, const request_dated *dated)
{
    const char *value = apr_table_get(r->headers_out, dated->name);
    char date[APR_RFC822_DATE_LEN];

    apr_rfc822_date(date, r->request_time + dated->after);
    return value && !strcmp(value, date);
}

int cache_fill_head(request_rec *r, cache_head *out)
{
    const request_dated *dated = request_dated_field(r);

    cache_head_drop(out);
    if (dated && dated->name && !fill_dated_is_right(r, dated))
        return -1;
    out->answer =
        http_answer_of(r, dated ? dated->name : NULL, dated && dated->name ? dated->after : 0);
    return out->answer ? 0 : -1;
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
static void fill_last_modified(cache_entry *e, const request_rec *r)
{
    const char *sent = apr_table_get(r->headers_out, "Last-Modified");
    char date[APR_RFC822_DATE_LEN];

    apr_rfc822_date(date, r->mtime);
    fill_text(e->last_modified, sizeof e->last_modified, sent && !strcmp(sent, date) ? sent : NULL);
}

static int fill_read(cache_entry *e)
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
static int fill_open(response_cache *c, cache_entry *e, const request_rec *r, const char *path)
{
    e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    c->files_n += e->fd >= 0;
    if (e->fd < 0 || cache_stat_take(&e->stat, e->fd, path) || !(e->path = strdup(path)))
        return -1;
    if (e->stat.ino != (uint64_t)r->finfo.inode || (apr_off_t)e->stat.size != r->finfo.size ||
        e->stat.mtime_ns / 1000 != r->finfo.mtime)
        return -1;
    e->checked = brg_monotonic_now();
    return 0;
}

static void fill_close(response_cache *c, cache_entry *e)
{
    close(e->fd);
    e->fd = -1;
    c->files_n--;
}

static void fill_charge(response_cache *c, cache_entry *e)
{
    e->bytes += (size_t)e->body_len;
    c->bytes += (size_t)e->body_len;
}

static int fill_file(response_cache *c, cache_entry *e, request_rec *r, const char *path)
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

static int fill_body(response_cache *c, cache_entry *e, const request_offer *offer)
{
    if (!(e->body = malloc(offer->len + 1)))
        return -1;
    memcpy(e->body, offer->body, offer->len);
    brg_buffer_created();
    brg_buffer_copied(offer->len);
    e->body_len = (apr_off_t)offer->len;
    fill_charge(c, e);
    return 0;
}

/* What filters made of the file or of the page. */
static int fill_captured(response_cache *c, cache_entry *e, request_rec *r,
                         const request_offer *offer)
{
    int too_long;

    if (offer->path) {
        if (fill_open(c, e, r, offer->path))
            return -1;
        fill_close(c, e);
    }
    e->body = cache_capture_take(offer->capture, r, e, &too_long);
    e->uncacheable = too_long != 0;
    e->coded = 1;
    if (e->body)
        fill_charge(c, e);
    return e->body ? 0 : -1;
}

static int fill_any_body(response_cache *c, cache_entry *e, request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (!offer)
        return -1;
    if (offer->coded)
        return offer->capture ? fill_captured(c, e, r, offer) : -1;
    return offer->path ? fill_file(c, e, r, offer->path) : fill_body(c, e, offer);
}

int cache_fill(response_cache *c, cache_entry *e, request_rec *r)
{
    if (cache_fill_head(r, &e->head) || (e->observed && cache_observe_keep(e, r)))
        return -1;
    if (fill_any_body(c, e, r))
        return e->uncacheable ? 0 : -1;
    e->status = r->status;
    e->not_first = core_server_conf_of(r->server)->protocols->nelts > 0;
    e->server = r->server;
    e->mtime = r->mtime;
    fill_last_modified(e, r);
    fill_text(e->etag, sizeof e->etag, request_offer_of(r)->etag);
    e->filled = 1;
    free(e->fingerprint);
    e->fingerprint = NULL;
    return 0;
}
