/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords from a text file: a line for each user, "user:hash", or "user:realm:hash" for Digest. */
#include "auth_password.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "ap_provider.h"
#include "auth_lines.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authn_file_module;
APLOG_USE_MODULE(authn_file);

typedef struct authn_file_conf {
    const char *path; /* NULL: not configured */
} authn_file_conf;

static APR_OPTIONAL_FN_TYPE(ap_authn_cache_store) * authn_file_store;

static void *authn_file_create(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(authn_file_conf));
}

static const authn_file_conf *authn_file_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &authn_file_module);
}

static void authn_file_remember(request_rec *r, const char *user, const char *realm,
                                const char *hash)
{
    if (authn_file_store)
        authn_file_store(r, "file", user, realm, hash);
}

static authn_status authn_file_check(request_rec *r, const char *user, const char *password)
{
    auth_file file = {authn_file_conf_of(r)->path, {0}};
    auth_note *note = auth_note_of(r);
    auth_known known = {.set = 0};
    auth_line found = {NULL, NULL};
    apr_status_t rv;

    if (!file.path) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01619) "AuthUserFile not specified in the configuration");
        return AUTH_GENERAL_ERROR;
    }
    auth_note_asked(r, note, "file");
    rv = auth_file_look(&file.state, file.path);
    if (rv == APR_SUCCESS && auth_password_is_known(r, &file, user, password, &known))
        return AUTH_GRANTED;
    if (rv == APR_SUCCESS && auth_note_is_absent(note, &file, user))
        return AUTH_USER_NOT_FOUND;
    if (auth_leaves_loop(r))
        return AUTH_GENERAL_ERROR;
    rv = auth_lines_find(r, file.path, user, NULL, &found);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01620) "Could not open password file: %s", file.path);
        return AUTH_GENERAL_ERROR;
    }
    if (note && !note->like)
        note->like = found.like;
    if (!found.hash) {
        auth_note_absent(note, &file, user); /* another provider may know the user */
        return AUTH_USER_NOT_FOUND;
    }
    authn_file_remember(r, user, NULL, found.hash);
    return auth_password_check(r, &file, user, password, found.hash, &known);
}

static authn_status authn_file_realm_hash(request_rec *r, const char *user, const char *realm,
                                          char **hash)
{
    auth_file file = {authn_file_conf_of(r)->path, {0}};
    auth_note *note = auth_note_of(r);
    auth_line found = {NULL, NULL};
    apr_status_t rv;

    if (!file.path) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01621) "AuthUserFile not specified in the configuration");
        return AUTH_GENERAL_ERROR;
    }
    auth_note_asked(r, note, "file");
    rv = auth_file_look(&file.state, file.path);
    if (rv == APR_SUCCESS && auth_realm_hash_is_known(r, &file, user, realm, hash))
        return AUTH_USER_FOUND;
    if (auth_leaves_loop(r))
        return AUTH_GENERAL_ERROR;
    rv = auth_lines_find(r, file.path, user, realm, &found);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01622) "Could not open password file: %s", file.path);
        return AUTH_GENERAL_ERROR;
    }
    if (!found.hash) {
        auth_note_absent(note, &file, apr_pstrcat(r->pool, user, ":", realm, NULL));
        return AUTH_USER_NOT_FOUND;
    }
    *hash = found.hash;
    authn_file_remember(r, user, realm, found.hash);
    auth_realm_hash_learn(r, &file, user, realm, found.hash);
    return AUTH_USER_FOUND;
}

static const authn_provider authn_file_provider = {authn_file_check, authn_file_realm_hash};

static void authn_file_find_store(void)
{
    authn_file_store = APR_RETRIEVE_OPTIONAL_FN(ap_authn_cache_store);
}

static void authn_file_register_hooks(apr_pool_t *p)
{
    ap_register_auth_provider(p, AUTHN_PROVIDER_GROUP, "file", AUTHN_PROVIDER_VERSION,
                              &authn_file_provider, AP_AUTH_INTERNAL_PER_CONF);
    ap_register_provider(p, AUTH_OWN_GROUP, "file", "0", &authn_file_provider);
    ap_hook_optional_fn_retrieve(authn_file_find_store, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&authn_file_module, NULL);
}

static const command_rec authn_file_directives[] = {
    AP_INIT_TAKE1("AuthUserFile", ap_set_file_slot, (void *)APR_OFFSETOF(authn_file_conf, path),
                  OR_AUTHCFG,
                  "a text file with a line for each user and the hash of their password"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authn_file_module = {
    STANDARD20_MODULE_STUFF, authn_file_create,         NULL, NULL, NULL,
    authn_file_directives,   authn_file_register_hooks, 0,
};
