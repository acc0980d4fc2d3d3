/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that leaves its request to a timer: the answer comes from that one's thread. */
#include "httpd.h"
#include "ap_mpm.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_thread_mutex.h"
#ifdef ON_LOOP /* as a module whose handlers never wait: they run on event loops */
#include "brigade/response_cache.h"
#endif
#include <stdlib.h>
#include <string.h>

extern module suspend_module;

static void suspend_answer(void *baton)
{
    request_rec *r = baton;

    /* Until the handler has returned. */
    apr_thread_mutex_lock(r->invoke_mtx);
    apr_thread_mutex_unlock(r->invoke_mtx);
    ap_set_content_type(r, "text/plain");
    ap_rputs("resumed\n", r);
    ap_finalize_request_protocol(r);
    ap_process_request_after_handler(r);
}

/* The query: milliseconds. */
static int suspend_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "suspend"))
        return DECLINED;
    if (ap_mpm_register_timed_callback(apr_time_from_msec(r->args ? atoi(r->args) : 0), suspend_answer, r) != APR_SUCCESS)
        return HTTP_INTERNAL_SERVER_ERROR;
    return SUSPENDED;
}

static void suspend_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(suspend_handler, NULL, NULL, APR_HOOK_MIDDLE);
#ifdef ON_LOOP
    brg_cache_declare(&suspend_module, NULL);
#endif
}

AP_DECLARE_MODULE(suspend) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, suspend_register_hooks,
};
