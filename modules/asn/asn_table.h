/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_TABLE_H
#define BRIGADE_ASN_TABLE_H

/**
 * @file asn_table.h
 * Which network is an address in: prefixes of IPv4 and IPv6 with their AS path and communities, in memory that
 * processes share.
 *
 * One process writes (brg_asn_writer), all others read without a lock and without telling anybody. The table
 * consists of several route sets ("ribs"), one for each source; a look-up takes the longest prefix of all of them,
 * of equal ones that of the first rib.
 *
 * A rib is a trie of nodes for 8 bits each. A node is never changed but for single words: a route that comes or goes
 * makes a new node, which one store puts in place. The old one is used again only after ASN_TABLE_KEPT other blocks
 * were given up. A reader that was overtaken by that many looks again; a reader that dies or stops holds up nobody.
 *
 * Numbers are in the byte order of the host, addresses and paths in that of the network.
 */
#include <stddef.h>
#include <stdint.h>
#include "apr_errno.h"
#include "apr_pools.h"
#include "apr_time.h"

#define ASN_TABLE_RIBS 16           /**< sources at most */
#define ASN_TABLE_KEPT 1024         /**< blocks given up before one is used again */
#define ASN_PATH_MAX 1024           /**< bytes of a path; a longer one is cut between segments */
#define ASN_COMMUNITIES 256         /**< communities of a route at most; the rest is left out */
#define ASN_LARGE 84                /**< large communities (RFC 8092) likewise */
#define ASN_TABLE_SIZE (256u << 20) /**< address space that a table has if nothing else is said */

typedef struct brg_asn_table brg_asn_table;
typedef struct brg_asn_writer brg_asn_writer;

/** Families: index of arrays. */
typedef enum brg_asn_family { ASN_IPV4, ASN_IPV6 } brg_asn_family;

/** A prefix. Bits of @a address behind @a length are not looked at; IPv4 uses the first four bytes. */
typedef struct brg_asn_prefix {
    unsigned char family; /**< brg_asn_family */
    unsigned char length; /**< 0 to 32 or 128 */
    unsigned char address[16];
} brg_asn_prefix;

/** Attributes of a route, as a source has it. All may be empty. */
typedef struct brg_asn_attributes {
    uint32_t origin; /**< the AS that the prefix is of; brg_asn_path_origin() */
    /** AS_PATH as RFC 4271 and 6793 write it: segments of type, count, 4-byte numbers */
    const unsigned char *path;
    size_t path_bytes;
    const uint32_t *communities; /**< RFC 1997 */
    size_t communities_count;
    const uint32_t *large; /**< RFC 8092: three numbers each */
    size_t large_count;    /**< of communities, not numbers */
} brg_asn_attributes;

/** Attributes in the table: equal ones are there once. 0: no attributes. */
typedef uint32_t brg_asn_ref;

/** Result of a look-up. */
typedef struct brg_asn_route {
    uint32_t origin;
    unsigned char length; /**< of the prefix */
    unsigned char rib;
} brg_asn_route;

/** The rest of it, copied: no reference into the table leaves a look-up. */
typedef struct brg_asn_detail {
    size_t path_bytes, communities_count, large_count;
    uint32_t path[ASN_PATH_MAX / 4]; /**< bytes as in brg_asn_attributes */
    uint32_t communities[ASN_COMMUNITIES];
    uint32_t large[3 * ASN_LARGE];
} brg_asn_detail;

/** Figures of a rib. Each number is true by itself, not all at one moment. */
typedef struct brg_asn_rib_figures {
    uint32_t routes[2];     /**< by family */
    uint64_t updates;       /**< routes announced or withdrawn since the writer began */
    apr_time_t last_update; /**< 0: never */
    int ready;              /**< the source delivered its routes at least once */
} brg_asn_rib_figures;

/* ---- all processes ---- */

/**
 * Map a table of at most @a bytes: pages that are not used cost nothing. Call it in the process that starts the
 * others; they inherit a view of it that cannot be written (brigade/one_writer.h). Unmapped when @a p is destroyed.
 */
apr_status_t brg_asn_table_create(brg_asn_table **table, size_t bytes, apr_pool_t *p);

/** Processes that are forked from now on can write it, too (@a on = 1), or cannot (0, as in the beginning). */
void brg_asn_table_hand(const brg_asn_table *table, int on);

/* ---- readers: any thread of any process; never blocks ---- */

/**
 * The longest prefix that holds @a address (4 or 16 bytes). A mapped IPv4 address is one of IPv6: unwrap it before.
 *
 * @param detail  NULL, or where path and communities go
 * @return 1, or 0 if there is no route
 */
int brg_asn_lookup(const brg_asn_table *table, brg_asn_family family, const unsigned char *address,
                   brg_asn_route *route, brg_asn_detail *detail);

/** 1 if some source has delivered its routes: before that "no route" says nothing. */
int brg_asn_ready(const brg_asn_table *table);

void brg_asn_rib_read(const brg_asn_table *table, int rib, brg_asn_rib_figures *figures);

/** Bytes of memory of the table, attributes and the writer's index of equal ones included. */
size_t brg_asn_table_bytes(const brg_asn_table *table);

/* ---- the writer: one process, one thread ---- */

/**
 * Become the writer: the table is emptied (also of the remains of a writer that died half-way), no
 * rib is ready. No other writer may be alive. NULL: no memory, or no random bytes.
 */
brg_asn_writer *brg_asn_writer_begin(brg_asn_table *table);

/** Give the writer's own memory back; the table stays. */
void brg_asn_writer_end(brg_asn_writer *w);

/**
 * Take attributes into the table, or find the equal ones there. The caller holds them until
 * brg_asn_attributes_release(); routes hold them by themselves.
 *
 * @return APR_ENOMEM if the table is full
 */
apr_status_t brg_asn_attributes_hold(brg_asn_writer *w, const brg_asn_attributes *a,
                                     brg_asn_ref *ref);
void brg_asn_attributes_release(brg_asn_writer *w, brg_asn_ref ref);

/**
 * A route is there, or has other attributes now.
 *
 * @return APR_EINVAL for a length that the family does not have; APR_ENOMEM if the table is full: nothing changed
 */
apr_status_t brg_asn_announce(brg_asn_writer *w, int rib, const brg_asn_prefix *prefix,
                              brg_asn_ref ref);

/** A route is gone. @return APR_NOTFOUND if it was not there; APR_ENOMEM: it is still there */
apr_status_t brg_asn_withdraw(brg_asn_writer *w, int rib, const brg_asn_prefix *prefix);

/** The source delivered all that it has: "no route" is an answer from now on. */
void brg_asn_rib_ready(brg_asn_writer *w, int rib);

/** Updates of the rib were applied just now: one call for many, since it reads the clock. */
void brg_asn_rib_touch(brg_asn_writer *w, int rib);

/** Take all routes of a rib away; it is not ready. */
void brg_asn_rib_clear(brg_asn_writer *w, int rib);

/**
 * Replace the whole rib: announcements and withdrawals from now on go into a new one beside the old
 * one, which readers see until brg_asn_rib_commit() (the rib is ready then), or for ever after
 * brg_asn_rib_discard(). A second begin discards the first one.
 *
 * @return APR_ENOMEM
 */
apr_status_t brg_asn_rib_begin(brg_asn_writer *w, int rib);
void brg_asn_rib_commit(brg_asn_writer *w, int rib);
void brg_asn_rib_discard(brg_asn_writer *w, int rib);

/** Routes of a rib as the writer sees it: those of the new one between begin and commit. */
uint32_t brg_asn_rib_routes(const brg_asn_writer *w, int rib, brg_asn_family family);

/* ---- asn_text.c ---- */

/** The AS that a path ends with: of an AS_SET its first member; confederation segments are passed over. 0: an empty
 * path. */
uint32_t brg_asn_path_origin(const unsigned char *path, size_t bytes);

/** "64496 64511 {64500,64501}", as much as fits with its end. @return its length */
size_t brg_asn_path_text(const brg_asn_detail *detail, char *to, size_t size);

/** "64496:100 64496:1:2", likewise. */
size_t brg_asn_communities_text(const brg_asn_detail *detail, char *to, size_t size);

/** "192.0.2.0/24": the prefix of @a length that holds @a address. @a to has room for ASN_PREFIX_TEXT. @return its
 * length */
#define ASN_PREFIX_TEXT 52
size_t brg_asn_prefix_text(brg_asn_family family, const unsigned char *address, int length,
                           char *to);

#endif
