/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request to an HTTP/1 backend. Its framing is generated, whatever the client's was;
 * fields between the client and this server stay here; the others go on in their order, as Apache's
 * mod_proxy_http has it:
 *
 *     request line, Host, fields of the client, Via, X-Forwarded-*, Content-Length or Transfer-Encoding, Upgrade, Connection
 *
 * A field that Connection names is one between client and server, except fields about the client's
 * identity and rights: naming them must not take them away (CVE-2022-31813). */
#include "proxy_fields.h"
#include "http_head.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>

typedef struct fields_head {
    request_rec *r;
    proxy_line *line;
    int n, most;
    apr_size_t size;
    const char *connection; /* of the client; NULL */
    /* of the client, as headers_in has them first; NULL */
    const char *host, *length, *upgrade, *te, *coding;
    unsigned seen_for : 1, seen_host : 1, seen_server : 1, seen_via : 1;
} fields_head;

static void fields_grow(fields_head *h)
{
    proxy_line *more = apr_palloc(h->r->pool, sizeof *more * (apr_size_t)h->most * 2);

    memcpy(more, h->line, sizeof *more * (apr_size_t)h->n);
    h->line = more;
    h->most *= 2;
}

static void fields_put_line(fields_head *h, const char *name, apr_size_t name_len,
                            const char *value, apr_size_t value_len)
{
    proxy_line *l;

    if (h->n == h->most)
        fields_grow(h);
    l = &h->line[h->n++];
    l->name = name;
    l->value = value;
    l->name_len = name_len;
    l->value_len = value_len;
    h->size += name_len + value_len + 4;
}

static void fields_add_named(fields_head *h, const char *name, apr_size_t name_len,
                             const char *value)
{
    const apr_size_t value_len = strlen(value);

    if (http_is_token(name, name_len) && http_is_value(value, value_len))
        fields_put_line(h, name, name_len, value, value_len);
}

static void fields_add_value(fields_head *h, const char *name, apr_size_t name_len,
                             const char *value)
{
    const apr_size_t value_len = strlen(value);

    if (http_is_value(value, value_len))
        fields_put_line(h, name, name_len, value, value_len);
}

/* The name is a literal. */
#define fields_add(h, name, value) fields_add_value(h, name, sizeof(name) - 1, value)
/* So is the value. */
#define fields_say(h, name, value) \
    fields_put_line(h, name, sizeof(name) - 1, value, sizeof(value) - 1)

/* The first of a name, which apr_table_get() would find. */
static void fields_note(const char **first, const char *value)
{
    if (!*first)
        *first = value;
}

static proxy_field_rule fields_rule_of_other(const char *name, apr_size_t len)
{
    switch (len) {
    case 3:
        return strncasecmp(name, "Via", 3) ? PROXY_FIELD_GOES : PROXY_FIELD_ADDED_TO;
    case 12:
        return strncasecmp(name, "Max-Forwards", 12) ? PROXY_FIELD_GOES : PROXY_FIELD_ADDED_TO;
    case 16:
        if (!strncasecmp(name, "Proxy-Connection", 16))
            return PROXY_FIELD_STAYS;
        return strncasecmp(name, "X-Forwarded-Host", 16) ? PROXY_FIELD_GOES : PROXY_FIELD_ADDED_TO;
    case 18:
        return strncasecmp(name, "X-Forwarded-Server", 18) ? PROXY_FIELD_GOES
                                                           : PROXY_FIELD_ADDED_TO;
    case 19:
        return strncasecmp(name, "Proxy-Authorization", 19) ? PROXY_FIELD_GOES
                                                            : PROXY_FIELD_CREDENTIALS;
    default:
        return PROXY_FIELD_GOES;
    }
}

proxy_field_rule proxy_field_rule_of(http_field_id id, const char *name, apr_size_t len)
{
    static const uint8_t known[HTTP_FIELD_IDS] = {
        [HTTP_F_HOST] = PROXY_FIELD_HOST,
        [HTTP_F_CONTENT_LENGTH] = PROXY_FIELD_LENGTH,
        [HTTP_F_UPGRADE] = PROXY_FIELD_UPGRADE,
        [HTTP_F_TE] = PROXY_FIELD_TE,
        [HTTP_F_TRANSFER_ENCODING] = PROXY_FIELD_CODING,
        [HTTP_F_CONNECTION] = PROXY_FIELD_STAYS,
        [HTTP_F_KEEP_ALIVE] = PROXY_FIELD_STAYS,
        [HTTP_F_TRAILER] = PROXY_FIELD_STAYS,
        [HTTP_F_EXPECT] = PROXY_FIELD_EXPECT,
        [HTTP_F_IF_MATCH] = PROXY_FIELD_CONDITION,
        [HTTP_F_IF_MODIFIED_SINCE] = PROXY_FIELD_CONDITION,
        [HTTP_F_IF_RANGE] = PROXY_FIELD_CONDITION,
        [HTTP_F_IF_UNMODIFIED_SINCE] = PROXY_FIELD_CONDITION,
        [HTTP_F_IF_NONE_MATCH] = PROXY_FIELD_CONDITION,
        [HTTP_F_X_FORWARDED_FOR] = PROXY_FIELD_ADDED_TO};

    BRG_ASSERT(id < HTTP_FIELD_IDS);
    return id == HTTP_F_OTHER ? fields_rule_of_other(name, len) : (proxy_field_rule)known[id];
}

/* 0: it stays here. */
static int fields_goes_on(const proxy_exchange *x, fields_head *h, const char *name, apr_size_t len,
                          const char *value)
{
    const request_rec *r = x->r;

    switch (proxy_field_rule_of(http_field_id_of(name, len), name, len)) {
    case PROXY_FIELD_HOST:
        fields_note(&h->host, value);
        return 0;
    case PROXY_FIELD_LENGTH:
        fields_note(&h->length, value);
        return 0;
    case PROXY_FIELD_UPGRADE:
        fields_note(&h->upgrade, value);
        return 0;
    case PROXY_FIELD_TE:
        fields_note(&h->te, value);
        return 0;
    case PROXY_FIELD_CODING:
        fields_note(&h->coding, value);
        return 0;
    case PROXY_FIELD_STAYS:
        return 0;
    case PROXY_FIELD_EXPECT:
        return x->body.holds;
    case PROXY_FIELD_CONDITION:
        return !r->main;
    case PROXY_FIELD_CREDENTIALS:
        return !x->target->forward || apr_table_get(r->subprocess_env, "Proxy-Chain-Auth") != NULL;
    default:
        return 1;
    }
}

static int fields_is_named(const fields_head *h, const char *name)
{
    static const char *const kept[] = {"Authorization",
                                       "Cookie",
                                       "X-Forwarded-For",
                                       "X-Forwarded-Host",
                                       "X-Forwarded-Server",
                                       "X-Forwarded-Proto",
                                       "X-Real-IP",
                                       "Forwarded",
                                       NULL};

    if (!h->connection || !ap_find_token(h->r->pool, h->connection, name))
        return 0;
    for (int i = 0; kept[i]; i++)
        if (!strcasecmp(name, kept[i]))
            return 0;
    return 1;
}

static const char *fields_merge(const fields_head *h, const char *old, const char *value)
{
    return old && *old ? apr_pstrcat(h->r->pool, old, ", ", value, NULL) : value;
}

static const char *fields_client_host(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Host");
}

/* The value of a field as it is sent: the first X-Forwarded-For, -Host and -Server of the client gets ours behind its own. */
static const char *fields_forwarded(const proxy_exchange *x, fields_head *h, const char *name,
                                    const char *value)
{
    const request_rec *r = x->r;
    const char *host;

    if (!x->conf.add_fields || (*name | 0x20) != 'x' || strncasecmp(name, "X-Forwarded-", 12))
        return value;
    if (!strcasecmp(name + 12, "For")) {
        if (h->seen_for++)
            return value;
        return fields_merge(h, value, r->useragent_ip);
    }
    if (!strcasecmp(name + 12, "Host") && (host = fields_client_host(r)) != NULL) {
        if (h->seen_host++)
            return value;
        return fields_merge(h, value, host);
    }
    if (!strcasecmp(name + 12, "Server")) {
        if (h->seen_server++)
            return value;
        return fields_merge(h, value, r->server->server_hostname);
    }
    return value;
}

/* The proxy is named, not the host that the client asked for. */
const char *proxy_via_value(const request_rec *r, proxy_via via)
{
    const char *name = ap_get_server_name((request_rec *)(uintptr_t)r);
    const int major = HTTP_VERSION_MAJOR(r->proto_num), minor = HTTP_VERSION_MINOR(r->proto_num);
    const apr_port_t port = ap_get_server_port(r);

    if (name == r->hostname)
        name = r->server->server_hostname;
    if (port != ap_default_port(r))
        name = apr_psprintf(r->pool, "%s:%u", name, (unsigned)port);
    if (via == PROXY_VIA_FULL)
        return apr_psprintf(r->pool, "%d.%d %s (%s)", major, minor, name, AP_SERVER_BASEVERSION);
    return apr_psprintf(r->pool, "%d.%d %s", major, minor, name);
}

static void fields_of_client(const proxy_exchange *x, fields_head *h)
{
    const request_rec *r = x->r;
    const proxy_via via = proxy_settings_of(r->server)->via;
    const apr_array_header_t *all = apr_table_elts(r->headers_in);
    const apr_table_entry_t *e = (const void *)all->elts;

    for (int i = 0; i < all->nelts; i++) {
        const char *value = e[i].val;
        const apr_size_t len = e[i].key ? strlen(e[i].key) : 0;

        if (!len || !value || !fields_goes_on(x, h, e[i].key, len, value) ||
            fields_is_named(h, e[i].key))
            continue;
        if (len == 3 && !strcasecmp(e[i].key, "Via")) {
            if (via == PROXY_VIA_BLOCK)
                continue;
            if (via != PROXY_VIA_OFF && !h->seen_via++)
                value = fields_merge(h, value, proxy_via_value(r, via));
        }
        fields_add_named(h, e[i].key, len, fields_forwarded(x, h, e[i].key, value));
    }
    if ((via == PROXY_VIA_ON || via == PROXY_VIA_FULL) && !h->seen_via)
        fields_add(h, "Via", proxy_via_value(r, via));
}

static void fields_of_ours(const proxy_exchange *x, fields_head *h)
{
    const request_rec *r = x->r;

    if (!x->conf.add_fields)
        return;
    if (!h->seen_for)
        fields_add(h, "X-Forwarded-For", r->useragent_ip);
    if (!h->seen_host && h->host)
        fields_add(h, "X-Forwarded-Host", h->host);
    if (!h->seen_server)
        fields_add(h, "X-Forwarded-Server", r->server->server_hostname);
}

/* How the body is framed towards the backend. */
static void fields_of_body(proxy_exchange *x, fields_head *h, int is_10)
{
    request_rec *r = x->r;
    const char *length = h->length;

    x->body.chunked = 0;
    if (x->target->scheme == PROXY_SCHEME_CONNECT)
        return;
    if (x->body.over && (x->body.exists || length)) {
        fields_add(h, "Content-Length", apr_psprintf(r->pool, "%" APR_OFF_T_FMT, x->body.read));
    } else if (x->body.exists && length && !h->coding &&
               r->input_filters == r->proto_input_filters) {
        fields_add(h, "Content-Length", length);
    } else if (x->body.exists && !is_10) {
        x->body.chunked = 1;
        fields_say(h, "Transfer-Encoding", "chunked");
    }
}

/* Upgrade passes only where the configuration lets it. */
static const char *fields_upgrade(proxy_exchange *x, const char *upgrade)
{
    x->upgrade = 0;
    if (!upgrade || !proxy_may_upgrade(x->r, x->target->worker, upgrade))
        return NULL;
    x->upgrade = 1;
    return upgrade;
}

static void fields_of_connection(proxy_exchange *x, fields_head *h, int is_10)
{
    request_rec *r = x->r;
    const char *upgrade = is_10 ? NULL : fields_upgrade(x, h->upgrade);

    if (upgrade) {
        fields_add(h, "Upgrade", upgrade);
        fields_say(h, "Connection", "Upgrade");
        return;
    }
    if (h->te && ap_find_token(r->pool, h->te, "trailers") && !is_10) {
        fields_say(h, "TE", "trailers");
        fields_say(h, "Connection", "TE");
    }
    if (is_10)
        return; /* it has no connections that are kept */
    if (x->origin && upstream_origin_settings(x->origin)->reuse &&
        !apr_table_get(r->subprocess_env, "proxy-nokeepalive"))
        fields_say(h, "Connection", "Keep-Alive");
    else
        fields_say(h, "Connection", "close");
}

static char *fields_put(char *p, const char *s, apr_size_t n)
{
    memcpy(p, s, n);
    return p + n;
}

/* Credentials of ProxyRemote, for the proxy that the request goes to. Within a tunnel the backend gets none. */
static void fields_of_remote(const proxy_exchange *x, fields_head *h)
{
    const proxy_target *t = x->target;

    if (!t->remotes_n || proxy_scheme_is_tls(t->scheme) || !t->remotes[0].credentials)
        return;
    fields_add(h, "Proxy-Authorization",
               apr_pstrcat(x->r->pool, "Basic ", t->remotes[0].credentials, NULL));
}

static const char *fields_host(const proxy_exchange *x)
{
    const char *host = fields_client_host(x->r);

    if (!x->conf.preserve_host)
        return x->target->authority;
    return host ? host : x->r->server->server_hostname; /* HTTP/1.0: as Apache */
}

static char *fields_put_lines(char *p, const proxy_line *from, const proxy_line *end)
{
    for (const proxy_line *l = from; l < end; l++) {
        p = fields_put(p, l->name, l->name_len);
        p = fields_put(p, ": ", 2);
        p = fields_put(p, l->value, l->value_len);
        p = fields_put(p, "\r\n", 2);
    }
    return p;
}

/* @return NULL: the method or the target would end the request line. Bytes and bucket live as long as the request; no filter sees
 * them. */
static apr_bucket *fields_write(const fields_head *h, const char *method, const char *target,
                                const char *version)
{
    apr_bucket_alloc_t *alloc = h->r->connection->bucket_alloc;
    const apr_size_t method_len = strcspn(method, "\r\n"), target_len = strcspn(target, "\r\n"),
                     all = method_len + 1 + target_len + strlen(" HTTP/1.1\r\n") + h->size + 2;
    char *buf, *p;

    if (method[method_len] || target[target_len])
        return NULL;
    buf = apr_palloc(h->r->pool, all);
    p = fields_put(buf, method, method_len);
    *p++ = ' ';
    p = fields_put(p, target, target_len);
    p = fields_put(p, version, strlen(" HTTP/1.1\r\n"));
    p = fields_put_lines(p, h->line, h->line + h->n);
    p = fields_put(p, "\r\n", 2);
    BRG_ASSERT((apr_size_t)(p - buf) == all);
    return apr_bucket_immortal_create(buf, all, alloc);
}

/* Common to every version. */
static void fields_collect(proxy_exchange *x, fields_head *h)
{
    request_rec *r = x->r;

    h->r = r;
    h->most = apr_table_elts(r->headers_in)->nelts + 13;
    h->line = apr_palloc(r->pool, sizeof *h->line * (apr_size_t)h->most);
    h->connection = apr_table_get(r->headers_in, "Connection");
}

int proxy_request_lines(proxy_exchange *x, const proxy_line **lines, const char **host)
{
    request_rec *r = x->r;
    fields_head h = {0};

    fields_collect(x, &h);
    fields_of_client(x, &h);
    fields_of_ours(x, &h);
    if (x->body.over && (x->body.exists || h.length))
        fields_add(&h, "Content-Length", apr_psprintf(r->pool, "%" APR_OFF_T_FMT, x->body.read));
    else if (x->body.exists && h.length && !h.coding && r->input_filters == r->proto_input_filters)
        fields_add(&h, "Content-Length", h.length);
    if (h.te && ap_find_token(r->pool, h.te, "trailers"))
        fields_say(&h, "TE", "trailers");
    *host = fields_host(x);
    *lines = h.line;
    return h.n;
}

static brg_text fields_text(const fields_head *h, int from, const char *before, const char *behind)
{
    const apr_size_t before_len = strlen(before), behind_len = strlen(behind);
    char *text = apr_palloc(h->r->pool, before_len + h->size + behind_len), *p = text;

    p = fields_put(p, before, before_len);
    p = fields_put_lines(p, h->line + from, h->line + h->n);
    p = fields_put(p, behind, behind_len);
    return (brg_text){text, (apr_size_t)(p - text)};
}

void proxy_request_frame(proxy_exchange *x, proxy_frame *to)
{
    const proxy_server_settings *s = proxy_settings_of(x->r->server);
    fields_head h = {0};
    int before;

    fields_collect(x, &h);
    fields_add(&h, "Host", fields_host(x));
    to->before = fields_text(&h, 0, " HTTP/1.1\r\n", "");
    before = h.n;
    if (s->max_forwards >= 0)
        fields_add(&h, "Max-Forwards", apr_ltoa(x->r->pool, s->max_forwards));
    if (s->via == PROXY_VIA_ON || s->via == PROXY_VIA_FULL)
        fields_add(&h, "Via", proxy_via_value(x->r, s->via));
    to->ours = fields_text(&h, before, "", "");
    before = h.n;
    h.host = fields_client_host(x->r);
    h.seen_for = 1; /* each request has its own */
    fields_of_ours(x, &h);
    fields_of_connection(x, &h, 0);
    to->behind = fields_text(&h, before, "", "\r\n");
    to->adds_for = x->conf.add_fields;
}

apr_bucket *proxy_request_head(proxy_exchange *x)
{
    request_rec *r = x->r;
    const proxy_target *t = x->target;
    const int is_10 = apr_table_get(r->subprocess_env, "force-proxy-request-1.0") != NULL;
    const int absolute = t->remotes_n && t->scheme == PROXY_SCHEME_HTTP;
    fields_head h = {0};

    fields_collect(x, &h);
    fields_add(&h, "Host", fields_host(x));
    fields_of_remote(x, &h);
    fields_of_client(x, &h);
    fields_of_ours(x, &h);
    fields_of_body(x, &h, is_10);
    fields_of_connection(x, &h, is_10);
    return fields_write(&h, t->scheme == PROXY_SCHEME_CONNECT ? "CONNECT" : r->method,
                        absolute ? t->url : t->path, is_10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
}
