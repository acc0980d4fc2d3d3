/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to an authority: blocking, over TLS, perhaps through a proxy. */
#include "md_http.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HTTP_CONNECT_SECONDS 15 /* for one address */
#define HTTP_READ 16384

typedef struct http_conn {
    apr_pool_t *p;
    int fd;
    SSL_CTX *ctx;
    SSL *ssl;
    apr_time_t deadline;
    const char *error;
} http_conn;

/* ---- waiting ---- */

static int http_fail(http_conn *c, const char *error)
{
    if (!c->error)
        c->error = error;
    return -1;
}

static int http_wait(http_conn *c, short events, apr_time_t deadline)
{
    struct pollfd polled = {.fd = c->fd, .events = events};
    int n;

    BRG_ASSERT(c->fd >= 0);
    do {
        const apr_time_t left = deadline - brg_monotonic_now();

        n = left > 0 ? poll(&polled, 1, (int)(left / 1000) + 1) : 0;
    } while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : http_fail(c, "it takes too long");
}

/* ---- connecting ---- */

static int http_connect_to(http_conn *c, const struct addrinfo *a)
{
    const apr_time_t own = brg_monotonic_now() + apr_time_from_sec(HTTP_CONNECT_SECONDS);
    int error = 0;
    socklen_t len = sizeof error;

    c->error = NULL;
    c->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return http_fail(c, "no socket");
    if (connect(c->fd, a->ai_addr, a->ai_addrlen) && errno != EINPROGRESS)
        error = errno;
    else if (!http_wait(c, POLLOUT, own < c->deadline ? own : c->deadline) &&
             !getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) && !error)
        return 0;
    http_fail(c, error ? apr_pstrdup(c->p, strerror(error)) : "no connection");
    close(c->fd);
    c->fd = -1;
    return -1;
}

static int http_connect(http_conn *c, const char *host, int port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *all = NULL;
    const char *service = apr_itoa(c->p, port);
    int rc = getaddrinfo(host, service, &hints, &all), done = -1;

    BRG_ASSERT(c->fd < 0 && port > 0 && port < 65536);
    if (rc == EAI_NONAME || rc == EAI_ADDRFAMILY) /* an address of a machine without a network */
        rc = getaddrinfo(host, service, &(struct addrinfo){.ai_socktype = SOCK_STREAM}, &all);
    if (rc)
        return http_fail(c, apr_pstrcat(c->p, "its name is not found: ", gai_strerror(rc), NULL));
    for (const struct addrinfo *a = all; a && done; a = a->ai_next)
        done = http_connect_to(c, a);
    freeaddrinfo(all);
    return done;
}

/* ---- TLS ---- */

static int http_tls_failed(http_conn *c)
{
    const long verified = SSL_get_verify_result(c->ssl);
    char text[256];

    BRG_ASSERT(c->ssl != NULL);
    if (verified != X509_V_OK)
        return http_fail(c, apr_pstrcat(c->p, "its certificate is not trusted: ",
                                        X509_verify_cert_error_string(verified), NULL));
    ERR_error_string_n(ERR_peek_last_error(), text, sizeof text);
    return http_fail(c, apr_pstrcat(c->p, "TLS: ", text, NULL));
}

/* @return 1: try again; 0: the peer closed; -1: failed */
static int http_tls_again(http_conn *c, int rc)
{
    BRG_ASSERT(c->ssl && c->fd >= 0);
    switch (SSL_get_error(c->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return http_wait(c, POLLIN, c->deadline) ? -1 : 1;
    case SSL_ERROR_WANT_WRITE:
        return http_wait(c, POLLOUT, c->deadline) ? -1 : 1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        return http_tls_failed(c);
    }
}

static int http_trust(http_conn *c, const md_http *http)
{
    BRG_ASSERT(!c->ctx);
    if (!(c->ctx = SSL_CTX_new(TLS_client_method())))
        return http_fail(c, "no memory");
    SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(c->ctx, SSL_OP_IGNORE_UNEXPECTED_EOF); /* lengths show a cut response */
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    if (http->ca_file ? !SSL_CTX_load_verify_locations(c->ctx, http->ca_file, NULL)
                      : !SSL_CTX_set_default_verify_paths(c->ctx))
        return http_fail(c, "no certificates of authorities can be read");
    return 0;
}

static int http_tls(http_conn *c, const md_http *http, const char *host)
{
    unsigned char address[16];
    int rc, is_address =
                inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;

    BRG_ASSERT(!c->ssl && c->fd >= 0);
    if (http_trust(c, http))
        return -1;
    if (!(c->ssl = SSL_new(c->ctx)) || !SSL_set_fd(c->ssl, c->fd) ||
        !(is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), host)
                     : SSL_set1_host(c->ssl, host) &&
                           SSL_set_tlsext_host_name(c->ssl, (char *)(uintptr_t)host)))
        return http_fail(c, "no memory");
    do {
        ERR_clear_error();
        rc = SSL_connect(c->ssl);
        if (rc == 1)
            return 0;
        rc = http_tls_again(c, rc);
    } while (rc > 0);
    return http_fail(c, "the connection was closed");
}

/* ---- bytes ---- */

static int http_write(http_conn *c, const char *data, size_t len)
{
    BRG_ASSERT(c->fd >= 0);
    while (len) {
        ssize_t n;
        int again = 1;

        ERR_clear_error();
        n = c->ssl ? SSL_write(c->ssl, data, (int)len) : send(c->fd, data, len, MSG_NOSIGNAL);
        if (n > 0) {
            data += n;
            len -= (size_t)n;
            continue;
        }
        if (c->ssl)
            again = http_tls_again(c, (int)n);
        else if (errno == EAGAIN || errno == EINTR)
            again = http_wait(c, POLLOUT, c->deadline) ? -1 : 1;
        else
            again = 0;
        if (again <= 0)
            return http_fail(c, "the connection was closed");
    }
    return 0;
}

/* @return 0: the end; -1: failed */
static ssize_t http_read(http_conn *c, char *to, size_t room)
{
    BRG_ASSERT(c->fd >= 0 && room > 0);
    for (;;) {
        ssize_t n;
        int again;

        ERR_clear_error();
        n = c->ssl ? SSL_read(c->ssl, to, (int)room) : recv(c->fd, to, room, 0);
        if (n > 0 || (!c->ssl && !n))
            return n;
        if (c->ssl)
            again = http_tls_again(c, (int)n);
        else if (errno == EAGAIN || errno == EINTR)
            again = http_wait(c, POLLIN, c->deadline) ? -1 : 1;
        else
            again = http_fail(c, apr_pstrdup(c->p, strerror(errno)));
        if (again <= 0)
            return again;
    }
}

/* Is all there? It may be damaged. */
static int http_is_complete(http_conn *c, const char *data, size_t len, int no_body)
{
    md_answer answer;
    apr_pool_t *p;

    apr_pool_create(&p, c->p);
    md_answer_read(p, data, len, no_body, &answer);
    apr_pool_destroy(p);
    return !answer.more;
}

static char *http_read_all(http_conn *c, int no_body, size_t *len)
{
    size_t room = HTTP_READ;
    char *data = apr_palloc(c->p, room);

    for (*len = 0;;) {
        ssize_t n;

        if (*len == room) {
            char *more;

            if (room >= MD_HTTP_MOST) {
                http_fail(c, "the answer is too long");
                return NULL;
            }
            more = apr_palloc(c->p, room * 2);
            data = memcpy(more, data, *len);
            room *= 2;
        }
        n = http_read(c, data + *len, room - *len);
        if (n < 0)
            return NULL;
        *len += (size_t)n;
        if (!n || http_is_complete(c, data, *len, no_body))
            return data;
    }
}

/* ---- requests ---- */

static int http_tunnel(http_conn *c, const md_url *url)
{
    const char *to =
        apr_psprintf(c->p, strchr(url->host, ':') ? "[%s]:%d" : "%s:%d", url->host, url->port);
    const char *head =
        apr_pstrcat(c->p, "CONNECT ", to, " HTTP/1.1\r\nHost: ", to, "\r\n\r\n", NULL);
    md_answer answer = {0};
    size_t len;
    char *data;

    if (http_write(c, head, strlen(head)) || !(data = http_read_all(c, 1, &len)))
        return -1;
    if (md_answer_read(c->p, data, len, 1, &answer) || answer.status / 100 != 2)
        return http_fail(c, "the proxy of MDHttpProxy refuses");
    return 0;
}

static int http_open(http_conn *c, const md_http *http, const md_url *url)
{
    md_url proxy = {0};

    BRG_ASSERT(c->fd < 0 && url->host);
    if (!http->proxy)
        return http_connect(c, url->host, url->port) ||
               (url->is_tls && http_tls(c, http, url->host));
    if (md_url_read(c->p, http->proxy, &proxy) || proxy.is_tls)
        return http_fail(c, "MDHttpProxy is no URL of http");
    return http_connect(c, proxy.host, proxy.port) || http_tunnel(c, url) ||
           (url->is_tls && http_tls(c, http, url->host));
}

static const char *http_request(apr_pool_t *p, const md_http *http, const char *method,
                                const md_url *url, const char *type, apr_size_t len)
{
    const char *head = apr_pstrcat(p, method, " ", url->path, " HTTP/1.1\r\nHost: ", url->authority,
                                   "\r\nUser-Agent: ", http->agent,
                                   "\r\nAccept-Language: en\r\nConnection: close\r\n", NULL);

    BRG_ASSERT(type || !len);
    if (!type)
        return apr_pstrcat(p, head, "\r\n", NULL);
    return apr_psprintf(p, "%sContent-Type: %s\r\nContent-Length: %" APR_SIZE_T_FMT "\r\n\r\n",
                        head, type, len);
}

static void http_close(http_conn *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    if (c->fd >= 0)
        close(c->fd);
    ERR_clear_error();
}

md_answer *md_http_send(const md_http *http, apr_pool_t *p, const char *method, const char *url,
                        const char *type, const char *body, apr_size_t body_len, const char **error)
{
    const int seconds = http->seconds ? http->seconds : MD_HTTP_SECONDS;
    http_conn c = {.p = p, .fd = -1, .deadline = brg_monotonic_now() + apr_time_from_sec(seconds)};
    const int no_body = !strcmp(method, "HEAD");
    md_answer *answer = apr_pcalloc(p, sizeof *answer);
    const char *request;
    char *data = NULL;
    md_url parts;
    size_t len = 0;

    *error = NULL;
    if (md_url_read(p, url, &parts)) {
        *error = apr_pstrcat(p, "\"", url, "\" is no URL", NULL);
        return NULL;
    }
    request = http_request(p, http, method, &parts, type, body_len);
    if (!http_open(&c, http, &parts) && !http_write(&c, request, strlen(request)) &&
        !http_write(&c, body, body_len))
        data = http_read_all(&c, no_body, &len);
    http_close(&c);
    if (data)
        c.error = md_answer_read(p, data, len, no_body, answer);
    *error = c.error ? apr_pstrcat(p, url, ": ", c.error, NULL) : NULL;
    return c.error ? NULL : answer;
}

md_answer *md_http_ask(const md_http *http, apr_pool_t *p, const char *method, const char *url,
                       const char *type, const char *body, const char **error)
{
    return md_http_send(http, p, method, url, type, body, body ? strlen(body) : 0, error);
}
