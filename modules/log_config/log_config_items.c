/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of the format language, each written straight into the line. Text that a client can
 * choose is escaped, so that it cannot end a line or a quoted field; addresses, numbers and times
 * need none.
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

/* A number; 0 is a dash. */
static void log_out_number_or_dash(log_out *out, apr_int64_t value)
{
    if (value)
        log_out_number(out, value);
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

static void log_out_escaped(log_out *out, const char *s)
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
    static void name(log_out *out, const brg_transaction *t, const log_item *item, log_entry *entry)
#define LOG_EMIT_TEXT(name, text)   \
    LOG_EMIT(name)                  \
    {                               \
        log_out_escaped(out, text); \
    }

void log_emit_literal(log_out *out, const brg_transaction *t, const log_item *item,
                      log_entry *entry)
{
    log_out_bytes(out, item->arg, item->arg_len);
}

void log_emit_foreign(log_out *out, const brg_transaction *t, const log_item *item,
                      log_entry *entry)
{
    if (t->r)
        log_out_plain(out, item->foreign(t->r, item->arg));
    else if (log_out_reserve(out, BRG_TRANSACTION_ITEM_ROOM))
        out->used += item->foreign_stored(t, out->data + out->used);
}

/* ---- the client's address ---- */

/* %a and its siblings: the address @a ip as the item, or else LogMaskClient, wants it shown at @a when. */
static void log_out_client(log_out *out, const log_item *item, const char *ip, apr_time_t when)
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

/* The text in braces: c, salt, mask=V4,V6, or two of them with a blank between. Others say nothing,
 * as with Apache. */
const char *log_client_parse(apr_pool_t *p, log_item *item)
{
    const char *rest = item->arg, *word, *err = NULL;

    while (!err && *(word = ap_getword_white(p, &rest)))
        if (!strcmp(word, "c")) {
            item->of_connection = 1;
            item->needs = LOG_NEEDS_RECORD;
        } else if (!strcmp(word, "salt"))
            item->client = LOG_CLIENT_SALTED;
        else if (!strncmp(word, "mask=", 5))
            err = log_client_mask(p, item, word + 5);
    return err;
}

LOG_EMIT(log_emit_client_ip)
{
    log_out_client(out, item, item->of_connection ? t->connection->client_ip : t->client_ip,
                   t->request_time);
}

LOG_EMIT(log_emit_local_ip)
{
    log_out_plain(out, t->connection->local_ip);
}

/* A name would reveal the masked address. Without a request_rec none is looked up: where
 * HostnameLookups asks for one, phases are a worker's. */
LOG_EMIT(log_emit_host)
{
    int of_connection;

    if (!t->r) {
        log_out_client(out, item, t->client_ip, t->request_time);
        return;
    }
    of_connection = strcmp(item->arg, "c") == 0;
    if (brg_client_mask_of_logs())
        log_out_client(out, item, of_connection ? t->connection->client_ip : t->client_ip,
                       t->request_time);
    else if (of_connection)
        log_out_escaped(out,
                        ap_get_remote_host(t->connection, t->r->per_dir_config, REMOTE_NAME, NULL));
    else
        log_out_escaped(out, ap_get_useragent_host(t->r, REMOTE_NAME, NULL));
}

void log_emit_logname(log_out *out, const brg_transaction *t, const log_item *item,
                      log_entry *entry)
{
    log_out_escaped(out, t->r ? ap_get_remote_logname(t->r) : NULL);
}

LOG_EMIT(log_emit_user)
{
    const char *user = brg_transaction_user(t);

    if (user && !*user)
        log_out_bytes(out, "\"\"", 2);
    else
        log_out_escaped(out, user);
}

LOG_EMIT(log_emit_bytes)
{
    log_out_number(out, t->body_sent);
}

LOG_EMIT(log_emit_bytes_clf)
{
    log_out_number_or_dash(out, t->body_sent);
}

static void log_out_text(log_out *out, brg_text text)
{
    if (text.at)
        log_out_escaped_n(out, text.at, text.len);
    else
        log_out_dash(out);
}

LOG_EMIT_TEXT(log_emit_filename, t->filename)
LOG_EMIT_TEXT(log_emit_uri, t->uri)
LOG_EMIT(log_emit_method)
{
    log_out_text(out, t->method);
}

/* %{version}H is the number alone. */
LOG_EMIT(log_emit_protocol)
{
    brg_text protocol = t->protocol;

    if (protocol.len > 5 && !strcmp(item->arg, "version") && !strncmp(protocol.at, "HTTP/", 5)) {
        protocol.at += 5;
        protocol.len -= 5;
    }
    log_out_text(out, protocol);
}

LOG_EMIT_TEXT(log_emit_handler, t->handler)
LOG_EMIT(log_emit_query)
{
    if (!t->args)
        return;
    log_out_bytes(out, "?", 1);
    log_out_escaped(out, t->args);
}

/* A password in the target does not belong in a log. */
static void log_out_without_password(log_out *out, const request_rec *r)
{
    log_out_escaped(out, apr_pstrcat(r->pool, r->method, " ",
                                     apr_uri_unparse(r->pool, &r->parsed_uri, 0),
                                     r->assbackwards ? NULL : " ", r->protocol, NULL));
}

LOG_EMIT(log_emit_request_line)
{
    if (t->r && t->r->parsed_uri.password) {
        log_out_without_password(out, t->r);
    } else if (t->r || t->request_line.at) {
        log_out_text(out, t->request_line);
    } else {
        log_out_text(out, t->method);
        log_out_bytes(out, " ", 1);
        log_out_text(out, t->target);
        log_out_bytes(out, " ", 1);
        log_out_text(out, t->protocol);
    }
}

LOG_EMIT(log_emit_status)
{
    if (t->status > 0)
        log_out_number(out, t->status);
    else
        log_out_dash(out);
}

/* A hook sets the default port by a request_rec. */
LOG_EMIT(log_emit_port)
{
    if (!*item->arg || strcasecmp(item->arg, "canonical") == 0)
        log_out_number(out, t->server->port ? t->server->port : ap_default_port(t->r));
    else if (strcasecmp(item->arg, "remote") == 0)
        log_out_number(out, t->r->useragent_addr->port);
    else if (strcasecmp(item->arg, "local") == 0)
        log_out_number(out, t->connection->local_addr->port);
    else
        log_out_plain(out, item->arg);
}

LOG_EMIT(log_emit_pid)
{
    if (!*item->arg || strcmp(item->arg, "pid") == 0) {
        log_out_number(out, getpid());
    } else if (strcmp(item->arg, "tid") == 0 || strcmp(item->arg, "hextid") == 0) {
        apr_os_thread_t tid = apr_os_thread_current();

        log_out_plain(out,
                      apr_psprintf(t->r->pool, *item->arg == 'h' ? "%pt" : "%pT", (void *)&tid));
    } else {
        log_out_plain(out, item->arg);
    }
}

/* Lines of one name make one value. */
LOG_EMIT(log_emit_header_in)
{
    unsigned from = 0;
    brg_text value = brg_transaction_request_field(t, item->arg, item->arg_len, &from);

    log_out_text(out, value);
    while (value.at &&
           (value = brg_transaction_request_field(t, item->arg, item->arg_len, &from)).at) {
        log_out_bytes(out, ", ", 2);
        log_out_text(out, value);
    }
}

/* As log_emit_header_in(), of a field that heads know by a number. */
LOG_EMIT(log_emit_known_header_in)
{
    if (t->r)
        log_out_escaped(out, apr_table_get(t->r->headers_in, item->arg));
    else
        log_out_text(out, brg_transaction_field(t, item->field));
}

LOG_EMIT_TEXT(log_emit_header_out, brg_transaction_response_field(t, item->arg))

/* Without parameters. */
LOG_EMIT(log_emit_content_type)
{
    const char *type = t->content_type;
    apr_size_t len;

    if (!type) {
        log_emit_header_out(out, t, item, entry);
        return;
    }
    len = strcspn(type, ";");
    while (type[len] && len && apr_isspace(type[len - 1]))
        len--;
    log_out_text(out, (brg_text){type, len});
}

LOG_EMIT_TEXT(log_emit_trailer_in, apr_table_get(t->r->trailers_in, item->arg))
LOG_EMIT_TEXT(log_emit_trailer_out, apr_table_get(t->r->trailers_out, item->arg))
LOG_EMIT_TEXT(log_emit_note, brg_transaction_note(t, item->arg))
LOG_EMIT_TEXT(log_emit_env, brg_transaction_env(t, item->arg))
LOG_EMIT_TEXT(log_emit_server, t->server->server_hostname)
LOG_EMIT_TEXT(log_emit_server_name, ap_get_server_name(t->r))

LOG_EMIT(log_emit_keepalives)
{
    log_out_number(out, t->connection->keepalives ? t->connection->keepalives - 1 : 0);
}

LOG_EMIT(log_emit_log_id)
{
    log_out_plain(out,
                  strcmp(item->arg, "c") == 0 ? t->connection->log_id : brg_transaction_log_id(t));
}

LOG_EMIT(log_emit_connection)
{
    const conn_rec *c = t->connection;
    const int most = t->server->keep_alive_max;

    if (c->aborted)
        log_out_bytes(out, "X", 1);
    else if (c->keepalive == AP_CONN_KEEPALIVE && (!most || most - c->keepalives > 0))
        log_out_bytes(out, "+", 1);
    else
        log_out_dash(out);
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
    const char *cookies = apr_table_get(t->r->headers_in, "Cookie"), *value = NULL;

    while (cookies && *cookies && !value) {
        apr_size_t len = strcspn(cookies, ";");

        value = log_cookie_match(t->r->pool, cookies, len, item->arg, item->arg_len);
        cookies += len + (cookies[len] == ';');
    }
    log_out_escaped(out, value);
}

/* The needs of an item, by the text in its braces. */
enum { ANY_ARG = LOG_NEEDS_NOTHING, RECORD = LOG_NEEDS_RECORD, PLAIN = LOG_NEEDS_NOTHING + 1 };

static const struct {
    const char *tag;
    log_emit_fn *emit;
    int want_first;
    int needs; /* ANY_ARG: no request_rec; PLAIN: none without an argument */
} log_items[] = {
    {"a", log_emit_client_ip, 0, ANY_ARG},
    {"A", log_emit_local_ip, 0, PLAIN},
    {"b", log_emit_bytes_clf, 0, ANY_ARG},
    {"B", log_emit_bytes, 0, ANY_ARG},
    {"C", log_emit_cookie, 0, RECORD},
    {"e", log_emit_env, 0, ANY_ARG},
    {"f", log_emit_filename, 0, ANY_ARG},
    {"h", log_emit_host, 0, PLAIN},
    {"H", log_emit_protocol, 0, ANY_ARG},
    {"i", log_emit_header_in, 0, ANY_ARG},
    {"k", log_emit_keepalives, 0, ANY_ARG},
    {"l", log_emit_logname, 0, ANY_ARG},
    {"L", log_emit_log_id, 1, ANY_ARG},
    {"m", log_emit_method, 0, ANY_ARG},
    {"M", log_emit_memory, 0, RECORD},
    {"n", log_emit_note, 0, ANY_ARG},
    {"o", log_emit_header_out, 0, ANY_ARG},
    {"p", log_emit_port, 0, PLAIN},
    {"P", log_emit_pid, 0, PLAIN},
    {"q", log_emit_query, 0, ANY_ARG},
    {"r", log_emit_request_line, 1, ANY_ARG},
    {"R", log_emit_handler, 1, ANY_ARG},
    {"s", log_emit_status, 1, ANY_ARG},
    {"u", log_emit_user, 0, ANY_ARG},
    {"U", log_emit_uri, 1, ANY_ARG},
    {"v", log_emit_server, 0, ANY_ARG},
    {"V", log_emit_server_name, 0, RECORD},
    {"X", log_emit_connection, 0, ANY_ARG},
    {"^ti", log_emit_trailer_in, 0, RECORD},
    {"^to", log_emit_trailer_out, 0, RECORD},
    {"t", log_emit_time, 0, ANY_ARG},
    {"T", log_emit_duration, 1, ANY_ARG},
    {"D", log_emit_duration_us, 1, ANY_ARG},
};

/* Items that may show a field of the request. */
static void log_item_shows(apr_pool_t *p, const log_item *item)
{
    if (item->emit == log_emit_header_in)
        brg_transaction_log_shows(p, item->arg);
    else if (item->emit == log_emit_cookie)
        brg_transaction_log_shows(p, "Cookie");
}

/* A shorter function for the same item with these arguments. */
static void log_item_shorten(log_item *item)
{
    if (item->emit == log_emit_header_out && !strcasecmp(item->arg, "Content-Type"))
        item->emit = log_emit_content_type;
    if (item->emit != log_emit_header_in || !*item->arg)
        return;
    item->field = brg_transaction_field_id(item->arg, strlen(item->arg));
    if (item->field)
        item->emit = log_emit_known_header_in;
}

int logconf_item_find(apr_pool_t *p, log_item *item, const char *tag)
{
    for (apr_size_t i = 0; i < sizeof(log_items) / sizeof(log_items[0]); i++) {
        if (strcmp(tag, log_items[i].tag) != 0)
            continue;
        item->emit = log_items[i].emit;
        item->want_first = log_items[i].want_first;
        if (log_items[i].needs == PLAIN)
            item->needs = *item->arg                    ? LOG_NEEDS_RECORD
                          : item->emit == log_emit_port ? LOG_NEEDS_PORT
                                                        : LOG_NEEDS_NOTHING;
        else
            item->needs = (log_needs)log_items[i].needs;
        log_item_shows(p, item);
        log_item_shorten(item);
        return 1;
    }
    return 0;
}
