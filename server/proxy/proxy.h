/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PROXY_H
#define BRIGADE_PROXY_PROXY_H

/**
 * @file proxy.h
 * Configuration and policy of the built-in mod_proxy: workers (a backend and its
 * protocol), balancers (groups of workers), targets (destinations of requests), and reports on
 * backends. No sockets: the room client has them.
 *
 * A request goes this way: proxy_resolve(), then for each try proxy_choose(), proxy_sent() and one of proxy_answered()
 * and proxy_failed(), at last proxy_release().
 *
 * The configuration lies in pconf and is read only once post_config is over. proxy_state and
 * balancer_state lie in kept memory: all server processes share them, and they survive reload and
 * upgrade. Threads: any, if nothing else is said. Nothing here blocks or locks.
 */
#include "httpd.h"
#include <stdio.h>
#include "http_config.h"
#include "apr_network_io.h"
#include <stdatomic.h>
#include <stdint.h>

/** In r->notes: a backend that fails is told by a status in any case. Without it a client of a connection that has had answers gets none
 * where its backend closes without an answer, so that it asks again. */
#define PROXY_ANSWERS_FAILURES "brigade-proxy-answers-failures"

/* ---- schemes ---- */

typedef enum proxy_scheme {
    PROXY_SCHEME_NONE, /**< of no module that is built in */
    PROXY_SCHEME_HTTP,
    PROXY_SCHEME_HTTPS,
    PROXY_SCHEME_H2,  /**< HTTP/2 over TLS */
    PROXY_SCHEME_H2C, /**< HTTP/2 in clear, known before */
    PROXY_SCHEME_WS,  /**< as HTTP, Upgrade: websocket passes */
    PROXY_SCHEME_WSS,
    PROXY_SCHEME_FCGI,
    PROXY_SCHEME_SCGI,
    PROXY_SCHEME_UWSGI,
    PROXY_SCHEME_CONNECT, /**< a tunnel to authority, for the forward proxy */
    PROXY_SCHEME_BALANCER
} proxy_scheme;

/** @param len  of @a name, which may be followed by anything; letters of either case */
proxy_scheme proxy_scheme_of(const char *name, apr_size_t len);

/** 0: the scheme has no port of its own. */
apr_port_t proxy_scheme_port(proxy_scheme scheme);

/** 1: the backend is spoken to over TLS. */
int proxy_scheme_is_tls(proxy_scheme scheme);

/* ---- workers ---- */

/** Bits of proxy_params.set: the configuration names this parameter. */
typedef enum proxy_param {
    PROXY_PARAM_MIN = 1u << 0,
    PROXY_PARAM_MAX = 1u << 1,
    PROXY_PARAM_SMAX = 1u << 2,
    PROXY_PARAM_TTL = 1u << 3,
    PROXY_PARAM_ACQUIRE = 1u << 4,
    PROXY_PARAM_TIMEOUT = 1u << 5,
    PROXY_PARAM_CONNECT_TIMEOUT = 1u << 6,
    PROXY_PARAM_IO_BUFFER = 1u << 7,
    PROXY_PARAM_RECEIVE_BUFFER = 1u << 8,
    PROXY_PARAM_KEEPALIVE = 1u << 9,
    PROXY_PARAM_REUSE = 1u << 10, /**< disablereuse or enablereuse */
    PROXY_PARAM_FLUSH = 1u << 11,
    PROXY_PARAM_PING = 1u << 12,
    PROXY_PARAM_RETRY = 1u << 13,
    PROXY_PARAM_UPGRADE = 1u << 14,
    PROXY_PARAM_FIELD_SIZE = 1u << 15,
    PROXY_PARAM_SECRET = 1u << 16,
    PROXY_PARAM_ADDRESS_TTL = 1u << 17,
    PROXY_PARAM_LBSET = 1u << 18,
    PROXY_PARAM_LOADFACTOR = 1u << 19,
    PROXY_PARAM_ROUTE = 1u << 20,
    PROXY_PARAM_REDIRECT = 1u << 21,
    PROXY_PARAM_STATUS = 1u << 22,
    PROXY_PARAM_FLUSH_WAIT = 1u << 23
} proxy_param;

/** As configured and shown. All are served alike: a piece is sent on as soon as nothing more of the answer is here. */
typedef enum proxy_flush { PROXY_FLUSH_OFF, PROXY_FLUSH_ON, PROXY_FLUSH_AUTO } proxy_flush;

typedef enum proxy_check {
    PROXY_CHECK_NONE,
    PROXY_CHECK_TCP,
    PROXY_CHECK_OPTIONS,
    PROXY_CHECK_HEAD,
    PROXY_CHECK_GET,
    PROXY_CHECK_OPTIONS11, /**< as before, with HTTP/1.1 */
    PROXY_CHECK_HEAD11,
    PROXY_CHECK_GET11
} proxy_check;

/** Parameters of a worker. Times are in microseconds. A parameter that is not in @a set has its
 * default. */
typedef struct proxy_params {
    uint32_t set; /**< proxy_param */
    int min, smax;
    int max;                     /**< connections, over all processes; 0: no limit is named */
    apr_interval_time_t ttl;     /**< an idle connection is not used later than this; 0: no limit */
    apr_interval_time_t acquire; /**< for a connection while max are busy; 0: not named */
    apr_interval_time_t timeout; /**< of reads and writes; see proxy_timeout() */
    apr_interval_time_t connect_timeout; /**< see proxy_connect_timeout() */
    apr_interval_time_t ping;  /**< 100-continue, or PING of HTTP/2, has to come in this time */
    apr_interval_time_t retry; /**< an error lasts so long */
    apr_interval_time_t flush_wait;
    apr_interval_time_t address_ttl; /**< 0: not named; -1: for ever */
    apr_size_t io_buffer, receive_buffer, field_size;
    proxy_flush flush;
    unsigned keepalive : 1; /**< SO_KEEPALIVE */
    unsigned
        no_reuse : 1; /**< connections are closed after each request; the default of FastCGI, SCGI, uwsgi */
    const char *upgrade; /**< "*" (any), "NONE", or the protocol; NULL: not named */
    const char *secret;  /**< of AJP; accepted, without use here */
    const char *flusher; /**< as configured; the provider of other modules, without use here */
    /** as configured; the state has the current values. loadfactor in hundredths */
    int lbset, loadfactor;
    uint32_t status;      /**< as configured, PROXY_STATUS_* */
    const char *route;    /**< as configured; "" */
    const char *redirect; /**< as configured; "" */
    proxy_check check;    /**< hcmethod */
    apr_interval_time_t check_interval;
    int check_passes, check_fails;
    const char *check_uri;  /**< "" */
    const char *check_expr; /**< name of ProxyHCExpr; "" */
    /** slowstart=: so long after an error its share grows; 0: at once */
    apr_interval_time_t slow_start;
    int eject; /**< eject=: failures in a row that take it out; 0: never */
} proxy_params;

/* Bits of a worker's status, as Apache's. */
#define PROXY_STATUS_INITIALIZED 0x0001u
#define PROXY_STATUS_IGNORE_ERRORS 0x0002u
#define PROXY_STATUS_DRAIN 0x0004u
#define PROXY_STATUS_GENERIC 0x0008u
#define PROXY_STATUS_IN_SHUTDOWN 0x0010u
#define PROXY_STATUS_DISABLED 0x0020u
#define PROXY_STATUS_STOPPED 0x0040u
#define PROXY_STATUS_IN_ERROR 0x0080u
#define PROXY_STATUS_HOT_STANDBY 0x0100u
#define PROXY_STATUS_FREE 0x0200u
#define PROXY_STATUS_CHECK_FAILED 0x0400u
#define PROXY_STATUS_HOT_SPARE 0x0800u
#define PROXY_STATUS_UNUSABLE                                                  \
    (PROXY_STATUS_IN_SHUTDOWN | PROXY_STATUS_DISABLED | PROXY_STATUS_STOPPED | \
     PROXY_STATUS_IN_ERROR | PROXY_STATUS_CHECK_FAILED)

#define PROXY_URL_SIZE 256  /**< bytes of a URL that is added, NUL included */
#define PROXY_ROUTE_SIZE 64 /**< bytes of a route, NUL included */

/** How a health check ended. */
typedef enum proxy_check_end {
    PROXY_CHECK_WELL,
    PROXY_CHECK_CONNECT, /**< no connection: the code is an apr_status_t, 0 where it is too large */
    PROXY_CHECK_TIME,    /**< no answer, or none that ends, in time */
    PROXY_CHECK_CLOSED,  /**< closed before an answer */
    PROXY_CHECK_HEAD_BAD, /**< the bytes are no head of HTTP */
    PROXY_CHECK_STATUS,   /**< the status of the answer */
    PROXY_CHECK_CONDITION /**< hcexpr= */
} proxy_check_end;

#define PROXY_CHECKS_KEPT 8

/** A health check that was made. */
typedef struct proxy_check_made {
    _Atomic int64_t at;       /**< when it ended: microseconds since the epoch; 0: none */
    _Atomic uint32_t took_us; /**< at most UINT32_MAX */
    _Atomic uint32_t end; /**< proxy_check_end << 16 | code of the answer, or error; 0: none came */
} proxy_check_made;

/** The state of a worker that all processes share. Read and written by single atomic operations. */
typedef struct proxy_state {
    _Atomic uint64_t key; /**< hash of the worker's identity; 0: the place is free */
    _Atomic uint32_t status;
    _Atomic int32_t lbstatus, lbfactor, lbset;
    _Atomic int32_t retries;
    _Atomic int32_t failures;       /**< in a row */
    _Atomic int32_t passed, failed; /**< health checks in a row */
    _Atomic int64_t error_at;       /**< microseconds since the epoch; 0: never */
    _Atomic int64_t usable_at;      /**< when it came back last; 0: it was never away */
    _Atomic int64_t check_at;       /**< when it was checked last */
    _Atomic uint32_t checks_n;      /**< in all; the last ones are in a ring */
    proxy_check_made check[PROXY_CHECKS_KEPT];
    _Atomic int64_t busy; /**< requests that were chosen for it and are not released */
    _Atomic uint64_t elected, written, read; /**< requests; bytes of bodies to and from it */
    _Atomic uint64_t answers[5];             /**< by class of status, from 1xx */
    _Atomic uint64_t refused, timeouts, broken, retried;
    _Atomic uint64_t waited_us, waited_n; /**< until the answer's head */
    _Atomic uint32_t names;               /**< odd while route and redirect are written */
    _Atomic uint32_t configured;          /**< hash of the configured values of the fields above */
    _Atomic uint32_t spare;               /**< of a member that may be added: proxy_growth.c */
    char url[PROXY_URL_SIZE];             /**< and its URL */
    char route[PROXY_ROUTE_SIZE], redirect[PROXY_ROUTE_SIZE]; /**< see proxy_route() */
} proxy_state;

typedef struct proxy_balancer proxy_balancer;

/** A backend, or the worker for all targets that have none (PROXY_STATUS_GENERIC). */
typedef struct proxy_worker {
    /** as in the configuration, without the Unix socket: "http://app:8080/path" */
    const char *name;
    proxy_scheme scheme;
    const char *scheme_name;
    /** without brackets of IPv6; "localhost" with a socket where none is named */
    const char *host;
    apr_port_t port;       /**< 0: the scheme has none and none is named (with a Unix socket) */
    const char *socket;    /**< path of the Unix socket; NULL */
    const char *prefix;    /**< path, "" or from '/' on */
    const char *authority; /**< for Host: host, and port if it is not the scheme's */
    proxy_params params;
    proxy_state *state;
    proxy_balancer *balancer; /**< NULL: of none */
    int number;               /**< from 0, of all workers of all servers: proxy_worker_get() */
    unsigned
        generic : 1; /**< "proxy:forward" and "proxy:reverse": addresses come from the target, no reuse */
    unsigned
        prefix_match : 1; /**< its name is a pattern of ProxyPassMatch: only its beginning is fixed */
    server_rec *server;   /**< where it was defined */
    /** of <Proxy URL>: settings of TLS (SSLProxy*); NULL: those of the request's server */
    ap_conf_vector_t *section;
    void *origin;             /**< of the room client, set after post_config; NULL before */
    _Atomic uint8_t says_100; /**< this process has had a 100 of it */
    /** this process's counts; NULL: before child_init, in tests */
    struct proxy_gauges *gauges;
} proxy_worker;

/** Workers of all servers, generic ones included, once post_config is over; members that balancer-manager may add are
 * counted from the beginning. */
int proxy_workers(void);
proxy_worker *proxy_worker_get(int number);

/** Of a target without an own timeout: the worker's, else ProxyTimeout, else Timeout. Microseconds. */
apr_interval_time_t proxy_timeout(const proxy_worker *worker, const server_rec *s);
apr_interval_time_t proxy_connect_timeout(const proxy_worker *worker, const server_rec *s);

/** Route as it holds now. @return @a to */
const char *proxy_route(const proxy_worker *worker, char to[PROXY_ROUTE_SIZE]);

/** 1: @a protocol of an Upgrade field may pass to this worker (upgrade=, ws:, wss:). */
int proxy_may_upgrade(const request_rec *r, const proxy_worker *worker, const char *protocol);

/* ---- targets ---- */

/** ProxyRemote: another proxy on the way. */
typedef struct proxy_remote {
    const char *host;
    apr_port_t port;
    const char *scheme;      /**< "http" or "https": how it is spoken to */
    const char *credentials; /**< for Proxy-Authorization: Basic, encoded; NULL */
} proxy_remote;

/** Where a request goes. Lives in r->pool. */
typedef struct proxy_target {
    proxy_balancer *balancer; /**< NULL: none */
    proxy_worker *worker;     /**< NULL until proxy_choose(), with a balancer */
    proxy_scheme scheme;      /**< of the worker that was chosen */
    const char *scheme_name;
    const char *host;      /**< to connect to, without brackets */
    apr_port_t port;       /**< to connect to */
    const char *authority; /**< for Host, ":authority": host, and port if it is not the scheme's */
    const char *path;      /**< to send, from '/' on, query included; CONNECT: the authority */
    /** Unix socket to connect to; NULL. It need not be the worker's: a worker without a socket has
     * the parameters of all targets of its name (SetHandler proxy:unix:...) */
    const char *socket;
    const char *url; /**< all of it, canonical, the socket left out */
    /** proxies to go by, the first that is reached; remotes_n of them */
    const proxy_remote *remotes;
    int remotes_n;
    unsigned path_at;               /**< bytes of url before its path; 0: they were not counted */
    struct upstream_origin *origin; /**< of the handler's URL, that the loop keeps; NULL */
    unsigned dynamic : 1;           /**< it has no worker of its own: its connection is not kept */
    unsigned forward : 1;           /**< r->proxyreq is PROXYREQ_PROXY */
    unsigned chosen : 1;            /**< proxy_choose() counted it as busy */
    unsigned
        quiet : 1; /**< where no member may be asked the log does not hear it: one is waited for */
    unsigned no_failover : 1; /**< of a session: other members must not take it */
    proxy_worker **tried;     /**< failed ones, tried_n of them */
    int tried_n;
} proxy_target;

/**
 * The target of a request whose handler is "proxy-server" or begins with "proxy:", or whose r->filename begins with
 * "proxy:". The configuration, [P] of mod_rewrite and SetHandler lead here.
 * @param to  [out]
 * @return OK; DECLINED: the request is not the proxy's; or an HTTP status, of which the log has a line
 */
int proxy_resolve(request_rec *r, proxy_target **to);

/**
 * Choose a worker for the next try, and count it as busy. Sets the environment (BALANCER_*) as Apache does.
 * @param attempt  from 0
 * @return OK: the target's worker, host, port, path, url are set; or 503, of which the log has a line
 */
int proxy_choose(request_rec *r, proxy_target *target, int attempt);

/** 1: after @a attempt failed (from 0), another proxy_choose() may be made: the balancer allows it and has another
 * member. Whether the request may be sent twice is for the caller to know. */
int proxy_may_retry(const request_rec *r, const proxy_target *target, int attempt);

typedef enum proxy_failure {
    PROXY_FAILED_RESOLVE, /**< its name has no address */
    PROXY_FAILED_CONNECT, /**< refused, unreachable, no answer in time */
    PROXY_FAILED_SHAKE,   /**< connected, but TLS failed: no other is asked, as with Apache */
    PROXY_FAILED_TIMEOUT, /**< connected, but nothing came in time */
    PROXY_FAILED_BROKEN,  /**< closed too early, or a malformed answer */
    PROXY_FAILED_BUSY     /**< no connection was free in time (acquire): no fault of its */
} proxy_failure;

/** The worker gave no answer. Decides whether it is in error from now on, and logs that. */
void proxy_failed(request_rec *r, proxy_target *target, proxy_failure why);

/**
 * The answer's head is here.
 * @param waited  microseconds since proxy_choose(); negative: not measured
 */
void proxy_answered(request_rec *r, proxy_target *target, int status, apr_interval_time_t waited);

/** The try is over: give the worker back. @param written, read  bytes sent to it and received from
 * it */
void proxy_release(request_rec *r, proxy_target *target, apr_off_t written, apr_off_t read);

/** The next health check of the worker gave this. Status and counts are changed as hcpasses and hcfails say. */
void proxy_checked(proxy_worker *worker, int ok, apr_time_t now);

/* ---- answers ---- */

enum { PROXY_REVERSES_URLS, PROXY_REVERSES_PATHS, PROXY_REVERSES_DOMAINS, PROXY_REVERSALS };

/** ProxyPassReverse, and its forms for cookies, as they hold for a request. */
typedef struct proxy_reversal {
    const struct proxy_server_conf *conf;
    const char *base;                                /**< scheme and host of this server */
    const apr_array_header_t *list[PROXY_REVERSALS]; /**< of proxy_reverse */
} proxy_reversal;

/** Lives as long as @a r. */
proxy_reversal proxy_reversal_of(request_rec *r);

/** Move it to @a at, where there is room for proxy_reversal_bytes(), aligned as for malloc(). */
size_t proxy_reversal_bytes(const proxy_reversal *v);
void proxy_reversal_copy(proxy_reversal *v, void *at);

/** ProxyPassReverse: a value of Location, Content-Location, URI or Destination as the client has to see it.
 * @return @a value, or another one in @a p */
const char *proxy_reverse_url(const proxy_reversal *v, apr_pool_t *p, const char *value);

/** ProxyPassReverseCookieDomain, ProxyPassReverseCookiePath: as above, for Set-Cookie. */
const char *proxy_reverse_cookie(const proxy_reversal *v, apr_pool_t *p, const char *value);

/** 1: ProxyErrorOverride puts the server's own page in place of this answer. */
int proxy_overrides(const request_rec *r, int status);

/* ---- forward proxy ---- */

/** Give the reason to the error page (for 502 and the like) and to the log. @return @a status */
int proxy_error(request_rec *r, int status, const char *reason);

/* ---- doubts about a configuration ---- */

/** ProxyPass, ProxyPassMatch or RewriteRule [P] to a URL that ends with its host, so that requests can continue that.
 * @return a sentence in @a p; NULL: @a d is no such line. Threads: main. */
const char *proxy_line_doubt(apr_pool_t *p, const ap_directive_t *d);

/* ---- the handler ---- */

/** Handler of all that proxy_resolve() takes. The file proxy_handler.c has it. */
int proxy_handler(request_rec *r);

/** For `--explain`: print the worker, or the balancer with its members, that @a url belongs to. */
void proxy_explain(FILE *out, const server_rec *s, const char *url);

/** 1: <IfModule NAME> holds since the settings of PHP in it are for PHP-FPM: a name of mod_php's, with PHPDirectives On. */
int proxy_php_is_module(const char *name);

/** Why PHP-FPM does not get a line of php_value or its kin; NULL: it does, or the line is of
 * another module. */
const char *proxy_php_doubt(apr_pool_t *p, const ap_directive_t *line);
/** The same where PHP runs within the server now: PHP-FPM would have it in its place. */
const char *proxy_php_doubt_of_fpm(apr_pool_t *p, const ap_directive_t *line);
/** 1: a module of PHP is loaded. */
int proxy_php_is_inside(void);

#endif
