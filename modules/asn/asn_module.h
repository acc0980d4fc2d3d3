/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_MODULE_H
#define BRIGADE_ASN_MODULE_H

/**
 * @file asn_module.h
 * Parts of asn_module: directives and hooks (mod_asn.c), the process that owns
 * sources (asn_collector.h), files (asn_file.c, asn_file_line.c, asn_mrt.c), sessions (asn_feed.h),
 * answers about clients (asn_client.c, asn_require.c, asn_log.c).
 */
#include "httpd.h"
#include "http_config.h"
#include "asn_table.h"
#include "bgp_session.h"
#include "brigade/client_network.h"

/** A line ASTable: the number of its rib is that of the line. */
typedef struct asn_source {
    const char *words;   /**< as it was written */
    const char *file;    /**< path, or NULL */
    const bgp_conf *bgp; /**< peer, or NULL */
} asn_source;

/** The configuration. Lives in pconf; table and collector may live longer. */
typedef struct asn_conf {
    apr_array_header_t *sources;     /**< of asn_source */
    struct asn_collector *collector; /**< NULL: no ASTable */
} asn_conf;

/** Of the configuration that is served; NULL between two of them. */
extern asn_conf *asn_served;

/* ---- asn_file.c: the collector ---- */

/**
 * Read @a path into rib @a rib: all of it, or nothing changes. Logs errors. @a meanwhile is called
 * now and then, since long files take seconds; it may write to other ribs. @a error is the errno
 * for which the file could not be read at the last try, 0 if there was none: the same one is not
 * logged again. It becomes that of this try.
 * @return 1 if it was read
 */
int asn_file_load(brg_asn_writer *w, int rib, const char *path, void (*meanwhile)(void *data),
                  void *data, int *error);

/* ---- asn_file_line.c ---- */

/** One line of a file: no route (a comment, a network that nobody announces), a prefix, or a range. */
typedef struct asn_line {
    brg_asn_prefix first;
    unsigned char last[16]; /**< of a range */
    int range;
    uint32_t origins[16]; /**< more than one: several networks announce it */
    int origins_count;    /**< 0: there is no route in this line */
} asn_line;

/**
 * Take a line apart, of any of the text formats. @a text is changed.
 * @return NULL, or the error
 */
const char *asn_line_parse(char *text, asn_line *line);

/**
 * The next prefix of the range, longest possible first; line->first is the rest of it then.
 * @return 0 if nothing is left
 */
int asn_line_next(asn_line *line, brg_asn_prefix *prefix);

/* ---- asn_mrt.c ---- */

/** The content of a record. The path lies in the record. */
typedef struct asn_mrt_route {
    brg_asn_prefix prefix;
    brg_asn_attributes attributes;
    uint32_t communities[ASN_COMMUNITIES];
    uint32_t large[3 * ASN_LARGE];
} asn_mrt_route;

/**
 * Take the body of a record RIB_IPV4_UNICAST or RIB_IPV6_UNICAST of TABLE_DUMP_V2 apart.
 * @return NULL, or the error
 */
const char *asn_mrt_parse(const unsigned char *body, size_t n, brg_asn_family family,
                          asn_mrt_route *route);

/* ---- asn_client.c ---- */

/** The possible questions. */
typedef enum asn_what {
    ASN_WHAT_NUMBER,
    ASN_WHAT_PREFIX,
    ASN_WHAT_PATH,
    ASN_WHAT_COMMUNITIES,
    ASN_WHATS
} asn_what;

/** Names of variables: CLIENT_ASN and so on, by asn_what. */
extern const char *const asn_variables[ASN_WHATS];

/** Room for all of a path or of all communities. */
#define ASN_TEXT_MAX (BRG_CLIENT_NETWORK_ROOM - 1)

/** The table that is asked now, NULL if there is no ASTable. Threads: any. */
const brg_asn_table *asn_table(void);

/** The bytes of an address; one of IPv4 in IPv6 is one of IPv4. @return NULL: it has none */
const unsigned char *asn_client_bytes(const apr_sockaddr_t *address, brg_asn_family *family);

/** The table's route for 4 or 16 bytes of an address, as brg_asn_lookup(); the look-up is counted.
 */
int asn_look_up(brg_asn_family family, const unsigned char *address, brg_asn_route *route,
                brg_asn_detail *detail);

/** The route of an address. @return 1; 0: no route, or no table */
int asn_client_route(const apr_sockaddr_t *address, brg_asn_route *route, brg_asn_detail *detail);

/** The table's text for an address, "-" without a route. @a out: room for ASN_TEXT_MAX bytes and a
 * NUL. @return its length */
size_t asn_client_put(const apr_sockaddr_t *address, asn_what what, char *out);

/** Of the client that the request is of; "-" if there is no route, from @a p. */
const char *asn_client_text(const apr_sockaddr_t *address, asn_what what, apr_pool_t *p);

/** 1 if there is a table with routes. Threads: any. */
int asn_is_ready(void);

/** As asn_is_ready(); if not, that is logged once in this process. */
int asn_client_ready(const request_rec *r);

/* ---- asn_require.c, asn_log.c, asn_status.c ---- */

void asn_require_register(apr_pool_t *p);
void asn_log_register(apr_pool_t *pconf);
void asn_status_register(void);

#endif
