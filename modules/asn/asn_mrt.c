/* SPDX-License-Identifier: Apache-2.0 */
/* Records of MRT dumps (RFC 6396, TABLE_DUMP_V2): a prefix, and routes of several neighbours for
 * it, of which the first counts. */
#include "asn_bytes.h"
#include "asn_module.h"

/* Types of path attributes (RFC 4271, 1997, 8092), and the flag of a length of two bytes. */
enum { ATTR_PATH = 2, ATTR_COMMUNITIES = 8, ATTR_LARGE = 32, ATTR_EXTENDED = 0x10 };

/* Whole segments, none longer than its attribute. */
static int is_path(const unsigned char *at, size_t n)
{
    while (n >= 2 && n - 2 >= 4u * at[1]) {
        n -= 2 + 4u * at[1];
        at += 2 + 4u * at[1];
    }
    return n == 0;
}

static const char *take_attribute(asn_mrt_route *route, unsigned type, asn_bytes value)
{
    brg_asn_attributes *a = &route->attributes;

    if (type == ATTR_PATH) {
        if (!is_path(value.at, value.n))
            return "an AS path ends in the middle of a segment";
        a->path = value.at;
        a->path_bytes = value.n;
        a->origin = brg_asn_path_origin(value.at, value.n);
    } else if (type == ATTR_COMMUNITIES) {
        a->communities_count = asn_take_numbers(value, route->communities, ASN_COMMUNITIES);
    } else if (type == ATTR_LARGE) {
        a->large_count = asn_take_numbers(value, route->large, 3 * ASN_LARGE) / 3;
    }
    return NULL;
}

static const char *take_attributes(asn_mrt_route *route, asn_bytes all)
{
    uint32_t flags, type, length;
    const char *wrong;
    asn_bytes value;

    while (all.n) {
        if (!asn_take_number(&all, 1, &flags) || !asn_take_number(&all, 1, &type) ||
            !asn_take_number(&all, flags & ATTR_EXTENDED ? 2 : 1, &length) || length > all.n)
            return "an attribute is longer than its record";
        value = (asn_bytes){asn_take_bytes(&all, length), length};
        if ((wrong = take_attribute(route, type, value)))
            return wrong;
    }
    return NULL;
}

const char *asn_mrt_parse(const unsigned char *body, size_t n, brg_asn_family family,
                          asn_mrt_route *route)
{
    asn_bytes r = {body, n};
    uint32_t number, entries, length;
    const char *wrong;

    memset(&route->prefix, 0, sizeof route->prefix);
    route->prefix.family = (unsigned char)family;
    route->attributes =
        (brg_asn_attributes){.communities = route->communities, .large = route->large};
    if (!asn_take_number(&r, 4, &number))
        return "it is too short";
    if ((wrong = asn_take_prefix(&r, &route->prefix)))
        return wrong;
    /* neighbour, time, length of the attributes */
    if (!asn_take_number(&r, 2, &entries) || !entries)
        return "it has no entry";
    if (!asn_take_bytes(&r, 6) || !asn_take_number(&r, 2, &length) || length > r.n)
        return "an entry is longer than the record";
    return take_attributes(route, (asn_bytes){r.at, length});
}
