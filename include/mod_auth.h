/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_MOD_AUTH_H
#define APACHE_MOD_AUTH_H

/** @file mod_auth.h  Providers of authentication and authorization. */
#include "apr_pools.h"
#include "apr_hash.h"
#include "apr_optional.h"
#include "httpd.h"
#include "http_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Groups and versions of providers, and the name of the usual one. */
#define AUTHN_PROVIDER_GROUP "authn"
#define AUTHZ_PROVIDER_GROUP "authz"
#define AUTHN_PROVIDER_VERSION "0"
#define AUTHZ_PROVIDER_VERSION "0"
#define AUTHN_DEFAULT_PROVIDER "file"

/* Notes that name the provider at work; prefixes of variables that it sets. */
#define AUTHN_PROVIDER_NAME_NOTE "authn_provider_name"
#define AUTHZ_PROVIDER_NAME_NOTE "authz_provider_name"
#define AUTHN_PREFIX "AUTHENTICATE_"
#define AUTHZ_PREFIX "AUTHORIZE_"

#ifndef SATISFY_ALL
/** Satisfy All. */
#define SATISFY_ALL 0
#endif
#ifndef SATISFY_ANY
/** Satisfy Any. */
#define SATISFY_ANY 1
#endif
#ifndef SATISFY_NOSPEC
/** Satisfy is not in the configuration. */
#define SATISFY_NOSPEC 2
#endif

/** The result of a provider of authentication. */
typedef enum {
    AUTH_DENIED,
    AUTH_GRANTED,
    AUTH_USER_FOUND,
    AUTH_USER_NOT_FOUND,
    AUTH_GENERAL_ERROR
} authn_status;

/** The result of a provider of authorization. */
typedef enum {
    AUTHZ_DENIED,
    AUTHZ_GRANTED,
    AUTHZ_NEUTRAL,
    AUTHZ_GENERAL_ERROR,
    AUTHZ_DENIED_NO_USER /**< ask for a user, then again */
} authz_status;

/** Checks of a user's identity. Either function may be NULL. */
typedef struct {
    authn_status (*check_password)(request_rec *r, const char *user, const char *password);
    authn_status (*get_realm_hash)(request_rec *r, const char *user, const char *realm,
                                   char **rethash);
} authn_provider;

/** Providers in the order in which they are asked. */
typedef struct authn_provider_list authn_provider_list;
/** A directory's providers, in their order. */
struct authn_provider_list {
    const char *provider_name;
    const authn_provider *provider;
    authn_provider_list *next;
};

/** May they? The second function, which may be NULL, parses once the text that the first gets each
 * time. */
typedef struct {
    authz_status (*check_authorization)(request_rec *r, const char *require_line,
                                        const void *parsed_require_line);
    const char *(*parse_require_line)(cmd_parms *cmd, const char *require_line,
                                      const void **parsed_require_line);
} authz_provider;

/** Remember credentials: request, provider, user, realm or NULL, hash. */
APR_DECLARE_OPTIONAL_FN(void, ap_authn_cache_store,
                        (request_rec *, const char *, const char *, const char *, const char *));

#ifdef __cplusplus
}
#endif
#endif
