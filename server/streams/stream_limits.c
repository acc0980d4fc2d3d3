/* SPDX-License-Identifier: Apache-2.0 */
/* Floods: frames that cost the client nothing and the server something.
 *
 *   cheap    frames that nothing comes of, or tiny ones: so many in a second, and two more for each complete response: clients
 *            give credit to streams of which they have the end
 *   waste    streams that the client resets, or that are refused: a budget that each complete response fills up again,
 *            so that a client which cancels now and then never notices it
 *   faults   malformed requests and the like: the same, with terms.max_errors
 *   streams  terms.max_streams, as the client counts them. Streams that were reset while a worker runs them hold back
 *            others (stream_waiting.c)
 *
 * Exceeding a limit ends the connection with a line in the error log. */
#include "streams.h"
#include "brigade/assert.h"

#define LIMIT_CHEAP 1000     /* in a second */
#define LIMIT_CHEAP_OF_ONE 2 /* that a complete response pays for */
#define LIMIT_BUDGET 100     /* streams that may come to nothing without a completed one */

void stream_limits_begin(http_streams *all)
{
    BRG_ASSERT(all->terms.max_errors >= 0);
    all->limits.credit = LIMIT_BUDGET;
    all->limits.faults = all->terms.max_errors;
}

int stream_limit_cheap(http_streams *all)
{
    const apr_time_t second = apr_time_sec(all->bc->loop->monotonic);

    if (second != all->limits.cheap_second) {
        all->limits.cheap_second = second;
        all->limits.cheap = 0;
    }
    return ++all->limits.cheap > LIMIT_CHEAP;
}

int stream_limit_fault(http_streams *all)
{
    return --all->limits.faults < 0;
}

int stream_limit_waste(http_streams *all)
{
    return --all->limits.credit < 0;
}

void stream_limit_earn(http_streams *all)
{
    BRG_ASSERT_DEBUG(all->limits.credit <= LIMIT_BUDGET &&
                     all->limits.faults <= all->terms.max_errors);
    if (all->limits.cheap > 0)
        all->limits.cheap -= LIMIT_CHEAP_OF_ONE;
    if (all->limits.credit < LIMIT_BUDGET)
        all->limits.credit++;
    if (all->limits.faults < all->terms.max_errors)
        all->limits.faults++;
}
