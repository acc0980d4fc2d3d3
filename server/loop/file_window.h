/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_FILE_WINDOW_H
#define BRIGADE_LOOP_FILE_WINDOW_H

/**
 * @file file_window.h
 * How the bytes of a file get to a socket: by sendfile, from a window of the file that is mapped, or read into
 * a buffer. Where a way fails, the next one goes on at the same byte.
 *
 * Only the kernel may touch a window: when the file is cut short, a system call fails with EFAULT where the
 * server would get SIGBUS.
 */
#include <stddef.h>
#include <sys/types.h>

typedef enum file_way { FILE_BY_SENDFILE, FILE_BY_WINDOW, FILE_BY_READS } file_way;

/** FileWindowSize: at once; a socket seldom takes more. */
#define FILE_WINDOW_BYTES (8 * 1024 * 1024)

/** FileWindowLeast: below this size a window costs more than a copy, since its pages have to be
 * mapped (brigade --calibrate-delivery). */
#define FILE_WINDOW_LEAST (4 * 1024 * 1024)

/** FileSendfileLeast: a shorter file is read behind the head of its response. */
#define FILE_SENDFILE_LEAST (16 * 1024 + 1)

/** The configured values of these. Written by the main thread while it reads a configuration; read
 * by any. */
typedef struct file_limits {
    size_t window_bytes, window_least, sendfile_least;
} file_limits;

extern file_limits file_limits_now;

/** They have their defaults again. */
void file_limits_reset(void);

/**
 * An open file as a whole, mapped when it is first sent from a window: later answers map nothing.
 * For one thread at a time.
 */
typedef struct file_kept {
    size_t len; /**< of the file; 0: it is not to be mapped */
    char *map;  /**< NULL: not mapped */
    int failed; /**< it cannot be */
} file_kept;

/** Longer files are mapped piece by piece; where addresses are short all are. */
#define FILE_KEPT_MOST (sizeof(void *) > 4 ? (size_t)1 << 30 : 0)

/** Map all of the file, if it is not mapped yet. @return 0; -1: it cannot be. Threads: any. Blocking: no. */
int file_kept_open(file_kept *k, int fd);
void file_kept_close(file_kept *k);

/** 1 if the file still has @a end bytes: a short write was then the socket's doing. Blocking: no.
 */
int file_reaches(int fd, off_t end);

typedef struct file_window {
    char *map; /**< NULL: closed, or no mapping of its own */
    size_t map_len;
    int mapped;       /**< data is in a mapping, its own or a kept one */
    const char *data; /**< the bytes from the offset on */
    size_t len;
} file_window;

/**
 * Map up to FileWindowSize from @a off; offsets need no alignment.
 * @return 0; -1 with errno: it cannot be mapped, or there is no address space
 * Threads: any. Blocking: no.
 */
int file_window_open(file_window *w, int fd, off_t off, size_t len);

/** Unmap; a closed one is left alone. Keeps errno. */
void file_window_close(file_window *w);

#endif
