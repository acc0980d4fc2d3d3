/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_NAMED_H
#define BRIGADE_TLS_TLS_NAMED_H

/**
 * @file tls_named.h
 * Certificates by name, which another room gets while servers run: the seam to the md module (MDOnDemand).
 *
 * Before a handshake shows the certificate of its server, that room is asked for one of the name that the client said. Where
 * it is on its way, the handshake waits on its loop, without a thread; few of a loop do so at a time, all others get the
 * certificate of the server.
 */
#include "httpd.h"
#include <stddef.h>
#include <stdint.h>

/** A certificate and its key, as the other room knows them. */
typedef struct tls_named {
    uint32_t slot;
    uint64_t version; /**< another one has another */
} tls_named;

typedef enum tls_named_state {
    TLS_NAMED_NO,   /**< the server's certificate is shown */
    TLS_NAMED_WAIT, /**< look again in a moment */
    TLS_NAMED_YES
} tls_named_state;

/** Whose question it is: an address, 4 or 16 bytes. */
typedef struct tls_named_client {
    const uint8_t *address;
    size_t len;
} tls_named_client;

typedef struct tls_namer {
    /**
     * @param name    in lower case, without a dot at its end
     * @param client  the asking client; NULL: the same as before, in a handshake that waits
     * Threads: loops. Blocking: no.
     */
    tls_named_state (*find)(const server_rec *s, const char *name, const tls_named_client *client,
                            tls_named *found);
    /**
     * The key and the chain, the certificate first: DER, each behind its length of four bytes in the machine's order.
     * @return bytes; 0: it is another one by now. As find()
     */
    size_t (*read)(const tls_named *named, unsigned char *to, size_t room);
    size_t most;               /**< bytes of that */
    apr_interval_time_t *wait; /**< how long a handshake waits at most */
} tls_namer;

/** @param to  NULL: there is nobody to be asked. Threads: main. */
void tls_namer_set(const tls_namer *to);

#endif
