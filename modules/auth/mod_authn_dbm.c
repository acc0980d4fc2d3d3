/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords from a DBM file, as htdbm makes it: user to "hash:more"; "user:realm" to "hash" for Digest. */
#include "auth_dbm.h"
#include "auth_password.h"
#include "http_config.h"
#include "http_log.h"
#include "http_request.h"
#include "ap_provider.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authn_dbm_module;
APLOG_USE_MODULE(authn_dbm);

typedef struct authn_dbm_conf {
    const char *path, *type;
} authn_dbm_conf;

static APR_OPTIONAL_FN_TYPE(ap_authn_cache_store) * authn_dbm_store;

static void *authn_dbm_create(apr_pool_t *p, char *dir)
{
    authn_dbm_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->type = "default";
    return conf;
}

static const authn_dbm_conf *authn_dbm_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &authn_dbm_module);
}

/* The value up to a colon. */
static apr_status_t authn_dbm_hash(request_rec *r, const char *key, char **hash)
{
    const authn_dbm_conf *conf = authn_dbm_conf_of(r);
    apr_status_t rv = auth_dbm_get(r, conf->type, conf->path, key, hash);

    if (rv != APR_SUCCESS)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(10285) "could not open dbm (type %s) file: %s", conf->type,
                      conf->path);
    else if (*hash)
        (*hash)[strcspn(*hash, ":")] = '\0';
    return rv;
}

static authn_status authn_dbm_check(request_rec *r, const char *user, const char *password)
{
    const authn_dbm_conf *conf = authn_dbm_conf_of(r);
    auth_note *note = auth_note_of(r);
    auth_known known = {.set = 0};
    auth_file file = {conf->path ? auth_dbm_file(r, conf->type, conf->path) : NULL, {0}};
    char *hash;

    auth_note_asked(r, note, "dbm");
    if (file.path && auth_file_look(&file.state, file.path) == APR_SUCCESS) {
        if (auth_password_is_known(r, &file, user, password, &known))
            return AUTH_GRANTED;
        if (auth_note_is_absent(note, &file, user))
            return AUTH_USER_NOT_FOUND;
    }
    if (auth_leaves_loop(r) || authn_dbm_hash(r, user, &hash) != APR_SUCCESS)
        return AUTH_GENERAL_ERROR;
    if (!hash) {
        auth_note_absent(note, &file, user);
        return AUTH_USER_NOT_FOUND;
    }
    if (authn_dbm_store)
        authn_dbm_store(r, "dbm", user, NULL, hash);
    return auth_password_check(r, &file, user, password, hash, &known);
}

static authn_status authn_dbm_realm_hash(request_rec *r, const char *user, const char *realm,
                                         char **hash)
{
    auth_note_open(auth_note_of(r));
    if (auth_leaves_loop(r) ||
        authn_dbm_hash(r, apr_pstrcat(r->pool, user, ":", realm, NULL), hash) != APR_SUCCESS)
        return AUTH_GENERAL_ERROR;
    if (!*hash)
        return AUTH_USER_NOT_FOUND;
    if (authn_dbm_store)
        authn_dbm_store(r, "dbm", user, realm, *hash);
    return AUTH_USER_FOUND;
}

static const authn_provider authn_dbm_provider = {authn_dbm_check, authn_dbm_realm_hash};

static void authn_dbm_find_store(void)
{
    authn_dbm_store = APR_RETRIEVE_OPTIONAL_FN(ap_authn_cache_store);
}

static void authn_dbm_register_hooks(apr_pool_t *p)
{
    ap_register_auth_provider(p, AUTHN_PROVIDER_GROUP, "dbm", AUTHN_PROVIDER_VERSION,
                              &authn_dbm_provider, AP_AUTH_INTERNAL_PER_CONF);
    ap_register_provider(p, AUTH_OWN_GROUP, "dbm", "0", &authn_dbm_provider);
    ap_hook_optional_fn_retrieve(authn_dbm_find_store, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&authn_dbm_module, NULL);
}

static const command_rec authn_dbm_directives[] = {
    AP_INIT_TAKE1("AuthDBMUserFile", ap_set_file_slot, (void *)APR_OFFSETOF(authn_dbm_conf, path),
                  OR_AUTHCFG, "a DBM file with users and the hashes of their passwords"),
    AP_INIT_TAKE1("AuthDBMType", ap_set_string_slot, (void *)APR_OFFSETOF(authn_dbm_conf, type),
                  OR_AUTHCFG, "the kind of DBM file: default, or one that APR-util knows"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authn_dbm_module = {
    STANDARD20_MODULE_STUFF, authn_dbm_create,         NULL, NULL, NULL,
    authn_dbm_directives,    authn_dbm_register_hooks, 0,
};
