/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BGP_MESSAGE_H
#define BRIGADE_BGP_MESSAGE_H

/**
 * @file bgp_message.h
 * Messages of BGP-4 (RFC 4271): bytes to facts and back, without any I/O, clock
 * or memory of their own. A peer's bytes are never an invariant: each function returns their error.
 *
 * Supported: 4-octet AS numbers (RFC 6793), IPv4 and IPv6 unicast (RFC 4760), route refresh (RFC 2918), graceful
 * restart of the peer (RFC 4724), extended optional parameters (RFC 9072), errors as RFC 7606 has them. Messages are of
 * 4096 bytes at most: extended messages (RFC 8654) are not offered to peers, so that none may send them.
 */
#include "asn_bytes.h"

#define BGP_HEADER 19         /**< bytes */
#define BGP_MESSAGE_MAX 4096  /**< bytes, header included */
#define BGP_TRANSITION 23456u /**< stands for a number of 4 bytes where 2 are (AS_TRANS) */

/** Types of messages. */
typedef enum bgp_type {
    BGP_OPEN = 1,
    BGP_UPDATE,
    BGP_NOTIFICATION,
    BGP_KEEPALIVE,
    BGP_REFRESH
} bgp_type;

/** Codes of NOTIFICATION. */
enum {
    BGP_BAD_HEADER = 1,
    BGP_BAD_OPEN,
    BGP_BAD_UPDATE,
    BGP_HOLD_EXPIRED,
    BGP_BAD_STATE,
    BGP_CEASE
};

/** Subcodes that this side sends. */
enum {
    BGP_HEADER_MARKER = 1,
    BGP_HEADER_LENGTH,
    BGP_HEADER_TYPE,
    BGP_OPEN_OTHER = 0,
    BGP_OPEN_VERSION,
    BGP_OPEN_AS,
    BGP_OPEN_ID,
    BGP_OPEN_PARAMETER,
    BGP_OPEN_HOLD = 6,
    BGP_UPDATE_ATTRIBUTES = 1,
    BGP_UPDATE_UNKNOWN,
    BGP_UPDATE_OPTIONAL = 9,
    BGP_UPDATE_NETWORK
};

/** Why the session has to end. */
typedef struct bgp_fault {
    unsigned char code, subcode; /**< of the NOTIFICATION */
    const char *what;            /**< for the error log; static */
    asn_bytes data;              /**< of the NOTIFICATION; in the message, or static */
} bgp_fault;

/** Bit of a family in a set of them. */
#define BGP_FAMILY(family) (1u << (family))

/* ---- bgp_message.c ---- */

/**
 * Look at the head of a message of which @a n bytes are there.
 *
 * @return bytes of the whole message, 0 if the head is not all there, -1 with *fault
 */
int bgp_head_parse(const unsigned char *at, size_t n, bgp_type *type, bgp_fault *fault);

/** Content of a NOTIFICATION. */
typedef struct bgp_notice {
    unsigned char code, subcode;
    /** of the peer's administrator (RFC 9003): UTF-8 as claimed, not checked; in the message */
    asn_bytes text;
} bgp_notice;

/** @param body  behind the head; bgp_head_parse() saw to it that code and subcode are there */
void bgp_notice_parse(asn_bytes body, bgp_notice *notice);

/** Name of a code and subcode for the error log, "" if unknown. */
const char *bgp_notice_name(unsigned code, unsigned subcode);

/** Write messages. @a to has room for BGP_MESSAGE_MAX. @return bytes */
size_t bgp_write_keepalive(unsigned char *to);
size_t bgp_write_notification(unsigned char *to, const bgp_fault *fault);

/** Write a head. @return @a bytes, of the whole message */
size_t bgp_write_head(unsigned char *to, size_t bytes, bgp_type type);

/** Address family as RFC 4760 has it. */
uint32_t bgp_afi(brg_asn_family family);

/** @return 1 for IPv4 and IPv6 unicast, with *family */
int bgp_family(uint32_t afi, uint32_t safi, brg_asn_family *family);

/* ---- bgp_open.c ---- */

/** This side's parameters. */
typedef struct bgp_self {
    uint32_t as, id; /**< of the host's byte order */
    uint32_t hold;   /**< seconds: 0 (no timer), or 3 to 65535 */
    unsigned families;
} bgp_self;

/** The peer's parameters. */
typedef struct bgp_open {
    uint32_t as, id;
    uint32_t hold;     /**< seconds */
    unsigned families; /**< with multiprotocol; IPv4 if the peer has no such capability at all */
    int as4, refresh;  /**< capabilities */
    int restart;       /**< graceful restart */
    uint32_t restart_seconds; /**< of it */
    unsigned kept;            /**< families that the peer goes on forwarding */
} bgp_open;

/**
 * @param peer_as  whom the session is configured to be with
 * @return 1, 0 with *fault
 */
int bgp_open_parse(asn_bytes body, const bgp_self *self, uint32_t peer_as, bgp_open *open,
                   bgp_fault *fault);

size_t bgp_write_open(unsigned char *to, const bgp_self *self);

/* ---- bgp_update.c ---- */

/** The agreed parameters. */
typedef struct bgp_terms {
    int as4;      /**< numbers in AS_PATH have 4 bytes */
    int internal; /**< the peer is of the same AS */
    unsigned families;
    uint32_t peer_as; /**< origin of a route with an empty path */
} bgp_terms;

/** Prefixes in a message, known to be well-formed. */
typedef struct bgp_prefixes {
    brg_asn_family family;
    asn_bytes rest;
} bgp_prefixes;

/** Fields of the message, and the attributes of RFC 4760. */
enum { BGP_OF_MESSAGE, BGP_OF_ATTRIBUTE, BGP_PLACES };

/** Content of an UPDATE. Refers to the message and to itself. Take @a gone first, then @a come. */
typedef struct bgp_update {
    bgp_prefixes gone[BGP_PLACES], come[BGP_PLACES];
    /** NULL, or why announcements count as withdrawals (RFC 7606); static */
    const char *as_withdrawn;
    const char *discarded; /**< NULL, or why an attribute was left out; static */
    unsigned end_of_rib;   /**< set of families: all of it was sent */
    brg_asn_attributes attributes;
    unsigned char path[2 * BGP_MESSAGE_MAX];
    uint32_t communities[ASN_COMMUNITIES];
    uint32_t large[3 * ASN_LARGE];
} bgp_update;

/** @return 1, 0 with *fault */
int bgp_update_parse(asn_bytes body, const bgp_terms *terms, bgp_update *update, bgp_fault *fault);

/** The next one. @return 0: past the last */
int bgp_prefixes_next(bgp_prefixes *all, brg_asn_prefix *prefix);

/* ---- bgp_path.c: paths of segments: type, count, numbers of @a width bytes ---- */

/** Are segments whole, not empty and of known types? @param confederation  may those of RFC 5065 be there? */
int bgp_path_is(asn_bytes path, unsigned width, int confederation);

/** Numbers of 2 bytes become such of 4. @a to has room for 2 * path.n. @return bytes */
size_t bgp_path_widen(asn_bytes path, unsigned char *to);

/** ASes on the way: a set counts as one, the inside of a confederation does not. @a path has
 * numbers of 4 bytes */
unsigned bgp_path_length(asn_bytes path);

/**
 * The path of AS_PATH and AS4_PATH together (RFC 6793, 4.2.3): both have numbers of 4 bytes.
 * @a to has room for both. @return bytes
 */
size_t bgp_path_merge(asn_bytes path, asn_bytes path4, unsigned char *to);

#endif
