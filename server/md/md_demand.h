/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_DEMAND_H
#define BRIGADE_MD_DEMAND_H

/**
 * @file md_demand.h
 * Names on demand (MDOnDemand): a host gets a certificate for a name when a client asks for it, if the host says that the name
 * is one of its.
 *
 *   loop          finds the certificate in memory that the daemon writes; else sends the name to the daemon, and waits
 *   daemon        asks whether the name is the host's, and takes its certificate out of the store; else starts a job
 *
 * Floods of names cost little: a client may send a few, a process some more; the daemon remembers which it refused; as many
 * names are kept as MDOnDemandLimits says, and so many certificates are asked for in a time. Keys are on P-256.
 *
 * md_demand_conf.c    the directives, and which servers have names on demand
 * md_demand_table.c   the memory: found by loops, written by the daemon
 * md_demand_ask.c     whether a name is the host's
 * md_demand_daemon.c  names that the daemon has
 */
#include "md_conf.h"
#include "ap_expr.h"

#define MD_DEMAND_NAME 254 /**< bytes of a name with its end */

typedef struct md_daemon md_daemon;
typedef struct daemon_domain daemon_domain;

/** How a host knows its names. */
typedef enum md_ask { MD_ASK_FOLDER, MD_ASK_URL, MD_ASK_EXPR } md_ask;

/** Of a server. */
typedef struct md_demand {
    server_rec *server;
    md_ask kind;
    /** a format of mod_vhost_alias (NULL: that of VirtualDocumentRoot), a URL, an expression */
    const char *text;
    const ap_expr_info_t *expr;
    md_domain *like;  /**< settings that the names share; its own name is the server's */
    unsigned number;  /**< in md_demands */
    const char *file; /**< where it was defined */
    int line;
} md_demand;

/** Of all servers: MDOnDemandLimits. */
typedef struct md_demand_limits {
    int names;
    int rate, rate_seconds; /**< certificates that are asked for in so many seconds */
    apr_interval_time_t wait;
} md_demand_limits;

extern md_demand_limits md_demand_limit;
extern apr_array_header_t *md_demands; /**< md_demand *: of the configuration */

/* ---- md_demand_conf.c; threads: main ---- */

void md_demand_reset(apr_pool_t *p);
const char *md_set_demand(cmd_parms *cmd, void *dummy, const char *word);
const char *md_set_demand_limits(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);

/** After the managed domains have their settings. @return OK, or 500: logged */
int md_demand_assign(apr_pool_t *p, server_rec *main_server);

/** 1 if @a s has names on demand, and @a name is a pattern of some: no managed domain covers it. */
int md_demand_has_pattern(const server_rec *s, const char *name);

/** A name that may be part of a certificate, and the name of a folder: a host name with a dot, in lower case. */
int md_demand_name_is_sane(const char *name);

/* ---- md_demand_table.c ---- */

#define MD_DEMAND_RECORD 16384 /**< bytes of a key and a chain */

/** Make the memory, and let handshakes look there. Threads: main. @return 0, or an error of the system */
apr_status_t md_demand_begin(apr_pool_t *p);
/** As md_shared_hand(). */
void md_demand_hand(int on);
/** The daemon's end of the way to it; -1: no demand. */
int md_demand_socket(void);
/** In a server process: it closes the daemon's end. */
void md_demand_child(void);
/** In a process that has nothing to do with these names: unmap the memory, with its private keys, and close both ends. */
void md_demand_leave(void);

/** A name that was asked for. */
typedef struct md_demand_asked {
    uint32_t number; /**< of the md_demand */
    char name[MD_DEMAND_NAME];
} md_demand_asked;

/** The next one. Threads: the daemon. Blocking: no. @return 0, or -1: nothing waits */
int md_demand_take(md_demand_asked *asked);

/** A place for a name: the process that asks for it waits. Threads, as of all that follow: the
 * daemon. @return its number; -1: no place left */
int md_demand_place(const char *name);
/** @param record  as tls_named.h has it */
void md_demand_ready(int number, const unsigned char *record, size_t len, apr_time_t until);
/** It was asked for again. */
void md_demand_touch(int number);
void md_demand_free(int number);
/** Free all, after another daemon. */
void md_demand_clear(void);
/** Nobody waits for the name until @a seconds are over. */
void md_demand_refuse(const char *name, int seconds);
/** 1: it is refused at present. Threads: any */
int md_demand_is_refused(const char *name);

/* ---- md_demand_ask.c ---- */

/** Folders and expressions. Threads: the daemon. @return 1: the name is the host's; 0: it is not */
int md_demand_allows(const md_demand *demand, const char *name, apr_pool_t *p);
/** Asks a URL. Threads: a job. Blocking: for seconds */
int md_demand_allows_url(const md_demand *demand, const char *name, apr_pool_t *p);
/** One of both. As md_demand_allows_url() */
int md_demand_allows_still(const md_demand *demand, const char *name, apr_pool_t *p);

/* ---- md_demand_daemon.c; threads: the daemon ---- */

void md_demand_daemon_begin(md_daemon *d);
/** Take the requests. */
void md_demand_daemon_look(md_daemon *d);
/** A job of a name has ended. @param status  of waitpid() */
void md_demand_daemon_over(md_daemon *d, daemon_domain *dd, int status);

#endif
