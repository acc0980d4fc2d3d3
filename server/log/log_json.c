/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ErrorLogFormat json and ecs: each message as one object of JSON, valid whatever bytes it holds. Empty items
 * are left out. The message comes last and takes the rest of the room: a long one is cut, the line stays valid.
 */
#include "log_private.h"

#include "util_time.h"

#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/json.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#define JSON_FIELD_MOST 1024 /* bytes of a value that is not the message */
#define JSON_CODE_BYTES 7    /* "AH00124" */

/* The names of a line's members, by format. */
typedef struct json_names {
    const char *begin; /* of the line */
    const char *time, *level, *module, *pid, *tid, *source, *server, *client, *request_id,
        *connection_id, *trace, *method, *path, *referer, *error_code, *error, *code, *message;
} json_names;

static const json_names json_plain = {
    "{",       "time",       "level",      "module",        "pid",         "tid",    "source",
    "server",  "client",     "request_id", "connection_id", "traceparent", "method", "path",
    "referer", "error_code", "error",      "code",          "message"};

static const json_names json_ecs = {
    "{\"ecs.version\":\"8.11.0\",\"event.dataset\":\"brigade.error\",",
    "@timestamp",
    "log.level",
    "log.logger",
    "process.pid",
    "process.thread.id",
    "log.origin.file.name",
    "url.domain",
    "client.address",
    "http.request.id",
    "labels.connection_id",
    "labels.traceparent",
    "http.request.method",
    "url.path",
    "http.request.referrer",
    "error.code",
    "error.message",
    "event.code",
    "message"};

/* Such a format has no items; it is known by its address. */
static const apr_array_header_t json_formats[2];
static const char *const json_format_names[2] = {"json", "ecs"};

const apr_array_header_t *log_json_format(const char *name)
{
    for (int i = 0; i < 2; i++)
        if (!strcmp(name, json_format_names[i]))
            return &json_formats[i];
    return NULL;
}

int log_json_is(const apr_array_header_t *format)
{
    return format == &json_formats[0] || format == &json_formats[1];
}

const apr_array_header_t *log_json_of(const server_rec *s)
{
    const core_server_config *conf =
        s->module_config ? ap_get_core_module_config(s->module_config) : NULL;

    return conf && log_json_is(conf->error_log_format) ? conf->error_log_format : NULL;
}

typedef struct json_line {
    char *at, *end; /* end: with room behind it for the end of a value and of the line */
} json_line;

static void json_raw(json_line *l, const char *s, apr_size_t len)
{
    BRG_ASSERT(len <= (apr_size_t)(l->end - l->at));
    memcpy(l->at, s, len);
    l->at += len;
}

/* "name": and a comma before it. @return 0 if there is no room for it and a value */
static int json_name(json_line *l, const char *name)
{
    const apr_size_t len = strlen(name);

    if ((apr_size_t)(l->end - l->at) < len + 28) /* a number, or the quotes of a text */
        return 0;
    if (l->at[-1] != '{' && l->at[-1] != ',')
        json_raw(l, ",", 1);
    json_raw(l, "\"", 1);
    json_raw(l, name, len);
    json_raw(l, "\":", 2);
    return 1;
}

static void json_text(json_line *l, const char *name, const char *s, apr_size_t most)
{
    apr_size_t room;

    if (!s || !*s || !json_name(l, name))
        return;
    json_raw(l, "\"", 1);
    room = (apr_size_t)(l->end - l->at) - 1;
    l->at += brg_json_escape(l->at, room < most ? room : most, s, strlen(s));
    json_raw(l, "\"", 1);
}

static void json_number(json_line *l, const char *name, long n)
{
    char text[24];

    if (json_name(l, name))
        json_raw(l, text, (apr_size_t)apr_snprintf(text, sizeof text, "%ld", n));
}

/* The value of an item of ErrorLogFormat. */
static void json_item(json_line *l, const char *name, const ap_errorlog_info *info, char tag,
                      const char *arg)
{
    const ap_errorlog_handler *item = log_item_find(tag);
    char text[JSON_FIELD_MOST];
    int n = item ? item->func(info, arg, text, sizeof text) : 0;

    BRG_ASSERT(n >= 0 && n < (int)sizeof text);
    text[n] = '\0';
    json_text(l, name, text, JSON_FIELD_MOST);
}

static void json_time(json_line *l, const char *name)
{
    const apr_time_t now = apr_time_now();
    char date[64], text[96];
    apr_time_exp_t t;
    apr_size_t len;
    int offset;

    ap_explode_recent_localtime(&t, now);
    apr_strftime(date, &len, sizeof date, "%Y-%m-%dT%H:%M:%S", &t);
    offset = t.tm_gmtoff / 60;
    apr_snprintf(text, sizeof text, "%s.%06d%c%02d:%02d", date, (int)apr_time_usec(now),
                 offset < 0 ? '-' : '+', (offset < 0 ? -offset : offset) / 60,
                 (offset < 0 ? -offset : offset) % 60);
    json_text(l, name, text, sizeof text);
}

static void json_request(json_line *l, const json_names *n, const ap_errorlog_info *info)
{
    const request_rec *r = info->r;

    json_item(l, n->client, info, 'a', NULL);
    if (info->c)
        json_text(l, n->connection_id, info->c->log_id, JSON_FIELD_MOST);
    if (!r)
        return;
    if (info->rmain)
        json_text(l, n->request_id, info->rmain->log_id, JSON_FIELD_MOST);
    json_text(l, n->method, r->method, JSON_FIELD_MOST);
    json_text(l, n->path, r->uri, JSON_FIELD_MOST);
    if (!r->headers_in)
        return;
    json_text(l, n->trace, apr_table_get(r->headers_in, "traceparent"), JSON_FIELD_MOST);
    json_text(l, n->referer, apr_table_get(r->headers_in, "Referer"), JSON_FIELD_MOST);
}

static void json_error(json_line *l, const json_names *n, apr_status_t status)
{
    char text[256];

    if (!status)
        return;
    json_number(l, n->error_code, status);
    json_text(l, n->error, apr_strerror(status, text, sizeof text), sizeof text);
}

/* The number that begins most messages of Apache's, as a field of its own. */
static void json_message(json_line *l, const json_names *n, const char *message)
{
    char code[JSON_CODE_BYTES + 1];
    int digits = 2;

    if (message[0] == 'A' && message[1] == 'H') {
        while (digits < JSON_CODE_BYTES && isdigit((unsigned char)message[digits]))
            digits++;
        if (digits == JSON_CODE_BYTES && message[digits] == ':' && message[digits + 1] == ' ') {
            apr_cpystrn(code, message, sizeof code);
            json_text(l, n->code, code, sizeof code);
            message += JSON_CODE_BYTES + 2;
        }
    }
    json_text(l, n->message, message, LOG_LINE_BYTES);
}

int log_json_line(const apr_array_header_t *format, const ap_errorlog_info *info,
                  const char *message, char *buf, int buflen)
{
    const json_names *n = format == &json_formats[1] ? &json_ecs : &json_plain;
    json_line l = {buf, buf + buflen - 2};

    BRG_ASSERT(log_json_is(format) && buflen > LOG_LINE_BYTES / 2);
    json_raw(&l, n->begin, strlen(n->begin));
    json_time(&l, n->time);
    json_item(&l, n->level, info, 'l', NULL);
    json_item(&l, n->module, info, 'm', NULL);
    json_number(&l, n->pid, log_process());
    json_number(&l, n->tid, log_thread());
    if ((info->level & APLOG_LEVELMASK) >= APLOG_DEBUG)
        json_item(&l, n->source, info, 'F', NULL);
    json_item(&l, n->server, info, 'v', NULL);
    json_request(&l, n, info);
    json_error(&l, n, info->status);
    json_message(&l, n, message);
    *l.at++ = '}';
    *l.at = '\0';
    return (int)(l.at - buf);
}
