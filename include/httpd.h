/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTPD_H
#define APACHE_HTTPD_H

/**
 * @file httpd.h
 * The records that everything works on (process, server, connection, request), status codes and methods, and
 * the utility functions of the core.
 *
 * Pools own all memory: what a function returns lives in the pool it was given. Unless a line says otherwise,
 * functions here may be called from any thread, do not block, and do not change their input.
 */
#include "ap_config.h"
#include "ap_mmn.h"
#include "ap_release.h"

#include "apr.h"
#include "apr_version.h"
#include "apr_general.h"
#include "apr_tables.h"
#include "apr_pools.h"
#include "apr_time.h"
#include "apr_network_io.h"
#include "apr_buckets.h"
#include "apr_poll.h"
#include "apr_thread_proc.h"
#include "apr_uri.h"

#include "os.h"
#include "ap_regex.h"

#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Defaults; an installation may define its own ------------------------------------------------------ */

#ifndef HTTPD_ROOT
#define HTTPD_ROOT "/etc/brigade"
#endif
#ifndef DOCUMENT_LOCATION
#define DOCUMENT_LOCATION "/var/www/html"
#endif
#ifndef SERVER_CONFIG_FILE
#define SERVER_CONFIG_FILE "httpd.conf"
#endif
#ifndef AP_TYPES_CONFIG_FILE
#define AP_TYPES_CONFIG_FILE "mime.types"
#endif
#ifndef DEFAULT_ERRORLOG
#define DEFAULT_ERRORLOG "logs/error_log"
#endif
#ifndef DEFAULT_ACCESS_FNAME
#define DEFAULT_ACCESS_FNAME ".htaccess"
#endif
#ifndef DEFAULT_PATH
#define DEFAULT_PATH "/bin:/usr/bin:/usr/ucb:/usr/bsd:/usr/local/bin"
#endif
#ifndef SUEXEC_BIN
#define SUEXEC_BIN HTTPD_ROOT "/bin/suexec"
#endif
#ifndef AP_DEFAULT_INDEX
#define AP_DEFAULT_INDEX "index.html"
#endif
#define DEFAULT_ADMIN "[no address given]"
#define DEFAULT_ADD_DEFAULT_CHARSET_NAME "iso-8859-1"

/** Modules that may be loaded beyond those built in. */
#ifndef DYNAMIC_MODULE_LIMIT
#define DYNAMIC_MODULE_LIMIT 256
#endif

/* Seconds, seconds, requests. */
#ifndef DEFAULT_TIMEOUT
#define DEFAULT_TIMEOUT 60
#endif
#ifndef DEFAULT_KEEPALIVE_TIMEOUT
#define DEFAULT_KEEPALIVE_TIMEOUT 5
#endif
#ifndef DEFAULT_KEEPALIVE
#define DEFAULT_KEEPALIVE 100
#endif

/* Limits of a request's head: bytes, bytes, fields, empty lines before it. */
#ifndef DEFAULT_LIMIT_REQUEST_LINE
#define DEFAULT_LIMIT_REQUEST_LINE 8190
#endif
#ifndef DEFAULT_LIMIT_REQUEST_FIELDSIZE
#define DEFAULT_LIMIT_REQUEST_FIELDSIZE 8190
#endif
#ifndef DEFAULT_LIMIT_REQUEST_FIELDS
#define DEFAULT_LIMIT_REQUEST_FIELDS 100
#endif
#ifndef DEFAULT_LIMIT_BLANK_LINES
#define DEFAULT_LIMIT_BLANK_LINES 10
#endif

/* Buffer sizes, bytes; groups of an expression; greatest piece for one sendfile. */
#define HUGE_STRING_LEN 8192
#define MAX_STRING_LEN HUGE_STRING_LEN
#define AP_IOBUFSIZE 8192
#define AP_MAX_REG_MATCH 10
#define AP_MAX_SENDFILE 16777216

/* ---- Protocol ------------------------------------------------------------------------------------------ */

#define AP_SERVER_PROTOCOL "HTTP/1.1"
#define DEFAULT_HTTP_PORT 80
#define DEFAULT_HTTPS_PORT 443
#define ap_is_default_port(port, r) ((port) == ap_default_port(r))
#define ap_default_port(r) ap_run_default_port(r)
#define ap_http_scheme(r) ap_run_http_scheme(r)

/** A version as one number, as in request_rec.proto_num, and back. */
#define HTTP_VERSION(major, minor) (1000 * (major) + (minor))
#define HTTP_VERSION_MAJOR(number) ((number) / 1000)
#define HTTP_VERSION_MINOR(number) ((number) % 1000)

#define LF 10
#define CR 13
#define CRLF "\015\012"
#define CRLF_ASCII "\015\012"

/* Document type lines. */
#define DOCTYPE_HTML_2_0 "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n"
#define DOCTYPE_HTML_3_2 "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n"
#define DOCTYPE_HTML_4_0S \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0//EN\"\n\"http://www.w3.org/TR/REC-html40/strict.dtd\">\n"
#define DOCTYPE_HTML_4_0T \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0 Transitional//EN\"\n" \
    "\"http://www.w3.org/TR/REC-html40/loose.dtd\">\n"
#define DOCTYPE_HTML_4_0F \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0 Frameset//EN\"\n" \
    "\"http://www.w3.org/TR/REC-html40/frameset.dtd\">\n"
#define DOCTYPE_HTML_4_01 \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n"
#define DOCTYPE_HTML_5 "<!DOCTYPE html>\n"
#define DOCTYPE_XHTML_1_0S \
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\"\n" \
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd\">\n"
#define DOCTYPE_XHTML_1_0T \
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n" \
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
#define DOCTYPE_XHTML_1_0F \
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Frameset//EN\"\n" \
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-frameset.dtd\">"

/* ---- Results ------------------------------------------------------------------------------------------- */

/* Exit status of a server process, read by its supervisor: the last two say "do not start me again". */
#define APEXIT_OK 0x0
#define APEXIT_INIT 0x2
#define APEXIT_CHILDINIT 0x3
#define APEXIT_CHILDSICK 0x7
#define APEXIT_CHILDFATAL 0xf

/* Other spellings of the declaration macros, and fallbacks for those who did not include ap_config.h. */
#ifndef AP_CORE_DECLARE
#define AP_CORE_DECLARE AP_DECLARE
#endif
#ifndef AP_CORE_DECLARE_NONSTD
#define AP_CORE_DECLARE_NONSTD AP_DECLARE_NONSTD
#endif

/* The server's own range of apr_status_t. */
#define AP_START_USERERR (APR_OS_START_USERERR + 2000)
#define AP_USERERR_LEN 1000
#define AP_DECLINED (AP_START_USERERR + 0)

/* What a hook or handler returns, besides an HTTP status. */
#define OK 0         /**< this phase is done */
#define DECLINED -1  /**< not mine, ask the next */
#define DONE -2      /**< the response is out, skip the rest */
#define SUSPENDED -3 /**< somebody else will go on with it */

/* What a filter may return; handlers pass them on as their result. */
#define AP_NOBODY_WROTE -100
#define AP_NOBODY_READ -101
#define AP_FILTER_ERROR -102

/** Number of status codes with a text of their own. */
#define RESPONSE_CODES 104

#define HTTP_CONTINUE 100
#define HTTP_SWITCHING_PROTOCOLS 101
#define HTTP_PROCESSING 102
#define HTTP_EARLY_HINTS 103
#define HTTP_OK 200
#define HTTP_CREATED 201
#define HTTP_ACCEPTED 202
#define HTTP_NON_AUTHORITATIVE 203
#define HTTP_NO_CONTENT 204
#define HTTP_RESET_CONTENT 205
#define HTTP_PARTIAL_CONTENT 206
#define HTTP_MULTI_STATUS 207
#define HTTP_ALREADY_REPORTED 208
#define HTTP_IM_USED 226
#define HTTP_MULTIPLE_CHOICES 300
#define HTTP_MOVED_PERMANENTLY 301
#define HTTP_MOVED_TEMPORARILY 302
#define HTTP_SEE_OTHER 303
#define HTTP_NOT_MODIFIED 304
#define HTTP_USE_PROXY 305
#define HTTP_TEMPORARY_REDIRECT 307
#define HTTP_PERMANENT_REDIRECT 308
#define HTTP_BAD_REQUEST 400
#define HTTP_UNAUTHORIZED 401
#define HTTP_PAYMENT_REQUIRED 402
#define HTTP_FORBIDDEN 403
#define HTTP_NOT_FOUND 404
#define HTTP_METHOD_NOT_ALLOWED 405
#define HTTP_NOT_ACCEPTABLE 406
#define HTTP_PROXY_AUTHENTICATION_REQUIRED 407
#define HTTP_REQUEST_TIME_OUT 408
#define HTTP_CONFLICT 409
#define HTTP_GONE 410
#define HTTP_LENGTH_REQUIRED 411
#define HTTP_PRECONDITION_FAILED 412
#define HTTP_REQUEST_ENTITY_TOO_LARGE 413
#define HTTP_REQUEST_URI_TOO_LARGE 414
#define HTTP_UNSUPPORTED_MEDIA_TYPE 415
#define HTTP_RANGE_NOT_SATISFIABLE 416
#define HTTP_EXPECTATION_FAILED 417
#define HTTP_MISDIRECTED_REQUEST 421
#define HTTP_UNPROCESSABLE_ENTITY 422
#define HTTP_LOCKED 423
#define HTTP_FAILED_DEPENDENCY 424
#define HTTP_UPGRADE_REQUIRED 426
#define HTTP_PRECONDITION_REQUIRED 428
#define HTTP_TOO_MANY_REQUESTS 429
#define HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE 431
#define HTTP_UNAVAILABLE_FOR_LEGAL_REASONS 451
#define HTTP_INTERNAL_SERVER_ERROR 500
#define HTTP_NOT_IMPLEMENTED 501
#define HTTP_BAD_GATEWAY 502
#define HTTP_SERVICE_UNAVAILABLE 503
#define HTTP_GATEWAY_TIME_OUT 504
#define HTTP_VERSION_NOT_SUPPORTED 505
#define HTTP_VARIANT_ALSO_VARIES 506
#define HTTP_INSUFFICIENT_STORAGE 507
#define HTTP_LOOP_DETECTED 508
#define HTTP_NOT_EXTENDED 510
#define HTTP_NETWORK_AUTHENTICATION_REQUIRED 511

#define ap_is_HTTP_INFO(x) (((x) >= 100) && ((x) < 200))
#define ap_is_HTTP_SUCCESS(x) (((x) >= 200) && ((x) < 300))
#define ap_is_HTTP_REDIRECT(x) (((x) >= 300) && ((x) < 400))
#define ap_is_HTTP_ERROR(x) (((x) >= 400) && ((x) < 600))
#define ap_is_HTTP_CLIENT_ERROR(x) (((x) >= 400) && ((x) < 500))
#define ap_is_HTTP_SERVER_ERROR(x) (((x) >= 500) && ((x) < 600))
#define ap_is_HTTP_VALID_RESPONSE(x) (((x) >= 100) && ((x) < 600))

/** After these the stream may be out of step, so the connection ends. */
#define ap_status_drops_connection(x) \
    ((x) == HTTP_BAD_REQUEST || (x) == HTTP_REQUEST_TIME_OUT || (x) == HTTP_LENGTH_REQUIRED \
     || (x) == HTTP_REQUEST_ENTITY_TOO_LARGE || (x) == HTTP_REQUEST_URI_TOO_LARGE \
     || (x) == HTTP_INTERNAL_SERVER_ERROR || (x) == HTTP_SERVICE_UNAVAILABLE \
     || (x) == HTTP_NOT_IMPLEMENTED)
#define AP_STATUS_IS_HEADER_ONLY(x) ((x) == HTTP_NO_CONTENT || (x) == HTTP_NOT_MODIFIED)

/* ---- Methods ------------------------------------------------------------------------------------------- */

/* request_rec.method_number. HEAD is M_GET with header_only. Extensions follow M_INVALID. */
#define M_GET 0
#define M_PUT 1
#define M_POST 2
#define M_DELETE 3
#define M_CONNECT 4
#define M_OPTIONS 5
#define M_TRACE 6
#define M_PATCH 7
#define M_PROPFIND 8
#define M_PROPPATCH 9
#define M_MKCOL 10
#define M_COPY 11
#define M_MOVE 12
#define M_LOCK 13
#define M_UNLOCK 14
#define M_VERSION_CONTROL 15
#define M_CHECKOUT 16
#define M_UNCHECKOUT 17
#define M_CHECKIN 18
#define M_UPDATE 19
#define M_LABEL 20
#define M_REPORT 21
#define M_MKWORKSPACE 22
#define M_MKACTIVITY 23
#define M_BASELINE_CONTROL 24
#define M_MERGE 25
#define M_INVALID 26
/** Methods that can have a number: bits of a mask. */
#define METHODS 64
/** AP_METHOD_BIT << M_x is the method's bit in a mask. */
#define AP_METHOD_BIT ((apr_int64_t)1)

/** A set of methods: those with a number as bits, the rest by name. */
typedef struct ap_method_list_t ap_method_list_t;
struct ap_method_list_t {
    apr_int64_t method_mask;
    apr_array_header_t *method_list;
};

/* ---- Notes as bits ------------------------------------------------------------------------------------- */

typedef apr_uint64_t ap_request_bnotes_t;
#define AP_REQUEST_STRONG_ETAG (1 << 0) /**< wait until a strong entity tag can be given */
#define AP_REQUEST_TRUSTED_CT (1 << 1)  /**< the type came from the configuration, not from the content */

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

    request_rec *next; /**< what an internal redirect made of this */
    request_rec *prev; /**< what an internal redirect came from */
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
    char *path_info; /**< what follows the file's name */
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
    apr_finfo_t finfo; /**< of filename; filetype APR_NOFILE if there is none */

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

/** What to poll for instead of what the state suggests. */
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

/* ---- Who we are ---------------------------------------------------------------------------------------- */

typedef struct {
    int major;
    int minor;
    int patch;
    const char *add_string;
} ap_version_t;

/** The version of Apache's interface that is offered. */
AP_DECLARE(void) ap_get_server_revision(ap_version_t *version);
/** The Server field, as ServerTokens asks. */
AP_DECLARE(const char *) ap_get_server_banner(void);
/** The same with all components, whatever ServerTokens says. */
AP_DECLARE(const char *) ap_get_server_description(void);
/** Add to the banner, from post_config. */
AP_DECLARE(void) ap_add_version_component(apr_pool_t *pconf, const char *component);
AP_DECLARE(const char *) ap_get_server_built(void);
/** The line under generated pages, as ServerSignature asks; "" if off. */
AP_DECLARE(const char *) ap_psignature(const char *prefix, request_rec *r);

/* ---- Context of a request ------------------------------------------------------------------------------ */

/* Where the URL prefix of an alias or user directory maps to, for a module that maps URLs. */
AP_DECLARE(const char *) ap_context_document_root(request_rec *r);
AP_DECLARE(const char *) ap_context_prefix(request_rec *r);
AP_DECLARE(void)
ap_set_context_info(request_rec *r, const char *prefix, const char *document_root);
AP_DECLARE(void) ap_set_document_root(request_rec *r, const char *document_root);

/** Is there a request body, by the header alone? */
AP_DECLARE(int) ap_request_has_body(request_rec *r);

typedef struct {
    const char *name;
    apr_bucket_brigade *value;
} ap_form_pair_t;

/**
 * Read a form from the body through @a f, at most @a num pairs (-1: no limit) of @a size bytes in all.
 * OK or an HTTP status. Blocks.
 */
AP_DECLARE(int)
ap_parse_form_data(request_rec *r, struct ap_filter_t *f, apr_array_header_t **ptr, apr_size_t num,
                   apr_size_t size);

/* ---- Words --------------------------------------------------------------------------------------------- */

/* Cut the first word off *line, which moves on; the word is a copy. "stop" ends the word and is skipped
 * (repeats too, unless _nulls). _white: white space ends it. _conf: as in configuration, with quotes and
 * backslashes; _conf2: also with { }. _nc: for a line that is not const. */
AP_DECLARE(char *) ap_getword(apr_pool_t *p, const char **line, char stop);
AP_DECLARE(char *) ap_getword_nc(apr_pool_t *p, char **line, char stop);
AP_DECLARE(char *) ap_getword_white(apr_pool_t *p, const char **line);
AP_DECLARE(char *) ap_getword_white_nc(apr_pool_t *p, char **line);
AP_DECLARE(char *) ap_getword_nulls(apr_pool_t *p, const char **line, char stop);
AP_DECLARE(char *) ap_getword_nulls_nc(apr_pool_t *p, char **line, char stop);
AP_DECLARE(char *) ap_getword_conf(apr_pool_t *p, const char **line);
AP_DECLARE(char *) ap_getword_conf_nc(apr_pool_t *p, char **line);
AP_DECLARE(char *) ap_getword_conf2(apr_pool_t *p, const char **line);
AP_DECLARE(char *) ap_getword_conf2_nc(apr_pool_t *p, char **line);
/** Replace ${NAME} by a Define or environment variable; unknown ones stay. May return @a word. */
AP_DECLARE(const char *) ap_resolve_env(apr_pool_t *p, const char *word);

/* ---- Header values ------------------------------------------------------------------------------------- */

/** A value without its parameters. */
AP_DECLARE(char *) ap_field_noparam(apr_pool_t *p, const char *intype);
/** First item of a list, unchanged: its start and length; *field moves on. NULL: no more. */
AP_DECLARE(const char *) ap_size_list_item(const char **field, int *len);
/** The same as a normalized copy: outer white space gone, lower case outside quotes. */
AP_DECLARE(char *) ap_get_list_item(apr_pool_t *p, const char **field);
AP_DECLARE(int) ap_find_list_item(apr_pool_t *p, const char *line, const char *tok);
/* Is an entity tag in a list, by weak or strong comparison? */
AP_DECLARE(int) ap_find_etag_weak(apr_pool_t *p, const char *line, const char *tok);
AP_DECLARE(int) ap_find_etag_strong(apr_pool_t *p, const char *line, const char *tok);

/* First character that is not field content, token, or visible/obs-text. */
AP_DECLARE(const char *) ap_scan_http_field_content(const char *ptr);
AP_DECLARE(const char *) ap_scan_http_token(const char *ptr);
AP_DECLARE(const char *) ap_scan_vchar_obstext(const char *ptr);

/** Append the tokens of a list to *tokens (made if needed). NULL, or a message; skip_invalid ignores bad ones. */
AP_DECLARE(const char *)
ap_parse_token_list_strict(apr_pool_t *p, const char *tok, apr_array_header_t **tokens, int skip_invalid);
/** One token; accept_white keeps inner white space. */
AP_DECLARE(char *) ap_get_token(apr_pool_t *p, const char **accept_line, int accept_white);
AP_DECLARE(int) ap_find_token(apr_pool_t *p, const char *line, const char *tok);
AP_DECLARE(int) ap_find_last_token(apr_pool_t *p, const char *line, const char *tok);
/** Is "chunked" the last coding of a Transfer-Encoding value? */
AP_DECLARE(int) ap_is_chunked(apr_pool_t *p, const char *line);
/** Lower-case a media type but not its parameters' values, in place. */
AP_DECLARE(void) ap_content_type_tolower(char *s);
/** Decimal digits only, no overflow: 1 and *len, else 0. */
AP_DECLARE(int) ap_parse_strict_length(apr_off_t *len, const char *str);
/** Time as strftime's @a fmt says; NULL stands for the format of HTTP. */
AP_DECLARE(char *) ap_ht_time(apr_pool_t *p, apr_time_t t, const char *fmt, int gmt);

/* ---- URLs ---------------------------------------------------------------------------------------------- */

AP_DECLARE(int) ap_is_url(const char *u);

/* Decode %XX in place. OK; HTTP_BAD_REQUEST for bad digits; HTTP_NOT_FOUND for %00 or a forbidden slash. */
AP_DECLARE(int) ap_unescape_all(char *url);
AP_DECLARE(int) ap_unescape_url(char *url);
AP_DECLARE(int) ap_unescape_url_keep2f(char *url, int decode_slashes);
#define AP_UNESCAPE_URL_KEEP_UNRESERVED (1u << 0)
#define AP_UNESCAPE_URL_FORBID_SLASHES (1u << 1)
#define AP_UNESCAPE_URL_KEEP_SLASHES (1u << 2)
AP_DECLARE(int) ap_unescape_url_ex(char *url, unsigned int flags);
/** The same with + for a space. */
AP_DECLARE(int) ap_unescape_urlencoded(char *query);

/* Clean a path in place. */
AP_DECLARE(void) ap_no2slash(char *name);
AP_DECLARE(void) ap_no2slash_ex(char *name, int is_fs_path);
AP_DECLARE(void) ap_getparents(char *name);
#define AP_NORMALIZE_ALLOW_RELATIVE (1u << 0)
#define AP_NORMALIZE_NOT_ABOVE_ROOT (1u << 1)
#define AP_NORMALIZE_DECODE_UNRESERVED (1u << 2)
#define AP_NORMALIZE_MERGE_SLASHES (1u << 3)
#define AP_NORMALIZE_DROP_PARAMETERS (0)
/** Remove . and .. segments in place. 0 if the path is bad or leaves the root. */
AP_DECLARE(int) ap_normalize_path(char *path, unsigned int flags);

/* Encode. A _buffer variant writes to @a c, which has room for three times the length and a NUL. */
AP_DECLARE(char *) ap_escape_path_segment(apr_pool_t *p, const char *s);
AP_DECLARE(char *) ap_escape_path_segment_buffer(char *c, const char *s);
/** A path as a URL path; unless @a partial, with ./ in front of a first segment that has a colon. */
AP_DECLARE(char *) ap_os_escape_path(apr_pool_t *p, const char *path, int partial);
#define ap_escape_uri(ppool, path) ap_os_escape_path(ppool, path, 1)
AP_DECLARE(char *) ap_escape_urlencoded(apr_pool_t *p, const char *s);
AP_DECLARE(char *) ap_escape_urlencoded_buffer(char *c, const char *s);

/** host or host:port, the port only if it is not the scheme's default. */
AP_DECLARE(char *)
ap_construct_server(apr_pool_t *p, const char *hostname, apr_port_t port, const request_rec *r);

/* ---- Escaping for other places ------------------------------------------------------------------------- */

#define ap_escape_html(p, s) ap_escape_html2(p, s, 0)
/** For HTML text and attributes; @a toasc also turns non-ASCII into references. */
AP_DECLARE(char *) ap_escape_html2(apr_pool_t *p, const char *s, int toasc);
AP_DECLARE(char *) ap_escape_logitem(apr_pool_t *p, const char *str);
/** Into @a dest of @a buflen bytes; returns the length without the NUL. */
AP_DECLARE(apr_size_t) ap_escape_errorlog_item(char *dest, const char *source, apr_size_t buflen);
AP_DECLARE(char *) ap_escape_shell_cmd(apr_pool_t *p, const char *s);
/** Put a backslash before each quote that has none. */
AP_DECLARE(char *) ap_escape_quotes(apr_pool_t *p, const char *instring);

/* ---- File names ---------------------------------------------------------------------------------------- */

/** Number of slashes. */
AP_DECLARE(int) ap_count_dirs(const char *path);
/** The first @a n directories of @a s, to @a d; returns the end. */
AP_DECLARE(char *) ap_make_dirstr_prefix(char *d, const char *s, int n);
AP_DECLARE(char *) ap_make_dirstr_parent(apr_pool_t *p, const char *s);
AP_DECLARE(char *) ap_make_full_path(apr_pool_t *a, const char *dir, const char *f);
AP_DECLARE(int) ap_os_is_path_absolute(apr_pool_t *p, const char *dir);
/* Is it a directory? The first does not follow a link. Both ask the file system. */
AP_DECLARE(int) ap_is_rdirectory(apr_pool_t *p, const char *name);
AP_DECLARE(int) ap_is_directory(apr_pool_t *p, const char *name);
AP_DECLARE(apr_status_t)
ap_filepath_merge(char **newpath, const char *rootpath, const char *addpath, apr_int32_t flags,
                  apr_pool_t *p);
/** May this path be given to stat at all? Always so here. */
AP_DECLARE(apr_status_t) ap_stat_check(const char *path, apr_pool_t *pool);

#define AP_IS_SLASH(s) (s == '/')
#define AP_SLASHES "/"

#define AP_DIR_FLAG_NONE 0
#define AP_DIR_FLAG_OPTIONAL 1  /**< no error if nothing matches */
#define AP_DIR_FLAG_RECURSIVE 2 /**< below a directory too */
typedef struct ap_dir_match_t ap_dir_match_t;
/** A walk over the files that a pattern names. */
struct ap_dir_match_t {
    apr_pool_t *p;
    apr_pool_t *ptemp;
    const char *prefix; /**< in front of messages */
    const char *(*cb)(ap_dir_match_t *w, const char *fname); /**< NULL to go on, or a message */
    void *ctx;
    int flags;
    unsigned int depth;
};
/** Call back for one file or directory. NULL or a message. */
AP_DECLARE(const char *)
ap_dir_nofnmatch(ap_dir_match_t *w, const char *fname) __attribute__((nonnull(1, 2)));
/** Call back for each file that the wildcards name, in order. NULL or a message. */
AP_DECLARE(const char *)
ap_dir_fnmatch(ap_dir_match_t *w, const char *path, const char *fname) __attribute__((nonnull(1, 3)));

/* ---- Strings ------------------------------------------------------------------------------------------- */

/** Has it * or ? in it? */
AP_DECLARE(int) ap_is_matchexp(const char *str);
/* Match with * and ?: 0 if it does. */
AP_DECLARE(int) ap_strcmp_match(const char *str, const char *expected);
AP_DECLARE(int) ap_strcasecmp_match(const char *str, const char *expected);
AP_DECLARE(char *) ap_strcasestr(const char *s1, const char *s2);
/** What follows the prefix, or the whole if it is not there. */
AP_DECLARE(const char *) ap_stripprefix(const char *bigstring, const char *prefix);
AP_DECLARE(char *) ap_pbase64decode(apr_pool_t *p, const char *bufcoded);
AP_DECLARE(char *) ap_pbase64encode(apr_pool_t *p, char *string);
AP_DECLARE(void) ap_str_tolower(char *s);
AP_DECLARE(void) ap_str_toupper(char *s);
/* Index of the first, last c; -1 if there is none. */
AP_DECLARE(int) ap_ind(const char *str, char c);
AP_DECLARE(int) ap_rind(const char *str, char c);
/* ASCII only, whatever the locale. */
AP_DECLARE(int) ap_cstr_casecmp(const char *s1, const char *s2);
AP_DECLARE(int) ap_cstr_casecmpn(const char *s1, const char *s2, apr_size_t n);
/* Nonzero if equal; the time taken does not tell where they differ. */
AP_DECLARE(int) ap_memeq_timingsafe(const void *buf1, const void *buf2, apr_size_t n);
AP_DECLARE(int) ap_streq_timingsafe(const char *sec1, const char *str2);
AP_DECLARE(int) ap_strneq_timingsafe(const char *sec1, const char *str2, apr_size_t n);
AP_DECLARE(char *) ap_append_pid(apr_pool_t *p, const char *string, const char *delim);
/* Replace what is neither letter nor digit by _. */
AP_DECLARE(apr_status_t) ap_pstr2_alnum(apr_pool_t *p, const char *src, const char **dest);
AP_DECLARE(apr_status_t) ap_str2_alnum(const char *src, char *dest);
/** Lower-case hexadecimal, 2 * srclen + 1 bytes. */
AP_DECLARE(void) ap_bin2hex(const void *src, apr_size_t srclen, char *dest);
/** "5", "300ms", "2min": @a default_time_unit where none is given. APR_EGENERAL if it does not parse. */
AP_DECLARE(apr_status_t)
ap_timeout_parameter_parse(const char *timeout_parameter, apr_interval_time_t *timeout,
                           const char *default_time_unit);
/* Index in an array of const char * from @a start, or -1; is it in there? */
AP_DECLARE(int) ap_array_str_index(const apr_array_header_t *array, const char *s, int start);
AP_DECLARE(int) ap_array_str_contains(const apr_array_header_t *array, const char *s);

/* strchr and kin that keep const apart, checked in a debugging build only. */
AP_DECLARE(char *) ap_strchr(char *s, int c);
AP_DECLARE(const char *) ap_strchr_c(const char *s, int c);
AP_DECLARE(char *) ap_strrchr(char *s, int c);
AP_DECLARE(const char *) ap_strrchr_c(const char *s, int c);
AP_DECLARE(char *) ap_strstr(char *s, const char *c);
AP_DECLARE(const char *) ap_strstr_c(const char *s, const char *c);
#ifdef AP_DEBUG
#undef strchr
#define strchr(s, c) ap_strchr(s, c)
#undef strrchr
#define strrchr(s, c) ap_strrchr(s, c)
#undef strstr
#define strstr(s, c) ap_strstr(s, c)
#else
#define ap_strchr(s, c) strchr(s, c)
#define ap_strchr_c(s, c) strchr(s, c)
#define ap_strrchr(s, c) strrchr(s, c)
#define ap_strrchr_c(s, c) strrchr(s, c)
#define ap_strstr(s, c) strstr(s, c)
#define ap_strstr_c(s, c) strstr(s, c)
#endif

/* ---- Expressions --------------------------------------------------------------------------------------- */

/** ap_regcomp in a pool. NULL if it does not compile. */
AP_DECLARE(ap_regex_t *) ap_pregcomp(apr_pool_t *p, const char *pattern, int cflags);
AP_DECLARE(void) ap_pregfree(apr_pool_t *p, ap_regex_t *reg);
/** Replace $0 to $9 and & in @a input by parts of @a source. */
AP_DECLARE(char *)
ap_pregsub(apr_pool_t *p, const char *input, const char *source, apr_size_t nmatch,
           ap_regmatch_t pmatch[]);
/** The same with a limit (0: none). APR_ENOMEM if it would be longer. */
AP_DECLARE(apr_status_t)
ap_pregsub_ex(apr_pool_t *p, char **result, const char *input, const char *source, apr_size_t nmatch,
              ap_regmatch_t pmatch[], apr_size_t maxlen);

/* ---- Process, memory, chance --------------------------------------------------------------------------- */

/** Log and abort: for ap_assert. */
AP_DECLARE(void)
ap_log_assert(const char *szExp, const char *szFile, int nLine) __attribute__((noreturn));
#define ap_assert(exp) ((exp) ? (void)0 : ap_log_assert(#exp, __FILE__, __LINE__))
#ifdef AP_DEBUG
#define AP_DEBUG_ASSERT(exp) ap_assert(exp)
#else
#define AP_DEBUG_ASSERT(exp) ((void)0)
#endif

/* Points at which a debugging build may stop itself. */
#define SIGSTOP_DETACH 1
#define SIGSTOP_MAKE_CHILD 2
#define SIGSTOP_SPAWN_CHILD 4
#define SIGSTOP_PIPED_LOG_SPAWN 8
#define SIGSTOP_CGI_CHILD 16
#define RAISE_SIGSTOP(x)

/** Say so on stderr and abort. */
AP_DECLARE(void) ap_abort_on_oom(void) __attribute__((noreturn));
/* As libc's, but they do not return NULL. Free with free(). */
AP_DECLARE(void *) ap_malloc(size_t size) __attribute__((malloc)) AP_FN_ATTR_ALLOC_SIZE(1);
AP_DECLARE(void *)
ap_calloc(size_t nelem, size_t size) __attribute__((malloc)) AP_FN_ATTR_ALLOC_SIZE2(1, 2);
AP_DECLARE(void *)
ap_realloc(void *ptr, size_t size) AP_FN_ATTR_WARN_UNUSED_RESULT AP_FN_ATTR_ALLOC_SIZE(2);

/* Not for secrets. */
AP_DECLARE(void) ap_random_insecure_bytes(void *buf, apr_size_t size);
AP_DECLARE(apr_uint32_t) ap_random_pick(apr_uint32_t min, apr_uint32_t max);

AP_DECLARE(void) ap_get_sload(ap_sload_t *ld);
AP_DECLARE(void) ap_get_loadavg(ap_loadavg_t *ld);
/** First line that a command writes, or NULL. Starts a process and waits. */
AP_DECLARE(char *) ap_get_exec_line(apr_pool_t *p, const char *cmd, const char *const *argv);
/** This machine's full name. May ask the resolver. */
AP_DECLARE(char *) ap_get_local_host(apr_pool_t *p);

/** Status with which a process says that it need not be started again. */
#define AP_NORESTART APR_OS_START_USEERR + 1

/* ---- Threads ------------------------------------------------------------------------------------------- */

#if APR_HAS_THREADS
#if APR_VERSION_AT_LEAST(1, 8, 0) && !defined(AP_NO_THREAD_LOCAL)
/* APR knows the current thread itself. */
#if APR_HAS_THREAD_LOCAL
#define AP_HAS_THREAD_LOCAL 1
#define AP_THREAD_LOCAL APR_THREAD_LOCAL
#else
#define AP_HAS_THREAD_LOCAL 0
#endif
#define ap_thread_create apr_thread_create
#define ap_thread_current apr_thread_current
#define ap_thread_current_create apr_thread_current_create
#define ap_thread_current_after_fork apr_thread_current_after_fork
#else
#ifndef AP_NO_THREAD_LOCAL
#ifdef __cplusplus
#define AP_THREAD_LOCAL thread_local
#else
#define AP_THREAD_LOCAL _Thread_local
#endif
#endif
#ifdef AP_THREAD_LOCAL
#define AP_HAS_THREAD_LOCAL 1
/** apr_thread_create, and the thread can find itself with ap_thread_current(). */
AP_DECLARE(apr_status_t)
ap_thread_create(apr_thread_t **thread, apr_threadattr_t *attr, apr_thread_start_t func, void *data,
                 apr_pool_t *pool);
#else
#define AP_HAS_THREAD_LOCAL 0
#define ap_thread_create apr_thread_create
#endif
/** An apr_thread_t for the calling thread, which APR did not start. */
AP_DECLARE(apr_status_t)
ap_thread_current_create(apr_thread_t **current, apr_threadattr_t *attr, apr_pool_t *pool);
AP_DECLARE(void) ap_thread_current_after_fork(void);
/** The calling thread, or NULL. */
AP_DECLARE(apr_thread_t *) ap_thread_current(void);
#endif
/** An apr_thread_t for the main thread. */
AP_DECLARE(apr_status_t) ap_thread_main_create(apr_thread_t **thread, apr_pool_t *pool);
#else
#define AP_HAS_THREAD_LOCAL 0
#endif

#ifdef __cplusplus
}
#endif
#endif
