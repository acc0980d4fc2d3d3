/* SPDX-License-Identifier: Apache-2.0 */
/* Strict: proxies are programs, and a header with two readings is a way to lie about addresses. */
#include "proxy_header.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#define V1_MOST 107 /* bytes, CR LF included */
#define V1_BEGIN "PROXY "
#define V2_HEAD 16

static const unsigned char v2_signature[12] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                               0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};

/* ---- version 1 ---- */

/* The next word of a line; words are separated by one blank. @return 0: no word, or too long */
static int v1_word(const char **at, const char *end, char *word, size_t room)
{
    const char *blank = memchr(*at, ' ', (size_t)(end - *at));
    const size_t len = (size_t)((blank ? blank : end) - *at);

    if (!len || len >= room)
        return 0;
    memcpy(word, *at, len);
    word[len] = '\0';
    *at = blank ? blank + 1 : end;
    return strlen(word) == len;
}

/* -1: not a port */
static int v1_port(const char *word)
{
    int n = 0;

    if (*word == '0' && word[1])
        return -1;
    for (; *word; word++)
        if (*word < '0' || *word > '9' || (n = n * 10 + *word - '0') > 65535)
            return -1;
    return n;
}

static int v1_addresses(const char *at, const char *end, int family, proxy_source *out)
{
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], from_port[6], to_port[6];
    unsigned char ignored[16];
    int port;

    if (!v1_word(&at, end, from, sizeof from) || !v1_word(&at, end, to, sizeof to) ||
        !v1_word(&at, end, from_port, sizeof from_port) ||
        !v1_word(&at, end, to_port, sizeof to_port))
        return 0;
    if (at != end || end[-1] == ' ' || inet_pton(family, from, out->address) != 1 ||
        inet_pton(family, to, ignored) != 1 || v1_port(to_port) < 0 ||
        (port = v1_port(from_port)) < 0)
        return 0;
    out->family = (uint8_t)family;
    out->port = (uint16_t)port;
    return 1;
}

static int v1_read(const char *line, size_t len, proxy_source *out, const char **why)
{
    const char *end = memchr(line, '\n', len), *at = line + sizeof V1_BEGIN - 1;
    char protocol[8];

    *why = "a line of version 1 without its end";
    if (!end)
        return len >= V1_MOST ? -1 : 0;
    if (end - line >= V1_MOST || end[-1] != '\r')
        return -1;
    end--;
    *why = "another protocol than TCP4, TCP6 and UNKNOWN in version 1";
    if (!v1_word(&at, end, protocol, sizeof protocol))
        return -1;
    if (strcmp(protocol, "UNKNOWN") != 0) { /* the rest is to be ignored */
        const int v6 = !strcmp(protocol, "TCP6");

        if (!v6 && strcmp(protocol, "TCP4") != 0)
            return -1;
        *why = "addresses or ports of version 1 that are none";
        if (!v1_addresses(at, end, v6 ? AF_INET6 : AF_INET, out))
            return -1;
    }
    return (int)(end + 2 - line);
}

/* ---- version 2 ---- */

static int v2_source(const unsigned char *data, size_t len, size_t block, proxy_source *out,
                     const char **why)
{
    const int family = data[13] >> 4, protocol = data[13] & 15;
    const size_t address = family == 1 ? 4 : 16, most = 2 * address + 4;

    if (family > 3 || protocol > 2) {
        *why = "an unknown family or protocol in version 2";
        return -1;
    }
    if ((family != 1 && family != 2) || protocol == 0)
        return 1; /* AF_UNSPEC, AF_UNIX: the socket's own address is as good as any */
    if (protocol == 2) {
        *why = "a datagram in version 2";
        return -1;
    }
    if (block < most) {
        *why = "a length in version 2 that is too short for its addresses";
        return -1;
    }
    if (len < V2_HEAD + most)
        return 0;
    out->family = family == 1 ? AF_INET : AF_INET6;
    memcpy(out->address, data + V2_HEAD, address);
    out->port = (uint16_t)(data[V2_HEAD + 2 * address] << 8 | data[V2_HEAD + 2 * address + 1]);
    return 1;
}

static int v2_read(const unsigned char *data, size_t len, proxy_source *out, const char **why)
{
    size_t block;
    int rc = 1;

    if (len < V2_HEAD)
        return 0;
    block = (size_t)data[14] << 8 | data[15];
    *why = "another version or command than those of version 2";
    if (data[12] != 0x20 && data[12] != 0x21) /* LOCAL, PROXY */
        return -1;
    *why = "a header of version 2 that is too long";
    if (V2_HEAD + block > PROXY_HEADER_MOST)
        return -1;
    if (data[12] == 0x21)
        rc = v2_source(data, len, block, out, why);
    return rc > 0 ? (int)(V2_HEAD + block) : rc;
}

/* ---- both ---- */

/* 1 if the bytes so far begin as @a with does. */
static int begins(const unsigned char *data, size_t len, const void *with, size_t with_len)
{
    return !memcmp(data, with, len < with_len ? len : with_len);
}

int proxy_header_read(const unsigned char *data, size_t len, proxy_source *out, const char **why)
{
    int rc;

    memset(out, 0, sizeof *out);
    if (begins(data, len, v2_signature, sizeof v2_signature)) {
        rc = len > sizeof v2_signature ? v2_read(data, len, out, why) : 0;
    } else if (begins(data, len, V1_BEGIN, sizeof V1_BEGIN - 1)) {
        rc = len >= sizeof V1_BEGIN ? v1_read((const char *)data, len, out, why) : 0;
    } else {
        *why = "no header";
        rc = -1;
    }
    BRG_ASSERT(rc >= -1 && rc <= PROXY_HEADER_MOST);
    return rc;
}
