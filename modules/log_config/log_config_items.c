/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of the format language, each written straight into the line. What a client can choose
 * is escaped, so that it cannot end a line or a quoted field; addresses, numbers and times need
 * none.
 */
#include "log_config_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/decimal.h"
#include <unistd.h>

void log_out_bytes(log_out *out, const char *bytes, apr_size_t n)
{
    if (n && log_out_reserve(out, n)) {
        memcpy(out->data + out->used, bytes, n);
        out->used += n;
    }
}

void log_out_dash(log_out *out)
{
    log_out_bytes(out, "-", 1);
}

void log_out_number(log_out *out, apr_int64_t value)
{
    if (!log_out_reserve(out, 1 + BRG_DECIMAL_ROOM))
        return;
    if (value < 0)
        out->data[out->used++] = '-';
    out->used += brg_decimal_put(out->data + out->used,
                                 value < 0 ? -(apr_uint64_t)value : (apr_uint64_t)value);
}

void log_out_number_or_dash(log_out *out, apr_int64_t value)
{
    if (value)
        log_out_number(out, value);
    else
        log_out_dash(out);
}

void log_out_query(log_out *out, const char *args)
{
    if (!args)
        return;
    log_out_bytes(out, "?", 1);
    log_out_escaped(out, args);
}

void log_out_connection(log_out *out, const conn_rec *c, const server_rec *s)
{
    if (c->aborted)
        log_out_bytes(out, "X", 1);
    else if (c->keepalive == AP_CONN_KEEPALIVE &&
             (!s->keep_alive_max || s->keep_alive_max - c->keepalives > 0))
        log_out_bytes(out, "+", 1);
    else
        log_out_dash(out);
}

/* The second character of a two-character escape; 1: \xhh; 0: stands for itself. */
static const unsigned char log_escapes[256] = {
    [0 ... 7] = 1, ['\b'] = 'b',    ['\t'] = 't', ['\n'] = 'n',  ['\v'] = 'v',      ['\f'] = 1,
    ['\r'] = 'r',  [14 ... 31] = 1, ['"'] = '"',  ['\\'] = '\\', [127 ... 255] = 1,
};

static char *log_put_escaped(char *d, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char escape = log_escapes[c];

    if (!escape) {
        *d++ = (char)c;
        return d;
    }
    *d++ = '\\';
    if (escape != 1) {
        *d++ = (char)escape;
        return d;
    }
    *d++ = 'x';
    *d++ = hex[c >> 4];
    *d++ = hex[c & 15];
    return d;
}

#define LOG_STRIDE 16

typedef unsigned char log_stride __attribute__((vector_size(LOG_STRIDE)));

/* Copy LOG_STRIDE bytes; 0: one of them has to be escaped, and nothing is written. */
static int log_put_stride(char *d, const char *s)
{
    log_stride x, odd;
    uint64_t half[2];

    memcpy(&x, s, sizeof x);
    odd = (log_stride)((x < 0x20) | (x > 0x7e) | (x == '"') | (x == '\\'));
    memcpy(half, &odd, sizeof half);
    if (half[0] | half[1])
        return 0;
    memcpy(d, &x, sizeof x);
    return 1;
}

static char *log_put_slowly(char *d, const char *s, apr_size_t len)
{
    for (; len; len--)
        d = log_put_escaped(d, (unsigned char)*s++);
    return d;
}

/* Less than LOG_STRIDE bytes: from half of that on, as two pieces that may overlap. */
static char *log_put_short(char *d, const char *s, apr_size_t len)
{
    char both[LOG_STRIDE], copy[LOG_STRIDE];

    if (len < LOG_STRIDE / 2)
        return log_put_slowly(d, s, len);
    memcpy(both, s, LOG_STRIDE / 2);
    memcpy(both + LOG_STRIDE / 2, s + len - LOG_STRIDE / 2, LOG_STRIDE / 2);
    if (!log_put_stride(copy, both))
        return log_put_slowly(d, s, len);
    memcpy(d, both, LOG_STRIDE / 2);
    memcpy(d + len - LOG_STRIDE / 2, both + LOG_STRIDE / 2, LOG_STRIDE / 2);
    return d + len;
}

void log_out_escaped_n(log_out *out, const char *s, apr_size_t len)
{
    const char *end = s + len;
    char *d;

    if (!len || !log_out_reserve(out, 4 * len))
        return;
    d = out->data + out->used;
    if (len < LOG_STRIDE) {
        out->used = (apr_size_t)(log_put_short(d, s, len) - out->data);
        return;
    }
    for (; end - s >= LOG_STRIDE; s += LOG_STRIDE)
        d = log_put_stride(d, s) ? d + LOG_STRIDE : log_put_slowly(d, s, LOG_STRIDE);
    /* The rest with bytes before it, which are there already if all of them stand for themselves. */
    if (s < end)
        d = log_put_stride(d - (LOG_STRIDE - (end - s)), end - LOG_STRIDE)
                ? d + (end - s)
                : log_put_slowly(d, s, (apr_size_t)(end - s));
    out->used = (apr_size_t)(d - out->data);
}

void log_out_escaped(log_out *out, const char *s)
{
    if (s)
        log_out_escaped_n(out, s, strlen(s));
    else
        log_out_dash(out);
}

/* Text that no client can choose: it is not escaped. */
static void log_out_plain(log_out *out, const char *s)
{
    if (s)
        log_out_bytes(out, s, strlen(s));
    else
        log_out_dash(out);
}

#define LOG_EMIT(name) \
    static void name(log_out *out, request_rec *r, const log_item *item, log_entry *entry)
#define LOG_EMIT_TEXT(name, text)   \
    LOG_EMIT(name)                  \
    {                               \
        log_out_escaped(out, text); \
    }

void log_emit_literal(log_out *out, request_rec *r, const log_item *item, log_entry *entry)
{
    log_out_bytes(out, item->arg, item->arg_len);
}

void log_emit_foreign(log_out *out, request_rec *r, const log_item *item, log_entry *entry)
{
    log_out_plain(out, item->foreign(r, item->arg));
}

/* ---- the client's address ---- */

void log_out_client(log_out *out, const log_item *item, const char *ip, apr_time_t when)
{
    const brg_client_mask *mask =
        item->client == LOG_CLIENT_MASKED ? &item->mask : brg_client_mask_of_logs();

    if (item->client == LOG_CLIENT_PLAIN && !mask)
        log_out_plain(out, ip);
    else if (log_out_reserve(out, BRG_CLIENT_MASK_ROOM))
        out->used += item->client == LOG_CLIENT_SALTED
                         ? brg_client_salted(ip, when, out->data + out->used)
                         : brg_client_masked(mask, ip, out->data + out->used);
}

static const char *log_client_mask(apr_pool_t *p, log_item *item, const char *bits)
{
    const char *comma = strchr(bits, ',');

    if (!comma || !brg_client_mask_parse(apr_pstrmemdup(p, bits, (apr_size_t)(comma - bits)),
                                         comma + 1, &item->mask))
        return apr_pstrcat(p, "LogFormat: %{", item->arg,
                           "}a: mask= takes the bits to show of IPv4, a comma, and those of IPv6",
                           NULL);
    item->client = LOG_CLIENT_MASKED;
    return NULL;
}

/* What stands in braces: c, salt, mask=V4,V6, or two of them with a blank between. Others say nothing, as with Apache. */
const char *log_client_parse(apr_pool_t *p, log_item *item)
{
    const char *rest = item->arg, *word, *err = NULL;

    while (!err && *(word = ap_getword_white(p, &rest)))
        if (!strcmp(word, "c"))
            item->of_connection = 1;
        else if (!strcmp(word, "salt"))
            item->client = LOG_CLIENT_SALTED;
        else if (!strncmp(word, "mask=", 5))
            err = log_client_mask(p, item, word + 5);
    return err;
}

LOG_EMIT(log_emit_client_ip)
{
    log_out_client(out, item, item->of_connection ? r->connection->client_ip : r->useragent_ip,
                   r->request_time);
}

LOG_EMIT(log_emit_local_ip)
{
    log_out_plain(out, r->connection->local_ip);
}

/* A name would show what the mask hides. */
LOG_EMIT(log_emit_host)
{
    if (brg_client_mask_of_logs()) {
        log_out_client(out, item,
                       strcmp(item->arg, "c") ? r->useragent_ip : r->connection->client_ip,
                       r->request_time);
    } else if (strcmp(item->arg, "c") == 0) {
        log_out_escaped(out,
                        ap_get_remote_host(r->connection, r->per_dir_config, REMOTE_NAME, NULL));
    } else {
        log_out_escaped(out, ap_get_useragent_host(r, REMOTE_NAME, NULL));
    }
}

LOG_EMIT(log_emit_logname)
{
    log_out_escaped(out, ap_get_remote_logname(r));
}

LOG_EMIT(log_emit_user)
{
    if (r->user && !*r->user)
        log_out_bytes(out, "\"\"", 2);
    else
        log_out_escaped(out, r->user);
}

/* Filters count the body of an answer to HEAD, too, which is not sent. */
static apr_off_t log_body_sent(const request_rec *r)
{
    return r->sent_bodyct && !r->header_only ? r->bytes_sent : 0;
}

LOG_EMIT(log_emit_bytes)
{
    log_out_number(out, log_body_sent(r));
}

LOG_EMIT(log_emit_bytes_clf)
{
    log_out_number_or_dash(out, log_body_sent(r));
}

LOG_EMIT_TEXT(log_emit_filename, r->filename)
LOG_EMIT_TEXT(log_emit_uri, r->uri)
LOG_EMIT_TEXT(log_emit_method, r->method)
LOG_EMIT(log_emit_protocol)
{
    const char *protocol = r->protocol;

    log_out_escaped(out, protocol ? protocol + log_protocol_skips(protocol, strlen(protocol), item)
                                  : NULL);
}

LOG_EMIT_TEXT(log_emit_handler, r->handler)
LOG_EMIT(log_emit_query)
{
    log_out_query(out, r->args);
}

/* A password in the target does not belong in a log. */
LOG_EMIT(log_emit_request_line)
{
    if (r->parsed_uri.password) {
        log_out_escaped(out, apr_pstrcat(r->pool, r->method, " ",
                                         apr_uri_unparse(r->pool, &r->parsed_uri, 0),
                                         r->assbackwards ? NULL : " ", r->protocol, NULL));
    } else {
        log_out_escaped(out, r->the_request);
    }
}

LOG_EMIT(log_emit_status)
{
    if (r->status > 0)
        log_out_number(out, r->status);
    else
        log_out_dash(out);
}

LOG_EMIT(log_emit_port)
{
    if (!*item->arg || strcasecmp(item->arg, "canonical") == 0)
        log_out_number(out, r->server->port ? r->server->port : ap_default_port(r));
    else if (strcasecmp(item->arg, "remote") == 0)
        log_out_number(out, r->useragent_addr->port);
    else if (strcasecmp(item->arg, "local") == 0)
        log_out_number(out, r->connection->local_addr->port);
    else
        log_out_plain(out, item->arg);
}

LOG_EMIT(log_emit_pid)
{
    if (!*item->arg || strcmp(item->arg, "pid") == 0) {
        log_out_number(out, getpid());
    } else if (strcmp(item->arg, "tid") == 0 || strcmp(item->arg, "hextid") == 0) {
        apr_os_thread_t tid = apr_os_thread_current();

        log_out_plain(out, apr_psprintf(r->pool, *item->arg == 'h' ? "%pt" : "%pT", (void *)&tid));
    } else {
        log_out_plain(out, item->arg);
    }
}

LOG_EMIT_TEXT(log_emit_header_in, apr_table_get(r->headers_in, item->arg))
LOG_EMIT(log_emit_header_out)
{
    const char *value;

    if (r->content_type && strcasecmp(item->arg, "Content-type") == 0)
        value = ap_field_noparam(r->pool, r->content_type);
    else if (!(value = apr_table_get(r->headers_out, item->arg)))
        value = apr_table_get(r->err_headers_out, item->arg);
    log_out_escaped(out, value);
}

LOG_EMIT_TEXT(log_emit_trailer_in, apr_table_get(r->trailers_in, item->arg))
LOG_EMIT_TEXT(log_emit_trailer_out, apr_table_get(r->trailers_out, item->arg))
LOG_EMIT_TEXT(log_emit_note, apr_table_get(r->notes, item->arg))
LOG_EMIT_TEXT(log_emit_env, apr_table_get(r->subprocess_env, item->arg))
LOG_EMIT_TEXT(log_emit_server, r->server->server_hostname)

LOG_EMIT(log_emit_server_name)
{
    log_out_escaped(out, ap_get_server_name(r));
}

LOG_EMIT(log_emit_keepalives)
{
    log_out_number(out, r->connection->keepalives ? r->connection->keepalives - 1 : 0);
}

LOG_EMIT(log_emit_log_id)
{
    if (strcmp(item->arg, "c") == 0)
        log_out_plain(out, r->connection->log_id);
    else
        log_out_plain(out, r->log_id);
}

LOG_EMIT(log_emit_connection)
{
    log_out_connection(out, r->connection, r->server);
}

/* The name=value pair that @a pair begins with; @return its value, trimmed, if the name is @a name.
 */
static const char *log_cookie_match(apr_pool_t *p, const char *pair, apr_size_t len,
                                    const char *name, apr_size_t name_len)
{
    const char *end = pair + len, *equals = memchr(pair, '=', len), *value, *last;

    if (!equals)
        return NULL;
    while (pair < equals && apr_isspace(*pair))
        pair++;
    last = equals;
    while (last > pair && apr_isspace(last[-1]))
        last--;
    if (!name_len || (apr_size_t)(last - pair) != name_len ||
        strncasecmp(pair, name, name_len) != 0)
        return NULL;
    value = equals + 1;
    while (value < end && apr_isspace(*value))
        value++;
    while (end > value && apr_isspace(end[-1]))
        end--;
    return apr_pstrmemdup(p, value, (apr_size_t)(end - value));
}

LOG_EMIT(log_emit_cookie)
{
    const char *cookies = apr_table_get(r->headers_in, "Cookie"), *value = NULL;

    while (cookies && *cookies && !value) {
        apr_size_t len = strcspn(cookies, ";");

        value = log_cookie_match(r->pool, cookies, len, item->arg, item->arg_len);
        cookies += len + (cookies[len] == ';');
    }
    log_out_escaped(out, value);
}

static const struct {
    const char *tag;
    log_emit_fn *emit;
    int want_first;
} log_items[] = {
    {"a", log_emit_client_ip, 0},    {"A", log_emit_local_ip, 0},
    {"b", log_emit_bytes_clf, 0},    {"B", log_emit_bytes, 0},
    {"C", log_emit_cookie, 0},       {"e", log_emit_env, 0},
    {"f", log_emit_filename, 0},     {"h", log_emit_host, 0},
    {"H", log_emit_protocol, 0},     {"i", log_emit_header_in, 0},
    {"k", log_emit_keepalives, 0},   {"l", log_emit_logname, 0},
    {"L", log_emit_log_id, 1},       {"m", log_emit_method, 0},
    {"M", log_emit_memory, 0},       {"n", log_emit_note, 0},
    {"o", log_emit_header_out, 0},   {"p", log_emit_port, 0},
    {"P", log_emit_pid, 0},          {"q", log_emit_query, 0},
    {"r", log_emit_request_line, 1}, {"R", log_emit_handler, 1},
    {"s", log_emit_status, 1},       {"u", log_emit_user, 0},
    {"U", log_emit_uri, 1},          {"v", log_emit_server, 0},
    {"V", log_emit_server_name, 0},  {"X", log_emit_connection, 0},
    {"^ti", log_emit_trailer_in, 0}, {"^to", log_emit_trailer_out, 0},
    {"t", log_emit_time, 0},         {"T", log_emit_duration, 1},
    {"D", log_emit_duration_us, 1},
};

log_emit_fn *logconf_item_find(const char *tag, int *want_first)
{
    for (apr_size_t i = 0; i < sizeof(log_items) / sizeof(log_items[0]); i++) {
        if (strcmp(tag, log_items[i].tag) == 0) {
            *want_first = log_items[i].want_first;
            return log_items[i].emit;
        }
    }
    return NULL;
}
