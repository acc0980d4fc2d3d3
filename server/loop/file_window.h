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

/** At once; a socket seldom takes more. */
#define FILE_WINDOW_BYTES (8 * 1024 * 1024)

/** Of what is shorter no window pays: its pages have to be mapped, which costs more than to copy them
 * (brigade --calibrate-delivery). */
#define FILE_WINDOW_LEAST (4 * 1024 * 1024)

typedef struct file_window {
    char *map; /**< NULL: closed */
    size_t map_len;
    const char *data; /**< the bytes from the offset on */
    size_t len;
} file_window;

/**
 * Map up to FILE_WINDOW_BYTES from @a off; offsets need no alignment.
 * @return 0; -1 with errno: it cannot be mapped, or there is no address space
 * Threads: any. Blocking: no.
 */
int file_window_open(file_window *w, int fd, off_t off, size_t len);

/** Unmap; a closed one is left alone. Keeps errno. */
void file_window_close(file_window *w);

#endif
