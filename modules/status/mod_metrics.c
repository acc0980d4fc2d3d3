/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "SetHandler metrics": figures of the whole server for monitoring. The client's Accept, or "?json",
 * "?prometheus", "?openmetrics", says in which shape. "/live" behind its path is a page
 * that draws the last hour. "SetHandler ready": whether load balancers may send requests.
 */
#include "metrics_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/status.h"
#include <stdlib.h>
#include <string.h>

#define METRICS_HANDLER "metrics"
#define METRICS_READY_HANDLER "ready"

extern module AP_MODULE_DECLARE_DATA metrics_module;
APLOG_USE_MODULE(metrics);

enum { METRICS_TEXT, METRICS_OPEN, METRICS_JSON, METRICS_SHAPES };

static const char *const metrics_types[METRICS_SHAPES] = {
    "text/plain", "application/openmetrics-text", "application/json"};

const char *metrics_protocol(int protocol)
{
    if (protocol == BRG_PROTOCOL_H3)
        return "h3";
    return protocol == BRG_PROTOCOL_H1 || protocol == BRG_PROTOCOL_H1_TLS ? "h1" : "h2";
}

const char *metrics_tls(int protocol)
{
    return protocol == BRG_PROTOCOL_H1 || protocol == BRG_PROTOCOL_H2 ? "no" : "yes";
}

const char *metrics_host(apr_pool_t *p, int n)
{
    const char *host = n ? brg_figure_host(n) : "other";
    char *name = host ? apr_pstrndup(p, host, BRG_FIGURE_HOST - 1) : NULL;

    for (char *c = name; c && *c; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
            *c = '?';
    return name ? name : "other";
}

const char *metrics_value(apr_pool_t *p, uint64_t value, uint64_t divisor)
{
    return divisor == 1 ? apr_psprintf(p, "%" APR_UINT64_T_FMT, value)
                        : apr_psprintf(p, "%.6f", (double)value / (double)divisor);
}

/* The client's q for a type, 0 where it is not named. Wildcards do not count: the plain text is the
 * default. */
static double metrics_quality(request_rec *r, const char *type)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");
    char *state, *item;
    double best = 0;

    for (item = accept ? apr_strtok(apr_pstrdup(r->pool, accept), ",", &state) : NULL; item;
         item = apr_strtok(NULL, ",", &state)) {
        char *parameters = strchr(item, ';'), *q;
        double quality = 1;

        if (parameters) {
            *parameters++ = '\0';
            if ((q = strstr(parameters, "q=")) != NULL)
                quality = atof(q + 2);
        }
        apr_collapse_spaces(item, item);
        if (!ap_cstr_casecmp(item, type) && quality > best)
            best = quality;
    }
    return best;
}

static int metrics_asked(const request_rec *r, const char *what)
{
    return r->args && !strcmp(r->args, what);
}

static int metrics_shape(request_rec *r)
{
    int shape = METRICS_TEXT;

    if (metrics_asked(r, "json"))
        return METRICS_JSON;
    if (metrics_asked(r, "openmetrics"))
        return METRICS_OPEN;
    if (metrics_asked(r, "prometheus"))
        return METRICS_TEXT;
    for (int i = 1; i < METRICS_SHAPES; i++)
        if (metrics_quality(r, metrics_types[i]) > metrics_quality(r, metrics_types[shape]))
            shape = i;
    return shape;
}

static int metrics_handler(request_rec *r)
{
    brg_figures *f;
    int shape;

    if (!r->handler || strcmp(r->handler, METRICS_HANDLER) != 0)
        return DECLINED;
    if (metrics_is_live(r))
        return metrics_live_handle(r);
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
    if (r->method_number != M_GET)
        return HTTP_METHOD_NOT_ALLOWED;
    f = apr_palloc(r->pool, sizeof *f);
    if (brg_figures_sum(f)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "there is no scoreboard to read figures from");
        return HTTP_SERVICE_UNAVAILABLE;
    }
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_mergen(r->headers_out, "Vary", "Accept");
    shape = metrics_shape(r);
    if (shape == METRICS_JSON)
        metrics_write_json(r, f);
    else
        metrics_write_text(r, f, shape == METRICS_OPEN);
    return OK;
}

/* "SetHandler ready": for load balancers. 503 once the server was asked to end gracefully; see GracefulDrainDelay. */
static int metrics_ready_handler(request_rec *r)
{
    const int draining = brg_status_is_draining();

    if (!r->handler || strcmp(r->handler, METRICS_READY_HANDLER) != 0)
        return DECLINED;
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
    if (r->method_number != M_GET)
        return HTTP_METHOD_NOT_ALLOWED;
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    ap_set_content_type(r, "text/plain");
    r->status = draining ? HTTP_SERVICE_UNAVAILABLE : HTTP_OK;
    ap_rputs(draining ? "draining\n" : "ready\n", r);
    return OK;
}

static void metrics_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(metrics_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(metrics_ready_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_nonblocking_declare(&metrics_module);
    brg_handlers_are_for(&metrics_module, METRICS_HANDLER " " METRICS_READY_HANDLER);
}

module AP_MODULE_DECLARE_DATA metrics_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, metrics_register_hooks, 0,
};
