/* SPDX-License-Identifier: Apache-2.0 */
/* Records of MRT dumps (RFC 6396, TABLE_DUMP_V2): a prefix, and what several neighbours say of it, of which the first
 * counts. */
#include <string.h>
#include "asn_module.h"

/* Types of path attributes (RFC 4271, 1997, 8092), and the flag of a length of two bytes. */
enum { ATTR_PATH = 2, ATTR_COMMUNITIES = 8, ATTR_LARGE = 32, ATTR_EXTENDED = 0x10 };

/* What is left of a record. */
typedef struct rest {
    const unsigned char *at;
    size_t n;
} rest;

static const unsigned char *take(rest *r, size_t n)
{
    const unsigned char *at = r->at;

    if (n > r->n)
        return NULL;
    r->at += n;
    r->n -= n;
    return at;
}

/* A number of @a n bytes. @return 0 if they are not there */
static int take_number(rest *r, size_t n, uint32_t *to)
{
    const unsigned char *at = take(r, n);

    *to = 0;
    for (size_t i = 0; at && i < n; i++)
        *to = *to << 8 | at[i];
    return at != NULL;
}

static size_t take_numbers(rest r, uint32_t *to, size_t most)
{
    size_t n = 0;

    while (n < most && take_number(&r, 4, &to[n]))
        n++;
    return n;
}

/* Segments that are whole, none longer than what holds it. */
static int is_path(const unsigned char *at, size_t n)
{
    while (n >= 2 && n - 2 >= 4u * at[1]) {
        n -= 2 + 4u * at[1];
        at += 2 + 4u * at[1];
    }
    return n == 0;
}

static const char *take_attribute(asn_mrt_route *route, unsigned type, rest value)
{
    brg_asn_attributes *a = &route->attributes;

    if (type == ATTR_PATH) {
        if (!is_path(value.at, value.n))
            return "an AS path ends in the middle of a segment";
        a->path = value.at;
        a->path_bytes = value.n;
        a->origin = brg_asn_path_origin(value.at, value.n);
    } else if (type == ATTR_COMMUNITIES) {
        a->communities_count = take_numbers(value, route->communities, ASN_COMMUNITIES);
    } else if (type == ATTR_LARGE) {
        a->large_count = take_numbers(value, route->large, 3 * ASN_LARGE) / 3;
    }
    return NULL;
}

static const char *take_attributes(asn_mrt_route *route, rest all)
{
    uint32_t flags, type, length;
    const char *wrong;
    rest value;

    while (all.n) {
        if (!take_number(&all, 1, &flags) || !take_number(&all, 1, &type) ||
            !take_number(&all, flags & ATTR_EXTENDED ? 2 : 1, &length) || length > all.n)
            return "an attribute is longer than what holds it";
        value = (rest){take(&all, length), length};
        if ((wrong = take_attribute(route, type, value)))
            return wrong;
    }
    return NULL;
}

static const char *take_prefix(rest *r, brg_asn_prefix *p)
{
    const unsigned char *at;
    uint32_t length;

    if (!take_number(r, 1, &length) || length > (p->family == ASN_IPV4 ? 32 : 128))
        return "no length of a prefix";
    if (!(at = take(r, (length + 7) / 8)))
        return "it ends in the middle of a prefix";
    p->length = (unsigned char)length;
    memcpy(p->address, at, (length + 7) / 8);
    return NULL;
}

const char *asn_mrt_parse(const unsigned char *body, size_t n, brg_asn_family family,
                          asn_mrt_route *route)
{
    rest r = {body, n};
    uint32_t number, entries, length;
    const char *wrong;

    memset(&route->prefix, 0, sizeof route->prefix);
    route->prefix.family = (unsigned char)family;
    route->attributes =
        (brg_asn_attributes){.communities = route->communities, .large = route->large};
    if (!take_number(&r, 4, &number))
        return "it is too short";
    if ((wrong = take_prefix(&r, &route->prefix)))
        return wrong;
    /* neighbour, time, length of the attributes */
    if (!take_number(&r, 2, &entries) || !entries)
        return "it has no entry";
    if (!take(&r, 6) || !take_number(&r, 2, &length) || length > r.n)
        return "an entry is longer than the record";
    return take_attributes(route, (rest){r.at, length});
}
