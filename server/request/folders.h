/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_FOLDERS_H
#define BRIGADE_REQUEST_FOLDERS_H

/**
 * @file folders.h
 * A loop's knowledge of the folders that its requests pass through: their existence
 * and properties, the configuration that is in force in them, their access files, and the names in
 * them. All of it holds until the kernel tells of a change (watch/watch.h), which the loop hears
 * before it answers.
 *
 * Threads: the loop's own. Blocking: as watch_add(), and a look at a file that was just used.
 */
#include "httpd.h"
#include "http_config.h"
#include "file_identity.h"
#include "loop.h"
#include "watch.h"

/** Folders that a process knows at most, all loops together, and a loop at least. */
#define FOLDERS_MOST 8192
#define FOLDERS_LEAST 512

/**
 * Let @a loop know folders.
 * @param watch  the loop's own set; it outlives the table
 * @param bytes  bound of the table, watches included
 */
void folders_open(brg_loop *loop, watch_set *watch, size_t bytes);

/** No request may hold anything any more. */
void folders_close(brg_loop *loop);

/** 1: something is known, which watch_drain() keeps true. */
int folders_are_known(const brg_loop *loop);

/**
 * @name folders that outlive a request (folder_held.c)
 * A folder of the loop's, and the configuration in force in it, held by their user. It may leave the table meanwhile.
 * Threads: the loop's own. Blocking: no.
 */
/** @{ */
typedef struct folder_held folder_held;

/** That of the last name of @a r, which has the folder's configuration unchanged. NULL: it is not known, other sections count for the
 * name, or there is no memory. */
folder_held *folder_held_of(const request_rec *r);

/** The same where the walk found that a name is not there, whatever stands behind it, and whatever became of r->filename. */
folder_held *folder_held_above(const request_rec *r);
void folder_held_end(folder_held *a);

/** Its path, with a slash at the end. */
const char *folder_held_path(const folder_held *a);
ap_conf_vector_t *folder_held_conf(const folder_held *a);

/** 1: the folder is there still. */
int folder_held_is_there(const folder_held *a);

/** 1: and it does not hold @a name. */
int folder_held_lacks(const folder_held *a, const char *name, size_t len);

/** Open the regular file @a name in it. @return a descriptor, the caller's; -1: it has none, or the kernel would have to wait */
int folder_held_open(const folder_held *a, const char *name, size_t len, file_identity *is);

/** Read all of it, @a len bytes. @return -1: it has fewer, or the kernel would have to wait */
int folder_held_read(int fd, char *data, size_t len);
/** @} */

/** Figures, for tests and status pages. */
typedef struct folder_figures {
    unsigned folders, views, names_known; /**< now */
    size_t bytes;
    uint64_t found, made, dropped;
} folder_figures;

void folders_figures(const brg_loop *loop, folder_figures *out);

#endif
