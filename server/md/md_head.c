/* SPDX-License-Identifier: Apache-2.0 */
#include "md_head.h"
#include "apr_date.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define HEAD_FIELDS 200
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

/* ---- heads ---- */

apr_size_t md_head_end(const char *data, apr_size_t len)
{
    for (apr_size_t i = 0; i + 1 < len; i++) {
        if (data[i] != '\n')
            continue;
        if (data[i + 1] == '\n')
            return i + 2;
        if (data[i + 1] == '\r' && i + 2 < len && data[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

static const char *head_line(apr_pool_t *p, const char **at, const char *end)
{
    const char *line = *at, *stop = memchr(line, '\n', (apr_size_t)(end - line));
    apr_size_t len;

    if (!stop)
        return NULL;
    *at = stop + 1;
    len = (apr_size_t)(stop - line);
    if (len && line[len - 1] == '\r')
        len--;
    return memchr(line, 0, len) ? NULL : apr_pstrmemdup(p, line, len);
}

static int head_status(const char *line)
{
    if (strncmp(line, "HTTP/1.", 7) != 0 || !apr_isdigit(line[7]) || line[8] != ' ' ||
        !apr_isdigit(line[9]) || !apr_isdigit(line[10]) || !apr_isdigit(line[11]) ||
        (line[12] && line[12] != ' '))
        return 0;
    return atoi(line + 9);
}

static int head_field(apr_pool_t *p, const char *line, apr_table_t *fields)
{
    const char *colon = strchr(line, ':'), *value;
    apr_size_t len;

    if (!colon || colon == line || apr_isspace(colon[-1]) || apr_isspace(*line))
        return -1;
    value = colon + 1 + strspn(colon + 1, " \t");
    len = strlen(value);
    while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    apr_table_addn(fields, apr_pstrmemdup(p, line, (apr_size_t)(colon - line)),
                   apr_pstrmemdup(p, value, len));
    return 0;
}

/* @return the status; 0: it is damaged */
static int head_read(apr_pool_t *p, const char *data, apr_size_t end, apr_table_t **fields)
{
    const char *at = data, *line = head_line(p, &at, data + end);
    const int status = line ? head_status(line) : 0;
    int n = 0;

    BRG_ASSERT(end > 0);
    *fields = apr_table_make(p, 16);
    while (status && (line = head_line(p, &at, data + end)) != NULL && *line)
        if (++n > HEAD_FIELDS || head_field(p, line, *fields))
            return 0;
    return line ? status : 0;
}

/* ---- bodies ---- */

static int body_is_chunked(const apr_table_t *fields)
{
    const char *coding = apr_table_get(fields, "Transfer-Encoding");

    return coding && !strcasecmp(coding, "chunked");
}

/* -1: it says nothing; -2: nonsense */
static apr_int64_t body_length(const apr_table_t *fields)
{
    const char *text = apr_table_get(fields, "Content-Length");

    if (!text)
        return -1;
    if (!*text || strlen(text) > 12 || text[strspn(text, "0123456789")])
        return -2;
    return apr_atoi64(text);
}

/* A chunk's size, and where its data begins. @return NULL: the line is not there, or none */
static const char *body_chunk(const char *at, const char *end, apr_size_t *size)
{
    const char *stop = at < end ? memchr(at, '\n', (apr_size_t)(end - at)) : NULL;
    apr_size_t n = 0;
    int digits = 0;

    if (!stop)
        return NULL;
    for (; apr_isxdigit(*at); at++, digits++)
        n = n * 16 + (apr_size_t)(apr_isdigit(*at) ? *at - '0' : apr_tolower(*at) - 'a' + 10);
    if (!digits || digits > 7 || (*at != '\r' && *at != '\n' && *at != ';' && *at != ' '))
        return NULL;
    *size = n;
    return stop + 1;
}

/* The decoded body; NULL: it is not complete, or damaged. @param all  [out] bytes with the frame; NULL: not asked for */
static char *body_decode(apr_pool_t *p, const char *data, apr_size_t len, apr_size_t *decoded,
                         apr_size_t *all)
{
    const char *at = data, *end = data + len;
    char *body = apr_palloc(p, len + 1), *to = body;
    apr_size_t size = 0;

    BRG_ASSERT(decoded != NULL);
    while ((at = body_chunk(at, end, &size)) != NULL && size) {
        if ((apr_size_t)(end - at) < size)
            return NULL;
        memcpy(to, at, size);
        to += size;
        at += size;
        at += at < end && *at == '\r';
        if (at >= end || *at++ != '\n')
            return NULL;
    }
    if (!at)
        return NULL;
    *to = '\0';
    *decoded = (apr_size_t)(to - body);
    if (all)
        *all = (apr_size_t)(at - data);
    return body;
}

apr_int64_t md_answer_length(apr_pool_t *p, const char *data, apr_size_t len)
{
    const apr_size_t end = md_head_end(data, len);
    apr_size_t decoded, all;
    apr_table_t *fields;
    apr_int64_t n;
    const int status = head_read(p, data, end, &fields);

    if (!end || !status)
        return -2;
    if (status == 204 || status == 304)
        return (apr_int64_t)end;
    if (body_is_chunked(fields))
        return body_decode(p, data + end, len - end, &decoded, &all) ? (apr_int64_t)(end + all)
                                                                     : -1;
    n = body_length(fields);
    return n < 0 ? n : n + (apr_int64_t)end;
}

const char *md_answer_read(apr_pool_t *p, const char *data, apr_size_t len, int no_body,
                           md_answer *answer)
{
    const apr_size_t end = md_head_end(data, len);
    apr_int64_t n;

    if (!end || !(answer->status = head_read(p, data, end, &answer->fields)))
        return "the answer is not HTTP";
    answer->len = 0;
    answer->body = "";
    if (no_body || answer->status == 204 || answer->status == 304)
        return NULL;
    answer->len = len - end;
    if (body_is_chunked(answer->fields)) {
        answer->body = body_decode(p, data + end, len - end, &answer->len, NULL);
        return answer->body ? NULL : "the answer is damaged, or cut";
    }
    n = body_length(answer->fields);
    if (n == -2 || n > (apr_int64_t)answer->len)
        return "the answer is cut";
    if (n >= 0)
        answer->len = (apr_size_t)n;
    answer->body = apr_pstrmemdup(p, data + end, answer->len);
    return NULL;
}

/* ---- fields ---- */

typedef struct link_search {
    apr_pool_t *p;
    const char *relation, *found;
} link_search;

/* <TARGET>; rel="RELATION" */
static int link_look(void *data, const char *name, const char *value)
{
    link_search *s = data;
    const char *at = strchr(value, '<'), *end = at ? strchr(at, '>') : NULL, *rel;
    apr_size_t len;

    rel = end ? strstr(end, "rel=") : NULL;
    if (!rel)
        return 1;
    rel += 4;
    rel += *rel == '"';
    len = strlen(s->relation);
    if (strncmp(rel, s->relation, len) != 0 || (rel[len] && !strchr("\";, ", rel[len])))
        return 1;
    s->found = apr_pstrmemdup(s->p, at + 1, (apr_size_t)(end - at) - 1);
    return 0;
}

const char *md_answer_link(apr_pool_t *p, const md_answer *answer, const char *relation)
{
    BRG_ASSERT(answer->fields && relation);
    link_search s = {p, relation, NULL};

    apr_table_do(link_look, &s, answer->fields, "Link", NULL);
    return s.found;
}

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
