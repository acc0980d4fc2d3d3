/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_ABILITIES_H
#define BRIGADE_TLS_TLS_ABILITIES_H

/**
 * @file tls_abilities.h
 * Abilities that depend on the OpenSSL that the program was built with and runs with.
 */
#include <openssl/ssl.h>

#define TLS_ABILITIES_BYTES 160 /**< room for tls_abilities() */

/** One line for -V: the OpenSSL in use, its post-quantum key exchange and algorithms of certificate
 * compression. @param text TLS_ABILITIES_BYTES */
void tls_abilities(char *text);

/** Have the certificates of @a ctx ready in compressed form (RFC 8879), for clients that take it, with
 * each algorithm that OpenSSL has. Without one, and where nothing gets shorter, they go out as they are. */
void tls_abilities_compress(SSL_CTX *ctx);

#endif
