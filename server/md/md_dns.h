/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_DNS_H
#define BRIGADE_MD_DNS_H

/**
 * @file md_dns.h
 * A DNS server for challenges (MDDnsResponder): _acme-challenge.NAME is an alias (CNAME) of NAME.ZONE, and the zone is this
 * server's. It knows the TXT records of dns-01 challenges that are under way (md_shared.h), and the zone's SOA and NS records.
 *
 * md_dns.c        messages
 * md_dns_serve.c  the process, sockets, limits
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"
#include <stddef.h>
#include <stdint.h>

#define MD_DNS_UDP 512   /**< bytes of an answer to a client without EDNS */
#define MD_DNS_EDNS 1232 /**< ... or says that it takes more */
#define MD_DNS_MOST 4096 /**< ... over TCP */
#define MD_DNS_TEXTS 24  /**< records of an answer */
#define MD_DNS_TEXT 64   /**< bytes of one, with its end */

/** The zone. */
typedef struct md_dns_zone {
    const char *name;              /**< in lower case, without a dot at its end */
    const char *ns;                /**< of its NS record; NULL: no such record */
    apr_array_header_t *addresses; /**< apr_sockaddr_t * */
    uint32_t serial;
    /** Texts of a name, without the zone; NULL: md_shared_dns(). @return how many */
    int (*texts)(const char *name, char texts[MD_DNS_TEXTS][MD_DNS_TEXT]);
} md_dns_zone;

/** Of the configuration; NULL: none. */
extern md_dns_zone *md_dns;

/**
 * Answer a message.
 * @param room  bytes of @a to, at least MD_DNS_UDP; the question's EDNS counts where @a is_udp
 * @param cut   the answer is to be empty, and says so (TC): the client may come over TCP
 * @return bytes; 0: none is to be sent
 * Threads: any. Blocking: no. Source: RFC 1035, 4; 6891; 9619 (one question).
 */
size_t md_dns_answer(const md_dns_zone *zone, const uint8_t *asked, size_t len, uint8_t *to,
                     size_t room, int is_udp, int cut);

const char *md_set_dns_responder(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);

/** The process; as md_daemon_run(). */
void md_dns_run(server_rec *s, int control, pid_t supervisor) __attribute__((noreturn));

#endif
