/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_HEAD_H
#define BRIGADE_HTTP_HTTP_HEAD_H

/**
 * @file http_head.h
 * A head as any version of HTTP has it: method, target, authority, scheme or a
 * status code, and fields, with ids for those that the core looks at. A protocol's parser fills it
 * in (h1_parse.h, h1_response_head.h); the response cache looks answers up by that of a request,
 * and request_create() makes a request_rec from it.
 *
 * Nothing is owned: all pointers lead into the parser's memory, valid until the parser goes on to
 * the next head. Threads: one at a time.
 */
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

/** Header fields that the core looks at; all others are HTTP_F_OTHER. */
typedef enum http_field_id {
    HTTP_F_OTHER,
    HTTP_F_HOST,
    HTTP_F_CONNECTION,
    HTTP_F_CONTENT_LENGTH,
    HTTP_F_TRANSFER_ENCODING,
    HTTP_F_EXPECT,
    HTTP_F_UPGRADE,
    HTTP_F_RANGE,
    HTTP_F_IF_RANGE,
    HTTP_F_IF_MATCH,
    HTTP_F_IF_NONE_MATCH,
    HTTP_F_IF_MODIFIED_SINCE,
    HTTP_F_IF_UNMODIFIED_SINCE,
    HTTP_F_AUTHORIZATION,
    HTTP_F_COOKIE,
    HTTP_F_ACCEPT,
    HTTP_F_ACCEPT_ENCODING,
    HTTP_F_ACCEPT_LANGUAGE,
    HTTP_F_USER_AGENT,
    HTTP_F_REFERER,
    HTTP_F_CACHE_CONTROL,
    HTTP_F_PRAGMA,
    HTTP_F_TE,
    HTTP_F_TRAILER,
    HTTP_F_KEEP_ALIVE,
    HTTP_F_X_FORWARDED_FOR,
    HTTP_FIELD_IDS
} http_field_id;

/** One field line. The value has no leading or trailing blanks. Neither string is NUL-terminated by
 * the parser. */
typedef struct http_field {
    const char *name, *value;
    uint32_t name_len, value_len;
    uint8_t id; /**< http_field_id */
} http_field;

/** 1 if @a f has this name, in any case. */
static inline int http_field_is(const http_field *f, const char *name, size_t len)
{
    return f->name_len == len && !strncasecmp(f->name, name, len);
}

/** The same with a literal. */
#define HTTP_FIELD_IS(f, name) http_field_is(f, name, sizeof(name) - 1)

#define HTTP_HEAD_OWN_FIELDS 256   /**< fields that an http_head has room for itself */
#define HTTP_HEAD_MAX_FIELDS 32767 /**< refused beyond it, even if LimitRequestFields says 0 */

typedef enum http_method_id {
    HTTP_METHOD_OTHER,
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_OPTIONS,
    HTTP_METHOD_TRACE
} http_method_id;

typedef struct http_head {
    /** The bytes that all names and values of fields lie in, and the request line as it was sent if
     * there is one: copied in one piece. NULL: each field is copied by itself. */
    const char *line;
    uint32_t line_len; /**< of the request line, without its line end; 0 = none was sent */
    const char *method, *uri, *protocol;
    uint32_t method_len, uri_len, protocol_len;
    uint16_t code;           /**< of a response: its status code; 0: a request */
    uint8_t method_id;       /**< http_method_id */
    uint8_t major, minor;    /**< 0.9 is {0, 9} */
    uint8_t close;           /**< a Connection token "close" */
    uint8_t keep_alive;      /**< a Connection token "keep-alive" */
    uint8_t upgrade;         /**< a Connection token "upgrade" */
    uint8_t has_body;        /**< a body follows */
    uint8_t repeated;        /**< some field name that the core knows came more than once */
    uint8_t chunked;         /**< the body is in the chunked transfer coding */
    uint64_t content_length; /**< 0 without Content-Length, or when the body is chunked */
    uint16_t n_fields;
    int16_t known[HTTP_FIELD_IDS]; /**< index in field[] of the first of each, -1 = absent */
    uint32_t head_len; /**< bytes that the head took of the input, blank lines before it included */
    int status;        /**< 0, or the HTTP status that refuses this request */
    /** With status: the log's message, constant, with Apache's number where Apache has the same. A
     * format: at most one "%.*s" for bad, and then at most one "%s" for the target. */
    const char *why;
    const char *note; /**< with status: sentence for the client's error page, may be NULL */
    const char *bad;  /**< with status: the offending text, may be NULL */
    uint32_t bad_len;
    uint8_t bad_is_field;  /**< with status: the line of a field offended */
    uint8_t bad_is_long;   /**< with status: a configured limit was passed */
    uint8_t no_host;       /**< with status: it is refused because it names no host */
    const char *authority; /**< named beside the fields (HTTP/2's :authority), or NULL */
    uint32_t authority_len;
    uint32_t stream;    /**< its number, where a connection carries several; 0: none */
    const char *scheme; /**< NUL-terminated, if the protocol sends one; else NULL */
    http_field *field;  /**< own, or room of the parser's */
    http_field own[HTTP_HEAD_OWN_FIELDS];
} http_head;

/**
 * The first field whose lines, joined by ", " as handlers see them, make a value of more than @a
 * most bytes; NULL: no such field. A head of at most that many bytes costs one comparison.
 * Threads: any. Blocking: no. Source: LimitRequestFieldSize, which Apache applies to joined values as well.
 */
const http_field *http_head_oversized(const http_head *head, uint32_t most);

/** Id of a field name of @a len bytes in any case, HTTP_F_OTHER for a name that the core does not
 * look at. */
http_field_id http_field_id_of(const char *name, size_t len);

#endif
