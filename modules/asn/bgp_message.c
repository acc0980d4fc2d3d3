/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of messages, and the short messages. */
#include "brigade/assert.h"
#include "bgp_message.h"

enum { MARKER = 16, UNICAST = 1 };

/* Codes and subcodes of Cease whose NOTIFICATION has a text (RFC 9003). */
enum { CEASE_SHUTDOWN = 2, CEASE_RESET = 4 };

static int fail(bgp_fault *fault, unsigned char subcode, const char *what, const unsigned char *at,
                size_t n)
{
    *fault = (bgp_fault){BGP_BAD_HEADER, subcode, what, {at, n}};
    return -1;
}

/* Bytes that a message of a type has: at least, at most. */
static const struct {
    uint32_t least, most;
} lengths[] = {[BGP_OPEN] = {29, BGP_MESSAGE_MAX},
               [BGP_UPDATE] = {23, BGP_MESSAGE_MAX},
               [BGP_NOTIFICATION] = {21, BGP_MESSAGE_MAX},
               [BGP_KEEPALIVE] = {BGP_HEADER, BGP_HEADER},
               [BGP_REFRESH] = {23, 23}};

static int has_marker(const unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n && i < MARKER; i++)
        if (at[i] != 0xff)
            return 0;
    return 1;
}

int bgp_head_parse(const unsigned char *at, size_t n, bgp_type *type, bgp_fault *fault)
{
    asn_bytes b = {at, n};
    uint32_t length, kind;

    /* garbage is told before a whole head of it is there */
    if (!has_marker(at, n))
        return fail(fault, BGP_HEADER_MARKER, "a message does not begin as those of BGP do", NULL,
                    0);
    if (!asn_take_bytes(&b, MARKER) || !asn_take_number(&b, 2, &length) ||
        !asn_take_number(&b, 1, &kind))
        return 0;
    if (length < BGP_HEADER || length > BGP_MESSAGE_MAX)
        return fail(fault, BGP_HEADER_LENGTH, "the length of a message is impossible", at + MARKER,
                    2);
    if (kind < BGP_OPEN || kind > BGP_REFRESH)
        return fail(fault, BGP_HEADER_TYPE, "a message is of an unknown type", at + MARKER + 2, 1);
    if (length < lengths[kind].least || length > lengths[kind].most)
        return fail(fault, BGP_HEADER_LENGTH, "a message has a length that its type does not have",
                    at + MARKER, 2);
    *type = (bgp_type)kind;
    return (int)length;
}

uint32_t bgp_afi(brg_asn_family family)
{
    return family == ASN_IPV4 ? 1 : 2;
}

int bgp_family(uint32_t afi, uint32_t safi, brg_asn_family *family)
{
    *family = afi == bgp_afi(ASN_IPV6) ? ASN_IPV6 : ASN_IPV4;
    return afi == bgp_afi(*family) && safi == UNICAST;
}

void bgp_notice_parse(asn_bytes body, bgp_notice *notice)
{
    uint32_t code, subcode, length;

    asn_take_number(&body, 1, &code);
    asn_take_number(&body, 1, &subcode);
    *notice = (bgp_notice){.code = (unsigned char)code, .subcode = (unsigned char)subcode};
    if (code == BGP_CEASE && (subcode == CEASE_SHUTDOWN || subcode == CEASE_RESET) &&
        asn_take_number(&body, 1, &length))
        asn_take_part(&body, length, &notice->text);
}

#define NAMES 12
static const char *const names[][NAMES] = {
    [BGP_BAD_HEADER] = {"message header error", "connection not synchronized", "bad message length",
                        "bad message type"},
    [BGP_BAD_OPEN] = {"OPEN message error", "unsupported version number", "bad peer AS",
                      "bad BGP identifier", "unsupported optional parameter", NULL,
                      "unacceptable hold time", "unsupported capability"},
    [BGP_BAD_UPDATE] = {"UPDATE message error", "malformed attribute list",
                        "unrecognized well-known attribute", "missing well-known attribute",
                        "attribute flags error", "attribute length error",
                        "invalid ORIGIN attribute", NULL, "invalid NEXT_HOP attribute",
                        "optional attribute error", "invalid network field", "malformed AS_PATH"},
    [BGP_HOLD_EXPIRED] = {"hold timer expired"},
    [BGP_BAD_STATE] = {"unexpected message"},
    [BGP_CEASE] = {"cease", "maximum number of prefixes reached", "administrative shutdown",
                   "peer de-configured", "administrative reset", "connection rejected",
                   "other configuration change", "connection collision resolution",
                   "out of resources", "hard reset"},
};

const char *bgp_notice_name(unsigned code, unsigned subcode)
{
    if (code < BGP_BAD_HEADER || code > BGP_CEASE)
        return "";
    if (subcode < NAMES && names[code][subcode])
        return names[code][subcode];
    return names[code][0];
}

size_t bgp_write_head(unsigned char *to, size_t bytes, bgp_type type)
{
    BRG_ASSERT(bytes >= BGP_HEADER && bytes <= BGP_MESSAGE_MAX);
    memset(to, 0xff, MARKER);
    to[MARKER] = (unsigned char)(bytes >> 8);
    to[MARKER + 1] = (unsigned char)bytes;
    to[MARKER + 2] = (unsigned char)type;
    return bytes;
}

size_t bgp_write_keepalive(unsigned char *to)
{
    return bgp_write_head(to, BGP_HEADER, BGP_KEEPALIVE);
}

size_t bgp_write_notification(unsigned char *to, const bgp_fault *fault)
{
    size_t room = BGP_MESSAGE_MAX - BGP_HEADER - 2;
    size_t n = fault->data.n < room ? fault->data.n : room;

    to[BGP_HEADER] = fault->code;
    to[BGP_HEADER + 1] = fault->subcode;
    if (n)
        memcpy(to + BGP_HEADER + 2, fault->data.at, n);
    return bgp_write_head(to, BGP_HEADER + 2 + n, BGP_NOTIFICATION);
}
