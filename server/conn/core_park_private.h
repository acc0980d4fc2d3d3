/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_CORE_PARK_PRIVATE_H
#define BRIGADE_CONN_CORE_PARK_PRIVATE_H

/**
 * @file core_park_private.h
 * Between core_park.c, which takes memory out of what waits and puts file buckets there, and core_park_write.c, the thread that
 * writes it.
 */
#include "core_spool_private.h"
#include "loop.h"

/** A file of one connection. It only grows, so that pages of it that a socket still refers to never change. */
struct park_file {
    _Atomic int refs; /**< of the connection, and of its job */
    int fd; /**< -1 until the first job opened it; written before the job's note is posted */
    spool_pos high; /**< bytes, charged to the process; the loop's */
};

/** A piece of memory on its way to disk. The bucket that holds it is one of its two references, the note the other one. */
struct park_job {
    struct loop_note note;   /**< run(): it was tried */
    struct park_job *next;   /**< in the writer's queue */
    struct core_output *out; /**< NULL: nobody waits for it any more; the loop's */
    struct park_file *file;
    brg_loop *loop;
    const char *dir;
    spool_pos at; /**< in the file */
    apr_size_t len;
    int error; /**< errno; 0: all of it is in the file */
    _Atomic int refs;
    char data[];
};

/** Let go of a file; the last one closes it. Threads: any. Blocking: no. */
void park_file_release(struct park_file *file);

/**
 * Have @a job written, and its note posted.
 * @return 0: no thread can be had
 * Threads: a loop. Blocking: no.
 */
int park_submit(struct park_job *job);

#endif
