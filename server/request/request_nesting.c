/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request stands among its sub-requests and internal redirects. */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

AP_DECLARE(int) ap_is_initial_req(request_rec *r)
{
    return !r->main && !r->prev;
}

AP_DECLARE(int) ap_is_recursion_limit_exceeded(const request_rec *r)
{
    const core_server_config *conf = ap_get_core_module_config(r->server->module_config);
    int redirect_max =
        conf->redirect_limit ? conf->redirect_limit : AP_DEFAULT_MAX_INTERNAL_REDIRECTS;
    int depth_max = conf->subreq_limit ? conf->subreq_limit : AP_DEFAULT_MAX_SUBREQ_DEPTH;
    int redirects = 0, depth = 0;

    BRG_ASSERT(redirect_max > 0 && depth_max > 0);
    for (const request_rec *at = r; at;) {
        if (at->prev && ++redirects >= redirect_max) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(00124) "Request exceeded the limit of %d internal redirects due "
                                         "to probable configuration error. Use "
                                         "'LimitInternalRecursion' to increase the limit if "
                                         "necessary. Use 'LogLevel debug' to get a backtrace.",
                          redirect_max);
            return 1;
        }
        if (!at->prev && at->main && ++depth >= depth_max) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(00125) "Request exceeded the limit of %d subrequest nesting "
                                         "levels due to probable configuration error. Use "
                                         "'LimitInternalRecursion' to increase the limit if "
                                         "necessary. Use 'LogLevel debug' to get a backtrace.",
                          depth_max);
            return 1;
        }
        at = at->prev ? at->prev : at->main;
    }
    return 0;
}
