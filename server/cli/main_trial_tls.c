/* SPDX-License-Identifier: Apache-2.0 */
/* A client over TLS for a site that answers this process alone: its certificate is not looked at. */
#include "main_trial.h"

#if BRIGADE_TLS
#include "tls_conf.h"
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

int main_trial_host_has_tls(const server_rec *s)
{
    return tls_conf_of(s)->enabled == 1;
}

static const char *trial_exchange(SSL *ssl, const char *requests)
{
    char buf[16384];
    const int len = (int)strlen(requests);

    if (SSL_connect(ssl) != 1)
        return "no handshake over TLS is possible";
    if (SSL_write(ssl, requests, len) != len)
        return "the connection over TLS broke";
    while (SSL_read(ssl, buf, sizeof buf) > 0)
        ;
    return NULL;
}

const char *main_trial_ask_tls(int fd, const char *name, const char *requests)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;
    const char *error = "no memory for TLS";

    if (ssl && SSL_set_fd(ssl, fd) == 1 && (!name || SSL_set_tlsext_host_name(ssl, name) == 1))
        error = trial_exchange(ssl, requests);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    ERR_clear_error();
    return error;
}

#else

int main_trial_host_has_tls(const server_rec *s)
{
    return 0;
}

const char *main_trial_ask_tls(int fd, const char *name, const char *requests)
{
    return "this program is built without TLS";
}

#endif
