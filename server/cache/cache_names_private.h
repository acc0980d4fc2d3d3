/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_NAMES_PRIVATE_H
#define BRIGADE_CACHE_CACHE_NAMES_PRIVATE_H

/**
 * @file cache_names_private.h
 * Answers that hold for all names of a folder that modules decide alike
 * (brg_cache_name_declare()): refusals and missing names (cache_absent.c), heads of files
 * (cache_alike.c), plans for all that is not there (cache_below.c).
 *
 * The key of such an entry ends with the folder, a blank, which no target has, its kind and the extension: a module may do more by that
 * than it can tell.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "folders.h"
#include "http_head.h"

#define CACHE_NAME_PATH_MOST 1024 /**< bytes of a path that is asked about, and of a key */

/** A folder, and the decision for a name in it. */
typedef struct cache_names {
    /** NULL: a hook decided before names were looked for, by the server's configuration; with below: of a prefix */
    folder_held *folder;
    policy_names said;
    size_t name_len; /**< of the name of the request that it is of, with what stands behind it */
    size_t step_len; /**< without that */
    int below;       /**< other paths may go on behind the name in another way */
    int moved;       /**< of cache_moved.c: the name is all that a path has behind a prefix */
    /** the field of the answer that ends with the name, which the page shows as well (cache_moved_private.h); -1: it shows no name */
    int location_at;
    size_t body_at; /**< with it: where, in the page */
    /** with it, bytes of each request's own: of the field, the query too, and of the page, where they may be escaped */
    size_t tail_len, page_len;
    /** rules lead all on to the same names in another folder, of which this holds as well; NULL: to something that is there */
    struct cache_names *then;
    size_t path_len;
    char path[]; /**< of the folder, as modules see it, with a slash at the end */
} cache_names;

/** Of @a r, for which cache_name_is_last() holds. NULL: not all of it is known, or there is no memory */
cache_names *cache_names_make(const request_rec *r);
/** The same for @a name in r->uri, which r did not find, and @a rest behind it. */
cache_names *cache_names_make_below(const request_rec *r, const char *name, const char *rest);
void cache_names_end(cache_names *names);

/** The same for @a name, all that r->uri has behind a prefix; no file was looked at. */
cache_names *cache_names_make_prefix(const request_rec *r, const char *name);

/** The same for a redirect. */
cache_names *cache_names_make_moved(const request_rec *r, const char *name);

/** 1 if it is of cache_names_make_prefix(): cache_names_decide_alike() tells of a path. */
static inline int cache_names_of_prefix(const cache_names *names)
{
    return names->below && !names->folder && !names->moved;
}

/** 1 if there is no file of that name, as far as names were looked for. */
int cache_names_lack(const cache_names *names, const char *name, size_t len);

/** 1 if modules decide for @a name as for that of the request. @param is_file  it leads to a file, which is not empty; 0: to nothing */
int cache_names_decide_alike(const cache_names *names, const server_rec *s, const char *name,
                             size_t len, int is_file);
/** The same for what is not there, of which @a rest_len bytes follow the name. */
int cache_names_below_alike(const cache_names *names, const server_rec *s, const char *name,
                            size_t len, size_t rest_len);

/** The last name of a target; NULL: it has a query, or is written in another way than the file's name is. */
const char *cache_name_of(const char *uri, size_t len, size_t *name_len);

/** The text that stands for a target in a key, in @a out of CACHE_NAME_PATH_MOST bytes. @return its length; 0: it is too long */
size_t cache_name_key(char *out, const char *uri, const char *name, size_t name_len, char kind);

/** The same for all below the first @a folder bytes of @a uri, whose last name is @a last. */
size_t cache_name_key_below(char *out, const char *uri, size_t folder, const char *last,
                            size_t last_len, char kind);

/** The last name of r->uri is @a name. */
int cache_name_is_last(const request_rec *r, const char *name);

/** All modules that took part in @a r declare how they decide by a name, and nothing else looked at
 * it. */
int cache_name_is_told(const request_rec *r);
/** The same where @a rest stands behind the name. */
int cache_name_is_told_below(const request_rec *r, const char *rest);
/** The same where no file was looked at, for a path. */
int cache_name_is_told_prefix(const request_rec *r);
/** The same for a redirect, as of @a name, which is all that the path has behind a prefix. */
int cache_name_is_told_moved(const request_rec *r, const char *name);

/** @name 1 if @a name is shown as a word of its own: a short name is part of many */
/** @{ */
int cache_name_shows(const char *text, size_t len, const char *name, size_t name_len);
int cache_name_head_shows(const http_answer *a, const char *name, size_t len);
/** @a part, or all, of it. But for the one path that a message may show, and for variables that end with @a name (cache_name_is_url()). */
int cache_name_log_shows(const struct cache_observed *o, const char *name, size_t len,
                         const char *part, size_t part_len);
/** @} */

/** 1 if the variable tells the URL of each request: mod_rewrite's SCRIPT_URL and SCRIPT_URI. */
int cache_name_is_url(const char *variable);

/** Where a message shows the path of the file, or of the target; NULL: nowhere. @param rest  what the target has behind the file; "": nothing
 * @param len  [out] of the path, with the rest if it is shown, too */
const char *cache_name_path_in(const struct cache_observed *o, const char *text, const char *rest,
                               size_t *len);

#endif
