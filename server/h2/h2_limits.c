/* SPDX-License-Identifier: Apache-2.0 */
/* Floods: frames that cost the client nothing and the server something.
 *
 *   cheap    SETTINGS, PING, PRIORITY, PRIORITY_UPDATE, tiny frames: so many in a second
 *   waste    streams that the client resets, or that are refused: a budget that each complete response fills up again,
 *            so that a client which cancels now and then never notices it
 *   faults   malformed requests and the like: the same with H2MaxStreamErrors
 *   streams  H2MaxSessionStreams, as the client counts them. Those that were reset while a worker runs them hold back others
 *            (stream_waiting.c)
 *
 * What is passed ends the connection with ENHANCE_YOUR_CALM and a line in the error log. */
#include "h2_private.h"
#include "brigade/assert.h"

#define LIMIT_CHEAP 1000 /* in a second */

int h2_limit_cheap(h2_session *h, const char *what)
{
    apr_time_t second = apr_time_sec(h->streams.bc->loop->monotonic);

    if (second != h->cheap_second) {
        h->cheap_second = second;
        h->cheap = 0;
    }
    if (++h->cheap <= LIMIT_CHEAP)
        return 0;
    h2_fail(h, H2_ENHANCE_YOUR_CALM, what);
    return 1;
}

int h2_limit_fault(h2_session *h, const char *what)
{
    if (--h->faults >= 0)
        return 0;
    h2_fail(h, H2_ENHANCE_YOUR_CALM, what);
    return 1;
}

int h2_limit_waste(h2_session *h, const char *what)
{
    if (--h->credit >= 0)
        return 0;
    h2_fail(h, H2_ENHANCE_YOUR_CALM, what);
    return 1;
}

void h2_limit_earn(h2_session *h)
{
    BRG_ASSERT_DEBUG(h->credit <= H2_BUDGET && h->faults <= h->conf.max_errors);
    if (h->credit < H2_BUDGET)
        h->credit++;
    if (h->faults < h->conf.max_errors)
        h->faults++;
}

int h2_limit_streams(const h2_session *h)
{
    return h->streams.open_n >= (unsigned)h->conf.max_streams;
}
