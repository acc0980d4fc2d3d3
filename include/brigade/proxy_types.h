/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_TYPES_H
#define BRIGADE_PROXY_TYPES_H

/**
 * @file brigade/proxy_types.h
 * Constants and records of the proxy framework. Part of mod_proxy.h.
 */
#include "apr_network_io.h"
#include "apr_pools.h"
#include "apr_reslist.h"
#include "apr_uuid.h"
#include "apr_global_mutex.h"
#include "apr_thread_mutex.h"
#include "httpd.h"
#include "http_config.h"
#include "ap_slotmem.h"
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How functions and data of mod_proxy are declared. */
#define PROXY_DECLARE(type) AP_DECLARE(type)
#define PROXY_DECLARE_NONSTD(type) AP_DECLARE(type)
#define PROXY_DECLARE_DATA AP_DECLARE_DATA
#define PROXY_DECLARE_OPTIONAL_HOOK APR_DECLARE_EXTERNAL_HOOK

/* ---- Constants ----------------------------------------------------------------------------------------- */

/** Part of a URL that is encoded. */
enum enctype { enc_path, enc_search, enc_user, enc_fpath, enc_parm };

/* Flags of ap_proxy_canonenc_ex(). */
#define PROXY_CANONENC_FORCEDEC 0x01
#define PROXY_CANONENC_NOENCODEDSLASHENCODING 0x02

/** How a backend's health is checked. */
typedef enum {
    NONE,
    TCP,
    OPTIONS,
    HEAD,
    GET,
    CPING,
    PROVIDER,
    OPTIONS11,
    HEAD11,
    GET11,
    EOT
} hcmethod_t;

typedef struct {
    hcmethod_t method;
    char *name;
    int implemented;
} proxy_hcmethods_t;

/** A bit of a worker's status, its letter and name. */
typedef struct {
    unsigned int bit;
    char flag;
    const char *name;
} proxy_wstat_t;

/** Begin of a balancer's URL; Max-Forwards where a request has none. */
#define BALANCER_PREFIX "balancer://"
#define DEFAULT_MAX_FORWARDS -1

/* Flags of ProxyPass. */
#define PROXYPASS_NOCANON 0x01
#define PROXYPASS_INTERPOLATE 0x02
#define PROXYPASS_NOQUERY 0x04
#define PROXYPASS_MAP_ENCODED 0x08
#define PROXYPASS_MAP_SERVLET 0x18

/* Sizes of strings in shared memory, with their NUL. */
#define PROXY_WORKER_MAX_SCHEME_SIZE 16
#define PROXY_WORKER_MAX_ROUTE_SIZE 64
#define PROXY_BALANCER_MAX_ROUTE_SIZE PROXY_WORKER_MAX_ROUTE_SIZE
#define PROXY_WORKER_MAX_NAME_SIZE 96
#define PROXY_BALANCER_MAX_NAME_SIZE PROXY_WORKER_MAX_NAME_SIZE
#define PROXY_WORKER_MAX_HOSTNAME_SIZE 64
#define PROXY_BALANCER_MAX_HOSTNAME_SIZE PROXY_WORKER_MAX_HOSTNAME_SIZE
#define PROXY_BALANCER_MAX_STICKY_SIZE 64
#define PROXY_WORKER_MAX_SECRET_SIZE 64
#define PROXY_RFC1035_HOSTNAME_SIZE 256
#define PROXY_WORKER_EXT_NAME_SIZE 384
#define PROXY_WORKER_RFC1035_NAME_SIZE 512
#define PROXY_MAX_PROVIDER_NAME_SIZE 16

#define PROXY_WORKER_DEFAULT_RETRY 60 /**< seconds */
/** Defaults: seconds between health checks, seconds between looks at them, microseconds before a flush. */
#define HCHECK_WATHCHDOG_DEFAULT_INTERVAL (30)
#define HCHECK_WATHCHDOG_INTERVAL (2)
#define PROXY_FLUSH_WAIT 10000
#define PROXY_LBMETHOD "proxylbmethod" /**< provider group */
/** Most balancers that may be added while the server runs. */
#define PROXY_DYNAMIC_BALANCER_LIMIT 16

/* ---- Configuration ------------------------------------------------------------------------------------- */

typedef struct proxy_balancer proxy_balancer;
typedef struct proxy_worker proxy_worker;
typedef struct proxy_conn_pool proxy_conn_pool;
typedef struct proxy_balancer_method proxy_balancer_method;

/** ProxyRemote */
struct proxy_remote {
    const char *scheme;
    const char *protocol;
    const char *hostname;
    ap_regex_t *regexp;
    const char *creds;
    int use_regex;
    apr_port_t port;
};

/** ProxyPass and ProxyPassReverse */
struct proxy_alias {
    const char *real;
    const char *fake;
    ap_regex_t *regex;
    unsigned int flags;
    proxy_balancer *balancer;
};

/** NoProxy */
struct dirconn_entry {
    char *name;
    struct in_addr addr, mask;
    struct apr_sockaddr_t *hostaddr;
    int (*matcher)(struct dirconn_entry *This, request_rec *r);
};

/** ProxyBlock */
struct noproxy_entry {
    const char *name;
    struct apr_sockaddr_t *addr;
};

/** Per server. */
typedef struct {
    apr_array_header_t *proxies;
    apr_array_header_t *sec_proxy;
    apr_array_header_t *aliases;
    apr_array_header_t *noproxies;
    apr_array_header_t *dirconn;
    apr_array_header_t *workers;
    apr_array_header_t *balancers;
    proxy_worker *forward;
    proxy_worker *reverse;
    const char *domain;
    const char *id;
    apr_pool_t *pool;
    int req;
    int max_balancers;
    int bgrowth;
    enum { via_off, via_on, via_block, via_full } viaopt;
    apr_size_t recv_buffer_size;
    apr_size_t io_buffer_size;
    long maxfwd;
    apr_interval_time_t timeout;
    enum { bad_error, bad_ignore, bad_body } badopt;
    enum { status_off, status_on, status_full } proxy_status;
    apr_sockaddr_t *source_address;
    apr_global_mutex_t *mutex;
    ap_slotmem_instance_t *bslot;
    ap_slotmem_provider_t *storage;

    unsigned int req_set : 1;
    unsigned int viaopt_set : 1;
    unsigned int recv_buffer_size_set : 1;
    unsigned int io_buffer_size_set : 1;
    unsigned int maxfwd_set : 1;
    unsigned int timeout_set : 1;
    unsigned int badopt_set : 1;
    unsigned int proxy_status_set : 1;
    unsigned int source_address_set : 1;
    unsigned int bgrowth_set : 1;
    unsigned int bal_persist : 1;
    unsigned int inherit : 1;
    unsigned int inherit_set : 1;
    unsigned int ppinherit : 1;
    unsigned int ppinherit_set : 1;
    unsigned int map_encoded_one : 1;
    unsigned int map_encoded_all : 1;
} proxy_server_conf;

/** Per directory. */
typedef struct {
    const char *p;
    ap_regex_t *r;
    apr_array_header_t *raliases;
    apr_array_header_t *cookie_paths;
    apr_array_header_t *cookie_domains;
    signed char p_is_fnmatch;
    signed char interpolate_env;
    struct proxy_alias *alias;

    unsigned int error_override : 1;
    unsigned int preserve_host : 1;
    unsigned int preserve_host_set : 1;
    unsigned int error_override_set : 1;
    unsigned int alias_set : 1;
    unsigned int add_forwarded_headers : 1;
    unsigned int add_forwarded_headers_set : 1;
    apr_array_header_t *refs;
    unsigned int forward_100_continue : 1;
    unsigned int forward_100_continue_set : 1;
    apr_array_header_t *error_override_codes;
} proxy_dir_conf;

/** Per request, where names are interpolated. */
typedef struct {
    apr_array_header_t *raliases;
    apr_array_header_t *cookie_paths;
    apr_array_header_t *cookie_domains;
} proxy_req_conf;

/* ---- Connections to backends --------------------------------------------------------------------------- */

struct proxy_address;

typedef struct {
    conn_rec *connection;
    request_rec *r;
    proxy_worker *worker;
    apr_pool_t *pool;
    const char *hostname;
    apr_sockaddr_t *addr;
    apr_pool_t *scpool; /**< of the socket */
    apr_socket_t *sock;
    void *data;
    void *forward;
    apr_uint32_t flags;
    apr_port_t port;
    unsigned int is_ssl : 1;
    unsigned int close : 1;
    unsigned int need_flush : 1;
    unsigned int inreslist : 1;
    const char *uds_path;
    const char *ssl_hostname;
    apr_bucket_brigade *tmp_bb;
    apr_pool_t *uds_pool;
    apr_pool_t *fwd_pool;
    struct proxy_address *address;
} proxy_conn_rec;

typedef struct {
    float cache_completion;
    int content_length;
} proxy_completion;

struct proxy_conn_pool {
    apr_pool_t *pool;
    apr_sockaddr_t *addr;
    apr_reslist_t *res;
    proxy_conn_rec *conn; /**< the only one, where there are no threads */
    apr_pool_t *dns_pool;
};

/* ---- Workers ------------------------------------------------------------------------------------------- */

/** Read or write @a x as if it were volatile. */
#define AP_VOLATILIZE_T(T, x) (*(T volatile *)&(x))

/* Status of a worker: bits, and the letters that stand for them. */
#define PROXY_WORKER_INITIALIZED 0x0001
#define PROXY_WORKER_IGNORE_ERRORS 0x0002
#define PROXY_WORKER_DRAIN 0x0004
#define PROXY_WORKER_GENERIC 0x0008
#define PROXY_WORKER_IN_SHUTDOWN 0x0010
#define PROXY_WORKER_DISABLED 0x0020
#define PROXY_WORKER_STOPPED 0x0040
#define PROXY_WORKER_IN_ERROR 0x0080
#define PROXY_WORKER_HOT_STANDBY 0x0100
#define PROXY_WORKER_FREE 0x0200
#define PROXY_WORKER_HC_FAIL 0x0400
#define PROXY_WORKER_HOT_SPARE 0x0800

/** Letters of a worker's status bits, as the balancer manager shows them. */
#define PROXY_WORKER_INITIALIZED_FLAG 'O'
#define PROXY_WORKER_IGNORE_ERRORS_FLAG 'I'
#define PROXY_WORKER_DRAIN_FLAG 'N'
#define PROXY_WORKER_GENERIC_FLAG 'G'
#define PROXY_WORKER_IN_SHUTDOWN_FLAG 'U'
#define PROXY_WORKER_DISABLED_FLAG 'D'
#define PROXY_WORKER_STOPPED_FLAG 'S'
#define PROXY_WORKER_IN_ERROR_FLAG 'E'
#define PROXY_WORKER_HOT_STANDBY_FLAG 'H'
#define PROXY_WORKER_FREE_FLAG 'F'
#define PROXY_WORKER_HC_FAIL_FLAG 'C'
#define PROXY_WORKER_HOT_SPARE_FLAG 'R'

/** Bits of which none may be set in a worker that gets requests. */
#define PROXY_WORKER_NOT_USABLE_BITMAP \
    (PROXY_WORKER_IN_SHUTDOWN | PROXY_WORKER_DISABLED | PROXY_WORKER_STOPPED | PROXY_WORKER_IN_ERROR \
     | PROXY_WORKER_HC_FAIL)

/** Questions about a worker's status. */
#define PROXY_WORKER_IS(f, b) ((f)->s->status & (b))
#define PROXY_WORKER_IS_INITIALIZED(f) PROXY_WORKER_IS(f, PROXY_WORKER_INITIALIZED)
#define PROXY_WORKER_IS_STANDBY(f) PROXY_WORKER_IS(f, PROXY_WORKER_HOT_STANDBY)
#define PROXY_WORKER_IS_SPARE(f) PROXY_WORKER_IS(f, PROXY_WORKER_HOT_SPARE)
#define PROXY_WORKER_IS_DRAINING(f) PROXY_WORKER_IS(f, PROXY_WORKER_DRAIN)
#define PROXY_WORKER_IS_GENERIC(f) PROXY_WORKER_IS(f, PROXY_WORKER_GENERIC)
#define PROXY_WORKER_IS_HCFAILED(f) PROXY_WORKER_IS(f, PROXY_WORKER_HC_FAIL)
#define PROXY_WORKER_IS_ERROR(f) PROXY_WORKER_IS(f, PROXY_WORKER_IN_ERROR)
#define PROXY_WORKER_IS_USABLE(f) \
    (!PROXY_WORKER_IS(f, PROXY_WORKER_NOT_USABLE_BITMAP) && PROXY_WORKER_IS_INITIALIZED(f))

/** Copy into a string of shared memory; APR_EGENERAL if it was cut. */
#define PROXY_STRNCPY(dst, src) ap_proxy_strncpy((dst), (src), (sizeof(dst)))

/** Settings that a worker takes from its server. */
#define PROXY_COPY_CONF_PARAMS(w, c) \
    do { \
        (w)->s->timeout = (c)->timeout; \
        (w)->s->timeout_set = (c)->timeout_set; \
        (w)->s->recv_buffer_size = (c)->recv_buffer_size; \
        (w)->s->recv_buffer_size_set = (c)->recv_buffer_size_set; \
        (w)->s->io_buffer_size = (c)->io_buffer_size; \
        (w)->s->io_buffer_size_set = (c)->io_buffer_size_set; \
    } while (0)

/* Ask a backend with Expect: 100-continue whether it is alive? */
#define PROXY_SHOULD_PING_100_CONTINUE(w, r) \
    ((w)->s->ping_timeout_set && (PROXYREQ_REVERSE == (r)->proxyreq) && ap_request_has_body((r)))
#define PROXY_DO_100_CONTINUE(w, r) \
    (PROXY_SHOULD_PING_100_CONTINUE(w, r) \
     && !apr_table_get((r)->subprocess_env, "force-proxy-request-1.0"))

/** Two hashes of a name. */
typedef struct {
    unsigned int def;
    unsigned int fnv;
} proxy_hashes;

/** The part of a worker that all processes share. */
typedef struct {
    char name[PROXY_WORKER_MAX_NAME_SIZE];
    char scheme[PROXY_WORKER_MAX_SCHEME_SIZE];
    char hostname[PROXY_WORKER_MAX_HOSTNAME_SIZE];
    char route[PROXY_WORKER_MAX_ROUTE_SIZE];
    char redirect[PROXY_WORKER_MAX_ROUTE_SIZE];
    char flusher[PROXY_WORKER_MAX_SCHEME_SIZE];
    char uds_path[PROXY_WORKER_MAX_NAME_SIZE];
    int lbset;
    int retries;
    int lbstatus;
    int lbfactor;
    int min; /**< connections, as the next two */
    int smax;
    int hmax;
    int flush_wait;
    int index;
    proxy_hashes hash;
    unsigned int status; /**< PROXY_WORKER_* */
    enum { flush_off, flush_on, flush_auto } flush_packets;
    apr_time_t updated;
    apr_time_t error_time;
    apr_interval_time_t ttl;
    apr_interval_time_t retry;
    apr_interval_time_t timeout;
    apr_interval_time_t acquire;
    apr_interval_time_t ping_timeout;
    apr_interval_time_t conn_timeout;
    apr_size_t recv_buffer_size;
    apr_size_t io_buffer_size;
    apr_size_t elected;
    apr_size_t busy;
    apr_port_t port;
    apr_off_t transferred;
    apr_off_t read;
    void *context;
    unsigned int keepalive : 1;
    unsigned int disablereuse : 1;
    unsigned int is_address_reusable : 1;
    unsigned int retry_set : 1;
    unsigned int timeout_set : 1;
    unsigned int acquire_set : 1;
    unsigned int ping_timeout_set : 1;
    unsigned int conn_timeout_set : 1;
    unsigned int recv_buffer_size_set : 1;
    unsigned int io_buffer_size_set : 1;
    unsigned int keepalive_set : 1;
    unsigned int disablereuse_set : 1;
    unsigned int was_malloced : 1;
    unsigned int is_name_matchable : 1;
    char hcuri[PROXY_WORKER_MAX_ROUTE_SIZE];
    char hcexpr[PROXY_WORKER_MAX_SCHEME_SIZE];
    int passes;
    int pcount;
    int fails;
    int fcount;
    hcmethod_t method;
    apr_interval_time_t interval;
    char upgrade[PROXY_WORKER_MAX_SCHEME_SIZE];
    char hostname_ex[PROXY_RFC1035_HOSTNAME_SIZE];
    apr_size_t response_field_size;
    unsigned int response_field_size_set : 1;
    char secret[PROXY_WORKER_MAX_SECRET_SIZE];
    char name_ex[PROXY_WORKER_EXT_NAME_SIZE];
    unsigned int address_ttl_set : 1;
    apr_int32_t address_ttl;
    apr_uint32_t address_expiry;
    unsigned int is_host_matchable : 1;
} proxy_worker_shared;
/** Bytes of a worker's entry in shared memory. */
#define ALIGNED_PROXY_WORKER_SHARED_SIZE (APR_ALIGN_DEFAULT(sizeof(proxy_worker_shared)))

/** A worker in this process. */
struct proxy_worker {
    proxy_hashes hash;
    unsigned int local_status;
    proxy_conn_pool *cp;
    proxy_worker_shared *s;
    proxy_balancer *balancer;
#if APR_HAS_THREADS
    apr_thread_mutex_t *tmutex;
#endif
    void *context;
    ap_conf_vector_t *section_config;
    struct proxy_address *volatile address;
};

/* ---- Balancers ----------------------------------------------------------------------------------------- */

/** The part of a balancer that all processes share. */
typedef struct {
    char sticky_path[PROXY_BALANCER_MAX_STICKY_SIZE];
    char sticky[PROXY_BALANCER_MAX_STICKY_SIZE];
    char lbpname[PROXY_MAX_PROVIDER_NAME_SIZE];
    char nonce[APR_UUID_FORMATTED_LENGTH + 1];
    char name[PROXY_BALANCER_MAX_NAME_SIZE];
    char sname[PROXY_BALANCER_MAX_NAME_SIZE];
    char vpath[PROXY_BALANCER_MAX_ROUTE_SIZE];
    char vhost[PROXY_BALANCER_MAX_HOSTNAME_SIZE];
    apr_interval_time_t timeout;
    apr_time_t wupdated;
    int max_attempts;
    int index;
    proxy_hashes hash;
    unsigned int sticky_force : 1;
    unsigned int scolonsep : 1;
    unsigned int max_attempts_set : 1;
    unsigned int was_malloced : 1;
    unsigned int need_reset : 1;
    unsigned int vhosted : 1;
    unsigned int inactive : 1;
    unsigned int forcerecovery : 1;
    char sticky_separator;
    unsigned int forcerecovery_set : 1;
    unsigned int scolonsep_set : 1;
    unsigned int sticky_force_set : 1;
    unsigned int nonce_set : 1;
    unsigned int sticky_separator_set : 1;
} proxy_balancer_shared;
/** Bytes of a balancer's entry in shared memory. */
#define ALIGNED_PROXY_BALANCER_SHARED_SIZE (APR_ALIGN_DEFAULT(sizeof(proxy_balancer_shared)))

/** A balancer in this process. */
struct proxy_balancer {
    apr_array_header_t *workers; /**< of proxy_worker * */
    apr_array_header_t *errstatuses;
    ap_slotmem_instance_t *wslot;
    ap_slotmem_provider_t *storage;
    int growth;
    int max_workers;
    proxy_hashes hash;
    apr_time_t wupdated;
    proxy_balancer_method *lbmethod;
    apr_global_mutex_t *gmutex;
#if APR_HAS_THREADS
    apr_thread_mutex_t *tmutex;
#endif
    proxy_server_conf *sconf;
    void *context;
    proxy_balancer_shared *s;
    int failontimeout;
    unsigned int failontimeout_set : 1;
    unsigned int growth_set : 1;
    unsigned int lbmethod_set : 1;
    ap_conf_vector_t *section_config;
};

/** Provider in group PROXY_LBMETHOD: chooses the member for the next request. */
struct proxy_balancer_method {
    const char *name;
    proxy_worker *(*finder)(proxy_balancer *balancer, request_rec *r);
    void *context;
    apr_status_t (*reset)(proxy_balancer *balancer, server_rec *s);
    apr_status_t (*age)(proxy_balancer *balancer, server_rec *s);
    apr_status_t (*updatelbstatus)(proxy_balancer *balancer, proxy_worker *elected, server_rec *s);
};

/* Locks of a worker or balancer, where it has them. */
#define PROXY_THREAD_LOCK(x) ((x) && (x)->tmutex ? apr_thread_mutex_lock((x)->tmutex) : APR_SUCCESS)
#define PROXY_THREAD_UNLOCK(x) \
    ((x) && (x)->tmutex ? apr_thread_mutex_unlock((x)->tmutex) : APR_SUCCESS)
#define PROXY_GLOBAL_LOCK(x) ((x) && (x)->gmutex ? apr_global_mutex_lock((x)->gmutex) : APR_SUCCESS)
#define PROXY_GLOBAL_UNLOCK(x) \
    ((x) && (x)->gmutex ? apr_global_mutex_unlock((x)->gmutex) : APR_SUCCESS)

extern PROXY_DECLARE_DATA proxy_hcmethods_t proxy_hcmethods[];
extern PROXY_DECLARE_DATA proxy_wstat_t proxy_wstat_tbl[];

#ifdef __cplusplus
}
#endif
#endif
