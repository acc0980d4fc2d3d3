/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meaning of the fields that decide how a message is read: the id of a field name, the tokens of
 * Connection, the length of the body, the validity of Host.
 *
 * Framing is the difficult part. Whatever could be read in two ways (RFC 9112 section 6.3: two
 * lengths, a length and a transfer coding, a coding that does not end in chunked) is refused, since
 * a proxy in front of this server may have read it otherwise.
 */
#include "h1_fields.h"
#include "http_fields.h"
#include "http_scan.h"
#include "h1_parse.h"
#include "http_log.h"
#include "brigade/assert.h"

const char h1_note_field_size[] = "Size of a request header field exceeds server limit.";

void h1_note_connection(http_head *head, const http_field *field)
{
    const char *p = field->value, *end = p + field->value_len, *item;
    size_t len;

    while (http_list_next(&p, end, &item, &len))
        if (len == 5 && http_same(item, "close", 5))
            head->close = 1;
        else if (len == 10 && http_same_wide(item, "keep-alive", 10))
            head->keep_alive = 1;
        else if (len == 7 && http_same(item, "upgrade", 7))
            head->upgrade = 1;
}

static int h1_refuse(http_head *head, const http_field *field, int status, const char *why)
{
    BRG_ASSERT(head->status == 0 && status >= 400);
    head->why = why;
    head->bad = field ? field->value : "";
    head->bad_len = field ? field->value_len : 0;
    return status;
}

/* The second field with the same id as *first, or NULL. */
static const http_field *h1_second(const http_head *head, const http_field *first)
{
    const http_field *end = head->field + head->n_fields;

    BRG_ASSERT(first >= head->field && first < head->field + head->n_fields);
    for (const http_field *f = first + 1; f < end; f++)
        if (f->id == first->id)
            return f;
    return NULL;
}

#define H1_WHY_LENGTH APLOGNO(10242) "client sent invalid Content-Length (%.*s): %s"
#define H1_WHY_CODING APLOGNO(02539) "client sent unknown Transfer-Encoding (%.*s): %s"
#define H1_WHY_HOST APLOGNO(00550) "Client sent malformed Host header: %.*s"

static int h1_judge_length(http_head *head)
{
    const http_field *field = &head->field[head->known[HTTP_F_CONTENT_LENGTH]];

    BRG_ASSERT(head->known[HTTP_F_CONTENT_LENGTH] < head->n_fields);
    if (head->repeated && h1_second(head, field))
        return h1_refuse(head, field, 400, H1_WHY_LENGTH);
    if (http_parse_length(field->value, field->value_len, &head->content_length))
        return h1_refuse(head, field, 400, H1_WHY_LENGTH);
    head->has_body = head->content_length > 0;
    return 0;
}

/* Whether "chunked" stands at the very end of the value: some parsers take an empty element behind
 * it for another last coding, ap_is_chunked() among them. */
static int h1_ends_in_chunked(const http_field *f)
{
    return f->value_len >= 7 && http_same(f->value + f->value_len - 7, "chunked", 7);
}

/* Empty elements before "chunked" mean nothing; handlers such as mod_proxy know the word alone. */
static void h1_keep_chunked(http_field *f)
{
    f->value += f->value_len - 7;
    f->value_len = 7;
}

/* "chunked" must be the last coding, must come once, and no other is understood. */
static int h1_judge_codings(http_head *head)
{
    const http_field *first = &head->field[head->known[HTTP_F_TRANSFER_ENCODING]];
    const http_field *end = head->field + head->n_fields, *f, *last = first;
    int unknown = 0;

    BRG_ASSERT(!head->chunked);
    for (f = first; f < end; f++) {
        const char *p = f->value, *item;
        size_t len;

        if (f->id != HTTP_F_TRANSFER_ENCODING)
            continue;
        last = f;
        while (http_list_next(&p, f->value + f->value_len, &item, &len)) {
            if (head->chunked)
                return h1_refuse(head, f, 400, H1_WHY_CODING);
            if (len == 7 && http_same(item, "chunked", 7))
                head->chunked = 1;
            else
                unknown = 1;
        }
    }
    if (!head->chunked || !h1_ends_in_chunked(last))
        return h1_refuse(head, last, 400, H1_WHY_CODING);
    if (unknown)
        return h1_refuse(head, first, 501, H1_WHY_CODING);
    if (first != last)
        return h1_refuse(head, first, 400, H1_WHY_CODING); /* the others are empty */
    h1_keep_chunked(&head->field[head->known[HTTP_F_TRANSFER_ENCODING]]);
    head->has_body = 1;
    return 0;
}

static int h1_judge_framing(http_head *head)
{
    const int length = head->known[HTTP_F_CONTENT_LENGTH] >= 0;

    BRG_ASSERT(!head->has_body && !head->chunked);
    if (head->known[HTTP_F_TRANSFER_ENCODING] < 0)
        return length ? h1_judge_length(head) : 0;
    if (length)
        return h1_refuse(head, NULL, 400, "both Content-Length and Transfer-Encoding%.*s: %s");
    if (head->minor == 0)
        return h1_refuse(head, NULL, 400, "Transfer-Encoding in an HTTP/1.0 request%.*s: %s");
    return h1_judge_codings(head);
}

static const char h1_why_no_host[] =
    APLOGNO(00569) "client sent HTTP/1.1 request without hostname (see "
                   "RFC2616 section 14.23)%.*s: %s";

static int h1_judge_host(http_head *head, int unsafe)
{
    const http_field *field;

    if (head->known[HTTP_F_HOST] < 0) {
        if (head->minor == 0)
            return 0;
        head->no_host = 1;
        return h1_refuse(head, NULL, 400, h1_why_no_host);
    }
    field = &head->field[head->known[HTTP_F_HOST]];
    if (unsafe && field->value_len)
        return 0;
    if (head->repeated && h1_second(head, field))
        return h1_refuse(head, field, 400, H1_WHY_HOST);
    if (!http_host_is_valid(field->value, field->value_len))
        return h1_refuse(head, field, 400, H1_WHY_HOST);
    return 0;
}

/* The lines of one name are one value to handlers, which LimitRequestFieldSize bounds as it does a line. */
static int h1_judge_size(http_head *head, uint32_t most)
{
    const http_field *field = head->head_len <= most ? NULL : http_head_oversized(head, most);

    if (!field)
        return 0;
    head->why = APLOGNO(00560) "Request header exceeds LimitRequestFieldSize after merging: %.*s";
    head->note = h1_note_field_size;
    head->bad = field->name;
    head->bad_len = field->name_len;
    head->bad_is_field = head->bad_is_long = 1;
    return 400;
}

int h1_fields_judge(http_head *head, const h1_limits *limits)
{
    int status = h1_judge_size(head, limits->field_size);

    BRG_ASSERT(head->major > 0 && head->status == 0);
    if (!status)
        status = h1_judge_framing(head);
    return status ? status : h1_judge_host(head, limits->unsafe);
}

const char *h1_parse_field(http_field *field, const char *line, size_t len, const h1_limits *limits)
{
    const char *end = line + len, *p = h1_scan_token(line, end);

    if (len > (size_t)limits->field_size + 1)
        return "field line exceeds LimitRequestFieldSize";
    if (p == line || p == end || *p != ':')
        return "malformed field name";
    field->name = line;
    field->name_len = (uint32_t)(p - line);
    field->id = (uint8_t)http_field_id_of(line, field->name_len);
    for (p++; p < end && (*p == ' ' || *p == '\t'); p++) {
    }
    if (http_scan_value(p, end) != end)
        return "byte not allowed in a field value";
    while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    field->value = p;
    field->value_len = (uint32_t)(end - p);
    return NULL;
}
