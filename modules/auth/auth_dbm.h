/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_DBM_H
#define AUTH_DBM_H

/** @file auth_dbm.h  Values from DBM files of users and groups. */
#include "httpd.h"

/**
 * The value of a key.
 * @param value [out] in r->pool; NULL: there is no such key
 * @return APR_SUCCESS; or why the file cannot be opened
 * Threads: a worker, as a rule. Blocking: it reads the file.
 */
apr_status_t auth_dbm_get(request_rec *r, const char *type, const char *path, const char *key,
                          char **value);

/** The name of the file that changes with the data, in r->pool. */
const char *auth_dbm_file(request_rec *r, const char *type, const char *path);

/** The groups in a value, which is changed: for an entry that holds a password, too, its second
 * part. NULL: of NULL */
char *auth_dbm_groups(char *value);
/** 1 if a group of that name stands in "group,group". */
int auth_dbm_has(apr_pool_t *p, const char *groups, const char *name);

#endif
