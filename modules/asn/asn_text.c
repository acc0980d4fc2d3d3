/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, communities and prefixes as text. */
#include <string.h>
#include <arpa/inet.h>
#include "asn_private.h"

/* Segments of a path (RFC 4271, RFC 5065). */
enum { AS_SET = 1, AS_SEQUENCE, AS_CONFED_SEQUENCE, AS_CONFED_SET };

static uint32_t number_at(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* @return bytes of the segment at the begin, 0 if it is not whole */
static size_t segment_bytes(const unsigned char *path, size_t bytes)
{
    size_t n = bytes >= 2 ? 2 + 4u * path[1] : 1;

    return n <= bytes ? n : 0;
}

uint32_t brg_asn_path_origin(const unsigned char *path, size_t bytes)
{
    uint32_t origin = 0;

    for (size_t n; (n = segment_bytes(path, bytes)) > 1; path += n, bytes -= n)
        if (path[0] == AS_SEQUENCE && path[1])
            origin = number_at(path + n - 4);
        else if (path[0] == AS_SET && path[1])
            origin = number_at(path + 2);
    return origin;
}

typedef struct out {
    char *at, *end; /* the end is where the 0 may still go */
} out;

static void put_char(out *o, char c)
{
    if (o->at < o->end)
        *o->at++ = c;
}

static void put_number(out *o, uint32_t n)
{
    char digits[10];
    int i = 0;

    do
        digits[i++] = (char)('0' + n % 10);
    while (n /= 10);
    while (i)
        put_char(o, digits[--i]);
}

/* One segment; sets in their brackets. */
static void put_segment(out *o, const unsigned char *segment)
{
    static const char open[] = " { ([", close[] = " } )]";
    int set = segment[0] != AS_SEQUENCE && segment[0] <= AS_CONFED_SET;
    char between = segment[0] == AS_SET || segment[0] == AS_CONFED_SET ? ',' : ' ';

    if (set)
        put_char(o, open[segment[0]]);
    for (unsigned i = 0; i < segment[1]; i++) {
        if (i)
            put_char(o, between);
        put_number(o, number_at(segment + 2 + 4 * i));
    }
    if (set)
        put_char(o, close[segment[0]]);
}

/* The cut ends at a blank: no number is shown cut. */
static size_t finish(out *o, char *to)
{
    if (o->at == o->end)
        while (o->at > to && o->at[-1] != ' ')
            o->at--;
    while (o->at > to && o->at[-1] == ' ')
        o->at--;
    *o->at = 0;
    return (size_t)(o->at - to);
}

size_t brg_asn_path_text(const brg_asn_detail *detail, char *to, size_t size)
{
    const unsigned char *path = (const unsigned char *)detail->path;
    size_t bytes = detail->path_bytes;
    out o = {to, to + size - 1};

    for (size_t n; (n = segment_bytes(path, bytes)) > 1; path += n, bytes -= n) {
        if (o.at > to)
            put_char(&o, ' ');
        put_segment(&o, path);
    }
    return finish(&o, to);
}

static void put_community(out *o, const uint32_t *parts, int n, const char *to)
{
    if (o->at > to)
        put_char(o, ' ');
    for (int i = 0; i < n; i++) {
        if (i)
            put_char(o, ':');
        put_number(o, parts[i]);
    }
}

size_t brg_asn_communities_text(const brg_asn_detail *detail, char *to, size_t size)
{
    out o = {to, to + size - 1};

    for (size_t i = 0; i < detail->communities_count; i++)
        put_community(
            &o, (uint32_t[]){detail->communities[i] >> 16, detail->communities[i] & 0xffff}, 2, to);
    for (size_t i = 0; i < detail->large_count; i++)
        put_community(&o, detail->large + 3 * i, 3, to);
    return finish(&o, to);
}

size_t brg_asn_prefix_text(brg_asn_family family, const unsigned char *address, int length,
                           char *to)
{
    unsigned char masked[16] = {0};
    int whole = length / 8;
    size_t n;
    out o;

    memcpy(masked, address, (size_t)whole);
    if (length % 8)
        masked[whole] = (unsigned char)(address[whole] & 0xff00 >> length % 8);
    inet_ntop(family == ASN_IPV4 ? AF_INET : AF_INET6, masked, to, ASN_PREFIX_TEXT - 4);
    n = strlen(to);
    o = (out){to + n, to + ASN_PREFIX_TEXT - 1};
    put_char(&o, '/');
    put_number(&o, (uint32_t)length);
    *o.at = 0;
    return (size_t)(o.at - to);
}
