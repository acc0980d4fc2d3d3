/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_LOOP_H
#define BRIGADE_LOOP_LOOP_H

/**
 * @file loop.h
 * The insides of an event loop, for its own files (loop.c: the turn; loop_conns.c: its
 * connections; loop_linger.c, loop_run.c, loop_accept.c, loop_slow.c, loop_long.c, loop_trim.c),
 * for drivers of protocols, and for services of a loop.
 *
 * A turn: wait for events; read from every ready socket; take back connections from workers; drain
 * the file watches once; answer every connection that was read from. A change to a file that was
 * made before a request was sent is therefore in the watch queue before the request is answered.
 */
#include "figures.h"
#include "file_window.h"
#include "loops.h"
#include "timer_wheel.h"
#include "worker_pool.h"
#include "brigade/assert.h"
#include "brigade/read_timeout.h"
#include <stdatomic.h>

/** connections read from in one turn: their buffers stay in the CPU's cache */
#define LOOP_EVENTS 64
#define LOOP_IN_BYTES 4096 /**< first input buffer of a connection that has something to read */
/** silence after which a process that ends closes an idle connection */
#define LOOP_DRAIN_US apr_time_from_sec(1)
/** bytes of input kept for one connection, whatever the Limit* directives say */
#define LOOP_IN_MOST (1U << 20)
#define LOOP_BODY_BYTES 32768 /**< input kept in CONN_BODY, where it is consumed in each turn */
#define LOOP_IN_SPARE 256     /**< empty input buffers kept */
#define LOOP_CONN_SPARE 1024  /**< closed brg_conn objects kept */

/** of turns that answered from memory alone, the length of each eighth is measured */
#define LOOP_MEASURED 8

/* A connection with many requests at once gives way to others after either of these: */
#define LOOP_QUANTUM_REQUESTS 128 /**< requests of one connection in one turn */
/** microseconds since the turn began, looked at after requests that were not answered from memory */
#define LOOP_QUANTUM_US 5000
#define LOOP_SHED 32              /**< silent connections closed at once, at least, to make room */
#define LOOP_SHED_MS 10           /**< and how often, in milliseconds ... */
#define LOOP_SHED_VAIN_MS 100     /**< ... and where nothing could be closed */
#define LOOP_SLOW_US (100 * 1000) /**< a turn that takes longer is logged */
#define LOOP_SLOW_LOG_US apr_time_from_sec(10) /**< at most one such line per loop in this time */
#define LOOP_SLOW_LINE 160                     /**< bytes of the request line in it */
/** microseconds: a request above this on the loop is slow: loop_takes_long() */
#define LOOP_LONG_US 2000
#define LOOP_COHORT 16 /**< requests at most whose steps are run together: loop_later() */

struct epoll_event;
struct gather;
struct response_cache;
struct folder_table;
struct loop_score;

/** A call that another thread wants the loop to make. Its owner keeps it until the call was made. */
struct loop_note {
    struct loop_note *next;
    _Atomic int posted; /**< it is on the list already */
    void (*run)(struct loop_note *note);
};

/** A listening socket in a loop's poll set. */
struct loop_listener {
    struct loop_io io;
    brg_loop *loop;
    brg_listener *listener;
    uint64_t turn; /**< when it last had a connection, by the loop's count of turns */
};

/** An object that lives on a loop beside connections of clients, and has to end on its thread:
 * embedded in the owner's object. */
struct loop_guest {
    struct loop_guest *next;
    void (*end)(struct loop_guest *guest); /**< the loop ends: nothing of it is used behind this */
};

/** A deadline to the millisecond, where the ticks of timer_wheel.h are too long: for the few that have very many deadlines
 * and keep them in order themselves. Embedded in an object of the owner's. */
struct loop_alarm {
    struct loop_alarm *next;
    apr_time_t due; /**< of clock_monotonic(); 0: at the end of this turn; LOOP_NEVER */
    void (*run)(struct loop_alarm *alarm);
};
#define LOOP_NEVER INT64_MAX

struct brg_loop {
    int index;    /**< among the loops of this process */
    int prefork;  /**< the thread of this loop is the process's only one */
    int draining; /**< LOOPS_DRAIN was seen */
    const loops_config *config;
    server_rec *server;
    apr_pool_t *pool; /**< the loop's own, with an allocator of its own */

    struct {
        int fd;                /**< epoll */
        int wake_fd;           /**< eventfd: workers and the main thread end the wait with it */
        struct loop_io wake;   /**< that */
        struct loop_io orders; /**< loops_config.order_fds */
        struct epoll_event *events; /**< in hand: the events of this turn */
        int events_n;
        int orders_come; /**< see loops_config.orders */
        int failures;    /**< of epoll_wait, in a row */
    } poll;

    /* ---- clocks, read once per turn, and timers ---- */
    /** clock_monotonic(), for deadlines: read once per turn, and after each request that was not
     * answered from memory */
    apr_time_t monotonic;
    apr_time_t wall;       /**< microseconds since the epoch, once per turn: for dates */
    apr_time_t wall_ahead; /**< of monotonic, when both were read */
    apr_time_t wall_read;  /**< when that was */
    timer_wheel wheel;
    struct loop_alarm *alarms; /**< loop_alarm_add() */

    /** Listeners (loop_accept.c). */
    struct {
        brg_listener **listeners;    /**< NULL-terminated */
        struct loop_listener *doors; /**< these in the poll set, in their order */
        int on;                      /**< they are in the poll set */
        int last;                    /**< draining: on so many connections wait still */
        apr_time_t again; /**< not on: when to try; a connection that closes brings it forward */
        void *datagrams;  /**< of loop_datagrams */
    } accept;

    /** Connections of a turn, and its counts (loop.c). */
    struct {
        apr_time_t began;              /**< monotonic then */
        apr_time_t end_last;           /**< when the hooks of an end were run */
        brg_conn *ready, **ready_tail; /**< to be looked at in this turn */
        brg_conn *later[LOOP_COHORT];  /**< to be driven again in this turn: loop_later() */
        unsigned later_n;
        int more_ready;   /**< other events of this turn follow the driven connection */
        brg_conn *closed; /**< in this turn; events for them may still be in hand */
        brg_conn *again, **again_tail; /**< to be looked at in the next turn without waiting */
        unsigned ended_n;              /**< requests that ended in this turn */
        unsigned full_n;               /**< of these: not answered from memory */
        uint64_t read_n;               /**< bytes that the loop read and has not told yet */
    } turn;

    /** Open connections. */
    struct {
        brg_conn *all; /**< by all.next */
        unsigned n;
        unsigned most; /**< this loop's share of max_connections */
        unsigned peak; /**< most open ones since memory was given back */
        unsigned by_state[CONN_STATES];
        unsigned streams[CONN_STATES]; /**< streams that have a brg_conn, by state */
    } conns;

    /** Silent connections are closed to make room (loop_shed.c). */
    struct {
        struct loop_note note;     /**< loop_shed(), when the events in hand are over */
        apr_time_t last;           /**< when this loop did so */
        apr_interval_time_t pause; /**< for so long it does not do so again */
    } shed;

    /** Objects kept for the next connection (loop_trim.c). */
    struct {
        brg_conn *conns;
        unsigned conns_n;
        void *in;
        unsigned in_n;
        void *waiting; /**< of requests that waited (request/request_wait.c), linked */
        unsigned waiting_n;
        apr_time_t trimmed; /**< loop_trim() */
    } spare;

    /* ---- scores, figures ---- */
    struct {
        unsigned n;                 /**< open connections */
        unsigned streams;           /**< and their open streams */
        uint64_t scored;            /**< which of scores are in use */
        struct http2_score *scores; /**< on the status page; NULL: none */
    } http2;
    struct {
        unsigned n;       /**< open connections */
        unsigned streams; /**< and their open streams */
    } http3;
    struct loop_score *score;  /**< counters in the scoreboard; never NULL */
    struct worker_score *line; /**< of its thread there; NULL: it has none */
    loop_figures *figures;     /**< and those of figures.h; never NULL */

    /* ---- long turns ---- */
    struct loop_long_page *long_pages; /**< slow pages (loop_long.c); NULL: none */

    int long_turn; /**< measure this turn: it had slow work */
    struct {
        unsigned turns;    /**< with something to do, since one was measured */
        uint64_t requests; /**< answered from memory in them */
    } unmeasured;

    struct {
        apr_time_t since;   /**< when this minute began */
        uint64_t now, last; /**< longest turn of this minute, and of the one before; microseconds */
    } longest;

    struct {
        apr_time_t began;           /**< of the request that runs */
        apr_interval_time_t most;   /**< of the longest request of this turn */
        apr_time_t said;            /**< when the last slow turn was logged */
        unsigned requests;          /**< of this turn, not answered from memory */
        unsigned left;              /**< to workers, before their handlers ran here */
        const request_rec *running; /**< the running request, once it is known */
        int ends;                   /**< it ended, and the clock was read when it did */
        uint64_t page;              /**< of loop_page_of(), when it ended above LOOP_LONG_US */
        char line[LOOP_SLOW_LINE], longest[LOOP_SLOW_LINE]; /**< request lines, NUL-terminated */
    } slow; /**< for the log line about a turn that took too long (loop_slow.c) */

    /* ---- workers and other threads ---- */
    worker_pool *workers;
    /** Pushed by other threads, taken by the loop (release / acquire). */
    struct {
        _Atomic(brg_conn *) returned;        /**< by workers */
        atomic_int wakes;                    /**< 1 while poll.wake_fd is signalled */
        _Atomic(struct loop_note *) notes;   /**< by any thread */
        _Atomic(struct conn_drain *) drains; /**< by workers: loop_drain_post() */
    } posted;
    struct conn_drain *drains; /**< output that workers still produce (loop_drain.h) */
    size_t output_memory;      /**< bytes of output of its connections that wait in memory */
    int wants_worker; /**< in so many ms: threads of the pool are started one by one: worker_pool_grow() */
    int work_waits; /**< prefork: the next turn does not wait */

    /* ---- of the rooms above ---- */
    struct gather *out;           /**< output of a turn, before it is sent (gather.h) */
    struct response_cache *cache; /**< the response cache (services.begin) */
    struct folder_table *folders; /**< known folders (request/folders.h); NULL: none */
    struct walk_memos *walks;  /**< where walks came to (request/walk_memo.c); NULL: nothing yet */
    void *layer;               /**< result of loop_layer.begin(), or NULL */
    struct loop_guest *guests; /**< loop_guest_add() */
};

/** How a server process ends: written by the main thread, read by loops and workers (relaxed: a
 * hint per turn). */
enum { LOOPS_RUN, LOOPS_DRAIN, LOOPS_DROP };
extern atomic_int loops_phase;

/** Have note->run() called in the next turn, before connections are driven; once, however often it is posted
 * before. Threads: any. Blocks for no more than a wake-up. */
void loop_note_post(brg_loop *loop, struct loop_note *note);

/**
 * A thread that the end of the process does not wait for is about to touch objects of loops, such
 * as to post a note: they are not freed before loops_outside_end(). Threads: neither loops nor
 * workers. Blocks only for others of these.
 * @return 0: the loops have ended, nothing of theirs may be touched
 */
int loops_outside_begin(void);
void loops_outside_end(void);

/** Nothing is posted from outside any more: the loops may be freed. Threads: main, when loops and workers have ended. */
void loop_notes_end(void);

/** Have guest->end() called when the loop ends, on its thread. Threads: the loop's own. */
void loop_guest_add(brg_loop *loop, struct loop_guest *guest);

/**
 * Have alarm->run() called, when connections were driven, in each turn in which alarm->due has come; the loop does not wait for
 * longer than that. Its owner sets due at any time. Threads: the loop's own.
 */
void loop_alarm_add(brg_loop *loop, struct loop_alarm *alarm);
void loop_alarm_remove(brg_loop *loop, struct loop_alarm *alarm);

/** Bring the figures in the scoreboard up to date. */
void loop_publish(brg_loop *loop);

/**
 * Make room: of the connections that have no request (idle, silent since accept, heads begun a
 * while ago) close the eighth that has been silent for the longest, at least LOOP_SHED of them, but
 * not more than half (loop_shed.c). Goes through the open connections, thus at most once in
 * loop->shed.pause. Not while events are in hand. Threads: the loop's own.
 */
void loop_shed(brg_loop *loop);

/** The loop has no room: do that if a client waits in the queue of a listening socket. */
void loop_shed_if_wanted(brg_loop *loop);

/** A client waits that no listening socket has: it sends its first packet again. @return 1: there is room for it; 0: loop_shed() makes
 * some when the events in hand are over. Threads: the loop's own. */
int loop_make_room(brg_loop *loop);

/** The process is short of descriptors: have each of its loops do that in its next turn. Threads: a loop's. */
void loops_shed(void);

/** No further connection is to be taken until one ends. */
int loop_is_full(const brg_loop *loop);

/**
 * Make a loop, its worker pool and its services (services.begin), and put its listeners into the
 * poll set.
 *
 * @param p      outlives the loop
 * @param conf   outlives the loop
 * @param index  of the loop, from 0 on
 * Threads: the one that starts the loop.
 */
apr_status_t loop_create(brg_loop **out, apr_pool_t *p, const loops_config *conf, int index);

/** The calling thread runs the loop from now on. */
void loop_begin(brg_loop *loop);

/** One turn: wait for something to do, at most a second, and do all that is there to do (see above). Threads: the
 * loop's own. */
void loop_turn(brg_loop *loop);

/** A loop thread from its start to its end. */
void loop_main(brg_loop *loop);

/** Free everything that loop_main() left: connections that workers had, and memory. All threads
 * ended. */
void loop_free(brg_loop *loop);

/** A turn ends: record its length, also in place of the unmeasured turns before it and their
 * answers from memory (loop_figures.c). */
void loop_figures_turn(brg_loop *loop);

/** Once a second: update the figures of the loop and its workers (loop_figures.c). */
void loop_figures_second(brg_loop *loop);

/** A turn ends: tell of it if it took too long (loop_slow.c). */
void loop_slow_check(brg_loop *loop);

/** Once a second: free the memory that a peak of connections left behind (loop_trim.c). */
void loop_trim(brg_loop *loop);

/** Free the objects and buffers that are kept for connections to come. */
void loop_spares_free(brg_loop *loop);

/** A turn begins: bring both clocks up to date. Threads: the loop's own. */
void loop_read_clocks(brg_loop *loop);

/**
 * A request that begins now may take long: note it for the line that tells of a slow turn.
 * @param line  its request line, of @a len bytes; copied
 */
void loop_request_begins(brg_loop *loop, const char *line, size_t len);

/** @a r is that request. */
static inline void loop_request_runs(brg_loop *loop, const request_rec *r)
{
    loop->slow.running = r;
}

/** The time at which @a r, or the write that it shares, ends. One reading of the clock stands for
 * this and for loop_request_ended(). */
apr_time_t loop_request_ends(brg_loop *loop, const request_rec *r);

/** On a worker: the date, now. @a loop is that of the request. One reading of the clock stands for this and for the end of
 * the worker's turn. */
apr_time_t worker_request_ends(const brg_loop *loop);

/** How far the date is ahead of clock_monotonic(), at most a second old. Threads: any. */
static inline apr_time_t loop_wall_ahead(const brg_loop *loop)
{
    return __atomic_load_n(&loop->wall_ahead, __ATOMIC_RELAXED);
}

/** It is left to a worker before its handler ran here. One in LOOP_MEASURED is measured as by loop_request_ended(). */
void loop_request_left(brg_loop *loop);

/** It goes on later in this turn, or when its body came: as loop_request_ended(), but it is counted then. */
apr_interval_time_t loop_request_pauses(brg_loop *loop);

/** It is over, or left to a worker: bring loop->monotonic up to date, and note how long it took. @return that */
apr_interval_time_t loop_request_ended(brg_loop *loop);

/* ---- loop_long.c ---- */

/** The page of @a r, by its server and file, for the functions below. Never 0. Threads: the owner
 * of r */
uint64_t loop_page_of(const request_rec *r);

/** Where no page was slow yet, @a r is not looked at until it took long: loop_page_late(). */
#define LOOP_PAGE_LATER UINT64_C(2)

/** loop_page_of() or LOOP_PAGE_LATER, for the functions below. */
static inline uint64_t loop_page_early(const brg_loop *loop, const request_rec *r)
{
    return loop->long_pages ? loop_page_of(r) : LOOP_PAGE_LATER;
}

/** loop_page_of(), of a request that took LOOP_LONG_US or more on the loop. @param r  NULL: it has ended
 * @param page  loop_page_early() of it @return 0: nobody knows, since its end was told of another request */
static inline uint64_t loop_page_late(const brg_loop *loop, const request_rec *r, uint64_t page)
{
    if (page != LOOP_PAGE_LATER)
        return page;
    return r ? loop_page_of(r) : loop->slow.page;
}

/** 1: a worker is to make it, since it takes LOOP_LONG_US or more. */
int loop_takes_long(const brg_loop *loop, uint64_t page);

/** It did, on the loop. @param may_be_kept  the response cache may have it the next time. Threads: the loop's own. */
void loop_page_took_long(brg_loop *loop, uint64_t page, int may_be_kept);

/** It did not, or the response cache has it. Threads: the loop's own. */
void loop_page_is_quick(brg_loop *loop, uint64_t page);

/** 1: a connection that got @a answered answers in this turn gives way to others now. */
static inline int loop_turn_is_over(const brg_loop *loop, unsigned answered)
{
    return answered >= LOOP_QUANTUM_REQUESTS ||
           loop->monotonic - loop->turn.began >= LOOP_QUANTUM_US;
}

/** The loop that the calling thread runs, or NULL. */
static inline brg_loop *loop_self(void)
{
    return loop_of_thread;
}

/** The figure of a way of a file. */
static inline brg_figure_id loop_file_way(file_way way)
{
    return (brg_figure_id)(BRG_FIGURE_SENT_SENDFILE + (int)way);
}

/** The bit of a way in brg_conn.ways; 0: that of memory. */
static inline uint8_t loop_way_bit(brg_figure_id way)
{
    return (uint8_t)(1u << (way - BRG_FIGURE_SENT_MEMORY) >> 1);
}

/** @a n bytes went to a socket of the loop's, by a figure of BRG_WAYS. Threads: the owner of the connection. */
static inline void loop_sent(brg_loop *loop, brg_figure_id way, uint64_t n)
{
    if (loop_self() == loop)
        figures_add(&loop->figures->own.value[way], n);
    else
        figures_add_shared(&loop->figures->others.value[way], n);
}

/** Change bc's state, and the figures by state. */
static inline void conn_enter(brg_conn *bc, conn_state_id state)
{
    unsigned *n = bc->master ? bc->loop->conns.streams : bc->loop->conns.by_state;

    BRG_ASSERT_DEBUG(n[bc->state] > 0 && state < CONN_STATES);
    n[bc->state]--;
    n[state]++;
    bc->state = (uint8_t)state;
}

/** loop_io_fn of a connection's socket, and loop_timer_fn of its deadline (loop_conns.c). */
void loop_conn_ready(struct loop_io *io, uint32_t events);
void loop_conn_expired(struct loop_timer *t);

/** loop_io_fn of loop->poll.wake. */
void loop_woken(struct loop_io *io, uint32_t events);

/** Put bc on the list of this turn, if it is not there. */
static inline void loop_ready(brg_loop *loop, brg_conn *bc)
{
    BRG_ASSERT(bc->loop == loop);
    BRG_ASSERT_DEBUG(loop_self() == loop && bc->tag == CONN_TAG);
    if (bc->queued)
        return;
    bc->queued = 1;
    bc->next = NULL;
    *loop->turn.ready_tail = bc;
    loop->turn.ready_tail = &bc->next;
}

/**
 * Have bc->driver->run() called again in this turn, behind the connections that are ready: a request on each of them
 * begins before the first one goes on, which finds its code in the processor's cache. Until then nobody drives bc. Only
 * from run().
 * @return 1; 0: nobody is to be waited for, go on at once
 */
int loop_later(brg_loop *loop, brg_conn *bc);

/** Drive the connections on the list of this turn (loop_run.c). */
void loop_run_ready(brg_loop *loop);

/** Read from the connections that earlier turns left for this one, and put them on its list. */
void loop_read_again(brg_loop *loop);

/** Put bc on the list of the next turn, which then does not wait: there may be more to read. */
void loop_again(brg_loop *loop, brg_conn *bc);

/** Take bc off the list of the next turn, as it must be before another thread gets it. */
void loop_unlist(brg_loop *loop, brg_conn *bc);

/** bc->fd into the poll set, once per connection, when it first has to wait. 0 on success. */
int loop_poll(brg_loop *loop, brg_conn *bc);

/**
 * bc waits for its client: it is in the poll set, and its timer is set.
 * @param due   when its timer fires; 0: never
 * @param idle  1: an input buffer that is empty goes back to the loop
 * @return 0; else it cannot be polled, and has to be closed
 */
int loop_wait(brg_conn *bc, apr_time_t due, int idle);

/** A connection object for a stream of @a master, in CONN_HEAD: loop, descriptor, listener and virtual hosts are
 * that one's. loop_close() ends it. NULL: no memory. Threads: the loop's own. */
brg_conn *loop_stream(brg_conn *master);

/**
 * A connection over a shared UDP socket (brg_conn.borrows), in CONN_HEAD: it counts as an accepted
 * one, and has the virtual hosts of its local address.
 * @param fd     of the socket; outlives the connection, as @a local does
 * @param peer   the client's address
 * @return NULL: the loop is full, the connection may not enter, or there is no memory. Threads: the loop's own.
 */
brg_conn *loop_conn_begin(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *peer,
                          const struct sockaddr *local);

/** Close the socket and let the object go at the end of the turn. bc has no conn_rec any more. */
void loop_close(brg_loop *loop, brg_conn *bc);

/**
 * Shut our side of bc, and close it when its client has closed, is silent, or time is over: so no
 * reset takes the last response from the client. At once, where the client has closed or reading
 * failed. bc has no conn_rec any more, and no output that waits; it may be gone afterwards.
 * Threads: the loop's own.
 */
void loop_linger(brg_loop *loop, brg_conn *bc);

/** The turn ends: keep or free the objects of the connections that were closed in it. */
void loop_reap(brg_loop *loop);

/** An input buffer of LOOP_IN_BYTES, or NULL; and give one back. Threads: the loop's own. */
char *loop_in_get(brg_loop *loop);
void loop_in_put(brg_loop *loop, char *buf);

/** End the loop's wait. Threads: any. A failure is logged; the loop then goes on after a second. */
void loop_wake(brg_loop *loop);

/** End all connections, or all that no worker has. For loop.c. */
void loop_drop_conns(brg_loop *loop, int with_workers);

/** Run the notes that were posted. For loop.c. */
void loop_take_notes(brg_loop *loop);

/** Called by a worker: hand bc back to its loop. */
void loop_return(brg_conn *bc);

/* ---- loop_drain.c; all on the loop ---- */

/** Take over output that workers posted, and send as much of it as the sockets take. */
void loop_take_drains(brg_loop *loop);

/** The socket of @a d, whose connection a worker has, may take more. */
void loop_drain_event(brg_loop *loop, struct conn_drain *d);

/** Milliseconds after which one of them wants to be run again; -1: none does. */
int loop_drains_wait_ms(const brg_loop *loop);

/** Run the drains that asked for it. */
void loop_drains_again(brg_loop *loop);

/** Once a second: end those whose clients took nothing for too long. */
void loop_drains_expire(brg_loop *loop);

/** loop_io_fn of a loop_listener: accept waiting connections, at most a batch (loop_accept.c).
 * Threads: the loop's own. */
void loop_accept(struct loop_io *io, uint32_t events);

/** Call the functions of events that the poll set told (loop_io.c). Threads: the loop's own. */
void loop_io_run(brg_loop *loop, struct epoll_event *events, int n);

/**
 * Put the listeners into the poll set (@a on 1) or take them out of it. If they cannot be put there,
 * none is, and the loop tries again after a second.
 * @return 0 or errno, logged. Threads: the loop's own; before it runs, its creator's
 */
int loop_listeners(brg_loop *loop, int on);

/**
 * The process is to end, and its listeners are out of the poll set: accept all that waits on them,
 * as far as there is room for it, and close those on which nothing waits any more. Called each turn
 * until it returns 0.
 * @return listeners that are still open, because there was no room for all their connections
 */
int loop_accept_last(brg_loop *loop);

/* ---- conn_input.c ---- */

/** Read the socket's bytes, without waiting. */
void conn_fill(brg_conn *bc);

/** Drop bc's input, and give its buffer back. */
void conn_in_release(brg_conn *bc);

#endif
