/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_CONFIG_WRITER_H
#define LOG_CONFIG_WRITER_H

/**
 * @file log_config_writer.h
 * Threads that write access logs, so that no event loop waits for a disk or for the reader of a pipe.
 *
 * A piped log has a writer of its own; files share one per file system, since they get slow
 * together. A thread that logs has a channel to each writer that it needs: it copies its turn's
 * lines into a parcel per log and pushes that on the channel's list, which only these two threads
 * touch. A channel's content is bounded; LogOverflow decides about further lines.
 *
 *   parcel   filled -> handed over -> collected -> written, or given up after an error -> done with
 *   owner    thread that logs         writer
 *
 *   channel  made with the first parcel -> ended with its thread -> empty -> freed by the writer
 *   writer   started in child_init -> told to stop by log_writers_stop() -> all written -> joined
 */
#include "log_config_private.h"
#include "brigade/log_service.h"
#include <stdatomic.h>
#include <sys/uio.h>

typedef struct log_channel log_channel;
typedef struct log_writer log_writer;
typedef struct log_block log_block;

/** Lines of one thread for one log. */
typedef struct log_parcel {
    struct log_parcel *next;
    log_file *file;
    log_channel *channel;
    log_block *block;      /**< that it lies in */
    apr_int64_t stamp_ns;  /**< when it was handed over, CLOCK_MONOTONIC */
    apr_size_t size, used; /**< bytes that data can hold, and does */
    unsigned lines;
    char data[];
} log_parcel;

/** See log_config_private.h. */
struct log_file {
    uint32_t tag; /**< LOG_FILE_TAG */
    int fd, is_pipe;
    const brg_log_service *service; /**< it goes to syslog or the journal; NULL: it does not */
    const char *name;
    server_rec *server; /**< in whose error log it is reported */
    log_writer *writer; /**< NULL: no thread writes it, logging threads do */
    log_file *next;     /**< all files of a configuration */
    atomic_int failing; /**< lines are being lost */
    atomic_ullong lost; /**< lines, since then */
    /* Of the writer: parcels to write. */
    log_parcel *batch, **batch_end;
    log_file *batch_next;
};

#define LOG_FILE_TAG 0x4c4f4746

/** A thread's action when a channel is full. */
typedef enum { LOG_OVERFLOW_DROP, LOG_OVERFLOW_WAIT } log_overflow;

/** LogOverflow. While the configuration is read. */
void log_writers_overflow(log_overflow what);

/**
 * Start the writers that @a files need; without memory or threads logging threads write a file
 * themselves.
 * Threads: the main thread of a server process, before the loops start.
 */
void log_writers_start(log_file *files);

/**
 * The process is going to end: no more pauses between two writes.
 * @param graceful  0: log_writers_stop() has less than half a second
 * Threads: the main thread.
 */
void log_writers_hurry(int graceful);

/**
 * Write waiting parcels, and end the writers. A writer that makes no progress for two seconds, or
 * whose time is over, is abandoned, and its lines are counted as lost. With LogOverflow wait a
 * graceful end waits for all of them.
 * Threads: the last one; no other thread logs any more. Blocks.
 */
void log_writers_stop(log_file *files);

/** The channels of one thread; those of writers that it has not used are NULL. */
typedef struct log_channels {
    log_channel **of; /**< by number of the writer; malloc'ed */
    int n;
} log_channels;

/**
 * A parcel that the writer of @a file may be given.
 * @param len    bytes that it must hold
 * @param lines  that will be in it
 * @return NULL if there is no room or memory: the lines have been counted as lost
 * Blocking: with LogOverflow wait, until there is room.
 */
log_parcel *log_parcel_get(log_channels *channels, log_file *file, apr_size_t len, unsigned lines);

/** Hand @a parcel over; it is the writer's from now on. Blocking: no. */
void log_parcel_hand_over(log_parcel *parcel);

/** Their thread ends. */
void log_channels_end(log_channels *channels);

/**
 * Write whole lines: to a file with one writev, so that lines of other processes come before or
 * after, to a pipe in portions that it takes undivided. The rest after an error is lost.
 * @param vec    is changed
 * @param lines  in all of it, for the count of lost ones
 * @return 1 if everything is written. Blocks.
 */
int log_file_write(log_file *file, struct iovec *vec, int vec_n, unsigned lines);

/** As log_file_write(), a datagram for each line. @param left  [out] lines that could not be sent */
apr_status_t log_socket_write(const log_file *file, const struct iovec *vec, int vec_n,
                              unsigned *left);

/** Lines for @a file are lost because of @a rv; 0: they came faster than they could be written. */
void log_file_lose(log_file *file, apr_uint64_t lines, apr_status_t rv);

/** @a file can be written again: report how many lines were lost, if any. */
void log_file_works(log_file *file);

#endif
