/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_VHOSTS_H
#define BRIGADE_REQUEST_VHOSTS_H

/**
 * @file vhosts.h
 * Virtual hosts: which server answers, by the address that the client connected to and the name
 * that it asked for. The tables are compiled once a configuration was read and are read-only from
 * then on: any thread may look up, nothing is allocated.
 *
 * A *chain* holds the servers of one address and port, in the order of the configuration; the first
 * answers for names that none of them has. For an address that no chain has, the main server
 * answers for every name.
 */
#include "httpd.h"
#include "conn.h"
#include "http_core.h"

typedef struct vhost_chain vhost_chain;

/* ---- look-ups ---- */

/** 1 if some virtual host is bound to an address or port: then a connection's own address has to be
 * known. */
int vhost_wants_local_address(void);

/**
 * The chain for a connection to @a local, as in conn_rec.vhost_lookup_data. NULL without virtual
 * hosts.
 *
 * @param local  the connection's own address; NULL: unknown, allowed if vhost_wants_local_address()
 * is 0
 * @param base   [out] the server that answers for unknown names: never NULL after the configuration
 * was read
 */
const void *vhost_chain_of(const apr_sockaddr_t *local, server_rec **base);

/**
 * Server of @a chain that has the name, by ServerName, ServerAlias or, last, by the text of
 * <VirtualHost>.
 * @param name  lower case, without port or trailing dot
 * @return NULL if none has
 */
server_rec *vhost_chain_find(const vhost_chain *chain, const char *name, size_t len);

/** Call @a visit for each server of the chain, in order and each once; stops if it returns
 * non-zero. */
int vhost_chain_each(const vhost_chain *chain, int (*visit)(void *baton, server_rec *s),
                     void *baton);

/** Which tables these are: another number whenever they were built, never 0. For users of kept
 * look-ups. */
unsigned vhost_tables_number(void);

/** Is @a name (lower case) the ServerName or a ServerAlias of @a s? */
int vhost_server_has_name(const server_rec *s, const char *name);

/* ---- the value of a Host field (vhost_host.c) ---- */

typedef struct vhost_host {
    const char *name; /**< into the value, without brackets and trailing dot */
    size_t len;
    unsigned port; /**< 0 = none was given */
} vhost_host;

/**
 * Take the value apart.
 * @param strict  0: HttpProtocolOptions Unsafe
 * @return 1 if it is well-formed
 */
int vhost_host_parse(const char *value, size_t len, int strict, vhost_host *out);

/* ---- building (vhost_table.c, vhost_config.c) ---- */

/** Compile the tables for the servers from @a main_server on. */
void vhost_tables_build(apr_pool_t *p, server_rec *main_server);

/** Print the tables as `-S` does. */
void vhost_dump(apr_file_t *out);

/** A connection was accepted: set bc->chain and bc->base by its local address. */
void vhost_of_connection(brg_conn *bc);

#endif
