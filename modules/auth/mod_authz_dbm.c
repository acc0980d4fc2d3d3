/* SPDX-License-Identifier: Apache-2.0 */
/* Require dbm-group NAME... and Require dbm-file-group: the groups of a user from a DBM file, "group,group" or
 * "hash:group,group:more". */
#include "auth_authz.h"
#include "auth_dbm.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "ap_expr.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authz_dbm_module;
APLOG_USE_MODULE(authz_dbm);

typedef struct authz_dbm_conf {
    const char *path, *type;
} authz_dbm_conf;

static APR_OPTIONAL_FN_TYPE(authz_owner_get_file_group) * authz_dbm_of_file;

static void *authz_dbm_create(apr_pool_t *p, char *dir)
{
    authz_dbm_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->type = "default";
    return conf;
}

/* @return APR_SUCCESS, and the user's groups; NULL: there is no such user */
static apr_status_t authz_dbm_groups(request_rec *r, const authz_dbm_conf *conf, char **groups)
{
    const char *realm = ap_auth_name(r);
    const char *with_realm = apr_pstrcat(r->pool, r->user, ":", realm ? realm : "", NULL);
    apr_status_t rv = auth_dbm_get(r, conf->type, conf->path, with_realm, groups);

    if (rv == APR_SUCCESS && !*groups)
        rv = auth_dbm_get(r, conf->type, conf->path, r->user, groups);
    if (rv != APR_SUCCESS)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01799) "could not open dbm (type %s) group access file: %s",
                      conf->type, conf->path);
    else
        *groups = auth_dbm_groups(*groups);
    return rv;
}

/* The groups of the user. @a numbers: of the messages that there is no file, and no such user.
 * @return AUTHZ_GRANTED: they are there; AUTHZ_GENERAL_ERROR: the file cannot be read */
static authz_status authz_dbm_begin(request_rec *r, const char *const numbers[2], char **groups)
{
    const authz_dbm_conf *conf = ap_get_module_config(r->per_dir_config, &authz_dbm_module);

    if (!r->user)
        return AUTHZ_DENIED_NO_USER;
    if (!conf->path) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%sNo group file was specified in the configuration", numbers[0]);
        return AUTHZ_DENIED;
    }
    if (authz_dbm_groups(r, conf, groups) != APR_SUCCESS)
        return AUTHZ_GENERAL_ERROR;
    if (*groups)
        return AUTHZ_GRANTED;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "%sAuthorization of user %s to access %s failed, reason: user doesn't appear in "
                  "DBM group file (%s).",
                  numbers[1], r->user, r->uri, conf->path);
    return AUTHZ_DENIED;
}

static authz_status authz_dbm_judge(request_rec *r, const char *groups, const void *parsed)
{
    const char *err = NULL, *names = ap_expr_str_exec(r, parsed, &err), *name;

    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02591) "authz_dbm authorize: require dbm-group: Can't evaluate "
                                     "require expression: %s",
                      err);
        return AUTHZ_DENIED;
    }
    while (*(name = ap_getword_white(r->pool, &names)))
        if (auth_dbm_has(r->pool, groups, name))
            return AUTHZ_GRANTED;
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, r,
        APLOGNO(01801) "Authorization of user %s to access %s failed, reason: user is not "
                       "part of the 'require'ed group(s).",
        r->user, r->uri);
    return AUTHZ_DENIED;
}

static authz_status authz_dbm_check(request_rec *r, const char *line, const void *parsed)
{
    static const char *const numbers[] = {APLOGNO(01798), APLOGNO(01800)};
    char *groups;
    authz_status status = authz_dbm_begin(r, numbers, &groups);

    return status == AUTHZ_GRANTED ? authz_dbm_judge(r, groups, parsed) : status;
}

static authz_status authz_dbm_check_file(request_rec *r, const char *line, const void *parsed)
{
    static const char *const numbers[] = {APLOGNO(01802), APLOGNO(01804)};
    const char *group;
    char *groups;
    authz_status status = authz_dbm_begin(r, numbers, &groups);

    if (status != AUTHZ_GRANTED)
        return status == AUTHZ_GENERAL_ERROR ? AUTHZ_DENIED : status;
    group = authz_dbm_of_file ? authz_dbm_of_file(r) : NULL;
    if (group && auth_dbm_has(r->pool, groups, group))
        return AUTHZ_GRANTED;
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, r,
        APLOGNO(01805) "Authorization of user %s to access %s failed, reason: user is not "
                       "part of the 'require'ed group(s).",
        r->user, r->uri);
    return AUTHZ_DENIED;
}

static const authz_provider authz_dbm_provider = {authz_dbm_check, auth_authz_parse};
static const authz_provider authz_dbm_file_provider = {authz_dbm_check_file, NULL};

static void authz_dbm_find_owner(void)
{
    authz_dbm_of_file = APR_RETRIEVE_OPTIONAL_FN(authz_owner_get_file_group);
}

static void authz_dbm_register_hooks(apr_pool_t *p)
{
    auth_authz_register_open(p, "dbm-group", &authz_dbm_provider);
    auth_authz_register_open(p, "dbm-file-group", &authz_dbm_file_provider);
    ap_hook_optional_fn_retrieve(authz_dbm_find_owner, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&authz_dbm_module, NULL);
}

static const command_rec authz_dbm_directives[] = {
    AP_INIT_TAKE1("AuthDBMGroupFile", ap_set_file_slot, (void *)APR_OFFSETOF(authz_dbm_conf, path),
                  OR_AUTHCFG, "a DBM file with users and their groups"),
    AP_INIT_TAKE1("AuthzDBMType", ap_set_string_slot, (void *)APR_OFFSETOF(authz_dbm_conf, type),
                  OR_AUTHCFG, "the kind of DBM file: default, or one that APR-util knows"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authz_dbm_module = {
    STANDARD20_MODULE_STUFF, authz_dbm_create,         NULL, NULL, NULL,
    authz_dbm_directives,    authz_dbm_register_hooks, 0,
};
