/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of stored responses as field blocks: made once for an entry, from the static table and literals that enter
 * no table, so that they are right on each connection. Date stands in them as it is, and is written over. */
#include "streams.h"
#include "http_answer.h"
#include "http_field_traits.h"
#include "http_text.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CODEC_NAME_MOST 256
#define CODEC_PART_ROOM (STREAM_LINE_ROOM(14, 24) + STREAM_LINE_ROOM(13, HTTP_PART_ROOM))

static size_t codec_size(const http_answer *a)
{
    size_t size = STREAM_LINE_ROOM(7, 3) + STREAM_LINE_ROOM(4, HTTP_DATE_LEN) +
                  STREAM_LINE_ROOM(6, strlen(a->server)) +
                  (a->date ? STREAM_LINE_ROOM(4, strlen(a->date)) : 0);

    for (int i = 0; i < a->n_fields; i++)
        size += STREAM_LINE_ROOM(a->field[i].name_len, a->field[i].value_len);
    return size;
}

/* The value stands as it is, so that it can be written over. */
static uint8_t *codec_put_dated(const stream_protocol *protocol, uint8_t *p, const char *name,
                                size_t len, const char *value, uint32_t *off,
                                const http_stored_head *out)
{
    p = protocol->put_plain(p, name, len, value, HTTP_DATE_LEN);
    *off = (uint32_t)(p - (uint8_t *)out->text) - HTTP_DATE_LEN;
    return p;
}

/* NULL: it cannot be said. */
static uint8_t *codec_put_field(const stream_protocol *protocol, uint8_t *p, const http_answer *a,
                                const http_answer_field *f, http_stored_head *out)
{
    char name[CODEC_NAME_MOST];
    const size_t len = f->name_len;

    if (len && http_field_traits_of(f->name, len, HTTP_FIELD_OF_CONNECTION))
        return p;
    if (len >= sizeof name)
        return NULL;
    for (size_t i = 0; i < len; i++)
        name[i] =
            f->name[i] >= 'A' && f->name[i] <= 'Z' ? (char)(f->name[i] + ('a' - 'A')) : f->name[i];
    if (a->dated_name && !strcmp(f->name, a->dated_name) && f->value_len == HTTP_DATE_LEN)
        return codec_put_dated(protocol, p, name, len, f->value, &out->dated_off, out);
    return protocol->put_line(p, name, len, f->value, f->value_len);
}

/* Fields that codec_put_part() appends. */
static int codec_is_of_part(const http_answer *a, int field)
{
    return a->status == 206 && (field == a->length_at || field == a->range_at);
}

http_stored_head *stream_codec_serialise(const stream_protocol *protocol, const http_answer *a,
                                         http_stored_head *room)
{
    static const char blank[HTTP_DATE_LEN + 1] = "                             ";
    const size_t size = codec_size(a);
    http_stored_head *out;
    uint8_t *p;

    BRG_ASSERT(a->status >= 200);
    if (size + CODEC_PART_ROOM > HTTP_HEAD_ROOM || !(out = http_stored_head_new(room, size)))
        return NULL;
    out->urgency = STREAM_URGENCY_DEFAULT;
    p = protocol->put_status((uint8_t *)out->text, a->status);
    if (a->date)
        p = protocol->put_line(p, "date", 4, a->date, strlen(a->date));
    else
        p = codec_put_dated(protocol, p, "date", 4, blank, &out->date_off, out);
    if (*a->server)
        p = protocol->put_line(p, "server", 6, a->server, strlen(a->server));
    for (int i = 0; i < a->n_fields && p; i++) {
        if (!strcasecmp(a->field[i].name, "Content-Type"))
            out->urgency = stream_urgency_of_type(a->field[i].value, a->field[i].value_len);
        if (!codec_is_of_part(a, i))
            p = codec_put_field(protocol, p, a, &a->field[i], out);
    }
    if (!p) {
        if (!room)
            free(out);
        return NULL;
    }
    out->len = out->conn_off = (uint32_t)(p - (uint8_t *)out->text);
    /* A date of its own: that of the time is written behind the end. */
    if (a->date)
        out->date_off = out->len;
    BRG_ASSERT(out->len <= size);
    return out;
}

size_t stream_codec_put(char *to, http_stored_head *head, const http_answer *a,
                        const http_answer_terms *t)
{
    BRG_ASSERT(head->len <= HTTP_HEAD_ROOM);
    if (head->dated_off && apr_time_sec(t->now) != head->dated_second) {
        char date[APR_RFC822_DATE_LEN];

        head->dated_second = apr_time_sec(t->now);
        http_put_date(date, t->now + a->dated_after);
        memcpy(head->text + head->dated_off, date, HTTP_DATE_LEN);
    }
    memcpy(to, head->text, head->len);
    memcpy(to + head->date_off, http_date_now(t->now), HTTP_DATE_LEN);
    return head->len;
}

size_t stream_codec_put_part(const stream_protocol *protocol, char *to, http_stored_head *head,
                             const http_answer *a, const http_answer_terms *t,
                             const http_part *part, apr_off_t length)
{
    char text[HTTP_PART_ROOM];
    uint8_t *p = (uint8_t *)to + stream_codec_put(to, head, a, t);

    BRG_ASSERT(a->status == 206);
    p = protocol->put_line(p, "content-length", 14, text,
                           http_put_number(text, (apr_uint64_t)length));
    if (part)
        p = protocol->put_line(p, "content-range", 13, text, http_part_text(text, part));
    BRG_ASSERT((size_t)(p - (uint8_t *)to) <= HTTP_HEAD_ROOM);
    return (size_t)(p - (uint8_t *)to);
}
