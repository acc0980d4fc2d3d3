/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_FOLDERS_H
#define BRIGADE_REQUEST_FOLDERS_H

/**
 * @file folders.h
 * What a loop knows of the folders that its requests pass through: that they are there and what they are, the configuration that is in
 * force in them, their access files or that there are none, and which names they hold. All of it holds until the kernel tells of a
 * change (watch/watch.h), which the loop hears before it answers.
 *
 * Threads: the loop's own. Blocking: as watch_add(), and a look at a file that was just used.
 */
#include "httpd.h"
#include "loop.h"
#include "watch.h"

/** Folders that a process knows at most, all loops together, and a loop at least. */
#define FOLDERS_MOST 8192
#define FOLDERS_LEAST 512

/**
 * Let @a loop know folders.
 * @param watch  the loop's own set; it outlives the table
 * @param bytes  for what is known, watches included
 */
void folders_open(brg_loop *loop, watch_set *watch, size_t bytes);

/** No request may hold anything any more. */
void folders_close(brg_loop *loop);

/** 1: something is known, which watch_drain() keeps true. */
int folders_are_known(const brg_loop *loop);

/** Figures, for tests and status pages. */
typedef struct folder_figures {
    unsigned folders, views, names_known; /**< now */
    size_t bytes;
    uint64_t found, made, dropped;
} folder_figures;

void folders_figures(const brg_loop *loop, folder_figures *out);

#endif
