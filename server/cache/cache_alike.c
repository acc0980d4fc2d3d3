/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of files that nobody asked for before (cache_alike_private.h). */
#include "cache_alike_private.h"
#include "cache_loan_private.h"
#include "cache_names_private.h"
#include "cache_route.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "connection.h"
#include "core_settings.h"
#include "http_etag.h"
#include "http_text.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ALIKE_KIND '+'
#define ALIKE_BYTES 4096            /* of an entry, about */
#define ALIKE_BODY_MOST (16 * 1024) /* the handler reads so much in one piece */

enum { ALIKE_ONCE, ALIKE_READY, ALIKE_NEVER };

struct cache_alike {
    cache_names *names;
    int state;
    uint64_t inode; /* of the first file */
    int etag_bits;
    int length_at, modified_at, etag_at; /* fields of the head; -1: it has none */
};

/* Of one file, as text. */
typedef struct alike_values {
    char length[24], modified[APR_RFC822_DATE_LEN], etag[HTTP_ETAG_ROOM + 2];
    size_t length_len, etag_len;
} alike_values;

static apr_time_t alike_mtime(const file_identity *is)
{
    return is->mtime_ns / 1000;
}

static void alike_values_of(alike_values *v, int etag_bits, const file_identity *is)
{
    v->length_len = http_put_number(v->length, is->size);
    v->length[v->length_len] = '\0';
    http_put_date(v->modified, alike_mtime(is));
    v->etag[0] = '"';
    v->etag_len =
        1 + http_etag_put(v->etag + 1, etag_bits, is->ino, is->size, (apr_uint64_t)alike_mtime(is));
    memcpy(v->etag + v->etag_len++, "\"", 2);
}

static file_identity alike_identity_of(const request_rec *r)
{
    return (file_identity){.dev = (uint64_t)r->finfo.device,
                           .ino = (uint64_t)r->finfo.inode,
                           .size = (uint64_t)r->finfo.size,
                           .mtime_ns = r->finfo.mtime * 1000};
}

/* ---- learning ---- */

/* A small file in a folder whose links may be followed, and which alone counts. */
static int alike_is_file(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const request_dependencies *found = request_dependencies_of(r);
    const request_files *files = request_files_of(r);
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    return c->watches && c->watch && !c->is_workers && r->status == HTTP_OK && offer &&
           offer->path && !offer->codings && !strcmp(offer->path, r->filename) && !r->args &&
           r->finfo.filetype == APR_REG && r->finfo.size > 0 && r->finfo.size <= ALIKE_BODY_MOST &&
           found && found->first && !strcmp(found->first, r->filename) && !found->more && files &&
           !files->links && (core->opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) == OPT_SYM_LINKS &&
           cache_request_is_plain(r);
}

static int alike_is_field(const http_answer_field *field, const char *name)
{
    return !strcasecmp(field->name, name);
}

/* Where the head tells of the file. @return -1: in another way than it can be told of others */
static int alike_find_fields(struct cache_alike *a, const http_answer *head, const request_rec *r)
{
    const file_identity is = alike_identity_of(r);
    alike_values v;

    a->length_at = a->modified_at = a->etag_at = -1;
    alike_values_of(&v, a->etag_bits, &is);
    for (int i = 0; i < head->n_fields; i++) {
        const http_answer_field *f = &head->field[i];
        const char *expected = NULL;

        if (alike_is_field(f, "Content-Length")) {
            a->length_at = i;
            expected = v.length;
        } else if (alike_is_field(f, "Last-Modified")) {
            a->modified_at = i;
            expected = v.modified;
        } else if (alike_is_field(f, "ETag")) {
            a->etag_at = i;
            expected = v.etag;
        }
        if (expected && strcmp(f->value, expected) != 0)
            return -1;
    }
    return a->length_at < 0 || head->connection || head->added || head->date ? -1 : 0;
}

/* Wishes that a look-up compares with the request's fields. */
static int alike_varies_by_fields(const cache_entry *e)
{
    for (int i = 0; i < e->vary_n; i++)
        if (!e->vary[i].name || e->vary[i].client || e->vary[i].users || e->vary[i].gate)
            return 0;
    return !e->gated;
}

static int alike_take(response_cache *c, cache_entry *e, request_rec *r)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const char *name = strrchr(r->uri, '/') + 1;
    policy_reason reason = {.module = NULL};
    const int depends = cache_ask(r, &reason);

    if (depends == BRG_CACHE_VOLATILE || !cache_name_is_told(r) || cache_vary_take(c, e, r) ||
        !alike_varies_by_fields(e))
        return -1;
    e->server = r->server;
    e->count = figures_requests(&c->loop->figures->own, figures_host(r->server),
                                connection_protocol(r->connection));
    e->observed = depends == BRG_CACHE_OBSERVED ? CACHE_OBSERVED_BY_LOGS : 0;
    e->alike->inode = (uint64_t)r->finfo.inode;
    e->alike->etag_bits = http_etag_bits(core);
    return cache_fill_head(r, &e->head) || alike_find_fields(e->alike, e->head.answer, r) ||
                   (e->observed && cache_observe_keep(e, r)) ||
                   cache_name_head_shows(e->head.answer, name, strlen(name)) ||
                   (e->log && cache_name_log_shows(e->log, name, strlen(name), name, strlen(name)))
               ? -1
               : 0;
}

static int alike_watch(response_cache *c, cache_entry *e, request_rec *r)
{
    const char *folder = folder_held_path(e->alike->names->folder);

    return cache_arm_folder(c, e, r, apr_pstrcat(r->pool, folder, strrchr(e->key, '/') + 1, NULL));
}

/* An entry that does not hold for other files is not tried again while it stays. */
static void alike_give_up(response_cache *c, cache_entry *e)
{
    e->alike->state = ALIKE_NEVER;
    cache_account(c, e);
}

/* NULL: its folder is not known, or not worth it. */
static cache_entry *alike_add(response_cache *c, request_rec *r, const char *key, size_t len,
                              uint64_t hash)
{
    const cache_place at = cache_place_of(connection_of(r->connection));
    const char *host = apr_table_get(r->headers_in, "Host");
    const unsigned count = admission_count(&c->admission, hash);
    cache_names *names;
    cache_entry *e;

    if (count < 2 || !(names = cache_names_make(r)))
        return NULL;
    e = cache_make_room(c, core_conf_of(r->server), CACHE_ANSWERS, count, ALIKE_BYTES)
            ? cache_add(c, &at, host, strlen(host), key, len, hash, CACHE_ANSWERS)
            : NULL;
    if (!e || !(e->alike = calloc(1, sizeof *e->alike))) {
        if (e)
            cache_forget(c, e);
        cache_names_end(names);
        return NULL;
    }
    e->uses = (uint8_t)count;
    e->alike->names = names;
    c->alike_n++;
    return e;
}

static void alike_begin(response_cache *c, request_rec *r, const char *key, size_t len,
                        uint64_t hash)
{
    cache_entry *e = alike_add(c, r, key, len, hash);

    if (!e)
        return;
    if (alike_take(c, e, r) || alike_watch(c, e, r))
        alike_give_up(c, e);
    cache_account(c, e);
}

/* ---- confirming ---- */

static const char *alike_value(const struct cache_alike *a, const alike_values *v, int i,
                               const char *other)
{
    return i == a->length_at     ? v->length
           : i == a->modified_at ? v->modified
           : i == a->etag_at     ? v->etag
                                 : other;
}

static int alike_texts_same(const char *one, const char *other)
{
    return one == other || (one && other && !strcmp(one, other));
}

static int alike_head_same(const cache_entry *e, const http_answer *b, const request_rec *r)
{
    const http_answer *a = e->head.answer;
    const file_identity is = alike_identity_of(r);
    alike_values v;

    alike_values_of(&v, e->alike->etag_bits, &is);
    for (int i = 0; i < a->n_fields && i < b->n_fields; i++)
        if (strcmp(a->field[i].name, b->field[i].name) != 0 ||
            (strcmp(alike_value(e->alike, &v, i, a->field[i].value), b->field[i].value) != 0 &&
             !(a->dated_name && alike_is_field(&a->field[i], a->dated_name))))
            return 0;
    return a->n_fields == b->n_fields && a->conn_at == b->conn_at &&
           alike_texts_same(a->reason, b->reason) && alike_texts_same(a->server, b->server) &&
           alike_texts_same(a->upgrade, b->upgrade) &&
           alike_texts_same(a->dated_name, b->dated_name) && a->dated_after == b->dated_after &&
           !b->connection && !b->added && !b->date;
}

static int alike_log_same(const struct cache_observed *a, const struct cache_observed *b)
{
    const uint32_t n = a->env_n + a->notes_n + a->changed_n;

    if (a->env_n != b->env_n || a->notes_n != b->notes_n || a->changed_n != b->changed_n ||
        a->messages_n || b->messages_n || !alike_texts_same(a->handler, b->handler) ||
        !alike_texts_same(a->content_type, b->content_type))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (!alike_texts_same(a->pair[i].name, b->pair[i].name) ||
            (!alike_texts_same(a->pair[i].value, b->pair[i].value) &&
             !(i < a->env_n && cache_name_is_url(a->pair[i].name))))
            return 0;
    return 1;
}

/* Another file, on its way through all phases, has the same. */
static int alike_holds(cache_entry *e, request_rec *r, const char *name)
{
    cache_entry *now = cache_new(sizeof *now);
    policy_reason reason = {.module = NULL};
    const int depends = cache_ask(r, &reason);
    int holds;

    if (!now)
        return 0;
    now->observed = depends == BRG_CACHE_OBSERVED ? CACHE_OBSERVED_BY_LOGS : 0;
    holds = depends != BRG_CACHE_VOLATILE && now->observed == e->observed &&
            cache_vary_same(e, r) && cache_name_is_told(r) && e->server == r->server &&
            cache_names_decide_alike(e->alike->names, e->server, name, strlen(name), 1) &&
            !cache_fill_head(r, &now->head) && alike_head_same(e, now->head.answer, r) &&
            (!e->log || (!cache_observe_keep(now, r) && alike_log_same(e->log, now->log)));
    cache_head_drop(&now->head);
    cache_observe_drop(now);
    free(now);
    return holds;
}

static void alike_confirm(response_cache *c, cache_entry *e, request_rec *r, const char *name)
{
    if (e->alike->inode == (uint64_t)r->finfo.inode)
        return; /* it is the same file */
    if (alike_holds(e, r, name))
        e->alike->state = ALIKE_READY;
    else
        alike_give_up(c, e);
}

void cache_alike_learn(response_cache *c, request_rec *r)
{
    const cache_asked asked = {.r = r};
    char key[CACHE_NAME_PATH_MOST];
    size_t name_len, len;
    cache_place at;
    cache_entry *e;
    uint64_t hash;
    const char *name, *host;

    if (!alike_is_file(c, r) ||
        !(name = cache_name_of(r->unparsed_uri, strlen(r->unparsed_uri), &name_len)) ||
        !cache_name_is_last(r, name) ||
        !(len = cache_name_key(key, r->unparsed_uri, name, name_len, ALIKE_KIND)))
        return;
    at = cache_place_of(connection_of(r->connection));
    host = apr_table_get(r->headers_in, "Host");
    e = cache_find(c, &at, host, strlen(host), key, len, &asked, &hash);
    if (e && cache_sources[e->source].has_changed(c, e)) {
        cache_forget(c, e);
        e = NULL;
    }
    if (!e)
        alike_begin(c, r, key, len, hash);
    else if (e->alike && e->alike->state == ALIKE_ONCE)
        alike_confirm(c, e, r, name);
}

/* ---- an answer ---- */

static void alike_set(http_answer *a, int at, const char *value, size_t len)
{
    if (at < 0)
        return;
    a->field[at].value = value;
    a->field[at].value_len = (uint32_t)len;
}

static void alike_head(cache_loan *loan, const alike_values *v)
{
    const struct cache_alike *alike = loan->like->alike;
    http_answer *a = loan->entry.head.answer;

    alike_set(a, alike->length_at, v->length, v->length_len);
    alike_set(a, alike->modified_at, v->modified, APR_RFC822_DATE_LEN - 1);
    alike_set(a, alike->etag_at, v->etag, v->etag_len);
}

static char *alike_path(char **to, const char *folder, const char *name, size_t len)
{
    const size_t before = strlen(folder);
    char *path = *to;

    memcpy(path, folder, before);
    memcpy(path + before, name, len);
    path[before + len] = '\0';
    *to += before + len + 1;
    return path;
}

/* Logs see the texts kept of the first file, with this answer's own values. */
static void alike_log(const cache_loan *loan, char **to, const char *name, size_t len,
                      const file_identity *is)
{
    const cache_names *names = loan->like->alike->names;
    struct cache_observed *o = loan->like->log;

    o->uri = alike_path(to, names->path, name, len);
    o->filename = alike_path(to, folder_held_path(names->folder), name, len);
    o->own_urls = 1;
    o->finfo.size = (apr_off_t)is->size;
    o->finfo.inode = (apr_ino_t)is->ino;
    o->finfo.mtime = alike_mtime(is);
    o->finfo.ctime = is->ctime_ns / 1000;
}

/* Behind the head: its values, the path, the name of the file, and the body. */
static cache_loan *alike_make(cache_entry *like, const char *name, size_t len,
                              const file_identity *is, int fd)
{
    const cache_names *names = like->alike->names;
    const size_t paths = names->path_len + strlen(folder_held_path(names->folder)) + 2 * len + 2;
    char *to;
    cache_loan *loan = cache_loan_new(like, sizeof(alike_values) + paths + (size_t)is->size, &to);
    alike_values *values = (alike_values *)(void *)to;

    if (!loan)
        return NULL;
    loan->entry.mtime = alike_mtime(is);
    alike_values_of(values, like->alike->etag_bits, is);
    alike_head(loan, values);
    to += sizeof *values;
    if (like->log)
        alike_log(loan, &to, name, len, is);
    loan->body.data = to;
    loan->body.len = (apr_off_t)is->size;
    if (!folder_held_read(fd, to, (size_t)is->size))
        return loan;
    cache_release(&loan->entry);
    return NULL;
}

/* A file that is requested again is stored, by the full way. */
static int alike_is_new(response_cache *c, const http_head *h, uint64_t hash)
{
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];

    admission_sample(&c->admission, c->entries_n);
    return admission_count(&c->admission, hash) == 1 &&
           !cache_hot_is(host->value, host->value_len, h->uri, h->uri_len, c->loop->monotonic);
}

/* The entry of its kind, if it holds for the name. */
static cache_entry *alike_find(response_cache *c, const brg_conn *bc, const http_head *h,
                               const char *name, size_t name_len)
{
    const cache_asked asked = {.head = h, .bc = bc};
    const cache_place at = cache_place_of(bc);
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    char key[CACHE_NAME_PATH_MOST];
    const size_t len = cache_name_key(key, h->uri, name, name_len, ALIKE_KIND);
    cache_entry *e;
    uint64_t hash;

    e = len ? cache_find(c, &at, host->value, host->value_len, key, len, &asked, &hash) : NULL;
    if (!e || !e->alike || e->alike->state != ALIKE_READY)
        return NULL;
    if (cache_sources[e->source].is_current(c, e))
        return folder_held_is_there(e->alike->names->folder) &&
                       !folder_held_lacks(e->alike->names->folder, name, name_len) &&
                       cache_names_decide_alike(e->alike->names, e->server, name, name_len, 1)
                   ? e
                   : NULL;
    cache_forget(c, e);
    return NULL;
}

static cache_loan *alike_open(const response_cache *c, cache_entry *like, const char *name,
                              size_t name_len)
{
    cache_loan *loan = NULL;
    file_identity is;
    const int fd = folder_held_open(like->alike->names->folder, name, name_len, &is);

    if (fd < 0)
        return NULL;
    if (is.size && is.size <= ALIKE_BODY_MOST && alike_mtime(&is) + CACHE_REST_US < c->loop->wall)
        loan = alike_make(like, name, name_len, &is, fd);
    close(fd);
    return loan;
}

cache_entry *cache_alike_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                               const http_codec *codec, uint64_t hash)
{
    size_t name_len;
    const char *name = cache_name_of(h->uri, h->uri_len, &name_len);
    cache_entry *like =
        name && cache_head_is_plain(h) ? alike_find(c, bc, h, name, name_len) : NULL;
    cache_loan *loan;

    BRG_ASSERT(!c->lent);
    if (!like || !alike_is_new(c, h, hash) || !(loan = alike_open(c, like, name, name_len)))
        return NULL;
    return cache_loan_lend(c, loan, codec);
}

/* ---- an entry's end ---- */

void cache_alike_drop(response_cache *c, cache_entry *e)
{
    if (!e->alike)
        return;
    BRG_ASSERT(c->alike_n > 0);
    c->alike_n--;
    cache_names_end(e->alike->names);
    free(e->alike);
    e->alike = NULL;
}

size_t cache_alike_bytes(const cache_entry *e)
{
    return e->alike ? cache_block(sizeof *e->alike) +
                          cache_block(sizeof *e->alike->names + e->alike->names->path_len + 1)
                    : 0;
}
