/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_userdir: /~NAME/ is a folder of that user's.
 *
 * Home directories stand in the system's database of users, which may be another machine's: such a request is looked up by a
 * worker.
 */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "unixd.h"
#include "apr_strings.h"
#include "apr_user.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

#define USERDIR_NOTE "mod_userdir_user"

extern module userdir_module;
APLOG_USE_MODULE(userdir);

enum { USERDIR_UNSET, USERDIR_ENABLED, USERDIR_DISABLED };

typedef struct userdir_conf {
    int general;         /* USERDIR_* */
    const char *folders; /* words; NULL: not set */
    apr_table_t *enabled, *disabled;
} userdir_conf;

static void *userdir_create(apr_pool_t *p, server_rec *s)
{
    userdir_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->enabled = apr_table_make(p, 4);
    conf->disabled = apr_table_make(p, 4);
    return conf;
}

static void *userdir_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const userdir_conf *base = base_conf, *add = add_conf;
    userdir_conf *conf = apr_pmemdup(p, add, sizeof *conf);

    if (conf->general == USERDIR_UNSET)
        conf->general = base->general;
    if (!conf->folders)
        conf->folders = base->folders;
    return conf;
}

static void userdir_names(apr_pool_t *p, apr_table_t *names, const char *args)
{
    while (*args)
        apr_table_setn(names, ap_getword_conf(p, &args), "1");
}

static const char *userdir_set(cmd_parms *cmd, void *dummy, const char *arg)
{
    userdir_conf *conf = ap_get_module_config(cmd->server->module_config, &userdir_module);
    const char *rest = arg, *word = ap_getword_conf(cmd->pool, &rest);
    int general;

    if (!*word)
        return "UserDir requires an argument.";
    if (!strcasecmp(word, "disable") || !strcasecmp(word, "disabled"))
        general = USERDIR_DISABLED;
    else if (!strcasecmp(word, "enable") || !strcasecmp(word, "enabled"))
        general = USERDIR_ENABLED;
    else {
        conf->folders = apr_pstrdup(cmd->pool, arg);
        return NULL;
    }
    if (!*rest)
        conf->general = general;
    else
        userdir_names(cmd->pool, general == USERDIR_ENABLED ? conf->enabled : conf->disabled, rest);
    return NULL;
}

static int userdir_is_allowed(const userdir_conf *conf, const char *user)
{
    if (!*user || !strcmp(user, ".") || !strcmp(user, "..") || apr_table_get(conf->disabled, user))
        return 0;
    return conf->general != USERDIR_DISABLED || apr_table_get(conf->enabled, user);
}

/* Where a word of UserDir leads to. */
typedef struct userdir_target {
    const char *file; /* NULL: nowhere */
    const char *url;  /* a redirect */
} userdir_target;

static const char *userdir_home(request_rec *r, const char *user, const char *folder)
{
    char *home;

    if (apr_uid_homepath_get(&home, user, r->pool) != APR_SUCCESS)
        return NULL;
    return apr_pstrcat(r->pool, home, "/", folder, NULL);
}

static const char *userdir_below(apr_pool_t *p, const char *folder, const char *user)
{
    const size_t len = strlen(folder);

    return apr_pstrcat(p, folder, len && folder[len - 1] == '/' ? "" : "/", user, NULL);
}

static userdir_target userdir_find(request_rec *r, const char *word, const char *user,
                                   const char *rest)
{
    const char *star = strchr(word, '*');
    const char *before = star ? apr_pstrmemdup(r->pool, word, (apr_size_t)(star - word)) : word;
    const int is_url = strchr(before, ':') != NULL && *word != '/';

    if (!star && (*word == '/' || is_url)) {
        const char *found = userdir_below(r->pool, word, user);

        return is_url ? (userdir_target){NULL, apr_pstrcat(r->pool, found, rest, NULL)}
                      : (userdir_target){found, NULL};
    }
    if (star && (*word == '/' || is_url || !star[1])) {
        const char *found = apr_pstrcat(r->pool, before, user, star + 1, NULL);

        return is_url ? (userdir_target){NULL, apr_pstrcat(r->pool, found, rest, NULL)}
                      : (userdir_target){found, NULL};
    }
    return (userdir_target){userdir_home(r, user, star ? star + 1 : word), NULL};
}

static int userdir_take(request_rec *r, const char *user, const char *file, const char *rest,
                        const apr_finfo_t *found)
{
    BRG_ASSERT(rest >= r->uri && file);
    r->filename = apr_pstrcat(r->pool, file, rest, NULL);
    ap_set_context_info(r, apr_pstrmemdup(r->pool, r->uri, (apr_size_t)(rest - r->uri)), file);
    if (found && !*rest)
        r->finfo = *found;
    apr_table_setn(r->notes, USERDIR_NOTE, user);
    return OK;
}

static int userdir_redirect(request_rec *r, const char *url)
{
    apr_table_setn(r->headers_out, "Location", url);
    return HTTP_MOVED_TEMPORARILY;
}

/* The last word counts even if there is nothing: a handler may answer. */
static int userdir_translate(request_rec *r)
{
    const userdir_conf *conf = ap_get_module_config(r->server->module_config, &userdir_module);
    const char *words = conf->folders, *rest, *user;

    if (!words || r->uri[0] != '/' || r->uri[1] != '~')
        return DECLINED;
    rest = r->uri + 2;
    rest += strcspn(rest, "/");
    user = apr_pstrmemdup(r->pool, r->uri + 2, (apr_size_t)(rest - r->uri - 2));
    if (!userdir_is_allowed(conf, user))
        return DECLINED;
    while (*words) {
        const userdir_target target = userdir_find(r, ap_getword_conf(r->pool, &words), user, rest);
        apr_finfo_t found;
        apr_status_t rv;

        if (target.url)
            return userdir_redirect(r, target.url);
        if (!target.file)
            continue;
        rv = apr_stat(&found, target.file, APR_FINFO_MIN, r->pool);
        if (rv == APR_SUCCESS || rv == APR_INCOMPLETE || !*words)
            return userdir_take(r, user, target.file, rest,
                                rv == APR_SUCCESS || rv == APR_INCOMPLETE ? &found : NULL);
    }
    return DECLINED;
}

static ap_unix_identity_t *userdir_identity(const request_rec *r)
{
    const char *user = apr_table_get(r->notes, USERDIR_NOTE);
    ap_unix_identity_t *identity;

    if (!user)
        return NULL;
    identity = apr_palloc(r->pool, sizeof *identity);
    if (apr_uid_get(&identity->uid, &identity->gid, user, r->pool) != APR_SUCCESS)
        return NULL;
    identity->userdir = 1;
    return identity;
}

/* A '~', plain or escaped: the target may name a user. */
static int userdir_may_wait(const request_rec *r)
{
    const userdir_conf *conf = ap_get_module_config(r->server->module_config, &userdir_module);

    return conf->folders && r->uri && (strchr(r->uri, '~') || strstr(r->uri, "%7"));
}

static int userdir_depends(request_rec *r)
{
    for (const request_rec *q = r; q; q = q->prev)
        if (userdir_may_wait(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static const command_rec userdir_commands[] = {
    AP_INIT_RAW_ARGS("UserDir", userdir_set, NULL, RSRC_CONF,
                     "the public subdirectory in users' home directories, or 'disabled', or "
                     "'disabled username username...', or 'enabled username username...'"),
    {0},
};

static void userdir_register_hooks(apr_pool_t *p)
{
    static const char *const before_us[] = {"mod_alias.c", NULL};
    static const char *const after_us[] = {"mod_vhost_alias.c", NULL};

    ap_hook_translate_name(userdir_translate, before_us, after_us, APR_HOOK_MIDDLE);
    ap_hook_get_suexec_identity(userdir_identity, NULL, NULL, APR_HOOK_FIRST);
    brg_cache_declare(&userdir_module, userdir_depends);
    brg_hooks_need_directive(&userdir_module, "translate_name", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&userdir_module);
    brg_phases_wait_declare(&userdir_module, userdir_may_wait);
}

module AP_MODULE_DECLARE_DATA userdir_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, userdir_create, userdir_merge, userdir_commands,
    userdir_register_hooks,  0,
};
