/* SPDX-License-Identifier: Apache-2.0 */
/* The name that a client asks for: the syntax of Host fields, and the server that has the name. */
#include "vhosts.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_vhost.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>

APLOG_USE_MODULE(core);

/* ---- syntax ---- */

/* RFC 1123 names (with underscores, which exist) and dotted quads. No other numbers: they would be
 * read as addresses by some and as names by others. */
static int host_is_strict_name(const char *name, size_t len)
{
    int dots = 0, numeric = 1, leading_zero = 0;
    size_t label = 0;

    for (size_t i = 0; i < len; i++) {
        char c = name[i];

        if (c == '.') {
            dots++;
            label = i + 1;
        } else if (apr_isdigit(c)) {
            leading_zero |= i > label && name[label] == '0';
        } else if (apr_isalpha(c) || c == '-' || c == '_') {
            numeric = 0;
        } else {
            return 0;
        }
    }
    if (!len || label == len)
        return 0;
    if (numeric)
        return dots == 3 && !leading_zero;
    return !dots || apr_isalpha(name[label]);
}

static int host_has_empty_label(const char *name, size_t len)
{
    const char *p = name, *end = name + len;

    while ((p = memchr(p, '.', (size_t)(end - p))) && ++p < end)
        if (*p == '.')
            return 1;
    return 0;
}

/* Refused in any case: modules make file names of hosts, and these look like paths. */
static int host_is_pathlike(const char *name, size_t len)
{
    return memchr(name, '/', len) || memchr(name, '\\', len) || memchr(name, '\0', len) ||
           host_has_empty_label(name, len);
}

static int host_is_v6(const char *text, size_t len)
{
    struct in6_addr addr;
    char copy[INET6_ADDRSTRLEN];

    if (len >= sizeof copy || memchr(text, '\0', len))
        return 0;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inet_pton(AF_INET6, copy, &addr) == 1;
}

/* @return 1 and *port if all of it is a port */
static int host_port(const char *text, size_t len, unsigned *port)
{
    unsigned long n = 0;

    for (size_t i = 0; i < len; i++) {
        n = n * 10 + (unsigned long)(text[i] - '0');
        if (!apr_isdigit(text[i]) || n > 65535)
            return 0;
    }
    *port = (unsigned)n;
    return n > 0;
}

static int host_parse_v6(const char *value, size_t len, vhost_host *out)
{
    const char *end = memchr(value, ']', len);
    size_t rest;

    BRG_ASSERT(value[0] == '[');
    if (!end || !host_is_v6(value + 1, (size_t)(end - value) - 1))
        return 0;
    rest = len - (size_t)(end - value) - 1;
    *out = (vhost_host){value + 1, (size_t)(end - value) - 1, 0};
    return !rest || (end[1] == ':' && host_port(end + 2, rest - 1, &out->port));
}

int vhost_host_parse(const char *value, size_t len, int strict, vhost_host *out)
{
    size_t digits = len;
    unsigned port = 0;

    if (len && value[0] == '[')
        return host_parse_v6(value, len, out);
    while (digits && apr_isdigit(value[digits - 1]))
        digits--;
    if (digits < len && digits && value[digits - 1] == ':') {
        if (!host_port(value + digits, len - digits, &port))
            return 0;
        len = digits - 1;
    }
    if (len && value[len - 1] == '.' && !(len > 1 && value[len - 2] == '.'))
        len--;
    *out = (vhost_host){value, len, port};
    if (host_is_pathlike(value, len))
        return 0;
    return !strict || host_is_strict_name(value, len);
}

/* ---- the request ---- */

static int host_is_strict_server(const server_rec *s)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config);

    return conf->http_conformance != AP_HTTP_CONFORMANCE_UNSAFE;
}

/* A field that is a name in small letters, and nothing beside, is the name itself: a table's values are not changed in
 * their places. */
static const char *host_lower(apr_pool_t *p, const vhost_host *host)
{
    size_t n = 0;
    char *name;

    while (n < host->len && !apr_isupper(host->name[n]))
        n++;
    if (n == host->len && !host->name[n])
        return host->name;
    name = apr_pstrmemdup(p, host->name, host->len);
    ap_str_tolower(name);
    return name;
}

static void host_take_port(request_rec *r, apr_port_t port)
{
    r->parsed_uri.port_str = apr_itoa(r->pool, (int)port);
    r->parsed_uri.port = port;
}

static int host_take_field(request_rec *r, const char *value)
{
    vhost_host host;

    if (!vhost_host_parse(value, strlen(value), host_is_strict_server(r->server), &host)) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(00550) "Client sent malformed Host header: %s", value);
        return 0;
    }
    r->hostname = host_lower(r->pool, &host);
    if (host.port)
        host_take_port(r, (apr_port_t)host.port);
    return 1;
}

/* The target's authority was split by the URI parser: brackets and port are off. */
static int host_take_target(request_rec *r)
{
    const char *name = r->hostname;
    size_t len = strlen(name);
    vhost_host host = {name, len, 0};

    if (!strchr(name, ':') ? !vhost_host_parse(name, len, host_is_strict_server(r->server), &host)
                           : !host_is_v6(name, len)) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(00550) "Client sent malformed Host header: %s", name);
        return 0;
    }
    r->hostname = host_lower(r->pool, &host);
    return 1;
}

/* RFC 9112 section 3.2.2: the host of an absolute target outweighs that of the field. The field is replaced, so that
 * modules see the same host in both. */
static void host_replace_field(request_rec *r, const char *field)
{
    const char *name = r->hostname;

    if (strchr(name, ':'))
        name = apr_pstrcat(r->pool, "[", name, "]", NULL);
    if (r->parsed_uri.port_str)
        name = apr_pstrcat(r->pool, name, ":", r->parsed_uri.port_str, NULL);
    if (!strcmp(field, name))
        return;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(02417) "Replacing host header '%s' with host '%s' given in the request "
                                 "uri",
                  field, name);
    apr_table_setn(r->headers_in, "Host", name);
}

/* For a client that sends no Host, ServerPath chooses the server. */
typedef struct host_path {
    const char *uri;
    server_rec *found;
} host_path;

static int host_path_visit(void *baton, server_rec *s)
{
    host_path *search = baton;
    size_t len = (size_t)s->pathlen;

    if (s->path && len && !strncmp(search->uri, s->path, len) &&
        (s->path[len - 1] == '/' || search->uri[len] == '/' || !search->uri[len]))
        search->found = s;
    return search->found != NULL;
}

/* @return 1 if a server has the name (or none was given) */
static int host_choose_server(request_rec *r)
{
    const vhost_chain *chain = r->connection->vhost_lookup_data;
    server_rec *found;

    if (!r->hostname) {
        host_path search = {r->uri ? r->uri : "", NULL};

        if (chain && vhost_chain_each(chain, host_path_visit, &search))
            r->server = search.found;
        return 1;
    }
    found = chain ? vhost_chain_find(chain, r->hostname, strlen(r->hostname)) : NULL;
    if (found)
        r->server = found;
    return found || vhost_server_has_name(r->server, r->hostname);
}

/* ---- the last Host fields of this thread: clients send the same one again and again ---- */

#define HOST_KEPT 4
#define HOST_KEPT_LEN 64

typedef struct host_kept {
    unsigned number; /* of the tables; 0: nothing is kept */
    const void *chain;
    server_rec *base, *server;
    apr_size_t len, name_len;
    apr_port_t port;                                /* 0: none was given */
    char value[HOST_KEPT_LEN], name[HOST_KEPT_LEN]; /* as sent; as r->hostname */
} host_kept;

static _Thread_local host_kept host_known[HOST_KEPT];

static host_kept *host_place(const char *value, apr_size_t len)
{
    return &host_known[(len + (unsigned char)value[len / 2]) % HOST_KEPT];
}

/* @return 1: r->hostname and r->server are set */
static int host_recall(request_rec *r, const char *value)
{
    const apr_size_t len = strlen(value);
    const host_kept *k = host_place(value, len);

    if (k->number != vhost_tables_number() || k->len != len || k->base != r->server ||
        k->chain != r->connection->vhost_lookup_data || memcmp(k->value, value, len) != 0)
        return 0;
    r->hostname = apr_pstrmemdup(r->pool, k->name, k->name_len);
    r->server = k->server;
    if (k->port)
        host_take_port(r, k->port);
    return 1;
}

/* Only of names that a server has. @param base  r->server, before */
static void host_remember(const request_rec *r, const char *value, server_rec *base)
{
    const apr_size_t len = strlen(value), name_len = strlen(r->hostname);
    host_kept *k = host_place(value, len);

    BRG_ASSERT(len > 0 && name_len <= len);
    if (len >= HOST_KEPT_LEN)
        return;
    *k = (host_kept){.number = vhost_tables_number(),
                     .chain = r->connection->vhost_lookup_data,
                     .base = base,
                     .server = r->server,
                     .len = len,
                     .port = r->parsed_uri.port_str ? r->parsed_uri.port : 0,
                     .name_len = name_len};
    memcpy(k->value, value, len);
    memcpy(k->name, r->hostname, name_len);
}

AP_DECLARE(int) ap_update_vhost_from_headers_ex(request_rec *r, int require_match)
{
    const char *value = apr_table_get(r->headers_in, "Host");
    const char *field = value && *value ? value : NULL; /* an empty one says nothing */
    server_rec *base = r->server;
    int from_target = r->hostname != NULL;
    const core_server_config *conf;
    int well_formed;

    if (!from_target && field && r->status == HTTP_OK && host_recall(r, field))
        return HTTP_OK;
    well_formed = from_target ? host_take_target(r) : !field || host_take_field(r, field);
    if (!well_formed) {
        r->hostname = NULL;
        r->status = HTTP_BAD_REQUEST;
    }
    if (r->status != HTTP_OK)
        return r->status;
    conf = ap_get_core_module_config(r->server->module_config);
    if (host_choose_server(r)) {
        if (!from_target && field)
            host_remember(r, field, base);
    } else if (require_match || conf->strict_host_check == AP_CORE_CONFIG_ON) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      "Client asked for a host that no server here has: %s", r->hostname);
        return r->status = HTTP_BAD_REQUEST;
    }
    if (from_target && field && host_is_strict_server(r->server))
        host_replace_field(r, field);
    return HTTP_OK;
}

AP_DECLARE(void) ap_update_vhost_from_headers(request_rec *r)
{
    ap_update_vhost_from_headers_ex(r, 0);
}

/* ---- the connection ---- */

AP_DECLARE(void) ap_update_vhost_given_ip(conn_rec *conn)
{
    server_rec *base;
    const void *chain = vhost_chain_of(conn->local_addr, &base);

    conn->vhost_lookup_data = (void *)chain;
    if (chain)
        conn->base_server = base;
}

AP_DECLARE(int) ap_matches_request_vhost(request_rec *r, const char *host, apr_port_t port)
{
    const server_rec *s = r->server;

    BRG_ASSERT(s != NULL);
    for (const server_addr_rec *sar = s->addrs; sar; sar = sar->next)
        if ((!sar->host_port || sar->host_port == port) && !strcasecmp(host, sar->virthost))
            return 1;
    return port == s->port && vhost_server_has_name(s, host);
}

typedef struct host_iteration {
    ap_vhost_iterate_conn_cb func;
    void *baton;
    conn_rec *conn;
} host_iteration;

static int host_iterate(void *baton, server_rec *s)
{
    host_iteration *it = baton;

    return it->func(it->baton, it->conn, s);
}

AP_DECLARE(int)
ap_vhost_iterate_given_conn(conn_rec *conn, ap_vhost_iterate_conn_cb func_cb, void *baton)
{
    host_iteration it = {func_cb, baton, conn};

    if (conn->vhost_lookup_data)
        return vhost_chain_each(conn->vhost_lookup_data, host_iterate, &it);
    return func_cb(baton, conn, conn->base_server);
}
