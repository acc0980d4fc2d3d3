/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_NAMED_PRIVATE_H
#define BRIGADE_CACHED_CACHED_NAMED_PRIVATE_H

/** @file cached_named_private.h  Stored answers that a URL or a tag names: keys, purges, reports, and why an answer was not stored. */
#include "cached_private.h"

/* ---- keys (cached_key.c) ---- */

/** The text of a key, as fresh_key() makes it, in @a p. @param of  its path is not looked at. @return NULL: too long */
const char *cached_key_text(apr_pool_t *p, const cached_server *s, const fresh_target *of,
                            const char *path, const char *query, uint32_t *len);

/** Stored answers that a command, a form or a purge names. */
typedef struct cached_named {
    enum { CACHED_TARGET, CACHED_PREFIX, CACHED_TAG } what;
    const char *text; /**< of a key, its beginning, or of cached_tag_text(); no NUL behind it */
    uint32_t len;
    struct cached_named *next; /**< the same tag of another site */
} cached_named;

/** A tag with its site in front: tags of the same name of two sites are two. @param n  [out] its bytes */
const char *cached_tag_text(apr_pool_t *p, const server_rec *s, const char *tag, size_t len,
                            uint32_t *n);

/** "URL", "URL*" and "tag:NAME", which is that tag of every site. @return NULL, or the mistake in it */
const char *cached_named_read(apr_pool_t *p, const server_rec *main, const char *arg,
                              cached_named *named);

/** It and the objects that follow it end, in memory, on disk and in the tier that machines share.
 * @return 0; -1: a prefix that is too long */
int cached_purge_named(const cached_named *named, int soft);
/** The same on this machine alone, without followers. */
int cached_purge_here(const cached_named *named, int soft);
/** All of a key ends. @param text  of the key */
void cached_purge(const char *text, uint32_t len);

/* ---- purging (cached_purge.c) ---- */

/** Setter of CachePurge. */
const char *cached_purge_cmd(cmd_parms *cmd, void *dir, const char *arg);
/** A request to purge, of a client that may do so. @return DECLINED: another request; or a status */
int cached_purge_request(cached_request *q);

/* ---- stored answers of a target (cached_report.c) ---- */

typedef void cached_put_fn(void *to, const char *line);

/**
 * Tell in lines the stored answers that are named, and why an answer was not stored. Goes through the whole store.
 * @return how many objects there are. Blocking: yes; for workers
 */
int cached_report(apr_pool_t *p, const cached_named *named, cached_put_fn *put, void *to);

/** Tell in lines how much is stored, and how much of it requests hold now. */
void cached_report_all(apr_pool_t *p, cached_put_fn *put, void *to);

/** The handler cache-manager. */
int cached_manager(request_rec *r);

/** 1: a browser asks the handler for its page, or for the style sheet of that (cached_page.c) */
int cached_page_is_wanted(request_rec *r);
/** Send it. Goes through the whole store. Blocking: yes; for workers */
int cached_page(request_rec *r);

/* ---- why answers were not stored (cached_why.c) ---- */

#define CACHED_WHY_TEXT 88

typedef struct cached_reason {
    apr_time_t when;
    uint32_t times; /**< in a row, at most 65535 */
    uint16_t code;  /**< of the answer */
    char text[CACHED_WHY_TEXT];
} cached_reason;

/** Bytes of memory that processes share, and that these are from now on. */
size_t cached_why_size(void);
void cached_why_use(void *memory);

/** An answer of this key was not stored. */
void cached_why_note(const store_key *key, int code, const char *reason);
/** Call @a fn for each key of which a reason is known. */
void cached_why_each(void (*fn)(void *data, const cached_reason *reason), void *data);
/** @return 0: nothing is known of it */
int cached_why_get(const store_key *key, cached_reason *reason);

#endif
