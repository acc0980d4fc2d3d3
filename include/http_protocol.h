/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_PROTOCOL_H
#define APACHE_HTTP_PROTOCOL_H

/**
 * @file http_protocol.h
 * Reading requests and writing responses. All of it is for the thread that has the request; functions that
 * read a body or write content may block up to Timeout.
 */
#include "httpd.h"
#include "apr_portable.h"
#include "apr_mmap.h"
#include "apr_buckets.h"
#include "util_filter.h"
#include <limits.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reading a request --------------------------------------------------------------------------------- */

/** An empty request on a connection, in a pool of its own. */
AP_DECLARE(request_rec *) ap_create_request(conn_rec *c);
/** Read a request's head. NULL: none came, or an error was answered. */
AP_DECLARE(request_rec *) ap_read_request(conn_rec *c);
/** Take r->the_request apart. 0 and r->status set if it is bad. */
AP_DECLARE(int) ap_parse_request_line(request_rec *r);
/** Rules on Host and framing. 0 and r->status set if one is broken. */
AP_DECLARE(int) ap_check_request_header(request_rec *r);
/** Read header fields to r->headers_in; r->status is set if they are bad. */
AP_DECLARE(void) ap_get_mime_headers(request_rec *r);
/** The same with a brigade of the caller's for look-ahead. Threads: r's. May block. */
AP_DECLARE(void) ap_get_mime_headers_core(request_rec *r, apr_bucket_brigade *bb);
/** Virtual host, Expect and the post_read_request hook. OK or a status. */
AP_DECLARE(int) ap_post_read_request(request_rec *r);
/** Set r->uri, args, hostname and parsed_uri from a request target. r->status is set if it is bad. */
AP_CORE_DECLARE(void) ap_parse_uri(request_rec *r, const char *uri);

#define AP_GETLINE_FOLD 1      /**< join continued lines */
#define AP_GETLINE_CRLF 2      /**< a line ends with CR LF, nothing else */
#define AP_GETLINE_NOSPC_EOL 4 /**< drop no space at the end */
/** A line through the input filters; its length, -1 error, @a n if it is too long. */
AP_DECLARE(int) ap_getline(char *s, int n, request_rec *r, int flags);
/** ap_rgetline_core() under the name that modules use; @a fold: AP_GETLINE_* flags. */
#define ap_rgetline(s, n, read, r, fold, bb) ap_rgetline_core((s), (n), (read), (r), (fold), (bb))
/** The same; *s NULL: in the request's pool. APR_ENOSPC: too long. */
AP_DECLARE(apr_status_t)
ap_rgetline_core(char **s, apr_size_t n, apr_size_t *read, request_rec *r, int flags,
                 apr_bucket_brigade *bb);

/* Reading the body with the old interface: set up, ask, then read until 0 (end) or -1 (error). */
AP_DECLARE(int) ap_setup_client_block(request_rec *r, int read_policy);
/** 1 if there is a body that was not begun. */
AP_DECLARE(int) ap_should_client_block(request_rec *r);
/** At most @a bufsiz bytes of the body; 0 at its end, -1 on error. May block. */
AP_DECLARE(long) ap_get_client_block(request_rec *r, char *buffer, apr_size_t bufsiz);
/** The HTTP status for an error of ap_get_brigade(), @a status for others. */
AP_DECLARE(int) ap_map_http_request_error(apr_status_t rv, int status);
/** Read the rest of the body and forget it. OK or a status. */
AP_DECLARE(int) ap_discard_request_body(request_rec *r);

/* ---- Methods ------------------------------------------------------------------------------------------- */

/** Number for a method of one's own; M_INVALID if there are no more. Configuration time only. */
AP_DECLARE(int) ap_method_register(apr_pool_t *p, const char *methname);
/** Forget registered methods and begin anew, for a configuration that is read into @a p. */
AP_DECLARE(void) ap_method_registry_init(apr_pool_t *p);
/** M_INVALID if it is not known. Names are case-sensitive. */
AP_DECLARE(int) ap_method_number_of(const char *method);
/** Name of a method number, NULL if unknown. Constant, or from @a p. */
AP_DECLARE(const char *) ap_method_name_of(apr_pool_t *p, int methnum);
/** Nonzero if the method called @a methname is in the set @a mask. */
#define AP_METHOD_CHECK_ALLOWED(mask, methname) \
    ((mask) & (AP_METHOD_BIT << ap_method_number_of((methname))))
/** An empty set of methods, with room for @a nelts names without a number. */
AP_DECLARE(ap_method_list_t *) ap_make_method_list(apr_pool_t *p, int nelts);
/** Make @a dest the same set as @a src; names are not copied. */
AP_DECLARE(void) ap_copy_method_list(ap_method_list_t *dest, ap_method_list_t *src);
/** 1 if @a method is in the set. */
AP_DECLARE(int) ap_method_in_list(ap_method_list_t *l, const char *method);
/** Put a method into the set, by its number or else by its name, which is not copied. */
AP_DECLARE(void) ap_method_list_add(ap_method_list_t *l, const char *method);
/** Take a method out of the set. */
AP_DECLARE(void) ap_method_list_remove(ap_method_list_t *l, const char *method);
/** Make the set empty. */
AP_DECLARE(void) ap_clear_method_list(ap_method_list_t *l);

/* ---- Response header ----------------------------------------------------------------------------------- */

/** Trusted ones, from the configuration, win. @a ct is not copied. */
AP_DECLARE(void) ap_set_content_type(request_rec *r, const char *ct);
/** The same; @a trusted: the type comes from the configuration, which a content's own cannot replace. */
AP_DECLARE(void) ap_set_content_type_ex(request_rec *r, const char *ct, int trusted);
/** The type with the default charset, where one belongs. NULL type: the default. */
AP_DECLARE(const char *) ap_make_content_type(request_rec *r, const char *type);
/** Called once by the core before the first request. */
AP_DECLARE(void) ap_setup_make_content_type(apr_pool_t *pool);
/** Set r->clength and the field Content-Length. */
AP_DECLARE(void) ap_set_content_length(request_rec *r, apr_off_t length);
/** Set Accept-Ranges as MaxRanges has it. */
AP_DECLARE(void) ap_set_accept_ranges(request_rec *r);
/** Decide whether the connection stays open and set the fields for it. 1 if it does. */
AP_DECLARE(int) ap_set_keepalive(request_rec *r);

/** Not later than the time of the request. */
AP_DECLARE(apr_time_t) ap_rationalize_mtime(request_rec *r, apr_time_t mtime);
/** Set Last-Modified from r->mtime, but not later than the request. */
AP_DECLARE(void) ap_set_last_modified(request_rec *r);

/** See below. */
typedef struct etag_rec etag_rec;
/** The components of an entity tag. */
struct etag_rec {
    const char *vlist_validator;
    apr_time_t request_time;
    apr_finfo_t *finfo;
    const char *pathname; /**< for a digest, or fd */
    apr_file_t *fd;
    int force_weak;
};
/** An entity tag from r->finfo, "" if FileETag says None. */
AP_DECLARE(char *) ap_make_etag(request_rec *r, int force_weak);
/** The same of parts that the caller gives. Reads the file where FileETag asks for a digest. In r->pool. */
AP_DECLARE(char *) ap_make_etag_ex(request_rec *r, etag_rec *er);
/** Set the field ETag by ap_make_etag(). */
AP_DECLARE(void) ap_set_etag(request_rec *r);
/** The same, with an open file for the digest of FileETag; it stays the caller's. */
AP_DECLARE(void) ap_set_etag_fd(request_rec *r, apr_file_t *fd);

/** Result of a conditional field. */
typedef enum {
    AP_CONDITION_NONE,    /**< the field is not there */
    AP_CONDITION_NOMATCH,
    AP_CONDITION_WEAK,
    AP_CONDITION_STRONG
} ap_condition_e;
/* @a headers are those of the response. */
AP_DECLARE(ap_condition_e) ap_condition_if_match(request_rec *r, apr_table_t *headers);
/** If-Unmodified-Since against Last-Modified. */
AP_DECLARE(ap_condition_e) ap_condition_if_unmodified_since(request_rec *r, apr_table_t *headers);
/** If-None-Match against ETag; AP_CONDITION_NOMATCH: no tag of it fits. */
AP_DECLARE(ap_condition_e) ap_condition_if_none_match(request_rec *r, apr_table_t *headers);
/** If-Modified-Since against Last-Modified. */
AP_DECLARE(ap_condition_e) ap_condition_if_modified_since(request_rec *r, apr_table_t *headers);
/** If-Range, a tag or a date; only a strong match lets ranges be sent. */
AP_DECLARE(ap_condition_e) ap_condition_if_range(request_rec *r, apr_table_t *headers);
/** All of them in their order: OK, 304 or 412. Set ETag and Last-Modified before. */
AP_DECLARE(int) ap_meets_conditions(request_rec *r);

/** Place of a status in tables of RESPONSE_CODES entries; that of 500 if it has none. */
AP_DECLARE(int) ap_index_of_response(int status);
/** "404 Not Found"; that of 500 for a code without a text. */
AP_DECLARE(const char *) ap_get_status_line(int status);
/** The same; for a code without a text a line of its own. */
AP_DECLARE(const char *) ap_get_status_line_ex(apr_pool_t *p, int status);

/* ---- Response body ------------------------------------------------------------------------------------- */

/* Through r->output_filters, buffered. Number of bytes, or -1 if the client is gone. */
AP_DECLARE(int) ap_rputc(int c, request_rec *r);
/** @a nbyte bytes, which are copied or sent before the return. */
AP_DECLARE(int) ap_rwrite(const void *buf, int nbyte, request_rec *r);
/** Strings, then NULL. */
AP_DECLARE_NONSTD(int) ap_rvputs(request_rec *r, ...) AP_FN_ATTR_SENTINEL;
/** Formatted text, by apr_vformatter(), with its arguments in a list. */
AP_DECLARE(int) ap_vrprintf(request_rec *r, const char *fmt, va_list vlist);
/** Formatted text. */
AP_DECLARE_NONSTD(int)
ap_rprintf(request_rec *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Send the buffered data. 0, or -1. */
AP_DECLARE(int) ap_rflush(request_rec *r);

/** A string of any length. */
static APR_INLINE int ap_rputs(const char *str, request_rec *r)
{
    apr_size_t left = strlen(str);

    while (left > INT_MAX) {
        int rc = ap_rwrite(str, INT_MAX, r);

        if (rc < 0) {
            return rc;
        }
        str += INT_MAX;
        left -= INT_MAX;
    }
    return ap_rwrite(str, (int)left, r);
}

/** Part of a file. It may be sent after the return: the file must stay open as long as the request. */
AP_DECLARE(apr_status_t)
ap_send_fd(apr_file_t *fd, request_rec *r, apr_off_t offset, apr_size_t length, apr_size_t *nbytes);
#if APR_HAS_MMAP
/** Part of a mapping, which must live as long as the request. Number of bytes. */
AP_DECLARE(apr_size_t)
ap_send_mmap(apr_mmap_t *mm, request_rec *r, apr_size_t offset, apr_size_t length);
#endif

/** End the response: send the buffered data, and an EOS if it is missing. */
AP_DECLARE(void) ap_finalize_request_protocol(request_rec *r);
/** The error page for r->status. @a recursive_error: the status of an ErrorDocument that failed, or 0. */
AP_DECLARE(void) ap_send_error_response(request_rec *r, int recursive_error);
/** 1xx, at once; with r->headers_out if @a send_headers. */
AP_DECLARE(void) ap_send_interim_response(request_rec *r, int send_headers);

/** Make @a rnew a sub-request of @a r: no head of its own, GET, no body. */
AP_DECLARE(void) ap_set_sub_req_protocol(request_rec *rnew, const request_rec *r);
/** The end of a sub-request's output: EOS, if there was none. */
AP_DECLARE(void) ap_finalize_sub_req_protocol(request_rec *sub_r);

/* ---- Authentication ------------------------------------------------------------------------------------ */

/** Set WWW-Authenticate (or Proxy-), for a 401. */
AP_DECLARE(void) ap_note_auth_failure(request_rec *r);
/* For one scheme; kept for old modules. */
AP_DECLARE(void) ap_note_basic_auth_failure(request_rec *r);
/** The same for Digest. */
AP_DECLARE(void) ap_note_digest_auth_failure(request_rec *r);
/** Set the fields of a 401 for a scheme. First that does not decline. */
AP_DECLARE_HOOK(int, note_auth_failure, (request_rec *r, const char *auth_type))
/** Password by Basic, user to r->user. OK; DECLINED: not for Basic; 401 after noting the failure. */
AP_DECLARE(int) ap_get_basic_auth_pw(request_rec *r, const char **pw);
/** The note of a request in which the password of ap_get_basic_auth_pw() is kept. */
#define AP_GET_BASIC_AUTH_PW_NOTE "AP_GET_BASIC_AUTH_PW_NOTE"
/** User and password as sent, whatever is configured. APR_EINVAL: none. */
AP_DECLARE(apr_status_t)
ap_get_basic_auth_components(const request_rec *r, const char **username, const char **password);

/* ---- Protocols on a connection ------------------------------------------------------------------------- */

/** Name of HTTP/1 in Protocols, ALPN and Upgrade. */
#define AP_PROTOCOL_HTTP1 "http/1.1"

/** Add those of @a offers that one can speak to @a proposals; DECLINED if none. Run all. */
AP_DECLARE_HOOK(int, protocol_propose,
                (conn_rec *c, request_rec *r, server_rec *s, const apr_array_header_t *offers,
                 apr_array_header_t *proposals))
/** Speak it from now on; DONE: finished with the connection. First that does not decline. */
AP_DECLARE_HOOK(int, protocol_switch,
                (conn_rec *c, request_rec *r, server_rec *s, const char *protocol))
/** The connection's protocol, NULL: not mine. */
AP_DECLARE_HOOK(const char *, protocol_get, (const conn_rec *c))

/** Better protocols than the present one, by configuration; *pupgrades NULL if there are none. */
AP_DECLARE(apr_status_t)
ap_get_protocol_upgrades(conn_rec *c, request_rec *r, server_rec *s, int report_all,
                         const apr_array_header_t **pupgrades);
/** The best of @a choices that modules propose and Protocols allows, or the present one. NULL: none of them. */
AP_DECLARE(const char *)
ap_select_protocol(conn_rec *c, request_rec *r, server_rec *s, const apr_array_header_t *choices);
/** Let the module of @a protocol take the connection over. APR_EOF when it is done with it; errors. */
AP_DECLARE(apr_status_t)
ap_switch_protocol(conn_rec *c, request_rec *r, server_rec *s, const char *protocol);
/** The connection's protocol: AP_PROTOCOL_HTTP1 if no module says otherwise. */
AP_DECLARE(const char *) ap_get_protocol(conn_rec *c);
/** 1 if Protocols of the server that is meant by @a r, @a s or @a c allows @a protocol. */
AP_DECLARE(int)
ap_is_allowed_protocol(conn_rec *c, request_rec *r, server_rec *s, const char *protocol);

/* ---- Error buckets ------------------------------------------------------------------------------------- */

/** See below. */
typedef struct ap_bucket_error ap_bucket_error;
/** Metadata that tells filters of an error. */
struct ap_bucket_error {
    apr_bucket_refcount refcount;
    int status;
    const char *data; /**< may be NULL */
};
/** Metadata without bytes; it may be copied and outlives the call. */
AP_DECLARE_DATA extern const apr_bucket_type_t ap_bucket_type_error;
/** 1 if @a e tells of an error. */
#define AP_BUCKET_IS_ERROR(e) (e->type == &ap_bucket_type_error)
/** Make @a b one; @a buf is copied into @a p, or NULL. */
AP_DECLARE(apr_bucket *)
ap_bucket_error_make(apr_bucket *b, int error, const char *buf, apr_pool_t *p);
/** A new one, from @a list. */
AP_DECLARE(apr_bucket *)
ap_bucket_error_create(int error, const char *buf, apr_pool_t *p, apr_bucket_alloc_t *list);

/* ---- Filters ------------------------------------------------------------------------------------------- */

/** OLD_WRITE, which buffers the output of ap_rputs() and the like. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_old_write_func;
/** BYTERANGE: cuts the ranges out of a response that a Range field asks for. */
AP_DECLARE_NONSTD(apr_status_t) ap_byterange_filter(ap_filter_t *f, apr_bucket_brigade *b);
/** HTTP_HEADER: completes the response's head and puts it in front of the first brigade. */
AP_DECLARE_NONSTD(apr_status_t) ap_http_header_filter(ap_filter_t *f, apr_bucket_brigade *b);
/** CONTENT_LENGTH: counts the body, and says its length where it is known in time. */
AP_DECLARE_NONSTD(apr_status_t) ap_content_length_filter(ap_filter_t *f, apr_bucket_brigade *b);
/** The function of OLD_WRITE. */
AP_DECLARE_NONSTD(apr_status_t) ap_old_write_filter(ap_filter_t *f, apr_bucket_brigade *b);

/* ---- Hooks --------------------------------------------------------------------------------------------- */

/** The filters of an error response. Run all. */
AP_DECLARE_HOOK(void, insert_error_filter, (request_rec *r))
/** Before a head is read. Run all. */
AP_DECLARE_HOOK(void, pre_read_request, (request_rec *r, conn_rec *c))
/** After it is read. Run all. */
AP_DECLARE_HOOK(int, post_read_request, (request_rec *r))
/** The response is out. Run all. */
AP_DECLARE_HOOK(int, log_transaction, (request_rec *r))
/** "http" or "https". First that is not NULL. */
AP_DECLARE_HOOK(const char *, http_scheme, (const request_rec *r))
/** Port of that scheme. First that is not 0. */
AP_DECLARE_HOOK(apr_port_t, default_port, (const request_rec *r))

#ifdef __cplusplus
}
#endif
#endif
