/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_ANSWER_H
#define BRIGADE_HTTP_HTTP_ANSWER_H

/**
 * @file http_answer.h
 * The head of a stored response as every version of HTTP could send it, and the work of a protocol to
 * send it in its own form: once per entry it is serialised, with each answer it is patched.
 */
#include "httpd.h"
#include "apr_tables.h"
#include "http_part.h"
#include <stdint.h>

#define HTTP_NO_FIELD UINT16_MAX

typedef struct http_answer_field {
    const char *name, *value; /**< each ends with a NUL */
    uint32_t name_len, value_len;
} http_answer_field;

/** A stored head. One block from malloc(); everything in it points into it. */
typedef struct http_answer {
    int status;
    const char *reason; /**< status and phrase: "200 OK" */
    const char *server; /**< value of Server, "" = none */
    /** value of Date, of the origin of a proxied response; NULL: the time of each answer */
    const char *date;
    /** value of Upgrade in the first response of a connection; NULL: none */
    const char *upgrade;
    const char *connection;          /**< Connection as modules set it; NULL: they did not */
    const char *dated_name;          /**< the field whose value goes with the date, or NULL */
    apr_interval_time_t dated_after; /**< it is so much later than Date */
    uint32_t bytes;                  /**< size of the block */
    uint16_t n_fields;
    /** fields about the connection stand before this field; HTTP_NO_FIELD: behind all */
    uint16_t conn_at;
    uint16_t own_at;              /**< with connection: it stands before this field */
    uint16_t length_at, range_at; /**< Content-Length and Content-Range, or HTTP_NO_FIELD */
    uint8_t own_server;           /**< server is that of the origin of a proxied response */
    /** a field that each answer has with another value stands behind all others, and is not here */
    uint8_t added;
    /** in the order in which they are sent; no Date, no Server, nothing of one connection
     * (Connection, Keep-Alive, Upgrade) */
    http_answer_field field[];
} http_answer;

/** A head in the form of one protocol. */
typedef struct http_stored_head {
    char *text; /**< behind this, in the same block */
    uint32_t len;
    /** where the value of Date is; where the answer has its own, a place that is written over */
    uint32_t date_off;
    uint32_t conn_off;  /**< where fields about the connection go */
    uint32_t own_off;   /**< where the value of http_answer.connection ends; 0 = no such value */
    uint32_t first_off; /**< and the end of the offer in the first response of a connection */
    uint32_t dated_off; /**< offset of the dated field's value; 0 = no such field */
    apr_time_t dated_second;        /**< the second that it is right for */
    uint32_t length_off, range_off; /**< where the values of Content-Length and Content-Range are */
    uint8_t urgency;                /**< for protocols that send several at once */
} http_stored_head;

/** The values that change from one answer to the next. */
typedef struct http_answer_terms {
    apr_time_t now;
    int first;                      /**< it is the first of its connection */
    int close;                      /**< the connection ends with it */
    int asked;                      /**< the request named keep-alive in Connection */
    apr_interval_time_t keep_alive; /**< KeepAliveTimeout */
    int left;                       /**< requests still allowed; negative = no limit */
} http_answer_terms;

typedef struct http_codec {
    unsigned protocol; /**< conn_protocol_number */
    /**
     * @param room  with HTTP_HEAD_ROOM bytes behind it, for a head that is sent once; NULL: none
     * @return room, or the caller's, to be freed; NULL: out of memory, or it cannot be said in this form
     */
    http_stored_head *(*serialise)(const http_answer *answer, http_stored_head *room);
    /** Write a head. @param out room for HTTP_HEAD_ROOM bytes @return its length */
    size_t (*put)(char *out, http_stored_head *head, const http_answer *answer,
                  const http_answer_terms *terms);
    /** As put(), for the head of a 206.
     * @param part  for Content-Range; NULL: several parts follow
     * @param length  for Content-Length
     * NULL: this protocol sends no parts from memory. */
    size_t (*put_part)(char *out, http_stored_head *head, const http_answer *answer,
                       const http_answer_terms *terms, const http_part *part, apr_off_t length);
} http_codec;

/** For serialise(): @a room, or with room for @a size bytes of text; zeros but for dated_second. NULL: no memory */
http_stored_head *http_stored_head_new(http_stored_head *room, size_t size);

/** the longest head that is stored, with the additions of each answer */
#define HTTP_HEAD_ROOM 4096

/** The sources of a stored head; nothing of them is kept. */
typedef struct http_answer_says {
    int status;
    const char *reason, *server, *date, *upgrade, *connection; /**< as in http_answer */
    const char *dated_name;
    apr_interval_time_t dated_after;
    int own_server;
    const http_answer_field *field; /**< Date, Server and fields of the connection are left out */
    int n;
    int before; /**< fields about the connection stand before this field */
} http_answer_says;

/** @return NULL: too long, or no memory */
http_answer *http_answer_make(const http_answer_says *says);

/**
 * The head of r's final response, as the protocol's last filter has completed it.
 * @param dated_name, dated_after  see http_answer; NULL, 0: none
 * @return NULL: it cannot be stored (too long) or there is no memory
 */
http_answer *http_answer_of(const request_rec *r, const char *dated_name,
                            apr_interval_time_t dated_after);

#endif
