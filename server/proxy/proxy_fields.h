/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_FIELDS_H
#define BRIGADE_PROXY_FIELDS_H

/**
 * @file proxy_fields.h
 * Fields of a request to an HTTP backend, whatever the version (proxy_fields.c).
 */
#include "proxy_exchange.h"

/** A line. Strings live as long as the request. */
typedef struct proxy_line {
    const char *name, *value;
    apr_size_t name_len, value_len;
} proxy_line;

/**
 * Fields that go on over HTTP/2: without Host and what belongs to a connection of HTTP/1.
 * @param host  [out] for :authority
 * @return how many there are
 * Threads: the request's. Blocking: no.
 */
int proxy_request_lines(proxy_exchange *x, const proxy_line **lines, const char **host);

/** What the Via field of this request, or of its answer, says of this proxy. @param via  PROXY_VIA_ON or PROXY_VIA_FULL */
const char *proxy_via_value(const request_rec *r, proxy_via via);

#endif
