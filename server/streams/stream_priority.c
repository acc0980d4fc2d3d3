/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a connection's streams goes first: what the client says (RFC 9218), and, where it says nothing, what pages need: style
 * sheets, scripts and fonts before documents, those before images. Of large responses each gets a frame in turn, so that a
 * small one behind them waits for no more than that. */
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

void streams_rank(http_streams *all)
{
    pthread_mutex_lock(&all->lock);
    for (int i = 0; all->unranked && i < STREAM_BUCKETS; i++)
        for (http_stream *s = all->bucket[i]; s; s = s->next)
            if (s->pipe && s->pipe->ranked) {
                s->pipe->ranked = 0;
                stream_rank(s, s->pipe->urgency, s->pipe->length);
            }
    all->unranked = 0;
    pthread_mutex_unlock(&all->lock);
}

uint8_t stream_urgency_of_type(const char *type, size_t len)
{
    static const struct {
        const char *begin;
        uint8_t urgency;
    } known[] = {{"text/css", 2}, {"text/javascript", 2}, {"application/javascript", 2},
                 {"font/", 2},    {"image/", 4},          {"video/", 5},
                 {"audio/", 5}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = strlen(known[i].begin);

        if (n <= len && !strncasecmp(type, known[i].begin, n))
            return known[i].urgency;
    }
    return STREAM_URGENCY_DEFAULT;
}
