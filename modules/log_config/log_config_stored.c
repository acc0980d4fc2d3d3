/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of the format language for answers from memory (brigade/stored_answer.h): each writes what
 * its namesake in log_config_items.c would write of the request_rec that is not made here. An item
 * without a namesake here lets its log take the way with a request_rec.
 */
#include "log_config_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "brigade/assert.h"
#include <unistd.h>

#define LOG_STORED(name)                                                             \
    static void name(log_out *out, const brg_stored_answer *a, const log_item *item, \
                     log_entry *entry)
#define LOG_STORED_TEXT(name, text) \
    LOG_STORED(name)                \
    {                               \
        log_out_escaped(out, text); \
    }

static void log_out_text(log_out *out, brg_text text)
{
    if (text.at)
        log_out_escaped_n(out, text.at, text.len);
    else
        log_out_dash(out);
}

static void log_out_plain_or_dash(log_out *out, const char *s)
{
    if (s)
        log_out_bytes(out, s, strlen(s));
    else
        log_out_dash(out);
}

void log_stored_literal(log_out *out, const brg_stored_answer *a, const log_item *item,
                        log_entry *entry)
{
    log_out_bytes(out, item->arg, item->arg_len);
}

void log_stored_foreign(log_out *out, const brg_stored_answer *a, const log_item *item,
                        log_entry *entry)
{
    if (log_out_reserve(out, BRG_STORED_ITEM_ROOM))
        out->used += item->foreign_stored(a, out->data + out->used);
}

/* No name is looked up: where HostnameLookups asks for it, phases are a worker's, and stored answers
 * are logged with a request_rec. */
LOG_STORED(log_stored_client_ip)
{
    log_out_client(out, item, a->client_ip, a->request_time);
}

LOG_STORED(log_stored_local_ip)
{
    log_out_plain_or_dash(out, a->connection->local_ip);
}

void log_stored_dash(log_out *out, const brg_stored_answer *a, const log_item *item,
                     log_entry *entry)
{
    log_out_dash(out);
}

LOG_STORED(log_stored_bytes)
{
    log_out_number(out, a->body_sent);
}

LOG_STORED(log_stored_bytes_clf)
{
    log_out_number_or_dash(out, a->body_sent);
}

LOG_STORED(log_stored_user)
{
    const char *user = brg_stored_user(a);

    if (user && !*user)
        log_out_bytes(out, "\"\"", 2);
    else
        log_out_escaped(out, user);
}

LOG_STORED_TEXT(log_stored_filename, a->filename)
LOG_STORED_TEXT(log_stored_uri, a->uri)
LOG_STORED(log_stored_method)
{
    log_out_text(out, a->method);
}

LOG_STORED(log_stored_protocol)
{
    brg_text protocol = a->protocol;
    const apr_size_t skipped = log_protocol_skips(protocol.at, protocol.len, item);

    protocol.at += skipped;
    protocol.len -= skipped;
    log_out_text(out, protocol);
}

LOG_STORED_TEXT(log_stored_handler, a->handler)
LOG_STORED(log_stored_query)
{
    log_out_query(out, a->args);
}

LOG_STORED(log_stored_request_line)
{
    if (a->request_line.at) {
        log_out_text(out, a->request_line);
        return;
    }
    log_out_text(out, a->method);
    log_out_bytes(out, " ", 1);
    log_out_text(out, a->target);
    log_out_bytes(out, " ", 1);
    log_out_text(out, a->protocol);
}

LOG_STORED(log_stored_status)
{
    log_out_number(out, a->status);
}

LOG_STORED(log_stored_port)
{
    log_out_number(out, a->server->port);
}

LOG_STORED(log_stored_pid)
{
    log_out_number(out, getpid());
}

LOG_STORED(log_stored_field)
{
    log_out_text(out, brg_stored_field(a, item->field));
}

/* Lines of one name make one value. */
LOG_STORED(log_stored_header_in)
{
    unsigned from = 0;
    brg_text value = brg_stored_request_field(a, item->arg, item->arg_len, &from);

    log_out_text(out, value);
    while (value.at && (value = brg_stored_request_field(a, item->arg, item->arg_len, &from)).at) {
        log_out_bytes(out, ", ", 2);
        log_out_text(out, value);
    }
}

LOG_STORED_TEXT(log_stored_header_out, brg_stored_response_field(a, item->arg))

/* As log_emit_header_out() shows it: without parameters. */
LOG_STORED(log_stored_content_type)
{
    const char *type = a->content_type;
    apr_size_t len;

    if (!type) {
        log_stored_header_out(out, a, item, entry);
        return;
    }
    len = strcspn(type, ";");
    while (type[len] && len && apr_isspace(type[len - 1]))
        len--;
    log_out_text(out, (brg_text){type, len});
}

LOG_STORED_TEXT(log_stored_note, brg_stored_note(a, item->arg))
LOG_STORED_TEXT(log_stored_env, brg_stored_env(a, item->arg))
LOG_STORED_TEXT(log_stored_server, a->server->server_hostname)
LOG_STORED(log_stored_keepalives)
{
    log_out_number(out, a->connection->keepalives ? a->connection->keepalives - 1 : 0);
}

LOG_STORED(log_stored_connection)
{
    log_out_connection(out, a->connection, a->server);
}

/* A request from memory has no id, but where a module gives it one, which then wants a request_rec. */
LOG_STORED(log_stored_log_id)
{
    log_out_plain_or_dash(out, strcmp(item->arg, "c") == 0 ? a->connection->log_id : NULL);
}

LOG_STORED(log_stored_time)
{
    log_out_time(out, item, a->request_time, entry);
}

LOG_STORED(log_stored_duration)
{
    log_out_duration(out, item, a->request_time, entry);
}

LOG_STORED(log_stored_duration_us)
{
    log_out_duration_us(out, a->request_time, entry);
}

enum { PLAIN, ANY_ARG };

static const struct {
    const char *tag;
    log_stored_fn *fn;
    int arg; /* PLAIN: only without one */
} log_stored_items[] = {
    {"a", log_stored_client_ip, ANY_ARG},
    {"A", log_stored_local_ip, PLAIN},
    {"b", log_stored_bytes_clf, ANY_ARG},
    {"B", log_stored_bytes, ANY_ARG},
    {"e", log_stored_env, ANY_ARG},
    {"f", log_stored_filename, ANY_ARG},
    {"h", log_stored_client_ip, PLAIN},
    {"H", log_stored_protocol, ANY_ARG},
    {"i", log_stored_header_in, ANY_ARG},
    {"k", log_stored_keepalives, ANY_ARG},
    {"l", log_stored_dash, ANY_ARG},
    {"L", log_stored_log_id, ANY_ARG},
    {"m", log_stored_method, ANY_ARG},
    {"n", log_stored_note, ANY_ARG},
    {"o", log_stored_header_out, ANY_ARG},
    {"p", log_stored_port, PLAIN},
    {"P", log_stored_pid, PLAIN},
    {"q", log_stored_query, ANY_ARG},
    {"r", log_stored_request_line, ANY_ARG},
    {"R", log_stored_handler, ANY_ARG},
    {"s", log_stored_status, ANY_ARG},
    {"u", log_stored_user, ANY_ARG},
    {"U", log_stored_uri, ANY_ARG},
    {"v", log_stored_server, ANY_ARG},
    {"X", log_stored_connection, ANY_ARG},
    {"t", log_stored_time, ANY_ARG},
    {"T", log_stored_duration, ANY_ARG},
    {"D", log_stored_duration_us, ANY_ARG},
};

static log_stored_fn *log_stored_of(const char *tag, const char *arg)
{
    if (!strcmp(tag, "o") && !strcasecmp(arg, "Content-Type"))
        return log_stored_content_type;
    for (apr_size_t i = 0; i < sizeof(log_stored_items) / sizeof(log_stored_items[0]); i++)
        if (!strcmp(tag, log_stored_items[i].tag))
            return log_stored_items[i].arg == ANY_ARG || !*arg ? log_stored_items[i].fn : NULL;
    return NULL;
}

/* What may show a field of the request. */
static void log_shows(apr_pool_t *p, const log_item *item, const char *tag)
{
    if (!strcmp(tag, "i"))
        brg_stored_log_shows(p, item->arg);
    else if (!strcmp(tag, "C"))
        brg_stored_log_shows(p, "Cookie");
}

void logconf_stored_find(apr_pool_t *p, log_item *item, const char *tag)
{
    log_shows(p, item, tag);
    item->stored = item->of_connection ? NULL : log_stored_of(tag, item->arg);
    if (item->stored != log_stored_header_in || !*item->arg)
        return;
    item->field = brg_stored_field_id(item->arg, strlen(item->arg));
    if (item->field)
        item->stored = log_stored_field;
}

log_needs log_format_needs(const apr_array_header_t *format)
{
    const log_item *item = (const log_item *)format->elts, *end = item + format->nelts;
    log_needs needs = LOG_NEEDS_NOTHING;

    for (; item < end; item++) {
        if (!item->stored)
            return LOG_NEEDS_RECORD;
        /* The default port is what a hook says of a request_rec. */
        if (item->stored == log_stored_port)
            needs = LOG_NEEDS_PORT;
    }
    return needs;
}

/* ---- the lines ---- */

int log_stored_ready(const brg_stored_answer *a)
{
    const log_server *server;

    return !log_logs_of(a->server, &server) || server->needs == LOG_NEEDS_NOTHING ||
           (server->needs == LOG_NEEDS_PORT && a->server->port);
}

static int log_stored_wanted(const brg_stored_answer *a, const char *variable)
{
    if (!variable)
        return 1;
    return *variable == '!' ? !brg_stored_env(a, variable + 1)
                            : brg_stored_env(a, variable) != NULL;
}

void log_stored_write(const brg_stored_answer *a)
{
    const log_server *server;
    const apr_array_header_t *logs = log_logs_of(a->server, &server);

    for (int i = 0; logs && i < logs->nelts; i++) {
        const log_config *log = &APR_ARRAY_IDX(logs, i, log_config);
        const log_plan *plan = log->format ? log->plan : server->default_plan;
        log_out *out;

        BRG_ASSERT(!log->condition);
        if (!log_stored_wanted(a, log->variable) || !log->handle || !plan ||
            !(out = log_line_begin()))
            continue;
        log_plan_emit(out, plan, a);
        log_line_end(log->handle, a->request_time);
    }
}
