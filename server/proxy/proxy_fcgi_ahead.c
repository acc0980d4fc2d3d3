/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of FastCGI answers to requests of a plan, which have no request_rec: taken as a whole, and only if all that is here is ordinary.
 * Else nothing is taken, and an exchange that has the request looks at the same bytes. */
#include "proxy_fcgi_private.h"
#include "exchange_private.h"
#include "brigade/assert.h"
#include "loop.h"

/* What is here of an answer. */
typedef struct fcgi_seen {
    const char *head; /* in the first record */
    apr_size_t head_len, content, padding, body;
    int records; /* of STDOUT, with content */
    int whole;   /* up to END_REQUEST */
} fcgi_seen;

/* @return bytes of a record, with its header; 0: none that is expected begins there */
static apr_size_t seen_record(const unsigned char *h, int *type, apr_size_t *content)
{
    *type = h[1];
    *content = (apr_size_t)h[4] << 8 | h[5];
    return h[0] == FCGI_VERSION_1 && !h[2] && h[3] == FCGI_ID ? FCGI_HEADER + *content + h[6] : 0;
}

/* Records behind the first. @return 0: there is more than the ordinary */
static int seen_rest(fcgi_seen *seen, const unsigned char *at, const unsigned char *end)
{
    while (end - at >= FCGI_HEADER && !seen->whole) {
        apr_size_t content;
        int type;
        const apr_size_t all = seen_record(at, &type, &content);

        if (!all || (type != FCGI_STDOUT && type != FCGI_END_REQUEST))
            return 0;
        if (all > (apr_size_t)(end - at))
            return 1;
        seen->records += type == FCGI_STDOUT && content;
        seen->body += type == FCGI_STDOUT ? content : 0;
        seen->whole = type == FCGI_END_REQUEST;
        at += all;
    }
    return !seen->whole || at == end;
}

/* @return APR_SUCCESS; APR_EAGAIN: more is needed; else there is more than the ordinary */
static apr_status_t seen_look(fcgi_seen *seen, const char *data, apr_size_t size)
{
    const unsigned char *first = (const unsigned char *)data;
    apr_size_t all, here;
    int type;

    if (size < FCGI_HEADER)
        return APR_EAGAIN;
    all = seen_record(first, &type, &seen->content);
    if (!all || type != FCGI_STDOUT || !seen->content)
        return APR_EGENERAL;
    here = size - FCGI_HEADER < seen->content ? size - FCGI_HEADER : seen->content;
    seen->head = data + FCGI_HEADER;
    seen->padding = first[6];
    if (!(seen->head_len = script_head_size(seen->head, here)))
        return here < seen->content ? APR_EAGAIN : APR_EGENERAL;
    seen->body = seen->content - seen->head_len;
    seen->records = 1;
    return all > size || seen_rest(seen, first + all, first + size) ? APR_SUCCESS : APR_EGENERAL;
}

/* What came stays for an exchange that has the request. */
static apr_status_t ahead_refused(proxy_exchange *x)
{
    exchange_done(x, EXCHANGE_NEEDS_REQUEST);
    return APR_EGENERAL;
}

/* A body in one piece is left where it is. */
static void ahead_lend(proxy_exchange *x, const fcgi_seen *seen)
{
    BRG_ASSERT(seen->whole && seen->body <= upstream_in_size(x->cc));
    x->answer.lent = (uint32_t)seen->body;
    x->answer.behind = upstream_in_size(x->cc) - x->answer.lent;
    x->answer.complete = 1;
}

static void ahead_framed(proxy_exchange *x, http_head *head, const fcgi_seen *seen)
{
    x->h1.end = seen->whole ? H1_BODY_LENGTH : H1_BODY_CHUNKED;
    head->content_length = seen->body; /* or more */
    head->minor = head->major = 1;
}

apr_status_t fcgi_take_ahead(proxy_exchange *x, fcgi_state *s)
{
    char room[SCRIPT_HEAD_ROOM];
    fcgi_seen seen = {.whole = 0};
    apr_status_t rv = seen_look(&seen, upstream_in(x->cc), upstream_in_size(x->cc));
    http_head head;

    BRG_ASSERT(!x->r && x->loop && !x->answer.begun && !s->in_record);
    if (rv == APR_EAGAIN)
        return rv;
    if (rv != APR_SUCCESS ||
        !script_head_parse(&head, seen.head, seen.head_len, x->loop->wall, room))
        return ahead_refused(x);
    ahead_framed(x, &head, &seen);
    if (!x->sink->head(x, &head))
        return ahead_refused(x);
    x->answer.code = head.code;
    upstream_in_take(x->cc, (uint32_t)(FCGI_HEADER + seen.head_len));
    exchange_head_done(x);
    if (seen.whole && seen.records == 1) {
        ahead_lend(x, &seen);
        return APR_SUCCESS;
    }
    s->type = FCGI_STDOUT;
    s->in_record = 1;
    s->left = (uint16_t)(seen.content - seen.head_len);
    s->padding = (uint8_t)seen.padding;
    fcgi_record_ends(x, s);
    return APR_SUCCESS;
}
