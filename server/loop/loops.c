/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the event loops of a server process. */
#include "loop.h"
#include "clock.h"
#include "gather.h"
#include "loop_lines.h"
#include "scores.h"
#include "thread_self.h"
#include "http_config.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static brg_loop **loops;
static int loops_n;
static atomic_int loops_alive;
static loops_config loops_conf;
static loop_services loops_services;
static const loop_layer *loops_layer;

void loop_layer_set(const loop_layer *layer)
{
    loops_layer = layer;
}

/* A step before the layer, or the services; and the next step behind it. */
static void (*loops_front)(brg_conn *bc);
static void (*loops_behind_front)(brg_conn *bc);

void loop_front_set(void (*accepted)(brg_conn *bc))
{
    loops_front = accepted;
}

void loop_front_done(brg_conn *bc)
{
    BRG_ASSERT(bc->fd >= 0);
    /* a loop that was made alone has no front */
    (loops_behind_front ? loops_behind_front : bc->loop->config->services->accepted)(bc);
}

/* Asked when it is known whom the connection is with: behind a front, before everything else. */
static const loop_doorkeeper *loops_keeper;
static void (*loops_behind_keeper)(brg_conn *bc);

void loop_doorkeeper_set(const loop_doorkeeper *keeper)
{
    loops_keeper = keeper;
}

void loop_doorkeeper_leave(brg_conn *bc)
{
    BRG_ASSERT(loops_keeper != NULL && !bc->master);
    loops_keeper->leaves(bc);
}

static void loops_ask_keeper(brg_conn *bc)
{
    loops_behind_keeper(bc);
    if (!loops_keeper->enters(bc))
        bc->failed = 1;
}

static const loop_datagrams *loops_datagrams;

void loop_datagrams_set(const loop_datagrams *datagrams)
{
    loops_datagrams = datagrams;
}

const loop_datagrams *loop_datagrams_offered(void)
{
    BRG_ASSERT(!loops_datagrams || loops_datagrams->begin);
    return loops_datagrams;
}

static int loops_begin_datagrams(brg_loop *loop)
{
    for (brg_listener **l = loop->accept.listeners; loops_datagrams && *l; l++)
        if ((*l)->udp_fd > 0 && loops_datagrams->begin(loop, *l))
            return -1;
    return 0;
}

static const conn_protocol *loops_protocol[CONN_PROTOCOLS];
static int loops_proposes[CONN_PROTOCOLS];

void conn_protocol_set(conn_protocol_number number, const conn_protocol *protocol, int proposes)
{
    BRG_ASSERT(number > CONN_HTTP1 && number < CONN_PROTOCOLS);
    BRG_ASSERT(!protocol || protocol->number == number);
    loops_protocol[number] = protocol;
    loops_proposes[number] = proposes;
}

int conn_protocols_propose(void)
{
    int n = 0;

    for (unsigned i = 0; i < CONN_PROTOCOLS; i++)
        n += loops_proposes[i];
    return n;
}

const conn_protocol *conn_protocol_of(unsigned number)
{
    return number < CONN_PROTOCOLS ? loops_protocol[number] : NULL;
}

const conn_protocol *conn_protocol_named(const char *name, size_t len)
{
    for (unsigned i = 0; i < CONN_PROTOCOLS; i++)
        if (loops_protocol[i] && strlen(loops_protocol[i]->name) == len &&
            !memcmp(loops_protocol[i]->name, name, len))
            return loops_protocol[i];
    return NULL;
}

/* Its destructors of thread-local data run after it no longer counts: too late. */
void loops_thread_end(void)
{
    if (loops_layer)
        loops_layer->thread_end();
}

/* Where the machine has lost that processor meanwhile, the loop goes on elsewhere. */
static void loops_bind(const brg_loop *loop)
{
    const loops_config *conf = loop->config;
    const int processor = conf->processor ? conf->processor(conf->process, loop->index) : -1;
    const int rc = processor < 0 ? 0 : thread_bind(processor);

    if (rc)
        ap_log_error(APLOG_MARK, APLOG_WARNING, rc, conf->server,
                     "event loop %d cannot run on processor %d alone", loop->index, processor);
}

static void *loops_thread(void *baton)
{
    loops_bind(baton);
    loop_main(baton);
    loops_thread_end();
    atomic_fetch_sub(&loops_alive, 1);
    return NULL;
}

static void loops_shed_one(struct loop_note *note)
{
    loop_shed((brg_loop *)(void *)((char *)note - offsetof(brg_loop, shed.note)));
}

/* The loop's listeners as its poll set has them. @return ends with one without a listener */
static struct loop_listener *loop_doors(brg_loop *loop, apr_pool_t *p)
{
    struct loop_listener *doors;
    apr_size_t n = 0;

    while (loop->accept.listeners[n])
        n++;
    doors = apr_pcalloc(p, (n + 1) * sizeof *doors);
    for (apr_size_t i = 0; i < n; i++)
        doors[i] = (struct loop_listener){
            .io = {loop_accept}, .loop = loop, .listener = loop->accept.listeners[i]};
    return doors;
}

static worker_share *loops_share(apr_pool_t *p, const loops_config *conf)
{
    const worker_bounds bounds = {.most =
                                      conf->n_workers_all ? conf->n_workers_most : conf->n_workers,
                                  .own = conf->n_workers,
                                  .kept = conf->n_workers_kept,
                                  .all = conf->n_workers_all};

    return worker_share_create(p, &bounds, conf->slot, conf->n_workers ? conf->n_loops : 0,
                               conf->stack_bytes);
}

apr_status_t loop_create(brg_loop **out, apr_pool_t *p, const loops_config *conf, int index)
{
    brg_loop *loop = loop_lines_calloc(p, sizeof *loop);
    apr_status_t rv;

    BRG_ASSERT(index >= 0 && index < conf->n_loops);
    loop->index = index;
    loop->out = loop_lines_calloc(p, sizeof *loop->out);
    loop->config = conf;
    loop->server = conf->server;
    loop->accept.listeners = conf->listeners[index];
    loop->conns.most = (unsigned)(conf->max_connections / conf->n_loops);
    if (!loop->conns.most)
        loop->conns.most = 1;
    loop->turn.ready_tail = &loop->turn.ready;
    loop->turn.again_tail = &loop->turn.again;
    loop->score = scoreboard_loop(conf->slot, index);
    loop->http2.scores = scoreboard_http2(conf->slot, index);
    loop->figures = figures_of_loop(conf->slot, index);
    loop->poll.fd = epoll_create1(EPOLL_CLOEXEC);
    loop->poll.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->poll.fd < 0 || loop->poll.wake_fd < 0)
        return errno;
    loop->shed.note.run = loops_shed_one;
    loop->poll.wake.ready = loop_woken;
    loop->accept.doors = loop_doors(loop, p);
    rv = loop_io_add(loop, &loop->poll.wake, loop->poll.wake_fd, EPOLLIN);
    if (rv)
        return rv;
    brg_pool_create_scoped(&loop->pool, p, BRG_SCOPE_PROCESS);
    loop->prefork = !conf->n_workers;
    loop->shed.pause = apr_time_from_msec(loop->prefork ? LOOP_SHED_VAIN_MS : LOOP_SHED_MS);
    loop->workers =
        worker_pool_create(p, loop, conf->workers ? conf->workers : loops_share(p, conf));
    if (!loop->prefork)
        worker_pool_bound(loop->workers, conf->queue_most / conf->n_loops, conf->queue_us);
    conf->services->begin(loop);
    if (loops_layer)
        loops_layer->begin(loop);
    if (loops_begin_datagrams(loop))
        return APR_EGENERAL;
    *out = loop;
    return loop_listeners(loop, 1); /* a process that cannot accept does not take over */
}

static apr_status_t loop_start(brg_loop *loop)
{
    int rc;

    atomic_fetch_add(&loops_alive, 1);
    rc = thread_start(loops_thread, loop, 0, NULL);
    if (rc)
        atomic_fetch_sub(&loops_alive, 1);
    return rc;
}

apr_status_t loops_start(apr_pool_t *pchild, const loops_config *config)
{
    apr_status_t rv;

    loops_conf = *config;
    loops_services = *config->services;
    if (loops_layer)
        loops_services.accepted = loops_layer->accepted;
    if (loops_keeper) {
        loops_behind_keeper = loops_services.accepted;
        loops_services.accepted = loops_ask_keeper;
    }
    loops_behind_front = loops_services.accepted;
    if (loops_front)
        loops_services.accepted = loops_front;
    loops_conf.services = &loops_services;
    loops_n = config->n_loops;
    loops_conf.workers = loops_share(pchild, &loops_conf);
    loops = apr_pcalloc(pchild, sizeof *loops * (apr_size_t)loops_n);
    for (int i = 0; i < loops_n; i++)
        if ((rv = loop_create(&loops[i], pchild, &loops_conf, i)) != APR_SUCCESS)
            return rv;
    for (int i = 0; i < loops_n && !loops[i]->prefork; i++)
        if ((rv = loop_start(loops[i])) != APR_SUCCESS)
            return rv;
    return APR_SUCCESS;
}

void loops_shed(void)
{
    for (int i = 0; i < loops_n; i++)
        if (loops[i])
            loop_note_post(loops[i], &loops[i]->shed.note);
}

int loops_watch_workers(int limit)
{
    worker_share_lend(loops_conf.workers);
    return worker_share_watch(loops_conf.workers, loops_conf.server, limit);
}

void loops_run_here(void)
{
    loop_main(loops[0]);
}

void loops_stop(int graceful)
{
    atomic_store(&loops_phase, graceful ? LOOPS_DRAIN : LOOPS_DROP);
    for (int i = 0; i < loops_n; i++)
        loop_wake(loops[i]);
}

static int loops_ended(void)
{
    if (atomic_load(&loops_alive))
        return 0;
    for (int i = 0; i < loops_n; i++) {
        worker_pool_stop(loops[i]->workers);
        if (!worker_pool_ended(loops[i]->workers))
            return 0;
    }
    return 1;
}

int loops_join(apr_interval_time_t limit_us)
{
    apr_time_t end = limit_us < 0 ? 0 : clock_monotonic() + limit_us;

    while (!loops_ended()) {
        if (end && clock_monotonic() >= end)
            return -1;
        apr_sleep(5000);
    }
    return 0;
}

void loops_each(void (*with)(brg_loop *loop, void *baton), void *baton)
{
    for (int i = 0; i < loops_n; i++)
        with(loops[i], baton);
}

void loops_free(void)
{
    for (int i = 0; i < loops_n; i++) {
        loop_free(loops[i]);
        if (loops_layer)
            loops_layer->end(loops[i]);
    }
    loops_conf.services->thread_trim();
    loops_n = 0;
}
