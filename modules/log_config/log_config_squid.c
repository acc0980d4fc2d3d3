/* SPDX-License-Identifier: Apache-2.0 */
/*
 * %{cache-result}e, %{cache-hierarchy}e and %{cache-url}e: Squid's log fields for a request in the
 * words that its analysers know. And %{sent-by}e: the way that its body left by. Caches are the
 * server's own memory, and mod_cache, which leaves its results in variables.
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

/* A backend was asked: its target is the file name. */
static int squid_of_backend(const brg_transaction *t)
{
    return !t->from_memory && t->filename && !strncmp(t->filename, "proxy:", 6) &&
           !brg_transaction_env(t, "cache-hit");
}

/* From the server's own memory, or by a copy that it has of an answer of mod_cache's. @return NULL: neither */
static const char *squid_from_memory(const brg_transaction *t)
{
    const int of_mod_cache = !t->filename && brg_transaction_env(t, "cache-hit");

    if (!t->from_memory)
        return NULL;
    return squid_from_cache(of_mod_cache ? "TCP_HIT" : "TCP_MEM_HIT", t->status);
}

static const char *squid_result(const brg_transaction *t)
{
    static const int unread[] = {400, 408, 413, 414, 417, 431, 501, 505, 0};
    static const int denied[] = {401, 403, 407, 0};
    const int is_ours = t->r && t->r->proxyreq == PROXYREQ_NONE;
    const char *result = squid_from_memory(t);

    if (result || (result = brg_transaction_env(t, "cache-kind")) != NULL)
        return result;
    for (size_t i = 0; i < sizeof squid_of_mod_cache / sizeof *squid_of_mod_cache; i++)
        if (brg_transaction_env(t, squid_of_mod_cache[i].variable))
            return i ? squid_of_mod_cache[i].result
                     : squid_from_cache(squid_of_mod_cache[i].result, t->status);
    if (is_ours && squid_is_of(denied, t->status))
        return "TCP_DENIED";
    return is_ours && squid_is_of(unread, t->status) ? "NONE" : "TCP_MISS";
}

static void squid_emit_result(log_out *out, const brg_transaction *t, const log_item *item,
                              log_entry *entry)
{
    const char *result = squid_result(t);

    log_out_bytes(out, result, strlen(result));
    if (t->connection->aborted)
        log_out_bytes(out, "_ABORTED", 8);
}

/* The host of "proxy:SCHEME://HOST:PORT/..."; of "proxy:unix:PATH|SCHEME://...", too. */
static void squid_emit_hierarchy(log_out *out, const brg_transaction *t, const log_item *item,
                                 log_entry *entry)
{
    const char *at = squid_of_backend(t) ? strstr(t->filename, "://") : NULL;
    const apr_size_t len = !at            ? 0
                           : at[3] == '[' ? strcspn(at + 3, "]") + 1
                                          : strcspn(at + 3, ":/?");

    if (!len || len > strlen(at + 3)) {
        log_out_bytes(out, "HIER_NONE/-", 11);
        return;
    }
    log_out_bytes(out, "HIER_DIRECT/", 12);
    log_out_escaped_n(out, at + 3, len);
}

/* A target that is a path is one of the host that was asked; others are whole, as those of forward proxies and CONNECT. */
static void squid_emit_url(log_out *out, const brg_transaction *t, const log_item *item,
                           log_entry *entry)
{
    unsigned from = 0;
    brg_text host = brg_transaction_request_field(t, "Host", 4, &from);
    const int is_tls =
        t->r ? !strcmp(ap_http_scheme(t->r), "https") : ap_ssl_conn_is_ssl(t->connection);

    if (!host.at && t->r && t->r->hostname)
        host = (brg_text){t->r->hostname, strlen(t->r->hostname)};
    if (t->target.len && t->target.at[0] == '/') {
        log_out_bytes(out, "https://", is_tls ? 5 : 4);
        log_out_bytes(out, "://", 3);
        log_out_escaped_n(out, host.at, host.len);
    }
    log_out_escaped_n(out, t->target.at, t->target.len);
}

/* The way that the body left by, as brigade_sent_by_way_bytes_total counts it. */
static void squid_emit_way(log_out *out, const brg_transaction *t, const log_item *item,
                           log_entry *entry)
{
    static const char *const names[] = {"sendfile", "window", "read"};
    const char *before = "";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (t->sent_by & 1 << i) {
            log_out_bytes(out, before, strlen(before));
            log_out_bytes(out, names[i], strlen(names[i]));
            before = "+";
        }
    if (!*before && t->body_sent > 0)
        log_out_bytes(out, "memory", 6);
    else if (!*before)
        log_out_dash(out);
}

int log_squid_find(log_item *item, const char *tag)
{
    static const struct {
        const char *name;
        log_emit_fn *emit;
    } items[] = {{"cache-result", squid_emit_result},
                 {"cache-hierarchy", squid_emit_hierarchy},
                 {"cache-url", squid_emit_url},
                 {"sent-by", squid_emit_way}};

    for (size_t i = 0; !strcmp(tag, "e") && i < sizeof items / sizeof *items; i++)
        if (!strcmp(item->arg, items[i].name)) {
            item->emit = items[i].emit;
            item->needs = LOG_NEEDS_NOTHING;
            return 1;
        }
    return 0;
}
