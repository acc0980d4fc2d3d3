/* SPDX-License-Identifier: Apache-2.0 */
/* Connections on the status page: the loop has some places in the scoreboard, which its connections
 * take as they come. One without a place takes a free one when it has further streams. */
#include "h2_private.h"
#include "scores.h"
#include "brigade/assert.h"
#include <string.h>

static void score_set_client(http2_score *score, const brg_conn *bc)
{
    char text[CONN_CLIENT_TEXT] = "";
    uint64_t words[sizeof score->client / sizeof *score->client];

    _Static_assert(sizeof words == sizeof text, "an address as text");
    (void)conn_client(bc, text);
    memcpy(words, text, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        loop_score_set(&score->client[i], words[i]);
}

void h2_score_begin(h2_session *h)
{
    brg_loop *loop = h->streams.bc->loop;
    unsigned place;

    BRG_ASSERT(!h->score);
    if (!ap_extended_status || !loop->http2.scores || !~loop->http2.scored)
        return;
    place = (unsigned)__builtin_ctzll(~loop->http2.scored);
    loop->http2.scored |= 1ULL << place;
    h->score = &loop->http2.scores[place];
    score_set_client(h->score, h->streams.bc);
    loop_score_set(&h->score->tls, h->streams.bc->transport != NULL);
    loop_score_set(&h->score->open, 0);
    loop_score_set(&h->score->streams, h->requests);
    loop_score_set(&h->score->since, (uint64_t)apr_time_now());
}

void h2_score_tell(h2_session *h)
{
    if (!h->score) {
        if (h->streams.n)
            h2_score_begin(h);
        if (!h->score)
            return;
    }
    loop_score_set(&h->score->open, h->streams.n);
    loop_score_set(&h->score->streams, h->requests);
}

void h2_score_end(h2_session *h)
{
    brg_loop *loop = h->streams.bc->loop;

    if (!h->score)
        return;
    BRG_ASSERT(h->score >= loop->http2.scores && h->score < loop->http2.scores + HTTP2_SCORES);
    loop_score_set(&h->score->since, 0);
    loop->http2.scored &= ~(1ULL << (h->score - loop->http2.scores));
    h->score = NULL;
}
