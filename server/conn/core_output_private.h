/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_CORE_OUTPUT_PRIVATE_H
#define BRIGADE_CONN_CORE_OUTPUT_PRIVATE_H

/**
 * @file core_output_private.h
 * Between the output filter (core_output.c: what waits, when to write, when to block) and the
 * writer (core_write.c: how buckets become system calls).
 */
#include "connection.h"

struct core_output {
    const void *tag; /**< tells this from a core_net_rec */
    conn_rec *c;
    brg_conn *bc; /**< NULL for a connection that is not of this server's sockets */
    int fd;
    apr_status_t error; /**< first failure; nothing is written after it */
    apr_bucket_brigade
        *bb; /**< what is to be written, oldest first; between calls all of it is set aside */
    apr_bucket_brigade *unsent,
        *spare;         /**< the filter's own, so that no caller's brigade is needed after an EOR */
    apr_pool_t *kept;   /**< pool of buckets that were set aside; cleared when bb runs empty */
    apr_size_t memory;  /**< bytes of bb for which core_output_is_memory() */
    apr_off_t bytes;    /**< handed to the kernel so far */
    apr_off_t reported; /**< of these, in front of the bucket that comes next; for
                           brg_connection_octets() */
    apr_off_t taken;    /**< of these, told by core_output_take_bytes() */
    int responses;      /**< whole responses that wait in bb */
    unsigned blocked : 1;     /**< the last write left something: bb waits for the socket */
    unsigned no_sendfile : 1; /**< the kernel refused it once on this connection */
};

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

#endif
