/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_OCSP_H
#define BRIGADE_MD_OCSP_H

/**
 * @file md_ocsp.h
 * Requests to OCSP responders and their responses (RFC 6960), as bytes, and as the
 * store keeps them: JSON in Apache's layout, ocsp/NAME/ocsp-ID.json. Results are in the given pool.
 * Threads: any. Blocking: no.
 */
#include "apr_pools.h"
#include "apr_time.h"
#include <openssl/x509.h>

#define MD_OCSP_ID 20      /**< bytes of a certificate's name among modules: SHA-1 of its DER */
#define MD_OCSP_MOST 10240 /**< bytes of a response; longer ones are refused */

/** A certificate of which a response may be had. Its parts live as long as the pool. */
typedef struct md_ocsp_cert {
    unsigned char id[MD_OCSP_ID];
    X509 *x, *issuer; /**< @a issuer NULL: it is not in the chain */
    const char *url;  /**< of the responder; NULL: it names none over http or https */
} md_ocsp_cert;

/** A responder's statement. */
typedef struct md_ocsp_answer {
    const unsigned char *der;
    apr_size_t len;
    int revoked; /**< 0: good */
    apr_time_t from, until;
} md_ocsp_answer;

/** The first certificate of a chain in PEM. @return 0; -1: no certificate */
int md_ocsp_cert_read(apr_pool_t *p, const char *pem, md_ocsp_cert *cert);

/** The name in hexadecimal digits. */
const char *md_ocsp_id_text(apr_pool_t *p, const unsigned char *id);

/** A request; NULL: OpenSSL refused. @a cert has an issuer. */
const unsigned char *md_ocsp_request(apr_pool_t *p, const md_ocsp_cert *cert, apr_size_t *len);

/** Read and verify a response: it is signed by, or in the name of, the issuer, and is of now.
 * @return NULL; its error */
const char *md_ocsp_read(apr_pool_t *p, const md_ocsp_cert *cert, const unsigned char *der,
                         apr_size_t len, apr_time_t now, md_ocsp_answer *answer);

const char *md_ocsp_json(apr_pool_t *p, const md_ocsp_answer *answer);

/** The same from the store. @return 0; -1: not valid now */
int md_ocsp_of_json(apr_pool_t *p, const md_ocsp_cert *cert, const char *text, apr_time_t now,
                    md_ocsp_answer *answer);

#endif
