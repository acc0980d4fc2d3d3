/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BGP_SESSION_H
#define BRIGADE_BGP_SESSION_H

/**
 * @file bgp_session.h
 * A session of BGP-4 that only receives (RFC 4271, section 8): states and
 * timers, without sockets and clock. Its owner moves bytes between @a in, @a out and a connection,
 * and reports that one's events (bgp_peer.c does).
 *
 * One session has one connection: this side either connects or waits to be connected to, so that two cannot collide.
 * Nothing is ever announced to the peer. Times are microseconds of a clock that is never set.
 */
#include <sys/socket.h>
#include "bgp_message.h"

#define BGP_PORT 179
#define BGP_IN 65536           /**< bytes that came and are not looked at */
#define BGP_OUT 1024           /**< bytes that wait to be sent, but for the last message */
#define BGP_OPEN_SECONDS 240   /**< that a peer has for its OPEN */
#define BGP_CONNECT_SECONDS 30 /**< that it takes to connect at most */
#define BGP_NEVER INT64_MAX

/** Configuration of a peer. */
typedef struct bgp_conf {
    const char *name; /**< as it was written, for messages */
    struct sockaddr_storage peer, local;
    int listens; /**< wait at @a local to be connected to, instead of connecting from it */
    bgp_self self;
    uint32_t peer_as;
    uint32_t port;  /**< as it was given; 0: not */
    uint32_t retry; /**< seconds between attempts */
    uint32_t keep;  /**< seconds that routes stay when the session ended */
    uint32_t max_routes;
    uint32_t hops;        /**< RFC 5082: from how many at most; 0: not looked at */
    const char *password; /**< RFC 2385, or NULL */
} bgp_conf;

typedef enum bgp_state {
    BGP_IDLE,    /**< until the time comes to try again */
    BGP_CONNECT, /**< a connection is being made */
    BGP_ACTIVE,  /**< the peer is waited for */
    BGP_OPEN_SENT,
    BGP_OPEN_CONFIRM,
    BGP_ESTABLISHED,
    BGP_STATES
} bgp_state;

/** "Idle", "Connect" and so on, as RFC 4271 has them. */
extern const char *const bgp_state_names[BGP_STATES];

typedef struct bgp_session bgp_session;

/** The owner's functions. Called by the functions below. */
typedef struct bgp_owner {
    /** The session is established. */
    void (*up)(void *data, const bgp_open *peer);
    /** An UPDATE came. @return 1, 0 with *fault: the session ends */
    int (*update)(void *data, const bgp_update *update, bgp_fault *fault);
    /** The session, or the attempt at one, ended. @param why  for the log; lives during the call */
    void (*down)(void *data, const char *why);
    /** Whoever connects is not heard for a moment. @param why  as above */
    void (*deaf)(void *data, const char *why);
} bgp_owner;

struct bgp_session {
    const bgp_conf *conf;
    const bgp_owner *owner;
    void *data;
    bgp_state state;
    int last;  /**< @a out holds the last bytes: send them and close */
    int close; /**< close the connection; the owner clears it */
    bgp_open peer;
    bgp_terms terms;
    uint32_t hold;      /**< seconds, as agreed; 0: none */
    int64_t until;      /**< when the state ends by itself */
    int64_t keepalive;  /**< when the next one is sent */
    size_t in_n, out_n; /**< bytes in use */
    unsigned char in[BGP_IN], out[BGP_OUT + BGP_MESSAGE_MAX];
};

/** Everything zero but the arguments; the first attempt is due at once. */
void bgp_session_begin(bgp_session *s, const bgp_conf *conf, const bgp_owner *owner, void *data,
                       int64_t now);

/** Is it time to connect, or to listen? Then do it and tell. */
int bgp_session_is_due(const bgp_session *s, int64_t now);
void bgp_session_connecting(bgp_session *s, int64_t now);
void bgp_session_listening(bgp_session *s);

/** There is a connection. */
void bgp_session_connected(bgp_session *s, int64_t now);

/** The connection failed, or ended. @param why  for the log */
void bgp_session_lost(bgp_session *s, const char *why, int64_t now);

/** Bytes were put into @a in. */
void bgp_session_input(bgp_session *s, int64_t now);

/** @a n bytes of @a out were sent. */
void bgp_session_sent(bgp_session *s, size_t n);

/** Time went by. */
void bgp_session_tick(bgp_session *s, int64_t now);

/** When bgp_session_tick() has something to do: BGP_NEVER, or a time. */
int64_t bgp_session_deadline(const bgp_session *s);

/** End it as the administrator does. */
void bgp_session_shut(bgp_session *s, int64_t now);

/** May another connection replace the present one (RFC 4724, section 5)? */
int bgp_session_gives_way(const bgp_session *s);

#endif
