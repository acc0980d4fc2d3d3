/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a loop that take too long: every connection of the loop waits meanwhile, so the error
 * log names the served request. Something on the loop waited that should be a worker's, or costs
 * too much. */
#include "loop.h"
#include "clock.h"
#include "thread_self.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_log.h"
#include <string.h>

APLOG_USE_MODULE(core);

void loop_request_begins(brg_loop *loop, const char *line, size_t len)
{
    BRG_ASSERT(loop_self() == loop);
    if (len >= LOOP_SLOW_LINE)
        len = LOOP_SLOW_LINE - 1;
    memcpy(loop->slow.line, line, len);
    loop->slow.line[len] = '\0';
    loop->slow.began = loop->monotonic;
    loop->slow.running = NULL;
    loop->slow.ends = 0;
    loop->slow.page = 0;
}

/* @param r  the last one, after redirects of the server's own */
static int slow_is_running(const brg_loop *loop, const request_rec *r)
{
    while (r && r->prev)
        r = r->prev;
    return r && r == loop->slow.running;
}

apr_time_t loop_request_ends(brg_loop *loop, const request_rec *r)
{
    BRG_ASSERT(loop_self() == loop);
    loop->monotonic = clock_monotonic();
    loop->slow.ends = r == loop->slow.running;
    if (loop->monotonic - loop->slow.began >= LOOP_LONG_US && slow_is_running(loop, r))
        loop->slow.page = loop_page_of(loop->slow.running);
    return loop->monotonic + loop->wall_ahead;
}

apr_interval_time_t loop_request_pauses(brg_loop *loop)
{
    apr_interval_time_t took;

    BRG_ASSERT(loop_self() == loop);
    if (!loop->slow.ends)
        loop->monotonic = clock_monotonic();
    loop->slow.ends = 0;
    loop->slow.running = NULL;
    took = loop->monotonic - loop->slow.began;
    if (took > loop->slow.most) {
        loop->slow.most = took;
        memcpy(loop->slow.longest, loop->slow.line, sizeof loop->slow.longest);
    }
    return took;
}

apr_interval_time_t loop_request_ended(brg_loop *loop)
{
    loop->slow.requests++;
    return loop_request_pauses(loop);
}

void loop_request_left(brg_loop *loop)
{
    if (++loop->slow.left % LOOP_MEASURED == 0)
        loop_request_ended(loop);
    loop->slow.ends = 0;
    loop->slow.running = NULL;
}

apr_time_t worker_request_ends(const brg_loop *loop)
{
    BRG_ASSERT(!loop_self());
    return thread_self_read() + loop_wall_ahead(loop);
}

static void slow_log(brg_loop *loop, apr_interval_time_t took)
{
    loop->slow.said = loop->monotonic;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, loop->server,
                 "event loop %d was blocked: a turn with %u requests took %ld ms, of which %ld ms "
                 "for \"%s\"; "
                 "%u connections waited",
                 loop->index, loop->slow.requests, (long)apr_time_as_msec(took),
                 (long)apr_time_as_msec(loop->slow.most), loop->slow.longest, loop->conns.n);
}

void loop_slow_check(brg_loop *loop)
{
    apr_interval_time_t took;

    if (!loop->slow.requests)
        return; /* answers from memory alone: their cost is bounded, and the clock was not read */
    took = loop->monotonic - loop->turn.began;
    if (took >= LOOP_SLOW_US && loop->monotonic - loop->slow.said >= LOOP_SLOW_LOG_US)
        slow_log(loop, took);
    loop->slow.requests = 0;
    loop->slow.most = 0;
}
