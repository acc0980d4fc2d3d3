/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from the response cache. cache_store.c fills it. */
#include "cache_absent_private.h"
#include "cache_below_private.h"
#include "cache_alike_private.h"
#include "cache_moved_private.h"
#include "cache_names_private.h"
#include "cache_observed_private.h"
#include "cache_parts_private.h"
#include "cache_route.h"
#include "cache_source_private.h"
#include "keyed_hash.h"
#include "scores.h"
#include "transaction.h"
#include "transport.h"
#include "universal_hash.h"
#include <stdlib.h>
#include <string.h>

/* ---- answering ---- */

/* Inlined in its few callers: a call costs more than most of their work. */
#define ANSWER_INLINE static inline __attribute__((always_inline))

ANSWER_INLINE int head_is_simple(const http_head *h)
{
    const int16_t *k = h->known;

    return (h->method_id == HTTP_METHOD_GET || h->method_id == HTTP_METHOD_HEAD) && h->major >= 1 &&
           h->major <= 3 && h->uri[0] == '/' && !h->has_body && !h->repeated && !h->upgrade &&
           (k[HTTP_F_IF_MATCH] & k[HTTP_F_IF_UNMODIFIED_SINCE] & k[HTTP_F_EXPECT] &
            k[HTTP_F_TRANSFER_ENCODING] & k[HTTP_F_CONTENT_LENGTH]) == -1;
}

/* The request is for a part, if the condition of If-Range holds. */
ANSWER_INLINE int head_names_range(const http_head *h)
{
    return (h->known[HTTP_F_RANGE] & h->known[HTTP_F_IF_RANGE]) != -1;
}

ANSWER_INLINE int entry_is_current(response_cache *c, cache_entry *e)
{
    BRG_ASSERT_DEBUG(e->in_cache);
    if (e->source == CACHE_SOURCE_WATCHES) /* most are: without a call */
        return !watch_changed(c->watch, &e->owner);
    return cache_sources[e->source].is_current(c, e);
}

enum { COND_NONE, COND_NOT_MODIFIED, COND_ASK };

/* Whatever a condition is but the entry's own validator, as it was told. */
static int __attribute__((noinline))
entry_compare(const cache_entry *e, const http_head *h, apr_time_t now)
{
    const int by_tag = h->known[HTTP_F_IF_NONE_MATCH] >= 0;
    const http_validators v = cache_validators_of(e, h, now);
    char value[CACHE_CONDITION_ROOM];

    if (!(by_tag ? e->etag_len : e->last_modified_len) ||
        cache_condition_text(
            value, &h->field[h->known[by_tag ? HTTP_F_IF_NONE_MATCH : HTTP_F_IF_MODIFIED_SINCE]]))
        return COND_ASK;
    return (by_tag ? http_if_none_match(&v, value) : http_if_modified_since(&v, value)) ==
                   AP_CONDITION_NOMATCH
               ? COND_NONE
               : COND_NOT_MODIFIED;
}

ANSWER_INLINE int entry_told(const http_field *f, const char *validator, size_t len)
{
    return len && f->value_len == len && !memcmp(f->value, validator, len);
}

ANSWER_INLINE int entry_condition(const cache_entry *e, const http_head *h, apr_time_t now)
{
    const int16_t tag = h->known[HTTP_F_IF_NONE_MATCH], date = h->known[HTTP_F_IF_MODIFIED_SINCE];

    if ((tag & date) == -1)
        return COND_NONE;
    if (tag >= 0 && entry_told(&h->field[tag], e->etag, e->etag_len))
        return COND_NOT_MODIFIED;
    if (tag < 0 && h->known[HTTP_F_RANGE] < 0 &&
        entry_told(&h->field[date], e->last_modified, e->last_modified_len))
        return COND_NOT_MODIFIED;
    return entry_compare(e, h, now);
}

/* The part for Content-Range. */
ANSWER_INLINE const http_part *choice_part(const cache_choice *choice)
{
    return choice && choice->n == 1 ? choice->part : NULL;
}

/* The field that is for this request alone stands behind all others. @return 0: there is no room */
static size_t __attribute__((noinline)) put_added(const response_cache *c, char *out, size_t len)
{
    const size_t name = strlen(c->added_name), value = (size_t)c->added_len;
    char *to = out + len - 2; /* the empty line comes behind it */

    if (len < 2 || len + name + value + 4 > GATHER_HEAD_MAX)
        return 0;
    memcpy(to, c->added_name, name);
    to += name;
    *to++ = ':';
    *to++ = ' ';
    memcpy(to, c->added, value);
    to += value;
    memcpy(to, "\r\n\r\n", 4);
    return (size_t)(to + 4 - out);
}

/* NULL: it cannot be sent in this form, or there is no memory. */
static inline http_stored_head *head_form(cache_head *head, const http_codec *codec)
{
    http_stored_head **form = &head->form[codec->protocol];

    return *form ? *form : (*form = codec->serialise(head->answer, NULL));
}

/* @return its length; 0: it cannot be sent in this form, or there is no memory */
ANSWER_INLINE size_t put_head(response_cache *c, cache_head *head, const cache_choice *choice,
                              const brg_conn *bc, const server_rec *s, const http_head *h,
                              const http_codec *codec, int keep)
{
    http_stored_head *form = head_form(head, codec);
    const http_answer_terms terms = {
        .now = c->loop->wall,
        .first = bc->requests == 0,
        .close = !keep,
        .asked = h->keep_alive,
        .keep_alive = s->keep_alive_timeout,
        .left = s->keep_alive_max ? s->keep_alive_max - (int)bc->requests : -1};
    size_t len;

    if (!form)
        return 0;
    len = choice && choice->n ? codec->put_part(gather_head(bc->loop->out), form, head->answer,
                                                &terms, choice_part(choice), choice->len)
                              : codec->put(gather_head(bc->loop->out), form, head->answer, &terms);
    if (head->answer->added) {
        BRG_ASSERT(c->added_name != NULL);
        len = put_added(c, gather_head(bc->loop->out), len);
        if (!len)
            return 0;
    }
    gather_add_head(bc->loop->out, len);
    return len;
}

ANSWER_INLINE void put_body(response_cache *c, cache_entry *e, brg_conn *bc, apr_off_t off,
                            apr_off_t len)
{
    const cache_body *b = e->body;

    bc->ways = 0;
    if (b->data && gather_fits_behind(bc->loop->out, (size_t)len) && transport_is_plain(bc)) {
        gather_add_behind(bc->loop->out, b->data + off, (size_t)len);
        return;
    }
    if (b->data) {
        cache_put_bytes(c, e, bc, off, (size_t)len);
        return;
    }
    gather_flush(bc->loop->out, bc, 1);
    gather_send_file(bc, &e->ref, &e->body->kept, b->fd, off, len, e->way);
}

ANSWER_INLINE void put_choice(response_cache *c, cache_entry *e, brg_conn *bc,
                              const cache_choice *choice)
{
    if (choice->page)
        gather_add_body(bc->loop->out, choice->page, (size_t)choice->len, &e->ref);
    else if (choice->n == 1)
        put_body(c, e, bc, choice->part->first, choice->len);
    else
        cache_put_parts(c, e, bc, choice);
}

enum { PICK_NONE, PICK_WHOLE, PICK_NOT_MODIFIED, PICK_CHOSEN };

/* The head and body that an entry has for a request. */
typedef struct cache_pick {
    cache_head *head;
    const cache_choice *choice;    /* of a request with a range; NULL: the whole body, or none */
    apr_off_t len;                 /* bytes of the body, with the framing */
    int frame_before, frame_after; /* of them */
} cache_pick;

/* @param choice  set, if picked is PICK_CHOSEN */
ANSWER_INLINE cache_pick pick_of(cache_entry *e, const http_head *h, int picked,
                                 const cache_choice *choice)
{
    const int has_body =
        picked == PICK_WHOLE && h->method_id == HTTP_METHOD_GET && cache_body_len(e) > 0;

    BRG_ASSERT_DEBUG(picked != PICK_NONE);
    BRG_ASSERT(picked == PICK_NOT_MODIFIED ? e->head_304.answer != NULL
                                           : e->filled || picked == PICK_CHOSEN);
    if (picked == PICK_CHOSEN)
        return (cache_pick){choice->head, choice, choice->len, choice->before, choice->after};
    return (cache_pick){.head = picked == PICK_NOT_MODIFIED ? &e->head_304 : &e->head,
                        .len = has_body ? cache_body_len(e) : 0,
                        .frame_before = has_body ? e->frame_before : 0,
                        .frame_after = has_body ? e->frame_after : 0};
}

ANSWER_INLINE void answer_count(cache_entry *e, const cache_pick *pick, apr_off_t body)
{
    const cache_head *head = pick->head;
    const int class = head == &e->head ? e->class : figures_class(head->answer->status);

    BRG_ASSERT_DEBUG(class == figures_class(head->answer->status));
    BRG_ASSERT_DEBUG(body >= 0);
    e->answered++;
    figures_add(&e->count->by_class[class], 1);
    figures_add(&e->count->bytes, (uint64_t)body);
}

/* It is answered: figures, displacement and logs are told. @param head_sent  bytes, without frames of the body */
ANSWER_INLINE void answer_end(response_cache *c, cache_entry *e, brg_conn *bc, const http_head *h,
                              const cache_pick *pick, size_t head_sent, int frame)
{
    const apr_off_t body = pick->len - pick->frame_before - pick->frame_after;

    transaction_enter(bc, TRANSACTION_LOG);
    cache_touch(c, e);
    c->figures.hits++;
    answer_count(e, pick, body);
    if (e->observed)
        cache_observe(e, bc, h,
                      &(cache_observed_answer){.answer = pick->head->answer,
                                               .part = choice_part(pick->choice),
                                               .partial = pick->choice && pick->choice->n,
                                               .head_sent = head_sent + (size_t)frame,
                                               .body_sent = body});
}

ANSWER_INLINE int answer(response_cache *c, cache_entry *e, brg_conn *bc, const http_head *h,
                         const http_codec *codec, const cache_pick *pick)
{
    const server_rec *s = e->server;
    const int keep = !h->close && (h->minor || h->keep_alive) && transaction_keeps(bc, s);
    size_t head_sent;

    if (!gather_has_room(bc->loop->out) || (pick->choice && pick->choice->n > 1))
        gather_flush(bc->loop->out, bc, 0);
    head_sent = put_head(c, pick->head, pick->choice, bc, s, h, codec, keep);
    if (!head_sent)
        return 0;
    transaction_enter(bc, TRANSACTION_SEND);
    if (pick->choice)
        put_choice(c, e, bc, pick->choice);
    else if (pick->len)
        put_body(c, e, bc, 0, pick->len);
    if (!keep)
        /* A client of TLS still sends close_notify, which would cause a reset and lose its unread
         * bytes. */
        bc->close_after =
            (h->close || h->minor == 0) && transport_is_plain(bc) ? CONN_SHUT : CONN_DRAIN;
    answer_end(c, e, bc, h, pick, head_sent, pick->frame_before + pick->frame_after);
    transaction_end(bc, s, TRANSACTION_STORED);
    return 1;
}

/* The pick for a request with Range or If-Range; PICK_NONE: the full way. */
static int range_pick(response_cache *c, const cache_entry *e, const http_head *h,
                      const http_codec *codec, cache_choice *choice)
{
    const int cond = e->status == HTTP_OK ? entry_condition(e, h, c->loop->wall) : COND_NONE;
    cache_range_verdict verdict = CACHE_RANGE_ASK;

    if (cond == COND_NOT_MODIFIED && e->head_304.answer)
        return PICK_NOT_MODIFIED;
    if (cond == COND_NONE)
        verdict = cache_choose(e, h, codec, c->loop->wall, choice);
    if (verdict == CACHE_RANGE_CHOSEN)
        return PICK_CHOSEN;
    if (verdict == CACHE_RANGE_WHOLE && e->filled)
        return PICK_WHOLE;
    c->figures.misses++;
    return PICK_NONE;
}

static int __attribute__((noinline)) answer_range(response_cache *c, cache_entry *e, brg_conn *bc,
                                                  const http_head *h, const http_codec *codec)
{
    cache_choice choice;
    const int picked = range_pick(c, e, h, codec, &choice);
    cache_pick pick;

    BRG_ASSERT(picked != PICK_CHOSEN || (!e->coded && e->body));
    if (picked == PICK_NONE)
        return 0;
    pick = pick_of(e, h, picked, &choice);
    return (!e->gated || cache_gates_admit(e, bc, h, pick.len)) &&
           answer(c, e, bc, h, codec, &pick);
}

/* 0: it is for the full way, or goes by its plan; an entry that is out of date is forgotten. */
ANSWER_INLINE int entry_may_answer(response_cache *c, cache_entry *e, const brg_conn *bc,
                                   const http_head *h, cache_entry **planned)
{
    if (!entry_is_current(c, e)) {
        c->figures.changed++;
        cache_forget(c, e);
        return 0;
    }
    if (!e->filled && !(e->filled_304 | e->filled_206)) {
        if (e->plan && !c->added_name) {
            cache_touch(c, e);
            *planned = e;
        }
        return 0;
    }
    if ((e->status != HTTP_OK || e->coded || !cache_body_len(e)) && h->method_id != HTTP_METHOD_GET)
        return 0; /* the head of the answer to HEAD is another one */
    return !e->frame_before || h->major > 1 || h->minor > 0; /* HTTP/1.0 knows no chunks */
}

/* The plan for all that is not there below a folder, or for all below a prefix. @return its entry, or NULL */
static cache_entry *__attribute__((noinline))
entry_below(response_cache *c, const cache_place *at, const http_head *h, const cache_asked *asked,
            cache_entry **planned)
{
    cache_entry *e = cache_below_find(c, at, h, asked);

    if (e && !entry_is_current(c, e)) {
        c->figures.changed++;
        cache_forget(c, e);
        return NULL;
    }
    if (e && !c->added_name) {
        cache_touch(c, e);
        *planned = e;
    }
    return e;
}

/* The entry for a request that may be answered from memory, or NULL. */
ANSWER_INLINE cache_entry *answer_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                                        const http_codec *codec, cache_entry **planned)
{
    const cache_asked asked = {.head = h, .bc = bc};
    const cache_place at = cache_place_of(bc);
    const http_field *host;
    const uint32_t entries = c->entries_n;
    cache_entry *e;
    uint64_t hash;

    *planned = NULL;
    if (!c->buckets_n || !head_is_simple(h) || h->known[HTTP_F_HOST] < 0 || bc->failed)
        return NULL;
    host = &h->field[h->known[HTTP_F_HOST]];
    e = cache_find(c, &at, host->value, host->value_len, h->uri, h->uri_len, &asked, &hash);
    if (e && entry_may_answer(c, e, bc, h, planned))
        return e;
    if (c->moved_n && !e && (e = cache_moved_find(c, &at, h, &asked)) != NULL &&
        entry_may_answer(c, e, bc, h, planned))
        return cache_moved_entry(c, e, h, codec);
    if (c->absent_n > c->below_n + c->moved_n && !e &&
        (e = cache_absent_find(c, &at, h, &asked)) != NULL &&
        entry_may_answer(c, e, bc, h, planned))
        return e->absent->location_at < 0 ? e : cache_moved_entry(c, e, h, codec);
    if (c->below_n && !e)
        e = entry_below(c, &at, h, &asked, planned);
    if (c->alike_n && !e && (e = cache_alike_entry(c, bc, h, codec, hash)) != NULL)
        return e;
    if (c->routes && (!e || c->entries_n < entries) && /* no entry, or an outdated one */
        (e = cache_route_entry(c, bc, h, codec, hash)) != NULL)
        return e;
    c->figures.misses++;
    return NULL;
}

/* The pick for a request without a range; PICK_NONE: the full way. */
ANSWER_INLINE int plain_pick(response_cache *c, const cache_entry *e, const http_head *h)
{
    const int cond = e->status == HTTP_OK ? entry_condition(e, h, c->loop->wall) : COND_NONE;

    if (cond == COND_NOT_MODIFIED && e->head_304.answer)
        return PICK_NOT_MODIFIED;
    if (cond == COND_NONE && e->filled)
        return PICK_WHOLE;
    c->figures.misses++;
    return PICK_NONE;
}

/* The bytes of the body, without the framing. -1: no memory. */
static int reply_body(cache_entry *e, const cache_pick *pick, cache_reply *reply)
{
    const cache_choice *choice = pick->choice;
    const apr_off_t first = choice && choice->n == 1 ? choice->part->first : 0;

    if (choice && choice->n > 1)
        return cache_reply_parts(e, choice, reply);
    shared_hold(reply->owner = &e->ref);
    if (!pick->len)
        return 0;
    reply->len = (size_t)(pick->len - pick->frame_before - pick->frame_after);
    reply->piece = choice && choice->page
                       ? (cache_piece){.data = choice->page + pick->frame_before, .len = reply->len}
                       : cache_piece_of(e->body, pick->frame_before + first, reply->len);
    return 0;
}

static int reply_from(response_cache *c, cache_entry *e, brg_conn *bc, const http_head *h,
                      const http_codec *codec, char *out, cache_reply *reply)
{
    const http_answer_terms terms = {.now = c->loop->wall, .left = -1};
    cache_choice choice;
    const int picked =
        head_names_range(h) ? range_pick(c, e, h, codec, &choice) : plain_pick(c, e, h);
    http_stored_head *form;
    cache_pick pick;

    if (picked == PICK_NONE)
        return 0;
    pick = pick_of(e, h, picked, &choice);
    if (pick.head->answer->added)
        return 0; /* it is added to heads of HTTP/1 alone */
    if (!(form = head_form(pick.head, codec)))
        return 0;
    if (e->gated && !cache_gates_admit(e, bc, h, pick.len))
        return 0;
    *reply = (cache_reply){.urgency = form->urgency};
    if (reply_body(e, &pick, reply))
        return 0;
    transaction_enter(bc, TRANSACTION_SEND);
    reply->head_len = pick.choice && pick.choice->n
                          ? codec->put_part(out, form, pick.head->answer, &terms,
                                            choice_part(pick.choice), pick.len)
                          : codec->put(out, form, pick.head->answer, &terms);
    answer_end(c, e, bc, h, &pick, reply->head_len, 0);
    transaction_end(bc, bc->base, TRANSACTION_STORED);
    return 1;
}

int cache_reply_to(response_cache *c, brg_conn *bc, const http_head *h, const http_codec *codec,
                   char *out, cache_reply *reply, cache_entry **planned)
{
    cache_entry *e = answer_entry(c, bc, h, codec, planned);
    const int sent = e && reply_from(c, e, bc, h, codec, out, reply);

    if (c->lent)
        cache_route_end(c);
    return sent;
}

ANSWER_INLINE int answer_plain(response_cache *c, cache_entry *e, brg_conn *bc, const http_head *h,
                               const http_codec *codec)
{
    const int picked = plain_pick(c, e, h);
    cache_pick pick;

    if (picked == PICK_NONE)
        return 0;
    pick = pick_of(e, h, picked, NULL);
    return (!e->gated || cache_gates_admit(e, bc, h, pick.len)) &&
           answer(c, e, bc, h, codec, &pick);
}

int cache_answer(response_cache *c, brg_conn *bc, const http_head *h, const http_codec *codec,
                 cache_entry **planned)
{
    cache_entry *e = answer_entry(c, bc, h, codec, planned);
    int sent;

    if (!e)
        return 0;
    if (head_names_range(h))
        return answer_range(c, e, bc, h, codec);
    sent = answer_plain(c, e, bc, h, codec);
    if (c->lent)
        cache_route_end(c);
    return sent;
}

void cache_refresh(brg_loop *loop)
{
    if (loop->cache->watch && (loop->cache->entries_n || folders_are_known(loop)))
        watch_drain(loop->cache->watch);
}

static uint32_t buckets_for(const brg_core_conf *conf)
{
    uint32_t n = 1024;

    while (n < (uint32_t)conf->file_cache_entries_n && n < 1u << 20)
        n *= 2;
    return n;
}

/* The tables have their size from the beginning: none grows while requests wait. */
void cache_create(brg_loop *loop)
{
    response_cache *c = apr_pcalloc(loop->pool, sizeof *c);
    const brg_core_conf *conf = core_conf_of(loop->server);

    loop->cache = c;
    c->loop = loop;
    c->bytes_most = loop->config->cache_bytes;
    c->files_most = loop->config->max_files / loop->config->n_loops;
    if (conf->file_cache_entries_n <= 0)
        return;
    keyed_hash_seed();
    universal_hash_seed();
    c->bucket = calloc(buckets_for(conf), sizeof(*c->bucket));
    c->bodies_n = buckets_for(conf) / 2;
    c->bodies = calloc(c->bodies_n, sizeof(*c->bodies));
    if (!c->bucket || !c->bodies ||
        admission_create(&c->admission, (size_t)conf->file_cache_entries_n))
        return; /* without memory: without a cache */
    c->buckets_n = buckets_for(conf);
    if (conf->file_cache_validate == BRG_VALIDATE_INOTIFY)
        c->watch = watch_set_create((size_t)conf->file_cache_entries_n);
    if (c->watch && !loop->prefork) /* modules' waits are that thread's, too */
        watch_ring_open(c->watch);
    c->watches = c->watch != NULL;
    folders_open(loop, c->watch, cache_bytes_most(c, conf) / CACHE_FOLDERS_PART);
}

void cache_destroy(brg_loop *loop)
{
    response_cache *c = loop->cache;

    for (int queue = 0; queue < CACHE_QUEUES; queue++)
        while (c->queue[queue].oldest)
            cache_forget(c, c->queue[queue].oldest);
    cache_routes_drop(c);
    folders_close(loop);
    BRG_ASSERT(c->entries_n == 0 && c->bytes == 0 && c->files_n == 0);
    BRG_ASSERT(!c->file_newest && !c->file_oldest);
    if (c->watch)
        watch_set_destroy(c->watch);
    c->watch = NULL;
    c->watches = 0;
    admission_destroy(&c->admission);
    memory_file_release(c->memory);
    c->memory = NULL;
    free(c->bodies);
    free(c->bucket);
    c->bodies = NULL;
    c->bucket = NULL;
    c->buckets_n = 0;
}

void cache_figures_of(const response_cache *c, cache_figures *out)
{
    *out = c->figures;
    out->answers = c->queue[CACHE_ANSWERS].n;
    out->errors = c->queue[CACHE_ERRORS].n;
    out->bytes = cache_bytes(c);
    out->bytes_most = cache_bytes_most(c, core_conf_of(c->loop->server));
    out->watches = c->watch ? watch_count(c->watch) : 0;
}
