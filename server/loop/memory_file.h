/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_MEMORY_FILE_H
#define BRIGADE_LOOP_MEMORY_FILE_H

/**
 * @file memory_file.h
 * Memory that the kernel can send without a copy: pieces of a file without a name (memfd_create(2)), which are
 * mapped. sendfile(2) puts their pages themselves into the socket.
 *
 * A page that a socket still refers to must not change. So nothing is written to a piece once it
 * may have been sent, and no place in the file is used twice: a piece that is given back is cut out
 * of the file, its pages live on for as long as a socket has them.
 *
 * Threads: the loop that created it.
 */
#include "apr.h"
#include <stddef.h>
#include <sys/types.h>

/** Pieces that the process has at a time, of all files: each may be a mapping, of which the kernel gives a process 65,530
 * (vm.max_map_count), and threads and malloc() need some, too. */
#define MEMORY_PIECES_MOST 16384

/** Reference counted: its creator's, and one for each piece. */
typedef struct memory_file memory_file;

/** A piece of it. All zero: none. */
typedef struct memory_piece {
    memory_file *file;
    char *data; /**< where it is mapped; begins a page */
    off_t off;  /**< in the file */
    size_t len; /**< bytes that it takes: whole pages */
} memory_piece;

/** @return NULL: the kernel has none, or no memory */
memory_file *memory_file_create(void);

/** Give the creator's reference back. NULL: nothing. */
void memory_file_release(memory_file *f);

/** @return 0; -1: no memory, a limit of the process (RLIMIT_FSIZE), or MEMORY_PIECES_MOST are there */
int memory_piece_take(memory_file *f, size_t len, memory_piece *out);

/** Bytes that a socket was not given yet are gone. An empty piece is left alone. */
void memory_piece_give(memory_piece *p);

/** The descriptor of its file, for sendfile(). */
int memory_piece_fd(const memory_piece *p);

#endif
