/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_FOLDER_PRIVATE_H
#define BRIGADE_REQUEST_FOLDER_PRIVATE_H

/**
 * @file folder_private.h
 * The table of folders of a loop: folder_table.c (the folders, their names),
 * folder_view.c (the configuration in force in one, for one server), folder_file.c (files of
 * scripts), walk_known.c (the directory walk through known folders).
 *
 * | Object       | Made by              | Referenced by                            | Dies                                         |
 * |--------------|----------------------|------------------------------------------|----------------------------------------------|
 * | folder       | folder_step          | the table, the folders in it             | not current, or displaced: with the last in it |
 * | folder_view  | folder_view_create   | its folder, views below it, requests     | with the last reference, on any thread       |
 * | folder_names | folder_want_names    | its folder, a request of a worker        | with the last reference, on any thread       |
 */
#include "folders.h"
#include "request_context.h"
#include "walk_private.h"
#include "http_config.h"
#include <stdatomic.h>

typedef struct folder_table folder_table;
typedef struct folder_view folder_view;
typedef struct folder folder;

/** Names of a folder that a worker reads for the loop. */
typedef struct folder_names {
    atomic_int refs;
    _Atomic(watch_names *) read; /**< the worker's result; the folder takes it */
    atomic_int failed;           /**< they cannot be known */
    uint32_t changes;            /**< of the folder, before they are read */
    char path[];
} folder_names;

/** The use of a link's path. */
enum { FOLDER_PLAIN, FOLDER_LINK_SAME_OWNER, FOLDER_LINK };

struct folder {
    folder *next;   /**< in its bucket */
    folder *parent; /**< NULL: the root, or detached */
    folder *children, *sibling, **of;
    folder *newer, *older; /**< of those without children, by use */
    watch_folder *dir;
    folder_view *views;
    folder_names *names; /**< asked for */
    apr_finfo_t *info;   /**< NULL: not asked for yet */
    uint32_t info_changes;
    uint32_t hash, name_len;
    unsigned misses;      /**< names looked for in vain since its names were asked for */
    unsigned misses_next; /**< so many: ask */
    apr_time_t refused;   /**< monotonic: no view of it is made before */
    uint8_t link;
    uint8_t idle;     /**< it is in the list of those without children */
    uint8_t detached; /**< not in the table */
};

/** The configuration in force in a folder. Read-only once made, but for merges on top of it. */
struct folder_view {
    folder_view *next; /**< of its folder */
    atomic_int refs;
    const server_rec *server;
    folder_view *above; /**< referenced; NULL: of the root */
    watch_owner owner;  /**< its access files; the loop's, empty once the folder has dropped it */
    walk_fold found;
    ap_conf_vector_t *conf;
    int next_sec;
    const struct htaccess_result *seen;
    struct htaccess_result own_seen;
    walk_keep *keep; /**< where merges onto conf are kept: own, or of a view above */
    walk_keep own;
    size_t bytes;
    char dir[]; /**< its path, with a slash at the end */
};

/** The views that a request holds; in the request's pool. */
typedef struct folder_hold {
    folder_view *view;
    struct folder_hold *next; /**< of walks before */
} folder_hold;

/** The table for @a r's file names: NULL on a worker, or where hooks of modules look at files. */
folder_table *folders_of(const request_rec *r);

watch_set *folders_watch(const folder_table *t);
apr_time_t folders_now(const folder_table *t);

/** While it stays the same, every folder and view that was found is there, and as it was. 0: that is not known now. */
uint64_t folders_stamp(const folder_table *t);
void folders_account(folder_table *t, long bytes);

/**
 * The folder @a name in @a parent, NULL: the root.
 * @param path  of it, path_len bytes; its last name_len are the name
 * @param make  make it known if it was asked for before
 * @return NULL: it is not known
 */
folder *folder_step(folder_table *t, folder *parent, const char *path, size_t path_len,
                    size_t name_len, int make);

/** It was used: it is not displaced soon. */
void folder_used(folder_table *t, folder *f);

/** 1: nothing in it has that name. */
int folder_lacks(folder_table *t, folder *f, const char *name, size_t len);

/** Its properties from stat(). @return 0: it failed */
int folder_info(folder_table *t, folder *f, const request_rec *r, apr_finfo_t *info);

/** A name was looked for in vain: @return 1 if a worker had better read all of them */
int folder_missed(folder *f);

/** A worker that gets @a r is to read the names of @a f. */
void folder_want_names(folder *f, request_rec *r);

/** On a worker: read the names that the loop wants. */
void folder_read_names(request_rec *r);
void folder_names_release(folder_names *names);

/** @name folder_view.c */
/** @{ */

/** That of @a f for a server, below @a above; NULL: not made, or not true any more. */
folder_view *folder_view_find(folder_table *t, folder *f, const server_rec *s,
                              const folder_view *above);

/** A new one, which nobody finds yet: for folder_view_add() or folder_view_drop(). NULL: no memory. */
folder_view *folder_view_create(folder_table *t, folder *f, const server_rec *s,
                                folder_view *above);
void folder_view_add(folder_table *t, folder *f, folder_view *v);
void folder_view_drop(folder_table *t, folder_view *v);
void folder_views_end(folder_table *t, folder *f);

/** Memory that lives as long as the view. NULL: none */
apr_pool_t *folder_view_pool(folder_view *v);

/** One more reference. */
void folder_view_take(folder_view *v);
void folder_view_release(folder_view *v);

/** @a r holds it until its pool ends; or uses the one held by a request that led to it. */
void folder_view_hold(request_rec *r, folder_view *v);

/** create_request hook. */
int folder_request_begin(request_rec *r);
/** @} */

/** @name folder_file.c */
/** @{ */
typedef struct folder_files folder_files;

/** 1: *info has the properties of the file @a path. */
int folder_file_find(folder_table *t, const char *path, size_t len, apr_finfo_t *info);
void folder_files_end(folder_table *t);
folder_files **folder_files_of(folder_table *t);
/** @} */

#endif
