/* SPDX-License-Identifier: Apache-2.0 */
/* Several addresses of a name at a time (RFC 8305, 5): where the first has said nothing for a quarter of a second, the next one is
 * tried beside it, and so on; the first that is connected is taken, the others are closed. So a backend whose IPv6 leads nowhere
 * costs a moment. Most connections never have a race: it is made with the second address. */
#include "upstream_private.h"
#include "brigade/assert.h"
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

typedef struct race_try {
    struct loop_io io;
    upstream_conn *cc;
    int fd;           /* -1: it failed */
    uint16_t address; /* that it leads to */
} race_try;

struct upstream_race {
    unsigned n;
    race_try at[UPSTREAM_ADDRESSES_MOST];
};

static void race_ready(struct loop_io *io, uint32_t events)
{
    const upstream_conn *cc = loop_io_of(io, race_try, io)->cc;

    (void)events; /* upstream_go() looks itself */
    if (cc->notify)
        cc->notify(cc->baton);
}

/* @return its socket, in no poll set any more */
static int race_take(race_try *t)
{
    const int fd = t->fd;

    if (t->cc->on_loop && fd >= 0)
        loop_io_remove(t->cc->bc.loop, &t->io, fd);
    t->fd = -1;
    return fd;
}

static void race_drop(race_try *t)
{
    const int fd = race_take(t);

    if (fd >= 0)
        close(fd);
}

/* @return 1: on its way */
static int race_begin(upstream_conn *cc, uint16_t address)
{
    race_try *t = &cc->race->at[cc->race->n];
    const int error = upstream_socket(cc, &cc->addresses[address], &t->fd);

    BRG_ASSERT(cc->race->n < UPSTREAM_ADDRESSES_MOST && address < cc->addresses_n);
    t->cc = cc;
    t->address = address;
    t->io.ready = race_ready;
    if (error && error != EINPROGRESS) {
        if (t->fd >= 0)
            close(t->fd);
        return 0;
    }
    if (cc->on_loop && loop_io_add(cc->bc.loop, &t->io, t->fd, EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        close(t->fd);
        return 0;
    }
    cc->race->n++;
    return 1;
}

void upstream_race_arm(upstream_conn *cc)
{
    if (cc->on_loop && cc->address_at < cc->addresses_n)
        wheel_set(&cc->bc.loop->wheel, &cc->bc.timer, cc->bc.loop->monotonic + UPSTREAM_RACE_US);
}

void upstream_race_next(upstream_conn *cc)
{
    BRG_ASSERT(cc->state == UPSTREAM_CONNECTING && !cc->crowded);
    if (!cc->race && (cc->race = calloc(1, sizeof *cc->race)) == NULL)
        return; /* as if there were no other address until this one fails */
    while (cc->address_at < cc->addresses_n && !race_begin(cc, cc->address_at++))
        ;
    upstream_race_arm(cc);
}

/* Its socket becomes the connection's. */
static apr_status_t race_adopt(upstream_conn *cc, race_try *t)
{
    return upstream_socket_is(cc, race_take(t), &cc->addresses[t->address]);
}

int upstream_race_won(upstream_conn *cc)
{
    struct upstream_race *race = cc->race;

    for (unsigned i = 0; race && i < race->n; i++) {
        race_try *t = &race->at[i];
        apr_status_t rv = t->fd < 0 ? APR_EAGAIN : upstream_socket_outcome(t->fd);

        if (rv == APR_SUCCESS && race_adopt(cc, t) == APR_SUCCESS)
            return 1;
        if (rv == APR_EAGAIN)
            continue;
        race_drop(t);
        upstream_race_next(cc);
    }
    return 0;
}

int upstream_race_goes_on(upstream_conn *cc)
{
    struct upstream_race *race = cc->race;

    for (unsigned i = 0; race && i < race->n; i++)
        if (race->at[i].fd >= 0 && race_adopt(cc, &race->at[i]) == APR_SUCCESS) {
            upstream_race_next(cc);
            return 1;
        }
    return 0;
}

void upstream_race_end(upstream_conn *cc)
{
    struct upstream_race *race = cc->race;

    if (cc->on_loop && cc->addresses_n > 1 && !cc->crowded)
        wheel_cancel(&cc->bc.loop->wheel, &cc->bc.timer);
    for (unsigned i = 0; race && i < race->n; i++)
        race_drop(&race->at[i]);
    free(race);
    cc->race = NULL;
}

apr_status_t upstream_race_wait(upstream_conn *cc, short events, apr_interval_time_t timeout)
{
    struct pollfd p[UPSTREAM_ADDRESSES_MOST + 1] = {{.fd = cc->bc.fd, .events = events}};
    const int more = cc->address_at < cc->addresses_n;
    const apr_interval_time_t left = timeout < 0 ? -1 : timeout - cc->waited_us;
    const apr_interval_time_t step =
        more && (left < 0 || left > UPSTREAM_RACE_US) ? UPSTREAM_RACE_US : left;
    nfds_t n = 1;
    int got;

    BRG_ASSERT(!cc->on_loop && cc->state == UPSTREAM_CONNECTING);
    for (unsigned i = 0; cc->race && i < cc->race->n; i++)
        if (cc->race->at[i].fd >= 0)
            p[n++] = (struct pollfd){.fd = cc->race->at[i].fd, .events = POLLOUT};
    do
        got = poll(p, n, step < 0 ? -1 : (int)((step + 999) / 1000));
    while (got < 0 && errno == EINTR);
    if (got)
        return got > 0 ? APR_SUCCESS : errno;
    cc->waited_us += step;
    if (timeout >= 0 && cc->waited_us >= timeout)
        return APR_TIMEUP;
    upstream_race_next(cc);
    return APR_SUCCESS;
}
