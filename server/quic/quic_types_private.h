/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_TYPES_PRIVATE_H
#define BRIGADE_QUIC_QUIC_TYPES_PRIVATE_H

/**
 * @file quic_types_private.h
 * What the room keeps: of an endpoint, a connection, its paths, packets and streams. quic_private.h has what its files call in
 * each other. All of it belongs to the endpoint's loop.
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
/** bytes of a handshake at a level: more than any certificates of a client take */
#define QUIC_CRYPTO_ALL (4 * QUIC_CRYPTO_MOST)
/** bytes of packets of early data; what is behind them is sent again by the client */
#define QUIC_EARLY_MOST 32768
#define QUIC_SENT_MOST 65536 /**< packets whose fate is not known */
#define QUIC_ACK_DELAY 25000 /**< microseconds that an ACK waits at most */
#define QUIC_ACK_EXPONENT 3
#define QUIC_BATCH 64         /**< packets whose heads are masked together */
#define QUIC_OUT_BYTES 131072 /**< of datagrams that leave together */
#define QUIC_OUT_MSGS 16      /**< and calls' worth of them: each to one address, of one size */
#define QUIC_GSO_MOST 64      /**< datagrams of one message */
#define QUIC_GSO_BYTES 65000
#define QUIC_IN_MSGS 8
#define QUIC_IN_BYTES 65536
/** bytes of credit that are worth a packet: less, which is waited for, counts as a frame of no use */
#define QUIC_CREDIT_LEAST 256
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
    uint8_t has_initial_source, has_retry_source;
    uint8_t no_migration;
    uint8_t has_versions, knows_v2; /**< RFC 9368; of those available */
    uint32_t version;               /**< chosen; 0: not told */
    const uint8_t *reset_token;     /**< to write; NULL: none */
} quic_params;

/** Read the parameters of a client. @return 0; else a quic_error */
int quic_params_read(quic_params *p, const uint8_t *data, size_t len);
/** Write those of a server. @param out  room for QUIC_PARAMS_MOST bytes. @return their length */
size_t quic_params_write(const quic_params *from, uint8_t *out);
#define QUIC_PARAMS_MOST 512
/** The version that is spoken with a client of these parameters, which began with p->version: RFC 9368, 2.3 */
static inline uint32_t quic_params_version(const quic_params *p)
{
    return p->has_versions && p->knows_v2 && p->version == QUIC_V1 ? QUIC_V2 : p->version;
}
/** tls_quic_user.answer_params: the version that is chosen, in what quic_params_write() wrote. */
void quic_params_answer(const uint8_t *peer, size_t len, uint8_t *ours, size_t ours_len);

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
    uint8_t out_over, reset_acked; /**< nothing is sent any more; RESET_STREAM came there */
    uint8_t in_over, in_stopped;   /**< all came, or RESET_STREAM; STOP_SENDING was asked for */
    uint8_t is_dead;               /**< freed when the call in hand returns */
    uint64_t reset_code, stop_code;
    uint64_t out_max;      /**< the peer's limit */
    uint64_t blocked_told; /**< that of the last STREAM_DATA_BLOCKED */
    quic_reorder in;
    uint64_t in_highest, in_final; /**< final: UINT64_MAX: not known */
    uint64_t in_max, in_credit;    /**< announced; consumed */
    quic_sendq out;                /**< not there for a unidirectional stream of the peer's */
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
    uint16_t mtu_before; /**< of datagrams that left before ... */
    apr_time_t mtu_at;   /**< ... this; 0: it has not changed */
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

/** A client tries another address: it is answered there, RFC 9000, 8.2.2. */
typedef struct quic_elsewhere {
    quic_addr peer, local;
    uint8_t data[8];
    uint8_t is_long; /**< what came allows a datagram of full length */
} quic_elsewhere;

/* ---- a connection ---- */

typedef enum quic_state {
    QUIC_HANDSHAKE_STATE,
    QUIC_UP,
    QUIC_CLOSING,
    QUIC_DRAINING,
    QUIC_DEAD
} quic_state;

/** An id that leads here: one of ours, or that of the client's first packet. */
typedef struct quic_id {
    struct quic_id *next; /**< in the endpoint's table */
    quic_conn *qc;        /**< NULL: there is none */
    uint64_t seq;
    quic_cid cid;
    uint8_t due; /**< NEW_CONNECTION_ID is to be sent */
} quic_id;

typedef struct quic_peer_cid {
    uint64_t seq;
    quic_cid cid;
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
    QUIC_DUE_PING = 64,
    QUIC_DUE_CIDS = 128 /**< of quic_id.due */
};

typedef struct quic_qlog quic_qlog;

/** Keys of 1-RTT packets of the peer's beside those in use. */
typedef struct quic_other_keys {
    quic_key next, prev;
} quic_other_keys;

struct quic_conn {
    uint32_t tag;
    uint8_t state;
    uint8_t in_call; /**< of functions that may end it: it is freed when the last one returns */
    uint8_t begun, confirmed, params_came, params_bad; /**< begun, not confirmed: by early data */
    uint8_t retired;                                   /**< spaces: bits by quic_space_id */
    uint8_t wants, pending; /**< fill() is to be called; it is on quic_endpoint.pending */
    uint8_t due;            /**< QUIC_DUE_* */
    uint8_t counts_handshake;
    uint8_t asleep;    /**< the keys' memory was given back */
    uint8_t idle_sent; /**< something was sent that wants an ACK since a packet came */
    quic_endpoint *ep;
    brg_conn *bc;
    tls_quic *tls;
    quic_conn *pending_next;
    quic_conn *all_next, **all_prev;
    apr_time_t deadline; /**< in the heap */
    uint32_t heap_at;    /**< index in it; UINT32_MAX: not there */

    uint32_t version, first_version; /**< first: that of the client's first packet */
    /** of Initial packets in it, where another one was chosen (RFC 9368); else NULL */
    quic_key *first_read;
    quic_cid original; /**< the id that the client chose at first */
    uint8_t has_retry;
    quic_id first; /**< that of its first packet here: the same, or ours of a Retry */
    quic_id own[QUIC_CIDS];
    uint64_t own_seq; /**< of the next one */
    quic_peer_cid theirs[QUIC_CIDS];
    uint64_t their_retired;         /**< all before were retired */
    uint64_t their_gone_top;        /**< the highest one that was retired, and 1; 0: none */
    uint64_t their_gone;            /**< of it and the 63 before: bits, from the lowest on */
    uint64_t retire[QUIC_CIDS * 2]; /**< RETIRE_CONNECTION_ID to be sent */
    uint8_t retire_n;
    uint8_t their_at; /**< which is in use */

    quic_space *space[QUIC_SPACES]; /**< NULL: there is none any more, or yet */
    quic_other_keys *other;         /**< NULL: none are made */
    quic_key *early_read;           /**< of 0-RTT packets; NULL: none is taken (any more) */
    uint32_t early_came;            /**< bytes of them */
    uint8_t phase, has_prev;        /**< the key phase bit, of both directions */
    uint8_t update_asked;           /**< we did, and wait for the peer's */
    uint64_t phase_read_from;       /**< the first packet number of this phase */
    uint64_t phase_write_from;
    apr_time_t prev_until;

    quic_path path;
    quic_path *old;            /**< that was proved, while another one is tried; NULL */
    quic_elsewhere *elsewhere; /**< a PATH_RESPONSE that is to be sent to another address; NULL */
    uint8_t ecn_state;         /**< 0: tried, 1: it works, 2: it does not */
    uint8_t responses_n;
    uint8_t responses[QUIC_RESPONSES][8];
    uint16_t mtu, mtu_probe;    /**< datagrams; probe: under way, 0: none */
    uint8_t mtu_tries, mtu_due; /**< due: a probe is to be sent before much data */

    /* recovery: */
    apr_interval_time_t rtt, rtt_var, rtt_min, rtt_last; /**< rtt 0: no sample */
    apr_time_t rtt_first;
    uint32_t pto_n;
    uint32_t reorder; /**< packets behind an acknowledged one that may be late ... */
    apr_interval_time_t reorder_wait; /**< ... and for how much longer than a round trip */
    quic_cc cc;
    apr_time_t pace_due;

    quic_params peer;
    apr_time_t idle_due, handshake_due, close_due;
    apr_time_t sleep_due; /**< the keys' memory is given back, when nothing happens until then */
    apr_time_t again_at;  /**< quic_loss_again() does something from then on */
    apr_interval_time_t idle;

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
    uint32_t floods; /**< frames that are legal, and of no use; they go down with time */
    quic_stream *sending, **sending_tail, *due_streams;
    quic_stream *dead; /**< by hash_next */
    apr_time_t floods_at;

    quic_qlog *qlog; /**< NULL: it tells nothing */

    /* the end: */
    quic_end end;
    uint8_t *close; /**< the packet that says so */
    uint16_t close_len;
    uint32_t close_came, close_said;
};

/* ---- an endpoint ---- */

/** Datagrams to one address. */
typedef struct quic_out_msg {
    quic_addr peer, local;
    size_t off, len;
    uint16_t segment; /**< bytes of each but the last */
    uint16_t n;
    uint8_t ecn, closed; /**< closed: a smaller one was the last */
} quic_out_msg;

typedef struct quic_in quic_in; /**< a batch of datagrams that came */

/** What loop/loop.h and tls/tls_quic.h do, or a test. */
typedef struct quic_below {
    brg_conn *(*open)(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *peer,
                      const struct sockaddr *local);
    void (*close)(brg_loop *loop, brg_conn *bc);
    tls_quic *(*begin)(brg_conn *bc, const tls_quic_user *, void *of, const uint8_t *params,
                       size_t len);
    int (*give)(tls_quic *, tls_quic_level, const uint8_t *data, size_t len);
    int (*end)(tls_quic *);
    void (*allow_early)(tls_quic *, uint64_t bound);
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
    uint8_t draining, has_gso, has_v6, ended;
    quic_id **ids; /**< a table of ids_cap lists */
    uint32_t ids_n, ids_cap;
    quic_conn *all;
    unsigned conns_n, handshakes;
    quic_conn **heap;
    uint32_t heap_n, heap_cap;
    quic_conn *pending, **pending_tail;
    quic_conn *turn;          /**< those that have theirs, by pending_next */
    apr_time_t blocked_until; /**< the socket takes nothing until then, with msg_n */
    apr_time_t resets_at;     /**< for the limits of answers to nobody */
    uint32_t resets_left;
    quic_figures figures;
    uint64_t random[32]; /**< bytes at hand, for what must not be guessed */
    uint32_t random_left;
    /* a batch of datagrams: */
    uint8_t *out;
    size_t out_len;
    quic_out_msg msg[QUIC_OUT_MSGS];
    unsigned msg_n;
    quic_in *in;
};

#endif
