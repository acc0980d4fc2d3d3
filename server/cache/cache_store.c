/* SPDX-License-Identifier: Apache-2.0 */
/* Which finished requests are stored, and when. See cache_private.h for why it takes two full
 * runs. */
#include "coding.h"
#include "connection.h"
#include "cache_fill_private.h"
#include "cache_parts_private.h"
#include "cache_route.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "core_settings.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* A file that was changed within this time may change again without a new time stamp, and has a
 * weak ETag for so long: it is not stored yet. */
#define STORE_REST_US apr_time_from_sec(2)

/* An entry without its body, and its watches; of it, what comes when it is filled. */
#define STORE_ENTRY_BYTES 4096
#define STORE_FILL_BYTES 2048

int cache_refuse(policy_reason *reason, const char *why)
{
    *reason = (policy_reason){"the core", why, CACHE_REFUSED_NOT};
    return -1;
}

int cache_refuse_by(policy_reason *reason, cache_refusal why)
{
    static const char *const text[] = {
        [CACHE_REFUSED_SELDOM] = "it is asked for too seldom, or too large for FileCacheSize",
        [CACHE_REFUSED_RECENT] = "the file changed in the last two seconds",
        [CACHE_REFUSED_REQUEST] = "it is no plain GET request, and no HEAD of a file"};

    BRG_ASSERT(why > CACHE_REFUSED_NOT && why <= CACHE_REFUSED_REQUEST);
    *reason = (policy_reason){"the core", text[why], why};
    return -1;
}

/* ---- deciding ---- */

static int store_is_at_rest(const request_rec *r, const apr_finfo_t *finfo)
{
    return finfo->filetype == APR_REG && finfo->mtime + STORE_REST_US < r->request_time;
}

/* The body is read from the file. */
static int store_is_part_of_file(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return r->status == HTTP_PARTIAL_CONTENT && offer->path && !offer->coded;
}

/* The answer to a HEAD that says of the file what that to a GET would say. */
static int store_is_head_of_file(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const char *length = apr_table_get(r->headers_out, "Content-Length");

    return r->header_only && cache_request_may_arm(r) && offer->path && !offer->coded &&
           (r->status == HTTP_NOT_MODIFIED || (length && apr_atoi64(length) == r->finfo.size));
}

/* A list of variants that changed within the last second, by mod_negotiation: its tag will be a strong one. */
static int store_variants_change(const request_rec *r)
{
    return r->vlist_validator && r->vlist_validator[0] == 'W';
}

/* A phase sent the client elsewhere, or refused what it asked for. */
static int store_is_refusal(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (!c->watches || !offer->body || offer->from || !request_is_refused(r))
        return 0;
    switch (r->status) {
    case HTTP_MOVED_PERMANENTLY:
    case HTTP_MOVED_TEMPORARILY:
    case HTTP_SEE_OTHER:
    case HTTP_TEMPORARY_REDIRECT:
    case HTTP_PERMANENT_REDIRECT:
    case HTTP_UNAUTHORIZED:
    case HTTP_FORBIDDEN:
    case HTTP_NOT_FOUND:
    case HTTP_GONE:
        return cache_messages_last(r);
    default:
        return 0;
    }
}

/* A file that has been at rest, a body made from such, or a file that is not there: what else an
 * answer may be is not watched for. */
static int store_answer_is_lasting(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (offer->stored)
        return 1;
    if (store_variants_change(r))
        return 0;
    if (offer->path)
        return (r->status == HTTP_OK || r->status == HTTP_NOT_MODIFIED ||
                store_is_part_of_file(r)) &&
               (!r->path_info || !*r->path_info) && store_is_at_rest(r, &r->finfo);
    if (store_is_refusal(c, r))
        return 1;
    if (!c->watches || !r->filename || r->filename[0] != '/')
        return 0;
    if (offer->from)
        return (r->status == HTTP_OK || r->status == HTTP_NOT_MODIFIED) &&
               (apr_off_t)offer->len <= core_conf_of(r->server)->file_cache_max_file_bytes;
    if (r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return store_is_at_rest(r, &r->finfo);
    return r->status == HTTP_NOT_FOUND && r->finfo.filetype == APR_NOFILE;
}

static int store_queue(const request_rec *r)
{
    return r->status >= HTTP_BAD_REQUEST || request_is_refused(r) ? CACHE_ERRORS : CACHE_ANSWERS;
}

/* What the answer will take, about. */
static size_t store_bytes_wanted(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    apr_off_t most = core_conf_of(r->server)->file_cache_max_file_bytes;

    if (r->status == HTTP_NOT_MODIFIED || (offer->path && r->finfo.size > most))
        return STORE_ENTRY_BYTES;
    return STORE_ENTRY_BYTES + (size_t)(offer->path ? r->finfo.size : (apr_off_t)offer->len);
}

typedef struct target_key {
    const char *host;
    size_t host_len, uri_len;
    uint64_t hash;
} target_key;

static target_key target_key_of(const brg_conn *bc, request_rec *r)
{
    target_key key = {.host = apr_table_get(r->headers_in, "Host")};
    const cache_place at = cache_place_of(bc);

    key.host_len = strlen(key.host);
    key.uri_len = cache_leaves_query(r) ? cache_target_len(r) : strlen(r->unparsed_uri);
    key.hash = cache_hash(&at, key.host, key.host_len, r->unparsed_uri, key.uri_len);
    return key;
}

/* How often it was asked for, this time included. What was answered from memory before a reload, or by the program before this one,
 * counts as asked for again. */
static int store_count(response_cache *c, const request_rec *r, const target_key *key)
{
    const cache_stored *stored = request_offer_of(r)->stored;
    int count;

    admission_sample(&c->admission, c->entries_n);
    count = (int)admission_count(&c->admission,
                                 stored ? cache_lifetime_hash(key->hash, stored) : key->hash);
    return count == 1 && cache_hot_is(key->host, key->host_len, r->unparsed_uri, key->uri_len,
                                      c->loop->monotonic)
               ? 2
               : count;
}

/* Watches are system calls: what is asked for only once, by a crawler say, gets none. */
static int store_is_wanted(response_cache *c, const request_rec *r, int count)
{
    if (count > 1 && cache_make_room(c, core_conf_of(r->server), store_queue(r), (unsigned)count,
                                     store_bytes_wanted(r)))
        return 1;
    c->figures.rejected++;
    return 0;
}

/* Of what nothing is stored: who asked for it first need not ask all modules. @return how often it was asked for; 0: that is not known */
static int store_count_early(response_cache *c, request_rec *r)
{
    target_key key;

    if (c->is_workers || request_offer_of(r)->stored)
        return 0;
    key = target_key_of(connection_of(r->connection), r);
    return store_count(c, r, &key);
}

/* It may be the one that has to go. 1: it is there still */
static int store_bound(response_cache *c, cache_entry *e, const request_rec *r)
{
    int stays;

    cache_hold(e);
    cache_limit_variants(c, e);
    cache_trim(c, core_conf_of(r->server));
    stays = e->in_cache;
    cache_release(e);
    return stays;
}

/* Armed, or validated by stat; NULL: it cannot be stored, or is not worth it. @param count  0: it was not counted yet */
static cache_entry *store_new(response_cache *c, request_rec *r, int count, policy_reason *reason)
{
    const brg_conn *bc = connection_of(r->connection);
    const target_key key = target_key_of(bc, r);
    cache_entry *e;

    if (!count && !c->is_workers)
        count = store_count(c, r, &key);
    if (c->is_workers || !store_is_wanted(c, r, count)) {
        cache_refuse_by(reason, CACHE_REFUSED_SELDOM);
        return NULL;
    }
    e = cache_add(c, &(cache_place){bc->listener, bc->chain, bc->protocol}, key.host, key.host_len,
                  r->unparsed_uri, key.uri_len, key.hash, store_queue(r));
    if (!e) {
        cache_refuse(reason, "there is no room in the cache");
        return NULL;
    }
    BRG_ASSERT(count > 1 && count <= ADMISSION_COUNT_MOST);
    e->uses = (uint8_t)count;
    e->any_query = cache_leaves_query(r) != 0;
    /* Else many entries would be armed for which there is no room once their bodies come, and each
     * that is filled would drive another one out: in a cycle the one that is asked for next. */
    e->reserved = store_bytes_wanted(r) - STORE_ENTRY_BYTES + STORE_FILL_BYTES;
    cache_account(c, e);
    if (cache_vary_take(c, e, r))
        cache_refuse(reason,
                     "it depends on more request fields than are kept, or requests with such a "
                     "value of one are answered anew");
    if (reason->module || cache_arm(c, e, r, reason)) {
        cache_forget(c, e);
        return NULL;
    }
    return store_bound(c, e, r) ? e : NULL;
}

/* 1 if r depends on the client's address, and later requests cannot be told apart by it. */
static int store_client_is_open(const request_rec *r, policy_reason *reason)
{
    const int varies = cache_varies_by_client(r);
    const char *changer = varies ? policy_client_changer() : NULL;

    if (changer)
        *reason = (policy_reason){
            changer, "it may give clients other addresses, on which the answer depends", 0};
    else if (varies < 0)
        cache_refuse(reason, "it depends on the client's address, and on more, or such clients are "
                             "answered anew");
    return changer || varies < 0;
}

/* What all who took part say, and the fields that the answer depended on. */
static int store_ask(request_rec *r, policy_reason *reason)
{
    int codings = request_offer_of(r)->codings, depends;

    if (request_is_debugged(r)) {
        cache_refuse(reason, "LogLevel asks for debug messages: what phases say is said each time");
        return BRG_CACHE_VOLATILE;
    }
    depends =
        request_offer_of(r)->stored ? policy_ask_early(r, reason) : policy_ask_modules(r, reason);
    if (depends != BRG_CACHE_VOLATILE && store_client_is_open(r, reason))
        depends = BRG_CACHE_VOLATILE;
    if (depends != BRG_CACHE_VOLATILE && codings)
        brg_cache_vary(r, "Accept-Encoding", coding_accepted, (const void *)(intptr_t)codings);
    if (depends != BRG_CACHE_VOLATILE && cache_changes_settle(r, reason))
        depends = BRG_CACHE_VOLATILE;
    if (depends != BRG_CACHE_VOLATILE)
        reason->module = NULL;
    return depends;
}

static int store_has_changed(response_cache *c, cache_entry *e)
{
    return cache_sources[e->source].has_changed(c, e);
}

static int store_has_part(const cache_entry *e, const request_rec *r)
{
    return e->ranges &&
           (cache_is_multipart(r) ? e->ranges->parts.answer : e->ranges->part.answer) != NULL;
}

/* 1 if there is nothing that this answer could add to the entry. */
static int store_has_all(const cache_entry *e, const request_rec *r)
{
    int not_modified = r->status == HTTP_NOT_MODIFIED;

    if (r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return !e->filled || e->status != HTTP_OK || !e->body || e->coded ||
               (e->ranges && e->ranges->outside.answer);
    if (r->status == HTTP_PARTIAL_CONTENT)
        return store_has_part(e, r) || e->coded || e->uncacheable || e->fill;
    if (e->filled || (not_modified && e->filled_304))
        return !not_modified || e->head_304.answer != NULL;
    return e->uncacheable || e->fill;
}

/* The entry that the answer may fill; it has been armed by another one. NULL: none. */
static cache_entry *store_entry(response_cache *c, request_rec *r, cache_entry *e, int count,
                                policy_reason *reason)
{
    BRG_ASSERT(!e || e->filled || e->fingerprint); /* armed by another answer */
    if (e && !e->filled &&
        (strcmp(e->fingerprint, cache_fingerprint(r)) || !cache_vary_same(e, r) ||
         e->queue != store_queue(r))) {
        cache_forget(c, e);
        e = NULL;
    }
    if (e) {
        if (!c->is_workers)
            cache_touch(c, e);
        return e;
    }
    e = store_new(c, r, count, reason);
    if (!e || !(cache_sources[e->source].fills_at_once || e->compared))
        return NULL; /* armed: the next full run fills it */
    if (r->status != HTTP_OK && r->status < HTTP_BAD_REQUEST && !request_is_refused(r) &&
        !e->lifetime) { /* not enough to be validated by stat */
        cache_forget(c, e);
        return NULL;
    }
    return e;
}

/* Of an answer that is not lasting: it will be one soon. */
static int store_is_young(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return store_variants_change(r) ||
           (r->finfo.filetype == APR_REG && !store_is_at_rest(r, &r->finfo) &&
            (offer->path || r->status == HTTP_RANGE_NOT_SATISFIABLE));
}

/* Of one that never will. */
static const char *store_kind(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (offer->path && r->path_info && *r->path_info)
        return "its target goes on behind the name of a file";
    if (!offer->path && !c->watches)
        return "files are not watched, so only files themselves are kept";
    if (offer->from && r->status == HTTP_OK)
        return "the page is longer than FileCacheMaxFile";
    if (request_is_refused(r) && !cache_messages_last(r))
        return "the error log says of it what LogLevel of a section asks for";
    return "answers of this status are not kept, or only those that a phase gave before the "
           "handler";
}

int cache_kind_keeps_out(const response_cache *c, const request_rec *r, policy_reason *reason)
{
    if (!cache_request_is_plain(r) && !store_is_head_of_file(r))
        return cache_refuse_by(reason, CACHE_REFUSED_REQUEST);
    if (store_answer_is_lasting(c, r))
        return 0;
    return store_is_young(r) ? cache_refuse_by(reason, CACHE_REFUSED_RECENT)
                             : cache_refuse(reason, store_kind(c, r));
}

/* A range that is out of reach of a file that is stored: the page of 416 is stored beside it. */
static void store_fill_outside(response_cache *c, cache_entry *e, request_rec *r)
{
    if (c->is_workers || store_has_changed(c, e))
        return;
    cache_fill_416(c, e, r);
    cache_trim(c, core_conf_of(r->server));
}

/* An entry whose body is another one: what is stored stays as it is. */
static void store_fill_part(response_cache *c, cache_entry *e, request_rec *r)
{
    const int had_body = e->body != NULL;

    BRG_ASSERT(e->in_cache && !e->coded && !e->uncacheable && !e->fill); /* store_has_all() */
    if (!c->is_workers && cache_fill_206(c, e, r) && !had_body && e->body)
        cache_forget(c, e); /* of a kind that is not sent from memory */
}

static void store_fill(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason)
{
    if (store_has_changed(c, e)) {
        cache_refuse(reason, "what it depends on changes while it is answered");
        cache_forget(c, e);
    } else if (r->status == HTTP_NOT_MODIFIED) {
        cache_fill_304(c, e, r);
    } else if (r->status == HTTP_PARTIAL_CONTENT) {
        store_fill_part(c, e, r);
    } else if (cache_fill(c, e, r)) {
        cache_refuse(reason, "its head or its body cannot be stored as a whole");
        cache_forget(c, e);
    } else if (e->uncacheable) {
        cache_refuse(reason, "what filters made of it is longer than FileCacheMaxFile");
    } else {
        c->verdict = CACHE_KEEPS;
        if (e->lifetime && !c->is_workers)
            cache_route_learn(c, e, r);
    }
    cache_trim(c, core_conf_of(r->server));
}

/* How the request was sent on, in place of its answer. What its target had before is another answer's. */
static void store_plan(response_cache *c, request_rec *r, policy_reason *reason)
{
    uint64_t hash;
    cache_entry *e = cache_find_for(c, r, &hash);
    int depends;

    BRG_ASSERT(!c->is_workers && cache_request_is_plain(r));
    if (e && e->plan)
        return;
    if (e)
        cache_forget(c, e);
    depends = store_ask(r, reason);
    if (depends == BRG_CACHE_VOLATILE || !cache_plan_is_open(r) ||
        !(e = store_new(c, r, 0, reason)))
        return;
    e->observed = depends == BRG_CACHE_OBSERVED ? CACHE_OBSERVED_BY_LOGS : 0;
    if (cache_plan_fill(c, e, r))
        cache_forget(c, e);
    cache_trim(c, core_conf_of(r->server));
}

void cache_store(response_cache *c, request_rec *r, policy_reason *reason)
{
    policy_reason kind = {.module = NULL};
    const int is_kept_out = cache_kind_keeps_out(c, r, &kind);
    cache_entry *e;
    uint64_t hash;
    int depends, count;

    if (request_offer_of(r)->plan) {
        store_plan(c, r, reason);
        return;
    }
    if (is_kept_out) {
        *reason = kind;
        return;
    }
    e = cache_find_for(c, r, &hash);
    if (e &&
        (e->plan || !cache_lifetime_is_of(e, r))) { /* an answer of another kind, or of before */
        cache_forget(c, e);
        e = NULL;
    }
    if (e ? store_has_all(e, r) : r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return;
    count = e || r->status == HTTP_RANGE_NOT_SATISFIABLE ? 0 : store_count_early(c, r);
    if (count == 1) {
        c->figures.rejected++;
        cache_refuse_by(reason, CACHE_REFUSED_SELDOM);
        return;
    }
    depends = store_ask(r, reason);
    if (depends == BRG_CACHE_VOLATILE) {
        if (e && !e->filled)
            cache_forget(c, e);
        return;
    }
    if (e && e->filled && cache_varies_by_client(r) && !cache_vary_same(e, r))
        return; /* what tells clients apart has changed since r was decided */
    if (r->status == HTTP_RANGE_NOT_SATISFIABLE) {
        store_fill_outside(c, e, r);
        return;
    }
    if (!(e = store_entry(c, r, e, count, reason)))
        return;
    if (!e->filled)
        e->observed = (depends == BRG_CACHE_OBSERVED ? CACHE_OBSERVED_BY_LOGS : 0) |
                      (cache_messages_of(r) ? CACHE_OBSERVED_BY_MESSAGES : 0) |
                      (e->lifetime ? CACHE_OBSERVED_BY_STORE : 0);
    store_fill(c, e, r, reason);
}

cache_entry *cache_armed_for(response_cache *c, request_rec *r)
{
    policy_reason reason = {.module = NULL};
    cache_entry *e;
    uint64_t hash;

    if (!store_answer_is_lasting(c, r))
        return NULL;
    if ((e = cache_find_for(c, r, &hash)) != NULL)
        return !e->filled && store_ask(r, &reason) != BRG_CACHE_VOLATILE && cache_vary_same(e, r)
                   ? e
                   : NULL;
    if (store_ask(r, &reason) != BRG_CACHE_VOLATILE && (e = store_new(c, r, 0, &reason)) != NULL &&
        cache_sources[e->source].fills_at_once)
        cache_forget(c, e); /* who arms it fills it, and r is not answered yet */
    return NULL;
}
