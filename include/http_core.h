/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_CORE_H
#define APACHE_HTTP_CORE_H

/** @file http_core.h The core's knowledge of a request and of its own directives. */
#include "apr.h"
#include "apr_hash.h"
#include "apr_optional.h"
#include "util_filter.h"
#include "ap_expr.h"
#include "apr_poll.h"
#include "apr_tables.h"
#include "http_config.h"

#include <sys/time.h>
#include <sys/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants of directives --------------------------------------------------------------------------- */

/* Options */
#define OPT_NONE 0
#define OPT_INDEXES 1
#define OPT_INCLUDES 2
#define OPT_SYM_LINKS 4
#define OPT_EXECCGI 8
#define OPT_UNSET 16
#define OPT_INC_WITH_EXEC 32 /**< Includes that may exec; OPT_INCLUDES alone is IncludesNoExec */
#define OPT_SYM_OWNER 64
#define OPT_MULTI 128
#define OPT_ALL (OPT_INDEXES | OPT_INCLUDES | OPT_INC_WITH_EXEC | OPT_SYM_LINKS | OPT_EXECCGI)

/* How hard to look for a client's name. */
#define REMOTE_HOST (0)       /**< name, or NULL */
#define REMOTE_NAME (1)       /**< name, or address */
#define REMOTE_NOLOOKUP (2)   /**< the known name, or the address */
#define REMOTE_DOUBLE_REV (3) /**< name that leads back to the address, or NULL */

/* Satisfy */
#define SATISFY_ALL 0
#define SATISFY_ANY 1
#define SATISFY_NOSPEC 2

/** Below so many bytes the output filter waits for more. */
#define AP_MIN_BYTES_TO_WRITE 8000

/* LimitInternalRecursion */
#define AP_DEFAULT_MAX_INTERNAL_REDIRECTS 10
#define AP_DEFAULT_MAX_SUBREQ_DEPTH 10

/* ---- Questions about a request ------------------------------------------------------------------------- */

AP_DECLARE(int) ap_allow_options(request_rec *r);   /**< OPT_* */
AP_DECLARE(int) ap_allow_overrides(request_rec *r); /**< OR_* */
/** DocumentRoot for this request; modules for mass hosting may have set it. */
AP_DECLARE(const char *) ap_document_root(request_rec *r);
/** Name or address (REMOTE_*) of the user agent. @a str_is_ip may be NULL. May ask the resolver and wait. */
AP_DECLARE(const char *) ap_get_useragent_host(request_rec *req, int type, int *str_is_ip);
/** The same for the peer of the connection. */
AP_DECLARE(const char *)
ap_get_remote_host(conn_rec *conn, void *dir_config, int type, int *str_is_ip);
/** By RFC 1413, if a module looks it up; else NULL. */
AP_DECLARE(const char *) ap_get_remote_logname(request_rec *r);
/** A full URL for a path on this server. */
AP_DECLARE(char *) ap_construct_url(apr_pool_t *p, const char *uri, request_rec *r);
/** This server's name as UseCanonicalName says; _for_url puts brackets around an IPv6 address. */
AP_DECLARE(const char *) ap_get_server_name(request_rec *r);
/** The same, with brackets around an IPv6 address. */
AP_DECLARE(const char *) ap_get_server_name_for_url(request_rec *r);
/** The port for redirections and SERVER_PORT, by UseCanonicalPhysicalPort. */
AP_DECLARE(apr_port_t) ap_get_server_port(const request_rec *r);
/** ReadBufferSize for this request, bytes. */
AP_DECLARE(apr_size_t) ap_get_read_buf_size(const request_rec *r);
/** LimitRequestBody for this request, bytes; 0 = no limit. */
AP_DECLARE(apr_off_t) ap_get_limit_req_body(const request_rec *r);
/** LimitXMLRequestBody for this request, bytes. */
AP_DECLARE(apr_size_t) ap_get_limit_xml_body(const request_rec *r);
/** Body of an error response: text after a quote, a URL, or a local path. */
AP_DECLARE(void) ap_custom_response(request_rec *r, int status, const char *string);
/** Nonzero, after logging, if there are too many redirects or sub-requests. */
AP_DECLARE(int) ap_is_recursion_limit_exceeded(const request_rec *r);
/** 1 if -D or Define has set @a name. */
AP_DECLARE(int) ap_exists_config_define(const char *name);
/** The core's translate_name function. */
AP_DECLARE_NONSTD(int) ap_core_translate(request_rec *r);

/* Answers of authentication modules, by their optional functions. */
AP_DECLARE(const char *) ap_auth_type(request_rec *r);
/** AuthName for this request, NULL if not set. */
AP_DECLARE(const char *) ap_auth_name(request_rec *r);
AP_DECLARE(int) ap_satisfies(request_rec *r); /**< SATISFY_* */

/** A Require line as modules of Apache 2.2 had it. */
typedef struct require_line require_line;
/** A Require line and the methods it is for. */
struct require_line {
    apr_int64_t method_mask;
    char *requirement;
};

/* ---- Configuration of the core ------------------------------------------------------------------------- */

/** The core, whose configurations the functions below fetch. */
AP_DECLARE_DATA extern module core_module;

/** The core's configuration in a vector: it has the first place. */
AP_DECLARE(void *) ap_get_core_module_config(const ap_conf_vector_t *cv);
AP_DECLARE(void) ap_set_core_module_config(ap_conf_vector_t *cv, void *val);
/** The connection's socket; it stays the core's. */
AP_DECLARE(apr_socket_t *) ap_get_conn_socket(conn_rec *c);

/** The core is always the first module. */
#ifdef AP_DEBUG
#define AP_CORE_MODULE_INDEX (AP_DEBUG_ASSERT(core_module.module_index == 0), 0)
#else
#define AP_CORE_MODULE_INDEX 0
#define ap_get_core_module_config(v) (((void **)(v))[AP_CORE_MODULE_INDEX])
#define ap_set_core_module_config(v, val) ((((void **)(v))[AP_CORE_MODULE_INDEX]) = (val))
#endif

/** The core's part of request_rec.request_config. */
typedef struct {
    struct apr_bucket_brigade *bb;
    void **notes; /**< by number, see ap_get_request_note() */
    char **response_code_strings;
    const char *document_root;
    const char *context_document_root;
    const char *context_prefix;
    int deliver_script;
    int suppress_charset;
} core_request_config;

/* Numbers of the core's own notes. */
#define AP_NOTE_DIRECTORY_WALK 0
#define AP_NOTE_LOCATION_WALK 1
#define AP_NOTE_FILE_WALK 2
#define AP_NOTE_IF_WALK 3
#define AP_NUM_STD_NOTES 4
/** A number of one's own; while hooks are registered only. */
AP_DECLARE(apr_size_t) ap_register_request_note(void);
/** Place of a note, NULL if the number was not registered. */
AP_DECLARE(void **) ap_get_request_note(request_rec *r, apr_size_t note_num);

typedef unsigned char allow_options_t;   /**< OPT_* */
typedef unsigned int overrides_t;        /**< OR_* */
typedef unsigned long etag_components_t; /**< ETAG_* */

/* FileETag */
#define ETAG_UNSET 0
#define ETAG_NONE (1 << 0)
#define ETAG_MTIME (1 << 1)
#define ETAG_INODE (1 << 2)
#define ETAG_SIZE (1 << 3)
#define ETAG_DIGEST (1 << 4)
#define ETAG_ALL (ETAG_MTIME | ETAG_INODE | ETAG_SIZE)
#define ETAG_BACKWARD (ETAG_MTIME | ETAG_SIZE)

/* A flag that may be unset. */
#define AP_CORE_CONFIG_OFF (0)
#define AP_CORE_CONFIG_ON (1)
#define AP_CORE_CONFIG_UNSET (2)
#define AP_CORE_MERGE_FLAG(field, to, base, over) \
    to->field = over->field != AP_CORE_CONFIG_UNSET ? over->field : base->field

/** ServerSignature. */
typedef enum {
    srv_sig_unset,
    srv_sig_off,
    srv_sig_on,
    srv_sig_withmail
} server_signature_e;

/** Per directory. Modules read it through ap_get_core_module_config(r->per_dir_config). */
typedef struct {
    char *d;                /**< the directory, with a final slash, or pattern */
    unsigned d_components;  /**< slashes in d */

    allow_options_t opts;
    allow_options_t opts_add;
    allow_options_t opts_remove;
    overrides_t override;
    allow_options_t override_opts;

    char **response_code_strings; /**< ErrorDocument, by ap_index_of_response() */

#define HOSTNAME_LOOKUP_OFF 0
#define HOSTNAME_LOOKUP_ON 1
#define HOSTNAME_LOOKUP_DOUBLE 2
#define HOSTNAME_LOOKUP_UNSET 3
    unsigned int hostname_lookups : 4;

    unsigned int content_md5 : 2;

#define USE_CANONICAL_NAME_OFF (0)
#define USE_CANONICAL_NAME_ON (1)
#define USE_CANONICAL_NAME_DNS (2)
#define USE_CANONICAL_NAME_UNSET (3)
    unsigned use_canonical_name : 2;

    unsigned d_is_fnmatch : 1;

#define ADD_DEFAULT_CHARSET_OFF (0)
#define ADD_DEFAULT_CHARSET_ON (1)
#define ADD_DEFAULT_CHARSET_UNSET (2)
    unsigned add_default_charset : 2;
    const char *add_default_charset_name;

    /* RLimit*; NULL: not set */
    struct rlimit *limit_cpu;
    struct rlimit *limit_mem;
    struct rlimit *limit_nproc;

    apr_off_t limit_req_body;
    long limit_xml_body;
    server_signature_e server_signature;

    apr_array_header_t *sec_file; /**< Files sections, of ap_conf_vector_t *, as the next */
    apr_array_header_t *sec_if;

    ap_regex_t *r; /**< of a Match section */

    const char *mime_type; /**< ForceType */
    const char *handler;   /**< SetHandler */
    const char *output_filters;
    const char *input_filters;
    int accept_path_info;

    etag_components_t etag_bits;
    etag_components_t etag_add;
    etag_components_t etag_remove;

#define ENABLE_MMAP_OFF (0)
#define ENABLE_MMAP_ON (1)
#define ENABLE_MMAP_UNSET (2)
    unsigned int enable_mmap : 2;

#define ENABLE_SENDFILE_OFF (0)
#define ENABLE_SENDFILE_ON (1)
#define ENABLE_SENDFILE_UNSET (2)
    unsigned int enable_sendfile : 2;

#define USE_CANONICAL_PHYS_PORT_OFF (0)
#define USE_CANONICAL_PHYS_PORT_ON (1)
#define USE_CANONICAL_PHYS_PORT_UNSET (2)
    unsigned int use_canonical_phys_port : 2;

    unsigned int allow_encoded_slashes : 1;
    unsigned int decode_encoded_slashes : 1;

#define AP_CONDITION_IF 1
#define AP_CONDITION_ELSE 2
#define AP_CONDITION_ELSEIF (AP_CONDITION_ELSE | AP_CONDITION_IF)
    unsigned int condition_ifelse : 2;
    ap_expr_info_t *condition;

    struct ap_logconf *log;
    apr_table_t *override_list;

#define AP_MAXRANGES_UNSET -1
#define AP_MAXRANGES_DEFAULT -2
#define AP_MAXRANGES_UNLIMITED -3
#define AP_MAXRANGES_NORANGES 0
    int max_ranges;
    int max_overlaps;
    int max_reversals;

    apr_array_header_t *refs; /**< names of an expression's groups */
    apr_hash_t *response_code_exprs;

#define AP_CGI_PASS_AUTH_OFF (0)
#define AP_CGI_PASS_AUTH_ON (1)
#define AP_CGI_PASS_AUTH_UNSET (2)
    unsigned int cgi_pass_auth : 2;
    unsigned int qualify_redirect_url : 2;
    ap_expr_info_t *expr_handler;
    apr_hash_t *cgi_var_rules;
    apr_size_t read_buf_size;
} core_dir_config;

/** 1 if EnableSendfile asks for it. */
#define AP_SENDFILE_ENABLED(x) ((x) == ENABLE_SENDFILE_ON ? APR_SENDFILE_ENABLED : 0)

/** Per server. */
typedef struct {
    char *gprof_dir;
    const char *ap_document_root;
    char *access_name; /**< AccessFileName */

    apr_array_header_t *sec_dir; /**< Directory sections, sorted, of ap_conf_vector_t *, as the next */
    apr_array_header_t *sec_url; /**< Location sections */

    int redirect_limit; /**< 0: the default, as the next */
    int subreq_limit;

    const char *protocol;
    apr_table_t *accf_map;

    apr_array_header_t *error_log_format; /**< of ap_errorlog_format_item */
    apr_array_header_t *error_log_conn;   /**< of such arrays, as the next */
    apr_array_header_t *error_log_req;

#define AP_TRACE_UNSET -1
#define AP_TRACE_DISABLE 0
#define AP_TRACE_ENABLE 1
#define AP_TRACE_EXTENDED 2
    int trace_enable;

#define AP_MERGE_TRAILERS_UNSET 0
#define AP_MERGE_TRAILERS_ENABLE 1
#define AP_MERGE_TRAILERS_DISABLE 2
    int merge_trailers;

    apr_array_header_t *protocols;
    int protocols_honor_order;

#define AP_HTTP09_UNSET 0
#define AP_HTTP09_ENABLE 1
#define AP_HTTP09_DISABLE 2
    char http09_enable;

#define AP_HTTP_CONFORMANCE_UNSET 0
#define AP_HTTP_CONFORMANCE_UNSAFE 1
#define AP_HTTP_CONFORMANCE_STRICT 2
    char http_conformance;

#define AP_HTTP_METHODS_UNSET 0
#define AP_HTTP_METHODS_LENIENT 1
#define AP_HTTP_METHODS_REGISTERED 2
    char http_methods;
    unsigned int merge_slashes;

    apr_size_t flush_max_threshold;
    apr_int32_t flush_max_pipelined;
    unsigned int strict_host_check;
} core_server_config;

/* Add a section while the configuration is read. */
AP_CORE_DECLARE(void) ap_add_per_dir_conf(server_rec *s, void *dir_config);
/** Add a <Location> section's configuration to a server. */
AP_CORE_DECLARE(void) ap_add_per_url_conf(server_rec *s, void *url_config);
/** Add a <Files> section's configuration to a directory's. */
AP_CORE_DECLARE(void) ap_add_file_conf(apr_pool_t *p, core_dir_config *conf, void *url_config);
/** Add an <If> section's configuration to a directory's. */
AP_CORE_DECLARE(const char *) ap_add_if_conf(apr_pool_t *p, core_dir_config *conf, void *url_config);
/** The Limit and LimitExcept sections, for modules that define their own. */
AP_CORE_DECLARE_NONSTD(const char *) ap_limit_section(cmd_parms *cmd, void *dummy, const char *arg);
/** Put Directory sections in the order in which they apply. */
AP_DECLARE(void) ap_core_reorder_directories(apr_pool_t *p, server_rec *s);
/** AddOutputFilterByType: done by a module of its own; kept for old callers. */
AP_DECLARE(void) ap_add_output_filters_by_type(request_rec *r);

/* The Protocol directive. */
AP_DECLARE(const char *) ap_get_server_protocol(server_rec *s);
/** The protocol of a server's listeners: "http" or "https". */
AP_DECLARE(void) ap_set_server_protocol(server_rec *s, const char *proto);

/* ---- The socket's filters ------------------------------------------------------------------------------ */

/** CORE_IN, the end of input chains: reads from the socket. */
AP_DECLARE(apr_status_t)
ap_core_input_filter(ap_filter_t *f, apr_bucket_brigade *b, ap_input_mode_t mode,
                     apr_read_type_e block, apr_off_t readbytes);
/** CORE, the end of output chains: writes to the socket, and keeps the rest that it does not take.
 */
AP_DECLARE(apr_status_t) ap_core_output_filter(ap_filter_t *f, apr_bucket_brigade *b);

/** State of CORE for a connection; its inside is the core's. */
typedef struct core_output_filter_ctx core_output_filter_ctx_t;
/** State of CORE_IN for a connection. */
typedef struct core_filter_ctx core_ctx_t;

/** As core_ctx_t. */
struct core_filter_ctx {
    apr_bucket_brigade *b;
    apr_bucket_brigade *tmpbb;
};

/** A connection as the core's filters see it. */
typedef struct core_net_rec {
    apr_socket_t *client_socket;
    conn_rec *c;
    core_output_filter_ctx_t *out_ctx;
    core_ctx_t *in_ctx;
} core_net_rec;

/** SUBREQ_CORE, the end of a sub-request's chain. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_subreq_core_filter_handle;
/** CORE. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_core_output_filter_handle;
/** CONTENT_LENGTH. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_content_length_filter_handle;
/** CORE_IN. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_core_input_filter_handle;

/** Put the socket's bucket at the end of a connection's input. First that does not decline. */
AP_DECLARE_HOOK(apr_status_t, insert_network_bucket,
                (conn_rec *c, apr_bucket_brigade *bb, apr_socket_t *socket))

/** The descriptor to poll to learn that a connection (perhaps a stream) can go on. First that does
 * not decline. */
AP_DECLARE_HOOK(apr_status_t, get_pollfd_from_conn,
                (conn_rec *c, struct apr_pollfd_t *pfd, apr_interval_time_t *ptimeout))
AP_CORE_DECLARE(apr_status_t)
ap_get_pollfd_from_conn(conn_rec *c, struct apr_pollfd_t *pfd, apr_interval_time_t *ptimeout);

/* ---- Management values --------------------------------------------------------------------------------- */

/** Kinds of values of the hook get_mgmt_items. */
typedef enum {
    ap_mgmt_type_string,
    ap_mgmt_type_long,
    ap_mgmt_type_hash
} ap_mgmt_type_e;

/** Such a value. */
typedef union {
    const char *s_value;
    long i_value;
    apr_hash_t *h_value;
} ap_mgmt_value;

/** A value with its name and description. */
typedef struct {
    const char *description;
    const char *name;
    ap_mgmt_type_e vtype;
    ap_mgmt_value v;
} ap_mgmt_item_t;

/** Fill @a ht with items whose name matches @a val. */
AP_DECLARE_HOOK(int, get_mgmt_items, (apr_pool_t *p, const char *val, apr_hash_t *ht))

/* ---- Format of the error log --------------------------------------------------------------------------- */

/** Facts about a message. Any pointer but pool may be NULL. */
typedef struct ap_errorlog_info {
    const server_rec *s;
    const conn_rec *c;
    const request_rec *r;     /**< of the message */
    const request_rec *rmain; /**< its main request */
    apr_pool_t *pool;
    const char *file;
    int line;
    int module_index;
    int level;
    apr_status_t status;
    int using_syslog;
    int startup;
    const char *format;
} ap_errorlog_info;

/** Write an item to @a buf and return its length; 0 stands for nothing. */
typedef int ap_errorlog_handler_fn_t(const ap_errorlog_info *info, const char *arg, char *buf,
                                     int buflen);
/** Offer an item of ErrorLogFormat, when modules are loaded. */
AP_DECLARE(void)
ap_register_errorlog_handler(apr_pool_t *p, char *tag, ap_errorlog_handler_fn_t *handler, int flags);

/** An item that was offered, with its flags. */
typedef struct ap_errorlog_handler {
    ap_errorlog_handler_fn_t *func;
    int flags;
} ap_errorlog_handler;

/** How an item is printed: a field of its own, the message, "-" where it is empty. */
#define AP_ERRORLOG_FLAG_FIELD_SEP 1
#define AP_ERRORLOG_FLAG_MESSAGE 2
#define AP_ERRORLOG_FLAG_REQUIRED 4       /**< without it the line is not written */
/** "-" is printed where it is empty. */
#define AP_ERRORLOG_FLAG_NULL_AS_HYPHEN 8

/** An item of a parsed ErrorLogFormat. */
typedef struct {
    ap_errorlog_handler_fn_t *func;
    const char *arg;
    unsigned int flags;
    unsigned int min_loglevel;
} ap_errorlog_format_item;

/** A message was logged. Run all. Must not log. */
AP_DECLARE_HOOK(void, error_log, (const ap_errorlog_info *info, const char *errstr))

AP_CORE_DECLARE(void) ap_register_log_hooks(apr_pool_t *p);
/** Register the hooks that the core needs to read the configuration. */
AP_CORE_DECLARE(void) ap_register_config_hooks(apr_pool_t *p);

/* ---- Optional functions of modules that the core uses -------------------------------------------------- */

APR_DECLARE_OPTIONAL_FN(void, ap_logio_add_bytes_out, (conn_rec *c, apr_off_t bytes));
APR_DECLARE_OPTIONAL_FN(void, ap_logio_add_bytes_in, (conn_rec *c, apr_off_t bytes));
APR_DECLARE_OPTIONAL_FN(apr_off_t, ap_logio_get_last_bytes, (conn_rec *c));
APR_DECLARE_OPTIONAL_FN(const char *, ap_ident_lookup, (request_rec *r));
APR_DECLARE_OPTIONAL_FN(int, authz_some_auth_required, (request_rec *r));
APR_DECLARE_OPTIONAL_FN(const char *, authn_ap_auth_type, (request_rec *r));
APR_DECLARE_OPTIONAL_FN(const char *, authn_ap_auth_name, (request_rec *r));
APR_DECLARE_OPTIONAL_FN(int, access_compat_ap_satisfies, (request_rec *r));

/* ---- State of the program ------------------------------------------------------------------------------ */

/** The server's stage, its start, its configuration; AP_SQ_NOT_SUPPORTED. */
AP_DECLARE(int) ap_state_query(int query_code);

/* Questions */
#define AP_SQ_MAIN_STATE 0
#define AP_SQ_RUN_MODE 1
#define AP_SQ_CONFIG_GEN 2
#define AP_SQ_NOT_SUPPORTED -1

/* Answers to AP_SQ_MAIN_STATE */
#define AP_SQ_MS_INITIAL_STARTUP 1
#define AP_SQ_MS_CREATE_PRE_CONFIG 2
#define AP_SQ_MS_DESTROY_CONFIG 3
#define AP_SQ_MS_CREATE_CONFIG 4
#define AP_SQ_MS_RUN_MPM 5
#define AP_SQ_MS_EXITING 6

/* Answers to AP_SQ_RUN_MODE */
#define AP_SQ_RM_UNKNOWN 1
#define AP_SQ_RM_NORMAL 2
#define AP_SQ_RM_CONFIG_TEST 3
#define AP_SQ_RM_CONFIG_DUMP 4

#ifdef __cplusplus
}
#endif
#endif
