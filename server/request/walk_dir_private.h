/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_WALK_DIR_PRIVATE_H
#define BRIGADE_REQUEST_WALK_DIR_PRIVATE_H

/**
 * @file walk_dir_private.h
 * Shared by walk_dir.c, which asks the file system, and walk_known.c,
 * which uses the loop's known folders.
 */
#include "folder_private.h"
#include "http_core.h"

typedef struct dir_walk {
    request_rec *r;
    const char *path; /* r->filename as it came: absolute, no empty or dot segments */
    apr_size_t len;
    walk_fold found;        /* sections and .htaccess files so far */
    ap_conf_vector_t *conf; /* in force in the current directory; NULL: found has grown */
    const apr_array_header_t *secs;
    const char *access_name;
    int next_sec;
    apr_size_t searched; /* directories that were searched for .htaccess files */
    char *links;         /* request_files.links so far, or NULL */
    apr_size_t dirs_end; /* components that end before this offset are known to be directories */
    int was_given;       /* the caller knew of the last component, as from a directory listing */
    int type_known;      /* r->finfo has the type of the last component */
    char *scratch;       /* for prefixes of path; made when first needed */
    apr_size_t cut;      /* where scratch ends now */
    apr_size_t pos;      /* the current directory ends here, its slash included */
    unsigned level;      /* of it: 1 is the root */
    apr_size_t end;      /* of the component behind it, or of the walk */
    folder_table *table; /* NULL: no folder is known */
    folder *folder;      /* the last known one; NULL: none */
    int is_plain;        /* from the root on, no access file was allowed, and all links were */
    int taken;           /* the sections of the current directory are in found */
} dir_walk;

/** The configuration in force in the current directory. */
const core_dir_config *walk_dir_core(dir_walk *w);

/** One more section, or an access file's content. */
void walk_dir_take(dir_walk *w, ap_conf_vector_t *sec, int sec_is_config);

/** The effect of an access file on @a r is not the same for the next request, even if the file is.
 */
void walk_dir_each_time(request_rec *r);

/** Add the sections for the name that ends before @a pos, the level-th from the root. */
void walk_dir_sections(dir_walk *w, apr_size_t pos, unsigned level);

/** The level-th component from the root is under the link policy of @a opts. */
void walk_dir_note_links(dir_walk *w, unsigned level, int opts);

/** 1: @a path has neither empty nor dot segments. */
int walk_is_canonical(const char *path);

/**
 * Take known folders on the way, from the root on: w->pos, level and folder are those of the last
 * one.
 * @return DONE: all is known, w->end is the end of the walk; OK: it goes on from w->pos; or a status
 */
int walk_known(dir_walk *w);

/** @name walk_memo.c: where walks came to before the last component */
/** @{ */

/** A walk through known folders goes on in the last one. @return its view; NULL: it begins at the root */
folder_view *walk_memo_known(dir_walk *w);

/** The same for a walk that knows of no folder, only that the path before w->dirs_end is
 * directories. It stays where it is if nothing is kept. */
void walk_memo_plain(dir_walk *w);

/** The last component comes next: keep where @a w is. @param v  of w->folder; NULL: no folder is known, and no access file was allowed */
void walk_memo_keep(dir_walk *w, folder_view *v);
/** @} */

#endif
