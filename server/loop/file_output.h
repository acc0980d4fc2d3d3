/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_FILE_OUTPUT_H
#define BRIGADE_LOOP_FILE_OUTPUT_H

/**
 * @file file_output.h
 * From a file to a socket, for all that send files: stored answers (gather.c), the core's output filter
 * (core_write.c), streams of HTTP/2 (h2_file.c) and output that waited on disk (core_spool.c). Here alone is decided
 * whether the disk may be asked.
 *
 * Threads: the owner of the connection. Blocking: with FILE_WAITS on the disk, else never.
 */
#include "conn.h"
#include "file_window.h"

/** Whether a read may wait for a disk. Without it: EAGAIN if the disk would have to be asked. */
typedef enum file_wait {
    FILE_CACHED,     /**< no: event loops */
    FILE_OWN_CACHED, /**< no; the process made the file, and may write to it (file_read_own_cached()) */
    FILE_WAITS       /**< yes: workers, and processes with one thread */
} file_wait;

/** At once: so much is known to be in memory. */
#define FILE_OUTPUT_MOST (1024 * 1024)

/** As pread(2), and again after EINTR. */
ssize_t file_output_read(int fd, void *buf, size_t len, off_t off, file_wait wait);

/**
 * Bytes from @a off on for a vector: w->data, w->len of at most @a len. They are a window's if @a way is
 * FILE_BY_WINDOW and one can be had, else in the thread's buffer, with w->mapped 0; file_window_close() fits both.
 * @return 0, with w->len 0 at the end of the file; -1 with errno: EAGAIN if the disk would have to
 * be asked, ENOMEM, or the file system's error
 */
int file_output_open(file_window *w, int fd, off_t off, size_t len, file_way way, file_wait wait);

/** The same of a file that stays open, whose mapping stays as well. @a kept: of all of the file; NULL: none */
int file_output_open_kept(file_window *w, file_kept *kept, int fd, off_t off, size_t len,
                          file_way way, file_wait wait);

/**
 * As sendfile(2), and again after EINTR, of at most FILE_OUTPUT_MOST bytes.
 * @param bc    NULL: @a sock is a socket without a transport
 * @return -1 with errno EAGAIN: the socket is full or, with bc->cold, the disk would have to be asked; EINVAL: this file
 * or this transport has to be read
 */
ssize_t file_output_sendfile(brg_conn *bc, int sock, int fd, off_t off, size_t len, file_wait wait);

/** Read the bytes that a loop sends next, so that they are in memory. Threads: a worker. Blocking:
 * on the disk. */
void file_output_warm(int fd, off_t off, off_t len);

#endif
