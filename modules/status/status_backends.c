/* SPDX-License-Identifier: Apache-2.0 */
/* Backends of the built-in proxy in the shapes of the figures. */
#include "status_backends.h"
#include "metrics_private.h"
#include "status_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include <stddef.h>

/* The next one in use, from *n on. @return 0 after the last */
static int backend_next(request_rec *r, int *n, brg_status_backend *out)
{
    APR_OPTIONAL_FN_TYPE(brg_status_backend_get) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_backend_get);
    int rc;

    while (get && (rc = get((*n)++, r->pool, out)) >= 0)
        if (rc > 0)
            return 1;
    return 0;
}

static int backends_are_there(request_rec *r)
{
    brg_status_backend b;
    int n = 0;

    return backend_next(r, &n, &b);
}

/* ---- samples ---- */

/* A row for each sample of a backend; rows of one family stand together. */
static const struct {
    const char *family, *type, *help; /* NULL: of the family before */
    const char *labels;               /* beside those of the backend */
    size_t offset;
    int is_state; /* of "up": an int */
} samples[] = {
    {"brigade_backend_up", "gauge",
     "1 while requests may go to a backend of the proxy; 0 as well while one that is no member of "
     "a balancer did not answer its last request.",
     "", offsetof(brg_status_backend, up), 1},
    {"brigade_backend_in_flight", "gauge", "Requests that it has now.", "",
     offsetof(brg_status_backend, in_flight), 0},
    {"brigade_backend_connections", "gauge", "Open connections to it.", ",state=\"all\"",
     offsetof(brg_status_backend, connections), 0},
    {NULL, NULL, NULL, ",state=\"idle\"", offsetof(brg_status_backend, idle), 0},
    {"brigade_backend_queue", "gauge", "Requests that wait for a connection to it.", "",
     offsetof(brg_status_backend, queue), 0},
    {"brigade_backend_answers_total", "counter", "Its answers, by class of status.",
     ",code=\"1xx\"", offsetof(brg_status_backend, answers[0]), 0},
    {NULL, NULL, NULL, ",code=\"2xx\"", offsetof(brg_status_backend, answers[1]), 0},
    {NULL, NULL, NULL, ",code=\"3xx\"", offsetof(brg_status_backend, answers[2]), 0},
    {NULL, NULL, NULL, ",code=\"4xx\"", offsetof(brg_status_backend, answers[3]), 0},
    {NULL, NULL, NULL, ",code=\"5xx\"", offsetof(brg_status_backend, answers[4]), 0},
    {"brigade_backend_failures_total", "counter",
     "Requests that it did not answer: no connection, no answer in time, an answer that broke off "
     "or was none.",
     ",reason=\"connect\"", offsetof(brg_status_backend, refused), 0},
    {NULL, NULL, NULL, ",reason=\"timeout\"", offsetof(brg_status_backend, timeouts), 0},
    {NULL, NULL, NULL, ",reason=\"broken\"", offsetof(brg_status_backend, broken), 0},
    {"brigade_backend_retries_total", "counter",
     "Requests that it got since another backend had failed.", "",
     offsetof(brg_status_backend, retries), 0},
    {"brigade_backend_sent_bytes_total", "counter", "Bytes sent to it.", "",
     offsetof(brg_status_backend, sent), 0},
    {"brigade_backend_received_bytes_total", "counter", "Bytes received from it.", "",
     offsetof(brg_status_backend, received), 0},
};

#define SAMPLES_N (int)(sizeof samples / sizeof *samples)

static void backend_labels(request_rec *r, const brg_status_backend *b)
{
    ap_rvputs(r, "{backend=\"", ap_escape_quotes(r->pool, b->name), "\"", NULL);
    ap_rvputs(r, ",balancer=\"", ap_escape_quotes(r->pool, b->balancer), "\"", NULL);
    ap_rvputs(r, ",host=\"", ap_escape_quotes(r->pool, b->server), "\"", NULL);
}

static uint64_t sample_of(const brg_status_backend *b, int i)
{
    const void *at = (const char *)b + samples[i].offset;

    return samples[i].is_state ? (uint64_t)(*(const int *)at != 0) : *(const uint64_t *)at;
}

/* All samples of the family that begins with row @a i. @return the row behind it */
static int write_family(request_rec *r, int i, int open)
{
    const char *family = samples[i].family;
    brg_status_backend b;

    BRG_ASSERT(family);
    metrics_family(r, family, samples[i].type, samples[i].help, open);
    do
        for (int n = 0; backend_next(r, &n, &b);) {
            ap_rputs(family, r);
            backend_labels(r, &b);
            ap_rprintf(r, "%s} %" APR_UINT64_T_FMT "\n", samples[i].labels, sample_of(&b, i));
        }
    while (++i < SAMPLES_N && !samples[i].family);
    return i;
}

static void write_latency(request_rec *r, int open)
{
    brg_status_backend b;

    metrics_family(r, "brigade_backend_response_seconds", "summary",
                   "Time until the heads of its answers.", open);
    for (int n = 0; backend_next(r, &n, &b);) {
        ap_rputs("brigade_backend_response_seconds_sum", r);
        backend_labels(r, &b);
        ap_rprintf(r, "} %.6f\nbrigade_backend_response_seconds_count", (double)b.waited_us / 1e6);
        backend_labels(r, &b);
        ap_rprintf(r, "} %" APR_UINT64_T_FMT "\n", b.waited_n);
    }
}

void status_backends_write_text(request_rec *r, int open)
{
    if (!backends_are_there(r))
        return;
    for (int i = 0; i < SAMPLES_N;)
        i = write_family(r, i, open);
    write_latency(r, open);
}

/* ---- JSON ---- */

static void json_numbers(request_rec *r, const brg_status_backend *b)
{
    ap_rprintf(r,
               ",\"up\":%s,\"in_flight\":%" APR_INT64_T_FMT ",\"connections\":%" APR_INT64_T_FMT
               ",\"idle\":%" APR_INT64_T_FMT ",\"queue\":%" APR_INT64_T_FMT ",\"answers\":[",
               b->up ? "true" : "false", b->in_flight, b->connections, b->idle, b->queue);
    for (int i = 0; i < 5; i++)
        ap_rprintf(r, "%s%" APR_UINT64_T_FMT, i ? "," : "", b->answers[i]);
    ap_rprintf(r,
               "],\"retries\":%" APR_UINT64_T_FMT ",\"failures\":{\"connect\":%" APR_UINT64_T_FMT
               ",\"timeout\":%" APR_UINT64_T_FMT ",\"broken\":%" APR_UINT64_T_FMT
               "},\"sent\":%" APR_UINT64_T_FMT ",\"received\":%" APR_UINT64_T_FMT
               ",\"waited\":%.6f,\"waits\":%" APR_UINT64_T_FMT "}",
               b->retries, b->refused, b->timeouts, b->broken, b->sent, b->received,
               (double)b->waited_us / 1e6, b->waited_n);
}

void status_backends_write_json(request_rec *r)
{
    brg_status_backend b;
    const char *comma = "";

    ap_rputs(",\n\"backends\":[", r);
    for (int n = 0; backend_next(r, &n, &b); comma = ",\n") {
        ap_rvputs(r, comma, "{", NULL);
        status_json_string(r, "backend", b.name);
        status_json_next(r, "balancer", b.balancer);
        status_json_next(r, "host", b.server);
        status_json_next(r, "state", b.state);
        json_numbers(r, &b);
    }
    ap_rputs("]", r);
}
