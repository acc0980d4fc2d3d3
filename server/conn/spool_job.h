/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_SPOOL_JOB_H
#define BRIGADE_CONN_SPOOL_JOB_H

/**
 * @file spool_job.h
 * Files without a name that a loop writes and reads without waiting for the disk: a thread of its own does it, job after job
 * (spool_job.c). Output that slow clients leave is kept so (core_park.c), and bodies of requests that their backend gets whole.
 * They lie in OutputSpoolDir and count in OutputSpoolSize.
 */
#include "loop.h"
#include <apr.h>
#include <stdint.h>

/** A file. It only grows, so that pages of it that a socket still refers to never change. */
typedef struct spool_file {
    _Atomic int refs; /**< of its owner, and of jobs */
    int fd;       /**< -1 until the first job opened it; written before that job's note is posted */
    int64_t high; /**< bytes, charged to the process; the owner's */
} spool_file;

/** A piece of memory that is written to a file, or read from it. Embedded in the owner's object. */
typedef struct spool_job {
    struct loop_note note; /**< run(), on @a loop: it was done. Set by the owner */
    struct spool_job *next;
    brg_loop *loop;
    const char *dir;  /**< directory of a new file; set by the thread that takes the job */
    spool_file *file; /**< held by the owner until then */
    char *data;
    apr_size_t len;
    int64_t at;    /**< in the file */
    int error;     /**< errno; 0: all of it was written or read */
    uint8_t reads; /**< the file to data; else data to the file */
} spool_job;

/** A file that is not there yet. @return NULL: no memory */
spool_file *spool_file_new(void);

/** One more has it. */
static inline void spool_file_hold(spool_file *file)
{
    atomic_fetch_add(&file->refs, 1);
}

/** Let go of it; the last one closes it, and its bytes are not charged any more. Threads: any. Blocking: no. */
void spool_file_release(spool_file *file);

/**
 * Let it grow by @a len bytes, if OutputSpoolSize allows that for one file and for the process.
 * @return where they begin; -1: it does not
 */
int64_t spool_file_grow(spool_file *file, const loops_config *config, apr_size_t len);

/** Have @a job done, and its note posted. @return 0: no thread can be had. Threads: a loop. Blocking: no. */
int spool_job_submit(spool_job *job);

/** Do it here. Threads: a worker. Blocking: on the disk. */
void spool_job_run(spool_job *job);

#endif
