/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are made of others' (cache_loan_private.h). */
#include "cache_loan_private.h"
#include <stdlib.h>
#include <string.h>

static void loan_end(shared_ref *ref)
{
    cache_loan *loan = (cache_loan *)(void *)((char *)ref - offsetof(cache_loan, entry.ref));

    for (int i = 0; i < CONN_PROTOCOLS; i++)
        free(loan->entry.head.form[i]);
    cache_release(loan->like);
    free(loan);
}

cache_loan *cache_loan_new(cache_entry *like, size_t room, char **text)
{
    const http_answer *from = like->head.answer;
    const size_t head = sizeof *from + from->n_fields * sizeof *from->field;
    cache_loan *loan = malloc(sizeof *loan + head + room);

    if (!loan)
        return NULL;
    memset(loan, 0, sizeof *loan);
    cache_hold(loan->like = like);
    loan->body.fd = -1;
    loan->entry = (cache_entry){.ref = {1, loan_end},
                                .head.answer = memcpy(loan + 1, from, head),
                                .body = &loan->body,
                                .server = like->server,
                                .count = like->count,
                                .observed = like->observed,
                                .absent = like->absent,
                                .log = like->log,
                                .vary = like->vary,
                                .vary_n = like->vary_n,
                                .gated = like->gated,
                                .filled = 1};
    cache_set_status(&loan->entry, from->status);
    *text = (char *)(loan + 1) + head;
    return loan;
}

cache_entry *cache_loan_lend(response_cache *c, cache_loan *loan, const http_codec *codec)
{
    cache_entry *e = &loan->entry;

    BRG_ASSERT(!c->lent && e->filled && !e->in_cache);
    if (!(e->head.form[codec->protocol] = codec->serialise(e->head.answer, NULL))) {
        cache_release(e);
        return NULL;
    }
    cache_touch(c, loan->like);
    return c->lent = e;
}
