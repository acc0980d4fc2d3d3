/* SPDX-License-Identifier: Apache-2.0 */
/* "?memory=..." and "?filters=...": figures as JSON, for Prometheus, and set to 0 again. */
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/assert.h"
#include "status_private.h"

int status_figures_handle(request_rec *r, const status_figures *figures, const char *what)
{
    int reset = figures->reset && strcmp(what, "reset") == 0;

    BRG_ASSERT(figures->counted && figures->write_json && figures->write_prometheus);
    if (!figures->counted())
        return HTTP_NOT_FOUND;
    ap_allow_standard_methods(r, REPLACE_ALLOW, reset ? M_POST : M_GET, -1);
    if (r->method_number != (reset ? M_POST : M_GET))
        return HTTP_METHOD_NOT_ALLOWED;
    if (reset) {
        figures->reset();
        ap_set_content_type_ex(r, "text/plain", 1);
        ap_rputs(figures->was_reset, r);
    } else if (strcmp(what, "json") == 0) {
        figures->write_json(r);
    } else if (strcmp(what, "prometheus") == 0) {
        figures->write_prometheus(r);
    } else {
        return HTTP_NOT_FOUND;
    }
    return OK;
}
