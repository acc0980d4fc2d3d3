/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_LINES_H
#define AUTH_LINES_H

/**
 * @file auth_lines.h
 * Text files with a line for each name: password files, group files.
 */
#include "httpd.h"

typedef struct auth_line {
    char *hash;       /**< of the user, in r->pool; NULL: there is no such user */
    const char *like; /**< the hash of the first user there is, or NULL */
} auth_line;

/**
 * The hash of @a user: "user:hash", and with a @a realm "user:realm:hash".
 * @return APR_SUCCESS, also if not found; or why the file cannot be opened
 * Threads: a worker, as a rule. Blocking: it reads the file.
 */
apr_status_t auth_lines_find(request_rec *r, const char *path, const char *user, const char *realm,
                             auth_line *found);

/**
 * The groups of r->user: "group: user user".
 * @param groups [out] a table of their names, in r->pool
 * @return APR_SUCCESS, also if there are no groups; or why the file cannot be opened
 * Threads: a worker, as a rule. Blocking: it reads the file.
 */
apr_status_t auth_lines_groups(request_rec *r, const char *path, apr_table_t **groups);

#endif
