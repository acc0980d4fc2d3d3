/* SPDX-License-Identifier: Apache-2.0 */
/* Values from DBM files of users and groups, for mod_authn_dbm and mod_authz_dbm. */
#include "auth_dbm.h"
#include "apr_dbm.h"
#include "apr_strings.h"
#include <string.h>

apr_status_t auth_dbm_get(request_rec *r, const char *type, const char *path, const char *key,
                          char **value)
{
    apr_datum_t name = {(char *)(uintptr_t)key, strlen(key)}, found = {NULL, 0};
    apr_dbm_t *dbm;
    apr_status_t rv = apr_dbm_open_ex(&dbm, type, path, APR_DBM_READONLY, APR_OS_DEFAULT, r->pool);

    *value = NULL;
    if (rv != APR_SUCCESS)
        return rv;
    if (apr_dbm_fetch(dbm, name, &found) == APR_SUCCESS && found.dptr)
        *value = apr_pstrmemdup(r->pool, found.dptr, found.dsize);
    apr_dbm_close(dbm);
    return APR_SUCCESS;
}

const char *auth_dbm_file(request_rec *r, const char *type, const char *path)
{
    const char *first = NULL, *second = NULL;

    /* Of two files it is the second that has the values. */
    if (apr_dbm_get_usednames_ex(r->pool, type, path, &first, &second) != APR_SUCCESS || !first)
        return path;
    return second ? second : first;
}

char *auth_dbm_groups(char *value)
{
    char *first = value ? strchr(value, ':') : NULL;

    if (!first)
        return value;
    first++;
    first[strcspn(first, ":")] = '\0';
    return first;
}

int auth_dbm_has(apr_pool_t *p, const char *groups, const char *name)
{
    while (*groups)
        if (!strcmp(ap_getword(p, &groups, ','), name))
            return 1;
    return 0;
}
