/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STATUS_H
#define BRIGADE_STATUS_H

/**
 * @file brigade/status.h The present state of the server, for status pages. Figures are read while
 * others write them: each is right by itself, but two of them need not be of the same instant.
 * Threads: any. Blocking: no.
 */
#include "httpd.h"
#include "scoreboard.h"
#include "apr_optional.h"
#include "brigade/declare.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counters of one event loop, of one process or of the whole server. */
typedef struct brg_status_counts {
    uint64_t accesses;    /**< requests that ended */
    uint64_t bytes;       /**< bytes sent in responses, heads included */
    uint64_t accepted;    /**< connections accepted */
    uint64_t connections; /**< open now */
    uint64_t reading;     /**< of these: a request head is arriving */
    uint64_t writing;     /**< of these: output waits for the socket */
    uint64_t keepalive;   /**< of these: idle between two requests */
    uint64_t lingering;   /**< of these: closing */
    uint64_t busy;        /**< of these: a worker runs a request */
    uint64_t duration_us; /**< how long requests took, in all */
    uint64_t turns;       /**< turns of the loop */
    uint64_t http2;       /**< of the connections: they speak HTTP/2 on the event loops */
    uint64_t streams;     /**< open streams of these */
} brg_status_counts;

/** One server process. */
typedef struct brg_status_process {
    int slot; /**< its number; ap_get_scoreboard_worker_from_indexes takes it */
    pid_t pid;
    ap_generation_t generation;
    int quiescing; /**< ends when its connections have */
    int loops_n;   /**< event loops; their worker_score entries come first */
    int threads_n; /**< loops and workers: worker_score entries */
    brg_status_counts counts;
} brg_status_process;

typedef struct brg_status_totals {
    /** when the running configuration was read; microseconds since the epoch */
    apr_time_t restart_time;
    apr_time_t start_time; /**< when the server was started */
    ap_generation_t config_generation, mpm_generation;
    int processes_n;          /**< alive */
    int stopping_n;           /**< of these: quiescing */
    int workers_busy_n;       /**< worker threads that run a request */
    int workers_idle_n;       /**< worker threads that could be used, started or not */
    brg_status_counts counts; /**< of all processes since the start, ended ones included */
    uint64_t log_lines_lost;  /**< lines of logs that could not be written, since the start */
} brg_status_totals;

/** 1 once the server was asked to end gracefully: it serves on for GracefulDrainDelay, and load balancers shall send no
 * further requests. */
BRG_DECLARE(int) brg_status_is_draining(void);

/** Sum everything up. @return 0, or -1 when there is no scoreboard */
BRG_DECLARE(int) brg_status_sum(brg_status_totals *out);

/**
 * Look at one process.
 * @param slot  from 0
 * @return 1: @a out is filled; 0: nobody lives in this slot; -1: there are no more slots
 */
BRG_DECLARE(int) brg_status_process_get(int slot, brg_status_process *out);

/** Count lines of an access log that are lost, for brg_status_totals. */
BRG_DECLARE(void) brg_status_log_lines_lost(uint64_t lines);

/** Look at one event loop of a living process. @return 1, or 0: no such loop */
BRG_DECLARE(int) brg_status_loop_get(int slot, int loop, brg_status_counts *out);

/** A connection of HTTP/2 on the event loops (ExtendedStatus On). */
typedef struct brg_status_http2 {
    char client[48];  /**< address; "": not known */
    apr_time_t since; /**< when it began; microseconds since the epoch */
    int tls;
    uint64_t open;    /**< streams that are open */
    uint64_t streams; /**< streams that there were, in all */
} brg_status_http2;

/**
 * Look at one of those connections of a loop that are told one by one: some tens; brg_status_counts.http2 has how many
 * there are.
 * @param n  from 0
 * @return 1: @a out is filled; 0: nobody is here; -1: nor behind it
 */
BRG_DECLARE(int) brg_status_http2_get(int slot, int loop, int n, brg_status_http2 *out);

/** A certificate that the built-in ssl module serves. */
typedef struct brg_status_certificate {
    const char *server;   /**< of which virtual host: name and port */
    const char *file;     /**< where it was read */
    const char *names;    /**< host names, with a space between them */
    const char *issuer;   /**< common name of its issuer */
    const char *key_type; /**< "RSA", "EC", ... */
    apr_time_t from;      /**< valid from; microseconds since the epoch */
    apr_time_t until;     /**< valid to */
    apr_time_t since;     /**< served since the server started, or since it was exchanged */
} brg_status_certificate;

/**
 * Optional function of the built-in ssl module: look at one certificate.
 * @param n  from 0
 * @param p  for the strings of @a out
 * @return 1: @a out is filled; 0: this one cannot be read; -1: there are no more
 */
APR_DECLARE_OPTIONAL_FN(int, brg_status_certificate_get,
                        (int n, apr_pool_t *p, brg_status_certificate *out));

/** A backend of the built-in proxy. Counters go on over reloads and upgrades. */
typedef struct brg_status_backend {
    /** as configured: "http://app:8080", "unix:/run/php.sock|fcgi://localhost" */
    const char *name;
    const char *balancer; /**< that it is a member of; "" */
    const char *server;   /**< the virtual host that has it; "" */
    /** "ok", "error", "check failed", "drain", "disabled", "stopped", "standby", "spare"; outside
     * of balancers "failing", too: it did not answer the last request */
    const char *state;
    int up;                    /**< requests may go to it; 0 as well while it is failing */
    int64_t in_flight;         /**< requests that it has now, of all processes */
    int64_t connections, idle; /**< open now, and those of them that no request has */
    int64_t queue;             /**< requests that wait for a connection */
    uint64_t answers[5];       /**< by class of status, from 1xx */
    uint64_t retries;          /**< requests that came to it since another backend failed */
    uint64_t refused;          /**< no address, no connection, no handshake */
    uint64_t timeouts, broken; /**< no answer in time; an answer that ended early, or was none */
    uint64_t sent, received;   /**< bytes to it and from it */
    /** until heads of answers, microseconds in all, and how many these were */
    uint64_t waited_us, waited_n;
} brg_status_backend;

/**
 * Optional function of the built-in proxy_module: look at one backend.
 * @param n  from 0
 * @param p  for the strings of @a out
 * @return 1: @a out is filled; 0: this one is not in use; -1: there are no more
 */
APR_DECLARE_OPTIONAL_FN(int, brg_status_backend_get,
                        (int n, apr_pool_t *p, brg_status_backend *out));

/** Requests of the built-in cache_module, and its stored objects. All processes together. Counters
 * go on over reloads and upgrades. */
typedef struct brg_status_cache {
    uint64_t hits;        /**< answered with a stored object, and fresh */
    uint64_t stale;       /**< answered with a stored object, and stale */
    uint64_t revalidated; /**< answered with a stored object, which the backend confirmed */
    uint64_t collapsed;   /**< answered with the fetch of another request */
    uint64_t misses;      /**< fetched, and stored */
    uint64_t passed;      /**< fetched, and not stored */
    uint64_t invalidated; /**< unsafe requests that invalidated objects of their targets */
    uint64_t objects, bytes, bytes_most;       /**< in memory now; CacheMemory */
    uint64_t fetches;                          /**< for which others may wait, now */
    uint64_t stored, evicted, refused, purges; /**< refused: there was no room */
    uint64_t disk_bytes_most;                  /**< CacheMaxSize; 0: there is no tier on disk */
    uint64_t disk_written, disk_damaged, disk_failed; /**< bytes; records; reads and writes */
    uint64_t objects_most;                            /**< in memory, at most: CacheMaxObjects */
    /** of the tier that machines share (CacheSocache): answers asked for, found, written */
    uint64_t tier_lookups, tier_hits, tier_stored;
    uint64_t tier_failed;    /**< calls that it did not answer, or not in time */
    uint64_t tier_waited_us; /**< microseconds that calls took */
    uint64_t held;           /**< stored answers that are looked at, written or sent, now */
} brg_status_cache;

/** Optional function of the built-in cache_module. @return 1: @a out is filled; 0: nothing is stored by this configuration */
APR_DECLARE_OPTIONAL_FN(int, brg_status_cache_get, (brg_status_cache * out));

/** A source of networks (ASTable). Each number is right by itself. */
typedef struct brg_status_network_source {
    const char *name;    /**< "file /etc/networks.txt", "bgp 192.0.2.1" */
    const char *state;   /**< of a session as RFC 4271 names it; "read" or "not read" of a file */
    const char *trouble; /**< why the last session or attempt ended; "" */
    int up;              /**< the session is established, or the file was read */
    uint32_t routes[2];  /**< of IPv4, of IPv6 */
    uint64_t times;      /**< sessions that were established, or files that were read */
    uint64_t updates;    /**< messages UPDATE that came */
    uint64_t faulty;     /**< of these: taken for withdrawals, since they had mistakes */
    apr_time_t since;    /**< of the state; 0: never */
    apr_time_t last_update; /**< of the routes; 0: never */
} brg_status_network_source;

/**
 * Optional function of asn_module: look at one source.
 * @param n  from 0
 * @param p  for the strings of @a out
 * @return 1: @a out is filled; 0: there are no more
 */
APR_DECLARE_OPTIONAL_FN(int, brg_status_network_source_get,
                        (int n, apr_pool_t *p, brg_status_network_source *out));

/** A network of which clients were looked up often. */
typedef struct brg_status_network_busy {
    uint32_t asn;
    /** about how many look-ups lately; half of them are forgotten in ten minutes */
    uint64_t count;
} brg_status_network_busy;

#define BRG_STATUS_NETWORKS_BUSY 24 /**< networks at most that are told */

/**
 * Optional function of asn_module: how often clients were looked up.
 * @param lookups  [out] all, since the server was started or has other sources
 * @param busy     the busiest networks, those first of which most clients were looked up
 * @return how many of these
 */
APR_DECLARE_OPTIONAL_FN(int, brg_status_network_lookups,
                        (uint64_t * lookups,
                         brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY]));

/** Optional function of asn_module: bytes of the table of networks. */
APR_DECLARE_OPTIONAL_FN(apr_size_t, brg_status_network_table_bytes, (void));

/**
 * The letter by which Apache's status page shows a worker_score's status: "_SRWKDCLGI." in its
 * order.
 */
BRG_DECLARE(char) brg_status_letter(int status);

/** A limit of RequestLimit, and the requests that it held back since the server started. */
typedef struct brg_status_limit {
    const char *name;
    const char *server;  /**< of which virtual host; "": of the main server */
    const char *section; /**< where it stands; "": in no section */
    int dry_run;         /**< it only counts */
    uint64_t refused;
    uint64_t delayed;
    uint64_t closed; /**< connections closed without an answer */
    uint64_t dry;    /**< dry runs of these */
} brg_status_limit;

#define BRG_STATUS_LIMIT_KEYS 24 /**< busiest keys that are told */

/** A key of a limit that is asked for often. Texts as long as the pool that was given. */
typedef struct brg_status_limit_key {
    const char *limit; /**< its name */
    const char *key;   /**< an address, a user, ...: no quotes and control characters are in it */
    uint64_t asked;    /**< about how often lately; half of it is forgotten in ten minutes */
    uint64_t refused;  /**< of these: held back */
} brg_status_limit_key;

/** Optional functions of mod_limit. Threads: any. Blocking: no. */
/** The @a n th limit, from 0. @return 1; 0: there are no more */
APR_DECLARE_OPTIONAL_FN(int, brg_status_limit_get, (int n, brg_status_limit *out));
/** The busiest keys, the busiest first. @param out  room for BRG_STATUS_LIMIT_KEYS @return how many */
APR_DECLARE_OPTIONAL_FN(int, brg_status_limit_keys, (brg_status_limit_key * out, apr_pool_t *p));
/** Keys that lost their place while they still counted, and requests in flight that got none (RequestLimitKeys). */
APR_DECLARE_OPTIONAL_FN(void, brg_status_limit_memory, (uint64_t * displaced, uint64_t *unkept));

#ifdef __cplusplus
}
#endif
#endif
