/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to MDDnsResponder: an answer is none, or a message of at most the bytes that the client takes, with the question's number.
 * Covers: server/md/md_dns.c
 */
#include "md_dns.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int texts(const char *name, char to[MD_DNS_TEXTS][MD_DNS_TEXT])
{
    const int n = name[0] == 'm' ? MD_DNS_TEXTS : name[0] == 'a';

    for (int i = 0; i < n; i++)
        strcpy(to[i], "0123456789012345678901234567890123456789abc");
    return n;
}

static void check(const uint8_t *data, size_t size, int is_udp, int cut)
{
    static const md_dns_zone zone = {.name = "acme.test", .ns = "ns.test", .texts = texts};
    const size_t room = is_udp ? MD_DNS_EDNS : MD_DNS_MOST;
    uint8_t *copy = malloc(size ? size : 1),
            *to = malloc(room); /* of their sizes: what is beyond is found */
    size_t len;

    memcpy(copy, data, size);
    len = md_dns_answer(&zone, copy, size, to, room, is_udp, cut);
    if (len > room || (len && (len < 12 || memcmp(to, copy, 2) != 0 || !(to[2] & 0x80) ||
                               (cut && (to[7] || to[9])))))
        abort();
    if (len && md_dns_answer(&zone, to, len, to, MD_DNS_UDP, 1, 1) != 0)
        abort(); /* an answer is not answered */
    free(copy);
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int i = 0; i < 4; i++)
        check(data, size, i & 1, i >> 1);
    return 0;
}
