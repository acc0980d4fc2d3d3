/* SPDX-License-Identifier: Apache-2.0 */
/* OPEN: the peer's identity and capabilities. */
#include "bgp_message.h"

enum { VERSION = 4, PARAMETER_CAPABILITIES = 2, EXTENDED = 255 };

/* Capabilities (RFC 4760, 2918, 4724, 6793). */
enum { CAN_FAMILY = 1, CAN_REFRESH = 2, CAN_RESTART = 64, CAN_AS4 = 65 };

typedef struct reading {
    bgp_open *open;
    bgp_fault *fault;
    int families; /* the peer names them */
} reading;

static int fail(const reading *r, unsigned char subcode, const char *what)
{
    *r->fault = (bgp_fault){BGP_BAD_OPEN, subcode, what, {NULL, 0}};
    return 0;
}

static int take_family(asn_bytes value, reading *r)
{
    uint32_t afi, reserved, safi;
    brg_asn_family family;

    if (value.n != 4)
        return fail(r, BGP_OPEN_OTHER, "the capability of a family has a wrong length");
    asn_take_number(&value, 2, &afi);
    asn_take_number(&value, 1, &reserved);
    asn_take_number(&value, 1, &safi);
    r->families = 1;
    if (bgp_family(afi, safi, &family))
        r->open->families |= BGP_FAMILY(family);
    return 1;
}

static int take_restart(asn_bytes value, reading *r)
{
    uint32_t flags, afi, safi;
    brg_asn_family family;

    if (value.n % 4 != 2)
        return fail(r, BGP_OPEN_OTHER, "the capability of graceful restart has a wrong length");
    asn_take_number(&value, 2, &flags);
    r->open->restart = 1;
    r->open->restart_seconds = flags & 0xfff;
    r->open->kept = 0;
    while (asn_take_number(&value, 2, &afi) && asn_take_number(&value, 1, &safi) &&
           asn_take_number(&value, 1, &flags))
        if (flags & 0x80 && bgp_family(afi, safi, &family))
            r->open->kept |= BGP_FAMILY(family);
    return 1;
}

static int take_as4(asn_bytes value, reading *r)
{
    if (value.n != 4)
        return fail(r, BGP_OPEN_OTHER, "the capability of 4-octet AS numbers has a wrong length");
    asn_take_number(&value, 4, &r->open->as);
    r->open->as4 = 1;
    return 1;
}

static int take_capabilities(asn_bytes all, reading *r)
{
    uint32_t code, length;
    asn_bytes value;
    int ok = 1;

    while (ok && all.n) {
        if (!asn_take_number(&all, 1, &code) || !asn_take_number(&all, 1, &length) ||
            !asn_take_part(&all, length, &value))
            return fail(r, BGP_OPEN_OTHER, "a capability is longer than its parameter");
        if (code == CAN_FAMILY)
            ok = take_family(value, r);
        else if (code == CAN_RESTART)
            ok = take_restart(value, r);
        else if (code == CAN_AS4)
            ok = take_as4(value, r);
        else if (code == CAN_REFRESH)
            r->open->refresh = 1;
    }
    return ok;
}

/* @param width  bytes of a length */
static int take_parameters(asn_bytes all, size_t width, reading *r)
{
    uint32_t type, length;
    asn_bytes value;

    while (all.n) {
        if (!asn_take_number(&all, 1, &type) || !asn_take_number(&all, width, &length) ||
            !asn_take_part(&all, length, &value))
            return fail(r, BGP_OPEN_OTHER, "a parameter is longer than the message");
        if (type != PARAMETER_CAPABILITIES)
            return fail(r, BGP_OPEN_PARAMETER, "a parameter is unknown");
        if (!take_capabilities(value, r))
            return 0;
    }
    return 1;
}

/* The length of all parameters, then these; RFC 9072 says the length again with two bytes. */
static int take_options(asn_bytes body, reading *r)
{
    uint32_t length;
    size_t width = 1;

    asn_take_number(&body, 1, &length);
    if (length && body.n && body.at[0] == EXTENDED) {
        asn_take_bytes(&body, 1);
        if (!asn_take_number(&body, 2, &length))
            return fail(r, BGP_OPEN_OTHER, "the message is too short");
        width = 2;
    }
    if (length != body.n)
        return fail(r, BGP_OPEN_OTHER, "the parameters are not as long as they say");
    return take_parameters(body, width, r);
}

static int check(const reading *r, const bgp_self *self, uint32_t peer_as)
{
    const bgp_open *open = r->open;

    if (!open->as || open->as != peer_as)
        return fail(r, BGP_OPEN_AS, "the peer is of another AS than is configured (peer-asn)");
    if (!open->id || (peer_as == self->as && open->id == self->id))
        return fail(r, BGP_OPEN_ID, "the peer has no BGP identifier of its own");
    if (open->hold == 1 || open->hold == 2)
        return fail(r, BGP_OPEN_HOLD, "the peer wants a hold time below 3 seconds");
    return 1;
}

int bgp_open_parse(asn_bytes body, const bgp_self *self, uint32_t peer_as, bgp_open *open,
                   bgp_fault *fault)
{
    static const unsigned char supported[] = {0, VERSION};
    reading r = {open, fault, 0};
    uint32_t version;

    memset(open, 0, sizeof *open);
    asn_take_number(&body, 1, &version);
    if (version != VERSION) {
        fail(&r, BGP_OPEN_VERSION, "the peer speaks another version of BGP");
        fault->data = (asn_bytes){supported, sizeof supported};
        return 0;
    }
    if (!asn_take_number(&body, 2, &open->as) || !asn_take_number(&body, 2, &open->hold) ||
        !asn_take_number(&body, 4, &open->id) || !body.n)
        return fail(&r, BGP_OPEN_OTHER, "the message is too short");
    if (!take_options(body, &r))
        return 0;
    if (!r.families)
        open->families = BGP_FAMILY(ASN_IPV4);
    return check(&r, self, peer_as);
}

static size_t put_number(unsigned char *to, size_t at, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        to[at + i] = (unsigned char)(value >> 8 * (n - 1 - i));
    return at + n;
}

static size_t put_capability(unsigned char *to, size_t at, unsigned code, unsigned length)
{
    return put_number(to, at, 2, code << 8 | length);
}

static size_t put_capabilities(unsigned char *to, size_t at, const bgp_self *self)
{
    for (int family = ASN_IPV4; family <= ASN_IPV6; family++)
        if (self->families & BGP_FAMILY(family)) {
            at = put_capability(to, at, CAN_FAMILY, 4);
            at = put_number(to, at, 4, bgp_afi((brg_asn_family)family) << 16 | 1);
        }
    at = put_capability(to, at, CAN_REFRESH, 0);
    /* nothing is forwarded here: it says that routes of a peer that starts again are kept (RFC 4724, 3) */
    at = put_number(to, put_capability(to, at, CAN_RESTART, 2), 2, 0);
    return put_number(to, put_capability(to, at, CAN_AS4, 4), 4, self->as);
}

size_t bgp_write_open(unsigned char *to, const bgp_self *self)
{
    size_t at = put_number(to, BGP_HEADER, 1, VERSION), options;

    at = put_number(to, at, 2, self->as > 0xffff ? BGP_TRANSITION : self->as);
    at = put_number(to, at, 2, self->hold);
    options = put_number(to, at, 4, self->id);
    at = put_capabilities(to, options + 3, self);
    put_number(to, options, 1, (uint32_t)(at - options - 1));
    put_number(to, options + 1, 2, PARAMETER_CAPABILITIES << 8 | (uint32_t)(at - options - 3));
    return bgp_write_head(to, at, BGP_OPEN);
}
