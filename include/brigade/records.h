/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_RECORDS_H
#define BRIGADE_RECORDS_H

/**
 * @file brigade/records.h
 * The records that everything works on: process, server, connection, request. Part of httpd.h.
 */
#include "ap_config.h"
#include "apr_tables.h"
#include "apr_pools.h"
#include "apr_time.h"
#include "apr_network_io.h"
#include "apr_buckets.h"
#include "apr_thread_mutex.h"
#include "apr_thread_proc.h"
#include "apr_uri.h"
#include "brigade/http_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Notes as bits ------------------------------------------------------------------------------------- */

typedef apr_uint64_t ap_request_bnotes_t;
#define AP_REQUEST_STRONG_ETAG (1 << 0) /**< wait until a strong entity tag can be given */
#define AP_REQUEST_TRUSTED_CT (1 << 1)  /**< the type came from the configuration, not from the content */

/** The bits of r->bnotes that are set in @a mask, and how they are set and questioned. */
#define AP_REQUEST_GET_BNOTE(r, mask) ((mask) & ((r)->bnotes))
#define AP_REQUEST_SET_BNOTE(r, mask, val) (r)->bnotes = (((r)->bnotes & ~(mask)) | (val))
#define AP_REQUEST_IS_STRONG_ETAG(r) AP_REQUEST_GET_BNOTE((r), AP_REQUEST_STRONG_ETAG)
#define AP_REQUEST_IS_TRUSTED_CT(r) (!!AP_REQUEST_GET_BNOTE((r), AP_REQUEST_TRUSTED_CT))

/* ---- Small constants of requests ----------------------------------------------------------------------- */

/* Media types that once chose a handler, and the type of a directory. */
#define CGI_MAGIC_TYPE "application/x-httpd-cgi"
#define INCLUDES_MAGIC_TYPE "text/x-server-parsed-html"
#define INCLUDES_MAGIC_TYPE3 "text/x-server-parsed-html3"
#define DIR_MAGIC_TYPE "httpd/unix-directory"

/** Name of the handler that serves files. */
#define AP_DEFAULT_HANDLER_NAME ""
#define AP_IS_DEFAULT_HANDLER_NAME(x) (*x == '\0')

/* read_policy of ap_setup_client_block(). */
#define REQUEST_NO_BODY 0         /**< 413 if there is one */
#define REQUEST_CHUNKED_ERROR 1   /**< 411 if it has no Content-Length */
#define REQUEST_CHUNKED_DECHUNK 2 /**< take both kinds */

/* request_rec.used_path_info */
#define AP_REQ_ACCEPT_PATH_INFO 0
#define AP_REQ_REJECT_PATH_INFO 1
#define AP_REQ_DEFAULT_PATH_INFO 2

/* request_rec.proxyreq */
#define PROXYREQ_NONE 0
#define PROXYREQ_PROXY 1
#define PROXYREQ_REVERSE 2
#define PROXYREQ_RESPONSE 3

/* ---- Records ------------------------------------------------------------------------------------------- */

typedef struct process_rec process_rec;
typedef struct server_rec server_rec;
typedef struct conn_rec conn_rec;
typedef struct request_rec request_rec;
typedef struct conn_state_t conn_state_t;

/** A parsed .htaccess file, remembered for the length of a request. */
struct htaccess_result {
    const char *dir;
    int override;
    int override_opts;
    apr_table_t *override_list;
    struct ap_conf_vector_t *htaccess; /**< NULL: looked for, not there */
    const struct htaccess_result *next;
};

/** The running program. */
struct process_rec {
    apr_pool_t *pool;  /**< lives to the end */
    apr_pool_t *pconf; /**< cleared at each restart */
    const char *short_name;
    const char *const *argv;
    int argc;
};

/**
 * A request, or a sub-request. Owned by its pool, which the core destroys when the response is out and logged.
 * Threads: one at a time, but not always the same.
 */
struct request_rec {
    apr_pool_t *pool;
    conn_rec *connection;
    server_rec *server; /**< the virtual host */

    request_rec *next; /**< the request to which an internal redirect led from this one */
    request_rec *prev; /**< the request that an internal redirect left for this one */
    request_rec *main; /**< whose sub-request this is */

    /* The request line. */
    char *the_request;
    int assbackwards; /**< HTTP/0.9: no head is sent */
    int proxyreq;     /**< PROXYREQ_* */
    int header_only;  /**< HEAD */
    int proto_num;    /**< HTTP_VERSION() */
    char *protocol;
    const char *hostname; /**< from the target or Host */

    apr_time_t request_time; /**< microseconds */

    /* The response. */
    const char *status_line; /**< NULL: the usual text of status */
    int status;

    int method_number; /**< M_* */
    const char *method;
    apr_int64_t allowed; /**< methods for Allow, as bits */
    apr_array_header_t *allowed_xmethods;
    ap_method_list_t *allowed_methods;

    apr_off_t sent_bodyct; /**< nonzero once the body has begun */
    apr_off_t bytes_sent;  /**< of the body */
    apr_time_t mtime;      /**< for Last-Modified */

    const char *range;  /**< the Range field */
    apr_off_t clength;  /**< length of the whole body */
    int chunked;        /**< the response is sent in chunks */
    int read_body;      /**< REQUEST_* */
    int read_chunked;   /**< the request comes in chunks */
    unsigned expecting_100;
    apr_bucket_brigade *kept_body;
    apr_table_t *body_table;
    apr_off_t remaining;   /**< request body still to come */
    apr_off_t read_length; /**< and read so far */

    apr_table_t *headers_in;
    apr_table_t *headers_out;
    apr_table_t *err_headers_out; /**< sent with errors and across internal redirects too */
    apr_table_t *subprocess_env;
    apr_table_t *notes;

    const char *content_type; /**< set by ap_set_content_type() only */
    const char *handler;
    const char *content_encoding;
    apr_array_header_t *content_languages; /**< of const char * */
    char *vlist_validator;

    char *user;
    char *ap_auth_type;

    char *unparsed_uri; /**< as the client wrote it */
    char *uri;          /**< decoded path */
    char *filename;
    char *canonical_filename;
    char *path_info; /**< the rest behind the file's name */
    char *args;      /**< after the question mark, or NULL */
    int used_path_info;

    int eos_sent;

    struct ap_conf_vector_t *per_dir_config;
    struct ap_conf_vector_t *request_config;
    const struct ap_logconf *log;
    const char *log_id;
    const struct htaccess_result *htaccess;

    struct ap_filter_t *output_filters;
    struct ap_filter_t *input_filters;
    struct ap_filter_t *proto_output_filters;
    struct ap_filter_t *proto_input_filters;

    int no_cache;
    int no_local_copy;

    apr_thread_mutex_t *invoke_mtx; /**< held while an asynchronous handler runs */

    apr_uri_t parsed_uri;
    apr_finfo_t finfo; /**< of filename; filetype APR_NOFILE if it is missing */

    apr_sockaddr_t *useragent_addr; /**< the client behind trusted proxies */
    char *useragent_ip;

    apr_table_t *trailers_in;
    apr_table_t *trailers_out;

    char *useragent_host; /**< NULL: not looked up; "": has no name */
    int double_reverse;   /**< 1 confirmed, 0 unknown, -1 refuted */

    ap_request_bnotes_t bnotes;
};

typedef enum {
    AP_CONN_UNKNOWN,
    AP_CONN_CLOSE,
    AP_CONN_KEEPALIVE
} ap_conn_keepalive_e;

/** A connection. Owned by its pool. Threads: one at a time, but not always the same. */
struct conn_rec {
    apr_pool_t *pool;
    server_rec *base_server; /**< of the address, before a Host is known */
    void *vhost_lookup_data;

    apr_sockaddr_t *local_addr;
    apr_sockaddr_t *client_addr;
    char *client_ip;
    char *remote_host;    /**< NULL: not looked up; "": has no name */
    char *remote_logname; /**< RFC 1413 */
    char *local_ip;
    char *local_host;

    long id;
    struct ap_conf_vector_t *conn_config;
    apr_table_t *notes;

    struct ap_filter_t *input_filters;
    struct ap_filter_t *output_filters;

    void *sbh; /**< scoreboard handle */
    struct apr_bucket_alloc_t *bucket_alloc;
    conn_state_t *cs;

    int data_in_input_filters;
    int data_in_output_filters;
    unsigned int clogging_input_filters : 1;
    signed int double_reverse : 2; /**< as in request_rec */

    unsigned aborted; /**< the peer is gone: write no more */
    ap_conn_keepalive_e keepalive;
    int keepalives; /**< requests after the first */

    const struct ap_logconf *log;
    const char *log_id;

#if APR_HAS_THREADS
    apr_thread_t *current_thread;
#endif

    conn_rec *master; /**< of a stream: the connection that carries it */
    int outgoing;     /**< we are the client */
};

typedef enum {
    CONN_STATE_KEEPALIVE,
    CONN_STATE_PROCESSING,
    CONN_STATE_HANDLER,
    CONN_STATE_WRITE_COMPLETION,
    CONN_STATE_SUSPENDED,
    CONN_STATE_LINGER,
    CONN_STATE_LINGER_NORMAL,
    CONN_STATE_LINGER_SHORT,
    CONN_STATE_ASYNC_WAITIO,

    CONN_STATE_NUM,

    /* old names */
    CONN_STATE_CHECK_REQUEST_LINE_READABLE = CONN_STATE_KEEPALIVE,
    CONN_STATE_READ_REQUEST_LINE = CONN_STATE_PROCESSING,
} conn_state_e;

/** Events to poll for in place of those that the state suggests. */
typedef enum {
    CONN_SENSE_DEFAULT,
    CONN_SENSE_WANT_READ,
    CONN_SENSE_WANT_WRITE
} conn_sense_e;

struct conn_state_t {
    conn_state_e state;
    conn_sense_e sense;
};

/** Address of a _default_ virtual host. */
#define DEFAULT_VHOST_ADDR 0xfffffffful

typedef struct server_addr_rec server_addr_rec;
/** One address of a VirtualHost section. */
struct server_addr_rec {
    server_addr_rec *next;
    char *virthost; /**< as written */
    apr_sockaddr_t *host_addr;
    apr_port_t host_port; /**< 0: any */
};

struct ap_logconf {
    signed char *module_levels; /**< by module index, negative: use level; NULL: all use level */
    int level;
};

/** A server: the main one or a virtual host. Read-only once the configuration is complete. */
struct server_rec {
    process_rec *process;
    server_rec *next;

    char *error_fname;
    apr_file_t *error_log;
    struct ap_logconf log;

    struct ap_conf_vector_t *module_config;
    struct ap_conf_vector_t *lookup_defaults; /**< per-directory defaults */

    const char *defn_name; /**< file and line of its definition */
    unsigned defn_line_number;
    char is_virtual;

    apr_port_t port; /**< for redirects; 0: the scheme's default */
    const char *server_scheme;

    char *server_admin;
    char *server_hostname;

    server_addr_rec *addrs;
    apr_interval_time_t timeout; /**< microseconds, as the next */
    apr_interval_time_t keep_alive_timeout;
    int keep_alive_max; /**< requests, 0: no limit */
    int keep_alive;

    apr_array_header_t *names;      /**< ServerAlias */
    apr_array_header_t *wild_names; /**< those with * or ? */
    const char *path;               /**< ServerPath */
    int pathlen;

    int limit_req_line;
    int limit_req_fieldsize;
    int limit_req_fields;

    void *context;
    unsigned int keep_alive_timeout_set : 1;
};

typedef struct ap_sload_t ap_sload_t;
/** How busy the server is. */
struct ap_sload_t {
    int idle; /**< per cent of workers, as busy */
    int busy;
    apr_off_t bytes_served;
    unsigned long access_count;
};

typedef struct ap_loadavg_t ap_loadavg_t;
/** How busy the machine is: 1, 5 and 15 minutes. */
struct ap_loadavg_t {
    float loadavg;
    float loadavg5;
    float loadavg15;
};

#ifdef __cplusplus
}
#endif
#endif
