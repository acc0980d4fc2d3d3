/* SPDX-License-Identifier: Apache-2.0 */
/* URLs, and answers of an authority over HTTP/1. */
#include "md_head.h"
#include "h1_chunked.h"
#include "h1_response_head.h"
#include "apr_date.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define HEAD_FIELDS 200
#define HEAD_LINE 65536             /* bytes */
#define HEAD_RETRY_MOST (24 * 3600) /* seconds */

/* ---- URLs ---- */

static int url_port(const char *text, md_url *url)
{
    char *end;
    long port;

    if (!*text)
        return 0;
    if (*text != ':' || !apr_isdigit(text[1]))
        return -1;
    port = strtol(text + 1, &end, 10);
    if (*end || port < 1 || port > 65535)
        return -1;
    url->port = (int)port;
    return 0;
}

int md_url_read(apr_pool_t *p, const char *text, md_url *url)
{
    const char *at, *end;

    for (at = text; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 127)
            return -1;
    url->is_tls = !strncasecmp(text, "https://", 8);
    if (!url->is_tls && strncasecmp(text, "http://", 7) != 0)
        return -1;
    url->port = url->is_tls ? 443 : 80;
    at = text + (url->is_tls ? 8 : 7);
    end = at + strcspn(at, "/?#");
    url->authority = apr_pstrmemdup(p, at, (apr_size_t)(end - at));
    url->path = apr_pstrcat(p, *end == '/' ? "" : "/", end, NULL);
    url->path = apr_pstrmemdup(p, url->path, strcspn(url->path, "#"));
    if (strchr(url->authority, '@'))
        return -1;
    at = url->authority;
    if (*at == '[') {
        if (!(end = strchr(at, ']')))
            return -1;
        url->host = apr_pstrmemdup(p, at + 1, (apr_size_t)(end - at) - 1);
        end++;
    } else {
        end = at + strcspn(at, ":");
        url->host = apr_pstrmemdup(p, at, (apr_size_t)(end - at));
    }
    return *url->host ? url_port(end, url) : -1;
}

/* ---- answers ---- */

/* The head of the final answer, past interim ones. @return H1_DONE: *data is behind it */
static h1_result head_read(http_head *head, const char **data, const char *end)
{
    static const h1_limits limits = {
        .line = HEAD_LINE, .field_size = HEAD_LINE, .fields = HEAD_FIELDS, .unsafe = 1};
    h1_result res;

    do {
        size_t scanned = 0;

        res = h1_parse_response(head, *data, (size_t)(end - *data), &scanned, &limits);
        if (res == H1_DONE)
            *data += head->head_len;
    } while (res == H1_DONE && head->code < 200 && head->code != 101);
    return res;
}

static const char *body_decode(apr_pool_t *p, const char *at, const char *end, md_answer *answer)
{
    char *body = apr_palloc(p, (apr_size_t)(end - at) + 1);
    h1_chunked frame = {0};

    BRG_ASSERT(at <= end && !answer->len);
    while (at < end && frame.state < H1_CHUNK_TRAILER) {
        size_t n = (size_t)(end - at);

        if (frame.state == H1_CHUNK_DATA) {
            n = frame.left < n ? (size_t)frame.left : n;
            memcpy(body + answer->len, at, n);
            answer->len += n;
            h1_chunked_took(&frame, n);
        } else {
            n = h1_chunked_feed(&frame, at, n);
        }
        at += n;
    }
    body[answer->len] = '\0';
    answer->body = body;
    answer->more = frame.state < H1_CHUNK_TRAILER;
    return frame.state == H1_CHUNK_TRAILER ? NULL : "the answer is damaged, or cut";
}

static const char *body_read(apr_pool_t *p, const http_head *head, const char *data,
                             const char *end, int method, md_answer *answer)
{
    apr_size_t len = (apr_size_t)(end - data);

    switch (h1_response_body(head, method, 0)) {
    case H1_BODY_CHUNKED:
        return body_decode(p, data, end, answer);
    case H1_BODY_LENGTH:
        answer->more = head->content_length > len;
        if (answer->more)
            return "the answer is cut";
        len = (apr_size_t)head->content_length;
        break;
    case H1_BODY_CLOSE:
        answer->more = 1;
        break;
    default:
        return NULL;
    }
    answer->len = len;
    answer->body = apr_pstrmemdup(p, data, len);
    return NULL;
}

const char *md_answer_read(apr_pool_t *p, const char *data, apr_size_t len, int no_body,
                           md_answer *answer)
{
    const char *end = data + len;
    http_head head;
    const h1_result res = head_read(&head, &data, end);

    *answer = (md_answer){.more = res == H1_MORE, .body = ""};
    if (res != H1_DONE)
        return "the answer is not HTTP";
    answer->status = head.code;
    answer->fields = apr_table_make(p, head.n_fields);
    for (const http_field *f = head.field; f < head.field + head.n_fields; f++)
        apr_table_addn(answer->fields, apr_pstrmemdup(p, f->name, f->name_len),
                       apr_pstrmemdup(p, f->value, f->value_len));
    return body_read(p, &head, data, end, no_body ? HTTP_METHOD_HEAD : HTTP_METHOD_GET, answer);
}

/* ---- fields ---- */

apr_time_t md_answer_retry(const md_answer *answer, apr_time_t now)
{
    const char *text = apr_table_get(answer->fields, "Retry-After");
    const apr_time_t most = now + apr_time_from_sec(HEAD_RETRY_MOST);
    apr_time_t at;

    BRG_ASSERT(answer->fields && now > 0);
    if (!text || !*text)
        return 0;
    if (!text[strspn(text, "0123456789")])
        at = strlen(text) > 8 ? most : now + apr_time_from_sec(apr_atoi64(text));
    else
        at = apr_date_parse_http(text);
    return at > most ? most : at > now ? at : 0;
}
