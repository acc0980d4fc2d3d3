/* SPDX-License-Identifier: Apache-2.0 */
/*
 * %{cache-result}e, %{cache-hierarchy}e and %{cache-url}e: what Squid's logs tell of a request in the words that its analysers know.
 * Caches are the server's own memory, and mod_cache, which tells what it did in variables.
 */
#include "log_config_private.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "apr_lib.h"
#include <strings.h>

static const struct {
    const char *variable, *result;
} squid_of_mod_cache[] = {{"cache-hit", "TCP_HIT"},
                          {"cache-revalidate", "TCP_REFRESH_HIT"},
                          {"cache-miss", "TCP_MISS"},
                          {"cache-invalidate", "TCP_MISS"}};

static int squid_is_of(const int *statuses, int status)
{
    while (*statuses && *statuses != status)
        statuses++;
    return *statuses;
}

static const char *squid_from_cache(const char *result, int status)
{
    return status == HTTP_NOT_MODIFIED                      ? "TCP_IMS_HIT"
           : status >= 400 && strcmp(result, "TCP_MEM_HIT") ? "TCP_NEGATIVE_HIT"
                                                            : result;
}

/* What mod_cache answers before the phases of a request has no file name. */
static int squid_is_of_mod_cache(const request_rec *r)
{
    return !r->filename && apr_table_get(r->subprocess_env, "cache-hit");
}

static const char *squid_result(const request_rec *r)
{
    static const int unread[] = {400, 408, 413, 414, 417, 431, 501, 505, 0};
    static const int denied[] = {401, 403, 407, 0};
    const char *kind = apr_table_get(r->subprocess_env, "cache-kind");

    if (brg_request_is_stored(r) && !squid_is_of_mod_cache(r))
        return squid_from_cache("TCP_MEM_HIT", r->status);
    if (kind)
        return kind;
    for (size_t i = 0; i < sizeof squid_of_mod_cache / sizeof *squid_of_mod_cache; i++)
        if (apr_table_get(r->subprocess_env, squid_of_mod_cache[i].variable))
            return i ? squid_of_mod_cache[i].result
                     : squid_from_cache(squid_of_mod_cache[i].result, r->status);
    if (r->proxyreq == PROXYREQ_NONE && squid_is_of(denied, r->status))
        return "TCP_DENIED";
    if (r->proxyreq == PROXYREQ_NONE && squid_is_of(unread, r->status))
        return "NONE";
    return "TCP_MISS";
}

static void squid_emit_result(log_out *out, request_rec *r, const log_item *item, log_entry *entry)
{
    const char *result = squid_result(r);

    log_out_bytes(out, result, strlen(result));
    if (r->connection->aborted)
        log_out_bytes(out, "_ABORTED", 8);
}

static void squid_stored_result(log_out *out, const brg_stored_answer *a, const log_item *item,
                                log_entry *entry)
{
    const int is_file = a->filename || !brg_stored_env(a, "cache-hit");
    const char *result = squid_from_cache(is_file ? "TCP_MEM_HIT" : "TCP_HIT", a->status);

    log_out_bytes(out, result, strlen(result));
    if (a->connection->aborted)
        log_out_bytes(out, "_ABORTED", 8);
}

/* The host of "proxy:SCHEME://HOST:PORT/..."; of "proxy:unix:PATH|SCHEME://...", too. NULL: no server was asked */
static const char *squid_host(const request_rec *r, apr_size_t *len)
{
    const char *at = r->filename;

    if (apr_table_get(r->subprocess_env, "cache-hit") || !at || strncmp(at, "proxy:", 6) ||
        !(at = strstr(at, "://")))
        return NULL;
    at += 3;
    *len = *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/?");
    return *len && *len <= strlen(at) ? at : NULL;
}

static void squid_emit_hierarchy(log_out *out, request_rec *r, const log_item *item,
                                 log_entry *entry)
{
    apr_size_t len = 0;
    const char *host = squid_host(r, &len);

    if (!host) {
        log_out_bytes(out, "HIER_NONE/-", 11);
        return;
    }
    log_out_bytes(out, "HIER_DIRECT/", 12);
    log_out_escaped_n(out, host, len);
}

static void squid_stored_hierarchy(log_out *out, const brg_stored_answer *a, const log_item *item,
                                   log_entry *entry)
{
    log_out_bytes(out, "HIER_NONE/-", 11);
}

/* A target that is a path is one of the host that was asked; others are whole, as those of forward proxies and CONNECT. */
static void squid_out_url(log_out *out, int is_tls, brg_text host, brg_text target)
{
    if (target.len && target.at[0] == '/') {
        log_out_bytes(out, "https://", is_tls ? 5 : 4);
        log_out_bytes(out, "://", 3);
        log_out_escaped_n(out, host.at, host.len);
    }
    log_out_escaped_n(out, target.at, target.len);
}

static brg_text squid_text(const char *text)
{
    return (brg_text){text, text ? strlen(text) : 0};
}

static void squid_emit_url(log_out *out, request_rec *r, const log_item *item, log_entry *entry)
{
    const char *host = apr_table_get(r->headers_in, "Host");

    squid_out_url(out, !strcmp(ap_http_scheme(r), "https"), squid_text(host ? host : r->hostname),
                  squid_text(r->unparsed_uri));
}

static void squid_stored_url(log_out *out, const brg_stored_answer *a, const log_item *item,
                             log_entry *entry)
{
    unsigned from = 0;

    squid_out_url(out, ap_ssl_conn_is_ssl(a->connection),
                  brg_stored_request_field(a, "Host", 4, &from), a->target);
}

int log_squid_find(log_item *item, const char *tag)
{
    static const struct {
        const char *name;
        log_emit_fn *emit;
        log_stored_fn *stored;
    } items[] = {{"cache-result", squid_emit_result, squid_stored_result},
                 {"cache-hierarchy", squid_emit_hierarchy, squid_stored_hierarchy},
                 {"cache-url", squid_emit_url, squid_stored_url}};

    for (size_t i = 0; !strcmp(tag, "e") && i < sizeof items / sizeof *items; i++)
        if (!strcmp(item->arg, items[i].name)) {
            item->emit = items[i].emit;
            item->stored = items[i].stored;
            return 1;
        }
    return 0;
}
