/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler that waits without holding a thread (brigade/wait.h): it answers after a while.
 *
 *     brigade-apxs -c -i -a mod_sample_wait.c
 *
 *     <Location "/later">
 *         SetHandler sample-wait
 *     </Location>
 *
 *     curl 'http://localhost/later?250'        answers after 250 milliseconds
 *
 * Ten thousand such requests need no worker thread. It shows what a handler keeps for the time in which nothing of it runs,
 * how it goes on, and that it cannot wait in a sub-request, such as an include of a page.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "brigade/wait.h"

module AP_MODULE_DECLARE_DATA sample_wait_module;

#define WAIT_MOST_MS 60000

typedef struct wait_state {
    int ms;
} wait_state;

/* The time is up. What this returns is the handler's result. */
static int wait_go_on(request_rec *r, void *baton, int came)
{
    const wait_state *state = baton;

    if (!(came & BRG_WAIT_TIMEOUT))
        return HTTP_INTERNAL_SERVER_ERROR;
    ap_set_content_type(r, "text/plain");
    ap_rprintf(r, "waited for %d ms\n", state->ms);
    return OK;
}

static int wait_handler(request_rec *r)
{
    wait_state *state;
    brg_wait_for wanted = {.fd = -1};

    if (!r->handler || strcmp(r->handler, "sample-wait"))
        return DECLINED;
    state = apr_palloc(r->pool, sizeof *state); /* lives as long as the request */
    state->ms = r->args ? atoi(r->args) : 100;
    if (state->ms < 1 || state->ms > WAIT_MOST_MS)
        return HTTP_BAD_REQUEST;
    if (!brg_wait_possible(r)) /* an event loop must not sleep */
        return HTTP_SERVICE_UNAVAILABLE;
    wanted.timeout = apr_time_from_msec(state->ms);
    return brg_wait(r, &wanted, wait_go_on, NULL, state);
}

static void wait_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(wait_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_nonblocking_declare(&sample_wait_module);
}

AP_DECLARE_MODULE(sample_wait) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL,
                                  wait_register_hooks,     0};
