/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of the whole server: where they are in shared memory, and how they are added up.
 *
 *   ended processes, names of virtual hosts
 *   loop_figures [processes][loops]
 *
 * Only rows of virtual hosts that have a name are read or cleared: a page that nobody touches takes no memory.
 */
#include "figures.h"
#include "program_thread.h"
#include "scores.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include "http_config.h"
#include "apr_hash.h"
#include <stdio.h>
#include <string.h>

#define FIGURES_LINE 128

typedef struct figures_global {
    _Alignas(FIGURES_LINE) brg_figures ended; /* counters of ended processes */
    _Atomic int hosts_n;                      /* in use, that of others included */
    char host[BRG_FIGURE_HOSTS][BRG_FIGURE_HOST];
    int host_used[BRG_FIGURE_HOSTS]; /* the last generation that had it; the supervisor's alone */
} figures_global;

static const brg_figure figures_table[BRG_FIGURES_N] = {
#define FIGURES_ROW(id, ...) [BRG_FIGURE_##id] = FIGURES_ROW_OF(__VA_ARGS__),
#define FIGURES_ROW_OF(kind, divisor, ...) \
    {                                      \
        kind, divisor, __VA_ARGS__         \
    }
    BRG_FIGURE_LIST(FIGURES_ROW)};

static const brg_figure took_table[BRG_TOOK_N] = {
    [BRG_TOOK_MEMORY] =
        {BRG_COUNTER, 1000000, "brigade_request_duration_seconds",
         "How long requests took: those that the response cache answered, to the end "
         "of their turn of the event loop; others from their head to the last byte.",
         "by=\"memory\""},
    [BRG_TOOK_FULL] = {BRG_COUNTER, 1000000, "brigade_request_duration_seconds", "",
                       "by=\"handler\""},
    [BRG_TOOK_TURN] = {BRG_COUNTER, 1000000, "brigade_loop_turn_duration_seconds",
                       "How long turns of event loops with something to do took: so long may an "
                       "event have to wait.",
                       NULL},
    [BRG_TOOK_QUEUE] = {BRG_COUNTER, 1000000, "brigade_worker_wait_seconds",
                        "How long connections waited for a worker thread.", NULL}};

static const uint64_t bucket_bounds[BRG_BUCKETS] = {
    10,    25,    50,     100,    250,    500,     1000,    2500,    5000,     10000,
    25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 0};

static figures_global *figures_all;
static loop_figures *figures_loops;
static loop_figures figures_nowhere;
static int figures_processes, figures_loops_n;
static apr_hash_t *figures_hosts; /* server_rec * -> place in figures_all->host */

/* Server processes can write shared memory: it is held to its bounds each time. */
static int hosts_in_use(void)
{
    const int n = atomic_load(&figures_all->hosts_n);

    return n < 1 ? 1 : n > BRG_FIGURE_HOSTS ? BRG_FIGURE_HOSTS : n;
}

BRG_DECLARE(const brg_figure *) brg_figure_of(int n)
{
    return n >= 0 && n < BRG_FIGURES_N ? &figures_table[n] : NULL;
}

BRG_DECLARE(const brg_figure *) brg_took_of(int n)
{
    return n >= 0 && n < BRG_TOOK_N ? &took_table[n] : NULL;
}

BRG_DECLARE(uint64_t) brg_bucket_bound(int bucket)
{
    return bucket >= 0 && bucket < BRG_BUCKETS ? bucket_bounds[bucket] : 0;
}

/* By the bits of a time: the first bucket that times of so many bits belong to. */
static const uint8_t bucket_first[] = {0, 0, 0,  0,  0,  1,  2,  3,  4,  5,  6,  7, 7,
                                       8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17, 18};

/* No two bounds have as many bits. */
static inline int bucket_of(uint64_t us)
{
    const unsigned bits = 64 - (unsigned)__builtin_clzll(us | 1);
    const int i = bits < sizeof bucket_first ? bucket_first[bits] : BRG_BUCKETS - 2;

    return i + (us > bucket_bounds[i]);
}

int figures_bucket(uint64_t us)
{
    return bucket_of(us);
}

void figures_took_shared(brg_histogram *h, uint64_t us)
{
    figures_add_shared(&h->n[bucket_of(us)], 1);
    figures_add_shared(&h->sum_us, us);
}

void figures_request(loop_figures *f, int own, const figures_ended *request)
{
    brg_figures *block = own ? &f->own : &f->others;
    brg_host_figures *row = figures_requests(block, request->host, request->protocol);
    uint64_t *requests = &row->by_class[figures_class(request->status)];

    BRG_ASSERT(request->host >= 0 && request->host < BRG_FIGURE_HOSTS);
    if (own) {
        brg_histogram *took = &block->took[BRG_TOOK_FULL];

        figures_add(requests, 1);
        figures_add(&row->bytes, request->bytes);
        figures_add(&took->n[bucket_of(request->us)], 1);
        figures_add(&took->sum_us, request->us);
    } else {
        figures_add_shared(requests, 1);
        figures_add_shared(&row->bytes, request->bytes);
        figures_took_shared(&block->took[BRG_TOOK_FULL], request->us);
    }
}

/* ---- memory ---- */

size_t figures_bytes(const scoreboard_limits *l)
{
    return sizeof(figures_global) + figures_history_bytes() + figures_targets_bytes() +
           (size_t)l->processes * (size_t)l->loops * sizeof(loop_figures);
}

void figures_place(void *at, const scoreboard_limits *l)
{
    const figures_global *old = figures_all;

    BRG_ASSERT((uintptr_t)at % FIGURES_LINE == 0);
    BRG_ASSERT(l->processes > 0 && l->loops > 0);
    figures_all = at;
    figures_history_place(figures_all + 1);
    figures_targets_place((char *)(figures_all + 1) + figures_history_bytes());
    figures_loops = (loop_figures *)(void *)((char *)(figures_all + 1) + figures_history_bytes() +
                                             figures_targets_bytes());
    figures_processes = l->processes;
    figures_loops_n = l->loops;
    if (old)
        memcpy(figures_all, old, sizeof *old);
    else if (!atomic_load(&figures_all->hosts_n)) /* else a program before this one counted there */
        atomic_store(&figures_all->hosts_n, 1);
}

static unsigned layout_of_rows(unsigned layout, const brg_figure *row, int n)
{
    for (; n--; row++) {
        const char *words[] = {row->family, row->labels};

        layout = layout * 31 + (unsigned)row->kind;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            apr_ssize_t len = APR_HASH_KEY_STRING;

            layout = layout * 31 + (words[i] ? apr_hashfunc_default(words[i], &len) : 0);
        }
    }
    return layout;
}

unsigned figures_layout(void)
{
    const size_t sizes[] = {sizeof(figures_global), figures_history_bytes(),
                            figures_targets_bytes(), sizeof(loop_figures)};
    unsigned layout = 1;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        layout = layout * 31 + (unsigned)sizes[i];
    for (int i = 0; i < BRG_BUCKETS; i++)
        layout = layout * 31 + (unsigned)bucket_bounds[i];
    layout = layout_of_rows(layout, figures_table, BRG_FIGURES_N);
    return layout_of_rows(layout, took_table, BRG_TOOK_N);
}

void figures_forget(void)
{
    figures_all = NULL;
    figures_loops = NULL;
    figures_history_place(NULL);
    figures_targets_place(NULL);
}

loop_figures *figures_of_loop(int slot, int loop)
{
    if (!figures_loops || slot < 0 || slot >= figures_processes || loop < 0 ||
        loop >= figures_loops_n)
        return &figures_nowhere;
    return &figures_loops[(size_t)slot * (size_t)figures_loops_n + (size_t)loop];
}

static void counters_add(uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static void host_add(brg_figures *to, int to_host, const brg_figures *from, int from_host)
{
    const brg_host_figures *add = from->host[from_host];

    for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++) {
        brg_host_figures *row = &to->host[to_host][protocol];

        counters_add(row->by_class, add[protocol].by_class, BRG_CLASSES_N);
        counters_add(&row->bytes, &add[protocol].bytes, 1);
        counters_add(&row->cached, &add[protocol].cached, 1);
        counters_add(&row->uncached, &add[protocol].uncached, 1);
    }
}

/* ---- virtual hosts ---- */

static void host_name(char *out, const server_rec *s)
{
    apr_port_t port = s->addrs && s->addrs->host_port ? s->addrs->host_port : s->port;

    if (port)
        snprintf(out, BRG_FIGURE_HOST, "%s:%u", s->server_hostname ? s->server_hostname : "",
                 (unsigned)port);
    else
        snprintf(out, BRG_FIGURE_HOST, "%s", s->server_hostname ? s->server_hostname : "");
}

/* Of present processes, and of those to come: later places may be counted in. */
static int oldest_generation(int coming)
{
    int oldest = coming;

    for (int slot = 0; slot < figures_processes; slot++) {
        const process_score *ps = ap_get_scoreboard_process(slot);

        if (ps && ps->pid && ps->generation < oldest)
            oldest = ps->generation;
    }
    return oldest;
}

/* The place of a host that no process knows any more; its counts go to the hosts that are not told
 * apart.
 * @return 0: all are in use */
static int host_forget(int oldest)
{
    brg_figures *ended = &figures_all->ended;

    for (int i = 1; i < BRG_FIGURE_HOSTS; i++) {
        if (figures_all->host_used[i] >= oldest)
            continue;
        host_add(ended, 0, ended, i);
        memset(ended->host[i], 0, sizeof ended->host[i]);
        return i;
    }
    return 0;
}

/* @return its place; 0: no place left */
static int host_place(const char *name, int oldest)
{
    int n = hosts_in_use(), place = 1;

    while (place < n && strncmp(figures_all->host[place], name, BRG_FIGURE_HOST) != 0)
        place++;
    if (place == BRG_FIGURE_HOSTS && !(place = host_forget(oldest)))
        return 0;
    memcpy(figures_all->host[place], name, BRG_FIGURE_HOST);
    if (place == n)
        atomic_store(&figures_all->hosts_n, n + 1); /* the name stands before it is read */
    return place;
}

static apr_status_t hosts_forget(void *unused)
{
    figures_hosts = NULL;
    return APR_SUCCESS;
}

void figures_name_hosts(server_rec *main_server, int generation)
{
    apr_pool_t *p = main_server->process->pconf;
    int oldest;

    BRG_ASSERT(!main_server->is_virtual);
    if (!figures_all)
        return;
    oldest = oldest_generation(generation);
    figures_hosts = apr_hash_make(p);
    apr_pool_cleanup_register(p, NULL, hosts_forget, apr_pool_cleanup_null);
    for (server_rec *s = main_server; s; s = s->next) {
        char name[BRG_FIGURE_HOST] = "";
        const void **key = apr_palloc(p, sizeof *key);
        int *place = apr_palloc(p, sizeof *place);

        host_name(name, s);
        *key = s;
        *place = host_place(name, oldest);
        figures_all->host_used[*place] = generation;
        apr_hash_set(figures_hosts, key, sizeof *key, place);
    }
}

int figures_host(const server_rec *s)
{
    static PROGRAM_THREAD_LOCAL const server_rec *last;
    static PROGRAM_THREAD_LOCAL int last_place;
    const int *place;

    if (s == last && figures_hosts)
        return last_place;
    place = figures_hosts ? apr_hash_get(figures_hosts, &s, sizeof s) : NULL;
    last_place = place ? *place : 0;
    last = s;
    return last_place;
}

BRG_DECLARE(const char *) brg_figure_host(int n)
{
    return figures_all && n > 0 && n < hosts_in_use() ? figures_all->host[n] : NULL;
}

/* ---- adding up ---- */

#define FIGURES_HISTOGRAM (sizeof(brg_histogram) / sizeof(uint64_t))

static void values_add(uint64_t *to, const uint64_t *from, int is_alive, int counts)
{
    for (int i = 0; i < BRG_FIGURES_N; i++) {
        uint64_t value = __atomic_load_n(&from[i], __ATOMIC_RELAXED);

        if (figures_table[i].kind == BRG_COUNTER)
            to[i] += counts ? value : 0;
        else if (!is_alive)
            continue;
        else if (figures_table[i].kind == BRG_GAUGE)
            to[i] += value;
        else if (value > to[i])
            to[i] = value;
    }
}

static void figures_add_block(brg_figures *to, const brg_figures *from, int is_alive, int counts)
{
    values_add(to->value, from->value, is_alive, counts);
    if (!counts)
        return;
    counters_add((uint64_t *)to->took, (const uint64_t *)from->took,
                 BRG_TOOK_N * FIGURES_HISTOGRAM);
    for (int i = 0, n = hosts_in_use(); i < n; i++)
        host_add(to, i, from, i);
}

static void block_clear(brg_figures *block)
{
    size_t hosts = (size_t)hosts_in_use();

    memset(block, 0, offsetof(brg_figures, host) + hosts * sizeof block->host[0]);
}

void figures_slot_end(int slot, int counts)
{
    BRG_ASSERT(!figures_all || (slot >= 0 && slot < figures_processes));
    for (int i = 0; figures_all && i < figures_loops_n; i++) {
        const loop_score *score = scoreboard_loop(slot, i);
        loop_figures *f = figures_of_loop(slot, i);

        if (counts) {
            figures_all->ended.value[BRG_FIGURE_ACCEPTED] += loop_score_get(&score->accepted);
            figures_all->ended.value[BRG_FIGURE_TURNS] += loop_score_get(&score->turns);
        }

        figures_add_block(&figures_all->ended, &f->own, 0, counts);
        figures_add_block(&figures_all->ended, &f->others, 0, counts);
        block_clear(&f->own);
        block_clear(&f->others);
    }
}

void figures_begin_totals(void)
{
    if (figures_all)
        block_clear(&figures_all->ended);
}

static uint64_t block_duration_us(const brg_figures *block)
{
    return __atomic_load_n(&block->took[BRG_TOOK_MEMORY].sum_us, __ATOMIC_RELAXED) +
           __atomic_load_n(&block->took[BRG_TOOK_FULL].sum_us, __ATOMIC_RELAXED);
}

uint64_t figures_duration_us(const loop_figures *f)
{
    return block_duration_us(&f->own) + block_duration_us(&f->others);
}

uint64_t figures_duration_ended_us(void)
{
    return figures_all ? block_duration_us(&figures_all->ended) : 0;
}

/* The numbers of the scoreboard. */
static void figures_take_scores(brg_figures *out, const brg_status_totals *t)
{
    uint64_t *v = out->value;

    v[BRG_FIGURE_PROCESSES] = (uint64_t)t->processes_n;
    v[BRG_FIGURE_STOPPING] = (uint64_t)t->stopping_n;
    v[BRG_FIGURE_STARTED] = (uint64_t)t->start_time;
    v[BRG_FIGURE_CONFIGURED] = (uint64_t)t->restart_time;
    v[BRG_FIGURE_GENERATION] = (uint64_t)t->config_generation;
    v[BRG_FIGURE_ENDED] = t->counts.accesses;
    v[BRG_FIGURE_WRITTEN] = t->counts.bytes;
    v[BRG_FIGURE_ACCEPTED] += t->counts.accepted;
    v[BRG_FIGURE_READING] = t->counts.reading;
    v[BRG_FIGURE_IDLE] = t->counts.keepalive;
    v[BRG_FIGURE_WRITING] = t->counts.writing;
    v[BRG_FIGURE_AT_WORKER] = t->counts.busy;
    v[BRG_FIGURE_CLOSING] = t->counts.lingering;
    v[BRG_FIGURE_TURNS] += t->counts.turns;
    v[BRG_FIGURE_LOST] = t->log_lines_lost;
    scoreboard_stalled(&v[BRG_FIGURE_STALLED], &v[BRG_FIGURE_REPLACED]);
}

BRG_DECLARE(int) brg_figures_sum(brg_figures *out)
{
    brg_status_totals totals;
    brg_status_process process;
    int found;

    memset(out, 0, sizeof *out);
    if (!figures_all || brg_status_sum(&totals))
        return -1;
    figures_add_block(out, &figures_all->ended, 0, 1);
    for (int slot = 0; (found = brg_status_process_get(slot, &process)) >= 0; slot++)
        for (int i = 0; found && i < figures_loops_n; i++) {
            const loop_figures *f = figures_of_loop(slot, i);
            int counts = scoreboard_counts(process.generation);

            figures_add_block(out, &f->own, 1, counts);
            figures_add_block(out, &f->others, 1, counts);
        }
    figures_take_scores(out, &totals);
    return 0;
}
