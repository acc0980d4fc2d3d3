/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SOCACHE_CLIENT_H
#define BRIGADE_SOCACHE_CLIENT_H

/**
 * @file socache_client.h
 * Shared by the providers memcache and redis: servers on the network that
 * keys are spread over, connections to them that are kept, and deadlines. An operation never waits
 * longer than the timeout of its client, whatever the server does; only the resolver of names may.
 *
 * Threads: any, also several at a time, but no event loop. Blocking: yes.
 */
#include "ap_socache.h"
#include "httpd.h"
#include "http_config.h"

/** Bytes of a key in text: prefix and id in hexadecimal digits. That of memcached. */
#define SOCACHE_KEY_MOST 250
#define SOCACHE_LINE_MOST 512

typedef struct socache_server socache_server;
typedef struct socache_conn socache_conn;

typedef struct socache_client {
    const char *names;                 /**< "HOST[:PORT],..." */
    const char *prefix;                /**< of keys: "NAME:" */
    apr_port_t port;                   /**< where none is named */
    apr_interval_time_t timeout, idle; /**< of an operation; how long an idle connection is kept */
    int n;
    socache_server *server;
} socache_client;

/** An operation on a connection. @return APR_SUCCESS, APR_NOTFOUND and APR_ENOSPC: the connection may be used again */
typedef apr_status_t socache_talk(socache_conn *c, const char *key, void *baton);

/** An object to store, or to get. The baton of socache_protocol.set and get. */
typedef struct socache_object {
    unsigned char *data;
    apr_size_t most, n; /**< room for an object; bytes */
    unsigned seconds;   /**< it lives so long */
} socache_object;

/** How long operations and idle connections may last. */
typedef struct socache_times {
    apr_interval_time_t idle, timeout;
} socache_times;

/** The differences of the providers. */
typedef struct socache_protocol {
    const char *name, *log_name, *status_name;
    /** beginnings of lines of the log, with Apache's numbers */
    const char *bad_name, *not_set, *not_got;
    apr_port_t port;
    apr_interval_time_t timeout; /**< of an operation, where none is configured */
    module *module;              /**< whose lines they are */
    socache_talk *get, *set, *remove;
} socache_protocol;

/** create_server_config of their modules: socache_times. */
void *socache_times_create(apr_pool_t *p, server_rec *s);

/* ---- functions of an ap_socache_provider_t (socache_provider.c) */

/** An instance of these servers. @return NULL or the message */
const char *socache_provider_make(ap_socache_instance_t **instance, const char *names,
                                  const socache_protocol *protocol, apr_pool_t *p);
/** Register the provider of @a protocol; @a create makes its instances. */
void socache_provider_register(apr_pool_t *p, const socache_protocol *protocol,
                               const char *(*create)(ap_socache_instance_t **instance,
                                                     const char *arg, apr_pool_t *tmp,
                                                     apr_pool_t *p));

/** A client of these servers. @return NULL: no names are there */
socache_client *socache_client_make(apr_pool_t *p, const char *names, apr_port_t port);

/**
 * Read the names. @param bad  [out] the invalid name, after that error
 * @return APR_EINVAL and the like
 */
apr_status_t socache_client_init(socache_client *client, apr_pool_t *p, const char *cname,
                                 const char **bad);

/**
 * Talk to the server that the key of this id belongs to, once more if a kept connection had ended meanwhile. A server that cannot be
 * reached is left alone for a second; the next one has its keys until then.
 * @return the result of talk; or why no server was reached
 */
apr_status_t socache_client_do(socache_client *client, const unsigned char *id, unsigned int len,
                               socache_talk *talk, void *baton);

/** Names of the servers, and whether they are left alone. */
void socache_client_status(const socache_client *client, request_rec *r, const char *what,
                           int flags);

/** Send all of it. */
apr_status_t socache_send(socache_conn *c, const struct iovec *pieces, int n);
/** The next line, without its end, in @a line of SOCACHE_LINE_MOST bytes. A longer line: APR_EGENERAL */
apr_status_t socache_line(socache_conn *c, char *line);
/** A value of @a n bytes, into room for @a most, and the end of line behind it. APR_ENOSPC: it is longer, and was dropped */
apr_status_t socache_value(socache_conn *c, unsigned char *to, apr_size_t most, apr_size_t n);

/** "@a name", for how long: the argument of MemcacheConnTTL and the like. @return NULL or the message */
const char *socache_span(cmd_parms *cmd, const char *arg, apr_interval_time_t *span);

/** Seconds from now on; 0: it is over. At most 30 days, the longest span of memcached. */
unsigned socache_seconds(apr_time_t expiry);

/* ---- replies (socache_reply.c): functions of a line */

/** "VALUE KEY FLAGS BYTES": @return how many bytes; -1: another line */
apr_int64_t socache_memcache_value(const char *line, const char *key);
/** "$BYTES": @return how many; -1: not found ("$-1"); -2: another line */
apr_int64_t socache_redis_value(const char *line);

#endif
