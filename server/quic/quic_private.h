/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_PRIVATE_H
#define BRIGADE_QUIC_QUIC_PRIVATE_H

/**
 * @file quic_private.h
 * The insides of the room.
 *
 *   quic_endpoint.c  an endpoint: its connections by id, deadlines, turns
 *   quic_socket.c    datagrams in and out: batches, GSO, GRO, ECN
 *   quic_accept.c    datagrams of nobody: new connections, Retry, versions, stateless resets
 *   quic_token.c     address tokens, tokens of stateless resets
 *   quic_conn.c      a connection from its begin to its end; its deadlines
 *   quic_tls.c       the handshake: CRYPTO frames and tls/tls_quic.h
 *   quic_packet.c    packets that come: keys, numbers, key updates
 *   quic_frames.c    frames that come
 *   quic_ack.c       acknowledgements to send, and received ones
 *   quic_sent.c      packets that are under way, and their content
 *   quic_loss.c      round-trip time, lost packets, probes
 *   quic_cubic.c     congestion window and pacing
 *   quic_streams.c   streams: found, opened, ended; their input
 *   quic_stream_out.c streams as their user sees them
 *   quic_sendq.c     bytes that are held until they are acknowledged
 *   quic_output.c    output, in packets
 *   quic_write.c     frames that are sent
 *   quic_cids.c      connection ids of both sides
 *   quic_path.c      addresses of the client: amplification, validation, migration, MTU
 *   quic_params.c    transport parameters
 *   quic_qlog*.c     events of a connection, for people who look for a fault (quic_qlog.h)
 *
 * Life of a quic_conn:
 *
 *   state           moved on by                                         has
 *   --------------  --------------------------------------------------  ---------------------------------
 *   QUIC_HANDSHAKE  the handshake is done                               bc; keys of Initial and Handshake
 *   QUIC_UP         one side closes, or it is idle                      bc, streams; the user knows of it
 *   QUIC_CLOSING    three PTO; packets are answered with the close      ids, the close packet
 *   QUIC_DRAINING   three PTO; nothing is sent                          ids
 *   QUIC_DEAD       the end of the call in hand                         -
 */
#include "quic_types_private.h"

/* ---- quic_endpoint.c ---- */

static inline apr_time_t quic_now(const quic_conn *qc)
{
    return qc->ep->loop->monotonic;
}

quic_conn *quic_id_find(const quic_endpoint *ep, const quic_cid *cid);
/** @a id, whose cid is set and which stays at its place, leads to qc from now on. @return 0; -1: it leads to another one */
int quic_id_add(quic_conn *qc, quic_id *id);
/** It leads nowhere; also where it did not. */
void quic_id_remove(quic_id *id);
/** qc->deadline is @a due from now on. @return 0; -1: no memory */
int quic_deadline_set(quic_conn *qc, apr_time_t due);
void quic_deadline_cancel(quic_conn *qc);
/** It has something to send in this turn. */
void quic_pending(quic_conn *qc);
void quic_random(quic_endpoint *ep, void *out, size_t len);

/* ---- quic_socket.c ---- */

int quic_socket_begin(quic_endpoint *ep);
/** Room for a batch, in one piece of malloc(). NULL: no memory */
quic_in *quic_in_new(void);
/** loop_io_fn of the socket. */
void quic_socket_ready(struct loop_io *io, uint32_t events);
/** Room for @a len bytes of datagrams at ep->out + ep->out_len, after a flush if need be. */
uint8_t *quic_out_room(quic_endpoint *ep, size_t len);
/** The datagram of @a len bytes that was written there is complete. */
void quic_out_add(quic_endpoint *ep, size_t len, const quic_addr *peer, const quic_addr *local,
                  int ecn);
void quic_out_flush(quic_endpoint *ep);
/** 1: the socket was full: no packet is made until ep->blocked_until, when the datagrams that wait are tried again. */
static inline int quic_out_is_blocked(const quic_endpoint *ep)
{
    return ep->msg_n && ep->loop->monotonic < ep->blocked_until;
}

/** A datagram came. Packets in it are decrypted in place. */
void quic_datagram(quic_endpoint *ep, uint8_t *data, size_t len, const quic_addr *peer,
                   const quic_addr *local, int ecn);

/* ---- quic_token.c ---- */

#define QUIC_TOKEN_MOST 128
/** Write a token. @param original  of a Retry; NULL: for connections to come. @return its length; 0: it failed */
size_t quic_token_write(quic_endpoint *ep, const quic_addr *peer, const quic_cid *original,
                        const quic_cid *retry, uint8_t *out);
/** @return 1: it proves the address; 2: and is of a Retry: original and retry are set; 0: it proves nothing; -1: it is of a Retry, and wrong */
int quic_token_read(quic_endpoint *ep, const quic_addr *peer, const uint8_t *token, size_t len,
                    quic_cid *original, quic_cid *retry);
void quic_reset_token(quic_endpoint *ep, const quic_cid *cid, uint8_t token[QUIC_RESET_TOKEN]);
int quic_addr_equal(const quic_addr *a, const quic_addr *b);
/** Address without port. */
int quic_addr_same_host(const quic_addr *a, const quic_addr *b);

/* ---- quic_conn.c ---- */

quic_conn *quic_conn_new(quic_endpoint *ep, const quic_head *h, const quic_addr *peer,
                         const quic_addr *local);
/** Set its deadline by all that it waits for. */
void quic_conn_rearm(quic_conn *qc);
/** Its deadline passed. */
void quic_conn_expired(quic_conn *qc);
/** It cannot go on: the peer is told, and the user. @param frame  type of the frame that was wrong, or 0 */
void quic_conn_fail(quic_conn *qc, uint64_t code, const char *reason);
/** It ended, and the peer needs not be told: it said so, or is not there. */
void quic_conn_over(quic_conn *qc, quic_state next);
/** Free the rest. */
void quic_conn_free(quic_conn *qc);
void quic_conn_enter(quic_conn *qc);
/** Functions that may end qc call these around. @return 0: it is gone */
int quic_conn_leave(quic_conn *qc);
/** It is to send or to decrypt: its keys are there. @return 0; -1: no memory, it failed */
int quic_conn_wake(quic_conn *qc);
/** The same, where it ends anyway. */
int quic_conn_keys(quic_conn *qc);
/** A packet of the peer's came, of use. */
void quic_conn_alive(quic_conn *qc);
/** The keys of a level are of no use any more: it goes when the call in hand returns; or at once. */
void quic_space_retire(quic_conn *qc, quic_space_id id);
quic_space *quic_space_new(quic_conn *qc, quic_space_id id);
/** Count frames that are legal and of no use. @return 0; -1: it was too much, and the connection
 * failed */
int quic_conn_flood(quic_conn *qc, unsigned weight);

/* ---- quic_tls.c ---- */

extern const quic_below quic_below_real;
int quic_tls_start(quic_conn *qc);
/** CRYPTO bytes came. @return as in quic_frames.c */
int quic_tls_crypto(quic_conn *qc, quic_space_id id, uint64_t off, const uint8_t *data, size_t len);

/* ---- quic_packet.c ---- */

/** Packets of a datagram for qc. @param first  the head of the first one, which was read */
void quic_packets(quic_conn *qc, const quic_head *first, uint8_t *data, size_t len,
                  const quic_addr *peer, const quic_addr *local, int ecn);
/** Free qc->other. */
void quic_other_keys_end(quic_conn *qc);
/** Change our key of 1-RTT packets, and the peer's with it. @return 0; -1 */
int quic_key_update(quic_conn *qc);

/* ---- quic_frames.c ---- */

typedef struct quic_came {
    quic_space_id space;
    quic_packet_type type;
    const quic_cid *dcid;
    uint64_t pn;
    size_t size; /* bytes of the packet */
    int eliciting, probing_only;
    const quic_addr *peer, *local;
} quic_came;

/** @return 0; 1: the packet is treated as if it had not come; else -1: the connection failed */
int quic_frames(quic_conn *qc, quic_came *came, const uint8_t *data, size_t len);

/* ---- quic_ack.c ---- */

/** 1: this packet number came before. */
int quic_ack_is_known(const quic_space *sp, uint64_t pn);
void quic_ack_note(quic_conn *qc, quic_space_id id, uint64_t pn, int eliciting, int ecn);
/** An ACK frame is to be sent now. */
int quic_ack_is_due(const quic_conn *qc, const quic_space *sp);
/** Write an ACK frame, if it fits. */
uint8_t *quic_ack_write(quic_conn *qc, quic_space *sp, uint8_t *p, uint8_t *end);
/** An ACK frame came. @return as in quic_frames.c */
int quic_ack_read(quic_conn *qc, quic_space_id id, quic_reader *r, int with_ecn);

/* ---- quic_sent.c ---- */

/** Room for a packet and its frames. @return 0; -1: no memory, or too many */
int quic_sent_room(quic_space *sp, unsigned frames);
quic_sent *quic_sent_at(const quic_space *sp, uint64_t pn);
void quic_sent_frame_add(quic_space *sp, quic_frame_type type, uint64_t id, uint64_t off,
                         uint32_t len, int fin);
/** The content of the packet arrived, or was lost. */
void quic_sent_acked(quic_conn *qc, quic_space *sp, quic_sent *s);
void quic_sent_lost(quic_conn *qc, quic_space *sp, quic_sent *s);
/** Forget packets at the front whose fate is known. */
void quic_sent_trim(quic_space *sp);
void quic_sent_end(quic_space *sp);

/* ---- quic_loss.c ---- */

void quic_rtt_sample(quic_conn *qc, apr_interval_time_t sample, apr_interval_time_t delay);
apr_interval_time_t quic_pto(const quic_conn *qc, quic_space_id id);
/** Packets far behind acknowledged ones are lost. */
void quic_loss_detect(quic_conn *qc, quic_space_id id);
/** A packet that was thought lost was acknowledged, behind @a largest. */
void quic_loss_late(quic_conn *qc, const quic_sent *s, uint64_t pn, uint64_t largest);
/** When that, or a probe, is due. */
apr_time_t quic_loss_due(const quic_conn *qc);
void quic_loss_expired(quic_conn *qc);
/** The client repeats earlier packets: it has not heard the answer, which is sent again. RFC 9002,
 * 6.2.3 */
void quic_loss_again(quic_conn *qc);

/* ---- quic_cubic.c ---- */

void quic_cc_begin(quic_conn *qc);
/** The handshake is over: its losses say too little. */
void quic_cc_up(quic_conn *qc);
void quic_cc_sent(quic_conn *qc, size_t bytes);
void quic_cc_acked(quic_conn *qc, const quic_sent *s, uint64_t pn);
void quic_cc_round(quic_conn *qc, apr_interval_time_t sample);
/** @param n  packets; 0: the network marked some, which cannot be a mistake. @return 1: it is the first loss of a round trip */
int quic_cc_lost(quic_conn *qc, apr_time_t sent, uint32_t n);
/** Datagrams are of qc->mtu bytes now. */
void quic_cc_mtu(quic_conn *qc, uint16_t before);
/** A turn of sending is over. @param by_window, by_pace  the bounds of the output */
void quic_cc_used(quic_conn *qc, int by_window, int by_pace);
/** A packet that was thought lost came late. */
void quic_cc_late(quic_conn *qc);
void quic_cc_collapse(quic_conn *qc);
/** Bytes that may be sent now by the window; and by pacing. */
uint64_t quic_cc_room(const quic_conn *qc);
/** Bytes of room that are worth a call to the kernel: at least a datagram. */
uint64_t quic_cc_batch(const quic_conn *qc);
int64_t quic_pace_budget(quic_conn *qc);
/** When there is budget for a datagram again. */
apr_time_t quic_pace_when(const quic_conn *qc);

/* ---- quic_streams.c ---- */

quic_stream *quic_stream_find(const quic_conn *qc, uint64_t id);
/** NULL: no memory */
quic_stream *quic_stream_new(quic_conn *qc, uint64_t id);
/** Frames that came. @return as in quic_frames.c */
int quic_stream_came(quic_conn *qc, unsigned type, quic_reader *r);
int quic_reset_came(quic_conn *qc, quic_reader *r);
int quic_stop_came(quic_conn *qc, quic_reader *r);
int quic_max_stream_data_came(quic_conn *qc, quic_reader *r);
void quic_stream_due(quic_stream *qs, unsigned due);
void quic_stream_undue(quic_stream *qs);
/** It has bytes to send, if the windows allow. */
void quic_stream_sends(quic_stream *qs);
void quic_stream_unsends(quic_stream *qs);
/** Look whether it is over. */
void quic_stream_check(quic_stream *qs);
void quic_streams_end(quic_conn *qc);
void quic_streams_reap(quic_conn *qc);

/* ---- quic_output.c ---- */

/** Send waiting output. */
void quic_conn_send(quic_conn *qc);
/** Make and keep the packet that says the connection is closed, and send it. */
void quic_close_make(quic_conn *qc);
void quic_close_again(quic_conn *qc);

/* ---- quic_write.c ---- */

typedef struct quic_writer {
    uint8_t *p, *end;
    quic_space *sp;
    quic_space_id id;
    unsigned frames;
    uint8_t eliciting, full;
} quic_writer;

/** The connection's window is used up: the peer hears of it, once for each. */
void quic_write_blocked(quic_conn *qc);
/** The packets that are sent in a space. */
static inline quic_packet_type quic_sent_type(quic_space_id id)
{
    return id == QUIC_S_INITIAL     ? QUIC_INITIAL
           : id == QUIC_S_HANDSHAKE ? QUIC_HANDSHAKE
                                    : QUIC_1RTT;
}

/** All frames that are due and fit. @param may_send  the window allows more than ACKs */
void quic_write_frames(quic_conn *qc, quic_writer *w, int may_send);
/** 1: there is something to send. */
int quic_write_wants(const quic_conn *qc, quic_space_id id, int may_send);
/** 1: there is more than an ACK to send. */
int quic_write_elicits(const quic_conn *qc, quic_space_id id, int may_send);

/* ---- quic_cids.c ---- */

int quic_cids_begin(quic_conn *qc);
/** Issue ids up to the peer's limit. */
void quic_cids_issue(quic_conn *qc);
int quic_new_cid_came(quic_conn *qc, quic_reader *r);
int quic_retire_came(quic_conn *qc, quic_reader *r, const quic_came *came);
/** The id of the peer's that is used for another path than the one in use. @return its place; -1:
 * none left */
int quic_cids_other(const quic_conn *qc);
/** Use another id of the peer's, for another path. @return 0; -1: none left */
int quic_cids_switch(quic_conn *qc);
void quic_cids_end(quic_conn *qc);
/** 1: the end of this datagram is a token of a stateless reset. */
int quic_cids_is_reset(const quic_conn *qc, const uint8_t *data, size_t len);

/* ---- quic_qlog.c: nothing where qc->qlog is NULL, which quic_qlog_packet() and quic_qlog_metrics() leave to their callers ---- */

void quic_qlog_begin(quic_conn *qc);
void quic_qlog_packet(quic_conn *qc, int is_sent, quic_packet_type type, uint64_t pn,
                      const uint8_t *payload, size_t len);
void quic_qlog_lost(quic_conn *qc, quic_packet_type type, uint64_t pn);
void quic_qlog_metrics(quic_conn *qc);
void quic_qlog_params(quic_conn *qc);
/** An event with the addresses and ids of both sides. */
void quic_qlog_path(quic_conn *qc, const char *name);
void quic_qlog_state(quic_conn *qc, const char *state);
/** An event that is a number. */
void quic_qlog_number(quic_conn *qc, const char *name, const char *key, uint64_t value);
void quic_qlog_closed(quic_conn *qc);
void quic_qlog_end(quic_conn *qc);

/* ---- quic_path.c ---- */

/** Bytes that may be sent to an address that is not proved. */
uint64_t quic_path_room(const quic_conn *qc);
/** A packet came from another address, and is the newest. */
void quic_path_moved(quic_conn *qc, const quic_came *came);
void quic_path_response(quic_conn *qc, const uint8_t data[8]);
void quic_path_expired(quic_conn *qc);
apr_time_t quic_path_due(const quic_conn *qc);
/** Datagrams may become larger: look for it. */
void quic_mtu_begin(quic_conn *qc);
void quic_mtu_acked(quic_conn *qc, uint16_t size);
void quic_mtu_lost(quic_conn *qc, uint16_t size);
/** Only datagrams that every path takes are sent from now on. RFC 8899, 3 */
void quic_mtu_fall(quic_conn *qc);

#endif
