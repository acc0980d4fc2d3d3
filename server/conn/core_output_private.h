/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_CORE_OUTPUT_PRIVATE_H
#define BRIGADE_CONN_CORE_OUTPUT_PRIVATE_H

/**
 * @file core_output_private.h
 * Between the output filter (core_output.c: decides about waiting,
 * writing, blocking) and the writer (core_write.c: turns buckets into system calls).
 */
#include "connection.h"

struct core_output {
    const void *tag; /**< tells this from a core_net_rec */
    conn_rec *c;
    brg_conn *bc;       /**< NULL for a connection that is not of this server's sockets */
    int fd;             /**< of the socket; owned by the loop */
    apr_status_t error; /**< first failure; nothing is written after it */
    /** Output to be written, oldest first; between calls all of it is set aside. */
    apr_bucket_brigade *bb;
    /** The filter's own, so that no caller's brigade is needed after an EOR. */
    apr_bucket_brigade *unsent, *spare, own[2];
    apr_pool_t *kept;  /**< pool of buckets that were set aside; cleared when bb runs empty */
    apr_size_t memory; /**< bytes of bb for which core_output_is_memory() */
    apr_off_t bytes;   /**< handed to the kernel so far */
    /** Of these, in front of the bucket that comes next; for brg_connection_octets(). */
    apr_off_t reported;
    apr_off_t taken;               /**< of these, told by core_output_take_bytes() */
    int responses;                 /**< whole responses that wait in bb */
    apr_interval_time_t waited_us; /**< that workers waited for the client in this response */
    struct core_spool *spool;      /**< output on disk, in front of bb; NULL until it is needed */
    struct core_park *park;        /**< memory of bb that goes to disk; NULL until it is needed */
    apr_size_t counted;            /**< of memory, in loop->output_memory */
    unsigned blocked : 1;          /**< the last write left something: bb waits for the socket */
    unsigned no_sendfile : 1;      /**< the kernel refused it once on this connection */
    unsigned at_once : 1;          /**< small pieces do not gather */
    unsigned no_window : 1;        /**< a mapping of a file could not be made or sent once */
    unsigned flushing : 1; /**< core_output_flush() runs: no more than a turn's share is written */
};

/** The filter's result if a spool failed and the connection is as before. */
#define CORE_SPOOL_NONE APR_ENOTIMPL

/**
 * core_spool.c: output that a worker produces faster than the client takes it goes into a file without a name,
 * from which the loop sends it meanwhile (loop_drain.h). The file is a ring of OutputSpoolSize bytes.
 * Buckets of out->bb come after it.
 *
 *   state      moved on by                                   file   sender
 *   ---------  --------------------------------------------  -----  ----------------------------------
 *   none       core_spool_begin() by a worker                no     -
 *   active     all was sent: core_spool_next() ends it       open   CONN_WORKER: the loop;
 *                                                                   else core_spool_next()
 *   failed     the connection ends: core_spool_drop()        open   nobody
 */

/** 1 while output is, or was until just now, in the spool: later output goes behind it. */
int core_spool_is_active(const struct core_output *out);

/** 1 if core_spool_append() is possible: a worker runs, it is active, and its file did not fail. */
int core_spool_takes(const struct core_output *out);

/** 1 if this thread, and this connection, may begin a spool. */
int core_spool_may_begin(const struct core_output *out);

/**
 * Begin with the data at the front of out->bb, which leaves it. Metadata but FLUSH and EOS stay.
 * @return APR_SUCCESS; CORE_SPOOL_NONE: bb is as before; else the connection is lost
 * Threads: a worker that owns the connection. Blocking: on disks, and for room as core_spool_append().
 */
apr_status_t core_spool_begin(struct core_output *out);

/**
 * Append data while the spool is active and bb is empty. Waits for room where the ring is full; while
 * others need the thread, for no longer than the client makes progress (WorkerStallTimeout).
 * @return APR_SUCCESS; CORE_SPOOL_NONE: the disk failed, and @a len bytes less *@a taken are not in it;
 * else the connection is lost
 */
apr_status_t core_spool_append(struct core_output *out, const char *data, apr_size_t len,
                               apr_size_t *taken);

/** Wait on a worker until all of an active spool is sent. @return as core_spool_append() */
apr_status_t core_spool_wait(struct core_output *out);

/**
 * Send bytes from an active spool that the socket takes, unless another thread does; end it when it
 * is empty.
 * @return APR_SUCCESS: it is not active any more; APR_EAGAIN: bytes are left; else the error
 * Threads: the owner of the connection. Blocking: no.
 */
apr_status_t core_spool_next(struct core_output *out);

/** Bring out->bytes and out->reported up to date. Threads: the owner. */
void core_spool_count(struct core_output *out);

/** Nothing more is to be sent. Threads: the owner. */
void core_spool_fail(struct core_output *out, apr_status_t error);

/** The connection ends. Threads: its loop, or the last thread of the process. */
void core_spool_drop(struct core_output *out);

/**
 * core_park.c: output of a loop that a slow client does not take. Memory of out->bb is written to a file by a thread of its own, so
 * that no loop waits for a disk, and becomes file buckets in its place; until then it is sent from memory as before.
 *
 *   state     moved on by                                           memory of bb
 *   --------  ----------------------------------------------------  -----------------------------------
 *   none      core_output_park(), or much waits on the loop         stays
 *   active    bb is empty                                           goes to disk, a job after the other
 *   refused   bb is empty; the disk failed, or OutputSpoolSize      stays
 */

/** After output was written, or added: count it, and have it parked where that was begun. Threads: the loop; others: nothing. */
void core_park_update(struct core_output *out);

/** The connection ends. Threads: its loop, or the last thread of the process. */
void core_park_drop(struct core_output *out);

/** 1 if bucket @a e holds memory of its own as long as it waits, which FlushMaxThreshold bounds. */
static inline int core_output_is_memory(const apr_bucket *e)
{
    return !APR_BUCKET_IS_METADATA(e) && !APR_BUCKET_IS_FILE(e) && !APR_BUCKET_IS_MMAP(e) &&
           !APR_BUCKET_IS_IMMORTAL(e);
}

/**
 * Write buckets from the front of out->bb without waiting, until it is empty, the socket is full
 * or, on an event loop, the connection had its share of the turn (it is then on the list of the
 * next). Written data and metadata that it carried along are destroyed, in order: an EOR bucket
 * goes only after all bytes before it.
 *
 * @return APR_SUCCESS when bb is empty, APR_EAGAIN when some is left, else the error
 *
 * Threads: the owner of the connection. Blocking: no (but local files are read).
 */
apr_status_t core_write(struct core_output *out);

/**
 * Wait until the socket takes more.
 * @param timeout  microseconds; negative = for ever
 * @return APR_SUCCESS, APR_TIMEUP or the error of poll
 */
apr_status_t core_write_wait(struct core_output *out, apr_interval_time_t timeout);

/** Write without waiting, bytes on disk first. @return as core_write() */
apr_status_t core_output_write(struct core_output *out);

/**
 * Write until no more than @a most bytes of memory are left; 0: until nothing is left at all, or the
 * loop has it. Each write that makes progress starts the timeout anew.
 * Threads: the owner of the connection. Blocking: on workers; on a loop the rest waits.
 */
apr_status_t core_output_wait(struct core_output *out, apr_size_t most);

#endif
