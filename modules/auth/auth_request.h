/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_REQUEST_H
#define AUTH_REQUEST_H

/**
 * @file auth_request.h
 * Facts about a request's authentication, while it goes on: the files that
 * were asked, their states, and whether the outcome may be remembered. mod_auth_basic and
 * mod_auth_digest begin a note, providers of this folder add to it, and mod_authn_core takes it up
 * once all have granted.
 *
 * Threads: the request's.
 */
#include "auth_memory.h"
#include "httpd.h"
#include "mod_auth.h"

/** The group, and version "0", in which providers of "authn" that add to the note and leave loops by themselves are
 * registered as well. */
#define AUTH_OWN_GROUP "auth-own"

#define AUTH_FILES_MOST 8 /**< files that one request may ask and still be remembered */

/** The state of a file. Another one after each change, if the file was at rest when it was looked at. */
typedef struct auth_file_state {
    apr_uint64_t device, inode, size, mtime_ns, ctime_ns;
    int rests; /**< it had been left alone long enough; no part of the state itself */
} auth_file_state;

/** The state without padding, as a piece of a mark. */
#define AUTH_STATE_BYTES (5 * sizeof(apr_uint64_t))

typedef struct auth_file {
    const char *path;
    auth_file_state state;
} auth_file;

/** The note of a request. */
typedef struct auth_note {
    const request_rec *r;
    struct auth_note *next;
    const char *scheme; /**< "Basic" or "Digest" */
    int files_n;
    auth_file file[AUTH_FILES_MOST];
    const char *how;      /**< the questions, in words that differ where the outcome may */
    int asked_n;          /**< calls of auth_note_asked() */
    unsigned open : 1;    /**< it depends on more than @a how and @a file: it is not remembered */
    unsigned granted : 1; /**< the password was right */
    unsigned realm_set : 1;
    apr_time_t until; /**< when the result expires; 0: unknown */
    const char *like; /**< a hash of the kind that the passwords of the file asked have, or NULL */
    int absent_n;
    auth_mark absent[AUTH_FILES_MOST]; /**< of files that have no such user */
    const char *proof;            /**< Digest: the hash of user, realm and password; else NULL */
    apr_interval_time_t lifetime; /**< Digest: of nonces */
    const char *info;             /**< Digest: Authentication-Info as it was sent */
    apr_uint64_t realm[2];        /**< with realm_set: of the users who are let in */
} auth_note;

/** A note for @a r, in place of an earlier one. */
auth_note *auth_note_begin(request_rec *r, const char *scheme);

/** The note of @a r, or NULL: another module authenticates. */
auth_note *auth_note_of(const request_rec *r);

/** The note by which @a r was let in, which may be that of a request that led to it; or NULL. */
auth_note *auth_note_for(const request_rec *r);

/** The outcome depends on more than is noted. NULL: nothing. */
void auth_note_open(auth_note *note);

/** Add a question. */
void auth_note_asked(request_rec *r, auth_note *note, const char *what);

/** Add a file that was asked: the outcome is not remembered, if there are too many, or if it is not at rest. */
void auth_note_file(auth_note *note, const char *path, const auth_file_state *state);

/** 1 if the file in that state has no such user, as is known since another one let that user in. */
int auth_note_is_absent(auth_note *note, const auth_file *file, const char *user);

/** It has none: this will be known if the request is granted. */
void auth_note_absent(auth_note *note, const auth_file *file, const char *user);

/** The password was right: remember the note. */
void auth_note_grant(auth_note *note);

/** The result holds until @a until at most. */
void auth_note_until(auth_note *note, apr_time_t until);

/** @name files */
/** @{ */
/** Look at the state of @a path. @return APR_SUCCESS, or the error of stat(2) */
apr_status_t auth_file_look(auth_file_state *state, const char *path);
/** @} */

/**
 * 1 if @a r has to go on on a worker: brg_auth_would_wait() was called, and the caller leaves. 0: go on here, and wait.
 * On a loop that cannot be left, later requests with the same credentials begin on workers.
 */
int auth_leaves_loop(request_rec *r);

/** 1 if requests with that Authorization field are to begin on workers. A brg_auth_waits_fn. */
int auth_field_waits(const request_rec *r, const char *field);

/** A password that was checked was right: requests with this field may begin on loops. */
void auth_field_is_right(const request_rec *r, apr_time_t until);

#endif
