/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STORE_STORE_H
#define BRIGADE_STORE_STORE_H

/**
 * @file store.h
 * Objects in memory that all loops of all server processes share. They are found by a key, read while they are written,
 * and purged by key, prefix and mark.
 *
 * The memory is a piece of kept_memory.h, which outlives reloads and upgrades. It is split into
 * segments of 1 MiB that are only appended to. A segment is freed as a whole: its pages go back to
 * the system (MADV_REMOVE), and only while no reader has it pinned. So bytes that store_body()
 * returned never change, even while they wait in a socket. A table of buckets of 64 bytes leads to
 * the objects; its slots are written by compare-and-swap. No lock is taken. A process that dies at
 * any step leaves nothing that others wait for; its pins and segments become free with its rows
 * (store_process_ended()).
 *
 * The store knows nothing of HTTP: a head is bytes of the caller's, a mark is a hash of a tag.
 *
 * A process with more rights trusts nothing in the memory: the supervisor formats it and ends the rows of processes
 * that it waited for, and reads nothing else. Server processes compare each length and offset that they read with its
 * bounds (docs/internals/trust.md).
 *
 * Threads: one at a time writes with a store_reader (store_write...()), and one at a time uses a view. Several may look up, hold,
 * release, purge and use flights with one reader, since these are single atomic operations. Blocking: no.
 */
#include "apr_errno.h"
#include "apr_time.h"
#include <stddef.h>
#include <stdint.h>

#define STORE_SEGMENT (1u << 20)      /**< bytes */
#define STORE_MARKS_MOST 100          /**< tags of one object */
#define STORE_HEAD_MOST (256u * 1024) /**< bytes of key, terms and head of one object */
#define STORE_WORTH_MOST 7
#define STORE_TERMS 32 /**< bytes of an object that say how long it may be used */

typedef struct store store;
typedef struct store_reader store_reader;

/** Bounds of a store. */
typedef struct store_limits {
    uint64_t bytes;        /**< CacheMemory: of all objects, at least 8 segments */
    uint64_t object_bytes; /**< CacheMaxFileSize: of one body */
    uint64_t flight_bytes; /**< of objects that are on their way */
    uint32_t objects;      /**< the table has room for so many; 0: bytes / 1 KiB */
    /** CacheMaxObjects: beyond it objects are evicted; 0: as many as the table takes */
    uint32_t objects_most;
    uint32_t variants; /**< of one key */
    uint32_t marks;    /**< tags of one object, at most STORE_MARKS_MOST */
    uint32_t purges;   /**< keys and marks of which a purge is remembered one by one */
    uint32_t readers;  /**< loops of all server processes, draining ones included */
    uint32_t flights;  /**< fetches at a time */
} store_limits;

void store_limits_default(store_limits *limits, uint64_t bytes);

/**
 * Other bounds for later objects of this process and its children; stored objects stay.
 * @param asked  its variants, marks, flight_bytes and objects_most count, 0: those of store_limits_default(). Threads: main, before there are readers
 */
void store_limits_change(store *s, const store_limits *asked);

/** Address space that a store of these limits needs: pages that nothing was written to cost nothing. */
size_t store_size(const store_limits *limits);

/**
 * Use memory for a store. Memory that has another layout, or that is new, is formatted.
 * @param memory  of store_size() bytes, a page's alignment; shared by all processes; lives longer than the store
 * @return NULL: no memory for the description. Threads: main, before there are readers in this process
 */
store *store_open(void *memory, const store_limits *limits);
void store_close(store **s);

/**
 * Use memory that other processes use as a store, with limits of store_limits_default(): nothing is formatted.
 * @return NULL: not of this program's form, or no memory. Threads: main
 */
store *store_attach(void *memory, size_t bytes);

/** A process ended: pins and segments of its loops are free for others. Threads: main of the
 * supervisor, or any server process. */
void store_process_ended(store *s, int64_t pid);

/** Rows of processes that are no more, by kill(pid, 0): for a program that took over. Threads: as above. */
void store_look_for_ended(store *s);

/** Keys are made with this secret from now on: of a store that is empty, so that a disk tier's keys are its own. Threads: main */
void store_secret_use(store *s, const uint64_t secret[2]);

/** A row for a loop. @return NULL: all rows are in use */
store_reader *store_reader_open(store *s);
/** All views are closed. */
void store_reader_close(store_reader **reader);

/** A key as the table has it: SipHash of 128 bits with a secret that lies in the store. */
typedef struct store_key {
    uint64_t a, b;
} store_key;

/** The key of a text, and of a variant (@a more) of it; @a more_len 0: none. */
store_key store_key_of(const store *s, const char *text, size_t len, const char *more,
                       size_t more_len);

/** The mark of a tag. */
uint64_t store_mark_of(const store *s, const char *tag, size_t len);

/** The mark by which all variants of a key are purged: part of each object of that key. */
uint64_t store_mark_of_key(const store_key *key);

typedef enum store_state {
    STORE_WRITING, /**< more of the body may come */
    STORE_COMPLETE,
    STORE_BROKEN, /**< its writer gave up: its bytes are not the whole */
    STORE_ORPHAN  /**< its writer is no more: as broken */
} store_state;

/** An object that is held: nothing of it changes or goes away until store_release(), but that its body grows. */
typedef struct store_view {
    store_reader *reader; /**< NULL: holds nothing */
    void *record;
    uint32_t segment, body_segment;
    void *body;        /**< the record that the body begins in */
    const char *bytes; /**< of the body, as many as lie in the record; NULL: it is another one's */
    uint32_t bytes_n;  /**< at most so many */
    const char *text;  /**< of its key */
    const char *terms; /**< STORE_TERMS bytes, not aligned */
    const char *head;
    uint32_t text_len, head_len;
    uint8_t soft;  /**< purged softly: stale whatever its terms say */
    uint8_t vary;  /**< no response: its head names the fields by which variants are told apart */
    uint32_t hits; /**< since it came, at most 7 */
} store_view;

/** Where the table leads to an object. A copy of that object may be used while store_place_holds(). */
typedef struct store_place {
    _Atomic uint64_t *slot;
    uint64_t value; /**< of the slot, without its hits */
    uint32_t epoch; /**< purges up to this one were looked at */
    store_key key;
} store_place;

/** Result of a look-up. There may be an object and a flight: one is served while its successor is
 * fetched. */
typedef struct store_found {
    store_view view;   /**< view.reader is NULL: no object */
    store_place place; /**< of the view, if there is one */
    uint32_t flight;   /**< a fetch that is under way, 0: none */
    /** responses of this key cannot be stored: do not wait for the fetch of another request */
    uint8_t pass;
} store_found;

/**
 * Look a key up. Counts as a hit for eviction.
 * @param now  for the end of a pass
 * @return 1 if anything was found. The view has to be released
 */
int store_find(store_reader *reader, const store_key *key, apr_time_t now, store_found *found);

/**
 * 1: a look-up would find the same object now, and not purged, also not softly. Two loads, while nothing was purged.
 * Threads: one at a time for each place. Blocking: no.
 */
int store_place_holds(store_reader *reader, store_place *place);

/** The same with a look at the object itself: for places that nobody asked about for long. */
int store_place_look(store_reader *reader, store_place *place);

/** Counts as a hit for eviction. */
void store_place_hit(const store_place *place);

/** Hold it once more, for another user of the same reader. */
void store_hold(store_view *to, const store_view *from);
void store_release(store_view *view);

/** Whether its body is whole, and how long it is by now. */
store_state store_view_state(const store_view *view, uint64_t *length);

/**
 * The next bytes of a body, in place.
 * @return how many lie there from @a off on; 0: that is all by now, or the rest is lost (then *lost is set)
 */
size_t store_body(const store_view *view, uint64_t off, const char **p, int *lost);

/** The key of an object that is held; of a variant its own. */
store_key store_view_key(const store_view *view);

/** 1: it has this mark, as that of a tag. */
int store_view_has_mark(const store_view *view, uint64_t mark);

/** The marks of its tags. @param marks  room for STORE_MARKS_MOST. @return how many */
uint32_t store_view_marks(const store_view *view, uint64_t *marks);

/**
 * For a request that follows a flight, and was made when store_epoch() was @a epoch.
 * @return 1: the object was purged, also softly, before that: the request may not have it. 0: it was not, or later
 */
int store_view_is_purged(const store_view *view, uint32_t epoch);

/* ---- one fetch for many */

/** The part of a request for an absent key. */
typedef enum store_lead {
    STORE_LEAD,   /**< you fetch it */
    STORE_FOLLOW, /**< another request does, with *flight */
    STORE_ALONE /**< fetch it for yourself: there are too many flights, or responses of this key cannot be stored */
} store_lead;

/**
 * Take the lead for a key, or learn the leader. A leader that is no more is replaced.
 * @param flight  [out] with STORE_LEAD and STORE_FOLLOW
 */
store_lead store_flight_begin(store_reader *reader, const store_key *key, uint64_t mark,
                              apr_time_t now, uint32_t *flight);

typedef enum store_flight_state {
    STORE_FLIGHT_WAITS,  /**< the origin has not answered */
    STORE_FLIGHT_GROWS,  /**< its head is there: the view is open and grows */
    STORE_FLIGHT_DONE,   /**< stored: look it up */
    STORE_FLIGHT_FAILED, /**< the origin did not answer, or the object is broken: ask again */
    STORE_FLIGHT_PASS,   /**< it cannot be stored: fetch it for yourself */
    STORE_FLIGHT_ORPHAN  /**< its leader is no more: begin again */
} store_flight_state;

/** How a flight goes. @param view  [out] opened with STORE_FLIGHT_GROWS; NULL: not asked for */
store_flight_state store_flight_look(store_reader *reader, uint32_t flight, const store_key *key,
                                     store_view *view);

/** This reader wants to be told: store_flight_waiters() has its row. */
void store_flight_wait(store_reader *reader, uint32_t flight);

/** For the leader: rows that wait, as bits of words of 64. Waking them is the caller's business. @return how many words */
size_t store_flight_waiters(store_reader *reader, uint32_t flight, uint64_t *rows, size_t words);
uint32_t store_reader_row(const store_reader *reader);

/** The lead ends without an object. @param pass_until  0, or until when responses of this key are not waited for */
void store_flight_end(store_reader *reader, uint32_t flight, apr_time_t pass_until);

/* ---- writing */

/** The begin of an object. */
typedef struct store_head {
    store_key key;
    uint64_t mark;    /**< of the key whose variant it is; 0: it is no variant */
    const char *text; /**< of the key: for dumps and purges by prefix */
    uint32_t text_len;
    const void *terms; /**< STORE_TERMS bytes */
    const char *head;
    uint32_t head_len;
    const uint64_t *marks; /**< of its tags */
    uint32_t marks_n;
    uint8_t vary;
    /** its cost, at most STORE_WORTH_MOST: for so many rounds more it stays, once it was asked for
     * again */
    uint8_t worth;
    uint64_t length; /**< of its body; STORE_LENGTH_UNKNOWN */
    uint32_t epoch;  /**< store_epoch() from before its origin was asked: purges since then count */
} store_head;

#define STORE_LENGTH_UNKNOWN UINT64_MAX

typedef struct store_writer store_writer; /**< an object that is written: one thread at a time */

/**
 * Begin an object. With a flight, readers see it at once.
 * @param flight  this reader leads, 0: none
 * @return NULL: beyond the limits, or no memory is free now; *why says it in words
 */
store_writer *store_write_begin(store_reader *reader, const store_head *head, uint32_t flight,
                                const char **why);

/**
 * A new head for an object whose body stays: after a 304. Complete at once.
 * @return APR_SUCCESS; APR_ENOMEM; APR_EGENERAL: the body is not complete
 */
apr_status_t store_write_refreshed(store_reader *reader, const store_head *head,
                                   const store_view *body, uint32_t flight);

/** Room for the next bytes of the body, to be filled in place. @return bytes; 0: beyond the limits, give up */
size_t store_write_room(store_writer *w, char **p);
/** @a n bytes were filled: readers see them. */
void store_write_commit(store_writer *w, size_t n);
/** Room and commit with a copy. @return 0; -1: beyond the limits, give up */
int store_write(store_writer *w, const char *p, size_t n);
/** A view of it, for the connection that the leader serves. @return 0: the memory was spoilt, give up */
int store_write_view(const store_writer *w, store_view *view);
/** The body is whole: it takes the place of the object of that key. Ends the flight. */
apr_status_t store_write_end(store_writer **w);
/** It is not: readers see STORE_BROKEN. Ends the flight. */
void store_write_give_up(store_writer **w);

/* ---- purging */

/** The number of purges so far. Noted before a fetch (store_head.epoch), it makes later purges count for its object. */
uint32_t store_epoch(const store *s);

/** All objects with a tag, or of a key and its variants (store_mark_of_key()). @param soft  they are stale, not gone. Constant time */
void store_purge_mark(store *s, uint64_t mark, int soft);
/** All objects whose text begins so. Constant time; @return APR_EINVAL: longer than 512 bytes */
apr_status_t store_purge_prefix(store *s, const char *text, size_t len, int soft);
void store_purge_all(store *s, int soft);

/* ---- figures */

typedef struct store_figures {
    uint64_t bytes, objects, flights, flight_bytes; /**< now */
    /** since it was formatted */
    uint64_t stored, evicted, promoted, refused, purges, broken, orphans, collapsed;
    uint64_t objects_most; /**< CacheMaxObjects, or the table's capacity */
    uint32_t segments, segments_free;
    uint64_t held;    /**< views and writers of readers that live: 0 when no request is there */
    uint64_t waiting; /**< readers that wait for a flight */
} store_figures;

void store_figures_get(const store *s, store_figures *figures);

/** Called for each object that is stored and not purged; that is no hit. Return 0 to stop. It takes as long as the table is */
typedef int store_each_fn(void *data, const store_view *view, uint64_t length);
void store_each(store_reader *reader, store_each_fn *fn, void *data);

#endif
