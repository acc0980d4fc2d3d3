/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor without a configuration: the one before is gone, and its successor failed although its trial went
 * well. Server processes of the one before serve on, for as long as it takes.
 *
 *   what comes                      what is done
 *   ------------------------------  --------------------------------------------------------------------
 *   an order to reload              a trial; if it is good, the configuration is read
 *   the time for an attempt         the same, and nothing new is said about a trial that fails again
 *   an order to upgrade             the new program is asked; if it can take over, it does
 *   a process ends                  that is said, and an attempt is made at once: nothing can be started without a configuration
 *   an order to end                 all processes end, then the program
 */
#include "upgrade.h"
#include "supervisor_parts.h"
#include "brigade/assert.h"
#include "generation.h"
#include "listen_sockets.h"
#include "notify.h"

#include "http_log.h"

MPM_USE_LOG_MODULE;

#define WAITS_MOST 6          /* doublings of a second between attempts */
#define WAITS_MOST_DESERTED 2 /* where no process serves meanwhile */

static int waits_failed; /* attempts in a row, those of this process's programs before included */

void sup_reading_failed(int times)
{
    BRG_ASSERT(times >= 0);
    waits_failed = times;
}

int sup_has_failed(void)
{
    return waits_failed;
}

static int waits_serving(void)
{
    int n = 0;

    for (const sup_process *c = sup_processes; c; c = c->next)
        n += !c->stopping;
    return n;
}

static apr_interval_time_t waits_delay(int failed)
{
    const int most = waits_serving() ? WAITS_MOST : WAITS_MOST_DESERTED;

    return failed <= 0 ? 0 : apr_time_from_sec(1 << (failed > most ? most : failed - 1));
}

/* Take note of processes that ended. @return how many serve */
static int waits_reap(process_rec *process, int served, apr_time_t *due)
{
    int serve;

    sup_children_reap(process->pconf, NULL);
    serve = waits_serving();
    if (serve >= served)
        return serve;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL,
                 "%d of %d server processes serve, and without a configuration none can be "
                 "started: the next attempt to read one is "
                 "made now",
                 serve, served);
    *due = 0;
    return serve;
}

static void waits_end(process_rec *process, int graceful)
{
    if (graceful)
        sup_end_gracefully(process->pconf, NULL);
    else
        sup_terminate(process->pconf, NULL);
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, NULL, APLOGNO(00491) "caught %s, shutting down",
                 graceful ? AP_SIG_GRACEFUL_STOP_STRING : "SIGTERM");
}

/* @return 1: the configuration is to be read */
static int waits_obey(process_rec *process, const sup_requests *asked, apr_time_t *due)
{
    const int ordered = asked->restart || asked->graceful;

    if (asked->upgrade && upgrade_check(process)) {
        upgrade_ask();
        upgrade_if_asked(process); /* it returns if it fails */
    }
    if (!ordered && clock_monotonic() < *due)
        return 0;
    if (conf_test_in_child(process, !ordered))
        return 1;
    *due = clock_monotonic() + waits_delay(++waits_failed);
    notify_ready(); /* with its old configuration */
    return 0;
}

int sup_await_order(process_rec *process)
{
    apr_time_t due = clock_monotonic() + waits_delay(waits_failed);
    sup_requests asked;
    int serve = waits_serving();

    BRG_ASSERT(sup_is_supervisor());
    sup_signals_reading(0);
    sup_children_want(0);
    notify_ready();
    for (;;) {
        sup_wait_for_news(due);
        serve = waits_reap(process, serve, &due);
        notify_look();
        asked = sup_signals_take();
        if (asked.terminate || asked.graceful_stop) {
            waits_end(process, !asked.terminate);
            return 1;
        }
        if (waits_obey(process, &asked, &due))
            return 0;
    }
}
