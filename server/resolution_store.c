/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a finished request, and when. See resolution_private.h for why it takes two
 * requests. */
#include "resolution_private.h"
#include "request_private.h"
#include "core_private.h"
#include "filter_registry.h"
#include "h1_response.h"
#include "brigade/memory.h"
#include "brigade/resolution.h"
#include "http_core.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that was changed within this time may change again without a new time stamp, and has a
 * weak ETag for so long: it is not remembered yet. */
#define STORE_SETTLED_US apr_time_from_sec(2)

static resolution_cache *store_cache(void)
{
    brg_loop *loop = loop_self();

    return loop && loop->cache->buckets_n ? loop->cache : NULL;
}

/* ---- what handlers say ---- */

static int filter_leaves_body(const ap_filter_t *f)
{
    static const char *const core[] = {
        "byterange", "content_length", "http_header", "http_outerror", "http_limits", "old_write",
        "core",      "reqtimeout",     "chunk",       "protocol_ok",   "not_sent"};

    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        if (!strcmp(f->frec->name, core[i]))
            return 1;
    return 0;
}

/* mod_deflate, alone or by content type: does nothing, but for Vary, where nothing is asked of it.
 */
static int filter_compresses(const ap_filter_t *f)
{
    return !ap_cstr_casecmp(f->frec->name, "deflate") ||
           !ap_cstr_casecmp(f->frec->name, "bytype:deflate");
}

static int request_takes_coding(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Accept-Encoding") ||
           apr_table_get(r->subprocess_env, "force-gzip");
}

/* As filters_leave_body(); *uncoded: true without Accept-Encoding only. */
static int filters_leave_this(const request_rec *r, const ap_filter_t *f, int *uncoded)
{
    *uncoded = 0;
    for (; f; f = f->next) {
        if (filter_leaves_body(f))
            continue;
        if (!filter_compresses(f) || request_takes_coding(r))
            return 0;
        *uncoded = 1;
    }
    return 1;
}

static int filters_leave_body(const ap_filter_t *f)
{
    for (; f; f = f->next)
        if (!filter_leaves_body(f))
            return 0;
    return 1;
}

BRG_DECLARE(int) brg_output_is_plain(request_rec *r)
{
    return filters_leave_body(r->output_filters);
}

/* Every offer takes the place of the one before: a filter's comes after that of the handler whose
 * data it changed. */
static resolution_cache *store_offer(request_rec *r, const ap_filter_t *next)
{
    resolution_cache *c = store_cache();

    if (!c)
        return NULL;
    c->offered_r = NULL;
    c->offered_path = c->offered_body = NULL;
    c->offered_from = NULL;
    if (r->main || r->prev || r->no_cache || !filters_leave_this(r, next, &c->offered_uncoded))
        return NULL;
    c->offered_r = r;
    return c;
}

BRG_DECLARE(void) brg_resolution_offer_file(request_rec *r, const char *path)
{
    resolution_cache *c = r->no_local_copy ? NULL : store_offer(r, r->output_filters);

    if (c)
        c->offered_path = path;
}

BRG_DECLARE(void)
brg_resolution_offer_body(request_rec *r, ap_filter_t *next, const char *body, apr_size_t len,
                          const char *const *paths)
{
    resolution_cache *c = store_offer(r, next);

    if (!c)
        return;
    c->offered_body = body;
    c->offered_len = len;
    c->offered_from = paths;
}

void resolution_offer_page(request_rec *r, const char *page)
{
    resolution_cache *c = store_offer(r, r->output_filters);

    if (!c)
        return;
    c->offered_body = page;
    c->offered_len = strlen(page);
}

/* ---- validation by stat ---- */

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

/* ---- priming ---- */

/* .htaccess files may count: some section for directories allows them. */
static int store_overrides_possible(const request_rec *r)
{
    const core_server_config *core = core_server_conf_of(r->server);

    for (int i = 0; core->sec_dir && i < core->sec_dir->nelts; i++) {
        ap_conf_vector_t *section = APR_ARRAY_IDX(core->sec_dir, i, ap_conf_vector_t *);
        const core_dir_config *dir = ap_get_core_module_config(section);

        if (dir && ((dir->override & ~OR_UNSET) != OR_NONE || dir->override_list))
            return 1;
    }
    return r->htaccess != NULL;
}

/* AccessFileName as a NULL-terminated list. */
static const char *const *store_access_names(request_rec *r)
{
    const core_server_config *core = core_server_conf_of(r->server);
    const char *list = core->access_name, *name;
    apr_array_header_t *names = apr_array_make(r->pool, 2, sizeof(char *));

    while (*list && *(name = ap_getword_conf(r->pool, &list)) != '\0')
        APR_ARRAY_PUSH(names, const char *) = name;
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)(const void *)names->elts;
}

static int store_watch(resolution_cache *c, resolution_entry *e, const char *path,
                       const char *const *names, int index)
{
    return c->watch ? watch_add(c->watch, &e->owner, path, "/", names, index) : -1;
}

/* How the URI came to the file. An index file depends on every entry of its directory, since
 * another one of the DirectoryIndex list may appear; anything farther away (FallbackResource, say)
 * on files that nobody tells us of. */
enum { STORE_DIRECT, STORE_INDEX, STORE_FAR };

static int store_way(request_rec *r)
{
    char *asked = apr_pstrdup(r->pool, r->parsed_uri.path ? r->parsed_uri.path : "");
    size_t len;

    if (ap_unescape_url(asked) != OK || !r->uri)
        return STORE_FAR;
    if (!strcmp(asked, r->uri))
        return STORE_DIRECT;
    len = strlen(asked);
    return len && asked[len - 1] == '/' && !strncmp(asked, r->uri, len) &&
                   !strchr(r->uri + len, '/')
               ? STORE_INDEX
               : STORE_FAR;
}

static const char *store_main_path(const resolution_cache *c, const request_rec *r)
{
    return c->offered_path ? c->offered_path : r->filename;
}

/* All that decides what is put under watch, as one string. The answer that fills an entry must have
 * the basis of the one that primed it: between the two, a missing directory may have come, or a
 * page have got another part. */
static const char *store_basis(const resolution_cache *c, request_rec *r)
{
    apr_array_header_t *parts = apr_array_make(r->pool, 8, sizeof(char *));

    APR_ARRAY_PUSH(parts, const char *) = store_main_path(c, r);
    APR_ARRAY_PUSH(parts, const char *) =
        apr_psprintf(r->pool, "%d%d", store_way(r), store_overrides_possible(r));
    for (const char *const *from = c->offered_from; from && *from; from++)
        APR_ARRAY_PUSH(parts, const char *) = *from;
    return apr_array_pstrcat(r->pool, parts, '\n');
}

static int store_prime(resolution_cache *c, resolution_entry *e, request_rec *r)
{
    const char *const *names = store_overrides_possible(r) ? store_access_names(r) : NULL;
    const char *path = store_main_path(c, r);
    int way = store_way(r), index = way == STORE_INDEX;

    e->server = r->server;
    if (way == STORE_FAR)
        return -1;
    if (store_watch(c, e, path, names, index)) /* then one stat per request must be enough */
        return names || index || !c->offered_path ? -1 : 0;
    for (const char *const *from = c->offered_from; from && *from; from++)
        if (store_watch(c, e, *from, names, 0))
            return -1;
    e->watched = 1;
    return (e->basis = strdup(store_basis(c, r))) != NULL ? 0 : -1;
}

/* ---- filling ---- */

static int store_head(request_rec *r, resolution_head *out)
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
    return 0;
}

static void store_text(char *out, size_t room, const char *value)
{
    size_t len = value ? strlen(value) : 0;

    if (len >= room)
        len = 0;
    memcpy(out, value ? value : "", len);
    out[len] = '\0';
}

static int store_read(resolution_entry *e)
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
static int store_file(resolution_cache *c, resolution_entry *e, request_rec *r, const char *path)
{
    const brg_core_conf *conf = core_conf_of(r->server);
    const core_dir_config *dir = ap_get_core_module_config(r->per_dir_config);

    e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    c->files_n += e->fd >= 0;
    if (e->fd < 0 || resolution_stat_take(&e->stat, e->fd, path) || !(e->path = strdup(path)))
        return -1;
    if (e->stat.ino != (uint64_t)r->finfo.inode || (apr_off_t)e->stat.size != r->finfo.size ||
        e->stat.mtime_ns / 1000 != r->finfo.mtime)
        return -1;
    e->checked = c->loop->now;
    e->body_len = (apr_off_t)e->stat.size;
    if (e->body_len <= conf->file_cache_max_file_bytes) {
        if (store_read(e))
            return -1;
        close(e->fd);
        e->fd = -1;
        c->files_n--;
        e->bytes += (size_t)e->body_len;
        c->bytes += (size_t)e->body_len;
        return 0;
    }
    return dir->enable_sendfile == ENABLE_SENDFILE_ON ? 0 : -1;
}

static int store_body(resolution_cache *c, resolution_entry *e)
{
    if (!(e->body = malloc(c->offered_len + 1)))
        return -1;
    memcpy(e->body, c->offered_body, c->offered_len);
    brg_buffer_created();
    brg_buffer_copied(c->offered_len);
    e->body_len = (apr_off_t)c->offered_len;
    e->bytes += (size_t)e->body_len;
    c->bytes += (size_t)e->body_len;
    return 0;
}

static int store_fill(resolution_cache *c, resolution_entry *e, request_rec *r)
{
    if (store_head(r, &e->head) || (e->observed && resolution_observe_keep(e, r)))
        return -1;
    if (c->offered_path ? store_file(c, e, r, c->offered_path) : store_body(c, e))
        return -1;
    e->status = r->status;
    e->uncoded = c->offered_uncoded;
    e->server = r->server;
    e->mtime = r->mtime;
    store_text(e->last_modified, sizeof e->last_modified,
               apr_table_get(r->headers_out, "Last-Modified"));
    store_text(e->etag, sizeof e->etag, apr_table_get(r->headers_out, "ETag"));
    e->filled = 1;
    free(e->basis);
    e->basis = NULL;
    c->fills++;
    return 0;
}

static int store_request_is_plain(const request_rec *r)
{
    return r->method_number == M_GET && !r->header_only && r->unparsed_uri &&
           r->unparsed_uri[0] == '/' && r->proto_num >= HTTP_VERSION(1, 0);
}

static int store_is_settled(const request_rec *r, const apr_finfo_t *finfo)
{
    return finfo->filetype == APR_REG && finfo->mtime + STORE_SETTLED_US < r->request_time;
}

/* A file that has been at rest, a body made from such, or a file that is not there: what else an
 * answer may be is not watched for. */
static int store_answer_is_lasting(const resolution_cache *c, const request_rec *r)
{
    if (c->offered_path)
        return (r->status == HTTP_OK || r->status == HTTP_NOT_MODIFIED) &&
               (!r->path_info || !*r->path_info) && store_is_settled(r, &r->finfo);
    if (!c->watch || !r->filename || r->filename[0] != '/')
        return 0;
    if (c->offered_from)
        return (r->status == HTTP_OK || r->status == HTTP_NOT_MODIFIED) &&
               (apr_off_t)c->offered_len <= core_conf_of(r->server)->file_cache_max_file_bytes;
    return r->status == HTTP_NOT_FOUND && r->finfo.filetype == APR_NOFILE;
}

/* Watches are system calls: what is asked for only once, by a crawler say, gets none. */
static int store_seen_before(resolution_cache *c, uint64_t hash)
{
    uint32_t *seen = &c->seen[hash & (RESOLUTION_SEEN - 1)], mark = (uint32_t)(hash >> 32) | 1;

    if (*seen == mark)
        return 1;
    *seen = mark;
    return 0;
}

static resolution_entry *store_new(resolution_cache *c, const brg_conn *bc, request_rec *r,
                                   const char *host, uint64_t hash)
{
    resolution_entry *e = resolution_add(c, bc->listener, bc->chain, host, strlen(host),
                                         r->unparsed_uri, strlen(r->unparsed_uri), hash);

    if (e && store_prime(c, e, r)) {
        resolution_forget(c, e);
        return NULL;
    }
    return e;
}

static void store_consider(resolution_cache *c, request_rec *r)
{
    const brg_conn *bc = connection_of(r->connection);
    const char *host = apr_table_get(r->headers_in, "Host");
    resolution_entry *e;
    uint64_t hash;
    int kind;

    if (!bc || !host || !store_request_is_plain(r) || !store_answer_is_lasting(c, r))
        return;
    e = resolution_find(c, bc->listener, bc->chain, host, strlen(host), r->unparsed_uri,
                        strlen(r->unparsed_uri), &hash);
    if (r->status == HTTP_NOT_MODIFIED) {
        if (e && e->filled && !e->head_304.text)
            store_head(r, &e->head_304);
        return;
    }
    if (e && e->filled)
        return;
    kind = resolution_ask_modules(r);
    if (kind == BRG_RESOLUTION_VOLATILE) {
        if (e)
            resolution_forget(c, e);
        return;
    }
    if (e && strcmp(e->basis, store_basis(c, r))) {
        resolution_forget(c, e);
        e = NULL;
    }
    if (!e) {
        if (!store_seen_before(c, hash))
            return;
        e = store_new(c, bc, r, host, hash);
        if (!e || e->watched) { /* primed: the next full run fills it */
            resolution_trim(c, core_conf_of(r->server));
            return;
        }
    }
    e->observed = kind == BRG_RESOLUTION_OBSERVED;
    if (e->owner.changed || store_fill(c, e, r))
        resolution_forget(c, e);
    resolution_trim(c, core_conf_of(r->server));
}

void resolution_consider(request_rec *r)
{
    resolution_cache *c = store_cache();

    if (!c)
        return;
    if (c->offered_r == r)
        store_consider(c, r);
    c->offered_r = NULL;
}

static int resolution_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                                  server_rec *s)
{
    resolution_survey_hooks();
    return OK;
}

void resolution_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(resolution_post_config, NULL, NULL, APR_HOOK_REALLY_LAST);
    resolution_declare_core();
}
