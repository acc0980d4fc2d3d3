/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_AUTH_H
#define BRIGADE_AUTH_H

/**
 * @file brigade/auth.h
 * Authentication on event loops, and answers from memory behind it.
 *
 * Checking a password may take long on purpose. A loop stops before authentication, and a worker
 * goes on, unless every module with a check_user_id or auth_checker hook says by brg_auth_declare()
 * that its hooks know by themselves when they would wait. Modules that remember users then need no
 * worker for the next request.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_optional.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The check_user_id and auth_checker hooks of @a m do not wait on an event loop: where they would have to, and
 * brg_auth_may_defer() is 1, they leave the request as it was and return BRG_WOULD_WAIT (brigade/files.h).
 * After brg_cache_declare() or brg_nonblocking_declare(), in the module's register_hooks function.
 */
BRG_DECLARE(void) brg_auth_declare(module *m);

/**
 * 1 if a hook of authentication or authorization may return BRG_WOULD_WAIT for @a r: it is called
 * once more, on a worker. 0 on a worker, and for requests that another request waits for on a loop:
 * slow work has to be done here.
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_auth_may_defer(const request_rec *r);

/**
 * Asked for each request on an event loop that has an Authorization field, before its phases: 1 if one of them may wait
 * for long, so that all run on a worker.
 * @param field  of the request
 * Threads: loops. Blocking: must not.
 */
typedef int brg_auth_waits_fn(const request_rec *r, const char *field);

/** Have @a fn asked, too. In register_hooks, after brg_auth_declare(). */
BRG_DECLARE(void) brg_auth_ask(module *m, brg_auth_waits_fn *fn);

/** Room for a user's name in brg_cache_users.name(), with its NUL. */
#define BRG_CACHE_USER_ROOM 400

/** Room for a field that is added to an answer, with its name. */
#define BRG_CACHE_ADDED_ROOM 400

/** A request whose sender is asked for. Nothing of it is terminated. */
typedef struct brg_cache_bearer {
    const char *value; /**< of the field */
    apr_size_t len;
    const char *method, *target;
    apr_size_t method_len, target_len;
    apr_time_t now; /**< microseconds since the epoch */
} brg_cache_bearer;

/** The user of a request, by a field of it. */
typedef struct brg_cache_users {
    /**
     * Is the bearer let in where @a realm holds?
     * @param realm  as given to brg_cache_vary_user()
     * @param added  [out] where adds is set: the value of that field, at most BRG_CACHE_ADDED_ROOM - 64 bytes
     * @return -1: it cannot be said, and the request is processed in full; else bytes at @a added
     * Threads: loops. Blocking: must not.
     */
    int (*knows)(const apr_uint64_t realm[2], const brg_cache_bearer *bearer, char *added);
    /** Write r->user of such a request to @a out (BRG_CACHE_USER_ROOM bytes). @return 0: it has none */
    int (*name)(const char *value, apr_size_t len, char *out);
    const char *type; /**< r->ap_auth_type */
    /** a field of the response that has another value for each request; NULL: none */
    const char *adds;
} brg_cache_users;

/**
 * The outcome of @a r is the same for every user who is let in, and depends on nothing else of the
 * user. It is sent from memory to requests whose value of @a field users->knows() says is let in;
 * all others are processed in full. Each request is asked about anew, and no value is kept. Logs
 * see the user's name.
 *
 * @param field  of the request; it must not have been changed
 * @param users  lives as long as the configuration
 * @param realm  the basis of the decision: rules, files and the state of these files; is copied
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void)
brg_cache_vary_user(request_rec *r, const char *field, const brg_cache_users *users,
                    const apr_uint64_t realm[2]);

/**
 * The group, and version "0", in which a provider for Require is registered as well, under the same name and pointer, if
 * its answers depend on r->user, the method, the configuration and the files that it names to the module that
 * authenticated r alone, and on an event loop it asks brg_auth_may_defer() before it waits: it then returns
 * AUTHZ_GENERAL_ERROR after brg_auth_would_wait().
 */
#define BRG_AUTHZ_USER_GROUP "brg-user-authz"

/** A provider of authentication or authorization would have to wait. */
BRG_DECLARE(void) brg_auth_would_wait(request_rec *r);

/** 1 if brg_auth_would_wait() was called since it was asked last. */
BRG_DECLARE(int) brg_auth_waits(request_rec *r);

/** Optional function of mod_authz_core: the rules of Require that hold for @a r as text in r->pool, equal if and only if
 * they are; NULL if they look at more than providers in BRG_AUTHZ_USER_GROUP do. */
APR_DECLARE_OPTIONAL_FN(const char *, brg_authz_user_rules, (request_rec * r));

/** Optional function of mod_authn_core: 1 if answers to @a r may be kept for all users who are let
 * in, as it says by brg_cache_vary_user(). */
APR_DECLARE_OPTIONAL_FN(int, brg_authn_vouches, (request_rec * r));

#ifdef __cplusplus
}
#endif
#endif
