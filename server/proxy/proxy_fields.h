/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_FIELDS_H
#define BRIGADE_PROXY_FIELDS_H

/**
 * @file proxy_fields.h
 * Fields of a request to an HTTP backend, whatever the version (proxy_fields.c).
 */
#include "proxy_exchange.h"
#include "http_field_traits.h"
#include "http_head.h"
#include "brigade/transaction.h"

/** The fate of a client's field on its way to a backend. */
typedef enum proxy_field_rule {
    PROXY_FIELD_GOES,
    PROXY_FIELD_STAYS, /**< it is between the client and this server, as the next five are */
    PROXY_FIELD_HOST,
    PROXY_FIELD_LENGTH,
    PROXY_FIELD_UPGRADE,
    PROXY_FIELD_TE,
    PROXY_FIELD_CODING,
    PROXY_FIELD_EXPECT,
    PROXY_FIELD_CONDITION,   /**< goes, but for parts of pages */
    PROXY_FIELD_CREDENTIALS, /**< for a proxy: a forward proxy keeps them */
    PROXY_FIELD_ADDED_TO     /**< goes, with this server's value behind it */
} proxy_field_rule;

/** @param id  http_field_id_of() that name. Threads: any. */
proxy_field_rule proxy_field_rule_of(http_field_id id, const char *name, apr_size_t len);

/** The fate of a field of a backend's answer. */
typedef enum proxy_answer_rule {
    PROXY_ANSWER_GOES,
    PROXY_ANSWER_STAYS,  /**< it is between the backend and this server (RFC 9110, 7.6.1) */
    PROXY_ANSWER_URL,    /**< goes as ProxyPassReverse says */
    PROXY_ANSWER_COOKIE, /**< goes as ProxyPassReverseCookiePath and -Domain say */
} proxy_answer_rule;

/** Threads: any. */
static inline proxy_answer_rule proxy_answer_rule_of(const char *name, apr_size_t len)
{
    const unsigned traits =
        http_field_traits_of(name, len, HTTP_FIELD_HOP_BY_HOP | HTTP_FIELD_URL | HTTP_FIELD_COOKIE);

    return !traits                          ? PROXY_ANSWER_GOES
           : traits & HTTP_FIELD_HOP_BY_HOP ? PROXY_ANSWER_STAYS
           : traits & HTTP_FIELD_URL        ? PROXY_ANSWER_URL
                                            : PROXY_ANSWER_COOKIE;
}

/** Bytes of @a f as a line, if it stands so as HTTP writes it: they may be sent on as they came. 0: it does not. */
static inline size_t proxy_field_line(const http_field *f)
{
    const char *end = f->value + f->value_len;

    return f->value == f->name + f->name_len + 2 && f->name[f->name_len + 1] == ' ' &&
                   end[0] == '\r' && end[1] == '\n'
               ? (size_t)(end + 2 - f->name)
               : 0;
}

/** The text of a plan before and behind the fields of its clients: of GET, without a body. */
typedef struct proxy_frame {
    brg_text before; /**< from the space behind the target on */
    brg_text ours;   /**< Max-Forwards and Via of this server */
    int adds_for;    /**< X-Forwarded-For, with the client's address, stands behind those */
    brg_text behind; /**< up to the empty line */
} proxy_frame;

/** @param to  [out] texts live as long as the request. Threads: the request's. Blocking: no. */
void proxy_request_frame(proxy_exchange *x, proxy_frame *to);

/** A line. Strings live as long as the request. */
typedef struct proxy_line {
    const char *name, *value;
    apr_size_t name_len, value_len;
} proxy_line;

/**
 * Fields that go on over HTTP/2: without Host and fields of a connection of HTTP/1.
 * @param host  [out] for :authority
 * @return how many there are
 * Threads: the request's. Blocking: no.
 */
int proxy_request_lines(proxy_exchange *x, const proxy_line **lines, const char **host);

/** This proxy's entry in the Via field of this request, or of its answer. @param via  PROXY_VIA_ON
 * or PROXY_VIA_FULL */
const char *proxy_via_value(const request_rec *r, proxy_via via);

#endif
