/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_PARSE_H
#define BRIGADE_H1_PARSE_H

/**
 * @file h1_parse.h
 * HTTP/1 request heads, parsed in place: nothing is copied or allocated, every pointer in the
 * result points into the caller's buffer. Knows the grammar of RFC 9110 and RFC 9112 and the
 * configured limits; knows no policy (virtual hosts, files, methods that a handler takes).
 */
#include <stddef.h>
#include <stdint.h>

/** Header fields that the core looks at; all others are H1_OTHER. */
typedef enum h1_field_id {
    H1_OTHER,
    H1_HOST,
    H1_CONNECTION,
    H1_CONTENT_LENGTH,
    H1_TRANSFER_ENCODING,
    H1_EXPECT,
    H1_UPGRADE,
    H1_RANGE,
    H1_IF_RANGE,
    H1_IF_MATCH,
    H1_IF_NONE_MATCH,
    H1_IF_MODIFIED_SINCE,
    H1_IF_UNMODIFIED_SINCE,
    H1_AUTHORIZATION,
    H1_COOKIE,
    H1_ACCEPT,
    H1_ACCEPT_ENCODING,
    H1_ACCEPT_LANGUAGE,
    H1_USER_AGENT,
    H1_REFERER,
    H1_CACHE_CONTROL,
    H1_PRAGMA,
    H1_TE,
    H1_TRAILER,
    H1_KEEP_ALIVE,
    H1_X_FORWARDED_FOR,
    H1_FIELD_IDS
} h1_field_id;

/** One field line. The value has no leading or trailing blanks. Neither string is NUL-terminated by
 * the parser. */
typedef struct h1_field {
    const char *name, *value;
    uint32_t name_len, value_len;
    uint8_t id; /**< h1_field_id */
} h1_field;

#define H1_OWN_FIELDS 256   /**< fields that an h1_head has room for itself */
#define H1_MAX_FIELDS 32767 /**< refused beyond it, even if LimitRequestFields says 0 */

typedef enum h1_method {
    H1_M_OTHER,
    H1_M_GET,
    H1_M_HEAD,
    H1_M_POST,
    H1_M_OPTIONS,
    H1_M_TRACE
} h1_method;

typedef struct h1_limits {
    uint32_t line;       /**< LimitRequestLine, bytes without the line end */
    uint32_t field_size; /**< LimitRequestFieldSize, bytes of one field line */
    uint32_t fields;     /**< LimitRequestFields; 0 = no limit but H1_MAX_FIELDS */
    h1_field *room;      /**< for more than H1_OWN_FIELDS: H1_MAX_FIELDS of them, the calling
                            thread's; NULL = no more than a head has itself */
    uint8_t unsafe;      /**< HttpProtocolOptions Unsafe */
    uint8_t allow_09;    /**< HttpProtocolOptions Allow0.9 */
    uint8_t any_major;   /**< the line was made from another protocol's request, such as HTTP/2's */
} h1_limits;

typedef struct h1_head {
    const char *line; /**< request line as sent, without its line end */
    uint32_t line_len;
    const char *method, *uri, *protocol;
    uint32_t method_len, uri_len, protocol_len;
    uint8_t method_id;       /**< h1_method */
    uint8_t major, minor;    /**< 0.9 is {0, 9} */
    uint8_t close;           /**< a Connection token "close" */
    uint8_t keep_alive;      /**< a Connection token "keep-alive" */
    uint8_t upgrade;         /**< a Connection token "upgrade" */
    uint8_t has_body;        /**< Content-Length above 0 or Transfer-Encoding */
    uint8_t repeated;        /**< some field name that the core knows came more than once */
    uint8_t chunked;         /**< the body is in the chunked transfer coding */
    uint64_t content_length; /**< 0 when there is none or the body is chunked */
    uint16_t n_fields;
    int16_t known[H1_FIELD_IDS]; /**< index in field[] of the first of each, -1 = absent */
    uint32_t
        head_len; /**< bytes of the whole head, blank line included (and blank lines before it) */
    int status;   /**< 0, or the HTTP status that refuses this request */
    /** With status: the log's message, constant, with Apache's number where Apache has the same. A
     * format: at most one "%.*s" for bad, and then at most one "%s" for the target. */
    const char *why;
    const char *note; /**< with status: sentence for the client's error page, may be NULL */
    const char *bad;  /**< with status: what offended, may be NULL */
    uint32_t bad_len;
    uint8_t bad_is_field; /**< with status: the line of a field offended */
    uint8_t bad_is_long;  /**< with status: a configured limit was passed */
    h1_field *field;      /**< own, or the limits' room */
    h1_field own[H1_OWN_FIELDS];
} h1_head;

typedef enum h1_result {
    H1_MORE, /**< the head is not complete, no limit is passed: read more and call again */
    H1_DONE, /**< complete and well-formed */
    H1_BAD /**< refuse with head->status and close: where the next request would start is not known
            */
} h1_result;

/**
 * Parse the request head at the start of @a buf.
 *
 * @param head      [out]    all but field[n_fields..] is set, also for H1_BAD (as far as the parse
 * came)
 * @param buf       [in]     bytes received; not modified; need not be NUL-terminated
 * @param len       [in]     how many
 * @param scanned   [in,out] 0 for a new request, else as the last call for this head left it: the
 * bytes that were searched, so that a head that arrives byte by byte costs linear time
 *
 * Folded lines, NUL, CR outside of a line end, a blank before a field's colon and two ways to tell
 * the length of a body are refused in every mode; "Unsafe" forgives only what cannot be read in two
 * ways.
 *
 * Threads: any. Blocking: no. Source: RFC 9112 sections 2 to 5.
 */
h1_result h1_parse(h1_head *head, const char *buf, size_t len, size_t *scanned,
                   const h1_limits *limits);

/** As h1_parse, for a buffer that holds a request line and its line end only: fields are not looked
 * for. */
h1_result h1_parse_request_line(h1_head *head, const char *buf, size_t len,
                                const h1_limits *limits);

/** Set limits->room for the calling thread if limits->fields asks for it (h1_fields_room.c). */
void h1_fields_room(h1_limits *limits);

#endif
