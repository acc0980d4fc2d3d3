/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many processes mpm_prefork has: between MinSpareServers and MaxSpareServers without a connection.
 * sup_spare_look() counts them each SPARE_LOOK_US. While none is idle, the number that it adds doubles
 * from look to look.
 */
#include "supervisor_parts.h"
#include "brigade/assert.h"
#include "scores.h"

#include "http_log.h"

MPM_USE_LOG_MODULE;

#define SPARE_LOOK_US (APR_USEC_PER_SEC / 4)
#define SPARE_SHRINK_US APR_USEC_PER_SEC /* one process goes in so long */
#define SPARE_RATE_MAX 32

static struct {
    apr_time_t due, shrunk;
    int rate;      /* how many the next look adds at least */
    int said_full; /* once per configuration */
} spare;

void sup_spare_begin(void)
{
    int wanted = mpm_processes_start(), before = sup_children_wanted();

    /* A reload under load goes on with as many. */
    if (mpm_settings.prefork && before > wanted && before <= mpm_processes_most() &&
        !mpm_one_process())
        wanted = before;
    BRG_ASSERT(wanted > 0 && wanted <= mpm_processes_most());
    spare.due = clock_monotonic() + SPARE_LOOK_US;
    spare.rate = 1;
    spare.said_full = 0;
    scoreboard_set_full(0);
    sup_children_want(wanted);
}

apr_time_t sup_spare_due(void)
{
    return mpm_settings.prefork ? spare.due : 0;
}

static int spare_is_idle(const sup_process *c)
{
    const loop_score *score = scoreboard_loop_if(c->slot, 0);

    return !c->up || !score ||
           loop_score_get(&score->connections) <= loop_score_get(&score->lingering);
}

static int spare_count(void)
{
    int n = 0;

    for (const sup_process *c = sup_processes; c; c = c->next)
        if (c->generation == mpm_generation && !c->stopping && !c->worn)
            n += spare_is_idle(c);
    return n;
}

static void spare_say_full(server_rec *s, int idle)
{
    int full = !idle && sup_children_wanted() >= mpm_processes_most();

    scoreboard_set_full(full);
    if (full && !spare.said_full)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     APLOGNO(00161) "all %d processes that MaxRequestWorkers allows have a "
                                    "connection: others wait",
                     mpm_processes_most());
    spare.said_full |= full;
}

/* How many to add. */
static int spare_missing(int idle)
{
    int room = mpm_processes_most() - sup_children_wanted(), n = mpm_settings.spare_min - idle;

    BRG_ASSERT(room >= 0 && n > 0);
    if (n < spare.rate)
        n = spare.rate;
    return n < room ? n : room;
}

static void spare_shrink(apr_time_t now)
{
    BRG_ASSERT(sup_children_wanted() > 1);
    if (now - spare.shrunk < SPARE_SHRINK_US)
        return;
    spare.shrunk = now;
    sup_children_scale(sup_children_wanted() - 1);
}

void sup_spare_look(server_rec *s)
{
    apr_time_t now = clock_monotonic();
    int idle;

    if (!mpm_settings.prefork || now < spare.due)
        return;
    BRG_ASSERT(spare.rate > 0 && spare.rate <= SPARE_RATE_MAX);
    spare.due = now + SPARE_LOOK_US;
    idle = spare_count();
    spare_say_full(s, idle);
    if (idle < mpm_settings.spare_min)
        sup_children_scale(sup_children_wanted() + spare_missing(idle));
    else if (idle > mpm_settings.spare_max && sup_children_wanted() > 1)
        spare_shrink(now);
    spare.rate = idle ? 1 : spare.rate * 2 < SPARE_RATE_MAX ? spare.rate * 2 : SPARE_RATE_MAX;
}
