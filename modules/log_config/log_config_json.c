/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats that begin with "json:", and formats that are known by name.
 *
 * Items write text with the escapes of access logs (\", \\, \n, \xhh). In a JSON format an item's
 * text is turned into JSON at once: bytes that are UTF-8 stay as such, others become U+FFFD, and an
 * item without a value ("-") is null. So a line is valid JSON and valid UTF-8 whatever clients
 * send.
 */
#include "log_config_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/json.h"
#include <stdlib.h>

#define LOG_ISO "%{rfc3339}t"
#define LOG_SQUID                                                                          \
    "%{end:sec}t.%{end:msec_frac}t %{ms}T %a %{cache-result}e/%>s %O %m %{cache-url}e %u " \
    "%{cache-hierarchy}e %{Content-Type}o"

static const struct {
    const char *name, *format;
} log_presets[] = {
    {"combined", "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""},
    {"vhost_combined", "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""},
    {"json", "json:{\"time\":\"" LOG_ISO
             "\",\"host\":\"%v\",\"client\":\"%a\",\"user\":\"%u\",\"method\":\"%m\","
             "\"path\":\"%U\",\"query\":\"%q\",\"protocol\":\"%H\",\"status\":%>s,\"bytes\":%B,"
             "\"duration_us\":%D,\"referer\":\"%{Referer}i\",\"user_agent\":\"%{User-Agent}i\","
             "\"request_id\":\"%{X-Request-Id}i\",\"traceparent\":\"%{traceparent}i\"}"},
    {"ecs", "json:{\"@timestamp\":\"" LOG_ISO
            "\",\"ecs.version\":\"8.11.0\",\"event.dataset\":\"brigade.access\","
            "\"event.category\":[\"web\"],\"event.duration\":%{ns}T,\"client.ip\":\"%a\",\"user."
            "name\":\"%u\","
            "\"url.domain\":\"%v\",\"url.path\":\"%U\",\"http.request.method\":\"%m\",\"http."
            "version\":\"%{version}H\","
            "\"http.response.status_code\":%>s,\"http.response.body.bytes\":%B,"
            "\"http.request.referrer\":\"%{Referer}i\",\"user_agent.original\":\"%{User-Agent}i\","
            "\"http.request.id\":\"%{X-Request-Id}i\",\"labels.traceparent\":\"%{traceparent}i\"}"},
    {"squid", LOG_SQUID},
};

const char *log_preset(const char *name)
{
    if (!strcmp(name, "squid") && log_foreign_find("asnC")) /* ASTable */
        return LOG_SQUID " AS%{asn}C";
    for (apr_size_t i = 0; i < sizeof log_presets / sizeof *log_presets; i++)
        if (!strcmp(log_presets[i].name, name))
            return log_presets[i].format;
    return NULL;
}

/* ---- which items stand in quotes ---- */

static int json_is_literal(const log_item *item)
{
    return item->emit == log_emit_literal;
}

/* @return whether the text behind is in a string */
static int json_after(const log_item *literal, int in_string)
{
    for (apr_size_t i = 0; i < literal->arg_len; i++)
        if (literal->arg[i] == '\\' && in_string)
            i++;
        else if (literal->arg[i] == '"')
            in_string = !in_string;
    return in_string;
}

static int json_ends(const log_item *literal)
{
    return json_is_literal(literal) && literal->arg_len &&
           literal->arg[literal->arg_len - 1] == '"';
}

static int json_begins(const log_item *literal)
{
    return json_is_literal(literal) && literal->arg_len && *literal->arg == '"';
}

/* The quotes around a string that is one item become that item's, so that it can be null. */
void log_json_mark(apr_array_header_t *items)
{
    log_item *item = (log_item *)items->elts;
    int in_string = 0;

    for (int i = 0; i < items->nelts; i++) {
        if (json_is_literal(&item[i])) {
            in_string = json_after(&item[i], in_string);
        } else if (!in_string) {
            item[i].json = LOG_JSON_VALUE;
        } else if (i && i + 1 < items->nelts && json_ends(&item[i - 1]) &&
                   json_begins(&item[i + 1])) {
            item[i].json = LOG_JSON_STRING;
            item[i - 1].arg_len--;
            item[i + 1].arg++;
            item[i + 1].arg_len--;
            in_string = 0;
        } else {
            item[i].json = LOG_JSON_PART;
        }
    }
}

/* ---- texts of items ---- */

static int json_hex(char c)
{
    return apr_isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The next byte that was meant. */
static unsigned char json_byte(const char **at, const char *end)
{
    static const char names[] = "bnrtv", bytes[] = "\b\n\r\t\v";
    const char *s = *at, *name;

    if (*s != '\\' || end - s < 2) {
        *at = s + 1;
        return (unsigned char)*s;
    }
    if (s[1] == 'x' && end - s >= 4 && apr_isxdigit(s[2]) && apr_isxdigit(s[3])) {
        *at = s + 4;
        return (unsigned char)(json_hex(s[2]) << 4 | json_hex(s[3]));
    }
    *at = s + 2;
    name = strchr(names, s[1]);
    return name ? (unsigned char)bytes[name - names] : (unsigned char)s[1];
}

static void json_put(log_out *out, const char *s, apr_size_t len)
{
    const apr_size_t room = len * BRG_JSON_GROWTH;

    if (log_out_reserve(out, room))
        out->used += brg_json_escape(out->data + out->used, room, s, len);
}

static int json_is_plain(const char *s, apr_size_t len)
{
    for (apr_size_t i = 0; i < len; i++)
        if (s[i] < 0x20 || s[i] > 0x7e || s[i] == '"' || s[i] == '\\')
            return 0;
    return 1;
}

static void json_number(log_out *out, apr_size_t from)
{
    const char *s = out->data + from;
    const apr_size_t len = out->used - from;
    apr_size_t digits = 0;

    while (digits < len && apr_isdigit(s[digits]))
        digits++;
    if (len && digits == len && (len == 1 || *s != '0'))
        return;
    out->used = from;
    log_out_bytes(out, "null", 4);
}

void log_json_end(log_out *out, apr_size_t from, const log_item *item)
{
    const apr_size_t len = out->used > from ? out->used - from : 0;
    const char *at, *end;
    char *bytes;
    apr_size_t n = 0;

    if (!log_out_reserve(out, 1)) /* nor is there anything yet */
        return;
    if (item->json == LOG_JSON_VALUE ||
        (item->json == LOG_JSON_STRING && len == 1 && out->data[from] == '-')) {
        json_number(out, from);
        return;
    }
    if (item->json == LOG_JSON_PART && json_is_plain(out->data + from, len))
        return;
    if (!(bytes = malloc(len + 1))) {
        out->used = from;
        if (item->json == LOG_JSON_STRING)
            log_out_bytes(out, "null", 4);
        return;
    }
    for (at = out->data + from, end = at + len; at < end;)
        bytes[n++] = (char)json_byte(&at, end);
    BRG_ASSERT(n <= len);
    out->used = from;
    if (item->json == LOG_JSON_STRING)
        log_out_bytes(out, "\"", 1);
    json_put(out, bytes, n);
    if (item->json == LOG_JSON_STRING)
        log_out_bytes(out, "\"", 1);
    free(bytes);
}
