/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_DIGEST_PRIVATE_H
#define AUTH_DIGEST_PRIVATE_H

/**
 * @file auth_digest_private.h
 * Parts of mod_auth_digest (RFC 7616, with MD5 and qop "auth"): the field (auth_digest_field.c), its URI
 * (auth_digest_uri.c), nonces (auth_digest_nonce.c), clients that the server counts requests of (auth_digest_clients.c),
 * directives (auth_digest_config.c).
 */
#include "auth_password.h"
#include "http_config.h"

typedef struct auth_digest_conf {
    authn_provider_list *providers; /**< NULL: the default one */
    const char *domain;             /**< ", domain=\"...\"", or NULL */
    apr_interval_time_t lifetime;   /**< of nonces; 0: one request; less: for ever */
    int lifetime_set;
    int check_nc, check_nc_set;
} auth_digest_conf;

/** An Authorization field of the scheme Digest. NULL: it has no such part. */
typedef struct digest_field {
    const char *scheme, *username, *realm, *nonce, *uri, *response, *algorithm, *cnonce, *opaque,
        *qop, *nc;
    unsigned long client; /**< by opaque; 0: none, or no number */
} digest_field;

/** Facts of a request that authenticates by Digest. */
typedef struct digest_request {
    digest_field field;
    const char *hash;      /**< of user, realm and password; NULL: not looked up */
    apr_time_t nonce_time; /**< of the nonce that was sent */
    unsigned long made;    /**< a client that was made for the challenge; 0: none */
    unsigned needed : 1;   /**< authentication was asked for */
} digest_request;

/** Bytes of a nonce: the time in base 64, then a sum in hexadecimal digits. */
#define DIGEST_TIME_LEN 12
#define DIGEST_NONCE_LEN (DIGEST_TIME_LEN + 40)

extern module AP_MODULE_DECLARE_DATA auth_digest_module;
extern const command_rec auth_digest_directives[];

void *auth_digest_create(apr_pool_t *p, char *dir);
void *auth_digest_merge(apr_pool_t *p, void *base_conf, void *add_conf);

/** @name the field */
/** @{ */
typedef enum digest_kind {
    DIGEST_ABSENT,
    DIGEST_OTHER, /**< another scheme: field->scheme */
    DIGEST_PARTIAL /**< a part is missing */,
    DIGEST_WHOLE
} digest_kind;

/** Read a field, without a pool: all of it is in @a room, of DIGEST_FIELD_ROOM(strlen(text)) bytes. */
digest_kind digest_field_parse(char *room, const char *text, digest_field *field);
#define DIGEST_FIELD_ROOM(len) (3 * (len) + 8)
/** Read a field; all of it is in @a p. NULL: no field. */
digest_kind digest_field_read(apr_pool_t *p, const char *text, digest_field *field);
/** @} */

/** OK if the field is for the target of @a r; HTTP_BAD_REQUEST, and the error log says why. */
int digest_uri_check(request_rec *r, const digest_field *field);

/** @name nonces */
/** @{ */
/** A new key, unless this server has one. */
apr_status_t digest_nonce_open(void);

/** A nonce for that time, or for one request if @a number is not 0; in @a p. @param opaque NULL: none */
const char *digest_nonce_make(apr_pool_t *p, const request_rec *r, apr_time_t time,
                              apr_uint64_t number, const char *opaque);

/** The sum that the nonce of a field for that realm should have: 40 bytes and a NUL at @a sum. 1 if
 * it has; *time: that in the nonce. */
int digest_nonce_matches(const char *realm, const digest_field *field, apr_time_t *time, char *sum);
/** 1 if it is a nonce of this server for that realm. *time: that in the nonce. */
int digest_nonce_is_ours(request_rec *r, const digest_field *field, apr_time_t *time,
                         const char **hash);
/** @} */

/** @name clients, in memory that all processes share. Threads: any. Blocking: no. */
/** @{ */
/** Before processes start. @param bytes of AuthDigestShmemSize */
apr_status_t digest_clients_open(apr_pool_t *p, apr_size_t bytes);
/** A new one; 0: there is no memory. */
unsigned long digest_client_make(void);
/** 1 if it is known. */
int digest_client_is_known(unsigned long number);
/** Its request with that count: 1 if it is above all that came; *last is the largest that came. -1: it is unknown. */
int digest_client_counts(unsigned long number, unsigned long nc, unsigned long *last);
/** 1 if the nonce of that number is its latest; -1: it is unknown. */
int digest_client_has_nonce(unsigned long number, apr_uint64_t nonce);
void digest_client_give(unsigned long number, apr_uint64_t nonce);
/** Numbers of nonces for one request. */
apr_uint64_t digest_number_next(void);
/** Size of an entry. */
apr_size_t digest_client_bytes(void);
/** @} */

/** The response to a request: 32 bytes and a NUL at @a out. @param method empty: that of the server (rspauth) */
void digest_response_put(char *out, const digest_field *field, const char *hash, const char *method,
                         apr_size_t method_len);

/** AuthDigestShmemSize, bytes. */
extern apr_size_t auth_digest_shmem;

#endif
