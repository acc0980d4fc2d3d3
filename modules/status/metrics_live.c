/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that draws the last hour: one document without outside parts (metrics_live.html). It asks for its data with
 * "?data=N", or "?day=N" for the last day: samples from number N on, as JSON; and with "?pools" for a look at memory.
 */
#include "metrics_private.h"
#include "status_backends.h"
#include "status_cache.h"
#include "status_certificates.h"
#include "status_hosts.h"
#include "status_limits.h"
#include "status_map.h"
#include "status_memory.h"
#include "status_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/memory.h"
#include "brigade/status.h"
#include <stdlib.h>
#include <string.h>

#define LIVE_NONCE "@NONCE@"
#define LIVE_NONCE_BYTES 16

static const char live_page[] = {
#include "metrics_live.inc"
};

/* ---- the page ---- */

/* Its own script and style are allowed by a number that nobody knows before. */
static const char *live_nonce(request_rec *r)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[LIVE_NONCE_BYTES];
    char *nonce = apr_pcalloc(r->pool, 2 * LIVE_NONCE_BYTES + 1);

    if (apr_generate_random_bytes(bytes, sizeof bytes) != APR_SUCCESS)
        return NULL;
    for (int i = 0; i < LIVE_NONCE_BYTES; i++) {
        nonce[2 * i] = hex[bytes[i] >> 4];
        nonce[2 * i + 1] = hex[bytes[i] & 15];
    }
    return nonce;
}

static int live_write_page(request_rec *r)
{
    const char *at = live_page, *mark, *nonce = live_nonce(r);

    if (!nonce)
        return HTTP_INTERNAL_SERVER_ERROR;
    apr_table_setn(
        r->headers_out, "Content-Security-Policy",
        apr_psprintf(r->pool,
                     "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
                     "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
                     nonce, nonce));
    ap_set_content_type_ex(r, "text/html; charset=utf-8", 1);
    for (; (mark = strstr(at, LIVE_NONCE)) != NULL; at = mark + strlen(LIVE_NONCE)) {
        ap_rwrite(at, (int)(mark - at), r);
        ap_rputs(nonce, r);
    }
    ap_rputs(at, r);
    return OK;
}

/* ---- its data ---- */

/* The values drawn by the page, by names that its script knows. */
static const struct {
    const char *name;
    brg_figure_id id;
} live_values[] = {
    {"sent", BRG_FIGURE_WRITTEN},
    {"received", BRG_FIGURE_READ},
    {"reading", BRG_FIGURE_READING},
    {"idle", BRG_FIGURE_IDLE},
    {"writing", BRG_FIGURE_WRITING},
    {"worker", BRG_FIGURE_AT_WORKER},
    {"closing", BRG_FIGURE_CLOSING},
    {"turns", BRG_FIGURE_TURNS},
    {"longest", BRG_FIGURE_LONGEST},
    {"workers", BRG_FIGURE_WORKERS},
    {"busy", BRG_FIGURE_WORKERS_BUSY},
    {"waiting", BRG_FIGURE_WAITING},
    {"hits", BRG_FIGURE_HITS},
    {"entries", BRG_FIGURE_ENTRIES},
    {"cachebytes", BRG_FIGURE_CACHE_BYTES},
    {"resident", BRG_FIGURE_RESIDENT},
    {"user", BRG_FIGURE_CPU_USER},
    {"system", BRG_FIGURE_CPU_SYSTEM},
    {"processes", BRG_FIGURE_PROCESSES},
    {"lost", BRG_FIGURE_LOST},
    {"full", BRG_FIGURE_SHAKES_FULL},
    {"resumed", BRG_FIGURE_SHAKES_RESUMED},
    {"failed", BRG_FIGURE_SHAKES_FAILED},
    {"tls13", BRG_FIGURE_VERSION_13},
    {"tls12", BRG_FIGURE_VERSION_12},
    {"tlsold", BRG_FIGURE_VERSION_OLD},
};

static void live_sample(request_rec *r, const brg_sample *s)
{
    ap_rprintf(r, "{\"at\":%" APR_TIME_T_FMT, s->at / 1000);
    for (size_t i = 0; i < sizeof live_values / sizeof *live_values; i++)
        ap_rprintf(r, ",\"%s\":%" APR_UINT64_T_FMT, live_values[i].name,
                   s->value[live_values[i].id]);
    ap_rputs(",\"class\":", r);
    status_json_numbers(r, s->by_class, BRG_CLASSES_N);
    ap_rputs(",\"held\":", r);
    status_json_numbers(r, &s->value[BRG_FIGURE_HELD_PROCESS], BRG_SCOPES_N);
    ap_rputs(",\"took\":[", r);
    for (int i = 0; i < BRG_TOOK_N; i++) {
        ap_rputs(i ? "," : "", r);
        status_json_numbers(r, s->took[i].n, BRG_BUCKETS);
    }
    ap_rputs("]}", r);
}

/* The last hour, or the last day. */
typedef struct live_span {
    uint64_t (*taken)(void);
    int (*get)(uint64_t n, brg_sample *out);
    uint64_t kept;
    int seconds;
} live_span;

static const live_span live_hour = {brg_figures_samples, brg_figures_sample, BRG_SAMPLES,
                                    BRG_SAMPLE_SECONDS},
                       live_day = {brg_figures_day_samples, brg_figures_day_sample, BRG_DAY_SAMPLES,
                                   BRG_DAY_SECONDS};

/* @return the number of the next sample */
static uint64_t live_samples(request_rec *r, const live_span *span, uint64_t from)
{
    const uint64_t taken = span->taken();
    brg_sample *s = apr_palloc(r->pool, sizeof *s);
    const char *comma = "";
    int found;

    if (from > taken || from + span->kept < taken) /* another server's number, or an old one */
        from = taken > span->kept ? taken - span->kept : 0;
    for (; (found = span->get(from, s)) >= 0; from++) {
        if (!found)
            continue;
        ap_rputs(comma, r);
        live_sample(r, s);
        comma = ",\n";
    }
    return from;
}

static void live_target(request_rec *r, const char *comma, const brg_target *t)
{
    ap_rvputs(r, comma, "{", NULL);
    status_json_string(r, "name", t->name);
    ap_rprintf(r,
               ",\"count\":%" APR_UINT64_T_FMT ",\"at\":%" APR_TIME_T_FMT
               ",\"us\":%" APR_UINT64_T_FMT ",\"status\":%d}",
               t->count, t->at / 1000, t->us, t->status);
}

static void live_targets(request_rec *r, const char *name, const brg_target *t, int n)
{
    ap_rvputs(r, ",\n\"", name, "\":[", NULL);
    for (int i = 0; i < n; i++)
        live_target(r, i ? ",\n" : "", &t[i]);
    ap_rputs("]", r);
}

static void live_hosts(request_rec *r)
{
    brg_figures *f = apr_palloc(r->pool, sizeof *f);

    if (brg_figures_sum(f))
        memset(f, 0, sizeof *f);
    status_hosts_write_json(r, f);
}

static void live_scopes(request_rec *r)
{
    ap_rputs(",\n\"scopes\":[", r);
    for (int scope = 0; scope < BRG_SCOPES_N; scope++) {
        ap_rvputs(r, scope ? ",{\"name\":\"" : "{\"name\":\"", brg_scope_name(scope), "\",", NULL);
        status_json_string(r, "system", brg_scope_spec((brg_scope)scope));
        ap_rputs("}", r);
    }
    ap_rprintf(r, "],\n\"reported\":%d", brg_memory_reported() != 0);
}

/* Where the installed configuration has the manual; NULL: this server has it not, or something else there. */
static const char *live_manual(request_rec *r)
{
    static const char end[] = "/brigade/html/index.html";
    request_rec *found = ap_sub_req_lookup_uri("/docs/index.html", r, NULL);
    const size_t len = found->filename ? strlen(found->filename) : 0;
    const int is_ours = found->status == HTTP_OK && found->finfo.filetype == APR_REG &&
                        len >= sizeof end - 1 &&
                        !strcmp(found->filename + len + 1 - sizeof end, end);

    ap_destroy_sub_req(found);
    return is_ours ? "/docs/" : NULL;
}

static void live_server(request_rec *r)
{
    const char *manual = live_manual(r);
    brg_status_totals totals;

    ap_rputs(",\n", r);
    status_json_string(r, "server", ap_get_server_name(r));
    status_json_next(r, "version", ap_get_server_description());
    if (!brg_status_sum(&totals))
        ap_rprintf(r, ",\"up\":%" APR_TIME_T_FMT,
                   apr_time_sec(apr_time_now() - totals.restart_time));
    if (manual)
        status_json_next(r, "manual", manual);
    ap_rputs(",\n", r);
    status_certificates_list(r);
}

static int live_write_data(request_rec *r, const live_span *span, const char *from)
{
    brg_target *t = apr_palloc(r->pool, BRG_TARGETS * sizeof *t);
    uint64_t bounds[BRG_BUCKETS];
    uint64_t next;

    for (int i = 0; i < BRG_BUCKETS; i++)
        bounds[i] = brg_bucket_bound(i);
    ap_set_content_type_ex(r, "application/json", 1);
    ap_rputs("{\"samples\":[", r);
    next = live_samples(r, span, strtoull(from, NULL, 10));
    ap_rprintf(r, "],\n\"next\":%" APR_UINT64_T_FMT ",\"seconds\":%d,\"bounds\":", next,
               span->seconds);
    status_json_numbers(r, bounds, BRG_BUCKETS);
    live_targets(r, "slowest", t, brg_figures_slowest(t));
    live_targets(r, "busiest", t, brg_figures_busiest(t));
    live_scopes(r);
    live_hosts(r);
    status_backends_write_json(r);
    status_cache_write_json(r);
    status_limits_write_json(r);
    status_map_write_json(r);
    live_server(r);
    ap_rputs("}\n", r);
    return OK;
}

int metrics_is_live(const request_rec *r)
{
    const size_t len = r->uri ? strlen(r->uri) : 0, end = strlen(METRICS_LIVE);

    return len > end && !strcmp(r->uri + len - end, METRICS_LIVE);
}

int metrics_live_handle(request_rec *r)
{
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
    if (r->method_number != M_GET)
        return HTTP_METHOD_NOT_ALLOWED;
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    if (r->args && !strcmp(r->args, "pools"))
        return status_live_memory_handle(r, 1);
    if (r->args && !strncmp(r->args, "data=", 5))
        return live_write_data(r, &live_hour, r->args + 5);
    if (r->args && !strncmp(r->args, "day=", 4))
        return live_write_data(r, &live_day, r->args + 4);
    return live_write_page(r);
}
