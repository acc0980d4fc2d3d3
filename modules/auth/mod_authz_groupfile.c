/* SPDX-License-Identifier: Apache-2.0 */
/* Require group NAME... and Require file-group: groups from a text file, "group: user user". */
#include "auth_authz.h"
#include "auth_lines.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_expr.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authz_groupfile_module;
APLOG_USE_MODULE(authz_groupfile);

typedef struct groupfile_conf {
    const char *path; /* NULL: not configured */
} groupfile_conf;

static APR_OPTIONAL_FN_TYPE(authz_owner_get_file_group) * groupfile_of_file;

static void *groupfile_create(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(groupfile_conf));
}

static const char *groupfile_path(const request_rec *r)
{
    const groupfile_conf *conf = ap_get_module_config(r->per_dir_config, &authz_groupfile_module);

    return conf->path;
}

/* ---- its results in memory ---- */

#define GROUP_GRANTED 'g'

static int groupfile_mark(auth_mark *mark, const request_rec *r, const auth_file *file,
                          const char *names)
{
    const auth_piece piece[] = {{file->path, strlen(file->path)},
                                {&file->state, AUTH_STATE_BYTES},
                                {r->user, strlen(r->user)},
                                {names, strlen(names)}};

    return file->state.rests && auth_mark_make(mark, GROUP_GRANTED, piece, 4);
}

static int groupfile_is_known(request_rec *r, const auth_file *file, const char *names)
{
    auth_mark mark;
    apr_time_t until;

    if (!groupfile_mark(&mark, r, file, names) || !(until = auth_memory_knows(&mark)))
        return 0;
    auth_note_until(auth_note_of(r), until);
    return 1;
}

static void groupfile_learn(request_rec *r, const auth_file *file, const char *names)
{
    const apr_time_t until = brg_monotonic_now() + AUTH_MEMORY_US;
    auth_mark mark;

    if (!groupfile_mark(&mark, r, file, names))
        return;
    auth_memory_learn(&mark, until);
    auth_note_until(auth_note_of(r), until);
}

/* ---- Require group ---- */

static authz_status groupfile_judge(request_rec *r, const auth_file *file, const char *line,
                                    const void *parsed)
{
    const char *err = NULL, *names, *name;
    apr_table_t *groups;
    apr_status_t rv = auth_lines_groups(r, file->path, &groups);

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, APLOGNO(01665) "Could not open group file: %s",
                      file->path);
        return AUTHZ_DENIED;
    }
    if (apr_is_empty_table(groups)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(01666) "Authorization of user %s to access %s failed, reason: user "
                                     "doesn't appear in group file (%s).",
                      r->user, r->uri, file->path);
        return AUTHZ_DENIED;
    }
    names = ap_expr_str_exec(r, parsed, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02592) "authz_groupfile authorize: require group: Can't evaluate "
                                     "require expression: %s",
                      err);
        return AUTHZ_DENIED;
    }
    while (*(name = ap_getword_conf(r->pool, &names)))
        if (apr_table_get(groups, name)) {
            groupfile_learn(r, file, line);
            return AUTHZ_GRANTED;
        }
    ap_log_rerror(
        APLOG_MARK, APLOG_DEBUG, 0, r,
        APLOGNO(01667) "Authorization of user %s to access %s failed, reason: user is not "
                       "part of the 'require'ed group(s).",
        r->user, r->uri);
    return AUTHZ_DENIED;
}

static authz_status groupfile_check(request_rec *r, const char *line, const void *parsed)
{
    auth_file file = {groupfile_path(r), {0}};

    if (!r->user)
        return AUTHZ_DENIED_NO_USER;
    if (!file.path) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01664) "No group file was specified in the configuration");
        return AUTHZ_DENIED;
    }
    if (auth_file_look(&file.state, file.path) != APR_SUCCESS)
        auth_note_open(auth_note_of(r));
    /* Whatever comes of it: a rule that denies may be turned round. */
    else if (groupfile_is_known(r, &file, line)) {
        auth_note_file(auth_note_of(r), file.path, &file.state);
        return AUTHZ_GRANTED;
    }
    if (auth_leaves_loop(r))
        return AUTHZ_GENERAL_ERROR;
    auth_note_file(auth_note_of(r), file.path, &file.state);
    return groupfile_judge(r, &file, line, parsed);
}

/* ---- Require file-group ---- */

static authz_status groupfile_check_file(request_rec *r, const char *line, const void *parsed)
{
    const char *path = groupfile_path(r), *group;
    apr_table_t *groups;
    apr_status_t rv;

    if (!r->user)
        return AUTHZ_DENIED_NO_USER;
    if (!path) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01668) "No group file was specified in the configuration");
        return AUTHZ_DENIED;
    }
    if ((rv = auth_lines_groups(r, path, &groups)) != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, APLOGNO(01669) "Could not open group file: %s",
                      path);
        return AUTHZ_DENIED;
    }
    if (apr_is_empty_table(groups)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01670) "Authorization of user %s to access %s failed, reason: user "
                                     "doesn't appear in group file (%s).",
                      r->user, r->uri, path);
        return AUTHZ_DENIED;
    }
    group = groupfile_of_file ? groupfile_of_file(r) : NULL;
    if (!group)
        return AUTHZ_DENIED; /* mod_authz_owner said why */
    if (apr_table_get(groups, group))
        return AUTHZ_GRANTED;
    ap_log_rerror(
        APLOG_MARK, APLOG_DEBUG, 0, r,
        APLOGNO(01671) "Authorization of user %s to access %s failed, reason: user is not "
                       "part of the 'require'ed file group.",
        r->user, r->uri);
    return AUTHZ_DENIED;
}

static const authz_provider groupfile_provider = {groupfile_check, auth_authz_parse};
static const authz_provider groupfile_file_provider = {groupfile_check_file, NULL};

static void groupfile_find_owner(void)
{
    groupfile_of_file = APR_RETRIEVE_OPTIONAL_FN(authz_owner_get_file_group);
}

static void groupfile_register_hooks(apr_pool_t *p)
{
    auth_authz_register(p, "group", &groupfile_provider);
    auth_authz_register_open(p, "file-group", &groupfile_file_provider);
    ap_hook_optional_fn_retrieve(groupfile_find_owner, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&authz_groupfile_module, NULL);
}

static const command_rec groupfile_directives[] = {
    AP_INIT_TAKE1("AuthGroupFile", ap_set_file_slot, (void *)APR_OFFSETOF(groupfile_conf, path),
                  OR_AUTHCFG,
                  "a text file with a line for each group: its name, a colon, and its users"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authz_groupfile_module = {
    STANDARD20_MODULE_STUFF, groupfile_create,         NULL, NULL, NULL,
    groupfile_directives,    groupfile_register_hooks, 0,
};
