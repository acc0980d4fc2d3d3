/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_CORE_SPOOL_PRIVATE_H
#define BRIGADE_CONN_CORE_SPOOL_PRIVATE_H

/**
 * @file core_spool_private.h
 * Output on disk: core_spool_file.c (the file, and its disk space) and
 * core_spool.c (writing, sending, waiting), core_spool_layer.c (content of the file where the
 * connection has a layer over its socket). spool_job.c has files of its own, which count, too.
 */
#include "core_output_private.h"
#include "loop_drain.h"
#include "loops.h"
#include "transport.h"

#include <pthread.h>

typedef int64_t spool_pos;

struct core_spool {
    struct conn_drain drain;
    struct core_output *out;
    _Atomic spool_pos wr, rd;
    _Atomic spool_pos size;     /* of the ring */
    spool_pos base;             /* position of the file's first byte */
    spool_pos high;             /* bytes that the file has, charged to spool_total */
    spool_pos counted;          /* the owner's: bytes that core_spool_count() reported so far */
    struct transport_sink sink; /* of the connection's layer while the spool is active */
    spool_pos data;             /* the owner's: bytes of data that the layer took so far */
    /* why the sink took less; APR_SUCCESS: for want of a file, or nothing */
    apr_status_t sink_error;
    int fd;
    _Atomic int error;        /* the connection is lost */
    _Atomic spool_pos wanted; /* room that the worker waits for; 0 = it does not */
    /* clock_monotonic() when the client last took something, or could begin to */
    _Atomic apr_time_t took;
    pthread_mutex_t lock; /* of the condition alone */
    pthread_cond_t room;
    uint8_t cold;           /* the sender's: the disk has to be asked */
    uint8_t active, failed; /* the owner's; failed: nothing more is written to it */
};

/** One line in the error log, at most once a minute: workers have to wait. Threads: workers. */
void spool_log(const struct core_output *out, apr_status_t rv, const char *what);

/** A file without a name in @a dir. @return its descriptor; -1: errno. Blocking: on the disk. */
int spool_open(const char *dir);

/** The state of a spool, without a file. Allocated from the connection's pool. */
struct core_spool *spool_create(struct core_output *out);

/** Open the file of a spool that has none. @return 0; -1: errno. Blocking: on the disk. */
int spool_open_file(struct core_spool *sp, const char *dir);

/** Close the file and give its space back. Threads: the owner, while nobody else sends. */
void spool_close(struct core_spool *sp);

/**
 * Charge the process with the file's growth when it reaches to @a end.
 * @return 1; 0: all spools together have reached their limit
 */
int spool_charge(struct core_spool *sp, spool_pos end);

/** Files of the process are to grow by @a bytes. @return 1; 0: OutputSpoolSize forbids it. Threads: any. */
int spool_reserve(const loops_config *config, spool_pos bytes);

/** Append bytes as they are to leave. @return as core_spool_append() */
apr_status_t spool_append_bytes(struct core_output *out, const char *data, apr_size_t len,
                                apr_size_t *taken);

/** Put the connection's layer over an active spool: its output goes to the file. */
void spool_layer_begin(struct core_spool *sp);

/** core_spool_append() through the layer. */
apr_status_t spool_layer_append(struct core_spool *sp, const char *data, apr_size_t len,
                                apr_size_t *taken);

/** Bytes of data in the sent output. */
spool_pos spool_layer_sent(const struct core_spool *sp);

/** Close a file that the process was charged with @a bytes for, and give these back. Threads: any. Blocking: not on a loop. */
void spool_close_file(int fd, spool_pos bytes);

/** @a bytes of files are not there any more. Threads: any. */
void spool_freed(spool_pos bytes);

/** Undo it: the file reaches to @a before. */
void spool_uncharge(struct core_spool *sp, spool_pos before);

#endif
