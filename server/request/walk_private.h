/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_WALK_PRIVATE_H
#define BRIGADE_REQUEST_WALK_PRIVATE_H

/**
 * @file walk_private.h
 * The walks: from the sections of the configuration to the one vector that is in force for a
 * request.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include <stdatomic.h>

/** Merges with content of access files, kept as long as their operands. Only the loop that made it
 * adds to it. */
typedef struct walk_keep {
    const struct brg_loop *loop;
    apr_pool_t *pool; /* NULL: nothing was kept yet */
    _Atomic(struct merge_note *) list;
    unsigned n;
} walk_keep;

/**
 * @a base merged with @a sec on top. The same pair gives the same result, as pointer, for all
 * requests where both are part of the configuration, and otherwise within a request, its
 * subrequests and redirects. That makes a merge in the steady state a look-up, and lets "has the
 * configuration changed?" be a comparison of pointers. (walk_merge.c)
 *
 * @param are_config  both belong to the configuration; 0: one was read from an access file
 * @param keep  lives as long as both where they are not configuration; NULL: they are this request's
 * Ownership: the configuration's, the keep's, or r->pool; not to be written.
 * Threads: any; look-ups take no lock.
 */
ap_conf_vector_t *walk_merge(request_rec *r, ap_conf_vector_t *base, ap_conf_vector_t *sec,
                             int are_config, walk_keep *keep);

/** The keep that the sections of @a conf may be merged into, conf being the result of r's walk
 * through known folders, or merged onto that in the same keep. NULL: none. (folder_view.c) */
walk_keep *walk_keep_of(const request_rec *r, const ap_conf_vector_t *conf);

/** 1: @a conf was made by a merge in @a keep. */
int walk_keep_has(const walk_keep *keep, const ap_conf_vector_t *conf);

/** The filters of sub-requests (subrequest.c). */
void subreq_register_filters(void);

/** 1 if @a conf is the server's defaults or a merge that is kept with the configuration. */
int walk_is_config(const request_rec *r, const ap_conf_vector_t *conf);

/** The sections that one walk found, merged with each other in the order in which they were found. */
typedef struct walk_fold {
    ap_conf_vector_t *sum; /* NULL: none yet */
    int is_config;         /* sum is part of the configuration */
    walk_keep *keep;       /* walk_merge() */
} walk_fold;

/** Add @a sec; @a sec_is_config 0: it was read from an .htaccess file for this request. */
void walk_fold_add(request_rec *r, walk_fold *fold, ap_conf_vector_t *sec, int sec_is_config);

/** @a base with everything that was added on top; @a base itself if there is nothing. */
ap_conf_vector_t *walk_fold_onto(request_rec *r, const walk_fold *fold, ap_conf_vector_t *base);

/** Keep merges of the configuration in @a pconf from now on. Main thread, before others are started. */
void walk_merge_open(apr_pool_t *pconf);

/**
 * Does the regular expression of section @a core match? Named groups go to r->subprocess_env.
 * (walk_sections.c)
 */
int walk_regex_matches(request_rec *r, const core_dir_config *core, const char *subject);

/** Directories that a loop looks into for .htaccess files for one request; deeper trees are a worker's. */
#define WALK_LOOP_LEVELS 24

/** ap_directory_walk(): a worker has to do it (walk_would_wait(), or APR_EAGAIN of a dirwalk_stat hook).
 * Only where a worker may continue the phases. Not an HTTP status. */
#define WALK_WOULD_WAIT (-1004)

/** The core's dirwalk_stat hook: opens the file of a GET, for brg_file_open() (file_open.c).
 * @return APR_EAGAIN on a loop: would wait for a disk */
apr_status_t walk_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted);

/** 1 on a loop if the walk of r->filename, which looks for @a levels .htaccess files, is better done by
 * a worker, and may be (file_open.c). */
int walk_would_wait(const request_rec *r, apr_size_t levels);

/**
 * May the symbolic link at @a path be followed? (walk_dir.c)
 *
 * @param finfo  [in,out] of the link; becomes that of its target
 * @param opts   Options in force in the directory that holds it
 * @return OK or HTTP_FORBIDDEN
 * Blocking: looks at the file system.
 */
int walk_resolve_symlink(const char *path, apr_finfo_t *finfo, int opts, apr_pool_t *p);

#endif
