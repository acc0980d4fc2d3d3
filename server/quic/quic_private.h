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
 *   quic_ack.c       what has to be acknowledged, and what was
 *   quic_sent.c      packets that are under way, and what was in them
 *   quic_loss.c      round-trip time, lost packets, probes
 *   quic_cubic.c     congestion window and pacing
 *   quic_streams.c   streams: found, opened, ended; what comes of them
 *   quic_stream_out.c streams as their user sees them
 *   quic_sendq.c     bytes that are held until they are acknowledged
 *   quic_output.c    what is sent, in packets
 *   quic_write.c     frames that are sent
 *   quic_cids.c      connection ids of both sides
 *   quic_path.c      addresses of the client: amplification, validation, migration, MTU
 *   quic_params.c    transport parameters
 *
 * Life of a quic_conn:
 *
 *   state           what moves it on                                    has
 *   --------------  --------------------------------------------------  ---------------------------------
 *   QUIC_HANDSHAKE  the handshake is done                               bc; keys of Initial and Handshake
 *   QUIC_UP         one side closes, or it is idle                      bc, streams; the user knows of it
 *   QUIC_CLOSING    three PTO; packets are answered with the close      ids, the close packet
 *   QUIC_DRAINING   three PTO; nothing is sent                          ids
 *   QUIC_DEAD       the end of the call in hand                         -
 */
#include "quic.h"
#include "quic_keys.h"
#include "quic_ranges.h"
#include "quic_wire.h"
#include "loop.h"
#include "tls_quic.h"
#include "brigade/assert.h"
#include <netinet/in.h>

#define QUIC_CONN_TAG 0x51554943u
#define QUIC_STREAM_TAG 0x51535452u
#define QUIC_NEVER INT64_MAX

#define QUIC_STREAM_BUCKETS 16
#define QUIC_CIDS 4        /**< connection ids of each side in use */
#define QUIC_ACK_RANGES 32 /**< of packets that came, kept; and at most so many in an ACK frame */
#define QUIC_REORDER_RANGES 128 /**< of bytes of a stream that came out of order */
#define QUIC_CRYPTO_MOST 65536  /**< bytes of a handshake that are kept out of order */
#define QUIC_SENT_MOST 65536    /**< packets whose fate is not known */
#define QUIC_ACK_DELAY 25000    /**< microseconds that an ACK waits at most */
#define QUIC_ACK_EXPONENT 3
#define QUIC_BATCH 64         /**< packets whose heads are masked together */
#define QUIC_OUT_BYTES 131072 /**< of datagrams that leave together */
#define QUIC_OUT_MSGS 16      /**< and calls' worth of them: each to one address, of one size */
#define QUIC_GSO_MOST 64      /**< datagrams of one message */
#define QUIC_GSO_BYTES 65000
#define QUIC_IN_MSGS 8
#define QUIC_IN_BYTES 65536
#define QUIC_RESPONSES 4 /**< PATH_RESPONSE frames that wait */

/** An address of UDP. */
typedef union quic_addr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} quic_addr;

/* ---- transport parameters: RFC 9000, 18 ---- */

typedef struct quic_params {
    uint64_t idle_timeout; /**< milliseconds; 0: none */
    uint64_t max_udp, max_data, max_data_bidi_local, max_data_bidi_remote, max_data_uni;
    uint64_t max_bidi, max_uni;
    uint64_t ack_exponent, ack_delay, cid_limit;
    quic_cid original, initial_source, retry_source;
    uint8_t has_original, has_initial_source, has_retry_source;
    uint8_t no_migration, grease_bit;
    uint8_t has_versions, knows_v2; /**< RFC 9368; of those available */
    uint32_t version;               /**< chosen; 0: not told */
    const uint8_t *reset_token;     /**< to write; NULL: none */
} quic_params;

/** Read the parameters of a client. @return 0; else a quic_error */
int quic_params_read(quic_params *p, const uint8_t *data, size_t len);
/** Write those of a server. @param out  room for QUIC_PARAMS_MOST bytes. @return their length */
size_t quic_params_write(const quic_params *from, uint8_t *out);
#define QUIC_PARAMS_MOST 512

/* ---- bytes that are sent ---- */

typedef struct quic_piece {
    struct quic_piece *next;
    const uint8_t *data;
    size_t len;
    uint64_t off;
    shared_ref *owner; /**< NULL: the bytes are in own */
    uint8_t own[];
} quic_piece;

/** The bytes of a stream, from the first one that the peer may lack. */
typedef struct quic_sendq {
    quic_piece *first, *last, *at; /**< at: the piece of the byte at sent, or one before it */
    uint64_t written, sent, acked; /**< offsets: all before acked was acknowledged */
    quic_ranges also;              /**< acknowledged, behind acked */
    quic_ranges lost;              /**< to be sent again */
    uint8_t fin, fin_sent, fin_acked;
} quic_sendq;

/** @return 0; -1: no memory */
int quic_sendq_add(quic_sendq *q, const void *data, size_t len, shared_ref *owner);
/** Copy @a len bytes from @a off on, which are held. */
void quic_sendq_copy(quic_sendq *q, uint64_t off, size_t len, uint8_t *out);
/** The peer has these. @return 0; -1: no memory */
int quic_sendq_acked(quic_sendq *q, uint64_t off, uint64_t len);
/** They were lost. @return 0; -1: no memory */
int quic_sendq_lost(quic_sendq *q, uint64_t off, uint64_t len);
/** Let all go. */
void quic_sendq_end(quic_sendq *q);
/** All that was written, and the end, is acknowledged. */
static inline int quic_sendq_is_done(const quic_sendq *q)
{
    return q->fin_acked && q->acked == q->written;
}

/* ---- streams ---- */

enum {
    QUIC_DUE_MAX = 1,
    QUIC_DUE_RESET = 2,
    QUIC_DUE_STOP = 4,
    QUIC_DUE_BLOCKED = 8
}; /**< frames of a stream */

struct quic_stream {
    uint32_t tag;
    quic_conn *qc;
    uint64_t id;
    void *user;
    quic_stream *hash_next;
    quic_stream *send_next, **send_prev; /**< on quic_conn.sending; prev NULL: not */
    quic_stream *due_next, **due_prev;   /**< on quic_conn.due_streams */
    uint8_t due;
    uint8_t out_over, out_reset, reset_acked; /**< nothing is sent any more; by RESET_STREAM */
    uint8_t in_over, in_stopped; /**< all came, or RESET_STREAM; STOP_SENDING was asked for */
    uint8_t is_dead;             /**< freed when the call in hand returns */
    uint64_t reset_code, stop_code;
    quic_sendq out;
    uint64_t out_max;      /**< the peer's limit */
    uint64_t blocked_told; /**< that of the last STREAM_DATA_BLOCKED */
    quic_reorder in;
    uint64_t in_highest, in_final; /**< final: UINT64_MAX: not known */
    uint64_t in_max, in_credit;    /**< announced; consumed */
};

/* ---- packets that were sent ---- */

typedef enum quic_space_id {
    QUIC_S_INITIAL,
    QUIC_S_HANDSHAKE,
    QUIC_S_APP,
    QUIC_SPACES
} quic_space_id;

typedef struct quic_sent_frame {
    uint64_t id;  /**< of a stream, or a number */
    uint64_t off; /**< of its bytes */
    uint32_t len;
    uint8_t type; /**< quic_frame_type */
    uint8_t fin;
} quic_sent_frame;

enum { QUIC_P_NONE, QUIC_P_OUT, QUIC_P_ACKED, QUIC_P_LOST, QUIC_P_SKIPPED };

typedef struct quic_sent {
    apr_time_t time;
    uint32_t frame; /**< its first one, by the count of all */
    uint16_t frames_n;
    uint16_t size; /**< bytes that count as in flight */
    uint8_t state; /**< QUIC_P_* */
    uint8_t probe; /**< of the MTU: its loss says nothing of congestion */
    uint8_t ecn;   /**< was sent with ECT(0) */
    uint8_t path;  /**< low bits of quic_conn.path_n */
} quic_sent;

typedef struct quic_space {
    quic_key read, write;
    /* coming: */
    quic_ranges got;
    uint64_t largest_got; /**< with got.n */
    apr_time_t largest_at;
    uint32_t ack_owed; /**< packets that want an ACK */
    uint8_t ack_now, ack_ecn;
    apr_time_t ack_due;
    uint64_t ecn[3]; /**< ECT(0), ECT(1), CE */
    quic_reorder crypto_in;
    /* going: */
    uint64_t next_pn, skip_pn;
    int64_t largest_acked; /**< -1: none */
    quic_sent *sent;       /**< of next_pn - first_pn packets; a ring */
    uint32_t sent_cap;
    uint64_t first_pn;
    quic_sent_frame *frames; /**< a ring */
    uint32_t frames_cap, frames_first, frames_next;
    uint32_t eliciting; /**< packets of them that want an ACK */
    apr_time_t last_eliciting, loss_due;
    uint32_t probes; /**< packets that are to be sent whatever the window says */
    quic_sendq crypto;
    uint64_t peer_ecn_ce, peer_ecn; /**< that the peer counted */
} quic_space;

/* ---- congestion ---- */

typedef struct quic_cc {
    uint64_t window, threshold; /**< bytes */
    uint64_t in_flight;
    apr_time_t recovery; /**< packets sent before it are of a loss that was answered already */
    struct {
        uint64_t window, threshold;
        double w_max;
        uint32_t lost; /**< packets of it that have not turned out to be late; 0: it was real */
    } before;          /**< of the last loss */
    /* CUBIC: */
    apr_time_t epoch;
    double w_max, k, w_est;
    /* HyStart++: */
    uint64_t round_end; /**< packet number */
    apr_interval_time_t round_min, last_round_min, css_baseline;
    uint32_t round_samples;
    uint8_t css, css_rounds, limited;
    /* pacing: */
    int64_t budget; /**< bytes that may leave now */
    apr_time_t budget_at;
} quic_cc;

/* ---- addresses ---- */

typedef struct quic_path {
    quic_addr peer, local;
    uint8_t validated;
    uint8_t challenged; /**< a PATH_CHALLENGE is under way ... */
    uint8_t challenge[8];
    uint8_t challenge_due; /**< ... or is to be sent */
    uint8_t challenges;    /**< that were sent */
    apr_time_t give_up;
    uint64_t in, out; /**< bytes, before it is validated */
} quic_path;

/* ---- a connection ---- */

typedef enum quic_state {
    QUIC_HANDSHAKE_STATE,
    QUIC_UP,
    QUIC_CLOSING,
    QUIC_DRAINING,
    QUIC_DEAD
} quic_state;

typedef struct quic_own_cid {
    quic_cid cid;
    uint64_t seq;
    uint8_t used, due; /**< there is one; NEW_CONNECTION_ID is to be sent */
} quic_own_cid;

typedef struct quic_peer_cid {
    quic_cid cid;
    uint64_t seq;
    uint8_t token[QUIC_RESET_TOKEN];
    uint8_t used, has_token;
} quic_peer_cid;

/** Frames of the connection that are to be sent. */
enum {
    QUIC_DUE_HANDSHAKE_DONE = 1,
    QUIC_DUE_MAX_DATA = 2,
    QUIC_DUE_MAX_BIDI = 4,
    QUIC_DUE_MAX_UNI = 8,
    QUIC_DUE_TOKEN = 16,
    QUIC_DUE_DATA_BLOCKED = 32,
    QUIC_DUE_PING = 64
};

struct quic_conn {
    uint32_t tag;
    uint8_t state;
    uint8_t in_call; /**< of functions that may end it: it is freed when the last one returns */
    uint8_t begun, confirmed, params_came;
    uint8_t retired;        /**< spaces: bits by quic_space_id */
    uint8_t wants, pending; /**< fill() is to be called; it is on quic_endpoint.pending */
    uint8_t due;            /**< QUIC_DUE_* */
    uint8_t counts_handshake;
    quic_endpoint *ep;
    brg_conn *bc;
    tls_quic *tls;
    quic_conn *pending_next;
    quic_conn *all_next, **all_prev;
    apr_time_t deadline; /**< in the heap */
    uint32_t heap_at;    /**< index in it; UINT32_MAX: not there */

    uint32_t version;
    quic_cid original;   /**< the id that the client chose at first */
    quic_cid first_dcid; /**< that of its first packet here: the same, or ours of a Retry */
    uint8_t has_retry;
    quic_own_cid own[QUIC_CIDS];
    uint64_t own_seq; /**< of the next one */
    quic_peer_cid theirs[QUIC_CIDS];
    uint8_t their_at;               /**< which is in use */
    uint64_t their_retired;         /**< all before were retired */
    uint64_t retire[QUIC_CIDS * 2]; /**< RETIRE_CONNECTION_ID to be sent */
    uint8_t retire_n;

    quic_space *space[QUIC_SPACES]; /**< NULL: there is none any more, or yet */
    quic_key next_read, prev_read;  /**< of 1-RTT packets */
    uint8_t phase, has_prev;        /**< the key phase bit, of both directions */
    uint8_t update_asked;           /**< we did, and wait for the peer's */
    uint64_t phase_read_from;       /**< the first packet number of this phase */
    uint64_t phase_write_from;
    apr_time_t prev_until;

    quic_path path, old;
    uint8_t has_old, path_n;
    uint8_t responses_n;
    uint8_t responses[QUIC_RESPONSES][8];
    uint16_t mtu, mtu_probe, mtu_most; /**< datagrams; probe: under way, 0: none */
    uint8_t mtu_tries, mtu_due;        /**< due: a probe is to be sent */
    uint8_t ecn_state;                 /**< 0: tried, 1: it works, 2: it does not */

    /* recovery: */
    apr_interval_time_t rtt, rtt_var, rtt_min, rtt_last; /**< rtt 0: no sample */
    apr_time_t rtt_first;
    uint32_t pto_n;
    uint32_t reorder; /**< packets behind an acknowledged one that may be late ... */
    apr_interval_time_t reorder_wait; /**< ... and for how much longer than a round trip */
    quic_cc cc;
    apr_time_t pace_due;
    uint64_t lost_n, sent_n, bytes_in, bytes_out;

    quic_params peer;
    apr_time_t idle_due, handshake_due, close_due;
    apr_time_t sleep_due; /**< the keys' memory is given back, when nothing happens until then */
    uint8_t asleep;
    apr_time_t again_at; /**< quic_loss_again() does something from then on */
    apr_interval_time_t idle;
    uint8_t idle_sent; /**< something was sent that wants an ACK since a packet came */

    /* flow control: */
    uint64_t out_max, out_sent; /**< new bytes of all streams */
    uint64_t blocked_told;      /**< out_max of the last DATA_BLOCKED */
    uint64_t unsent;            /**< written, and not sent yet */
    uint64_t in_max, in_came, in_credit;
    uint64_t peer_bidi, peer_uni;           /**< streams of the peer that there were */
    uint64_t peer_bidi_most, peer_uni_most; /**< that it may open */
    uint64_t peer_bidi_ended, peer_uni_ended;
    uint64_t own_uni, own_uni_most;
    quic_stream *bucket[QUIC_STREAM_BUCKETS];
    unsigned streams_n;
    quic_stream *sending, **sending_tail, *due_streams;
    quic_stream *dead; /**< by hash_next */
    uint32_t floods;   /**< frames that are legal, and of no use; they go down with time */
    apr_time_t floods_at;

    /* the end: */
    quic_end end;
    uint8_t *close; /**< the packet that says so */
    uint16_t close_len;
    uint32_t close_came, close_said;
};

/* ---- an endpoint ---- */

/** Where an id leads to. */
typedef struct quic_id {
    struct quic_id *next;
    quic_cid cid;
    quic_conn *qc;
} quic_id;

/** Datagrams to one address. */
typedef struct quic_out_msg {
    quic_addr peer, local;
    size_t off, len;
    uint16_t segment; /**< bytes of each but the last */
    uint16_t n;
    uint8_t ecn, closed; /**< closed: a smaller one was the last */
} quic_out_msg;

/** What loop/loop.h and tls/tls_quic.h do, or a test. */
typedef struct quic_below {
    brg_conn *(*open)(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *peer,
                      const struct sockaddr *local);
    void (*close)(brg_loop *loop, brg_conn *bc);
    tls_quic *(*begin)(brg_conn *bc, const tls_quic_user *, void *of, const uint8_t *params,
                       size_t len);
    int (*give)(tls_quic *, tls_quic_level, const uint8_t *data, size_t len);
    int (*end)(tls_quic *);
} quic_below;

struct quic_endpoint {
    brg_loop *loop;
    brg_listener *listener;
    int fd;
    const quic_setup *setup;
    struct loop_io io;
    struct loop_alarm alarm;
    const quic_below *below;
    void (*take)(void *of, const uint8_t *data, size_t len, const quic_addr *to,
                 int ecn); /**< instead of the socket; NULL */
    void *take_of;
    uint8_t draining, has_gso, has_v6, reads_blocked, ended;
    quic_id **ids; /**< a table of ids_cap lists */
    uint32_t ids_n, ids_cap;
    quic_conn *all;
    unsigned conns_n, handshakes;
    quic_conn **heap;
    uint32_t heap_n, heap_cap;
    quic_conn *pending, **pending_tail;
    apr_time_t blocked_until; /**< the socket takes nothing until then, with msg_n */
    apr_time_t resets_at;     /**< for the limits of answers to nobody */
    uint32_t resets_left;
    uint8_t retry_key_n;
    quic_figures figures;
    uint64_t random[32]; /**< bytes at hand, for what must not be guessed */
    uint32_t random_left;
    /* a batch of datagrams: */
    uint8_t *out;
    size_t out_len;
    quic_out_msg msg[QUIC_OUT_MSGS];
    unsigned msg_n;
    uint8_t *in;
};

/* ---- quic_endpoint.c ---- */

static inline apr_time_t quic_now(const quic_conn *qc)
{
    return qc->ep->loop->monotonic;
}

quic_conn *quic_id_find(const quic_endpoint *ep, const quic_cid *cid);
/** @return 0; -1: no memory, or it is in use */
int quic_id_add(quic_endpoint *ep, const quic_cid *cid, quic_conn *qc);
void quic_id_remove(quic_endpoint *ep, const quic_cid *cid);
/** qc->deadline is @a due from now on. @return 0; -1: no memory */
int quic_deadline_set(quic_conn *qc, apr_time_t due);
void quic_deadline_cancel(quic_conn *qc);
/** It has something to send in this turn. */
void quic_pending(quic_conn *qc);
void quic_random(quic_endpoint *ep, void *out, size_t len);

/* ---- quic_socket.c ---- */

int quic_socket_begin(quic_endpoint *ep);
/** loop_io_fn of the socket. */
void quic_socket_ready(struct loop_io *io, uint32_t events);
/** Room for @a len bytes of datagrams at ep->out + ep->out_len, after a flush if need be. */
uint8_t *quic_out_room(quic_endpoint *ep, size_t len);
/** The datagram of @a len bytes that was written there is complete. */
void quic_out_add(quic_endpoint *ep, size_t len, const quic_addr *peer, const quic_addr *local,
                  int ecn);
void quic_out_flush(quic_endpoint *ep);
/** The socket was full: nothing is made to be sent for now. */
static inline int quic_out_is_blocked(const quic_endpoint *ep)
{
    return ep->msg_n && ep->loop->monotonic < ep->blocked_until;
}

/** A datagram came. Packets in it are decrypted in place. */
void quic_datagram(quic_endpoint *ep, uint8_t *data, size_t len, const quic_addr *peer,
                   const quic_addr *local, int ecn);

/* ---- quic_accept.c ---- */

/** The packet leads to no connection. */
void quic_accept(quic_endpoint *ep, const quic_head *h, uint8_t *data, size_t len,
                 const quic_addr *peer, const quic_addr *local, int ecn);

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
/** Free what is left. */
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
void quic_space_drop(quic_conn *qc, quic_space_id id);
quic_space *quic_space_new(quic_conn *qc, quic_space_id id);
/** Count what is legal and of no use. @return 0; -1: it was too much, and the connection failed */
int quic_conn_flood(quic_conn *qc, unsigned weight);

/* ---- quic_tls.c ---- */

extern const quic_below quic_below_real;
int quic_tls_start(quic_conn *qc);
/** CRYPTO bytes came. @return as in quic_frames.c */
int quic_tls_crypto(quic_conn *qc, quic_space_id id, uint64_t off, const uint8_t *data, size_t len);
void quic_tls_stop(quic_conn *qc);
/** The handshake is confirmed: RFC 9001, 4.1.2. */
void quic_tls_confirm(quic_conn *qc);

/* ---- quic_packet.c ---- */

/** Packets of a datagram for qc. */
void quic_packets(quic_conn *qc, uint8_t *data, size_t len, const quic_addr *peer,
                  const quic_addr *local, int ecn);
/** Change our key of 1-RTT packets, and the peer's with it. @return 0; -1 */
int quic_key_update(quic_conn *qc);

/* ---- quic_frames.c ---- */

typedef struct quic_came {
    quic_space_id space;
    quic_packet_type type;
    const quic_cid *dcid;
    uint64_t pn;
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
/** What was in the packet arrived, or was lost. */
void quic_sent_acked(quic_conn *qc, quic_space *sp, quic_sent *s);
void quic_sent_lost(quic_conn *qc, quic_space *sp, quic_sent *s);
/** Forget packets at the front whose fate is known. */
void quic_sent_trim(quic_space *sp);
void quic_sent_end(quic_space *sp);

/* ---- quic_loss.c ---- */

void quic_rtt_sample(quic_conn *qc, apr_interval_time_t sample, apr_interval_time_t delay);
apr_interval_time_t quic_pto(const quic_conn *qc, quic_space_id id);
/** Packets that are behind those that were acknowledged are lost. */
void quic_loss_detect(quic_conn *qc, quic_space_id id);
/** One that was thought lost was acknowledged, behind @a largest. */
void quic_loss_late(quic_conn *qc, const quic_sent *s, uint64_t pn, uint64_t largest);
/** When that, or a probe, is due. */
apr_time_t quic_loss_due(const quic_conn *qc);
void quic_loss_expired(quic_conn *qc);
/** The client says again what came already: it has not heard the answer, which is sent again. RFC 9002, 6.2.3 */
void quic_loss_again(quic_conn *qc);

/* ---- quic_cubic.c ---- */

void quic_cc_begin(quic_conn *qc);
/** The handshake is over: what was lost in it says too little. */
void quic_cc_up(quic_conn *qc);
void quic_cc_sent(quic_conn *qc, size_t bytes);
void quic_cc_acked(quic_conn *qc, const quic_sent *s, uint64_t pn);
void quic_cc_round(quic_conn *qc, apr_interval_time_t sample);
/** @param n  packets; 0: the network marked some, which cannot be a mistake */
void quic_cc_lost(quic_conn *qc, apr_time_t sent, uint32_t n);
/** A packet that was thought lost came late. */
void quic_cc_late(quic_conn *qc);
void quic_cc_collapse(quic_conn *qc);
/** Bytes that may be sent now by the window; and by pacing. */
uint64_t quic_cc_room(const quic_conn *qc);
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

/** Send what there is to send. */
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
    uint8_t eliciting, probing, full;
} quic_writer;

/** The connection's window is used up: the peer hears of it, once for each. */
void quic_write_blocked(quic_conn *qc);
/** All frames that are due and fit. @param may_send  the window allows more than ACKs */
void quic_write_frames(quic_conn *qc, quic_writer *w, int may_send);
/** 1: there is something to send. */
int quic_write_wants(const quic_conn *qc, quic_space_id id, int may_send);

/* ---- quic_cids.c ---- */

int quic_cids_begin(quic_conn *qc);
/** Issue ids up to what the peer keeps. */
void quic_cids_issue(quic_conn *qc);
int quic_new_cid_came(quic_conn *qc, quic_reader *r);
int quic_retire_came(quic_conn *qc, quic_reader *r, const quic_came *came);
/** Use another id of the peer's, for another path. @return 0; -1: there is none */
int quic_cids_switch(quic_conn *qc);
void quic_cids_end(quic_conn *qc);
/** 1: the end of this datagram is a token of a stateless reset. */
int quic_cids_is_reset(const quic_conn *qc, const uint8_t *data, size_t len);

/* ---- quic_path.c ---- */

/** Bytes that may be sent to an address that is not proved. */
uint64_t quic_path_room(const quic_conn *qc);
/** A packet came from another address, and is the newest. */
void quic_path_moved(quic_conn *qc, const quic_came *came);
void quic_path_challenge(quic_conn *qc, quic_path *path);
void quic_path_response(quic_conn *qc, const uint8_t data[8]);
void quic_path_expired(quic_conn *qc);
apr_time_t quic_path_due(const quic_conn *qc);
/** Datagrams may become larger: look for it. */
void quic_mtu_begin(quic_conn *qc);
void quic_mtu_acked(quic_conn *qc, uint16_t size);
void quic_mtu_lost(quic_conn *qc, uint16_t size);
/** Only what every path takes is sent from now on. RFC 8899, 3 */
void quic_mtu_fall(quic_conn *qc);

#endif
