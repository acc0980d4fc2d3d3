/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and their busiest keys in the shapes of the status page and of the figures. */
#include "status_limits.h"
#include "metrics_private.h"
#include "status_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/status.h"
#include <stddef.h>

/* @return 0 after the last */
static int limit_next(int *n, brg_status_limit *out)
{
    APR_OPTIONAL_FN_TYPE(brg_status_limit_get) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_limit_get);

    return get && get((*n)++, out);
}

static int limits_are_there(request_rec *r)
{
    brg_status_limit limit;
    int n = 0;

    return limit_next(&n, &limit);
}

static int limit_keys(request_rec *r, brg_status_limit_key **keys)
{
    APR_OPTIONAL_FN_TYPE(brg_status_limit_keys) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_limit_keys);

    *keys = apr_palloc(r->pool, BRG_STATUS_LIMIT_KEYS * sizeof **keys);
    return get ? get(*keys, r->pool) : 0;
}

/* ---- figures ---- */

static const struct {
    const char *name, *help, *member;
    size_t offset;
} families[] = {
    {"brigade_limit_refused_total", "Requests that a limit refused.", "refused",
     offsetof(brg_status_limit, refused)},
    {"brigade_limit_delayed_total", "Requests, or parts of responses, that a limit delayed.",
     "delayed", offsetof(brg_status_limit, delayed)},
    {"brigade_limit_closed_total", "Connections that a limit closed.", "closed",
     offsetof(brg_status_limit, closed)},
    {"brigade_limit_dry_run_total", "What a limit with dry-run would have held back.", "dry",
     offsetof(brg_status_limit, dry)},
};

#define FAMILIES (sizeof families / sizeof *families)

static uint64_t value_of(const brg_status_limit *l, size_t family)
{
    return *(const uint64_t *)(const void *)((const char *)l + families[family].offset);
}

static void write_family(request_rec *r, size_t i, int open)
{
    brg_status_limit l;

    metrics_family(r, families[i].name, "counter", families[i].help, open);
    for (int n = 0; limit_next(&n, &l);)
        ap_rprintf(r, "%s{limit=\"%s\",host=\"%s\",section=\"%s\"} %" APR_UINT64_T_FMT "\n",
                   families[i].name, l.name, ap_escape_quotes(r->pool, l.server),
                   ap_escape_quotes(r->pool, l.section), value_of(&l, i));
}

static void write_memory(request_rec *r, int open)
{
    APR_OPTIONAL_FN_TYPE(brg_status_limit_memory) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_limit_memory);
    uint64_t displaced = 0, unkept = 0;

    if (get)
        get(&displaced, &unkept);
    metrics_family(r, "brigade_limit_keys_displaced_total", "counter",
                   "Keys that lost their place while they still counted (RequestLimitKeys).", open);
    ap_rprintf(r, "brigade_limit_keys_displaced_total %" APR_UINT64_T_FMT "\n", displaced);
    metrics_family(r, "brigade_limit_unkept_total", "counter",
                   "Requests and connections at the same time that were not counted for want of a "
                   "place.",
                   open);
    ap_rprintf(r, "brigade_limit_unkept_total %" APR_UINT64_T_FMT "\n", unkept);
}

void status_limits_write_text(request_rec *r, int open)
{
    brg_status_limit_key *keys;
    int n;

    if (!limits_are_there(r))
        return;
    for (size_t i = 0; i < FAMILIES; i++)
        write_family(r, i, open);
    write_memory(r, open);
    n = limit_keys(r, &keys);
    metrics_family(r, "brigade_limit_busiest", "gauge",
                   "About how often the busiest keys of limits were asked for lately; half is "
                   "forgotten in ten minutes.",
                   open);
    for (int i = 0; i < n; i++)
        ap_rprintf(r, "brigade_limit_busiest{limit=\"%s\",key=\"%s\"} %" APR_UINT64_T_FMT "\n",
                   keys[i].limit, keys[i].key, keys[i].asked);
}

static void write_json_keys(request_rec *r)
{
    brg_status_limit_key *keys;
    const int n = limit_keys(r, &keys);

    for (int i = 0; i < n; i++) {
        ap_rputs(i ? ",\n{" : "{", r);
        status_json_string(r, "limit", keys[i].limit);
        status_json_next(r, "key", keys[i].key);
        ap_rprintf(r, ",\"asked\":%" APR_UINT64_T_FMT ",\"refused\":%" APR_UINT64_T_FMT "}",
                   keys[i].asked, keys[i].refused);
    }
}

void status_limits_write_json(request_rec *r)
{
    const char *comma = "";
    brg_status_limit l;

    if (!limits_are_there(r))
        return;
    ap_rputs(",\n\"limits\":[", r);
    for (int n = 0; limit_next(&n, &l); comma = ",\n") {
        ap_rvputs(r, comma, "{", NULL);
        status_json_string(r, "name", l.name);
        status_json_next(r, "server", l.server);
        status_json_next(r, "section", l.section);
        ap_rprintf(r, ",\"dry_run\":%s", l.dry_run ? "true" : "false");
        for (size_t i = 0; i < FAMILIES; i++)
            ap_rprintf(r, ",\"%s\":%" APR_UINT64_T_FMT, families[i].member, value_of(&l, i));
        ap_rputs("}", r);
    }
    ap_rputs("],\n\"limit_keys\":[", r);
    write_json_keys(r);
    ap_rputs("]", r);
}

/* ---- the page ---- */

static void limits_write_auto(request_rec *r)
{
    brg_status_limit l;

    for (int n = 0; limit_next(&n, &l);)
        ap_rprintf(r,
                   "RequestLimit %s: refused %" APR_UINT64_T_FMT ", delayed %" APR_UINT64_T_FMT
                   ", closed %" APR_UINT64_T_FMT ", dry-run %" APR_UINT64_T_FMT "\n",
                   l.name, l.refused, l.delayed, l.closed, l.dry);
}

static void limits_write_html(request_rec *r)
{
    brg_status_limit l;
    brg_status_limit_key *keys;
    const int keys_n = limit_keys(r, &keys);

    ap_rvputs(r, "<hr />\n<h2>Limits of requests</h2>\n", status_table(r),
              "<tr><th>Limit</th><th>Host</th><th>Section</th><th>Refused</th>"
              "<th>Delayed</th><th>Closed</th><th>Dry run</th></tr>\n",
              NULL);
    for (int n = 0; limit_next(&n, &l);) {
        ap_rvputs(r, "<tr><td>", l.name, "</td><td>", ap_escape_html(r->pool, l.server),
                  "</td><td>", ap_escape_html(r->pool, l.section), "</td>", NULL);
        for (size_t i = 0; i < FAMILIES; i++)
            ap_rprintf(r, "<td>%" APR_UINT64_T_FMT "</td>", value_of(&l, i));
        ap_rputs("</tr>\n", r);
    }
    ap_rputs("</table>\n", r);
    for (int i = 0; i < keys_n; i++)
        ap_rprintf(r, "%s%s %s (%" APR_UINT64_T_FMT ", refused %" APR_UINT64_T_FMT ")%s",
                   i ? ", " : "<p>Busiest lately: ", keys[i].limit,
                   ap_escape_html(r->pool, keys[i].key), keys[i].asked, keys[i].refused,
                   i + 1 == keys_n ? "</p>\n" : "");
}

const status_section status_limits = {limits_are_there, limits_write_auto, limits_write_html};
