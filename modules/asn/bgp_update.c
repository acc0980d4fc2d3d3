/* SPDX-License-Identifier: Apache-2.0 */
/* UPDATE: routes that come and go. An error in an attribute costs its routes, not the session,
 * wherever the prefixes can still be told (RFC 7606). */
#include "brigade/assert.h"
#include "bgp_message.h"

/* Attributes (RFC 4271, 1997, 4456, 4760, 4360, 6793, 8092). */
enum {
    ORIGIN = 1,
    AS_PATH,
    NEXT_HOP,
    METRIC,
    LOCAL_PREFERENCE,
    ATOMIC_AGGREGATE,
    AGGREGATOR,
    COMMUNITIES,
    ORIGINATOR,
    CLUSTERS,
    REACHABLE = 14,
    UNREACHABLE,
    EXTENDED_COMMUNITIES,
    AS4_PATH,
    AS4_AGGREGATOR,
    LARGE_COMMUNITIES = 32,
    KNOWN
};

enum { OPTIONAL = 0x80, TRANSITIVE = 0x40, LONG = 0x10 };

/* The fate of a message with a wrong attribute. */
enum { WITHDRAW, DISCARD };

/* Requirements for an attribute. */
typedef struct attribute_rule {
    unsigned char flags;
    unsigned char unit; /* bytes */
    unsigned char many; /* once or more, not just once */
    unsigned char any;  /* its length says nothing: looked at elsewhere */
    unsigned char wrong;
    unsigned char internal; /* from peers of other ASes it counts for nothing */
} attribute_rule;

static const attribute_rule rules[KNOWN] = {
    [ORIGIN] = {.flags = TRANSITIVE, .unit = 1},
    [AS_PATH] = {.flags = TRANSITIVE, .any = 1},
    [NEXT_HOP] = {.flags = TRANSITIVE, .unit = 4},
    [METRIC] = {.flags = OPTIONAL, .unit = 4},
    [LOCAL_PREFERENCE] = {.flags = TRANSITIVE, .unit = 4, .internal = 1},
    [ATOMIC_AGGREGATE] = {.flags = TRANSITIVE, .unit = 0, .wrong = DISCARD},
    [AGGREGATOR] = {.flags = OPTIONAL | TRANSITIVE, .any = 1, .wrong = DISCARD},
    [COMMUNITIES] = {.flags = OPTIONAL | TRANSITIVE, .unit = 4, .many = 1},
    [ORIGINATOR] = {.flags = OPTIONAL, .unit = 4, .internal = 1},
    [CLUSTERS] = {.flags = OPTIONAL, .unit = 4, .many = 1, .internal = 1},
    [REACHABLE] = {.flags = OPTIONAL, .any = 1},
    [UNREACHABLE] = {.flags = OPTIONAL, .any = 1},
    [EXTENDED_COMMUNITIES] = {.flags = OPTIONAL | TRANSITIVE, .unit = 8, .many = 1},
    [AS4_PATH] = {.flags = OPTIONAL | TRANSITIVE, .any = 1, .wrong = DISCARD},
    [AS4_AGGREGATOR] = {.flags = OPTIONAL | TRANSITIVE, .unit = 8, .wrong = DISCARD},
    [LARGE_COMMUNITIES] = {.flags = OPTIONAL | TRANSITIVE, .unit = 12, .many = 1},
};

typedef struct reading {
    const bgp_terms *terms;
    bgp_update *update;
    bgp_fault *fault;
    uint64_t seen;           /* bits of types below KNOWN */
    asn_bytes path, path4;   /* as they came */
    int aggregated_by_as4;   /* AGGREGATOR and AS4_PATH are of different routes */
    int reachable;           /* some prefix is announced, of whatever family */
    size_t attributes;       /* how many */
    unsigned unreachable_of; /* family of an empty UNREACHABLE */
} reading;

static int fail(const reading *r, unsigned char subcode, const char *what, asn_bytes data)
{
    *r->fault = (bgp_fault){BGP_BAD_UPDATE, subcode, what, data};
    return 0;
}

/* The first reason is kept. */
static void withdraw(const reading *r, const char *why)
{
    if (!r->update->as_withdrawn)
        r->update->as_withdrawn = why;
}

static void discard(const reading *r, const char *why)
{
    if (!r->update->discarded)
        r->update->discarded = why;
}

static int has(const reading *r, unsigned type)
{
    return (r->seen >> type & 1) != 0;
}

int bgp_prefixes_next(bgp_prefixes *all, brg_asn_prefix *prefix)
{
    prefix->family = (unsigned char)all->family;
    return all->rest.n && !asn_take_prefix(&all->rest, prefix);
}

/* Prefixes that are all well-formed; those of a family that was not agreed on are passed over. */
static int take_prefixes(const reading *r, asn_bytes from, brg_asn_family family, bgp_prefixes *to)
{
    brg_asn_prefix prefix;
    bgp_prefixes all = {family, from};

    while (bgp_prefixes_next(&all, &prefix))
        continue;
    if (all.rest.n)
        return 0;
    if (r->terms->families & BGP_FAMILY(family))
        *to = (bgp_prefixes){family, from};
    return 1;
}

static int is_next_hop(brg_asn_family family, uint32_t length)
{
    return family == ASN_IPV4 ? length == 4 : length == 16 || length == 32;
}

static int take_reachable(asn_bytes value, reading *r)
{
    static const char wrong[] = "the attribute of announced prefixes cannot be read";
    uint32_t afi, safi, length;
    brg_asn_family family;
    asn_bytes all = value;

    if (!asn_take_number(&value, 2, &afi) || !asn_take_number(&value, 1, &safi) ||
        !asn_take_number(&value, 1, &length) || !asn_take_bytes(&value, (size_t)length + 1))
        return fail(r, BGP_UPDATE_OPTIONAL, wrong, all);
    r->reachable = 1;
    if (!bgp_family(afi, safi, &family))
        return 1;
    if (!is_next_hop(family, length) ||
        !take_prefixes(r, value, family, &r->update->come[BGP_OF_ATTRIBUTE]))
        return fail(r, BGP_UPDATE_OPTIONAL, wrong, all);
    return 1;
}

static int take_unreachable(asn_bytes value, reading *r)
{
    static const char wrong[] = "the attribute of withdrawn prefixes cannot be read";
    uint32_t afi, safi;
    brg_asn_family family;
    asn_bytes all = value;

    if (!asn_take_number(&value, 2, &afi) || !asn_take_number(&value, 1, &safi))
        return fail(r, BGP_UPDATE_OPTIONAL, wrong, all);
    if (!bgp_family(afi, safi, &family))
        return 1;
    if (!take_prefixes(r, value, family, &r->update->gone[BGP_OF_ATTRIBUTE]))
        return fail(r, BGP_UPDATE_OPTIONAL, wrong, all);
    if (!value.n)
        r->unreachable_of = BGP_FAMILY(family) & r->terms->families;
    return 1;
}

static void take_path(asn_bytes value, reading *r)
{
    if (bgp_path_is(value, r->terms->as4 ? 4 : 2, r->terms->internal))
        r->path = value;
    else
        withdraw(r, "AS_PATH is malformed");
}

static void take_path4(asn_bytes value, reading *r)
{
    if (r->terms->as4)
        discard(r, "AS4_PATH of a peer that has 4-octet numbers");
    else if (value.n && bgp_path_is(value, 4, 1))
        r->path4 = value;
    else
        discard(r, "AS4_PATH is malformed");
}

static void take_aggregator(asn_bytes value, reading *r)
{
    uint32_t as;

    if (value.n != (r->terms->as4 ? 8 : 6)) {
        discard(r, "AGGREGATOR has a wrong length");
        return;
    }
    asn_take_number(&value, r->terms->as4 ? 4 : 2, &as);
    r->aggregated_by_as4 = as != BGP_TRANSITION;
}

/* An attribute of which rules[] say that it is right. */
static int take_value(unsigned type, asn_bytes value, reading *r)
{
    bgp_update *u = r->update;

    if (type == REACHABLE)
        return take_reachable(value, r);
    if (type == UNREACHABLE)
        return take_unreachable(value, r);
    if (type == AS_PATH)
        take_path(value, r);
    else if (type == AS4_PATH)
        take_path4(value, r);
    else if (type == AGGREGATOR)
        take_aggregator(value, r);
    else if (type == ORIGIN && value.at[0] > 2)
        withdraw(r, "ORIGIN has an unknown value");
    else if (type == COMMUNITIES)
        u->attributes.communities_count = asn_take_numbers(value, u->communities, ASN_COMMUNITIES);
    else if (type == LARGE_COMMUNITIES)
        u->attributes.large_count = asn_take_numbers(value, u->large, 3 * ASN_LARGE) / 3;
    return 1;
}

static int is_length(const attribute_rule *rule, size_t n)
{
    if (rule->any)
        return 1;
    return rule->many ? n && n % rule->unit == 0 : n == rule->unit;
}

static int take_known(uint32_t flags, unsigned type, asn_bytes value, reading *r)
{
    const attribute_rule *rule = &rules[type];

    BRG_ASSERT(type < KNOWN && rule->flags);
    if ((flags & (OPTIONAL | TRANSITIVE)) != rule->flags)
        withdraw(r, "an attribute has wrong flags");
    if (rule->internal && !r->terms->internal)
        return 1;
    if (is_length(rule, value.n))
        return take_value(type, value, r);
    if (rule->wrong == DISCARD)
        discard(r, "an attribute has a wrong length");
    else
        withdraw(r, "an attribute has a wrong length");
    return 1;
}

/* @param whole  the attribute with its head */
static int take_attribute(uint32_t flags, uint32_t type, asn_bytes value, asn_bytes whole,
                          reading *r)
{
    r->attributes++;
    if (type >= KNOWN || !rules[type].flags)
        return flags & OPTIONAL ? 1
                                : fail(r, BGP_UPDATE_UNKNOWN,
                                       "an attribute that all have to know is unknown", whole);
    if (has(r, type)) {
        if (type == REACHABLE || type == UNREACHABLE)
            return fail(r, BGP_UPDATE_ATTRIBUTES, "an attribute with prefixes is there twice",
                        (asn_bytes){NULL, 0});
        discard(r, "an attribute is there twice");
        return 1;
    }
    r->seen |= 1ull << type;
    return take_known(flags, type, value, r);
}

static int take_attributes(asn_bytes all, reading *r)
{
    uint32_t flags, type, length;
    asn_bytes value, whole;

    while (all.n) {
        whole = all;
        if (!asn_take_number(&all, 1, &flags) || !asn_take_number(&all, 1, &type) ||
            !asn_take_number(&all, flags & LONG ? 2 : 1, &length) ||
            !asn_take_part(&all, length, &value)) {
            withdraw(r, "an attribute is longer than the message");
            return 1;
        }
        whole.n -= all.n;
        if (!take_attribute(flags, type, value, whole, r))
            return 0;
    }
    return 1;
}

/* Attributes that routes must have. */
static void check_mandatory(const reading *r)
{
    if (!has(r, ORIGIN))
        withdraw(r, "ORIGIN is missing");
    if (!has(r, AS_PATH))
        withdraw(r, "AS_PATH is missing");
    if (r->update->come[BGP_OF_MESSAGE].rest.n && !has(r, NEXT_HOP))
        withdraw(r, "NEXT_HOP is missing");
}

/* The path as one with numbers of 4 bytes, and its length and origin. */
static void finish_path(const reading *r)
{
    bgp_update *u = r->update;
    unsigned char wide[sizeof u->path];
    asn_bytes path = r->path;

    if (!r->terms->as4)
        path = (asn_bytes){wide, bgp_path_widen(r->path, wide)};
    if (r->path4.n && !r->aggregated_by_as4)
        path = (asn_bytes){u->path, bgp_path_merge(path, r->path4, u->path)};
    else if (path.n)
        memcpy(u->path, path.at, path.n);
    BRG_ASSERT(path.n <= sizeof u->path);
    u->attributes.path_bytes = path.n;
    u->attributes.origin = brg_asn_path_origin(u->path, path.n);
    if (!u->attributes.origin)
        u->attributes.origin = r->terms->peer_as;
}

/* An empty message, or one with nothing but an empty UNREACHABLE. */
static unsigned end_of_rib(const reading *r, size_t body)
{
    const bgp_update *u = r->update;

    if (body == 4)
        return BGP_FAMILY(ASN_IPV4) & r->terms->families;
    return r->attributes == 1 && !u->gone[BGP_OF_MESSAGE].rest.n ? r->unreachable_of : 0;
}

static void begin(bgp_update *u)
{
    memset(u, 0, offsetof(bgp_update, path));
    u->attributes =
        (brg_asn_attributes){.path = u->path, .communities = u->communities, .large = u->large};
}

/* The three fields of the message. */
static int take_fields(asn_bytes body, asn_bytes *gone, asn_bytes *attributes, asn_bytes *come)
{
    uint32_t length;

    if (!asn_take_number(&body, 2, &length) || !asn_take_part(&body, length, gone))
        return 0;
    if (!asn_take_number(&body, 2, &length) || !asn_take_part(&body, length, attributes))
        return 0;
    *come = body;
    return 1;
}

/* A message that announces nothing may hide prefixes behind an error: which ones to withdraw is
 * unknown. */
static int check_attributes(const reading *r)
{
    if (r->reachable)
        check_mandatory(r);
    else if (r->update->as_withdrawn)
        return fail(r, BGP_UPDATE_ATTRIBUTES, r->update->as_withdrawn, (asn_bytes){NULL, 0});
    return 1;
}

int bgp_update_parse(asn_bytes body, const bgp_terms *terms, bgp_update *update, bgp_fault *fault)
{
    static const char no_prefix[] = "a prefix cannot be read";
    reading r = {.terms = terms, .update = update, .fault = fault};
    asn_bytes gone, attributes, come, none = {NULL, 0};

    BRG_ASSERT(body.n <= BGP_MESSAGE_MAX - BGP_HEADER);
    begin(update);
    if (!take_fields(body, &gone, &attributes, &come))
        return fail(&r, BGP_UPDATE_ATTRIBUTES, "the fields are longer than the message", none);
    if (!take_prefixes(&r, gone, ASN_IPV4, &update->gone[BGP_OF_MESSAGE]) ||
        !take_prefixes(&r, come, ASN_IPV4, &update->come[BGP_OF_MESSAGE]))
        return fail(&r, BGP_UPDATE_NETWORK, no_prefix, none);
    r.reachable = come.n != 0;
    if (!take_attributes(attributes, &r) || !check_attributes(&r))
        return 0;
    finish_path(&r);
    update->end_of_rib = end_of_rib(&r, body.n);
    return 1;
}
