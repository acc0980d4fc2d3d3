/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FIGURES_H
#define BRIGADE_FIGURES_H

/**
 * @file brigade/figures.h The figures of the whole server, all processes together. BRG_FIGURE_LIST
 * is their one table: for their sums, for Prometheus, for JSON, and for the manual.
 *
 * Figures are read while others write them: each is right by itself, but two of them need not be of
 * the same instant. Figures from outside of the request path are brought up to date once a second.
 */
#include "apr_time.h"
#include "brigade/declare.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the values of loops and processes become one. */
typedef enum brg_figure_kind {
    BRG_COUNTER, /**< counts up: the sum, ended processes included */
    BRG_GAUGE,   /**< of the moment: the sum */
    BRG_MOST     /**< of the moment: the highest */
} brg_figure_kind;

#define BRG_CONNS "brigade_connections", "Open connections, by what they wait for."
#define BRG_UNKEPT                                                                             \
    "brigade_cache_not_kept_total",                                                            \
        "Answers that took the full way and were not kept in the response cache, by the first" \
        " reason."
#define BRG_WORKER_THREADS "brigade_workers", "Worker threads."
#define BRG_CPU "brigade_cpu_seconds_total", "Processor time of the server processes."
#define BRG_READS                                         \
    "brigade_file_reads_total",                           \
        "Opens and reads of files on event loops: warm: " \
        "the kernel had it in memory, cold: a worker had to wait for the disk."
#define BRG_WAYS                                                                     \
    "brigade_sent_by_way_bytes_total",                                               \
        "Bytes given to sockets, by the way they went: from memory, heads included;" \
        " from a file by sendfile(), through a mapped window, or read into a buffer."
#define BRG_LOCKS                                                                                  \
    "brigade_lock_waits_total",                                                                    \
        "How often a thread found a lock taken and had to wait for it, by lock: of the queues for" \
        " worker threads; of the number of these; of merged sections; of a connection's streams; " \
        "of idle"                                                                                  \
        " connections to backends."
#define BRG_SHAKES \
    "brigade_tls_handshakes_total", "TLS handshakes of the built-in ssl module, by outcome."
#define BRG_VERSIONS              \
    "brigade_tls_versions_total", \
        "TLS handshakes of the built-in ssl module that succeeded, by version of the protocol."
#define BRG_SCOPE_HELD                                   \
    "brigade_memory_held_bytes",                         \
        "Memory that the memory systems of a scope hold" \
        " from the operating system or the system below (MemoryReport On)."
#define BRG_SCOPE_GIVEN                                                                          \
    "brigade_memory_allocated_bytes_total", "Bytes that pools of a scope gave out (MemoryReport" \
                                            " On)."

/** X(id, kind, divisor, family, help, labels): a value is the counter divided by @a divisor. Rows of a
 * family stand together. Names are Prometheus's: base units, _total for counters. */
#define BRG_FIGURE_LIST(X)                                                                         \
    X(PROCESSES, BRG_GAUGE, 1, "brigade_processes", "Server processes that are alive.", NULL)      \
    X(STOPPING, BRG_GAUGE, 1, "brigade_processes_stopping",                                        \
      "Of these: those that end when their connections have.", NULL)                               \
    X(STARTED, BRG_MOST, 1000000, "brigade_start_time_seconds",                                    \
      "When the server was started, in seconds since the epoch.", NULL)                            \
    X(CONFIGURED, BRG_MOST, 1000000, "brigade_restart_time_seconds",                               \
      "When it was started or restarted other than gracefully: since then counters count.", NULL)  \
    X(GENERATION, BRG_MOST, 1, "brigade_configuration_generation",                                 \
      "How often the configuration was read.", NULL)                                               \
    X(ENDED, BRG_COUNTER, 1, "brigade_requests_total", "Requests that ended.", NULL)               \
    X(WRITTEN, BRG_COUNTER, 1, "brigade_sent_bytes_total",                                         \
      "Bytes sent in responses, heads included, before TLS.", NULL)                                \
    X(READ, BRG_COUNTER, 1, "brigade_received_bytes_total",                                        \
      "Bytes of requests received, heads included, after TLS.", NULL)                              \
    X(ACCEPTED, BRG_COUNTER, 1, "brigade_connections_accepted_total", "Connections accepted.",     \
      NULL)                                                                                        \
    X(SHED, BRG_COUNTER, 1, "brigade_connections_shed_total",                                      \
      "Idle connections that were closed early, to make room for new ones.", NULL)                 \
    X(READING, BRG_GAUGE, 1, BRG_CONNS, "state=\"reading\"")                                       \
    X(IDLE, BRG_GAUGE, 1, BRG_CONNS, "state=\"idle\"")                                             \
    X(WRITING, BRG_GAUGE, 1, BRG_CONNS, "state=\"writing\"")                                       \
    X(AT_WORKER, BRG_GAUGE, 1, BRG_CONNS, "state=\"worker\"")                                      \
    X(CLOSING, BRG_GAUGE, 1, BRG_CONNS, "state=\"closing\"")                                       \
    X(HTTP2, BRG_GAUGE, 1, "brigade_http2_connections",                                            \
      "Open connections that speak HTTP/2 on the event loops.", NULL)                              \
    X(STREAMS, BRG_GAUGE, 1, "brigade_http2_streams",                                              \
      "Their open streams: requests that are not answered yet, or not as a whole.", NULL)          \
    X(HTTP3, BRG_GAUGE, 1, "brigade_http3_connections", "Open connections that speak HTTP/3.",     \
      NULL)                                                                                        \
    X(HTTP3_STREAMS, BRG_GAUGE, 1, "brigade_http3_streams",                                        \
      "Their open streams: requests that are not answered yet, or not as a whole.", NULL)          \
    X(QUIC_IN, BRG_COUNTER, 1, "brigade_quic_datagrams_total", "Datagrams of QUIC.",               \
      "direction=\"in\"")                                                                          \
    X(QUIC_OUT, BRG_COUNTER, 1, "brigade_quic_datagrams_total", "Datagrams of QUIC.",              \
      "direction=\"out\"")                                                                         \
    X(QUIC_PACKETS, BRG_COUNTER, 1, "brigade_quic_packets_sent_total", "Packets of QUIC sent.",    \
      NULL)                                                                                        \
    X(QUIC_LOST, BRG_COUNTER, 1, "brigade_quic_packets_lost_total",                                \
      "Of these: those that were found to be lost.", NULL)                                         \
    X(QUIC_BAD, BRG_COUNTER, 1, "brigade_quic_packets_bad_total",                                  \
      "Packets that came and could not be read.", NULL)                                            \
    X(QUIC_FAILED, BRG_COUNTER, 1, "brigade_quic_handshakes_failed_total",                         \
      "Handshakes of QUIC that failed.", NULL)                                                     \
    X(QUIC_RETRIES, BRG_COUNTER, 1, "brigade_quic_retries_total",                                  \
      "New clients that had to prove their address first.", NULL)                                  \
    X(QUIC_RESETS, BRG_COUNTER, 1, "brigade_quic_resets_total",                                    \
      "Stateless resets sent, for packets of connections that there are not.", NULL)               \
    X(QUIC_MIGRATIONS, BRG_COUNTER, 1, "brigade_quic_migrations_total",                            \
      "Connections whose client went on from another address.", NULL)                              \
    X(QUIC_BYTES_IN, BRG_COUNTER, 1, "brigade_quic_bytes_total", "Bytes of datagrams of QUIC.",    \
      "direction=\"in\"")                                                                          \
    X(QUIC_BYTES_OUT, BRG_COUNTER, 1, "brigade_quic_bytes_total", "Bytes of datagrams of QUIC.",   \
      "direction=\"out\"")                                                                         \
    X(QUIC_SENDS, BRG_COUNTER, 1, "brigade_quic_send_calls_total",                                 \
      "Calls of the kernel that sent datagrams of QUIC.", NULL)                                    \
    X(QUIC_GSO, BRG_COUNTER, 1, "brigade_quic_gso_datagrams_total",                                \
      "Datagrams of QUIC that left as a part of a larger one (UDP_SEGMENT).", NULL)                \
    X(QUIC_CONNS, BRG_COUNTER, 1, "brigade_quic_connections_total",                                \
      "Connections of QUIC that were begun.", NULL)                                                \
    X(QUIC_REFUSED, BRG_COUNTER, 1, "brigade_quic_refused_total",                                  \
      "New clients that were told that there is no connection for them.", NULL)                    \
    X(QUIC_EARLY, BRG_COUNTER, 1, "brigade_quic_early_data_total",                                 \
      "Connections whose early data was taken (H3EarlyData).", NULL)                               \
    X(QUIC_KEYS, BRG_COUNTER, 1, "brigade_quic_key_updates_total", "Key updates of QUIC.", NULL)   \
    X(QUIC_FLOODS, BRG_COUNTER, 1, "brigade_quic_floods_total",                                    \
      "Connections that were closed for frames of no use.", NULL)                                  \
    X(QUIC_PROBES, BRG_COUNTER, 1, "brigade_quic_probes_total",                                    \
      "Times that nothing was acknowledged in time, and a probe was sent.", NULL)                  \
    X(QUIC_CONGESTION, BRG_COUNTER, 1, "brigade_quic_congestion_events_total",                     \
      "Times that a window of congestion became smaller, by loss or marks.", NULL)                 \
    X(QUIC_RTT_SUM, BRG_COUNTER, 1000000, "brigade_quic_rtt_seconds_total",                        \
      "Sum of the round trips of QUIC that were measured.", NULL)                                  \
    X(QUIC_RTTS, BRG_COUNTER, 1, "brigade_quic_rtt_samples_total", "Of how many it is the sum.",   \
      NULL)                                                                                        \
    X(TURNS, BRG_COUNTER, 1, "brigade_loop_turns_total", "Turns of the event loops.", NULL)        \
    X(LONGEST, BRG_MOST, 1000000, "brigade_loop_longest_turn_seconds",                             \
      "The longest turn of the last one to two minutes.", NULL)                                    \
    X(STALLED, BRG_GAUGE, 1, "brigade_loops_stalled",                                              \
      "Event loops that have been in one turn for a second or longer.", NULL)                      \
    X(REPLACED, BRG_COUNTER, 1, "brigade_processes_replaced_total",                                \
      "Server processes that were replaced by LoopTimeout or WorkerTimeout.", NULL)                \
    X(WORKERS, BRG_GAUGE, 1, BRG_WORKER_THREADS, "state=\"alive\"")                                \
    X(WORKERS_BUSY, BRG_GAUGE, 1, BRG_WORKER_THREADS, "state=\"busy\"")                            \
    X(WORKERS_MOST, BRG_GAUGE, 1, "brigade_workers_limit",                                         \
      "Worker threads that there may be (MaxRequestWorkers).", NULL)                               \
    X(WORKERS_FULL, BRG_COUNTER, 1, "brigade_worker_full_total",                                   \
      "Requests that had to wait since all worker threads that there may be were at work.", NULL)  \
    X(WAITING, BRG_GAUGE, 1, "brigade_worker_queue", "Connections that wait for a worker thread.", \
      NULL)                                                                                        \
    X(HITS, BRG_COUNTER, 1, "brigade_cache_hits_total",                                            \
      "Answers from the response cache, 304 and parts included.", NULL)                            \
    X(MISSES, BRG_COUNTER, 1, "brigade_cache_misses_total",                                        \
      "Requests that the response cache could have answered, and did not.", NULL)                  \
    X(UNKEPT_HANDLER, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"handler\"")                            \
    X(UNKEPT_WORKER, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"worker\"")                              \
    X(UNKEPT_REQUEST, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"request\"")                            \
    X(UNKEPT_RECENT, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"recent\"")                              \
    X(UNKEPT_SELDOM, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"seldom\"")                              \
    X(UNKEPT_MODULE, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"module\"")                              \
    X(UNKEPT_OTHER, BRG_COUNTER, 1, BRG_UNKEPT, "reason=\"other\"")                                \
    X(ARMED, BRG_COUNTER, 1, "brigade_cache_armed_total",                                          \
      "Entries whose dependencies were put under watch.", NULL)                                    \
    X(FILLED, BRG_COUNTER, 1, "brigade_cache_filled_total", "Entries that were filled.", NULL)     \
    X(EVICTED, BRG_COUNTER, 1, "brigade_cache_evicted_total",                                      \
      "Entries that made room for others.", NULL)                                                  \
    X(CHANGED, BRG_COUNTER, 1, "brigade_cache_changed_total",                                      \
      "Entries forgotten since what they depend on changed.", NULL)                                \
    X(ENTRIES, BRG_GAUGE, 1, "brigade_cache_entries", "Entries of the response cache.",            \
      "kind=\"answer\"")                                                                           \
    X(ERRORS, BRG_GAUGE, 1, "brigade_cache_entries", "Entries of the response cache.",             \
      "kind=\"error\"")                                                                            \
    X(CACHE_BYTES, BRG_GAUGE, 1, "brigade_cache_bytes",                                            \
      "Memory of the response cache, as counted against FileCacheSize.", NULL)                     \
    X(CACHE_MAX, BRG_GAUGE, 1, "brigade_cache_max_bytes",                                          \
      "FileCacheSize of all event loops together.", NULL)                                          \
    X(WATCHES, BRG_GAUGE, 1, "brigade_cache_watches", "inotify watches of the response cache.",    \
      NULL)                                                                                        \
    X(WARM, BRG_COUNTER, 1, BRG_READS, "cache=\"warm\"")                                           \
    X(COLD, BRG_COUNTER, 1, BRG_READS, "cache=\"cold\"")                                           \
    X(SENT_MEMORY, BRG_COUNTER, 1, BRG_WAYS, "way=\"memory\"")                                     \
    X(SENT_SENDFILE, BRG_COUNTER, 1, BRG_WAYS, "way=\"sendfile\"")                                 \
    X(SENT_WINDOW, BRG_COUNTER, 1, BRG_WAYS, "way=\"window\"")                                     \
    X(SENT_READ, BRG_COUNTER, 1, BRG_WAYS, "way=\"read\"")                                         \
    X(LOCK_WORKERS, BRG_COUNTER, 1, BRG_LOCKS, "lock=\"workers\"")                                 \
    X(LOCK_THREADS, BRG_COUNTER, 1, BRG_LOCKS, "lock=\"threads\"")                                 \
    X(LOCK_SECTIONS, BRG_COUNTER, 1, BRG_LOCKS, "lock=\"sections\"")                               \
    X(LOCK_STREAMS, BRG_COUNTER, 1, BRG_LOCKS, "lock=\"streams\"")                                 \
    X(LOCK_BACKENDS, BRG_COUNTER, 1, BRG_LOCKS, "lock=\"backends\"")                               \
    X(SHAKES_FULL, BRG_COUNTER, 1, BRG_SHAKES, "outcome=\"full\"")                                 \
    X(SHAKES_RESUMED, BRG_COUNTER, 1, BRG_SHAKES, "outcome=\"resumed\"")                           \
    X(SHAKES_FAILED, BRG_COUNTER, 1, BRG_SHAKES, "outcome=\"failed\"")                             \
    X(VERSION_13, BRG_COUNTER, 1, BRG_VERSIONS, "version=\"1.3\"")                                 \
    X(VERSION_12, BRG_COUNTER, 1, BRG_VERSIONS, "version=\"1.2\"")                                 \
    X(VERSION_OLD, BRG_COUNTER, 1, BRG_VERSIONS, "version=\"older\"")                              \
    X(LOST, BRG_COUNTER, 1, "brigade_log_lines_lost_total",                                        \
      "Lines of logs that could not be written.", NULL)                                            \
    X(CPU_USER, BRG_COUNTER, 1000000, BRG_CPU, "mode=\"user\"")                                    \
    X(CPU_SYSTEM, BRG_COUNTER, 1000000, BRG_CPU, "mode=\"system\"")                                \
    X(RESIDENT, BRG_GAUGE, 1, "brigade_resident_bytes",                                            \
      "Resident memory of the server processes; what they share is counted in each.", NULL)        \
    X(DESCRIPTORS, BRG_GAUGE, 1, "brigade_open_descriptors",                                       \
      "Open descriptors of the server processes (Linux 6.2 and later).", NULL)                     \
    X(DESCRIPTORS_MOST, BRG_MOST, 1, "brigade_max_descriptors",                                    \
      "Descriptors that one server process may open.", NULL)                                       \
    X(HELD_PROCESS, BRG_GAUGE, 1, BRG_SCOPE_HELD, "scope=\"process\"")                             \
    X(HELD_CONFIGURATION, BRG_GAUGE, 1, BRG_SCOPE_HELD, "scope=\"configuration\"")                 \
    X(HELD_CONNECTION, BRG_GAUGE, 1, BRG_SCOPE_HELD, "scope=\"connection\"")                       \
    X(HELD_REQUEST, BRG_GAUGE, 1, BRG_SCOPE_HELD, "scope=\"request\"")                             \
    X(HELD_BUCKET, BRG_GAUGE, 1, BRG_SCOPE_HELD, "scope=\"bucket\"")                               \
    X(HELD_LOG, BRG_GAUGE, 1, BRG_SCOPE_HELD, "scope=\"log\"")                                     \
    X(GIVEN_PROCESS, BRG_COUNTER, 1, BRG_SCOPE_GIVEN, "scope=\"process\"")                         \
    X(GIVEN_CONFIGURATION, BRG_COUNTER, 1, BRG_SCOPE_GIVEN, "scope=\"configuration\"")             \
    X(GIVEN_CONNECTION, BRG_COUNTER, 1, BRG_SCOPE_GIVEN, "scope=\"connection\"")                   \
    X(GIVEN_REQUEST, BRG_COUNTER, 1, BRG_SCOPE_GIVEN, "scope=\"request\"")                         \
    X(GIVEN_BUCKET, BRG_COUNTER, 1, BRG_SCOPE_GIVEN, "scope=\"bucket\"")                           \
    X(GIVEN_LOG, BRG_COUNTER, 1, BRG_SCOPE_GIVEN, "scope=\"log\"")

/** Places in brg_figures.value. */
typedef enum brg_figure_id {
#define BRG_FIGURE_ID(id, ...) BRG_FIGURE_##id,
    BRG_FIGURE_LIST(BRG_FIGURE_ID)
#undef BRG_FIGURE_ID
        BRG_FIGURES_N
} brg_figure_id;

/** A row of the table. */
typedef struct brg_figure {
    brg_figure_kind kind;
    uint64_t divisor;
    const char *family, *help;
    const char *labels; /**< as Prometheus writes them, without braces; NULL: none */
} brg_figure;

/** The table; as long as the program. @param n  a brg_figure_id */
BRG_DECLARE(const brg_figure *) brg_figure_of(int n);

#define BRG_BUCKETS 20 /**< of a histogram; the last one has no upper bound */

/** How long something took. */
typedef struct brg_histogram {
    /** how many of them took longer than the bucket before says, and no longer than this */
    uint64_t n[BRG_BUCKETS];
    uint64_t sum_us;
} brg_histogram;

/** Upper bound of a bucket, microseconds; 0: none. */
BRG_DECLARE(uint64_t) brg_bucket_bound(int bucket);

/** The histograms, places in brg_figures.took. */
typedef enum brg_took_id {
    /** requests that the response cache answered: to the end of their turn. Of turns with nothing
     * else one in eight is measured, and stands for the others */
    BRG_TOOK_MEMORY,
    BRG_TOOK_FULL,  /**< other requests, from their head to the last byte of the response */
    BRG_TOOK_TURN,  /**< turns of event loops with something to do: so long may an event wait */
    BRG_TOOK_QUEUE, /**< how long connections waited for a worker */
    BRG_TOOK_N
} brg_took_id;

/** Name, help and labels of a histogram, as those of figures. */
BRG_DECLARE(const brg_figure *) brg_took_of(int n);

#define BRG_FIGURE_HOSTS 64 /**< virtual hosts that are told apart; 0 stands for all others */
#define BRG_FIGURE_HOST 64  /**< bytes of a virtual host's name, NUL included */

typedef enum brg_figure_protocol {
    BRG_PROTOCOL_H1,
    BRG_PROTOCOL_H1_TLS,
    BRG_PROTOCOL_H2,
    BRG_PROTOCOL_H2_TLS,
    BRG_PROTOCOL_H3, /**< always with TLS */
    BRG_PROTOCOLS_N
} brg_figure_protocol;

#define BRG_CLASSES_N 5 /**< 1xx to 5xx */

/** Requests of a virtual host in one protocol. Nothing but counters. */
typedef struct brg_host_figures {
    uint64_t by_class[BRG_CLASSES_N]; /**< by class of their status */
    uint64_t bytes; /**< of the bodies of their responses, as %b of a log has it */
    uint64_t cached,
        /** of requests for which stored answers of backends were looked up: answered without a
         * request of their own to the backend, and others */
        uncached;
} brg_host_figures;

/** All figures, of a loop or of the server. Nothing but counters. */
typedef struct brg_figures {
    uint64_t value[BRG_FIGURES_N];
    brg_histogram took[BRG_TOOK_N];
    brg_host_figures host[BRG_FIGURE_HOSTS][BRG_PROTOCOLS_N];
} brg_figures;

/** Add up the figures of all processes. Threads: any. Blocking: no. @return 0, or -1 when there are none */
BRG_DECLARE(int) brg_figures_sum(brg_figures *out);

#define BRG_SAMPLE_SECONDS 10 /**< between two samples */
#define BRG_SAMPLES 360       /**< kept: an hour */

/** The figures at a moment, all virtual hosts together. */
typedef struct brg_sample {
    apr_time_t at; /**< microseconds since the epoch */
    uint64_t value[BRG_FIGURES_N];
    brg_histogram took[BRG_TOOK_N];
    uint64_t by_class[BRG_CLASSES_N];
} brg_sample;

/**
 * The figures of the last hour.
 * @param n  number of a sample, counted since the server started
 * @return 1: @a out is filled; 0: this one is not kept any more; -1: it is still to come
 */
BRG_DECLARE(int) brg_figures_sample(uint64_t n, brg_sample *out);

/** How many samples were taken since the server started: the number of the next. Threads: any. */
BRG_DECLARE(uint64_t) brg_figures_samples(void);

#define BRG_DAY_SECONDS 300 /**< between two samples of the last day */
#define BRG_DAY_SAMPLES 288 /**< kept: a day */

/** The same of the last day, in wider steps. */
BRG_DECLARE(int) brg_figures_day_sample(uint64_t n, brg_sample *out);
BRG_DECLARE(uint64_t) brg_figures_day_samples(void);

#define BRG_TARGET 112 /**< bytes of a target's name, NUL included */
#define BRG_TARGETS 24 /**< busiest and slowest targets that are kept */

/** A request that took long, or a target that is asked for often. */
typedef struct brg_target {
    char name[BRG_TARGET]; /**< virtual host and path, without the query */
    uint64_t hash;         /**< of it */
    /** about how many requests lately; half of them are forgotten in ten minutes */
    uint64_t count;
    apr_time_t at;        /**< slowest: when it ended, by the date */
    apr_time_t monotonic; /**< slowest: when it ended, by a clock that nobody sets */
    uint64_t us;          /**< slowest: how long it took, microseconds */
    int status;           /**< slowest */
} brg_target;

/** The slowest requests of the last hour that took the full way, in no order. @return how many */
BRG_DECLARE(int) brg_figures_slowest(brg_target out[BRG_TARGETS]);

/** The busiest targets, in no order. @return how many */
BRG_DECLARE(int) brg_figures_busiest(brg_target out[BRG_TARGETS]);

/** "name:port" of a virtual host that is told apart; NULL: no host with this number. It lies in
 * memory that server processes share: copy it, BRG_FIGURE_HOST - 1 bytes at most.
 * @param n  1 or more */
BRG_DECLARE(const char *) brg_figure_host(int n);

#ifdef __cplusplus
}
#endif
#endif
