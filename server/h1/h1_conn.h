/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_CONN_H
#define BRIGADE_H1_H1_CONN_H

#include "driver.h"
#include "httpd.h"

struct http_head;
struct brg_read_timeouts;

/**
 * Run the request of a stream of another protocol (bc->master), whose driver this is and which has its conn_rec:
 * its transport takes an HTTP/1 response, and gives the body as HTTP/1 has it. bc may be gone afterwards.
 * @param head  complete; with head->status, of a refused request
 * Threads: the loop that owns bc.
 */
void h1_stream_run(brg_conn *bc, const struct http_head *head);

/** RequestReadTimeout of a server; never NULL. */
const struct brg_read_timeouts *h1_read_timeouts(const server_rec *s);

/** HTTP/1 over any transport, with modules' connection filters where there are some. */
extern const struct conn_driver h1_driver;

#endif
