/* SPDX-License-Identifier: Apache-2.0 */
/* Require file-owner: the file belongs to the system's user of the same name. For Require file-group of other modules it
 * tells which group a file has. */
#include "auth_authz.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_strings.h"
#include "apr_user.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authz_owner_module;
APLOG_USE_MODULE(authz_owner);

#define OWNER_FAILED(number, rv, why)                                                         \
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,                                               \
                  number "Authorization of user %s to access %s failed, reason: %s", r->user, \
                  r->uri, why)

static authz_status owner_check(request_rec *r, const char *line, const void *parsed)
{
    apr_finfo_t finfo;
    char *owner = NULL;
    apr_status_t rv;

    if (!r->user)
        return AUTHZ_DENIED_NO_USER;
    if (!r->filename) {
        OWNER_FAILED(APLOGNO(01633), 0, "no filename available");
        return AUTHZ_DENIED;
    }
    rv = apr_stat(&finfo, r->filename, APR_FINFO_USER, r->pool);
    if (rv != APR_SUCCESS) {
        OWNER_FAILED(APLOGNO(01634), rv,
                     apr_pstrcat(r->pool, "could not stat file ", r->filename, NULL));
    } else if (!(finfo.valid & APR_FINFO_USER)) {
        OWNER_FAILED(APLOGNO(01635), 0, "no file owner information available");
    } else if ((rv = apr_uid_name_get(&owner, finfo.user, r->pool)) != APR_SUCCESS || !owner) {
        OWNER_FAILED(APLOGNO(01636), rv, "could not get name of file owner");
    } else if (strcmp(owner, r->user) != 0) {
        OWNER_FAILED(APLOGNO(01637), 0,
                     apr_psprintf(r->pool, "file owner %s does not match.", owner));
    } else {
        return AUTHZ_GRANTED;
    }
    return AUTHZ_DENIED;
}

static char *authz_owner_get_file_group(request_rec *r)
{
    apr_finfo_t finfo;
    char *group = NULL;
    apr_status_t rv;

    if (!r->filename) {
        OWNER_FAILED(APLOGNO(01638), 0, "no filename available");
        return NULL;
    }
    rv = apr_stat(&finfo, r->filename, APR_FINFO_GROUP, r->pool);
    if (rv != APR_SUCCESS) {
        OWNER_FAILED(APLOGNO(01639), rv,
                     apr_pstrcat(r->pool, "could not stat file ", r->filename, NULL));
    } else if (!(finfo.valid & APR_FINFO_GROUP)) {
        OWNER_FAILED(APLOGNO(01640), 0, "no file group information available");
    } else if ((rv = apr_gid_name_get(&group, finfo.group, r->pool)) != APR_SUCCESS || !group) {
        OWNER_FAILED(APLOGNO(01641), rv, "could not get name of file group");
    } else {
        return group;
    }
    return NULL;
}

static const authz_provider owner_provider = {owner_check, NULL};

static void owner_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(authz_owner_get_file_group);
    auth_authz_register_open(p, "file-owner", &owner_provider);
    brg_cache_declare(&authz_owner_module, NULL);
}

module AP_MODULE_DECLARE_DATA authz_owner_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, owner_register_hooks, 0,
};
