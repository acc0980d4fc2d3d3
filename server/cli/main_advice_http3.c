/* SPDX-License-Identifier: Apache-2.0 */
/* --advice about HTTP/3: chains of certificates that cost a round trip, and a kernel that gives sockets little room. */
#include "main_advice_private.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <stdio.h>

#if BRIGADE_HTTP3
#include "h3_servers.h"
#include "tls_certificate.h"
#include "tls_conf.h"

/* Before a client has proved its address it gets three times the bytes that it sent (RFC 9000,
 * 8.1), usually 1200. So much of it is left for certificates, behind the other messages of the
 * handshake, their packets' heads and their tags. */
#define CHAIN_MOST 2800
#define CHAIN_ADDED 5 /* bytes of the message for each certificate */

static int chain_bytes(const tls_pair *pair)
{
    int n = 0;

    for (int i = 0; pair->chain && i < pair->chain->nelts; i++)
        n += APR_ARRAY_IDX(pair->chain, i, const tls_der *)->len + CHAIN_ADDED;
    return n;
}

static int look_chains(apr_pool_t *p, const server_rec *s)
{
    const apr_array_header_t *pairs = tls_credentials_shown(tls_conf_of(s), p);
    int said = 0;

    for (int i = 0; i < pairs->nelts; i++) {
        const tls_pair *pair = &APR_ARRAY_IDX(pairs, i, const tls_pair);
        const int n = chain_bytes(pair);

        if (n <= CHAIN_MOST)
            continue;
        if (s->defn_name)
            printf("%s:%u: ", s->defn_name, s->defn_line_number);
        printf(
            "the chain of %s has %d bytes: a new client of HTTP/3 waits a round trip longer for "
            "it (%d fit before its address is proved)\n"
            "    leave out certificates that clients have (the root, cross-signed ones), or take "
            "an EC key\n",
            pair->cert_file ? pair->cert_file : "a certificate", n, CHAIN_MOST);
        said++;
    }
    return said;
}

/* -1: it cannot be read */
static long kernel_number(const char *path)
{
    FILE *f = fopen(path, "re");
    long n = -1;

    if (f && fscanf(f, "%ld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

static int look_sockets(void)
{
    static const char *const names[] = {"rmem_max", "wmem_max"};
    int said = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = i ? "/proc/sys/net/core/wmem_max" : "/proc/sys/net/core/rmem_max";
        const long n = kernel_number(path);

        if (n < 0 || n >= H3_SOCKET_BYTES)
            continue;
        printf("net.core.%s is %ld: sockets of HTTP/3 ask for %d bytes, and fast transfers fill "
               "less\n    net.core.%s = %d in a file of /etc/sysctl.d\n",
               names[i], n, H3_SOCKET_BYTES, names[i], H3_SOCKET_BYTES);
        said++;
    }
    return said;
}

int main_advice_http3(apr_pool_t *p, const server_rec *s)
{
    int said = 0, spoken = 0;

    for (; s; s = s->next)
        if (h3_is_named(s)) {
            spoken = 1;
            said += look_chains(p, s);
        }
    BRG_ASSERT(spoken || !said);
    return spoken ? said + look_sockets() : 0;
}

#else

int main_advice_http3(apr_pool_t *p, const server_rec *s)
{
    return 0;
}

#endif
