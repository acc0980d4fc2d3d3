/* SPDX-License-Identifier: Apache-2.0 */
/* A script's head as fields, for sinks without a request_rec (proxy_script.h). It becomes what ap_scan_script_header_err_core() and the
 * tables of a request_rec would make of it, in their order. What these would do more with has to have a request. */
#include "proxy_script.h"
#include "http_field_traits.h"
#include "http_fields.h"
#include "http_scan.h"
#include "http_text.h"
#include "util_script.h"
#include "apr_date.h"
#include "brigade/assert.h"
#include <string.h>

#define FIELDS_PLAIN 64 /* fields of a head, by kind */
#define FIELDS_COOKIES 16
#define FIELDS_OUT 4
#define FIELDS_LINE 8000 /* bytes of a line: longer ones are cut where the tables are filled */

/* Fields by the table that they would lie in: err_headers_out, that with its cookies, headers_out. */
typedef struct script_fields {
    http_field plain[FIELDS_PLAIN], cookie[FIELDS_COOKIES], out[FIELDS_OUT];
    int plain_n, cookies_n, out_n;
    uint64_t seen; /* names of plain ones */
    http_field type;
    apr_time_t now;
    char *room; /* for what is not sent as it came */
    size_t room_left;
} script_fields;

/* @return NULL: there is no room */
static char *fields_room(script_fields *all, size_t len)
{
    char *at = all->room;

    if (len > all->room_left)
        return NULL;
    all->room += len;
    all->room_left -= len;
    return at;
}

/* Several of one name become the first of them. */
static int fields_join(script_fields *all, http_field *first, const http_field *f)
{
    const size_t len = first->value_len + strlen(", ") + f->value_len;
    char *value = fields_room(all, len), *to;

    if (!value)
        return 0;
    to = mempcpy(value, first->value, first->value_len);
    to = mempcpy(to, ", ", strlen(", "));
    memcpy(to, f->value, f->value_len);
    first->value = value;
    first->value_len = (uint32_t)len;
    return 1;
}

static int fields_add_plain(script_fields *all, const http_field *f)
{
    const uint64_t bit = (uint64_t)1 << http_name_bit(f->name, f->name_len);

    for (int i = 0; all->seen & bit && i < all->plain_n; i++)
        if (http_field_is(f, all->plain[i].name, all->plain[i].name_len))
            return fields_join(all, &all->plain[i], f);
    if (all->plain_n == FIELDS_PLAIN)
        return 0;
    all->seen |= bit;
    all->plain[all->plain_n++] = *f;
    return 1;
}

static int fields_add_cookie(script_fields *all, const http_field *f)
{
    if (all->cookies_n == FIELDS_COOKIES)
        return 0;
    all->cookie[all->cookies_n++] = *f;
    return 1;
}

/* The last of a name would count. */
static int fields_add_out(script_fields *all, const http_field *f)
{
    for (int i = 0; i < all->out_n; i++)
        if (http_field_is(f, all->out[i].name, all->out[i].name_len))
            return 0;
    BRG_ASSERT(all->out_n < FIELDS_OUT);
    all->out[all->out_n++] = *f;
    return 1;
}

/* A date that would be written anew is taken if it stands so already. */
static int fields_date_stays(const http_field *f, apr_time_t now)
{
    char value[HTTP_DATE_LEN + 1], anew[APR_RFC822_DATE_LEN];
    apr_time_t when;

    if (f->value_len != HTTP_DATE_LEN)
        return 0;
    memcpy(value, f->value, HTTP_DATE_LEN);
    value[HTTP_DATE_LEN] = '\0';
    when = apr_date_parse_http(value);
    if (when == APR_DATE_BAD || when > now)
        return 0;
    http_put_date(anew, when);
    return !strcmp(value, anew);
}

/* Its status line is the value. */
static int fields_set_status(http_head *head, const http_field *f)
{
    const char *v = f->value;

    if (head->code || f->value_len < sizeof "200 " || !http_is(v[0], HTTP_C_DIGIT) ||
        !http_is(v[1], HTTP_C_DIGIT) || !http_is(v[2], HTTP_C_DIGIT) || v[3] != ' ')
        return 0;
    head->line = v;
    head->line_len = f->value_len;
    head->code = (uint16_t)((v[0] - '0') * 100 + (v[1] - '0') * 10 + (v[2] - '0'));
    return 1;
}

/* In lower case, up to its parameters. */
static int fields_set_type(script_fields *all, const http_field *f)
{
    uint32_t len = f->value_len;
    char *room;

    while (len && (f->value[len - 1] == ' ' || f->value[len - 1] == '\t'))
        len--;
    if (all->type.name || !len || !(room = fields_room(all, len + 1)))
        return 0;
    memcpy(room, f->value, len);
    room[len] = '\0';
    ap_content_type_tolower(room);
    all->type = *f;
    all->type.value = room;
    all->type.value_len = len;
    return 1;
}

/* Its length is told by the body that comes; how it is framed is not for it to say. */
static int fields_drops(const http_field *f)
{
    return HTTP_FIELD_IS(f, "Content-Length") || HTTP_FIELD_IS(f, "Transfer-Encoding");
}

static int fields_take(script_fields *all, http_head *head, const http_field *f)
{
    if (HTTP_FIELD_IS(f, "Status"))
        return fields_set_status(head, f);
    if (HTTP_FIELD_IS(f, "Content-Type"))
        return fields_set_type(all, f);
    if (HTTP_FIELD_IS(f, "Set-Cookie"))
        return fields_add_cookie(all, f);
    if (HTTP_FIELD_IS(f, "Last-Modified"))
        return fields_date_stays(f, all->now) && fields_add_out(all, f);
    if (HTTP_FIELD_IS(f, "Location") || HTTP_FIELD_IS(f, "Content-Range") ||
        HTTP_FIELD_IS(f, "ETag"))
        return fields_add_out(all, f);
    return fields_drops(f) || (!http_field_traits_of(f->name, f->name_len, HTTP_FIELD_HOP_BY_HOP) &&
                               fields_add_plain(all, f));
}

/* @return 0: it is no field, or would be refused later */
static int fields_line(http_field *f, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len), *end = line + len, *value;

    if (!colon)
        return 0;
    for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++) {
    }
    *f = (http_field){.name = line,
                      .value = value,
                      .name_len = (uint32_t)(colon - line),
                      .value_len = (uint32_t)(end - value)};
    return http_is_token(f->name, f->name_len) && http_is_value(f->value, f->value_len);
}

/* It may name a path of this server, whose answer is sent in its place (exchange_local.c). */
static int fields_lead_here(const script_fields *all, int code)
{
    for (int i = 0; code == HTTP_OK && i < all->out_n; i++)
        if (HTTP_FIELD_IS(&all->out[i], "Location") && all->out[i].value_len &&
            all->out[i].value[0] == '/')
            return 1;
    return 0;
}

static void fields_put(http_head *head, const http_field *from, int n)
{
    BRG_ASSERT(head->n_fields + n <= HTTP_HEAD_OWN_FIELDS);
    memcpy(head->own + head->n_fields, from, (size_t)n * sizeof *from);
    head->n_fields = (uint16_t)(head->n_fields + n);
}

int script_head_parse(http_head *head, const char *text, size_t len, apr_time_t now, char *room)
{
    script_fields all;
    const char *end = text + len;
    http_field f;

    BRG_ASSERT(len && now > 0);
    all.plain_n = all.cookies_n = all.out_n = 0;
    all.seen = 0;
    all.type.name = NULL;
    all.now = now;
    all.room = room;
    all.room_left = SCRIPT_HEAD_ROOM;
    head->line = "200 OK";
    head->line_len = sizeof "200 OK" - 1;
    head->code = head->n_fields = 0;
    head->repeated = 0;
    head->field = head->own;
    head->head_len = (uint32_t)len;
    memset(head->known, -1, sizeof head->known);
    while (text < end && *text != '\n' && !(*text == '\r' && text + 1 < end && text[1] == '\n')) {
        const char *lf = memchr(text, '\n', (size_t)(end - text));
        size_t n = lf ? (size_t)(lf - text) : 0;

        n -= n && text[n - 1] == '\r';
        if (!n || n > FIELDS_LINE || !fields_line(&f, text, n) || !fields_take(&all, head, &f))
            return 0;
        text = lf + 1;
    }
    fields_put(head, all.plain, all.plain_n);
    fields_put(head, all.cookie, all.cookies_n);
    fields_put(head, all.out, all.out_n);
    if (all.type.name)
        fields_put(head, &all.type, 1);
    if (!head->code)
        head->code = HTTP_OK;
    return head->n_fields > 0 && !fields_lead_here(&all, head->code);
}
