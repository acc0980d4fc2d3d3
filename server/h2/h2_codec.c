/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of stored responses as field blocks: made once for an entry, from the static table and literals that enter
 * no table, so that they are right on each connection. Date stands in them as it is, and is written over. */
#include "h2_private.h"
#include "hpack_encode.h"
#include "hpack_table.h"
#include "http_answer.h"
#include "http_field_traits.h"
#include "http_text.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CODEC_DATE 33 /* "date" in the static table */
#define CODEC_NAME_MOST 256
#define CODEC_PART_ROOM (HPACK_LINE_ROOM(14, 24) + HPACK_LINE_ROOM(13, HTTP_PART_ROOM))

static size_t codec_size(const http_answer *a)
{
    size_t size = HPACK_LINE_ROOM(7, 3) + HPACK_LINE_ROOM(4, HTTP_DATE_LEN) +
                  HPACK_LINE_ROOM(6, strlen(a->server)) +
                  (a->date ? HPACK_LINE_ROOM(4, strlen(a->date)) : 0);

    for (int i = 0; i < a->n_fields; i++)
        size += HPACK_LINE_ROOM(strlen(a->field[i].name), strlen(a->field[i].value));
    return size;
}

/* The value stands as it is, so that it can be written over. */
static uint8_t *codec_put_dated(uint8_t *p, const char *name, size_t len, const char *value,
                                http_stored_head *out)
{
    const unsigned index = hpack_static_of_name(name, len);

    p = hpack_put_integer(p, 0, 4, index);
    if (!index)
        p = hpack_put_string(p, name, len);
    p = hpack_put_integer(p, 0, 7, HTTP_DATE_LEN);
    out->dated_off = (uint32_t)(p - (uint8_t *)out->text);
    memcpy(p, value, HTTP_DATE_LEN);
    return p + HTTP_DATE_LEN;
}

/* NULL: it cannot be said. */
static uint8_t *codec_put_field(uint8_t *p, const http_answer *a, const http_answer_field *f,
                                http_stored_head *out)
{
    char name[CODEC_NAME_MOST];
    const size_t len = strlen(f->name);

    if (len && http_field_traits_of(f->name, len, HTTP_FIELD_OF_CONNECTION))
        return p;
    if (len >= sizeof name)
        return NULL;
    for (size_t i = 0; i < len; i++)
        name[i] =
            f->name[i] >= 'A' && f->name[i] <= 'Z' ? (char)(f->name[i] + ('a' - 'A')) : f->name[i];
    if (a->dated_name && !strcmp(f->name, a->dated_name) && strlen(f->value) == HTTP_DATE_LEN)
        return codec_put_dated(p, name, len, f->value, out);
    return hpack_put_line(p, name, len, f->value, strlen(f->value), 0);
}

/* What codec_put_part() appends. */
static int codec_is_of_part(const http_answer *a, int field)
{
    return a->status == 206 && (field == a->length_at || field == a->range_at);
}

static http_stored_head *codec_serialise(const http_answer *a)
{
    static const char blank[HTTP_DATE_LEN + 1] = "                             ";
    const size_t size = codec_size(a);
    http_stored_head *out;
    uint8_t *p, *date = NULL;

    BRG_ASSERT(a->status >= 200);
    if (size + CODEC_PART_ROOM > HTTP_HEAD_ROOM || !(out = http_stored_head_new(size)))
        return NULL;
    out->urgency = STREAM_URGENCY_DEFAULT;
    p = hpack_put_status((uint8_t *)out->text, a->status);
    if (a->date)
        p = hpack_put_line(p, "date", 4, a->date, strlen(a->date), 0);
    else
        p = hpack_put_plain(p, CODEC_DATE, blank, HTTP_DATE_LEN, &date);
    if (*a->server)
        p = hpack_put_line(p, "server", 6, a->server, strlen(a->server), 0);
    for (int i = 0; i < a->n_fields && p; i++) {
        if (!strcasecmp(a->field[i].name, "Content-Type"))
            out->urgency = stream_urgency_of_type(a->field[i].value, strlen(a->field[i].value));
        if (!codec_is_of_part(a, i))
            p = codec_put_field(p, a, &a->field[i], out);
    }
    if (!p) {
        free(out);
        return NULL;
    }
    out->len = out->conn_off = (uint32_t)(p - (uint8_t *)out->text);
    /* A date of its own: that of the time is written behind the end. */
    out->date_off = a->date ? out->len : (uint32_t)(date - (uint8_t *)out->text);
    BRG_ASSERT(out->len <= size);
    return out;
}

static size_t codec_put(char *to, http_stored_head *head, const http_answer *a,
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

static size_t codec_put_part(char *to, http_stored_head *head, const http_answer *a,
                             const http_answer_terms *t, const http_part *part, apr_off_t length)
{
    char text[HTTP_PART_ROOM];
    uint8_t *p = (uint8_t *)to + codec_put(to, head, a, t);

    BRG_ASSERT(a->status == 206);
    p = hpack_put_line(p, "content-length", 14, text, http_put_number(text, (apr_uint64_t)length),
                       0);
    if (part)
        p = hpack_put_line(p, "content-range", 13, text, http_part_text(text, part), 0);
    BRG_ASSERT((size_t)(p - (uint8_t *)to) <= HTTP_HEAD_ROOM);
    return (size_t)(p - (uint8_t *)to);
}

const http_codec h2_codec = {.protocol = CONN_HTTP2,
                             .serialise = codec_serialise,
                             .put = codec_put,
                             .put_part = codec_put_part};
