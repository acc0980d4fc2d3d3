/* SPDX-License-Identifier: Apache-2.0 */
/* Which finished requests are stored, and when. See cache_private.h for why it takes two full
 * runs. */
#include "coding.h"
#include "connection.h"
#include "cache_absent_private.h"
#include "cache_alike_private.h"
#include "cache_below_private.h"
#include "cache_fill_private.h"
#include "cache_moved_private.h"
#include "cache_parts_private.h"
#include "cache_plan.h"
#include "cache_route.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "core_settings.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* An entry without its body, and its watches; the share of these bytes that comes with filling. */
#define STORE_ENTRY_BYTES 4096
#define STORE_FILL_BYTES 2048

int cache_refuse(policy_reason *reason, const char *why)
{
    *reason = (policy_reason){"the core", why, CACHE_REFUSED_NOT};
    return -1;
}

/* Set *reason to one of these. @return -1 */
static int cache_refuse_by(policy_reason *reason, cache_refusal why)
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
    return finfo->filetype == APR_REG && finfo->mtime + CACHE_REST_US < r->request_time;
}

/* The body is read from the file. */
static int store_is_part_of_file(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return r->status == HTTP_PARTIAL_CONTENT && offer->path && !offer->coded;
}

/* The answer to a HEAD, with the same head as for a GET of the file. */
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

/* A phase redirected or refused the request. */
static int store_is_refusal(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (!c->watches || (!offer->body && !offer->document) || offer->from || !request_is_refused(r))
        return 0;
    switch (r->status) {
    case HTTP_UNAUTHORIZED:
    case HTTP_FORBIDDEN:
    case HTTP_NOT_FOUND:
    case HTTP_GONE:
        return cache_messages_last(r);
    default:
        return cache_moved_is(r) && cache_messages_last(r);
    }
}

static int store_is_missing(const request_rec *r)
{
    return r->status == HTTP_NOT_FOUND && r->finfo.filetype == APR_NOFILE && cache_messages_last(r);
}

/* The file of an error document, for a refusal or what is not there. */
static int store_document_is_lasting(const response_cache *c, const request_rec *r)
{
    const request_rec *sender = request_offer_of(r)->document;

    return (store_is_refusal(c, r) ||
            (r->filename && r->filename[0] == '/' && store_is_missing(r))) &&
           (!sender->path_info || !*sender->path_info) && store_is_at_rest(sender, &sender->finfo);
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
    if (offer->document)
        return store_document_is_lasting(c, r);
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
    return store_is_missing(r);
}

static int store_queue(const request_rec *r)
{
    const int is_error = r->status >= HTTP_BAD_REQUEST || request_is_refused(r);

    return is_error && !request_offer_of(r)->plan ? CACHE_ERRORS : CACHE_ANSWERS;
}

/* The approximate size of the answer. */
static size_t store_bytes_wanted(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const apr_off_t most = core_conf_of(r->server)->file_cache_max_file_bytes;
    const apr_off_t size = cache_sender_of(r)->finfo.size;

    if (r->status == HTTP_NOT_MODIFIED || (offer->path && size > most))
        return STORE_ENTRY_BYTES;
    return STORE_ENTRY_BYTES + (size_t)(offer->path ? size : (apr_off_t)offer->len);
}

typedef struct target_key {
    const char *host, *uri;
    size_t host_len, uri_len;
    uint64_t hash;
} target_key;

static target_key target_key_of(const brg_conn *bc, request_rec *r)
{
    const char *absent = cache_absent_target(r);
    target_key key = {.host = apr_table_get(r->headers_in, "Host"),
                      .uri = absent ? absent : r->unparsed_uri};
    const cache_place at = cache_place_of(bc);

    key.host_len = strlen(key.host);
    key.uri_len = !absent && cache_leaves_query(r) ? cache_target_len(r) : strlen(key.uri);
    key.hash = cache_hash(&at, key.host, key.host_len, key.uri, key.uri_len);
    return key;
}

/* How often it was asked for, this time included. Answers from memory before a reload, or by the
 * program before this one, count as earlier requests. */
static int store_count(response_cache *c, const request_rec *r, const target_key *key)
{
    const cache_stored *stored = request_offer_of(r)->stored;
    int count;

    admission_sample(&c->admission, c->entries_n);
    count = (int)admission_count(&c->admission,
                                 stored ? cache_lifetime_hash(key->hash, stored) : key->hash);
    return count == 1 && cache_hot_is(key->host, key->host_len, key->uri, key->uri_len,
                                      c->loop->monotonic)
               ? 2
               : count;
}

/* Watches are system calls: a target that is requested only once, by a crawler say, gets none. */
static int store_is_wanted(response_cache *c, const request_rec *r, int count)
{
    if (count > 1 && cache_make_room(c, core_conf_of(r->server), store_queue(r), (unsigned)count,
                                     store_bytes_wanted(r)))
        return 1;
    return 0;
}

/* Nothing of the target is stored: its first request need not ask all modules. @return how often it
 * was asked for; 0: that is not known */
static int store_count_early(response_cache *c, request_rec *r)
{
    target_key key;

    if (c->is_workers || request_offer_of(r)->stored)
        return 0;
    key = target_key_of(connection_of(r->connection), r);
    return store_count(c, r, &key);
}

/* Displacement may have taken the entry itself. 1: it is there still */
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
                  key.uri, key.uri_len, key.hash, store_queue(r));
    if (!e) {
        cache_refuse(reason, "there is no room in the cache");
        return NULL;
    }
    BRG_ASSERT(count > 1 && count <= ADMISSION_COUNT_MOST);
    e->uses = (uint8_t)count;
    e->any_query = cache_leaves_query(r) != 0;
    /* Else many entries would be armed for which there is no room once their bodies come, and
     * filling one would drive another out: in a cycle the next one requested. */
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

int cache_ask(request_rec *r, policy_reason *reason)
{
    const cache_stored *stored = request_offer_of(r)->stored;
    int codings = request_offer_of(r)->codings, depends;

    if (request_is_debugged(r)) {
        cache_refuse(reason, "LogLevel asks for debug messages: what phases say is said each time");
        return BRG_CACHE_VOLATILE;
    }
    depends =
        stored && !stored->led_to ? policy_ask_early(r, reason) : policy_ask_modules(r, reason);
    if (request_offer_of(r)->document && depends != BRG_CACHE_VOLATILE) {
        const int sends = policy_ask_modules(request_offer_of(r)->document, reason);

        depends = sends > depends ? sends : depends;
    }
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
        (!cache_fingerprint_fits(e->fingerprint, r) || !cache_vary_same(e, r) ||
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
        !e->lifetime && !e->plans) { /* not enough to be validated by stat */
        cache_forget(c, e);
        return NULL;
    }
    return e;
}

/* Of an answer that is not lasting: it will be one soon. */
static int store_is_young(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const apr_finfo_t *finfo = &cache_sender_of(r)->finfo;

    return store_variants_change(r) || (finfo->filetype == APR_REG && !store_is_at_rest(r, finfo) &&
                                        (offer->path || r->status == HTTP_RANGE_NOT_SATISFIABLE));
}

/* Of an entry that never will be filled. */
static const char *store_kind(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (offer->path && r->path_info && *r->path_info)
        return "its target goes on behind the name of a file";
    if (!offer->path && !c->watches)
        return "files are not watched, so only files themselves are kept";
    if (offer->from && r->status == HTTP_OK)
        return "the page is longer than FileCacheMaxFile";
    if ((request_is_refused(r) || r->status == HTTP_NOT_FOUND) && !cache_messages_last(r))
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

/* An entry with another body: the stored body stays. */
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
    } else if (cache_absent_target(r) && cache_absent_take(c, e, r)) {
        cache_refuse(reason, "it shows the name that was asked for");
        cache_forget(c, e);
    } else {
        c->verdict = CACHE_KEEPS;
        if (e->source == CACHE_SOURCE_LIFETIME && !c->is_workers)
            cache_route_learn(c, e, r);
    }
    cache_trim(c, core_conf_of(r->server));
}

/* With what redirects of this server led to. */
static int store_ask_all(request_rec *r, policy_reason *reason)
{
    int depends = BRG_CACHE_STATIC, own;

    BRG_ASSERT(!r->prev && !r->main);
    for (request_rec *to = r->next; to && depends != BRG_CACHE_VOLATILE; to = to->next) {
        if (request_is_debugged(to))
            return BRG_CACHE_VOLATILE;
        own = policy_ask_modules(to, reason);
        depends = own > depends ? own : depends;
    }
    if (depends == BRG_CACHE_VOLATILE)
        return depends;
    own = cache_ask(r, reason);
    return own > depends ? own : depends;
}

/* Its targets are planned one by one. @return 0: that holds while the entry stays */
static int store_gives_up(response_cache *c, cache_entry *e, request_rec *r)
{
    if (!cache_plan_is_for_all(r))
        return -1;
    cache_plan_drop(e);
    e->no_plan = 1;
    cache_account(c, e);
    return 0;
}

/* Of all that is not there below a folder, or of the target, which may be decided in another way. */
static cache_entry *store_planned(response_cache *c, request_rec *r)
{
    uint64_t hash;
    cache_entry *e = cache_find_for(c, r, &hash);

    if (!e || !cache_plan_is_for_all(r) || (e->plan ? cache_below_is_for(e, r) : !e->no_plan))
        return e;
    if (store_has_changed(c, e))
        cache_forget(c, e);
    else
        cache_below_is_left(r);
    return cache_find_for(c, r, &hash);
}

/* How the request was sent on, in place of its answer. What its target had before is another answer's. */
static void store_plan(response_cache *c, request_rec *r, policy_reason *reason)
{
    cache_entry *e;
    int depends, count = 0;

    BRG_ASSERT(!c->is_workers && cache_request_is_plain(r));
    if (cache_below_is_frequent(c, r))
        cache_below_is_left(r);
    e = store_planned(c, r);
    if (e && e->plan)
        return;
    if (e && !e->plans) {
        cache_forget(c, e);
        e = NULL;
    }
    if (!e && (count = store_count_early(c, r)) == 1) {
        cache_refuse_by(reason, CACHE_REFUSED_SELDOM);
        return;
    }
    BRG_ASSERT(!e || e->plans);
    depends = store_ask_all(r, reason);
    if (depends == BRG_CACHE_VOLATILE || !cache_plan_is_open(r)) {
        if (e)
            cache_forget(c, e);
        return;
    }
    if (!(e = store_entry(c, r, e, count, reason)))
        return;
    e->observed = depends == BRG_CACHE_OBSERVED ? CACHE_OBSERVED_BY_LOGS : 0;
    if (store_has_changed(c, e) || (cache_plan_fill(c, e, r) && store_gives_up(c, e, r)))
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
    if (e && (e->plans || !cache_lifetime_is_of(e, r))) { /* of another kind, or of before */
        cache_forget(c, e);
        e = NULL;
    }
    if (e ? store_has_all(e, r) : r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return;
    count = e || r->status == HTTP_RANGE_NOT_SATISFIABLE ? 0 : store_count_early(c, r);
    if (count == 1) {
        cache_alike_learn(c, r);
        cache_refuse_by(reason, CACHE_REFUSED_SELDOM);
        return;
    }
    depends = cache_ask(r, reason);
    if (depends == BRG_CACHE_VOLATILE) {
        if (e && !e->filled)
            cache_forget(c, e);
        return;
    }
    if (e && e->filled && cache_varies_by_client(r) && !cache_vary_same(e, r))
        return; /* the client's network has changed since r was decided */
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
        return !e->filled && cache_ask(r, &reason) != BRG_CACHE_VOLATILE && cache_vary_same(e, r)
                   ? e
                   : NULL;
    if (cache_ask(r, &reason) != BRG_CACHE_VOLATILE && (e = store_new(c, r, 0, &reason)) != NULL &&
        cache_sources[e->source].fills_at_once)
        cache_forget(c, e); /* the request that arms it fills it, and r is not answered yet */
    return NULL;
}
