/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_QLOG_H
#define BRIGADE_QUIC_QUIC_QLOG_H

/**
 * @file quic_qlog.h
 * Files of events of a connection, for people who look for its fault:
 * draft-ietf-quic-qlog-main-schema and -quic-events, as JSON text sequences (RFC 7464). Each
 * connection that is asked for has a file of its own.
 *
 *   quic_qlog.c         events of a connection
 *   quic_qlog_frames.c  frames of a packet
 *   quic_qlog_text.c    text in memory
 *   quic_qlog_file.c    the thread that writes
 *
 * The loop only writes to memory. Events that the disk does not take in time are left out, and the
 * file says so.
 */
#include "quic_wire.h"
#include <apr_time.h>

#define QLOG_CHUNK 32768          /**< bytes that are written at once */
#define QLOG_EVENT_MOST 8192      /**< bytes of an event */
#define QLOG_FILE_MOST (16 << 20) /**< bytes of a file: then it ends */
/** pieces of a process that are being filled, or wait for the disk */
#define QLOG_WAITING_MOST 256
#define QLOG_FILES_MOST 1000 /**< files that a process makes: then it makes none any more */

/* ---- text ---- */

/** Text in memory. An overflow cuts it, and it is of no use. */
typedef struct qlog_text {
    char *at, *end;
    uint8_t cut;
} qlog_text;

void qlog_put(qlog_text *t, const char *text);
void qlog_put_number(qlog_text *t, uint64_t n);
/** Microseconds as milliseconds. */
void qlog_put_ms(qlog_text *t, apr_interval_time_t us);
void qlog_put_hex(qlog_text *t, const uint8_t *bytes, size_t len);
/** ,"key":number */
void qlog_put_pair(qlog_text *t, const char *key, uint64_t n);

/** ,"frames":[...] of a packet's payload, up to where it is malformed. @param ack_exponent  of the
 * sender */
void qlog_put_frames(qlog_text *t, const uint8_t *payload, size_t len, unsigned ack_exponent);

/* ---- files ---- */

/** A file that is being written. */
typedef struct qlog_file qlog_file;

/** A piece of it. */
typedef struct qlog_chunk {
    struct qlog_chunk *next;
    qlog_file *file;
    uint32_t len;
    uint8_t is_last; /**< the file is closed behind it, and gone */
    char data[QLOG_CHUNK];
} qlog_chunk;

/** A new one, which is opened with its first piece. @param name  copied @return NULL: no memory, or there were enough
 * Threads: any. Blocking: no. */
qlog_file *qlog_file_new(const char *dir, const char *name);
/** An empty piece. NULL: no memory, or too many wait. @param is_last  it is had in any case where there is memory */
qlog_chunk *qlog_chunk_new(qlog_file *file, int is_last);
/** Have it written. Threads: any. Blocking: no. */
void qlog_chunk_write(qlog_chunk *c);
/** Wait until all is written, a second at most. Threads: a loop that ends. */
void qlog_files_settle(void);

#endif
