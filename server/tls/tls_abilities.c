/* SPDX-License-Identifier: Apache-2.0 */
/* Abilities of this OpenSSL: key exchange, compression of certificates. */
#include "tls_abilities.h"
#include "apr_strings.h"
#include <openssl/comp.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

static const char *abilities_key_exchange(void)
{
    static const char hybrid[] = "X25519MLKEM768";
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int ok = ctx && SSL_CTX_set1_groups_list(ctx, hybrid) == 1;

    SSL_CTX_free(ctx);
    ERR_clear_error();
    return ok ? hybrid : "no post-quantum key exchange";
}

#if OPENSSL_VERSION_NUMBER >= 0x30200000L && !defined(OPENSSL_NO_COMP_ALG)
static int abilities_has(COMP_METHOD *method)
{
    return method && COMP_get_type(method) != NID_undef;
}

static void abilities_compression(char *text, apr_size_t room)
{
    apr_snprintf(text, room, "certificate compression%s%s%s",
                 abilities_has(COMP_brotli_oneshot()) ? " brotli" : "",
                 abilities_has(COMP_zlib_oneshot()) ? " zlib" : "",
                 abilities_has(COMP_zstd_oneshot()) ? " zstd" : "");
}

void tls_abilities_compress(SSL_CTX *ctx)
{
    SSL_CTX_compress_certs(ctx, 0);
    ERR_clear_error();
}
#else
static void abilities_compression(char *text, apr_size_t room)
{
    apr_cpystrn(text, "no certificate compression", room);
}

void tls_abilities_compress(SSL_CTX *ctx)
{
}
#endif

void tls_abilities(char *text)
{
    char compression[64];

    abilities_compression(compression, sizeof compression);
    apr_snprintf(text, TLS_ABILITIES_BYTES, "%s, %s, %s", OpenSSL_version(OPENSSL_VERSION),
                 abilities_key_exchange(), compression);
}
