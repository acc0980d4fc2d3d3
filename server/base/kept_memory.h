/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_KEPT_MEMORY_H
#define BRIGADE_BASE_KEPT_MEMORY_H

/**
 * @file kept_memory.h
 * Memory that the supervisor and all server processes share, and that outlives the program when another
 * one takes its place (`-k upgrade`): keys of session tickets, sessions, the scoreboard.
 *
 * Threads: main, before there are server processes.
 */
#include <stddef.h>

#define KEPT_MEMORY_MOST 16 /**< pieces that are handed on */
#define KEPT_MEMORY_NAME 32

typedef struct kept_memory {
    char name[KEPT_MEMORY_NAME];
    size_t bytes;
    int fd;   /**< of the file in memory */
    int used; /**< it was mapped by this program */
} kept_memory;

/**
 * Map memory that lasts as long as the process. It is zero, unless the program before this one had memory of
 * this name and size: then it is that. So the name has to change with the layout. Core dumps leave it out.
 * @return NULL: errno says why
 */
void *kept_memory_map(const char *name, size_t bytes);

/** The next kept_memory_map() of this name maps new memory. */
void kept_memory_forget(const char *name);

/**
 * Map the memory that the program before this one left by this name, of any size.
 * @return NULL: it left none, or errno says why
 */
void *kept_memory_map_left(const char *name, size_t *bytes);

/** This program serves: free memory that the one before it left and that this one does not use. */
void kept_memory_drop_unused(void);

/** A piece that the program before this one handed over; @a fd is owned by this module from now on.
 */
void kept_memory_take(const char *name, size_t bytes, int fd);

/** This process hands nothing on: descriptors are closed, mappings stay. For server processes. */
void kept_memory_leave(void);

/** The @a i-th piece, from 0; NULL: past the last. */
const kept_memory *kept_memory_get(int i);

#endif
