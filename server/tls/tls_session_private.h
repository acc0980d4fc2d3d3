/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tls_session_private.h
 * The time when a session was made. OpenSSL 3.3 has a function for it that outlives the year 2038, 3.4 warns of the one before.
 */
#ifndef BRIGADE_TLS_TLS_SESSION_PRIVATE_H
#define BRIGADE_TLS_TLS_SESSION_PRIVATE_H

#include <openssl/ssl.h>
#include <time.h>

/** @return when @a session was made, in seconds since 1970 */
static inline time_t tls_session_time(const SSL_SESSION *session)
{
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return SSL_SESSION_get_time_ex(session);
#else
    return (time_t)SSL_SESSION_get_time(session);
#endif
}

/** Say that @a session was made at @a made, in seconds since 1970. */
static inline void tls_session_set_time(SSL_SESSION *session, time_t made)
{
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    SSL_SESSION_set_time_ex(session, made);
#else
    SSL_SESSION_set_time(session, (long)made);
#endif
}

#endif
