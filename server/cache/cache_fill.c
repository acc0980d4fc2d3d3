/* SPDX-License-Identifier: Apache-2.0 */
/* Fills an entry of the response cache from an answered request: the formatted head, and the body
 * or the open file. cache_store.c decides when. */
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "cache_parts_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "connection.h"
#include "brigade/loop.h"
#include "brigade/memory.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_text.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cache_stat_same(cache_entry *e)
{
    file_identity now;

    return !file_identity_take(&now, -1, e->path) && file_identity_same(&now, &e->identity);
}

void cache_head_drop(cache_head *head)
{
    for (int i = 0; i < CONN_PROTOCOLS; i++)
        free(head->form[i]);
    free(head->answer);
    memset(head, 0, sizeof *head);
}

/* The field that goes with the date must have the value that it was said to have. */
static int fill_dated_is_right(request_rec *r, const request_dated *dated)
{
    const char *value = apr_table_get(r->headers_out, dated->name);
    char date[APR_RFC822_DATE_LEN];

    http_put_date(date, r->request_time + dated->after);
    return value && !strcmp(value, date);
}

int cache_fill_head(request_rec *r, cache_head *out)
{
    const request_dated *dated = request_dated_field(r);
    const char *added = cache_vary_added(r), *value = NULL;

    cache_head_drop(out);
    if (dated && dated->name && !fill_dated_is_right(r, dated))
        return -1;
    if (added && (value = apr_table_get(r->headers_out, added)) != NULL)
        apr_table_unset(r->headers_out, added);
    out->answer =
        http_answer_of(r, dated ? dated->name : NULL, dated && dated->name ? dated->after : 0);
    if (value) { /* logs see it */
        apr_table_setn(r->headers_out, added, value);
        if (out->answer)
            out->answer->added = 1;
    }
    return out->answer ? 0 : -1;
}

/* @return its length; 0: empty, or it does not fit */
static uint8_t fill_text(char *out, size_t room, const char *value)
{
    size_t len = value ? strlen(value) : 0;

    if (len >= room)
        len = 0;
    BRG_ASSERT(room <= UINT8_MAX);
    memcpy(out, value ? value : "", len);
    out[len] = '\0';
    return (uint8_t)len;
}

/* Conditions compare the file's own date, not a date that a directive set. */
static void fill_last_modified(cache_entry *e, const request_rec *r)
{
    const char *sent = apr_table_get(r->headers_out, "Last-Modified");
    char date[APR_RFC822_DATE_LEN];

    http_put_date(date, r->mtime);
    e->last_modified_len = fill_text(e->last_modified, sizeof e->last_modified,
                                     sent && !strcmp(sent, date) ? sent : NULL);
}

static int fill_is_same_file(const file_identity *now, const apr_finfo_t *then)
{
    return now->ino == (uint64_t)then->inode && (apr_off_t)now->size == then->size &&
           now->mtime_ns / 1000 == then->mtime &&
           (!(then->valid & APR_FINFO_DEV) || now->dev == (uint64_t)then->device) &&
           (!(then->valid & APR_FINFO_CTIME) || now->ctime_ns / 1000 == then->ctime);
}

/* The file must still be the one that the request was answered from. @param fd  of it; -1: it is
 * asked by its path */
static int fill_look(cache_entry *e, const request_rec *r, int fd, const char *path)
{
    free(e->path);
    if (file_identity_take(&e->identity, fd, path) || !(e->path = strdup(path)) ||
        !fill_is_same_file(&e->identity, &r->finfo))
        return -1;
    e->checked = brg_monotonic_now();
    return 0;
}

/* @return a descriptor */
static int fill_open(cache_entry *e, const request_rec *r, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -1;
    if (!fill_look(e, r, fd, path))
        return fd;
    close(fd);
    return -1;
}

/* The descriptor that the walk opened; it is the request's. -1: it opened none */
static int fill_own(const request_rec *r, const char *path)
{
    const request_files *files = request_files_of(r);
    apr_os_file_t fd;

    if (!files || !files->opened || files->inode != r->finfo.inode || strcmp(path, r->filename) ||
        !(r->finfo.valid & APR_FINFO_DEV) || files->device != r->finfo.device ||
        apr_os_file_get(&fd, files->opened) != APR_SUCCESS)
        return -1;
    return fd;
}

/* The reference is taken over. */
static void fill_take_body(response_cache *c, cache_entry *e, cache_body *body)
{
    BRG_ASSERT(e->in_cache && !e->body);
    c->figures.shared += body->users > 0;
    e->body = body;
    cache_body_use(c, body);
    cache_note_file(c, e);
}

/* How the configuration wants files to be sent. */
static file_way fill_way(const request_rec *r)
{
    const core_dir_config *dir = ap_get_core_module_config(r->per_dir_config);

    if (dir->enable_sendfile == ENABLE_SENDFILE_ON)
        return FILE_BY_SENDFILE;
    return dir->enable_mmap == ENABLE_MMAP_OFF ? FILE_BY_READS : FILE_BY_WINDOW;
}

static int fill_file(response_cache *c, cache_entry *e, request_rec *r, const char *path)
{
    const brg_core_conf *conf = core_conf_of(r->server);
    const int in_memory = r->finfo.size <= conf->file_cache_max_file_bytes;
    const int own = in_memory ? fill_own(r, path) : -1;
    int fd = own;
    cache_body *body;

    if (own >= 0 ? fill_look(e, r, -1, path) : (fd = fill_open(e, r, path)) < 0)
        return -1;
    body = in_memory ? cache_body_read(c, fd, &e->identity) : cache_body_open(c, fd, &e->identity);
    if (in_memory && own < 0)
        close(fd);
    if (!body)
        return -1;
    fill_take_body(c, e, body);
    return 0;
}

/* @param data  from malloc(), taken over */
static int fill_data(response_cache *c, cache_entry *e, char *data, size_t len)
{
    cache_body *body = cache_body_take(c, data, len);

    if (!body) {
        free(data);
        return -1;
    }
    fill_take_body(c, e, body);
    return 0;
}

static int fill_body(response_cache *c, cache_entry *e, const request_offer *offer)
{
    cache_body *body;
    char *data;

    if (offer->flat) {
        data = offer->flat->data;
        offer->flat->data = NULL;
        return data ? fill_data(c, e, data, offer->len) : -1;
    }
    body = offer->body ? cache_body_create_empty(c, offer->len) : NULL;
    if (!body)
        return -1;
    memcpy(body->data, offer->body, offer->len);
    brg_buffer_created();
    brg_buffer_copied(offer->len);
    fill_take_body(c, e, body);
    return 0;
}

/* The filters' output for the file or page. */
static int fill_captured(response_cache *c, cache_entry *e, request_rec *r,
                         const request_offer *offer)
{
    int too_long;
    size_t len;
    char *data;

    BRG_ASSERT(offer->coded && !e->body && !e->uncacheable);
    if (offer->path && fill_look(e, r, -1, offer->path))
        return -1;
    data = cache_capture_take(offer->capture, r, e, &len, &too_long);
    e->uncacheable = too_long != 0;
    e->coded = 1;
    return data ? fill_data(c, e, data, len) : -1;
}

/* An answer without a body has none. */
static int fill_stored(response_cache *c, cache_entry *e, const request_offer *offer)
{
    cache_body *body = offer->len ? cache_lifetime_take_body(c, offer->stored) : NULL;

    if (!body)
        return offer->len ? -1 : 0;
    fill_take_body(c, e, body);
    return 0;
}

static int fill_any_body(response_cache *c, cache_entry *e, request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (!offer)
        return -1;
    if (offer->stored)
        return fill_stored(c, e, offer);
    if (offer->coded)
        return offer->capture ? fill_captured(c, e, cache_sender_of(r), offer) : -1;
    return offer->path ? fill_file(c, e, cache_sender_of(r), offer->path) : fill_body(c, e, offer);
}

static void fill_validators(cache_entry *e, request_rec *r)
{
    e->server = r->server;
    e->count = figures_requests(&connection_of(r->connection)->loop->figures->own,
                                figures_host(r->server), connection_protocol(r->connection));
    e->way = (uint8_t)fill_way(cache_sender_of(r));
    e->mtime = cache_sender_of(r)->mtime;
    fill_last_modified(e, cache_sender_of(r));
    e->etag_len = fill_text(e->etag, sizeof e->etag, request_offer_of(r)->etag);
}

static int fill_head(cache_entry *e, request_rec *r, cache_head *head)
{
    return cache_fill_head(r, head) || (e->lifetime && cache_lifetime_take_head(e, head)) ? -1 : 0;
}

static int fill_observed(cache_entry *e, request_rec *r)
{
    return e->observed & (CACHE_OBSERVED_BY_LOGS | CACHE_OBSERVED_BY_MESSAGES)
               ? cache_observe_keep(e, r)
               : 0;
}

int cache_fill_304(response_cache *c, cache_entry *e, request_rec *r)
{
    BRG_ASSERT(e->in_cache && r->status == HTTP_NOT_MODIFIED);
    if (fill_head(e, r, &e->head_304) || (!e->log && fill_observed(e, r))) {
        cache_head_drop(&e->head_304);
        return -1;
    }
    if (!e->filled) {
        cache_set_status(e, HTTP_OK); /* conditions ask about the 200 */
        fill_validators(e, r);
        e->filled_304 = 1;
    }
    cache_account(c, e);
    return 0;
}

/* A body that came with a 206: the file has not changed since it was read. */
static int fill_body_is_same(const cache_entry *e, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return offer && offer->path && !offer->coded &&
           fill_is_same_file(&e->body->identity, &r->finfo);
}

/* The head names exactly the requested parts of the whole file, which no module changed or told in
 * other words. */
static int fill_is_part(const cache_entry *e, const request_rec *r, const http_answer *a)
{
    const char *asked = apr_table_get(r->headers_in, "Range");
    http_part part[CACHE_PARTS_MOST];
    char text[HTTP_PART_ROOM];
    http_part_limits limits;
    apr_off_t length;
    int n;

    http_part_limits_of(&limits, r);
    if (a->length_at == HTTP_NO_FIELD || e->coded || !asked ||
        (e->body && !fill_body_is_same(e, r)) ||
        http_parts_read(asked, strlen(asked), r->finfo.size, &limits, part, CACHE_PARTS_MOST, &n) !=
            HTTP_PARTS_SOME ||
        (n > 1) != (a->range_at == HTTP_NO_FIELD))
        return 0;
    length = apr_atoi64(a->field[a->length_at].value);
    if (n > 1)
        return length == http_parts_length(e->ranges->part_type, part, n);
    http_part_text(text, part);
    return !strcmp(text, a->field[a->range_at].value) && length == part->last - part->first + 1;
}

static int fill_ranges_head(cache_entry *e, request_rec *r, cache_head *head)
{
    http_part_limits_of(&e->ranges->limits, r);
    return cache_fill_head(r, head) ||
                   (r->status == HTTP_PARTIAL_CONTENT && !fill_is_part(e, r, head->answer))
               ? -1
               : 0;
}

/* -1: no memory. */
static int fill_part_type(cache_ranges *ranges, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    free(ranges->part_type);
    ranges->part_type = NULL;
    return offer && offer->part_type && !(ranges->part_type = strdup(offer->part_type)) ? -1 : 0;
}

int cache_fill_206(response_cache *c, cache_entry *e, request_rec *r)
{
    const int many = cache_is_multipart(r);
    cache_ranges *ranges = cache_ranges_make(e);
    cache_head *head;

    BRG_ASSERT(e->in_cache && r->status == HTTP_PARTIAL_CONTENT);
    if (!ranges || (many && fill_part_type(ranges, r)))
        return -1;
    head = many ? &ranges->parts : &ranges->part;
    if (fill_ranges_head(e, r, head) || (!e->log && fill_observed(e, r)) ||
        (!e->body && fill_any_body(c, e, r))) {
        cache_head_drop(head);
        return -1;
    }
    if (!e->filled) {
        cache_set_status(e, HTTP_OK); /* a part of that */
        e->reserved = 0;
        fill_validators(e, r);
        e->filled_206 = 1;
        c->figures.filled++;
    }
    cache_account(c, e);
    return 0;
}

/* As it was sent: as one chunk, if in chunks. */
static int fill_page(cache_ranges *ranges, const request_rec *r, const request_offer *offer)
{
    const size_t before = r->chunked ? CACHE_FRAME_BEFORE : 0;

    BRG_ASSERT(!ranges->outside.answer && !ranges->page);
    ranges->page = malloc(offer->len + CACHE_FRAME_BEFORE + CACHE_FRAME_AFTER + 1);
    if (!ranges->page)
        return -1;
    memcpy(ranges->page + before, offer->body, offer->len);
    if (r->chunked) {
        ranges->page_before = (uint8_t)cache_frame(ranges->page, offer->len);
        ranges->page_after = CACHE_FRAME_AFTER;
    }
    ranges->page_len = offer->len + ranges->page_before + ranges->page_after;
    return 0;
}

int cache_fill_416(response_cache *c, cache_entry *e, request_rec *r)
{
    cache_ranges *ranges = cache_ranges_make(e);

    BRG_ASSERT(e->in_cache && e->filled && r->status == HTTP_RANGE_NOT_SATISFIABLE);
    if (!ranges || fill_page(ranges, r, request_offer_of(r)))
        return -1;
    if (fill_ranges_head(e, r, &ranges->outside) ||
        /* it was to end with its connection, which the next client may want to keep */
        (!r->chunked && ranges->outside.answer->length_at == HTTP_NO_FIELD)) {
        cache_head_drop(&ranges->outside);
        free(ranges->page);
        ranges->page = NULL;
        return -1;
    }
    cache_account(c, e);
    return 0;
}

int cache_fill(response_cache *c, cache_entry *e, request_rec *r)
{
    BRG_ASSERT(e->in_cache && !e->filled);
    cache_observe_drop(e);
    if (fill_head(e, cache_sender_of(r), &e->head) || fill_observed(e, r))
        return -1;
    if (e->body ? !fill_body_is_same(e, r) : fill_any_body(c, e, r))
        return e->uncacheable ? 0 : -1;
    cache_set_status(e, r->status);
    fill_validators(e, r);
    e->filled = 1;
    e->filled_304 = e->filled_206 = 0;
    free(e->fingerprint);
    e->fingerprint = NULL;
    c->figures.filled++;
    cache_account(c, e);
    return 0;
}
