/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a connection's streams: by the client's wish (RFC 9218), and, without one, by the
 * needs of pages: style sheets, scripts and fonts before documents, those before images. Of large
 * responses each gets a frame in turn, so that a small one behind them waits for no more than that.
 */
#include "streams.h"
#include "http_fields.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

void stream_priority_parse(const char *value, size_t len, uint8_t *urgency, uint8_t *incremental)
{
    const char *p = value, *item;
    size_t n;

    while (http_list_next(&p, value + len, &item, &n)) {
        const char *parameters = memchr(item, ';', n); /* none is defined */

        if (parameters)
            n = (size_t)(parameters - item);
        if (n == 3 && item[0] == 'u' && item[1] == '=' && item[2] >= '0' && item[2] <= '7')
            *urgency = (uint8_t)(item[2] - '0');
        else if (n >= 1 && item[0] == 'i' && (n == 1 || (n == 4 && !memcmp(item, "i=?1", 4))))
            *incremental = 1;
        else if (n == 4 && !memcmp(item, "i=?0", 4))
            *incremental = 0;
    }
}

static void priority_change(http_stream *s, uint8_t urgency, uint8_t incremental)
{
    const int was_ready = s->ready_prev != NULL;

    BRG_ASSERT_TAG(s, STREAM_TAG);
    BRG_ASSERT(urgency < STREAM_URGENCIES && s->urgency < STREAM_URGENCIES);

    s->incremental = incremental;
    if (urgency == s->urgency)
        return; /* it keeps its place */
    stream_unready(s);
    s->urgency = urgency;
    if (was_ready)
        stream_ready(s);
}

void stream_set_priority(http_stream *s, const char *value, size_t len)
{
    uint8_t urgency = STREAM_URGENCY_DEFAULT, incremental = 0;

    stream_priority_parse(value, len, &urgency, &incremental);
    s->asked = 1;
    priority_change(s, urgency, incremental);
}

void stream_rank(http_stream *s, uint8_t urgency, uint64_t len)
{
    if (!s->asked)
        priority_change(s, urgency, len > STREAM_LARGE);
}

void stream_rank_told(http_stream *s)
{
    BRG_ASSERT_DEBUG(s->pipe && s->pipe->urgency < STREAM_URGENCIES);
    if (!s->pipe->ranked || !conn_on_loop())
        return;
    s->pipe->ranked = 0;
    stream_rank(s, s->pipe->urgency, s->pipe->length);
}

typedef struct priority_type {
    const char *begin;
    /* tell: a place in begin at which it differs from the most frequent types */
    uint8_t len, tell, urgency;
} priority_type;

#define PRIORITY_TYPE(begin, tell, urgency)     \
    {                                           \
        begin, sizeof(begin) - 1, tell, urgency \
    }

uint8_t stream_urgency_of_type(const char *type, size_t len)
{
    static const priority_type known[] = {PRIORITY_TYPE("text/css", 5, 2),
                                          PRIORITY_TYPE("text/javascript", 5, 2),
                                          PRIORITY_TYPE("application/javascript", 14, 2),
                                          PRIORITY_TYPE("font/", 0, 2),
                                          PRIORITY_TYPE("image/", 0, 4),
                                          PRIORITY_TYPE("video/", 0, 5),
                                          PRIORITY_TYPE("audio/", 1, 5)};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const priority_type *t = &known[i];

        if (t->len <= len && (type[t->tell] | 0x20) == t->begin[t->tell] &&
            !strncasecmp(type, t->begin, t->len))
            return t->urgency;
    }
    return STREAM_URGENCY_DEFAULT;
}
