/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_CONN_PRIVATE_H
#define BRIGADE_H1_H1_CONN_PRIVATE_H

/**
 * @file h1_conn_private.h
 * The connection driver in its parts: h1_conn.c (heads and answers), h1_conn_worker.c (requests that may
 * wait), h1_conn_body.c (request bodies that are awaited), h1_conn_held.c (handlers that wait), h1_conn_wait.c
 * (deadlines), h1_ahead.c (requests that are sent on ahead), h1_module_driven.c
 * (connections that modules drive), h1_conn_limits.c (settings).
 */
#include "conn.h"
#include "gather.h"
#include "h1_conn.h"
#include "h1_parse.h"
#include "request_parts.h"
#include "transaction.h"
#include "brigade/read_timeout.h"

struct cache_entry;

#define H1_TO_WORKER (-1001)      /**< h1_conn_phases(): the request goes to a worker */
#define H1_DISCARD (-1002)        /**< the same: its body is to be thrown away first */
#define H1_BODY_MORE (-1003)      /**< more of the body is to come */
#define H1_WRITE_PENDING (-1004)  /**< brg_conn.r_status, without a request: the worker writes */
#define H1_OTHERS (-1005)         /**< the same, module-driven: it speaks another protocol */
#define H1_PHASES_PENDING (-1000) /**< brg_conn.r_status: the worker is to run the phases too */

/** The calling thread's http_head: it is too large for the stack of a deep call chain. */
http_head *h1_conn_scratch_head(void);

/** What was parsed into it is of @a text, which stays as it is until it is answered. */
void h1_conn_scratch_keep(const char *text);
/** The same once more, while nothing else was parsed into it; NULL: something was. */
const http_head *h1_conn_scratch_kept(const char *text);

/** Limits for the next head of bc: those of the server that its address leads to. */
const h1_limits *h1_limits_for(const brg_conn *bc);

/**
 * Parse an unfinished head that will not be completed.
 * @return 1 if it has a whole request line
 */
int h1_head_of_part(http_head *head, const char *buf, size_t len, const h1_limits *limits);

/** The request of bc is over, and was not answered from memory. @return as h1_conn_written() */
int h1_conn_end(brg_conn *bc);

/** The server whose settings hold for bc. */
static inline server_rec *h1_conn_server(const brg_conn *bc)
{
    return bc->c ? bc->c->base_server : bc->base;
}

/* ---- h1_conn_wait.c; all on the loop that owns bc, which may be gone afterwards ---- */

/** Wait for the socket until @a due; a connection that cannot be polled is closed. */
void h1_conn_wait(brg_conn *bc, apr_time_t due);

/** No complete head is there: wait for more of it, or for the next request. */
void h1_conn_wait_head(brg_conn *bc);

/** Output waits for the socket. */
void h1_conn_wait_write(brg_conn *bc);

/** All is written and the connection is to be closed: at once, or after lingering. */
void h1_conn_linger(brg_conn *bc);

/** Microseconds that a client has for its next step: Timeout; a stream may have one of its own. */
apr_interval_time_t h1_conn_patience(const brg_conn *bc);

/**
 * The deadline for bytes from bc->input.began on.
 * @param t     RequestReadTimeout for it
 * @param came  bytes of it that came so far
 */
apr_time_t h1_conn_read_due(const brg_conn *bc, const brg_read_timeout *t, uint64_t came);

/* ---- h1_conn_body.c; all but the first on the loop that owns bc ---- */

/** 1 if r's handler throws its body away, and no filter wants it. The phases ran. Threads: the owner
 * of the connection. */
int h1_body_is_unwanted(request_rec *r);

/** Bytes of r's body that should be here before a worker gets r; 0: there is no need to wait. */
uint32_t h1_body_to_wait_for(const brg_conn *bc, const request_rec *r);

/**
 * Wait for r's body: for so much of it, or (0) to throw away all of it. bc->held.r is r meanwhile.
 * @return as h1_conn_handle(), or 0 while it is waited for
 */
int h1_body_begin(brg_conn *bc, request_rec *r, uint32_t wait_for);

/** More came, or the end. @return as h1_body_begin() */
int h1_body_go_on(brg_conn *bc);

/** It did not come in time: 408. */
void h1_body_expired(brg_conn *bc);

/** The connection is to be closed: end the request that waits for its body, or for its handler's turn. */
void h1_body_abandon(brg_conn *bc);

/* ---- h1_conn.c, for the other parts; all on the loop that owns bc ---- */

/**
 * r's handler, or the answer for status; H1_TO_WORKER: on a worker, with bc->held.status.
 * @return 1: the request is over, go on with the next head; 0: bc waits, or is gone
 */
int h1_conn_handle(brg_conn *bc, request_rec *r, int status);

/**
 * Go on after r, which ran on the loop until now; r is used with REQUEST_LEFT alone.
 * @param page  as loop_page_early(), 0: it does not count whether it took long
 * @return as h1_conn_handle()
 */
int h1_conn_handled(brg_conn *bc, request_rec *r, request_end end, uint64_t page);

/** 1: the first bytes are those of another protocol (conn_protocol), which is in bc->becomes; -1: too few are here to tell; 0:
 * they are not, or are none. Threads: the owner of bc */
int h1_conn_others_claim(brg_conn *bc);

/** The driver of bc->becomes takes bc, which is in CONN_HEAD. */
void h1_conn_to_others(brg_conn *bc);

/** As h1_conn_handle(), of bc->held.r, which waited since its phases ran: for its body, or for the phases of others. */
int h1_conn_handle_waiting(brg_conn *bc, int status);

/** The request is over, and its pool may be gone. @return as h1_conn_written() */
int h1_conn_after_request(brg_conn *bc);

/** Close at once: unwritten output is lost, and bc with it at the end of the turn. */
void h1_conn_close(brg_conn *bc);

/** As h1_conn_close(), because of an error. */
void h1_conn_drop(brg_conn *bc);

/** Go on with waiting output. 1: all is out, and the connection is kept; else bc may be gone. */
int h1_conn_written(brg_conn *bc);

/** Bring the figure of bytes sent up to date. */
void h1_conn_count_bytes(brg_conn *bc);

/** The request of @a head, which is at the front of the input, by all phases. @return as h1_conn_handle() */
int h1_conn_full(brg_conn *bc, const http_head *head);

/* ---- h1_ahead.c: requests that are sent on before they have a request_rec; on the loop that owns bc ---- */

/** Begin so, by the plan of @a e. @return 1: bc waits, with bc->ahead; 0: nothing was done */
int h1_ahead_begin(brg_conn *bc, struct cache_entry *e, const http_head *head, const gather *g);

/** Something of bc, or of its backend, is ready; its time is over. @return as h1_conn_handle() */
int h1_ahead_go_on(brg_conn *bc);
int h1_ahead_expired(brg_conn *bc);

/** Nobody takes it over. Also where nothing was begun. */
void h1_ahead_drop(brg_conn *bc);

/* ---- h1_conn_worker.c; on the loop that owns bc, but for h1_conn_work() ---- */

/**
 * A worker is to go on with bc: with r as bc->held.status says, or with NULL, where modules drive bc.
 * @return 0: from here on the worker owns bc, and it is on no list of the loop; else the queue is full, and the
 *         loop has it still, in CONN_WORKER
 */
int h1_conn_hand_over(brg_conn *bc, request_rec *r);

/** 1: output of bc, which came to EAGAIN, waits for a disk; 0: for its client, whatever the disk. Where the page cache tells nothing of a
 * file, a worker would else be asked again and again. Blocking: no. */
int h1_conn_waits_for_disk(const brg_conn *bc);

/** Output of bc waits for a disk (bc->cold): a worker writes as much as the socket takes, at most a turn's share. */
void h1_conn_write_cold(brg_conn *bc);

/** 1: that worker has returned bc, which now is in CONN_WRITE; else nothing happens. */
int h1_conn_is_back_from_disk(brg_conn *bc);

/** As h1_conn_hand_over(), and 503 where the queue is full. @return as h1_conn_handle() */
int h1_conn_to_worker(brg_conn *bc, request_rec *r);

/**
 * A worker is to run r's handler, since that takes long, if there is room in the queue.
 * @param page  loop_page_of() of r
 * @return 1: as h1_conn_hand_over(); 0: the loop has r still, in CONN_REQUEST
 */
int h1_conn_long_to_worker(brg_conn *bc, request_rec *r, uint64_t page);

/** conn_driver.work: the work that bc->held.status left to a worker, to its end. On the worker; may
 * block. */
void h1_conn_work(brg_conn *bc);

/** A worker gave bc back. @return as h1_conn_handle() */
int h1_conn_returned(brg_conn *bc);

/** conn_driver.refused: the queue gave bc back without a worker having run it. bc may be gone. */
void h1_conn_refused(brg_conn *bc);

/* ---- h1_conn_held.c: requests whose handler waits on the loop that owns bc (request_wait.h) ---- */

/** The handler waits. @return 0 */
int h1_held_begin(brg_conn *bc);

/** Something of bc is ready, or its handler's event came. @return as h1_conn_handle() */
int h1_held_go_on(brg_conn *bc);

/** Write waiting output for the client of a request that has not ended. @return 0: bc is gone, or a
 * worker has it */
int h1_held_write(brg_conn *bc);

/** Its deadline, or that of its output. @return as h1_conn_handle() */
int h1_held_expired(brg_conn *bc);

/* ---- h1_module_driven.c: connections that filters or hooks of modules take part in ---- */

/** 1 if modules take part in bc, as far as is known: it may become so (h1_module_driven_take). */
int h1_module_driven_is(brg_conn *bc);

/** A request head that asks for another protocol, not yet consumed: is it for modules? */
int h1_module_driven_wants(const brg_conn *bc, const http_head *head);

/** From this request on modules take part in bc, whose output is flushed: a worker gets it. */
void h1_module_driven_take(brg_conn *bc);

/** bc has something to read for the first time: attach its conn_rec, and let a worker run the hooks. */
void h1_module_driven_start(brg_conn *bc);

/** The hook behind all those of modules: bc speaks another protocol than HTTP/1 from its first byte on. Waits for the bytes
 * that tell. @return 1: the loop hands it to that protocol's driver. On a worker; may block. */
int h1_module_driven_is_others(brg_conn *bc);

/** Run the hooks until they wait for something. On a worker; may block. */
void h1_module_driven_work(brg_conn *bc);

/** conn_driver.run and conn_driver.expired for such a connection: a worker gave it back; output went on; it was
 * read from; it was silent for too long. bc may be gone afterwards. */
void h1_module_driven_returned(brg_conn *bc);
void h1_module_driven_written(brg_conn *bc);
void h1_module_driven_readable(brg_conn *bc);
void h1_module_driven_expired(brg_conn *bc);

#endif
