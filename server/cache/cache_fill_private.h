/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_FILL_PRIVATE_H
#define BRIGADE_CACHE_CACHE_FILL_PRIVATE_H

/**
 * @file cache_fill_private.h
 * Arming and filling of entries by requests that come the full way:
 * which answers are stored, and when (cache_store.c), watches (cache_arm.c), offers of handlers and
 * filters (cache_offer.c, cache_capture.c), the entry's content (cache_fill.c), also on a worker
 * (cache_worker_fill.c).
 */
#include "cache_private.h"
#include "placement.h"
#include "request_context.h"

typedef struct cache_capture cache_capture;

/** @name output of filters for an offered body (cache_capture.c) */
/** @{ */
/** Stand behind the filters of @a r that may change its body and keep their output, at most @a most
 * bytes. Lives as long as r. */
cache_capture *cache_capture_begin(request_rec *r, apr_size_t most);

#define CACHE_FRAME_BEFORE 18 /**< the longest "SIZE\r\n" */
#define CACHE_FRAME_AFTER 7   /**< "\r\n0\r\n\r\n" */

/** Make one chunk, and the end of all, of @a len bytes that lie behind CACHE_FRAME_BEFORE bytes of room and
 * before CACHE_FRAME_AFTER. @return bytes in front of them now; it begins at @a data */
size_t cache_frame(char *data, size_t len);

/** The whole body, as sent: in chunks if r->chunked. From malloc(), the caller's. NULL if it did
 * not come as a whole. @a too_long: it had more bytes than were to be kept. */
char *cache_capture_take(cache_capture *capture, request_rec *r, cache_entry *e, size_t *len,
                         int *too_long);
void cache_capture_register(void);
/** @} */

/**
 * Put all that the answer to @a r depends on under watch. Sets e->source and e->compared.
 * @return 0; -1: it is not to be stored, *reason says why (cache_arm.c)
 */
int cache_arm(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason);

/** The list of everything that cache_arm() puts under watch, as one string in r->pool. The answer
 * that fills an entry must have the one of the answer that armed it: between the two, a missing
 * directory may have come, or a page have got another part. */
const char *cache_fingerprint(request_rec *r);

/** 1 if @a r may fill an entry that was @a armed: it has the same fingerprint, and differs from the other one where that has to show what a plan is made of
 * (cache_plan_offer.shape). */
int cache_fingerprint_fits(const char *armed, request_rec *r);

/** 1 if the answer is a file, and nothing that took part looked at the query. */
int cache_leaves_query(const request_rec *r);

/** Each request notes the state of the watches at its begin. Once, before the configuration is
 * read. */
void cache_arm_register(void);

/** Store the answer to @a r, which is over but for its end, if that is right. *reason: why nothing
 * was stored, if that is so; module NULL before. (cache_store.c) */
void cache_store(response_cache *c, request_rec *r, policy_reason *reason);

/** The dependencies of @a r are known: express them by the fields that the client sent. @return 0;
 * -1: it cannot, *reason says why (cache_changed.c) */
int cache_changes_settle(request_rec *r, policy_reason *reason);

/** The verdict of all modules that took part in @a r, and the fields that the answer depended on:
 * BRG_CACHE_*. (cache_store.c) */
int cache_ask(request_rec *r, policy_reason *reason);

/** A file that was changed within this time may change again without a new time stamp, and has a weak ETag for so long: it is not
 * stored yet. */
#define CACHE_REST_US apr_time_from_sec(2)

/** Put the access files that count for names in the folder of @a path under watch, and @a path itself. -1: it cannot be done
 * (cache_arm.c) */
int cache_arm_folder(response_cache *c, cache_entry *e, request_rec *r, const char *path);

/** @name lines of the error log about refused requests (cache_messages.c) */
/** @{ */
/** 1 if it can be said of the next such request, too. */
int cache_messages_last(const request_rec *r);
/** Lines for the error log about each request that gets the answer to @a r, of request_message;
 * NULL: nothing. */
const apr_array_header_t *cache_messages_of(const request_rec *r);
void cache_messages_register(void);
/** @} */

/** The core's reasons that figures tell apart. */
typedef enum cache_refusal {
    CACHE_REFUSED_NOT,    /**< none of them */
    CACHE_REFUSED_SELDOM, /**< asked for too seldom: passes by itself */
    CACHE_REFUSED_RECENT, /**< too young: passes by itself */
    CACHE_REFUSED_REQUEST /**< such requests are never stored */
} cache_refusal;

/** -1 and *reason if answers of this kind are not stored, whatever modules say of them; 0 if they are. */
int cache_kind_keeps_out(const response_cache *c, const request_rec *r, policy_reason *reason);

/** Set *reason to another of the core's own. @return -1 */
int cache_refuse(policy_reason *reason, const char *why);

/** 1 if the answer to such a request may be kept. */
int cache_request_is_plain(const request_rec *r);

/** The same, or the request is a HEAD: it may arm an entry. */
int cache_request_may_arm(const request_rec *r);

/** The request that sent the answer to @a r, which is offered: r itself, or that of its error document. */
static inline request_rec *cache_sender_of(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return offer && offer->document ? offer->document : (request_rec *)(uintptr_t)r;
}

/** The file that the walk for @a r looked for, also where a redirect gave r another filename; NULL: there was none. */
static inline const char *cache_walked(const request_rec *r)
{
    const request_files *files = request_files_of(r);

    return files && files->walked ? files->walked : r->filename;
}

/** The entry for a request that is plain, or NULL. */
cache_entry *cache_find_for(response_cache *c, const request_rec *r, uint64_t *hash);

/** On a worker that fills nothing: @a r has an answer that could be stored; the loop counts it. */
void cache_seen_on_worker(request_rec *r);

/** The cache that the calling worker fills for its request, or NULL (cache_worker_fill.c). */
response_cache *cache_of_worker(void);

/** Bytes of the target of @a r that its entry has in the key, should it be answered with a file. */
size_t cache_target_len(const request_rec *r);

/** A page that was offered as a brigade, copied since an entry waits for it. */
typedef struct cache_flat {
    char *data; /**< from malloc(); freed with the request, or NULL: the cache took it over */
} cache_flat;

/** As if the handler for files had offered the file of @a r, which filters are going to compress: 1
 * if it would be taken. */
int cache_offer_early(request_rec *r);

/** For a request that was offered early: its entry; else NULL, and one may be armed. */
cache_entry *cache_armed_for(response_cache *c, request_rec *r);

/** Take the answer to @a r, which is over but for its end, into an armed or new entry. -1: it
 * cannot be kept, and the entry is to be forgotten. (cache_fill.c) */
int cache_fill(response_cache *c, cache_entry *e, request_rec *r);

/** Take the head for conditional requests from @a r, which was answered with 304. -1: nothing was
 * taken. */
int cache_fill_304(response_cache *c, cache_entry *e, request_rec *r);

/** Add the head of a 206, and the body where it is not there. -1: as before. */
int cache_fill_206(response_cache *c, cache_entry *e, request_rec *r);

/** Add the answer to a range that is out of reach, where the body is there. -1: as before. */
int cache_fill_416(response_cache *c, cache_entry *e, request_rec *r);

/** Take the head of the answer to @a r. -1: it has none that could be sent again. */
int cache_fill_head(request_rec *r, cache_head *out);

#endif
